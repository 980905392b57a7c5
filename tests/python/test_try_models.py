# SPDX-License-Identifier: MIT
"""The script that tries models on the provider: a row for each form, and what is refused."""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.provider
ROW = re.compile(r"net +(\w+) +(\d+) partitions? +(\d+) of +(\d+) nodes +(\S+) dB")


def test_rows_and_refusals(quern, tmp_path):
    """A convolution, and an LSTM that has no 16-bit form."""
    r = np.random.default_rng(0)
    weights = {"w": r.standard_normal((4, 2, 3, 3)) / 4, "b": r.standard_normal(4),
               "lw": r.standard_normal((1, 12, 16)) / 4, "lr": r.standard_normal((1, 12, 3)) / 4}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Reshape", ["c", "rows"], ["s"], "rows"),
             helper.make_node("LSTM", ["s", "lw", "lr"], ["y"], "lstm", hidden_size=3)]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 1, 1, 3])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()]
        + [numpy_helper.from_array(np.int64([8, 1, 16]), "rows")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
         tmp_path / "net.onnx")
    said = subprocess.run([sys.executable, ROOT / "scripts" / "try_models.py",
                           tmp_path / "net.onnx"], check=True, text=True, capture_output=True,
                          env={**os.environ, "QUERN_LIB_DIR": str(quern.libs())}).stdout
    rows = {form: (int(parts), int(taken), int(nodes_), float(decibels))
            for form, parts, taken, nodes_, decibels in ROW.findall(said)}
    assert list(rows) == ["float", "float16", "a8w8", "a16w8"]
    assert rows["float"][:3] == rows["float16"][:3] == (1, 3, 3)
    assert all(row[3] > least for row, least in zip(rows.values(), (100, 45, 25, 60)))
    refused = said.split("a16w8")[1]
    assert re.search(r"^    lstm \(LSTM\): this op has no 16-bit form here", refused, re.M)
    assert "(LSTM)" not in said.split("a16w8")[0]
