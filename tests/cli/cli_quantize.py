# SPDX-License-Identifier: MIT
"""quern quantize. ONNX Runtime is the judge of what the written models compute."""
import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

import tiny_llama
from harness import INPUT, REFUSED, USAGE, model, ok, ok_json, quern, refuses

ort = pytest.importorskip("onnxruntime")
TOKENS, PAST = 12, 20


def run(path, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))


def sqnr(got, want):
    return 10 * np.log10((want.astype(float) ** 2).sum() / ((got - want).astype(float) ** 2).sum())


def encodings(path, kind="QuantizeLinear", of=lambda node: node.input[0]):
    """{input: (type, scale, zero)} of every such node with one zero point."""
    m = onnx.load(path)
    constants = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
    return {of(n): (constants[n.input[2]].dtype.name, float(constants[n.input[1]]),
                         int(constants[n.input[2]]))
            for n in m.graph.node if n.op_type == kind and len(n.input) == 3}


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    tiny_llama.save(folder / "prefill.onnx", TOKENS)
    tiny_llama.save(folder / "decode.onnx", 1, PAST)
    tiny_llama.calibration(folder / "data.npz", TOKENS, 6)
    return folder


@pytest.mark.parametrize("scheme, least", [("a16w8", 30), ("a16w16", 38), ("a16w4", 12)])
def test_a_language_model_is_one_partition_and_stays_close(llama, tmp_path, scheme, least):
    out = tmp_path / "q.onnx"
    (report,) = ok_json("quantize", llama / "prefill.onnx", "-o", out, "-s", scheme, "-c",
                        llama / "data.npz", "--json")
    assert report["partitions"] == 1 and report["float"] == 0
    onnx.checker.check_model(onnx.load(out), full_check=True)
    feeds = tiny_llama.sample(TOKENS, 99)  # not among the samples
    want, got = run(llama / "prefill.onnx", feeds), run(out, feeds)
    for name in want:
        assert sqnr(got[name], want[name]) > least, name
    seen = {o["name"]: o["sqnr_db"] for o in report["outputs"]}
    assert set(seen) == set(want) and min(seen.values()) > least


def test_the_htp_model_computes_what_onnxruntime_does(llama, tmp_path):
    out, feeds = tmp_path / "q.onnx", tiny_llama.sample(TOKENS, 5)
    ok("quantize", llama / "prefill.onnx", "-o", out, "-s", "a16w8", "-c", llama / "data.npz", "-q")
    np.savez(tmp_path / "in.npz", **feeds)
    ok("run", out, tmp_path / "in.npz", "--backend", "htp", "--soc", "SM8650", "-o",
       tmp_path / "htp")
    want = run(out, feeds)
    for i, name in enumerate(want):
        assert sqnr(np.load(tmp_path / "htp" / f"output_{i}.npy"), want[name]) > 40, name


def test_masks_leave_the_steps_to_the_scores(llama, tmp_path):
    out = tmp_path / "q.onnx"
    ok("quantize", llama / "prefill.onnx", "-o", out, "-s", "a16w8", "-c", llama / "data.npz", "-q")
    found = encodings(out)
    # A range down to -1e4 would have steps of 0.15.
    assert found["masked_0"][1] < 2e-3 and found["mask"][1] < 2e-3
    blocked = -65535 * found["mask"][1]
    assert blocked < -16  # exp(-16) of a probability is nothing


