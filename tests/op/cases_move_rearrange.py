# SPDX-License-Identifier: MIT
"""Cases of the ops that rearrange one tensor: Transpose, blocks, channels, Tile, Pad.

Oracles: numpy slicing and padding on the definitions.
"""
import itertools

import numpy as np

import qcase as q
from movement import ACT, ACT16, both, changed, elements, moved, source


def transpose_cases(f):
    types = ACT16 + ("i32", "u32", "b8")
    shapes = ((5,), (3, 4), (1, 7), (2, 3, 4), (4, 1, 5), (2, 3, 4, 5), (1, 6, 5, 3),
              (2, 1, 3, 1, 2))
    for shape in shapes:
        perms = list(itertools.permutations(range(len(shape))))
        for i in f.rng.permutation(len(perms))[:8]:
            perm = perms[i]
            both(f, "Transpose", shape, (types[int(f.rng.integers(len(types)))],),
                 lambda a, p=perm: a.transpose(p), {"perm": ("u32", perm)}, "Transpose_small")
    for dtype in types:  # the layout changes of image models
        for perm in ((0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2), (2, 3, 0, 1)):
            both(f, "Transpose", (2, 7, 9, 5), (dtype,), lambda a, p=perm: a.transpose(p),
                 {"perm": ("u32", perm)}, "Transpose_4d")
    for rank in (6, 7, 8):
        shape = tuple(int(d) for d in f.rng.integers(1, 4, rank))
        perm = tuple(int(d) for d in f.rng.permutation(rank))
        both(f, "Transpose", shape, ("f32", "uq8"), lambda a, p=perm: a.transpose(p),
             {"perm": ("u32", perm)}, f"Transpose_rank{rank}")
    # Tails of tiles, and sizes that are shared between threads.
    for dtype in ("uq8", "f16", "f32"):
        for shape in ((64, 64), (65, 63), (130, 17), (3, 129), (300, 257)):
            both(f, "Transpose", shape, (dtype,), np.transpose, {"perm": ("u32", (1, 0))},
                 "Transpose_plane")
        for width in (2, 3, 4, 8):  # rows that stay together
            both(f, "Transpose", (33, 70, width), (dtype,), lambda a: a.transpose(1, 0, 2),
                 {"perm": ("u32", (1, 0, 2))}, "Transpose_rows")
    both(f, "Transpose", (3, 150, 200), ("f32", "uq8"), lambda a: a.transpose(2, 0, 1),
         {"perm": ("u32", (2, 0, 1))}, "Transpose_large")


def transpose_encodings(f):
    """Encodings per axis: the axis moves with the data, or the values are requantized."""
    data = f.rng.normal(size=(4, 3, 5))
    for axis, perm in itertools.product(range(3), ((2, 0, 1), (0, 2, 1), (0, 1, 2))):
        x = q.Tensor("x", data, "sq8", q.fit_axis(data, axis), "static")
        enc = q.axis(perm.index(axis), x.enc.scale)
        f.add("Transpose", [x], [q.Tensor("y", x.codes.transpose(perm), "sq8", enc, tol=q.exact())],
              {"perm": ("u32", perm)}, name="Transpose_per_axis")
        real = x.real.transpose(perm)
        f.add("Transpose", [x], [q.Tensor("y", real, "sq8", q.fit_axis(real, 0))],
              {"perm": ("u32", perm)}, name="Transpose_per_axis_other")
        f.add("Transpose", [x], [changed(f, real, "f32")], {"perm": ("u32", perm)},
              name="Transpose_per_axis_to_f32")


def depth_to_space(x, bh, bw, crd):
    n, h, w, c = x.shape
    depth = c // (bh * bw)
    y = np.zeros((n, h * bh, w * bw, depth), x.dtype)
    for i, j, k in itertools.product(range(bh), range(bw), range(depth)):
        channel = k * bh * bw + i * bw + j if crd else (i * bw + j) * depth + k
        y[:, i::bh, j::bw, k] = x[..., channel]
    return y


