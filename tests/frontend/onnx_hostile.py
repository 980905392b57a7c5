# SPDX-License-Identifier: MIT
"""Models that nobody means well with: each is rejected with a reason, without a crash."""
import numpy as np
from onnx import helper

from case_onnx import Case, case, model, node
from growth import diamonds, fan_out, split
from onnx_control import F, graph


def ones(*shape):
    return np.ones(shape, np.float32)


def empty_constants():
    """Constants without elements where the importer reorders them to channel last."""
    why = "dimension 0 is 0, expected at least 1"
    yield case("conv_with_empty_filter", node("Conv", "x w", "y"), {"x": ones(1, 8, 4, 4)},
               constants={"w": ones(64, 8, 0, 3)}, refusal=why)
    for bits, dtype in (("8", np.int8), ("16", np.float16)):
        yield case(f"conv_with_empty_filter_of_{bits}_bits", node("Conv", "x w", "y"),
                   {"x": ones(1, 8, 4, 4).astype(dtype)},
                   constants={"w": ones(64, 8, 0, 3).astype(dtype)}, refusal="")
    yield case("grid_sample_of_empty_constant", node("GridSample", "x g", "y"),
               {"g": ones(1, 2, 2, 2)}, constants={"x": ones(1, 64, 0, 3)},
               refusal="dimension 1 is 0, expected at least 1")
    yield case("roi_align_of_empty_constant", node("RoiAlign", "x r b", "y"), {"r": ones(1, 4)},
               constants={"x": ones(1, 64, 0, 3), "b": np.zeros(1, np.int64)},
               refusal="dimension 1 is 0, expected at least 1")


def values_without_axes():
    x = {"x": np.float32(3)}
    for n in (1, 2):
        yield case(f"split_of_scalar_into_{n}", node("Split", "x", " ".join("yz"[:n]), axis=0,
                                                     num_outputs=n), x, " ".join("yz"[:n]),
                   refusal="axis 0 of a value of rank 0")
    for op in ("Softmax", "Hardmax", "ArgMax", "Concat"):
        yield case(f"{op}_of_scalar", node(op, "x", "y", axis=0), x,
                   refusal="axis 0 of a value of rank 0")


def empty_scans():
    body = graph([node("Add", "s v", "t"), node("Identity", "v", "o")],
                 [("s", F, None), ("v", F, None)], ["t", "o"])
    for length in (0, 3):
        why = "no iterations" if length == 0 else "input 0 of its body is missing"
        yield case(f"scan_of_{length}_without_state",
                   node("Scan", "- x" if length else "s x", "y z", body=body, num_scan_inputs=1),
                   {"s": ones(2)}, "y z", {"x": ones(length, 2)}, refusal=why)
    for name, state in (("empty_state", ones(0, 2)), ("scalar_state", ones())):
        yield case(f"scan_8_with_{name}",
                   node("Scan", "- s x", "y z", body=body, num_scan_inputs=1), {"x": ones(1, 3, 2)},
                   "y z", {"s": state}, opset=8, refusal="no batch dimension, or an empty one")


def broadcast_parameters():
    """Parameters that are applied by ops of their own, where the op before them is rejected."""
    for rank in (6, 7):
        x = ones(*[2] * (rank - 1), 3)
        # The HTP has no such ranks; the CPU has.
        yield case(f"layer_norm_of_rank_{rank}", node("LayerNormalization", "x s b", "y", axis=-1),
                   {"x": x}, constants={"s": ones(1), "b": ones(1)}, expected=[x])
    yield case("layer_norm_with_empty_scale", node("LayerNormalization", "x s", "y"),
               {"x": ones(2, 3)}, constants={"s": ones(0)},
               refusal="dimension 0 is 0, expected at least 1")


