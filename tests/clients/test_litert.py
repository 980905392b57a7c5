# SPDX-License-Identifier: MIT
"""LiteRT of the public wheel: its compiler plugin and its runtime on our libraries."""
import platform
import subprocess

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
if platform.machine() != "x86_64":
    pytest.skip("LiteRT compiles ahead of time on x86-64 alone", allow_module_level=True)
import litert_models as litert  # noqa: E402
from sdk import QUERN, install  # noqa: E402
from tflite_writer import SAME, VALID, Graph  # noqa: E402


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install(tmp_path_factory.mktemp("litert") / "sdk")


def float_net(rng):
    """A convolution, pooling, a dense layer and a softmax, in float."""
    g = Graph()
    x = g.input("x", [1, 8, 8, 3])
    w = [rng.normal(size=s).astype(np.float32) / 4 for s in ((4, 3, 3, 3), (5, 64))]
    c = g.op("CONV_2D", [x, g.const(w[0]), g.const(np.ones(4, np.float32))],
             g.tensor([1, 8, 8, 4]), padding=SAME, stride_w=1, stride_h=1,
             fused_activation_function="RELU")
    p = g.op("AVERAGE_POOL_2D", [c], g.tensor([1, 4, 4, 4]), padding=VALID, stride_w=2, stride_h=2,
             filter_width=2, filter_height=2)
    r = g.op("RESHAPE", [p, g.const(np.array([1, 64], np.int32))], g.tensor([1, 64]))
    f = g.op("FULLY_CONNECTED", [r, g.const(w[1]), g.const(np.zeros(5, np.float32))],
             g.tensor([1, 5]))
    g.output(g.op("SOFTMAX", [f], g.tensor([1, 5], name="y"), beta=1.0))
    return g, {"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)}


def int8_net(rng):
    """A convolution with weights per channel and a depthwise one, in 8 bits."""
    g = Graph()
    x = g.input("x", [1, 6, 6, 4], "int8", 0.05, 3)
    scales = rng.uniform(0.01, 0.02, 8)
    w = g.const(rng.integers(-127, 128, (8, 1, 1, 4), np.int8), scales)
    b = g.const(rng.integers(-500, 500, 8, np.int32), 0.05 * scales)
    c = g.op("CONV_2D", [x, w, b], g.tensor([1, 6, 6, 8], "int8", 0.08, -10), stride_w=1,
             stride_h=1)
    w = g.const(rng.integers(-127, 128, (1, 3, 3, 8), np.int8), scales, axis=3)
    b = g.const(rng.integers(-500, 500, 8, np.int32), 0.08 * scales)
    y = g.tensor([1, 6, 6, 8], "int8", 0.3, 5, name="y")
    g.output(g.op("DEPTHWISE_CONV_2D", [c, w, b], y, stride_w=1, stride_h=1, depth_multiplier=1,
                  fused_activation_function="RELU"))
    return g, {"x": rng.integers(-128, 128, (1, 6, 6, 4), np.int8)}


def ports_net(rng):
    """Two inputs whose order matters, two outputs of different sizes."""
    g = Graph()
    a, b = (g.input(n, [1, 4, 6], "int8", 0.1, 0) for n in "ab")
    d = g.op("SUB", [a, b], g.tensor([1, 4, 6], "int8", 0.2, 1, name="difference"))
    t = g.op("TRANSPOSE", [d, g.const(np.array([0, 2, 1], np.int32))],
             g.tensor([1, 6, 4], "int8", 0.2, 1))
    s = g.op("SLICE", [t, g.const(np.array([0, 1, 0], np.int32)),
                       g.const(np.array([1, 2, 4], np.int32))],
             g.tensor([1, 2, 4], "int8", 0.2, 1, name="part"))
    g.output(s, d)
    return g, {n: rng.integers(-128, 128, (1, 4, 6), np.int8) for n in "ab"}


NETS = [float_net, int8_net, ports_net]


def build(net, sdk, folder):
    g, inputs = net(np.random.default_rng(7))
    g.save(folder / "net.tflite")
    compiled, counts = litert.aot(sdk, folder / "net.tflite", folder / "out")
    assert counts == (len(g.ops), len(g.ops), 1)
    return compiled, inputs


def same_as_quern_run(compiled, inputs, outputs, folder):
    """The compiled file, and the context binary inside of it, by quern run: values as they are
    stored."""
    (_, binary), = litert.dispatched(compiled)
    (folder / "net.bin").write_bytes(binary)
    files = [folder / f"{n}.raw" for n in inputs]
    for file, value in zip(files, inputs.values()):
        value.tofile(file)
    for model in (compiled, folder / "net.bin"):
        out = folder / f"quern_{model.suffix}"
        subprocess.run([QUERN, "run", model, *files, "--native", "-q", "-o", out, "--format",
                        "raw"], check=True, capture_output=True)
        made = [m.read_bytes() for m in out.iterdir()]  # in the binary's own order
        assert sorted(made) == sorted(v.tobytes() for v in outputs.values())


@pytest.mark.parametrize("net", NETS)
def test_a_compiled_model_runs_on_our_dispatch_library(net, sdk, tmp_path):
    compiled, inputs = build(net, sdk, tmp_path)
    got = litert.compiled_model(compiled, sdk, inputs, tmp_path)
    same_as_quern_run(compiled, inputs, got, tmp_path)
    want = litert.interpret(tmp_path / "net.tflite", inputs)
    assert got.keys() == want.keys()
    for name, value in want.items():
        if value.dtype == np.int8:
            assert np.abs(got[name].astype(int) - value).max() <= 1
        else:
            np.testing.assert_allclose(got[name], value, atol=2e-3)


def test_partitions_around_an_op_of_the_cpu_run(sdk, tmp_path):
    rng, g = np.random.default_rng(2), Graph()
    x = g.input("x", [2, 16])
    w = [g.const(rng.normal(size=(16, 16)).astype(np.float32) / 4) for _ in range(2)]
    a = g.op("FULLY_CONNECTED", [x, w[0], -1], g.tensor([2, 16]))
    m = g.op("FLOOR_MOD", [a, g.const(np.full([1], 0.75, np.float32))], g.tensor([2, 16]))
    g.output(g.op("FULLY_CONNECTED", [m, w[1], -1], g.tensor([2, 16], name="y")))
    g.save(tmp_path / "net.tflite")
    compiled, counts = litert.aot(sdk, tmp_path / "net.tflite", tmp_path / "out")
    assert counts == (2, 3, 2)
    (first, _), (second, _) = litert.dispatched(compiled)
    assert first != second
    inputs = {"x": np.round(rng.normal(size=(2, 16)), 1).astype(np.float32)}
    got = litert.compiled_model(compiled, sdk, inputs, tmp_path, "cpu")["y"]
    want = litert.interpret(tmp_path / "net.tflite", inputs)["y"]
    np.testing.assert_allclose(got, want, atol=0.02)


@pytest.mark.parametrize("shared", ["input", "output"])
def test_the_cpu_may_share_an_input_or_output_with_a_partition(shared, sdk, tmp_path):
    """LiteRT keeps such a buffer locked while the partition runs."""
    rng, g = np.random.default_rng(2), Graph()
    x = g.input("x", [2, 16])
    w = g.const(rng.normal(size=(16, 16)).astype(np.float32) / 4)
    a = g.op("FULLY_CONNECTED", [x, w, -1], g.tensor([2, 16], name="a"))
    m = g.op("FLOOR_MOD", [x if shared == "input" else a, g.const(np.full([1], 64, np.float32))],
             g.tensor([2, 16], name="m"))
    g.output(a, m)
    g.save(tmp_path / "net.tflite")
    compiled, counts = litert.aot(sdk, tmp_path / "net.tflite", tmp_path / "out")
    assert counts == (1, 2, 1)
    inputs = {"x": rng.uniform(1, 2, (2, 16)).astype(np.float32)}
    got = litert.compiled_model(compiled, sdk, inputs, tmp_path, "cpu")
    want = litert.interpret(tmp_path / "net.tflite", inputs)
    np.testing.assert_allclose(got["a"], want["a"], atol=0.02)
    reach = np.abs(got["m"] - want["m"])
    assert np.minimum(reach, 64 - reach).max() <= 0.02


def test_models_for_other_chips_run_and_name_the_chip(sdk, tmp_path):
    """Binaries for two architectures run: the modelled device becomes the chip of the binary."""
    g, inputs = int8_net(np.random.default_rng(7))
    g.save(tmp_path / "net.tflite")
    results = []
    for soc in ("SM8550", "SM8750"):
        compiled, _ = litert.aot(sdk, tmp_path / "net.tflite", tmp_path / soc, soc)
        results.append(litert.compiled_model(compiled, sdk, inputs, tmp_path)["y"])
        (_, binary), = litert.dispatched(compiled)
        (tmp_path / "net.bin").write_bytes(binary)
        shown = subprocess.run([QUERN, "show", tmp_path / "net.bin"], check=True, text=True,
                               capture_output=True).stdout
        assert soc in shown and "made by v2.51.0" in shown
    np.testing.assert_array_equal(*results)


def test_a_damaged_context_binary_is_rejected_in_words(sdk, tmp_path):
    compiled, inputs = build(int8_net, sdk, tmp_path)
    (_, binary), = litert.dispatched(compiled)
    data = bytearray(compiled.read_bytes())
    at = data.find(binary)
    data[at:at + 4] = b"none"
    compiled.write_bytes(data)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        litert.compiled_model(compiled, sdk, inputs, tmp_path)
    assert "[Quern dispatch] " in failed.value.stderr
