# SPDX-License-Identifier: MIT
"""Moving elements in context: forms of older opsets, between channel-last neighbours, inside
quantized units, and what must be refused. Expected values by numpy in float64."""
import numpy as np

from case_onnx import case, encoding, node

RNG = np.random.default_rng(5)


def ints(*values):
    return np.array(values, np.int64)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def old_forms():
    x = normal(2, 3, 4)

    def old(name, opset, n, want, constants=None, outputs="y", feeds=None):
        return case(f"{name}_opset{opset}", n, feeds or {"x": x}, outputs, constants, opset=opset,
                    expected=want if isinstance(want, list) else [want])

    yield old("reshape", 1, node("Reshape", "x", "y", shape=[0, -1], consumed_inputs=[0, 0]),
              x.reshape(2, 12))
    yield old("reshape_same", 13, node("Reshape", "x s", "y"), x, {"s": ints(2, 3, -1)})
    yield old("reshape_scalar", 13, node("Reshape", "x s", "y"), x[0, 0, 0], {"s": ints()},
              feeds={"x": x[:1, :1, :1]})
    yield old("flatten", 11, node("Flatten", "x", "y", axis=-1), x.reshape(6, 4))
    yield old("flatten_all", 1, node("Flatten", "x", "y", axis=0), x.reshape(1, 24))
    one = x[:, :1, :1]
    yield old("squeeze", 1, node("Squeeze", "x", "y", axes=[1]), one[:, 0], feeds={"x": one})
    yield old("squeeze_negative", 11, node("Squeeze", "x", "y", axes=[-2, -1]), one[:, 0, 0],
              feeds={"x": one})
    yield old("squeeze_all", 13, node("Squeeze", "x", "y"), one[:, 0, 0], feeds={"x": one})
    yield old("unsqueeze", 1, node("Unsqueeze", "x", "y", axes=[0, 4]), x[None, ..., None])
    yield old("unsqueeze_negative", 11, node("Unsqueeze", "x", "y", axes=[-1, 1]),
              x[:, None, ..., None])
    yield old("transpose_default", 1, node("Transpose", "x", "y"), x.transpose())
    yield old("concat_default", 1, node("Concat", "x x", "y"), np.concatenate([x, x], 1))
    yield old("concat_negative", 11, node("Concat", "x x x", "y", axis=-1),
              np.concatenate([x, x, x], 2))
    yield old("concat_one", 11, node("Concat", "x", "y", axis=1), x)
    yield old("concat_empty", 13, node("Concat", "x e", "y", axis=1), x,
              {"e": np.zeros((2, 0, 4), np.float32)})
    yield old("split", 1, node("Split", "x", "y z", split=[1, 2], axis=1), [x[:, :1], x[:, 1:]],
              outputs="y z")
    yield old("split", 2, node("Split", "x", "y z", axis=2), [x[..., :2], x[..., 2:]],
              outputs="y z")
    yield old("split_uneven", 18, node("Split", "x", "y z", axis=1, num_outputs=2),
              [x[:, :2], x[:, 2:]], outputs="y z")
    yield old("split_zero", 13, node("Split", "x s", "y z w", axis=1),
              [x[:, :1], x[:, 1:1], x[:, 1:]], {"s": ints(1, 0, 2)}, "y z w")
    yield old("split_unwanted", 13, node("Split", "x s", "y z w", axis=1),
              [x[:, 2:]], {"s": ints(1, 1, 1)}, "w")
    yield old("slice", 1, node("Slice", "x", "y", starts=[1, -3], ends=[9, -1], axes=[0, 2]),
              x[1:, :, 1:3])
    yield old("slice_axes_default", 1, node("Slice", "x", "y", starts=[0, 1], ends=[1, 3]),
              x[:1, 1:3])
    yield old("slice_far", 13, node("Slice", "x b e a s", "y"), x[:, ::-1, ::3],
              {"b": ints(99, 0), "e": ints(-2**63, 2**63 - 1), "a": ints(-2, -1),
               "s": ints(-1, 3)})
    yield old("slice_nothing", 13, node("Slice", "x b e", "y"), x[2:2],
              {"b": ints(2), "e": ints(2)})
    yield old("slice_int32", 13, node("Slice", "x b e", "y"), x[1:2],
              {"b": np.array([1], np.int32), "e": np.array([2], np.int32)})
    yield old("tile", 1, node("Tile", "x t a", "y"), np.tile(x, (1, 3, 1)),
              {"t": np.int64(3), "a": np.int64(1)})
    yield old("expand_rank", 8, node("Expand", "x s", "y"), np.broadcast_to(x, (2, 2, 3, 4)),
              {"s": ints(2, 1, 1, 4)})
    yield old("expand_scalar", 8, node("Expand", "x s", "y"), np.full((2, 3), x[0, 0, 0]),
              {"s": ints(2, 3)}, feeds={"x": x[0, 0, 0]})
    yield old("pad", 1, node("Pad", "x", "y", paddings=[0, 1, 0, 0, 0, 2], value=1.5),
              np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=1.5))
    yield old("pad", 2, node("Pad", "x", "y", pads=[0, 1, 0, 0, 0, 2], mode="edge"),
              np.pad(x, ((0, 0), (1, 0), (0, 2)), "edge"))
    yield old("pad_infinite", 11, node("Pad", "x p v", "y"),
              np.pad(x, ((1, 0), (0, 0), (0, 0)), constant_values=-np.inf),
              {"p": ints(1, 0, 0, 0, 0, 0), "v": np.float32(-np.inf)})
    yield old("pad_only_cut", 13, node("Pad", "x p", "y"), x[:, 1:, :-2],
              {"p": ints(0, -1, 0, 0, 0, -2)})
    yield old("scatter", 9, node("Scatter", "x i u", "y", axis=1),
              np.concatenate([x[:, :2], -x[:, :1]], 1), {"i": np.full((2, 1, 4), 2)},
              feeds={"x": x, "u": -x[:, :1]})
    many = [f"x{i}" for i in range(150)]
    yield old("concat_many", 13, node("Concat", " ".join(many), "y", axis=0),
              np.arange(300, dtype=np.float32),
              feeds={n: np.array([2 * i, 2 * i + 1], np.float32) for i, n in enumerate(many)})


