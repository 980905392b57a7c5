# SPDX-License-Identifier: MIT
"""Measures a QDQ model: layer by layer against the oracle, end to end against ONNX Runtime.

Relies on numpy, onnx, onnxruntime and the `quern` program. For models_on_htp.py and
scripts/compare_models.py.
"""
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import qdq_oracle


def cut(model, values):
    """Each layer on its own: every QuantizeLinear leads to a float output c0, c1, ..., and every
    DequantizeLinear of such a value reads a float input i0, i1, ..., quantized again. Gives the new
    model and, per output, name, scale and zero point of the codes."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    constants = {i.name: numpy_helper.to_array(i) for i in m.graph.initializer}
    codes = [n for n in m.graph.node if n.op_type == "QuantizeLinear"]
    number = {n.output[0]: i for i, n in enumerate(codes)}
    nodes, read = [], set()
    for n in m.graph.node:
        if n.op_type == "DequantizeLinear" and n.input[0] in number:
            i = number[n.input[0]]
            read.add(i)
            n.input[0] = f"q{i}"
        nodes.append(n)
        if n.op_type == "QuantizeLinear":
            nodes.append(helper.make_node("DequantizeLinear", [n.output[0], *n.input[1:]],
                                          [f"c{number[n.output[0]]}"]))
    used = {i for n in nodes for i in n.input}
    nodes = [n for n in nodes if n.output[0] in used or n.output[0][1:].isdigit()]
    nodes = [helper.make_node("QuantizeLinear", [f"i{i}", *codes[i].input[1:]], [f"q{i}"])
             for i in sorted(read)] + nodes
    m.graph.input.extend(helper.make_tensor_value_info(
        f"i{i}", TensorProto.FLOAT, values[codes[i].output[0]].shape) for i in sorted(read))
    del m.graph.node[:], m.graph.output[:], m.graph.value_info[:]
    m.graph.node.extend(nodes)
    m.graph.output.extend(helper.make_tensor_value_info(f"c{i}", TensorProto.FLOAT, None)
                          for i in range(len(codes)))
    encodings = [(n.output[0], constants[n.input[1]], constants[n.input[2]]) for n in codes]
    return onnx.shape_inference.infer_shapes(m), encodings, sorted(read)


class Quern:
    def __init__(self, program, backend="htp", soc="SM8550"):
        self.command = [str(program), "run", "-q", "-b", backend]
        self.command += ["--soc", soc] if backend == "htp" else []

    def run(self, model, feeds):
        """Outputs in the model's order."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            onnx.save(model, folder / "model.onnx")
            for name, value in feeds.items():
                np.save(folder / f"{name}.npy", value)
            subprocess.run([*self.command, folder / "model.onnx", "-i", folder, "-o",
                            folder / "out"], check=True)
            return [np.load(folder / "out" / f"output_{i}.npy")
                    for i in range(len(model.graph.output))]


def layers(quern, model, x):
    """Each layer fed with the oracle's codes: share of equal codes, the worst (steps, layer), and
    how many codes there are."""
    name = model.graph.input[0].name
    values = qdq_oracle.evaluate(model, {name: x})
    m, encodings, read = cut(model, values)
    feeds = {name: x}
    for i in read:
        code, scale, zero = encodings[i]
        feeds[f"i{i}"] = qdq_oracle.dequantize({}, values[code], scale, zero).astype(np.float32)
    equal = total = 0
    worst = (0, "")
    for (code, scale, zero), got in zip(encodings, quern.run(m, feeds)):
        steps = np.abs(np.rint(got / np.float64(scale)) + zero - values[code].astype(np.int64))
        equal += int((steps == 0).sum())
        total += steps.size
        worst = max(worst, (int(steps.max()), code))
    return equal / total, worst, total


def session(model, optimized):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def sqnr(reference, y):
    """In dB; 120 for equal arrays."""
    noise = float(((reference.astype(np.float64) - y) ** 2).sum())
    signal = float((reference.astype(np.float64) ** 2).sum())
    return 120.0 if noise == 0 else min(120.0, 10 * np.log10(signal / noise))


def end_to_end(quern, model, pictures):
    """Mean SQNR against ONNX Runtime without graph optimizations: of its default mode, of Quern,
    and of the oracle."""
    name = model.graph.input[0].name
    plain, default = session(model, False), session(model, True)
    rows = []
    for x in pictures:
        reference = plain.run(None, {name: x})[0]
        oracle = qdq_oracle.evaluate(model, {name: x})[model.graph.output[0].name]
        rows.append([sqnr(reference, default.run(None, {name: x})[0]),
                     sqnr(reference, quern.run(model, {name: x})[0]), sqnr(reference, oracle)])
    return np.mean(rows, 0)
