# SPDX-License-Identifier: MIT
"""The format's prose: a reader that knows nothing else reads what `quern compile` writes, agrees
with the library's own reader (`quern show`), and finds the same damage."""
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h

import read_binary

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from harness import REFUSED, model, ok, ok_json, quern  # noqa: E402


def conv_net(path, channels=40, bits=8):
    """A convolution with weights per channel, a Relu, a product; quantized in between."""
    rng = np.random.default_rng(4)
    zero = np.uint8(128) if bits == 8 else np.uint16(32768)
    step = np.float32(0.05 if bits == 8 else 0.0002)
    quantize = lambda x, y: h.make_node("QuantizeLinear", [x, "s", "z"], [y])
    read = lambda x, y, s="s", z="z", **kw: h.make_node("DequantizeLinear", [x, s, z], [y], **kw)
    nodes = [quantize("x", "xq"), read("xq", "xf"), read("w", "wf", "sw", "zw", axis=0),
             read("b", "bf", "sb", "zb", axis=0),
             h.make_node("Conv", ["xf", "wf", "bf"], ["c"], pads=[1, 1, 1, 1], name="conv"),
             quantize("c", "cq"), read("cq", "cf"),
             h.make_node("Relu", ["cf"], ["r"], name="relu"), quantize("r", "rq"), read("rq", "rf"),
             h.make_node("Flatten", ["rf"], ["f"], name="flat"), quantize("f", "fq"),
             read("fq", "ff"), read("m", "mf", "sm", "zm"),
             h.make_node("MatMul", ["ff", "mf"], ["p"], name="product"),
             h.make_node("QuantizeLinear", ["p", "sp", "z"], ["q"]), read("q", "y", "sp")]
    scales = (0.01 + 0.0001 * np.arange(channels)).astype(np.float32)
    constants = {
        "s": step, "z": zero, "sw": scales, "zw": np.zeros(channels, np.int8),
        "sb": scales * step, "zb": np.zeros(channels, np.int32),
        "w": rng.integers(-127, 128, (channels, 8, 3, 3)).astype(np.int8),
        "b": rng.integers(-500, 500, channels).astype(np.int32),
        "m": rng.integers(-127, 128, (channels * 36, 16)).astype(np.int8),
        "sm": np.float32(0.01), "zm": np.int8(0), "sp": step * np.float32(40)}
    return model(path, nodes, {"x": (T.FLOAT, [1, 8, 6, 6])}, {"y": (T.FLOAT, [1, 16])}, constants,
                 opset=21)


def float_net(path):
    rng = np.random.default_rng(5)
    return model(path, [h.make_node("MatMul", ["x", "w"], ["p"], name="p"),
                        h.make_node("Softmax", ["p"], ["y"], name="s", axis=-1)],
                 {"x": (T.FLOAT, [2, 100])}, {"y": (T.FLOAT, [2, 256])},
                 {"w": rng.standard_normal((100, 256)).astype(np.float32)})


