#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speed and memory of a language model, beside llama.cpp, which takes turns with Quern.

  bench_llm.py FILE.gguf [--peer PYTHON] [--work DIR] [--forms fp16 w4] [--write docs/llm.md]

--peer is a Python that has llama_cpp (the package llama-cpp-python); without it there are no
ratios. --quiet CMD: a command before each measurement, such as one that stops other programs.
--write replaces the section "Speed" of a page. `make bench-llm MODEL=FILE.gguf` runs it.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from llm_models import FORMS, PARTS, ROWS, SIDE, call, make  # noqa: E402

WEIGHTS = {"dense_f16", "dense_f32", "dense8", "dense_planes", "weight_only"}  # kernel families
HEAD = """## Speed

<!-- Written by the command below; BENCH="--peer PYTHON" names a Python with llama_cpp. -->

    {command}

{file}, {machine}. Milliseconds, the fastest of {turns} rounds in which
Quern and llama.cpp ({version}) alternate on the same machine. A ratio is Quern's time
divided by llama.cpp's, of minima and (of medians). Both compute the logits of the last token of a
prefill. cpu: ONNX files on `libQnnCpu.so`; htp: a context binary, rounded as on the NPU of {soc}.

| what | form | backend | threads | Quern | llama.cpp | its ms | ratio |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
MEMORY = """
A token at {n} positions on one thread, htp: the bandwidth at which weights are read, relative to
the memory's; the share of everything except matmuls with weights; the binary of prefill and decode;
and the peak memory of `quern generate` divided by the size of the binary.

| form | bandwidth of weights | everything else | binary, MB | memory / binary |
| --- | --- | --- | --- | --- |
"""


def take_turns(job):
    """Both sides of a row by turns. A process of its own, for --quiet."""
    sides = [subprocess.Popen(words, stdin=-1, stdout=-1, text=True) for words in job["sides"]]
    sides[0].stdout.readline()  # it is ready
    got = [[] for _ in sides]
    for _ in range(job["turns"]):
        for side, ask, times in zip(sides, job["asks"], got):
            side.stdin.write(ask)
            side.stdin.flush()
            times.append(json.loads(side.stdout.readline()))
    for side in sides:
        side.communicate()
    print(json.dumps([[min(t["min_ms"] for t in g), statistics.median(t["median_ms"] for t in g)]
                      for g in got]))


def row(o, form, backend, threads, part, graph):
    tokens, past = (PARTS[part][0], 0) if graph == "prefill" else (1, PARTS[part][1] - 1)
    kind, runs, folder = FORMS[form][2], 1 if tokens > 1 else 25, o.work / f"{form}-{part}"
    model = [f"{folder}.bin", "-g", graph] if backend == "htp" else [f"{folder}/{graph}.onnx"]
    sides = [[o.bin, "bench", *model, "-i", o.work / f"in-{tokens}-{past}", "--cast", "-t",
              threads, "--serve"]]
    sides += [[o.peer, SIDE, "serve", o.work / f"{kind}.gguf", threads]] if o.peer else []
    job = {"sides": [[str(w) for w in s] for s in sides], "turns": o.turns,
           "asks": [f"run {runs}\n", f"{tokens} {past} {runs}\n"]}
    got = json.loads(call(*o.quiet, sys.executable, __file__, "--turns-of", json.dumps(job)))
    peer = "- | - | -"
    if o.peer:
        (ours, median), (its, its_median) = got
        peer = f"{kind} | {its:.2f} | {ours / its:.2f} ({median / its_median:.2f})"
    what = f"prefill of {tokens}" if graph == "prefill" else f"a token at {past + 1} positions"
    return f"| {what} | {form} | {backend} | {threads} | {got[0][0]:.2f} | {peer} |\n"


def memory_row(o, form):
    folder, binary = o.work / f"{form}-a", o.work / f"{form}-a.bin"
    got = json.loads(call(*o.quiet, o.bin, "bench", folder / "decode.onnx", "-b", "htp", "--soc",
                          o.soc, "-i", o.work / f"in-1-{PARTS['a'][1] - 1}", "--cast", "-t", 1,
                          "-n", 40, "--per-op", "--json"))["per_op"]
    split = {True: [0, 0], False: [0, 0]}  # microseconds and bytes, of weights and others
    for r in got["rows"]:
        of = split[any(s["family"] in WEIGHTS for s in r["steps"])]
        of[0], of[1] = of[0] + r["us"], of[1] + (r["bytes"] or 0)
    speed = split[True][1] / split[True][0] / 1e3 / got["peaks"]["dram_gbs"]
    beside = o.work / f"{FORMS[form][0]}-a"
    words = (o.bin, "generate", binary, "--tokenizer", beside / "tokenizer.json", "--config",
             beside / "config.json", "-p", "Tell a story.", "-n", 200, "-q", "-t", 1)
    child = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL)
    rss = os.wait4(child.pid, 0)[2].ru_maxrss * 1024
    size, other = binary.stat().st_size, split[False][0] / (split[False][0] + split[True][0])
    shares = f"{100 * speed:.0f} % | {100 * other:.0f} %"
    return f"| {form} | {shares} | {size / 1e6:.0f} | {rss / size:.2f} |\n"


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", type=Path)
    p.add_argument("--bin", default=ROOT / "build/bin/quern")
    p.add_argument("--work", type=Path, default=ROOT / "build/bench-llm")
    p.add_argument("--peer", help="a Python that has llama_cpp")
    p.add_argument("--quiet", type=shlex.split, default=[])
    p.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    p.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    p.add_argument("--turns", type=int, default=4)
    p.add_argument("--soc", default="SM8750")
    p.add_argument("--text", type=Path, default=ROOT / "CONTRIBUTING.md",
                   help="samples for quern quantize, more than 512 tokens")
    p.add_argument("--write", type=Path)
    o = p.parse_args()
    o.work.mkdir(parents=True, exist_ok=True)
    version = "absent"
    has = [o.peer, "-c", "import llama_cpp"]
    if o.peer and subprocess.run(has, capture_output=True).returncode:
        print(f"{o.peer} has no llama_cpp; not compared")
        o.peer = None
    if o.peer:
        version = call(o.peer, "-c", "import llama_cpp; print(llama_cpp.__version__)").strip()
        version = f"llama-cpp-python {version}"
    words = Path("/proc/cpuinfo").read_text()
    machine = re.search("model name.*: (.*)|$", words)[1] or "this machine"
    text = HEAD.format(command=f"make bench-llm MODEL={o.file.name}", file=o.file.name,
                       machine=f"{machine}, {os.cpu_count()} CPUs", turns=o.turns, version=version,
                       soc=o.soc)
    print(text, end="")
    for form in o.forms:
        make(o, form)
        cases = [(b, t, q, g) for g, q in ROWS for b in FORMS[form][3] for t in o.threads]
        for case in cases:
            text += (line := row(o, form, *case))
            print(line, end="", flush=True)
    text += MEMORY.format(n=PARTS["a"][1])
    for form in o.forms:
        text += (line := memory_row(o, form))
        print(line, end="", flush=True)
    if o.write:
        page = o.write.read_text()
        old = re.search(r"## Speed\n.*?(?=\n## |\Z)", page, re.S)
        o.write.write_text(page.replace(old[0], text) if old else page.rstrip("\n") + "\n\n" + text)


if __name__ == "__main__":
    take_turns(json.loads(sys.argv[2])) if sys.argv[1:2] == ["--turns-of"] else main()
