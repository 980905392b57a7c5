# SPDX-License-Identifier: MIT
"""quern import: GGUF files of small Llamas to graphs that compute what llama.cpp defines."""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from harness import FAILURE, REFUSED, USAGE, ok, quern, refuses

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import ARRAY, F32, STRING, TYPES, U32, Gguf  # noqa: E402
from gguf_llama import TinyLlama  # noqa: E402

BLOCKS = np.load(Path(__file__).resolve().parent.parent / "frontend" / "gguf_blocks.npz")
FILES = {"prefill.onnx", "decode.onnx", "weights.data", "config.json", "tokenizer.json",
         "tokenizer_config.json"}
T, CONTEXT = 6, 12
IDS = np.array([5, 70, 100, 33, 250, 7, 91, 64, 3, 201])


def convert(folder, data, *flags, logits="all"):
    path = folder / "model.gguf"
    path.write_bytes(data.bytes() if hasattr(data, "bytes") else data)
    out = ok("import", path, "-o", folder / "m", "-p", T, "-c", CONTEXT, "--logits", logits,
             *flags).stdout
    return folder / "m", out


def angles(net, first, n):
    a = (np.arange(first, first + n)[:, None]
         / net.base ** (np.arange(0, net.hd, 2) / net.hd)[None])
    a = np.concatenate([a, a], -1)[None, None]
    return {"cos": np.float32(np.cos(a)), "sin": np.float32(np.sin(a))}


def feeds(net, ids, past_k, past_v, p, kind=np.float32):
    """Inputs of a graph with room for p past positions of that type, of which past_k has some."""
    t, valid = len(ids), past_k[0].shape[1] if past_k else 0
    mask = np.full((1, 1, 1, t, p + t), -1e4, np.float32)
    mask[..., :valid] = 0
    for i in range(t):
        mask[..., i, p:p + i + 1] = 0
    out = {"ids": np.int32([ids]), "mask": mask, **angles(net, valid, t)}
    for i in range(net.layers if p else 0):
        for c, x in (("k", past_k[i]), ("v", past_v[i])):
            full = np.zeros((1, net.kv, p, net.hd), kind)
            full[0, :, :valid] = x
            out[f"past_{c}_{i}"] = full
    return out


def by_onnxruntime(path, inputs):
    o = onnxruntime.SessionOptions()  # its own fusions round activations to 8 bits
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = onnxruntime.InferenceSession(str(path), o, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in s.get_outputs()], s.run(None, inputs)))


def by_quern(path, inputs, *flags):
    folder = path.parent / "io"
    folder.mkdir(exist_ok=True)
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
    ok("run", path, *[f"{n}={folder}/{n}.npy" for n in inputs], "-o", folder / "out", *flags)
    names = [o.name for o in onnx.load(path, load_external_data=False).graph.output]
    return {n: np.load(folder / "out" / f"output_{i}.npy") for i, n in enumerate(names)}


def decibel(x, want):
    x, want = np.asarray(x, np.float64), np.asarray(want, np.float64)
    return 10 * np.log10((want ** 2).sum() / max(((x - want) ** 2).sum(), 1e-30))


def apart(net, k):
    """Keys with rotated pairs half a head apart, as graphs have them."""
    return np.concatenate([k[..., 0::2], k[..., 1::2]], -1) if net.arch == "llama" else k


@pytest.mark.parametrize("arch,tied", [("llama", True), ("llama", False), ("qwen2", True)])
@pytest.mark.parametrize("run", [by_onnxruntime, by_quern])
def test_float_graphs_compute_what_the_file_means(tmp_path, arch, tied, run):
    net = TinyLlama(arch=arch, tied=tied)
    m, _ = convert(tmp_path, net.gguf(), "--weights", "fp32", "--chunks")
    want, ks, vs = net.forward(IDS)
    first = run(m / "prefill.onnx", feeds(net, IDS[:T], [], [], 0))
    assert decibel(first["logits"][0], want[:T]) > 100
    k = [first[f"new_k_{i}"][0] for i in range(net.layers)]
    v = [first[f"new_v_{i}"][0] for i in range(net.layers)]
    for i in range(net.layers):
        assert decibel(k[i], apart(net, ks[i][:, :T])) > 100
        assert decibel(v[i], vs[i][:, :T]) > 100
    step = run(m / "decode.onnx", feeds(net, IDS[T:T + 1], k, v, CONTEXT - 1))
    assert decibel(step["logits"][0, 0], want[T]) > 100
    rest = np.r_[IDS[T:], 0, 0]
    chunk = run(m / "chunk.onnx", feeds(net, rest, k, v, CONTEXT - T))
    assert decibel(chunk["logits"][0, :len(IDS) - T], want[T:]) > 100


