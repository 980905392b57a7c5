# SPDX-License-Identifier: MIT
"""LoRA adapters: constants of compiled models that are replaced in the loaded context.

Oracle: the onnx reference evaluator on a model whose weights have the adapter merged."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h
from onnx.reference import ReferenceEvaluator

import adapter_llama as tiny
from cli_generate import tokenizer
from harness import FAILURE, INPUT, REFUSED, USAGE, model, ok, ok_json, refuses

TOKENS, PAST = 8, 15
SOC = ("--soc", "SM8750")


def decibels(got, want):
    noise = ((got - want) ** 2).sum()
    return 999 if noise == 0 else 10 * np.log10((want ** 2).sum() / noise)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """llama.bin with both graphs, and two adapters for it."""
    d = tmp_path_factory.mktemp("llama")
    w, none = tiny.weights(), tiny.adapter(None)
    tiny.graph(d / "prefill.onnx", w, none, TOKENS)
    tiny.graph(d / "decode.onnx", w, none, 1, PAST)
    for name, seed in (("math", 1), ("code", 2)):
        np.savez(d / f"{name}.npz", **tiny.adapter(seed))
    out = ok("compile", d / "prefill.onnx", d / "decode.onnx", "-o", d / "llama.bin", *SOC,
             "-u", "lora_*", "-a", d / "math.npz", "-a", d / "code.npz").stdout
    assert "llama.math.bin" in out and "llama.code.bin" in out
    return d


def logits(folder, adapter, tokens, past, inputs):
    files = []
    for name, value in inputs.items():
        np.save(folder / f"in_{name}.npy", value)
        files.append(f"{name}={folder}/in_{name}.npy")
    apply = ["--adapter", folder / f"llama.{adapter}.bin"] if adapter else []
    ok("run", folder / "llama.bin", *files, "-g", "prefill" if tokens > 1 else "decode", *apply,
       "-o", folder / "out", "-q")
    return np.load(folder / "out" / "output_0.npy")


def expected(folder, adapter, tokens, past, inputs):
    a = tiny.adapter({"math": 1, "code": 2}.get(adapter))
    path = tiny.graph(folder / "merged.onnx", tiny.merged(tiny.weights(), a), None, tokens, past)
    return ReferenceEvaluator(onnx.load(path)).run(["logits"], inputs)[0]


def test_logits_are_those_of_merged_weights_in_both_graphs(llama):
    rng = np.random.default_rng(3)
    for tokens, past, first in ((TOKENS, 0, 0), (1, PAST, 9)):
        inputs = tiny.feeds(tokens, past, first, rng.integers(0, tiny.VOCAB, tokens), rng)
        want = {a: expected(llama, a, tokens, past, inputs) for a in (None, "math", "code")}
        assert decibels(want["math"], want[None]) < 20 and decibels(want["code"], want["math"]) < 20
        for adapter in (None, "math", "code"):
            got = logits(llama, adapter, tokens, past, inputs)
            assert decibels(got, want[adapter]) > 45, (tokens, adapter)
            np.testing.assert_array_equal(got.argmax(-1), want[adapter].argmax(-1))


def answer(folder, prompt, n, adapters):
    """Greedy tokens by the decode graph alone; adapters: {tokens of the answer: name}."""
    run = {}
    for name in (None, *adapters.values()):
        a = tiny.adapter({"math": 1, "code": 2}.get(name))
        path = tiny.graph(folder / "step.onnx", tiny.merged(tiny.weights(), a), None, 1, PAST)
        run[name] = ReferenceEvaluator(onnx.load(path))
    cache = [np.zeros((1, tiny.KV, PAST, tiny.HD), np.float32) for _ in range(2 * tiny.LAYERS)]
    name, out, ids = adapters.get(0), [], list(prompt)
    for at in range(len(prompt) + n - 1):
        inputs = tiny.feeds(1, PAST, at, [ids[at]], np.random.default_rng(0))
        inputs |= {f"past_{c}_{i}": cache[2 * i + (c == "v")] for i in range(tiny.LAYERS)
                   for c in "kv"}
        logits, *rows = run[name].run(None, inputs)
        for c, row in zip(cache, rows):
            c[:, :, at] = row[:, :, 0]
        if at + 1 >= len(prompt):
            out.append(int(logits[0, 0].argmax()))
            ids.append(out[-1])
            name = adapters.get(len(out), name)
    return out


@pytest.mark.parametrize("adapters", [{}, {0: "math"}, {0: "code", 3: "math"},
                                      {2: "math", 5: "code"}], ids=str)
def test_adapters_are_switched_between_tokens(llama, tmp_path, adapters):
    words = tokenizer(tiny.VOCAB)
    (llama / "tokenizer.json").write_text(json.dumps(words))
    (llama / "config.json").write_text('{"rope_theta": 10000.0, "eos_token_id": 3}')
    prompt = [words["model"]["vocab"][c] for c in "zebra"]
    flags = [f for n, name in adapters.items()
             for f in ("--lora", f"{llama}/llama.{name}.bin" + (f":{n}" if n else ""))]
    want = answer(tmp_path, prompt, 8, adapters)
    assert 3 not in want  # which ends an answer
    got = ok_json("generate", llama / "llama.bin", "--raw", "-p", "zebra", "-n", 8, "--json",
                  *flags)
    assert got["tokens"] == want


def test_adapters_that_do_not_fit_end_the_answer_in_words(llama):
    (llama / "tokenizer.json").write_text(json.dumps(tokenizer(tiny.VOCAB)))
    (llama / "config.json").write_text('{"rope_theta": 10000.0, "eos_token_id": 3}')
    generate = ("generate", "--raw", "-p", "zebra", "-n", 4, "--json")
    for when in ("", ":2"):
        refuses(REFUSED, *generate, llama / "llama.bin", "--lora", f"{llama}/llama.bin{when}",
                says=["llama.bin", "section"])
    refuses(USAGE, *generate, llama / "prefill.onnx", llama / "decode.onnx", "--lora",
            llama / "llama.math.bin", says="context binaries")


def test_the_weights_are_in_the_model_and_not_in_the_adapter(llama):
    """All weights of the layers in fp16 in the one, the low-rank matrices in the others."""
    sizes = [(llama / f"llama{a}.bin").stat().st_size for a in ("", ".math", ".code")]
    low = sum(v.size for v in tiny.adapter(1).values())
    assert sizes[1] == sizes[2] and sizes[1] < 2 * 4 * low + 32768  # two graphs, some records


def test_8_bit_weights_keep_their_encoding(tmp_path):
    rng = np.random.default_rng(4)
    w = [rng.integers(-127, 128, (16, 8)).astype(np.int8) for _ in range(2)]
    scales = {"sx": np.float32(1 / 64), "zx": np.uint8(128), "sw": np.float32(1 / 128),
              "zw": np.int8(0), "sy": np.float32(1 / 16), "zy": np.uint8(120)}
    nodes = [h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
             h.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xf"]),
             h.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"]),
             h.make_node("MatMul", ["xf", "wf"], ["yf"]),
             h.make_node("QuantizeLinear", ["yf", "sy", "zy"], ["yq"]),
             h.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])]
    nets = [model(tmp_path / f"net{i}.onnx", nodes, {"x": (T.FLOAT, [2, 16])},
                  {"y": (T.FLOAT, [2, 8])}, {**scales, "w": w[i]}, opset=19) for i in range(2)]
    np.savez(tmp_path / "other.npz", w=w[1])
    ok("compile", nets[0], "-o", tmp_path / "net.bin", *SOC, "-u", "w", "-a",
       tmp_path / "other.npz")
    x = rng.uniform(-1, 1, (2, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for i, apply in enumerate(([], ["--adapter", tmp_path / "net.other.bin"])):
        ok("run", tmp_path / "net.bin", tmp_path / "x.npy", *apply, "-o", tmp_path / "out")
        want = ReferenceEvaluator(onnx.load(nets[i])).run(None, {"x": x})[0]
        got = np.load(tmp_path / "out" / "output_0.npy")
        assert np.abs(got - want).max() <= 1.01 / 16 and np.mean(got == want) > 0.9


def safetensors(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def tensors(path, arrays, dtype="F32"):
    """As the format's own writer does; BF16: the upper half of every number."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, a in arrays.items():
        raw = np.ascontiguousarray(a, "<f4")
        raw = raw.view("<u4") >> 16 if dtype == "BF16" else raw
        raw = raw.astype("<u2" if dtype == "BF16" else "<f4").tobytes()
        header[name] = {"dtype": dtype, "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    return safetensors(path, header, data)


def test_values_come_from_safetensors_too(llama, tmp_path):
    """The file is the one of the .npz; numbers of bfloat16 are those numbers."""
    nets = [llama / "prefill.onnx", llama / "decode.onnx"]
    math = tensors(tmp_path / "math.safetensors", tiny.adapter(1))
    short = {n: (np.ascontiguousarray(a, np.float32).view(np.uint32) & 0xffff0000).view(np.float32)
             for n, a in tiny.adapter(1).items()}
    np.savez(tmp_path / "short.npz", **short)
    half = tensors(tmp_path / "half.safetensors", short, "BF16")
    ok("compile", *nets, "-o", tmp_path / "llama.bin", *SOC, "-u", "lora_*", "-a", math, "-a",
       half, "-a", tmp_path / "short.npz")
    files = {n: (tmp_path / f"llama{n}.bin").read_bytes() for n in ("", ".math", ".half", ".short")}
    assert files[""] == (llama / "llama.bin").read_bytes()  # so that its adapters serve this one
    assert files[".math"] == (llama / "llama.math.bin").read_bytes()
    assert files[".half"] == files[".short"] != files[".math"]


def test_values_come_from_a_tuned_model(tmp_path):
    """Of its constants those that are updateable; the others are the model's own."""
    rng = np.random.default_rng(7)
    w = [rng.standard_normal((4, 3)).astype(np.float32) for _ in range(3)]
    nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])]
    ports = {"x": (T.FLOAT, [2, 4])}, {"y": (T.FLOAT, [2, 3])}
    base = model(tmp_path / "base.onnx", nodes, *ports, {"w": w[0], "b": np.zeros(3, np.float32)})
    tuned = model(tmp_path / "tuned.onnx", nodes, *ports, {"w": w[1], "b": np.ones(3, np.float32)})
    np.savez(tmp_path / "same.npz", w=w[1])
    ok("compile", base, "-o", tmp_path / "m.bin", *SOC, "-u", "w", "-a", tuned, "-a",
       tmp_path / "same.npz")
    assert (tmp_path / "m.tuned.bin").read_bytes() == (tmp_path / "m.same.bin").read_bytes()
    x = rng.standard_normal((2, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    ok("run", tmp_path / "m.bin", tmp_path / "x.npy", "--adapter", tmp_path / "m.tuned.bin", "-o",
       tmp_path / "out")
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), x @ w[1], atol=0.02)
    other = model(tmp_path / "other.onnx", [h.make_node("MatMul", ["x", "v"], ["y"])], *ports,
                  {"v": w[2]})
    refuses(INPUT, "compile", base, "-o", tmp_path / "n.bin", *SOC, "-u", "w", "-a", other,
            says=["other.onnx", "no constant 'w'"])


