# SPDX-License-Identifier: MIT
"""The provider as the tests use it: registered once, sessions with options in one line."""
import inspect
import os
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

LIB = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
PLUGIN = LIB / "libonnxruntime_providers_quern.so"
NAME = "QuernExecutionProvider"
HTP = {"backend_type": "htp", "soc_model": "SM8650"}

# What Python modules of older onnxruntimes cannot be asked for.
needs_memory = pytest.mark.skipif(
    "memory_info" not in inspect.signature(ort.OrtValue.ortvalue_from_shape_and_type).parameters,
    reason="this onnxruntime makes no values in given memory")
needs_compatibility = pytest.mark.skipif(
    not hasattr(ort.capi.onnxruntime_pybind11_state, "get_compatibility_info_from_model"),
    reason="this onnxruntime does not tell compatibility")


def devices(kind=None):
    if NAME not in {d.ep_name for d in ort.get_ep_devices()}:
        ort.register_execution_provider_library(NAME, str(PLUGIN))
    types = ort.OrtHardwareDeviceType
    kind = {"cpu": types.CPU, "gpu": types.GPU, "npu": types.NPU}.get(kind)
    return [d for d in ort.get_ep_devices()
            if d.ep_name == NAME and (kind is None or d.device.type == kind)]


def session(model, options=None, config=None, kind="cpu", fallback=False, level=None):
    so = ort.SessionOptions()
    if level is not None:
        so.log_severity_level = level
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    so.add_session_config_entry("session.disable_cpu_ep_fallback", "0" if fallback else "1")
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices(devices(kind)[:1], options or {})
    return ort.InferenceSession(model, so, enable_fallback=0)


def cpu_session(model):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def model(nodes, inputs, outputs, constants=(), opset=17, domains=(), known=()):
    """A serialized model; inputs, outputs and known shapes are (name, numpy type, shape)."""
    def info(name, dtype, shape):
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    graph = helper.make_graph(
        nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants],
        value_info=[info(*k) for k in known])
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def close(got, want, relative=1e-5):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    return got.shape == want.shape and np.abs(got - want).max(initial=0) <= relative * max(
        1e-30, np.abs(want).max(initial=0))


__all__ = ["HTP", "LIB", "NAME", "PLUGIN", "TensorProto", "close", "cpu_session", "devices",
           "helper", "model", "needs_compatibility", "needs_memory", "session"]
