# SPDX-License-Identifier: MIT
"""Nodes that the HTP does not take: they alone are left to others, and the log says it once."""
import json
import os
import subprocess

import numpy as np
import pytest

from provider import HTP, LIB, close, cpu_session, helper, model, session

F = np.float32


def reshape(x, y, shape):
    return helper.make_node("Reshape", [x, shape], [y], y)


def tiles(op, numbers, four, refused):
    """Repeated in 5 dimensions, as many as Tile has."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"), reshape("a", "b", "five"),
             helper.make_node(op, ["b", "more"], ["c"], "c"), reshape("c", "d", "four"),
             helper.make_node("Sigmoid", ["d"], ["y"], "y")]
    shapes = {"five": [2, 3, 1, 4, 5], "more": numbers, "four": four}
    return model(nodes, [("x", F, [2, 3, 4, 5])], [("y", F, four)],
                 [(k, np.array(v, np.int64)) for k, v in shapes.items()]), [2, 3, 4, 5], refused


def repeated_heads():
    """Heads of keys that several queries share: one dimension is repeated."""
    return tiles("Expand", [2, 3, 2, 4, 5], [2, 6, 4, 5], set())


def tiled():
    return tiles("Tile", [2] * 5, [4, 12, 8, 10], set())


def blocks(perm, refused):
    """An image in blocks; 6 dimensions between two Reshapes."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"), reshape("a", "b", "six"),
             helper.make_node("Transpose", ["b"], ["c"], "c", perm=perm),
             reshape("c", "d", "four"), helper.make_node("Sigmoid", ["d"], ["y"], "y")]
    shapes = {"six": [2, 2, 4, 3, 4, 5], "four": [12, 4, 4, 5]}
    return model(nodes, [("x", F, [2, 8, 12, 5])], [("y", F, [12, 4, 4, 5])],
                 [(k, np.array(v, np.int64)) for k, v in shapes.items()]), [2, 8, 12, 5], refused


def windows():
    """Two pairs of dimensions stay together: 4 are left."""
    return blocks([0, 1, 3, 2, 4, 5], set())


def turned():
    return blocks([5, 4, 3, 2, 1, 0], {"b", "c", "d"})


@pytest.mark.parametrize("make", [repeated_heads, tiled, windows, turned])
def test_only_what_is_not_taken_is_refused(make, capfd):
    net, shape, refused = make()
    x = np.random.default_rng(0).standard_normal(shape).astype(F)
    s = session(net, HTP, fallback=True, level=1)
    said = capfd.readouterr().err
    warned = {line.split("node '")[1].split("'")[0] for line in said.splitlines()
              if "is left to other providers" in line}
    assert warned == refused
    assert "[E:" not in said
    assert close(s.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0], 1e-3)


@pytest.mark.parametrize("options, words", [
    (HTP, "1 of 1 nodes in 1 partition on HTP of SM8650 (v75), floats as float16 ("),
    ({"backend_type": "htp", "htp_arch": "79"}, "on HTP of v79, floats as float16 ("),
    ({"backend_type": "htp"}, "on HTP without a target SoC, floats as float32 ("),
    ({"backend_type": "htp", "enable_htp_fp16_precision": "1"},
     "on HTP without a target SoC, floats as float32 ("),
    ({"backend_type": "cpu"}, "on CPU, floats as float32 ("),
])
def test_one_line_tells_where_and_how_nodes_are_computed(options, words, capfd):
    """A third is another number in float16: the line is what is computed."""
    net = model([helper.make_node("Div", ["x", "three"], ["y"])], [("x", F, [2])],
                [("y", F, [2])], [("three", np.array([3], F))])
    got = session(net, options, level=1).run(None, {"x": np.ones(2, F)})[0]
    lines = capfd.readouterr().err.splitlines()
    said = [line for line in lines if " nodes in " in line]
    assert len(said) == 1 and words in said[0]
    kind = np.float16 if "float16" in words else F
    assert (got == F(kind(1) / kind(3))).all()
    idle = [line for line in lines if "option enable_htp_fp16_precision has no effect" in line]
    assert len(idle) == ("enable_htp_fp16_precision" in options)


def test_a_soc_without_float16_is_said_to_compute_in_float32(capfd):
    session(quantized_sigmoid(), {"backend_type": "htp", "soc_model": "SM8350"}, fallback=True,
            level=1)
    said = [line for line in capfd.readouterr().err.splitlines() if " nodes in " in line]
    assert len(said) == 1 and "on HTP of SM8350 (v68), floats as float32 (" in said[0]


