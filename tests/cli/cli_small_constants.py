# SPDX-License-Identifier: MIT
"""Constants that no 8-bit or float16 number holds: masks of -inf and the like, and small numbers
that keep a Log or a division away from 0. ONNX Runtime computes the float model; the modelled HTP
computes what quern quantize wrote."""
import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto as T, helper as h

from harness import model, ok

F, ROWS, WIDTH, N = np.float32, 8, 32, 4
RNG = np.random.default_rng(1)
WEIGHT = (RNG.normal(size=(WIDTH, WIDTH)) * 0.2).astype(F)
X = RNG.normal(size=(N, 1, ROWS, WIDTH)).astype(F)
ZEROS = X.copy()
ZEROS[:, :, :, 5:9] = 0  # single zeros, and a whole row
ZEROS[:, :, 3] = 0
n = h.make_node


def judge(folder, nodes, constants, x, scheme, *flags):
    """dB of the quantized model's result on the HTP, and what the command printed."""
    net = model(folder / "net.onnx", nodes, {"x": (T.FLOAT, [1, ROWS, WIDTH])},
                {"y": (T.FLOAT, [1, ROWS, WIDTH])}, {**constants, "w": WEIGHT})
    np.save(folder / "x.npy", x)
    text = ok("quantize", net, "-o", folder / "q.onnx", "-s", scheme, "-c", folder / "x.npy",
              "--no-check", *flags).stdout
    session = ort.InferenceSession(str(net), providers=["CPUExecutionProvider"])
    signal = error = 0
    for i in range(N):
        want = session.run(None, {"x": x[i]})[0].astype(float)
        np.save(folder / "one.npy", x[i])
        ok("run", folder / "q.onnx", folder / "one.npy", "-b", "htp", "--soc", "SM8650", "-q", "-o",
           folder / "out")
        got = np.load(folder / "out" / "output_0.npy").astype(float)
        signal, error = signal + (want ** 2).sum(), error + ((got - want) ** 2).sum()
    return 10 * np.log10(signal / error), text


GUARDS = {"Add": lambda x: n("Add", [x, "e"], ["s"]), "Max": lambda x: n("Max", ["e", x], ["s"]),
          "Clip": lambda x: n("Clip", [x, "e"], ["s"])}


@pytest.mark.parametrize("small", [1e-10, 1e-12])
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("scheme, least", [("float", 55), ("a16w8", 45), ("a8w8", 15)])
def test_log_of_a_guarded_square(tmp_path, guard, small, scheme, least):
    nodes = [n("Mul", ["x", "x"], ["q"]), GUARDS[guard]("q"), n("Log", ["s"], ["l"]),
             n("MatMul", ["l", "w"], ["y"])]
    db, text = judge(tmp_path, nodes, {"e": F(small)}, ZEROS, scheme)
    assert db > least
    assert f"constants of {small:g} are too small for float16: 0 raised" in text
    assert "1 Log limited to match" in text


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("scheme, least", [("float", 55), ("a16w8", 40), ("a8w8", 30)])
def test_division_by_a_guarded_sum(tmp_path, guard, scheme, least):
    nodes = [n("Abs", ["x"], ["q"]), n("ReduceSum", ["q", "axes"], ["r"], keepdims=1),
             GUARDS[guard]("r"), n("Div", ["q", "s"], ["d"]), n("MatMul", ["d", "w"], ["y"])]
    constants = {"e": F(1e-12), "axes": np.array([-1])}
    db, text = judge(tmp_path, nodes, constants, ZEROS, scheme)
    assert db > least and "1 raised to 5.96046e-08" in text


def test_without_the_repair_the_log_leaves_float16(tmp_path):
    nodes = [n("Mul", ["x", "x"], ["q"]), GUARDS["Add"]("q"), n("Log", ["s"], ["l"]),
             n("MatMul", ["l", "w"], ["y"])]
    db, text = judge(tmp_path, nodes, {"e": F(1e-10)}, ZEROS, "float", "--repair", "none")
    assert db < 0 and "epsilon" not in text


def test_numbers_that_float16_holds_stay(tmp_path):
    nodes = [n("Mul", ["x", "x"], ["q"]), GUARDS["Add"]("q"), n("Log", ["s"], ["l"]),
             n("MatMul", ["l", "w"], ["y"])]
    db, text = judge(tmp_path, nodes, {"e": F(1e-6)}, ZEROS, "a16w8")
    assert db > 45 and "epsilon" not in text


@pytest.mark.parametrize("low", [-np.inf, -3.4028235e38, -1e9, -65504, -1e4])
@pytest.mark.parametrize("form", ["Add", "Where"])
@pytest.mark.parametrize("scheme, least", [("float", 55), ("a16w8", 40), ("a8w8", 30)])
def test_masks(tmp_path, low, form, scheme, least):
    seen = np.tril(np.ones((1, ROWS, ROWS))) > 0
    nodes = [n("Transpose", ["x"], ["t"], perm=[0, 2, 1]), n("MatMul", ["x", "t"], ["p"]),
             n("Mul", ["p", "k"], ["a"]),
             n("Add", ["a", "mask"], ["b"]) if form == "Add" else
             n("Where", ["seen", "a", "low"], ["b"]),
             n("Softmax", ["b"], ["c"], axis=-1), n("MatMul", ["c", "x"], ["z"]),
             n("MatMul", ["z", "w"], ["y"])]
    given = ({"mask": np.where(seen, F(0), F(low)).astype(F)} if form == "Add" else
             {"seen": seen, "low": F(low)})
    db, _ = judge(tmp_path, nodes, {"k": F(0.2), **given}, X, scheme)
    assert db > least
