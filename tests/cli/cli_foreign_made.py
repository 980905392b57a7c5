# SPDX-License-Identifier: MIT
"""Models that ONNX Runtime's quantizer made are imported as meant, with scales as numbers and as
lists of one, and quern quantize says that they are quantized already. ONNX Runtime, without its
fusions, computes what is meant."""
import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

from harness import REFUSED, model, ok, refuses

ort = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")
qnn = pytest.importorskip("onnxruntime.quantization.execution_providers.qnn")
U8, S8, U16 = (getattr(quantization.QuantType, n) for n in ("QUInt8", "QInt8", "QUInt16"))
F = np.float32
RNG = np.random.default_rng(3)
n = h.make_node


def random(*shape):
    return RNG.normal(size=shape).astype(F)


NETS = {  # a Clip that goes, whose bounds stay; a bias that is an operand; scales that are shared
    "clip": ([n("Conv", ["x", "w", "b"], ["c"]), n("Clip", ["c", "low", "high"], ["d"]),
              n("Conv", ["d", "v"], ["y"])], (1, 4, 6, 6), (1, 5, 6, 6),
             {"w": random(8, 4, 1, 1), "b": random(8), "v": random(5, 8, 1, 1), "low": F(0),
              "high": F(6)}),
    "bias": ([n("MatMul", ["x", "w"], ["m"]), n("Add", ["m", "b"], ["a"]), n("Relu", ["a"], ["y"])],
             (1, 5, 16), (1, 5, 12), {"w": random(16, 12), "b": random(12)}),
    "concat": ([n("Relu", ["x"], ["a"]), n("Mul", ["x", "k"], ["b"]),
                n("Concat", ["a", "b"], ["c"], axis=1),
                n("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
               (1, 4, 8, 8), (1, 8, 4, 4), {"k": F(3)}),
}
KINDS = {  # activations, weights, by channel, options
    "qnn a8w8": (U8, S8, True, None), "qnn a16w8": (U16, S8, False, None),
    "s8": (S8, S8, False, {}), "pairs of their own": (U8, S8, True, {"DedicatedQDQPair": True}),
}


class Reader(quantization.CalibrationDataReader):
    def __init__(self, shape):
        self.left = iter([{"x": random(*shape)} for _ in range(4)])

    def get_next(self):
        return next(self.left, None)


def make(folder, net, kind):
    nodes, shape, out, constants = NETS[net]
    a, w, channels, extra = KINDS[kind]
    source = model(folder / "net.onnx", nodes, {"x": (T.FLOAT, shape)}, {"y": (T.FLOAT, out)},
                   constants)
    logging.disable(logging.WARNING)
    if extra is None:
        config = qnn.get_qnn_qdq_config(str(source), Reader(shape), activation_type=a,
                                        weight_type=w, per_channel=channels)
        quantization.quantize(str(source), str(folder / "q.onnx"), config)
    else:
        quantization.quantize_static(str(source), str(folder / "q.onnx"), Reader(shape),
                                     activation_type=a, weight_type=w, per_channel=channels,
                                     extra_options=extra)
    logging.disable(logging.NOTSET)
    return folder / "q.onnx"


def as_lists(path, out):
    """Scales and zero points of rank 0 become lists of one."""
    m = onnx.load(path)
    constants = {t.name: t for t in m.graph.initializer}
    for node in m.graph.node:
        for name in node.input[1:] if "quantizeLinear" in node.op_type.replace("Q", "q") else ():
            array = numpy_helper.to_array(constants[name])
            constants[name].CopyFrom(numpy_helper.from_array(array.reshape(-1), name))
    onnx.save(m, out)
    return out


@pytest.mark.parametrize("net, kind", [
    ("clip", "qnn a16w8"), ("clip", "pairs of their own"), ("bias", "qnn a8w8"),
    ("bias", "qnn a16w8"), ("concat", "s8"), ("concat", "qnn a16w8")])
def test_it_computes_what_is_meant(tmp_path, net, kind):
    path = make(tmp_path, net, kind)
    x = random(*NETS[net][1])
    np.save(tmp_path / "x.npy", x)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = ort.InferenceSession(str(path), options).run(None, {"x": x})[0]
    lists = as_lists(path, tmp_path / "lists.onnx")
    step = np.ptp(want) / (100 if "a16" not in kind else 2000)
    for backend in (("-b", "cpu"), ("-b", "htp", "--soc", "SM8650")):
        got = []
        for m in (path, lists):
            ok("run", m, tmp_path / "x.npy", *backend, "-q", "-o", tmp_path / "out")
            got.append(np.load(tmp_path / "out" / "output_0.npy"))
        assert np.abs(got[0] - want).max() <= step and np.array_equal(*got)
    refuses(REFUSED, "quantize", path, "-o", tmp_path / "again.onnx", "-r",
            says="quantized already")
