# SPDX-License-Identifier: MIT
"""What the movement ops refuse: every constraint of their definitions, broken once.

Each line is a call that is right but for one thing.
"""
import numpy as np

import qcase as q


def x_of(shape, dtype="f32", name="x", kind="input", array=None):
    enc = q.scale_offset(0.1, 0) if q.is_fixed(dtype) else None
    if kind == "static" and array is None:
        array = np.zeros(shape, np.float32 if dtype == "f32" else np.int64)
    return q.Tensor(name, array, dtype, enc, kind, dims=shape)


def static(values, dtype="i32", name="indices"):
    array = np.asarray(values)
    return q.Tensor(name, array, dtype, kind="static")


def refuse(f, op, ins, outs, params=None, why=""):
    """Shapes or tensors; every case is refused when it is validated and when it is added."""
    ins = [t if isinstance(t, q.Tensor) else x_of(t, name=f"x{i}") for i, t in enumerate(ins)]
    outs = [t if isinstance(t, q.Tensor) else x_of(t, name=f"y{i}") for i, t in enumerate(outs)]
    f.add(op, ins, outs, params, name=f"{op}_{why}", error=q.error())


def u32(**params):
    return {k: ("u32", v) for k, v in params.items()}


def rearrange_cases(f):
    refuse(f, "Transpose", [(2, 3)], [(3, 2)], {}, "without_perm")
    refuse(f, "Transpose", [(2, 3)], [(3, 2)], u32(perm=(1,)), "short_perm")
    refuse(f, "Transpose", [(2, 3)], [(3, 2)], u32(perm=(1, 0, 2)), "long_perm")
    refuse(f, "Transpose", [(2, 3)], [(3, 2)], u32(perm=(1, 2)), "axis_out_of_range")
    refuse(f, "Transpose", [(2, 3)], [(2, 2)], u32(perm=(0, 0)), "axis_twice")
    refuse(f, "Transpose", [(2, 3)], [(2, 3)], u32(perm=(1, 0)), "wrong_shape")
    refuse(f, "Transpose", [(2, 3)], [x_of((3, 2), "i32", "y")], u32(perm=(1, 0)), "wrong_type")
    refuse(f, "Transpose", [(2, 3)], [(3, 2)], {"perm": ("i32", (-1, 0))}, "negative_axis")
    for op, good in (("DepthToSpace", ((1, 2, 2, 8), (1, 4, 4, 2))),
                     ("SpaceToDepth", ((1, 4, 4, 2), (1, 2, 2, 8)))):
        refuse(f, op, [good[0]], [good[1]], {}, "without_block")
        refuse(f, op, [good[0]], [good[1]], u32(block_size=(2,)), "short_block")
        refuse(f, op, [good[0]], [good[1]], u32(block_size=(0, 2)), "zero_block")
        refuse(f, op, [good[0]], [good[1]], u32(block_size=(3, 2)), "block_that_does_not_divide")
        refuse(f, op, [good[0]], [good[1]], u32(block_size=(2, 2), mode=2), "unknown_mode")
        refuse(f, op, [good[0]], [good[0]], u32(block_size=(2, 2)), "wrong_shape")
        refuse(f, op, [good[0][1:]], [good[1][1:]], u32(block_size=(2, 2)), "rank_3")
        refuse(f, op, [good[0]], [good[1]], u32(block_size=(2 ** 31, 2 ** 31)), "huge_block")
    good = ((4, 2, 2, 1), (1, 4, 4, 1))
    refuse(f, "BatchToSpace", [good[0]], [good[1]], u32(block_size=(2, 0)), "zero_block")
    refuse(f, "BatchToSpace", [good[0]], [good[1]], u32(block_size=(3, 1)), "batch_not_divisible")
    refuse(f, "BatchToSpace", [good[0]], [good[1]], u32(block_size=(2, 2), crops=((2, 2), (0, 0))),
           "nothing_left")
    refuse(f, "BatchToSpace", [good[0]], [good[1]], u32(block_size=(2, 2), crops=((1, 0), (0, 0))),
           "wrong_shape")
    refuse(f, "BatchToSpace", [good[0]], [good[1]], u32(block_size=(2, 2), crops=((1, 0),)),
           "short_crops")
    refuse(f, "SpaceToBatch", [good[1]], [good[0]], u32(block_size=(0, 2)), "zero_block")
    refuse(f, "SpaceToBatch", [good[1]], [good[0]], u32(block_size=(3, 2)), "rows_not_divisible")
    refuse(f, "SpaceToBatch", [good[1]], [good[0]],
           u32(block_size=(2, 2), pad_amount=((0, 0), (1, 0))), "columns_not_divisible")
    refuse(f, "SpaceToBatch", [good[1]], [good[1]], u32(block_size=(2, 2)), "wrong_shape")
    refuse(f, "SpaceToBatch", [good[1]], [good[0]],
           u32(block_size=(2, 2), pad_amount=((0, 0, 0), (0, 0, 0))), "wide_pad_amount")
    refuse(f, "ChannelShuffle", [(2, 6)], [(2, 6)], {}, "without_groups")
    refuse(f, "ChannelShuffle", [(2, 6)], [(2, 6)], u32(num_groups=0), "no_groups")
    refuse(f, "ChannelShuffle", [(2, 6)], [(2, 6)], u32(num_groups=4), "uneven_groups")
    refuse(f, "ChannelShuffle", [(2, 6)], [(2, 6)], u32(num_groups=12), "more_groups_than_channels")
    refuse(f, "ChannelShuffle", [(2, 6)], [(2, 6)], u32(num_groups=2, axis=2), "axis_out_of_range")
    refuse(f, "ChannelShuffle", [(2, 6)], [(6, 2)], u32(num_groups=2), "wrong_shape")
    refuse(f, "Tile", [(2, 3)], [(4, 3)], {}, "without_multiples")
    refuse(f, "Tile", [(2, 3)], [(4, 3)], u32(multiples=(2,)), "short_multiples")
    refuse(f, "Tile", [(2, 3)], [(4, 3)], u32(multiples=(2, 0)), "zero_multiple")
    refuse(f, "Tile", [(2, 3)], [(4, 3)], u32(multiples=(2, 2)), "wrong_shape")
    refuse(f, "Tile", [(2, 3)], [(4, 3)], u32(multiples=(2 ** 31, 2)), "huge_multiple")
    pads = {"scheme": ("u32", 0), "pad_amount": ("u32", ((1, 1), (0, 0)))}
    refuse(f, "Pad", [(2, 3)], [(4, 3)], u32(scheme=0), "without_amount")
    many = [q.Tensor(n, None, "uq8", q.axis(1, [1.0, 2.0, 3.0]), dims=d)
            for n, d in (("x", (2, 3)), ("y", (4, 3)))]
    one = x_of((4, 3), "uq8", "y")
    for y in (many[1], one):
        refuse(f, "Pad", [many[0]], [y], {**pads,
                                          "pad_constant_value": ("u8", 1)}, "code_of_many_scales")
    refuse(f, "Pad", [(2, 3)], [(4, 3)], u32(pad_amount=((1, 1), (0, 0))), "without_scheme")
    refuse(f, "Pad", [(2, 3)], [(4, 3)], {**pads, "scheme": ("u32", 4)}, "unknown_scheme")
    refuse(f, "Pad", [(2, 3)], [(4, 3)], u32(scheme=0, pad_amount=((1, 1),)), "short_amount")
    refuse(f, "Pad", [(2, 3)], [(3, 3)], pads, "wrong_shape")
    refuse(f, "Pad", [(2, 3)], [(5, 3)], u32(scheme=1, pad_amount=((3, 0), (0, 0))),
           "symmetric_beyond_the_border")
    refuse(f, "Pad", [(2, 3)], [(4, 3)], u32(scheme=2, pad_amount=((0, 2), (0, 0))),
           "reflect_beyond_the_border")
    for dtype, value in (("uq8", 256), ("sq8", 128), ("uq8", -1), ("i8", 200), ("u8", -1)):
        refuse(f, "Pad", [x_of((2, 3), dtype)], [x_of((4, 3), dtype, "y")],
               {**pads, "pad_constant_value": ("i32", value)}, "value_out_of_range")


