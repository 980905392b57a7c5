# SPDX-License-Identifier: MIT
"""quern wrap writes programs around context binaries: the same quantized language model generates
the same tokens from ONNX files, a context binary, a program and the provider. Programs that do not
fit their binary are rejected."""
import json
import os
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "ort")]
import cli_generate as cli  # noqa: E402
import tiny_llama as llama  # noqa: E402
import provider  # noqa: E402
from harness import INPUT, REFUSED, USAGE, ok, ok_json, refuses  # noqa: E402
from pte_writer import Program, blob, spec  # noqa: E402

TOKENS, PAST, N = 8, 39, 24
SOC = ("--soc", "SM8750")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A quantized Llama of two layers: ONNX files, a binary and a program."""
    f = tmp_path_factory.mktemp("wrap")
    llama.save(f / "prefill.onnx", TOKENS)
    llama.save(f / "decode.onnx", 1, PAST)
    llama.calibration(f / "data.npz", TOKENS, 6)
    q = f / "q"
    ok("quantize", f / "prefill.onnx", f / "decode.onnx", "-o", q, "--scheme", "a16w8", "-c",
       f / "data.npz", "-q")
    (q / "tokenizer.json").write_text(json.dumps(cli.tokenizer()))
    (q / "config.json").write_text(json.dumps({"rope_theta": 10000.0, "eos_token_id": 1}))
    ok("compile", q / "prefill.onnx", q / "decode.onnx", "-o", q / "m.bin", *SOC)
    ok("wrap", q / "m.bin", "-o", q / "m.pte")
    return q


def tokens_of(folder, *models, prompt, flags=()):
    return cli.generate(*models, "--raw", "-p", prompt, "-n", N, "--tokenizer",
                        folder / "tokenizer.json", *flags)["tokens"]


@pytest.mark.parametrize("prompt", cli.PROMPTS.values(), ids=cli.PROMPTS)
def test_onnx_binary_and_program_generate_the_same_tokens(folder, prompt):
    models = (folder / "prefill.onnx", folder / "decode.onnx")
    want = tokens_of(folder, *models, prompt=prompt, flags=("--backend", "htp", *SOC))
    assert len(want) >= 5
    assert tokens_of(folder, folder / "m.bin", prompt=prompt) == want
    assert tokens_of(folder, folder / "m.pte", prompt=prompt) == want


def by_provider(folder, prompt, n):
    """Greedy tokens of ONNX Runtime sessions on the provider; the prompt fills the prefill."""
    options = {"backend_type": "htp", "soc_model": "SM8750"}
    prefill, decode = (provider.session(str(folder / f"{name}.onnx"), options)
                       for name in ("prefill", "decode"))
    names = [[o.name for o in s.get_outputs()] for s in (prefill, decode)]
    cos, sin = llama.rope(TOKENS)
    assert len(prompt) == TOKENS
    new = dict(zip(names[0], prefill.run(None, {"ids": np.array([prompt], np.int32), "cos": cos,
                                                "sin": sin, "mask": llama.mask(TOKENS)})))
    past = {}
    for name, rows in new.items():
        if name.startswith("new_"):
            past["past" + name[3:]] = np.zeros((1, llama.KV, PAST, llama.DEPTH), rows.dtype)
    tokens, at, rows = [], 0, TOKENS
    while len(tokens) < n:
        for name, state in past.items():
            state[:, :, at:at + rows] = new["new" + name[4:]]
        at, rows = at + rows, 1
        best = int(np.argmax(new["logits"][0, -1]))
        if best == 1:
            break
        tokens.append(best)
        cos, sin = llama.rope(1, at)
        new = dict(zip(names[1], decode.run(None, {
            "ids": np.array([[best]], np.int32), "cos": cos, "sin": sin,
            "mask": llama.mask(1, PAST, at), **past})))
    return tokens


@pytest.mark.skipif(os.environ.get("QUERN_SANITIZE") == "address",
                    reason="Python cannot load a provider that was built with AddressSanitizer")
def test_the_provider_generates_the_tokens_of_the_program(folder):
    prompt = cli.PROMPTS["exact"]
    got = tokens_of(folder, folder / "m.pte", prompt=prompt)
    assert len(got) >= 5
    assert by_provider(folder, cli.ids_of(prompt), N) == got


def test_the_binary_lies_in_the_program_unchanged_and_aligned(folder):
    program, binary = (folder / "m.pte").read_bytes(), (folder / "m.bin").read_bytes()
    assert program[4:12] == b"ET12eh00"
    base, size = struct.unpack_from("<QQ", program, 24)
    assert base % 256 == 0 and size == 256 + len(binary) and base + size == len(program)
    magic, signature, n = struct.unpack_from("<IqQ", program, base)
    assert (magic, n) == (0x5678ABCD, len(binary)) and signature >= 0
    assert program[base + 256:] == binary


def test_one_graph_can_be_wrapped(folder, tmp_path):
    d = ok_json("wrap", folder / "m.bin", "-o", tmp_path / "d.pte", "--graph", "decode", "--json")
    assert [g["name"] for g in d["models"][0]["graphs"]] == ["decode"]
    prompt, config = cli.PROMPTS["short"], ("--config", folder / "config.json")
    assert tokens_of(folder, tmp_path / "d.pte", prompt=prompt, flags=config) == \
        tokens_of(folder, folder / "decode.onnx", prompt=prompt, flags=("--backend", "htp", *SOC))


def test_a_program_needs_rope_theta_for_cos_and_sin(folder, tmp_path):
    ok("wrap", folder / "m.bin", "-o", tmp_path / "m.pte")
    refuses(INPUT, "generate", tmp_path / "m.pte", "--tokenizer", folder / "tokenizer.json",
            "--raw", "-p", "hi", says=["m.pte", "rope_theta", "--rope-theta"])


def binary_of(folder, inputs, outputs, backend="htp"):
    """A graph `decode` that negates; inputs and outputs: names of tensors [2, 3]."""
    info = [[h.make_tensor_value_info(n, T.FLOAT, [2, 3]) for n in names]
            for names in (inputs, outputs)]
    g = h.make_graph([h.make_node("Neg", [i], [o]) for i, o in zip(inputs, outputs)], "g", *info)
    onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=9),
              folder / "decode.onnx")
    ok("compile", folder / "decode.onnx", "-o", folder / "n.bin", *SOC)
    return folder / "n.bin"


def test_options_and_graphs_that_a_program_cannot_have_are_rejected(folder, tmp_path):
    for flags in (("--each",), ("--provider", "Qnn")):
        refuses(USAGE, "wrap", folder / "m.bin", "-o", tmp_path / "m.pte", *flags, says=flags[0])
    state = binary_of(tmp_path, ["input_0_mutbuf_0"], ["y"])
    refuses(REFUSED, "wrap", state, "-o", tmp_path / "m.pte", says=["mutbuf_", "decode"])
    (tmp_path / "cut.bin").write_bytes((folder / "m.bin").read_bytes()[:1000])
    refuses(REFUSED, "wrap", tmp_path / "cut.bin", "-o", tmp_path / "m.pte", says="cut.bin")
    assert not (tmp_path / "m.pte").exists()


def test_a_wrapped_graph_that_is_no_language_model_is_rejected(folder, tmp_path):
    flags = ("--tokenizer", folder / "tokenizer.json", "--rope-theta", 10000, "--raw", "-p", "hi")
    ok("wrap", binary_of(tmp_path, ["x"], ["y"]), "-o", tmp_path / "n.pte")
    refuses(INPUT, "generate", tmp_path / "n.pte", *flags, says=["n.pte", "decode", "ids"])


def decode_without(folder, tmp_path, name):
    """The decode graph without one of its outputs."""
    m = onnx.load(folder.parent / "decode.onnx")
    keep = [o for o in m.graph.output if o.name != name]
    del m.graph.output[:]
    m.graph.output.extend(keep)
    onnx.save(m, tmp_path / "decode.onnx")
    ok("compile", tmp_path / "decode.onnx", "-o", tmp_path / "d.bin", *SOC)
    ok("wrap", tmp_path / "d.bin", "-o", tmp_path / "d.pte")
    return tmp_path / "d.pte"


@pytest.mark.parametrize("name", ["logits", "new_v_1"])
def test_a_missing_output_is_named(folder, tmp_path, name):
    flags = ("--tokenizer", folder / "tokenizer.json", "--rope-theta", 10000, "--raw", "-p", "hi")
    refuses(INPUT, "generate", decode_without(folder, tmp_path, name), *flags,
            says=["d.pte", "decode", name])


def forged(payload, graph, shape, dtype="float32"):
    """A program of one input and one output around any payload."""
    p = Program()
    m = p.method(graph)
    x, y = m.input(shape, dtype, planned=False), m.tensor(shape, dtype, planned=False)
    m.delegate(payload, spec(soc=69, arch=79, from_binary=True), [x, y])
    m.output(y)
    return p.bytes()


def test_programs_around_another_binary_are_rejected(folder, tmp_path):
    flags = ("--tokenizer", folder / "tokenizer.json", "--rope-theta", 10000, "--raw", "-p", "hi")
    payload = blob(binary_of(tmp_path, ["x"], ["y"]).read_bytes())
    cases = {"name": (forged(payload, "forward", (2, 3)), ["forward", "no graph"]),
             "shape": (forged(payload, "decode", (3, 2)), ["decode", "input 0", "'x'"]),
             "type": (forged(payload, "decode", (2, 3), "uint8"), ["decode", "input 0", "'x'"]),
             "text": (forged(b"\xcd\xab\x78\x56" + bytes(400), "decode", (2, 3)), ["decode"])}
    for name, (data, says) in cases.items():
        (tmp_path / f"{name}.pte").write_bytes(data)
        refuses(REFUSED, "generate", tmp_path / f"{name}.pte", *flags, says=[f"{name}.pte", *says])
