# SPDX-License-Identifier: MIT
"""Studies: compare models, quantization schemes and SoCs on your samples.

    from quern.study import Study
    study = Study(models=["a.onnx", "b.onnx"], schemes=["a8w8", "a16w8"],
                  chips=["SM8650", "SM8750"], data="samples.npz", out="study")
    table = study.run()              # in this process, one task after the other
    table = study.run(ray=True)      # on Ray, started here; or ray="HOST:PORT" of a cluster

Each model is quantized with each scheme, run on each modelled SoC and compared with its float
outputs, and its latency is estimated. The result is a table: DIR/results.csv, results.parquet and
report.html. Finished tasks are kept in the folder: running the study again computes only what is
missing. `python -m quern.study` is the command-line form.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

import quern
from quern import _study_ray, _study_table, _study_tasks
from quern._progress import Bar
from quern._quantizer import SCHEMES
from quern._study_data import Samples, digest, digest_file
from quern._study_files import Store, StudyError
from quern._study_tasks import Task
from quern._words import unknown

__all__ = ["Study", "StudyError", "Table"]

PathLike = Union[str, "os.PathLike[str]"]
FLOAT = "fp16"  # the scheme that does not quantize
_EXACT = "epsilon,fold"  # repairs that look at no samples


@dataclass
class Table:
    """Results of a study: a dictionary for each model, scheme and SoC."""
    rows: list[dict[str, Any]]
    files: list[Path]
    n_run: int  # tasks that were run this time

    @property
    def failed(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["status"] != "ok"]


@dataclass
class _Row:
    model: str
    scheme: str
    chip: str
    error: str | None = None  # of the plan: the model or its data cannot be read
    keys: dict[str, Any] = field(default_factory=dict)  # kind -> key, evaluate -> keys


class _Plan:
    """Tasks, each once and after those that it needs, and where their parts come from."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.rows: list[_Row] = []
        self.labels: dict[str, list[int] | None] = {}
        self._shards: dict[str, Callable[[], bytes]] = {}
        self._models: dict[str, str] = {}

    def model(self, path: str) -> str:
        key = digest_file(path)
        self._models[key] = os.path.abspath(path)
        return key

    def shard(self, samples: Samples, first: int, end: int) -> str:
        key = digest(samples.shard(first, end))
        self._shards[key] = functools.partial(samples.shard, first, end)
        return key

    def task(self, kind: str, title: str, options: Mapping[str, Any], extra: Mapping[str, Any],
             **parts: str) -> str:
        """`extra` is not part of the key: it does not change the result."""
        about = {"kind": kind, "engine": _study_ray.engine(), "options": dict(options),
                 "parts": parts}
        key = digest(json.dumps(about, sort_keys=True).encode())
        self.tasks.setdefault(key, Task(key, kind, {**options, **extra}, parts, title))
        return key

    def part(self, key: str, store: Store) -> Any:
        if key in self._models:
            return self._models[key]
        return self._shards[key]() if key in self._shards else store.blob(key)


def _named(what: str, given: Any) -> dict[str, str]:
    """Paths by name: a mapping, one path, or paths that are named after their files."""
    if isinstance(given, Mapping):
        return {str(name): os.fspath(path) for name, path in given.items()}
    paths = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    names = [Path(path).stem for path in paths]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise StudyError(f"several {what} have the name {sorted(twice)[0]!r}: give them others, as "
                         "NAME=PATH")
    return {name: os.fspath(path) for name, path in zip(names, paths)}


def _words(what: str, given: Iterable[str]) -> list[str]:
    words = list(dict.fromkeys([given] if isinstance(given, str) else given))
    if not words:
        raise StudyError(f"a study needs at least one {what}")
    return words


def _ask(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(quern.program()), *words], capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL)


def _sentence(done: "subprocess.CompletedProcess[str]") -> str:
    text = (done.stderr.strip() or f"quern ended with {done.returncode}").splitlines()[0]
    return text.removeprefix("quern: error: ")


def _flags(scheme: str) -> list[str]:
    """Of `quern quantize`, from SCHEME or SCHEME:METHOD."""
    name, _, method = scheme.partition(":")
    if name not in SCHEMES and scheme != FLOAT:
        raise unknown("scheme", scheme, (*SCHEMES, FLOAT))
    flags = ["--scheme", name, *(["--method", method] if method else [])]
    done = _ask("quantize", os.devnull, "-o", os.devnull, "--random", *flags) if method else None
    if done is not None and done.returncode == 2:
        raise StudyError(f"scheme {scheme!r}: {_sentence(done)}")
    return flags


