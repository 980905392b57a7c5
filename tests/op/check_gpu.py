#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases of all groups on the GPU library, in its three modes of arithmetic.

    check_gpu.py [--all|--few] [--modes fp32,fp16] SUPPORT.tsv LIBRARY "RUNNER..." CASES.qc...

Every case that validation accepts must pass; most others were written for another backend and are
skipped. In each mode every op of the published GPU table must have passed, in fp32 every published
type of every operand. Without --all a few cases of each op run, those with published types first:
building programs for all of them takes minutes. With --few three cases of each op in a file run:
for builds with sanitizers, which look at the host's code. What oclgrind says about races and
accesses outside of buffers is a failure (make test-gpu-oclgrind). Exit status 77: there is no
OpenCL device.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from check_coverage import index_lines, rows
from check_half import types_of_cases

MODES = ("fp32", "fp16", "hybrid")
SAMPLE = 3  # cases of an op in a file with types that were not published, or with one set of types
WHOLE = ("gpu.qc", "weights.qc", "fusion.qc")  # files that are run whole
# What the log says when a case is refused before its nodes are validated, or when it expects an
# error of a later stage from an op that the GPU lacks.
REFUSED = ("dynamic dimensions are not supported", "sparse tensors are not supported",
           "op not supported by GPU", "quantized activations are not supported",
           "rank 0 is not supported")
# Published ops whose kernels are missing; a line here that is not needed any more fails the check.
NOT_YET = set()
# Types that no case can have, and why.
EXCUSED = {}


def promised(support):
    """(op, operand=type)"""
    for row in rows(support):
        if row[1] == "GPU" and row[3] == "yes":
            for operand, types in re.findall(r"((?:in|out)\[\d+\])=([a-z0-9|]+)", row[4]):
                for name in types.split("|"):
                    yield row[0], f"{operand}={name}"


def expecting_errors(path):
    """Names of the cases that want an error: they prove nothing about results."""
    names, name = set(), None
    for words in (line.split(" ") for line in index_lines(path)):
        name = words[1] if words[0] == "case" else name
        if words[0] == "fail":
            names.add(name)
    return names


def spread(names, n):
    return names[::max(1, (len(names) - 1) // max(1, n - 1))][:n]


def sample(known, wanted, errors):
    """Names of some cases of each op: one for each set of published types, SAMPLE for floats of 32
    bits and for all other sets together, and what is missing to cover every published type. Cases
    of quantized activations are rejected at once and cost nothing: all of them."""
    groups = collections.defaultdict(list)
    rejected = {name for name, (_, words) in known.items()
                if any(re.search(r"=[su]q", w) for w in words)}
    for name, (op, words) in known.items():
        listed = all((op, w) in wanted for w in words)
        groups[op, name in rejected, frozenset(words) if listed else None].append(name)
    chosen = set()
    for (_, quantized, words), names in groups.items():
        floats = words is None or all(w.endswith("=f32") for w in words)
        chosen.update(names if quantized else spread(names, SAMPLE if floats else 1))
    covered = collections.Counter((known[name][0], w) for name in chosen - errors - rejected
                                  for w in known[name][1])
    for name, (op, words) in known.items():  # more than one: some have dynamic dimensions
        new = {(op, w) for w in words if (op, w) in wanted and covered[op, w] < SAMPLE}
        if new and name not in chosen | errors | rejected:
            chosen.add(name)
            covered.update(new)
    return chosen


def few(known, wanted, errors):
    """Of a sample some names of each op, without those that want an error."""
    groups = collections.defaultdict(list)
    for name in sorted(sample(known, wanted, errors) - errors):
        quantized = any(re.search(r"=[su]q", w) for w in known[name][1])
        groups[known[name][0], quantized].append(name)
    return {name for names in groups.values() for name in spread(names, SAMPLE)}


class Run:
    """One file in one mode."""
    def __init__(self, args, wanted, mode, path, known):
        whole = args.all or os.path.basename(path) in WHOLE
        errors = expecting_errors(path)
        some = few if args.few else sample
        names = known if whole else some(known, wanted, errors)
        self.mode, self.error = mode, ""
        self.passed, self.failed, self.skipped, self.refused, ended = [], [], 0, 0, False
        if not names:
            return
        with tempfile.NamedTemporaryFile("w", suffix=".names", delete=False) as f:
            f.write("\n".join(names))
        done = subprocess.run([*filter(None, args.runner.split(";")), args.library, path,
                               "--verbose", "--allow-unsupported", "--precision", mode, "--names",
                               f.name], capture_output=True, text=True, errors="replace")
        os.unlink(f.name)
        self.error = done.stderr if done.returncode not in (0, 1) else ""
        simulator = re.search(r".*data race at.*|Invalid (read|write).*", done.stderr)
        if simulator:
            self.error = f"{path} in {mode}: {done.stderr[simulator.start():][:2000]}"
        for line in done.stdout.splitlines():
            name = line.split(" ")[1].rstrip(":") if " " in line else ""
            if line.startswith("PASS ") and name in errors:
                self.refused += 1
            elif line.startswith("PASS "):
                self.passed.append(known[name])
            elif line.startswith("SKIP ") or any(text in line for text in REFUSED):
                self.skipped += 1
            elif line.startswith("FAIL "):
                self.failed.append((known.get(name, (None, ()))[0], f"{mode}: {line}"))
            ended = ended or re.match(r"\d+ passed, ", line)
        if not ended and not self.error:
            self.error = f"{path} in {mode}: the runner ended with {done.returncode}: {done.stderr}"


def report(runs, mode, wanted):
    """Prints what happened in one mode; number of problems."""
    mine = [r for r in runs if r.mode == mode]
    passed = [p for r in mine for p in r.passed]
    failed = [f for r in mine for f in r.failed if f[0] not in NOT_YET]
    ops = {op for op, _ in passed}
    used = {(op, word) for op, words in passed for word in words}
    missing = sorted({w[0] for w in wanted} - ops - NOT_YET)
    if mode == "fp32":
        missing += sorted(" ".join(w) for w in wanted
                          if w not in used and w not in EXCUSED and w[0] not in NOT_YET)
    for text in [f[1] for f in failed] + [f"{mode}: not covered: {w}" for w in missing]:
        print(text)
    print(f"{mode}: {len(passed)} cases of {len(ops)} ops passed, {len(failed)} failed, "
          f"{sum(r.refused for r in mine)} errors came as wanted, {sum(r.skipped for r in mine)} "
          f"skipped; {len({w[0] for w in wanted})} published ops, {len(missing)} not covered")
    return len(failed) + len(missing)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("support")
    parser.add_argument("library")
    parser.add_argument("runner")
    parser.add_argument("cases", nargs="+")
    args = parser.parse_args()
    modes, known = args.modes.split(","), {path: types_of_cases(path) for path in args.cases}
    wanted = set(promised(args.support))
    # One mode after the other: the modes share most programs, the first one builds them.
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda job: Run(args, wanted, *job, known[job[1]]),
                             [(mode, path) for mode in modes for path in args.cases]))
    errors = [r.error for r in runs if r.error]
    if any("gives 4000" in e for e in errors):
        print("no OpenCL device: install pocl-opencl-icd")
        return 77
    problems = len(errors) + sum(report(runs, mode, wanted) for mode in modes)
    still = {f[0] for r in runs for f in r.failed}
    for op in sorted(NOT_YET - still):
        print(f"{op} is done: take it off NOT_YET")
        problems += 1
    print("\n".join(errors))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
