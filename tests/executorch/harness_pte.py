# SPDX-License-Identifier: MIT
"""Running qnn_executor_runner on programs that were just written."""
import os
import subprocess

import numpy as np

RUNNER = os.environ.get("QUERN_RUNNER", "build/bin/qnn_executor_runner")
BIN = os.environ.get("QUERN_BIN", "build/bin/quern")


def start(*args, cwd=None):
    """Runs the runner; never lets a signal pass as an exit code."""
    p = subprocess.run([RUNNER, *map(str, args)], capture_output=True, text=True,
                       errors="replace", cwd=cwd, timeout=120)
    assert p.returncode >= 0 and "Sanitizer" not in p.stderr, p.stderr
    return p


def run(folder, program, runs, *flags, code=0):
    """runs: a list of lists of arrays. Returns the process and the outputs' bytes by run."""
    model = folder / "model.pte"
    model.write_bytes(program if isinstance(program, bytes) else program.bytes())
    lines = []
    for r, arrays in enumerate(runs):
        names = []
        for i, x in enumerate(arrays):
            (folder / f"in_{r}_{i}.raw").write_bytes(np.ascontiguousarray(x).tobytes())
            names.append(f"in_{r}_{i}.raw")
        lines.append(" ".join(names))
    (folder / "list.txt").write_text("".join(line + "\n" for line in lines))
    (folder / "out").mkdir(exist_ok=True)
    p = start("--model_path", model, "--input_list_path=list.txt", "--output_folder_path", "out",
              *flags, cwd=folder)
    assert p.returncode == code, p.stderr
    got = []
    for r in range(len(runs) if code == 0 else 0):
        files = sorted((folder / "out").glob(f"output_{r}_*.raw"),
                       key=lambda f: int(f.stem.split("_")[2]))
        got.append([f.read_bytes() for f in files])
    return p, got


def refused(folder, program, runs=((),), says=(), *flags):
    p, _ = run(folder, program, runs, *flags, code=1)
    for text in [says] if isinstance(says, str) else says:
        assert text in p.stderr, p.stderr
    return p
