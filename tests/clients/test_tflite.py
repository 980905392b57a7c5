# SPDX-License-Identifier: MIT
"""The same .tflite model twice on the NPU: read by our front end, and compiled by LiteRT."""
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
if platform.machine() != "x86_64":
    pytest.skip("LiteRT compiles ahead of time on x86-64 alone", allow_module_level=True)
from sdk import QUERN, install  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from check_tflite import stored  # noqa: E402

COMPILE = """
import sys
from ai_edge_litert.aot import aot_compile
from ai_edge_litert.aot.vendors.qualcomm import target
aot_compile.aot_compile(sys.argv[1], output_dir=sys.argv[2],
                        target=target.Target(target.SocModel.SM8650))
"""


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install(tmp_path_factory.mktemp("tflite") / "sdk")


def run(model, folder, *args):
    command = [QUERN, "run", model, f"image={folder}/x.npy", "-o", folder / "out", *args]
    p = subprocess.run(command, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return np.load(folder / "out" / "output_0.npy")


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_our_front_end_gives_the_bytes_of_litert_s_plugin(tmp_path, sdk, dtype):
    model, inputs, outputs, _ = stored()[f"net/{dtype}"]
    model.tofile(tmp_path / "net.tflite")
    np.save(tmp_path / "x.npy", inputs["image"])
    libs = sdk / "lib" / "x86_64-linux-clang"
    p = subprocess.run([sys.executable, "-c", COMPILE, tmp_path / "net.tflite", tmp_path / "aot"],
                       env={**os.environ, "LD_LIBRARY_PATH": str(libs)}, capture_output=True,
                       text=True)
    compiled, = (tmp_path / "aot").glob("*SM8650*.tflite")
    theirs = run(compiled, tmp_path, "--native")
    ours = run(tmp_path / "net.tflite", tmp_path, "--soc", "SM8650")
    assert theirs.tobytes() == ours.tobytes(), p.stderr[-1000:]
    limit = 1 if dtype == "int8" else 2e-3
    assert np.abs(ours.astype(np.float64) - outputs[0]).max() <= limit
