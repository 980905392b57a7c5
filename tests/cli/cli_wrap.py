# SPDX-License-Identifier: MIT
"""quern wrap: context binaries as ONNX models. The onnx package is the judge of the file."""
import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h

from harness import FAILURE, REFUSED, USAGE, add_relu, model, ok, ok_json, refuses


def compile_(out, *nets, **kw):
    ok("compile", *nets, "-o", out, "--soc", "SM8650")
    return out


def attributes(node):
    return {a.name: h.get_attribute_value(a) for a in node.attribute}


@pytest.fixture
def binary(tmp_path):
    return compile_(tmp_path / "net.bin", add_relu(tmp_path / "net.onnx"))


@pytest.mark.parametrize("embed", [False, True])
def test_a_binary_becomes_a_model_of_one_node(tmp_path, binary, embed):
    out = tmp_path / "ctx.onnx"
    said = ok("wrap", binary, "-o", out, *(["--embed"] if embed else [])).stdout
    assert "graph net  1 input, 1 output" in said
    m = onnx.load(out)
    onnx.checker.check_model(m)
    (node,) = m.graph.node
    a = attributes(node)
    assert (node.op_type, node.domain, node.name) == ("EPContext", "com.microsoft", "net")
    assert a["main_context"] == 1 and a["embed_mode"] == embed and a["source"] == b"Qnn"
    assert a["partition_name"] == b"net" and a["ep_sdk_version"]
    assert a["ep_cache_context"] == (binary.read_bytes() if embed else b"net.bin")
    assert [i.name for i in m.graph.input] == list(node.input) == ["x"]
    (y,) = m.graph.output
    assert y.name == "y" and y.type.tensor_type.elem_type == T.FLOAT
    assert [d.dim_value for d in y.type.tensor_type.shape.dim] == [2, 3]


def test_codes_stay_codes(tmp_path):
    nodes = [h.make_node("DequantizeLinear", ["q", "s", "z"], ["f"]),
             h.make_node("Relu", ["f"], ["r"]),
             h.make_node("QuantizeLinear", ["r", "s", "z"], ["y"])]
    net = model(tmp_path / "q.onnx", nodes, {"q": (T.UINT16, [1, 4])}, {"y": (T.UINT16, [1, 4])},
                {"s": np.float32(0.5), "z": np.uint16(32768)}, opset=21)
    ok("wrap", compile_(tmp_path / "q.bin", net), "-o", tmp_path / "c.onnx")
    m = onnx.load(tmp_path / "c.onnx")
    assert {v.type.tensor_type.elem_type for v in [*m.graph.input, *m.graph.output]} == {T.UINT16}


def test_graphs_of_one_context_become_nodes_of_one_model(tmp_path):
    nets = [add_relu(tmp_path / f"n{i}.onnx", name_in="x", name_out=f"y{i}") for i in range(2)]
    ok("wrap", compile_(tmp_path / "both.bin", *nets), "-o", tmp_path / "c.onnx",
       "--provider", "Mine")
    m = onnx.load(tmp_path / "c.onnx")
    onnx.checker.check_model(m)
    found = [attributes(n) for n in m.graph.node]
    assert [n.name for n in m.graph.node] == ["n0", "n1"]
    assert [a["main_context"] for a in found] == [1, 0] and "ep_cache_context" not in found[1]
    assert all(a["source"] == b"Mine" for a in found)
    assert [i.name for i in m.graph.input] == ["x"]
    assert [o.name for o in m.graph.output] == ["y0", "y1"]


def test_values_that_two_graphs_make_do_not_fit_one_model(tmp_path):
    nets = [add_relu(tmp_path / f"n{i}.onnx") for i in range(2)]
    both = compile_(tmp_path / "both.bin", *nets)
    refuses(REFUSED, "wrap", both, "-o", tmp_path / "c.onnx",
            says=["several graphs have a value 'y'", "--each"])
    assert not (tmp_path / "c.onnx").exists()


