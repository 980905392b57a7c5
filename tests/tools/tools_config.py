# SPDX-License-Identifier: MIT
"""The JSON files of qnn-net-run and qnn-context-binary-generator: every key has its effect, and
the utility's JSON shows what went into a binary."""
import json

import numpy as np
import pytest

from harness import (EXTENSIONS, GENERATOR, HTP, NET_RUN, TWO, UTILITY, add_relu, files, ok,
                     quantized, raw, read, rejects, run, write_json)

A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
WANT = np.maximum(A + np.array([10, 20, -30], np.float32), 0).ravel()


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw("a.raw", A)
    (tmp_path / "net.txt").write_text("a.raw\n")
    add_relu("net.onnx")
    return tmp_path


def configure(htp=None, **keys):
    """cfg.json, with htp.json behind it."""
    if htp is not None:
        write_json("htp.json", htp)
        keys["backend_extensions"] = {"shared_library_path": EXTENSIONS,
                                      "config_file_path": "htp.json"}
    return write_json("cfg.json", keys)


def generate(*flags, name="net", **kw):
    return ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", name, *flags,
              **kw)


def describe(path):
    ok(UTILITY, "--context_binary", path, "--json_file", "info.json")
    return json.loads(open("info.json").read())


def blob(path):
    return describe(path)["info"]["graphs"][0]["info"]["graphBlobInfo"]["info"]


def test_options_of_a_graph_are_in_the_binary(box):
    configure({"graphs": [{"graph_names": ["other"], "O": 1},
                          {"graph_names": ["net"], "vtcm_mb": 2, "O": 3, "hvx_threads": 2,
                           "dlbc": 1, "finalize_config": {"P": 5}}],
               "devices": [{"soc_model": 57, "dsp_arch": "v73"}]})
    generate("--config_file", "cfg.json")
    assert blob("output/net.bin") == {"spillFillBufferSize": 0, "vtcmSize": 2,
                                      "optimizationLevel": 3, "htpDlbc": 1, "numHvxThreads": 2}
    info = describe("output/net.bin")["info"]
    assert info["socModel"] == 57 and info["socVersion"] == "SM8650"
    assert info["contextMetadata"]["info"]["dspArch"] == 75  # the chip wins over the architecture


def test_without_a_matching_name_defaults_are_used(box):
    configure({"graphs": {"graph_names": ["other"], "vtcm_mb": 1, "O": 3}})
    generate("--config_file", "cfg.json")
    assert blob("output/net.bin")["optimizationLevel"] == 2


@pytest.mark.parametrize("key, value, code", [
    ("weights_packing", True, 0), ("num_cores", 1, 0), ("short_depth_conv_on_hmx_off", True, 0),
    ("fold_relu_activation_into_conv_off", True, 0), ("slc_alloc_enable", 1, 0),
    ("advanced_activation_fusion", False, 0), ("use_high_precision_fp16_sigmoid", True, 0),
    ("monolithic_lstm", True, 0), ("fp16_relaxed_precision", 1, 0), ("dlbc_weights", 1, 0),
    ("vtcm_mb", 0, 0), ("sparse_weights_compression", 1, 1000), ("num_cores", 9, 6000),
    ("vtcm_mb", 64, 6020), ("hvx_threads", 60, 6000), ("vtcm_size", 65536, 1000)])
def test_every_graph_key_reaches_the_backend(box, key, value, code):
    configure({"graphs": [{"graph_names": ["net"], key: value}], "devices": [{"soc_model": 57}]})
    args = ["--model", "net.onnx", "--backend", HTP, "--binary_file", "net", "--config_file",
            "cfg.json"]
    if code:
        rejects(GENERATOR, *args, says=[f"error {code}"])
        assert files("output") == [] if (box / "output").exists() else True
    else:
        ok(GENERATOR, *args)


def test_a_device_section_with_a_profiling_level_is_enough(box):
    configure({"devices": [{"profiling_level": "linting"}]})
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
       "--profiling_level", "backend", "--config_file", "cfg.json")
    text = (box / "output/qnn-profiling-data.log").read_text()
    assert "Accelerator (critical path execute) time" in text


