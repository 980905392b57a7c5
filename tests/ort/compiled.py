# SPDX-License-Identifier: MIT
"""Libraries that tests compile."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")


def compile_library(source, target, *more):
    if not shutil.which(CC):
        pytest.skip(f"there is no C compiler '{CC}'")
    subprocess.run([CC, "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden",
                    "-I", ROOT / "include" / "QNN", *more, source, "-o", target, "-ldl"],
                   check=True)
    return target
