# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our libQnnCpu.so: a real client, end to end.

Only the open part of the wheel is used (the provider plugin); the backend below it is ours, and
the test checks that no other QNN library was loaded. Expected values come from onnxruntime's CPU
provider.
"""
import os
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_models import assignment, conv_net, loaded_qnn_libraries

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

LIB = (Path(os.environ.get("QUERN_LIB_DIR", "build/lib")) / "libQnnCpu.so").resolve()
NAME = "QNNExecutionProvider"


def qnn_session(model, device, **options):
    so = ort.SessionOptions()
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    so.add_provider_for_devices([device], {"backend_path": str(LIB), **options})
    return ort.InferenceSession(model, so)


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
    loaded = loaded_qnn_libraries()  # the provider keeps our System library once it had it
    assert str(LIB) in loaded and {Path(p).parent for p in loaded} == {LIB.parent}


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
