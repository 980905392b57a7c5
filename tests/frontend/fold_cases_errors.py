# SPDX-License-Identifier: MIT
"""Nodes that are wrong, or that the folder leaves to the backend."""
import ml_dtypes
import numpy as np

from fold_case import ERROR, F32, PASS, Case, ShapeOnly

I64, I32 = np.dtype("int64"), np.dtype("int32")
X = np.arange(24, dtype=F32).reshape(2, 3, 4)
HUGE = 2**62


def ints(*list_):
    return np.array(list_, I64)


def wrong():
    """(op, inputs, attributes, opset): errors of the model."""
    yield "Add", [X, X[:, :2]], {}, 13
    yield "Add", [X, X.astype(np.float64)], {}, 13
    yield "Add", [X], {}, 13
    yield "Add", [X, None], {}, 13
    yield "Add", [X, X, X], {}, 13
    yield "Add", [np.array([True]), np.array([True])], {}, 13
    yield "Add", [X, np.ones((5, 5), F32)], {"broadcast": 1, "axis": 2}, 6
    yield "Add", [X, np.ones((3, 4), F32)], {"broadcast": 1, "axis": 2}, 6
    yield "Add", [X, np.ones((3,), F32)], {"broadcast": 1, "axis": 9}, 6
    yield "Sqrt", [ints(4)], {}, 13
    yield "Not", [X], {}, 13
    yield "Neg", [np.array([True])], {}, 13
    yield "BitwiseNot", [X], {}, 18
    yield "BitwiseAnd", [X, X], {}, 18
    yield "And", [X, X], {}, 13
    yield "IsNaN", [ints(1)], {}, 13
    yield "BitShift", [np.array([1], np.uint8)] * 2, {"direction": "UP"}, 11
    yield "BitShift", [X, X], {"direction": "LEFT"}, 11
    yield "Where", [X, X, X], {}, 16
    yield "Where", [X > 2, X, ints(1)], {}, 16
    yield "Where", [X > 2, X[:, :2], X], {}, 16
    yield "Clip", [X, ints(1)], {}, 13
    yield "Clip", [X, X], {}, 13
    yield "Sum", [ints(1), ints(2)], {}, 13
    yield "Max", [X, ints(2)], {}, 13
    yield "CastLike", [X, None], {}, 19
    yield "Constant", [], {}, 13
    yield "Constant", [X], {"value_int": 1}, 13
    yield "ConstantOfShape", [ints(-1)], {}, 13
    yield "ConstantOfShape", [X[0, 0]], {}, 13
    yield "ConstantOfShape", [ints(2**40)], {}, 13
    yield "ConstantOfShape", [np.ones(9, I64)], {}, 13
    yield "Reshape", [X, ints(5, -1)], {}, 13
    yield "Reshape", [X, ints(-1, -1)], {}, 13
    yield "Reshape", [X, ints(-2)], {}, 13
    yield "Reshape", [X, ints(0, -1)], {"allowzero": 1}, 14
    yield "Reshape", [X, ints(0, 0, 0, 0)], {}, 13
    yield "Reshape", [X, ints(2**31, 2**31, 2**31)], {}, 13
    yield "Reshape", [X], {}, 13
    yield "Flatten", [X], {"axis": 4}, 13
    yield "Flatten", [X], {"axis": -4}, 13
    yield "Squeeze", [X, ints(0)], {}, 13
    yield "Squeeze", [X, ints(7)], {}, 13
    yield "Squeeze", [X[:, :1, :1], ints(1, 1)], {}, 13
    yield "Unsqueeze", [X], {}, 13
    yield "Unsqueeze", [X, ints(9)], {}, 13
    yield "Unsqueeze", [X, ints(0, 0)], {}, 13
    yield "Range", [ints(1), ints(2), ints(0)], {}, 13
    yield "Range", [ints(1, 2), ints(2), ints(1)], {}, 13
    yield "Range", [ints(1), X[0, 0, :1], ints(1)], {}, 13
    yield "EyeLike", [X], {}, 13
    yield "Transpose", [X], {"perm": [0, 1]}, 13
    yield "Transpose", [X], {"perm": [0, 1, 1]}, 13
    yield "Transpose", [X], {"perm": [0, 1, 3]}, 13
    yield "Transpose", [X], {"perm": list(range(9))}, 13
    yield "Concat", [X, X[:, :, :2]], {"axis": 1}, 13
    yield "Concat", [X, X[0]], {"axis": 1}, 13
    yield "Concat", [X, X], {"axis": 3}, 13
    yield "Concat", [X, ints(1)], {"axis": 0}, 13
    yield "Concat", [np.array(1.0), np.array(1.0)], {"axis": 0}, 13
    yield "Slice", [X, ints(1), ints(1, 2)], {}, 13
    yield "Slice", [X, ints(1)], {}, 13
    yield "Slice", [X, ints(1), ints(2), ints(5)], {}, 13
    yield "Slice", [X, ints(1), ints(2), ints(1), ints(0)], {}, 13
    yield "Slice", [X, ints(1, 1), ints(2, 2), ints(1, 1)], {}, 13
    yield "Split", [X, ints(1)], {"axis": 0}, 13
    yield "Split", [X, ints(3)], {"axis": 0}, 13
    yield "Split", [X], {"axis": 0, "num_outputs": 2}, 18
    yield "Split", [X], {"axis": 5}, 13
    yield "Expand", [X, ints(2, 2, 4)], {}, 13
    yield "Expand", [X, ints(-1)], {}, 13
    yield "Tile", [X, ints(1, 1)], {}, 13
    yield "Tile", [X, ints(1, -1, 1)], {}, 13
    yield "Pad", [X, ints(1, 1)], {}, 13
    yield "Pad", [X], {}, 13
    yield "Pad", [X, ints(0, 0, 0, 0, 0, 0)], {"mode": "mirror"}, 13
    yield "Pad", [X, ints(-3, 0, 0, 0, 0, 0)], {}, 13
    yield "Pad", [X[:0], ints(1, 0, 0, 0, 0, 0)], {"mode": "edge"}, 13
    yield "Pad", [X, ints(0, 0, 0, 0, 0, 0), ints(1)], {}, 13
    yield "Pad", [X, ints(0, 0), None, ints(4)], {}, 18
    yield "Trilu", [X[0, 0]], {}, 14
    yield "Trilu", [X, ints(1, 2)], {}, 14
    yield "Gather", [X, ints(2)], {}, 13
    yield "Gather", [X, ints(-3)], {}, 13
    yield "Gather", [X, ints(-HUGE - HUGE)], {}, 13
    yield "Gather", [X, X], {}, 13
    yield "Gather", [np.array(1.0), ints(0)], {}, 13
    yield "GatherElements", [X, ints(0)], {}, 13
    yield "GatherElements", [X, np.full((1, 1, 1), 2)], {}, 13
    yield "GatherElements", [X, np.zeros((1, 4, 1), I64)], {}, 13
    yield "GatherND", [X, ints(0, 0, 0, 0)], {}, 13
    yield "GatherND", [X, np.array(1, I64)], {}, 13
    yield "GatherND", [X, ints(0, 3)], {}, 13
    yield "GatherND", [X, ints([0], [1])], {"batch_dims": 2}, 13
    yield "GatherND", [X, ints([[0], [1], [0]])], {"batch_dims": 1}, 13
    yield "GatherND", [X, np.zeros((2, 0), I64)], {}, 13
    yield "ScatterND", [X, ints([0, 0]), X[:1]], {}, 13
    yield "ScatterND", [X, ints([2]), X[:1]], {}, 13
    yield "ScatterND", [X, np.array(1, I64), X], {}, 13
    yield "ScatterND", [X, ints([1]), X[:1]], {"reduction": "xor"}, 18
    yield "ScatterElements", [X, np.zeros((1, 1, 1), I64), X[:, :1, :1]], {}, 18
    yield "ScatterElements", [X, np.full((1, 1, 1), 5), X[:1, :1, :1]], {}, 18
    yield "OneHot", [ints(1), ints(0), X[0, 0, :2]], {}, 11
    yield "OneHot", [ints(1), ints(3), X[0, 0]], {}, 11
    yield "OneHot", [ints(1), ints(1, 2), X[0, 0, :2]], {}, 11
    yield "OneHot", [ints(1), ints(3), X[0, 0, :2]], {"axis": 2}, 11
    yield "ReduceSum", [X, ints(3)], {}, 13
    yield "ReduceSum", [X, ints(1, -2)], {}, 13
    yield "ReduceSum", [np.array([True])], {}, 13
    yield "ReduceSum", [X, X], {}, 13
    yield "ArgMax", [X], {"axis": 3}, 13
    yield "ArgMax", [X[:0]], {"axis": 0}, 13
    yield "ArgMax", [np.array(1.0)], {}, 13
    yield "CumSum", [X, ints(3)], {}, 14
    yield "CumSum", [X, ints(0, 1)], {}, 14
    yield "TopK", [X, ints(5)], {}, 11
    yield "TopK", [X, ints(-1)], {}, 11
    yield "TopK", [X], {}, 11
    yield "TopK", [np.array(1.0), ints(1)], {}, 11
    yield "MatMul", [X, X], {}, 13
    yield "MatMul", [X, np.array(1.0, F32)], {}, 13
    yield "MatMul", [X, ints([1])], {}, 13
    yield "DequantizeLinear", [X.astype(np.int8), X[0, 0]], {}, 13
    yield "DequantizeLinear", [X.astype(np.int8), X[0, 0], np.zeros(3, np.int8)], {"axis": 2}, 13
    yield "DequantizeLinear", [X.astype(np.int8), X[0, 0, 0], np.zeros((), np.uint8)], {}, 13
    yield "DequantizeLinear", [X.astype(np.int8), X[0, 0, 0].astype(I32)], {}, 13
    yield "DequantizeLinear", [X, X[0, 0, 0]], {}, 13
    yield "DequantizeLinear", [X.astype(np.int8), X], {"axis": 1, "block_size": 2}, 21
    yield "DequantizeLinear", [X.astype(np.int8), X], {"axis": 1, "block_size": -2}, 21
    yield "DequantizeLinear", [X.astype(np.int8), X[0, 0]], {"axis": 7}, 13
    yield "QuantizeLinear", [X, X[0, 0, 0], np.zeros((), F32)], {}, 13
    yield "QuantizeLinear", [X, X[0, 0, 0], np.zeros((), np.int8)], {"output_dtype": 2}, 21
    yield "DynamicQuantizeLinear", [ints(1)], {}, 11


