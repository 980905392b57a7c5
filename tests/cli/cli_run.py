# SPDX-License-Identifier: MIT
"""quern run: inputs from everywhere, outputs to everywhere, and the comparison."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h

from harness import INPUT, REFUSED, USAGE, add_relu, identity, model, ok, ok_json, refuses

X = np.array([[1, 2, 3], [4, -50, 60]], np.float32)
Y = np.array([[11, 22, 0], [14, 0, 30]], np.float32)  # relu(X + [10, 20, -30])


@pytest.fixture
def net(tmp_path):
    return add_relu(tmp_path / "net.onnx")


def test_numbered_files_of_a_folder_become_numbered_outputs(tmp_path, net):
    np.save(tmp_path / "input_0.npy", X)
    p = ok("run", net, "--inputs", tmp_path, "--outputs", tmp_path / "deep" / "out")
    assert p.stdout == "" and p.stderr == ""
    got = np.load(tmp_path / "deep" / "out" / "output_0.npy")
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, Y)


def test_inputs_that_have_initializers_are_not_counted(tmp_path):
    m = onnx.load(add_relu(tmp_path / "m.onnx"))
    m.graph.input.insert(0, h.make_tensor_value_info("b", T.FLOAT, [3]))
    onnx.save(m, tmp_path / "m.onnx")
    np.save(tmp_path / "input_0.npy", X)
    ok("run", tmp_path / "m.onnx", "-i", tmp_path, "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)


@pytest.mark.parametrize("name", ["x.npy", "x.raw"])
def test_files_of_a_folder_may_bear_the_inputs_name(tmp_path, net, name):
    if name.endswith("npy"):
        np.save(tmp_path / name, X)
    else:
        X.tofile(tmp_path / name)
    ok("run", net, "-i", tmp_path, "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)


def test_files_bind_in_order_and_by_name(tmp_path):
    net = model(tmp_path / "sub.onnx", [h.make_node("Sub", ["a", "b"], ["y"])],
                {"a": (T.FLOAT, [3]), "b": (T.FLOAT, [3])}, {"y": (T.FLOAT, [3])})
    np.save(tmp_path / "p.npy", np.array([5, 6, 7], np.float32))
    np.save(tmp_path / "q.npy", np.array([1, 1, 1], np.float32))
    p, q = tmp_path / "p.npy", tmp_path / "q.npy"
    for args, want in (((p, q), [4, 5, 6]), ((f"b={p}", q), [-4, -5, -6]),
                       ((f"b={p}", f"a={q}"), [-4, -5, -6])):
        ok("run", net, *args, "-o", tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), np.float32(want))
    refuses(INPUT, "run", net, p, q, p, says="too many files; the model has 2 inputs")
    refuses(INPUT, "run", net, f"c={p}", q, says="no input 'c'")
    refuses(INPUT, "run", net, f"a={p}", f"a={q}", says="'a' is given twice")
    refuses(INPUT, "run", net, p, says=["input 'b' is missing", "--random"])


def test_npz_binds_by_name_or_number(tmp_path):
    net = model(tmp_path / "sub.onnx", [h.make_node("Sub", ["a", "b"], ["y"])],
                {"a": (T.FLOAT, [3]), "b": (T.FLOAT, [3])}, {"y": (T.FLOAT, [3])})
    a, b = np.array([5, 6, 7], np.float32), np.array([1, 2, 3], np.float32)
    np.savez(tmp_path / "named.npz", b=b, a=a)
    np.savez_compressed(tmp_path / "packed.npz", b=b, a=a)
    np.savez(tmp_path / "numbered.npz", a, b)
    for name in ("named", "packed", "numbered"):
        ok("run", net, tmp_path / f"{name}.npz", "-o", tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), a - b)


@pytest.mark.parametrize("dtype,onnx_type", [
    (np.float32, T.FLOAT), (np.int32, T.INT32), (np.int64, T.INT64), (np.bool_, T.BOOL),
    (np.float16, T.FLOAT16), (np.uint8, T.UINT8), (np.int8, T.INT8)])
@pytest.mark.parametrize("kind", ["npy", "raw", "fortran", "big"])
def test_elements_of_every_type_arrive_and_leave_unchanged(tmp_path, dtype, onnx_type, kind):
    net = identity(tmp_path / "id.onnx", onnx_type, [2, 3, 2])
    x = (np.arange(12).reshape(2, 3, 2) * 9 - 40).astype(dtype)
    if kind == "raw":
        x.tofile(tmp_path / "input_0.raw")
    elif kind == "fortran":
        np.save(tmp_path / "input_0.npy", np.asfortranarray(x))
    elif kind == "big":
        np.save(tmp_path / "input_0.npy", x.astype(x.dtype.newbyteorder(">")))
    else:
        np.save(tmp_path / "input_0.npy", x)
    ok("run", net, "-i", tmp_path, "-o", tmp_path)
    got = np.load(tmp_path / "output_0.npy")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, x)
    ok("run", net, "-i", tmp_path, "-o", tmp_path, "--format", "raw")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "output_0.raw", dtype), x.ravel())


def test_dynamic_dimensions_follow_the_files_or_the_flag(tmp_path):
    net = add_relu(tmp_path / "net.onnx", ("batch", 3))
    np.save(tmp_path / "x.npy", X)
    ok("run", net, tmp_path / "x.npy", "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)
    X.tofile(tmp_path / "x.raw")
    ok("run", net, tmp_path / "x.raw", "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)
    got = ok_json("run", net, "--random", "--dim", "batch=4", "--json")
    assert got["results"][0]["outputs"][0]["shape"] == [4, 3]
    refuses(INPUT, "run", net, "--random",
            says=["input 'x' [batch,3] has a dynamic shape", "--dim batch=SIZE"])
    refuses(INPUT, "run", net, tmp_path / "x.npy", "--dim", "batch=3",
            says="expects [3, 3]")
    refuses(USAGE, "run", net, "--random", "--dim", "batch=0", says="NAME=SIZE")
    refuses(USAGE, "run", net, "--random", "--dim", "bach=4", says="did you mean 'batch'")
    refuses(USAGE, "run", net, "--random", "--dim", "Q=4", says="expected batch")


def test_random_inputs_are_seeded(tmp_path, net):
    def run(*args):
        ok("run", net, "--random", *args, "-o", tmp_path)
        return np.load(tmp_path / "output_0.npy")
    np.testing.assert_array_equal(run(), run("--seed", "0"))
    assert (run("--seed", "1") != run("--seed", "2")).any()


def test_wrong_types_and_shapes_name_file_and_input(tmp_path, net):
    f = tmp_path / "x.npy"
    np.save(f, X.astype(np.float64))
    refuses(INPUT, "run", net, f, says=["x.npy: float64, input 'x' expects float32", "--cast"])
    ok("run", net, f, "--cast", "-o", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), Y)
    np.save(f, X.T)
    refuses(INPUT, "run", net, f, says="shape [3, 2], input 'x' expects [2, 3]")
    np.save(f, X[0])
    refuses(INPUT, "run", net, f, says="shape [3], input 'x' expects [2, 3]")
    X[0].tofile(tmp_path / "x.raw")
    refuses(INPUT, "run", net, tmp_path / "x.raw", says="12 bytes, input 'x' expects 24")
    refuses(INPUT, "run", net, tmp_path / "none.npy", says="none.npy")
    refuses(INPUT, "run", net, "--inputs", tmp_path / "empty", says=["input_0.npy", "'x'"])


def test_input_lists(tmp_path):
    net = model(tmp_path / "two.onnx", [h.make_node("Sub", ["a:0", "b"], ["out/y"]),
                                        h.make_node("Add", ["a:0", "b"], ["z"])],
                {"a:0": (T.FLOAT, [2]), "b": (T.FLOAT, [2])},
                {"out/y": (T.FLOAT, [2]), "z": (T.FLOAT, [2])})
    files = [tmp_path / f"f#{i}.raw" for i in range(2)]
    values = [np.array([5, 6], np.float32), np.array([1, 3], np.float32)]
    for f, v in zip(files, values):
        v.tofile(f)
    lines = [f"a:0:={files[0]} b:={files[1]}", f"b:={files[0]}\ta_0:={files[1]}", "",
             f"{files[0]} {files[0]}\r"]
    (tmp_path / "list.txt").write_text("\n".join(lines))
    out = tmp_path / "out"
    ok("run", net, "--input-list", tmp_path / "list.txt", "--output-dir", out)
    a, b = values
    for i, (y, z) in enumerate([(a - b, a + b), (b - a, a + b), (a - a, a + a)]):
        np.testing.assert_array_equal(np.fromfile(out / f"Result_{i}" / "out_y.raw", "f4"), y)
        np.testing.assert_array_equal(np.fromfile(out / f"Result_{i}" / "z.raw", "f4"), z)
    assert sorted(p.name for p in out.iterdir()) == ["Result_0", "Result_1", "Result_2"]


def test_input_lists_select_outputs(tmp_path):
    net = model(tmp_path / "two.onnx", [h.make_node("Relu", ["x"], ["y"]),
                                        h.make_node("Neg", ["x"], ["z"])],
                {"x": (T.FLOAT, [3])}, {"y": (T.FLOAT, [3]), "z": (T.FLOAT, [3])})
    X[0].tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"#layer1 layer2\n%z\n{tmp_path}/x.raw\n")
    ok("run", net, "--input-list", tmp_path / "list.txt", "--output-dir", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out" / "Result_0").iterdir()] == ["z.raw"]
    (tmp_path / "list.txt").write_text(f"%nothing\n{tmp_path}/x.raw\n")
    refuses(INPUT, "run", net, "--input-list", tmp_path / "list.txt", "--output-dir", tmp_path,
            says="no output 'nothing'")


@pytest.mark.parametrize("text,says", [
    ("", "no line with inputs"), ("#only\n\n", "no line with inputs"),
    ("nope:=x.raw\n", "list.txt:1: the model has no input 'nope'"),
    ("x:=\n", "no path behind 'x:='"), ("a.raw b.raw\n", "too many files"),
    ("x:=a.raw x:=b.raw\n", "given twice"), ("gone.raw\n", "gone.raw"),
    ("a\0b\n", "not a text file"), ("\xff\xfe" * 200 + "\n", "quern: error"),
    ("x:=" + "y" * 9000 + "\n", "quern: error")])
def test_bad_input_lists_are_refused(tmp_path, net, text, says):
    (tmp_path / "list.txt").write_bytes(text.encode("latin-1"))
    refuses(INPUT, "run", net, "--input-list", tmp_path / "list.txt", "--output-dir", tmp_path,
            says=says)
    assert not (tmp_path / "Result_0").exists()


def test_runs_of_a_list_may_differ_in_shape(tmp_path):
    net = add_relu(tmp_path / "net.onnx", ("n", 3))
    np.save(tmp_path / "two.npy", X)
    np.save(tmp_path / "one.npy", X[:1])
    (tmp_path / "list.txt").write_text(f"{tmp_path}/two.npy\n{tmp_path}/one.npy\n")
    ok("run", net, "--input-list", tmp_path / "list.txt", "--output-dir", tmp_path)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "Result_0" / "y.raw", "f4"), Y.ravel())
    np.testing.assert_array_equal(np.fromfile(tmp_path / "Result_1" / "y.raw", "f4"), Y[0])


def test_the_summary_shows_range_and_top_scores(tmp_path):
    net = add_relu(tmp_path / "net.onnx", (1, 3), (0, 0, 0))
    np.save(tmp_path / "x.npy", np.array([[0.25, 3, 1]], np.float32))
    (tmp_path / "names").write_text("cat\ndog\nowl\n")
    p = ok("run", net, tmp_path / "x.npy", "--labels", tmp_path / "names", "--top", "2")
    assert p.stdout.split() == ("y float32 [1, 3] min 0.25 max 3 mean 1.41667 "
                                "1 3 dog 2 1 owl").split()
    got = ok_json("run", net, tmp_path / "x.npy", "--labels", tmp_path / "names", "--json")
    out = got["results"][0]["outputs"][0]
    assert [(t["index"], t["label"]) for t in out["top"][0]] == [(1, "dog"), (2, "owl"), (0, "cat")]
    assert got["finalize_ms"] >= 0 and got["results"][0]["inference_ms"] >= 0


def test_numbers_that_are_not_finite_are_counted(tmp_path):
    net = identity(tmp_path / "id.onnx", T.FLOAT, [4])
    np.save(tmp_path / "x.npy", np.array([np.nan, np.inf, 2, -2], np.float32))
    out = ok_json("run", net, tmp_path / "x.npy", "--json")["results"][0]["outputs"][0]
    assert (out["nan"], out["infinite"], out["min"], out["max"], out["mean"]) == (1, 1, -2, 2, 0)


def test_a_comparison_gives_sqnr_cosine_and_largest_error(tmp_path):
    a = add_relu(tmp_path / "a.onnx", (1, 3), (0, 0, 0))
    b = add_relu(tmp_path / "b.onnx", (1, 3), (0.5, 0, 0.25))
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3]], np.float32))
    got = ok_json("run", a, tmp_path / "x.npy", "--against", b, "--per-layer", "--json")
    y, want = np.array([1, 2, 3.]), np.array([1.5, 2, 3.25])
    row = got["comparison"][0]
    assert row["name"] == "y" and not row["equal"]
    assert row["sqnr_db"] == pytest.approx(10 * np.log10((want**2).sum() / ((y - want)**2).sum()))
    assert row["cosine"] == pytest.approx(
        (y @ want) / np.linalg.norm(y) / np.linalg.norm(want), abs=1e-7)
    assert row["max_error"] == pytest.approx(0.5)
    assert {r["name"] for r in got["layers"]} == {"s", "y"}
    same = ok_json("run", a, tmp_path / "x.npy", "--reference", "--json")["comparison"][0]
    assert same["equal"] and same["max_error"] == 0
    text = ok("run", a, tmp_path / "x.npy", "--against", b).stdout
    assert "SQNR dB" in text and f"{row['sqnr_db']:.1f}" in text


def test_contradicting_flags_are_refused(tmp_path, net):
    refuses(USAGE, "run", net, "-o", tmp_path, "--output-dir", tmp_path, says="exclude")
    refuses(USAGE, "run", net, "--input-list", "l", "-o", tmp_path, says="--output-dir")
    refuses(USAGE, "run", net, "--input-list", "l", "x.npy", says="--input-list goes with")
    refuses(USAGE, "run", net, "--random", "--soc", "nothing", says="unknown SoC")


def test_bad_models_are_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x08\x09\x12")
    refuses(REFUSED, "run", tmp_path / "m.onnx", says="m.onnx")
    net = model(tmp_path / "u.onnx", [h.make_node("NoSuchOp", ["x"], ["y"], name="n1")],
                {"x": (T.FLOAT, [1])}, {"y": (T.FLOAT, [1])})
    refuses(REFUSED, "run", net, "--random", says=["u.onnx", "'n1'", "NoSuchOp"])
    refuses(1, "run", tmp_path / "gone.onnx", says="gone.onnx")


def test_a_backend_may_be_named_by_path(tmp_path, net):
    import os
    lib = os.path.join(os.environ["QUERN_LIB_DIR"], "libQnnCpu.so")
    ok("run", net, "--random", "--backend", lib, "--threads", "1")
    refuses(1, "run", net, "--random", "--backend", tmp_path / "none.so", says="none.so")
    refuses(USAGE, "run", net, "--random", "--backend", "abacus", says="expected cpu, htp, gpu")


def test_the_reference_of_a_quantized_model_clips_but_does_not_round(tmp_path):
    scale, zero = np.float32(0.1), np.uint8(20)  # -2 .. 23.5
    net = model(tmp_path / "q.onnx",
                [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                 h.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 h.make_node("Add", ["d", "b"], ["y"])],
                {"x": (T.FLOAT, [6])}, {"y": (T.FLOAT, [6])},
                {"s": np.array(scale), "z": np.array(zero), "b": np.ones(6, np.float32)})
    x = np.array([-7, -1.234, 0.04, 3.14159, 20.06, 99], np.float32)
    np.save(tmp_path / "x.npy", x)
    got = ok_json("run", net, tmp_path / "x.npy", "--reference", "--per-layer", "--json")
    clipped = np.clip(x.astype(float), (0 - 20) * 0.1, (255 - 20) * 0.1)
    rounded = (np.clip(np.rint(x / scale) + 20, 0, 255) - 20) * 0.1
    row = got["comparison"][0]
    assert row["sqnr_db"] == pytest.approx(
        10 * np.log10(((clipped + 1)**2).sum() / ((rounded - clipped)**2).sum()), abs=1e-3)
    assert row["max_error"] == pytest.approx(np.abs(rounded - clipped).max(), abs=1e-5)
    layers = {r["name"]: r for r in got["layers"]}
    assert layers["q"]["max_error"] == pytest.approx(row["max_error"], abs=1e-5)


def test_layers_of_a_quantized_model_meet_those_of_its_original(tmp_path):
    scale, zero = np.array(np.float32(0.1)), np.array(np.uint8(0))
    x = np.array([-7, 0.04, 3.14159, 20.06], np.float32)
    flt = model(tmp_path / "f.onnx", [h.make_node("Relu", ["x"], ["r"]),
                                      h.make_node("Neg", ["r"], ["y"])],
                {"x": (T.FLOAT, [4])}, {"y": (T.FLOAT, [4])})
    net = model(tmp_path / "q.onnx",
                [h.make_node("QuantizeLinear", ["x", "s", "z"], ["r_QuantizeLinear_Output"]),
                 h.make_node("DequantizeLinear", ["r_QuantizeLinear_Output", "s", "z"], ["d"]),
                 h.make_node("Neg", ["d"], ["y"])],
                {"x": (T.FLOAT, [4])}, {"y": (T.FLOAT, [4])}, {"s": scale, "z": zero})
    np.save(tmp_path / "x.npy", x)
    got = ok_json("run", net, tmp_path / "x.npy", "--against", flt, "--per-layer", "--json")
    layers = {r["name"]: r["max_error"] for r in got["layers"]}
    assert layers["r_QuantizeLinear_Output"] == pytest.approx(
        np.abs(np.rint(np.maximum(x, 0) * 10) / 10 - np.maximum(x, 0)).max(), abs=1e-5)
