# SPDX-License-Identifier: MIT
"""qnn-throughput-net-run and qnn-platform-validator."""
import copy
import csv
import json

import numpy as np
import pytest

from harness import (BIN, CPU, EXTENSIONS, GENERATOR, HTP, TWO, add_relu, files, ok, raw, read,
                     rejects, write_json)

PROGRAM, VALIDATOR = "qnn-throughput-net-run", "qnn-platform-validator"
A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
WANT = np.maximum(A + np.array([10, 20, -30], np.float32), 0)


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw("a.raw", A)
    raw("a10.raw", 10 * A)
    raw("want.raw", WANT)
    raw("off.raw", WANT + 2)
    for name, text in {"net.txt": "a.raw\na10.raw\n", "one.txt": "a.raw\n",
                       "want.txt": "want.raw\n", "off.txt": "y:=off.raw\n"}.items():
        (tmp_path / name).write_text(text)
    add_relu("net.onnx")
    return tmp_path


def config(threads, models=None, backends=None, contexts=None, **case):
    return {"backends": backends or [{"backendName": "b", "backendPath": HTP}],
            "models": models or [{"modelName": "m", "modelPath": "net.onnx",
                                  "inputPath": "net.txt"}],
            "contexts": contexts or [{"contextName": "c"}],
            "testCase": {"iteration": 1, **case, "threads": threads}}


def thread(name="t", **keys):
    return {"threadName": name, "backend": "b", "context": "c", "model": "m", **keys}


def go(value):
    write_json("tp.json", value)
    ok(PROGRAM, "--config", "tp.json", "--output", "r.json")
    return json.loads(open("r.json").read())


def test_threads_share_a_context_and_are_measured(box):
    r = go(config([thread("t0", loop=50), thread("t1", loop=20, executeAsynchronous=True),
                   thread("t2", loop=3, interval=10, loadInputDataInLoop=True)], iteration=2))
    assert r["testCase"] == {"iteration": 2, "iterations": 2}
    assert [t["executions"] for t in r["threads"]] == [100, 40, 6]
    for t in r["threads"]:
        assert set(t) == {"threadName", "model", "backend", "executions", "total_us", "min_us",
                          "avg_us", "max_us", "ips", "mse"}
        assert t["min_us"] <= t["avg_us"] <= t["max_us"] <= t["total_us"] and t["ips"] > 0


def test_several_backends_models_and_ways_to_prepare(box):
    ok(GENERATOR, "--model", "net.onnx", "--backend", HTP, "--binary_file", box / "net")
    write_json("htp.json", {"context": {"group_id": 0, "io_memory_estimation": True}})
    r = go(config(
        [thread("lib", backend="cpu", model="two", loop=4),
         thread("again", backend="cpu", loop=3, initModelInLoop=True, context="d"),
         thread("bin", model="bin", backendConfig="htp.json", loop=5),
         thread("seconds", loopUnit="second", loop=1, useRandomData=True)],
        models=[{"modelName": "two", "modelPath": str(TWO)},
                {"modelName": "m", "modelPath": "net.onnx", "inputPath": "net.txt",
                 "inputDataType": "FLOAT"},
                {"modelName": "bin", "modelPath": "net.bin", "loadFromCachedBinary": True,
                 "inputPath": "one.txt", "outputPath": "out", "saveOutput": "NATIVE_ALL",
                 "outputDataType": "FLOAT_AND_NATIVE"}],
        backends=[{"backendName": "cpu", "backendPath": CPU},
                  {"backendName": "b", "backendPath": HTP, "backendExtensions": EXTENSIONS,
                   "perfProfile": "burst"}],
        contexts=[{"contextName": "c", "executeAsyncQueueDepth": 3,
                   "cacheCompatibilityMode": "permissive"}, {"contextName": "d"}]))
    n = [t["executions"] for t in r["threads"]]
    assert n[:3] == [8, 3, 5] and n[3] > 1  # the library has two graphs
    assert files("out") == [f"bin/Result_{i}/y{e}.raw" for i in range(5) for e in ("", "_native")]
    assert np.array_equal(read("out/bin/Result_4/y.raw"), WANT.ravel())


@pytest.mark.parametrize("post, truth, mse", [
    ("MSE_FLOAT32", "want.txt", 0), ("MSE", "off.txt", 4), ("MSE", None, 0), ("NONE", None, None)])
def test_errors_against_files_and_the_first_execution(box, post, truth, mse):
    model = {"modelName": "m", "modelPath": "net.onnx", "inputPath": "one.txt",
             "postProcessor": post}
    if truth:
        model["groundTruthPath"] = truth
    r = go(config([thread(loop=6)], models=[model]))
    assert r["threads"][0]["mse"] == [pytest.approx(mse) if mse is not None else None]


def test_profiles_and_last_outputs(box):
    go(config([thread(loop=3)], backends=[{"backendName": "b", "backendPath": HTP,
                                           "profilingLevel": "DETAILED"}],
              models=[{"modelName": "m", "modelPath": "net.onnx", "inputPath": "net.txt",
                       "outputPath": "out", "saveOutput": "NATIVE_LAST"}]))
    assert files("out") == ["t/Result_0/y_native.raw"]
    assert np.array_equal(read("out/t/Result_0/y_native.raw"), WANT.ravel())  # line 0 again
    text = ok("qnn-profile-viewer", "--input_log", "out/t/qnn-profiling-data.log").stdout
    assert "Execute Stats (Average):" in text


