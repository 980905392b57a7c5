# SPDX-License-Identifier: MIT
"""What is done to a model before it is quantized: no result changes, and the quantizer copes."""
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.quantizer
R = np.random.default_rng(5)


def build(nodes, x_shape, y_shape, constants, opset=13):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y_shape)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def run(model, x):
    source = model if isinstance(model, str) else model.SerializeToString()
    return ort.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def kinds(model):
    return [n.op_type for n in model.graph.node]


def sqnr(got, want):
    return 10 * np.log10(np.sum(want ** 2) / max(np.sum((got - want) ** 2), 1e-30))


def floats(*shape):
    return R.standard_normal(shape).astype(np.float32)


def shared_bias():
    """The quantizer's second copy of `b` would be `b2`, which is a result here."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], "first", pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["a", "w", "b"], ["b2"], "second", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["b2"], ["y"], "relu")]
    return build(nodes, [1, 4, 8, 8], [1, 4, 8, 8],
                 {"w": floats(4, 4, 3, 3) / 4, "b": floats(4)}), floats(1, 4, 8, 8)


def bias_in_two_dimensions():
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "product")]
    return build(nodes, [3, 8], [3, 5], {"w": floats(8, 5), "b": floats(1, 5)}), floats(3, 8)


def shape_arithmetic():
    nodes = [helper.make_node("Shape", ["x"], ["s"], "shape"),
             helper.make_node("Cast", ["s"], ["f"], "to_float", to=TensorProto.FLOAT),
             helper.make_node("Mul", ["f", "twice"], ["g"], "scaled"),
             helper.make_node("Cast", ["g"], ["t"], "to_int", to=TensorProto.INT64),
             helper.make_node("Reshape", ["x", "t"], ["h"], "reshaped"),
             helper.make_node("Relu", ["h"], ["y"], "relu")]
    return build(nodes, [6, 8], [12, 4], {"twice": np.float32([2, 0.5])}), floats(6, 8)


def endless_limit():
    nodes = [helper.make_node("Relu", ["x"], ["a"], "relu"),
             helper.make_node("Max", ["low", "a"], ["m"], "max"),
             helper.make_node("Sigmoid", ["m"], ["y"], "sigmoid")]
    return build(nodes, [4, 8], [4, 8], {"low": np.float32(-np.inf)}), floats(4, 8)


def fast_norm(axis, clipped=True, moved=True):
    """A LayerNorm as Flax computes it, of values far from 0."""
    shape, n = [2, 32, 48], [2, 32, 48][axis]
    along = [n if i == axis else 1 for i in range(3)]
    one = [1 if i == axis else s for i, s in enumerate(shape)]
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["sum"], "sum", keepdims=0),
             helper.make_node("Mul", ["x", "x"], ["squares"], "squares"),
             helper.make_node("ReduceSum", ["squares", "axes"], ["sum2"], "sum2", keepdims=0),
             helper.make_node("Mul", ["sum", "inverse"], ["mean"], "mean"),
             helper.make_node("Mul", ["sum2", "inverse"], ["mean2"], "mean2"),
             helper.make_node("Mul", ["mean", "mean"], ["square"], "square"),
             helper.make_node("Sub", ["mean2", "square"], ["var0"], "var0"),
             helper.make_node("Max", ["zero", "var0"], ["var"], "var"),
             helper.make_node("Reshape", ["mean", "one"], ["mean_"], "mean_"),
             helper.make_node("Reshape", ["var" if clipped else "var0", "one"], ["var_"], "var_"),
             helper.make_node("Add", ["var_", "eps"], ["more"], "more"),
             helper.make_node("Sqrt", ["more"], ["root"], "root"),
             helper.make_node("Reciprocal", ["root"], ["inv"], "inv"),
             helper.make_node("Mul", ["inv", "gamma"], ["scale"], "scale"),
             helper.make_node("Sub", ["x", "mean_"], ["centred"], "centred"),
             helper.make_node("Mul", ["centred", "scale"], ["scaled"], "scaled"),
             helper.make_node("Add", ["scaled", "beta"], ["y"], "last")]
    constants = {"axes": np.int64([axis]), "inverse": np.float32(1 / n), "zero": np.float32(0),
                 "one": np.int64(one), "eps": np.float32(1e-6),
                 "gamma": floats(*along) + 2, "beta": floats(*along)}
    if not clipped:
        nodes = [n for n in nodes if n.output[0] != "var"]
    return build(nodes, shape, shape, constants), floats(*shape) + (40 if moved else 0)


CASES = {"shared_bias": shared_bias, "bias_in_two_dimensions": bias_in_two_dimensions,
         "shape_arithmetic": shape_arithmetic, "endless_limit": endless_limit,
         "norm_of_rows": lambda: fast_norm(2), "norm_of_columns": lambda: fast_norm(1),
         "norm_unclipped": lambda: fast_norm(2, clipped=False)}


@pytest.fixture
def tools(quern):
    from quern import _prepare
    return _prepare


@pytest.mark.parametrize("name", CASES)
def test_results_stay_and_the_quantized_model_is_good(tools, tmp_path, name):
    from quern.quantize import quantize
    model, x = CASES[name]()
    onnx.save(model, tmp_path / "m.onnx")
    want = run(model, x)
    ready = tools.prepare(tmp_path / "m.onnx", tmp_path / "ready.onnx")
    assert np.allclose(run(str(ready), x), want, rtol=1e-3, atol=1e-3)
    quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", [{"x": x}])
    assert sqnr(run(str(tmp_path / "q.onnx"), x), want) > 25


@pytest.mark.parametrize("axis, want", [(2, ["LayerNormalization"]),
                                        (1, ["Transpose", "LayerNormalization", "Transpose"])])
def test_a_fast_norm_is_one_node(tools, axis, want):
    model, x = fast_norm(axis)
    model.opset_import[0].version = 17
    exact = x.astype(np.float64)
    exact = (exact - exact.mean(axis, keepdims=True)) / np.sqrt(
        exact.var(axis, keepdims=True) + 1e-6)
    parts = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    tools.fuse_fast_norms(model)
    onnx.checker.check_model(model)
    assert kinds(model) == want
    assert np.allclose(run(model, x), exact * parts["gamma"] + parts["beta"], atol=1e-3)


def spoil(model, output, **changes):
    """Another input or op type for the node that makes a value."""
    node = next(n for n in model.graph.node if n.output[0] == output)
    node.op_type = changes.get("op", node.op_type)
    for i, name in changes.get("inputs", {}).items():
        node.input[i] = name


@pytest.mark.parametrize("output, changes", [
    ("square", {"inputs": {1: "mean2"}}), ("sum2", {"inputs": {0: "x"}}),
    ("mean2", {"inputs": {1: "eps"}}), ("centred", {"inputs": {0: "squares"}}),
    ("var0", {"op": "Add"}), ("var", {"inputs": {0: "inverse"}}),
    ("mean_", {"inputs": {0: "mean2"}})])
def test_what_only_looks_like_a_norm_stays(tools, output, changes):
    model, x = fast_norm(2, moved=False)
    model.opset_import[0].version = 17
    spoil(model, output, **changes)
    want = run(model, x)
    tools.fuse_fast_norms(model)
    assert "LayerNormalization" not in kinds(model)
    assert np.array_equal(run(model, x), want, equal_nan=True)


@pytest.mark.parametrize("axis, wrong", [(2, [2, 1, 24]), (1, [2, 24, 1])])
@pytest.mark.parametrize("output", ["mean_", "var_"])
def test_a_mean_that_meets_other_numbers_stays(tools, axis, wrong, output):
    model, _ = fast_norm(axis)
    for value in (model.graph.input[0], model.graph.output[0]):
        for i, n in enumerate((2, 24, 24)):
            value.type.tensor_type.shape.dim[i].dim_value = n
    sizes = {"axes": [axis], "one": [2, 1, 24] if axis == 1 else [2, 24, 1], "other": wrong}
    along = [24 if i == axis else 1 for i in range(3)]
    del model.graph.initializer[:]
    constants = {"inverse": np.float32(1 / 24), "zero": np.float32(0), "eps": np.float32(1e-6),
                 "gamma": floats(*along), "beta": floats(*along)}
    for name, value in [*constants.items(), *((k, np.int64(v)) for k, v in sizes.items())]:
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    model.opset_import[0].version = 17
    spoiled = onnx.ModelProto()
    spoiled.CopyFrom(model)
    spoil(spoiled, output, inputs={1: "other"})
    tools.fuse_fast_norms(spoiled)
    assert "LayerNormalization" not in kinds(spoiled)
    tools.fuse_fast_norms(model)
    assert "LayerNormalization" in kinds(model)


def test_limits_that_matter_stay(tools):
    for low in (np.float32(-1), np.float32([-np.inf] * 7 + [0])):
        nodes = [helper.make_node("Max", ["low", "x"], ["m"], "max"),
                 helper.make_node("Sigmoid", ["m"], ["y"], "sigmoid")]
        model = build(nodes, [4, 8], [4, 8], {"low": low})
        tools.drop_infinite_limits(model)
        assert kinds(model) == ["Max", "Sigmoid"]


def test_a_bias_of_one_node_keeps_its_name(tools):
    model, _ = bias_in_two_dimensions()
    model.graph.node[0].input[2] = "b"
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(floats(5), "b"))
    tools.own_biases(model)
    assert model.graph.node[0].input[2] == "b"
