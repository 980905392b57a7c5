#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which ops, types and ranks a library of the HTP accepts: accepts.tsv, one library or two.

    accepts.py RUN_CASES LIBRARY            does the library answer as the table says?
    accepts.py RUN_CASES LIBRARY OTHER      where do two libraries differ?

RUN_CASES is build/<preset>/tests/run_cases. OTHER may be the original library, for who has it: it
is opened in a process of its own and asked through validateOpConfig alone; nothing is finalized.

Columns: op; types of the operands; rank of the first input; form (what the types do not say:
operation=NAME, or a word of FORMS); number of the SoC; answer; source. Shapes are small and good.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "op"))
import qcase as q  # noqa: E402

TABLE = HERE / "accepts.tsv"
FORMS = {"", "per-channel", "to-rank-0", "large", "constant", "reduction=NONE", "reduction=MAX"}
BINARY = {"ADD": 0, "AND": 1, "DIVIDE": 2, "FMOD": 5, "MAXIMUM": 10, "MINIMUM": 11, "MOD": 12,
          "MULTIPLY": 13, "SUBTRACT": 18}
NEURON = {"ELU": 0, "GELU": 1, "RELU": 4, "RELU_MIN_MAX": 5, "SIGMOID": 6}
UNARY = {"ABS": 0, "ASIN": 1, "EXP": 5, "LOG": 7, "NEG": 8, "RSQRT": 12, "SQRT": 15}
SAME_SHAPE = {"Relu", "Gelu", "Sigmoid", "Tanh", "ElementWiseAsin", "ElementWiseRsqrt",
              "ElementWiseSquareRoot", "Dequantize", "Quantize", "Convert", "Softmax",
              "ElementWiseNeuron", "ElementWiseUnary", "ReluMinMax"}
PAIRS = {"ElementWiseSubtract", "ElementWiseDivide", "ElementWiseMaximum", "ElementWiseMinimum",
         "ElementWiseBinary", "ElementWiseMod", "ElementWiseFmod"}
WEIGHTED = {"Conv2d", "TransposeConv2d", "DepthWiseConv2d", "FullyConnected", "MatMul"}
REDUCTIONS = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"}
WINDOW = {"stride": ("u32", [1, 1]), "pad_amount": ("u32", [[0, 0], [0, 0]])}


def encoding(dtype, op, i, form):
    """Encodings that are good everywhere: symmetric weights, a bias in units of the sums."""
    if not q.is_fixed(dtype):
        return None
    if dtype == "sq32":
        return q.scale_offset(0.5 / 65536)
    if i == 1 and op in WEIGHTED:
        middle = -(1 << q.DTYPES[dtype][1] - 1) if dtype[0] == "u" else 0
        return q.scale_offset(1 / 256, middle)
    if op == "Sigmoid" and i is None and dtype.endswith("16"):
        return q.scale_offset(1 / (65536 if dtype[0] == "u" else 32768))
    return q.scale_offset(1 / 128)


def shapes(op, rank, form):
    """Of the inputs and the output (several: a tuple), and the parameters."""
    x = [2, 3, 4, 5, 6][5 - rank:] if rank <= 5 else [1] * (rank - 5) + [2, 3, 4, 5, 6]
    if op in SAME_SHAPE:
        return [x], x, {}
    if op == "HadamardTransform":
        return [[*x[:-1], 8]], [*x[:-1], 8], {}
    if op == "Prelu":
        return [x, x[-1:]], x, {}
    if op in PAIRS:
        return [x, x], x, {}
    if op in REDUCTIONS:
        return [x], [*x[:-1], 1], {"axes": ("u32", [rank - 1]), "keep_dims": ("b8", 1)}
    if op == "MatMul":
        return [x, [*x[:-2], 6, 7]], [*x[:-1], 7], {}
    if op == "FullyConnected":
        return [[2, 6], [7, 6], [7]], [2, 7], {}
    if op in ("Conv2d", "TransposeConv2d"):
        y = [1, 4, 4, 8] if op == "Conv2d" else [1, 6, 6, 8]
        return [[1, 5, 5, 6], [2, 2, 6, 8], [8]], y, WINDOW
    if op == "DepthWiseConv2d":
        return [[1, 5, 5, 6], [2, 2, 1, 6], [6]], [1, 4, 4, 6], WINDOW
    if op in ("L2Pool2d", "PoolAvg2d"):
        return [[1, 4, 4, 6]], [1, 3, 3, 6], {"filter_size": ("u32", [2, 2]), **WINDOW}
    if op == "StridedSlice" and form == "to-rank-0":
        return [[4]], [], {"ranges": ("i32", [[1, 2, 1]]), "shrink_axes": ("u32", 1)}
    if op == "StridedSlice":
        return [x], [*x[:-1], 4], {"ranges": ("i32", [[0, d, 1] for d in x[:-1]] + [[1, 5, 1]])}
    if op == "Pad":
        return [x], [*x[:-1], 8], {"scheme": ("u32", 0),
                                   "pad_amount": ("u32", [[0, 0]] * (rank - 1) + [[1, 1]])}
    if op == "Transpose":
        return [x], x[::-1], {"perm": ("u32", list(range(rank))[::-1])}
    if op == "Tile":
        return [x], [*x[:-1], 12], {"multiples": ("u32", [1] * (rank - 1) + [2])}
    if op == "Gather":
        return [x, [2]], [2, *x[1:]], {"axis": ("i32", 0)}
    if op == "OneHot":
        return [x], [*x, 4], {"depth": ("u32", 4)}
    if op == "Split":
        return [x], ([*x[:-1], 2], [*x[:-1], 4]), {"axis": ("u32", rank - 1),
                                                   "split_index": ("u32", [2])}
    if op == "TopK":
        return [x], ([*x[:-1], 3],) * 2, {"k": ("u32", 3)}
    if op == "Squeeze":
        return [[1, *x[1:]]], x[1:], {}
    if op == "Pack":
        return [x, x], [2, *x], {"axis": ("u32", 0)}
    if op == "GatherNd":
        return [x, [3, rank]], [3], {}
    if op == "ScatterElements":
        return [x, x, x], x, {"axis": ("u32", 0)}
    if op == "ResizeNearestNeighbor":
        return [[1, 4, 4, 6]], [1, 8, 8, 6], {}
    raise ValueError(f"no shapes for {op}")


