# SPDX-License-Identifier: MIT
"""quern estimate: traces, pages and what a browser makes of them, and context binaries."""
import html.parser
import json
import os
import re
import stat
import struct
import subprocess
import zlib

import pytest
from browser import browse, corner, in_browser
from estimate_nets import Net, nets, small  # noqa: F401
from harness import FAILURE, T, USAGE, h, model, ok, ok_json, quern, refuses


def test_the_trace_has_a_track_for_each_engine(small, tmp_path):
    path = tmp_path / "t.json"
    r = ok_json("estimate", small, "-p", "a8w8", "--trace", path, "--json")
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert len(tracks) == 4
    slices = [e for e in events if e["ph"] == "X"]
    assert {e["tid"] for e in slices} == set(tracks)
    assert max(e["ts"] + e["dur"] for e in slices) == pytest.approx(1e3 * r["ms"])
    for track in tracks:
        mine = sorted((e["ts"], e["dur"]) for e in slices if e["tid"] == track)
        for (start, us), (then, _) in zip(mine, mine[1:]):
            assert then >= start + us - 1e-6
    levels = [e["args"]["bytes"] for e in events if e["ph"] == "C"]
    assert levels[0] == levels[-1] == 0
    assert max(levels) == r["schedule"]["peak_vtcm_bytes"] > 0


def test_the_schedule_agrees_with_the_estimate(small):
    r = ok_json("estimate", small, "-p", "fp16", "--steps", "--json")
    s = r["schedule"]
    assert s["ms"] == pytest.approx(r["ms"])
    assert [x["name"] for x in s["slots"]] == [x["name"] for x in r["steps"]]
    for x, step in zip(s["slots"], r["steps"]):
        spent = x["control_us"] + x["end_us"] - x["run_us"]
        assert spent == pytest.approx(step["us"] * s["scale"])
        assert ("HMX" in x["engines"]) == (step["class"] == "matrix")
    for t in s["tiles"]:
        assert t["offset"] + t["bytes"] <= s["vtcm_bytes"] and t["first"] <= t["last"]
    text = ok("estimate", small, "-p", "fp16", "--steps").stdout
    assert f"schedule: {s['steps']} steps, {s['ms']:.3f} ms" in text


def test_a_context_binary_tells_the_schedule_it_was_compiled_with(small, tmp_path):
    path = tmp_path / "net.bin"
    ok("compile", small, "-o", path, "--soc", "SM8650")
    r = ok_json("estimate", path, "--json", "--steps")
    model = ok_json("estimate", small, "-p", "fp16", "--json", "--steps")
    assert r["ms"] == pytest.approx(model["ms"], rel=1e-6)
    (g,) = r["graphs"]
    assert [x["name"] for x in g["schedule"]["slots"]] == [x["name"] for x in model["steps"]]
    line = f"schedule: {len(model['steps'])} steps, {r['ms']:.3f} ms on SM8650 (modelled)"
    assert line in ok("show", path).stdout and line in ok("estimate", path).stdout
    assert ok_json("show", path, "--json")["graphs"][0]["schedule"]["ms"] == r["graphs"][0]["ms"]
    ok("estimate", path, "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") == pytest.approx(1e3 * r["ms"])
    for flag in (["--soc", "SM8750"], ["-p", "a8w8"], ["--html", "x"], ["--arch", "75"],
                 ["--vtcm", "4"], ["--hvx-threads", "2"]):
        assert quern("estimate", path, *flag).returncode == USAGE


@pytest.mark.parametrize("vtcm", [2, 4, 8])
def test_model_and_binary_of_the_same_vtcm_take_the_same_time(vtcm, tmp_path):
    shape, perm = (8, 512, 300), (0, 2, 1)
    out = [shape[p] for p in perm]
    nodes = [h.make_node("Relu", ["x"], ["a"]), h.make_node("Sqrt", ["a"], ["b"]),
             h.make_node("Transpose", ["b"], ["c"], name="turn", perm=perm),
             h.make_node("Exp", ["c"], ["d"]), h.make_node("Abs", ["d"], ["y"])]
    net = model(tmp_path / "net.onnx", nodes, {"x": (T.FLOAT, shape)}, {"y": (T.FLOAT, out)})
    ok("compile", net, "-o", tmp_path / "net.bin", "--soc", "SM8650", "--vtcm-mb", vtcm)
    a = ok_json("estimate", net, "-p", "fp16", "--soc", "SM8650", "--vtcm", vtcm, "--json")
    b = ok_json("estimate", tmp_path / "net.bin", "--json")
    assert b["ms"] == pytest.approx(a["ms"], rel=1e-6)


