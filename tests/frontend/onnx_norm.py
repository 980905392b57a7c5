# SPDX-License-Identifier: MIT
"""Reductions, softmax, sorting and normalizations: types, older opsets, ties, layouts, quantized
units. Expected values by numpy: float64, or exact integers."""
import itertools

import numpy as np

from case_onnx import case, node, quantized_case

RNG = np.random.default_rng(23)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def f32(a):
    return [np.asarray(a, np.float32)]


def ints(*values):
    return np.array(values, np.int64)


REDUCTIONS = {
    "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceProd": np.prod, "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
    "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}


def reductions():
    x = normal(2, 3, 4, 5)
    for op, f in REDUCTIONS.items():
        data = np.abs(x) if op == "ReduceLogSum" else x
        wide = data.astype(np.float64)
        for axes, keep in itertools.product(((1,), (0, 2), (-1, 1), (3, 2, 1, 0)), (0, 1)):
            want = f(wide, axis=axes, keepdims=bool(keep))
            tag = f"{op}_{''.join(str(a % 4) for a in axes)}_{keep}"
            yield case(tag, node(op, "x a", "y", keepdims=keep), {"x": data},
                       constants={"a": ints(*axes)}, expected=f32(want))
            if keep:
                yield case(tag + "_opset1", node(op, "x", "y", axes=[a % 4 for a in axes]),
                           {"x": data}, opset=1, expected=f32(want))
        yield case(op + "_all", node(op, "x", "y"), {"x": data},
                   expected=f32(f(wide, keepdims=True)))
        # With no axes and noop what is done to each element is still done.
        alone = f(np.expand_dims(wide, 4), axis=4)
        yield case(op + "_noop", node(op, "x", "y", noop_with_empty_axes=1), {"x": data},
                   expected=f32(alone))
        yield case(op + "_scalar", node(op, "x", "y", keepdims=0), {"x": data[0, 0, 0, 0]},
                   expected=f32(alone[0, 0, 0, 0]))
        half = data.astype(np.float16)
        want = f(half.astype(np.float64), axis=2)
        if op not in ("ReduceProd", "ReduceLogSum"):
            yield case(op + "_float16", node(op, "x a", "y", keepdims=0), {"x": half},
                       constants={"a": ints(2)}, expected=[want.astype(np.float16)], tol=2e-3)
    yield case("reduce_run_time_axes", node("ReduceSum", "x a", "y"), {"x": x, "a": ints(1)},
               refusal="constant")


def integer_reductions():
    big = RNG.integers(-2**31, 2**31, (2, 3, 5))
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        wide = np.dtype(dtype).kind == "u"
        x = (big % 2**32 if wide else big).astype(dtype)
        near = x.copy()
        near[..., 1:] = near[..., :1] - np.arange(1, 5).astype(dtype)  # f32 cannot tell them apart
        for op, f in (("ReduceMax", np.max), ("ReduceMin", np.min)):
            yield case(f"{op}_{dtype.__name__}", node(op, "x a", "y", keepdims=0), {"x": near},
                       constants={"a": ints(0, 2)}, expected=[f(near, axis=(0, 2))])
        # 64-bit integers are held as 32 bits: what is larger is not for QNN.
        small = (RNG.integers(0, 90, (2, 3, 5)) - (0 if wide else 40)).astype(dtype)
        for op, f in (("ReduceSum", np.sum), ("ReduceProd", np.prod),
                      ("ReduceSumSquare", lambda v, **k: np.sum(v * v, **k)),
                      ("ReduceL1", lambda v, **k: np.sum(np.abs(v), **k))):
            part = small[..., :4] if op == "ReduceProd" else small
            yield case(f"{op}_{dtype.__name__}", node(op, "x a", "y"), {"x": part},
                       constants={"a": ints(2)},
                       expected=[f(part, axis=2, keepdims=True).astype(dtype)])
    wrapped = RNG.integers(-2**31, 2**31, (3, 40)).astype(np.int32)
    with np.errstate(over="ignore"):
        yield case("ReduceSum_wraps", node("ReduceSum", "x a", "y", keepdims=0), {"x": wrapped},
                   constants={"a": ints(1)}, expected=[wrapped.sum(1, dtype=np.int32)])
        yield case("ReduceProd_wraps", node("ReduceProd", "x a", "y", keepdims=0), {"x": wrapped},
                   constants={"a": ints(1)}, expected=[wrapped.prod(1, dtype=np.int32)])
    x = RNG.integers(-99, 99, (4, 7)).astype(np.int32)
    total = x.sum(1)
    yield case("ReduceMean_int32", node("ReduceMean", "x a", "y", keepdims=0), {"x": x},
               constants={"a": ints(1)}, expected=[np.trunc(total / 7).astype(np.int32)])
    roots = np.array([[46339, 0], [30000, 20000], [3, 4], [46340, 0], [7, 1]], np.int32)
    exact = np.array([int(np.sqrt(float(a) * a + float(b) * b)) for a, b in roots.tolist()])
    yield case("ReduceL2_int32", node("ReduceL2", "x a", "y", keepdims=0), {"x": roots},
               constants={"a": ints(1)}, expected=[exact.astype(np.int32)])
    for dtype in (np.int8, np.uint8):
        s = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3, 4, 5)).astype(dtype)
        yield case(f"ReduceMax_{dtype.__name__}", node("ReduceMax", "x a", "y"), {"x": s},
                   constants={"a": ints(1)}, expected=[s.max(1, keepdims=True)])
    flags = RNG.integers(0, 2, (3, 4)).astype(bool)
    yield case("ReduceMin_bool", node("ReduceMin", "x a", "y", keepdims=0), {"x": flags},
               constants={"a": ints(1)}, expected=[flags.min(1)])
    yield case("ReduceMean_uint32", node("ReduceMean", "x", "y"), {"x": small.astype(np.uint32)},
               refusal="unsigned")


