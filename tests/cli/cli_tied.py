# SPDX-License-Identifier: MIT
"""A table that is also a layer's weights, transposed (tied embeddings), is kept once."""
import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import model, ok, ok_json, quern

ROWS, DEPTH = 1003, 300
RNG = np.random.default_rng(11)
TABLE = RNG.normal(0, 0.1, (ROWS, DEPTH)).astype(np.float32)
TABLE[5, 7] = 70000  # beyond IEEE fp16: the wide range has it
IDS = np.array([[5, 1002, 0, 33, -1, -1003, 512]], np.int32)


def net(path, weights):
    """row: rows of TABLE; y = row * weights."""
    nodes = [h.make_node("Gather", ["t", "ids"], ["row"]),
             h.make_node("MatMul", ["row", "w"], ["y"])]
    outputs = {"row": (T.FLOAT, (*IDS.shape, DEPTH)), "y": (T.FLOAT, (*IDS.shape, ROWS))}
    return model(path, nodes, {"ids": (T.INT32, IDS.shape)}, outputs, {"t": TABLE, "w": weights})


def tied():
    return np.ascontiguousarray(TABLE.T)


def nearly_tied():
    w = tied()
    w[DEPTH - 1, ROWS - 1] += 1
    return w


def wide_range(a):
    """Rounded as constants of fp16 without infinities: those beyond it are 65536."""
    small = np.abs(a) < 65520
    return np.where(small, np.where(small, a, 0).astype(np.float16).astype(np.float64),
                    np.copysign(65536.0, a))


def check(folder, weights, rounded):
    row, y = (np.load(folder / f"output_{i}.npy").astype(np.float64) for i in range(2))
    t, w = rounded(TABLE), rounded(weights)
    np.testing.assert_array_equal(row, t[IDS])
    usual = np.abs(t[IDS]).max(-1) < 100
    np.testing.assert_allclose(y[usual], (t[IDS] @ w)[usual], atol=0.02, rtol=2e-3)


def isa_env(isa):
    return {"QUERN_ISA": isa} if isa else {}


@pytest.mark.parametrize("isa", ["", "avx2", "ref"])
@pytest.mark.parametrize("weights", [tied, nearly_tied])
@pytest.mark.parametrize("backend", ["cpu", "htp"])
def test_rows_of_the_table_are_exact(backend, weights, isa, tmp_path):
    np.save(tmp_path / "ids.npy", IDS)
    n = net(tmp_path / "net.onnx", weights())
    ok("run", n, tmp_path / "ids.npy", "-o", tmp_path, "--backend", backend,
       *(["--soc", "SM8650"] if backend == "htp" else []), env=isa_env(isa))
    check(tmp_path, weights(), wide_range if backend == "htp" else np.float64)


