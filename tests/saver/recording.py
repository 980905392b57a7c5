# SPDX-License-Identifier: MIT
"""Recordings of the Saver as tests use them: compiled with every warning an error, replayed."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", *os.environ.get("SAVER_CFLAGS", "").split()]


def run(*command, env=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def compiled(folder, *flags):
    """The program of a recording; without flags, one that takes the library as an argument."""
    if not shutil.which(CC):
        pytest.skip(f"there is no C compiler '{CC}'")
    assert {"saver_output.c", "params.bin"} <= {p.name for p in folder.iterdir()}
    program = folder / "replay"
    run(CC, *FLAGS, "-I", ROOT / "include" / "QNN", folder / "saver_output.c",
        *(flags or ["-DREPLAY_DLOPEN"]), "-o", program, "-ldl")
    return program


def replayed(program, library, env=None):
    """The bytes of all outputs of a replay, in the order of the calls."""
    out = program.parent / "out" / Path(library).stem  # the program makes both
    run(program, "-p", program.parent / "params.bin", "-o", out, library, env=env)
    files = sorted(out.iterdir(), key=lambda p: int(p.name.split("_")[0]))
    return [p.read_bytes() for p in files]
