# SPDX-License-Identifier: MIT
"""qnn-onnx-converter and qnn-model-lib-generator: the library that they make of a model gives the
results of onnxruntime (float) and, to the bit, those of quern run on the same backend.

Needs QUERN_BIN_DIR, QUERN_LIB_DIR and QUERN_RUN_MODEL.
"""
import json
import os
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = Path(os.environ["QUERN_BIN_DIR"])
LIBS = Path(os.environ["QUERN_LIB_DIR"])
DIGITS = ROOT / "examples" / "digits"


def program(folder, name, *args, env=None):
    return subprocess.run([BIN / name, *map(str, args)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **(env or {})})


def convert(folder, model, *args):
    p = program(folder, "qnn-onnx-converter", "-i", model, "-o", "m.cpp", *args)
    assert p.returncode == 0, p.stderr
    return json.loads((folder / "m_net.json").read_text())


def build(folder, *args):
    sdk = folder / "sdk"
    sdk.mkdir(exist_ok=True)
    if not (sdk / "include").exists():
        (sdk / "include").symlink_to(ROOT / "include")
    return program(folder, "qnn-model-lib-generator", "-c", "m.cpp", "-o", "libs", *args,
                   env={"QNN_SDK_ROOT": str(sdk)})


def library(folder):
    p = build(folder, "-b", "m.bin")
    assert p.returncode == 0, p.stderr
    path = folder / p.stdout.strip()
    assert path.name == "libm.so" and path.exists()
    assert not list(path.parent.glob("*.part"))
    return path


def run(folder, path, inputs, backend="Cpu", prefix="QnnModel", debug=0):
    files = []
    for i, x in enumerate(inputs):
        files.append(f"in{i}.raw")
        x.tofile(folder / files[-1])
    p = subprocess.run([os.environ["QUERN_RUN_MODEL"], LIBS / f"libQnn{backend}.so", path, prefix,
                        str(debug), *files], cwd=folder, capture_output=True, text=True)
    return p.returncode, p.stdout


def outputs(folder, said):
    """Arrays by name, from what run_model printed."""
    found = {}
    for line in said.splitlines():
        kind, name, *rest = line.split()
        if kind == "output":
            assert rest[0] == "232"
            found[name] = np.fromfile(folder / f"{name}.raw", np.float32).reshape(
                [int(d) for d in rest[1:]])
    return found


def quern_run(folder, model, inputs, backend):
    words = []
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
        words.append(f"{name}={name}.npy")
    p = program(folder, "quern", "run", model, *words, "--backend", backend.lower(), "-o", "quern",
                *(["--soc", "none"] if backend == "Htp" else []))
    assert p.returncode == 0, p.stderr
    return np.load(folder / "quern" / "output_0.npy")


def reference(path, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options).run(None, inputs)


def image():
    return np.load(DIGITS / "images.npy")[:1].astype(np.float32)


@pytest.mark.parametrize("model", ["digits", "digits_a8w8"])
def test_a_library_gives_what_the_model_gives(tmp_path, model):
    path = DIGITS / f"{model}.onnx"
    view = convert(tmp_path, path, "--batch", "1")
    made = library(tmp_path)
    want = reference(path, {"image": image()})[0]
    for backend in ("Cpu", "Htp"):
        code, said = run(tmp_path, made, [image()], backend)
        assert code == 0 and said.startswith("graph m\n"), said
        got = outputs(tmp_path, said)["probabilities"]
        np.testing.assert_allclose(got, want, atol=1e-5 if model == "digits" else 0.02)
        same = quern_run(tmp_path, path, {"image": image()}, backend)
        np.testing.assert_array_equal(got, same)
    assert view["model.cpp"] == "m.cpp" and view["model.bin"] == "m.bin"
    assert "qnn-onnx-converter" in view["coverter_command"]
    assert "FullyConnected" in view["op_types"]
    model = onnx.load(DIGITS / "digits.onnx")
    sizes = {t.name: int(np.prod(t.dims)) for t in model.graph.initializer}
    if path.stem == "digits":  # weights and biases, and one scale
        assert int(view["Total parameters"]) == sum(
            n for name, n in sizes.items() if numpy_helper.to_array(
                next(t for t in model.graph.initializer if t.name == name)).dtype == np.float32)