def blocks_net(path):
    """4-bit weights in blocks of 32 beside float activations."""
    rng = np.random.default_rng(6)
    w = h.make_tensor("w", T.INT4, [128, 64], rng.integers(-8, 8, 128 * 64))
    m = onnx.load(model(
        path, [h.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32),
               h.make_node("MatMul", ["x", "d"], ["y"], name="product")],
        {"x": (T.FLOAT, [1, 128])}, {"y": (T.FLOAT, [1, 64])},
        {"s": rng.random((4, 64)).astype(np.float32)}, opset=21))
    m.graph.initializer.append(w)
    onnx.save(m, path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """name: (binary, models)"""
    d = tmp_path_factory.mktemp("binaries")
    a8, a16 = conv_net(d / "a8.onnx"), conv_net(d / "a16.onnx", bits=16)
    twin, flt = conv_net(d / "twin.onnx"), float_net(d / "f.onnx")
    sets = {"a8": [a8], "a16": [a16], "float": [flt], "shared": [a8, twin, flt],
            "blocks": [blocks_net(d / "blocks.onnx")]}
    made = {}
    for name, models in sets.items():
        made[name] = d / f"{name}.bin", models
        ok("compile", *models, "-o", made[name][0], "--soc", "SM8650")
    return made


NAMES = ["a8", "a16", "float", "shared", "blocks"]


@pytest.mark.parametrize("name", NAMES)
def test_htp_bin_01_two_readers_say_the_same(files, name):
    path, models = files[name]
    b, said = read_binary.read(path.read_bytes()), ok_json("show", "--json", path)
    assert (b["part"], b["backend_id"], b["soc"], b["arch"]) == (0, 6, 57, 75)
    assert (said["soc_model"], said["arch"], said["build"]) == (57, 75, b["build"])
    assert [g["name"] for g in b["graphs"]] == [g["name"] for g in said["graphs"]]
    assert [g["name"] for g in b["graphs"]] == [Path(m).stem for m in models]
    for g, s in zip(b["graphs"], said["graphs"]):
        assert len(g["nodes"]) == s["ops"]
        for role, list_ in ((0, s["inputs"]), (1, s["outputs"])):
            mine = [t for t in g["tensors"] if t["role"] == role]
            assert [(t["id"], t["name"], t["dims"]) for t in mine] == \
                [(t["id"], t["name"], t["shape"]) for t in list_]
        assert s["io_bytes"] == sum(read_binary.size_of(t["type"], t["dims"])
                                    for t in g["tensors"] if t["role"] <= 1)
        used = {x["constant"] for x in g["tensors"] + g["packed"]} - {None}
        sizes = [b["constants"][k] for k in used]
        assert s["constant_bytes"] == sum(k["bytes"] for k in sizes)
        assert s["shared_bytes"] == sum(k["bytes"] for k in sizes if k["graphs"] > 1)
        assert s["options"]["vtcm_mb"] << 20 == g["options"].get(3, 0)


@pytest.mark.parametrize("name", NAMES)
def test_schedules_are_stored_with_their_graphs(files, name):
    """Both readers agree, nothing overlaps, the numbers are those of the model's own estimate."""
    path, models = files[name]
    b = read_binary.read(path.read_bytes())
    told = ok_json("estimate", "--json", "--steps", path)["graphs"]
    assert len(told) == len(b["graphs"]) == len(models)
    for g, t, onnx in zip(b["graphs"], told, models):
        s, said = g["schedule"], t["schedule"]
        assert (s["soc"], s["chip"], s["hvx_threads"]) == (57, "SM8650", 4)
        assert t["ms"] == pytest.approx(s["us"] / 1e3)
        assert t["ms"] == pytest.approx(ok_json("estimate", onnx, "-p", said["precision"], "--json",
                                                "--soc", "SM8650")["ms"], rel=1e-6)
        assert [x["name"] for x in s["steps"]] == [x["name"] for x in said["slots"]]
        assert s["steps"][-1]["end"] == s["us"]
        for i, a in enumerate(s["tiles"]):
            for c in s["tiles"][:i]:
                assert (a["last"] < c["first"] or c["last"] < a["first"] or
                        a["offset"] + a["bytes"] <= c["offset"] or
                        c["offset"] + c["bytes"] <= a["offset"])
        live = [sum(t["bytes"] for t in s["tiles"] if t["first"] <= i <= t["last"])
                for i in range(len(s["steps"]))]
        assert max(live) == s["peak"] == said["peak_vtcm_bytes"]
        roles = {t["id"]: t["role"] for t in g["tensors"]}
        assert all((roles[t["tensor"]] == 4) == bool(t["weights"]) for t in s["tiles"])


def test_a_binary_with_a_damaged_schedule_is_refused(files, tmp_path):
    data = bytearray(files["a8"][0].read_bytes())
    (s,) = [x for x in read_binary.read(bytes(data))["sections"] if x["type"] == 6]
    data[s["offset"] + 9] ^= 1
    (tmp_path / "bad.bin").write_bytes(data)
    for command in ("show", "estimate"):
        p = quern(command, tmp_path / "bad.bin")
        assert p.returncode == REFUSED and "section type 6" in p.stderr


def test_htp_bin_03_weights_lie_apart_and_once(files):
    b = read_binary.read(files["shared"][0].read_bytes())
    assert all(s["offset"] % 4096 == 0 for s in b["sections"])
    assert [s["type"] for s in b["sections"]] == [1, 2, 2, 2, 6, 6, 6, 7, 7, 7, 3, 4, 5]
    a8, twin = b["graphs"][0], b["graphs"][1]
    assert [p["constant"] for p in a8["packed"]] == [p["constant"] for p in twin["packed"]]
    one = read_binary.read(files["a8"][0].read_bytes())
    weights = lambda x: sum(k["bytes"] for k in x["constants"] if k["section"] > 3)
    f = read_binary.read(files["float"][0].read_bytes())
    assert weights(b) == weights(one) + weights(f)


def test_values_are_the_models(files):
    """Parameters, encodings and data of the quantized net, against the numbers it was made of."""
    path, _ = files["a8"]
    data = path.read_bytes()
    b = read_binary.read(data)
    g = b["graphs"][0]
    by_id = {t["id"]: t for t in g["tensors"]}
    conv = next(n for n in g["nodes"] if n["type"] == "Conv2d")
    w = by_id[conv["in"][1]]
    assert (w["dims"], w["quant"]["kind"], w["quant"]["axis"]) == ([3, 3, 8, 40], 2, 3)
    np.testing.assert_array_equal(np.float32(w["quant"]["scales"]),
                                  (0.01 + 0.0001 * np.arange(40)).astype(np.float32))
    pad = next(p for p in conv["params"] if p["name"] == "pad_amount")
    k = b["constants"][by_id[pad["tensor"]]["constant"]]
    start = next(s["offset"] for s in b["sections"] if s["type"] == k["section"]) + k["offset"]
    np.testing.assert_array_equal(np.frombuffer(data, "<u4", 4, start), [1, 1, 1, 1])
    packed = next(p for p in g["packed"] if p["packing"] == 2 and p["tensor"] == w["id"])
    k = b["constants"][packed["constant"]]
    start = next(s["offset"] for s in b["sections"] if s["type"] == k["section"]) + k["offset"]
    blocks = np.frombuffer(data, "i1", k["bytes"], start).reshape(packed["dims"])
    # [panel][K/4][32 columns][4 of K], K in the order of the filter
    panels, steps = packed["dims"][:2]
    rows = blocks.transpose(1, 3, 0, 2).reshape(4 * steps, 32 * panels)[:72, :40]
    rng = np.random.default_rng(4)
    filter_ = rng.integers(-127, 128, (40, 8, 3, 3)).astype(np.int8)
    np.testing.assert_array_equal(rows, filter_.transpose(2, 3, 1, 0).reshape(72, 40))


@pytest.mark.parametrize("name", NAMES)
def test_steps_read_as_the_page_of_ops_says(files, name):
    """Ops, operands and attributes by docs/compiled-ops.md; those of the net are the model's."""
    ops = read_binary.read_op_page((ROOT / "docs" / "compiled-ops.md").read_text())
    b = read_binary.read(files[name][0].read_bytes())
    for g, onnx in zip(b["graphs"], files[name][1]):
        c = g["compiled"]
        steps = [(ops[s["op"]]["name"], read_binary.attributes_of(s, ops), s) for s in c["steps"]]
        if Path(onnx).stem == "f":
            ((_, softmax, _),) = [s for s in steps if s[0] == "softmax"]
            assert (softmax["axis"], softmax["beta"], softmax["log"]) == (1, 1.0, 0)
            continue
        if Path(onnx).stem == "blocks":
            ((_, _, step),) = [s for s in steps if s[0] == "matmul"]
            assert c["values"][step["in"][1]]["dims"] == [128, 64]
            continue
        ((_, conv, step),) = [s for s in steps if s[0] == "conv"]
        assert (conv["n_spatial"], conv["group"], conv["transposed"]) == (2, 1, 0)
        assert conv["stride"][:2] == conv["dilation"][:2] == conv["before"][:2] == [1, 1]
        x, w, y = (c["values"][v] for v in (*step["in"][:2], step["out"][0]))
        assert (x["dims"], w["dims"], y["dims"]) == ([1, 6, 6, 8], [3, 3, 8, 40], [1, 6, 6, 40])


@pytest.mark.parametrize("name", NAMES)
def test_loaded_models_compute_the_same(files, tmp_path, name):
    """Compiled and stored, then loaded by another process, with 1 and 2 threads."""
    path, models = files[name]
    for m in models:
        outs, shape = [], {"f": [2, 100], "blocks": [1, 128]}.get(m.stem, [1, 8, 6, 6])
        np.save(tmp_path / "x.npy",
                np.random.default_rng(8).standard_normal(shape).astype(np.float32))
        for n, file in enumerate([m, path, path]):
            out = tmp_path / f"{Path(m).stem}{n}"
            extra = [] if n == 0 or len(models) == 1 else ["-g", Path(m).stem]
            ok("run", file, tmp_path / "x.npy", "-b", "htp", "--soc", "SM8650", "-o", out, *extra,
                env={"QUERN_THREADS": "2" if n == 2 else "1"})
            outs.append(np.load(out / "output_0.npy"))
        assert np.array_equal(outs[0], outs[1]) and np.array_equal(outs[0], outs[2])
        assert len(np.unique(outs[0])) > 8


@pytest.mark.parametrize("name", ["a8", "shared"])
def test_both_readers_find_damage(files, tmp_path, name):
    data = files[name][0].read_bytes()
    b = read_binary.read(data)
    rng = np.random.default_rng(6)
    places = [int(x) for x in rng.integers(8, 64 + 32 * len(b["sections"]), 20)]
    places += [s["offset"] + int(rng.integers(s["bytes"])) for s in b["sections"] for _ in range(6)]
    for at in places:
        bad = bytearray(data)
        bad[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(read_binary.Damaged):
            read_binary.read(bytes(bad))
        (tmp_path / "bad.bin").write_bytes(bad)
        assert quern("show", "--verify", tmp_path / "bad.bin").returncode == REFUSED, at


def test_gpu_bin_04_forms_made_without_a_device_are_those_of_the_page(files, tmp_path):
    """Weights of a HYBRID graph are stored in fp16, rounded to nearest even, and name no device."""
    net = files["float"][1][0]
    ok("compile", net, "-o", tmp_path / "g.bin", "--backend", "gpu", "--precision", "hybrid",
       env={"QUERN_GPU_DEVICE": "none"})
    data = (tmp_path / "g.bin").read_bytes()
    b = read_binary.read(data)
    (g,) = b["graphs"]
    assert b["backend_id"] == 4 and (g["prepared"]["key"], g["prepared"]["choices"]) == ("", [])
    assert g["compiled"]["steps"]
    (form,) = g["prepared"]["forms"]
    assert (form["step"], form["packing"]) == (read_binary.NONE, 1)
    k = b["constants"][form["constant"]]
    at = k["offset"] + next(s["offset"] for s in b["sections"] if s["type"] == k["section"])
    mine = np.frombuffer(data, np.float16, k["bytes"] // 2, at).reshape(256, 100)
    weights = np.random.default_rng(5).standard_normal((100, 256)).astype(np.float32)
    assert np.array_equal(mine, weights.T.astype(np.float16))  # a FullyConnected
