# SPDX-License-Identifier: MIT
"""Every command with reads and writes that are cut short, interrupted or refused, with full disks
and a stdout that takes nothing; writers that are killed, and several at once. A file stands whole
under its name or not at all; what is not delivered is an error."""
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
from errno import EIO, ENOSPC

import pytest
from programs import (COMMANDS, FULL, PROGRAMS, Command, complaint, faulty, left_behind, make_scene,
                      start, without_faults)

WRITERS = [c for c in COMMANDS if "OUT" in c.words]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    at = tmp_path_factory.mktemp("scene")
    make_scene(at)
    return at


@pytest.fixture(scope="module")
def wholes(scene):
    """What each command leaves without faults."""
    kept = {}

    def of(command):
        if command not in kept:
            kept[command] = without_faults(command, scene)
        return kept[command]
    return of


def judge(command, whole, p, at, what):
    wrong = complaint(command, whole, p, at)
    return [f"{what}: {wrong}: {p.stderr.decode(errors='replace')[:300]}"] if wrong else []


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_short_and_interrupted_calls_change_nothing(scene, wholes, command):
    whole, bad = wholes(command), []
    for fault in ({"read": "short"}, {"read": "eintr"}, {"write": "short"}, {"write": "eintr"}):
        p = faulty(command, scene, **fault)
        bad += judge(command, whole, p, scene, fault)
        if p.returncode != command.status:
            bad.append(f"{fault}: status {p.returncode}: {p.stderr.decode()[:300]}")
    assert not bad, "\n".join(bad)


