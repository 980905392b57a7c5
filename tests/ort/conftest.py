# SPDX-License-Identifier: MIT
"""Libraries that the tests compile: a spy between provider and backend, an op package."""
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from provider import LIB

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")


def compile_library(source, target, *more):
    if not shutil.which(CC):
        pytest.skip(f"there is no C compiler '{CC}'")
    subprocess.run([CC, "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden",
                    "-I", ROOT / "include" / "QNN", *more, source, "-o", target, "-ldl"],
                   check=True)
    return target


@pytest.fixture(scope="session")
def spy_library(tmp_path_factory):
    """A folder with a libSpyHtp.so that tells what it is called with."""
    ctypes.CDLL(str(LIB / "libQnnHtp.so"))  # it must be there before a second library of its kind
    folder = tmp_path_factory.mktemp("spy")
    compile_library(ROOT / "tests" / "ort" / "spy.c", folder / "libSpyHtp.so")
    os.symlink(LIB / "libQnnSystem.so", folder / "libQnnSystem.so")
    return folder / "libSpyHtp.so"


@pytest.fixture
def spy(spy_library, tmp_path, monkeypatch):
    """Options of a session on the HTP library, and the calls it got since the last look."""
    log = tmp_path / "calls.txt"
    log.touch()
    monkeypatch.setenv("QUERN_SPY_OF", str(LIB / "libQnnHtp.so"))
    monkeypatch.setenv("QUERN_SPY", str(log))

    def calls(name=None):
        lines = log.read_text().splitlines()
        log.write_text("")
        return [line for line in lines if not name or line.split(" of ")[-1].startswith(name + " ")
                or line == name]

    calls.options = {"backend_path": str(spy_library), "soc_model": "SM8650"}
    return calls
