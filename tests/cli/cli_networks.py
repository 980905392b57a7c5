# SPDX-License-Identifier: MIT
"""quern estimate on the networks that the cost model was fitted on, cut from their files."""
import json
import pathlib
import sys

import pytest
from harness import ok_json

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/device")]
import calibrate  # noqa: E402
import calibration  # noqa: E402
import networks  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return networks.unpack(tmp_path_factory.mktemp("networks"))


# Bytes of all steps of a class, in the order of the counts.
KEYS = (("macs", 1e9), ("padded_macs", 1e9), ("weight_bytes", 1e6), ("light_bytes", 1e6),
        ("heavy_bytes", 1e6), ("move_bytes", 1e6), ("depthwise_bytes", 1e6))


@pytest.mark.parametrize("line", calibration.COUNTS, ids=lambda line: "-".join(line.split()[:2]))
def test_networks_are_cut_as_others_cut_them(files, line):
    model, precision, *want = line.split()
    names = {"w8a8": "a8w8", "w8a16": "a16w8", "fp16": "fp16"}
    n = ok_json("estimate", files[model], "-p", names[precision], "--json")["network"]
    got = [n["matrix_steps"], n["vector_steps"]] + [n[key] / unit for key, unit in KEYS]
    assert got == pytest.approx([float(x) for x in want], rel=0.01, abs=0.006)


def test_the_stored_steps_are_those_of_today(files, tmp_path):
    """What constants are fitted and judged on is what the program makes of the networks."""
    stored = calibrate.read_steps(ROOT / "tests/device/steps.tsv")
    for name, path in files.items():
        (tmp_path / f"{name}.json").write_text(
            json.dumps(ok_json("estimate", path, "-p", "a8w8", "--json", "--steps")))
    made = calibrate.read_steps(tmp_path)
    assert list(made) == sorted(stored) and len(made) == 12
    for name in made:
        assert made[name] == stored[name], name