def test_a_schedule_follows_the_options_of_compile(small, tmp_path):
    path = tmp_path / "net.bin"
    ok("compile", small, "-o", path, "--soc", "SM8650", "--hvx-threads", "2", "--vtcm-mb", "2",
       "--dlbc")
    s = ok_json("estimate", path, "--json")["graphs"][0]["schedule"]
    assert (s["hvx_threads"], s["vtcm_bytes"]) == (2, 2 << 20)
    assert s["uncalibrated"] == ["fewer HVX threads", "compressed data (DLBC)"]
    for power in ("burst", "power_saver"):  # the same from the model
        run = "--power", power, "--json"
        stored = ok_json("estimate", path, *run)
        made = ok_json("estimate", small, "-p", "fp16", "--vtcm", "2", "--hvx-threads", "2", *run)
        assert stored["ms"] == pytest.approx(made["ms"], rel=1e-6)
        parts = stored["graphs"][0]["schedule"]["parts_ms"]
        assert parts == pytest.approx(made["schedule"]["parts_ms"], rel=1e-6)
    text = ok("estimate", path, "--steps").stdout
    assert text.count("uncalibrated:") == 2 and "row tiles" in text
    ok("compile", small, "-o", path, "--soc", "SM8475")  # nobody measured it, but a relative
    s = ok_json("estimate", path, "--json")["graphs"][0]
    assert s["schedule"]["uncalibrated"] == ["constants of another SoC of the architecture"]
    assert s["ms"] == pytest.approx(ok_json("estimate", small, "-p", "fp16", "--soc", "SM8475",
                                            "--json")["ms"], rel=1e-6)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.scripts = [], [], 0
        self.feed(text)
        assert not self.open and self.scripts == 1

    def handle_starttag(self, tag, attrs):
        assert tag not in ("link", "img", "iframe")
        self.scripts += tag == "script"
        assert not any(k in ("src", "href") or k.startswith("on") for k, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def test_the_page_stands_alone(nets, tmp_path):
    path = tmp_path / "p.html"
    ok("estimate", nets["mobilenet_v2"], "--html", path)
    text = path.read_text()
    words = " ".join(Page(text).words)
    assert len(text) < 1_000_000 and not re.search(
        r"https?://(?!www\.w3\.org)|url\((?!#)|@import", text)
    assert "nan" not in words and "inf" not in words.replace("infer", "")
    assert "Content-Security-Policy\" content=\"default-src 'none';" in text
    for title in ("Timeline", "Where the time goes", "By op", "17 x DepthWiseConv2d", "Roofline",
                  "Advice", "Slowest steps"):
        assert title in words
    assert "prefers-color-scheme:dark" in text and "@media print" in text


def bars(text, title):
    """{label: us} of a chart."""
    chart = re.search(rf'<h2>{title}</h2>.*?</section>', text, re.S)[0]
    words = re.findall(r"<text [^>]*>([^<]*)</text>", chart)
    return dict(zip(words[::2], (float(w.removesuffix(" us")) for w in words[1::2])))


def test_the_charts_draw_the_report(nets, tmp_path):
    page = tmp_path / "p.html"
    r = ok_json("estimate", nets["squeezenet"], "-p", "a16w8", "--json", "--steps", "--html", page)
    text, steps, parts = page.read_text(), r["steps"], r["estimates"][0]["parts_ms"]
    near = lambda ms: pytest.approx(1e3 * ms, abs=0.06)
    classes = bars(text, "Where the time goes")
    assert classes.pop("matrix") == near(parts["matrix"])
    assert classes.pop("start") == near(parts["start"])
    assert classes.pop("overhead of steps") == near(parts["overhead"])
    assert classes.pop("memory") == near(parts["memory"])
    assert set(classes) == {"light", "pool", "move"}
    assert sum(classes.values()) == pytest.approx(1e3 * parts["vector"], abs=0.2)
    assert bars(text, "By op")["26 x Conv2d"] == pytest.approx(
        sum(s["us"] for s in steps if s["class"] == "matrix"), abs=0.06)
    # the roofline: every step with weights, and the line of 14.16 / 2 TMAC/s and 76 GB/s
    points = {name: (float(x), float(y)) for name, x, y in re.findall(
        r"<circle[^>]*><title>([^:]*): ([\d.]+) MAC/byte, (\d+) GMAC/s", text)}
    assert len(points) == 26
    for s in steps:
        if s["name"] in points:
            assert points[s["name"]] == (
                pytest.approx(s["macs"] / (s["weight_bytes"] + s["spill_bytes"]), abs=0.06),
                pytest.approx(s["macs"] / max(s["us"], s["memory_us"]) / 1e3, abs=0.6))
    roof = text.split("<h2>Roofline</h2>")[1].split("</section>")[0]
    axis = [(float(x), float(v)) for x, v in re.findall(
        r'x="([\d.]+)" y="338.0" text-anchor="middle">([\d.e+-]+)<', roof)]
    (x0, v0), (x1, v1) = axis[0], axis[-1]
    knee = float(re.search(r'points="\S+ ([\d.]+),', roof)[1])
    assert v0 * (v1 / v0) ** ((knee - x0) / (x1 - x0)) == pytest.approx(
        0.5 * 14160 / 76, rel=0.01)
    assert "7.1 TMAC/s" in roof


def test_names_cannot_leave_the_page(tmp_path):
    name = '"><script>alert(1)</script>&'
    path = model(str(tmp_path / "n.onnx"), [h.make_node("Softmax", ["x"], ["y"], name=name)],
                 {"x": (T.FLOAT, [1, 8])}, {"y": (T.FLOAT, [1, 8])})
    page = tmp_path / "p.html"
    ok("estimate", path, "--html", page)
    assert page.read_text().count("<script") == 1 and "alert(1)</script>" not in page.read_text()
    Page(page.read_text())


def test_names_cannot_steer_the_terminal(tmp_path):
    """Neither in a report nor in what quern check lists: a line of its own, colours, a bell."""
    name = "a\nestimated 1 ms\r\x1b[31m\x07\x7fb"
    path = model(str(tmp_path / "n.onnx"),
                 [h.make_node("Softmax", ["x"], ["a"], name=name),
                  h.make_node("Wob\nble", ["x"], ["y"], name=name, domain="my")],
                 {"x": (T.FLOAT, [1, 8])}, {"a": (T.FLOAT, [1, 8]), "y": (T.FLOAT, [1, 8])})
    for text in (ok("estimate", path, "--steps").stdout,
                 quern("check", path, "--backend", "htp").stdout):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]|^estimated 1 ms", text, re.M)
        assert r"a\nestimated 1 ms\r\x1b[31m\x07\x7fb" in text
    r = ok_json("estimate", path, "--steps", "--json")
    assert r["steps"][0]["name"] == r["refused"][0]["node"] == name


