# SPDX-License-Identifier: MIT
"""Op test cases: build them here, run them with run_cases.

Expected values come from an independent oracle (a float64 formula, or the ONNX reference
evaluator through onnx_oracle.py), never from the library. Relies on numpy alone.

How to write cases_<group>.py
-----------------------------
    import numpy as np
    import qcase as q

    def cases(f):                                   # f: CaseFile, f.rng: seeded generator
        for dtype in ("f32", "uq8"):
            x = q.Tensor("x", f.rng.normal(size=(2, 5)), dtype)   # uq8: encoding fitted to data
            f.add("Relu", [x], [q.Tensor("y", np.maximum(x.real, 0), dtype)])

    if __name__ == "__main__":
        q.run(cases)

That is all: CMake finds the file, makes the test op_<group>, writes the cases and runs them.

Tensors.  Tensor(name, array, dtype, enc, kind, dims, dynamic, tol). A float array is real values
(rounded or quantized to dtype for you); for fixed-point types an integer array is codes. Compute
expectations from x.real (float64, what the library really sees after rounding) or x.codes.
kind: 'input' (default), 'static' (constant), 'native' (between nodes), 'null' or q.NULL (absent
optional). A native tensor with sparse=(elements, indexed dimensions) is a sparse one. Outputs are
written as Tensor too; add() sets their kind. enc: see qtypes.py
(scale_offset, axis, bw, bw_axis, block, float_block, blockwise_expansion; fit and fit_axis
choose one); left out, fixed-point tensors get fit(array). The same Tensor object used twice is
the same tensor.

Parameters.  params={'axis': ('u32', 1), 'beta': ('f32', .5), 'keep': ('b8', True), 'mode':
('str', 'x'), 'stride': ('u32', [2, 2])}: a scalar value makes a scalar parameter, a list or
array a tensor parameter. A Tensor may be given as well (it becomes static).

Comparison (tol= of an output Tensor, or of add() for all outputs):
    fp32(rtol=1e-5, atol=0)  |got - want| <= rtol * max|want| + atol      (default for f32)
    fp16(), bf16()           same with the type's own rtol                (default)
    ulp(n)                   |got - want| <= n units in the last place of the output type
    ulp16(n, rtol=0)         the same in units of half precision, for f32 tensors that hold halves
    exact()                  same bytes: integers, bools, moved data      (default for those)
    quant(steps=1, ...)      the real value rounded half up; no code further off than steps;
                             a case may miss max(1, 0.01 %) codes, a whole file too
                             (default for fixed point)
    stats(low, high, mean=(a, b), std=(c, d))      properties only, for random ops
A float element whose wanted value is NaN must be NaN; nan_ok=True leaves it unchecked.

More.  add(..., error=q.error(code, stage)): a refusal is expected ('validate' by default;
'create', 'add', 'finalize', 'execute'). rounds=[({'x': a}, {'y': want}), ...]: several
executions of one graph; stateful=True when results depend on earlier rounds (otherwise each
round is executed twice and must repeat itself); q.EARLY instead of the wanted outputs: the graph
ends early, nothing is produced. Dynamic shapes: dims= is the shape at creation,
the array's own shape is the one at execution (inputs) or the one the library must write back
(outputs); dynamic=[0, 1, ..] marks the free dimensions. add(nodes=[Node(op, ins, outs, params),
..]) builds several nodes. onnx_oracle.evaluate(..) asks the ONNX reference evaluator.

File format (qcase 1)
---------------------
    qcase 1 INDEX_BYTES BLOB_BYTES SEED\n   then the index (text, one record a line), then the blob
    case NAME FLAGS                         FLAGS: '-' or 'once' (do not execute a round twice)
    tensor NAME KIND DTYPE DIMS DYNAMIC ENC DATA
    sparse ELEMENTS DIMS                    the tensor above is sparse
    node OP NAME PACKAGE INPUTS OUTPUTS     tensor numbers, comma separated, '-' for none
    scalar NAME DTYPE VALUE                 a parameter of the node above; so is:
    tparam NAME TENSOR
    fail STAGE CODE                         CODE 0: any error
    round                                   followed by its feed and want lines, and by
    early                                   when the graph ends early
    feed TENSOR DIMS DATA
    want TENSOR DIMS MODE DATA
    end
DATA is '-' or @OFFSET+SIZE in the blob. DIMS is AxBxC or '-' for rank 0. DTYPE is the hexadecimal
Qnn_DataType_t. Floats are written in hexadecimal. MODE and ENC: see Tol.token, Encoding.token.
Wanted data are float64 for float and ulp, float64 positions on the code line (before rounding)
for quant, and the bytes themselves for exact.
"""
import argparse
import re

