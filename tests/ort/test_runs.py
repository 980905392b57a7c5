# SPDX-License-Identifier: MIT
"""What an application may do to single runs: exchange weights by an adapter, and end them."""
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, LIB, NAME, session

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


def test_a_run_that_is_terminated_fails_and_the_next_one_does_not():
    """onnxruntime looks before each partition; providers are not told of it."""
    s, x = session(conv_net(seed=1), HTP), images(1, 1)[0]
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(Exception, match="(?i)terminate"):
        s.run(None, {"x": x}, options)
    options.terminate = False
    assert np.array_equal(s.run(None, {"x": x}, options)[0], s.run(None, {"x": x})[0])
