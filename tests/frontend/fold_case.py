# SPDX-License-Identifier: MIT
"""Cases for the folder of the ONNX importer: one node with constant inputs and what it gives.

Expected values come from the ONNX reference evaluator (or numpy, or ONNX's own node tests). Floats
are evaluated in float64 and rounded once to the node's type: what the folder promises.
"""
import subprocess
import tempfile
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

F16, F32, F64, BF16 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64"), np.dtype(
    ml_dtypes.bfloat16)
I4, U4 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)
FLOATS = [F32, F16, F64, BF16]
SIGNED = [np.dtype(f"int{n}") for n in (64, 32, 16, 8)]
UNSIGNED = [np.dtype(f"uint{n}") for n in (64, 32, 16, 8)]
INTS = SIGNED + UNSIGNED
BOOL = np.dtype(bool)
ALL = FLOATS + INTS + [BOOL, I4, U4]
PASS, ERROR = "pass", "error"
LATEST = 23


def is_float(dtype):
    return dtype in FLOATS


class ShapeOnly:
    """An input that is not constant."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = np.dtype(dtype), tuple(shape)


class Case:
    """`expected`: list of arrays, PASS (left to the backend) or ERROR."""

    def __init__(self, name, op, inputs, expected=None, opset=LATEST, n_out=1, ulps=1, rtol=None,
                 domain="", **attrs):
        self.name, self.op, self.opset, self.domain = name, op, opset, domain
        self.inputs = [x if x is None or isinstance(x, ShapeOnly) else np.asarray(x)
                       for x in inputs]
        self.attrs, self.n_out, self.ulps, self.rtol = attrs, n_out, ulps, rtol
        self.expected = self.evaluate() if expected is None else expected

    def evaluate(self):
        """The reference evaluator's answer; float inputs in float64, rounded back at the end."""
        feeds, names, widened = {}, [], None
        for i, x in enumerate(self.inputs):
            if x is None:
                names.append("")
                continue
            names.append(f"x{i}")
            if is_float(x.dtype):
                widened = widened or x.dtype
            feeds[f"x{i}"] = x.astype(F64) if is_float(x.dtype) else x
        outs = [f"y{i}" for i in range(self.n_out)]
        node = helper.make_node(self.op, names, outs, **self.attrs)
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for n, x in feeds.items()],
            [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in outs])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [np.asarray(y) for y in ReferenceEvaluator(model).run(None, feeds)]
            return [y.astype(widened) if y.dtype == F64 and widened else y for y in results]

    def attr_protos(self):
        return [a if hasattr(a, "ref_attr_name") else helper.make_attribute(k, a)
                for k, a in self.attrs.items()]


def unpack(data, dtype, count):
    """Bytes of an ONNX tensor as numpy has them."""
    if dtype not in (I4, U4):
        return np.frombuffer(data, dtype=dtype, count=count)
    raw = np.frombuffer(data, dtype=np.uint8)
    nibbles = np.stack([raw & 15, raw >> 4], axis=-1).reshape(-1)
    if count % 2 and nibbles[-1]:
        raise ValueError("the unused nibble is not 0")
    nibbles = nibbles[:count].astype(np.int8)
    return np.where((nibbles > 7) & (dtype == I4), nibbles - 16, nibbles).astype(dtype)


def tensor_of(name, array):
    tensor = numpy_helper.from_array(array)
    tensor.name = name
    return tensor


def build(cases, opset):
    """One model with a node per case."""
    nodes, constants, inputs = [], [], []
    for k, case in enumerate(cases):
        names = []
        for i, x in enumerate(case.inputs):
            names.append("" if x is None else f"c{k}_x{i}")
            if isinstance(x, ShapeOnly):
                inputs.append(helper.make_tensor_value_info(
                    names[-1], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
            elif x is not None:
                constants.append(tensor_of(names[-1], x))
        node = helper.make_node(case.op, names, [f"c{k}_y{i}" for i in range(case.n_out)],
                                domain=case.domain)
        node.attribute.extend(case.attr_protos())
        nodes.append(node)
    graph = helper.make_graph(nodes, "cases", inputs, [], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                   helper.make_opsetid("com.microsoft", 1)])


def run(runner, cases, *options):
    """Status, message and outputs of each case, in order."""
    answers = {}
    for opset in sorted({case.opset for case in cases}):
        group = [case for case in cases if case.opset == opset]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.onnx"
            path.write_bytes(build(group, opset).SerializeToString())
            done = subprocess.run([*runner, str(path), *options], capture_output=True, text=True,
                                  errors="replace")
        if done.returncode != 0:
            raise RuntimeError(f"opset {opset}: exit {done.returncode}: {done.stderr[-2000:]}")
        current = None
        for line in done.stdout.splitlines():
            words = line.split(" ")
            if words[0] == "node":
                current = answers[group[int(words[1])]] = (words[2], " ".join(words[3:]), [])
            elif words[0] == "out":
                rank = int(words[3])
                shape = tuple(map(int, words[4:4 + rank]))
                dtype = np.dtype(helper.tensor_dtype_to_np_dtype(int(words[2])))
                count = int(np.prod(shape, dtype=np.int64))
                current[2].append(
                    unpack(bytes.fromhex(words[4 + rank]), dtype, count).reshape(shape))
    return [answers[case] for case in cases]


def float_error(got, want, case):
    """'' when every element is within the allowed number of steps of the type."""
    g, w = got.astype(F64), want.astype(F64)
    with np.errstate(all="ignore"):
        step = np.abs(np.spacing(want)).astype(F64) * case.ulps
        step = np.where(np.isfinite(step), step, 0)
        if want.dtype == F64:
            step = np.maximum(step, np.abs(w) * 1e-13)
        if case.rtol is not None:
            step = np.maximum(step, np.abs(w) * case.rtol)
        good = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= step)
    if good.all():
        return ""
    i = int(np.argmin(good.reshape(-1)))
    return f"element {i}: {g.reshape(-1)[i]!r}, expected {w.reshape(-1)[i]!r}"


def compare(case, answer):
    """'' when the answer is right, else what is wrong."""
    status, message, outputs = answer
    want = case.expected if isinstance(case.expected, str) else "ok"
    if status != want:
        return f"{status} {message}; expected {want}"
    if want != "ok":
        return ""
    if len(outputs) != len(case.expected):
        return f"{len(outputs)} outputs, expected {len(case.expected)}"
    for i, (got, expected) in enumerate(zip(outputs, case.expected)):
        expected = np.asarray(expected)
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return f"output {i}: {got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
        if is_float(got.dtype):
            wrong = float_error(got, expected, case)
            if wrong:
                return f"output {i}: {wrong}"
        elif not (got == expected).all():
            at = int(np.argmin((got == expected).reshape(-1)))
            return (f"output {i} element {at}: {got.reshape(-1)[at]}, "
                    f"expected {expected.reshape(-1)[at]}")
    return ""
