# SPDX-License-Identifier: MIT
"""Models of single ops through LiteRT: which ones its plugin compiles on our libraries, and how far
the results are from LiteRT's own kernels."""
import platform

import pytest

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
if platform.machine() != "x86_64":
    pytest.skip("LiteRT compiles ahead of time on x86-64 alone", allow_module_level=True)
import litert_ops  # noqa: E402
from sdk import install  # noqa: E402

# Models that the library rejects, as the original one does with the same plugin. (That one also
# fails to prepare batch_matmul and dynamic_update_slice of a16w8.)
REJECTED = {
    "float": set(),
    "int8": {"neg", "exp", "log_softmax"},
    "a16w8": {"minimum", "abs", "neg", "exp", "log", "relu6", "conv_relu6", "depthwise",
              "depthwise_stride", "average_pool", "reduce_min", "squeeze", "tile", "resize_nearest",
              "pack", "gather_nd", "topk"},
}
# The largest difference: steps of quantized values, -dB of floats.
ALLOWED = {"float": -60, "int8": 1, "a16w8": 3}
# Where the two compute different things.
APART = {
    ("floor_div", "float"): -20,  # fp16 quotients fall on the other side of a whole number
    ("rsqrt", "a16w8"): 10,       # LiteRT interpolates; ours is within half a step of the truth
    ("prelu", "a16w8"): 2 ** 16,  # LiteRT reads 16-bit slopes otherwise; ours is within half a step
    ("gelu_tanh", "a16w8"): 6,    # QNN's Gelu is that of the error function
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", litert_ops.SCHEMES)
def test_models_of_single_ops(scheme, tmp_path_factory):
    sdk = install(tmp_path_factory.mktemp("litert") / "sdk")
    rejected, n = {}, 0
    for name, _, why, worst in litert_ops.sweep(sdk, tmp_path_factory.mktemp("ops"),
                                                litert_ops.MODELS, [scheme], run=True):
        n += 1
        if why:
            rejected[name] = why
        else:
            assert worst <= APART.get((name, scheme), ALLOWED[scheme]) or worst == 0, name
    assert set(rejected) == REJECTED[scheme], rejected
    assert n >= 77