def test_names_of_other_alphabets_stay(tmp_path):
    path = model(str(tmp_path / "n.onnx"), [h.make_node("Softmax", ["x"], ["y"], name="加算é😀")],
                 {"x": (T.FLOAT, [1, 8])}, {"y": (T.FLOAT, [1, 8])})
    page = tmp_path / "p.html"
    ok("estimate", path, "--html", page)
    assert "加算é😀" in page.read_text(encoding="utf-8")


def test_names_that_are_cut_stay_readable(tmp_path):
    """Long names are cut in sentences, between bytes of a letter if need be."""
    name = "a" + "é加" * 100
    n = Net(8)
    v = n.conv("x", 40, 1)
    n.nodes[-1].name = name
    path = n.save(str(tmp_path / "n.onnx"), n.add("Sigmoid", [v], 40), [1, 40, 8, 8])
    trace = tmp_path / "t.json"
    r = ok_json("estimate", path, "--steps", "--json", "--trace", trace)
    (a,) = [a for a in r["advice"] if a["rule"] == "activation"]
    assert a["steps"][0]["detail"].startswith("behind aé加é加é加")
    titles = [e["name"] for e in json.loads(trace.read_text())["traceEvents"]]
    assert any(t.startswith("weights aé加é加é加") for t in titles)


