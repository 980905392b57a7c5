#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits the constants of src/device/costs.def to measured latencies (docs/estimate.md).

A table of latencies (columns model, precision, device, ms) and the steps of each model, as
`quern estimate MODEL --json --steps -p a8w8` prints them (MODEL.json in a folder, or all packed
into one table), are put through the formulas of the cost model, written here a second time.

  calibrate.py TABLE STEPS                how well the constants in the tree explain the table
  calibrate.py TABLE STEPS --fit          refit everything, print the constants
  calibrate.py TABLE STEPS --leave-out    predict each network by a fit on the others
  calibrate.py TABLE STEPS --device NAME --arch N --vtcm MB
                                          the four constants of one more chip, the rest kept
  calibrate.py --pack OUT STEPS           one table from a folder of JSON files
"""
import argparse
import csv
import json
import pathlib
import re
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
COSTS = ROOT / "src/device/costs.def"
PRECISIONS = {"w8a8": 0, "w8a16": 1, "w8a16_mixed_int16": 1, "fp16": 2, "float": 2,
              "a8w8": 0, "a16w8": 1}
CLASSES = ("depthwise", "light", "heavy", "move")
COLUMNS = ("model", "class", "passes", "fp16", "macs", "padded", "in", "out", "work", "weights",
           "results", "groups", "joins")


# --- what is known

def read_costs(path=COSTS):
    """Chips as dicts with their names, and the shared constants."""
    text = path.read_text()
    chips = []
    for m in re.finditer(r'^CHIP\((\d+), "([^"]*)", "([^"]*)", (.*)\)$', text, re.M):
        arch, vtcm, clk, r8, ffp, ddr = map(float, m[4].split(","))
        chips.append(dict(names=[m[2], *m[3].split("|")], arch=arch, vtcm=vtcm * 1048576, clk=clk,
                          r8=r8, ffp=ffp, ddr=ddr))
    shared = {m[1]: float(m[2]) for m in re.finditer(r"^SHARED\((\w+), ([\d.]+),", text, re.M)}
    return chips, shared


def read_steps(path):
    """{model: rows of numbers by class}, from a folder of JSON files or a packed table."""
    path = pathlib.Path(path)
    if path.is_file():
        with path.open() as f:
            rows = list(csv.DictReader((l for l in f if l[0] != "#"), delimiter="\t"))
        models = {}
        for r in rows:
            models.setdefault(r["model"], []).append(
                {k: r[k] if k == "class" else float(r[k]) for k in COLUMNS[1:]})
        return models
    models = {}
    for file in sorted(path.glob("*.json")):
        report = json.loads(file.read_text())
        if report["network"]["precision"] != "a8w8":
            sys.exit(f"{file}: steps of {report['network']['precision']}; expected -p a8w8")
        models[file.stem] = [dict(
            zip(COLUMNS[1:], (s["class"], s["passes"], s["passes_fp16"], s["macs"],
                              s["padded_macs"], s["in_bytes"], s["out_bytes"], s["work_bytes"],
                              s["weight_bytes"], s["padded_results"], s["groups"], s["joins"])))
            for s in report["steps"]]
    return models


def pack(models, path):
    with open(path, "w") as f:
        f.write("# Steps of networks, in elements; written by scripts/calibrate.py --pack\n")
        f.write("\t".join(COLUMNS) + "\n")
        for model, steps in models.items():
            for s in steps:
                f.write("\t".join([model] + [s[k] if k == "class" else f"{s[k]:.0f}"
                                             for k in COLUMNS[1:]]) + "\n")


def check_row(where, r, chips):
    """Ends the program, with words, at a row of a table of latencies that says nothing."""
    missing = [k for k in ("model", "precision", "device", "ms") if not r.get(k)]
    if missing:
        sys.exit(f"{where}: no {', '.join(missing)}")
    if r["precision"] not in PRECISIONS:
        sys.exit(f"{where}: precision '{r['precision']}'; expected {', '.join(PRECISIONS)}")
    if not re.fullmatch(r"\d*\.?\d+", r["ms"]) or float(r["ms"]) == 0:
        sys.exit(f"{where}: '{r['ms']}' ms; expected a number above 0")
    if r["device"].lower() not in chips:
        sys.exit(f"{where}: no constants for '{r['device']}'; use --device")


def read_table(path, chips):
    """Rows with a chip each; the other name of one measurement is marked as a copy."""
    by_name = {n.lower(): i for i, c in enumerate(chips) for n in c["names"]}
    rows, seen = [], {}
    with open(path) as f:
        table = csv.DictReader((l for l in f if l[0] != "#"), delimiter="\t")
        for r in table:
            check_row(f"{path}: row {table.line_num}", r, by_name)
            chip = by_name[r["device"].lower()]
            row = dict(model=r["model"], p=PRECISIONS[r["precision"]], chip=chip,
                       ms=float(r["ms"]), device=r["device"], precision=r["precision"])
            first = seen.setdefault((row["model"], r["precision"], chip), row)
            row["copy"] = first is not row and first["device"] != row["device"]
            rows.append(row)
    return rows


# --- the model, over all rows of a table at once

class Problem:
    """Features of the rows; names and places of the logarithms of the constants."""

    def __init__(self, rows, models, chips, shared):
        self.rows, self.chips = rows, chips
        self.names = [f"{k}{i}" for i in range(len(chips)) for k in ("clk", "r8", "ddr", "ffp")]
        self.names += [n for n in shared if n in PRIORS] + ["r8_per_clk", "ffp_common"]
        self.at = {n: i for i, n in enumerate(self.names)}
        self.chip = np.array([r["chip"] for r in rows])
        self.p = np.array([r["p"] for r in rows])
        self.ms = np.array([r["ms"] for r in rows])
        self.old = np.array([chips[r["chip"]]["arch"] < 73 for r in rows])
        per, share = {}, shared["vtcm_share"]
        for r in rows:
            key = r["model"], r["p"], chips[r["chip"]]["vtcm"]
            if key not in per:
                per[key] = features(models[r["model"]], r["p"], share * key[2])
        f = np.array([per[r["model"], r["p"], chips[r["chip"]]["vtcm"]] for r in rows])
        self.padded, self.results, self.groups, self.n_vector, self.traffic = f[:, :5].T
        self.bytes = f[:, 5:]

    def predict(self, x):
        """us of each row, and the derivatives by the logarithms of all constants."""
        at, n = self.at, len(self.rows)
        rows = np.arange(n)
        e = np.exp(x)
        clk, r8, ddr, ffp = (4 * self.chip + k for k in range(4))
        wide, half = self.p > 0, self.p == 2
        core, dcore = np.zeros(n), np.zeros((n, len(x)))

        def term(value, *factors):  # factors: (places, signs)
            nonlocal core
            core = core + value
            for where, sign in factors:
                np.add.at(dcore, (rows, where), sign * value)

        rate = e[r8] * np.where(half, e[ffp], np.where(wide, 0.5, 1)) * 1e6
        matrix = (r8, -1), (ffp, -1.0 * half)
        term(self.padded / rate, *matrix)
        term(self.results * e[at["tile"]] / rate, *matrix, (at["tile"], 1))
        slow = half & self.old
        for k, name in enumerate(CLASSES):
            value = self.bytes[:, k] * np.where(slow, e[at["old_fp16"]], 1)
            term(value / (e[at[name]] * e[clk] * 1e3), (at[name], -1), (clk, -1),
                 (at["old_fp16"], slow))
        term(self.groups * e[at["group"]] / e[clk], (at["group"], 1), (clk, -1))
        term(self.n_vector * e[at["step_vector"]] / e[clk], (at["step_vector"], 1), (clk, -1))
        dma = self.traffic / (e[ddr] * 1e3)
        both = (core ** 4 + dma ** 4) ** 0.25
        start = e[at["t0"]] * np.where(wide, 2, 1) / e[clk]
        d = ((core / both) ** 3)[:, None] * dcore
        np.add.at(d, (rows, ddr), -((dma / both) ** 3) * dma)
        np.add.at(d, (rows, clk), -start)
        d[:, at["t0"]] += start
        return start + both, d


def features(steps, p, room):
    """Padded MACs and results, groups, vector steps, bytes through DDR, bytes by class."""
    a = 1 if p == 0 else 2
    padded = results = groups = n_vector = traffic = 0
    by_class = np.zeros(len(CLASSES))
    for s in steps:
        passes = s["fp16" if p == 2 else "passes"]  # steps that take time
        traffic += s["weights"] * (2 if p == 2 else 1) + max(0, a * (s["in"] + s["out"]) - room)
        if s["class"] == "matrix":
            padded += s["padded"]
            results += s["results"]
            groups += s["groups"] if s["groups"] > 1 else 0
            continue
        n_vector += passes
        kind = "light" if s["class"] == "pool" else s["class"]
        twice = 2 if s["joins"] and p != 2 else 1  # integers come to one scale on the way
        by_class[CLASSES.index(kind)] += a * passes * s["work"] * twice
    return [padded, results, groups, n_vector, traffic, *by_class]


def current(problem, chips, shared):
    """The constants of the tree; a rate that nobody measured takes the common one."""
    x = np.zeros(len(problem.names))
    for i, c in enumerate(chips):
        x[4 * i:4 * i + 4] = np.log([c["clk"], c["r8"], c["ddr"], c["ffp"] or 0.25])
    for k in PRIORS.keys() & shared.keys():
        x[problem.at[k]] = np.log(shared[k])
    x[-2] = np.mean([np.log(c["r8"] / c["clk"]) for c in chips])
    x[-1] = np.mean([np.log(c["ffp"]) for c in chips if c["ffp"]])
    return x


# --- fitting

# What is believed before any measurement: value and log-sd. DDR rates are 0.6 of what such memory
# is sold as.
PRIORS = {"t0": (200, 1), "tile": (32, 1), "group": (0.5, 1), "step_vector": (3, 1),
          "depthwise": (300, 1), "light": (300, 1), "heavy": (300, 1), "move": (150, 1),
          "old_fp16": (1.5, 0.5), "r8_per_clk": (10, 1), "ffp_common": (0.25, 0.5)}
PEAK_DDR = {"SM8850": 85, "SM8750": 85, "SM8650": 77, "SA8620": 51, "SM8550": 67, "SC8380XP": 135,
            "QCS9100": 102, "SA8255": 102, "SM7750": 34, "Q-6690": 17, "SM8450": 51,
            "SA8295": 68, "QCM6490": 26}


def priors(problem):
    mean, sd = np.zeros(len(problem.names)), np.full(len(problem.names), 0.5)
    for i, c in enumerate(problem.chips):
        ddr = np.log(0.6 * PEAK_DDR.get(c["names"][0], 50))
        mean[4 * i:4 * i + 4] = 0, np.log(10), ddr, np.log(0.25)
        sd[4 * i:4 * i + 4] = 0.7, np.inf, 0.4, np.inf  # r8 and ffp: relative, see objective
    for name, (value, width) in PRIORS.items():
        mean[problem.at[name]], sd[problem.at[name]] = np.log(value), width
    return mean, sd


def objective(problem, use, mean, sd, free):
    """Robust relative error and the priors; its gradient by the free constants."""
    n = len(problem.chips)
    clk, r8, ffp = (4 * np.arange(n) + k for k in (0, 1, 3))

    def f(x):
        us, d = problem.predict(x)
        e = np.log(us / 1e3 / problem.ms)[use]
        root = np.sqrt(1 + (e / 0.08) ** 2)
        value = (root - 1).sum()
        g = ((e / (0.08 ** 2 * root))[:, None] * d[use] / us[use, None]).sum(0)
        z = (x - mean) / sd
        value += 0.5 * (z ** 2).sum()
        g = g + z / sd
        for chip, common, width, minus in ((r8, -2, 0.5, x[clk]), (ffp, -1, 0.3, 0)):
            z = (x[chip] - minus - x[common]) / width
            value += 0.5 * (z ** 2).sum()
            g[chip] += z / width
            g[common] -= z.sum() / width
            if chip is r8:
                g[clk] -= z / width
        return value, np.where(free, g, 0)
    return f


def minimize(f, x, n_iterations=600, memory=12):
    """L-BFGS with a backtracking line search."""
    value, g = f(x)
    pairs = []
    for _ in range(n_iterations):
        q, alphas = g.copy(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s @ q))
            q = q - alphas[-1] * y
        if pairs:
            s, y, _ = pairs[-1]
            q = q * (s @ y) / (y @ y)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas)):
            q = q + s * (alpha - rho * (y @ q))
        slope, t = -(g @ q), 1.0 if pairs else 1 / max(1, np.abs(g).sum())
        while True:
            with np.errstate(all="ignore"):  # a step too far may overflow; it is cut
                new, g_new = f(x - t * q)
            if new <= value + 1e-4 * t * slope or t < 1e-12:
                break
            t /= 2
        s, y = -t * q, g_new - g
        if s @ y > 1e-12:
            pairs = (pairs + [(s, y, 1 / (s @ y))])[-memory:]
        done = value - new < 1e-9 * max(1, abs(value))
        x, value, g = x - t * q, new, g_new
        if done:
            break
    return x


def fit(problem, use=None, start=None, free=None):
    """From the priors, unless a start is given."""
    mean, sd = priors(problem)
    use = np.array([not r["copy"] for r in problem.rows]) if use is None else use
    free = np.ones(len(mean), bool) if free is None else free
    return minimize(objective(problem, use, mean, sd, free), mean if start is None else start)


# --- reports

def ranks(v):
    order, r = np.argsort(v, kind="stable"), np.empty(len(v))
    r[order] = np.arange(len(v))
    return r


def figures(us, ms):
    """Median and 90th percentile of the relative error in %, Spearman's rank correlation."""
    e = np.abs(us / 1e3 / ms - 1) * 100
    return np.median(e), np.percentile(e, 90), np.corrcoef(ranks(us), ranks(ms))[0, 1]


