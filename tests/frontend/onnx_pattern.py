# SPDX-License-Identifier: MIT
"""Groups of nodes that are imported as one op, and groups that look like it and must not be.
Expected values by numpy in float64; `ops` says how many ops the QNN graph has."""
from math import erf, sqrt

import numpy as np
import onnx
from onnx import helper

from case_onnx import Case, case, encoding, model, node

RNG = np.random.default_rng(29)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def number(value, shape=()):
    return np.full(shape, value, np.float32)


def gelu(x):
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.vectorize(erf)(x / sqrt(2)))


def gelus():
    x = 3 * normal(2, 5, 7)
    inner = [node("Div", "x r", "s"), node("Erf", "s", "e"), node("Add", "e one", "a")]
    forms = {
        "after": inner + [node("Mul", "x a", "m"), node("Mul", "m half", "y")],
        "swapped": inner + [node("Mul", "a x", "m"), node("Mul", "half m", "y")],
        "on_sum": inner + [node("Mul", "half a", "m"), node("Mul", "x m", "y")],
        "on_x": [node("Mul", "x half", "h")] + inner + [node("Mul", "h a", "y")],
        "on_x_late": inner + [node("Mul", "x half", "h"), node("Mul", "a h", "y")],
        "by_factor": [node("Mul", "q x", "s")] + inner[1:] +
                     [node("Mul", "x a", "m"), node("Mul", "m half", "y")],
    }
    numbers = {"r": number(sqrt(2)), "one": number(1, (1,)), "half": number(0.5),
               "q": number(sqrt(0.5))}
    for name, nodes in forms.items():
        used = {n for v in nodes for n in v.input}
        yield case(f"gelu_{name}", nodes, {"x": x}, ops=1, expected=[gelu(x).astype(np.float32)],
                   constants={n: v for n, v in numbers.items() if n in used})
    numbers.pop("q")
    after = forms["after"]
    # Somebody reads an inner value: all of it stays.
    m = 2 * gelu(x)
    yield case("gelu_inner_output", after, {"x": x}, "y m", constants=numbers,
               expected=[gelu(x).astype(np.float32), m.astype(np.float32)])
    yield case("gelu_inner_read", after + [node("Neg", "m", "z")], {"x": x}, "y z",
               constants=numbers,
               expected=[gelu(x).astype(np.float32), (-m).astype(np.float32)])
    # Other numbers, another x.
    for name, changed in (("one", 1.25), ("half", 0.75), ("r", 1.5)):
        yield case(f"gelu_other_{name}", after, {"x": x},
                   constants={**numbers, name: number(changed)})
    yield case("gelu_other_x", inner + [node("Mul", "z a", "m"), node("Mul", "m half", "y")],
               {"x": x, "z": normal(2, 5, 7)}, constants=numbers)


