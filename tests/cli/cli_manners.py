# SPDX-License-Identifier: MIT
"""Help, suggestions, manual, completion, colours, interrupts: how the program behaves."""
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import BIN, USAGE, add_relu, identity, model, ok, ok_json, quern, refuses

COMMANDS = ["run", "bench", "check", "show", "compile", "info", "socs", "doctor", "demo",
            "estimate", "profile"]


@pytest.mark.parametrize("args", [[c, "--help"] for c in COMMANDS] + [["--help"], ["help", "run"]])
def test_help_fits_a_screen_and_shows_an_example(args):
    p = ok(*args)
    lines = p.stdout.splitlines()
    assert len(lines) <= 49 and max(map(len, lines)) <= 79
    assert "examples:" in lines and p.stderr == ""
    assert not any(line != line.rstrip() for line in lines)


@pytest.mark.parametrize("args,says", [
    (["rnu"], "did you mean 'run'"), (["bnech"], "did you mean 'bench'"),
    (["run", "m", "--rondom"], "did you mean '--random'"),
    (["run", "m", "--output"], "did you mean '--output"),
    (["bench", "m", "--thread=2"], "did you mean '--threads'"),
    (["run", "m", "--zzzzzz"], "unknown flag '--zzzzzz'"),
    (["--verison"], "did you mean '--version'"), (["zzzzzz"], "unknown command"),
    (["run"], "needs MODEL"), (["show", "a", "b"], "unexpected argument 'b'"),
    (["run", "m", "--seed"], "needs a value"), (["run", "m", "--seed", "-1"], "whole number"),
    (["run", "m", "--seed", "99999999999"], "whole number"),
    (["run", "m", "--random=1"], "takes no argument"), (["bench", "m", "-s", "x"], "a number"),
    (["bench", "m", "--seconds", "-1"], "above 0"),
    (["run", "m", "--format", "csv"], "expected npy or raw"),
    (["--completion", "tcsh"], "bash, zsh or fish")])
def test_mistakes_on_the_command_line(args, says):
    p = refuses(USAGE, *args, says=says)
    assert "did you mean" in says or "did you mean" not in p.stderr


