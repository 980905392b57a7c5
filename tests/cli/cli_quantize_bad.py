# SPDX-License-Identifier: MIT
"""What quern quantize does with bad input: one line that says what is wrong, and no file that is
half written."""
import resource
import signal
import subprocess

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import BIN, FAILURE, INPUT, REFUSED, USAGE, model, ok, quern, refuses

SHAPE = (1, 4, 6, 6)
F = np.float32


def net(path, shape=SHAPE, op="Relu", opset=17, domain=""):
    rng = np.random.default_rng(2)
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], name="conv"),
             h.make_node(op, ["c"], ["y"], name="last", domain=domain)]
    return model(path, nodes, {"x": (T.FLOAT, shape)}, {"y": (T.FLOAT, None)},
                 {"w": rng.normal(size=(8, 4, 1, 1)).astype(F)}, opset)


def samples(path, array):
    np.savez(path, **array)
    return path


def good(n=4):
    return {"x": np.random.default_rng(7).normal(size=(n, *SHAPE)).astype(F)}


def nan():
    data = good()["x"]
    data[1, 0, 2] = np.nan
    return {"x": data}


def infinite():
    data = good()["x"]
    data[2] = np.inf
    return {"x": data}


DATA = [
    ("no samples", {"x": np.zeros((0, *SHAPE), F)}, INPUT, "'x'"),
    ("shape", {"x": np.zeros((2, 1, 5, 6, 6), F)}, INPUT, "[1, 4, 6, 6]"),
    ("type", {"x": np.zeros((2, *SHAPE), np.int32)}, INPUT, "float32"),
    ("text", {"x": np.array(["a", "b"])}, INPUT, "x"),
    ("no such input", {"z": np.zeros((2, *SHAPE), F)}, INPUT, "x"),
    ("NaN", nan(), INPUT, "NaN"),
    ("infinite", infinite(), INPUT, "inf"),
]


@pytest.mark.parametrize("what, array, code, says", DATA, ids=[d[0] for d in DATA])
def test_samples(tmp_path, what, array, code, says):
    out = tmp_path / "q.onnx"
    refuses(code, "quantize", net(tmp_path / "net.onnx"), "-o", out, "-c",
            samples(tmp_path / "d.npz", array), says=says)
    assert not out.exists()


@pytest.mark.parametrize("what, array, flags, says", [
    ("constant", {"x": np.full((3, *SHAPE), 2, F)}, (), "in all samples"),
    ("fewer than asked", good(3), ("--samples", "9"), "3"),
])
def test_samples_that_are_a_warning(tmp_path, what, array, flags, says):
    p = ok("quantize", net(tmp_path / "net.onnx"), "-o", tmp_path / "q.onnx", "-c",
           samples(tmp_path / "d.npz", array), *flags)
    (line,) = [x for x in p.stderr.splitlines() if "warning" in x]
    assert says in line and (tmp_path / "q.onnx").exists()


def quantized(path):
    source = net(path.with_name("float.onnx"))
    ok("quantize", source, "-o", path, "-c", samples(path.with_suffix(".npz"), good()))
    return path


MODELS = [
    ("dynamic shapes", lambda p: net(p, (1, 4, "h", "w")), "--dim"),
    ("quantized already", quantized, "quantized already"),
    ("an op of nobody", lambda p: net(p, op="Frobnicate", domain="com.example"), "Frobnicate"),
    ("an old opset", lambda p: net(p, opset=9), "opset 9"),
]


@pytest.mark.parametrize("what, make, says", MODELS, ids=[m[0] for m in MODELS])
def test_models(tmp_path, what, make, says):
    out = tmp_path / "q.onnx"
    p = quern("quantize", make(tmp_path / "net.onnx"), "-o", out, "-c",
              samples(tmp_path / "d.npz", good()))
    assert p.returncode == REFUSED and len(p.stderr.splitlines()) == 1, p.stderr
    assert says in p.stderr and not out.exists()


def test_encodings_of_other_tensors(tmp_path):
    path = tmp_path / "e.json"
    path.write_text('{"version": "1.0.0", "activation_encodings": [{"name": "nobody", "bw": 8, '
                    '"is_sym": false, "dtype": "INT", "enc_type": "PER_TENSOR", "scale": [0.1], '
                    '"offset": [-3]}], "param_encodings": []}')
    out = tmp_path / "q.onnx"
    refuses(REFUSED, "quantize", net(tmp_path / "net.onnx"), "-o", out, "--encodings", path,
            says="e.json")
    assert not out.exists()


@pytest.mark.parametrize("name", ["q.onnx", "q.dlc"])
def test_a_full_disk(tmp_path, name):
    """/dev/full takes no byte. What was there before stays."""
    data = samples(tmp_path / "d.npz", good())
    (tmp_path / "full").symlink_to("/dev/full")
    refuses(FAILURE, "quantize", net(tmp_path / "net.onnx"), "-o", tmp_path / "full", "-c", data,
            says="full")
    folder = tmp_path / "no" / name
    refuses(FAILURE, "quantize", tmp_path / "net.onnx", "-o", folder, "-c", data, says=str(folder))


@pytest.mark.parametrize("name", ["q.onnx", "q.dlc"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_disk_that_fills_up(tmp_path, name, old):
    """Files end at 200 bytes here: the write of the model fails in its middle."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    data = samples(tmp_path / "d.npz", good())
    out, source = tmp_path / name, net(tmp_path / "net.onnx")
    if old:
        out.write_bytes(old)
    before = sorted(tmp_path.iterdir())
    p = subprocess.run([BIN, "quantize", source, "-o", out, "-s", "w8"], capture_output=True,
                       text=True, preexec_fn=limit)
    assert p.returncode == FAILURE and len(p.stderr.splitlines()) == 1, p.stderr
    assert "q." in p.stderr and sorted(tmp_path.iterdir()) == before
    assert not old or out.read_bytes() == old


def test_kill_in_the_middle(tmp_path):
    """The old file stays whole, and --resume ends with the model of an undisturbed run."""
    data = samples(tmp_path / "d.npz", good(400))
    command = [BIN, "quantize", net(tmp_path / "net.onnx"), "-c", data, "--repair", "none", "-o"]
    subprocess.run([*command, tmp_path / "whole.onnx"], check=True, capture_output=True)
    out = tmp_path / "q.onnx"
    out.write_bytes(b"old")
    p = subprocess.Popen([*command, out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.send_signal(signal.SIGKILL)
    p.wait()
    assert out.read_bytes() in (b"old", (tmp_path / "whole.onnx").read_bytes())
    left = set(tmp_path.glob("q.onnx.*.part"))  # a kill while it writes leaves its own
    assert len(left) <= 1
    subprocess.run([*command, out, "--resume"], check=True, capture_output=True)
    assert out.read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    assert set(tmp_path.glob("q.onnx.*")) == left
