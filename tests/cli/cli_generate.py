# SPDX-License-Identifier: MIT
"""quern generate on a tiny Llama. ONNX Runtime, without a cache, says which tokens must come."""
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import llama_in_place as in_place
import tiny_llama as llama
sys.path.append(str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import ARRAY, I32, STRING, U32, Gguf  # noqa: E402
from harness import (BIN, FAILURE, INPUT, REFUSED, USAGE, add_relu, ok, ok_json,  # noqa: E402
                     quern, refuses)

SPECIALS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789?.,!'"
PAIRS = ["th", "he", "in", "er", "an", "re", "on", "at", "en", "nd", "ti", "es", "or", "te", "of",
         "ed", "is", "it", "al", "ar", "st", "to", "nt"]


def tokenizer(size=llama.VOCAB):
    words = SPECIALS + ["Ġ", "Ċ", *LETTERS, *PAIRS]
    words += [f"<x{i}>" for i in range(max(0, size - len(words)))]
    return {"added_tokens": [{"id": i, "content": w, "special": True, "normalized": False}
                             for i, w in enumerate(SPECIALS)],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {w: i for i, w in enumerate(words[:size])},
                      "merges": [f"{p[0]} {p[1]}" for p in PAIRS if words.index(p) < size]}}


WORDS = tokenizer()["model"]["vocab"]


