# SPDX-License-Identifier: MIT
"""Context models of Quern's provider: written, read back in another process, and spoiled."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from provider import HTP, NAME, PLUGIN, close, cpu_session, devices, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import assignment, conv_net, images  # noqa: E402

node = helper.make_node
F, I64 = np.float32, np.int64


def generate(net, path, embed, options=HTP, **more):
    return session(net, options, {"ep.context_enable": "1", "ep.context_file_path": str(path),
                                  "ep.context_embed_mode": str(int(embed))}, **more)


def context_nodes(path):
    return [n for n in onnx.load(path).graph.node if n.op_type == "EPContext"]


def attributes(n):
    return {a.name: helper.get_attribute_value(a) for a in n.attribute}


READ = """
import sys, numpy as np
sys.path[:0] = sys.argv[1:2]
from provider import HTP, session
s = session(sys.argv[2], HTP, fallback=True)
feed = dict(np.load(sys.argv[3]))
np.savez(sys.argv[4], *s.run(None, feed))
"""


def run_elsewhere(path, feed, tmp_path):
    """Outputs of a context model in a new process."""
    np.savez(tmp_path / "in.npz", **feed)
    subprocess.run([sys.executable, "-c", READ, str(Path(__file__).parent), str(path),
                    str(tmp_path / "in.npz"), str(tmp_path / "out.npz")], check=True)
    out = np.load(tmp_path / "out.npz")
    return [out[k] for k in out.files]


@pytest.mark.parametrize("embed", [0, 1])
def test_a_context_model_gives_the_same_bytes_in_another_process(tmp_path, embed):
    net, path = conv_net(seed=1), tmp_path / "net_ctx.onnx"
    first = generate(net, path, embed)
    (n,) = context_nodes(path)
    a = attributes(n)
    assert a["embed_mode"] == embed and a["source"].decode() == NAME and a["main_context"] == 1
    assert embed or a["ep_cache_context"] == b"net_ctx_qnn.bin"
    assert (tmp_path / "net_ctx_qnn.bin").exists() == (not embed)
    x = images(2, 1)[0]
    assert np.array_equal(run_elsewhere(path, {"x": x}, tmp_path)[0], first.run(None, {"x": x})[0])


@pytest.mark.parametrize("embed", [0, 1])
def test_several_partitions_share_one_binary(tmp_path, embed):
    net = model([node("Relu", ["x"], ["a"]),
                 node("CDist", ["a", "a"], ["b"], domain="com.microsoft", metric="euclidean"),
                 node("Add", ["b", "k"], ["y"])],
                [("x", F, [3, 4])], [("y", F, [3, 3])], [("k", F(2) * np.ones([3, 3], F))],
                domains=["com.microsoft"], known=[("b", F, [3, 3])])
    path = tmp_path / "two_ctx.onnx"
    generate(net, path, embed, fallback=True)
    found = [attributes(n) for n in context_nodes(path)]
    assert [a["main_context"] for a in found] == [1, 0]
    assert "ep_cache_context" not in found[1]
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(F)
    (got,) = run_elsewhere(path, {"x": x}, tmp_path)
    assert close(got, cpu_session(net).run(None, {"x": x})[0], 5e-3)


def test_integers_of_64_bits_keep_their_width(tmp_path):
    net = model([node("Gather", ["x", "i"], ["y"], axis=0), node("Add", ["i", "i"], ["d"])],
                [("x", F, [5, 3]), ("i", I64, [2])], [("y", F, [2, 3]), ("d", I64, [2])])
    path = tmp_path / "int_ctx.onnx"
    generate(net, path, 0)
    feed = {"x": np.arange(15, dtype=F).reshape(5, 3), "i": np.array([4, 1], I64)}
    y, d = run_elsewhere(path, feed, tmp_path)
    assert y.tolist() == [[12, 13, 14], [3, 4, 5]] and d.dtype == I64 and d.tolist() == [8, 2]


def test_the_cpu_backend_says_that_it_has_no_contexts(tmp_path):
    with pytest.raises(Exception, match="CPU backend has no context binaries.*htp"):
        generate(conv_net(seed=1), tmp_path / "c.onnx", 0, {"backend_type": "cpu"})


def spoil(path, how):
    m = onnx.load(path)
    (n,) = [k for k in m.graph.node if k.op_type == "EPContext"]
    for a in n.attribute:
        if a.name == "ep_cache_context":
            a.s = how(a.s)
    onnx.save(m, path)


@pytest.mark.parametrize("how, words", [
    (lambda s: s[: len(s) // 2], "cannot be used"),
    (lambda s: b"", "cannot be used"),
    (lambda s: s[:100] + bytes([s[100] ^ 255]) + s[101:], "cannot be used"),
    (lambda s: b"x" * 1000, "cannot be used"),
])
def test_spoiled_payloads_are_refused_with_words(tmp_path, how, words):
    path = tmp_path / "c.onnx"
    generate(conv_net(seed=1), path, 1)
    spoil(path, how)
    with pytest.raises(Exception) as raised:
        session(str(path), HTP)
    assert words in str(raised.value) and "INVALID_GRAPH" in str(raised.value)


@pytest.mark.parametrize("name, words", [
    (b"/etc/passwd", "not the name of a file beside the model"),
    (b"../x.bin", "not the name of a file beside the model"),
    (b"a/../../x.bin", "not the name of a file beside the model"),
    (b"a/..", "not the name of a file beside the model"),
    (b"gone.bin", "gone.bin"),
])
def test_files_outside_or_missing_are_refused(tmp_path, name, words):
    path = tmp_path / "c.onnx"
    generate(conv_net(seed=1), path, 0)
    spoil(path, lambda s: name)
    with pytest.raises(Exception) as raised:
        session(str(path), HTP)
    assert words in str(raised.value)


def test_a_context_for_another_chip_is_refused(tmp_path):
    path = tmp_path / "c.onnx"
    generate(conv_net(seed=1), path, 0, {**HTP, "soc_model": "SM8750"})
    with pytest.raises(Exception, match="cannot be used"):
        session(str(path), {**HTP, "soc_model": "SM8450"})


def test_a_context_model_is_all_ours(tmp_path):
    path = tmp_path / "c.onnx"
    generate(conv_net(seed=1), path, 0)
    assert assignment(session(str(path), HTP)) == {NAME: ["EPContext"]}


SHARE = {"ep.share_ep_contexts": "1"}
STOP = {**SHARE, "ep.stop_share_ep_contexts": "1"}


def generate_pair(tmp_path):
    """Two models of one set of weights in one binary; results of both before."""
    nets = [conv_net(seed=1), conv_net(seed=1, softmax=False)]
    paths = [tmp_path / f"{name}_ctx.onnx" for name in ("a", "b")]
    x = images(3, 1)[0]
    results = []
    for net, path, keys in zip(nets, paths, (SHARE, STOP)):
        s = session(net, HTP, {**keys, "ep.context_enable": "1",
                               "ep.context_file_path": str(path), "ep.context_embed_mode": "0"})
        results.append(s.run(None, {"x": x})[0])
    return paths, x, results


def test_models_that_share_weights_have_one_binary(tmp_path, capfd):
    paths, x, results = generate_pair(tmp_path)
    assert "[E:" not in capfd.readouterr().err
    names = {attributes(context_nodes(p)[0])["ep_cache_context"] for p in paths}
    assert names == {b"a_ctx_qnn.bin"} and [p.name for p in tmp_path.glob("*.bin")] == [
        "a_ctx_qnn.bin"]
    alone = tmp_path / "alone.onnx"
    generate(conv_net(seed=1), alone, 0)
    one = (tmp_path / "alone_qnn.bin").stat().st_size
    assert (tmp_path / "a_ctx_qnn.bin").stat().st_size < 1.9 * one
    for path, want in zip(paths, results):
        assert np.array_equal(run_elsewhere(path, {"x": x}, tmp_path)[0], want)


REGISTERED_ANEW = """
import sys
import onnxruntime as ort
provider, plugin, folder = sys.argv[1:]
for name, stop in (("a", "0"), ("b", "1")):
    ort.register_execution_provider_library(provider, plugin)
    so = ort.SessionOptions()
    for key, value in {"ep.context_enable": "1", "ep.context_embed_mode": "0",
                       "ep.context_file_path": f"{folder}/{name}_ctx.onnx",
                       "ep.share_ep_contexts": "1", "ep.stop_share_ep_contexts": stop}.items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == provider][:1],
                                {"backend_type": "htp", "soc_model": "SM8650"})
    ort.InferenceSession(f"{folder}/{name}.onnx", so, enable_fallback=0)
    ort.unregister_execution_provider_library(provider)
