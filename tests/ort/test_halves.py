# SPDX-License-Identifier: MIT
"""On a target SoC floats are float16: what that ruins is refused, the rest is good for all."""
import math

import numpy as np
import pytest

from provider import HTP, helper, model, session

FLOATS, CODES = ("x", np.float32, [2, 8]), ("x", np.uint8, [2, 8])
NUMBERS = np.random.default_rng(1)


def one(op, inputs, outputs, constants=(), x=FLOATS):
    names = ["x", *(name for name, _ in constants)]
    node = helper.make_node(op, names, [name for name, *_ in outputs])
    return model([node], [x, *inputs], outputs, constants, opset=19)


def codes(dtype):
    return [("y", dtype, [2, 8])]


SCALE_IN = [("s", np.float32, [])]
SPOILED = {
    "Tan": (one("Tan", [], codes(np.float32)), "near its poles an input in float16"),
    "MatMulInteger": (
        one("MatMulInteger", [], [("y", np.int32, [2, 4])],
            [("b", NUMBERS.integers(-128, 128, (8, 4)).astype(np.int8))], CODES),
        "its integer sums would be computed in float16; quantize the model statically"),
    "ConvInteger": (
        one("ConvInteger", [], [("y", np.int32, [1, 2, 4])],
            [("w", NUMBERS.integers(0, 256, (2, 8, 1)).astype(np.uint8))],
            ("x", np.uint8, [1, 8, 4])),
        "its integer sums would be computed in float16; quantize the model statically"),
    "DynamicQuantizeLinear": (
        one("DynamicQuantizeLinear", [], [*codes(np.uint8), *SCALE_IN, ("z", np.uint8, [])]),
        "its scale and values would be computed in float16; quantize the model statically"),
    "QuantizeLinear, computed scale": (
        model([helper.make_node("QuantizeLinear", ["x", "s"], ["y"])], [FLOATS, *SCALE_IN],
              codes(np.uint8), opset=19),
        "its quantized values would come from a scale in float16"),
    "QuantizeLinear": (
        one("QuantizeLinear", [], codes(np.uint8), [("s", np.float32(0.1)), ("z", np.uint8(3))]),
        "its quantized values would come from a quotient in float16"),
    "DequantizeLinear of sums": (
        one("DequantizeLinear", [], codes(np.float32), [("s", np.float32(0.001))],
            ("x", np.int32, [2, 8])),
        "its 32-bit integers would become float16 before they are scaled"),
}


EXACT = {"MatMulInteger", "ConvInteger", "DynamicQuantizeLinear", "DequantizeLinear of sums"}


@pytest.mark.parametrize("name", SPOILED)
def test_what_float16_ruins_is_refused_and_what_it_makes_coarser_unless_asked_for(name, capfd):
    spoiled, why = SPOILED[name]
    config = {"offload_graph_io_quantization": "0"}
    session(spoiled, {**HTP, **config}, fallback=True, level=2)
    assert why in capfd.readouterr().err
    with pytest.raises(Exception):
        session(spoiled, HTP)
    allowed = {**HTP, **config, "allow_float16_units": "1"}
    if name in EXACT:
        with pytest.raises(Exception):
            session(spoiled, allowed)
    else:
        capfd.readouterr()
        session(spoiled, allowed, level=2)  # without fall-back
        assert f"are computed in float16, the first one is 'y': {why}" in \
            capfd.readouterr().err
    session(spoiled, {"backend_type": "htp"})  # no chip: floats have 32 bits
    session(spoiled, {"backend_type": "cpu"})


def test_codes_of_a_scale_that_divides_exactly_are_taken():
    x = np.arange(16, dtype=np.float32).reshape(2, 8)  # 1, 3, 5, …: half-way between two codes
    quantize = one("QuantizeLinear", [], codes(np.uint8),
                   [("s", np.float32(2)), ("z", np.uint8(128))])
    got = session(quantize, HTP).run(None, {"x": x})[0]
    assert np.array_equal(got, np.rint(x / 2) + 128)


def unit16(op, constant):
    """x -> QuantizeLinear -> DequantizeLinear -> op with a float constant -> the same pair."""
    def pair(name):
        return [helper.make_node("QuantizeLinear", [name, "s", "z"], [name + "_q"]),
                helper.make_node("DequantizeLinear", [name + "_q", "s", "z"], [name + "_d"])]

    x, y = pair("x"), pair("y")
    y[1].output[0] = "out"
    return model([*x, helper.make_node(op, ["x_d", "c"], ["y"]), *y], [FLOATS],
                 [("out", np.float32, [2, 8])],
                 [("s", np.float32(1 / 4096)), ("z", np.uint16(32768)), ("c", constant)], opset=21)


