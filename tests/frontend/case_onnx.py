# SPDX-License-Identifier: MIT
"""Cases for check_onnx.py: small ONNX models, their inputs and what must come out.

A group is a module onnx_<group>.py with a function cases() that yields Case objects. Expected
values come from the ONNX reference evaluator unless a case brings its own (a formula in float64).
"""
from dataclasses import dataclass

import numpy as np
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 22


@dataclass
class Case:
    name: str
    model: object  # ModelProto
    inputs: list  # arrays in the order of the graph's inputs
    expected: list = None  # arrays in the order of its outputs
    tol: float = 1e-5  # largest error of a float output, relative to its largest magnitude
    atol: float = 0.0  # and on top of that, absolutely
    relative: bool = False  # tol is relative to each element instead
    refusal: str = None  # must be refused with a message that has this in it
    transposes: int = None  # at most so many may be left for layouts
    ops: int = None  # ops of the QNN graph on the CPU
    float16: bool = False  # the HTP has float16 activations there, whatever the target SoC
    expanded: object = None  # is said to have its weights expanded to floats: True, False, or the
    # one backend on which it is; None: not looked at


def node(op, inputs, outputs, domain="", **attributes):
    """A node; inputs and outputs are names separated by blanks, "-" for an absent one."""
    names, results = (["" if n == "-" else n for n in s.split()] for s in (inputs, outputs))
    return helper.make_node(op, names, results, domain=domain, **attributes)


def _info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


def model(nodes, inputs, outputs, constants=None, opset=OPSET, microsoft=False):
    """A model of these nodes. inputs and constants: name -> array; outputs: names."""
    opsets = [helper.make_opsetid("", opset)]
    if microsoft:
        opsets.append(helper.make_opsetid("com.microsoft", 1))
    graph = helper.make_graph(
        nodes, "case", [_info(n, a) for n, a in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def case(name, nodes, inputs, outputs="y", constants=None, opset=OPSET, expected=None,
         microsoft=False, **limits):
    """A case of one model. Without `expected` (a list of arrays) the evaluator says it."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    constants = constants or {}
    m = model(nodes, inputs, outputs.split(), constants, opset, microsoft)
    if expected is None and "refusal" not in limits:
        expected = ReferenceEvaluator(m).run(None, inputs)
    return Case(name, m, list(inputs.values()), expected, **limits)


def encoding(array, bits=8, signed=False):
    """(scale, zero point) that holds an array's range."""
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    scale = max(high - low, 1e-6) / (2**bits - 1)
    zero = round(-low / scale) - (2**(bits - 1) if signed else 0)
    dtype = {(8, 0): np.uint8, (8, 1): np.int8, (16, 0): np.uint16, (16, 1): np.int16}
    return np.float32(scale), dtype[bits, int(signed)](zero)


def quantized_case(name, op, inputs, bits=8, signed=False, opset=OPSET, steps=1, constants=(),
                   domain="", reference=None, more="", plain=None, **attributes):
    """QDQ around one op with float inputs (name -> array) and one output. What comes out must be
    within `steps` steps of the float result. reference: that function instead of the evaluator.
    more: names of further inputs, constants of `plain` that are not quantized."""
    nodes, initializers, feeds, names = [], {}, {}, []
    rounded = {}
    for n, a in inputs.items():
        scale, zero = encoding(a, bits, signed)
        info = np.iinfo(zero.dtype)
        codes = np.clip(np.rint(a / scale) + zero, info.min, info.max).astype(zero.dtype)
        rounded[n] = ((codes.astype(np.float64) - zero) * scale).astype(np.float32)
        initializers |= {n + "_s": scale, n + "_z": zero}
        if n in constants:
            initializers[n + "_q"] = codes
        else:
            feeds[n] = a
            nodes.append(node("QuantizeLinear", f"{n} {n}_s {n}_z", n + "_q"))
        nodes.append(node("DequantizeLinear", f"{n}_q {n}_s {n}_z", n + "_d"))
        names.append(n + "_d")
    inner = node(op, " ".join(names + [more]), "f", domain, **attributes)
    initializers |= plain or {}
    if reference:
        want = reference(*[a.astype(np.float64) for a in rounded.values()])
    else:
        bare = model([inner], {n + "_d": a for n, a in rounded.items()}, ["f"], plain or {}, opset)
        want = ReferenceEvaluator(bare).run(None, {n + "_d": a for n, a in rounded.items()})[0]
    scale, zero = encoding(want, bits, signed)
    initializers |= {"y_s": scale, "y_z": zero}
    nodes += [inner, node("QuantizeLinear", "f y_s y_z", "y_q"),
              node("DequantizeLinear", "y_q y_s y_z", "y")]
    m = model(nodes, feeds, ["y"], initializers, opset, domain == "com.microsoft")
    return Case(name, m, list(feeds.values()), [want.astype(np.float32)], tol=0,
                atol=(steps + 0.01) * float(scale))
