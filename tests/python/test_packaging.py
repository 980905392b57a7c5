# SPDX-License-Identifier: MIT
"""What packages are made of: one version, release notes, and the parts of the Debian package."""
import importlib
import re
import subprocess
import sys

import pytest

from installed import LIB, ROOT
import build_deb
import make_release


def test_the_version_is_the_same_everywhere(quern, monkeypatch):
    number = build_deb.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", number) and quern.__version__ == number
    said = subprocess.run([quern.program(), "--version"], capture_output=True, text=True).stdout
    assert said.split()[1] == number
    monkeypatch.setenv("QUERN_LIB_DIR", str(LIB))
    monkeypatch.syspath_prepend(str(ROOT / "python" / "shim"))
    sys.modules.pop("onnxruntime_qnn", None)
    assert importlib.import_module("onnxruntime_qnn").__version__ == number
    sys.modules.pop("onnxruntime_qnn")


def test_notes_are_the_section_of_the_version():
    text = ("# Changelog\n\n## Unreleased\n\n- x\n\n## 1.2.0 (today)\n\n- a\n- b\n\n"
            "## 1.1.0\n\n- c\n")
    assert make_release.notes(text, "1.2.0") == (
        "# Quern 1.2.0\n\n- a\n- b\n\n### Added last\n\n- x\n")
    text = text.replace("- x\n", "")
    assert make_release.notes(text, "1.1.0") == "# Quern 1.1.0\n\n- c\n"
    for number in ("1.2", "1.0.0"):
        with pytest.raises(SystemExit, match=f"no section '## {number}'"):
            make_release.notes(text.replace("## 1.2.0 (today)\n\n- a\n- b\n", ""), number)


def test_a_release_without_its_packages_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(make_release, "DIST", tmp_path)
    with pytest.raises(SystemExit, match=r"x86_64.whl is missing: run make release"):
        make_release.gather("0.1.0")


def test_a_release_is_tagged_once(tmp_path):
    git = lambda *words: make_release.git(*words, root=tmp_path)
    notes = tmp_path.parent / "notes.md"
    notes.write_text("# Quern 0.1.0\n\n### Added\n\n- a\n")
    git("init", "-q")
    git("config", "user.name", "T"), git("config", "user.email", "t@example.com")
    (tmp_path / "a").write_text("1")
    assert "not tagged" in make_release.tag("0.1.0", notes, tmp_path)
    git("add", "a"), git("commit", "-q", "-m", "one")
    assert "git push origin v0.1.0" in make_release.tag("0.1.0", notes, tmp_path)
    assert git("cat-file", "-t", "v0.1.0") == "tag"  # annotated, with the headings of the notes
    assert git("tag", "-l", "--format=%(contents)", "v0.1.0") == notes.read_text().strip()
    assert make_release.tag("0.1.0", notes, tmp_path) == "the tag v0.1.0 is there"
    git("commit", "-q", "--allow-empty", "-m", "two")
    with pytest.raises(SystemExit, match="another commit; raise the version"):
        make_release.tag("0.1.0", notes, tmp_path)


def test_links_of_the_debian_package_stay_inside(tmp_path):
    build_deb.link(tmp_path, "usr/bin/quern", "usr/lib/quern/bin/quern")
    assert (tmp_path / "usr/bin/quern").readlink().as_posix() == "../lib/quern/bin/quern"


def test_the_licence_is_in_debians_form():
    text = build_deb.copyright_text()
    assert "Copyright: (c)" in text and "License: Expat\n Permission is hereby granted" in text
    assert not re.search(r"^$(?!\n?(Files|\Z))", text.split("Files:")[1], re.M)


def test_the_image_uses_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    used = re.findall(r"\bQUERN_YES=1 make ([a-z-]+)", (ROOT / "Dockerfile").read_text())
    assert used and set(used) <= targets
    assert {"build", "all", "wheel", "deb", "release"} <= targets