def ids_of(text):
    """By the vocabulary alone: texts of tests have no pair that merges, or one is listed here."""
    ids, at = [], 0
    for special in SPECIALS:
        text = text.replace(special, chr(0xe000 + SPECIALS.index(special)))
    while at < len(text):
        two = text[at:at + 2]
        if ord(text[at]) >= 0xe000:
            ids.append(ord(text[at]) - 0xe000)
        elif two in PAIRS:
            ids.append(WORDS[two])
            at += 1
        else:
            ids.append(WORDS[{" ": "Ġ", "\n": "Ċ"}.get(text[at], text[at])])
        at += 1
    return ids


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    f = tmp_path_factory.mktemp("llama")
    llama.save(f / "prefill.onnx", 8)
    llama.save(f / "decode.onnx", 1, 39)
    llama.save(f / "chunk.onnx", 8, 24)
    (f / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (f / "config.json").write_text(json.dumps({"rope_theta": 10000.0, "eos_token_id": 1}))
    return f


def greedy(folder, prompt, n, end=1):
    """Tokens by argmax, each from the whole text so far."""
    ids = list(prompt)
    for _ in range(n):
        path = folder / f"full{len(ids)}.onnx"
        if not path.exists():
            llama.save(path, len(ids))
        s = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        cos, sin = llama.rope(len(ids))
        logits = s.run(["logits"], {"ids": np.array([ids], np.int32), "cos": cos, "sin": sin,
                                    "mask": llama.mask(len(ids))})[0][0, -1]
        best = int(np.argmax(logits))
        if best == end:
            break
        ids.append(best)
    return ids[len(prompt):]


def generate(*args, **kw):
    return ok_json("generate", *args, "--json", **kw)


PROMPTS = {"short": "What?", "exact": "12345678", "long": "a quick brown fox jumps 9"}


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize("graphs", [["prefill", "decode"], ["decode"], ["chunk", "decode"],
                                    ["prefill", "chunk", "decode"]], ids="+".join)
def test_greedy_tokens_are_those_of_onnx_runtime(folder, graphs, prompt):
    want = greedy(folder, ids_of(prompt), 6)
    got = generate(*[folder / f"{g}.onnx" for g in graphs], "--raw", "-p", prompt, "-n", 6)
    assert got["tokens"] == want
    assert got["statistics"]["prompt_tokens"] == len(ids_of(prompt))
    assert got["end"] in ("limit", "end")


@pytest.mark.parametrize("flags", [(), ("--soc", "SM8750")], ids=["cpu", "htp"])
def test_logits_of_the_last_token_alone_give_the_same_tokens(folder, tmp_path, flags):
    graphs = [llama.save(tmp_path / "prefill.onnx", 8, last=True),
              llama.save(tmp_path / "chunk.onnx", 8, 24, last=True), folder / "decode.onnx"]
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json", *flags]
    for prompt in PROMPTS.values():
        got = generate(*graphs, *beside, "--raw", "-p", prompt, "-n", 6)
        assert got["tokens"] == greedy(folder, ids_of(prompt), 6), prompt
        assert got["statistics"]["prompt_executions"] == -(-len(ids_of(prompt)) // 8)


def test_a_choice_of_the_last_token_needs_one_row_of_logits(folder, tmp_path):
    m = onnx.load(llama.save(tmp_path / "m.onnx", 8, last=True))
    (port,) = [i for i in m.graph.input if i.name == "last"]
    port.type.tensor_type.shape.dim[0].dim_value = 2
    (port,) = [o for o in m.graph.output if o.name == "logits"]
    port.type.tensor_type.shape.dim[1].dim_value = 2
    onnx.save(m, tmp_path / "m.onnx")
    refuses(INPUT, "generate", tmp_path / "m.onnx", folder / "decode.onnx", "--tokenizer",
            folder / "tokenizer.json", "--rope-theta", 1e4, "--raw", "-p", "x",
            says=["m.onnx", "logits", "a row for each of the tokens"])


def test_chunks_and_single_tokens_share_a_prompt(folder):
    long = ids_of(PROMPTS["long"])
    by_one = generate(folder / "prefill.onnx", folder / "decode.onnx", "--raw", "-p",
                      PROMPTS["long"], "-n", 1)["statistics"]
    whole = generate(folder, "--raw", "-p", PROMPTS["long"], "-n", 1)["statistics"]
    chunks = generate(folder / "chunk.onnx", folder / "decode.onnx", "--raw", "-p", PROMPTS["long"],
                      "-n", 1)["statistics"]
    assert by_one["prompt_executions"] == 1 + len(long) - 8
    assert whole["prompt_executions"] < by_one["prompt_executions"]  # chunk.onnx is there
    assert chunks["prompt_executions"] == -(-len(long) // 8)


def test_the_text_of_a_chat_is_that_of_its_template(folder, tmp_path):
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}{{ m.role[0] + m.content }}{% endfor %}A")
    want = greedy(folder, ids_of("sbeuhiA"), 4)
    got = generate(folder, "--chat-template", template, "--system", "be", "-p", "hi", "-n", 4)
    assert got["tokens"] == want


def test_tools_are_described_by_the_chat_template(folder, tmp_path):
    tools = [{"type": "function", "function": {"name": "add", "strict": True, "limit": None,
                                               "parameters": {"a": [1, -2]}}}]
    template = tmp_path / "t.jinja"
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    flags = ["--chat-template", template, "--tools", tmp_path / "tools.json", "-p", "x"]
    text = "add" + json.dumps(tools[0]) + "x"  # as transformers writes it
    template.write_text("{% for t in tools %}{% if t.function.name + t|tojson + 'x' == '" + text +
                        "' %}y{% endif %}{% endfor %}")
    assert generate(folder, *flags, "-n", 3)["tokens"] == greedy(folder, ids_of("y"), 3)
    template.write_text("{% for t in tools %}{{ t.function.name }}"
                        "{{ t.function.parameters.a|tojson|length }}{% endfor %}{{ tools|length }}")
    got = generate(folder, *flags, "-n", 3)
    assert got["tokens"] == greedy(folder, ids_of("add71"), 3)
    template.write_text("y")
    assert "chat template does not mention tools" in ok("generate", folder, *flags, "-n", 1).stderr
    template.write_text("{% if tools == none %}a{% endif %}b")
    assert generate(folder, *flags[:2], "-p", "x", "-n", 3)["tokens"] == \
        greedy(folder, ids_of("ab"), 3)


@pytest.mark.parametrize("text, code, says", [
    ("{}", INPUT, "expected a list of tools"), ("[", INPUT, "t.json:1"), ("[1.5]", INPUT, "1.5"),
    ("[12345678901234567890]", INPUT, "64 bits"), (None, FAILURE, "No such file")], ids=str)
def test_tools_that_cannot_be_read_are_rejected(folder, tmp_path, text, code, says):
    if text:
        (tmp_path / "t.json").write_text(text)
    (tmp_path / "t.jinja").write_text("{{ tools }}")
    refuses(code, "generate", folder, "-p", "x", "--tools", tmp_path / "t.json",
            "--chat-template", tmp_path / "t.jinja", says=says)
    refuses(USAGE, "generate", folder, "--raw", "-p", "x", "--tools", tmp_path / "t.json",
            says="--tools")


def test_chatml_by_its_tokens_is_reported(folder):
    p = ok("generate", folder, "-p", "hi", "-n", 3, "--json")
    want = greedy(folder, ids_of("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"), 3)
    assert json.loads(p.stdout)["tokens"] == want
    assert "ChatML" in p.stderr


@pytest.mark.parametrize("flags", [["--soc", "none", "--backend", "htp"], ["-t", "1"]], ids=str)
def test_other_backends_and_threads_give_the_same_tokens(folder, flags):
    want = greedy(folder, ids_of("What?"), 6)
    assert generate(folder, "--raw", "-p", "What?", "-n", 6, *flags)["tokens"] == want


def test_a_context_binary_with_both_graphs_generates(folder, tmp_path):
    ok("compile", folder / "prefill.onnx", folder / "decode.onnx", "-o", tmp_path / "model.bin",
       "--soc", "SM8650")
    flags = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json", "--raw",
             "-p", "What?", "-n", 6]
    got = generate(tmp_path / "model.bin", *flags)
    same = generate(folder, *flags, "--backend", "htp", "--soc", "SM8650")
    assert got["tokens"] == same["tokens"] == greedy(folder, ids_of("What?"), 6)
    assert got["statistics"]["cache_shared"] and same["statistics"]["cache_shared"]


def test_estimates_report_tokens_per_second_of_each_graph(folder, tmp_path):
    files = [folder / "prefill.onnx", folder / "decode.onnx"]
    rows = ok_json("generate", *files, "--estimate", "--soc", "SM8650", "--json")["graphs"]
    assert [(r["tokens"], r["past"]) for r in rows] == [(8, 0), (1, 39)]
    for r, file in zip(rows, files):
        ms = [e for e in ok_json("estimate", file, "--soc", "SM8650", "-p", "fp16", "--json")
              ["estimates"]][0]["ms"]
        assert r["ms"] == pytest.approx(ms) and r["precision"] == "fp16"
        assert r["tokens_per_s"] == pytest.approx(1e3 * r["tokens"] / ms)
    text = ok("generate", folder, "--estimate", "--soc", "SM8650").stdout
    assert "modelled" in text and "decode of 1 token" in text
    ok("compile", *files, "-o", tmp_path / "m.bin", "--soc", "SM8650")
    stored = ok_json("generate", tmp_path / "m.bin", "--estimate", "--json")["graphs"]
    assert {r["tokens"] for r in stored} == {1, 8} and all(r["stored"] for r in stored)
    refuses(INPUT, "generate", add_relu(tmp_path / "r.onnx"), "--estimate", says="'ids'")


def stored_as(path, to, dtype, kv_scale):
    """The same graph with caches, mask and angles as integers of `dtype` (uint8 or uint16)."""
    m = onnx.load(path)
    most = np.iinfo(dtype).max
    angle = (2 / most, most // 2)
    scales = {"mask": (1e4 / most, most), "cos": angle, "sin": angle}
    nodes = []

    def store(v, kind, inner):
        scale, zero = scales.get(v.name, (kv_scale, (most + 1) // 2))
        m.graph.initializer.extend([
            numpy_helper.from_array(np.float32(scale), v.name + "_s"),
            numpy_helper.from_array(np.asarray(zero, dtype), v.name + "_z")])
        ends = [v.name, inner] if kind == "DequantizeLinear" else [inner, v.name]
        nodes.append(onnx.helper.make_node(kind, [ends[0], v.name + "_s", v.name + "_z"], ends[1:]))
        v.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    floats = {v.name: v.name + "_f" for v in [*m.graph.input, *m.graph.output]
              if v.name not in ("ids", "logits")}
    for n in m.graph.node:
        n.input[:] = [floats.get(x, x) for x in n.input]
        n.output[:] = [floats.get(x, x) for x in n.output]
    for v in m.graph.input:
        if v.name in floats:
            store(v, "DequantizeLinear", floats[v.name])
    made = [v for v in m.graph.output if v.name in floats]
    reads = list(nodes)
    nodes.clear()
    for v in made:
        store(v, "QuantizeLinear", floats[v.name])
    all_nodes = [*reads, *m.graph.node, *nodes]
    del m.graph.node[:]
    m.graph.node.extend(all_nodes)
    m.opset_import[0].version = 21
    for n in m.graph.node:  # axes are an input since opset 18
        if n.op_type == "ReduceMean":
            del n.attribute[:]
            n.input.append("last_axis")
    m.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "last_axis"))
    m.ir_version = 10
    onnx.checker.check_model(m)
    onnx.save(m, to)
    return to


def test_caches_of_16_bits_are_kept_as_the_graphs_have_them(folder, tmp_path):
    graphs = [stored_as(folder / f"{g}.onnx", tmp_path / f"{g}.onnx", np.uint16, 20 / 65535)
              for g in ("prefill", "decode")]
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    got = generate(*graphs, *beside, "--raw", "-p", "What?", "-n", 6)
    assert got["tokens"] == greedy(folder, ids_of("What?"), 6)
    heads = llama.LAYERS * 2 * llama.KV * 39 * llama.DEPTH
    assert got["statistics"]["cache_bytes"] == 2 * heads


def test_integers_of_an_unknown_scale_are_rejected(folder, tmp_path):
    m = onnx.load(stored_as(folder / "decode.onnx", tmp_path / "d.onnx", np.uint16, 20 / 65535))
    q = next(n for n in m.graph.node if n.output[0] == "new_k_0")
    q.output[0] = "q_f"
    m.graph.node.extend([onnx.helper.make_node("Cast", ["q_f"], ["q_i"], to=onnx.TensorProto.INT32),
                         onnx.helper.make_node("Cast", ["q_i"], ["new_k_0"],
                                               to=onnx.TensorProto.UINT16)])
    onnx.save(m, tmp_path / "d.onnx")
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    refuses(INPUT, "generate", tmp_path / "d.onnx", *beside, "--raw", "-p", "x",
            says=["'new_k_0'", "plain integers"])


def test_a_float_prefill_and_a_16_bit_decode_share_a_cache(folder, tmp_path):
    decode = stored_as(folder / "decode.onnx", tmp_path / "decode.onnx", np.uint16, 20 / 65535)
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    got = generate(folder / "prefill.onnx", decode, *beside, "--raw", "-p", "What?", "-n", 6)
    assert got["tokens"] == greedy(folder, ids_of("What?"), 6)


def as_hugging_face(path, to, t, past, room):
    """The same graph as Hugging Face's exporters write it, with shapes fixed: positions and an
    integer mask of one row come in, the whole cache and the logits of the last token go out."""
    m = onnx.load(path)
    g, h = m.graph, onnx.helper
    cos, sin = llama.rope(room)
    causal = np.zeros((1, 1, 1, t, past + t), np.float32)
    causal[..., past:] = np.triu(np.full((t, t), -1e4), 1)
    state = {f"{io}_{c}_{i}": f"{name}.{i}.{long}" for i in range(llama.LAYERS)
             for c, long in (("k", "key"), ("v", "value"))
             for io, name in (("past", "past_key_values"), ("new", "present"))}
    constants = {"cos_rows": cos[0, 0], "sin_rows": sin[0, 0], "causal": causal,
                 "one": np.float32(1), "much": np.float32(1e4), "axis1": np.array([1]),
                 "wide": np.array([1, 1, 1, 1, past + t]), "last": np.array([t - 1]),
                 "end": np.array([t])}
    g.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    first = [h.make_node("Cast", ["input_ids"], ["ids"], to=onnx.TensorProto.INT32)]
    for c in ("cos", "sin"):
        first += [h.make_node("Gather", [c + "_rows", "position_ids"], [c + "_at"]),
                  h.make_node("Unsqueeze", [c + "_at", "axis1"], [c])]
    first += [h.make_node("Cast", ["attention_mask"], ["seen"], to=onnx.TensorProto.FLOAT),
              h.make_node("Sub", ["seen", "one"], ["hidden"]),
              h.make_node("Mul", ["hidden", "much"], ["low"]),
              h.make_node("Reshape", ["low", "wide"], ["row"]),
              h.make_node("Add", ["row", "causal"], ["mask"])]
    nodes = [*first, *g.node, h.make_node("Slice", ["all", "last", "end", "axis1"], ["logits"])]
    for n in nodes[len(first):-1]:
        n.input[:] = [state[x] if x.startswith("past") else x for x in n.input]
        joins = n.op_type == "Concat" and n.input[0].startswith("past")
        n.output[:] = ["all" if x == "logits" else x for x in n.output]
        if joins:  # what it makes is an output, too
            nodes.append(h.make_node("Identity", [n.output[0]], [state[n.input[1]]]))
    del g.node[:], g.input[:], g.output[:]
    g.node.extend(nodes)
    info, integer, real = h.make_tensor_value_info, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    g.input.extend([info("input_ids", integer, [1, t]), info("position_ids", integer, [1, t]),
                    info("attention_mask", integer, [1, past + t])])
    g.input.extend(info(new, real, [1, llama.KV, past, llama.DEPTH])
                   for old, new in state.items() if old.startswith("past"))
    g.output.append(info("logits", real, [1, 1, llama.VOCAB]))
    g.output.extend(info(new, real, [1, llama.KV, past + t, llama.DEPTH])
                    for old, new in state.items() if old.startswith("new"))
    onnx.checker.check_model(m)
    onnx.save(m, to)
    return to


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize("flags", [[], ["--backend", "htp", "--soc", "none"]], ids=str)
def test_graphs_as_hugging_face_exports_them_generate(folder, tmp_path, flags, prompt):
    graphs = [as_hugging_face(folder / "chunk.onnx", tmp_path / "chunk.onnx", 8, 24, 40),
              as_hugging_face(folder / "decode.onnx", tmp_path / "decode.onnx", 1, 39, 40)]
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    got = generate(*graphs, *beside, "--raw", "-p", prompt, "-n", 6, *flags)
    n = len(ids_of(prompt))
    assert got["tokens"] == greedy(folder, ids_of(prompt), 6)
    assert got["statistics"]["prompt_executions"] == n // 8 + n % 8  # rests are not padded
    refuses(INPUT, "generate", graphs[0], *beside, "--raw", "-p", "What?", *flags,
            says=f"no graph computes {len(ids_of('What?'))} tokens")


IN_PLACE_FLAGS = {"cpu": [], "htp": ["--backend", "htp", "--soc", "none"],
                  "soc": ["--soc", "SM8650"]}


@pytest.mark.parametrize("flags", IN_PLACE_FLAGS.values(), ids=IN_PLACE_FLAGS)
@pytest.mark.parametrize("form", in_place.FORMS)
def test_caches_that_graphs_update_in_place_generate(folder, tmp_path, form, flags):
    graphs = [in_place.save(tmp_path / "chunk.onnx", 8, 40, form),
              in_place.save(tmp_path / "decode.onnx", 1, 40, form)]
    (tmp_path / "config.json").write_text('{"eos_token_id": 1}')  # the graphs rotate by themselves
    beside = ["--tokenizer", folder / "tokenizer.json"]
    for prompt in PROMPTS.values():
        got = generate(*graphs, *beside, "--raw", "-p", prompt, "-n", 6, *flags)
        assert got["tokens"] == greedy(folder, ids_of(prompt), 6), prompt
        assert got["statistics"]["positions"] == 40
    one = generate(graphs[1], *beside, "--raw", "-p", PROMPTS["long"], "-n", 6, *flags)
    assert one["tokens"] == greedy(folder, ids_of(PROMPTS["long"]), 6)


@pytest.mark.parametrize("flags", [[], ["--soc", "SM8750"]], ids=["cpu", "htp"])
@pytest.mark.parametrize("form", in_place.FORMS)
def test_fp16_caches_are_not_converted_as_a_whole(folder, tmp_path, form, flags):
    half = onnx.TensorProto.FLOAT16
    graphs = [in_place.save(tmp_path / "chunk.onnx", 8, 40, form, half),
              in_place.save(tmp_path / "decode.onnx", 1, 40, form, half)]
    for g in graphs:
        steps = [s for s in ok("show", g, "--compiled", *(flags or ["-b", "cpu"])).stdout
                 .splitlines() if "[1,2,40,16]" in s]
        made = [s.split("= ")[1].split(".")[0] for s in steps]
        caches = 2 * llama.LAYERS
        assert sorted(m.split("_")[0] for m in made) == \
            ["attention"] * llama.LAYERS + ["scatter"] * caches, steps
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    for prompt in PROMPTS.values():
        got, plain = (generate(*graphs, *beside, "--raw", "-p", prompt, "-n", 6, *flags,
                               env={"QUERN_PASSES": p}) for p in ("", "-cache"))
        assert got["tokens"] == plain["tokens"] == greedy(folder, ids_of(prompt), 6), prompt


@pytest.mark.parametrize("form", in_place.FORMS)
def test_a_context_binary_updates_its_caches_in_place(folder, tmp_path, form):
    graphs = [in_place.save(tmp_path / "chunk.onnx", 8, 40, form),
              in_place.save(tmp_path / "decode.onnx", 1, 40, form)]
    ok("compile", *graphs, "-o", tmp_path / "model.bin", "--soc", "SM8650")
    got = generate(tmp_path / "model.bin", "--tokenizer", folder / "tokenizer.json", "--config",
                   folder / "config.json", "--raw", "-p", PROMPTS["long"], "-n", 6)
    assert got["tokens"] == greedy(folder, ids_of(PROMPTS["long"]), 6)
    assert got["statistics"]["cache_shared"]


def test_a_cache_updated_in_place_ends_where_its_buffer_does(folder, tmp_path):
    chunk = in_place.save(tmp_path / "chunk.onnx", 8, 20)
    decode = in_place.save(tmp_path / "decode.onnx", 1, 20)
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    prompt = "a quick brown 12"  # a third chunk of 8 tokens would end behind the 20 positions
    got = generate(chunk, decode, *beside, "--raw", "-p", prompt)
    made, n = len(got["tokens"]), len(ids_of(prompt))
    assert got["tokens"] == greedy(folder, ids_of(prompt), 20 - n + 1)[:made]
    assert (got["end"], made) in {("context", 20 - n + 1), ("end", made)}
    refuses(INPUT, "generate", chunk, decode, *beside, "--raw", "-p", "x" * 21,
            says=["21 tokens", "20 positions"])


def test_a_cache_updated_in_place_follows_a_prompt_without_a_past(folder, tmp_path):
    decode = in_place.save(tmp_path / "decode.onnx", 1, 40)
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    got = generate(folder / "prefill.onnx", decode, *beside, "--raw", "-p", "What?", "-n", 6)
    assert got["tokens"] == greedy(folder, ids_of("What?"), 6)
    assert got["statistics"]["prompt_executions"] == 1


@pytest.mark.parametrize("flags", [["-b", "cpu"], ["--soc", "SM8750"]], ids=["cpu", "htp"])
@pytest.mark.parametrize("form, place, room, token, says", [
    ("lengths", 40, 40, 3, "index 40"), ("lengths", -1, 40, 3, "index 40"),  # none is negative
    ("scatter", 40, 40, 3, "index 40"), ("lengths", 3, 48, 3, "expects [1, 2, 40, 16]"),
    ("lengths", 3, 40, 96, "index 96"), ("lengths", 3, 40, -97, "index -97")], ids=str)
def test_rows_behind_a_cache_and_tokens_outside_are_rejected(tmp_path, flags, form, place, room,
                                                             token, says):
    graph = in_place.save(tmp_path / "m.onnx", 1, 40, form)
    past = {f"past_key_values.{i}.{k}": np.zeros((1, 2, room, 16), np.float32)
            for i in range(llama.LAYERS) for k in ("key", "value")}
    where = {"seqlens_k": np.array([[place]], np.int32),
             "total_sequence_length": np.array([place + 1], np.int32)} if form == "lengths" else \
        {"cache_position": np.array([place]), "attention_mask": np.zeros((1, 1, 1, 1, 40), "f4")}
    np.savez(tmp_path / "in.npz", input_ids=np.array([[token]]), **past, **where)
    p = quern("run", graph, "-i", tmp_path / "in.npz", *flags)
    assert p.returncode != 0 and says in p.stderr and p.stderr.count("\n") == 1, p.stderr


def test_a_cache_updated_in_place_has_one_type(folder, tmp_path):
    m = onnx.load(in_place.save(tmp_path / "m.onnx", 1, 40, "scatter"))
    m.graph.node.append(onnx.helper.make_node("Cast", ["state"], ["present.0.key"], to=10))
    for n in list(m.graph.node)[:-1]:
        n.output[:] = ["state" if x == "present.0.key" else x for x in n.output]
        n.input[:] = ["state" if x == "present.0.key" else x for x in n.input]
    (port,) = [o for o in m.graph.output if o.name == "present.0.key"]
    port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    onnx.save(m, tmp_path / "m.onnx")
    refuses(INPUT, "generate", tmp_path / "m.onnx", "--tokenizer", folder / "tokenizer.json",
            "--config", folder / "config.json", "--raw", "-p", "x",
            says=["updated in place", "present.0.key"])


def test_text_streams_and_statistics_go_to_stderr(folder):
    p = ok("generate", folder, "--raw", "-p", "What?", "-n", 5)
    whole = generate(folder, "--raw", "-p", "What?", "-n", 5)
    assert p.stdout == whole["text"] + "\n"
    assert "tokens/s" in p.stderr and "KV cache" in p.stderr
    assert ok("generate", folder, "--raw", "-p", "What?", "-n", 5, "-q").stderr == ""


def test_events_are_lines_of_json_and_the_last_one_is_the_result(folder):
    lines = [json.loads(line) for line in ok("generate", folder, "--raw", "-p", "What?", "-n", 5,
                                             "--events").stdout.splitlines()]
    assert "".join(e.get("text", "") for e in lines[:-1]) == lines[-1]["text"]
    assert [e["token"] for e in lines[:-1] if "token" in e] == lines[-1]["tokens"]


def test_a_stop_text_ends_the_text_before_it(folder):
    text = generate(folder, "--raw", "-p", "What?", "-n", 12)["text"]
    stop = text[4:7]
    got = generate(folder, "--raw", "-p", "What?", "-n", 12, "--stop", stop, "--stop", "none such")
    assert got["text"] == text[:text.index(stop)] and got["end"] == "stop"


def test_draws_repeat_with_their_seed_and_one_choice_is_greedy(folder):
    draw = lambda *f: generate(folder, "--raw", "-p", "What?", "-n", 12, *f)["tokens"]
    hot = ["--temperature", 2]
    assert draw(*hot, "--seed", 5) == draw(*hot, "--seed", 5)
    assert len({tuple(draw(*hot, "--seed", s)) for s in range(4)}) > 1
    assert draw(*hot, "--top-k", 1) == draw() == draw(*hot, "--top-p", 1e-9)


def test_a_full_context_ends_the_text(folder):
    got = generate(folder, "--raw", "-p", "What?")
    n = len(ids_of("What?"))
    made = len(got["tokens"])
    assert (got["end"], made) in {("context", 40 - n + 1), ("end", made)}
    assert got["statistics"]["positions"] == 40


def test_a_chat_computes_only_what_is_new(folder, tmp_path):
    (tmp_path / "t").write_text("{% for m in messages %}{{ m.content }}.{% endfor %}")
    flags = ["--chat-template", tmp_path / "t", "-n", 3, "--events"]
    p = subprocess.run([BIN, "generate", folder, *map(str, flags), "-i"], input="hi\nyou\n",
                       text=True, capture_output=True, timeout=100)
    assert p.returncode == 0, p.stderr
    turns = [json.loads(line) for line in p.stdout.splitlines() if '"statistics"' in line]
    want = greedy(folder, ids_of("hi."), 3)
    assert turns[0]["tokens"] == want
    second = ids_of("hi.") + ids_of(f"{turns[0]['text']}.you.")
    assert turns[1]["tokens"] == greedy(folder, second, 3)
    assert turns[1]["statistics"]["prompt_tokens"] < len(second)


def test_an_interrupt_ends_the_text_and_not_the_report(folder):
    p = subprocess.Popen([BIN, "generate", folder, "--raw", "-p", "What?", "--events"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = p.stdout.readline()
    p.send_signal(signal.SIGINT)
    rest = p.stdout.read()
    assert p.wait(timeout=100) == 0, p.stderr.read()
    last = json.loads((first + rest).splitlines()[-1])
    assert last["end"] in ("interrupted", "context", "end") and "statistics" in last


# --- what is wrong

def test_a_prompt_longer_than_the_context_is_rejected(folder):
    refuses(INPUT, "generate", folder, "--raw", "-p", "x" * 41, says=["41 tokens", "40 positions"])


def test_tokenizers_of_other_models_are_found_by_their_size(folder, tmp_path):
    big, small = tmp_path / "big.json", tmp_path / "small.json"
    big.write_text(json.dumps(tokenizer(120)))
    small.write_text(json.dumps(tokenizer(90)))
    refuses(INPUT, "generate", folder, "--raw", "-p", "x", "--tokenizer", big,
            says=["120 tokens", "96"])
    p = ok("generate", folder, "--raw", "-p", "x", "-n", "1", "--tokenizer", small, "--json")
    assert "90 tokens" in p.stderr


def test_graphs_of_something_else_are_named_with_what_they_lack(folder, tmp_path):
    other = add_relu(tmp_path / "relu.onnx")
    refuses(INPUT, "generate", other, "--tokenizer", folder / "tokenizer.json", "--rope-theta", 1e4,
            "--raw", "-p", "x", says=["no input 'ids'", "x [2,3]", "relu.onnx"])
    refuses(INPUT, "generate", folder / "prefill.onnx", "--raw", "-p", "x", says="decode graph")


def test_graphs_of_two_models_are_rejected(folder, tmp_path):
    one = llama.save(tmp_path / "one.onnx", 1, 39, layers=1)
    refuses(INPUT, "generate", folder / "prefill.onnx", one, "--raw", "-p", "x",
            says="2 and 1 layers")


def test_nan_logits_are_an_error(folder, tmp_path):
    m = onnx.load(folder / "decode.onnx")
    for c in m.graph.initializer:
        if c.name == "norm":
            c.CopyFrom(numpy_helper.from_array(np.full(llama.WIDTH, np.nan, np.float32), "norm"))
    onnx.save(m, tmp_path / "nan.onnx")
    p = quern("generate", tmp_path / "nan.onnx", "--tokenizer", folder / "tokenizer.json",
              "--rope-theta", 1e4, "--raw", "-p", "x")
    assert p.returncode == INPUT and "NaN" in p.stderr


def test_what_is_missing_is_said(folder, tmp_path):
    refuses(USAGE, "generate", folder, says="--prompt")
    refuses(USAGE, "generate", folder, "--raw", "--system", "x", "-p", "x", says="--raw")
    bare = tmp_path / "decode.onnx"
    bare.write_bytes((folder / "decode.onnx").read_bytes())
    refuses(INPUT, "generate", bare, "--raw", "-p", "x", "--tokenizer", folder / "tokenizer.json",
            says=["decode.onnx", "inputs cos and sin", "rope_theta", "--rope-theta"])
    refuses(USAGE, "generate", bare, "-p", "x", "--rope-theta", 1e4, says="--tokenizer")
    refuses(FAILURE, "generate", tmp_path, "-p", "x", "--rope-theta", 1e4, "--tokenizer", "none",
            says="none")
    refuses(FAILURE, "generate", tmp_path / "nobody", "-p", "x", says=["nobody", "No such file"])
    refuses(REFUSED, "generate", folder / "tokenizer.json", "--raw", "-p", "x")


@pytest.mark.parametrize("config, says", [
    ({"rope_theta": "x"}, "rope_theta"), ({"rope_theta": 1e4, "eos_token_id": "a"}, "eos_token_id"),
    ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "dynamic"}}, "dynamic"),
    ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 4}}, "missing"),
    ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 4, "mscale": 1}},
     "mscale"),
    ({"rope_theta": 1e4, "rope_scaling": {"type": "llama3", "factor": 8}}, "missing"),
    ({"rope_theta": 1e4, "partial_rotary_factor": 0.5}, "partial_rotary_factor")], ids=str)
