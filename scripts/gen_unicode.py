#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/frontend/llm/unicode.def from Python's unicodedata.

gen_unicode.py > src/frontend/llm/unicode.def: general categories as ranges, combining classes,
canonical decompositions with a mark for those that compose again. Tokenizers split text by these
categories. Characters that a later Unicode than Python's adds count as unassigned.
"""
import sys
import unicodedata as u

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf "
              "Cs Co Cn").split()
LAST = 0x10FFFF


def rows(values, per_line):
    return "\n".join("    " + ", ".join(values[i:i + per_line]) + ","
                     for i in range(0, len(values), per_line))


def ranges(of):
    """(first, value) wherever the value changes."""
    found, last = [], None
    for c in range(LAST + 1):
        value = of(chr(c))
        if value != last:
            found.append((c, value))
        last = value
    return found


def composes(c):
    parts = u.decomposition(chr(c)).split()
    return len(parts) == 2 and u.normalize("NFC", u.normalize("NFD", chr(c))) == chr(c)


def main():
    categories = [f"0x{c << 5 | CATEGORIES.index(v):x}" for c, v in ranges(u.category)]
    classes = [f"0x{c << 8 | v:x}" for c, v in ranges(u.combining)]
    pairs = []
    for c in range(LAST + 1):
        parts = u.decomposition(chr(c)).split()
        if parts and not parts[0].startswith("<"):
            parts = [int(p, 16) for p in parts] + [0]
            pairs.append(f"{{0x{c:x}, 0x{parts[0]:x}, 0x{parts[1]:x}, {int(composes(c))}}}")
    print(f"""// SPDX-License-Identifier: MIT
//
// Written by scripts/gen_unicode.py from Unicode {u.unidata_version}; do not edit.
// clang-format off

// First code point << 5 | category, where the category changes.
static const uint32_t category_starts[] = {{
{rows(categories, 10)}
}};

// First code point << 8 | canonical combining class, where the class changes.
static const uint32_t class_starts[] = {{
{rows(classes, 10)}
}};

// Canonical decompositions but those of Hangul.
static const struct decomposition {{
    uint32_t whole, first, second; // second 0: none
    uint8_t composes;              // NFC composes the two again
}} decompositions[] = {{
{rows(pairs, 4)}
}};""")


if __name__ == "__main__":
    sys.exit(main())
