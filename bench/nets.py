#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nets.py FOLDER [NAME...]: the networks of the benchmarks as ONNX, with seeded weights.

For machines without torch, onnx and numpy: nothing but Python is needed. Batch normalization is
folded, as an exporter does it. Weights are slices of one list of normal numbers, scaled so that
activations keep their size: times rarely depend on them.
"""
import random
import struct
import sys
from array import array
from pathlib import Path

FLOAT, INT64 = 1, 7
POOL = 1 << 18  # numbers that all weights are taken from


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    """A field of a protocol buffer: a number, text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, v):
    kinds = {float: (2, 1), int: (3, 2), str: (4, 3)}
    if isinstance(v, (list, tuple)):
        body = b"".join(field(8, i) for i in v) + field(20, 7)
    else:
        number, kind = kinds[type(v)]
        body = field(number, v) + field(20, kind)
    return field(1, name) + body


def port(name, kind, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class Net:
    """Grows a graph: op() adds a node and names its output."""

    def __init__(self):
        rng = random.Random(7)
        self.normal = [rng.gauss(0, 1) for _ in range(POOL)]
        self.pools, self.at, self.nodes, self.init, self.n = {}, 0, [], [], 0

    def const(self, shape, data, kind=FLOAT):
        name = f"c{len(self.init)}"
        self.init.append(b"".join(field(1, d) for d in shape) + field(2, kind) + field(8, name)
                         + field(9, data))
        return name

    def ints(self, *values):
        return self.const([len(values)], array("q", values).tobytes(), INT64)

    def number(self, value):
        return self.const([], struct.pack("<f", value))

    def weight(self, *shape, fan=1, gain=1.0):
        """Normal numbers of variance gain / fan."""
        scale = (gain / fan) ** 0.5
        if scale not in self.pools:
            self.pools[scale] = array("f", (v * scale for v in self.normal)).tobytes()
        pool, bytes_ = self.pools[scale], 4
        for d in shape:
            bytes_ *= d
        self.at = (self.at + 4 * 1117) % len(pool)
        ring = pool[self.at:] + pool[:self.at]
        data = ring * (bytes_ // len(ring)) + ring[:bytes_ % len(ring)]
        return self.const(shape, data)

    def op(self, kind, *inputs, **attributes):
        self.n += 1
        out = f"{kind.lower()}_{self.n}"
        self.nodes.append(b"".join(field(1, i) for i in inputs) + field(2, out) + field(3, out)
                          + field(4, kind)
                          + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))
        return out

    def conv(self, x, cin, cout, k=1, stride=1, group=1, pad=None, act=None, gain=2.0):
        kh, kw = k if isinstance(k, tuple) else (k, k)
        ph, pw = (kh // 2, kw // 2) if pad is None else (pad, pad)
        y = self.op("Conv", x, self.weight(cout, cin // group, kh, kw, fan=cin // group * kh * kw,
                                           gain=gain), self.weight(cout, fan=100),
                    kernel_shape=[kh, kw], strides=[stride] * 2, pads=[ph, pw, ph, pw], group=group)
        return self.act(y, act)

    def act(self, x, act):
        if act == "relu6":
            return self.op("Clip", x, self.number(0.0), self.number(6.0))
        if act == "silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if act == "hardswish":
            return self.op("HardSwish", x)
        return self.op("Relu", x) if act == "relu" else x

    def dense(self, x, cin, cout, gain=1.0):
        return self.op("Add", self.op("MatMul", x, self.weight(cin, cout, fan=cin, gain=gain)),
                       self.weight(cout, fan=100))

    def head(self, x, cin, cout=1000):
        x = self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)
        return self.op("Gemm", x, self.weight(cout, cin, fan=cin), self.weight(cout, fan=100),
                       transB=1)

    def norm(self, x, width, epsilon):
        return self.op("LayerNormalization", x, self.const([width], array("f", [1] * width)
                                                           .tobytes()),
                       self.weight(width, fan=100), axis=-1, epsilon=epsilon)

    def save(self, path, inputs, top, opset=17):
        self.nodes.append(field(1, top) + field(2, "output") + field(3, "out")
                          + field(4, "Identity"))
        graph = [field(1, n) for n in self.nodes] + [field(2, "net")]
        graph += [field(5, t) for t in self.init]
        graph += [field(11, port(*i)) for i in inputs] + [field(12, port("output", FLOAT, []))]
        # An output without a shape: its type alone.
        graph[-1] = field(12, field(1, "output") + field(2, field(1, field(1, FLOAT))))
        graph = b"".join(graph)
        Path(path).write_bytes(field(1, 8) + field(8, field(1, "") + field(2, opset))
                               + field(7, graph))


def image(side):
    return [("input", FLOAT, [1, 3, side, side])]


def resnet50(n, path):
    x = n.conv("input", 3, 64, 7, 2, act="relu")
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            step, cout = stride if i == 0 else 1, 4 * width
            y = n.conv(x, cin, width, act="relu")
            y = n.conv(y, width, width, 3, step, act="relu")
            y = n.conv(y, width, cout, gain=0.5)
            if i == 0:
                x = n.conv(x, cin, cout, stride=step, pad=0, gain=0.5)
            x = n.op("Relu", n.op("Add", x, y))
            cin = cout
    n.save(path, image(224), n.head(x, 2048))


def inverted(n, x, cin, hidden, cout, k, stride, act, squeeze=0, gate="HardSigmoid"):
    y = n.conv(x, cin, hidden, act=act) if hidden != cin else x
    y = n.conv(y, hidden, hidden, k, stride, group=hidden, act=act)
    if squeeze:
        s = n.conv(n.op("GlobalAveragePool", y), hidden, squeeze,
                   act="silu" if act == "silu" else "relu")
        s = n.conv(s, squeeze, hidden)
        s = n.op("Sigmoid", s) if gate == "Sigmoid" else n.op(gate, s, alpha=1 / 6)
        y = n.op("Mul", y, s)
    y = n.conv(y, hidden, cout, gain=1.0)
    return n.op("Add", x, y) if stride == 1 and cin == cout else y


def mobilenet_v2(n, path):
    x, cin = n.conv("input", 3, 32, 3, 2, act="relu6"), 32
    for t, c, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                  (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            x = inverted(n, x, cin, cin * t, c, 3, stride if i == 0 else 1, "relu6")
            cin = c
    n.save(path, image(224), n.head(n.conv(x, 320, 1280, act="relu6"), 1280))


V3 = ((3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1),
      (5, 72, 40, 24, "relu", 2), (5, 120, 40, 32, "relu", 1), (5, 120, 40, 32, "relu", 1),
      (3, 240, 80, 0, "hardswish", 2), (3, 200, 80, 0, "hardswish", 1),
      (3, 184, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1),
      (3, 480, 112, 120, "hardswish", 1), (3, 672, 112, 168, "hardswish", 1),
      (5, 672, 160, 168, "hardswish", 2), (5, 960, 160, 240, "hardswish", 1),
      (5, 960, 160, 240, "hardswish", 1))


def mobilenet_v3_large(n, path):
    x, cin = n.conv("input", 3, 16, 3, 2, act="hardswish"), 16
    for k, hidden, c, squeeze, act, stride in V3:
        x = inverted(n, x, cin, hidden, c, k, stride, act, squeeze)
        cin = c
    x = n.op("Flatten", n.op("GlobalAveragePool", n.conv(x, 160, 960, act="hardswish")), axis=1)
    x = n.act(n.dense(x, 960, 1280), "hardswish")
    n.save(path, image(224), n.dense(x, 1280, 1000))


def efficientnet_b0(n, path):
    x, cin = n.conv("input", 3, 32, 3, 2, act="silu"), 32
    for t, c, repeats, stride, k in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                     (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                     (6, 320, 1, 1, 3)):
        for i in range(repeats):
            x = inverted(n, x, cin, cin * t, c, k, stride if i == 0 else 1, "silu",
                         max(1, cin // 4), "Sigmoid")
            cin = c
    n.save(path, image(224), n.head(n.conv(x, 320, 1280, act="silu"), 1280))


def inception_v3(n, path):
    def c(x, cin, cout, k=1, stride=1, pad=0):
        if isinstance(k, tuple) or pad:
            pad = None
        return n.conv(x, cin, cout, k, stride, pad=pad, act="relu")

    def mean(x):
        return n.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4,
                    count_include_pad=1)

    def most(x):
        return n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])

    def join(*parts):
        return n.op("Concat", *parts, axis=1)

    x = c(c(c("input", 3, 32, 3, 2), 32, 32, 3), 32, 64, 3, pad=1)
    x, cin = most(c(c(most(x), 64, 80), 80, 192, 3)), 192
    for pooled in (32, 64, 64):
        x = join(c(x, cin, 64), c(c(x, cin, 48), 48, 64, 5, pad=2),
                 c(c(c(x, cin, 64), 64, 96, 3, pad=1), 96, 96, 3, pad=1), c(mean(x), cin, pooled))
        cin = 224 + pooled
    x = join(c(x, 288, 384, 3, 2), c(c(c(x, 288, 64), 64, 96, 3, pad=1), 96, 96, 3, 2), most(x))
    for w in (128, 160, 160, 192):
        far = c(c(c(x, 768, w), w, w, (7, 1)), w, w, (1, 7))
        x = join(c(x, 768, 192), c(c(c(x, 768, w), w, w, (1, 7)), w, 192, (7, 1)),
                 c(c(far, w, w, (7, 1)), w, 192, (1, 7)), c(mean(x), 768, 192))
    y = c(c(c(x, 768, 192), 192, 192, (1, 7)), 192, 192, (7, 1))
    x, cin = join(c(c(x, 768, 192), 192, 320, 3, 2), c(y, 192, 192, 3, 2), most(x)), 1280
    for _ in range(2):
        a, b = c(x, cin, 384), c(c(x, cin, 448), 448, 384, 3, pad=1)
        x = join(c(x, cin, 320), c(a, 384, 384, (1, 3)), c(a, 384, 384, (3, 1)),
                 c(b, 384, 384, (1, 3)), c(b, 384, 384, (3, 1)), c(mean(x), cin, 192))
        cin = 2048
    n.save(path, image(299), n.head(x, 2048))


def encoder(n, x, tokens, width, before, epsilon):
    """One layer of 12 heads; before: norms stand before what they feed."""
    def heads(v, perm):
        v = n.op("Reshape", v, n.ints(1, tokens, 12, width // 12))
        return n.op("Transpose", v, perm=perm)

    h = n.norm(x, width, epsilon) if before else x
    q = heads(n.dense(h, width, width), [0, 2, 1, 3])
    k = heads(n.dense(h, width, width), [0, 2, 3, 1])
    v = heads(n.dense(h, width, width), [0, 2, 1, 3])
    scores = n.op("Mul", n.op("MatMul", q, k), n.number((width // 12) ** -0.5))
    y = n.op("MatMul", n.op("Softmax", scores, axis=-1), v)
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(1, tokens, width))
    x = n.op("Add", n.dense(y, width, width), x)
    x = x if before else n.norm(x, width, epsilon)
    h = n.dense(n.norm(x, width, epsilon) if before else x, width, 4 * width)
    erf = n.op("Add", n.op("Erf", n.op("Div", h, n.number(2 ** 0.5))), n.number(1.0))
    h = n.op("Mul", n.op("Mul", h, erf), n.number(0.5))
    x = n.op("Add", n.dense(h, 4 * width, width), x)
    return x if before else n.norm(x, width, epsilon)


def bert_base(n, path, tokens=128, width=768):
    x = n.op("Gather", n.weight(30522, width), "input_ids")
    x = n.norm(n.op("Add", x, n.weight(1, tokens, width)), width, 1e-12)
    for _ in range(12):
        x = encoder(n, x, tokens, width, False, 1e-12)
    n.save(path, [("input_ids", INT64, [1, tokens])], x)


def vit_b_16(n, path, tokens=197, width=768):
    x = n.op("Reshape", n.conv("input", 3, width, 16, 16, pad=0, gain=1.0), n.ints(1, width, 196))
    x = n.op("Concat", n.weight(1, 1, width), n.op("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = n.op("Add", x, n.weight(1, tokens, width))
    for _ in range(12):
        x = encoder(n, x, tokens, width, True, 1e-6)
    x = n.op("Gather", n.norm(x, width, 1e-6), n.const([], array("q", [0]).tobytes(), INT64),
             axis=1)
    n.save(path, image(224), n.dense(x, width, 1000))


NETS = {f.__name__: f for f in (resnet50, mobilenet_v2, mobilenet_v3_large, efficientnet_b0,
                                inception_v3, bert_base, vit_b_16)}


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(NETS)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        NETS[name](Net(), folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