@pytest.mark.parametrize("masked", [-100, -1e4])
def test_8_bit_scores_end_where_no_probability_is_left(tmp_path, masked):
    """A mask of -100 is no infinity, but scores that reach it would have steps of half a unit."""
    rng = np.random.default_rng(31)
    mask = np.triu(np.full((16, 16), masked, np.float32), 1)
    nodes = [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Div", ["a", "root"], ["b"]),
             h.make_node("Add", ["b", "mask"], ["c"]),
             h.make_node("Softmax", ["c"], ["y"], axis=-1)]
    constants = {"w": rng.normal(0, 4, (8, 16)).astype(np.float32), "root": np.float32(4),
                 "mask": mask}
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [1, 2, 16, 8])],
                         [h.make_tensor_value_info("y", T.FLOAT, [1, 2, 16, 16])],
                         [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8),
              tmp_path / "m.onnx")
    x = rng.normal(size=(4, 2, 16, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy",
       "--repair", "none")
    scores = x @ constants["w"] / 4 + mask
    peak = scores.max(-1).min()
    kind, scale, zero = encodings(tmp_path / "q.onnx")["c"]
    assert kind == "uint8" and peak - 16 < -zero * scale < peak - 7
    want = np.exp(scores - scores.max(-1, keepdims=True))
    want /= want.sum(-1, keepdims=True)
    got = np.concatenate([run(tmp_path / "q.onnx", {"x": v[None]})["y"] for v in x])
    assert np.abs(got - want).max() < 0.05


def massive(path, source):
    """The same model with one token whose first value is far larger than all others."""
    m = onnx.load(source)
    embed = next(t for t in m.graph.initializer if t.name == "embed")
    table = numpy_helper.to_array(embed).copy()
    table[:, 5] /= 40
    table[0, 5] = 0
    m.graph.initializer.remove(embed)
    # Behind the table, so that only an activation is large.
    m.graph.initializer.extend([numpy_helper.from_array(table, "embed"),
                                numpy_helper.from_array(np.float32([20000]), "much")])
    first = next(n for n in m.graph.node if n.op_type == "Gather")
    first.output[0] = "plain"
    large = [h.make_node("Equal", ["ids", "none"], ["is"]),
             h.make_node("Cast", ["is"], ["chosen"], to=T.FLOAT),
             h.make_node("Mul", ["chosen", "much"], ["more"]),
             h.make_node("Unsqueeze", ["more", "last"], ["wide"]),
             h.make_node("Mul", ["wide", "place"], ["spike"]),
             h.make_node("Add", ["plain", "spike"], ["Gather_1"])]
    place = np.zeros(tiny_llama.WIDTH, np.float32)
    place[5] = 1
    m.graph.initializer.extend([numpy_helper.from_array(np.int32([0]), "none"),
                                numpy_helper.from_array(np.int64([2]), "last"),
                                numpy_helper.from_array(place, "place")])
    nodes = [m.graph.node[0], *large, *list(m.graph.node)[1:]]
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    onnx.save(m, path)
    return path


def test_a_stream_with_a_few_huge_values_stays_float16(llama, tmp_path):
    net, data = massive(tmp_path / "net.onnx", llama / "prefill.onnx"), tmp_path / "data.npz"
    ids = np.concatenate([tiny_llama.sample(TOKENS, s)["ids"] for s in range(6)])
    ids[:, 4] = 0
    np.savez(data, **{**tiny_llama.sample(TOKENS, 0), "ids": ids})
    found = {}
    for name, flags in (("islands", []), ("integers", ["--all-integers"])):
        out = tmp_path / f"{name}.onnx"
        (report,) = ok_json("quantize", net, "-o", out, "-s", "a16w16", "-c", data, "--json",
                            *flags)
        assert report["partitions"] == 1 and (report["float"] > 0) == (name == "islands")
        feeds = tiny_llama.sample(TOKENS, 1)
        feeds["ids"][0, 4] = 0
        want, got = run(net, feeds)["logits"], run(out, feeds)["logits"]
        rest = np.arange(TOKENS) != 4
        found[name] = sqnr(got[:, rest], want[:, rest])
    assert found["islands"] > found["integers"] + 10 and found["islands"] > 38


def port_types(path):
    g = onnx.load(path, load_external_data=False).graph
    return {p.name: p.type.tensor_type.elem_type for p in [*g.input, *g.output]}


@pytest.mark.parametrize("flags, kind", [([], T.UINT8), (["--state-bits", "16"], T.UINT16),
                                         (["--float-states"], T.FLOAT)])
def test_states_are_passed_on_as_quantized_values(llama, tmp_path, flags, kind):
    out = tmp_path / "both"
    ok("quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", out, "-s", "a16w8", "-c",
       llama / "data.npz", "-q", "--no-check", *flags)
    for name in ("prefill", "decode"):
        types = port_types(out / f"{name}.onnx")
        states = [v for k, v in types.items() if k.startswith(("past_", "new_"))]
        assert len(states) == tiny_llama.LAYERS * (2 if name == "prefill" else 4)
        assert set(states) == {kind}
        assert types["logits"] == types["mask"] == T.FLOAT


@pytest.mark.parametrize("bits", [8, 16])
def test_old_and_new_rows_of_a_state_share_an_encoding_across_graphs(llama, tmp_path, bits):
    out = tmp_path / "both"
    reports = ok_json("quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", out, "-s",
                      "a16w8", "-c", llama / "data.npz", "--state-bits", bits, "--json")
    assert [r["partitions"] for r in reports] == [1, 1]
    prefill, decode = (encodings(out / f"{name}.onnx", of=lambda node: node.output[0])
                       for name in ("prefill", "decode"))
    for i in range(tiny_llama.LAYERS):
        for c in "kv":
            kind, scale, zero = prefill[f"new_{c}_{i}"]
            # a second factor of 16 bits is symmetric
            assert kind == f"uint{bits}" and (bits == 8 or zero == 32768)
            assert decode[f"new_{c}_{i}"] == (kind, scale, zero)
            assert encodings(out / "decode.onnx", "DequantizeLinear")[f"past_{c}_{i}"] == (
                kind, scale, zero)
    assert (out / "weights.data").stat().st_size < 1.2 * reports[0]["constant_bytes"]


def test_rows_of_an_8_bit_state_are_computed_in_16_bits(llama, tmp_path):
    out = tmp_path / "both"
    ok("quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", out, "-s", "a16w8", "-c",
       llama / "data.npz", "-q", "--no-check")
    for name in ("prefill", "decode"):
        m = onnx.load(out / f"{name}.onnx")
        makers = {o: n for n in m.graph.node for o in n.output}
        zeros = {t.name: t.data_type for t in m.graph.initializer}
        rounded = [n for n in m.graph.node if n.op_type == "QuantizeLinear"
                   and makers.get(n.input[0], n).op_type == "DequantizeLinear"]
        assert len(rounded) == 2 * tiny_llama.LAYERS
        for n in rounded:
            first = makers[makers[n.input[0]].input[0]]
            assert (zeros[first.input[2]], zeros[n.input[2]]) == (T.UINT16, T.UINT8)
            assert makers[first.input[0]].op_type in ("Add", "MatMul")
        # what a cache is multiplied with has 16 bits, and the cache is read as it is
        for n in m.graph.node:
            if n.op_type == "MatMul" and n.input[1] in makers:
                zero = makers[n.input[1]].input[2:]  # a weight's DequantizeLinear has none
                assert not zero or zeros[zero[0]] == T.UINT8


@pytest.mark.parametrize("flags, words", [
    (["-s", "a16w8", "--state-bits", "4"], "--state-bits 4: expected 8, or 16 with"),
    (["-s", "a8w8", "--state-bits", "16"], "--state-bits 16: expected 8, or 16 with"),
    (["-s", "w8", "--state-bits", "8"], "--state-bits 8: expected 8, or 16 with"),
    (["-s", "a16w8", "--state-bits", "8", "--float-states"], "exclude each other")])
def test_bits_of_states_that_cannot_be(llama, tmp_path, flags, words):
    refuses(USAGE, "quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", tmp_path / "x",
            "-c", llama / "data.npz", *flags, says=words)


def test_decoding_with_the_cache_of_prefill_gives_the_float_models_logits(llama, tmp_path):
    out, feeds = tmp_path / "both", tiny_llama.sample(TOKENS, 3)
    ok("quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", out, "-s", "a16w8", "-c",
       llama / "data.npz", "-q")
    logits = []
    for folder in (out, llama):
        rows = run(folder / "prefill.onnx", feeds)
        cos, sin = tiny_llama.rope(1, TOKENS)
        step = {"ids": np.array([[7]], np.int32), "cos": cos, "sin": sin,
                "mask": tiny_llama.mask(1, PAST, TOKENS)}
        for name, value in rows.items():
            if name.startswith("new_"):
                past = np.zeros((1, tiny_llama.KV, PAST, tiny_llama.DEPTH), value.dtype)
                past[:, :, :TOKENS] = value
                step["past" + name[3:]] = past
        logits.append(run(folder / "decode.onnx", step)["logits"])
    assert sqnr(*logits) > 30


@pytest.mark.parametrize("block", [0, 32])
def test_4_bit_weights_are_stored_in_4_bits(llama, tmp_path, block):
    out = tmp_path / "q.onnx"
    ok("quantize", llama / "prefill.onnx", "-o", out, "-s", "a16w4", "--block", block, "-c",
       llama / "data.npz", "--no-check")
    m = onnx.load(out)
    constants = {t.name: t for t in m.graph.initializer}
    weights = [n for n in m.graph.node if n.op_type == "DequantizeLinear"
               and n.input[0] in constants and constants[n.input[0]].data_type == T.INT4]
    assert len(weights) == 7 * tiny_llama.LAYERS  # what makes an output has 8 bits
    for n in weights:
        w = constants[n.input[0]]
        assert len(w.raw_data) == w.dims[0] * w.dims[1] // 2
        attrs = {a.name: a.i for a in n.attribute}
        assert attrs == ({"axis": 0, "block_size": 32} if block else {"axis": 1})
        assert list(constants[n.input[1]].dims) == ([w.dims[0] // 32, w.dims[1]] if block
                                                    else [w.dims[1]])
        if block:  # 2 bytes each in a binary
            scales = numpy_helper.to_array(constants[n.input[1]])
            assert np.array_equal(scales, scales.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("flags, least", [(["-s", "w4", "--block", 32], 15), (["-s", "w8"], 35)])
def test_weights_alone_are_quantized_and_activations_stay_float(llama, tmp_path, flags, least):
    out, samples = tmp_path / "q.onnx", [] if "w8" in flags else ["-c", llama / "data.npz"]
    (report,) = ok_json("quantize", llama / "prefill.onnx", "-o", out, *flags, *samples, "--json")
    assert report["partitions"] == 1 and report["quantized"] == 0
    assert not encodings(out)
    feeds = tiny_llama.sample(TOKENS, 99)
    want, got = run(llama / "prefill.onnx", feeds), run(out, feeds)
    assert sqnr(got["logits"], want["logits"]) > least


def conv_net(path):
    r = np.random.default_rng(1)
    c = {"w": r.standard_normal((8, 3, 3, 3)).astype(np.float32) * np.logspace(-2, 1, 8)
         .astype(np.float32)[:, None, None, None], "b": r.standard_normal(8).astype(np.float32),
         "dw": r.standard_normal((8, 1, 3, 3)).astype(np.float32),
         "fc": r.standard_normal((10, 8)).astype(np.float32),
         "fb": r.standard_normal(10).astype(np.float32), "lo": np.float32(0), "hi": np.float32(6)}
    nodes = [h.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], name="conv"),
             h.make_node("Relu", ["c"], ["r"], name="relu"),
             h.make_node("Conv", ["r", "dw"], ["d"], group=8, name="depthwise"),
             h.make_node("Clip", ["d", "lo", "hi"], ["k"], name="clip"),
             h.make_node("GlobalAveragePool", ["k"], ["p"], name="pool"),
             h.make_node("Flatten", ["p"], ["f"], name="flat"),
             h.make_node("Gemm", ["f", "fc", "fb"], ["y"], transB=1, name="fc")]
    return model(path, nodes, {"x": (T.FLOAT, [1, 3, 8, 8])}, {"y": (T.FLOAT, [1, 10])}, c)


def test_a_convolution_has_scales_per_channel_and_an_exact_bias(tmp_path):
    x = np.random.default_rng(2).standard_normal((16, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    net, out = conv_net(tmp_path / "net.onnx"), tmp_path / "q.onnx"
    (report,) = ok_json("quantize", net, "-o", out, "-c", tmp_path / "x.npy", "--json", "--repair",
                        "none")
    assert report["partitions"] == 1
    m = onnx.load(out)
    onnx.checker.check_model(m, full_check=True)
    constants = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
    maker = {n.output[0]: n for n in m.graph.node}
    conv = next(n for n in m.graph.node if n.name == "conv")
    sx, sw, sb = (constants[maker[i].input[1]] for i in conv.input)
    original = {t.name: numpy_helper.to_array(t) for t in onnx.load(net).graph.initializer}
    np.testing.assert_allclose(sw, np.abs(original["w"]).max((1, 2, 3)) / 127, rtol=1e-6)
    np.testing.assert_allclose(sb, sx * sw, rtol=1e-6)
    bias = constants[maker[conv.input[2]].input[0]]
    assert bias.dtype == np.int32
    np.testing.assert_allclose(bias * sb, original["b"], atol=float(sb.max()))
    assert sqnr(run(out, {"x": x[:1]})["y"], run(net, {"x": x[:1]})["y"]) > 25


def test_layers_of_the_result_are_compared_with_those_of_the_float_model(tmp_path):
    x = np.random.default_rng(2).standard_normal((4, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "one.npy", x[:1])
    net, out = conv_net(tmp_path / "net.onnx"), tmp_path / "q.onnx"
    ok("quantize", net, "-o", out, "-c", tmp_path / "x.npy", "-q", "--repair", "none")
    report = ok_json("run", out, tmp_path / "one.npy", "--soc", "SM8650", "--against", net,
                     "--per-layer", "--json")
    assert {"r_q", "k_q", "p_q", "f_q", "y"} <= {row["name"] for row in report["layers"]}


def dead_channels(path):
    """A depthwise convolution, two channels of which have weights that are almost 0."""
    rng = np.random.default_rng(4)
    w = rng.standard_normal((8, 1, 3, 3)).astype(np.float32)
    w[2] *= 1e-12
    w[5] *= 1e-8
    b = np.array([0.1, -2, 3, 1, 0.5, -3, 1, 2], np.float32)
    nodes = [h.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4, group=8, name="conv")]
    return model(path, nodes, {"x": (T.FLOAT, [1, 8, 9, 9])}, {"y": (T.FLOAT, [1, 8, 9, 9])},
                 {"w": w, "b": b})


@pytest.mark.parametrize("scheme, near", [("a8w8", 0.06), ("a16w8", 0.001)])
def test_weights_of_almost_zero_leave_room_for_their_bias(tmp_path, scheme, near):
    x = np.random.default_rng(2).standard_normal((16, 8, 9, 9)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "one.npy", x[:1])
    net, out = dead_channels(tmp_path / "net.onnx"), tmp_path / "q.onnx"
    ok("quantize", net, "-o", out, "-s", scheme, "-c", tmp_path / "x.npy", "--repair", "none")
    constants = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
    assert [v for v in constants.values() if v.dtype == np.int32 and v.shape == (8,)]
    p = ok("run", out, tmp_path / "one.npy", "--soc", "SM8650", "-o", tmp_path)
    assert "bias" not in p.stderr
    want = run(net, {"x": x[:1]})["y"]
    got = np.load(tmp_path / "output_0.npy")
    np.testing.assert_allclose(got[:, [2, 5]], want[:, [2, 5]], atol=near)
    assert sqnr(got, want) > 30


def test_a_bias_that_32_bits_cannot_hold_is_reported(tmp_path):
    x = np.random.default_rng(2).standard_normal((1, 8, 9, 9)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    m = onnx.load(dead_channels(tmp_path / "net.onnx"))
    w = next(numpy_helper.to_array(t) for t in m.graph.initializer if t.name == "w")
    scales = np.abs(w).max((1, 2, 3)) / 127
    c = {"wq": np.rint(w / scales[:, None, None, None]).astype(np.int8), "ws": scales,
         "xs": np.float32(0.03), "xz": np.uint8(128), "ys": np.float32(0.1), "yz": np.uint8(128),
         "b": next(numpy_helper.to_array(t) for t in m.graph.initializer if t.name == "b")}
    nodes = [h.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], name="q"),
             h.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], name="dx"),
             h.make_node("DequantizeLinear", ["wq", "ws"], ["wd"], axis=0, name="dw"),
             h.make_node("Conv", ["xd", "wd", "b"], ["c"], pads=[1] * 4, group=8, name="conv"),
             h.make_node("QuantizeLinear", ["c", "ys", "yz"], ["cq"], name="qc"),
             h.make_node("DequantizeLinear", ["cq", "ys", "yz"], ["y"], name="dy")]
    shape = (T.FLOAT, [1, 8, 9, 9])
    model(tmp_path / "q.onnx", nodes, {"x": shape}, {"y": shape}, c)
    p = ok("run", tmp_path / "q.onnx", tmp_path / "x.npy", "--soc", "SM8650", "-o", tmp_path)
    assert "bias that is cut to 32 bits in some channels" in p.stderr and "'conv'" in p.stderr


