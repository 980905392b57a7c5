# SPDX-License-Identifier: MIT
"""`quern.quantize`: its arguments against ONNX Runtime's, what it writes, and that it runs well."""
import inspect
import json
import logging
import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType
from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                              qnn_preprocess_model)

from ort_models import SHAPE, conv_net, images, sqnr, weights

pytestmark = pytest.mark.quantizer
DATA = [{"x": x} for x in images(3, 8)]


@pytest.fixture
def q(quern):
    import quern.quantize
    return quern.quantize


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(conv_net(seed=1))
    return path


def model(nodes, constants=(), opset=17, shape=(1, 3, 8, 8)):
    """A file's worth of a graph from x to y; nodes are (op, inputs, output, attributes)."""
    made = [helper.make_node(op, ins, [out], name=f"{op}_{out}", **more)
            for op, ins, out, more in nodes]
    graph = helper.make_graph(
        made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def constant(name, *shape, seed=0):
    return weights(np.random.default_rng(seed), name, *shape)


def encodings(path):
    """(scale, zero point) of each quantized tensor, by the name of the float one."""
    graph = onnx.load(path).graph
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    return {x.replace("_QuantizeLinear_Input", ""): (values[scale], values[zero])
            for x, scale, zero in (n.input for n in graph.node if n.op_type == "QuantizeLinear")}


def codes(path, name):
    """The stored codes of a constant, and how many scales they have."""
    graph = onnx.load(path).graph
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    return values[name + "_quantized"], np.size(values[name + "_scale"])


def default_of(value):
    names = {QuantType.QUInt8: "uint8", CalibrationMethod.MinMax: "minmax"}
    return names.get(value, value) if isinstance(value, (QuantType, CalibrationMethod)) else value


def test_config_has_every_argument_and_default_of_onnxruntime(q):
    theirs = inspect.signature(get_qnn_qdq_config).parameters.values()
    ours = inspect.signature(q.config).parameters.values()
    assert [(p.name, p.default) for p in ours] == [(p.name, default_of(p.default)) for p in theirs]


def test_preprocess_has_every_argument_and_default_of_onnxruntime(q):
    theirs = list(inspect.signature(qnn_preprocess_model).parameters.values())[2:]
    ours = list(inspect.signature(q.preprocess).parameters.values())[2:]
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


def test_config_says_what_onnxruntime_would(q, net):
    ours, theirs = q.config(net, DATA), get_qnn_qdq_config(net, q._Reader(DATA, q._load(net).graph))
    for name, value in vars(theirs).items():
        if name == "calibration_data_reader":
            continue
        same = sorted if name == "op_types_to_quantize" else lambda x: x
        assert same(getattr(ours, name)) == same(value), name
    assert ours.extra_options["MinimumRealRange"] == 0.0001
    assert ours.extra_options["DedicatedQDQPair"] is False
    assert "Cast" not in ours.op_types_to_quantize


@pytest.mark.parametrize("argument, value, where, want", [
    ("calibrate_method", "percentile", "calibrate_method", CalibrationMethod.Percentile),
    ("activation_type", "int16", "activation_type", QuantType.QInt16),
    ("activation_type", QuantType.QInt8, "activation_type", QuantType.QInt8),
    ("weight_type", "int8", "weight_type", QuantType.QInt8),
    ("per_channel", True, "per_channel", True),
    ("nodes_to_exclude", ("Conv_c",), "nodes_to_exclude", ["Conv_c"]),
    ("op_types_to_quantize", ("Conv",), "op_types_to_quantize", ["Conv"]),
    ("calibration_providers", ("CPUExecutionProvider",), "calibration_providers",
     ["CPUExecutionProvider"]),
    ("activation_symmetric", True, "ActivationSymmetric", True),
    ("weight_symmetric", True, "WeightSymmetric", True),
    ("keep_removable_activations", True, "QDQKeepRemovableActivations", True),
    ("stride", 2, "CalibStridedMinMax", 2),
    ("init_overrides", {"c": "uint16"}, "UseQDQContribOps", True)])
def test_each_argument_of_config_has_its_effect(q, argument, value, where, want):
    float_net = model([("Conv", ["x", "w"], "c", {}), ("Relu", ["c"], "y", {})],
                      [constant("w", 4, 3, 3, 3)])
    made = q.config(float_net, [{"x": np.zeros((1, 3, 8, 8), np.float32)}], **{argument: value})
    found = getattr(made, where) if hasattr(made, where) else made.extra_options[where]
    assert found == want


@pytest.mark.parametrize("op, kind, scale, zero", [
    ("Sigmoid", "uint16", 1 / 65536, 0), ("Sigmoid", "int16", 1 / 32768, 0),
    ("Tanh", "uint16", 1 / 32768, 32768), ("Tanh", "int16", 1 / 32768, 0)])
def test_16_bit_sigmoid_and_tanh_get_the_npus_encodings(q, tmp_path, op, kind, scale, zero):
    onnx.save(model([("Conv", ["x", "w"], "c", {}), (op, ["c"], "y", {})],
                    [constant("w", 4, 3, 3, 3)]), tmp_path / "m.onnx")
    x = [{"x": v} for v in np.random.default_rng(1).normal(size=(4, 1, 3, 8, 8)).astype(np.float32)]
    made = q.config(tmp_path / "m.onnx", x, activation_type=kind, weight_type="int8")
    found = made.extra_options["TensorQuantOverrides"]["y"][0]
    assert (found["scale"], found["zero_point"]) == (np.float32(scale), zero)
    if kind == "uint16":
        q.quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", x, "a16w8", engine="onnxruntime")
        assert encodings(tmp_path / "q.onnx")["y"] == (np.float32(scale), zero)


@pytest.mark.parametrize("precision, dtype", [("a8w8", np.int8), ("a16w8", np.int8)])
def test_matmul_weights_have_8_bits_and_one_scale(q, tmp_path, precision, dtype):
    onnx.save(model([("MatMul", ["x", "w"], "y", {})], [constant("w", 8, 6)]), tmp_path / "m.onnx")
    x = [{"x": np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)}]
    q.quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", x, precision, engine="onnxruntime")
    found, scales = codes(tmp_path / "q.onnx", "w")
    assert (found.dtype, scales) == (dtype, 1)


