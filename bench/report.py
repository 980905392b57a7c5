# SPDX-License-Identifier: MIT
"""The tables of the benchmarks, from the results as bench/run.py collects them."""
import textwrap

import wanted
from measure import geometric_mean, growth, ratio

HEAD = """# Performance

<!-- Written by the command below. -->

    {command}

{intro}
"""
INTRO = ("This page compares the speed and memory of the CPU and HTP backends with onnxruntime and "
         "OpenVINO. {machine}. Times are the fastest run of all rounds, in milliseconds; Quern and "
         "its peer alternate on the same machine in the same run. A ratio is Quern's time divided "
         "by the peer's: below 1, Quern is faster. The number in brackets is the ratio of the "
         "medians; where the two differ much, the machine was not quiet. During the run, other "
         "programs kept {load:.2f} CPUs busy. Missed targets are marked.")
CORES = ("[performance-cores.md](performance-cores.md) explains how steps are divided among "
         "threads, with measurements on 16 CPUs.")
BUSY = ("**Other programs kept {load:.1f} of {cpus} CPUs busy: these times show that the "
        "benchmarks work, not how fast anything is.** Threads that wait for each other suffer most "
        "from that, so rows with two threads mean nothing.")
QUIET = 0.15  # CPUs that others may keep busy


def head_of(results):
    """What the reader has to know first; above all, whether the machine was free."""
    parts = [INTRO.format(**results), CORES]
    if results["load"] > QUIET:
        parts.append(BUSY.format(**results))
    return "\n\n".join(map(wrapped, parts))


def wrapped(text):
    return textwrap.fill(text, 100, break_on_hyphens=False)


def number(value, digits=2):
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:.{digits}f}"


def table(heads, rows):
    """Markdown; an empty string when there are no rows."""
    rows = list(rows)
    if not rows:
        return ""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def ratios(row):
    """Ratio of the fastest runs and of the medians."""
    if "ours" not in row or "peer" not in row:
        return None, None
    return tuple(ratio(row["ours"][key], row["peer"][key]) for key in ("min_ms", "median_ms"))


def both(row):
    best, middle = ratios(row)
    return "-" if best is None else f"{best:.2f} ({middle:.2f})"


def time_of(row, side):
    return number(row[side]["min_ms"], 3) if side in row else "-"


def decibels_of(row, key):
    value = row.get(key)
    return 999.0 if value == "equal" or value is None else value


def computes(row):
    """OpenVINO computes the model that the file describes: its outputs are about as near to
    onnxruntime's as ours. Of 16-bit activations it does not keep 16 bits."""
    return (decibels_of(row, "openvino_sqnr_db")
            >= min(decibels_of(row, "sqnr_db"), wanted.ENOUGH_DB) - wanted.LESS_DB)


def model_table(rows):
    vendor = any("vendor" in r for r in rows)
    openvino = any("openvino" in r for r in rows)

    def beside(r):
        """OpenVINO's time and SQNR, and the ratio to the faster of both peers."""
        peers = [r[side]["min_ms"] for side in ("peer", *(["openvino"] if computes(r) else []))
                 if side in r]
        got = ratio(r.get("ours", {}).get("min_ms"), min(peers, default=None))
        goal = wanted.BETTER_PEER
        return [time_of(r, "openvino"), number(r.get("openvino_sqnr_db"), 1),
                judged(got, goal, got is not None and got > goal, number(got))]

    def cells(r):
        best, goal = ratios(r)[0], wanted.ratio_for(r["model"], r["form"], r["threads"])
        return [r["model"], r["form"], r["threads"], time_of(r, "ours"), time_of(r, "peer"),
                judged(best, goal, best is not None and goal is not None and best > goal, both(r)),
                number(goal), *(beside(r) if openvino else []),
                *([time_of(r, "vendor")] if vendor else []),
                number(r.get("sqnr_db"), 1)]
    return table(["model", "form", "threads", "Quern", "onnxruntime", "ratio", "target",
                  *(["OpenVINO", "its SQNR", "to the faster"] if openvino else []),
                  *(["vendor's library"] if vendor else []), "SQNR, dB"], map(cells, rows))


def half_table(rows):
    """Half precision against single precision, both ours."""
    by_key = {(r["model"], r["form"], r["threads"]): r for r in rows if "ours" in r}
    lines = []
    for (model, form, threads), single in by_key.items():
        half = by_key.get((model, "fp16", threads))
        if form == "fp32" and half:
            got = half["ours"]["min_ms"] / single["ours"]["min_ms"]
            lines.append([model, threads, time_of(single, "ours"), time_of(half, "ours"),
                          judged(got, wanted.HALF, got > wanted.HALF, number(got)),
                          number(wanted.HALF)])
    return table(["model", "threads", "fp32", "fp16", "ratio", "target"], lines)