def test_data_are_an_archive_of_the_constants(tmp_path):
    convert(tmp_path, DIGITS / "digits.onnx", "--define_symbol", "N", "1")
    weights = numpy_helper.to_array(next(
        t for t in onnx.load(DIGITS / "digits.onnx").graph.initializer if t.name == "w1"))
    with tarfile.open(tmp_path / "m.bin") as archive:
        member, = [m for m in archive if m.name.endswith("_w1.raw")]
        got = np.frombuffer(archive.extractfile(member).read(), np.float32)
    # Filters are [height, width, in, out] in QNN.
    np.testing.assert_array_equal(got, weights.transpose(2, 3, 1, 0).ravel())


def odd_model(folder):
    """Names that are no names of C, two inputs, two outputs, an unused node, an int64 constant."""
    w = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["in/0", "w:0"], ["1st"]),
         helper.make_node("Add", ["1st", "in.0"], ["sum-1"], name="a/b"),
         helper.make_node("Relu", ["sum-1"], ["sum_1"], name="a.b"),
         helper.make_node("Softmax", ["sum_1"], ["p"], axis=-1),
         helper.make_node("Tanh", ["1st"], ["dead"])],
        "odd", [helper.make_tensor_value_info("in/0", TensorProto.FLOAT, ["N", 4]),
                helper.make_tensor_value_info("in.0", TensorProto.FLOAT, ["N", 6])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, ["N", 6]),
         helper.make_tensor_value_info("sum-1", TensorProto.FLOAT, ["N", 6])],
        [numpy_helper.from_array(w, "w:0")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              folder / "odd.onnx")
    rng = np.random.default_rng(4)
    return [rng.standard_normal((2, n)).astype(np.float32) for n in (4, 6)]


def test_names_become_names_of_c(tmp_path):
    x = odd_model(tmp_path)
    view = convert(tmp_path, "odd.onnx", "-s", "N", "2", "--overwrite_model_prefix")
    want = reference(tmp_path / "odd.onnx", {"in/0": x[0], "in.0": x[1]})
    code, said = run(tmp_path, library(tmp_path), x, prefix="m")
    assert code == 0, said
    got = outputs(tmp_path, said)
    assert sorted(got) == ["p", "sum_1"]
    np.testing.assert_allclose(got["p"], want[0], atol=1e-6)
    np.testing.assert_allclose(got["sum_1"], want[1], atol=1e-5)
    assert [line.split()[1] for line in said.splitlines() if line.startswith("input")] == [
        "in_0", "in_0_2"]
    assert "Tanh" not in json.dumps(view["op_types"])
    assert not any("ElementWiseNeuron" in t or "Tanh" in t for t in view["op_types"])


def test_debug_reads_every_tensor_and_counters_replace_names(tmp_path):
    x = odd_model(tmp_path)
    convert(tmp_path, "odd.onnx", "--input_dim", "in/0", "2,4", "--input_dim", "in.0", "2,6",
            "--exclude_named_tensors", "--keep_disconnected_nodes")
    code, said = run(tmp_path, library(tmp_path), x, debug=1)
    assert code == 0, said
    got = outputs(tmp_path, said)
    assert {"p", "sum_1"} < set(got) and all(
        n in ("p", "sum_1") or n[0] == "t" for n in got), said
    w = numpy_helper.to_array(onnx.load(tmp_path / "odd.onnx").graph.initializer[0])
    first = x[0] @ w
    assert any(np.allclose(v, first, atol=1e-5) for v in got.values())
    assert any(np.allclose(v, np.tanh(first), atol=1e-5) for v in got.values())