@pytest.mark.parametrize("method", ["minmax", "percentile", "mse", "sqnr", "entropy"])
def test_methods_that_cut_tails_keep_the_steps_of_the_rest(tmp_path, method):
    x = np.random.default_rng(3).standard_normal((200, 8192)).astype(np.float32)
    x[0, 0] = 1000
    np.save(tmp_path / "x.npy", x)
    net = model(tmp_path / "net.onnx", [h.make_node("Mul", ["x", "two"], ["y"])],
                {"x": (T.FLOAT, [1, 8192])}, {"y": (T.FLOAT, [1, 8192])}, {"two": np.float32([2])})
    ok("quantize", net, "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy", "-m", method, "-q")
    reach = 255 * encodings(tmp_path / "q.onnx")["x"][1]
    if method == "minmax":
        assert reach == pytest.approx(1000 - x.min(), rel=1e-5)
    else:
        assert 4 < reach < (700 if method == "sqnr" else 500)


@pytest.mark.parametrize("outlier", [False, True])
def test_auto_uses_the_method_whose_results_are_nearest(tmp_path, outlier):
    """ONNX Runtime runs the models of all methods, and numpy says which is nearest to float."""
    rng = np.random.default_rng(17)
    x = rng.uniform(-1, 1, (12, 3, 64, 64)).astype(np.float32)
    if outlier:
        x[11, 0, 5, 5] = 60
    np.save(tmp_path / "x.npy", x)
    w = rng.normal(0, 0.2, (4, 3, 3, 3)).astype(np.float32)
    net = model(tmp_path / "net.onnx",
                [h.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, kernel_shape=[3, 3])],
                {"x": (T.FLOAT, [1, 3, 64, 64])}, {"y": (T.FLOAT, [1, 4, 64, 64])}, {"w": w})

    def results(path):
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return [session.run(None, {"x": x[i:i + 1]})[0].astype(np.float64) for i in range(8)]

    want, made, db = results(net), {}, {}
    for method in ("minmax", "percentile", "mse", "sqnr", "auto"):
        out = tmp_path / f"{method}.onnx"
        p = ok("quantize", net, "-o", out, "-c", tmp_path / "x.npy", "-m", method, "--json")
        made[method] = out.read_bytes()
        if method != "auto":
            noise = [((a - b) ** 2).sum() / (b ** 2).sum() for a, b in zip(results(out), want)]
            db[method] = -10 * np.log10(np.mean(noise))
    best = max(db, key=db.get)
    assert (db[best] > db["minmax"] + 10) == outlier
    chosen = best if db[best] >= db["minmax"] + 1 else "minmax"
    assert json.loads(p.stdout)[0]["method"] == chosen
    assert made["auto"] == made[chosen]
    assert made["auto"] != made["mse" if chosen == "minmax" else "minmax"]