def report(problem, us, title):
    print("%-28s median %5.2f %%  90th percentile %5.2f %%  Spearman %.4f"
          % (title, *figures(us, problem.ms)))


def report_parts(problem, us):
    for title, of in (("precision", lambda r: ("w8a8", "w8a16", "fp16")[r["p"]]),
                      ("chip", lambda r: problem.chips[r["chip"]]["names"][0]),
                      ("network", lambda r: r["model"])):
        keys = [of(r) for r in problem.rows]
        for key in dict.fromkeys(keys):
            these = np.array([k == key for k in keys])
            print("  %-9s %-20s %4d points  %5.1f / %5.1f %%"
                  % (title, key, these.sum(), *figures(us[these], problem.ms[these])[:2]))
    report_comparisons(problem, us)
    print("  worst:")
    ratio = us / 1e3 / problem.ms
    for i in np.argsort(-np.abs(np.log(ratio)))[:10]:
        r = problem.rows[i]
        print("    %-20s %-8s %-32s %5.2f times as long as measured"
              % (r["model"], r["precision"], r["device"], ratio[i]))


def report_comparisons(problem, us):
    """Errors of ratios: pairs of rows that differ in one thing; how often an order is right."""
    r, q = problem.rows, us / 1e3 / problem.ms
    same = lambda i, k, *keys: all(r[i][x] == r[k][x] for x in keys)
    pairs = [(i, k) for i in range(len(r)) for k in range(i)
             if not r[i]["copy"] and not r[k]["copy"]]
    for title, keys in (("chips", ("model", "precision")), ("precisions", ("model", "chip"))):
        e = [abs(q[i] / q[k] - 1) * 100 for i, k in pairs if same(i, k, *keys)]
        print("  two %-10s of one network: ratio off by %4.1f %% (90th percentile %.1f %%)"
              % (title, np.median(e), np.percentile(e, 90)))
    right = [(us[i] > us[k]) == (problem.ms[i] > problem.ms[k]) for i, k in pairs
             if same(i, k, "chip", "p") and r[i]["model"] != r[k]["model"]
             and max(problem.ms[i] / problem.ms[k], problem.ms[k] / problem.ms[i]) >= 1.25]
    print("  two networks of one chip and precision, 25 %% apart: %.1f %% in the right order"
          % (100 * np.mean(right)))


