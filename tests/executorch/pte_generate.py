# SPDX-License-Identifier: MIT
"""quern generate on programs of the form that ExecuTorch's Llama script writes: a method for one
token and one for a chunk, positions in place of angles, keys with the head's numbers before the
positions. ONNX Runtime, without a cache, says which tokens must come."""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import cli_generate as cli  # noqa: E402
import tiny_llama as llama  # noqa: E402
from harness import REFUSED, refuses  # noqa: E402
from pte_delegate import compiled  # noqa: E402
from pte_writer import Program, blob, spec  # noqa: E402

CONTEXT, CHUNK = 32, 8


def rewritten(path, t):
    """The tiny Llama with the inputs and outputs of the script's decoder; their order is mixed."""
    past = CONTEXT - t
    m = onnx.load(llama.save(path, t, past))
    g, info = m.graph, h.make_tensor_value_info
    tables = [numpy_helper.from_array(a, n) for a, n in zip(llama.rope(CONTEXT), ("table_c",
                                                                                  "table_s"))]
    g.initializer.extend([*tables, numpy_helper.from_array(np.array([t]), "flat"),
                          numpy_helper.from_array(np.array([1, 1, 1, t, CONTEXT]), "five")])
    before = [h.make_node("Identity", ["input_1_tokens@0"], ["ids"]),
              h.make_node("Reshape", ["input_0_input_pos@0", "flat"], ["at"]),
              h.make_node("Gather", ["table_c", "at"], ["cos"], axis=2),
              h.make_node("Gather", ["table_s", "at"], ["sin"], axis=2),
              h.make_node("Reshape", ["input_2_atten_mask@0", "five"], ["mask"])]
    inputs = [info("input_1_tokens@0", T.INT32, [1, t]),
              info("input_0_input_pos@0", T.INT32, [1, t]),
              info("input_2_atten_mask@0", T.FLOAT, [1, 1, t, CONTEXT])]
    outputs, after = [], []
    for i in range(llama.LAYERS):
        k, v = f"input_{3 + 2 * i}_args_{i}@0", f"input_{4 + 2 * i}_args_{llama.LAYERS + i}@0"
        before += [h.make_node("Transpose", [k], [f"past_k_{i}"], perm=[0, 1, 3, 2]),
                   h.make_node("Identity", [v], [f"past_v_{i}"])]
        after += [h.make_node("Transpose", [f"new_k_{i}"], [f"output_k_{i}@0"], perm=[0, 1, 3, 2]),
                  h.make_node("Identity", [f"new_v_{i}"], [f"output_v_{i}@0"])]
        inputs += [info(v, T.FLOAT, [1, llama.KV, past, llama.DEPTH]),
                   info(k, T.FLOAT, [1, llama.KV, llama.DEPTH, past])]
        outputs += [info(f"output_v_{i}@0", T.FLOAT, [1, llama.KV, t, llama.DEPTH]),
                    info(f"output_k_{i}@0", T.FLOAT, [1, llama.KV, llama.DEPTH, t])]
    after.append(h.make_node("Identity", ["logits"], ["output_logits@0"]))
    outputs.append(info("output_logits@0", T.FLOAT, [1, t, llama.VOCAB]))
    nodes = [*before, *g.node, *after]
    for field, items in (("node", nodes), ("input", inputs), ("output", outputs)):
        del getattr(g, field)[:]
        getattr(g, field).extend(items)
    return m


def add_method(p, name, payload, t):
    past, n = CONTEXT - t, llama.LAYERS
    m = p.method(name)
    tokens = m.input((1, t), "int32", planned=False)
    mask = m.input((1, 1, t, CONTEXT), planned=False)
    at = m.input((1, t), "int32", planned=False)
    k = [m.input((1, llama.KV, llama.DEPTH, past), planned=False) for _ in range(n)]
    v = [m.input((1, llama.KV, past, llama.DEPTH), planned=False) for _ in range(n)]
    logits = m.tensor((1, t, llama.VOCAB), planned=False)
    new_k = [m.tensor((1, llama.KV, llama.DEPTH, t), planned=False) for _ in range(n)]
    new_v = [m.tensor((1, llama.KV, t, llama.DEPTH), planned=False) for _ in range(n)]
    caches = [x for pair in zip(k, v) for x in pair]
    rows = [x for pair in zip(new_v, new_k) for x in pair]
    m.delegate(payload, spec(), [at, tokens, mask, *caches, *rows, logits])
    m.output(logits, *new_k, *new_v)
    return m


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    f = tmp_path_factory.mktemp("pte")
    models = {"kv_forward": rewritten(f / "a.onnx", 1),
              "prefill_forward": rewritten(f / "b.onnx", CHUNK)}
    payload = blob(compiled(f, models))
    p = Program()
    add_method(p, "kv_forward", payload, 1)
    add_method(p, "prefill_forward", payload, CHUNK)
    number = p.method("get_eos_id")
    number.output(number.number(1))
    (f / "model.pte").write_bytes(p.bytes())
    (f / "tokenizer.json").write_text(json.dumps(cli.tokenizer()))
    return f


@pytest.mark.parametrize("prompt", cli.PROMPTS.values(), ids=cli.PROMPTS)
def test_tokens_of_a_program_are_those_of_onnx_runtime(folder, prompt):
    want = cli.greedy(folder, cli.ids_of(prompt), 6)
    got = cli.generate(folder / "model.pte", "--raw", "-p", prompt, "-n", 6)
    assert got["tokens"] == want
    assert got["statistics"]["prompt_executions"] < len(cli.ids_of(prompt))
    assert got["statistics"]["positions"] == CONTEXT


def test_an_answer_ends_with_the_context(folder):
    got = cli.generate(folder / "model.pte", "--raw", "-p", cli.PROMPTS["long"])
    assert got["end"] in ("context", "end")
    assert len(got["tokens"]) + len(cli.ids_of(cli.PROMPTS["long"])) <= CONTEXT + 1


def test_programs_of_another_form_are_refused_in_words(folder, tmp_path):
    p = Program()
    m = p.method("forward")
    x, y = m.input((2, 3)), m.tensor((2, 3))
    neg = h.make_model(h.make_graph(
        [h.make_node("Neg", ["input_0_x"], ["output_y"])], "g",
        [h.make_tensor_value_info("input_0_x", T.FLOAT, [2, 3])],
        [h.make_tensor_value_info("output_y", T.FLOAT, [2, 3])]),
        opset_imports=[h.make_opsetid("", 17)], ir_version=9)
    m.delegate(blob(compiled(tmp_path, {"forward": neg})), spec(), [x, y])
    m.output(y)
    (tmp_path / "neg.pte").write_bytes(p.bytes())
    flags = ("--tokenizer", folder / "tokenizer.json", "--raw", "-p", "hi")
    refuses(REFUSED, "generate", tmp_path / "neg.pte", *flags,
            says=["neg.pte", "'forward'", "1 inputs", "language model"])
    whole = (folder / "model.pte").read_bytes()
    (tmp_path / "cut.pte").write_bytes(whole[:len(whole) // 2])
    refuses(REFUSED, "generate", tmp_path / "cut.pte", *flags, says="cut.pte")
