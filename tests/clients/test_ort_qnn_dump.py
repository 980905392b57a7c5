# SPDX-License-Identifier: MIT
"""QUERN_DUMP inside onnxruntime with the public onnxruntime-qnn provider: a float model on our CPU
library against its A8W8 form on our HTP library, layer by layer.

Expected values of layers come from onnxruntime's CPU provider.
"""
import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize  # noqa: E402
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config  # noqa: E402

from ort_models import conv_net, images, sqnr  # noqa: E402
from qnn_provider import LIBS, run_in_new_process  # noqa: E402
from sdk import QUERN, compare  # noqa: E402

if not QUERN.exists():
    pytest.skip("the program quern is not built", allow_module_level=True)
X = images(5, 1)[0]


class Images(CalibrationDataReader):
    def __init__(self):
        self.rest = [{"x": x} for x in images(7, 8)]

    def get_next(self):
        return self.rest.pop() if self.rest else None


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """Folders of the float model on the CPU library and of A8W8 on the HTP library."""
    folder = tmp_path_factory.mktemp("dump")
    source, target = folder / "float.onnx", folder / "a8w8.onnx"
    source.write_bytes(conv_net(seed=1, softmax=False))
    quantize(str(source), str(target), get_qnn_qdq_config(
        str(source), Images(), activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8))
    with pytest.MonkeyPatch.context() as m:  # the libraries read it when they are loaded
        for model, library in ((source, "libQnnCpu.so"), (target, "libQnnHtp.so")):
            m.setenv("QUERN_DUMP", str(folder / library))
            run_in_new_process(model, X, backend_path=LIBS / library)
    return folder / "libQnnCpu.so", folder / "libQnnHtp.so", source


def layers_on_cpu(path):
    """{name: value} of every tensor, by onnxruntime's CPU provider."""
    model = onnx.load(path)
    names = [o for n in model.graph.node for o in n.output]
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names)
    s = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(names, s.run(None, {"x": X})))


def test_every_layer_of_the_float_model_is_dumped(dumps):
    folder, = (p.parent for p in dumps[0].rglob("index.json"))
    index = json.loads((folder / "index.json").read_text())
    assert index["complete"] and index["missing"] == []
    found = [(t["op"], np.load(folder / t["file"])) for t in index["tensors"]]
    ops = [op for op, _ in found]
    for op in ("Conv2d", "DepthWiseConv2d", "PoolMax2d", "Relu", "ReluMinMax", "Sigmoid",
               "ElementWiseMultiply", "FullyConnected"):
        assert op in ops
    for name, want in layers_on_cpu(dumps[2]).items():
        last = want.transpose(0, 2, 3, 1) if want.ndim == 4 else want
        near = [np.abs(a - w).max() for _, a in found for w in (want, last) if a.shape == w.shape]
        assert near and min(near) < 1e-4, name  # onnxruntime has renamed it, but it is there


def test_the_layers_are_paired_and_ranked(dumps):
    graph = compare(*dumps[:2])
    rows = {r["name"].split("_Quantize")[0]: r for r in graph["layers"]}
    want = layers_on_cpu(dumps[2])
    # Each quantized layer met its float one, though onnxruntime calls that _token_N.
    assert {"x", "r0", "p0", "r1", "c2", "a0", "s0", "m0", "y"} <= set(rows)
    assert all(r["sqnr_db"] > 25 for r in rows.values())
    ranked = [r["sqnr_db"] for r in graph["layers"]]
    assert ranked == sorted(ranked) and graph["first_below"] is None
    folder, = (p.parent for p in dumps[1].rglob("index.json"))
    for t in json.loads((folder / "index.json").read_text())["tensors"]:
        name = t["name"].split("_Quantize")[0]
        if name not in want:
            continue
        real = t["encoding"]["scale"] * (np.load(folder / t["file"]).astype(float)
                                         + t["encoding"]["offset"])
        layer = want[name].transpose(0, 2, 3, 1) if want[name].ndim == 4 else want[name]
        if real.shape == layer.shape:
            assert rows[name]["sqnr_db"] == pytest.approx(sqnr(real, layer), abs=0.01)


def test_a_limit_names_the_first_layer_below_it(dumps):
    graph = compare(*dumps[:2], "--limit", "39", "--sort", "order")
    below = [r["name"] for r in graph["layers"] if r["sqnr_db"] < 39]
    assert below and graph["first_below"]["name"] == below[0]
