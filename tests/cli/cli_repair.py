# SPDX-License-Identifier: MIT
"""quern quantize --repair. `--scheme float` writes the repaired model alone: ONNX Runtime says
whether it computes the same, and how much nearer the quantized one is."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

from harness import USAGE, ok, ok_json, refuses

ort = pytest.importorskip("onnxruntime")


def run(path, x):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def sqnr(got, want):
    return 10 * np.log10((want.astype(float) ** 2).sum() / ((got - want).astype(float) ** 2).sum())


class Net:
    def __init__(self, shape, seed=0):
        self.nodes, self.constants, self.rng, self.shape = (
            [],
            [],
            np.random.default_rng(seed),
            shape,
        )

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def op(self, kind, *inputs, **attributes):
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        out = f"v{len(self.nodes)}"
        self.nodes.append(h.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    def random(self, *shape, size=1.0):
        return self.rng.normal(0, size / np.sqrt(max(1, np.prod(shape[1:]))), shape)

    def save(self, path, out, opset=13):
        self.nodes.append(h.make_node("Identity", [out], ["y"]))
        graph = h.make_graph(
            self.nodes,
            "net",
            [h.make_tensor_value_info("x", T.FLOAT, self.shape)],
            [h.make_tensor_value_info("y", T.FLOAT, None)],
            self.constants,
        )
        net = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(net), path)
        data = self.rng.normal(0, 1, (4, *self.shape)).astype(np.float32)
        np.save(path.with_suffix(".npy"), data)
        return path, data


def quantize(path, out, scheme, repair, *flags):
    return ok(
        "quantize",
        path,
        "-o",
        out,
        "-s",
        scheme,
        "-c",
        path.with_suffix(".npy"),
        "--repair",
        repair,
        "--no-check",
        *flags,
    ).stdout


def kinds(path):
    return [n.op_type for n in onnx.load(path).graph.node]


def folding(path):
    """Batch norms around layers, factors, terms and a hard swish that is written out."""
    n = Net([1, 6, 9, 8])
    norm = lambda x, c: n.op(
        "BatchNormalization",
        x,
        n.rng.uniform(0.5, 2, c),
        n.rng.normal(0, 1, c),
        n.rng.normal(0, 1, c),
        n.rng.uniform(0.5, 2, c),
    )
    x = norm("x", 6)  # in front of a layer without pads
    x = norm(n.op("Conv", x, n.random(8, 6, 1, 1)), 8)
    x = n.op("Add", n.op("Mul", [1.7], x), n.rng.normal(0, 1, (8, 1, 1)))
    gate = n.op("Clip", n.op("Add", x, 3.0), 0.0, 6.0)
    x = n.op("Div", n.op("Mul", x, gate), 6.0)
    x = n.op("Add", n.op("Mul", x, [0.4]), [-0.3])  # in front of pads: the sum stays
    x = norm(n.op("Conv", x, n.random(8, 1, 3, 3), n.random(8), group=8, pads=[1, 1, 1, 1]), 8)
    x = norm(n.op("ConvTranspose", x, n.random(8, 3, 2, 2), strides=[2, 2], group=2), 6)
    x = n.op("Sub", n.rng.normal(0, 1, (6, 1, 1)), n.op("Relu", x))
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    x = n.op("Gemm", n.op("Sub", x, n.rng.normal(0, 1, (1, 6))), n.random(6, 5))
    return n.save(path, n.op("Mul", x, n.rng.uniform(0.5, 2, 5)))


def test_folding_leaves_layers_alone_and_computes_the_same(tmp_path):
    net, data = folding(tmp_path / "net.onnx")
    text = quantize(net, tmp_path / "f.onnx", "float", "fold")
    found = kinds(tmp_path / "f.onnx")
    assert "BatchNormalization" not in found and "Mul" not in found and found.count("Add") == 1
    assert found.count("HardSwish") == 1 and found.count("Sub") == 2  # behind a Relu, before a Gemm
    assert "fold: 4 batch norms" in text and "1 hard swish\n" in text
    for x in data:
        want = run(net, x)
        np.testing.assert_allclose(
            run(tmp_path / "f.onnx", x), want, rtol=1e-5, atol=1e-5 * np.abs(want).max()
        )


def test_a_transpose_in_a_layer_norm_moves_out_of_it(tmp_path):
    n = Net([1, 24, 10], 13)
    x = n.op("Transpose", n.op("Sub", "x", n.op("ReduceMean", "x", axes=[1])), perm=[0, 2, 1])
    mean = n.op("ReduceMean", n.op("Pow", x, 2.0), axes=[-1])
    x = n.op("Div", x, n.op("Sqrt", n.op("Add", mean, 1e-5)))
    x = n.op("Add", n.op("Mul", x, n.rng.uniform(0.5, 2, 24)), n.random(24))
    net, data = n.save(tmp_path / "net.onnx", n.op("MatMul", x, n.random(24, 6)))
    quantize(net, tmp_path / "f.onnx", "float", "fold")
    for r in ("none", "fold"):
        quantize(net, tmp_path / f"{r}.onnx", "a8w8", r)
    inner = len([k for k in kinds(tmp_path / "none.onnx") if k == "QuantizeLinear"])
    assert len([k for k in kinds(tmp_path / "fold.onnx") if k == "QuantizeLinear"]) <= inner - 3
    onnx.checker.check_model(onnx.load(tmp_path / "f.onnx"), full_check=True)
    for x in data:
        want = run(net, x)
        np.testing.assert_allclose(run(tmp_path / "f.onnx", x), want, rtol=1e-4, atol=1e-5)


def wide(path):
    """Layers whose channels differ by a factor of a hundred, as batch norms leave them."""
    n = Net([1, 8, 12, 12], 3)
    spread = lambda c: np.exp(n.rng.uniform(-2.3, 2.3, c))
    a, b, c = spread(16), spread(16), spread(16)
    x = n.op("Relu", n.op("Conv", "x", n.random(16, 8, 1, 1) * a[:, None, None, None], a * 0.1))
    x = n.op(
        "LeakyRelu",
        n.op(
            "Conv", x, n.random(16, 1, 3, 3) * (b / a)[:, None, None, None], group=16, pads=[1] * 4
        ),
        alpha=0.1,
    )
    x = n.op("Conv", x, n.random(16, 16, 1, 1) / b[:, None, None] * c[:, None, None, None], c * 0.1)
    x = n.op("Relu", x)
    y = n.op(
        "Mul",
        x,
        n.op(
            "HardSigmoid",
            n.op("Conv", n.op("GlobalAveragePool", x), n.random(16, 16, 1, 1) / c[:, None, None]),
        ),
    )
    return n.save(path, n.op("Conv", y, n.random(10, 16, 1, 1) / c[:, None, None]))


def test_equalization_computes_the_same_and_gives_channels_their_bits(tmp_path):
    net, data = wide(tmp_path / "net.onnx")
    assert "equalize: channels after 3 layers" in quantize(
        net, tmp_path / "f.onnx", "float", "cle"
    )
    quantize(net, tmp_path / "cle.onnx", "a8w8", "cle")
    quantize(net, tmp_path / "none.onnx", "a8w8", "none")
    quantize(net, tmp_path / "auto.onnx", "a8w8", "auto")
    gain = []
    for x in data:
        want = run(net, x)
        np.testing.assert_allclose(
            run(tmp_path / "f.onnx", x), want, rtol=1e-4, atol=1e-5 * np.abs(want).max()
        )
        before = sqnr(run(tmp_path / "none.onnx", x), want)
        gain.append([sqnr(run(tmp_path / f"{k}.onnx", x), want) - before for k in ("cle", "auto")])
    assert (np.mean(gain, axis=0) > [8, 8]).all(), gain


def test_smoothing_moves_outliers_of_a_norm_into_weights(tmp_path):
    n = Net([1, 10, 32], 5)
    gamma = np.where(np.arange(32) % 11 == 0, 40.0, 1.0)
    x = n.op("LayerNormalization", "x", gamma, n.random(32), axis=-1)
    q, k = (n.op("Add", n.op("MatMul", x, n.random(32, 16) / 4), n.random(16)) for _ in "qk")
    net, data = n.save(tmp_path / "net.onnx", n.op("Concat", q, k, axis=-1), 17)
    assert "and 1 norm," in quantize(net, tmp_path / "f.onnx", "float", "smooth")
    for r in ("none", "smooth"):
        quantize(net, tmp_path / f"{r}.onnx", "a8w8", r)
    for x in data:
        want = run(net, x)
        np.testing.assert_allclose(run(tmp_path / "f.onnx", x), want, rtol=1e-4, atol=1e-4)
    got = [
        np.mean([sqnr(run(tmp_path / f"{r}.onnx", x), run(net, x)) for x in data])
        for r in ("none", "smooth")
    ]
    assert got[1] > got[0] + 2, got


def test_high_biases_go_into_the_next_layer(tmp_path):
    n = Net([1, 4, 6, 6], 7)
    x = n.op("Relu", n.op("Conv", "x", n.random(8, 4, 1, 1), np.full(8, 30.0)))
    net, data = n.save(tmp_path / "net.onnx", n.op("Conv", x, n.random(5, 8, 1, 1)))
    assert "absorb: high biases of 1 layer\n" in quantize(
        net, tmp_path / "f.onnx", "float", "absorb"
    )
    for x in data:  # samples that were seen: nothing is below what was absorbed
        np.testing.assert_allclose(run(tmp_path / "f.onnx", x), run(net, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scheme", ["w8", "w4"])
def test_rounding_and_biases_by_the_data(tmp_path, scheme):
    """Inputs with a mean that go together; only weights are rounded: the error is theirs."""
    n = Net([1, 12, 10, 10], 9)
    x = n.op("Relu", n.op("Conv", "x", n.random(24, 12, 3, 3), n.random(24) + 0.5, pads=[1] * 4))
    x = n.op("Relu", n.op("Conv", x, n.random(24, 1, 3, 3) + 0.1, group=24))
    x = n.op("ConvTranspose", x, n.random(24, 6, 4, 4), n.random(6), strides=[2, 2], pads=[3] * 4)
    net, data = n.save(tmp_path / "net.onnx", n.op("Mul", x, 1.5))
    got, shift = {}, {}
    for r in ("none", "bias", "bias,adaround"):
        text = quantize(net, tmp_path / "q.onnx", scheme, r)
        assert ("adaround: 3 weights" in text) == ("adaround" in r) and ("bias: 3" in text) == (
            "bias" in r
        )
        pairs = [(run(tmp_path / "q.onnx", x), run(net, x)) for x in data]
        got[r] = np.mean([sqnr(a, b) for a, b in pairs])
        shift[r] = np.abs(np.mean([a - b for a, b in pairs], axis=(0, 1, 3, 4))).mean()
    assert shift["bias"] < 0.5 * shift["none"] and got["bias"] > got["none"]
    assert got["bias,adaround"] > got["bias"] + 1.5, got


def test_ranges_end_where_the_next_op_is_flat(tmp_path):
    n = Net([1, 4, 8, 8], 11)
    net, data = n.save(
        tmp_path / "net.onnx",
        n.op("HardSwish", n.op("Conv", "x", n.random(6, 4, 1, 1, size=20))),
        14,
    )
    scale = {}
    for r in ("none", "ranges"):
        quantize(net, tmp_path / f"{r}.onnx", "a8w8", r)
        q = onnx.load(tmp_path / f"{r}.onnx")
        constants = {t.name: numpy_helper.to_array(t) for t in q.graph.initializer}
        (scale[r],) = [
            (float(constants[k.input[1]]), int(constants[k.input[2]]))
            for k in q.graph.node
            if k.op_type == "QuantizeLinear" and k.input[0] == "v0"
        ]
    assert abs(scale["ranges"][0] * scale["ranges"][1] - 3) < scale["ranges"][0]
    assert scale["ranges"][0] < 0.7 * scale["none"][0]


def test_names_of_repairs(tmp_path):
    net, _ = folding(tmp_path / "net.onnx")
    refuses(
        USAGE,
        "quantize",
        net,
        "-o",
        tmp_path / "q.onnx",
        "-r",
        "--repair",
        "fold,cel",
        says=["--repair", "'cel'", "adaround"],
    )
    (report,) = ok_json(
        "quantize", net, "-o", tmp_path / "q.onnx", "-c", net.with_suffix(".npy"), "--json"
    )
    assert report["partitions"] == 1
