#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the demo network: scikit-learn's handwritten digits, a small net, plain numpy.

    pip install numpy scikit-learn onnx && scripts/train_digits.py

Writes examples/digits/: digits.onnx (the network), images.npy (200 held-out test images, 8x8,
0..16) and labels.npy. Takes about a minute; the result is the same every time.
"""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

OUT = Path(__file__).resolve().parent.parent / "examples" / "digits"
N_TEST, EPOCHS, BATCH = 200, 80, 32


class Conv:
    """3x3, padding 1, no stride: as a product with the nine shifted images."""

    def __init__(self, rng, cin, cout):
        self.w = rng.standard_normal((cin * 9, cout)) * np.sqrt(2 / (cin * 9))
        self.b = np.zeros(cout)

    def columns(self, x):
        n, c, h, w = x.shape
        p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        shifts = [p[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)]
        return np.stack(shifts, 2).reshape(n, c * 9, h * w).transpose(0, 2, 1)

    def forward(self, x):
        self.shape, self.cols = x.shape, self.columns(x)
        n, _, h, w = x.shape
        y = self.cols @ self.w + self.b
        self.on = y > 0
        return (y * self.on).transpose(0, 2, 1).reshape(n, -1, h, w)

    def backward(self, d):
        n, c, h, w = self.shape
        d = d.reshape(n, -1, h * w).transpose(0, 2, 1) * self.on
        self.dw = np.einsum("npk,npo->ko", self.cols, d)
        self.db = d.sum((0, 1))
        g = (d @ self.w.T).transpose(0, 2, 1).reshape(n, c, 9, h, w)
        out = np.zeros((n, c, h + 2, w + 2))
        for k in range(9):
            out[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += g[:, :, k]
        return out[:, :, 1:-1, 1:-1]

    def onnx_weight(self):
        cin = self.w.shape[0] // 9
        return self.w.T.reshape(-1, cin, 3, 3)


class Dense:
    def __init__(self, rng, n_in, n_out):
        self.w = rng.standard_normal((n_in, n_out)) * np.sqrt(1 / n_in)
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, d):
        self.dw, self.db = self.x.T @ d, d.sum(0)
        return d @ self.w.T


def pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def unpool(d, x, y):
    mask = x == y.repeat(2, 2).repeat(2, 3)
    return d.repeat(2, 2).repeat(2, 3) * mask


class Net:
    def __init__(self, rng):
        self.a, self.c, self.d = Conv(rng, 1, 16), Conv(rng, 16, 32), Dense(rng, 128, 10)
        self.layers = [self.a, self.c, self.d]

    def forward(self, x):
        self.x1 = self.a.forward(x)
        self.p1 = pool(self.x1)
        self.x2 = self.c.forward(self.p1)
        self.p2 = pool(self.x2)
        return self.d.forward(self.p2.reshape(len(x), -1))

    def backward(self, d):
        d = self.d.backward(d).reshape(self.p2.shape)
        d = self.c.backward(unpool(d, self.x2, self.p2))
        self.a.backward(unpool(d, self.x1, self.p1))


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def shifted(x, rng):
    """The same digits, each moved sideways by up to one pixel."""
    p = np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)))
    return np.stack([p[i, :, :, k:k + 8] for i, k in enumerate(rng.integers(0, 3, len(x)))])


def train(x, y, rng):
    net, momentum = Net(rng), {}
    for epoch in range(EPOCHS):
        rate = 0.05 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            i = order[start:start + BATCH]
            p = softmax(net.forward(shifted(x[i], rng)))
            p[np.arange(BATCH), y[i]] -= 1
            net.backward(p / BATCH)
            for n, layer in enumerate(net.layers):
                for name in ("w", "b"):
                    g = getattr(layer, "d" + name) + (1e-4 * layer.w if name == "w" else 0)
                    momentum[n, name] = 0.9 * momentum.get((n, name), 0) + g
                    setattr(layer, name, getattr(layer, name) - rate * momentum[n, name])
    return net


def export(net):
    f32 = lambda name, a: numpy_helper.from_array(np.ascontiguousarray(a, np.float32), name)
    init = [f32("scale", np.float32(1 / 16)), f32("w1", net.a.onnx_weight()), f32("b1", net.a.b),
            f32("w2", net.c.onnx_weight()), f32("b2", net.c.b),
            f32("w3", net.d.w), f32("b3", net.d.b)]
    node = helper.make_node
    conv = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    half = dict(kernel_shape=[2, 2], strides=[2, 2])
    nodes = [node("Mul", ["image", "scale"], ["x"], "normalize"),
             node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", **conv),
             node("Relu", ["c1"], ["r1"], "relu1"),
             node("MaxPool", ["r1"], ["p1"], "pool1", **half),
             node("Conv", ["p1", "w2", "b2"], ["c2"], "conv2", **conv),
             node("Relu", ["c2"], ["r2"], "relu2"),
             node("MaxPool", ["r2"], ["p2"], "pool2", **half),
             node("Flatten", ["p2"], ["f"], "flatten"),
             node("Gemm", ["f", "w3", "b3"], ["scores"], "dense"),
             node("Softmax", ["scores"], ["probabilities"], "softmax", axis=1)]
    info = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "digits", [info("image", "N", 1, 8, 8)],
                              [info("probabilities", "N", 10)], init)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="quern scripts/train_digits.py")
    onnx.checker.check_model(model)
    return model


def main():
    rng = np.random.default_rng(7)
    digits = load_digits()
    order = rng.permutation(len(digits.images))
    x, y = digits.images[order][:, None], digits.target[order]
    net = train(x[N_TEST:] / 16, y[N_TEST:], rng)
    guess = net.forward(x[:N_TEST] / 16).argmax(1)
    print(f"held-out accuracy: {(guess == y[:N_TEST]).mean():.3f}")
    OUT.mkdir(parents=True, exist_ok=True)
    onnx.save(export(net), OUT / "digits.onnx")
    np.save(OUT / "images.npy", x[:N_TEST].astype(np.uint8))
    np.save(OUT / "labels.npy", y[:N_TEST].astype(np.uint8))


if __name__ == "__main__":
    main()
