# SPDX-License-Identifier: MIT
"""Models of n nodes in families that grow in different ways; model(family, n) makes one."""
import numpy as np
from onnx import helper, numpy_helper

from case_onnx import node
from onnx_control import BOOL, F, N, graph, ints


def build(nodes, inputs, outputs, constants=None, functions=(), infos=()):
    def info(name, dtype=F, shape=(2,)):
        return helper.make_tensor_value_info(name, dtype, shape)
    g = helper.make_graph(nodes, "g", [info(*i) if isinstance(i, tuple) else info(i)
                                       for i in inputs],
                          [helper.make_empty_tensor_value_info(o) for o in outputs],
                          [numpy_helper.from_array(a, k) for k, a in (constants or {}).items()],
                          value_info=[info(*i) for i in infos])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    return helper.make_model(g, opset_imports=opsets, ir_version=8, functions=list(functions))


def tree(names):
    """Adds values up, two at a time; nodes and the name of the sum."""
    nodes, at = [], 0
    while len(names) > 1:
        joined = []
        for a, b in zip(names[::2], names[1::2]):
            nodes.append(node("Add", f"{a} {b}", f"sum{at}"))
            joined.append(f"sum{at}")
            at += 1
        names = joined + names[len(names) & ~1:]
    return nodes, names[0]


def chain(n, op="Abs"):
    nodes = [node("Neg" if i % 2 else op, f"v{i}", f"v{i + 1}") for i in range(n)]
    return build(nodes, ["v0"], [f"v{n}"])