def mean_table(rows):
    """Geometric means of the ratios, by form and threads."""
    groups = {}
    for r in rows:
        groups.setdefault((r["form"], r["threads"]), []).append(ratios(r)[0])
    return table(["form", "threads", "models", "mean ratio"],
                 [[form, threads, sum(v is not None for v in values),
                   number(geometric_mean(values))] for (form, threads), values in groups.items()])


def chart_list(charts):
    """The pictures of bench/chart.py."""
    return "\n".join(f"![{form}: runs per second by threads]({name})" for form, name
                     in (charts or {}).items()) + "\n" if charts else ""


def answer_table(rows):
    """Until the first outputs are there."""
    sides = [(side, name) for side, name in (("provider", "our provider"), ("public", "public one"))
             if any(side in r for r in rows)]

    def cells(r):
        def sum_of(side):
            return sum(r[side].values()) if side in r else None

        def by_peer(side):
            got = ratio(sum_of(side), sum_of("peer"))
            return judged(got, wanted.FIRST, got is not None and got > wanted.FIRST, number(got))
        rest = r["provider"]["session"] - sum_of("plugin") if "plugin" in r else None
        return [r["model"], r["form"], r["threads"],
                *(number(r["ours"][k], 1) for k in ("import", "finalize", "run")),
                number(sum_of("ours"), 1), number(sum_of("peer"), 1), by_peer("ours"),
                *(cell for side, _ in sides for cell in (number(sum_of(side), 1), by_peer(side))),
                number(rest, 1), number(ratio(rest, sum_of("peer")))]
    return table(["model", "form", "threads", "import", "finalize", "first run", "all",
                  "onnxruntime", "ratio", *(cell for _, name in sides for cell in (name, "ratio")),
                  "host alone", "ratio"],
                 map(cells, rows))


def scaling(rows):
    """{(model, form, side): time on one thread by time on two}"""
    got = {}
    by_key = {(r["model"], r["form"], r["threads"]): r for r in rows}
    for (model, form, threads), two in by_key.items():
        one = by_key.get((model, form, 1))
        for side in ("ours", "peer"):
            if threads == 2 and one and side in one and side in two:
                got[model, form, side] = one[side]["min_ms"] / two[side]["min_ms"]
    return got


def scaling_table(rows):
    got = scaling(rows)
    keys = dict.fromkeys((model, form) for model, form, _ in got)

    def cells(model, form):
        ours, goal = got.get((model, form, "ours")), wanted.TWO_THREADS.get(model)
        return [model, form, judged(ours, goal, bool(ours and goal) and ours < goal, number(ours)),
                number(goal), number(got.get((model, form, "peer")))]
    return table(["model", "form", "Quern", "target", "onnxruntime"],
                 [cells(*key) for key in keys])


def cost_table(rows):
    return table(["model", "form", "import", "finalize", "load of the binary", "onnxruntime's load",
                  "memory, MiB", "onnxruntime's memory"],
                 [[r["model"], r["form"], *(number(r.get(k), 0) for k in (
                     "import_ms", "finalize_ms", "binary_load_ms", "peer_load_ms", "memory_mb",
                     "peer_memory_mb"))] for r in rows])


def arena_table(rows):
    def cells(r):
        got = r["arena_bytes"] / r["bound_bytes"] if r["bound_bytes"] else None
        return [r["model"], r["form"], number(r["arena_bytes"] / 2 ** 20),
                number(r["bound_bytes"] / 2 ** 20),
                judged(got, wanted.ARENA, got is not None and got > wanted.ARENA, number(got, 3)),
                number(wanted.ARENA)]
    return table(["model", "form", "arena, MiB", "bound, MiB", "ratio", "target"],
                 [cells(r) for r in rows if r.get("arena_bytes")])


def layer_table(rows):
    return table(["layer (fp32)", "threads", "Quern", "onnxruntime", "ratio"],
                 [[r["model"], r["threads"], time_of(r, "ours"), time_of(r, "peer"), both(r)]
                  for r in rows])


def growth_table(rows):
    pixels = [r["size"] ** 2 for r in rows]
    powers = [[None, *growth(pixels, [r[side]["min_ms"] for r in rows])]
              for side in ("ours", "peer") if rows]
    return table(["side of the picture", "Quern", "power", "onnxruntime", "power", "ratio"],
                 [[r["size"], time_of(r, "ours"), number(ours), time_of(r, "peer"), number(peer),
                   both(r)] for r, ours, peer in zip(rows, *powers)] if rows else [])


