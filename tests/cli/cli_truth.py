# SPDX-License-Identifier: MIT
"""No wrong answer in silence: what cannot be right is refused, or said in one line."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h

from harness import FAILURE, REFUSED, USAGE, add_relu, model, ok, ok_json, quern, refuses


def unary(path, op):
    return model(path, [h.make_node(op, ["x"], ["y"], name=op.lower())], {"x": (T.FLOAT, [1, 4])},
                 {"y": (T.FLOAT, [1, 4])})


@pytest.mark.parametrize("x", [[-1, -2, -3, -4], [-1, 2, 3, 4]])
def test_values_that_are_nan_on_one_side_are_a_difference(tmp_path, x):
    log, relu = unary(tmp_path / "log.onnx", "Log"), unary(tmp_path / "relu.onnx", "Relu")
    np.save(tmp_path / "x.npy", np.array([x], np.float32))
    n = sum(v < 0 for v in x)
    for one, other in (log, relu), (relu, log):
        p = quern("run", one, tmp_path / "x.npy", "--against", other)
        assert p.returncode == FAILURE
        assert "equal" not in p.stdout and "-inf" in p.stdout and f"{n} not finite" in p.stdout
        assert f"output 'y': {n} of 4 values are NaN or infinite on one side" in p.stderr
        p = quern("run", one, tmp_path / "x.npy", "--against", other, "--json")
        row = json.loads(p.stdout)["comparison"][0]
        assert p.returncode == FAILURE
        found = row["equal"], row["not_finite"], row["sqnr_db"], row["cosine"]
        assert found == (False, n, None, 0)


def test_values_that_are_nan_on_both_sides_are_counted(tmp_path):
    log = unary(tmp_path / "log.onnx", "Log")
    np.save(tmp_path / "x.npy", np.array([[-1, -2, -3, 4]], np.float32))
    p = ok("run", log, tmp_path / "x.npy", "--against", log)
    assert "equal" in p.stdout and "3 not finite on both sides" in p.stdout


# --- the target SoC

DEFAULT = "quern: target SoC: SM8650 (default; choose with --soc)\n"


def third(path):
    """1/3 is another number in float16 (0.3333) than in float32."""
    return model(path, [h.make_node("Div", ["x", "three"], ["y"], name="div")],
                 {"x": (T.FLOAT, [1, 4])}, {"y": (T.FLOAT, [1, 4])},
                 {"three": np.array([3], np.float32)})


@pytest.mark.parametrize("flags, dtype, says", [
    (["-b", "htp"], np.float16, DEFAULT), (["-b", "htp", "--soc", "SM8750"], np.float16, ""),
    (["--soc", "SM8650"], np.float16, ""), (["-b", "htp", "--soc", "none"], np.float32, ""),
    (["--soc", "none"], np.float32, ""), (["-b", "htp", "-q"], np.float16, ""),
    (["-b", "cpu"], np.float32, ""), ([], np.float32, "")])
def test_floats_are_what_the_target_soc_has_and_a_default_is_said(tmp_path, flags, dtype, says):
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    p = ok("run", third(tmp_path / "n.onnx"), tmp_path / "x.npy", "-o", tmp_path, *flags)
    got = np.load(tmp_path / "output_0.npy")
    assert (got == np.float32(dtype(1) / dtype(3))).all() and p.stderr == says


def test_a_soc_without_a_backend_is_checked_on_the_htp(tmp_path):
    net = third(tmp_path / "n.onnx")
    assert "1 of 1 nodes run on htp" in ok("check", net, "--soc", "SM8650").stdout
    assert "1 of 1 nodes run on cpu" in ok("check", net).stdout
    p = ok("check", net, "-b", "htp")
    assert p.stderr == DEFAULT and "on SM8650 (fp16)" in p.stdout


def test_a_soc_on_a_backend_without_targets_is_a_warning(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    assert "--soc has no effect" in ok("run", net, "--random", "-b", "cpu", "--soc", "57").stderr


def test_a_context_binary_needs_a_soc(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    for flags in [], ["--soc", "none"]:
        refuses(USAGE, "compile", net, "-o", tmp_path / "n.bin", *flags, says="no target SoC")


# --- float16 where the model has 16-bit values, or integers

def units16(path, ops):
    """x -> QuantizeLinear -> DequantizeLinear -> op -> QuantizeLinear -> ... in 16 bits."""
    nodes, last = [], "x"
    for i, op in enumerate(["", *ops]):
        if op:
            domain = "com.microsoft" if op in ("QuickGelu", "FastGelu") else ""
            nodes.append(h.make_node(op, [last], [f"y{i}"], name=f"{op.lower()}{i}",
                                     domain=domain))
            last = f"y{i}"
        nodes += [h.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"], name=f"q{i}"),
                  h.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], name=f"dq{i}")]
        last = f"d{i}"
    nodes[-1].output[0] = "y"
    model(path, nodes, {"x": (T.FLOAT, [1, 4])}, {"y": (T.FLOAT, [1, 4])},
          {"s": np.float32(1 / 4096), "z": np.uint16(32768)}, opset=21)
    made = onnx.load(path)
    made.opset_import.append(h.make_opsetid("com.microsoft", 1))
    onnx.save(made, path)
    return path


def test_ops_without_a_16_bit_form_are_refused_by_every_command(tmp_path):
    net = units16(tmp_path / "n.onnx", ["QuickGelu", "FastGelu"])
    says = ["node 'quickgelu1' (QuickGelu)", "no 16-bit form", "float16"]
    refuses(REFUSED, "run", net, "--random", "--soc", "SM8650", says=says)
    refuses(REFUSED, "bench", net, "--soc", "SM8650", says=says)
    refuses(REFUSED, "compile", net, "--soc", "SM8650", "-o", tmp_path / "n.bin", says=says)
    p = quern("check", net, "--soc", "SM8650", "--json")
    reasons = {n["name"]: n.get("reason", "") for n in json.loads(p.stdout)["nodes"]}
    assert p.returncode == REFUSED
    assert all("no 16-bit form" in reasons[n] for n in ("quickgelu1", "fastgelu2"))
    ok("run", net, "--random", "--soc", "none")  # floats of 32 bits are finer


def test_what_is_allowed_in_float16_is_one_warning_for_each_op(tmp_path):
    net = units16(tmp_path / "n.onnx", ["Erf", "Mish", "Erf"])
    for args in (["run", net, "--random"], ["compile", net, "-o", tmp_path / "n.bin"],
                 ["check", net]):
        warnings = ok(*args, "--soc", "SM8650", "--allow-fp16").stderr.splitlines()
        assert [w.split(": ")[2].split(" nodes")[0] for w in warnings] == ["Erf", "Mish"]
        assert all("are computed in float16, the first one is '" in w for w in warnings)


@pytest.mark.parametrize("ops, parts", [
    (["Relu", "Sigmoid"], 1), (["Relu", "Tanh", "Sigmoid", "FastGelu", "Tanh", "Sigmoid"], 2)])
def test_check_estimate_and_compile_have_the_same_partitions_and_time(tmp_path, ops, parts):
    net, to = units16(tmp_path / "n.onnx", ops), tmp_path / "n.bin"
    for flags in [], ["--allow-fp16"]:
        checked = json.loads(quern("check", net, "--soc", "SM8650", "--json", *flags).stdout)
        rows = ok_json("estimate", net, "--soc", "SM8650", "--json", *flags)["estimates"]
        kind = checked["estimate"]["precision"]  # of most ops
        (row,) = [r for r in rows if r["precision"] == kind]
        want = 1 if flags else parts
        assert (checked["partitions"], row["partitions"]) == (want, want)
        assert checked["estimate"]["ms"] == pytest.approx(row["ms"])
        assert kind in ("fp16", "a16w8") if flags else kind == "a16w8"
    ok("compile", net, "--soc", "SM8650", "--allow-fp16", "-o", to)
    (graph,) = ok_json("estimate", to, "--json")["graphs"]
    assert graph["schedule"]["ms"] == pytest.approx(row["ms"], rel=1e-6)
    assert graph["schedule"]["precision"] == kind


def test_the_target_soc_decides_partitions(tmp_path):
    """16-bit gammas of LayerNormalization need v73: SM8450 is v69."""
    q = lambda x, y: h.make_node("QuantizeLinear", [x, "s", "z"], [y], name=y)
    d = lambda x, y: h.make_node("DequantizeLinear", [x, "s", "z"], [y], name=y)
    nodes = [q("x", "a"), d("a", "b"), q("g", "gq"), d("gq", "gd"),
             h.make_node("LayerNormalization", ["b", "gd"], ["n"], name="norm"), q("n", "c"),
             d("c", "e"), h.make_node("Relu", ["e"], ["r"], name="relu"), q("r", "f"), d("f", "y")]
    value = (T.FLOAT, [1, 8, 32])
    net = model(tmp_path / "n.onnx", nodes, {"x": value}, {"y": value},
                {"s": np.float32(1 / 4096), "z": np.uint16(32768), "g": np.ones(32, np.float32)},
                opset=21)
    for soc, refused in ("SM8650", []), ("SM8450", ["norm"]):
        rows = ok_json("estimate", net, "--soc", soc, "--json")
        assert [r["node"] for r in rows["refused"] if r["op"] == "LayerNormalization"] == refused
        checked = json.loads(quern("check", net, "--soc", soc, "--json").stdout)
        assert [n["name"] for n in checked["nodes"] if not n["accepted"]
                and n["op"] == "LayerNormalization"] == refused


def test_overflow_and_constants_that_vanish_in_float16_are_warnings(tmp_path):
    net = model(tmp_path / "n.onnx", [h.make_node("Add", ["x", "tiny"], ["a"], name="add"),
                                      h.make_node("Mul", ["a", "a"], ["y"], name="square")],
                {"x": (T.FLOAT, [1, 4])}, {"y": (T.FLOAT, [1, 4])},
                {"tiny": np.array([1e-10], np.float32)})
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3, 1000]], np.float32))
    p = ok("run", net, tmp_path / "x.npy", "--soc", "SM8750")
    assert [line.startswith("quern: warning: graph 'g': ") for line in p.stderr.splitlines()] == \
        [True, True]
    assert "constant 'tiny' (1e-10) is 0 in float16" in p.stderr
    assert "node 'square' (ElementWiseMultiply) is the first to leave the range of" in p.stderr
    assert ok("run", net, tmp_path / "x.npy", "--soc", "SM8750", "-q").stderr == ""
    assert ok("run", net, tmp_path / "x.npy", "--soc", "none").stderr == ""


def test_a_precision_that_the_soc_does_not_have_is_said(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    p = ok("compile", net, "-o", tmp_path / "n.bin", "--soc", "SM8650", "--precision", "fp32")
    assert "--precision fp32 has no effect" in p.stderr


def dynamic(path):
    """As onnxruntime's quantize_dynamic writes it: sums of up to 64 * 255 * 127."""
    w = np.random.default_rng(0).integers(-127, 128, (64, 4)).astype(np.int8)
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], name="quantize"),
             h.make_node("MatMulInteger", ["q", "w", "z"], ["i"], name="matmul"),
             h.make_node("Cast", ["i"], ["f"], name="cast", to=T.FLOAT),
             h.make_node("Mul", ["f", "s"], ["y"], name="scale")]
    return model(path, nodes, {"x": (T.FLOAT, [1, 64])}, {"y": (T.FLOAT, [1, 4])}, {"w": w}), w