def _check_chips(chips: Iterable[str]) -> None:
    known = [str(word) for chip in json.loads(_ask("socs", "--json").stdout)
             for word in (chip["name"], *chip["names"])]
    for chip in chips:
        if chip not in known:
            raise unknown("chip", chip, known)


class Study:
    """A study; nothing is computed before `run`.

    models       paths, or a mapping from names to paths
    schemes      of `quern quantize`: a8w8, a16w8, a16w4, ...; SCHEME:METHOD sets the calibration
                 method; fp16 does not quantize
    chips        SoC names of `quern socs`
    data         samples: a .npz (inputs by name) or .npy whose first dimension counts samples, or a
                 folder of such files, one per sample; a mapping gives each model its own
    out          the folder of results
    calibration  calibration samples; default: the first samples of `data`
    labels       .npy with the class of each sample, or a mapping
    calibration_shard_size  calibrate in tasks of this many samples, which are merged exactly;
                 repairs that look at samples are then skipped
    """

    def __init__(self, models: Any, schemes: Iterable[str], chips: Iterable[str], data: Any,
                 out: PathLike, *, calibration: Any = None, labels: Any = None,
                 n_calibration: int = 100, shard_size: int = 100,
                 calibration_shard_size: int | None = None, retries: int = 1,
                 threads: int | None = None):
        self.models = _named("models", models)
        if not self.models:
            raise StudyError("a study needs at least one model")
        self.schemes, self.chips = _words("scheme", schemes), _words("chip", chips)
        self.out = Path(out)
        for what, number in (("n_calibration", n_calibration), ("shard_size", shard_size),
                             ("calibration_shard_size", calibration_shard_size)):
            if number is not None and number < 1:
                raise StudyError(f"{what} is {number}; expected at least 1")
        self.n_calibration, self.shard_size = n_calibration, shard_size
        self.calibration_shard_size = calibration_shard_size
        self.retries, self.threads = max(0, retries), threads
        self._data, self._labels = self._each("data", data), self._each("labels", labels)
        self._calibration = self._each("calibration data", calibration)
        self._flags = {scheme: _flags(scheme) for scheme in self.schemes}
        _check_chips(self.chips)
        for path in (*self.models.values(), *filter(None, (
                *self._data.values(), *self._labels.values(), *self._calibration.values()))):
            if not os.path.exists(path):
                raise StudyError(f"{path}: there is no such file")

    def _each(self, what: str, given: Any) -> dict[str, str | None]:
        if not isinstance(given, Mapping):
            path = None if given is None else os.fspath(given)
            return {name: path for name in self.models}
        for name in given:
            if name not in self.models:
                raise unknown(f"model, for which there is {what},", name, self.models)
        return {name: os.fspath(given[name]) if name in given else None for name in self.models}

    # --- the plan

    def _plan(self) -> _Plan:
        plan = _Plan()
        for name, path in self.models.items():
            rows = [_Row(name, s, c) for s in self.schemes for c in self.chips]
            plan.rows += rows
            try:
                self._plan_model(plan, name, path, rows)
            except StudyError as error:  # of this model alone
                for row in rows:
                    row.error = str(error)
        return plan

    def _plan_model(self, plan: _Plan, name: str, path: str, rows: Sequence[_Row]) -> None:
        shown = _ask("show", path, "--json")
        if shown.returncode:
            raise StudyError(_sentence(shown))
        inputs, data = json.loads(shown.stdout)["inputs"], self._data[name]
        if data is None:
            raise StudyError(f"model {name!r} has no data")
        samples = Samples(Path(data), inputs)
        calibration = Samples(Path(self._calibration[name] or data), inputs)
        plan.labels[name] = self._read_labels(name, samples.n)
        extra = {"program": str(quern.program()), "threads": self.threads}
        model = plan.model(path)
        ranges = self._shards(plan, calibration)
        shards = [plan.shard(samples, i, i + self.shard_size)
                  for i in range(0, samples.n, self.shard_size)]
        floats = [plan.task("reference", f"{name}: float outputs {i}", {}, extra, model=model,
                            samples=shard) for i, shard in enumerate(shards)]
        for row in rows:
            title, chip = f"{name} {row.scheme}", {"chip": row.chip}
            parts = {"model": model}
            if row.scheme != FLOAT:
                row.keys["quantize"] = self._plan_quantize(plan, row, extra, model, ranges)
                parts = {"quantized": row.keys["quantize"]}
            row.keys["estimate"] = plan.task("estimate", f"{title} {row.chip}", chip, extra,
                                             **parts)
            row.keys["evaluate"] = [
                plan.task("evaluate", f"{title} {row.chip}: shard {i}", chip, extra,
                          samples=shard, reference=want, **parts)
                for i, (shard, want) in enumerate(zip(shards, floats))]

    def _shards(self, plan: _Plan, calibration: Samples) -> list[str]:
        n = min(self.n_calibration, calibration.n)
        size = self.calibration_shard_size or max(n, 1)
        return [plan.shard(calibration, i, min(i + size, n)) for i in range(0, n, size)]

    def _plan_quantize(self, plan: _Plan, row: _Row, extra: Mapping[str, Any], model: str,
                       ranges: Sequence[str]) -> str:
        """By all samples at once, or by shards of them; one shard gives the same model."""
        title, flags = f"{row.model} {row.scheme}", self._flags[row.scheme]
        if not self.calibration_shard_size:
            return plan.task("quantize", title, {"flags": flags}, extra, model=model,
                             calibration=ranges[0])
        flags = [*flags, "--repair", _EXACT]
        states = [plan.task("calibrate", f"{title}: samples {i}", {"flags": flags}, extra,
                            model=model, calibration=shard) for i, shard in enumerate(ranges)]
        return plan.task("quantize", title, {"flags": flags}, extra, model=model,
                         **{f"state{i}": key for i, key in enumerate(states)})

    def _read_labels(self, name: str, n: int) -> list[int] | None:
        import numpy as np
        path = self._labels[name]
        if path is None:
            return None
        try:
            found = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise StudyError(f"{path}: not a file of numpy: {error}") from error
        if found.shape != (n,) or found.dtype.kind not in "iu":
            raise StudyError(f"{path}: has {found.dtype} of shape {list(found.shape)}; expected "
                             f"{n} integers, one a sample")
        return [int(label) for label in found]

    # --- running

    def run(self, ray: bool | str = False, workers: int | None = None,
            progress: Callable[[int, int, str], None] | None = None) -> Table:
        """Runs the missing tasks and writes the table; failed tasks are rows with an error.

        progress is called with the number of finished tasks, their total and a text; by default a
        bar is shown on a terminal or in a notebook.
        """
        with Store(self.out).opened() as store, Bar("study") as bar:
            plan = self._plan()
            tasks = [t for t in plan.tasks.values() if store.result(t.key) is None]
            count, bar.total = 0, len(tasks)

            def done(task: Task, error: str | None) -> None:
                nonlocal count
                count += 1
                if progress:
                    progress(count, len(tasks), f"{task.kind} {task.title}" + (
                        f": {error}" if error else ""))
                else:
                    bar.what = f"{task.kind} {task.title}"[:60]
                    bar.step()

            def part(key: str) -> Any:
                return plan.part(key, store)

            failures = {}
            if ray and tasks:
                failures = _study_ray.run(tasks, part, store, self.retries,
                                          ray if isinstance(ray, str) else None, workers,
                                          _skipped, done)
            elif tasks:
                failures = _run_here(tasks, part, store, self.retries, done)
            rows = [self._row(plan, row, store, failures) for row in plan.rows]
            files = _study_table.write(self.out, rows, f"Study {self.out.name}")
        return Table(rows, files, len(tasks))

    def _row(self, plan: _Plan, row: _Row, store: Store,
             failures: Mapping[str, str]) -> dict[str, Any]:
        out: dict[str, Any] = {c: None for c in _study_table.COLUMNS}
        out.update(model=row.model, scheme=row.scheme, chip=row.chip, status="ok")
        keys = [k for v in row.keys.values() for k in (v if isinstance(v, list) else [v])]
        needed = [*keys, *(k for key in row.keys.get("evaluate", ())
                           for k in plan.tasks[key].parts.values())]
        errors = [failures[key] for key in needed if key in failures]
        if row.error is not None or errors:
            out.update(status="failed", error=row.error if row.error is not None else errors[0])
        if row.error is not None:
            return out
        found = {key: store.result(key) for key in keys}
        shards = [found[key] for key in row.keys["evaluate"]]
        if all(shard is not None for shard in shards):
            out.update(_study_tasks.merge([s for s in shards if s], plan.labels[row.model]))
        for kind, columns in (("estimate", ("ms", "low_ms", "high_ms", "fitted")),
                              ("quantize", ("constant_bytes",))):
            result = found.get(row.keys.get(kind, ""))
            out.update({c: result[c] for c in columns} if result else {})
        return out


