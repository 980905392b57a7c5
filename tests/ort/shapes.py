#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Declared against real shapes: an error or the right answer, never a read or write outside.

    shapes.py --libs build/asan/lib --models 10000

makes models (shape_models.py) until that many have declarations that are not so, and runs each on
the provider. With libraries that are built for AddressSanitizer every value is an allocation of its
own, and a worker that touches what lies behind it dies. Right is what onnxruntime's own kernels
compute where nothing is declared. The last line counts; the status is 0 if nothing was found.
`--only 17` tries one model again, `--keep FOLDER` leaves the models of findings there.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHUNK = 100  # models a worker tries
SKIPPED = 77


# --- a worker

def host_session(model, level=None, device=None, options=None):
    import onnxruntime as ort
    so = ort.SessionOptions()
    so.log_severity_level = 4
    so.enable_cpu_mem_arena = so.enable_mem_pattern = False  # or tensors would share allocations
    so.intra_op_num_threads = so.inter_op_num_threads = 1
    if level is not None:
        so.graph_optimization_level = level
    if device is None:
        return ort.InferenceSession(model, so, providers=["CPUExecutionProvider"])
    so.add_provider_for_devices([device], options)
    return ort.InferenceSession(model, so, enable_fallback=0)


def all_values(model, feeds):
    """What the host's kernels compute, for each feed; {} where they fail."""
    import onnxruntime as ort
    s = host_session(model.SerializeToString(), ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return [dict(zip([o.name for o in s.get_outputs()], s.run(None, feed))) for feed in feeds]


def same(got, want, tolerance, held=False):
    """held: as tensors of QNN, which has [1] for a scalar and 32 bits for 64."""
    import numpy as np
    if held and {str(got.dtype), str(want.dtype)} == {"int32", "int64"}:
        got, want = got.astype(np.int64), want.astype(np.int64)
    if held and got.size == want.size == 1 and got.ndim < 2 and want.ndim < 2:
        got, want = got.reshape(1), want.reshape(1)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    got, want = got.astype(np.float64), want.astype(np.float64)
    return bool(np.all(np.abs(got - want) <= tolerance * max(1, np.abs(want).max(initial=0))))


def run_bound(s, feed):
    """A run into outputs that the application made as they are declared."""
    import numpy as np
    import onnxruntime as ort
    from test_hostile import TYPES
    bound = s.io_binding()
    for name, value in feed.items():
        bound.bind_cpu_input(name, np.ascontiguousarray(value))
    for o in s.get_outputs():
        fixed = all(isinstance(d, int) and d >= 0 for d in o.shape)
        if fixed and o.type in TYPES and np.prod(o.shape, dtype=float) < 1 << 22:
            given = ort.OrtValue.ortvalue_from_numpy(np.zeros(o.shape, TYPES[o.type]))
            bound.bind_ortvalue_output(o.name, given)
        else:
            bound.bind_output(o.name)
    s.run_with_iobinding(bound)
    return bound.copy_outputs_to_cpu()


def truth_of(case, feed):
    """{name of the case's model: right answer}; {} where there is none."""
    if "mask" in feed and not feed["mask"].all():
        return {}
    back = {v: k for k, v in case.names.items()}
    try:
        (found,) = all_values(case.truth, [{case.names.get(k, k): v for k, v in feed.items()
                                            if k != "mask"}])
    except Exception:
        return {}
    return {back.get(name, name): value for name, value in found.items()}


def is_host_s(path, level, feed, names, got, tolerance):
    """Does the host's own provider answer so, too? It believes declarations when it optimizes."""
    try:
        s = host_session(path, level)
        want = s.run(names, feed)
    except Exception:
        return False
    return all(same(g, w, tolerance) for g, w in zip(got, want))


def try_feed(s, case, path, level, feed, bound):
    tolerance = 1e-4 if case.options["backend_type"] == "cpu" else 2e-2
    names = [o.name for o in s.get_outputs()]
    try:
        got = run_bound(s, feed) if bound else s.run(None, feed)
    except Exception as e:
        return "error when run", str(e)
    want = truth_of(case, feed)
    context = case.kind.startswith("context")
    if all(n in want and same(g, want[n], tolerance, context) for n, g in zip(names, got)):
        return "right", ""
    if not context and is_host_s(path, level, feed, names, got, tolerance):
        return "as the host", ""
    shapes = {n: (list(g.shape), list(want[n].shape) if n in want else None)
              for n, g in zip(names, got)}
    return "WRONG", json.dumps(shapes)


def try_case(case, device, level, bound, folder):
    path = case.model.SerializeToString()
    if case.files:
        for name, data in case.files.items():
            (folder / name).write_bytes(data)
        (folder / "m.onnx").write_bytes(path)
        path = str(folder / "m.onnx")
    try:
        s = host_session(path, level, device, case.options)
    except Exception as e:
        return [("error when made", str(e))]
    return [try_feed(s, case, path, level, feed, bound) for feed in case.feeds]


def compiled(device, folder):
    """[(name, model, context model, binary)] of all that context models are made from."""
    import shape_models
    from onnx import helper
    import onnx
    import onnxruntime as ort
    made = []
    for name, base in shape_models.bases():
        so = ort.SessionOptions()
        so.log_severity_level = 4
        for key, value in (("ep.context_enable", "1"), ("ep.context_embed_mode", "1"),
                           ("ep.context_file_path", str(folder / f"{name}.onnx"))):
            so.add_session_config_entry(key, value)
        so.add_provider_for_devices([device], {"backend_type": "htp", "soc_model": "SM8650",
                                               "offload_graph_io_quantization": "0"})
        ort.InferenceSession(base.SerializeToString(), so, enable_fallback=0)
        m = onnx.load(folder / f"{name}.onnx")
        (n,) = m.graph.node
        (data,) = [helper.get_attribute_value(a) for a in n.attribute
                   if a.name == "ep_cache_context"]
        made.append((name, base, m.SerializeToString(), data))
    return made


def work(seed, first, last, folder):
    """One line before and one after each model."""
    import numpy as np
    import onnxruntime as ort
    import shape_models
    from provider import devices
    device, folder = devices("cpu")[0], Path(folder)
    made = compiled(device, folder)
    levels = [ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL]
    for i in range(first, last):
        r = np.random.default_rng([seed, i])
        try:
            case = (shape_models.context(r, *made[r.integers(len(made))]) if r.random() < 0.5
                    else shape_models.plain(r, all_values))
        except Exception as e:  # nodes that the host's own kernels do not compute
            print(json.dumps([i, "none", str(e)[:200]]), flush=True)
            continue
        (folder / "last.onnx").write_bytes(case.model.SerializeToString())
        print(json.dumps([i, "begin", case.kind]), flush=True)
        found = try_case(case, device, levels[r.integers(2)], r.random() < 0.2, folder)
        print(json.dumps([i, "end", case.differs, found]), flush=True)
    os._exit(0)  # at exit a thread of onnxruntime reads what it has freed


# --- all workers

def has_host():
    try:
        import numpy  # noqa: F401
        import onnx  # noqa: F401
        import onnxruntime as ort
    except ImportError:
        return False
    return tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 24)


