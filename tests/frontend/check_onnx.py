# SPDX-License-Identifier: MIT
"""Runs the cases of one group (onnx_<group>.py) with `quern run` and compares what comes out.

    check_onnx.py PROGRAM GROUP [PATTERN] [--backend NAME [--soc NAME] [--whole]]

PROGRAM may be several words separated by semicolons (an emulator first). Prints what failed; the
exit status is 0 when everything passed. A backend other than the CPU may reject cases, but must
say that it is the one who does; more than half must run. With --whole it may reject none: `quern
check` must find one partition. With a target SoC floats are float16, and tolerances those of it.
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
FLOAT16 = 1e-2  # largest error where floats are float16, relative to the largest magnitude


def compare(case, i, got, want, tol=0):
    """What is wrong with output i, or None; tol: a larger error than the case's is allowed."""
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
    size = np.abs(w) if case.relative and tol <= case.tol else np.abs(w[finite]).max(initial=0)
    with np.errstate(invalid="ignore"):
        error = np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0, np.abs(g - w))
        if tol:  # a float16 target may have its largest number for an infinite one
            error[np.isinf(w) & (g * np.sign(w) >= 65504)] = 0
        bad = np.argwhere(~(error <= max(tol, case.tol) * size + case.atol))
    if not len(bad):
        return None
    at = tuple(bad[np.argmax(np.nan_to_num(error[tuple(bad.T)], nan=np.inf))])
    return f"output {i} at {[int(k) for k in at]}: {g[at]:.9g}, expected {w[at]:.9g} " \
           f"({len(bad)} of {w.size} differ too much)"


def partitions(program, path, options):
    """Why the model is not one partition of the backend, or None."""
    p = subprocess.run([*program, "check", path, "--json", *options], capture_output=True,
                       text=True, timeout=120)
    if p.returncode not in (0, 3):
        return f"check: status {p.returncode}: {p.stderr.strip()}"
    report = json.loads(p.stdout)
    rejected = [f"{n['op']}: {n.get('reason')}" for n in report["nodes"] if not n["accepted"]]
    return rejected[0] if rejected else None if report["partitions"] == 1 else \
        f"{report['partitions']} partitions"


def run(program, case, folder, backend=None, soc="none", whole=False):
    """What is wrong with a case, or None; REFUSED when the backend rejects it."""
    path, ins, outs = (os.path.join(folder, n) for n in ("model.onnx", "in", "out"))
    os.makedirs(ins)
    onnx.save(case.model, path)
    for i, a in enumerate(case.inputs):
        np.save(os.path.join(ins, f"input_{i}.npy"), a)
    options = ["--backend", backend, "--soc", soc] if backend else []
    if whole and case.refusal is None:
        why = partitions(program, path, options)
        if why:
            return why
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
    expanded = case.expanded in (True, backend or "cpu")
    if case.expanded is not None and ("expanded to floats" in said) != expanded:
        return f"said '{said}', expected {'a' if expanded else 'no'} line about its weights"
    report = json.loads(p.stdout)
    left = report["layout_transposes"]
    if case.transposes is not None and not backend and left > case.transposes:
        return f"{left} transposes for layouts, at most {case.transposes} expected"
    if case.ops is not None and not backend and report["ops"] != case.ops:
        return f"{report['ops']} ops, expected {case.ops}"
    for i, want in enumerate(case.expected):
        why = compare(case, i, np.load(os.path.join(outs, f"output_{i}.npy")), want,
                      FLOAT16 if case.tol and (soc != "none" or (backend and case.float16)) else 0)
        if why:
            return why
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("group")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--backend")
    parser.add_argument("--soc", default="none")
    parser.add_argument("--whole", action="store_true")
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
            why = run(program, case, folder, args.backend, args.soc, args.whole)
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
