# SPDX-License-Identifier: MIT
"""quern socs: the list, what words select, and that every name is one that --soc accepts."""
import pytest

from harness import USAGE, add_relu, ok, ok_json, refuses


def test_all_are_listed_with_their_facts():
    rows = {r["name"]: r for r in ok_json("socs", "--json")}
    assert len(rows) > 30
    got = rows["SM8650"]
    assert (got["id"], got["arch"], got["vtcm_mb"], got["fp16"]) == (57, 75, 8, True)
    assert got["fitted"] and got["fitted_decode"] and "Samsung Galaxy S24" in got["names"]
    assert not rows["SM8350"]["fp16"] and not rows["SM8350"]["fitted"]
    text = ok("socs").stdout.splitlines()
    assert len(text) == len(rows) + 1 and text[0].split()[:3] == ["id", "name", "arch"]


@pytest.mark.parametrize("words, names", [
    (["galaxy s24"], {"SM8650"}),
    (["8650"], {"SM8650"}),
    (["V81"], {"SM8850"}),
    (["sm8550", "sm8450"], {"SM8550", "SM8450"}),
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
