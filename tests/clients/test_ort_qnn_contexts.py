# SPDX-License-Identifier: MIT
"""Context models of the public onnxruntime-qnn provider on our libraries: partitions, sharing of
contexts and weights between sessions, groups of contexts. What a session that compiled the model
computes is what every other one must, to the byte.
"""
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from ort_models import assignment, conv_net, float_net, images, sqnr
from qnn_provider import NAME, run, run_in_new_process, session, writing

SHARE, LAST = {"ep.share_ep_contexts": "1"}, {"ep.stop_share_ep_contexts": "1"}


@pytest.fixture
def x():
    return images(21, 1)[0]


def contexts_of(path):
    return [n for n in onnx.load(path).graph.node if n.op_type == "EPContext"]


def attribute(node, name):
    return next(helper.get_attribute_value(a) for a in node.attribute if a.name == name)


@pytest.mark.parametrize("embed", ["0", "1"], ids=["beside", "embedded"])
def test_partitions_share_one_binary(device, tmp_path, x, embed):
    """Sinh stays with onnxruntime and splits the model in two."""
    model = float_net([("Conv", 8, 3), ("Relu",), ("Sinh",), ("Conv", 4, 8), ("Sigmoid",)], seed=5)
    online = session(model, device)
    assert assignment(online)["CPUExecutionProvider"] == ["Sinh"]
    want = run(online, x)
    cpu = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert sqnr(want, run(cpu, x)) > 55
    path = tmp_path / "two_ctx.onnx"
    assert np.array_equal(run(session(model, device, writing(path, embed)), x), want)
    nodes = contexts_of(path)
    assert len(nodes) == 2 and len(list(tmp_path.glob("*.bin"))) == (embed == "0")
    assert [attribute(n, "main_context") for n in nodes] == [1, 0]
    assert np.array_equal(run(session(path, device), x), want)
    assert np.array_equal(run_in_new_process(path, x), want)


def write_shared(device, folder, models):
    """Context models of several sessions that share one context; the last one writes it."""
    paths = [folder / f"{name}_ctx.onnx" for name in models]
    sessions = []
    for i, (model, path) in enumerate(zip(models.values(), paths)):
        last = LAST if i + 1 == len(models) else {}
        sessions.append(session(model, device, {**writing(path), **SHARE, **last}))
    return paths


@pytest.fixture
def relatives():
    """Two models with the same large weights; they differ in their ends. (And in the name of the
    output: onnxruntime names graphs by it, and contexts know their graphs by name.)"""
    layers = [("Conv", 64, 3), ("Relu",), ("Conv", 96, 64), ("Relu",), ("Conv", 64, 96)]
    return {"first": float_net(layers + [("Sigmoid",)], seed=8, output="first"),
            "second": float_net(layers + [("Tanh",)], seed=8, output="second")}


def test_weights_of_two_models_are_stored_once(device, tmp_path, x, relatives):
    want = [run(session(m, device), x) for m in relatives.values()]
    alone = tmp_path / "alone_ctx.onnx"
    session(relatives["first"], device, writing(alone))
    size = next(tmp_path.glob("*.bin")).stat().st_size
    folder = tmp_path / "shared"
    folder.mkdir()
    paths = write_shared(device, folder, relatives)
    binary, = folder.glob("*.bin")
    weights = 2 * 9 * (3 * 64 + 64 * 96 + 96 * 64)  # halves
    assert size > weights and binary.stat().st_size < size + weights / 4
    assert {attribute(contexts_of(p)[0], "ep_cache_context") for p in paths} == {
        binary.name.encode()}
    for path, y in zip(paths, want):  # each of them for itself, in a process that knows nothing
        assert np.array_equal(run_in_new_process(path, x), y)


def test_sessions_share_a_loaded_context(device, tmp_path, x, relatives):
    want = [run(session(m, device), x) for m in relatives.values()]
    first, second = write_shared(device, tmp_path, relatives)
    one = session(first, device, SHARE)
    binary, = tmp_path.glob("*.bin")
    binary.unlink()  # the second takes its graph from what the first has loaded
    two = session(second, device, {**SHARE, **LAST})
    for _ in range(2):
        assert np.array_equal(run(one, x), want[0]) and np.array_equal(run(two, x), want[1])
    del two, one
    with pytest.raises(Exception, match="(?i)context"):  # sharing has ended: the file is needed
        session(second, device)


@pytest.mark.parametrize("option", ["enable_vtcm_backup_buffer_sharing",
                                    "htp_share_resource_optimization"])
def test_contexts_are_loaded_as_a_list(device, tmp_path, x, relatives, option):
    want = [run(session(m, device), x) for m in relatives.values()]
    for name, model, y in zip(("a", "b"), relatives.values(), want):
        path = tmp_path / f"{name}_ctx.onnx"
        session(model, device, writing(path))
        assert np.array_equal(run(session(path, device, **{option: "1"}), x), y)


def joined(paths, target):
    """One model of several context models, side by side: as many contexts."""
    graph = onnx.GraphProto(name="joined")
    for i, path in enumerate(paths):
        part = onnx.load(path).graph
        assert len(part.node) == 1 and len(part.input) == 1 and len(part.output) == 1
        graph.node.add().CopyFrom(part.node[0])
        graph.output.add().CopyFrom(part.output[0])
        if i == 0:
            graph.input.add().CopyFrom(part.input[0])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, target)
    return target


def test_contexts_of_a_model_share_their_spill_buffer(device, tmp_path):
    """Two binaries in one model, prepared with enable_htp_spill_fill_buffer and a VTCM that the
    first one's tensors overflow: both are loaded as one group."""
    wide = {"vtcm_mb": "1", "enable_htp_spill_fill_buffer": "1"}
    big = float_net([("Conv", 128, 3), ("Relu",), ("Conv", 128, 128), ("Relu",), ("Conv", 2, 128)],
                    seed=3, output="big", size=96)
    small = float_net([("Conv", 8, 3), ("Relu",)], seed=4, output="small", size=96)
    x = np.random.default_rng(6).standard_normal((1, 3, 96, 96)).astype(np.float32)
    want, paths = [], []
    for name, model in (("big", big), ("small", small)):
        want.append(run(session(model, device), x))
        paths.append(tmp_path / f"{name}_ctx.onnx")
        session(model, device, writing(paths[-1]), **wide)
    sizes = [attribute(contexts_of(p)[0], "max_size") for p in paths]
    assert sizes[0] > 0, "the first one does not spill"
    both = session(joined(paths, tmp_path / "both.onnx"), device, **wide)
    assert assignment(both) == {NAME: ["EPContext", "EPContext"]}
    got = both.run(["big", "small"], {"x": x})
    assert all(np.array_equal(g, w) for g, w in zip(got, want))


def test_a_model_is_prepared_only(device, tmp_path, x):
    model, path = conv_net(seed=1), tmp_path / "only_ctx.onnx"
    want = run(session(model, device), x)
    preparer = session(model, device, writing(path), enable_htp_prepare_only="1")
    preparer.disable_fallback()
    with pytest.raises(Exception, match="prepare_only"):
        run(preparer, x)
    assert np.array_equal(run(session(path, device), x), want)


def test_a_session_loads_what_it_has_prepared(device, x):
    model = conv_net(seed=1)
    want = run(session(model, device), x)
    assert np.array_equal(run(session(model, device, enable_htp_prepare_and_load="1"), x), want)
