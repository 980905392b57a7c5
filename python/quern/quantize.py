# SPDX-License-Identifier: MIT
"""Quantize float ONNX models for the NPU, with `quern quantize` or ONNX Runtime's own tools.

    from quern.quantize import quantize
    quantize("model.onnx", "model_a8w8.onnx", [{"x": image} for image in images])

The result has QuantizeLinear and DequantizeLinear around every op, as QNN providers require.
`preprocess` and `config` are the two steps of `quantize`; call them yourself to inspect or change
the intermediate model. Types have numpy's names (uint8, int16, int4, ...) or are ONNX Runtime's
`QuantType`.
"""
from __future__ import annotations

import contextlib
import logging
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

from quern import _onnxruntime, _quantizer, program
from quern._progress import Bar
from quern._words import unknown

__all__ = ["config", "preprocess", "quantize"]

Override = Union[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]

_PRECISIONS = {"a8w8": ("uint8", "int8"), "a16w8": ("uint16", "int8"),
               "a16w16": ("uint16", "int16"), "a16w4": ("uint16", "int4")}
_TYPES = {"uint8": "QUInt8", "int8": "QInt8", "uint16": "QUInt16", "int16": "QInt16",
          "uint4": "QUInt4", "int4": "QInt4"}
_METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile",
            "distribution": "Distribution"}
_OVERRIDE_KEYS = ("quant_type", "axis", "scale", "zero_point", "symmetric", "reduce_range", "rmax",
                  "rmin", "convert")
# Ops whose inputs must all have one type.
_ALIKE = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu", "Where", "Concat"}
# Ops whose second input, where it is constant, gets the type of weights.
_WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LayerNormalization",
             "InstanceNormalization", "GroupNormalization"}
# Advice to do what has been done, and what `quantize` says itself.
_IDLE = re.compile(r"consider (to run )?pre-processing|does not have a name\. Renamed|"
                   r"Automatically update the model to opset|"
                   r"Axis \d+ is out-of-range for weight")


def _tools() -> Any:
    """`onnxruntime.quantization`, or an ImportError that says what to install."""
    _onnxruntime("quern.quantize")
    try:
        import onnxruntime.quantization.execution_providers.qnn
        return onnxruntime.quantization
    except ImportError as error:
        raise ImportError(f"quern.quantize needs onnx, and something cannot be imported "
                          f"({error}): pip install onnx") from error


@contextlib.contextmanager
def _without_idle_words() -> Iterator[None]:
    def useful(record: logging.LogRecord) -> bool:
        return not _IDLE.search(record.getMessage())

    root = logging.getLogger()  # where ONNX Runtime's tools write
    root.addFilter(useful)
    try:
        yield
    finally:
        root.removeFilter(useful)


def _enum(values: Any, names: Mapping[str, str], kind: str, given: Any) -> Any:
    """A member of an enumeration by its name here; members are returned unchanged."""
    if isinstance(given, values):
        return given
    if not isinstance(given, str) or given.lower() not in names:
        raise unknown(kind, given, names)
    return values[names[given.lower()]]