def parameters(op, form):
    name, _, value = form.partition("=")
    if name == "reduction":
        return {"reduction": ("u32", {"NONE": 0, "ADD": 1, "MUL": 2, "MAX": 3}[value])}
    limits = {"min_value": ("f32", 0.0), "max_value": ("f32", 6.0)}
    if op == "ReluMinMax":
        return limits
    if name != "operation":
        return {}
    table = {"ElementWiseBinary": BINARY, "ElementWiseNeuron": NEURON}.get(op, UNARY)
    return {"operation": ("u32", table[value]), **(limits if value == "RELU_MIN_MAX" else {})}


def tensor(row, name, shape, dtype, i):
    enc = encoding(dtype, row["op"], i, row["form"])
    weight = i == 1 and row["op"] in WEIGHTED
    if row["form"] == "per-channel" and (weight or row["op"] == "Dequantize" and i == 0):
        axis = 0 if row["op"] == "FullyConnected" else len(shape) - 1
        enc = q.axis(axis, np.linspace(0.5, 1, shape[axis]) / 128)
    values = np.zeros(shape, np.int64)
    if row["form"] == "large" and weight:
        values[...] = 0x7fff
    static = weight or i == 2 or row["op"].startswith("Gather") and i == 1 or \
        row["form"] == "constant" and i == 0
    return q.Tensor(name, values, dtype, enc, "static" if static else "input")


def add(f, number, row):
    words = [w.partition("=") for w in row["types"].split(",")]
    ins, out, params = shapes(row["op"], row["rank"], row["form"])
    types = {w[0]: w[2] for w in words}
    inputs = [tensor(row, f"x{i}", s, types[f"in[{i}]"], i) for i, s in enumerate(ins)
              if f"in[{i}]" in types]
    outputs = [tensor(row, f"y{i}", s, types[f"out[{i}]"], None)
               for i, s in enumerate(out if isinstance(out, tuple) else (out,))]
    for y in outputs:
        y.tol = q.stats()
    f.add(row["op"], inputs, outputs, {**params, **parameters(row["op"], row["form"])},
          name=f"row{number}")


def read_table(path=TABLE):
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        op, types, rank, form, soc, answer, source = line.split("\t")
        assert answer in ("accepts", "rejects") and source, line
        assert form in FORMS or form.startswith("operation="), line
        rows.append({"op": op, "types": types, "rank": int(rank), "form": form, "soc": soc,
                     "answer": answer, "source": source})
    return rows


def answers(runner, library, rows):
    """For each row: accepts, or rejects with the library's own words."""
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for soc in sorted({r["soc"] for r in rows}):
            f = q.CaseFile(f"{folder}/accepts.qc")
            for number, row in enumerate(rows):
                if row["soc"] == soc:
                    add(f, number, row)
            f.write()
            done = subprocess.run([runner, library, f.path, "--verbose", "--validate",
                                   "--allow-unsupported", "--soc", soc],
                                  capture_output=True, text=True)
            for line in done.stdout.splitlines():
                word, _, rest = line.partition(" ")
                if word in ("PASS", "SKIP", "FAIL") and rest.startswith("row"):
                    name = rest.split()[0].rstrip(":")
                    said[int(name[3:])] = ("accepts" if word == "PASS" else "rejects", rest)
            if done.returncode == 2:
                raise SystemExit(f"{library}: {done.stderr}")
    return said


def text(row):
    return f"{row['op']} {row['types']} rank {row['rank']} {row['form']}".rstrip()


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    rows, libraries = read_table(), sys.argv[2:]
    said = [answers(sys.argv[1], library, rows) for library in libraries]
    differences = 0
    for i, row in enumerate(rows):
        got = [s[i][0] for s in said]
        wrong = got[0] != row["answer"] if len(got) == 1 else got[0] != got[1]
        differences += wrong
        if wrong:
            others = f", the other library {got[1]}" if len(got) > 1 else ""
            print(f"{text(row)} (SoC {row['soc']}): {got[0]}{others}; listed: {row['answer']} "
                  f"({row['source']})\n    {said[0][i][1]}")
    print(f"{len(rows)} rows, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
