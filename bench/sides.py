# SPDX-License-Identifier: MIT
"""The programs that are measured: Quern through `quern bench --serve`, and onnxruntime and OpenVINO
on the CPU.

A side is a callable: side(n) makes n runs and returns the times of that turn.
"""
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

from measure import turn_of

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Refused(Exception):
    """A side cannot run a model; the text says why."""


class Ours:
    """One model in one process of quern, loaded once."""

    def __init__(self, quern, model, backend, soc=None, threads=1, flags=(), warmup=1):
        command = [str(quern), "bench", str(model), "--serve", "--warmup", str(warmup)]
        command += ["--backend", backend] if backend else []
        command += ["--soc", str(soc)] if soc else []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*command, *flags], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, "QUERN_THREADS": str(threads)})
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        got = json.loads(line) if line else {"error": self.last_words()}
        if "error" in got:
            self.close()
            raise Refused(got["error"])
        return got

    def last_words(self):
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().splitlines()
        return lines[0].removeprefix("quern: error: ") if lines else "it ended without a word"

    def __call__(self, n):
        try:
            self.process.stdin.write(f"run {n}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() finds out why
        return self.answer()

    def close(self):
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class OnnxRuntime:
    """One session of onnxruntime's CPU provider in this process."""
    SEVERITY = 4  # of the lines that are logged: none

    def __init__(self, model, threads, feed=None):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = self.SEVERITY
        self.prepare()
        start = time.perf_counter()
        try:
            self.session = self.open(model, options)
        except Exception as error:  # the package has no common class for them
            raise Refused(str(error).splitlines()[0]) from None
        self.load_ms = 1e3 * (time.perf_counter() - start)
        self.feed = feed or random_feed(self.session)

    def __call__(self, n):
        times = []
        for _ in range(n):
            start = time.perf_counter()
            self.session.run(None, self.feed)
            times.append(1e3 * (time.perf_counter() - start))
        return turn_of(times)

    def prepare(self):
        """What a process does once."""

    def open(self, model, options):
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def outputs(self):
        return self.session.run(None, self.feed)


class OpenVino:
    """The same on OpenVINO's CPU plugin, in single precision where the model is."""

    def __init__(self, model, threads, feed):
        import openvino
        try:
            core = openvino.Core()
            compiled = core.compile_model(str(model), "CPU", {
                "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
        except Exception as error:  # the package has no common class for them
            raise Refused(str(error).splitlines()[0]) from None
        self.request, self.feed = compiled.create_infer_request(), feed

    @staticmethod
    def installed():
        return importlib.util.find_spec("openvino") is not None

    @staticmethod
    def version():
        return importlib.metadata.version("openvino")

    def __call__(self, n):
        times = []
        for _ in range(n):
            start = time.perf_counter()
            self.request.infer(self.feed)
            times.append(1e3 * (time.perf_counter() - start))
        return turn_of(times)

    def outputs(self):
        got = self.request.infer(self.feed)
        return [got[port] for port in got]


class Provider(OnnxRuntime):
    """The same with the provider of the onnxruntime-qnn package, on any QNN library. config: more
    entries of the session's, options: of the provider's."""
    NAME = "QNNExecutionProvider"

    def __init__(self, model, library, feed=None, config=None, **options):
        self.config = {"session.disable_cpu_ep_fallback": "1", **(config or {})}
        self.options = {"backend_path": str(library), **options}
        super().__init__(model, 1, feed)

    @staticmethod
    def package():
        """The folder of the package; None where it is not installed."""
        found = importlib.util.find_spec("onnxruntime_qnn")
        return Path(found.origin).parent if found else None

    @classmethod
    def vendor_library(cls, backend):
        """The library of that backend in the package; None where there is none. For measuring
        only."""
        file = cls.package() and cls.package() / f"libQnn{backend.capitalize()}.so"
        return file if file and file.exists() else None

    def plugin(self):
        return self.package() / "libonnxruntime_providers_qnn.so"

    def prepare(self):
        if not any(d.ep_name == self.NAME for d in ort.get_ep_devices()):
            ort.register_execution_provider_library(self.NAME, str(self.plugin()))

    def open(self, model, options):
        device = next(d for d in ort.get_ep_devices() if d.ep_name == self.NAME
                      and d.device.type == ort.OrtHardwareDeviceType.CPU)
        options.add_provider_for_devices([device], self.options)
        for key, value in self.config.items():
            options.add_session_config_entry(key, value)
        return ort.InferenceSession(str(model), options)


class OwnProvider(Provider):
    """The same with our own provider, beside the library."""
    NAME = "QuernExecutionProvider"

    def plugin(self):
        return Path(self.options["backend_path"]).with_name("libonnxruntime_providers_quern.so")


class LoggedProvider(OwnProvider):
    """The same, which logs how long the provider itself took."""
    SEVERITY = 1


def random_feed(session, seed=0):
    rng = np.random.default_rng(seed)
    feed = {}
    for port in session.get_inputs():
        kind = TYPES[port.type]
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        feed[port.name] = (rng.standard_normal(shape) if kind is np.float32
                           else rng.integers(0, 1000, shape)).astype(kind)
    return feed


def run_ours(quern, model, feed, backend, soc=None):
    """Outputs of one run, in the model's order."""
    with tempfile.TemporaryDirectory() as folder:
        for i, value in enumerate(feed.values()):
            np.save(Path(folder) / f"input_{i}.npy", value)
        command = [str(quern), "run", str(model), "--inputs", folder, "-o", f"{folder}/out",
                   "--backend", backend, *(["--soc", str(soc)] if soc else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stderr.splitlines()[0] if done.stderr else "quern run failed")
        files = sorted(Path(folder, "out").glob("output_*.npy"),
                       key=lambda p: int(p.stem.split("_")[1]))
        return [np.load(f) for f in files]


def peer_memory_mb(model, threads):
    """What onnxruntime adds to a process of its own: the peak, less what it took to start."""
    code = ("import sys\nsys.path.insert(0, sys.argv[1])\nimport sides\n"
            "def field(name):\n"
            "    text = open('/proc/self/status').read()\n"
            "    return int(text.split(name + ':')[1].split()[0]) / 1024\n"
            "before = field('VmRSS')\n"
            "sides.OnnxRuntime(sys.argv[2], int(sys.argv[3]))(3)\n"
            "print(field('VmHWM') - before)\n")
    done = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent), str(model),
                           str(threads)], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None
