# SPDX-License-Identifier: MIT
"""quern compare --html: its numbers and histograms against numpy's, pictures, names that are not
markup, and what a browser makes of the page."""
import base64
import json
import re

import numpy as np
import pytest

from browser import browse, corner, in_browser
from cli_compare import dump, sqnr, tensor
from harness import FAILURE, INPUT, ok, quern, refuses


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def data_of(page):
    """The JSON in the page; the page has no other place for names and asks for nothing."""
    text = page.read_text(encoding="utf-8")
    (body,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    rest = text.replace(body, "")
    assert not re.search(r"https?://(?!www\.w3\.org)|url\((?!#)|@import|<link|<img| src=", rest)
    assert "default-src 'none'" in rest and "prefers-color-scheme:dark" in rest
    return json.loads(body)


def report(tmp_path, first, second, *flags):
    page = tmp_path / "p.html"
    ok("compare", first, second, "--html", page, *flags)
    return data_of(page)


def counts(values, h):
    edges = h["low"] + h["width"] * np.arange(len(h["first"]) + 1)
    edges[-1] = max(edges[-1], values.max())
    return np.histogram(values, edges)[0].tolist()


def quantized(v, scale, offset, bits=8):
    q = np.clip(np.rint(v / scale) - offset, 0, 2 ** bits - 1)
    kind = np.uint8 if bits == 8 else np.uint16
    encoding = {"kind": "tensor", "scale": scale, "offset": offset, "bits": bits}
    return q.astype(kind), scale * (q + offset), encoding


@pytest.mark.parametrize("bits,scale,offset", [(8, 0.015625, -128), (16, 0.0001, -20000)])
def test_histograms_are_those_of_numpy(tmp_path, rng, bits, scale, offset):
    runs = [rng.standard_normal((2, 500)) for _ in range(2)]
    for i, v in enumerate(runs, 1):
        q, _, encoding = quantized(v, scale, offset, bits)
        dump(tmp_path / "a", [tensor("t", v)], run=i)
        dump(tmp_path / "b", [tensor("t", q, type=f"uq{bits}", encoding=encoding)], run=i)
    want = np.stack(runs)
    _, got, _ = quantized(want, scale, offset, bits)
    ((row,),) = [g["layers"] for g in report(tmp_path, tmp_path / "a", tmp_path / "b")["graphs"]]
    h = row["histogram"]
    assert h["first"] == counts(want, h) and h["second"] == counts(got, h)
    assert sum(h["first"]) == sum(h["second"]) == want.size and len(h["first"]) <= 65
    steps = h["width"] / scale  # whole ones, with values in the middle of bins
    assert steps == pytest.approx(round(steps)) and (h["low"] / scale) % 1 == pytest.approx(0.5)
    assert row["sqnr_db"] == pytest.approx(sqnr(got, want), abs=1e-6)
    assert row["first_range"] == pytest.approx([want.min(), want.max()])
    assert row["second_range"] == pytest.approx([got.min(), got.max()])
    low, high = scale * offset, scale * (2 ** bits - 1 + offset)
    clipped = ((want < low - scale / 2) | (want > high + scale / 2)).mean()
    assert clipped > 0.02 and row["clipped"] == pytest.approx(clipped, abs=1e-12)


def test_histograms_without_steps_and_odd_values(tmp_path, rng):
    odd = np.float32([1, np.nan, np.inf, -np.inf, 3])
    tensors = {"plain": rng.standard_normal(1000).astype(np.float32),
               "one": np.full(7, 2.5, np.float32), "odd": odd,
               "none": np.full(3, np.nan, np.float32), "empty": np.zeros((0, 4), np.float32),
               "huge": np.float64([-1.7e308, 1.7e308, 0]), "large": np.full(4, 1e300)}
    a = dump(tmp_path / "a", [tensor(k, v) for k, v in tensors.items()])
    b = dump(tmp_path / "b", [tensor(k, v) for k, v in tensors.items()])
    (graph,) = report(tmp_path, a, b)["graphs"]
    rows = {r["name"]: r for r in graph["layers"]}
    h = rows["plain"]["histogram"]
    assert len(h["first"]) == 64 and h["first"] == np.histogram(
        np.float64(tensors["plain"]), 64)[0].tolist()
    assert counts(np.float64(tensors["one"]), rows["one"]["histogram"]) == rows[
        "one"]["histogram"]["first"]
    assert sum(rows["odd"]["histogram"]["second"]) == 2 and rows["none"]["histogram"] is None
    assert rows["empty"]["histogram"] is None
    assert sum(rows["huge"]["histogram"]["first"]) == 3 and rows["plain"]["clipped"] is None


def test_layers_are_in_order_with_what_pages_need(tmp_path, rng):
    v = [rng.standard_normal((2, 8)) for _ in range(3)]
    w = [x + s * rng.standard_normal(x.shape) for x, s in zip(v, (0, 1, 0.1))]
    a = dump(tmp_path / "a", [tensor(f"t{i}", x) for i, x in enumerate(v)])
    b = dump(tmp_path / "b", [tensor(f"t{i}", x) for i, x in enumerate(w)])
    d = report(tmp_path, a, b, "--limit", 25)
    assert d["limit_db"] == 25 and d["first"] == str(a) and d["second"] == str(b)
    (graph,) = d["graphs"]
    assert [(r["order"], r["name"], r["shape"]) for r in graph["layers"]] == [
        (i + 1, f"t{i}", [2, 8]) for i in range(3)]
    assert graph["executions"] == 1 and graph["tensors"] == 3 and graph["pictures"] == []


def pixels(p):
    return np.frombuffer(base64.b64decode(p["rgb"]), np.uint8).reshape(p["height"], p["width"], 3)


def shaded(v, low, high):
    return np.rint(255 * np.clip((v - low) / (high - low), 0, 1)).astype(np.uint8)


def test_pictures_of_inputs_and_outputs(tmp_path, rng):
    image = rng.standard_normal((1, 16, 24, 3))
    gray = rng.standard_normal((2, 1, 400, 10))  # channels first; every third pixel is shown
    scores, other = np.float64([[0.1, 0.7, 0.2]]), np.float64([[0.5, 0.3, 0.2]])
    classes = rng.standard_normal((1, 9, 9, 21))
    noisy = image + 0.2 * rng.standard_normal(image.shape)
    make = lambda out, s: [tensor("x", image, None, "input"), tensor("g", gray, None, "input"),
                           tensor("v", scores, None, "input"), tensor("mid", image),
                           tensor("y", out, "Conv2d", "output"),
                           tensor("m", classes, "Conv2d", "output"),
                           tensor("p", s, "Softmax", "output")]
    a, b = dump(tmp_path / "a", make(image, scores)), dump(tmp_path / "b", make(noisy, other))
    (graph,) = report(tmp_path, a, b)["graphs"]
    shown = {p["name"]: p for p in graph["pictures"]}
    assert {k: (p["kind"], p["input"]) for k, p in shown.items()} == {
        "x": ("picture", True), "g": ("picture", True), "y": ("picture", False),
        "m": ("map", False), "p": ("classes", False)}
    low, high = image.min(), image.max()
    assert (pixels(shown["x"]["first"]) == shaded(image[0], low, high)).all()
    assert (pixels(shown["y"]["second"]) == shaded(noisy[0], low, high)).all()
    g = gray[0, 0]
    assert (pixels(shown["g"]["first"]) == shaded(g, g.min(), g.max())[::3, ::3, None]).all()
    best, seen = classes[0].argmax(-1), pixels(shown["m"]["first"])
    colours = {c: seen[best == c] for c in np.unique(best)}
    assert all((v == v[0]).all() for v in colours.values())
    assert len({tuple(v[0]) for v in colours.values()}) == len(colours)
    assert [(c["class"], c["score"]) for c in shown["p"]["first"]] == [(1, 0.7), (2, 0.2), (0, 0.1)]
    assert [c["class"] for c in shown["p"]["second"]] == [0, 1, 2]


EVIL = '</script><script>document.title="taken"</script><b>&"'


def page_of_names(tmp_path, rng):
    v = rng.standard_normal((4, 4))
    make = lambda e: [tensor(EVIL, v + e, op="<i>Op</i>", role="output", node=EVIL),
                      tensor("second", v + 2 * e), tensor("third", v)]
    a = dump(tmp_path / "a", make(0), graph="<u>g")
    b = dump(tmp_path / "b", make(0.5), graph="<u>g")
    page = tmp_path / "p.html"
    ok("compare", a, b, "--html", page)
    return page


def test_names_cannot_leave_the_data(tmp_path, rng):
    page = page_of_names(tmp_path, rng)
    assert data_of(page)["graphs"][0]["layers"][0]["name"] == EVIL
    assert page.read_text().count("<script") == 2


@in_browser
def test_a_browser_sorts_filters_and_escapes(tmp_path, rng):
    page = page_of_names(tmp_path, rng)

    def rows(wish):
        dom = browse(tmp_path, f"{page}#{wish}", "--dump-dom")
        assert "<title>Accuracy report: " in dom and "taken</title>" not in dom
        body = dom.split("</thead>")[-1].split("</table>")[0]
        return [re.sub("<[^>]*>", " ", r) for r in re.findall("<tr[^>]*>(.*?)</tr>", body)], dom
    lines, dom = rows("")
    assert len(lines) == 3 and "second" in lines[0] and "third" in lines[2]
    assert "first layer below the limit" in lines[1] and "&lt;b&gt;" in lines[1]
    assert "equal" in lines[2]
    assert dom.count('<tr class="breaks">') == 1 and dom.count('aria-label="compared values"') == 3
    assert 'aria-label="SQNR by order of execution"' in dom
    assert "third" in rows("sort=sqnr_db:desc")[0][0]
    assert "first layer below" in rows("sort=order:asc")[0][0]
    (line,) = rows("filter=name:SECOND")[0]
    assert "second" in line


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_both_schemes_on_a_phone(tmp_path, rng, scheme):
    page, picture = page_of_names(tmp_path, rng), tmp_path / "p.png"
    browse(tmp_path, page, f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
           "--window-size=390,800", f"--screenshot={picture}")
    assert corner(picture) == (b"\xff\xff\xff" if scheme == "light" else b"\x0d\x11\x17")


def test_a_page_that_cannot_be_written(tmp_path, rng):
    a = dump(tmp_path / "a", [tensor("t", rng.standard_normal(4))])
    p = quern("compare", a, a, "--html", tmp_path / "no" / "p.html")
    assert p.returncode == FAILURE and "p.html" in p.stderr
    refuses(FAILURE, "compare", a, a, "--html", "/dev/full", says="/dev/full")
    refuses(INPUT, "compare", a, tmp_path / "none", "--html", tmp_path / "p.html", says="none")
    assert not list(tmp_path.glob("p.html*"))