def join_cases(f):
    refuse(f, "Concat", [(2, 3), (2, 3)], [(2, 6)], u32(axis=2), "axis_out_of_range")
    refuse(f, "Concat", [(2, 3), (3, 3)], [(2, 6)], u32(axis=1), "unlike_dims")
    refuse(f, "Concat", [(2, 3), (2, 3, 1)], [(2, 6)], u32(axis=1), "unlike_ranks")
    refuse(f, "Concat", [(2, 3), (2, 3)], [(2, 5)], u32(axis=1), "wrong_shape")
    refuse(f, "Concat", [(2, 3), x_of((2, 3), "i32", "b")], [(2, 6)], u32(axis=1), "unlike_types")
    refuse(f, "Pack", [(2, 3), (2, 3)], [(2, 2, 3)], {}, "without_axis")
    refuse(f, "Pack", [(2, 3), (2, 3)], [(2, 2, 3)], u32(axis=3), "axis_out_of_range")
    refuse(f, "Pack", [(2, 3), (2, 4)], [(2, 2, 3)], u32(axis=0), "unlike_dims")
    refuse(f, "Pack", [(2, 3), (2, 3)], [(2, 3, 2)], u32(axis=0), "wrong_shape")
    refuse(f, "Pack", [(1,) * 8, (1,) * 8], [(2,) + (1,) * 7], u32(axis=0), "rank_9")
    refuse(f, "UnPack", [(2, 3)], [(3,), (3,)], {}, "without_axis")
    refuse(f, "UnPack", [(2, 3)], [(3,), (3,)], u32(axis=2), "axis_out_of_range")
    refuse(f, "UnPack", [(2, 3)], [(3,)], u32(axis=0), "too_few_outputs")
    refuse(f, "UnPack", [(2, 3)], [(3,)] * 3, u32(axis=0), "too_many_outputs")
    refuse(f, "UnPack", [(2, 3)], [(3,), (2,)], u32(axis=0), "wrong_shape")
    good = [(2, 2), (2, 4)]
    refuse(f, "Split", [(2, 6)], good, u32(axis=1), "without_index")
    refuse(f, "Split", [(2, 6)], good, u32(split_index=(2,)), "without_axis")
    refuse(f, "Split", [(2, 6)], good, u32(axis=2, split_index=(2,)), "axis_out_of_range")
    refuse(f, "Split", [(2, 6)], good, u32(axis=1, split_index=(2, 4)), "too_many_indices")
    refuse(f, "Split", [(2, 6)], good, u32(axis=1, split_index=(0,)), "empty_first_part")
    refuse(f, "Split", [(2, 6)], good, u32(axis=1, split_index=(6,)), "empty_last_part")
    refuse(f, "Split", [(2, 6)], good, u32(axis=1, split_index=(7,)), "index_out_of_range")
    refuse(f, "Split", [(2, 6)], [(2, 2)] * 3, u32(axis=1, split_index=(4, 2)), "falling_indices")
    refuse(f, "Split", [(2, 6)], [(2, 2)] * 3, u32(axis=1, split_index=(2, 2)), "equal_indices")
    refuse(f, "Split", [(2, 6)], good[::-1], u32(axis=1, split_index=(2,)), "wrong_shapes")


