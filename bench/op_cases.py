# SPDX-License-Identifier: MIT
"""One model of one node for each op of the ONNX standard, in sizes that real networks have.

A case is (op, label, inputs, attributes, n_outputs): inputs are arrays (fed at run time),
Const(array) (initializers) or None (left out). Data is drawn from a fixed seed. What cannot be
measured as one node stands in NOT_MEASURED with the reason.
"""
import zlib

import numpy as np
from onnx import defs, helper, numpy_helper, shape_inference

F, D, H = np.float32, np.float64, np.float16
I64, I32, U8, I8, BOOL = np.int64, np.int32, np.uint8, np.int8, np.bool_
MAP, SEQ, MILLION = (1, 64, 56, 56), (1, 128, 768), (1000, 1000)

NOT_MEASURED = {
    "a constant, a shape or a view: no arithmetic": [
        "Constant", "Shape", "Size", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze",
        "ConstantOfShape", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix",
        "EyeLike", "Dropout", "BitCast", "Range"],
    "a subgraph, a sequence or an optional": [
        "If", "Loop", "Scan", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
        "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence",
        "Optional", "OptionalGetElement", "OptionalHasElement"],
    "strings or files": [
        "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer",
        "ImageDecoder"],
    "random numbers": [
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike"],
    "an older name of another op": ["Scatter", "Upsample"],
    "not in the released onnxruntime": [
        "CausalConvWithState", "LinearAttention", "SwiGLU", "CumProd"],
}


class Const:
    """An operand that is an initializer."""

    def __init__(self, value):
        self.value = np.asarray(value)


def draw(shape, kind=F, low=None, high=None):
    """Normal floats, or uniform ones in [low, high); integers in [low, high)."""
    rng = np.random.default_rng(zlib.crc32(repr((shape, kind, low, high)).encode()))
    if kind is BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if np.issubdtype(kind, np.integer):
        return rng.integers(0 if low is None else low, 100 if high is None else high,
                            shape).astype(kind)
    if low is None:
        return rng.standard_normal(shape).astype(kind)
    return rng.uniform(low, high, shape).astype(kind)


def boxes(n):
    corner, size = draw((1, n, 2), F, 0, 500), draw((1, n, 2), F, 5, 60)
    return np.concatenate([corner, corner + size], -1).astype(F)


def unary():
    one = {"Abs": {}, "Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Asinh": {}, "Atan": {},
           "Atanh": (-0.99, 0.99), "Ceil": {}, "Celu": {}, "Cos": {}, "Cosh": {}, "Elu": {},
           "Erf": {}, "Exp": {}, "Floor": {}, "Gelu": {}, "HardSigmoid": {}, "HardSwish": {},
           "IsInf": {}, "IsNaN": {}, "LeakyRelu": {}, "Log": (0.1, 9), "Mish": {}, "Neg": {},
           "Reciprocal": (0.1, 9), "Relu": {}, "Round": {}, "Selu": {}, "Shrink": {}, "Sigmoid": {},
           "Sign": {}, "Sin": {}, "Sinh": {}, "Softplus": {}, "Softsign": {}, "Sqrt": (0, 9),
           "Swish": {}, "Tan": {}, "Tanh": {}, "ThresholdedRelu": {}}
    for op, limits in one.items():
        yield op, "1M", [draw(MILLION, F, *limits) if limits else draw(MILLION)], {}, 1
    yield "Clip", "1M", [draw(MILLION), Const(F(-1)), Const(F(1))], {}, 1
    yield "PRelu", "1x64x56x56", [draw(MAP), Const(draw((64, 1, 1)))], {}, 1
    yield "Not", "1M", [draw(MILLION, BOOL)], {}, 1
    yield "BitwiseNot", "1M int32", [draw(MILLION, I32)], {}, 1
    for op in ("Sin", "Cos"):
        yield op, "1M up to 1000", [draw(MILLION, F, -1000, 1000)], {}, 1


def binary():
    a, b = draw(MILLION), draw(MILLION, F, 0.5, 2)
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"):
        yield op, "1M", [a, b], {}, 1
    for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        yield op, "1M", [a, b], {}, 1
    for op in ("Add", "Mul"):
        yield op, "1x64x56x56 by channel", [draw(MAP), Const(draw((1, 64, 1, 1)))], {}, 1
        yield op, "1x128x768 by column", [draw(SEQ), draw((768,))], {}, 1
        yield op, "1M int64", [draw(MILLION, I64), draw(MILLION, I64, 1, 9)], {}, 1
    yield "Equal", "1M int64", [draw(MILLION, I64), draw(MILLION, I64, 1, 9)], {}, 1
    yield "Pow", "1M", [np.abs(a), b], {}, 1
    for power in (2.0, 3.0, 0.5):
        yield "Pow", f"1M to the {power}", [np.abs(a), Const(F(power))], {}, 1
    yield "Mod", "1M", [a, b], {"fmod": 1}, 1
    yield "Mod", "1M int64", [draw(MILLION, I64), draw(MILLION, I64, 1, 9)], {}, 1
    for op in ("And", "Or", "Xor"):
        yield op, "1M", [draw(MILLION, BOOL), draw((1, 1000), BOOL)], {}, 1
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        yield op, "1M int32", [draw(MILLION, I32), draw(MILLION, I32, 1, 9)], {}, 1
    yield "BitShift", "1M uint32", [draw(MILLION, np.uint32), draw(MILLION, np.uint32, 1, 9)], {
        "direction": "LEFT"}, 1
    yield "Where", "1M", [draw(MILLION, BOOL), a, b], {}, 1
    yield "Where", "12x128x128 mask", [draw((1, 1, 128, 128), BOOL), draw((1, 12, 128, 128)),
                                       Const(F(-1e9))], {}, 1


def casts():
    for a, b in ((F, I64), (I64, F), (F, I32), (I32, F), (F, U8), (U8, F), (F, BOOL), (BOOL, F),
                 (F, H), (H, F), (I64, I32), (I32, I64)):
        x = draw(MILLION, a, 0, 200) if b is U8 else draw(MILLION, a)
        yield "Cast", f"1M {a.__name__} to {b.__name__}", [x], {
            "to": helper.np_dtype_to_tensor_dtype(np.dtype(b))}, 1
    yield "CastLike", "1M float32 to int64", [draw(MILLION), Const(I64(1))], {}, 1


def reductions():
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
               "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"):
        x = draw(SEQ, F, 0.98, 1.02) if op in ("ReduceLogSum", "ReduceProd") else draw(SEQ)
        yield op, "1x128x768 last", [x, Const([2])], {}, 1
        yield op, "1x128x768 middle", [x, Const([1])], {}, 1
    yield "ReduceMean", "1x64x56x56 spatial", [draw(MAP), Const([2, 3])], {}, 1
    yield "ReduceSum", "1M all", [draw(MILLION)], {"keepdims": 0}, 1
    for op in ("ArgMax", "ArgMin"):
        yield op, "1M last", [draw(MILLION)], {"axis": 1}, 1
        yield op, "1x64x56x56 channels", [draw(MAP)], {"axis": 1}, 1
    yield "TopK", "1x100000, 100", [draw((1, 100000)), Const([100])], {}, 2
    yield "TopK", "100x1000, 5", [draw((100, 1000)), Const([5])], {}, 2
    yield "CumSum", "1M last", [draw(MILLION), Const(I64(1))], {}, 1
    yield "CumSum", "1M first", [draw(MILLION), Const(I64(0))], {}, 1
    yield "Hardmax", "1000x1000", [draw(MILLION)], {}, 1
    yield "NonZero", "1M", [draw(MILLION, BOOL)], {}, 1
    yield "Unique", "100000 int64", [draw((100000,), I64, 0, 1000)], {}, 4
    yield "Det", "64x16x16", [draw((64, 16, 16))], {}, 1


