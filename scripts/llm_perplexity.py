#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perplexity of a language model's folder (quern import --logits all) on a text.

    llm_perplexity.py FOLDER TEXT [--tokens 4096] [--backend cpu|htp|onnxruntime] [--soc SM8750]
    llm_perplexity.py FOLDER TEXT --against OTHER        both, and their ratio

TEXT is any file; without one, the licences of /usr/share/common-licenses (Apache-2.0, GPL-3) are
read, which is text that everybody has and that no model is measured by elsewhere. The text is cut
into windows of as many tokens as FOLDER/prefill.onnx has; each window starts without a past, and
each of its tokens but the first is predicted from those before it. `onnxruntime` is ONNX Runtime's
own CPU provider without its fusions, which round activations of 4-bit matmuls to 8 bits.

Needs onnxruntime and numpy, the package `quern` (or its folder on PYTHONPATH and QUERN_LIB_DIR) for
the other backends, and `tokenizers`.
"""
import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

LICENCES = [Path("/usr/share/common-licenses") / n for n in ("Apache-2.0", "GPL-3")]


def tokens_of(folder, path):
    from tokenizers import Tokenizer
    files = [Path(path)] if path else LICENCES
    text = "".join(f.read_text(errors="replace") for f in files)
    return Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids


def open_session(model, backend, soc):
    import onnxruntime
    if backend != "onnxruntime":
        import quern
        return quern.session(model, backend=backend, **({"soc": soc} if soc else {}))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def constant_inputs(folder, t):
    """cos, sin and mask of a window."""
    c = json.loads((folder / "config.json").read_text())
    if c.get("rope_scaling"):
        sys.exit(f"{folder}: scaled rotary positions are not supported here")
    hd = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    angle = np.arange(t)[:, None] / c["rope_theta"] ** (np.arange(0, hd, 2) / hd)
    angle = np.concatenate([angle, angle], -1)[None, None]
    mask = np.where(np.tril(np.ones((t, t), bool)), 0, -1e4)[None, None, None]
    return {"cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32),
            "mask": mask.astype(np.float32)}


def loss_of(logits, ids):
    """Sum over the window; logits [T, vocab]."""
    y = np.asarray(logits[:-1], np.float64)
    top = y.max(-1, keepdims=True)
    log_p = y - top - np.log(np.exp(y - top).sum(-1, keepdims=True))
    return -float(log_p[np.arange(len(y)), ids[1:]].sum())


def perplexity(folder, args, ids):
    session = open_session(folder / "prefill.onnx", args.backend, args.soc)
    t = next(i.shape[1] for i in session.get_inputs() if i.name == "ids")
    if any(i.name == "last" for i in session.get_inputs()):
        sys.exit(f"{folder}: prefill.onnx gives the logits of one token, perplexity needs all: "
                 "quern import --logits all")
    fixed, loss, n = constant_inputs(folder, t), 0.0, 0
    for at in range(0, min(args.tokens, len(ids)) - t + 1, t):
        window = np.array([ids[at:at + t]], np.int32)
        logits = session.run(["logits"], {"ids": window, **fixed})[0][0]
        loss, n = loss + loss_of(logits, window[0]), n + t - 1
        if sys.stderr.isatty():
            print(f"\r{at + t} tokens, {math.exp(loss / n):.3f} ", end="", file=sys.stderr)
    if not n:
        sys.exit(f"the text has {len(ids)} tokens, less than one window of {t}")
    print(f"{folder}  {args.backend}{' ' + args.soc if args.soc else ''}  "
          f"perplexity {math.exp(loss / n):.3f} over {n} tokens in windows of {t}", flush=True)
    return math.exp(loss / n)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder", type=Path)
    p.add_argument("text", nargs="?")
    p.add_argument("--tokens", type=int, default=4096)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--soc")
    p.add_argument("--against", type=Path, help="a folder whose perplexity is the measure")
    args = p.parse_args()
    ids = tokens_of(args.folder, args.text)
    own = perplexity(args.folder, args, ids)
    if args.against:
        print(f"ratio {own / perplexity(args.against, args, ids):.4f}")


if __name__ == "__main__":
    main()