def print_constants(problem, x, only=None):
    e = np.exp(x)
    for i, c in enumerate(problem.chips):
        if only is not None and i != only:
            continue
        measured = any(r["chip"] == i and r["p"] == 2 for r in problem.rows)
        print('CHIP(0, "%s", "%s", %d, %d, %.2f, %.2f, %s, %.0f)'
              % (c["names"][0], "|".join(c["names"][1:]), c["arch"], c["vtcm"] / 1048576,
                 e[4 * i], e[4 * i + 1], "%.3f" % e[4 * i + 3] if measured else "0", e[4 * i + 2]))
    for name in problem.names[4 * len(problem.chips):-2] if only is None else ():
        print("SHARED(%s, %.3g)" % (name, e[problem.at[name]]))


def leave_out(problem):
    """Each network as constants fitted, from the priors, on all others have it."""
    us = np.zeros(len(problem.rows))
    own = np.array([r["model"] for r in problem.rows])
    copy = np.array([r["copy"] for r in problem.rows])
    for model in dict.fromkeys(own):
        x = fit(problem, (own != model) & ~copy)
        us[own == model] = problem.predict(x)[0][own == model]
    return us


def coverage(problem, us):
    """Of intervals that hold for a part of the left-out times of all networks but one: how wide
    they are, and of which part of that one's times they hold. Rows of part, width, held."""
    off = np.abs(problem.ms * 1e3 / us - 1)
    own = np.array([r["model"] for r in problem.rows])
    table = []
    for part in (0.5, 0.8, 0.9, 0.95):
        width = {m: np.quantile(off[own != m], part) for m in dict.fromkeys(own)}
        table.append((part, np.median(list(width.values())),
                      np.mean([off[i] <= width[m] for i, m in enumerate(own)])))
    return table


