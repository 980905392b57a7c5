# SPDX-License-Identifier: MIT
"""A spy between provider and backend."""
import ctypes
import os
import re
from pathlib import Path

import onnxruntime as ort
import pytest

from compiled import ROOT, compile_library
from provider import LIB


def pytest_collection_modifyitems(items):
    """Python 3.10 has no onnxruntime that takes the provider."""
    if tuple(map(int, re.findall(r"\d+", ort.__version__)[:2])) < (1, 24):
        for item in items:
            if Path(item.fspath).parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason=f"onnxruntime {ort.__version__}"))


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
