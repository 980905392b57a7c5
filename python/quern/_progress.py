# SPDX-License-Identifier: MIT
"""Progress bars for long work, on a terminal or in a notebook; nothing where output is piped.

    model.onnx  45%|█████████▉           | 9/20 [00:03<00:04, 2.6/s]

The bar appears after half a second and is cleared at the end.
"""
from __future__ import annotations

import sys
import threading
import time
from typing import Any

_WIDTH = 20
_PAUSE = 0.1  # seconds between two drawings
_DELAY = 0.5  # short work shows nothing


def wanted(out: Any = None) -> bool:
    """Is progress visible: on a terminal, or in a notebook?"""
    out = sys.stderr if out is None else out
    if out is not None and hasattr(out, "isatty") and out.isatty():
        return True
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell and hasattr(shell, "get_ipython") else None
    return found is not None and hasattr(found, "kernel")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


class Bar:
    """A bar of `total` steps, or just the time if the total is unknown."""

    def __init__(self, what: str, total: int | None = None, out: Any = None):
        self.what, self.total, self.done = what, total, 0
        self._out = sys.stderr if out is None else out
        self._on = wanted(self._out)
        self._begun = self._drawn = time.monotonic()
        self._visible = False

    def text(self, now: float) -> str:
        spent = now - self._begun
        if not self.total:
            return f"{self.what} [{_clock(spent)}]"
        share = min(self.done / self.total, 1.0)
        bar = ("█" * int(share * _WIDTH)).ljust(_WIDTH)
        left = _clock(spent / self.done * (self.total - self.done)) if self.done else "?"
        rate = f"{self.done / spent:.3g}/s" if self.done and spent > 0 else "?/s"
        return (f"{self.what} {share:4.0%}|{bar}| {self.done}/{self.total} "
                f"[{_clock(spent)}<{left}, {rate}]")

    def step(self, n: int = 1) -> None:
        self.done += n
        self.draw()

    def draw(self) -> None:
        now = time.monotonic()
        if not self._on or now - self._begun < _DELAY or now - self._drawn < _PAUSE:
            return
        self._drawn, self._visible = now, True
        self._out.write("\r\033[K" + self.text(now))
        self._out.flush()

    def close(self) -> None:
        if self._visible:
            self._out.write("\r\033[K")
            self._out.flush()
        self._visible = self._on = False

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Elapsed(Bar):
    """A bar for one call that takes its time: a thread draws it."""

    def __enter__(self) -> Elapsed:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True) if self._on else None
        if self._thread:
            self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            self.draw()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
        self.close()