def test_dynamically_quantized_models_are_refused_in_words(tmp_path):
    net, _ = dynamic(tmp_path / "n.onnx")
    says = ["node 'quantize' (DynamicQuantizeLinear)", "quantize the model statically"]
    for flags in ["--soc", "SM8650"], ["--soc", "SM8750", "--allow-fp16"]:
        refuses(REFUSED, "run", net, "--random", *flags, says=says)
        p = quern("check", net, *flags, "--rejected")
        assert p.returncode == REFUSED and "0 of 4 nodes" in p.stdout and says[1] in p.stdout


@pytest.mark.parametrize("flags", [["-b", "cpu"], ["-b", "htp", "--soc", "none"]])
def test_dynamically_quantized_models_are_right_where_floats_have_32_bits(tmp_path, flags):
    net, w = dynamic(tmp_path / "n.onnx")
    x = np.random.default_rng(1).uniform(-3, 3, (1, 64)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", net, tmp_path / "x.npy", "-o", tmp_path, *flags)
    scale = (max(x.max(), 0) - min(x.min(), 0)) / np.float32(255)  # as ONNX defines it
    zero = np.rint(-min(x.min(), 0) / scale)
    q = np.clip(np.rint(x / scale) + zero, 0, 255)
    want = (q - zero) @ w.astype(np.float64) * scale
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), want, rtol=1e-5)


