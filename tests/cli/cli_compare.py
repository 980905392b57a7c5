# SPDX-License-Identifier: MIT
"""quern compare on folders made here with numpy: which tensors are paired, what the numbers are,
and what damaged folders get."""
import json

import numpy as np
import pytest

from harness import FAILURE, INPUT, OK, USAGE, ok, ok_json, quern, refuses


def tensor(name, a, op="Relu", role="intermediate", **more):
    return {"name": name, "array": a, "op": op, "role": role, "node": more.pop("node", name + "_n"),
            **more}


def dump(folder, tensors, graph="g", run=1, missing=(), backend="CPU_QTI_AISW", complete=True):
    at = folder / graph / f"run-{run:04}"
    at.mkdir(parents=True)
    rows = []
    for i, t in enumerate(tensors):
        row = {"order": i, "file": f"{i:05}_t.npy", "type": "f32", "declared": "f32", **t}
        a = row.pop("array")
        np.save(at / row["file"], a)
        rows.append({"shape": list(a.shape), **row})
    (at / "index.json").write_text(json.dumps({
        "quern_dump": 1, "graph": graph, "run": run, "backend": backend, "sets": 1,
        "tensors": rows, "missing": list(missing), "complete": complete}))
    return folder


def sqnr(got, want):
    e = np.square(np.float64(got) - want).sum()
    return 10 * np.log10(np.square(np.float64(want)).sum() / e)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_are_those_of_numpy(tmp_path, rng):
    want = rng.standard_normal((3, 4, 5)).astype(np.float32)
    got = (want + 0.01 * rng.standard_normal(want.shape)).astype(np.float32)
    got[0, 0] = want[0, 0]
    a, b = dump(tmp_path / "a", [tensor("t", want)]), dump(tmp_path / "b", [tensor("t", got)])
    (graph,) = ok_json("compare", a, b, "--json")["graphs"]
    (row,) = graph["layers"]
    assert row["paired"] == "name" and row["count"] == 60 and row["op"] == "Relu"
    assert row["sqnr_db"] == pytest.approx(sqnr(got, want), abs=1e-6)
    assert row["max_error"] == pytest.approx(np.abs(np.float64(got) - want).max())
    cosine = np.dot(np.float64(got).ravel(), np.float64(want).ravel()) / (
        np.linalg.norm(np.float64(got)) * np.linalg.norm(np.float64(want)))
    assert row["cosine"] == pytest.approx(cosine, abs=1e-8)
    assert row["differing"] == (got != want).sum() == 55
    assert row["steps"] is None and not row["equal"]


@pytest.mark.parametrize("kind", ["tensor", "axis", "block", "shifted"])
def test_codes_are_decoded(tmp_path, rng, kind):
    codes = rng.integers(0, 256, (4, 6)).astype(np.uint8)
    scales, offsets = rng.uniform(0.1, 1, 6), rng.integers(-9, 9, 6)
    if kind == "tensor":
        e = {"kind": "tensor", "scale": 0.25, "offset": -128, "bits": 8}
        real = 0.25 * (codes.astype(np.float64) - 128)
    elif kind == "shifted":
        e = {"kind": "tensor", "scale": 0.25, "offset": 0, "shift": 0.5}
        real = 0.25 * (codes + 0.5)
    elif kind == "axis":
        e = {"kind": "axis", "axis": 1, "scales": list(scales), "offsets": offsets.tolist()}
        real = scales * (codes + np.float64(offsets))
    else:  # 2 x 3 blocks of 2 x 2
        add = rng.uniform(-1, 1, 6)
        e = {"kind": "block", "block": [2, 2], "scales": list(scales),
             "offsets": offsets.tolist(), "real_offsets": list(add)}
        spread = lambda v: np.repeat(np.repeat(np.reshape(v, (2, 3)), 2, 0), 2, 1)
        real = spread(scales) * (codes + np.float64(spread(offsets))) + spread(add)
    a = dump(tmp_path / "a", [tensor("t", real)])
    b = dump(tmp_path / "b", [tensor("t", codes, type="uq8", encoding=e)])
    (row,) = ok_json("compare", a, b, "--json")["graphs"][0]["layers"]
    assert row["max_error"] < 1e-12
    moved = dump(tmp_path / "c", [tensor("t", real + 0.5)])
    (row,) = ok_json("compare", moved, b, "--json")["graphs"][0]["layers"]
    assert row["max_error"] == pytest.approx(0.5)
    one_step = kind in ("tensor", "shifted")
    assert row["steps"] == (pytest.approx(2) if one_step else None)


