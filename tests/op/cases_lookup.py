#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gather out of a table with an entry for each 16-bit value, by indices that are made of such
values: what a backend may do as one look-up. Oracle: numpy's indexing."""
import numpy as np
import qcase as q

N = 65536
X = q.scale_offset(3e-4, -30000)
Y = q.scale_offset(2e-4, -11)


def every(f, count):
    """Quantized values of the whole range, its ends among them."""
    values = f.rng.integers(0, N, count)
    values[:4] = 0, N - 1, N // 2 - 1, N // 2
    return values


def lookup(f, shape, more, unsigned, kept=False, y_type="uq16", only=None):
    """Indices are the value plus `more`. `kept`: somebody else reads them. `only`: values that have
    an entry."""
    count = int(np.prod(shape))
    values = (every(f, count) if only is None else f.rng.integers(*only, count)).reshape(shape)
    table = q.Tensor("table", f.rng.integers(0, 1 << (8 if y_type == "uq8" else 16), N), y_type,
                     Y, "static")
    nodes, x = [], q.Tensor("x", values, "uq16", X)
    s = q.Tensor("s", values - 32768, "sq16", q.scale_offset(X.scale, X.offset + 32768),
                 "native" if unsigned else "input")
    if unsigned:
        nodes.append(q.Node("Convert", [x], [s]))
    i = q.Tensor("i", values - 32768, "i32", kind="native")
    nodes.append(q.Node("Cast", [s], [i]))
    if more:
        c = q.Tensor("c", np.array([more]), "i32", kind="static")
        at = q.Tensor("at", i.array + more, "i32", kind="output" if kept else "native")
        nodes.append(q.Node("ElementWiseAdd", [i, c], [at]))
        i = at
    y = q.Tensor("y", table.codes[i.array], y_type, Y)
    nodes.append(q.Node("Gather", [table, i], [y], {"axis": ("i32", 0)}))
    f.build(nodes, tol=q.exact(), name=f"Lookup_{'u16' if unsigned else 's16'}_{y_type}_{more}"
            f"_{count}{'_kept' if kept else ''}{'_part' if only else ''}")


def cases(f):
    for shape in ((1, 9, 11, 50), (7,), (2, 3, 3)):
        lookup(f, shape, 32768, True)
        lookup(f, shape, 32768, False)
    lookup(f, (3, 100), 0, True)      # negative indices count from the end
    lookup(f, (3, 100), 0, False)
    lookup(f, (3, 100), -32768, False)
    lookup(f, (3, 100), 32768, True, kept=True)
    lookup(f, (3, 100), 32768, True, y_type="uq8")
    lookup(f, (3, 100), 32767, True)  # rotated by one
    lookup(f, (3, 100), 40000, True, only=(0, 58304))  # not every value has an entry


if __name__ == "__main__":
    q.run(cases)
