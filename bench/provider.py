#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models through the public onnxruntime-qnn provider on our libQnnHtp.so, one row a model.

    bench/provider.py MODEL.onnx ... [--lib DIR] [--bin DIR] [--soc N] [--write]

Inputs come from NAME.npz beside NAME_a8w8.onnx (one array an input with a first axis of samples, or
one called "test"), and are random where there is none; NAME.onnx or NAME_f32.onnx is the float
model. --write also puts the rows into docs/provider.md, whose text says what the columns are.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort

from measure import alternate, sqnr
from sides import OnnxRuntime, Ours, Provider, Refused, random_feed

ROOT = Path(__file__).resolve().parent.parent
MAX_SAMPLES, N_LOADS = 8, 3
COLUMNS = ("model", "parts", "compile", "write", "read", "onnx", "context", "same", "run",
           "quern", "ratio", "SQNR", "default", "float", "plain")
PAGE = ROOT / "docs" / "provider.md"
TEXT = """\
# Models through the public provider

This page shows how the public onnxruntime-qnn package (2.7.0) runs quantized models on Quern's
`libQnnHtp.so`: how long sessions take to create, how fast they run, how close the results are.
Target SoC SM8650, one thread. The first ten models are pretrained networks from public Python
packages, quantized with random inputs; the others are torchvision networks with random weights.

<!-- The rows are written by the commands below. -->

    bench/public_models.py build/public
    scripts/quantize_models.py build/nets
    bench/provider.py --write build/public/*_a*w8.onnx build/nets/*_a*w8.onnx

- parts: graphs that the provider made of the model; with 1, all of it runs on Quern's library.
- compile, write, read: milliseconds to create a session that compiles the model, one that also
  writes a context model, and one that reads it in a new process (best of three, except for write).
- onnx, context: size in MiB of the model, and of the context model with its binary.
- same: whether the three sessions return the same bytes.
- run, quern: milliseconds of a run through the provider, and of `quern bench` on the same file;
  the fastest of alternating runs. ratio: run divided by quern; in brackets, that of the medians.
- SQNR, default: dB against onnxruntime's CPU provider without graph optimizations, mean of all
  inputs: Quern's, and that of its default mode, which fuses quantized ops; 120: equal outputs.
- float, plain: dB against the float model: Quern's, and the CPU provider's without optimizations.

Some rows show what the provider itself does to a model. It gives the 1 of a Reciprocal the
encoding of the divisor, which ends at 0.13 in magika. It also converts the second operand of a
matmul of two 16-bit activations to 8 bits, which affects minilm, ppocr_rec and vit in A16W8.

"""


def samples(model):
    """Inputs of up to MAX_SAMPLES runs."""
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    file = model.parent / f"{model.stem.rsplit('_', 1)[0]}.npz"
    if not file.exists():
        return [random_feed(session, seed) for seed in range(MAX_SAMPLES)]
    arrays = dict(np.load(file))
    if list(arrays) == ["test"]:
        arrays = {session.get_inputs()[0].name: arrays["test"][:, None]}
    count = min(MAX_SAMPLES, *(len(a) for a in arrays.values()))
    return [{name: a[i] for name, a in arrays.items()} for i in range(count)]


def provider(a, model, feed, config=None):
    """All of the model on our library if it takes all of it."""
    options = {"soc_model": str(a.soc)}
    try:
        return Provider(model, a.lib / "libQnnHtp.so", feed, config, **options)
    except Refused:
        config = {**(config or {}), "session.disable_cpu_ep_fallback": "0"}
        if "ep.context_file_path" in config:  # it may have been written before the refusal
            Path(config["ep.context_file_path"]).unlink(missing_ok=True)
        return Provider(model, a.lib / "libQnnHtp.so", feed, config, **options)


def outputs(side, feeds):
    return [v for feed in feeds for v in side.session.run(None, feed)]


def child(a):
    """In a process of its own: loads the model, answers with times, leaves outputs in a file."""
    model, target, context = map(Path, a.child)
    feeds = samples(Path(a.models[0]))
    config = {"session.record_ep_graph_assignment_info": "1"}
    if context.name:
        config |= {"ep.context_enable": "1", "ep.context_file_path": str(context)}
    times, side = [], None
    for _ in range(1 if context.name else N_LOADS):
        del side
        side = provider(a, model, feeds[0], config)
        times.append(side.load_ms)
    np.savez(target, *outputs(side, feeds))
    parts = [p.ep_name for p in side.session.get_provider_graph_assignment_info()]
    print(json.dumps({"load_ms": min(times), "parts": parts.count(Provider.NAME)}))


def start(a, model, loaded, target, context=""):
    done = subprocess.run([sys.executable, __file__, str(model), "--lib", a.lib, "--bin", a.bin,
                           "--soc", str(a.soc), "--child", str(loaded), str(target), str(context)],
                          capture_output=True, text=True)
    if done.returncode:
        raise Refused((done.stderr.strip().splitlines() or ["the process died"])[-1])
    return json.loads(done.stdout)


