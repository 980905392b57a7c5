# SPDX-License-Identifier: MIT
"""What the tests of the package share: places, and which onnxruntime there is."""
import os
import re
import sys
from pathlib import Path

import onnxruntime as ort

ROOT = Path(__file__).resolve().parents[2]
LIB = Path(os.environ.get("QUERN_LIB_DIR", ROOT / "build" / "lib")).resolve()
sys.path[:0] = [str(ROOT / "tests" / "clients"), str(ROOT / "scripts")]
VERSION = tuple(map(int, re.findall(r"\d+", ort.__version__)[:2]))
# Marks of tests that need an onnxruntime which is new enough.
MARKS = ("provider", "quantizer")
NEW_ENOUGH = VERSION >= (1, 24)
