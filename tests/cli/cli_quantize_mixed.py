# SPDX-License-Identifier: MIT
"""quern quantize --mixed: the front is one, the chosen model keeps what was asked for, and ONNX
Runtime computes what the command says that it computes."""
import json
import stat
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper as nh

from harness import FAILURE, REFUSED, USAGE, ok, refuses

ort = pytest.importorskip("onnxruntime")
LAYERS, WIDTH, SIZE = 8, 16, 40


def net(path):
    """Convolutions, of which the third has one channel that is 40 times larger than the others
    and that the fourth scales back: in 8 bits nothing is left of the others there."""
    rng = np.random.default_rng(5)
    weights = [rng.normal(0, (2 / 9 / WIDTH) ** 0.5, (WIDTH, WIDTH, 3, 3)).astype(np.float32)
               for _ in range(LAYERS)]
    weights[2][3] *= 40
    weights[3][:, 3] /= 40
    nodes, last = [], "x"
    for i in range(LAYERS):
        nodes += [h.make_node("Conv", [last, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4),
                  h.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}")]
        last = f"r{i}"
    shape = [1, WIDTH, SIZE, SIZE]
    g = h.make_graph(nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info(last, T.FLOAT, shape)],
                     [nh.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return rng.normal(size=(6, *shape)).astype(np.float32)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    data = net(folder / "net.onnx")
    np.savez(folder / "data.npz", x=data)
    ok(*command(folder), "-o", folder / "first.onnx", "--front", folder / "front.json")
    return folder, data, json.loads((folder / "front.json").read_text())


def command(folder, *flags):
    return ("quantize", folder / "net.onnx", "-c", folder / "data.npz", "--mixed", "--repair",
            "none", "--schemes", "a8w8,a16w8", *flags)


def sqnr(a, b, data):
    def run(path):
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return np.concatenate([session.run(None, {"x": x})[0].ravel() for x in data])
    got, want = run(a).astype(float), run(b).astype(float)
    return 10 * np.log10((want ** 2).sum() / ((got - want) ** 2).sum())


def front_of(points):
    return [p for p in points if not any(
        q["ms"] <= p["ms"] and q["sqnr_db"] >= p["sqnr_db"] and q["choice"] != p["choice"] and
        (q["ms"] < p["ms"] or q["sqnr_db"] > p["sqnr_db"]) for q in points)]


def test_the_front_is_the_front(task):
    points = task[2]["points"]
    assert [p for p in points if p["front"]] == front_of(points)
    assert task[2]["schemes"] == ["a8w8", "a16w8"] and task[2]["finest"] == "a16w8"
    whole = {tuple(set(p["choice"])): p for p in points if len(set(p["choice"])) == 1}
    assert whole[(0,)]["ms"] < whole[(1,)]["ms"]
    assert whole[(0,)]["sqnr_db"] + 6 < whole[(1,)]["sqnr_db"]


def test_the_layer_that_breaks_in_8_bits_is_found(task):
    loss = {layer["tensor"]: layer["noise"][0] for layer in task[2]["layers"]}
    # A layer has one width: in 8 bits the fourth one reads the third one's result in 8 bits.
    assert set(sorted(loss, key=loss.get)[-2:]) == {"r2", "r3"}
    names = [layer["tensor"] for layer in task[2]["layers"]]
    best = max(p["sqnr_db"] for p in task[2]["points"])
    good = [p for p in task[2]["points"] if len(set(p["choice"])) == 2 and
            p["sqnr_db"] > best - 3]
    assert good and all(p["choice"][names.index(n)] == 1 for p in good for n in ("r2", "r3"))


def test_the_layers_that_break_alone_are_enough(task):
    names = [layer["tensor"] for layer in task[2]["layers"]]
    alone = [p for p in task[2]["points"]
             if {n for n, option in zip(names, p["choice"]) if option} == {"r2", "r3"}]
    assert len(alone) == 1 and alone[0]["front"]
    fastest = min(task[2]["points"], key=lambda p: p["ms"])
    assert alone[0]["sqnr_db"] > fastest["sqnr_db"] + 6


def test_the_fastest_that_is_good_enough_is_written(task):
    folder, data, front = task
    best = max(p["sqnr_db"] for p in front["points"])
    out = folder / "enough.onnx"
    ok(*command(folder), "-o", out, "--min-sqnr", f"{best - 6:.2f}", "--front", folder / "b.json")
    points = json.loads((folder / "b.json").read_text())["points"]
    (chosen,) = [p for p in points if p["chosen"]]
    enough = [p for p in front_of(points) if p["sqnr_db"] >= best - 6]
    assert chosen == min(enough, key=lambda p: p["ms"])
    assert abs(sqnr(out, folder / "net.onnx", data[:4]) - chosen["sqnr_db"]) < 1.5


def test_the_best_within_a_budget_is_written(task):
    folder, _, front = task
    points = sorted(front_of(front["points"]), key=lambda p: p["ms"])
    assert len(points) > 2
    budget = (points[1]["ms"] + points[2]["ms"]) / 2
    ok(*command(folder), "-o", folder / "budget.onnx", "--budget-ms", f"{budget:.9f}", "--front",
       folder / "c.json")
    points = json.loads((folder / "c.json").read_text())["points"]
    (chosen,) = [p for p in points if p["chosen"]]
    within = [p for p in points if p["ms"] <= budget]
    assert chosen["sqnr_db"] == max(p["sqnr_db"] for p in within)


def test_what_cannot_be_had_is_an_error_with_the_nearest(task):
    folder, *_ = task
    out = folder / "never.onnx"
    refuses(REFUSED, *command(folder), "-o", out, "--budget-ms", "0.000001",
            says="the fastest takes")
    refuses(REFUSED, *command(folder), "-o", out, "--min-sqnr", "400", says="the best has")
    assert not out.exists()


def test_a_command_scores_the_models(task, tmp_path):
    folder, *_ = task
    script = tmp_path / "score's"
    script.write_text(f"#!{sys.executable}\nimport sys, onnx\nm = onnx.load(sys.argv[1])\n"
                      "print('scoring')\nprint(sum(t.data_type == 4 for t in "
                      "m.graph.initializer))\n")  # 16-bit zero points
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    quoted = f"\"{script}\" {{model}}"
    ok(*command(folder), "-o", tmp_path / "it's.onnx", "--score-command", quoted, "--min-score",
       "1", "--front", tmp_path / "f.json")
    points = [p for p in json.loads((tmp_path / "f.json").read_text())["points"]
              if p["score"] is not None]
    (chosen,) = [p for p in points if p["chosen"]]
    assert chosen["score"] >= 1 and {p["score"] == 0 for p in points} == {True, False}
    assert not list(tmp_path.glob("*.trial.onnx"))
    for bad, says in (("false", "failed"), ("echo none", "no line that is just a number")):
        refuses(FAILURE, *command(folder), "-o", tmp_path / "bad.onnx", "--score-command", bad,
                says=says)
    assert not (tmp_path / "bad.onnx").exists()


def test_the_page_holds_names_as_text_only(task, tmp_path):
    folder, data, _ = task
    m = onnx.load(folder / "net.onnx")
    evil = "</script><b>r2"
    for n in m.graph.node:
        n.input[:] = [evil if i == "r2" else i for i in n.input]
        n.output[:] = [evil if o == "r2" else o for o in n.output]
    onnx.save(m, tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=data)
    ok(*command(tmp_path), "-o", tmp_path / "q.onnx", "--front", tmp_path / "f.html")
    text = (tmp_path / "f.html").read_text()
    assert "r2" in text and evil not in text


@pytest.mark.parametrize("flags, says", [
    (("--schemes", "a8w8,a9w8"), "'a9w8' is not one of"),
    (("--schemes", "a8w8"), "at least two"),
    (("--schemes", "a8w8,a8w8"), "twice"),
    (("--min-score", "1"), "needs --score-command"),
    (("--budget-ms", "-1"), "above 0"),
    (("--min-sqnr", "3", "--min-score", "1", "--score-command", "true"), "exclude each other"),
])
def test_options_that_contradict_each_other_are_refused(task, flags, says):
    folder, *_ = task
    args = ("quantize", folder / "net.onnx", "-c", folder / "data.npz", "--mixed", "-o",
            folder / "no.onnx")
    refuses(USAGE, *args, *flags, says=says)


def test_options_of_the_search_need_it(task):
    folder, *_ = task
    args = ("quantize", folder / "net.onnx", "-o", folder / "no.onnx")
    refuses(USAGE, *args, "-c", folder / "data.npz", "--budget-ms", "1", says="with --mixed")
    refuses(USAGE, *args, "--mixed", "-s", "w8", says="needs samples")


def test_16_bits_in_a_search_are_as_good_as_the_scheme(tmp_path):
    """The operand of a Log stays float by a16w8, and so it does for groups of 16 bits."""
    rng = np.random.default_rng(3)
    shape = [1, 16, 32]
    nodes = [h.make_node("Mul", ["x", "x"], ["q"]), h.make_node("Add", ["q", "e"], ["s"]),
             h.make_node("Log", ["s"], ["l"]), h.make_node("MatMul", ["l", "w"], ["y"])]
    g = h.make_graph(nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, shape)],
                     [nh.from_array(np.float32(1e-10), "e"),
                      nh.from_array(rng.normal(size=(32, 32)).astype(np.float32), "w")])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8),
              tmp_path / "net.onnx")
    data = rng.normal(size=(4, *shape)).astype(np.float32)
    data[np.abs(data) < 0.02] = 0
    np.savez(tmp_path / "data.npz", x=data)
    ok("quantize", tmp_path / "net.onnx", "-c", tmp_path / "data.npz", "--mixed", "--schemes",
       "a8w8,a16w8", "--min-sqnr", "40", "-o", tmp_path / "q.onnx")
    assert sqnr(tmp_path / "q.onnx", tmp_path / "net.onnx", data) > 40


