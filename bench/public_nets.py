# SPDX-License-Identifier: MIT
"""Networks whose public packages hold weights in another form than ONNX: from those bytes the same
network as ONNX. None of a package's code is run; needs numpy and onnx.
"""
import io
import json
import pickle
import struct

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper


class Net:
    """Grows a graph: op() adds a node and names its output; arrays become constants."""

    def __init__(self):
        self.nodes, self.init = [], []

    def const(self, array):
        name = f"c{len(self.init)}"
        self.init.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind, *inputs, **attributes):
        out = f"{kind.lower()}_{len(self.nodes)}"
        names = [i if isinstance(i, str) else self.const(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, names, [out], name=out, **attributes))
        return out

    def model(self, inputs, top, output, shape, opset):
        """inputs: (name, type, shape)"""
        self.nodes.append(helper.make_node("Identity", [top], [output], name=output))
        y = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "net",
                                  [helper.make_tensor_value_info(*i) for i in inputs], [y],
                                  self.init)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        checker.check_model(model)
        return model


# --- all-MiniLM-L6-v2 from safetensors: 6 layers, 384 wide, 12 heads, mean pooling and unit norm

N_TOKENS, WIDTH, N_HEADS, N_LAYERS = 64, 384, 12, 6


def safetensors(blob):
    size, = struct.unpack("<Q", blob[:8])
    table = json.loads(blob[8:8 + size])
    return {k: np.frombuffer(blob, np.float32, int(np.prod(v["shape"])),
                             8 + size + v["data_offsets"][0]).reshape(v["shape"])
            for k, v in table.items() if k != "__metadata__" and v["dtype"] == "F32"}


def minilm(blob, _):
    w, n, head = safetensors(blob), Net(), WIDTH // N_HEADS
    one, half = np.float32(1), np.float32(0.5)

    def norm(x, name):
        return n.op("LayerNormalization", x, w[name + ".weight"], w[name + ".bias"], axis=-1,
                    epsilon=1e-12)

    def dense(x, name):
        return n.op("Add", n.op("MatMul", x, w[name + ".weight"].T), w[name + ".bias"])

    def heads(x, perm):
        return n.op("Transpose", n.op("Reshape", x, np.array([1, N_TOKENS, N_HEADS, head])),
                    perm=perm)

    def attention(x, bias, p):
        q = heads(dense(x, p + "self.query"), [0, 2, 1, 3])
        k = heads(dense(x, p + "self.key"), [0, 2, 3, 1])
        v = heads(dense(x, p + "self.value"), [0, 2, 1, 3])
        scores = n.op("Div", n.op("MatMul", q, k), np.float32(head ** 0.5))
        y = n.op("MatMul", n.op("Softmax", n.op("Add", scores, bias), axis=-1), v)
        y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), np.array([1, N_TOKENS, WIDTH]))
        return norm(n.op("Add", dense(y, p + "output.dense"), x), p + "output.LayerNorm")

    def feed_forward(x, p):
        h = dense(x, p + "intermediate.dense")
        erf = n.op("Erf", n.op("Div", h, np.float32(2 ** 0.5)))
        gelu = n.op("Mul", n.op("Mul", h, n.op("Add", erf, one)), half)
        return norm(n.op("Add", dense(gelu, p + "output.dense"), x), p + "output.LayerNorm")

    mask = n.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    bias = n.op("Mul", n.op("Sub", one, n.op("Unsqueeze", mask, np.array([1, 2]))),
                np.float32(-100))
    place = (w["embeddings.position_embeddings.weight"][:N_TOKENS]
             + w["embeddings.token_type_embeddings.weight"][0])
    x = n.op("Gather", w["embeddings.word_embeddings.weight"], "input_ids")
    x = norm(n.op("Add", x, place[None]), "embeddings.LayerNorm")
    for i in range(N_LAYERS):
        x = attention(x, bias, f"encoder.layer.{i}.attention.")
        x = feed_forward(x, f"encoder.layer.{i}.")
    m = n.op("Unsqueeze", mask, np.array([2]))
    total = n.op("ReduceSum", n.op("Mul", x, m), np.array([1]), keepdims=0)
    mean = n.op("Div", total, n.op("ReduceSum", m, np.array([1]), keepdims=0))
    y = n.op("Div", mean, n.op("ReduceL2", mean, axes=[-1], keepdims=1))
    shape = [1, N_TOKENS]
    return n.model([("input_ids", TensorProto.INT64, shape),
                    ("attention_mask", TensorProto.INT64, shape)], y, "embedding", [1, WIDTH], 17)


# --- EfficientNet-Lite0 from a PyTorch checkpoint of the old form

STORAGES = {"FloatStorage": np.float32, "LongStorage": np.int64}


