#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tokens and rendered chats with what other packages made of the same files.

  check_llm_texts.py tokens TOKEN_LINES FOLDER      NAME.json with NAME.tsv: tokenizer_families.py,
                                                    NAME.gguf with NAME.tsv: gguf_pieces.py
  check_llm_texts.py templates RENDER_CHAT FOLDER   NAME.jinja with NAME.json: template_families.py
"""
import json
import subprocess
import sys
from pathlib import Path


def words_of(program):
    """Program and emulator, as CMake separates them."""
    return [word for word in program.split(";") if word]


def run_tokens(program, file, texts, *flags):
    done = subprocess.run([*words_of(program), str(file), *flags], capture_output=True,
                          input=b"".join(t + b"\0" for t in texts))
    if done.returncode:
        sys.exit(f"{file}: {done.stderr.decode()}")
    return [line.split("\t") for line in done.stdout.decode().splitlines()]


def check_tokens(program, folder):
    bad = n = 0
    for file in sorted(folder.glob("*.tsv")):
        rows = [line.split("\t") for line in file.read_text().splitlines()]
        texts = [bytes.fromhex(row[0]) for row in rows]
        tokenizer = file.with_suffix(".json")
        tokenizer = tokenizer if tokenizer.exists() else file.with_suffix(".gguf")
        plain = run_tokens(program, tokenizer, texts)
        whole = run_tokens(program, tokenizer, texts, "--whole")
        for row, text, a, b in zip(rows, texts, plain, whole, strict=True):
            n += 1
            if row[1:] != [a[0], b[0], a[1] if row[3] != "-" else "-"]:
                bad += 1
                print(f"{file.stem}: {text!r}\n  want {row[1:]}\n  got  {[a[0], b[0], a[1]]}",
                      *a[2:])
    print(f"{n} texts, {bad} differ")
    return 1 if bad or not n else 0


def check_templates(program, folder):
    bad = n = 0
    for file in sorted(folder.glob("*.jinja")):
        for case in json.loads(file.with_suffix(".json").read_text()):
            words = [w for message in case["messages"] for w in message]
            words += ["answer"] * case["answer"]
            done = subprocess.run([*words_of(program), str(file), "<s>", "</s>"],
                                  input=b"".join(w.encode() + b"\0" for w in words),
                                  capture_output=True)
            got = done.stdout.decode() if done.returncode == 0 else None
            n += 1
            if got != case["text"]:
                bad += 1
                print(f"{file.stem}: {case['messages']}\n  want {case['text']!r}\n  got  {got!r}",
                      done.stderr.decode())
    print(f"{n} chats, {bad} differ")
    return 1 if bad or not n else 0


if __name__ == "__main__":
    kind, program, folder = sys.argv[1:]
    sys.exit((check_tokens if kind == "tokens" else check_templates)(program, Path(folder)))
