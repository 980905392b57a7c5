# SPDX-License-Identifier: MIT
"""The plugin in an application of C++, in the form in which onnxruntime's pages print one. The
header is the tests' own, as packages of Python have none."""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIB = Path(os.environ.get("QUERN_LIB_DIR", ROOT / "build" / "lib")).resolve()

NAME = LIB / "libquern_ort_qnn.so"
PRELOADED = {**os.environ, "LD_PRELOAD": str(NAME)}


def build(folder, source, *before):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    host = next((Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    (folder / "libonnxruntime.so.1").symlink_to(host)  # the name by which it is linked
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", HERE / "cxx",
                    HERE / "cxx" / source, "-o", folder / "program", *before, host,
                    f"-Wl,-rpath,{folder}:{LIB}"], check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("cxx"), "published.cpp")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A program that appends "QNN" and is linked to onnxruntime alone."""
    return build(tmp_path_factory.mktemp("plain"), "appended.cpp")


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """The same with our library before onnxruntime."""
    return build(tmp_path_factory.mktemp("linked"), "appended.cpp", "-Wl,--no-as-needed", NAME)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The digits network with a batch of one."""
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    found = onnx.load(ROOT / "examples" / "digits" / "digits.onnx")
    for value in (*found.graph.input, *found.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(found, path)
    return path


@pytest.mark.parametrize("library", ["QnnHtp.dll", "libQnnHtp.so"])
def test_a_model_and_its_context_model_run(program, model, tmp_path, library):
    context = tmp_path / "model_ctx.onnx"
    ran = subprocess.run([program, LIB / "libonnxruntime_providers_quern.so", library, model,
                          context], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    got = np.array([[float(x) for x in line.split()] for line in ran.stdout.splitlines()])
    want = ort.InferenceSession(model).run(
        None, {"image": np.full((1, 1, 8, 8), 0.5, np.float32)})[0]
    assert got.shape == (2, 10) and np.allclose(got, want, atol=1e-5)
    assert "EPContext" in {node.op_type for node in onnx.load(context).graph.node}


def test_a_library_that_is_not_there_is_an_exception(program, model, tmp_path):
    ran = subprocess.run([program, LIB / "libonnxruntime_providers_quern.so", "QnnNone.dll", model,
                          tmp_path / "x.onnx"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1 and "libQnnNone.so" in ran.stderr


# --- AppendExecutionProvider("QNN", ...)

def results(text):
    return np.array([[float(x) for x in line.split()] for line in text.splitlines()])


@pytest.fixture(scope="module")
def wanted(model):
    return ort.InferenceSession(model).run(
        None, {"image": np.full((1, 1, 8, 8), 0.5, np.float32)})[0]


@pytest.mark.parametrize("how, words", [
    ("preloaded", ["QnnHtp.dll"]), ("preloaded", ["libQnnCpu.so"]), ("preloaded", ["-"]),
    ("preloaded", ["QnnHtp.dll", "before"]), ("linked", ["QnnHtp.dll"])])
def test_the_name_qnn_is_our_provider(plain, linked, model, wanted, how, words):
    program, env = (plain, PRELOADED) if how == "preloaded" else (linked, None)
    ran = subprocess.run([program, words[0], model, *words[1:]], capture_output=True, text=True,
                         env=env)
    first, *lines = ran.stdout.split("\n", 1)
    assert first == "listed" and np.allclose(results(lines[0]), wanted, atol=2e-3), ran.stderr
    assert results(lines[0]).shape == (2, 10)
    # Other names are onnxruntime's affair.
    assert ran.returncode == 1 and "NoSuchProvider" in ran.stderr


def test_without_our_library_onnxruntime_rejects_the_name(plain, model):
    ran = subprocess.run([plain, "QnnHtp.dll", model], capture_output=True, text=True)
    assert ran.returncode == 1 and "QNN" in ran.stderr and ran.stdout == ""


def test_a_bad_option_is_an_exception_of_the_session(plain, model):
    ran = subprocess.run([plain, "QnnNone.dll", model], capture_output=True, text=True,
                         env=PRELOADED)
    assert ran.returncode == 1 and "libQnnNone.so" in ran.stderr


def test_a_library_without_the_plugin_beside_it_names_what_it_looked_for(plain, model, tmp_path):
    shutil.copy(NAME, tmp_path)
    ran = subprocess.run([plain, "QnnHtp.dll", model], capture_output=True, text=True,
                         env={**os.environ, "LD_PRELOAD": str(tmp_path / NAME.name)})
    assert ran.returncode == 1 and str(tmp_path / "libonnxruntime_providers_quern.so") in ran.stderr