def test_an_output_that_is_chosen(tmp_path):
    x = odd_model(tmp_path)
    convert(tmp_path, "odd.onnx", "--batch", "2", "--out_node", "1st", "--package_name", "my.ops",
            "--copyright_file", ROOT / "LICENSE")
    assert (tmp_path / "m.cpp").read_text().startswith("// MIT License")
    view = json.loads((tmp_path / "m_net.json").read_text())
    assert {n["package"] for n in view["graph"]["nodes"].values()} == {"my.ops"}
    assert len(view["graph"]["nodes"]) == 1
    code, said = run(tmp_path, library(tmp_path), x[:1])
    assert code == 1 and "node" in said and "cannot be made" in said  # no such package


def test_a_library_without_its_data_says_so(tmp_path):
    convert(tmp_path, DIGITS / "digits.onnx", "--batch", "1")
    p = build(tmp_path)
    assert p.returncode == 0, p.stderr
    code, said = run(tmp_path, tmp_path / p.stdout.strip(), [image()])
    assert p.stdout.strip().endswith("libqnn_model.so")
    assert code == 1 and "build the library with the model's data file (-b)" in said
    (tmp_path / "m.bin").write_bytes((tmp_path / "m.bin").read_bytes()[:2048])
    code, said = run(tmp_path, library(tmp_path), [image()])
    assert code == 1 and "data of tensor" in said


def test_calibration_data_quantize_on_the_way(tmp_path):
    images = np.load(DIGITS / "images.npy").astype(np.float32)
    model = onnx.load(DIGITS / "digits.onnx")  # with a fixed batch, as calibration needs it
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, tmp_path / "digits.onnx")
    for i in range(16):
        images[i].tofile(tmp_path / f"{i}.raw")
    (tmp_path / "list.txt").write_text("".join(f"image:={i}.raw\n" for i in range(16)))
    view = convert(tmp_path, "digits.onnx", "--input_list", "list.txt", "--act_bw", "8")
    assert any(t["data_type"] == 0x0408 for t in view["graph"]["tensors"].values())
    code, said = run(tmp_path, library(tmp_path), [images[20:21]], "Htp")
    assert code == 0, said
    want = reference(tmp_path / "digits.onnx", {"image": images[20:21]})
    np.testing.assert_allclose(outputs(tmp_path, said)["probabilities"], want[0], atol=0.05)


def test_custom_ops_go_to_the_package_of_their_definition(tmp_path):
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xcy"]
    graph = helper.make_graph([helper.make_node("Cube", ["x"], ["c"], name="cube", domain="my.ops"),
                               helper.make_node("Relu", ["c"], ["y"])], "g", info[:1], info[2:],
                              value_info=info[1:2])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13),
                                                      helper.make_opsetid("my.ops", 1)],
                                ir_version=8), tmp_path / "a.onnx")
    (tmp_path / "a.xml").write_text(
        '<OpDefCollection PackageName="example"><OpDefList><OpDef><Name>Cube</Name>'
        "<Input><Name>x</Name></Input><Output><Name>y</Name></Output>"
        "<SupportedBackend>CPU</SupportedBackend></OpDef></OpDefList></OpDefCollection>")
    p = program(tmp_path, "qnn-onnx-converter", "-i", "a.onnx")
    assert p.returncode == 3 and "my.ops.Cube is not supported" in p.stderr
    view = convert(tmp_path, "a.onnx", "-opc", "a.xml", "-opl",
                   f"{LIBS}/libExampleOpPackage.so:ExampleOpPackage_provider")
    node = view["graph"]["nodes"]["cube"]
    assert (node["package"], node["type"]) == ("example", "Cube")
    assert view["model.bin"] == "NA" and not (tmp_path / "m.bin").exists()
    p = build(tmp_path)  # a library needs the package where it is composed
    assert p.returncode == 0, p.stderr
    code, said = run(tmp_path, tmp_path / p.stdout.strip(), [np.ones((2, 3), np.float32)])
    assert code == 1 and "node 'cube' cannot be made" in said


