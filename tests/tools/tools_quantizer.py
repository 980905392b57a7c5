# SPDX-License-Identifier: MIT
"""qairt-quantizer: quantized DLC files. Results are compared with onnxruntime on the float model,
encodings with the published formulas on the data of the calibration."""
import json
import zipfile

import numpy as np
import pytest
from harness import HTP, NET_RUN, T, h, ok, raw, read, rejects, write_json
from tools_converter import CONVERTER, conv_net, image, model, reference, tensor, topology

QUANTIZER = "qairt-quantizer"
N = 6  # samples


def samples(folder, n=N):
    xs = [image(seed=k) for k in range(n)]
    for k, x in enumerate(xs):
        raw(folder / f"{k}.raw", x)
    (folder / "list.txt").write_text("".join(f"image:={k}.raw\n" for k in range(n)))
    return np.concatenate(xs)


@pytest.fixture
def net(tmp_path):
    conv_net(tmp_path / "net.onnx")
    ok(CONVERTER, "-i", "net.onnx", "-o", "net.dlc", "--onnx_batch", 1, cwd=tmp_path)
    return tmp_path


def quantize(folder, *args, name="net.dlc"):
    if "-f" not in args and "--keep_weights_quantized" not in args:
        args = ("-l", "list.txt", *args)
    p = ok(QUANTIZER, "-i", name, "-o", "q.dlc", *args, cwd=folder)
    return zipfile.ZipFile(folder / "q.dlc"), p


def run(folder, x, output="maps"):
    raw(folder / "x.raw", x)
    (folder / "run.txt").write_text("x.raw\n")
    ok(NET_RUN, "--model", "libQnnModelDlc.so", "--dlc_path", "q.dlc", "--backend", HTP,
       "--input_list", "run.txt", cwd=folder)
    return read(folder / "output" / "Result_0" / f"{output}.raw")


def run_on(folder, x, soc):
    """On a SoC: 16-bit weights need a newer one than the default."""
    np.save(folder / "x.npy", x)
    ok("quern", "run", "q.dlc", "image=x.npy", "--backend", "htp", "--soc", soc, "-o", "out",
       cwd=folder)
    return np.load(folder / "out" / "output_0.npy").ravel()


def sqnr(want, got):
    return 10 * np.log10(np.sum(want ** 2) / np.sum((want - got) ** 2))


def encoding(dlc, name):
    e = tensor(dlc, name)["encoding"]
    return np.frombuffer(bytes.fromhex(e["scale_bits"]), ">f4")[0], e["offset"]


