# SPDX-License-Identifier: MIT
"""quern socs: the list, what words select, and that every name is one that --soc accepts."""
import pytest

from harness import REFUSED, USAGE, add_relu, ok, ok_json, refuses


def test_all_are_listed_with_their_facts():
    rows = {r["name"]: r for r in ok_json("socs", "--json")}
    assert len(rows) > 30
    got = rows["SM8650"]
    assert (got["id"], got["arch"], got["vtcm_mb"], got["fp16"]) == (57, 75, 8, True)
    assert got["fitted"] and got["fitted_decode"] and "Samsung Galaxy S24" in got["names"]
    assert (got["hvx_units"], got["hmx_units"], got["cores"]) == (4, 1, 1)
    assert got["fitted_ddr_gb_s"] == 76 and got["fitted_int8_tmac_s"] == 14.16
    assert not rows["SM8350"]["fp16"] and not rows["SM8350"]["fitted"]
    assert rows["SM8350"]["fitted_ddr_gb_s"] is None
    assert {n for n, r in rows.items() if r["cores"] == 2} == {
        "SC8280X", "SA8540", "SA8295", "SA8255", "QCS9100"}
    text = ok("socs").stdout.splitlines()
    assert len(text) == len(rows) + 1
    assert text[0].split()[:9] == ["id", "name", "arch", "VTCM", "HVX", "HMX", "cores", "fp16",
                                   "GB/s"]
    (line,) = [t for t in text if " SM8650 " in t]
    assert line.split()[:10] == ["57", "SM8650", "v75", "8", "MB", "4", "1", "1", "yes", "76"]


@pytest.mark.parametrize("words, names", [
    (["galaxy s24"], {"SM8650"}),
    (["8650"], {"SM8650"}),
    (["V81"], {"SM8850"}),
    (["sm8550", "sm8450"], {"SM8550", "SM8450"}),
    (["57"], {"SM8650"}),
    (["8gen3"], {"SM8650"}),
    (["snapdragon-x-elite"], {"SC8380XP"}),
])
def test_words_select(words, names):
    got = {r["name"] for r in ok_json("socs", *words, "--json")}
    assert names <= got and len(got) <= 6


def test_a_word_that_nothing_matches():
    refuses(USAGE, "socs", "pixel", says="no SoC matches 'pixel'")
    assert ok_json("socs", "pixel", "--json") == []


def test_every_name_is_a_target(tmp_path):
    net = add_relu(tmp_path / "net.onnx")
    for row in ok_json("socs", "v79", "--json"):
        ok("compile", net, "-o", tmp_path / "net.bin", "--soc", row["name"], "--precision", "fp16")


@pytest.mark.parametrize("name", ["SM8650", "sm8650", "57", "8 Gen 3", "8gen3",
                                  "Snapdragon 8 Gen 3", "snapdragon-8-gen-3",
                                  "Samsung Galaxy S24"])
def test_a_soc_has_the_same_names_everywhere(tmp_path, name):
    net, out = add_relu(tmp_path / "net.onnx"), tmp_path / "net.bin"
    (row,) = ok_json("estimate", net, "--soc", name, "-p", "a8w8", "--json")["estimates"]
    assert row["chip"] == "SM8650"
    assert ok_json("check", net, "--soc", name, "--json")["estimate"]["chip"] == "SM8650"
    ok("run", net, "--random", "--soc", name)
    ok("compile", net, "-o", out, "--soc", name)
    assert ok_json("show", out, "--json")["soc_model"] == 57


def test_names_that_differ_in_a_sign_are_different_socs(tmp_path):
    net = add_relu(tmp_path / "net.onnx")
    ids = []
    for name in ("8 Gen 1", "8+ Gen 1"):
        ok("compile", net, "-o", tmp_path / "n.bin", "--soc", name)
        ids.append(ok_json("show", tmp_path / "n.bin", "--json")["soc_model"])
    assert ids == [36, 42]  # SM8450, SM8475
    for name in ("Snapdragon", "", " ", "8 Gen", "+"):
        refuses(USAGE, "compile", net, "-o", tmp_path / "n.bin", "--soc", name, says="--soc")


def test_several_cores(tmp_path):
    """A chip that has them compiles for them; what that takes nobody measured."""
    net, out = add_relu(tmp_path / "net.onnx"), tmp_path / "net.bin"
    for cores, known in ((1, True), (2, False)):
        ok("compile", net, "-o", out, "--soc", "SA8255", "--cores", cores)
        (g,) = ok_json("show", out, "--json")["graphs"]
        assert ("schedule" in g) == known
    refuses(REFUSED, "run", out, "--random", "--soc", "SM8550", says="prepared for 2 cores")
    refuses(USAGE, "compile", net, "-o", out, "--soc", "SM8650", "--cores", 2,
            says="--cores 2: expected at most 1 (NPU cores of SM8650)")
    refuses(USAGE, "compile", net, "-o", out, "--soc", "SA8255", "--cores", 1 << 32,
            says="--cores '4294967296'")
