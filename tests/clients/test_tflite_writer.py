# SPDX-License-Identifier: MIT
"""The writer of .tflite files that tests use, against LiteRT's own knowledge of the format."""
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
from ai_edge_litert import schema_py_generated as schema  # noqa: E402
from ai_edge_litert.interpreter import Interpreter  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from tflite_writer import OPS, TYPES, VALID, Graph  # noqa: E402


def numbers(enum):
    return {name: value for name, value in vars(enum).items() if not name.startswith("_")}


def run(graph, *inputs):
    it = Interpreter(model_content=graph.bytes())
    it.allocate_tensors()
    for detail, value in zip(it.get_input_details(), inputs):
        it.set_tensor(detail["index"], value)
    it.invoke()
    return [it.get_tensor(detail["index"]) for detail in it.get_output_details()]


def test_ops_types_and_options_have_the_numbers_of_the_format():
    types = numbers(schema.TensorType)
    assert all(types[name.upper()] == number for name, number in TYPES.items())
    codes, options = numbers(schema.BuiltinOperator), numbers(schema.BuiltinOptions)
    names = {number: name for name, number in options.items()}
    for op, (code, kind, fields) in OPS.items():
        assert codes[op] == code
        if not kind:
            continue
        theirs = [key.lower() for key in vars(getattr(schema, names[kind] + "T")())]
        mine = [f.split(":")[1].split("=")[0].replace("_", "") for f in fields if f != "-"]
        assert mine == theirs[:len(mine)], op


def test_a_float_convolution_is_what_numpy_computes():
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(1, 5, 5, 2)), rng.normal(size=(3, 2, 2, 2))
    g = Graph()
    args = [g.input("x", [1, 5, 5, 2]), g.const(w.astype(np.float32)),
            g.const(np.ones(3, np.float32))]
    g.output(g.op("CONV_2D", args, g.tensor([1, 2, 2, 3]), padding=VALID, stride_w=2, stride_h=2,
                  fused_activation_function="RELU"))
    want = np.zeros((1, 2, 2, 3))
    for i in range(2):
        for j in range(2):
            patch = x[0, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
            want[0, i, j] = np.maximum(np.tensordot(w, patch, 3) + 1, 0)
    got, = run(g, x.astype(np.float32))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_quantized_tensors_int4_constants_and_two_outputs_are_read_back():
    g = Graph()
    x = g.input("x", [1, 4], "int8", 0.5, 3)
    w = g.const(np.array([[1, -2, 3, -8], [7, 0, -1, 2]]), [0.25, 0.5], dtype="int4")
    y = g.tensor([1, 2], "int8", 1.0, -1, name="y")
    g.output(g.op("FULLY_CONNECTED", [x, w, -1], y), g.op("DEQUANTIZE", [y], g.tensor([1, 2])))
    values = np.array([[5, -7, 3, 9]], np.int8)
    real = (values - 3.0) * 0.5 @ (np.array([[1, -2, 3, -8], [7, 0, -1, 2]])
                                   * np.array([[0.25], [0.5]])).T
    got, back = run(g, values)
    np.testing.assert_allclose(got + 1.0, real, atol=0.5)
    np.testing.assert_array_equal(back, got + 1.0)
