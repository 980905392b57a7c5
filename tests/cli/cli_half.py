# SPDX-License-Identifier: MIT
"""quern run for a target SoC: float models compute in float16 where the SoC has it."""
import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import model, ok

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2, 3, 6, 6)).astype(np.float32)
W = RNG.normal(size=(8, 3, 1, 1)).astype(np.float32)
B = RNG.normal(size=8).astype(np.float32)


@pytest.fixture
def net(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return model(tmp_path / "net.onnx",
                 [h.make_node("Conv", ["x", "w", "b"], ["c"]), h.make_node("Relu", ["c"], ["r"]),
                  h.make_node("Exp", ["r"], ["e"]), h.make_node("Mul", ["e", "e"], ["y"])],
                 {"x": (T.FLOAT, X.shape)}, {"y": (T.FLOAT, (2, 8, 6, 6))}, {"w": W, "b": B})


def expected(dtype):
    """Each op in float64, its result rounded to dtype."""
    def rounded(a):
        with np.errstate(over="ignore"):
            return np.asarray(a, np.float64).astype(dtype).astype(np.float64)
    c = np.einsum("nihw,oi->nohw", rounded(X), rounded(W[:, :, 0, 0]))
    c = rounded(c + rounded(B)[:, None, None])
    e = rounded(np.exp(np.maximum(c, 0)))
    return rounded(e * e)


def run(net, folder, *flags):
    ok("run", net, folder / "x.npy", "-o", folder, "--backend", "htp", *flags)
    return np.load(folder / "output_0.npy").astype(np.float64)


def test_without_a_target_soc_floats_are_float32(net, tmp_path):
    got = run(net, tmp_path, "--soc", "none")
    np.testing.assert_allclose(got, expected(np.float32), rtol=2e-5)


def test_new_socs_compute_in_float16_and_overflow(net, tmp_path):
    got, want = run(net, tmp_path, "--soc", "69"), expected(np.float16)
    assert np.isinf(want).any() and np.isfinite(want).any()
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[finite], got[finite].astype(np.float16))
    assert (got[finite] == want[finite]).mean() > 0.98
    np.testing.assert_allclose(got[finite], want[finite], rtol=3e-3)


def test_older_socs_have_a_wider_range(net, tmp_path):
    got, want = run(net, tmp_path, "--soc", "SM8650"), expected(np.float32)
    assert got.max() == 131008 and want.max() > 131008
    inside = want < 130000
    np.testing.assert_allclose(got[inside], want[inside], rtol=2e-2)


def test_socs_without_halves_compute_in_single_precision(net, tmp_path):
    got, want = run(net, tmp_path, "--soc", "SM8350"), expected(np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_cast_of_fp16_to_the_applications_float32_is_no_step(tmp_path):
    x = RNG.normal(size=(4, 300)).astype(np.float16)
    n = model(tmp_path / "net.onnx", [h.make_node("Mul", ["x", "x"], ["square"]),
                                      h.make_node("Cast", ["square"], ["y"], to=T.FLOAT)],
              {"x": (T.FLOAT16, x.shape)}, {"y": (T.FLOAT, x.shape)}, {})
    ok("compile", n, "-o", tmp_path / "net.bin", "--backend", "htp", "--soc", "69")
    steps = ok("show", "--compiled", tmp_path / "net.bin").stdout
    assert "binary" in steps and "= cast" not in steps
    np.save(tmp_path / "x.npy", x)
    got = run(tmp_path / "net.bin", tmp_path)
    np.testing.assert_array_equal(got, (x.astype(np.float64) ** 2).astype(np.float16))


def test_ops_that_have_scales_read_quantized_inputs(tmp_path):
    """The QOperator format of ONNX Runtime's quantizer: its input is quantized for QLinear ops."""
    x = RNG.normal(size=(1, 8)).astype(np.float32)
    w = RNG.integers(-100, 100, size=(8, 4)).astype(np.int8)
    constants = {"sx": np.float32(0.03), "zx": np.uint8(120), "w": w, "sw": np.float32(0.01),
                 "zw": np.int8(0), "sy": np.float32(0.05), "zy": np.uint8(128)}
    n = model(tmp_path / "net.onnx", [
        h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        h.make_node("QLinearMatMul", ["xq", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["yq"]),
        h.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])],
        {"x": (T.FLOAT, x.shape)}, {"y": (T.FLOAT, (1, 4))},
        {k: np.asarray(v) for k, v in constants.items()})
    ok("check", n, "--soc", "SM8650")
    np.save(tmp_path / "x.npy", x)
    got = run(n, tmp_path, "--soc", "SM8650")
    xq = np.clip(np.rint(x / np.float32(0.03)) + 120, 0, 255)
    y = (xq - 120) * np.float64(np.float32(0.03)) @ (w * np.float64(np.float32(0.01)))
    want = np.clip(np.rint(y / np.float64(np.float32(0.05))), -128, 127) * np.float32(0.05)
    np.testing.assert_allclose(got, want, atol=0.051)