def test_layer_norm_scales_have_8_bits_beside_16_bit_activations(q, tmp_path):
    onnx.save(model([("LayerNormalization", ["x", "s", "b"], "y", {})],
                    [constant("s", 8), constant("b", 8, seed=1)]), tmp_path / "m.onnx")
    x = [{"x": np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)}]
    q.quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", x, "a16w8", per_channel=False)
    assert codes(tmp_path / "q.onnx", "s")[0].dtype == np.int8


def test_convolutions_have_a_scale_per_channel_where_the_npu_takes_it(q, net, tmp_path):
    for precision, scales, dtype in (("a8w8", 8, np.int8), ("a16w16", 1, np.int16)):
        q.quantize(net, tmp_path / "q.onnx", DATA, precision, engine="onnxruntime")
        found, count = codes(tmp_path / "q.onnx", "w0")
        assert (count, found.dtype) == (scales, dtype)
    assert abs(found.astype(int)).max() <= 0x7F7F
    q.quantize(net, tmp_path / "q.onnx", DATA, per_channel=False)
    assert codes(tmp_path / "q.onnx", "w0")[1] == 1


def run(session, data):
    return np.stack([session.run(None, {"x": x})[0] for x in data])


@pytest.mark.provider
@pytest.mark.parametrize("precision, least", [("a8w8", 20), ("a16w8", 30), ("a16w16", 35),
                                              ("a16w4", 20)])
