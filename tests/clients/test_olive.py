# SPDX-License-Identifier: MIT
"""Olive: its recipe for convolutional networks, through the stand-in for onnxruntime_qnn.

olive-ai brings transformers and more, and needs an older onnxruntime-genai than the other tests:
`make test-clients` puts them into build/olive, `make test` does not fetch them. Where that folder
is missing the stand-in alone is tested.
"""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_models import conv_net, images
from sdk import LIBS, install

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "python" / "shim"
OLIVE = ROOT / "build" / "olive"
no_olive = pytest.mark.skipif(not (OLIVE / ".stamp").exists(),
                              reason="olive-ai is not installed: make test-clients does it")
# The recipe for convolutional networks: preprocess, quantize to 16-bit activations and 8-bit
# weights, compile. Each folder is that of one step.
RECIPE = """
import sys
import numpy as np, torch
from olive.data.config import DataComponentConfig, DataConfig
from olive.data.registry import Registry
from olive.hardware.accelerator import AcceleratorSpec, Device
from olive.model import ONNXModelHandler
from olive.passes.olive_pass import create_pass_from_dict
from olive.passes.onnx.context_binary import EPContextBinaryGenerator
from olive.passes.onnx.qnn.qnn_preprocess import QNNPreprocess
from olive.passes.onnx.quantization import OnnxStaticQuantization

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        x = np.random.default_rng(i).standard_normal(tuple(map(int, sys.argv[3].split(","))))
        return {"x": x.astype(np.float32)}, 0

Registry.register_dataset("images")(lambda **_: Images())
calibration = DataConfig(name="images", load_dataset_config=DataComponentConfig(type="images"),
                         dataloader_config=DataComponentConfig(params={"batch_size": 1}))
npu = AcceleratorSpec(accelerator_type=Device.NPU, execution_provider="QNNExecutionProvider")
options = {"backend_path": "libQnnHtp.so", "soc_model": "SM8650", "htp_performance_mode": "burst"}
model = ONNXModelHandler(sys.argv[1])
for number, (step, config) in enumerate((
        (QNNPreprocess, {}),
        (OnnxStaticQuantization, {"data_config": calibration, "activation_type": "uint16",
                                  "precision": "uint8", "quant_preprocess": False,
                                  "prepare_qnn_config": True}),
        (EPContextBinaryGenerator, {"provider_options": options}))):
    made = create_pass_from_dict(step, config, disable_search=True, accelerator_spec=npu)
    model = made.run(model, f"{sys.argv[2]}/{number}")
    print(model.model_path)
"""
RUN = """
import sys
import numpy as np, onnxruntime as ort, onnxruntime_qnn as qnn
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options = ort.SessionOptions()
devices = [d for d in ort.get_ep_devices() if d.ep_name == "QNN"][:1]
options.add_provider_for_devices(devices, {"backend_path": "libQnnHtp.so", "soc_model": "SM8650"})
session = ort.InferenceSession(sys.argv[1], options)
np.save(sys.argv[3], session.run(None, {"x": np.load(sys.argv[2])})[0])
"""


def python(code, *args, path, libs=None):
    env = {**os.environ, "PYTHONPATH": f"{path}:{OLIVE}", "PYTHONWARNINGS": "always"}
    env.pop("QUERN_LIB_DIR", None)
    if libs:
        env["QUERN_LIB_DIR"] = str(libs)
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True,
                          text=True, env=env)


def test_the_stand_in_names_our_libraries(tmp_path):
    ask = "import onnxruntime_qnn as q; print(q.get_ep_name(), q.get_library_path(), " \
          "q.get_qnn_htp_path())"
    p = python(ask, path=SHIM, libs=LIBS)
    assert p.stdout.split() == ["QNNExecutionProvider",
                                str(LIBS / "libonnxruntime_providers_quern.so"),
                                str(LIBS / "libQnnHtp.so")], p.stderr
    # An installed tree needs no variable, and one that is not found says what to set.
    sdk = install(tmp_path / "sdk")
    p = python(ask, path=sdk / "lib" / "python" / "shim")
    assert Path(p.stdout.split()[1]).is_relative_to(sdk), p.stderr
    p = python(ask, path=SHIM)
    assert "QUERN_LIB_DIR" in p.stderr


