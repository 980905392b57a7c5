#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions that ops take on 64-bit ARM, emulated by qemu-user: no times.

    scripts/count_arm.py [CASE...]      CASE: "OP FORM SIZE CIN KERNEL STRIDE COUT" of count_op

Needs build/aarch64/bin/count_op (cmake --preset aarch64 && ninja -C build/aarch64 count_op). Each
case runs once and three times; half the difference is a call. Prints a table: the kernel and its
instructions for 1000 multiply-adds (results, where an op has none), for each value of QUERN_ISA.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "aarch64" / "bin" / "count_op"
ISAS = ("neon", "dot", "i8mm")
CASES = ("depthwise u8s8 56 96 3 1 96", "depthwise u8s8 56 144 3 2 144",
         "depthwise u8s8 14 480 5 1 480", "depthwise u8s8 28 240 5 2 240",
         "depthwise u16s8 28 96 3 1 96", "depthwise u16s8 56 144 3 2 144",
         "depthwise u16s8 14 480 5 1 480", "conv u8s8 28 64 3 1 64", "conv u8s8 28 64 1 1 256",
         "conv u16s8 28 64 1 1 256", "conv fp32 28 64 3 1 64", "dense fp32 1 1024 1 1 1024",
         "dense u8s8 1 1024 1 1 1024", "dense u16s8 1 1024 1 1 1024",
         "dense fp32s8 1 1024 1 1 1024", "dense fp32s4 1 1024 1 1 1024",
         "dense fp32s4 64 1024 1 1 1024", "matmul u16s8 64 64 1 1 64", "add fp32 28 128 0 0 0")


def run(plugin, isa, case, times):
    """The kernel of a case, its multiply-adds and the instructions of so many calls."""
    command = ["qemu-aarch64", "-plugin", plugin, "-L", "/usr/aarch64-linux-gnu", PROGRAM]
    done = subprocess.run([str(part) for part in command] + case.split() + [str(times)],
                          env={**os.environ, "QUERN_ISA": isa}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"count_arm: {case}: {done.stderr.strip()}")
    kernel, work = done.stdout.split()
    return kernel, int(work), int(done.stderr.split()[-1])


def main():
    if not PROGRAM.exists():
        raise SystemExit(f"count_arm: {PROGRAM} is missing: build target count_op, preset aarch64")
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(plugin),
                        str(ROOT / "bench" / "qemu_count.c")], check=True)
        print("| op | " + " | ".join(ISAS) + " |")
        print("| --- |" + " --- |" * len(ISAS))
        for case in sys.argv[1:] or CASES:
            cells = []
            for isa in ISAS:
                kernel, work, once = run(plugin, isa, case, 1)
                thrice = run(plugin, isa, case, 3)[2]
                cells.append(f"`{kernel}` {(thrice - once) * 500 / work:.0f}")
            print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
