# SPDX-License-Identifier: MIT
"""Options of the HTP: what the library is told, seen by a spy before it, and what is refused.

Numbers of configs are those of the public API: context_11 is USE_EXTENDED_UDMA, graph_17
MONOLITHIC_LSTM, and so on.
"""
import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from provider import HTP, LIB, close, devices, helper, model, needs_memory, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net, images  # noqa: E402

F = np.float32
NET, X = conv_net(seed=1), images(31, 1)[0]


@pytest.fixture(scope="module")
def plain():
    return session(NET, HTP).run(None, {"x": X})[0]


def writing(path, embed="0"):
    return {"ep.context_enable": "1", "ep.context_file_path": str(path),
            "ep.context_embed_mode": embed}


# --- what the library is told

@pytest.mark.parametrize("options, call, words", [
    ({"extended_udma": "1", "soc_model": "87"}, "contextCreate", "context_11=1"),
    ({"enable_htp_graph_splitting": "1"}, "contextCreate", "context_20=1"),
    ({"enable_htp_monolithic_lstm": "1"}, "graphCreate", "graph_17=1"),
    ({"enable_htp_fp16_clamp_overflow": "1"}, "graphCreate", "graph_20=1"),
    ({"enable_htp_matmul_lut": "0"}, "graphCreate", "graph_7=enable_matmul_lut:0"),
    ({"qnn_context_priority": "high"}, "contextCreate", "priority=200"),
    ({"htp_graph_finalization_optimization_mode": "2"}, "graphCreate", "graph_1=3:2"),
    ({"enable_htp_fp16_precision": "1"}, "graphCreate", "graph_2=1"),
    ({"vtcm_mb": "2"}, "graphCreate", "graph_3=2"),
    ({"soc_model": "SM8650"}, "deviceCreate", "soc=57"),
    ({"htp_arch": "75"}, "deviceCreate", "arch=75:0"),
])
def test_an_option_reaches_the_library_and_changes_no_result(spy, plain, options, call, words):
    s = session(NET, {**spy.options, **options})
    told = spy(call)
    assert any(words in line for line in told), told
    assert np.array_equal(s.run(None, {"x": X})[0], plain)


@pytest.mark.parametrize("key", [
    "extended_udma", "enable_htp_graph_splitting", "enable_htp_monolithic_lstm",
    "enable_htp_fp16_clamp_overflow", "enable_htp_prepare_only", "enable_htp_prepare_and_load",
    "enable_htp_spill_fill_buffer", "enable_vtcm_backup_buffer_sharing",
    "enable_htp_shared_memory_allocator", "disable_file_mapped_weights",
    "skip_qnn_version_check", "dump_json_qnn_graph", "enable_framework_op_trace",
    "dump_qnn_ep_input_graph",
])
def test_switched_off_an_option_says_nothing_and_a_wrong_value_is_refused(spy, key):
    session(NET, {**spy.options, key: "0"})
    assert all("_" not in line for line in spy())
    for value in ("yes", "2", ""):
        with pytest.raises(Exception, match=f"option {key}: '{value}'; expected 0 or 1"):
            session(NET, {**HTP, key: value})


@pytest.mark.parametrize("key", [
    "extended_udma", "enable_htp_graph_splitting", "enable_htp_monolithic_lstm",
    "enable_htp_fp16_clamp_overflow", "enable_htp_spill_fill_buffer",
    "enable_vtcm_backup_buffer_sharing", "enable_htp_shared_memory_allocator",
    "htp_reused_io_limit_mb",
])
def test_options_of_the_htp_are_refused_by_other_backends(key):
    with pytest.raises(Exception, match=f"option {key} needs the HTP backend"):
        session(NET, {"backend_type": "cpu", key: "1"})


def test_extended_dma_is_refused_by_a_chip_without_it():
    with pytest.raises(Exception, match="USE_EXTENDED_UDMA needs v81"):
        session(NET, {**HTP, "extended_udma": "1"})


