# SPDX-License-Identifier: MIT
"""quern show --published: qnn-context-binary-utility's JSON, read as public scripts read it."""
import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import USAGE, add_relu, model, ok, ok_json, refuses

SCALE, ZERO = np.float32(0.0625), 100
ONNX_TYPES = {"QNN_DATATYPE_UFIXED_POINT_8": T.UINT8, "QNN_DATATYPE_UFIXED_POINT_16": T.UINT16,
              "QNN_DATATYPE_FLOAT_32": T.FLOAT, "QNN_DATATYPE_INT_32": T.INT32}


def quantized(path):
    """y = relu(x), 8-bit values in two encodings."""
    nodes = [h.make_node("DequantizeLinear", ["x", "s", "z"], ["f"]),
             h.make_node("Relu", ["f"], ["r"]),
             h.make_node("QuantizeLinear", ["r", "t", "u"], ["y"])]
    return model(path, nodes, {"x": (T.UINT8, [1, 4])}, {"y": (T.UINT8, [1, 4])},
                 {"s": SCALE, "z": np.uint8(ZERO), "t": np.float32(0.25), "u": np.uint8(7)},
                 opset=21)


def ports(graph, key):
    """{name: (type, shape, scale, zero point)}, by the keys that ONNX Runtime's script reads."""
    out = {}
    for tensor in graph["info"][key]:
        t, q = tensor["info"], tensor["info"]["quantizeParams"]
        pair = (None, None)
        if (q["definition"] == "QNN_DEFINITION_DEFINED"
                and q["quantizationEncoding"] == "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET"):
            pair = q["scaleOffset"]["scale"], -q["scaleOffset"]["offset"]
        assert q["encoding"] == q["quantizationEncoding"] and tensor["version"] in (1, 2)
        assert t["memType"] == "QNN_TENSORMEMTYPE_RAW" and t["rank"] == len(t["dimensions"])
        assert t["dataFormat"] == "QNN_TENSOR_DATA_FORMAT_DENSE"
        out[t["name"]] = (ONNX_TYPES[t["dataType"]], t["dimensions"], *pair)
    assert graph["info"]["num" + key[0].upper() + key[1:]] == len(out)
    return out


def test_graphs_and_encodings_are_those_of_the_models(tmp_path):
    nets = [quantized(tmp_path / "q.onnx"), add_relu(tmp_path / "f.onnx")]
    ok("compile", *nets, "-o", tmp_path / "net.bin", "--soc", "SM8650", "--opt-level", "2",
       "--vtcm-mb", "2")
    whole = ok_json("show", tmp_path / "net.bin", "--published")
    info = whole["info"]
    assert whole["version"] == 3 and info["backendId"] == 6 and info["buildId"]
    assert info["socModel"] == 57 and info["contextMetadata"]["info"]["dspArch"] == 75
    assert info["coreApiVersion"]["major"] == 2
    assert info["contextBlobSize"] == (tmp_path / "net.bin").stat().st_size
    q, f = info["graphs"]
    assert info["numGraphs"] == 2 and [q["info"]["graphName"], f["info"]["graphName"]] == ["q", "f"]
    assert ports(q, "graphInputs") == {"x": (T.UINT8, [1, 4], float(SCALE), ZERO)}
    assert ports(q, "graphOutputs") == {"y": (T.UINT8, [1, 4], 0.25, 7)}
    assert ports(f, "graphInputs") == {"x": (T.FLOAT, [2, 3], None, None)}
    blob = q["info"]["graphBlobInfo"]["info"]
    assert (blob["vtcmSize"], blob["optimizationLevel"], blob["htpDlbc"]) == (2, 2, 0)
    assert blob["spillFillBufferSize"] == 0
    assert f["info"]["graphBlobInfoV2"]["ioTensorSize"] == 2 * 2 * 3 * 4
    x = f["info"]["graphInputs"][0]["info"]
    assert x["type"] == "QNN_TENSOR_TYPE_APP_WRITE" and x["id"] > 0


def test_updateable_tensors_are_listed(tmp_path):
    net = model(tmp_path / "a.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [2, 8])}, {"y": (T.FLOAT, [2, 4])},
                {"w": np.ones((8, 4), np.float32)})
    ok("compile", net, "-o", tmp_path / "a.bin", "--soc", "SM8650", "--updatable", "w")
    (g,) = ok_json("show", tmp_path / "a.bin", "--published")["info"]["graphs"]
    (w,) = g["info"]["updateableTensors"]
    assert g["info"]["numUpdateableTensors"] == 1
    assert w["info"]["name"] == "w" and w["info"]["dimensions"] == [8, 4]
    assert w["info"]["type"] == "QNN_TENSOR_TYPE_UPDATEABLE_STATIC"
    assert w["info"]["quantizeParams"]["definition"] == "QNN_DEFINITION_UNDEFINED"


@pytest.mark.parametrize("flags", [[], ["--compiled"]])
def test_what_is_no_binary_is_rejected(tmp_path, flags):
    net = add_relu(tmp_path / "net.onnx")
    refuses(USAGE, "show", net, "--published", *flags, says="--published is for context binaries")
