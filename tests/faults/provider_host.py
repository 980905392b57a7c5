# SPDX-License-Identifier: MIT
"""A host of ONNX Runtime in which allocations of Quern's libraries fail, and of nobody else.

provider_host.py SHIM FOLDER MOST: each scenario with allocation n failing, once and from there on,
for at most MOST values of n (0: all). Each must end with an exception or the right numbers, and the
scenario must work again afterwards. Prints what it is about to do, so that a crash can be placed.
"""
import ctypes
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper as h

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ort"))
from provider import HTP, cpu_session, model, session  # noqa: E402

SHIM, FOLDER, MOST = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
SHIM.fault_seen.restype = ctypes.c_uint64
# The host's own words when we take no node and nobody else may.
THE_HOSTS = "fallback to CPU EP has been explicitly disabled"
X = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)


def net():
    rng = np.random.default_rng(2)
    constants = [("w", rng.standard_normal((4, 3, 3, 3)).astype(np.float32) / 5),
                 ("b", rng.standard_normal(4).astype(np.float32))]
    return model([h.make_node("Conv", ["x", "w", "b"], ["c"], name="conv"),
                  h.make_node("Relu", ["c"], ["r"], name="relu"),
                  h.make_node("GlobalAveragePool", ["r"], ["y"], name="mean")],
                 [("x", np.float32, [1, 3, 8, 8])], [("y", np.float32, [1, 4, 1, 1])], constants)


def run(s):
    return s.run(None, {"x": X})[0]


class Scenarios:
    def __init__(self, bytes_):
        self.net, self.made = bytes_, session(bytes_, HTP, fallback=True)
        self.context = FOLDER / "kept.onnx"
        self.write_context(self.context)

    def write_context(self, path):
        session(self.net, HTP, {"ep.context_enable": "1", "ep.context_file_path": str(path)},
                fallback=True)

    def builds_and_runs_on_the_cpu(self):
        return run(session(self.net, {"backend_type": "cpu"}, fallback=True))

    def builds_and_runs_on_the_htp(self):
        return run(session(self.net, HTP, fallback=True))

    def runs_a_session_made_before(self):
        return run(self.made)

    def writes_a_context_model(self):
        for f in FOLDER.glob("new*"):
            f.unlink()
        self.write_context(FOLDER / "new.onnx")
        return None

    def loads_a_context_model(self):
        return run(session(str(self.context), HTP))

    def profiles(self):
        return run(session(self.net, {**HTP, "profiling_level": "detailed",
                                      "profiling_file_path": str(FOLDER / "p.csv")},
                           fallback=True))


def check_files():
    """A context model is whole or not there, and nothing else is left."""
    target = FOLDER / "new.onnx"
    if target.exists():
        onnx.load(target)
        assert np.isfinite(run(session(str(target), HTP))).all()
    assert not list(FOLDER.glob("*.part"))


def main():
    bytes_ = net()
    want = run(cpu_session(bytes_))
    scenes, done = Scenarios(bytes_), 0
    for name in [n for n in vars(Scenarios) if not n.startswith(("_", "write_"))]:
        act = getattr(scenes, name)
        SHIM.fault_arm(ctypes.c_uint64(0), False)
        act()
        total = SHIM.fault_seen()
        assert total or name == "runs_a_session_made_before", name
        step = max(1, total // MOST) if MOST else 1
        for n in range(1, total + 1, step):
            for forever in (False, True):
                print(f"{name}: allocation {n} of {total}{' and on' * forever}", flush=True)
                SHIM.fault_arm(ctypes.c_uint64(n), forever)
                try:
                    got = act()
                except Exception as e:  # of ONNX Runtime
                    assert "memory" in str(e).lower() or THE_HOSTS in str(e), e
                    got = None
                SHIM.fault_arm(ctypes.c_uint64(0), False)
                assert got is None or np.allclose(got, want, atol=1e-2), (got, want)
                check_files()
                done += 1
        got = act()
        assert got is None or np.allclose(got, want, atol=1e-2)
    print(f"{done} faults survived", flush=True)


main()
