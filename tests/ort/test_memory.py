# SPDX-License-Identifier: MIT
"""What making a session costs in memory: weights are handed on, not copied on the way."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from provider import HTP, session

N, SIDE = 24, 1024
MB = 1 << 20
CPU = {"backend_type": "cpu"}


def write_model(path, more=()):
    """Products by 4 MB of weights each, 96 MB in all, and more nodes."""
    r = np.random.default_rng(0)
    weights = [numpy_helper.from_array(r.standard_normal((SIDE, SIDE), np.float32) / 32, f"w{i}")
               for i in range(N)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(N)]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, SIDE]) for n in ("x0", f"x{N}")]
    graph = helper.make_graph(nodes + list(more), "products", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def status(key):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024


def main(backend, path):
    before = status("VmRSS")
    options = HTP if backend == "htp" else CPU
    try:
        s = session(path, options | {"strict": "1"})
    except ort.capi.onnxruntime_pybind11_state.EPFail as e:
        assert "strict: node 'draw' (Multinomial) is rejected" in str(e), e
        s = None
    print(status("VmHWM") - before)
    x = np.ones((4, SIDE), np.float32)
    assert s is None or np.isfinite(s.run(None, {"x0": x})[0]).all()


def peak(backend, path):
    """Bytes that a new process needs for the session, and those of the file."""
    got = subprocess.run([sys.executable, __file__, backend, path], check=True, text=True,
                         capture_output=True).stdout
    return int(got), os.path.getsize(path)


@pytest.mark.parametrize("backend", ["cpu", "htp"])
def test_weights_exist_twice_and_no_third_time(tmp_path, backend):
    # Once in onnxruntime, once in the library, and a few at a time while they are packed.
    write_model(tmp_path / "m.onnx")
    used, size = peak(backend, tmp_path / "m.onnx")
    assert used < 2 * size + 96 * MB


def test_finding_out_what_is_taken_copies_no_weights(tmp_path):
    draw = helper.make_node("Multinomial", [f"x{N}"], ["drawn"], "draw", sample_size=3)
    write_model(tmp_path / "m.onnx", [draw])
    used, size = peak("htp", tmp_path / "m.onnx")
    assert used < size + 48 * MB


if __name__ == "__main__":
    main(*sys.argv[1:])
