# SPDX-License-Identifier: MIT
"""The benchmarks: their arithmetic against numbers worked out by hand, and a short run."""
import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
BIN = Path(os.environ.get("QUERN_BIN", "build/bin/quern")).resolve()
sys.path.insert(0, str(BENCH))
import chart  # noqa: E402
import first as first_answer  # noqa: E402
import measure  # noqa: E402
import nets  # noqa: E402
import op_cases  # noqa: E402
import provider  # noqa: E402
import report  # noqa: E402
import roofline  # noqa: E402
import run as bench_run  # noqa: E402
import sides  # noqa: E402
import wanted  # noqa: E402
import zoo  # noqa: E402


def test_ratio_is_ours_by_the_peers():
    assert measure.ratio(3.0, 2.0) == 1.5
    assert measure.ratio(None, 2.0) is None and measure.ratio(3.0, None) is None


def test_the_providers_page_keeps_the_rows_of_other_models(tmp_path, monkeypatch):
    monkeypatch.setattr(provider, "PAGE", tmp_path / "page.md")
    for model, run in (("a", 1), ("b", 2), ("a", 3)):
        provider.write({"model": model, "run": run})
    lines = provider.PAGE.read_text().splitlines()[-4:]
    assert lines[0].startswith("| model |") and set(lines[1]) == set("| -")
    assert [(t.split()[1], t.split("|")[9].strip()) for t in lines[2:]] == [("a", "3"), ("b", "2")]


def test_every_op_of_the_standard_has_a_case_or_a_reason():
    assert op_cases.uncovered() == []


def test_geometric_mean():
    assert measure.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert measure.geometric_mean([0.5, 2.0, None]) == pytest.approx(1.0)
    assert measure.geometric_mean([None]) is None


def test_a_turn_has_as_many_runs_as_fit():
    assert measure.runs_for(0.4, 100) == 4
    assert measure.runs_for(0.4, 1000) == 1
    assert measure.runs_for(0.4, 0.001) == 1000


def test_summary_takes_the_minimum_and_the_median_of_medians():
    turns = [{"min_ms": 3, "median_ms": 5, "runs": 4}, {"min_ms": 2, "median_ms": 9, "runs": 4},
             {"min_ms": 4, "median_ms": 6, "runs": 4}]
    assert measure.summary(turns) == {"min_ms": 2, "median_ms": 6, "turns": 3, "runs": 12}
    assert measure.turn_of([4, 1, 3, 2]) == {"min_ms": 1, "median_ms": 2.5, "runs": 4}


def test_sides_take_turns():
    calls = []

    def side(name, ms):
        def runs(n):
            calls.append((name, n))
            return {"min_ms": ms, "median_ms": ms, "runs": n}
        return runs
    got = measure.alternate({"a": side("a", 50), "b": side("b", 10)}, 3, 0.1)
    assert calls[:2] == [("a", 2), ("b", 2)]  # how long a run takes
    assert calls[2:] == [("a", 1), ("a", 2), ("b", 1), ("b", 10)] * 3
    assert got["a"] == {"min_ms": 50, "median_ms": 50, "turns": 3, "runs": 6}
    assert got["b"]["runs"] == 30


def test_growth_is_an_exponent():
    assert measure.growth([1, 2, 4], [5, 20, 40]) == pytest.approx([2, 1])


def test_sqnr():
    want = [np.array([3.0, 4.0], np.float32)]
    assert measure.sqnr(want, [np.array([3.0, 3.5], np.float32)]) == pytest.approx(20)
    assert measure.sqnr(want, want) == math.inf


def row(model, form, threads, ours, peer):
    return {"model": model, "form": form, "threads": threads,
            "ours": {"min_ms": ours, "median_ms": 2 * ours},
            "peer": {"min_ms": peer, "median_ms": peer}}


def test_tables_hold_the_ratios():
    rows = [row("m", "fp32", 1, 6, 4), row("m", "fp32", 2, 3, 4), row("n", "fp32", 1, 3, 8)]
    assert report.ratios(rows[0]) == (1.5, 3.0)
    assert "| m | fp32 | 1 | 6.000 | 4.000 | 1.50 (3.00) | - | - |" in report.model_table(rows)
    assert report.scaling(rows) == {("m", "fp32", "ours"): 2.0, ("m", "fp32", "peer"): 1.0}
    # The mean of 1.5 and 0.375 is 0.75.
    assert "| fp32 | 1 | 2 | 0.75 |" in report.mean_table(rows)
    refused = {"model": "m", "form": "fp16", "threads": 1}
    assert report.both(refused) == "-" and "| - | - | - |" in report.model_table([refused])