# --- refusals

@pytest.mark.parametrize("header, data, says", [
    (b"", b"", "header"),
    (b"[1]", b"", "the header is not an object"),
    (b"{", b"", "header"),
    (b'{"w": 1}', b"", "tensor 'w': its entry"),
    (b'{"w": {}, "w": {}}', b"", "duplicate"),
    ({"w": {"dtype": "F8_E4M3", "shape": [], "data_offsets": [0, 1]}}, b"0", "dtype 'F8_E4M3'"),
    ({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234", "outside the file"),
    ({"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, b"x" * 8, "outside"),
    ({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"x" * 8, "another size"),
    ({"w": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}, b"x" * 8, "whole number"),
    ({"w": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 8]}}, b"x" * 8, "whole number"),
    ({"w": {"dtype": "F32", "shape": [1] * 9, "data_offsets": [0, 4]}}, b"x" * 4, "at most 8"),
    ({"w": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}}, b"x" * 4,
     "too large"),
    ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, b"x" * 4, "data_offsets"),
])
def test_damaged_safetensors_are_refused(tmp_path, header, data, says):
    net = model(tmp_path / "a.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [2, 2])}, {"y": (T.FLOAT, [2, 1])},
                {"w": np.ones((2, 1), np.float32)})
    bad = safetensors(tmp_path / "bad.safetensors", header, data)
    refuses(INPUT, "compile", net, "-o", tmp_path / "a.bin", *SOC, "-u", "w", "-a", bad,
            says=["bad.safetensors", says])
    assert not (tmp_path / "a.bad.bin").exists()


def test_cut_safetensors_are_refused(tmp_path):
    net = model(tmp_path / "a.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [2, 2])}, {"y": (T.FLOAT, [2, 1])},
                {"w": np.ones((2, 1), np.float32)})
    whole = tensors(tmp_path / "w.safetensors", {"w": np.ones((2, 1))}).read_bytes()
    for n in (0, 7, 8, 40, len(whole) - 1):
        (tmp_path / "cut.safetensors").write_bytes(whole[:n])
        refuses(INPUT, "compile", net, "-o", tmp_path / "a.bin", *SOC, "-u", "w", "-a",
                tmp_path / "cut.safetensors", says="cut.safetensors")

def test_an_adapter_of_another_base_is_refused_in_words(llama, tmp_path):
    w = tiny.weights()
    base = tiny.graph(tmp_path / "prefill.onnx", w, tiny.adapter(None, rank=2), TOKENS)
    np.savez(tmp_path / "math.npz", **tiny.adapter(1, rank=2))
    ok("compile", base, "-o", tmp_path / "other.bin", *SOC, "-u", "lora_*", "-a",
       tmp_path / "math.npz")
    refuses(REFUSED, "run", llama / "llama.bin", "-r", "-g", "prefill", "--adapter",
            tmp_path / "other.math.bin", says=["other.math.bin", "graph 'prefill'", "lora_a_q_0"])
    refuses(REFUSED, "run", tmp_path / "other.bin", "-r", "--adapter", llama / "llama.math.bin",
            says="llama.math.bin")


def test_an_adapter_of_other_weights_of_the_same_shapes_is_refused(llama, tmp_path):
    for name in ("prefill", "decode"):
        tiny.graph(tmp_path / f"{name}.onnx", tiny.weights(seed=5), tiny.adapter(None),
                   *((TOKENS, 0) if name == "prefill" else (1, PAST)))
    ok("compile", tmp_path / "prefill.onnx", tmp_path / "decode.onnx", "-o", tmp_path / "other.bin",
       *SOC, "-u", "lora_*", "-a", llama / "math.npz")
    refuses(REFUSED, "run", llama / "llama.bin", "-r", "-g", "decode", "--adapter",
            tmp_path / "other.math.bin", says=["other.math.bin", "made for another model"])


def test_files_that_are_no_adapters_are_refused(llama, tmp_path):
    run = ("run", llama / "llama.bin", "-r", "-g", "decode", "--adapter")
    refuses(REFUSED, *run, llama / "llama.bin", says=["llama.bin", "section"])
    whole = (llama / "llama.math.bin").read_bytes()
    for n in (0, 10, 100, 5000, len(whole) - 1):
        (tmp_path / "cut.bin").write_bytes(whole[:n])
        refuses(REFUSED, *run, tmp_path / "cut.bin", says="cut.bin")
    refuses(FAILURE, *run, tmp_path / "none.bin", says="none.bin")
    refuses(USAGE, "run", llama / "decode.onnx", "-r", "--adapter", llama / "llama.math.bin",
            says="context binaries")


@pytest.mark.parametrize("change, says", [
    (lambda a: a.pop("lora_b_down_1"), ["no array 'lora_b_down_1'"]),
    (lambda a: a.update(lora_b_o_0=np.zeros((4, 64), np.float32)), ["'lora_b_o_0'", "updateable"]),
    (lambda a: a.update(lora_a_q_0=np.zeros((64, 5), np.float32)), ["'lora_a_q_0'", "shapes"]),
], ids=["missing", "unknown", "shape"])
def test_values_that_do_not_fit_are_refused(llama, tmp_path, change, says):
    a = tiny.adapter(1)
    change(a)
    np.savez(tmp_path / "bad.npz", **a)
    refuses(INPUT, "compile", llama / "decode.onnx", "-o", tmp_path / "m.bin", *SOC, "-u", "lora_*",
            "-a", tmp_path / "bad.npz", says=["bad.npz", *says])
    assert not (tmp_path / "m.bad.bin").exists()


def test_names_that_match_nothing_are_refused(llama, tmp_path):
    refuses(REFUSED, "compile", llama / "decode.onnx", "-o", tmp_path / "m.bin", *SOC, "-u",
            "lore*", says=["decode.onnx", "'lore*'"])
    refuses(USAGE, "compile", llama / "decode.onnx", "-o", tmp_path / "m.bin", *SOC, "-a",
            llama / "math.npz", says="--updatable")


def conv_qdq(path, w, scales, group):
    """x quantized, Conv with a scale for each output channel, quantized."""
    q = {"xs": np.float32(0.05), "xz": np.uint8(128), "ys": np.float32(0.25), "yz": np.uint8(128),
         "w": w, "ws": scales, "wz": np.zeros(len(scales), np.int8)}
    nodes = [h.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
             h.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
             h.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
             h.make_node("Conv", ["xd", "wd"], ["c"], name="conv", pads=[1] * 4, group=group),
             h.make_node("QuantizeLinear", ["c", "ys", "yz"], ["cq"]),
             h.make_node("DequantizeLinear", ["cq", "ys", "yz"], ["y"])]
    return model(path, nodes, {"x": (T.FLOAT, (1, 4, 6, 5))},
                 {"y": (T.FLOAT, (1, len(w), 6, 5))}, q, opset=19)


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("scales", [4, 8])
def test_filters_with_a_scale_for_each_channel_are_updated(tmp_path, group, scales):
    rng = np.random.default_rng(group)
    first, second = rng.integers(-127, 128, (2, scales, 4 // group, 3, 3)).astype(np.int8)
    by_channel = np.geomspace(0.001, 0.02, scales).astype(np.float32)
    x = rng.standard_normal((1, 4, 6, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "new.npz", w=second)
    net = conv_qdq(tmp_path / "net.onnx", first, by_channel, group)
    ok("compile", net, "-o", tmp_path / "net.bin", *SOC, "-u", "w", "-a", tmp_path / "new.npz")
    for w, apply in ((first, []), (second, ["--adapter", tmp_path / "net.new.bin"])):
        ok("run", tmp_path / "net.bin", f"x={tmp_path}/x.npy", *apply, "-o", tmp_path / "out", "-q")
        merged = conv_qdq(tmp_path / "merged.onnx", w, by_channel, group)
        want = ReferenceEvaluator(str(merged)).run(None, {"x": x})[0]
        got = np.load(tmp_path / "out" / "output_0.npy")
        assert np.abs(got - want).max() < 0.26 and (got == want).mean() > 0.97
