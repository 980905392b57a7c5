# SPDX-License-Identifier: MIT
"""Context binaries on the command line: compile, run, bench, show; and what is wrong with them."""
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h
from onnx.reference import ReferenceEvaluator

from harness import (FAILURE, INPUT, OK, REFUSED, USAGE, add_relu, model, ok, ok_json, quern,
                     refuses)

X = np.array([[1, 2, 3], [4, -50, 60]], np.float32)
Y = np.array([[11, 22, 0], [14, 0, 30]], np.float32)  # relu(X + [10, 20, -30])


def compile_(net, out, *args):
    ok("compile", net, "-o", out, "--soc", "SM8650", *args)
    return out


def qdq_wide(path, rows):
    """y = x @ w in 8 bits, with 64 KiB of weights, the same for all rows."""
    nodes = [h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
             h.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xf"]),
             h.make_node("DequantizeLinear", ["wq", "sw", "zw"], ["wf"]),
             h.make_node("MatMul", ["xf", "wf"], ["yf"]),
             h.make_node("QuantizeLinear", ["yf", "sy", "zx"], ["yq"]),
             h.make_node("DequantizeLinear", ["yq", "sy", "zx"], ["y"])]
    w = np.random.default_rng(6).integers(-127, 128, (256, 256)).astype(np.int8)
    return model(path, nodes, {"x": (T.FLOAT, [rows, 256])}, {"y": (T.FLOAT, [rows, 256])},
                 {"sx": np.float32(1 / 64), "zx": np.uint8(128), "sw": np.float32(1 / 128),
                  "zw": np.int8(0), "sy": np.float32(1 / 4), "wq": w}, opset=19)


@pytest.fixture
def net(tmp_path):
    return add_relu(tmp_path / "net.onnx")


@pytest.fixture
def binary(tmp_path, net):
    return compile_(net, tmp_path / "net.bin")


def conv_net(path, seed=0):
    """A convolution in ONNX's layout, padded, then a Relu."""
    rng = np.random.default_rng(seed)
    return model(path, [h.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
                        h.make_node("Relu", ["c"], ["y"])],
                 {"x": (T.FLOAT, [1, 3, 6, 5])}, {"y": (T.FLOAT, [1, 4, 6, 5])},
                 {"w": (rng.standard_normal((4, 3, 3, 3)) / 4).astype(np.float32),
                  "b": rng.standard_normal(4).astype(np.float32)})


def qdq_net(path, borders=False):
    """y = x @ w, all 8 bits. borders: inputs and outputs are the codes themselves."""
    rng = np.random.default_rng(1)
    nodes = [h.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xf"]),
             h.make_node("DequantizeLinear", ["wq", "sw", "zw"], ["wf"]),
             h.make_node("MatMul", ["xf", "wf"], ["yf"]),
             h.make_node("QuantizeLinear", ["yf", "sy", "zy"], ["yq"])]
    name_in, name_out, kind = ("xq", "yq", T.UINT8) if borders else ("x", "y", T.FLOAT)
    if not borders:
        nodes.insert(0, h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]))
        nodes.append(h.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["y"]))
    return model(path, nodes, {name_in: (kind, [2, 8])}, {name_out: (kind, [2, 4])},
                 {"sx": np.float32(0.05), "zx": np.uint8(128), "sw": np.float32(0.01),
                  "zw": np.int8(0), "sy": np.float32(0.1), "zy": np.uint8(100),
                  "wq": rng.integers(-127, 128, (8, 4)).astype(np.int8)}, opset=19)


def evaluate(path, **feeds):
    return ReferenceEvaluator(onnx.load(path)).run(None, feeds)[0]


# --- compiling and running

