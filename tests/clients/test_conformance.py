# SPDX-License-Identifier: MIT
"""A sample of ONNX's own cases through the public provider; conformance.py runs all of them."""
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

PROGRAM = Path(__file__).with_name("conformance.py")


def test_a_sample_of_the_cases_is_answered_as_listed():
    done = subprocess.run([sys.executable, PROGRAM, "--every", "16"], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" pass") >= 3
