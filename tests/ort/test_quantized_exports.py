# SPDX-License-Identifier: MIT
"""Quantized models as AIMET exports them (QuantizeLinear and DequantizeLinear around every tensor,
weights per channel): whole in one partition of the HTP, results beside onnxruntime's CPU kernels.

Depthwise layers, biases as floats and as integers in units of the sums, weights of 4, 8 and 16 bits
that use their whole range.
"""
import json

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from provider import session

HTP = {"backend_type": "htp", "soc_model": "SM8650"}
TYPES = {"u8": np.uint8, "u16": np.uint16}
WEIGHTS = {4: TensorProto.INT4, 8: TensorProto.INT8, 16: TensorProto.INT16}


class Export:
    def __init__(self, weight_bits, activation, integer_bias=False):
        self.bits, self.type, self.integer_bias = weight_bits, activation, integer_bias
        self.rng = np.random.default_rng(3)
        self.nodes, self.constants, self.scales, self.steps = [], [], {}, {}

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def quantized(self, x, name, low, high):
        """An activation, behind its quantizers."""
        top = np.iinfo(TYPES[self.type]).max
        scale = np.float32((high - low) / top)
        pair = [self.constant(f"{name}_s", scale),
                self.constant(f"{name}_z", TYPES[self.type](round(-low / scale)))]
        self.nodes += [helper.make_node("QuantizeLinear", [x, *pair], [f"{name}_q"], f"{name}_Q"),
                       helper.make_node("DequantizeLinear", [f"{name}_q", *pair], [name],
                                        f"{name}_DQ")]
        self.scales[name] = scale
        return name

    def weight(self, name, shape):
        """Per output channel, the first dimension; the largest value of each is the type's."""
        w, top = self.rng.normal(size=shape), 2 ** (self.bits - 1) - 1
        per = np.abs(w).reshape(shape[0], -1).max(1) / top
        q = np.round(w / per.reshape(-1, *[1] * (len(shape) - 1))).astype(int)
        self.constants += [
            helper.make_tensor(name, WEIGHTS[self.bits], shape, q.flatten().tolist()),
            numpy_helper.from_array(per.astype(np.float32), f"{name}_s"),
            helper.make_tensor(f"{name}_z", WEIGHTS[self.bits], [shape[0]], [0] * shape[0])]
        self.nodes.append(helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"],
                                           [f"{name}_d"], f"{name}_DQ", axis=0))
        self.steps[name] = per.astype(np.float32)
        return f"{name}_d"

    def bias(self, name, n, x, w):
        real = self.rng.normal(size=n).astype(np.float32)
        if not self.integer_bias:
            return self.constant(name, real)
        units = self.scales[x] * self.steps[w]
        pair = [self.constant(f"{name}_q", np.round(real / units).astype(np.int32)),
                self.constant(f"{name}_s", units),
                self.constant(f"{name}_z", np.zeros(n, np.int32))]
        self.nodes.append(helper.make_node("DequantizeLinear", pair, [name], f"{name}_DQ", axis=0))
        return name

    def model(self):
        """Convolutions, one of them depthwise and one pointwise, mean, fully connected layer."""
        x = self.quantized("x", "in", -2.0, 2.0)
        for name, shape, group, reach in (("c1", (16, 3, 3, 3), 1, 30.0),
                                          ("dw", (16, 1, 3, 3), 16, 90.0),
                                          ("c2", (24, 16, 1, 1), 1, 220.0)):
            w = self.weight(f"{name}_w", shape)
            b = self.bias(f"{name}_b", shape[0], x, f"{name}_w")
            self.nodes += [helper.make_node("Conv", [x, w, b], [f"{name}_y"], name, group=group,
                                            pads=[shape[2] // 2] * 4),
                           helper.make_node("Relu", [f"{name}_y"], [f"{name}_r"], f"{name}_relu")]
            x = self.quantized(f"{name}_r", f"{name}_o", 0.0, reach)
        self.nodes.append(helper.make_node("GlobalAveragePool", [x], ["mean"], "pool"))
        x = self.quantized("mean", "m", 0.0, 150.0)
        self.nodes.append(helper.make_node("Flatten", [x], ["flat"], "flatten"))
        self.scales["f"] = self.scales["m"]
        x = self.quantized("flat", "f", 0.0, 150.0)
        w = self.weight("fc_w", (10, 24))
        b = self.bias("fc_b", 10, "f", "fc_w")
        self.nodes.append(helper.make_node("Gemm", [x, w, b], ["fc"], "fc", transB=1))
        self.quantized("fc", "y", -900.0, 900.0)
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 12, 12])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                                 ir_version=10).SerializeToString()