def test_a_float_model_runs_in_half_precision(tmp_path, binary):
    np.save(tmp_path / "x.npy", X)
    ok("run", binary, tmp_path / "x.npy", "-o", tmp_path)
    got = np.load(tmp_path / "output_0.npy")
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, Y)  # small integers are exact in half precision
    np.save(tmp_path / "x.npy", X + np.float32(2**-13))
    ok("run", binary, tmp_path / "x.npy", "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)  # and nothing else is


def test_names_and_layouts_are_the_models(tmp_path):
    net = conv_net(tmp_path / "conv.onnx")
    binary = compile_(net, tmp_path / "conv.bin")
    x = np.random.default_rng(3).standard_normal((1, 3, 6, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", binary, f"x={tmp_path / 'x.npy'}", "-o", tmp_path)
    shown = ok_json("show", binary, "--json")["graphs"][0]
    for ports, name, shape in (("inputs", "x", [1, 3, 6, 5]), ("outputs", "y", [1, 4, 6, 5])):
        assert [(t["name"], t["shape"]) for t in shown[ports]] == [(name, shape)]
    got = np.load(tmp_path / "output_0.npy")
    want = evaluate(net, x=x)
    assert got.shape == want.shape
    assert np.abs(got - want).max() < 0.01
    got = ok_json("run", binary, tmp_path / "x.npy", "--against", net, "--json")
    assert got["comparison"][0]["sqnr_db"] > 55 and got["load_ms"] > 0


def test_a_quantized_model_takes_real_values(tmp_path):
    net = qdq_net(tmp_path / "q.onnx")
    binary = compile_(net, tmp_path / "q.bin")
    x = np.random.default_rng(3).uniform(-5, 5, (2, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", binary, tmp_path / "x.npy", "-o", tmp_path)
    got = np.load(tmp_path / "output_0.npy")
    assert np.abs(got - evaluate(net, x=x)).max() <= 0.1001  # one step, where rounding differs


def test_quantized_borders_take_real_values_or_codes(tmp_path):
    net = qdq_net(tmp_path / "b.onnx", borders=True)
    binary = compile_(net, tmp_path / "b.bin")
    shown = ok_json("show", binary, "--json")["graphs"][0]["inputs"][0]
    assert shown["name"] == "xq" and shown["type"] == "ufixed8"
    codes = np.random.default_rng(3).integers(0, 256, (2, 8)).astype(np.uint8)
    want = evaluate(net, xq=codes)
    np.save(tmp_path / "x.npy", codes)
    ok("run", binary, tmp_path / "x.npy", "-o", tmp_path, "--native")
    native = np.load(tmp_path / "output_0.npy")
    assert native.dtype == np.uint8
    assert np.abs(native.astype(int) - want).max() <= 1
    scale, offset = shown["encoding"]["scale"], shown["encoding"]["offset"]
    if scale != 1:
        np.save(tmp_path / "x.npy", ((codes.astype(np.float32) + offset) * scale).astype("f4"))
        ok("run", binary, tmp_path / "x.npy", "-o", tmp_path)
        real = np.load(tmp_path / "output_0.npy")
        np.testing.assert_allclose(real, (native.astype(np.float32) - 100) * np.float32(0.1),
                                   rtol=1e-6)
    else:
        refuses(INPUT, "run", binary, "--native", "x=none.npy", says="no input 'x'")


def test_a_binary_is_little_larger_than_its_weights(tmp_path):
    """3x3 convolutions in 8 bits, for which the host has larger matrices of its own."""
    rng, n, side, layers = np.random.default_rng(7), 192, 24, 5
    nodes = [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q0"])]
    constants = {"s": np.float32(1 / 16), "z": np.uint8(128), "sw": np.float32(1 / 4096),
                 "zw": np.int8(0)}
    for i in range(layers):
        constants[f"w{i}"] = rng.integers(-127, 128, (n, n, 3, 3)).astype(np.int8)
        nodes += [h.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"f{i}"]),
                  h.make_node("DequantizeLinear", [f"w{i}", "sw", "zw"], [f"v{i}"]),
                  h.make_node("Conv", [f"f{i}", f"v{i}"], [f"c{i}"], pads=[1] * 4),
                  h.make_node("QuantizeLinear", [f"c{i}", "s", "z"], [f"q{i + 1}"])]
    nodes.append(h.make_node("DequantizeLinear", [f"q{layers}", "s", "z"], ["y"]))
    shape = (T.FLOAT, [1, n, side, side])
    net = model(tmp_path / "net.onnx", nodes, {"x": shape}, {"y": shape}, constants, opset=19)
    binary, weights = compile_(net, tmp_path / "net.bin"), layers * n * n * 9
    assert weights < os.path.getsize(binary) <= 1.1 * weights
    (g,) = ok_json("show", binary, "--json")["graphs"]
    assert weights <= g["constant_bytes"] <= 1.05 * weights


def test_graphs_of_chips_that_cannot_share_have_their_own_weights(tmp_path):
    """Before v73; the file is as large as on such a chip, and both graphs run."""
    nets = [qdq_wide(tmp_path / f"n{rows}.onnx", rows) for rows in (1, 4)]
    sizes = {}
    for soc in ("SM8450", "SM8650"):
        both = tmp_path / f"{soc}.bin"
        ok("compile", *nets, "-o", both, "--soc", soc)
        graphs = ok_json("show", both, "--json")["graphs"]
        assert all((g["shared_bytes"] >= 256 * 256) == (soc == "SM8650") for g in graphs)
        assert all(g["constant_bytes"] >= 256 * 256 for g in graphs)
        sizes[soc] = os.path.getsize(both)
        for g, net in zip(("n1", "n4"), nets):
            ok("run", both, "--random", "--graph", g, "-o", tmp_path / "got")
            ok("run", net, "--random", "--soc", soc, "-o", tmp_path / "want")
            np.testing.assert_array_equal(np.load(tmp_path / "got" / "output_0.npy"),
                                          np.load(tmp_path / "want" / "output_0.npy"))
    assert sizes["SM8650"] < 256 * 256 * 1.9 < sizes["SM8450"]


def test_several_models_share_their_weights(tmp_path):
    rng = np.random.default_rng(5)
    w = rng.standard_normal((512, 512)).astype(np.float32)
    nets = []
    for name, rows in (("one", 1), ("many", 16)):
        nets.append(model(tmp_path / f"{name}.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                          {"x": (T.FLOAT, [rows, 512])}, {"y": (T.FLOAT, [rows, 512])}, {"w": w}))
    alone = compile_(nets[0], tmp_path / "alone.bin")
    both = tmp_path / "both.bin"
    ok("compile", *nets, "-o", both, "--soc", "SM8650")
    assert os.path.getsize(both) < 1.25 * os.path.getsize(alone)
    got = ok_json("show", both, "--json")
    assert [g["name"] for g in got["graphs"]] == ["one", "many"]
    for g in got["graphs"]:
        assert g["shared_bytes"] >= 512 * 512 * 2
        assert g["shared_bytes"] <= g["constant_bytes"]
    assert "2 graphs use 1.0 MiB of constants" in ok("show", both).stdout
    for name, rows in (("one", 1), ("many", 16)):
        x = rng.standard_normal((rows, 512)).astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        ok("run", both, tmp_path / "x.npy", "--graph", name, "-o", tmp_path)
        assert np.abs(np.load(tmp_path / "output_0.npy") - x @ w).max() < 0.3
    refuses(USAGE, "run", both, "--random", says=["2 graphs", "one, many"])
    refuses(USAGE, "run", both, "--random", "--graph", "few", says=["'few'", "one, many"])
    refuses(USAGE, "compile", nets[0], nets[0], "-o", both, "--soc", "SM8650",
            says=["second graph 'one'", "--graph-name"])
    ok("compile", nets[0], nets[0], "-o", both, "--soc", "SM8650", "-g", "a", "-g", "b")
    assert [g["name"] for g in ok_json("show", both, "--json")["graphs"]] == ["a", "b"]


def test_the_same_model_gives_the_same_bytes(tmp_path, net):
    a = compile_(net, tmp_path / "a.bin", "-g", "n")
    b = compile_(net, tmp_path / "b.bin", "-g", "n")
    assert a.read_bytes() == b.read_bytes()


def test_options_arrive(tmp_path, net):
    binary = compile_(net, tmp_path / "o.bin", "--vtcm-mb", 2, "-O", 3, "--hvx-threads", 2,
                      "--graph-name", "it")
    g = ok_json("show", binary, "--json")["graphs"][0]
    assert g["name"] == "it"
    assert g["options"] == {"opt_level": 3, "vtcm_mb": 2, "hvx_threads": 2, "dlbc": False}
    refuses(USAGE, "compile", net, "-o", binary, "--soc", "SM8650", "--vtcm-mb", 4096,
            says="--vtcm-mb 4096: expected at most 8")
    refuses(USAGE, "compile", net, "-o", binary, "--soc", "SM8650", "-O", 9, says="opt-level")


def test_the_report_of_compile(tmp_path, net):
    out = tmp_path / "net.bin"
    got = ok_json("compile", net, "-o", out, "--soc", "57", "--json")
    assert got["output"] == str(out) and got["bytes"] == os.path.getsize(out)
    assert got["graphs"][0]["graph"] == "net" and got["graphs"][0]["ops"] == 2


def test_constant_outputs_are_left_out(tmp_path):
    c = np.array([1, 2], np.float32)
    nodes = [h.make_node("Relu", ["x"], ["y"]), h.make_node("Neg", ["c"], ["k"])]
    net = model(tmp_path / "k.onnx", nodes, {"x": (T.FLOAT, [2])},
                {"y": (T.FLOAT, [2]), "k": (T.FLOAT, [2])}, {"c": c})
    p = ok("compile", net, "-o", tmp_path / "k.bin", "--soc", "SM8650")
    assert "output 'k' is constant" in p.stderr
    shown = ok_json("show", tmp_path / "k.bin", "--json")["graphs"][0]
    assert [t["name"] for t in shown["outputs"]] == ["y"]
    all_ = model(tmp_path / "a.onnx", nodes[1:], {}, {"k": (T.FLOAT, [2])}, {"c": c})
    refuses(REFUSED, "compile", all_, "-o", tmp_path / "a.bin", "--soc", "SM8650",
            says="nothing to compile")


def test_long_integers_are_narrow_in_a_binary(tmp_path):
    net = model(tmp_path / "g.onnx", [h.make_node("Gather", ["t", "i"], ["y"])],
                {"t": (T.FLOAT, [5, 2]), "i": (T.INT64, [3])}, {"y": (T.FLOAT, [3, 2])})
    binary = compile_(net, tmp_path / "g.bin")
    t, i = np.arange(10, dtype=np.float32).reshape(5, 2), np.array([4, 0, 2])
    np.save(tmp_path / "t.npy", t)
    np.save(tmp_path / "i.npy", i)
    refuses(INPUT, "run", binary, tmp_path / "t.npy", tmp_path / "i.npy",
            says=["expects int32", "--cast"])
    ok("run", binary, tmp_path / "t.npy", tmp_path / "i.npy", "--cast", "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), t[i])


def test_what_a_chip_lacks_is_said(tmp_path, net):
    got = ok_json("check", net, "--backend", "htp", "--soc", "SM8650", "--json")
    assert got["accepted"] == 2 and got["refused"] == 0
    got = ok_json("check", net, "--backend", "htp", "--soc", "SM8350", "--json")
    assert got["accepted"] == 2 and got["refused"] == 0
    q = qdq_net(tmp_path / "q.onnx")
    ok("compile", q, "-o", tmp_path / "q.bin", "--soc", "SM8350")
    assert ok_json("show", tmp_path / "q.bin", "--json")["arch"] == 68


def test_dynamic_dimensions_are_settled_when_compiling(tmp_path):
    net = model(tmp_path / "d.onnx", [h.make_node("Relu", ["x"], ["y"])],
                {"x": (T.FLOAT, ["N", 4])}, {"y": (T.FLOAT, ["N", 4])})
    refuses(REFUSED, "compile", net, "-o", tmp_path / "d.bin", "--soc", "SM8650", says="--dim N=")
    assert not (tmp_path / "d.bin").exists()
    binary = compile_(net, tmp_path / "d.bin", "--dim", "N=3")
    assert ok_json("show", binary, "--json")["graphs"][0]["inputs"][0]["shape"] == [3, 4]


def test_the_demo_runs_every_graph_of_a_binary(tmp_path):
    digits = Path(__file__).resolve().parents[2] / "examples" / "digits"
    both = tmp_path / "digits.bin"
    ok("compile", digits / "digits.onnx", digits / "digits_a8w8.onnx", "-o", both, "--soc",
       "SM8650", "--dim", "N=1")
    text = ok("demo", digits, both).stdout
    right = [int(line.split(": ")[1].split()[0]) for line in text.splitlines() if "right" in line]
    assert len(right) == 3 and "graph digits_a8w8" in text
    # What the float model and, by onnx's evaluator, the quantized one recognise of 200 images.
    assert right[:2] == [200, 200] and right[2] >= 198


# --- showing and measuring

def test_show_tells_what_is_inside(tmp_path, binary):
    got = ok_json("show", binary, "--json")
    assert (got["soc"], got["soc_model"], got["arch"]) == ("SM8650", 57, 75)
    assert got["backend_id"] == 6 and got["bytes"] == os.path.getsize(binary)
    g = got["graphs"][0]
    assert g["name"] == "net" and g["ops"] >= 1
    assert [(t["name"], t["type"], t["shape"]) for t in g["inputs"]] == [("x", "float32", [2, 3])]
    assert [(t["name"], t["type"], t["shape"]) for t in g["outputs"]] == [("y", "float32", [2, 3])]
    assert g["io_bytes"] == 2 * 6 * 4 and g["spill_fill_bytes"] == 0
    text = ok("show", binary).stdout
    for word in ("SM8650 (v75)", "graph net", "float32 [2, 3]", "VTCM 4 MB", "spill-fill"):
        assert word in text
    assert "every checksum is right" in ok("show", binary, "--verify").stdout
    refuses(USAGE, "show", binary, "--dot", says="--dot is for models")
    refuses(USAGE, "show", add_relu(tmp_path / "m.onnx"), "--verify", says="context binaries")


def test_a_binary_is_known_by_its_bytes(tmp_path, binary):
    other = tmp_path / "compiled"
    shutil.copy(binary, other)
    assert ok_json("show", other, "--json")["soc"] == "SM8650"


def test_bench_measures_a_binary(binary):
    got = ok_json("bench", binary, "--seconds", 0.05, "--json")
    assert got["runs"] >= 3 and got["median_ms"] > 0
    assert 0 < got["load_ms"] < 1000 and got["finalize_ms"] == 0
    assert "libQnnHtp" in got["backend"]


def test_info_lists_the_system_library():
    libs = {l["backend"]: l for l in ok_json("info", "--json")["libraries"]}
    assert libs["system"]["found"] and libs["system"]["backend_api"] == "1.15.0"
    assert libs["htp"]["found"]


# --- what is wrong

def one_line(p):
    return p.stderr.count("\n") == 1 and p.stderr.startswith("quern: error: ")


@pytest.mark.parametrize("command", [("run", "--random"), ("bench",), ("show",)])
@pytest.mark.parametrize("damage", ["empty", "garbage", "half", "first byte", "last header byte"])
def test_damaged_binaries_give_one_line(tmp_path, binary, command, damage):
    bytes_ = bytearray(binary.read_bytes())
    if damage == "empty":
        bytes_ = b""
    elif damage == "garbage":
        bytes_ = os.urandom(5000)
    elif damage == "half":
        bytes_ = bytes_[:len(bytes_) // 2]
    elif damage == "first byte":
        bytes_[0] ^= 1
    else:
        bytes_[40] ^= 0xff
    bad = tmp_path / "bad.bin"
    bad.write_bytes(bytes_)
    p = quern(command[0], bad, *command[1:])
    assert p.returncode == REFUSED and p.stdout == "" and one_line(p) and "bad.bin" in p.stderr


def test_damaged_weights_are_found_on_request(tmp_path):
    w = np.random.default_rng(8).standard_normal((512, 512)).astype(np.float32)
    net = model(tmp_path / "w.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [1, 512])}, {"y": (T.FLOAT, [1, 512])}, {"w": w})
    binary = compile_(net, tmp_path / "w.bin")
    bytes_ = bytearray(binary.read_bytes())
    halves = w.astype(np.float16).tobytes()
    at = bytes_.find(halves[:8])
    if at < 0:
        at = bytes_.find(w.tobytes()[:8])
    assert at > 0
    bytes_[at + 1] ^= 0x40
    binary.write_bytes(bytes_)
    ok("show", binary)
    p = refuses(REFUSED, "show", binary, "--verify", says="w.bin")
    assert one_line(p)


def test_chips(tmp_path, net, binary):
    ok("run", binary, "--random", "--soc", "SM8650")
    p = refuses(REFUSED, "run", binary, "--random", "--soc", "SM8550")
    assert one_line(p) and "5005" in p.stderr
    refuses(USAGE, "run", binary, "--random", "--soc", "SM8651", says="SM8650")
    refuses(USAGE, "compile", net, "-o", tmp_path / "x.bin", "--soc", "sm865O",
            says="did you mean 'SM8650'?")
    refuses(USAGE, "compile", net, "-o", tmp_path / "x.bin", says="no target SoC: use --soc")
    refuses(USAGE, "compile", net, "--soc", "SM8650", says="no output: use --output")
    refuses(USAGE, "compile", net, "-o", tmp_path / "x.bin", "-b", "gpu", "--vtcm-mb", 2,
            says="do not apply to --backend gpu")
    refuses(USAGE, "compile", net, "-o", tmp_path / "x.bin", "-b", "cpu",
            says="--backend cpu has no context binaries")


def test_a_failed_compile_leaves_the_old_file(tmp_path, net):
    out = tmp_path / "net.bin"
    compile_(net, out)
    before = out.read_bytes()
    bad = model(tmp_path / "bad.onnx", [h.make_node("Unknown", ["x"], ["y"])],
                {"x": (T.FLOAT, [1])}, {"y": (T.FLOAT, [1])})
    refuses(REFUSED, "compile", bad, "-o", out, "--soc", "SM8650", says="bad.onnx")
    assert out.read_bytes() == before
    refuses(FAILURE, "compile", net, "-o", tmp_path / "no" / "x.bin", "--soc", "SM8650")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "net.bin", "net.onnx"]


def test_what_needs_a_model_is_refused(tmp_path, net, binary):
    refuses(USAGE, "run", binary, "--random", "--reference", says="--against")
    refuses(USAGE, "run", binary, "--random", "--per-layer", says="--against")
    refuses(USAGE, "run", net, "--random", "--graph", "g", says="context binaries")
    refuses(REFUSED, "check", binary, says="needs the ONNX or .tflite model")
    refuses(REFUSED, "compile", binary, "-o", tmp_path / "y.bin", "--soc", "SM8650")
    np.save(tmp_path / "x.npy", X[:1])
    refuses(INPUT, "run", binary, tmp_path / "x.npy", says="[1, 3]")
    assert quern("run", binary, tmp_path / "x.npy", "--random").returncode != OK