"""


def test_models_share_a_binary_when_the_provider_is_registered_anew(tmp_path):
    """As Olive does between models."""
    nets = {"a": conv_net(seed=1), "b": conv_net(seed=1, softmax=False)}
    for name, net in nets.items():
        (tmp_path / f"{name}.onnx").write_bytes(net)
    subprocess.run([sys.executable, "-c", REGISTERED_ANEW, NAME, PLUGIN, tmp_path], check=True)
    assert [p.name for p in tmp_path.glob("*.bin")] == ["a_ctx_qnn.bin"]
    x = images(3, 1)[0]
    for name, net in nets.items():
        want = session(net, HTP).run(None, {"x": x})[0]
        got = run_elsewhere(tmp_path / f"{name}_ctx.onnx", {"x": x}, tmp_path)[0]
        assert np.array_equal(got, want)


def test_sessions_that_share_load_a_binary_once(tmp_path):
    paths, x, results = generate_pair(tmp_path)
    first = session(str(paths[0]), HTP, SHARE)
    (tmp_path / "a_ctx_qnn.bin").unlink()
    (tmp_path / "a_ctx_qnn.bin").write_bytes(b"who reads this again fails")
    second = session(str(paths[1]), HTP, STOP)
    for s, want in zip((first, second), results):
        assert np.array_equal(s.run(None, {"x": x})[0], want)


@pytest.mark.parametrize("key, value, words", [
    ("soc_model", "SM8550", "names another backend, SoC"),
    ("threads", "1", "or number of threads"),
    ("qnn_context_priority", "high", "qnn_context_priority, .* must be those of"),
    ("enable_htp_graph_splitting", "1", "enable_htp_graph_splitting .* must be those of")])
def test_sessions_that_share_must_agree(key, value, words):
    kept = session(conv_net(seed=1), HTP, SHARE)
    with pytest.raises(Exception, match=words):
        session(conv_net(seed=1), {**HTP, key: value}, SHARE)
    session(conv_net(seed=2), HTP, STOP)
    del kept


def test_a_shared_binary_cannot_be_embedded(tmp_path):
    with pytest.raises(Exception, match="cannot be embedded"):
        session(conv_net(seed=1), HTP, {**STOP, "ep.context_enable": "1",
                                        "ep.context_file_path": str(tmp_path / "c.onnx"),
                                        "ep.context_embed_mode": "1"})


# --- onnxruntime's own compiler

@pytest.mark.parametrize("embed", [False, True])
@pytest.mark.parametrize("target", ["file", "bytes"])
def test_models_are_compiled_by_the_host_s_interface(tmp_path, embed, target):
    x, source = images(2, 1)[0], tmp_path / "m.onnx"
    source.write_bytes(conv_net(seed=1))
    so = ort.SessionOptions()
    so.add_provider_for_devices(devices("cpu")[:1], HTP)
    compiler = ort.ModelCompiler(so, str(source), embed_compiled_data_into_model=embed)
    if target == "file":
        made = str(tmp_path / "made.onnx")
        compiler.compile_to_file(made)
    else:
        made = compiler.compile_to_bytes()
    files = {p.name for p in tmp_path.glob("*.bin")}
    assert files == (set() if embed else {f"{'made' if target == 'file' else 'm'}_qnn.bin"})
    s = session(made, HTP, {"ep.context_file_path": str(source)} if target == "bytes" else {})
    want = session(conv_net(seed=1), HTP).run(None, {"x": x})[0]
    assert np.array_equal(s.run(None, {"x": x})[0], want)


# --- names that differ between model and graph

def renamed(path, pairs, overrides):
    """The model with other names of values, and the attribute that tells of it."""
    m = onnx.load(path)
    (n,) = m.graph.node
    for values in (n.input, n.output):
        values[:] = [pairs.get(v, v) for v in values]
    for info in [*m.graph.input, *m.graph.output]:
        info.name = pairs.get(info.name, info.name)
    n.attribute.append(helper.make_attribute("io_name_overrides", overrides))
    onnx.save(m, path)


def test_values_are_found_under_the_names_that_the_node_pairs_them_with(tmp_path):
    path, x = tmp_path / "c.onnx", images(2, 1)[0]
    s = generate(conv_net(seed=1), path, 1)
    want, name = s.run(None, {"x": x})[0], s.get_outputs()[0].name
    renamed(path, {"x": "left", name: "x"}, f"x={name};left=x;")  # names may even cross
    assert np.array_equal(session(str(path), HTP).run(None, {"left": x})[0], want)


@pytest.mark.parametrize("overrides", ["", "left", "left=;", "left=xx;", "eft=x;", "left=x_;y=z"])
def test_pairs_that_do_not_fit_are_refused(tmp_path, overrides):
    path = tmp_path / "c.onnx"
    generate(conv_net(seed=1), path, 1)
    renamed(path, {"x": "left"}, overrides)
    with pytest.raises(Exception, match="an input 'x' that the model's node does not have"):
        session(str(path), HTP)


# --- the public provider

def qdq_net():
    """Codes inside, floats outside: quantizing at the borders is left to the processor."""
    w = np.random.default_rng(1).integers(-127, 127, (8, 4)).astype(np.int8)

    def pair(name, scale):
        return [node("QuantizeLinear", [name, scale, "z"], [name + "_q"]),
                node("DequantizeLinear", [name + "_q", scale, "z"], [name + "_d"])]

    last = pair("r", "v")
    last[1].output[0] = "y"
    return model([*pair("x", "s"), node("DequantizeLinear", ["w", "t", "u"], ["wd"]),
                  node("MatMul", ["x_d", "wd"], ["m"]), *pair("m", "v"),
                  node("Relu", ["m_d"], ["r"]), *last],
                 [("x", F, [2, 8])], [("y", F, [2, 4])],
                 [("s", F(0.05)), ("z", np.uint8(128)), ("w", w), ("t", F(0.01)),
                  ("u", np.int8(0)), ("v", F(0.1))], opset=19)


PUBLIC = """
import sys, numpy as np
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
import qnn_provider as public
from provider import HTP, session
folder, x = Path(sys.argv[3]), np.load(sys.argv[3] + "/x.npy")
device, net = public.register(), (folder / "net.onnx").read_bytes()
writer = public.session(net, device, public.writing(folder / "theirs.onnx", sys.argv[4]))
want = public.run(writer, x)
ours = session(str(folder / "theirs.onnx"), HTP, fallback=True)
assert np.array_equal(ours.run(None, {"x": x})[0], want), "ours reads theirs"
assert np.array_equal(public.run(public.session(folder / "ours.onnx", device), x),
                      np.load(sys.argv[3] + "/y.npy")), "theirs reads ours"
