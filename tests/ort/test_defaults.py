# SPDX-License-Identifier: MIT
"""Inputs with a default: initializers that are inputs as well, which a run may replace."""
import threading

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, close, cpu_session, helper, model, session

F, I = np.float32, np.int64
node = helper.make_node
pytestmark = pytest.mark.skipif(
    tuple(map(int, ort.__version__.split(".")[:2])) < (1, 27),
    reason="partitions of this onnxruntime do not see all values that they must compare")


def pick(at=1):
    """The element of [x, y, x + y] at a position that is an input with a default."""
    return model([node("Add", ["x", "y"], ["sum"]),
                  node("SequenceConstruct", ["x", "y", "sum"], ["all"]),
                  node("SequenceAt", ["all", "at"], ["picked"]),
                  node("Mul", ["picked", "two"], ["out"])],
                 [("x", F, [2, 3]), ("y", F, [2, 3]), ("at", I, [])], [("out", F, [2, 3])],
                 [("at", np.array(at, I)), ("two", F(2))])


def feeds(**more):
    rng = np.random.default_rng(1)
    return {"x": rng.normal(size=(2, 3)).astype(F), "y": rng.normal(size=(2, 3)).astype(F), **more}


@pytest.mark.parametrize("options", [{"backend_type": "cpu"}, HTP])
def test_a_run_uses_the_default_or_the_value_that_replaces_it(options):
    tolerance = 1e-5 if options["backend_type"] == "cpu" else 2e-3
    s, peer = session(pick(), options), cpu_session(pick())
    for at in (None, 0, 2, None, 1, -1, 0, -2):
        given = feeds() if at is None else feeds(at=np.array(at, I))
        assert close(s.run(None, given)[0], peer.run(None, given)[0], tolerance), at


def test_a_value_that_cannot_be_compiled_fails_the_run_and_names_the_input():
    s = session(pick(), {"backend_type": "cpu"})
    with pytest.raises(Exception, match="input 'at'.*constant.*cannot be compiled.*"):
        s.run(None, feeds(at=np.array(7, I)))
    want = cpu_session(pick()).run(None, feeds())[0]
    assert close(s.run(None, feeds())[0], want)


def test_a_session_compiles_for_a_bounded_number_of_values():
    m = model([node("Pad", ["x", "pads"], ["out"])], [("x", F, [2]), ("pads", I, [2])],
              [("out", F, [None])], [("pads", I([0, 0]))])
    s = session(m, {"backend_type": "cpu"})
    x = np.arange(2, dtype=F)
    for n in [*range(17), *range(17)]:  # the default and sixteen others
        got = s.run(None, {"x": x, "pads": I([0, n])})[0]
        assert np.array_equal(got, np.pad(x, (0, n)))
    with pytest.raises(Exception, match="input 'pads'.*16 values besides the default"):
        s.run(None, {"x": x, "pads": I([0, 17])})


def test_a_default_that_no_node_needs_stays_an_input():
    m = model([node("Add", ["x", "y"], ["out"])], [("x", F, [4]), ("y", F, [4])],
              [("out", F, [4])], [("y", np.ones(4, F))])
    s, x = session(m, {"backend_type": "cpu"}), np.arange(4, dtype=F)
    assert np.array_equal(s.run(None, {"x": x})[0], x + 1)
    for n in range(40):  # more than would be compiled
        assert np.array_equal(s.run(None, {"x": x, "y": np.full(4, n, F)})[0], x + n)


def test_weights_with_a_default_may_be_replaced():
    rng = np.random.default_rng(2)
    w = rng.normal(size=(4, 3, 3, 3)).astype(F)
    m = model([node("Conv", ["x", "w"], ["c"]), node("Reshape", ["c", "shape"], ["out"])],
              [("x", F, [1, 3, 5, 5]), ("w", F, [4, 3, 3, 3]), ("shape", I, [2])],
              [("out", F, [None, None])], [("w", w), ("shape", I([4, 9]))])
    s, peer = session(m, HTP), cpu_session(m)
    x = rng.normal(size=(1, 3, 5, 5)).astype(F)
    for given in ({}, {"w": 2 * w}, {"shape": I([9, 4])}, {"w": 3 * w, "shape": I([2, 18])}, {}):
        want = peer.run(None, {"x": x, **given})[0]
        assert close(s.run(None, {"x": x, **given})[0], want, 1e-2), given.keys()


def test_runs_with_other_values_at_the_same_time_agree_with_onnxruntime():
    s, peer, wrong = session(pick(), HTP), cpu_session(pick()), []
    want = {at: peer.run(None, feeds(at=np.array(at, I)))[0] for at in range(3)}

    def work(k):
        for i in range(30):
            at = (i + k) % 3
            if not close(s.run(None, feeds(at=np.array(at, I)))[0], want[at], 2e-3):
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_context_model_is_not_compiled_with_a_default(tmp_path):
    path = tmp_path / "ctx.onnx"
    config = {"ep.context_enable": "1", "ep.context_file_path": str(path)}
    s = session(pick(), HTP, config, fallback=True)
    for at in (0, 1):
        want = cpu_session(pick()).run(None, feeds(at=np.array(at, I)))[0]
        assert close(s.run(None, feeds(at=np.array(at, I)))[0], want, 2e-3)
