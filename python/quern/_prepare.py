# SPDX-License-Identifier: MIT
"""What a float model needs before ONNX Runtime's quantizer: rewriting that changes no result.

The quantizer quantizes every value between two nodes. Shape arithmetic does not survive that, nor
does a variance that is the small difference of two large numbers; and it fails on some correct
models. Each function here removes one such problem.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

_AXIS = 13  # the first opset whose QuantizeLinear has an axis
_NORM = 17  # the first with LayerNormalization


class _Graph:
    """A model with its nodes by result, constants by name, and shapes."""

    def __init__(self, model: Any):
        from onnx import numpy_helper, shape_inference
        inferred = shape_inference.infer_shapes(model)
        self.model, self.nodes = model, model.graph.node
        self.maker = {name: node for node in self.nodes for name in node.output if name}
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
                       for v in [*inferred.graph.value_info, *inferred.graph.input]
                       if v.type.tensor_type.HasField("shape")}

    def made_by(self, name: str, *ops: str) -> Any:
        """The node that makes a value, if it is one of these ops."""
        node = self.maker.get(name)
        return node if node is not None and node.op_type in ops else None

    def split(self, node: Any) -> tuple[str | None, np.ndarray | None]:
        """The value and the constant that a node of two inputs takes, in either order."""
        if len(node.input) == 2:
            for value, other in (node.input, node.input[::-1]):
                if other in self.constants and value not in self.constants:
                    return value, self.constants[other]
        return None, None

    def add_constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper
        while name in self.constants or name in self.maker:
            name += "_"
        self.constants[name] = value
        self.model.graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def replace(self, node: Any, by: list[Any]) -> None:
        at = list(self.nodes).index(node)
        self.nodes.remove(node)
        for new in reversed(by):
            self.nodes.insert(at, new)

    def drop_unused(self) -> None:
        """Removes nodes whose results are no longer read, and then constants."""
        kept = {o.name for o in self.model.graph.output}
        for node in reversed(list(self.nodes)):
            if any(name in kept for name in node.output):
                kept.update(_read_by(node))
            else:
                self.nodes.remove(node)
        for t in [t for t in self.model.graph.initializer if t.name not in kept]:
            self.model.graph.initializer.remove(t)


def _read_by(node: Any) -> set[str]:
    """Names that a node reads, its bodies included."""
    names = set(node.input)
    for body in (a.g for a in node.attribute if a.HasField("g")):
        names.update(o.name for o in body.output)
        for inner in body.node:
            names |= _read_by(inner)
    return names


# --- single rewritings


def own_biases(model: Any) -> None:
    """Gives each matmul its own bias, in one row.

    The quantizer copies a bias that several nodes read, under its name with a number appended,
    which may be the name of another value, and requires one number per channel.
    """
    g, seen = _Graph(model), set()
    for node in g.nodes:
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm") or len(node.input) < 3:
            continue
        name = node.input[2]
        if name not in g.constants:
            continue
        value = g.constants[name]
        row = value.reshape(-1) if value.shape[:-1] == (1,) * (value.ndim - 1) else value
        if name in seen or row.shape != value.shape:
            node.input[2] = g.add_constant(f"{name}_of_{node.output[0]}", row)
        seen.add(name)
    g.drop_unused()


def drop_infinite_limits(model: Any) -> None:
    """Removes maxima with -infinity and minima with infinity, which have no quantized value."""
    g = _Graph(model)
    outputs = {o.name for o in model.graph.output}
    for node in list(g.nodes):
        limit = {"Max": -np.inf, "Min": np.inf}.get(node.op_type)
        value, other = g.split(node) if limit is not None else (None, None)
        if value is None or other is None or not (other == limit).all():
            continue
        if node.output[0] in outputs or g.shapes.get(value) != g.shapes.get(node.output[0]):
            continue
        for reader in g.nodes:
            for i, name in enumerate(reader.input):
                if name == node.output[0]:
                    reader.input[i] = value
    g.drop_unused()


def _through_shapes(g: _Graph, name: str) -> tuple[str, list[list[int] | None]]:
    """The value behind nodes that only give it more dimensions or repeat it, and all shapes."""
    shapes = [g.shapes.get(name)]
    while (node := g.made_by(name, "Reshape", "Expand", "Unsqueeze", "Identity")) is not None:
        name = node.input[0]
        shapes.append(g.shapes.get(name))
    return name, shapes


def _stays_along(shapes: list[list[int] | None], shape: list[int], axis: int) -> bool:
    """Do numbers that were reduced over an axis meet those that they were made of?"""
    kept = [1 if i == axis else n for i, n in enumerate(shape)]
    flat = shape[:axis] + shape[axis + 1:]
    meets = [kept, flat] if axis == 0 else [kept]  # shapes that broadcast along the axis
    if shapes[0] != shape and shapes[0] not in meets:
        return False
    for after, before in zip(shapes, shapes[1:]):
        if before not in (shape, kept, flat) or after == shape and before not in (shape, *meets):
            return False
    return True


def _mean(g: _Graph, name: str) -> tuple[str, int] | None:
    """(value, axis) where the name is that value's mean over one axis."""
    node = g.made_by(name, "ReduceMean")
    if node is None:
        scaled = g.made_by(name, "Mul", "Div")
        total, by = g.split(scaled) if scaled is not None else (None, None)
        node = g.made_by(total, "ReduceSum") if total else None
    if node is None:
        return None
    axes = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
    if axes is None and len(node.input) > 1 and node.input[1] in g.constants:
        axes = [int(a) for a in g.constants[node.input[1]].reshape(-1)]
    shape = g.shapes.get(node.input[0])
    if shape is None or axes is None or len(axes) != 1:
        return None
    axis = axes[0] % len(shape)
    if node.op_type == "ReduceSum":
        n = 1 / shape[axis] if scaled.op_type == "Mul" else shape[axis]
        if by is None or by.size != 1 or scaled.input[0] != total and scaled.op_type == "Div" \
                or not np.isclose(by.reshape(-1)[0], n, rtol=1e-5):
            return None
    return node.input[0], axis


