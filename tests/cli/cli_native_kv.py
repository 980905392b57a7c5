# SPDX-License-Identifier: MIT
"""quern compile --data-format-config: graphs whose KV cache is in the accelerator's own layout."""
import json

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import REFUSED, USAGE, model, ok, ok_json, refuses

SHAPE, NEW = (1, 2, 64, 256), (1, 2, 64, 1)
FORMAT = "QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT"


@pytest.fixture
def net(tmp_path):
    """Keys with one new position: DQ -> ScatterElements -> Q."""
    encoding = {"s": np.float32(0.1), "z": np.uint8(128)}
    nodes = [h.make_node("DequantizeLinear", ["cache", "s", "z"], ["c"]),
             h.make_node("DequantizeLinear", ["news", "s", "z"], ["n"]),
             h.make_node("ScatterElements", ["c", "index", "n"], ["u"], axis=3),
             h.make_node("QuantizeLinear", ["u", "s", "z"], ["updated"])]
    return model(tmp_path / "net.onnx", nodes,
                 {"cache": (T.UINT8, SHAPE), "index": (T.INT32, NEW), "news": (T.UINT8, NEW)},
                 {"updated": (T.UINT8, SHAPE)}, encoding, opset=19)


def config(path, *tensors, graph="net", form=FORMAT):
    path.write_text(json.dumps({"graphs": [{"graph_name": graph, "tensors": [
        {"tensor_name": t, "dataFormat": form} for t in tensors]}]}))
    return path


def real(quantized):
    return (quantized.astype(np.float32) - 128) * np.float32(0.1)


def native(flat):
    """[.., 64, 256] as [head][tile][rows / 32][columns / 32][8][32][4]."""
    heads, rows, cols = np.prod(flat.shape[:-2]), *flat.shape[-2:]
    parts = flat.reshape(heads, rows // 32, 8, 4, cols // 256, 8, 32)
    return parts.transpose(0, 4, 1, 5, 2, 6, 3).reshape(flat.shape)


def test_a_cache_goes_in_and_out_in_tiles(tmp_path, net):
    rng = np.random.default_rng(0)
    cache, news = (rng.integers(0, 256, s).astype(np.uint8) for s in (SHAPE, NEW))
    want = cache.copy()
    want[..., 77:78] = news
    np.save(tmp_path / "news.npy", real(news))
    np.save(tmp_path / "index.npy", np.full(NEW, 77, np.int32))
    np.save(tmp_path / "cache.npy", native(real(cache)))
    formats = config(tmp_path / "f.json", "cache", "updated")
    binary = tmp_path / "net.bin"
    ok("compile", net, "-o", binary, "--soc", "SM8650", "--data-format-config", formats)
    ok("run", binary, *(f"{n}={tmp_path / n}.npy" for n in ("cache", "index", "news")),
       "-o", tmp_path / "out")
    got = np.load(tmp_path / "out" / "output_0.npy")
    assert np.abs(got - native(real(want))).max() < 1e-5
    graph = ok_json("show", binary, "--json")["graphs"][0]
    assert (graph["native_k_tile"], graph["native_v_tile"]) == (256, 0)
    formats = {t["name"]: t["data_format"] for t in graph["inputs"]}
    assert formats == {"cache": 8, "index": 0, "news": 0}


@pytest.mark.parametrize("text, words", [
    ('{"graphs": [{"graph_name": "net", "tensors": [{"tensor_name": "nobody", "dataFormat": '
     f'"{FORMAT}"}}]}}]}}', "graph 'net' has no input or output 'nobody'"),
    ('{"graphs": [{"graph_name": "net", "tensors": [{"tensor_name": "cache", "dataFormat": '
     '"NATIVE"}]}]}', "dataFormat may be"),
    ('{"graphs": [{"graph_name": "net"}]}', "tensors"),
    ('{"graphs": [{"graph_name": 3, "tensors": []}]}', "'graph_name' is a string"),
    ('{"graphs": {}}', "'graphs' is a list"),
    ('{"graph": []}', "unknown key"),
    ('[]', "an object was expected"),
    ('{"graphs": [', ""),
])
def test_what_is_wrong_with_a_file_is_named(tmp_path, net, text, words):
    path = tmp_path / "f.json"
    path.write_text(text)
    refuses(REFUSED, "compile", net, "-o", tmp_path / "net.bin", "--soc", "SM8650",
            "--data-format-config", path, says=("f.json:1", words))
    assert not (tmp_path / "net.bin").exists()


def test_caches_are_rejected_where_a_chip_has_none(tmp_path, net):
    formats = config(tmp_path / "f.json", "cache")
    refuses(REFUSED, "compile", net, "-o", tmp_path / "net.bin", "--soc", "SM8350",
            "--data-format-config", formats, says="not supported by v68")
    refuses(USAGE, "compile", net, "-o", tmp_path / "net.bin", "-b", "gpu",
            "--data-format-config", formats)
