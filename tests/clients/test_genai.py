# SPDX-License-Identifier: MIT
"""onnxruntime-genai: a model folder of the form decoder-pipeline, its decoder on the NPU."""
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed")
import genai_models  # noqa: E402
from sdk import LIBS  # noqa: E402

OURS = LIBS / "libonnxruntime_providers_quern.so"
NPU = {"backend_path": str(LIBS / "libQnnHtp.so"), "soc_model": "57"}  # SM8650
TOKENS = 64

# In a process of its own: providers are registered for good, and other tests have theirs. Prints,
# for each prompt, the tokens and, for each of them, the two largest logits.
GENERATE = """
import json, sys
import numpy as np, onnxruntime_genai as og
folder, prompts, provider, tokens = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
if provider:
    og.register_execution_provider_library("QNNExecutionProvider", provider)
model = og.Model(og.Config(folder))
for prompt in prompts:
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=96, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(np.array(prompt, np.int32))
    best = []
    while not generator.is_done() and len(best) < int(tokens):
        logits = np.asarray(generator.get_logits()).reshape(-1, 64)[-1]
        best.append([float(x) for x in np.sort(logits)[-2:]])
        generator.generate_next_token()
    print(json.dumps([[int(t) for t in generator.get_sequence(0)], best]))
"""


def generate(folder, prompts, provider="", tokens=TOKENS):
    p = subprocess.run([sys.executable, "-c", GENERATE, folder, json.dumps(prompts), str(provider),
                        str(tokens)], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr[-2000:]
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith("[[")]


@pytest.fixture(scope="module")
def clear(tmp_path_factory):
    """Prompts after which the CPU's choice is never close, with its tokens: the model is random,
    and most prompts lead to a step at which two tokens are nearer than float16 can tell."""
    folder = genai_models.write(tmp_path_factory.mktemp("cpu"))
    rng = np.random.default_rng(1)
    prompts = [[1, *map(int, rng.integers(3, 64, n - 1))] for n in [3, 8, 10] * 40]
    made = generate(folder, prompts)
    found = {}
    for prompt, (tokens, best) in zip(prompts, made):
        margin = min(high - low for low, high in best)
        if len(best) == TOKENS and len(set(tokens[-TOKENS:])) > 4:  # it says something
            found.setdefault(len(prompt), []).append((margin, prompt, tokens, best))
    chosen = [max(found[n]) for n in sorted(found)]
    assert len(chosen) == 3 and min(c[0] for c in chosen) > 0.02
    return chosen


def check(folder, provider, clear):
    """The tokens are the CPU's, and the logits nearer to its than the choice ever was."""
    made = generate(folder, [prompt for _, prompt, _, _ in clear], provider)
    for (margin, _, tokens, best), (got, got_best) in zip(clear, made):
        assert got == tokens
        assert np.abs(np.array(best) - np.array(got_best)).max() < margin / 2


def test_a_decoder_pipeline_gives_the_tokens_of_the_cpu(tmp_path, clear):
    folder = genai_models.write(tmp_path, {"qnn": {"backend_path": "libQnnHtp.so",
                                                   "soc_model": "SM8650"}})
    check(folder, OURS, clear)


def test_context_models_with_shared_weights_give_the_tokens_of_the_cpu(tmp_path, clear):
    folder = genai_models.compile_parts(genai_models.write(tmp_path, {"qnn": NPU}), OURS)
    made = [[n.op_type for n in onnx.load(folder / f"{name}_ctx.onnx").graph.node]
            for name in ("context", "iterator")]
    assert made == [["EPContext"]] * 2 and len(list(folder.glob("*.bin"))) == 1
    check(folder, OURS, clear)


def test_a_pipeline_on_the_public_provider_gives_the_tokens_of_the_cpu(tmp_path, clear):
    """Which has no GroupQueryAttention: that stays on the CPU, everything else is on our HTP."""
    qnn = importlib.util.find_spec("onnxruntime_qnn")
    if qnn is None:
        pytest.skip("onnxruntime-qnn is not installed")
    provider = Path(qnn.origin).parent / "libonnxruntime_providers_qnn.so"
    folder = genai_models.write(tmp_path, {"qnn": NPU}, fallback=True)
    check(folder, provider, clear)
    genai_models.compile_parts(folder, provider)
    for name in ("context", "iterator"):
        ops = [n.op_type for n in onnx.load(folder / f"{name}_ctx.onnx").graph.node]
        assert set(ops) == {"EPContext", "GroupQueryAttention"}
        assert ops.count("GroupQueryAttention") == genai_models.LAYERS
    check(folder, provider, clear)


def test_the_decoder_runs_on_the_npu_or_not_at_all(tmp_path):
    """What makes the first test one of the NPU: no node may go to the CPU."""
    folder = genai_models.write(tmp_path, {"qnn": {"backend_path": "libQnnHtp.so",
                                                   "soc_model": "SM8650"}})
    path = Path(folder) / "genai_config.json"
    config = json.loads(path.read_text())
    parts = config["model"]["decoder"]["pipeline"][0]
    parts["lm_head"]["session_options"] = parts["iterator"]["session_options"]  # dynamic shapes
    path.write_text(json.dumps(config))
    with pytest.raises(AssertionError, match="fallback to CPU EP has been explicitly disabled"):
        generate(folder, [[1, 5, 9]], OURS, 4)