def scalars_and_axes():
    x = normal(2, 3, 4, 5)
    for axis in range(4):
        yield case(f"gather_scalar_{axis}", node("Gather", "x i", "y", axis=axis - 4), {"x": x},
                   constants={"i": np.int64(-1)}, expected=[np.take(x, -1, axis)])
    yield case("gather_scalar_run_time", node("Gather", "x i", "y", axis=2),
               {"x": x, "i": np.int64(1)}, expected=[x[:, :, 1]])
    yield case("gather_of_vector", node("Gather", "x i", "y"), {"x": x[0, 0, 0]},
               constants={"i": np.int64(2)}, expected=[x[0, 0, 0, 2]])
    yield case("gather_matrix_of_indices", node("Gather", "x i", "y", axis=1), {"x": x},
               constants={"i": ints(0, 2, 1, -1).reshape(2, 2)},
               expected=[x[:, [[0, 2], [1, 2]]]])
    yield case("gather_nd_scalar", node("GatherND", "x i", "y"), {"x": x},
               constants={"i": ints(1, 2, 3, -1)}, expected=[x[1, 2, 3, 4]])
    yield case("gather_nd_batch", node("GatherND", "x i", "y", batch_dims=1), {"x": x},
               constants={"i": ints(1, 2, 0, 3).reshape(2, 2)},
               expected=[np.stack([x[0, 1, 2], x[1, 0, 3]])])
    yield case("one_hot_of_scalar", node("OneHot", "i d v", "y"), {"i": np.int64(-2)},
               constants={"d": np.int64(3), "v": np.array([0, 1], np.float32)},
               expected=[np.array([0, 1, 0], np.float32)])
    yield case("one_hot_first_axis", node("OneHot", "i d v", "y", axis=0),
               {"i": np.array([0, 2], np.float32)},
               constants={"d": np.float32(3), "v": np.array([2, 7], np.int32)},
               expected=[np.array([[7, 2], [2, 2], [2, 7]], np.int32)])
    yield case("compress_flat", node("Compress", "x c", "y"), {"x": x},
               constants={"c": np.array([False, True, True])}, expected=[x.reshape(-1)[1:3]])
    yield case("compress_nothing", node("Compress", "x c", "y", axis=0), {"x": x},
               constants={"c": np.array([False])}, expected=[x[:0]])
    yield case("reverse_sequence_time_first", node("ReverseSequence", "x l", "y"), {"x": x},
               constants={"l": ints(1, 2, 0)},
               expected=[np.stack([np.stack([x[0, 0], x[1, 1], x[0, 2]]),
                                   np.stack([x[1, 0], x[0, 1], x[1, 2]])])])
    yield case("tril_run_time_shape", node("Trilu", "x k", "y", upper=0), {"x": x},
               constants={"k": np.int64(-1)}, expected=[np.tril(x, -1)])
    yield case("microsoft_expand_dims", node("ExpandDims", "x a", "y", "com.microsoft"), {"x": x},
               constants={"a": np.array(-1, np.int32)}, microsoft=True, expected=[x[..., None]])
    yield case("microsoft_pad", node("Pad", "x p v", "y", "com.microsoft"), {"x": x[0, 0]},
               constants={"p": ints(1, 0, 0, 1), "v": np.array([3], np.float32)}, microsoft=True,
               expected=[np.pad(x[0, 0], ((1, 0), (0, 1)), constant_values=3)])
    yield case("two_names_of_an_output",
               [node("Relu", "x", "y"), node("Reshape", "y s", "z")], {"x": x}, "y z",
               {"s": ints(2, 3, 4, 5)}, expected=[np.maximum(x, 0)] * 2)


