# SPDX-License-Identifier: MIT
"""QNN's own ops in ONNX models: one execution of a buffer that fills from the left or the right."""
import numpy as np

from case_onnx import case, node


def cases():
    x = np.random.default_rng(19).standard_normal((2, 3, 4)).astype(np.float32)
    zeros = np.zeros((2, 6, 4), np.float32)
    for mode, parts in ((1, [x, zeros]), (2, [zeros, x])):
        buffer = node("Buffer", "x", "y", "qti_aisw", buffer_size=9, buffer_dim=1, stride=3,
                      mode=mode)
        yield case(f"buffer_{mode}", buffer, {"x": x}, expected=[np.concatenate(parts, 1)])
    yield case("buffer_without_size", node("Buffer", "x", "y", "qti_aisw", buffer_dim=1), {"x": x},
               refusal="buffer_size 0")
    yield case("buffer_stride", node("Buffer", "x", "y", "qti_aisw", buffer_size=9, buffer_dim=1,
                                     stride=2, mode=1), {"x": x}, refusal="stride")
