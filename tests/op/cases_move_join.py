# SPDX-License-Identifier: MIT
"""Cases of the ops that join, cut and rename dimensions: Concat, Pack, UnPack, Split, StridedSlice,
Reshape, ExpandDims, Squeeze.

Oracles: numpy on the definitions; slices are taken element by element.
"""
import itertools

import numpy as np

import qcase as q
from movement import ACT, ACT16, both, changed, moved, source


def inputs(f, shapes, dtype, enc=None):
    first = source(f, shapes[0], dtype, "x0", enc=enc)
    return [first] + [source(f, s, dtype, f"x{i + 1}", enc=first.enc)
                      for i, s in enumerate(shapes[1:])]


def concat_cases(f):
    plans = (((3,), (4,)), ((2, 3), (2, 3)), ((2, 3, 4), (2, 1, 4), (2, 5, 4)),
             ((1, 4, 5, 3), (1, 4, 5, 1)), ((2, 2, 3, 2, 2),) * 3, ((1, 1),) * 7,
             ((40, 70), (40, 33)))
    for shapes, dtype in itertools.product(plans, ACT16 + ("i32", "u32")):
        rank = len(shapes[0])
        for axis in range(rank):
            if any(a[d] != shapes[0][d] for a in shapes for d in range(rank) if d != axis):
                continue
            xs = inputs(f, shapes, dtype)
            y = np.concatenate([x.codes for x in xs], axis)
            params = {} if axis == rank - 1 and f.rng.integers(2) else {"axis": ("u32", axis)}
            f.add("Concat", xs, [moved(xs[0], y)], params)
    for dtype in ("uq8", "sq8", "uq16", "sq16"):  # every input with an encoding of its own
        for axis in range(3):
            xs = [source(f, (2, 3, 4), dtype, f"x{i}", kind="static" if i == 1 else "input")
                  for i in range(3)]
            y = np.concatenate([x.real for x in xs], axis)
            f.add("Concat", xs, [changed(f, y, dtype)], {"axis": ("u32", axis)},
                  name="Concat_requantized")
    xs = inputs(f, [(2, 3)] * 40, "f32")
    f.add("Concat", xs, [moved(xs[0], np.concatenate([x.codes for x in xs]))], {"axis": ("u32", 0)},
          name="Concat_many")
    x = source(f, (2, 3), "uq8")
    f.add("Concat", [x], [moved(x, x.codes)], name="Concat_single")
    f.add("Concat", [x, x], [moved(x, np.concatenate([x.codes] * 2, 1))], name="Concat_itself")
    xs = inputs(f, [(200, 300), (200, 100)], "f32")
    f.add("Concat", xs, [moved(xs[0], np.concatenate([x.codes for x in xs], 1))],
          {"axis": ("u32", 1)}, name="Concat_large")
    xs = inputs(f, [(1, 200, 100), (1, 100, 100)], "f32")
    f.add("Concat", xs, [moved(xs[0], np.concatenate([x.codes for x in xs], 1))],
          {"axis": ("u32", 1)}, name="Concat_large_runs")


def pack_cases(f):
    types = ACT + ("i8", "i16", "i32", "i64", "u8")
    for (shape, count), dtype in itertools.product((((3,), 2), ((2, 3), 3), ((1, 1), 4),
                                                    ((2, 3, 4), 1), ((2, 1, 3, 2), 2)), types):
        for axis in range(len(shape) + 1):
            xs = inputs(f, [shape] * count, dtype)
            f.add("Pack", xs, [moved(xs[0], np.stack([x.codes for x in xs], axis))],
                  {"axis": ("u32", axis)})
    for dtype in ("uq8", "sq8", "uq16"):
        xs = [source(f, (2, 3), dtype, f"x{i}") for i in range(3)]
        f.add("Pack", xs, [changed(f, np.stack([x.real for x in xs], 1), dtype)],
              {"axis": ("u32", 1)}, name="Pack_requantized")


