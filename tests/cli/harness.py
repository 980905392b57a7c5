# SPDX-License-Identifier: MIT
"""Running quern and making small models for it."""
import json
import os
import struct
import subprocess
import zlib

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

BIN = os.environ.get("QUERN_BIN", "build/bin/quern")
OK, FAILURE, USAGE, REFUSED, INPUT = range(5)


def quern(*args, env=None, cwd=None):
    """Runs the program; never lets a signal pass as an exit code."""
    p = subprocess.run([BIN, *map(str, args)], capture_output=True, text=True,
                       errors="replace", cwd=cwd, env={**os.environ, **(env or {})}, timeout=120)
    assert p.returncode >= 0 and "Sanitizer" not in p.stderr, p.stderr
    return p


def ok(*args, **kw):
    p = quern(*args, **kw)
    assert p.returncode == OK, p.stderr
    return p


def ok_json(*args, **kw):
    return json.loads(ok(*args, **kw).stdout)


def refuses(code, *args, says=(), **kw):
    """Exit code `code`, one error line that holds all of `says`, nothing on stdout."""
    p = quern(*args, **kw)
    assert p.returncode == code, (p.returncode, p.stderr)
    assert p.stdout == ""
    lines = p.stderr.splitlines()
    assert lines and lines[0].startswith("quern: error: "), p.stderr
    for text in [says] if isinstance(says, str) else says:
        assert text in p.stderr, p.stderr
    return p


def model(path, nodes, inputs, outputs, constants=None, opset=17):
    """inputs, outputs: {name: (type, shape)}; constants: {name: array}."""
    infos = lambda d: [h.make_tensor_value_info(k, t, s) for k, (t, s) in d.items()]
    g = h.make_graph(nodes, "g", infos(inputs), infos(outputs),
                     [numpy_helper.from_array(v, k) for k, v in (constants or {}).items()])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", opset)], ir_version=9), path)
    return path


def add_relu(path, shape=(2, 3), bias=(10, 20, -30), name_in="x", name_out="y"):
    """y = relu(x + bias)"""
    return model(path, [h.make_node("Add", [name_in, "b"], ["s"], name="add"),
                        h.make_node("Relu", ["s"], [name_out], name="relu")],
                 {name_in: (T.FLOAT, shape)}, {name_out: (T.FLOAT, shape)},
                 {"b": np.array(bias, np.float32)})


def identity(path, dtype, shape, name="x"):
    """y = x - c + c does not exist for all types; Identity does."""
    return model(path, [h.make_node("Identity", [name], ["y"])], {name: (dtype, shape)},
                 {"y": (dtype, shape)})


def png(pixels, depth=8):
    """A PNG file of an array [h, w] or [h, w, 3 or 4] of bytes (or 16-bit words)."""
    a = np.asarray(pixels)
    kind = 0 if a.ndim == 2 else {3: 2, 4: 6}[a.shape[2]]
    rows = a.astype(">u2" if depth == 16 else "u1").reshape(a.shape[0], -1)
    data = b"".join(b"\0" + r.tobytes() for r in rows)

    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body
                + struct.pack(">I", zlib.crc32(name + body)))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", a.shape[1], a.shape[0], depth, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))
