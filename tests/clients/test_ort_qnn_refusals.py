# SPDX-License-Identifier: MIT
"""What users do wrong, through the public onnxruntime-qnn provider: our library says it in one line
of the provider's own log, with the thing and the fix, and the process lives on.

The provider shows the library's lines at its most talkative level; those of the System library, for
which it makes no log, are in QUERN_LOG.
"""
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import qnn_provider
from ort_models import assignment, conv_net, images
from qnn_provider import HTP, NAME, SM8650, run, session, writing

MODEL, X = conv_net(seed=1), images(41, 1)[0]
# The provider's line for what a library logs.
OURS = re.compile(r"QnnLogging\] (.*?)(?:\x1b\[m)?$", re.M)


@pytest.fixture(scope="module")
def device():
    """The provider, registered when onnxruntime is most talkative: it keeps that for its lines."""
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    ort.set_default_logger_severity(0)
    yield qnn_provider.register()
    qnn_provider.unregister()
    ort.set_default_logger_severity(2)


@pytest.fixture
def said(device, capfd):
    """All lines of our library since the last call."""
    capfd.readouterr()
    return lambda: OURS.findall("".join(capfd.readouterr()))


@pytest.fixture(autouse=True)
def the_process_still_works(device):
    yield
    assert set(assignment(session(MODEL, device))) == {NAME}


def only(lines, *words):
    """The one line that has all words."""
    found = [line for line in lines if all(w in line for w in words)]
    assert len(found) == 1, lines
    return found[0]


def falls_back(device, **options):
    """A session whose nodes all stay with onnxruntime, and that computes."""
    s = session(MODEL, device, **options)
    assert set(assignment(s)) == {"CPUExecutionProvider"}
    assert run(s, X).shape == (1, 10)


def test_nothing_is_said_about_a_good_model(device, said):
    run(session(MODEL, device, {"session.disable_cpu_ep_fallback": "1"}), X)
    assert said() == []


@pytest.mark.parametrize("options, words", [
    ({"soc_model": "9999"}, ["SOC: unknown SoC 9999", "name its architecture", "QUERN_SOCS"]),
    ({"extended_udma": "1"}, ["USE_EXTENDED_UDMA needs v81", "SM8650 of v75", "leave it out"]),
    ({"op_packages": "Relu:/nonexistent/libOps.so:OpsInterfaceProvider"},
     ["op package '/nonexistent/libOps.so'", "No such file"]),
], ids=["chip", "udma", "package"])
def test_an_option_that_cannot_be_obeyed(device, said, options, words):
    falls_back(device, **options)
    only(said(), *words)


def test_more_vtcm_than_the_chip_has(device, said):
    with pytest.raises(Exception, match="qnn_model_wrapper"):
        session(MODEL, device, vtcm_mb="64")
    only(said(), "asks for 67108864 bytes of VTCM", "SM8650 has 8388608", "at most 8 MB")


def test_an_option_that_we_do_not_know_is_ignored_with_a_warning(device, said):
    so = ort.SessionOptions()
    so.log_severity_level = 2
    so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    so.add_provider_for_devices([device], {"backend_path": str(HTP), "soc_model": SM8650,
                                           "enable_htp_graph_splitting": "1"})
    run(ort.InferenceSession(MODEL, so), X)
    only(said(), "context: custom option", "is not known to this version and ignored",
         "leave it out")


