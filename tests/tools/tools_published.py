# SPDX-License-Identifier: MIT
"""Published command lines and files: each line of published.tsv runs, or is rejected in one line
that says why. Every published option is in the table (OPTIONS), and in the help of its program."""
import re
import shlex
import subprocess

import numpy as np
import onnx
import pytest
from harness import (BIN, CPU, EXTENSIONS, GENERATOR, HTP, NET_RUN, ROOT, TWO, add_relu, ok, raw,
                     rejects, write_json)
from tools_converter import conv_net, image

ROWS = [line.split("\t") for line in (ROOT / "tests/tools/published.tsv").read_text().splitlines()
        if line and not line.startswith("#")]
BASES = {
    NET_RUN: f"--model net.onnx --backend {CPU} --input_list net.txt",
    GENERATOR: f"--model net.onnx --backend {HTP}",
    "qnn-profile-viewer": "--input_log profile.log",
    "qnn-onnx-converter": "-i conv.onnx -o made.cpp",
    "qairt-converter": "-i conv.onnx -o made.dlc",
    "qairt-quantizer": "-i conv.dlc -l cal.txt -o q.dlc",
}
# Options as they are published, long names alone.
OPTIONS = {
    NET_RUN: """model backend input_list retrieve_context model_prefix debug output_dir
        use_native_output_files use_native_input_files native_input_tensor_names input_data_type
        output_data_type op_packages profiling_level profiling_option perf_profile config_file
        log_level shared_buffer synchronous num_inferences duration keep_num_outputs
        batch_multiplier timeout retrieve_context_timeout max_input_cache_tensor_sets
        max_input_cache_size_mb set_output_tensors use_mmap validate_binary platform_options
        graph_profiling_start_delay graph_profiling_num_executions dlc_path
        io_tensor_mem_handle_type device_options binary_updates version help""",
    GENERATOR: """model backend binary_file model_prefix output_dir op_packages profiling_level
        profiling_option config_file enable_intermediate_outputs set_output_tensors backend_binary
        log_level dlc_path input_output_tensor_mem_type platform_options data_format_config
        adapter_weight_config htp_socs save_backend_op_mapping""",
    "qnn-context-binary-utility": "context_binary json_file",
    "qnn-profile-viewer": """input_log output reader schematic dlc config zoom_start zoom_end gzip
        extract_opaque_objects standardized_json_output""",
    "qnn-throughput-net-run": "config output",
    "qnn-platform-validator": """backend directory dsp_type buildVariant testBackend deviceId
        coreVersion libVersion targetPath remoteHost debug""",
    "qnn-op-package-generator": """config_path output_path debug converter_op_package
        gen_cmakelists""",
    "qnn-onnx-converter": """input_dim batch define_symbol input_type input_dtype input_encoding
        input_layout custom_io dump_custom_io_config_template preserve_io dry_run no_simplification
        disable_batchnorm_folding keep_disconnected_nodes keep_quant_nodes debug copyright_file
        float_bitwidth overwrite_model_prefix exclude_named_tensors quantization_overrides
        input_list param_quantizer act_quantizer algorithms bias_bitwidth act_bitwidth
        weights_bitwidth ignore_encodings use_per_channel_quantization use_per_row_quantization
        float_fallback use_native_input_files use_native_output_files disable_relu_squashing
        restrict_quantization_steps pack_4_bit_weights op_package_lib package_name
        op_package_config arch_checker""",
    "qairt-converter": """source_model_input_shape out_tensor_node source_model_input_datatype
        source_model_input_layout desired_input_layout source_model_output_layout
        desired_output_layout desired_input_color_encoding preserve_io_datatype
        dump_config_template config dry_run enable_framework_trace quantization_overrides
        lora_weight_list gguf_config onnx_skip_simplification onnx_override_batch
        onnx_define_symbol onnx_validate_models onnx_summary
        onnx_perform_sequence_construct_optimizer tf_no_optimization tf_show_unconsumed_nodes
        tf_saved_model_tag tf_saved_model_signature_key tf_validate_models tflite_signature_name
        dump_exported_onnx float_bitwidth float_bias_bitwidth set_model_version copyright_file
        debug export_format converter_op_package_lib package_name op_package_config target_backend
        target_soc_model apply_masked_softmax""",
    "qairt-quantizer": """enable_float_fallback apply_algorithms bias_bitwidth act_bitwidth
        weights_bitwidth float_bitwidth float_bias_bitwidth ignore_quantization_overrides
        use_per_channel_quantization use_per_row_quantization enable_per_row_quantized_bias
        preserve_io_datatype use_native_input_files use_native_output_files
        restrict_quantization_steps act_quantizer_calibration param_quantizer_calibration
        act_quantizer_schema param_quantizer_schema percentile_calibration_value
        keep_weights_quantized adjust_bias_encoding pack_4_bit_weights use_aimet_quantizer
        op_package_lib dump_encoding_json export_stripped_dlc target_backend target_soc_model
        debug""",
}

