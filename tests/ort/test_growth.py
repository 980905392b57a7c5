# SPDX-License-Identifier: MIT
"""Many sessions with every feature that holds memory, files or threads: nothing stays behind."""
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, devices, needs_memory, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net, images  # noqa: E402
from test_runs import long_net  # noqa: E402

N_WARM, N_SESSIONS = 20, 60


def use():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"bytes": pages * os.sysconf("SC_PAGE_SIZE"),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")),
            "mappings": Path("/proc/self/maps").read_text().count("\n")}


def run_shared(s, x):
    info = devices("npu")[0].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    value = ort.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32, memory_info=info)
    value.update_inplace(x)
    b = s.io_binding()
    b.bind_ortvalue_input("x", value)
    b.bind_output(s.get_outputs()[0].name)
    s.run_with_iobinding(b)
    return b.copy_outputs_to_cpu()[0]


def main(kind, folder):
    net, x, options, config = conv_net(seed=1), images(1, 1)[0], dict(HTP), {}
    want = session(net, options).run(None, {"x": x})[0]
    # A run that takes long enough to be watched, as any run may on a busy machine.
    session(long_net(12), HTP).run(None, {"x": np.ones((896, 896), np.float32)})
    if kind == "files":
        options |= {"enable_framework_op_trace": "1", "framework_op_trace_dir": folder,
                    "dump_json_qnn_graph": "1", "json_qnn_graph_dir": folder,
                    "dump_qnn_ep_input_graph": "1", "dump_qnn_ep_input_graph_dir": folder}
    elif kind == "reload":
        options["enable_htp_prepare_and_load"] = "1"
    else:
        options["enable_htp_shared_memory_allocator"] = "1"
        path = os.path.join(folder, "c.onnx")
        session(net, options, {"ep.context_enable": "1", "ep.context_file_path": path})
        net = path
        options["enable_vtcm_backup_buffer_sharing"] = "1" if kind == "list" else "0"
    found = []
    for i in range(N_WARM + N_SESSIONS):
        if i in (N_WARM, N_WARM + N_SESSIONS // 2):
            found.append(use())
        s = session(net, options, config)
        got = run_shared(s, x) if kind in ("list", "shared") else s.run(None, {"x": x})[0]
        assert np.array_equal(got, want)
        del s
    print(json.dumps([*found, use()]))


@pytest.mark.parametrize("kind", ["files", "reload", pytest.param("list", marks=needs_memory),
                                  pytest.param("shared", marks=needs_memory)])
def test_sessions_leave_nothing_behind(tmp_path, kind):
    # With an arena for each thread mappings come and go with the moment at which threads run.
    done = subprocess.run([sys.executable, __file__, kind, str(tmp_path)], capture_output=True,
                          text=True, timeout=300, env={**os.environ, "MALLOC_ARENA_MAX": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    before, mid, after = json.loads(done.stdout.splitlines()[-1])
    # What leaks grows in both halves; a thread that starts at another moment makes one step.
    assert min(mid["bytes"] / before["bytes"], after["bytes"] / mid["bytes"]) <= 1.005, done.stdout
    for key in ("descriptors", "threads", "mappings"):
        assert min(mid[key] - before[key], after[key] - mid[key]) <= 0, (key, done.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