def test_overflow_is_clamped_where_it_is_asked_for():
    net = model([helper.make_node("Mul", ["x", "x"], ["y"])], [("x", F, [4])], [("y", F, [4])])
    x = np.array([1, 200, 300, -1000], F)  # squares beyond 65504, the greatest half
    chip = {**HTP, "soc_model": "SM8750"}  # its halves have infinities
    assert session(net, chip).run(None, {"x": x})[0].tolist() == [1, 40000, np.inf, np.inf]
    clamped = session(net, {**chip, "enable_htp_fp16_clamp_overflow": "1"}).run(None, {"x": x})[0]
    assert clamped.tolist() == [1, 40000, 65504, 65504]


def test_an_architecture_without_float16_computes_in_float32():
    """v69 is the first that has float16."""
    net = model([helper.make_node("Div", ["x", "t"], ["y"])], [("x", F, [1])], [("y", F, [1])],
                [("t", np.array([3], F))])
    for arch, kind in (("69", np.float16), ("68", F)):
        got = session(net, {"backend_type": "htp", "htp_arch": arch}).run(None, {"x": [F(1)]})[0]
        assert got[0] == F(kind(1) / kind(3))


# --- cores

def test_cores_need_a_context_and_a_chip_that_has_them(spy, tmp_path):
    with pytest.raises(Exception, match="htp_num_cores: set ep.context_enable"):
        session(NET, {**HTP, "htp_num_cores": "1"})
    session(NET, {**spy.options, "htp_num_cores": "1"}, writing(tmp_path / "c.onnx"))
    assert any("graph_8=1" in line for line in spy("graphCreate"))
    with pytest.raises(Exception, match="NUM_CORES is 7"):
        session(NET, {**HTP, "htp_num_cores": "7"}, writing(tmp_path / "d.onnx"))
    for value in ("-1", "65", "two"):
        with pytest.raises(Exception, match="htp_num_cores.*from 0 to 64"):
            session(NET, {**HTP, "htp_num_cores": value})


# --- compiling and loading apart

def test_a_session_that_only_prepares_writes_and_does_not_run(spy, plain, tmp_path):
    path = tmp_path / "c.onnx"
    s = session(NET, {**spy.options, "enable_htp_prepare_only": "1"}, writing(path))
    assert any("context_7=1" in line for line in spy("contextCreate"))
    with pytest.raises(Exception, match="PREPARE_ONLY"):
        s.run(None, {"x": X})
    assert np.array_equal(session(str(path), HTP).run(None, {"x": X})[0], plain)


def test_preparing_alone_without_a_file_is_refused():
    with pytest.raises(Exception, match="enable_htp_prepare_only: set ep.context_enable"):
        session(NET, {**HTP, "enable_htp_prepare_only": "1"})


