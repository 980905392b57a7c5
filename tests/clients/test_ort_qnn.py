# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our libQnnCpu.so: a real client, end to end.

Only the open part of the wheel is used (the provider plugin); the backend below it is ours, and
the test checks that no other QNN library was loaded. Expected values come from onnxruntime's CPU
provider.
"""
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

qnn = pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

LIB = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve() / "libQnnCpu.so"
NAME = "QNNExecutionProvider"


@pytest.fixture(scope="module")
def device():
    plugin = next(Path(qnn.__file__).parent.glob("libonnxruntime_providers_qnn.so"))
    ort.register_execution_provider_library(NAME, str(plugin))
    devices = [d for d in ort.get_ep_devices()
               if d.ep_name == NAME and d.device.type == ort.OrtHardwareDeviceType.CPU]
    yield devices[0]
    ort.unregister_execution_provider_library(NAME)


def weights(rng, name, *shape):
    scale = 1.0 / np.sqrt(max(1, np.prod(shape[1:])))
    return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)


def conv_net(seed):
    """Convolutions (plain, depthwise, 1x1), pooling, a residual, a dense layer and Softmax."""
    rng = np.random.default_rng(seed)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c0"], ["r0"]),
        node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p0", "w1", "b1"], ["c1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=8),
        node("Clip", ["c1", "lo", "hi"], ["r1"]),
        node("Conv", ["r1", "w2", "b2"], ["c2"], kernel_shape=[1, 1]),
        node("Add", ["c2", "p0"], ["a0"]),
        node("Sigmoid", ["a0"], ["s0"]),
        node("Mul", ["a0", "s0"], ["m0"]),
        node("GlobalAveragePool", ["m0"], ["g0"]),
        node("Flatten", ["g0"], ["f0"]),
        node("Gemm", ["f0", "w3", "b3"], ["l0"], transB=1),
        node("Softmax", ["l0"], ["y"], axis=1),
    ]
    init = [weights(rng, "w0", 8, 3, 3, 3), weights(rng, "b0", 8), weights(rng, "w1", 8, 1, 3, 3),
            weights(rng, "b1", 8), weights(rng, "w2", 8, 8, 1, 1), weights(rng, "b2", 8),
            weights(rng, "w3", 10, 8), weights(rng, "b3", 10),
            numpy_helper.from_array(np.float32(0), "lo"),
            numpy_helper.from_array(np.float32(6), "hi")]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 20, 17])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], init)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def qnn_session(model, device, **options):
    so = ort.SessionOptions()
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    so.add_provider_for_devices([device], {"backend_path": str(LIB), **options})
    return ort.InferenceSession(model, so)


def assignment(session):
    """{provider: op types it runs}"""
    found = {}
    for part in session.get_provider_graph_assignment_info():
        found.setdefault(part.ep_name, []).extend(node.op_type for node in part.get_nodes())
    return found


def loaded_qnn_libraries():
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {p for p in paths if Path(p).name.startswith("libQnn")}


def test_a_convolutional_net_runs_on_our_cpu_backend(device):
    model = conv_net(seed=1)
    cpu = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    ours = qnn_session(model, device)
    assert set(assignment(ours)) == {NAME}, "every node must be ours"
    rng = np.random.default_rng(2)
    for _ in range(5):
        x = rng.standard_normal((1, 3, 20, 17)).astype(np.float32)
        want, got = cpu.run(None, {"x": x})[0], ours.run(None, {"x": x})[0]
        assert np.abs(want - got).max() <= 1e-5 * np.abs(want).max()
    assert loaded_qnn_libraries() == {str(LIB.resolve())}


def test_sessions_come_and_go(device):
    x = np.random.default_rng(3).standard_normal((1, 3, 20, 17)).astype(np.float32)
    results = []
    for _ in range(5):
        session = qnn_session(conv_net(seed=4), device)
        results.append(session.run(None, {"x": x})[0])
        del session
    assert all(np.array_equal(results[0], r) for r in results)


def test_what_the_backend_refuses_falls_back(device):
    """An op that QNN cannot express stays with onnxruntime; the rest still runs here."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Det", ["r"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.random.default_rng(5).standard_normal((2, 3, 3)).astype(np.float32)
    session = qnn_session(model.SerializeToString(), device)
    assert assignment(session) == {NAME: ["Relu"], "CPUExecutionProvider": ["Det"]}
    got = session.run(None, {"x": x})[0]
    assert np.allclose(got, np.linalg.det(np.maximum(x, 0)), atol=1e-5)
