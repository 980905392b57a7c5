# SPDX-License-Identifier: MIT
"""Adapters through the public onnxruntime-qnn provider: the run option qnn.lora_config applies a
section of a context binary, which a program of the tests has written on our libQnnHtp.so.
Expected values: numpy.
"""
import numpy as np
import onnxruntime as ort
import pytest

from lora_models import make, product
from qnn_provider import HTP, NAME, session


@pytest.fixture
def lora(tmp_path):
    return make(tmp_path, HTP, NAME)


def run_with(s, x, config):
    options = ort.RunOptions()
    options.add_run_config_entry("qnn.lora_config", str(config))
    return s.run(None, {"x": x}, options)[0]


def test_an_adapter_changes_the_weights(device, lora, tmp_path):
    model, adapter, base, other = lora
    config = tmp_path / "lora.txt"
    config.write_text(f"lora;{adapter}\n")
    s = session(model, device)
    xs = [np.random.default_rng(i).integers(0, 256, (1, 16), np.uint8) for i in range(4)]
    for x in xs:
        assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))
    for x in xs:
        assert np.array_equal(run_with(s, x, config), product(x, other))
    assert np.array_equal(s.run(None, {"x": xs[0]})[0], product(xs[0], other))  # it stays
    fresh = session(model, device)
    assert np.array_equal(fresh.run(None, {"x": xs[0]})[0], product(xs[0], base))


# A file that is not there ends the process inside the provider, before our library is called.
@pytest.mark.parametrize("line", ["lora;{folder}/base.raw", "nobody;{folder}/adapter.bin"],
                         ids=["not_an_adapter", "no_such_graph"])
def test_a_wrong_adapter_fails_the_run_and_changes_nothing(device, lora, tmp_path, line):
    model, _, base, _ = lora
    config = tmp_path / "lora.txt"
    config.write_text(line.format(folder=tmp_path) + "\n")
    s = session(model, device)
    s.disable_fallback()
    x = np.arange(16, dtype=np.uint8)[None] * 16
    with pytest.raises(Exception):
        run_with(s, x, config)
    assert np.array_equal(s.run(None, {"x": x})[0], product(x, base))
