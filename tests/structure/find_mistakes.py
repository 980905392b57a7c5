#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The structure checks find every deliberate mistake of bad_tree/ and of the mistaken library.

find_mistakes.py SCRIPTS LIBRARY COMPILER
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LAYERS = """\
src/api/graph.c:4: 'api' must not include 'kernels/gemm.h'
src/api/graph.c:8: 'api' must not include 'backend/cpu/backend.h'
src/attic/old.c: folder 'attic' is not in the table of layers
src/backend/cpu/backend.c:3: 'backend/cpu' must not include '../htp/backend.h'
src/backend/cpu/backend.c:4: 'backend/cpu' must not include 'core/objects.h'
src/backend/cpu/backend.c:5: 'backend/cpu' must not include 'api/graph.h'
src/base/text.c:3: 'base' must not include 'ir/graph.h'
src/core/objects.h:3: 'core' must not include 'api/graph.h'
src/core/objects.h:4: 'core' must not include 'backend/cpu/backend.h'
src/ir/graph.h:2: 'ir' must not include 'QnnTypes.h'
layers: 13 files, 10 violations
"""
STYLE = """\
src/api/graph.c:5: the environment is read in src/base/env.c only
src/api/graph.c:6: a library must not print, exit or change the process
src/base/text.h:1: the licence line is missing
src/base/text.h:1: open end or dead code
src/ir/graph.h:4: there is no file 'base/graph.h'
src/ir/graph.h:4: there is no file 'folded.c'
src/tools/quern/show.c:2: reports print with qt_print
style: 13 files, 7 problems
"""
WORDS = """\
docs/page.md:3: 'codes': write quantized values; error and exit codes stay
docs/page.md:4: 'where they lie': write in place
docs/page.md:9: 'is told': write reports, says, returns
python/quern/page.py:4: 'nobody': write no client, another node, it has not been measured
include/Quern/page.h:2: 'one a step': write per
words: 3 files, 5 problems
"""
EXPORTS = """\
{0}: exports 'quern_stray_export', which is not in its list
{0}: does not export 'QnnInterface_getProviders'
{0}: has RUNPATH
{0}: has an executable stack
exports: {0}: 1 symbols expected, 4 problems
"""
HARDENING = """\
{0}: has no RELRO segment
{0}: binds addresses lazily
{0}: has an executable stack
{0}: has a segment that is writable and executable
{0}: has no stack protector
{0}: has no calls that check sizes
hardening: 1 files, 6 problems
"""

# A program with a function that it calls, one in a table, one that its own file inlines, and those
# that nothing leads to: alone, and called by what nothing leads to.
REACHED = {"main.c": "extern int (*const table[])(void); int used(void);\n"
                     "int main(void) { return used() + table[0](); }\n",
           "used.c": "int listed(void); int listed(void) { return 1; }\n"
                     "int (*const table[])(void) = {listed};\n"
                     "int inlined(void); int inlined(void) { return 2; }\n"
                     "int used(void); int used(void) { return inlined(); }\n",
           "alone.c": "int below(void); int below(void) { return 3; }\n"
                      "int alone(void); int alone(void) { return below(); }\n"
                      "int hook(void); int hook(void) { return 4; }\n"}
ALLOWED = "hook\tfor tests\nused\tis called by main\nbelow\n"
REACH = """\
{0}: 'below' needs a reason
{0}: 'used' is reached or gone, take it off the list
src/alone.c: no library or program reaches 'alone'
reach: 3 objects, 3 problems
"""

# A test that is public, and those that are no proofs: one whose helper looks inside, one that
# includes a header of src/, one that is not run or not there, and one whose file is not there.
PROOFS = {"client.h": "static int qnn_client;\n#define QRN_TESTS_GUARD\n",
          "peek.h": "static inline int peek(void) { return qrn_secret(); }\n",
          "open.c": '#include "client.h"\n// qrn_ in a comment\n'
                    'static void open(void) { puts("qrn_text"); }\n'
                    "static void idle(void) {}\n"
                    "int main(void) { open(); }\n",
          "sly.c": '#include "peek.h"\nstatic void sly(void) {}\nint main(void) { sly(); }\n',
          "near.c": '#include "base/text.h"\nstatic void near(void) {}\n'
                    "int main(void) { near(); }\n",
          "cli.py": "def test_it():\n    pass\n"}
PROVEN = ["open.c:open", "cli.py:test_it"]
UNPROVEN = ["sly.c:sly", "near.c:near", "open.c:idle", "open.c:gone", "cli.py:test_other",
            "none.c:open"]
NO_PROOF = """\
sly.c:sly: is not public, it uses 'qrn_secret' in tests/peek.h
near.c:near: is not public, it uses 'base/text.h' in tests/near.c
open.c:idle: there is no such test, or it is not run
open.c:gone: there is no such test, or it is not run
cli.py:test_other: there is no such test, or it is not run
none.c:open: there is no file tests/none.c
"""


def build(tree, compiler):
    """Compiles REACHED as CMake would, with a list of compilations."""
    (tree / "src").mkdir(parents=True)
    entries = []
    for name, text in REACHED.items():
        (tree / "src" / name).write_text(text)
        command = f"{compiler} -fvisibility=hidden -O2 -fPIC -o {name}.o -c src/{name}"
        subprocess.run(command.split(), cwd=tree, check=True)
        entries.append({"directory": str(tree), "file": f"src/{name}", "command": command})
    (tree / "compile_commands.json").write_text(json.dumps(entries))
    (tree / "allowed.tsv").write_text(ALLOWED)


def expect(text, *command):
    run = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    if run.returncode != 1 or run.stdout != text:
        sys.exit(f"{command[0]}: status {run.returncode}, said\n{run.stdout}{run.stderr}"
                 f"expected status 1 and\n{text}")


def main():
    scripts, library = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(Path(__file__).parent / "bad_tree", tree)
        expect(LAYERS, scripts / "check_layers.py", "--root", tree)
        expect(STYLE, scripts / "check_style.py", "--root", tree)
        shutil.copytree(tree / "words", Path(folder) / "words")
        expect(WORDS, scripts / "check_words.py", "--root", Path(folder) / "words")
        (tree / "tests").mkdir()
        for name, text in PROOFS.items():
            (tree / "tests" / name).write_text(text)
        expect(NO_PROOF, scripts / "proofs.py", tree, *PROVEN, *UNPROVEN)
        small = (Path(folder) / "small").resolve()
        build(small, sys.argv[3])
        allowed = small / "allowed.tsv"
        expect(REACH.format(allowed), scripts / "check_reach.py", small, "--root", small, "--allow",
               allowed)
    expect(EXPORTS.format(library), scripts / "check_exports.py", library,
           "QnnInterface_getProviders")
    expect(HARDENING.format(library), scripts / "check_hardening.py", library)


if __name__ == "__main__":
    main()
