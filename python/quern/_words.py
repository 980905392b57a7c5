# SPDX-License-Identifier: MIT
"""Sentences for wrong names, shared by the modules of the package."""
from __future__ import annotations

import difflib
from typing import Iterable, Mapping


def unknown(kind: str, name: object, legal: Iterable[str], most: int = 12,
            meant: Mapping[str, str] | None = None) -> ValueError:
    """The error for a name that is not one of `legal`: the nearest of them, or what there is.

    `meant` are other words for legal ones.
    """
    words = list(legal)
    folded = {**{word.lower(): word for word in words}, **(meant or {})}
    near = difflib.get_close_matches(str(name).lower(), folded, 1)
    if near:
        hint = f"; did you mean {folded[near[0]]!r}?"
    elif len(words) <= most:
        hint = f"; expected one of {', '.join(words)}"
    else:
        hint = f"; expected one of {', '.join(words[:most])}, … ({len(words)} in all)"
    return ValueError(f"no {kind} {name!r}{hint}")
