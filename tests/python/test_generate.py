# SPDX-License-Identifier: MIT
"""quern.generate on a tiny Llama; ONNX Runtime, without a cache, says which tokens must come."""
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import tiny_llama as llama  # noqa: E402
from cli_generate import greedy, ids_of, tokenizer  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    llama.save(folder / "prefill.onnx", 8)
    llama.save(folder / "decode.onnx", 1, 39)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (folder / "config.json").write_text(json.dumps({"rope_theta": 10000.0, "eos_token_id": 1}))
    return folder


def test_tokens_are_those_of_onnx_runtime_and_text_streams(quern, model):
    pieces = []
    got = quern.generate(model, "What?", raw=True, max_tokens=6, stream=pieces.append)
    assert got.tokens == greedy(model, ids_of("What?"), 6)
    assert "".join(pieces) == got.text == str(got)
    assert got.statistics["prompt_tokens"] == len(ids_of("What?")) and got.end in ("limit", "end")


def test_several_files_and_options_are_passed_on(quern, model, tmp_path):
    (tmp_path / "t.json").write_text((model / "tokenizer.json").read_text())
    files = [model / "prefill.onnx", str(model / "decode.onnx")]
    got = quern.generate(files, "What?", raw=True, max_tokens=6, tokenizer=tmp_path / "t.json",
                         backend="htp", soc="none", temperature=2, top_k=1, seed=3)
    assert got.tokens == greedy(model, ids_of("What?"), 6)
    assert Path(got.statistics["backend"]).name == "libQnnHtp.so"  # that of the package


def test_a_callback_that_returns_false_ends_the_text(quern, model):
    got = quern.generate(model, "What?", raw=True, stream=lambda text: False)
    assert got.end in ("interrupted", "context", "end") and got.statistics


def test_an_exception_of_the_callback_comes_out(quern, model):
    def fails(text):
        raise KeyError(text)
    with pytest.raises(KeyError):
        quern.generate(model, "What?", raw=True, stream=fails)


def test_mistakes_are_exceptions_in_words(quern, model, tmp_path):
    with pytest.raises(ValueError, match="41 tokens"):
        quern.generate(model, "x" * 41, raw=True)
    with pytest.raises(ValueError, match="no option 'temprature'.*temperature"):
        quern.generate(model, "x", temprature=1)
    with pytest.raises(ValueError, match="top-p"):
        quern.generate(model, "x", raw=True, top_p=7)
    with pytest.raises(FileNotFoundError, match="nothing.onnx"):
        quern.generate(tmp_path / "nothing.onnx", "x", rope_theta=1e4,
                       tokenizer=model / "tokenizer.json")


def test_warnings_are_warnings(quern, model, tmp_path):
    (tmp_path / "small.json").write_text(json.dumps(tokenizer(90)))
    with pytest.warns(RuntimeWarning, match="90 tokens"):
        quern.generate(model, "x", raw=True, max_tokens=1, tokenizer=tmp_path / "small.json")