def slice_cases(f):
    def bad(why, ranges, out=(2, 2), shape=(4, 2), **masks):
        refuse(f, "StridedSlice", [shape], [out], {"ranges": ("i32", ranges), **u32(**masks)}, why)

    whole = (0, 2, 1)
    refuse(f, "StridedSlice", [(4, 2)], [(4, 2)], {}, "without_ranges")
    bad("few_rows", [(0, 2, 1)])
    bad("many_rows", [(0, 2, 1), whole, whole])
    bad("two_columns", [(0, 2), (0, 2)])
    bad("zero_stride", [(0, 2, 0), whole])
    bad("begin_at_the_end", [(4, 4, 1), whole], (1, 2))
    bad("negative_begin", [(-1, 4, 1), whole], (1, 2))
    bad("end_behind_the_end", [(3, 5, 1), whole])
    bad("end_below_minus_one", [(1, -2, -1), whole])
    bad("rising_with_negative_stride", [(0, 2, -1), whole])
    bad("falling_with_positive_stride", [(2, 0, 1), whole])
    bad("wrong_shape", [(0, 3, 1), whole])
    bad("shrunk_begin_out_of_range", [(4, 0, 1), whole], (2,), shrink_axes=1)
    bad("shrunk_shape", [(1, 2, 1), whole], (1, 2), shrink_axes=1)
    bad("new_axis_without_row", [(0, 2, 1), whole], (1, 2, 2), new_axes_mask=4, shrink_axes=0,
        shape=(4, 2, 2))
    bad("new_axis_shape", [whole, (0, 2, 1), whole], (2, 2, 2), new_axes_mask=1)