def test_an_op_that_is_refused(device, said):
    """Each node by its name, with the operand, what it is and what it may be."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"], name="wide"),
         helper.make_node("Sigmoid", ["r"], ["y"], name="also_wide")], "g",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    s = session(model.SerializeToString(), device)
    assert set(assignment(s)) == {"CPUExecutionProvider"}
    assert s.run(None, {"x": np.zeros((2, 3))})[0].shape == (2, 3)
    lines = said()
    for line in lines:
        assert not line.startswith("graph ''")
    only(lines, "node 'wide' (Relu)", "input 0 'x' (tensor 'x'): data type f64", "allowed f32|f16")


def test_a_rank_that_the_npu_lacks(device, said):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="deep")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 1, 2, 1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 1, 2, 1, 2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert set(assignment(session(model.SerializeToString(), device))) == {"CPUExecutionProvider"}
    only(said(), "node 'deep' (Relu)", "rank 6", "at most 5")


def test_floats_on_a_chip_without_float16_are_computed_in_float32(device):
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"], name="sum")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.ones((2, 3), np.float32), "c")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    s = session(model.SerializeToString(), device, soc_model="30")
    assert set(assignment(s)) == {"QNNExecutionProvider"}
    x = np.full((2, 3), 1 / 3, np.float32)
    assert (run(s, x) == x + 1).all()  # no float16 is that number


def test_a_context_model_for_another_chip(device, said, tmp_path):
    path = tmp_path / "net.onnx"
    session(MODEL, device, writing(path))
    said()
    with pytest.raises(Exception, match="contextCreateFromBinary failed"):
        session(path, device, soc_model="36")
    only(said(), "made for architecture v75", "the device is SM8450 of v69",
         "prepare the model for this device")


# Loads a context model in a process of its own, whose QUERN_LOG the System library writes to.
LOAD = f'''
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from pathlib import Path
from qnn_provider import register, session
try:
    session(Path(sys.argv[1]), register())
except Exception as e:
    print("refused:", e)
print("alive")
'''


def load_elsewhere(path, log, **env):
    p = subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, text=True,
                       env={**os.environ, "QUERN_LOG": str(log), **env}, timeout=120)
    assert p.returncode == 0 and p.stdout.endswith("alive\n"), p.stderr
    return p.stdout, p.stderr, log.read_text() if log.exists() else ""


@pytest.mark.parametrize("damage, words", [
    (lambda b: b[:5000], ["bytes, 5000 were given: it is not complete"]),
    (lambda b: b"junk" * 2000, ["not a context binary of Quern", "prepare the model again"]),
    (lambda b: b[:40] + bytes([b[40] ^ 255]) + b[41:], ["context binary"]),
], ids=["truncated", "foreign", "changed"])
def test_a_damaged_context_file(device, tmp_path, damage, words):
    path = tmp_path / "net.onnx"
    session(MODEL, device, writing(path))
    binary, = tmp_path.glob("*.bin")
    binary.write_bytes(damage(binary.read_bytes()))
    out, _, log = load_elsewhere(path, tmp_path / "log")
    assert "refused:" in out
    line, = [t for t in log.splitlines() if all(w in t for w in words)]
    assert "SYSTEM_QTI_AISW" in line or "HTP_QTI_AISW" in line


def test_a_context_file_that_is_gone(device, tmp_path):
    path = tmp_path / "net.onnx"
    session(MODEL, device, writing(path))
    binary, = tmp_path.glob("*.bin")
    binary.unlink()
    with pytest.raises(Exception, match="does not exist or is not accessible"):  # the provider's
        session(path, device)


def test_a_context_file_inside_a_model_that_is_damaged(device, tmp_path):
    path = tmp_path / "net.onnx"
    session(MODEL, device, writing(path, "1"))
    model = onnx.load(path)
    attribute, = (a for a in model.graph.node[0].attribute if a.name == "ep_cache_context")
    attribute.s = attribute.s[:1000]
    onnx.save(model, path)
    out, _, log = load_elsewhere(path, tmp_path / "log")
    assert "refused:" in out and "1000 were given: it is not complete" in log


def test_a_client_that_wants_a_newer_api(device, tmp_path):
    """As if this were an older Quern: the provider says it, and does without us unless told to."""
    path = tmp_path / "net.onnx"
    path.write_bytes(MODEL)
    out, err, _ = load_elsewhere(path, tmp_path / "log", QUERN_API_VERSION="2.30")
    assert "refused:" not in out and f"Unable to find a valid interface for {HTP}" in err


def test_a_library_that_is_none(device, tmp_path):
    (tmp_path / "libQnnHtp.so").write_bytes(b"no library")
    falls_back(device, backend_path=str(tmp_path / "libQnnHtp.so"))
