#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokenizers of the families that language models use; Hugging Face's tokenizers are their oracle.

  tokenizer_families.py --write DIR
      trains a tiny tokenizer for each family on texts drawn here and writes FAMILY.json with
      FAMILY.tsv: texts and the tokens that the package makes of them
  tokenizer_families.py --check PROGRAM [--texts N] [TOKENIZER.json ...]
      compares token_lines with the package on N drawn texts

Needs the package `tokenizers` (0.23.3 wrote tests/llm/tokens). The tests of the repository read
what --write wrote and need nothing.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + ENDINGS + "?|"
         r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + ENDINGS + "?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIALS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
WORDS = ("the of and to in is that it was for on are as with his they at be this from have or by "
         "one had not but what all were when we there can an your which their said if do will each "
         "about how up out them then she many some so these would other into has more her two like "
         "him see time could no make than first been its who now people my made over did down only "
         "way find use may water long little very after words called just where most know don't "
         "it's we'll they've I'm he'd you're THE And France Paris capital 1 2 12 345 2024 3.14 "
         "http://example.org/a?b=c x=y; {} [] ()").split()
SCRIPTS = [(0x20, 0x7e), (0xa0, 0x17f), (0x370, 0x3ff), (0x400, 0x4ff), (0x590, 0x5ff),
           (0x600, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x2000, 0x206f),
           (0x2150, 0x218f), (0x3040, 0x30ff), (0x4e00, 0x4fff), (0xac00, 0xad00),
           (0x1f300, 0x1f64f), (0x1d400, 0x1d4ff), (0x300, 0x36f), (0xff00, 0xffef),
           (0x10900, 0x1091f), (0xe0100, 0xe0110)]
SPACES = [" ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2028",
          " \t\t "]


def text(rng):
    """Words, runs of white space, characters of all scripts, special tokens."""
    parts = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.random()
        if kind < 0.5:
            parts.append(rng.choice(["", " "]) + rng.choice(WORDS))
        elif kind < 0.65:
            parts.append(rng.choice(SPACES))
        elif kind < 0.9:
            low, high = rng.choice(SCRIPTS)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 5))))
        elif kind < 0.96:
            parts.append(str(rng.randint(0, 10 ** rng.randint(1, 9))))
        else:
            parts.append(rng.choice(SPECIALS) + rng.choice(["", " ", "\n"]))
    return "".join(parts).replace("\0", "")


def train(tokenizer, size, byte_level):
    rng = random.Random(1)
    texts = [" ".join(rng.choice(WORDS) for _ in range(30)) for _ in range(200)]
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIALS,
                                  initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def byte_level(split=None, normalizer=None, **options):
    t = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=options.pop("prefix", False),
                                     use_regex=split is None or options.pop("regex", False))
    t.pre_tokenizer = pre_tokenizers.Sequence(split + [level]) if split else level
    if normalizer:
        t.normalizer = normalizer
    t.decoder = decoders.ByteLevel()
    t = train(t, 400, True)
    if options:
        raw = json.loads(t.to_str())
        raw["model"].update(options)
        t = Tokenizer.from_str(json.dumps(raw))
    return t


def sentence_piece(normalizer, pre):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t = train(t, 260, False)
    raw = json.loads(t.to_str())
    old = raw["model"]["vocab"]
    new = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for b in range(256):
        new[f"<0x{b:02X}>"] = len(new)
    for word in sorted(old, key=old.get):
        if word not in new and word not in SPECIALS:
            new[word] = len(new)
    raw["model"].update(vocab=new, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    raw["added_tokens"] = []
    t = Tokenizer.from_str(json.dumps(raw))
    t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.add_tokens([AddedToken("<|im_start|>", normalized=False, rstrip=True)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B",
                                                     special_tokens=[("<s>", 1)])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return t


def families():
    isolated = lambda pattern: pre_tokenizers.Split(Regex(pattern), "isolated")
    llama3 = byte_level([isolated(LLAMA3)], ignore_merges=True)
    llama3.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B", special_tokens=[("<s>", 0), ("</s>", 1)])
    marked = byte_level(prefix=True)
    marked.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True),
                               AddedToken("<im>", normalized=True)])
    spaces = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    metaspace = lambda **how: sentence_piece(None, pre_tokenizers.Metaspace(**how))
    return {
        "gpt2": byte_level(),
        "smollm": byte_level([pre_tokenizers.Digits(individual_digits=True)], regex=True),
        "llama3": llama3,
        "qwen2": byte_level([isolated(QWEN2)], normalizers.NFC()),
        "gpt4o": byte_level([isolated(GPT4O)]),
        "removed": byte_level([pre_tokenizers.Split(Regex(LLAMA3), "removed", invert=True)]),
        "prefixed": marked,
        "llama2": sentence_piece(normalizers.Sequence(spaces), None),
        "mistral": metaspace(prepend_scheme="first", split=False),
        "metaspace": metaspace(prepend_scheme="always", split=True),
    }


def expected(t, line):
    ids = t.encode(line, add_special_tokens=False).ids
    return ids, t.encode(line).ids, t.decode(ids)


def draw(n, seed):
    rng = random.Random(seed)
    fixed = ["Hello world", "What is the capital of France?", " ", "a", "\n", "1234567"]
    return fixed + [text(rng) for _ in range(n)]


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, t in families().items():
        raw = json.loads(t.to_str())
        short = json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(short + "\n")
        lines = []
        for line in draw(60, name):
            ids, whole, back = expected(t, line)
            lines.append("\t".join([line.encode().hex(), " ".join(map(str, ids)),
                                    " ".join(map(str, whole)), back.encode().hex()]))
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")


def run(program, file, texts, *flags):
    data = b"".join(line.encode() + b"\0" for line in texts)
    done = subprocess.run([program, str(file), *flags], input=data, capture_output=True)
    if done.returncode:
        sys.exit(f"{file}: {done.stderr.decode()}")
    return [line.split("\t") for line in done.stdout.decode().splitlines()]


def check(program, name, file, t, texts):
    bad = 0
    plain, around = run(program, file, texts), run(program, file, texts, "--whole")
    for line, got, got_whole in zip(texts, plain, around):
        ids, whole, back = expected(t, line)
        wanted = (" ".join(map(str, ids)), " ".join(map(str, whole)), back.encode().hex())
        found = (got[0], got_whole[0], got[1])
        if wanted != found:
            bad += 1
            if bad <= 3:
                print(f"{name}: {line!r}\n  want {wanted}\n  got  {found} {got[2:]}")
    print(f"{name}: {len(texts)} texts, {bad} differ")
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", type=Path)
    p.add_argument("--check")
    p.add_argument("--texts", type=int, default=2000)
    p.add_argument("files", nargs="*", type=Path)
    a = p.parse_args()
    if a.write:
        write(a.write)
    if not a.check:
        return 0
    texts, bad = draw(a.texts, 7), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, t in families().items():
            file = Path(folder) / f"{name}.json"
            t.save(str(file))
            bad += check(a.check, name, file, t, texts)
    for file in a.files:
        bad += check(a.check, file, file, Tokenizer.from_file(str(file)), texts)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
