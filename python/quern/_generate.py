# SPDX-License-Identifier: MIT
"""Text from language models: the program `quern generate`, and its answers as objects."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable

_USAGE, _INPUT = 2, 4  # exit codes of the program


@dataclass(frozen=True)
class Generated:
    """What a model answered."""

    text: str
    tokens: list[int]
    end: str  # end, stop, limit, context or interrupted
    statistics: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text


def _flags(**options: object) -> list[str]:
    """Options that are given, as the program has them."""
    flags = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            flags.append(word)
        elif value is not None and value is not False:
            given = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
            flags.append(f"{word}={given}")
    return flags


def _error(code: int, said: str) -> Exception:
    """By the error line of the program."""
    lines = [line.removeprefix("quern: ") for line in said.splitlines()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    text = errors[-1] if errors else said.strip() or f"quern generate ended with code {code}"
    if code in (_USAGE, _INPUT):
        return ValueError(text)
    return FileNotFoundError(text) if "No such file" in text else RuntimeError(text)


def _listen(lines: Iterable[bytes], stream: Callable[[str], object] | None,
            stop: Callable[[], None]) -> dict[str, Any] | None:
    """Hands each piece of text on; returns the result, which is the last line."""
    for line in lines:
        event = json.loads(line)
        if "statistics" in event:
            return event
        if "text" in event and stream is not None and stream(event["text"]) is False:
            stop()
            stream = None
    return None


def run(program: Path, models: Iterable[str | os.PathLike[str]], prompt: str,
        stream: Callable[[str], object] | None, stop: Iterable[str],
        options: dict[str, object]) -> Generated:
    command = [os.fspath(program), "generate", "--events", "--prompt-file=-", *_flags(**options),
               *[f"--stop={text}" for text in stop], "--", *map(os.fspath, models)]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as asked:
        asked.write(prompt.encode())
        asked.seek(0)
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=said) as process:
            try:
                result = _listen(process.stdout, stream,
                                 lambda: process.send_signal(signal.SIGINT))
            except BaseException:
                process.kill()
                raise
        said.seek(0)
        words = said.read().decode(errors="replace")
    if process.returncode or result is None:
        raise _error(process.returncode, words)
    for line in words.splitlines():
        if line.startswith("quern: warning: "):
            warnings.warn(line.removeprefix("quern: warning: "), RuntimeWarning, stacklevel=3)
    return Generated(result["text"], result["tokens"], result["end"], result["statistics"])
