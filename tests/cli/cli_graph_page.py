# SPDX-License-Identifier: MIT
"""quern show --html: the graph of a model, a context binary, a DLC file and an ExecuTorch program,
with its partitions, times and SQNR, names that are not markup, and what a browser draws."""
import json
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from browser import browse, corner, in_browser
from cli_compare import dump, tensor
from cli_compare_page import data_of
from estimate_nets import Net
from harness import INPUT, REFUSED, USAGE, model, ok, ok_json, refuses

EVIL = '</script><img src=x onerror="document.title=\'taken\'">&<b>'


@pytest.fixture
def net(tmp_path):
    """conv, sigmoid, conv and an op that no backend has, beside them."""
    n = Net(32)
    v = n.add("Sigmoid", [n.conv("x", 40, 3)], 40)
    n.add("Nothing", ["x"], 3)
    n.nodes[-1].name, n.nodes[-1].domain = EVIL, "nowhere"
    return n.save(str(tmp_path / "n.onnx"), n.conv(v, 40, 1), [1, 40, 32, 32])


def show(path, page, *flags):
    ok("show", path, "--html", page, *flags)
    return data_of(page)


def by_name(graph):
    return {n["name"]: n for n in graph["nodes"]}


def test_nodes_have_partitions_times_and_reasons(net, tmp_path):
    d = show(net, tmp_path / "p.html")
    (g,) = d["graphs"]
    assert d["partitions"] == ["htp SM8650, partition 1"] and d["time"] == "estimated"
    nodes = by_name(g)
    ops = [n["op"] for n in g["nodes"]]
    assert sorted(ops) == ["Conv", "Conv", "Identity", "Nothing", "Sigmoid"]
    assert nodes[EVIL]["part"] == -1 and "Nothing" in nodes[EVIL]["why"]
    times = sum(n.get("us", 0) for n in g["nodes"])
    steps = ok_json("estimate", net, "-p", "fp16", "--json", "--steps")["steps"]
    assert times == pytest.approx(sum(s["us"] for s in steps), rel=1e-6) and times > 0
    conv = next(n for n in g["nodes"] if n["op"] == "Conv")
    values = [g["values"][i] for i in conv["in"]]
    assert values[0]["kind"] == "input" and values[0]["shape"] == "[1,3,32,32]"
    assert values[1]["kind"] == "const" and values[1]["shape"] == "[40,3,3,3]"
    assert "kernel_shape=[3,3]" in conv["attributes"]
    made = g["values"][conv["out"][0]]
    assert (made["type"], made["shape"]) == ("float32", "[1,40,32,32]")
    d = show(net, tmp_path / "p.html", "--backend", "cpu")
    assert d["partitions"] == ["cpu, partition 1"] and "us" not in d["graphs"][0]["nodes"][0]


def test_encodings_of_quantized_values(tmp_path):
    scale, zero = np.float32(0.25), np.uint8(7)
    path = model(tmp_path / "q.onnx", [
        h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="q"),
        h.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dq"),
        h.make_node("Relu", ["d"], ["y"], name="r")],
        {"x": (T.FLOAT, [1, 4])}, {"y": (T.FLOAT, [1, 4])}, {"s": scale, "z": zero})
    nodes = by_name(show(path, tmp_path / "p.html")["graphs"][0])
    assert nodes["q"]["enc"] == nodes["dq"]["enc"] == "uint8, scale 0.25, zero point 7"


def test_sqnr_from_a_comparison(net, tmp_path):
    nodes = by_name(show(net, tmp_path / "p.html")["graphs"][0])
    name = next(n for n, v in nodes.items() if v["op"] == "Sigmoid")
    v = np.random.default_rng(0).standard_normal((4, 8))
    a = dump(tmp_path / "a", [tensor(name, v, node=name)])
    b = dump(tmp_path / "b", [tensor(name, v + 0.1, node=name)])
    report = tmp_path / "c.json"
    report.write_text(ok("compare", a, b, "--json").stdout)
    want = json.loads(report.read_text())["graphs"][0]["layers"][0]["sqnr_db"]
    nodes = by_name(show(net, tmp_path / "p.html", "--compare", report)["graphs"][0])
    assert nodes[name]["sqnr"] == want and sum("sqnr" in n for n in nodes.values()) == 1
    other = tmp_path / "other.json"
    other.write_text('{"graphs": [{"layers": [{"name": "no", "node": "no", "sqnr_db": 1}]}]}')
    for text, says in (("{", "line 1"), (other.read_text(), "no layer in it"), ("[]", "no layer"),
                       ('{"graphs": 3}', "no layer"),
                       ('{"graphs": [{"layers": [4]}]}', "no layer")):
        other.write_text(text)
        refuses(INPUT, "show", net, "--html", tmp_path / "q.html", "--compare", other, says=says)
    assert not (tmp_path / "q.html").exists()


