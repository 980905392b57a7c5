# SPDX-License-Identifier: MIT
"""Small quantized networks on the HTP: the layers of a residual network with squeeze and excitation
and of a transformer, quantized by ONNX Runtime's QNN helpers from random weights and data.

Layer by layer every code must be the oracle's (qdq_oracle.py); end to end, Quern must come as close
to ONNX Runtime without optimizations as the oracle does. scripts/compare_models.py does the same
with full networks. $QUERN_BIN is the program.
"""
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization as quantize
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

import measure


class Builder:
    """A graph with seeded random weights."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=None):
        w = self.rng.normal(size=shape) * (scale or (np.prod(shape[1:]) or 1) ** -0.5)
        return self.constant(w.astype(np.float32))

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"{op}_{name}",
                                           **attributes))
        return name

    def conv(self, x, cin, cout, kernel=3, stride=1, group=1):
        pad = kernel // 2
        return self.add("Conv", x, self.weight(cout, cin // group, kernel, kernel),
                        self.weight(cout, scale=0.2), kernel_shape=[kernel] * 2, pads=[pad] * 4,
                        strides=[stride] * 2, group=group)

    def model(self, x_shape, y, y_shape):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, y_shape)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def residual():
    """Convolution, depthwise convolution, squeeze and excitation, addition, classifier."""
    b = Builder(1)
    x = b.add("Relu", b.conv("x", 3, 16, stride=2))
    h = b.add("Clip", b.conv(x, 16, 48, 1), b.constant(np.float32(0)), b.constant(np.float32(6)))
    h = b.add("Relu", b.conv(h, 48, 48, group=48))
    s = b.add("GlobalAveragePool", h)
    s = b.add("Relu", b.conv(s, 48, 8, 1))
    s = b.add("Sigmoid", b.conv(s, 8, 48, 1))
    h = b.add("Add", b.conv(b.add("Mul", h, s), 48, 16, 1), x)
    h = b.add("MaxPool", h, kernel_shape=[2, 2], strides=[2, 2])
    h = b.add("Flatten", b.add("GlobalAveragePool", b.conv(h, 16, 32)))
    y = b.add("Gemm", h, b.weight(10, 32), b.weight(10, scale=0.1), transB=1)
    return b.model([1, 3, 32, 32], y, [1, 10]), (1, 3, 32, 32)


def transformer():
    """Layer norm, one attention head, Gelu."""
    b = Builder(2)
    ones, zeros = (b.constant(np.full(32, v, np.float32)) for v in (1, 0.1))
    h = b.add("LayerNormalization", "x", ones, zeros, axis=-1)
    q, k, v = (b.add("MatMul", h, b.weight(32, 32)) for _ in range(3))
    scores = b.add("MatMul", q, b.add("Transpose", k, perm=[0, 2, 1]))
    scores = b.add("Mul", scores, b.constant(np.float32(32 ** -0.5)))
    h = b.add("Add", b.add("MatMul", b.add("Softmax", scores, axis=-1), v), "x")
    g = b.add("Gelu", b.add("MatMul", h, b.weight(32, 64)))
    y = b.add("Add", b.add("MatMul", g, b.weight(64, 32)), h)
    return b.model([1, 20, 32], y, [1, 20, 32]), (1, 20, 32)


class Reader(quantize.CalibrationDataReader):
    def __init__(self, arrays):
        self.rows = iter([{"x": a} for a in arrays])

    def get_next(self):
        return next(self.rows, None)


def quantized(model, shape, kind, folder):
    rng = np.random.default_rng(3)
    onnx.save(model, folder / "float.onnx")
    data = [rng.normal(size=shape).astype(np.float32) for _ in range(4)]
    config = get_qnn_qdq_config(str(folder / "float.onnx"), Reader(data), activation_type=kind,
                                weight_type=quantize.QuantType.QUInt8)
    quantize.quantize(str(folder / "float.onnx"), str(folder / "qdq.onnx"), config)
    return onnx.load(folder / "qdq.onnx"), data


# The HTP multiplies 16-bit codes by 16-bit ones without an offset. Second factors of the
# transformer are converted first, which moves some results by one step.
@pytest.mark.parametrize("net, kind, share, loss", [
    (residual, "QUInt8", 0.999, 1.5), (residual, "QUInt16", 0.999, 1.5),
    (transformer, "QUInt8", 0.999, 1.5), (transformer, "QUInt16", 0.95, 12.0)])
def test_quantized_layers_and_networks(net, kind, share, loss, tmp_path):
    model, data = quantized(*net(), getattr(quantize.QuantType, kind), tmp_path)
    quern = measure.Quern(os.environ["QUERN_BIN"])
    equal, (steps, layer), total = measure.layers(quern, model, data[0])
    assert total > 2000
    assert equal >= share and steps <= 1, (equal, steps, layer)
    default, ours, oracle = measure.end_to_end(quern, model, data)
    assert ours >= min(default, oracle) - loss, (default, ours, oracle)
