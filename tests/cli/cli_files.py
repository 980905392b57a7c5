# SPDX-License-Identifier: MIT
"""Files that are not files, and files that change while they are in use."""
import os
import subprocess
import threading

import numpy as np
import onnx
import pytest

from harness import BIN, FAILURE, T, add_relu, h, model, ok, quern

K, N = 16, 32768  # a result of 128 KiB: more than a pipe holds


def dense(path, seed=0):
    """y = x w, with more weights than are copied."""
    w = np.random.default_rng(seed).normal(size=(K, N)).astype(np.float32)
    return model(path, [h.make_node("MatMul", ["x", "w"], ["y"])], {"x": (T.FLOAT, [1, K])},
                 {"y": (T.FLOAT, [1, N])}, {"w": w})


def age(path):
    """A file that was just written is copied; this one was written long ago."""
    os.utime(path, (1e9, 1e9))
    return path


# --- pipes

PIPES = [["run", "PIPE", "--random"], ["run", "NET", "x=PIPE"], ["run", "NET", "PIPE"],
         ["run", "NET", "--input-list", "PIPE"], ["run", "NET", "--random", "--labels", "PIPE"],
         ["bench", "PIPE"], ["check", "PIPE"], ["show", "PIPE"], ["estimate", "PIPE"],
         ["compile", "PIPE", "-o", "out.bin", "--soc", "SM8650"], ["profile", "PIPE"],
         ["wrap", "PIPE", "-o", "out.onnx"], ["compare", "PIPE", "PIPE"]]


@pytest.mark.parametrize("name", ["pipe", "pipe.onnx", "pipe.bin", "pipe.pte", "pipe.npy",
                                  "pipe.npz", "pipe.png", "pipe.jpg", "pipe.json", "pipe.csv"])
def test_no_command_waits_for_a_pipe(tmp_path, name):
    os.mkfifo(tmp_path / name)
    net = add_relu(tmp_path / "net.onnx")
    for words in PIPES:
        args = [w.replace("PIPE", str(tmp_path / name)).replace("NET", str(net)) for w in words]
        p = quern(*args, cwd=tmp_path)  # which has a limit of time
        assert p.returncode > 0, words
        assert name in p.stderr, (words, p.stderr)


def test_folders_lists_and_chips_with_pipes(tmp_path):
    net = add_relu(tmp_path / "net.onnx")
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "input_0.npy")
    (tmp_path / "list").write_text(f"{tmp_path}/in/input_0.npy\n")
    for args in (["--inputs", tmp_path / "in"], ["--input-list", tmp_path / "list"]):
        p = quern("run", net, *args, "--output-dir", tmp_path / "out")
        assert p.returncode > 0 and "input_0.npy" in p.stderr, p.stderr
    p = quern("run", net, "--random", "--soc", "SM8650", "-b", "htp",
              env={"QUERN_SOCS": str(tmp_path / "in" / "input_0.npy")})
    assert p.returncode >= 0  # a warning; it must not wait


def test_external_data_in_a_pipe(tmp_path):
    net = dense(tmp_path / "plain.onnx")
    onnx.save(onnx.load(net), tmp_path / "net.onnx", save_as_external_data=True,
              location="weights", size_threshold=0)
    os.remove(tmp_path / "weights")
    os.mkfifo(tmp_path / "weights")
    p = quern("run", tmp_path / "net.onnx", "--random")
    assert p.returncode > 0 and "weights: not a regular file" in p.stderr, p.stderr


# --- files that change

def release(process, pipe):
    """Lets a reader of the pipe go when the process ends without writing."""
    process.wait()
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        pass  # nobody waits


def second_run(tmp_path, file, change, *args):
    """Runs a file on two inputs and changes it after the first result, which goes to a pipe: the
    program cannot go on before that is read."""
    np.ones(K, np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "list").write_text(f"{tmp_path}/x.raw\n" * 2)
    first = tmp_path / "out" / "Result_0"
    first.mkdir(parents=True)
    os.mkfifo(first / "y.raw")
    p = subprocess.Popen([BIN, "run", file, "--input-list", tmp_path / "list", "--output-dir",
                          tmp_path / "out", *args], stderr=subprocess.PIPE, text=True)
    threading.Thread(target=release, args=(p, first / "y.raw")).start()
    with open(first / "y.raw", "rb") as result:  # returns when the program writes, or ends
        change()
        got = result.read()
    said = p.communicate(timeout=60)[1]
    second = tmp_path / "out" / "Result_1" / "y.raw"
    return p.returncode, said, got, second.read_bytes() if second.exists() else None


def overwrite(path):
    with open(path, "r+b") as f:
        f.seek(-4096, os.SEEK_END)
        f.write(bytes(range(256)) * 8)


CHANGES = [lambda p: os.truncate(p, 0), lambda p: os.truncate(p, 5000), overwrite]


@pytest.mark.parametrize("change", CHANGES)
def test_a_binary_that_changes_between_runs_is_an_error(tmp_path, change):
    ok("compile", dense(tmp_path / "net.onnx"), "--soc", "SM8650", "-o", tmp_path / "net.bin")
    binary = age(tmp_path / "net.bin")
    code, said, got, second = second_run(tmp_path, binary, lambda: change(binary))
    assert code == FAILURE and len(got) == 4 * N and second is None, (code, said)
    assert f"{binary} was changed" in said, said


def test_a_binary_that_is_replaced_between_runs_stays(tmp_path):
    ok("compile", dense(tmp_path / "net.onnx"), "--soc", "SM8650", "-o", tmp_path / "net.bin")
    ok("compile", dense(tmp_path / "b.onnx", 1), "--soc", "SM8650", "-o", tmp_path / "b.bin")
    binary = age(tmp_path / "net.bin")
    code, said, got, second = second_run(
        tmp_path, binary, lambda: os.replace(tmp_path / "b.bin", binary))
    assert code == 0 and got == second, said


def test_compiling_over_a_binary_in_use_replaces_it(tmp_path):
    """As above, by the program itself."""
    net = dense(tmp_path / "net.onnx")
    ok("compile", net, "--soc", "SM8650", "-o", tmp_path / "net.bin")
    binary = age(tmp_path / "net.bin")
    code, said, got, second = second_run(
        tmp_path, binary,
        lambda: ok("compile", dense(tmp_path / "b.onnx", 1), "--soc", "SM8650", "-o", binary))
    assert code == 0 and got == second, said
