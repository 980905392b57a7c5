# SPDX-License-Identifier: MIT
"""What an application may do to single runs: exchange weights by an adapter, and end them."""
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, LIB, NAME, helper, model, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
from lora_models import make, product  # noqa: E402
from ort_models import conv_net, images  # noqa: E402


@pytest.fixture
def lora(tmp_path):
    return make(tmp_path, LIB / "libQnnHtp.so", NAME)


def run_with(s, x, config):
    options = ort.RunOptions()
    options.add_run_config_entry("qnn.lora_config", str(config))
    return s.run(None, {"x": x}, options)[0]


def inputs(n):
    return [np.random.default_rng(i).integers(0, 256, (1, 16), np.uint8) for i in range(n)]


def test_an_adapter_changes_the_weights_and_stays(lora, tmp_path):
    model, adapter, base, other = lora
    config = tmp_path / "lora.txt"
    config.write_text(f"lora;{adapter}\n")
    s, xs = session(str(model), HTP), inputs(4)
    for x in xs:
        assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))
    for x in xs:
        assert np.array_equal(run_with(s, x, config), product(x, other))
    assert np.array_equal(s.run(None, {"x": xs[0]})[0], product(xs[0], other))
    fresh = session(str(model), HTP)
    assert np.array_equal(fresh.run(None, {"x": xs[0]})[0], product(xs[0], base))


@pytest.mark.parametrize("line, words", [
    ("lora;{folder}/base.raw", "contextApplyBinarySection"),
    ("nobody;{folder}/adapter.bin", "no graph 'nobody'"),
    ("lora;{folder}/gone.bin", "gone.bin"),
    ("lora", "the first line must be '<graph>;<adapter file>'"),
    ("", "the first line must be '<graph>;<adapter file>'"),
    (";{folder}/adapter.bin", "the first line must be '<graph>;<adapter file>'"),
])
def test_a_wrong_adapter_fails_the_run_with_words_and_changes_nothing(lora, tmp_path, line, words):
    model, _, base, _ = lora
    config = tmp_path / "lora.txt"
    config.write_text(line.format(folder=tmp_path) + "\n")
    s, (x,) = session(str(model), HTP), inputs(1)
    with pytest.raises(Exception) as raised:
        run_with(s, x, config)
    assert words in str(raised.value)
    assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))


def test_a_missing_config_fails_the_run(lora, tmp_path):
    s, (x,) = session(str(lora[0]), HTP), inputs(1)
    with pytest.raises(Exception, match="nothing.txt"):
        run_with(s, x, tmp_path / "nothing.txt")


def long_net(n=24, side=896):
    """Products with a permutation: a run of many milliseconds whose values stay as they are."""
    w = np.roll(np.eye(side, dtype=np.float32), 1, 0)
    nodes = [helper.make_node("MatMul", [f"x{i}" if i else "x", "w"], [f"x{i + 1}"])
             for i in range(n)]
    return model(nodes, [("x", np.float32, [side, side])], [(f"x{n}", np.float32, [side, side])],
                 [("w", w)])


def run_and_end(s, x):
    """The failure of a run whose end is asked for while it goes on."""
    options, failures = ort.RunOptions(), []

    def work():
        try:
            s.run(None, {"x": x}, options)
        except Exception as e:
            failures.append(str(e))

    for _ in range(5):  # a busy machine may set the flag when all is over
        options.terminate = False
        thread = threading.Thread(target=work)
        busy = time.process_time()
        thread.start()
        while thread.is_alive() and time.process_time() - busy < 0.03:  # it computes
            time.sleep(0.001)
        options.terminate = True
        thread.join()
        if failures:
            return failures[0]
    return ""


@pytest.mark.parametrize("options", [{"backend_type": "cpu"}, HTP])
def test_a_run_is_ended_inside_of_its_partition(options):
    s = session(long_net(), {**options, "threads": "1"})
    x = np.random.default_rng(2).integers(-8, 8, (896, 896)).astype(np.float32)
    assert "terminate flag of its options, inside of a graph" in run_and_end(s, x)
    assert np.array_equal(s.run(None, {"x": x})[0], np.roll(x, -24, 1))  # others are not ended


def test_one_of_several_runs_is_ended():
    s = session(long_net(), {"backend_type": "cpu", "threads": "1"})
    x, results = np.ones((896, 896), np.float32), []
    others = [threading.Thread(target=lambda: results.append(s.run(None, {"x": x})[0]))
              for _ in range(2)]
    for t in others:
        t.start()
    assert "inside of a graph" in run_and_end(s, x)
    for t in others:
        t.join()
    assert len(results) == 2 and all(np.array_equal(r, x) for r in results)


AT_EXIT = """
import sys
sys.path[:0] = sys.argv[1:3]
import test_runs
s = test_runs.session(test_runs.long_net(), {"backend_type": "cpu", "threads": "1"})
print(test_runs.run_and_end(s, test_runs.np.ones((896, 896), "f")))
"""


def test_a_process_ends_with_a_session_that_was_watched():
    here = Path(__file__).resolve().parent
    done = subprocess.run([sys.executable, "-c", AT_EXIT, str(here), str(here.parent / "clients")],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "inside of a graph" in done.stdout


def test_a_run_that_is_terminated_fails_and_the_next_one_does_not():
    """onnxruntime looks before each partition."""
    s, x = session(conv_net(seed=1), HTP), images(1, 1)[0]
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(Exception, match="(?i)terminate"):
        s.run(None, {"x": x}, options)
    options.terminate = False
    assert np.array_equal(s.run(None, {"x": x}, options)[0], s.run(None, {"x": x})[0])


FORKS = """
import os, signal, sys
sys.path[:0] = sys.argv[1:2]
import numpy as np
import onnxruntime as ort
from provider import HTP, devices, helper, model
net = model([helper.make_node("Relu", ["x"], ["y"])], [("x", np.float32, [4])],
            [("y", np.float32, [4])])
so = ort.SessionOptions()
so.intra_op_num_threads = 1  # onnxruntime itself waits for the threads of its pool for ever
so.add_provider_for_devices(devices("cpu")[:1], HTP)
s, x = ort.InferenceSession(net, so, enable_fallback=0), np.array([-1, 0, 1, 2], np.float32)
for i in range(4):
    s.run(None, {"x": x})
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        right = i % 2 == 0 or s.run(None, {"x": x})[0].tolist() == [0, 0, 1, 2]
        del s
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_runs_and_releases_the_session():
    """The thread that looks after runs is not there."""
    subprocess.run([sys.executable, "-c", FORKS, str(Path(__file__).parent)], check=True,
                   timeout=60)