# The forms of encodings that are published, and a range of [-5.1, 5.1].
LEGACY = {"version": "0.5.0", "activation_encodings": {
    "image": [{"bitwidth": 8, "min": -5.12, "max": 5.08, "scale": 0.04, "offset": -128,
               "is_symmetric": "False", "dtype": "int"}]},
    "param_encodings": {"w": [{"bitwidth": 8, "min": -1.0, "max": 1.0, "is_symmetric": "True",
                               "dtype": "int"}]}}
LISTS = {"version": "1.0.0", "activation_encodings": [
    {"name": "image", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 16, "is_sym": False,
     "scale": [0.0002], "offset": [-32768]}],
    "param_encodings": [
        {"name": "w", "enc_type": "PER_CHANNEL", "dtype": "INT", "bw": 8, "is_sym": True,
         "scale": [0.02, 0.02, 0.02, 0.02], "offset": [-128, -128, -128, -128]}]}
MODERN = {"version": "2.0.0", "encodings": [
    {"name": "image", "output_dtype": "uint16", "y_scale": 0.0002, "y_zero_point": 32768},
    {"name": "w", "output_dtype": "int8", "y_scale": [0.02] * 4, "y_zero_point": [0] * 4,
     "axis": 0}]}
HTP_FILE = {"graphs": [{"graph_names": ["net"], "vtcm_mb": 4, "hvx_threads": 4, "O": 3, "dlbc": 1,
                        "fold_relu_activation_into_conv_off": False, "num_cores": 1}],
            "devices": [{"device_id": 0, "soc_model": 57, "dsp_arch": "v75",
                         "pd_session": "unsigned", "cores": [
                             {"perf_profile": "burst", "rpc_control_latency": 100,
                              "rpc_polling_time": 9999, "hmx_timeout_us": 300000}]}],
            "context": {"weight_sharing_enabled": False, "group_id": 0}}
CONFIG = {"context_configs": {"context_priority": "normal_high", "async_execute_queue_depth": 10,
                              "cache_compatibility_mode": "permissive"},
          "graph_configs": [{"graph_name": "net", "graph_priority": "low"}],
          "profile_configs": {"num_max_events": 1000},
          "async_graph_execution_config": {"input_tensors_creation_tasks_limit": 2,
                                           "execute_enqueue_tasks_limit": 2}}
PROFILED = {"graph_configs": [{"graph_name": "net", "graph_profiling_start_delay": 0.0,
                               "graph_profiling_num_executions": 5}]}
THROUGHPUT = {"backends": [{"backendName": "b", "backendPath": HTP, "profilingLevel": "BASIC",
                            "backendExtensions": EXTENSIONS, "perfProfile": "burst"}],
              "models": [{"modelName": "m", "modelPath": "net.bin", "loadFromCachedBinary": True,
                          "inputPath": "net.txt", "inputDataType": "FLOAT", "outputPath": "tp",
                          "postProcessor": "MSE", "outputDataType": "FLOAT_ONLY",
                          "saveOutput": "NATIVE_LAST"}],
              "contexts": [{"contextName": "c", "priority": "NORMAL",
                            "cacheCompatibilityMode": "permissive"}],
              "testCase": {"iteration": 1, "logLevel": "error", "threads": [
                  {"threadName": "t", "backend": "b", "context": "c", "model": "m",
                   "interval": 0, "loopUnit": "count", "loop": 2, "backendConfig": "htp.json"}]}}
FORMAT = {"graphs": [{"graph_name": ["net"], "tensors": [
    {"tensor_name": "past_key", "dataFormat": "QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT"}]}]}
OPS = ('<OpDefCollection PackageName="example"><OpDefList><OpDef><Name>Cube</Name>'
       "<Input><Name>x</Name></Input><Output><Name>y</Name></Output>"
       "<SupportedBackend>CPU</SupportedBackend></OpDef></OpDefList></OpDefCollection>")
