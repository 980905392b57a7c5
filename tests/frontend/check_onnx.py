# SPDX-License-Identifier: MIT
"""Runs the cases of one group (onnx_<group>.py) with `quern run` and compares what comes out.

    check_onnx.py PROGRAM GROUP [PATTERN] [--backend NAME]

PROGRAM may be several words separated by semicolons (an emulator first). Prints what failed; the
exit status is 0 when everything passed. A backend other than the CPU may refuse cases, but must
say that it is the one who does; more than half must run.
"""
import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx


REFUSED = "refused"


def compare(case, i, got, want):
    """What is wrong with output i, or None."""
    want = np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"output {i} is {got.dtype}{list(got.shape)}, expected " \
               f"{want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        bad = np.argwhere(got != want)
        return None if not len(bad) else f"output {i} at {bad[0].tolist()}: " \
            f"{got[tuple(bad[0])]}, expected {want[tuple(bad[0])]} ({len(bad)} differ)"
    g, w = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(w)
    size = np.abs(w) if case.relative else np.abs(w[finite]).max(initial=0)
    with np.errstate(invalid="ignore"):
        error = np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0, np.abs(g - w))
        bad = np.argwhere(~(error <= case.tol * size + case.atol))
    if not len(bad):
        return None
    at = tuple(bad[np.argmax(np.nan_to_num(error[tuple(bad.T)], nan=np.inf))])
    return f"output {i} at {[int(k) for k in at]}: {g[at]:.9g}, expected {w[at]:.9g} " \
           f"({len(bad)} of {w.size} differ too much)"


def run(program, case, folder, backend=None):
    """What is wrong with a case, or None; REFUSED when the backend does not take it."""
    path, ins, outs = (os.path.join(folder, n) for n in ("model.onnx", "in", "out"))
    os.makedirs(ins)
    onnx.save(case.model, path)
    for i, a in enumerate(case.inputs):
        np.save(os.path.join(ins, f"input_{i}.npy"), a)
    # No target SoC, whose floats would be float16: the cases' tolerances are those of float32.
    options = ["--backend", backend, "--soc", "none"] if backend else []
    p = subprocess.run([*program, "run", path, "--inputs", ins, "--outputs", outs, "--json",
                        *options], capture_output=True, text=True, timeout=120)
    said = p.stderr.strip()
    if p.returncode < 0 or "Sanitizer" in said:
        return f"died with status {p.returncode}: {said[-2000:]}"
    if case.refusal is not None:
        if p.returncode == 0:
            return "was taken, expected a refusal"
        return None if case.refusal in said else f"refused with '{said}', expected '{case.refusal}'"
    if p.returncode != 0 and backend and re.search(rf"\b{backend.upper()}\b", said):
        return REFUSED
    if p.returncode != 0:
        return f"status {p.returncode}: {said}"
    report = json.loads(p.stdout)
    left = report["layout_transposes"]
    if case.transposes is not None and not backend and left > case.transposes:
        return f"{left} transposes for layouts, at most {case.transposes} expected"
    if case.ops is not None and not backend and report["ops"] != case.ops:
        return f"{report['ops']} ops, expected {case.ops}"
    for i, want in enumerate(case.expected):
        why = compare(case, i, np.load(os.path.join(outs, f"output_{i}.npy")), want)
        if why:
            return why
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("group")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--backend")
    args = parser.parse_args()
    program = [word for word in args.program.split(";") if word]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    total, failed, refused, names = 0, 0, 0, set()
    for case in importlib.import_module("onnx_" + args.group).cases():
        assert case.name not in names, f"two cases are named {case.name}"
        names.add(case.name)
        if not re.search(args.pattern, case.name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            why = run(program, case, folder, args.backend)
        total += 1
        if why is REFUSED:
            refused += 1
        elif why:
            failed += 1
            print(f"{case.name}: {why}")
    print(f"{args.group}: {total} cases, {refused} refused by the backend, {failed} failed")
    return 1 if failed or refused * 2 >= total else 0


if __name__ == "__main__":
    sys.exit(main())
