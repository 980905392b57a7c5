# SPDX-License-Identifier: MIT
"""quern check, bench and profile --html: the data in the pages is that of --json, names stay text,
and a browser draws them in light, in dark and on a phone."""
import csv
import html
import json
import re

import pytest

from browser import browse, corner, in_browser
from cli_compare_page import data_of
from estimate_nets import Net
from harness import FAILURE, REFUSED, USAGE, ok, ok_json, quern, refuses

EVIL = '</script><img src=x onerror="document.title=\'taken\'">&<b>'


@pytest.fixture
def net(tmp_path):
    """Two convolutions, and between them an op that no backend has and one that depends on it."""
    n = Net(16)
    v = n.add("Relu", [n.conv("x", 8, 3)], 8)
    n.add("Nothing", [v], 8)
    n.nodes[-1].name, n.nodes[-1].domain, lost = EVIL, "nowhere", n.nodes[-1].output[0]
    v = n.add("Add", [n.conv(v, 8, 3), n.add("Softplus", [lost], 8)], 8)
    return n.save(str(tmp_path / "n.onnx"), v, [1, 8, 16, 16])


@pytest.fixture
def plain(tmp_path):
    n = Net(16)
    v = n.add("Relu", [n.conv("x", 8, 3)], 8)
    n.nodes[-1].name = EVIL
    return n.save(str(tmp_path / "m.onnx"), n.conv(v, 8, 3), [1, 8, 16, 16])


def text_of(dom):
    return html.unescape(re.sub("<[^>]*>", " ", re.sub("<script.*?</script>|<style.*?</style>", "",
                                                       dom, flags=re.S)))


def looks(folder, page, scheme, size):
    """Draws it, light or dark, on a desk or a phone; the text of the page."""
    picture = folder / "p.png"
    browse(folder, page, f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
           f"--window-size={size}", f"--screenshot={picture}")
    assert corner(picture) == (b"\xff\xff\xff" if scheme == "light" else b"\x0d\x11\x17")
    dom = browse(folder, page, "--dump-dom")
    assert "taken</title>" not in dom and "<img" not in dom
    return text_of(dom)


def checked(net, page):
    p = quern("check", net, "--soc", "SM8650", "--html", page)
    assert p.returncode == REFUSED, p.stderr
    return data_of(page)


def test_the_page_of_a_check_is_its_report(net, tmp_path):
    d = checked(net, tmp_path / "p.html")
    report = json.loads(quern("check", net, "--soc", "SM8650", "--json").stdout)
    assert d.pop("estimate")["ms"] == pytest.approx(report.pop("estimate")["ms"])
    assert {k: d[k] for k in report} == report and d["soc"] == "SM8650"
    nodes = {n["name"]: n for n in d["nodes"]}
    assert "fix" in nodes[EVIL] and "partition" not in nodes[EVIL]
    assert d["accepted"] == sum("partition" in n for n in d["nodes"])
    assert d["refused"] == 1 and d["not_tried"] >= 1


@in_browser
def test_a_browser_shows_what_stands_in_the_way(net, tmp_path):
    checked(net, tmp_path / "p.html")
    text = looks(tmp_path, tmp_path / "p.html", "light", "390,800")
    for words in ("Rejected nodes", "Nothing, 1 node", "What to do:", EVIL, "SM8650",
                  "not supported: 1", "% of the nodes supported"):
        assert words in re.sub(r"\s+", " ", text), words


def test_pages_of_dlc_files_are_refused(plain, tmp_path):
    ok("compile", plain, "-o", tmp_path / "m.dlc")
    refuses(USAGE, "check", tmp_path / "m.dlc", "--html", tmp_path / "p.html", says="not for DLC")


@in_browser
def test_the_page_of_a_benchmark(plain, tmp_path):
    page = tmp_path / "p.html"
    report = ok_json("bench", plain, "-n", "20", "--html", page, "--json")
    d = data_of(page)
    assert len(d["times_ms"]) == d["runs"] == 20 and d["times_step"] == 1
    assert d["median_ms"] == pytest.approx(report["median_ms"])
    assert d["median_ms"] == pytest.approx(sum(sorted(d["times_ms"])[9:11]) / 2)
    assert {r["node"] for r in d["per_op"]["rows"]} >= {EVIL}
    text = re.sub(r"\s+", " ", looks(tmp_path, page, "dark", "1200,900"))
    for words in ("Roofline", "operations per byte", "Where the time goes", "Nodes", EVIL,
                  "95th percentile"):
        assert words in text, words


def test_many_runs_are_thinned_out(plain, tmp_path):
    page = tmp_path / "p.html"
    ok("bench", plain, "-n", "2500", "--no-profile", "--html", page)
    d = data_of(page)
    assert d["times_step"] == 2 and len(d["times_ms"]) == 1250 and "per_op" not in d


COLUMNS = ["Msg Timestamp", "Message", "Time", "Unit of Measurement", "Timing Source",
           "Event Level", "Event Identifier"]


@in_browser
def test_the_page_of_a_profile(tmp_path):
    log, page = tmp_path / "p.csv", tmp_path / "p.html"
    with open(log, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(COLUMNS)
        for run in range(2):
            out.writerow([run, "EXECUTE", 100 + 20 * run, "US", "BACKEND", "ROOT",
                          "QNN execute time"])
            for i, name in enumerate((EVIL, "second", "third")):
                out.writerow([run, "NODE", 10 * (i + 1) + 4 * run, "US", "BACKEND", "SUB-EVENT",
                              f"{name}:OpId_{i}"])
    report = ok_json("profile", log, "--html", page, "--json")
    d = data_of(page)
    assert d["groups"] == report["groups"] and d["logs"] == [str(log)]
    means = {n["node"].split(":OpId_")[0]: n["measured_us"] for n in d["groups"][0]["nodes"]}
    assert means == {EVIL: 12, "second": 22, "third": 32}
    text = re.sub(r"\s+", " ", looks(tmp_path, page, "dark", "390,800"))
    for words in ("Slowest nodes", EVIL, "QNN execute time", "0.11 ms", "executions"):
        assert words in text, words


@pytest.mark.parametrize("command", ["check", "bench"])
def test_pages_that_cannot_be_written(plain, tmp_path, command):
    p = quern(command, plain, "--html", tmp_path / "no" / "p.html", *(
        ["-n", "3"] if command == "bench" else []))
    assert p.returncode == FAILURE and "p.html" in p.stderr
