# SPDX-License-Identifier: MIT
"""Snippets in the form in which ONNX Runtime's pages about QNN print them: their calls, names and
file names run after `import quern`, and what comes out is what ONNX Runtime computes."""
import json
import re

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from installed import ROOT
from opencl import needs_gpu

pytestmark = pytest.mark.provider

DATA_READER = """
import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader

class DataReader(CalibrationDataReader):
    def __init__(self, model_path: str):
        self.enum_data = None
        session = onnxruntime.InferenceSession(model_path, providers=['CPUExecutionProvider'])
        inputs = session.get_inputs()
        self.data_list = []
        for _ in range(10):
            input_data = {inp.name : np.random.random(inp.shape).astype(np.float32)
                          for inp in inputs}
            self.data_list.append(input_data)
        self.datasize = len(self.data_list)

    def get_next(self):
        if self.enum_data is None:
            self.enum_data = iter(self.data_list)
        return next(self.enum_data, None)

    def rewind(self):
        self.enum_data = None
"""
QUANTIZE = """
import data_reader
import numpy as np
import onnx
from onnxruntime.quantization import QuantType, quantize
from onnxruntime.quantization.execution_providers.qnn import (get_qnn_qdq_config,
                                                              qnn_preprocess_model)

if __name__ == "__main__":
    input_model_path = "model.onnx"
    output_model_path = "model.qdq.onnx"
    my_data_reader = data_reader.DataReader(input_model_path)
    preproc_model_path = "model.preproc.onnx"
    model_changed = qnn_preprocess_model(input_model_path, preproc_model_path)
    model_to_quantize = preproc_model_path if model_changed else input_model_path
    qnn_config = get_qnn_qdq_config(model_to_quantize,
                                    my_data_reader,
                                    activation_type=QuantType.QUInt16,
                                    weight_type=QuantType.QUInt8)
    quantize(model_to_quantize, output_model_path, qnn_config)
"""
RUN = """
import onnxruntime
import numpy as np

options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
session = onnxruntime.InferenceSession("model.qdq.onnx",
                                       sess_options=options,
                                       providers=["QNNExecutionProvider"],
                                       provider_options=[{"backend_path": "QnnHtp.dll"}])
input0 = np.ones((1,3,224,224), dtype=np.float32)
result = session.run(None, {"input": input0})
print(result)
"""
USAGE = """
import onnxruntime as ort
model_path = "model.onnx"
sess = ort.InferenceSession(model_path, providers=['QNNExecutionProvider'],
                            provider_options=[{'backend_path':'%s'}])
"""
CONTEXT = """
import onnxruntime

options = onnxruntime.SessionOptions()
options.add_session_config_entry("ep.context_enable", "1")
options.add_session_config_entry("ep.context_file_path", "./model_a_ctx.onnx")
options.add_session_config_entry("ep.context_embed_mode", "1")
session = onnxruntime.InferenceSession("model.onnx", sess_options=options,
                                       providers=["QNNExecutionProvider"],
                                       provider_options=[{"backend_path": "QnnHtp.dll"}])
"""
SEE = "\nimport json\nprint('SEEN', json.dumps(%s))\n"


@pytest.fixture
def model(python):
    """model.onnx of the snippets, in the folder they run in."""
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 0.02, (8, 3, 32, 32)).astype(np.float32)
    save(helper.make_model(helper.make_graph(
        [helper.make_node("Conv", ["input", "w"], ["c"], "conv", strides=[32, 32]),
         helper.make_node("Relu", ["c"], ["output"], "relu")], "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 8, 7, 7])],
        [numpy_helper.from_array(weights, "w")]), ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)]), python.folder / "model.onnx")
    return python.folder / "model.onnx"


def seen(ran):
    return json.loads(re.search(r"^SEEN (.*)$", ran.stdout, re.M).group(1))


@pytest.mark.quantizer
def test_the_three_programs_that_quantize_and_run_a_model(python, model):
    for name, text in (("data_reader.py", DATA_READER), ("quantize_model.py", QUANTIZE),
                       ("run_qdq_model.py", "import quern" + RUN + SEE %
                        "[session.get_providers(), result[0].tolist()]")):
        (python.folder / name).write_text(text)
    python("quantize_model.py", PYTHONPATH=str(python.folder))
    providers, values = seen(python("run_qdq_model.py"))
    assert providers[0] == "QNNExecutionProvider"
    want = ort.InferenceSession(python.folder / "model.qdq.onnx").run(
        None, {"input": np.ones((1, 3, 224, 224), np.float32)})[0]
    assert np.max(np.abs(np.array(values) - want)) <= 2 * want.max() / 65535 + 1e-6


