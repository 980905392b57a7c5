# SPDX-License-Identifier: MIT
"""float64 in models: exact while it is computed at import, float32 after that. Expected values by
the ONNX reference evaluator."""
import numpy as np
from onnx import TensorProto

from case_onnx import case, node

rng = np.random.default_rng(64)
DOUBLE, FLOAT, INT = TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT64


def real(*shape):
    return rng.standard_normal(shape)


def tails():
    x = real(3, 5).astype(np.float32)
    yield case("tail", [node("Relu", "x", "r"), node("Cast", "r", "d", to=DOUBLE),
                        node("Mul", "d k", "m"), node("ReduceMean", "m a", "y", keepdims=0)],
               {"x": x}, constants={"k": np.array(1.1), "a": np.array([1])}, tol=1e-6)
    yield case("there_and_back", [node("Cast", "x", "d", to=DOUBLE), node("Sqrt", "d", "s"),
                                  node("Cast", "s", "y", to=FLOAT)], {"x": np.abs(x)}, tol=1e-6)
    yield case("like", [node("CastLike", "x k", "d"), node("Add", "d k", "y")], {"x": x},
               constants={"k": np.array([2.5])}, tol=1e-6)
    yield case("in_and_out", node("Gemm", "x w b", "y"), {"x": real(3, 5)},
               constants={"w": real(5, 4), "b": real(4)}, tol=1e-5)
    yield case("constant_out", [node("Add", "x k", "y"), node("Identity", "k", "z")],
               {"x": real(2, 3)}, "y z", {"k": np.array([1 / 3, 1e300 / 7, 0.1])[:1]}, tol=1e-6)


def exact():
    """What is constant is computed in float64: 2^53 - 1 would be 2^53 in float32."""
    big = np.array([2**53 - 1, 3], np.int64)
    yield case("folded", [node("Cast", "k", "d", to=DOUBLE), node("Mod", "d two", "m", fmod=1),
                          node("Cast", "m", "i", to=INT), node("Add", "x i", "y")],
               {"x": np.array([5, 6])}, constants={"k": big, "two": np.array(2.0)}, tol=0)
    x = rng.integers(-(2**22), 2**22, (4, 5))
    yield case("integers", [node("Cast", "x", "d", to=DOUBLE), node("Div", "d three", "q"),
                            node("Floor", "q", "f"), node("Cast", "f", "y", to=INT)], {"x": x},
               constants={"three": np.array(3.0)}, tol=0)
    yield case("sizes", [node("Shape", "x", "s"), node("Cast", "s", "d", to=DOUBLE),
                         node("Mul", "d half", "h"), node("Ceil", "h", "c"),
                         node("Cast", "c", "t", to=INT), node("Expand", "one t", "y")],
               {"x": real(5, 7).astype(np.float32)},
               constants={"half": np.array(0.5), "one": np.ones((1, 1), np.float32)})


def cases():
    yield from tails()
    yield from exact()
