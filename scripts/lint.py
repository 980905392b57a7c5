#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lint.py <clang-tidy> <build folder> [--seconds N]: clang-tidy over what a build compiles.

With --seconds no file is begun after that time; the files that changed last come first, so a gate
with little time looks at what is new. Findings of headers come with the sources that include them.
The exit status is 1 if any file has a finding.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compiled(build):
    """Sources of ours that the build compiles, without those of other architectures."""
    entries = json.loads((build / "compile_commands.json").read_text())
    paths = {os.path.relpath(entry["file"], ROOT) for entry in entries}
    return sorted(path for path in paths if path.startswith("src/"))


def newest_first(paths):
    """By the last commit that touched a file or a header of its folder; uncommitted ones lead."""
    log = subprocess.run(["git", "log", "--format=", "--name-only", "-n", "400"], cwd=ROOT,
                         capture_output=True, text=True).stdout.split("\n")
    dirty = subprocess.run(["git", "diff", "--name-only", "HEAD"], cwd=ROOT,
                           capture_output=True, text=True).stdout.split("\n")
    rank = {}
    for path in filter(None, dirty + log):
        rank.setdefault(path, len(rank))
    return sorted(paths, key=lambda path: rank.get(path, len(rank)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tidy")
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=float, default=0, help="0: no limit")
    args = parser.parse_args()
    paths = newest_first(compiled(args.build))
    end = time.monotonic() + args.seconds if args.seconds else float("inf")

    def check(path):
        if time.monotonic() > end:
            return None
        run = subprocess.run([args.tidy, "-p", str(args.build), "--quiet", path], cwd=ROOT,
                             capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stdout + (run.stderr if not run.stdout else ""), flush=True)
        return run.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = [r for r in pool.map(check, paths) if r is not None]
    bad = results.count(False)
    print(f"tidy: {len(results)} of {len(paths)} files checked, {bad} with findings")
    return 0 if results and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