import numpy as np

from qtypes import *  # noqa: F401,F403  (re-exported for the authors of cases)
from qtypes import (DTYPES, FLOAT_LIMIT, bf16_bits, bf16_value, code_range, dequantize,
                    dtype_class, fit, is_fixed, memory_bytes, pack, position, quantize)

VALIDATION_FAILURE = 3110  # what validateOpConfig answers to an op it cannot run
STAGES = ("create", "validate", "add", "finalize", "execute")


class Tol:
    """How one output is compared. Build it with the functions below."""

    def __init__(self, mode, *numbers, nan_ok=False):
        self.mode, self.numbers, self.nan_ok = mode, numbers, nan_ok

    def token(self, tensor):
        parts = [self.mode] + [float(n).hex() for n in self.numbers]
        if self.mode in ("float", "ulp", "ulp16"):
            parts.append(str(int(self.nan_ok)))
        if self.mode == "quant":
            parts += [str(n) for n in code_range(tensor.dtype, tensor.enc)]
        return ":".join(parts)


def exact():
    return Tol("exact")


def fp32(rtol=1e-5, atol=0.0, per_element=False, nan_ok=False):
    """per_element compares with rtol * |want| of that element instead of the tensor's maximum."""
    return Tol("float", rtol, atol, per_element, nan_ok=nan_ok)


def fp16(rtol=1e-3, atol=0.0, per_element=False, nan_ok=False):
    return Tol("float", rtol, atol, per_element, nan_ok=nan_ok)


def bf16(rtol=8e-3, atol=0.0, per_element=False, nan_ok=False):
    return Tol("float", rtol, atol, per_element, nan_ok=nan_ok)


def ulp(n=1, nan_ok=False):
    return Tol("ulp", n, nan_ok=nan_ok)


def ulp16(n=1, rtol=0.0, nan_ok=False):
    """|got - want| <= n units in the last place of half precision, whatever the output's type, plus
    rtol * max|want| for sums in which much cancels; and every result is a half."""
    return Tol("ulp16", n, rtol, nan_ok=nan_ok)


def quant(steps=1, ratio=0.9999, tie=1e-9):
    """tie: elements closer than tie * max(1, |position|) to a rounding boundary, but not on it, may
    go either way, because the float64 oracle itself cannot tell. ratio other than 0.9999 keeps the
    case out of the count for the whole file and needs a reason in the generator."""
    return Tol("quant", steps, ratio, tie)


def stats(low=-np.inf, high=np.inf, mean=(-np.inf, np.inf), std=(0.0, np.inf)):
    return Tol("stats", low, high, mean[0], mean[1], std[0], std[1])


def default_tol(dtype):
    if is_fixed(dtype):
        return quant()
    if dtype_class(dtype) == "float":
        return {"f16": fp16(), "bf16": bf16(), "f64": fp32(1e-12)}.get(dtype, fp32())
    return exact()


