#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real language model through `quern generate`, on every way to run it.

  llm_check.py FILE.gguf [--bin build/bin/quern] [--work DIR] [--soc SM8750] [--tokens 64]
               [--text FILE]

Imports the file with its own bits and in fp16, quantizes it to A16W8 with samples of a text (the
GPL-3 of Debian without --text), compiles context binaries and asks for the capital of France on
each way; then compares the first tokens of a longer answer between ONNX and context binary. Prints
a table. With the package `tokenizers` it also compares the tokenizer on drawn texts. `make
test-llm` runs it.
"""
import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "What is the capital of France?"
LONGER = "Write a short story about a lighthouse keeper."


def quern(args, *words):
    done = subprocess.run([args.bin, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quern {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def generate(args, model, prompt, n, *flags):
    words = ["generate", *model, "-p", prompt, "-n", n, "--json", "-q", *flags]
    return json.loads(quern(args, *words))


def ask(args, name, model, flags):
    got = generate(args, model, QUESTION, 32, *flags)
    s = got["statistics"]
    good = "Paris" in got["text"]
    print(f"{name:24} {'ok ' if good else 'BAD'} {s['first_token_ms']:9.1f} ms to the first token "
          f"{s['decode_tokens_per_s']:7.1f} tokens/s  {got['text'].strip()[:60]!r}", flush=True)
    return good


def check_tokenizer(args, folder):
    if not importlib.util.find_spec("tokenizers"):
        print("tokenizer: the package `tokenizers` is not installed; not compared")
        return True
    program = Path(args.bin).resolve().parent.parent / "tests" / "token_lines"
    return subprocess.run([sys.executable, ROOT / "tests" / "llm" / "tokenizer_families.py",
                           "--check", program, folder / "tokenizer.json"]).returncode == 0


def check(args, work):
    folder = work / "model"
    quern(args, "import", args.file, "-o", folder)
    graphs = [folder / "prefill.onnx", folder / "decode.onnx"]
    quern(args, "compile", *graphs, "-o", work / "model.bin", "--soc", args.soc)
    beside = ["--tokenizer", folder / "tokenizer.json", "--config", folder / "config.json"]
    htp = ["--backend", "htp", "--soc", args.soc]
    ways = {"cpu": ([folder], []), f"htp {args.soc}": ([folder], htp),
            f"binary for {args.soc}": ([work / "model.bin"], beside),
            "fp16": ([float_folder(args, work, "fp16")], htp), "A16W8": ([a16w8(args, work)], htp)}
    good = [ask(args, name, model, flags) for name, (model, flags) in ways.items()]
    return all(good) & same_tokens(args, work, folder, beside) & \
        same_tokens(args, work, work / "a16w8", beside) & check_tokenizer(args, folder)


def float_folder(args, work, weights):
    quern(args, "import", args.file, "-o", work / weights, "--weights", weights)
    return work / weights


def a16w8(args, work):
    model = float_folder(args, work, "fp32")
    graphs = [model / "prefill.onnx", model / "decode.onnx"]
    quern(args, "quantize", *graphs, "-o", work / "a16w8", "-s", "a16w8", "--text", args.text,
          "--no-check", "-q")
    return work / "a16w8"


def same_tokens(args, work, folder, beside):
    graphs = [folder / "prefill.onnx", folder / "decode.onnx"]
    quern(args, "compile", *graphs, "-o", work / "same.bin", "--soc", args.soc)
    by_onnx = generate(args, [folder], LONGER, args.tokens, "--backend", "htp", "--soc", args.soc)
    by_binary = generate(args, [work / "same.bin"], LONGER, args.tokens, *beside)
    equal = by_onnx["tokens"] == by_binary["tokens"]
    print(f"{len(by_onnx['tokens'])} greedy tokens of {folder.name}, ONNX and binary: "
          f"{'equal' if equal else 'DIFFERENT'}", flush=True)
    return equal


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", type=Path)
    p.add_argument("--bin", default=str(ROOT / "build" / "bin" / "quern"))
    p.add_argument("--work", type=Path)
    p.add_argument("--soc", default="SM8750")
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--text", type=Path, default=Path("/usr/share/common-licenses/GPL-3"))
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as t:
        return 0 if check(args, args.work or Path(t)) else 1


if __name__ == "__main__":
    sys.exit(main())
