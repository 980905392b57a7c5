#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make wheel: the Python package for other machines, one wheel for each architecture.

    scripts/build_wheel.py [--out dist] [ARCH...]      ARCH: x86_64, aarch64; default: both

The wheels need glibc 2.28 or newer and nothing else: they are built with Debian's gcc against the
sysroot of scripts/make_sysroot.sh. Each is checked: what its ELF files need, that its name promises
no more, and that the libraries load and the program runs (those for another architecture under
qemu-user, where it is installed). The exit status is 0 only if all are good.
"""
import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHES = ("x86_64", "aarch64")
GLIBC = "2.28"
# Opens every library, which resolves all of its symbols.
LOAD = """
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **files) {
    int bad = 0;
    for (int i = 1; i < n; i++) {
        if (!dlopen(files[i], RTLD_NOW | RTLD_LOCAL))
            bad = !!puts(dlerror());
    }
    return bad;
}
"""


def build(arch, out):
    """The path of the wheel, in the folder `out`, where it replaces older ones."""
    out.mkdir(parents=True, exist_ok=True)
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{arch}"
    for old in out.glob(f"quern-*-{tag}.whl"):
        old.unlink()
    if not shutil.which(f"{arch}-linux-gnu-gcc"):
        raise SystemExit(f"build_wheel: {arch}-linux-gnu-gcc is missing: install "
                         f"gcc-{arch.replace('_', '-')}-linux-gnu")
    subprocess.run([ROOT / "scripts" / "make_sysroot.sh", arch], check=True)
    settings = {"cmake.define.CMAKE_TOOLCHAIN_FILE": ROOT / "cmake" / f"portable-{arch}.cmake",
                "build-dir": ROOT / "build" / f"portable-{arch}", "wheel.tags": f"py3-none-{tag}"}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        chosen = [f"--config-settings={key}={value}" for key, value in settings.items()]
        subprocess.run([f"{folder}/bin/python", "-m", "pip", "wheel", "--quiet", "--no-deps",
                        "--wheel-dir", out, *chosen, ROOT], check=True)
    wheel = next(out.glob(f"quern-*-{tag}.whl"))
    print(f"{wheel}: built in {time.monotonic() - start:.0f} s", flush=True)
    return wheel


def loads(wheel, arch):
    """Do the libraries load and the program run? On another machine under qemu-user."""
    runner = []
    if arch != platform.machine():
        emulator = shutil.which(f"qemu-{arch}") or shutil.which(f"qemu-{arch}-static")
        if not emulator:
            print(f"{wheel.name}: not loaded, as qemu-{arch} is not installed")
            return True
        runner = [emulator, "-L", f"/usr/{arch}-linux-gnu"]
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        package = Path(folder) / "quern"
        program = package / "bin" / "quern"
        program.chmod(0o755)
        (package / "load.c").write_text(LOAD)
        subprocess.run([f"{arch}-linux-gnu-gcc", package / "load.c", "-o", package / "load",
                        "-ldl"], check=True)
        env = {**os.environ, "LD_BIND_NOW": "1"}
        libraries = sorted((package / "lib").glob("*.so"))
        for command in ([package / "load", *libraries], [program, "--version"],
                        [program, "run", package / "digits" / "digits.onnx", "--random",
                         "--dim", "N=1"]):
            ran = subprocess.run([*runner, *command], env=env, capture_output=True, text=True)
            if ran.returncode:
                print(f"{wheel.name}: {command[0].name} fails: {ran.stdout}{ran.stderr}")
                return False
    print(f"{wheel.name}: {len(libraries)} libraries load and the program runs a model"
          + (f" (under {Path(runner[0]).name})" if runner else ""))
    return True


def good(wheel):
    """Is the wheel what its name says?"""
    checked = subprocess.run([sys.executable, ROOT / "scripts" / "check_wheel.py", wheel,
                              "--glibc", GLIBC])
    return checked.returncode == 0 and loads(wheel, wheel.stem.split(f"{GLIBC[-2:]}_")[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arch", nargs="*", default=ARCHES, help="x86_64, aarch64 (default: both)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    for arch in args.arch:
        if arch not in ARCHES:
            parser.error(f"no architecture {arch!r}; expected one of {', '.join(ARCHES)}")
    return 0 if all([good(build(arch, args.out.resolve())) for arch in args.arch]) else 1


if __name__ == "__main__":
    sys.exit(main())
