# SPDX-License-Identifier: MIT
"""Text from language models: the program `quern generate`, and its answers as objects."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable

from quern._cli import error, flags, warn


@dataclass(frozen=True)
class Generated:
    """What a model answered."""

    text: str
    tokens: list[int]
    end: str  # end, stop, limit, context or interrupted
    statistics: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text


def _listen(lines: Iterable[bytes], stream: Callable[[str], object] | None,
            stop: Callable[[], None]) -> dict[str, Any] | None:
    """Hands each piece of text on; returns the result, which is the last line."""
    for line in lines:
        event = json.loads(line)
        if "statistics" in event:
            return dict(event)
        if "text" in event and stream is not None and stream(event["text"]) is False:
            stop()
            stream = None
    return None


def run(program: Path, models: Iterable[str | os.PathLike[str]], prompt: str,
        stream: Callable[[str], object] | None, stop: Iterable[str],
        options: dict[str, object]) -> Generated:
    command = [os.fspath(program), "generate", "--events", "--prompt-file=-", *flags(**options),
               *[f"--stop={text}" for text in stop], "--", *(os.fspath(one) for one in models)]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as asked:
        asked.write(prompt.encode())
        asked.seek(0)
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=said) as process:
            try:
                result = _listen(process.stdout or [], stream,
                                 lambda: process.send_signal(signal.SIGINT))
            except BaseException:
                process.kill()
                raise
        said.seek(0)
        words = said.read().decode(errors="replace")
    if process.returncode or result is None:
        raise error(process.returncode, words, "generate")
    warn(words, stacklevel=3)
    return Generated(result["text"], result["tokens"], result["end"], result["statistics"])
