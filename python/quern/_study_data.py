# SPDX-License-Identifier: MIT
"""Samples of a study: where they are, how they are cut into shards, and the bytes of a shard.

A shard is an uncompressed zip file whose bytes depend only on the samples: its hash names what was
computed from it, and a cluster's workers need no files of this machine.
"""
from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from quern._study_files import StudyError

LIST = "list.txt"  # of a shard: an input list of quern, one sample a line
_DATE = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, bytes]) -> bytes:
    """A zip file that depends on the names and contents alone."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return out.getvalue()


def pack_folder(folder: Path) -> bytes:
    return pack({path.relative_to(folder).as_posix(): path.read_bytes()
                 for path in sorted(folder.rglob("*")) if path.is_file()})


def unpack(data: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_file(path: str | os.PathLike[str]) -> str:
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            total.update(part)
    return total.hexdigest()


def _load(path: Path) -> Any:
    import numpy as np
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise StudyError(f"{path}: not a file of numpy: {error}") from error


def _npy(value: Any) -> bytes:
    import numpy as np
    out = io.BytesIO()
    np.save(out, value)
    return out.getvalue()


def _fits(found: Sequence[int], wanted: Sequence[Any]) -> bool:
    return len(found) == len(wanted) and all(w in (None, n) for n, w in zip(found, wanted))


@dataclass
class Samples:
    """The samples for a model: arrays that are cut along their first dimension, or files."""
    path: Path
    inputs: Sequence[Mapping[str, Any]]  # of the model: name and shape
    n: int = 0
    _arrays: dict[str, Any] = field(default_factory=dict)  # whole, by input
    _batch: dict[str, int] = field(default_factory=dict)  # rows of a sample; 0: one without a batch
    _files: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path.is_dir():
            self._open_folder()
        elif self.path.suffix in (".npy", ".npz"):
            self._open_arrays()
        elif not self.path.exists():
            raise StudyError(f"{self.path}: there is no such data")
        else:
            raise StudyError(f"{self.path}: expected a .npy or .npz file or a folder of them")
        if self.n == 0:
            raise StudyError(f"{self.path}: there is no sample in it")

    def _open_folder(self) -> None:
        self._files = sorted(p for p in self.path.iterdir() if p.suffix in (".npy", ".npz"))
        if len(self.inputs) != 1 and any(p.suffix == ".npy" for p in self._files):
            raise StudyError(f"{self.path}: a model of {len(self.inputs)} inputs needs .npz files")
        self.n = len(self._files)

    def _open_arrays(self) -> None:
        found = _load(self.path)
        if self.path.suffix == ".npy":
            if len(self.inputs) != 1:
                raise StudyError(f"{self.path}: a model of {len(self.inputs)} inputs needs a .npz")
            found = {self.inputs[0]["name"]: found}
        self._arrays = self._by_name(dict(found.items()), self.path)
        counts = {}
        for item in self.inputs:
            name, value = item["name"], self._arrays[item["name"]]
            counts[name] = self._count(name, value.shape, item["shape"])
        if len(set(counts.values())) > 1:
            raise StudyError(f"{self.path}: inputs differ in their number of samples: " +
                             ", ".join(f"{k} has {v}" for k, v in counts.items()))
        self.n = next(iter(counts.values()), 0)

    def _by_name(self, arrays: Mapping[str, Any], path: Path) -> dict[str, Any]:
        names = [item["name"] for item in self.inputs]
        if all(name in arrays for name in names):
            return {name: arrays[name] for name in names}
        if len(arrays) == len(names) and all(k.startswith("arr_") for k in arrays):
            return dict(zip(names, arrays.values()))
        raise StudyError(f"{path}: has {', '.join(arrays) or 'no array'}; the model's inputs are "
                         f"{', '.join(names)}")

    def _count(self, name: str, found: Sequence[int], wanted: Sequence[Any]) -> int:
        fixed = [d if isinstance(d, int) and d > 0 else None for d in wanted]
        if _fits(found[1:], fixed):  # one more dimension
            self._batch[name] = 0
            return int(found[0])
        rows = fixed[0] if fixed and fixed[0] else 1
        if fixed and _fits(found[1:], fixed[1:]) and found[0] % rows == 0:
            self._batch[name] = rows
            return int(found[0]) // rows
        raise StudyError(f"{self.path}: input {name!r} has shape {list(found)}; expected samples "
                         f"of {list(wanted)} one behind the other")

    def _sample(self, i: int) -> dict[str, bytes]:
        if self._files:
            path = self._files[i]
            if path.suffix == ".npy":
                return {self.inputs[0]["name"]: path.read_bytes()}
            return {k: _npy(v) for k, v in self._by_name(dict(_load(path).items()), path).items()}
        rows = self._batch
        return {name: _npy(a[i] if not rows[name] else a[i * rows[name]:(i + 1) * rows[name]])
                for name, a in self._arrays.items()}

    def shard(self, first: int, end: int) -> bytes:
        files, lines = {}, []
        for i in range(first, min(end, self.n)):
            words = []
            for k, (name, data) in enumerate(self._sample(i).items()):
                files[f"{i - first:06}_{k}.npy"] = data
                words.append(f"{name}:={i - first:06}_{k}.npy")
            lines.append(" ".join(words) + "\n")
        return pack({LIST: "".join(lines).encode(), **files})
