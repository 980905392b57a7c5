# SPDX-License-Identifier: MIT
"""Arguments that nobody should give: each gets a sentence and a status other than 0, and no file of
the user is harmed."""
import os

import pytest
from harness import FAILURE, INPUT, REFUSED, USAGE, add_relu, ok, quern, refuses
from cli_profile import execute, write

HTP = ("-b", "htp", "--soc", "SM8650")
LONG = "x" * 100_000
MODELS = ["run", "check", "show", "estimate", "bench"]


@pytest.fixture
def net(tmp_path):
    return add_relu(tmp_path / "n.onnx")


@pytest.fixture
def binary(net, tmp_path):
    ok("compile", net, *HTP, "-o", tmp_path / "n.bin")
    return tmp_path / "n.bin"


@pytest.mark.parametrize("command", MODELS)
def test_models_that_are_none(tmp_path, command):
    for name in ("dir", "dir.onnx", "dir.pte", "dir.bin"):
        (tmp_path / name).mkdir()
        refuses(REFUSED, command, tmp_path / name, says=name)
    for name in ("empty", "empty.onnx", "empty.bin"):
        (tmp_path / name).write_bytes(b"")
        refuses(REFUSED, command, tmp_path / name, says=name)
    refuses(FAILURE, command, tmp_path / "none.onnx", says="No such file")
    refuses(REFUSED, command, "/dev/null", says="not a regular file")
    refuses(USAGE, command, "", says="argument 1 is empty")
    assert quern(command, "-").returncode == FAILURE


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_no_output_takes_the_place_of_an_input(net, binary, tmp_path, link):
    log = write(tmp_path / "p.log", execute(10, 50, 1))
    estimate = ("estimate", net, "--soc", "SM8650", "-p", "fp16")
    for args, source in ((("check", net, "--html"), net), ((*estimate, "--html"), net),
                         ((*estimate, "--trace"), net), (("profile", log, "--trace"), log),
                         (("compile", net, *HTP, "-o"), net if link else None),
                         (("wrap", binary, "-o"), binary if link else None),
                         (("wrap", binary, "--embed", "-o"), binary if link else None)):
        if source is None:  # their endings are rejected
            continue
        target = source
        if link:
            target = tmp_path / "other"
            link(source, target)
        before = source.read_bytes()
        refuses(FAILURE, *args, target, says="an input of this command")
        assert source.read_bytes() == before
        if link:
            target.unlink()


@pytest.mark.parametrize("target,says", [
    ("", "empty name"), ("-", "is not accepted here"), ("DIR", "Is a directory"),
    ("DIR/", "Is a directory"), ("none/x", "No such file"), ("n.onnx/x", "Not a directory"),
    ("/proc/none/x", "No such file"), (LONG, "File name too long")])
def test_places_where_no_file_can_be(net, tmp_path, target, says):
    (tmp_path / "DIR").mkdir()
    before = sorted(tmp_path.iterdir())
    for args in (("compile", net, *HTP, "-o"),
                 ("estimate", net, "--soc", "SM8650", "-p", "fp16", "--html")):
        p = quern(*args, target, cwd=tmp_path)
        assert p.returncode in (FAILURE, USAGE) and says in p.stderr, p.stderr[-500:]
        assert p.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_may_not_be_written_to(net, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "locked").mkdir(mode=0o555)
    refuses(FAILURE, "compile", net, *HTP, "-o", tmp_path / "locked" / "n.bin", says="denied")


@pytest.mark.parametrize("args,says", [
    (["run", LONG], "File name too long"), ([LONG], "unknown command"),
    (["run", "NET", "--" + LONG], "unknown flag"),
    (["run", "NET", "-r", "-d", LONG + "=3"], "--dim"),
    (["check", "NET", "-b", LONG], "expected cpu"),
    (["check", "NET", "--soc", LONG], "unknown SoC"),
    (["run", "NET", LONG + "=x.npy"], "no input"), (["run", "NET", "-r", "-o", LONG], "too long"),
    (["compare", LONG, LONG], "too long"), (["profile", LONG], "too long"),
    (["run", "NET", "-r", "--mean", LONG], "--mean")])
def test_long_arguments_leave_the_reason_readable(net, args, says):
    p = quern(*(net if a == "NET" else a for a in args))
    assert p.returncode > 0 and says in p.stderr and len(p.stderr) < 5000


def test_inputs_that_are_none(net, tmp_path):
    (tmp_path / "dir.npy").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    refuses(INPUT, "run", net, tmp_path / "dir.npy", says="not a regular file")
    refuses(INPUT, "run", net, tmp_path / "empty", says="0 bytes")
    refuses(INPUT, "run", net, "-i", tmp_path / "none", says="none")
    refuses(INPUT, "run", net, "--input-list", tmp_path / "empty", says="no line")
    refuses(INPUT, "compare", tmp_path / "empty", tmp_path / "none",
            says="a file, not a folder that QUERN_DUMP wrote")
    refuses(INPUT, "profile", tmp_path / "empty", says="neither a profile log")
    refuses(REFUSED, "wrap", tmp_path / "dir.npy", "--embed", "-o", tmp_path / "w.onnx")
    refuses(FAILURE, "run", net, "--random", "-o", tmp_path / "empty", says="empty")
    refuses(FAILURE, "run", net, "--random", "--labels", tmp_path / "dir.npy", says="not a regular")


@pytest.mark.parametrize("name, head, says", [
    ("m.pt", b"PK\3\4" + bytes(20) + b"archive/data.pkl", "PyTorch"),
    ("m.pth", b"\x80\2}q\0.", "pickle"), ("m.ort", bytes([28, 0, 0, 0]) + b"ORTM", ".ort model"),
    ("m.onnx", b"ir_version: 8\ngraph { }\n", "a text file"), ("m.onnx", b"{}", "a text file"),
    ("m.onnx", b"", "an empty file"), ("m.onnx", b"GGUF\3\0\0\0", "quern import"),
    ("m.onnx", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ("m.onnx", b"<!DOCTYPE html><html>", "HTML"), ("m.h5", b"\x89HDF\r\n\x1a\n", "HDF5"),
    ("m.xml", b"<?xml version='1.0'?><net>", "OpenVINO"),
    ("m.safetensors", b"\x40" + bytes(7) + b'{"a"', "safetensors")])
def test_files_of_other_formats_are_named(tmp_path, name, head, says):
    (tmp_path / name).write_bytes(head)
    refuses(REFUSED, "run", tmp_path / name, "--random", says=[name, "not an ONNX model but", says])