def conv(x, w):
    """Valid convolution, for the few shapes here."""
    n, _, h, v = x.shape
    o, _, kh, kw = w.shape
    y = np.zeros((n, o, h - kh + 1, v - kw + 1))
    for i in range(kh):
        for j in range(kw):
            part = x[:, :, i:i + y.shape[2], j:j + y.shape[3]].astype(np.float64)
            y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype(np.float64))
    return y


def between(name, nodes, f, constants=None, transposes=2, end=True, shape=(1, 4, 6, 5)):
    """Conv, then `nodes` from a to b, then Conv: transposes are left at the edges only."""
    x, w = normal(*shape), normal(6, 4, 1, 1)
    mid = f(conv(x, w))
    nodes = [node("Conv", "x w", "a"), *nodes]
    constants = {"w": w, **(constants or {})}
    want, out = mid, "b"
    if end:
        v = normal(2, mid.shape[1], 2, 2)
        nodes.append(node("Conv", "b v", "y"))
        constants["v"] = v
        want, out = conv(mid, v), "y"
    return case("between_" + name, nodes, {"x": x}, out, constants,
                expected=[want.astype(np.float32)], transposes=transposes)


def layouts():
    yield between("concat", [node("Relu", "a", "r"), node("Concat", "a r", "b", axis=1)],
                  lambda a: np.concatenate([a, np.maximum(a, 0)], 1))
    yield between("split", [node("Split", "a", "b c", axis=1, num_outputs=2)], lambda a: a[:, :3])
    yield between("slice_channels", [node("Slice", "a s e x_", "b")], lambda a: a[:, 1:4],
                  {"s": ints(1), "e": ints(4), "x_": ints(1)})
    yield between("slice_pixels", [node("Slice", "a s e x_ t", "b")], lambda a: a[:, :, ::-1, 1:],
                  {"s": ints(-1, 1), "e": ints(-99, 99), "x_": ints(2, 3), "t": ints(-1, 1)})
    yield between("pad", [node("Pad", "a p", "b", mode="reflect")],
                  lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2), (0, 3)), "reflect"),
                  {"p": ints(0, 0, 1, 0, 0, 0, 2, 3)})
    yield between("pad_wrap", [node("Pad", "a p", "b", mode="wrap")],
                  lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2), (0, 3)), "wrap"),
                  {"p": ints(0, 0, 1, 0, 0, 0, 2, 3)})
    yield between("tile", [node("Tile", "a t", "b")], lambda a: np.tile(a, (1, 2, 1, 2)),
                  {"t": ints(1, 2, 1, 2)})
    yield between("gather_channels", [node("Gather", "a i", "b", axis=1)], lambda a: a[:, [5, 0]],
                  {"i": ints(5, 0)})
    yield between("depth_to_space", [node("Concat", "a a", "c", axis=1),
                                     node("DepthToSpace", "c", "b", blocksize=2)],
                  lambda a: np.concatenate([a, a], 1).reshape(1, 2, 2, 3, 6, 5)
                  .transpose(0, 3, 4, 1, 5, 2).reshape(1, 3, 12, 10))
    yield between("merge_pixels", [node("Reshape", "a s", "c"), node("Reshape", "c t", "b")],
                  lambda a: a.reshape(1, 6, 5, 6), {"s": ints(0, 6, -1), "t": ints(0, 0, 5, 6)})
    yield between("there_and_back", [node("Transpose", "a", "c", perm=[0, 2, 3, 1]),
                                     node("Relu", "c", "d"),
                                     node("Transpose", "d", "b", perm=[0, 3, 1, 2])],
                  lambda a: np.maximum(a, 0))
    yield between("tokens", [node("Reshape", "a s", "c"),
                             node("Transpose", "c", "d", perm=[0, 2, 1]), node("Relu", "d", "e"),
                             node("Transpose", "e", "f", perm=[0, 2, 1]),
                             node("Reshape", "f t", "b")],
                  lambda a: np.maximum(a, 0), {"s": ints(1, 6, 30), "t": ints(1, 6, 6, 5)})
    yield between("channel_shuffle", [node("Reshape", "a s", "c"),
                                      node("Transpose", "c", "d", perm=[0, 2, 1, 3, 4]),
                                      node("Reshape", "d t", "b")],
                  lambda a: a.reshape(1, 2, 3, 6, 5).transpose(0, 2, 1, 3, 4).reshape(1, 6, 6, 5),
                  {"s": ints(1, 2, 3, 6, 5), "t": ints(1, 6, 6, 5)})
    yield between("pixel_shuffle", [node("Concat", "a a", "e", axis=1), node("Reshape", "e s", "c"),
                                    node("Transpose", "c", "d", perm=[0, 1, 4, 2, 5, 3]),
                                    node("Reshape", "d t", "b")],
                  lambda a: np.concatenate([a, a], 1).reshape(1, 3, 2, 2, 6, 5)
                  .transpose(0, 1, 4, 2, 5, 3).reshape(1, 3, 12, 10),
                  {"s": ints(1, 3, 2, 2, 6, 5), "t": ints(1, 3, 12, 10)})
    yield between("pixel_unshuffle", [node("Reshape", "a s", "c"),
                                      node("Transpose", "c", "d", perm=[0, 1, 3, 5, 2, 4]),
                                      node("Reshape", "d t", "b")],
                  lambda a: a.reshape(1, 6, 3, 2, 2, 3).transpose(0, 1, 3, 5, 2, 4)
                  .reshape(1, 36, 3, 2),
                  {"s": ints(1, 6, 3, 2, 2, 3), "t": ints(1, 36, 3, 2)}, shape=(1, 4, 6, 6))
    yield between("split_channels_only", [node("Reshape", "a s", "b")],
                  lambda a: a.reshape(1, 2, 3, 6, 5), {"s": ints(1, 2, 3, 6, 5)}, 1, end=False)
    yield between("turned_twice", [node("Transpose", "a", "c", perm=[2, 0, 3, 1]),
                                   node("Transpose", "c", "d", perm=[1, 3, 2, 0]),
                                   node("Transpose", "d", "b", perm=[0, 1, 3, 2])], lambda a: a)
    yield between("to_channel_last", [node("Transpose", "a", "b", perm=[0, 2, 3, 1])],
                  lambda a: a.transpose(0, 2, 3, 1), transposes=1, end=False)
    yield between("other_transpose", [node("Transpose", "a", "b", perm=[0, 3, 2, 1])],
                  lambda a: a.transpose(0, 3, 2, 1), transposes=1, end=False)
    yield between("flat_pixel", [node("Flatten", "a", "b")], lambda a: a.reshape(2, 6),
                  transposes=0, end=False, shape=(2, 4, 1, 1))
    yield between("flatten", [node("Flatten", "a", "b")], lambda a: a.reshape(1, -1), end=False)
    for axis, left in {0: 2, 1: 1, 2: 2, 3: 2}.items():
        yield between(f"gather_scalar_{axis}", [node("Gather", "a i", "b", axis=axis)],
                      lambda a, axis=axis: np.take(a, 0, axis), {"i": np.int64(0)},
                      transposes=left, end=False)
    x, w = normal(1, 6, 5, 4), normal(6, 4, 2, 2)
    yield case("channel_last_model",
               [node("Transpose", "x", "a", perm=[0, 3, 1, 2]), node("Conv", "a w", "b"),
                node("Transpose", "b", "y", perm=[0, 2, 3, 1])], {"x": x}, constants={"w": w},
               expected=[conv(x.transpose(0, 3, 1, 2), w).transpose(0, 2, 3, 1)
                         .astype(np.float32)], transposes=0)


