# SPDX-License-Identifier: MIT
"""The folder of a study: one file for each task that is done, written whole or not at all.

    DIR/tasks/KEY.json   what a task found
    DIR/blobs/KEY.zip    what further tasks need of it: a quantized model, float outputs
    DIR/tmp/             work in progress; what is left in it after a crash is removed
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Iterator


class StudyError(ValueError):
    """What keeps a study from running, in one sentence."""


def write_whole(path: Path, data: bytes) -> None:
    """The file has either its old or its new contents, however the process ends. Nothing waits for
    the disk: a result that a loss of power damaged is found damaged, and computed again."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


class Store:
    """Results by the key of their task."""

    def __init__(self, folder: Path):
        self.folder = folder = folder.absolute()
        self.tmp = folder / "tmp"
        self._tasks, self._blobs = folder / "tasks", folder / "blobs"

    @contextlib.contextmanager
    def opened(self) -> Iterator["Store"]:
        """The folder exists and belongs to this process."""
        try:
            for each in (self._tasks, self._blobs):
                each.mkdir(parents=True, exist_ok=True)
            with open(self.folder / ".lock", "w", encoding="ascii") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise StudyError(f"{self.folder}: another study is running there") from error
                self._clean()
                self.tmp.mkdir(exist_ok=True)
                try:
                    yield self
                finally:
                    shutil.rmtree(self.tmp, ignore_errors=True)
        except OSError as error:
            raise StudyError(f"{error.filename or self.folder}: {error.strerror}; what is done is "
                             "kept") from error

    def _clean(self) -> None:
        shutil.rmtree(self.tmp, ignore_errors=True)
        for folder in (self.folder, self._tasks, self._blobs):
            for path in folder.glob(".*.*"):
                path.unlink()

    def result(self, key: str) -> dict[str, Any] | None:
        """None: the task is not done, or its file is damaged."""
        try:
            found = json.loads((self._tasks / f"{key}.json").read_bytes())
            size = found["blob_bytes"]
            if size is not None and self._blob_path(key).stat().st_size != size:
                return None
            result = found["result"]
            return result if isinstance(result, dict) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _blob_path(self, key: str) -> Path:
        return self._blobs / f"{key}.zip"

    def blob(self, key: str) -> bytes:
        return self._blob_path(key).read_bytes()

    def save(self, key: str, about: dict[str, Any], result: dict[str, Any],
             blob: bytes | None) -> None:
        if blob is not None:
            write_whole(self._blob_path(key), blob)
        text = json.dumps({**about, "result": result,
                           "blob_bytes": None if blob is None else len(blob)}, sort_keys=True)
        write_whole(self._tasks / f"{key}.json", text.encode())