def integers(path):
    return {i.name: (i.data_type, nh.to_array(i).tobytes())
            for i in onnx.load(path).graph.initializer if i.data_type in (T.INT8, T.INT4)}


def test_weights_are_rounded_as_by_a_scheme_of_their_width(tmp_path):
    np.savez(tmp_path / "data.npz", x=net(tmp_path / "net.onnx"))
    flags = ("--repair", "adaround", "--no-check", "--quiet")
    plain = {}
    for scheme in ("a16w8", "a16w4"):
        ok("quantize", tmp_path / "net.onnx", "-c", tmp_path / "data.npz", "-s", scheme, *flags,
           "-o", tmp_path / f"{scheme}.onnx")
        for name, (kind, data) in integers(tmp_path / f"{scheme}.onnx").items():
            plain[name, kind] = data
    ok("quantize", tmp_path / "net.onnx", "-c", tmp_path / "data.npz", "--mixed", "--schemes",
       "a8w4,a16w8", "--budget-ms", "0.2", *flags, "-o", tmp_path / "mixed.onnx")
    mixed = integers(tmp_path / "mixed.onnx")
    assert len(mixed) == LAYERS and {kind for kind, _ in mixed.values()} == {T.INT8, T.INT4}
    for name, (kind, data) in mixed.items():
        assert data == plain[name, kind], name