def two_parts():
    """Two partitions around an op that no backend has, with values that both ends share."""
    n = helper.make_node
    return model([n("Relu", ["x"], ["a"]), n("Add", ["a", "z"], ["p"]),
                  n("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                  n("Add", ["b", "k"], ["y"])],
                 [("z", F, [3, 4]), ("x", F, [3, 4])], [("y", F, [3, 3]), ("p", F, [3, 4])],
                 [("k", F(2) * np.ones([3, 3], F))], domains=["com.microsoft"],
                 known=[("b", F, [3, 3])])


@pytest.mark.parametrize("context", [False, True])
def test_what_was_prepared_is_loaded(spy, tmp_path, context):
    rng = np.random.default_rng(1)
    feed = {k: rng.standard_normal((3, 4)).astype(F) for k in "xz"}
    want = session(two_parts(), HTP, fallback=True).run(None, feed)
    s = session(two_parts(), {**spy.options, "enable_htp_prepare_and_load": "1",
                              "htp_reused_io_limit_mb": "16"},
                writing(tmp_path / "c.onnx") if context else {}, fallback=True)
    (load,) = spy("contextCreateFromBinary")
    assert "context_17=16" in load
    for got, expected in zip(s.run(None, feed), want):
        assert np.array_equal(got, expected)
    assert (tmp_path / "c_qnn.bin").exists() == context


@pytest.mark.parametrize("more, config, words", [
    ({"enable_htp_prepare_only": "1"}, {"ep.context_enable": "1"}, "exclude each other"),
    ({}, {"ep.context_file_path": "x.onnx"}, "ep.context_enable is not"),
    ({}, {"ep.share_ep_contexts": "1"}, "ep.share_ep_contexts"),
])
def test_preparing_and_loading_is_refused_where_it_contradicts(more, config, words):
    with pytest.raises(Exception, match=words):
        session(NET, {**HTP, "enable_htp_prepare_and_load": "1", **more}, config)


# --- several contexts

def big_net(i):
    """Its activations do not fit 1 MB of VTCM."""
    w = np.random.default_rng(i).standard_normal((32, 32, 3, 3)).astype(F) / 20
    n, x, y = helper.make_node, f"x{i}", f"y{i}"
    return model([n("Conv", [x, "w"], ["a"], pads=[1, 1, 1, 1]), n("Relu", ["a"], ["b"]),
                  n("Conv", ["b", "w"], ["c"], pads=[1, 1, 1, 1]), n("Add", ["c", "b"], [y])],
                 [(x, F, [1, 32, 96, 96])], [(y, F, [1, 32, 96, 96])], [("w", w)])


def sizes(made):
    return [next(a for a in n.attribute if a.name == "max_size") for n in made.graph.node]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A model of two EPContext nodes with a binary each, its inputs, and what it computes."""
    folder = tmp_path_factory.mktemp("pair")
    models, feed, want = [], {}, []
    for i in range(2):
        path = folder / f"part{i}.onnx"
        s = session(big_net(i), {**HTP, "vtcm_mb": "1", "enable_htp_spill_fill_buffer": "1"},
                    writing(path))
        x = np.random.default_rng(i).standard_normal((1, 32, 96, 96)).astype(F)
        want.append(s.run(None, {f"x{i}": x})[0])
        feed[f"x{i}"] = x
        models.append(onnx.load(path))
    for part in ("node", "input", "output"):
        getattr(models[0].graph, part).extend(getattr(models[1].graph, part))
    models[0].graph.node[1].name = "second"
    onnx.save(models[0], folder / "both.onnx")
    return folder / "both.onnx", feed, want


def runs_as_before(s, pair):
    return all(np.array_equal(a, b) for a, b in zip(s.run(None, pair[1]), pair[2]))


def test_contexts_of_a_model_share_a_spill_fill_buffer(spy, pair):
    found = [a.i for a in sizes(onnx.load(pair[0]))]
    assert all(n > 0 for n in found)
    s = session(str(pair[0]), {**spy.options, "enable_htp_spill_fill_buffer": "1"})
    first, second = spy("contextCreateFromBinary")
    assert f"context_2=first:{max(found)}" in first and f"context_2=next:{max(found)}" in second
    assert runs_as_before(s, pair)
    session(str(pair[0]), spy.options)
    assert all("context_2" not in line for line in spy("contextCreateFromBinary"))


def test_a_buffer_that_is_too_small_is_refused(pair):
    made = onnx.load(pair[0])
    for a in sizes(made):
        a.i = 1
    path = pair[0].parent / "small.onnx"
    onnx.save(made, path)
    with pytest.raises(Exception, match="spill-fill buffer of .* bytes, the group has 1"):
        session(str(path), {**HTP, "enable_htp_spill_fill_buffer": "1"})


def test_sizes_are_measured_only_where_it_is_asked_for(tmp_path):
    session(big_net(0), {**HTP, "vtcm_mb": "1"}, writing(tmp_path / "c.onnx"))
    assert [a.i for a in sizes(onnx.load(tmp_path / "c.onnx"))] == [0]


@pytest.mark.parametrize("key", ["enable_vtcm_backup_buffer_sharing",
                                 "htp_share_resource_optimization"])
def test_contexts_of_a_model_are_made_as_a_list(spy, pair, key):
    s = session(str(pair[0]), {**spy.options, key: "1", "htp_reused_io_limit_mb": "8"})
    (line,) = spy("contextCreateFromBinaryListAsync")
    assert line.startswith("2 of ")
    assert {"context_1=1", "context_5=1", "context_10=1", "context_17=8"} <= set(line.split())
    assert runs_as_before(s, pair)


@pytest.mark.parametrize("key, value, words", [
    ("htp_share_resource_optimization", "0", "from 1 to 1"),
    ("htp_share_resource_optimization", "2", "from 1 to 1"),
    ("htp_reused_io_limit_mb", "-1", "from 0 to"),
    ("htp_reused_io_limit_mb", "1e3", "from 0 to"),
])
def test_numbers_out_of_range_are_refused(key, value, words):
    with pytest.raises(Exception, match=f"option {key}: '{value}'.*{words}"):
        session(NET, {**HTP, key: value})


def test_files_are_mapped_unless_that_is_disabled(tmp_path):
    path = tmp_path / "c.onnx"
    w = np.random.default_rng(4).standard_normal((300, 300)).astype(F)
    net = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, [1, 300])],
                [("y", F, [1, 300])], [("w", w)])
    feed = {"x": np.ones((1, 300), F)}
    want = session(net, HTP, writing(path)).run(None, feed)[0]
    assert (tmp_path / "c_qnn.bin").stat().st_size > 64 << 10  # smaller ones are copied
    for disable in "01":
        s = session(str(path), {**HTP, "disable_file_mapped_weights": disable})
        mapped = str(tmp_path / "c_qnn.bin") in Path("/proc/self/maps").read_text()
        assert mapped == (disable == "0")
        assert np.array_equal(s.run(None, feed)[0], want)
        del s
        gc.collect()


# --- shared memory

def shared_values(*arrays):
    info = devices("npu")[0].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    assert info.name == "QnnHtpShared" and info.device_vendor_id == 0x5143
    made = [ort.OrtValue.ortvalue_from_shape_and_type(a.shape, F, memory_info=info)
            for a in arrays]
    for value, array in zip(made, arrays):
        value.update_inplace(array)
    return made


def bind(s, x, y=None):
    b = s.io_binding()
    b.bind_ortvalue_input("x", x)
    name = s.get_outputs()[0].name
    if y:
        b.bind_ortvalue_output(name, y)
    else:
        b.bind_output(name)
    return b


SHARED = {"enable_htp_shared_memory_allocator": "1"}


def test_cpu_and_npu_devices_advertise_the_shared_memory():
    for kind in ("cpu", "npu"):
        info = devices(kind)[0].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
        assert info.name == "QnnHtpShared"


@needs_memory
@pytest.mark.parametrize("cached", [False, True])
def test_shared_values_are_registered_once_and_bound_by_handle(spy, plain, tmp_path, cached):
    net = NET
    if cached:
        net = str(tmp_path / "c.onnx")
        session(NET, HTP, writing(net))
    s = session(net, {**spy.options, **SHARED})
    x, y = shared_values(X, np.zeros_like(plain))
    b = bind(s, x, y)
    spy()
    for _ in range(3):
        y.update_inplace(np.zeros_like(plain))
        s.run_with_iobinding(b)
        assert np.array_equal(y.numpy(), plain)
    assert sorted(spy()) == ["graphExecute 1 of 1 inputs, 1 of 1 outputs shared"] * 3 + [
        "memRegister 1"] * 2
    del b, y
    gc.collect()
    assert spy() == ["memDeRegister 1"]  # the input lives
    del s
    gc.collect()
    assert "memDeRegister 1" in spy()


@needs_memory
def test_other_values_stay_where_they_are(spy, plain):
    s = session(NET, {**spy.options, **SHARED})
    assert np.array_equal(s.run(None, {"x": X})[0], plain)
    assert "graphExecute 0 of 1 inputs, 0 of 1 outputs shared" in spy()
    (x,) = shared_values(X)
    b = bind(s, x)
    s.run_with_iobinding(b)
    assert np.array_equal(b.copy_outputs_to_cpu()[0], plain)
    assert "graphExecute 1 of 1 inputs, 0 of 1 outputs shared" in spy()


@needs_memory
def test_shared_values_of_many_threads_do_not_mix(plain):
    s = session(NET, {**HTP, **SHARED})
    xs = images(7, 4)
    want = [session(NET, HTP).run(None, {"x": x})[0] for x in xs]
    wrong = []

    def work(x, expected):
        for _ in range(5):  # registered, bound, freed, and the address used again
            a, y = shared_values(x, np.zeros_like(expected))
            s.run_with_iobinding(bind(s, a, y))
            if not np.array_equal(y.numpy(), expected):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(xs, want)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@needs_memory
def test_without_the_option_shared_values_are_memory_like_any_other(spy, plain):
    s = session(NET, spy.options)
    x, y = shared_values(X, np.zeros_like(plain))
    s.run_with_iobinding(bind(s, x, y))
    assert np.array_equal(y.numpy(), plain)
    assert "graphExecute 0 of 1 inputs, 0 of 1 outputs shared" in spy()


ALONE = """
import os, shutil, sys, tempfile
sys.path[:0] = sys.argv[1:2]
import provider
folder = tempfile.mkdtemp()
for name in ("libonnxruntime_providers_quern.so", "libQnnHtp.so", "libQnnSystem.so"):
    shutil.copy(provider.LIB / name, folder)
provider.PLUGIN = os.path.join(folder, "libonnxruntime_providers_quern.so")
net = open(sys.argv[2], "rb").read()
try:
    provider.session(net, {**provider.HTP, "enable_htp_shared_memory_allocator": "1"})
except Exception as e:
    print(e)
provider.session(net, provider.HTP)
"""


def test_a_missing_library_for_shared_memory_is_named(tmp_path):
    (tmp_path / "net.onnx").write_bytes(NET)
    done = subprocess.run([sys.executable, "-c", ALONE, str(Path(__file__).parent),
                           str(tmp_path / "net.onnx")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "shared memory: libcdsprpc.so is neither beside the plugin" in done.stdout


# --- versions of the library

def test_an_old_library_is_taken_only_where_its_version_is_not_checked(spy, plain, monkeypatch):
    monkeypatch.setenv("QUERN_SPY_MINOR", "13")
    with pytest.raises(Exception, match="has QNN API 2.13, expected 2.14 or newer"):
        session(NET, spy.options)
    s = session(NET, {**spy.options, "skip_qnn_version_check": "1"})
    assert np.array_equal(s.run(None, {"x": X})[0], plain)


def test_a_restart_of_the_accelerator_is_told_from_other_failures(spy, monkeypatch):
    s = session(NET, spy.options)
    monkeypatch.setenv("QUERN_SPY_CRASH", "1")
    with pytest.raises(Exception, match="ENGINE_ERROR.*NPU restarted.*make it anew"):
        s.run(None, {"x": X})


def test_a_serializer_takes_all_calls(tmp_path):
    """Any library can stand in: it is opened in the place of the backend that is meant."""
    other = tmp_path / "libOther.so"
    other.write_bytes((LIB / "libQnnCpu.so").read_bytes())
    s = session(NET, {"backend_type": "cpu", "qnn_saver_path": str(other)})
    assert str(other) in Path("/proc/self/maps").read_text()
    assert close(s.run(None, {"x": X})[0], session(NET).run(None, {"x": X})[0])
    with pytest.raises(Exception, match="/nowhere/libQnnSaver.so"):
        session(NET, {"backend_type": "cpu", "qnn_saver_path": "/nowhere/libQnnSaver.so"})


# --- what has no effect, and what is refused for good

@pytest.mark.parametrize("key, good, bad", [
    ("enable_block_quant_weight_optimization", "1", "2"),
    ("enable_htp_weight_sharing", "1", "2"),
    ("num_graph_prepare_threads", "4", "many"),
    ("htp_graph_splitting_num_prepare_threads", "4294967295", "4294967296"),
    ("log_severity_level", "2", "5"),
    ("enable_htp_cross_device_prepare", "1", "-1"),
    ("skip_backend_op_validation", "1", "2"),
])
def test_options_without_effect_say_so(capfd, key, good, bad):
    session(NET, {**HTP, key: good}, level=1)
    assert f"option {key} has no effect: " in capfd.readouterr().err
    with pytest.raises(Exception, match=f"option {key}: '{bad}'"):
        session(NET, {**HTP, key: bad})


@pytest.mark.parametrize("key, words", [
    ("genie_log_level", "Genie"), ("enable_dx12_shared_memory_allocator", "Windows"),
])
def test_options_that_cannot_be_followed_are_refused_with_the_reason(key, words):
    with pytest.raises(Exception, match=f"option {key} is not supported: .*{words}"):
        session(NET, {**HTP, key: "1"})
    session(NET, {**HTP, key: "0"})
