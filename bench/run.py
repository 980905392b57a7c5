#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench: Quern against public peers in one run, as ratios of times.

    bench/run.py [--quick] [--models A,B] [--forms fp32,a8w8] [--parts models,kernels] [--write]

Prints the tables, puts everything into build/bench/results.json and a roofline picture of each
model beside it; --write also writes docs/performance.md and the scaling charts beside it. What a
part needs and does not find (a model, a library) is listed, and the rest is measured.
"""
import argparse
import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort

import chart
import first
import report
import roofline
import zoo
from measure import Others, alternate, sqnr
from sides import OnnxRuntime, OpenVino, Ours, Provider, Refused, peer_memory_mb, run_ours

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["models", "answers", "costs", "layers", "growth", "kernels", "peaks", "rooflines"]
SIZES = [56, 112, 224, 448]
ANSWERED = ("fp32", "a8w8")  # forms whose first answer is measured


def arguments():
    def words(text):
        return text.split(",")
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--models", type=words, help="of " + ", ".join(zoo.NETS))
    p.add_argument("--forms", type=words, default=list(zoo.FORMS),
                   help="of " + ", ".join(zoo.FORMS))
    p.add_argument("--parts", type=words, default=PARTS, help="of " + ", ".join(PARTS))
    cpus = len(os.sched_getaffinity(0))
    p.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")],
                   default=[n for n in (1, 2, 4, 8, 16) if n <= max(2, cpus)])
    p.add_argument("--turns", type=int, help="of each side (default 7)")
    p.add_argument("--seconds", type=float, help="of a turn (default 0.4)")
    p.add_argument("--quick", action="store_true", help="one model, short turns")
    p.add_argument("--vendor", action="store_true",
                   help="also the vendor's x86 libraries, where onnxruntime-qnn is installed")
    p.add_argument("--write", action="store_true", help="write docs/performance.md")
    p.add_argument("--bin", type=Path, default=ROOT / "build" / "bin", help="the programs")
    p.add_argument("--lib", type=Path, default=ROOT / "build" / "lib", help="the libraries")
    p.add_argument("--model-dir", type=Path, default=ROOT / "build" / "bench-models")
    p.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    p.add_argument("--export-python", default=sys.executable, help="a Python that has torch")
    a = p.parse_args()
    a.models = a.models or (zoo.QUICK if a.quick else zoo.NETS)
    a.turns = a.turns or (5 if a.quick else 7)
    a.seconds = a.seconds or (0.1 if a.quick else 0.4)
    for given, known in ((a.models, zoo.NETS), (a.forms, zoo.FORMS), (a.parts, PARTS)):
        for word in set(given) - set(known):
            p.error(f"'{word}' is not one of {', '.join(known)}")
    return a


def against(a, model, backend, soc, threads, vendor=False):
    """{"ours": summary, "peer": summary} of a file; Refused when a side cannot run it. Where
    OpenVINO is installed and takes the model also {"openvino": summary}. vendor: on one thread also
    {"vendor": summary}, with the same conditions for its library."""
    sides = {"peer": OnnxRuntime(model, threads)}
    if OpenVino.installed():
        try:
            sides["openvino"] = OpenVino(model, threads, sides["peer"].feed)
        except Refused:
            pass  # a column that stays empty
    library = Provider.vendor_library(backend)
    if vendor and threads == 1 and library:
        try:
            sides["vendor"] = Provider(model, library, sides["peer"].feed)
        except Refused:
            pass  # a column that stays empty
    sides["ours"] = Ours(a.bin / "quern", model, backend, soc, threads)
    try:
        return alternate(sides, a.turns, a.seconds)
    finally:
        sides["ours"].close()


def decibels(want, got):
    match = sqnr(want, got)
    return match if math.isfinite(match) else "equal" if match > 0 else None


def agreement(a, model, backend, soc):
    """How near the outputs are to onnxruntime's: ours, and OpenVINO's where it runs the model."""
    peer = OnnxRuntime(model, 1)
    want = peer.outputs()
    got = {"sqnr_db": decibels(want, run_ours(a.bin / "quern", model, peer.feed, backend, soc))}
    if OpenVino.installed():
        try:
            got["openvino_sqnr_db"] = decibels(want, OpenVino(model, 1, peer.feed).outputs())
        except Refused:
            pass  # a column that stays empty
    return got


def each_file(a, results):
    """(name, form, file, backend, chip) of the files that are there."""
    for name in a.models:
        for form in a.forms:
            _, backend, soc = zoo.FORMS[form]
            file = zoo.file_of(a.model_dir, name, form)
            if file.exists():
                yield name, form, file, backend, soc


def note(results, text):
    text = text.replace(str(ROOT) + "/", "")
    if text not in results["missing"]:
        results["missing"].append(text)
        print("not measured:", text, flush=True)


def models(a, results):
    for name, form, file, backend, soc in each_file(a, results):
        try:
            match = agreement(a, file, backend, soc)
            for threads in a.threads:
                row = {"model": name, "form": form, "threads": threads, **match,
                       **against(a, file, backend, soc, threads, a.vendor)}
                results["models"].append(row)
                print(f"{name} {form}, {threads} threads: {report.both(row)}", flush=True)
        except Refused as error:
            note(results, f"{name} {form}: {error}")


def answers(a, results):
    for name, form, file, backend, soc in each_file(a, results):
        for threads in dict.fromkeys((1, a.threads[-1])) if form in ANSWERED else ():
            try:
                row = first.measure(a.bin / "quern", a.lib, file, backend, soc, threads)
            except Refused as error:
                note(results, f"{name} {form}: {error}")
                continue
            results["answers"].append({"model": name, "form": form, "threads": threads, **row})
            print(f"{name} {form}, {threads} threads:",
                  {side: round(first.total(parts), 1) for side, parts in row.items()}, flush=True)


def costs(a, results):
    for name, form, file, backend, soc in each_file(a, results):
        row = {"model": name, "form": form}
        try:
            ours = Ours(a.bin / "quern", file, backend, soc)
            row.update({k: ours.ready[k] for k in ("import_ms", "finalize_ms")})
            row["memory_mb"] = ours(3)["peak_rss_mb"]
            ours.close()
            row.update(plan_of(a, file, backend, soc))
            row["peer_load_ms"] = OnnxRuntime(file, 1).load_ms
            row["peer_memory_mb"] = peer_memory_mb(file, 1)
            if soc:
                row["binary_load_ms"] = binary_load_ms(a, file, soc)
            results["costs"].append(row)
        except Refused as error:
            note(results, f"{name} {form}: {error}")


def per_op(a, file, backend, soc, runs):
    """The report of quern bench --per-op on one thread."""
    command = [a.bin / "quern", "bench", file, "--backend", backend, "--per-op", "--json",
               "--runs", runs, *(["--soc", soc] if soc else [])]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                          env={**os.environ, "QUERN_THREADS": "1"})
    if done.returncode:
        raise Refused(done.stderr.splitlines()[0])
    return json.loads(done.stdout)["per_op"]


def plan_of(a, file, backend, soc):
    """Bytes of the arena, and of what is alive at a time."""
    return per_op(a, file, backend, soc, 1).get("memory") or {}


def binary_load_ms(a, file, soc):
    """Until a graph of a context binary can be executed: the best of three."""
    binary = a.out / "model.bin"
    done = subprocess.run([a.bin / "quern", "compile", file, "--soc", str(soc), "-o", binary],
                          capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.splitlines()[0])
    times = []
    for _ in range(3):
        ours = Ours(a.bin / "quern", binary, None)
        times.append(ours.ready["load_ms"])
        ours.close()
    binary.unlink()
    return min(times)


def layers(a, results):
    file = a.out / "layer.onnx"
    for name, builder in zoo.layers():
        builder.save(file)
        for threads in a.threads:
            results["layers"].append({"model": name, "threads": threads,
                                      **against(a, file, "cpu", None, threads)})
    file.unlink()


def growth(a, results):
    file = a.out / "growth.onnx"
    for size in SIZES[:2] if a.quick else SIZES:
        zoo.separable(size).save(file)
        results["growth"].append({"size": size, **against(a, file, "cpu", None, 1)})
    file.unlink()


def kernels(a, results):
    done = subprocess.run([a.bin / "bench_kernels", "--json"], capture_output=True, text=True)
    if done.returncode:
        note(results, f"kernels: bench_kernels: {done.stderr.strip() or done.returncode}")
        return
    got = json.loads(done.stdout)
    results["kernels"] = got["rows"]
    for text in got["missing"]:
        note(results, f"kernels: {text}")


def peaks(a, results):
    for threads in a.threads:
        done = subprocess.run([a.bin / "bench_peak", str(threads)], capture_output=True, text=True)
        if done.returncode:
            return note(results, "peaks: bench_peak failed")
        results["peaks"].append(json.loads(done.stdout))


def rooflines(a, results):
    for name, form, file, backend, soc in each_file(a, results):
        try:
            got = per_op(a, file, backend, soc, 3)
        except Refused as error:
            note(results, f"{name} {form}: {error}")
            continue
        (a.out / f"{name}_{form}.json").write_text(json.dumps(got, indent=1))
        picture = roofline.svg(f"{name} {form}", got)
        if picture:
            (a.out / f"{name}_{form}.svg").write_text(picture)


def draw_scaling(a, results):
    """A chart for each form: in the output folder, and with --write beside the page."""
    results["charts"] = {}
    for form in a.forms:
        picture = chart.svg(results["models"], form)
        if picture:
            name = results["charts"][form] = f"performance-{form}.svg"
            for folder in (a.out, *([ROOT / "docs"] if a.write else [])):
                (folder / name).write_text(picture)


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    return (f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, "
            f"onnxruntime {ort.__version__}" +
            (f", OpenVINO {OpenVino.version()}" if OpenVino.installed() else ""))


def command_of(argv):
    """The words that make this report again, without the paths of one machine."""
    hidden = {"--bin", "--lib", "--model-dir", "--out", "--export-python"}
    words, skip = [], False
    for word in argv:
        if not skip and word not in hidden and word.split("=")[0] not in hidden:
            words.append(word)
        skip = word in hidden
    if "--write" not in words:
        return " ".join(["bench/run.py", *words])
    rest = " ".join(word for word in words if word != "--write")
    return f'make bench BENCH="{rest}"' if rest else "make bench"


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    results = {"command": command_of(sys.argv[1:]), "machine": machine(), "missing": [],
               "cpus": len(os.sched_getaffinity(0)),
               **{part: [] for part in PARTS if part != "rooflines"}}
    if set(a.parts) & {"models", "answers", "costs", "rooflines"}:
        for text in zoo.make(a.model_dir, a.models, a.forms, a.export_python):
            note(results, text)
    others = Others()
    for part in PARTS:
        if part in a.parts:
            print(f"--- {part}", flush=True)
            globals()[part](a, results)
    results["load"] = others.busy()
    draw_scaling(a, results)
    text = report.markdown(results)
    print("\n" + text)
    (a.out / "results.json").write_text(json.dumps(results, indent=1, allow_nan=False))
    if a.write:
        (ROOT / "docs" / "performance.md").write_text(text)


if __name__ == "__main__":
    main()
