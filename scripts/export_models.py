#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports well-known network graphs to ONNX, for import tests and benchmarks.

    pip install torch torchvision onnx onnxscript && scripts/export_models.py DIR [NAME ...]

bert_base, which is large, is made only when it is named.

torchvision's architectures with seeded random weights (nothing is downloaded), and two transformer
blocks: a BERT-like encoder and a Llama-like decoder with rotary embedding and grouped queries.
Existing files are kept.
"""
import sys
import types
from pathlib import Path

import torch

sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("registrations"))
from torchvision import models  # noqa: E402 (its operators are not there with a CPU build of torch)

IMAGE = {name: 224 for name in (
    "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "squeezenet1_1",
    "densenet121", "convnext_tiny", "vit_b_16", "swin_t", "shufflenet_v2_x1_0")}
IMAGE.update(inception_v3=299)


class Encoder(torch.nn.Module):
    """BERT-like layers."""

    def __init__(self, width=256, heads=4, n_layers=2):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu",
                                                 batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, n_layers,
                                                  enable_nested_tensor=False)
        self.embed = torch.nn.Embedding(1000, width)

    def forward(self, ids):
        return self.layers(self.embed(ids))


class Decoder(torch.nn.Module):
    """One Llama-like layer: RMS norm, rotary embedding, grouped queries, gated MLP, causal mask."""

    def __init__(self, width=256, heads=8, groups=2, length=32):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        linear = lambda n_in, n_out: torch.nn.Linear(n_in, n_out, bias=False)
        self.q, self.o = linear(width, width), linear(width, width)
        self.k, self.v = (linear(width, groups * self.size) for _ in range(2))
        self.gate, self.up, self.down = (linear(width, 3 * width), linear(width, 3 * width),
                                         linear(3 * width, width))
        self.n1, self.n2 = (torch.nn.Parameter(torch.ones(width)) for _ in range(2))
        angle = torch.outer(torch.arange(length).float(),
                            10000 ** (-torch.arange(0, self.size, 2).float() / self.size))
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1))
        self.register_buffer("mask", torch.full((length, length), float("-1e9")).triu(1))

    def norm(self, x, w):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def split(self, x, heads):
        return x.view(1, -1, heads, self.size).transpose(1, 2)

    def forward(self, x):
        h = self.norm(x, self.n1)
        q = self.rotate(self.split(self.q(h), self.heads))
        k = self.rotate(self.split(self.k(h), self.groups))
        v = self.split(self.v(h), self.groups)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) * self.size ** -0.5 + self.mask
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.o(y)
        h = self.norm(x, self.n2)
        return x + self.down(torch.nn.functional.silu(self.gate(h)) * self.up(h))


def build(name):
    torch.manual_seed(0)
    if name == "bert":
        return Encoder(), torch.randint(0, 1000, (1, 32))
    if name == "bert_base":  # the encoder's size, with a small vocabulary
        return Encoder(768, 12, 12), torch.randint(0, 1000, (1, 128))
    if name == "llama":
        return Decoder(), torch.randn(1, 32, 256)
    if name == "deeplabv3_resnet50":
        net = models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)
        return First(net), torch.randn(1, 3, 224, 224)
    extra = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    return getattr(models, name)(weights=None, **extra), torch.randn(1, 3, IMAGE[name], IMAGE[name])


def settle(net, x):
    """Batch norms with the statistics of random inputs: values keep their size from layer to layer,
    as in a trained network. Without it they vanish, and half precision has nothing to compute."""
    norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    if not norms:
        return
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = None
        elif isinstance(m, torch.nn.Dropout) or type(m).__name__ == "StochasticDepth":
            m.p = 0.0
    net.train()
    net(torch.randn(4, *x.shape[1:]))


class First(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or [*IMAGE, "deeplabv3_resnet50", "bert", "llama"]:
        path = out / f"{name}.onnx"
        if path.exists():
            continue
        net, x = build(name)
        with torch.no_grad():
            for weight in net.parameters():  # some heads start as zeros, which would hide mistakes
                if not weight.any():
                    weight.normal_(0, 0.02)
            settle(net, x)
            torch.onnx.export(net.eval(), (x,), str(path), opset_version=18, external_data=False,
                              input_names=["x"], output_names=["y"], dynamo=True)
        print(name, path.stat().st_size)


if __name__ == "__main__":
    main()