def gelu_between_quantizers():
    x = 3 * normal(4, 9)
    (s, z), (t, w) = encoding(x), encoding(gelu(x))
    codes = np.clip(np.rint(x / s) + z, 0, 255)
    want = gelu((codes - float(z)) * float(s))
    nodes = [node("QuantizeLinear", "f s z", "q"), node("DequantizeLinear", "q s z", "x"),
             node("Div", "x r", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"),
             node("Mul", "x a", "m"), node("Mul", "m half", "g"),
             node("QuantizeLinear", "g t w", "k"), node("DequantizeLinear", "k t w", "y")]
    m = model(nodes, {"f": x}, ["y"], {"r": number(sqrt(2)), "one": number(1), "half": number(0.5),
                                       "s": s, "z": z, "t": t, "w": w})
    return Case("gelu_between_quantizers", m, [x], [want.astype(np.float32)], tol=0,
                atol=0.51 * float(t), ops=3)


def tanh_gelu(x):
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def tanh_gelus():
    """The approximation, with the cube in the ways in which exporters write it."""
    x = 3 * normal(2, 5, 7)
    cubes = {"pow": [node("Pow", "x three", "q"), node("Mul", "q c", "p"), node("Add", "x p", "s"),
                     node("Mul", "k s", "u")],
             "flax": [node("Mul", "c x", "q"), node("Mul", "x q", "r"), node("Mul", "x r", "p"),
                      node("Add", "x p", "s"), node("Mul", "k s", "u")],
             "factored": [node("Mul", "x x", "q"), node("Mul", "q c", "r"),
                          node("Add", "r one", "p"), node("Mul", "x k", "s"),
                          node("Mul", "s p", "u")]}
    ends = {"on_sum": [node("Mul", "half a", "m"), node("Mul", "x m", "y")],
            "on_x": [node("Mul", "half x", "h"), node("Mul", "h a", "y")],
            "halved": [node("Mul", "x a", "m"), node("Div", "m two", "y")]}
    numbers = {"three": number(3), "two": number(2), "one": number(1), "half": number(0.5),
               "c": number(0.044715), "k": number(sqrt(2 / np.pi))}
    want = [tanh_gelu(x).astype(np.float32)]
    for name, cube in cubes.items():
        for end, last in ends.items():
            nodes = cube + [node("Tanh", "u", "t"), node("Add", "t one", "a")] + last
            used = {n for v in nodes for n in v.input}
            c = {n: v for n, v in numbers.items() if n in used}
            yield case(f"tanh_gelu_{name}_{end}", nodes, {"x": x}, constants=c, expected=want,
                       ops=6)
            if end == "on_sum":  # others that look like it; dimensions that a number adds
                yield case(f"tanh_gelu_{name}_other", nodes, {"x": x},
                           constants={**c, "c": number(0.05)})
                yield case(f"tanh_gelu_{name}_wide", nodes, {"x": x},
                           constants={**c, "one": number(1, (1, 1, 1, 1))})
    nodes = cubes["flax"] + [node("Tanh", "u", "t"), node("Add", "t one", "a")] + ends["on_sum"]
    used = {n for v in nodes for n in v.input}
    yield fast_norm("tanh_gelu_numbers_of_rank_3", nodes, x, {
        **{n: v for n, v in numbers.items() if n in used}, "one": number(1, (1, 1, 1))},
        expected=want, ops=6)
    (s, z), (t, w) = encoding(x), encoding(tanh_gelu(x))
    codes = np.clip(np.rint(x / s) + z, 0, 255)
    real = tanh_gelu((codes - float(z)) * float(s))
    m = model([node("QuantizeLinear", "f s0 z0", "q0"), node("DequantizeLinear", "q0 s0 z0", "x"),
               *nodes[:-1], node("Mul", "x m", "g"), node("QuantizeLinear", "g s1 z1", "q1"),
               node("DequantizeLinear", "q1 s1 z1", "y")],
              {"f": x}, ["y"], {**{n: v for n, v in numbers.items() if n in used}, "s0": s,
                                "z0": z, "s1": t, "z1": w})
    yield Case("tanh_gelu_between_quantizers", m, [x], [real.astype(np.float32)], tol=0,
               atol=0.51 * float(t) + 5e-4, ops=3)


def softmaxes():
    x = normal(2, 3, 9) * 4
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    want = [(e / e.sum(-1, keepdims=True)).astype(np.float32)]
    c = {"axis": np.array([2]), "rows": np.array([2, 3, 1]), "low": number(-np.inf)}
    kept = [node("ReduceMax", "x axis", "m"), node("Sub", "x m", "d"), node("Exp", "d", "e"),
            node("ReduceSum", "e axis", "s"), node("Div", "e s", "y")]
    lost = [node("ReduceMax", "x axis", "m", keepdims=0), node("Max", "low m", "n"),
            node("Reshape", "n rows", "r"), node("Sub", "x r", "d"), node("Exp", "d", "e"),
            node("ReduceSum", "e axis", "s", keepdims=0), node("Reshape", "s rows", "t"),
            node("Div", "e t", "y")]
    plain = [node("Exp", "x", "e"), node("ReduceSum", "e axis", "s"), node("Div", "e s", "y")]
    for name, nodes in (("kept", kept), ("lost", lost), ("plain", plain)):
        yield fast_norm(f"softmax_{name}", nodes, x, c, expected=want, ops=1)
    # Ranks of inner values that nobody declares follow from the input's.
    yield case("softmax_undeclared", kept, {"x": x}, constants={"axis": c["axis"]}, expected=want,
               ops=1)
    deep = [node("Reshape", "z to", "x"), *kept]
    used = {"to": np.array([2, 3, 9, 1]), "axis": c["axis"]}
    yield case("softmax_other_rank", deep, {"z": x}, constants=used)
    made = onnx.shape_inference.infer_shapes(case("", deep, {"z": x}, constants=used).model)
    keep_info(made, "x")
    yield stale(Case("softmax_stale_rank", made, [x], None), {"x": [2, 3, 9]},
                "declares 3 dimensions for 'x', which has 4")
    yield fast_norm("softmax_inner_read", kept, x, c, "y e")
    yield fast_norm("softmax_other_axis", kept, x, {**c, "axis": np.array([1])})
    yield fast_norm("softmax_floor", lost, x, {**c, "low": number(3)})
    yield fast_norm("softmax_other_sum", [*kept[:3], node("ReduceSum", "d axis", "s"), kept[4]], x,
                    c, tol=1e-3)


def biases():
    w, b = normal(6, 5), normal(5)
    for shape, ops in (((3, 6), 1), ((2, 3, 6), 3), ((2, 1, 3, 6), 3), ((6,), 3)):
        x = normal(*shape)
        want = np.matmul(x.astype(np.float64), w.astype(np.float64)) + b
        for swap in (False, True):
            add = node("Add", "b m" if swap else "m b", "y")
            yield case(f"bias_{len(shape)}d_{swap}", [node("MatMul", "x w", "m"), add], {"x": x},
                       constants={"w": w, "b": b}, expected=[want.astype(np.float32)], ops=ops)
    x = normal(2, 3, 6)
    product = np.matmul(x.astype(np.float64), w.astype(np.float64))
    two = [node("MatMul", "x w", "m"), node("Add", "m b", "y")]
    # Not a row, not constant, wanted by others, not real.
    for name, other in (("matrix", normal(3, 5)), ("number", normal(1)), ("column", normal(3, 1)),
                        ("wide", normal(4, 1, 1, 5))):
        yield case(f"bias_{name}", two, {"x": x}, constants={"w": w, "b": other},
                   expected=[(product + other).astype(np.float32)])
    yield case("bias_run_time", two, {"x": x, "b": b}, constants={"w": w},
               expected=[(product + b).astype(np.float32)])
    yield case("bias_inner_output", two, {"x": x}, "y m", constants={"w": w, "b": b},
               expected=[(product + b).astype(np.float32), product.astype(np.float32)])
    i = {n: RNG.integers(-9, 9, s).astype(np.int32) for n, s in
         (("x", (2, 3, 6)), ("w", (6, 5)), ("b", (5,)))}
    yield case("bias_integers", two, {"x": i["x"]}, constants={"w": i["w"], "b": i["b"]},
               expected=[np.matmul(i["x"], i["w"]) + i["b"]])
    yield case("bias_all_constant", two + [node("Add", "y z", "t")], {"z": normal(2, 3, 5)}, "t",
               constants={"x": x, "w": w, "b": b})


def bias_between_quantizers():
    x, w, b = normal(2, 3, 6), normal(6, 5), normal(5)
    (s, z), (v, o) = encoding(x), encoding(w, signed=True)
    v, o = np.float32(np.abs(w).max() / 127), np.int8(0)
    kernel = np.clip(np.rint(w / v), -127, 127).astype(np.int8)
    codes = np.clip(np.rint(x / s) + z, 0, 255)
    want = np.matmul((codes - float(z)) * float(s), kernel * float(v)) + b
    t, u = encoding(want)
    nodes = [node("QuantizeLinear", "f s z", "q"), node("DequantizeLinear", "q s z", "x"),
             node("DequantizeLinear", "k v o", "w"), node("MatMul", "x w", "m"),
             node("Add", "m b", "g"), node("QuantizeLinear", "g t u", "c"),
             node("DequantizeLinear", "c t u", "y")]
    m = model(nodes, {"f": x}, ["y"], {"k": kernel, "v": v, "o": o, "b": b, "s": s, "z": z, "t": t,
                                       "u": u})
    return Case("bias_between_quantizers", m, [x], [want.astype(np.float32)], tol=0,
                atol=0.51 * float(t), ops=5)


def layer_norm(x, gamma, beta, epsilon):
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + epsilon) * gamma + beta


