#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make release: what is published for a version, in dist/: wheels, Debian package, source archive,
release notes and checksums.

    scripts/make_release.py [--notes]      --notes: the notes alone, on standard output

Wheels and Debian package are made before (`make wheel deb`). The notes are the section of
CHANGELOG.md for the version and the lines that are still under "Unreleased". Nothing is tagged or
uploaded: the last lines say what to type.
"""
import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path

from build_deb import version

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def section(text, title):
    found = re.search(rf"^## {re.escape(title)}(?![\w.])[^\n]*\n(.*?)(?=^## |\Z)", text,
                      re.M | re.S)
    return found.group(1).strip() if found else ""


def notes(text, number):
    """The section of a version of a changelog, and what was added to it since."""
    found, more = section(text, number), section(text, "Unreleased")
    if not found:
        raise SystemExit(f"make_release: CHANGELOG.md has no section '## {number}'")
    return f"# Quern {number}\n\n{found}\n" + (f"\n### Added last\n\n{more}\n" if more else "")


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True,
                          text=True).stdout.strip()


def gather(number):
    """The files of a release; a missing one ends the program."""
    files = []
    for pattern in (f"quern-{number}-py3-none-manylinux_*_x86_64.whl",
                    f"quern-{number}-py3-none-manylinux_*_aarch64.whl", f"quern_{number}_*.deb",
                    f"quern-{number}.tar.gz"):
        found = sorted(DIST.glob(pattern))
        if not found:
            raise SystemExit(f"make_release: dist/{pattern} is missing: make wheel deb")
        files += found
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", action="store_true", help="print the release notes, no more")
    args = parser.parse_args()
    number = version()
    text = notes((ROOT / "CHANGELOG.md").read_text(), number)
    if args.notes:
        print(text, end="")
        return 0
    DIST.mkdir(exist_ok=True)
    git("archive", "--format=tar.gz", f"--prefix=quern-{number}/", "-o",
        str(DIST / f"quern-{number}.tar.gz"), "HEAD")
    (DIST / "RELEASE_NOTES.md").write_text(text)
    files = gather(number)
    (DIST / "SHA256SUMS").write_text("".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    for path in files:
        print(f"dist/{path.name}  {path.stat().st_size / 1e6:.1f} MB")
    print("dist/SHA256SUMS, dist/RELEASE_NOTES.md")
    if git("status", "--porcelain"):
        print("release: warning: the working tree has changes that the source archive lacks")
    commit = git("rev-parse", "--short", "HEAD")
    print(f"release: {number} of commit {commit} is ready. To tag it:\n"
          f"  git tag -a v{number} -F dist/RELEASE_NOTES.md && git push origin v{number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