def unit(name, op, args, x, want, constants=None, bits=8, signed=False, stretch=1.0, extra=None,
         **attributes):
    """QDQ around one op. stretch: the output's scale by the input's. Within half a step of each."""
    scale, zero = encoding(x, bits, signed)
    out_scale, out_zero = np.float32(scale * stretch), zero
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
             node(op, args, "f", **attributes), node("QuantizeLinear", "f t o", "r"),
             node("DequantizeLinear", "r t o", "y")]
    constants = {"s": scale, "z": zero, "t": out_scale, "o": out_zero, **(constants or {})}
    return case("unit_" + name, nodes, {"x": x, **(extra or {})}, constants=constants, opset=21,
                expected=[np.asarray(want, np.float32)], tol=0,
                atol=0.51 * float(scale) + (0.51 * float(out_scale) if stretch != 1 else 0))


def units():
    x = normal(2, 3, 4)
    flip = np.array([[[2] * 4], [[0] * 4]])
    for bits, signed in ((8, False), (8, True), (16, False), (16, True)):
        for stretch in (1.0, 1.25):
            how = {"bits": bits, "signed": signed, "stretch": stretch}
            tag = f"_{'s' if signed else 'u'}{bits}_{'same' if stretch == 1 else 'other'}"
            yield unit("reshape" + tag, "Reshape", "d n", x, x.reshape(4, 6), {"n": ints(4, 6)},
                       **how)
            yield unit("transpose" + tag, "Transpose", "d", x, x.transpose(2, 0, 1),
                       perm=[2, 0, 1], **how)
            yield unit("slice" + tag, "Slice", "d b e", x, x[:, 1:], {"b": ints(0, 1),
                       "e": ints(2, 3)}, **how)
            yield unit("tile" + tag, "Tile", "d n", x, np.tile(x, (1, 1, 2)), {"n": ints(1, 1, 2)},
                       **how)
            yield unit("pad" + tag, "Pad", "d p v", x,
                       np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=0.5),
                       {"p": ints(0, 1, 0, 0, 0, 2), "v": np.float32(0.5)}, **how)
            yield unit("gather" + tag, "Gather", "d i", x, x[:, [2, 0]], {"i": ints(2, 0)}, axis=1,
                       **how)
            yield unit("gather_elements" + tag, "GatherElements", "d i", x,
                       np.take_along_axis(x, flip, 1), {"i": flip}, axis=1, **how)
            yield unit("gather_nd" + tag, "GatherND", "d i", x, x[[1, 0], [0, 2]],
                       {"i": ints(1, 0, 0, 2).reshape(2, 2)}, **how)
            yield unit("trilu" + tag, "Trilu", "d", x, np.triu(x), **how)
            yield unit("concat" + tag, "Concat", "d d", x, np.concatenate([x, x], 1), axis=1, **how)
            yield unit("scatter_elements" + tag, "ScatterElements", "d i d", x, x[:, ::-1],
                       {"i": np.broadcast_to(ints(2, 1, 0)[:, None], (2, 3, 4)).copy()}, axis=1,
                       **how)
            yield unit("scatter_max" + tag, "ScatterElements", "d i d", x,
                       np.maximum(x, x[:, ::-1]),
                       {"i": np.broadcast_to(ints(2, 1, 0)[:, None], (2, 3, 4)).copy()}, axis=1,
                       reduction="max", **how)
            yield unit("scatter_nd" + tag, "ScatterND", "d i d", x, x[::-1],
                       {"i": ints(1, 0).reshape(2, 1)}, **how)
            yield unit("reverse" + tag, "ReverseSequence", "d l", x, x[::-1],
                       {"l": ints(2, 2, 2)}, **how)