@pytest.mark.parametrize("embed", [False, True])
def test_each_graph_becomes_a_model_of_its_own(tmp_path, embed):
    """Values of one name are no hindrance; every model runs and is as its network."""
    biases = [(10, 20, -30), (-1, 2, 5)]
    nets = [add_relu(tmp_path / f"n{i}.onnx", bias=b) for i, b in enumerate(biases)]
    both = compile_(tmp_path / "both.bin", *nets)
    flags = ["--embed"] if embed else []
    said = ok("wrap", both, "-o", tmp_path / "c.onnx", "--each", *flags).stdout
    assert sorted(p.name for p in tmp_path.glob("c.*")) == ["c.n0.onnx", "c.n1.onnx"]
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    for i, bias in enumerate(biases):
        m = onnx.load(tmp_path / f"c.n{i}.onnx")
        onnx.checker.check_model(m)
        (node,) = m.graph.node
        a = attributes(node)
        assert f"graph n{i}  1 input," in said and node.name == m.graph.name == f"n{i}"
        assert a["main_context"] == 1 and a["partition_name"] == f"n{i}".encode()
        assert a["ep_cache_context"] == (both.read_bytes() if embed else b"both.bin")
        (got,) = run_outputs(tmp_path / f"out{i}", tmp_path / f"c.n{i}.onnx", tmp_path / "x.npy")
        want = np.maximum(1 + np.float32([bias, bias]), 0)
        np.testing.assert_array_equal(np.frombuffer(got, np.float32).reshape(2, 3), want)


def test_the_report_as_json(tmp_path, binary):
    out = tmp_path / "w.onnx"
    d = json.loads(ok("wrap", binary, "-o", out, "--json").stdout)
    assert d["binary"] == str(binary)
    (m,) = d["models"]
    assert m["model"] == str(out) and out.exists()
    (g,) = m["graphs"]
    assert g["inputs"] >= 1 and g["outputs"] >= 1 and g["name"]


def test_one_graph_of_several(tmp_path):
    both = compile_(tmp_path / "both.bin", *(add_relu(tmp_path / f"n{i}.onnx") for i in range(2)))
    ok("wrap", both, "-o", tmp_path / "c.onnx", "--graph", "n1")
    (node,) = onnx.load(tmp_path / "c.onnx").graph.node
    assert node.name == "n1" and attributes(node)["main_context"] == 1
    refuses(USAGE, "wrap", both, "-o", tmp_path / "d.onnx", "--graph", "no",
            says="no graph 'no'; it has n0, n1")
    refuses(USAGE, "wrap", both, "-o", tmp_path / "d.onnx", "--graph", "n0", "--each",
            says="exclude each other")
    assert not (tmp_path / "d.onnx").exists()


def test_names_of_graphs_become_names_of_files(tmp_path):
    names = ["a/b", "a b"]
    nets = [add_relu(tmp_path / f"n{i}.onnx") for i in range(2)]
    flags = [f for n in names for f in ("--graph-name", n)]
    both = tmp_path / "both.bin"
    ok("compile", *nets, "-o", both, "--soc", "SM8650", *flags)
    refuses(REFUSED, "wrap", both, "-o", tmp_path / "c.onnx", "--each",
            says=["'a/b' and 'a b'", "c.a_b.onnx", "--graph"])
    assert not list(tmp_path.glob("c.*"))
    ok("wrap", both, "-o", tmp_path / "c.onnx", "--graph", "a b")


def test_what_is_missing_is_said(tmp_path, binary):
    refuses(USAGE, "wrap", binary, says="no output: use --output")
    refuses(FAILURE, "wrap", tmp_path / "gone.bin", "-o", tmp_path / "c.onnx", says="gone.bin")
    (tmp_path / "spoiled.bin").write_bytes(binary.read_bytes()[:100])
    refuses(REFUSED, "wrap", tmp_path / "spoiled.bin", "-o", tmp_path / "c.onnx",
            says="spoiled.bin")


def test_a_binary_lies_beside_its_model_or_inside(tmp_path, binary):
    (tmp_path / "other").mkdir()
    out = tmp_path / "other" / "c.onnx"
    refuses(USAGE, "wrap", binary, "-o", out, says=["is not beside", "--embed"])
    ok("wrap", binary, "-o", out, "--embed")
    shutil.copy(binary, tmp_path / "other")
    ok("wrap", tmp_path / "other" / "net.bin", "-o", out)
    assert attributes(onnx.load(out).graph.node[0])["ep_cache_context"] == b"net.bin"


def test_the_model_says_what_the_binary_does(tmp_path, binary):
    ok("wrap", binary, "-o", tmp_path / "c.onnx")
    (graph,) = ok_json("show", binary, "--json")["graphs"]
    m = onnx.load(tmp_path / "c.onnx")
    assert [i["name"] for i in graph["inputs"]] == [i.name for i in m.graph.input]


# --- quern run on such models

def run_outputs(folder, *args):
    ok("run", *args, "-o", folder, "--format", "raw", "-q")
    return [p.read_bytes() for p in sorted(folder.iterdir())]


