# SPDX-License-Identifier: MIT
"""Reports of the program as Python objects: fields, tables, HTML, pandas, and errors."""
import io
import re
import sys
import types
import warnings

import numpy as np
import pytest

from installed import ROOT

ONE = {"N": 1}


@pytest.fixture(scope="module")
def digits(quern):
    return quern.sample()


def test_check_lists_every_node(quern, digits):
    report = quern.check(digits / "digits.onnx", soc="SM8650", dims=ONE)
    assert report.ok and report.rejected == 0 and len(report) == report.accepted == 10
    assert report[1].name == "conv1" and report[1]["op"] == "Conv"
    assert [row.state for row in report] == ["supported"] * 10
    assert "10 of 10 nodes supported" in report.summary and "conv1" in repr(report)
    assert report.to_dict()["nodes"][0]["name"] == "normalize"


def test_check_says_which_node_is_rejected_and_which_depend_on_it(quern, digits):
    report = quern.check(digits / "digits.onnx", soc="SM8650")
    assert not report.ok and report.rejected == 1 and report.not_evaluated == 9
    (node,) = report.rejected_nodes
    assert node.name == "normalize" and "image" in node.reason
    assert "9 not evaluated" in report.summary


def test_a_default_target_is_said(quern, digits):
    with pytest.warns(UserWarning, match="target SoC: SM8650") as seen:
        quern.check(digits / "digits.onnx", dims=ONE)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quern.check(digits / "digits.onnx", "cpu", dims=ONE)


def test_estimate_has_a_row_for_each_precision_and_soc(quern, digits):
    report = quern.estimate(digits / "digits.onnx", dims=ONE)
    assert [row.precision for row in report] == ["a8w8", "a16w8", "fp16"]
    assert report.ms == report[0].ms and all(r.low_ms < r.ms < r.high_ms for r in report)
    every = quern.estimate(digits / "digits.onnx", "all", precision="fp16", dims=ONE)
    assert len(every) > 10 and len({row.chip for row in every}) == len(every)
    assert f"… and {len(every) - 20} more" in repr(every) or len(every) <= 20


def test_bench_measures_and_shows_ops_or_nodes(quern, digits):
    report = quern.bench(digits / "digits.onnx", dims=ONE, runs=3)
    assert report.runs == 3 and 0 < report.min_ms <= report.median_ms
    assert {"Conv2d", "Softmax"} <= {row.type for row in report}
    assert len(quern.bench(digits / "digits.onnx", dims=ONE, runs=2, nodes=3)) == 3


def test_info_and_socs(quern):
    info = quern.info()
    assert info.version == quern.__version__
    assert {row.backend for row in info if row.found} >= {"cpu", "htp", "system"}
    assert [row.name for row in quern.socs("galaxy s24")] == ["SM8650"] or \
        "SM8650" in {row.name for row in quern.socs("galaxy")}
    assert len(quern.socs()) > 20


def test_compare_runs_two_models_on_the_same_inputs(quern, digits):
    image = np.load(digits / "images.npy")[:1].astype(np.float32)
    report = quern.compare(digits / "digits.onnx", digits / "digits_a8w8.onnx", dims=ONE,
                           inputs={"image": image}, soc="SM8650")
    rows = {row.name: row for row in report}
    # What a quantizer of 8 bits may do to its input: half a step, and the SQNR of that error.
    assert rows["x_q"].steps <= 0.5 + 1e-3
    assert report.worst.sqnr_db > 30 and "dB" in report.summary
    same = quern.compare(digits / "digits.onnx", digits / "digits.onnx", backend="cpu", dims=ONE)
    assert same.worst is None and all(row.equal for row in same)
    assert "random inputs" in same.summary and "random" not in report.summary