@pytest.mark.parametrize("run", [by_onnxruntime, by_quern])
@pytest.mark.parametrize("form", ["fp32", "w4"])
def test_logits_are_of_the_token_that_is_chosen(tmp_path, run, form):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf("Q4_1"), "--weights", form, "--chunks", logits="last")
    (tmp_path / "all").mkdir()
    every, _ = convert(tmp_path / "all", net.gguf("Q4_1"), "--weights", form, "--chunks")
    zero = [np.zeros((net.kv, 0, net.hd))] * net.layers
    for name, p in (("prefill.onnx", 0), ("chunk.onnx", CONTEXT - T)):
        x = feeds(net, IDS[:T], zero, zero, p, np.float32 if form == "fp32" else np.float16)
        want = by_onnxruntime(every / name, x)
        for last in (0, 2, T - 1):
            got = run(m / name, {**x, "last": np.int32([last])})
            assert got["logits"].shape == (1, 1, net.vocab)
            assert decibel(got["logits"][0, 0], want["logits"][0, last]) > 90
            assert decibel(got["new_k_1"], want["new_k_1"]) > 90


@pytest.mark.parametrize("run", [by_onnxruntime, by_quern])
def test_caches_are_float16_where_weights_are_short(tmp_path, run):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf(), "--weights", "fp16", "--chunks")
    want, ks, vs = net.forward(IDS)
    k, v = [apart(net, x[:, :T]) for x in ks], [x[:, :T] for x in vs]
    step = run(m / "decode.onnx", feeds(net, IDS[T:T + 1], k, v, CONTEXT - 1, np.float16))
    assert decibel(step["logits"][0, 0], want[T]) > 60
    rest = np.r_[IDS[T:], 0, 0]
    chunk = run(m / "chunk.onnx", feeds(net, rest, k, v, CONTEXT - T, np.float16))
    assert decibel(chunk["logits"][0, :len(IDS) - T], want[T:]) > 60


TEXT = "The quick brown fox jumps over the lazy dog, and 12 others sleep. " * 8