def layer_norms():
    x, gamma, beta = normal(2, 3, 16) * 2 + 1, normal(16), normal(16)
    constants = {"two": number(2), "eps": number(1e-5), "g": gamma, "b": beta}
    axes = np.array([-1], np.int64)

    def nodes(new, square, twice):
        def mean(a, b):
            return node("ReduceMean", f"{a} axes", b) if new else \
                node("ReduceMean", a, b, axes=[-1])
        d = "d2" if twice else "d"
        return [mean("x", "m"), node("Sub", "x m", "d"),
                *([node("Sub", "x m", "d2")] if twice else []),
                node("Pow", f"{d} two", "p") if square else node("Mul", f"{d} {d}", "p"),
                mean("p", "v"), node("Add", "v eps", "e"), node("Sqrt", "e", "r"),
                node("Div", "d r", "n"), node("Mul", "n g", "s"), node("Add", "s b", "y")]

    want = layer_norm(x, gamma, beta, 1e-5).astype(np.float32)
    for new, square, twice in ((True, True, False), (False, True, False), (True, False, False),
                               (True, True, True)):
        used = dict(constants, **({"axes": axes} if new else {}))
        if not square:
            used.pop("two")
        yield case(f"layer_norm_{int(new)}{int(square)}{int(twice)}", nodes(new, square, twice),
                   {"x": x}, constants=used, opset=22 if new else 13, expected=[want], ops=1)
    plain = nodes(True, True, False)
    scale = layer_norm(x, gamma, 0, 1e-5).astype(np.float32)
    used = {n: v for n, v in constants.items() if n != "b"}
    yield case("layer_norm_no_beta", plain[:-2] + [node("Mul", "n g", "y")], {"x": x},
               constants={**used, "axes": axes}, expected=[scale], ops=1)
    yield case("layer_norm_inner_read", plain, {"x": x}, "y d", constants={**constants,
                                                                           "axes": axes})
    yield case("layer_norm_other_axis", plain, {"x": normal(2, 16, 16)},
               constants={**constants, "axes": np.array([1], np.int64)})
    yield case("layer_norm_cube", plain, {"x": x},
               constants={**constants, "two": number(4), "axes": axes})


