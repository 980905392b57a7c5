# SPDX-License-Identifier: MIT
"""Profiles of Quern's provider: the public provider's table, and the System library's log."""
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from provider import HTP, LIB, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from ort_models import conv_net, images  # noqa: E402

COLUMNS = ["Msg Timestamp", "Message", "Time", "Unit of Measurement", "Timing Source",
           "Event Level", "Event Identifier"]


def rows(path):
    with open(path, newline="") as f:
        table = list(csv.DictReader(f))
    assert list(table[0]) == COLUMNS and all(len(row) == len(COLUMNS) for row in table)
    return table


@pytest.mark.parametrize("level", ["basic", "detailed", "optrace", "DETAILED"])
def test_a_level_fills_the_table_and_the_log(tmp_path, monkeypatch, level):
    monkeypatch.chdir(tmp_path)  # where a schematic goes
    path = tmp_path / "p.csv"
    s = session(conv_net(seed=1), {**HTP, "profiling_level": level,
                                   "profiling_file_path": str(path)})
    assert {row["Message"] for row in rows(path)} & {"FINALIZE"}
    before = len(rows(path))
    for x in images(1, 2):
        s.run(None, {"x": x})
    table = rows(path)[before:]
    roots = [row for row in table if row["Event Level"] == "ROOT" and row["Message"] == "EXECUTE"]
    assert len(roots) == 2 and all(int(row["Time"]) > 0 for row in roots)
    nodes = [row for row in table if row["Message"] == "NODE"]
    assert bool(nodes) == (level != "basic")
    assert (tmp_path / "p_qnn.log").stat().st_size > 0
    assert len([*tmp_path.glob("*_schematic.bin")]) == (level == "optrace")


def test_the_viewer_draws_an_op_trace(tmp_path, monkeypatch):
    """Units work no longer than the modelled nodes of the same profile say."""
    monkeypatch.chdir(tmp_path)
    s = session(conv_net(seed=1), {**HTP, "soc_model": "SM8650", "profiling_level": "optrace",
                                   "profiling_file_path": str(tmp_path / "p.csv")})
    s.run(None, {"x": images(1, 1)[0]})
    (schematic,) = tmp_path.glob("*_schematic.bin")
    (tmp_path / "c.json").write_text('{"features": {"qhas_json": true}}')
    bin_ = Path(os.environ.get("QUERN_BIN", LIB.parent / "bin" / "quern")).parent
    subprocess.run([bin_ / "qnn-profile-viewer", "--reader", "optrace", "--input_log", "p_qnn.log",
                    "--schematic", schematic, "--config", "c.json", "--output", "o.json"],
                   check=True)
    nodes = {row["Event Identifier"].split(":OpId_")[0]: int(row["Time"]) for row in
             rows(tmp_path / "p.csv") if "(cycles, modelled)" in row["Event Identifier"] and
             ":OpId_" in row["Event Identifier"]}
    data = json.loads((tmp_path / "o_qnn_htp_analysis_summary.json").read_text())["data"]
    spent = {r["qnn_op"]: r["cycles"] for r in data["htp_op_instances"]["data"] if not r["dma"]}
    assert spent.keys() == {name for name, cycles in nodes.items() if cycles} and len(spent) > 1
    assert all(0 < spent[name] <= nodes[name] + 2 for name in spent)
    summary = data["htp_overall_summary"]["data"][0]
    weights = [r["dram_read"] for r in summary["htp_resources"]["data"]
               if r["type"] == "DMA"]
    assert weights and weights[0] > 0
    graph = json.loads((tmp_path / "o_htp.json").read_text())["graph"]
    assert spent.keys() <= graph["nodes"].keys()
    assert any(t["current_dims"] == [*images(1, 1)[0].shape] or t["type"] == 0
               for t in graph["tensors"].values())


def test_quern_profile_reads_both_files(tmp_path):
    """With a chip named, nodes have modelled cycles beside what was measured."""
    path = tmp_path / "p.csv"
    s = session(conv_net(seed=1), {**HTP, "soc_model": "SM8650", "profiling_level": "detailed",
                                   "profiling_file_path": str(path)})
    for x in images(1, 3):
        s.run(None, {"x": x})
    quern = os.environ.get("QUERN_BIN", LIB.parent / "bin" / "quern")
    told = []
    for file in (path, tmp_path / "p_qnn.log"):
        text = subprocess.run([quern, "profile", "--json", file], check=True, capture_output=True,
                              text=True).stdout
        (run,) = [g for g in json.loads(text)["groups"] if g["message"] == "Execute"]
        assert run["calls"] == 3
        told.append(run["nodes"])
    assert told[0] == told[1]
    nodes = [n for n in told[0] if ":" in n["node"]]
    assert nodes and all(n["measured_us"] is not None and n["measured_cycles"] is not None
                         and n["modelled_cycles"] is not None for n in nodes)
    assert sum(n["modelled_cycles"] for n in nodes) > 0


def test_profiling_without_a_file_is_refused():
    with pytest.raises(Exception, match="set profiling_file_path"):
        session(conv_net(seed=1), {**HTP, "profiling_level": "basic"})


def test_an_unknown_level_is_refused(tmp_path):
    with pytest.raises(Exception, match="did you mean 'detailed'"):
        session(conv_net(seed=1), {**HTP, "profiling_level": "detialed",
                                   "profiling_file_path": str(tmp_path / "p.csv")})


def test_a_folder_that_is_not_there_fails_with_its_name(tmp_path):
    with pytest.raises(Exception, match="nowhere/p.csv"):
        session(conv_net(seed=1), {**HTP, "profiling_level": "basic",
                                   "profiling_file_path": str(tmp_path / "nowhere" / "p.csv")})


def test_profiling_off_writes_nothing(tmp_path):
    path = tmp_path / "p.csv"
    session(conv_net(seed=1), {**HTP, "profiling_level": "off", "profiling_file_path": str(path)})
    assert not path.exists()
