#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench-ops: every op of the ONNX standard on the CPU backend against onnxruntime.

    bench/ops.py [--only TEXT] [--turns N] [--seconds T] [--write]

Each case of op_cases.py is a model of one node. Both sides run it on one thread and take turns;
what counts is the fastest run, less the fastest run of a model that does nothing, so that calling a
session is not counted. Prints the twenty worst ratios; --write puts the table into
docs/performance-ops.md. Outputs are compared first: a wrong one is listed, not timed.
"""
import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

import op_cases
from measure import Others, alternate, geometric_mean
from run import command_of, machine
from sides import OnnxRuntime, Ours, Refused, run_ours

ROOT = Path(__file__).resolve().parent.parent
BAR = 1.5
OPSETS = (23, 24, 22, 18)  # the first that onnxruntime takes counts
LEAST_MS = 0.002  # what is left after the subtraction, at least: below it ratios are noise


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--only", default="", help="cases whose 'Op label' matches this pattern")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--turns", type=int, default=5, help="of each side")
    p.add_argument("--seconds", type=float, default=0.03, help="of a turn")
    p.add_argument("--no-check", action="store_true", help="do not compare outputs")
    p.add_argument("--write", action="store_true", help="write docs/performance-ops.md")
    p.add_argument("--bin", type=Path, default=ROOT / "build" / "bin", help="the programs")
    p.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    return p.parse_args()


def opened(case, file, threads):
    """(onnxruntime's session, feed), the model in `file`."""
    last = Refused("no opset has it")
    for opset in OPSETS:
        try:
            model, feed = op_cases.model(case, opset)
        except Exception as error:  # the op is younger than the opset
            last = Refused(str(error).strip().splitlines()[0])
            continue
        onnx.save(model, file)
        try:
            return OnnxRuntime(file, threads, feed), feed
        except Refused as error:
            last = error
    raise last


def times(a, case, folder):
    """{"ours": ms, "peer": ms} of a case; Refused says which side cannot run it."""
    file = folder / "op.onnx"
    try:
        peer, feed = opened(case, file, a.threads)
        want = peer.outputs()
    except Exception as error:
        raise Refused(f"onnxruntime: {str(error).splitlines()[0]}") from None
    for old in folder.glob("*.npy"):
        old.unlink()
    for i, value in enumerate(feed.values()):
        np.save(folder / f"input_{i}.npy", value)
    if not a.no_check:
        check(want, run_ours(a.bin / "quern", file, feed, "cpu"))
    ours = Ours(a.bin / "quern", file, "cpu", threads=a.threads,
                flags=("--inputs", str(folder)))
    try:
        got = alternate({"peer": peer, "ours": ours}, a.turns, a.seconds)
    finally:
        ours.close()
    return {side: got[side]["min_ms"] for side in got}


def check(want, got):
    for i, (w, g) in enumerate(zip(want, got)):
        if w.shape != g.shape:
            raise Refused(f"output {i}: shape {g.shape}, expected {w.shape}")
        if w.dtype.kind in "biu":
            off = np.mean(w.astype(np.float64) != g.astype(np.float64)) if w.size else 0
            if off > 1e-3:
                raise Refused(f"output {i}: {100 * off:.2g} % of the values differ")
            continue
        near = 2e-2 if w.dtype == np.float16 else 2e-3
        scale = np.nanmax(np.abs(w[np.isfinite(w)]), initial=1)
        off = np.nanmax(np.abs(np.nan_to_num(w - g.astype(w.dtype))), initial=0) / scale
        if off > near:
            raise Refused(f"output {i}: off by {off:.2g} of its largest value")


def measured(a, cases):
    rows, missing = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty = times(a, ("Abs", "", [op_cases.draw((8,))], {}, 1), folder)
        for case in cases:
            title = f"{case[0]} {case[1]}"
            try:
                got = times(a, case, folder)
            except Refused as error:
                missing.append({"op": case[0], "label": case[1],
                                "why": str(error).replace(str(folder), "").strip()})
                print(f"{title}: not measured: {error}", flush=True)
                continue
            net = {s: max(LEAST_MS, got[s] - empty[s]) for s in got}
            rows.append({"op": case[0], "label": case[1], **net,
                         "ratio": net["ours"] / net["peer"]})
            print(f"{title}: {net['ours']:.3f} ms, onnxruntime {net['peer']:.3f} ms, "
                  f"{rows[-1]['ratio']:.2f}", flush=True)
    return rows, missing


def table(rows):
    lines = ["| op | size | Quern, ms | onnxruntime, ms | ratio |",
             "| --- | --- | --- | --- | --- |"]
    for r in rows:
        text = f"{r['ratio']:.2f}"
        lines.append(f"| {r['op']} | {r['label']} | {r['ours']:.3f} | {r['peer']:.3f} | "
                     f"{'**' + text + '**' if r['ratio'] > BAR else text} |")
    return lines


def markdown(result):
    rows = sorted(result["rows"], key=lambda r: -r["ratio"])
    above = sum(r["ratio"] > BAR for r in rows)
    lines = [
        "# Performance by op", "", "<!-- Written by the command below. -->", "",
        f"    {result['command']}", "",
        "This page compares each op of the ONNX standard on Quern's CPU backend with onnxruntime.",
        "Use it to find ops that are slow on Quern. Each op is a model of one node on",
        "`libQnnCpu.so` and on onnxruntime's CPU provider, one thread each, in alternation in the",
        f"same run on {result['machine']}. Times are the fastest",
        "run minus the fastest run of a model that does nothing. A ratio is Quern's time divided",
        f"by onnxruntime's: below 1, Quern is faster; ratios above {BAR} are bold. During the run,",
        f"other programs kept {result['load']:.2f} CPUs busy.", "",
        "ONNX images are channels-first, QNN's channels-last: a model of one node pays for both",
        "transposes, a network does not. Outputs are compared before they are timed.", "",
        f"{len(rows)} cases; geometric mean {geometric_mean(r['ratio'] for r in rows):.2f}; "
        f"{above} above {BAR}.", "", "## Slowest twenty", "", *table(rows[:20]), "",
        "## All", "", *table(sorted(rows, key=lambda r: (r["op"], r["label"]))), "",
        "## Not measured", ""]
    lines += [f"- {m['op']} {m['label']}: {m['why']}" for m in result["missing"]]
    lines += [f"- {why}: {', '.join(ops)}" for why, ops in op_cases.NOT_MEASURED.items()]
    return "\n".join(lines) + "\n"


def command(argv):
    """The words that make this page again."""
    words = command_of([w for w in argv if w != "--write"]).removeprefix("bench/run.py").strip()
    return f'make bench-ops BENCH="{words}"' if words else "make bench-ops"


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    ort.set_default_logger_severity(4)
    os.environ["OMP_NUM_THREADS"] = "1"
    others = Others()
    wanted = [c for c in op_cases.cases() if re.search(a.only, f"{c[0]} {c[1]}")]
    rows, missing = measured(a, wanted)
    if not rows:
        sys.exit("no case was measured")
    result = {"command": command(sys.argv[1:]), "machine": machine(), "rows": rows,
              "missing": missing, "load": others.busy()}
    (a.out / "ops.json").write_text(json.dumps(result, indent=1))
    print("\n" + "\n".join(table(sorted(rows, key=lambda r: -r["ratio"])[:20])))
    if a.write:
        (ROOT / "docs" / "performance-ops.md").write_text(markdown(result))


if __name__ == "__main__":
    main()
