# SPDX-License-Identifier: MIT
"""No wrong answer in silence: what cannot be right is refused, or said in one line."""
import json

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import FAILURE, model, ok, quern


def unary(path, op):
    return model(path, [h.make_node(op, ["x"], ["y"], name=op.lower())], {"x": (T.FLOAT, [1, 4])},
                 {"y": (T.FLOAT, [1, 4])})


@pytest.mark.parametrize("x", [[-1, -2, -3, -4], [-1, 2, 3, 4]])
def test_values_that_are_nan_on_one_side_are_a_difference(tmp_path, x):
    log, relu = unary(tmp_path / "log.onnx", "Log"), unary(tmp_path / "relu.onnx", "Relu")
    np.save(tmp_path / "x.npy", np.array([x], np.float32))
    n = sum(v < 0 for v in x)
    for one, other in (log, relu), (relu, log):
        p = quern("run", one, tmp_path / "x.npy", "--against", other)
        assert p.returncode == FAILURE
        assert "equal" not in p.stdout and "-inf" in p.stdout and f"{n} not finite" in p.stdout
        assert f"output 'y': {n} of 4 values are NaN or infinite on one side" in p.stderr
        p = quern("run", one, tmp_path / "x.npy", "--against", other, "--json")
        row = json.loads(p.stdout)["comparison"][0]
        assert p.returncode == FAILURE
        found = row["equal"], row["not_finite"], row["sqnr_db"], row["cosine"]
        assert found == (False, n, None, 0)


def test_values_that_are_nan_on_both_sides_are_counted(tmp_path):
    log = unary(tmp_path / "log.onnx", "Log")
    np.save(tmp_path / "x.npy", np.array([[-1, -2, -3, 4]], np.float32))
    p = ok("run", log, tmp_path / "x.npy", "--against", log)
    assert "equal" in p.stdout and "3 not finite on both sides" in p.stdout
