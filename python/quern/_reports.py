# SPDX-License-Identifier: MIT
"""The commands of the program that analyse a model, as functions.

Each runs `quern COMMAND --json`, so that Python and the command line never disagree. Other
arguments become flags of the command: `steps=True` is `--steps`, `top=5` is `--top 5`.
"""
from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from quern import _cli
from quern._dims import open_dimensions
from quern._progress import Elapsed
from quern._report import Bench, Check, Comparison, Estimate, Info, Socs
from quern._target import target_of
from quern._words import unknown

PathLike = Union[str, "os.PathLike[str]"]
Sizes = Optional[Mapping[str, int]]  # of dynamic dimensions, by name
Shapes = Optional[Mapping[str, Sequence[int]]]  # of inputs, by name
_program: Callable[[], Path]  # set by the package


def _existing(model: str | os.PathLike[str]) -> str:
    path = os.fspath(model)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: there is no such model")
    return path


def _target(model: str, backend: Any, soc: str | int | None) -> str | int | None:
    """SM8650, with a warning, if the HTP has no target; a context binary knows its own."""
    onnx = model.lower().endswith(".onnx") and os.path.isfile(model)
    return target_of(model, backend, soc, {}, stacklevel=4) if onnx else soc


def _flags(options: Mapping[str, object], **named: object) -> list[str]:
    """The command's flags. `dim` and `shape` are spelled `dims` and `shapes` here."""
    for name in ("dim", "shape"):
        if name in options:
            raise ValueError(f"unknown argument '{name}'; did you mean '{name}s'?")
    return _cli.flags(**named, **options)


def check(model: PathLike, backend: PathLike = "htp", soc: str | int | None = None, *,
          dims: Sizes = None, shapes: Shapes = None, **options: object) -> Check:
    """Lists the nodes that a backend supports, and why it rejects the others (`quern check`).

    >>> report = quern.check("model.onnx", soc="SM8650")
    >>> report.ok, report.rejected_nodes
    """
    path = _existing(model)
    given = _flags(options, backend=backend, soc=_target(path, backend, soc), dim=dims,
                   shape=shapes)
    return Check(_cli.report(_program(), "check", [path], given))


def estimate(model: PathLike, soc: str | int | None = None, *, precision: str | None = None,
             dims: Sizes = None, shapes: Shapes = None, **options: object) -> Estimate:
    """Estimates the time on a phone's NPU (`quern estimate`); soc="all" means every SoC.

    Accepts power, vtcm, hvx_threads and the other flags of the command.
    """
    given = _flags(options, soc=soc, precision=precision, dim=dims, shape=shapes)
    return Estimate(_cli.report(_program(), "estimate", [_existing(model)], given))


def bench(model: PathLike, backend: PathLike = "cpu", soc: str | int | None = None, *,
          seconds: float | None = None, runs: int | None = None, threads: int | None = None,
          dims: Sizes = None, shapes: Shapes = None, **options: object) -> Bench:
    """Measures how fast a model runs on this machine (`quern bench`), with random inputs."""
    path = _existing(model)
    given = _flags(options, backend=backend, soc=_target(path, backend, soc), seconds=seconds,
                   runs=runs, threads=threads, dim=dims, shape=shapes)
    with Elapsed(f"bench {os.path.basename(path)}"):
        return Bench(_cli.report(_program(), "bench", [path], given))


def info() -> Info:
    """Libraries, their versions, and CPU features of this machine (`quern info`)."""
    return Info(_cli.report(_program(), "info", [], []))


def socs(*words: str) -> Socs:
    """The SoCs that `soc` accepts (`quern socs`), filtered by words such as "v79" or "galaxy"."""
    return Socs(_cli.report(_program(), "socs", words, []))


def compare(reference: PathLike, other: PathLike, *, inputs: Mapping[str, Any] | None = None,
            backend: PathLike = "htp", soc: str | int | None = None,
            reference_backend: PathLike = "cpu", dims: Sizes = None, shapes: Shapes = None,
            seed: int = 1, **options: object) -> Comparison:
    """Compares two executions layer by layer (`quern compare`); the first is the reference.

    Both are folders that `QUERN_DUMP` wrote, or both are models. Models are run with the same
    `inputs` (arrays by name; default: random), the reference in float on `reference_backend`, the
    other one on `backend` as `soc` computes it.
    """
    a, b = _existing(reference), _existing(other)
    if os.path.isdir(a) != os.path.isdir(b):
        raise ValueError(f"compare: {a} and {b}: expected two folders of QUERN_DUMP or two models")
    given = _flags(options)
    if os.path.isdir(a):
        return Comparison(_cli.report(_program(), "compare", [a, b], given))
    with tempfile.TemporaryDirectory(prefix="quern-compare-") as folder, \
            Elapsed(f"compare {os.path.basename(b)}"):
        common = [*_save(inputs, Path(folder) / "in"), *_cli.flags(seed=seed, shape=shapes)]
        sides = ((a, "a", _cli.flags(backend=reference_backend)),
                 (b, "b", _cli.flags(backend=backend, soc=_target(b, backend, soc))))
        sizes = [_dims_of(model, dims, shared=(a, b)) for model in (a, b)]
        for (model, name, where), own in zip(sides, sizes):
            try:
                _cli.call(_program(), "run", [model], [*common, *where, *_cli.flags(dim=own)],
                          environment={"QUERN_DUMP": f"{folder}/{name}"})
            except ValueError as wrong:
                raise ValueError(_without_files(str(wrong), inputs, folder)) from None
        try:
            found = _cli.report(_program(), "compare", [f"{folder}/a", f"{folder}/b"], given)
        except ValueError as wrong:
            text = str(wrong).replace(f"{folder}/a", a).replace(f"{folder}/b", b)
            raise ValueError(text) from None
        return Comparison({**found, "inputs": "random"} if inputs is None else found)


def _dims_of(model: str, dims: Sizes, shared: tuple[str, str]) -> dict[str, int]:
    """Sizes for this model's dynamic dimensions; the other model may have fixed ones."""
    names = [open_dimensions(one) for one in shared]
    for name in dims or {}:
        if all(known is not None and name not in known for known in names):
            legal = dict.fromkeys(n for known in names for n in known or ())
            raise unknown("dimension", name, legal)
    own = open_dimensions(model)
    return {name: size for name, size in (dims or {}).items() if own is None or name in own}


def _without_files(text: str, inputs: Mapping[str, Any] | None, folder: str) -> str:
    """A message about the files that _save wrote, as one about the arrays in them."""
    text = text.replace(f"{folder}/in/list.txt:1: ", "inputs: ")
    for at, name in enumerate(inputs or ()):
        text = text.replace(f"{folder}/in/{at}.npy: ", f"inputs[{name!r}]: ")
    return re.sub(r"expects (\w+) \(--cast converts\)", r"expects \1; use .astype('\1')", text)


def _save(inputs: Mapping[str, Any] | None, folder: Path) -> list[str]:
    """Writes the inputs to files; returns their flags."""
    if inputs is None:
        return ["--random"]
    if not isinstance(inputs, Mapping):
        raise TypeError("inputs: expected a dict of arrays by the names of inputs, found "
                        f"{type(inputs).__name__}")
    import numpy
    folder.mkdir()
    for at, (name, value) in enumerate(inputs.items()):
        numpy.save(folder / f"{at}.npy", numpy.asarray(value))
    listed = " ".join(f"{name}:={folder / f'{at}.npy'}" for at, name in enumerate(inputs))
    (folder / "list.txt").write_text(listed + "\n")
    return [f"--input-list={folder / 'list.txt'}"]