def test_names_do_not_turn_the_text(tmp_path):
    turned = "a\u202eb\u2066c\u2069"  # right to left from here on
    path = model(str(tmp_path / "n.onnx"), [h.make_node("Softmax", ["x"], ["y"], name=turned)],
                 {"x": (T.FLOAT, [1, 8])}, {"y": (T.FLOAT, [1, 8])})
    page = tmp_path / "p.html"
    ok("estimate", path, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert r"a\u202eb\u2066c\u2069" in text and not set("\u202e\u2066\u2069") & set(text)


def test_a_page_says_what_is_uncalibrated(small, tmp_path):
    page = tmp_path / "p.html"
    ok("estimate", small, "--soc", "SM8350", "--html", page)
    words = " ".join(Page(page.read_text()).words)
    assert "the nearest to SM8350 that was measured" in words and "(size)" in words
    assert re.search(r"version \d+, latencies of", words)


def test_a_page_of_many_steps_is_small(tmp_path):
    n = Net(8)
    v = n.conv("x", 32, 1)
    for _ in range(3000):
        v = n.add("Softmax", [v], 32)
    page = tmp_path / "p.html"
    ok("estimate", n.save(str(tmp_path / "n.onnx"), v, [1, 32, 8, 8]), "--html", page)
    Page(page.read_text())
    assert page.stat().st_size < 1_000_000
    busy = [int(n) for n in re.findall(r"short steps, busy for (\d+) %", page.read_text())]
    assert 90 < max(busy) <= 100  # nearly all of it is the overhead of steps


@in_browser
def test_the_page_prints(nets, tmp_path):
    """A few pages, and text in them, not pictures of text."""
    page, paper = tmp_path / "p.html", tmp_path / "p.pdf"
    ok("estimate", nets["mobilenet_v2"], "--html", page)
    browse(tmp_path, page, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    data = paper.read_bytes()
    assert 2 <= len(re.findall(rb"/Type */Page\b", data)) <= 8
    assert b"/ToUnicode" in data and b"/Subtype /Image" not in data


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_the_page(small, tmp_path, scheme):
    page, picture = tmp_path / "p.html", tmp_path / "p.png"
    ok("estimate", small, "--html", page)
    browse(tmp_path, page, f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
           "--window-size=800,600", f"--screenshot={picture}")
    assert corner(picture) == (b"\xff\xff\xff" if scheme == "light" else b"\x0d\x11\x17")


def test_files_that_cannot_be_written(small, tmp_path):
    for flag in ("--html", "--trace"):
        p = quern("estimate", small, flag, tmp_path / "no" / "folder" / "f")
        assert p.returncode == FAILURE and "f" in p.stderr


def test_only_files_are_replaced(small, tmp_path):
    """Pipes are written to, links stay links, folders are refused."""
    pipe, link, page = tmp_path / "pipe", tmp_path / "link.html", tmp_path / "page.html"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    ok("estimate", small, "--html", pipe)
    got = reader.communicate(timeout=60)[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode) and got.endswith(b"</html>\n")
    page.write_text("old")
    link.symlink_to("page.html")
    ok("estimate", small, "--html", link)
    assert link.is_symlink() and page.read_bytes() == got
    refuses(FAILURE, "estimate", small, "--html", tmp_path, says="Is a directory")
    assert not list(tmp_path.glob("*.part*"))


def test_a_damaged_name_of_a_chip(small, tmp_path):
    """In a stored schedule whose checksums are right: no UTF-8, and a line of its own."""
    path, trace = tmp_path / "n.bin", tmp_path / "t.json"
    ok("compile", small, "-o", path, "--soc", "SM8650")
    data = bytearray(path.read_bytes())
    entries = range(64, 64 + 32 * struct.unpack_from("<I", data, 24)[0], 32)
    at = next(e for e in entries if struct.unpack_from("<I", data, e)[0] == 6)
    offset, size = struct.unpack_from("<QQ", data, at + 8)
    assert data[offset + 60:offset + 66] == b"SM8650"
    data[offset + 60:offset + 66] = b"S\xff\n650"
    struct.pack_into("<I", data, at + 24, zlib.crc32(data[offset:offset + size]))
    struct.pack_into("<I", data, 28, 0)
    struct.pack_into("<I", data, 28, zlib.crc32(data[:entries.stop]))
    path.write_bytes(data)
    r = ok_json("estimate", path, "--json", "--steps", "--trace", trace)
    assert r["graphs"][0]["schedule"]["chip"] == "S?\n650"
    assert "S?\\n650" in trace.read_text()
    assert r"ms on S\xff\n650 (modelled)" in ok("estimate", path).stdout