def shape_cases(f):
    refuse(f, "Reshape", [(2, 3)], [(5,)], {}, "other_count")
    refuse(f, "Reshape", [(2, 3)], [x_of((6,), "u8", "y")], {}, "wrong_type")
    refuse(f, "Reshape", [(2, 3), x_of((2,), "f32", "shape")], [(6,)], {}, "float_shape")
    free = q.Tensor("y", None, dims=(3, 2), dynamic=(1, 1))
    for want, why in (((3, 2, 1), "long_shape"), ((4, -1), "uneven_shape"), ((-1, -1), "two_open"),
                      ((-3, 2), "negative_shape"), ((3, 3), "shape_of_another_count"),
                      ((2, 3), "shape_beyond_the_limits")):
        refuse(f, "Reshape", [(2, 3), static(want, name="shape")], [free], {}, why)
    refuse(f, "ExpandDims", [(2, 3)], [(1, 2, 3)], {}, "without_axis")
    refuse(f, "ExpandDims", [(2, 3)], [(2, 3, 1)], u32(axis=3), "axis_out_of_range")
    refuse(f, "ExpandDims", [(2, 3)], [(2, 1, 3)], u32(axis=0), "wrong_shape")
    refuse(f, "ExpandDims", [(2, 3)], [(1, 2, 1, 3)], u32(axis=0, axes=(0, 4)), "axes_out_of_range")
    refuse(f, "ExpandDims", [(2, 3)], [(1, 1, 2, 3)], u32(axis=0, axes=(0, 0)), "axis_twice")
    refuse(f, "ExpandDims", [(1,) * 8], [(1,) * 8], u32(axis=0), "rank_9")
    refuse(f, "Squeeze", [(1, 3, 1)], [(3, 3)], {}, "other_shape")
    refuse(f, "Squeeze", [(1, 3, 2)], [(3,)], {}, "dimension_lost")
    refuse(f, "Squeeze", [(1, 3, 1)], [(3,)], u32(axes=(0,)), "shape_of_other_axes")
    refuse(f, "Squeeze", [(1, 3, 1)], [(1, 1)], u32(axes=(1,)), "axis_of_size_3")
    refuse(f, "Squeeze", [(1, 3, 1)], [(3, 1)], u32(axes=(3,)), "axis_out_of_range")
    refuse(f, "Squeeze", [(1, 3, 1)], [(3, 1)], u32(axes=(0, 0)), "axis_twice")