CUSTOM = """
- IOName: image
  Layout:
    Model: NCHW
    Custom: NHWC
  Datatype: uint8
  QuantParam:
    Type: QNN_DEFINITION_DEFINED
    Scale: 0.5
    Offset: 0
- IOName: probabilities
  Datatype: float16
"""


def test_inputs_and_outputs_of_another_layout_and_type(tmp_path):
    (tmp_path / "io.yaml").write_text(CUSTOM)
    view = convert(tmp_path, DIGITS / "digits.onnx", "-b", "1", "--custom_io", "io.yaml")
    kinds = {k: (t["data_type"], t["current_dims"]) for k, t in view["graph"]["tensors"].items()}
    assert kinds["image"] == (0x0408, [1, 8, 8, 1]) and kinds["probabilities"] == (0x0216, [1, 10])
    assert view["graph"]["tensors"]["image"]["quant_params"]["scale_offset"] == {
        "scale": 0.5, "offset": 0}
    x = image()
    code, said = run(tmp_path, library(tmp_path),
                     [np.round(x / 0.5).astype(np.uint8).transpose(0, 2, 3, 1)])
    assert code == 0, said
    want = reference(DIGITS / "digits.onnx", {"image": np.round(x / 0.5) * np.float32(0.5)})[0]
    got = np.fromfile(tmp_path / "probabilities.raw", np.float16).astype(np.float32)
    np.testing.assert_allclose(got, want.ravel(), atol=1e-3)


def test_a_template_of_custom_io_changes_nothing(tmp_path):
    p = program(tmp_path, "qnn-onnx-converter", "-i", DIGITS / "digits.onnx",
                "--dump_custom_io_config_template", "io.yaml")
    assert p.returncode == 0 and [f.name for f in tmp_path.iterdir()] == ["io.yaml"], p.stderr
    plain = convert(tmp_path, DIGITS / "digits.onnx", "-b", "1")
    again = convert(tmp_path, DIGITS / "digits.onnx", "-b", "1", "--custom_io", "io.yaml")
    assert again["graph"] == plain["graph"]


@pytest.mark.parametrize("text, words", [
    (CUSTOM.replace("IOName: image", "IOName: picture"), "no such input or output"),
    (CUSTOM.replace("IOName: probabilities", "IOName: image"), "for the second time"),
    (CUSTOM.replace("Custom: NHWC", "Custom: NCDHW"), "no layout of 4 dimensions"),
    (CUSTOM.replace("Datatype: uint8", "Datatype: int64"), "float32|float16|uint8|int8"),
    (CUSTOM.replace("    Scale: 0.5\n    Offset: 0\n", ""), "needs a scale and an offset"),
    (CUSTOM.replace("    Scale: 0.5\n", ""), "only a scale or an offset"),
    (CUSTOM.replace("QuantParam", "Quant"), "unknown key 'Quant'"),
])
def test_wrong_custom_io_is_named(tmp_path, text, words):
    (tmp_path / "io.yaml").write_text(text)
    p = program(tmp_path, "qnn-onnx-converter", "-i", DIGITS / "digits.onnx", "-b", "1", "-o",
                "m.cpp", "--custom_io", "io.yaml")
    assert p.returncode and words in p.stderr and "io.yaml:" in p.stderr, p.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["io.yaml"]


