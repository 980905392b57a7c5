# SPDX-License-Identifier: MIT
"""Calibration that stops, goes on and is divided among processes: the same encodings to the bit."""
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

from cli_quantize import encodings
from harness import BIN, INPUT, USAGE, model, ok, quern, refuses


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """A chain of large matmuls: a sample takes some milliseconds."""
    folder, rng = tmp_path_factory.mktemp("net"), np.random.default_rng(1)
    constants = {f"w{i}": rng.standard_normal((128, 128)).astype(np.float32) / 11 for i in range(4)}
    nodes = []
    for i in range(4):
        nodes += [h.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
                  h.make_node("Gelu" if i % 2 else "Relu", [f"m{i}"], [f"x{i + 1}"])]
    model(folder / "net.onnx", nodes, {"x0": (T.FLOAT, [16, 128])}, {"x4": (T.FLOAT, [16, 128])},
          constants, opset=20)
    np.save(folder / "x.npy", rng.standard_normal((40, 16, 128)).astype(np.float32))
    return folder


# Small matrices are rounded faster by one thread where the machine is busy.
ONE = {"QUERN_THREADS": "1"}
# Repairs that look at samples are not part of a state.
PLAIN = ["--repair", "none"]
METHODS = ["minmax", "percentile", "mse", "entropy"]


@pytest.mark.parametrize("method", METHODS)
def test_states_of_parts_add_up_to_the_whole(net, tmp_path, method):
    common = [net / "net.onnx", "-q", "-m", method, "-c", net / "x.npy", *PLAIN]
    ok("quantize", *common, "-o", tmp_path / "whole.onnx", "--no-check")
    for i, (skip, n) in enumerate(((0, 7), (7, 20), (27, 13))):
        ok("quantize", *common, "--calibrate-only", tmp_path / f"{i}", "--skip", skip, "-n", n)
    merge = [w for i in (2, 0, 1) for w in ("--merge", tmp_path / f"{i}")]
    ok("quantize", net / "net.onnx", "-q", "-m", method, *PLAIN, *merge,
       "-o", tmp_path / "parts.onnx", "--no-check")
    assert (tmp_path / "parts.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    # States are merged to states, too.
    ok("quantize", net / "net.onnx", "-q", "-m", method, *PLAIN, *merge, "--calibrate-only",
       tmp_path / "all")
    ok("quantize", net / "net.onnx", "-q", "-m", method, *PLAIN, "--merge", tmp_path / "all",
       "-o", tmp_path / "again.onnx", "--no-check")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


def killed(command, state):
    """Runs a program until its state is written, and kills it; None: it ended before."""
    process = subprocess.Popen([BIN, *map(str, command)], stderr=subprocess.DEVNULL)
    while not state.exists() and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    return process.wait() if state.exists() else None


def test_a_killed_calibration_goes_on(net, tmp_path):
    flags = ["-m", "percentile", *PLAIN]
    out, state, n = tmp_path / "q.onnx", tmp_path / "q.onnx.calibration", 500
    command = lambda: ["quantize", net / "net.onnx", "-o", out, "-r", "-n", n, "--no-check", *flags]
    while (ended := killed(command(), state)) is None:
        out.unlink()
        n *= 2  # a fast machine: the first state is written after a second
    assert ended == -9 and not out.exists()
    done = quern(*command(), "--resume")
    assert done.returncode == 0 and f"of {n} samples were done before" in done.stderr
    first = out.read_bytes()
    assert not state.exists()
    ok(*command())
    assert out.read_bytes() == first


@pytest.mark.parametrize("flags", [["-m", "mse", *PLAIN],
                                   ["-s", "a16w4", *PLAIN]])
def test_what_was_done_before_a_bad_sample_is_kept(net, tmp_path, flags):
    out, state, x = tmp_path / "q.onnx", tmp_path / "q.onnx.calibration", np.load(net / "x.npy")
    (tmp_path / "data").mkdir()
    for i in range(9):
        x[i].tofile(tmp_path / "data" / f"{i}.raw")
    command = ["quantize", net / "net.onnx", "-o", out, "-c", tmp_path / "data", "--no-check",
               *flags]
    ok(*command, env=ONE)
    expected = out.read_bytes()
    out.unlink()
    (tmp_path / "data" / "5.raw").write_bytes(b"short")
    refuses(INPUT, *command, says="5.raw", env=ONE)
    assert state.exists() and not out.exists()
    x[5].tofile(tmp_path / "data" / "5.raw")
    (tmp_path / "data" / "2.raw").write_bytes(b"not read again")
    done = quern(*command, "--resume", env=ONE)
    assert done.returncode == 0 and "5 of 9 samples were done before" in done.stderr
    assert out.read_bytes() == expected and not state.exists()
    refuses(INPUT, *command, "-n", 4, says="2.raw")
    refuses(INPUT, *command, "-n", 5, "--resume", says="was of 4 samples from 0 on")


def divergence(x, scale, zero):
    """Kullback and Leibler, of x and its quantized values spread over the width of a step."""
    q = np.clip(np.rint(x / scale) + zero, 0, 255)
    spread = (q - zero + np.random.default_rng(0).random(x.shape) - 0.5) * scale
    edges = np.linspace(x.min(), x.max(), 1500)
    p, r = np.histogram(x, edges)[0] + 1e-3, np.histogram(spread, edges)[0] + 1e-3
    return float((p / p.sum() * np.log(p / p.sum() * r.sum() / r)).sum())


def test_each_method_is_best_at_what_it_promises(tmp_path):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.laplace(size=(50, 4096)), rng.laplace(size=(50, 4096)) * 3], 1)
    x = x.astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    net = model(tmp_path / "net.onnx", [h.make_node("Mul", ["x", "two"], ["y"])],
                {"x": (T.FLOAT, [1, 8192])}, {"y": (T.FLOAT, [1, 8192])}, {"two": np.float32([2])})
    error, apart, reach = {}, {}, {}
    for method in ("minmax", "mse", "sqnr", "entropy"):
        ok("quantize", net, "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy", "-m", method, "-q",
           "--no-check")
        _, scale, zero = encodings(tmp_path / "q.onnx")["x"]
        q = np.clip(np.rint(x / scale) + zero, 0, 255)
        error[method] = float((((q - zero) * scale - x) ** 2).mean())
        apart[method], reach[method] = divergence(x, scale, zero), 255 * scale
    assert error["mse"] < 0.8 * error["minmax"]
    assert error["mse"] <= error["sqnr"] < error["minmax"]  # clipped values count three times
    assert reach["mse"] < reach["sqnr"] < reach["minmax"]
    assert apart["entropy"] < apart["minmax"]


