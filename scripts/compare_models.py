#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares Quern's HTP with ONNX Runtime and a double-precision oracle on quantized models.

    scripts/quantize_models.py DIR && scripts/compare_models.py build/bin/quern DIR

Prints one row per model: share of equal codes of all layers, each fed with the oracle's inputs, and
the largest difference in steps; then, end to end, the mean SQNR in dB of ONNX Runtime's default
mode, of Quern and of the oracle, against ONNX Runtime without graph optimizations.
"""
import sys
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "models"))
import measure  # noqa: E402


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    quern = measure.Quern(program)
    print(f"{'model':24} {'equal':>10} {'worst':>6} {'ORT':>7} {'Quern':>7} {'oracle':>7}")
    for path in sorted(folder.glob("*_a*w*.onnx")):
        if sys.argv[3:] and path.stem not in sys.argv[3:]:
            continue
        pictures = np.load(folder / f"{path.stem.rsplit('_', 1)[0]}.npz")["test"][:, None]
        model = onnx.load(path)
        equal, (steps, _), _ = measure.layers(quern, model, pictures[0])
        default, ours, oracle = measure.end_to_end(quern, model, pictures)
        print(f"{path.stem:24} {100 * equal:9.4f}% {steps:6} {default:7.2f} {ours:7.2f} "
              f"{oracle:7.2f}", flush=True)


if __name__ == "__main__":
    main()
