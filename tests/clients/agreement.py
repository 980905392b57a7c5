#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's own backend tests through `quern run` and through our provider: do they agree?

    agreement.py [--variant NAME] [--match REGEX] [--every N] [--jobs N]

Each case of onnx_cases.py runs in the variants of conformance_providers.py twice: by the program
`quern run`, and by the provider in onnxruntime, on the same backend. Both must support the case,
with outputs that are equal to the bit, or both must reject it. Any other answer is printed and
fails, unless agreement.tsv lists it with a reason.

Not compared are cases that the provider never sees: onnxruntime computes them while it loads the
model, or does not load them. onnxruntime's own optimizations are off, so that both get one graph.
"""
import argparse
import collections
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np

import conformance
import onnx_cases
from conformance_providers import (HTP_ANY, HTP_CHIP, Folded, Quern, Refused, has_device,
                                   run_cli)

LIST = Path(__file__).with_name("agreement.tsv")
FLAGS = {"cpu": ["--backend", "cpu"], "gpu": ["--backend", "gpu", "--precision", "fp32"],
         "fp16": HTP_CHIP, "u8": HTP_ANY, "u16": HTP_ANY, "u8-chip": HTP_CHIP, "u16-chip": HTP_CHIP}


def difference(ours, theirs):
    """'' or how the CLI's outputs differ from the provider's."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        b = np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {i}: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
        same = (a == b) | ((a != a) & (b != b))
        if not same.all():
            off = np.abs(a.astype(np.float64) - b.astype(np.float64))[~same]
            return f"output {i}: {off.size} of {a.size} values, by up to {off.max():.3g}"
    return ""


class Host(Quern):
    """The provider, in an onnxruntime that changes nothing in the graph."""

    def settings(self):
        so = super().settings()
        so.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return so


def from_the_host(error):
    """Whether onnxruntime itself rejected the model, before a provider was asked."""
    return "assigned to the default CPU EP" not in error and "Quern" not in error


def attempt(provider, case, variant):
    name = next(n for n, v in provider.variants.items() if v is variant)
    try:
        model, feeds = (onnx_cases.quantized_form(case, variant.bits) if variant.bits
                        else onnx_cases.float_form(case))[:2]
    except onnx_cases.NotApplicable:
        return None
    theirs, why = None, ""
    try:
        theirs = provider.run(model, feeds, variant.options)
    except Refused as error:
        if from_the_host(str(error)):
            return "host", provider.onnxruntimes_words(str(error))
        why = str(error)
    except Folded:
        return "folded", ""
    try:
        ours = run_cli(model, feeds, FLAGS[name])
    except Refused as error:
        return ("reject", str(error)) if theirs is None else ("provider", str(error))
    if theirs is None:
        return "refused", why  # serve() finds the provider's reason in the log
    wrong = difference(ours, theirs)
    return ("differ", wrong) if wrong else ("equal", "")


WORDS = {"provider": "rejected by quern run only", "refused": "rejected by the provider only",
         "differ": "different outputs", "crash": "crash", "timeout": "timeout"}


def read_list():
    """{(variant, case): verdict} of known disagreements."""
    rows = [line.split("\t") for line in LIST.read_text().splitlines()
            if line and not line.startswith("#")] if LIST.exists() else []
    return {(variant, name): verdict for variant, verdict, _, names in rows
            for name in names.split()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", choices=FLAGS, help="only this one")
    parser.add_argument("--match", default="", help="only cases whose name this finds")
    parser.add_argument("--every", type=int, default=1, help="only each n-th of them")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = onnx_cases.load()
    wanted = [name for name in cases if re.search(args.match, name)][::args.every]
    variants = [args.variant] if args.variant else list(FLAGS)
    if "gpu" in variants and not has_device():
        print("skipped without an OpenCL device: gpu")
        variants.remove("gpu")
    jobs = [(v, n) for v in variants for n in wanted]
    done = conformance.run_all(Host(), cases, jobs, args.jobs, attempt)
    known, bad = {k: v for k, v in read_list().items() if k in done}, 0
    for (variant, name), (verdict, words) in sorted(done.items()):
        expected = known.get((variant, name))
        if (verdict in WORDS or expected) and verdict != expected:
            bad += 1
            print(f"{variant} {name}: {WORDS.get(verdict, 'agree')}: {words}")
    for variant in variants:
        counted = collections.Counter(v for (w, _), (v, _) in done.items() if w == variant)
        listed = sum(v == variant for v, _ in known)
        print(f"{variant}: {counted['equal']} equal, {counted['reject']} rejected by both, "
              f"{sum(counted[v] for v in WORDS)} disagree ({listed} listed); "
              f"not seen by the provider: {counted['folded']} folded, {counted['host']} rejected "
              "by onnxruntime")
    print(f"{len(done)} cases, {bad} not as expected")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
