# SPDX-License-Identifier: MIT
"""A sample of ONNX's own cases through our provider, the public one and `quern run`; conformance.py
runs all."""
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import agreement
import conformance
import onnx_cases
from conformance_providers import PROVIDERS, Variant

PROGRAM = Path(__file__).with_name("conformance.py")


@pytest.mark.parametrize("provider, package",
                         [("quern", "onnxruntime"), ("qnn", "onnxruntime_qnn"),
                          ("program", "onnx")])
def test_a_sample_of_the_cases_is_answered_as_listed(provider, package):
    host = pytest.importorskip(package, reason=f"{package} is not installed")
    if provider == "quern" and tuple(map(int, host.__version__.split(".")[:2])) < (1, 24):
        pytest.skip("onnxruntime is older than 1.24")
    done = subprocess.run([sys.executable, PROGRAM, "--provider", provider, "--every", "16"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    left_out = "skipped without an OpenCL device: gpu" in done.stdout
    assert done.stdout.count(" pass") == len(PROVIDERS[provider].variants) - left_out


def test_quern_run_and_the_provider_agree_on_a_sample():
    host = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    if tuple(map(int, host.__version__.split(".")[:2])) < (1, 24):
        pytest.skip("onnxruntime is older than 1.24")
    program = PROGRAM.with_name("agreement.py")
    done = subprocess.run([sys.executable, program, "--every", "97"], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " equal, " in done.stdout and ", 0 not as expected" in done.stdout


@pytest.mark.parametrize("ours, theirs, words", [
    ([1.0, 2.0], [1.0, 2.0], ""), ([np.nan, 2.0], [np.nan, 2.0], ""),
    ([1.0, 2.0], [1.0, 2.5], "1 of 2 values, by up to 0.5"), ([1.0], [[1.0]], "(1,)")])
def test_outputs_that_differ_are_seen(ours, theirs, words):
    got = agreement.difference([np.float32(ours)], [np.float32(theirs)])
    assert words in got and bool(got) == bool(words)


# --- the judge

def relu_case():
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.checker.check_model(model)
    x = np.float32([-1, 0.5, 2])
    return onnx_cases.Case(model, [x], [np.maximum(x, 0)])


@pytest.mark.parametrize("bits, limit, off, verdict", [
    (None, (1e-3, 1e-5), 4e-4, "pass"), (None, (1e-3, 1e-5), 1e-3, "wrong"),
    (None, (1e-2, 1e-2), 1e-2, "pass"), (None, (1e-2, 1e-2), np.nan, "wrong"),
    (8, 1, 2 / 255, "pass"), (8, 1, 4.1 / 255, "wrong"), (8, 1, np.nan, "wrong"),
    (16, 1, 2 / 65535, "pass"), (16, 1, 4.1 / 65535, "wrong"),
])
def test_results_are_held_to_the_limit_of_the_variant(bits, limit, off, verdict):
    """The result spans 0 to 2, so that its steps are 2 / 255 and 2 / 65535 wide."""
    provider = SimpleNamespace(
        steps=lambda case, variant: variant.limit,
        run=lambda model, feeds, options: [np.maximum(feeds["x"], 0) + np.float32([0, off, 0])])
    assert conformance.attempt(provider, relu_case(), Variant(bits, limit, {}))[0] == verdict


@pytest.mark.parametrize("done, differences", [
    ({("cpu", "a"): ("pass", ""), ("cpu", "b"): ("refused", "other words")}, 0),
    ({("cpu", "a"): ("wrong", "off by 1"), ("cpu", "b"): ("refused", "")}, 1),
    ({("cpu", "a"): ("pass", ""), ("cpu", "b"): ("wrong", "off by 1")}, 1),
    ({("cpu", "a"): ("crash", ""), ("cpu", "b"): ("pass", "")}, 2),
    ({("cpu", "a"): ("pass", "")}, 1),
])
def test_every_difference_from_the_list_counts(done, differences):
    assert conformance.compare(done, {("cpu", "b"): ("refused", "why")}) == differences


def test_another_number_of_cases_counts():
    done = {("cpu", "a"): ("pass", ""), ("cpu", "b"): ("wrong", "")}
    assert conformance.compare_counts(done, {"cpu": 1}, ["cpu"]) == 0
    assert conformance.compare_counts(done, {"cpu": 2}, ["cpu"]) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_wrong_case_has_a_reason(provider):
    known, passing, _ = conformance.read_list(PROVIDERS[provider].list)
    assert set(passing) == set(PROVIDERS[provider].variants)
    reasons = [why for verdict, why in known.values() if verdict == "wrong"]
    assert all(why and not why.startswith("off by") for why in reasons)
    assert not any(verdict in ("crash", "timeout") for verdict, _ in known.values())
