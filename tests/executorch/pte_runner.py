# SPDX-License-Identifier: MIT
"""qnn_executor_runner as scripts meet it: flags, files, log lines; and the frame of programs."""
import os
import re
import struct
import subprocess
import threading

import numpy as np
import pytest
from harness_pte import RUNNER, refused, run, start
from pte_writer import Program, Ref

V = np.array([1, -2, 4], np.float32)


def doubler(planned=True, method="forward", program=None):
    p = program or Program()
    m = p.method(method)
    x, y = m.input((3,), planned=planned), m.tensor((3,), planned=planned)
    m.call("aten::mul.out", Ref(x), Ref(m.constant(np.full(3, 2, np.float32))), Ref(y), Ref(y))
    m.output(y)
    return p


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("header", [32, 24, 0])
def test_frames(tmp_path, planned, header):
    _, got = run(tmp_path, doubler(planned).bytes(header=header), [[V], [3 * V]])
    assert got == [[(2 * V).tobytes()], [(6 * V).tobytes()]]


def test_log_lines(tmp_path):
    p, _ = run(tmp_path, doubler(), [[V]], "--iteration=3", "-warm_up", "2")
    kinds = ["Model file .* is loaded", "Using method forward", "planned buffer 0, size 32",
             "Method loaded", "Inputs prepared", "Number of inputs: 1", "Perform 2 inference",
             r"Start inference \(0\)", r"3 inference took \d+\.\d+ ms, avg \d+\.\d+ ms",
             r"Total 1 inference took \d+\.\d+ ms"]
    lines = iter(p.stderr.splitlines())
    for kind in kinds:  # in this order
        shape = rf"^I \d\d:\d\d:\d\d\.\d{{6}} executorch:\S+:\d+\] .*{kind}"
        assert any(re.search(shape, line) for line in lines), (kind, p.stderr)


def test_speed_file(tmp_path):
    run(tmp_path, doubler(), [[V], [V]], "--performance_output_path", "speed.txt")
    assert 0 <= float((tmp_path / "speed.txt").read_text()) < 1e4
    assert not (tmp_path / "inference_speed.txt").exists()


def test_without_a_list_inputs_are_ones_and_nothing_is_written(tmp_path):
    (tmp_path / "model.pte").write_bytes(doubler().bytes())
    (tmp_path / "outputs").mkdir()
    p = start(cwd=tmp_path)  # all flags have defaults
    assert p.returncode == 0, p.stderr
    assert "inference took" in p.stderr
    assert not list((tmp_path / "outputs").iterdir())
    assert not (tmp_path / "inference_speed.txt").exists()


@pytest.mark.parametrize("expected", [1, 2])
def test_ones_of_every_type(tmp_path, expected):
    """The method jumps to an instruction that fails when an input is not as expected."""
    kinds = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool",
             "uint16"]
    p = Program()
    m = p.method()
    for k, kind in enumerate(kinds):
        x, flag = m.input((2,), kind), m.tensor((2,), "bool")
        m.call("aten::eq.Scalar_out", Ref(x), expected, Ref(flag), Ref(flag))
        m.jump_false(flag, 2 * len(kinds) + 1)
    m.jump_false(m.number(False), 2 * len(kinds) + 2)
    bad = m.tensor((1,))
    m.call("aten::select_copy.int_out", Ref(bad), 0, 9, Ref(bad), Ref(bad))
    (tmp_path / "model.pte").write_bytes(p.bytes())
    done = start(cwd=tmp_path)
    assert done.returncode == (0 if expected == 1 else 1), done.stderr


def test_method_index(tmp_path):
    p = doubler()
    m = p.method("negate")
    x, y = m.input((3,)), m.tensor((3,))
    m.call("aten::neg.out", Ref(x), Ref(y), Ref(y))
    m.output(y)
    _, got = run(tmp_path, p, [[V]], "--method_index=1")
    assert got[0][0] == (-V).tobytes()
    refused(tmp_path, p, [[V]], "2 methods", "--method_index=2")


