# SPDX-License-Identifier: MIT
"""Quantizing a float ONNX model for the NPU, by ONNX Runtime's own tools.

    from quern.quantize import quantize
    quantize("model.onnx", "model_a8w8.onnx", [{"x": image} for image in images])

The result has QuantizeLinear and DequantizeLinear around every op, as QNN providers want it.
"""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping

__all__ = ["preprocess", "quantize"]

_TYPES = {"a8w8": ("QUInt8", "QInt8"), "a16w8": ("QUInt16", "QInt8"),
          "a16w16": ("QUInt16", "QInt16"), "a8w4": ("QUInt8", "QInt4"),
          "a16w4": ("QUInt16", "QInt4")}


class _Reader:
    """Calibration data as ONNX Runtime asks for it."""

    def __init__(self, data: Iterable[Mapping[str, Any]]):
        self._data = list(data)
        if not self._data:
            raise ValueError("calibration needs at least one set of inputs")
        self._next = 0

    def get_next(self) -> Mapping[str, Any] | None:
        if self._next == len(self._data):
            return None
        self._next += 1
        return self._data[self._next - 1]

    def rewind(self) -> None:
        self._next = 0

    def __len__(self) -> int:
        return len(self._data)

    def set_range(self, start_index: int, end_index: int) -> None:
        self._data, self._next = self._data[start_index:end_index], 0


def preprocess(model: str | os.PathLike[str], output: str | os.PathLike[str],
               **options: Any) -> Path:
    """Fuses what QNN has one op for (Gelu, LpNormalization, ...); returns the model to go on with.

    Options are those of `onnxruntime.quantization.execution_providers.qnn.qnn_preprocess_model`.
    """
    from onnxruntime.quantization.execution_providers.qnn import qnn_preprocess_model
    changed = qnn_preprocess_model(os.fspath(model), os.fspath(output), **options)
    return Path(output if changed else model)


def quantize(model: str | os.PathLike[str], output: str | os.PathLike[str],
             data: Iterable[Mapping[str, Any]], scheme: str = "a8w8", *, per_channel: bool = True,
             overrides: Mapping[str, Any] | None = None, fuse: bool = True,
             **options: Any) -> Path:
    """Writes a quantized model: activations and weights by `scheme`, ranges from `data`.

    scheme: a8w8, a16w8, a16w16, a8w4 or a16w4. overrides: encodings or other types for single
    tensors, as `init_overrides` of `get_qnn_qdq_config`, which also takes the further options.
    """
    from onnxruntime.quantization import QuantType, quantize as run
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config
    if scheme not in _TYPES:
        raise ValueError(f"no scheme {scheme!r}; expected one of {', '.join(_TYPES)}")
    activation, weight = (getattr(QuantType, name) for name in _TYPES[scheme])
    with tempfile.TemporaryDirectory() as folder:
        source = preprocess(model, Path(folder) / "fused.onnx") if fuse else Path(model)
        config = get_qnn_qdq_config(
            os.fspath(source), _Reader(data), activation_type=activation, weight_type=weight,
            per_channel=per_channel, init_overrides=dict(overrides) if overrides else None,
            **options)
        run(os.fspath(source), os.fspath(output), config)
    return Path(output)
