# SPDX-License-Identifier: MIT
"""QUERN_HTP_RESTART: a crash of the modelled accelerator, ordered from outside."""
import numpy as np
import pytest

from harness import OK, add_relu, ok, quern


@pytest.fixture
def run(tmp_path):
    net = add_relu(tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    return ["run", net, tmp_path / "x.npy", "--soc", "SM8650"]


@pytest.mark.parametrize("order, says", [("1", "crashed during the call and was restarted"),
                                         ("1,fatal", "did not come back"),
                                         ("2", "restarted")])
def test_the_call_fails_in_words(run, order, says):
    p = quern(*run, env={"QUERN_HTP_RESTART": order})
    assert p.returncode != OK and says in p.stderr, p.stderr


def test_a_call_that_is_never_reached_changes_nothing(run):
    assert ok(*run, env={"QUERN_HTP_RESTART": "1000"}).stdout == ok(*run).stdout


@pytest.mark.parametrize("order", ["0", "soon", "3,never", "-1", "99999999999", "2,"])
def test_what_is_no_order_is_named(run, order):
    p = ok(*run, env={"QUERN_HTP_RESTART": order, "QUERN_LOG": "-"})
    assert f"QUERN_HTP_RESTART is '{order}'" in p.stderr + p.stdout
