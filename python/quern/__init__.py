# SPDX-License-Identifier: MIT
"""Quern: QNN models on any Linux machine.

    import onnxruntime as ort
    import quern

    quern.register()
    session = quern.session("model.onnx", backend="htp", soc="SM8650")
    session.run(None, {"x": x})

The package carries Quern's QNN libraries (`quern.libs()`) and an ONNX Runtime execution provider
(`quern.plugin()`). Everything here is a thin layer: options go to the provider as they are, and the
provider says what is wrong with them.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping

__all__ = ["EP_NAME", "devices", "ep_options", "library", "libs", "plugin", "register", "session",
           "unregister"]
__version__ = "0.1.0"

EP_NAME = "QuernExecutionProvider"

_LIBRARIES = {"cpu": "libQnnCpu.so", "htp": "libQnnHtp.so", "gpu": "libQnnGpu.so",
              "saver": "libQnnSaver.so", "system": "libQnnSystem.so"}


def libs() -> Path:
    """The folder of the QNN libraries: `LD_LIBRARY_PATH` or `backend_path` for other clients.

    `QUERN_LIB_DIR` names another folder, such as `build/lib` of a source tree.
    """
    given = os.environ.get("QUERN_LIB_DIR")
    return Path(given).resolve() if given else Path(__file__).resolve().parent / "lib"


def library(backend: str) -> Path:
    """The QNN library of a backend: cpu, htp, gpu, saver or system."""
    try:
        path = libs() / _LIBRARIES[backend]
    except KeyError:
        raise ValueError(
            f"no backend {backend!r}; expected one of {', '.join(_LIBRARIES)}") from None
    if not path.exists():
        raise FileNotFoundError(f"{path}: this build of Quern has no backend {backend!r}")
    return path


def plugin() -> Path:
    """The execution provider for ONNX Runtime, to be registered there."""
    return libs() / "libonnxruntime_providers_quern.so"


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            "quern's execution provider needs ONNX Runtime: pip install 'onnxruntime>=1.24'"
        ) from error
    return onnxruntime


def register(name: str = EP_NAME) -> str:
    """Registers the execution provider in ONNX Runtime; a second time does nothing.

    Under the name `QNNExecutionProvider` it takes the place of the public provider.
    """
    ort = _onnxruntime()
    if not any(d.ep_name == name for d in ort.get_ep_devices()):
        ort.register_execution_provider_library(name, str(plugin()))
    return name


def unregister(name: str = EP_NAME) -> None:
    """Takes the provider out of ONNX Runtime; its sessions must be gone."""
    _onnxruntime().unregister_execution_provider_library(name)


def devices(kind: str | None = None, name: str = EP_NAME) -> list[Any]:
    """The provider's devices: all, or those of a kind (cpu, gpu, npu)."""
    ort = _onnxruntime()
    register(name)
    found = [d for d in ort.get_ep_devices() if d.ep_name == name]
    if kind is None:
        return found
    wanted = getattr(ort.OrtHardwareDeviceType, kind.upper(), None)
    if wanted is None:
        raise ValueError(f"no kind of device {kind!r}; expected cpu, gpu or npu")
    return [d for d in found if d.device.type == wanted]


def ep_options(backend: str = "htp", soc: str | int | None = None,
               **options: object) -> dict[str, str]:
    """Provider options as ONNX Runtime wants them: text, with booleans as 0 and 1.

    >>> ep_options(backend="htp", soc="sm8650", enable_htp_fp16_precision=True)
    {'backend_type': 'htp', 'soc_model': 'SM8650', 'enable_htp_fp16_precision': '1'}
    """
    found = {"backend_type": backend}
    if soc is not None:
        found["soc_model"] = str(soc).upper()
    for key, value in options.items():
        found[key] = str(int(value)) if isinstance(value, bool) else os.fspath(value) if isinstance(
            value, os.PathLike) else str(value)
    return found


def session(model: str | os.PathLike[str] | bytes, backend: str = "htp",
            soc: str | int | None = None, *, fallback: bool = True,
            config: Mapping[str, str] | None = None, session_options: Any = None,
            **options: object) -> Any:
    """An `onnxruntime.InferenceSession` on a backend of Quern.

    fallback=False fails where a node is not taken; `config` are keys of the session such as
    `ep.context_enable`; further arguments are provider options.
    """
    ort = _onnxruntime()
    so = session_options or ort.SessionOptions()
    if not fallback:
        so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices(devices("cpu")[:1], ep_options(backend, soc, **options))
    source = model if isinstance(model, bytes) else os.fspath(model)
    # ONNX Runtime's own fall-back would hide why a session cannot be made.
    return ort.InferenceSession(source, so, enable_fallback=0)
