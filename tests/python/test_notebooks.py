# SPDX-License-Identifier: MIT
"""The notebooks run from the first cell to the last, and what cells show can be shown."""
import json
import re

import pytest

from installed import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# Cells one by one; the value of a last expression is shown as a notebook does.
RUN = """
import ast, json, sys
space = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]), f"cell {number}")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)
        html = getattr(value, "_repr_html_", None)
        assert not html or html().startswith("<div>")
        print(number, repr(value)[:100].splitlines()[0])
"""


@pytest.mark.provider
@pytest.mark.quantizer
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(python, path):
    shown = python("-W", "error::DeprecationWarning:quern", "-c", RUN, path).stdout
    assert len(shown.splitlines()) >= 5


def test_there_are_two_and_they_keep_no_output():
    assert len(NOTEBOOKS) >= 2
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert len(code) >= 5 and not any(c["outputs"] or c["execution_count"] for c in code)
        assert not re.search(r"/(home|root|work|tmp)/", path.read_text())