def axis_norms():
    """Along channels that are not the last axis: a Transpose before and behind."""
    x, gamma, beta = normal(2, 16, 3, 5) * 2 + 1, normal(16, 1, 1), normal(1, 16, 1, 1)
    c = {"two": number(2), "eps": number(1e-5), "g": gamma, "b": beta, "axes": np.array([1])}
    nodes = [node("ReduceMean", "x axes", "m"), node("Sub", "x m", "d"), node("Pow", "d two", "p"),
             node("ReduceMean", "p axes", "v"), node("Add", "v eps", "e"), node("Sqrt", "e", "r"),
             node("Div", "d r", "n"), node("Mul", "g n", "s"), node("Add", "s b", "y")]
    moved = lambda v, *to: np.moveaxis(v, *to)
    want = moved(layer_norm(moved(x, 1, -1), gamma.ravel(), beta.ravel(), 1e-5), -1, 1)
    yield fast_norm("axis_norm", nodes, x, c, expected=[want.astype(np.float32)], ops=3)
    yield fast_norm("axis_norm_negative", nodes, x, {**c, "axes": np.array([-3])},
                    expected=[want.astype(np.float32)], ops=3)
    rows = {**c, "axes": np.array([3]), "g": normal(5), "b": normal(5)}
    last = layer_norm(x, rows["g"], rows["b"], 1e-5).astype(np.float32)
    yield fast_norm("axis_norm_last_by_number", nodes, x, rows, expected=[last], ops=1)
    # A factor for another axis than the one that is normalized, and one of another length.
    square = normal(2, 5, 3, 5) * 2 + 1
    yield fast_norm("axis_norm_rows", nodes, square, {**rows, "axes": np.array([1])})
    yield fast_norm("axis_norm_matrix", nodes, x, {**c, "g": normal(16, 3, 1)})
    for axis in (-9, -2 ** 63):
        yield case(f"axis_norm_at_{axis}", nodes, {"x": x}, refusal="axis",
                   constants={**c, "axes": np.array([axis])})
    bare = nodes[:6] + [node("Div", "d r", "y")]
    want = moved(layer_norm(moved(x, 1, -1), 1, 0, 1e-5), -1, 1).astype(np.float32)
    yield fast_norm("bare_norm", bare, x, c, expected=[want], ops=3)
    fast = fast_norm_nodes(0, 1, 0)
    f = {"axis": np.array([1]), "inverse": number(1 / 16), "zero": number(0),
         "one": np.array([2, 1, 3, 5]), "e": number(1e-5), "g": gamma, "b": beta}
    want = moved(layer_norm(moved(x, 1, -1), gamma.ravel(), beta.ravel(), 1e-5), -1, 1)
    yield fast_norm("axis_norm_fast", fast, x, f, expected=[want.astype(np.float32)], ops=3)


