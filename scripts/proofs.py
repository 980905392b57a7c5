#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which tests prove a requirement: those that use the public API alone.

A proof is written <file>:<test>, the file below tests/. proofs.py ROOT PROOF... says what is wrong.

A test in C proves something if it is there, is run, and neither it nor anything of tests/ that it
uses names something of src/: functions, macros, types and variables are followed through the file
and the headers of tests/ that it includes. A test in Python opens libraries and programs.
"""
import re
import sys
from functools import lru_cache
from pathlib import Path

INSIDE = re.compile(r"\b(?:(?:qrn|qd|qc|qe|ox|et|qt)_|(?:QRN|QD)_(?!TESTS_))\w*")


@lru_cache(maxsize=None)
def read(path):
    """A source without comments, texts and includes, and the headers beside it that it includes."""
    text = path.read_text()
    headers = [path.parent / name for name in re.findall(r'^#include "([^"]+)"', text, re.M)]
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)
    return re.sub(r"^#include.*", "", text, flags=re.M), [h for h in headers if h.is_file()]


def sources(path, seen):
    """Texts of a source and of all headers of tests/ below it."""
    if path.resolve() not in seen:
        seen.add(path.resolve())
        text, headers = read(path)
        yield text
        for header in headers:
            yield from sources(header, seen)


def names_of(piece):
    """What a piece of code at the outermost level defines."""
    head = piece.split("{")[0]
    function = re.match(r"[\w\s*]*?\b(\w+)\s*\(", head)
    if function and "=" not in head.split("(")[0]:
        return [function[1]]
    outside = re.sub(r"\{.*\}", " ", piece, flags=re.S)
    names = re.findall(r"\b(\w+)(?:\s*\[[^]]*\])*\s*(?=[=;,])", outside)
    return names + (re.findall(r"\b[A-Z]\w*", piece) if re.search(r"\benum\b", head) else [])


def pieces(text):
    """Definitions at the outermost level: functions, types, variables, macros. clang-format ends
    each with a line that closes all braces."""
    macro = r"^#define\s+(\w+)((?:.*\\\n)*.*)"
    for found in re.finditer(macro, text, re.M):
        yield [found[1]], found[2]
    depth, piece = 0, ""
    for line in re.sub(r"^#(?:.*\\\n)*.*", "", text, flags=re.M).splitlines():
        piece += line + "\n"
        depth += line.count("{") - line.count("}")
        if depth == 0 and re.search(r"[;}]\s*$", line):
            yield names_of(piece), piece
            piece = ""


@lru_cache(maxsize=None)
def definitions(path):
    found = {}
    for text in sources(path, set()):
        for names, piece in pieces(text):
            for name in names:
                found[name] = found.get(name, "") + piece
    return found


def inside(path, test):
    """A name of src/ that the test uses, with where; None: it is public."""
    defined, todo, seen = definitions(path), [test], set()
    while todo:
        name = todo.pop()
        seen.add(name)
        used = INSIDE.search(defined[name])
        if used:
            return f"'{used[0]}'" + (f" in '{name}'" if name != test else "")
        todo += {w for w in re.findall(r"\w+", defined[name]) if w in defined and w not in seen}
    return None


def problem(root, proof):
    """What is wrong with a proof; None: nothing."""
    file, _, test = proof.partition(":")
    path = root / "tests" / file
    if not path.is_file():
        return f"{proof}: there is no file tests/{file}"
    if path.suffix == ".py":
        return None if re.search(rf"^def {test}\(", path.read_text(), re.M) else \
            f"{proof}: there is no such test"
    if len(re.findall(rf"\b{test}\b", read(path)[0])) < 2 or test not in definitions(path):
        return f"{proof}: there is no such test, or it is not run"
    used = inside(path, test)
    return f"{proof}: is not public, it uses {used}" if used else None


def main():
    problems = [problem(Path(sys.argv[1]), proof) for proof in sys.argv[2:]]
    print(*filter(None, problems), sep="\n")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
