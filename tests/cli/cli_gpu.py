# SPDX-License-Identifier: MIT
"""The commands with --backend gpu. What needs no device is tested everywhere; the rest is skipped
with one line where OpenCL has none."""
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from onnx import TensorProto as T, helper as h

from harness import FAILURE, OK, USAGE, add_relu, model, ok, ok_json, quern, refuses

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from gguf_llama import TinyLlama  # noqa: E402


def findings(check, env=None, code=OK):
    p = quern("doctor", "--json", env=env)
    assert p.returncode == code, p.stdout + p.stderr
    return [c for c in json.loads(p.stdout)["checks"] if c["check"] == check]


def has_device():
    return findings("OpenCL device")[0]["text"].startswith("0: ")


gpu = pytest.mark.skipif(not has_device(), reason="no OpenCL device (quern doctor says why)")


@pytest.fixture
def net(tmp_path):
    return add_relu(tmp_path / "net.onnx")


@gpu
@pytest.mark.parametrize("precision", [None, "fp32", "fp16", "hybrid", "user"])
def test_run_computes_and_names_the_device_and_the_precision(net, tmp_path, precision):
    x = np.array([[1, -50, 100], [0.5, 2, 3]], np.float32)
    np.save(tmp_path / "x.npy", x)
    flags = ["--precision", precision] if precision else []
    p = ok("run", net, tmp_path / "x.npy", "-b", "gpu", "-o", tmp_path / "out", *flags)
    want = np.maximum(x + np.array([10, 20, -30], np.float32), 0)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), want)
    assert "device: " in p.stderr and f"precision: {precision or 'user'}" in p.stderr
    report = ok_json("run", net, "--random", "-b", "gpu", "--json", *flags)
    assert report["precision"] == (precision or "user") and "driver" in report["device"]


@gpu
def test_trials_are_no_errors_of_the_log(tmp_path):
    nodes = [h.make_node("QuantizeLinear", ["x", "s"], ["y"])]
    net = model(tmp_path / "q.onnx", nodes, {"x": (T.FLOAT, [1, 4])}, {"y": (T.UINT8, [1, 4])},
                {"s": np.float32(0.1)}, opset=21)
    log = tmp_path / "log"
    p = quern("check", net, "-b", "gpu", env={"QUERN_LOG": str(log)})
    assert " rejected" in p.stdout and " trial: " in log.read_text()
    assert " ERROR " not in log.read_text()


@gpu
def test_bench_names_the_device(net):
    text = ok("bench", net, "-b", "gpu", "--runs", "3", "--precision", "fp32").stdout
    assert "\ndevice " in text and "precision fp32" in text and "median" in text
    report = ok_json("bench", net, "-b", "gpu", "--runs", "3", "--json")
    assert report["runs"] == 3 and report["precision"] == "user" and report["device"]


@gpu
def test_tun_01_a_folder_in_the_environment_is_measured_for_once(tmp_path):
    rng = np.random.default_rng(4)
    net = model(tmp_path / "m.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [64, 64])}, {"y": (T.FLOAT, [64, 48])},
                {"w": rng.standard_normal((64, 48)).astype(np.float32)})
    folder = tmp_path / "tuning"
    folder.mkdir()
    for _ in range(2):  # the second run finds what the first one kept
        ok("run", net, "--random", "-b", "gpu", env={"QUERN_GPU_TUNE": str(folder)})
        lines = (folder / "tuning.jsonl").read_text().splitlines()
        assert [json.loads(line)["family"] for line in lines] == ["gemm"]


@gpu
def test_bin_04_what_was_compiled_without_a_device_runs_on_one(tmp_path):
    rng = np.random.default_rng(3)
    net = model(tmp_path / "m.onnx", [h.make_node("MatMul", ["x", "w"], ["y"])],
                {"x": (T.FLOAT, [4, 64])}, {"y": (T.FLOAT, [4, 48])},
                {"w": rng.standard_normal((64, 48)).astype(np.float32)})
    for device, says in (("none", "1 constants are packed again: the binary was prepared without"),
                         ("", "1 constants as they are stored")):
        ok("compile", net, "-o", tmp_path / "m.bin", "-b", "gpu", "--precision", "fp32",
           env={"QUERN_GPU_DEVICE": device} if device else None)
        p = ok("run", tmp_path / "m.bin", "--random", "-b", "gpu", "-o", tmp_path / f"o{device}",
               "--log", "info")
        assert says in p.stdout + p.stderr
    ok("run", net, "--random", "-b", "gpu", "--precision", "fp32", "-o", tmp_path / "direct")
    want = np.load(tmp_path / "direct" / "output_0.npy")
    for device in ("none", ""):
        np.testing.assert_array_equal(np.load(tmp_path / f"o{device}" / "output_0.npy"), want)


@gpu
def test_check_and_show_compiled(net):
    assert "2 of 2 nodes run on gpu" in ok("check", net, "-b", "gpu").stdout
    text = ok("show", net, "--compiled", "-b", "gpu").stdout
    assert "add" in text and "relu" in text


