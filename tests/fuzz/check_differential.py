# SPDX-License-Identifier: MIT
"""Compares drawn models with ONNX Runtime: check_differential.py PROGRAM [--runs N] [--seed S].

PROGRAM is fuzz_onnx_run. It draws models, executes them on the CPU backend and writes each with
its inputs and outputs to a folder; ONNX Runtime executes the same. Results must agree where both
have some, but for the differences that KNOWN gives a reason for. Prints what does not; with
--verbose also who rejects what the other accepts.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32,
         7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
# Ops whose results may be others, and why: models with one of them are not compared.
KNOWN = {
    "RandomUniform": "another generator", "RandomUniformLike": "another generator",
    "RandomNormal": "another generator", "RandomNormalLike": "another generator",
    "Bernoulli": "another generator",
    "GroupQueryAttention": "drawn lengths contradict each other; what then comes is not defined",
    "DynamicQuantizeLSTM": "computed without quantizing the activations (docs/onnx.md)",
    "DynamicQuantizeMatMul": "computed without quantizing the activations (docs/onnx.md)",
    "Cast": "numbers out of range become anything", "CastLike": "numbers out of range",
    "MeanVarianceNormalization": "0/0 for equal numbers there; the standard adds an epsilon",
    "NonZero": "of a scalar: [1, n] there, the standard says [0, n]",
    "MaxRoiPool": "drawn regions lie outside", "RoiAlign": "drawn regions lie outside",
    "NonMaxSuppression": "drawn boxes have negative sizes",
    "QLinearSoftmax": "a 1 beyond the largest quantized value wraps around there",
}
# What a quantizer makes of the NaN of these is not defined.
NAN_MAKERS = {"Pow", "Log", "Sqrt", "ReduceLogSum", "Acosh", "Asin", "Acos", "Atanh", "Inverse",
              "Reciprocal", "Div", "Mod", "Tan", "ReduceLogSumExp", "LpNormalization", "Attention"}
# With one of these a result may be a few steps of a quantizer off: rounding is half up (not half to
# even), once for a fused step, and an earlier step goes through what follows.
QUANTIZERS = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
STEPS, MOST_OFF = 3, 0.6


def records(path):
    """(kind, name, array or text) of a case."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        kind, name, kind_of, held, size, *dims = data[at:end].decode().split(" ")
        raw = data[end + 1:end + 1 + int(size)]
        at = end + 1 + int(size)
        if kind == "result":
            yield kind, name, raw.decode(errors="replace")
            continue
        dtype, bits = np.dtype(TYPES[int(kind_of)]), int(held)
        if bits and bits != 8 * dtype.itemsize:  # 64-bit integers are held as 32 bits
            dtype = np.dtype(f"{dtype.kind}{bits // 8}")
        yield kind, name, np.frombuffer(raw, dtype).reshape([int(d) for d in dims]).astype(
            TYPES[int(kind_of)])


