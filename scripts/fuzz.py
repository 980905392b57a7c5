#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every fuzz target with new seeds: scripts/fuzz.py [--minutes N] [--build DIR] [TARGET...].

The minutes are shared by the targets, two of which run at a time. A target that ends with a finding
begins anew with another seed; its last input and what it printed are kept in build/fuzz-findings.
Prints a table; the status is 1 when there was a finding. Expects a tree with sanitizers that is
built (`make fuzz` sees to that).
"""
import argparse
import concurrent.futures
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests/fuzz/corpus"
FINDINGS = ROOT / "build/fuzz-findings"
ERRORS = str(ROOT / "tests/api/errors.tsv")
# name: (program, folder of the corpus, environment, share of the time)
TARGETS = {
    "onnx_run_cpu": ("fuzz_onnx_run", "run", {"QUERN_FUZZ_BACKEND": "cpu"}, 5),
    "onnx_run_htp": ("fuzz_onnx_run", "run", {"QUERN_FUZZ_BACKEND": "htp"}, 5),
    "onnx": ("fuzz_onnx", "onnx", {}, 1),
    "pte": ("fuzz_pte", "pte", {}, 2),
    "tflite_cpu": ("fuzz_tflite", "tflite", {"QUERN_FUZZ_BACKEND": "cpu"}, 2),
    "tflite_htp": ("fuzz_tflite", "tflite", {"QUERN_FUZZ_BACKEND": "htp"}, 2),
    "gguf": ("fuzz_gguf", "gguf", {}, 1),
    "dlc": ("fuzz_dlc", "dlc", {}, 1),
    "llm": ("fuzz_llm", "llm", {}, 1),
    "files": ("fuzz_files", "files", {}, 2),
    "graph": ("fuzz_graph", "graph", {}, 2),
    "binary": ("fuzz_binary", None, {}, 2),
    "ops": ("fuzz_ops", None, {}, 2),  # knows no --seconds: runs of some seconds each
}
OPTIONS = {
    "ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=12:allocator_may_return_null=1:"
                    "max_allocation_size_mb=512",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def command(name, build, seed, seconds, saved):
    program, corpus, _, _ = TARGETS[name]
    path = str(build / "tests" / program)
    if program == "fuzz_ops":
        return [path, "--runs", "120", "--seed", str(seed), ERRORS]
    folder = [str(CORPUS / corpus)] if corpus else []
    return [path, "--seconds", str(seconds), "--seed", str(seed), "--save", saved, *folder]


def numbers(text):
    """(inputs, executed) as the target printed them."""
    runs = re.search(r"(\d+) files, (\d+) changed and (\d+) generated", text)
    done = re.search(r"(\d+) executed", text)
    return (sum(map(int, runs.groups())) if runs else 0), int(done[1]) if done else 0


def run(name, build, seconds):
    """Inputs, executed ones and findings of one target."""
    end, total = time.monotonic() + seconds, [0, 0, 0]
    env = os.environ | {"QUERN_LIB_DIR": str(build / "lib")} | OPTIONS | TARGETS[name][2]
    with tempfile.TemporaryDirectory() as folder:
        saved = f"{folder}/input"
        while (left := end - time.monotonic()) > 1 or not any(total):
            seed = secrets.randbits(32)
            p = subprocess.run(command(name, build, seed, max(1, int(left)), saved), env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", check=False)
            total = [a + b for a, b in zip(total, (*numbers(p.stdout), p.returncode != 0))]
            if name == "ops":
                total[0] += 1
            if p.returncode:
                keep(name, seed, saved, p.stdout)
    return total


def keep(name, seed, saved, text):
    FINDINGS.mkdir(parents=True, exist_ok=True)
    (FINDINGS / f"{name}-{seed}.log").write_text(text)
    if os.path.exists(saved):
        shutil.copy(saved, FINDINGS / f"{name}-{seed}.input")
    print(f"{name}: finding with seed {seed}, see {FINDINGS / f'{name}-{seed}.log'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--build", type=Path, default=ROOT / "build/asan")
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    chosen = args.targets or [n for n, t in TARGETS.items()
                              if (args.build / "tests" / t[0]).exists()]
    shares = sum(TARGETS[n][3] for n in chosen)
    seconds = {n: 2 * 60 * args.minutes * TARGETS[n][3] / shares for n in chosen}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {n: pool.submit(run, n, args.build, seconds[n]) for n in chosen}
    print(f"{'target':<14}{'inputs':>10}{'executed':>10}{'findings':>10}")
    for name, job in jobs.items():
        print(f"{name:<14}" + "".join(f"{v:>10}" for v in job.result()))
    return 1 if any(job.result()[2] for job in jobs.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