def layers(rng, n, noise):
    values = [rng.standard_normal((2, 8)).astype(np.float32) for _ in range(n)]
    noisy = [v + s * rng.standard_normal(v.shape).astype(np.float32)
             for v, s in zip(values, noise)]
    return values, noisy


def test_layers_are_ranked_and_the_first_bad_one_is_named(tmp_path, rng):
    values, noisy = layers(rng, 5, [0, 0.001, 0.5, 0.01, 0.9])
    a = dump(tmp_path / "a", [tensor(f"t{i}", v) for i, v in enumerate(values)])
    b = dump(tmp_path / "b", [tensor(f"t{i}", v, op=f"Op{i}") for i, v in enumerate(noisy)])
    (graph,) = ok_json("compare", a, b, "--json")["graphs"]
    assert [r["name"] for r in graph["layers"]] == ["t4", "t2", "t3", "t1", "t0"]
    assert graph["layers"][-1]["equal"] and graph["layers"][-1]["sqnr_db"] is None
    assert graph["first_below"]["name"] == "t2" and graph["first_below"]["op"] == "Op2"
    (graph,) = ok_json("compare", a, b, "--json", "--sort", "order")["graphs"]
    assert [r["name"] for r in graph["layers"]] == ["t0", "t1", "t2", "t3", "t4"]
    text = ok("compare", a, b, "--top", 2).stdout.splitlines()
    assert [line.split()[0] for line in text[2:4]] == ["t4", "t2"]
    assert text[4] == "... and 3 more (--all)"
    assert text[5].startswith("first below 20 dB in the order of execution: t2 (node t2_n, Op2): ")
    assert len(ok("compare", a, b, "--all").stdout.splitlines()) == 8
    assert quern("compare", a, b, "--fail").returncode == FAILURE
    assert ok("compare", a, b, "--limit", -20, "--fail").stdout.count("no layer is below") == 1


def test_values_that_are_not_finite_come_first(tmp_path):
    a = dump(tmp_path / "a", [tensor("t", np.float32([1, np.nan, np.inf])),
                              tensor("u", np.float32([1, 2, 3]))])
    b = dump(tmp_path / "b", [tensor("t", np.float32([1, np.nan, np.inf])),
                              tensor("u", np.float32([1, np.nan, 3]))])
    (graph,) = ok_json("compare", a, b, "--json")["graphs"]
    assert [(r["name"], r["equal"], r["not_finite"]) for r in graph["layers"]] == [
        ("u", False, 1), ("t", True, 0)]
    assert graph["first_below"]["name"] == "u"


def test_names_meet_those_that_quantizers_append_to(tmp_path, rng):
    v = rng.standard_normal((4,)).astype(np.float32)
    w = rng.standard_normal((7,)).astype(np.float32)
    a = dump(tmp_path / "a", [tensor("conv", v), tensor("other", w)])
    b = dump(tmp_path / "b", [tensor("conv_QuantizeLinear_Output", v),
                              tensor("other", w[:6])], missing=[
        {"name": "p", "node": "n", "op": "Conv2d", "reason": "folded", "into": "conv"}])
    (graph,) = ok_json("compare", a, b, "--json", "--names-only")["graphs"]
    assert [(r["name"], r["reference"]) for r in graph["layers"]] == [
        ("conv_QuantizeLinear_Output", "conv")]
    assert graph["only_first"] == ["other"] and graph["only_second"] == ["other"]  # other shapes
    assert graph["missing_second"] == [{"name": "p", "reason": "folded", "into": "conv"}]
    text = ok("compare", a, b).stdout
    assert "only in the first: other\n" in text
    assert "not in the second: p (folded into conv)" in text


def test_the_same_name_comes_before_a_like_one(tmp_path, rng):
    y = rng.standard_normal((4,)).astype(np.float32)
    a = dump(tmp_path / "a", [tensor("y", y)])
    b = dump(tmp_path / "b", [tensor("y_QuantizeLinear_Output", y), tensor("y", y)])
    (graph,) = ok_json("compare", a, b, "--json")["graphs"]
    assert [(r["name"], r["reference"]) for r in graph["layers"]] == [("y", "y")]
    assert graph["only_second"] == ["y_QuantizeLinear_Output"]


