#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mixed precision on real networks: the fastest point of the front that is as good as float.

    bench/mixed.py TABLE [--soc SM8650] [--loss 0.002] [--json FILE]

TABLE has a line for each network, with tabs: name, model, calibration data, score command. The
command prints a number, more is better; {model} stands for a model, {flags} for those of quern run
that choose the backend. For each network: score of float on the CPU, of a8w8 and a16w8 on the
modelled HTP, and of the fastest point of `quern quantize --mixed` whose score is at most --loss
below float's, with its estimated time relative to a16w8's, and what the search took. $QUERN_BIN
and $QUERN_LIB_DIR name the program.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERN = os.environ.get("QUERN_BIN", "build/bin/quern")


def quern(*words):
    p = subprocess.run([QUERN, *map(str, words)], capture_output=True, text=True)
    if p.returncode:
        sys.exit(p.stderr.strip())
    return p.stdout


def score(command, model, flags):
    text = command.replace("{model}", shlex.quote(str(model))).replace("{flags}", flags)
    p = subprocess.run(text, shell=True, capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"{text}: {p.stderr.strip()}")
    return float(p.stdout.split()[-1])


def measure(name, model, data, command, soc, loss, folder):
    htp = f"--backend htp --soc {soc}"
    row = {"network": name, "float": score(command, model, "--backend cpu")}
    start = time.monotonic()
    quern("quantize", model, "-o", folder / "m.onnx", "-c", data, "--mixed", "--soc", soc,
          "--front", folder / "front.json", "--score-command", command.replace("{flags}", htp),
          "--quiet")
    row["seconds"] = time.monotonic() - start
    front = json.loads((folder / "front.json").read_text())
    whole = {front["schemes"][p["choice"][0]]: p for p in front["points"]
             if len(set(p["choice"])) == 1}
    for scheme in ("a8w8", "a16w8"):
        quern("quantize", model, "-o", folder / "q.onnx", "-s", scheme, "-c", data, "--soc", soc,
              "--quiet")
        row[scheme] = score(command, folder / "q.onnx", htp)
        row[f"{scheme}_ms"] = whole[scheme]["ms"]
    good = [p for p in front["points"] if p["score"] is not None and
            p["score"] >= row["float"] - loss]
    best = min(good, key=lambda p: p["ms"], default=None)
    row.update(mixed=best and best["score"], mixed_ms=best and best["ms"])
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("table", type=Path)
    ap.add_argument("--soc", default="SM8650")
    ap.add_argument("--loss", type=float, default=0.002, help="below float's score")
    ap.add_argument("--json", type=Path)
    o = ap.parse_args()
    rows = []
    print("| network | float | A8W8 | ms | A16W8 | ms | mixed | ms | of A16W8 | search |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for line in o.table.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            r = measure(*line.split("\t"), o.soc, o.loss, Path(folder))
        rows.append(r)
        found = ("none | | " if r["mixed"] is None else
                 f"{r['mixed']:.4f} | {r['mixed_ms']:.3f} | {r['mixed_ms'] / r['a16w8_ms']:.1%}")
        print(f"| {r['network']} | {r['float']:.4f} | {r['a8w8']:.4f} | {r['a8w8_ms']:.3f} | "
              f"{r['a16w8']:.4f} | {r['a16w8_ms']:.3f} | {found} | {r['seconds']:.0f} s |",
              flush=True)
    if o.json:
        o.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