@pytest.mark.parametrize("flags", [["--no-check", "-r"], ["--mixed", "-r"], ["--merge", "a"]])
def test_auto_says_what_it_does_not_go_with(tmp_path, flags):
    net = model(tmp_path / "net.onnx", [h.make_node("Relu", ["x"], ["y"])],
                {"x": (T.FLOAT, [1, 8])}, {"y": (T.FLOAT, [1, 8])}, {})
    p = quern("quantize", net, "-o", tmp_path / "q.onnx", "-m", "auto", *flags)
    assert p.returncode == USAGE and "--method auto" in p.stderr
    assert not (tmp_path / "q.onnx").exists()


def residual_net(path):
    """A 3x3 layer with a Relu, another one behind a sum, and one whose input is read twice."""
    rng = np.random.default_rng(21)
    kernel = lambda c: rng.normal(0, 0.1, (32, c, 3, 3)).astype(np.float32)
    weights = [numpy_helper.from_array(kernel(c), f"w{i}") for i, c in enumerate((3, 32, 32))]
    conv = lambda x, w, y: h.make_node("Conv", [x, w], [y], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    nodes = [conv("x", "w0", "a"), h.make_node("Relu", ["a"], ["b"]), conv("b", "w1", "c"),
             h.make_node("Add", ["c", "b"], ["d"]), h.make_node("Relu", ["d"], ["e"]),
             conv("e", "w2", "f"), h.make_node("Relu", ["f"], ["g"]),
             h.make_node("Mul", ["f", "g"], ["y"])]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [1, 3, 40, 40])],
                         [h.make_tensor_value_info("y", T.FLOAT, [1, 32, 40, 40])], weights)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)


