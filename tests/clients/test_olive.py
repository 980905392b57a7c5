# SPDX-License-Identifier: MIT
"""Olive: its recipe for convolutional networks, through the stand-in for onnxruntime_qnn.

olive-ai brings torch and transformers; `make test` does not fetch it. Where it is not installed the
stand-in alone is tested.
"""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_models import conv_net, images
from sdk import LIBS, install

SHIM = Path(__file__).resolve().parents[2] / "python" / "shim"
# The recipe for convolutional networks: preprocess, quantize to 16-bit activations and 8-bit
# weights, compile. Each folder is that of one step.
RECIPE = """
import sys
import numpy as np, torch
from olive.data.config import DataComponentConfig, DataConfig
from olive.data.registry import Registry
from olive.hardware.accelerator import AcceleratorSpec, Device
from olive.model import ONNXModelHandler
from olive.passes.olive_pass import create_pass_from_dict
from olive.passes.onnx.context_binary import EPContextBinaryGenerator
from olive.passes.onnx.qnn.qnn_preprocess import QNNPreprocess
from olive.passes.onnx.quantization import OnnxStaticQuantization

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        x = np.random.default_rng(i).standard_normal(tuple(map(int, sys.argv[3].split(","))))
        return {"x": x.astype(np.float32)}, 0

Registry.register_dataset("images")(lambda **_: Images())
calibration = DataConfig(name="images", load_dataset_config=DataComponentConfig(type="images"),
                         dataloader_config=DataComponentConfig(params={"batch_size": 1}))
npu = AcceleratorSpec(accelerator_type=Device.NPU, execution_provider="QNNExecutionProvider")
options = {"backend_path": "libQnnHtp.so", "soc_model": "SM8650", "htp_performance_mode": "burst"}
model = ONNXModelHandler(sys.argv[1])
for number, (step, config) in enumerate((
        (QNNPreprocess, {}),
        (OnnxStaticQuantization, {"data_config": calibration, "activation_type": "uint16",
                                  "precision": "uint8", "quant_preprocess": False,
                                  "prepare_qnn_config": True}),
        (EPContextBinaryGenerator, {"provider_options": options}))):
    made = create_pass_from_dict(step, config, disable_search=True, accelerator_spec=npu)
    model = made.run(model, f"{sys.argv[2]}/{number}")
    print(model.model_path)
"""
RUN = """
import sys
import numpy as np, onnxruntime as ort, onnxruntime_qnn as qnn
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options = ort.SessionOptions()
devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNN"][:1]
options.add_provider_for_devices(devices, {"backend_path": "libQnnHtp.so", "soc_model": "SM8650"})
session = ort.InferenceSession(sys.argv[1], options)
np.save(sys.argv[3], session.run(None, {"x": np.load(sys.argv[2])})[0])
"""


def python(code, *args, path, libs=None):
    env = {**os.environ, "PYTHONPATH": str(path), "PYTHONWARNINGS": "always"}
    env.pop("QUERN_LIB_DIR", None)
    if libs:
        env["QUERN_LIB_DIR"] = str(libs)
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True,
                          text=True, env=env)


def test_the_stand_in_names_our_libraries(tmp_path):
    ask = "import onnxruntime_qnn as q; print(q.get_ep_name(), q.get_library_path(), " \
          "q.get_qnn_htp_path())"
    p = python(ask, path=SHIM, libs=LIBS)
    assert p.stdout.split() == ["QNNExecutionProvider",
                                str(LIBS / "libonnxruntime_providers_quern.so"),
                                str(LIBS / "libQnnHtp.so")], p.stderr
    # An installed tree needs no variable, and one that is not found says what to set.
    sdk = install(tmp_path / "sdk")
    p = python(ask, path=sdk / "lib" / "python" / "shim")
    assert Path(p.stdout.split()[1]).is_relative_to(sdk), p.stderr
    p = python(ask, path=SHIM)
    assert "QUERN_LIB_DIR" in p.stderr


def test_the_stand_in_says_that_the_real_package_is_not_used():
    p = python("import onnxruntime_qnn", path=SHIM, libs=LIBS)
    there = importlib.util.find_spec("onnxruntime_qnn") is not None
    assert ("is Quern's stand-in" in p.stderr) == there


def test_the_installed_tree_has_the_package(tmp_path):
    sdk = install(tmp_path / "sdk")
    p = python("import quern; print(quern.plugin()); print(quern.sample())",
               path=sdk / "lib" / "python")
    plugin, sample = map(Path, p.stdout.split())
    assert plugin.exists() and plugin.is_relative_to(sdk) and (sample / "digits.onnx").exists()


@pytest.mark.skipif(importlib.util.find_spec("olive") is None, reason="olive-ai is not installed")
def test_olives_recipe_for_convolutional_networks(tmp_path):
    x = images(2, 1)[0]
    (tmp_path / "net.onnx").write_bytes(conv_net(seed=1))
    shape = ",".join(map(str, x.shape[1:]))
    p = python(RECIPE, tmp_path / "net.onnx", tmp_path / "out", shape, path=SHIM, libs=LIBS)
    assert p.returncode == 0, p.stderr[-2000:]
    made = Path(p.stdout.split()[-1])
    nodes = onnx.load(made, load_external_data=False).graph.node
    assert [n.op_type for n in nodes] == ["QuantizeLinear", "EPContext", "DequantizeLinear"]
    np.save(tmp_path / "x.npy", x)
    p = python(RUN, made, tmp_path / "x.npy", tmp_path / "y.npy", path=SHIM, libs=LIBS)
    assert p.returncode == 0, p.stderr[-2000:]
    cpu = ort.InferenceSession(conv_net(seed=1), providers=["CPUExecutionProvider"])
    want, got = cpu.run(None, {"x": x})[0], np.load(tmp_path / "y.npy")
    assert np.abs(got - want).max() < 0.02 * np.abs(want).max()