def test_names_that_a_client_made_up_are_not_believed(tmp_path, rng):
    """As onnxruntime does it: numbered names, and a Relu that the quantized form lacks."""
    x, c = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
    r = np.maximum(c, 0)
    d, e = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
    a = dump(tmp_path / "a", [tensor("x", x, None, "input"), tensor("_token_1", c, "Conv2d"),
                              tensor("_token_2", r, "Relu"), tensor("_token_3", d, "Conv2d"),
                              tensor("_token_4", e, "Sigmoid")], graph="f_123")
    near = lambda v: v + np.float32(0.01)
    b = dump(tmp_path / "b", [tensor("x", x, None, "input"), tensor("_token_4", near(r), "Conv2d"),
                              tensor("_token_1", near(d), "Conv2d"),
                              tensor("_token_3", near(e), "Sigmoid")], graph="q_456")
    (graph,) = ok_json("compare", a, b, "--json", "--sort", "order")["graphs"]
    assert (graph["graph"], graph["reference"]) == ("q_456", "f_123")
    assert [(q["reference"], q["name"], q["paired"]) for q in graph["layers"]] == [
        ("x", "x", "name"), ("_token_2", "_token_4", "order"), ("_token_3", "_token_1", "order"),
        ("_token_4", "_token_3", "order")]
    assert graph["only_first"] == ["_token_1"] and graph["only_second"] == []
    text = ok("compare", a, b).stdout
    assert "~ _token_2" in text and "q_456 against f_123" in text
    (graph,) = ok_json("compare", a, b, "--json", "--names-only")["graphs"]
    assert len(graph["layers"]) == 1


def test_a_layer_that_is_all_wrong_is_still_found_by_its_place(tmp_path, rng):
    values = [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(3)]
    wrong = [values[0], -values[1], values[2]]
    make = lambda vs, k: [tensor(f"_token_{i + k}", v, f"Op{i}") for i, v in enumerate(vs)]
    a, b = dump(tmp_path / "a", make(values, 0)), dump(tmp_path / "b", make(wrong, 7))
    (graph,) = ok_json("compare", a, b, "--json")["graphs"]
    assert graph["layers"][0]["name"] == "_token_8" and len(graph["layers"]) == 3
    assert graph["first_below"]["reference"] == "_token_1"


def test_executions_add_up_and_graphs_meet_by_name(tmp_path, rng):
    v = [rng.standard_normal((5,)) for _ in range(3)]
    w = [x + 0.1 * rng.standard_normal((5,)) for x in v]
    for i in range(3):
        dump(tmp_path / "a", [tensor("t", v[i])], run=i + 1)
        if i < 2:
            dump(tmp_path / "b", [tensor("t", w[i])], run=i + 1)
    dump(tmp_path / "a", [tensor("t", v[0])], graph="h")
    dump(tmp_path / "b", [tensor("t", v[0])], graph="h")
    graphs = ok_json("compare", tmp_path / "a", tmp_path / "b", "--json")["graphs"]
    assert [(g["graph"], g["executions"]) for g in graphs] == [("g", 2), ("h", 1)]
    assert graphs[0]["layers"][0]["sqnr_db"] == pytest.approx(
        sqnr(np.stack(w[:2]), np.stack(v[:2])))
    assert "the first has 3 executions, the second 2" in ok(
        "compare", tmp_path / "a", tmp_path / "b").stdout
    one = ok_json("compare", tmp_path / "a/g/run-0002", tmp_path / "b/g/run-0002", "--json")
    assert one["graphs"][0]["layers"][0]["sqnr_db"] == pytest.approx(sqnr(w[1], v[1]))
    folders = ok_json("compare", tmp_path / "a/g", tmp_path / "b/g", "--json")
    assert folders["graphs"][0]["executions"] == 2


