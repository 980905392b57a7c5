# SPDX-License-Identifier: MIT
"""Adapters through the public onnxruntime-qnn provider: the run option qnn.lora_config applies a
section of a context binary, which a program of the tests has written on our libQnnHtp.so.
Expected values: numpy.
"""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from qnn_provider import HTP, NAME, session

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")


def context_model(path, binary):
    """As gen_qnn_ctx_onnx_model.py makes one for a binary from elsewhere."""
    node = helper.make_node("EPContext", ["x"], ["y"], name="lora", domain="com.microsoft",
                            ep_cache_context=binary.name, embed_mode=0, main_context=1,
                            source=NAME, partition_name="lora")
    graph = helper.make_graph([node], "g",
                              [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 4])])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]), path)
    return path


def product(x, w):
    """Codes of x . w: scales 1/64, 1/64 and 1/8, zero points 128; halves are rounded up."""
    real = (x.astype(np.float64) - 128) @ (w.astype(np.float64).T - 128) / 4096
    return np.clip(np.floor(real * 8 + 128 + 0.5), 0, 255).astype(np.uint8)


@pytest.fixture
def lora(tmp_path):
    """Context model, adapter, weights before and after."""
    if not shutil.which(CC):
        pytest.skip(f"there is no C compiler '{CC}' for the program that writes the adapter")
    maker = tmp_path / "make_adapter"
    source = ROOT / "tests" / "clients" / "make_adapter.c"
    subprocess.run([CC, "-std=c11", "-I", ROOT / "include" / "QNN", source, "-o", maker, "-ldl"],
                   check=True)
    rng = np.random.default_rng(41)
    weights = [rng.integers(0, 256, (4, 16), np.uint8) for _ in range(2)]
    names = [tmp_path / n for n in ("base.raw", "other.raw", "model.bin", "adapter.bin")]
    for name, w in zip(names, weights):
        w.tofile(name)
    subprocess.run([maker, HTP, *names], check=True)
    return context_model(tmp_path / "ctx.onnx", names[2]), names[3], *weights


def run_with(s, x, config):
    options = ort.RunOptions()
    options.add_run_config_entry("qnn.lora_config", str(config))
    return s.run(None, {"x": x}, options)[0]


def test_an_adapter_changes_the_weights(device, lora, tmp_path):
    model, adapter, base, other = lora
    config = tmp_path / "lora.txt"
    config.write_text(f"lora;{adapter}\n")
    s = session(model, device)
    xs = [np.random.default_rng(i).integers(0, 256, (1, 16), np.uint8) for i in range(4)]
    for x in xs:
        assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))
    for x in xs:
        assert np.array_equal(run_with(s, x, config), product(x, other))
    assert np.array_equal(s.run(None, {"x": xs[0]})[0], product(xs[0], other))  # it stays
    fresh = session(model, device)
    assert np.array_equal(fresh.run(None, {"x": xs[0]})[0], product(xs[0], base))


# A file that is not there ends the process inside the provider, before our library is called.
@pytest.mark.parametrize("line", ["lora;{folder}/base.raw", "nobody;{folder}/adapter.bin"],
                         ids=["not_an_adapter", "no_such_graph"])
def test_a_wrong_adapter_fails_the_run_and_changes_nothing(device, lora, tmp_path, line):
    model, _, base, _ = lora
    config = tmp_path / "lora.txt"
    config.write_text(line.format(folder=tmp_path) + "\n")
    s = session(model, device)
    s.disable_fallback()
    x = np.arange(16, dtype=np.uint8)[None] * 16
    with pytest.raises(Exception):
        run_with(s, x, config)
    assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))
