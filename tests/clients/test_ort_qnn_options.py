# SPDX-License-Identifier: MIT
"""Options of the public onnxruntime-qnn provider on our libraries: devices, power, priorities,
graph options, run and dynamic options, profiles, dumps. None of them may change a result.
"""
import csv
import json

import numpy as np
import onnxruntime as ort
import pytest

from ort_models import assignment, conv_net, images
from qnn_provider import NAME, run, session

MODEL, X = conv_net(seed=1), images(31, 1)[0]


@pytest.fixture(scope="module")
def plain(device):
    return run(session(MODEL, device), X)


def one_of(key, *values):
    return [{key: v} for v in values]


@pytest.mark.parametrize("options", [
    *one_of("htp_performance_mode", "burst", "balanced", "default", "high_performance",
            "high_power_saver", "low_balanced", "low_power_saver", "power_saver",
            "extreme_power_saver", "sustained_high_performance"),
    *one_of("qnn_context_priority", "low", "normal_low", "normal", "normal_high", "high",
            "high_plus", "critical", "critical_plus"),
    *one_of("htp_graph_finalization_optimization_mode", "0", "1", "2", "3"),
    *one_of("vtcm_mb", "1", "4", "8"),
    *one_of("soc_model", "SM8650", "36", "43", "57"),
    *({"soc_model": "0", "htp_arch": a} for a in ("69", "73", "75", "79", "81")),
    {"htp_performance_mode": "burst", "rpc_control_latency": "100"},
    {"device_id": "0"}, {"skip_qnn_version_check": "1"}, {"enable_htp_graph_splitting": "1"},
    {"enable_htp_matmul_lut": "0"}, {"htp_reused_io_limit_mb": "16"},
    {"enable_htp_monolithic_lstm": "1"}, {"offload_graph_io_quantization": "0"},
    {"soc_model": "87", "extended_udma": "1"},
], ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()))
def test_options_are_taken_and_change_no_result(device, plain, options):
    with_options = session(MODEL, device, {"session.disable_cpu_ep_fallback": "1"}, **options)
    assert set(assignment(with_options)) == {NAME}
    assert np.array_equal(run(with_options, X), plain)


@pytest.mark.parametrize("options, message", [
    ({"soc_model": "57", "extended_udma": "1"}, "(?i)fallback"),
    ({"qnn_context_priority": "supreme"}, "(?i)fallback"),
])
def test_what_a_chip_cannot_do_is_refused(device, options, message):
    with pytest.raises(Exception, match=message):
        session(MODEL, device, {"session.disable_cpu_ep_fallback": "1"}, **options)


def run_with(s, **entries):
    options = ort.RunOptions()
    for key, value in entries.items():
        options.add_run_config_entry(key.replace("_", ".", 1), value)
    return s.run(None, {"x": X}, options)[0]


def test_votes_come_and_go_with_runs(device, plain):
    s = session(MODEL, device, htp_performance_mode="low_balanced")
    for mode in ("burst", "power_saver", "default"):
        assert np.array_equal(run_with(s, qnn_htp_perf_mode=mode, qnn_rpc_control_latency="50",
                                       qnn_htp_perf_mode_post_run="low_power_saver"), plain)
    for key, value in (("ep.dynamic.workload_type", "Efficient"),
                       ("ep.dynamic.workload_type", "Default"),
                       ("ep.dynamic.qnn_htp_performance_mode", "burst")):
        s.set_ep_dynamic_options({key: value})
        assert np.array_equal(run(s, X), plain)


@pytest.mark.parametrize("level", ["basic", "detailed"])
def test_profiles_are_written_as_csv_and_log(device, plain, tmp_path, level):
    path = tmp_path / "profile.csv"
    s = session(MODEL, device, profiling_level=level, profiling_file_path=str(path))
    assert np.array_equal(run(s, X), plain) and np.array_equal(run(s, X), plain)
    rows = list(csv.DictReader(path.open()))
    roots = [r for r in rows if r["Event Level"] == "ROOT"]
    assert [r["Message"] for r in roots].count("EXECUTE") == 2
    assert [r["Message"] for r in roots].count("FINALIZE") == 1
    for r in rows:
        assert r["Timing Source"] == "BACKEND" and int(r["Time"]) >= 0
        unit = r["Unit of Measurement"]  # headings of estimates have none
        assert unit in ("US", "CYCLES", "COUNT", "BYTES") or (unit, r["Time"]) == ("UNKNOWN", "0")
    execute = [int(r["Time"]) for r in roots if r["Message"] == "EXECUTE"]
    assert all(0 < t < 1e6 for t in execute)
    nodes = [r for r in rows if r["Event Level"] == "SUB-EVENT"]
    assert (len(nodes) > 0) == (level == "detailed")
    lines = [json.loads(t) for t in (tmp_path / "profile_qnn.log").read_text().splitlines()]
    assert [t["method"] for t in lines[1:]] == ["BACKEND_FINALIZE"] + ["BACKEND_EXECUTE"] * 2


def test_graphs_are_dumped_as_json(device, plain, tmp_path):
    s = session(MODEL, device, dump_json_qnn_graph="1", json_qnn_graph_dir=str(tmp_path))
    assert np.array_equal(run(s, X), plain)
    file, = (f for f in tmp_path.glob("*.json") if not f.stem.endswith("_tensor_log"))
    graph = json.loads(file.read_text())["graph"]
    types = [n["type"] for n in graph["nodes"].values()]
    assert types.count("Conv2d") == 2 and types.count("DepthWiseConv2d") == 1
    ids = [t["id"] for t in graph["tensors"].values()]
    assert len(ids) == len(set(ids)) and 0 not in ids, "ids are ours"


def test_nothing_falls_back_unless_it_may(device):
    """A library that is not there: nodes go to the CPU, or the session fails if they must not."""
    missing = {"backend_path": "/nonexistent/libQnnHtp.so"}
    assert set(assignment(session(MODEL, device, **missing))) == {"CPUExecutionProvider"}
    with pytest.raises(Exception, match="fallback"):
        session(MODEL, device, {"session.disable_cpu_ep_fallback": "1"}, **missing)
