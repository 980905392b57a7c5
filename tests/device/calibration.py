# SPDX-License-Identifier: MIT
"""scripts/calibrate.py: its formulas, gradients and figures on the published latencies."""
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))
import calibrate  # noqa: E402
import calibrate_tokens  # noqa: E402


@pytest.fixture(scope="module")
def problem():
    chips, shared = calibrate.read_costs()
    rows = calibrate.read_table(HERE / "latency.tsv", chips)
    p = calibrate.Problem(rows, calibrate.read_steps(HERE / "steps.tsv"), chips, shared)
    p.now = calibrate.current(p, chips, shared)
    return p


# Counted by others: matrix and vector steps, GMAC, padded GMAC, MB of weights, of light, heavy and
# move steps, millions of depthwise products times bytes.
COUNTS = """
resnet50           w8a8   54  18   4.089   5.741  25.50  18.57  0      0      0
resnet18           w8a8   21  10   1.814   3.164  11.68   4.19  0      0      0
mobilenet_v2       w8a8   36  28   0.301   0.508   3.47   0.71  0      0      20.72
mobilenet_v3_large w8a16  49  50   0.217   0.537   5.45   6.24  0.02   0      36.79
efficientnet_b0    w8a16  66 123   0.386   0.667   5.24  15.26 24.67   0      69.06
inception_v3       w8a8   95  25   2.838   3.381  23.80  10.05  0      2.41   0
densenet121        w8a8  121 191   2.834   4.149   7.89  45.39  0     21.10   0
densenet121        fp16  121 129   2.834   4.149  15.79  48.57  0     42.20   0
regnet             w8a8   81  26   3.177   4.790  15.23   8.67  0      0      0
squeezenet1_1      w8a8   26  12   0.349   0.670   1.23   3.35  0      2.90   0
convnext_tiny      w8a16  41  78   4.456   5.065  28.52  12.95 46.22   0      210.21
fcn_resnet50       w8a8   55  19 142.726 149.918  32.90 231.01  0      0      0
vit                fp16   74 221  17.564  21.385 172.58  36.92 66.53 110.44   0
""".strip().splitlines()


@pytest.mark.parametrize("line", COUNTS, ids=lambda line: "-".join(line.split()[:2]))
def test_networks_are_cut_as_known(line):
    model, precision, *want = line.split()
    steps = calibrate.read_steps(HERE / "steps.tsv")[model]
    half, a = precision == "fp16", 1 if precision == "w8a8" else 2
    passes = [1 if half else s["passes"] for s in steps]  # of steps in place as well
    vector = [(n, s) for n, s in zip(passes, steps) if s["class"] != "matrix"]
    work = lambda *kinds: sum(n * a * s["work"] for n, s in vector if s["class"] in kinds) / 1e6
    got = [len(steps) - len(vector), sum(n for n, _ in vector)]
    got += [sum(s[k] for s in steps) / 1e9 for k in ("macs", "padded")]
    got += [(2 if half else 1) * sum(s["weights"] for s in steps) / 1e6, work("light", "pool"),
            work("heavy"), work("move"), work("depthwise")]
    assert got == pytest.approx([float(x) for x in want], rel=0.01, abs=0.006)


def test_the_constants_explain_the_table(problem):
    median, most, spearman = calibrate.figures(problem.predict(problem.now)[0], problem.ms)
    assert len(problem.ms) == 317
    assert median < 4.6 and most < 13.25 and spearman > 0.99


def test_derivatives_are_right(problem):
    x = problem.now
    _, d = problem.predict(x)
    for k in range(0, len(x) - 2, 3):
        h = np.zeros(len(x))
        h[k] = 1e-6
        numeric = (problem.predict(x + h)[0] - problem.predict(x - h)[0]) / 2e-6
        assert np.allclose(d[:, k], numeric, rtol=1e-4, atol=1e-3), problem.names[k]


@pytest.fixture(scope="module")
def unseen(problem):
    return calibrate.leave_out(problem)


def test_unseen_networks_are_predicted(problem, unseen):
    median, most, spearman = calibrate.figures(unseen, problem.ms)
    assert median < 6.2 and most < 19.5 and spearman > 0.985


def test_a_fold_does_not_know_its_network(problem, unseen):
    own = np.array([r["model"] == "resnet50" for r in problem.rows])
    copy = np.array([r["copy"] for r in problem.rows])
    us = problem.predict(calibrate.fit(problem, ~own & ~copy))[0]
    assert np.allclose(us[own], unseen[own], rtol=1e-9)
    other = calibrate.fit(problem, ~copy)  # which knows it
    assert not np.allclose(problem.predict(other)[0][own], unseen[own], rtol=1e-3)


def test_intervals_hold_as_often_as_they_say(problem, unseen):
    for part, _, held in calibrate.coverage(problem, unseen):
        assert held == pytest.approx(part, abs=0.03)
    text = (HERE.parent.parent / "src/device/device.h").read_text()
    printed = float(re.search(r"#define QD_INTERVAL ([\d.]+)", text)[1])
    assert 0.9 <= np.mean(np.abs(problem.ms * 1e3 / unseen - 1) <= printed) < 0.97


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
    assert clk == pytest.approx(1.61, rel=0.08)
    assert r8 == pytest.approx(14.16, rel=0.08)
    assert ffp == pytest.approx(0.345, rel=0.08)


@pytest.mark.parametrize("row, says", [
    ("resnet50\tw8a8\tMy phone\t1", "row 2: no constants for 'My phone'; use --device"),
    ("resnet50\tint3\tSamsung Galaxy S24\t1", "precision 'int3'; expected w8a8"),
    ("resnet50\tw8a8\tSamsung Galaxy S24\t-1", "'-1' ms; expected a number above 0"),
    ("resnet50\tw8a8\tSamsung Galaxy S24\tnan", "'nan' ms"),
    ("resnet50\tw8a8", "no device, ms"),
    ("alexnet\tw8a8\tSamsung Galaxy S24\t1", "no steps of alexnet"),
    ("", "no latencies")])
def test_rows_that_say_nothing_are_named(tmp_path, monkeypatch, row, says):
    table = tmp_path / "mine.tsv"
    table.write_text(f"model\tprecision\tdevice\tms\n{row}\n")
    monkeypatch.setattr(sys, "argv", ["calibrate.py", str(table), str(HERE / "steps.tsv")])
    with pytest.raises(SystemExit, match=says):
        calibrate.main()


def test_rates_of_decoding_are_those_of_the_fit():
    points = calibrate_tokens.read(HERE / "tokens.tsv")
    chips = sorted({p["soc"] for p in points})
    fitted = calibrate_tokens.fit(points, chips)
    text = calibrate.COSTS.read_text()
    kept = dict(re.findall(r'^DECODE\("(\w+)", ([\d.]+)\)$', text, re.M))
    kept[""] = re.search(r"^SHARED\(cache, ([\d.]+),", text, re.M)[1]
    assert {c: f"{1 / s:.1f}" for c, s in zip([*chips, ""], fitted)} == kept
    error = np.abs(calibrate_tokens.errors(points, chips, fitted))
    assert len(points) == 27 and np.median(error) < 0.06 and np.quantile(error, 0.9) < 0.16