def _skipped(task: Task, failures: Mapping[str, str]) -> str | None:
    """The failure of a task that this one needs."""
    return next((failures[key] for key in task.parts.values() if key in failures), None)


def _run_here(tasks: Sequence[Task], part: Callable[[str], Any], store: Store, retries: int,
              done: Callable[[Task, str | None], None]) -> dict[str, str]:
    failures: dict[str, str] = {}
    for task in tasks:
        error = _skipped(task, failures)
        if error is None:
            parts = {name: part(key) for name, key in task.parts.items()}
            result, blob, error = _study_tasks.attempt(task.kind, task.options, parts,
                                                       str(store.tmp), retries)
        if error is None:
            store.save(task.key, {"title": task.title}, result, blob)
        else:
            failures[task.key] = error
        done(task, error)
    return failures


# --- the command

def _pairs(words: Sequence[str]) -> Any:
    """PATH... or NAME=PATH..."""
    if not any("=" in word for word in words):
        return list(words)
    for word in words:
        if "=" not in word:
            raise StudyError(f"{word!r}: either all have a name, as NAME=PATH, or none")
    return dict(word.split("=", 1) for word in words)


def _one_or_pairs(words: Sequence[str] | None) -> Any:
    pairs = _pairs(words) if words else None
    if isinstance(pairs, list) and len(pairs) > 1:
        raise StudyError("one path for all models, or NAME=PATH for each")
    return pairs[0] if isinstance(pairs, list) else pairs


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m quern.study", description=(
        "Quantizes models by several schemes, runs them on modelled chips against their float "
        "outputs, estimates their latency, and writes a table and a page. The same command again "
        "goes on where the last one ended."))
    p.add_argument("--models", nargs="+", required=True, metavar="[NAME=]MODEL")
    p.add_argument("--schemes", nargs="+", required=True, metavar="SCHEME[:METHOD]",
                   help=f"{', '.join(SCHEMES)}, {FLOAT}")
    p.add_argument("--chips", nargs="+", required=True, metavar="SOC", help="see 'quern socs'")
    p.add_argument("--data", nargs="+", required=True, metavar="[NAME=]DATA",
                   help="samples: .npz, .npy or folder, for all models or each")
    p.add_argument("--out", required=True, metavar="DIR")
    p.add_argument("--calibration", nargs="+", metavar="[NAME=]DATA",
                   help="samples to choose ranges by; default: the first of --data")
    p.add_argument("--n-calibration", type=int, default=100, metavar="N",
                   help="how many of them (default 100)")
    p.add_argument("--calibration-shard-size", type=int, metavar="N",
                   help="calibrate in tasks of so many samples, without repairs that look at them")
    p.add_argument("--labels", nargs="+", metavar="[NAME=]FILE", help="classes of samples, .npy")
    p.add_argument("--shard-size", type=int, default=100, metavar="N",
                   help="samples of a task (default 100)")
    p.add_argument("--retries", type=int, default=1, metavar="N", help="of a task that fails")
    p.add_argument("--threads", type=int, metavar="N", help="of a task (default: all; on Ray 1)")
    p.add_argument("--ray", nargs="?", const=True, default=False, metavar="ADDRESS",
                   help="run on Ray: started here, or a cluster at an address")
    p.add_argument("--workers", type=int, metavar="N", help="of a Ray that is started here")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    o = _parser().parse_args(argv)
    try:
        threads = o.threads or (1 if o.ray else None)
        study = Study(_pairs(o.models), o.schemes, o.chips, _one_or_pairs(o.data), o.out,
                      calibration=_one_or_pairs(o.calibration), labels=_one_or_pairs(o.labels),
                      n_calibration=o.n_calibration, shard_size=o.shard_size,
                      calibration_shard_size=o.calibration_shard_size, retries=o.retries,
                      threads=threads)
        table = study.run(ray=o.ray, workers=o.workers)
    except (ValueError, OSError) as error:
        print(f"quern.study: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"quern.study: interrupted; what is done is kept in {o.out}, the same command goes "
              "on from there", file=sys.stderr)
        return 130
    for row in table.failed:
        print(f"quern.study: {row['model']} {row['scheme']} {row['chip']}: {row['error']}",
              file=sys.stderr)
    if not any(path.suffix == ".parquet" for path in table.files):
        print("quern.study: no results.parquet: pyarrow is not installed (pip install pyarrow)",
              file=sys.stderr)
    print(f"{len(table.rows)} rows, {len(table.failed)} failed, {table.n_run} tasks run: "
          f"{', '.join(map(str, table.files))}")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