def test_many_outputs_keep_their_numbers(tmp_path):
    p = Program()
    m = p.method()
    x = m.input((3,))
    for k in range(12):
        y = m.tensor((3,))
        m.call("aten::add.Scalar_out", Ref(x), k, 1, Ref(y), Ref(y))
        m.output(y)
    _, got = run(tmp_path, p, [[V]])
    assert got[0] == [(V + k).tobytes() for k in range(12)]


def test_shapes_within_bounds(tmp_path):
    p = Program()
    m = p.method()
    x, y = m.input((2, 8), dynamic=1), m.tensor((2, 8), dynamic=1)
    m.call("aten::neg.out", Ref(x), Ref(y), Ref(y))
    m.output(y)
    v = np.arange(6, dtype=np.float32)
    (tmp_path / "in.txt").write_text("2, 3\n")
    (tmp_path / "out.txt").write_text("2, 3\n")
    flags = ("--input_shape_path", "in.txt", "--output_shape_path", "out.txt")
    _, got = run(tmp_path, p, [[v]], *flags)
    assert got[0][0] == (-v).tobytes()
    (tmp_path / "in.txt").write_text("2, 9\n")
    refused(tmp_path, p, [[v]], ["dimension 1 is 9, at most 8"], *flags)
    refused(tmp_path, p, [[v]], "belong together", *flags[:2])


@pytest.mark.parametrize("flags, says", [
    (["--modle_path=x"], "did you mean '--model_path'"),
    (["--nothing_like_it"], "unknown flag"),
    (["stray"], "belongs to no flag"),
    (["--iteration=0"], "from 1 to"),
    (["--warm_up=x"], "expected a number"),
    (["--log_level=6"], "from 0 to 5"),
    (["--method_index"], "needs a value"),
    (["--shared_buffer=maybe"], "expected true or false"),
    (["--dump_intermediate_outputs", "--etdump_path="], "needs an --etdump_path"),
    (["--debug_buffer_size=0"], "from 1 to"),
    (["--profile_level=3"], "from 0 to 2"),
    (["--htp_performance_mode=9"], "from 0 to 8"),
    (["--model_path=absent.pte"], "absent.pte"),
])
def test_bad_flags(tmp_path, flags, says):
    p = start(*flags, cwd=tmp_path)
    assert p.returncode == 1 and says in p.stderr, p.stderr


def test_switches(tmp_path):
    for flag in ("--shared_buffer", "--noshared_buffer", "--shared_buffer=false",
                 "--nodump_intermediate_outputs", "--dump_intermediate_outputs=false"):
        run(tmp_path, doubler(), [[V]], flag)


def test_help_names_every_flag():
    p = start("--help")
    assert p.returncode == 0
    for flag in ("model_path", "input_list_path", "output_folder_path", "iteration", "warm_up",
                 "method_index", "shared_buffer", "etdump_path", "dump_intermediate_outputs",
                 "debug_output_path", "debug_buffer_size", "input_shape_path",
                 "output_shape_path", "performance_output_path", "log_level",
                 "htp_performance_mode", "profile_level", "lpai_fps", "heap_profiling_path"):
        assert f"--{flag} " in p.stdout


def test_bad_input_lists(tmp_path):
    for text, says in [("a.raw b.raw\n", "names 2 files, the method has 1"),
                       ("\n", "cannot be read"), ("a.raw\n", "has 8 bytes, expected 12"),
                       ("b.raw\n", "has 20 bytes, expected 12"), ("none.raw\n", "'none.raw'")]:
        (tmp_path / "a.raw").write_bytes(bytes(8))
        (tmp_path / "b.raw").write_bytes(bytes(20))
        (tmp_path / "list.txt").write_text(text)
        (tmp_path / "model.pte").write_bytes(doubler().bytes())
        p = start("--input_list_path=list.txt", "--output_folder_path=.", cwd=tmp_path)
        assert p.returncode == 1 and says in p.stderr, p.stderr


