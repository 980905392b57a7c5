# SPDX-License-Identifier: MIT
"""qairt-converter: DLC files of ONNX models. What a DLC computes is compared with onnxruntime on
the model itself; layouts, types and colours by numpy on both sides of it."""
import json
import subprocess
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest
from harness import BIN, CPU, HTP, NET_RUN, ROOT, T, h, model, ok, raw, read, rejects

CONVERTER = "qairt-converter"
DIGITS = ROOT / "examples" / "digits"


def conv_net(path, channels=3):
    """A convolution, its bias, Relu: image [N, 3, 5, 6] -> maps [N, 4, 5, 6]."""
    rng = np.random.default_rng(7)
    return model(path, [h.make_node("Conv", ["image", "w", "b"], ["c"], name="conv", pads=[1] * 4),
                        h.make_node("Relu", ["c"], ["maps"], name="relu")],
                 {"image": (T.FLOAT, ("N", channels, 5, 6))}, {"maps": (T.FLOAT, ("N", 4, 5, 6))},
                 {"w": rng.standard_normal((4, channels, 3, 3)).astype(np.float32),
                  "b": rng.standard_normal(4).astype(np.float32)})


def image(n=1, seed=1):
    return np.random.default_rng(seed).standard_normal((n, 3, 5, 6)).astype(np.float32)


def reference(path, feeds):
    return onnxruntime.InferenceSession(str(path)).run(None, feeds)


def convert(folder, net, *args):
    ok(CONVERTER, "-i", net, "-o", "net.dlc", *args, cwd=folder)
    return zipfile.ZipFile(folder / "net.dlc")


def topology(dlc):
    graph, = json.loads(dlc.read("model.topology"))["graphs"]
    return graph


def tensor(dlc, name):
    found, = [t for t in topology(dlc)["tensors"] if t["name"] == name]
    return found


def run(folder, x, backend=CPU, output="maps", dtype=np.float32, native=False):
    """Results of net.dlc; files are float32 unless they are native."""
    raw(folder / "x.raw", x, x.dtype)
    (folder / "list.txt").write_text("x.raw\n")
    flags = ["--use_native_input_files", "--use_native_output_files"] if native else []
    ok(NET_RUN, "--model", "libQnnModelDlc.so", "--dlc_path", "net.dlc", "--backend", backend,
       "--input_list", "list.txt", *flags, cwd=folder)
    return read(folder / "output" / "Result_0" / f"{output}{'_native' if native else ''}.raw",
                dtype)


@pytest.mark.parametrize("backend", [CPU, HTP])
def test_a_dlc_computes_what_the_model_computes(tmp_path, backend):
    net, x = conv_net(tmp_path / "net.onnx"), image(2)
    dlc = convert(tmp_path, net, "--onnx_define_symbol", "N", "2")
    want, = reference(net, {"image": x})
    onnx.checker.check_model(onnx.load_from_string(dlc.read("model.source")), full_check=True)
    got, = onnxruntime.InferenceSession(dlc.read("model.source")).run(None, {"image": x})
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_allclose(run(tmp_path, x, backend), want.ravel(), atol=1e-5)


def test_the_name_of_the_file_and_of_the_graph_come_from_the_model(tmp_path):
    conv_net(tmp_path / "1 net.onnx")
    p = ok(CONVERTER, "--input_network=1 net.onnx", "--onnx_batch", 1, cwd=tmp_path)
    assert "1 net.dlc: " in p.stdout
    assert topology(zipfile.ZipFile(tmp_path / "1 net.dlc"))["name"] == "_1_net"


def test_shapes_outputs_and_what_is_kept(tmp_path):
    net, x = conv_net(tmp_path / "net.onnx"), image()
    (tmp_path / "c.txt").write_text("(c) somebody")
    dlc = convert(tmp_path, net, "-s", "image", "1,3,5,6", "--out_tensor_name", "c", "-oss",
                  "--set_model_version", "v" * 70, "--copyright_file", "c.txt",
                  "--enable_framework_trace")
    outputs = [t["name"] for t in topology(dlc)["tensors"] if t["type"] == "APP_READ"]
    assert outputs == ["c"] and tensor(dlc, "image")["dims"] == [1, 3, 5, 6]
    said = json.loads(dlc.read("model.conversion"))
    assert said["version"] == "v" * 64 and said["copyright"] == "(c) somebody"
    assert said["command"].split()[1:3] == ["-i", str(net)]
    trace, = json.loads(dlc.read("source.mapping"))["graphs"]
    assert {tuple(t[1:]) for t in trace["ops"]} == {("conv", "Conv")}
    assert {t[0] for t in trace["ops"]} <= {n["name"] for n in topology(dlc)["nodes"]}
    conv = reference(net, {"image": x})[0]
    np.testing.assert_allclose(np.maximum(run(tmp_path, x, output="c"), 0), conv.ravel(), atol=1e-5)