def old_checkpoint(blob):
    """Arrays of a state dictionary, read without PyTorch and without running what it names."""
    f, tensors = io.BytesIO(blob), []

    def rebuild(storage, offset, shape, stride, *_):
        tensors.append((*storage, offset, shape, stride))
        return len(tensors) - 1

    class Reader(pickle.Unpickler):
        def persistent_load(self, pid):
            return pid[1], pid[2]

        def find_class(self, module, name):
            known = {**STORAGES, "OrderedDict": type("State", (dict,), {}),
                     "_rebuild_tensor_v2": rebuild}
            if name not in known:
                raise ValueError(f"the checkpoint names {module}.{name}")
            return known[name]

    for _ in range(3):  # magic, protocol, system
        Reader(f).load()
    state, keys, places = Reader(f).load(), Reader(f).load(), {}
    kinds = {key: np.dtype(kind) for kind, key, *_ in tensors}
    for key in keys:
        count, = struct.unpack("<q", f.read(8))
        places[key] = f.tell()
        f.seek(count * kinds[key].itemsize, 1)

    def array(i):
        _, key, offset, shape, stride = tensors[i]
        size = kinds[key].itemsize
        return np.ndarray(shape, kinds[key], blob, places[key] + offset * size,
                          [s * size for s in stride]).copy()
    return {name: array(i) for name, i in state.items()}


# (repeats, kernel, stride, expansion, channels)
BLOCKS = ((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
          (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320))


def efficientnet_lite0(blob, _):
    w, n, side = old_checkpoint(blob), Net(), 224

    def conv(x, name, bn, k, stride, group=1, limit=True):
        nonlocal side
        gain = w[bn + ".weight"] / np.sqrt(w[bn + ".running_var"] + 1e-3)
        after = -(-side // stride)
        pad = max((after - 1) * stride + k - side, 0)
        side = after
        y = n.op("Conv", x,
                 (w[name + ".weight"] * gain[:, None, None, None]).astype(np.float32),
                 (w[bn + ".bias"] - w[bn + ".running_mean"] * gain).astype(np.float32),
                 kernel_shape=[k, k], strides=[stride, stride], group=group,
                 pads=[pad // 2] * 2 + [pad - pad // 2] * 2)
        return n.op("Clip", y, np.float32(0), np.float32(6)) if limit else y

    x, number, channels = conv("image", "_conv_stem", "_bn0", 3, 2), 0, 32
    for repeats, k, stride, expansion, out in BLOCKS:
        for i in range(repeats):
            p, y, step = f"_blocks.{number}.", x, stride if i == 0 else 1
            if expansion > 1:
                y = conv(y, p + "_expand_conv", p + "_bn0", 1, 1)
            y = conv(y, p + "_depthwise_conv", p + "_bn1", k, step, group=channels * expansion)
            y = conv(y, p + "_project_conv", p + "_bn2", 1, 1, limit=False)
            x = n.op("Add", y, x) if step == 1 and channels == out else y
            channels, number = out, number + 1
    x = n.op("GlobalAveragePool", conv(x, "_conv_head", "_bn1", 1, 1))
    x = n.op("Gemm", n.op("Flatten", x, axis=1), w["_fc.weight"], w["_fc.bias"], transB=1)
    return n.model([("image", TensorProto.FLOAT, [1, 3, 224, 224])], x, "logits", [1, 1000], 13)


# --- waifu2x from ncnn: a chain of Convolution and Deconvolution

HALVES = 0x01306B47  # tag of weights in fp16


def waifu2x(blob, description):
    n, x, at, side = Net(), "image", 0, 142
    start = side
    for line in description.decode().split("\n")[3:]:
        words = line.split()
        if not words:
            continue
        a = dict(word.split("=") for word in words[6:])
        out, k, count = int(a["0"]), int(a["1"]), int(a["6"])
        stride, pad = int(a.get("3", 1)), int(a.get("4", 0))
        tag, = struct.unpack("<I", blob[at:at + 4])
        kind = np.dtype(np.float16 if tag == HALVES else np.float32)
        w = np.frombuffer(blob, kind, count, at + 4).astype(np.float32).reshape(out, -1, k, k)
        at += 4 + (count * kind.itemsize + 3) // 4 * 4
        bias = np.frombuffer(blob, np.float32, out, at)
        at += 4 * out
        shape = {"kernel_shape": [k, k], "strides": [stride, stride], "pads": [pad] * 4}
        if words[0] == "Convolution":
            x, side = n.op("Conv", x, w, bias, **shape), (side + 2 * pad - k) // stride + 1
        else:
            x = n.op("ConvTranspose", x, w.transpose(1, 0, 2, 3), bias, **shape)
            side = (side - 1) * stride + k - 2 * pad
        if a.get("9") == "2":
            x = n.op("LeakyRelu", x, alpha=float(a["-23310"].split(",")[1]))
    assert at == len(blob), "weights are left over"
    return n.model([("image", TensorProto.FLOAT, [1, 3, start, start])], x, "upscaled",
                   [1, 3, side, side], 13)