def folded_norms():
    """As TensorFlow writes them: by a reciprocal, and with gamma in the factor of x and mean."""
    x, c = normal(2, 3, 16) * 2 + 1, {"eps": number(1e-5), "g": normal(16), "b": normal(16)}
    mean = lambda a, b: node("ReduceMean", a, b, axes=[-1])
    root = [mean("x", "m"), node("Sub", "x m", "d"), node("Mul", "d d", "p"), mean("p", "v"),
            node("Add", "v eps", "e"), node("Sqrt", "e", "r"), node("Reciprocal", "r", "i")]
    plain = root + [node("Mul", "d i", "n"), node("Mul", "n g", "s"), node("Add", "s b", "y")]
    end = [node("Mul", "m s", "k"), node("Sub", "b k", "t"), node("Add", "l t", "y")]
    folded = root + [node("Mul", "i g", "s"), node("Mul", "x s", "l"), *end]
    swapped = root + [node("Mul", "g i", "s"), node("Mul", "s x", "l"), node("Mul", "s m", "k"),
                      node("Sub", "b k", "t"), node("Add", "t l", "y")]
    want = [layer_norm(x, c["g"], c["b"], 1e-5).astype(np.float32)]
    for name, nodes in (("reciprocal", plain), ("folded", folded), ("swapped", swapped)):
        yield case(f"layer_norm_{name}", nodes, {"x": x}, constants=c, opset=13, expected=want,
                   ops=1)
    # Somebody reads the factor; another mean or x than that of the variance.
    yield case("layer_norm_folded_inner_read", folded, {"x": x}, "y s", constants=c, opset=13)
    other = {"x": x, "z": normal(2, 3, 16)}
    yield case("layer_norm_folded_other_mean", root + [
        node("Mul", "i g", "s"), node("Mul", "x s", "l"), mean("z", "o"), node("Mul", "o s", "k"),
        *end[1:]], other, constants=c, opset=13)
    yield case("layer_norm_folded_other_x", root + [
        node("Mul", "i g", "s"), node("Mul", "z s", "l"), *end], other, constants=c, opset=13)


def fast_norm_nodes(kept, clipped, expanded):
    """The variance as a difference; the mean loses its axis and gets it back, or keeps it."""
    if kept:
        mean, var = "m", "v"
        shape = []
    else:
        mean, var = ("m2", "v2") if expanded else ("m1", "v1")
        shape = [node("Reshape", "m one", "m1"), node("Reshape", "v one", "v1")]
        if expanded:
            shape += [node("Expand", "m1 all", "m2"), node("Expand", "v1 all", "v2")]
    return [node("ReduceSum", "x axis", "s", keepdims=kept), node("Mul", "s inverse", "m"),
            node("Mul", "x x", "xx"), node("ReduceSum", "xx axis", "ss", keepdims=kept),
            node("Mul", "inverse ss", "q"), node("Mul", "m m", "mm"),
            node("Sub", "q mm", "w" if clipped else "v"),
            *([node("Max", "zero w", "v")] if clipped else []), *shape,
            node("Add", f"{var} e", "a"), node("Sqrt", "a", "r"), node("Reciprocal", "r", "i"),
            node("Mul", "i g", "f"), node("Sub", f"x {mean}", "d"), node("Mul", "d f", "p"),
            node("Add", "p b", "y")]


def fast_norm(name, nodes, x, constants, outputs="y", expected=None, **limits):
    """A case with the shapes of inner values, which the pattern asks for."""
    used = {n for v in nodes for n in v.input}
    made = case(name, nodes, {"x": x}, outputs, expected=expected,
                constants={n: v for n, v in constants.items() if n in used}, **limits)
    made.model = onnx.shape_inference.infer_shapes(made.model)
    return made