def test_a_float_slope_between_codes_of_16_bits_gets_codes():
    x = (NUMBERS.integers(-32768, 32768, (2, 8)) / 4096).astype(np.float32)
    got = session(unit16("PRelu", np.float32([0.3])), HTP).run(None, {"x": x})[0]
    want = np.where(x < 0, x * np.float64(np.float32(0.3)), x)
    assert np.abs(got - want).max() <= 1.5 / 4096


def test_a_float_constant_between_codes_of_16_bits_is_not_computed_in_halves(capfd):
    session(unit16("Mul", np.float32([0.3])), HTP, fallback=True, level=2)
    assert "(Mul) is left to other providers: this op has no 16-bit form here" in \
        capfd.readouterr().err


def test_steps_finer_than_floats_show_the_floats_of_onnx():
    """Inputs near 10000 are rounded by ONNX's DequantizeLinear more than a result's step."""
    codes = np.array([[65516, 65523, 65529, 65535]], np.float64)
    scale, step = np.float32(10003 / 65535), np.float32(3.5 / 65535)
    pair = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            helper.make_node("LogSoftmax", ["d"], ["y"]),
            helper.make_node("QuantizeLinear", ["y", "t", "w"], ["r"]),
            helper.make_node("DequantizeLinear", ["r", "t", "w"], ["out"])]
    net = model(pair, [("x", np.float32, [1, 4])], [("out", np.float32, [1, 4])],
                [("s", scale), ("z", np.uint16(0)), ("t", step), ("w", np.uint16(65535))], opset=21)
    x = (codes.astype(np.float32) * scale).astype(np.float64)  # rounded to float32
    want = x - x.max() - np.log(np.exp(x - x.max()).sum())
    got = session(net, {"backend_type": "htp"}).run(None, {"x": x.astype(np.float32)})[0]
    assert np.abs(got - want).max() <= step


@pytest.mark.parametrize("op, function, scale, zero", [
    ("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), 0.7 / 65535, 0),
    ("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), 1.2 / 65535, 100),
    ("Tanh", np.tanh, 1.6 / 65535, 40000),
])
def test_results_in_another_encoding_than_the_chip_has_are_converted(op, function, scale, zero):
    """Every code; the chip knows one encoding of such results."""
    codes = np.arange(65536).reshape(1, 65536)
    nodes = [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             helper.make_node(op, ["d"], ["y"]),
             helper.make_node("QuantizeLinear", ["y", "t", "w"], ["r"])]
    net = model(nodes, [("q", np.uint16, [1, 65536])], [("r", np.uint16, [1, 65536])],
                [("s", np.float32(16 / 65535)), ("z", np.uint16(32768)), ("t", np.float32(scale)),
                 ("w", np.uint16(zero))], opset=21)
    got = session(net, HTP).run(None, {"q": codes.astype(np.uint16)})[0].astype(np.int64)
    real = function(np.float64(np.float32(16 / 65535)) * (codes - 32768))
    want = np.clip(np.rint(real / np.float64(np.float32(scale))) + zero, 0, 65535)
    assert np.abs(got - want).max() <= 1


def test_overflow_is_told_once(capfd):
    net = model([helper.make_node("Mul", ["x", "x"], ["a"], "square"),
                 helper.make_node("Sqrt", ["a"], ["y"], "root")],
                [FLOATS], [("y", np.float32, [2, 8])], opset=19)
    ours = session(net, HTP, level=2)
    for _ in range(2):
        ours.run(None, {"x": np.full((2, 8), 1000, np.float32)})
    said = capfd.readouterr().err
    assert said.count("is the first to leave the range of float16") == 1
    assert "node 'square' (ElementWiseMultiply)" in said
    session(net, HTP, level=2).run(None, {"x": np.full((2, 8), 100, np.float32)})
    assert "leave the range" not in capfd.readouterr().err


FORMULAS = {"Acosh": math.acosh, "Asinh": math.asinh, "Atanh": math.atanh, "Cosh": math.cosh,
            "Sinh": math.sinh, "Erf": math.erf,
            "Softplus": lambda x: float(np.logaddexp(0, x)),
            "Mish": lambda x: x * math.tanh(np.logaddexp(0, x))}


def value_of(function, x):
    try:
        return function(x)
    except OverflowError:
        return math.copysign(math.inf, x) if function is math.sinh else math.inf
    except ValueError:
        return math.nan


@pytest.mark.parametrize("op", FORMULAS)
def test_formulas_hold_for_every_half(op):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)].astype(np.float32)
    net = model([helper.make_node(op, ["x"], ["y"])], [("x", np.float32, x.shape)],
                [("y", np.float32, x.shape)], opset=22)
    got = session(net, HTP).run(None, {"x": x})[0].astype(np.float64)
    want = np.array([value_of(FORMULAS[op], float(v)) for v in x])
    inside = np.abs(want) <= 65504  # what is infinite depends on the chip
    bad = inside & ~(np.abs(got - want) <= 3e-3 * np.abs(want) + 2**-14)
    assert inside.sum() > 10000 and not bad.any(), [*zip(x[bad], got[bad], want[bad])][:3]
