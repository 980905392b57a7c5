# SPDX-License-Identifier: MIT
"""Small models for the tests with onnxruntime, and what the tests of all backends share."""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (1, 3, 20, 17)


def weights(rng, name, *shape):
    scale = 1.0 / np.sqrt(max(1, np.prod(shape[1:])))
    return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)


def conv_net(seed, softmax=True):
    """Convolutions (plain, depthwise, 1x1), pooling, a residual, a dense layer and Softmax."""
    rng = np.random.default_rng(seed)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c0"], ["r0"]),
        node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p0", "w1", "b1"], ["c1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=8),
        node("Clip", ["c1", "lo", "hi"], ["r1"]),
        node("Conv", ["r1", "w2", "b2"], ["c2"], kernel_shape=[1, 1]),
        node("Add", ["c2", "p0"], ["a0"]),
        node("Sigmoid", ["a0"], ["s0"]),
        node("Mul", ["a0", "s0"], ["m0"]),
        node("GlobalAveragePool", ["m0"], ["g0"]),
        node("Flatten", ["g0"], ["f0"]),
        node("Gemm", ["f0", "w3", "b3"], ["l0" if softmax else "y"], transB=1),
    ]
    if softmax:
        nodes.append(node("Softmax", ["l0"], ["y"], axis=1))
    init = [weights(rng, "w0", 8, 3, 3, 3), weights(rng, "b0", 8), weights(rng, "w1", 8, 1, 3, 3),
            weights(rng, "b1", 8), weights(rng, "w2", 8, 8, 1, 1), weights(rng, "b2", 8),
            weights(rng, "w3", 10, 8), weights(rng, "b3", 10),
            numpy_helper.from_array(np.float32(0), "lo"),
            numpy_helper.from_array(np.float32(6), "hi")]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], init)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def in_halves(model):
    """A float model with everything in fp16."""
    model = onnx.load_from_string(model)
    for t in model.graph.initializer:
        t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16), t.name))
    for port in [*model.graph.input, *model.graph.output]:
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.checker.check_model(model)
    return model.SerializeToString()


def float_net(layers, seed, output="y", size=None):
    """A chain of ("Conv", channels out, channels in), 3 x 3, and ops without parameters."""
    rng, nodes, init, top = np.random.default_rng(seed), [], [], "x"
    channels = SHAPE[1]
    for i, (op, *conv) in enumerate(layers):
        out = output if i + 1 == len(layers) else f"t{i}"
        inputs, more = [top], {}
        if conv:
            init.append(weights(rng, f"w{i}", *conv, 3, 3))
            inputs, more = [top, f"w{i}"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
            channels = conv[0]
        nodes.append(helper.make_node(op, inputs, [out], **more))
        top = out
    space = [size, size] if size else list(SHAPE[2:])
    graph = helper.make_graph(
        nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SHAPE[1], *space])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, channels, *space])], init)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def images(seed, n):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(n)]


def assignment(session):
    """{provider: op types it runs}"""
    found = {}
    for part in session.get_provider_graph_assignment_info():
        found.setdefault(part.ep_name, []).extend(node.op_type for node in part.get_nodes())
    return found


def loaded_qnn_libraries():
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {p for p in paths if Path(p).name.startswith("libQnn")}


def sqnr(got, want):
    """Signal to noise in dB."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    noise = np.square(got - want).sum()
    return np.inf if noise == 0 else 10 * np.log10(np.square(want).sum() / noise)
