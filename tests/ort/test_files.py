# SPDX-License-Identifier: MIT
"""Files that a session writes about its graphs: dumps as JSON, and the trace from nodes to ops."""
import csv
import json
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from provider import HTP, NAME, close, cpu_session, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net, images  # noqa: E402

F = np.float32
n = helper.make_node


def small():
    """Two partitions around a refused node; the first has a constant and parameters."""
    return model([n("Conv", ["x", "w", "b"], ["a"], name="conv", pads=[1, 1, 1, 1]),
                  n("Relu", ["a"], ["r"], name="relu"),
                  n("Reshape", ["r", "s"], ["m"], name="flat"),
                  n("CDist", ["m", "m"], ["d"], name="far", domain="com.microsoft",
                    metric="euclidean"),
                  n("Softmax", ["d"], ["y"], name="soft", axis=1)],
                 [("x", F, [1, 2, 4, 4])], [("y", F, [3, 3])],
                 [("w", np.ones([3, 2, 3, 3], F)), ("b", np.ones([3], F)),
                  ("s", np.array([3, 16], np.int64))],
                 domains=["com.microsoft"], known=[("d", F, [3, 3])])


# --- the composed graph

def test_graphs_are_dumped_as_the_public_provider_does(tmp_path):
    folder = tmp_path / "a" / "b"
    s = session(small(), {"dump_json_qnn_graph": "1", "json_qnn_graph_dir": str(folder)},
                fallback=True)
    files = sorted(f for f in folder.glob("*.json") if not f.stem.endswith("_tensor_log"))
    assert len(files) == 2
    top = [json.loads(f.read_text()) for f in files]
    (whole,) = (t for t in top if "Conv2d" in t["op_types"])
    assert set(whole) == {"model.cpp", "model.bin", "converter_command", "copyright_str",
                          "op_types", "Total parameters", "Total MACs per inference", "graph"}
    tensors, nodes = whole["graph"]["tensors"], whole["graph"]["nodes"]
    ids = [t["id"] for t in tensors.values()]
    assert len(set(ids)) == len(ids) and 0 not in ids
    conv = next(v for v in nodes.values() if v["type"] == "Conv2d")
    assert conv["package"] == "qti.aisw" and len(conv["input_names"]) == 3
    (pads,) = conv["tensor_params"]["pad_amount"].values()
    assert pads["data"] == [1, 1, 1, 1] and pads["dims"] == [2, 2]
    assert conv["scalar_params"]["group"] == {"306": 1}  # 0x0132: UINT_32
    weights = tensors[conv["input_names"][1]]
    assert weights["dims"] == [3, 3, 2, 3] and weights["type"] == 4  # HWIO, static
    assert tensors["x"]["type"] == 0 and tensors["x"]["dims"] == [1, 2, 4, 4]
    names = {name for v in nodes.values() for name in v["input_names"] + v["output_names"]}
    assert names <= set(tensors)
    x = np.random.default_rng(1).standard_normal((1, 2, 4, 4)).astype(F)
    assert close(s.run(None, {"x": x})[0], cpu_session(small()).run(None, {"x": x})[0], 1e-4)


def test_the_log_of_sizes_adds_up(tmp_path):
    session(conv_net(seed=1), {"dump_json_qnn_graph": "1", "json_qnn_graph_dir": str(tmp_path)})
    (file,) = tmp_path.glob("*_tensor_log.json")
    log = json.loads(file.read_text())
    x = images(1, 1)[0]
    assert [(t["name"], t["bytes"]) for t in log["inputs"]] == [("x", x.nbytes)]
    total = sum(t["bytes"] for t in log["initializers"])
    weights = sum(np.prod(i.dims) * 4
                  for i in onnx.ModelProto.FromString(conv_net(seed=1)).graph.initializer
                  if i.data_type == 1 and i.dims)
    assert log["summary"]["total_initializer_bytes"] == total >= weights
    assert log["summary"]["total_bytes"] == total + x.nbytes
    assert log["summary"]["initializer_count"] == len(log["initializers"])
    assert file.name == log["graph_name"] + "_tensor_log.json"


def test_quantized_tensors_have_their_encodings(tmp_path):
    def pair(name, scale):
        return [n("QuantizeLinear", [name, scale, "z"], [name + "_q"]),
                n("DequantizeLinear", [name + "_q", scale, "z"], [name + "_d"])]
    net = model([*pair("x", "s"), n("Relu", ["x_d"], ["r"]), *pair("r", "t"),
                 n("Identity", ["r_d"], ["y"])],
                [("x", F, [1, 8])], [("y", F, [1, 8])],
                [("s", F(0.5)), ("t", F(0.25)), ("z", np.uint8(128))], opset=19)
    session(net, {**HTP, "dump_json_qnn_graph": "1", "json_qnn_graph_dir": str(tmp_path)})
    (file,) = (f for f in tmp_path.glob("*.json") if not f.stem.endswith("_tensor_log"))
    found = [t["quant_params"].get("scale_offset") for t
             in json.loads(file.read_text())["graph"]["tensors"].values()]
    assert {"scale": 0.5, "offset": -128} in found and {"scale": 0.25, "offset": -128} in found


# --- what the host offers

