#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make deb: a Debian package of the built tree (build/release), and one for 64-bit ARM.

    scripts/build_deb.py [--out dist] [ARCH...]      ARCH: amd64, arm64; default: this machine's

The package of another architecture is built first, against the sysroot of the wheels
(scripts/make_sysroot.sh); its manual pages come from the programs under qemu-user.

Everything lies in /usr/lib/quern, which has the shape of a QNN SDK (QNN_SDK_ROOT); programs, manual
pages, completion and the Python package are linked to where Debian looks for them.
"""
import argparse
import email.utils
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check_wheel

ROOT = Path(__file__).resolve().parent.parent
HOME = "usr/lib/quern"
CPUS = {"amd64": "x86_64", "arm64": "aarch64"}
AUTHORS = "The Quern authors <authors@quern.invalid>"
CONTROL = """Package: quern
Version: {version}
Architecture: {arch}
Maintainer: {authors}
Installed-Size: {size}
Depends: {depends}
Recommends: python3
Suggests: python3-numpy, pocl-opencl-icd
Section: science
Priority: optional
Description: open implementation of the QNN inference API
 Programs written for QNN run on Quern's libraries on any Linux machine. The
 package has backends for the CPU, OpenCL devices and a model of the NPU (HTP),
 an execution provider for ONNX Runtime, the program quern, which checks,
 compiles, quantizes and measures models, and a Python package.
"""
OVERRIDES = """# Programs carry jansson, libpng, libjpeg and zlib and run on other machines.
quern: embedded-library
# The Python package refers to the libraries around it, among which it lies.
quern: symlink-is-self-recursive
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def version():
    return re.search(r'__version__ = "(.*)"',
                     (ROOT / "python" / "quern" / "_version.py").read_text()).group(1)


def link(stage, name, goal):
    """stage/name refers to stage/goal, relatively."""
    path = stage / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(stage / goal, path.parent))


def pack(path, data):
    """A compressed page without name and time, so that two builds are equal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0))


def manual(program):
    """A manual page of what the program says about itself."""
    said = subprocess.run([ROOT / "build" / "bin" / program, "--help"], capture_output=True,
                          text=True)
    text = (said.stdout or said.stderr).replace("\\", "\\e").replace("-", "\\-")
    lines = "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line
                      for line in text.splitlines())
    return (f".TH {program.upper()} 1\n.SH NAME\n{program} \\- a program of Quern\n"
            f".SH DESCRIPTION\n.nf\n{lines}\n.fi\n.SH SEE ALSO\nquern(1)\n")


def cross_build(cpu):
    """The tree of the product for another architecture."""
    tree = ROOT / "build" / f"portable-deb-{cpu}"
    emulator = shutil.which(f"qemu-{cpu}")
    if not emulator:
        raise SystemExit(f"build_deb: qemu-{cpu} is missing: install qemu-user")
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([ROOT / "scripts" / "make_sysroot.sh", cpu], check=True)
    subprocess.run(["cmake", "--preset", "release", "-B", tree, "-DQUERN_TESTS=OFF",
                    "-DQUERN_BENCHES=OFF",
                    f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/portable-{cpu}.cmake",
                    f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator};-L;/usr/{cpu}-linux-gnu"],
                   cwd=ROOT, **quiet)
    subprocess.run(["cmake", "--build", tree, "--target", "product"], **quiet)
    return tree


def lay_out(stage, tree):
    """What dpkg unpacks."""
    home = stage / HOME
    subprocess.run(["cmake", "--install", tree, "--prefix", f"/{HOME}",
                    "--strip"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(stage)})
    for program in sorted((home / "bin").iterdir()):
        if program.is_file() and program.name != "envsetup.sh":
            link(stage, f"usr/bin/{program.name}", f"{HOME}/bin/{program.name}")
    for page in sorted((home / "share" / "man" / "man1").glob("*.1")):
        pack(stage / "usr/share/man/man1" / f"{page.name}.gz", page.read_bytes())
    shutil.rmtree(home / "share" / "man", ignore_errors=True)
    for program in (stage / "usr/bin").iterdir():
        page = stage / "usr/share/man/man1" / f"{program.name}.1.gz"
        if not page.exists():
            pack(page, manual(program.name).encode())
    for shell in ("bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d"):
        source = home / "share" / shell
        if source.is_dir():
            (stage / "usr/share" / shell).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, stage / "usr/share" / ("zsh/vendor-completions" if "zsh" in shell
                                                      else shell))
    for folder in ("bash-completion", "zsh", "fish"):
        shutil.rmtree(home / "share" / folder, ignore_errors=True)
    link(stage, "usr/lib/python3/dist-packages/quern", f"{HOME}/lib/python/quern")
    doc = stage / "usr/share/doc/quern"
    doc.parent.mkdir(parents=True)
    shutil.move(home / "share" / "doc" / "Quern", doc)
    (doc / "LICENSE").unlink()  # it is in the file copyright
    link(stage, f"{HOME}/share/doc/Quern", "usr/share/doc/quern")
    shutil.copy(ROOT / "python" / "NOTICES.txt", doc / "NOTICES")
    (doc / "copyright").write_text(copyright_text())
    pack(doc / "CHANGELOG.md.gz", (ROOT / "CHANGELOG.md").read_bytes())
    pack(doc / "changelog.gz", (
        f"quern ({version()}) unstable; urgency=medium\n\n  * Version {version()}: "
        f"CHANGELOG.md.gz beside this file says what is new.\n\n -- {AUTHORS}  "
        f"{email.utils.formatdate(int(made_at()))}\n").encode())
    overrides = stage / "usr/share/lintian/overrides/quern"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(OVERRIDES)


def copyright_text():
    """Debian's form of the licence."""
    licence = (ROOT / "LICENSE").read_text().strip()
    holder = re.search(r"^Copyright .*$", licence, re.M).group(0).removeprefix("Copyright ")
    body = "\n".join(f" {line}" if line else " ."
                     for line in licence.split("\n\n", 2)[-1].split("\n"))
    return ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
            f"Upstream-Name: Quern\n\nFiles: *\nCopyright: {holder}\nLicense: Expat\n{body}\n")


