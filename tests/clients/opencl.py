# SPDX-License-Identifier: MIT
"""Is there an OpenCL device for libQnnGpu.so? Asked of OpenCL itself."""
import ctypes

import pytest


def device():
    """The name of the first device, or None."""
    try:
        cl = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return None
    platforms, n = (ctypes.c_void_p * 16)(), ctypes.c_uint(0)
    if cl.clGetPlatformIDs(16, platforms, ctypes.byref(n)) != 0:
        return None
    for platform in platforms[:n.value]:
        devices, found = (ctypes.c_void_p * 16)(), ctypes.c_uint(0)
        every = ctypes.c_ulong(0xFFFFFFFF)
        if cl.clGetDeviceIDs(ctypes.c_void_p(platform), every, 16, devices,
                             ctypes.byref(found)) == 0 and found.value:
            text = ctypes.create_string_buffer(256)
            cl.clGetDeviceInfo(ctypes.c_void_p(devices[0]), 0x102B, ctypes.c_size_t(256), text,
                               None)
            return text.value.decode(errors="replace")
    return None


DEVICE = device()
needs_gpu = pytest.mark.skipif(
    DEVICE is None, reason="no OpenCL device for libQnnGpu.so (install pocl-opencl-icd)")
