# SPDX-License-Identifier: MIT
"""The nine networks of gpu_nets.py on the GPU backend, whole: `quern run` and Quern's provider with
fall-back forbidden, in three precisions, against onnxruntime's CPU provider in fp32.

Networks are shrunk unless QUERN_GPU_MODELS=full, which `make test-gpu-models` sets: then the number
of launches is held against its budget, too. $QUERN_BIN is the program, $QUERN_LIB_DIR the folder of
the libraries.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import gpu_nets

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "clients"), str(HERE.parent / "ort")]
from opencl import needs_gpu  # noqa: E402

BIN = os.environ.get("QUERN_BIN", "build/bin/quern")
FULL = os.environ.get("QUERN_GPU_MODELS") == "full"
LEAST = {"fp32": 0.999999, "hybrid": 0.9999, "fp16": 0.999}
EVERY = [n for n in gpu_nets.NETS if FULL or n in ("mobilenet_v2", "vit_b_16")]
PAIRS = [(n, p) for n in gpu_nets.NETS for p in LEAST if p == "fp32" or n in EVERY]
pytestmark = needs_gpu


def cosine(got, want):
    a, b = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    return a @ b / np.sqrt((a @ a) * (b @ b))


def in_fp32(model):
    """The same network with the same weights and everything in fp32: the oracle of fp16 files."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for t in model.graph.initializer:
        a = onnx.numpy_helper.to_array(t)
        if a.dtype == np.float16:
            t.CopyFrom(onnx.numpy_helper.from_array(a.astype(np.float32), t.name))
    for port in [*model.graph.input, *model.graph.output]:
        if port.type.tensor_type.elem_type == gpu_nets.F16:
            port.type.tensor_type.elem_type = gpu_nets.F32
    return model


class Case:
    """A network, its file, inputs, and what onnxruntime computes."""

    def __init__(self, name, folder):
        self.name, self.path = name, folder / f"{name}.onnx"
        model = gpu_nets.NETS[name](not FULL)
        self.feed, self.outputs = gpu_nets.feed(model), [o.name for o in model.graph.output]
        self.half = model.graph.output[0].type.tensor_type.elem_type == gpu_nets.F16
        onnx.save(model, self.path)
        for i, (k, v) in enumerate(self.feed.items()):
            np.save(folder / f"{name}_{i}.npy", v)
        self.files = [f"{k}={folder}/{name}_{i}.npy" for i, k in enumerate(self.feed)]
        oracle = ort.InferenceSession(in_fp32(model).SerializeToString(),
                                      providers=["CPUExecutionProvider"])
        self.want = oracle.run(None, {k: v.astype(np.float32) if v.dtype == np.float16 else v
                                      for k, v in self.feed.items()})

    def check(self, got, precision):
        least = LEAST[precision]
        if self.half:  # its outputs are rounded to fp16 in every precision
            least = min(least, LEAST["hybrid"])
        for name, g, w in zip(self.outputs, got, self.want, strict=True):
            assert g.shape == w.shape and np.isfinite(g).all()
            assert cosine(g, w) >= least, (self.name, name, precision, cosine(g, w))


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            made.clear()  # full networks are large
            made[name] = Case(name, tmp_path_factory.mktemp("nets"))
        return made[name]
    return get


def run(c, precision, folder, **env):
    """Outputs of `quern run`, and the number of launches."""
    p = subprocess.run([BIN, "run", c.path, *c.files, "-b", "gpu", "--precision", precision,
                        "-o", folder], capture_output=True, text=True,
                       env={**os.environ, "QUERN_VERBOSE": "dispatch", "QUERN_LOG": "-", **env})
    assert p.returncode == 0, "\n".join(l for l in p.stderr.splitlines() if "error" in l)[:2000]
    return ([np.load(folder / f"output_{i}.npy") for i in range(len(c.outputs))],
            len(re.findall(r"\blaunch \d+,", p.stderr)))


@pytest.mark.parametrize("name, precision", PAIRS)
def test_quern_runs_it_whole(case, tmp_path, name, precision):
    c = case(name)
    got, launches = run(c, precision, tmp_path)
    c.check(got, precision)
    print(f"{name} {precision}: {launches} launches")
    assert launches > 0
    assert not FULL or launches <= gpu_nets.BUDGETS.get(name, launches), launches


@pytest.mark.parametrize("name", ["vit_b_16", "bert_torch"])
def test_queries_keys_and_values_are_one_launch(case, tmp_path, name):
    c, layers = case(name), 12 if FULL else 2
    got, launches = run(c, "fp32", tmp_path)
    other, more = run(c, "fp32", tmp_path, QUERN_PASSES="-wide")
    assert more - launches == 2 * layers
    c.check(got, "fp32"), c.check(other, "fp32")


@pytest.mark.parametrize("name", gpu_nets.NETS)
def test_the_provider_runs_it_with_fall_back_forbidden(case, name):
    from provider import NAME, session
    c = case(name)
    s = session(str(c.path), {"backend_type": "gpu", "gpu_precision": "fp32"})
    assert {part.ep_name for part in s.get_provider_graph_assignment_info()} == {NAME}
    c.check(s.run(None, c.feed), "fp32")
