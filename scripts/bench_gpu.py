#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libQnnGpu.so beside torch on the same device, in one run.

    scripts/bench_gpu.py [--build build/release] [--models NAMES] [--precisions NAMES]
                         [--peer cuda|cpu|none] [--turns 5] [--seconds 0.3] [--write PAGE]

torchvision's networks with random weights are exported to ONNX; Quern runs the files (`quern bench
--serve`, with inputs on the device and with copies), torch the modules: as CUDA graphs with TF32
off and on and in fp16, and eagerly. Sides take turns. A time counts only if the result of the same
program is close enough to the module in double precision. Where the OpenCL device is a CPU,
libQnnCpu.so is a side, too. Needs numpy, torch, torchvision, onnx and onnxscript; --write puts the
tables into the section of this device in PAGE.
"""
import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
from measure import alternate, ratio, turn_of  # noqa: E402

LEAST = {"fp32": 0.999999, "hybrid": 0.9999, "fp16": 0.999}  # cosine to the double result
BUDGET = {"resnet50": 58, "mobilenet_v2": 56, "vit_b_16": 90}
#       what is divided by what, for which precision: {model: (first bar, stretch)}
BARS = [("fp32", "graph, TF32 off", {"resnet50": (0.55, 0.37), "mobilenet_v2": (0.65, 0.40),
                                     "vit_b_16": (0.90, 0.50)}),
        ("fp32", "eager", {"resnet50": (0.30, 0.17), "mobilenet_v2": (0.10, 0.06),
                           "vit_b_16": (0.55, 0.30)}),
        ("hybrid", "graph, fp16", {"resnet50": (1.0, 0.6), "mobilenet_v2": (0.8, 0.5),
                                   "vit_b_16": (1.6, 1.0)}),
        ("fp32", "libQnnCpu", {"mobilenet_v2": (6, 3)})]


class Refused(Exception):
    pass


class Quern:
    """One model in one process of `quern bench --serve`."""

    def __init__(self, build, model, *flags):
        command = [str(build / "bin" / "quern"), "bench", str(model), "--serve", "--warmup", "2"]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*command, *flags], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise Refused((self.errors.read().strip().splitlines() or ["no word"])[-1])
        got = json.loads(line)
        if "error" in got:
            raise Refused(got["error"])
        return got

    def __call__(self, n):
        self.process.stdin.write(f"run {n}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(run, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - start))
    return turn_of(times)


class Torch:
    """A module on one input: eagerly or as a CUDA graph, with TF32 allowed or not."""

    def __init__(self, net, x, kind, graph, half=False, tf32=None):
        import torch
        self.torch, self.cuda, self.tf32 = torch, kind == "cuda", tf32
        dtype = torch.float16 if half else torch.float32
        self.net, self.x = net.to(kind, dtype), x.to(kind, dtype)
        self.flags()
        with torch.inference_mode():
            for _ in range(3):
                self.net(self.x)
            self.graph = self.capture() if graph else None

    def flags(self):
        b, on = self.torch.backends, self.tf32
        b.cuda.matmul.allow_tf32 = bool(on)  # None: torch's own defaults
        b.cudnn.allow_tf32 = on is None or on

    def capture(self):
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            for _ in range(3):
                self.net(self.x)
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            self.y = self.net(self.x)
        return graph

    def __call__(self, n):
        self.flags()
        wait = self.torch.cuda.synchronize if self.cuda else lambda: None

        def run():
            self.graph.replay() if self.graph else self.net(self.x)
            wait()
        with self.torch.inference_mode():
            return timed(run, n)


class Case:
    """A network: the module, its ONNX file, an input, and the result in double precision."""

    def __init__(self, name, folder):
        import torch
        import export_models
        self.name, self.path = name, folder / f"{name}.onnx"
        self.net, self.x = export_models.build(name)
        with torch.no_grad():
            for weight in self.net.parameters():
                if not weight.any():
                    weight.normal_(0, 0.02)
            for block in self.net.modules():
                if hasattr(block, "bn3"):  # random branches of full strength amplify rounding
                    block.bn3.weight.fill_(0.25)
            export_models.settle(self.net, self.x)
            self.net.eval()
            if not self.path.exists():
                torch.onnx.export(self.net, (self.x,), str(self.path), opset_version=18,
                                  external_data=False, input_names=["x"], output_names=["y"],
                                  dynamo=bool(importlib.util.find_spec("onnxscript")))
            self.input = folder / f"{name}.npy"
            np.save(self.input, self.x.numpy())
            self.want = self.copy().double()(self.x.double()).numpy()

    def copy(self):
        import copy
        return copy.deepcopy(self.net)

    def verify(self, build, precision, folder):
        """(cosine to the double result, launches)"""
        log = folder / "log.txt"
        log.unlink(missing_ok=True)
        p = subprocess.run([build / "bin" / "quern", "run", self.path, self.input, "-b", "gpu",
                            "--precision", precision, "-o", folder], capture_output=True,
                           text=True, env={**os.environ, "QUERN_VERBOSE": "dispatch",
                                           "QUERN_LOG": str(log)})
        if p.returncode != 0:
            raise Refused(p.stderr.strip().splitlines()[-1])
        a = np.load(folder / "output_0.npy").astype(np.float64).ravel()
        b = self.want.ravel()
        return (a @ b / np.sqrt((a @ a) * (b @ b)),
                len(re.findall(r"\blaunch \d+,", log.read_text())))

    def peers(self, kind):
        if kind == "none":
            return {}
        if kind == "cpu":
            return {"eager": Torch(self.copy(), self.x, "cpu", False)}
        return {"graph, TF32 off": Torch(self.copy(), self.x, "cuda", True, tf32=False),
                "graph, TF32 on": Torch(self.copy(), self.x, "cuda", True, tf32=True),
                "graph, fp16": Torch(self.copy(), self.x, "cuda", True, half=True),
                "eager": Torch(self.copy(), self.x, "cuda", False)}


# --- matrix products

#            rows, columns, depth of layers of the networks; then one that fills the device
GEMMS = [(12544, 64, 148), (3136, 64, 64), (3136, 64, 576), (3136, 256, 64), (784, 128, 1152),
         (784, 512, 128), (196, 256, 2304), (196, 1024, 256), (196, 256, 1024), (49, 512, 4608),
         (49, 2048, 512), (49, 512, 2048), (197, 768, 768), (197, 3072, 768), (197, 768, 3072),
         (4096, 4096, 4096)]
COPIES = 8  # products of a model, each with weights of its own: a launch costs what it costs in one
BLOCK = 32  # weights of 4 bits that share a scale


def product_model(path, shape, bits=None, copies=None):
    """An ONNX file with products of one input and constant matrices; returns input and matrices."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    (m, n, k), rng = shape, np.random.default_rng(1)
    copies = copies or (1 if m * n * k > 1e10 else COPIES)
    x = rng.normal(size=(m, k)).astype(np.float32)
    weights, nodes, constants = [], [], []
    for i in range(copies):
        if bits:
            q = rng.integers(0, 256, (n, k // BLOCK, BLOCK // 2), dtype=np.uint8)
            scale = rng.uniform(0.001, 0.02, n * k // BLOCK).astype(np.float32)
            constants += [numpy_helper.from_array(q, f"q{i}"),
                          numpy_helper.from_array(scale, f"s{i}")]
            nodes.append(helper.make_node("MatMulNBits", ["x", f"q{i}", f"s{i}"], [f"y{i}"],
                                          domain="com.microsoft", K=k, N=n, bits=bits,
                                          block_size=BLOCK))
            codes = np.stack([q & 15, q >> 4], axis=-1).reshape(n, k).astype(np.float64) - 8
            weights.append((codes * np.repeat(scale, BLOCK).reshape(n, k)).T)
        else:
            weights.append((rng.normal(size=(k, n)) / np.sqrt(k)).astype(np.float32))
            constants.append(numpy_helper.from_array(weights[-1], f"w{i}"))
            nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"]))
    graph = helper.make_graph(
        nodes, "products", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [m, k])],
        [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [m, n]) for i in range(copies)],
        constants)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]), path)
    return x, weights


def largest_error(args, path, x, weights, folder):
    """Of the first product, against doubles, relative to its largest element."""
    np.save(folder / "x.npy", x)
    subprocess.run([args.build / "bin" / "quern", "run", path, folder / "x.npy", "-b", "gpu",
                    "--precision", "fp32", "-o", folder], capture_output=True, check=True)
    want = x.astype(np.float64) @ weights[0].astype(np.float64)
    return float(np.abs(np.load(folder / "output_0.npy") - want).max() / np.abs(want).max())


def products(x, weights):
    import torch

    class Products(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.ParameterList([torch.from_numpy(w) for w in weights])

        def forward(self, x):
            return [x @ w for w in self.w]
    return Torch(Products(), torch.from_numpy(x), "cuda", True, tf32=False)


def measure_products(args, folder, shape, bits=None):
    """Microseconds of one product, on both sides, and the error."""
    path = folder / "products.onnx"
    x, weights = product_model(path, shape, bits)
    error = largest_error(args, path, x, weights, folder)
    sides = {"ours": Quern(args.build, path, "-b", "gpu", "--precision", "fp32", "--resident")}
    if args.peer == "cuda" and not bits:
        sides["torch"] = products(x, weights)
    times = alternate(sides, args.turns, min(args.seconds, 0.1))
    sides["ours"].close()
    return {**{name: 1e3 * t["min_ms"] / len(weights) for name, t in times.items()}, "error": error}


def product_tables(args, folder, limits):
    """GPU-BAR-06, 07 and 11 where the device is a GPU."""
    rows, ratios = [], []
    for shape in GEMMS:
        got = measure_products(args, folder, shape)
        rate = 2e-6 * np.prod(shape, dtype=float) / got["ours"]
        quotient_ = got["ours"] / got["torch"] if "torch" in got else None
        if quotient_ and shape != GEMMS[-1]:
            ratios.append(quotient_)
        rows.append(["x".join(map(str, shape)), f"{got['ours']:.1f}",
                     f"{got['torch']:.1f}" if "torch" in got else "-",
                     f"{quotient_:.2f}" if quotient_ else "-", f"{rate:.1f}",
                     f"{got['error']:.1e}"])
    lines = table(["fp32 GEMM", "µs", "torch µs", "ratio", "TFLOP/s", "error"], rows)
    if ratios:
        lines += ["", f"Geometric mean of the {len(ratios)} small GEMMs against torch: "
                  f"{np.exp(np.mean(np.log(ratios))):.2f} (bar 1.35, stretch 1.05). The large one "
                  f"reaches {100 * rate / limits['fma_tflop_s']:.0f} % of the rate of fp32 "
                  "multiply-adds (bar 60 %, stretch 78 %), because tensor cores compute it from "
                  "two tf32 numbers per operand."]
    n = k = 4096
    got = measure_products(args, folder, (1, n, k), bits=4)
    rate = (n * k / 2 + 4 * n * k / BLOCK) / got["ours"] * 1e-3
    size, limit = n * k / 2 + 4 * n * k / BLOCK, limits["copy_gb_s"]
    lines += ["", f"A row times 4-bit weights of {8 * n} x {k} (MatMulNBits, blocks of {BLOCK}) "
              f"takes {one_launch(args, folder, (1, 8 * n, k), limits)} (bar 60 %). With {n} x {k} "
              f"it takes {got['ours']:.1f} µs with its launch, {rate:.0f} GB/s, "
              f"{100 * rate / limit:.0f} % of a copy; error {got['error']:.1e}. Launch time limits "
              f"it: 60 % would be {size / 0.6 / limit * 1e-3:.1f} µs, and the launch alone takes "
              f"{limits['launch_us']:.1f} µs."]
    return lines


def one_launch(args, folder, shape, limits):
    """What one launch of a row times 4-bit weights reads a second; a call with few is taken off."""
    (_, n, k), times = shape, []
    for columns in (n, 16):
        path = folder / "products.onnx"
        product_model(path, (1, columns, k), 4, copies=1)
        side = Quern(args.build, path, "-b", "gpu", "--precision", "fp32", "--resident")
        times.append(1e3 * alternate({"ours": side}, args.turns, 0.1)["ours"]["min_ms"])
        side.close()
    rate = (n * k / 2 + 4 * n * k / BLOCK) / (times[0] - times[1]) * 1e-3
    return (f"{times[0]:.1f} µs from call to return, where a call with 16 columns takes "
            f"{times[1]:.1f} µs; the difference is {rate:.0f} GB/s, "
            f"{100 * rate / limits['copy_gb_s']:.0f} % of a copy")


def ours(args, case, precision):
    """The two sides of a precision; what cannot be had is a reason."""
    flags = ["-b", "gpu", "--precision", precision]
    sides, notes = {}, []
    cold = Quern(args.build, case.path, *flags)  # fills the cache of programs
    cold.close()
    whole = Quern(args.build, case.path, *flags)
    sides[f"{precision} end to end"] = whole
    try:
        sides[f"{precision} compute"] = Quern(args.build, case.path, *flags, "--resident")
    except Refused as why:
        notes.append(f"no figure with inputs on the device: {why}")
    return sides, notes, {"cold_ms": cold.ready["finalize_ms"],
                          "warm_ms": whole.ready["finalize_ms"]}


def measure(args, name, folder, limits):
    case, sides, rows, notes = Case(name, folder), {}, {}, []
    for precision in args.precisions:
        cosine, launches = case.verify(args.build, precision, folder)
        two, more, finalize = ours(args, case, precision)
        sides.update(two)
        notes += [f"{precision}: {n}" for n in more]
        rows[precision] = {"cosine": cosine, "launches": launches, **finalize,
                           "close": cosine >= LEAST[precision]}
    sides.update(case.peers(args.peer))
    if limits["cpu"]:
        sides["libQnnCpu"] = Quern(args.build, case.path, "-b", "cpu")
    times = alternate(sides, args.turns, args.seconds)
    for side in sides.values():
        if isinstance(side, Quern):
            side.close()
    return {"model": name, "precisions": rows, "times": times, "notes": notes}


# --- the page

def ms(times, name):
    t = times.get(name)
    return f"{t['min_ms']:.3f} / {t['median_ms']:.3f}" if t else "-"


def own_time(times, precision, which):
    return (times.get(f"{precision} compute") or times[f"{precision} end to end"])[which]


def quotient(row, precision, peer, which="min_ms"):
    times = row["times"]
    if peer not in times:
        return None
    return ratio(own_time(times, precision, which), times[peer][which])


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(map(str, r)) + " |" for r in rows]


def time_table(results):
    rows = []
    for row in results:
        for p, facts in row["precisions"].items():
            budget = BUDGET.get(row["model"])
            rows.append([row["model"], p, f"{facts['launches']}" + (f" of {budget}" if budget else
                                                                    ""),
                         f"{facts['cosine']:.7f}" + ("" if facts["close"] else " **void**"),
                         ms(row["times"], f"{p} compute"), ms(row["times"], f"{p} end to end"),
                         f"{facts['cold_ms']:.0f} / {facts['warm_ms']:.0f}"])
    return table(["model", "precision", "launches", "cosine", "compute ms", "end to end ms",
                  "finalize ms cold / warm"], rows)


def peer_table(results):
    names = dict.fromkeys(n for r in results for n in r["times"] if not n.split()[0] in LEAST)
    return table(["model", *(f"torch {n}" if n != "libQnnCpu" else n for n in names)],
                 [[r["model"], *(ms(r["times"], n) for n in names)] for r in results])


def bar_table(results, peer_kind):
    """Bars against torch are for a GPU: on the CPU its time is shown without one."""
    rows = []
    for precision, peer, bars in BARS:
        for row in results:
            if peer != "libQnnCpu" and peer_kind != "cuda":
                continue
            first, stretch = bars.get(row["model"], (None, None))
            facts = row["precisions"].get(precision)
            got = quotient(row, precision, peer) if facts and first else None
            if got is None:
                continue
            median = quotient(row, precision, peer, "median_ms")
            verdict = ("void: the result is not close enough" if not facts["close"] else
                       "stretch" if got <= stretch else "met" if got <= first else "missed")
            rows.append([row["model"], precision, peer, f"{got:.2f} ({median:.2f})", first, stretch,
                         verdict])
    return table(["model", "precision", "against", "ratio of minima (of medians)", "bar",
                  "stretch", ""], rows)


def copies_table(results):
    rows = []
    for row in results:
        t = row["times"]
        for p in row["precisions"]:
            if f"{p} compute" in t:
                extra = t[f"{p} end to end"]["min_ms"] - t[f"{p} compute"]["min_ms"]
                rows.append([row["model"], p, f"{1e3 * extra:.0f}"])
    return table(["model", "precision", "end to end - compute, µs (bar 60)"], rows) if rows else []


def peer_line(args):
    if args.peer == "none":
        return "no peer"
    import torch
    name = torch.cuda.get_device_name() if args.peer == "cuda" else "CPU"
    return f"torch {torch.__version__} on {name}"


def section(args, limits, results, more):
    about = [f"## {limits['device']}", "",
             f"{limits['platform']}, {limits['version']}, driver {limits['driver']}, "
             f"{limits['units']} compute units; {peer_line(args)}; {args.turns} rounds of "
             f"{args.seconds:g} s per side, in one run. Times are minimum / median. *Compute*: "
             "from the first launch to the end of the last; inputs and outputs stay on the device. "
             "*End to end*: from and to ordinary memory of the client.", ""]
    facts = [("launch, µs (of many / alone with finish)",
              f"{limits['launch_us']} / {limits['launch_finish_us']}"),
             ("602 KB to the device / 4 KiB back, µs",
              f"{limits['write_image_us']} / {limits['read_4k_us']}"),
             ("copy on the device, GB/s", limits["copy_gb_s"]),
             ("fp32 multiply-adds, TFLOP/s", limits["fma_tflop_s"]),
             ("first build of a program, ms", limits["build_ms"])]
    notes = [f"- {r['model']} {n}" for r in results for n in r["notes"]]
    parts = [table(["limit of the device", ""], facts), time_table(results), peer_table(results),
             bar_table(results, args.peer),
             copies_table(results) if not limits["cpu"] else [], notes, more]
    return "\n".join(about + [line for p in parts if p for line in [*p, ""]]).rstrip() + "\n"


HEAD = """# Speed of the GPU backend

This page compares the GPU backend with torch on the same device. `make bench-gpu`
(scripts/bench_gpu.py) writes it; both sides alternate in one run. The networks are torchvision's
with random weights and batch 1 (ResNet-50 with weaker residual branches, as after training: at full
strength random ones amplify every rounding error). By default torch allows TF32 in convolutions;
Quern's fp32 is strict, so it is compared with the graph with TF32 off. A ratio counts only if the
result of that run is close enough to the network in double precision (cosine at least 0.999999 for
fp32, 0.9999 for hybrid, 0.999 for fp16).
"""


def write_page(path, device, text):
    """Replaces the section of this device and keeps the others."""
    old = path.read_text() if path.exists() else HEAD
    head, *sections = re.split(r"^(?=## )", old, flags=re.M)
    kept = [s for s in sections if s.splitlines()[0] != f"## {device}"]
    path.write_text("".join([HEAD + "\n", *(s.rstrip() + "\n\n" for s in [text, *kept])]).rstrip()
                    + "\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = lambda text: text.split(",")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--models", type=names, default=list(BUDGET))
    parser.add_argument("--precisions", type=names, default=list(LEAST))
    parser.add_argument("--products", action="store_true", help="on a CPU device, too")
    parser.add_argument("--peer", choices=["cuda", "cpu", "none"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    parser.add_argument("--folder", type=Path, help="for the models; default: a temporary one")
    parser.add_argument("--write", type=Path, help="page whose section is renewed")
    parser.add_argument("--json", type=Path, help="file for the raw figures")
    args = parser.parse_args()
    if not args.peer:
        import torch
        args.peer = "cuda" if torch.cuda.is_available() else "cpu"
    return args


def store(args, limits, results, more=()):
    """After each model, so that a run that is cut short leaves what it has."""
    if args.json:
        args.json.write_text(json.dumps({"limits": limits, "results": results}, indent=1,
                                        default=float))
    text = section(args, limits, results, more)
    if args.write:
        write_page(args.write, limits["device"], text)
    return text


def main():
    args = parse()
    limits = json.loads(subprocess.run([args.build / "bin" / "gpu_limits"], check=True,
                                       stdout=subprocess.PIPE).stdout)
    results, text = [], ""
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in args.models:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            try:
                results.append(measure(args, name, folder, limits))
                text = store(args, limits, results)
            except Exception:  # of torch or of the exporter, too: the other models go on
                print(f"{name}: not measured\n{traceback.format_exc()}", file=sys.stderr)
        if not limits["cpu"] or args.products:
            print("measuring products", file=sys.stderr, flush=True)
            text = store(args, limits, results, product_tables(args, folder, limits))
    print(text)
    sys.exit(0 if len(results) == len(args.models) else 1)


if __name__ == "__main__":
    main()
