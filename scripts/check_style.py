#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of style that no formatter knows.

check_style.py [--root DIR]: licence line first, 100 columns, no tabs, no dead code or open ends, no
source over 800 lines (tables excepted), no environment reads outside base/env.c, no output, exit
or change of process state from library code, no comment that names a file of ours which is not
there. base/log.c may write to the standard streams, for
the client that asked for it. Reports of quern print through qt_print, which escapes names.
"""
import argparse
import re
import sys
from pathlib import Path

FOLDERS = ["src", "include", "tests", "examples", "bench", "scripts", "cmake", "python"]
COMMENT = {".c": "//", ".h": "//", ".inc": "//", ".def": "//", ".cpp": "//",
           ".py": "#", ".sh": "#", ".cmake": "#"}
CODE = {".c", ".h", ".inc", ".cpp"}
MAX_LINES = 800
OPEN_ENDS = re.compile(r"\b(TODO|FIXME|XXX)\b|^\s*#\s*if\s+0\b")
# Libraries live in other people's processes: src/tools is the only program code under src/.
PROCESS = re.compile(r"(?<![\w.>])(abort|_?exit|printf|puts|perror|setlocale|signal|alloca)\s*\(")
# Files of src/tools/quern that print no names from files, or escape them.
PRINTERS = {"print.c", "output.c", "main.c", "flags.c", "flag_pages.c"}
PRINT = re.compile(r"(?<![\w.>])(printf|puts|putchar)\s*\(")
STREAMS = re.compile(r"\b(stdout|stderr)\b")
GETENV = re.compile(r"\b(secure_)?getenv\s*\(")
NAMED = re.compile(r"(?<![\w/.*<>-])((?:\w+/)*\w+\.(?:c|h|inc|def))\b")
ELSEWHERE = {"saver_output.c", "linux/fs.h", "cmocka.h"}  # files that others write
STRINGS = re.compile(r'"(?:\\.|[^"\\])*"|//.*')


def stale_names(line, files):
    """Files that the comment of a line names, as a path or by name alone, and that do not exist."""
    comment = line.partition("//")[2]
    return [name for name in NAMED.findall(comment)
            if name not in ELSEWHERE and not any(f"/{file}".endswith(f"/{name}")
                                                 for file in files.get(Path(name).name, []))]


def check_file(root, path, files, problems):
    where = path.relative_to(root).as_posix()
    text = path.read_text(errors="replace")
    lines = text.splitlines()
    first = next((line for line in lines if not line.startswith("#!")), "")
    if not first.startswith(f"{COMMENT[path.suffix]} SPDX-License-Identifier: MIT"):
        problems.append(f"{where}:1: the licence line is missing")
    if path.suffix in CODE and where.startswith("src/") and len(lines) > MAX_LINES:
        problems.append(f"{where}: {len(lines)} lines, at most {MAX_LINES}")
    library = where.startswith("src/") and not where.startswith("src/tools/")
    for number, line in enumerate(lines, 1):
        at = f"{where}:{number}:"
        if len(line) > 100 and path.suffix != ".def":
            problems.append(f"{at} {len(line)} columns")
        if "\t" in line:
            problems.append(f"{at} tab")
        if path.name != Path(__file__).name and OPEN_ENDS.search(line):
            problems.append(f"{at} open end or dead code")
        if path.suffix in CODE:
            problems.extend(f"{at} there is no file '{name}'" for name in stale_names(line, files))
        bare = STRINGS.sub("", line)
        if library and path.suffix in CODE and (
                PROCESS.search(bare) or STREAMS.search(bare) and where != "src/base/log.c"):
            problems.append(f"{at} a library must not print, exit or change the process")
        if (where.startswith("src/tools/quern/") and path.name not in PRINTERS
                and PRINT.search(bare)):
            problems.append(f"{at} reports print with qt_print")
        if library and GETENV.search(bare) and where != "src/base/env.c":
            problems.append(f"{at} the environment is read in src/base/env.c only")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    problems, files = [], {}
    # bad_tree holds the deliberate mistakes that prove these checks.
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in COMMENT and path.is_file()
             and "bad_tree" not in path.relative_to(root).parts]
    for path in paths:
        files.setdefault(path.name, []).append(path.relative_to(root).as_posix())
    for path in paths:
        check_file(root, path, files, problems)
    seen = len(paths)
    print("\n".join(problems + [f"style: {seen} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