@pytest.mark.parametrize("profile", [
    "low_balanced", "balanced", "default", "high_performance", "sustained_high_performance",
    "burst", "low_power_saver", "power_saver", "high_power_saver", "extreme_power_saver",
    "system_settings"])
def test_profiles_vote_for_the_published_corners(box, profile):
    """The modelled clock of an execution follows the vote (docs/profiling.md)."""
    mhz = {"burst": 1500, "sustained_high_performance": 1200, "high_performance": 1200}
    configure({"devices": [{"soc_model": 57, "cores": [
        {"core_id": 0, "perf_profile": profile, "rpc_control_latency": 100,
         "hmx_timeout_us": 300000}]}]})
    p = ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
           "--config_file", "cfg.json", "--profiling_level", "detailed", "--log_level", "info")
    log = (box / "output/qnn-profiling-data.log").read_text()
    if profile in mhz:
        assert f"modelled at {mhz[profile]} MHz" in log, [
            line for line in log.split('"') if "modelled at" in line]


def test_profiles_of_language_models_need_their_chips(box):
    args = ["--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt", "--config_file",
            "cfg.json"]
    for soc, good in ((57, False), (69, True)):
        configure({"devices": [{"soc_model": soc, "cores": [
            {"perf_profile": "llm_decode_burst"}]}]})
        if good:
            ok(NET_RUN, *args)
        else:
            rejects(NET_RUN, *args, says=["llm_decode_burst", "v79"])


def test_the_command_line_overrides_the_file(box):
    configure({"devices": [{"soc_model": 57, "cores": [{"perf_profile": "power_saver"}]}]})
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
       "--config_file", "cfg.json", "--perf_profile", "burst", "--profiling_level", "detailed")
    assert "modelled at 1500 MHz" in (box / "output/qnn-profiling-data.log").read_text()


def test_contexts_load_with_every_option(box):
    generate()
    args = ["--retrieve_context", "output/net.bin", "--backend", HTP, "--input_list", "net.txt",
            "--config_file", "cfg.json", "--output_dir", "o"]
    for htp in ({"context": {"file_read_memory_budget_in_mb": 1}},
                {"context": {"io_memory_estimation": True, "init_acceleration": True}},
                {"context": {"group_id": 0, "max_spill_fill_buffer_for_group": 4096}},
                {"context": {"group_id": 3}},
                {"context": {"concurrent_deserialization_patch": "net.txt"}},
                {"memory": {"mem_type": "shared_buffer"}},
                {"devices": [{"pd_session": "unsigned", "core_type": 0, "core_id": [0]}]}):
        configure(htp)
        ok(NET_RUN, *args)
        assert np.array_equal(read("o/Result_0/y.raw"), WANT), htp
    for keys in ({"context_priority": "high"}, {"async_execute_queue_depth": 2},
                 {"enable_graphs": ["net"]}, {"memory_limit_hint": 1, "is_persistent_binary": True},
                 {"cache_compatibility_mode": "permissive"}, {"spill_fill_buffer": -1},
                 {"weights_buffer": 0}, {"is_persistent_binary": True, "memory_limit_hint": 9,
                                         "graph_retention_order": ["net"]}):
        configure(context_configs=keys, profile_configs={"num_max_events": 100},
                  async_graph_execution_config={"input_tensors_creation_tasks_limit": 2,
                                                "execute_enqueue_tasks_limit": 1})
        ok(NET_RUN, *args)
        assert np.array_equal(read("o/Result_0/y.raw"), WANT), keys


def test_contexts_of_a_list_share_resources(box):
    generate()
    configure({"groupContext": {"share_resources": True},
               "devices": [{"soc_model": 43}]})
    ok(NET_RUN, "--retrieve_context", "output/net.bin,output/net.bin", "--backend", HTP,
       "--input_list", "net.txt,net.txt", "--config_file", "cfg.json", "--output_dir", "o")
    assert np.array_equal(read("o/Graph_1/Result_0/y.raw"), WANT)


