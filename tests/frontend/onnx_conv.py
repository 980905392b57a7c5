# SPDX-License-Identifier: MIT
"""Convolutions and pools: every number of dimensions, older opsets, run-time filters, integers,
and a network that keeps its layout. Expected values by numpy in float64."""
import itertools

import numpy as np

from case_onnx import case, node

RNG = np.random.default_rng(11)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def pad_same(size, kernel, stride, dilation, lower=False):
    """Pads before and after for an output of ceil(size / stride)."""
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    small = total // 2
    return (total - small, small) if lower else (small, total - small)


def conv(x, w, b=None, strides=None, pads=None, dilations=None, group=1):
    """Convolution of [N, C, ...]; pads as ((before, after), ...)."""
    n = x.ndim - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *(pads or [(0, 0)] * n)])
    w = w.astype(np.float64)
    out = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1
           for i in range(n)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    cin, cout = x.shape[1] // group, w.shape[0] // group
    for at in itertools.product(*[range(k) for k in w.shape[2:]]):
        cut = tuple(slice(a * d, a * d + (o - 1) * s + 1, s)
                    for a, d, o, s in zip(at, dilations, out, strides))
        for g in range(group):
            part = x[(slice(None), slice(g * cin, (g + 1) * cin), *cut)]
            tap = w[(slice(g * cout, (g + 1) * cout), slice(None), *at)]
            y[:, g * cout:(g + 1) * cout] += np.einsum("nc...,oc->no...", part, tap)
    return y if b is None else y + b.astype(np.float64).reshape(-1, *[1] * n)


def transposed(x, w, b=None, strides=None, pads=None, dilations=None, group=1, size=None):
    """Transposed convolution; size: of the output, cut or filled at the end."""
    n = x.ndim - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    pads = pads or [(0, 0)] * n
    x, w = x.astype(np.float64), w.astype(np.float64)
    full = [strides[i] * (x.shape[2 + i] - 1) + (w.shape[2 + i] - 1) * dilations[i] + 1
            for i in range(n)]
    room = [max(f, p[0] + s) for f, p, s in zip(full, pads, size or full)]
    y = np.zeros((x.shape[0], w.shape[1] * group, *room))
    cin, cout = x.shape[1] // group, w.shape[1]
    for at in itertools.product(*[range(k) for k in w.shape[2:]]):
        cut = tuple(slice(a * d, a * d + (i - 1) * s + 1, s)
                    for a, d, i, s in zip(at, dilations, x.shape[2:], strides))
        for g in range(group):
            part, tap = x[:, g * cin:(g + 1) * cin], w[(slice(g * cin, (g + 1) * cin),
                                                        slice(None), *at)]
            y[(slice(None), slice(g * cout, (g + 1) * cout), *cut)] += np.einsum(
                "nc...,co->no...", part, tap)
    size = size or [f - p[0] - p[1] for f, p in zip(full, pads)]
    y = y[(slice(None), slice(None), *[slice(p[0], p[0] + s) for p, s in zip(pads, size)])]
    return y if b is None else y + b.astype(np.float64).reshape(-1, *[1] * n)


def pool(x, f, kernel, strides, pads, out, dilations=None, fill=0.0):
    """f over the taps of every window; taps outside the input are `fill`."""
    n = x.ndim - 2
    dilations = dilations or [1] * n
    far = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, strides, kernel, dilations)]
    after = [max(e - p[0] - i, 0) for e, p, i in zip(far, pads, x.shape[2:])]
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(p[0], a) for p, a in zip(pads, after)],
                  constant_values=fill)
    taps = [wide[(slice(None), slice(None), *[slice(a * d, a * d + (o - 1) * s + 1, s)
                                              for a, d, o, s in zip(at, dilations, out, strides)])]
            for at in itertools.product(*[range(k) for k in kernel])]
    return f(np.stack(taps))


def flat(pads):
    return [p[0] for p in pads] + [p[1] for p in pads]


def f32(a):
    return [np.asarray(a, np.float32)]


