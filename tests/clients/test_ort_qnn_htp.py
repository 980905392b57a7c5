# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider on our libQnnHtp.so and libQnnSystem.so, end to end.

As in test_ort_qnn.py only the provider plugin of the wheel is used. Expected values come from
onnxruntime's CPU provider and from the labels of the images.
"""
import ctypes
import json
import os
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from ort_models import assignment, loaded_qnn_libraries

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
NAME = "QNNExecutionProvider"
FLOAT, QUANTIZED = DIGITS / "digits.onnx", DIGITS / "digits_a8w8.onnx"


@pytest.fixture(scope="module")
def digits():
    images = np.load(DIGITS / "images.npy").astype(np.float32)
    return [images[i:i + 1] for i in range(len(images))], np.load(DIGITS / "labels.npy")


def htp_session(model, device, config=None, **options):
    so = ort.SessionOptions()
    so.add_free_dimension_override_by_name("N", 1)
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices([device], {"backend_path": str(LIBS / "libQnnHtp.so"),
                                           "soc_model": "57", "htp_arch": "75", **options})
    return ort.InferenceSession(str(model), so)


def run(session, images):
    return np.concatenate([session.run(None, {"image": x})[0] for x in images])


def on_cpu(model, images):
    so = ort.SessionOptions()
    # As the model says it: fused quantized ops round in another place.
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return run(ort.InferenceSession(str(model), so, providers=["CPUExecutionProvider"]), images)


def cache(model, device, path, embed, **options):
    """A session that writes a model with a context binary."""
    return htp_session(model, device, {"ep.context_enable": "1", "ep.context_file_path": str(path),
                                       "ep.context_embed_mode": embed}, **options)


def test_a_float_model_runs_in_half_precision(device, digits):
    images, labels = digits
    session = htp_session(FLOAT, device)
    assert set(assignment(session)) == {NAME}
    got, want = run(session, images), on_cpu(FLOAT, images)
    assert (got.argmax(1) == labels).mean() == (want.argmax(1) == labels).mean()
    error = np.abs(got - want).max()
    assert 0 < error < 0.01  # halves, not floats


def test_a_quantized_model_runs_in_integers(device, digits):
    images, labels = digits
    session = htp_session(QUANTIZED, device)
    # The outermost QuantizeLinear and DequantizeLinear stay with onnxruntime.
    others = assignment(session).get("CPUExecutionProvider", [])
    assert sorted(others) in ([], ["DequantizeLinear", "QuantizeLinear"])
    got, want = run(session, images), on_cpu(QUANTIZED, images)
    assert (got.argmax(1) == labels).mean() >= 0.99
    steps = np.abs(got - want) * 255
    assert steps.max() < 16 and (steps < 1.01).mean() > 0.99


@pytest.mark.parametrize("model", [FLOAT, QUANTIZED], ids=["float", "quantized"])
@pytest.mark.parametrize("embed", ["0", "1"], ids=["beside", "embedded"])
def test_a_cached_context_gives_the_same_bits(device, digits, tmp_path, model, embed):
    images = digits[0][:20]
    want = run(htp_session(model, device), images)
    path = tmp_path / "ctx.onnx"
    writer = cache(model, device, path, embed)
    assert np.array_equal(run(writer, images), want)
    assert path.exists() and len(list(tmp_path.glob("*.bin"))) == (embed == "0")
    del writer
    reader = htp_session(path, device)
    assert np.array_equal(run(reader, images), want)
    ours = {str(LIBS / name) for name in ("libQnnHtp.so", "libQnnSystem.so")}
    assert loaded_qnn_libraries() == {str(Path(p).resolve()) for p in ours}


def test_a_damaged_context_is_refused(device, tmp_path):
    path = tmp_path / "ctx.onnx"
    cache(QUANTIZED, device, path, "0")
    binary = next(tmp_path.glob("*.bin"))
    binary.write_bytes(binary.read_bytes()[:-4096])
    with pytest.raises(Exception, match="(?i)qnn|context"):
        htp_session(path, device)


def test_profiles_are_written_through_the_system_library(device, digits, tmp_path):
    csv = tmp_path / "profile.csv"
    options = {"profiling_level": "detailed", "profiling_file_path": str(csv)}
    path = tmp_path / "ctx.onnx"
    cache(QUANTIZED, device, path, "0", **options)
    run(htp_session(path, device, **options), digits[0][:2])
    lines = [json.loads(l) for l in (tmp_path / "profile_qnn.log").read_text().splitlines()]
    assert lines[0]["quern_profile_log"] == 1 and lines[0]["app"] == "OnnxRuntime"
    methods = [l["method"] for l in lines[1:]]
    assert methods[:2] == ["BACKEND_FINALIZE", "BACKEND_CREATE_FROM_BINARY"]
    assert methods[2:] == ["BACKEND_EXECUTE"] * 2
    assert all(l["events"] and l["stop"] >= l["start"] for l in lines[1:])
    assert csv.read_text().count("\n") > 10


@pytest.mark.parametrize("cached", [False, True], ids=["model", "cached"])
def test_the_shared_memory_allocator_finds_its_library(device, digits, tmp_path, cached):
    ctypes.CDLL(str(LIBS / "libcdsprpc.so"))  # the provider opens it by this name
    images = digits[0][:20]
    want = run(htp_session(QUANTIZED, device), images)
    model = QUANTIZED
    if cached:
        model = tmp_path / "ctx.onnx"
        cache(QUANTIZED, device, model, "0")
    session = htp_session(model, device, enable_htp_shared_memory_allocator="1")
    assert np.array_equal(run(session, images), want)


def test_op_traces_are_handed_on(device, digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the schematic goes
    csv = tmp_path / "trace.csv"
    options = {"profiling_level": "optrace", "profiling_file_path": str(csv)}
    images = digits[0][:2]
    got = run(htp_session(QUANTIZED, device, **options), images)
    assert np.array_equal(got, run(htp_session(QUANTIZED, device), images))
    assert "OpId_" in csv.read_text() and len([*tmp_path.glob("*_schematic.bin")]) == 1
