# SPDX-License-Identifier: MIT
"""scripts/calibrate.py: its formulas, gradients and figures on the published latencies."""
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))
import calibrate  # noqa: E402


@pytest.fixture(scope="module")
def problem():
    chips, shared = calibrate.read_costs()
    rows = calibrate.read_table(HERE / "latency.tsv", chips)
    p = calibrate.Problem(rows, calibrate.read_steps(HERE / "steps.tsv"), chips, shared)
    p.now = calibrate.current(p, chips, shared)
    return p


def test_the_constants_explain_the_table(problem):
    median, most, spearman = calibrate.figures(problem.predict(problem.now)[0], problem.ms)
    assert len(problem.ms) == 317
    assert median < 6.05 and most < 17.75 and spearman > 0.985


def test_known_predictions_come_out(problem):
    """Figures published with the constants, without Concats in place: ms on the 8 Elite."""
    us = problem.predict(problem.now)[0]
    for model, precision, ms in (("resnet50", "w8a8", 0.519), ("resnet50", "float", 1.265),
                                 ("mobilenet_v2", "w8a8", 0.239), ("mobilenet_v2", "w8a16", 0.392),
                                 ("vit", "float", 5.112), ("fcn_resnet50", "w8a8", 8.587)):
        i = [r["device"] == "Samsung Galaxy S25" and r["model"] == model
             and r["precision"] == precision for r in problem.rows].index(True)
        assert us[i] / 1e3 == pytest.approx(ms, rel=0.003), (model, precision)


def test_derivatives_are_right(problem):
    x = problem.now
    _, d = problem.predict(x)
    for k in range(0, len(x) - 2, 3):
        h = np.zeros(len(x))
        h[k] = 1e-6
        numeric = (problem.predict(x + h)[0] - problem.predict(x - h)[0]) / 2e-6
        assert np.allclose(d[:, k], numeric, rtol=1e-4, atol=1e-3), problem.names[k]


def test_unseen_networks_are_predicted(problem):
    median, most, spearman = calibrate.figures(calibrate.leave_out(problem), problem.ms)
    assert median < 11.5 and most < 30 and spearman > 0.98


def test_a_new_chip_is_found_from_three_networks(problem, tmp_path, monkeypatch, capsys):
    """Latencies made up from a known chip under another name give that chip again, as far as
    what is known of the others lets them."""
    us = problem.predict(problem.now)[0]
    lines = ["model\tprecision\tdevice\tms"]
    for r, t in zip(problem.rows, us):
        if r["device"] == "Samsung Galaxy S24" and r["model"] in ("resnet50", "mobilenet_v2",
                                                                  "fcn_resnet50"):
            lines.append(f"{r['model']}\t{r['precision']}\tMy phone\t{t / 1e3}")
    table = tmp_path / "mine.tsv"
    table.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(sys, "argv", ["calibrate.py", str(table), str(HERE / "steps.tsv"),
                                      "--device", "My phone", "--arch", "75"])
    calibrate.main()
    row = capsys.readouterr().out.splitlines()[0]
    clk, r8, ffp, _ = map(float, row.rstrip(")").split(", ")[-4:])
    assert clk == pytest.approx(1.63, rel=0.08)
    assert r8 == pytest.approx(14.58, rel=0.08)
    assert ffp == pytest.approx(0.300, rel=0.08)


def test_a_device_without_constants_is_named(problem, tmp_path):
    table = tmp_path / "mine.tsv"
    table.write_text("model\tprecision\tdevice\tms\nresnet50\tw8a8\tMy phone\t1\n")
    with pytest.raises(SystemExit, match="My phone"):
        calibrate.read_table(table, problem.chips)