def convolutions():
    for dims, group, frozen in itertools.product((1, 2, 3), (1, 2, 4), (True, False)):
        x, w = normal(2, 4, *(9, 7, 5)[:dims]), normal(8, 4 // group, *(3, 2, 3)[:dims])
        b = normal(8)
        strides, pads = [2, 1, 1][:dims], [(1, 0), (0, 1), (1, 1)][:dims]
        feeds = {"x": x} if frozen else {"x": x, "w": w, "b": b}
        yield case(f"conv{dims}d_group{group}_{'constant' if frozen else 'run_time'}",
                   node("Conv", "x w b", "y", group=group, strides=strides, pads=flat(pads)),
                   feeds, constants={"w": w, "b": b} if frozen else None,
                   expected=f32(conv(x, w, b, strides, pads, group=group)))
    x, w = normal(1, 3, 10, 9), normal(6, 1, 3, 3)
    for mode, lower in (("SAME_UPPER", False), ("SAME_LOWER", True)):
        pads = [pad_same(s, 3, 3, 2, lower) for s in (10, 9)]
        yield case(f"conv_depthwise_dilated_{mode}",
                   node("Conv", "x w", "y", group=3, strides=[3, 3], dilations=[2, 2],
                        auto_pad=mode), {"x": x}, constants={"w": w}, opset=1,
                   expected=f32(conv(x, w, None, [3, 3], pads, [2, 2], 3)))
    yield case("conv_valid", node("Conv", "x w", "y", group=3, auto_pad="VALID",
                                  kernel_shape=[3, 3]), {"x": x}, constants={"w": w}, opset=11,
               expected=f32(conv(x, w, group=3)))
    h, hw = x.astype(np.float16), w.astype(np.float16)
    yield case("conv_float16", node("Conv", "x w", "y", group=3), {"x": h}, constants={"w": hw},
               expected=[conv(h, hw, group=3).astype(np.float16)], tol=1e-3)
    shared = normal(3, 3, 1, 1)
    yield case("conv_shared_filter", [node("Conv", "x w", "t"), node("Conv", "t w", "y")],
               {"x": x}, constants={"w": shared}, transposes=2,
               expected=f32(conv(conv(x, shared), shared)))
    yield case("conv_rank6", node("Conv", "x w", "y"), {"x": normal(1, 1, 2, 2, 2, 2)},
               constants={"w": normal(1, 1, 1, 1, 1, 1)}, refusal="spatial dimensions")
    yield case("conv_negative_pads", node("Conv", "x w", "y", group=3, pads=[-1, 0, 0, 0]),
               {"x": x}, constants={"w": w}, refusal="pads")


def transposed_convolutions():
    for dims, group, dilation in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        x, w, b = normal(2, 4, *(5, 4, 3)[:dims]), normal(4, 3, *(3, 2, 3)[:dims]), \
            normal(3 * group)
        strides, pads = [2, 3, 1][:dims], [(1, 0), (0, 1), (1, 1)][:dims]
        extra = [1, 2, 0][:dims]
        args = dict(strides=strides, pads=pads, dilations=[dilation] * dims, group=group)
        natural = transposed(x, w, None, **args).shape[2:]
        yield case(f"transposed{dims}d_group{group}_dilation{dilation}",
                   node("ConvTranspose", "x w b", "y", group=group, strides=strides,
                        pads=flat(pads), dilations=[dilation] * dims, output_padding=extra),
                   {"x": x}, constants={"w": w, "b": b},
                   expected=f32(transposed(x, w, b, size=[s + e for s, e in zip(natural, extra)],
                                           **args)))
    x, w = normal(1, 2, 4, 5), normal(2, 3, 3, 3)
    for mode, lower in (("SAME_UPPER", False), ("SAME_LOWER", True)):
        # The output is input * stride; of 3 * 3 + 3 and 2 * 4 + 3 cells 0 and 1 are cut off.
        pads = [(0, 0), (1, 0) if lower else (0, 1)]
        yield case(f"transposed_{mode}",
                   node("ConvTranspose", "x w", "y", strides=[3, 2], auto_pad=mode),
                   {"x": x}, constants={"w": w}, opset=11,
                   expected=f32(transposed(x, w, None, [3, 2], pads, size=[12, 10])))
    yield case("transposed_output_shape",
               node("ConvTranspose", "x w", "y", strides=[3, 2], output_shape=[13, 9]),
               {"x": x}, constants={"w": w},
               expected=f32(transposed(x, w, None, [3, 2], [(0, 0), (1, 1)], size=[13, 9])))
    yield case("transposed_too_much_padding",
               node("ConvTranspose", "x w", "y", output_padding=[1, 0]), {"x": x},
               constants={"w": w}, refusal="behind the last window")
    for name, (size, block, strides, pads) in {
            "plain": ((7, 9), (3, 3), (1, 1), (0, 0, 0, 0)),
            "padded": ((5, 6), (3, 2), (1, 2), (1, 0, 2, 1)),
            "wide": ((3, 1100), (2, 5), (1, 1), (0, 2, 1, 2)),
            "apart": ((9, 8), (2, 2), (3, 3), (0, 0, 0, 0))}.items():
        steps = [(size[i] + pads[i] + pads[i + 2] - block[i]) // strides[i] + 1 for i in (0, 1)]
        yield case(f"col2im_{name}", node("Col2Im", "x s k", "y", strides=strides, pads=pads),
                   {"x": normal(2, 3 * block[0] * block[1], steps[0] * steps[1])},
                   constants={"s": np.array(size), "k": np.array(block)})
    columns = normal(2, 3 * 4, 6)
    image = np.zeros((2, 3, 6, 5))
    for c, a, b, i, j in itertools.product(range(3), range(2), range(2), range(3), range(2)):
        image[:, c, 2 * i + a, 2 * j + 2 * b] += columns[:, c * 4 + a * 2 + b, i * 2 + j]
    yield case("col2im_dilated", node("Col2Im", "x s k", "y", strides=[2, 2], dilations=[1, 2]),
               {"x": columns}, constants={"s": np.array([6, 5]), "k": np.array([2, 2])},
               expected=f32(image))


def pools():
    x = normal(2, 3, 11, 8)
    inf = -np.inf
    for dilation, ceil in itertools.product((1, 2), (0, 1)):
        strides, pads, d = [3, 2], [(1, 0), (1, 1)], [dilation] * 2
        span = [2 * dilation + 1, dilation + 1]
        room = [12 - span[0], 10 - span[1]]
        out = [r // s + 1 + (ceil and r % s > 0) for r, s in zip(room, strides)]
        out = [o - (ceil and (o - 1) * s >= i + 1) for o, s, i in zip(out, strides, (11, 8))]
        args = dict(kernel_shape=[3, 2], strides=strides, pads=flat(pads), dilations=d,
                    ceil_mode=ceil)
        name = f"dilation{dilation}_ceil{ceil}"
        window = dict(kernel=[3, 2], strides=strides, pads=pads, out=out, dilations=d)
        yield case(f"maxpool_{name}", node("MaxPool", "x", "y", **args), {"x": x},
                   expected=f32(pool(x, lambda t: t.max(0), fill=inf, **window)))
        total = pool(x, lambda t: t.sum(0), **window)
        inside = pool(np.ones_like(x), lambda t: t.sum(0), **window)
        yield case(f"avgpool_{name}", node("AveragePool", "x", "y", **args), {"x": x},
                   expected=f32(total / inside))
        # Cells of the padding count, those behind it do not.
        ones = np.ones((2, 3, 12, 10), np.float32)
        counted = pool(ones, lambda t: t.sum(0), **{**window, "pads": [(0, 0), (0, 0)]})
        yield case(f"avgpool_pads_{name}",
                   node("AveragePool", "x", "y", count_include_pad=1, **args), {"x": x},
                   expected=f32(total / counted))
        for p in (1, 2, 3):
            yield case(f"lppool{p}_{name}", node("LpPool", "x", "y", p=p, **args), {"x": x},
                       expected=f32(pool(np.abs(x.astype(np.float64))**p, lambda t: t.sum(0),
                                         **window)**(1 / p)))
    line, cube = normal(2, 3, 9), normal(1, 2, 5, 6, 4)
    yield case("maxpool_1d", node("MaxPool", "x", "y", kernel_shape=[3], strides=[2]),
               {"x": line}, expected=f32(pool(line, lambda t: t.max(0), [3], [2], [(0, 0)], [4])))
    for dtype in (np.float16, np.int8, np.uint8):
        c = (cube * 40).astype(dtype) if dtype != np.float16 else cube.astype(dtype)
        yield case(f"maxpool_3d_{dtype.__name__}",
                   node("MaxPool", "x", "y", kernel_shape=[2, 2, 2]), {"x": c}, opset=12,
                   expected=[pool(c, lambda t: t.max(0), [2] * 3, [1] * 3, [(0, 0)] * 3,
                                  [4, 5, 3]).astype(dtype)], tol=1e-3)
    for shape in ((2, 3, 9), (2, 3, 4, 5), (1, 2, 3, 4, 5), (1, 2, 3, 2, 2, 2)):
        g = normal(*shape)
        axes = tuple(range(2, g.ndim))
        for op, want in (("GlobalAveragePool", g.mean(axes, keepdims=True)),
                         ("GlobalMaxPool", g.max(axes, keepdims=True)),
                         ("GlobalLpPool", np.sqrt((g**2).sum(axes, keepdims=True)))):
            yield case(f"{op}_{g.ndim}d", node(op, "x", "y"), {"x": g}, expected=f32(want))
    # Indices count cells of the whole tensor, along rows or along columns of an image.
    ties = np.array([[[[1, 1, 0], [1, 1, 2], [2, 0, 2]]]], np.float32).repeat(2, 1)
    for order in (0, 1):
        at = np.array([0, 5, 6, 5]).reshape(1, 1, 2, 2)
        want = at if not order else at % 3 * 3 + at // 3
        values = ties.reshape(1, 2, 9)[:, :, at.reshape(-1)].reshape(1, 2, 2, 2)
        yield case(f"maxpool_indices_order{order}",
                   node("MaxPool", "x", "y i", kernel_shape=[2, 2], storage_order=order),
                   {"x": ties}, "y i",
                   expected=[values, np.concatenate([want, want + 9], 1).astype(np.int64)])


def limits():
    """What would need too many ops or too large a table is refused."""
    yield case("maxpool_many_taps", node("MaxPool", "x", "y", kernel_shape=[2000], dilations=[2]),
               {"x": normal(1, 1, 4001)}, refusal="2000 cells")
    yield case("maxpool_many_indices", node("MaxPool", "x", "y i", kernel_shape=[200]),
               {"x": normal(1, 1, 300)}, "y i", refusal="Indices")
    yield case("col2im_large", node("Col2Im", "x s k", "y"), {"x": normal(1, 10000, 1)},
               constants={"s": np.array([100, 10, 10]), "k": np.array([100, 10, 10])},
               refusal="too large")


def integers():
    x = RNG.integers(0, 256, (1, 40, 6, 5), dtype=np.uint8)
    w = RNG.integers(-128, 128, (4, 40, 3, 3)).astype(np.int8)
    for name, zero in (("", np.int8(3)), ("_channels", np.array([1, -5, 0, 7], np.int8))):
        real = w.astype(np.int64) - np.reshape(zero, (-1, 1, 1, 1))
        want = conv(x.astype(np.int64) - 200, real, pads=[(1, 1), (0, 0)])
        yield case(f"conv_integer{name}",
                   node("ConvInteger", "x w xz wz", "y", pads=[1, 0, 1, 0]), {"x": x},
                   constants={"w": w, "xz": np.uint8(200), "wz": zero},
                   expected=[want.astype(np.int32)])
    image = RNG.integers(0, 256, (1, 32, 24, 24), dtype=np.uint8)  # large enough for Winograd's way
    many = RNG.integers(-128, 128, (32, 32, 3, 3)).astype(np.int8)
    want = conv(image.astype(np.int64) - 128, many.astype(np.int64), pads=[(1, 1), (1, 1)])
    yield case("conv_integer_large", node("ConvInteger", "x w xz", "y", pads=[1] * 4),
               {"x": image}, constants={"w": many, "xz": np.uint8(128)},
               expected=[want.astype(np.int32)])
    line = RNG.integers(-128, 128, (1, 3, 9)).astype(np.int8)
    short = RNG.integers(-128, 128, (2, 3, 2)).astype(np.int8)
    yield case("conv_integer_1d", node("ConvInteger", "x w", "y"), {"x": line, "w": short},
               expected=[conv(line.astype(np.int64), short.astype(np.int64)).astype(np.int32)])


def deformable():
    x, w, b = normal(2, 4, 6, 5), normal(4, 2, 3, 2), normal(4)
    offset, mask = normal(2, 2 * 2 * 6, 3, 4), normal(2, 2 * 6, 3, 4)
    y = np.zeros((2, 4, 3, 4)) + b.reshape(1, -1, 1, 1)
    for n, o, c, i, j, a, k in np.ndindex(2, 4, 2, 3, 4, 3, 2):
        channel, tap = o // 2 * 2 + c, a * 2 + k
        part = channel // 2
        u = i * 2 + a - 1 + offset[n, (part * 6 + tap) * 2, i, j]
        v = j + k - 0 + offset[n, (part * 6 + tap) * 2 + 1, i, j]
        value = 0.0
        for p, q in itertools.product((0, 1), (0, 1)):
            r, s = int(np.floor(u)) + p, int(np.floor(v)) + q
            if 0 <= r < 6 and 0 <= s < 5:
                value += x[n, channel, r, s] * (1 - abs(u - r)) * (1 - abs(v - s))
        y[n, o, i, j] += value * mask[n, part * 6 + tap, i, j] * w[o, c, a, k]
    yield case("deform_conv_groups",
               node("DeformConv", "x w o b m", "y", group=2, offset_group=2, strides=[2, 1],
                    pads=[1, 0, 0, 0]), {"x": x, "o": offset, "m": mask},
               constants={"w": w, "b": b}, expected=f32(y), tol=1e-4)


def networks():
    """A classifier keeps the one transpose at its start."""
    x = normal(1, 3, 16, 16)
    c = {"w1": normal(8, 3, 3, 3), "b1": normal(8), "s": normal(8), "t": normal(8), "m": normal(8),
         "v": np.abs(normal(8)), "w2": normal(8, 1, 3, 3), "w3": normal(12, 8, 1, 1),
         "f": normal(10, 12) * 0.3, "g": normal(10)}
    nodes = [node("Conv", "x w1 b1", "a", pads=[1, 1, 1, 1]),
             node("BatchNormalization", "a s t m v", "b"), node("Relu", "b", "c"),
             node("MaxPool", "c", "d", kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", "d w2", "e", group=8, pads=[1, 1, 1, 1]), node("Add", "d e", "h"),
             node("AveragePool", "h", "i", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             node("Conv", "i w3", "j", strides=[2, 2]), node("Tanh", "j", "k"),
             node("GlobalAveragePool", "k", "l"), node("Flatten", "l", "m1"),
             node("Gemm", "m1 f g", "y", transB=1)]
    yield case("network", nodes, {"x": x}, constants=c, transposes=1, tol=1e-4)
    nodes = [node("Conv", "x w1 b1", "a"), node("Softmax", "a", "b", axis=1),
             node("ReduceMean", "b ax", "c"), node("Mul", "b c", "d"),
             node("InstanceNormalization", "d s t", "e"), node("LRN", "e", "h", size=3),
             node("LpNormalization", "h", "i", axis=1), node("ArgMax", "i", "j", axis=1),
             node("Conv", "i w3", "k"), node("ReduceMax", "k sp", "y", keepdims=0)]
    a = conv(x, c["w1"], c["b1"])
    a = np.exp(a - a.max(1, keepdims=True))
    a /= a.sum(1, keepdims=True)
    a *= a.mean(1, keepdims=True)
    a = (a - a.mean((2, 3), keepdims=True)) / np.sqrt(a.var((2, 3), keepdims=True) + 1e-5)
    a = a * c["s"].reshape(1, -1, 1, 1) + c["t"].reshape(1, -1, 1, 1)
    squares = np.pad(a**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    a /= (1 + 1e-4 / 3 * (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]))**0.75
    a /= np.sqrt((a**2).sum(1, keepdims=True))
    yield case("network_of_norms", nodes, {"x": x}, "y j",
               {**c, "ax": np.array([1]), "sp": np.array([2, 3])}, transposes=1, tol=1e-4,
               expected=[conv(a, c["w3"]).max((2, 3)).astype(np.float32),
                         a.argmax(1)[:, None]])


def fused():
    x, w, b, z = normal(1, 2, 5, 5), normal(3, 2, 3, 3), normal(3), normal(1, 3, 3, 3)
    want = conv(x, w, b)
    for kind, params, f in (("Relu", [], lambda t: np.maximum(t, 0)),
                            ("LeakyRelu", [0.3], lambda t: np.where(t < 0, 0.3 * t, t)),
                            ("Clip", [-0.5, 2.0], lambda t: np.clip(t, -0.5, 2)),
                            ("HardSigmoid", [0.3, 0.4], lambda t: np.clip(0.3 * t + 0.4, 0, 1)),
                            ("Tanh", [], np.tanh), ("Sigmoid", [], lambda t: 1 / (1 + np.exp(-t)))):
        extra = {"activation_params": params} if params else {}
        yield case(f"fused_conv_{kind}",
                   node("FusedConv", "x w b", "y", "com.microsoft", activation=kind, **extra),
                   {"x": x}, constants={"w": w, "b": b}, microsoft=True, expected=f32(f(want)))
    yield case("fused_conv_sum", node("FusedConv", "x w b z", "y", "com.microsoft",
                                      activation="Relu"), {"x": x, "z": z},
               constants={"w": w, "b": b}, microsoft=True,
               expected=f32(np.maximum(want + z, 0)))
    yield case("fused_conv_unknown", node("FusedConv", "x w b", "y", "com.microsoft",
                                          activation="Wave"), {"x": x},
               constants={"w": w, "b": b}, microsoft=True, refusal="Wave")


def cases():
    for group in (convolutions, transposed_convolutions, pools, limits, integers, deformable,
                  networks, fused):
        yield from group()