def as_bytes(model, name, x):
    """x as the cache `name` stores it, by the constants of its DequantizeLinear."""
    node = next(n for n in model.graph.node
                if n.op_type == "DequantizeLinear" and n.input[0] == name)
    at = {t.name: t for t in model.graph.initializer}
    scale, zero = (numpy_helper.to_array(at[i]).item() for i in node.input[1:])
    return np.clip(np.round(x / scale) + zero, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("flags", [(), ("--soc", "SM8750"), ("-t", "2")])
@pytest.mark.parametrize("form", ["fp32", "fp16", "w8", "w4"])
def test_caches_of_8_bits_have_the_ranges_of_a_text(tmp_path, form, flags):
    net = TinyLlama()
    (tmp_path / "text").write_text(TEXT)
    m, _ = convert(tmp_path, net.gguf(), "--weights", form, "--chunks", "--state-bits", 8, "--text",
                   tmp_path / "text")
    want, ks, vs = net.forward(IDS)
    k, v = [apart(net, x[:, :T]) for x in ks], [x[:, :T] for x in vs]
    for name, ids, p in (("decode", IDS[T:T + 1], CONTEXT - 1),
                         ("chunk", np.r_[IDS[T:], 0, 0], CONTEXT - T)):
        model = onnx.load(m / f"{name}.onnx", load_external_data=False)
        x = feeds(net, ids, k, v, p)
        for past in [n for n in x if n.startswith("past_")]:
            x[past] = as_bytes(model, past, x[past])
        got, other = by_quern(m / f"{name}.onnx", x, *flags), by_onnxruntime(m / f"{name}.onnx", x)
        n = min(len(ids), len(IDS) - T)
        assert got["new_k_1"].dtype == np.uint8
        assert decibel(got["logits"][0, :n], other["logits"][0, :n]) > (40 if flags else 60)
        assert decibel(got["logits"][0, :n], want[T:T + n]) > (12 if form == "w4" else 20)


@pytest.mark.parametrize("text", [None, b"", b"\xff\xfe\x00"])
def test_a_text_without_a_window_leaves_nothing(tmp_path, text):
    (tmp_path / "model.gguf").write_bytes(TinyLlama().gguf().bytes())
    if text is not None:
        (tmp_path / "text").write_bytes(text)
    done = quern("import", tmp_path / "model.gguf", "-o", tmp_path / "m", "-p", T, "-c", CONTEXT,
                 "--state-bits", 8, "--text", tmp_path / "text")
    assert done.returncode not in (0, USAGE) and "text" in done.stderr
    assert not list((tmp_path / "m").glob("*"))


@pytest.mark.parametrize("form,least", [("fp16", 60), ("w8", 35), ("w4", 14)])
@pytest.mark.parametrize("flags", [(), ("--soc", "SM8750")])
def test_short_weights_are_near_and_the_same_in_onnxruntime(tmp_path, form, least, flags):
    net = TinyLlama(tied=form != "w4")
    m, _ = convert(tmp_path, net.gguf(), "--weights", form)
    x = feeds(net, IDS[:T], [], [], 0)
    there = by_onnxruntime(m / "prefill.onnx", x)["logits"]
    assert decibel(there[0], net.forward(IDS[:T])[0]) > least
    here = by_quern(m / "prefill.onnx", x, *flags)["logits"]
    assert decibel(here, there) > (45 if flags else 90)


def weights_of(folder):
    return {t.name: numpy_helper.to_array(t)
            for t in onnx.load(folder / "decode.onnx").graph.initializer}


def floats_of(folder, name):
    """A weight as [rows, cols], as DequantizeLinear restores it."""
    w = weights_of(folder)
    x = w[f"{name}.weight"].astype(np.float32)
    if f"{name}.weight.zero" in w:
        x = x - np.repeat(w[f"{name}.weight.zero"].astype(np.float32), 32, 0)
    if f"{name}.weight.scale" in w:
        x = x * np.repeat(w[f"{name}.weight.scale"], 32, 0)
    return x.T


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K",
                                  "Q5_K", "Q6_K"])
def test_numbers_of_every_type_are_those_of_ggml(tmp_path, kind):
    """BLOCKS: random blocks, and what the gguf package (0.19.0) decodes them to."""
    net = TinyLlama(layers=1, hidden=256, ff=256)
    raw, numbers = BLOCKS[f"{kind}.bytes"], BLOCKS[f"{kind}.numbers"]
    n = 256 * 256 // TYPES[kind][1]
    g = net.gguf()
    g.tensors = [t for t in g.tensors if t[0] != "blk.0.ffn_up.weight"]
    g.raw("blk.0.ffn_up.weight", (256, 256), TYPES[kind][0],
          np.resize(raw, (n, raw.shape[1])).tobytes())
    m, _ = convert(tmp_path, g, "--weights", "fp32")
    want = np.resize(numbers, 256 * 256).reshape(256, 256)
    assert np.array_equal(floats_of(m, "blk.0.ffn_up"), want)


@pytest.mark.parametrize("kind,form", [("Q8_0", "keep"), ("Q8_0", "w8"), ("Q4_0", "keep"),
                                       ("Q4_0", "w4")])
def test_blocks_that_onnx_has_keep_their_values(tmp_path, kind, form):
    net = TinyLlama()
    exact, _ = convert(tmp_path, net.gguf(kind), "--weights", "fp32")
    want = {n: floats_of(exact, n) for n in ("blk.0.attn_q", "blk.1.ffn_down")}
    m, out = convert(tmp_path, net.gguf(kind), "--weights", form, "--force")
    for name, w in want.items():
        assert np.array_equal(floats_of(m, name), w), name
    assert ("requantized" in out) == (form != "keep")  # the embedding is F32


