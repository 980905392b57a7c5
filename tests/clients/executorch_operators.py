#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operator tests that lie inside the public executorch wheel, on our libraries and our runner.

    executorch_operators.py [-k TEXT ...] [--jobs N] [--lib DIR] [--runner FILE] [--log DIR]

Every test lowers small modules with ExecuTorch's own code, runs them with qnn_executor_runner and
compares with PyTorch. Tests that are expected to end otherwise than well stand in
executorch_operators.txt with the reason. The last line is `N passed, M failed, K skipped`; what was
not expected counts as failed. Half an hour on two cores; -k chooses tests by a part of their names.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLASSES = ("TestQNNFloatingPointOperator", "TestQNNQuantizedOperator")
SLICE = 8  # tests a process: torch takes seconds to load, and a crash must not take many along


class Stub(types.ModuleType):
    """A package that operator tests import and never use: whatever is asked for is a class."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def wheel_tests(folder):
    """The module of the tests, set up for a host."""
    models = "executorch.examples.models."
    stubs = ["transformers", "torchvision"] + [models + name for name in (
        "deeplab_v3", "edsr", "inception_v3", "inception_v4", "mobilenet_v2", "mobilenet_v3",
        "torchvision_vit", "torchvision_vit.model", "wav2letter")]
    for name in stubs:
        sys.modules[name] = Stub(name)
    from executorch.backends.qualcomm.tests import test_qnn_delegate as module
    from executorch.backends.qualcomm.tests.utils import TestQNN
    for name in stubs[:2]:  # torch looks for these later, and must not find them
        del sys.modules[name]
    TestQNN.enable_x86_64, TestQNN.backend, TestQNN.soc_model = True, "htp", "SM8650"
    TestQNN.build_folder = TestQNN.artifact_dir = TestQNN.executorch_root = folder
    return module


def names_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_in(test)
        else:
            yield ".".join(test.id().split(".")[-2:])


class Outcomes(unittest.TestResult):
    """{test: [outcome, reason]}; of the sub-tests of a test the first that fails."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def note(self, test, outcome, reason=""):
        name = ".".join(test.id().split(" ")[0].split(".")[-2:])
        if self.found.get(name, ["passed"])[0] == "passed":
            self.found[name] = [outcome, reason]

    def addSuccess(self, test):
        self.note(test, "passed")

    def addFailure(self, test, error):
        self.note(test, "failed", str(error[1])[-600:])

    def addError(self, test, error):
        self.note(test, "failed", f"{error[0].__name__}: {error[1]}"[-600:])

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.note(test, "passed")  # the wheel expects the library to refuse it

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "passed, although the wheel expects a failure")

    def addSubTest(self, test, subtest, error):
        if error:
            self.addFailure(subtest, error)


def child(out, folder, tests):
    module = wheel_tests(folder)
    loader, result = unittest.TestLoader(), Outcomes()
    if not tests:
        found = list(names_in(loader.loadTestsFromNames(CLASSES, module)))
        Path(out).write_text(json.dumps(found))
        return
    for name in tests:
        loader.loadTestsFromName(name, module).run(result)
        Path(out).write_text(json.dumps(result.found))


def start(args, folder, label, tests):
    """Runs a child; its results, with tests that a crash cut off as failed."""
    out, log = folder / f"{label}.json", (args.log or folder) / f"{label}.log"
    env = dict(os.environ, QNN_SDK_ROOT=str(folder / "sdk"), OMP_NUM_THREADS="1",
               QNN_EXECUTOR_RUNNER=str(args.runner.resolve()),
               LD_LIBRARY_PATH=f"{args.lib.resolve()}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    with log.open("w") as text:
        code = subprocess.run([sys.executable, __file__, "--child", out, folder, *tests], env=env,
                              stdout=text, stderr=text, cwd=folder).returncode
    found = json.loads(out.read_text()) if out.exists() else {}
    for name in tests:
        found.setdefault(name, ["failed", f"the process ended with {code}; see {log}"])
    return found


def expectations():
    lines = (HERE / "executorch_operators.txt").read_text().splitlines()
    rows = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    return {name: (outcome, why) for name, outcome, why in rows}


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-k", action="append", default=[], help="part of a name; may be repeated")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--lib", type=Path, default=Path("build/lib"))
    p.add_argument("--runner", type=Path, default=Path("build/bin/qnn_executor_runner"))
    p.add_argument("--log", type=Path, help="existing folder for what the tests print")
    args = p.parse_args()
    expected, found = expectations(), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sdk" / "lib").mkdir(parents=True)
        (folder / "sdk" / "lib" / "x86_64-linux-clang").symlink_to(args.lib.resolve())
        tests = [t for t in start(args, folder, "list", [])
                 if not args.k or any(part in t for part in args.k)]
        slices = [tests[i:i + SLICE] for i in range(0, len(tests), SLICE)]
        with ThreadPoolExecutor(args.jobs) as pool:
            for part in pool.map(lambda i: start(args, folder, f"slice{i}", slices[i]),
                                 range(len(slices))):
                found.update(part)
                print(f"{len(found)} of {len(tests)}", file=sys.stderr, flush=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, (outcome, reason) in found.items():
        want, why = expected.get(name, ("passed", ""))
        if outcome == want and outcome != "passed":
            counts["skipped"] += 1
            print(f"as expected: {name} {outcome}: {why}")
        elif outcome in (want, "skipped"):
            counts[outcome] += 1
            if outcome == "skipped":
                print(f"skipped by the wheel: {name}: {reason}")
        else:
            counts["failed"] += 1
            print(f"NOT EXPECTED: {name} {outcome}, expected {want}: {reason}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 0 if counts["failed"] == 0 and counts["passed"] else 1


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main())