@pytest.mark.parametrize("name, first", [
    ("QnnHtp.dll", "quern"), ("QnnHtp.dll", "onnxruntime"), ("QnnCpu.dll", "quern"),
    ("libQnnHtp.so", "quern"), ("libQnnCpu.so", "quern"),
    (r"C:\\sdk\\lib\\QnnHtp.dll", "quern"), ("lib/QnnHtp.DLL", "quern"),
    pytest.param("QnnGpu.dll", "quern", marks=needs_gpu)])
def test_a_session_names_a_library_as_on_windows(python, model, name, first):
    text = f"import {first}\nimport quern\n" + USAGE % name
    text += ("import numpy as np\n"
             "x = np.linspace(-1, 1, 3 * 224 * 224, dtype='f').reshape(1, 3, 224, 224)\n")
    providers, values = seen(python("-c", text + SEE % (
        "[sess.get_providers(), sess.run(None, {'input': x})[0].tolist()]")))
    assert providers[0] == "QNNExecutionProvider"
    x = np.linspace(-1, 1, 3 * 224 * 224, dtype="f").reshape(1, 3, 224, 224)
    want = ort.InferenceSession(model).run(None, {"input": x})[0]
    assert np.allclose(values, want, atol=1e-2 * np.abs(want).max())


def test_context_models_are_written_and_loaded(python, model):
    text = "import quern" + CONTEXT + (
        "del session\nsession = onnxruntime.InferenceSession('model_a_ctx.onnx', "
        "providers=['QNNExecutionProvider'], provider_options=[{'backend_path': 'QnnHtp.dll'}])\n")
    assert seen(python("-c", text + SEE % "session.get_providers()"))[0] == "QNNExecutionProvider"
    assert (python.folder / "model_a_ctx.onnx").stat().st_size > 3 * 8 * 32 * 32


def test_sessions_that_do_not_name_it_stay_as_they_are(python, model):
    text = ("import quern, onnxruntime as ort\n"
            "a = ort.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])\n"
            "b = ort.InferenceSession('model.onnx')\n")
    assert seen(python("-c", text + SEE % "[a.get_providers(), 'QNNExecutionProvider' in "
                       "[d.ep_name for d in ort.get_ep_devices()]]")) == [["CPUExecutionProvider"],
                                                                         False]


def test_what_cannot_be_used_fails_and_does_not_fall_back(python, model):
    ran = python("-c", "import quern\nimport onnxruntime as ort\n"
                 "ort.InferenceSession('model.onnx', providers=['QNNExecutionProvider'], "
                 "provider_options=[{'backend_path': "
                 "'QnnNone.dll'}])", check=False)
    assert ran.returncode == 1 and "libQnnNone.so" in ran.stderr
    assert "Falling back" not in ran.stdout


def test_the_patch_can_be_undone(python, model):
    text = ("import quern, onnxruntime as ort\nbefore = ort.InferenceSession.__init__\n"
            "quern.patch_onnxruntime()\nagain = ort.InferenceSession.__init__ is before\n"
            "quern.patch_onnxruntime(False)\n")
    assert seen(python("-c", text + SEE % "[again, ort.InferenceSession.__init__ is before, "
                       "hasattr(ort.InferenceSession.__init__, '_quern_original')]")) == [
                           True, False, False]


@pytest.mark.parametrize("arguments", [
    "", ", providers=['QNNExecutionProvider']",
    ", providers=['QNNExecutionProvider', 'CPUExecutionProvider'], provider_options=[{}, {}]",
    ", providers=[('QNNExecutionProvider', {'backend_type': 'cpu', 'threads': 1})]",
    ", None, ['QNNExecutionProvider'], [{'backend_path': 'libQnnCpu.so'}]"])
def test_the_class_of_the_package_takes_the_same_arguments(python, model, arguments):
    text = ("import quern\nquern.patch_onnxruntime(False)\n"
            f"s = quern.InferenceSession('model.onnx'{arguments})")
    assert seen(python("-c", text + SEE % "s.get_providers()"))[0] == "QNNExecutionProvider"


def test_importing_the_package_does_not_load_onnxruntime(python):
    assert seen(python("-c", "import sys, quern" + SEE % "'onnxruntime' in sys.modules")) is False


def test_pages_show_the_snippet():
    assert "QnnHtp.dll" in (ROOT / "docs" / "python.md").read_text()
