# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_files: make_file_corpus.py FOLDER (tests/fuzz/corpus/files).

Small good files of every kind. $QUERN_BIN and $QUERN_LIB_DIR make those that Quern itself writes.
"""
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import cli_optrace  # noqa: E402
import cli_profile  # noqa: E402
from cli_pictures import JPEG  # noqa: E402
from harness import png  # noqa: E402


def arrays():
    rng = np.random.default_rng(1)
    for i, dtype in enumerate(("<f4", ">f8", "<i8", "|u1", "<f2", "|b1")):
        a = (rng.random((2, 3)) * 5).astype(dtype)
        for order in "CF":
            to = io.BytesIO()
            np.save(to, np.asarray(a, order=order))
            yield "npy", f"{i}{order}", to.getvalue()
    for i, save in enumerate((np.savez, np.savez_compressed)):
        to = io.BytesIO()
        save(to, a=np.arange(6.0).reshape(2, 3), b=np.ones((0, 2), np.int32))
        yield "npz", str(i), to.getvalue()
    header = json.dumps({"__metadata__": {"format": "pt"},
                         "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                         "b.c": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [24, 28]},
                         "none": {"dtype": "I64", "shape": [0, 2], "data_offsets": [28, 28]}})
    yield "tensors", "plain", (len(header).to_bytes(8, "little") + header.encode()
                               + np.arange(6, dtype="<f4").tobytes() + b"\x80\x3f\0\xc0")


def pictures():
    rgb = np.random.default_rng(3).integers(0, 256, (3, 4, 3))
    alpha = np.concatenate([rgb, np.full((3, 4, 1), 255)], 2)
    for name, pixels in (("grey", rgb[..., 0]), ("rgb", rgb), ("rgba", alpha)):
        yield "png", name, png(pixels)
    yield "jpg", "rgb", JPEG


def texts():
    yield "labels", "plain", b"cat\r\ndog\n\nlast"
    yield "json", "plain", b'{"a": [1, -2.5e3, "x\\u00e9\\n"], /* c */ "b": {"c": null}} // end\n'
    yield "json", "affinity", b'{"nodes": {"conv1": "htp", "relu": {"backend": "cpu"}}}'
    yield "yaml", "plain", (b"# c\n---\na: [1, x, true]\n'b c':\n- d: \"e: f\"\n  g: ~\n"
                            b"- - 2.5e3\n  - h\n")
    yield "custom_io", "plain", (
        b"- IOName: image\n  Layout:\n    Model: NCHW\n    Custom: NHWC\n  Datatype: uint8\n"
        b"  QuantParam:\n    Type: QNN_DEFINITION_DEFINED\n    Scale: 0.5\n    Offset: -128\n")
    yield "io_config", "plain", (
        b"Input Tensor Configuration:\n  - Name: 'image'\n    Src Model Parameters:\n"
        b"        DataType: float32\n        Layout: NCHW\n    Desired Model Parameters:\n"
        b"        DataType: uint8\n        Layout: NHWC\n        Shape: 1,3,5,6\n"
        b"        Color Conversion: rgb bgr\n        QuantParams:\n          Scale: 0.5\n"
        b"          Offset: 0\nOutput Tensor Configuration:\n- Name: maps\n")
    yield "conversion", "plain", json.dumps({
        "command": "qairt-converter", "version": "1", "copyright": "c", "no_source": "why",
        "types": [{"name": "x", "type": 2, "scaled": True, "scale": 0.5, "offset": -1}]}).encode()
    yield "list", "plain", (b"#first\n%out1 out2\na:=/dev/null b:=/dev/null\n"  # files must exist
                            b"/dev/null /dev/zero\r\n")
    yield "lines", "plain", b"in_0.raw in_1.raw\r\n1, 3, 8\n\n4,5\n"
    yield "socs", "plain", (b"# a comment\n9000\tSMX\talias1 alias2\t75\t8\t4\t1\t1\t1\t1\t0\t0\n"
                            b"57\tSM8650\t-\t75\t8\t4\t1\t1\t1\t1\t1\t1\r\n")


def configs():
    """The JSON files of the SDK's programs, with every key."""
    yield "run_config", "plain", b'''{ // comment
  "backend_extensions": {"shared_library_path": "libX.so", "config_file_path": "htp.json"},
  "context_configs": {"context_priority": "normal_high", "async_execute_queue_depth": 4,
    "enable_graphs": ["net"], "memory_limit_hint": 10, "is_persistent_binary": true,
    "cache_compatibility_mode": "strict", "spill_fill_buffer": -1, "weights_buffer": 0,
    "graph_retention_order": ["net", "b"]},
  "graph_configs": [{"graph_name": "net", "graph_priority": "low",
    "graph_profiling_start_delay": 0.5, "graph_profiling_num_executions": 3}],
  "profile_configs": {"num_max_events": 100},
  "async_graph_execution_config": {"input_tensors_creation_tasks_limit": 2,
    "execute_enqueue_tasks_limit": 1}}'''
    yield "htp_config", "plain", b'''{"graphs": [{"graph_names": ["net"], "vtcm_mb": 2,
    "hvx_threads": 4, "O": 3.0, "finalize_config": {"P": 5}, "dlbc": 1, "dlbc_weights": 1,
    "sparse_weights_compression": 0, "weights_packing": true, "num_cores": 1,
    "short_depth_conv_on_hmx_off": true, "fold_relu_activation_into_conv_off": false,
    "slc_alloc_enable": 1, "advanced_activation_fusion": true,
    "use_high_precision_fp16_sigmoid": false, "monolithic_lstm": false,
    "fp16_relaxed_precision": 1}, {"graph_names": ["b"], "vtcm_size": 65536}],
  "devices": [{"device_id": 0, "core_id": [0], "core_type": 0, "soc_id": 30, "soc_model": 57,
    "dsp_arch": "v75", "pd_session": "unsigned", "profiling_level": "linting",
    "cores": [{"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 100,
      "rpc_polling_time": 9999, "adaptive_polling_time": 1000, "hmx_timeout_us": 300000}]}],
  "context": {"weight_sharing_enabled": true, "lora_weight_sharing": false,
    "lora_weight_sharing_ram_preload": false, "max_spill_fill_buffer_for_group": 4096,
    "group_id": 0, "file_read_memory_budget_in_mb": 1, "io_memory_estimation": true,
    "init_acceleration": true, "reused_io_limit_mb": 1,
    "concurrent_deserialization_patch": "p", "extended_udma": false},
  "groupContext": {"share_resources": true, "reused_io_limit_mb": 2},
  "memory": {"mem_type": "shared_buffer"}}'''
    yield "throughput", "plain", b'''{"backends": [{"backendName": "h", "backendPath": "libH.so",
    "profilingLevel": "BASIC", "backendExtensions": "libX.so", "perfProfile": "burst",
    "opPackagePath": "p.so:q", "platformOption": "k:v"}],
  "models": [{"modelName": "m", "modelPath": "m.bin", "loadFromCachedBinary": true,
    "inputPath": "l.txt", "inputDataType": "FLOAT", "postProcessor": "MSE", "outputPath": "o",
    "outputDataType": "FLOAT_ONLY", "saveOutput": "NATIVE_ALL", "groundTruthPath": "NONE"}],
  "contexts": [{"contextName": "c", "priority": "HIGH", "executeAsyncQueueDepth": 4,
    "cacheCompatibilityMode": "strict"}],
  "testCase": {"iteration": -1, "logLevel": "info", "threads": [{"threadName": "t",
    "backend": "h", "context": "c", "model": "m", "initModelInLoop": false,
    "loadInputDataInLoop": true, "useRandomData": true, "interval": 5, "loopUnit": "second",
    "loop": 2, "executeAsynchronous": true, "backendConfig": "htp.json"}]}}'''