def same(one, other):
    one, other = np.load(one), np.load(other)
    return one.files == other.files and all(
        one[k].tobytes() == other[k].tobytes() for k in one.files)


def contexts(a, model):
    """Compile, write, read: three processes, one result."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        online = start(a, model, model, folder / "online.npz")
        written = start(a, model, model, folder / "write.npz", folder / "model_ctx.onnx")
        read = start(a, model, folder / "model_ctx.onnx", folder / "read.npz")
        size = sum(f.stat().st_size for f in folder.glob("model_*"))
        equal = (same(folder / "online.npz", folder / "write.npz")
                 and same(folder / "online.npz", folder / "read.npz"))
    return {"parts": online["parts"], "compile": f"{online['load_ms']:.0f}",
            "write": f"{written['load_ms']:.0f}", "read": f"{read['load_ms']:.1f}",
            "onnx": f"{model.stat().st_size / 2**20:.2f}", "context": f"{size / 2**20:.2f}",
            "same": "yes" if equal else "NO"}


def speed(a, model, feeds):
    """Both on the same input: tables of 16-bit values make times depend on it."""
    with tempfile.TemporaryDirectory() as folder:
        for i, value in enumerate(feeds[0].values()):
            np.save(Path(folder) / f"input_{i}.npy", value)
        sides = {"run": provider(a, model, feeds[0]),
                 "quern": Ours(a.bin / "quern", model, "htp", a.soc, flags=["--inputs", folder])}
        try:
            times = alternate(sides, a.turns, a.seconds)
        finally:
            sides["quern"].close()
    run, quern = times["run"], times["quern"]
    return {"run": f"{run['min_ms']:.3f}", "quern": f"{quern['min_ms']:.3f}",
            "ratio": f"{run['min_ms'] / quern['min_ms']:.3f} "
                     f"({run['median_ms'] / quern['median_ms']:.3f})"}


class Plain(OnnxRuntime):
    """onnxruntime as the file says it: fused quantized ops round in another place."""

    def open(self, model, options):
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return super().open(model, options)


def float_model(model):
    name = model.stem.rsplit("_", 1)[0]
    files = (model.with_name(f"{name}{ending}.onnx") for ending in ("", "_f32"))
    return next((f for f in files if f.exists()), None)


def accuracy(a, model, feeds):
    """Means over the samples."""
    plain, default = Plain(model, 1, feeds[0]), OnnxRuntime(model, 1, feeds[0])
    ours, source = provider(a, model, feeds[0]), float_model(model)
    real = Plain(source, 1, feeds[0]) if source else None
    rows = []
    for feed in feeds:
        p, d, o = (s.session.run(None, feed) for s in (plain, default, ours))
        rows.append([sqnr(p, o), sqnr(p, d)])
        if real:
            r = real.session.run(None, feed)
            rows[-1] += [sqnr(r, o), sqnr(r, p)]
    means = np.mean(np.minimum(120, rows), axis=0)
    return dict(zip(("SQNR", "default", "float", "plain"), (f"{v:.1f}" for v in means)))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    p.add_argument("--lib", type=Path, default=ROOT / "build" / "lib", help="our libraries")
    p.add_argument("--bin", type=Path, default=ROOT / "build" / "bin", help="our programs")
    p.add_argument("--soc", type=int, default=57, help="chip (default 57, SM8650)")
    p.add_argument("--parts", default="contexts,speed,accuracy",
                   type=lambda t: t.split(","), help="of contexts, speed, accuracy")
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.4, help="of a turn")
    p.add_argument("--write", action="store_true", help="put the rows into docs/provider.md")
    p.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    a = p.parse_args()
    a.lib, a.bin = a.lib.resolve(), a.bin.resolve()
    return a


def line_of(row):
    return "| " + " | ".join(str(row.get(c, "-")) for c in COLUMNS) + " |"


def write(row):
    """The page with this row; those of other models stay."""
    head = [line_of({c: c for c in COLUMNS}), "|" + " --- |" * len(COLUMNS)]
    old = PAGE.read_text().splitlines() if PAGE.exists() else []
    lines = [t for t in old if t.startswith("| ")][2:]
    names = [t.split()[1] for t in lines]
    if row["model"] in names:
        lines[names.index(row["model"])] = line_of(row)
    else:
        lines.append(line_of(row))
    PAGE.write_text(TEXT + "\n".join(head + lines) + "\n")


def measure(a, model):
    row = {"model": model.stem}
    try:
        feeds = samples(model)
        if "contexts" in a.parts:
            row |= contexts(a, model)
        if "speed" in a.parts:
            row |= speed(a, model, feeds)
        if "accuracy" in a.parts:
            row |= accuracy(a, model, feeds)
    except Refused as error:
        row["same"] = str(error)
    return row


def main():
    a = arguments()
    os.environ["QUERN_THREADS"] = "1"
    ort.set_default_logger_severity(4)
    if a.child:
        return child(a)
    print(line_of({c: c for c in COLUMNS}), flush=True)
    for model in a.models:
        row = measure(a, model)
        print(line_of(row), flush=True)
        if a.write:
            write(row)


if __name__ == "__main__":
    main()