def softmax(x, axis):
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def softmaxes():
    x = normal(2, 3, 4, 5)
    wide = x.astype(np.float64)
    for axis in (0, 1, 2, 3, -1):
        rows = wide.reshape(int(np.prod(x.shape[:axis % 4])), -1)
        for op, f in (("Softmax", softmax), ("LogSoftmax", lambda v, a: np.log(softmax(v, a)))):
            yield case(f"{op}_{axis}", node(op, "x", "y", axis=axis), {"x": x},
                       expected=f32(f(wide, axis)))
            yield case(f"{op}_{axis}_opset11", node(op, "x", "y", axis=axis), {"x": x}, opset=11,
                       expected=f32(f(rows, 1).reshape(x.shape)))
        hot = np.zeros_like(rows)
        hot[np.arange(len(rows)), rows.argmax(1)] = 1
        yield case(f"Hardmax_{axis}_opset11", node("Hardmax", "x", "y", axis=axis), {"x": x},
                   opset=11, expected=f32(hot.reshape(x.shape)))
    yield case("Softmax_opset1", node("Softmax", "x", "y"), {"x": x}, opset=1,
               expected=f32(softmax(wide.reshape(2, -1), 1).reshape(x.shape)))
    ties = np.array([1, 3, 3, 2], np.float16)
    yield case("Hardmax_float16", node("Hardmax", "x", "y"), {"x": ties},
               expected=[np.array([0, 1, 0, 0], np.float16)])


def sorting():
    x = RNG.integers(0, 4, (3, 5, 4)).astype(np.float32)  # many ties
    types = (np.float32, np.float16, np.int32, np.int64, np.uint32, np.uint64, np.int8, np.uint8)
    for dtype, (op, f), axis in itertools.product(types, (("ArgMax", np.argmax),
                                                          ("ArgMin", np.argmin)), (0, -2)):
        data = x.astype(dtype)
        if np.dtype(dtype) in (np.uint32, np.uint64):
            data = data * dtype(2**30)
        far = data.shape[axis] - 1 - f(np.flip(data, axis), axis)
        name = f"{op}_{dtype.__name__}_{axis}"
        yield case(name, node(op, "x", "y", axis=axis, keepdims=0), {"x": data},
                   expected=[f(data, axis)])
        yield case(name + "_last", node(op, "x", "y", axis=axis, select_last_index=1), {"x": data},
                   expected=[np.expand_dims(far, axis)])
    for dtype, axis, largest in itertools.product(types, (0, 1, -1), (0, 1)):
        data = x.astype(dtype)
        if np.dtype(dtype) in (np.uint32, np.uint64):
            data = data * dtype(2**30)
        order = np.argsort(-data.astype(np.float64) if largest else data.astype(np.float64), axis,
                           kind="stable").take(range(3), axis)
        yield case(f"TopK_{dtype.__name__}_{axis}_{largest}",
                   node("TopK", "x k", "y i", axis=axis, largest=largest), {"x": data}, "y i",
                   {"k": ints(3)}, expected=[np.take_along_axis(data, order, axis), order])
    order = np.argsort(-x, 1, kind="stable")[:, :2]
    values = np.take_along_axis(x, order, 1)
    yield case("TopK_opset1", node("TopK", "x", "y i", axis=1, k=2), {"x": x}, "y i", opset=1,
               expected=[values, order])
    yield case("TopK_values", node("TopK", "x k", "y i", axis=1), {"x": x}, "y", {"k": ints(2)},
               expected=[values])
    yield case("TopK_indices", node("TopK", "x k", "y i", axis=1), {"x": x}, "i", {"k": ints(2)},
               expected=[order])
    yield case("TopK_too_many", node("TopK", "x k", "y i"), {"x": x}, "y i", {"k": ints(5)},
               refusal="k must be")


