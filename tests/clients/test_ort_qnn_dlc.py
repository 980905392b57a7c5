# SPDX-License-Identifier: MIT
"""The public onnxruntime-qnn provider with dump_qnn_ir_dlc: it writes its graphs with our
libQnnIr.so, and the files compute what its own session on our libQnnHtp.so does."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "cli"))
from dlc_file import Dlc  # noqa: E402
from ort_models import conv_net  # noqa: E402

LIB = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
QUERN = LIB.parent / "bin" / "quern"


def run(folder, *options, check=True):
    """A session in a process of its own: the provider keeps libraries that it has opened."""
    return subprocess.run([sys.executable, HERE / "qnn_provider.py", folder / "model.onnx",
                           folder / "x.npy", folder / "y.npy", "soc_model=57", *options],
                          check=check, cwd=folder, timeout=120,
                          env={**os.environ, "QUERN_LIB_DIR": str(LIB)})


@pytest.mark.skipif(not QUERN.exists(), reason="the program was not built")
def test_a_dumped_graph_computes_what_the_provider_does(tmp_path):
    (tmp_path / "model.onnx").write_bytes(conv_net(seed=1))
    x = np.random.default_rng(2).standard_normal((1, 3, 20, 17)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run(tmp_path)
    want = np.load(tmp_path / "y.npy")
    run(tmp_path, "dump_qnn_ir_dlc=1", f"dump_qnn_ir_dlc_dir={tmp_path / 'dlc'}",
        f"qnn_ir_backend_path={LIB / 'libQnnIr.so'}", check=False)  # it may try to run it
    file, = (tmp_path / "dlc").iterdir()
    graph, = Dlc(file).graphs.values()
    source, = (t for t in graph.tensors.values() if t["type"] == "APP_WRITE")
    np.save(tmp_path / "in.npy", x.reshape(source["dims"]))
    subprocess.run([QUERN, "run", file, tmp_path / "in.npy", "-o", tmp_path / "out", "--soc", "57"],
                   check=True, timeout=120)
    got = np.load(tmp_path / "out" / "output_0.npy")
    assert np.array_equal(got.reshape(want.shape), want)
