# SPDX-License-Identifier: MIT
"""The models of the benchmarks, made once and kept in build/bench-models.

NAME.onnx (fp32) is exported by scripts/export_models.py, which needs torch and torchvision, or,
without them, written by nets.py;
NAME_a8w8 and NAME_a16w8 are made from it by onnxruntime's helpers for QNN, with signed, symmetric
weights: onnxruntime runs them about twice as fast as unsigned ones, so it is the harder peer.
Weights are random: times rarely depend on them. What cannot be made is reported as missing, and the
rest is measured.
"""
import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import nets
from sides import random_feed

NETS = ["resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "inception_v3",
        "bert_base", "vit_b_16"]
QUICK = ["mobilenet_v2"]
#        form     file's ending, backend, chip
FORMS = {"fp32": ("", "cpu", None), "fp16": ("", "htp", 69), "a8w8": ("_a8w8", "htp", 57),
         "a16w8": ("_a16w8", "htp", 57)}
EXPORT = Path(__file__).resolve().parent.parent / "scripts" / "export_models.py"


def file_of(folder, name, form):
    return folder / f"{name}{FORMS[form][0]}.onnx"


def make(folder, names, forms, python=sys.executable, say=print):
    """Makes the files that are not there; a list of what is missing and why."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for name in names:
        plain = folder / f"{name}.onnx"
        if not plain.exists():
            why = export(folder, name, python)
            if why:
                missing.append(f"{name}: {why}")
                continue
        for form in forms:
            target = file_of(folder, name, form)
            if not target.exists():
                say(f"making {target.name}")
                try:
                    quantize(plain, target, form)
                except Exception as error:  # the quantizer's own: reported, not hidden
                    missing.append(f"{name} {form}: {error}".splitlines()[0])
    return missing


def export(folder, name, python):
    """None, or why the model could not be exported."""
    if python == sys.executable and not importlib.util.find_spec("torchvision"):
        nets.NETS[name](nets.Net(), folder / f"{name}.onnx")
        return None
    done = subprocess.run([python, str(EXPORT), str(folder), name], capture_output=True, text=True)
    lines = done.stderr.strip().splitlines()
    return None if (folder / f"{name}.onnx").exists() else (lines or ["export failed"])[-1]


def quantize(plain, target, form):
    from onnxruntime import quantization as q
    from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                                  qnn_preprocess_model)

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            session = ort.InferenceSession(str(plain), providers=["CPUExecutionProvider"])
            self.rows = iter([random_feed(session, seed) for seed in (1, 2)])

        def get_next(self):
            return next(self.rows, None)

    ort.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # advice that does not matter for times
    ready, part = target.with_suffix(".ready"), target.with_suffix(".part")
    try:
        source = ready if qnn_preprocess_model(str(plain), str(ready)) else plain
        kind = q.QuantType.QUInt8 if form == "a8w8" else q.QuantType.QUInt16
        config = get_qnn_qdq_config(str(source), Reader(), activation_type=kind,
                                    weight_type=q.QuantType.QInt8)
        q.quantize(str(source), str(part), config)
        part.rename(target)
    finally:
        ready.unlink(missing_ok=True)
        part.unlink(missing_ok=True)


class Builder:
    """A model of one input and one output, grown node by node."""

    def __init__(self, *shape):
        self.rng, self.nodes, self.init, self.top = np.random.default_rng(0), [], [], "x"
        self.x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)

    def weight(self, *shape):
        name = f"w{len(self.init)}"
        w = self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        self.init.append(numpy_helper.from_array(w.astype(np.float32), name))
        return name

    def add(self, op, *more, **attributes):
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.top, *more], [out], **attributes))
        self.top = out
        return self

    def conv(self, cin, cout, k, group=1, stride=1):
        return self.add("Conv", self.weight(cout, cin // group, k, k), self.weight(cout),
                        kernel_shape=[k, k], pads=[k // 2] * 4, group=group,
                        strides=[stride, stride])

    def save(self, path):
        y = helper.make_tensor_value_info(self.top, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [self.x], [y], self.init)
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                           ir_version=8).SerializeToString())
        return path


def separable(size):
    """A small network of separable convolutions over size x size pixels."""
    net = Builder(1, 3, size, size).conv(3, 32, 3, stride=2).add("Relu")
    for cin, cout in ((32, 64), (64, 128), (128, 128)):
        net.conv(cin, cin, 3, group=cin).add("Relu").conv(cin, cout, 1).add("Relu")
    return net.add("GlobalAveragePool").add("Flatten").add("Softmax", axis=1)


def layers():
    """(name, Builder) of single layers, fp32."""
    yield "conv 3x3, 64 to 64, 56x56", Builder(1, 64, 56, 56).conv(64, 64, 3)
    yield "conv 1x1, 256 to 256, 28x28", Builder(1, 256, 28, 28).conv(256, 256, 1)
    yield "depthwise 3x3, 192, 56x56", Builder(1, 192, 56, 56).conv(192, 192, 3, group=192)
    dense = Builder(32, 1024)
    yield "dense 32x1024x1024", dense.add("Gemm", dense.weight(1024, 1024), dense.weight(1024),
                                         transB=1)
    yield "softmax 512x1000", Builder(512, 1000).add("Softmax", axis=1)
    yield "sigmoid * x, 1M", Builder(1024, 1024).add("Sigmoid").add("Mul", "x")