def test_configurations_that_cannot_be_followed_are_rejected(folder, tmp_path, config, says):
    (tmp_path / "c.json").write_text(json.dumps(config))
    refuses(INPUT, "generate", folder, "--raw", "-p", "x", "--config", tmp_path / "c.json",
            says=says)


def test_positions_are_stretched_as_yarn_does(folder, tmp_path, monkeypatch):
    dim, theta, factor, original = llama.DEPTH, 1e4, 4, 16
    turns = lambda n: dim * np.log(original / (n * 2 * np.pi)) / (2 * np.log(theta))
    low, high = max(np.floor(turns(32)), 0), min(np.ceil(turns(1)), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    plain = theta**(-np.arange(0, dim, 2) / dim)
    angles = plain / factor * ramp + plain * (1 - ramp)

    def rope(t):
        p = np.arange(t)[:, None] * np.concatenate([angles, angles])
        return ((0.1 * np.log(factor) + 1) * f(p).astype("f4")[None, None].astype("f4")
                for f in (np.cos, np.sin))
    monkeypatch.setattr(llama, "rope", lambda t: [x.astype("f4") for x in rope(t)])
    scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original}
    for extra in ({"rope_scaling": scaling},
                  {"rope_scaling": {k: scaling[k] for k in ("rope_type", "factor")},
                   "max_position_embeddings": original}):
        (tmp_path / "c.json").write_text(json.dumps({"rope_theta": theta, "eos_token_id": 1,
                                                     **extra}))
        got = generate(folder, "--raw", "-p", PROMPTS["long"], "-n", 8, "--config",
                       tmp_path / "c.json")
        assert got["tokens"] == greedy(folder, ids_of(PROMPTS["long"]), 8)
        assert got["tokens"] != generate(folder, "--raw", "-p", PROMPTS["long"], "-n",
                                         8)["tokens"]


