# SPDX-License-Identifier: MIT
"""Names of a model's dynamic dimensions, read from the file without a reader of ONNX.

ONNX Runtime fixes the size of a dimension by name, and silently ignores a name that no input has.
"""
from __future__ import annotations

import mmap
import os
from typing import Iterator, Mapping, Tuple

from quern._words import unknown

_Field = Tuple[int, int, int]  # number, begin and end of its bytes
# ModelProto.graph, GraphProto.input, ValueInfoProto.type, TypeProto.tensor_type, .shape, .dim,
# Dimension.dim_param
_PATH = (7, 11, 2, 1, 2, 1, 2)


def _varint(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _fields(data: bytes | mmap.mmap, at: int, end: int) -> Iterator[_Field]:
    """Fields of a message that have a length; the others are skipped."""
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _varint(data, at)
            if at + size > end:
                raise ValueError("a field that is longer than its message")
            yield tag >> 3, at, at + size
            at += size
        else:
            raise ValueError("no field of protobuf")


def _walk(data: bytes | mmap.mmap, at: int, end: int, path: tuple[int, ...]) -> Iterator[str]:
    if not path:
        yield data[at:end].decode(errors="replace")
        return
    for number, begin, stop in _fields(data, at, end):
        if number == path[0]:
            yield from _walk(data, begin, stop, path[1:])


def dimension_names(model: str | bytes) -> list[str] | None:
    """Names of dynamic dimensions of the inputs, in their order; None where it is not known."""
    try:
        if isinstance(model, bytes):
            return list(dict.fromkeys(_walk(model, 0, len(model), _PATH)))
        if os.path.getsize(model) == 0:
            return None
        with open(model, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return list(dict.fromkeys(_walk(data, 0, len(data), _PATH)))
    except (ValueError, IndexError, OSError):
        return None  # ONNX Runtime says what is wrong with it


def open_dimensions(model: str) -> list[str] | None:
    """What --dim can set: the names, and INPUT.AXIS of every dynamic dimension."""
    names = dimension_names(model)
    if names is None:
        return None
    try:
        with open(model, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return names + list(_axes(data))
    except (ValueError, IndexError, OSError):
        return None


def _axes(data: mmap.mmap) -> Iterator[str]:
    spans = [(0, len(data))]
    for number in _PATH[:2]:
        spans = [(a, b) for begin, end in spans for n, a, b in _fields(data, begin, end)
                 if n == number]
    for begin, end in spans:
        name = next(_walk(data, begin, end, (1,)), "")
        dims = [(begin, end)]
        for number in _PATH[2:6]:
            dims = [(a, b) for low, high in dims for n, a, b in _fields(data, low, high)
                    if n == number]
        for axis, (low, high) in enumerate(dims):
            if low == high or data[low] != 8:  # field 1, a number: the size is fixed
                yield f"{name}.{axis}"


def check_dims(model: str | bytes, dims: Mapping[str, int]) -> None:
    """A ValueError for a name that no input has, and for what is not a size."""
    for name, size in dims.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"dims: the size of {name!r} is {size!r}; expected a number from 1 on")
    names = dimension_names(model)
    for name in dims:
        if names is None or name in names:
            continue
        if not names:
            raise ValueError(f"dims: no dimension {name!r}; no input has a dynamic one with a name")
        raise unknown("dimension", name, names)