@pytest.mark.parametrize("flags", [["--symmetric"], []])
def test_symmetric_ranges_have_0_in_the_middle(net, tmp_path, flags):
    ok("quantize", net / "net.onnx", "-q", "-c", net / "x.npy", "-o", tmp_path / "q.onnx", *PLAIN,
       *flags)
    found, x = encodings(tmp_path / "q.onnx"), np.load(net / "x.npy")
    assert found["x0"][2] == 128 or not flags
    assert (found["x1"][2] == 128) == bool(flags)  # behind a Relu
    most = np.abs(x).max() / 127 if flags else (x.max() - x.min()) / 255
    assert found["x0"][1] == pytest.approx(most, rel=1e-6)


def test_weights_may_have_one_scale(net, tmp_path):
    ok("quantize", net / "net.onnx", "-q", "-c", net / "x.npy", "-o", tmp_path / "q.onnx",
       "--per-tensor", *PLAIN)
    m = onnx.load(tmp_path / "q.onnx")
    constants = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
    before = onnx.load(net / "net.onnx").graph.initializer
    original = {t.name: numpy_helper.to_array(t) for t in before}
    scales = [constants[n.input[1]] for n in m.graph.node
              if n.op_type == "DequantizeLinear" and n.input[0] in constants]
    expected = [np.abs(original[f"w{i}"]).max() / 127 for i in range(4)]
    assert len(scales) == 4 and all(s.ndim == 0 for s in scales)
    np.testing.assert_allclose(np.array(scales), expected, rtol=1e-6)


def test_fewer_samples_than_asked_are_a_warning(net, tmp_path):
    done = quern("quantize", net / "net.onnx", "-c", net / "x.npy", "-n", 50, "--skip", 30,
                 "--calibrate-only", tmp_path / "state")
    assert done.returncode == 0
    assert "--samples 50: there are 10 behind those that are skipped" in done.stderr


def test_constant_inputs_are_a_warning(net, tmp_path):
    np.save(tmp_path / "x.npy", np.full((16, 128), 0.5, np.float32))
    done = quern("quantize", net / "net.onnx", "-c", tmp_path / "x.npy", "-o", tmp_path / "q.onnx",
                 "--no-check")
    assert done.returncode == 0 and "input 'x0' is 0.5 in all samples" in done.stderr


def test_a_folder_of_arrays_is_read_one_by_one(net, tmp_path):
    x = np.load(net / "x.npy")
    (tmp_path / "data").mkdir()
    for i in range(40):
        np.save(tmp_path / "data" / f"{i:02}.npy", x[i])
    ok("quantize", net / "net.onnx", "-q", "-c", tmp_path / "data", "-o", tmp_path / "a.onnx",
       "--no-check")
    ok("quantize", net / "net.onnx", "-q", "-c", net / "x.npy", "-o", tmp_path / "b.onnx",
       "--no-check")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_states_that_do_not_fit_are_refused(net, tmp_path):
    state, out = tmp_path / "state", tmp_path / "q.onnx"
    ok("quantize", net / "net.onnx", "-q", "-c", net / "x.npy", "-n", 3, "--calibrate-only", state)
    use = lambda *more, **kw: refuses(INPUT, "quantize", net / "net.onnx", "-o", out, "--merge",
                                      state, *more, **kw)
    use("-m", "mse", says="has no histograms")
    use("-s", "a16w4", says="has no sums of products")
    other = onnx.load(net / "net.onnx")
    other.graph.node[0].input[1] = "w2"
    onnx.save(other, tmp_path / "other.onnx")
    w = other.graph.initializer[0]
    w.raw_data = w.raw_data[4:8] + w.raw_data[4:]
    onnx.save(other, tmp_path / "other.onnx")
    refuses(INPUT, "quantize", tmp_path / "other.onnx", "-o", out, "--merge", state,
            says="of another model")
    refuses(INPUT, "quantize", net / "net.onnx", "-o", out, "-c", net / "x.npy", "--skip", 40,
            says="there are 40 samples")
    good = state.read_bytes()
    for cut in (b"", good[:7], good[:100], good[:-8], good + b"x"):
        state.write_bytes(cut)
        use(says="not a state of calibration" if len(cut) < 8 else "state")
    rng = np.random.default_rng(3)
    for _ in range(20):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        state.write_bytes(bad)
        use(says="state")
    state.unlink()
    use(says="state")
    assert not out.exists()


def test_options_that_exclude_each_other(net, tmp_path):
    refuses(USAGE, "quantize", net / "net.onnx", "-r", "-o", tmp_path / "q.onnx",
            "--calibrate-only", tmp_path / "state", says="exclude each other")
    refuses(USAGE, "quantize", net / "net.onnx", net / "net.onnx", "-r", "--calibrate-only",
            tmp_path / "state", says="one model")
