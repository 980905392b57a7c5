#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of single ops for LiteRT: in float, in 8 bits, and with 16-bit activations and 8-bit
weights.

    litert_ops.py SDK [-k TEXT] [--scheme NAME ...] [--run]

compiles each of them ahead of time on the libraries of an SDK folder and lists what stays on the
CPU; with --run it also runs them and shows the largest difference from LiteRT's own kernels, in
quantized steps or in decibels. The last line has the counts.
"""
import argparse
import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "frontend")]
import litert_models  # noqa: E402
from tflite_writer import SAME, VALID, Graph  # noqa: E402

SCHEMES = {"float": "float32", "int8": "int8", "a16w8": "int16"}


class Net:
    """A model of one op under construction, in one scheme."""

    def __init__(self, scheme):
        self.g, self.dtype, self.values = Graph(), SCHEMES[scheme], {}
        self.rng = np.random.default_rng(5)

    def encoding(self, low, high):
        """Scale and zero point for a range; 16 bits are symmetric."""
        if self.dtype == "float32":
            return {}
        if self.dtype == "int16":
            return {"scale": max(abs(low), abs(high)) / 32767, "zero": 0}
        low, high = min(low, 0.0), max(high, 0.0)
        scale = (high - low) / 255 or 1.0
        return {"scale": scale, "zero": int(round(-128 - low / scale))}

    def input(self, shape, low=-1.0, high=1.0, name=None):
        name, e = name or f"x{len(self.values)}", self.encoding(low, high)
        real = self.rng.uniform(low, high, shape)
        if e:
            info = np.iinfo(self.dtype)
            self.values[name] = np.clip(np.rint(real / e["scale"]) + e["zero"], info.min,
                                        info.max).astype(self.dtype)
        else:
            self.values[name] = real.astype(np.float32)
        return self.g.input(name, shape, self.dtype, **e)

    def typed_input(self, values, name):
        self.values[name] = values
        return self.g.input(name, values.shape, str(values.dtype))

    def weights(self, shape, axis, scale=0.5):
        """Constant weights, and their scales, per channel of `axis`."""
        real = self.rng.uniform(-scale, scale, shape)
        if self.dtype == "float32":
            return self.g.const(real.astype(np.float32)), None
        scales = self.rng.uniform(0.8, 1, shape[axis]) * scale / 127
        by_channel = scales.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        q = np.clip(np.rint(real / by_channel), -127, 127).astype(np.int8)
        return self.g.const(q, scales, axis=axis), scales

    def bias(self, n, x, scales):
        real = self.rng.uniform(-0.5, 0.5, n)
        if self.dtype == "float32":
            return self.g.const(real.astype(np.float32))
        s = self.g.tensors[x][2][0] * scales
        return self.g.const(np.rint(real / s).astype("int32" if self.dtype == "int8" else "int64"),
                            s)

    def ints(self, *values):
        return self.g.const(np.array(values, np.int32))

    def constant(self, values, low, high):
        """A constant of the activations' type."""
        e = self.encoding(low, high)
        values = np.asarray(values, np.float32)
        if e:
            values = (np.rint(values / e["scale"]) + e["zero"]).astype(self.dtype)
        return self.g.const(values, **e)

    def out(self, shape, low=-1.0, high=1.0, same=None):
        """An output; `same`: with the encoding of another tensor."""
        e = self.encoding(low, high)
        if same is not None and e:
            e = {"scale": self.g.tensors[same][2], "zero": self.g.tensors[same][3]}
        return self.g.tensor(shape, self.dtype, **e)

    def fixed_out(self, shape, of_8_bits, of_16_bits=None):
        """An output whose encoding the format fixes: (scale, zero point)."""
        e = {"int8": of_8_bits, "int16": of_16_bits or of_8_bits}.get(self.dtype)
        return self.g.tensor(shape, self.dtype, *(e or ()))

    def end(self, name, inputs, outputs, **options):
        if name in ("ADD", "SUB"):
            options["pot_scale_int16"] = 0  # as converters write it
        made = self.g.op(name, inputs, outputs, **options)
        self.g.output(*(made if isinstance(made, list) else [made]))


S = [1, 4, 6, 8]  # the usual shape


def unary(op, low=-1.0, high=1.0, to=(-1.0, 1.0), **options):
    def make(n):
        n.end(op, [n.input(S, low, high)], n.out(S, *to), **options)
    return make


