#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks from the #include lines that every folder of src/ uses only what lies below it.

check_layers.py [--root DIR]: prints one line per violation and exits 1 if there is any.
"""
import argparse
import re
import sys
from pathlib import Path

# Folder of src/ -> folders it may include; a header allows that one file. The API and the backends
# do not know each other: both stand on core, whose backend.h is what each backend fills.
ALLOWED = {
    "base": ["base"],
    "reference": ["base", "reference"],
    "opencl": ["base", "opencl"],
    "ir": ["base", "ir"],
    "kernels": ["base", "kernels", "reference"],
    "compiler": ["base", "ir", "kernels", "compiler"],
    "bind": ["base", "opencl", "ir", "kernels", "compiler", "runtime", "bind"],
    "runtime": ["base", "kernels", "runtime"],
    "binary": ["base", "ir", "compiler", "binary", "device"],
    "dlc": ["base", "ir", "dlc"],
    "core": ["base", "ir", "compiler", "bind", "runtime", "core"],
    "api": ["base", "ir", "core", "api"],
    # "backend" stands for the including backend's own folder, never for another one's.
    # backend/package is shared by all of them.
    # core/services.h is what they may ask, core/host.h what those that compute on the CPU share.
    "backend": ["base", "opencl", "ir", "kernels", "compiler", "bind", "runtime", "binary",
                "dlc", "core/services.h", "core/host.h", "backend", "backend/package", "device"],
    "system": ["base", "ir", "compiler", "binary", "dlc", "core", "system"],
    "device": ["base", "device"],
    "rpcmem": ["rpcmem"],
    "frontend": ["base", "frontend", "reference"],
    "quantizer": ["base", "frontend", "reference", "quantizer"],
    "tools": ["base", "opencl", "device", "frontend", "quantizer", "reference", "tools"],
}
# Only these may see the public API; everything else is independent of it.
SEES_QNN = {"core", "api", "backend", "system", "frontend", "quantizer", "tools"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
SUFFIXES = {".c", ".h", ".inc", ".def", ".cpp"}


def layer(path):
    """The folder a file under src/ belongs to; one level deeper for backends."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "backend" and len(parts) > 2 else parts[0]


def target_of(src, file, name):
    """What an include means: a path under src/, "QNN", or None for the system's headers."""
    for base in (file.parent, src):
        path = (base / name).resolve()
        if path.is_file() and path.is_relative_to(src):
            return path.relative_to(src)
    if (src.parent / "include" / "QNN" / name).is_file() or name.startswith(("QNN/", "Qnn")):
        return "QNN"
    # A missing file of ours is judged by its name: the compiler reports that it is missing.
    return Path(name) if name.split("/")[0] in ALLOWED else None


def allowed(src_layer, target):
    top = src_layer.split("/")[0]
    for rule in ALLOWED[top]:
        if rule == "backend":
            if layer(target) == src_layer:
                return True
        elif target.as_posix() == rule or layer(target) == rule:
            return True
    return False


def check(root):
    src = (root / "src").resolve()
    problems, seen = [], 0
    for file in sorted(p for p in src.rglob("*") if p.suffix in SUFFIXES):
        where = file.relative_to(src)
        here = layer(where)
        top = here.split("/")[0]
        seen += 1
        if top not in ALLOWED:
            problems.append(f"src/{where}: folder '{top}' is not in the table of layers")
            continue
        for match in INCLUDE.finditer(file.read_text(errors="replace")):
            target = target_of(src, file, match[1])
            if target == "QNN":
                good = top in SEES_QNN
            else:
                good = target is None or allowed(here, target)
            if not good:
                line = file.read_text(errors="replace").count("\n", 0, match.start(1)) + 1
                problems.append(f"src/{where}:{line}: '{here}' must not include '{match[1]}'")
    return problems, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    problems, seen = check(parser.parse_args().root)
    print("\n".join(problems + [f"layers: {seen} files, {len(problems)} violations"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
