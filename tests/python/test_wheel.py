# SPDX-License-Identifier: MIT
"""What the package carries runs elsewhere: needs of its ELF files, and that the check sees them."""
import os
import subprocess
import sys
import zipfile

import pytest

from installed import ROOT
import check_wheel


def test_every_elf_file_needs_an_old_c_library_alone(quern):
    """Ubuntu 22.04 has glibc 2.35."""
    names = set()
    for name, data, _ in check_wheel.elf_files(quern.libs().parent):
        elf, wrong = check_wheel.problems(data)
        # Where there are no archives of jansson and the others, the program of a tree needs them.
        if name != "bin/quern" or os.environ.get("QUERN_INSTALLED") == "1":
            assert not wrong, name
        assert (2, 2) < check_wheel.glibc(elf.versions), name
        names.add(name)
    assert names >= {"bin/quern", "lib/libQnnCpu.so", "lib/libQnnHtp.so", "lib/libQnnGpu.so",
                     "lib/libQnnSystem.so", "lib/libonnxruntime_providers_quern.so"}


def test_the_reader_agrees_with_binutils(quern):
    for path in quern.libs().glob("*.so"):
        text = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path],
                              check=True, capture_output=True, text=True).stdout
        elf = check_wheel.Elf(path.read_bytes())
        assert elf.needed == [line.split("[")[1].rstrip("]") for line in text.splitlines()
                              if "(NEEDED)" in line]
        needs = text[text.index("Version needs section"):]
        assert elf.versions == {line.split("Name: ")[1].split()[0] for line in needs.splitlines()
                                if "Name: " in line and "Cnt:" not in line}


@pytest.mark.parametrize("options, words", [
    (["-Wl,--no-as-needed", "-L.", "-lextra"], "needs libextra.so"),
    (["-Wl,-rpath,/opt/elsewhere"], "looks for libraries in '/opt/elsewhere'"),
    (["-Wl,-rpath,$ORIGIN/../lib:/usr/lib", "-Wl,--disable-new-dtags"],
     "looks for libraries in '/usr/lib'"),
    (["-Wl,-rpath,$ORIGIN"], None)])
def test_a_file_that_needs_more_is_found(tmp_path, options, words):
    (tmp_path / "a.c").write_text("#include <stdlib.h>\nint f(void) { return abs(rand()); }\n")
    for name, more in (("libextra.so", []), ("a.so", options)):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", name, "a.c", *more], check=True,
                       cwd=tmp_path)
    wrong = check_wheel.problems((tmp_path / "a.so").read_bytes())[1]
    assert wrong == ([words] if words else [])


def test_newer_symbols_and_untrue_names_are_found(quern, tmp_path):
    data = quern.library("cpu").read_bytes()
    needs = check_wheel.glibc(check_wheel.Elf(data).versions)
    assert check_wheel.problems(data, needs)[1] == []
    assert check_wheel.problems(data, (2, 16))[1]
    script = [sys.executable, ROOT / "scripts" / "check_wheel.py"]
    for tag, status in ((f"manylinux_2_{needs[1]}_x86_64", 0), ("manylinux_2_17_x86_64", 1),
                        ("linux_x86_64", 0)):
        path = tmp_path / f"quern-0.1.0-py3-none-{tag}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("quern/lib/libQnnCpu.so", data)
        ran = subprocess.run([*script, path], capture_output=True, text=True)
        assert ran.returncode == status, ran.stdout
    assert "promises glibc 2.17" in subprocess.run(
        [*script, tmp_path / "quern-0.1.0-py3-none-manylinux_2_17_x86_64.whl"],
        capture_output=True, text=True).stdout


def test_an_archive_without_libraries_is_no_wheel(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as wheel:
        wheel.writestr("quern/__init__.py", "")
    assert subprocess.run([sys.executable, ROOT / "scripts" / "check_wheel.py", tmp_path / "x.whl"],
                          stdout=subprocess.DEVNULL).returncode == 1
