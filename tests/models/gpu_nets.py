# SPDX-License-Identifier: MIT
"""The nine networks that the GPU backend must run whole, built node by node with random weights.

Architectures and node patterns are those of the public files (opset, separate batch normalization,
Clip with attributes, decomposed layer normalization, erf and tanh forms of GELU); weights are
random (He's scale), so nothing is downloaded. `small` shrinks each: fewer layers, smaller images.
Needs numpy and onnx alone.
"""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

F32, F16, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


class Net:
    """Grows a graph: op() adds a node and returns the name of its result; arrays are constants."""

    def __init__(self, seed, opset, dtype=np.float32):
        self.rng, self.opset, self.dtype = np.random.default_rng(seed), opset, np.dtype(dtype)
        self.nodes, self.init, self.inputs = [], [], []

    def const(self, array):
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        name = f"c{len(self.init)}"
        self.init.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def op(self, kind, *inputs, out=None, **attributes):
        out = out or f"{kind.lower()}_{len(self.nodes)}"
        names = [i if isinstance(i, str) else self.const(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, names, [out], name=f"n{len(self.nodes)}",
                                           **attributes))
        return out

    def input(self, name, shape, dtype=None):
        dtype = dtype or helper.np_dtype_to_tensor_dtype(self.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def random(self, *shape, scale=1.0, mean=0.0):
        return (mean + scale * self.rng.standard_normal(shape, np.float32)).astype(np.float32)

    def weight(self, *shape, fan=None):
        return self.random(*shape, scale=(2 / (fan or np.prod(shape[1:]))) ** 0.5)

    def model(self, outputs, name):
        """outputs: {name: shape}"""
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        infos = [helper.make_tensor_value_info(k, kind, s) for k, s in outputs.items()]
        graph = helper.make_graph(self.nodes, name, self.inputs, infos, self.init)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=8)
        checker.check_model(model)
        return model

    # --- layers of image networks

    def conv(self, x, cin, cout, kernel, stride=1, group=1, bias=True, gain=1.0):
        pad, w = kernel // 2, self.weight(cout, cin // group, kernel, kernel)
        more = [self.random(cout, scale=0.1)] if bias else []
        return self.op("Conv", x, gain * w, *more, kernel_shape=[kernel] * 2,
                       strides=[stride] * 2, pads=[pad] * 4, group=group)

    def norm(self, x, c, **more):
        return self.op("BatchNormalization", x, self.random(c, scale=0.1, mean=1),
                       self.random(c, scale=0.1), self.random(c, scale=0.1),
                       np.abs(self.random(c, scale=0.1, mean=1)), epsilon=1e-5, **more)

    def conv_bn(self, x, cin, cout, kernel, stride=1, group=1, relu=True, gain=1.0):
        y = self.norm(self.conv(x, cin, cout, kernel, stride, group, False, gain), cout)
        return self.op("Relu", y) if relu else y

    def dense(self, x, n_in, n_out, gain=0.7, out=None):
        w = gain * self.weight(n_in, n_out, fan=n_in)
        return self.op("Add", self.op("MatMul", x, w), self.random(n_out, scale=0.02), out=out)


# --- image networks

def resnet50(small=False, dtype=np.float32):
    size, width, depths = (64, 16, (1, 2, 1, 1)) if small else (224, 64, (3, 4, 6, 3))
    n, cin = Net(1, 12, dtype), width
    x = n.conv_bn(n.input("data", [1, 3, size, size]), 3, width, 7, 2)
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, depth in enumerate(depths):
        mid, cout = width << stage, 4 * width << stage
        for i in range(depth):
            stride = 2 if i == 0 and stage else 1
            y = n.conv_bn(n.conv_bn(x, cin, mid, 1), mid, mid, 3, stride)
            y = n.conv_bn(y, mid, cout, 1, relu=False, gain=0.5)
            skip = n.conv_bn(x, cin, cout, 1, stride, relu=False) if i == 0 else x
            x, cin = n.op("Relu", n.op("Add", y, skip)), cout
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    n.op("Gemm", x, 0.1 * n.weight(1000, cin), n.random(1000, scale=0.1), transB=1, out="y")
    return n.model({"y": [1, 1000]}, "resnet50")


def resnet50_fp16(small=False):
    return resnet50(small, np.float16)


