# SPDX-License-Identifier: MIT
"""A context model whose weights an adapter replaces, written by a C program on our library."""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")


def context_model(path, binary, source):
    """As gen_qnn_ctx_onnx_model.py makes one for a binary from elsewhere."""
    node = helper.make_node("EPContext", ["x"], ["y"], name="lora", domain="com.microsoft",
                            ep_cache_context=binary.name, embed_mode=0, main_context=1,
                            source=source, partition_name="lora")
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


def make(folder, library, source):
    """Context model for a provider, adapter, weights before and after."""
    if not shutil.which(CC):
        pytest.skip(f"there is no C compiler '{CC}' for the program that writes the adapter")
    maker = folder / "make_adapter"
    subprocess.run([CC, "-std=c11", "-I", ROOT / "include" / "QNN",
                    ROOT / "tests" / "clients" / "make_adapter.c", "-o", maker, "-ldl"],
                   check=True)
    rng = np.random.default_rng(41)
    weights = [rng.integers(0, 256, (4, 16), np.uint8) for _ in range(2)]
    names = [folder / n for n in ("base.raw", "other.raw", "model.bin", "adapter.bin")]
    for name, w in zip(names, weights):
        w.tofile(name)
    subprocess.run([maker, library, *names], check=True)
    return context_model(folder / "ctx.onnx", names[2], source), names[3], *weights