def test_what_is_wanted_and_missed_is_marked():
    goal = wanted.RATIOS["resnet50"]["a8w8"]
    rows = [row("resnet50", "a8w8", 1, goal * 9.9, 10), row("resnet50", "a8w8", 1, goal * 10.1, 10),
            row("resnet50", "a8w8", 2, 10, 10), row("resnet50", "a8w8", 2, 5, 10)]
    lines = report.model_table(rows).splitlines()[2:]
    assert ["missed" in line for line in lines] == [False, True, False, False]
    assert f"| {goal:.2f} |" in lines[0] and f"| {goal:.2f} |" not in lines[2]
    assert set(wanted.RATIOS) == set(zoo.NETS)
    two = report.scaling_table([row("resnet50", "a8w8", 1, 10, 10),
                                row("resnet50", "a8w8", 2, 6, 5)])
    assert "| **1.67 (missed)** | 1.75 | 2.00 |" in two
    half = report.half_table([row("m", "fp32", 1, 10, 1), row("m", "fp16", 1, 13, 1)])
    assert "| m | 1 | 10.000 | 13.000 | **1.30 (missed)** | 1.20 |" in half
    arena = report.arena_table([{"model": "m", "form": "fp32", "arena_bytes": 3 << 20,
                                 "bound_bytes": 2 << 20}, {"model": "n", "form": "fp32"}])
    assert "| m | fp32 | 3.00 | 2.00 | **1.500 (missed)** | 1.15 |" in arena
    assert "| n |" not in arena


def test_openvino_has_columns_where_it_ran():
    beside = {**row("m", "a8w8", 1, 6, 4), "openvino": {"min_ms": 12.0, "median_ms": 13.0}}
    head, _, first, second = report.model_table([beside, row("n", "fp32", 1, 6, 4)]).splitlines()
    assert head.count("OpenVINO | its SQNR | to the faster") == 1
    assert "| 12.000 | - | **1.50 (missed)** |" in first and "12.000" not in second
    slow = {**beside, "openvino": {"min_ms": 3.0, "median_ms": 3.0}, "openvino_sqnr_db": 40.0}
    assert "| 3.000 | 40.0 | **2.00 (missed)** |" in report.model_table([{**slow, "sqnr_db": 45.0}])
    # What computes something else is no peer.
    assert "| 3.000 | 40.0 | **1.50 (missed)** |" in report.model_table([{**slow, "sqnr_db": 70.0}])
    fast = {**row("m", "a8w8", 1, 2, 4), "openvino": {"min_ms": 3.0, "median_ms": 3.0}}
    assert "| 3.000 | - | 0.67 |" in report.model_table([fast])
    assert "OpenVINO" not in report.model_table([row("m", "a8w8", 1, 6, 4)])


@pytest.mark.parametrize("name", ["mobilenet_v2", "mobilenet_v3_large"])
def test_networks_need_no_package(name, tmp_path):
    """What nets.py writes is a model that onnx understands, with the shapes of the network."""
    import onnx
    nets.NETS[name](nets.Net(), tmp_path / "net.onnx")
    net = onnx.shape_inference.infer_shapes(onnx.load(tmp_path / "net.onnx"))
    shape = [d.dim_value for d in net.graph.output[0].type.tensor_type.shape.dim]
    assert shape == [1, 1000]
    assert set(nets.NETS) == set(zoo.NETS)


def test_a_further_column_for_the_vendors_library():
    rows = [{**row("m", "a8w8", 1, 6, 4), "vendor": {"min_ms": 70.0, "median_ms": 71.0}}]
    assert "| - | 70.000 | - |" in report.model_table(rows)
    assert "vendor" not in report.model_table([row("m", "a8w8", 1, 6, 4)])


def test_work_of_others_is_what_is_not_ours():
    assert measure.Others.between((0, 10, 2), (10, 18, 7)) == pytest.approx(0.3)
    assert measure.Others.between((0, 10, 2), (10, 11, 7)) == 0
    others = measure.Others()
    while sum(os.times()[:2]) - others.start[2] < 0.3:  # our own work does not count
        pass
    assert others.busy() < os.cpu_count()


def test_kernels_stand_beside_their_limit_and_what_was_wanted():
    rows = [{"what": "s", "form": "u8s8", "kernel": "k", "ms": 2.0, "rate": 300.0, "unit": "GOPS",
             "limit": "arithmetic", "of_limit": share, "wanted": 0.8, "peer": "A", "peer_ms": 4.0}
            for share in (0.79, 0.81)]
    text = report.kernel_table(rows)
    assert "| **79 % (missed)** | 80 % | A | 4.0000 | 0.50 |" in text
    assert "| 81 % | 80 % | A | 4.0000 | 0.50 |" in text
    del rows[0]["wanted"], rows[0]["peer"], rows[0]["peer_ms"]
    assert "| 79 % | - | - | - | - |" in report.kernel_table(rows[:1])


