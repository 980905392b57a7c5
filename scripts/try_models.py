#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries ONNX models on Quern's execution provider: what is taken, what is refused, how close it is.

    scripts/try_models.py model.onnx ...

Each model runs as float on the CPU backend, as float16 on the HTP, and quantized by quern.quantize
on the HTP. A row tells the partitions, the nodes taken of all, and the SQNR of the results against
onnxruntime's own on the same file, from random inputs; then follow the refused nodes with the
reasons. bench/public_models.py fetches networks to try. QUERN_LIB_DIR names the folder of the
libraries; the default is build/lib.
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("QUERN_LIB_DIR", str(ROOT / "build" / "lib"))
sys.path.insert(0, str(ROOT / "python"))
import quern  # noqa: E402
from quern.quantize import quantize  # noqa: E402

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8,
         "tensor(bool)": np.bool_}


def reference(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def random_inputs(path, n):
    """n sets of inputs; a dimension that is not fixed is 1."""
    r, sets = np.random.default_rng(0), []
    for _ in range(n):
        one = {}
        for i in reference(path).get_inputs():
            shape = [d if isinstance(d, int) else 1 for d in i.shape]
            kind = np.dtype(TYPES[i.type])
            numbers = r.standard_normal(shape) / 2 if kind.kind == "f" else r.integers(
                0, 2 if kind == np.bool_ else 100, shape)
            one[i.name] = np.asarray(numbers).astype(kind)
        sets.append(one)
    return sets


def sqnr(got, want):
    got, want = (np.concatenate([np.asarray(v, np.float64).ravel() for v in list_])
                 for list_ in (got, want))
    noise = np.sum((got - want) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(np.sum(want ** 2) / noise)


def try_one(path, backend, soc, inputs):
    """(partitions, taken, total, SQNR, [(node, op, reason)])"""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        s = quern.session(path, backend, soc, session_options=options,
                          enable_framework_op_trace=True, framework_op_trace_dir=folder)
        trace = json.loads((Path(folder) / "qnn_op_trace.json").read_text())
    ours, theirs = [], []
    for x in inputs:
        ours += s.run(None, x)
        theirs += reference(path).run(None, x)
    facts = trace["summary"]
    refused = [(n["node_name"], n["op_type"], n["reason"]) for n in trace["unsupported_nodes"]
               if not n["reason"].startswith("quantizing at the borders")]
    return (facts["qnn_subgraphs"], facts["supported_nodes"], facts["total_onnx_nodes"],
            sqnr(ours, theirs), refused)


def show(name, form, path, backend, soc, inputs):
    parts, taken, total, decibels, refused = try_one(path, backend, soc, inputs)
    print(f"{name:20} {form:8} {parts:3} partition{' ' if parts == 1 else 's'} "
          f"{taken:5} of {total:5} nodes {decibels:7.1f} dB", flush=True)
    for node, op, reason in refused:
        print(f"    {node} ({op}): {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--soc", default="SM8750")
    given = parser.parse_args()
    for path in given.models:
        inputs = random_inputs(path, 4)
        show(path.stem, "float", path, "cpu", None, inputs)
        show(path.stem, "float16", path, "htp", given.soc, inputs)
        with tempfile.TemporaryDirectory() as folder:
            for scheme in ("a8w8", "a16w8"):
                made = quantize(path, Path(folder) / f"{scheme}.onnx", inputs, scheme)
                show(path.stem, scheme, made, "htp", given.soc, inputs)


if __name__ == "__main__":
    main()