def _is_square(g: _Graph, name: str, of: str) -> bool:
    node = g.made_by(name, "Mul", "Pow")
    if node is None or node.input[0] != of:
        return False
    return node.input[1] == of if node.op_type == "Mul" else \
        bool((g.constants.get(node.input[1], np.zeros(1)) == 2).all())


def _variance(g: _Graph, name: str, mean: str) -> bool:
    """Is it the mean of squares less the square of the mean, perhaps not below 0?"""
    clipped = g.made_by(name, "Max", "Relu")
    if clipped is not None and clipped.op_type == "Max":
        value, zero = g.split(clipped)
        if value is None or zero is None or zero.any():
            return False
        name = value
    elif clipped is not None:
        name = clipped.input[0]
    difference, middle = g.made_by(name, "Sub"), _mean(g, mean)
    if difference is None or middle is None:
        return False
    squares = _mean(g, difference.input[0])
    return (squares is not None and squares[1] == middle[1]
            and _is_square(g, squares[0], middle[0]) and _is_square(g, difference.input[1], mean))


def _root(g: _Graph, name: str) -> tuple[str, float] | None:
    """(v, e) where the name is 1 / sqrt(v + e)."""
    node = g.made_by(name, "Reciprocal")
    root = g.made_by(node.input[0], "Sqrt") if node is not None else None
    add = g.made_by(root.input[0], "Add") if root is not None else None
    value, epsilon = g.split(add) if add is not None else (None, None)
    if value is None or epsilon is None or epsilon.size != 1:
        return None
    return value, float(epsilon.reshape(-1)[0])


