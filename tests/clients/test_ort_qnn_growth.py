# SPDX-License-Identifier: MIT
"""A hundred sessions of the public onnxruntime-qnn provider on our libraries, one after the other:
memory, file descriptors and threads stay what they were after the first ones.
"""
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ort_models import conv_net, images
from qnn_provider import LIBS, register, run, session, writing

N_WARM, N_SESSIONS = 20, 100
PAGE = os.sysconf("SC_PAGE_SIZE")


def use():
    """What the process has: bytes in memory, descriptors, threads."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"bytes": pages * PAGE, "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task"))}


def main(kind, folder):
    model, options = conv_net(seed=1), {}
    device, x = register(), images(51, 1)[0]
    if kind == "cpu":
        options["backend_path"] = str(LIBS / "libQnnCpu.so")
    if kind == "context":
        context = Path(folder) / "net_ctx.onnx"
        session(model, device, writing(context))
        model = context
        options |= {"profiling_level": "detailed", "htp_performance_mode": "burst",
                    "profiling_file_path": str(Path(folder) / "profile.csv")}
    want = run(session(model, device, **options), x)
    before = None
    for i in range(N_WARM + N_SESSIONS):
        if i == N_WARM:
            before = use()
        assert np.array_equal(run(session(model, device, **options), x), want)
    print(json.dumps([before, use()]))


@pytest.mark.parametrize("kind", ["htp", "context", "cpu"])
def test_a_hundred_sessions_leave_nothing_behind(tmp_path, kind):
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    done = subprocess.run([sys.executable, __file__, kind, str(tmp_path)], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert after["bytes"] <= 1.01 * before["bytes"], (before, after)
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"]


if __name__ == "__main__":
    main(*sys.argv[1:])