def test_a_line_may_end_with_cr(tmp_path):
    (tmp_path / "a.raw").write_bytes(V.tobytes())
    (tmp_path / "list.txt").write_bytes(b"a.raw\r\n")
    (tmp_path / "model.pte").write_bytes(doubler().bytes())
    p = start("--input_list_path=list.txt", "--output_folder_path=.", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    assert (tmp_path / "output_0_0.raw").read_bytes() == (2 * V).tobytes()


def test_the_output_folder_must_exist(tmp_path):
    refused(tmp_path, doubler(), [[V]], "folder must exist", "--output_folder_path=nowhere")


def test_broken_programs(tmp_path):
    good = doubler().bytes()
    size = struct.unpack_from("<Q", good, 16)[0]
    for data, says in [(b"", "not an ExecuTorch program"),
                       (bytes(100), "not an ExecuTorch program"),
                       (good[:4] + b"ET11" + good[8:], "ET11, expected ET12"),
                       (good[:size], "cut off"), (good[:60], "cut off"),
                       (good[:12] + bytes(4) + good[16:], "extended header")]:
        refused(tmp_path, data, [[V]], ["model.pte", says])


def adder(n):
    """Adds a constant of n numbers, which lies in the file."""
    p = Program()
    m = p.method("forward")
    x, y = m.input((n,)), m.tensor((n,))
    m.call("aten::add.out", Ref(x), Ref(m.constant(np.arange(n, dtype=np.float32))), 1, Ref(y),
           Ref(y))
    m.output(y)
    return p


def release(process, pipe):
    """Lets a reader of the pipe go when the process ends without writing."""
    process.wait()
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        pass  # nobody waits


@pytest.mark.parametrize("change, ends", [
    (lambda p: os.truncate(p, 0), 1), (lambda p: p.open("r+b").write(b"other"), 1),
    (lambda p: os.replace(p.with_name("in_0_0.raw"), p), 0)])
def test_a_program_that_changes_between_runs(tmp_path, change, ends):
    """Changed in place it is an error, replaced it stays. The first result goes to a pipe."""
    n, file = 1 << 16, tmp_path / "model.pte"
    file.write_bytes(adder(n).bytes())
    os.utime(file, (1e9, 1e9))  # one that was just written would be copied
    np.ones(n, np.float32).tofile(tmp_path / "in_0_0.raw")
    np.ones(n, np.float32).tofile(tmp_path / "in_1_0.raw")
    (tmp_path / "list.txt").write_text("in_0_0.raw\nin_1_0.raw\n")
    os.mkfifo(tmp_path / "output_0_0.raw")
    p = subprocess.Popen([RUNNER, "--model_path", file, "--input_list_path=list.txt",
                          "--output_folder_path=."], cwd=tmp_path, stderr=subprocess.PIPE,
                         text=True)
    threading.Thread(target=release, args=(p, tmp_path / "output_0_0.raw")).start()
    with open(tmp_path / "output_0_0.raw", "rb") as result:  # returns when the runner writes
        change(file)
        got = result.read()
    said = p.communicate(timeout=60)[1]
    assert got == np.arange(1, n + 1, dtype=np.float32).tobytes()
    assert p.returncode == ends, said
    if ends:
        assert f"{file} was changed" in said and not (tmp_path / "output_1_0.raw").exists(), said
    else:
        assert (tmp_path / "output_1_0.raw").read_bytes() == got


@pytest.mark.parametrize("flags", [["model_path"], ["input_list_path"], [],
                                   ["input_shape_path", "output_shape_path"]])
def test_the_runner_waits_for_no_pipe(tmp_path, flags):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "model.pte").write_bytes(doubler().bytes())
    (tmp_path / "list.txt").write_text("pipe\n")
    p = start("--input_list_path=list.txt", *[f"--{flag}=pipe" for flag in flags],
              "--output_folder_path=.", cwd=tmp_path)  # which has a limit of time
    assert p.returncode == 1, p.stderr
    assert "pipe" in p.stderr