def test_float16_with_float32_at_the_ends(tmp_path):
    view = convert(tmp_path, DIGITS / "digits.onnx", "-b", "1", "--float_bitwidth", "16",
                   "--preserve_io", "datatype")
    kinds = {k: t["data_type"] for k, t in view["graph"]["tensors"].items()
             if t["data_type"] in (0x0216, 0x0232)}
    assert kinds.pop("image") == kinds.pop("probabilities") == 0x0232
    assert set(kinds.values()) == {0x0216}
    code, said = run(tmp_path, library(tmp_path), [image()], "Htp")
    assert code == 0, said
    want = reference(DIGITS / "digits.onnx", {"image": image()})[0]
    np.testing.assert_allclose(outputs(tmp_path, said)["probabilities"], want, atol=5e-3)


def test_calibration_of_a_model_that_flags_change(tmp_path):
    images = np.load(DIGITS / "images.npy").astype(np.float32)
    for i in range(8):
        images[i].tofile(tmp_path / f"{i}.raw")
    (tmp_path / "list.txt").write_text("".join(f"{i}.raw\n" for i in range(8)))
    view = convert(tmp_path, DIGITS / "digits.onnx", "--define_symbol", "N", "1", "--input_list",
                   "list.txt", "--out_node", "scores")
    assert any(t["data_type"] == 0x0408 for t in view["graph"]["tensors"].values())
    assert view["graph"]["tensors"]["scores"]["type"] == 1  # APP_READ


def test_overrides_and_float_fallback(tmp_path):
    one = [{"bitwidth": 16, "scale": 0.25, "offset": 0, "min": 0.0, "max": 16383.75,
            "is_symmetric": "False", "dtype": "int"}]
    (tmp_path / "o.json").write_text(json.dumps(
        {"version": "0.6.1", "activation_encodings": {"x": one, "c1": one, "nothing": one},
         "param_encodings": {}}))
    p = program(tmp_path, "qnn-onnx-converter", "-i", DIGITS / "digits.onnx", "-b", "1", "-o",
                "m.cpp", "--quantization_overrides", "o.json", "--float_fallback")
    assert p.returncode == 0, p.stderr
    assert "Processed 2 quantization encodings" in p.stderr and "'nothing'" in p.stderr
    view = json.loads((tmp_path / "m_net.json").read_text())
    fixed = {k: t for k, t in view["graph"]["tensors"].items() if t["data_type"] == 0x0416}
    assert fixed and all(t["quant_params"]["scale_offset"] == {"scale": 0.25, "offset": 0}
                         for t in fixed.values())
    assert view["graph"]["tensors"]["scores"]["data_type"] == 0x0232
    assert len(convert(tmp_path, DIGITS / "digits_a8w8.onnx", "-b", "1", "--ignore_encodings")[
        "graph"]["nodes"]) > 3


