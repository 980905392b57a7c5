# SPDX-License-Identifier: MIT
"""Collects the checks of the ABI test per translation unit and writes them as C and C++ sources.

A unit is a folder of headers: folders may complete the same struct tag in different ways, so they
cannot share a translation unit. Coverage is counted per fact table: a row without a check stops
the program, unless the exceptions give the reason.
"""
import os
import re
import sys


class Unit:
    def __init__(self):
        self.headers, self.declarations, self.fixed, self.run = set(), [], [], []


class Writer:
    def __init__(self, include, exceptions):
        self.include, self.exceptions = include, exceptions
        self.units, self.coverage, self.texts = {}, {}, {}

    def unit(self, header):
        u = self.units.setdefault(os.path.dirname(header) or "core", Unit())
        u.headers.add(header)
        return u

    def text(self, header):
        """The header without its comments."""
        if header not in self.texts:
            root = "" if header.startswith("Quern/") else "QNN"
            with open(os.path.join(self.include, root, header)) as f:
                self.texts[header] = re.sub(r"//.*", "", f.read())
        return self.texts[header]

    def spells(self, header, name):
        return re.search(r"\b%s\b" % re.escape(name), self.text(header)) is not None

    def row(self, table, name, header, fixed=(), run=(), home=None, verified=False):
        """Checks of one table row; `verified` says that the caller has made them itself.

        The header that the row names must spell `home` itself.
        """
        seen = self.coverage.setdefault(table, [0, 0])
        seen[1] += 1
        if name in self.exceptions:
            print("abi: %s: %s is not checked: %s" % (table, name, self.exceptions[name]))
            return
        if home and not self.spells(header, home):
            sys.exit("abi: %s does not declare %s" % (header, home))
        if not (fixed or run or verified):
            sys.exit("abi: %s: no check for %s" % (table, name))
        seen[0] += 1
        u = self.unit(header)
        u.fixed += fixed
        u.run += run

    def write(self, out):
        os.makedirs(out, exist_ok=True)
        for name, u in self.units.items():
            with open(os.path.join(out, name + ".c"), "w") as f:
                f.write("".join('#include "%s"\n' % h for h in sorted(u.headers)))
                f.write('#include "checks.h"\n\n')
                f.write("".join(d + "\n" for d in u.declarations))
                f.write("".join("CHECK(%s);\n" % c for c in u.fixed))
                f.write("LINKAGE void abi_%s(struct abi_count *count);\n" % name)
                f.write("void abi_%s(struct abi_count *count) {\n" % name)
                f.write("    count->fixed += __COUNTER__;\n")
                f.write("".join("    %s\n" % c for c in u.run))
                f.write("}\n")
            self.wrap(out, name, name + ".c")
        self.wrap(out, "main", "main.c")
        with open(os.path.join(out, "units.def"), "w") as f:
            f.write("".join("UNIT(%s)\n" % n for n in self.units))
            for table, (checked, rows) in self.coverage.items():
                f.write("TABLE(%s, %d, %d)\n" % (table, checked, rows))

    @staticmethod
    def wrap(out, name, source):
        with open(os.path.join(out, name + ".cpp"), "w") as f:
            f.write('#include "%s"\n' % source)
