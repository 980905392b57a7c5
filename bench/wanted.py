# SPDX-License-Identifier: MIT
"""What Quern wants to hold, in the units of the tables; the report marks what is missed."""

# Time on one thread by onnxruntime's.
RATIOS = {
    "resnet50": {"fp32": 1.00, "a8w8": 0.88, "a16w8": 0.42},
    "mobilenet_v2": {"fp32": 0.85, "a8w8": 0.68, "a16w8": 0.22},
    "mobilenet_v3_large": {"fp32": 0.80, "a8w8": 0.40, "a16w8": 0.20},
    "efficientnet_b0": {"fp32": 0.75, "a8w8": 0.40, "a16w8": 0.20},
    "inception_v3": {"fp32": 1.00, "a8w8": 0.65, "a16w8": 0.42},
    "bert_base": {"fp32": 0.85, "a8w8": 0.85, "a16w8": 0.40},
    "vit_b_16": {"fp32": 0.92, "a8w8": 0.75, "a16w8": 0.40},
}
# How many times faster two threads are than one.
TWO_THREADS = {"resnet50": 1.75, "mobilenet_v2": 1.5}
# Time by that of the faster of onnxruntime and OpenVINO.
BETTER_PEER = 0.95
# A peer computes the same where its SQNR is at most LESS_DB below ours or ENOUGH_DB.
LESS_DB, ENOUGH_DB = 10, 60
# Time to the first answer by onnxruntime's.
FIRST = 0.5
# Time of a model in half precision by the time of the same model in single precision.
HALF = 1.2
# Memory of an execution by what is alive at the step that needs most.
ARENA = 1.15


def ratio_for(model, form, threads):
    return RATIOS.get(model, {}).get(form) if threads == 1 else None