def fixed(op, shape, low, high, *encodings, **options):
    def make(n):
        n.end(op, [n.input(shape, low, high)], n.fixed_out(shape, *encodings), **options)
    return make


def binary(op, to=(-2.0, 2.0), low=-1.0, high=1.0, second=None, **options):
    def make(n):
        n.end(op, [n.input(S, low, high), n.input(second or S, low, high)], n.out(S, *to),
              **options)
    return make


def compare(op):
    def make(n):
        n.end(op, [n.input(S), n.input(S)], n.g.tensor(S, "bool"))
    return make


def conv(padding=SAME, stride=1, dilation=1, act="NONE", size=3):
    def make(n):
        x = n.input([1, 8, 8, 4])
        w, s = n.weights([6, size, size, 4], 0)
        reach = (size - 1) * dilation + 1
        o = -(-8 // stride) if padding == SAME else (8 - reach) // stride + 1
        n.end("CONV_2D", [x, w, n.bias(6, x, s)], n.out([1, o, o, 6], -4, 4), padding=padding,
              stride_w=stride, stride_h=stride, dilation_w_factor=dilation,
              dilation_h_factor=dilation, fused_activation_function=act)
    return make


def depthwise(stride=1, multiplier=1):
    def make(n):
        x = n.input([1, 8, 8, 4])
        w, s = n.weights([1, 3, 3, 4 * multiplier], 3)
        n.end("DEPTHWISE_CONV_2D", [x, w, n.bias(4 * multiplier, x, s)],
              n.out([1, 8 // stride, 8 // stride, 4 * multiplier], -3, 3), padding=SAME,
              stride_w=stride, stride_h=stride, depth_multiplier=multiplier)
    return make


def transpose_conv(n):
    x = n.input([1, 4, 4, 4])
    w, _ = n.weights([6, 3, 3, 4], 0)
    n.end("TRANSPOSE_CONV", [n.ints(1, 8, 8, 6), w, x], n.out([1, 8, 8, 6], -4, 4), padding=SAME,
          stride_w=2, stride_h=2)


def fully_connected(bias=True, keep=False):
    def make(n):
        x = n.input([2, 3, 16] if keep else [4, 16])
        w, s = n.weights([8, 16], 0)
        n.end("FULLY_CONNECTED", [x, w, n.bias(8, x, s) if bias else -1],
              n.out([2, 3, 8] if keep else [4, 8], -4, 4), keep_num_dims=int(keep))
    return make


def batch_matmul(n):
    n.end("BATCH_MATMUL", [n.input([2, 4, 6]), n.input([2, 6, 5])], n.out([2, 4, 5], -3, 3))


def pool(op, padding=VALID):
    def make(n):
        x = n.input([1, 8, 8, 4])
        n.end(op, [x], n.out([1, 4, 4, 4], same=x), padding=padding, stride_w=2, stride_h=2,
              filter_width=2, filter_height=2)
    return make


def reduce(op, axes=(1, 2), keep=1, to=(-1.0, 1.0)):
    def make(n):
        shape = [1 if i in axes else d for i, d in enumerate(S) if keep or i not in axes]
        n.end(op, [n.input(S), n.ints(*axes)], n.out(shape, *to), keep_dims=keep)
    return make


def moved(op, to, *ints, first=False, **options):
    """An op that moves values, with constant operands of int32 behind (or before) the tensor."""
    def make(n):
        x = n.input(S)
        consts = [n.g.const(np.array(v, np.int32)) for v in ints]
        n.end(op, consts + [x] if first else [x] + consts, n.out(to, same=x), **options)
    return make


def pieces(op, shapes, consts_before=(), consts_behind=(), **options):
    def make(n):
        x = n.input(S)
        before, behind = ([n.g.const(np.array(v, np.int32)) for v in part]
                          for part in (consts_before, consts_behind))
        n.end(op, before + [x] + behind, [n.out(s, same=x) for s in shapes], **options)
    return make


def joined(op, to, count=2, **options):
    def make(n):
        xs = [n.input(S) for _ in range(count)]
        n.end(op, xs, n.out(to, same=xs[0]), **options)
    return make


def indexed(op):
    """GATHER along axis 2 with constant indices, and the same with a tensor of indices."""
    def make(n):
        x = n.input(S)
        i = n.ints(5, 0, 3)
        n.end(op, [x, i], n.out([1, 4, 3, 8], same=x), axis=2)
    return make


def gather_nd(n):
    x = n.input([4, 6, 8])
    n.end("GATHER_ND", [x, n.g.const(np.array([[0, 5], [3, 1]], np.int32))],
          n.out([2, 8], same=x))


def padv2(n):
    x = n.input(S)
    value = n.g.tensors[x]
    filler = n.constant([0.5], -1.0, 1.0)
    assert value[1] == n.g.tensors[filler][1]
    n.end("PADV2", [x, n.g.const(np.array([[0, 0], [1, 2], [1, 0], [0, 0]], np.int32)), filler],
          n.out([1, 7, 7, 8], same=x))


def prelu(n):
    alpha = n.constant(n.rng.uniform(0.1, 0.4, [1, 1, 8]), -0.5, 0.5)
    n.end("PRELU", [n.input(S), alpha], n.out(S))


def select(op):
    def make(n):
        c = n.typed_input(n.rng.integers(0, 2, S).astype(bool), "condition")
        a = n.input(S)
        n.end(op, [c, a, n.input(S)], n.out(S, same=a))
    return make


def indices_of(op):
    def make(n):
        n.end(op, [n.input(S), n.ints(3)], n.g.tensor(S[:3], "int32"), output_type="int32")
    return make


def topk(n):
    x = n.input(S)
    n.end("TOPK_V2", [x, n.g.const(np.array(3, np.int32))],
          [n.out([1, 4, 6, 3], same=x), n.g.tensor([1, 4, 6, 3], "int32")])


def update_slice(n):
    x, u = n.input(S), n.input([1, 1, 6, 8])  # one step of a cache
    n.end("DYNAMIC_UPDATE_SLICE", [x, u, n.typed_input(np.array([0, 2, 0, 0], np.int32), "at")],
          n.out(S, same=x))


def embedding(n):
    i = n.typed_input(np.array([3, 0, 9, 1], np.int32), "ids")
    table = n.constant(n.rng.uniform(-1, 1, [10, 8]), -1.0, 1.0)
    n.end("EMBEDDING_LOOKUP", [i, table], n.out([4, 8]))


def resize(op, **options):
    def make(n):
        x = n.input(S)
        n.end(op, [x, n.ints(8, 12)], n.out([1, 8, 12, 8], same=x), **options)
    return make


def requantize(n):
    if n.dtype == "float32":
        n.end("CAST", [n.input(S)], n.g.tensor(S, "int32"), in_data_type="float32",
              out_data_type="int32")
    else:
        n.end("QUANTIZE", [n.input(S)], n.out(S, -1.5, 1.5))


def floor_div(n):
    if n.dtype == "float32":  # that of integers ignores encodings
        binary("FLOOR_DIV", (0, 4), 0.5, 2.0)(n)
    else:
        raise NotImplementedError


def to_quantized(n):
    if n.dtype == "float32":
        n.end("QUANTIZE", [n.input(S)], n.g.tensor(S, "int8", 0.01, 3))
    else:
        x = n.g.input("x", S)
        n.values["x"] = n.rng.uniform(-1, 1, S).astype(np.float32)
        n.end("QUANTIZE", [x], n.out(S))


def to_float(n):
    if n.dtype == "float32":
        x = n.g.input("x", S, "int8", 0.01, 3)
        n.values["x"] = n.rng.integers(-128, 128, S, np.int8)
        n.end("DEQUANTIZE", [x], n.g.tensor(S))
    else:
        n.end("DEQUANTIZE", [n.input(S)], n.g.tensor(S))


UNIT = (1 / 256, -128), (1 / 32768, 0)  # what the format wants of values from 0 to 1
MODELS = {
    "add": binary("ADD"), "add_relu": binary("ADD", fused_activation_function="RELU"),
    "add_row": binary("ADD", second=[8]), "sub": binary("SUB"), "mul": binary("MUL", (-1, 1)),
    "div": binary("DIV", (0, 4), 0.5, 2.0), "maximum": binary("MAXIMUM", (-1, 1)),
    "minimum": binary("MINIMUM", (-1, 1)),
    "squared_difference": binary("SQUARED_DIFFERENCE", (0, 4)),
    "pow": binary("POW", (0, 4), 0.5, 2.0), "floor_div": floor_div,
    "abs": unary("ABS", to=(0, 1)), "neg": unary("NEG"), "exp": unary("EXP", to=(0, 3)),
    "log": unary("LOG", 0.1, 4, (-3, 2)), "sqrt": unary("SQRT", 0, 4, (0, 2)),
    "rsqrt": unary("RSQRT", 0.25, 4, (0, 2)), "sin": unary("SIN", -3, 3),
    "cos": unary("COS", -3, 3),
    "square": unary("SQUARE", to=(0, 1)), "floor": unary("FLOOR", -3, 3, (-3, 3)),
    "ceil": unary("CEIL", -3, 3, (-3, 3)), "round": unary("ROUND", -3, 3, (-3, 3)),
    "sign": unary("SIGN"), "relu": unary("RELU", to=(0, 1)), "relu6": unary("RELU6", -8, 8, (0, 6)),
    "relu_n1_to_1": unary("RELU_N1_TO_1", -2, 2),
    "relu_0_to_1": unary("RELU_0_TO_1", -2, 2, (0, 1)),
    "leaky_relu": unary("LEAKY_RELU", alpha=0.2), "prelu": prelu, "elu": unary("ELU"),
    "hard_swish": unary("HARD_SWISH", -4, 4, (-0.5, 4)), 
    "logistic": fixed("LOGISTIC", S, -6, 6, *UNIT),
    "tanh": unary("TANH", -3, 3), "gelu": unary("GELU", -3, 3, (-0.2, 3)),
    "gelu_tanh": unary("GELU", -3, 3, (-0.2, 3), approximate=1),
    "softmax": fixed("SOFTMAX", [1, 5, 12], -3, 3, *UNIT, beta=1.0),
    "log_softmax": fixed("LOG_SOFTMAX", [1, 5, 12], -3, 3, (16 / 256, 127)),
    "l2_normalization": fixed("L2_NORMALIZATION", S, -1, 1, (1 / 128, 0)),
    "conv_same": conv(), "conv_valid": conv(VALID), "conv_stride": conv(stride=2),
    "conv_dilation": conv(dilation=2), "conv_relu6": conv(act="RELU6"), "conv_1x1": conv(size=1),
    "depthwise": depthwise(), "depthwise_stride": depthwise(2),
    "transpose_conv": transpose_conv, "fully_connected": fully_connected(),
    "fully_connected_no_bias": fully_connected(False),
    "fully_connected_3d": fully_connected(keep=True), "batch_matmul": batch_matmul,
    "average_pool": pool("AVERAGE_POOL_2D"), "max_pool": pool("MAX_POOL_2D"),
    "mean": reduce("MEAN"), "mean_drop": reduce("MEAN", keep=0),
    "sum": reduce("SUM", (3,), to=(-8, 8)), "reduce_max": reduce("REDUCE_MAX"),
    "reduce_min": reduce("REDUCE_MIN"),
    "reshape": moved("RESHAPE", [4, 48], [4, 48]), "squeeze": moved("SQUEEZE", [4, 6, 8]),
    "expand_dims": moved("EXPAND_DIMS", [1, 1, 4, 6, 8], 1),
    "transpose": moved("TRANSPOSE", [1, 8, 4, 6], [0, 3, 1, 2]),
    "pad": moved("PAD", [1, 7, 7, 8], [[0, 0], [1, 2], [1, 0], [0, 0]]), "padv2": padv2,
    "mirror_pad": moved("MIRROR_PAD", [1, 7, 7, 8], [[0, 0], [1, 2], [1, 0], [0, 0]]),
    "slice": moved("SLICE", [1, 2, 3, 8], [0, 1, 2, 0], [1, 2, 3, 8]),
    "strided_slice": moved("STRIDED_SLICE", [1, 2, 3, 8], [0, 0, 0, 0], [1, 4, 6, 8], [1, 2, 2, 1]),
    "strided_slice_shrink": moved("STRIDED_SLICE", [4, 6, 8], [0, 0, 0, 0], [1, 4, 6, 8],
                                  [1, 1, 1, 1], shrink_axis_mask=1),
    "tile": moved("TILE", [1, 8, 6, 8], [1, 2, 1, 1]),
    "broadcast_to": moved("BROADCAST_TO", [3, 4, 6, 8], [3, 4, 6, 8], version=2),
    "reverse": moved("REVERSE_V2", S, [2]),
    "depth_to_space": moved("DEPTH_TO_SPACE", [1, 8, 12, 2], block_size=2),
    "space_to_depth": moved("SPACE_TO_DEPTH", [1, 2, 3, 32], block_size=2),
    "resize_bilinear": resize("RESIZE_BILINEAR", half_pixel_centers=1),
    "resize_nearest": resize("RESIZE_NEAREST_NEIGHBOR"),
    "concatenation": joined("CONCATENATION", [1, 4, 6, 16], axis=3),
    "pack": joined("PACK", [2, 1, 4, 6, 8], values_count=2, axis=0),
    "split": pieces("SPLIT", [[1, 4, 6, 4]] * 2, [3], num_splits=2),
    "split_v": pieces("SPLIT_V", [[1, 4, 6, 3], [1, 4, 6, 5]], (), ([3, 5], 3), num_splits=2),
    "unpack": pieces("UNPACK", [[1, 6, 8]] * 4, num=4, axis=1),
    "gather": indexed("GATHER"), "gather_nd": gather_nd,
    "arg_max": indices_of("ARG_MAX"), "arg_min": indices_of("ARG_MIN"), "topk": topk,
    "equal": compare("EQUAL"), "not_equal": compare("NOT_EQUAL"), "greater": compare("GREATER"),
    "greater_equal": compare("GREATER_EQUAL"), "less": compare("LESS"),
    "less_equal": compare("LESS_EQUAL"), "select": select("SELECT"),
    "select_v2": select("SELECT_V2"), "cumsum": moved("CUMSUM", S, 1),
    "dynamic_update_slice": update_slice, "embedding_lookup": embedding,
    "requantize": requantize, "quantize": to_quantized, "dequantize": to_float,
}


def build(name, scheme, folder):
    """The model's file and its inputs."""
    n = Net(scheme)
    MODELS[name](n)
    path = folder / f"{name}_{scheme}.tflite"
    n.g.save(path)
    return path, n.values


def difference(got, want):
    """Steps between quantized values; -dB between floats (a larger number is worse)."""
    worst = -np.inf
    for name, w in want.items():
        if w.dtype == np.float32:
            noise = np.sum((got[name].astype(float) - w) ** 2)
            worst = max(worst, -10 * np.log10(np.sum(w.astype(float) ** 2) / (noise + 1e-30)))
        else:
            worst = max(worst, np.abs(got[name].astype(float) - w.astype(float)).max())
    return worst


def sweep(sdk, folder, names, schemes=tuple(SCHEMES), run=False):
    """Yields (name, scheme, None or why it was not compiled, difference or None) of every model
    that LiteRT's own kernels can run and its plugin knows: the rest does not reach a library."""
    for scheme in schemes:
        for name in names:
            try:
                path, values = build(name, scheme, folder)
                want = litert_models.interpret(path, values)
            except (NotImplementedError, RuntimeError, ValueError):
                continue
            try:
                with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
                    compiled, _ = litert_models.aot(sdk, path, folder / "out")
            except litert_models.NotCompiled as error:
                if "QNN op validation failed" in str(error):
                    yield name, scheme, reason(str(error)), None
                continue
            got = litert_models.compiled_model(compiled, sdk, values, folder) if run else None
            yield name, scheme, None, difference(got, want) if run else None


def reason(log):
    """Our library's own line in the log of LiteRT's program."""
    return re.findall(r"ms \[ *ERROR *\] +(.*)", log)[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdk", type=Path)
    parser.add_argument("-k", default="", help="part of a name")
    parser.add_argument("--scheme", choices=list(SCHEMES), action="append")
    parser.add_argument("--run", action="store_true")
    args = parser.parse_args()
    schemes = args.scheme or list(SCHEMES)
    counts = {scheme: [0, 0] for scheme in schemes}
    names = [n for n in MODELS if args.k in n]
    with tempfile.TemporaryDirectory() as folder:
        for name, scheme, why, worst in sweep(args.sdk, Path(folder), names, schemes,
                                               args.run):
            counts[scheme][0] += why is None
            counts[scheme][1] += 1
            if why or worst is not None:
                print(f"{scheme:6} {name:24}", why or f"{worst:.1f}", flush=True)
    print(", ".join(f"{s}: {done} of {n} compiled" for s, (done, n) in counts.items()))


if __name__ == "__main__":
    main()