def keep_info(made, name):
    """The model with the declared shape of one inner value."""
    infos = [v for v in made.graph.value_info if v.name == name]
    made.graph.ClearField("value_info")
    made.graph.value_info.extend(infos)


def stale(made, shapes, refusal):
    """The case with other declarations of some values than they have."""
    for value in [*made.model.graph.value_info, *made.model.graph.output]:
        if value.name in shapes:
            value.CopyFrom(helper.make_tensor_value_info(value.name, 1, shapes.pop(value.name)))
    assert not shapes
    made.expected, made.refusal = None, refusal
    return made


def fast_norms():
    def constants(x, rank=1, axis=2):
        n, row = x.shape[axis], (1,) * (rank - 1) + (x.shape[-1],)
        rows = [1 if i == axis else s for i, s in enumerate(x.shape)]
        return {"axis": np.array([axis]), "inverse": number(1 / n), "zero": number(0),
                "one": np.array(rows), "all": np.array(x.shape), "e": number(1e-5),
                "g": normal(*row), "b": normal(*row)}

    x = normal(2, 3, 16) * 2 + 1
    for kept, clipped, expanded, rank in ((0, 1, 1, 3), (0, 1, 0, 1), (1, 0, 0, 1), (1, 1, 0, 2)):
        c = constants(x, rank)
        want = [layer_norm(x, c["g"], c["b"], 1e-5).astype(np.float32)]
        yield fast_norm(f"fast_norm_{kept}{clipped}{expanded}{rank}",
                        fast_norm_nodes(kept, clipped, expanded), x, c, expected=want, ops=1)
    c, plain = constants(x), fast_norm_nodes(0, 1, 1)
    want = [layer_norm(x, c["g"], c["b"], 1e-5).astype(np.float32)]
    yield fast_norm("fast_norm_last", plain, x, {**c, "axis": np.array([-1])}, expected=want, ops=1)
    # What looks like it.
    yield fast_norm("fast_norm_inner_read", plain, x, c, "y r")
    yield fast_norm("fast_norm_other_length", plain, x, {**c, "inverse": number(1 / 15)})
    yield fast_norm("fast_norm_floor", plain, x, {**c, "zero": number(9)})
    yield fast_norm("fast_norm_larger", plain, x, {**c, "b": normal(1, 1, 1, 16)})
    square = normal(2, 8, 8) * 2 + 1
    yield fast_norm("fast_norm_other_axis", plain, square, constants(square, axis=1))
    yield fast_norm("fast_norm_turned", plain, square,
                    {**constants(square), "one": np.array([2, 1, 8])})
    # Declared as if it were one.
    yield stale(fast_norm("fast_norm_stale", plain, square, {**constants(square),
                                                             "one": np.array([2, 1, 8])}),
                {"m1": [2, 8, 1], "v1": [2, 8, 1]}, "declares another shape for ")
    flat = [n if n.output[0] not in ("m2", "v2") else node("Expand", f"{n.output[0][0]} all",
                                                           n.output[0]) for n in plain]
    cube = normal(8, 8, 8)
    yield fast_norm("fast_norm_unturned", [n for n in flat if n.op_type != "Reshape"], cube,
                    constants(cube), tol=1e-4)


def rms_norms():
    x, gamma = normal(2, 3, 16) * 2 + 1, normal(16)
    y = x.astype(np.float64)
    want = [(y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6) * gamma).astype(np.float32)]
    front = [node("Pow", "x two", "p"), node("ReduceMean", "p axes", "v"),
             node("Add", "eps v", "e"), node("Sqrt", "e", "r")]
    forms = {
        "reciprocal": [node("Reciprocal", "r", "i"), node("Mul", "x i", "n"),
                       node("Mul", "n g", "y")],
        "one_over": [node("Div", "one r", "i"), node("Mul", "i x", "n"), node("Mul", "g n", "y")],
        "over": [node("Div", "x r", "n"), node("Mul", "g n", "y")],
    }
    constants = {"two": number(2), "eps": number(1e-6), "g": gamma, "one": number(1),
                 "axes": np.array([-1], np.int64)}
    for name, back in forms.items():
        used = {n: v for n, v in constants.items() if n != "one" or name == "one_over"}
        yield case(f"rms_norm_{name}", front + back, {"x": x}, constants=used, expected=want,
                   ops=1)
    constants.pop("one")
    z = normal(2, 3, 16)
    yield case("rms_norm_other_x", front + [node("Div", "z r", "n"), node("Mul", "g n", "y")],
               {"x": x, "z": z}, constants=constants)
    yield case("rms_norm_inner_read", front + forms["over"], {"x": x}, "y r", constants=constants)


