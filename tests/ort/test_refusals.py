# SPDX-License-Identifier: MIT
"""Nodes that the HTP does not take: they alone are left to others, and the log says it once."""
import numpy as np
import pytest

from provider import HTP, close, cpu_session, helper, model, session

F = np.float32


def reshape(x, y, shape):
    return helper.make_node("Reshape", [x, shape], [y], y)


def tiles(op, numbers, four, refused):
    """Repeated in 5 dimensions; Tile has 4."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"), reshape("a", "b", "five"),
             helper.make_node(op, ["b", "more"], ["c"], "c"), reshape("c", "d", "four"),
             helper.make_node("Sigmoid", ["d"], ["y"], "y")]
    shapes = {"five": [2, 3, 1, 4, 5], "more": numbers, "four": four}
    return model(nodes, [("x", F, [2, 3, 4, 5])], [("y", F, four)],
                 [(k, np.array(v, np.int64)) for k, v in shapes.items()]), [2, 3, 4, 5], refused


def repeated_heads():
    """Heads of keys that several queries share: one dimension is repeated."""
    return tiles("Expand", [2, 3, 2, 4, 5], [2, 6, 4, 5], set())


def tiled():
    return tiles("Tile", [2] * 5, [4, 12, 8, 10], {"c"})


def blocks(perm, refused):
    """An image in blocks; 6 dimensions between two Reshapes."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"), reshape("a", "b", "six"),
             helper.make_node("Transpose", ["b"], ["c"], "c", perm=perm),
             reshape("c", "d", "four"), helper.make_node("Sigmoid", ["d"], ["y"], "y")]
    shapes = {"six": [2, 2, 4, 3, 4, 5], "four": [12, 4, 4, 5]}
    return model(nodes, [("x", F, [2, 8, 12, 5])], [("y", F, [12, 4, 4, 5])],
                 [(k, np.array(v, np.int64)) for k, v in shapes.items()]), [2, 8, 12, 5], refused


def windows():
    """Two pairs of dimensions stay together: 4 are left."""
    return blocks([0, 1, 3, 2, 4, 5], set())


def turned():
    return blocks([5, 4, 3, 2, 1, 0], {"b", "c", "d"})


@pytest.mark.parametrize("make", [repeated_heads, tiled, windows, turned])
def test_only_what_is_not_taken_is_refused(make, capfd):
    net, shape, refused = make()
    x = np.random.default_rng(0).standard_normal(shape).astype(F)
    s = session(net, HTP, fallback=True, level=1)
    said = capfd.readouterr().err
    warned = {line.split("node '")[1].split("'")[0] for line in said.splitlines()
              if "is left to other providers" in line}
    assert warned == refused
    assert "[E:" not in said
    assert close(s.run(None, {"x": x})[0], cpu_session(net).run(None, {"x": x})[0], 1e-3)