@pytest.mark.parametrize("weights,copies", [(tied, 1), (nearly_tied, 3)])
def test_a_context_binary_holds_a_tied_table_once(weights, copies, tmp_path):
    n, binary = net(tmp_path / "net.onnx", weights()), tmp_path / "net.bin"
    ok("compile", n, "-o", binary, "--backend", "htp", "--soc", "SM8650")
    once = 2 * -(-ROWS // 32) * 32 * DEPTH  # fp16, whole panels; of its own a table is in 4 bytes
    assert (copies - 0.2) * once < binary.stat().st_size < copies * once + 40000
    np.save(tmp_path / "ids.npy", IDS)
    ok("run", binary, tmp_path / "ids.npy", "-o", tmp_path, "--backend", "htp")
    check(tmp_path, weights(), wide_range)


@pytest.mark.parametrize("backend", ["cpu", "htp"])
def test_a_matrix_of_several_layers_is_packed_once(backend, tmp_path):
    """The steps of an unrolled recurrence read one matrix: here 16 MB of floats, or 8 of fp16."""
    n, w = 2048, RNG.normal(0, 1 / 45, (2048, 2048)).astype(np.float32)
    x, peak = np.abs(RNG.standard_normal((1, n))).astype(np.float32), {}
    np.save(tmp_path / "x.npy", x)
    flags = ["--backend", backend, *(["--soc", "SM8650"] if backend == "htp" else [])]
    for layers in (1, 8):
        nodes = [h.make_node("MatMul", [f"h{i}", "w"], [f"m{i}"]) for i in range(layers)]
        nodes += [h.make_node("Relu", [f"m{i}"], [f"h{i + 1}"]) for i in range(layers)]
        path = model(tmp_path / f"net{layers}.onnx", [v for p in zip(nodes, nodes[layers:])
                                                      for v in p],
                     {"h0": (T.FLOAT, (1, n))}, {f"h{layers}": (T.FLOAT, (1, n))}, {"w": w})
        peak[layers] = ok_json("bench", path, tmp_path / "x.npy", "-n", 1, *flags,
                               "--json")["peak_rss_mb"]
    assert peak[8] < peak[1] + 30
    ok("run", path, tmp_path / "x.npy", "-o", tmp_path, *flags)
    want = x.astype(np.float64)
    for _ in range(8):
        want = np.maximum(want @ w.astype(np.float64), 0)
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), want,
                               rtol=1e-4 if backend == "cpu" else 0.05, atol=0.02)


def test_large_tables_in_fp16_are_tied_through_cast_and_transpose(tmp_path):
    rows, depth = 65600, 260  # more than 64 MiB of floats
    table = np.tile(np.minimum(TABLE, 1).astype(np.float16)[:, :depth], (66, 1))[:rows]
    nodes = [h.make_node("Cast", ["t"], ["f"], to=T.FLOAT),
             h.make_node("Gather", ["f", "ids"], ["row"]),
             h.make_node("Transpose", ["f"], ["w"], perm=[1, 0]),
             h.make_node("MatMul", ["row", "w"], ["y"])]
    n = model(tmp_path / "net.onnx", nodes, {"ids": (T.INT32, (1, 1))},
              {"y": (T.FLOAT, (1, 1, rows))}, {"t": table})
    ok("compile", n, "-o", tmp_path / "net.bin", "--backend", "htp", "--soc", "SM8650")
    assert (tmp_path / "net.bin").stat().st_size < 1.01 * table.nbytes
    np.save(tmp_path / "ids.npy", np.array([[65599]], np.int32))
    ok("run", tmp_path / "net.bin", tmp_path / "ids.npy", "-o", tmp_path, "--backend", "htp")
    want = table.astype(np.float64) @ table[65599].astype(np.float64)
    np.testing.assert_allclose(np.load(tmp_path / "output_0.npy")[0, 0], want, atol=0.01, rtol=2e-3)


def fp16_weights(last):
    """Numbers of fp16, its least and its largest among them, and one more."""
    w = RNG.normal(0, 0.1, (DEPTH, 256)).astype(np.float16).astype(np.float32)
    w[0, :8] = 2**-24, -(2**-24), 1023 * 2**-24, 2**-14, 65504, -65504, -0.0, 3 * 2**-24
    w[-1, -1] = last
    return w


@pytest.mark.parametrize("last, family", [
    (1 + 2**-10, "dense_f16"), (1 + 2**-11, "dense"), (65520, "dense"), (2**-25, "dense"),
    (2**-14 - 2**-25, "dense"), (np.inf, "dense"), (np.nan, "dense")])
