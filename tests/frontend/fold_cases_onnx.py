# SPDX-License-Identifier: MIT
"""ONNX's own node tests of the ops that the folder computes, their inputs made constants."""
import warnings

import numpy as np

from fold_case import ALL, Case
from onnx import TensorProto, numpy_helper

OPS = set("""
Constant ConstantOfShape Shape Size Identity Cast CastLike Reshape Flatten Squeeze Unsqueeze Range
EyeLike Transpose Concat Slice Split Expand Tile Pad Trilu Gather GatherElements GatherND Scatter
ScatterElements ScatterND NonZero OneHot CumSum TopK ArgMax ArgMin ReduceSum ReduceMean ReduceMax
ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare MatMul Min Max
Sum Mean Add Sub Mul Div Mod Pow Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not
BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift Where Clip IsNaN IsInf Neg Abs Sign Relu Sqrt
Reciprocal Exp Log Floor Ceil Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
Sigmoid DequantizeLinear QuantizeLinear DynamicQuantizeLinear
""".split())


def arrays(values):
    """Arrays, numpy scalars and tensors as arrays; None when another kind or type is among them."""
    found = []
    for value in values:
        if isinstance(value, TensorProto):
            value = (None if value.data_type == TensorProto.STRING
                     else numpy_helper.to_array(value))
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype not in ALL:
            return None
        found.append(np.asarray(value))
    return found


def cases():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        collected = collect_testcases(None)
    for test in collected:
        nodes = test.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in OPS or nodes[0].domain:
            continue
        node, opset = nodes[0], max(o.version for o in test.model.opset_import if not o.domain)
        inputs, outputs = map(arrays, test.data_sets[0])
        if inputs is None or outputs is None:
            continue
        given = dict(zip([i.name for i in test.model.graph.input], inputs))
        given.update((t.name, numpy_helper.to_array(t)) for t in test.model.graph.initializer)
        yield Case(f"ONNX {test.name}", node.op_type, [given.get(n) for n in node.input],
                   outputs, opset=opset, n_out=len(node.output), rtol=test.rtol,
                   **{a.name: a for a in node.attribute})
