# SPDX-License-Identifier: MIT
"""qnn-net-run: models, lists, files, types, loops. Expected values are numpy's."""
import json

import numpy as np
import pytest

from harness import (CPU, GENERATOR, HTP, NET_RUN, OTHER, TWO, add_relu, files, ok, quantized, raw,
                     read, run, write_json)

X = np.array([[-1, 2, -3, 4]], np.float32)
A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
BIAS = np.array([10, 20, -30], np.float32)


@pytest.fixture
def box(tmp_path, monkeypatch):
    """A folder with models and lists, which is the current one."""
    monkeypatch.chdir(tmp_path)
    raw("x.raw", X)
    raw("a.raw", A)
    raw("a10.raw", 10 * A)
    raw("a_0.raw", A[0])
    raw("a_1.raw", A[1])
    for name, text in {"x.txt": "x.raw\n", "a.txt": "a.raw\na10.raw\n",
                       "named.txt": "a:=a.raw\n", "split.txt": "a_0.raw\na_1.raw\na_0.raw\n",
                       "net.txt": "a.raw\nx:=a10.raw\n"}.items():
        (tmp_path / name).write_text(text)
    add_relu("net.onnx")
    return tmp_path


def relu(v):
    return np.maximum(v, 0)


@pytest.mark.parametrize("backend", [CPU, HTP])
def test_a_library_of_two_graphs_writes_a_folder_for_each(box, backend):
    p = ok(NET_RUN, "--model", TWO, "--backend", backend, "--input_list", "x.txt,a.txt")
    assert "Finished Executing Graphs" in p.stdout
    assert files("output") == ["g0/Result_0/y.raw", "g1/Result_0/b.raw", "g1/Result_1/b.raw"]
    assert np.array_equal(read("output/g0/Result_0/y.raw"), -relu(X).ravel())
    assert np.array_equal(read("output/g1/Result_1/b.raw"), np.abs(10 * A).ravel())


def test_both_forms_of_flags_and_another_prefix(box):
    ok(NET_RUN, f"--model={OTHER}", f"--backend={CPU}", "--input_list=x.txt,named.txt",
       "--model_prefix=Other", "--output_dir=out")
    assert np.array_equal(read("out/g1/Result_0/b.raw"), np.abs(A).ravel())


def test_two_underscores_skip_a_graph(box):
    ok(NET_RUN, "--model", TWO, "--backend", CPU, "--input_list", "__,a.txt")
    assert files("output") == ["g1/Result_0/b.raw", "g1/Result_1/b.raw"]


def test_lists_skip_layers_select_tensors_and_take_any_name(box):
    raw("b#1.raw", A)
    (box / "list.txt").write_text("#add relu\n%s\nx:=b#1.raw\n")
    ok(NET_RUN, "--model", "net.onnx", "--backend", CPU, "--input_list", "list.txt", "--debug")
    assert files("output") == ["Result_0/s.raw"]


def test_lines_of_single_elements_make_a_batch(box):
    ok(NET_RUN, "--model", TWO, "--backend", CPU, "--input_list", "__,split.txt")
    got = [read(f"output/g1/Result_{i}/b.raw") for i in range(3)]
    assert len(files("output")) == 3
    for g, want in zip(got, (A[0], A[1], A[0])):
        assert np.array_equal(g, np.abs(want))


def test_debug_and_chosen_tensors_are_outputs(box):
    ok(NET_RUN, "--model", TWO, "--backend", CPU, "--input_list", "x.txt,__", "--debug")
    assert files("output") == ["g0/Result_0/mid.raw", "g0/Result_0/y.raw"]
    assert np.array_equal(read("output/g0/Result_0/mid.raw"), relu(X).ravel())
    ok(NET_RUN, "--model", "net.onnx", "--backend", CPU, "--input_list", "net.txt",
       "--set_output_tensors", "net:s", "--output_dir", "two")
    assert np.array_equal(read("two/Result_0/s.raw"), (A + BIAS).ravel())


def test_loops_and_kept_outputs(box):
    args = ["--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt"]
    p = ok(NET_RUN, *args, "--num_inferences", 7, "--keep_num_outputs", 3)
    assert "7 executions" in p.stdout
    assert files("output") == [f"Result_{i}/y.raw" for i in range(3)]
    for i in range(3):
        want = relu((A if i % 2 == 0 else 10 * A) + BIAS)
        assert np.array_equal(read(f"output/Result_{i}/y.raw"), want.ravel())
    for cache in (["--max_input_cache_tensor_sets", -1], ["--max_input_cache_size_mb", 1]):
        ok(NET_RUN, *args, "--num_inferences", 5, "--synchronous", *cache, "--output_dir", "c")
        assert np.array_equal(read("c/Result_4/y.raw"), relu(A + BIAS).ravel())
    p = ok(NET_RUN, *args, "--duration", 0.05, "--keep_num_outputs", 0, "--output_dir", "none")
    assert files("none") == [] and int(p.stdout.split(": ")[1].split()[0]) >= 1


def affine(values, scale, zero, lo, hi):
    """Half away from zero, as is published for the tools."""
    v = values / np.float64(np.float32(scale))
    return np.clip(np.sign(v) * np.floor(np.abs(v) + 0.5) + zero, lo, hi)


