# SPDX-License-Identifier: MIT
"""What our library refuses, in the log of the public executorch wheel: one line a node, with the
thing and the fix; lowering goes on without the node."""
import os
import subprocess
import sys

import pytest

pytest.importorskip("executorch.runtime", reason="the executorch package is not installed")

from sdk import install  # noqa: E402

LOWER = '''
import torch
from executorch.backends.qualcomm.serialization.qc_schema import QcomChipset
from executorch.backends.qualcomm.utils import utils as qnn


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


spec = qnn.generate_qnn_executorch_compiler_spec(
    soc_model=QcomChipset.SM8650, backend_options=qnn.generate_htp_compiler_spec(use_fp16=True))
x = torch.ones(1, 1, 1, 2, 1, 8)
program = qnn.to_edge_transform_and_lower_to_qnn(Net().eval(), (x,), spec)
print("left to others:", *(n.name for n in program.exported_program().graph.nodes))
'''


def test_a_rank_that_the_htp_lacks(tmp_path):
    sdk = install(tmp_path / "sdk")
    env = {**os.environ, "QNN_SDK_ROOT": str(sdk),
           "LD_LIBRARY_PATH": f"{sdk}/lib/x86_64-linux-clang"}
    p = subprocess.run([sys.executable, "-c", LOWER], capture_output=True, text=True, env=env,
                       timeout=300)
    assert p.returncode == 0, p.stderr[-3000:]
    assert "left to others:" in p.stdout and "aten_relu_default" in p.stdout
    line, = [t for t in (p.stdout + p.stderr).splitlines() if "node 'aten_relu_default'" in t]
    assert line.startswith("[ERROR] [Qnn ExecuTorch]: node 'aten_relu_default' (Relu): input 0")
    assert ": rank 6, HTP supports at most 5" in line
