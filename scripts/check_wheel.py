#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what a wheel carries runs on other machines.

    scripts/check_wheel.py quern-*.whl [--glibc 2.35]

Every ELF file may need the C library's own parts only, in symbols of at most the given version, and
must not look for libraries outside of the package. The name of the wheel must not promise more than
that. Prints what each file needs and the sizes; the exit status is 1 if something is wrong.
"""
import argparse
import re
import struct
import sys
import zipfile
from pathlib import Path

GLIBC = (2, 35)  # Ubuntu 22.04
ALLOWED = re.compile(r"(libc|libm|libpthread|libdl|librt)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
PT_LOAD, PT_DYNAMIC = 1, 2


class Elf:
    """What a 64-bit little-endian ELF file asks of the loader."""

    def __init__(self, data):
        self.data = data
        start, size, count = (struct.unpack_from("<Q", data, 32)[0],
                              *struct.unpack_from("<HH", data, 54))
        headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
        self.loads = [h for h in headers if h[0] == PT_LOAD]
        entries = []
        for kind, _, offset, _, _, length in headers:
            if kind == PT_DYNAMIC:
                entries = [struct.unpack_from("<QQ", data, offset + at)
                           for at in range(0, length, 16)]
        self.tags = dict(reversed(entries))
        self.strings = self.place(self.tags[DT_STRTAB]) if DT_STRTAB in self.tags else 0
        self.needed = [self.text(value) for tag, value in entries if tag == DT_NEEDED]
        self.paths = [folder for tag, value in entries if tag in (DT_RPATH, DT_RUNPATH)
                      for folder in self.text(value).split(":")]
        self.versions = set(self.read_versions())

    def place(self, address):
        """The position in the file of an address."""
        for _, _, offset, where, _, size in self.loads:
            if where <= address < where + size:
                return offset + address - where
        raise ValueError(f"address {address:#x} is not in the file")

    def text(self, at):
        begin = self.strings + at
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def read_versions(self):
        at = self.place(self.tags[DT_VERNEED]) if DT_VERNEED in self.tags else 0
        for _ in range(self.tags.get(DT_VERNEEDNUM, 0)):
            _, count, _, aux, following = struct.unpack_from("<HHIII", self.data, at)
            one = at + aux
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", self.data, one)
                yield self.text(name)
                one += step
            at += following


def glibc(versions):
    """The newest version of the C library that is asked for."""
    numbers = [tuple(map(int, found.group(1).split("."))) for found in
               (re.fullmatch(r"GLIBC_([0-9.]+)", name) for name in versions) if found]
    return max(numbers, default=(0,))


def problems(data, newest=GLIBC):
    """(the file's needs, sentences about what is wrong with them)."""
    elf = Elf(data)
    wrong = [f"needs {name}" for name in elf.needed if not ALLOWED.fullmatch(name)]
    wrong += [f"looks for libraries in {folder!r}" for folder in elf.paths
              if not re.match(r"\$(ORIGIN|\{ORIGIN\})(/\.\./lib|/)?$", folder)]
    wrong += [f"needs {name}" for name in sorted(elf.versions)
              if name.startswith("GLIBC_") and glibc([name]) > newest]
    wrong += [f"needs {name}" for name in sorted(elf.versions) if not name.startswith("GLIBC_")]
    return elf, wrong


def elf_files(path):
    """(name, bytes, bytes in the archive) of the ELF files of a wheel or a folder."""
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            data = file.read_bytes()
            if data[:4] == b"\x7fELF":
                yield file.relative_to(path).as_posix(), data, len(data)
        return
    with zipfile.ZipFile(path) as wheel:
        for info in wheel.infolist():
            data = wheel.read(info)
            if data[:4] == b"\x7fELF":
                yield info.filename, data, info.compress_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--glibc", default=".".join(map(str, GLIBC)))
    args = parser.parse_args()
    newest, failed, most, seen = tuple(map(int, args.glibc.split("."))), 0, (0,), 0
    for name, data, packed in elf_files(args.wheel):
        elf, wrong = problems(data, newest)
        most, seen, failed = max(most, glibc(elf.versions)), seen + 1, failed + len(wrong)
        print(f"{name}: {len(data) / 1e6:.2f} MB ({packed / 1e6:.2f} packed), glibc "
              f"{'.'.join(map(str, glibc(elf.versions)))}, needs {', '.join(elf.needed)}")
        for sentence in wrong:
            print(f"  WRONG: {sentence}")
    tag = re.search(r"manylinux_(\d+)_(\d+)_", args.wheel.name)
    if tag and most > tuple(map(int, tag.groups())):
        print(f"WRONG: {args.wheel.name} promises glibc {'.'.join(tag.groups())}")
        failed += 1
    size = f", {args.wheel.stat().st_size / 1e6:.2f} MB" if args.wheel.is_file() else ""
    print(f"{args.wheel.name}{size}: {seen} ELF files need glibc {'.'.join(map(str, most))}; "
          f"{failed} problems")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