def test_flags_may_be_written_in_every_usual_way(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    outs = {ok("run", "--json", *a).stdout.split('"results"')[1].split('"inference_ms"')[0]
            for a in ([net, "-r", "--seed", "7"], ["--seed=7", "-r", "--", net],
                      ["-k5", "--random", net, "--seed", "7"])}
    assert len(outs) == 1


def test_version_and_nothing():
    assert re.fullmatch(r"quern \d+\.\d+\.\d+ \(QNN API 2\.\d+\.\d+\)\n", ok("--version").stdout)
    p = quern()
    assert p.returncode == USAGE and p.stdout == "" and p.stderr.startswith("usage: quern")


def test_exit_codes_are_documented():
    for text in (ok("--help").stdout, ok("--man").stdout, ok("--man", "run").stdout):
        for code in range(5):
            assert re.search(rf"^\s*{code}\b", text, re.M), code


@pytest.mark.parametrize("command", [None] + COMMANDS)
def test_manual_pages_hold_every_flag(command):
    page = ok("--man", *([command] if command else [])).stdout
    assert page.startswith(".TH QUERN")
    if shutil.which("groff"):
        p = subprocess.run(["groff", "-man", "-ww", "-z", "-"], input=page, text=True,
                           capture_output=True)
        assert p.stderr == ""
    if command:
        page_of_flags = ok(command, "--help").stdout.split("examples:")[0]
        flags = re.findall(r"^ .*--([a-z0-9-]+)", page_of_flags, re.M)
        assert flags
        for flag in flags:
            assert r"\fB\-\-" + flag.replace("-", r"\-") + r"\fR" in page


def complete(*words):
    """What bash would offer for the last word."""
    script = ok("--completion", "bash").stdout + (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _quern; printf "%s\\n" "${COMPREPLY[@]}"')
    p = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True)
    return p.stdout.split()


def test_bash_completion():
    assert complete("quern", "do") == ["doctor"]
    assert complete("quern", "run", "--input") == ["--inputs", "--input-list"]
    assert complete("quern", "run", "--format", "") == ["npy", "raw"]
    assert "--seconds" in complete("quern", "bench", "--")
    assert "--seconds" not in complete("quern", "run", "--")


def test_bash_completes_targets_and_dimensions(tmp_path):
    assert complete("quern", "run", "--backend", "h") == ["htp"]
    assert complete("quern", "compile", "--soc", "SM86") == ["SM8650", "SM8635"]
    assert "SM8650" in complete("quern", "estimate", "-s", "SM")
    assert complete("quern", "estimate", "--soc", "al") == ["all"]
    assert complete("quern", "run", "--soc", "al") == []
    net = identity(tmp_path / "id.onnx", T.FLOAT, ["batch", "$(touch taken)", "a b", 3])
    os.environ["PATH"] = f"{os.path.dirname(os.path.abspath(BIN))}:{os.environ['PATH']}"
    assert complete("quern", "run", str(net), "--dim", "") == ["batch="]
    assert not os.path.exists("taken")
    open_sizes = identity(tmp_path / "open.onnx", T.FLOAT, [1, None, "rows", None])
    assert complete("quern", "check", str(open_sizes), "-d", "") == ["x.1=", "rows=", "x.3="]
    assert ok("--dims", net, tmp_path / "none.onnx", "--flag", tmp_path).stdout == "batch\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_completions_name_every_command_and_flag(shell):
    text = ok("--completion", shell).stdout
    for command in COMMANDS:
        assert command in text
        for flag in re.findall(r"^ .*--([a-z0-9-]+)", ok(command, "--help").stdout.split("exam")[0],
                               re.M):
            assert (f"--{flag}[" if shell == "zsh" else f" -l {flag} ") in text
    assert "SM8650" in text and "cpu htp gpu saver ir" in text and "quern --dims" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def on_terminal(*args, env=None):
    """Output of a run whose stdout and stderr are a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(env or {})
        os.execv(BIN, [BIN, *map(str, args)])
    data = b""
    try:
        while part := os.read(fd, 65536):
            data += part
    except OSError:
        pass
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) >= 0
    return data.decode(errors="replace")


def test_colour_only_on_a_terminal_and_not_with_no_color(tmp_path):
    term = {"TERM": "xterm", "NO_COLOR": ""}
    assert "\033[" in on_terminal("doctor", env=term)
    assert "\033[" not in on_terminal("doctor", env={**term, "NO_COLOR": "1"})
    assert "\033[" not in on_terminal("doctor", env={**term, "TERM": "dumb"})
    assert "\033[" not in quern("doctor").stdout + quern("rnu").stderr


def test_progress_only_on_a_terminal(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    args = ("bench", net, "--seconds", "1")
    assert "measuring [" in on_terminal(*args, env={"TERM": "xterm"})
    assert ok(*args).stderr == ""


def test_a_full_disk_is_noticed(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        p = subprocess.run([BIN, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 1 and "stdout" in p.stderr


@pytest.mark.parametrize("name, value, expected", [
    ("QUERN_THREADS", "many", "1 to 256"), ("QUERN_THREADS", "0", "1 to 256"),
    ("QUERN_ISA", "sse2", "avx2"), ("QUERN_VERBOSE", "dispatch,all", "compiled, dispatch"),
    ("QUERN_PASSES", "alias", "-winograd, "), ("QUERN_PASSES", "-alias,-no", "-winograd, "),
    ("QUERN_LOG", "/no/such/folder/log", "- for stderr"), ("QUERN_DUMP_RUNS", "-1", "1 or more")])
def test_a_variable_without_meaning_is_a_warning(tmp_path, name, value, expected):
    net = add_relu(tmp_path / "n.onnx")
    p = ok("run", net, "--random", env={name: value})
    (line,) = p.stderr.splitlines()
    assert line.startswith(f"quern: warning: {name} is '{value}'") and expected in line
    good = {"QUERN_THREADS": "2", "QUERN_ISA": "ref", "QUERN_VERBOSE": "dispatch,threads",
            "QUERN_DUMP_RUNS": "3", "QUERN_PASSES": "-alias,-in_place",
            "QUERN_LOG": str(tmp_path / "log")}[name]
    assert ok("run", net, "--random", env={name: good}).stderr == ""


def test_the_warning_of_passes_lists_them_all(tmp_path):
    text = open(os.path.join(os.path.dirname(__file__), "../../docs/passes.md")).read()
    passes = {"-" + name for name in re.findall(r"^\| `(\w+)` \|", text, re.M)} | {"-all"}
    p = ok("run", add_relu(tmp_path / "n.onnx"), "--random", env={"QUERN_PASSES": "x"})
    assert len(passes) > 10 and set(re.findall(r"-\w+", p.stderr.split("list of")[1])) == passes


def test_a_bad_api_version_is_named(tmp_path):
    p = quern("run", add_relu(tmp_path / "n.onnx"), "--random", env={"QUERN_API_VERSION": "new"})
    assert p.returncode == 1 and "QUERN_API_VERSION is 'new', expected a version" in p.stderr


def test_trials_are_no_errors_of_the_log(tmp_path):
    """A node that the library rejects while quern asks what it supports: 16-bit gamma on v68."""
    pair = lambda name: [f"{name}_s", f"{name}_z"]
    nodes = [h.make_node("QuantizeLinear", ["x", *pair("x")], ["q"]),
             h.make_node("DequantizeLinear", ["q", *pair("x")], ["d"]),
             h.make_node("DequantizeLinear", ["g", *pair("x")], ["gd"]),
             h.make_node("LayerNormalization", ["d", "gd"], ["n"], axis=-1),
             h.make_node("QuantizeLinear", ["n", *pair("x")], ["y"])]
    net = model(tmp_path / "q.onnx", nodes, {"x": (T.FLOAT, [1, 4])}, {"y": (T.UINT16, [1, 4])},
                {"x_s": np.float32(0.1), "x_z": np.uint16(32768),
                 "g": np.arange(4, dtype=np.uint16)}, opset=21)
    log = tmp_path / "log"
    p = quern("check", net, "--soc", "SM7325", env={"QUERN_LOG": str(log)})
    assert " rejected" in p.stdout and " trial: " in log.read_text()
    assert " ERROR " not in log.read_text()


@pytest.mark.parametrize("command", ["info", "doctor"])
def test_what_libraries_are_asked_is_no_error_in_a_log(tmp_path, command):
    quern(command, env={"QUERN_LOG": str(tmp_path / "log")})
    assert " ERROR " not in (tmp_path / "log").read_text()


def test_precisions_may_be_spelled_both_ways(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    for word in ("w8a16", "A16W8", "a16w8"):
        assert ok_json("estimate", net, "-p", word, "--json")["network"]["precision"] == "a16w8"


def test_the_example_loads_in_plain_onnxruntime():
    ort = pytest.importorskip("onnxruntime")
    digits = os.path.join(os.path.dirname(__file__), "../../examples/digits")
    s = ort.InferenceSession(os.path.join(digits, "digits_a8w8.onnx"),
                             providers=["CPUExecutionProvider"])
    images = np.load(os.path.join(digits, "images.npy")).astype(np.float32)
    got = s.run(None, {s.get_inputs()[0].name: images})[0].argmax(1)
    assert (got == np.load(os.path.join(digits, "labels.npy"))).mean() > 0.9


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    net = identity(tmp_path / "id.onnx", T.FLOAT, [4])
    for command in (["socs"], ["--man"], ["show", net, "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        p = subprocess.run([BIN, *map(str, command)], stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert p.stderr == b"" and p.returncode == -signal.SIGPIPE


def test_an_interrupted_benchmark_reports_what_it_has(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    reader, terminal = pty.openpty()
    p = subprocess.Popen([BIN, "bench", net, "--seconds", "600"], stdout=subprocess.PIPE,
                         stderr=terminal, text=True)
    shown = b""
    while b"measuring" not in shown:
        shown += os.read(reader, 1000)
    p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=60)[0]
    assert p.returncode == -signal.SIGINT
    assert re.search(r"median \S+ ms", out) and "interrupted" in out


def test_files_that_cannot_be_written_are_named(tmp_path):
    net = add_relu(tmp_path / "n.onnx")
    (tmp_path / "file").write_text("")
    refuses(1, "run", net, "--random", "-o", tmp_path / "file", says="file")
    (tmp_path / "out" / "output_0.npy").mkdir(parents=True)
    refuses(1, "run", net, "--random", "-o", tmp_path / "out", says="output_0.npy")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["output_0.npy"]


def test_a_written_file_keeps_its_mode_and_its_link(tmp_path):
    net = identity(tmp_path / "id.onnx", T.FLOAT, [4])
    (tmp_path / "out").mkdir()
    private, link = tmp_path / "private.npy", tmp_path / "out" / "output_0.npy"
    private.write_text("old")
    private.chmod(0o600)
    link.symlink_to(private)
    assert subprocess.run([BIN, "run", net, "--random", "-o", tmp_path / "out"]).returncode == 0
    assert link.is_symlink() and private.stat().st_mode & 0o7777 == 0o600
    assert np.load(private).shape == (4,)


def test_an_interrupt_leaves_no_half_written_file(tmp_path):
    n = 4 << 20
    net = identity(tmp_path / "id.onnx", T.FLOAT, [n])
    np.save(tmp_path / "x.npy", np.ones(n, np.float32))
    (tmp_path / "list").write_text(f"{tmp_path}/x.npy\n" * 200)
    out = tmp_path / "out"
    for delay in (0, .02, .05, .1):
        p = subprocess.Popen([BIN, "run", net, "--input-list", tmp_path / "list", "--output-dir",
                              out], stderr=subprocess.PIPE)
        for _ in range(2000):  # until it writes
            if out.exists() and any(out.rglob("*.raw*")):
                break
            time.sleep(.01)
        time.sleep(delay)
        p.send_signal(signal.SIGINT)
        assert p.wait(60) == -signal.SIGINT
        files = list(out.rglob("*.*"))
        assert all(f.name == "y.raw" and f.stat().st_size == 4 * n for f in files), files
        shutil.rmtree(out)
