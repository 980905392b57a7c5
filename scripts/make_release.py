#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make release: what is published for a version, in dist/: wheels, Debian packages, source archive,
release notes and checksums; and its tag.

    scripts/make_release.py [--notes] [--no-tag]      --notes: the notes alone, on standard output

Wheels and Debian packages are made before, by `make release`. The notes are the section of
CHANGELOG.md for the version and the lines that are still under "Unreleased". A commit without
changes beside it gets the annotated tag vVERSION with the notes, unless there is one. Nothing is
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


def git(*words, root=ROOT):
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True,
                          text=True).stdout.strip()


def tag(number, notes_file, root=ROOT):
    """Makes the tag of the version; says what was done, or ends where it is another commit's."""
    name = f"v{number}"
    if git("tag", "--list", name, root=root):
        if git("rev-parse", f"{name}^{{commit}}", root=root) != git("rev-parse", "HEAD", root=root):
            raise SystemExit(f"make_release: the tag {name} belongs to another commit; raise the "
                             f"version, or delete the tag with: git tag -d {name}")
        return f"the tag {name} is there"
    if git("status", "--porcelain", root=root):
        return (f"not tagged: the working tree has changes that the source archive lacks; commit "
                f"them and run this again, or type: git tag -a {name} --cleanup=verbatim "
                f"-F {notes_file}")
    try:
        # Notes have headings, which git would take for comments.
        git("tag", "-a", name, "--cleanup=verbatim", "-F", str(notes_file), root=root)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"make_release: git tag: {error.stderr.strip()}") from None
    return f"tagged as {name}; publish it with: git push origin {name}"


def gather(number):
    """The files of a release; a missing one ends the program."""
    files = []
    for pattern in (f"quern-{number}-py3-none-manylinux_*_x86_64.whl",
                    f"quern-{number}-py3-none-manylinux_*_aarch64.whl",
                    f"quern_{number}_amd64.deb", f"quern_{number}_arm64.deb",
                    f"quern-{number}.tar.gz"):
        found = sorted(DIST.glob(pattern))
        if not found:
            raise SystemExit(f"make_release: dist/{pattern} is missing: run make release")
        files += found
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", action="store_true", help="print the release notes, no more")
    parser.add_argument("--no-tag", action="store_true", help="do not tag the commit")
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
    done = "not tagged" if args.no_tag else tag(number, DIST / "RELEASE_NOTES.md")
    print(f"release: {number} of commit {git('rev-parse', '--short', 'HEAD')} is ready; {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
