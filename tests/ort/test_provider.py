# SPDX-License-Identifier: MIT
"""Quern's own execution provider in onnxruntime: devices, partitions, data flow and refusals.

Expected values come from onnxruntime's CPU provider.
"""
import sys
import threading
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, LIB, NAME, close, cpu_session, devices, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import assignment, conv_net, images  # noqa: E402

node = helper.make_node
F, I64 = np.float32, np.int64


def test_the_provider_offers_cpu_and_npu_devices():
    kinds = {d.device.type for d in devices()}
    assert {ort.OrtHardwareDeviceType.CPU, ort.OrtHardwareDeviceType.NPU} <= kinds


@pytest.mark.parametrize("kind, library", [("cpu", "libQnnCpu.so"), ("npu", "libQnnHtp.so")])
def test_a_device_chooses_its_backend(kind, library):
    net = conv_net(seed=1)
    ours, cpu = session(net, kind=kind), cpu_session(net)
    assert set(assignment(ours)) == {NAME}
    assert str(LIB / library) in Path("/proc/self/maps").read_text()
    for x in images(2, 3):
        want, got = cpu.run(None, {"x": x})[0], ours.run(None, {"x": x})[0]
        assert close(got, want, 1e-5 if kind == "cpu" else 2e-2)


def test_wide_integers_pass_through_32_bits():
    net = model([node("Gather", ["x", "i"], ["g"], axis=0), node("Shape", ["g"], ["s"]),
                 node("Add", ["i", "i"], ["d"])],
                [("x", F, [5, 3]), ("i", I64, [2])],
                [("g", F, [2, 3]), ("s", I64, [2]), ("d", I64, [2])])
    feed = {"x": np.arange(15, dtype=F).reshape(5, 3), "i": np.array([4, 1], I64)}
    for got, want in zip(session(net, fallback=True).run(None, feed),
                         cpu_session(net).run(None, feed)):
        assert got.dtype == want.dtype and np.array_equal(got, want)


def test_an_integer_that_does_not_fit_is_an_error_with_words():
    net = model([node("Add", ["i", "i"], ["d"])], [("i", I64, [2])], [("d", I64, [2])])
    ours = session(net)
    with pytest.raises(Exception, match="input 'i'.*4294967296.*index 1.*32 bits"):
        ours.run(None, {"i": np.array([1, 1 << 32], I64)})
    assert ours.run(None, {"i": np.array([1, 2], I64)})[0].tolist() == [2, 4]


# An op that no QNN backend has, between two that all have.
def interrupted():
    return model([node("Relu", ["x"], ["a"]),
                  node("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                  node("Relu", ["b"], ["c"]), node("Add", ["c", "k"], ["y"])],
                 [("x", F, [3, 4])], [("y", F, [3, 3])], [("k", F(2) * np.ones([3, 3], F))],
                 domains=["com.microsoft"], known=[("b", F, [3, 3])])


def test_a_dynamic_model_gets_one_warning(capfd):
    exps = [node("Exp", [a], [b]) for a, b in zip("abcd", "bcde")]
    net = model([node("Relu", ["x"], ["a"])] + exps,
                [("x", F, ["batch", None])], [("e", F, ["batch", None])])
    x = np.ones((2, 3), F)
    assert np.allclose(session(net, fallback=True, level=2).run(None, {"x": x})[0],
                       cpu_session(net).run(None, {"x": x})[0])
    (line,) = [s for s in capfd.readouterr().err.splitlines() if "other providers" in s]
    assert "input 'x' [batch,?] has a dynamic shape: 5 of 5 nodes" in line


def test_refused_nodes_split_the_graph_and_are_named(capfd):
    net = interrupted()
    ours = session(net, fallback=True, level=1)
    said = capfd.readouterr().err
    assert "(CDist) is left to other providers: the op com.microsoft.CDist" in said
    assert "3 of 4 nodes in 2 partitions on CPU" in said
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(F)
    assert close(ours.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0])


def test_strict_sessions_fail_where_a_node_is_refused():
    with pytest.raises(Exception, match=r"strict: node 'b?.*' \(CDist\) is rejected"):
        session(interrupted(), {"strict": "1"}, fallback=True)


def test_a_branch_around_a_refused_node_is_no_cycle():
    """a -> CDist -> add, and a -> add: one partition would depend on itself."""
    net = model([node("Relu", ["x"], ["a"]),
                 node("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                 node("Add", ["a", "b"], ["y"])],
                [("x", F, [3, 3])], [("y", F, [3, 3])], domains=["com.microsoft"],
                known=[("b", F, [3, 3])])
    x = np.random.default_rng(1).standard_normal((3, 3)).astype(F)
    got = session(net, fallback=True).run(None, {"x": x})[0]
    assert close(got, cpu_session(net).run(None, {"x": x})[0])


@pytest.mark.parametrize("last", [False, True])
def test_a_refused_op_does_not_take_its_readers_or_the_graph_along(capfd, last):
    """The HTP has no PoolMax3d, which is found when a channel-last result exists already."""
    nodes = [node("Relu", ["x"], ["a"]), node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2, 2]),
             node("Relu", ["b"], ["y"])]
    nodes[1 if last else 2].output[0] = "y"
    net = model(nodes[:2] if last else nodes, [("x", F, [1, 2, 4, 4, 4])],
                [("y", F, [1, 2, 3, 3, 3])])
    ours = session(net, HTP, fallback=True, level=2)
    assert "(MaxPool) is left to other providers" in capfd.readouterr().err
    assert assignment(ours) == {NAME: ["Relu"] if last else ["Relu", "Relu"],
                                "CPUExecutionProvider": ["MaxPool"]}
    x = np.random.default_rng(1).standard_normal((1, 2, 4, 4, 4)).astype(F)
    assert close(ours.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0], 2e-3)