def published(low, high, bits=8):
    """Scale and offset of a range: 0 is in it, and exact."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2 ** bits - 1)
    return scale, -round(-low / scale)


@pytest.mark.parametrize("args, least, kind", [
    ([], 35, "UFIXED_POINT_8"),
    (["--act_bitwidth", 16], 35, "UFIXED_POINT_16"),
    (["--act_bitwidth", 16, "--weights_bitwidth", 16, "--restrict_quantization_steps",
      "-0x8000 0x7F7F"], 70, "UFIXED_POINT_16"),
    (["--weights_bitwidth", 4], 10, "UFIXED_POINT_8"),
    (["--act_quantizer_calibration", "mse"], 25, "UFIXED_POINT_8"),
    (["--act_quantizer_calibration", "sqnr"], 25, "UFIXED_POINT_8"),
    (["--act_quantizer_calibration", "entropy"], 10, "UFIXED_POINT_8"),
    (["--apply_algorithms", "cle"], 30, "UFIXED_POINT_8"),
    (["--algorithms", "adaround"], 30, "UFIXED_POINT_8"),
    (["--act_quantizer_calibration", "percentile", "--percentile_calibration_value", 99.9], 15,
     "UFIXED_POINT_8"),
    (["--target_backend", "HTP", "--target_soc_model", "SM8650", "--use_per_row_quantization",
      "--use_per_channel_quantization", "--param_quantizer_schema", "symmetric",
      "--act_quantizer_schema", "asymmetric", "--bias_bitwidth", 32], 35, "UFIXED_POINT_8"),
])
def test_quantized_results_are_near_the_model(net, args, least, kind):
    xs = samples(net)
    dlc, _ = quantize(net, *args)
    assert tensor(dlc, "image")["data_type"] == kind == tensor(dlc, "maps")["data_type"]
    x = image(seed=3)  # one of those that were seen: nothing is clipped
    want, = reference(net / "net.onnx", {"image": x})
    got = run_on(net, x, "SM8650") if kind == "UFIXED_POINT_16" else run(net, x)
    assert sqnr(want.ravel(), got) > least
    if not args:
        np.testing.assert_allclose(encoding(dlc, "image"), published(xs.min(), xs.max()),
                                   rtol=1e-6)


def test_4_bit_weights_lie_in_bytes_or_packed(net):
    samples(net)
    bits = {}
    for flags in ([], ["--pack_4_bit_weights"]):
        # The last layer of a model has 8 bits; a second one in front of it has 4.
        conv = model(net / "two.onnx", [
            h.make_node("Conv", ["image", "w"], ["c"], name="c1"),
            h.make_node("Relu", ["c"], ["r"]),
            h.make_node("Conv", ["r", "v"], ["maps"], name="c2")],
            {"image": (T.FLOAT, (1, 3, 5, 6))}, {"maps": (T.FLOAT, (1, 2, 5, 6))},
            {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3, 1, 1),
             "v": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4, 1, 1)})
        ok(CONVERTER, "-i", conv, "-o", "two.dlc", cwd=net)
        dlc, _ = quantize(net, "--weights_bitwidth", 4, *flags, name="two.dlc")
        first = topology(dlc)["nodes"]
        ids = {t["id"]: t for t in topology(dlc)["tensors"]}
        weight = next(ids[n["inputs"][1]] for n in first if n["type"] == "Conv2d")
        bits[bool(flags)] = weight["data_type"], weight["encoding"]["bits"], weight["data"][1]
    assert bits == {False: ("SFIXED_POINT_8", 4, 12), True: ("SFIXED_POINT_4", 4, 6)}


def test_inputs_and_outputs_that_stay_float(net):
    samples(net)
    dlc, _ = quantize(net, "--preserve_io_datatype")
    assert {tensor(dlc, n)["data_type"] for n in ("image", "maps")} == {"FLOAT_32"}
    dlc, _ = quantize(net, "--preserve_io_datatype", "maps")
    assert tensor(dlc, "image")["data_type"] == "UFIXED_POINT_8"
    assert tensor(dlc, "maps")["data_type"] == "FLOAT_32"
    x = image(seed=2)
    want, = reference(net / "net.onnx", {"image": x})
    assert sqnr(want.ravel(), run(net, x)) > 35


@pytest.mark.parametrize("bits, kind", [(8, "SFIXED_POINT_8"), (4, "SFIXED_POINT_4")])
def test_weights_alone(tmp_path, bits, kind):
    w = np.random.default_rng(5).standard_normal((64, 32)).astype(np.float32)
    v = np.random.default_rng(6).standard_normal((32, 8)).astype(np.float32)
    model(tmp_path / "net.onnx", [h.make_node("MatMul", ["image", "w"], ["a"]),
                                  h.make_node("MatMul", ["a", "v"], ["maps"])],
          {"image": (T.FLOAT, (1, 64))}, {"maps": (T.FLOAT, (1, 8))}, {"w": w, "v": v})
    ok(CONVERTER, "-i", "net.onnx", cwd=tmp_path)
    dlc, _ = quantize(tmp_path, "--keep_weights_quantized", "--weights_bitwidth", bits,
                      *(["--pack_4_bit_weights"] if bits == 4 else []))
    assert kind in {t["data_type"] for t in topology(dlc)["tensors"]}
    assert {tensor(dlc, n)["data_type"] for n in ("image", "maps")} == {"FLOAT_32"}


def test_types_that_the_converter_was_told_win(net):
    (net / "io.yaml").write_text("""
Input Tensor Configuration:
- Name: image
  Src Model Parameters:
    DataType: float32
    Layout: NCHW
  Desired Model Parameters:
    DataType: uint8
    Layout: NHWC
    QuantParams:
      Scale: 0.05
      Offset: -128
