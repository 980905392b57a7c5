#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes quantized (QDQ) models as clients of the HTP make them, for scripts/compare_models.py.

    pip install torch torchvision onnx onnxscript onnxruntime
    scripts/quantize_models.py DIR [NAME ...]

torchvision's resnet18, mobilenet_v2 and efficientnet_b0, and a small vision transformer, with
seeded random weights (nothing is downloaded). Batch norms take their statistics from smooth random
pictures, so that activations have the spread of a trained network's. ONNX Runtime's QNN helpers
quantize them: DIR/NAME_a8w8.onnx and DIR/NAME_a16w8.onnx, with the pictures in DIR/NAME.npz.
"""
import sys
import types
from pathlib import Path

import numpy as np
import torch
from onnxruntime import quantization as q
from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                              qnn_preprocess_model)

sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("registrations"))
from torchvision import models  # noqa: E402 (its operators are not there with a CPU build of torch)

N_CALIBRATE, N_TEST = 8, 8


def vit():
    return models.VisionTransformer(image_size=64, patch_size=8, num_layers=2, num_heads=4,
                                    hidden_dim=128, mlp_dim=256, num_classes=100)


NETS = {"resnet18": (models.resnet18, 224), "mobilenet_v2": (models.mobilenet_v2, 224),
        "efficientnet_b0": (models.efficientnet_b0, 224), "vit": (vit, 64)}


def pictures(n, size, seed):
    """Smooth random pictures: sums of noise at four resolutions."""
    g = torch.Generator().manual_seed(seed)
    x = torch.zeros(n, 3, size, size)
    for side in (4, 8, 16, size):
        noise = torch.randn(n, 3, side, side, generator=g)
        x += torch.nn.functional.interpolate(noise, (size, size), mode="bilinear")
    return x / 2


def spread(net, x):
    """Batch norms with the statistics of x, and scales that are not all one."""
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = None
            torch.nn.init.uniform_(m.weight, 0.5, 1.5)
            torch.nn.init.normal_(m.bias, 0.0, 0.2)
        elif isinstance(m, torch.nn.Dropout) or type(m).__name__ == "StochasticDepth":
            m.p = 0.0
    net.train()
    with torch.no_grad():
        for weight in net.parameters():  # some heads start as zeros, which would hide mistakes
            if not weight.any():
                weight.normal_(0, 0.02)
        net(x)
    return net.eval()


class Reader(q.CalibrationDataReader):
    def __init__(self, name, x):
        self.rows = iter([{name: row[None]} for row in x])

    def get_next(self):
        return next(self.rows, None)


def make(name, folder):
    builder, size = NETS[name]
    torch.manual_seed(1)
    calibrate, test = pictures(N_CALIBRATE, size, 2), pictures(N_TEST, size, 3)
    net = spread(builder(), calibrate)
    plain, ready = folder / f"{name}_f32.onnx", folder / f"{name}_ready.onnx"
    torch.onnx.export(net, (test[:1],), str(plain), input_names=["x"], output_names=["y"],
                      opset_version=18, dynamo=False)
    source = ready if qnn_preprocess_model(str(plain), str(ready)) else plain
    np.savez(folder / f"{name}.npz", test=test.numpy())
    for form, kind in (("a8w8", q.QuantType.QUInt8), ("a16w8", q.QuantType.QUInt16)):
        config = get_qnn_qdq_config(str(source), Reader("x", calibrate.numpy()),
                                    activation_type=kind, weight_type=q.QuantType.QUInt8)
        q.quantize(str(source), str(folder / f"{name}_{form}.onnx"), config)
    print(name, "done", flush=True)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETS:
        make(name, folder)


if __name__ == "__main__":
    main()
