# SPDX-License-Identifier: MIT
"""From the SDK to Quern: the commands of docs/sdk-to-quern.md, as they stand there, on a small
MobileNetV2. Float results are compared with onnxruntime; those in A8W8 with it and each other."""
import json
import os
import platform
import re
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from harness import BIN, ROOT, T, h, model, raw, read

PAGE = ROOT / "docs" / "sdk-to-quern.md"
SIDE, CLASSES, SAMPLES, RUNS = 32, 10, 8, 3
# Expansion, channels at a quarter of the width, repeats, stride: the blocks of MobileNetV2.
BLOCKS = [(1, 8, 1, 1), (6, 8, 2, 2), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1), (6, 40, 3, 2),
          (6, 80, 1, 1)]


class Net:
    """Nodes and constants of a network of convolutions, seeded."""

    def __init__(self):
        self.rng = np.random.default_rng(2018)
        self.nodes, self.constants, self.n = [], {}, 0

    def add(self, op, inputs, **attrs):
        self.n += 1
        out = f"v{self.n}"
        self.nodes.append(h.make_node(op, inputs, [out], name=f"{op}_{self.n}", **attrs))
        return out

    def constant(self, value):
        self.n += 1
        self.constants[f"k{self.n}"] = value.astype(np.float32)
        return f"k{self.n}"

    def conv(self, x, n_in, n_out, side=1, stride=1, group=1, clip=True):
        w = self.rng.standard_normal((n_out, n_in // group, side, side)) * np.sqrt(
            2 / (n_in // group * side * side))
        bias = self.constant(self.rng.standard_normal(n_out) / 8)
        y = self.add("Conv", [x, self.constant(w), bias],
                     pads=[side // 2] * 4, strides=[stride] * 2, group=group)
        return self.add("Clip", [y, "zero", "six"]) if clip else y


def mobilenet_v2(path):
    net = Net()
    net.constants |= {"zero": np.float32(0), "six": np.float32(6)}
    x, n = net.conv("input", 3, 8, 3, 2), 8
    for expansion, channels, repeats, stride in BLOCKS:
        for k in range(repeats):
            y, wide = x, n * expansion
            if expansion > 1:
                y = net.conv(y, n, wide)
            y = net.conv(y, wide, wide, 3, stride if k == 0 else 1, wide)
            y = net.conv(y, wide, channels, clip=False)
            x = net.add("Add", [x, y]) if n == channels and k else y
            n = channels
    x = net.conv(x, n, 320)
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    w = net.rng.standard_normal((CLASSES, 320)) / np.sqrt(320)
    net.nodes.append(h.make_node("Gemm", [x, net.constant(w), net.constant(np.zeros(CLASSES))],
                                 ["output"], name="classes", transB=1))
    return model(path, net.nodes, {"input": (T.FLOAT, (1, 3, SIDE, SIDE))},
                 {"output": (T.FLOAT, (1, CLASSES))}, net.constants)


@pytest.fixture(scope="module")
def transcript(tmp_path_factory):
    """The folder after all commands of the page."""
    if platform.machine() != "x86_64":
        pytest.skip("the page's libraries are for x86-64")
    folder = tmp_path_factory.mktemp("transcript")
    onnx.checker.check_model(onnx.load(mobilenet_v2(folder / "mobilenet_v2.onnx")), full_check=True)
    rng = np.random.default_rng(7)
    for k in range(SAMPLES):
        raw(folder / f"{k}.raw", rng.standard_normal((1, 3, SIDE, SIDE)))
    (folder / "calibration.txt").write_text("".join(f"{k}.raw\n" for k in range(SAMPLES)))
    (folder / "list.txt").write_text("".join(f"input:={k}.raw\n" for k in range(RUNS)))
    sdk = folder / "sdk"
    sdk.mkdir()
    (sdk / "include").symlink_to(ROOT / "include")
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    assert len(blocks) >= 6
    p = subprocess.run(["bash", "-euo", "pipefail", "-c", "".join(blocks)], cwd=folder, text=True,
                       capture_output=True, timeout=280,
                       env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}",
                            "QNN_SDK_ROOT": str(sdk)})
    assert p.returncode == 0, p.stdout[-2000:] + p.stderr
    (folder / "said.txt").write_text(p.stdout)
    return folder


@pytest.fixture(scope="module")
def wanted(transcript):
    session = onnxruntime.InferenceSession(transcript / "mobilenet_v2.onnx")
    return [session.run(None, {"input": read(transcript / f"{k}.raw").reshape(1, 3, SIDE, SIDE)})[0]
            .ravel() for k in range(RUNS)]


def results(folder, run):
    return [read(folder / run / f"Result_{k}" / "output.raw") for k in range(RUNS)]


def sqnr(want, got):
    want, got = np.concatenate(want), np.concatenate(got)
    return 10 * np.log10(np.sum(want ** 2) / np.sum((want - got) ** 2))


@pytest.mark.parametrize("run", ["float", "float_dlc"])
def test_float_results_are_those_of_onnxruntime(transcript, wanted, run):
    for want, got in zip(wanted, results(transcript, run)):
        np.testing.assert_allclose(got, want, atol=1e-4, rtol=1e-4)


def test_float16_results_are_near(transcript, wanted):
    assert sqnr(wanted, results(transcript, "fp16")) > 42


@pytest.mark.parametrize("run", ["a8w8", "a8w8_lib"])
def test_quantized_results_are_near(transcript, wanted, run):
    assert sqnr(wanted, results(transcript, run)) > 15


def test_both_ways_to_a_binary_give_the_same(transcript):
    """One has integers at its ends, the other converts in the graph: one step of the output."""
    e, = [e for e in json.loads((transcript / "encodings.json").read_text())["activation_encodings"]
          if e["name"] == "output"]
    for a, b in zip(results(transcript, "a8w8"), results(transcript, "a8w8_lib")):
        np.testing.assert_allclose(a, b, atol=1.01 * e["scale"][0])


def test_reports_name_the_graph(transcript):
    view = json.loads((transcript / "binary" / "mobilenet_v2_a8w8.json").read_text())
    assert "mobilenet_v2_a8w8" in json.dumps(view)
    table = (transcript / "profile.csv").read_text()
    assert "Conv_" in table and len(table.splitlines()) > 50
    said = (transcript / "said.txt").read_text()
    assert "graph mobilenet_v2 " in said and "Graph" in said