""")
    ok(CONVERTER, "-i", "net.onnx", "-o", "net.dlc", "--onnx_batch", 1, "--config", "io.yaml",
       cwd=net)
    for k in range(N):  # calibration is of the layout of the DLC
        raw(net / f"{k}.raw", image(seed=k).transpose(0, 2, 3, 1))
    (net / "list.txt").write_text("".join(f"{k}.raw\n" for k in range(N)))
    dlc, _ = quantize(net)
    assert tensor(dlc, "image")["dims"] == [1, 5, 6, 3]
    np.testing.assert_allclose(encoding(dlc, "image"), (0.05, -128), rtol=1e-6)
    x = image(seed=1)
    want, = reference(net / "net.onnx", {"image": x})
    assert sqnr(want.ravel(), run(net, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))) > 25


LEGACY = {"version": "0.6.1", "param_encodings": {}, "activation_encodings": {
    "image": [{"bitwidth": 8, "min": -5.1, "max": 5.1, "is_symmetric": "False", "dtype": "int"}]}}
LISTS = {"version": "1.0.0", "param_encodings": [], "activation_encodings": [
    {"name": "image", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 8, "is_sym": False,
     "scale": [0.04], "offset": [-128]}]}
MODERN = {"version": "2.0.0", "encodings": [
    {"name": "image", "output_dtype": "uint8", "y_scale": 0.04, "y_zero_point": 128}]}


@pytest.mark.parametrize("overrides", [LEGACY, LISTS, MODERN], ids=["0.6.1", "1.0.0", "2.0.0"])
def test_overrides_win_unless_they_are_ignored(net, overrides):
    """A range of [-5.1, 5.1] has scale 0.04 and zero point 128."""
    xs = samples(net)
    write_json(net / "o.json", overrides)
    p = ok(CONVERTER, "-i", "net.onnx", "-o", "net.dlc", "--onnx_batch", 1,
           "--quantization_overrides", "o.json", cwd=net)
    assert "Processed 1 quantization encodings" in p.stderr
    dlc, _ = quantize(net)
    np.testing.assert_allclose(encoding(dlc, "image"), (0.04, -128), rtol=1e-6)
    assert tensor(dlc, "maps")["data_type"] == "UFIXED_POINT_8"  # calibrated
    dlc, _ = quantize(net, "--ignore_encodings")
    np.testing.assert_allclose(encoding(dlc, "image"), published(xs.min(), xs.max()), rtol=1e-6)
    dlc, _ = quantize(net, "-f")  # what has no encoding is float
    np.testing.assert_allclose(encoding(dlc, "image"), (0.04, -128), rtol=1e-6)
    assert tensor(dlc, "maps")["data_type"] == "FLOAT_32"


def test_a_fallback_without_overrides_is_float(net):
    dlc, _ = quantize(net, "-f", "--float_bitwidth", 16)
    assert {t["data_type"] for t in topology(dlc)["tensors"]} == {"FLOAT_16", "UINT_32"}


def test_encodings_can_be_written(net):
    xs = samples(net)
    quantize(net, "--dump_encoding_json")
    said = json.loads((net / "q.json").read_text())
    assert said["version"] == "1.0.0"
    first, = [e for e in said["activation_encodings"] if e["name"] == "image"]
    scale, offset = published(xs.min(), xs.max())
    np.testing.assert_allclose((first["scale"][0], first["offset"][0]), (scale, offset), rtol=1e-6)
    quantize(net, "--dump_encoding_json", "named.json")
    assert json.loads((net / "named.json").read_text()) == said


WRONG = [
    ([], "--input_dlc is needed"),
    (["-i", "net.dlc"], "--input_list is needed"),
    (["-i", "no.dlc", "-l", "list.txt"], "no.dlc"),
    (["-i", "cut.dlc", "-l", "list.txt"], "cut.dlc"),
    (["-i", "net.onnx", "-l", "list.txt"], "net.onnx"),
    (["-i", "two.dlc", "-l", "list.txt"], "has a batch of 2; calibration needs 1"),
    (["-i", "bare.dlc", "-l", "list.txt"], "it has no record model.source"),
    (["-i", "quantized.dlc", "-l", "list.txt"], "the model is quantized already"),
    (["-l", "no.txt"], "no.txt"),
    (["-l", "wrong.txt"], "wrong.txt:2: too many files; the model has 1 input"),
    (["-l", "empty.txt"], "no line with inputs"),
    (["-l", "list.txt", "-f"], "--input_list and --enable_float_fallback exclude each other"),
    (["-f", "--ignore_encodings"], "exclude each other"),
    (["-f", "--dump_encoding_json"], "exclude each other"),
    (["-l", "list.txt", "--unheard"], "unknown flag"),
    (["-l", "list.txt", "--act_bitwidth", "4"], "8 or 16"),
    (["-l", "list.txt", "--weights_bitwidth", "16"], "--weights_bitwidth 16 is not supported"),
    (["-l", "list.txt", "--bias_bitwidth", "8"], "--bias_bitwidth 8 is not supported"),
    (["-l", "list.txt", "--act_quantizer_calibration", "best"], "min-max, sqnr, entropy, mse"),
    (["-l", "list.txt", "--param_quantizer_calibration", "mse"], "mse is not supported"),
    (["-l", "list.txt", "--act_quantizer_schema", "symmetric"], "symmetric is not supported"),
    (["-l", "list.txt", "--param_quantizer_schema", "asymmetric"], "asymmetric is not supported"),
    (["-l", "list.txt", "--percentile_calibration_value", "99"], "needs --act_quantizer_calib"),
    (["-l", "list.txt", "--act_quantizer_calibration", "percentile",
      "--percentile_calibration_value", "50"], "expected 90 to 100"),
    (["-l", "list.txt", "--restrict_quantization_steps", "-0x40 0x3F"], "allowed is"),
    (["-l", "list.txt", "--apply_algorithms", "amp"], "--apply_algorithms amp is not supported"),
    (["-l", "list.txt", "--use_aimet_quantizer"], "--use_aimet_quantizer is not supported"),
    (["-l", "list.txt", "--config", "a.yaml"], "--config is not supported"),
    (["-l", "list.txt", "-opl", "a.so:p"], "--op_package_lib is not supported"),
    (["-l", "list.txt", "--export_stripped_dlc"], "--export_stripped_dlc is not supported"),
    (["-l", "list.txt", "--use_native_output_files"], "is not supported"),
    (["-l", "list.txt", "--adjust_bias_encoding"], "is not supported"),
    (["-l", "list.txt", "--use_dynamic_16_bit_weights"], "is not supported"),
    (["-l", "list.txt", "--target_backend", "HTA"], "--target_backend HTA is not supported"),
    (["-l", "list.txt", "--target_soc_model", "SM8650"], "needs --target_backend"),
    (["-l", "list.txt", "-o", "net.dlc"], "net.dlc"),
    (["-l", "list.txt", "-o", "no/such/a.dlc"], "no/such"),
]


@pytest.fixture(scope="module")
def wrong_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    conv_net(folder / "net.onnx")
    for name, args in (("net", []), ("two", ["--onnx_batch", 2])):
        ok(CONVERTER, "-i", "net.onnx", "-o", f"{name}.dlc", *(args or ["--onnx_batch", 1]),
           cwd=folder)
    ok("quern", "compile", "net.onnx", "-o", "bare.dlc", "--dim", "N=1", cwd=folder)
    from tools_converter import DIGITS
    ok(CONVERTER, "-i", DIGITS / "digits_a8w8.onnx", "-o", "quantized.dlc", "--onnx_batch", 1,
       cwd=folder)
    data = (folder / "net.dlc").read_bytes()
    (folder / "cut.dlc").write_bytes(data[:len(data) // 2])
    samples(folder, 1)
    (folder / "wrong.txt").write_text("list.txt\n0.raw 0.raw\n")
    (folder / "empty.txt").write_text("\n")
    return folder


@pytest.mark.parametrize("args, says", WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_words_are_named(wrong_files, args, says):
    before = {f.name: f.read_bytes() for f in wrong_files.iterdir()}
    args = args if not args or args[0] == "-i" else ["-i", "net.dlc", *args]
    rejects(QUANTIZER, *args, cwd=wrong_files, says=says)
    assert {f.name: f.read_bytes() for f in wrong_files.iterdir()} == before


@pytest.mark.parametrize("text, says", [
    ("[]", "o.json"), ("{", "o.json"), ('{"version": "7.0.0", "encodings": []}', "7.0.0"),
    ('{"version": "1.0.0", "activation_encodings": [{"name": 3}]}', "o.json"),
    ("[" * 100000, "o.json"),
])
def test_wrong_overrides_are_named(tmp_path, text, says):
    conv_net(tmp_path / "net.onnx")
    (tmp_path / "o.json").write_text(text)
    rejects(CONVERTER, "-i", "net.onnx", "--onnx_batch", 1, "-q", "o.json", cwd=tmp_path, says=says)
    assert not (tmp_path / "net.dlc").exists()