def test_an_op_whose_result_cannot_leave_the_graph_is_refused_alone(capfd):
    """Sequences exist while importing only."""
    net = model([node("Relu", ["x"], ["a"]), node("SequenceConstruct", ["a", "x"], ["s"]),
                 node("SequenceAt", ["s", "i"], ["y"])],
                [("x", F, [2, 3]), ("i", I64, [])], [("y", F, [2, 3])])
    ours = session(net, fallback=True, level=2)
    assert "(SequenceConstruct) is left to other providers: output 's' is not a tensor" in \
        capfd.readouterr().err
    assert assignment(ours)[NAME] == ["Relu"]
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(F)
    assert np.array_equal(ours.run(None, {"x": x, "i": np.array(0)})[0], np.maximum(x, 0))


@pytest.mark.parametrize("copy", ["Identity", "Cast", "Reshape"])
def test_outputs_with_the_same_value_are_all_written(copy):
    extra = {"Identity": {}, "Cast": {"to": 1}, "Reshape": {}}[copy]
    shape = ["shape"] if copy == "Reshape" else []
    net = model([node("Relu", ["x"], ["a"]), node(copy, ["a", *shape], ["b"], **extra),
                 node("Identity", ["b"], ["c"])],
                [("x", F, [2, 3])], [(name, F, [2, 3]) for name in "abc"],
                [("shape", np.array([2, 3]))])
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(F)
    for got in session(net).run(None, {"x": x}):
        assert np.array_equal(got, np.maximum(x, 0))


