# SPDX-License-Identifier: MIT
"""ONNX's own backend tests as models for an NPU.

load() gives the cases of the installed onnx package that an executor of static graphs can be asked
for: tensors of the NPU's types with known, non-empty shapes, no loops, nothing random. What a
deployed model has as constants are initializers. quantized_form() wraps a float op in
QuantizeLinear and DequantizeLinear: activations of 8 or 16 unsigned bits, weights of 8 signed bits
per output channel, biases of 32 bits. Its wanted results are those of onnx's reference evaluator on
the values that the codes stand for.
"""
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests, load_node_model_tests
from onnx.reference import ReferenceEvaluator

NEWEST_OPSET = 26  # of the pinned onnxruntime
QDQ_OPSET = 21     # the first with 16-bit codes

TYPES = {getattr(TensorProto, name) for name in (
    "FLOAT FLOAT16 BOOL INT4 UINT4 INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64").split()}
DYNAMIC = set("Loop Scan Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform "
              "RandomUniformLike".split())
# Ops whose operands are all data: none is a parameter.
PEERS = set("Add Sub Mul Div Pow Mod Max Min Sum Mean And Or Xor Equal Less LessOrEqual Greater "
            "GreaterOrEqual Where Concat BitwiseAnd BitwiseOr BitwiseXor BitShift Einsum "
            "Attention".split())
# Ops that move values, so that the output keeps the codes of the input.
MOVES = set("Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Gather GatherElements "
            "GatherND Tile Expand DepthToSpace SpaceToDepth MaxPool GlobalMaxPool "
            "Identity".split())
WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


class NotApplicable(Exception):
    """The case has no such form."""


class Case:
    """A model with the values of its inputs and outputs, {name: array} in the model's order."""

    def __init__(self, model, inputs, outputs):
        constants = {t.name for t in model.graph.initializer}
        names = [i.name for i in model.graph.input if i.name not in constants]
        self.model = onnx.ModelProto.FromString(model.SerializeToString())
        self.inputs = dict(zip(names, map(as_array, inputs)))
        self.outputs = dict(zip((o.name for o in model.graph.output), map(as_array, outputs)))

    def freeze(self):
        """Makes parameters initializers, as a deployed model has them."""
        readers = {}
        for node in all_nodes(self.model.graph):
            for name in node.input:
                readers.setdefault(name, set()).add(node.op_type)
        graph = self.model.graph
        for name in list(self.inputs)[1:]:
            value = self.inputs[name]
            if isinstance(value, np.ndarray) and not readers.get(name, set()) <= PEERS:
                graph.initializer.append(numpy_helper.from_array(self.inputs.pop(name), name))
                graph.input.remove(next(i for i in graph.input if i.name == name))


def as_array(value):
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def stored_values(folder, kind, count):
    values = []
    for path in (folder / f"{kind}_{i}.pb" for i in range(count)):
        if path.exists():
            values.append(onnx.load_tensor(path))
    return values


def load():
    """All cases that fit, by name."""
    np.random.seed(0)  # some cases draw their numbers when they are loaded
    found = []
    for test in load_node_model_tests():
        found.append(("node/" + test.name, test.model, *test.data_sets[0]))
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for test in load_model_tests(kind=kind):
            folder = Path(test.model_dir)
            model = onnx.load(folder / "model.onnx")
            try:
                data = [stored_values(folder / "test_data_set_0", side, len(infos)) for side, infos
                        in (("input", model.graph.input), ("output", model.graph.output))]
            except Exception:  # not tensors
                continue
            found.append((f"{kind}/{test.name}", model, *data))
    cases = {}
    for name, *content in found:
        case = Case(*content)
        case.freeze()
        if fits(case):
            cases[name] = case
    return dict(sorted(cases.items()))


def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from all_nodes(inner)


def is_static(info):
    tensor = info.type.tensor_type
    return tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)


def fits(case):
    for node in all_nodes(case.model.graph):
        training = node.op_type == "Dropout" and len(node.input) > 2
        if node.domain not in ("", "ai.onnx") or node.op_type in DYNAMIC or training:
            return False
    values = {**case.inputs, **case.outputs}
    for info in [*case.model.graph.input, *case.model.graph.output]:
        value = values.get(info.name)
        if not info.type.HasField("tensor_type") or not is_static(info):
            return False
        if info.type.tensor_type.elem_type not in TYPES:
            return False
        if info.name in values and (not isinstance(value, np.ndarray) or value.size == 0):
            return False
    return shapes_follow(case.model)