def test_growth_table_has_powers_of_the_pixels():
    rows = [{"size": size, "ours": {"min_ms": ours, "median_ms": ours},
             "peer": {"min_ms": 1.0, "median_ms": 1.0}} for size, ours in ((10, 1.0), (20, 8.0))]
    assert "| 20 | 8.000 | 1.50 | 1.000 | 0.00 | 8.00 (8.00) |" in report.growth_table(rows)
    assert report.growth_table([]) == ""


def test_report_says_its_command_and_what_is_missing():
    results = {"command": "bench/run.py --quick", "machine": "A CPU", "load": 0.1, "cpus": 2,
               "models": [row("m", "fp32", 1, 6, 4)], "missing": ["x: no torch"]}
    text = report.markdown(results)
    assert "**Other programs" not in text and "0.10 CPUs" in text
    assert "**Other programs kept 1.1 of 2 CPUs" in report.markdown({**results, "load": 1.1})
    assert "    bench/run.py --quick\n" in text and "- x: no torch" in text
    assert "## Models" in text and "## Kernels" not in text
    assert bench_run.command_of(["--bin", "/a/b", "--out=/c", "--quick"]) == "bench/run.py --quick"
    assert bench_run.command_of(["--write", "--out", "/c"]) == "make bench"
    assert bench_run.command_of(["--write", "--turns", "5"]) == 'make bench BENCH="--turns 5"'


def test_first_answers_are_sums_of_their_parts():
    parts = {"ours": {"import": 5.0, "finalize": 3.0, "run": 2.0},
             "peer": {"session": 15.0, "run": 10.0}, "provider": {"session": 20.0, "run": 1.0}}
    text = report.answer_table([{"model": "m", "form": "fp32", "threads": 1, **parts}])
    assert "| 5.0 | 3.0 | 2.0 | 10.0 | 25.0 | 0.40 | 21.0 | **0.84 (missed)** |" in text
    parts["plugin"] = {"choose": 1.0, "compile": 6.5}
    text = report.answer_table([{"model": "m", "form": "fp32", "threads": 1, **parts}])
    assert "| 21.0 | **0.84 (missed)** | 12.5 | 0.50 |" in text  # the rest is the host's
    del parts["provider"], parts["plugin"]
    text = report.answer_table([{"model": "m", "form": "fp32", "threads": 1, **parts}])
    assert "provider" not in text and "public" not in text and report.answer_table([]) == ""
    turns = iter([{"session": 4, "run": 4}, {"session": 1, "run": 6}, {"session": 9, "run": 1}])
    assert first_answer.best({"a": lambda: next(turns)}, 3) == {"a": {"session": 1, "run": 6}}


def test_first_answers_of_both_sides(tmp_path):
    file = zoo.separable(32).save(tmp_path / "net.onnx")
    ours = first_answer.of_ours(BIN, file, "cpu", None, 1)
    peer = first_answer.of_session("cpu", file, 1)
    assert set(ours) == {"import", "finalize", "run"} and min(ours.values()) > 0
    assert set(peer) == {"session", "run"} and min(peer.values()) > 0
    with pytest.raises(sides.Refused):
        first_answer.of_session("cpu", tmp_path / "none.onnx", 1)
    library = BIN.parent.parent / "lib" / "libQnnCpu.so"
    if library.with_name("libonnxruntime_providers_quern.so").exists():
        plugin = first_answer.of_plugin(file, 1, library)
        assert set(plugin) == {"choose", "compile"} and min(plugin.values()) > 0


def test_a_scaling_chart_has_a_point_for_each_measurement():
    rows = [row("m", "fp32", 1, 10, 20), row("m", "fp32", 2, 5, 10), row("n", "fp32", 1, 4, 4),
            row("m", "a8w8", 1, 1, 1)]
    assert chart.lines_of(rows, "m", "fp32") == {"ours": [(1, 100.0), (2, 200.0)],
                                                 "peer": [(1, 50.0), (2, 100.0)]}
    assert chart.ticks(15, 200) == [20, 50, 100, 200]
    assert chart.ticks(15, 40) == [15, 20, 30, 40]
    root = ET.fromstring(chart.svg(rows, "fp32"))
    words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("threads") == words.count("runs per second") == 2  # axes of two panels
    assert words.count("Quern") == words.count("onnxruntime") == 1 and "OpenVINO" not in words
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "Quern, 2 threads: 200 runs per second" in titles and len(titles) == 6
    assert chart.svg(rows, "fp16") is None
    text = report.chart_list({"fp32": "performance-fp32.svg"})
    assert text == "![fp32: runs per second by threads](performance-fp32.svg)\n"


