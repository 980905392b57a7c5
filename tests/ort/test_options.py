# SPDX-License-Identifier: MIT
"""Options that change what a session does: each legal value has an effect that is seen."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, NAME, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import assignment, conv_net, images  # noqa: E402

VERBOSE = 0
#           mode                          corner  sleep  follows the load
VOTES = [("burst",                       0xA0,  40,   0),
         ("sustained_high_performance",  0xA0,  40,   0),
         ("high_performance",            0x80,  100,  0),
         ("balanced",                    0x70,  1000, 1),
         ("low_balanced",                0x60,  1000, 1),
         ("high_power_saver",            0x50,  1000, 1),
         ("power_saver",                 0x40,  1000, 1),
         ("low_power_saver",             0x30,  1000, 1),
         ("extreme_power_saver",         0x10,  1000, 1)]


@pytest.fixture
def votes(capfd):
    """Clock votes that the library heard since the last look, as {word: number}."""
    ort.set_default_logger_severity(VERBOSE)  # where lines without a session go

    def look():
        lines = capfd.readouterr().err.splitlines()
        found = [line.split("DCVS_V3 ")[1].split() for line in lines if "DCVS_V3 " in line]
        polling = [line.split("rpcPollingTime ")[1].split() for line in lines
                   if "rpcPollingTime " in line]
        latency = [line.split("rpcControlLatency ")[1].split() for line in lines
                   if "rpcControlLatency " in line]
        return ([{w[i]: int(w[i + 1]) for i in range(0, len(w) - 1, 2)} for w in found],
                [int(w[0]) for w in polling], [int(w[0]) for w in latency])

    yield look
    ort.set_default_logger_severity(2)


def run(s, **options):
    o = ort.RunOptions()
    for key, value in options.items():
        o.add_run_config_entry("qnn." + key, value)
    return s.run(None, {"x": images(1, 1)[0]}, o)


@pytest.mark.parametrize("mode, corner, sleep, follows", VOTES)
def test_modes_vote_as_the_public_provider_does(votes, mode, corner, sleep, follows):
    session(conv_net(seed=1), {**HTP, "htp_performance_mode": mode}, level=VERBOSE)
    (vote,), polling, _ = votes()
    assert vote["coreVoltageCornerTarget"] == vote["busVoltageCornerMin"] == corner
    assert vote["sleepLatency"] == sleep and vote["dcvsEnable"] == follows
    assert mode != "burst" or 9999 in polling  # it holds for the process from then on


def test_the_default_mode_votes_for_nothing(votes):
    run(session(conv_net(seed=1), HTP, level=VERBOSE))
    assert votes()[0] == []


def test_the_latency_of_calls_is_voted(votes):
    session(conv_net(seed=1), {**HTP, "rpc_control_latency": "123"}, level=VERBOSE)
    assert 123 in votes()[2]


def test_a_run_votes_before_and_after(votes):
    s = session(conv_net(seed=1), HTP, level=VERBOSE)
    votes()
    run(s, htp_perf_mode="burst", htp_perf_mode_post_run="power_saver", rpc_control_latency="77")
    found, _, latency = votes()
    assert [v["coreVoltageCornerTarget"] for v in found] == [0xA0, 0x40] and 77 in latency


@pytest.mark.parametrize("key, value, words", [
    ("htp_perf_mode", "fast", "qnn.htp_perf_mode: 'fast'"),
    ("htp_perf_mode_post_run", "brust", "did you mean 'burst'"),
    ("rpc_control_latency", "soon", "expected microseconds"),
    ("rpc_control_latency", "-1", "expected microseconds"),
])
def test_wrong_run_options_fail_the_run(key, value, words):
    s = session(conv_net(seed=1), HTP)
    with pytest.raises(Exception) as raised:
        run(s, **{key: value})
    assert words in str(raised.value)
    run(s)


def test_a_dynamic_mode_is_voted_with_the_next_run(votes):
    s = session(conv_net(seed=1), HTP, level=VERBOSE)
    votes()
    s.set_ep_dynamic_options({"ep.dynamic.qnn_htp_performance_mode": "balanced"})
    assert votes()[0] == []
    run(s)
    run(s)
    assert [v["coreVoltageCornerTarget"] for v in votes()[0]] == [0x70]


def test_workload_types_are_known():
    s = session(conv_net(seed=1), HTP)
    for kind in ("Efficient", "Default"):
        s.set_ep_dynamic_options({"ep.dynamic.workload_type": kind})
        run(s)


@pytest.mark.parametrize("options, words", [
    ({"ep.dynamic.workload_type": "Eficient"}, "did you mean 'Efficient'"),
    ({"ep.dynamic.workload_typ": "Efficient"}, "did you mean 'ep.dynamic.workload_type'"),
    ({"ep.dynamic.qnn_htp_performance_mode": "x"}, "'x' is not known"),
])
def test_wrong_dynamic_options_are_refused(options, words):
    s = session(conv_net(seed=1), HTP)
    with pytest.raises(Exception) as raised:
        s.set_ep_dynamic_options(options)
    assert words in str(raised.value)


@pytest.mark.parametrize("options", [
    {"htp_graph_finalization_optimization_mode": "3"}, {"vtcm_mb": "2"}, {"htp_arch": "75"},
    {"qnn_context_priority": "high"}, {"enable_htp_fp16_precision": "1"}, {"device_id": "0"},
])
def test_legal_values_are_taken(options):
    run(session(conv_net(seed=1), {**HTP, **options}))


def test_too_much_vtcm_is_refused_by_the_chip():
    with pytest.raises(Exception, match="(?i)vtcm"):
        session(conv_net(seed=1), {**HTP, "vtcm_mb": "512"})


def quick_gelu16():
    """QuickGelu of 16-bit values: the HTP has no op for it, and fp16 has fewer bits than they."""
    def pair(name):
        return [helper.make_node("QuantizeLinear", [name, "s", "z"], [name + "_q"]),
                helper.make_node("DequantizeLinear", [name + "_q", "s", "z"], [name + "_d"])]

    x, y = pair("x"), pair("y")
    y[1].output[0] = "out"
    return model([*x, helper.make_node("QuickGelu", ["x_d"], ["y"], domain="com.microsoft"), *y],
                 [("x", np.float32, [1, 8])], [("out", np.float32, [1, 8])],
                 [("s", np.float32(1 / 4096)), ("z", np.uint16(32768))], opset=21,
                 domains=["com.microsoft"])


def test_16_bit_units_are_not_computed_in_float16_unless_asked(capfd):
    session(quick_gelu16(), HTP, fallback=True, level=2)
    assert "this op has no 16-bit form here" in capfd.readouterr().err
    session(quick_gelu16(), {**HTP, "allow_float16_units": "1"})  # everything, without fall-back
    with pytest.raises(Exception):
        session(quick_gelu16(), HTP)


# --- what remains of the table: legal values that are seen, and illegal ones

@pytest.mark.parametrize("key, value", [
    ("device_id", "-1"), ("device_id", "4294967296"), ("device_id", "first"),
    ("rpc_control_latency", "-1"), ("rpc_control_latency", "4294967296"),
    ("rpc_control_latency", "soon"), ("threads", "-1"), ("threads", "257"), ("threads", ""),
    ("vtcm_mb", "1025"), ("htp_graph_finalization_optimization_mode", "-1"),
    ("soc_model", "4294967296"), ("soc_model", "57x"), ("soc_model", ""),
    ("offload_graph_io_quantization", "2"), ("strict", "true"), ("allow_float16_units", "-1"),
    ("htp_arch", "v75"), ("htp_arch", "76"), ("qnn_context_priority", ""),
    ("profiling_level", "all"), ("htp_performance_mode", ""), ("backend_type", "ir"),
    ("backend_type", ""),
])
def test_values_out_of_range_name_the_option(key, value):
    with pytest.raises(Exception, match=f"option {key}: (unknown SoC )?'{value}'"):
        session(conv_net(seed=1), {**HTP, key: value})


@pytest.mark.parametrize("key, value", [
    ("session.disable_cpu_ep_fallback", "yes"), ("ep.context_enable", "2"),
    ("ep.context_embed_mode", "x"), ("ep.share_ep_contexts", "on"),
    ("ep.stop_share_ep_contexts", ""),
])
def test_keys_of_the_session_are_checked_too(key, value):
    with pytest.raises(Exception, match=f"option {key}: '{value}'; expected 0 or 1|INVALID"):
        session(conv_net(seed=1), HTP, {key: value}, fallback=True)


def test_a_chip_by_number_is_the_chip_by_name(tmp_path):
    results = []
    for chip in ("57", "SM8650", "sm8650"):
        x = images(1, 1)[0]
        results.append(session(conv_net(seed=1), {**HTP, "soc_model": chip}).run(None, {"x": x})[0])
    assert all(np.array_equal(r, results[0]) for r in results)


def test_an_unknown_chip_is_refused_by_the_library():
    with pytest.raises(Exception, match="unknown SoC 9999"):
        session(conv_net(seed=1), {**HTP, "soc_model": "9999"})


def test_quantizing_at_the_borders_is_left_to_others_where_they_may_have_it():
    def pair(name):
        return [helper.make_node("QuantizeLinear", [name, "s", "z"], [name + "_q"]),
                helper.make_node("DequantizeLinear", [name + "_q", "s", "z"], [name + "_d"])]

    y = pair("y")
    y[1].output[0] = "out"
    net = model([*pair("x"), helper.make_node("Relu", ["x_d"], ["y"]), *y],
                [("x", np.float32, [1, 8])], [("out", np.float32, [1, 8])],
                [("s", np.float32(0.5)), ("z", np.uint8(128))], opset=19)
    x = np.linspace(-3, 3, 8, dtype=np.float32)[None]
    found = {}
    for offload in "01":
        s = session(net, {**HTP, "offload_graph_io_quantization": offload}, fallback=True)
        found[offload] = {k: sorted(v) for k, v in assignment(s).items()}
        want = np.maximum(np.clip(np.rint(x / 0.5), -128, 127), 0) * 0.5
        assert np.allclose(s.run(None, {"x": x})[0], want)
    assert found["1"]["CPUExecutionProvider"] == ["DequantizeLinear", "QuantizeLinear"]
    assert set(found["0"]) == {NAME}


THREADS = """
import sys
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
import numpy as np
from provider import helper, model, session
w = np.ones((512, 512), np.float32)
net = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", np.float32, [512, 512])],
            [("y", np.float32, [512, 512])], [("w", w)])
s = session(net, {"threads": sys.argv[2]})
assert (s.run(None, {"x": w})[0] == 512).all()
names = [p.read_text() for p in Path("/proc/self/task").glob("*/comm")]
print(sum(name.startswith("quern-") for name in names))
"""


@pytest.mark.parametrize("n", [1, 3])
def test_the_library_works_with_as_many_threads_as_it_was_given(n):
    done = subprocess.run([sys.executable, "-c", THREADS, str(Path(__file__).parent), str(n)],
                          capture_output=True, text=True, check=True)
    assert int(done.stdout) == min(n, len(os.sched_getaffinity(0))) - 1  # no more than CPUs
