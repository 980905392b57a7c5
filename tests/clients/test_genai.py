# SPDX-License-Identifier: MIT
"""onnxruntime-genai: a model folder of the form decoder-pipeline, its decoder on the NPU."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed")
import genai_models  # noqa: E402
from sdk import LIBS  # noqa: E402

# In a process of its own: providers are registered for good, and other tests have theirs.
GENERATE = """
import json, sys
import numpy as np, onnxruntime_genai as og
folder, tokens, provider = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
if provider:
    og.register_execution_provider_library("QNNExecutionProvider", provider)
model = og.Model(og.Config(folder))
params = og.GeneratorParams(model)
params.set_search_options(max_length=32, do_sample=False)
generator = og.Generator(model, params)
generator.append_tokens(np.array(tokens, np.int32))
while not generator.is_done() and len(generator.get_sequence(0)) < 24:
    generator.generate_next_token()
print(json.dumps([int(t) for t in generator.get_sequence(0)]))
"""


def generate(folder, prompt, provider=""):
    p = subprocess.run([sys.executable, "-c", GENERATE, folder, json.dumps(prompt), provider],
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stderr[-2000:]
    return json.loads(p.stdout.splitlines()[-1])


def test_a_decoder_pipeline_gives_the_tokens_of_the_cpu(tmp_path):
    plain = genai_models.write(tmp_path / "cpu")
    npu = genai_models.write(tmp_path / "npu", {"qnn": {"backend_path": "libQnnHtp.so",
                                                        "soc_model": "SM8650"}})
    provider = str(LIBS / "libonnxruntime_providers_quern.so")
    for prompt in ([1, 5, 9, 33, 12, 7, 40, 3], [1, 50, 9, 3, 12, 17, 4, 30], [1, 5, 9]):
        want = generate(plain, prompt)
        assert len(want) == 24 and len(set(want[8:])) > 2  # it says something
        assert generate(npu, prompt, provider) == want


def test_the_decoder_runs_on_the_npu_or_not_at_all(tmp_path):
    """What makes the test above one of the NPU: no node may go to the CPU."""
    folder = genai_models.write(tmp_path, {"qnn": {"backend_path": "libQnnHtp.so",
                                                   "soc_model": "SM8650"}})
    path = Path(folder) / "genai_config.json"
    config = json.loads(path.read_text())
    parts = config["model"]["decoder"]["pipeline"][0]
    parts["lm_head"]["session_options"] = parts["iterator"]["session_options"]  # dynamic shapes
    path.write_text(json.dumps(config))
    with pytest.raises(AssertionError, match="fallback to CPU EP has been explicitly disabled"):
        generate(folder, [1, 5, 9], str(LIBS / "libonnxruntime_providers_quern.so"))
