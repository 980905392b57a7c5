# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our HTP library: quantization schemes and options.

Only the open part of the wheel is used; the libraries below are ours. Expected values come from
onnxruntime's CPU provider on the same QDQ file with all graph optimizations off.
"""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_models import assignment, conv_net, images, sqnr

qnn = pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize  # noqa: E402
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config  # noqa: E402

LIB_DIR = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
LIB = LIB_DIR / "libQnnHtp.so"
NAME = "QNNExecutionProvider"
SM8650, SM8750 = "57", "69"
if not LIB.exists():
    pytest.skip("libQnnHtp.so is not built", allow_module_level=True)


def registered():
    plugin = next(Path(qnn.__file__).parent.glob("libonnxruntime_providers_qnn.so"))
    ort.register_execution_provider_library(NAME, str(plugin))
    return [d for d in ort.get_ep_devices() if d.ep_name == NAME][0]


@pytest.fixture(scope="module")
def device():
    yield registered()
    ort.unregister_execution_provider_library(NAME)


def session_of(model, device, session_options=None, **options):
    so = ort.SessionOptions()
    so.log_severity_level = 3
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for key, value in (session_options or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices([device], {"backend_path": str(LIB), **options})
    return ort.InferenceSession(str(model) if isinstance(model, Path) else model, so)


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
    for scheme, activation, weight in (("A8W8", QuantType.QUInt8, QuantType.QUInt8),
                                       ("A16W8", QuantType.QUInt16, QuantType.QInt8)):
        config = get_qnn_qdq_config(str(source), Images(), activation_type=activation,
                                    weight_type=weight)
        made[scheme] = folder / f"{scheme}.onnx"
        quantize(str(source), str(made[scheme]), config)
    return made


def plain_cpu(path):
    so = ort.SessionOptions()
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), so, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("scheme, bar", [("A8W8", 30), ("A16W8", 70)])
def test_quantized_models_run(device, quantized, scheme, bar):
    cpu, npu = plain_cpu(quantized[scheme]), session_of(quantized[scheme], device, soc_model=SM8650)
    assert set(assignment(npu)) == {NAME}
    ratios = [sqnr(npu.run(None, {"x": x})[0], cpu.run(None, {"x": x})[0]) for x in images(5, 4)]
    assert np.mean(ratios) >= bar, ratios


@pytest.mark.parametrize("embed", ["0", "1"])
def test_context_models_are_written_and_read_in_a_new_process(device, quantized, tmp_path, embed):
    path = tmp_path / "net_ctx.onnx"
    keys = {"ep.context_enable": "1", "ep.context_embed_mode": embed,
            "ep.context_file_path": str(path)}
    online = session_of(quantized["A8W8"], device, keys, soc_model=SM8650)
    x = images(9, 1)[0]
    want = online.run(None, {"x": x})[0]
    del online
    assert [n.op_type for n in onnx.load(path).graph.node] == ["EPContext"]
    assert len(list(tmp_path.glob("*_qnn.bin"))) == (0 if embed == "1" else 1)
    np.save(tmp_path / "x.npy", x)
    subprocess.run([sys.executable, __file__, str(path), str(tmp_path / "x.npy"),
                    str(tmp_path / "y.npy")], check=True, timeout=120)
    assert np.array_equal(np.load(tmp_path / "y.npy"), want)


def test_a_context_model_for_another_chip_is_refused(device, quantized, tmp_path):
    path = tmp_path / "net_ctx.onnx"
    keys = {"ep.context_enable": "1", "ep.context_embed_mode": "1",
            "ep.context_file_path": str(path)}
    session_of(quantized["A8W8"], device, keys, soc_model=SM8650)
    with pytest.raises(Exception, match="context"):
        session_of(path, device, soc_model=SM8750)


@pytest.mark.parametrize("options", [
    {"htp_performance_mode": "burst", "rpc_control_latency": "100"},
    {"htp_performance_mode": "power_saver"},
    {"vtcm_mb": "8", "htp_graph_finalization_optimization_mode": "3"},
    {"qnn_context_priority": "high"},
    {"htp_arch": "75"},
])
def test_options_are_taken(device, quantized, options):
    x = images(11, 1)[0]
    plain = session_of(quantized["A8W8"], device, soc_model=SM8650).run(None, {"x": x})[0]
    with_options = session_of(quantized["A8W8"], device, soc_model=SM8650, **options)
    assert np.array_equal(with_options.run(None, {"x": x})[0], plain)


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


if __name__ == "__main__":
    loaded = session_of(Path(sys.argv[1]), registered(), soc_model=SM8650)
    np.save(sys.argv[3], loaded.run(None, {"x": np.load(sys.argv[2])})[0])