@pytest.mark.parametrize("declared", [2, 3, None])
def test_boxes_are_counted_after_the_run(declared):
    """Two of three boxes remain, whatever number the model declares."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 5, 1, 6]]], F)
    scores = np.array([[[0.9, 0.8, 0.7]]], F)
    net = model([node("NonMaxSuppression", ["b", "s", "most", "iou"], ["y"])],
                [("b", F, [1, 3, 4]), ("s", F, [1, 1, 3])], [("y", I64, [declared, 3])],
                [("most", np.array([3])), ("iou", np.array([0.5], F))])
    got = session(net).run(None, {"b": boxes, "s": scores})[0]
    assert got.tolist() == [[0, 0, 0], [0, 0, 2]]


def quantized_convolution():
    """x -> Q -> DQ -> Conv(DQ of codes) -> Q -> DQ -> y."""
    rng = np.random.default_rng(3)
    codes = rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    return model([node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                  node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                  node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
                  node("Conv", ["d", "wd"], ["c"], kernel_shape=[3, 3]),
                  node("QuantizeLinear", ["c", "s2", "z"], ["e"]),
                  node("DequantizeLinear", ["e", "s2", "z"], ["y"])],
                 [("x", F, [1, 3, 8, 8])], [("y", F, [1, 4, 6, 6])],
                 [("s", F(1 / 32)), ("z", np.uint8(128)), ("s2", F(1 / 4)), ("w", codes),
                  ("ws", F(1 / 64)), ("wz", np.int8(0))])


def test_weights_stay_with_their_convolution_where_borders_are_left_to_others():
    net = quantized_convolution()
    ours = session(net, HTP, fallback=True)
    assert assignment(ours)["CPUExecutionProvider"] == ["QuantizeLinear", "DequantizeLinear"]
    x = np.random.default_rng(4).standard_normal((1, 3, 8, 8)).astype(F)
    got, want = ours.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0]
    assert np.abs(got - want).max() <= 0.25  # a step


@pytest.mark.parametrize("relu", [False, True])
def test_a_refused_unit_does_not_take_others_along(capfd, relu):
    """Weights of 16 bits with a zero point are refused; what reads the result is not."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 65536, (4, 3, 3, 3)).astype(np.uint16)
    behind = "r" if relu else "c"
    net = model([node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                 node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
                 node("Conv", ["d", "wd"], ["c"], kernel_shape=[3, 3]),
                 *([node("Relu", ["c"], ["r"])] if relu else []),
                 node("QuantizeLinear", [behind, "s2", "z"], ["e"]),
                 node("DequantizeLinear", ["e", "s2", "z"], ["f"]),
                 node("Sigmoid", ["f"], ["g"]),
                 node("QuantizeLinear", ["g", "s3", "z0"], ["h"]),
                 node("DequantizeLinear", ["h", "s3", "z0"], ["y"])],
                [("x", F, [1, 3, 8, 8])], [("y", F, [1, 4, 6, 6])],
                [("s", F(1 / 4096)), ("z", np.uint16(32768)), ("s2", F(1 / 1024)), ("w", codes),
                 ("ws", F(1e-5)), ("wz", np.uint16(30000)), ("s3", F(1 / 65536)),
                 ("z0", np.uint16(0))], opset=21)
    ours = session(net, HTP, fallback=True, level=2)
    said = [line for line in capfd.readouterr().err.splitlines() if "left to other" in line]
    assert len(said) == 1 and "(Conv)" in said[0] and "symmetric" in said[0]
    x = np.random.default_rng(4).standard_normal((1, 3, 8, 8)).astype(F)
    got, want = ours.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0]
    assert np.abs(got - want).max() <= 1e-3


def test_open_dimensions_are_left_to_others_with_the_reason(capfd):
    net = model([node("Relu", ["x"], ["y"])], [("x", F, ["N", 4])], [("y", F, ["N", 4])])
    ours = session(net, fallback=True, level=2)
    assert "input 'x' [N,4] has a dynamic shape: 1 of 1 nodes" in capfd.readouterr().err
    assert ours.run(None, {"x": -np.ones((3, 4), F)})[0].tolist() == [[0] * 4] * 3


def test_results_of_unknown_size_have_the_size_they_got():
    net = model([node("NonZero", ["x"], ["n"]), node("Relu", ["x"], ["y"])], [("x", F, [2, 3])],
                [("n", I64, [2, "k"]), ("y", F, [2, 3])])
    x = np.array([[0, 1, 0], [2, 0, 3]], F)
    got = session(net, fallback=True).run(None, {"x": x})
    assert got[0].tolist() == [[0, 1, 1], [1, 0, 2]]


def test_bodies_of_if_go_with_their_node():
    then = helper.make_graph([node("Add", ["x", "k"], ["t"])], "then", [],
                             [helper.make_tensor_value_info("t", 1, [3])])
    other = helper.make_graph([node("Mul", ["x", "k"], ["e"])], "else", [],
                              [helper.make_tensor_value_info("e", 1, [3])])
    net = model([node("If", ["c"], ["z"], then_branch=then, else_branch=other),
                 node("Relu", ["z"], ["y"])],
                [("c", np.bool_, []), ("x", F, [3])], [("y", F, [3])],
                [("k", F(3) * np.ones(3, F))])
    ours = session(net, fallback=True)
    for c in (True, False):
        feed = {"c": np.array(c), "x": np.array([1, 2, -4], F)}
        assert close(ours.run(None, feed)[0], cpu_session(net).run(None, feed)[0])


