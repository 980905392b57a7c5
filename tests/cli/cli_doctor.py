# SPDX-License-Identifier: MIT
"""quern doctor on the SDK folder and on the clients: one test a verdict, with made-up folders and a
Python that says what the test wants."""
import json
import os
import platform
from pathlib import Path

import pytest

from harness import FAILURE, OK, USAGE, ok, quern

LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
X86 = platform.machine() == "x86_64"
TARGET = "x86_64-linux-clang" if X86 else "aarch64-oe-linux-gcc11.2"
FILES = [f"lib/{TARGET}/libQnnHtp.so", f"lib/{TARGET}/libQnnSystem.so",
         f"lib/{TARGET}/libQnnCpu.so", "include/QNN/QnnInterface.h",
         "include/QNN/HTP/QnnHtpDevice.h", "sdk.yaml"]
ORT = {"onnxruntime": "1.31.1", "onnxruntime-qnn": "2.7.0"}
ET = {"executorch": "1.5.1", "torch": "2.13.0+cpu", "torchao": "0.18.0"}
# Of clients that are called otherwise.
PACKAGES = {"litert": "ai-edge-litert", "genai": "onnxruntime-genai", "olive": "olive-ai"}


@pytest.fixture
def sdk(tmp_path):
    root = tmp_path / "sdk"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".so"):
            (root / name).symlink_to(LIBS / Path(name).name)
        else:
            (root / name).write_text("")
    return root


@pytest.fixture
def python(tmp_path):
    """A program that prints the given packages, whatever it is asked."""
    def make(packages, code=0):
        path = tmp_path / "python"
        lines = "".join(f"echo {name} {version}\n" for name, version in packages.items())
        path.write_text(f"#!/bin/sh\n{lines}exit {code}\n")
        path.chmod(0o755)
        return path
    return make


def verdict(check, *args, code=OK, **env):
    """(grade, text, fix) of one check."""
    clean = {"QNN_SDK_ROOT": None, "LD_LIBRARY_PATH": None, **env}
    old = {k: os.environ.get(k) for k in clean}
    try:
        for k, v in clean.items():
            os.environ.pop(k, None) if v is None else os.environ.__setitem__(k, str(v))
        p = quern("doctor", "--json", *args)
    finally:
        for k, v in old.items():
            os.environ.pop(k, None) if v is None else os.environ.__setitem__(k, v)
    assert p.returncode == code, p.stdout + p.stderr
    (row,) = [c for c in json.loads(p.stdout)["checks"] if c["check"] == check]
    return row["grade"], row["text"], row["fix"]


def test_a_whole_sdk_folder(sdk, tmp_path):
    grade, text, fix = verdict("SDK folder", "--sdk", sdk)
    assert grade == "ok" and fix == "" and text == f"{sdk} (--sdk) has what clients open"
    assert verdict("SDK folder", QNN_SDK_ROOT=sdk)[1].startswith(f"{sdk} (QNN_SDK_ROOT)")
    grade, text, fix = verdict("SDK folder")
    assert grade == "ok" and "QNN_SDK_ROOT is not set" in text and "--sdk build/sdk" in fix


@pytest.mark.parametrize("name", FILES)
def test_an_sdk_folder_that_lacks_a_file(sdk, name):
    (sdk / name).unlink()
    grade, text, fix = verdict("SDK folder", "--sdk", sdk, code=FAILURE)
    assert grade == "problem" and text == f"{sdk} (--sdk) lacks {name}"
    assert fix == f"make install PREFIX={sdk} in Quern's sources"


def test_no_folder_and_a_library_that_is_none(sdk, tmp_path):
    grade, text, _ = verdict("SDK folder", "--sdk", tmp_path / "none", code=FAILURE)
    assert grade == "problem" and "is not a folder" in text
    (sdk / FILES[0]).unlink()
    (sdk / FILES[0]).write_bytes(b"no library")
    grade, text, _ = verdict("SDK folder", "--sdk", sdk, code=FAILURE)
    assert grade == "problem" and "libQnnHtp.so does not work" in text


@pytest.mark.parametrize("client", ["onnxruntime-qnn", "executorch", "litert", "genai", "olive"])
def test_a_client_that_is_not_installed(sdk, python, client):
    p, package = python({"torch": "2.13.0"}), PACKAGES.get(client, client)
    grade, text, fix = verdict(client, "--sdk", sdk, "--python", p)
    assert grade == "ok" and text == f"{p} has no package {package}"
    if X86:
        assert fix.startswith(f"{p} -m pip install {package}==")
    grade, again, _ = verdict(client, "--sdk", sdk, "--python", p, "--client", client,
                              code=FAILURE)
    assert grade == "problem" and again == text


