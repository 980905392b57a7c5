# SPDX-License-Identifier: MIT
"""The Python package as it is installed: made from the built tree into a folder of its own."""
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

ROOT = Path(__file__).resolve().parents[2]
LIB = Path(os.environ.get("QUERN_LIB_DIR", ROOT / "build" / "lib")).resolve()
sys.path[:0] = [str(ROOT / "tests" / "clients")]
from ort_models import conv_net, images, sqnr  # noqa: E402


@pytest.fixture(scope="module")
def quern(tmp_path_factory):
    """The installed package, imported."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(["cmake", "--install", LIB.parent, "--component", "python", "--prefix", folder],
                   check=True, stdout=subprocess.DEVNULL)
    sys.path.insert(0, str(folder))
    environment = os.environ.pop("QUERN_LIB_DIR", None)
    import quern as package
    assert package.libs() == folder / "quern" / "lib"
    yield package
    package.unregister()
    sys.path.remove(str(folder))
    if environment:
        os.environ["QUERN_LIB_DIR"] = environment


def test_the_libraries_are_in_the_package(quern):
    assert quern.plugin().exists()
    for backend in ("cpu", "htp", "system"):
        assert quern.library(backend).exists()
    with pytest.raises(ValueError, match="no backend 'npu'; expected one of cpu"):
        quern.library("npu")


def test_examples_in_the_texts_hold(quern):
    assert doctest.testmod(quern, raise_on_error=True).attempted > 0


def test_a_session_in_one_line(quern):
    net, x = conv_net(seed=1), images(2, 1)[0]
    want = ort.InferenceSession(net, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    for backend, least in (("cpu", 100), ("htp", 40)):
        s = quern.session(net, backend=backend, soc="sm8650" if backend == "htp" else None,
                          fallback=False)
        assert sqnr(s.run(None, {"x": x})[0], want) > least


def test_wrong_options_are_told_by_the_provider(quern):
    with pytest.raises(Exception, match="did you mean 'vtcm_mb'"):
        quern.session(conv_net(seed=1), backend="htp", vtcm_bm=8)


@pytest.mark.parametrize("scheme, least", [("a8w8", 20), ("a16w8", 30)])
def test_a_float_model_is_quantized_and_runs(quern, tmp_path, scheme, least):
    from quern.quantize import quantize
    path, out = tmp_path / "net.onnx", tmp_path / "q.onnx"
    path.write_bytes(conv_net(seed=1))
    assert quantize(path, out, [{"x": x} for x in images(3, 8)], scheme) == out
    s = quern.session(out, backend="htp", soc="sm8650")
    float_net = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    got, want = zip(*[(s.run(None, {"x": x})[0], float_net.run(None, {"x": x})[0])
                      for x in images(4, 4)])
    assert sqnr(np.stack(got), np.stack(want)) > least


def test_an_unknown_scheme_is_refused(quern, tmp_path):
    from quern.quantize import quantize
    with pytest.raises(ValueError, match="no scheme 'a8w9'; expected one of a8w8"):
        quantize(tmp_path / "x", tmp_path / "y", [{}], "a8w9")


def test_the_version_is_that_of_the_build(quern):
    text = (ROOT / "CMakeLists.txt").read_text()
    assert re.search(r"project\(Quern VERSION ([0-9.]+)", text).group(1) == quern.__version__


def test_the_libraries_load_where_the_c_library_is_older(quern):
    """Ubuntu 22.04 has glibc 2.35: no symbol may need a newer one."""
    for library in quern.libs().glob("*.so"):
        text = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True,
                              capture_output=True, text=True).stdout
        needs = [tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([0-9.]+)", text)]
        assert needs and max(needs) <= (2, 35), library.name
