# SPDX-License-Identifier: MIT
"""`quern.quantize` by the program `quern quantize`: samples go through files, errors come back."""
from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from quern._cli import watched

SCHEMES = ("a8w8", "a16w8", "a16w4", "a16w16", "a8w4", "w8", "w4")


def can_quantize(model: Any) -> bool:
    """Static shapes, standard opset 11 or newer, no functions and no nested graphs."""
    constants = {tensor.name for tensor in model.graph.initializer}
    shapes = [i.type.tensor_type.shape.dim for i in model.graph.input if i.name not in constants]
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    nested = any(a.g.node or a.graphs for n in model.graph.node for a in n.attribute)
    return (opset >= 11 and not nested and not model.functions
            and all(d.HasField("dim_value") for dims in shapes for d in dims))


def _write(folder: Path, inputs: Sequence[str], items: Iterable[Mapping[str, Any]]) -> None:
    import numpy as np
    for number, item in enumerate(items):
        arrays = {f"arr_{i}": item[name] for i, name in enumerate(inputs)}
        np.savez(folder / f"{number:06}.npz", **arrays)


def run(program: Path, models: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str],
        inputs: Sequence[str], data: Iterable[Mapping[str, Any]] | None, scheme: str,
        flags: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the program reports: a dictionary for each model. Its error becomes a ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.fspath(program), "quantize", *(os.fspath(one) for one in models), "-o",
                   os.fspath(output), "-s", scheme, "--json"]
        if data is not None:
            _write(Path(folder), inputs, data)
            command += ["-c", folder]
        for name, value in flags.items():
            if value is True:
                command.append(f"--{name}")
            elif isinstance(value, (list, tuple)):
                command += [word for item in value for word in (f"--{name}", str(item))]
            elif value not in (None, False):
                command += [f"--{name}", str(value)]
        done = watched(command)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("quern: error: ")]
        raise ValueError(lines[0][len("quern: error: "):] if lines else
                         f"quern quantize failed ({done.returncode}): {done.stderr.strip()[:400]}")
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    return reports
