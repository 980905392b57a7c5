#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds what no library and no program reaches: functions and tables of src/ that only tests use.

check_reach.py BUILD [--root ROOT] [--allow FILE]

BUILD is a build folder with compile_commands.json. The objects that src/ was compiled to (not those
of tests/ and bench/) are read as ELF files: a symbol is reached from the symbols whose code or data
refers to it, by relocation. Exported symbols, main and constructors are where it begins. What has
no external linkage is reached with any symbol of its object. A function that its own source calls
counts as reached: compilers may inline every call. `--wrap` of the linker is known by the name.

FILE lists what may stay: name, or prefix with *, and reason, separated by a tab. A row that fits
nothing, because all of it is reached or gone, must leave the list.
"""
import json
import re
import struct
import sys
from bisect import bisect_right
from fnmatch import fnmatchcase
from pathlib import Path

SYMTAB, RELA, INIT = 2, 4, (14, 15, 16)
LOCAL, HIDDEN, ALLOC = 0, 2, 2


def objects(build, root):
    """Pairs of source, as told to people, and object file."""
    outside = re.compile(r"^(tests|bench|examples)/")
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        found = re.search(r" -o (\S+)", entry.get("command", ""))
        if found and (root / "src") in source.parents and not outside.match(found[1]):
            yield str(source.relative_to(root)), Path(entry["directory"], found[1])


def called_at_home(source, name):
    """Does a source use a name apart from defining it?"""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"', " ", source.read_text(), flags=re.S)
    return len(re.findall(rf"\b{name}\b", text)) > 1


def text_at(data, start):
    return data[start:data.index(b"\0", start)].decode()


class Object:
    """Symbols of an ELF64 file and who refers to whom; `here` stands for all without linkage."""

    def __init__(self, source, path):
        self.here, self.data = f"<{source}>", path.read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path}: not an ELF64 file of this byte order")
        at, = struct.unpack_from("<Q", self.data, 40)
        size, n, names = struct.unpack_from("<HHH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size)
                         for i in range(n)]
        self.names = self.sections[names][4]
        self.symbols, self.roots, self.edges = [], set(), {}
        for s in self.sections:
            if s[1] == SYMTAB:
                self.read_symbols(s)
        for s in self.sections:
            if s[1] == RELA:
                self.read_relocations(s)

    def read_symbols(self, s):
        names = self.sections[s[6]][4]
        for name, info, other, section, value, size in struct.iter_unpack(
                "<IBBHQQ", self.data[s[4]:s[4] + s[5]]):
            linked = info >> 4 != LOCAL and section < 0xFF00
            label = text_at(self.data, names + name) if linked else self.here
            self.symbols.append((section, value, size, label))
            if linked and section and (label == "main" or other & 3 != HIDDEN):
                self.roots.add(label)
        self.defined = {label for section, _, _, label in self.symbols
                        if section and label != self.here}

    def read_relocations(self, s):
        where = s[7]
        target = self.sections[where]
        name = text_at(self.data, self.names + target[0])
        if not target[2] & ALLOC or name.startswith((".eh_frame", ".note", ".debug")):
            return
        owners = sorted((v, v + n, label) for section, v, n, label in self.symbols
                        if section == where and n and label != self.here)
        begins = [o[0] for o in owners]
        for offset, info, _ in struct.iter_unpack("<QQq", self.data[s[4]:s[4] + s[5]]):
            label = self.symbols[info >> 32][3]
            if target[1] in INIT or name.startswith((".init_array", ".ctors", ".fini_array")):
                self.roots.add(label)
            else:
                at = bisect_right(begins, offset) - 1
                owner = owners[at][2] if at >= 0 and offset < owners[at][1] else self.here
                self.edges.setdefault(owner, set()).add(label)


def edges_of(found):
    edges = {}
    for o in found:
        for name in o.defined: # what it holds without linkage may be used by any of them
            edges.setdefault(name, set()).add(o.here)
            if name.startswith("__wrap_"):
                edges.setdefault(name[len("__wrap_"):], set()).add(name)
        for name, others in o.edges.items():
            edges.setdefault(name, set()).update(others)
    return edges


def unreached(found, edges):
    """Names that nothing leads to, with their source."""
    reached, todo = set(), [name for o in found for name in o.roots]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += edges.get(name, ())
    return {name: o.here[1:-1] for o in found for name in o.defined if name not in reached}


def read_allowed(path):
    rows = {}
    for line in Path(path).read_text().splitlines() if path else ():
        if line and not line.startswith("#"):
            name, _, rows[name] = line.partition("\t")
    return rows


def main():
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    root = Path(options.get("--root", Path(__file__).resolve().parent.parent)).resolve()
    found = [Object(source, path) for source, path in objects(Path(sys.argv[1]), root)]
    edges = edges_of(found)
    for name, source in unreached(found, edges).items():
        if called_at_home(root / source, name):
            edges.setdefault(f"<{source}>", set()).add(name)
    alone = unreached(found, edges)
    allowed = read_allowed(options.get("--allow"))
    problems = [f"{source}: no library or program reaches '{name}'"
                for name, source in alone.items()
                if not any(fnmatchcase(name, row) for row in allowed)]
    for row, reason in allowed.items():
        if not reason:
            problems.append(f"{options['--allow']}: '{row}' needs a reason")
        elif not any(fnmatchcase(name, row) for name in alone):
            problems.append(f"{options['--allow']}: '{row}' is reached or gone, take it off the "
                            "list")
    print(*sorted(problems), f"reach: {len(found)} objects, {len(problems)} problems", sep="\n")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
