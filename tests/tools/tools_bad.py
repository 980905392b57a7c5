# SPDX-License-Identifier: MIT
"""Bad input to the SDK's programs: a row each. The exit code is not 0, one line names what is
wrong and what is legal, and no file is left under a final name."""
import json
import os

import numpy as np
import pytest

from harness import (CPU, EXTENSIONS, GENERATOR, HTP, NET_RUN, OTHER, TWO, UTILITY, add_relu, ok,
                     raw, rejects, write_json)

NET = ["--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt"]
BIN = ["--retrieve_context", "net.bin", "--backend", HTP, "--input_list", "net.txt"]
GEN = ["--model", "net.onnx", "--backend", HTP, "--binary_file", "made"]


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    box = tmp_path_factory.mktemp("bad")
    os.chdir(box)
    raw("a.raw", np.zeros((2, 3)))
    raw("short.raw", np.zeros(5))
    for name, text in {"net.txt": "a.raw\n", "gone.txt": "nothing.raw\n", "empty.txt": "\n",
                       "short.txt": "short.raw\n", "more.txt": "a.raw a.raw\n",
                       "other.txt": "z:=a.raw\n", "nopath.txt": "x:=\n",
                       "zero.bin": "", "text.bin": "no binary\n", "no.so": "no library\n",
                       "bad.dlc": "PK no DLC", "updates.txt": "g;\n"}.items():
        (box / name).write_text(text)
    (box / "nul.txt").write_bytes(b"a\0b\n")
    add_relu("net.onnx")
    ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", box / "net")
    whole = (box / "net.bin").read_bytes()
    (box / "cut.bin").write_bytes(whole[:len(whole) // 2])
    (box / "cut.onnx").write_bytes((box / "net.onnx").read_bytes()[:40])
    return box


FLAGS = [
    (NET_RUN, [], ["--model or --retrieve_context"]),
    (NET_RUN, ["--model", "net.onnx"], ["--backend"]),
    (NET_RUN, NET[:4], ["--input_list"]),
    (NET_RUN, [*NET, "--modle", "x"], ["--modle", "--model"]),
    (NET_RUN, [*NET, "--debug=1"], ["--debug"]),
    (NET_RUN, [*NET, "--log_level", "loud"], ["--log_level", "loud", "verbose"]),
    (NET_RUN, [*NET, "--num_inferences", "-3"], ["--num_inferences", "-3"]),
    (NET_RUN, [*NET, "--duration", "-1"], ["--duration", "above 0"]),
    (NET_RUN, [*NET, "--keep_num_outputs", "1.5"], ["--keep_num_outputs", "whole number"]),
    (NET_RUN, [*NET, "--max_input_cache_tensor_sets", "-7"], ["max_input_cache_tensor_sets", "-1"]),
    (NET_RUN, [*NET, *BIN[:2]], ["--model", "--retrieve_context"]),
    (NET_RUN, [*BIN, "--debug"], ["--debug", "--retrieve_context"]),
    (NET_RUN, [*NET, "--debug", "--set_output_tensors", "net:s"], ["--set_output_tensors"]),
    (NET_RUN, [*BIN, "--set_output_tensors", "net:s"], ["--set_output_tensors"]),
    (NET_RUN, [*NET, "--use_native_input_files", "--native_input_tensor_names", "net:x"],
     ["--use_native_input_files", "--native_input_tensor_names"]),
    (NET_RUN, [*NET, "--max_input_cache_tensor_sets", "1", "--max_input_cache_size_mb", "1"],
     ["--max_input_cache_tensor_sets", "--max_input_cache_size_mb"]),
    (NET_RUN, [*NET, "--retrieve_context_timeout", "1"], ["--retrieve_context"]),
    (NET_RUN, [*NET, "--dlc_path", "bad.dlc"], ["--dlc_path", "libQnnModelDlc.so"]),
    (NET_RUN, ["--dlc_path", "bad.dlc", *NET[2:]], ["--dlc_path needs --model libQnnModelDlc.so"]),
    (NET_RUN, [*NET, "--profiling_level", "linting"], ["--profiling_level", "linting", "basic"]),
    (NET_RUN, [*NET, "--profiling_level", "backend"], ["profiling_level", "linting"]),
    (NET_RUN, [*NET, "--profiling_level", "basic", "--profiling_option", "optrace"],
     ["--profiling_option", "detailed"]),
    (NET_RUN, [*NET, "--perf_profile", "turbo"], ["turbo", "burst"]),
    (NET_RUN, [*NET, "--set_output_tensors", "net:zz"], ["net", "zz"]),
    (NET_RUN, [*NET, "--set_output_tensors", "zz:s"], ["zz", "net"]),
    (NET_RUN, [*NET, "--set_output_tensors", "nocolon"], ["nocolon", "GRAPH:TENSOR"]),
    (NET_RUN, [*NET, "--native_input_tensor_names", "net:q"], ["net", "q"]),
    (NET_RUN, [*NET, "--platform_options", "novalue"], ["--platform_options", "KEY:VALUE"]),
    (NET_RUN, [*NET, "--device_options", "device_id:5"], ["device_id:5", "device_id:0"]),
    (NET_RUN, [*NET, "--op_packages", "a.so"], ["--op_packages", "PATH:PROVIDER"]),
    (NET_RUN, [*NET, "--op_packages", "a.so:p:DSP"], ["DSP", "CPU or HTP"]),
    (NET_RUN, [*NET, "--op_packages", "gone.so:p"], ["gone.so"]),
    (NET_RUN, [*BIN, "--timeout", "1"], ["6033"]),
    (NET_RUN, [*BIN, "--retrieve_context_timeout", "1"], ["5013", "net.bin"]),
    (NET_RUN, [*BIN, "--binary_updates", "updates.txt"], ["updates.txt:1", "g", "net"]),
    (GENERATOR, ["--backend", HTP], ["--model"]),
    (GENERATOR, [*GEN, "--enable_intermediate_outputs", "--set_output_tensors", "net:s"],
     ["--enable_intermediate_outputs", "--set_output_tensors"]),
    (GENERATOR, [*GEN, "--htp_socs", "sm1"], ["sm1", "quern socs"]),
    (GENERATOR, [*GEN, "--backend_binary", "b"], ["--backend_binary", "not supported"]),
    (GENERATOR, [*GEN, "--adapter_weight_config", "y"], ["--adapter_weight_config"]),
    (GENERATOR, [*GEN, "--save_backend_op_mapping"], ["--save_backend_op_mapping"]),
    (GENERATOR, ["--model", "net.onnx", "--backend", CPU, *GEN[4:]], ["made.bin", "error 1000"]),
    (UTILITY, ["--json_file", "j.json"], ["--context_binary"]),
    (UTILITY, ["--context_binary", "net.bin", "--json_file", "gone/j.json"], ["gone/j.json"]),
]

FILES = [
    (NET_RUN, ["--model", "gone.so", *NET[2:]], ["gone.so"]),
    (NET_RUN, ["--model", "no.so", *NET[2:]], ["no.so", "not a model library"]),
    (NET_RUN, ["--model", OTHER, *NET[2:]], ["QnnModel_composeGraphs", "--model_prefix"]),
    (NET_RUN, ["--model", "cut.onnx", *NET[2:]], ["cut.onnx"]),
    (NET_RUN, ["--model", f"{TWO},{TWO}", *NET[2:]], [TWO]),
    (NET_RUN, ["--model", "net.onnx,", *NET[2:]], ["--model", "empty"]),
    (NET_RUN, ["--model", "net.onnx", "--backend", "libQnnGone.so", *NET[4:]], ["libQnnGone.so"]),
    (NET_RUN, ["--model", "net.onnx", "--backend", "./no.so", *NET[4:]], ["no.so"]),
    (NET_RUN, ["--model", "libQnnModelDlc.so", "--dlc_path", "bad.dlc", *NET[2:]], ["bad.dlc"]),
    (NET_RUN, ["--retrieve_context", "gone.bin", *BIN[2:]], ["gone.bin"]),
    (NET_RUN, ["--retrieve_context", "zero.bin", *BIN[2:]], ["zero.bin", "empty"]),
    (NET_RUN, ["--retrieve_context", "text.bin", *BIN[2:]], ["text.bin"]),
    (NET_RUN, ["--retrieve_context", "cut.bin", *BIN[2:]], ["cut.bin"]),
    (NET_RUN, [*NET[:4], "--input_list", "nolist.txt"], ["nolist.txt"]),
    (NET_RUN, [*NET[:4], "--input_list", "gone.txt"], ["nothing.raw"]),
    (NET_RUN, [*NET[:4], "--input_list", "empty.txt"], ["empty.txt", "no line"]),
    (NET_RUN, [*NET[:4], "--input_list", "nul.txt"], ["nul.txt", "text"]),
    (NET_RUN, [*NET[:4], "--input_list", "more.txt"], ["more.txt:1", "1 input"]),
    (NET_RUN, [*NET[:4], "--input_list", "other.txt"], ["other.txt:1", "'z'"]),
    (NET_RUN, [*NET[:4], "--input_list", "nopath.txt"], ["nopath.txt:1"]),
    (NET_RUN, [*NET[:4], "--input_list", "short.txt"], ["short.raw", "20 bytes", "24", "batch"]),
    (NET_RUN, [*NET[:4], "--input_list", "net.txt,net.txt"], ["2 lists", "1 graphs"]),
    (NET_RUN, [*NET, "--config_file", "gone.json"], ["gone.json"]),
    (UTILITY, ["--context_binary", "cut.bin", "--json_file", "j.json"], ["cut.bin"]),
    (UTILITY, ["--context_binary", "text.bin", "--json_file", "j.json"], ["text.bin"]),
    (UTILITY, ["--context_binary", "net.bin", "--json_file", "net.bin"], ["net.bin", "input"]),
]


def check_clean(box, before):
    made = {str(p.relative_to(box)) for p in box.rglob("*") if not p.is_dir()} - before
    assert not [name for name in made if not name.startswith("output/qnn-profiling")], made


@pytest.mark.parametrize("program, args, says", FLAGS + FILES)
def test_is_rejected(box, program, args, says):
    before = {str(p.relative_to(box)) for p in box.rglob("*") if not p.is_dir()}
    rejects(program, *args, says=says, cwd=box)
    check_clean(box, before)


DEEP = "[" * 100 + "]" * 100
CONFIGS = [  # text of cfg.json; words of the message
    ("", ["cfg.json"]), ("{", ["cfg.json:1"]), ("[]", ["cfg.json:1", "object"]),
    ('{"a": 1}', ["cfg.json:1", "'a'", "context_configs"]),
    ('{"context_config": {}}', ["did you mean 'context_configs'"]),
    ('{"context_configs": []}', ["'context_configs'", "object"]),
    ('{"context_configs": %s}' % DEEP, ["cfg.json:1"]),
    ('{"context_configs": {"context_priority": 1}}', ["context_priority", "low|normal_low"]),
    ('{"context_configs": {"context_priority": "top"}}', ["top", "normal_high"]),
    ('{\n"context_configs": {\n"async_execute_queue_depth": 0}}',
     ["cfg.json:3", "async_execute_queue_depth", "from 1 to 300"]),
    ('{"context_configs": {"async_execute_queue_depth": 1.5}}', ["1.5", "integer"]),
    ('{"context_configs": {"is_persistent_binary": 1}}', ["is_persistent_binary", "true or false"]),
    ('{"context_configs": {"enable_graphs": "net"}}', ["enable_graphs", "list of strings"]),
    ('{"context_configs": {"enable_graphs": [1]}}', ["enable_graphs", "a string"]),
    ('{"context_configs": {"memory_limit_hint": -1}}', ["memory_limit_hint", "-1"]),
    ('{"context_configs": {"memory_limit_hint": 1e30}}', ["memory_limit_hint"]),
    ('{"context_configs": {"memory_limit_hint": 99999999999999999999}}', ["memory_limit_hint"]),
    ('{"context_configs": {"cache_compatibility_mode": "x"}}', ["permissive|strict"]),
    ('{"context_configs": {"spill_fill_buffer": 4096}}', ["spill_fill_buffer", "0 or -1"]),
    ('{"context_configs": {"weights_buffer": 4096}}', ["weights_buffer", "0 or -1"]),
    ('{"graph_configs": {}}', ["graph_configs", "list"]),
    ('{"graph_configs": [{}]}', ["'graph_configs'", "graph_name"]),
    ('{"graph_configs": [{"graph_name": ""}]}', ["graph_name", "empty"]),
    ('{"graph_configs": [{"graph_name": "g", "graph_priority": "x"}]}', ["graph_priority"]),
    ('{"graph_configs": [{"graph_name": "g", "graph_profiling_start_delay": "1"}]}', ["number"]),
    ('{"profile_configs": {"num_max_events": 0}}', ["num_max_events", "from 1"]),
    ('{"async_graph_execution_config": {"execute_enqueue_tasks_limit": 0}}', ["from 1"]),
    ('{"backend_extensions": {}}', ["shared_library_path"]),
    ('{"backend_extensions": {"shared_library_path": "libgone.so"}}', ["libgone.so"]),
    ('{"backend_extensions": {"shared_library_path": "libQnnHtp.so"}}',
     ["QuernNetRunExtensions_getInterface"]),
    ('{"context_configs": {}, "context_configs": {}}', ["context_configs"]),
]

BACKEND = [  # of htp.json
    ({"graph": []}, ["'graph'", "did you mean 'graphs'"]),
    ({"graphs": [{"vtcm_mb": "4"}]}, ["vtcm_mb", "a string", "from 0 to 1024"]),
    ({"graphs": [{"vtcm_mb": -1}]}, ["vtcm_mb", "-1"]),
    ({"graphs": [{"vtcm_size": 70000}]}, ["vtcm_size", "65536"]),
    ({"graphs": [{"vtcm_size": 65536, "vtcm_mb": 1}]}, ["vtcm_size", "vtcm_mb"]),
    ({"graphs": [{"O": 4}]}, ["'O'", "from 1 to 3"]),
    ({"graphs": [{"O": "3"}]}, ["'O'", "a string"]),
    ({"graphs": [{"dlbc": 2}]}, ["dlbc", "0 or 1"]),
    ({"graphs": [{"weights_packing": 1}]}, ["weights_packing", "true or false"]),
    ({"graphs": [{"finalize_config": {"Q": 1}}]}, ["'Q'", "P"]),
    ({"graphs": [{"finalize_config": {"P": 1}}]}, ["finalize_config", "'O' 3"]),
    ({"graphs": [{"graph_names": "net"}]}, ["graph_names", "list of strings"]),
    ({"graphs": [{"hvx_thread": 1}]}, ["hvx_thread", "did you mean 'hvx_threads'"]),
    ({"devices": [{"device_id": 1}]}, ["device_id", "1"]),
    ({"devices": [{"core_type": 1}]}, ["core_type"]),
    ({"devices": [{"dsp_arch": "v1"}]}, ["v1", "v68|v69"]),
    ({"devices": [{"soc_model": "sm8650"}]}, ["soc_model", "a string"]),
    ({"devices": [{"pd_session": "x"}]}, ["unsigned|signed"]),
    ({"devices": [{"profiling_level": "basic"}]}, ["profiling_level", "linting"]),
    ({"devices": [{"use_client_context": True}]}, ["use_client_context", "v68"]),
    ({"devices": [{}, {}]}, ["devices", "2 objects"]),
    ({"devices": [{"soc_model": 9999}]}, ["14001"]),
    ({"devices": [{"cores": [{"perf_profile": "fast"}]}]}, ["perf_profile", "fast", "burst"]),
    ({"devices": [{"cores": [{"rpc_polling_time": 10000}]}]}, ["rpc_polling_time", "9999"]),
    ({"devices": [{"cores": [{"core_id": 7}]}]}, ["core_id 7"]),
    ({"context": {"group_id": "0"}}, ["group_id"]),
    ({"context": {"weight_sharing_enabled": 1}}, ["weight_sharing_enabled"]),
    ({"context": {"concurrent_deserialization_patch": "gone.patch"}}, ["gone.patch"]),
    ({"groupContext": {"share": True}}, ["'share'", "share_resources"]),
    ({"memory": {"mem_type": "private"}}, ["mem_type", "shared_buffer"]),
    ([], ["object"]),
]


@pytest.mark.parametrize("text, says", CONFIGS)
def test_a_configuration_is_rejected(box, text, says):
    before = {str(p.relative_to(box)) for p in box.rglob("*") if not p.is_dir()} | {"cfg.json"}
    write_json(box / "cfg.json", text)
    for program, args in ((NET_RUN, NET), (GENERATOR, GEN)):
        rejects(program, *args, "--config_file", "cfg.json", says=says, cwd=box)
    check_clean(box, before)


@pytest.mark.parametrize("value, says", BACKEND)
def test_a_file_of_the_backend_is_rejected(box, value, says):
    before = ({str(p.relative_to(box)) for p in box.rglob("*") if not p.is_dir()}
              | {"cfg.json", "htp.json"})
    write_json(box / "htp.json", json.dumps(value))
    write_json(box / "cfg.json", {"backend_extensions": {
        "shared_library_path": EXTENSIONS, "config_file_path": "htp.json"}})
    rejects(NET_RUN, *NET, "--config_file", "cfg.json", says=says, cwd=box)
    check_clean(box, before)