@pytest.mark.parametrize("dtype, zero", [(np.uint8, 100), (np.int8, -7)])
def test_float_files_are_quantized_and_back(box, dtype, zero):
    x = np.array([-9, -1.025, -0.125, 0, 0.024, 0.025, 3.3, 99], np.float32)
    raw("q.raw", x)
    (box / "q.txt").write_text("q.raw\n")
    quantized("q.onnx", dtype, 0.05, zero)
    info = np.iinfo(dtype)
    q = affine(x, 0.05, zero, info.min, info.max)
    want = np.maximum(q, zero).astype(dtype)
    ok(NET_RUN, "--model", "q.onnx", "--backend", HTP, "--input_list", "q.txt",
       "--output_data_type", "float_and_native")
    assert files("output") == ["Result_0/y.raw", "Result_0/y_native.raw"]
    assert np.array_equal(read("output/Result_0/y_native.raw", dtype), want)
    real = ((want.astype(np.float64) - zero) * np.float64(np.float32(0.05))).astype(np.float32)
    assert np.array_equal(read("output/Result_0/y.raw"), real)
    raw("n.raw", q, dtype)
    (box / "n.txt").write_text("n.raw\n")
    for flags in (["--use_native_input_files"], ["--native_input_tensor_names", "q:x"],
                  ["--input_data_type", "native"]):
        ok(NET_RUN, "--model", "q.onnx", "--backend", HTP, "--input_list", "n.txt",
           "--use_native_output_files", *flags, "--output_dir", "n")
        assert files("n") == ["Result_0/y_native.raw"]
        assert np.array_equal(read("n/Result_0/y_native.raw", dtype), want)


def test_binaries_load_in_every_way(box):
    ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", "net")
    want = relu(A + BIAS).ravel()
    common = ["--backend", HTP, "--input_list", "net.txt"]
    for i, flags in enumerate((["--use_mmap"], ["--validate_binary"], ["--shared_buffer"],
                               ["--shared_buffer", "--io_tensor_mem_handle_type", "dma_buf"],
                               ["--retrieve_context_timeout", 10000000],
                               ["--timeout", 10000000], ["--synchronous"],
                               ["--perf_profile", "burst"], ["--device_options", "device_id:0"])):
        ok(NET_RUN, "--retrieve_context", "output/net.bin", *common, *flags, "--output_dir", i)
        assert np.array_equal(read(f"{i}/Result_0/y.raw"), want), flags
    ok(NET_RUN, "--retrieve_context", "output/net.bin,output/net.bin", "--backend", HTP,
       "--input_list", "net.txt,net.txt", "--output_dir", "both")
    assert files("both") == [f"{g}/Result_{i}/y.raw" for g in ("Graph_1", "net") for i in range(2)]


def test_a_batch_multiplier_runs_several_batches_at_once(box):
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
       "--batch_multiplier", 2)
    p = box / "output"
    got = np.concatenate([read(p / f"Result_{i}/y.raw") for i in range(len(files(p)))])
    assert np.array_equal(got, relu(np.concatenate([A, 10 * A]) + BIAS).ravel())


@pytest.mark.parametrize("level", ["basic", "detailed", "client"])
def test_profiles_hold_every_stage(box, level):
    ok(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
       "--profiling_level", level)
    log = box / "output/qnn-profiling-data.log"
    assert log.resolve().name == "qnn-profiling-data_0.log"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    methods = [line["method"] for line in lines[1:]]
    assert lines[0]["app"] == "qnn-net-run"
    for method in ("APP_COMPOSE_GRAPHS", "BACKEND_FINALIZE", "APP_CONTEXT_CREATE",
                   "APP_EXECUTE_IPS", "BACKEND_DEINIT"):
        assert method in methods
    runs = [line for line in lines[1:] if line["method"].startswith("BACKEND_EXECUTE")]
    assert len(runs) == 2 and all(r["graph"] == "net" for r in runs)
    names = {e["identifier"] for r in runs for e in r["events"]}
    assert "NetRun" in names and (len(names) > 1) == (level != "client")
    netrun = [e["value"] for e in runs[0]["events"] if e["identifier"] == "NetRun"][0]
    for e in runs[0]["events"]:  # what the program measured encloses what the backend did
        if e["unit"] == "microseconds" and "modelled" not in e["identifier"]:
            assert e["value"] <= netrun, e
    text = ok("qnn-profile-viewer", "--input_log", log).stdout
    for line in ("Compose Graphs Stats:", "    NetRun:  ", "Execute Stats (Overall):",
                 "    NetRun IPS (includes IO and misc. time): "):
        assert line in text, text


def test_graph_profiles_begin_late_and_end_early(box):
    write_json("cfg.json", {"graph_configs": [
        {"graph_name": "net", "graph_profiling_num_executions": 2}]})
    ok(NET_RUN, "--model", "net.onnx", "--backend", CPU, "--input_list", "net.txt",
       "--num_inferences", 6, "--profiling_level", "basic", "--config_file", "cfg.json")
    lines = [json.loads(line) for line in
             (box / "output/qnn-profiling-data.log").read_text().splitlines()[1:]]
    own = [line for line in lines if len(line["events"]) > 1 and "EXECUTE" in line["method"]]
    assert len(own) == 1


def test_pages_and_version(box):
    for program in (NET_RUN, GENERATOR, "qnn-context-binary-utility"):
        assert ok(program, "--version").stdout.startswith(program + " of Quern ")
        assert ok(program, "--help").stdout.startswith(f"usage: {program} ")
        assert ok(program, "--man").stdout.startswith(".TH QNN")


def test_log_lines_have_the_published_shape(box):
    import re
    p = run(NET_RUN, "--model", "net.onnx", "--backend", HTP, "--input_list", "net.txt",
            "--log_level", "info")
    assert re.search(r"^ *\d+\.\dms \[  INFO \] ", p.stdout, re.M), p.stdout