def unpack_cases(f):
    for shape, dtype in itertools.product(((3,), (2, 3), (1, 4), (2, 3, 4), (2, 1, 3, 2)), ACT16):
        for axis in range(len(shape)):
            x = source(f, shape, dtype)
            parts = [x.codes.take(i, axis) for i in range(shape[axis])]
            f.add("UnPack", [x], [moved(x, p, f"y{i}") for i, p in enumerate(parts)],
                  {"axis": ("u32", axis)})
    x = source(f, (4,), "uq8")  # single values declared as [1]
    f.add("UnPack", [x], [moved(x, x.codes[i:i + 1], f"y{i}") for i in range(4)],
          {"axis": ("u32", 0)}, name="UnPack_to_rank_1")
    for dtype in ("uq8", "uq16", "sq16"):
        x = source(f, (3, 4), dtype)
        f.add("UnPack", [x], [changed(f, x.real[i], dtype, f"y{i}") for i in range(3)],
              {"axis": ("u32", 0)}, name="UnPack_requantized")


def split_cases(f):
    plans = (((5,), 0, (2,)), ((5,), 0, (1, 2, 4)), ((4, 6), 1, (3,)), ((4, 6), 0, (1, 3)),
             ((2, 3, 4), 1, (1, 2)), ((1, 4, 5, 6), 3, (2, 4)), ((2, 2, 7, 2, 2), 2, (6,)),
             ((60, 70), 1, (1, 50)))
    for (shape, axis, index), dtype in itertools.product(plans, ACT + ("sq32", "i32")):
        x = source(f, shape, dtype)
        parts = np.split(x.codes, index, axis)
        f.add("Split", [x], [moved(x, p, f"y{i}") for i, p in enumerate(parts)],
              {"axis": ("u32", axis), "split_index": ("u32", index)})
    # The parts have narrow and wide ranges: none may pass through the encoding of another.
    for dtype, kind in itertools.product(("uq8", "sq8", "uq16"), ("input", "static")):
        real = np.concatenate([f.rng.uniform(-0.1, 0.1, (3, 2)), f.rng.uniform(-9, 9, (3, 4)),
                               f.rng.uniform(0, 1, (3, 1))], 1)
        x = q.Tensor("x", real, dtype, kind=kind)
        parts = np.split(x.real, (2, 6), 1)
        f.add("Split", [x], [changed(f, p, dtype, f"y{i}") for i, p in enumerate(parts)],
              {"axis": ("u32", 1), "split_index": ("u32", (2, 6))}, name="Split_requantized")


