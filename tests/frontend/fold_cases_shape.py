# SPDX-License-Identifier: MIT
"""Ops that make constants, change shapes or move elements: all types, all forms of their
arguments."""
import numpy as np

from fold_case import ALL, BOOL, F16, F32, F64, FLOATS, I4, PASS, Case, ShapeOnly
from fold_cases_elementwise import values
from onnx import helper, numpy_helper

I64, I32 = np.dtype("int64"), np.dtype("int32")


def ints(*list_):
    return np.array(list_, I64)


def sources(rng):
    for dtype in ALL:
        for shape in ((2, 3), (), (0,), (5,), (1,) * 8):
            x = values(rng, dtype, shape)
            yield Case(f"Constant {dtype} {shape}", "Constant", [], [x],
                       value=numpy_helper.from_array(x))
        one = values(rng, dtype, (1,))
        yield Case(f"ConstantOfShape {dtype}", "ConstantOfShape", [ints(3, 5)],
                   [np.full((3, 5), one[0], dtype)], value=numpy_helper.from_array(one))
    yield Case("Constant float", "Constant", [], [np.array(2.5, F32)], value_float=2.5)
    yield Case("Constant floats", "Constant", [], [np.array([1.5, -2], F32)],
               value_floats=[1.5, -2.0])
    yield Case("Constant int", "Constant", [], [np.array(-7, I64)], value_int=-7)
    yield Case("Constant ints", "Constant", [], [ints(1, -2, 2**62)], value_ints=[1, -2, 2**62])
    yield Case("Constant string", "Constant", [], PASS, value_string="text")
    yield Case("Constant strings", "Constant", [], PASS, value_strings=["a", "b"])
    yield Case("ConstantOfShape default", "ConstantOfShape", [ints(2)])
    yield Case("ConstantOfShape scalar", "ConstantOfShape", [ints()], [np.zeros((), F32)])
    yield Case("ConstantOfShape empty", "ConstantOfShape", [ints(2, 0)])
    for dtype in FLOATS + [I64, I32, np.dtype("int16")]:
        for a, b, step in ((1, 10, 2), (10, 1, -3), (3, 3, 1), (0, -5, 1), (-4, 5, 3)):
            yield Case(f"Range {dtype} {a} {b} {step}", "Range",
                       [np.array(v, dtype) for v in (a, b, step)],
                       [np.array(list(range(a, b, step)), dtype)])
    yield Case("Range fraction", "Range", [np.array(v, F32) for v in (0, 1, 0.25)])
    yield Case("Range wide", "Range", [np.array(v, I64) for v in (-2**63, 2**63 - 1, 2**62)],
               [ints(-2**63, -2**62, 0, 2**62)])
    for dtype in (F32, F16, I64, I32, np.dtype("uint8"), BOOL):
        code = helper.np_dtype_to_tensor_dtype(dtype)
        for k in (0, 1, -1, 7, -9):
            yield Case(f"EyeLike {dtype} {k}", "EyeLike", [np.zeros((3, 4), F32)],
                       [np.eye(3, 4, k).astype(dtype)], dtype=code, k=k)
    yield Case("EyeLike of a shape", "EyeLike", [ShapeOnly(F64, (2, 2))], [np.eye(2)])