def test_graphs_without_a_partner(tmp_path):
    t = [tensor("t", np.zeros(3, np.float32))]
    for name in ("p", "q"):
        dump(tmp_path / "a", t, graph=name)
        dump(tmp_path / "b", t, graph=name + "2")
    p = quern("compare", tmp_path / "a", tmp_path / "b")
    assert p.returncode == INPUT and "graph 'p' is only in" in p.stderr
    assert "name the folders of two graphs" in p.stderr
    assert ok("compare", tmp_path / "a/p", tmp_path / "b/q2").stdout.count("equal") == 1


def test_inputs_that_differ_are_pointed_out(tmp_path, rng):
    a = dump(tmp_path / "a", [tensor("x", rng.standard_normal(9), None, "input")])
    b = dump(tmp_path / "b", [tensor("x", rng.standard_normal(9), None, "input")])
    assert "input 'x' differs: were the two executions given the same data?" in ok(
        "compare", a, b).stderr


def test_an_execution_that_failed_and_long_lists(tmp_path):
    t = [tensor(f"t{i}", np.zeros(i + 1, np.float32)) for i in range(12)]
    missing = [{"name": f"m{i}", "reason": "not computed"} for i in range(10)]
    a = dump(tmp_path / "a", t[:1])
    b = dump(tmp_path / "b", t, missing=missing, complete=False)
    p = ok("compare", a, b)
    assert f"{b}/g/run-0001: incomplete dump: the execution failed" in p.stderr
    assert "only in the second: t1, t2, t3, t4, t5, t6, t7, t8 and 3 more (--all)\n" in p.stdout
    assert "m7 (not computed) and 2 more (--all)\n" in p.stdout
    assert "t11\n" in ok("compare", a, b, "--all").stdout
    assert "warning" not in ok("compare", a, a).stderr


def test_executions_without_a_common_tensor_are_no_success(tmp_path):
    a = dump(tmp_path / "a", [tensor("t", np.zeros((2, 3), np.float32))])
    b = dump(tmp_path / "b", [tensor("u", np.zeros(5, np.float32))])
    for flags in ((), ("--json",), ("--fail",)):
        refuses(INPUT, "compare", a, b, *flags, says=f"{a} and {b} have no tensor in common")


def test_what_cannot_be_compared(tmp_path):
    good = dump(tmp_path / "good", [tensor("t", np.zeros((2, 3), np.float32))])
    refuses(INPUT, "compare", good, tmp_path / "none", says=["none", "No such file"])
    (tmp_path / "empty").mkdir()
    refuses(INPUT, "compare", tmp_path / "empty", good, says="QUERN_DUMP=")
    assert quern("compare", good).returncode == USAGE
    index = (good / "g" / "run-0001" / "index.json").read_text()

    def damaged(name, text, says, npy=None):
        at = tmp_path / name / "g" / "run-0001"
        at.mkdir(parents=True)
        (at / "index.json").write_text(text)
        np.save(at / "00000_t.npy", np.zeros((2, 3) if npy is None else npy, np.float32))
        refuses(INPUT, "compare", good, tmp_path / name, says=[name, says])
    damaged("cut", index[:40], "line 1")
    damaged("list", "[]", "'quern_dump' is not 1")
    damaged("version", index.replace('"quern_dump": 1', '"quern_dump": 2'), "quern_dump")
    damaged("outside", index.replace("00000_t.npy", "../../../good/g/run-0001/00000_t.npy"),
            "outside the folder")
    damaged("rank", index.replace("[2, 3]", str([1] * 99)), "'shape'")
    damaged("negative", index.replace("[2, 3]", "[-2, 3]"), "dimension")
    damaged("shape", index, "not that of index.json", npy=(3, 2))
    damaged("lost", index.replace("00000_t.npy", "1.npy"), "No such file")
    for i, e in enumerate(['{"kind": "tensor"}', '{"kind": "axis", "axis": 5, "scales": [1]}',
                           '{"kind": "axis", "axis": 0, "scales": [1]}', '{"kind": "?"}',
                           '{"kind": "block", "block": [2, 2], "scales": [1]}',
                           '{"kind": "block", "block": [0, 0], "scales": []}']):
        damaged(f"encoding{i}", index.replace('"shape"', f'"encoding": {e}, "shape"'),
                "encoding does not fit")
    damaged("text", index.replace('"shape"', '"encoding": "x", "shape"'), "not an object")
    assert quern("compare", good, good, "--fail").returncode == OK