def test_shapes_fix_dynamic_inputs(quern, digits):
    report = quern.check(digits / "digits.onnx", "cpu", shapes={"image": [2, 1, 8, 8]})
    assert report.ok
    with pytest.raises(ValueError, match="no dimension 'M'; expected one of N"):
        quern.compare(digits / "digits.onnx", digits / "digits.onnx", dims={"M": 1}, soc="SM8650")
    for sizes in ({"shapes": {"image": [2, 1, 8, 8]}}, {"dims": {"image.0": 2}}):
        same = quern.compare(digits / "digits.onnx", digits / "digits.onnx", backend="cpu", **sizes)
        assert len(same) > 5 and same.worst is None


def test_hints_about_dynamic_shapes_are_arguments_of_python(quern, digits):
    with pytest.warns(RuntimeWarning, match='set it with dims={"N": SIZE};'):
        quern.check(digits / "digits.onnx", "cpu")
    with pytest.raises((ValueError, RuntimeError), match='dims={"N": SIZE}'):
        quern.estimate(digits / "digits.onnx")


@pytest.mark.parametrize("said, words", [
    ("--dim 'h=8': the dynamic dimensions have no names; use x.2=SIZE, x.3=SIZE or --shape",
     'dims={"h": 8}: the dynamic dimensions have no names; use dims={"x.2": SIZE, "x.3": SIZE} '
     'or shapes='),
    ("set it with --shape x=1,N, or give a .npy file", 'set it with shapes={"x": (1, N)}')])
def test_messages_about_unnamed_dimensions_are_arguments_of_python(quern, said, words):
    from quern import _cli
    assert _cli._as_python(said) == words


def test_compare_rejects_a_folder_and_a_model(quern, digits):
    with pytest.raises(ValueError, match="two folders of QUERN_DUMP or two models"):
        quern.compare(digits, digits / "digits.onnx")


def test_every_report_is_a_table_in_a_notebook_and_names_are_escaped(quern, digits):
    for report in (quern.check(digits / "digits.onnx", "cpu", dims=ONE), quern.info(),
                   quern.socs("v75"), quern.estimate(digits / "digits.onnx", dims=ONE)):
        page = report._repr_html_()
        assert page.count("<tr>") == 1 + min(len(report), 20) and page.startswith("<div>")
    bad = quern.Check({"model": "<b>", "backend": "cpu", "accepted": 0, "refused": 1,
                       "not_tried": 0, "nodes": [{"name": "<script>x</script>", "op": "&",
                                                  "accepted": False, "reason": "\"'"}]})
    assert "<script>" not in bad._repr_html_() and "<b>" not in bad._repr_html_()
    assert "&lt;script&gt;" in bad._repr_html_()


def test_pandas_is_asked_for_in_words(quern, digits, monkeypatch):
    report = quern.estimate(digits / "digits.onnx", dims=ONE)
    frames = types.ModuleType("pandas")
    frames.DataFrame = lambda rows: rows
    monkeypatch.setitem(sys.modules, "pandas", frames)
    rows = report.to_pandas()
    assert rows[0]["parts_ms.matrix"] == report[0].parts_ms["matrix"] and len(rows) == 3
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_pandas.. needs pandas.*pip install pandas"):
        report.to_pandas()


