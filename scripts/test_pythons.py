#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make test-pythons: one wheel, tried with every Python of this machine.

Builds the wheel (or takes --wheel), checks what it needs, and installs it in a fresh environment of
each python3.9 and newer that is in the PATH or under ~/.pyenv, beside the newest onnxruntime that
has been made for it. There the example of the README and tests/python run. The last lines are a
table; the exit status is 0 only if nothing failed. A Python whose onnxruntime is too old for the
provider passes if the package says so.
"""
import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import build_wheel

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "pythons"


def find_pythons():
    """The newest program of each minor version, by version."""
    folders = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found = {}
    for folder in folders:
        for program in folder.glob("python3.*"):
            if not re.fullmatch(r"python3\.\d+", program.name):
                continue
            ran = subprocess.run([program, "-c", "import sys, ensurepip, venv;"
                                  "print(*sys.version_info[:3])"], capture_output=True, text=True)
            version = tuple(map(int, ran.stdout.split()))
            if ran.returncode == 0 and version >= (3, 9):
                found[version[:2]] = max(found.get(version[:2], (version, program)),
                                         (version, program))
    return [found[key] for key in sorted(found)]


def readme_example():
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    return block, re.search(r"# prints (.*)", block).group(1)


def try_python(program, wheel, folder):
    """(version of onnxruntime, what happened, whether all is well)."""
    subprocess.run([program, "-m", "venv", "--clear", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
                    "--prefer-binary", wheel, "onnxruntime", "onnx", "numpy", "pytest"], check=True,
                   stderr=subprocess.DEVNULL)
    env = {**os.environ, "QUERN_INSTALLED": "1"}
    for name in ("QUERN_LIB_DIR", "PYTHONPATH"):
        env.pop(name, None)
    version = subprocess.run([python, "-c", "import onnxruntime; print(onnxruntime.__version__)"],
                             check=True, capture_output=True, text=True).stdout.strip()
    block, wanted = readme_example()
    with tempfile.TemporaryDirectory() as empty:
        ran = subprocess.run([python, "-c", block], cwd=empty, env=env, capture_output=True,
                             text=True)
    tests = subprocess.run([python, "-m", "pytest", "-q", ROOT / "tests" / "python"], cwd=ROOT,
                           env=env, capture_output=True, text=True)
    last = tests.stdout.strip().splitlines()[-1] if tests.stdout.strip() else tests.stderr
    refused = re.search(r"ImportError: (.*1\.24 or newer and found.*)", ran.stderr)
    example = ("example runs" if ran.stdout.strip() == wanted and ran.returncode == 0 else
               "refused in words" if refused else "EXAMPLE FAILS")
    if tests.returncode != 0:
        print(tests.stdout[-3000:])
    if example == "EXAMPLE FAILS":
        print(ran.stdout, ran.stderr)
    return version, f"{example}; {re.sub(r' in .*', '', last)}", (
        tests.returncode == 0 and example != "EXAMPLE FAILS")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="take this wheel and build none")
    args = parser.parse_args()
    wheel = args.wheel.resolve() if args.wheel else build_wheel.build(platform.machine(),
                                                                      WORK / "wheel")
    if not build_wheel.good(wheel):
        return 1
    rows, failed = [], 0
    for version, program in find_pythons():
        name = ".".join(map(str, version))
        print(f"Python {name} ({program})", flush=True)
        try:
            ort, result, well = try_python(program, wheel, WORK / name)
        except subprocess.CalledProcessError as error:
            ort, result, well = "-", f"FAILED: {' '.join(map(str, error.cmd[:6]))}", False
        failed += not well
        rows.append((name, ort, result))
    print("\n| Python | onnxruntime | result |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
