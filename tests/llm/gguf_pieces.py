#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GGUF file with a SentencePiece tokenizer, and the tokens that llama.cpp makes of texts.

  gguf_pieces.py FOLDER   writes pieces.gguf, with the words of FOLDER/llama2.json and scores by the
                          order of its merges, and pieces.tsv (tests/llm/tokens)

Needs the packages `llama-cpp-python` (0.3.36 wrote tests/llm/tokens/pieces.tsv) and `tokenizers`.
"""
import json
import sys
from pathlib import Path

import llama_cpp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import ARRAY, F32, I32, STRING, U32, Gguf  # noqa: E402
from tokenizer_families import draw  # noqa: E402

UNKNOWN, CONTROL, USER_DEFINED, BYTE = 2, 3, 4, 6


def kind_of(word, added):
    special = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    return special.get(word, USER_DEFINED if word in added else BYTE if word[:3] == "<0x" else 1)


def write(folder):
    t = json.loads((folder / "llama2.json").read_text())
    vocab = t["model"]["vocab"]
    added = [a["content"] for a in t["added_tokens"] if a["content"] not in vocab]
    words = sorted(vocab, key=vocab.get) + added
    rank = {}
    for i, (a, b) in enumerate(t["model"]["merges"]):
        rank.setdefault(a + b, i)
    scores = [-float(rank.get(w, 10000 if kind_of(w, added) == 1 else 0)) for w in words]
    g = Gguf()
    for key, kind, value in [
            ("general.architecture", STRING, "llama"), ("llama.context_length", U32, 64),
            ("llama.embedding_length", U32, 32), ("llama.block_count", U32, 1),
            ("llama.feed_forward_length", U32, 32), ("llama.attention.head_count", U32, 1),
            ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
            ("tokenizer.ggml.model", STRING, "llama"),
            ("tokenizer.ggml.tokens", ARRAY, (STRING, words)),
            ("tokenizer.ggml.scores", ARRAY, (F32, scores)),
            ("tokenizer.ggml.token_type", ARRAY, (I32, [kind_of(w, added) for w in words])),
            ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2),
            ("tokenizer.ggml.unknown_token_id", U32, 0)]:
        g.key(key, kind, value)
    path = folder / "pieces.gguf"
    path.write_bytes(g.bytes())
    return path


def main():
    folder = Path(sys.argv[1])
    model = llama_cpp.Llama(str(write(folder)), vocab_only=True, verbose=False)
    rows = []
    for line in draw(100, "pieces"):
        ids, whole = (model.tokenize(line.encode(), add_bos=bos, special=True) for bos in (0, 1))
        rows.append("\t".join([line.encode().hex(), " ".join(map(str, ids)),
                               " ".join(map(str, whole)), "-"]))
    (folder / "pieces.tsv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