@pytest.mark.parametrize("flags", [["--temperature", -1], ["--top-p", 2], ["--repeat-penalty", -1]],
                         ids=str)
def test_sampling_options_out_of_range_are_rejected(folder, flags):
    p = quern("generate", folder, "--raw", "-p", "x", *flags)
    assert p.returncode == USAGE and flags[0][2:] in p.stderr


def test_a_prompt_that_is_not_utf8_is_rejected(folder, tmp_path):
    (tmp_path / "p").write_bytes(b"ab\xff")
    refuses(INPUT, "generate", folder, "--raw", "--prompt-file", tmp_path / "p", says="UTF-8")


@pytest.mark.parametrize("change, says", [
    ({"model": {"type": "Unigram", "vocab": []}}, "'Unigram'"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer 'Whitespace'"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?<=a)b"}, "behavior": "Isolated"}},
     "this kind of group"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Contiguous"}},
     "Contiguous"),
    ({"normalizer": {"type": "NFKC"}}, "normalizer 'NFKC'"),
    ({"decoder": {"type": "WordPiece"}}, "decoder 'WordPiece'"), ({"decoder": None}, "decoder"),
    ({"post_processor": {"type": "BertProcessing"}}, "BertProcessing"),
    ({"added_tokens": [{"id": 1, "content": "a"}]}, "token 1 is"),
    ({"added_tokens": [{"id": 90000000, "content": "a"}]}, "added_tokens"),
    ({"model": {"type": "BPE", "vocab": {"a": 9}, "merges": ["a b"]}}, "merge 0"),
    ({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}, "model.vocab"),
    ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}, "dropout")],
    ids=str)