class Tensor:
    def __init__(self, name, array=None, dtype="f32", enc=None, kind="input", dims=None,
                 dynamic=None, tol=None, sparse=None):
        if array is not None:
            array = np.asarray(array)
        if enc is None and is_fixed(dtype) and array is not None:
            if array.dtype.kind in "iub":
                raise ValueError(f"tensor {name}: codes need an encoding")
            enc = fit(array, dtype)
        self.name, self.array, self.dtype, self.enc = name, array, dtype, enc
        self.kind, self.tol, self.dynamic, self.sparse = kind, tol, dynamic, sparse
        shape = () if array is None else array.shape
        self.dims = list(shape if dims is None else dims)
        if DTYPES[dtype][1] == 4 and enc is not None and enc.axis is not None and len(self.dims):
            rows = self.dims[enc.axis]
            if rows > 1 and int(np.prod(self.dims[enc.axis % len(self.dims) + 1:])) % 2 \
                    and enc.axis % len(self.dims) != len(self.dims) - 1:
                raise ValueError("packing of odd 4-bit channels is not settled; use even ones")

    def encode(self, array):
        """Elements of an array as the integers or floats that are stored."""
        array = np.asarray(array)
        if is_fixed(self.dtype):
            if array.dtype.kind in "iub":
                return array.astype(np.int64)
            return quantize(array, self.enc, self.dtype)
        if self.dtype == "bf16":
            return bf16_bits(array)
        store = DTYPES[self.dtype][3]
        if dtype_class(self.dtype) == "bool":
            return (array != 0).astype(store)
        with np.errstate(over="ignore"):
            stored = array.astype(store)
        if dtype_class(self.dtype) == "int" and not np.array_equal(stored, array):
            raise ValueError(f"tensor {self.name}: values do not fit {self.dtype}")
        return stored

    @property
    def codes(self):
        """The stored elements."""
        return self.encode(self.array)

    @property
    def real(self):
        """The values the library sees: float64 for float and fixed point, int64 for integers."""
        return self.real_of(self.array)

    def real_of(self, array):
        stored = self.encode(array)
        if is_fixed(self.dtype):
            return dequantize(stored, self.enc, self.dtype)
        if self.dtype == "bf16":
            return bf16_value(stored).astype(np.float64)
        if self.dtype == "u64":
            return stored
        return stored.astype(np.float64 if dtype_class(self.dtype) == "float" else np.int64)

    def memory(self, array):
        return pack(self.encode(array), self.dtype)

    def wanted(self, array, tol):
        """Bytes of the expectation, as the mode asks for them."""
        array = np.asarray(array)
        if tol.mode == "exact":
            return self.memory(array)
        if tol.mode == "stats":
            return None
        if tol.mode == "quant":
            if array.dtype.kind in "iub":
                where = array.astype(np.float64)
            else:
                where = position(array, self.enc)
            if np.isnan(where).any():
                raise ValueError(f"tensor {self.name}: NaN has no code")
            return np.clip(where, -2.0 ** 40, 2.0 ** 40).astype("<f8").tobytes()
        want = array.astype(np.float64)
        limit = FLOAT_LIMIT.get(self.dtype, np.inf)
        want = np.where(np.abs(want) >= limit, np.copysign(np.inf, want), want)
        return want.astype("<f8").tobytes()


NULL = Tensor("null", kind="null")
EARLY = object()  # instead of the wanted outputs of a round


class Node:
    def __init__(self, op, inputs, outputs, params=None, package="qti.aisw", name=None):
        self.op, self.inputs, self.outputs = op, list(inputs), list(outputs)
        self.params, self.package, self.name = params or {}, package, name


class Expected:
    def __init__(self, code, stage):
        if stage not in STAGES:
            raise ValueError(f"stage is one of {STAGES}")
        self.code, self.stage = code, stage


def error(code=VALIDATION_FAILURE, stage="validate"):
    """An expected refusal: code None accepts any error. validateOpConfig and addNode (or finalize)
    must both refuse when the stage is 'validate'."""
    return Expected(0 if code is None else code, stage)


class Case:
    def __init__(self, op=None, inputs=(), outputs=(), params=None, tol=None, name=None, nodes=None,
                 rounds=None, stateful=False, error=None, package="qti.aisw"):  # noqa: A002
        self.nodes = nodes or [Node(op, inputs, outputs, params, package)]
        self.op = op or self.nodes[-1].op
        self.name = name or "_".join([self.op] + [t.dtype for t in self.nodes[-1].inputs[:1]])
        self.error, self.stateful, self.rounds = error, stateful, rounds
        self.tensors = []
        for node in self.nodes:
            node.params = {k: self._param(k, v) for k, v in node.params.items()}
            for t in node.outputs:
                if t.kind == "input":
                    t.kind = "output"
            for t in node.inputs + node.outputs:
                self._note(t)
            for value in node.params.values():
                if isinstance(value, Tensor):
                    self._note(value)
        self.outputs = [t for t in self.tensors if t.kind == "output"]
        self.tols = {}
        for i, t in enumerate(self.outputs):
            given = tol[i] if isinstance(tol, (list, tuple)) else tol
            self.tols[t] = t.tol or given or default_tol(t.dtype)
        if self.rounds is None:
            self.rounds = [({}, {})]

    @staticmethod
    def _param(name, value):
        if isinstance(value, Tensor):
            value.kind = "static"
            return value
        dtype, data = value
        if dtype == "str" or np.ndim(data) == 0:
            return value
        return Tensor("param_" + name, np.asarray(data), dtype, kind="static")

    def _note(self, tensor):
        if not any(tensor is t for t in self.tensors):
            self.tensors.append(tensor)


def _dims(dims):
    return "x".join(str(int(d)) for d in dims) or "-"