def scans():
    x = normal(3, 6, 2)
    n = RNG.integers(-9, 9, (3, 6, 2)).astype(np.int32)
    one = normal(2, 1)
    for op, f, unit in (("CumSum", np.cumsum, 0), ("CumProd", np.cumprod, 1)):
        for reverse, exclusive in itertools.product((0, 1), (0, 1)):
            def scan(v, axis):
                v = np.flip(v, axis) if reverse else v
                y = f(v, axis)
                if exclusive:
                    first = np.full_like(y.take([0], axis), unit)
                    y = np.concatenate([first, y.take(range(y.shape[axis] - 1), axis)], axis)
                return np.flip(y, axis) if reverse else y

            args = dict(reverse=reverse, exclusive=exclusive)
            opset = 26 if op == "CumProd" else 14
            name = f"{op}_{reverse}{exclusive}"
            yield case(name, node(op, "x a", "y", **args), {"x": x}, opset=opset,
                       constants={"a": np.int64(-2)}, expected=f32(scan(x.astype(np.float64), 1)))
            yield case(name + "_int32", node(op, "x a", "y", **args), {"x": n}, opset=opset,
                       constants={"a": np.int64(1)}, expected=[scan(n, 1).astype(np.int32)])
            yield case(name + "_one", node(op, "x a", "y", **args), {"x": one}, opset=opset,
                       constants={"a": np.int64(1)}, expected=f32(scan(one, 1)))


def channels(v, rank):
    return v.astype(np.float64).reshape(-1, *[1] * (rank - 2))


def batch_norms():
    for shape in ((4, 3), (2, 3, 5), (2, 3, 4, 5), (1, 3, 2, 3, 4)):
        x = normal(*shape)
        c = {"s": normal(3), "b": normal(3), "m": normal(3), "v": np.abs(normal(3))}
        s, b, m, v = (channels(a, x.ndim) for a in c.values())
        want = (x - m) / np.sqrt(v + 1e-5) * s + b
        n = node("BatchNormalization", "x s b m v", "y")
        yield case(f"batch_norm_{x.ndim}d", n, {"x": x}, constants=c, expected=f32(want))
        yield case(f"batch_norm_{x.ndim}d_run_time", n, {"x": x, **c}, expected=f32(want))
        axes = tuple(i for i in range(x.ndim) if i != 1)
        mean, var = x.astype(np.float64).mean(axes), x.astype(np.float64).var(axes)
        want = (x - channels(mean, x.ndim)) / np.sqrt(channels(var, x.ndim) + 1e-5) * s + b
        yield case(f"batch_norm_{x.ndim}d_training",
                   node("BatchNormalization", "x s b m v", "y rm rv", training_mode=1,
                        momentum=0.7), {"x": x}, "y rm rv", c, opset=15,
                   expected=f32(want) + f32(c["m"] * 0.7 + mean * 0.3) +
                   f32(c["v"] * 0.7 + var * 0.3), tol=1e-4)
    yield case("batch_norm_opset1", node("BatchNormalization", "x s b m v", "y", is_test=1,
                                         consumed_inputs=[0, 0, 0, 1, 1], epsilon=0.1),
               {"x": x}, constants=c, opset=1,
               expected=f32((x - m) / np.sqrt(v + 0.1) * s + b))
    half = x.astype(np.float16)
    yield case("batch_norm_float16", node("BatchNormalization", "x s b m v", "y"), {"x": half},
               constants=c, opset=15, tol=2e-3,
               expected=[((half - m) / np.sqrt(v + 1e-5) * s + b).astype(np.float16)])
    yield case("batch_norm_not_spatial", node("BatchNormalization", "x s b m v", "y", spatial=0),
               {"x": x}, constants=c, opset=7, refusal="spatial")


