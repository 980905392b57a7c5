# SPDX-License-Identifier: MIT
"""The guide of docs/quantize.md: its commands run, and the models are as bad and as good as it
says by ONNX Runtime's count."""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import BIN

ort = pytest.importorskip("onnxruntime")
ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"


def accuracy(path):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    best = [session.run(None, {"image": x[None].astype(np.float32)})[0].argmax() for x in images]
    return (np.array(best) == labels).mean()


def test_the_commands_of_the_guide(tmp_path):
    page = (ROOT / "docs" / "quantize.md").read_text()
    section = page[page.index("## A model that breaks in 8 bits"):]
    commands = re.search(r"```sh\n(.*?)```", section, re.S).group(1)
    commands = commands.replace("python scripts", f"{sys.executable} {ROOT}/scripts")
    env = {**os.environ, "PATH": f"{Path(BIN).resolve().parent}:{os.environ['PATH']}"}
    p = subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path, env=env, capture_output=True,
                       text=True, timeout=120)
    assert p.returncode == 0, p.stderr
    db = {w[0]: float(w[2]) for w in map(str.split, p.stdout.splitlines())
          if len(w) > 5 and w[0] in ("r1_q", "r2_q")}
    assert db["r1_q"] > 35 and db["r2_q"] < 3
    assert "equalize: channels after 1 layer " in p.stdout
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert accuracy(tmp_path / "uneven.onnx") == 1
    assert accuracy(tmp_path / "broken.onnx") < 0.5 and accuracy(tmp_path / "repaired.onnx") > 0.98
