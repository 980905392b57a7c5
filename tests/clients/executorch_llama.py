# SPDX-License-Identifier: MIT
"""Runs the wheel's own Llama script, unchanged, on a tiny model with random weights.

    executorch_llama.py FOLDER [script's flags]

Writes checkpoint, parameters and calibration text, and stands in for the packages that the script
downloads models and data sets with. FOLDER/out has the program and the script's quantized module.
Then writes in*.raw, the inputs of the method for a chunk at the begin of a text, and want.npz: the
logits of that module, and the scale of the program's.
"""
import importlib.abc
import importlib.machinery
import json
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import torch

LAYERS, DIM, HEADS, KV, HIDDEN, VOCAB = 2, 64, 4, 2, 128, 128
CONTEXT, CHUNK, HEAD = 32, 8, DIM // HEADS
STAND_INS = {"torchtune", "transformers", "pytorch_tokenizers", "datasets", "lm_eval", "scipy",
             "safetensors", "huggingface_hub", "omegaconf", "accelerate", "sentencepiece",
             "tiktoken", "tqdm"}


class Stub(types.ModuleType):
    """Module whose every attribute is a harmless class."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in STAND_INS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        for name, value in PARTS.get(module.__name__, {}).items():
            setattr(module, name, value)


class Tokenizer:
    """One token a character."""
    bos_id, eos_id, n_words = 1, 2, VOCAB

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def apply_chat_template(self, messages, **kw):
        return "".join(m["content"] for m in messages)

    def save_pretrained(self, folder):
        return [str(Path(folder) / n) for n in ("tokenizer_config.json", "tokenizer.json")]

    def encode(self, text, bos=False, eos=False, **kw):
        return [self.bos_id] * int(bos) + [ord(c) % VOCAB for c in text]


def hadamard(n, dtype=int):
    h = np.ones((1, 1))
    while h.shape[0] < n:
        h = np.kron([[1, 1], [1, -1]], h)
    return h.astype(dtype)


PARTS = {"transformers": {"AutoTokenizer": Tokenizer},
         "pytorch_tokenizers": {"get_tokenizer": lambda *args: Tokenizer()},
         "scipy": {"linalg": types.SimpleNamespace(hadamard=hadamard)},
         "tqdm": {"tqdm": lambda items, *args, **kw: items}}


def checkpoint():
    torch.manual_seed(1)
    make = lambda *s: torch.randn(*s) / s[-1] ** 0.5
    w = {"tok_embeddings.weight": torch.randn(VOCAB, DIM), "norm.weight": torch.ones(DIM),
         "output.weight": make(VOCAB, DIM)}
    rows = {"attention.wq": (DIM, DIM), "attention.wk": (DIM * KV // HEADS, DIM),
            "attention.wv": (DIM * KV // HEADS, DIM), "attention.wo": (DIM, DIM),
            "feed_forward.w1": (HIDDEN, DIM), "feed_forward.w2": (DIM, HIDDEN),
            "feed_forward.w3": (HIDDEN, DIM)}
    for i in range(LAYERS):
        w |= {f"layers.{i}.{n}.weight": make(*s) for n, s in rows.items()}
        w |= {f"layers.{i}.{n}.weight": torch.ones(DIM) for n in ("attention_norm", "ffn_norm")}
    return w


def expect(folder):
    from executorch.exir._serialize._program import deserialize_pte_binary
    program = deserialize_pte_binary((folder / "out" / "hybrid_llama_qnn.pte").read_bytes()).program
    meta = {m.name: m.values[0].val for m in program.execution_plan if not m.delegates}
    graphs = [m for m in program.execution_plan if m.delegates]
    past = CONTEXT - CHUNK
    tokens = np.arange(40, 40 + CONTEXT, dtype=np.int32)[None]
    mask = np.zeros((1, 1, CHUNK, CONTEXT), np.uint16)
    for i in range(CHUNK):
        mask[..., i, past:past + i + 1] = 65535
    caches = [np.zeros((1, KV, HEAD * past), np.uint16)] * (2 * LAYERS)
    inputs = [tokens[:, :CHUNK], mask, np.arange(CHUNK, dtype=np.int32)[None], *caches]
    for i, x in enumerate(inputs):
        x.tofile(folder / f"in{i}.raw")
    module = torch.export.load(folder / "out" / "decode_qdq.pt2").module()
    with torch.no_grad():
        logits = module(torch.from_numpy(tokens), torch.full((CONTEXT, CONTEXT), -255.0).triu(1)[
            None, None], torch.arange(CONTEXT, dtype=torch.int32)[None],
            *[torch.zeros(1, KV, HEAD, 0)] * LAYERS, *[torch.zeros(1, KV, 0, HEAD)] * LAYERS)[0]
    np.savez(folder / "want.npz", logits=logits[0, :CHUNK].numpy(), n_inputs=len(inputs),
             scale=meta["get_logits_scale"].double_val,
             zero=meta["get_logits_zero_point"].int_val, methods=[m.name for m in graphs],
             delegates=[len(m.delegates) for m in graphs],
             operators=[len(m.operators) for m in graphs])


def main():
    folder = Path(sys.argv[1])
    torch.save(checkpoint(), folder / "checkpoint.pth")
    (folder / "params.json").write_text(json.dumps({
        "dim": DIM, "hidden_dim": HIDDEN, "n_heads": HEADS, "n_kv_heads": KV, "n_layers": LAYERS,
        "norm_eps": 1e-5, "rope_theta": 1e4, "use_scaled_rope": False, "vocab_size": VOCAB,
        "use_hf_rope": False}))
    text = "The quick brown fox jumps over the lazy dog, and the dog sleeps."
    (folder / "calib.json").write_text(json.dumps(
        [{"messages": [{"role": "user", "content": text}]}]))
    sys.meta_path.insert(0, Finder())
    sys.argv = ["llama.py", "--decoder_model", "smollm2_135m", "--checkpoint",
                str(folder / "checkpoint.pth"), "--params", str(folder / "params.json"),
                "--calib_samples", str(folder / "calib.json"), "--artifact", str(folder / "out"),
                "--build_folder", str(folder), "--prompt", "x", "--compile_only", "--max_seq_len",
                str(CONTEXT), "--prefill_ar_len", str(CHUNK), *sys.argv[2:]]
    runpy.run_module("executorch.examples.qualcomm.oss_scripts.llama.llama", run_name="__main__",
                     alter_sys=True)
    expect(folder)


if __name__ == "__main__":
    main()