def shapes_follow(model):
    """Can the shapes of the outputs be told from those of the inputs and from constants?"""
    bare = onnx.ModelProto.FromString(model.SerializeToString())
    bare.graph.ClearField("value_info")
    for info in bare.graph.output:
        info.type.tensor_type.ClearField("shape")
    try:
        bare = onnx.shape_inference.infer_shapes(bare, data_prop=True)
    except Exception:  # an op that the inference does not know: the declared shapes stand
        return True
    return all(is_static(info) for info in bare.graph.output)


def opset(model):
    return next(o for o in model.opset_import if o.domain in ("", "ai.onnx"))


def restamp(model):
    """Newer models are given to onnxruntime as ones of its newest opset, where they are valid."""
    if opset(model).version > NEWEST_OPSET:
        opset(model).version = NEWEST_OPSET
        model.ir_version = min(model.ir_version,
                               helper.find_min_ir_version_for(model.opset_import, True))
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception:
            raise NotApplicable("needs a newer opset") from None


def float_form(case):
    """(model, inputs, wanted outputs)"""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    restamp(model)
    return model, dict(case.inputs), list(case.outputs.values())


def newer(model):
    """The model in an opset with 16-bit codes; constants are initializers that nobody overrides."""
    if opset(model).version < QDQ_OPSET:
        try:
            model = onnx.version_converter.convert_version(model, QDQ_OPSET)
        except Exception:
            raise NotApplicable("cannot be converted to a newer opset") from None
        model.ir_version = max(model.ir_version,
                               helper.find_min_ir_version_for(model.opset_import, True))
    graph = model.graph
    for node in [n for n in graph.node if n.op_type == "Constant"]:
        if node.attribute[0].name == "value":
            node.attribute[0].t.name = node.output[0]
            graph.initializer.append(node.attribute[0].t)
            graph.node.remove(node)
    constants = {t.name for t in graph.initializer}
    for info in [i for i in graph.input if i.name in constants]:
        graph.input.remove(info)
    return model


class Codes:
    """real = scale * (code - zero), with a range that holds the values and 0."""

    def __init__(self, values, dtype, axis=None, scale=None):
        self.dtype, self.axis, top = np.dtype(dtype), axis, np.iinfo(dtype).max
        others = None if axis is None else tuple(i for i in range(values.ndim) if i != axis)
        low = np.minimum(values.min(axis=others), 0.0)
        high = np.maximum(values.max(axis=others), 0.0)
        signed = self.dtype.kind == "i"
        step = (np.maximum(-low, high) if signed else high - low) / top
        step = np.where(step > 0, step, 1.0 / top) if scale is None else scale
        self.scale = np.asarray(step, np.float32)
        zero = np.zeros_like(self.scale) if signed else np.clip(np.rint(-low / self.scale), 0, top)
        self.zero = np.asarray(zero, dtype)

    def along(self, numbers, rank):
        shape = [-1 if i == self.axis else 1 for i in range(rank)]
        return np.asarray(numbers, np.float64).reshape(shape if rank else ())

    def encode(self, values):
        values, info = np.asarray(values, np.float64), np.iinfo(self.dtype)
        codes = np.rint(values / self.along(self.scale, values.ndim))
        return np.clip(codes + self.along(self.zero, values.ndim), info.min, info.max)

    def round(self, values):
        """The values that the codes stand for."""
        rank = np.ndim(values)
        real = (self.encode(values) - self.along(self.zero, rank)) * self.along(self.scale, rank)
        return np.asarray(real, np.float32)


def channel_axis(node, weights):
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Conv":
        return 0
    if node.op_type == "ConvTranspose":
        return 1 if attributes.get("group", 1) == 1 else None
    if node.op_type == "Gemm":
        return 0 if attributes.get("transB", 0) else 1
    return 1 if weights.ndim == 2 else None


