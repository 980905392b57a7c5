#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lint.py <clang-tidy> <build folder> [--checks LIST]: clang-tidy over what a build compiles.

Findings of headers come with the sources that include them. The exit status is 1 if any file has a
finding. --checks replaces those of .clang-tidy.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compiled(build):
    """Sources of ours that the build compiles, without those of other architectures."""
    entries = json.loads((build / "compile_commands.json").read_text())
    paths = {os.path.relpath(entry["file"], ROOT) for entry in entries}
    return sorted(path for path in paths if path.startswith("src/"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tidy")
    parser.add_argument("build", type=Path)
    parser.add_argument("--checks")
    args = parser.parse_args()
    paths = compiled(args.build)
    command = [args.tidy, "-p", str(args.build), "--quiet"]
    command += [f"--checks={args.checks}"] if args.checks else []

    def check(path):
        run = subprocess.run([*command, path], cwd=ROOT, capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stdout + (run.stderr if not run.stdout else ""), flush=True)
        return run.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(check, paths))
    bad = results.count(False)
    print(f"tidy: {len(paths)} files checked, {bad} with findings")
    return 0 if paths and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
