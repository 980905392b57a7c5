# SPDX-License-Identifier: MIT
"""The tasks of a study. Each runs the program `quern` in its own folder and returns numbers and, if
other tasks need more, a zip file. Nothing here knows the caller: this process or a Ray worker.

Numbers that shards are merged from are sums for one sample each, by math.fsum, which is exact; so
are the sums over samples. A table does not depend on shards, workers or their order.
"""
from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, Union

from quern._study_data import LIST, pack_folder, unpack

Part = Union[bytes, str]  # contents, or the path of a file


class TaskError(RuntimeError):
    """Why a task failed, in one sentence."""


@dataclass(frozen=True)
class Task:
    key: str  # hash of all that its result depends on
    kind: str  # of KINDS
    options: Mapping[str, Any] = field(hash=False)
    parts: Mapping[str, str] = field(hash=False)  # name -> key of a task, a shard, or a model
    title: str = ""


def _quern(options: Mapping[str, Any], folder: Path, *words: str) -> str:
    """What the program prints; its error is a TaskError."""
    command = [options["program"], *words]
    if options.get("threads") and words[0] in ("run", "quantize"):
        command += ["--threads", str(options["threads"])]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL)
    except OSError as error:
        raise TaskError(f"{options['program']}: {error.strerror}") from error
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("quern: error: ")]
    if lines:
        raise TaskError(f"quern {words[0]}: {lines[0][len('quern: error: '):]}")
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
    raise TaskError(f"quern {words[0]} ended with {how}: {done.stderr.strip()[-300:]}")


def _model(parts: Mapping[str, Part], folder: Path) -> str:
    """The path of the model: a quantized one where there is one."""
    if "quantized" in parts:
        unpack(_bytes(parts["quantized"]), folder / "quantized")
        return "quantized/model.onnx"
    given = parts["model"]
    if isinstance(given, str):
        return given
    (folder / "model.onnx").write_bytes(given)
    return "model.onnx"


def _bytes(part: Part) -> bytes:
    return part if isinstance(part, bytes) else Path(part).read_bytes()


def _outputs(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path,
             *flags: str) -> Path:
    """Runs the model on a shard; the folder of outputs, Result_N/NAME.npy."""
    unpack(_bytes(parts["samples"]), folder)
    _quern(options, folder, "run", _model(parts, folder), "--input-list", LIST, "--output-dir",
           "out", "--format", "npy", "--quiet", *flags)
    return folder / "out"


def _calibrate(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path) -> Any:
    unpack(_bytes(parts["calibration"]), folder)
    (folder / "made").mkdir()
    _quern(options, folder, "quantize", _model(parts, folder), "--calibrate-only", "made/state",
           "-c", LIST, "--quiet", *options["flags"])
    return {"bytes": (folder / "made" / "state").stat().st_size}, pack_folder(folder / "made")


def _quantize(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path) -> Any:
    """By samples, or by what others found in shards of them, in the order of the shards."""
    ranges = ["-c", LIST] if "calibration" in parts else []
    if ranges:
        unpack(_bytes(parts["calibration"]), folder)
    for name in (p for p in parts if p.startswith("state")):
        unpack(_bytes(parts[name]), folder / name)
        ranges += ["--merge", f"{name}/state"]
    (folder / "made").mkdir()
    report = _quern(options, folder, "quantize", _model(parts, folder), "-o", "made/model.onnx",
                    *ranges, "--no-check", "--json", *options["flags"])
    found = json.loads(report)[0]
    return ({"constant_bytes": found["constant_bytes"], "quantized": found["quantized"],
             "float": found["float"]}, pack_folder(folder / "made"))


def _reference(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path) -> Any:
    out = _outputs(options, parts, folder, "--backend", "cpu")
    return {"samples": len(list(out.iterdir()))}, pack_folder(out)


def _estimate(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path) -> Any:
    text = _quern(options, folder, "estimate", _model(parts, folder), "--soc", options["chip"],
                  "--json", *(["--precision", "fp16"] if "quantized" not in parts else []))
    found = json.loads(text)["estimates"][0]
    if found.get("ms") is None:
        raise TaskError(f"quern estimate: there is no estimate for {options['chip']}")
    return {k: found[k] for k in ("ms", "low_ms", "high_ms", "fitted", "precision")}, None


