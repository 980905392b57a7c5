# SPDX-License-Identifier: MIT
"""show, check, bench, info and doctor: what their reports say."""
import json
import re

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import FAILURE, REFUSED, USAGE, add_relu, model, ok, ok_json, quern, refuses


@pytest.fixture
def conv(tmp_path):
    """Conv 3x3 (2 groups), then Relu; 4 x 8 x 8 in, 6 x 8 x 8 out."""
    w = np.ones((6, 2, 3, 3), np.float32)
    return model(tmp_path / "conv.onnx",
                 [h.make_node("Conv", ["x", "w", "b"], ["c"], group=2, pads=[1] * 4, name="conv"),
                  h.make_node("Relu", ["c"], ["y"], name="relu")],
                 {"x": (T.FLOAT, ["n", 4, 8, 8])}, {"y": (T.FLOAT, ["n", 6, 8, 8])},
                 {"w": w, "b": np.zeros(6, np.float32), "unused": np.zeros(99, np.float32)})


def test_show_counts(conv):
    got = ok_json("show", conv, "--dim", "n=2", "--json")
    assert got["ops"] == {"Conv": 1, "Relu": 1} and got["nodes"] == 2
    assert got["parameters"] == 6 * 2 * 9 + 6
    assert got["weight_bytes"] == 4 * (6 * 2 * 9 + 6)
    assert got["macs"] == 2 * 6 * 8 * 8 * 2 * 9  # results times length of a filter
    # Relu runs with its input and its output alive.
    assert got["activation_bytes"] == 4 * 2 * 2 * 6 * 8 * 8
    assert got["opsets"] == {"ai.onnx": 17}
    assert got["inputs"] == [{"name": "x", "type": "float32", "shape": [2, 4, 8, 8]}]
    free = ok_json("show", conv, "--json")
    assert free["macs"] is None and free["inputs"][0]["shape"] == ["n", 4, 8, 8]


def test_show_as_text_and_drawing(conv):
    text = ok("show", conv, "--dim", "n=1").stdout
    assert "float32 [1, 4, 8, 8]" in text and "6.9 k" in text and "Conv" in text
    assert "not known" in ok("show", conv).stdout
    dot = ok("show", conv, "--dot").stdout
    assert dot.startswith('digraph "g" {') and dot.endswith("}\n")
    assert re.findall(r'^  ("?[\w:]+"?) -> ("?[\w:]+"?);$', dot, re.M) == [
        ('"in:x"', "n0"), ("n0", "n1"), ("n1", '"out:y"')]


def test_show_counts_matrix_products(tmp_path):
    net = model(tmp_path / "g.onnx",
                [h.make_node("Gemm", ["x", "w"], ["a"], transB=1),
                 h.make_node("MatMul", ["a", "v"], ["y"])],
                {"x": (T.FLOAT, [5, 7])}, {"a": (T.FLOAT, [5, 11]), "y": (T.FLOAT, [5, 2])},
                {"w": np.ones((11, 7), np.float32), "v": np.ones((11, 2), np.float32)})
    assert ok_json("show", net, "--json")["macs"] == 5 * 11 * 7 + 5 * 2 * 11


def test_check_says_one_line_a_node(tmp_path, conv):
    p = ok("check", conv, "--dim", "n=1")
    assert [line.split()[:3] for line in p.stdout.splitlines()] == [
        ["ok", "Conv", "conv"], ["ok", "Relu", "relu"], ["2", "of", "2"]]
    net = model(tmp_path / "u.onnx",
                [h.make_node("Relu", ["x"], ["a"], name="n0"),
                 h.make_node("NoSuchOp", ["a"], ["b"], name="n1"),
                 h.make_node("Relu", ["x"], ["y"], name="n2")],
                {"x": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})
    p = quern("check", net)
    assert p.returncode == REFUSED
    rows = p.stdout.splitlines()
    assert [r.split()[0] for r in rows] == ["ok", "no", "ok", "2"]
    assert "NoSuchOp" in rows[1] and "not supported" in rows[1]
    assert "2 of 3 nodes" in rows[3] and "1 partition;" in rows[3]  # no path goes through n1
    assert len(quern("check", net, "--rejected").stdout.splitlines()) == 2
    p = quern("check", net, "--json")
    got = json.loads(p.stdout)
    assert p.returncode == REFUSED and (got["accepted"], got["refused"], got["partitions"]) == (
        2, 1, 1)
    assert [n["accepted"] for n in got["nodes"]] == [True, False, True]
    assert got["nodes"][1]["reason"]


