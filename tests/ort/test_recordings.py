# SPDX-License-Identifier: MIT
"""Sessions on the Saver: what they would do on a backend becomes a program, whose outputs are those
of a session on that backend, byte for byte."""
import sys
from pathlib import Path

import numpy as np
import pytest

from provider import HTP, LIB, session

sys.path.append(str(Path(__file__).resolve().parent.parent / "clients"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "saver"))
from ort_models import conv_net  # noqa: E402
from recording import compiled, replayed  # noqa: E402

NET = conv_net(seed=1)
X = np.random.default_rng(2).standard_normal((1, 3, 20, 17)).astype(np.float32)
SAVER = {"qnn_saver_path": str(LIB / "libQnnSaver.so")}


def ran(options):
    s = session(NET, options)
    return s.run(None, {"x": X})[0]


@pytest.fixture
def recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "saver_output"


def test_the_saver_is_a_backend(recording):
    ran({"backend_type": "saver"})  # outputs are whatever was there
    got = replayed(compiled(recording), LIB / "libQnnCpu.so")
    assert got == [ran({"backend_type": "cpu"}).tobytes()]


def test_the_saver_stands_for_the_htp_with_its_options(recording):
    options = {**HTP, "htp_performance_mode": "burst", "vtcm_mb": "4",
               "htp_graph_finalization_optimization_mode": "3"}
    ran({**options, **SAVER})
    text = (recording / "saver_output.c").read_text()
    assert ".socModel = 57" in text and ".vtcmSizeInMB = 4" in text
    assert "perf()->setPowerConfig(power_0, " in text and "does not describe" not in text
    got = replayed(compiled(recording), LIB / "libQnnHtp.so")
    assert got == [ran(options).tobytes()]


def test_a_profile_of_the_saver_is_empty(recording, tmp_path):
    table = tmp_path / "profile.csv"
    ran({**HTP, **SAVER, "profiling_level": "detailed", "profiling_file_path": str(table)})
    assert '"profileGetEvents"' in (recording / "saver_output.c").read_text()
    assert not table.exists() or len(table.read_text().splitlines()) <= 1
