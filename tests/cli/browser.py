# SPDX-License-Identifier: MIT
"""Pages in a browser, where there is one."""
import os
import shutil
import subprocess
import zlib

import pytest


def find_browser():
    """One that starts: distributions put a stub in its place that only tells how to install it."""
    for name in ("chromium", "chromium-browser", "chrome"):
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


BROWSER = None if os.environ.get("QUERN_NO_BROWSER") == "1" else find_browser()
in_browser = pytest.mark.skipif(
    not BROWSER, reason="QUERN_NO_BROWSER=1, or no Chromium that starts (apt-get install chromium)")


def browse(folder, page, *flags):
    p = subprocess.run(
        [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", "--enable-logging=stderr", "--v=0", *flags,
         f"file://{page}"],
        capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(folder)})
    assert p.returncode == 0 and "CONSOLE" not in p.stderr, p.stderr
    return p.stdout


def corner(picture):
    """The first pixel of a PNG."""
    data = picture.read_bytes()
    at, body = 8, b""
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            body += data[at + 8:at + 8 + n]
        at += n + 12
    return zlib.decompress(body)[1:4]  # whatever the filter: nothing is before it