def layer(x, axes, scale=1, bias=0, epsilon=1e-5, rms=False):
    x = x.astype(np.float64)
    d = x if rms else x - x.mean(axes, keepdims=True)
    return d / np.sqrt((d * d).mean(axes, keepdims=True) + epsilon) * scale + bias


def layer_norms():
    x = normal(2, 3, 4)
    for axis in (0, 1, 2, -1):
        axes = tuple(range(axis % 3, 3))
        shape = x.shape[axis % 3:]
        s, b = normal(*shape), normal(*shape)
        mean = x.astype(np.float64).mean(axes, keepdims=True)
        inverse = 1 / np.sqrt(x.astype(np.float64).var(axes, keepdims=True) + 0.1)
        yield case(f"layer_norm_{axis}",
                   node("LayerNormalization", "x s b", "y m i", axis=axis, epsilon=0.1), {"x": x},
                   "y m i", {"s": s, "b": b}, expected=f32(layer(x, axes, s, b, 0.1)) + f32(mean) +
                   f32(inverse))
        yield case(f"layer_norm_{axis}_run_time", node("LayerNormalization", "x s", "y", axis=axis),
                   {"x": x, "s": s}, expected=f32(layer(x, axes, s)))
        yield case(f"rms_norm_{axis}", node("RMSNormalization", "x s", "y", axis=axis), {"x": x},
                   constants={"s": s}, opset=23, expected=f32(layer(x, axes, s, rms=True)))
    s, b = normal(1, 4), normal(1)
    yield case("layer_norm_broadcast", node("LayerNormalization", "x s b", "y", axis=1), {"x": x},
               constants={"s": s, "b": b}, expected=f32(layer(x, (1, 2), s, b)))
    yield case("rms_norm_broadcast", node("RMSNormalization", "x s", "y", axis=0), {"x": x},
               constants={"s": s}, opset=23, expected=f32(layer(x, (0, 1, 2), s, rms=True)))
    s, b, skip, bias = normal(4), normal(4), normal(2, 3, 4), normal(4)
    yield case("simplified_layer_norm", node("SimplifiedLayerNormalization", "x s", "y",
                                             epsilon=1e-6), {"x": x}, constants={"s": s},
               expected=f32(layer(x, 2, s, epsilon=1e-6, rms=True)))
    total = x + skip + bias
    yield case("skip_layer_norm",
               node("SkipLayerNormalization", "x k s b c", "y u v t", "com.microsoft"),
               {"x": x, "k": skip}, "y t", {"s": s, "b": b, "c": bias}, microsoft=True,
               expected=f32(layer(total, 2, s, b, 1e-12)) + f32(total))
    yield case("skip_simplified_layer_norm",
               node("SkipSimplifiedLayerNormalization", "x k s", "y", "com.microsoft",
                    epsilon=1e-5), {"x": x, "k": skip}, constants={"s": s}, microsoft=True,
               expected=f32(layer(x + skip, 2, s, rms=True)))


