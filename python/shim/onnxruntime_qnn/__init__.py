# SPDX-License-Identifier: MIT
"""Quern's stand-in for the package onnxruntime_qnn: tools that import it by name, such as Olive,
get Quern's execution provider and libraries.

It lies in a folder of its own (python/shim in the source, lib/python/shim in an installed tree) and
is found only by who puts that folder on the path:

    PYTHONPATH=build/sdk/lib/python/shim python ...

Where the real package is installed as well, a warning says which one is not used.
"""
import os
import re
import warnings
from importlib import metadata
from pathlib import Path

EP_NAME = "QNNExecutionProvider"
_PROVIDER = "libonnxruntime_providers_quern.so"


def _folder() -> Path:
    """QUERN_LIB_DIR, the installed tree around this file, or the package quern."""
    places = [Path(os.environ["QUERN_LIB_DIR"])] if os.environ.get("QUERN_LIB_DIR") else []
    places.append(Path(__file__).resolve().parents[3])
    for place in places:
        if (place / _PROVIDER).exists():
            return place.resolve()
    try:
        import quern
    except ImportError:
        raise ImportError(f"Quern's stand-in for onnxruntime_qnn finds no {_PROVIDER}: set "
                          "QUERN_LIB_DIR to its folder, such as build/lib") from None
    return quern.libs()


def _warn_of_another() -> None:
    try:
        other = metadata.version("onnxruntime-qnn")
    except metadata.PackageNotFoundError:
        return
    warnings.warn(f"onnxruntime_qnn is Quern's stand-in in {Path(__file__).parent}; the installed "
                  f"onnxruntime-qnn {other} is not used", stacklevel=3)


LIB_DIR_FULL_PATH = str(_folder())
__version__ = re.findall(r'"(.*)"', (Path(__file__).resolve().parents[2] / "quern" /
                                     "_version.py").read_text())[-1]
_warn_of_another()


def get_ep_name() -> str:
    return EP_NAME


def get_ep_names() -> list[str]:
    return [EP_NAME]


def get_library_path() -> str:
    """The execution provider, for onnxruntime.register_execution_provider_library."""
    return os.path.join(LIB_DIR_FULL_PATH, _PROVIDER)


def get_qnn_cpu_path() -> str:
    return os.path.join(LIB_DIR_FULL_PATH, "libQnnCpu.so")


def get_qnn_gpu_path() -> str:
    return os.path.join(LIB_DIR_FULL_PATH, "libQnnGpu.so")


def get_qnn_htp_path() -> str:
    return os.path.join(LIB_DIR_FULL_PATH, "libQnnHtp.so")
