# SPDX-License-Identifier: MIT
"""Models that nobody means well with: each is rejected with a reason, without a crash."""
import numpy as np

from case_onnx import case, node
from onnx_control import F, graph


def ones(*shape):
    return np.ones(shape, np.float32)


def empty_constants():
    """Constants without elements where the importer reorders them to channel last."""
    why = "dimension 0 is 0, expected at least 1"
    yield case("conv_with_empty_filter", node("Conv", "x w", "y"), {"x": ones(1, 8, 4, 4)},
               constants={"w": ones(64, 8, 0, 3)}, refusal=why)
    for bits, dtype in (("8", np.int8), ("16", np.float16)):
        yield case(f"conv_with_empty_filter_of_{bits}_bits", node("Conv", "x w", "y"),
                   {"x": ones(1, 8, 4, 4).astype(dtype)},
                   constants={"w": ones(64, 8, 0, 3).astype(dtype)}, refusal="")
    yield case("grid_sample_of_empty_constant", node("GridSample", "x g", "y"),
               {"g": ones(1, 2, 2, 2)}, constants={"x": ones(1, 64, 0, 3)},
               refusal="dimension 1 is 0, expected at least 1")
    yield case("roi_align_of_empty_constant", node("RoiAlign", "x r b", "y"), {"r": ones(1, 4)},
               constants={"x": ones(1, 64, 0, 3), "b": np.zeros(1, np.int64)},
               refusal="dimension 1 is 0, expected at least 1")


def values_without_axes():
    x = {"x": np.float32(3)}
    for n in (1, 2):
        yield case(f"split_of_scalar_into_{n}", node("Split", "x", " ".join("yz"[:n]), axis=0,
                                                     num_outputs=n), x, " ".join("yz"[:n]),
                   refusal="axis 0 of a value of rank 0")
    for op in ("Softmax", "Hardmax", "ArgMax", "Concat"):
        yield case(f"{op}_of_scalar", node(op, "x", "y", axis=0), x,
                   refusal="axis 0 of a value of rank 0")


def empty_scans():
    body = graph([node("Add", "s v", "t"), node("Identity", "v", "o")],
                 [("s", F, None), ("v", F, None)], ["t", "o"])
    for length in (0, 3):
        why = "no rounds" if length == 0 else "input 0 of its body is missing"
        yield case(f"scan_of_{length}_without_state",
                   node("Scan", "- x" if length else "s x", "y z", body=body, num_scan_inputs=1),
                   {"s": ones(2)}, "y z", {"x": ones(length, 2)}, refusal=why)
    for name, state in (("empty_state", ones(0, 2)), ("scalar_state", ones())):
        yield case(f"scan_8_with_{name}",
                   node("Scan", "- s x", "y z", body=body, num_scan_inputs=1), {"x": ones(1, 3, 2)},
                   "y z", {"s": state}, opset=8, refusal="no batch dimension, or an empty one")


def broadcast_parameters():
    """Parameters that are applied by ops of their own, where the op before them is rejected."""
    for rank in (6, 7):
        x = ones(*[2] * (rank - 1), 3)
        # The HTP has no such ranks; the CPU has.
        yield case(f"layer_norm_of_rank_{rank}", node("LayerNormalization", "x s b", "y", axis=-1),
                   {"x": x}, constants={"s": ones(1), "b": ones(1)}, expected=[x])
    yield case("layer_norm_with_empty_scale", node("LayerNormalization", "x s", "y"),
               {"x": ones(2, 3)}, constants={"s": ones(0)},
               refusal="dimension 0 is 0, expected at least 1")


def cases():
    yield from empty_constants()
    yield from values_without_axes()
    yield from empty_scans()
    yield from broadcast_parameters()
