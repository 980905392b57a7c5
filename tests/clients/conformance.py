#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's own backend tests through a provider of onnxruntime on our libraries, or `quern run`.

    conformance.py [--provider quern|qnn|program] [--variant NAME] [--match REGEX] [--every N]
                   [--jobs N] [--write]

The provider is our own plugin, the public onnxruntime-qnn, or the program. Every case of
onnx_cases.py runs in the provider's variants (float, quantized to 8 and 16 bits;
conformance_providers.py) with onnxruntime's own CPU kernels forbidden. What does not pass is
listed in the provider's table with the reason, and any difference from that list fails: a case
that stopped passing, one that started to, and another number of cases. --write renews the list, or
with --variant its rows; reasons of refusals come from the logs, those of wrong results are written
by hand and kept.

Verdicts: pass; wrong; refused (by onnxruntime, the provider or the library); folded (onnxruntime
computed the result while it loaded the model); crash; timeout.
"""
import argparse
import collections
import multiprocessing
import os
import re
import sys
import tempfile
import time
import warnings
from multiprocessing.connection import wait

import numpy as np

import onnx_cases
from conformance_providers import PROVIDERS, Folded, Refused, has_device

SECONDS = 60  # for a case


def same(got, want, limit):
    """'' or what is different, for a result that is not encoded."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else "other integers"
    got, want = got.astype(np.float64), want.astype(np.float64)
    close = np.isclose(got, want, *limit, equal_nan=True)
    return "" if close.all() else f"off by {np.abs(got - want)[~close].max():.3g}"


def within(got, want, codes, steps):
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if not np.isfinite(got).all():
        return "not finite"
    off = np.abs(codes.encode(got) - codes.encode(want)).max()
    return "" if off <= steps else f"off by {off:.0f} steps"


def attempt(provider, case, variant):
    """(verdict, words); None for a case without this variant."""
    codes = {}
    try:
        if variant.bits:
            model, feeds, want, codes = onnx_cases.quantized_form(case, variant.bits)
        else:
            model, feeds, want = onnx_cases.float_form(case)
        results = provider.run(model, feeds, variant.options)
    except onnx_cases.NotApplicable:
        return None
    except Refused as error:
        return "refused", str(error)
    except Folded:
        return "folded", "onnxruntime computes it while loading"
    for name, got, wanted in zip(case.outputs, results, want):
        if name in codes:
            wrong = within(got, wanted, codes[name], provider.steps(case, variant))
        else:
            wrong = same(got, wanted, (0, 0) if variant.bits else variant.limit)
        if wrong:
            return "wrong", wrong
    return "pass", ""


def serve(pipe, provider, cases, attempt):
    """A worker: one case at a time, with what the libraries say in a file."""
    os.environ["QUERN_LOG"] = "-"
    warnings.simplefilter("ignore")
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
        provider.register()
        for variant, name in iter(pipe.recv, None):
            log.seek(0), log.truncate()
            answer = attempt(provider, cases[name], provider.variants[variant])
            if answer and answer[0] == "refused":
                log.seek(0)
                said = log.read().decode(errors="replace")
                answer = "refused", provider.reason(answer[1], said)
            pipe.send(answer)


class Worker:
    """A process and what it is doing; a new process where the old one died."""

    def __init__(self, *given):
        self.start = lambda pipe: multiprocessing.get_context("fork").Process(
            target=serve, args=(pipe, *given), daemon=True)
        self.process = None

    def give(self, job):
        if not self.process:
            self.pipe, theirs = multiprocessing.Pipe()
            self.process = self.start(theirs)
            self.process.start()
            theirs.close()
        self.job, self.deadline = job, time.monotonic() + SECONDS
        self.pipe.send(job)

    def answer(self):
        try:
            if self.pipe.poll():
                return self.pipe.recv()
            verdict = "timeout", f"more than {SECONDS} s"
        except (EOFError, ConnectionError):
            self.process.join()
            verdict = "crash", f"exit status {self.process.exitcode}"
        self.end()
        return verdict

    def end(self):
        if self.process:
            self.process.kill(), self.process.join()
            self.process = None


def run_all(provider, cases, jobs, n_workers, attempt=attempt):
    """{(variant, case): (verdict, words)}"""
    jobs, done, busy = list(jobs)[::-1], {}, []
    idle = [Worker(provider, cases, attempt) for _ in range(n_workers)]
    while jobs or busy:
        while jobs and idle:
            busy.append(idle.pop())
            busy[-1].give(jobs.pop())
        wait([w.pipe for w in busy], timeout=1)
        for worker in [w for w in busy if w.pipe.poll() or time.monotonic() > w.deadline]:
            answer = worker.answer()
            if answer:
                done[worker.job] = answer
            busy.remove(worker), idle.append(worker)
    for worker in idle:
        worker.end()
    return done


