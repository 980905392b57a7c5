# SPDX-License-Identifier: MIT
"""Our events in onnxruntime's own profile (a file in the form of Chrome's traces)."""
import gc
import json
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from provider import HTP, NAME, devices, helper, model

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net, images  # noqa: E402

F = np.float32
VERSION = tuple(int(x) for x in ort.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(VERSION < (1, 25), reason="profilers came with onnxruntime 1.25")
CPU = {"backend_type": "cpu"}


def session(net, options, folder=None, config=None):
    so = ort.SessionOptions()
    so.enable_profiling = folder is not None
    so.profile_file_prefix = str(folder / "p") if folder else ""
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices(devices("cpu")[:1], options)
    return ort.InferenceSession(net, so, enable_fallback=0)


def events(path):
    """Our events, and all."""
    everything = json.loads(Path(path).read_text())
    return [e for e in everything if "backend" in e["args"]], everything


def detailed(tmp_path):
    return {"profiling_level": "detailed", "profiling_file_path": str(tmp_path / "q.csv")}


def within(a, b, slack=1):
    return b["ts"] - slack <= a["ts"] and a["ts"] + a["dur"] <= b["ts"] + b["dur"] + slack


@pytest.mark.parametrize("options, backend", [(HTP, "HTP"), (CPU, "CPU")])
def test_each_run_of_a_partition_is_an_event(tmp_path, options, backend):
    s = session(conv_net(seed=1), options, tmp_path)
    for x in images(1, 3):
        s.run(None, {"x": x})
    ours, everything = events(s.end_profiling())
    runs = [e for e in ours if e["name"] == "qnn_graph_execute"]
    (made,) = (e for e in ours if e["name"] == "qnn_graph_compile")
    assert len(runs) == 3 and len(ours) == 4  # ops are told at a detailed level only
    assert {e["cat"] for e in runs} == {"Kernel"} and made["cat"] == "Session"
    for e in ours:
        assert e["args"]["backend"] == backend
        assert e["args"]["graph"] == runs[0]["args"]["graph"]
    hosts = [e for e in everything if e["name"].endswith("_kernel_time")
             and e["args"].get("provider") == NAME]
    assert len(hosts) == 3
    for mine, host in zip(runs, hosts):  # on the host's clock and thread, and inside of its event
        assert within(mine, host) and mine["tid"] == host["tid"] and mine["pid"] == host["pid"]
    assert made["ts"] >= 0 and made["ts"] + made["dur"] <= runs[0]["ts"]


@pytest.mark.parametrize("options", [HTP, CPU])
def test_at_a_detailed_level_ops_are_events_with_their_nodes(tmp_path, options):
    s = session(conv_net(seed=1), {**options, **detailed(tmp_path)}, tmp_path)
    s.run(None, {"x": images(1, 1)[0]})
    ours, _ = events(s.end_profiling())
    (run,) = (e for e in ours if e["name"] == "qnn_graph_execute")
    ops = [e for e in ours if "qnn_op" in e["args"]]
    # Its nodes have no names of their own and go by their first outputs.
    nodes = {node.output[0] for node in onnx.ModelProto.FromString(conv_net(seed=1)).graph.node}
    named = {e["args"]["onnx_node"]: e["args"]["qnn_op"] for e in ops if "onnx_node" in e["args"]}
    assert set(named) <= nodes and len(named) > len(nodes) // 2
    assert "Conv2d" in {e["args"]["qnn_op"] for e in ops}
    at = run["ts"]
    for e in sorted(ops, key=lambda e: e["ts"]):
        assert within(e, run, 2) and e["ts"] >= at - 1 and e["tid"] == run["tid"]
        at = e["ts"] + e["dur"]


def test_two_partitions_are_told_apart(tmp_path):
    n = helper.make_node
    net = model([n("Relu", ["x"], ["a"]),
                 n("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                 n("Relu", ["b"], ["y"])], [("x", F, [3, 4])], [("y", F, [3, 3])],
                domains=["com.microsoft"], known=[("b", F, [3, 3])])
    s = session(net, HTP, tmp_path)
    s.run(None, {"x": np.ones([3, 4], F)})
    runs = [e for e in events(s.end_profiling())[0] if e["name"] == "qnn_graph_execute"]
    assert len(runs) == len({e["args"]["graph"] for e in runs}) == 2


def test_runs_of_many_threads_are_all_there(tmp_path):
    s = session(conv_net(seed=1), HTP, tmp_path)
    threads = [threading.Thread(target=lambda: [s.run(None, {"x": x}) for x in images(2, 5)])
               for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    runs = [e for e in events(s.end_profiling())[0] if e["name"] == "qnn_graph_execute"]
    assert len(runs) == 20 and len({e["tid"] for e in runs}) == 4


def test_loading_a_context_is_an_event(tmp_path):
    path = tmp_path / "c.onnx"
    session(conv_net(seed=1), HTP, None, {"ep.context_enable": "1",
                                          "ep.context_file_path": str(path)})
    s = session(str(path), HTP, tmp_path)
    s.run(None, {"x": images(1, 1)[0]})
    ours, _ = events(s.end_profiling())
    assert sorted(e["name"] for e in ours) == ["qnn_context_load", "qnn_graph_execute"]


def test_names_cannot_spoil_the_file(tmp_path):
    """The host writes them as they are."""
    n = helper.make_node
    net = model([n("Relu", ["x"], ["a"], name='quo"te'), n("Sigmoid", ["a"], ["b"], name="[b"),
                 n("Tanh", ["b"], ["y"], name="back\\slash\n")],
                [("x", F, [2, 3])], [("y", F, [2, 3])])
    s = session(net, {**CPU, **detailed(tmp_path)}, tmp_path)
    s.run(None, {"x": np.ones([2, 3], F)})
    path = Path(s.end_profiling())
    # Without the host's own events, which have the names, too.
    lines = [line.rstrip().rstrip(",") for line in path.read_text().splitlines()
             if '"backend"' in line]
    ours = [json.loads(line) for line in lines]
    names = {e["args"]["onnx_node"] for e in ours if "onnx_node" in e["args"]}
    assert {"quo'te", "(b", "back/slash "} <= names


def test_a_session_that_ends_while_it_is_profiled_leaves_a_whole_file(tmp_path):
    s = session(conv_net(seed=1), HTP, tmp_path)
    s.run(None, {"x": images(1, 1)[0]})
    del s
    gc.collect()
    (path,) = tmp_path.glob("p*.json")
    assert any(e["name"] == "qnn_graph_execute" for e in events(path)[0])