@pytest.mark.parametrize("call, kind, words", [
    (lambda q, d: q.check("none.onnx"), FileNotFoundError, "none.onnx: there is no such model"),
    (lambda q, d: q.check(d / "digits.onnx", soc="SM9999"), ValueError, "SM9999"),
    (lambda q, d: q.check(d / "digits.onnx", "cpu", dims={"M": 1}), Exception, "M"),
    (lambda q, d: q.bench(d / "digits.onnx", sekonds=1), ValueError, "unknown argument 'sekonds'; "
     "did you mean 'seconds'?"),
    (lambda q, d: q.check(d / "digits.onnx", shape={"image": [1, 1, 8, 8]}, soc="SM8650"),
     ValueError, "unknown argument 'shape'; did you mean 'shapes'?"),
    (lambda q, d: q.estimate(d / "digits.onnx", dim=ONE), ValueError, "did you mean 'dims'?"),
    (lambda q, d: q.check(d / "digits.onnx", soc="SM8651"), ValueError,
     "soc='SM8651': unknown SoC; did you mean 'SM8650'?"),
    (lambda q, d: q.check(d / "digits.onnx", "cpu", dims={"N": 0}), ValueError, 'dims={"N": 0}: '),
    (lambda q, d: q.check(d / "digits.onnx", "cpu", shapes={"image": (1, 3)}), ValueError,
     'shapes={"image": (1, 3)}: input \'image\' has 4 dimensions, found 2'),
    (lambda q, d: q.compare(d / "digits.onnx", d / "digits_a8w8.onnx", dims=ONE, soc="SM8650",
                            inputs=np.zeros(1)), TypeError, "expected a dict of arrays"),
    (lambda q, d: q.compare(d / "digits.onnx", d / "digits_a8w8.onnx", dims=ONE, soc="SM8650",
                            inputs={"image": np.zeros((1, 1, 8, 8))}), ValueError,
     "inputs['image']: float64, input 'image' expects float32; use .astype('float32')"),
    (lambda q, d: q.session(d), IsADirectoryError, "a folder; name the model file in it"),
    (lambda q, d: q.estimate(d / "labels.npy"), RuntimeError, "labels.npy"),
    (lambda q, d: q.compare(d / "digits.onnx", d / "digits_a8w8.onnx", dims=ONE, soc="SM8650",
                            inputs={"picture": np.zeros(1)}), ValueError, "picture")])
def test_errors_are_exceptions_in_the_words_of_the_program(quern, digits, call, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        call(quern, digits)


def test_rows_say_which_fields_there_are(quern):
    row = quern.Row({"a": 1})
    assert row.a == row["a"] == 1 and list(row) == ["a"] and repr(row) == "Row(a=1)"
    with pytest.raises(AttributeError, match="no field 'b'; there are a"):
        row.b
    with pytest.raises(AttributeError, match="Socs has no field 'c'"):
        quern.Socs([]).c


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bars_are_drawn_on_terminals_alone(quern, monkeypatch):
    from quern import _progress
    monkeypatch.setattr(_progress, "_DELAY", 0)
    monkeypatch.setattr(_progress, "_PAUSE", 0)
    seen = Terminal()
    with _progress.Bar("work", 4, seen) as bar:
        bar.step()
        assert re.search(r"work  25%\|█{5} {15}\| 1/4 \[00:00<", seen.getvalue())
        bar.step(3)
    assert "100%" in seen.getvalue() and seen.getvalue().endswith("\r\033[K")
    piped = io.StringIO()
    with _progress.Bar("work", 2, piped) as bar:
        bar.step(2)
    with _progress.Elapsed("work", out=piped):
        pass
    assert piped.getvalue() == ""


def test_the_page_names_every_function(quern):
    page = (ROOT / "docs" / "python.md").read_text()
    for name in quern.__all__:
        assert isinstance(getattr(quern, name), type) or not callable(getattr(quern, name)) or \
            re.search(rf"\b{name}\b", page), name


def test_the_bars_of_the_program_are_drawn_here(quern, monkeypatch):
    """A program that draws as `quern quantize` does, looked at through a terminal of its own."""
    from quern import _cli, _progress
    monkeypatch.setattr(_progress, "_DELAY", 0)
    monkeypatch.setattr(_progress, "_PAUSE", 0)
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    script = ("import sys; assert sys.stderr.isatty(); print('{}'); sys.stderr.write("
              r"'\r\033[Kcalibrating [###   ] 3/6\r\033[Kquern: \033[1;31merror: \033[0mno\n');"
              "sys.exit(4)")
    ran = _cli.watched([sys.executable, "-c", script])
    assert ran.returncode == 4 and ran.stdout.strip() == "{}"
    assert ran.stderr.splitlines()[-1].endswith("quern: error: no")
    assert "calibrating  50%|" in seen.getvalue()