def test_check_tells_refused_nodes_from_those_behind_them(tmp_path):
    net = model(tmp_path / "u.onnx",
                [h.make_node("NoSuchOp", ["x"], ["a"], name="n0"),
                 h.make_node("Relu", ["a"], ["b"], name="n1"),
                 h.make_node("Relu", ["b"], ["y"], name="n2")],
                {"x": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})
    p = quern("check", net)
    assert [r.split()[0] for r in p.stdout.splitlines()] == ["no", "--", "--", "0"]
    got = json.loads(quern("check", net, "--json").stdout)
    assert (got["accepted"], got["refused"], got["not_tried"]) == (0, 1, 2)


def test_bench_reports_the_agreed_names(conv):
    got = ok_json("bench", conv, "--dim", "n=1", "--backend", "cpu", "--threads", "1", "--seconds",
                  "0.1", "--json", "--nodes", "2")
    assert 0 < got["min_ms"] <= got["median_ms"] <= got["p95_ms"]
    assert got["min_ms"] <= got["mean_ms"] and got["runs"] >= 3
    assert got["throughput"] == pytest.approx(1e3 / got["mean_ms"])
    assert got["finalize_ms"] > 0 and got["peak_rss_mb"] > 1
    assert any(op["type"].endswith("Conv2d") for op in got["ops"])
    assert sum(op["count"] for op in got["ops"]) >= 1 and len(got["nodes"]) <= 2
    if any(op["us"] for op in got["ops"]):  # nodes below half a microsecond count as 0
        assert sum(op["share"] for op in got["ops"]) == pytest.approx(1, abs=1e-6)
    assert ok_json("bench", conv, "--dim", "n=1", "--runs", "7", "--json")["runs"] == 7
    got = ok_json("bench", conv, "--dim", "n=1", "--streams", "3", "--seconds", "0.1", "--json")
    assert got["streams"] == 3 and got["throughput"] > 0
    text = ok("bench", conv, "--dim", "n=1", "--runs", "3", "--no-profile").stdout
    assert "median" in text and "throughput" in text and "share" not in text


def test_info_and_doctor():
    got = ok_json("info", "--json")
    cpu = got["libraries"][0]
    assert cpu["backend"] == "cpu" and cpu["found"] and cpu["quern"] and cpu["ops"] > 100
    assert got["machine"]["cpus"] >= 1
    assert "libQnnCpu.so" in ok("info").stdout
    got = ok_json("doctor", "--json")
    assert got["problems"] == 0
    assert {"check": "self-test", "grade": "ok", "text": "a small graph computes the right values",
            "fix": ""} in got["checks"]
    assert [c["grade"] for c in got["checks"] if c["check"] == "context binaries"] == ["ok"]


@pytest.mark.parametrize("env,text", [
    ({"QUERN_ISA": "mmx"}, "QUERN_ISA"), ({"QUERN_THREADS": "many"}, "QUERN_THREADS"),
    ({"QUERN_API_VERSION": "9.9"}, "gives no interface")])
def test_doctor_finds_problems_and_says_the_fix(env, text):
    p = quern("doctor", env=env)
    assert p.returncode == FAILURE
    assert text in p.stdout and "->" in p.stdout and "problem" in p.stdout