def codes():
    """Integers between QuantizeLinear and DequantizeLinear move as codes, whatever they mean."""
    x = normal(2, 3, 4)
    for bits, signed in ((8, False), (8, True), (16, False), (16, True)):
        scale, zero = encoding(x, bits, signed)
        info = np.iinfo(zero.dtype)
        q = np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(zero.dtype)
        tag = f"_{'s' if signed else 'u'}{bits}"

        def between_codes(name, op, args, moved, constants, same, zero=zero, scale=scale, tag=tag,
                          **attributes):
            t, o = (scale, zero) if same else (np.float32(3 * scale), zero.dtype.type(zero + 1))
            real = (moved.astype(np.float64) - int(o)) * np.float64(t)
            return case(f"codes_{name}{tag}_{'same' if same else 'other'}",
                        [node("QuantizeLinear", "x s z", "q"), node(op, args, "r", **attributes),
                         node("DequantizeLinear", "r t o", "y")], {"x": x},
                        constants={"s": scale, "z": zero, "t": t, "o": o, **constants}, opset=21,
                        expected=[real.astype(np.float32)], tol=1e-6)

        for same in (True, False):
            yield between_codes("transpose", "Transpose", "q", q.transpose(1, 0, 2), {}, same,
                                perm=[1, 0, 2])
            yield between_codes("concat", "Concat", "q q", np.concatenate([q, q], 2), {}, same,
                                axis=2)
            yield between_codes("pad", "Pad", "q p v", np.pad(q, ((0, 0), (1, 1), (0, 0)),
                                                              constant_values=7),
                                {"p": ints(0, 1, 0, 0, 1, 0), "v": zero.dtype.type(7)}, same)
            yield between_codes("gather_elements", "GatherElements", "q i", q[:, :1],
                                {"i": np.zeros((2, 1, 4), np.int64)}, same, axis=1)