# Most steps of the result's encoding from onnxruntime's, whose sums are in float32.
@pytest.mark.parametrize("integer_bias", [False, True])
@pytest.mark.parametrize("bits, activation, steps", [(8, "u8", 1), (8, "u16", 3), (4, "u16", 3),
                                                     (16, "u16", 3), (4, "u8", 1)])
def test_exports_are_whole_and_right(bits, activation, steps, integer_bias):
    export = Export(bits, activation, integer_bias)
    model = export.model()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ours = session(model, HTP)  # nothing may fall back
    for _ in range(3):
        x = export.rng.uniform(-2, 2, (1, 3, 12, 12)).astype(np.float32)
        got, want = ours.run(None, {"x": x})[0], reference.run(None, {"x": x})[0]
        off = np.abs(got - want).max() / export.scales["y"]
        assert want.std() > 5 * export.scales["y"] and off < steps + 0.01, off


@pytest.mark.parametrize("second", [np.uint16, None])
def test_8_bits_times_16_bits(second):
    """Two activations, or a constant; no HTP has such a matmul, the first factor is widened."""
    export = Export(8, "u8")
    a = export.quantized("x", "a", -3.0, 3.0)
    export.type = "u16"
    if second:
        b = export.quantized("b", "bq", -1.5, 3.0)
    else:
        q = export.rng.integers(200, 65000, (2, 8, 6)).astype(np.uint16)
        export.nodes.append(helper.make_node("DequantizeLinear", [
            export.constant("w", q), export.constant("w_s", np.float32(1e-4)),
            export.constant("w_z", np.uint16(31000))], ["bq"], "w_DQ"))
        b = "bq"
    export.nodes.append(helper.make_node("MatMul", [a, b], ["m"], "m"))
    export.quantized("m", "y", -40.0, 40.0)
    inputs = [("x", [2, 4, 8])] + ([("b", [2, 8, 6])] if second else [])
    graph = helper.make_graph(
        export.nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
                            for n, s in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 6])], export.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                              ir_version=10).SerializeToString()
    feeds = {n: export.rng.uniform(-1.4, 2.9, s).astype(np.float32) for n, s in inputs}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    got = session(model, HTP).run(None, feeds)
    # The second factor is requantized without a zero point: half a step of it for each product.
    assert np.abs(got[0] - want[0]).max() / export.scales["y"] <= 4


def two_levels(factors):
    """A16W4 MatMul whose block scales are factors (a DequantizeLinear of their own) of those of the
    channels, or numbers of their own."""
    rng = np.random.default_rng(5)
    node = helper.make_node
    constants = [
        helper.make_tensor("w", TensorProto.INT4, (64, 8), rng.integers(-8, 8, 512).tolist()),
        numpy_helper.from_array(rng.integers(1, 16, (2, 8)).astype(np.uint8), "f"),
        numpy_helper.from_array(rng.uniform(.01, .02, 8).astype(np.float32), "c"),
        numpy_helper.from_array(rng.uniform(.01, .02, (2, 8)).astype(np.float32), "b"),
        numpy_helper.from_array(np.float32(1e-4), "s"),
        numpy_helper.from_array(np.uint16(30000), "z")]
    nodes = [node("DequantizeLinear", ["f", "c"], ["scales"], axis=1)] if factors else []
    nodes += [node("DequantizeLinear", ["w", "scales" if factors else "b"], ["d"], axis=0,
                   block_size=32),
              node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
              node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
              node("MatMul", ["xd", "d"], ["m"]),
              node("QuantizeLinear", ["m", "s", "z"], ["yq"]),
              node("DequantizeLinear", ["yq", "s", "z"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 64))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3, 8))], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                             ir_version=10).SerializeToString()


@pytest.mark.parametrize("factors, encoding", [(True, 5), (False, 11)])
def test_block_scales_that_are_factors_are_sent_as_such(tmp_path, factors, encoding):
    """BLOCKWISE_EXPANSION (5), which is published beside 16-bit activations; else BW_FLOAT_BLOCK
    (11)."""
    session(two_levels(factors), {**HTP, "dump_json_qnn_graph": "1",
                                  "json_qnn_graph_dir": str(tmp_path)})
    path = next(p for p in tmp_path.glob("*.json") if "tensor_log" not in p.name)
    tensors = json.loads(path.read_text())["graph"]["tensors"]
    assert tensors["w"]["quant_params"]["encoding"] == encoding