def depends(stage):
    """Packages of the libraries that ELF files need, the C library with its version."""
    newest, packages = (0,), set()
    for _, data, _ in check_wheel.elf_files(stage):
        elf = check_wheel.Elf(data)
        newest = max(newest, check_wheel.glibc(elf.versions))
        for name in elf.needed:
            if not check_wheel.ALLOWED.fullmatch(name):
                packages.add(output("dpkg-query", "-S", f"*/{name}").split(":")[0])
    return ", ".join([f"libc6 (>= {'.'.join(map(str, newest))})", *sorted(packages)])


def made_at():
    """The time of the files: that of the commit, or of the changelog outside of a repository."""
    found = ""
    if shutil.which("git"):
        found = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"],
                               capture_output=True, text=True).stdout.strip()
    return found or str(int((ROOT / "CHANGELOG.md").stat().st_mtime))


def fix_modes(stage):
    for path in stage.rglob("*"):
        if not path.is_symlink():
            script = path.is_file() and path.read_bytes()[:2] == b"#!"
            runs = path.is_dir() or script or (path.parent.name == "bin" and path.is_file())
            path.chmod(0o755 if runs and path.name != "envsetup.sh" else 0o644)


def build(arch, tree, out):
    stage = ROOT / "build" / "deb"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    lay_out(stage, tree)
    fix_modes(stage)
    files = sorted(p for p in stage.rglob("*") if p.is_file() and not p.is_symlink())
    (stage / "DEBIAN").mkdir(mode=0o755)
    (stage / "DEBIAN" / "control").write_text(CONTROL.format(
        version=version(), arch=arch, authors=AUTHORS, depends=depends(stage),
        size=sum(p.stat().st_size for p in files) // 1024))
    (stage / "DEBIAN" / "md5sums").write_text("".join(
        f"{hashlib.md5(p.read_bytes()).hexdigest()}  {p.relative_to(stage)}\n" for p in files))
    out.mkdir(parents=True, exist_ok=True)
    made = out / f"quern_{version()}_{arch}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, made], check=True,
                   stdout=subprocess.DEVNULL, env={"SOURCE_DATE_EPOCH": made_at(), **os.environ})
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arch", nargs="*", help="amd64, arm64 (default: this machine's)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    own = output("dpkg", "--print-architecture")
    for arch in args.arch or [own]:
        if arch not in CPUS:
            parser.error(f"no architecture {arch!r}; expected one of {', '.join(CPUS)}")
        build(arch, ROOT / "build" / "release" if arch == own else cross_build(CPUS[arch]),
              args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
