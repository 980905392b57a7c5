#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits the rates of decoding in src/device/costs.def to published tokens per second.

    scripts/calibrate_tokens.py [tests/device/tokens.tsv] [--points]

Time of a token = weights / rate of the chip + KV cache / one rate for all chips. Layers have 4-bit
weights, the head 8 bits, and the whole context of an 8-bit cache is read. Prints the rates, the
error on the points, and that with each model left out.
"""
import argparse
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def read(path):
    lines = [x for x in Path(path).read_text().splitlines() if x and not x.startswith("#")]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines[1:]]


def sizes(p):
    """GB of weights and of the cache that one token reads."""
    n = {k: int(p[k]) for k in ("layers", "hidden", "queries", "keys", "ffn", "vocabulary",
                                "context")}
    layer = n["hidden"] * (2 * n["queries"] + 2 * n["keys"] + 3 * n["ffn"])
    weights = n["layers"] * layer / 2 + n["vocabulary"] * n["hidden"]
    return weights / 1e9, n["layers"] * 2 * n["keys"] * n["context"] / 1e9


def fit(points, chips):
    rows = np.zeros((len(points), len(chips) + 1))
    for row, p in zip(rows, points):
        row[chips.index(p["soc"])], row[-1] = sizes(p)
        row *= float(p["tokens_per_s"])  # relative errors count
    used = rows.any(axis=0)
    found = np.full(len(chips) + 1, np.nan)
    found[used] = np.linalg.lstsq(rows[:, used], np.ones(len(points)), rcond=None)[0]
    return found  # seconds a GB


def errors(points, chips, s):
    got = []
    for p in points:
        w, kv = sizes(p)
        got.append((w * s[chips.index(p["soc"])] + kv * s[-1]) * float(p["tokens_per_s"]) - 1)
    return np.array(got)


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("file", nargs="?", default=ROOT / "tests/device/tokens.tsv")
    a.add_argument("--points", action="store_true", help="print every point")
    args = a.parse_args()
    points = read(args.file)
    chips = sorted({p["soc"] for p in points})
    s = fit(points, chips)
    for chip, x in zip(chips, s):
        print(f"{chip}: {1 / x:.1f} GB/s of weights")
    print(f"KV cache: {1 / s[-1]:.1f} GB/s")
    e = errors(points, chips, s)
    if args.points:
        for p, x in zip(points, e):
            print(f"  {p['model']:30} {p['soc']:9} {float(p['tokens_per_s']):6.1f} tokens/s, time "
                  f"{100 * x:+.0f} %")
    left = []
    for model in sorted({p["model"] for p in points}):
        out = [p for p in points if p["model"] == model]
        rest = [p for p in points if p["model"] != model]
        x = errors(out, chips, fit(rest, chips))
        left.extend(x[np.isfinite(x)])
    for name, x in (("fitted", np.abs(e)), ("models left out", np.abs(left))):
        print(f"error, {name}: median {100 * np.median(x):.1f} %, 90th percentile "
              f"{100 * np.quantile(x, 0.9):.1f} %, {len(x)} points")


if __name__ == "__main__":
    main()