def weights():
    """Dequantized constants that are moved before they are read: the codes move."""
    x, q = normal(2, 3), RNG.integers(-127, 128, (4, 3)).astype(np.int8)
    per_axis = np.array([0.01, 0.03, 0.02, 0.015], np.float32)
    steps = [("transposed", [node("Transpose", "d", "w")], {}, lambda w: w.T),
             ("turned", [node("Reshape", "d r", "e"), node("Transpose", "e", "f", perm=[1, 2, 0]),
                         node("Squeeze", "f o", "w")], {"r": ints(4, 1, 3), "o": ints(0)},
              lambda w: w.T),
             ("flat", [node("Flatten", "d", "e", axis=0), node("Reshape", "e r", "w")],
              {"r": ints(3, 4)}, lambda w: w.reshape(3, 4)),
             ("sliced", [node("Slice", "d b e", "f"), node("Unsqueeze", "f o", "g"),
                         node("Squeeze", "g o", "h"), node("Transpose", "h", "w", perm=[1, 0])],
              {"b": ints(1), "e": ints(3), "o": ints(-1)}, lambda w: w[1:3].T)]
    for name, nodes, constants, f in steps:
        for scale in (np.float32(0.02), per_axis):
            real = q.astype(np.float64) * (scale[:, None] if scale.ndim else scale)
            zero = np.zeros_like(scale, np.int8)
            tag = f"weights_{name}_{'per_axis' if scale.ndim else 'whole'}"
            yield case(tag, [node("DequantizeLinear", "q s z", "d", axis=-2), *nodes,
                             node("MatMul", "x w", "y")], {"x": x},
                       constants={"q": q, "s": scale, "z": zero, **constants}, opset=21,
                       expected=[(x.astype(np.float64) @ f(real)).astype(np.float32)], tol=1e-6)


