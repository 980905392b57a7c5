# SPDX-License-Identifier: MIT
"""DLC files on the command line: written, read by a second reader, run, shown, and damaged."""
import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from cli_binary import conv_net, qdq_net
from dlc_file import Dlc, topology, write
from harness import BIN, REFUSED, USAGE, add_relu, ok, ok_json, refuses


def compile_(net, *args):
    out = net.with_suffix(".dlc")
    ok("compile", net, "-o", out, *args)
    return out


def results(subject, inputs, folder, *args):
    np.savez(folder / "in.npz", **inputs)
    ok("run", subject, folder / "in.npz", "-o", folder / "out", *args)
    return np.load(folder / "out" / "output_0.npy")


def test_a_second_reader_finds_the_model(tmp_path):
    net = conv_net(tmp_path / "net.onnx")
    d = Dlc(compile_(net))
    g = d.graphs["net"]
    assert {n: t for n, (t, _) in d.records.items()} == {
        "dlc.metadata": 1, "model.topology": 2, "model.encodings": 5, "model.weights": 4,
        "source.mapping": 13}
    mapping = json.loads(d.records["source.mapping"][1])["graphs"]
    nodes = {n.name or f"{n.op_type}_{i}": n.op_type
             for i, n in enumerate(onnx.load(net).graph.node)}
    assert [m["name"] for m in mapping] == ["net"]
    assert [op for op, _, _ in mapping[0]["ops"]] == [n["name"] for n in g.nodes][:-1]
    assert all(nodes[name] == type_ for _, name, type_ in mapping[0]["ops"])
    rng = np.random.default_rng(0)  # as conv_net draws them
    w = (rng.standard_normal((4, 3, 3, 3)) / 4).astype(np.float32)
    b = rng.standard_normal(4).astype(np.float32)
    conv = next(n for n in g.nodes if n["type"] == "Conv2d")
    x, weights, bias = (g.by_id[i] for i in conv["inputs"])
    assert np.array_equal(g.data(weights), w.transpose(2, 3, 1, 0))
    assert np.array_equal(g.data(bias), b)
    assert np.array_equal(g.param(conv, "pad_amount"), [[1, 1], [1, 1]])
    assert g.scalar(conv, "group") == 1
    assert (g.tensors["x"]["type"], g.tensors["x"]["dims"]) == ("APP_WRITE", [1, 3, 6, 5])
    assert (g.tensors["y"]["type"], g.tensors["y"]["data_type"]) == ("APP_READ", "FLOAT_32")


def test_a_second_reader_finds_encodings(tmp_path):
    d = Dlc(compile_(qdq_net(tmp_path / "net.onnx")))
    g = d.graphs["net"]
    rng = np.random.default_rng(1)
    w = rng.integers(-127, 128, (8, 4)).astype(np.float64) * np.float64(np.float32(0.01))
    found = [g.real(t) for t in g.tensors.values() if t["type"] == "STATIC" and "encoding" in t]
    assert any(np.allclose(f if f.shape == w.shape else f.T, w, rtol=1e-12) for f in found
               if f.size == w.size)
    inner = [t["encoding"] for t in g.tensors.values() if t["data_type"] == "UFIXED_POINT_8"]
    assert {"kind": "TENSOR", "form": 0, "bits": 8, "twice_shift": 0, "offset": -128,
            "scale_bits": struct.pack(">f", 0.05).hex(),
            "scale": float("%.9g" % np.float32(0.05))} in inner


@pytest.mark.parametrize("chip", [(), ("--soc", "SM8650")])
@pytest.mark.parametrize("make", [conv_net, qdq_net, add_relu])
def test_results_are_those_of_the_model(make, chip, tmp_path):
    net = make(tmp_path / "net.onnx")
    evaluator = ReferenceEvaluator(str(net))
    shape = {conv_net: (1, 3, 6, 5), qdq_net: (2, 8), add_relu: (2, 3)}[make]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    direct = results(net, {"x": x}, tmp_path, *chip)
    composed = results(compile_(net, *chip), {"x": x}, tmp_path, *chip)
    assert np.array_equal(direct, composed)
    expected = evaluator.run(None, {"x": x})[0]
    assert np.allclose(composed, expected, atol=0.11 if make is qdq_net else 0.01)


