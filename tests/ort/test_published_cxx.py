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


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("cxx")
    host = next((Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    (folder / "libonnxruntime.so.1").symlink_to(host)  # the name by which it is linked
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", HERE / "cxx",
                    HERE / "cxx" / "published.cpp", "-o", folder / "published", host,
                    f"-Wl,-rpath,{folder}"], check=True)
    return folder / "published"


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