@pytest.mark.parametrize("flags", [(), ("--weights", "w4")])
def test_blocks_with_a_minimum_keep_their_values_too(tmp_path, flags):
    net = TinyLlama()
    exact, _ = convert(tmp_path, net.gguf("Q4_1"), "--weights", "fp32")
    want = floats_of(exact, "blk.1.attn_k")
    x = feeds(net, IDS[:T], [], [], 0)
    logits = by_onnxruntime(exact / "prefill.onnx", x)["logits"]
    m, out = convert(tmp_path, net.gguf("Q4_1"), "--force", *flags)
    rest = np.repeat(weights_of(m)["blk.1.attn_k.weight.rest"], 32, 0).T
    assert np.allclose(floats_of(m, "blk.1.attn_k") + rest, want, rtol=0, atol=1e-6)
    assert ("1 matrices are requantized" in out) == bool(flags)  # the embedding
    if flags:
        return
    assert decibel(by_onnxruntime(m / "prefill.onnx", x)["logits"], logits) > 90
    assert decibel(by_quern(m / "prefill.onnx", x)["logits"], logits) > 90
    assert decibel(by_quern(m / "prefill.onnx", x, "--soc", "SM8750")["logits"], logits) > 45


def test_blocks_of_q4_k_keep_their_values_too(tmp_path):
    net = TinyLlama(layers=1, hidden=256, ff=256)
    raw, numbers = BLOCKS["Q4_K.bytes"], BLOCKS["Q4_K.numbers"]
    g = net.gguf()
    g.tensors = [t for t in g.tensors if t[0] != "blk.0.ffn_up.weight"]
    g.raw("blk.0.ffn_up.weight", (256, 256), TYPES["Q4_K"][0], np.resize(raw, (256, 144)).tobytes())
    m, _ = convert(tmp_path, g)
    w = weights_of(m)
    assert w["blk.0.ffn_up.weight"].dtype.itemsize == 1  # int4, unpacked
    got = floats_of(m, "blk.0.ffn_up") + np.repeat(w["blk.0.ffn_up.weight.rest"], 32, 0).T
    want = np.resize(numbers, 256 * 256).reshape(256, 256)
    assert np.allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max())


@pytest.mark.parametrize("kind", ["F32", "Q5_1"])
def test_requantized_blocks_are_reported_and_near(tmp_path, kind):
    net = TinyLlama()
    exact, _ = convert(tmp_path, net.gguf(kind), "--weights", "fp32")
    want = floats_of(exact, "blk.0.ffn_up")
    m, out = convert(tmp_path, net.gguf(kind), "--weights", "w4", "--force")
    assert "15 matrices are requantized, 0 keep the file's values" in out
    got = floats_of(m, "blk.0.ffn_up") + np.repeat(
        weights_of(m)["blk.0.ffn_up.weight.rest"], 32, 0).T
    # Rounding to 16 equal steps from the least to the largest of each block would have:
    b = want.reshape(-1, 32)
    low, step = b.min(1, keepdims=True), np.ptp(b, 1, keepdims=True) / 15
    plain = (np.round((b - low) / step) * step + low).reshape(want.shape)
    assert decibel(got, want) > decibel(plain, want) + .5


def test_the_embedding_is_stored_once_and_shared_by_the_graphs(tmp_path):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf(), "--weights", "fp32")
    assert {p.name for p in m.iterdir()} == FILES
    numbers = sum(w.size for w in net.w.values())
    assert numbers * 4 <= (m / "weights.data").stat().st_size < numbers * 4 + 64 * len(net.w)
    places = []
    for name in ("prefill", "decode"):
        model = onnx.load(m / f"{name}.onnx", load_external_data=False)
        onnx.checker.check_model(str(m / f"{name}.onnx"))
        places.append({t.name: [e.value for e in t.external_data]
                       for t in model.graph.initializer if t.external_data})
    assert places[0] == places[1] and len(places[0]) == len(net.w)


def test_a_quantized_embedding_is_not_expanded(tmp_path):
    m, _ = convert(tmp_path, TinyLlama().gguf(), "--weights", "w8")
    nodes = onnx.load(m / "decode.onnx", load_external_data=False).graph.node
    tables = [n.input[0] for n in nodes if n.op_type == "Gather"]
    assert tables == ["token_embd.weight", "token_embd.weight.scale"]
    assert [n.output[0] for n in nodes if n.input[0] == "token_embd.weight.float"] == \
        ["output.transposed"]