def test_runs_from_many_threads_are_independent():
    net = conv_net(seed=3)
    ours, cpu = session(net), cpu_session(net)
    wrong = []

    def work(seed):
        for x in images(seed, 5):
            if not close(ours.run(None, {"x": x})[0], cpu.run(None, {"x": x})[0]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("options, words", [
    ({"backend_tpe": "htp"}, "no option 'backend_tpe'; did you mean 'backend_type'"),
    ({"backend_type": "hpt"}, "'hpt' is not known; did you mean 'htp'"),
    ({"backend_type": "htp", "backend_path": "x.so"}, "only one of 'backend_type'"),
    ({"backend_path": "/nowhere/libQnnHtp.so"}, "/nowhere/libQnnHtp.so"),
    ({**HTP, "soc_model": "SM865O"}, "unknown SoC 'SM865O'; did you mean 'SM8650'"),
    ({**HTP, "htp_arch": "67"}, "option htp_arch: '67'"),
    ({**HTP, "vtcm_mb": "-1"}, "option vtcm_mb: '-1'; expected a whole number from 0 to"),
    ({**HTP, "vtcm_mb": "8x"}, "option vtcm_mb: '8x'"),
    ({**HTP, "enable_htp_fp16_precision": "yes"}, "'yes'; expected 0 or 1"),
    ({**HTP, "htp_performance_mode": "brust"}, "did you mean 'burst'"),
    ({**HTP, "qnn_context_priority": "urgent"}, "expected one of normal, low"),
    ({**HTP, "htp_graph_finalization_optimization_mode": "4"}, "from 0 to 3"),
])
def test_wrong_options_fail_the_session_with_words(options, words):
    with pytest.raises(Exception) as raised:
        session(conv_net(seed=1), options)
    assert words in str(raised.value)


def test_a_library_that_is_no_backend_is_an_error(tmp_path):
    fake = tmp_path / "libQnnHtp.so"
    fake.write_bytes(b"not a library")
    with pytest.raises(Exception, match="libQnnHtp.so"):
        session(conv_net(seed=1), {"backend_path": str(fake)})


@pytest.mark.parametrize("name, backend", [("libQnnHtp.so", "HTP"), ("libQnnCpu.so", "CPU")])
def test_a_library_without_a_path_is_the_one_beside_the_provider(name, backend, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    feeds = {"x": images(2, 1)[0]}
    options = {"backend_path": name, **({"soc_model": "SM8650"} if backend == "HTP" else {})}
    got = session(conv_net(seed=1), options).run(None, feeds)[0]
    want = cpu_session(conv_net(seed=1)).run(None, feeds)[0]
    assert np.abs(got - want).max() < 0.02 * np.abs(want).max()


def test_grouped_attention_with_a_buffer_runs_whole_on_the_npu():
    rng, sizes = np.random.default_rng(3), {"q": [1, 1, 32], "k": [1, 1, 16], "v": [1, 1, 16]}
    past = {"pk": [1, 2, 6, 8], "pv": [1, 2, 6, 8]}
    node = helper.make_node(
        "GroupQueryAttention", ["q", "k", "v", "pk", "pv", "last", "total"], ["y", "ok", "ov"],
        domain="com.microsoft", num_heads=4, kv_num_heads=2)
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in {**sizes, **past}.items()}
    data = model([node], [(n, np.float32, v.shape) for n, v in feeds.items()] +
                 [("last", np.int32, [1, 1])],
                 [("y", np.float32, [1, 1, 32])] + [(n, np.float32, [1, 2, 6, 8])
                                                    for n in ("ok", "ov")],
                 constants=[("total", np.int32([6]))], domains=["com.microsoft"])
    feeds["last"] = np.int32([[3]])  # three keys of the past count, and the new one behind them
    got = session(data, HTP).run(None, feeds)
    want = cpu_session(data).run(None, feeds)
    assert np.abs(got[0] - want[0]).max() < 0.01
    assert np.abs(got[1][:, :, 3] - want[1][:, :, 3]).max() < 0.01


Policy = ort.OrtExecutionProviderDevicePolicy


@pytest.mark.parametrize("policy, backend", [(Policy.PREFER_NPU, "libQnnHtp.so"),
                                             (Policy.PREFER_CPU, "libQnnCpu.so")])
def test_a_policy_chooses_the_provider_and_its_device(policy, backend, capfd):
    devices()  # registered
    so = ort.SessionOptions()
    so.log_severity_level = 1
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    so.set_provider_selection_policy(policy)
    s = ort.InferenceSession(conv_net(seed=1), so, enable_fallback=0)
    assert set(assignment(s)) == {NAME}
    assert backend in capfd.readouterr().err  # the line that tells what was taken
