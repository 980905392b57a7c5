# SPDX-License-Identifier: MIT
"""Calibration of ResNet-50 beside ONNX Runtime's MinMax calibration, same images and threads.

calibration.py [--images N] [--threads N] [--rounds N]: prints time and peak memory of both, and
the ratio; also the CPU time of all threads, which other programs disturb less, and inferences. The
network has random weights from a seed. Each side is one process that opens the model
and looks at all images; its start is measured with one image and taken off, so that the figures are
those of many images. $QUERN_BIN and $QUERN_LIB_DIR name the program.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]


def resnet50(path):
    """ResNet-50 with its batch norms folded, as exporters write it."""
    rng, nodes, constants = np.random.default_rng(50), [], []

    def constant(name, shape, fan):
        values = rng.standard_normal(shape).astype(np.float32) * np.float32((2 / fan) ** 0.5)
        constants.append(numpy_helper.from_array(values, name))
        return name

    def conv(x, n_in, n_out, size, stride, name):
        weights = constant(f"{name}.w", (n_out, n_in, size, size), n_in * size * size)
        bias = constant(f"{name}.b", (n_out,), 100)
        nodes.append(helper.make_node("Conv", [x, weights, bias], [name], strides=[stride, stride],
                                      pads=[size // 2] * 4, kernel_shape=[size, size], name=name))
        return name

    def relu(x):
        nodes.append(helper.make_node("Relu", [x], [f"{x}.relu"], name=f"{x}.relu"))
        return f"{x}.relu"

    x = relu(conv("image", 3, 64, 7, 2, "stem"))
    nodes.append(helper.make_node("MaxPool", [x], ["pool"], kernel_shape=[3, 3], strides=[2, 2],
                                  pads=[1, 1, 1, 1], name="pool"))
    x, channels = "pool", 64
    for stage, (width, out, count, stride) in enumerate(BLOCKS):
        for i in range(count):
            name, step = f"s{stage}.{i}", stride if i == 0 else 1
            y = relu(conv(x, channels, width, 1, 1, f"{name}.a"))
            y = relu(conv(y, width, width, 3, step, f"{name}.b"))
            y = conv(y, width, out, 1, 1, f"{name}.c")
            if i == 0:
                x = conv(x, channels, out, 1, step, f"{name}.d")
            nodes.append(helper.make_node("Add", [y, x], [name], name=name))
            x, channels = relu(name), out
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["mean"], name="mean"))
    nodes.append(helper.make_node("Flatten", ["mean"], ["flat"], name="flat"))
    nodes.append(helper.make_node("Gemm", ["flat", constant("fc.w", (1000, 2048), 2048),
                                           constant("fc.b", (1000,), 100)], ["logits"], transB=1,
                                  name="fc"))
    graph = helper.make_graph(
        nodes, "resnet50",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1000])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
              path)


def onnxruntime_side(model, images, threads):
    """Runs in a process of its own."""
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, create_calibrator

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(np.load(images, mmap_mode="r"))

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {"image": np.array(image)[None]}

    plain = onnxruntime.InferenceSession

    def session(path, sess_options=None, **rest):
        sess_options.intra_op_num_threads = threads
        return plain(path, sess_options=sess_options, **rest)

    onnxruntime.InferenceSession = session
    with tempfile.TemporaryDirectory() as folder:
        calibrator = create_calibrator(model, augmented_model_path=f"{folder}/augmented.onnx",
                                       calibrate_method=CalibrationMethod.MinMax)
        calibrator.collect_data(Reader())
        ranges = calibrator.compute_data().data
    print(json.dumps({name: [float(np.ravel(v)[0]) for v in r.range_value]
                      for name, r in ranges.items()}))


def make(folder, n):
    resnet50(folder / "net.onnx")
    images = np.random.default_rng(1).standard_normal((n + 1, 3, 224, 224), np.float32)
    np.save(folder / "many.npy", images)
    np.save(folder / "one.npy", images[:1])


def measure(command):
    """(seconds, of CPU time, MiB at the peak)"""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} failed")
    return (time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=24)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--method", default="minmax")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.make:
        make(Path(o.make), o.images)
        return
    if o.side:
        onnxruntime_side(*o.side, o.threads)
        return
    program = os.environ.get("QUERN_BIN", "build/release/bin/quern")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, one = folder / "net.onnx", folder / "one.npy"
        # In a process of its own: what this one has at its peak would count for those it starts.
        subprocess.run([sys.executable, __file__, "--images", str(o.images), "--make", name],
                       check=True)
        threads = ["--threads", str(o.threads)]
        for n, name in ((o.images + 1, "many"), (1, "one")):
            (folder / f"{name}.txt").write_text(f"{folder / 'one.raw'}\n" * n)
        np.load(one).tofile(folder / "one.raw")
        sides = {"quern": lambda n: [program, "quantize", model, "-q", "--calibrate-only",
                                     folder / "state", "-c", folder / f"{n}.npy", "-m", o.method,
                                     *threads],
                 "onnxruntime": lambda n: [sys.executable, __file__, *threads, "--side", model,
                                           folder / f"{n}.npy"],
                 "inference": lambda n: [program, "run", model, "-q", "--backend", "cpu",
                                         "--input-list", folder / f"{n}.txt", *threads]}
        found = {side: {"one": [], "many": []} for side in sides}
        for _ in range(o.rounds):
            for side, command in sides.items():
                for n in ("one", "many"):
                    found[side][n].append(measure(command(n)))
        per = {}
        for side, f in found.items():
            least = {n: [min(column) for column in zip(*f[n])] for n in f}
            per[side] = [1000 * (a - b) / o.images for a, b in zip(least["many"], least["one"])]
            print(f"{side:12} {per[side][0]:7.1f} ms an image, CPU time {per[side][1]:6.1f} ms, "
                  f"start {least['one'][0]:5.2f} s, {least['many'][2]:6.0f} MiB")
        ratios = [a / b for a, b in zip(per["onnxruntime"], per["quern"])]
        print(f"{'ratio':12} {ratios[0]:7.2f}, CPU time {ratios[1]:.2f}")


if __name__ == "__main__":
    main()
