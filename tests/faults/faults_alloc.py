# SPDX-License-Identifier: MIT
"""Every command with allocation n failing, once or from there on: a sentence about memory and
status 1, or all of the report and the files; nothing in between. A sample of n by default, all of
them with FAULT_FULL=1."""
import zlib

import pytest
from programs import COMMANDS, FULL, complaint, faulty, make_scene, without_faults

SAMPLE = 10  # of each command, beside the first ones
FIRST = 3


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    at = tmp_path_factory.mktemp("scene")
    make_scene(at)
    return at


def numbers(command, n):
    """Which allocations of n fail."""
    if FULL or n <= SAMPLE + FIRST:
        return range(1, n + 1)
    step = n / SAMPLE
    start = zlib.crc32(command.words.encode()) % int(step + 1)  # others for each command
    return sorted({*range(1, FIRST + 1), *(int(start + i * step) % n + 1 for i in range(SAMPLE))})


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_out_of_memory_is_said_or_does_not_matter(scene, command):
    whole = without_faults(command, scene)
    bad = []
    for n in numbers(command, whole.allocations):
        for forever in ("", "+"):
            p = faulty(command, scene, alloc=f"{n}{forever}")
            wrong = complaint(command, whole, p, scene)
            said = p.stderr.decode(errors="replace")
            if not wrong and p.returncode != command.status and "memory" not in said:
                wrong = "did not name memory"
            if wrong:
                bad.append(f"allocation {n}{forever}: {wrong}: {said[:300]}")
    assert not bad, "\n".join(bad)


def test_faults_reach_the_programs(scene):
    """The shim is loaded and counts: with every allocation failing nothing works."""
    for command in COMMANDS:
        if command.words.startswith("quern show"):
            p = faulty(command, scene, alloc="1+")
            assert p.returncode == 1 and b"memory" in p.stderr


PICTURES = [c for c in COMMANDS if "p.png" in c.words or "p.jpg" in c.words or "npz" in c.words]


@pytest.mark.parametrize("command", PICTURES, ids=str)
def test_files_are_not_called_damaged_for_want_of_memory(scene, command):
    for n in range(1, without_faults(command, scene).allocations + 1, 1 if FULL else 2):
        said = faulty(command, scene, alloc=n).stderr
        assert b"damaged" not in said and b"ONNX model is needed" not in said, (n, said)