def shapes(rng):
    for shape in ((), (3,), (2, 0, 4), (1, 2, 3, 4, 5, 6, 7, 8)):
        x = ShapeOnly(F32, shape)
        yield Case(f"Shape {shape}", "Shape", [x], [np.array(shape, I64)])
        yield Case(f"Size {shape}", "Size", [x], [np.array(int(np.prod(shape)), I64)])
        for start, end in ((1, None), (-1, None), (0, -1), (-9, 9), (2, 1), (1, 2)):
            attrs = {"start": start} if end is None else {"start": start, "end": end}
            yield Case(f"Shape {shape} {attrs}", "Shape", [x],
                       [np.array(shape[start:end], I64)], **attrs)
    for dtype in ALL:
        x = values(rng, dtype, (2, 3, 1, 4))
        yield Case(f"Identity {dtype}", "Identity", [x], [x])
        yield Case(f"Reshape {dtype}", "Reshape", [x, ints(4, -1)], [x.reshape(4, 6)])
    x = values(rng, F32, (2, 3, 1, 4))
    yield Case("Reshape attribute", "Reshape", [x], [x.reshape(0 + 2, 12)], opset=1,
               shape=[0, -1])
    yield Case("Reshape zero", "Reshape", [x, ints(0, 0, -1)], [x.reshape(2, 3, 4)])
    yield Case("Reshape to scalar", "Reshape", [np.ones((1, 1), F32), ints()],
               [np.ones((), F32)])
    yield Case("Reshape int32 shape", "Reshape", [x, np.array([24], I32)], [x.reshape(24)])
    empty = np.zeros((0, 3), F32)
    yield Case("Reshape of nothing", "Reshape", [empty, ints(3, 0)], [empty.reshape(3, 0)],
               allowzero=1)
    for axis in range(-4, 5):
        yield Case(f"Flatten {axis}", "Flatten", [x], [x.reshape(
            int(np.prod(x.shape[:axis] if axis != 4 else x.shape)), -1)], axis=axis)
    yield Case("Flatten default", "Flatten", [x], [x.reshape(2, 12)])
    one = values(rng, I4, (1, 3, 1, 5, 1))
    yield Case("Squeeze", "Squeeze", [one], [one.reshape(3, 5)])
    yield Case("Squeeze input", "Squeeze", [one, ints(0, -1)], [one.reshape(3, 1, 5)])
    yield Case("Squeeze attribute", "Squeeze", [one], [one.reshape(3, 1, 5)], opset=11,
               axes=[0, -1])
    yield Case("Squeeze empty", "Squeeze", [one, ints()], [one])
    yield Case("Unsqueeze input", "Unsqueeze", [x[:, :, 0], ints(0, -1)],
               [x[None, :, :, 0, :, None]])
    yield Case("Unsqueeze attribute", "Unsqueeze", [x], [x[:, None]], opset=11, axes=[1])
    yield Case("Unsqueeze too far", "Unsqueeze", [np.ones((1,) * 8, F32), ints(0)], PASS)


def moves(rng):
    for dtype in ALL:
        x = values(rng, dtype, (2, 3, 5))
        yield Case(f"Transpose {dtype}", "Transpose", [x], [x.transpose(2, 0, 1).copy()],
                   perm=[2, 0, 1])
        yield Case(f"Concat {dtype}", "Concat", [x, x[:, :1], x], [np.concatenate(
            [x, x[:, :1], x], 1)], axis=1)
        yield Case(f"Slice {dtype}", "Slice",
                   [x, ints(0, -1), ints(9, -9), ints(1, 2), ints(2, -2)],
                   [x[:, 0:9:2, -1:-9:-2].copy()])
        yield Case(f"Expand {dtype}", "Expand", [x[:, :1], ints(4, 1, 2, 1)],
                   [np.broadcast_to(x[:, :1], (4, 2, 2, 5)).copy()])
        yield Case(f"Tile {dtype}", "Tile", [x, ints(1, 2, 3)], [np.tile(x, (1, 2, 3))])
        yield Case(f"Trilu {dtype}", "Trilu", [x, np.array(1, I64)], [np.where(
            np.triu(np.ones((3, 5)), 1) > 0, x, np.zeros((), dtype)).astype(dtype)])
        yield Case(f"Split {dtype}", "Split", [x, ints(2, 0, 3)], [x[:, :, :2], x[:, :, :0],
                                                                  x[:, :, 2:]], n_out=3, axis=-1)
        padded = np.full((2, 5, 5), values(rng, dtype, (1,))[0], dtype)
        fill = padded[0, 0, :1].copy().reshape(())
        padded[:, 1:4] = x
        yield Case(f"Pad {dtype}", "Pad", [x, ints(0, 1, 0, 0, 1, 0), fill], [padded])
    x = values(rng, F32, (2, 3, 4))
    yield Case("Transpose default", "Transpose", [x])
    yield Case("Transpose scalar", "Transpose", [np.array(3.0, F32)])
    deep = values(rng, F32, (1, 2, 1, 3, 2, 1, 2, 2))
    yield Case("Transpose rank 8", "Transpose", [deep], perm=[7, 3, 0, 5, 1, 6, 2, 4])
    yield Case("Transpose of nothing", "Transpose", [np.zeros((0, 4), F32)], perm=[1, 0])
    yield Case("Concat default axis", "Concat", [x, x], [np.concatenate([x, x], 1)], opset=1)
    yield Case("Concat of nothing", "Concat", [x[:0], x, x[:0]], axis=0)
    yield Case("Concat from the end", "Concat", [x, x], axis=-3)


