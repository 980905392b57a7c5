# SPDX-License-Identifier: MIT
"""The public executorch wheel with its saver option: lowering a model leaves a recording, which
finalizes on our libQnnHtp.so."""
import importlib.util
import sys
from pathlib import Path

import pytest

if not importlib.util.find_spec("executorch") or not importlib.util.find_spec("torch"):
    pytest.skip("torch and executorch are not installed (scripts/setup.sh clients)",
                allow_module_level=True)

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "saver"))
from recording import compiled, replayed  # noqa: E402
from test_executorch import LIB, python  # noqa: E402

PROGRAM = '''
import sys
sys.path.append(sys.argv[1])
import torch
from executorch.backends.qualcomm.serialization.qc_schema_serialize import (flatbuffer_to_option,
                                                                            option_to_flatbuffer)
from executorch_models import MODELS, QcomChipset, qnn, quantized
torch.manual_seed(0)
make, shapes = MODELS["conv"]
inputs = tuple(torch.randn(s) for s in shapes)
spec = qnn.generate_qnn_executorch_compiler_spec(
    soc_model=QcomChipset.SM8650, saver=True,
    backend_options=qnn.generate_htp_compiler_spec(use_fp16=False))
option = flatbuffer_to_option(spec[0].value)
option.saver_output_dir = sys.argv[2]
spec[0].value = option_to_flatbuffer(option)
try:
    qnn.to_edge_transform_and_lower_to_qnn(quantized(make().eval(), inputs, "8a8w"), inputs, spec)
except SystemExit as e:
    print("EXIT", e)
'''


@pytest.mark.slow
def test_lowering_with_the_saver_leaves_a_recording(tmp_path, monkeypatch):
    monkeypatch.setenv("QUERN_SAVER_BACKEND", "htp")
    out = python(tmp_path, "-c", PROGRAM, HERE, tmp_path / "recording")
    assert "EXIT Record all QNN API calls" in out
    text = (tmp_path / "recording" / "saver_output.c").read_text()
    assert '"graphFinalize"' in text and ".socModel = 57" in text
    assert replayed(compiled(tmp_path / "recording"), LIB / "libQnnHtp.so") == []