def space_to_depth(x, bh, bw, crd):
    n, h, w, c = x.shape
    y = np.zeros((n, h // bh, w // bw, c * bh * bw), x.dtype)
    for i, j, k in itertools.product(range(bh), range(bw), range(c)):
        channel = k * bh * bw + i * bw + j if crd else (i * bw + j) * c + k
        y[..., channel] = x[:, i::bh, j::bw, k]
    return y


def depth_cases(f):
    for (bh, bw), crd in itertools.product(((1, 1), (2, 2), (3, 2), (1, 4), (2, 3)), (False, True)):
        params = {"block_size": ("u32", (bh, bw)), "mode": ("u32", int(crd))}
        for n, h, w, c in ((1, 3, 4, 1), (2, 2, 5, 3), (1, 1, 1, 4)):
            both(f, "DepthToSpace", (n, h, w, c * bh * bw), ACT,
                 lambda a: depth_to_space(a, bh, bw, crd), params, "DepthToSpace")
            both(f, "SpaceToDepth", (n, h * bh, w * bw, c), ACT,
                 lambda a: space_to_depth(a, bh, bw, crd), params, "SpaceToDepth")
    default = {"block_size": ("u32", (2, 2))}
    both(f, "DepthToSpace", (1, 2, 3, 8), ACT, lambda a: depth_to_space(a, 2, 2, False), default,
         "DepthToSpace_default")
    both(f, "SpaceToDepth", (1, 4, 6, 3), ACT, lambda a: space_to_depth(a, 2, 2, False), default,
         "SpaceToDepth_default")


def batch_to_space(x, bh, bw, crops):
    n, h, w, c = x.shape
    n //= bh * bw
    y = np.zeros((n, h * bh, w * bw, c), x.dtype)
    for i, j in itertools.product(range(bh), range(bw)):
        at = (i * bw + j) * n
        y[:, i::bh, j::bw] = x[at:at + n]
    (top, bottom), (left, right) = crops
    return y[:, top:h * bh - bottom, left:w * bw - right]


def space_to_batch(x, bh, bw, pad, fill):
    x = np.pad(x, ((0, 0), pad[0], pad[1], (0, 0)), constant_values=fill)
    return np.concatenate([x[:, i::bh, j::bw] for i in range(bh) for j in range(bw)])


def batch_cases(f):
    none = ((0, 0), (0, 0))
    for (bh, bw), crops in itertools.product(((1, 1), (2, 2), (3, 2), (1, 3)),
                                             (none, ((1, 0), (0, 1)), ((1, 2), (2, 1)))):
        n, h, w, c = 2, 4, 5, int(f.rng.integers(1, 5))
        params = {"block_size": ("u32", (bh, bw))}
        if crops != none:
            params["crops"] = ("u32", crops)
        both(f, "BatchToSpace", (n * bh * bw, h, w, c), ACT,
             lambda a: batch_to_space(a, bh, bw, crops), params, "BatchToSpace")
    for (bh, bw), pad in itertools.product(((1, 1), (2, 2), (3, 2), (1, 3)),
                                           (none, ((1, 1), (2, 0)), ((0, 3), (1, 4)))):
        h = 3 * bh - (sum(pad[0]) % bh)
        w = 4 * bw - (sum(pad[1]) % bw)
        params = {"block_size": ("u32", (bh, bw))}
        if pad != none:
            params["pad_amount"] = ("u32", pad)
        for dtype in ACT:
            x = source(f, (2, h, w, 3), dtype)
            zero = -x.enc.offset[0] if x.enc else 0
            f.add("SpaceToBatch", [x], [moved(x, space_to_batch(x.codes, bh, bw, pad, zero))],
                  params)
            if x.enc:
                y = space_to_batch(x.real, bh, bw, pad, 0)
                f.add("SpaceToBatch", [x], [changed(f, y, dtype)], params,
                      name="SpaceToBatch_requantized")


def shuffle_cases(f):
    for shape, groups, axis in (((2, 3, 4, 6), 2, None), ((2, 3, 4, 6), 3, 3), ((6, 5), 3, 0),
                                ((2, 8, 3), 4, 1), ((9,), 3, None), ((2, 5), 5, 1), ((2, 5), 1, 1),
                                ((1, 2, 2, 12), 4, None)):
        params = {"num_groups": ("u32", groups)}
        if axis is not None:
            params["axis"] = ("u32", axis)
        at = len(shape) - 1 if axis is None else axis
        size = shape[at] // groups
        order = [(k % groups) * size + k // groups for k in range(shape[at])]
        both(f, "ChannelShuffle", shape, ACT, lambda a: a.take(order, at), params, "ChannelShuffle")


def tile_cases(f):
    for shape, multiples in (((3,), (4,)), ((3, 1), (1, 5)), ((2, 3), (2, 3)), ((1, 1), (3, 2)),
                             ((2, 3, 4), (1, 2, 1)), ((2, 3, 4), (3, 1, 2)),
                             ((1, 5, 1, 2), (2, 1, 3, 2)),
                             ((2, 1, 2, 1, 3), (1, 3, 2, 2, 1)), ((7, 40), (30, 9)),
                             ((1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 2, 1, 1, 2, 2))):
        both(f, "Tile", shape, ACT + ("i32",), lambda a: np.tile(a, multiples),
             {"multiples": ("u32", multiples)}, "Tile")


SCHEMES = ("constant", "symmetric", "reflect", "edge")


def pad_cases(f):
    plans = (((5,), ((2, 3),)), ((3, 4), ((1, 2), (0, 3))), ((3, 4), ((0, 0), (0, 0))),
             ((4, 3, 2), ((1, 0), (2, 1), (0, 0))),
             ((1, 5, 6, 3), ((0, 0), (2, 1), (1, 3), (0, 0))),
             ((2, 3, 3, 4), ((1, 1), (2, 2), (0, 1), (2, 0))), ((2, 2, 2, 2, 2), ((1, 1),) * 5),
             ((1, 19, 23, 37), ((0, 0), (2, 0), (1, 4), (3, 5))))  # for several tasks
    for (shape, amount), scheme in itertools.product(plans, range(4)):
        limit = 1 if SCHEMES[scheme] == "reflect" else 0
        if scheme in (1, 2):  # as much mirror as there is
            amount = [tuple(min(a, d - limit) for a in pair) for d, pair in zip(shape, amount)]
        params = {"scheme": ("u32", scheme), "pad_amount": ("u32", amount)}
        for dtype in ACT + ("i8", "i16", "i32", "i64", "u8"):
            x = source(f, shape, dtype)
            zero = -x.enc.offset[0] if x.enc else 0
            more = {"constant_values": zero} if scheme == 0 else {}
            f.add("Pad", [x], [moved(x, np.pad(x.codes, amount, SCHEMES[scheme], **more))], params)


def pad_value_cases(f):
    amount = ((1, 0), (2, 1))

    def add(x, y, dtype, value, **more):
        f.add("Pad", [x], [y], {"scheme": ("u32", 0), "pad_amount": ("u32", amount),
                                "pad_constant_value": (dtype, value)}, **more)

    for dtype in ("uq8", "sq8", "uq16"):
        low, high = q.code_range(dtype)
        for _ in range(3):
            x = source(f, (2, 3), dtype)
            for real in (0.0, 1.25, -0.7, 1e9, -1e9):  # quantized with the output's encoding
                y = np.pad(x.real, amount, constant_values=np.float32(real))
                add(x, q.Tensor("y", y, dtype, x.enc), "f32", real, name="Pad_real")
                enc = q.scale_offset(0.03, -(low + high) // 2)
                add(x, q.Tensor("y", y, dtype, enc), "f32", real, name="Pad_real_requantized")
            code = int(f.rng.integers(low, high))  # stored as it is
            y = np.pad(x.codes, amount, constant_values=code)
            add(x, moved(x, y), "i32", code, name="Pad_code")
    for dtype, values in (("f32", (1.5, -np.inf, np.nan)), ("f16", (0.1, 70000.0))):
        for value in values:
            x = source(f, (2, 3), dtype)
            with np.errstate(over="ignore"):
                y = np.pad(x.codes, amount, constant_values=np.float32(value).astype(x.codes.dtype))
            add(x, q.Tensor("y", y, dtype), "f32", value, name="Pad_float")
    for dtype, kind in itertools.product(("i8", "i16", "i32", "i64", "u8"), ("own", "f32", "i32")):
        x = source(f, (2, 3), dtype)
        y = np.pad(x.codes, amount, constant_values=np.asarray(77).astype(x.codes.dtype))
        add(x, moved(x, y), dtype if kind == "own" else kind, 77, name="Pad_integer")
    x = q.Tensor("x", elements(f, (2, 3), "i64"), "i64")
    add(x, moved(x, np.pad(x.codes, amount, constant_values=-2 ** 62 - 1)), "i64", -2 ** 62 - 1,
        name="Pad_wide")


def cases(f):
    transpose_cases(f)
    transpose_encodings(f)
    depth_cases(f)
    batch_cases(f)
    shuffle_cases(f)
    tile_cases(f)
    pad_cases(f)
    pad_value_cases(f)


if __name__ == "__main__":
    q.run(cases)
