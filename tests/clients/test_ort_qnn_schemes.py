# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our HTP library: quantization schemes.

Only the open part of the wheel is used; the libraries below are ours. Expected values come from
onnxruntime's CPU provider on the same QDQ file with all graph optimizations off.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_models import assignment, conv_net, images, in_halves, sqnr

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize  # noqa: E402
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config  # noqa: E402

from qnn_provider import (LIBS, NAME, SM8650, SM8750, run_in_new_process, session,  # noqa: E402
                          writing)


def session_of(model, device, config=None, **options):
    """All of the model on our library, or an error."""
    return session(model, device, {"session.disable_cpu_ep_fallback": "1", **(config or {})},
                   **options)


class Images(CalibrationDataReader):
    def __init__(self):
        self.rest = [{"x": x} for x in images(7, 8)]

    def get_next(self):
        return self.rest.pop() if self.rest else None


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    """{scheme: path of a QDQ model} made with onnxruntime's own helpers for QNN."""
    folder = tmp_path_factory.mktemp("qdq")
    source = folder / "float.onnx"
    source.write_bytes(conv_net(seed=1, softmax=False))
    made = {}
    for scheme, activation, weight, per_channel in (
            ("A8W8", QuantType.QUInt8, QuantType.QUInt8, False),
            ("A8W8_per_channel", QuantType.QUInt8, QuantType.QInt8, True),
            ("A16W8", QuantType.QUInt16, QuantType.QInt8, False),
            ("A8W4", QuantType.QUInt8, QuantType.QInt4, True),
            ("A16W4", QuantType.QUInt16, QuantType.QInt4, True)):
        config = get_qnn_qdq_config(str(source), Images(), activation_type=activation,
                                    weight_type=weight, per_channel=per_channel)
        made[scheme] = folder / f"{scheme}.onnx"
        quantize(str(source), str(made[scheme]), config)
    return made


def plain_cpu(path):
    so = ort.SessionOptions()
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), so, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("scheme, bar", [("A8W8", 30), ("A8W8_per_channel", 30), ("A16W8", 70),
                                         ("A8W4", 30), ("A16W4", 70)])
def test_quantized_models_run(device, quantized, scheme, bar):
    cpu, npu = plain_cpu(quantized[scheme]), session_of(quantized[scheme], device, soc_model=SM8650)
    assert set(assignment(npu)) == {NAME}
    ratios = [sqnr(npu.run(None, {"x": x})[0], cpu.run(None, {"x": x})[0]) for x in images(5, 4)]
    assert np.mean(ratios) >= bar, ratios


@pytest.mark.parametrize("chip", [SM8650, SM8750])
@pytest.mark.parametrize("half", [False, True], ids=["float", "fp16"])
def test_float_models_run_in_halves(device, half, chip):
    """Inputs and outputs of a model in halves are halves; inside, both compute in halves."""
    model = conv_net(seed=1, softmax=False)
    cpu = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    npu = session_of(in_halves(model) if half else model, device, soc_model=chip)
    assert set(assignment(npu)) == {NAME}
    for x in images(5, 4):
        want = cpu.run(None, {"x": x})[0]
        got = npu.run(None, {"x": x.astype(np.float16) if half else x})[0]
        assert got.dtype == (np.float16 if half else np.float32)
        assert 50 < sqnr(got, want) < 80  # of halves, not of floats


@pytest.mark.parametrize("embed", ["0", "1"])
@pytest.mark.parametrize("scheme", ["A8W8", "A16W8", "A16W4"])
def test_context_models_are_read_in_a_new_process(device, quantized, tmp_path, scheme, embed):
    path = tmp_path / "net_ctx.onnx"
    x = images(9, 1)[0]
    want = session_of(quantized[scheme], device, writing(path, embed)).run(None, {"x": x})[0]
    assert [n.op_type for n in onnx.load(path).graph.node] == ["EPContext"]
    assert len(list(tmp_path.glob("*_qnn.bin"))) == (0 if embed == "1" else 1)
    assert np.array_equal(run_in_new_process(path, x), want)


def test_a_context_model_for_another_chip_is_refused(device, quantized, tmp_path):
    path = tmp_path / "net_ctx.onnx"
    session_of(quantized["A8W8"], device, writing(path, "1"), soc_model=SM8650)
    with pytest.raises(Exception, match="context"):
        session_of(path, device, soc_model=SM8750)


def test_sessions_run_side_by_side(device, quantized):
    from concurrent.futures import ThreadPoolExecutor
    sessions = [session_of(quantized["A8W8"], device, soc_model=SM8650) for _ in range(3)]
    xs = images(15, 6)
    want = [sessions[0].run(None, {"x": x})[0] for x in xs]

    def work(s):
        return all(np.array_equal(s.run(None, {"x": x})[0], w)
                   for _ in range(10) for x, w in zip(xs, want))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, sessions))


def test_the_benchmark_of_the_provider_runs(quantized):
    """One row: contexts of three processes agree, times and SQNR are numbers."""
    program = Path(__file__).resolve().parents[2] / "bench" / "provider.py"
    done = subprocess.run([sys.executable, program, quantized["A8W8"], "--lib", LIBS, "--bin",
                           LIBS.parent / "bin", "--turns", "2", "--seconds", "0.02"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names, row = ([c.strip() for c in t.split("|")[1:-1]] for t in done.stdout.splitlines())
    row = dict(zip(names, row))
    assert row["same"] == "yes" and row["parts"] == "1"
    assert float(row["run"]) > 0 and float(row["quern"]) > 0 and float(row["read"]) > 0
    assert float(row["SQNR"]) > 30
