# SPDX-License-Identifier: MIT
"""Models that others quantized, with what their tools leave behind: read as they are meant, with
the results of ONNX Runtime."""
import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from cli_quantize import run
from harness import model, ok

F = np.float32
Q, DQ = "QuantizeLinear", "DequantizeLinear"


def pair(x, y, scale="s", zero="z"):
    """y is x, quantized."""
    return [h.make_node(Q, [x, scale, zero], [f"{y}_q"]),
            h.make_node(DQ, [f"{y}_q", scale, zero], [y])]


def around(nodes, size, out=None, **constants):
    """Nodes from d to r, between quantized values."""
    return {"nodes": [*pair("x", "d"), *nodes, *pair("r", "y")], "in": size, "out": out or size,
            "constants": {"s": F(0.02), "z": np.uint8(128), **constants}}


def conv(scale_x, scale_w, scale_b, zero_b):
    """A convolution whose bias has the type of zero_b."""
    w = np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    axis = lambda s: {"axis": 0} if np.size(s) > 1 else {}
    zero = lambda s, v, kind: np.full(np.shape(s), v, kind)
    nodes = [*pair("x", "d", "sx", "zx"),
             h.make_node(DQ, ["w", "sw", "zw"], ["wd"], **axis(scale_w)),
             h.make_node(DQ, ["b", "sb", "zb"], ["bd"], **axis(scale_b)),
             h.make_node("Conv", ["d", "wd", "bd"], ["r"], pads=[1, 1, 1, 1]), *pair("r", "y")]
    bias = np.array([100, 200, 250, 30] if zero_b.dtype.itemsize == 1 else [100, 200, 30000, 40000])
    return {"nodes": nodes, "in": [1, 3, 8, 8], "out": [1, 4, 8, 8], "constants": {
        "sx": scale_x, "zx": zero(scale_x, 128, np.uint8), "w": w, "sw": scale_w,
        "zw": zero(scale_w, 0, np.int8), "b": bias.astype(zero_b.dtype), "sb": scale_b,
        "zb": np.full(np.shape(scale_b), zero_b), "s": F(0.05), "z": np.uint8(100)}}


def bounds(nodes):
    """Constants of a Clip, quantized."""
    both = [h.make_node(DQ, [name, "ls", "lz"], [f"{name}d"]) for name in ("lo", "hi")]
    return around([*both, *nodes], [1, 8], lo=np.uint8(0), hi=np.uint8(255), ls=F(1 / 255),
                  lz=np.uint8(0))


def resize(scale, zero):
    """The roi of a Resize: an empty constant, quantized."""
    nodes = [h.make_node(DQ, ["roi", "rs", "rz"], ["roid"]),
             h.make_node("Resize", ["d", "roid", "sizes"], ["r"], mode="nearest")]
    return around(nodes, [1, 2, 4, 4], [1, 2, 8, 8], roi=np.zeros(0, np.uint8), rs=scale, rz=zero,
                  sizes=np.array([1, 1, 2, 2], F))


CASES = {
    "int32 bias": conv(F(0.02), F(0.01), F(0.0002), np.int32(0)),
    "uint16 bias": conv(F(0.02), F(0.01), F(0.0002), np.uint16(32768)),
    "uint8 bias": conv(F(0.02), F(0.01), F(0.02), np.uint8(128)),
    "scales of rank 1": conv(F([0.02]), F([0.01]), F([0.0002]), np.int32(0)),
    "scales of both ranks": conv(F(0.02), F([0.01]), F(0.0002), np.int32(0)),
    "bias of one scale": conv(F(0.02), F([0.01, 0.02, 0.03, 0.01]), F(0.0002), np.int32(0)),
    "dead clip": bounds([h.make_node("Relu", ["d"], ["r"])]),
    "clip": bounds([h.make_node("Clip", ["d", "lod", "hid"], ["r"])]),
    "empty constant": resize(F(1), np.uint8(0)),
    "empty scale": resize(np.zeros(0, F), np.zeros(0, np.uint8)),
}


@pytest.mark.parametrize("backend", ["cpu", "htp"])
@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_is_meant(tmp_path, name, backend):
    case = CASES[name]
    net = model(tmp_path / "net.onnx", case["nodes"], {"x": (T.FLOAT, case["in"])},
                {"y": (T.FLOAT, case["out"])}, case["constants"], opset=21)
    x = np.random.default_rng(1).standard_normal(case["in"]).astype(F)
    np.save(tmp_path / "x.npy", x)
    soc = ["--soc", "SM8650"] if backend == "htp" else []
    ok("run", net, tmp_path / "x.npy", "--backend", backend, *soc, "-o", tmp_path / "out")
    got = np.load(tmp_path / "out" / "output_0.npy")
    if name == "empty scale":  # which ONNX Runtime rejects when it runs
        want = np.repeat(np.repeat(np.clip(np.rint(x / F(0.02)), -128, 127) * F(0.02), 2, 2), 2, 3)
    else:
        want = run(net, {"x": x})["y"]
    assert np.abs(got - want).max() <= case["constants"]["s"] * 1.01