def reference(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def nodes_of(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            yield from nodes_of(a.g)


def ops_of(model):
    graphs = [model.graph, *model.functions]
    return {n.op_type for g in graphs for n in nodes_of(g)}


def largest_step(model):
    """The largest scale of a model's quantizers; 0: it has none."""
    scales = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    scales |= {n.output[0]: numpy_helper.to_array(a.t) for n in nodes_of(model.graph)
               for a in n.attribute if n.op_type == "Constant" and a.name == "value"}
    used = [np.max(scales[i], initial=0) for n in nodes_of(model.graph) for i in n.input
            if n.op_type in QUANTIZERS and i in scales and scales[i].dtype == np.float32]
    return float(max(used, default=0))


def is_known(model, ops):
    """Are results known to differ?"""
    def crops(node):
        return node.op_type == "Resize" and any(
            a.s == b"tf_crop_and_resize" for a in node.attribute)
    def has_lengths(node):
        return node.op_type in ("LSTM", "GRU", "RNN") and len(node.input) > 4 and node.input[4]
    nodes, open_ones = list(nodes_of(model.graph)), left_open(model)
    # ONNX Runtime leaves axes whose size stays as they are; the reference evaluator crops them. The
    # state after a sequence of no steps is 0 there, the initial one here.
    return bool(ops & set(KNOWN)) or any(crops(n) or has_lengths(n) for n in nodes) or any(
        i in open_ones for n in nodes for i in n.input) or (
            bool(ops & NAN_MAKERS) and is_quantized(ops))


def is_quantized(ops):
    return bool(ops & QUANTIZERS) or any(o.startswith("QLinear") or o == "QGemm" for o in ops)


def left_open(model):
    """Outputs that ONNX Runtime does not compute: means and deviations of skip normalizations."""
    return {o for n in nodes_of(model.graph) if n.op_type.startswith("Skip") for o in n.output[1:3]}


def differs(got, want, ops, step):
    """What is wrong with an output, or None."""
    want = np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    quantized = is_quantized(ops)
    g, w = got.astype(np.float64), want.astype(np.float64)
    if want.dtype.kind != "f":
        bad = np.abs(g - w) > (STEPS if quantized and want.dtype.itemsize < 4 else 0)
    else:
        rel = 5e-2 if quantized else 2e-2 if want.dtype == np.float16 else 1e-3
        with np.errstate(all="ignore"):
            top = np.abs(w[np.isfinite(w)]).max(initial=0)
            room = rel * np.abs(w) + rel / 10 * min(top, 1e6) + 1e-5 + STEPS * step
            bad = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= room))
    if not bad.any() or (quantized and bad.mean() <= MOST_OFF):
        return None
    at = tuple(np.argwhere(bad)[0])
    return f"{got[at]} at {[int(k) for k in at]}, expected {want[at]} ({bad.sum()} of {bad.size})"


def check(path, seen):
    """(kind, text) of what is to be told of a case."""
    parts = list(records(path.with_suffix(".res")))
    status, said = next((name, text) for kind, name, text in parts if kind == "result")
    data = path.read_bytes()
    feeds = {name: a for kind, name, a in parts if kind == "in"}
    outs = {name: a for kind, name, a in parts if kind == "out"}
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # no protobuf
        return ("accepted", "not a protobuf") if status == "executed" else None
    ops = ops_of(model)
    if status != "executed" or is_known(model, ops):
        return None
    try:
        want = reference(data, feeds)
    except Exception as e:
        return "accepted", f"{' '.join(sorted(ops))}: {str(e)[:600]}"
    seen["compared"] += 1
    for name, a in outs.items():
        if name in left_open(model):
            continue
        why = differs(a, want[name], ops, largest_step(model)) if name in want else "not an output"
        if why:
            return "differs", f"{' '.join(sorted(ops))}: {name}: {why}"
    return None


def work(folder, first):
    """Checks the cases from number `first` on; a line for each that is done."""
    seen = collections.Counter()
    for path in sorted(folder.glob("*.onnx"))[first:]:
        before = seen["compared"]
        found = check(path, seen)
        print(json.dumps([path.stem, seen["compared"] - before, found]), flush=True)
    return 0


def results(folder):
    """What work() says of all cases. ONNX Runtime may die of one: the rest is for another."""
    paths, done = sorted(folder.glob("*.onnx")), 0
    while done < len(paths):
        p = subprocess.run([sys.executable, "-B", __file__, "--work", str(done), str(folder)],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = p.stdout.splitlines()
        yield from map(json.loads, lines)
        done += len(lines)
        if done < len(paths):
            yield paths[done].stem, 0, ("died", f"status {p.returncode}")
            done += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", default="1500")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", help="folder for the cases")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if args.work is not None:
        return work(Path(args.program), args.work)
    told, compared = collections.defaultdict(list), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(args.keep or name)
        folder.mkdir(exist_ok=True)
        program = [word for word in args.program.split(";") if word]
        subprocess.run([*program, "--runs", args.runs, "--seed", args.seed], check=True,
                       stdout=subprocess.DEVNULL,
                       env=os.environ | {"QUERN_FUZZ_WRITE": str(folder)})
        for stem, more, found in results(folder):
            compared += more
            if found:
                told[found[0]].append(f"{stem}: {found[1]}")
    for kind in told if args.verbose else ("differs",):
        for line in told[kind]:
            print(f"{kind}: {line}")
    print(f"{compared} compared, {len(told['differs'])} differ, {len(told['accepted'])} accepted "
          f"that ONNX Runtime rejects, {len(told['died'])} that it dies of")
    return 1 if told["differs"] or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