def rms_norms_between_quantizers():
    """With one DequantizeLinear for both readers, and with two as ONNX Runtime makes them."""
    x, gamma = normal(2, 3, 16) * 2 + 1, normal(16)
    norm = lambda v: v / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-6) * gamma
    (s, z), (t, w) = encoding(x, 16), encoding(norm(x.astype(np.float64)), 16)
    codes = np.clip(np.rint(x / s) + z, 0, 65535)
    want = norm((codes - float(z)) * float(s))
    for name, other in (("one_reader", "x"), ("two_readers", "x2")):
        nodes = [node("QuantizeLinear", "f s z", "q"), node("DequantizeLinear", "q s z", "x")]
        nodes += [node("DequantizeLinear", "q s z", "x2")] * (other != "x")
        nodes += [node("Pow", f"{other} two", "p"), node("ReduceMean", "p axes", "v"),
                  node("Add", "eps v", "e"), node("Sqrt", "e", "r"), node("Div", "one r", "i"),
                  node("Mul", "i x", "n"), node("Mul", "g n", "o"),
                  node("QuantizeLinear", "o t w", "k"), node("DequantizeLinear", "k t w", "y")]
        m = model(nodes, {"f": x}, ["y"], {
            "two": number(2), "eps": number(1e-6), "g": gamma, "one": number(1), "s": s, "z": z,
            "t": t, "w": w, "axes": np.array([-1], np.int64)})
        yield Case(f"rms_norm_{name}", m, [x], [want.astype(np.float32)], tol=0,
                   atol=1.01 * float(t), ops=3)


def picks():
    x = normal(3, 4, 5)
    for axis in (0, 1, -1):
        for index in (0, -1):
            yield case(f"gather_one_{axis}_{index}", node("Gather", "x i", "y", axis=axis),
                       {"x": x}, constants={"i": np.array(index)}, ops=2)
    yield case("gather_one_beyond", node("Gather", "x i", "y"), {"x": x},
               constants={"i": np.array(3)}, refusal="index 3")


def rearranged(name, shape, six, perm, last, outputs="y", **limits):
    """Reshape, Transpose, Reshape with declared shapes; the evaluator says what comes out."""
    made = case(name, [node("Reshape", "x six", "a"), node("Transpose", "a", "b", perm=perm),
                       node("Reshape", "b last", "y")], {"x": normal(*shape)}, outputs,
                constants={"six": np.array(six), "last": np.array(last)}, **limits)
    made.model = onnx.shape_inference.infer_shapes(made.model)
    return made