def group_norms():
    x, s, b = normal(2, 6, 3, 4), normal(6), normal(6)

    def grouped(v, n):
        return layer(v.reshape(2, n, -1), 2).reshape(v.shape)

    for groups in (1, 2, 3, 6):
        want = grouped(x, groups) * channels(s, 4) + channels(b, 4)
        yield case(f"group_norm_{groups}", node("GroupNormalization", "x s b", "y",
                                                num_groups=groups), {"x": x},
                   constants={"s": s, "b": b}, opset=21, expected=f32(want))
        few, more = normal(groups), normal(groups)
        want = grouped(x, groups) * channels(few.repeat(6 // groups), 4) + channels(
            more.repeat(6 // groups), 4)
        for frozen in (True, False):
            params = {"s": few, "b": more}
            yield case(f"group_norm_{groups}_opset18_{frozen}",
                       node("GroupNormalization", "x s b", "y", num_groups=groups),
                       {"x": x} if frozen else {"x": x, **params},
                       constants=params if frozen else None, opset=18, expected=f32(want))
    want = grouped(x, 3) * channels(s, 4) + channels(b, 4)
    silu = want / (1 + np.exp(-want))
    for last in (0, 1):
        move = (0, 2, 3, 1) if last else (0, 1, 2, 3)
        yield case(f"ms_group_norm_{last}",
                   node("GroupNorm", "x s b", "y", "com.microsoft", groups=3, activation=1,
                        channels_last=last), {"x": x.transpose(move).copy()},
                   constants={"s": s, "b": b}, microsoft=True, expected=f32(silu.transpose(move)))
    yield case("group_norm_uneven", node("GroupNormalization", "x s b", "y", num_groups=4),
               {"x": x}, constants={"s": s, "b": b}, opset=21, refusal="4 groups")


def other_norms():
    x = normal(2, 5, 3, 4)
    x[0, :, 0, 0] = 0  # a vector without length
    wide = x.astype(np.float64)
    for p, axis in itertools.product((1, 2), (1, -1)):
        size = (np.abs(wide)**p).sum(axis, keepdims=True)**(1 / p)
        yield case(f"lp_norm_{p}_{axis}", node("LpNormalization", "x", "y", p=p, axis=axis),
                   {"x": x}, expected=f32(wide / np.where(size == 0, 1, size)))
    for size in (1, 2, 3, 4, 7):
        low, high = (size - 1) // 2, size - 1 - (size - 1) // 2
        square = np.pad(wide**2, [(0, 0), (low, high), (0, 0), (0, 0)])
        total = sum(square[:, i:i + 5] for i in range(size))
        yield case(f"lrn_{size}", node("LRN", "x", "y", size=size, alpha=0.3, beta=0.6, bias=1.5),
                   {"x": x}, expected=f32(wide / (1.5 + 0.3 / size * total)**0.6))
    for axes in ((0, 2, 3), (1,), (-1, -2)):
        d = wide - wide.mean(axes, keepdims=True)
        args = {} if axes == (0, 2, 3) else {"axes": list(axes)}
        yield case(f"mvn_{len(args)}_{axes[0]}",
                   node("MeanVarianceNormalization", "x", "y", **args), {"x": x}, opset=13,
                   expected=f32(d / (np.sqrt((d * d).mean(axes, keepdims=True)) + 1e-9)))
    line, s, b = normal(2, 3, 9), normal(3), normal(3)
    for v in (line, normal(2, 3, 4, 5), normal(1, 3, 2, 3, 4)):
        axes = tuple(range(2, v.ndim))
        yield case(f"instance_norm_{v.ndim}d", node("InstanceNormalization", "x s b", "y"),
                   {"x": v}, constants={"s": s, "b": b},
                   expected=f32(layer(v, axes) * channels(s, v.ndim) + channels(b, v.ndim)))


def units():
    """Quantized units; parameters constant, quantized like activations."""
    image, rows = normal(1, 4, 5, 6), normal(3, 8)
    s, b = 1 + 0.2 * normal(4), normal(4)
    var = np.abs(normal(4)) + 0.5
    for bits, signed in ((8, False), (8, True), (16, False), (16, True)):
        kind = (bits, signed)
        tag = f"{'s' if signed else 'u'}{bits}"
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceProd"):
            yield quantized_case(f"unit_{op}_{tag}", op, {"x": image}, *kind, opset=11,
                                 axes=[2, 3])
        yield quantized_case(f"unit_softmax_{tag}", "Softmax", {"x": rows}, *kind)
        yield quantized_case(f"unit_log_softmax_{tag}", "LogSoftmax", {"x": rows}, *kind)
        yield quantized_case(f"unit_lp_norm_{tag}", "LpNormalization", {"x": rows}, *kind)
        yield quantized_case(f"unit_instance_norm_{tag}", "InstanceNormalization",
                             {"x": image, "s": s, "b": b}, *kind, steps=2, constants=("s", "b"))
        yield quantized_case(f"unit_batch_norm_{tag}", "BatchNormalization",
                             {"x": image, "s": s, "b": b, "m": b * 0.1, "v": var}, *kind, steps=2,
                             constants=("s", "b", "m", "v"))
        wide = {"x": rows, "s": 1 + 0.2 * normal(8), "b": normal(8)}
        yield quantized_case(f"unit_layer_norm_{tag}", "LayerNormalization", wide, *kind, steps=2,
                             constants=("s", "b"))
        yield quantized_case(f"unit_rms_norm_{tag}", "RMSNormalization",
                             {"x": rows, "s": wide["s"]}, *kind, steps=2, opset=23,
                             constants=("s",))


def cases():
    for group in (reductions, integer_reductions, softmaxes, sorting, scans, batch_norms,
                  layer_norms, group_norms, other_norms, units):
        yield from group()
