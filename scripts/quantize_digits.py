#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantizes the demo network to 8 bits: activations per tensor, weights per output channel.

    pip install numpy scikit-learn onnx && scripts/quantize_digits.py

Reads examples/digits/digits.onnx and writes digits_a8w8.onnx beside it, with QuantizeLinear and
DequantizeLinear around every op. Ranges are those that training images (never the held-out ones)
give. The result is the same every time.
"""
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits

from train_digits import N_TEST, OUT

N_CALIBRATION = 256
# Values that keep the encoding of what they are made of, and values that are not worth rounding:
# a Relu follows at once.
SAME = {"p1": "r1", "p2": "r2", "f": "r2"}
SKIPPED = {"c1", "c2"}
# Output channels of a weight, and the value it is multiplied with.
WEIGHTS = {"w1": (0, "x"), "w2": (0, "p1"), "w3": (1, "f")}
BIASES = {"b1": "w1", "b2": "w2", "b3": "w3"}


def ranges(model, images):
    """Smallest and largest value of every activation, 0 included."""
    names = [model.graph.input[0].name] + [n.output[0] for n in model.graph.node]
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names[1:])
    values = ReferenceEvaluator(probe).run(None, {names[0]: images})
    found = dict(zip(names[1:], values)) | {names[0]: images}
    return {k: (min(v.min(), 0.0), max(v.max(), 0.0)) for k, v in found.items()}


def encoding(low, high):
    scale = np.float32((high - low) / 255)
    return scale, np.uint8(round(-low / scale))


class Writer:
    def __init__(self, model):
        self.init = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.nodes, self.made = [], {}

    def constant(self, name, array):
        self.made[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def pair(self, name, scale, zero):
        return [self.constant(name + "_scale", scale), self.constant(name + "_zero", zero)]

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], output + "_" + op, **attributes))
        return output

    def weight(self, name, axis):
        """Symmetric codes; returns the scales."""
        w = self.init[name]
        other = tuple(i for i in range(w.ndim) if i != axis)
        scale = (np.abs(w).max(other) / 127).astype(np.float32)
        shape = [-1 if i == axis else 1 for i in range(w.ndim)]
        codes = np.clip(np.round(w / scale.reshape(shape)), -127, 127).astype(np.int8)
        q = self.constant(name + "_q", codes)
        self.add("DequantizeLinear", [q] + self.pair(name, scale, np.zeros(len(scale), np.int8)),
                 name, axis=axis)
        return scale

    def bias(self, name, scale):
        codes = np.round(self.init[name] / scale).astype(np.int32)
        q = self.constant(name + "_q", codes)
        self.add("DequantizeLinear",
                 [q] + self.pair(name, scale.astype(np.float32), np.zeros(len(scale), np.int32)),
                 name, axis=0)


def quantize(model, images):
    seen, out, enc = ranges(model, images), Writer(model), {}
    weight_scales = {}

    def activation(name, source):
        """Q and DQ behind a value: `source` is the float, `name` what readers see."""
        enc[name] = enc[SAME[name]] if name in SAME else encoding(*seen[name])
        pair = out.pair(name, *enc[name])
        out.add("QuantizeLinear", [source] + pair, name + "_q")
        out.add("DequantizeLinear", [name + "_q"] + pair, name + "_dq")

    # The factor of the first op is one step of its own encoding.
    out.add("DequantizeLinear", [out.constant("factor_q", np.uint8(1))]
            + out.pair("factor", out.init["scale"].astype(np.float32).reshape(()), np.uint8(0)),
            "scale")
    activation("image", "image")
    last = model.graph.output[0].name
    for node in model.graph.node:
        for w in node.input:
            if w in WEIGHTS:
                axis, x = WEIGHTS[w]
                weight_scales[w] = out.weight(w, axis) * enc[x][0]
            if w in BIASES:
                out.bias(w, weight_scales[BIASES[w]])
        read = [i + "_dq" if i in enc else i for i in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        made = node.output[0]
        target = made if made in SKIPPED else made + "_float"
        out.add(node.op_type, read, target, **attributes)
        if made not in SKIPPED:
            activation(made, target)
    out.nodes[-1].output[0] = last
    graph = helper.make_graph(out.nodes, "digits_a8w8", model.graph.input, model.graph.output,
                              list(out.made.values()))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9,
                             producer_name="quern scripts/quantize_digits.py")
    onnx.checker.check_model(made)
    return made


def main():
    rng = np.random.default_rng(7)  # the split of train_digits.py
    digits = load_digits()
    order = rng.permutation(len(digits.images))
    x, y = digits.images[order][:, None].astype(np.float32), digits.target[order]
    model = onnx.load(OUT / "digits.onnx")
    made = quantize(model, x[N_TEST:N_TEST + N_CALIBRATION])
    guess = ReferenceEvaluator(made).run(None, {"image": x[:N_TEST]})[0].argmax(1)
    print(f"held-out accuracy: {(guess == y[:N_TEST]).mean():.3f}")
    onnx.save(made, OUT / "digits_a8w8.onnx")


if __name__ == "__main__":
    main()
