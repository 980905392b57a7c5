# SPDX-License-Identifier: MIT
"""Encodings by file and by name: quern quantize and quern compile. ONNX Runtime is the judge of
what the written models compute, numpy of the encodings."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, numpy_helper

from cli_quantize import conv_net, encodings, run, sqnr
from harness import REFUSED, USAGE, ok, ok_json, quern, refuses


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    folder = tmp_path_factory.mktemp("net")
    x = np.random.default_rng(2).standard_normal((16, 3, 8, 8)).astype(np.float32)
    np.save(folder / "x.npy", x)
    conv_net(folder / "net.onnx")
    return folder


def weights(path):
    """{weight: (values, scales, attributes)} of every DequantizeLinear of a constant."""
    m = onnx.load(path)
    constants = {t.name: t for t in m.graph.initializer}
    return {n.output[0]: (constants[n.input[0]], numpy_helper.to_array(constants[n.input[1]]),
                          {a.name: a.i for a in n.attribute})
            for n in m.graph.node if n.op_type == "DequantizeLinear" and n.input[0] in constants}


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize("scheme", ["a8w8", "a16w8", "a8w4"])
def test_a_model_is_the_same_from_its_exported_encodings(net, tmp_path, version, scheme):
    first, again, file = tmp_path / "a.onnx", tmp_path / "b.onnx", tmp_path / "e.json"
    ok("quantize", net / "net.onnx", "-o", first, "-c", net / "x.npy", "-s", scheme, "-q",
       "--no-check", "--export-encodings", file, "--encodings-version", version)
    assert json.loads(file.read_text())["version"] == version
    ok("quantize", net / "net.onnx", "-o", again, "--encodings", file, "-q", "--no-check")
    assert encodings(first) == encodings(again)
    found, expected = weights(again), weights(first)
    assert found.keys() == expected.keys()
    for name, (values, scales, attributes) in expected.items():
        assert found[name][1:] == (pytest.approx(scales, rel=0), attributes), name
        assert found[name][0].raw_data == values.raw_data, name


def aimet(x, symmetric_weights=True):
    """Encodings as AIMET writes them, from ranges that are known."""
    act = lambda low, high: {"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "min": low,
                             "max": high, "scale": (high - low) / 255,
                             "offset": round(low / ((high - low) / 255))}
    w = numpy_helper.to_array(next(t for t in x.graph.initializer if t.name == "w"))
    channel = lambda c: {"bitwidth": 8, "dtype": "int", "is_symmetric": "True", "offset": -128,
                         "scale": float(np.abs(c).max() / 127),
                         "min": float(-np.abs(c).max() / 127 * 128), "max": float(np.abs(c).max())}
    return {"version": "0.6.1", "activation_encodings": {
        "x": [act(-4.0, 4.5)], "r": [act(0.0, 160.0)], "k": [act(0.0, 6.0)], "p": [act(0.0, 6.0)],
        "y": [act(-8.0, 8.0)]},
        "param_encodings": {"w": [channel(c) for c in w]}}


def test_what_a_file_says_is_used_without_samples(net, tmp_path):
    file, out = tmp_path / "e.json", tmp_path / "q.onnx"
    file.write_text(json.dumps(aimet(onnx.load(net / "net.onnx"))))
    (report,) = ok_json("quantize", net / "net.onnx", "-o", out, "-e", file, "--json")
    assert report["partitions"] == 1 and report["float"] == 0
    onnx.checker.check_model(onnx.load(out), full_check=True)
    found = encodings(out)
    assert found["x"] == ("uint8", pytest.approx(8.5 / 255), 120)
    assert found["r"] == ("uint8", pytest.approx(160 / 255), 0)
    assert found["f"] == found["p"]  # a Flatten hands the encoding on
    x = np.load(net / "x.npy")[:1]
    assert sqnr(run(out, {"x": x})["y"], run(net / "net.onnx", {"x": x})["y"]) > 20


def test_a_file_wins_over_samples_and_the_rest_comes_from_them(net, tmp_path):
    file, out = tmp_path / "e.json", tmp_path / "q.onnx"
    file.write_text(json.dumps({"version": "2.0.0", "encodings": [
        {"name": "r", "output_dtype": "uint16", "y_scale": 0.01, "y_zero_point": 7},
        {"name": "fc", "output_dtype": "int8", "y_scale": [0.05] * 10, "axis": 0},
        {"name": "w", "output_dtype": "uint8", "y_scale": 0.5, "y_zero_point": 100}]}))
    ok("quantize", net / "net.onnx", "-o", out, "-e", file, "-c", net / "x.npy", "-q")
    found, x = encodings(out), np.load(net / "x.npy")
    assert found["r"] == ("uint16", pytest.approx(0.01), 7)
    assert found["x"][1] == pytest.approx((x.max() - x.min()) / 255, rel=1e-6)
    constants = weights(out)
    assert constants["fc_w0"][1].tolist() == pytest.approx([0.05] * 10)
    w = next(t for t in onnx.load(net / "net.onnx").graph.initializer if t.name == "w")
    expected = np.clip(np.rint(numpy_helper.to_array(w) / np.float32(0.5)) + 100, 0, 255)
    assert np.array_equal(numpy_helper.to_array(constants["w_w0"][0]), expected)
    run(out, {"x": x[:1]})


def test_two_level_scales_are_multiplied(tmp_path):
    from onnx import helper as h
    from harness import model
    r = np.random.default_rng(5)
    w = r.standard_normal((64, 4)).astype(np.float32)
    net = model(tmp_path / "net.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [1, 64])}, {"y": (T.FLOAT, [1, 4])}, {"w": w})
    channel = np.abs(w).max(0) / 7 / 16
    multiples = np.clip(np.rint(np.abs(w.reshape(2, 32, 4)).max(1) / 7 / channel), 1, 16)
    scales = (multiples * channel).astype(np.float32)
    (tmp_path / "e.json").write_text(json.dumps({"version": "1.0.0", "activation_encodings": [],
        "param_encodings": [{"name": "w", "enc_type": "LPBQ", "dtype": "INT", "bw": 8,
                             "compressed_bw": 4, "is_sym": True, "scale": channel.tolist(),
                             "offset": [-128] * 4, "block_size": 32,
                             "per_block_int_scale": multiples.astype(int).flatten().tolist()}]}))
    ok("quantize", net, "-o", tmp_path / "q.onnx", "-e", tmp_path / "e.json", "-q", "--no-check")
    (values, found, attributes), = weights(tmp_path / "q.onnx").values()
    np.testing.assert_allclose(found, scales, rtol=1e-6)
    assert attributes == {"axis": 0, "block_size": 32} and values.data_type == T.INT4
    q = np.clip(np.rint(w / np.repeat(scales, 32, 0)), -8, 7)
    x = r.standard_normal((1, 64)).astype(np.float32)
    np.testing.assert_allclose(run(tmp_path / "q.onnx", {"x": x})["y"],
                               x @ (q * np.repeat(scales, 32, 0)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flags, types", [
    (["--bits", "r=16"], {"x": "uint8", "r": "uint16", "k": "uint8"}),
    (["--bits", "relu=16", "--bits", "dw=4"], {"x": "uint8", "r": "uint16", "k": "uint8"}),
    (["-s", "a16w8", "--bits", "y=8"], {"x": "uint16", "r": "uint16", "y_real": "uint8"}),
    (["--float", "r"], {"x": "uint8", "k": "uint8", "r": None}),
    (["--float", "relu", "--float", "fc"], {"x": "uint8", "k": "uint8", "r": None}),
])
def test_single_tensors_have_other_bits_by_name(net, tmp_path, flags, types):
    out, x = tmp_path / "q.onnx", np.load(net / "x.npy")
    (report,) = ok_json("quantize", net / "net.onnx", "-o", out, "-c", net / "x.npy", "--json",
                        *flags)
    assert report["partitions"] == 1 and report["refused"] == 0
    onnx.checker.check_model(onnx.load(out), full_check=True)
    found = encodings(out)
    for name, kind in types.items():
        assert (found[name][0] if name in found else None) == kind, name
    if "dw=4" in flags:
        assert weights(out)["dw_w0"][0].data_type == T.INT4
    least = 15 if "dw=4" in flags else 25
    assert sqnr(run(out, {"x": x[:1]})["y"], run(net / "net.onnx", {"x": x[:1]})["y"]) > least


def test_compile_takes_a_float_model_and_a_file(net, tmp_path):
    file, x = tmp_path / "e.json", np.load(net / "x.npy")[:1]
    file.write_text(json.dumps(aimet(onnx.load(net / "net.onnx"))))
    ok("compile", net / "net.onnx", "-o", tmp_path / "net.bin", "-e", file, "--soc", "SM8650")
    np.save(tmp_path / "x1.npy", x)
    ok("run", tmp_path / "net.bin", tmp_path / "x1.npy", "-o", tmp_path / "out")
    ok("quantize", net / "net.onnx", "-o", tmp_path / "q.onnx", "-e", file, "-q", "--no-check")
    want = run(tmp_path / "q.onnx", {"x": x})["y"]
    got = np.load(next((tmp_path / "out").glob("*.npy")))
    assert np.abs(got - want).max() <= 2 * 16 / 255  # steps of y's encoding


@pytest.mark.parametrize("content, says", [
    ('{"version": "1.0.0", "activation_encodings": [{"name": "nix", "bw": 8, "scale": [1], '
     '"offset": [0]}]}', "none of the 1 tensors"),
    ('{"version": "1.0.0", "activation_encodings": [{"name": "x", "bw": 12, "scale": [1], '
     '"offset": [0]}]}', "8 or 16 bits"),
    ('{"version": "1.0.0", "activation_encodings": [{"name": "x", "bw": 8, "scale": [1, 2], '
     '"offset": [0, 0]}]}', "several scales"),
    ('{"version": "1.0.0", "param_encodings": [{"name": "w", "bw": 8, "is_sym": true, '
     '"scale": [1, 2], "offset": [-128, -128]}]}', "channels are 8"),
    ('{"version": "1.0.0", "param_encodings": [{"name": "w", "bw": 8, "scale": [1, 2], '
     '"offset": [0, -1]}]}', "must be symmetric"),
    ('{"version": "1.0.0", "param_encodings": [{"name": "fc", "bw": 4, "is_sym": true, '
     '"enc_type": "PER_BLOCK", "block_size": 3, "scale": [1], "offset": [-8]}]}',
     "blocks of 3 do not fit"),
    ('{"version": "9.0"}', "version '9.0'"),
    ("nothing", "e.json:1"),
])
def test_files_that_do_not_fit_are_refused_in_one_line(net, tmp_path, content, says):
    (tmp_path / "e.json").write_text(content)
    soc = ["--soc", "SM8650"]
    for command, out, more in (("quantize", "q.onnx", []), ("compile", "q.bin", soc)):
        refuses(REFUSED, command, net / "net.onnx", "-o", tmp_path / out, "-e",
                tmp_path / "e.json", *more, says=says)
    assert not (tmp_path / "q.onnx").exists() and not (tmp_path / "q.bin").exists()


def test_unknown_tensors_are_one_warning(net, tmp_path):
    entry = lambda name: {"name": name, "output_dtype": "uint8", "y_scale": 0.1}
    (tmp_path / "e.json").write_text(json.dumps({"version": "2.0.0", "encodings": [
        entry("x"), entry("gone"), entry("also")]}))
    done = quern("quantize", net / "net.onnx", "-o", tmp_path / "q.onnx", "-e",
                 tmp_path / "e.json", "--no-check")
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(lines) == 1 and "no tensor 'gone'; 2 of 3" in lines[0]


@pytest.mark.parametrize("flags, code, says", [
    (["--bits", "r"], USAGE, "a name and a number"),
    (["--bits", "nix=8"], USAGE, "no node or tensor 'nix'"),
    (["--bits", "r=4"], USAGE, "expected 8 or 16"),
    (["--float", "nix"], USAGE, "no node or tensor 'nix'"),
    (["--encodings-version", "2.0.0"], USAGE, "needs --export-encodings"),
])
def test_wrong_names_and_bits_are_refused(net, tmp_path, flags, code, says):
    refuses(code, "quantize", net / "net.onnx", "-o", tmp_path / "q.onnx", "-c", net / "x.npy",
            *flags, says=says)