def test_config_has_the_keys_of_hugging_face(tmp_path):
    m, _ = convert(tmp_path, TinyLlama().gguf())
    c = json.loads((m / "config.json").read_text())
    assert c["architectures"] == ["LlamaForCausalLM"] and c["model_type"] == "llama"
    assert (c["hidden_size"], c["intermediate_size"], c["num_hidden_layers"]) == (64, 96, 2)
    assert (c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]) == (4, 2, 16)
    assert c["rms_norm_eps"] == pytest.approx(1e-5) and c["rope_theta"] == 10000
    assert (c["bos_token_id"], c["eos_token_id"], c["tie_word_embeddings"]) == (1, 2, True)
    t = json.loads((m / "tokenizer_config.json").read_text())
    assert t["bos_token"] == "<|im_start|>" and "im_end" in t["chat_template"]


@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
def test_the_tokenizer_has_all_tokens_and_merges(tmp_path, pre):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf(pre=pre))
    j = json.loads((m / "tokenizer.json").read_text())
    assert j["model"]["vocab"] == {t: i for i, t in enumerate(net.tokens)}
    assert j["model"]["merges"] == [x.split(" ") for x in net.merges]
    assert [(a["id"], a["content"], a["special"]) for a in j["added_tokens"]] == \
        [(i, t, True) for i, t in enumerate(net.tokens[:3])]
    kinds = [p["type"] for p in j["pre_tokenizer"].get("pretokenizers", [j["pre_tokenizer"]])]
    assert kinds == {"gpt-2": ["ByteLevel"], "smollm": ["Digits", "ByteLevel"],
                     "llama-bpe": ["Split", "ByteLevel"], "qwen2": ["Split", "ByteLevel"]}[pre]


def test_layers_can_be_cut(tmp_path):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf(), "--weights", "fp32", "--layers", 1)
    net.layers = 1
    got = by_onnxruntime(m / "prefill.onnx", feeds(net, IDS[:T], [], [], 0))
    assert decibel(got["logits"][0], net.forward(IDS[:T])[0]) > 100


def test_compile_writes_one_binary_with_both_graphs(tmp_path):
    net = TinyLlama()
    m, _ = convert(tmp_path, net.gguf(), "--weights", "fp16", "--compile", "--soc", "SM8750")
    shown = ok("show", m / "model.bin").stdout
    assert "prefill" in shown and "decode" in shown


# --- what is rejected

def without(net, name):
    g = net.gguf()
    g.tensors = [t for t in g.tensors if t[0] != name]
    return g


def with_key(net, *key):
    g = net.gguf()
    g.key(*key)
    return g


def with_arch(name):
    g = Gguf()
    g.key("general.architecture", STRING, name)
    return g


def extra_tensor():
    g = TinyLlama().gguf()
    g.tensor("blk.0.attn_q_norm.weight", np.ones(16))
    return g


def wrong_shape():
    g = without(TinyLlama(), "blk.1.ffn_up.weight")
    g.tensor("blk.1.ffn_up.weight", np.ones((96, 32)))
    return g


def infinite():
    net = TinyLlama()
    net.w["blk.0.attn_v.weight"][3, 3] = np.inf
    return net.gguf()


def undecodable():
    g = without(TinyLlama(layers=1, hidden=256, ff=256), "blk.0.ffn_up.weight")
    g.raw("blk.0.ffn_up.weight", (256, 256), 10, bytes(256 * 84))
    return g


def tokens(**change):
    net = TinyLlama()
    for k, v in change.items():
        setattr(net, k, v)
    return net.gguf()


def doubled():
    net = TinyLlama()
    net.tokens = net.tokens[:-1] + net.tokens[:1]
    return net.gguf()


