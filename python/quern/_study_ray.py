# SPDX-License-Identifier: MIT
"""Running the tasks of a study on Ray, which schedules them, moves what one task made to those that
need it, and starts tasks of a lost worker again."""
from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import socket
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import quern
from quern import _study_tasks
from quern._study_data import digest, digest_file
from quern._study_files import Store, StudyError
from quern._study_tasks import Task


LOST_WORKERS = 3  # a task is started again so many times when its worker is lost


@functools.lru_cache(maxsize=8)
def _digest(*paths: str) -> str:
    return digest("".join(map(digest_file, paths)).encode())


def engine() -> str:
    """A hash of what computes: the program and the libraries that it opens."""
    return _digest(*map(str, (quern.program(), quern.library("htp"), quern.library("cpu"))))


def _remote(kind: str, options: dict[str, Any], expected: str, tmp: str | None, retries: int,
            names: list[str], *parts: Any) -> Any:
    """A task on a worker: (result, error) and the zip file. The parts come from Ray as they are;
    one that is None comes from a task that failed."""
    if engine() != expected:
        return (None, f"{os.uname().nodename} has another build of Quern than the study: install "
                "the same one on all machines"), None
    if any(part is None for part in parts):
        return (None, "what it needs is not there"), None
    options = {**options, "program": str(quern.program())}
    result, blob, error = _study_tasks.attempt(kind, options, dict(zip(names, parts)), tmp, retries)
    return (result, error), blob


@contextlib.contextmanager
def _environment(address: str | None) -> Iterator[None]:
    """Workers of a Ray that is started here inherit it: they find this package, and Ray does not
    report to its makers."""
    given = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if address is None:
        places = [str(Path(quern.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        given["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _reach(address: str | None) -> None:
    """Ray itself waits for minutes for a cluster that is not there."""
    place = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address or "")
    if not place:
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise StudyError(f"Ray does not start at {address}: {error}") from error


def _start(address: str | None, workers: int | None) -> Any:
    """Ray, and whether it was started here."""
    try:
        import ray
    except ImportError as error:
        raise StudyError(f"studies on Ray need the package ray, which cannot be imported ({error}):"
                         " pip install 'quern[study]'") from error
    if ray.is_initialized():
        return ray, False
    _reach(address)
    try:
        with _environment(address):
            ray.init(address=address, num_cpus=workers if address is None else None,
                     include_dashboard=False if address is None else None, log_to_driver=False,
                     logging_level=logging.ERROR)
    except Exception as error:  # of many kinds, by version
        where = f"at {address}" if address else "here"
        raise StudyError(f"Ray does not start {where}: {str(error).splitlines()[0]}") from error
    return ray, True


def run(tasks: list[Task], part: Callable[[str], Any], store: Store, retries: int,
        address: str | None, workers: int | None, skipped: Callable[[Task, Mapping[str, str]], Any],
        done: Callable[[Task, str | None], None]) -> dict[str, str]:
    """Failures by key. `part` gives what is not made by one of `tasks`: bytes, or a path."""
    ray, mine = _start(address, workers)
    try:
        return _run(ray, tasks, part, store, retries, address, skipped, done)
    finally:
        if mine:
            ray.shutdown()


def _run(ray: Any, tasks: list[Task], part: Callable[[str], Any], store: Store, retries: int,
         address: str | None, skipped: Callable[[Task, Mapping[str, str]], Any],
         done: Callable[[Task, str | None], None]) -> dict[str, str]:
    remote = ray.remote(num_cpus=1, num_returns=2, max_retries=LOST_WORKERS)(_remote)
    made: dict[str, Any] = {}  # references by key
    pending: dict[Any, Task] = {}
    failures: dict[str, str] = {}
    tmp = str(store.tmp) if address is None else None

    def argument(key: str) -> Any:
        if key not in made:
            value = part(key)
            if isinstance(value, str) and address is not None:
                value = Path(value).read_bytes()
            made[key] = ray.put(value)
        return made[key]

    for task in tasks:
        result, blob = remote.remote(task.kind, dict(task.options), engine(), tmp, retries,
                                     list(task.parts), *map(argument, task.parts.values()))
        made[task.key] = blob
        pending[result] = task
    while pending:
        ready, _ = ray.wait(list(pending), num_returns=1, fetch_local=False)
        task = pending.pop(ready[0])
        try:
            found, reason = ray.get(ready[0])
            blob = ray.get(made[task.key]) if task.kind in _study_tasks.WITH_BLOB else None
        except ray.exceptions.RayError as error:  # a worker lost too often, no memory
            found, reason = None, f"Ray: {type(error).__name__}: {str(error).splitlines()[0]}"
        if reason is None:
            store.save(task.key, {"title": task.title}, found, blob)
        else:
            failures[task.key] = skipped(task, failures) or reason
        done(task, failures.get(task.key))
    return failures