def gather_cases(f):
    axis = {"axis": ("i32", 0)}
    idx = x_of((2,), "i32", "indices")
    refuse(f, "Gather", [(4, 3), idx], [(2, 3)], {}, "without_axis")
    refuse(f, "Gather", [(4, 3), idx], [(2, 3)], {"axis": ("i32", 2)}, "axis_out_of_range")
    refuse(f, "Gather", [(4, 3), idx], [(2, 3)], {"axis": ("i32", -1)}, "negative_axis")
    refuse(f, "Gather", [(4, 3), idx], [(4, 2)], axis, "wrong_shape")
    refuse(f, "Gather", [(4, 3), idx], [x_of((2, 3), "i32", "y")], axis, "wrong_type")
    refuse(f, "Gather", [(4, 3), static([0, 4])], [(2, 3)], axis, "index_out_of_range")
    refuse(f, "Gather", [(4, 3), static([-5, 0])], [(2, 3)], axis, "negative_index_out_of_range")
    refuse(f, "Gather", [(1,) * 5, x_of((1,) * 5, "i32", "i")], [(1,) * 8], axis, "rank_9")
    pair = x_of((2, 3), "i32", "indices")
    refuse(f, "GatherElements", [(4, 3), pair], [(2, 3)], u32(axis=2), "axis_out_of_range")
    refuse(f, "GatherElements", [(4, 3), idx], [(2,)], {}, "unlike_ranks")
    refuse(f, "GatherElements", [(4, 2), pair], [(2, 3)], {}, "indices_wider_than_the_data")
    refuse(f, "GatherElements", [(4, 3), pair], [(4, 3)], {}, "wrong_shape")
    refuse(f, "GatherElements", [(4, 3), static([[0, 0, 4]])], [(1, 3)], {}, "index_out_of_range")
    many = static(np.repeat([[0, 3, 4]], 6000, axis=0))
    refuse(f, "GatherElements", [(4, 3), many], [(6000, 3)], {}, "index_of_many_out_of_range")
    refuse(f, "GatherNd", [(4, 3), x_of((2, 3), "i32", "i")], [(2,)], {}, "long_tuples")
    refuse(f, "GatherNd", [(4, 3), x_of((2, 1), "i32", "i")], [(2,)], {}, "wrong_shape")
    refuse(f, "GatherNd", [(4, 3), x_of((4, 1), "i32", "i")], [(4,)], u32(batch_dims=2),
           "too_many_batch_dims")
    refuse(f, "GatherNd", [(4, 3), x_of((2, 1), "i32", "i")], [(2,)], u32(batch_dims=1),
           "unlike_batches")
    refuse(f, "GatherNd", [(4, 3), x_of((4, 2), "i32", "i")], [(4,)], u32(batch_dims=1),
           "long_tuples_in_a_batch")
    refuse(f, "GatherNd", [(4, 3), static([[0, 3]])], [(1,)], {}, "index_out_of_range")
    refuse(f, "BatchPermutation", [(2, 3), x_of((3,), "i32", "i")], [(3, 3)], {}, "long_indices")
    refuse(f, "BatchPermutation", [(3, 3), x_of((2,), "i32", "i")], [(3, 3)], {}, "wrong_shape")
    refuse(f, "BatchPermutation", [(3, 3), static([1, 1])], [(2, 3)], {}, "repeated_index")


def scatter_cases(f):
    idx, up = x_of((2, 3), "i32", "indices"), x_of((2, 3), name="updates")
    refuse(f, "ScatterElements", [(4, 3), idx, up], [(4, 3)], u32(axis=2), "axis_out_of_range")
    refuse(f, "ScatterElements", [(4, 3), idx, up], [(4, 3)], u32(reduction=4), "unknown_reduction")
    refuse(f, "ScatterElements", [(4, 3), idx, (3, 3)], [(4, 3)], {}, "updates_of_another_shape")
    refuse(f, "ScatterElements", [(4, 2), idx, up], [(4, 2)], {}, "indices_wider_than_the_data")
    refuse(f, "ScatterElements", [(4, 3), x_of((2,), "i32", "i"), (2,)], [(4, 3)], {},
           "unlike_ranks")
    refuse(f, "ScatterElements", [(4, 3), idx, up], [(2, 3)], {}, "wrong_shape")
    refuse(f, "ScatterElements", [(4, 3), idx, x_of((2, 3), "i32", "u")], [(4, 3)], {},
           "updates_of_another_type")
    refuse(f, "ScatterElements", [(4, 3), static([[0, 0, 4]]), (1, 3)], [(4, 3)], {},
           "index_out_of_range")
    one = x_of((2, 1), "i32", "indices")
    refuse(f, "ScatterNd", [(4, 3), x_of((2, 3), "i32", "i"), (2,)], [(4, 3)], {}, "long_tuples")
    refuse(f, "ScatterNd", [(4, 3), one, (2, 4)], [(4, 3)], {}, "updates_of_another_shape")
    refuse(f, "ScatterNd", [(4, 3), one, (2, 3)], [(3, 3)], {}, "wrong_shape")
    refuse(f, "ScatterNd", [(4, 3), one, (2, 3)], [(4, 3)], u32(reduction=3), "reduction_max")
    refuse(f, "ScatterNd", [(4, 3), static([[4]]), (1, 3)], [(4, 3)], {}, "index_out_of_range")


