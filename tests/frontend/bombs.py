# SPDX-License-Identifier: MIT
"""Small models that would become large: yields (name, model, word of the limit that stops it)."""
import numpy as np
from onnx import helper

from case_onnx import model, node
from onnx_control import BOOL, F, N, graph, ints

X = {"x": np.ones(2, np.float32)}


def nested_loops(depth, trips, op):
    """Loops in loops; op: what the innermost does to the value."""
    body = None
    for level in range(depth):
        s = str(level)
        inner = [op(f"v{s}", f"o{s}")] if body is None else [
            node("Loop", f"m - v{s}", f"o{s}", body=body)]
        body = graph([*inner, node("Identity", f"k{s}", f"c{s}")],
                     [(f"i{s}", N, []), (f"k{s}", BOOL, []), (f"v{s}", F, None)],
                     [f"c{s}", f"o{s}"])
    return model([node("Loop", "m - x", "y", body=body)], X, ["y"], {"m": ints(trips)[0]})


def functions(levels, calls, leaf):
    """Functions that call each other; calls: how often each one calls the next."""
    m = model([node("f0", "x", "y", "d")], X, ["y"])
    m.opset_import.append(helper.make_opsetid("d", 1))
    for level in range(levels):
        op, domain = (f"f{level + 1}", "d") if level + 1 < levels else (leaf, "")
        nodes = [node(op, f"v{i}", f"v{i + 1}", domain) for i in range(calls)]
        f = helper.make_function("d", f"f{level}", ["v0"], [f"v{calls}"], nodes,
                                 list(m.opset_import))
        m.functions.append(f)
    return m


def doubling(n, op):
    """A constant that is joined with itself again and again."""
    nodes = [node(op, f"v{i} v{i}", f"v{i + 1}", axis=0) for i in range(n)]
    nodes.append(node("ReduceMax", f"v{n}", "r"))
    return model([*nodes, node("Add", "x r", "y")], X, ["y"], {"v0": np.ones(2, np.float32)})


def filled(shape, nodes, constants=None):
    """A constant of a large shape, c, and what is done with it; the last result is r."""
    return model([node("ConstantOfShape", "s", "c"), *nodes, node("Add", "x r", "y")], X, ["y"],
                 {"s": ints(*shape), **(constants or {})})


def big_sums(n):
    """A large constant that is summed up in every round of a loop."""
    body = graph([node("ReduceMax", "c", "q"), node("Add", "v q", "o"), node("Identity", "k", "l")],
                 [("i", N, []), ("k", BOOL, []), ("v", F, None)], ["l", "o"])
    return model([node("ConstantOfShape", "s", "c"), node("Loop", "m - x", "y", body=body)], X,
                 ["y"], {"s": ints(4000, 4000), "m": ints(n)[0]})


def long_recurrence():
    """An LSTM over a long sequence, in a form that is computed step by step."""
    x, rng = np.ones((60000, 1, 1), np.float32), np.ones
    return model([node("LSTM", "x w r - l", "y", hidden_size=1, layout=0, clip=1.0)], {"x": x},
                 ["y"], {"w": rng((1, 4, 1), np.float32), "r": rng((1, 4, 1), np.float32),
                         "l": np.array([60000], np.int32)})


def bombs():
    neg = lambda a, b: node("Neg", a, b)  # noqa: E731
    yield "loops_1000_cubed", nested_loops(3, 1000, neg), "nodes"
    yield "loops_1000_squared", nested_loops(2, 1000, neg), "nodes"
    yield "empty_loops", nested_loops(4, 1000, lambda a, b: node("Identity", a, b)), "memory"
    yield "functions_2_to_30", functions(30, 2, "Neg"), "nodes"
    yield "functions_identity", functions(30, 2, "Identity"), "nodes"
    yield "functions_100_cubed", functions(3, 100, "Neg"), "nodes"


def heavy():
    """Work that is left to the backend, or rejected with a reason: either way at once."""
    yield "concat_doubles", doubling(34, "Concat")
    yield "matmul_of_constants", filled([4000, 4000], [
        node("MatMul", "c c", "d"), node("MatMul", "d d", "e"), node("ReduceMax", "e", "r")])
    yield "transposes_of_constants", filled(
        [4000, 4000], [node("Transpose", "c" if i == 0 else f"t{i}", f"t{i + 1}")
                       for i in range(200)] + [node("ReduceMax", "t200", "r")])
    yield "sums_in_loop", big_sums(1000)
    yield "long_recurrence", long_recurrence()
    yield "tile_of_constant", filled([1], [node("Tile", "c n", "d"), node("ReduceMax", "d", "r")],
                                     {"n": ints(2**40)})
    yield "range_of_many", model([node("Range", "a b c", "d"), node("ReduceMax", "d", "r",
                                                                   keepdims=0),
                                  node("Cast", "r", "f", to=F), node("Add", "x f", "y")], X, ["y"],
                                 {"a": ints(0)[0], "b": ints(2**40)[0], "c": ints(1)[0]})
    t = helper.make_tensor("value", F, [1], [1.0])
    many = [node("ConstantOfShape", "s", f"c{i}", value=t) for i in range(200)]
    many += [node("Add", f"x c{i}", f"y{i}") for i in range(200)]
    yield "many_constants", model(many, {"x": np.ones((2, 2), np.float32)},
                                  [f"y{i}" for i in range(200)], {"s": ints(2000, 2, 2)})