CUSTOM = """- IOName: image
  Layout:
    Model: NCHW
    Custom: NHWC
  Datatype: uint8
  QuantParam:
    Type: QNN_DEFINITION_DEFINED
    Scale: 0.04
    Offset: -128
"""
IO = """Input Tensor Configuration:
  - Name: 'image'
    Src Model Parameters:
      DataType: float32
      Layout: NCHW
    Desired Model Parameters:
      DataType: uint8
      Layout: NHWC
      Shape: 1,3,5,6
      Color Conversion: rgb
      QuantParams:
        Scale: 0.04
        Offset: -128
Output Tensor Configuration:
  - Name: 'maps'
    Src Model Parameters:
      DataType: float32
    Desired Model Parameters:
      DType: float16
"""


def extension(path):
    return {"backend_extensions": {"shared_library_path": EXTENSIONS, "config_file_path": path}}


def write_files(folder):
    a = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
    raw(folder / "a.raw", a)
    raw(folder / "x.raw", [[-1, 2, -3, 4]])
    raw(folder / "image#1.raw", image())
    texts = {"net.txt": "a.raw\n", "a.txt": "a:=a.raw\n", "x.txt": "x.raw\n",
             "selected.txt": "#abs\n%b\na.raw\n", "cal.txt": "image:=image#1.raw\n",
             "text.txt": "(c)\n", "ops.xml": OPS, "custom.yaml": CUSTOM, "io.yaml": IO}
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name, value in {
            "legacy": LEGACY, "lists": LISTS, "modern": MODERN, "htp": HTP_FILE, "format": FORMAT,
            "linting": {"devices": [{"profiling_level": "linting"}]},
            "single": {"graphs": {"graph_names": ["net"], "O": 2}},
            "config": {**CONFIG, **extension("htp.json")},
            "linting_config": extension("linting.json"), "single_config": extension("single.json"),
            "features": {"features": {"enable_input_output_flow_events": True}},
            "profiled_config": PROFILED,
            "throughput": THROUGHPUT}.items():
        write_json(folder / f"{name}.json", value)


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    """Models and files that the lines name."""
    folder = tmp_path_factory.mktemp("published")
    write_files(folder)
    add_relu(folder / "net.onnx")
    conv_net(folder / "conv.onnx")
    (folder / "libtwo.so").symlink_to(TWO)
    (folder / "sdk").mkdir()
    (folder / "sdk/include").symlink_to(ROOT / "include")
    ok("quern", "compile", "net.onnx", "-o", "net.bin", "--soc", "SM8650", cwd=folder)
    ok("qairt-converter", "-i", "net.onnx", cwd=folder)
    ok("qairt-converter", "-i", "net.onnx", "-o", "traced.dlc", "--enable_framework_trace",
       cwd=folder)
    m = onnx.load(folder / "conv.onnx")  # of one picture, as calibration needs it
    for v in (*m.graph.input, *m.graph.output):
        v.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(m, folder / "conv.onnx")
    ok("qairt-converter", "-i", "conv.onnx", cwd=folder)
    ok("qnn-onnx-converter", "-i", "conv.onnx", cwd=folder)
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt", "--output_dir",
       "first", "--profiling_level", "detailed", cwd=folder)
    (folder / "profile.log").symlink_to(folder / "first" / "qnn-profiling-data.log")
    return folder


def line_of(row):
    program, words, _ = row
    words = words.replace("{package}", str(BIN.parent / "lib/libExampleOpPackage.so"))
    words = shlex.split(words.replace("{sdk}", str(BIN.parent)))
    own = words[:1] == ["!"]
    return words[1:] if own else shlex.split(BASES.get(program, "")) + words


@pytest.mark.parametrize("row", ROWS, ids=[f"{r[0]} {r[1]}" for r in ROWS])
def test_published_lines(box, row):
    env = {"QNN_SDK_ROOT": str(box / "sdk")}
    words = line_of(row)
    if row[2] == "ok":
        ok(row[0], *words, cwd=box, env=env)
    else:
        rejects(row[0], *words, cwd=box, env=env, says=row[2])


@pytest.mark.parametrize("program", OPTIONS)
def test_every_published_option_is_in_the_table(program):
    used = " ".join(BASES.get(program, "").split() + [r[1] for r in ROWS if r[0] == program])
    text = subprocess.run([BIN / program, "--help"], text=True, capture_output=True).stdout
    for option in OPTIONS[program].split():
        assert re.search(rf"--{option}\b", used), option
        if option != "help":
            assert re.search(rf"--{option}\b", text), option