def is_float(value):
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def choose_codes(node, constants, feeds, dtype):
    """{operand: Codes}; constants may change their shape. One-element parameters stay float."""
    codes = {}
    weighted = node.op_type in WEIGHTED and len(node.input) > 1 and node.input[1] in constants
    for slot, name in enumerate(node.input):
        value = constants.get(name, feeds.get(name))
        if not is_float(value) or name in codes:
            continue
        if weighted and slot == 1:
            codes[name] = Codes(value, np.int8, channel_axis(node, value))
        elif weighted and slot == 2 and name in constants and \
                value.size in (1, codes[node.input[1]].scale.size):
            scale = codes[node.input[0]].scale * codes[node.input[1]].scale.reshape(-1)
            size = max(value.size, scale.size)
            constants[name] = value = np.broadcast_to(value.reshape(-1), size).copy()
            codes[name] = Codes(value, np.int32, 0, np.broadcast_to(scale, size))
        elif name in constants and slot and (
                node.op_type == "Resize" or value.size == 1 and node.op_type not in PEERS):
            continue
        else:
            codes[name] = Codes(value, dtype)
    return codes


def quantized_form(case, bits):
    """(model, inputs, wanted outputs, {output: Codes})"""
    model, feeds, results = float_form(case)
    model = newer(model)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    if len(model.graph.node) != 1 or any(a.HasField("g") for a in model.graph.node[0].attribute):
        raise NotApplicable("not a single op")
    node = model.graph.node[0]
    if "Linear" in node.op_type or not any(map(is_float, feeds.values())):
        raise NotApplicable("no float input")
    values = [v for v in [*feeds.values(), *constants.values(), *results] if is_float(v)]
    if not all(np.isfinite(v).all() for v in values):
        raise NotApplicable("not finite")
    codes = choose_codes(node, constants, feeds, f"uint{bits}")
    exact = {name: codes[name].round(v) if name in codes else v
             for name, v in {**constants, **feeds}.items()}
    outputs = {}
    for info, value in zip(model.graph.output, results):
        if is_float(value):
            kept = codes.get(node.input[0]) if node.op_type in MOVES else None
            outputs[info.name] = kept or Codes(value, f"uint{bits}")
    want = evaluate(model, exact, constants)
    rewrite(model, constants, codes, outputs)
    return model, {name: exact[name] for name in feeds}, want, outputs


def evaluate(model, exact, constants):
    oracle = onnx.ModelProto.FromString(model.SerializeToString())
    oracle.graph.ClearField("initializer")
    for name in constants:
        oracle.graph.initializer.append(numpy_helper.from_array(exact[name], name))
    try:
        want = ReferenceEvaluator(oracle).run(
            None, {name: v for name, v in exact.items() if name not in constants})
    except Exception:
        raise NotApplicable("no reference result") from None
    if not all(np.isfinite(v).all() for v in want if is_float(v)):
        raise NotApplicable("not finite")
    return want


def rewrite(model, constants, codes, outputs):
    """Puts the pairs of QuantizeLinear and DequantizeLinear around the op."""
    graph, before, after = model.graph, [], []
    node = onnx.NodeProto.FromString(graph.node[0].SerializeToString())
    tensors = {name: v for name, v in constants.items() if name not in codes}

    def link(op, name, c, source, target):
        tensors[name + ".scale"], tensors[name + ".zero"] = c.scale, c.zero
        axis = {} if c.axis is None else {"axis": c.axis}
        return helper.make_node(op, [source, name + ".scale", name + ".zero"], [target],
                                f"{op}.{target}", **axis)

    for name, c in codes.items():
        if name in constants:
            tensors[name + ".codes"] = c.encode(constants[name]).astype(c.dtype)
        else:
            before.append(link("QuantizeLinear", name, c, name, name + ".codes"))
        before.append(link("DequantizeLinear", name, c, name + ".codes", name + ".real"))
    node.input[:] = [name + ".real" if name in codes else name for name in node.input]
    node.output[:] = [name + ".real" if name in outputs else name for name in node.output]
    for name, c in outputs.items():
        after.append(link("QuantizeLinear", name, c, name + ".real", name + ".codes"))
        after.append(link("DequantizeLinear", name, c, name + ".codes", name))
    for field, content in (("node", before + [node] + after), ("initializer", [
            numpy_helper.from_array(np.asarray(v), name) for name, v in tensors.items()])):
        graph.ClearField(field)
        getattr(graph, field).extend(content)