"""


@pytest.mark.parametrize("embed", ["0", "1"])
@pytest.mark.parametrize("net, x", [
    (conv_net(seed=1), images(2, 1)[0]),
    (qdq_net(), np.random.default_rng(2).standard_normal((2, 8)).astype(F)),
], ids=["float", "quantized"])
def test_both_providers_read_what_the_other_wrote(tmp_path, net, x, embed):
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    (tmp_path / "net.onnx").write_bytes(net)
    s = generate(net, tmp_path / "ours.onnx", embed == "1", fallback=True)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", s.run(None, {"x": x})[0])
    m = onnx.load(tmp_path / "ours.onnx")
    for n in m.graph.node:
        for a in n.attribute:
            if a.name == "source":
                a.s = b"QNN"  # it knows its own names only
    onnx.save(m, tmp_path / "ours.onnx")
    here = Path(__file__).resolve().parent
    done = subprocess.run([sys.executable, "-c", PUBLIC, str(here), str(here.parent / "clients"),
                           str(tmp_path), embed], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_dots_in_a_name_lead_nowhere_else(tmp_path):
    net, x, path = conv_net(seed=1), images(2, 1)[0], tmp_path / "net..v2..onnx"
    first = generate(net, path, 0)
    assert attributes(context_nodes(path)[0])["ep_cache_context"] == b"net..v2._qnn.bin"
    got = session(str(path), HTP).run(None, {"x": x})[0]
    assert np.array_equal(got, first.run(None, {"x": x})[0])


def dense(seed):
    """A model with a binary of some megabytes."""
    w = np.random.default_rng(seed).normal(size=(256 << seed, 1024)).astype(F)
    return model([node("MatMul", ["x", "w"], ["y"])], [("x", F, [1, len(w)])],
                 [("y", F, [1, 1024])], [("w", w)])


WRITE = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from test_context_model import dense, generate
seed, rounds, path = int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
known = {p.read_bytes() for p in path.parent.glob("alone*_qnn.bin")}
net = dense(seed)
for i in range(rounds):
    own = path.with_suffix(f".{seed}")  # the host does not replace models
    generate(net, own, 0)
    own.unlink()
    assert path.with_name("net_qnn.bin").read_bytes() in known, f"round {i}: a part of a file"
"""