def mobilenet_v2(small=False):
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1)]
    size, rows, last = (64, rows[:3], 96) if small else (224, rows, 1280)
    n, cin = Net(2, 10), 32
    relu6 = lambda x: n.op("Clip", x, min=0.0, max=6.0)
    x = relu6(n.conv_bn(n.input("data", [1, 3, size, size]), 3, 32, 3, 2, relu=False))
    for expand, cout, repeat, stride in rows:
        for i in range(repeat):
            mid, y = expand * cin, x
            if expand > 1:
                y = relu6(n.conv_bn(y, cin, mid, 1, relu=False))
            y = relu6(n.conv_bn(y, mid, mid, 3, stride if i == 0 else 1, mid, relu=False))
            y = n.conv_bn(y, mid, cout, 1, relu=False)
            x, cin = n.op("Add", x, y) if i and cin == cout else y, cout
    x = n.op("GlobalAveragePool", relu6(n.conv_bn(x, cin, last, 1, relu=False)))
    x = n.op("Reshape", x, np.array([1, last]))
    n.op("Gemm", x, 0.1 * n.weight(1000, last), n.random(1000, scale=0.1), transB=1, out="y")
    return n.model({"y": [1, 1000]}, "mobilenet_v2")


def squeezenet(small=False):
    size, part = (63, 2) if small else (224, 1)
    n = Net(3, 8)
    pool = lambda x: n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    conv = lambda x, cin, cout, k: n.op("Relu", n.conv(x, cin, cout, k))
    x = n.op("Relu", n.op("Conv", n.input("data", [1, 3, size, size]),
                          n.weight(96 // part, 3, 7, 7), n.random(96 // part, scale=0.1),
                          kernel_shape=[7, 7], strides=[2, 2]))
    x, cin = pool(x), 96 // part
    for i, s in enumerate([16, 16, 32, 32, 48, 48, 64, 64]):
        s //= part
        y = conv(x, cin, s, 1)
        x, cin = n.op("Concat", conv(y, s, 4 * s, 1), conv(y, s, 4 * s, 3), axis=1), 8 * s
        x = pool(x) if i in (2, 6) else x
    x = n.op("GlobalAveragePool", conv(n.op("Dropout", x), cin, 1000, 1))
    n.op("Softmax", n.op("Reshape", x, np.array([1, 1000])), axis=1, out="y")
    return n.model({"y": [1, 1000]}, "squeezenet1_0")


def ferplus(small=False):
    """A VGG of 13 layers for emotions, as its exporter writes it: padding by auto_pad, grey."""
    size, part = (32, 4) if small else (64, 1)
    n, cin = Net(4, 8), 1
    x = n.op("Sub", n.input("Input3", [1, 1, size, size]), np.float32(127.5))
    x = n.op("Mul", x, np.float32(1 / 127.5))
    for c, repeat in ((64, 2), (128, 2), (256, 3), (256, 3)):
        c //= part
        for _ in range(repeat):
            x = n.op("Conv", x, n.weight(c, cin, 3, 3), auto_pad="SAME_UPPER",
                     kernel_shape=[3, 3])
            x, cin = n.op("Relu", n.op("Add", x, n.random(c, 1, 1, scale=0.1))), c
        x = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID")
        x = n.op("Dropout", x, ratio=0.25)
    n_in = cin * (size // 16) ** 2
    x = n.op("Reshape", x, np.array([1, n_in]))
    for n_out in (1024 // part, 1024 // part):
        x, n_in = n.op("Dropout", n.op("Relu", n.dense(x, n_in, n_out, 1.0))), n_out
    n.dense(x, n_in, 8, out="y")
    return n.model({"y": [1, 8]}, "emotion_ferplus")


def arcface(small=False):
    """The residual network of 100 layers behind ArcFace: BN first, PRelu, no final Relu."""
    size, part, depths = (32, 4, (1, 2, 1, 1)) if small else (112, 1, (3, 13, 30, 3))
    n, cin = Net(5, 8), 64 // part
    x = n.op("Sub", n.input("data", [1, 3, size, size]), np.float32(127.5))
    x = n.op("Mul", x, np.float32(0.0078125))
    prelu = lambda x, c: n.op("PRelu", x, np.abs(n.random(c, 1, 1, scale=0.1, mean=0.25)))
    x = prelu(n.conv_bn(x, 3, cin, 3, relu=False), cin)
    for stage, depth in enumerate(depths):
        cout = (64 << stage) // part
        for i in range(depth):
            stride = 2 if i == 0 else 1
            y = n.conv_bn(n.norm(x, cin), cin, cout, 3, relu=False)
            y = n.conv_bn(prelu(y, cout), cout, cout, 3, stride, relu=False, gain=0.3)
            skip = n.conv_bn(x, cin, cout, 1, stride, relu=False) if i == 0 else x
            x, cin = n.op("Add", y, skip), cout
    side = -(-size // 16)
    x = n.op("Flatten", n.op("Dropout", n.norm(x, cin)))
    x = n.op("Gemm", x, n.weight(512, cin * side * side), n.random(512, scale=0.1), transB=1)
    n.norm(x, 512, out="y")
    return n.model({"y": [1, 512]}, "arcface_resnet100")


# --- transformers

class Former(Net):
    """Layers of a transformer; `plain`: normalization and GELU in the ops of older files."""

    def __init__(self, seed, opset, width, heads, tokens, plain):
        super().__init__(seed, opset)
        self.width, self.heads, self.tokens, self.plain = width, heads, tokens, plain

    def layer_norm(self, x, eps=1e-6, out=None):
        scale, bias = self.random(self.width, scale=0.1, mean=1), self.random(self.width, scale=.1)
        if not self.plain:
            return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=eps, out=out)
        mean = self.op("ReduceMean", x, axes=[-1])
        d = self.op("Sub", x, mean)
        square = self.op("Pow", d, np.float32(2)) if self.plain == "torch" else self.op("Mul", d, d)
        v = self.op("Add", self.op("ReduceMean", square, axes=[-1]), np.float32(eps))
        if self.plain == "torch":
            y = self.op("Mul", self.op("Div", d, self.op("Sqrt", v)), scale)
            return self.op("Add", y, bias, out=out)
        s = self.op("Mul", self.op("Reciprocal", self.op("Sqrt", v)), scale)
        return self.op("Add", self.op("Mul", x, s), self.op("Sub", bias, self.op("Mul", mean, s)),
                       out=out)

    def gelu(self, x):
        if self.plain == "tf":  # by tanh
            cube = self.op("Mul", self.op("Pow", x, np.float32(3)), np.float32(0.044715))
            inner = self.op("Mul", self.op("Add", x, cube), np.float32(0.7978845608))
            half = self.op("Mul", self.op("Add", self.op("Tanh", inner), np.float32(1)),
                           np.float32(0.5))
            return self.op("Mul", x, half)
        e = self.op("Erf", self.op("Div", x, np.float32(2 ** 0.5)))
        y = self.op("Mul", x, self.op("Add", e, np.float32(1)))
        return self.op("Mul", y, np.float32(0.5))

    def split_heads(self, x, perm):
        shape = np.array([1, self.tokens, self.heads, self.width // self.heads])
        return self.op("Transpose", self.op("Reshape", x, shape), perm=perm)

    def attention(self, x, mask=None):
        q = self.split_heads(self.dense(x, self.width, self.width), [0, 2, 1, 3])
        k = self.split_heads(self.dense(x, self.width, self.width), [0, 2, 3, 1])
        v = self.split_heads(self.dense(x, self.width, self.width), [0, 2, 1, 3])
        s = self.op("Div", self.op("MatMul", q, k), np.float32((self.width // self.heads) ** 0.5))
        s = self.op("Softmax", self.op("Add", s, mask) if mask else s, axis=3)
        y = self.op("Transpose", self.op("MatMul", s, v), perm=[0, 2, 1, 3])
        shape = [self.tokens, self.width] if self.plain == "tf" else [1, self.tokens, self.width]
        return self.dense(self.op("Reshape", y, np.array(shape)), self.width, self.width, 0.5)

    def mlp(self, x):
        h = self.gelu(self.dense(x, self.width, 4 * self.width))
        return self.dense(h, 4 * self.width, self.width, 0.5)


def vit_b_16(small=False):
    size, patch, width, heads, layers = (32, 8, 64, 4, 2) if small else (224, 16, 768, 12, 12)
    side = size // patch
    n = Former(6, 17, width, heads, side * side + 1, None)
    x = n.op("Conv", n.input("pixel_values", [1, 3, size, size]), n.weight(width, 3, patch, patch),
             n.random(width, scale=0.1), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = n.op("Transpose", n.op("Reshape", x, np.array([1, width, side * side])), perm=[0, 2, 1])
    x = n.op("Concat", n.random(1, 1, width), x, axis=1)
    x = n.op("Add", x, n.random(1, n.tokens, width, scale=0.1))
    for _ in range(layers):
        x = n.op("Add", x, n.attention(n.layer_norm(x)))
        x = n.op("Add", x, n.mlp(n.layer_norm(x)))
    x = n.op("Gather", n.layer_norm(x), np.array(0), axis=1)
    n.op("Gemm", x, n.weight(1000, width), n.random(1000, scale=0.1), transB=1, out="logits")
    return n.model({"logits": [1, 1000]}, "vit_b_16")


def embed(n, words, small):
    vocabulary, ids = (500 if small else 30522), [1, n.tokens]
    x = n.op("Gather", n.random(vocabulary, n.width, scale=0.5), n.input(words[0], ids, I64))
    t = n.op("Gather", n.random(2, n.width, scale=0.5), n.input(words[2], ids, I64))
    x = n.op("Add", n.op("Add", x, t), n.random(1, n.tokens, n.width, scale=0.5))
    m = n.op("Cast", n.input(words[1], ids, I64), to=F32)
    m = n.op("Reshape", m, np.array([1, 1, 1, n.tokens]))
    m = n.op("Mul", n.op("Sub", np.float32(1), m), np.float32(-10000))
    return n.layer_norm(x, 1e-12), m


def bert(seed, opset, plain, words, small, tokens):
    width, heads, layers = (64, 4, 2) if small else (768, 12, 12)
    n = Former(seed, opset, width, heads, tokens, plain)
    x, mask = embed(n, words, small)
    if plain == "tf":  # rows of tokens without a batch
        x = n.op("Reshape", x, np.array([tokens, width]))
    for _ in range(layers):
        x = n.layer_norm(n.op("Add", n.attention(x, mask), x), 1e-12)
        x = n.layer_norm(n.op("Add", n.mlp(x), x), 1e-12)
    return n, x


def bert_torch(small=False):
    """As PyTorch exports it: last hidden state and pooled first token."""
    tokens = 16 if small else 128
    n, x = bert(7, 12, "torch", ("input_ids", "attention_mask", "token_type_ids"), small, tokens)
    n.op("Identity", x, out="last_hidden_state")
    first = n.op("Gather", x, np.array(0), axis=1)
    n.op("Tanh", n.dense(first, n.width, n.width), out="pooler_output")
    return n.model({"last_hidden_state": [1, tokens, n.width], "pooler_output": [1, n.width]},
                   "bert_torch")


def bert_tf(small=False):
    """As TensorFlow's converter writes it, with the two scores of SQuAD."""
    tokens = 24 if small else 256
    n, x = bert(8, 10, "tf", ("input_ids_0", "input_mask_0", "segment_ids_0"), small, tokens)
    y = n.op("Transpose", n.dense(x, n.width, 2), perm=[1, 0])
    for i, name in enumerate(("unstack_0", "unstack_1")):
        row = n.op("Slice", y, np.array([i]), np.array([i + 1]), np.array([0]))
        n.op("Reshape", row, np.array([1, tokens]), out=name)
    return n.model({"unstack_0": [1, tokens], "unstack_1": [1, tokens]}, "bert_tf")


NETS = {"resnet50": resnet50, "resnet50_fp16": resnet50_fp16, "vit_b_16": vit_b_16,
        "squeezenet1_0": squeezenet, "mobilenet_v2": mobilenet_v2, "emotion_ferplus": ferplus,
        "arcface_resnet100": arcface, "bert_torch": bert_torch, "bert_tf": bert_tf}
BUDGETS = {"resnet50": 58, "resnet50_fp16": 58, "mobilenet_v2": 56, "vit_b_16": 90,
           "bert_torch": 90, "bert_tf": 90, "squeezenet1_0": 32}  # launches of the whole network


def feed(model, seed=0):
    """Inputs of the range that a network expects: pixels, tokens, masks with a padded end."""
    rng, arrays = np.random.default_rng(seed), {}
    for i in model.graph.input:
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        if i.type.tensor_type.elem_type != I64:
            kind = np.float16 if i.type.tensor_type.elem_type == F16 else np.float32
            pixels = model.graph.name in ("emotion_ferplus", "arcface_resnet100")
            a = rng.uniform(0, 255, shape) if pixels else rng.standard_normal(shape)
            arrays[i.name] = a.astype(kind)
        elif "mask" in i.name:
            arrays[i.name] = (np.arange(shape[1]) < shape[1] * 3 // 4).astype(np.int64)[None]
        else:
            arrays[i.name] = rng.integers(0, 2 if "type" in i.name or "segment" in i.name else 500,
                                          shape)
    return arrays