@pytest.mark.parametrize("client", ["onnxruntime-qnn", "executorch", "litert", "sherpa-onnx"])
def test_a_python_that_does_not_run(python, tmp_path, client):
    for program in (tmp_path / "none", python({}, code=3)):
        grade, text, fix = verdict(client, "--python", program, "--client", client, code=FAILURE)
        assert grade == "problem" and "does not run" in text and "--python" in fix


def test_onnxruntime_qnn_is_told_its_backend_path(sdk, python):
    grade, text, fix = verdict("onnxruntime-qnn", "--sdk", sdk, "--python", python(ORT))
    assert grade == "ok" and text.startswith("2.7.0 with onnxruntime 1.31.1;")
    assert fix == f'give the provider {{"backend_path": "{sdk}/lib/{TARGET}/libQnnHtp.so"}}'
    # Without an SDK folder: where this program's own libraries are.
    fix = verdict("onnxruntime-qnn", "--python", python(ORT))[2]
    assert f'"{LIBS}/libQnnHtp.so"' in fix


@pytest.mark.parametrize("found, grade, says", [
    ({"onnxruntime-qnn": "2.7.0"}, "problem", "needs onnxruntime 1.24.2 or newer, found none"),
    ({**ORT, "onnxruntime": "1.24.1"}, "problem", "found 1.24.1"),
    ({**ORT, "onnxruntime": "1.9"}, "problem", "found 1.9"),
    ({**ORT, "onnxruntime": "1.24.2"}, "ok", "with onnxruntime 1.24.2"),
    ({**ORT, "onnxruntime": "2.0"}, "ok", "with onnxruntime 2.0"),
    ({**ORT, "onnxruntime-qnn": "3.0.0"}, "warning", "tested is 2.7.0")])
def test_versions_of_onnxruntime_qnn(sdk, python, found, grade, says):
    got, text, fix = verdict("onnxruntime-qnn", "--sdk", sdk, "--python", python(found),
                             code=FAILURE if grade == "problem" else OK)
    assert got == grade and says in text
    assert grade != "problem" or "pip install 'onnxruntime>=1.24.2'" in fix


def test_onnxruntime_qnn_without_libraries(tmp_path, python):
    (tmp_path / "empty").mkdir()
    grade, text, _ = verdict("onnxruntime-qnn", "--sdk", tmp_path / "empty", "--python",
                             python(ORT), "--client", "onnxruntime-qnn", code=FAILURE)
    assert grade == "problem" and "backend_path" in text


def test_executorch_that_is_well(sdk, python):
    grade, text, fix = verdict("executorch", "--python", python(ET), "--client", "executorch",
                               QNN_SDK_ROOT=sdk, LD_LIBRARY_PATH=f"/none:{sdk}/lib/{TARGET}")
    assert grade == "ok" and fix == ""
    assert text == "1.5.1 with torch 2.13.0+cpu and torchao 0.18.0 finds the libraries"


def test_executorch_without_its_variables(sdk, python, tmp_path):
    p, lib = python(ET), f"{sdk}/lib/{TARGET}"
    ask = lambda **env: verdict("executorch", "--sdk", sdk, "--python", p, "--client",
                                "executorch", code=FAILURE, **env)
    grade, text, fix = ask(LD_LIBRARY_PATH=lib)
    assert grade == "problem" and "QNN_SDK_ROOT is not set" in text
    assert fix == f"export QNN_SDK_ROOT={sdk}"
    grade, text, fix = ask(QNN_SDK_ROOT=tmp_path, LD_LIBRARY_PATH=lib)
    assert grade == "problem" and "the process would abort" in text
    grade, text, fix = ask(QNN_SDK_ROOT=sdk)
    assert grade == "problem" and text == "no folder of LD_LIBRARY_PATH has libQnnHtp.so"
    assert fix == f"export LD_LIBRARY_PATH={lib}:$LD_LIBRARY_PATH, before Python starts"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "libQnnHtp.so").write_bytes(b"another")
    grade, text, fix = ask(QNN_SDK_ROOT=sdk, LD_LIBRARY_PATH=f"{tmp_path}/other:{lib}")
    assert grade == "problem" and f"{tmp_path}/other/libQnnHtp.so before that of" in text
    # Without --client the same is a warning.
    assert verdict("executorch", "--sdk", sdk, "--python", p)[0] == "warning"