def test_writers_of_one_context_binary_show_whole_files_only(tmp_path):
    """QUERN_TEST_ROUNDS=1000 for the long version."""
    here, rounds = Path(__file__).resolve().parent, os.environ.get("QUERN_TEST_ROUNDS", "10")
    for seed in range(3):
        generate(dense(seed), tmp_path / f"alone{seed}.onnx", 0)
    assert len({p.read_bytes() for p in tmp_path.glob("*_qnn.bin")}) == 3
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, here, here.parent / "clients",
                                 str(seed), rounds, tmp_path / "net.onnx"],
                                stderr=subprocess.PIPE, text=True) for seed in range(3)]
    for w in writers:
        said = w.communicate()[1]
        assert w.returncode == 0, said
    assert not list(tmp_path.glob("*.part"))


def test_a_context_binary_keeps_its_mode_and_touches_nothing_planted(tmp_path):
    precious, binary = tmp_path / "precious", tmp_path / "net_qnn.bin"
    precious.write_text("mine")
    (tmp_path / "net_qnn.bin.part").symlink_to(precious)
    binary.write_text("old")
    binary.chmod(0o600)
    generate(conv_net(seed=1), tmp_path / "net.onnx", 0)
    assert precious.read_text() == "mine" and binary.stat().st_mode & 0o7777 == 0o600
    assert binary.stat().st_size > 1000


