# SPDX-License-Identifier: MIT
"""mistakes.tsv: typical mistakes with the exit code and the message that a user sees. Each message
was read by a person: it names what is wrong, what is allowed, and what to do."""
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import add_relu, model, ok, refuses

ROWS = [line.split("\t") for line in
        (Path(__file__).parent / "mistakes.tsv").read_text().splitlines()
        if not line.startswith(("#", "command\t"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    d = tmp_path_factory.mktemp("mistakes")
    one = lambda name, op, ports, **kw: model(
        d / name, [h.make_node(op, list(ports), ["y"], **kw)], ports,
        {"y": next(iter(ports.values()))})
    net = add_relu(d / "net.onnx")
    one("two.onnx", "Add", {"a": (T.FLOAT, [2]), "b": (T.FLOAT, [2])})
    one("dyn.onnx", "Relu", {"x": (T.FLOAT, ["batch", 3])})
    one("open.onnx", "Relu", {"x": (T.FLOAT, [None, 3, None])})
    one("odd.onnx", "Nothing", {"x": (T.FLOAT, [1, 3])}, domain="my.ops")
    one("words.onnx", "Identity", {"x": (T.STRING, [2])})
    for name, array in (("x", np.zeros((2, 3), np.float32)), ("pair", np.zeros(2, np.float32)),
                        ("wrong", np.zeros((3, 2), np.float32)), ("i64", np.zeros((2, 3), int))):
        np.save(d / f"{name}.npy", array)
    (d / "folder").mkdir()
    (d / "empty.onnx").write_bytes(b"")
    (d / "cut.onnx").write_bytes(net.read_bytes()[:60])
    (d / "short.raw").write_bytes(b"1234")
    (d / "text.txt").write_text("hello\n")
    for name in ("net.pt", "net.pt2"):
        (d / name).write_bytes(b"PK\3\4" + bytes(50))
    (d / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    (d / "net.pb").write_bytes(b"\x0a\x10\x0a\1x\x12\x0bPlaceholder")
    (d / "bad.json").write_text('{"a": ')
    (d / "llm.gguf").write_bytes(b"GGUF" + bytes(20))
    (d / "empty.npy").write_bytes(b"")
    (d / "empty.txt").write_text("")
    (d / "list.txt").write_text("nothing.npy\n")
    np.savez(d / "cal.npz", x=np.zeros((4, 2, 3), np.float32))
    (d / "cut.npz").write_bytes((d / "cal.npz").read_bytes()[:100])
    (d / "pic.jpg").write_bytes((d / "x.npy").read_bytes())
    ok("compile", net, "-o", d / "net.bin", "--soc", "SM8650")
    ok("compile", net, "-o", d / "net.dlc")
    ok("compile", net, "-o", d / "gone.bin", "--soc", "SM8650")
    for name in ("net", "gone"):
        ok("wrap", d / f"{name}.bin", "-o", d / f"{name}_ctx.onnx")
    (d / "gone.bin").unlink()
    return d


def test_there_are_sixty():
    assert len(ROWS) >= 60 and len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("command, code, says", ROWS, ids=[row[0] for row in ROWS])
def test_a_mistake(folder, command, code, says):
    before = sorted(p.name for p in folder.iterdir())
    p = refuses(int(code), *command.split(), says=says, cwd=folder)
    lines = p.stderr.splitlines()
    assert len(lines) <= 2 and all(line.startswith("quern: ") for line in lines), p.stderr
    assert sorted(p.name for p in folder.iterdir()) == before, "a file was written"
