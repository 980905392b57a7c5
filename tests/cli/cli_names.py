# SPDX-License-Identifier: MIT
"""Names from files on a terminal, in logs and in files: no name may move the cursor, begin a line
of its own or turn the direction of text; text in other scripts stays."""
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_compare import dump, tensor
from cli_manners import on_terminal
from cli_profile import call, event, write
from harness import BIN, model, ok, ok_json, quern
from onnx import TensorProto as T, helper as h

EVIL = "e\n\x1b[31mred\x07\r\u202ez\u009b2J"
SHOWN = r"e\n\x1b[31mred\x07\r\u202ez\x9b2J"
FINE = "größe_名前"
VIEWER = str(Path(BIN).parent / "qnn-profile-viewer")
# What no output may hold: control characters other than the line's end, in either coding.
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def net(tmp_path):
    n = lambda part: part + EVIL
    return model(tmp_path / "n.onnx",
                 [h.make_node("Add", [n("x"), "b"], [n("s")], name=n("add")),
                  h.make_node("Relu", [n("s")], [FINE], name=n("relu"))],
                 {n("x"): (T.FLOAT, [2, 3])}, {FINE: (T.FLOAT, [2, 3])},
                 {"b": np.ones(3, np.float32)})


def refused(tmp_path):
    return model(tmp_path / "r.onnx", [h.make_node("Odd" + EVIL, ["x"], ["y"], name=EVIL)],
                 {"x": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})


COMMANDS = ["run NET --random", "run NET --random --json",
            "run NET --random --per-layer --reference",
            "bench NET --runs 2 --nodes 3", "bench NET --runs 2 --per-op", "check NET", "check BAD",
            "check BAD --json", "check NET -b htp --soc SM8650 --log debug", "run BAD --random",
            "show NET", "show NET --json", "show NET --dot", "show BAD", "show BAD --json",
            "show BAD --dot", "estimate NET --steps", "estimate NET --json", "estimate BAD",
            "compile NET -o BIN --soc SM8650 -b htp",
            "compile NET -o BIN --soc SM8650 -b htp -g EVIL",
            "show BIN", "show BIN --json", "run BIN --random -b htp", "wrap BIN -o WRAP --embed",
            "bench BIN --runs 2 -b htp", "estimate BIN --steps", "run NET EVIL=none.npy"]


def test_no_command_passes_control_characters_on(net, tmp_path):
    words = {"NET": net, "BAD": refused(tmp_path), "BIN": tmp_path / f"{FINE}.bin",
             "WRAP": tmp_path / "w.onnx", "EVIL": EVIL, "EVIL=none.npy": EVIL + "=none.npy"}
    for command in COMMANDS:
        p = quern(*(words.get(w, w) for w in command.split()))
        for text in (p.stdout, p.stderr):
            assert not RAW.search(text), (command, text)
        assert p.returncode == 0 or "BAD" in command or "EVIL=" in command, (command, p.stderr)


def test_names_stay_readable(net):
    text = ok("show", net).stdout
    assert FINE in text and "x" + SHOWN in text
    assert ok_json("show", net, "--json")["inputs"][0]["name"] == "x" + EVIL  # data is exact
    assert FINE in ok("run", net, "--random").stdout


def test_long_names_in_tables_keep_their_ends(tmp_path):
    long = "/model/features/" + "x" * 60
    nodes = [h.make_node("Relu", ["x"], [long + "/a"], name=long + "/a"),
             h.make_node("Exp", [long + "/a"], [long + "/b"], name=long + "/b")]
    net = model(tmp_path / "long.onnx", nodes, {"x": (T.FLOAT, [2, 8])},
                {long + "/b": (T.FLOAT, [2, 8])})
    for args in (("bench", net, "--runs", "2", "--nodes", "9"),
                 ("run", net, "--random", "--per-layer")):
        text = ok(*args).stdout
        rows = [line for line in text.splitlines() if "xxx" in line]
        assert rows and all(row.startswith("...xxx") for row in rows), text
        assert any("/b" in row.split()[0] for row in rows), text
        assert long not in text
    assert long + "/b" in ok("run", net, "--random", "--per-layer", "--json").stdout


def test_ops_that_are_no_text_are_counted(tmp_path):
    path = model(tmp_path / "n.onnx", [h.make_node("Odd~", ["x"], ["a"]),
                                       h.make_node("Relu", ["a"], ["b"]),
                                       h.make_node("Relu", ["b"], ["y"], domain="other")],
                 {"x": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})
    path.write_bytes(path.read_bytes().replace(b"Odd~", b"Odd\xff"))
    assert ok_json("show", path, "--json")["ops"] == {"Odd?": 1, "Relu": 2}