def slices(rng):
    x = values(rng, F32, (4, 5, 6))
    yield Case("Slice attributes", "Slice", [x], opset=9, starts=[1, -3], ends=[3, 2**31 - 1],
               axes=[0, 2])
    yield Case("Slice attributes without axes", "Slice", [x], opset=1, starts=[1, 2], ends=[-1, 9])
    far = 2**63 - 1
    for start, end, step in ((0, far, 1), (far, -far - 1, -1), (-1, -far - 1, -2), (3, 1, 1),
                             (1, 3, far), (4, 0, -far), (5, 2, -1), (-9, 2, 1), (2, -9, -1),
                             (0, 0, 1), (-2, far, 1)):
        for dtype in (I64, I32):
            if dtype == I32:
                start, end, step = (int(np.clip(v, -2**31, 2**31 - 1)) for v in (start, end, step))
            arg = [np.array([v], dtype) for v in (start, end, 1, step)]
            yield Case(f"Slice {start}:{end}:{step}", "Slice", [x, *arg],
                       [x[:, start:end:step].copy()], opset=13)
    yield Case("Slice without axes", "Slice", [x, ints(1, 1), ints(3, 3)])
    yield Case("Slice steps without axes", "Slice", [x, ints(3), ints(0), None, ints(-1)],
               [x[3:0:-1].copy()])
    yield Case("Slice of nothing", "Slice", [x[:0], ints(0), ints(5)])
    for opset, inputs, attrs in ((11, [x], {"split": [1, 3]}), (13, [x, ints(1, 3)], {}),
                                 (2, [x], {}), (18, [x], {"num_outputs": 2})):
        yield Case(f"Split opset {opset}", "Split", inputs, opset=opset, n_out=2, axis=0, **attrs)
    yield Case("Split uneven", "Split", [x], [x[:, :2], x[:, 2:4], x[:, 4:]], n_out=3, axis=1,
               num_outputs=3)
    yield Case("Split into one", "Split", [x], n_out=1, axis=2, num_outputs=1)


def pads(rng):
    x = values(rng, F32, (3, 4, 5))
    amounts = ints(0, 2, 1, 1, 0, 3)
    for mode in ("constant", "edge", "reflect", "wrap"):
        yield Case(f"Pad {mode}", "Pad", [x, amounts], [np.pad(
            x, [(0, 1), (2, 0), (1, 3)], mode=mode)], mode=mode)
        yield Case(f"Pad {mode} axes", "Pad", [x, ints(2, 1, 0, 3), None, ints(-1, 0)], [np.pad(
            x, [(1, 3), (0, 0), (2, 0)], mode=mode)], mode=mode)
    for mode in ("constant", "edge", "reflect"):
        yield Case(f"Pad {mode} attribute", "Pad", [x], [np.pad(
            x, [(0, 1), (2, 0), (1, 3)], mode=mode)], opset=2, mode=mode,
            pads=[0, 2, 1, 1, 0, 3])
    yield Case("Pad attribute value", "Pad", [x], [np.pad(
        x, [(1, 0), (0, 0), (0, 1)], constant_values=2.5)], opset=2, pads=[1, 0, 0, 0, 0, 1],
        value=2.5)
    yield Case("Pad first form", "Pad", [x], [np.pad(x, [(1, 0), (0, 0), (0, 1)])], opset=1,
               paddings=[1, 0, 0, 0, 0, 1])
    yield Case("Pad negative", "Pad", [x, ints(-1, 0, 1, 0, -2, 0)], [np.pad(
        x[1:, :2], [(0, 0), (0, 0), (1, 0)])])
    yield Case("Pad beyond a reflection", "Pad", [x[:, :, :3], ints(0, 0, 7, 0, 0, 8)], [np.pad(
        x[:, :, :3], [(0, 0), (0, 0), (7, 8)], mode="reflect")], mode="reflect")
    yield Case("Pad around nothing", "Pad", [x[:0], ints(1, 0, 0, 1, 0, 0), np.array(4, F32)],
               [np.full((2, 4, 5), 4, F32)])
    yield Case("Pad a scalar", "Pad", [np.array(1, F32), ints()], [np.array(1, F32)])
    for k in (-3, -1, 0, 1, 9):
        yield Case(f"Trilu lower {k}", "Trilu", [x, np.array(k, I64)], upper=0)
        yield Case(f"Trilu upper {k}", "Trilu", [x, np.array(k, I64)], upper=1)
    yield Case("Trilu default", "Trilu", [x])
    yield Case("Expand keeps", "Expand", [x, ints(1)])
    yield Case("Expand scalar", "Expand", [np.array(2, F32), ints(2, 0, 3)])
    yield Case("Expand to scalar", "Expand", [np.array(2, F32), ints()])
    yield Case("Tile by 0", "Tile", [x, ints(1, 0, 2)])


def cases():
    rng = np.random.default_rng(2)
    for group in (sources, shapes, moves, slices, pads):
        yield from group(rng)