def test_a_file_is_compiled_and_checked(tmp_path):
    net = conv_net(tmp_path / "net.onnx")
    dlc, binary, direct = compile_(net, "--soc", "SM8650"), tmp_path / "d.bin", tmp_path / "o.bin"
    options = ("--soc", "SM8650", "--vtcm-mb", 2)
    ok("compile", dlc, "-o", binary, *options)
    ok("compile", net, "-o", direct, *options)
    assert all('"vtcm_mb": 2,' in ok("show", b, "--json").stdout for b in (binary, direct))
    x = np.random.default_rng(3).standard_normal((1, 3, 6, 5)).astype(np.float32)
    assert np.array_equal(results(binary, {"x": x}, tmp_path), results(direct, {"x": x}, tmp_path))
    text = ok("check", dlc, "--soc", "SM8650").stdout
    assert "1 graph, 4 ops, all accepted by HTP_QTI_AISW" in text
    refuses(USAGE, "compile", dlc, "-o", binary, "--soc", "SM8650", "-u", "w", says="--updatable")
    path = tmp_path / "bad.dlc"
    path.write_bytes(write(graph(relu(type="NoSuchOp"))))
    refuses(REFUSED, "check", path, says=["bad.dlc", "NoSuchOp"])
    refuses(REFUSED, "compile", path, "-o", tmp_path / "x.bin", "--soc", "SM8650", says="NoSuchOp")
    assert not (tmp_path / "x.bin").exists()


def test_several_graphs_and_the_same_bytes_again(tmp_path):
    one, two = add_relu(tmp_path / "one.onnx"), add_relu(tmp_path / "two.onnx", bias=(1, 2, 3))
    both = tmp_path / "both.dlc"
    ok("compile", one, two, "-o", both)
    first = both.read_bytes()
    ok("compile", one, two, "-o", both)
    assert both.read_bytes() == first
    assert list(Dlc(both).graphs) == ["one", "two"]
    assert compile_(one).read_bytes()[4:12] != compile_(two).read_bytes()[4:12]
    refuses(USAGE, "run", both, "--random", says="2 graphs; choose one with --graph: one, two")
    x = np.ones((2, 3), np.float32)
    assert np.array_equal(results(both, {"x": x}, tmp_path, "--graph", "two"), x + [1, 2, 3])


def test_a_file_is_shown(tmp_path):
    out = compile_(add_relu(tmp_path / "net.onnx"))
    text = ok("show", out).stdout
    for words in ("DLC file, version 1.0", "record model.weights  type 4", "graph net  2 ops",
                  "input   x  FLOAT_32 [2, 3]", "output  y  FLOAT_32 [2, 3]"):
        assert words in text
    report = ok_json("show", out, "--json")
    assert report["graphs"][0]["ops"] == 2 and report["version"] == [1, 0]
    refuses(USAGE, "show", out, "--dot", says="--dot is not for DLC files")


def program(name, *args, code=0):
    p = subprocess.run([Path(BIN).parent / f"qairt-dlc-{name}", *map(str, args)],
                       capture_output=True, text=True, timeout=60)
    assert p.returncode == code and "Sanitizer" not in p.stderr, (p.returncode, p.stderr)
    return p.stdout if code in (0, 1) and p.stdout else p.stderr


