# SPDX-License-Identifier: MIT
"""Files beside a model: op packages, adapters, data formats. Expected values are numpy's."""
import json

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import (BIN, CPU, GENERATOR, HTP, MODELS, NET_RUN, UTILITY, files, model, ok, raw,
                     read, rejects, write_json)

CUBE = MODELS / "libmodel_cube.so"
PACKAGE = BIN.parent / "lib/libExampleOpPackage.so"
X = np.array([[-1, 2, -3, 4]], np.float32)


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw("x.raw", X)
    (tmp_path / "x.txt").write_text("x.raw\n")
    return tmp_path


@pytest.mark.parametrize("backend, target", [(CPU, ""), (CPU, ":CPU"), (HTP, ""), (HTP, ":CPU")])
def test_ops_of_a_package_run(box, backend, target):
    args = ["--model", CUBE, "--backend", backend, "--input_list", "x.txt,__"]
    ok(NET_RUN, *args, "--op_packages", f"{PACKAGE}:ExampleOpPackage_provider{target}")
    assert np.array_equal(read("output/g0/Result_0/y.raw"), -(X ** 3).ravel())
    rejects(NET_RUN, *args, says=["libmodel_cube.so", "a node could not be added"])
    rejects(NET_RUN, *args, "--op_packages", f"{PACKAGE}:no_provider", says="no_provider")


def test_a_binary_with_ops_of_a_package_needs_it(box):
    package = ["--op_packages", f"{PACKAGE}:ExampleOpPackage_provider"]
    ok(GENERATOR, "--model", CUBE, "--backend", HTP, "--binary_file", "net", *package)
    args = ["--retrieve_context", "output/net.bin", "--backend", HTP, "--input_list", "x.txt,__"]
    ok(NET_RUN, *args, *package)
    assert np.array_equal(read("output/g0/Result_0/y.raw"), -(X ** 3).ravel())
    rejects(NET_RUN, *args, says=["net.bin", "example"])


def test_sections_of_adapters_change_weights(box):
    w = {name: np.full((4, 3), value, np.float32) for name, value in (("w", 1), ("new", 3))}
    model("net.onnx", [h.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
          {"x": (T.FLOAT, (1, 4))}, {"y": (T.FLOAT, (1, 3))}, {"w": w["w"]})
    np.savez("new.npz", w=w["new"])
    ok("quern", "compile", "net.onnx", "-o", "net.bin", "--soc", "SM8750", "-u", "w",
       "-a", "new.npz")
    args = ["--retrieve_context", "net.bin", "--backend", HTP, "--input_list", "x.txt"]
    for i, (text, want) in enumerate((("# none\n", "w"), ("net.new.bin\n", "new"),
                                      ("net;net.new.bin\r\n\n", "new"))):
        (box / "updates.txt").write_text(text)
        ok(NET_RUN, *args, "--binary_updates", "updates.txt", "--output_dir", i,
           "--profiling_level", "basic")
        assert np.array_equal(read(f"{i}/Result_0/y.raw"), (X @ w[want]).ravel())
        log = (box / str(i) / "qnn-profiling-data.log").read_text().splitlines()[1:]
        applied = [e for e in map(json.loads, log) if "APPLY" in e["method"]]
        assert len(applied) == (want == "new")
        text = ok("qnn-profile-viewer", "--input_log", f"{i}/qnn-profiling-data.log").stdout
        assert ("ApplyBinarySection" in text) == (want == "new")
    for text, says in (("gone.bin\n", "gone.bin"), ("net.bin\n", "net.bin"),
                       ("other;net.new.bin\n", ["updates.txt:1", "other"]),
                       ("net;\n", ["updates.txt:1", "no path"])):
        (box / "updates.txt").write_text(text)
        rejects(NET_RUN, *args, "--binary_updates", "updates.txt", says=says)


def test_a_cache_in_tiles_goes_through_files(box):
    """[.., 64, 256] native caches are [head][tile][rows / 32][columns / 32][8][32][4]."""
    shape, new = (1, 2, 64, 256), (1, 2, 64, 1)
    encoding = {"s": np.float32(0.1), "z": np.uint8(128)}
    model("net.onnx", [h.make_node("DequantizeLinear", ["cache", "s", "z"], ["c"]),
                       h.make_node("DequantizeLinear", ["news", "s", "z"], ["n"]),
                       h.make_node("ScatterElements", ["c", "index", "n"], ["u"], axis=3),
                       h.make_node("QuantizeLinear", ["u", "s", "z"], ["updated"])],
          {"cache": (T.UINT8, shape), "index": (T.INT32, new), "news": (T.UINT8, new)},
          {"updated": (T.UINT8, shape)}, encoding)
    write_json("f.json", {"graphs": [{"graph_name": "net", "tensors": [
        {"tensor_name": t, "dataFormat": "QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT"}
        for t in ("cache", "updated")]}]})
    write_json("htp.json", {"devices": [{"soc_model": 57}]})
    write_json("cfg.json", {"backend_extensions": {
        "shared_library_path": "libQnnHtpNetRunExtensions.so", "config_file_path": "htp.json"}})
    ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", "net",
       "--data_format_config", "f.json", "--config_file", "cfg.json")
    ok(UTILITY, "--context_binary", "output/net.bin", "--json_file", "net.json")
    graph = json.loads((box / "net.json").read_text())["info"]["graphs"][0]["info"]
    assert {t["info"]["name"]: "HMX" in t["info"]["dataFormat"] for t in
            graph["graphInputs"] + graph["graphOutputs"]} == {
                "cache": True, "index": False, "news": False, "updated": True}

    def native(flat):
        parts = flat.reshape(2, 2, 8, 4, 1, 8, 32)
        return parts.transpose(0, 4, 1, 5, 2, 6, 3).reshape(flat.shape)
    rng = np.random.default_rng(0)
    cache, news = (rng.integers(0, 256, s).astype(np.uint8) for s in (shape, new))
    want = cache.copy()
    want[..., 77:78] = news
    raw("cache.raw", native(cache), np.uint8)
    raw("news.raw", news, np.uint8)
    raw("index.raw", np.full(new, 77), np.int32)
    (box / "l.txt").write_text("cache:=cache.raw index:=index.raw news:=news.raw\n")
    ok(NET_RUN, "--retrieve_context", "output/net.bin", "--backend", HTP, "--input_list", "l.txt",
       "--use_native_input_files", "--use_native_output_files", "--output_dir", "run")
    assert files("run") == ["Result_0/updated_native.raw"]
    got = read("run/Result_0/updated_native.raw", np.uint8)
    assert np.array_equal(got, native(want).ravel())
    rejects(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", "b",
            "--data_format_config", "gone.json", says="gone.json")