def report_coverage(problem, us):
    for part, width, held in coverage(problem, us):
        print("  interval for %2.0f %%: +-%4.1f %%, holds for %4.1f %% of networks left out"
              % (100 * part, 100 * width, 100 * held))
    off = np.abs(problem.ms * 1e3 / us - 1)
    print("  the printed +-25 %%: holds for %.1f %%" % (100 * np.mean(off <= 0.25)))


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("table", nargs="?", help="latencies, tab-separated")
    ap.add_argument("steps", help="a folder of JSON reports, or a packed table")
    ap.add_argument("--fit", action="store_true", help="refit all constants and print them")
    ap.add_argument("--leave-out", action="store_true", help="leave-one-network-out figures")
    ap.add_argument("--device", help="fit the four constants of this device of the table")
    ap.add_argument("--arch", type=int, default=73)
    ap.add_argument("--vtcm", type=int, default=8, help="MB")
    ap.add_argument("--parts", action="store_true", help="errors by precision, chip and network")
    ap.add_argument("--pack", metavar="OUT", help="write the steps as one table")
    o = ap.parse_args()
    models = read_steps(o.steps)
    if o.pack:
        pack(models, o.pack)
    if not o.table:
        return
    chips, shared = read_costs()
    if o.device:
        chips.append(dict(names=[o.device], arch=o.arch, vtcm=o.vtcm * 1048576, clk=1, r8=10,
                          ffp=0.25, ddr=40))
    rows = [r for r in read_table(o.table, chips)
            if not o.device or r["chip"] == len(chips) - 1]
    unknown = {r["model"] for r in rows} - set(models)
    if unknown or not rows:
        sys.exit(f"{o.table}: no steps of {', '.join(sorted(unknown))} in {o.steps}" if unknown
                 else f"{o.table}: no latencies" + (f" of '{o.device}'" if o.device else ""))
    problem = Problem(rows, models, chips, shared)
    x = current(problem, chips, shared)
    if o.device:
        free = np.zeros(len(x), bool)
        free[4 * len(chips) - 4:4 * len(chips)] = True
        x = fit(problem, start=x, free=free)
        print_constants(problem, x, len(chips) - 1)
    elif o.fit:
        x = fit(problem)
        print_constants(problem, x)
    us = problem.predict(x)[0]
    report(problem, us, "fitted" if o.fit or o.device else "constants of the tree")
    if o.leave_out:
        us = leave_out(problem)
        report(problem, us, "leave one network out")
        report_coverage(problem, us)
    if o.parts:
        report_parts(problem, us)


if __name__ == "__main__":
    main()
