# SPDX-License-Identifier: MIT
"""What a model declares against what there is: the provider takes no shape on trust.

A context model is compared with its binary when it is loaded; the values of every run are compared
with what the graph reads and writes, before it gets a pointer to them.
"""
import numpy as np
import onnx
import onnxruntime as ort
import pytest

from provider import HTP, close, cpu_session, helper, model, session
from test_context_model import attributes, context_nodes, generate

node = helper.make_node
F, I64 = np.float32, np.int64
BIG = 1 << 20


def relu(shape, dtype=F):
    return model([node("Relu", ["x"], ["y"], "r")], [("x", dtype, shape)], [("y", dtype, shape)])


def declare(path, name, dtype, shape):
    """The model with another declaration of an input or output."""
    m = onnx.load(path)
    (found,) = [i for i in [*m.graph.input, *m.graph.output] if i.name == name]
    found.CopyFrom(helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
    onnx.save(m, path)


def fails(path, *words, **more):
    with pytest.raises(Exception) as raised:
        session(str(path), HTP, **more)
    for word in (*words, "partition '", "cannot be used", "make it anew", "INVALID_GRAPH"):
        assert word in str(raised.value)


# --- context models

@pytest.mark.parametrize("embed", [0, 1])
@pytest.mark.parametrize("name, kind", [("x", "input"), ("y", "output")])
@pytest.mark.parametrize("shape, words", [
    ([], "[]"), ([1], "[1]"), ([BIG + 1], f"[{BIG + 1}]"), ([1, BIG], f"[1,{BIG}]"),
    ([2, BIG // 2], f"[2,{BIG // 2}]"), ([0], "[0]"), (["n", "m"], "[?,?]")])
def test_a_context_model_whose_declared_shape_is_not_the_graph_s_is_refused(
        tmp_path, embed, name, kind, shape, words):
    path = tmp_path / "c.onnx"
    generate(relu([BIG]), path, embed)
    declare(path, name, F, shape)
    fails(path, "c.onnx", f"{kind} '{name}'", f"declares float32 {words}",
          f"has float32 [{BIG}]")


@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.uint32, I64])
def test_a_context_model_whose_declared_type_is_not_the_graph_s_is_refused(tmp_path, name, dtype):
    path = tmp_path / "c.onnx"
    generate(relu([8]), path, 1)
    declare(path, name, dtype, [8])
    fails(path, f"'{name}'", np.dtype(dtype).name, "has float32 [8]")


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_context_model_may_declare_float64_for_float32(tmp_path, name):
    """As with 64-bit integers: the graph computes in 32 bits, values are converted."""
    path = tmp_path / "c.onnx"
    generate(relu([8]), path, 1)
    declare(path, name, np.float64, [8])
    x = np.arange(-4, 4, dtype=np.float64 if name == "x" else F)
    y, = session(str(path), HTP).run(None, {"x": x})
    assert y.dtype == (np.float64 if name == "y" else F)
    assert y.tolist() == np.maximum(x, 0).tolist()


@pytest.mark.parametrize("shape", [None, ["n"], [8]])
@pytest.mark.parametrize("name", ["x", "y"])
def test_what_is_left_open_is_what_the_graph_has(tmp_path, name, shape):
    path = tmp_path / "c.onnx"
    generate(relu([8]), path, 1)
    declare(path, name, F, shape)
    s = session(str(path), HTP)
    x = np.arange(-4, 4, dtype=F)
    assert s.run(None, {"x": x})[0].tolist() == np.maximum(x, 0).tolist()


@pytest.mark.parametrize("shape", [None, ["n"]])
def test_a_value_of_another_shape_fails_its_run_alone(tmp_path, shape):
    path = tmp_path / "c.onnx"
    generate(relu([8]), path, 1)
    declare(path, "x", F, shape)
    s, good = session(str(path), HTP), np.arange(-4, 4, dtype=F)
    for x in (good[:1], good[:0], np.ones(9, F), np.ones((8, 1), F), np.ones([], F)):
        if shape and x.ndim != 1:
            continue  # the host's own words
        with pytest.raises(Exception) as raised:
            s.run(None, {"x": x})
        for word in ("c.onnx", "input 'x'", str(list(x.shape)).replace(" ", ""), "[8]", "declares"):
            assert word in str(raised.value)
        assert s.run(None, {"x": good})[0].tolist() == np.maximum(good, 0).tolist()


def test_a_scalar_stays_one_in_a_context_model(tmp_path):
    path = tmp_path / "c.onnx"
    generate(relu([]), path, 1)
    assert session(str(path), HTP).run(None, {"x": np.array(-2, F)})[0].shape == ()
    for shape in ([2], [1, 1], [0]):
        declare(path, "y", F, shape)
        fails(path, "output 'y'", "has float32 [1]")


# --- value_info

def behind(first, given, declared, dtype=F):
    """What a node makes that is left to the host, declared so, and read by one that is taken."""
    nodes = [first, node("Add", ["a", "one"], ["y"], "add")]
    return model(nodes, given, [("y", dtype, None)], [("one", np.ones(1, dtype))],
                 known=[("a", dtype, declared)])


def compress(declared):
    return behind(node("Compress", ["x", "c"], ["a"], "data", axis=0),
                  [("x", F, [6]), ("c", bool, [6])], declared)


FEED = {"x": np.arange(6, dtype=F), "c": np.array([1, 0, 1, 0, 0, 1], bool)}
OPEN = [
    (compress, FEED, [3]),
    (lambda d: behind(node("NonZero", ["x"], ["a"], "data"), [("x", F, [6])], d, I64),
     {"x": FEED["x"]}, [1, 5]),
    (lambda d: behind(node("BlackmanWindow", ["n"], ["a"], "data"), [("n", I64, [])], d),
     {"n": np.array(7, I64)}, [7]),
    (lambda d: behind(node("Range", ["f", "t", "s"], ["a"], "data"),
                      [("f", F, []), ("t", F, []), ("s", F, [])], d),
     {k: np.array(v, F) for k, v in (("f", 0), ("t", 4), ("s", 1))}, [4]),
    (lambda d: behind(node("ReduceSum", ["x", "axes"], ["a"], "data"),
                      [("x", F, [3, 3]), ("axes", I64, [1])], d),
     {"x": np.arange(9, dtype=F).reshape(3, 3), "axes": np.array([1], I64)}, [3, 1]),
]


@pytest.mark.parametrize("options", [HTP, {"backend_type": "cpu"}], ids=["htp", "cpu"])
@pytest.mark.parametrize("make, feed, real", OPEN,
                         ids=["compress", "nonzero", "window", "range", "reducesum"])
def test_shapes_that_depend_on_data_are_right_or_refused(make, feed, real, options):
    """Overstated, understated, turned, as it is, and open."""
    wrong = [[BIG if d == max(real) else d for d in real], [1] * len(real)]
    if len(real) == 2:
        wrong.append(real[::-1])
    refused = 0
    for declared in [*wrong, real, ["m", "n"][:len(real)]]:
        net = make(declared)
        s = session(net, options, fallback=True, level=4)
        want = cpu_session(net).run(None, feed)[0]
        assert list(want.shape) == real
        try:
            got = s.run(None, feed)[0]
        except Exception as e:
            assert declared in wrong
            for word in (*(str(d).replace(" ", "") for d in (declared, real)), "input 'a'",
                         "partition '", "correct or remove"):
                assert word in str(e)
            refused += 1
        else:  # the host may know better than the model says
            assert close(got, want, 2e-3)
    assert refused >= 1


@pytest.mark.parametrize("options", [HTP, {"backend_type": "cpu"}], ids=["htp", "cpu"])
def test_a_shape_of_run_time_is_not_that_which_is_declared(options):
    """Windows of an image are one op, for which declared shapes were believed."""
    nodes = [node("Reshape", ["x", "s"], ["a"], "first"),
             node("Transpose", ["a"], ["b"], "turn", perm=[0, 1, 3, 2, 4, 5]),
             node("Reshape", ["b", "four"], ["y"], "last")]
    net = model(nodes, [("x", F, [2, 8, 12, 5]), ("s", I64, [6])], [("y", F, [12, 4, 4, 5])],
                [("four", np.array([12, 4, 4, 5]))], known=[("a", F, [2, 2, 4, 3, 4, 5])])
    s, x = session(net, options, fallback=True, level=4), np.arange(960, dtype=F) % 97
    for real in ([2, 2, 4, 3, 4, 5], [2, 4, 2, 3, 4, 5], [2, 2, 4, 4, 3, 5]):
        feed = {"x": x.reshape(2, 8, 12, 5), "s": np.array(real, I64)}
        try:
            got = s.run(None, feed)[0]
        except Exception as e:
            assert "input 'a'" in str(e) and real != [2, 2, 4, 3, 4, 5]
        else:
            assert np.array_equal(got, cpu_session(net).run(None, feed)[0])


def test_an_output_that_is_declared_otherwise_has_the_shape_that_it_has():
    nodes = [node("Relu", ["x"], ["y"], "r"), node("Transpose", ["x"], ["z"], "t", perm=[1, 0])]
    net = model(nodes, [("x", F, [2, 3])], [("y", F, ["a", "b"]), ("z", F, ["c", "d"])])
    x = np.arange(6, dtype=F).reshape(2, 3)
    for s in (session(net, HTP), cpu_session(net)):
        y, z = s.run(None, {"x": x})
        assert y.tolist() == x.tolist() and z.tolist() == x.T.tolist()


def inside(kind, op, constants=()):
    """A tensor that comes in an optional value or a sequence, and its reader, which is taken."""
    wrap = {"optional": helper.make_optional_type_proto,
            "sequence": helper.make_sequence_type_proto}[kind]
    held = helper.make_value_info("o", wrap(helper.make_tensor_type_proto(1, [4])))
    graph = helper.make_graph(
        [node(op, ["o", *(k for k, _ in constants)], ["e"], "get"), node("Relu", ["e"], ["y"])],
        "g", [held], [helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(np.array(v), k) for k, v in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
                             ).SerializeToString()


def test_tensors_of_sequences_and_optional_values_are_right_or_refused():
    x = F([-1, 2, -3, 4])
    s = session(inside("sequence", "SequenceAt", [("i", 0)]), HTP, fallback=True, level=4)
    assert s.run(None, {"o": [x, x[:1]]})[0].tolist() == [0, 2, 0, 4]
    for bad in ([x[:2]], [np.ones(BIG, F)], [], [x.reshape(2, 2)]):
        with pytest.raises(Exception):
            s.run(None, {"o": bad})
    assert s.run(None, {"o": [x]})[0].tolist() == [0, 2, 0, 4]
    s = session(inside("optional", "OptionalGetElement"), HTP, fallback=True, level=4)
    for bad in (None, x[:2], x.reshape(2, 2)):
        with pytest.raises(Exception):
            s.run(None, {"o": bad})
    assert s.run(None, {"o": x})[0].tolist() == [0, 2, 0, 4]


# --- outputs that the application brings

def test_a_bound_output_of_another_shape_fails_its_run_alone():
    s, x = session(relu([2, 6]), HTP), np.arange(12, dtype=F).reshape(2, 6)
    for shape, dtype in (([2, 6], np.float64), ([6, 2], F), ([12], F), ([1], F), ([2, 7], F),
                         ([0], F), ([2, 6], np.uint8)):
        bound = s.io_binding()
        bound.bind_cpu_input("x", x)
        given = ort.OrtValue.ortvalue_from_numpy(np.full(shape, 7, dtype))
        bound.bind_ortvalue_output("y", given)
        with pytest.raises(Exception):
            s.run_with_iobinding(bound)
        assert (given.numpy() == 7).all()
    bound.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(np.zeros((2, 6), F)))
    s.run_with_iobinding(bound)
    assert np.array_equal(bound.copy_outputs_to_cpu()[0], x)


def test_rows_that_a_binary_finds_and_the_model_does_not_expect_are_an_error(tmp_path):
    boxes = F([[[0, 0, 1, 1], [0, 0, 1, 1.01], [5, 5, 6, 6]]])
    net = model([node("NonMaxSuppression", ["b", "s", "m", "t"], ["y"], "nms")],
                [("b", F, [1, 3, 4]), ("s", F, [1, 1, 3])], [("y", I64, ["n", 3])],
                [("m", np.array([3], I64)), ("t", F([0.5]))])
    feed, path = {"b": boxes, "s": F([[[0.9, 0.8, 0.7]]])}, tmp_path / "c.onnx"
    first = generate(net, path, 1)
    want = cpu_session(net).run(None, feed)[0]
    assert want.shape == (2, 3) and np.array_equal(first.run(None, feed)[0], want)
    assert np.array_equal(session(str(path), HTP).run(None, feed)[0], want)
    declare(path, "y", I64, [3, 3])
    with pytest.raises(Exception, match="output 'y': the graph found 2 rows, the model declares 3"):
        session(str(path), HTP).run(None, feed)


def test_outputs_of_a_binary_that_nobody_reads_have_room_all_the_same(tmp_path):
    net = model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["z"])], [("x", F, [BIG])],
                [("y", F, [BIG]), ("z", F, [BIG])])
    path, x = tmp_path / "c.onnx", np.random.default_rng(1).standard_normal(BIG).astype(F)
    generate(net, path, 1)
    m = onnx.load(path)
    (z,) = [i for i in m.graph.output if i.name == "z"]
    m.graph.value_info.append(z)
    m.graph.output.remove(z)
    onnx.save(m, path)
    assert close(session(str(path), HTP).run(None, {"x": x})[0], np.maximum(x, 0), 1e-3)
    m.graph.node[0].output[:] = ["" if n == "z" else n for n in m.graph.node[0].output]
    onnx.save(m, path)
    assert close(session(str(path), HTP).run(None, {"x": x})[0], np.maximum(x, 0), 1e-3)


def test_a_graph_whose_input_the_node_does_not_give_is_refused(tmp_path):
    net = model([node("Add", ["x", "w"], ["y"])], [("x", F, [4]), ("w", F, [4])], [("y", F, [4])])
    path = tmp_path / "c.onnx"
    generate(net, path, 1)
    whole = onnx.load(path)
    constant = onnx.ModelProto.FromString(whole.SerializeToString())
    del constant.graph.input[1]
    constant.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(4, F), "w"))
    missing = onnx.ModelProto.FromString(constant.SerializeToString())
    del missing.graph.initializer[:]
    missing.graph.node[0].input.pop()
    for m in (constant, missing):
        onnx.save(m, path)
        with pytest.raises(Exception, match="input 'w'"):
            session(str(path), HTP)
