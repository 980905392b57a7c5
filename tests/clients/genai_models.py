# SPDX-License-Identifier: MIT
"""A tiny Llama with random weights as onnxruntime-genai has it for NPUs: a folder of the form
"decoder-pipeline", whose parts have fixed shapes.

    embeddings -> context (the prompt, WINDOW tokens at once) or iterator (one token) -> lm_head

Keys and values lie in buffers of CONTEXT places, which GroupQueryAttention fills in place. The
decoder's two parts may be compiled ahead of time: context models of one binary with shared weights.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper, save

VOCABULARY, HIDDEN, HEADS, KV_HEADS, HEAD, LAYERS, WINDOW, CONTEXT = 64, 64, 4, 2, 16, 2, 8, 96


class _Graph:
    def __init__(self, seed):
        self.nodes, self.constants, self.rng = [], [], np.random.default_rng(seed)

    def const(self, name, values):
        if name not in {c.name for c in self.constants}:
            self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weights(self, name, *shape):
        values = self.rng.standard_normal(shape) / np.sqrt(shape[0])
        return self.const(name, values.astype(np.float32))

    def op(self, op, inputs, output, domain="", **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(h.make_node(op, inputs, outputs, name=f"{op}_{len(self.nodes)}",
                                      domain=domain, **attributes))
        return outputs[0]

    def save(self, path, inputs, outputs):
        def infos(d):
            return [h.make_tensor_value_info(k, t, s) for k, (t, s) in d.items()]
        graph = h.make_graph(self.nodes, path.stem, infos(inputs), infos(outputs), self.constants)
        save(h.make_model(graph, ir_version=9, opset_imports=[
            h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]), path)


def _norm(g, x, i):
    scale = g.const(f"scale_{i}", np.ones(HIDDEN, np.float32))
    return g.op("SimplifiedLayerNormalization", [x, scale], f"norm_{i}", epsilon=1e-5)


def _rotary():
    angles = np.arange(CONTEXT)[:, None] / 10000 ** (np.arange(HEAD // 2) / (HEAD // 2))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _layer(g, x, i):
    """One layer of a Llama: grouped attention with rotary positions, and a gated network."""
    y, parts = _norm(g, x, f"{i}_in"), []
    for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
        parts.append(g.op("MatMul", [y, g.weights(f"w{name}_{i}", HIDDEN, heads * HEAD)],
                          f"{name}_{i}"))
    cos, sin = _rotary()
    a = g.op("GroupQueryAttention",
             [*parts, f"past_keys_{i}", f"past_values_{i}", "past_seq_len", "total_seq_len",
              g.const("cos", cos), g.const("sin", sin)],
             [f"a_{i}", f"present_keys_{i}", f"present_values_{i}"], "com.microsoft",
             num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1)
    x = g.op("Add", [x, g.op("MatMul", [a, g.weights(f"wo_{i}", HIDDEN, HIDDEN)], f"o_{i}")],
             f"sum_{i}")
    y = _norm(g, x, f"{i}_out")
    gate = g.op("MatMul", [y, g.weights(f"wg_{i}", HIDDEN, 2 * HIDDEN)], f"g_{i}")
    gate = g.op("Mul", [gate, g.op("Sigmoid", [gate], f"s_{i}")], f"silu_{i}")
    up = g.op("MatMul", [y, g.weights(f"wu_{i}", HIDDEN, 2 * HIDDEN)], f"u_{i}")
    y = g.op("MatMul", [g.op("Mul", [gate, up], f"gu_{i}"),
                        g.weights(f"wd_{i}", 2 * HIDDEN, HIDDEN)], f"d_{i}")
    return g.op("Add", [x, y], "output_hidden_states" if i == LAYERS - 1 else f"x_{i + 1}")


def _caches(word):
    shape = [1, KV_HEADS, CONTEXT, HEAD]
    return {f"{word}_{kind}_{i}": (T.FLOAT, shape) for i in range(LAYERS)
            for kind in ("keys", "values")}


def _decoder(path, tokens):
    g = _Graph(1)  # the same weights for the prompt and for one token
    x = "input_hidden_states"
    for i in range(LAYERS):
        x = _layer(g, x, i)
    state = {x: (T.FLOAT, [1, tokens, HIDDEN])}
    g.save(path, {"input_hidden_states": (T.FLOAT, [1, tokens, HIDDEN]), **_caches("past"),
                  "past_seq_len": (T.INT32, [1, 1]), "total_seq_len": (T.INT32, [1])},
           {**state, **_caches("present")})


def _ends(folder):
    g = _Graph(2)
    g.op("Gather", [g.weights("table", VOCABULARY, HIDDEN), "input_ids"], "input_hidden_states")
    g.save(folder / "embeddings.onnx", {"input_ids": (T.INT64, [1, "tokens"])},
           {"input_hidden_states": (T.FLOAT, [1, "tokens", HIDDEN])})
    g = _Graph(3)
    g.op("MatMul", [_norm(g, "output_hidden_states", "head"),
                    g.weights("head", HIDDEN, VOCABULARY)], "logits")
    g.save(folder / "lm_head.onnx", {"output_hidden_states": (T.FLOAT, [1, "tokens", HIDDEN])},
           {"logits": (T.FLOAT, [1, "tokens", VOCABULARY])})


def write(folder, provider_options=None, fallback=False):
    """Writes the folder; the decoder's parts get the options {name: {option: value}}, and then run
    with these providers or, without fallback, not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _decoder(folder / "context.onnx", WINDOW)
    _decoder(folder / "iterator.onnx", 1)
    _ends(folder)
    options = {"session_options": {"provider_options": [
        {name: given} for name, given in (provider_options or {}).items()]}}
    if provider_options and not fallback:
        options["session_options"]["session.disable_cpu_ep_fallback"] = "1"
    inputs = ["input_hidden_states", *_caches("past"), "past_seq_len", "total_seq_len"]
    outputs = ["output_hidden_states", *_caches("present")]
    decoder = {"inputs": inputs, "outputs": outputs, **options}
    config = {"model": {
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "context_length": CONTEXT,
        "type": "decoder-pipeline", "vocab_size": VOCABULARY,
        "decoder": {
            "head_size": HEAD, "hidden_size": HIDDEN, "num_attention_heads": HEADS,
            "num_hidden_layers": LAYERS, "num_key_value_heads": KV_HEADS,
            "session_options": {"provider_options": []},
            "inputs": {"input_ids": "input_ids", "past_sequence_length": "past_seq_len",
                       "total_sequence_length": "total_seq_len",
                       "past_key_names": "past_keys_%d", "past_value_names": "past_values_%d"},
            "outputs": {"logits": "logits", "present_key_names": "present_keys_%d",
                        "present_value_names": "present_values_%d"},
            "sliding_window": {"window_size": WINDOW, "pad_value": 0, "alignment": "left",
                               "slide_key_value_cache": False},
            "pipeline": [{
                "embeddings": {"filename": "embeddings.onnx", "inputs": ["input_ids"],
                               "outputs": ["input_hidden_states"]},
                "context": {"filename": "context.onnx", "run_on_prompt": True,
                            "run_on_token_gen": False, **decoder},
                "iterator": {"filename": "iterator.onnx", "run_on_prompt": False,
                             "run_on_token_gen": True, **decoder},
                "lm_head": {"filename": "lm_head.onnx", "is_lm_head": True,
                            "inputs": ["output_hidden_states"], "outputs": ["logits"]}}]}},
        "search": {"do_sample": False, "max_length": CONTEXT, "past_present_share_buffer": True}}
    (folder / "genai_config.json").write_text(json.dumps(config, indent=2))
    return folder