def overwrite(path):
    with open(path, "r+b") as f:
        f.seek(-4096, os.SEEK_END)
        f.write(bytes(range(256)) * 8)


@pytest.mark.parametrize("change", [lambda p: os.truncate(p, 0), overwrite])
def test_a_context_binary_that_changes_in_place_is_an_error(tmp_path, change):
    generate(dense(2), tmp_path / "net.onnx", 0)
    binary, x = tmp_path / "net_qnn.bin", np.ones((1, 1024), F)
    os.utime(binary, (1e9, 1e9))  # one that was just written would be copied
    s = session(str(tmp_path / "net.onnx"), HTP)
    s.run(None, {"x": x})
    change(binary)
    for _ in range(2):
        with pytest.raises(Exception, match="net_qnn.bin was changed while it was in use"):
            s.run(None, {"x": x})


def test_a_context_binary_that_is_replaced_stays_in_use(tmp_path):
    generate(dense(2), tmp_path / "net.onnx", 0)
    binary, x = tmp_path / "net_qnn.bin", np.ones((1, 1024), F)
    os.utime(binary, (1e9, 1e9))
    s = session(str(tmp_path / "net.onnx"), HTP)
    first = s.run(None, {"x": x})[0]
    (tmp_path / "new").write_text("nonsense")
    os.replace(tmp_path / "new", binary)
    np.testing.assert_array_equal(first, s.run(None, {"x": x})[0])
    os.unlink(binary)
    np.testing.assert_array_equal(first, s.run(None, {"x": x})[0])
