# SPDX-License-Identifier: MIT
"""x + c with one constant number c: `quern quantize` makes c a whole number of steps where the
expected squared error becomes smaller. With steps s for x and for x + c, both rounded, that error
is s^2 / 12 + (d s)^2, where d is the distance of c / s from a whole number; with steps c / k it is
(c / k)^2 / 12. ONNX Runtime computes the written models."""
import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from cli_quantize import encodings, run
from harness import model, ok

LOW, HIGH, N = -1.0, 9.0, 4096
STEP = (HIGH - LOW) / 255
X = np.linspace(LOW, HIGH, N, dtype=np.float32).reshape(1, N)


def quantized(folder, node, c, *flags):
    """The result of the quantized model, of its rounded input, and the encodings."""
    net = model(folder / "net.onnx", [node], {"x": (T.FLOAT, [1, N])}, {"y": (T.FLOAT, [1, N])},
                {"c": np.float32(c)})
    np.save(folder / "x.npy", X)
    ok("quantize", net, "-o", folder / "q.onnx", "-c", folder / "x.npy", "-q", *flags)
    found = {k.removesuffix("_real"): v for k, v in encodings(folder / "q.onnx").items()}
    _, scale, zero = found["x"]
    q = np.clip(np.rint(X / np.float32(scale)) + zero, 0, 255)
    return run(folder / "q.onnx", {"x": X})["y"], (q - zero) * np.float32(scale), found


def steps_of(c):
    """The step that the formula asks for."""
    k, d = np.floor(abs(c) / STEP), abs(c) / STEP - np.rint(abs(c) / STEP)
    exact = abs(c) / k if k else np.inf
    return exact if exact ** 2 / 12 < STEP ** 2 / 12 + (d * STEP) ** 2 else STEP


FORMS = {"Add": lambda: h.make_node("Add", ["x", "c"], ["y"]),
         "the constant first": lambda: h.make_node("Add", ["c", "x"], ["y"]),
         "Sub": lambda: h.make_node("Sub", ["x", "c"], ["y"])}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("c", [-0.5, 0.5, 0.06, -3.33, 0.02, 0.0777, -1e-3])
def test_steps_are_those_of_the_least_expected_error(tmp_path, form, c):
    low, high = (LOW - c, HIGH - c) if form == "Sub" else (LOW + c, HIGH + c)
    _, _, found = quantized(tmp_path, FORMS[form](), c)
    if low <= 0 <= high:  # else the range of the result is wider: it includes 0
        assert found["x"][1] == pytest.approx(steps_of(c), rel=1e-5)
        assert found["y"][1] == pytest.approx(steps_of(c), rel=1e-5)


def test_the_formula_decides_both_ways():
    kept = [abs(steps_of(c) - STEP) < 1e-9 for c in (-0.5, 0.06, 0.02, 0.0777, -1e-3)]
    assert kept == [False, False, True, True, True]


@pytest.mark.parametrize("form", FORMS)
def test_the_sum_is_exact(tmp_path, form):
    c = -0.5
    assert abs(c / STEP - np.rint(c / STEP)) > 0.2  # all results would be off by so many steps
    got, x, _ = quantized(tmp_path, FORMS[form](), c)
    want = x - np.float32(c) if form == "Sub" else x + np.float32(c)
    inside = (want > got.min()) & (want < got.max())
    assert inside.mean() > 0.98 and np.abs(got - want)[inside].max() < 1e-5


def test_a_constant_minus_the_value_is_exact(tmp_path):
    got, x, _ = quantized(tmp_path, h.make_node("Sub", ["c", "x"], ["y"]), 2.5)
    want = np.float32(2.5) - x
    inside = (want > got.min()) & (want < got.max())
    assert inside.mean() > 0.98 and np.abs(got - want)[inside].max() < 1e-5


@pytest.mark.parametrize("flags", [("--symmetric",), ("-s", "a16w8")])
def test_symmetric_ranges_stay_and_16_bits_hardly_change(tmp_path, flags):
    _, _, found = quantized(tmp_path, FORMS["Add"](), -0.5, *flags)
    scale = found["x"][1]
    if flags[0] == "--symmetric":
        assert scale == pytest.approx(HIGH / 127, rel=1e-5)
    else:
        assert scale == pytest.approx((HIGH - LOW) * 1.1 / 65535, rel=2e-3)
        assert 0.5 / scale == pytest.approx(np.rint(0.5 / scale), abs=1e-3)