def _norm(g: _Graph, last: Any) -> tuple[str, int, float, np.ndarray, np.ndarray] | None:
    """(value, axis, epsilon, scale, bias) where the node ends a normalization."""
    scaled, bias = g.split(last)
    product = g.made_by(scaled, "Mul") if scaled else None
    if product is None or bias is None:
        return None
    for a, b in (product.input, product.input[::-1]):
        centred, factor = g.made_by(a, "Sub"), g.made_by(b, "Mul")
        if centred is None or factor is None:
            continue
        mean, shapes = _through_shapes(g, centred.input[1])
        middle = _mean(g, mean)
        inverse, scale = g.split(factor)
        root = _root(g, inverse) if inverse else None
        if middle is None or root is None or scale is None or middle[0] != centred.input[0]:
            continue
        variance, more = _through_shapes(g, root[0])
        x, axis = middle
        if (_variance(g, variance, mean) and _stays_along(shapes, g.shapes[x], axis)
                and _stays_along(more, g.shapes[x], axis)):
            return x, axis, root[1], scale, bias
    return None


def _along(value: np.ndarray, rank: int, axis: int, n: int) -> bool:
    """Has the constant one number for each place along the axis?"""
    wide = (1,) * (rank - value.ndim) + value.shape
    return value.ndim <= rank and wide == tuple(n if i == axis else 1 for i in range(rank))


def fuse_fast_norms(model: Any) -> None:
    """Makes LayerNormalization of those whose variance is E[x*x] - E[x]*E[x], as Flax writes it."""
    from onnx import helper
    g = _Graph(model)
    for last in [n for n in g.nodes if n.op_type == "Add"]:
        found = _norm(g, last)
        if found is None:
            continue
        x, axis, epsilon, scale, bias = found
        rank, n = len(g.shapes[x]), g.shapes[x][axis]
        if not (_along(scale, rank, axis, n) and _along(bias, rank, axis, n)):
            continue
        y = last.output[0]
        rows = [g.add_constant(f"{y}_gamma", scale.reshape(-1)),
                g.add_constant(f"{y}_beta", bias.reshape(-1))]
        perm = [i for i in range(rank) if i != axis] + [axis]
        turned = axis != rank - 1
        inside = [f"{y}_in", f"{y}_out"] if turned else [x, y]
        nodes = [helper.make_node("LayerNormalization", [inside[0], *rows], [inside[1]],
                                  f"{y}_norm", axis=-1, epsilon=epsilon)]
        if turned:
            nodes.insert(0, helper.make_node("Transpose", [x], inside[:1], f"{y}_turn", perm=perm))
            nodes.append(helper.make_node("Transpose", inside[1:], [y], f"{y}_return",
                                          perm=[perm.index(i) for i in range(rank)]))
        g.replace(last, nodes)
    g.drop_unused()


# --- all of them


def _fold(source: str, target: str) -> None:
    """ONNX Runtime's optimizations that do not depend on the machine: constants become numbers."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = target
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _opset(model: Any) -> int:
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)


def _raise_opset(model: Any, to: int) -> Any:
    from onnx import version_converter
    if _opset(model) >= to:
        return model
    try:
        return version_converter.convert_version(model, to)
    except Exception:  # it has no way for some ops; the quantizer will say what it lacks
        return model


def prepare(source: str | os.PathLike[str], target: Path) -> Path:
    """Writes the model as the quantizer wants it, and returns where it is.

    Models with weights in other files stay as they are: they may be too large for one.
    """
    import onnx
    if any(t.external_data for t in onnx.load(source, load_external_data=False).graph.initializer):
        return Path(source)
    folded = target.with_suffix(".folded.onnx")
    _fold(os.fspath(source), os.fspath(folded))
    model = onnx.load(folded)
    model = _raise_opset(model, _AXIS)
    norms = _raise_opset(model, _NORM)
    if _opset(norms) >= _NORM:
        fuse_fast_norms(norms)
        if any(n.op_type == "LayerNormalization" for n in norms.graph.node):
            model = norms
    drop_infinite_limits(model)
    own_biases(model)
    onnx.save(model, target)
    return target
