# SPDX-License-Identifier: MIT
"""From a float network to a phone's NPU, in cells (`# %%`) that editors run one by one.

    pip install '.[quantize]' && python python/examples/digits.py

The network reads handwritten digits and comes with the package. Nothing is fetched.
"""
# %% The network and 200 digits: 50 of them for calibration, the others for the test
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import quern
from quern.quantize import quantize

onnxruntime.set_default_logger_severity(3)  # errors only
folder = quern.sample()
work = Path(tempfile.mkdtemp())
images = np.load(folder / "images.npy").astype(np.float32)
labels = np.load(folder / "labels.npy")
calibration, test = images[:50], range(50, 200)


def accuracy(session):
    """Share of the test's digits that are read right."""
    right = [session.run(None, {"image": images[i:i + 1]})[0].argmax() == labels[i] for i in test]
    return float(np.mean(right))


# %% Float, on the processor: ONNX Runtime itself, and Quern's CPU backend
reference = onnxruntime.InferenceSession(folder / "digits.onnx",
                                         providers=["CPUExecutionProvider"])
cpu = quern.session(folder / "digits.onnx", backend="cpu", dims={"N": 1}, fallback=False)
print(f"onnxruntime, float   {accuracy(reference):.1%}")
print(f"Quern CPU, float     {accuracy(cpu):.1%}")

# %% The NPU of a Snapdragon 8 Gen 3, in half precision
half = quern.session(folder / "digits.onnx", soc="SM8650", dims={"N": 1}, fallback=False)
print(f"Quern HTP, float16   {accuracy(half):.1%}")

# %% Quantized: 8 bits, 16-bit activations, and 8 bits with one tensor in 16
shapes = {"image": [1, 1, 8, 8]}
data = [{"image": x[None]} for x in calibration]
a8w8 = quantize(folder / "digits.onnx", work / "a8w8.onnx", data, shapes=shapes)
a16w8 = quantize(folder / "digits.onnx", work / "a16w8.onnx", data, "a16w8", shapes=shapes)
mixed = quantize(folder / "digits.onnx", work / "mixed.onnx", data, shapes=shapes,
                 overrides={"scores": "uint16"})


def error(session):
    """How far the probabilities are from the float network's, at most."""
    return max(np.abs(session.run(None, {"image": images[i:i + 1]})[0]
                      - reference.run(None, {"image": images[i:i + 1]})[0]).max() for i in test)


for name, model in [("A8W8", a8w8), ("A8W8 + 16", mixed), ("A16W8", a16w8)]:
    npu = quern.session(model, soc="SM8650")
    print(f"Quern HTP, {name:<9} {accuracy(npu):.1%}, off by {error(npu):.4f} at most")

# %% Compiled once, loaded as often as you like
compiled = quern.compile_model(a8w8, work / "a8w8_ctx.onnx", soc="SM8650")
loaded, direct = quern.session(compiled, soc="SM8650"), quern.session(a8w8, soc="SM8650")
one = {"image": images[:1]}
same = np.array_equal(loaded.run(None, one)[0], direct.run(None, one)[0])
print(f"context model        {'the same' if same else 'OTHER'} numbers as the model it is made of")

# %% How long would the phone need?
report = subprocess.run([quern.program(), "estimate", a8w8, "--soc", "SM8650", "--json"],
                        check=True, capture_output=True, text=True).stdout
chip = json.loads(report)["estimates"][0]
print(f"{chip['chip']}, {chip['precision']}         about {chip['ms']:.2f} ms")