def strided_slice(x, ranges, begin_mask=0, end_mask=0, shrink=0, new=0):
    """Element by element, straight from the definition."""
    picks, shape, d = [], [], 0
    for i, (begin, end, stride) in enumerate(ranges):
        if new >> i & 1:
            shape.append(1)
            continue
        size = x.shape[d]
        d += 1
        if begin_mask >> i & 1:
            begin = 0 if stride > 0 else size - 1
        if end_mask >> i & 1:
            end = size if stride > 0 else -1
        if shrink >> i & 1:
            picks.append([begin])
            continue
        picks.append([begin + k * stride for k in range(max(1, -(-(end - begin) // stride)))])
        shape.append(len(picks[-1]))
    return x[np.ix_(*picks)].reshape(shape)


def slice_cases(f):
    plans = [  # shape, ranges, masks: begin, end, shrink, new
        ((6,), [(1, 5, 2)], {}), ((6,), [(4, 0, -1)], {}), ((6,), [(5, -1, -2)], {}),
        ((6,), [(2, 2, 1)], {}), ((6,), [(0, 6, 10)], {}),
        ((4, 5), [(1, 3, 1), (0, 5, 2)], {}), ((4, 5), [(3, 0, -2), (4, -1, -1)], {}),
        ((4, 5), [(1, 2, 1), (2, 3, 1)], {"begin_mask": 1, "end_mask": 2}),
        ((4, 5), [(1, 2, -1), (2, 3, -1)], {"begin_mask": 3, "end_mask": 3}),
        ((4, 5), [(2, 0, 1), (0, 5, 1)], {"shrink_axes": 1}),
        ((4, 5), [(2, 3, 1), (3, 4, 1)], {"shrink_axes": 3}),
        ((4, 5), [(0, 0, 1), (1, 3, 1), (0, 4, 3)], {"new_axes_mask": 1}),
        ((4, 5), [(1, 3, 1), (0, 0, 1), (0, 4, 3)], {"new_axes_mask": 2, "shrink_axes": 2}),
        ((4, 5), [(1, 3, 1), (2, 0, 1), (0, 0, 0)], {"new_axes_mask": 4, "shrink_axes": 2}),
        ((2, 3, 4), [(0, 2, 1), (1, 3, 1), (0, 4, 2)], {}),
        ((2, 3, 4), [(0, 2, 1), (0, 3, 1), (3, 4, 1)], {"shrink_axes": 4}),
        ((1, 5, 6, 3), [(0, 1, 1), (1, 4, 1), (5, -1, -1), (0, 3, 1)], {}),
        ((1, 5, 6, 3), [(0, 1, 1), (0, 5, 2), (0, 6, 2), (1, 2, 1)], {"shrink_axes": 9}),
        ((2, 2, 3, 2, 4), [(0, 2, 1), (1, 2, 1), (0, 3, 2), (0, 2, 1), (1, 4, 2)], {}),
        ((130, 140), [(3, 129, 1), (1, 139, 1)], {}), ((130, 140), [(0, 130, 2), (0, 140, 1)], {}),
    ]
    types = ACT + ("i8", "i32", "i64", "u8", "u32")
    for (shape, ranges, masks), dtype in itertools.product(plans, types):
        params = {"ranges": ("i32", ranges), **{k: ("u32", v) for k, v in masks.items()}}
        words = {"begin_mask": "begin_mask", "end_mask": "end_mask", "shrink_axes": "shrink",
                 "new_axes_mask": "new"}
        more = {words[k]: v for k, v in masks.items()}
        x = source(f, shape, dtype)
        f.add("StridedSlice", [x], [moved(x, strided_slice(x.codes, ranges, **more))], params)
        if q.is_fixed(dtype):
            y = strided_slice(x.real, ranges, **more)
            f.add("StridedSlice", [x], [changed(f, y, dtype)], params,
                  name="StridedSlice_requantized")
    for dtype in ("f32", "uq8"):  # a single value may be declared with rank 0 or 1
        x = source(f, (6,), dtype)
        f.add("StridedSlice", [x], [moved(x, x.codes[2])], {"ranges": ("i32", [(2, 3, 1)])},
              name="StridedSlice_to_rank_0")
        f.add("StridedSlice", [x], [moved(x, x.codes[2:3])],
              {"ranges": ("i32", [(2, 3, 1)]), "shrink_axes": ("u32", 1)},
              name="StridedSlice_to_rank_1")
        one = q.Tensor("i", np.array([4]), "i32")
        f.add("Gather", [x, one], [moved(x, x.codes[4])], {"axis": ("i32", 0)},
              name="Gather_to_rank_0")
    for _ in range(150):
        rank = int(f.rng.integers(1, 6))
        shape, ranges = [int(d) for d in f.rng.integers(1, 7, rank)], []
        for d in shape:
            a, b = (int(v) for v in f.rng.integers(0, d, 2))
            step = int(f.rng.integers(1, 4))
            ranges.append((min(a, b), max(a, b) + 1, step) if f.rng.integers(2)
                          else (max(a, b), min(a, b) - 1, -step))
        masks = {k: int(f.rng.integers(1 << rank)) for k in ("begin_mask", "end_mask")}
        shrink = int(f.rng.integers(1 << rank))
        x = source(f, shape, types[int(f.rng.integers(len(types)))])
        y = strided_slice(x.codes, ranges, masks["begin_mask"], masks["end_mask"], shrink)
        f.add("StridedSlice", [x], [moved(x, y)],
              {"ranges": ("i32", ranges), "shrink_axes": ("u32", shrink),
               **{k: ("u32", v) for k, v in masks.items()}}, name="StridedSlice_random")


def reshape_cases(f):
    plans = (((6,), (2, 3)), ((2, 3), (6,)), ((2, 3, 4), (4, 6)), ((2, 3, 4), (1, 24, 1)),
             ((1,), ()), ((), (1,)), ((), ()), ((), (1, 1)), ((1, 1), (1,)),
             ((2, 2, 2, 2), (2, 2, 2, 2)), ((8,), (2, 1, 1, 2, 1, 1, 2, 1)))
    for shape, new in plans:
        both(f, "Reshape", shape, ACT16 + ("i32", "u8", "u32", "b8"), lambda a: a.reshape(new),
             name="Reshape")
    x = source(f, (2, 3), "f32")
    for dtype in ("uq8", "sq8"):
        f.add("Reshape", [x], [changed(f, x.real.reshape(6), dtype)], name="Reshape_f32_quantized")
    ignored = q.Tensor("shape", np.array([7, 7]), "i32", kind="static")  # no dynamic dimensions
    f.add("Reshape", [x, ignored], [moved(x, x.codes.reshape(6))], name="Reshape_shape_ignored")
    weights = f.rng.normal(size=(4, 2, 3))
    x = q.Tensor("x", weights, "sq8", q.fit_axis(weights, 0), "static")
    f.add("Reshape", [x], [q.Tensor("y", x.codes.reshape(4, 6), "sq8", x.enc, tol=q.exact())],
          name="Reshape_per_axis")
    f.add("Reshape", [x], [q.Tensor("y", x.real.reshape(8, 3), "sq8",
                                    q.fit_axis(x.real.reshape(8, 3), 0))],
          name="Reshape_other_axis")


def dims_cases(f):
    for shape in ((3,), (2, 3), (1, 4), (2, 3, 4), (2, 1, 3, 1)):
        for axis in range(len(shape) + 1):
            both(f, "ExpandDims", shape, ACT + ("i32", "u8"), lambda a: np.expand_dims(a, axis),
                 {"axis": ("u32", axis)}, "ExpandDims")
    for shape, axes in (((3,), (0, 2)), ((2, 3), (3, 0)), ((2, 3), (1, 2, 3)), ((4,), (1,))):
        both(f, "ExpandDims", shape, ACT + ("i32", "u8"), lambda a: np.expand_dims(a, axes),
             {"axis": ("u32", 0), "axes": ("u32", axes)}, "ExpandDims_axes")
    for shape, new in (((1, 3), (3,)), ((3, 1), (3,)), ((1, 1), ()), ((1, 1), (1,)),
                       ((1, 2, 1, 3), (2, 3)), ((1, 2, 1, 3), (1, 2, 3)), ((1, 2, 1, 3), (2, 1, 3)),
                       ((2, 3), (2, 3)), ((1, 1, 2, 1), (1, 2))):
        both(f, "Squeeze", shape, ACT + ("u8",), lambda a: a.reshape(new), name="Squeeze")
    for shape, axes in (((1, 3), (0,)), ((1, 2, 1, 3), (2,)), ((1, 2, 1, 3), (2, 0)),
                        ((1, 1), (0, 1))):
        both(f, "Squeeze", shape, ACT + ("u8",), lambda a: a.squeeze(axes),
             {"axes": ("u32", axes)}, "Squeeze_axes")


def graph_cases(f):
    """Constants are moved at finalize; chains of moves between application tensors."""
    for dtype in ("f32", "uq8"):
        x, w = source(f, (4, 3), dtype), source(f, (3, 4), dtype, "w", "static")
        w.enc = x.enc
        turned = q.Tensor("t", None, dtype, x.enc, "native", dims=(4, 3))
        f.build([q.Node("Transpose", [w], [turned], {"perm": ("u32", (1, 0))}),
                 q.Node("Concat", [x, turned], [moved(x, np.concatenate([x.codes, w.codes.T], 1))],
                        {"axis": ("u32", 1)})], name="Transpose_of_a_constant")
        halves = [q.Tensor(f"h{i}", None, dtype, x.enc, "native", dims=(2, 3)) for i in range(2)]
        f.build([q.Node("Split", [x], halves, {"axis": ("u32", 0), "split_index": ("u32", (2,))}),
                 q.Node("Concat", halves[::-1],
                        [moved(x, np.concatenate([x.codes[2:], x.codes[:2]]))],
                        {"axis": ("u32", 0)})], name="Split_then_Concat")
        flat = moved(x, x.codes.reshape(12), "flat")
        flat.kind = "output"  # read by the application and by the next node
        f.build([q.Node("Reshape", [x], [flat]),
                 q.Node("Tile", [flat], [moved(x, np.tile(x.codes.ravel(), 2))],
                        {"multiples": ("u32", (2,))})], name="Reshape_then_Tile")


def cases(f):
    concat_cases(f)
    pack_cases(f)
    unpack_cases(f)
    split_cases(f)
    slice_cases(f)
    reshape_cases(f)
    dims_cases(f)
    graph_cases(f)


if __name__ == "__main__":
    q.run(cases)