def test_each_offered_graph_is_dumped(tmp_path):
    session(small(), {"dump_qnn_ep_input_graph": "1",
                      "dump_qnn_ep_input_graph_dir": str(tmp_path)}, fallback=True)
    files = sorted(tmp_path.glob("g.*_qnn_ep_input_graph.json"))
    assert files and files[0].name == "g.0_qnn_ep_input_graph.json"
    graph = json.loads(files[-1].read_text())["graph"]
    assert {v["type"] for v in graph["nodes"].values()} == {"Conv", "Relu", "Reshape", "CDist",
                                                            "Softmax"}
    assert graph["nodes"]["far"]["package"] == "com.microsoft"
    assert graph["nodes"]["far"]["scalar_params"]["metric"] == "euclidean"
    assert graph["nodes"]["conv"]["scalar_params"]["pads"] == [1, 1, 1, 1]
    tensors = graph["tensors"]
    assert tensors["x"] | {"id": 0} == tensors["x"] | {"id": 0, "type": 0, "dims": [1, 2, 4, 4]}
    assert tensors["w"]["type"] == 4 and tensors["y"]["type"] == 1 and tensors["a"]["type"] == 3
    assert tensors["s"]["data_type"] == 0x64 and tensors["w"]["data_type"] == 0x232


# --- from nodes to ops

def trace(folder):
    return json.loads((folder / "qnn_op_trace.json").read_text())


def test_the_trace_tells_what_became_of_every_node(tmp_path):
    session(small(), {**HTP, "enable_framework_op_trace": "1",
                      "framework_op_trace_dir": str(tmp_path)}, fallback=True)
    t = trace(tmp_path)
    assert t["schema_version"] == 2 and t["backend_type"] == "htp"
    assert t["compilation_target"] == {"htp_arch": "V75", "soc_model": 57, "device_id": 0}
    ops = [(m["dst_qnn_op_type"], s["name"]) for g in t["subgraph_traces"]
           for m in g["op_mappings"] for s in m["sources"]]
    assert {("Conv2d", "conv"), ("Softmax", "soft")} <= set(ops)
    (refused,) = t["unsupported_nodes"]
    assert refused["node_name"] == "far" and refused["op_type"] == "CDist"
    assert "com.microsoft.CDist" in refused["reason"]
    s = t["summary"]
    assert (s["total_onnx_nodes"], s["supported_nodes"], s["unsupported_nodes"]) == (5, 4, 1)
    assert s["qnn_subgraphs"] == 2 and s["total_qnn_ops"] == sum(
        len(g["op_mappings"]) for g in t["subgraph_traces"])


def test_a_model_that_is_refused_whole_is_traced_too(tmp_path):
    net = model([n("CDist", ["x", "x"], ["y"], name="far", domain="com.microsoft")],
                [("x", F, [3, 4])], [("y", F, [3, 3])], domains=["com.microsoft"])
    session(net, {"enable_framework_op_trace": "1", "framework_op_trace_dir": str(tmp_path)},
            fallback=True)
    t = trace(tmp_path)
    assert t["summary"]["supported_nodes"] == 0 and t["subgraph_traces"] == []
    assert t["unsupported_nodes"][0]["node_name"] == "far"


def test_profiles_of_a_traced_session_name_the_nodes(tmp_path):
    path = tmp_path / "p.csv"
    s = session(conv_net(seed=1), {**HTP, "enable_framework_op_trace": "1",
                                   "framework_op_trace_dir": str(tmp_path),
                                   "profiling_level": "detailed",
                                   "profiling_file_path": str(path)})
    s.run(None, {"x": images(1, 1)[0]})
    rows = list(csv.DictReader(path.open()))
    assert list(rows[0])[-1] == "ONNX Source Ops"
    named = {r["Event Identifier"].split(":OpId_")[0]: r["ONNX Source Ops"]
             for r in rows if ":OpId_" in r["Event Identifier"] and r["ONNX Source Ops"]}
    known = {m["dst_name"]: m["sources"][0]["name"] for g in trace(tmp_path)["subgraph_traces"]
             for m in g["op_mappings"] if m["sources"]}
    assert named and all(known[op] == node for op, node in named.items())


def test_a_context_model_has_nothing_to_trace(tmp_path, capfd):
    path = tmp_path / "c.onnx"
    session(conv_net(seed=1), HTP, {"ep.context_enable": "1", "ep.context_file_path": str(path)})
    session(str(path), {**HTP, "enable_framework_op_trace": "1", "framework_op_trace_dir":
                        str(tmp_path / "t")}, level=1)
    assert "no graph is composed, none is traced" in capfd.readouterr().err
    assert not list((tmp_path / "t").iterdir())


# --- folders

FOLDERS = [("dump_json_qnn_graph", "json_qnn_graph_dir"),
           ("enable_framework_op_trace", "framework_op_trace_dir"),
           ("dump_qnn_ep_input_graph", "dump_qnn_ep_input_graph_dir")]


@pytest.mark.parametrize("switch, key", FOLDERS)
def test_a_folder_that_cannot_be_made_fails_the_session(tmp_path, switch, key):
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match=f"option {key}: the folder '.*file/x' cannot be made"):
        session(conv_net(seed=1), {switch: "1", key: str(tmp_path / "file" / "x")})


@pytest.mark.parametrize("switch, key", FOLDERS)
def test_files_go_to_the_current_folder_where_none_is_named(tmp_path, monkeypatch, switch, key):
    monkeypatch.chdir(tmp_path)
    session(conv_net(seed=1), {switch: "1"})
    assert list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("switch, key", FOLDERS)
def test_a_folder_without_the_switch_is_left_alone(tmp_path, switch, key):
    session(conv_net(seed=1), {key: str(tmp_path / "x"), switch: "0"})
    assert not os.path.exists(tmp_path / "x")


def test_traces_and_dumps_change_no_result(tmp_path):
    options = {**HTP, **{k: "1" for k, _ in FOLDERS}, **{k: str(tmp_path) for _, k in FOLDERS}}
    x = images(3, 1)[0]
    s = session(conv_net(seed=1), options)
    assert s.get_providers()[0] == NAME
    assert np.array_equal(s.run(None, {"x": x})[0],
                          session(conv_net(seed=1), HTP).run(None, {"x": x})[0])