def test_ranges_are_those_of_every_tensor_that_is_quantized(tmp_path):
    residual_net(tmp_path / "m.onnx")
    x = np.random.default_rng(22).normal(size=(3, 3, 40, 40)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    shown = onnx.load(tmp_path / "m.onnx")
    shown.graph.output.extend(h.make_tensor_value_info(n, T.FLOAT, [1, 32, 40, 40])
                              for n in "abcdefg")
    onnx.save(shown, tmp_path / "shown.onnx")
    runs = [run(tmp_path / "shown.onnx", {"x": v[None]}) for v in x]
    want = {n: (min(0, min(r[n].min() for r in runs)), max(r[n].max() for r in runs))
            for n in runs[0]} | {"x": (x.min(), x.max())}
    ok("quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy",
       "--no-check", "--repair", "none", "--threads", "2", "--export-encodings",
       tmp_path / "e.json")
    listed = json.loads((tmp_path / "e.json").read_text())["activation_encodings"]
    got = {e["name"]: (e["scale"][0] * e["offset"][0], e["scale"][0] * (e["offset"][0] + 255))
           for e in listed if e["dtype"] == "INT"}
    assert got.keys() == set("xbcefgy")  # a and d are inside of a layer and a sum
    for name, (low, high) in got.items():
        step = (high - low) / 255
        assert abs(low - want[name][0]) < step and abs(high - want[name][1]) < step, name


def test_samples_come_from_a_folder_or_a_list(tmp_path):
    net = model(tmp_path / "net.onnx", [h.make_node("Relu", ["x"], ["y"])],
                {"x": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "a.npy", np.float32([-1, 2]))
    np.float32([-3, 1]).tofile(data / "b.raw")
    (tmp_path / "list.txt").write_text(f"{data}/a.npy\nx:={data}/b.raw\n")
    found = []
    for source in (data, tmp_path / "list.txt"):
        ok("quantize", net, "-o", tmp_path / "q.onnx", "-c", source, "-q")
        found.append(encodings(tmp_path / "q.onnx")["x"])
    assert found[0] == found[1]
    assert found[0][1] == pytest.approx(5 / 255, rel=1e-6) and found[0][2] == 153


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
def test_models_of_older_opsets_mean_the_same_afterwards(tmp_path, opset):
    r = np.random.default_rng(4)
    axes = lambda a: ({"axes": a}, []) if opset < 13 else ({}, ["axes_" + str(a[0])])
    constants = {f"axes_{i}": np.array([i], np.int64) for i in (0, 2)} if opset >= 13 else {}
    unsqueeze, squeeze = axes([2]), axes([0])
    mean = {"axes": [1]} if opset < 18 else {}
    if opset >= 18:
        constants["one"] = np.array([1], np.int64)
    split = {} if opset < 18 else {"num_outputs": 2}
    nodes = [h.make_node("Unsqueeze", ["x", *unsqueeze[1]], ["u"], **unsqueeze[0]),
             h.make_node("Split", ["u"], ["a", "b"], axis=1, **split),
             h.make_node("Mul", ["a", "b"], ["m"]),
             h.make_node("ReduceMean", ["m", *(["one"] if opset >= 18 else [])], ["r"], keepdims=0,
                         **mean),
             h.make_node("Squeeze", ["r", *squeeze[1]], ["q"], **squeeze[0]),
             h.make_node("Softmax", ["x"], ["p"], **({} if opset < 13 else {"axis": 1})),
             h.make_node("ReduceMax", ["p"], ["t"], keepdims=1),
             h.make_node("Mul", ["q", "t"], ["y"])]
    net = model(tmp_path / "net.onnx", nodes, {"x": (T.FLOAT, [1, 6])}, {"y": (T.FLOAT, None)},
                constants, opset=opset)
    x = r.random((8, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "q.onnx"
    ok("quantize", net, "-o", out, "-s", "a16w8", "-c", tmp_path / "x.npy", "--no-check")
    onnx.checker.check_model(onnx.load(out), full_check=True)
    got, want = (run(p, {"x": x[:1]})["y"] for p in (out, net))
    np.testing.assert_allclose(got.ravel(), want.ravel(), rtol=2e-3)


def test_an_op_without_integer_form_stays_float_in_one_partition(tmp_path):
    nodes = [h.make_node("Mul", ["x", "w"], ["m"]),
             h.make_node("ReduceL2", ["m"], ["n"], axes=[1], keepdims=1),
             h.make_node("Div", ["m", "n"], ["y"])]
    net = model(tmp_path / "net.onnx", nodes, {"x": (T.FLOAT, [1, 64])}, {"y": (T.FLOAT, [1, 64])},
                {"w": np.random.default_rng(5).random(64).astype(np.float32)})
    x = np.random.default_rng(6).standard_normal((8, 64)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (report,) = ok_json("quantize", net, "-o", tmp_path / "q.onnx", "-s", "a16w8", "-c",
                        tmp_path / "x.npy", "--json")
    assert report["partitions"] == 1 and report["float"] > 0 and report["quantized"] > 0
    assert report["outputs"][0]["sqnr_db"] > 40


def byte_tokenizer(path):
    """One token for each letter a to z and the blank, and others that no text has; no merges."""
    vocab = {c: i for i, c in enumerate("abcdefghijklmnopqrstuvwxyz")} | {"\u0120": 26}
    vocab |= {f"<x{i}>": i for i in range(27, tiny_llama.VOCAB)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None,
                                "pre_tokenizer": level, "decoder": level, "post_processor": None,
                                "model": {"type": "BPE", "vocab": vocab, "merges": []}}))
    return path


def test_a_text_gives_the_samples_that_its_tokens_do(llama, tmp_path):
    text = "the quick brown fox jumps over the lazy dog and runs on and on"
    (tmp_path / "text.txt").write_text(text)
    byte_tokenizer(tmp_path / "tokenizer.json")
    ids = [26 if c == " " else ord(c) - 97 for c in text]
    n = len(ids) // TOKENS
    np.savez(tmp_path / "d.npz", **{**tiny_llama.sample(TOKENS, 0),
                                    "ids": np.int32(ids[:n * TOKENS]).reshape(n, TOKENS)})
    common = ["quantize", llama / "prefill.onnx", "-s", "a16w8", "-q"]
    ok(*common, "-o", tmp_path / "a.onnx", "--text", tmp_path / "text.txt", "--tokenizer",
       tmp_path / "tokenizer.json", "--rope-theta", 10000)
    ok(*common, "-o", tmp_path / "b.onnx", "-c", tmp_path / "d.npz")
    a, b = encodings(tmp_path / "a.onnx"), encodings(tmp_path / "b.onnx")
    assert a.keys() == b.keys()
    for name in a:
        assert a[name][1] == pytest.approx(b[name][1], rel=1e-4), name


def test_graphs_with_logits_of_one_token_are_calibrated_with_all(llama, tmp_path):
    """Ranges behind the choice of the token are those of the graph that gives all rows."""
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog and runs on")
    flags = ["-s", "a16w8", "--text", tmp_path / "text.txt", "--tokenizer",
             byte_tokenizer(tmp_path / "tokenizer.json"), "--rope-theta", 10000]
    tiny_llama.save(tmp_path / "prefill.onnx", TOKENS, last=True)
    ok("quantize", tmp_path / "prefill.onnx", llama / "decode.onnx", "-o", tmp_path / "a", *flags)
    ok("quantize", llama / "prefill.onnx", llama / "decode.onnx", "-o", tmp_path / "b", *flags)
    a, b = tmp_path / "a", tmp_path / "b"
    assert (a / "decode.onnx").read_bytes() == (b / "decode.onnx").read_bytes()
    one = onnx.load(a / "prefill.onnx").graph
    (logits,) = [o for o in one.output if o.name == "logits"]
    assert [d.dim_value for d in logits.type.tensor_type.shape.dim] == [1, 1, tiny_llama.VOCAB]
    sizes = {tuple(d.dim_value for d in i.type.tensor_type.shape.dim)
             for i in one.input if i.name == "last"}
    assert sizes == {(1,)}
    run = lambda f, x: ort.InferenceSession(str(f / "prefill.onnx")).run(["logits"], x)[0]
    x = tiny_llama.sample(TOKENS, 5)
    for last in (0, TOKENS - 1):
        got = run(a, {**x, "last": np.int32([last])})
        np.testing.assert_allclose(got[0, 0], run(b, x)[0, last], atol=2e-3)
    alone = ok("quantize", tmp_path / "prefill.onnx", "-o", tmp_path / "c.onnx", *flags)
    assert "--logits all" in alone.stderr  # and says that it has one row of each window


def test_nodes_have_names_of_their_own(llama, tmp_path):
    """Also where a model's nodes are called after their outputs, as quern import does it."""
    m = onnx.load(llama / "prefill.onnx")
    for n in m.graph.node:
        n.name = n.output[0]
    onnx.save(m, tmp_path / "m.onnx")
    ok("quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "-s", "a16w8", "-c",
       llama / "data.npz", "-q", "--no-check")
    names = [n.name for n in onnx.load(tmp_path / "q.onnx").graph.node]
    assert len(set(names)) == len(names)
    ort.InferenceSession(str(tmp_path / "q.onnx"), providers=["CPUExecutionProvider"])


def test_files_around_a_language_model_go_along(llama, tmp_path):
    model, out = tmp_path / "model", tmp_path / "out"
    shutil.copytree(llama, model)
    byte_tokenizer(model / "tokenizer.json")
    (model / "config.json").write_text('{"rope_theta": 10000.0, "eos_token_id": 1}')
    graphs = [model / "prefill.onnx", model / "decode.onnx"]
    ok("quantize", *graphs, "-o", out, "-s", "w8", "-q")
    assert {f.name for f in out.iterdir()} == {"prefill.onnx", "decode.onnx", "weights.data",
                                               "tokenizer.json", "config.json"}
    for name in ("tokenizer.json", "config.json"):
        assert (out / name).read_bytes() == (model / name).read_bytes()
    assert len(ok_json("generate", out, "--raw", "-p", "ab", "-n", 2, "--json")["tokens"]) == 2


def test_a_text_needs_a_language_model_and_enough_tokens(llama, tmp_path):
    tokenizer = byte_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "text.txt").write_text("short")
    flags = ["-o", tmp_path / "q.onnx", "-s", "a16w8", "--text", tmp_path / "text.txt",
             "--tokenizer", tokenizer]
    refuses(INPUT, "quantize", llama / "prefill.onnx", *flags, "--rope-theta", 10000,
            says=["5 tokens", str(TOKENS)])
    refuses(INPUT, "quantize", llama / "prefill.onnx", *flags, says="config.json")
    refuses(INPUT, "quantize", llama / "decode.onnx", *flags, "--rope-theta", 10000,
            says="without a past")
    refuses(INPUT, "quantize", simple(tmp_path), *flags, "--rope-theta", 10000, says="ids [1,T]")
    assert not (tmp_path / "q.onnx").exists()


def simple(tmp_path):
    return model(tmp_path / "net.onnx", [h.make_node("Relu", ["x"], ["y"])],
                 {"x": (T.FLOAT, [1, 4])}, {"y": (T.FLOAT, [1, 4])})


@pytest.mark.parametrize("array, says", [
    (np.zeros((3, 5), np.float32), ["x", "[3, 5]", "[1, 4]"]),
    (np.zeros((0, 4), np.float32), ["x"]),
    (np.zeros((1, 4), np.float64), ["float64", "float32"]),
    (np.float32([[1, np.nan, 0, 0]]), ["sample 0", "'x'", "NaN"]),
])
def test_wrong_data_is_refused_and_nothing_is_written(tmp_path, array, says):
    np.save(tmp_path / "x.npy", array)
    refuses(INPUT, "quantize", simple(tmp_path), "-o", tmp_path / "q.onnx", "-c",
            tmp_path / "x.npy", says=says)
    assert not (tmp_path / "q.onnx").exists()


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    refuses(INPUT, "quantize", simple(tmp_path), "-o", tmp_path / "q.onnx", "-c",
            tmp_path / "data")


def test_a_truncated_archive_is_refused(tmp_path, llama):
    whole = (llama / "data.npz").read_bytes()
    for cut in (0, 3, 40, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.npz").write_bytes(whole[:cut])
        refuses(INPUT, "quantize", llama / "prefill.onnx", "-o", tmp_path / "q.onnx", "-c",
                tmp_path / "cut.npz", says="cut.npz")


def test_an_array_that_the_model_needs_must_be_there(tmp_path, llama):
    np.savez(tmp_path / "d.npz", ids=np.zeros((1, TOKENS), np.int32))
    refuses(INPUT, "quantize", llama / "prefill.onnx", "-o", tmp_path / "q.onnx", "-c",
            tmp_path / "d.npz", says=["d.npz", "'cos'"])


def test_metadata_stay_and_say_the_scheme(tmp_path):
    net = onnx.load(simple(tmp_path))
    net.metadata_props.add(key="classes", value="cat\ndog")
    onnx.save(net, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    ok("quantize", tmp_path / "net.onnx", "-o", tmp_path / "q.onnx", "-s", "a16w8", "-c",
       tmp_path / "x.npy", "-q")
    facts = {f.key: f.value for f in onnx.load(tmp_path / "q.onnx").metadata_props}
    assert facts == {"classes": "cat\ndog", "quern.scheme": "a16w8", "quern.block": "0"}


def test_a_quantized_model_is_not_quantized_again(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    ok("quantize", simple(tmp_path), "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy", "-q")
    refuses(REFUSED, "quantize", tmp_path / "q.onnx", "-o", tmp_path / "again.onnx", "-c",
            tmp_path / "x.npy", says=["QuantizeLinear", "quantized already"])


def test_dynamic_shapes_and_old_opsets_are_refused(tmp_path):
    node = [h.make_node("Relu", ["x"], ["y"])]
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    for opset, shape, says in ((17, ["batch", 4], "'x' [batch,4] has a dynamic shape"),
                               (10, [1, 4], "opset 10")):
        net = model(tmp_path / "n.onnx", node, {"x": (T.FLOAT, shape)}, {"y": (T.FLOAT, shape)},
                    opset=opset)
        refuses(REFUSED, "quantize", net, "-o", tmp_path / "q.onnx", "-c", tmp_path / "x.npy",
                says=says)


def test_models_that_differ_are_not_calibrated_by_each_other(tmp_path, llama):
    tiny_llama.save(tmp_path / "other.onnx", 1, PAST, layers=1)
    refuses(REFUSED, "quantize", llama / "prefill.onnx", tmp_path / "other.onnx", "-o",
            tmp_path / "both", "-s", "a16w8", "-c", llama / "data.npz", says="the graphs differ")
    assert not list((tmp_path / "both").glob("*"))


def test_flags_that_do_not_go_together_are_refused(tmp_path):
    net = simple(tmp_path)
    for flags, says in (((), "--output"), (("-o", "q.onnx"), "--calibration"),
                        (("-o", "q.onnx", "-r", "-s", "a8w8", "--weights", "w4"), "--scheme"),
                        (("-o", "q.onnx", "-r", "--activations", "a8", "--weights", "w16"), "a16"),
                        (("-o", "q.onnx", "-r", "--block", "33"), "--block 33")):
        refuses(USAGE, "quantize", net, *flags, says=says, cwd=tmp_path)