def rearrangements():
    yield rearranged("windows_one", (1, 8, 12, 5), (1, 2, 4, 3, 4, 5), (0, 1, 3, 2, 4, 5),
                     (6, 4, 4, 5), ops=3)
    yield rearranged("windows_back", (6, 4, 4, 5), (1, 2, 3, 4, 4, 5), (0, 1, 3, 2, 4, 5),
                     (1, 8, 12, 5), ops=3)
    yield rearranged("windows_two", (2, 8, 12, 5), (2, 2, 4, 3, 4, 5), (0, 1, 3, 2, 4, 5),
                     (-1, 4, 4, 5), ops=3)
    yield rearranged("windows_seven", (2, 8, 12, 5), (2, 1, 2, 4, 3, 4, 5), (1, 0, 2, 4, 3, 5, 6),
                     (12, 4, 20), ops=3)
    yield rearranged("windows_kept", (2, 8, 12, 5), (0, 2, -1, 3, 4, 5), (0, 1, 3, 2, 4, 5),
                     (-1, 0, 4, 5), ops=3)
    yield stale(rearranged("windows_stale", (2, 8, 12, 5), (2, 4, 2, 3, 4, 5), (0, 1, 3, 2, 4, 5),
                           (12, 4, 4, 5)), {"a": [2, 2, 4, 3, 4, 5], "b": [2, 2, 3, 4, 4, 5]},
                "declares another shape for 'a'")
    yield stale(rearranged("windows_stale_end", (2, 8, 12, 5), (2, 2, 4, 3, 4, 5),
                           (0, 1, 3, 2, 4, 5), (12, 4, 4, 5)), {"y": [4, 12, 4, 5]},
                "declares another shape for 'y'")
    for name, shape, six, perm, last in (
            ("windows", (2, 8, 12, 5), (2, 2, 4, 3, 4, 5), (0, 1, 3, 2, 4, 5), (12, 4, 4, 5)),
            ("pixels", (1, 12, 3, 5), (0, 3, 2, 2, -1, 5), (0, 1, 4, 2, 5, 3), (0, 3, 6, -1)),
            ("reversed", (6, 6, 6), (2, 3, 2, 3, 2, 3), (5, 4, 3, 2, 1, 0), (6, 6, 6))):
        yield case(f"undeclared_{name}", [
            node("Relu", "x", "r"), node("Reshape", "r six", "a"),
            node("Transpose", "a", "b", perm=perm), node("Shape", "r", "s"),
            node("Slice", "s zero zero", "none"), node("Concat", "none last", "t", axis=0),
            node("Reshape", "b t", "y")], {"x": normal(*shape)},
            constants={"six": np.array(six), "last": np.array(last), "zero": np.array([0])})
    yield rearranged("pixels", (1, 12, 3, 5), (1, 3, 2, 2, 3, 5), (0, 1, 4, 2, 5, 3),
                     (1, 3, 6, 10), ops=3)
    yield rearranged("ones_turned", (6, 5), (1, 6, 1, 5, 1, 1), (2, 1, 0, 5, 3, 4), (3, 10))
    yield rearranged("all_ones", (1, 1), (1,) * 6, (2, 1, 0, 5, 3, 4), (1,))
    yield rearranged("reversed_six", (6, 6, 6), (2, 3, 2, 3, 2, 3), (5, 4, 3, 2, 1, 0), (6, 6, 6))
    yield rearranged("windows_inner_read", (1, 8, 12, 5), (1, 2, 4, 3, 4, 5), (0, 1, 3, 2, 4, 5),
                     (6, 4, 4, 5), "y b")
    # A model's node of that name is no node of ours.
    fake = helper.make_node("Rearrange", ["x"], ["y"], domain="quern", split=[2, 3], perm=[1, 0],
                            shape=[3, 2])
    graph = helper.make_graph([fake], "g", [helper.make_tensor_value_info("x", 1, [2, 3])],
                              [helper.make_tensor_value_info("y", 1, [3, 2])])
    yield Case("rearrange_foreign", helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("quern", 1)], ir_version=8),
        [normal(2, 3)], refusal="quern.Rearrange is not supported")


def repeats():
    """Tiles in more dimensions than accelerators have."""
    for name, shape, more in (("heads", (2, 3, 1, 4, 5), (2, 3, 6, 4, 5)),
                              ("first", (1, 2, 3, 2, 2), (4, 2, 3, 2, 2)),
                              ("last", (2, 3, 2, 2, 1), (2, 3, 2, 2, 3)),
                              ("two", (2, 1, 3, 1, 2, 2), (2, 5, 3, 4, 2, 2)),
                              ("ones", (1, 1, 1, 1, 3), (2, 1, 1, 2, 3))):
        yield case(f"expand_{name}", node("Expand", "x s", "y"), {"x": normal(*shape)},
                   constants={"s": np.array(more)})
        times = [b // a for a, b in zip(shape, more)]
        yield case(f"tile_{name}", node("Tile", "x t", "y"), {"x": normal(*shape)},
                   constants={"t": np.array(times)})
    yield case("tile_all", node("Tile", "x t", "y"), {"x": normal(2, 3, 2, 3, 2)},
               constants={"t": np.array([2, 1, 3, 2, 1])})


def cases():
    yield from gelus()
    yield gelu_between_quantizers()
    yield from tanh_gelus()
    yield from softmaxes()
    yield from biases()
    yield bias_between_quantizers()
    yield from layer_norms()
    yield from axis_norms()
    yield from folded_norms()
    yield from fast_norms()
    yield from rms_norms()
    yield from rms_norms_between_quantizers()
    yield from picks()
    yield from rearrangements()
    yield from repeats()
