#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's own backend tests through the public onnxruntime-qnn provider on our libQnnHtp.so.

    conformance.py [--match REGEX] [--every N] [--jobs N] [--write]

Every case of onnx_cases.py runs in three variants (float, computed in half precision; quantized to
8 bits, within one step; to 16 bits, within four) with onnxruntime's own CPU kernels forbidden. What
does not pass is listed in conformance.tsv with the reason, and any difference from that list fails:
a case that stopped passing, and one that started to. --write renews the list; reasons of refusals
come from the logs, those of wrong results are written by hand and kept.

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
from pathlib import Path

import numpy as np
import onnx

import onnx_cases
from ort_models import loaded_qnn_libraries

LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
LIST = Path(__file__).with_name("conformance.tsv")
PROVIDER = "QNNExecutionProvider"
VARIANTS = {"float": None, "u8": 8, "u16": 16}
STEPS = {8: 1, 16: 4}
SECONDS = 60  # for a case


class Refused(Exception):
    pass


class Folded(Exception):
    pass


class Provider:
    def __init__(self):
        import onnxruntime
        import onnxruntime_qnn
        plugin = Path(onnxruntime_qnn.__file__).with_name("libonnxruntime_providers_qnn.so")
        onnxruntime.register_execution_provider_library(PROVIDER, str(plugin))
        self.ort = onnxruntime
        self.devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER][:1]

    def run(self, model, feeds):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 0  # only there the provider says why it leaves a node out
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_provider_for_devices(self.devices, {
            "backend_path": str(LIBS / "libQnnHtp.so"), "soc_model": "69"})
        try:
            session = self.ort.InferenceSession(model.SerializeToString(), options,
                                                enable_fallback=0)
        except Exception as error:
            raise Refused(str(error)) from None
        strangers = {p for p in loaded_qnn_libraries() if Path(p).parent != LIBS}
        if strangers:
            raise RuntimeError(f"not ours: {strangers}")
        parts = session.get_provider_graph_assignment_info()
        if not any(p.ep_name == PROVIDER and p.get_nodes() for p in parts):
            raise Folded
        try:
            return session.run(None, feeds)
        except Exception as error:
            raise Refused(str(error)) from None


def same(got, want):
    """'' or what is different, for a result that is not encoded."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else "other integers"
    got, want = got.astype(np.float64), want.astype(np.float64)
    close = np.isclose(got, want, rtol=1e-2, atol=1e-2, equal_nan=True)
    return "" if close.all() else f"off by {np.abs(got - want)[~close].max():.3g}"


def within(got, want, codes, steps):
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if not np.isfinite(got).all():
        return "not finite"
    off = np.abs(codes.encode(got) - codes.encode(want)).max()
    return "" if off <= steps else f"off by {off:.0f} steps"


def attempt(provider, case, bits):
    """(verdict, words); None for a case without this variant."""
    codes = {}
    try:
        if bits:
            model, feeds, want, codes = onnx_cases.quantized_form(case, bits)
        else:
            model, feeds, want = onnx_cases.float_form(case)
        results = provider.run(model, feeds)
    except onnx_cases.NotApplicable:
        return None
    except Refused as error:
        return "refused", str(error)
    except Folded:
        return "folded", "onnxruntime computes it while loading"
    for name, got, wanted in zip(case.outputs, results, want):
        wrong = within(got, wanted, codes[name], STEPS[bits]) if name in codes else \
            same(got, wanted)
        if wrong:
            return "wrong", wrong
    return "pass", ""


def reason_of_refusal(error, log):
    """The most telling line: the library's, the provider's, onnxruntime's."""
    ours = re.search(r"HTP_QTI_AISW: (?:graph '[^']*' )?(?:node '[^']*' )?(?:\((\w+)\): )?(.*)",
                     log)
    if ours:
        op, text = ours.groups()
        text = re.sub(r" ?\(tensor '[^']*'\)| ?\(QNN_[A-Z_]+\)|tensor '[^']*': ", "", text)
        if text == "output is missing":
            return "provider: gives no memory for an output that it declared"
        if "data type" in text:
            text = "types that the HTP does not take"
        return f"library: {op}: {text}" if op else f"library: {text}"
    theirs = re.search(r"REASON : (.*)", log)
    if theirs:
        text = re.sub(r"Operators of type `(\w+)`.*", r"no builder for \1", theirs.group(1))
        return "provider: " + text.strip().rstrip(".!")
    if "opset not being supported" in log:
        return "onnxruntime: no providers for opsets that old"
    if "assigned to the default CPU EP" in error:
        return "provider: takes no partition of such nodes alone"
    invalid = re.search(r", Error (.*)", error)
    return "onnxruntime: " + (invalid.group(1) if invalid else error.split(" : ")[-1])[:120].strip()


