# SPDX-License-Identifier: MIT
"""quern on .tflite models: every command that reads ONNX models reads them by their contents."""
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import INPUT, REFUSED, USAGE, add_relu, ok, ok_json, quern, refuses

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "frontend"))
import check_tflite  # noqa: E402

STORED = check_tflite.stored()
OPS = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "ADD": 1, "MEAN": 1, "FULLY_CONNECTED": 1,
       "SOFTMAX": 1}


def put(folder, name, file="model.tflite"):
    STORED[name][0].tofile(folder / file)
    return folder / file


@pytest.fixture
def net(tmp_path):
    """An int8 network of six ops."""
    np.save(tmp_path / "x.npy", STORED["net/int8"][1]["image"])
    return put(tmp_path, "net/int8")


def test_show_lists_ops_names_and_encodings(net):
    j = ok_json("show", net, "--json")
    assert j["ops"] == OPS and j["opsets"] == {"tflite": 3}
    assert j["inputs"][0]["name"] == "image" and j["inputs"][0]["type"] == "int8"
    assert j["inputs"][0]["scale"] == pytest.approx(2 / 255) and j["inputs"][0]["zero_point"] == 0
    assert j["outputs"][0] == {"name": "scores", "type": "int8", "shape": [1, 5],
                               "scale": 1 / 256, "zero_point": -128}
    text = ok("show", net).stdout
    assert "tflite 3" in text and "ONNX" not in text and "zero point -128" in text


def test_the_contents_and_not_the_name_say_what_it_is(tmp_path, net):
    net.rename(tmp_path / "net.onnx")
    assert ok_json("show", tmp_path / "net.onnx", "--json")["ops"] == OPS
    add_relu(tmp_path / "other.tflite")
    assert ok_json("show", tmp_path / "other.tflite", "--json")["ops"] == {"Add": 1, "Relu": 1}


def test_check_and_estimate_know_the_npu(net):
    j = ok_json("check", net, "--soc", "SM8650", "--json")
    assert j["accepted"] == 6 and j["partitions"] == 1 and j["estimate"]["precision"] == "a8w8"
    assert [n["op"] for n in j["nodes"]] == list(OPS)
    assert j["nodes"][5]["name"] == "main/5:scores"
    assert ok_json("estimate", net, "--soc", "SM8650", "--json")


def test_a_compiled_model_gives_the_same_bytes(tmp_path, net):
    ok("compile", net, "--soc", "SM8650", "-o", tmp_path / "net.bin")
    ok("run", net, tmp_path / "x.npy", "--soc", "SM8650", "-o", tmp_path / "a")
    ok("run", tmp_path / "net.bin", tmp_path / "x.npy", "--native", "-o", tmp_path / "b")
    a, b = (np.load(tmp_path / d / "output_0.npy") for d in "ab")
    assert a.dtype == np.int8 and (a == b).all()
    assert np.abs(a.astype(int) - STORED["net/int8"][2][0]).max() <= 1


def test_the_reference_is_computed_in_float(net):
    j = ok_json("run", net, net.with_name("x.npy"), "--reference", "--per-layer", "--json")
    layers = {c["name"]: c["sqnr_db"] for c in j["layers"]}
    assert len(layers) == 6 and all(25 < v < 70 for v in layers.values()), layers


def test_bench_runs_it(net):
    assert ok_json("bench", net, "--json", "-n", "2")


def test_dynamic_dimensions_are_set_like_those_of_onnx(tmp_path):
    model = put(tmp_path, "dynamic_batch/float32")
    refuses(INPUT, "run", model, "--random", says=["'x' [x_0,4]", "--dim x_0=SIZE"])
    assert ok_json("run", model, "--random", "--dim", "x_0=5", "--json")
    np.save(tmp_path / "x.npy", np.ones([7, 4], np.float32))
    ok("run", model, tmp_path / "x.npy", "-o", tmp_path / "out")
    assert np.load(tmp_path / "out" / "output_0.npy").shape == (7, 3)
    refuses(USAGE, "run", model, "--random", "--dim", "y=5", says="x_0")


def test_what_is_rejected_is_named(tmp_path, net):
    data = net.read_bytes()
    for n in (0, 7, 8, 20, len(data) // 2, len(data) - 3):
        net.write_bytes(data[:n])
        p = quern("run", net, "--random")
        assert p.returncode == REFUSED and "model.tflite" in p.stderr, (n, p.stderr)
    code = data.find(bytes([25, 0, 0, 0]))  # SOFTMAX's, as a word
    assert code > 0
    net.write_bytes(data.replace(bytes([25, 0, 0, 0]), bytes([118, 0, 0, 0])))
    refuses(REFUSED, "run", net, "--random", says=["main/5:scores", "IF", "not supported"])
    p = quern("check", net, "--json")
    assert p.returncode == REFUSED and '"accepted": 5' in p.stdout.replace("\n", " ")


# --- files that LiteRT compiled

def compiled(folder, binary, name=b"graph"):
    """A model with one DISPATCH_OP around a context binary, as LiteRT writes it."""
    shell = (TESTS / "fuzz" / "corpus" / "tflite" / "dispatch.tflite").read_bytes()
    place = -(-len(shell) // 16) * 16 + 16
    for old, new in ((0x7f000001, place), (0x7f000002, len(binary))):
        assert shell.count(old.to_bytes(4, "little")) == 1
        shell = shell.replace(old.to_bytes(4, "little"), new.to_bytes(4, "little"))
    path = folder / "compiled.tflite"
    path.write_bytes(shell.replace(b"graph", name).ljust(place, b"\0") + binary)
    return path


@pytest.fixture
def binary(tmp_path):
    net = add_relu(tmp_path / "graph.onnx", (1, 4), (1, 2, -3, 4))
    ok("compile", net, "--soc", "SM8650", "-o", tmp_path / "graph.bin")
    return (tmp_path / "graph.bin").read_bytes()


def test_the_binary_of_a_compiled_model_runs(tmp_path, binary):
    path = compiled(tmp_path, binary)
    np.save(tmp_path / "x.npy", np.float32([[1, -9, 9, 0.5]]))
    ok("run", path, f"x={tmp_path}/x.npy", "-o", tmp_path / "out")
    assert np.load(tmp_path / "out" / "output_0.npy").tolist() == [[2, 0, 6, 4.5]]
    j = ok_json("run", path, "--random", "--json")
    assert j["results"][0]["outputs"][0]["name"] == "t1"  # of the .tflite file, not of the binary
    assert ok_json("show", path, "--json")["graphs"][0]["name"] == "graph"
    assert ok_json("estimate", path, "--json")
    assert ok_json("bench", path, "--json", "-n", "2")
    refuses(REFUSED, "check", path, says="compiled")


def test_a_compiled_model_that_is_broken_is_rejected(tmp_path, binary):
    path = compiled(tmp_path, binary)
    data = path.read_bytes()
    path.write_bytes(data[:-100])
    refuses(REFUSED, "run", path, "--random", says=["DISPATCH_OP", "does not lie inside the file"])
    path.write_bytes(data[:-len(binary)] + bytes(len(binary)))
    assert quern("run", path, "--random").returncode == REFUSED
    assert quern("run", compiled(tmp_path, binary, b"other"), "--random").returncode == USAGE