def test_parts_of_tokenizers_that_are_unknown_are_rejected_by_name(folder, tmp_path, change, says):
    (tmp_path / "t.json").write_text(json.dumps({**tokenizer(), **change}))
    refuses(INPUT, "generate", folder, "--raw", "-p", "x", "--tokenizer", tmp_path / "t.json",
            says=["t.json", says])


@pytest.mark.parametrize("template, says", [
    ("a\n{{ messages|tojson(indent=4) }}", ":2: the filter 'tojson'"),
    ("{{ nobody|tojson }}", ":1: tojson of what is undefined"),
    ("\n\n{% macro f() %}{% endmacro %}", ":3: the statement 'macro'"),
    ("{{ strftime_now('%Y') }}", ":1: the function 'strftime_now'"),
    ("{% if 1 %}", "endif"), ("{{ 'a }}", "no end"), ("{{ 1.5 }}", "point"),
    ("{{ messages[0].content.title() }}", "'title'"), ("{{ x.y }}", "undefined"),
    ("{% for i in range(9999999) %}{% for j in range(9) %}{% endfor %}{% endfor %}", "too"),
    *[("{{ " + deep * 100000 + " }}", "too deeply") for deep in ("-", "(", "not ", "[")],
    ("{% if 1 %}" * 100000, "too deeply"),
    ("{{ raise_exception('no system here') }}", "no system here")],
    ids=lambda text: text[:20])
