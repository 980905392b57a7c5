# SPDX-License-Identifier: MIT
"""The target SoC of a session that names none."""
from __future__ import annotations

import mmap
import os
import warnings
from typing import Any, Mapping

DEFAULT_SOC = "SM8650"
_NODE = b'"\tEPContext'  # as ONNX files have it: op_type, 9 bytes


def is_context_model(model: str | bytes) -> bool:
    """Does the model hold a node of the type EPContext, whose binary knows its own target?"""
    if isinstance(model, bytes):
        return _NODE in model
    with open(model, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return view.find(_NODE) >= 0


def target_of(model: str | bytes, backend: Any, soc: str | int | None,
              options: Mapping[str, object], stacklevel: int = 3) -> str | int | None:
    """The requested SoC, or the default of the HTP. It decides how floats are computed, so a
    default is reported by a warning at the caller's call of session."""
    if soc is not None or backend != "htp" or options.get("soc_model") or options.get("htp_arch") \
            or is_context_model(model):
        return soc
    warnings.warn(f"target SoC: {DEFAULT_SOC} (default; choose with soc=, where soc=\"none\" keeps "
                  "floats in float32)", stacklevel=stacklevel)
    return DEFAULT_SOC