def test_the_programs_print_a_file(tmp_path):
    out = compile_(qdq_net(tmp_path / "net.onnx"))
    text = program("info", "--input_dlc", out, "--all")
    assert "graph net  " in text and "UFIXED_POINT_8 [2, 8]  8 bits, scale 0.05" in text
    assert program("info", "-i", out, "--json").startswith("{")
    program("to-json", "-i", out, "-o", tmp_path / "net.json")
    top = json.loads((tmp_path / "net.json").read_text())
    assert top == json.loads(program("to-json", out)) and top["metadata"]["format"] == "quern-dlc"
    g = Dlc(out).graphs["net"]
    for t in top["graphs"][0]["tensors"]:
        same = g.tensors[t["name"]]
        assert t["dims"] == same["dims"]
        if "bytes" in t:
            assert bytes.fromhex(t["bytes"]) == g.dlc.bytes_of("model.weights", same["data"], 64)
        if t.get("encoding", {}).get("kind") == "AXIS":
            assert np.array_equal(np.float32(t["encoding"]["scales"]), g.lists(same["encoding"])[0])


def test_the_programs_tell_differences(tmp_path):
    one = compile_(add_relu(tmp_path / "net.onnx"))
    same = one.rename(tmp_path / "one.dlc")
    other = compile_(add_relu(tmp_path / "net.onnx", bias=(1, 2, 3)))
    assert program("diff", same, same) == "the graphs are equal\n"
    assert "tensor b: other data\n1 differences\n" in program("diff", same, other, code=1)
    wide = compile_(add_relu(tmp_path / "net.onnx", shape=(4, 3)))
    text = program("diff", "--input_dlc_one", same, "--input_dlc_two", wide, code=1)
    first, second = "APP_WRITE FLOAT_32 [2, 3]", "APP_WRITE FLOAT_32 [4, 3]"
    assert f"tensor x: {first}, in the second file {second}" in text
    broken = tmp_path / "bad.dlc"
    broken.write_bytes(write(graph(relu(type="Elu")))[:-3])
    assert "bad.dlc" in program("diff", same, broken, code=3)
    assert "two files are needed" in program("diff", same, code=2)
    assert "--input_dlc is needed" in program("info", code=2)
    assert "of Quern" in program("info", "--version")
    a, b = tmp_path / "a.dlc", tmp_path / "b.dlc"
    a.write_bytes(write(graph(relu())))
    b.write_bytes(write(graph(relu(type="Tanh"))))
    assert "node relu: Relu, in the second file Tanh" in program("diff", a, b, code=1)


def test_options_of_a_chip_do_not_go_with_a_file(tmp_path):
    net = add_relu(tmp_path / "net.onnx")
    refuses(USAGE, "compile", net, "-o", tmp_path / "a.dlc", "--vtcm-mb", 4, says="compiled later")
    assert not (tmp_path / "a.dlc").exists()


def tensor(i, name, kind, dims, **more):
    return {"id": i, "name": name, "type": kind, "data_type": "FLOAT_32", "dims": dims, **more}


def relu(**change):
    """A graph y = relu(x), with changed members of its node."""
    node = {"name": "relu", "package": "qti.aisw", "type": "Relu", "inputs": [1], "outputs": [2],
            "params": [], **change}
    tensors = [tensor(1, "x", "APP_WRITE", [3]), tensor(2, "y", "APP_READ", [3])]
    return {"name": "g", "tensors": tensors, "nodes": [node]}


def test_a_file_of_another_writer_runs(tmp_path):
    path = tmp_path / "other.dlc"
    path.write_bytes(write([("notes", 17, b"anything"), ("model.topology", 2, topology([relu()]))]))
    x = np.array([-1, 0, 2], np.float32)
    assert np.array_equal(results(path, {"x": x}, tmp_path), [0, 0, 2])


def change(**members):
    g = relu()
    g["tensors"][1].update(members)
    return g


def graph(g, *more):
    """The records of a file with one graph."""
    return [("model.topology", 2, topology([g])), *more]


WEIGHTS = ("model.weights", 4, bytes(64))


