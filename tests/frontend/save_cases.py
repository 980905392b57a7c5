# SPDX-License-Identifier: MIT
"""Saves the models of all groups (onnx_<group>.py) as FOLDER/<group>.<case>.onnx.

    save_cases.py FOLDER

For tests that need many small models but not what comes out of them: nothing is evaluated.
"""
import glob
import importlib
import os
import re
import sys

import onnx

import onnx.reference


class Unasked(onnx.reference.ReferenceEvaluator):
    """Evaluates nothing; models are made from what the evaluator says in few groups only."""

    def run(self, outputs, feeds, **_):
        return [next(iter(feeds.values()))] * 8


def main():
    folder = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    sys.path.insert(0, here)
    onnx.reference.ReferenceEvaluator = Unasked
    for path in sorted(glob.glob(os.path.join(here, "onnx_*.py"))):
        module = os.path.splitext(os.path.basename(path))[0]
        for case in importlib.import_module(module).cases():
            if len(case.model.graph.node) > 2000:
                continue  # for tests that import a model many times
            name = re.sub(r"[^A-Za-z0-9_]", "_", f"{module[5:]}.{case.name}")
            onnx.save(case.model, os.path.join(folder, name + ".onnx"))


if __name__ == "__main__":
    sys.exit(main())