def tables():
    """Rows of a quantized table, with and without quantization behind."""
    for t in (np.uint8, np.int8, np.uint16, np.int16):
        info = np.iinfo(t)
        q = RNG.integers(info.min, info.max + 1, (5, 3)).astype(t)
        constants = {"q": q, "s": np.float32(0.03), "z": t(7)}
        rows = ints(4, -5, 2)
        real = ((q.astype(np.float64) - 7) * np.float32(0.03))[rows].astype(np.float32)
        nodes = [node("DequantizeLinear", "q s z", "d"), node("Gather", "d i", "f")]
        name = f"table_{np.dtype(t).name}"
        yield case(name, [*nodes, node("Relu", "f", "y")], {"i": rows}, constants=constants,
                   opset=21, expected=[np.maximum(real, 0)], tol=1e-6)
        yield case(name + "_quantized", [*nodes, node("QuantizeLinear", "f s z", "r"),
                                         node("DequantizeLinear", "r s z", "y")], {"i": rows},
                   constants=constants, opset=21, expected=[real], tol=1e-6)
    x = np.round(normal(2, 3) * 20).astype(np.float32)
    yield case("quantized_twice", [node("QuantizeLinear", "x s z", "q"),
                                   node("DequantizeLinear", "q s z", "d"),
                                   node("Reshape", "d n", "e"),
                                   node("QuantizeLinear", "e s z", "r"),
                                   node("DequantizeLinear", "r s z", "y")], {"x": x}, "r y",
               {"s": np.float32(1), "z": np.int8(0), "n": ints(2, 3)}, opset=21,
               expected=[x.astype(np.int8), x])


