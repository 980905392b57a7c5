# SPDX-License-Identifier: MIT
"""quern wrap: context binaries as ONNX models. The onnx package is the judge of the file."""
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
    assert "graph net  1 inputs, 1 outputs" in said
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
            says="several graphs have a value 'y'")
    assert not (tmp_path / "c.onnx").exists()


def test_what_is_missing_is_said(tmp_path, binary):
    refuses(USAGE, "wrap", binary, says="--output is needed")
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
