# SPDX-License-Identifier: MIT
"""Binaries of `quern compile`, wrapped by `quern wrap`, in sessions of both providers."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, LIB, NAME, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import assignment, conv_net, images  # noqa: E402

QUERN = Path(os.environ.get("QUERN_BIN", LIB.parent / "bin" / "quern"))


def quern(*args):
    if not QUERN.exists():
        pytest.skip(f"there is no {QUERN}")
    subprocess.run([QUERN, *map(str, args)], check=True, capture_output=True)


@pytest.fixture(params=[[], ["--embed"]], ids=["beside", "embedded"])
def wrapped(tmp_path, request):
    (tmp_path / "net.onnx").write_bytes(conv_net(seed=1))
    quern("compile", tmp_path / "net.onnx", "-o", tmp_path / "net.bin", "--soc", "SM8650")
    quern("wrap", tmp_path / "net.bin", "-o", tmp_path / "ctx.onnx", *request.param)
    return tmp_path / "ctx.onnx"


@pytest.fixture(scope="module")
def expected():
    x = images(5, 1)[0]
    return x, session(conv_net(seed=1), HTP).run(None, {"x": x})[0]


def test_our_provider_runs_it(wrapped, expected):
    s = session(str(wrapped), HTP)
    assert assignment(s) == {NAME: ["EPContext"]}
    assert np.array_equal(s.run(None, {"x": expected[0]})[0], expected[1])


PUBLIC = """
import sys, numpy as np
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
from qnn_provider import register, run, session
s = session(Path(sys.argv[2]), register(), {"session.disable_cpu_ep_fallback": "1"})
np.save(sys.argv[4], run(s, np.load(sys.argv[3])))
"""


def test_the_public_provider_runs_it(wrapped, expected, tmp_path):
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    np.save(tmp_path / "x.npy", expected[0])
    folder = Path(__file__).resolve().parent.parent / "clients"
    subprocess.run([sys.executable, "-c", PUBLIC, str(folder), str(wrapped),
                    str(tmp_path / "x.npy"), str(tmp_path / "y.npy")], check=True)
    assert np.array_equal(np.load(tmp_path / "y.npy"), expected[1])


def test_a_session_for_nobody_says_whose_the_model_is(wrapped):
    with pytest.raises(Exception, match="EPContext"):
        ort.InferenceSession(str(wrapped), providers=["CPUExecutionProvider"])