def norms():
    scale, bias = Const(draw((64,), F, 0.5, 2)), Const(draw((64,)))
    yield "BatchNormalization", "1x64x56x56", [draw(MAP), scale, bias, Const(draw((64,))),
                                               Const(draw((64,), F, 0.5, 3))], {}, 1
    yield "InstanceNormalization", "1x64x56x56", [draw(MAP), scale, bias], {}, 1
    yield "GroupNormalization", "1x64x56x56, 8", [draw(MAP), scale, bias], {"num_groups": 8}, 1
    wide = Const(draw((768,), F, 0.5, 2))
    yield "LayerNormalization", "1x128x768", [draw(SEQ), wide, Const(draw((768,)))], {}, 1
    yield "RMSNormalization", "1x128x768", [draw(SEQ), wide], {}, 1
    yield "LRN", "1x64x56x56", [draw(MAP)], {"size": 5}, 1
    yield "LpNormalization", "1x128x768", [draw(SEQ)], {}, 1
    yield "MeanVarianceNormalization", "1x64x56x56", [draw(MAP)], {}, 1
    yield "Softmax", "12x128x128", [draw((12, 128, 128))], {}, 1
    yield "Softmax", "1x64x56x56 channels", [draw(MAP)], {"axis": 1}, 1
    yield "LogSoftmax", "12x128x128", [draw((12, 128, 128))], {}, 1
    labels = draw((128,), I64, 0, 768)
    yield "NegativeLogLikelihoodLoss", "128x768", [draw((128, 768)), labels], {}, 1
    yield "SoftmaxCrossEntropyLoss", "128x768", [draw((128, 768)), labels], {}, 1


