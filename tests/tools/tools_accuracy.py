# SPDX-License-Identifier: MIT
"""The accuracy tools: values are those of the reference evaluator, verifiers their formulas."""
import csv
import json
import os
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T, helper as h
from onnx.reference import ReferenceEvaluator

from harness import files, model, ok, raw, read, rejects, write_json

DEBUGGER, EVALUATOR = "qnn-accuracy-debugger", "qairt-accuracy-evaluator"


@pytest.fixture
def box(tmp_path, monkeypatch):
    """Conv, Relu, GlobalAveragePool, Flatten, Gemm; two sets of inputs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal((8, 3, 3, 3)) / 5, "f": rng.standard_normal((8, 5)) / 3}
    model("net.onnx", [h.make_node("Conv", ["x", "w"], ["c/1"], name="conv", pads=[1] * 4),
                       h.make_node("Relu", ["c/1"], ["r"], name="relu"),
                       h.make_node("GlobalAveragePool", ["r"], ["p"], name="pool"),
                       h.make_node("Flatten", ["p"], ["l"], name="flat"),
                       h.make_node("MatMul", ["l", "f"], ["y"], name="mm")],
          {"x": (T.FLOAT, (1, 3, 6, 5))}, {"y": (T.FLOAT, (1, 5))},
          {k: v.astype(np.float32) for k, v in constants.items()})
    for i in range(2):
        raw(f"x{i}.raw", rng.standard_normal((1, 3, 6, 5)))
    (tmp_path / "list.txt").write_text("x0.raw\nx1.raw\n")
    return tmp_path


def values(i=0):
    """All values of the model, by the reference evaluator."""
    m = onnx.load("net.onnx")
    names = [o for n in m.graph.node for o in n.output]
    del m.graph.output[:]
    m.graph.output.extend(h.make_tensor_value_info(n, T.FLOAT, None) for n in names)
    x = read(f"x{i}.raw").reshape(1, 3, 6, 5)
    return dict(zip(names, ReferenceEvaluator(m).run(None, {"x": x})))


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def test_diagnosis_writes_every_value_in_the_layout_of_the_model(box):
    out = ok(DEBUGGER, "--framework_diagnosis", "-f", "onnx", "-m", "net.onnx", "-i", "x",
             "1,3,6,5", "x0.raw", "float32", "-o", "y", "-w", "work").stdout
    latest = box / "work/framework_diagnosis/latest"
    assert os.readlink(latest) in out and latest.is_dir()
    want = values()
    for name in ("c/1", "r", "p", "y"):
        got = read(latest / (name.replace("/", "_") + ".raw"))
        np.testing.assert_allclose(got, want[name].ravel(), atol=1e-5)
    nodes = json.loads((latest / "net_graph_struct.json").read_text())
    assert {n["type"] for n in nodes.values()} == {"Conv", "Relu", "GlobalAveragePool", "Flatten",
                                                   "MatMul"}
    assert set(json.loads((latest / "tensor_mapping.json").read_text()).values()) >= {"c/1", "r"}


def test_values_are_chosen(box):
    args = ["--framework_diagnosis", "-m", "net.onnx", "-i", "x", "1,3,6,5", "x0.raw"]
    for flags, chosen in ((["--add_layer_outputs", "r,p"], {"r", "p", "y"}),
                          (["--add_layer_types", "Conv"], {"c_1", "y"}),
                          (["--add_layer_outputs", "r,p", "--skip_layer_outputs", "p"], {"r", "y"}),
                          (["--add_layer_types", "Conv,Relu", "--skip_layer_types", "Relu"],
                           {"c_1", "y"})):
        ok(DEBUGGER, *args, *flags, "--output_dirname", "one", "-w", flags[1])
        found = {f[:-4] for f in files(f"{flags[1]}/framework_diagnosis/one") if f.endswith(".raw")}
        assert found == chosen, flags
        shutil.rmtree(flags[1])


@pytest.mark.parametrize("runtime, flags, floor", [
    ("cpu", [], 100), ("htp", [], 40), ("htp", ["--act_bitwidth", "8"], 15),
    ("htp", ["--act_bitwidth", "16", "--weights_bitwidth", "8", "--act_quantizer", "enhanced"],
     25)])
def test_all_three_features_in_order(box, runtime, flags, floor):
    out = ok(DEBUGGER, "-m", "net.onnx", "-l", "list.txt", "-r", runtime, *flags,
             "--default_verifier", "SQNR,threshold,5", "--default_verifier", "MSE").stdout
    root = box / "working_directory"
    rows = table(root / "verification/latest/summary.csv")
    sqnr = {r["Name"]: float(r["Value"]) for r in rows if r["Verifier"] == "SQNR"}
    assert set(sqnr) >= ({"r", "p", "y"} if flags else {"c_1", "r", "p", "y"})
    assert all(v > floor for v in sqnr.values()), sqnr
    for i in range(2):
        want = values(i)["y"].ravel()
        got = read(root / f"inference_engine/latest/Result_{i}/y.raw")
        assert 10 * np.log10((want ** 2).sum() / max(((got - want) ** 2).sum(), 1e-30)) > floor
    golden = read(root / "framework_diagnosis/latest/Result_0/y.raw").astype(np.float64)
    got = read(root / "inference_engine/latest/Result_0/y.raw").astype(np.float64)
    mse, = (float(r["Value"]) for r in rows if (r["Name"], r["Verifier"]) == ("y", "MSE"))
    np.testing.assert_allclose(mse, ((golden - got) ** 2).mean(), rtol=1e-6, atol=1e-30)
    assert "tensors pass" in out
    assert (root / "verification/latest/SQNR/y.html").read_text().count("<td>") == 6


WANT = np.array([1, -2, 3, 0.5], np.float32)
GOT = np.array([1.1, -2, 2.7, 0.6], np.float32)
D = GOT.astype(np.float64) - WANT
SQNR = 10 * np.log10((WANT.astype(np.float64) ** 2).sum() / (D ** 2).sum())
NORMS = np.linalg.norm(GOT.astype(np.float64)) * np.linalg.norm(WANT.astype(np.float64))


@pytest.mark.parametrize("verifier, value, passes", [
    ("MSE", (D ** 2).mean(), True), ("mse,threshold,0.001", (D ** 2).mean(), False),
    ("MAE", np.abs(D).mean(), True), ("L1Error", np.abs(D).sum(), True),
    ("SQNR,threshold,10", SQNR, True), ("SQNR,threshold,40", SQNR, False),
    ("CosineSimilarity", np.dot(GOT.astype(np.float64), WANT) / NORMS, True),
    ("ScaledDiff", np.abs(D).max() / 3, True), ("RtolAtol", 75, False),
    ("RtolAtol,rtolmargin,0.05,atolmargin,0.2", 0, True), ("TopK", 100, True),
    ("TopK,k,3", 100, True), ("TopK,k,99", 100, True)])
def test_verifiers_are_their_formulas(box, verifier, value, passes):
    for folder, data in (("a", WANT), ("b", GOT)):
        (box / folder).mkdir()
        raw(f"{folder}/t.raw", data)
        raw(f"{folder}/same.raw", WANT)
    ok(DEBUGGER, "--verification", "--golden_output_reference_directory", "a",
       "--inference_results", "b", "--default_verifier", verifier, "--output_dirname", "v")
    rows = {r["Name"]: r for r in table("working_directory/verification/v/summary.csv")}
    np.testing.assert_allclose(float(rows["t"]["Value"]), value, rtol=1e-6)
    assert rows["t"]["Result"] == ("PASS" if passes else "FAIL")
    assert rows["same"]["Result"] == "PASS" and rows["t"]["Elements"] == "4"


def test_numbers_that_are_none_never_pass(box):
    for folder, data in (("a", [1, np.nan, np.inf]), ("b", [1, 1, np.inf])):
        (box / folder).mkdir()
        raw(f"{folder}/t.raw", data)
    ok(DEBUGGER, "--verification", "--golden_output_reference_directory", "a",
       "--inference_results", "b", "--output_dirname", "v", *(
           word for v in ("MSE,threshold,9", "SQNR", "CosineSimilarity", "RtolAtol",
                          "MAE,threshold,9") for word in ("--default_verifier", v)))
    assert {r["Result"] for r in table("working_directory/verification/v/summary.csv")} == {"FAIL"}


def test_a_configuration_chooses_tensors(box):
    for folder in ("a", "b"):
        (box / folder).mkdir()
        raw(f"{folder}/t.raw", WANT)
        raw(f"{folder}/u.raw", GOT)
    raw("a/alone.raw", WANT)
    write_json("c.json", {"RtolAtol": {"parameters": {"rtolmargin": 0.5}, "tensors": [["t"]]},
                          "MAE": {}})
    args = ["--verification", "--golden_output_reference_directory", "a", "--inference_results",
            "b", "--verifier_config"]
    out = ok(DEBUGGER, *args, "c.json", "--output_dirname", "v").stdout
    rows = table("working_directory/verification/v/summary.csv")
    assert [(r["Name"], r["Verifier"]) for r in rows] == [
        ("t", "RtolAtol"), ("t", "MAE"), ("u", "MAE")]
    assert "rtolmargin=0.5" in rows[0]["Parameters"]
    assert "1 values of the model have no counterpart" in out
    for text, says in (("[]", "c.json"), ("{", "c.json"), ('{"MAE": {"tensors": 3}}', "tensors"),
                       ('{"Nothing": {}}', "Nothing"),
                       ('{"MAE": {"parameters": {"x": 1}}}', "'x'")):
        rejects(DEBUGGER, *args, write_json("c.json", text), says=says)


def test_what_is_wrong_is_said(box):
    (box / "a").mkdir()
    (box / "b").mkdir()
    both = ["--verification", "--golden_output_reference_directory", "a", "--inference_results",
            "b"]
    rejects(DEBUGGER, *both, says="no file NAME.raw in common")
    raw("a/t.raw", WANT)
    raw("b/t.raw", WANT[:3])
    rejects(DEBUGGER, *both, says=["b/t.raw", "12 bytes", "16"])
    rejects(DEBUGGER, *both, "--default_verifier", "AdjustedRtolAtol", says="not published")
    rejects(DEBUGGER, *both, "--default_verifier", "MSE,threshold,x", says="'x' is not a number")
    assert not (box / "working_directory").exists()
    for args, says in (([], "--model_path is needed"), (["-m", "net.onnx"], "--input_tensor"),
                       (["-m", "gone.onnx", "-l", "list.txt"], "gone.onnx"),
                       (["--framework_diagnosis", "--verification"], "at most one"),
                       (["--quant_checker"], "quern quantize"),
                       (["--tensor_inspection"], "--verification"),
                       (["--compare_encodings"], "quern show"), (["-f", "tensorflow"], "onnx"),
                       (["--verification"], "--golden_output_reference_directory is needed"),
                       (["-m", "net.onnx", "-i", "x", "1,3,6,5"], "NAME DIMS FILE"),
                       (["-m", "net.onnx", "-i", "x", "1", "y.raw"], "y.raw"),
                       (["-m", "net.onnx", "-l", "list.txt", "--output_dirname", "../x"], "../x"),
                       (["-m", "net.onnx", "-i", "x", "1", "x0.raw", "--act_bitwidth", "8"],
                        "--input_list is needed")):
        rejects(DEBUGGER, *args, says=says)


# --- qairt-accuracy-evaluator


@pytest.mark.parametrize("backend, flags", [
    ("htp", []), ("cpu", ["-act_bw", "16"]), ("htp", ["--comparator=MSE", "-tol_thresh", "0.001"])])
def test_ways_to_quantize_are_ranked(box, backend, flags):
    out = ok(EVALUATOR, "-model", "net.onnx", "-preproc_file", "list.txt", "-backend", backend,
             *flags).stdout
    rows = table("qacc_temp/metrics-info.csv")
    assert [r["Rank"] for r in rows] == ["1", "2", "3"]
    assert {r["Option"] for r in rows} == {"tf", "enhanced", "percentile"}
    assert {r["Scheme"] for r in rows} == {"a16w8" if "-act_bw" in flags else "a8w8"}
    mse = "MSE" in rows[0]["Comparator"]
    ranked = [float(r["Value"]) for r in rows]
    assert ranked == sorted(ranked, reverse=not mse)
    for r in rows:
        found, passed = [], 0
        for i in range(2):
            want = values(i)["y"].ravel().astype(np.float64)
            golden = read(f"qacc_temp/infer/schema0_cpu_fp32/Result_{i}/y.raw")
            np.testing.assert_allclose(golden, want, atol=1e-5)
            e = read(f"qacc_temp/infer/{r['Schema']}/Result_{i}/y.raw") - golden.astype(np.float64)
            signal = (golden.astype(np.float64) ** 2).sum()
            found.append((e ** 2).mean() if mse else 10 * np.log10(signal / (e ** 2).sum()))
            passed += found[-1] <= 0.001 if mse else found[-1] >= 20
        np.testing.assert_allclose(float(r["Value"]), np.mean(found), rtol=1e-6)
        assert (int(r["Passed"]), r["Outputs"]) == (passed, "2")
    assert out.splitlines()[0].split()[1] == rows[0]["Option"]


@pytest.mark.parametrize("args, says", [
    ([], "--model is needed"), (["-model", "net.onnx"], "--preproc_file is needed"),
    (["-model", "gone.onnx", "-preproc_file", "list.txt"], "gone.onnx"),
    (["-model", "net.onnx", "-preproc_file", "gone.txt"], "gone.txt"),
    (["-model", "net.onnx", "-preproc_file", "list.txt", "-bias_bw", "8"], "32 bits"),
    (["-model", "net.onnx", "-preproc_file", "list.txt", "-act_bw", "8", "-weights_bw", "16"],
     "--act_bw 8 with --weights_bw 16"),
    (["-model", "net.onnx", "-preproc_file", "list.txt", "-comparator", "avg"], "verifier 'avg'"),
    (["-config", "x.yaml"], "not published"), (["-backend", "dsp"], "dsp")])
def test_flags_of_the_evaluator_that_are_rejected(box, args, says):
    rejects(EVALUATOR, *args, says=says)
    assert not (box / "qacc_temp/metrics-info.csv").exists()
