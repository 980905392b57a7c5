# SPDX-License-Identifier: MIT
"""Control flow: If, Loop and Scan, sequences and optional values, functions of the model."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from case_onnx import Case, case, model, node

RNG = np.random.default_rng(7)


def rand(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def graph(nodes, inputs=(), outputs=(), constants=None):
    """A body. inputs: (name, element type, shape)."""
    infos = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
    return helper.make_graph(nodes, "body", infos,
                             [helper.make_empty_tensor_value_info(n) for n in outputs],
                             [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()])


F, N, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def branches():
    x, w = rand(2, 3, 5, 5), rand(4, 3, 3, 3)
    then = graph([node("Conv", "x w", "t")], outputs=["t"], constants={"w": w})
    other = graph([node("Slice", "x s e a", "o0"), node("ReduceSum", "o0 a1", "o1", keepdims=1),
                   node("Concat", "o0 o1", "o", axis=1)], outputs=["o"],
                  constants={"s": ints(0, 0), "e": ints(3, 3), "a": ints(2, 3), "a1": ints(1)})
    choice = node("If", "c", "y", then_branch=then, else_branch=other)
    for value in (True, False):
        yield case(f"if_constant_{value}", choice, {"x": x}, constants={"c": np.array(value)},
                   tol=1e-4)
        yield case(f"if_run_time_{value}", choice, {"x": x, "c": np.array(value)}, tol=1e-4)
        yield case(f"if_condition_of_rank_1_{value}", choice, {"x": x, "c": np.array([value])},
                   tol=1e-4)
        # The condition is computed from shapes: the other branch could not even be imported.
        wide = graph([node("Reshape", "x r", "t")], outputs=["t"],
                     constants={"r": ints(5 if value else 6, -1)})
        plain = graph([node("Flatten", "x", "o")], outputs=["o"])
        yield case(f"if_folded_{value}", [
            node("Shape", "x", "s"), node("Gather", "s one", "d"),
            node("Equal", "d five" if value else "d three", "c"),
            node("If", "c", "y", then_branch=plain, else_branch=wide)],
            {"x": rand(2, 5, 3)}, constants={"one": ints(1)[0], "five": ints(5)[0],
                                             "three": ints(3)[0]})
    inner = graph([node("If", "d", "i", then_branch=graph([node("Neg", "x", "p")], outputs=["p"]),
                        else_branch=graph([node("Abs", "x", "q")], outputs=["q"]))],
                  outputs=["i"])
    nested = node("If", "c", "y", then_branch=inner,
                  else_branch=graph([node("Exp", "x", "o")], outputs=["o"]))
    for c in (True, False):
        for d in (True, False):
            yield case(f"if_nested_{c}_{d}", nested, {"x": x, "c": np.array(c), "d": np.array(d)})
    two = node("If", "c", "y z", then_branch=graph(
        [node("Neg", "x", "t"), node("ArgMax", "x", "u")], outputs=["t", "u"]),
        else_branch=graph([node("Abs", "x", "o"), node("ArgMin", "x", "p")],
                          outputs=["o", "p"]))
    for c in (True, False):
        yield case(f"if_two_outputs_{c}", two, {"x": x, "c": np.array(c)}, "y z")
    shapes = node("If", "c", "y", then_branch=graph([node("Identity", "x", "t")], outputs=["t"]),
                  else_branch=plain)
    yield case("if_different_shapes", shapes, {"x": x, "c": np.array(True)},
               refusal="output 'y' is float32[2,3,5,5] from the then branch ('t') but float32[")
    # Exporters mix scalars and tensors of one element.
    one = graph([node("ReduceSum", "x", "t", keepdims=0)], outputs=["t"])
    two = graph([node("ReduceMax", "x a", "m", keepdims=0), node("Reshape", "m b", "o")],
                outputs=["o"], constants={"a": ints(0, 1, 2, 3), "b": ints(1)})
    for c in (True, False):
        yield case(f"if_one_element_{c}", [
            node("If", "c", "i", then_branch=one, else_branch=two), node("Add", "x i", "y")],
            {"x": x, "c": np.array(c)})


def invalid_branches():
    """The reference takes the branch that is valid; so does the import, whatever the condition."""
    x = rand(2, 3)
    drop = graph([node("Squeeze", "x a", "t")], outputs=["t"], constants={"a": ints(1)})
    keep = graph([node("Neg", "x", "o")], outputs=["o"])
    for value in (True, False):
        one, two = (keep, drop) if value else (drop, keep)
        yield case(f"if_invalid_branch_{value}", node("If", "c", "y", then_branch=one,
                                                      else_branch=two),
                   {"x": x, "c": np.array(value)})
    yield case("if_invalid_branches", node("If", "c", "y", then_branch=drop, else_branch=drop),
               {"x": x, "c": np.array(True)}, refusal="only 1 can be dropped")


def loop_body(nodes, outputs, constants=None):
    """With inputs i, k and v."""
    return graph(nodes, [("i", N, []), ("k", BOOL, []), ("v", F, None)], outputs, constants)


def counted_loops():
    x, w = rand(3, 4), rand(4, 4)
    body = loop_body([node("MatMul", "v w", "p"), node("Tanh", "p", "v_out"),
                      node("Cast", "i", "f", to=F), node("Mul", "v_out f", "row"),
                      node("Identity", "k", "k_out")], ["k_out", "v_out", "row"], {"w": w})
    for trips in (1, 3, 70):
        v, rows = x.astype(np.float64), []
        for i in range(trips):
            v = np.tanh(v @ w)
            rows.append(v * i)
        want = [v.astype(np.float32), np.stack(rows).astype(np.float32)]
        yield case(f"loop_{trips}", node("Loop", "m k0 x", "y r", body=body), {"x": x}, "y r",
                   {"m": ints(trips)[0], "k0": np.array(True)}, tol=1e-4, expected=want)
        yield case(f"loop_without_condition_{trips}", node("Loop", "m - x", "y r", body=body),
                   {"x": x}, "y r", {"m": ints(trips)[0]}, tol=1e-4, expected=want)
    # Shapes may depend on the round where nothing is collected.
    grow = loop_body([node("Concat", "v x", "v_out", axis=0), node("Identity", "k", "k_out")],
                     ["k_out", "v_out"])
    yield case("loop_growing", node("Loop", "m k0 x", "y", body=grow), {"x": x},
               constants={"m": ints(3)[0], "k0": np.array(True)}, expected=[np.tile(x, (4, 1))])
    yield case("loop_run_time_count", node("Loop", "m - x", "y", body=grow),
               {"x": x, "m": ints(3)[0]}, refusal="trip count")
    forever = loop_body([node("Add", "v x", "v_out"), node("Identity", "k", "k_out")],
                        ["k_out", "v_out"])
    yield case("loop_forever", node("Loop", "- - x", "y", body=forever), {"x": x},
               refusal="more than 1024 iterations")


def ending_loops():
    x = np.abs(rand(3, 4))
    # The end is known while importing ...
    until = loop_body([node("Add", "v x", "v_out"), node("Less", "i last", "k_out")],
                      ["k_out", "v_out"], {"last": ints(4)[0]})
    for name, inputs, given in (("", "- k0 x", {"k0": np.array(True)}),
                                ("_huge_count", "m - x", {"m": ints(1 << 40)[0]})):
        yield case(f"loop_until{name}", node("Loop", inputs, "y", body=until), {"x": x},
                   constants=given, expected=[6 * x])
    yield case("loop_never", node("Loop", "m k0 x", "y", body=until), {"x": x},
               constants={"m": ints(3)[0], "k0": np.array(False)}, expected=[x])
    # ... or at run time only.
    halve = [node("Mul", "v half", "v_out"), node("ReduceMax", "v_out", "top", keepdims=0),
             node("Greater", "top limit", "k_out"), node("Identity", "top", "row")]
    numbers = {"half": np.float32(0.5), "limit": np.float32(0.1)}
    small = loop_body(halve[:3], ["k_out", "v_out"], numbers)
    for scale in (1, 10, 0.01):
        start = x * np.float32(scale)
        want = start * np.float32(0.5)
        for _ in range(11):
            want = want * np.float32(0.5) if want.max() > 0.1 else want
        yield case(f"loop_run_time_end_{scale}", node("Loop", "m k0 x", "y", body=small),
                   {"x": start}, constants={"m": ints(12)[0], "k0": np.array(True)},
                   expected=[want])
    for value in (True, False):
        yield case(f"loop_run_time_start_{value}", node("Loop", "m k0 x", "y", body=small),
                   {"x": x + 9, "k0": np.array(value)}, constants={"m": ints(3)[0]},
                   expected=[(x + 9) / np.float32(8 if value else 1)])
    collect = loop_body(halve, ["k_out", "v_out", "row"], numbers)
    yield case("loop_unknown_rows", node("Loop", "m k0 x", "y r", body=collect), {"x": x}, "y r",
               {"m": ints(5)[0], "k0": np.array(True)},
               refusal="collects in output 'r' depends on its condition ('k_out')")
    # Its position is constant until the loop may have ended.
    walk = graph([node("Add", "n one", "n_out"), node("Slice", "x n n_out", "row"),
                  node("Add", "v row", "v_out"), node("ReduceMax", "v_out", "top", keepdims=0),
                  node("Less", "top limit", "k_out")],
                 [("i", N, []), ("k", BOOL, []), ("v", F, None), ("n", N, [1])],
                 ["k_out", "v_out", "n_out"], {"one": ints(1), "limit": np.float32(9)})
    yield case("loop_run_time_end_position", node("Loop", "m k0 x n0", "y p", body=walk), {"x": x},
               "y p", {"m": ints(3)[0], "k0": np.array(True), "n0": ints(0)},
               refusal="this is iteration 3 of node 'Loop_0' (Loop), whose end ('k_out')")


def scans():
    x = rand(2, 6, 3)
    body = graph([node("Add", "s e", "s_out"), node("Mul", "s_out e", "o"),
                  node("ReduceSum", "o", "t", keepdims=0)],
                 [("s", F, [2, 3]), ("e", F, [2, 3])], ["s_out", "o", "t"])
    start = rand(2, 3)
    for back_in in (0, 1):
        for back_out in (0, 1):
            s, rows = start.astype(np.float64), []
            for i in reversed(range(6)) if back_in else range(6):
                s = s + x[:, i]
                rows.append(s * x[:, i])
            rows = np.stack(rows[::-1] if back_out else rows, -1)
            yield case(f"scan_{back_in}_{back_out}", node(
                "Scan", "s0 x", "s y t", body=body, num_scan_inputs=1, scan_input_axes=[1],
                scan_input_directions=[back_in], scan_output_axes=[-1, 0],
                scan_output_directions=[back_out, back_out]), {"s0": start, "x": x}, "s y t",
                expected=[v.astype(np.float32) for v in (s, rows, rows.sum((0, 1)))])
    conv = graph([node("Conv", "e w", "a", pads=[1, 1, 1, 1]), node("Add", "a s", "b"),
                  node("Relu", "b", "s_out"), node("Identity", "s_out", "o")],
                 [("s", F, None), ("e", F, None)], ["s_out", "o"], {"w": rand(2, 3, 3, 3)})
    yield case("scan_images", node("Scan", "s0 x", "s y", body=conv, num_scan_inputs=1),
               {"s0": rand(1, 2, 4, 4), "x": rand(4, 1, 3, 4, 4)}, "s y", tol=1e-4)
    old = graph([node("Add", "s e", "s_out"), node("Identity", "s_out", "o")],
                [("s", F, [3]), ("e", F, [3])], ["s_out", "o"])
    rows = x.cumsum(1, dtype=np.float64).astype(np.float32)
    yield case("scan_8", node("Scan", "- s0 x", "s y", body=old, num_scan_inputs=1),
               {"s0": np.zeros((2, 3), np.float32), "x": x}, "s y", opset=8,
               expected=[rows[:, -1], rows])
    yield case("scan_too_long", node("Scan", "s0 x", "s y", body=old, num_scan_inputs=1),
               {"s0": rand(3), "x": rand(1500, 3)}, "s y", refusal="more than 1024 iterations")


def sequences():
    x = rand(4, 3)
    yield case("sequence_round_trip", [
        node("SplitToSequence", "x", "s", axis=0), node("SequenceAt", "s two", "e"),
        node("SequenceErase", "s one", "t"), node("SequenceInsert", "t e minus", "u"),
        node("ConcatFromSequence", "u", "y", axis=0), node("SequenceLength", "u", "n")],
        {"x": x}, "y n", {"two": ints(2)[0], "one": ints(1)[0], "minus": ints(-1)[0]},
        expected=[x[[0, 2, 2, 3]], ints(4)[0]])
    yield case("sequence_stack", [
        node("SplitToSequence", "x", "s", axis=1, keepdims=0),
        node("ConcatFromSequence", "s", "y", axis=1, new_axis=1)], {"x": x}, expected=[x])
    yield case("sequence_parts", [
        node("SplitToSequence", "x p", "s", axis=0), node("SequenceAt", "s last", "y")], {"x": x},
        constants={"p": ints(1, 3), "last": ints(-1)[0]}, expected=[x[1:]])
    body = graph([node("Add", "e b", "o")], [("e", F, None), ("b", F, None)], ["o"])
    yield case("sequence_map", [
        node("SequenceConstruct", "x z", "s"), node("SequenceMap", "s b", "t", body=body),
        node("ConcatFromSequence", "t", "y", axis=0)], {"x": x, "z": x[:1], "b": rand(3)})
    yield case("sequence_run_time_position", [
        node("SequenceConstruct", "x x", "s"), node("SequenceAt", "s p", "y")],
        {"x": x, "p": ints(1)[0]}, refusal="must be constant")
    yield case("sequence_output", node("SplitToSequence", "x", "y"), {"x": x},
               refusal="not a tensor")
    yield case("sequence_as_tensor", [node("SequenceConstruct", "x", "s"), node("Neg", "s", "y")],
               {"x": x}, refusal="is not a tensor")
    yield case("optional", [node("Optional", "x", "o"), node("OptionalHasElement", "o", "h"),
                            node("OptionalGetElement", "o", "e"), node("Neg", "e", "y")],
               {"x": x}, "y h", expected=[-x, np.array(True)])


def functions():
    """Calls of the model's own functions, with attributes, one inside the other."""
    x, w = rand(1, 3, 5, 5), rand(3, 3, 3, 3)
    scaled = node("Selu", "a", "r")
    ref = scaled.attribute.add(name="alpha", type=1)
    ref.ref_attr_name = "slope"
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("own", 1)]
    inner = helper.make_function("own", "Act", ["a"], ["r"], [scaled], opsets, ["slope"])
    call = node("Act", "c", "d", "own")
    call.attribute.add(name="slope", type=1).ref_attr_name = "slope"
    outer = helper.make_function("own", "Block", ["v", "k"], ["d"],
                                 [node("Conv", "v k", "c", pads=[1, 1, 1, 1]), call], opsets,
                                 ["slope"])
    m = model([node("Block", "x w", "a", "own", slope=0.5),
               node("Block", "a w", "y", "own", slope=1.5)], {"x": x}, ["y"], {"w": w})
    m.opset_import.add(domain="own", version=1)
    m.functions.extend([inner, outer])
    yield Case("functions", m, [x], ReferenceEvaluator(m).run(None, {"x": x}), tol=1e-4,
               transposes=2)


def cases():
    for make in (branches, invalid_branches, counted_loops, ending_loops, scans, sequences,
                 functions):
        yield from make()