def environment(libs):
    """That of a worker: libraries with AddressSanitizer need its runtime before Python's own."""
    env = {**os.environ, "QUERN_LIB_DIR": str(libs)}
    sanitized = b"__asan_init" in (libs / "libonnxruntime_providers_quern.so").read_bytes()
    if sanitized:
        files = [subprocess.run([os.environ.get("CC", "cc"), f"-print-file-name={name}"],
                                capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("libasan.so", "libstdc++.so")]
        env.update(LD_PRELOAD=":".join(files),
                   ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:exitcode=99",
                   UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    return env, sanitized


class Tally:
    """What became of the models."""

    def __init__(self):
        self.outcomes, self.kinds = collections.Counter(), collections.Counter()
        self.models = self.differing = 0
        self.findings = []

    def add(self, first, lines, status, said):
        """The lines of a worker; gives the number of the model to go on with."""
        at, kind = first - 1, ""
        for line in lines:
            i, what, *rest = json.loads(line)
            at = i
            if what == "begin":
                kind = rest[0]
            if what != "end":
                continue
            differs, found = rest
            self.models += 1
            self.differing += differs
            self.kinds[kind.split()[0]] += 1
            for outcome, words in found:
                self.outcomes[outcome] += 1
                if outcome == "WRONG" or (outcome.startswith("error") and not words.strip()):
                    self.findings.append((i, kind, outcome, words))
        if status != 0:
            self.findings.append((at, kind, f"worker ended with {status}", said[-6000:]))
        return at + 1


def run_worker(args, env, first, last, tally):
    """Goes on behind a model that a worker died of."""
    while first < last:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, __file__, "--work", str(args.seed), str(first), str(last), folder],
                env=env, capture_output=True, text=True, errors="replace", timeout=3600)
            lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
            if done.returncode != 0 and not lines:
                raise SystemExit(f"a worker ended before its first model: {done.stderr[-3000:]}")
            n = len(tally.findings)
            first = tally.add(first, lines, done.returncode, done.stderr)
            if args.keep and len(tally.findings) > n and (Path(folder) / "last.onnx").exists():
                args.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(folder) / "last.onnx", args.keep / f"{first - 1}.onnx")
        if done.returncode == 0:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libs", type=Path, default=Path("build/asan/lib"))
    parser.add_argument("--models", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    if not has_host():
        print("skipped: the provider needs onnxruntime 1.24, and its tests numpy and onnx")
        return SKIPPED
    env, sanitized = environment(args.libs.resolve())
    tally = Tally()
    from concurrent.futures import ThreadPoolExecutor
    if args.only is not None:
        run_worker(args, env, args.only, args.only + 1, tally)
    with ThreadPoolExecutor(args.jobs) as pool:
        at = 0
        while args.only is None and tally.differing < args.models:
            left = args.models - tally.differing
            spans = [(k, min(CHUNK, left)) for k in range(at, at + CHUNK * min(
                4 * args.jobs, -(-left // CHUNK)), CHUNK)]
            list(pool.map(lambda s: run_worker(args, env, s[0], s[0] + s[1], tally), spans))
            at = spans[-1][0] + CHUNK
    for i, kind, what, words in tally.findings:
        print(f"model {i} ({kind}): {what}: {words}")
    print("AddressSanitizer:", "on" if sanitized else "off", "kinds:", dict(tally.kinds))
    print(f"{tally.models} models, {tally.differing} whose declarations are not so, "
          f"{len(tally.findings)} findings:",
          ", ".join(f"{n} {what}" for what, n in sorted(tally.outcomes.items())))
    return 1 if tally.findings or not tally.models else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        sys.path.insert(0, str(HERE))
        work(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        sys.exit(0)
    sys.exit(main())