def test_weights_of_f32_that_are_all_fp16_are_kept_as_fp16(last, family, tmp_path):
    w, x = fp16_weights(last), RNG.standard_normal((3, DEPTH)).astype(np.float32)
    n = model(tmp_path / "net.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
              {"x": (T.FLOAT, x.shape)}, {"y": (T.FLOAT, (3, 256))}, {"w": w})
    np.save(tmp_path / "x.npy", x)
    rows = ok_json("bench", n, tmp_path / "x.npy", "--backend", "cpu", "-n", 1, "--per-op",
                   "--json")["per_op"]["rows"]
    assert [s["family"] for r in rows for s in r["steps"]] == [family]
    ok("run", n, tmp_path / "x.npy", "-o", tmp_path, "--backend", "cpu")
    y, finite = np.load(tmp_path / "output_0.npy"), slice(0, 255 if family == "dense" else 256)
    want = x.astype(np.float64) @ w.astype(np.float64)
    bound = np.abs(x.astype(np.float64)) @ np.abs(w.astype(np.float64)) * (DEPTH + 1) * 2**-24
    assert (np.abs(y - want) <= bound)[:, finite].all()


BYTES = RNG.integers(-128, 128, (ROWS, DEPTH)).astype(np.int8)
SCALES = (RNG.random((ROWS, -(-DEPTH // 32))) * 0.01 + 0.001).astype(np.float16).astype(np.float32)


def quantized_net(path, weights):
    """row: rows of BYTES; y = x * weights, which are dequantized in blocks."""
    nodes = [h.make_node("Gather", ["t", "ids"], ["bytes"]),
             h.make_node("Cast", ["bytes"], ["row"], to=T.FLOAT),
             h.make_node("DequantizeLinear", ["t" if weights is BYTES else "w", "s"], ["f"],
                         axis=1, block_size=32),
             h.make_node("Transpose", ["f"], ["ft"], perm=[1, 0]),
             h.make_node("MatMul", ["x", "ft"], ["y"])]
    inputs = {"ids": (T.INT32, IDS.shape), "x": (T.FLOAT, (1, DEPTH))}
    outputs = {"row": (T.FLOAT, (*IDS.shape, DEPTH)), "y": (T.FLOAT, (1, ROWS))}
    constants = {"t": BYTES, "s": SCALES} | ({} if weights is BYTES else {"w": weights})
    return model(path, nodes, inputs, outputs, constants, opset=21)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("backend", ["cpu", "htp"])
def test_tables_of_bytes_are_tied_too(backend, other, tmp_path):
    weights = BYTES
    if other:
        weights = BYTES.copy()
        weights[ROWS - 1, DEPTH - 1] ^= 1
    n = quantized_net(tmp_path / "net.onnx", weights)
    x = RNG.standard_normal((1, DEPTH)).astype(np.float32)
    np.save(tmp_path / "ids.npy", IDS)
    np.save(tmp_path / "x.npy", x)
    files = [n]
    if backend == "htp":
        files.append(tmp_path / "net.bin")
        ok("compile", n, "-o", files[1], "--soc", "SM8650")
        once = -(-ROWS // 32) * 32 * -(-DEPTH // 32) * 32
        assert files[1].stat().st_size < (1.3 if not other else 2.2) * once
        assert files[1].stat().st_size > (1 if not other else 1.9) * once
    for f in files:
        ok("run", f, f"ids={tmp_path / 'ids.npy'}", f"x={tmp_path / 'x.npy'}", "-o", tmp_path,
           "--backend", backend, *(["--soc", "SM8650"] if backend == "htp" and f == n else []))
        row, y = (np.load(tmp_path / f"output_{i}.npy") for i in range(2))
        np.testing.assert_array_equal(row, BYTES[IDS])
        w = weights * np.repeat(SCALES.astype(np.float64), 32, 1)[:, :DEPTH]
        np.testing.assert_allclose(y, x @ w.T, atol=2e-2 if backend == "htp" else 1e-4, rtol=2e-3)


def test_an_index_outside_of_a_tied_table_is_an_error(tmp_path):
    np.save(tmp_path / "ids.npy", np.where(IDS == 33, ROWS, IDS))
    n = net(tmp_path / "net.onnx", tied())
    p = quern("run", n, tmp_path / "ids.npy", "-o", tmp_path, "--backend", "htp", "--soc", "SM8650")
    assert p.returncode != 0 and "Gather" in p.stderr, p.stderr