def test_trials_that_the_backend_refuses_say_nothing(tmp_path):
    """The head of a detector: its Softmax runs on the last axis, after a first try is refused."""
    rng = np.random.default_rng(7)
    shape, result = [1, 64, 20], [1, 1, 4, 20]
    nodes = [h.make_node("Reshape", ["x", "s"], ["r"]),
             h.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3]),
             h.make_node("Softmax", ["t"], ["p"], axis=1), h.make_node("Conv", ["p", "w"], ["y"])]
    g = h.make_graph(nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, result)],
                     [nh.from_array(np.array([1, 4, 16, 20]), "s"),
                      nh.from_array(rng.normal(size=(1, 16, 1, 1)).astype(np.float32), "w")])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8),
              tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(4, *shape)).astype(np.float32))
    p = ok("quantize", tmp_path / "net.onnx", "-c", tmp_path / "data.npz", "--mixed", "--schemes",
           "a8w8,a16w8", "-o", tmp_path / "q.onnx")
    assert "[error]" not in p.stderr, p.stderr


def test_an_output_of_boxes_and_scores_keeps_its_scores(tmp_path):
    """8 bits of a range of 600 hold no score up to 1, which the output's SQNR does not show: the
    results of the last layers are tried in 16 bits, and the command is asked for their score."""
    rng = np.random.default_rng(8)
    shape = [1, WIDTH, SIZE, SIZE]
    weights = {f"w{i}": rng.normal(0, (2 / 9 / WIDTH) ** 0.5, (WIDTH, WIDTH, 3, 3))
               for i in range(LAYERS)}
    weights["wb"] = rng.normal(0, 40, (4, WIDTH, 1, 1))
    weights["ws"] = rng.normal(0, 0.5, (1, WIDTH, 1, 1))
    nodes, last = [], "x"
    for i in range(LAYERS):
        nodes += [h.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1] * 4),
                  h.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        last = f"r{i}"
    nodes += [h.make_node("Conv", [last, "wb"], ["boxes"]),
              h.make_node("Conv", [last, "ws"], ["s"]), h.make_node("Sigmoid", ["s"], ["scores"]),
              h.make_node("Concat", ["boxes", "scores"], ["y"], axis=1)]
    g = h.make_graph(nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                     [h.make_tensor_value_info("y", T.FLOAT, [1, 5, SIZE, SIZE])],
                     [nh.from_array(w.astype(np.float32), k) for k, w in weights.items()])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8),
              tmp_path / "net.onnx")
    np.save(tmp_path / "data.npy", rng.normal(size=(3, *shape)).astype(np.float32))
    (tmp_path / "score.py").write_text(
        "import sys, numpy as np, onnxruntime as ort\n"
        "x = np.load(sys.argv[1])[2]\n"
        "f, q = (ort.InferenceSession(m, providers=['CPUExecutionProvider'])"
        ".run(None, {'x': x})[0][:, 4] for m in sys.argv[2:])\n"
        "print(-np.abs(f - q).mean())\n")
    score = " ".join(map(str, (sys.executable, tmp_path / "score.py", tmp_path / "data.npy",
                               tmp_path / "net.onnx", "{model}")))
    ok("quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "-c", tmp_path / "data.npy",
       "--mixed", "--schemes", "a8w8,a16w8", "--search-samples", 1, "--score-command", score,
       "--min-score", "-0.05", "--front", tmp_path / "f.json")
    front = json.loads((tmp_path / "f.json").read_text())
    (chosen,) = [p for p in front["points"] if p["chosen"]]
    bits = dict(zip((layer["tensor"] for layer in front["layers"]), chosen["choice"]))
    assert bits["y"] == 1 and not any(bits[f"r{i}"] for i in range(LAYERS))
    worst = next(p for p in front["points"] if not any(p["choice"]))
    assert worst["score"] < -0.2 and abs(worst["sqnr_db"] - chosen["sqnr_db"]) < 3
