# SPDX-License-Identifier: MIT
"""Sessions of the provider with failing allocations: an exception or the right result, no crash."""
import os
import re
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort
import pytest
from programs import FULL, PROGRAMS, SHIM

HOST = Path(__file__).parent / "provider_host.py"
LIBRARIES = Path(PROGRAMS["quern"]).resolve().parent.parent / "lib"


@pytest.mark.skipif(tuple(map(int, re.findall(r"\d+", ort.__version__)[:2])) < (1, 24),
                    reason=f"onnxruntime {ort.__version__} takes no such provider")
def test_a_session_without_memory_is_an_exception_or_right(tmp_path):
    """Only allocations of our libraries fail: what ONNX Runtime does without memory is its own."""
    shim = os.path.abspath(SHIM)
    p = subprocess.run([sys.executable, "-B", HOST, shim, tmp_path, "0" if FULL else "8"],
                       capture_output=True, text=True, timeout=3000 if FULL else 280,
                       env={**os.environ, "LD_PRELOAD": shim, "FAULT_IN": str(LIBRARIES),
                            "QUERN_LIB_DIR": str(LIBRARIES)})
    last = p.stdout.strip().splitlines()[-1:]
    assert p.returncode == 0, (p.returncode, last, p.stderr[-3000:])
    assert re.fullmatch(r"\d+ faults survived", last[0])
