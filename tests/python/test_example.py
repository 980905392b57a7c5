# SPDX-License-Identifier: MIT
"""The example runs, and docs/python.md shows what it prints."""
import re

import pytest

from installed import ROOT

EXAMPLE = ROOT / "python" / "examples" / "digits.py"


@pytest.mark.provider
def test_the_example_prints_what_the_page_shows(python):
    page = (ROOT / "docs" / "python.md").read_text()
    shown = re.search(r"```text\n(onnxruntime, float.*?)```", page, re.S).group(1).splitlines()
    printed = python(EXAMPLE).stdout.splitlines()
    assert len(printed) == len(shown)
    *others, estimate = zip(printed, shown)
    number = re.compile(r"\d+\.\d+")
    for got, want in others:
        # Shares of right digits to the letter; errors may differ in the last place by machine.
        assert number.sub("#", got) == number.sub("#", want)
        assert re.findall(r"[\d.]+%", got) == re.findall(r"[\d.]+%", want)
        for a, b in zip(number.findall(got), number.findall(want)):
            assert float(a) == pytest.approx(float(b), rel=0.05)
    # The estimate follows the constants of the cost model.
    got, want = ([float(n) for n in number.findall(line)] for line in estimate)
    assert got == pytest.approx(want, rel=0.25)


def test_cells_are_marked(python):
    text = EXAMPLE.read_text()
    assert len(re.findall(r"^# %% ", text, re.M)) >= 5