def forbidden():
    """What the ONNX standard forbids: onnx.checker and onnxruntime reject all of these."""
    x, w = {"x": ones(2)}, {"w": ones(2)}
    twice = "in ONNX a value is made once"
    for name, nodes in (
            ("two_nodes", [node("Neg", "x", "y"), node("Abs", "x", "y")]),
            ("one_node", [node("Split", "x", "y y", num_outputs=2)]),
            ("node_and_input", [node("Neg", "x", "x"), node("Abs", "x", "y")]),
            ("node_and_initializer", [node("Neg", "x", "w"), node("Abs", "w", "y")])):
        yield case(f"value_made_twice_by_{name}", nodes, x, constants=w, refusal=twice)
    for name, first in (("branch", [node("Abs", "x", "z")]), ("outer_graph", [])):
        then = graph(first + [node("Neg", "x", "z")], outputs=["z"])
        other = graph([node("Exp", "x", "q")], outputs=["q"])
        yield case(f"value_made_twice_in_{name}",
                   [node("Sin", "x", "z"), node("If", "c", "y", then_branch=then,
                                                else_branch=other)][bool(first):],
                   x, constants={"c": np.array(True)}, refusal=twice)
    same = model([node("Add", "x x", "y")], x, ["y"])
    same.graph.input.append(same.graph.input[0])
    yield Case("two_inputs_of_one_name", same, [ones(2)] * 2, refusal="two inputs are named 'x'")
    for version in (-5, 0, 2**40):
        yield case(f"opset_{version}", node("Neg", "x", "y"), x, opset=version,
                   refusal=f"it imports version {version} of the operator set 'ai.onnx'")
    none = model([node("Neg", "x", "y")], x, ["y"])
    del none.opset_import[:]
    yield Case("no_opset", none, [ones(2)], refusal="it imports no operator set")


def with_functions(name, functions, **limits):
    m = model([node("f", "x", "y", "d")], {"x": ones(2)}, ["y"])
    m.opset_import.append(helper.make_opsetid("d", 1))
    m.functions.extend(functions)
    return Case(name, m, [ones(2)], **limits)


def function(nodes, name="f", overload=""):
    f = helper.make_function("d", name, ["a"], ["b"], nodes,
                             [helper.make_opsetid("", 22), helper.make_opsetid("d", 1)])
    f.overload = overload
    return f


def forbidden_functions():
    neg, exp = node("Neg", "a", "b"), node("Abs", "a", "b")
    yield with_functions("function_makes_value_twice", [function([neg, exp])],
                         refusal="in ONNX a value is made once")
    yield with_functions("function_makes_its_input", [function([node("Neg", "a", "a")])],
                         refusal="in ONNX a value is made once")
    yield with_functions("function_defined_twice", [function([neg]), function([exp])],
                         refusal="two functions are named 'f' in domain 'd'")
    yield with_functions("function_calls_itself", [function([node("f", "a", "b", "d")])],
                         refusal="nested deeper than")
    yield with_functions("function_with_overload", [function([exp], overload="other"),
                                                    function([neg])], expected=[-ones(2)])


def allowed():
    """What looks alike and is legal."""
    x = {"x": ones(2)}
    yield case("output_is_input_and_initializer", node("Neg", "x", "y"), x, "y x w",
               {"w": ones(3)}, expected=[-ones(2), ones(2), ones(3)])
    yield case("one_value_as_two_outputs", node("Neg", "x", "y"), x, "y y",
               expected=[-ones(2)] * 2)
    same = [graph([node(op, "x", "y")], outputs=["y"]) for op in ("Neg", "Abs")]
    yield case("branches_make_one_name", node("If", "c", "y", then_branch=same[0],
                                              else_branch=same[1]), x,
               constants={"c": np.array(True)}, expected=[-ones(2)])


def many_nodes():
    """More values than the memory plan tries several orders for; all sums are exact."""
    x = np.array([1, -3], np.float32)
    yield Case("fan_out_of_16384", fan_out(32768), [x], [-16384 * x])
    yield Case("diamonds_of_12000", diamonds(12000), [x], [abs(x)])
    long = np.arange(64, dtype=np.float32)
    yield Case("splits_of_12000", split(12000), [long], [long])


def cases():
    yield from empty_constants()
    yield from values_without_axes()
    yield from empty_scans()
    yield from broadcast_parameters()
    yield from forbidden()
    yield from forbidden_functions()
    yield from allowed()
    yield from many_nodes()