def test_what_a_template_cannot_do_is_said_with_its_line(folder, tmp_path, template, says):
    (tmp_path / "t.jinja").write_text(template)
    refuses(INPUT, "generate", folder, "-p", "x", "--chat-template", tmp_path / "t.jinja",
            says=says)


def test_a_tokenizer_inside_a_gguf_file_gives_the_same_tokens(folder, tmp_path):
    g = Gguf()
    t = tokenizer()
    kinds = [3] * len(SPECIALS) + [1] * (llama.VOCAB - len(SPECIALS))
    for key, kind, value in [
            ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "gpt-2"),
            ("tokenizer.ggml.tokens", ARRAY, (STRING, list(t["model"]["vocab"]))),
            ("tokenizer.ggml.token_type", ARRAY, (I32, kinds)),
            ("tokenizer.ggml.merges", ARRAY, (STRING, t["model"]["merges"])),
            ("tokenizer.ggml.eos_token_id", U32, 1),
            ("tokenizer.chat_template", STRING, "{{ messages[0].content }}!")]:
        g.key(key, kind, value)
    (tmp_path / "t.gguf").write_bytes(g.bytes())
    got = generate(folder, "--tokenizer", tmp_path / "t.gguf", "-p", "What is it", "-n", 4)
    assert got["tokens"] == greedy(folder, ids_of("What is it!"), 4)
    (tmp_path / "cut.gguf").write_bytes(g.bytes()[:200])
    refuses(INPUT, "generate", folder, "--tokenizer", tmp_path / "cut.gguf", "-p", "x",
            says="cut.gguf")