def refusals():
    x = normal(2, 3)

    def refused(name, n, said, feeds=None, constants=None, outputs="y"):
        return case("refused_" + name, n, feeds or {"x": x}, outputs, constants, refusal=said)

    yield refused("slice", node("Slice", "x b e", "y"), "must be constant: starts",
                  {"x": x, "b": ints(0), "e": ints(1)})
    yield refused("reshape", node("Reshape", "x s", "y"), "must be constant: shape",
                  {"x": x, "s": ints(6)})
    yield refused("reshape_count", node("Reshape", "x s", "y"),
                  "6 elements cannot be reshaped to 8", constants={"s": ints(2, 4)})
    yield refused("reshape_open_twice", node("Reshape", "x s", "y"), "new shape is -1",
                  constants={"s": ints(-1, -1)})
    yield refused("gather", node("Gather", "x i", "y"), "index 2 of an axis of 2 elements",
                  constants={"i": ints(2)})
    yield refused("gather_axis", node("Gather", "x i", "y", axis=2), "axis 2 of a value of rank 2",
                  constants={"i": ints(0)})
    yield refused("gather_one_input", node("Gather", "x", "y"), "input 1 is missing")
    yield refused("one_hot_quantized", [
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
        node("OneHot", "d n v", "h"), node("QuantizeLinear", "h s z", "r"),
        node("DequantizeLinear", "r s z", "y")], "indices must be whole numbers",
        constants={"s": np.float32(3 / 255), "z": np.uint8(0), "n": np.int64(3),
                   "v": np.array([0, 1], np.float32)})
    yield refused("concat", node("Concat", "x z", "y", axis=0), "dimension 1 is 2, expected 3",
                  {"x": x, "z": x[:, :2]})
    yield refused("split", node("Split", "x s", "y z", axis=1), "the lengths sum to 2",
                  constants={"s": ints(1, 1)}, outputs="y z")
    yield refused("transpose", node("Transpose", "x", "y", perm=[0, 0]), "occurs twice")
    yield refused("transpose_short", node("Transpose", "x", "y", perm=[0]), "perm has 1 entries")
    yield refused("squeeze", node("Squeeze", "x a", "y"), "only 1 can be dropped",
                  constants={"a": ints(0)})
    yield refused("expand", node("Expand", "x s", "y"), "3 cannot become 4",
                  constants={"s": ints(4)})
    yield refused("pad_mode", node("Pad", "x p", "y", mode="mirror"), "mode 'mirror'",
                  constants={"p": ints(0, 1, 0, 1)})
    yield refused("pad_far", node("Pad", "x p", "y"), "pads of axis 0 are too large",
                  constants={"p": ints(-2**63, 1, 0, 1)})
    yield refused("pad_all_cut", node("Pad", "x p", "y"), "nothing of the input is left",
                  constants={"p": ints(0, -2, 0, -1)})
    for axis, scales in ((2, 3), (-1, 2)):
        yield refused(f"encoding_{axis}", node("DequantizeLinear", "q s", "y", axis=axis),
                      "axis 2" if axis == 2 else "2 scales", {"q": x.astype(np.int8)},
                      {"s": np.ones(scales, np.float32)})
    yield refused("scatter", node("ScatterElements", "x i u", "y", reduction="mean"),
                  "reduction 'mean'", {"x": x, "u": x}, {"i": np.zeros((2, 3), np.int64)})
    yield refused("scatter_shape", node("ScatterND", "x i u", "y"), "do not fit",
                  {"x": x, "u": x}, {"i": np.zeros((2, 2), np.int64)})
    yield refused("depth", node("DepthToSpace", "x", "y", blocksize=2), "6 channels cannot be",
                  {"x": normal(1, 6, 2, 2)})
    yield refused("one_hot", node("OneHot", "i d v", "y"), "must be constant: depth",
                  {"i": ints(1), "d": np.int64(3)}, {"v": np.array([0, 1], np.float32)})
    yield refused("compress", node("Compress", "x c", "y"), "condition comes at run time",
                  {"x": x, "c": np.array([True])})
    yield refused("non_zero", node("NonZero", "x", "y"), "depends on values")
    yield refused("unique", node("Unique", "x", "y"), "depends on values")


def cases():
    for make in (old_forms, scalars_and_axes, layouts, units, codes, weights, tables, refusals):
        yield from make()
