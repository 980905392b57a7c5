# SPDX-License-Identifier: MIT
"""Small PyTorch models, lowered by the public executorch wheel and run in its Python runtime.

    executorch_models.py FOLDER MODEL:SCHEME ...

Schemes are those of the quantizer, "none" (fp16 on the HTP), and gpu_fp32, gpu_fp16, gpu_hybrid and
gpu_user for the GPU backend in that precision. MODEL:SCHEME:online is prepared when it is loaded.

One JSON line a case: how many parts were delegated, what was left over, the signal-to-noise ratio
against the (fake-quantized) module, and whether a second run gives the same bytes. FOLDER receives
CASE.pte and three inputs and outputs. A program of its own, because the loader reads
LD_LIBRARY_PATH only at the start; several cases at once, because torch takes seconds to load.
"""
import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path

import torch
from executorch.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype
from executorch.backends.qualcomm.serialization.qc_schema import (QcomChipset,
                                                                  QnnExecuTorchGpuPrecision)
from executorch.backends.qualcomm.utils import utils as qnn
from executorch.exir.capture._config import ExecutorchBackendConfig
from executorch.runtime import Runtime
from torch import nn
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(512, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(32, 32) for _ in range(3))
        self.norm = nn.LayerNorm(32)

    def forward(self, x):
        w = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) * 32 ** -0.5, -1)
        return self.norm(x + w @ self.v(x))


class Inverted(nn.Module):
    """The block of mobile nets, batch norms and all."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(16, 64, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU6(),
            nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), nn.BatchNorm2d(64), nn.ReLU6(),
            nn.Conv2d(64, 16, 1, bias=False), nn.BatchNorm2d(16))
        for layer in self.body.modules():
            layer.momentum = None  # statistics of all batches
        for _ in range(4):
            self.body(torch.randn(4, 16, 12, 12))

    def forward(self, x):
        return nn.functional.avg_pool2d(x + self.body(x), 2, 2)


class PoolConcat(nn.Module):
    def forward(self, x, y):
        half = nn.functional.avg_pool2d(x * y, 2, 2)
        return torch.cat([nn.functional.max_pool2d(x, 2, 2), torch.sigmoid(half)], 1)


def llama():
    """The decoder of the wheel's own scripts, two layers whose queries share keys and values (GQA).
    Its package imports what only checkpoints need: stand-ins take the place."""
    import executorch.examples.qualcomm as examples
    from executorch_operators import Stub
    package = types.ModuleType(examples.__name__ + ".oss_scripts.llama")
    package.__path__ = [examples.__path__[0] + "/oss_scripts/llama"]
    stubs = [n for n in ("transformers", "transformers.activations", "scipy", "scipy.linalg")
             if not importlib.util.find_spec(n.split(".")[0])]
    sys.modules.update({package.__name__: package, **{name: Stub(name) for name in stubs}})
    decoder = importlib.import_module(package.__name__ + ".model.static_llama")
    for name in stubs:  # torch looks for these later, and must not find them
        del sys.modules[name]
    from executorch.examples.models.llama.model_args import ModelArgs
    return decoder.LlamaModel(ModelArgs(
        dim=64, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=96, hidden_dim=128, max_seq_len=32,
        max_context_len=32, max_batch_size=1, use_kv_cache=True, kv_io_bit_width=16))


def draw(net, shapes):
    """Random inputs. A decoder has tokens, masks, positions and the caches of its layers."""
    if shapes:
        return tuple(torch.randn(s) for s in shapes)
    tokens, masks, positions, *caches = net.get_example_inputs()
    return (tokens, *masks, positions,
            *(torch.randn_like(layer) for cache in caches for layer in cache))


MODELS = {"conv": (Conv, [(1, 3, 8, 8)]), "attention": (Attention, [(1, 16, 32)]),
          "inverted": (Inverted, [(1, 16, 12, 12)]),
          "pool_concat": (PoolConcat, [(1, 4, 16, 16), (1, 4, 16, 16)]), "llama": (llama, None)}


GPU_PRECISIONS = {
    "gpu_fp32": QnnExecuTorchGpuPrecision.kGpuPrecisionFp32,
    "gpu_fp16": QnnExecuTorchGpuPrecision.kGpuPrecisionFp16,
    "gpu_hybrid": QnnExecuTorchGpuPrecision.kGpuPrecisionHybrid,
    "gpu_user": QnnExecuTorchGpuPrecision.kGpuPrecisionUserProvided}


def quantized(model, inputs, shapes, scheme):
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(
        QuantDtype["use_" + scheme], is_conv_per_channel=True, is_linear_per_channel=True,
        act_observer=MinMaxObserver)
    prepared = prepare_pt2e(torch.export.export(model, inputs, strict=False).module(), quantizer)
    for _ in range(4):
        prepared(*draw(model, shapes))
    prepared(*inputs)
    return convert_pt2e(prepared)


def decibels(got, want):
    got, want = got.double(), want.double()
    noise = ((got - want) ** 2).sum()
    return 999.0 if noise == 0 else float(10 * torch.log10((want ** 2).sum() / noise))


def run_case(folder, model, scheme, when="offline"):
    torch.manual_seed(0)
    make, shapes = MODELS[model]
    net = make().eval()
    inputs = draw(net, shapes)
    gpu = scheme.startswith("gpu_")
    reference = net if gpu or scheme == "none" else quantized(net, inputs, shapes, scheme)
    options = (qnn.generate_gpu_compiler_spec(GPU_PRECISIONS[scheme]) if gpu
               else qnn.generate_htp_compiler_spec(use_fp16=scheme == "none"))
    spec = qnn.generate_qnn_executorch_compiler_spec(
        soc_model=QcomChipset.SM8650, backend_options=options, online_prepare=when == "online")
    edge = qnn.to_edge_transform_and_lower_to_qnn(reference, inputs, spec)
    calls = [n.target.__name__ if callable(n.target) else str(n.target)
             for n in edge.exported_program().graph.nodes if n.op == "call_function"]
    program = edge.to_executorch(
        ExecutorchBackendConfig(segment_alignment=qnn.get_qnn_context_binary_alignment()))
    path = folder / f"{model}_{scheme}.pte"
    path.write_bytes(program.buffer)
    assert (b"model.topology" in program.buffer) == (when == "online")
    method = Runtime.get().load_program(path).load_method("forward")
    ratios, same = [], True
    for i in range(3):
        given = inputs if i == 0 else draw(net, shapes)
        got = method.execute(list(given))[0].clone()
        same = same and torch.equal(got, method.execute(list(given))[0])
        want = reference(*given)
        ratios.append(decibels(got, want if isinstance(want, torch.Tensor) else want[0]))
        for k, x in enumerate(given):
            x.numpy().tofile(folder / f"{model}_{scheme}_in{i}_{k}.raw")
        got.numpy().tofile(folder / f"{model}_{scheme}_want{i}.raw")
    return {"case": f"{model}:{scheme}", "parts": sum("call_delegate" in c for c in calls),
            "left_over": [c for c in calls if "call_delegate" not in c and c != "getitem"],
            "sqnr": ratios[0], "sqnr_least": min(ratios), "same": same, "n_inputs": len(inputs)}


if __name__ == "__main__":
    with torch.no_grad():
        for case in sys.argv[2:]:
            print("\nRESULT " + json.dumps(run_case(Path(sys.argv[1]), *case.split(":"))),
                  flush=True)
