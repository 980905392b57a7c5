# SPDX-License-Identifier: MIT
"""quern show on GGUF files: what is in them, and damaged ones by the thousand."""
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import REFUSED, USAGE, ok, ok_json, quern, refuses

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import (ARRAY, BOOL, F32, F64, I8, I16, I32, I64, STRING, U8, U16,  # noqa: E402
                         U32, U64, Gguf)

KEYS = [("u8", U8, 250), ("i8", I8, -3), ("u16", U16, 65000), ("i16", I16, -300),
        ("u32", U32, 4000000000), ("i32", I32, -70000), ("f32", F32, 0.5), ("yes", BOOL, True),
        ("text", STRING, "naïve \x1b[31m"), ("u64", U64, 1 << 40), ("i64", I64, -(1 << 40)),
        ("f64", F64, 0.1), ("list", ARRAY, (STRING, ["a", "", "Ġb"])),
        ("empty", ARRAY, (F32, [])),
        ("nested", ARRAY, (ARRAY, [(I32, [1, 2]), (I32, []), (STRING, ["x"])]))]


def plain(**kw):
    g = Gguf(**kw)
    for key in KEYS:
        g.key(*key)
    g.tensor("w", np.arange(64).reshape(2, 32), "Q4_1")
    g.tensor("bias", np.arange(3))
    return g


def put(path, g):
    path.write_bytes(g if isinstance(g, bytes) else g.bytes())
    return path


def listed(v):
    """A value as JSON shows it."""
    kind, x = v
    return [listed((kind, e)) if kind != ARRAY else listed(e) for e in x] \
        if isinstance(x, list) else x


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("align", [32, 64])
def test_show_prints_every_type_of_key_and_all_tensors(tmp_path, version, align):
    path = put(tmp_path / "m.gguf", plain(version=version, align=align))
    j = ok_json("show", path, "--json")
    keys = {k: v for k, v in j["keys"].items() if k != "general.alignment"}
    assert keys == {k: listed(v) if t == ARRAY else v for k, t, v in KEYS}
    assert j["gguf_version"] == version
    assert j["tensors"] == [{"name": "w", "type": "Q4_1", "shape": [2, 32], "bytes": 40},
                            {"name": "bias", "type": "F32", "shape": [3], "bytes": 12}]
    shown = ok("show", path).stdout
    assert '3 x string ["a", "", "Ġb"]' in shown and "\x1b[31m" not in shown
    assert "1  Q4_1" in shown and "1  F32" in shown


def test_the_contents_and_not_the_name_say_what_it_is(tmp_path):
    assert ok_json("show", put(tmp_path / "m.onnx", plain()), "--json")["tensors"]


@pytest.mark.parametrize("flag", ["--dot", "--verify", "--compiled"])
def test_flags_for_graphs_are_rejected(tmp_path, flag):
    refuses(USAGE, "show", put(tmp_path / "m.gguf", plain()), flag, says=["GGUF", flag])


def with_tensor(*rows):
    g = Gguf()
    for row in rows:
        g.raw(*row)
    return g


ONE = bytes(128)
DAMAGED = {
    "version 1": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
    "version 9": (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
    "big endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "head only": (b"GGUF\3\0\0\0", "ends in its head"),
    "many keys": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60) + bytes(99), "keys"),
    "many tensors": (b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 0) + bytes(99), "tensors"),
    "long name": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63) + bytes(99), "name of key 0"),
    "rank 5": (with_tensor(("w", (1,) * 5, 0, ONE)), ["'w'", "rank 5"]),
    "rank 0": (with_tensor(("w", (), 0, ONE)), ["'w'", "rank 0"]),
    "no rows": (with_tensor(("w", (4, 0), 0, ONE)), ["'w'", "dimension 0"]),
    "overflow": (with_tensor(("w", (1 << 40, 1 << 40), 0, ONE)), ["'w'", "dimension"]),
    "type 99": (with_tensor(("w", (4,), 99, ONE)), ["'w'", "unknown type 99"]),
    "type 4": (with_tensor(("w", (4,), 4, ONE)), ["'w'", "unknown type 4"]),
    "partial block": (with_tensor(("w", (33,), 2, ONE)), ["'w'", "rows of 33", "Q4_0"]),
    "beyond": (with_tensor(("w", (64,), 0, ONE)), ["'w'", "256 bytes", "truncated"]),
    "far away": (with_tensor(("w", (4,), 0, ONE, (1 << 64) - 32)), ["'w'", "beyond"]),
    "askew": (with_tensor(("w", (4,), 0, ONE, 4)), ["'w'", "multiple of 32"]),
    "overlap": (with_tensor(("a", (16,), 0, ONE), ("b", (4,), 0, ONE, 32)),
                ["'a'", "'b'", "overlap"]),
    "twice": (with_tensor(("a", (4,), 0, ONE), ("a", (4,), 0, ONE)), "two tensors 'a'"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_rejected_in_words(tmp_path, name):
    data, says = DAMAGED[name]
    refuses(REFUSED, "show", put(tmp_path / "m.gguf", data),
            says=[str(tmp_path / "m.gguf"), *([says] if isinstance(says, str) else says)])


def key_file(kind, raw):
    return (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<I", kind) + raw)


@pytest.mark.parametrize("kind,raw,says", [
    (77, bytes(64), "unknown type 77"),
    (STRING, struct.pack("<Q", 1 << 40), "beyond"),
    (ARRAY, struct.pack("<IQ", F64, 1 << 61), "beyond"),
    (ARRAY, struct.pack("<IQ", STRING, 1 << 61), "beyond"),
    (ARRAY, struct.pack("<IQ", 55, 1), "unknown type 55"),
    (ARRAY, struct.pack("<IQ", ARRAY, 1) * 9, "nested"),
])
def test_a_damaged_key_is_named(tmp_path, kind, raw, says):
    refuses(REFUSED, "show", put(tmp_path / "m.gguf", key_file(kind, raw)), says=["key 'k'", says])


@pytest.mark.parametrize("align", [0, 4, 48, 1 << 30])
def test_an_alignment_that_is_none_is_rejected(tmp_path, align):
    g = Gguf()
    g.key("general.alignment", U32, align)
    refuses(REFUSED, "show", put(tmp_path / "m.gguf", g), says="general.alignment")


def test_two_keys_of_one_name_are_rejected(tmp_path):
    g = Gguf()
    g.key("a", U8, 1)
    g.key("a", U8, 2)
    refuses(REFUSED, "show", put(tmp_path / "m.gguf", g), says="two keys 'a'")


def test_a_file_cut_anywhere_is_rejected(tmp_path):
    data = plain().bytes()
    for n in range(4, len(data), 7):
        assert quern("show", put(tmp_path / "m.gguf", data[:n])).returncode == REFUSED, n