def encodings():
    """Of each version, with every key."""
    yield "encodings", "legacy", b'''{"version": "0.6.1", "activation_encodings": {
  "x": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "min": -1.8, "max": 0.5}],
  "h": [{"bitwidth": 16, "dtype": "float"}]},
 "param_encodings": {"w": [
  {"bitwidth": 4, "is_symmetric": "True", "scale": 0.5, "offset": -8, "min": -4, "max": 3.5},
  {"bitwidth": 4, "is_symmetric": "True", "scale": 0.25, "offset": -8, "min": -2, "max": 1.75}]},
 "quantizer_args": {"param_bitwidth": 4}, "excluded_layers": []}'''
    yield "encodings", "lists", b'''{"version": "1.0.0", "activation_encodings": [
  {"name": "x", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 16, "is_sym": false,
   "scale": [0.01], "offset": [-300]}],
 "param_encodings": [
  {"name": "w", "enc_type": "PER_BLOCK", "dtype": "INT", "bw": 4, "is_sym": true,
   "scale": [1, 2, 3, 4], "offset": [-8, -8, -8, -8], "block_size": 32},
  {"name": "v", "enc_type": "LPBQ", "dtype": "INT", "bw": 8, "compressed_bw": 4, "is_sym": true,
   "scale": [0.1, 0.2], "offset": [-128, -128], "block_size": 16,
   "per_block_int_scale": [1, 2, 16, 4]}]}'''
    yield "encodings", "modern", b'''{"version": "2.0.0", "encodings": [
  {"name": "x", "output_dtype": "uint8", "y_scale": 0.5, "y_zero_point": 3},
  {"name": "w", "output_dtype": "int8", "y_scale": [0.5, 1], "axis": -1},
  {"name": "b", "output_dtype": "int4", "y_scale": [[1, 2], [3, 4]], "axis": 1, "block_size": 8},
  {"name": "l", "output_dtype": "int4", "per_channel_float_scale": [[0.5], [2]],
   "per_block_int_scale": [[1, 2], [3, 4]], "axis": 1, "block_size": 8},
  {"name": "h", "output_dtype": "float16"}]}'''


