# SPDX-License-Identifier: MIT
"""Softmax over entries that a mask keeps, as quantized graphs for the HTP spell it (HTP-MSM):
Softmax(Where(keep, x, ReduceMin(x) + B)). Expected values by the formula in float64."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

from harness import ok

HEADS, QUERIES, KEYS = 3, 4, 40
HTP = ["--backend", "htp", "--soc", "SM8650"]
RNG = np.random.default_rng(5)
X = RNG.uniform(-8, 8, (1, HEADS, QUERIES, KEYS)).astype(np.float32)
KEPT = RNG.random((1, 1, QUERIES, KEYS)) < 0.3
KEPT[0, 0, 2] = False  # a row of which nothing is kept
KEPT[0, 0, 3] = np.arange(KEYS) == 7


def net(path, compare, b, kind=np.uint16, floats=False):
    """compare: Equal and NotEqual (of an integer mask and 0), or None: the mask is a bool."""
    nodes, constants = [], {"zero": np.int32(0), "axes": np.array([-1]), "B": np.float32(b)}

    def stored(name, low, high):
        """`name` through quantized values, unless all is float."""
        if floats:
            return name
        scale = np.float32((high - low) / np.iinfo(kind).max)
        constants.update({name + "_s": scale, name + "_z": kind(round(-low / scale))})
        nodes.append(h.make_node("QuantizeLinear", [name, name + "_s", name + "_z"], [name + "_q"]))
        nodes.append(h.make_node("DequantizeLinear", [name + "_q", name + "_s", name + "_z"],
                                 [name + "_d"]))
        return name + "_d"

    x = stored("x", -8, 8)
    keep = "mask"
    if compare:
        nodes.append(h.make_node("Equal", ["mask", "zero"], ["same"]))
        keep = "same"
    if compare == "NotEqual":
        nodes.append(h.make_node("Not", ["same"], ["other"]))
        keep = "other"
    nodes.append(h.make_node("ReduceMin", [x, "axes"], ["least"], keepdims=1))
    least = stored("least", -8, 8)
    nodes.append(h.make_node("Add", [least, stored("B", min(b, -1), 0)], ["below"]))
    below = stored("below", -8 + b, 8)
    nodes.append(h.make_node("Where", [keep, x, below], ["chosen"]))
    nodes.append(h.make_node("Softmax", [stored("chosen", -8 + b, 8)], ["p"], axis=-1))
    y = stored("p", 0, np.iinfo(kind).max / (np.iinfo(kind).max + 1))
    nodes.append(h.make_node("Identity", [y], ["y"]))
    info = h.make_tensor_value_info
    g = h.make_graph(nodes, "g", [info("x", T.FLOAT, X.shape),
                                  info("mask", T.INT32 if compare else T.BOOL, KEPT.shape)],
                     [info("y", T.FLOAT, X.shape)],
                     [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 21)], ir_version=10), path)
    return path


def run(tmp_path, compare, b=-20.0, **more):
    n = net(tmp_path / "n.onnx", compare, b, **more)
    np.save(tmp_path / "x.npy", X)
    mask = KEPT if compare is None else np.where(KEPT == (compare == "NotEqual"), 5, 0)
    np.save(tmp_path / "mask.npy", mask.astype(np.int32) if compare else mask)
    ok("run", n, f"x={tmp_path / 'x.npy'}", f"mask={tmp_path / 'mask.npy'}", "-o", tmp_path, *HTP)
    return np.load(tmp_path / "output_0.npy").astype(np.float64)


def wanted():
    x = np.where(KEPT, X.astype(np.float64), -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
        return np.nan_to_num(e / e.sum(-1, keepdims=True))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("compare", ["Equal", "NotEqual", None])
def test_htp_msm_03_msm_04_entries_that_are_not_kept_are_0(tmp_path, compare, kind):
    y = run(tmp_path, compare, kind=kind)
    kept = np.broadcast_to(KEPT, X.shape)
    assert not y[~kept].any()
    steps = 1.01 if kind is np.uint16 else 4  # x itself has steps of 1/16 with 8 bits
    assert np.abs(y - wanted()).max() < (2e-3 if kind is np.uint16 else 0.05)
    sums = y.sum(-1)[:, :, [0, 1, 3]]
    assert np.abs(sums - 1).max() < KEYS * steps / np.iinfo(kind).max


def test_htp_msm_05_a_row_of_which_nothing_is_kept_is_0(tmp_path):
    assert not run(tmp_path, "Equal")[:, :, 2].any()


def test_htp_msm_02_a_larger_b_is_not_matched(tmp_path):
    y = run(tmp_path, "Equal", b=-19.0)
    assert y[:, :, 2].any()  # x's own softmax, about even


def test_htp_msm_01_floats_are_not_matched(tmp_path):
    y = run(tmp_path, "Equal", floats=True)
    assert y[:, :, 2] == pytest.approx(1 / KEYS, rel=1e-2)
