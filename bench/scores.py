#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores of quantized networks by their own tasks: `quern quantize` beside ONNX Runtime's tools.

    bench/scores.py DIR --tasks FILE [NAME ...] [--schemes a8w8,a16w8] [--seed N] [--json FILE]

DIR holds float models, NAME.onnx (bench/public_models.py fetches ten). FILE is a Python file with
TASKS = {NAME: class}. An object of it, whose `name` is set, has samples(folder, seed), a list of
(inputs by name, truth), and score(outputs, truths), a number of which more is better; outputs are
lists of arrays in the model's order. Seed 1 gives the samples for calibration, --seed (0) those
that are scored: choose options of the quantizer with other seeds than those that you report.

Ours runs on the modelled HTP of --soc, ONNX Runtime's QNN configuration on its CPU provider, both
calibrated by the same samples. A row has the scores and the SQNR of all outputs in dB. The last
lines count the networks where ours is no worse, and compare mean losses against float. Arguments
behind -- go to `quern quantize`. $QUERN_BIN names the program.
"""
import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

QUERN = os.environ.get("QUERN_BIN", "build/release/bin/quern")


def tasks_of(path):
    spec = importlib.util.spec_from_file_location("tasks", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec.loader.exec_module(module)
    return module.TASKS


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def file_of(name):
    return re.sub("[^A-Za-z0-9_]", "_", name)


def write_list(folder, samples):
    """Raw inputs and the list that names them, a line for each sample."""
    folder.mkdir()
    lines = []
    for i, sample in enumerate(samples):
        for name, value in sample.items():
            value.tofile(folder / f"{i}.{file_of(name)}.raw")
        lines.append(" ".join(f"{n}:={folder / f'{i}.{file_of(n)}.raw'}" for n in sample))
    (folder / "list.txt").write_text("\n".join(lines) + "\n")
    return folder / "list.txt"


def run_quern(model, samples, names, like, soc, folder):
    subprocess.run([QUERN, "run", model, "-q", "--backend", "htp", "--soc", soc, "--input-list",
                    write_list(folder / "scored", samples), "--output-dir", folder / "out"],
                   check=True, stdout=subprocess.DEVNULL)
    made = []
    for i, floats in enumerate(like):
        row = []
        for name, want in zip(names, floats):
            here = [folder / "out" / f"Result_{i}" / f"{n}.raw" for n in (name, file_of(name))]
            data = np.fromfile(next(p for p in here if p.exists()), want.dtype)
            row.append(data.reshape(want.shape))
        made.append(row)
    return made


def by_quern(path, scheme, calibration, flags, soc, folder):
    """The model, and in how many partitions it runs."""
    out = folder / "quern.onnx"
    done = subprocess.run([QUERN, "quantize", path, "-o", out, "-s", scheme, "--soc", soc, "--json",
                           "-c", write_list(folder / "calibration", calibration), *flags],
                          check=True, capture_output=True, text=True)
    return out, json.loads(done.stdout)[0]["partitions"]


def by_onnxruntime(path, scheme, calibration, folder):
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize
    from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                                  qnn_preprocess_model)

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(calibration)

        def get_next(self):
            return next(self.left, None)

    model = onnx.load(path)
    del model.metadata_props[:]  # its preprocessing fails on any
    if next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")) < 13:
        model = onnx.version_converter.convert_version(model, 13)
    source, ready, out = (folder / n for n in ("source.onnx", "ready.onnx", "ort.onnx"))
    onnx.save(model, source)
    used = ready if qnn_preprocess_model(source, ready) else source
    kind = QuantType.QUInt8 if scheme == "a8w8" else QuantType.QUInt16
    for per_channel in (True, False):  # it fails on some models with a scale for each channel
        try:
            quantize(used, out, get_qnn_qdq_config(
                used, Reader(), activation_type=kind, weight_type=QuantType.QInt8,
                per_channel=per_channel, weight_symmetric=True))
            return session(out)
        except Exception as error:  # of many kinds
            failure = error
    raise failure


def sqnr(want, got):
    signal = sum((np.float64(w) ** 2).sum() for row in want for w in row)
    noise = sum(((np.float64(w) - g) ** 2).sum()
                for row, other in zip(want, got) for w, g in zip(row, other))
    return 10 * np.log10(signal / max(noise, 1e-30))


def measure(name, task, o, scheme):
    path = o.dir / f"{name}.onnx"
    calibration = [x for x, _ in task.samples(str(o.dir), 1)]
    samples, truths = zip(*task.samples(str(o.dir), o.seed))
    net = session(path)
    names = [v.name for v in net.get_outputs()]
    floats = [net.run(None, x) for x in samples]
    row = {"network": name, "scheme": scheme, "float": float(task.score(floats, truths))}

    def note(side, outputs):
        row[side] = float(task.score(outputs, truths))
        row[f"{side}_db"] = float(sqnr(floats, outputs))

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        made, row["partitions"] = by_quern(path, scheme, calibration, o.flags, o.soc, folder)
        note("quern", run_quern(made, samples, names, floats, o.soc, folder))
        try:
            theirs = by_onnxruntime(path, scheme, calibration, folder)
            note("onnxruntime", [theirs.run(None, x) for x in samples])
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error)[:80]}"
    return row


def show(row):
    def cell(side):
        return f"{row[side]:.3f}, {row[side + '_db']:.1f}" if side in row else "fails"

    print(f"| {row['network']} | {row['scheme']} | {row['float']:.3f} | {cell('quern')} | "
          f"{cell('onnxruntime')} | {row['partitions']} |", flush=True)


def summarize(rows, scheme):
    both = [r for r in rows if r["scheme"] == scheme and "onnxruntime" in r]
    if not both:
        return
    behind = [r["onnxruntime"] - r["quern"] for r in both]
    loss = {side: np.mean([max(0, r["float"] - r[side]) for r in both])
            for side in ("quern", "onnxruntime")}
    print(f"{scheme}: no worse on {sum(b <= 0 for b in behind)} of {len(both)}, at most "
          f"{max(0, *behind):.3f} behind; mean loss {loss['quern']:.4f}, ONNX Runtime "
          f"{loss['onnxruntime']:.4f}")


def main():
    arguments = sys.argv[1:]
    flags = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tasks", required=True)
    parser.add_argument("--schemes", default="a8w8,a16w8")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--soc", default="SM8650")
    parser.add_argument("--json")
    own = arguments[:arguments.index("--")] if "--" in arguments else arguments
    o = parser.parse_intermixed_args(own)
    o.flags, tasks, rows = flags, tasks_of(o.tasks), []
    print("| network | scheme | float | quern quantize | ONNX Runtime | partitions |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for name in o.names or [n for n in tasks if (o.dir / f"{n}.onnx").exists()]:
        for scheme in o.schemes.split(","):
            task = tasks[name]()
            task.name = name
            rows.append(measure(name, task, o, scheme))
            show(rows[-1])
    for scheme in o.schemes.split(","):
        summarize(rows, scheme)
    if o.json:
        Path(o.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