def test_a_float_model_is_quantized_and_runs(quern, q, net, tmp_path, precision, least):
    out = tmp_path / "q.onnx"
    assert q.quantize(net, out, DATA, precision) == out
    s = quern.session(out, soc="sm8650", fallback=False, offload_graph_io_quantization=0)
    want = run(ort.InferenceSession(net, providers=["CPUExecutionProvider"]), images(4, 4))
    assert sqnr(run(s, images(4, 4)), want) > least


def attention_net(path, width=32):
    """Normalization, attention of one head and a gated layer, with two residuals."""
    norm, size = {"axis": -1}, (width, width)
    nodes = [("LayerNormalization", ["x", "s1", "b1"], "h", norm)]
    for name in "qkv":
        nodes += [("MatMul", ["h", "w" + name], name + "m", {}),
                  ("Add", [name + "m", "b1"], name, {})]
    nodes += [("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}), ("MatMul", ["q", "kt"], "a", {}),
              ("Mul", ["a", "root"], "as", {}), ("Softmax", ["as"], "p", {"axis": -1}),
              ("MatMul", ["p", "v"], "o", {}), ("Add", ["o", "x"], "r", {}),
              ("LayerNormalization", ["r", "s2", "b1"], "h2", norm),
              ("MatMul", ["h2", "w1"], "m1", {}), ("Sigmoid", ["m1"], "g", {}),
              ("Mul", ["m1", "g"], "f", {}), ("MatMul", ["f", "w2"], "m2", {}),
              ("Add", ["m2", "r"], "y", {})]
    rng = np.random.default_rng(5)
    scales = [(name, 1 + 0.1 * rng.normal(size=width)) for name in ("s1", "s2")]
    scales += [("b1", 0.1 * rng.normal(size=width)), ("root", width ** -0.5)]
    onnx.save(model(nodes, [constant(f"w{name}", *size, seed=i) for i, name in enumerate("qkv12")]
                    + [numpy_helper.from_array(np.float32(v), k) for k, v in scales],
                    shape=(1, 16, width)), path)
    return path


@pytest.mark.provider
@pytest.mark.parametrize("precision, least", [("a8w8", 25), ("a16w8", 38), ("a16w16", 60),
                                              ("a16w4", 20)])
def test_attention_is_quantized_and_runs(quern, q, tmp_path, precision, least):
    source = attention_net(tmp_path / "m.onnx")
    data = np.random.default_rng(6).normal(size=(12, 1, 16, 32)).astype(np.float32)
    q.quantize(source, tmp_path / "q.onnx", [{"x": x} for x in data], precision)
    s = quern.session(tmp_path / "q.onnx", soc="sm8650", fallback=False)
    want = run(ort.InferenceSession(source, providers=["CPUExecutionProvider"]), data)
    assert sqnr(run(s, data), want) > least


def test_4_bits_are_4_bits_and_come_from_the_program(q, tmp_path):
    source = attention_net(tmp_path / "m.onnx")
    data = np.random.default_rng(6).normal(size=(4, 1, 16, 32)).astype(np.float32)
    for precision, given in (("a16w4", [{"x": x} for x in data]), ("w4", None)):
        q.quantize(source, tmp_path / "q.onnx", given, precision)
        m = onnx.load(tmp_path / "q.onnx")
        facts = {f.key: f.value for f in m.metadata_props}
        assert facts["quern.scheme"] == precision
        assert sum(t.data_type == onnx.TensorProto.INT4 for t in m.graph.initializer) == 5


@pytest.mark.parametrize("precision", ["a8w8", "a16w16", "w8"])
def test_the_program_quantizes_unless_the_tools_are_asked_for(q, net, tmp_path, precision):
    data = None if precision == "w8" else DATA
    out = q.quantize(net, tmp_path / "q.onnx", data, precision)
    facts = {f.key: f.value for f in onnx.load(out).metadata_props}
    assert facts["quern.scheme"] == precision
    if data:
        out = q.quantize(net, tmp_path / "q.onnx", data, precision, engine="onnxruntime")
        assert "quern.scheme" not in {f.key for f in onnx.load(out).metadata_props}


def test_single_tensors_and_encodings_go_to_the_program(q, tmp_path):
    source, file = attention_net(tmp_path / "m.onnx"), tmp_path / "e.json"
    data = [{"x": np.random.default_rng(6).normal(size=(1, 16, 32)).astype(np.float32)}]
    q.quantize(source, tmp_path / "a.onnx", data, bits={"f": 16}, floats=["p"],
               export_encodings=file)
    types = {name: str(zero.dtype) for name, (_, zero) in encodings(tmp_path / "a.onnx").items()}
    listed = {e["name"]: (e["dtype"], e["bw"])
              for e in json.loads(file.read_text())["activation_encodings"]}
    assert listed["f"] == ("INT", 16) and listed["x"] == ("INT", 8) and listed["p"][0] == "FLOAT"
    assert {"uint8", "uint16"} <= set(types.values())
    q.quantize(source, tmp_path / "b.onnx", encodings=file)
    assert encodings(tmp_path / "a.onnx").keys() == encodings(tmp_path / "b.onnx").keys()
    with pytest.raises(ValueError, match="no node or tensor 'nix'"):
        q.quantize(source, tmp_path / "c.onnx", data, floats=["nix"])


def test_several_models_go_into_a_folder(q, tmp_path):
    nets = [attention_net(tmp_path / name) for name in ("a.onnx", "b.onnx")]
    data = [{"x": np.random.default_rng(6).normal(size=(1, 16, 32)).astype(np.float32)}]
    out = q.quantize(nets, tmp_path / "both", data, "a16w8")
    assert sorted(f.name for f in out.iterdir()) == ["a.onnx", "b.onnx", "weights.data"]


@pytest.mark.parametrize("given, words", [
    ({"precision": "a16w5"}, "a16w5"), ({"engine": "aimet"}, "engine.*aimet"),
    ({"engine": "quern", "overrides": {"h": "uint8"}}, "overrides.*quern quantize"),
    ({"block": 32, "engine": "onnxruntime"}, "does not go with"),
    ({"engine": "quern", "data": []}, "at least one"),
    ({"engine": "quern", "data": [{"x": np.full((1, 16, 32), np.nan, np.float32)}]}, "finite"),
    ({"engine": "quern", "block": 33}, "--block 33")])
def test_what_the_program_does_not_do_is_an_error(q, tmp_path, given, words):
    source = attention_net(tmp_path / "m.onnx")
    arguments = {"data": [{"x": np.zeros((1, 16, 32), np.float32)}], **given}
    with pytest.raises(ValueError, match=words):
        q.quantize(source, tmp_path / "q.onnx", **arguments)
    assert not (tmp_path / "q.onnx").exists()


def offset_net(path):
    """A sum far from zero between two convolutions: 8 bits are too few for it, 16 are not."""
    onnx.save(model([("Conv", ["x", "w0"], "c", {"pads": [1, 1, 1, 1]}),
                     ("Add", ["c", "far"], "sum", {}), ("Sub", ["sum", "far"], "d", {}),
                     ("Relu", ["d"], "r", {}), ("Conv", ["r", "w1"], "y", {})],
                    [constant("w0", 8, 3, 3, 3), constant("w1", 8, 8, 1, 1, seed=1),
                     numpy_helper.from_array(np.float32(200), "far")], shape=SHAPE), path)
    return path


@pytest.mark.provider
def test_one_island_of_16_bits_helps_where_8_are_too_few(quern, q, tmp_path):
    source, got = offset_net(tmp_path / "m.onnx"), {}
    want = run(ort.InferenceSession(source, providers=["CPUExecutionProvider"]), images(4, 4))
    for name, overrides in (("plain", None), ("mixed", {"sum": "uint16"})):
        path = q.quantize(source, tmp_path / f"{name}.onnx", DATA, overrides=overrides,
                          engine="onnxruntime")
        s = quern.session(path, soc="sm8650", fallback=False, offload_graph_io_quantization=0)
        got[name] = sqnr(run(s, images(4, 4)), want)
    assert got["mixed"] > got["plain"] + 10, got
    types = {str(zero.dtype) for _, zero in encodings(tmp_path / "mixed.onnx").values()}
    assert types == {"uint8", "uint16"}


def test_overrides_convert_at_the_borders_of_the_island(q, tmp_path):
    source = offset_net(tmp_path / "m.onnx")
    made = q.config(source, DATA, init_overrides={"sum": "uint16"}).extra_options[
        "TensorQuantOverrides"]
    assert made["sum"][0]["quant_type"] == QuantType.QUInt16
    assert made["c"][0]["convert"]["quant_type"] == QuantType.QUInt16
    assert made["c"][0]["convert"]["recv_nodes"] == {"Add_sum"}
    assert made["d"][0]["quant_type"] == QuantType.QUInt16
    assert made["d"][0]["convert"]["quant_type"] == QuantType.QUInt8
    assert made["far"] == [{"quant_type": QuantType.QUInt16}]
    plain = q.config(source, DATA, init_overrides={"sum": "uint16"}, add_qtype_converts=False)
    assert list(plain.extra_options["TensorQuantOverrides"]) == ["sum"]


def test_an_override_may_be_an_encoding(q, net, tmp_path):
    given = {"r0": {"scale": 0.5, "zero_point": 3},
             "w0": [{"quant_type": QuantType.QInt8, "axis": 0, "symmetric": True}]}
    q.quantize(net, tmp_path / "q.onnx", DATA, overrides=given, keep_removable_activations=True)
    assert encodings(tmp_path / "q.onnx")["r0"] == (np.float32(0.5), 3)


@pytest.mark.parametrize("given, words", [
    ({"precision": "a8w9"}, "no precision 'a8w9'; did you mean 'a8w8'?"),
    ({"overrides": {"m00": "uint16"}}, "no tensor in the model 'm00'; did you mean 'm0'?"),
    ({"overrides": {"m0": "uint15"}}, "no type 'uint15'; did you mean 'uint16'?"),
    ({"overrides": {"m0": {"quant_typ": "uint8"}}},
     "no key of an override (tensor 'm0') 'quant_typ'; did you mean 'quant_type'?"),
    ({"nodes_to_exclude": ["qnn_preproc_node_99"]}, "no node in the model 'qnn_preproc_node_99'"),
    ({"op_types_to_quantize": ["Convv"]}, "no op type in the model 'Convv'; did you mean 'Conv'?"),
    ({"calibrate_method": "minimax"}, "no calibration method 'minimax'; did you mean 'minmax'?"),
    ({"shapes": {"z": [1]}}, "no input in the model 'z'; expected one of x"),
    ({"data": []}, "calibration needs at least one set of inputs"),
    ({"data": [DATA[0], {"X": DATA[0]["x"]}]},
     "no input in the model, which item 1 of the data has, 'X'; did you mean 'x'?"),
    ({"data": [{}]}, "item 0 of the data lacks input 'x'"),
    ({"data": [DATA[0]["x"]]}, "item 0 of the data is a ndarray; expected a dictionary"),
    ({"data": [{"x": DATA[0]["x"].astype(np.float64)}]},
     "item 0 of the data: input 'x' is float64; the model takes float32"),
    ({"data": [{"x": DATA[0]["x"][:, :2]}]},
     "input 'x' has shape [1, 2, 20, 17]; the model takes [1, 3, 20, 17]"),
    ({"data": [{"x": np.full([1, 3, 20, 17], np.nan, np.float32)}]},
     "item 0 of the data: input 'x' has values that are not finite")])
def test_what_is_wrong_is_told_in_a_sentence(q, net, tmp_path, given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        q.quantize(net, tmp_path / "q.onnx", **{"data": DATA, **given})
    assert not (tmp_path / "q.onnx").exists()


def test_files_that_cannot_be_are_told(q, net, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.onnx: there is no such model"):
        q.quantize(tmp_path / "nothing.onnx", tmp_path / "q.onnx", DATA)
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such folder"):
        q.quantize(net, tmp_path / "nowhere" / "q.onnx", DATA)
    with pytest.raises(ValueError, match="the output must be another file than the model"):
        q.quantize(net, net, DATA)
    with pytest.raises(TypeError, match="is the path of a file and not bytes"):
        q.quantize(b"model", tmp_path / "q.onnx", DATA)
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(ValueError, match="text.onnx is not an ONNX model"):
        q.quantize(tmp_path / "text.onnx", tmp_path / "q.onnx", DATA)


def gelu(path):
    onnx.save(model([("Div", ["x", "root"], "d", {}), ("Erf", ["d"], "e", {}),
                     ("Add", ["e", "one"], "a", {}), ("Mul", ["x", "a"], "m", {}),
                     ("Mul", ["m", "half"], "y", {})],
                    [numpy_helper.from_array(np.float32(v), k) for k, v in
                     (("root", 2 ** 0.5), ("one", 1), ("half", 0.5))]), path)
    return path


def test_preprocessing_fuses_what_qnn_has_one_op_for(q, tmp_path):
    source = gelu(tmp_path / "m.onnx")
    assert q.preprocess(source, tmp_path / "p.onnx") is True
    assert [n.op_type for n in onnx.load(tmp_path / "p.onnx").graph.node] == ["Gelu"]
    assert q.preprocess(tmp_path / "p.onnx", tmp_path / "again.onnx") is False
    assert not (tmp_path / "again.onnx").exists()  # though p.onnx has metadata, see below
    x = [{"x": np.ones((1, 3, 8, 8), np.float32)}]
    with pytest.raises(ValueError, match="tensor 'e' was fused into another op .* fuse=False"):
        q.quantize(source, tmp_path / "q.onnx", x, overrides={"e": "uint16"})
    q.quantize(source, tmp_path / "q.onnx", x, overrides={"e": "uint16"}, fuse=False)
    assert encodings(tmp_path / "q.onnx")["e"][1].dtype == np.uint16


def test_preprocessing_fixes_shapes_and_layouts(q, net, tmp_path):
    dynamic = onnx.load(net)
    dynamic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    assert q.preprocess(dynamic, tmp_path / "p.onnx", dynamic_input_shapes={"x": SHAPE},
                        inputs_to_make_channel_last=["x"])
    made = onnx.load(tmp_path / "p.onnx").graph
    assert [d.dim_value for d in made.input[0].type.tensor_type.shape.dim] == [1, 20, 17, 3]
    assert all(node.name for node in made.node)
    with pytest.raises(ValueError, match="no output in the model 'z'; did you mean|expected one"):
        q.preprocess(net, tmp_path / "p.onnx", outputs_to_make_channel_last=["z"])


def test_metadata_of_the_model_stay(q, tmp_path):
    source = onnx.load(gelu(tmp_path / "m.onnx"))
    source.metadata_props.add(key="names", value="cat, dog")
    before = source.SerializeToString()
    assert q.preprocess(source, tmp_path / "p.onnx")
    facts = {fact.key: fact.value for fact in onnx.load(tmp_path / "p.onnx").metadata_props}
    assert facts["names"] == "cat, dog" and set(facts) == {"names", "onnx.infer"}
    assert source.SerializeToString() == before


def test_a_reader_of_onnxruntime_is_taken(q, net, tmp_path):
    class Reader(CalibrationDataReader):
        def __init__(self):
            self.data = iter(DATA)

        def get_next(self):
            return next(self.data, None)

    a = q.quantize(net, tmp_path / "a.onnx", Reader())
    b = q.quantize(net, tmp_path / "b.onnx", iter(DATA))
    assert a.read_bytes() == b.read_bytes()


def test_advice_that_was_followed_is_not_given(q, net, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        q.quantize(net, tmp_path / "q.onnx", DATA, "a16w8")
    assert not caplog.records
