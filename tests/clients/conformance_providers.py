# SPDX-License-Identifier: MIT
"""Who conformance.py asks: two providers of onnxruntime, our own plugin and the public one, and the
program `quern run`.

A provider has a library, a list of what does not pass, variants of the cases, and words for a
refusal. Each variant is quantized to some bits or not, has options, and a limit: steps between
codes, or the relative and absolute error of floats.
"""
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx

import onnx_cases
from ort_models import loaded_qnn_libraries


def has_device():
    """Asked in another process: one that has opened OpenCL must not be forked."""
    return subprocess.run([sys.executable, "-c", "import opencl; exit(opencl.DEVICE is None)"],
                          cwd=HERE).returncode == 0


LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
QUERN = os.environ.get("QUERN_BIN", str(LIBS.parent / "bin" / "quern"))
HTP_ANY, HTP_CHIP = (["--backend", "htp", "--soc", soc] for soc in ("none", "69"))
HERE = Path(__file__).parent

Variant = namedtuple("Variant", "bits limit options")
SINGLE, HALF = (1e-3, 1e-5), (1e-2, 1e-2)
# Ops that Quern composes of 16-bit ops where floats are fp16, and the steps they may be off.
COMPOSED = set("AffineGrid Attention DFT LpNormalization MaxUnpool NegativeLogLikelihoodLoss RNN "
               "ReduceL1 ReduceSumSquare Resize RoiAlign RotaryEmbedding "
               "SoftmaxCrossEntropyLoss".split())
COMPOSED_STEPS = 4


class Refused(Exception):
    pass


class Folded(Exception):
    """onnxruntime computed everything while it loaded the model."""


def run_cli(model, feeds, flags):
    """The outputs of `quern run` in the model's order."""
    with tempfile.TemporaryDirectory() as folder:
        path, given, made = (os.path.join(folder, name) for name in ("model.onnx", "in", "out"))
        onnx.save(model, path)
        os.mkdir(given)
        for i, value in enumerate(feeds.values()):
            np.save(os.path.join(given, f"input_{i}.npy"), value)
        inputs = ["--inputs", given] if feeds else []
        done = subprocess.run([QUERN, "run", path, *inputs, "--outputs", made, "-q",
                               "--threads", "1", *flags], capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k != "QUERN_LOG"})
        if done.returncode < 0:
            raise RuntimeError(f"quern run died: signal {-done.returncode}")
        if done.returncode:
            lines = [s for s in done.stderr.splitlines() if "warning" not in s]
            raise Refused((lines or [f"exit status {done.returncode}"])[-1].replace(folder, ""))
        return [np.load(os.path.join(made, f"output_{i}.npy"))
                for i in range(len(model.graph.output))]


class Provider:
    newest_opset = onnx_cases.NEWEST_OPSET  # of the models that it is given

    def register(self):
        import onnxruntime
        onnxruntime.register_execution_provider_library(self.name, str(self.library()))
        self.ort = onnxruntime
        self.devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == self.name][:1]

    def versions(self):
        return f"onnx {onnx.__version__}, " + ", ".join(f"{p} {version(p)}" for p in self.packages)

    def settings(self):
        so = self.ort.SessionOptions()
        so.intra_op_num_threads = 1
        so.log_severity_level = self.log_level
        return so

    def run(self, model, feeds, options):
        so = self.settings()
        so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        so.add_provider_for_devices(self.devices, options)
        try:
            session = self.ort.InferenceSession(model.SerializeToString(), so, enable_fallback=0)
        except Exception as error:
            raise Refused(str(error)) from None
        strangers = {p for p in loaded_qnn_libraries() if Path(p).parent != LIBS}
        if strangers:
            raise RuntimeError(f"not ours: {strangers}")
        parts = session.get_provider_graph_assignment_info()
        if not any(p.ep_name == self.name and p.get_nodes() for p in parts):
            raise Folded
        try:
            return session.run(None, feeds)
        except Exception as error:
            raise Refused(str(error)) from None

    def steps(self, case, variant):
        return variant.limit

    def onnxruntimes_words(self, error):
        if re.search("numpy.type", error, re.I):
            return "onnxruntime: Python has no arrays of such a type"
        invalid = re.search(r", Error (.*)", error)
        return "onnxruntime: " + (
            invalid.group(1) if invalid else error.split(" : ")[-1])[:120].strip()