def _compare(got: Any, want: Any) -> dict[str, Any]:
    """Sums over the elements of one output for one sample."""
    import numpy as np
    a, b = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    if a.size != b.size:
        raise TaskError(f"an output has {a.size} elements; that of the float model has {b.size}")
    finite = np.isfinite(a) & np.isfinite(b)
    same = ~finite & ((a == b) | (np.isnan(a) & np.isnan(b)))
    error, signal = np.square((a - b)[finite]), np.square(b[finite])
    scores = sum(n > 1 for n in np.shape(want)) == 1 and a.size > 1 and bool(finite.all())
    return {"error": math.fsum(error.tolist()), "signal": math.fsum(signal.tolist()),
            "not_finite": int((~finite & ~same).sum()),
            "top": int(a.argmax()) if scores else None,
            "float_top": int(b.argmax()) if scores else None}


def _evaluate(options: Mapping[str, Any], parts: Mapping[str, Part], folder: Path) -> Any:
    import numpy as np
    out = _outputs(options, parts, folder, "--backend", "htp", "--soc", options["chip"])
    unpack(_bytes(parts["reference"]), folder / "float")
    samples = []
    for i in range(len(list((folder / "float").iterdir()))):
        want = sorted((folder / "float" / f"Result_{i}").iterdir())
        samples.append({path.stem: _compare(np.load(out / f"Result_{i}" / path.name),
                                            np.load(path)) for path in want})
    return {"samples": samples}, None


KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Part], Path], Any]] = {
    "calibrate": _calibrate, "quantize": _quantize, "reference": _reference,
    "evaluate": _evaluate, "estimate": _estimate}
WITH_BLOB = ("calibrate", "quantize", "reference")


def perform(kind: str, options: Mapping[str, Any], parts: Mapping[str, Part],
            tmp: str | None) -> Any:
    """Result and zip file of a task. Raises TaskError."""
    with tempfile.TemporaryDirectory(dir=tmp if tmp and os.path.isdir(tmp) else None) as folder:
        try:
            return KINDS[kind](options, parts, Path(folder))
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise TaskError(f"{kind}: {type(error).__name__}: {error}") from error


def attempt(kind: str, options: Mapping[str, Any], parts: Mapping[str, Part], tmp: str | None,
            retries: int) -> Any:
    """Result and zip file, and None; or None, None and why the task failed each time."""
    reason = None
    for _ in range(1 + retries):
        try:
            return (*perform(kind, options, parts, tmp), None)
        except TaskError as error:
            reason = str(error)
    return None, None, reason


def merge(shards: Sequence[Mapping[str, Any]], labels: Sequence[int] | None) -> dict[str, Any]:
    """The numbers of a row from those of its shards, in the order of the samples."""
    samples = [sample for shard in shards for sample in shard["samples"]]
    row: dict[str, Any] = {"samples": len(samples), "sqnr_db": None, "agreement": None,
                           "accuracy": None, "float_accuracy": None}
    for name in samples[0] if samples else ():
        of = [sample[name] for sample in samples]
        error, signal = math.fsum(s["error"] for s in of), math.fsum(s["signal"] for s in of)
        if any(s["not_finite"] for s in of):
            db = -math.inf
        else:
            db = 10 * math.log10(signal / error) if error and signal else (
                math.inf if not error else -math.inf)
        row["sqnr_db"] = db if row["sqnr_db"] is None else min(db, row["sqnr_db"])
        if row["agreement"] is None and all(s["top"] is not None for s in of):
            row["agreement"] = sum(s["top"] == s["float_top"] for s in of) / len(of)
            if labels is not None:
                row["accuracy"] = sum(s["top"] == t for s, t in zip(of, labels)) / len(of)
                row["float_accuracy"] = sum(
                    s["float_top"] == t for s, t in zip(of, labels)) / len(of)
    return row
