# SPDX-License-Identifier: MIT
"""docs/clients.md: the blocks of the page are taken out of it and run, in a folder of their own
with our build installed as build/sdk."""
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sdk import install

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.M | re.S)
PAGE = (ROOT / "docs" / "clients.md").read_text()
SECTIONS = {text.split("\n", 1)[0]: FENCE.findall(text) for text in PAGE.split("\n## ")[1:]}


@pytest.fixture
def folder(tmp_path):
    if platform.machine() != "x86_64":
        pytest.skip("the page names the libraries for x86-64")
    install(tmp_path / "build" / "sdk")
    return tmp_path


def blocks(section, *kinds):
    found = SECTIONS[section]
    assert [kind for kind, _ in found] == list(kinds), "the page has changed: so must its test"
    return [text for _, text in found]


def run(command, folder, **env):
    names = ("LD_LIBRARY_PATH", "QNN_SDK_ROOT")
    clean = {k: v for k, v in os.environ.items() if k not in names}
    p = subprocess.run(command, cwd=folder, env={**clean, **env}, capture_output=True, text=True,
                       timeout=300)
    assert p.returncode == 0, (p.stdout + p.stderr)[-3000:]
    return p.stdout


def shell(text, folder):
    """A block for the shell, without what fetches packages."""
    lines = [line for line in text.splitlines() if not line.startswith("pip install ")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return run(["bash", "-ec", "\n".join(lines)], folder, PATH=path)


def test_every_block_is_run_here():
    assert {name for name, found in SECTIONS.items() if found} == {
        "onnxruntime-qnn", "executorch", "LiteRT", "onnxruntime-genai", "Olive", "A program in C"}
    assert "pip install onnxruntime-qnn==2.7.0\n" == SECTIONS["onnxruntime-qnn"][0][1]
    pinned = (ROOT / "tests" / "clients" / "requirements.txt").read_text()
    for package in ("onnxruntime-qnn==2.7.0", "ai-edge-litert==2.3.0", "onnxruntime-genai==0.18.0"):
        assert package in pinned and f"pip install {package}\n" in PAGE


def test_onnxruntime_qnn(folder):
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    import onnx
    model = onnx.load(DIGITS / "digits_a8w8.onnx")
    for port in [*model.graph.input, *model.graph.output]:
        port.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, folder / "model.onnx")
    images, labels = np.load(DIGITS / "images.npy"), np.load(DIGITS / "labels.npy")
    np.save(folder / "image.npy", images[3:4].astype(np.float32))
    _, first, again = blocks("onnxruntime-qnn", "sh", "python", "python")
    loaded = "print(*{l.split()[-1] for l in open('/proc/self/maps') if 'libQnn' in l})\n"
    out = run([sys.executable, "-c", first + again + loaded], folder).splitlines()
    assert int(out[-2]) == labels[3]
    for path in out[-1].split():
        assert Path(path).is_relative_to(folder / "build" / "sdk"), "a library that is not ours"
    (folder / "model_ctx.onnx").rename(folder / "model.onnx")
    out = run([sys.executable, "-c", first], folder).splitlines()
    assert int(out[-1]) == labels[3]


def test_executorch(folder):
    pytest.importorskip("executorch.runtime", reason="the executorch package is not installed")
    import torch
    commands, lower = blocks("executorch", "sh", "python")
    (folder / "lower.py").write_text(lower)
    np.save(folder / "input.npy", np.ones((1, 8), np.float32))
    torch.manual_seed(0)
    with torch.no_grad():
        want = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())(torch.ones(1, 8))
    out = shell(commands, folder)
    summary = re.search(r"output_0.*min (\S+) +max (\S+)", out)
    assert summary, out
    for got, exact in zip(map(float, summary.groups()), (want.min(), want.max())):
        assert abs(got - float(exact)) <= 0.02 * float(want.max())


def test_litert(folder):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    from litert_models import interpret
    from tflite_writer import Graph
    commands, compiling, running = blocks("LiteRT", "sh", "python", "python")
    rng, g = np.random.default_rng(3), Graph()
    weights = g.const(rng.normal(size=(4, 8)).astype(np.float32))
    g.output(g.op("FULLY_CONNECTED", [g.input("x", [1, 8]), weights, -1], g.tensor([1, 4])))
    g.save(folder / "model.tflite")
    x = rng.normal(size=(1, 8)).astype(np.float32)
    np.save(folder / "input.npy", x)
    (folder / "compile.py").write_text(compiling)
    (folder / "run.py").write_text(running + "print(*{l.split()[-1] for l in "
                                   "open('/proc/self/maps') if 'libQnn' in l})\n")
    *_, numbers, loaded = shell(commands, folder).splitlines()
    want, = interpret(folder / "model.tflite", {"x": x}).values()
    np.testing.assert_allclose(np.fromstring(numbers.strip("[]"), sep=" "), want[0], rtol=2e-3,
                               atol=2e-3)
    assert all(Path(p).is_relative_to(folder / "build" / "sdk") for p in loaded.split())


def test_onnxruntime_genai(folder):
    pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed")
    import genai_models
    commands, generating = blocks("onnxruntime-genai", "sh", "python")
    genai_models.write(folder / "model", {"qnn": {"backend_path": "libQnnHtp.so",
                                                  "soc_model": "SM8650"}})
    (folder / "generate.py").write_text(generating)
    tokens = [int(t) for t in shell(commands, folder).splitlines()[-1].split()]
    assert tokens[:3] == [1, 5, 9] and len(tokens) > 8


def test_olive(folder):
    pytest.importorskip("olive", reason="olive-ai is not installed")
    import onnx
    from ort_models import conv_net
    commands, compiling = blocks("Olive", "sh", "python")
    (folder / "model.onnx").write_bytes(conv_net(seed=1))
    (folder / "compile.py").write_text(compiling)
    made = folder / shell(commands, folder).splitlines()[-1]
    assert onnx.load(made, load_external_data=False).graph.node[0].op_type == "EPContext"


def test_a_program_in_c(folder):
    commands, = blocks("A program in C", "sh")
    shutil.copy(ROOT / "examples" / "hello_qnn.c", folder)
    assert shell(commands, folder).strip()