def test_on_a_terminal_only_our_colours(net, tmp_path):
    for args in (("check", net), ("show", net), ("check", refused(tmp_path))):
        text = on_terminal(*args, env={"TERM": "xterm", "NO_COLOR": ""}).replace("\r\n", "\n")
        assert "\033[" in text
        assert not RAW.search(re.sub(r"\033\[\d*m", "", text)) and "\033[31mred" not in text


def test_pages_and_timelines(net, tmp_path):
    ok("estimate", net, "--soc", "SM8650", "-p", "fp16", "--html", tmp_path / "e.html", "--trace",
       tmp_path / "e.json")
    page = (tmp_path / "e.html").read_text()
    assert not RAW.search(page) and "add" + SHOWN in page
    assert not RAW.search((tmp_path / "e.json").read_text())


def test_dumps_and_logs(net, tmp_path):
    log = tmp_path / "log"
    m = onnx.load(net)
    m.graph.name = EVIL  # the one name that logs always hold
    onnx.save(m, net)
    ok("run", net, "--random", env={"QUERN_LOG": str(log), "QUERN_DUMP": str(tmp_path / "d")})
    assert "red" in log.read_text() and not RAW.search(log.read_text())
    for f in (tmp_path / "d").rglob("*"):
        assert not RAW.search(str(f.relative_to(tmp_path)))
    for command in ("compare", "compare --json"):
        words = command.split()
        p = quern(words[0], tmp_path / "d", tmp_path / "d", *words[1:])
        assert not RAW.search(p.stdout + p.stderr)


def test_comparisons_of_folders_by_others(tmp_path):
    a = np.arange(6, dtype=np.float32)
    for name, part in (("a", 0), ("b", 1)):
        dump(tmp_path / name, [tensor("t" + EVIL, a + part, op="Op" + EVIL)], graph="g",
             missing=[{"name": EVIL, "node": EVIL, "op": "Relu", "reason": "fused"}])
    p = quern("compare", tmp_path / "a", tmp_path / "b")
    assert "t" + SHOWN in p.stdout and not RAW.search(p.stdout + p.stderr)


def test_profiles_and_tables(tmp_path):
    log = write(tmp_path / "p.log", call("BACKEND_EXECUTE", "g" + EVIL, 1, 9, event(
        400, "microseconds", "QNN (execute) time", 8,
        event(404, "microseconds", "conv" + EVIL + ":OpId_3", 5),
        event(404, "microseconds", "=1+cmd|' /C calc'!A0:OpId_4", 2))))
    for args in ((), ("--all",), ("--json",)):
        p = ok("profile", log, *args)
        assert "red" in p.stdout and not RAW.search(p.stdout + p.stderr)
    p = subprocess.run([VIEWER, "--input_log", log, "--output", tmp_path / "p.csv"],
                       capture_output=True, text=True)
    assert p.returncode == 0 and not RAW.search(p.stdout + p.stderr)
    table = (tmp_path / "p.csv").read_text()
    assert "conv" + SHOWN in table and not RAW.search(table)
    assert ",'=1+cmd|" in table  # no spreadsheet computes it


def test_arguments_and_file_names_that_are_no_text(tmp_path):
    name = os.fsencode(tmp_path) + b"/no\xff\x1b[31m.onnx"
    for args in ([b"show", name], [b"run", name, b"--random"], [b"x\x1b[31m"],
                 [b"show", b"--\x1bz"]):
        p = subprocess.run([BIN, *args], capture_output=True)
        assert p.returncode > 0 and not p.stdout
        assert b"\x1b" not in p.stderr and b"\\x1b" in p.stderr
    net = model(tmp_path / "n.onnx", [h.make_node("Relu", ["x"], ["y"])], {"x": (T.FLOAT, [2])},
                {"y": (T.FLOAT, [2])})
    os.rename(net, name)  # such a file works, and its name is shown
    p = subprocess.run([BIN, b"show", name, b"--json"], capture_output=True)
    assert p.returncode == 0 and json.loads(p.stdout)["model"].endswith("/no?\x1b[31m.onnx")
    p = subprocess.run([BIN, b"show", name], capture_output=True)
    assert p.returncode == 0 and b"/no\\xff\\x1b[31m.onnx" in p.stdout
