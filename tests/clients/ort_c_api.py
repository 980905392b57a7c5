# SPDX-License-Identifier: MIT
"""As much of onnxruntime's C API as it takes to run a model with tensors in the memory of a
provider's allocator, which its Python interface cannot name. Functions are known by their places in
the table, which never change.
"""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

VERSION = 23  # of the table
# name: (place, types of arguments)
CALLS = {
    "CreateEnv": (3, c_int, c_char_p, POINTER(c_void_p)),
    "CreateSession": (7, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)),
    "Run": (9, c_void_p, c_void_p, POINTER(c_char_p), POINTER(c_void_p), c_size_t,
            POINTER(c_char_p), c_size_t, POINTER(c_void_p)),
    "CreateSessionOptions": (10, POINTER(c_void_p)),
    "CreateTensorWithDataAsOrtValue": (49, c_void_p, c_void_p, c_size_t, POINTER(c_int64),
                                       c_size_t, c_int, POINTER(c_void_p)),
    "AllocatorAlloc": (75, c_void_p, c_size_t, POINTER(c_void_p)),
    "AllocatorFree": (76, c_void_p, c_void_p),
    "AddSessionConfigEntry": (130, c_void_p, c_char_p, c_char_p),
    "CreateAllocator": (131, c_void_p, c_void_p, POINTER(c_void_p)),
    "RegisterExecutionProviderLibrary": (301, c_void_p, c_char_p, c_char_p),
    "UnregisterExecutionProviderLibrary": (302, c_void_p, c_char_p),
    "GetEpDevices": (303, c_void_p, POINTER(POINTER(c_void_p)), POINTER(c_size_t)),
    "SessionOptionsAppendExecutionProvider_V2": (304, c_void_p, c_void_p, POINTER(c_void_p),
                                                 c_size_t, POINTER(c_char_p), POINTER(c_char_p),
                                                 c_size_t),
    "CreateMemoryInfo_V2": (320, c_char_p, c_int, c_uint32, c_int32, c_int, c_size_t, c_int,
                            POINTER(c_void_p)),
}
RELEASE = {"Env": 92, "Session": 95, "Value": 96, "SessionOptions": 100, "Allocator": 132}
GET_ERROR_MESSAGE, EP_DEVICE_NAME = 2, 312


def strings(values):
    return (c_char_p * len(values))(*(v.encode() for v in values))


class Api:
    """Calls that create give what they made; a status that is not NULL raises."""

    def __init__(self):
        import onnxruntime
        folder = Path(onnxruntime.__file__).parent / "capi"
        self.library = ctypes.CDLL(str(next(folder.glob("libonnxruntime.so.*"))))
        self.library.OrtGetApiBase.restype = POINTER(c_void_p)
        get = ctypes.CFUNCTYPE(POINTER(c_void_p), c_uint32)(self.library.OrtGetApiBase()[0])
        self.table = get(VERSION)

    def function(self, place, result, *types):
        return ctypes.CFUNCTYPE(result, *types)(self.table[place])

    def __call__(self, name, *args):
        place, *types = CALLS[name]
        made = c_void_p() if len(types) == len(args) + 1 else None
        status = self.function(place, c_void_p, *types)(*args, *([byref(made)] if made is not None
                                                                 else []))
        if status:
            text = self.function(GET_ERROR_MESSAGE, c_char_p, c_void_p)(status)
            raise RuntimeError(f"{name}: {text.decode()}")
        return made

    def release(self, kind, handle):
        self.function(RELEASE[kind], None, c_void_p)(handle)

    def device(self, env, name):
        """The first device of a provider."""
        devices, n = POINTER(c_void_p)(), c_size_t()
        self("GetEpDevices", env, byref(devices), byref(n))
        name_of = self.function(EP_DEVICE_NAME, c_char_p, c_void_p)
        return next(devices[i] for i in range(n.value) if name_of(devices[i]) == name.encode())

    def options(self, env, device, config, provider):
        made = self("CreateSessionOptions")
        for key, value in config.items():
            self("AddSessionConfigEntry", made, key.encode(), value.encode())
        self("SessionOptionsAppendExecutionProvider_V2", made, env, (c_void_p * 1)(device), 1,
             strings(list(provider)), strings(list(provider.values())), len(provider))
        return made
