# SPDX-License-Identifier: MIT
"""Tensors in the memory of the provider's shared-memory allocator: our libcdsprpc.so gives it, and
the provider registers it with our libQnnHtp.so and executes on the registered handles.
"""
import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ort_models import conv_net, images
from qnn_provider import HTP, LIBS, NAME, SM8650, run, session

FLOAT = 1  # element type
CPU, QUALCOMM, HOST_ACCESSIBLE, DEVICE_ALLOCATOR = 0, 0x5143, 5, 0


def mapping_of(address):
    """The line of /proc/self/maps that an address lies in."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(t, 16) for t in line.split()[0].split("-"))
        if low <= address < high:
            return line
    return ""


def main(model, source, target):
    import onnxruntime_qnn

    from ort_c_api import Api, strings
    ctypes.CDLL(str(LIBS / "libcdsprpc.so"))  # the provider opens it by this name
    api, plugin = Api(), Path(onnxruntime_qnn.__file__).parent / "libonnxruntime_providers_qnn.so"
    env = api("CreateEnv", 3, b"test")
    api("RegisterExecutionProviderLibrary", env, NAME.encode(), str(plugin).encode())
    options = api.options(env, api.device(env, NAME), {"session.disable_cpu_ep_fallback": "1"},
                          {"backend_path": str(HTP), "soc_model": SM8650,
                           "enable_htp_shared_memory_allocator": "1"})
    session_ = api("CreateSession", env, model.encode(), options)
    place = api("CreateMemoryInfo_V2", b"QnnHtpShared", CPU, QUALCOMM, 0, HOST_ACCESSIBLE, 0,
                DEVICE_ALLOCATOR)
    allocator = api("CreateAllocator", session_, place)
    xs, ys = np.load(source), []
    shapes, values, arrays = (xs.shape[1:], (1, 10)), [], []
    for shape in shapes:
        count = int(np.prod(shape))
        memory = api("AllocatorAlloc", allocator, 4 * count)
        assert "rpcmem" in mapping_of(memory.value), mapping_of(memory.value)
        arrays.append(np.ctypeslib.as_array((ctypes.c_float * count).from_address(memory.value)))
        values.append((memory, api("CreateTensorWithDataAsOrtValue", place, memory, 4 * count,
                                   (ctypes.c_int64 * len(shape))(*shape), len(shape), FLOAT)))
    for x in xs:  # the same buffers, registered once
        arrays[0][:] = x.ravel()
        arrays[1][:] = np.nan
        out = (ctypes.c_void_p * 1)(values[1][1])
        api("Run", session_, None, strings(["x"]), (ctypes.c_void_p * 1)(values[0][1]), 1,
            strings(["y"]), 1, out)
        ys.append(arrays[1].reshape(shapes[1]).copy())
    np.save(target, np.stack(ys))
    for memory, value in values:
        api.release("Value", value)
        api("AllocatorFree", allocator, memory)
    for kind, handle in (("Allocator", allocator), ("Session", session_),
                         ("SessionOptions", options)):
        api.release(kind, handle)
    api("UnregisterExecutionProviderLibrary", env, NAME.encode())
    api.release("Env", env)


def test_tensors_in_shared_memory_give_the_same_bytes(device, tmp_path):
    model, xs = tmp_path / "net.onnx", np.stack(images(61, 3))
    model.write_bytes(conv_net(seed=1))
    want = [run(session(model, device), x) for x in xs]
    np.save(tmp_path / "x.npy", xs)
    done = subprocess.run([sys.executable, __file__, str(model), str(tmp_path / "x.npy"),
                           str(tmp_path / "y.npy")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert np.array_equal(np.load(tmp_path / "y.npy"), want)


if __name__ == "__main__":
    pytest.importorskip("onnxruntime_qnn")
    main(*sys.argv[1:])