@pytest.mark.parametrize("records, version, says", [
    (graph(relu()), (2, 0), "version 2, this library reads version 1"),
    ([("model.topology", 2, b"{")], (1, 0), "bad.dlc:1"),
    (graph(relu(inputs=[3])), (1, 0), "node 'relu': no tensor"),
    (graph(relu(inputs=[-1])), (1, 0), "not negative"),
    (graph(relu(params=[{"name": "p", "tensor": 1}])), (1, 0),
     "not a constant"),
    (graph(relu(type="NoSuchOp")), (1, 0), "NoSuchOp"),
    (graph(change(id=7)), (1, 0), "tensor 'y': ids do not count"),
    (graph(change(dims=[1] * 9)), (1, 0), "more than 8 dimensions"),
    (graph(change(dims=[4000000000] * 8)), (1, 0), "too many elements"),
    (graph(change(data_type="FLOAT_33")), (1, 0), "'data_type' is unknown"),
    (graph(change(type="STATIC", data=[0, 12])), (1, 0),
     "'data' lies outside its record"),
    (graph(change(type="STATIC", data=[0, 16]), WEIGHTS), (1, 0),
     "'data' has 16 bytes, expected 12"),
    (graph(change(type="STATIC", data=[4, 12]), WEIGHTS), (1, 0), "'data' is not aligned"),
    (graph(change(encoding={"kind": "AXIS", "form": 1, "bits": 8, "twice_shift": 0, "axis": 1})),
     (1, 0),
     "'axis' is not a dimension"),
    (graph(relu(), *graph(relu())), (1, 0),
     "two records are called 'model.topology'"),
    ([("notes", 17, b"")], (1, 0), "no graphs"),
])
def test_broken_files_are_refused(records, version, says, tmp_path):
    path = tmp_path / "bad.dlc"
    path.write_bytes(write(records, version))
    refuses(REFUSED, "run", path, "--random", says=["bad.dlc", says])


def test_cut_and_foreign_files_are_refused(tmp_path):
    good = write([("model.topology", 2, topology([relu()]))])
    path = tmp_path / "bad.dlc"
    for bytes_, says in ((good[:-5], "cut short"), (good + b"x", "cut short"), (b"", "zip archive"),
                         (b"PK\3\4" + bytes(60), "end of the archive"),
                         (good.replace(b"quern-dlc", b"other-dlc"), "checksum is wrong")):
        path.write_bytes(bytes_)
        refuses(REFUSED, "show", path, says=["bad.dlc", says])
    import zipfile
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("model", "x")
    refuses(REFUSED, "show", path, says="multiple of 64")
    assert json.loads(topology([])) == {"tensors": [], "graphs": []}


@pytest.mark.parametrize("scheme", ["a8w8", "a16w8", "w8"])
def test_quantize_writes_a_file(scheme, tmp_path):
    net = conv_net(tmp_path / "net.onnx")
    x = np.random.default_rng(4).standard_normal((6, 1, 3, 6, 5)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    command = ("quantize", net, "-s", scheme, "-c", tmp_path / "x.npz")
    ok(*command, "-o", tmp_path / "q.onnx")
    before = set(tmp_path.iterdir())
    assert "q.dlc" in ok(*command, "-o", tmp_path / "q.dlc").stdout
    assert set(tmp_path.iterdir()) == before | {tmp_path / "q.dlc"}
    assert "graph net" in ok("show", tmp_path / "q.dlc").stdout
    chip = ("-b", "htp", "--soc", "SM8650")
    got = results(tmp_path / "q.dlc", {"x": x[0]}, tmp_path, *chip)
    assert np.array_equal(got, results(tmp_path / "q.onnx", {"x": x[0]}, tmp_path, *chip))
    want = ReferenceEvaluator(str(net)).run(None, {"x": x[0]})[0]
    assert np.abs(got - want).max() < 0.05 * np.abs(want).max()


def test_quantize_to_a_file_takes_one_model(tmp_path):
    net = conv_net(tmp_path / "net.onnx")
    refuses(USAGE, "quantize", net, net, "-r", "-o", tmp_path / "q.dlc", says="one model")
    assert not (tmp_path / "q.dlc").exists()