PER_OP = {"peaks": {"threads": 1, "f32_gops": 100, "i8_gops": 400, "i16_gops": 200,
                    "l2_gbs": 100, "dram_gbs": 10},
          "rows": [{"node": "a<b", "type": "Conv2d", "peak": "f32", "us": 10, "share": 0.75,
                    "macs": 1e6, "bytes": 2e4, "gops": 50.0, "of_peak": 0.5, "steps": []},
                   {"node": "r", "type": "Relu", "peak": "f32", "us": 3, "share": 0.25, "macs": 0,
                    "bytes": 8e3, "gops": None, "of_peak": None, "steps": []}]}


def test_roofline():
    assert roofline.limit(5, 100, 10) == 50 and roofline.limit(50, 100, 10) == 100
    assert [(i, g) for _, i, g in roofline.points(PER_OP["rows"])] == [(100.0, 50.0)]
    assert roofline.slopes(PER_OP["peaks"]) == [("DRAM", 10), ("L2", 100)]
    assert roofline.slopes({**PER_OP["peaks"], "l3_gbs": 50}) == [("DRAM", 10), ("L3", 50),
                                                                  ("L2", 100)]
    assert roofline.slopes({**PER_OP["peaks"], "l3_gbs": 11}) == [("DRAM", 10), ("L2", 100)]
    axis = roofline.Axis(0.1, 1000, 0, 400)
    assert axis(1) == pytest.approx(100) and axis(1000) == pytest.approx(400)
    assert list(axis.decades()) == [-1, 0, 1, 2, 3]
    root = ET.fromstring(roofline.svg("net", PER_OP))  # well-formed, names escaped
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 1 and titles[0].startswith("a<b: 10 us, 50.0 GOPS, 50 % of peak")
    assert "the others take 25 %" in ET.tostring(root, encoding="unicode")
    assert roofline.svg("net", {**PER_OP, "rows": PER_OP["rows"][1:]}) is None


def test_both_sides_run_the_same_file(tmp_path):
    file = zoo.separable(32).save(tmp_path / "net.onnx")
    peer = sides.OnnxRuntime(file, 1)
    got = sides.run_ours(BIN, file, peer.feed, "cpu")
    assert measure.sqnr(peer.outputs(), got) > 80
    ours = sides.Ours(BIN, file, "cpu")
    assert ours(3)["runs"] == 3 and ours.ready["finalize_ms"] > 0
    assert peer(3)["runs"] == 3
    ours.close()


def test_a_refusal_has_its_reason(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(sides.Refused, match="bad.onnx"):
        sides.Ours(BIN, tmp_path / "bad.onnx", "cpu")
    with pytest.raises(sides.Refused):
        sides.OnnxRuntime(tmp_path / "bad.onnx", 1)


def test_a_short_run(tmp_path):
    """Quantizes, measures and draws a small network under a name that the harness knows."""
    models, out = tmp_path / "models", tmp_path / "out"
    models.mkdir()
    zoo.separable(64).save(models / "mobilenet_v2.onnx")
    done = subprocess.run(
        [sys.executable, "-B", BENCH / "run.py", "--models", "mobilenet_v2,resnet50", "--forms",
         "fp32,a8w8", "--parts", "models,costs,rooflines", "--threads", "1", "--turns", "5",
         "--seconds", "0.01", "--bin", BIN.parent, "--model-dir", models, "--out", out,
         "--export-python", "/bin/false"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    got = json.loads((out / "results.json").read_text())
    assert [(r["model"], r["form"]) for r in got["models"]] == [("mobilenet_v2", "fp32"),
                                                               ("mobilenet_v2", "a8w8")]
    for r in got["models"]:
        assert r["ours"]["turns"] == r["peer"]["turns"] == 5 and r["ours"]["min_ms"] > 0
        # Codes of 128 classes that are nearly alike are 1 to 3: one step is much.
        assert r["sqnr_db"] == "equal" or r["sqnr_db"] > {"fp32": 80, "a8w8": 6}[r["form"]]
    assert got["costs"][1]["arena_bytes"] >= got["costs"][1]["bound_bytes"] > 0
    assert got["costs"][1]["binary_load_ms"] > 0 and got["costs"][0]["memory_mb"] > 1
    assert any(text.startswith("resnet50: ") for text in got["missing"])
    assert (out / "mobilenet_v2_fp32.svg").exists() and (out / "mobilenet_v2_a8w8.svg").exists()
    assert "| mobilenet_v2 | a8w8 | 1 |" in done.stdout