def percent(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def judged(value, wanted, missed, text):
    """A number that was promised, marked where the promise is not kept."""
    if wanted is None or value is None:
        return text
    return f"**{text} (missed)**" if missed else text


def kernel_table(rows):
    return table(["op", "form", "kernel", "ms", "speed", "limit", "of limit", "target", "peer",
                  "its ms", "ratio"],
                 [[r["what"], r["form"], f"`{r['kernel']}`", number(r["ms"], 4),
                   f"{number(r['rate'], 1)} {r['unit']}", r["limit"],
                   judged(r["of_limit"], r.get("wanted"), r["of_limit"] < r.get("wanted", 0),
                          percent(r["of_limit"])),
                   percent(r.get("wanted")), r.get("peer", "-"), number(r.get("peer_ms"), 4),
                   number(ratio(r["ms"], r.get("peer_ms")))] for r in rows])


def peak_table(peaks):
    return table(["threads", "f32, GOPS", "int8, GOPS", "int16, GOPS", "L2, GB/s", "L3, GB/s",
                  "DRAM, GB/s"],
                 [[p["threads"], *(number(p[k], 0) for k in ("f32_gops", "i8_gops", "i16_gops",
                                                             "l2_gbs", "l3_gbs")),
                   number(p["dram_gbs"], 1)] for p in peaks])


SECTIONS = [
    ("Models", "fp32 runs on `libQnnCpu.so`; fp16 (the fp32 model) and quantized models run on "
     "`libQnnHtp.so`, which rounds as the target SoC does. onnxruntime and OpenVINO run the same "
     "file, so fp16 is compared with their fp32. The target for the ratio to the faster of the two "
     f"is at most {wanted.BETTER_PEER}; OpenVINO is ignored where its outputs show that it "
     "computes something else (16-bit activations in fewer bits). Weights of the quantized models "
     "are signed and symmetric, which onnxruntime runs about twice as fast as unsigned ones. SQNR "
     "compares the outputs with onnxruntime's on one random input.", "models", model_table),
    ("fp16 against fp32", "Quern's fp16, whose results are rounded as on the target SoC, against "
     "Quern's fp32.", "models", half_table),
    ("Means", "Geometric means of the ratios.", "models", mean_table),
    ("Scaling", "", "charts", chart_list),
    ("Two threads", "How many times faster two threads are than one.", "models", scaling_table),
    ("First answer", "Milliseconds from opening the file to the outputs of the first run, each "
     "in a new process, the fastest of three; for onnxruntime, creating a session and its "
     f"first run. our provider, public one: a session on Quern's library through Quern's execution "
     "provider and through the one in the onnxruntime-qnn package, which does most of the work "
     f"itself. The target is at most {wanted.FIRST} times onnxruntime's time. host alone: what "
     "of the session with Quern's provider onnxruntime takes itself, before any run, to read, "
     "check and optimize the model: no provider can be faster.", "answers",
     answer_table),
    ("Compiling and loading", "Milliseconds on one thread, and the peak memory of the process; for "
     "onnxruntime, the memory that it added to a Python process.", "costs", cost_table),
    ("Memory plan", "Memory of the intermediate tensors of one execution, compared with what is "
     "live at the step that needs most.", "costs", arena_table),
    ("Layers", "", "layers", layer_table),
    ("Growth", "A small network of separable convolutions over pictures of growing size, on one "
     "thread. From one row to the next, time grows as the number of pixels to the given power.",
     "growth", growth_table),
    ("Kernels", "Single ops on one thread, compiled as in a client's graph, compared with their "
     "limit: the arithmetic peak (for 16-bit activations, half the peak of bytes), the bytes "
     "that must be read and written at the speed of L2 or DRAM, or, for depthwise "
     "convolutions, the slower of L2 and three dot products of four bytes for 16 results. "
     "Requantization is included. A kernel that needs fewer multiply-adds than its op counts can "
     "beat the peak. oneDNN and OpenBLAS, if installed, alternate with Quern.",
     "kernels", kernel_table),
    ("The machine", "Measured, not from a data sheet. `quern bench MODEL --per-op` compares each "
     "node of a model with these peaks; `make bench` draws that as `build/bench/*.svg`.", "peaks",
     peak_table),
]


def markdown(results):
    out = HEAD.format(command=results["command"], intro=head_of(results))
    for title, words, key, make in SECTIONS:
        body = make(results.get(key, []))
        if body:
            intro = wrapped(words) + "\n\n" if words else ""
            out += f"\n## {title}\n\n{intro}{body}"
    notes = results.get("missing", [])
    if notes:
        out += "\n## Not measured\n\n" + "".join(f"- {note}\n" for note in notes)
    return out