REJECTED = {
    "architecture": (lambda: with_arch("gemma"), ["'gemma'", "llama, qwen2"]),
    "no architecture": (Gguf, "general.architecture"),
    "no sizes": (lambda: with_arch("llama"), "llama.block_count"),
    "missing tensor": (lambda: without(TinyLlama(), "blk.1.attn_k.weight"), "blk.1.attn_k.weight"),
    "extra tensor": (extra_tensor, ["blk.0.attn_q_norm.weight", "no place"]),
    "wrong shape": (wrong_shape, ["blk.1.ffn_up.weight", "96 x 32", "96 x 64"]),
    "experts": (lambda: with_key(TinyLlama(), "llama.expert_count", U32, 8), "llama.expert_count"),
    "scaled rope": (lambda: with_key(TinyLlama(), "llama.rope.scaling.type", STRING, "yarn"),
                    "llama.rope.scaling.type"),
    "partial rope": (lambda: with_key(TinyLlama(), "llama.rope.dimension_count", U32, 8), "8 of"),
    "type": (undecodable, ["blk.0.ffn_up.weight", "Q2_K", "Q4_K"]),
    "infinite": (infinite, ["blk.0.attn_v.weight", "not finite"]),
    "pre-tokenizer": (lambda: TinyLlama().gguf(pre="tekken"), ["'tekken'", "qwen2"]),
    "other vocabulary": (lambda: tokens(tokens=["a", "b"]), ["2 tokens", "265 rows"]),
    "kinds": (lambda: tokens(kinds=[1]), "1 kinds"),
    "merges": (lambda: tokens(merges=["a b c"]), "merge 0"),
    "doubled token": (doubled, "is there twice"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_is_not_supported_is_rejected_by_name(tmp_path, name):
    make, says = REJECTED[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(make().bytes())
    refuses(REFUSED, "import", path, "-o", tmp_path / "m", "-p", T, "-c", CONTEXT, says=says)
    assert not (tmp_path / "m").exists() or not list((tmp_path / "m").iterdir())


def test_scaled_positions_of_llama_3_are_written_and_others_rejected(tmp_path):
    net = TinyLlama(base=500000.0)
    turns = 8192 * net.base ** (-np.arange(0, net.hd, 2) / net.hd) / (2 * np.pi)
    smooth = np.clip((turns - 1) / 3, 0, 1)
    g = net.gguf()
    g.tensor("rope_freqs.weight", 1 / ((1 - smooth) / 32 + smooth))
    m, _ = convert(tmp_path, g)
    c = json.loads((m / "config.json").read_text())["rope_scaling"]
    assert c == {"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
                 "original_max_position_embeddings": 8192}
    g = net.gguf()
    g.tensor("rope_freqs.weight", np.linspace(1, 2, net.hd // 2))
    (tmp_path / "x.gguf").write_bytes(g.bytes())
    refuses(REFUSED, "import", tmp_path / "x.gguf", "-o", tmp_path / "x", says="rope_freqs.weight")


@pytest.mark.parametrize("flags,says", [
    (("-p", "1"), "--prefill"), (("-p", "20", "-c", "20"), "--context"),
    (("-c", "300"), "256 positions"), (("--layers", "3"), "3 layers asked for, the model has 2"),
    (("--soc", "SM8750"), "--compile"), (("--compile",), "--soc"),
    (("--state-bits", "8"), "--text"), (("--text", "model.gguf"), "--state-bits"),
    (("--state-bits", "16"), "expected 8"), (("--state-bits", "-8"), "--state-bits")])
def test_wrong_options_are_rejected(tmp_path, flags, says):
    (tmp_path / "model.gguf").write_bytes(TinyLlama().gguf().bytes())
    args = ("import", tmp_path / "model.gguf", "-o", tmp_path / "m", *flags)
    refuses(REFUSED if "--layers" in flags else USAGE, *args, says=says)
    assert not (tmp_path / "m").exists()


def test_a_folder_is_needed(tmp_path):
    (tmp_path / "model.gguf").write_bytes(TinyLlama().gguf().bytes())
    refuses(USAGE, "import", tmp_path / "model.gguf", says="--output")


def test_files_are_not_written_over_unless_forced(tmp_path):
    m, _ = convert(tmp_path, TinyLlama().gguf())
    refuses(FAILURE, "import", tmp_path / "model.gguf", "-o", m, says=["weights.data", "--force"])
    before = (m / "weights.data").read_bytes()
    convert(tmp_path, TinyLlama(seed=1).gguf(), "--force")
    assert (m / "weights.data").read_bytes() != before


def test_a_truncated_file_leaves_nothing(tmp_path):
    data = TinyLlama().gguf().bytes()
    for n in (3, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "model.gguf").write_bytes(data[:n])
        assert quern("import", tmp_path / "model.gguf", "-o", tmp_path / "m").returncode == REFUSED
        assert not (tmp_path / "m").exists()
