#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the nine networks that the GPU backend must run whole as ONNX files, with random weights.

    scripts/gpu_models.py DIR [NAME ...] [--small]

tests/models/gpu_nets.py builds them; numpy and onnx are all it needs. Existing files are kept.
"""
import argparse
import sys
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "models"))
import gpu_nets  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(gpu_nets.NETS)}; default: all")
    parser.add_argument("--small", action="store_true", help="fewer layers, smaller images")
    args = parser.parse_intermixed_args()
    unknown = set(args.names) - set(gpu_nets.NETS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or gpu_nets.NETS:
        path = args.folder / f"{name}{'_small' if args.small else ''}.onnx"
        if not path.exists():
            onnx.save(gpu_nets.NETS[name](args.small), path)
        print(path)


if __name__ == "__main__":
    main()
