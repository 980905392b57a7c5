# SPDX-License-Identifier: MIT
"""Sessions with the public onnxruntime-qnn provider on our libraries.

Only the open part of the wheel is used (the provider plugin). QUERN_LIB_DIR says where our
libraries are. Run as a program, it is the new process of the tests:

    qnn_provider.py MODEL.onnx INPUT.npy OUTPUT.npy [KEY=VALUE ...]
"""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
HTP = LIBS / "libQnnHtp.so"
NAME = "QNNExecutionProvider"
SM8650, SM8750 = "57", "69"


def register():
    import onnxruntime_qnn
    folder = Path(onnxruntime_qnn.__file__).parent
    ort.register_execution_provider_library(NAME, str(folder / "libonnxruntime_providers_qnn.so"))
    return next(d for d in ort.get_ep_devices() if d.ep_name == NAME
                and d.device.type == ort.OrtHardwareDeviceType.CPU)


def unregister():
    ort.unregister_execution_provider_library(NAME)


def session(model, device, config=None, **options):
    """A session on our libQnnHtp.so; config: entries of the session's, options: the provider's."""
    so = ort.SessionOptions()
    so.log_severity_level = 3
    so.intra_op_num_threads = 1
    so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    options = {"backend_path": str(HTP), "soc_model": SM8650, **options}
    so.add_provider_for_devices([device], options)
    return ort.InferenceSession(str(model) if isinstance(model, Path) else model, so)


def writing(path, embed="0", **more):
    """Entries of a session that writes a context model; more: with _ for a dot."""
    return {"ep.context_enable": "1", "ep.context_file_path": str(path),
            "ep.context_embed_mode": embed, **{k.replace("_", ".", 1): v for k, v in more.items()}}


def run(s, x):
    """The first output."""
    return s.run(None, {s.get_inputs()[0].name: x})[0]


def run_in_new_process(model, x, **options):
    """The first output of a model that another process loads."""
    source, target = model.with_suffix(".in.npy"), model.with_suffix(".out.npy")
    np.save(source, x)
    subprocess.run([sys.executable, __file__, str(model), str(source), str(target),
                    *(f"{k}={v}" for k, v in options.items())], check=True, timeout=120)
    return np.load(target)


def main(model, source, target, *options):
    s = session(Path(model), register(), **dict(o.split("=", 1) for o in options))
    np.save(target, run(s, np.load(source)))


if __name__ == "__main__":
    main(*sys.argv[1:])