def read_list(path):
    """({(variant, case): (verdict, reason)}, {variant: cases that pass}, what it was made with)"""
    lines = path.read_text().splitlines() if path.exists() else []
    known, passing = {}, {}
    for line in lines:
        if line.startswith("#"):
            continue
        variant, verdict, reason, names = line.split("\t")
        if verdict == "pass":
            passing[variant] = int(reason)
        known.update({(variant, name): (verdict, reason) for name in names.split()})
    return known, passing, next((line[2:] for line in lines if line.startswith("# onnx ")), "")


def count(done, variant):
    return collections.Counter(verdict for (v, _), (verdict, _) in done.items() if v == variant)


def write_list(provider, done, known, passing, variants):
    """Rows of other variants stay as they are."""
    groups = collections.defaultdict(list)
    for (variant, name), (verdict, reason) in known.items():
        if variant not in variants:
            groups[variant, verdict, reason].append(name)
    counts = passing | {v: count(done, v)["pass"] for v in variants}
    for (variant, name), (verdict, words) in done.items():
        old = known.get((variant, name), ("", ""))
        if verdict != "pass":
            keep = verdict != "refused" and old[0] == verdict
            groups[variant, verdict, old[1] if keep else words].append(name)
    with provider.list.open("w") as f:
        print("# How many cases pass; which do not, and why: conformance.py. Variant, verdict, "
              "number or reason, cases.", "# " + provider.versions(), sep="\n", file=f)
        for variant in provider.variants:
            print(variant, "pass", counts.get(variant, 0), "", sep="\t", file=f)
        for (variant, verdict, reason), names in sorted(groups.items()):
            print(variant, verdict, reason, " ".join(sorted(names)), sep="\t", file=f)


def compare(done, known):
    differences = 0
    for key in sorted(done.keys() | known.keys()):
        want = known.get(key, ("pass", ""))
        got = done.get(key, ("not run", "the case has no such variant any more"))
        if got[0] != want[0]:
            differences += 1
            print(f"{key[0]} {key[1]}: {got[0]} ({got[1]}), expected {want[0]} {want[1]}")
    return differences


def compare_counts(done, passing, variants):
    differences = 0
    for variant in variants:
        got, want = count(done, variant)["pass"], passing.get(variant, 0)
        if got != want:
            differences += 1
            print(f"{variant}: {got} pass, expected {want}")
    return differences


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--provider", choices=PROVIDERS, default="quern")
    parser.add_argument("--variant", help="only this one")
    parser.add_argument("--match", default="", help="only cases whose name this finds")
    parser.add_argument("--every", type=int, default=1, help="only each n-th of them")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", action="store_true", help="renew the provider's list")
    args = parser.parse_args()
    if args.variant and args.variant not in PROVIDERS[args.provider].variants:
        parser.error(f"--variant: one of {', '.join(PROVIDERS[args.provider].variants)}")
    if args.write and (args.match or args.every > 1):
        parser.error("--write wants all cases")
    return args


def main():
    args = parse()
    provider = PROVIDERS[args.provider]()
    warnings.simplefilter("ignore")
    known, passing, stamp = read_list(provider.list)
    if stamp != provider.versions() and not args.write:
        sys.exit(f"{provider.list.name} is for '{stamp}', installed are '{provider.versions()}'")
    onnx_cases.NEWEST_OPSET = provider.newest_opset
    cases = onnx_cases.load()
    wanted = [name for name in cases if re.search(args.match, name)][::args.every]
    variants = [args.variant] if args.variant else list(provider.variants)
    gpus = [v for v in variants if v.startswith("gpu")]
    if gpus and not has_device():
        print(f"skipped without an OpenCL device: {', '.join(gpus)}")
        variants = [v for v in variants if v not in gpus]
    done = run_all(provider, cases, [(v, n) for v in variants for n in wanted], args.jobs)
    for variant in variants:
        counted = count(done, variant)
        print(f"{variant}: {sum(counted.values())} cases:",
              ", ".join(f"{n} {verdict}" for verdict, n in counted.most_common()))
    if args.write:
        write_list(provider, done, known, passing, variants)
        return
    left_out = cases.keys() - set(wanted)
    differences = compare(done, {k: v for k, v in known.items()
                                 if k[0] in variants and k[1] not in left_out})
    agreeing = len(done) - differences
    if not left_out:
        differences += compare_counts(done, passing, variants)
    print(f"{agreeing} as expected, {differences} not")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
