# SPDX-License-Identifier: MIT
"""Quern's execution provider on the GPU backend: float models run whole, with fall-back forbidden;
quantized nodes are left to others or rejected. Expected values come from onnxruntime's CPU
provider."""
import sys
from pathlib import Path

import numpy as np
import pytest

from provider import HTP, LIB, NAME, close, cpu_session, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from opencl import needs_gpu  # noqa: E402
from ort_models import assignment, conv_net, images, in_halves  # noqa: E402

node = helper.make_node
F = np.float32
GPU = {"backend_type": "gpu"}
NET = conv_net(seed=1)


def cosine(got, want):
    a, b = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    return a @ b / np.sqrt((a @ a) * (b @ b))


@needs_gpu
@pytest.mark.parametrize("options, kind", [(GPU, "cpu"), ({}, "gpu"),
                                           ({"backend_path": str(LIB / "libQnnGpu.so")}, "cpu")])
def test_a_float_network_runs_whole_on_the_gpu(options, kind, capfd):
    ours, cpu = session(NET, options, kind=kind), cpu_session(NET)
    assert set(assignment(ours)) == {NAME}
    assert str(LIB / "libQnnGpu.so") in Path("/proc/self/maps").read_text()
    for x in images(2, 3):
        assert close(ours.run(None, {"x": x})[0], cpu.run(None, {"x": x})[0], 1e-5)
    assert "[E:" not in capfd.readouterr().err


@needs_gpu
def test_a_network_of_fp16_tensors_keeps_its_types():
    net, x = in_halves(NET), images(3, 1)[0].astype(np.float16)
    got = session(net, GPU).run(None, {"x": x})[0]
    want = cpu_session(NET).run(None, {"x": x.astype(F)})[0]
    assert got.dtype == np.float16 and cosine(got, want) >= 0.9999


@needs_gpu
@pytest.mark.parametrize("precision, least", [("fp32", 0.999999), ("hybrid", 0.9999),
                                              ("fp16", 0.999), ("user", 0.999999)])
def test_each_precision_is_as_close_as_it_promises(capfd, precision, least):
    ours = session(NET, {**GPU, "gpu_precision": precision}, level=1)
    assert f" on GPU, precision {precision} (" in capfd.readouterr().err
    for x in images(4, 3):
        want = cpu_session(NET).run(None, {"x": x})[0]
        assert cosine(ours.run(None, {"x": x})[0], want) >= least


def quantized_chain():
    scale = ("s", F(0.1)), ("z", np.uint8(7))
    return model([node("Relu", ["x"], ["a"]), node("QuantizeLinear", ["a", "s", "z"], ["q"]),
                  node("Transpose", ["q"], ["t"], perm=[1, 0]),
                  node("DequantizeLinear", ["t", "s", "z"], ["d"]), node("Tanh", ["d"], ["y"])],
                 [("x", F, [2, 3])], [("y", F, [3, 2])], scale)


@needs_gpu
def test_quantized_nodes_are_left_to_others_and_named(capfd):
    x = np.array([[1, -2, 3], [0.5, 0.25, -8]], F)
    ours = session(quantized_chain(), GPU, fallback=True, level=1)
    said = capfd.readouterr().err
    assert "(QuantizeLinear) is left to other providers: " in said
    assert set(assignment(ours)) == {NAME, "CPUExecutionProvider"}
    assert close(ours.run(None, {"x": x})[0], cpu_session(quantized_chain()).run(None, {"x": x})[0])


@needs_gpu
def test_quantized_nodes_fail_a_session_that_may_not_fall_back():
    with pytest.raises(Exception, match="fallback|fall back"):
        session(quantized_chain(), GPU)
    with pytest.raises(Exception, match=r"strict: node '.*' \(QuantizeLinear\) is rejected: "):
        session(quantized_chain(), {**GPU, "strict": "1"}, fallback=True)


@pytest.mark.parametrize("options, words", [
    ({**HTP, "gpu_precision": "fp16"}, "option gpu_precision needs the GPU backend"),
    ({"backend_type": "cpu", "gpu_precision": "fp32"}, "option gpu_precision needs the GPU"),
])
def test_the_precision_is_an_option_of_the_gpu(options, words):
    with pytest.raises(Exception, match=words):
        session(NET, options)


@needs_gpu
def test_options_of_the_htp_are_rejected():
    with pytest.raises(Exception, match="option extended_udma needs the HTP backend"):
        session(NET, {**GPU, "extended_udma": "1"})


@needs_gpu
@pytest.mark.parametrize("embed", ["0", "1"])
def test_a_context_model_gives_the_same_bytes(tmp_path, embed):
    path, x = tmp_path / "c.onnx", images(7, 1)[0]
    made = session(NET, {**GPU, "gpu_precision": "hybrid"},
                   {"ep.context_enable": "1", "ep.context_file_path": str(path),
                    "ep.context_embed_mode": embed})
    want = made.run(None, {"x": x})[0]
    assert cosine(want, cpu_session(NET).run(None, {"x": x})[0]) >= 0.9999
    assert len(list(tmp_path.glob("*.bin"))) == (embed == "0")
    loaded = session(str(path), GPU)
    assert set(assignment(loaded)) == {NAME}
    assert np.array_equal(loaded.run(None, {"x": x})[0], want)
    with pytest.raises(Exception, match="backend|GPU|gpu"):  # of another backend
        session(str(path), HTP)
