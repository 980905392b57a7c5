# SPDX-License-Identifier: MIT
"""Runs .tflite models of one op each with `quern run` and compares with LiteRT's interpreter.

    check_tflite.py PROGRAM [PATTERN] [--backend NAME] [--soc SOC] [--every N]
    check_tflite.py --write

The models, their inputs and what LiteRT's interpreter (ai-edge-litert 2.3.0, on a CPU) makes of
them are stored in tflite_ops.npz.xz. --write makes that file anew from tflite_cases.py, for which
ai-edge-litert and flatbuffers must be installed. PROGRAM may be several words separated by
semicolons (an emulator first). A backend other than the CPU may reject cases; more than half must
run.

Limits: float32 46 dB; int8 and uint8 one step, and not everywhere; int16 three steps.
"""
import argparse
import io
import lzma
import os
import subprocess
import sys
import tempfile

import numpy as np

STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tflite_ops.npz.xz")
REJECTED = 3  # exit status


def interpret(model, inputs):
    """Outputs of LiteRT's interpreter, and their scales (0: not quantized)."""
    from ai_edge_litert.interpreter import Interpreter
    run = Interpreter(model_content=model, num_threads=1)
    run.allocate_tensors()
    for d in run.get_input_details():
        run.set_tensor(d["index"], inputs[d["name"]])
    run.invoke()
    details = run.get_output_details()
    return [run.get_tensor(d["index"]) for d in details], [d["quantization"][0] for d in details]


def write():
    from tflite_cases import cases
    arrays = {}
    for name, model, inputs in cases():
        outputs, scales = interpret(model, inputs)
        arrays[f"{name}|model"] = np.frombuffer(model, np.uint8)
        arrays[f"{name}|scales"] = np.float32(scales)
        for key, value in inputs.items():
            arrays[f"{name}|in|{key}"] = value
        for i, value in enumerate(outputs):
            arrays[f"{name}|out|{i}"] = value
    data = io.BytesIO()
    np.savez(data, **arrays)
    with open(STORED, "wb") as f:
        f.write(lzma.compress(data.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def stored():
    """name -> (model, inputs, outputs, scales)"""
    with open(STORED, "rb") as f:
        arrays = np.load(io.BytesIO(lzma.decompress(f.read())))
    found = {}
    for key in arrays.files:
        name, kind, *rest = key.split("|")
        model, inputs, outputs, scales = found.setdefault(name, [None, {}, {}, None])
        if kind == "in":
            inputs[rest[0]] = arrays[key]
        elif kind == "out":
            outputs[int(rest[0])] = arrays[key]
        else:
            found[name][0 if kind == "model" else 3] = arrays[key]
    return found


def wrong(got, want, scale):
    """What is wrong with an output, or None."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype == np.float32:
        error = np.mean((got.astype(np.float64) - want) ** 2)
        db = 10 * np.log10(np.mean(want.astype(np.float64) ** 2) / error) if error else 999
        return None if db >= 46 else f"{db:.1f} dB, expected 46"
    steps = np.abs(got.astype(np.int64) - want)
    if not scale:
        return f"{(steps > 0).sum()} of {steps.size} differ" if steps.any() else None
    limit = 3 if want.dtype == np.int16 else 1
    often = want.dtype != np.int16 and (steps > 0).mean() > 0.35
    return f"up to {steps.max()} steps, {(steps > 0).mean():.0%} differ" \
        if steps.max() > limit or often else None


def run_case(program, case, extra, folder):
    """A sentence about what is wrong, REJECTED, or None."""
    model, inputs, outputs, scales = case
    path = os.path.join(folder, "model.tflite")
    model.tofile(path)
    command = program + ["run", path, "-o", os.path.join(folder, "out"), *extra]
    for name, value in inputs.items():
        np.save(os.path.join(folder, f"{name}.npy"), value)
        command.append(f"{name}={os.path.join(folder, name)}.npy")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == REJECTED and extra and "cpu" not in extra:
        return REJECTED
    if done.returncode:
        return done.stderr.strip()
    for i, want in sorted(outputs.items()):
        got = np.load(os.path.join(folder, "out", f"output_{i}.npy"))
        why = wrong(got, want, scales[i])
        if why:
            return f"output {i}: {why}"
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program", nargs="?")
    p.add_argument("pattern", nargs="?", default="")
    p.add_argument("--backend")
    p.add_argument("--soc")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--write", action="store_true")
    a = p.parse_args()
    if a.write:
        return write()
    extra = [w for flag in ("backend", "soc") if getattr(a, flag)
             for w in (f"--{flag}", getattr(a, flag))]
    program = [w for w in a.program.split(";") if w]
    ran = failed = rejected = 0
    chosen = [(name, case) for name, case in stored().items() if a.pattern in name]
    for name, case in chosen[::a.every]:
        with tempfile.TemporaryDirectory() as folder:
            why = run_case(program, case, extra, folder)
        ran += 1
        rejected += why == REJECTED
        if why and why != REJECTED:
            print(f"{name}: {why}")
            failed += 1
    print(f"{ran} models, {rejected} rejected, {failed} failed")
    return failed or ran == 0 or 2 * rejected > ran


if __name__ == "__main__":
    sys.exit(main())