BAD = [
    (lambda c: c.pop("testCase"), ["testCase"]),
    (lambda c: c["testCase"].pop("iteration"), ["testCase", "iteration"]),
    (lambda c: c["testCase"].update(threads=[]), ["threads", "empty"]),
    (lambda c: c["testCase"]["threads"][0].update(model="x"), ["'t'", "modelName", "'x'", "'m'"]),
    (lambda c: c["testCase"]["threads"][0].update(backend="x"), ["backendName", "'x'"]),
    (lambda c: c["testCase"]["threads"][0].update(context="x"), ["contextName", "'x'"]),
    (lambda c: c["testCase"]["threads"].append(thread()), ["two entries", "threadName", "'t'"]),
    (lambda c: c["models"].append(c["models"][0]), ["two entries", "modelName"]),
    (lambda c: c["testCase"]["threads"][0].update(loops=1), ["loops", "did you mean 'loop'"]),
    (lambda c: c["testCase"]["threads"][0].update(loop=0), ["loop", "from 1"]),
    (lambda c: c["testCase"]["threads"][0].update(loopUnit="x"), ["count|second"]),
    (lambda c: c["testCase"]["threads"][0].update(backendConfig="h"), ["backendExtensions"]),
    (lambda c: (c["models"][0].update(loadFromCachedBinary=True),
                c["testCase"]["threads"][0].update(initModelInLoop=True)),
     ["initModelInLoop", "loadFromCachedBinary"]),
    (lambda c: c["models"][0].update(saveOutput="NATIVE_ALL"), ["outputPath"]),
    (lambda c: c["models"][0].update(postProcessor="RMS"), ["RMS", "MSE_FLOAT32"]),
    (lambda c: c["models"][0].update(postProcessor="MSE_INT8"), ["MSE_INT8", "32 bits"]),
    (lambda c: c["models"][0].update(inputPath="gone.txt"), ["gone.txt"]),
    (lambda c: c["models"][0].update(inputPath="net.txt,net.txt"), ["2 entries", "1 graphs"]),
    (lambda c: c["models"][0].update(modelPath="gone.so"), ["gone.so"]),
    (lambda c: c["backends"][0].update(backendPath="libgone.so"), ["libgone.so"]),
    (lambda c: c["backends"][0].update(perfProfile="fast"), ["fast", "burst"]),
    (lambda c: c["contexts"][0].update(priority="TOP"), ["DEFAULT|LOW|NORMAL|HIGH"]),
]


@pytest.mark.parametrize("change, says", BAD)
def test_a_configuration_is_rejected(box, change, says):
    value = copy.deepcopy(config([thread(loop=2)]))
    change(value)
    write_json("tp.json", value)
    rejects(PROGRAM, "--config", "tp.json", "--output", "r.json", says=says)
    assert not (box / "r.json").exists()


def test_wrong_flags(box):
    rejects(PROGRAM, says="--config")
    rejects(PROGRAM, "--config", "gone.json", says="gone.json")
    write_json("tp.json", config([thread()]))
    rejects(PROGRAM, "--config", "tp.json", "--output", "tp.json", says=["tp.json", "input"])


def test_the_host_is_validated(box):
    p = ok(VALIDATOR, "--backend", "dsp", "--directory", BIN.parent, "--dsp_type", "v75",
           "--testBackend", "--coreVersion", "--libVersion")
    rows = list(csv.DictReader(open("output/Result.csv")))
    assert len(rows) == 1 and rows[0]["Backend"] == "DSP"
    assert rows[0]["Backend Hardware"] == "Supported (emulated)"
    assert rows[0]["Unit Test"] == "Passed" and "quern" in rows[0]["Library Version"]
    assert "Unit Test         : Passed" in p.stdout


@pytest.mark.parametrize("flags, says", [
    ([], "--backend"), (["--backend", "npu"], "gpu, dsp or all"),
    (["--backend", "dsp"], "--directory"),
    (["--backend", "dsp", "--directory", "."], "--dsp_type"),
    (["--backend", "dsp", "--directory", ".", "--dsp_type", "v1"], "v68, v69"),
    (["--backend", "dsp", "--directory", "gone", "--dsp_type", "v75"], "gone"),
    (["--backend", "dsp", "--directory", ".", "--dsp_type", "v75", "--deviceId", "x"],
     "--deviceId"),
    (["--backend", "dsp", "--directory", ".", "--dsp_type", "v75", "--remoteHost", "x"],
     "localhost"),
    (["--buildVariant", "aarch64-android"], "--buildVariant"),
    (["--targetPath", "x"], "--targetPath"),
])
def test_validator_flags_are_rejected(box, flags, says):
    rejects(VALIDATOR, *flags, says=says)
    assert not (box / "output").exists()


def test_a_missing_library_is_not_supported(box):
    from harness import run
    p = run(VALIDATOR, "--backend", "dsp", "--directory", ".", "--dsp_type", "v75")
    assert p.returncode == 1 and "Backend Libraries : Not Found" in p.stdout
