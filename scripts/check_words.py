#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the English of what users read: no private words, no phrases that stop a reader.

check_words.py [--root DIR]: pages, notebooks, docstrings of the Python package and comments of
public headers. Code in fences, indented blocks and backquotes does not count, nor does the list of
words not to use in docs/glossary.md. Tables generated from other sources are checked there.
"""
import argparse
import ast
import json
import re
import sys
from pathlib import Path

# phrase (a regular expression), what to write
WORDS = [
    (r"\bcodes\b(?<!error codes)(?<!exit codes)", "quantized values; error and exit codes stay"),
    (r"\bhalves\b|\bwide half\b", "fp16"),
    (r"\b(is|are|was|were|be|being|get|gets) told\b|\btells (what|which|that|whether|how)\b",
     "reports, says, returns"),
    (r"\bspoil(s|ed|t)?\b|\bmend(s|ed)?\b", "breaks, distorts; fixes"),
    (r"\bwanted to be\b|\bis wanted\b|\bare wanted\b", "the target is, must be"),
    (r"\bthat (is|are|was|were) there\b", "existing, available"),
    (r"\bof (ours|theirs|yours)\b|\bof (its|their|your|our) own(?=[^\w]*$|[,.;:)]| (and|in|which|"
     r"that|to|for|with)\b)", "its own X, your X, a separate X"),
    (r"\bnobody\b|\bsomebody (?!'s)", "no client, another node, it has not been measured"),
    (r"\bnothing is said\b|\bsays? nothing about\b", "is not documented, does not affect"),
    (r"\bstands? (in )?for\b", "represents, emulates, replaces, means"),
    (r"\bwhere (it|they) (lies|lie)\b", "in place"),
    (r"\b(lies|lie) (in|at|beside|behind|on|within|between)\b", "is in, is at"),
    (r"\bto the bit\b", "bit-identical, bit-exactly"),
    (r"\b(one|once|twice|bytes|tokens|words) an? (line|second|step|graph|node|weight|cycle|"
     r"element|file|class|chip|side|channel)\b", "per"),
    (r"\b(refuses?|refused)\b", "rejects"),
    (r"\b(at|across|over) the borders\b|\b(graph|network)('s|s')? borders?\b",
     "graph inputs and outputs"),
    (r"\btakes? (part of|turns)\b|\b(by|in) turns\b", "alternates, in alternation"),
    (r"\bmake\b(?= of it\b)|\bof which nothing\b", "make from it"),
    (r"\bin words\b", "with a message"),
    (r"\bwithout a word\b|\bin any case\b(?=;|\.|$)", "silently; always"),
    (r"\bshall\b", "must, will"),
    (r"\bbut for\b|\b(all|everything|anything|nothing|none) but\b", "except"),
    (r"\bbegin of\b|\bat the begin\b", "beginning"),
    (r"\banew\b", "again"),
]
RULES = [(re.compile(phrase, re.I), advice) for phrase, advice in WORDS]
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"]
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\"[^\"]*\"|\b[A-Z_]{4,}\b")


def markdown(text):
    """(number, line) of the prose of a page."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line == "## Words not to use":
            return
        elif not fenced and not line.startswith("    "):
            yield number, line


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        doc = ast.get_docstring(node, clean=False) if isinstance(node, kinds) else None
        if doc:
            start = node.body[0].lineno
            yield from enumerate(doc.splitlines(), start)


def comments(text):
    for number, line in enumerate(text.splitlines(), 1):
        if "//" in line:
            yield number, line.partition("//")[2]


def cells(text):
    number = 0
    for cell in json.loads(text)["cells"]:
        number += 1
        if cell["cell_type"] == "markdown":
            yield from ((number, line) for line in "".join(cell["source"]).splitlines())


def sources(root):
    for pattern in PAGES:
        yield from ((path, markdown) for path in sorted(root.glob(pattern)))
    yield from ((path, cells) for path in sorted(root.glob("docs/notebooks/*.ipynb")))
    yield from ((path, docstrings) for path in sorted(root.glob("python/quern/**/*.py")))
    yield from ((path, comments) for path in sorted(root.glob("include/Quern/*.h")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    seen, problems = 0, []
    for path, lines_of in sources(root):
        seen += 1
        for number, line in lines_of(path.read_text()):
            for rule, advice in RULES:
                found = rule.search(CODE.sub("", line))
                if found:
                    problems.append(f"{path.relative_to(root).as_posix()}:{number}: "
                                    f"'{found.group().strip()}': write {advice}")
    print("\n".join(problems + [f"words: {seen} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
