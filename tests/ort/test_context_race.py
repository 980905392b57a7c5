# SPDX-License-Identifier: MIT
"""Processes that write one context model while others load it: nobody sees a part of a file.

As a program: test_context_race.py ROUNDS (1000 rounds in each of three processes).
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each writes a network of its own, and after that loads what stands there, which may be another's.
# A round counts how the model was found: whose it is, told by what it computes.
WORK = """
import collections, json, os, sys
from pathlib import Path
import numpy as np
root, folder, me, rounds, embed = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:6])
sys.path[:0] = [str(root / "python"), str(root / "tests" / "ort")]
import quern
from provider import helper, model
net = model([helper.make_node("Add", ["x", "c"], ["y"])], [("x", np.float32, [64, 256])],
            [("y", np.float32, [64, 256])], [("c", np.full((64, 256), 1 + me, np.float32))])
x, found = np.zeros((64, 256), np.float32), collections.Counter()
path = folder / "net_ctx.onnx"
print("ready", flush=True)
sys.stdin.readline()
for i in range(rounds):
    quern.compile_model(net, path, soc="SM8650", embed=bool(embed))
    (y,) = quern.session(path, soc="SM8650", fallback=False).run(None, {"x": x})
    whose = int(y[0, 0])
    assert whose in (1, 2, 3) and (y == whose).all(), f"round {i}: {np.unique(y)}"
    found[whose == me + 1] += 1
print(json.dumps({"own": found[True], "another's": found[False]}), flush=True)
"""


def race(folder, rounds, embed):
    """What each of three processes found; fails with the words of one that saw less than a file."""
    import json
    workers = [subprocess.Popen([sys.executable, "-c", WORK, ROOT, folder, str(i), str(rounds),
                                 str(embed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for i in range(3)]
    for w in workers:
        w.stdout.readline()
    for w in workers:
        w.stdin.write("go\n")
        w.stdin.flush()
    found = []
    for w in workers:
        out, said = w.communicate()
        assert w.returncode == 0, said[-3000:]
        found.append(json.loads(out))
    return found


@pytest.mark.parametrize("embed", [0, 1])
def test_who_loads_what_others_write_sees_whole_files_only(tmp_path, embed):
    rounds = 6
    found = race(tmp_path, rounds, embed)
    assert [sum(f.values()) for f in found] == [rounds] * 3
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"net_ctx.onnx"} | (set() if embed else {"net_ctx_qnn.bin"})


if __name__ == "__main__":
    import tempfile
    os.environ.setdefault("QUERN_LIB_DIR", str(ROOT / "build" / "lib"))
    for mode in (0, 1):
        with tempfile.TemporaryDirectory() as place:
            print("embedded" if mode else "beside", race(Path(place), int(sys.argv[1]), mode))
