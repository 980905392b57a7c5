# SPDX-License-Identifier: MIT
"""How the cost of a model grows with its nodes: import, finalize and one execution.

    check_growth.py PROGRAM [--most N] [--doublings K] [--backend NAME] [--family PATTERN]
                    [--ratio R]

Runs each family of growth.py with N, N/2, ... nodes, prints what each costs and the ratio of each
doubling; the exit status is 1 when a ratio is above R (2.2). Costs are user instructions where
`perf stat` can count them, else seconds of user time, the least of three. Small costs count as 50
million instructions or 0.1 s: a process has to start.
"""
import argparse
import os
import re
import sys
import tempfile

import onnx

from growth import FAMILIES

def run(command, log):
    """User seconds of a command that must succeed."""
    pid = os.fork()
    if pid == 0:
        to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 1)
        os.dup2(to, 2)
        os.execvp(command[0], command)
    _, status, used = os.wait4(pid, 0)
    if status:
        with open(log, encoding="utf-8", errors="replace") as f:
            raise RuntimeError(f.read()[-400:].strip())
    return used.ru_utime


def instructions(command, folder):
    """Millions of user instructions; None where nobody counts them."""
    counts = os.path.join(folder, "counts")
    run(["perf", "stat", "-x,", "-o", counts, "-e", "instructions:u", *command],
        os.path.join(folder, "log"))
    with open(counts, encoding="utf-8") as f:
        found = re.search(r"^(\d+),", f.read(), re.M)
    return int(found[1]) / 1e6 if found else None


def can_count(folder):
    try:
        return instructions(["true"], folder) is not None
    except (RuntimeError, OSError):
        return False


def cost(command, folder, counted):
    if counted:
        return instructions(command, folder)
    return min(run(command, os.path.join(folder, "log")) for _ in range(3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--most", type=int, default=65536)
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--family", default="")
    parser.add_argument("--ratio", type=float, default=2.2)
    args = parser.parse_args()
    program = [word for word in args.program.split(";") if word]
    sizes = [args.most >> i for i in range(args.doublings, -1, -1)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        counted = can_count(folder)
        least = 50 if counted else 0.1
        print(f"{'family':18}" + "".join(f"{n:>10}" for n in sizes) + "   ratios of " +
              ("millions of instructions" if counted else "user seconds"))
        for family in FAMILIES:
            if not re.search(args.family, family.__name__):
                continue
            costs = []
            for n in sizes:
                path = os.path.join(folder, "model.onnx")
                onnx.save(family(n), path)
                try:
                    costs.append(cost([*program, "run", path, "--random", "--backend", args.backend,
                                       "--json", "--threads", "1"], folder, counted))
                except RuntimeError as error:
                    print(f"{family.__name__}, {n} nodes: {error}")
                    break
            ratios = [max(b, least) / max(a, least) for a, b in zip(costs, costs[1:])]
            bad = len(costs) < len(sizes) or max(ratios) > args.ratio
            failed += bad
            print(f"{family.__name__:18}" + "".join(f"{c:>10.2f}" for c in costs) + "   " +
                  " ".join(f"{r:.2f}" for r in ratios) + ("  too much" if bad else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
