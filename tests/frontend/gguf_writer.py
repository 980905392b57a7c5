# SPDX-License-Identifier: MIT
"""Writes GGUF files, good and damaged ones, from the format's public description.

    g = Gguf()
    g.key("llama.block_count", U32, 2)
    g.tensor("token_embd.weight", array)              # F32; or encode(array, "Q4_0") and its type
    data = g.bytes()

The encoders choose scales simply; what they return is decoded by the formulas that ggml publishes,
in numpy and independent of ours: decode(data, type, shape).
"""
import struct

import numpy as np

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q",
        I64: "q", F64: "d"}
# number in the file, values and bytes of a block
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
         "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84),
         "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
         "BF16": (30, 1, 2)}


def text(s):
    b = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    """The bytes of a value; an array is (kind of its elements, list)."""
    if kind == STRING:
        return text(v)
    if kind == ARRAY:
        return struct.pack("<IQ", v[0], len(v[1])) + b"".join(value(v[0], x) for x in v[1])
    return struct.pack("<" + PACK[kind], v)


class Gguf:
    def __init__(self, version=3, align=32):
        self.version, self.align, self.keys, self.tensors = version, align, [], []
        if align != 32:
            self.key("general.alignment", U32, align)

    def key(self, name, kind, v):
        self.keys.append(text(name) + struct.pack("<I", kind) + value(kind, v))

    def tensor(self, name, array, kind="F32"):
        """array: numbers to be encoded as `kind`; shape as numpy has it."""
        a = np.asarray(array, np.float32)
        self.raw(name, a.shape[::-1], TYPES[kind][0], encode(a, kind))

    def raw(self, name, dims, number, data, offset=None):
        self.tensors.append((name, dims, number, data, offset))

    def bytes(self):
        heads, body = [], b""
        for name, dims, number, data, offset in self.tensors:
            body += b"\0" * (-len(body) % self.align)
            at = len(body) if offset is None else offset
            heads.append(text(name) + struct.pack("<I", len(dims))
                         + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", number, at))
            body += data
        out = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.keys))
        out += b"".join(self.keys) + b"".join(heads)
        return out + (b"\0" * (-len(out) % self.align) if self.tensors else b"") + body


def f16(x):
    return np.asarray(x, np.float16).tobytes()


def _blocks(a, n):
    return np.ascontiguousarray(a, np.float32).reshape(-1, n)


def _nibbles(q):
    """32 values of 4 bits: byte j holds values j and j + 16."""
    return (q[:16] | q[16:] << 4).astype(np.uint8).tobytes()


def _high(q):
    """The fifth bits of 32 values."""
    return struct.pack("<I", sum(int(x >> 4 & 1) << i for i, x in enumerate(q)))


def _encode_block(b, kind):
    if kind == "Q8_0":
        d = np.float16(np.abs(b).max() / 127)
        q = np.clip(np.round(b / np.float32(d or 1)), -128, 127)
        return f16(d) + q.astype(np.int8).tobytes()
    bits = int(kind[1])
    if kind.endswith("_0"):
        at = b[np.argmax(np.abs(b))]
        d = np.float16(at / -(1 << bits - 1))
        q = np.clip(np.round(b / np.float32(d or 1)) + (1 << bits - 1), 0, (1 << bits) - 1)
        head = f16(d)
    else:
        d, m = np.float16((b.max() - b.min()) / ((1 << bits) - 1)), np.float16(b.min())
        q = np.clip(np.round((b - np.float32(m)) / np.float32(d or 1)), 0, (1 << bits) - 1)
        head = f16(d) + f16(m)
    q = q.astype(np.uint32)
    return head + (_high(q) if bits == 5 else b"") + _nibbles(q & 15)


def encode(a, kind):
    if kind == "F32":
        return np.ascontiguousarray(a, np.float32).tobytes()
    if kind == "F16":
        return np.ascontiguousarray(a, np.float16).tobytes()
    if kind == "BF16":
        u = np.ascontiguousarray(a, np.float32).view(np.uint32)
        return ((u + 0x7fff + (u >> 16 & 1)) >> 16).astype(np.uint16).tobytes()
    return b"".join(_encode_block(b, kind) for b in _blocks(a, 32))
