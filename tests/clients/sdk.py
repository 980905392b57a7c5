# SPDX-License-Identifier: MIT
"""Our build as clients meet it: installed in the shape of an SDK, and the program quern."""
import json
import os
import subprocess
from pathlib import Path

LIBS = Path(os.environ.get("QUERN_LIB_DIR", "build/lib")).resolve()
BUILD = LIBS.parent
QUERN = BUILD / "bin" / "quern"


def install(prefix):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    return prefix


def compare(a, b, *args):
    """The report of quern compare: one graph."""
    p = subprocess.run([QUERN, "compare", a, b, "--json", *args], check=True, capture_output=True,
                       text=True)
    graph, = json.loads(p.stdout)["graphs"]
    return graph
