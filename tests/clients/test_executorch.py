# SPDX-License-Identifier: MIT
"""The public executorch wheel as a client: models are lowered on our libQnnHtp.so and run in Python
and by our runner, with equal bytes; programs of the tests' own writer run there as they do here.

Needs QUERN_LIB_DIR (our libraries), QUERN_RUNNER and the executorch package.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("executorch.runtime", reason="the executorch package is not installed")

HERE = Path(__file__).resolve().parent
LIB = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
RUNNER = Path(os.environ.get("QUERN_RUNNER", "build/bin/qnn_executor_runner")).resolve()

# Lowers one model and runs it in Python: in a process of its own, because the loader reads
# LD_LIBRARY_PATH only at the start.
LOWER = '''
import sys
from pathlib import Path
import numpy as np, torch
from executorch.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype
from executorch.backends.qualcomm.serialization.qc_schema import QcomChipset
from executorch.backends.qualcomm.utils import utils as qnn
from executorch.exir.capture._config import ExecutorchBackendConfig
from executorch.runtime import Runtime
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

quant, out = sys.argv[1], Path(sys.argv[2])
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(512, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


net, inputs = Net().eval(), (torch.randn(1, 3, 8, 8),)
with torch.no_grad():
    if quant != "none":
        quantizer = QnnQuantizer()
        quantizer.set_default_quant_config(QuantDtype["use_" + quant])
        prepared = prepare_pt2e(torch.export.export(net, inputs).module(), quantizer)
        prepared(*inputs)
        net = convert_pt2e(prepared)
    spec = qnn.generate_qnn_executorch_compiler_spec(
        soc_model=QcomChipset.SM8650,
        backend_options=qnn.generate_htp_compiler_spec(use_fp16=quant == "none"))
    lowered = qnn.to_edge_transform_and_lower_to_qnn(net, inputs, spec)
    program = lowered.to_executorch(ExecutorchBackendConfig(segment_alignment=256))
(out / "model.pte").write_bytes(program.buffer)
method = Runtime.get().load_program(out / "model.pte").load_method("forward")
for i in range(3):
    x = torch.randn(1, 3, 8, 8)
    x.numpy().tofile(out / f"in_{i}.raw")
    method.execute([x])[0].numpy().tofile(out / f"want_{i}.raw")
'''


@pytest.mark.parametrize("quant", ["none", "8a8w", "16a8w"])
def test_the_runner_gives_the_bytes_that_python_gives(tmp_path, quant):
    sdk = tmp_path / "sdk" / "lib"
    sdk.mkdir(parents=True)
    (sdk / "x86_64-linux-clang").symlink_to(LIB)
    env = {**os.environ, "QNN_SDK_ROOT": str(tmp_path / "sdk"),
           "LD_LIBRARY_PATH": f"{LIB}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    p = subprocess.run([sys.executable, "-c", LOWER, quant, str(tmp_path)], env=env,
                       capture_output=True, text=True, timeout=300)
    assert p.returncode == 0, p.stderr[-3000:]
    (tmp_path / "list.txt").write_text("in_0.raw\nin_1.raw\nin_2.raw\n")
    p = subprocess.run([RUNNER, "--model_path=model.pte", "--input_list_path=list.txt",
                        "--output_folder_path=."], cwd=tmp_path, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    for i in range(3):
        want = (tmp_path / f"want_{i}.raw").read_bytes()
        assert len(want) == 40 and (tmp_path / f"output_{i}_0.raw").read_bytes() == want


def test_programs_of_our_writer_run_in_the_wheel(tmp_path):
    """So what our reader's tests read is what ExecuTorch takes for a program, too."""
    import numpy as np
    import torch
    from executorch.runtime import Runtime
    sys.path.insert(0, str(HERE.parent / "executorch"))
    from pte_writer import Program, Ref
    p = Program()
    m = p.method()
    x, y, z = m.input((2, 3)), m.tensor((2, 3)), m.tensor((3, 2))
    c = m.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    m.call("aten::add.out", Ref(x), Ref(c), 2, Ref(y), Ref(y))
    m.call("aten::permute_copy.out", Ref(y), [1, 0], Ref(z), Ref(z))
    m.output(z)
    (tmp_path / "m.pte").write_bytes(p.bytes())
    v = torch.arange(6, dtype=torch.float32).reshape(2, 3) * 0.5
    v.numpy().tofile(tmp_path / "x.raw")
    want = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([v])[0]
    assert torch.equal(want, (v + 2 * torch.arange(6).reshape(2, 3)).T)
    (tmp_path / "list.txt").write_text("x.raw\n")
    p = subprocess.run([RUNNER, "--model_path=m.pte", "--input_list_path=list.txt",
                        "--output_folder_path=."], cwd=tmp_path, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert (tmp_path / "output_0_0.raw").read_bytes() == want.contiguous().numpy().tobytes()
