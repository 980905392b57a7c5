# SPDX-License-Identifier: MIT
"""Running the SDK's programs on small models."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(os.environ.get("QUERN_BIN_DIR", ROOT / "build/release/bin"))
MODELS = Path(os.environ.get("QUERN_MODELS", ROOT / "build/release/tests/tools/models"))
TWO, OTHER = MODELS / "libmodel_two.so", MODELS / "libmodel_other.so"
CPU, HTP = "libQnnCpu.so", "libQnnHtp.so"
NET_RUN, GENERATOR, UTILITY = ("qnn-net-run", "qnn-context-binary-generator",
                               "qnn-context-binary-utility")
EXTENSIONS = "libQnnHtpNetRunExtensions.so"


def run(program, *args, cwd=None, env=None):
    """Runs a program; never lets a signal pass as an exit code."""
    p = subprocess.run([BIN / program, *map(str, args)], capture_output=True, text=True,
                       errors="replace", cwd=cwd, env={**os.environ, **(env or {})}, timeout=120)
    assert p.returncode >= 0 and "Sanitizer" not in p.stderr, p.stderr
    return p


def ok(program, *args, **kw):
    p = run(program, *args, **kw)
    assert p.returncode == 0, p.stderr
    return p


def rejects(program, *args, says=(), **kw):
    """Not 0, and one error line that holds all of `says`."""
    p = run(program, *args, **kw)
    assert p.returncode > 0, (args, p.stdout)
    errors = [line for line in p.stderr.splitlines() if " error: " in line]
    assert len(errors) == 1 and errors[0].startswith(program + ": error: "), p.stderr
    for text in [says] if isinstance(says, str) else says:
        assert str(text) in errors[0], (text, p.stderr)
    return p


def raw(path, values, dtype=np.float32):
    np.asarray(values, dtype).tofile(path)
    return path


def read(path, dtype=np.float32):
    return np.fromfile(path, dtype)


def files(root):
    """All files under a folder, without the profile logs."""
    root = Path(root)
    return sorted(str(p.relative_to(root)) for p in root.rglob("*")
                  if not p.is_dir() and not p.name.startswith("qnn-profiling"))


def write_json(path, value):
    Path(path).write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def model(path, nodes, inputs, outputs, constants=None):
    """inputs, outputs: {name: (type, shape)}; constants: {name: array}."""
    infos = lambda d: [h.make_tensor_value_info(k, t, s) for k, (t, s) in d.items()]
    g = h.make_graph(nodes, "g", infos(inputs), infos(outputs),
                     [numpy_helper.from_array(v, k) for k, v in (constants or {}).items()])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=9), path)
    return path


def add_relu(path, bias=(10, 20, -30)):
    """y = relu(x + bias) over [2, 3], with s between."""
    return model(path, [h.make_node("Add", ["x", "b"], ["s"], name="add"),
                        h.make_node("Relu", ["s"], ["y"], name="relu")],
                 {"x": (T.FLOAT, (2, 3))}, {"y": (T.FLOAT, (2, 3))},
                 {"b": np.array(bias, np.float32)})


def quantized(path, dtype=np.uint8, scale=0.05, zero=100):
    """x quantized, relu, quantized: x and y are fixed point in a QNN graph."""
    q = {"s": np.float32(scale), "z": dtype(zero)}
    return model(path, [h.make_node("DequantizeLinear", ["x", "s", "z"], ["f"]),
                        h.make_node("Relu", ["f"], ["r"]),
                        h.make_node("QuantizeLinear", ["r", "s", "z"], ["y"])],
                 {"x": (T.UINT8 if dtype == np.uint8 else T.INT8, (1, 8))},
                 {"y": (T.UINT8 if dtype == np.uint8 else T.INT8, (1, 8))}, q)
