# SPDX-License-Identifier: MIT
"""qnn-architecture-checker: rules on models whose breaches are known, and files that are wrong."""
import copy
import csv
import json

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import model, ok, rejects, write_json

CHECKER = "qnn-architecture-checker"
COLUMNS = ["index", "Graph/Node_name", "Issue", "Recommendation", "Type",
           "Input_tensor_name:[dims]", "Output_tensor_name:[dims]", "Parameters", "Previous node",
           "Next nodes", "Modification", "Modification_info"]


@pytest.fixture
def box(tmp_path, monkeypatch):
    """net_net.json: a thin convolution, a division, a Prelu, a wide convolution."""
    monkeypatch.chdir(tmp_path)
    constants = {"w": np.ones((32, 3, 3, 3)), "d": np.full((1, 32, 1, 1), 2),
                 "s": np.full((32, 1, 1), .1), "v": np.ones((64, 32, 1, 1))}
    constants = {name: value.astype(np.float32) for name, value in constants.items()}
    model("net.onnx", [h.make_node("Conv", ["x", "w"], ["a"], name="thin", pads=[1] * 4),
                       h.make_node("Div", ["a", "d"], ["b"], name="div"),
                       h.make_node("PRelu", ["b", "s"], ["e"], name="pr"),
                       h.make_node("Conv", ["e", "v"], ["y"], name="wide")],
          {"x": (T.FLOAT, (1, 3, 64, 64))}, {"y": (T.FLOAT, (1, 64, 64, 64))}, constants)
    ok("qnn-onnx-converter", "-i", "net.onnx", "-o", "net.cpp")
    return tmp_path


def table(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    assert all(list(r) == COLUMNS for r in rows)
    assert [int(r["index"]) for r in rows] == list(range(len(rows)))
    return rows


def kinds(rows):
    return {(r["Type"], word) for r in rows for word in ("channels: fewer", "division", "Prelu is")
            if word in r["Issue"]}


def test_breaches_are_listed(box):
    out = ok(CHECKER, "-i", "net_net.json", "--modify").stdout
    rows = table("net_architecture_checker.csv")
    assert kinds(rows) == {("Conv2d", "channels: fewer"), ("ElementWiseDivide", "division"),
                           ("Prelu", "Prelu is")}
    thin, = (r for r in rows if "fewer" in r["Issue"])
    assert "3 to 32 channels" in thin["Issue"] and thin["Modification"] == "N/A"
    assert ":[1, 64, 64, 3]" in thin["Input_tensor_name:[dims]"]
    assert json.loads(thin["Parameters"])["stride"] == [1, 1]
    div, = (r for r in rows if r["Modification"] == "elwisediv")
    assert (div["Previous node"], div["Next nodes"]) == (thin["Graph/Node_name"], "pr")
    assert "elwisediv  div: " in out and "prelu  pr: " in out
    assert f"{len(rows)} issues, net_architecture_checker.csv" in out


def test_the_advice_is_that_of_quern_estimate(box):
    ok(CHECKER, "--input_json=net_net.json", "--output_path", "out", "--soc", "SM8650")
    rules = {r["Issue"].split(":")[0] for r in table("out.csv")}
    # The converter's graph keeps the layout of the model, and so has two transposes more.
    advice = json.loads(ok("quern", "estimate", "net.onnx", "--soc", "SM8650", "--precision",
                           "fp16", "--steps", "--json").stdout)["advice"]
    known = {a["rule"] for a in advice} - {"channels", "division", "prelu", "precision"}
    assert known and known <= rules


def test_both_forms_of_shapes_and_16_bit_activations(box):
    net = json.loads((box / "net_net.json").read_text())
    for t in net["graph"]["tensors"].values():
        t["dims"] = t.pop("current_dims")
        del t["max_dims"]
        if t["type"] != 4 and t["data_type"] == 0x232:
            t["data_type"] = 0x416
    write_json("old_net.json", net)
    ok(CHECKER, "-i", "old_net.json")
    rows = table("old_architecture_checker.csv")
    assert rows[0]["Graph/Node_name"] == "Graph" and "16-bit activations" in rows[0]["Issue"]
    assert kinds(rows) == kinds_of_new(box)


def kinds_of_new(box):
    ok(CHECKER, "-i", "net_net.json", "-o", "new.csv")
    return kinds(table("new.csv"))


def changed(net, path, value):
    net = copy.deepcopy(net)
    at = net
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return net


def test_what_is_wrong_is_said(box):
    net = json.loads((box / "net_net.json").read_text())
    tensor = next(iter(net["graph"]["tensors"]))
    node = next(iter(net["graph"]["nodes"]))
    t, n = ("graph", "tensors", tensor), ("graph", "nodes", node)
    for path, value, says in (
            (("graph",), 1, "'tensors' and 'nodes'"), (t, 3, tensor), ((*t, "type"), "x", tensor),
            ((*t, "current_dims"), [1] * 9, "at most 8"), ((*t, "current_dims"), [-1], tensor),
            ((*t, "current_dims"), [2**40], tensor), ((*n, "type"), None, node),
            ((*n, "input_names"), ["nobody"], node), ((*n, "output_names"), "y", node),
            ((*n, "input_names"), [tensor] * 2000, "at most 1024"),
            ((*n, "scalar_params"), [], node)):
        write_json("bad_net.json", changed(net, path, value))
        rejects(CHECKER, "-i", "bad_net.json", says=["bad_net.json", says])
    for path, value in (((*n, "scalar_params"), {"group": {}}),
                        ((*n, "tensor_params"), {"perm": {"p": {"data": ["a", None]}}}),
                        ((*t, "current_dims"), [0] * 8)):
        write_json("odd_net.json", changed(net, path, value))
        ok(CHECKER, "-i", "odd_net.json")
    text = (box / "net_net.json").read_bytes()
    for n_bytes in range(0, len(text), len(text) // 40):
        (box / "cut_net.json").write_bytes(text[:n_bytes])
        rejects(CHECKER, "-i", "cut_net.json", says="cut_net.json")
    rejects(CHECKER, "-i", "gone.json", says="gone.json")
    assert not (box / "bad_architecture_checker.csv").exists()


@pytest.mark.parametrize("args, says", [
    ([], "--input_json is needed"), (["--bin", "net.bin"], "--bin is not supported"),
    (["--modify", "all"], "convert it again"), (["-m", "apply=elwisediv"], "convert it again"),
    (["-m", "some"], "expected show"), (["--soc", "none-such"], "none-such")])
def test_flags_that_are_rejected(box, args, says):
    rejects(CHECKER, *(["-i", "net_net.json"] if args else []), *args, says=says)