def _load(model: Any, weights: bool = False) -> Any:
    """A model, with or without the weights in other files."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(f"quern.quantize needs onnx, which cannot be imported ({error}): "
                          "pip install onnx") from error
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"a model to quantize is the path of a file and not {type(model).__name__}")
    if not os.path.isfile(model):
        raise FileNotFoundError(f"{os.fspath(model)}: there is no such model")
    try:
        return onnx.load_model(os.fspath(model), load_external_data=weights)
    except Exception as error:  # protobuf's own exception
        raise ValueError(f"{os.fspath(model)} is not an ONNX model: {error}") from error


def _tensors(graph: Any) -> list[str]:
    names = [value.name for value in [*graph.input, *graph.initializer]]
    return names + [name for node in graph.node for name in node.output if name]


def _check_names(kind: str, given: Iterable[str] | None, legal: Iterable[str]) -> None:
    words = list(dict.fromkeys(legal))
    for name in given or ():
        if name not in words:
            raise unknown(kind, name, words)


class _Reader:
    """Calibration data in ONNX Runtime's form, checked against the inputs of the model."""

    def __init__(self, data: Iterable[Mapping[str, Any]], graph: Any):
        constants = {tensor.name for tensor in graph.initializer}
        self._inputs = {i.name: i.type.tensor_type for i in graph.input if i.name not in constants}
        self._data = [self._checked(item, f"item {n} of the data") for n, item in enumerate(data)]
        if not self._data:
            raise ValueError("calibration needs at least one set of inputs")
        self._next, self._bar = 0, Bar("calibrate", len(self._data))

    def _checked(self, item: Any, where: str) -> Mapping[str, Any]:
        import numpy as np
        from onnx.helper import tensor_dtype_to_np_dtype
        if not isinstance(item, Mapping):
            raise ValueError(f"{where} is a {type(item).__name__}; expected a dictionary from the "
                             f"names of inputs ({', '.join(self._inputs)}) to arrays")
        _check_names(f"input in the model, which {where} has,", item, self._inputs)
        for name, wanted in self._inputs.items():
            if name not in item:
                raise ValueError(f"{where} lacks input {name!r}")
            value, dtype = np.asarray(item[name]), tensor_dtype_to_np_dtype(wanted.elem_type)
            sizes = [d.dim_value or d.dim_param or "?" for d in wanted.shape.dim]
            what = f"{where}: input {name!r}"
            if value.dtype != dtype:
                raise ValueError(f"{what} is {value.dtype}; the model takes {dtype}")
            if wanted.HasField("shape") and (len(sizes) != value.ndim or any(
                    isinstance(size, int) and size != n for size, n in zip(sizes, value.shape))):
                raise ValueError(f"{what} has shape {list(value.shape)}; the model takes "
                                 f"[{', '.join(map(str, sizes))}]")
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise ValueError(f"{what} has values that are not finite: no range holds them")
        return item

    def get_next(self) -> Mapping[str, Any] | None:
        if self._next == len(self._data):
            self._bar.close()
            return None
        self._next += 1
        self._bar.step()
        return self._data[self._next - 1]

    def rewind(self) -> None:
        self._next = 0

    def __len__(self) -> int:
        return len(self._data)

    def set_range(self, start_index: int, end_index: int) -> None:
        self._data, self._next = self._data[start_index:end_index], 0


def _overrides(given: Mapping[str, Override], graph: Any, activation: Any,
               weight: Any) -> dict[str, Any]:
    """Overrides in ONNX Runtime's form: for each tensor a list of dictionaries."""
    _check_names("tensor in the model", given, _tensors(graph))
    constants = {tensor.name for tensor in graph.initializer}
    found = {}
    for tensor, value in given.items():
        items = [{"quant_type": value}] if isinstance(value, str) else [value] if isinstance(
            value, Mapping) else list(value)
        for item in items:
            _check_names(f"key of an override (tensor {tensor!r})", item, _OVERRIDE_KEYS)
        default = weight if tensor in constants else activation
        found[tensor] = [_typed(item, default) for item in items]
    return found