def test_layouts_that_are_wanted(tmp_path):
    net, x = conv_net(tmp_path / "net.onnx"), image()
    dlc = convert(tmp_path, net, "--onnx_override_batch", 1, "-l", "image", "NCHW",
                  "--desired_input_layout", "image", "NHWC", "--source_model_output_layout", "maps",
                  "NCHW", "--desired_output_layout", "maps", "NHWC")
    assert tensor(dlc, "image")["dims"] == [1, 5, 6, 3]
    assert tensor(dlc, "maps")["dims"] == [1, 5, 6, 4]
    assert "Transpose" not in {n["type"] for n in topology(dlc)["nodes"]}  # convolutions are so
    want, = reference(net, {"image": x})
    got = run(tmp_path, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1).ravel(), atol=1e-5)


@pytest.mark.parametrize("layout", [None, "NHWC"])
def test_colours_change_their_order(tmp_path, layout):
    net, x = conv_net(tmp_path / "net.onnx"), image()
    convert(tmp_path, net, "-d", "image", "1,3,5,6", "-e", "image", "rgb",
            *(["--desired_input_layout", "image", layout] if layout else []))
    want, = reference(net, {"image": x})
    given = x[:, ::-1]
    if layout:
        given = given.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(run(tmp_path, np.ascontiguousarray(given)), want.ravel(), atol=1e-5)


def test_float16_and_what_stays_float32(tmp_path):
    net, x = conv_net(tmp_path / "net.onnx"), image()
    want, = reference(net, {"image": x})
    dlc = convert(tmp_path, net, "--onnx_batch", 1, "--float_bitwidth", 16)
    floats = {t["name"]: t["data_type"] for t in topology(dlc)["tensors"]
              if t["data_type"].startswith("FLOAT")}
    assert set(floats.values()) == {"FLOAT_16"}
    np.testing.assert_allclose(run(tmp_path, x, HTP), want.ravel(), atol=0.02)
    dlc = convert(tmp_path, net, "--onnx_batch", 1, "--float_bitwidth", 16,
                  "--preserve_io_datatype")
    floats = {t["name"]: t["data_type"] for t in topology(dlc)["tensors"]
              if t["data_type"].startswith("FLOAT")}
    assert floats.pop("image") == floats.pop("maps") == "FLOAT_32"
    assert set(floats.values()) == {"FLOAT_16"}
    np.testing.assert_allclose(run(tmp_path, x, HTP), want.ravel(), atol=0.02)
    dlc = convert(tmp_path, net, "--onnx_batch", 1, "--float_bitwidth", 16,
                  "--preserve_io_datatype", "maps", "--float_bias_bitwidth", 32)
    types = {t["name"]: t["data_type"] for t in topology(dlc)["tensors"]}
    bias = {topology(dlc)["tensors"][i]["name"] for i in range(len(topology(dlc)["tensors"]))
            if topology(dlc)["tensors"][i]["dims"] == [4] and
            topology(dlc)["tensors"][i]["type"] == "STATIC" and
            topology(dlc)["tensors"][i]["data_type"] != "UINT_32"}
    assert {types[b] for b in bias} == {"FLOAT_32"} and bias
    assert (types["image"], types["maps"], types["w"]) == ("FLOAT_16", "FLOAT_32", "FLOAT_16")


CONFIG = """
Input Tensor Configuration:
  # the picture
  - Name: 'image'
    Src Model Parameters:
        DataType: float32
        Layout: NCHW
    Desired Model Parameters:
        DataType: uint8
        Layout: NHWC
        Shape: 1,3,5,6
        Color Conversion: bgr bgr
        QuantParams:
          Scale: 0.03125
          Offset: -128
Output Tensor Configuration:
- Name: maps
  Src Model Parameters: {}
  Desired Model Parameters:
    DType: float16
"""


def test_a_file_says_layouts_and_types(tmp_path):
    net = conv_net(tmp_path / "net.onnx")
    (tmp_path / "io.yaml").write_text(CONFIG.replace(" {}", "\n    DataType: float32"))
    dlc = convert(tmp_path, net, "--config", "io.yaml")
    assert tensor(dlc, "image")["data_type"] == "UFIXED_POINT_8"
    assert tensor(dlc, "image")["dims"] == [1, 5, 6, 3]
    assert tensor(dlc, "maps")["data_type"] == "FLOAT_16"
    q = np.random.default_rng(3).integers(0, 256, (1, 5, 6, 3)).astype(np.uint8)
    x = ((q.astype(np.float32) - 128) * 0.03125).transpose(0, 3, 1, 2)
    want, = reference(net, {"image": np.ascontiguousarray(x)})
    got = run(tmp_path, q, dtype=np.float16, native=True)
    np.testing.assert_allclose(got.astype(np.float32), want.ravel(), rtol=2e-3, atol=1e-3)
    # The command line wins.
    dlc = convert(tmp_path, net, "--io_config", "io.yaml", "-s", "image", "2,3,5,6",
                  "--desired_input_layout", "image", "NCHW")
    assert tensor(dlc, "image")["dims"] == [2, 3, 5, 6]