# --- one number for one thing

def test_program_libraries_and_binaries_have_one_version(tmp_path):
    info = ok_json("info", "--json")
    version = info["version"]
    assert ok("--version").stdout.startswith(f"quern {version} (")
    builds = [lib["build"] for lib in info["libraries"] if lib.get("build")]
    assert len(builds) >= 2 and all(b.endswith(f"_quern-{version}") for b in builds)
    ok("compile", add_relu(tmp_path / "n.onnx"), "--soc", "57", "-o", tmp_path / "n.bin")
    assert {ok_json("show", tmp_path / "n.bin", "--json")["build"]} == set(builds)


def weights(*shape):
    return np.ones(shape, np.float32)


MACS = {  # nodes, shape of x, shape of y, constants, multiplications by hand
    "Conv": (dict(), [1, 8, 16, 16], [1, 32, 14, 14], {"w": weights(32, 8, 3, 3)},
             32 * 14 * 14 * 8 * 9),
    "Conv depthwise": (dict(group=8), [1, 8, 16, 16], [1, 8, 14, 14], {"w": weights(8, 1, 3, 3)},
                       8 * 14 * 14 * 9),
    "ConvTranspose": (dict(strides=[2, 2]), [1, 8, 16, 16], [1, 32, 33, 33],
                      {"w": weights(8, 32, 3, 3)}, 8 * 16 * 16 * 32 * 9),
    "Gemm": (dict(transB=1), [4, 64], [4, 32], {"w": weights(32, 64)}, 4 * 32 * 64),
    "MatMul": (dict(), [2, 3, 8, 64], [2, 3, 8, 16], {"w": weights(64, 16)}, 2 * 3 * 8 * 64 * 16),
    "Einsum": (dict(equation="bij,bjk->bik"), [2, 8, 64], [2, 8, 16], {"w": weights(2, 64, 16)},
               2 * 8 * 64 * 16),
    "LSTM": (dict(hidden_size=16), [5, 1, 8], [5, 1, 1, 16],
             {"w": weights(1, 64, 8), "r": weights(1, 64, 16)}, 5 * 64 * (8 + 16)),
    "GRU": (dict(hidden_size=16), [5, 1, 8], [5, 1, 1, 16],
            {"w": weights(1, 48, 8), "r": weights(1, 48, 16)}, 5 * 48 * (8 + 16)),
}


@pytest.mark.parametrize("name", MACS)
def test_show_and_estimate_count_the_same_multiplications(tmp_path, name):
    attributes, x, y, constants, want = MACS[name]
    node = h.make_node(name.split()[0], ["x", *constants], ["y"], **attributes)
    net = model(tmp_path / "n.onnx", [node], {"x": (T.FLOAT, x)}, {"y": (T.FLOAT, y)}, constants)
    assert ok_json("show", net, "--json")["macs"] == want
    assert ok_json("estimate", net, "--json")["network"]["macs"] == want