def _typed(item: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """An override with values in ONNX Runtime's form; `default` is the tensor's type."""
    import numpy as np
    from onnx.helper import tensor_dtype_to_np_dtype
    found = dict(item)
    kind = default
    if "quant_type" in found:
        kind = found["quant_type"] = _enum(type(default), _TYPES, "type", found["quant_type"])
    if "scale" in found:
        found["scale"] = np.asarray(found["scale"], np.float32)
    if "zero_point" in found:
        dtype = tensor_dtype_to_np_dtype(kind.tensor_type)
        found["zero_point"] = np.asarray(found["zero_point"]).astype(dtype)
    if "convert" in found:
        found["convert"] = _typed(found["convert"], default)
    return found


def preprocess(model: str | os.PathLike[str] | Any, output: str | os.PathLike[str], *,
               exclude_initializer_from_input: bool = False, fuse_layernorm: bool = False,
               save_as_external_data: bool = False, all_tensors_to_one_file: bool = False,
               external_data_location: str | None = None, external_data_size_threshold: int = 1024,
               external_data_convert_attribute: bool = False,
               inputs_to_make_channel_last: Sequence[str] | None = None,
               outputs_to_make_channel_last: Sequence[str] | None = None,
               dynamic_input_shapes: Mapping[str, Sequence[int]] | None = None) -> bool:
    """Prepares a model for quantization; returns False, and writes nothing, if nothing changes.

    Infers shapes; fuses chains of ops for which QNN has one op (Gelu, LpNormalization,
    SpaceToDepth, and LayerNormalization on request); names nodes. `dynamic_input_shapes` fixes the
    shapes of inputs, by name; `..._to_make_channel_last` puts a Transpose after inputs and before
    outputs. Arguments are those of ONNX Runtime's `qnn_preprocess_model`.
    """
    tools = _tools().execution_providers.qnn
    loaded = _load(model)
    graph = loaded.graph
    inputs, outputs = [i.name for i in graph.input], [o.name for o in graph.output]
    _check_names("input in the model", dynamic_input_shapes, inputs)
    _check_names("input in the model", inputs_to_make_channel_last, inputs)
    _check_names("output in the model", outputs_to_make_channel_last, outputs)
    source = os.fspath(model) if isinstance(model, (str, os.PathLike)) else model
    facts = [(fact.key, fact.value) for fact in loaded.metadata_props]
    if facts:  # ONNX Runtime's tool fails on models that have any
        source = type(loaded)()
        source.CopyFrom(_load(model, weights=True))
        del source.metadata_props[:]
    changed = bool(tools.qnn_preprocess_model(
        source, os.fspath(output),
        exclude_initializer_from_input=exclude_initializer_from_input,
        fuse_layernorm=fuse_layernorm, save_as_external_data=save_as_external_data,
        all_tensors_to_one_file=all_tensors_to_one_file,
        external_data_location=external_data_location,
        external_data_size_threshold=external_data_size_threshold,
        external_data_convert_attribute=external_data_convert_attribute,
        inputs_to_make_channel_last=list(inputs_to_make_channel_last or []) or None,
        outputs_to_make_channel_last=list(outputs_to_make_channel_last or []) or None,
        dynamic_input_shapes=[(name, ",".join(map(str, shape))) for name, shape in
                              (dynamic_input_shapes or {}).items()] or None))
    if changed and facts:
        _add_facts(Path(output), facts)
    return changed


def _add_facts(path: Path, facts: Iterable[tuple[str, str]]) -> None:
    made = _load(path)
    known = {fact.key for fact in made.metadata_props}
    for key, value in facts:
        if key not in known:
            made.metadata_props.add(key=key, value=value)
    _replace(path, made.SerializeToString())


def _replace(path: Path, content: bytes) -> None:
    """Replaces a file atomically: readers see the old one or the new one."""
    path = path.resolve()
    fd, temp = tempfile.mkstemp(prefix=f"{path.name[:200]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(content)
            f.flush()
            os.fchmod(fd, path.stat().st_mode & 0o777)
            os.fsync(fd)
        os.replace(temp, path)
    except BaseException:
        os.unlink(temp)
        raise


def config(model_input: str | os.PathLike[str] | Any,
           calibration_data_reader: Iterable[Mapping[str, Any]] | Any,
           calibrate_method: str | Any = "minmax", activation_type: str | Any = "uint8",
           weight_type: str | Any = "uint8", per_channel: bool = False,
           init_overrides: Mapping[str, Override] | None = None, add_qtype_converts: bool = True,
           activation_symmetric: bool = False, weight_symmetric: bool | None = None,
           keep_removable_activations: bool = False, stride: int | None = None,
           calibration_providers: Sequence[str] | None = None,
           op_types_to_quantize: Sequence[str] | None = None,
           nodes_to_exclude: Sequence[str] | None = None) -> Any:
    """Returns the `StaticQuantConfig` for QNN, for `onnxruntime.quantization.quantize`.

    Arguments and defaults are those of ONNX Runtime's `get_qnn_qdq_config`. In addition,
    calibration data may be dictionaries from input names to arrays, types and the method may be
    names, and an override may be just a type (`{"tensor": "uint16"}`). With `add_qtype_converts`,
    ops around an overridden tensor get conversions if their types would not agree, and their
    constants get the types of the other inputs. Names that are not in the model are errors.
    """
    tools = _tools()
    graph = _load(model_input).graph
    _check_names("node in the model", nodes_to_exclude, [n.name for n in graph.node])
    _check_names("op type in the model", op_types_to_quantize, [n.op_type for n in graph.node])
    activation, weight = (_enum(tools.QuantType, _TYPES, "type", given)
                          for given in (activation_type, weight_type))
    reader = calibration_data_reader
    if not hasattr(reader, "get_next"):
        reader = _Reader(reader, graph)
    made = tools.execution_providers.qnn.get_qnn_qdq_config(
        os.fspath(model_input) if isinstance(model_input, (str, os.PathLike)) else model_input,
        reader, _enum(tools.CalibrationMethod, _METHODS, "calibration method", calibrate_method),
        activation, weight, per_channel,
        _overrides(init_overrides, graph, activation, weight) if init_overrides else None,
        add_qtype_converts, activation_symmetric, weight_symmetric, keep_removable_activations,
        stride, list(calibration_providers or []) or None, list(op_types_to_quantize or []) or None,
        list(nodes_to_exclude or []) or None)
    if init_overrides and add_qtype_converts:
        _match_constants(made.extra_options["TensorQuantOverrides"], graph)
    return made


def _match_constants(overrides: dict[str, Any], graph: Any) -> None:
    """Gives constants of the ops in an island the type that the island has."""
    floats = {t.name for t in graph.initializer if t.data_type == 1}
    for node in graph.node:
        kinds = {_seen_by(node, overrides[name][0]) for name in node.input if name in overrides}
        kinds -= {None}
        if node.op_type in _ALIKE and len(kinds) == 1:
            for name in floats.intersection(node.input) - set(overrides):
                overrides[name] = [{"quant_type": next(iter(kinds))}]


def _seen_by(node: Any, override: Mapping[str, Any]) -> Any:
    """The type in which a node reads a tensor; None: the default."""
    convert = override.get("convert")
    if convert and node.name in convert.get("recv_nodes", {node.name}):
        return convert["quant_type"]
    return override.get("quant_type")


def quantize(model: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
             output: str | os.PathLike[str], data: Iterable[Mapping[str, Any]] | Any = None,
             precision: str = "a8w8", *, overrides: Mapping[str, Override] | None = None,
             shapes: Mapping[str, Sequence[int]] | None = None, per_channel: bool | None = None,
             fuse: bool = True, engine: str | None = None, block: int = 0, method: str = "minmax",
             soc: str | None = None, check: bool = False, symmetric: bool = False,
             per_tensor: bool = False, encodings: str | os.PathLike[str] | None = None,
             export_encodings: str | os.PathLike[str] | None = None,
             bits: Mapping[str, int] | None = None, floats: Sequence[str] = (),
             **options: Any) -> Path:
    """Writes a quantized model: activations and weights by `precision`, ranges from `data`.

    precision: a8w8, a16w8, a16w16, a16w4, a8w4, or w8 and w4 for weights only.
    data: a list of dictionaries from input names to arrays, or a calibration reader of ONNX
    Runtime; None for w8, for w4 with rounding to nearest, and with `encodings`.
    engine: "quern" is the program `quern quantize` (docs/quantize.md), "onnxruntime" are ONNX
    Runtime's tools. None: the program for models that it supports (static shapes, no nested
    graphs), unless an argument needs ONNX Runtime's tools.
    Only with the program: `block` (one scale for that many weights), `method` (minmax, percentile,
    mse, sqnr, entropy), `symmetric` activations, weights `per_tensor`, `encodings` (a JSON file of
    AIMET or a converter, which takes precedence over data) and `export_encodings`, `bits` and
    `floats` (names of tensors or nodes: other bits, float16), `soc` and `check` (run the result on
    the HTP model; keep unsupported ops in float), and several models, calibrated by the first, with
    a folder as output.
    Only with ONNX Runtime's tools: overrides (other types, `{"tensor": "uint16"}`, or encodings for
    single tensors), shapes (sizes for inputs with dynamic dimensions), per_channel (None: where the
    NPU supports it, that is, except for 16-bit weights), fuse=False (skips `preprocess` and all
    other rewriting), and the options of `config`. With a16w4, weights that the NPU supports only in
    8 bits get 8.
    """
    names = dict.fromkeys([*_PRECISIONS, *_quantizer.SCHEMES])
    if precision not in names:
        raise unknown("precision", precision, names)
    if engine not in (None, "quern", "onnxruntime"):
        raise unknown("engine", engine, ("quern", "onnxruntime"))
    theirs = {"overrides": overrides, "shapes": shapes, "per_channel": per_channel is not None,
              "fuse": not fuse, **dict.fromkeys(options, True)}
    only = [name for name, given in theirs.items() if given]
    ours = bool(block or method != "minmax" or soc or check or symmetric or per_tensor or encodings
                or export_encodings or bits or floats or isinstance(model, (list, tuple)))
    if engine == "quern" or ours or precision not in _PRECISIONS:
        if only or engine == "onnxruntime":
            raise ValueError(f"{only[0] if only else precision!r} does not go with "
                             f"{'quern quantize' if only else 'ONNX Runtime tools'}")
        engine = "quern"
    elif engine is None:
        able = not only and _quantizer.can_quantize(_load(model))
        engine = "quern" if able else "onnxruntime"
    if engine == "onnxruntime":
        return _by_onnxruntime(model, output, data, precision, overrides, shapes, per_channel,
                               fuse, options)
    flags = {"block": block or None, "method": method, "soc": soc, "no-check": not check,
             "symmetric": symmetric, "per-tensor": per_tensor,
             "encodings": os.fspath(encodings) if encodings else None,
             "export-encodings": os.fspath(export_encodings) if export_encodings else None,
             "bits": [f"{name}={n}" for name, n in (bits or {}).items()], "float": list(floats)}
    return _by_program(model, output, data, precision, flags)


def _items(data: Any, graph: Any) -> Iterable[Mapping[str, Any]]:
    """Samples one by one, checked."""
    reader = data if hasattr(data, "get_next") else _Reader(data, graph)
    while (item := reader.get_next()) is not None:
        yield item


def _by_program(model: Any, output: str | os.PathLike[str], data: Any, precision: str,
                flags: Mapping[str, Any]) -> Path:
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    graph = _load(models[0]).graph
    for other in models[1:]:
        _load(other)
    _check_files(models, output)
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [i.name for i in graph.input if i.name not in constants]
    _quantizer.run(program(), models, output, inputs,
                   None if data is None else _items(data, graph), precision, flags)
    return Path(output)


def _check_files(models: Sequence[Any], output: str | os.PathLike[str]) -> None:
    for model in models:
        if Path(output).exists() and os.path.samefile(model, output):
            raise ValueError(f"{os.fspath(output)}: the output must be another file than the model")
    if not Path(output).resolve().parent.is_dir():
        raise FileNotFoundError(f"{Path(output).parent}: there is no such folder")


def _by_onnxruntime(model: Any, output: str | os.PathLike[str], data: Any, precision: str,
                    overrides: Mapping[str, Override] | None,
                    shapes: Mapping[str, Sequence[int]] | None, per_channel: bool | None,
                    fuse: bool, options: Mapping[str, Any]) -> Path:
    activation, weight = _PRECISIONS[precision]
    tools = _tools()
    graph = _load(model).graph
    _check_files([model], output)
    _check_names("tensor in the model", overrides, _tensors(graph))
    if per_channel is None:
        per_channel = weight != "int16"
    with tempfile.TemporaryDirectory() as folder, _without_idle_words():
        source = Path(model)
        prepared = Path(folder) / "prepared.onnx"
        if (fuse or shapes) and preprocess(model, prepared, dynamic_input_shapes=shapes):
            source, graph = prepared, _load(prepared).graph
            _still_there(overrides, _tensors(graph))
        if fuse:
            source, graph = _ready(source, Path(folder) / "ready.onnx", graph, overrides)
        chosen = {**_for_the_npu(weight, graph, source.parent, per_channel), **(overrides or {})}
        made = config(source, data, activation_type=activation, weight_type=weight,
                      per_channel=per_channel, init_overrides=chosen, **options)
        tools.quantize(os.fspath(source), os.fspath(output), made)
    return Path(output)


def _ready(source: Path, target: Path, graph: Any,
           overrides: Mapping[str, Override] | None) -> tuple[Path, Any]:
    """A model that the quantizer supports; unchanged if an overridden tensor would vanish."""
    from quern._prepare import prepare  # needs numpy, which comes with onnxruntime
    ready = prepare(source, target)
    rewritten = _load(ready).graph
    if set(overrides or ()) - set(_tensors(rewritten)):
        return source, graph
    return ready, rewritten


def _still_there(overrides: Mapping[str, Override] | None, tensors: Iterable[str]) -> None:
    gone = set(overrides or ()) - set(tensors)
    if gone:
        raise ValueError(f"tensor {sorted(gone)[0]!r} was fused into another op before it could be "
                         "overridden: choose the op's output, or pass fuse=False")


def _weights(graph: Any) -> Iterator[tuple[Any, Any]]:
    """(node, constant) for each constant that an op multiplies with."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type in _WEIGHTED and len(node.input) > 1 and node.input[1] in constants:
            yield node, constants[node.input[1]]


def _for_the_npu(weight: str, graph: Any, folder: Path, per_channel: bool) -> dict[str, Override]:
    """Overrides for weights that the NPU would otherwise reject."""
    from onnx import numpy_helper
    found: dict[str, Override] = {}
    for node, tensor in _weights(graph):
        if weight == "int16":  # the greatest code that it takes is 0x7f7f
            most = float(abs(numpy_helper.to_array(tensor, os.fspath(folder))).max(initial=0))
            most *= 0x7FFF / 0x7F7F
            found[tensor.name] = {"quant_type": weight, "symmetric": True, "rmax": most,
                                  "rmin": -most}
        elif weight == "int4":
            groups = next((a.i for a in node.attribute if a.name == "group"), 1)
            axis = {"Conv": 0, "ConvTranspose": 1}.get(node.op_type)
            if node.op_type != "Conv" or groups != 1:
                kind: dict[str, Any] = {"quant_type": "int8", "symmetric": True}
                if per_channel and axis is not None:
                    kind["axis"] = axis
                found[tensor.name] = kind
    return found