def test_a_template_changes_nothing(tmp_path):
    net, x = conv_net(tmp_path / "net.onnx"), image()
    p = ok(CONVERTER, "-i", net, "--dump_io_config_template", "io.yaml", cwd=tmp_path)
    assert not p.stdout and not (tmp_path / "net.dlc").exists()
    assert "Src Model Parameters" in (tmp_path / "io.yaml").read_text()
    plain = topology(convert(tmp_path, net, "--onnx_batch", 1))
    assert topology(convert(tmp_path, net, "--onnx_batch", 1, "--config", "io.yaml")) == plain


def test_quantizers_of_the_model_become_encodings_or_go(tmp_path):
    net = DIGITS / "digits_a8w8.onnx"
    dlc = convert(tmp_path, net, "--onnx_batch", 1, "--target_backend", "HTP",
                  "--target_soc_model", "SM8650")
    assert "UFIXED_POINT_8" in {t["data_type"] for t in topology(dlc)["tensors"]}
    assert "model.source" not in dlc.namelist()
    assert json.loads(dlc.read("model.conversion"))["no_source"] == "the model is quantized already"
    dlc = convert(tmp_path, net, "--onnx_batch", 1, "--export_format", "DLC_STRIP_QUANT")
    assert {t["data_type"] for t in topology(dlc)["tensors"] if t["type"] != "STATIC"} == {
        "FLOAT_32"}


def test_a_dry_run_and_a_summary(tmp_path):
    net = model(tmp_path / "net.onnx",
                [h.make_node("Relu", ["x"], ["y"], name="fine"),
                 h.make_node("Unheard", ["y"], ["z"], name="odd one", domain="no.where")],
                {"x": (T.FLOAT, [2])}, {"z": (T.FLOAT, [2])})
    m = onnx.load(net)
    m.opset_import.append(h.make_opsetid("no.where", 1))
    onnx.save(m, net)
    p = rejects(CONVERTER, "-i", net, cwd=tmp_path, says=("odd one", "net.onnx"))
    p = subprocess.run([BIN / CONVERTER, "-i", net, "--dry_run"], text=True,
                                     capture_output=True, cwd=tmp_path)
    assert p.returncode == 3 and "odd one" in p.stdout and "fine" not in p.stdout
    assert "1 of 2 nodes are not supported" in p.stdout
    assert [f.name for f in tmp_path.iterdir()] == ["net.onnx"]
    conv_net(tmp_path / "conv.onnx")
    p = ok(CONVERTER, "-i", "conv.onnx", "--onnx_batch", 1, "--dry_run", "debug", "--onnx_summary",
           cwd=tmp_path)
    assert "0 of 2 nodes are not supported" in p.stdout and "nodes    Conv 1" in p.stdout
    assert "input    image float32 [1, 3, 5, 6]" in p.stdout
    assert sorted(f.name for f in tmp_path.iterdir()) == ["conv.onnx", "net.onnx"]


