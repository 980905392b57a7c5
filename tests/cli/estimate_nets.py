# SPDX-License-Identifier: MIT
"""Networks without weights for the tests of quern estimate."""
import numpy as np
import pytest
from harness import T, h, model


class Net:
    """A network under construction; weights are zeros."""

    def __init__(self, size):
        self.nodes, self.constants, self.channels = [], {}, {"x": 3}
        self.size = size

    def add(self, op, inputs, channels, **attributes):
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(h.make_node(op, inputs, [name], name=name, **attributes))
        self.channels[name] = channels
        return name

    def constant(self, *shape):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.zeros(shape, np.float32)
        return name

    def conv(self, x, out, k, stride=1, groups=1, pad=None):
        w = self.constant(out, self.channels[x] // groups, k, k)
        return self.add("Conv", [x, w], out, kernel_shape=[k, k], strides=[stride] * 2,
                        pads=[k // 2 if pad is None else pad] * 4, group=groups)

    def save(self, path, y, shape):
        return model(path, self.nodes + [h.make_node("Identity", [y], ["y"])],
                     {"x": (T.FLOAT, [1, 3, self.size, self.size])}, {"y": (T.FLOAT, shape)},
                     self.constants)


def mobilenet_v2(path):
    n = Net(224)
    relu6 = lambda v: n.add("Clip", [v, lo, hi], n.channels[v])
    lo, hi = n.constant(), n.constant()
    n.constants[hi] = np.array(6, np.float32)
    v = relu6(n.conv("x", 32, 3, 2))
    for t, c, repeat, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeat):
            before, wide = v, n.channels[v] * t
            v = relu6(n.conv(v, wide, 1)) if t > 1 else v
            v = relu6(n.conv(v, wide, 3, s if i == 0 else 1, wide))
            v = n.conv(v, c, 1)
            if i:
                v = n.add("Add", [before, v], c)
    v = relu6(n.conv(v, 1280, 1))
    v = n.add("Flatten", [n.add("GlobalAveragePool", [v], 1280)], 1280)
    v = n.add("Gemm", [v, n.constant(1000, 1280), n.constant(1000)], 1000, transB=1)
    return n.save(path, v, [1, 1000])


def squeezenet(path):
    n = Net(224)
    relu = lambda v: n.add("Relu", [v], n.channels[v])
    pool = lambda v: n.add("MaxPool", [v], n.channels[v], kernel_shape=[3, 3], strides=[2, 2],
                           ceil_mode=1)
    v = pool(relu(n.conv("x", 64, 3, 2, pad=0)))
    for squeeze, expand, pooled in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1),
                                    (48, 192, 0), (48, 192, 0), (64, 256, 0), (64, 256, 0)):
        s = relu(n.conv(v, squeeze, 1))
        v = n.add("Concat", [relu(n.conv(s, expand, 1)), relu(n.conv(s, expand, 3))], 2 * expand,
                  axis=1)
        v = pool(v) if pooled else v
    v = n.add("GlobalAveragePool", [relu(n.conv(v, 1000, 1))], 1000)
    return n.save(path, n.add("Flatten", [v], 1000), [1, 1000])


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nets")
    return {f.__name__: f(str(folder / f"{f.__name__}.onnx")) for f in (mobilenet_v2, squeezenet)}


@pytest.fixture
def small(tmp_path):
    n = Net(32)
    v = n.add("Sigmoid", [n.conv("x", 40, 3)], 40)
    return n.save(str(tmp_path / "small.onnx"), n.conv(v, 40, 1), [1, 40, 32, 32])