def left():
    """What the folder does not compute."""
    yield "Conv", [X, X], {}, 13
    yield "Add", [X, ShapeOnly(F32, (1,))], {}, 13
    yield "Reshape", [ShapeOnly(F32, (2, 3)), ints(6)], {}, 13
    yield "Identity", [ShapeOnly(F32, (2, 3))], {}, 13
    yield "Div", [ints(1), ints(0)], {}, 14
    yield "Mod", [ints(1), ints(0)], {}, 13
    yield "Pow", [ints(2), ints(-1)], {}, 15
    yield "Tile", [X, ints(1)], {}, 1
    yield "ConstantOfShape", [ints(2**20)], {}, 13
    yield "ConstantOfShape", [ints(2**31, 2**31, 2**31)], {}, 13
    yield "ConstantOfShape", [ints(0, 2**31, 2**31, 2**31)], {}, 13
    yield "Range", [ints(0), ints(HUGE), ints(1)], {}, 13
    yield "Range", [np.array(v, F32) for v in (0, 3e38, 1e-3)], {}, 13
    yield "Expand", [X, ints(2**31, 2**31, 1, 1, 1)], {}, 13
    yield "Tile", [X, ints(2**20, 1, 1)], {}, 13
    yield "Pad", [X, ints(HUGE, 0, 0, 0, 0, 0)], {}, 13
    yield "Pad", [X, ints(2**20, 0, 0, 0, 0, 0)], {}, 13
    yield "OneHot", [ints(1), ints(2**31), X[0, 0, :2]], {}, 11
    yield "ReduceMean", [np.zeros((0,), I32)], {}, 13
    yield "Cast", [X], {"to": 8}, 13
    yield "Cast", [X], {"to": 17}, 19
    yield "Cast", [X], {"to": 77}, 13
    yield "Cast", [X], {}, 13
    yield "Neg", [X.astype(np.complex64)], {}, 13
    yield "Cast", [X.astype(ml_dtypes.float8_e4m3fn)], {"to": 1}, 19
    yield "QuantizeLinear", [X, X[0, 0, 0]], {"output_dtype": 17}, 21
    yield "EyeLike", [X[0]], {"dtype": 8}, 13


def cases():
    for k, (op, inputs, attrs, opset) in enumerate(wrong()):
        yield Case(f"wrong {k}: {op} {attrs}", op, inputs, ERROR, opset=opset, **attrs)
    for k, (op, inputs, attrs, opset) in enumerate(left()):
        yield Case(f"left {k}: {op} {attrs}", op, inputs, PASS, opset=opset, **attrs)
    complex_ = X.astype(np.complex64)
    yield Case("complex numbers are moved", "Transpose", [complex_], [complex_.T.copy()])
    eight = X.astype(ml_dtypes.float8_e5m2)
    yield Case("8-bit floats are moved", "Transpose", [eight], [eight.T.copy()])
    yield Case("an output of no elements", "Expand", [np.zeros((0, 1), F32), ints(1, 7)],
               [np.zeros((0, 7), F32)])
    yield Case("too many outputs", "Identity", [X], ERROR, n_out=2)
    yield Case("another domain", "Add", [X, X], PASS, domain="com.microsoft")
