# SPDX-License-Identifier: MIT
"""QUERN_DUMP inside ExecuTorch: a module in half precision against its 8a8w form, both lowered and
run by the public wheel on our libQnnHtp.so, layer by layer. Expected values come from torch."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("executorch.runtime", reason="the executorch package is not installed")
import torch  # noqa: E402

from sdk import QUERN, compare, install  # noqa: E402

if not QUERN.exists():
    pytest.skip("the program quern is not built", allow_module_level=True)

NET = '''
import sys, torch
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(512, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


net, x = Net().eval(), torch.randn(1, 3, 8, 8)
'''
LOWER_AND_RUN = NET + '''
from executorch.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype
from executorch.backends.qualcomm.serialization.qc_schema import QcomChipset
from executorch.backends.qualcomm.utils import utils as qnn
from executorch.runtime import Runtime
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
quant = sys.argv[1] == "8a8w"
with torch.no_grad():
    if quant:
        prepared = prepare_pt2e(torch.export.export(net, (x,)).module(), QnnQuantizer())
        prepared(x)
        net = convert_pt2e(prepared)
    spec = qnn.generate_qnn_executorch_compiler_spec(
        soc_model=QcomChipset.SM8650,
        backend_options=qnn.generate_htp_compiler_spec(use_fp16=not quant))
    program = qnn.to_edge_transform_and_lower_to_qnn(net, (x,), spec).to_executorch()
Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
'''


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    sdk = install(folder / "sdk")
    env = {**os.environ, "QNN_SDK_ROOT": str(sdk),
           "LD_LIBRARY_PATH": f"{sdk}/lib/x86_64-linux-clang"}
    for quant in ("none", "8a8w"):
        p = subprocess.run([sys.executable, "-c", LOWER_AND_RUN, quant], capture_output=True,
                           text=True, env={**env, "QUERN_DUMP": str(folder / quant)}, timeout=300)
        assert p.returncode == 0, p.stderr[-3000:]
    return folder / "none", folder / "8a8w"


def torch_layers():
    made = {}
    exec(NET, made)
    net, x = made["net"], made["x"]
    with torch.no_grad():
        conv = net.conv(x)
        return {"x": x, "relu": torch.relu(conv).permute(0, 2, 3, 1), "linear": net(x)}


def load(folder):
    index = json.loads((folder / "index.json").read_text())
    return {t["name"]: np.load(folder / t["file"]) for t in index["tensors"]}, index


def test_layers_are_those_of_torch(dumps):
    found, index = load(dumps[0] / "forward" / "run-0001")
    assert index["complete"] and index["backend"] == "HTP_QTI_AISW" and not index["missing"]
    want = torch_layers()
    assert np.array_equal(found["input_0_x@0"], want["x"].numpy())
    for name, layer in (("aten_relu_default@0", "relu"),
                        ("output_aten_linear_default@0", "linear")):
        assert np.abs(found[name] - want[layer].numpy()).max() < 5e-3  # halves


def test_the_quantized_layers_are_ranked(dumps):
    graph = compare(*dumps)
    assert graph["graph"] == graph["reference"] == "forward"
    rows = {r["name"]: r for r in graph["layers"]}
    assert rows["input_0_x@0"]["equal"]
    for name in ("aten_permute_copy_default@0", "aten_relu_default@0"):
        assert rows[name]["paired"] == "name" and rows[name]["sqnr_db"] > 35
    outputs = [r for r in graph["layers"] if r["reference"] == "output_aten_linear_default@0"]
    assert len(outputs) == 1 and outputs[0]["sqnr_db"] > 30
    assert [m["name"] for m in graph["missing_second"]] == ["aten_convolution_default@0"]
    ranked = [r["sqnr_db"] for r in graph["layers"] if r["sqnr_db"] is not None]
    assert ranked == sorted(ranked) and graph["first_below"] is None