def places(n):
    """Bytes after which a file of n ends to be written or read."""
    return range(0, n, max(1, n // 200)) if FULL else sorted({0, 1, n // 2, n - 1})


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_read_that_fails_is_an_error(scene, wholes, command):
    whole, bad = wholes(command), []
    for n in places(2000):
        p = faulty(command, scene, read=f"{EIO}@{n}")
        bad += judge(command, whole, p, scene, f"read error after {n} bytes")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("command", WRITERS, ids=str)
def test_a_write_that_fails_leaves_no_file(scene, wholes, command):
    whole, bad = wholes(command), []
    total = sum(map(len, whole.files.values()))
    for n in places(total):
        for error in (ENOSPC, EIO):
            p = faulty(command, scene, write=f"{error}@{n}")
            bad += judge(command, whole, p, scene, f"errno {error} after {n} of {total} bytes")
            if p.returncode == 0:
                bad.append(f"errno {error} after {n} of {total} bytes: status 0")
    assert not bad, "\n".join(bad)


def limit_files(n):
    """For preexec_fn: no file of the process grows beyond n bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))


@pytest.mark.parametrize("command", WRITERS, ids=str)
def test_a_file_beyond_the_limit_is_an_error(scene, wholes, command):
    """The kernel's own refusal, which reaches the C library's streams too; no death by SIGXFSZ."""
    whole, bad = wholes(command), []
    largest = max(map(len, whole.files.values()))
    for n in places(largest):
        p = start(command, scene, preexec_fn=limit_files(n))
        bad += judge(command, whole, p, scene, f"limit of {n} bytes")
        if p.returncode == 0:
            bad.append(f"limit of {n} of {largest} bytes: status 0")
    assert not bad, "\n".join(bad)


def mount_tmpfs(at, size):
    at.mkdir()
    return os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", at], capture_output=True
    ).returncode == 0


def test_a_full_disk_is_an_error(scene, tmp_path):
    disk = tmp_path / "disk"
    if not mount_tmpfs(disk, "4k"):
        pytest.skip("a small disk cannot be mounted here")
    try:
        for command in ("quern compile net.onnx -b htp --soc SM8650 -o n.bin",
                        "quern estimate net.onnx --soc SM8650 -p fp16 --html n.html",
                        "quern wrap net.bin --embed -o n.onnx"):
            words, name = command.rsplit(" ", 1)
            (disk / name).write_bytes(b"old")
            p = start(Command(f"{words} {disk}/{name}"), scene)
            assert p.returncode == 1 and b"No space left" in p.stderr, (command, p.stderr)
            assert [f.name for f in disk.iterdir()] == [name]
            assert (disk / name).read_bytes() == b"old"
            (disk / name).unlink()
    finally:
        subprocess.run(["umount", disk], check=True)


def speak_to(command, at, target, flags):
    fd = os.open(target, flags)
    try:
        words = command.words.split()
        (at / "OUT").mkdir(exist_ok=True)
        return subprocess.run([os.path.abspath(PROGRAMS[words[0]]), *words[1:]], cwd=at, stdout=fd,
                              stderr=subprocess.PIPE)
    finally:
        os.close(fd)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_report_that_is_not_delivered_is_an_error(scene, wholes, command):
    if not wholes(command).out:
        return  # nothing is printed
    full = speak_to(command, scene, "/dev/full", os.O_WRONLY)
    closed = start(command, scene, preexec_fn=lambda: os.close(1))
    for p, what in ((full, "a full device"), (closed, "a closed stdout")):
        assert p.returncode == 1 and b"stdout" in p.stderr, (what, p.returncode, p.stderr)


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.timed], ids=str)
def test_a_reader_that_leaves_is_no_success(scene, wholes, command):
    """As in `quern show model | head -1`: a program ends in silence by SIGPIPE, as others of a
    pipeline do, or reports it."""
    if not wholes(command).out:
        return
    r, w = os.pipe()
    os.close(r)
    words = command.words.split()
    (scene / "OUT").mkdir(exist_ok=True)
    p = subprocess.run([os.path.abspath(PROGRAMS[words[0]]), *words[1:]], cwd=scene, stdout=w,
                       stderr=subprocess.PIPE)
    os.close(w)
    if p.returncode == -signal.SIGPIPE:
        assert b"error" not in p.stderr and b"stdout" not in p.stderr, p.stderr
    else:
        assert p.returncode == 1 and b"Broken pipe" in p.stderr, (p.returncode, p.stderr)


# --- killed writers, several writers

COMPILE = ["compile", "net.onnx", "-b", "htp", "--soc", "SM8650", "-o"]


def compile_to(scene, target, **more):
    return subprocess.Popen([os.path.abspath(PROGRAMS["quern"]), *COMPILE, target], cwd=scene,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)


def compiled(scene, tmp_path):
    p = compile_to(scene, tmp_path / "whole.bin")
    assert p.wait(60) == 0, p.stderr.read()
    return (tmp_path / "whole.bin").read_bytes()


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(scene, tmp_path):
    whole = compiled(scene, tmp_path)
    assert compiled(scene, tmp_path) == whole  # the same bytes each time
    draw, target, seen = random.Random(1), tmp_path / "n.bin", set()
    for i in range(400 if FULL else 40):
        old = b"" if i % 2 else b"old"
        target.unlink(missing_ok=True)
        if old:
            target.write_bytes(old)
        p = compile_to(scene, target)
        try:
            p.wait(draw.uniform(0, 0.04))
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
        p.wait(60)
        p.stderr.close()
        now = target.read_bytes() if target.exists() else b""
        assert now in (old, whole), (i, len(now))
        seen.add(now == whole)
    for f in tmp_path.iterdir():
        assert f.name in ("whole.bin", "n.bin") or f.name.endswith(".part")
    assert FULL is False or seen == {True, False}


def test_readers_see_whole_files_while_several_write(scene, tmp_path):
    whole, target = compiled(scene, tmp_path), tmp_path / "n.bin"
    shutil.copy(tmp_path / "whole.bin", target)
    done, bad, reads = threading.Event(), [], [0]

    def read():
        while not done.is_set():
            data = target.read_bytes()
            reads[0] += 1
            if data != whole:
                bad.append(len(data))
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(100 if FULL else 10):
            writers = [compile_to(scene, target) for _ in range(3)]
            for p in writers:
                assert p.wait(60) == 0, p.stderr.read()
                p.stderr.close()
    finally:
        done.set()
        reader.join()
    assert not bad and reads[0] > 0
    assert sorted(f.name for f in tmp_path.iterdir()) == ["n.bin", "whole.bin"]


def test_an_interrupted_program_removes_what_it_began(scene):
    """SIGINT and SIGTERM at any moment: the folder holds whole files only."""
    command = Command("quern compile net.onnx -b htp --soc SM8650 -o OUT/n.bin")
    whole, draw = without_faults(command, scene), random.Random(2)
    for i in range(200 if FULL else 20):
        shutil.rmtree(scene / "OUT")
        (scene / "OUT").mkdir()
        p = compile_to(scene, "OUT/n.bin")
        try:
            p.wait(draw.uniform(0, 0.04))
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGINT if i % 2 else signal.SIGTERM)
        p.wait(60)
        p.stderr.close()
        assert left_behind(scene) in ({}, whole.files)