def fan_out(n):
    first = [node("Neg", "x", f"y{i}") for i in range(n // 2)]
    rest, name = tree([f"y{i}" for i in range(n // 2)])
    return build(first + rest, ["x"], [name])


def inputs(n):
    nodes, name = tree([f"x{i}" for i in range(n)])
    return build(nodes, [f"x{i}" for i in range(n)], [name])


def outputs(n):
    return build([node("Neg", "x", f"y{i}") for i in range(n)], ["x"], [f"y{i}" for i in range(n)])


def repeated_outputs(n):
    return build([node("Neg", "x", "y")], ["x"], ["y", "x"] * (n // 2))


def initializers(n):
    nodes = [node("Add", f"v{i} c{i}", f"v{i + 1}") for i in range(n)]
    return build(nodes, ["v0"], [f"v{n}"],
                 {f"c{i}": np.full(2, i, np.float32) for i in range(n)})


def if_chain(n):
    nodes = []
    for i in range(n // 4):  # an If is four: itself, its branches and the choice
        then = graph([node("Neg", f"v{i}", f"t{i}")], outputs=[f"t{i}"])
        other = graph([node("Abs", f"v{i}", f"o{i}")], outputs=[f"o{i}"])
        nodes.append(node("If", "c", f"v{i + 1}", then_branch=then, else_branch=other))
    return build(nodes, ["v0", ("c", BOOL, ())], [f"v{n // 4}"])


def nested(n):
    """Ifs that are twenty deep, one after the other."""
    nodes, deep = [], 20
    for i in range(n // (2 * deep)):
        body = graph([node("Neg", f"v{i}", f"t{i}_0")], outputs=[f"t{i}_0"])
        for d in range(1, deep):
            other = graph([node("Abs", f"v{i}", f"o{i}_{d}")], outputs=[f"o{i}_{d}"])
            body = graph([node("If", "c", f"t{i}_{d}", then_branch=body, else_branch=other)],
                         outputs=[f"t{i}_{d}"])
        other = graph([node("Exp", f"v{i}", f"e{i}")], outputs=[f"e{i}"])
        nodes.append(node("If", "c", f"v{i + 1}", then_branch=body, else_branch=other))
    return build(nodes, ["v0"], [f"v{n // (2 * deep)}"], {"c": np.array(True)})


def functions(n):
    """Many functions, each called once."""
    opset = [helper.make_opsetid("", 17)]
    made = [helper.make_function("d", f"f{i}", ["a"], ["b"], [node("Neg", "a", "b")], opset)
            for i in range(n // 2)]
    nodes = [node(f"f{i}", f"v{i}", f"v{i + 1}", "d") for i in range(n // 2)]
    return build(nodes, ["v0"], [f"v{n // 2}"], functions=made)


def calls(n):
    """One function, called often."""
    f = helper.make_function("d", "f", ["a"], ["b"], [node("Neg", "a", "b")],
                             [helper.make_opsetid("", 17)])
    nodes = [node("f", f"v{i}", f"v{i + 1}", "d") for i in range(n // 2)]
    return build(nodes, ["v0"], [f"v{n // 2}"], functions=[f])


def quantized(n):
    nodes, last = [], n // 3
    for i in range(last):
        nodes += [node("QuantizeLinear", f"v{i} s z", f"q{i}"),
                  node("DequantizeLinear", f"q{i} s z", f"d{i}"),
                  node("Relu" if i % 2 else "Sigmoid", f"d{i}", f"v{i + 1}")]
    return build(nodes, ["v0"], [f"v{last}"], {"s": np.float32(0.01), "z": np.uint8(128)})


def concat(n):
    return build([node("Concat", " ".join(f"x{i % 8}" for i in range(n)), "y", axis=0)],
                 [f"x{i}" for i in range(8)], ["y"])


def split(n):
    """Splits into 32 parts each, joined again."""
    nodes = []
    for i in range(n // 33):
        parts = " ".join(f"p{i}_{j}" for j in range(32))
        nodes += [node("Split", f"v{i}", parts, axis=0), node("Concat", parts, f"v{i + 1}", axis=0)]
    return build(nodes, [("v0", F, (64,))], [f"v{n // 33}"])


def loops(n):
    nodes, rounds = [], 1000
    for i in range(max(n // (2 * rounds), 1)):
        body = graph([node("Neg", f"a{i}", f"b{i}"), node("Identity", f"k{i}", f"l{i}")],
                     [(f"i{i}", N, []), (f"k{i}", BOOL, []), (f"a{i}", F, None)],
                     [f"l{i}", f"b{i}"])
        nodes.append(node("Loop", f"m - v{i}", f"v{i + 1}", body=body))
    return build(nodes, ["v0"], [f"v{len(nodes)}"], {"m": ints(rounds)[0]})


def diamonds(n):
    nodes = []
    for i in range(n // 3):
        nodes += [node("Neg", f"v{i}", f"a{i}"), node("Abs", f"v{i}", f"b{i}"),
                  node("Max", f"a{i} b{i}", f"v{i + 1}")]
    return build(nodes, ["v0"], [f"v{n // 3}"])


def folded(n):
    nodes = [node("Add", f"c{i} c0", f"c{i + 1}") for i in range(n)]
    nodes.append(node("Add", f"x c{n}", "y"))
    return build(nodes, ["x"], ["y"], {"c0": np.ones(2, np.float32)})


def convolutions(n):
    nodes = []
    for i in range(n // 2):
        nodes += [node("Conv", f"v{i} w", f"c{i}"), node("Relu", f"c{i}", f"v{i + 1}")]
    return build(nodes, [("v0", F, (1, 4, 2, 2))], [f"v{n // 2}"],
                 {"w": np.ones((4, 4, 1, 1), np.float32)})


def matmuls(n):
    nodes = []
    for i in range(n // 2):
        nodes += [node("MatMul", f"v{i} w", f"c{i}"), node("Add", f"c{i} b", f"v{i + 1}")]
    return build(nodes, [("v0", F, (2, 2))], [f"v{n // 2}"],
                 {"w": np.eye(2, dtype=np.float32), "b": np.ones(2, np.float32)})


def norms(n):
    """Patterns of seven nodes, with a declared shape for every value."""
    nodes, infos = [], []
    for i in range(n // 7):
        nodes += [node("ReduceMean", f"v{i}", f"m{i}", axes=[-1]),
                  node("Sub", f"v{i} m{i}", f"d{i}"), node("Mul", f"d{i} d{i}", f"q{i}"),
                  node("ReduceMean", f"q{i}", f"w{i}", axes=[-1]),
                  node("Add", f"w{i} eps", f"e{i}"), node("Sqrt", f"e{i}", f"s{i}"),
                  node("Div", f"d{i} s{i}", f"v{i + 1}")]
        infos += [(f"{k}{i}", F, (2, 4 if k == "d" or k == "q" else 1)) for k in "mdqwes"]
    return build(nodes, [("v0", F, (2, 4))], [f"v{n // 7}"], {"eps": np.float32(1e-5)},
                 infos=infos)


FAMILIES = [chain, fan_out, inputs, outputs, repeated_outputs, initializers, if_chain, nested,
            functions, calls, quantized, concat, split, loops, diamonds, folded, convolutions,
            matmuls, norms]
