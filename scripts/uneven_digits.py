#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The digits network with channels of very different sizes, which breaks in 8 bits.

    scripts/uneven_digits.py FOLDER

Writes uneven.onnx, calibration.npy (64 images) and one.npy there. Channels of the first layer are
multiplied by 2^-7 to 2^7 and divided by the same in the second one: the network computes what
digits.onnx does. Networks whose channels were trained apart (depthwise convolutions, folded batch
norms) look like this. Needs numpy and onnx.
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

here = Path(__file__).resolve().parents[1] / "examples" / "digits"
out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
model = onnx.load(here / "digits.onnx")
tensors = {t.name: t for t in model.graph.initializer}
w1, b1, w2 = (numpy_helper.to_array(tensors[n]) for n in ("w1", "b1", "w2"))
factor = (2.0 ** np.linspace(-7, 7, len(b1))).astype(np.float32)
for name, value in (("w1", w1 * factor[:, None, None, None]), ("b1", b1 * factor),
                    ("w2", w2 / factor[:, None, None])):
    tensors[name].CopyFrom(numpy_helper.from_array(value, name))
onnx.save(model, out / "uneven.onnx")
images = np.load(here / "images.npy").astype(np.float32)
np.save(out / "calibration.npy", images[:64, None])
np.save(out / "one.npy", images[:1])
