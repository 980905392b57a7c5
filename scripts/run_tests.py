#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make test: builds the sanitizer and release trees, runs ctest and pytest, adds everything up.
Where there are a cross compiler and an emulator, the kernels for 64-bit ARM are proved too.

The last line printed is `N passed, M failed, K skipped`; the exit status is 0 only if M is 0 and
something passed. A build that fails counts as one failed test and the remaining steps still run.
"""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PYTHON = BUILD / "venv" / "bin" / "python3"
JOBS = str(len(os.sched_getaffinity(0)))
# ctest's own words for a test that chose not to run; any other "not run" is a broken test.
SKIPS = re.compile(r"SKIP_RETURN_CODE|SKIP_REGULAR_EXPRESSION|Disabled", re.I)
CASES = re.compile(r"^(\d+) passed, (\d+) failed", re.M)

#        preset     configure options       which ctest tests, and what they need (empty: all)
TREES = [("asan",    ["-DQUERN_WERROR=ON"], ["-LE", "^structure$"], []),
         ("tsan",    ["-DQUERN_WERROR=ON"], ["-L", "^tsan$"], []),
         ("release", [],                    ["-L", "^(structure|release)$"], []),
         ("aarch64", ["-DQUERN_WERROR=ON"], ["-R", "^proof_"],
          ["run_cases", "QnnCpu", "QnnHtp", "proof_Cpu", "proof_Htp"])]
NO_TESTS = 5  # pytest's status where every test was skipped before it began
CROSS_TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64")


class Tally:
    """Passed, failed and skipped tests, by step, and the names of the failed ones."""

    def __init__(self):
        self.rows, self.failures = [], []

    def add(self, step, passed=0, failed=(), skipped=0, note=""):
        self.rows.append((step, passed, len(failed), skipped, note))
        self.failures += [f"{step}: {name}" for name in failed]

    def finish(self):
        print("\n" + "=" * 72)
        for step, passed, failed, skipped, note in self.rows:
            print(f"{step:<16} {passed:6} passed {failed:4} failed {skipped:4} skipped  {note}")
        for name in self.failures:
            print(f"FAILED  {name}")
        passed, failed, skipped = (sum(row[i] for row in self.rows) for i in (1, 2, 3))
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
        return 0 if failed == 0 and passed > 0 else 1


def call(*command, **env):
    print("+", " ".join(map(str, command)), flush=True)
    return subprocess.run([str(part) for part in command], cwd=ROOT,
                          env={**os.environ, **env}).returncode


def read_junit(path):
    """(passed, failed names, skipped) of a JUnit file as ctest and pytest write it."""
    passed, failed, skipped = 0, [], 0
    for case in ET.parse(path).getroot().iter("testcase"):
        note = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(case.get("name"))
        elif case.get("status") == "notrun" and not SKIPS.search(
                note.get("message", "") if note is not None else ""):
            failed.append(case.get("name") + " (did not run)")
        elif note is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def count_cases(tree):
    """Programs that run many cases close with a line of their own; say how many there were."""
    log = tree / "Testing" / "Temporary" / "LastTest.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    cases = sum(int(p) + int(f) for p, f in CASES.findall(text))
    return f"({cases} op cases)" if cases else ""


def collect(tally, step, junit, status, note=""):
    """Adds a runner's JUnit file; a runner that failed without naming a test counts as one."""
    try:
        passed, failed, skipped = read_junit(junit)
    except (OSError, ET.ParseError) as error:
        passed, failed, skipped = 0, [f"no results ({error})"], 0
    if status != 0 and not failed:
        failed = [f"exit status {status}"]
    tally.add(step, passed, failed, skipped, note)


def run_tree(tally, preset, options, selection, targets):
    tree = BUILD / preset
    absent = [tool for tool in CROSS_TOOLS if not shutil.which(tool)]
    if preset == "aarch64" and absent:
        tally.add(preset, skipped=1, note=f"({', '.join(absent)} not installed)")
        return
    chosen = ["--target", *targets] if targets else []
    if (call("cmake", "--preset", preset, "-DQUERN_TESTS=ON", "-DQUERN_BENCHES=ON",
             f"-DQUERN_PYTHON={PYTHON}", *options) != 0
            or call("cmake", "--build", "--preset", preset, "-j", JOBS, *chosen) != 0):
        tally.add(preset, failed=["build"])
        return
    junit = tree / "ctest.xml"
    junit.unlink(missing_ok=True)
    (tree / "Testing" / "Temporary" / "LastTest.log").unlink(missing_ok=True)
    status = call("ctest", "--test-dir", tree, "--output-on-failure", "--no-tests=ignore",
                  "-j", JOBS, "--output-junit", junit, *selection)
    collect(tally, preset, junit, status, count_cases(tree))


def start_pytest(step, *paths):
    """Starts a run whose words go to a file, so that two do not mix theirs."""
    junit, log = BUILD / f"{step}.xml", BUILD / f"{step}.log"
    junit.unlink(missing_ok=True)
    command = [PYTHON, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider",
               f"--junitxml={junit}", *paths]
    print("+", " ".join(map(str, command)), flush=True)
    with log.open("w") as out:
        run = subprocess.Popen(list(map(str, command)), cwd=ROOT, stdout=out, stderr=out,
                               env={**os.environ, "QUERN_LIB_DIR": str(BUILD / "release" / "lib")})
    return step, run, junit, log


def run_pytest(tally):
    """ExecuTorch's tests take as long as all others, and one processor each: both at once."""
    files = sorted((ROOT / "tests").glob("*/test_*.py"))
    torch = [path for path in files if path.name.startswith("test_executorch")]
    runs = [start_pytest("pytest-torch", *torch),
            start_pytest("pytest", *(path for path in files if path not in torch))]
    for step, run, junit, log in runs:
        status = run.wait()
        print(log.read_text(errors="replace"), flush=True)
        left_out = step == "pytest-torch" and status == NO_TESTS
        collect(tally, step, junit, 0 if left_out else status)


def link_release():
    for name in ("lib", "bin"):
        link = BUILD / name
        if link.is_symlink() or not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(Path("release") / name)


def main():
    tally = Tally()
    for preset, options, selection, targets in TREES:
        run_tree(tally, preset, options, selection, targets)
    link_release()
    run_pytest(tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