def moves():
    yield "Transpose", "1x64x56x56 to NHWC", [draw(MAP)], {"perm": [0, 2, 3, 1]}, 1
    yield "Transpose", "1x128x12x64 heads", [draw((1, 128, 12, 64))], {"perm": [0, 2, 1, 3]}, 1
    yield "Transpose", "1000x1000", [draw(MILLION)], {"perm": [1, 0]}, 1
    yield "Concat", "2 of 1x64x56x56", [draw(MAP), draw(MAP)], {"axis": 1}, 1
    yield "Split", "1x64x56x56 in 2", [draw(MAP)], {"axis": 1, "num_outputs": 2}, 2
    yield "Slice", "1x128x768 half", [draw(SEQ), Const([0]), Const([384]), Const([2])], {}, 1
    yield "Slice", "1x64x56x56 every 2nd", [
        draw(MAP), Const([0, 0]), Const([56, 56]), Const([2, 3]),
                                            Const([2, 2])], {}, 1
    yield "Pad", "1x64x56x56 by 1", [draw(MAP), Const([0, 0, 1, 1] * 2)], {}, 1
    yield "Pad", "1x64x56x56 reflect", [draw(MAP), Const([0, 0, 3, 3] * 2)], {"mode": "reflect"}, 1
    yield "CenterCropPad", "1x64x56x56", [draw(MAP), Const([64, 48])], {"axes": [2, 3]}, 1
    yield "Expand", "768 to 128x768", [draw((1, 1, 768)), Const([8, 128, 768])], {}, 1
    yield "Tile", "1x128x768 by 4", [draw(SEQ), Const([1, 4, 1])], {}, 1
    yield "DepthToSpace", "1x64x56x56", [draw(MAP)], {"blocksize": 2}, 1
    yield "SpaceToDepth", "1x64x56x56", [draw(MAP)], {"blocksize": 2}, 1
    yield "Trilu", "12x256x256", [draw((12, 256, 256))], {}, 1
    yield "Gather", "30000x768, 128 rows", [Const(draw((30000, 768))), draw((1, 128), I64, 0, 30000)
                                            ], {}, 1
    yield "Gather", "1x128x768 columns", [draw(SEQ), draw((384,), I64, 0, 768)], {"axis": 2}, 1
    yield "GatherElements", "1M", [draw(MILLION), draw(MILLION, I64, 0, 1000)], {"axis": 1}, 1
    yield "GatherND", "1000 rows of 1000x1000", [
        draw(MILLION), draw((1000, 1), I64, 0, 1000)], {}, 1
    yield "ScatterElements", "1M", [draw(MILLION), draw(MILLION, I64, 0, 1000), draw(MILLION)], {
        "axis": 1}, 1
    yield "ScatterND", "100 rows of 1000x1000", [draw(MILLION), draw((100, 1), I64, 0, 1000),
                                                 draw((100, 1000))], {}, 1
    yield "TensorScatter", "1x8x128x64", [draw((1, 8, 128, 64)), draw((1, 8, 1, 64)),
                                          draw((1,), I64, 0, 100)], {}, 1
    yield "OneHot", "1000 of 1000", [draw((1000,), I64, 0, 1000), Const([1000]), Const(F([0, 1]))
                                     ], {}, 1
    yield "Compress", "1000x1000", [draw(MILLION), draw((1000,), BOOL)], {"axis": 0}, 1
    yield "ReverseSequence", "128x8x768", [draw((128, 8, 768)), draw((8,), I64, 1, 128)], {}, 1