@pytest.mark.parametrize("lacking", ["torch", "torchao"])
def test_executorch_without_torch(sdk, python, lacking):
    found = {k: v for k, v in ET.items() if k != lacking}
    grade, text, fix = verdict("executorch", "--python", python(found), "--client", "executorch",
                               code=FAILURE, QNN_SDK_ROOT=sdk, LD_LIBRARY_PATH=LIBS)
    assert grade == "problem" and text == f"executorch 1.5.1 is there, but not {lacking}"
    assert "pip install torch torchao==0.18.0" in fix


def test_another_version_of_executorch(sdk, python):
    grade, text, _ = verdict("executorch", "--python", python({**ET, "executorch": "1.6.0"}),
                             QNN_SDK_ROOT=sdk, LD_LIBRARY_PATH=LIBS)
    assert grade == "warning" and "tested is 1.5.1" in text


def test_as_text(sdk, python):
    text = ok("doctor", "--sdk", sdk, "--python", python(ORT)).stdout
    assert f"ok       SDK folder       {sdk} (--sdk) has what clients open\n" in text
    assert '-> give the provider {"backend_path": ' in text
    assert quern("doctor", "--client", "tflite").returncode == USAGE


def test_litert_is_told_its_folder(sdk, python):
    folder = sdk / "lib" / TARGET
    for name in ("libLiteRtDispatch_Quern.so", "libQnnIr.so"):
        grade, text, fix = verdict("litert", "--sdk", sdk, "--python",
                                   python({"ai-edge-litert": "2.3.0"}))
        assert grade == "warning" and "no folder with libLiteRtDispatch_Quern.so" in text
        (folder / name).symlink_to(LIBS / name)
    grade, text, fix = verdict("litert", "--sdk", sdk, "--python",
                               python({"ai-edge-litert": "2.3.0"}), "--client", "litert")
    assert grade == "ok" and text == "ai-edge-litert 2.3.0"
    assert f"LD_LIBRARY_PATH={folder}," in fix and f'dispatch_library_path="{folder}"' in fix
    grade, text, _ = verdict("litert", "--sdk", sdk, "--python", python({"ai-edge-litert": "9.9"}))
    assert grade == "warning" and "tested is 2.3.0" in text


@pytest.mark.parametrize("check, package", [("genai", "onnxruntime-genai"), ("olive", "olive-ai")])
def test_clients_that_hand_on_a_path(sdk, python, check, package):
    grade, text, fix = verdict(check, "--sdk", sdk, "--python", python({package: "1.2.3"}))
    assert grade == "ok" and text == f"{package} 1.2.3"
    assert fix.endswith(f'"backend_path": "{sdk}/lib/{TARGET}/libQnnHtp.so"')
    assert verdict(check, "--python", python({}))[1].endswith(f"has no package {package}")


def test_mnn_needs_the_loader_path(sdk):
    folder = sdk / "lib" / TARGET
    grade, text, fix = verdict("mnn", "--sdk", sdk)
    assert grade == "ok" and text.endswith("LD_LIBRARY_PATH has none")
    assert fix == f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH"
    grade, text, fix = verdict("mnn", "--sdk", sdk, LD_LIBRARY_PATH=folder)
    assert (grade, text, fix) == ("ok", f"LD_LIBRARY_PATH finds {folder}/libQnnHtp.so", "")
    assert verdict("mnn", "--sdk", sdk, "--client", "mnn", code=FAILURE)[0] == "problem"


def test_mnn_hears_of_another_library_in_front(sdk, tmp_path):
    (tmp_path / "libQnnHtp.so").write_text("")
    folder = sdk / "lib" / TARGET
    grade, text, fix = verdict("mnn", "--sdk", sdk, LD_LIBRARY_PATH=f"{tmp_path}:{folder}")
    assert grade == "warning" and f"{tmp_path}/libQnnHtp.so first" in text and str(folder) in fix


@pytest.mark.parametrize("check, package, option", [
    ("sherpa-onnx", "sherpa-onnx", "--qnn-backend-lib={}/libQnnHtp.so"),
    ("qai_appbuilder", "qai-appbuilder", 'QNNConfig.Config("{}")')])
def test_clients_that_are_given_the_folder(sdk, python, check, package, option):
    grade, text, fix = verdict(check, "--sdk", sdk, "--python", python({package: "1.2.3"}))
    assert grade == "ok" and text == f"{package} 1.2.3"
    assert option.format(sdk / "lib" / TARGET) in fix
    for wanted, grade, code in (((), "ok", 0), (("--client", check), "problem", FAILURE)):
        found = verdict(check, "--python", python({}), *wanted, code=code)
        assert found[0] == grade and found[1].endswith(f"has no package {package}")
        assert found[2].startswith("build it from its sources")