def test_dry_run_lists_what_is_not_supported(tmp_path):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="fine"),
                               helper.make_node("Unheard", ["y"], ["z"], name="odd one",
                                                domain="no.where")],
                              "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13),
                                                      helper.make_opsetid("no.where", 1)],
                                ir_version=8), tmp_path / "a.onnx")
    before = sorted(tmp_path.iterdir())
    p = program(tmp_path, "qnn-onnx-converter", "-i", "a.onnx", "--dry_run")
    assert p.returncode == 3 and "odd one" in p.stdout and "fine" not in p.stdout
    assert "1 of 2 nodes are not supported" in p.stdout
    p = program(tmp_path, "qnn-onnx-converter", "-i", "a.onnx", "--dry_run", "debug")
    assert p.returncode == 3 and "fine" in p.stdout
    p = program(tmp_path, "qnn-onnx-converter", "-i", "a.onnx")
    assert p.returncode == 3 and "odd one" in p.stderr and len(p.stderr.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("args, code, words", [
    (["-i", "digits.onnx"], 2, "dimension 0 (N) has no value"),
    ([], 2, "--input_network is needed"),
    (["-i", "no.onnx"], 4, "no.onnx"),
    (["-i", "a.tflite"], 4, "TensorFlow Lite models are not converted"),
    (["-i", "a.pt"], 4, "PyTorch models are not converted"),
    (["-i", "a.pb"], 4, "TensorFlow models are not converted"),
    (["-i", "digits.onnx", "-d", "picture", "1,1,8,8"], 2, "no such input"),
    (["-i", "digits.onnx", "-d", "image", "1,x"], 2, "expected positive numbers"),
    (["-i", "digits.onnx", "-b", "1", "--input_dtype", "image", "uint8"], 2, "has float32"),
    (["-i", "digits.onnx", "-b", "1", "--input_layout", "image", "NFC"], 2, "no layout of 4"),
    (["-i", "digits.onnx", "-b", "1", "--out_node", "nothing"], 4, "no node of the model makes it"),
    (["-i", "digits.onnx", "-b", "1", "--op_package_lib", "a"], 2, "LIBRARY:PROVIDER"),
    (["-i", "digits.onnx", "-b", "1", "--op_package_lib", "/no.so:p"], 4, "/no.so:p"),
    (["-i", "digits.onnx", "-b", "1", "-opc", "no.xml"], 4, "no.xml"),
    (["-i", "digits.onnx", "--quantization_overrides", "a.json"], 2,
     "--quantization_overrides needs --input_list, or --float_fallback"),
    (["-i", "digits.onnx", "--float_fallback", "--input_list", "a"], 2, "exclude each other"),
    (["-i", "digits.onnx", "--float_fallback", "--ignore_encodings"], 2, "exclude each other"),
    (["-i", "digits.onnx", "-b", "1", "--float_fallback", "--quantization_overrides", "a.json"], 4,
     "a.json"),
    (["-i", "digits.onnx", "-t", "image", "opaque"], 2, "--input_type is not supported"),
    (["-i", "digits.onnx", "-b", "1", "--custom_io", "a.yaml"], 4, "a.yaml"),
    (["-i", "digits.onnx", "-b", "1", "-e", "image", "rgb"], 2, "needs 3 channels"),
    (["-i", "digits.onnx", "--float_bw", "8"], 2, "32 or 16"),
    (["-i", "digits.onnx", "--export_format", "dlc"], 2, "qairt-converter writes DLC files"),
    (["-i", "digits.onnx", "--preserve_io", "image"], 2, "expected layout or datatype"),
    (["-i", "digits.onnx", "--preserve_io", "layout", "image", "--preserve_io", "datatype"], 2,
     "exclude each other"),
    (["-i", "digits.onnx", "--bias_bw", "8"], 2, "--bias_bitwidth 8 is not supported"),
    (["-i", "digits.onnx", "-b", "1", "--input_list", "a", "--algorithms", "amp"], 2,
     "--algorithms amp is not supported"),
    (["-i", "digits.onnx", "--unheard_of"], 2, "unknown flag"),
])
def test_wrong_words_are_named(tmp_path, args, code, words):
    (tmp_path / "digits.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
    p = program(tmp_path, "qnn-onnx-converter", *args)
    assert p.returncode == code and words in p.stderr, p.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["digits.onnx"]


@pytest.mark.parametrize("args, code, words", [
    (["-c", "no.cpp"], 4, "no.cpp"),
    (["-c", "a.cpp", "-b", "no.bin"], 4, "no.bin"),
    (["-c", "a.cpp", "-t", "windows"], 2, "known are "),
    (["-c", "a.cpp", "-l", "a/b"], 2, "a name without a folder"),
    (["-c", "a.cpp"], 1, "a.cpp: "),
    ([], 2, "-c is needed"),
])
def test_libraries_that_are_not_built(tmp_path, args, code, words):
    (tmp_path / "a.cpp").write_text("this is no C++\n")
    (tmp_path / "include").symlink_to(ROOT / "include")
    p = program(tmp_path, "qnn-model-lib-generator", *args, env={"QNN_SDK_ROOT": str(tmp_path)})
    assert p.returncode == code and words in p.stderr, p.stderr
    assert not list(tmp_path.rglob("*.so*"))
