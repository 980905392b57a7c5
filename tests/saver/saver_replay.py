# SPDX-License-Identifier: MIT
"""Recordings: clients run on the Saver, what it wrote is compiled and replayed on the CPU and the
HTP library, and the outputs must be those of the clients' own runs there, byte for byte."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from recording import FLAGS, ROOT, compiled, replayed, run

LIB = Path(os.environ["QUERN_LIB_DIR"])
QUERN, CLIENT, HELLO = (os.environ[k] for k in ("QUERN_BIN", "SAVER_CLIENT", "HELLO_QNN"))
DIGITS = ROOT / "examples" / "digits"


def library(backend):
    return LIB / f"libQnn{backend.capitalize()}.so"


def record(folder, *command, backend=""):
    run(*command, env={"QUERN_SAVER_DIR": str(folder), "QUERN_SAVER_BACKEND": backend})
    assert {p.name for p in folder.iterdir()} == {"saver_output.c", "params.bin"}


def test_a_client_with_much_of_the_api(tmp_path):
    (tmp_path / "none").mkdir()
    record(tmp_path / "rec", CLIENT, library("saver"), tmp_path / "none")
    program = compiled(tmp_path / "rec")
    for backend in ("cpu", "htp"):
        direct = tmp_path / backend
        direct.mkdir()
        run(CLIENT, library(backend), direct)
        want = [(direct / f"{i}.raw").read_bytes() for i in range(6)]
        assert replayed(program, library(backend)) == want, backend


def test_every_encoding_and_updates(tmp_path):
    direct, ignored, folder = (tmp_path / n for n in ("direct", "ignored", "recording"))
    direct.mkdir()
    ignored.mkdir()
    run(CLIENT, library("cpu"), direct, "encodings")
    record(folder, CLIENT, library("saver"), ignored, "encodings")
    want = [(direct / f"{i}.raw").read_bytes() for i in range(13)]
    assert len(set(want)) == 13, "every encoding has its own values, and so have updates"
    assert replayed(compiled(folder), library("cpu")) == want


@pytest.mark.parametrize("model, backend, soc", [
    ("digits_a8w8", "cpu", []), ("digits", "htp", ["--soc", "SM8650"])])
def test_an_onnx_model(tmp_path, backend, soc, model):
    model = DIGITS / f"{model}.onnx"
    inputs = [*soc, "--random", "--seed", "3", "--dim", "N=2", "-q", "--format", "raw"]
    run(QUERN, "run", model, *inputs, "-b", backend, "-o", tmp_path / "direct")
    record(tmp_path / "rec", QUERN, "run", model, *inputs, "-b", "saver", "-o", tmp_path / "none")
    want = [(tmp_path / "direct" / "output_0.raw").read_bytes()]
    assert replayed(compiled(tmp_path / "rec"), library(backend)) == want


def test_a_context_binary(tmp_path):
    """The Saver cannot read it; its bytes go to the recording, which the HTP library can."""
    binary = tmp_path / "digits.bin"
    inputs = ["--random", "--seed", "4", "-q", "--format", "raw", "--native"]
    run(QUERN, "compile", DIGITS / "digits_a8w8.onnx", "--dim", "N=1", "--soc", "SM8650", "-o",
        binary)
    run(QUERN, "run", binary, *inputs, "-b", "htp", "-o", tmp_path / "direct")
    record(tmp_path / "rec", QUERN, "run", binary, *inputs, "-b", "saver", "-o", tmp_path / "none")
    want = [(tmp_path / "direct" / "output_0.raw").read_bytes()]
    assert replayed(compiled(tmp_path / "rec"), library("htp")) == want


def test_a_context_binary_in_every_way(tmp_path):
    binary = tmp_path / "digits.bin"
    run(QUERN, "compile", DIGITS / "digits.onnx", "--dim", "N=1", "--soc", "SM8650", "-o", binary)
    graph = json.loads(run(QUERN, "show", binary, "--json").stdout)["graphs"][0]["name"]
    run(CLIENT, library("htp"), tmp_path, binary, graph)
    record(tmp_path / "rec", CLIENT, library("saver"), tmp_path, binary, graph)
    assert (tmp_path / "rec" / "params.bin").stat().st_size == binary.stat().st_size
    assert replayed(compiled(tmp_path / "rec"), library("htp")) == []


def test_a_recording_links_against_a_backend(tmp_path):
    """As docs/saver.md shows it: the program's data beside it, the example's printed values."""
    printed = run(HELLO, library("cpu")).stdout.splitlines()[-1].split("= ")[1]
    record(tmp_path / "rec", HELLO, library("saver"))
    program = compiled(tmp_path / "rec", "-L", LIB, "-lQnnCpu")
    got = replayed(program, library("cpu"), env={"LD_LIBRARY_PATH": str(LIB)})
    assert " ".join(f"{v:f}" for v in np.frombuffer(got[0], np.float32)) == printed


def test_a_process_that_dies_leaves_a_recording_that_compiles(tmp_path):
    code = ("import ctypes, os, sys; lib = ctypes.CDLL(sys.argv[1]); "
            "p = ctypes.c_void_p(); n = ctypes.c_uint32(); "
            "lib.QnnInterface_getProviders(ctypes.byref(p), ctypes.byref(n)); "
            "table = ctypes.cast(ctypes.cast(p, ctypes.POINTER(ctypes.c_void_p))[0] + 40, "
            "ctypes.POINTER(ctypes.c_void_p)); "
            "create = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 3)(table[1]); "
            "b = ctypes.c_void_p(); assert create(None, None, ctypes.byref(b)) == 0; "
            "os.kill(os.getpid(), 9)")
    if "-fsanitize" in " ".join(FLAGS):
        pytest.skip("python cannot open a sanitized library")
    done = subprocess.run([shutil.which("python3"), "-c", code, library("saver")],
                          env={**os.environ, "QUERN_SAVER_DIR": str(tmp_path / "rec")})
    assert done.returncode == -9
    run(compiled(tmp_path / "rec"), "-p", tmp_path / "rec" / "params.bin",
        library("cpu"))


def test_a_replay_says_what_failed(tmp_path):
    """A library that lacks what was recorded: the calls' codes are printed, the exit code is 1."""
    record(tmp_path / "rec", HELLO, library("saver"))
    source = tmp_path / "rec" / "saver_output.c"
    source.write_text(source.read_text().replace('"FullyConnected"', '"NoSuchOp"'))
    program = compiled(tmp_path / "rec")
    done = subprocess.run([program, "-p", tmp_path / "rec" / "params.bin", library("cpu")],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "call 8: graphAddNode: error " in done.stderr
    (tmp_path / "rec" / "params.bin").write_bytes(b"short")
    done = subprocess.run([program, "-p", tmp_path / "rec" / "params.bin", library("cpu")],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "too short" in done.stderr