@gpu
@pytest.mark.parametrize("env", [{}, {"QUERN_GPU_DEVICE": "none"}])
def test_a_context_binary_runs_without_naming_the_backend(net, tmp_path, env):
    """Made with a device or without one; it keeps its precision."""
    binary = tmp_path / "net.bin"
    ok("compile", net, "-b", "gpu", "--precision", "hybrid", "-o", binary, env=env)
    x = np.array([[1, -50, 100], [0.5, 2, 3]], np.float32)
    np.save(tmp_path / "x.npy", x)
    p = ok("run", binary, tmp_path / "x.npy", "-o", tmp_path / "out", "--precision", "fp32")
    assert "precision: as compiled" in p.stderr and "--precision has no effect" in p.stderr
    want = np.maximum(x + np.array([10, 20, -30], np.float32), 0)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), want)
    assert "graph net" in ok("show", binary).stdout
    assert "relu" in ok("show", "--compiled", binary).stdout
    assert ok_json("bench", binary, "--runs", "2", "--json")["precision"] == "as compiled"


@gpu
def test_inputs_and_outputs_can_stay_on_the_device(net):
    assert ok_json("bench", net, "-b", "gpu", "--resident", "--runs", "3", "--json")["runs"] == 3
    refuses(USAGE, "bench", net, "--resident", "--runs", "3", says="it needs --backend gpu")


@gpu
def test_layers_of_the_gpu_compare_with_those_of_the_cpu(net, tmp_path):
    folders = {b: {"QUERN_DUMP": str(tmp_path / b)} for b in ("cpu", "gpu")}
    for backend, env in folders.items():
        ok("run", net, "--random", "-b", backend, env=env)
    report = ok_json("compare", tmp_path / "cpu", tmp_path / "gpu", "--json")
    (graph,) = report["graphs"]
    assert len(graph["layers"]) >= 2 and all(l["equal"] == 1 or l["sqnr_db"] is None
                                             for l in graph["layers"]), graph


@gpu
def test_doctor_lists_devices_and_the_chosen_one():
    (row,) = findings("OpenCL")
    assert row["grade"] == "ok" and "libOpenCL.so" in row["text"]
    rows = findings("OpenCL device")
    assert len([r for r in rows if "chosen" in r["text"]]) == 1
    assert [r["text"].split(":")[0] for r in rows] == [str(i) for i in range(len(rows))]
    assert findings("GPU self-test")[0]["text"] == "a small graph computes the right values"


@gpu
def test_a_device_that_is_not_there(net):
    env = {"QUERN_GPU_DEVICE": "no such device"}
    refuses(FAILURE, "run", net, "--random", "-b", "gpu", env=env,
            says=["QUERN_GPU_DEVICE='no such device'", "quern doctor"])
    rows = findings("OpenCL device", env=env, code=FAILURE)
    assert all(r["grade"] == "problem" and "unset QUERN_GPU_DEVICE" in r["fix"] for r in rows)


@pytest.mark.parametrize("command", [["run", "--random"], ["bench"], ["check"],
                                     ["compile", "-o", "/dev/null"], ["show", "--compiled"]])
def test_without_a_device_every_command_says_so_in_one_line(net, command):
    refuses(FAILURE, *command, net, "-b", "gpu", env=dict(OCL_ICD_VENDORS="/nonexistent"),
            says=["backendCreate: error 4000", "OpenCL", "pocl-opencl-icd"])


def test_doctor_without_a_device_is_no_problem():
    env = {"OCL_ICD_VENDORS": "/nonexistent"}
    (row,) = findings("OpenCL", env=env)
    assert row["grade"] in ("ok", "warning") and "pocl-opencl-icd" in row["fix"]
    (row,) = findings("OpenCL device", env=env)
    assert row["grade"] == "ok" and "--backend gpu does not work" in row["text"]
    (row,) = findings("OpenCL device", env={"QUERN_GPU_DEVICE": "none"})
    assert row["grade"] == "ok" and "only compiles" in row["text"]
    assert "not tried" in findings("GPU self-test", env=env)[0]["text"]
    assert findings("other libraries", env=env)[0]["text"] == "all backend libraries open"


def test_precision_is_for_the_gpu(net):
    refuses(USAGE, "run", net, "--random", "--precision", "fp16", says="--precision is for")
    refuses(USAGE, "compile", net, "-o", "/dev/null", "--soc", "SM8650", "--precision", "hybrid",
            says="the HTP has fp16 and fp32")
    refuses(USAGE, "run", net, "--random", "-b", "gpu", "--precision", "bf16", says="fp32")


@gpu
@pytest.mark.parametrize("form", ["w8", "w4"])
def test_a_language_model_with_short_weights_runs_whole(tmp_path, form):
    net = TinyLlama()
    (tmp_path / "m.gguf").write_bytes(net.gguf().bytes())
    ok("import", tmp_path / "m.gguf", "-o", tmp_path / "m", "-p", 4, "-c", 8, "--weights", form)
    folder = tmp_path / "m"
    say = lambda b: ok_json("generate", folder, "--raw", "--prompt", "abcd", "-n", 3, "-b", b,
                            "--json")["tokens"]
    assert say("gpu") == say("cpu")
