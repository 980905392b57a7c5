# SPDX-License-Identifier: MIT
"""scripts/setup.sh changes the system only when it may: with an apt-get that writes down what it is
asked for, in a PATH of its own."""
import contextlib
import os
import pty
import shutil
import subprocess

import pytest

from installed import ROOT

TOOLS = ("bash", "cat", "cp", "dirname", "env", "sed", "tr", "grep", "ls", "mkdir")
APT = """#!/bin/bash
echo "$*" >> "$(dirname "$0")/../asked"
case "$*" in
*-s*install*)
    echo "Inst ninja-build (1.11 Debian [amd64])"
    [ -z "$UPGRADES" ] || echo "Inst libc6 [2.36-1] (2.36-2)" ;;
install*) cp "$(dirname "$0")/cc" "$(dirname "$0")/ninja" ;;
esac
"""


@pytest.fixture
def machine(tmp_path):
    """A machine that lacks ninja; returns a function that runs setup.sh on it."""
    bin_ = tmp_path / "bin"
    (tmp_path / "scripts").mkdir()
    bin_.mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    for name in TOOLS:
        (bin_ / name).symlink_to(shutil.which(name))
    for name, text in {"cc": "#!/bin/bash\ncat >/dev/null\n", "apt-get": APT,
                       "id": "#!/bin/bash\necho ${FAKE_UID:-0}\n"}.items():
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    for name in ("cmake", "make"):
        shutil.copy(bin_ / "cc", bin_ / name)

    def run(answer=None, **env):
        """answer: what is typed at a terminal; None: there is no terminal."""
        command = [str(bin_ / "bash"), "scripts/setup.sh", "build"]
        more = {"cwd": tmp_path, "env": {"PATH": str(bin_), **env}}
        if answer is None:
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  **more)
        ours, theirs = pty.openpty()
        os.write(ours, answer.encode() + b"\n")
        ran = subprocess.run(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, **more)
        os.close(theirs)
        ran.stderr = ""
        with contextlib.suppress(OSError):  # EIO: nothing more to read
            while data := os.read(ours, 65536):
                ran.stderr += data.decode()
        os.close(ours)
        return ran

    run.asked = lambda: (tmp_path / "asked").read_text() if (tmp_path / "asked").exists() else ""
    return run


def installed(machine):
    return [line for line in machine.asked().splitlines() if line.startswith("install ")]


@pytest.mark.parametrize("env", [{"QUERN_YES": "1"}, {"CI": "true"}, {}])
def test_without_a_terminal_what_is_missing_is_installed_and_nothing_upgraded(machine, env):
    ran = machine(**env)
    assert ran.returncode == 0, ran.stderr
    assert installed(machine) == ["install -y -qq --no-upgrade --no-install-recommends ninja-build"]
    assert "packages that are not installed: ninja-build" in ran.stderr
    assert machine().returncode == 0 and len(installed(machine)) == 1  # the second time: nothing


@pytest.mark.parametrize("answer, status", [("y", 0), ("", 0), ("n", 1), ("what", 1)])
def test_a_terminal_is_asked(machine, answer, status):
    ran = machine(answer)
    assert ran.returncode == status
    assert "install them with apt-get? [Y/n]" in ran.stderr
    assert len(installed(machine)) == (status == 0)
    if status:
        assert "sudo apt-get install -y --no-upgrade ninja-build" in ran.stderr


def test_upgrades_that_others_need_are_said(machine):
    assert "they also upgrade: libc6" in machine("n", UPGRADES="1").stderr


@pytest.mark.parametrize("env", [{"QUERN_YES": "0"}, {"FAKE_UID": "1000"}])
def test_who_may_not_or_must_not_install_gets_the_line(machine, env):
    ran = machine(**env)
    assert ran.returncode == 1 and installed(machine) == []
    assert "sudo apt-get install -y --no-upgrade ninja-build" in ran.stderr
