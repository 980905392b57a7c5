# SPDX-License-Identifier: MIT
"""The forms of a language model that scripts/bench_llm.py measures, and how they are made."""
import json
import subprocess
from pathlib import Path

import numpy as np

SIDE = Path(__file__).parent / "llama_side.py"
# weights of quern import, scheme of quern quantize, llama.cpp's type, backends
FORMS = {"fp16": ("fp16", None, "F16", ("cpu", "htp")), "w8": ("w8", None, "Q8_0", ("cpu", "htp")),
         "a16w8": ("fp32", "a16w8", "Q8_0", ("htp",)), "w4": ("w4", None, "Q4_0", ("cpu", "htp"))}
# folders: tokens of the prefill graph, positions of decode
PARTS = {"a": (128, 1024), "b": (512, 1024), "c": (64, 128)}
ROWS = (("decode", "a"), ("decode", "c"), ("prefill", "a"), ("prefill", "b"))  # what is measured


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr or done.stdout}")
    return done.stdout


def inputs(folder, t, past, config):
    r, head = np.random.default_rng(0), config["head_dim"]
    a = np.arange(past, past + t)[:, None] / config["rope_theta"] ** (np.arange(0, head, 2) / head)
    a = np.concatenate([a, a], -1)[None, None]
    mask = np.zeros((1, 1, 1, t, past + t))
    mask[..., past:] = np.triu(np.full((t, t), -1e4), 1)
    given = {"ids": r.integers(1000, 9000, (1, t)), "cos": np.cos(a), "sin": np.sin(a)}
    given["mask"] = mask
    if t > 1:
        given["last"] = np.array([t - 1])
    for name in [f"past_{c}_{i}" for i in range(config["num_hidden_layers"]) for c in "kv" if past]:
        given[name] = r.standard_normal((1, config["num_key_value_heads"], past, head))
    folder.mkdir(exist_ok=True)
    for name, x in given.items():
        whole = name in ("ids", "last")
        np.save(folder / f"{name}.npy", x.astype(np.int32 if whole else np.float32))


def make(o, form):
    """Folders, binaries and inputs of a form; what is there stays."""
    weights, scheme, kind, _ = FORMS[form]
    for part, (tokens, context) in PARTS.items():
        source, to = o.work / f"{weights}-{part}", o.work / f"{form}-{part}"
        if not (source / "decode.onnx").exists():
            call(o.bin, "import", o.file, "-o", source, "-w", weights, "-p", tokens, "-c", context)
        if scheme and not (to / "decode.onnx").exists():
            call(o.bin, "quantize", source / "prefill.onnx", source / "decode.onnx", "-o", to, "-s",
                 scheme, "--text", o.text, "--no-check")
        if not (o.work / f"{form}-{part}.bin").exists():
            call(o.bin, "compile", to / "prefill.onnx", to / "decode.onnx", "-o",
                 o.work / f"{form}-{part}.bin", "--soc", o.soc)
        for t, past in ((tokens, 0), (1, context - 1)):
            if not (o.work / f"in-{t}-{past}").exists():
                config = json.loads((source / "config.json").read_text())
                inputs(o.work / f"in-{t}-{past}", t, past, config)
    if o.peer and not (o.work / f"{kind}.gguf").exists():
        call(o.peer, SIDE, "make", o.file, kind, o.work / f"{kind}.gguf")
