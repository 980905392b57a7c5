# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_llm: make_llm_corpus.py FOLDER (tests/fuzz/corpus/llm).

Tokenizers of each kind of stage with a small vocabulary, and the templates of tests/llm.
"""
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_writer import ARRAY, BOOL, F32, I32, STRING, U32, Gguf  # noqa: E402

PATTERN = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"


def bpe(words, merges, **more):
    return {"type": "BPE", "vocab": {w: i for i, w in enumerate(words)}, "merges": merges, **more}


def byte_level():
    """All 256 bytes."""
    seen = [c for c in range(256) if 33 <= c <= 126 or 161 <= c <= 172 or 174 <= c]
    return [chr(c) for c in seen] + [chr(256 + i) for i in range(256 - len(seen))]


def files():
    added = [{"id": 300, "content": "<s>", "special": True, "normalized": False},
             {"id": 301, "content": "<m>", "special": False, "normalized": True, "lstrip": True}]
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated",
             "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": False}
    words = byte_level() + ["ab", "abc", "Ġa"]
    yield "split", {
        "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": {"type": "TemplateProcessing", "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [300], "tokens": ["<s>"]}}},
        "decoder": {"type": "ByteLevel"}, "model": bpe(words, ["a b", ["ab", "c"], "Ġ a"])}
    fallback = ["<unk>", "<s>", *[f"<0x{b:02X}>" for b in range(256)], "▁", "a", "b", "ab", "▁a"]
    yield "pieces", {
        "added_tokens": [{"id": 1, "content": "<s>", "special": True, "rstrip": True}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": bpe(fallback, ["a b", "▁ a"], byte_fallback=True, fuse_unk=True,
                     unk_token="<unk>", ignore_merges=True)}
    yield "digits", {
        "added_tokens": [], "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]},
        "decoder": {"type": "Metaspace", "replacement": "▁"},
        "model": bpe(["<unk>", "▁", "a", "1"], [], unk_token="<unk>")}


def gguf(model, words, kinds, **keys):
    g = Gguf()
    g.key("tokenizer.ggml.model", STRING, model)
    g.key("tokenizer.ggml.tokens", ARRAY, (STRING, words))
    g.key("tokenizer.ggml.token_type", ARRAY, (I32, kinds))
    g.key("tokenizer.ggml.bos_token_id", U32, 1)
    for key, (kind, value) in keys.items():
        g.key(f"tokenizer.ggml.{key}", kind, value)
    return g.bytes()


def gguf_files():
    pieces = ["<unk>", "<s>", *[f"<0x{b:02X}>" for b in range(0x61, 0x80)], "▁", "a", "b", "ab",
              "▁a"]
    yield "pieces", gguf("llama", pieces, [2, 3] + [6] * 31 + [1] * 5,
                         scores=(ARRAY, (F32, [-float(i % 7) for i in range(len(pieces))])),
                         add_space_prefix=(BOOL, True))
    words = ["<s>", "<m>", *byte_level()[:100], "ab", "abc"]
    yield "merges", gguf("gpt2", words, [3, 4] + [1] * 102, pre=(STRING, "llama-bpe"),
                         merges=(ARRAY, (STRING, ["a b", "ab c"])))


if __name__ == "__main__":
    to = Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    for name, file in files():
        (to / f"{name}.json").write_text(json.dumps(file, ensure_ascii=False))
    for name, data in gguf_files():
        (to / f"{name}.gguf").write_bytes(data)
    for template in sorted((Path(__file__).parent.parent / "llm" / "templates").glob("*.jinja")):
        shutil.copy(template, to)