class Quern(Provider):
    """Our own plugin on our libraries, whole and quantized, with a chip and without."""
    name = "QuernExecutionProvider"
    list = HERE / "conformance_quern.tsv"
    packages = ["onnxruntime"]
    log_level = 2
    CHIP = {"backend_type": "htp", "soc_model": "69"}
    variants = {"cpu": Variant(None, SINGLE, {"backend_type": "cpu"}),
                "gpu": Variant(None, SINGLE, {"backend_type": "gpu", "gpu_precision": "fp32"}),
                "fp16": Variant(None, HALF, CHIP),
                "u8": Variant(8, 1, {"backend_type": "htp"}),
                "u16": Variant(16, 1, {"backend_type": "htp"}),
                "u8-chip": Variant(8, 1, CHIP),
                "u16-chip": Variant(16, 1, CHIP)}

    def library(self):
        return LIBS / "libonnxruntime_providers_quern.so"

    def steps(self, case, variant):
        composed = variant.bits == 16 and variant.options == self.CHIP and any(
            n.op_type in COMPOSED for n in case.model.graph.node)
        return COMPOSED_STEPS if composed else variant.limit

    def reason(self, error, log):
        said = re.search(r"node '[^']*' \((\w+)\) is left to other providers: (.*)", log)
        if not said:
            return self.onnxruntimes_words(error)
        op, text = said.groups()
        text = re.sub(r"\x1b\[\w*m$|^graphAddNode: error \d+: \w+: graph '[^']*' ", "", text)
        text = re.sub(r"node '[^']*' (?=\()| ?\(tensor '[^']*'\)|tensor '[^']*': ", "", text)
        text = re.sub(r"(?<=put )'[^']*' ?", "", text)
        if "data type" in text and "GPU" not in text:
            text = re.sub(r"data type.*", "types that the HTP does not take", text)
        text = re.sub(r"\w+ with scale.*HTP supports", "another encoding than HTP supports:", text)
        return f"{op}: {text.strip()}"


class Public(Provider):
    """The public onnxruntime-qnn provider on our libQnnHtp.so and libQnnGpu.so."""
    name = "QNNExecutionProvider"
    list = HERE / "conformance.tsv"
    packages = ["onnxruntime-qnn"]
    log_level = 0  # only there the provider says why it leaves a node out
    CHIP = {"backend_path": str(LIBS / "libQnnHtp.so"), "soc_model": "69"}
    variants = {"float": Variant(None, HALF, CHIP), "u8": Variant(8, 1, CHIP),
                "u16": Variant(16, 4, CHIP),
                "gpu": Variant(None, SINGLE, {"backend_path": str(LIBS / "libQnnGpu.so")})}

    def library(self):
        import onnxruntime_qnn
        return Path(onnxruntime_qnn.__file__).with_name("libonnxruntime_providers_qnn.so")

    def reason(self, error, log):
        """The most telling line: the library's, the provider's, onnxruntime's."""
        line = r"_QTI_AISW: (?:graph '[^']*' )?(?:node '[^']*' )?(?:\((\w+)\): )?"
        # At INFO the libraries also say what they do; refusals end with their code.
        gpu = re.search("GPU" + line + r"(.*\(QNN_\w+\))", log)
        ours = re.search("HTP" + line + r"(.*\(QNN_\w+\))", log) or gpu
        if ours:
            op, text = ours.groups()
            text = re.sub(r" ?\(tensor '[^']*'\)| ?\(QNN_[A-Z_]+\)|tensor '[^']*': ", "", text)
            if text == "output is missing":
                return "provider: gives no memory for an output that it declared"
            if "data type" in text and not gpu:
                text = "types that the HTP does not take"
            return f"library: {op}: {text}" if op else f"library: {text}"
        theirs = re.search(r"REASON : (.*)", log)
        if theirs:
            text = re.sub(r"Operators of type `(\w+)`.*", r"no builder for \1", theirs.group(1))
            return "provider: " + text.strip().rstrip(".!")
        if "opset not being supported" in log:
            return "onnxruntime: no providers for opsets that old"
        if "assigned to the default CPU EP" in error:
            return "provider: takes no partition of such nodes alone"
        return self.onnxruntimes_words(error)


class Program:
    """`quern run`, which supports newer opsets than onnxruntime."""
    list = HERE / "conformance_program.tsv"
    newest_opset = 28
    variants = {"cpu": Variant(None, SINGLE, ["--backend", "cpu"]),
                "cpu-u8": Variant(8, 1, ["--backend", "cpu"]),
                "cpu-u16": Variant(16, 1, ["--backend", "cpu"]),
                "fp16": Variant(None, HALF, HTP_CHIP), "u8": Variant(8, 1, HTP_ANY),
                "u16": Variant(16, 1, HTP_ANY)}

    def register(self):
        pass

    def versions(self):
        return f"onnx {onnx.__version__}"

    run = staticmethod(run_cli)

    def steps(self, case, variant):
        return variant.limit

    def reason(self, error, log):
        text = re.sub(r"^quern: error: (/model.onnx: |/in/)?", "", error)
        text = re.sub(r"graphAddNode: error \d+: \w+: |graph '[^']*' |node '[^']*' (?=\()|"
                      r" ?\(tensor '[^']*'\)|tensor '[^']*': | \('[^']*'\)", "", text)
        text = re.sub(r"^\((\w+)\)", r"\1", text)
        return re.sub(r"\w+ with scale.*HTP supports", "another encoding than HTP supports:",
                      text).strip()


PROVIDERS = {"quern": Quern, "qnn": Public, "program": Program}
