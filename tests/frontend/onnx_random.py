# SPDX-License-Identifier: MIT
"""Random values, judged by statistics that the model computes."""
import numpy as np

from case_onnx import case, node

SHAPE = [400, 100]


def statistics(name, op, want, inputs=None, **attributes):
    """Mean and standard deviation of 40,000 values, within five standard errors."""
    inputs = inputs or {}
    nodes = [node(op, " ".join(inputs), "r", **attributes),
             node("ReduceMean", "r", "m", keepdims=1), node("Sub", "r m", "c"),
             node("Mul", "c c", "q"), node("ReduceMean", "q", "v", keepdims=1),
             node("Sqrt", "v", "s")]
    expected = [np.full((1, 1), number, np.float32) for number in want]
    return case(name, nodes, inputs, "m s", expected=expected, tol=0,
                atol=5 * want[1] / np.sqrt(np.prod(SHAPE)))


def repeated(op, **attributes):
    """Two nodes with the same seed give the same values, two with different seeds do not."""
    nodes = [node(op, "", "a", shape=[50], seed=5.0, **attributes),
             node(op, "", "b", shape=[50], seed=5.0, **attributes),
             node(op, "", "c", shape=[50], seed=6.0, **attributes),
             node("Sub", "a b", "same"), node("Equal", "a c", "e"), node("Cast", "e", "f", to=1),
             node("ReduceMax", "f", "other", keepdims=0)]
    return case(f"{op}_seeds", nodes, {}, "same other",
                expected=[np.zeros(50, np.float32), np.float32(0)])


def cases():
    like = {"x": np.zeros(SHAPE, np.float32)}
    yield statistics("uniform", "RandomUniform", (1.0, 4 / np.sqrt(12)), shape=SHAPE, low=-1.0,
                     high=3.0, seed=1.0)
    yield statistics("uniform_like", "RandomUniformLike", (0.5, 1 / np.sqrt(12)), like)
    yield statistics("normal", "RandomNormal", (2.0, 3.0), shape=SHAPE, mean=2.0, scale=3.0)
    yield statistics("normal_like", "RandomNormalLike", (0.0, 1.0), like, seed=9.0)
    p = {"x": np.full(SHAPE, 0.3, np.float32)}
    yield statistics("bernoulli", "Bernoulli", (0.3, np.sqrt(0.21)), p, seed=2.0)
    yield repeated("RandomUniform")
    yield repeated("RandomNormal")
    yield case("integers", node("RandomUniform", "", "y", shape=[3], dtype=6), {},
               refusal="random int32")