def test_enabled_graphs_of_a_binary(box):
    ok(GENERATOR, "--model", TWO, "--backend", HTP, "--binary_file", box / "two")
    configure(context_configs={"enable_graphs": ["g1"]})
    ok(NET_RUN, "--retrieve_context", "two.bin", "--backend", HTP, "--input_list", "net.txt",
       "--config_file", "cfg.json")
    assert np.array_equal(read("output/Result_0/b.raw"), np.abs(A).ravel())
    configure(context_configs={"enable_graphs": ["g7"]})
    rejects(NET_RUN, "--retrieve_context", "two.bin", "--backend", HTP, "--input_list", "net.txt",
            "--config_file", "cfg.json", says=["cfg.json", "enable_graphs", "g7", "g0"])


def test_comments_are_passed_over(box):
    write_json("cfg.json", '{ // the documentation has them\n "context_configs": {'
               ' /* here, too */ "context_priority": "low" } }')
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
       "--config_file", "cfg.json")


def test_binaries_go_where_the_name_says(box):
    generate(name="net.bin")
    generate(name=str(box / "abs"))
    generate("--output_dir", "dir", "--htp_socs", "sm8650,SM8750")
    assert sorted(p.name for p in box.rglob("*.bin")) == [
        "abs.bin", "net.bin", "net_SM8750.bin", "net_sm8650.bin"]
    assert describe("dir/net_SM8750.bin")["info"]["socVersion"] == "SM8750"
    ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--output_dir", "none")
    assert not (box / "none").exists()


def test_a_schematic_lies_in_the_current_folder(box):
    generate("--profiling_level", "detailed", "--profiling_option", "optrace")
    assert (box / "net_schematic.bin").read_bytes().startswith(b"QRNSCHEM")


@pytest.mark.parametrize("flags", [["--enable_intermediate_outputs"],
                                   ["--set_output_tensors", "net:s"]])
def test_intermediate_tensors_become_outputs_of_a_binary(box, flags):
    generate(*flags)
    outputs = describe("output/net.bin")["info"]["graphs"][0]["info"]["graphOutputs"]
    assert sorted(t["info"]["name"] for t in outputs) == ["s", "y"]


def test_memory_handles_are_declared(box):
    generate("--input_output_tensor_mem_type", "memhandle")
    ok(NET_RUN, "--retrieve_context", "output/net.bin", "--backend", HTP, "--input_list",
       "net.txt", "--output_dir", "o")
    assert np.array_equal(read("o/Result_0/y.raw"), WANT)


def test_the_utility_writes_the_published_schema(box):
    quantized("net.onnx", np.uint8, 0.05, 100)
    generate()
    whole = describe("output/net.bin")
    info = whole["info"]
    assert whole["version"] == 3 and info["backendId"] == 6 and info["numGraphs"] == 1
    graph = info["graphs"][0]["info"]
    assert graph["graphName"] == "net" and graph["numGraphInputs"] == 1
    x = graph["graphInputs"][0]
    assert x["version"] == 1
    assert x["info"].pop("id") > 0
    q = x["info"].pop("quantizeParams")
    assert x["info"] == {"name": "x", "type": "QNN_TENSOR_TYPE_APP_WRITE",
                         "dataFormat": "QNN_TENSOR_DATA_FORMAT_DENSE",
                         "dataType": "QNN_DATATYPE_UFIXED_POINT_8", "rank": 2,
                         "dimensions": [1, 8], "memType": "QNN_TENSORMEMTYPE_RAW"}
    assert q["definition"] == "QNN_DEFINITION_DEFINED"
    assert q["encoding"] == "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET"
    assert q["scaleOffset"]["offset"] == -100
    assert abs(q["scaleOffset"]["scale"] - 0.05) < 1e-8
    assert info["contextBlobSize"] == (box / "output/net.bin").stat().st_size
    shown = json.loads(ok("quern", "show", "--json", "--published",
                          "output/net.bin").stdout)
    assert shown["info"] == json.loads(open("info.json").read())["info"] and shown["version"] == 3
    assert run(UTILITY, "--context_binary", "output/net.bin").returncode == 0