WRONG = [
    ([], "--input_network is needed"),
    (["-i", "no.onnx"], "no.onnx"),
    (["-i", "cut.onnx"], "cut.onnx"),
    (["-i", "a.pb"], "TensorFlow models are not converted; give an ONNX model"),
    (["-i", "a.tflite"], "TensorFlow Lite models are not converted"),
    (["-i", "a.pt"], "PyTorch models are not converted"),
    (["-i", "net.onnx"], "dimension 0 (N) has no value; set it with --source_model_input_shape"),
    (["--unheard"], "unknown flag"),
    (["-s", "image"], "a name and dimensions"),
    (["-s", "image", "1,x,5,6"], "expected positive numbers"),
    (["-s", "picture", "1,3,5,6"], "--source_model_input_shape picture: net.onnx has no such"),
    (["--onnx_define_symbol", "N", "zero"], "expected a positive number"),
    (["--out_tensor_name", "none"], "--out_tensor_node none: no node of the model makes it"),
    (["--source_model_input_datatype", "image", "uint8"], "the model has float32"),
    (["-l", "image", "NFC"], "no layout of 4 dimensions; known are NCDHW"),
    (["--desired_input_layout", "image", "HWIO"], "layout NCHW cannot become HWIO; allowed are"),
    (["--desired_input_layout", "pic", "NHWC"], "has no such input or output"),
    (["-e", "image", "nv21", "rgb"], "colours can only change between rgb and bgr"),
    (["-e", "image", "pink"], "expected an input and one of bgr rgb"),
    (["--float_bitwidth", "8"], "32 or 16"),
    (["--float_bias_bitwidth", "4"], "0, 16 or 32"),
    (["--set_model_version", "\u00fc"], "expected ASCII"),
    (["--target_backend", "DSP"], "--target_backend DSP is not supported: there is no library"),
    (["--target_backend", "NPU"], "CPU, GPU, DSP, HTP, HTA or LPAI"),
    (["--target_soc_model", "SM8650"], "--target_soc_model needs --target_backend"),
    (["--target_backend", "HTP", "--target_soc_model", "XY1"], "expected a SoC"),
    (["--package_name", "a", "-opc", "b.xml"], "exclude each other"),
    (["-opc", "no.xml"], "no.xml"),
    (["--copyright_file", "no.txt"], "no.txt"),
    (["--config", "no.yaml"], "no.yaml"),
    (["--quantization_overrides", "no.json"], "no.json"),
    (["--tf_saved_model_tag", "serve"], "--tf_saved_model_tag is not supported: TensorFlow"),
    (["--tflite_signature_name", "a"], "--tflite_signature_name is not supported"),
    (["--lora_weight_list", "a"], "--lora_weight_list is not supported"),
    (["--gguf_config", "a"], "--gguf_config is not supported"),
    (["--onnx_validate_models"], "--onnx_validate_models is not supported"),
    (["--dump_exported_onnx"], "--dump_exported_onnx is not supported"),
    (["--apply_masked_softmax", "compressed"], "--apply_masked_softmax is not supported"),
    (["-cpl", "a.so"], "--converter_op_package_lib is not supported"),
    (["-o", "net.onnx"], "net.onnx"),
    (["-o", "no/such/folder/a.dlc"], "no/such/folder"),
]


@pytest.mark.parametrize("args, says", WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_words_are_named(tmp_path, args, says):
    data = conv_net(tmp_path / "net.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(data[:len(data) // 2])
    before = sorted(f.name for f in tmp_path.iterdir())
    if args and args[0] != "-i":
        args = ["-i", "net.onnx", *args]
        if "-s" not in args and "--onnx_define_symbol" not in args:
            args += ["--onnx_batch", "1"]
    rejects(CONVERTER, *args, cwd=tmp_path, says=says)
    assert sorted(f.name for f in tmp_path.iterdir()) == before
    assert (tmp_path / "net.onnx").read_bytes() == data


YAML = [
    ("- 1\n", "the file is an array, expected an object"),
    ("Inputs: 1\n", "unknown key 'Inputs' in the file"),
    ("Input Tensor Configuration: 3\n", "expected a list of objects"),
    (CONFIG, "anchors, tags, block texts and braces are not supported"),
    (CONFIG.replace(" {}", "\n    DataType: int64"), "expected one of float32|float16|uint8|int8"),
    (CONFIG.replace(" {}", ""), "so 'Src Model Parameters' must have it, too"),
    (CONFIG.replace(" {}", "\n    DataType: uint8"), "maps: the model has float32, not uint8"),
    (CONFIG.replace(" {}", "").replace("- Name: maps", "- Named: maps"), "unknown key 'Named'"),
    (CONFIG.replace(" {}", "\n    DataType: float32").replace("-128", "300"), "from -255 to 255"),
    (CONFIG.replace(" {}", "\n    DataType: float32").replace("-128", "20"), "an offset from -255"),
    (CONFIG.replace(" {}", "\n    DataType: float32").replace("0.03125", "0"), "a scale above 0"),
    (CONFIG.replace(" {}", "\n    DataType: float32").replace("Scale: 0.03125", ""),
     "QuantParams has no 'Scale'"),
    (CONFIG.replace(" {}", "\n    DataType: float32").replace("name: maps", "Name: nothing")
     .replace("Name: maps", "Name: nothing"), "nothing: net.onnx has no such input or output"),
    ("a: b\n  c: d\n", "does not fit the indentation"),
    ("a: 'b\n", "without its closing quote"),
    ("a: 1\na: 2\n", "a key for the second time"),
    ("\ta: 1\n", "a tab"),
    ("a: &x 1\n", "not supported"),
    ("".join("  " * i + "- \n" for i in range(40)), "nested too deeply"),
    ("- " * 5000 + "1\n", "nested too deeply"),
    ("a: [1, 2\n", "expected a list of plain values on one line"),
]


@pytest.mark.parametrize("text, says", YAML, ids=[s for _, s in YAML])
def test_wrong_files_are_named_with_their_line(tmp_path, text, says):
    conv_net(tmp_path / "net.onnx")
    (tmp_path / "io.yaml").write_text(text)
    rejects(CONVERTER, "-i", "net.onnx", "--onnx_batch", 1, "--config", "io.yaml", cwd=tmp_path,
            says=("io.yaml:", says))
    assert not (tmp_path / "net.dlc").exists()
