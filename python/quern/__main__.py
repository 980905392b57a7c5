# SPDX-License-Identifier: MIT
"""`python -m quern` says what is installed; with arguments it is the program `quern`."""
from __future__ import annotations

import os
import platform
import sys
from typing import NoReturn

import quern


def _onnxruntime() -> str:
    try:
        found = quern._onnxruntime()
    except ImportError as error:
        return str(error)
    return f"{found.__version__} ({os.path.dirname(found.__file__)})"


def report() -> str:
    """Versions and paths, a line each."""
    lines = [("quern", f"{quern.__version__} ({os.path.dirname(quern.__file__)})"),
             ("python", f"{platform.python_version()} ({sys.executable})"),
             ("onnxruntime", _onnxruntime()),
             ("libraries", str(quern.libs()))]
    try:
        files = [(path.name, path) for path in sorted(quern.libs().glob("*.so"))]
        lines += [("", f"{name}, {path.stat().st_size / 1e6:.1f} MB") for name, path in files]
        lines.append(("program", str(quern.program())))
    except OSError as error:
        lines.append(("program", str(error)))
    return "\n".join(f"{name:<12} {text}" for name, text in lines)


def tool() -> NoReturn:
    """The command `quern`: this process becomes the program."""
    try:
        path = quern.program()
        os.execv(path, ["quern", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"quern: {error}")


def main() -> None:
    if len(sys.argv) > 1:
        tool()
    print(report())


if __name__ == "__main__":
    main()