def quantized_sigmoid():
    """Quantized at its borders."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "d"),
             helper.make_node("Sigmoid", ["d"], ["e"], "e"),
             helper.make_node("QuantizeLinear", ["e", "s", "z"], ["r"], "r"),
             helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"], "last")]
    return model(nodes, [("x", F, [2, 3])], [("y", F, [2, 3])],
                 [("s", np.array(1 / 256, F)), ("z", np.array(0, np.uint8))])


def test_no_more_partitions_than_a_context_of_the_htp_has_graphs(capfd):
    """Each ReduceProd, which the HTP lacks, ends a partition; the smallest ones are left."""
    nodes, name = [], "x"
    for i in range(70):
        for k in range(1 if i in (3, 40) else 2):
            nodes.append(helper.make_node("Relu", [name], [f"r{i}_{k}"], f"r{i}_{k}"))
            name = f"r{i}_{k}"
        nodes.append(helper.make_node("ReduceProd", [name], [f"p{i}"], f"p{i}", axes=[1]))
        name = f"p{i}"
    net = model(nodes, [("x", F, [2, 1])], [(name, F, [2, 1])], opset=17)
    got = session(net, {"backend_type": "htp"}, fallback=True, level=1).run(
        None, {"x": np.array([[1], [2]], F)})[0]
    assert (got == [[1], [2]]).all()
    err = capfd.readouterr().err
    assert "in 64 partitions on HTP" in err
    left = [line for line in err.splitlines() if "at most 64 graphs" in line]
    assert len(left) == 2 + 2 * 4 and any("'r3_0'" in line for line in left)


def test_what_is_left_by_choice_is_told(capfd):
    session(quantized_sigmoid(), HTP, fallback=True, level=1)
    said = capfd.readouterr().err
    for name in ("first", "last"):
        (line,) = [line for line in said.splitlines() if f"node '{name}'" in line]
        assert "[I:" in line and "(offload_graph_io_quantization)" in line
    assert "3 of 5 nodes in 1 partition" in said


def test_quantizers_between_refused_nodes_are_no_partition(capfd):
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"),
             helper.make_node("Det", ["a"], ["b"], "b"),
             helper.make_node("QuantizeLinear", ["b", "s", "z"], ["q"], "quantize"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "dequantize"),
             helper.make_node("Det", ["d"], ["y"], "y")]
    net = model(nodes, [("x", F, [4, 4, 4, 4])], [("y", F, [])],
                [("s", np.array(1 / 64, F)), ("z", np.array(0, np.uint8))])
    session(net, HTP, fallback=True, level=1)
    said = capfd.readouterr().err
    for name in ("quantize", "dequantize"):
        (line,) = [line for line in said.splitlines() if f"node '{name}'" in line]
        assert "[I:" in line and "nothing but quantizers would be in its partition" in line
    assert "1 of 5 nodes in 1 partition" in said


def test_strict_leaves_no_quantizer_to_others(capfd):
    session(quantized_sigmoid(), {**HTP, "strict": "1"}, fallback=True, level=1)
    assert "5 of 5 nodes in 1 partition" in capfd.readouterr().err


@pytest.mark.parametrize("dtype, shape, words", [
    (F, [0, 3], "input 'x' dimension 0 is 0"), (np.str_, [2, 3], "string")])
def test_an_input_that_no_tensor_holds_refuses_its_readers_alone(dtype, shape, words, capfd):
    text = dtype is np.str_
    nodes = [helper.make_node("Identity", ["x"], ["a"], "a"),
             helper.make_node("Relu", ["v"], ["b"], "b")]
    net = model(nodes, [("x", dtype, shape), ("v", F, [4])],
                [("a", dtype, shape), ("b", F, [4])])
    s = session(net, HTP, fallback=True, level=1)
    said = capfd.readouterr().err
    (line,) = [line for line in said.splitlines() if "is left to other providers" in line]
    assert "node 'a'" in line and words in line
    assert "1 of 2 nodes in 1 partition" in said and "[E:" not in said
    x = np.full(shape, "t", object) if text else np.zeros(shape, F)
    got = s.run(None, {"x": x, "v": np.array([-1, 0, 1, 2], F)})
    assert got[0].shape == tuple(shape) and list(got[1]) == [0, 0, 1, 2]


def test_strict_fails_where_the_graph_cannot_even_be_read():
    net = model([helper.make_node("Relu", ["x"], ["a"]),
                 helper.make_node("Sub", ["a", "c"], ["y"])],
                [("x", F, [3])], [("y", F, [1] * 9 + [3])], [("c", np.ones([1] * 9 + [3], F))])
    with pytest.raises(Exception, match="strict: the graph cannot be taken: constant 'c': rank 10"):
        session(net, {**HTP, "strict": "1"}, fallback=True)


def test_a_resize_with_an_empty_region_keeps_its_codes(capfd):
    """Exporters write the region that nearest neighbours do not need as an empty constant."""
    coded = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "q"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "d"),
             helper.make_node("Resize", ["d", "roi", "scales"], ["r"], "r", mode="nearest",
                              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
             helper.make_node("QuantizeLinear", ["r", "s", "z"], ["rq"], "rq"),
             helper.make_node("DequantizeLinear", ["rq", "s", "z"], ["y"], "y")]
    net = model(coded, [("x", F, [1, 3, 4, 5])], [("y", F, [1, 3, 8, 10])],
                [("s", F(1e-4)), ("z", np.uint16(31000)), ("roi", np.zeros(0, F)),
                 ("scales", F([1, 1, 2, 2]))], opset=21)
    x = np.random.default_rng(0).standard_normal([1, 3, 4, 5]).astype(F)
    s = session(net, HTP, fallback=True, level=1)
    assert "(Resize) is left to other providers" not in capfd.readouterr().err
    # Of 16 bits, a half would keep 11.
    assert np.array_equal(s.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("inner", ["s", "t"])
@pytest.mark.parametrize("options", [HTP, {"backend_type": "cpu"}], ids=["htp", "cpu"])
def test_windows_of_codes(capfd, options, dtype, inner):
    """Only codes of one kind are moved together: others are rounded in between."""
    def coded(x, y, scale):
        return [helper.make_node("QuantizeLinear", [x, scale, "z"], [f"{y}q"], f"{y}q"),
                helper.make_node("DequantizeLinear", [f"{y}q", scale, "z"], [y], y)]

    nodes = [*coded("x", "a", "s"), reshape("a", "b", "six"), *coded("b", "c", inner),
             helper.make_node("Transpose", ["c"], ["d"], "d", perm=[0, 1, 3, 2, 4, 5]),
             *coded("d", "e", inner), reshape("e", "f", "four"), *coded("f", "y", "s")]
    net = model(nodes, [("x", F, [1, 8, 12, 5])], [("y", F, [6, 4, 4, 5])],
                [("six", np.array([1, 2, 4, 3, 4, 5])), ("four", np.array([6, 4, 4, 5])),
                 ("s", F(2.0 ** -6)), ("t", F(2.0 ** -4)), ("z", dtype(128))], opset=21)
    x = np.random.default_rng(0).standard_normal([1, 8, 12, 5]).astype(F)
    s = session(net, options, fallback=True, level=2)
    refused = "is left to other providers" in capfd.readouterr().err
    assert refused == (inner == "t" and options is HTP)
    got, want = s.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0]
    # Ties between the two kinds of codes may go either way.
    assert np.array_equal(got, want) if inner == "s" else np.abs(got - want).max() <= 2.0 ** -4


def units16():
    """Relu and Sigmoid in 16 bits, with a QuickGelu between that has no 16-bit form."""
    nodes, last = [], "x"
    for i, op in enumerate([None, "Relu", "QuickGelu", "Sigmoid"]):
        if op:
            domain = "com.microsoft" if op == "QuickGelu" else ""
            nodes.append(helper.make_node(op, [last], [f"o{i}"], f"{op}{i}", domain=domain))
            last = f"o{i}"
        nodes += [helper.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"], f"q{i}"),
                  helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], f"d{i}")]
        last = f"d{i}"
    nodes[-1].output[0] = "y"
    return model(nodes, [("x", F, [2, 3])], [("y", F, [2, 3])],
                 [("s", np.array(1 / 4096, F)), ("z", np.array(32768, np.uint16))], opset=21,
                 domains=["com.microsoft"])


def shared16():
    """x * gelu(x) in 16 bits, where both read one DequantizeLinear; onnxruntime makes two of it."""
    pair = lambda x, i: [helper.make_node("QuantizeLinear", [x, "s", "z"], [f"q{i}"], f"q{i}"),
                         helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"])]
    nodes = [*pair("x", 0), helper.make_node("Relu", ["d0"], ["r"], "relu"), *pair("r", 1),
             helper.make_node("QuickGelu", ["d1"], ["e"], "gelu", domain="com.microsoft"),
             *pair("e", 2),
             helper.make_node("Mul", ["d1", "d2"], ["m"], "mul"), *pair("m", 3)]
    nodes[-1].output[0] = "y"
    return model(nodes, [("x", F, [2, 3])], [("y", F, [2, 3])],
                 [("s", np.array(1 / 4096, F)), ("z", np.array(32768, np.uint16))], opset=21,
                 domains=["com.microsoft"])


def test_a_dequantizer_is_in_every_partition_that_reads_it(tmp_path, capfd):
    program = os.environ.get("QUERN_BIN", LIB.parent / "bin" / "quern")
    (tmp_path / "n.onnx").write_bytes(shared16())
    p = subprocess.run([program, "check", tmp_path / "n.onnx", "--soc", "SM8650", "--json"],
                       capture_output=True, text=True)
    checked = json.loads(p.stdout)
    session(shared16(), {**HTP, "offload_graph_io_quantization": "0"}, fallback=True, level=1)
    said = capfd.readouterr().err
    assert [n["name"] for n in checked["nodes"] if not n["accepted"]] == ["gelu"]
    assert said.count("is left to other providers") == 1
    assert "node 'gelu' (QuickGelu) is left" in said
    assert checked["partitions"] == 2 and " nodes in 2 partitions on HTP" in said


@pytest.mark.parametrize("allow, partitions", [("0", 2), ("1", 1)])
def test_quern_check_has_the_same_partitions(allow, partitions, tmp_path, capfd):
    program = os.environ.get("QUERN_BIN", LIB.parent / "bin" / "quern")
    (tmp_path / "n.onnx").write_bytes(units16())
    flags = ["--allow-fp16"] if allow == "1" else []
    p = subprocess.run([program, "check", tmp_path / "n.onnx", "--soc", "SM8650", "--json", *flags],
                       capture_output=True, text=True)
    checked = json.loads(p.stdout)
    session(units16(), {**HTP, "offload_graph_io_quantization": "0", "allow_float16_units": allow},
            fallback=True, level=1)
    said = [line for line in capfd.readouterr().err.splitlines() if " nodes in " in line]
    assert checked["partitions"] == partitions
    assert f"{checked['accepted']} of {len(checked['nodes'])} nodes in {partitions} part" in said[0]


def test_a_loop_that_ends_by_data_is_run_by_onnxruntime():
    """It collects a row per iteration; Quern computes what is in front of it."""
    body = helper.make_graph(
        [helper.make_node("Mul", ["v", "half"], ["v_out"]),
         helper.make_node("ReduceMax", ["v_out"], ["top"], keepdims=0),
         helper.make_node("Greater", ["top", "limit"], ["k_out"]),
         helper.make_node("Identity", ["v_out"], ["row"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("k", 9, []),
         helper.make_tensor_value_info("v", 1, [3])],
        [helper.make_tensor_value_info("k_out", 9, []),
         helper.make_tensor_value_info("v_out", 1, [3]),
         helper.make_tensor_value_info("row", 1, [3])])
    net = model([helper.make_node("Exp", ["x"], ["e"], "e"),
                 helper.make_node("Add", ["e", "e"], ["s"], "s"),
                 helper.make_node("Loop", ["m", "go", "s"], ["y", "rows"], "loop", body=body)],
                [("x", F, [3])], [("y", F, [3]), ("rows", F, ["n", 3])],
                [("m", np.array(20, np.int64)), ("go", np.array(True)), ("half", F(0.5)),
                 ("limit", F(0.1))])
    s = session(net, {"backend_type": "cpu"}, fallback=True)
    ours = {n.name for part in s.get_provider_graph_assignment_info()
            if part.ep_name == "QuernExecutionProvider" for n in part.get_nodes()}
    assert ours >= {"e", "s"} and "loop" not in ours
    for scale in (1, 3):
        x = np.array([0, 0.5, 1], F) * F(scale)
        v, rows = np.exp(x.astype(np.float64)) * 2, []
        while not rows or rows[-1].max() > 0.1:
            rows.append((rows[-1] if rows else v) / 2)
        y, got = s.run(None, {"x": x})
        assert got.shape == (len(rows), 3)
        assert close(got, np.stack(rows).astype(F), 1e-5) and close(y, rows[-1].astype(F), 1e-5)