def spatial():
    w = Const(draw((64, 64, 3, 3)) / F(24))
    three = {"kernel_shape": [3, 3], "pads": [1] * 4}
    half = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]}
    yield "Conv", "1x64x56x56, 3x3", [draw(MAP), w, Const(draw((64,)))], three, 1
    yield "Conv", "1x64x56x56, 1x1", [draw(MAP), Const(draw((128, 64, 1, 1)))], {}, 1
    yield "Conv", "1x64x56x56, depthwise", [draw(MAP), Const(draw((64, 1, 3, 3)))], {
        **three, "group": 64}, 1
    yield "Conv", "1x64x1000, 1-d", [draw((1, 64, 1000)), Const(draw((64, 64, 3)))], {
        "pads": [1, 1]}, 1
    yield "ConvTranspose", "1x64x28x28, 2x2", [
        draw((1, 64, 28, 28)), Const(draw((64, 64, 2, 2)))], {
        "strides": [2, 2]}, 1
    yield "ConvTranspose", "1x64x28x28, 4x4", [
        draw((1, 64, 28, 28)), Const(draw((64, 64, 4, 4)))], {
        "strides": [2, 2], "pads": [1] * 4}, 1
    yield "DeformConv", "1x64x28x28", [draw((1, 64, 28, 28)), w, draw((1, 18, 28, 28))], {
        "pads": [1] * 4}, 1
    yield "ConvInteger", "1x64x56x56", [
        draw(MAP, U8, 0, 255), Const(draw((64, 64, 3, 3), I8, -99, 99)),
                                        Const(U8(128))], three, 1
    scales = [Const(F(0.02)), Const(U8(128))]
    yield "QLinearConv", "1x64x56x56", [
        draw(MAP, U8, 0, 255), *scales, Const(draw((64, 64, 3, 3), I8, -99, 99)), Const(F(0.01)),
        Const(I8(0)), Const(F(0.5)), Const(U8(128))], three, 1
    for op in ("MaxPool", "AveragePool"):
        yield op, "1x64x56x56, 3x3 by 2", [draw(MAP)], half, 1
        yield op, "1x64x56x56, 2x2 by 2", [
            draw(MAP)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 1
    yield "AveragePool", "1x64x56x56, 3x3", [draw(MAP)], three, 1
    yield "LpPool", "1x64x56x56, 3x3", [draw(MAP)], three, 1
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield op, "1x64x56x56", [draw(MAP)], {}, 1
    yield "MaxUnpool", "1x64x28x28", [draw((1, 64, 28, 28)), Const(unpool(64, 28))], {
        "kernel_shape": [2, 2], "strides": [2, 2]}, 1
    rois = np.concatenate([draw((100, 2), F, 0, 20), draw((100, 2), F, 25, 56)], 1).astype(F)
    yield "MaxRoiPool", "100 of 1x64x56x56", [draw(MAP), np.pad(rois, ((0, 0), (1, 0)))], {
        "pooled_shape": [7, 7]}, 1
    yield "RoiAlign", "100 of 1x64x56x56", [draw(MAP), rois, np.zeros(100, I64)], {
        "output_height": 7, "output_width": 7, "sampling_ratio": 2}, 1
    for mode, more in (("nearest", {"nearest_mode": "floor",
                                    "coordinate_transformation_mode": "asymmetric"}),
                       ("linear", {}), ("cubic", {})):
        yield "Resize", f"1x64x56x56 by 2, {mode}", [draw(MAP), None, Const(F([1, 1, 2, 2]))], {
            "mode": mode, **more}, 1
    for mode in ("linear", "nearest", "cubic"):
        yield "GridSample", f"1x64x56x56, {mode}", [draw(MAP), draw((1, 56, 56, 2), F, -1, 1)], {
            "mode": mode}, 1
    yield "AffineGrid", "1x56x56", [draw((1, 2, 3)), Const([1, 64, 56, 56])], {}, 1
    yield "Col2Im", "1x576x3136", [draw((1, 576, 3136)), Const([56, 56]), Const([3, 3])], {
        "pads": [1] * 4}, 1


def unpool(channels, size):
    """Positions as MaxPool 2x2 by 2 reports them."""
    base = np.arange(channels * 4 * size * size, dtype=I64).reshape(channels, 2 * size, 2 * size)
    return base[None, :, ::2, ::2].copy()


def dense():
    yield "MatMul", "128x768x768", [draw(SEQ), Const(draw((768, 768)))], {}, 1
    yield "MatMul", "12x128x64x128", [draw((1, 12, 128, 64)), draw((1, 12, 64, 128))], {}, 1
    yield "MatMul", "1x768x768", [draw((1, 768)), Const(draw((768, 768)))], {}, 1
    yield "Gemm", "128x768x768", [draw((128, 768)), Const(draw((768, 768))), Const(draw((768,)))], {
        "transB": 1}, 1
    yield "Einsum", "bhid,bhjd->bhij", [draw((1, 12, 128, 64)), draw((1, 12, 128, 64))], {
        "equation": "bhid,bhjd->bhij"}, 1
    yield "MatMulInteger", "128x768x768", [draw((128, 768), U8, 0, 255),
                                           Const(draw((768, 768), I8, -99, 99)), Const(U8(128))
                                           ], {}, 1
    yield "QLinearMatMul", "128x768x768", [
        draw((128, 768), U8, 0, 255), Const(F(0.02)), Const(U8(128)),
        Const(draw((768, 768), I8, -99, 99)), Const(F(0.01)), Const(I8(0)), Const(F(0.5)),
        Const(U8(128))], {}, 1
    yield "QuantizeLinear", "1M", [draw(MILLION), Const(F(0.02)), Const(U8(128))], {}, 1
    yield "DequantizeLinear", "1M", [
        draw(MILLION, U8, 0, 255), Const(F(0.02)), Const(U8(128))], {}, 1
    yield "DynamicQuantizeLinear", "1M", [draw(MILLION)], {}, 3
    heads = [draw((1, 12, 128, 64)) for _ in range(3)]
    yield "Attention", "1x12x128x64", heads, {}, 1
    cos, sin = (Const(draw((1, 128, 32), F, -1, 1)) for _ in range(2))
    yield "RotaryEmbedding", "1x12x128x64", [heads[0], cos, sin], {}, 1


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, size in ((100, 128), (50, 512)):
            yield op, f"{steps}x1x{size}", [
                draw((steps, 1, size)), Const(draw((1, gates * size, size)) / F(size ** 0.5)),
                Const(draw((1, gates * size, size)) / F(size ** 0.5)),
                Const(draw((1, 2 * gates * size)))], {"hidden_size": size}, 1
    yield "LSTM", "50x16x256", [draw((50, 16, 256)), Const(draw((1, 1024, 256)) / F(16)),
                                Const(draw((1, 1024, 256)) / F(16)), Const(draw((1, 2048)))], {
        "hidden_size": 256}, 1
    yield "LSTM", "100x1x128 both ways", [
        draw((100, 1, 128)), Const(draw((2, 512, 128)) / F(12)), Const(draw((2, 512, 128)) / F(12)),
        Const(draw((2, 1024)))], {"hidden_size": 128, "direction": "bidirectional"}, 1


def signals():
    for n in (1024, 1000, 997):
        yield "DFT", f"16x{n}", [draw((16, n, 1)), None, Const(I64(1))], {}, 1
    yield "DFT", "16x1024 complex", [draw((16, 1024, 2)), None, Const(I64(1))], {}, 1
    yield "DFT", "16x1024 onesided", [draw((16, 1024, 1)), None, Const(I64(1))], {"onesided": 1}, 1
    yield "STFT", "16000, 400 by 160", [
        draw((1, 16000, 1)), Const(I64(160)), Const(draw((400,), F, 0, 1)),
                                        Const(I64(400))], {}, 1
    yield "STFT", "16000, 512 by 128", [
        draw((1, 16000, 1)), Const(I64(128)), Const(draw((512,), F, 0, 1)),
                                        Const(I64(512))], {}, 1


def detection():
    yield "NonMaxSuppression", "1000 boxes, 20 classes", [
        boxes(1000), draw((1, 20, 1000), F, 0, 1), Const([100]), Const(F([0.5])), Const(F([0.3]))
        ], {}, 1
    yield "NonMaxSuppression", "8400 boxes, 1 class", [
        boxes(8400), draw((1, 1, 8400), F, 0, 1), Const([300]), Const(F([0.5])), Const(F([0.25]))
        ], {}, 1


def float16():
    """float16 on the CPU."""
    yield "Add", "1M float16", [draw(MILLION, H), draw(MILLION, H, 0.5, 2)], {}, 1
    yield "Relu", "1M float16", [draw(MILLION, H)], {}, 1
    yield "Sigmoid", "1M float16", [draw(MILLION, H)], {}, 1
    yield "Conv", "1x64x56x56, 3x3 float16", [
        draw(MAP, H), Const((draw((64, 64, 3, 3)) / F(24)).astype(H))], {
        "pads": [1] * 4}, 1
    yield "MatMul", "128x768x768 float16", [draw(SEQ, H), Const(draw((768, 768), H))], {}, 1
    yield "MaxPool", "1x64x56x56, 2x2 by 2 float16", [draw(MAP, H)], {
        "kernel_shape": [2, 2], "strides": [2, 2]}, 1
    yield "Softmax", "12x128x128 float16", [draw((12, 128, 128), H)], {}, 1
    yield "LayerNormalization", "1x128x768 float16", [
        draw(SEQ, H), Const(draw((768,), H)), Const(draw((768,), H))], {}, 1


GROUPS = [unary, binary, casts, reductions, norms, moves, spatial, dense, recurrent, signals,
          detection, float16]


def cases():
    for group in GROUPS:
        yield from group()


def uncovered():
    """Ops of the standard that neither a case nor a reason names; a test wants none."""
    known = {c[0] for c in cases()} | {op for ops in NOT_MEASURED.values() for op in ops}
    return sorted({s.name for s in defs.get_all_schemas() if s.domain == ""} - known)


def model(case, opset):
    """(the model, {input: array})"""
    op, _, operands, attributes, n_out = case
    names, inputs, constants, feed = [], [], [], {}
    for i, value in enumerate(operands):
        if value is None:
            names.append("")
            continue
        names.append(f"x{i}")
        if isinstance(value, Const):
            constants.append(numpy_helper.from_array(value.value, f"x{i}"))
        else:
            feed[f"x{i}"] = value
            inputs.append(helper.make_tensor_value_info(
                f"x{i}", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    outputs = [f"y{i}" for i in range(n_out)]
    node = helper.make_node(op, names, outputs, **attributes)
    infos = [helper.make_empty_tensor_value_info(y) for y in outputs]
    graph = helper.make_graph([node], "op", inputs, infos, constants)
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return shape_inference.infer_shapes(m, strict_mode=True, data_prop=True), feed