class CaseFile:
    """Collects cases and writes the file. add(case) or add(op, inputs, outputs, params, ...)."""

    def __init__(self, path, seed=1):
        self.path, self.seed = path, seed
        self.rng = np.random.default_rng(seed)
        self.lines, self.blob, self.size = [], [], 0
        self.seen = {}

    def put(self, data):
        """Stores bytes (16-byte aligned) and returns the reference."""
        if data is None:
            return "-"
        pad = -self.size % 16
        self.blob.append(b"\0" * pad + data)
        start = self.size + pad
        self.size = start + len(data)
        return f"@{start}+{len(data)}"

    def line(self, *words):
        words = [str(w) for w in words]
        for word in words:
            if not re.fullmatch(r"[!-~]+", word):
                raise ValueError(f"not a word: {word!r}")
        self.lines.append(" ".join(words))

    def add(self, case, *args, **more):
        if not isinstance(case, Case):
            case = Case(case, *args, **more)
        return self._add(case)

    def build(self, nodes, **more):
        """add() for a case of several nodes."""
        return self._add(Case(nodes=nodes, **more))

    def _add(self, case):
        times = self.seen[case.name] = self.seen.get(case.name, 0) + 1
        name = case.name if times == 1 else f"{case.name}#{times}"
        self.line("case", name, "once" if case.stateful else "-")
        number = {id(t): i for i, t in enumerate(case.tensors)}
        names = set()
        for i, t in enumerate(case.tensors):
            self._tensor(t, f"{t.name}_{i}" if t.name in names else t.name)
            names.add(t.name)
        for i, node in enumerate(case.nodes):
            numbers = [",".join(str(number[id(t)]) for t in group) or "-"
                       for group in (node.inputs, node.outputs)]
            self.line("node", node.op, node.name or f"{node.op}_{i}", node.package, *numbers)
            for key, value in node.params.items():
                if isinstance(value, Tensor):
                    self.line("tparam", key, number[id(value)])
                else:
                    self._scalar(key, *value)
        if case.error:
            self.line("fail", case.error.stage, case.error.code)
        if not case.error or case.error.stage == "execute":
            for inputs, outputs in case.rounds:
                self._round(case, number, dict(inputs), outputs)
        self.line("end")
        return case

    def _tensor(self, t, name):
        dynamic = "-" if t.dynamic is None else "".join(str(int(bool(d))) for d in t.dynamic)
        enc = "none" if t.enc is None else t.enc.token(self.put)
        data = t.memory(t.array) if t.kind == "static" else None
        if data is not None and len(data) != memory_bytes(t.dims, t.dtype):
            raise ValueError(f"tensor {t.name}: dims do not match the data")
        self.line("tensor", name, t.kind, f"{DTYPES[t.dtype][0]:x}", _dims(t.dims), dynamic, enc,
                  self.put(data))
        if t.sparse:
            self.line("sparse", *t.sparse)

    def _scalar(self, key, dtype, value):
        if dtype_class(dtype) == "float":
            value = float(np.float32(value)) if dtype == "f32" else float(value)
            value = value.hex()
        elif dtype != "str":
            value = int(value)
        self.line("scalar", key, f"{DTYPES[dtype][0]:x}", value)

    def _round(self, case, number, inputs, outputs):
        self.line("round")
        early = outputs is EARLY
        outputs = {} if early else dict(outputs)
        for t in case.tensors:
            if t.kind == "input":
                array = inputs.pop(t.name, t.array)
                if array is None:
                    raise ValueError(f"{case.name}: input {t.name} has no data")
                self.line("feed", number[id(t)], _dims(np.shape(array)), self.put(t.memory(array)))
        for t in case.outputs:
            tol = stats() if early else case.tols[t]
            array = outputs.pop(t.name, t.array)
            if tol.mode == "stats":
                array = np.zeros(t.dims)
            if array is None:
                if case.error:
                    array = np.zeros(t.dims)
                else:
                    raise ValueError(f"{case.name}: output {t.name} has no expectation")
            self.line("want", number[id(t)], _dims(np.shape(array)), tol.token(t),
                      self.put(t.wanted(array, tol)))
        if inputs or outputs:
            raise ValueError(f"{case.name}: no such tensor: {[*inputs, *outputs]}")
        if early:
            self.line("early")

    def write(self):
        index = "".join(line + "\n" for line in self.lines).encode("ascii")
        with open(self.path, "wb") as f:
            f.write(f"qcase 1 {len(index)} {self.size} {self.seed}\n".encode("ascii"))
            f.write(index)
            f.writelines(self.blob)
        return sum(self.seen.values())


def run(generator):
    """Command line of a case generator: -o FILE --seed N."""
    parser = argparse.ArgumentParser(description="Write op test cases")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    case_file = CaseFile(args.output, args.seed)
    generator(case_file)
    print(f"{args.output}: {case_file.write()} cases, seed {args.seed}")
