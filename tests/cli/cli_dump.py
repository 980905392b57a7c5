# SPDX-License-Identifier: MIT
"""QUERN_DUMP: every tensor of an executed graph in files, whatever passes and folders do.

Expected values come from onnx's reference evaluator and from numpy.
"""
import json
import os
import resource
import signal
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h
from onnx.reference import ReferenceEvaluator

from harness import BIN, add_relu, model, ok, quern


def load_run(folder):
    """({name: (record, array)}, index) of one execution; the files and the index agree."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert index["quern_dump"] == 1
    found = {}
    for at, record in enumerate(index["tensors"]):
        a = np.load(folder / record["file"])
        assert list(a.shape) == record["shape"] and record["order"] == at
        found[record["name"]] = (record, a)
    files = {r["file"] for r in index["tensors"]} | {"index.json"}
    assert {p.name for p in folder.iterdir()} == files
    return found, index


def real(record, codes):
    e = record.get("encoding")
    return codes if not e else e["scale"] * (codes.astype(np.float64) + e["offset"])


@pytest.fixture
def net(tmp_path):
    """What passes like to take away: Pad, Batchnorm, Relu, x * sigmoid(x), Reshape, Concat."""
    rng = np.random.default_rng(0)
    f = lambda *s: rng.standard_normal(s).astype(np.float32)
    nodes = [
        h.make_node("Pad", ["x", "pads"], ["padded"]),
        h.make_node("Conv", ["padded", "w", "b"], ["conv"]),
        h.make_node("BatchNormalization", ["conv", "g", "beta", "mu", "var"], ["norm"]),
        h.make_node("Relu", ["norm"], ["relu"]),
        h.make_node("Sigmoid", ["relu"], ["sig"]),
        h.make_node("Mul", ["relu", "sig"], ["swish"]),
        h.make_node("Add", ["swish", "swish"], ["twice"]),
        h.make_node("Reshape", ["twice", "flat"], ["line"]),
        h.make_node("Abs", ["line"], ["abs"]),
        h.make_node("Concat", ["line", "abs"], ["y"], axis=0),
    ]
    return model(tmp_path / "net.onnx", nodes, {"x": (T.FLOAT, [1, 4, 6, 5])},
                 {"y": (T.FLOAT, [2, 240])},
                 {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "w": f(8, 4, 3, 3), "b": f(8),
                  "g": f(8), "beta": f(8), "mu": f(8), "var": np.abs(f(8)) + 1,
                  "flat": np.array([1, 240])})


def all_values(path, x):
    """{name: value} of every tensor of a model, by the reference evaluator."""
    m = onnx.load(path)
    names = [o for n in m.graph.node for o in n.output]
    del m.graph.output[:]
    m.graph.output.extend(h.make_empty_tensor_value_info(n) for n in names)
    return dict(zip(names, ReferenceEvaluator(m).run(None, {"x": x})))


def test_every_tensor_of_a_float_graph_is_there_and_right(net, tmp_path):
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", net, tmp_path / "x.npy", env={"QUERN_DUMP": str(tmp_path / "a" / "b")})
    found, index = load_run(tmp_path / "a" / "b" / "g" / "run-0001")
    assert index["graph"] == "g" and index["run"] == 1 and index["complete"]
    assert index["backend"] == "CPU_QTI_AISW" and index["missing"] == []
    assert np.array_equal(found["x"][1], x) and found["x"][0]["role"] == "input"
    assert found["y"][0]["role"] == "output" and found["relu"][0]["op"] == "Relu"
    want = all_values(net, x)
    assert set(want) <= set(found)
    for name, value in want.items():
        got = found[name][1]
        if value.ndim == 4 and got.shape != value.shape:  # channels last inside
            value = value.transpose(0, 2, 3, 1)
        assert np.allclose(got, value, rtol=1e-4, atol=1e-5), name
    orders = [found[n][0]["order"] for n in ("x", "padded", "conv", "norm", "relu", "swish", "y")]
    assert orders == sorted(orders)


def quantized(path):
    """QDQ: y = relu(x @ w); the sum of products is rounded once, behind the Relu."""
    q = lambda x, s, z, y: h.make_node("QuantizeLinear", [x, s, z], [y])
    d = lambda x, s, z, y: h.make_node("DequantizeLinear", [x, s, z], [y])
    w = np.random.default_rng(2).integers(-90, 90, (6, 5)).astype(np.int8)
    nodes = [q("x", "sx", "zx", "xq"), d("xq", "sx", "zx", "xd"), d("w", "sw", "zw", "wd"),
             h.make_node("MatMul", ["xd", "wd"], ["p"]), q("p", "sp", "zp", "pq"),
             d("pq", "sp", "zp", "pd"), h.make_node("Relu", ["pd"], ["r"]),
             q("r", "sr", "zr", "rq"), d("rq", "sr", "zr", "y")]
    f, u = np.float32, np.uint8
    return w, model(path, nodes, {"x": (T.FLOAT, [3, 6])}, {"y": (T.FLOAT, [3, 5])},
                    {"sx": f(0.02), "zx": u(128), "sw": f(0.01), "zw": np.int8(0), "w": w,
                     "sp": f(0.05), "zp": u(120), "sr": f(0.03), "zr": u(0)})


def test_codes_have_their_encoding_beside_them_and_folded_tensors_are_named(tmp_path):
    w, path = quantized(tmp_path / "q.onnx")
    x = np.random.default_rng(3).uniform(-2, 2, (3, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", path, tmp_path / "x.npy", "--backend", "htp", env={"QUERN_DUMP": str(tmp_path / "d")})
    found, index = load_run(tmp_path / "d" / "g" / "run-0001")
    assert found["xq"][1].dtype == np.uint8 and found["xq"][0]["type"] == "uq8"
    assert found["xq"][0]["encoding"]["offset"] == -128
    codes = np.clip(np.floor(x / np.float32(0.02) + 128.5), 0, 255)
    assert np.array_equal(found["xq"][1], codes)
    product = (codes - 128) * 0.02 @ (w * 0.01)
    want = np.clip(product, 0, 255 * 0.03)
    assert np.abs(real(*found["rq"]) - want).max() <= 0.51 * 0.03
    assert [(m["name"], m["reason"], m["into"]) for m in index["missing"]] == [
        ("pq", "folded", "rq")]


def test_half_precision_is_dumped_as_it_is_computed(net, tmp_path):
    """Out of a context binary, whose graphs nobody built in this process."""
    x = np.random.default_rng(4).standard_normal((1, 4, 6, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("compile", net, "-o", tmp_path / "net.bin", "--soc", "SM8650")
    ok("run", tmp_path / "net.bin", tmp_path / "x.npy", env={"QUERN_DUMP": str(tmp_path / "d")})
    found, index = load_run(tmp_path / "d" / "net" / "run-0001")
    assert index["backend"] == "HTP_QTI_AISW" and index["missing"] == []
    for name, want in all_values(net, x).items():
        got = found[name][1]
        if want.ndim == 4 and got.shape != want.shape:
            want = want.transpose(0, 2, 3, 1)
        assert np.array_equal(got, got.astype(np.float16).astype(np.float32)), name
        assert np.allclose(got, want, rtol=5e-3, atol=5e-3), name
    assert not np.array_equal(found["conv"][1], all_values(net, x)["conv"].transpose(0, 2, 3, 1))


@pytest.mark.parametrize("runs, want", [(None, 1), ("2", 2), ("9", 3), ("0", 1), ("many", 1)])
def test_only_so_many_executions_are_written(tmp_path, runs, want):
    path = add_relu(tmp_path / "m.onnx")
    for i in range(3):
        np.full((2, 3), i, np.float32).tofile(tmp_path / f"{i}.raw")
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{i}.raw\n" for i in range(3)))
    env = {"QUERN_DUMP": str(tmp_path / "d"), "QUERN_LOG": str(tmp_path / "log")}
    if runs:
        env["QUERN_DUMP_RUNS"] = runs
    ok("run", path, "--input-list", tmp_path / "list.txt", "--output-dir", tmp_path / "o", env=env)
    folders = sorted(p.name for p in (tmp_path / "d" / "g").iterdir())
    assert folders == [f"run-{i + 1:04}" for i in range(want)]
    for i in range(want):
        found, index = load_run(tmp_path / "d" / "g" / f"run-{i + 1:04}")
        assert index["run"] == i + 1 and (found["x"][1] == i).all()
    log = (tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""
    assert ("QUERN_DUMP_RUNS is 'many', expected a number" in log) == (runs == "many")


def test_names_that_no_file_could_have(tmp_path):
    names = ["../../etc/x:1", "été/✓", "n" * 300, "a b\"\\c\t", ".."]
    nodes = [h.make_node("Abs", ["x"], [names[0]])]
    nodes += [h.make_node("Abs", [a], [b]) for a, b in zip(names, names[1:])]
    nodes.append(h.make_node("Neg", [names[-1]], ["y"]))
    path = model(tmp_path / "m.onnx", nodes, {"x": (T.FLOAT, [3])}, {"y": (T.FLOAT, [3])})
    np.save(tmp_path / "x.npy", np.float32([1, -2, 3]))
    ok("run", path, tmp_path / "x.npy", env={"QUERN_DUMP": str(tmp_path / "d")})
    found, _ = load_run(tmp_path / "d" / "g" / "run-0001")
    assert set(names) <= set(found)
    assert all(np.array_equal(found[n][1], [1, 2, 3]) for n in names)
    for record, _ in found.values():
        assert len(record["file"]) < 128 and record["file"].isascii() and "/" not in record["file"]


def warnings(log):
    return [line for line in log.read_text().splitlines() if "WARN" in line]


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/none", "n" * 300],
                         ids=["file", "below", "proc", "long"])
def test_a_folder_that_cannot_be_costs_one_warning(tmp_path, folder):
    path = add_relu(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    (tmp_path / "file").write_text("")
    p = ok("run", path, tmp_path / "x.npy", env={
        "QUERN_DUMP": str(tmp_path / folder), "QUERN_LOG": str(tmp_path / "log")})
    assert "max 21" in p.stdout
    lines = warnings(tmp_path / "log")
    assert len(lines) == 1 and "QUERN_DUMP" in lines[0] and "name another folder" in lines[0]
    assert folder[:40] in lines[0] and "graph 'g'" in lines[0]


def test_a_full_disk_costs_one_warning(net, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    np.save(tmp_path / "x.npy", np.ones((1, 4, 6, 5), np.float32))
    env = {**os.environ, "QUERN_DUMP": str(tmp_path / "d"), "QUERN_LOG": str(tmp_path / "log")}
    p = subprocess.run([BIN, "run", net, tmp_path / "x.npy"], env=env, preexec_fn=small_files,
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert p.stdout == ok("run", net, tmp_path / "x.npy").stdout
    lines = warnings(tmp_path / "log")
    assert len(lines) == 1 and "00001_padded.npy" in lines[0] and "File too large" in lines[0]
    folder = tmp_path / "d" / "g" / "run-0001"
    left = sorted(p.name for p in folder.iterdir())
    assert left[0] == "00000_x.npy" and "00001_padded.npy" not in left


def test_nothing_is_written_unless_asked_for(tmp_path):
    path = add_relu(tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    before = set(tmp_path.iterdir())
    assert quern("run", path, tmp_path / "x.npy", cwd=tmp_path, env={"QUERN_DUMP": ""})
    assert set(tmp_path.iterdir()) == before
