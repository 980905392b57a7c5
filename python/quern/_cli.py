# SPDX-License-Identifier: MIT
"""The program `quern` as a function: arguments in, its JSON out, its error line as an exception."""
from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
import warnings
from pathlib import Path
from typing import Any, Iterable, Mapping

from quern._progress import Bar, wanted

_USAGE, _MODEL, _INPUT = 2, 3, 4  # exit codes of the program


def flags(**options: object) -> list[str]:
    """Options that are given, as the program spells them; a list or mapping repeats the flag."""
    found = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            found.append(word)
        elif isinstance(value, Mapping):
            found += [f"{word}={key}={_text(one)}" for key, one in value.items()]
        elif isinstance(value, (list, tuple)):
            found += [f"{word}={_text(one)}" for one in value]
        elif value is not None and value is not False:
            found.append(f"{word}={_text(value)}")
    return found


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _as_python(text: str) -> str:
    """A message of the program, with its flags as the arguments of Python."""
    def dims(found: re.Match[str]) -> str:
        names = re.findall(r"--dim (\S+)=SIZE", found[0])
        return "dims={" + ", ".join(f'"{name}": SIZE' for name in names) + "}"

    text = re.sub(r"--dim \S+=SIZE(?: --dim \S+=SIZE)*(?=[\s;,.]|$)", dims, text)
    def places(found: re.Match[str]) -> str:
        names = re.findall(r"(\S+)=SIZE", found[0])
        return "use dims={" + ", ".join(f'"{name}": SIZE' for name in names) + "} or shapes="

    text = text.replace(", or give a .npy file", "")
    text = re.sub(r"use (?:\S+=SIZE,? )+or --shape", places, text)
    text = re.sub(r"--dim '(\S+)=(\S+)'", r'dims={"\1": \2}', text)
    text = re.sub(r"--shape '?([^\s=']+)=([\dN]+(?:,[\dN.]+)*)'?",
                  lambda found: f'shapes={{"{found[1]}": ({found[2].replace(",", ", ")})}}', text)
    text = re.sub(r"unknown flag '--([\w-]+)(?:=[^']*)?'",
                  lambda found: f"unknown argument '{found[1].replace('-', '_')}'", text)
    text = re.sub(r"did you mean '--([\w-]+)'",
                  lambda found: f"did you mean '{found[1].replace('-', '_')}'", text)
    text = re.sub(r"--(dim|shape) (?=')", r"\1s: ", text)
    return re.sub(r"--([a-z][a-z0-9-]*) (?=')",
                  lambda found: found[1].replace("-", "_") + "=", text)


def error(code: int, said: str, command: str) -> Exception:
    """The exception for an error line of the program."""
    lines = [line.removeprefix("quern: ") for line in said.splitlines()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    text = errors[-1] if errors else said.strip() or f"quern {command} ended with code {code}"
    text = _as_python(text)
    if "No such file" in text:
        return FileNotFoundError(text)
    return ValueError(text) if code in (_USAGE, _INPUT) else RuntimeError(text)


def warn(said: str, stacklevel: int) -> None:
    """Warnings of the program as warnings of Python, at the caller's line."""
    for line in said.splitlines():
        if line.startswith("quern: warning: "):
            warnings.warn(_as_python(line.removeprefix("quern: warning: ")), RuntimeWarning,
                          stacklevel=stacklevel + 1)


def call(program: Path, command: str, arguments: Iterable[str | os.PathLike[str]],
         options: Iterable[str], *, stacklevel: int = 3,
         environment: Mapping[str, str] | None = None) -> str:
    """What the command prints. A model that a backend rejects (code 3) is a report if it is one."""
    line = [os.fspath(program), command, *options, "--", *(os.fspath(one) for one in arguments)]
    ran = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True,
                         env={**os.environ, **(environment or {})})
    said, printed = ran.stderr.decode(errors="replace"), ran.stdout.decode(errors="replace")
    if ran.returncode and not (ran.returncode == _MODEL and printed.lstrip().startswith("{")):
        raise error(ran.returncode, said, command)
    warn(said, stacklevel)
    return printed


_BAR = re.compile(r"(\w+) \[#* *\] (\d+)/(\d+)")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")


def _follow(terminal: int, said: list[str]) -> None:
    """Draws the bars that the program draws, and keeps the rest of what it says."""
    with Bar("quern") as bar, contextlib.suppress(OSError):  # EIO: the program has ended
        while data := os.read(terminal, 4096):
            text = data.decode(errors="replace")
            for bar.what, done, total in _BAR.findall(text):
                bar.done, bar.total = int(done), int(total)
                bar.draw()
            said.append(_ESCAPES.sub("", text))


def watched(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the program. If progress is shown, it gets a terminal for its progress bars, which are
    drawn here: a notebook has none."""
    if not wanted():
        return subprocess.run(command, capture_output=True, text=True, errors="replace")
    said: list[str] = []
    ours, theirs = os.openpty()
    try:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=theirs, text=True, errors="replace") as process:
            os.close(theirs)
            reader = threading.Thread(target=_follow, args=(ours, said), daemon=True)
            reader.start()
            printed = process.communicate()[0]
            reader.join()
    finally:
        os.close(ours)
    return subprocess.CompletedProcess(command, process.returncode, printed, "".join(said))


def report(program: Path, command: str, arguments: Iterable[str | os.PathLike[str]],
           options: Iterable[str], *, stacklevel: int = 3) -> Any:
    """The report of a command, from its JSON."""
    printed = call(program, command, arguments, ["--json", *options], stacklevel=stacklevel + 1)
    try:
        return json.loads(printed)
    except ValueError as wrong:
        raise RuntimeError(f"quern {command}: its report is no JSON ({wrong})") from wrong