def generator_cases(f):
    refuse(f, "NonZero", [(2, 3)], [x_of((6, 3), "i32", "y")], {}, "other_rank")
    refuse(f, "NonZero", [(2, 3)], [(6, 2)], {}, "float_output")
    idx = x_of((2, 3), "i32", "indices")
    refuse(f, "OneHot", [idx], [(2, 3, 4)], {}, "without_depth")
    refuse(f, "OneHot", [idx], [(2, 3, 4)], u32(depth=0), "no_depth")
    y = q.Tensor("y", None, "uq8", q.axis(0, [1.0, 2.0]), dims=(2, 3, 4))
    refuse(f, "OneHot", [idx], [y], {**u32(depth=4), "on_value": ("uq8", 1)}, "code_of_many_scales")
    refuse(f, "OneHot", [idx], [(2, 3, 4)], u32(depth=5), "wrong_shape")
    refuse(f, "OneHot", [idx], [(2, 3, 4)], u32(depth=4, axis=3), "axis_out_of_range")
    refuse(f, "OneHot", [x_of((1,) * 8, "i32", "i")], [(1,) * 8], u32(depth=1), "rank_9")
    refuse(f, "OneHot", [idx], [(2, 3, 4)], {**u32(depth=4), "on_value": ("uq8", 1)},
           "code_for_floats")
    refuse(f, "OneHot", [idx], [x_of((2, 3, 4), "uq8", "y")],
           {**u32(depth=4), "off_value": ("sq8", 1)}, "code_of_another_type")
    dims = static([2, 3], "u32", "shape")
    refuse(f, "ConstantOfShape", [dims], [(2, 3)], {}, "without_value")
    refuse(f, "ConstantOfShape", [dims], [(3, 2)], {"value": ("f32", 1)}, "wrong_shape")
    refuse(f, "ConstantOfShape", [dims], [(2, 3)], {"value": ("i32", 1)}, "wrong_type")
    refuse(f, "ConstantOfShape", [dims], [x_of((2, 3), "i8", "y")], {"value": ("i64", 128)},
           "value_that_does_not_fit")
    refuse(f, "ConstantOfShape", [static([1] * 9, "u32", "shape")], [(1,) * 8],
           {"value": ("f32", 1)}, "rank_9")
    y = x_of((2,), "u32", "y")
    refuse(f, "Shape", [(2, 3)], [y], u32(start=2), "start_out_of_range")
    refuse(f, "Shape", [(2, 3)], [y], u32(end=3), "end_out_of_range")
    refuse(f, "Shape", [(2, 3)], [y], u32(start=1, end=1), "empty")
    refuse(f, "Shape", [(2, 3)], [y], u32(start=1), "wrong_shape")
    late = x_of((2,), "u32", "shape", array=np.array([3, 2]))
    f.add("ConstantOfShape", [late], [x_of((2, 3), name="y")], {"value": ("f32", 1)},
          name="ConstantOfShape_other_shape_at_execution", error=q.error(None, "execute"))


def cases(f):
    rearrange_cases(f)
    join_cases(f)
    slice_cases(f)
    shape_cases(f)
    gather_cases(f)
    scatter_cases(f)
    generator_cases(f)


if __name__ == "__main__":
    q.run(cases)
