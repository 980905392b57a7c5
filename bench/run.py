#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench: our CPU backend against onnxruntime's CPU provider, in one run, as ratios.

Both run the same ONNX model with the same number of threads; ours is reached through the public
onnxruntime-qnn provider, so its time includes what a real client pays. Rounds of the two alternate
and the fastest round of each counts, so that a busy machine disturbs both alike. A ratio above 1
means that ours is faster. --write puts the table into docs/performance.md.
"""
import argparse
import os
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
NAME = "QNNExecutionProvider"
ROUNDS, ROUND_SECONDS = 7, 0.15


class Builder:
    """A model of one input and one output, grown node by node."""

    def __init__(self, *shape):
        self.rng, self.nodes, self.init, self.top = np.random.default_rng(0), [], [], "x"
        self.x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)

    def weight(self, *shape):
        name = f"w{len(self.init)}"
        w = self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        self.init.append(numpy_helper.from_array(w.astype(np.float32), name))
        return name

    def add(self, op, *more, **attributes):
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.top, *more], [out], **attributes))
        self.top = out
        return self

    def conv(self, cin, cout, k, group=1, stride=1):
        return self.add("Conv", self.weight(cout, cin // group, k, k), self.weight(cout),
                        kernel_shape=[k, k], pads=[k // 2] * 4, group=group,
                        strides=[stride, stride])

    def model(self):
        y = helper.make_tensor_value_info(self.top, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [self.x], [y], self.init)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                 ir_version=8).SerializeToString()


def models():
    yield "conv 3x3, 64 to 64, 56x56", Builder(1, 64, 56, 56).conv(64, 64, 3)
    yield "conv 1x1, 256 to 256, 28x28", Builder(1, 256, 28, 28).conv(256, 256, 1)
    yield "depthwise 3x3, 192, 56x56", Builder(1, 192, 56, 56).conv(192, 192, 3, group=192)
    dense = Builder(32, 1024)
    yield "dense 32x1024x1024", dense.add("Gemm", dense.weight(1024, 1024), dense.weight(1024),
                                         transB=1)
    yield "softmax 512x1000", Builder(512, 1000).add("Softmax", axis=1)
    yield "sigmoid * x, 1M", Builder(1024, 1024).add("Sigmoid").add("Mul", "x")
    net = Builder(1, 3, 112, 112).conv(3, 32, 3, stride=2).add("Relu")
    for cin, cout in ((32, 64), (64, 128), (128, 128)):
        net.conv(cin, cin, 3, group=cin).add("Relu").conv(cin, cout, 1).add("Relu")
    yield "small separable net", net.add("GlobalAveragePool").add("Flatten").add("Softmax", axis=1)


def sessions(model, threads, library):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    peer = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    device = next(d for d in ort.get_ep_devices() if d.ep_name == NAME)
    options.add_provider_for_devices([device], {"backend_path": library})
    return peer, ort.InferenceSession(model, options)


def seconds(session, feed):
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < ROUND_SECONDS:
        session.run(None, feed)
        n += 1
    return (time.perf_counter() - start) / n


def measure(builder, threads, library):
    pair = sessions(builder.model(), threads, library)
    shape = [d.dim_value for d in builder.x.type.tensor_type.shape.dim]
    feed = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
    want, got = (s.run(None, feed)[0] for s in pair)
    assert np.abs(want - got).max() <= 1e-4 * np.abs(want).max(), "results differ"
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        best = [min(b, seconds(s, feed)) for b, s in zip(best, pair)]
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args()
    import onnxruntime_qnn
    ort.set_default_logger_severity(4)
    plugin = Path(onnxruntime_qnn.__file__).parent / "libonnxruntime_providers_qnn.so"
    ort.register_execution_provider_library(NAME, str(plugin))
    threads = int(os.environ.get("QUERN_THREADS", len(os.sched_getaffinity(0))))
    library = str(Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve() / "libQnnCpu.so")
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), "unknown CPU")
    text = (f"`make bench` on {cpu}, {threads} threads, onnxruntime {ort.__version__}. "
            "Ratio above 1: ours is faster.\n\n"
            "| model (fp32) | onnxruntime CPU, ms | Quern CPU, ms | ratio |\n"
            "| --- | --- | --- | --- |\n")
    for name, builder in models():
        peer, ours = measure(builder, threads, library)
        text += f"| {name} | {peer * 1e3:.3f} | {ours * 1e3:.3f} | {peer / ours:.2f} |\n"
    print(text)
    if arguments.write:
        (ROOT / "docs" / "performance.md").write_text("# Performance\n\n" + text)


if __name__ == "__main__":
    main()
