# SPDX-License-Identifier: MIT
"""What a context model needs, told in its metadata, and what the host can ask beforehand."""
import re
import subprocess
import sys
from pathlib import Path

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as C

from provider import HTP, NAME, devices, needs_compatibility, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net  # noqa: E402

Answer = C.OrtCompiledModelCompatibility
pytestmark = needs_compatibility


@pytest.fixture(scope="module")
def info(tmp_path_factory):
    path = tmp_path_factory.mktemp("compat") / "c.onnx"
    session(conv_net(seed=1), HTP, {"ep.context_enable": "1", "ep.context_file_path": str(path)})
    return C.get_compatibility_info_from_model(str(path), NAME)


def ask(text):
    return C.get_model_compatibility_for_ep_devices(devices("npu")[:1], text)


def test_a_context_model_tells_what_it_needs(info):
    backend, sdk, api, blob, arch, driver = info.split(":")
    assert (backend, arch, driver) == ("6", "75", "0")
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", v) for v in (sdk, api, blob))


def test_the_same_library_is_the_best(info):
    assert ask(info) == Answer.EP_SUPPORTED_OPTIMAL


def changed(info, field, step):
    parts = info.split(":")
    numbers = [int(v) for v in parts[field].split(".")]
    numbers[min(1, len(numbers) - 1)] += step
    parts[field] = ".".join(map(str, numbers))
    return ":".join(parts)


@pytest.mark.parametrize("field, step, answer", [
    (1, -1, Answer.EP_SUPPORTED_PREFER_RECOMPILATION), (1, 1, Answer.EP_UNSUPPORTED),
    (2, -1, Answer.EP_SUPPORTED_PREFER_RECOMPILATION), (2, 1, Answer.EP_UNSUPPORTED),
    (4, 900, Answer.EP_UNSUPPORTED),
    (0, 100, Answer.EP_NOT_APPLICABLE),
])
def test_versions_are_compared(info, field, step, answer):
    assert ask(changed(info, field, step)) == answer


@pytest.mark.parametrize("text", ["", "nonsense", "6:2.40.0", "6:2.40:5.51.0:3.3.3:75:0",
                                  "x" * 10000, "6:2.40.0:5.51.0:3.3.3:75:0:more"])
def test_other_texts_are_not_ours(text):
    assert ask(text) == Answer.EP_NOT_APPLICABLE


# --- devices

def details(d):
    return C.get_hardware_device_ep_incompatibility_details(NAME, d.device)


def test_devices_whose_library_is_there_can_be_used():
    for kind in ("cpu", "npu"):
        assert details(devices(kind)[0])["reasons_bitmask"] == 0


ALONE = """
import os, shutil, sys, tempfile
sys.path[:0] = sys.argv[1:2]
import provider
from onnxruntime.capi import onnxruntime_pybind11_state as C
folder = tempfile.mkdtemp()
shutil.copy(provider.PLUGIN, folder)
provider.PLUGIN = os.path.join(folder, os.path.basename(provider.PLUGIN))
(cpu,) = provider.devices("cpu")
print(C.get_hardware_device_ep_incompatibility_details(provider.NAME, cpu.device))
open(os.path.join(folder, "libQnnCpu.so"), "w").write("no library")
print(C.get_hardware_device_ep_incompatibility_details(provider.NAME, cpu.device))
"""


def test_a_missing_library_is_the_reason():
    done = subprocess.run([sys.executable, "-c", ALONE, str(Path(__file__).parent)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    missing, spoiled = map(eval, done.stdout.splitlines())
    assert missing["reasons_bitmask"] == 4 and "libQnnCpu.so" in missing["notes"]
    assert spoiled["reasons_bitmask"] == 4 and "libQnnCpu.so" in spoiled["notes"]