def test_the_stand_in_says_that_the_real_package_is_not_used():
    p = python("import onnxruntime_qnn", path=SHIM, libs=LIBS)
    there = importlib.util.find_spec("onnxruntime_qnn") is not None
    assert ("is Quern's stand-in" in p.stderr) == there


def test_the_installed_tree_has_the_package(tmp_path):
    sdk = install(tmp_path / "sdk")
    p = python("import quern; print(quern.plugin()); print(quern.sample())",
               path=sdk / "lib" / "python")
    plugin, sample = map(Path, p.stdout.split())
    assert plugin.exists() and plugin.is_relative_to(sdk) and (sample / "digits.onnx").exists()


@no_olive
def test_olives_recipe_for_convolutional_networks(tmp_path):
    x = images(2, 1)[0]
    (tmp_path / "net.onnx").write_bytes(conv_net(seed=1))
    shape = ",".join(map(str, x.shape[1:]))
    p = python(RECIPE, tmp_path / "net.onnx", tmp_path / "out", shape, path=SHIM, libs=LIBS)
    assert p.returncode == 0, p.stderr[-2000:]
    made = Path(p.stdout.split()[-1])
    nodes = onnx.load(made, load_external_data=False).graph.node
    assert [n.op_type for n in nodes] == ["QuantizeLinear", "EPContext", "DequantizeLinear"]
    np.save(tmp_path / "x.npy", x)
    p = python(RUN, made, tmp_path / "x.npy", tmp_path / "y.npy", path=SHIM, libs=LIBS)
    assert p.returncode == 0, p.stderr[-2000:]
    cpu = ort.InferenceSession(conv_net(seed=1), providers=["CPUExecutionProvider"])
    want, got = cpu.run(None, {"x": x})[0], np.load(tmp_path / "y.npy")
    assert np.abs(got - want).max() < 0.02 * np.abs(want).max()