# In a process of its own: a provider is registered under its name for good. The first model waits
# for the second one, which writes the binary of both.
COMPILE = """
import json, sys
import onnxruntime as ort
name, provider, options, fallback, *parts = sys.argv[1:]
ort.register_execution_provider_library(name, provider)
cpu = ort.OrtHardwareDeviceType.CPU
device = next(d for d in ort.get_ep_devices() if d.ep_name == name and d.device.type == cpu)
sessions = []
for i, path in enumerate(parts):
    so = ort.SessionOptions()
    for key, value in {"ep.context_enable": "1", "ep.context_embed_mode": "0",
                       "ep.context_file_path": path.replace(".onnx", "_ctx.onnx"),
                       "ep.share_ep_contexts": "1", "session.disable_cpu_ep_fallback": fallback,
                       "ep.stop_share_ep_contexts": str(int(path == parts[-1]))}.items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices([device], json.loads(options))
    sessions.append(ort.InferenceSession(path, so))
"""


def compile_parts(folder, provider, name="QNNExecutionProvider"):
    """Replaces the decoder's parts in a folder that `write` made by their context models."""
    config = json.loads((folder / "genai_config.json").read_text())
    parts = config["model"]["decoder"]["pipeline"][0]
    names = ("context", "iterator")
    session = parts["context"]["session_options"]
    p = subprocess.run([sys.executable, "-c", COMPILE, name, str(provider),
                        json.dumps(session["provider_options"][0]["qnn"]),
                        session.get("session.disable_cpu_ep_fallback", "0"),
                        *(str(folder / parts[n]["filename"]) for n in names)],
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr[-2000:]
    for n in names:
        (folder / parts[n]["filename"]).unlink()
        parts[n]["filename"] = f"{n}_ctx.onnx"
        parts[n]["session_options"]["ep.share_ep_contexts"] = "1"
    (folder / "genai_config.json").write_text(json.dumps(config, indent=2))
    return folder