@pytest.fixture
def minus(tmp_path):
    """y = a - b in 8 bits: the order of the inputs matters."""
    nodes = [h.make_node("DequantizeLinear", [n, "s", "z"], [f"{n}_f"]) for n in "ab"]
    nodes += [h.make_node("Sub", ["a_f", "b_f"], ["d"]),
              h.make_node("QuantizeLinear", ["d", "s", "z"], ["y"])]
    net = model(tmp_path / "m.onnx", nodes, {n: (T.UINT8, [1, 4]) for n in "ab"},
                {"y": (T.UINT8, [1, 4])}, {"s": np.float32(0.5), "z": np.uint8(128)}, opset=21)
    for name, values in (("a", [0, 100, 200, 255]), ("b", [128, 130, 120, 100])):
        np.save(tmp_path / f"{name}.npy", np.array([values], np.uint8))
    return compile_(tmp_path / "m.bin", net)


@pytest.mark.parametrize("embed", [False, True])
def test_a_model_around_a_binary_runs(tmp_path, minus, embed):
    ctx, files = tmp_path / "ctx.onnx", [tmp_path / "a.npy", tmp_path / "b.npy"]
    ok("wrap", minus, "-o", ctx, *(["--embed"] if embed else []))
    want = np.array([0, 98, 208, 255], np.uint8).tobytes()
    assert run_outputs(tmp_path / "model", ctx, *files) == [want]
    assert run_outputs(tmp_path / "binary", minus, *files, "--native") == [want]


def test_inputs_go_by_the_order_of_the_model(tmp_path, minus):
    ok("wrap", minus, "-o", tmp_path / "ctx.onnx", "--embed")
    m = onnx.load(tmp_path / "ctx.onnx")
    m.graph.node[0].input[:] = ["b", "a"]
    m.graph.input.reverse()
    onnx.save(m, tmp_path / "turned.onnx")
    got = run_outputs(tmp_path / "out", tmp_path / "turned.onnx", tmp_path / "b.npy",
                      tmp_path / "a.npy")
    assert got == [np.array([0, 98, 208, 255], np.uint8).tobytes()]


def test_a_graph_of_several_is_chosen_by_name(tmp_path):
    nets = [add_relu(tmp_path / f"n{i}.onnx", name_in="x", name_out=f"y{i}") for i in range(2)]
    ctx = tmp_path / "c.onnx"
    ok("wrap", compile_(tmp_path / "both.bin", *nets), "-o", ctx)
    refuses(USAGE, "run", ctx, "--random", says="2 graphs; choose one with --graph: n0, n1")
    refuses(USAGE, "run", ctx, "--random", "--graph", "no", says="no graph 'no'")
    one = run_outputs(tmp_path / "one", ctx, "--random", "--graph", "n1")
    assert one == run_outputs(tmp_path / "two", nets[1], "--random", "--soc", "SM8650")


def edited(tmp_path, binary, name, edit):
    ok("wrap", binary, "-o", tmp_path / "ctx.onnx", *(["--embed"] if name == "damaged" else []))
    m = onnx.load(tmp_path / "ctx.onnx")
    edit(m.graph)
    onnx.save(m, tmp_path / f"{name}.onnx")
    return tmp_path / f"{name}.onnx"


def set_attribute(node, name, value):
    (a,) = [a for a in node.attribute if a.name == name]
    node.attribute.remove(a)
    if value is not None:
        node.attribute.append(h.make_attribute(name, value))


@pytest.mark.parametrize("name, says, edit", [
    ("beside", "node 'n' (Relu) beside EPContext nodes",
     lambda g: g.node.append(h.make_node("Relu", ["y"], ["z"], name="n"))),
    ("escaping", "'../net.bin' is not the name of a file beside the model",
     lambda g: set_attribute(g.node[0], "ep_cache_context", "../net.bin")),
    ("lacking", "has no ep_cache_context",
     lambda g: set_attribute(g.node[0], "ep_cache_context", None)),
    ("no_main", "no EPContext node has main_context = 1",
     lambda g: set_attribute(g.node[0], "main_context", 0)),
    ("other_ports", "does not have the 1 inputs and 1 outputs of graph 'net'",
     lambda g: g.node[0].input.append("more")),
    ("damaged", "damaged.onnx: ",
     lambda g: set_attribute(g.node[0], "ep_cache_context", b"no context binary"))])
def test_models_that_cannot_run_say_why(tmp_path, binary, name, says, edit):
    refuses(REFUSED, "run", edited(tmp_path, binary, name, edit), "--random", says=says)