# The recipe for language models: weights of 4 bits in blocks and 16-bit activations; one static
# model for prompts and one for tokens, compiled into one binary. Each folder is that of one step.
LANGUAGE = """
import sys
import numpy as np, torch
from olive.data.config import DataComponentConfig, DataConfig
from olive.data.registry import Registry
from olive.hardware.accelerator import AcceleratorSpec, Device
from olive.model import HfModelHandler
from olive.passes.olive_pass import create_pass_from_dict
from olive.passes.onnx.compose import ComposeOnnxModels
from olive.passes.onnx.context_binary import EPContextBinaryGenerator
from olive.passes.onnx.graph_surgeries import GraphSurgeries
from olive.passes.onnx.mnb_to_qdq import MatMulNBitsToQDQ
from olive.passes.onnx.model_builder import ModelBuilder
from olive.passes.onnx.quantization import OnnxStaticQuantization
from olive.passes.onnx.split import SplitModel
from olive.passes.onnx.static_llm import StaticLLM
from olive.passes.pytorch.capture_split_info import CaptureSplitInfo

class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        ids = np.random.default_rng(i).integers(3, 256, 16).astype(np.int64)
        return {"input_ids": ids, "attention_mask": np.ones(16, np.int64)}, 0

Registry.register_dataset("texts")(lambda **_: Texts())
texts = DataConfig(name="texts", load_dataset_config=DataComponentConfig(type="texts"),
                   dataloader_config=DataComponentConfig(params={"batch_size": 1}))
npu = AcceleratorSpec(accelerator_type=Device.NPU, execution_provider="QNNExecutionProvider")
surgeries = ["RemoveRopeMultiCache", "AttentionMaskToSequenceLengths",
             "SimplifiedLayerNormToL2Norm"]
model = HfModelHandler(sys.argv[1])
for step, config in (
        (CaptureSplitInfo, {"num_splits": 1, "unique_embeds_lm_head_splits": True}),
        (ModelBuilder, {"precision": "int4", "int4_block_size": 32, "int4_accuracy_level": 4}),
        (MatMulNBitsToQDQ, {"use_int4": True, "add_zero_point": True,
                            "nodes_to_exclude": ["/lm_head/MatMul_Q4"]}),
        (GraphSurgeries, {"surgeries": [{"surgeon": s} for s in surgeries]}),
        (OnnxStaticQuantization, {"data_config": texts, "activation_type": "uint16",
                                  "precision": "uint8", "quant_preprocess": False,
                                  "op_types_to_exclude": ["GatherBlockQuantized", "MatMulNBits",
                                                          "GroupQueryAttention"]}),
        (SplitModel, {}), (StaticLLM, {"batch_size": 1, "context_length": 16}),
        (EPContextBinaryGenerator, {"weight_sharing": True, "provider_options": {
            "backend_path": "libQnnHtp.so", "soc_model": "SM8750"}}),
        (ComposeOnnxModels, {})):
    made = create_pass_from_dict(step, config, disable_search=True, accelerator_spec=npu)
    model = made.run(model, f"{sys.argv[2]}/{step.__name__}")
"""
TINY = """
import sys
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
torch.manual_seed(1)
LlamaForCausalLM(LlamaConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, vocab_size=256, max_position_embeddings=128, bos_token_id=1,
    eos_token_id=2, pad_token_id=0, tie_word_embeddings=False, dtype="float32",
    initializer_range=0.125)).save_pretrained(sys.argv[1])
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
t = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(letters)}, merges=[]))
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
PreTrainedTokenizerFast(tokenizer_object=t, bos_token=letters[1], eos_token=letters[2],
                        pad_token=letters[0]).save_pretrained(sys.argv[1])
"""
# Prints the tokens and, for each of them, the two largest logits.
ANSWER = """
import json, sys
import numpy as np, onnxruntime_genai as og
folder, provider = sys.argv[1:]
if provider:
    og.register_execution_provider_library("QNNExecutionProvider", provider)
model = og.Model(og.Config(folder))
params = og.GeneratorParams(model)
params.set_search_options(max_length=96, do_sample=False)
generator, best = og.Generator(model, params), []
generator.append_tokens(np.random.default_rng(3).integers(3, 256, 16).astype(np.int32))
while len(best) < 64 and not generator.is_done():
    logits = np.asarray(generator.get_logits()).reshape(-1, 256)[-1]
    best.append([float(x) for x in np.sort(logits)[-2:]])
    generator.generate_next_token()
print(json.dumps([[int(t) for t in generator.get_sequence(0)[-len(best):]], best]))
"""


@no_olive
def test_olives_recipe_for_language_models(tmp_path):
    for code, args in ((TINY, (tmp_path / "llama",)), (LANGUAGE, (tmp_path / "llama", tmp_path))):
        p = python(code, *args, path=SHIM, libs=LIBS)
        assert p.returncode == 0, p.stderr[-2000:]
    made = tmp_path / "ComposeOnnxModels"
    for name in ("context_ctx", "iterator_ctx"):
        nodes = onnx.load(made / f"{name}.onnx", load_external_data=False).graph.node
        # Everything but attention, whose buffers have no fixed size in this recipe.
        ops = [n.op_type for n in nodes]
        assert set(ops) == {"EPContext", "GroupQueryAttention"} and ops.count("EPContext") == 3
    assert len(list(made.glob("*.bin"))) == 1
    answers = []
    for folder, provider in ((tmp_path / "StaticLLM", ""),
                             (made, LIBS / "libonnxruntime_providers_quern.so")):
        p = python(ANSWER, folder, provider, path=SHIM, libs=LIBS)
        assert p.returncode == 0, p.stderr[-2000:]
        answers.append(json.loads(p.stdout.splitlines()[-1]))
    (want, best), (got, got_best) = answers
    # The same tokens until two are nearer than the error: 16 bits and the CPU's floats differ.
    same = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), len(want))
    error = np.abs(np.array(best[:same + 1]) - np.array(got_best[:same + 1])).max()
    assert error < 0.03 and len(set(want)) > 8
    assert same == 64 or best[same][1] - best[same][0] < 2 * error
