# SPDX-License-Identifier: MIT
"""Sessions that write their graphs as DLC files: what is in them computes what the session does."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from provider import HTP, LIB, session

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "clients"), str(HERE.parent / "cli")]
from dlc_file import Dlc  # noqa: E402
from ort_models import conv_net  # noqa: E402

NET = conv_net(seed=1)
X = np.random.default_rng(2).standard_normal((1, 3, 20, 17)).astype(np.float32)
DUMP = {"dump_qnn_ir_dlc": "1"}
QUERN = LIB.parent / "bin" / "quern"


def computed(dlc, folder, *args):
    np.save(folder / "x.npy", X)
    subprocess.run([QUERN, "run", dlc, folder / "x.npy", "-o", folder / "out", *args], check=True,
                   capture_output=True, timeout=120)
    return np.load(folder / "out" / "output_0.npy")


@pytest.mark.parametrize("options, args", [({"backend_type": "cpu"}, ()), (HTP, ("--soc", "57"))])
def test_each_graph_is_written(options, args, tmp_path):
    want = session(NET, options).run(None, {"x": X})[0]
    folder = tmp_path / "made" / "here"
    s = session(NET, {**options, **DUMP, "dump_qnn_ir_dlc_dir": str(folder)})
    file, = folder.iterdir()
    name, = Dlc(file).graphs
    assert file.name == name + ".dlc"
    if QUERN.exists():
        assert np.array_equal(computed(file, tmp_path, *args), want)
    with pytest.raises(Exception):
        s.run(None, {"x": X})


def test_the_working_directory_is_the_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session(NET, {"backend_type": "cpu", **DUMP})
    assert [f.suffix for f in tmp_path.iterdir()] == [".dlc"]


def test_the_library_can_be_chosen(tmp_path):
    other = tmp_path / "libOther.so"
    other.write_bytes((LIB / "libQnnIr.so").read_bytes())
    s = session(NET, {"backend_type": "cpu", **DUMP, "dump_qnn_ir_dlc_dir": str(tmp_path / "dlc"),
                      "qnn_ir_backend_path": str(other)})
    assert s
    assert str(other) in Path("/proc/self/maps").read_text()
    with pytest.raises(Exception, match="/nowhere/libQnnIr.so"):
        session(NET, {"backend_type": "cpu", **DUMP, "qnn_ir_backend_path": "/nowhere/libQnnIr.so"})


def test_options_that_contradict_each_other(tmp_path, capfd):
    with pytest.raises(Exception, match="qnn_saver_path and dump_qnn_ir_dlc: only one"):
        session(NET, {"backend_type": "cpu", **DUMP, "qnn_saver_path": str(LIB / "libQnnSaver.so")})
    session(NET, {"backend_type": "cpu", "dump_qnn_ir_dlc_dir": str(tmp_path)}, level=2)
    assert "dump_qnn_ir_dlc_dir has no effect without dump_qnn_ir_dlc" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
