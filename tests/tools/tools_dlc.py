# SPDX-License-Identifier: MIT
"""qnn-net-run and qnn-context-binary-generator on DLC files that Quern wrote."""
import numpy as np
import pytest

from harness import (BIN, CPU, GENERATOR, HTP, NET_RUN, add_relu, files, ok, quantized, raw, read,
                     rejects)

A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
BIAS = np.array([10, 20, -30], np.float32)
DLC = ["--model", "libQnnModelDlc.so", "--dlc_path"]


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw("a.raw", A)
    (tmp_path / "a.txt").write_text("a.raw\n")
    for name, bias in (("one", BIAS), ("two", -BIAS)):
        add_relu(f"{name}.onnx", bias)
        ok("quern", "compile", f"{name}.onnx", "-o", f"{name}.dlc")
    return tmp_path


def relu(v):
    return np.maximum(v, 0).ravel()


@pytest.mark.parametrize("backend", [CPU, HTP])
@pytest.mark.parametrize("library", ["libQnnModelDlc.so", None])
def test_a_file_runs(box, backend, library):
    library = library or BIN.parent / "lib/libQnnModelDlc.so"
    ok(NET_RUN, "--model", library, "--dlc_path", "one.dlc", "--backend", backend,
       "--input_list", "a.txt")
    assert files("output") == ["Result_0/y.raw"]
    assert np.array_equal(read("output/Result_0/y.raw"), relu(A + BIAS))


def test_files_share_a_context_and_show_what_is_between(box):
    ok(NET_RUN, *DLC, "one.dlc,two.dlc", "--backend", HTP, "--input_list", "a.txt,a.txt", "--debug")
    assert files("output") == [f"{g}/Result_0/{t}.raw" for g in ("one", "two") for t in "sy"]
    for g, bias in (("one", BIAS), ("two", -BIAS)):
        assert np.array_equal(read(f"output/{g}/Result_0/s.raw"), (A + bias).ravel())
        assert np.array_equal(read(f"output/{g}/Result_0/y.raw"), relu(A + bias))
    ok(NET_RUN, *DLC, "one.dlc", "--backend", CPU, "--input_list", "a.txt",
       "--set_output_tensors", "one:s", "--output_dir", "chosen")
    assert files("chosen") == ["Result_0/s.raw", "Result_0/y.raw"]


def test_a_binary_of_files_computes_the_same(box):
    ok(GENERATOR, *DLC, "one.dlc,two.dlc", "--backend", HTP, "--binary_file", "both")
    ok(NET_RUN, "--retrieve_context", "output/both.bin", "--backend", HTP, "--input_list",
       "a.txt,a.txt", "--output_dir", "run")
    for g, bias in (("one", BIAS), ("two", -BIAS)):
        assert np.array_equal(read(f"run/{g}/Result_0/y.raw"), relu(A + bias))


def test_encodings_of_a_file_quantize_the_inputs(box):
    x = np.array([-9, -1, 0, 1, 2, 3, 4, 99], np.float32)
    raw("q.raw", x)
    (box / "q.txt").write_text("q.raw\n")
    quantized("q.onnx", np.uint8, 0.5, 100)
    ok("quern", "compile", "q.onnx", "-o", "q.dlc")
    ok(NET_RUN, *DLC, "q.dlc", "--backend", HTP, "--input_list", "q.txt")
    assert np.array_equal(read("output/Result_0/y.raw"), np.clip(x, 0, 77.5))


def test_what_is_wrong_is_said(box):
    args = ["--backend", CPU, "--input_list", "a.txt"]
    damaged = bytearray((box / "one.dlc").read_bytes())
    damaged[len(damaged) // 2] ^= 0xff
    (box / "bad.dlc").write_bytes(damaged)
    rejects(NET_RUN, *DLC, "bad.dlc", *args, says=["bad.dlc", "composeGraphsFromDlc"])
    rejects(NET_RUN, *DLC, "none.dlc", *args, says=["none.dlc", "No such file"])
    rejects(NET_RUN, *DLC, "one.dlc,one.dlc", "--backend", CPU, "--input_list", "a.txt,a.txt",
            says=["one.dlc", "'one'"])
    rejects(NET_RUN, *DLC, "one.dlc", *args, "--model_prefix", "Other",
            says=["libQnnModelDlc.so", "Other_composeGraphsFromDlc"])
    rejects(GENERATOR, *DLC, "bad.dlc", "--backend", HTP, "--binary_file", "b", says="bad.dlc")
    assert not (box / "output/b.bin").exists()


def test_a_profile_shows_the_nodes_of_the_model(box):
    ok(NET_RUN, *DLC, "one.dlc", "--backend", HTP, "--input_list", "a.txt",
       "--profiling_level", "detailed")
    view = ["qnn-profile-viewer", "--input_log", "output/qnn-profiling-data.log"]
    plain, named = ok(*view).stdout, ok(*view, "--dlc", "one.dlc", "--output", "named.csv").stdout
    assert "add:OpId_" in plain and "[" not in plain
    for text in (named, (box / "named.csv").read_text()):
        assert "add [Add]:OpId_" in text and "relu [Relu]:OpId_" in text
    rejects(*view, "--dlc", "none.dlc", says="none.dlc: No such file")
    (box / "bad.dlc").write_bytes((box / "one.dlc").read_bytes()[:-9])
    rejects(*view, "--dlc", "bad.dlc", says="bad.dlc")
