# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our libQnnGpu.so: float models run, results are those of
onnxruntime's CPU provider within 1e-4. As in test_ort_qnn.py only the provider plugin of the wheel
is used."""
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from opencl import needs_gpu
from ort_models import assignment, conv_net, float_net, images, loaded_qnn_libraries, weights
from qnn_provider import LIBS, NAME, run, run_in_new_process, session, writing

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
pytestmark = needs_gpu

GPU = LIBS / "libQnnGpu.so"
WHOLE = {"session.disable_cpu_ep_fallback": "1"}
node = helper.make_node


def gpu_session(model, device, config=None, **options):
    return session(model, device, {**WHOLE, **(config or {})}, backend_path=str(GPU), soc_model="0",
                   **options)


def close(got, want):
    return got.shape == want.shape and np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


def on_cpu(model, x):
    return run(ort.InferenceSession(model, providers=["CPUExecutionProvider"]), x)


def model_of(nodes, shape, out, constants, opset=17):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def attention():
    rng = np.random.default_rng(5)
    return model_of(
        [node("MatMul", ["x", "q"], ["a"]), node("MatMul", ["x", "k"], ["b"]),
         node("Transpose", ["b"], ["bt"], perm=[0, 2, 1]), node("MatMul", ["a", "bt"], ["s"]),
         node("Softmax", ["s"], ["p"], axis=-1), node("MatMul", ["p", "x"], ["o"]),
         node("Add", ["o", "x"], ["r"]),
         node("LayerNormalization", ["r", "g", "h"], ["y"], axis=-1)], [1, 12, 16], [1, 12, 16],
        [weights(rng, "q", 16, 16), weights(rng, "k", 16, 16), weights(rng, "g", 16),
         weights(rng, "h", 16)])


def test_a_convolutional_net_runs_whole_on_our_gpu_backend(device):
    model = conv_net(seed=1)
    ours = gpu_session(model, device)
    assert set(assignment(ours)) == {NAME}
    for x in images(2, 3):
        assert close(run(ours, x), on_cpu(model, x))
    loaded = loaded_qnn_libraries()
    assert str(GPU) in loaded and {Path(p).parent for p in loaded} == {LIBS}


def test_attention_runs_whole_on_our_gpu_backend(device):
    ours = gpu_session(attention(), device)
    assert set(assignment(ours)) == {NAME}
    x = np.random.default_rng(7).standard_normal((1, 12, 16)).astype(np.float32)
    assert close(run(ours, x), on_cpu(attention(), x))


def test_sessions_come_and_go_with_equal_results(device):
    x, results = images(3, 1)[0], []
    for _ in range(3):
        results.append(run(gpu_session(conv_net(seed=4), device), x))
    assert all(np.array_equal(results[0], r) for r in results)


def test_verbose_logging_changes_no_result(device, capfd):
    """The provider then asks the GPU library for its DEBUG lines."""
    model, x = conv_net(seed=6), images(4, 1)[0]
    want = run(gpu_session(model, device), x)
    ort.set_default_logger_severity(0)
    try:
        assert np.array_equal(run(gpu_session(model, device), x), want)
    finally:
        ort.set_default_logger_severity(2)
    capfd.readouterr()


def test_what_the_backend_rejects_falls_back(device):
    model = model_of([node("Relu", ["x"], ["r"]), node("Det", ["r"], ["y"])], [2, 3, 3], [2], [])
    x = np.random.default_rng(5).standard_normal((2, 3, 3)).astype(np.float32)
    ours = session(model, device, backend_path=str(GPU), soc_model="0")
    assert assignment(ours) == {NAME: ["Relu"], "CPUExecutionProvider": ["Det"]}
    assert np.allclose(run(ours, x), np.linalg.det(np.maximum(x, 0)), atol=1e-5)


def test_a_context_model_gives_the_same_bytes_in_another_process(device, tmp_path):
    model = float_net([("Conv", 8, 3), ("Relu",), ("Conv", 4, 8), ("Sigmoid",)], seed=5)
    x, path = images(8, 1)[0], tmp_path / "net_ctx.onnx"
    want = run(gpu_session(model, device, writing(path)), x)
    assert close(want, on_cpu(model, x))
    assert [n.op_type for n in onnx.load(path).graph.node] == ["EPContext"]
    assert np.array_equal(run(gpu_session(path, device), x), want)
    assert np.array_equal(run_in_new_process(path, x, backend_path=str(GPU), soc_model="0"), want)