def test_times_from_a_profile(net, tmp_path):
    name = next(n["name"] for n in show(net, tmp_path / "p.html")["graphs"][0]["nodes"])
    log = tmp_path / "p.csv"
    head = ("Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,"
            "Event Identifier\n1,EXECUTE,50,US,BACKEND,ROOT,all\n"
            "1,EXECUTE,44,US,BACKEND,SUB-EVENT,")
    log.write_text(f"{head}{name}:OpId_3\n")
    d = show(net, tmp_path / "p.html", "--profile", log)
    nodes = by_name(d["graphs"][0])
    assert d["time"].startswith("measured") and nodes[name]["us"] == 44
    assert sum("us" in n for n in nodes.values()) == 1
    log.write_text(f"{head}other:OpId_3\n")
    refuses(INPUT, "show", net, "--html", tmp_path / "q.html", "--profile", log, says="no node")


@pytest.mark.parametrize("flags, says", [
    (["--html", "x.html", "--json"], "--html and --json exclude each other"),
    (["--html", "x.html", "--dot"], "--html and --dot exclude each other"),
    (["--profile", "x"], "--profile needs --html"), (["--compare", "x"], "--compare needs --html")])
def test_flags_that_do_not_go(net, flags, says):
    refuses(USAGE, "show", net, *flags, says=says)


@pytest.fixture
def files(tmp_path):
    n = Net(16)
    v = n.conv("x", 8, 3)
    v = n.add("Add", [n.conv(v, 8, 3), v], 8)
    path = n.save(str(tmp_path / "m.onnx"), n.add("Relu", [v], 8), [1, 8, 16, 16])
    ok("compile", path, "-o", tmp_path / "m.bin", "--soc", "SM8650")
    ok("compile", path, "-o", tmp_path / "m.dlc")
    return tmp_path


PTE = Path(__file__).resolve().parent.parent / "fuzz" / "corpus" / "pte"


def drawn(dom):
    return {k: int(v) for k, v in re.findall(r'data-(boxes|layers|edges)="(\d+)"', dom)}


@in_browser
@pytest.mark.parametrize("name", ["m.bin", "m.dlc"])
def test_a_browser_draws_each_kind_of_file(files, name):
    show(files / name, files / "p.html")
    got = drawn(browse(files, files / "p.html", "--dump-dom"))
    # two convolutions, a sum and the layout of the input in a row, all linked
    assert got["boxes"] >= 6 and got["layers"] >= 5 and got["edges"] >= got["boxes"] - 1


@in_browser
def test_a_browser_draws_a_program(tmp_path):
    path = next(p for p in sorted(PTE.glob("kernels_*.pte")) if p.stat().st_size > 1000)
    d = show(path, tmp_path / "p.html")
    assert d["partitions"][0] == "portable kernels"
    assert drawn(browse(tmp_path, tmp_path / "p.html", "--dump-dom"))["boxes"] >= 1


def test_files_without_a_graph_are_refused(tmp_path):
    (tmp_path / "g.gguf").write_bytes(b"GGUF" + bytes(60))
    refuses(USAGE, "show", tmp_path / "g.gguf", "--html", tmp_path / "p.html", says="quern import")
    (tmp_path / "n.onnx").write_bytes(b"\x08")
    refuses(REFUSED, "show", tmp_path / "n.onnx", "--html", tmp_path / "p.html", says="n.onnx")
    assert not (tmp_path / "p.html").exists()


@in_browser
def test_names_stay_text_in_the_browser(net, tmp_path):
    page = tmp_path / "p.html"
    show(net, page)
    assert page.read_text().count("<script") == 2
    dom = browse(tmp_path, f"{page}#node={EVIL.replace('&', '%26')}", "--dump-dom")
    assert "taken</title>" not in dom and "<img" not in dom
    assert "Not supported: " in dom and "&lt;img src=x" in dom


@in_browser
def test_two_thousand_nodes(tmp_path):
    nodes, v = [], "x"
    for i in range(500):
        nodes += [h.make_node("Relu", [v], [f"a{i}"]), h.make_node("Sigmoid", [v], [f"b{i}"]),
                  h.make_node("Mul", [f"a{i}", f"b{i}"], [f"c{i}"]),
                  h.make_node("Add", [f"c{i}", "x" if i % 50 == 0 else v], [f"d{i}"])]
        v = f"d{i}"
    path = model(tmp_path / "n.onnx", nodes, {"x": (T.FLOAT, [1, 8])}, {v: (T.FLOAT, [1, 8])})
    show(path, tmp_path / "p.html")
    got = drawn(browse(tmp_path, tmp_path / "p.html", "--dump-dom"))
    assert got["boxes"] == 2002 and got["layers"] == 1502


@in_browser
@pytest.mark.parametrize("scheme, size", [("light", "390,800"), ("dark", "1200,800")])
def test_light_dark_and_phone(net, tmp_path, scheme, size):
    page, picture = tmp_path / "p.html", tmp_path / "p.png"
    show(net, page)
    browse(tmp_path, page, f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
           f"--window-size={size}", f"--screenshot={picture}")
    assert corner(picture) == (b"\xff\xff\xff" if scheme == "light" else b"\x0d\x11\x17")
