# SPDX-License-Identifier: MIT
"""--dim and --shape: models with dynamic shapes, in every command that reads one."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h
from onnx.reference import ReferenceEvaluator

from harness import INPUT, REFUSED, USAGE, model, ok, ok_json, quern, refuses

SIZES = (2, 3, 6, 5)


def conv(path, shape):
    weights = np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype(np.float32)
    return model(path, [h.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                        h.make_node("Relu", ["c"], ["y"])],
                 {"x": (T.FLOAT, shape)}, {"y": (T.FLOAT, None)},
                 {"w": weights})


NETS = {"unnamed": ((None, 3, None, None), "--shape x=N,3,N,N",
                    (["--shape", "x=2,3,6,5"], ["--shape", "x=2x3x6x5"],
                     ["--dim", "x.0=2", "--dim", "x.2=6", "--dim", "x.3=5"])),
        "named": (("n", 3, "h", "w"), "--dim n=SIZE --dim h=SIZE --dim w=SIZE",
                  (["--shape", "x=2,3,6,5"], ["--dim", "n=2", "--shape", "x=2,3,6,5"],
                   ["--dim", "n=2", "--dim", "h=6", "--dim", "x.3=5"])),
        "one_name": (("?", 3, "?", "?"), "--dim ?=SIZE", (["--shape", "x=2,3,6,5"],)),
        "no_shape": (None, "--shape x=N,N,...", (["--shape", "x=2,3,6,5"],))}


@pytest.mark.parametrize("kind", NETS)
def test_shapes_settle_what_a_model_leaves_open(tmp_path, kind):
    shape, hint, settings = NETS[kind]
    net = conv(tmp_path / "net.onnx", shape)
    x = np.random.default_rng(1).standard_normal(SIZES).astype(np.float32)
    x.tofile(tmp_path / "x.raw")
    want, = ReferenceEvaluator(onnx.load(net)).run(None, {"x": x})
    for flags in settings:
        ok("run", net, tmp_path / "x.raw", *flags, "-o", tmp_path)
        np.testing.assert_allclose(np.load(tmp_path / "output_0.npy"), want, rtol=1e-4, atol=1e-5)
    refuses(INPUT, "run", net, "--random", says=["input 'x'", hint])
    refuses(REFUSED, "estimate", net, says=["input 'x'", hint])
    refuses(REFUSED, "compile", net, "-o", tmp_path / "n.bin", "--soc", "SM8650", says=hint)


def test_a_whole_shape_counts_for_more_than_a_name(tmp_path):
    """Real exporters give dimensions of two sizes in two inputs one name."""
    net = model(tmp_path / "net.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, ["n", "m"]), "w": (T.FLOAT, ["n", "m"])}, {"y": (T.FLOAT, None)})
    shapes = ["--shape", "x=2,3", "--shape", "w=3,5"]
    ok("run", net, "--random", *shapes, "-o", tmp_path)
    assert np.load(tmp_path / "output_0.npy").shape == (2, 5)
    refuses(USAGE, "run", net, "--random", *shapes, "--shape", "x=3,3",
            says="--shape 'x=3,3': given twice, before as 'x=2,3'")


def test_every_command_has_the_flag(tmp_path):
    net, flags = conv(tmp_path / "net.onnx", (None, 3, None, None)), ["--shape", "x=2,3,6,5"]
    assert ok_json("check", net, *flags, "--json")["accepted"] == 2
    assert ok_json("bench", net, *flags, "-n", "1", "--json")
    assert ok_json("estimate", net, *flags, "--json")["ms"] > 0
    assert "f32[2,6,5,4]" in ok("show", "--compiled", net, *flags).stdout
    assert ok_json("show", net, *flags, "--json")["macs"] == 2 * 6 * 5 * 4 * 27
    ok("compile", net, *flags, "-o", tmp_path / "n.bin", "--soc", "SM8650")
    shown = ok_json("show", tmp_path / "n.bin", "--json")
    assert shown["graphs"][0]["inputs"][0]["shape"] == list(SIZES)
    ok("quantize", net, *flags, "--random", "-o", tmp_path / "q.onnx", "-q")
    dims = onnx.load(tmp_path / "q.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_value for d in dims] == list(SIZES)


@pytest.mark.parametrize("flag, says", [
    (["--shape", "x=2,4,6,5"], "dimension 1 of input 'x' is 3, found 4"),
    (["--shape", "x=2,3,6"], "has 4 dimensions, found 3"),
    (["--shape", "y=2,3,6,5"], "did you mean 'x'"),
    (["--shape", "w=4,3,3,3"], "no input has that name"),
    (["--shape", "x"], "expected INPUT=N,N"), (["--shape", "x="], "expected INPUT=N,N"),
    (["--shape", "x=2,,6,5"], "expected INPUT=N,N"), (["--shape", "x=2,3,6,5,"], "INPUT=N,N"),
    (["--shape", "x=0,3,6,5"], "at least 1"), (["--shape", "x=-2,3,6,5"], "at least 1"),
    (["--shape", "x=99999999999,3,6,5"], "at least 1"),
    (["--shape", "x=" + "2," * 40 + "2"], "N,N"),
    (["--dim", "x.1=4"], "dimension 1 of input 'x' is 3, found 4"),
    (["--dim", "x.9=4"], "input 'x' has 4 dimensions"),
    (["--dim", "x.=4"], "use x.0=SIZE, x.2=SIZE"),
    (["--dim", "x.18446744073709551617=4"], "input 'x' has 4 dimensions")])
def test_what_does_not_fit_is_named(tmp_path, flag, says):
    net = conv(tmp_path / "net.onnx", (None, 3, None, None))
    refuses(USAGE, "run", net, "--random", *flag, says=says)


def test_check_says_first_that_a_model_is_dynamic(tmp_path):
    net = model(tmp_path / "two.onnx", [h.make_node("Add", ["a", "b"], ["y"])],
                {"a": (T.FLOAT, ["n", "s"]), "b": (T.FLOAT, ["n", 1])}, {"y": (T.FLOAT, None)})
    p = quern("check", net)
    assert p.returncode == REFUSED and len(p.stderr.splitlines()) == 1
    assert "inputs 'a' [n,s], 'b' [n,1] have dynamic shapes" in p.stderr
    assert "--dim n=SIZE --dim s=SIZE" in p.stderr
    assert quern("check", net, "--dim", "n=2", "--dim", "s=3").stderr == ""


def test_six_dimensions_fit_the_npu_without_declared_shapes(tmp_path):
    net = model(tmp_path / "blocks.onnx",
                [h.make_node("Relu", ["x"], ["r"]), h.make_node("Reshape", ["r", "six"], ["a"]),
                 h.make_node("Transpose", ["a"], ["b"], perm=[0, 1, 3, 5, 2, 4]),
                 h.make_node("Reshape", ["b", "four"], ["y"])],
                {"x": (T.FLOAT, [1, 4, 6, 4])}, {"y": (T.FLOAT, None)},
                {"six": np.array([1, 4, 3, 2, 2, 2]), "four": np.array([1, 16, 3, -1])})
    assert ok_json("check", net, "--soc", "SM8650", "--json")["accepted"] == 4
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 4)).astype(np.float16).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", net, tmp_path / "x.npy", "--soc", "SM8650", "-o", tmp_path)
    want, = ReferenceEvaluator(onnx.load(net)).run(None, {"x": x})
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), want)