def made():
    """What the program writes: a dump's index and a profile."""
    program = os.environ.get("QUERN_BIN", "build/bin/quern")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        x = helper.make_tensor_value_info("x", 1, [2, 3])
        y = helper.make_tensor_value_info("y", 1, [2, 3])
        model = helper.make_model(helper.make_graph(
            [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Exp", ["r"], ["y"])], "g",
            [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / "m.onnx")
        subprocess.run([program, "run", folder / "m.onnx", "--random"], check=True,
                       stdout=subprocess.DEVNULL,
                       env=os.environ | {"QUERN_DUMP": str(folder / "dump")})
        index = next((folder / "dump").rglob("index.json")).read_text()
        for file in (folder / "dump").rglob("*.npy"):
            index = index.replace(file.name, "t.npy")
        yield "dump", "plain", index.encode()
        yield "dump", "encoded", index.replace(
            '"declared"', '"encoding": {"scale": 0.5, "offset": -3}, "declared"').encode()


def profiles():
    with tempfile.TemporaryDirectory() as folder:
        log = cli_profile.write(Path(folder) / "a.log", cli_profile.execute(1, 50, 1))
        yield "profile", "log", log.read_bytes()
    graph = cli_optrace.schematic()
    yield "optrace", "modelled", struct.pack("<I", len(graph)) + graph + cli_optrace.trace()
    yield "optrace", "measured", struct.pack("<I", len(graph)) + graph + cli_optrace.trace(steps=[])
    yield "profile", "table", (
        b"Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,"
        b"Event Identifier\n"
        b"1,EXECUTE,12,US,BACKEND,ROOT,\"Accelerator (execute) time\"\n"
        b"1,EXECUTE,7,CYCLES,BACKEND,SUB-EVENT,\"Relu_0:OpId_3 (cycles)\"\n")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (arrays, pictures, texts, configs, encodings, made, profiles):
        for reader, name, data in make():
            (folder / f"{reader}_{name}").write_bytes(reader.encode() + b"\n" + data)


if __name__ == "__main__":
    main()