def serve(pipe, cases):
    """A worker: one case at a time, with what the libraries say in a file."""
    os.environ["QUERN_LOG"] = "-"
    warnings.simplefilter("ignore")
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
        provider = Provider()
        for variant, name in iter(pipe.recv, None):
            log.seek(0), log.truncate()
            answer = attempt(provider, cases[name], VARIANTS[variant])
            if answer and answer[0] == "refused":
                log.seek(0)
                said = log.read().decode(errors="replace")
                answer = "refused", reason_of_refusal(answer[1], said)
            pipe.send(answer)


class Worker:
    """A process and what it is doing; a new process where the old one died."""

    def __init__(self, cases):
        self.start = lambda pipe: multiprocessing.get_context("fork").Process(
            target=serve, args=(pipe, cases), daemon=True)
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


def run_all(cases, jobs, n_workers):
    """{(variant, case): (verdict, words)}"""
    jobs, done, busy = list(jobs)[::-1], {}, []
    idle = [Worker(cases) for _ in range(n_workers)]
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


def versions():
    from importlib.metadata import version
    return f"# onnx {onnx.__version__}, onnxruntime-qnn {version('onnxruntime-qnn')}"


def read_list():
    """({(variant, case): (verdict, reason)}, the line with the versions)"""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    known = {}
    for line in lines:
        if not line.startswith("#"):
            variant, verdict, reason, names = line.split("\t")
            known.update({(variant, name): (verdict, reason) for name in names.split()})
    return known, next((line for line in lines if line.startswith("# onnx ")), "")


def write_list(done, known):
    groups = collections.defaultdict(list)
    for (variant, name), (verdict, words) in done.items():
        old = known.get((variant, name), ("", ""))
        if verdict != "pass":
            keep = verdict != "refused" and old[0] == verdict
            groups[variant, verdict, old[1] if keep else words].append(name)
    with LIST.open("w") as f:
        print("# What does not pass, and why: conformance.py. Variant, verdict, reason, cases.",
              versions(), sep="\n", file=f)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="", help="only cases whose name this finds")
    parser.add_argument("--every", type=int, default=1, help="only each n-th of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="renew conformance.tsv")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known, stamp = read_list()
    if stamp != versions() and not args.write:
        sys.exit(f"conformance.tsv is for '{stamp[2:]}', installed are '{versions()[2:]}'")
    cases = onnx_cases.load()
    wanted = [name for name in cases if re.search(args.match, name)][::args.every]
    if args.write and len(wanted) < len(cases):
        sys.exit("--write wants all cases")
    done = run_all(cases, [(v, n) for v in VARIANTS for n in wanted], args.jobs)
    for variant in VARIANTS:
        count = collections.Counter(answer[0] for (v, _), answer in done.items() if v == variant)
        print(f"{variant}: {sum(count.values())} cases:",
              ", ".join(f"{n} {verdict}" for verdict, n in count.most_common()))
    if args.write:
        write_list(done, known)
        return
    left_out = cases.keys() - set(wanted)
    differences = compare(done, {k: v for k, v in known.items() if k[1] not in left_out})
    print(f"{len(done) - differences} as expected, {differences} not")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
