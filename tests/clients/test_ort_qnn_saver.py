# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider with qnn_saver_path: the calls that it would make on the HTP,
recorded, replayed on our libQnnHtp.so, and equal to its own session there."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "saver"))
from ort_models import conv_net  # noqa: E402
from recording import compiled, replayed  # noqa: E402

LIB = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
OPTIONS = ["soc_model=57", "htp_performance_mode=burst", "vtcm_mb=4"]


def run(folder, *options):
    """A session in a process of its own: the provider keeps libraries that it has opened."""
    subprocess.run([sys.executable, HERE / "qnn_provider.py", folder / "model.onnx",
                    folder / "x.npy", folder / "y.npy", *OPTIONS, *options], check=True,
                   cwd=folder, timeout=120, env={**os.environ, "QUERN_LIB_DIR": str(LIB),
                                                 "QUERN_SAVER_BACKEND": "htp"})
    return np.load(folder / "y.npy")


def test_a_recording_computes_what_the_provider_does(tmp_path):
    (tmp_path / "model.onnx").write_bytes(conv_net(seed=1))
    x = np.random.default_rng(2).standard_normal((1, 3, 20, 17)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    want = run(tmp_path)
    run(tmp_path, f"qnn_saver_path={LIB / 'libQnnSaver.so'}")  # computes nothing
    text = (tmp_path / "saver_output" / "saver_output.c").read_text()
    assert ".socModel = 57" in text and ".vtcmSizeInMB = 4" in text and "setPowerConfig" in text
    got = replayed(compiled(tmp_path / "saver_output"), LIB / "libQnnHtp.so")
    assert got == [want.tobytes()]
