# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_gguf: make_gguf_corpus.py FOLDER (tests/fuzz/corpus/gguf)."""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import (ARRAY, BOOL, F32, F64, I8, I16, I32, I64, STRING, U8, U16,  # noqa: E402
                         U32, U64, TYPES, Gguf)
from gguf_llama import TinyLlama  # noqa: E402


def keys(**kw):
    g = Gguf(**kw)
    for name, kind, v in [("u8", U8, 1), ("i8", I8, -1), ("u16", U16, 2), ("i16", I16, -2),
                          ("u32", U32, 3), ("i32", I32, -3), ("f32", F32, .5), ("b", BOOL, True),
                          ("s", STRING, "text"), ("u64", U64, 4), ("i64", I64, -4),
                          ("f64", F64, .25), ("strings", ARRAY, (STRING, ["a", "", "bc"])),
                          ("ints", ARRAY, (I32, [1, 2, 3])), ("floats", ARRAY, (F32, [1, 2])),
                          ("nested", ARRAY, (ARRAY, [(U8, [1]), (STRING, ["x"])]))]:
        g.key(name, kind, v)
    return g


def tensors():
    g = Gguf(version=2)
    g.key("general.architecture", STRING, "llama")
    for kind, (number, block, size) in TYPES.items():
        g.raw(kind, (block, 2), number, bytes(i * 7 % 256 for i in range(2 * size)))
    return g


def mixed():
    g = keys(align=64)
    g.tensor("a.weight", np.linspace(-1, 1, 64).reshape(2, 32), "Q8_0")
    g.tensor("a.bias", [1, 2])
    return g


def model(kind="Q4_1", pre="smollm", **kw):
    """A model of one layer and twelve tokens."""
    net = TinyLlama(layers=1, hidden=32, heads=2, kv=1, ff=32, **kw)
    net.tokens, net.kinds = net.tokens[:12], net.kinds[:12]
    net.merges = ["! !", '" #']
    for name in ("token_embd.weight", "output.weight"):
        if name in net.w:
            net.w[name] = net.w[name][:12]
    return net.gguf(kind, pre)


def qwen():
    return model("Q4_0", "qwen2", arch="qwen2", tied=False)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (keys, tensors, mixed, model, qwen):
        (folder / f"{make.__name__}.gguf").write_bytes(make().bytes())
