# SPDX-License-Identifier: MIT
"""`quern.study`: its table against numpy and onnxruntime, runs that end early, tasks that fail, bad
input, and the same table on Ray where it is installed."""
import csv
import errno
import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

N, SHAPE = 7, (1, 3, 8, 8)
SCHEMES, CHIPS = ["a8w8", "a16w8"], ["SM8650", "SM8750"]
TASKS = 2 * (2 + 2 + 4 + 8)  # of two models in two shards: float, quantize, estimate, evaluate


def net(path, seed):
    rng = np.random.default_rng(seed)
    constants = {"w": rng.standard_normal((4, 3, 3, 3)), "b": rng.standard_normal(4),
                 "m": rng.standard_normal((4, 5))}
    node = lambda op, ins, out, **more: helper.make_node(op, ins, [out], name=out, **more)
    graph = helper.make_graph(
        [node("Conv", ["x", "w", "b"], "c", pads=[1] * 4), node("Relu", ["c"], "r"),
         node("GlobalAveragePool", ["r"], "g"), node("Flatten", ["g"], "f"),
         node("MatMul", ["f", "m"], "y")], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
              path)
    return str(path)


@pytest.fixture
def study(quern):
    import quern.study
    return quern.study


@pytest.fixture
def samples(tmp_path):
    x = np.random.default_rng(5).standard_normal((N, *SHAPE[1:])).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    return x


@pytest.fixture
def make(study, tmp_path, samples):
    """Makes the study of two models, with changes."""
    models = [net(tmp_path / f"net{i}.onnx", i) for i in range(2)]

    def made(out="out", **changes):
        return study.Study(**{"models": models, "schemes": SCHEMES, "chips": CHIPS,
                              "data": tmp_path / "data.npz", "out": tmp_path / out,
                              "shard_size": 4, **changes})
    return made


@pytest.fixture
def wrapped(quern, tmp_path, monkeypatch):
    """Puts a script in front of the program: a line of shell that sees its arguments."""
    def wrap(line):
        real, libs = quern.program(), quern.libs()
        (tmp_path / "wrap" / "bin").mkdir(parents=True)
        (tmp_path / "wrap" / "lib").mkdir()
        for path in libs.iterdir():
            (tmp_path / "wrap" / "lib" / path.name).symlink_to(path)
        script = tmp_path / "wrap" / "bin" / "quern"
        script.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\n{line}\n"
                          f"exec {real} \"$@\"\n")
        script.chmod(0o755)
        monkeypatch.setenv("QUERN_LIB_DIR", str(tmp_path / "wrap" / "lib"))
        return lambda word: (tmp_path / "calls").read_text().count(f"{word} ")
    return wrap


def outputs(quern, folder, model, data, *flags):
    """What the program gives for all samples in one run."""
    folder.mkdir()
    for i, x in enumerate(data):
        np.save(folder / f"{i}.npy", x[None])
    (folder / "list").write_text("".join(f"{i}.npy\n" for i in range(len(data))))
    subprocess.run([quern.program(), "run", model, "--input-list", "list", "--output-dir", "o",
                    "--format", "npy", "-q", *flags], cwd=folder, check=True)
    return np.stack([np.load(folder / "o" / f"Result_{i}" / "y.npy") for i in range(len(data))])


def test_the_table_is_that_of_numpy(quern, make, samples, tmp_path):
    labels = np.arange(N) % 5
    np.save(tmp_path / "labels.npy", labels)
    done = make(labels=tmp_path / "labels.npy").run()
    assert done.n_run == TASKS and not done.failed
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert [(r["model"], r["scheme"], r["chip"]) for r in rows] == [
        (f"net{i}", s, c) for i in range(2) for s in SCHEMES for c in CHIPS]
    session = ort.InferenceSession(str(tmp_path / "net1.onnx"), providers=["CPUExecutionProvider"])
    want = np.float64([session.run(None, {"x": x[None]})[0] for x in samples])
    np.savez(tmp_path / "calibration.npz", x=samples)
    for r in rows[4:]:
        q = tmp_path / f"{r['scheme']}_{r['chip']}.onnx"
        subprocess.run([quern.program(), "quantize", tmp_path / "net1.onnx", "-o", q, "-s",
                        r["scheme"], "-c", tmp_path / "calibration.npz", "-q"], check=True)
        got = np.float64(outputs(quern, tmp_path / q.stem, q, samples, "--backend", "htp", "--soc",
                                 r["chip"]))
        db = 10 * np.log10(np.square(want).sum() / np.square(got - want).sum())
        assert float(r["sqnr_db"]) == pytest.approx(db, abs=0.01) and int(r["samples"]) == N
        top, best = got.argmax(-1).ravel(), want.argmax(-1).ravel()
        assert float(r["agreement"]) == pytest.approx((top == best).mean())
        assert float(r["accuracy"]) == pytest.approx((top == labels).mean())
        assert float(r["float_accuracy"]) == pytest.approx((best == labels).mean())
        estimate = json.loads(subprocess.run(
            [quern.program(), "estimate", q, "--soc", r["chip"], "--json"], check=True,
            capture_output=True).stdout)["estimates"][0]
        assert float(r["ms"]) == estimate["ms"]


def test_a_second_run_does_nothing_and_shards_do_not_matter(make, wrapped, tmp_path):
    calls = wrapped("")
    make().run()
    table, n = (tmp_path / "out" / "results.csv").read_bytes(), calls("run")
    assert make().run().n_run == 0 and calls("run") == n == 2 * 2 + 8 * 2
    assert (tmp_path / "out" / "results.csv").read_bytes() == table
    make("other", shard_size=3, threads=1).run()
    assert (tmp_path / "other" / "results.csv").read_bytes() == table
    more = make(schemes=[*SCHEMES, "fp16"], chips=CHIPS[:1])
    assert more.run().n_run == 2 * 3 and len(more.run().rows) == 6  # estimate and two shards each


def test_calibration_in_shards_is_that_of_the_whole(make, samples, study, tmp_path):
    """Ranges are those of numpy over all samples, for any shards."""
    tables = []
    for name, size in (("one", 100), ("three", 4), ("many", 1)):
        done = make(name, calibration_shard_size=size, n_calibration=6).run()
        assert not done.failed
        tables.append((tmp_path / name / "results.csv").read_bytes())
        kinds = [json.loads(p.read_text())["title"] for p in (tmp_path / name).rglob("*.json")]
        assert sum(": samples" in k for k in kinds) == 2 * len(SCHEMES) * -(-6 // size), kinds
    assert tables[0] == tables[1] == tables[2]
    models = [tmp_path / "many" / p for p in (tmp_path / "many").rglob("*.zip")]
    scales = set()
    for path in models:
        with zipfile.ZipFile(path) as z:
            if "model.onnx" in z.namelist():
                m = onnx.load_from_string(z.read("model.onnx"))
                c = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
                scales |= {float(c[n.input[1]]) for n in m.graph.node
                           if n.op_type == "QuantizeLinear" and n.input[0] == "x" and
                           c[n.input[2]].dtype == np.uint8}
    seen = samples[:6].astype(np.float64)
    assert len(scales) == 1 and scales.pop() == pytest.approx(np.ptp(seen) / 255, rel=1e-6)
    with pytest.raises(study.StudyError, match="calibration_shard_size is 0"):
        make(calibration_shard_size=0)


def test_a_run_that_was_interrupted_goes_on(make, tmp_path):
    make("whole").run()

    def interrupt(done, total, _):
        assert total == TASKS
        if done == 5:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        make().run(progress=interrupt)
    assert not (tmp_path / "out" / "results.csv").exists()
    assert make().run().n_run == TASKS - 5
    assert (tmp_path / "out" / "results.csv").read_bytes() == (
        tmp_path / "whole" / "results.csv").read_bytes()


COMMAND = "import sys; from quern.study import main; sys.exit(main(sys.argv[1:]))"


def command(tmp_path, *more):
    return ["--models", *(str(tmp_path / f"net{i}.onnx") for i in range(2)), "--schemes", *SCHEMES,
            "--chips", *CHIPS, "--data", str(tmp_path / "data.npz"), "--out",
            str(tmp_path / "out"), "--shard-size", "4", *more]


def test_a_run_that_was_killed_goes_on(make, wrapped, site, tmp_path):
    """By the program at its first evaluation, so that a task is under way."""
    wrapped(f"case \"$*\" in *htp*) [ -e {tmp_path}/was ] || "
            f"{{ touch {tmp_path}/was; kill -9 $PPID; exit 1; }};; esac")
    make()
    run = [sys.executable, "-c", COMMAND, *command(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(site)}
    first = subprocess.run(run, env=env, capture_output=True, text=True)
    assert first.returncode == -9
    kept = len(list((tmp_path / "out" / "tasks").glob("*.json")))
    assert kept > 0 and list((tmp_path / "out" / "tmp").iterdir())
    again = subprocess.run(run, env=env, capture_output=True, text=True)
    assert again.returncode == 0 and f" {TASKS - kept} tasks run" in again.stdout, again.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.name != "results.parquet") == [
        ".lock", "blobs", "report.html", "results.csv", "tasks"]


def test_failed_tasks_do_not_stop_others(make, wrapped, study, tmp_path, capsys):
    wrapped('case "$*" in estimate*SM8750*) echo "quern: error: no luck" >&2; exit 1;; esac')
    make()
    (tmp_path / "net0.onnx").write_bytes(b"no model")
    assert study.main(command(tmp_path, "--retries", "2")) == 1
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert [r["status"] for r in rows] == ["failed"] * 4 + ["ok", "failed"] * 2
    assert "net0.onnx" in rows[0]["error"] and rows[5]["error"] == "quern estimate: no luck"
    assert rows[5]["sqnr_db"] == rows[4]["sqnr_db"] != "" and rows[5]["ms"] == ""
    lines = [line for line in capsys.readouterr().err.splitlines() if "pyarrow" not in line]
    assert len(lines) == 6 and lines[4] == (
        "quern.study: net1 a8w8 SM8750: quern estimate: no luck")
    assert (tmp_path / "calls").read_text().count("SM8750 --json") == 2 * 3


def test_a_task_that_fails_once_is_run_again(make, wrapped, tmp_path):
    wrapped(f"case \"$*\" in quantize*) mkdir {tmp_path}/first 2>/dev/null && kill -9 $$;; esac")
    one = {"schemes": SCHEMES[:1], "chips": CHIPS[:1]}
    assert not make(**one).run().failed
    (tmp_path / "first").rmdir()
    assert make("other", retries=0, **one).run().failed


def test_a_task_without_what_it_needs_is_not_run(make, wrapped):
    calls = wrapped('case "$*" in quantize*a16w8*) exit 3;; esac')
    done = make(retries=0).run()
    assert {r["status"] for r in done.rows if r["scheme"] == "a8w8"} == {"ok"}
    assert {r["error"][:33] for r in done.failed} == {"quern quantize ended with code 3: "[:33]}
    assert len(done.failed) == 4 and calls("run") == 4 + 8


def refused(study, capsys, arguments, *words):
    assert study.main(arguments) == 2
    out = capsys.readouterr()
    (line,) = out.err.splitlines()
    assert line.startswith("quern.study: error: ") and out.out == ""
    for word in words:
        assert word in line, line


def test_bad_arguments_are_one_line(make, study, tmp_path, capsys):
    make()
    good = command(tmp_path)

    def changed(flag, *values):
        at = good.index(flag)
        end = next((i for i in range(at + 1, len(good)) if good[i].startswith("--")), len(good))
        return [*good[:at + 1], *map(str, values), *good[end:]]
    refused(study, capsys, changed("--models", tmp_path / "no.onnx"), "no.onnx", "no such file")
    refused(study, capsys, changed("--schemes", "a8w9"), "'a8w9'", "did you mean 'a8w8'?")
    refused(study, capsys, changed("--schemes", "a8w8:best"), "'best'", "minmax")
    refused(study, capsys, changed("--chips", "SM8651"), "'SM8651'", "did you mean")
    refused(study, capsys, changed("--data", tmp_path / "no.npz"), "no.npz", "no such file")
    refused(study, capsys, changed("--data", "other=" + str(tmp_path / "data.npz")), "'other'")
    refused(study, capsys, changed("--models", "a/x.onnx", "b/x.onnx"), "'x'", "NAME=PATH")
    refused(study, capsys, changed("--shard-size", 0), "shard_size is 0")
    refused(study, capsys, changed("--out", tmp_path / "net0.onnx"), "net0.onnx")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arrays,says", [
    ({"x": np.zeros((0, 3, 8, 8), np.float32)}, "no sample"),
    ({"x": np.zeros((2, 3, 8, 9), np.float32)}, "shape [2, 3, 8, 9]; expected samples of"),
    ({"z": np.zeros((2, 3, 8, 8), np.float32)}, "has z; the model's inputs are x"),
    (None, "not a file of numpy"), ("folder", "no sample")])
def test_bad_data_fails_the_rows(make, tmp_path, arrays, says):
    path = tmp_path / "bad.npz"
    if arrays == "folder":
        path.mkdir()
    elif arrays is None:
        path.write_bytes(b"nothing")
    else:
        np.savez(path, **arrays)
    done = make(data={"net0": tmp_path / "data.npz", "net1": path}, schemes=SCHEMES[:1],
                chips=CHIPS[:1], shard_size=N).run()
    assert [r["model"] for r in done.failed] == ["net1"] and len(done.rows) == 2
    assert says in done.failed[0]["error"] and str(path) in done.failed[0]["error"]


def test_samples_come_in_several_forms(make, samples, tmp_path):
    one = {"models": [tmp_path / "net0.onnx"], "schemes": SCHEMES[:1], "chips": CHIPS[:1]}
    make(**one).run()
    table = (tmp_path / "out" / "results.csv").read_bytes()
    np.save(tmp_path / "rows.npy", samples[:, None])  # samples of the input's own shape
    (tmp_path / "folder").mkdir()
    for i, x in enumerate(samples):
        np.save(tmp_path / "folder" / f"{i:03}.npy", x[None])
    for i, data in enumerate(("rows.npy", "folder")):
        make(f"other{i}", data=tmp_path / data, **one).run()
        assert (tmp_path / f"other{i}" / "results.csv").read_bytes() == table


def test_a_full_disk_keeps_what_is_done(make, study, tmp_path, monkeypatch):
    write, left = study._study_table.write_whole, [6]

    def full(path, data):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, data)
    files = sys.modules["quern._study_files"]
    monkeypatch.setattr(files, "write_whole", full)
    with pytest.raises(study.StudyError, match="No space left on device; what is done is kept"):
        make().run()
    monkeypatch.undo()
    kept = len(list((tmp_path / "out" / "tasks").glob("*.json")))
    assert kept == 3 and make().run().n_run == TASKS - kept


def test_damaged_results_are_computed_again(make, tmp_path):
    make().run()
    table = (tmp_path / "out" / "results.csv").read_bytes()
    tasks = sorted((tmp_path / "out" / "tasks").glob("*.json"))
    tasks[0].write_bytes(tasks[0].read_bytes()[:20])
    tasks[1].write_text("[]")
    next((tmp_path / "out" / "blobs").glob("*.zip")).write_bytes(b"")
    assert 2 <= make().run().n_run <= 3
    assert (tmp_path / "out" / "results.csv").read_bytes() == table


def test_one_study_at_a_time(make, study):
    with pytest.raises(study.StudyError, match="another study is running there"):
        make().run(progress=lambda *_: make().run())


def test_the_page_is_whole_and_names_are_text(make, tmp_path):
    name = "</script><b>net"
    done = make(models={name: tmp_path / "net0.onnx"}, chips=CHIPS[:1]).run()
    page = (tmp_path / "out" / "report.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert json.loads(data)["rows"][0]["model"] == name and page.count("<script") == 2
    assert not re.search(r"https?://(?!www\.w3\.org)|url\(|@import|<link|<img", page)
    assert "default-src 'none'" in page and "@DATA@" not in page
    assert done.files[-1] == tmp_path / "out" / "report.html"


def test_parquet_has_the_same_table(make, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    done = make().run()
    assert pq.read_table(tmp_path / "out" / "results.parquet").to_pylist() == done.rows


def test_without_ray_it_says_what_to_install(make, study, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(study.StudyError, match=r"pip install 'quern\[study\]'"):
        make().run(ray=True)


@pytest.fixture
def ray(monkeypatch, quern, site):
    if os.environ.get("QUERN_INSTALLED") != "1":
        monkeypatch.setenv("QUERN_LIB_DIR", str(quern.libs()))
    return pytest.importorskip("ray")


def test_ray_gives_the_same_table(ray, make, tmp_path):
    n_run = make("here", calibration_shard_size=5).run().n_run
    done = make(calibration_shard_size=5).run(ray=True, workers=2)
    assert done.n_run == n_run > TASKS and not done.failed and not ray.is_initialized()
    assert (tmp_path / "out" / "results.csv").read_bytes() == (
        tmp_path / "here" / "results.csv").read_bytes()
    assert make(calibration_shard_size=5).run(ray=True).n_run == 0


def test_ray_survives_a_killed_worker(ray, make, wrapped, tmp_path):
    """The program kills the worker that runs it, at the first evaluation and a quantization."""
    wrapped(f"case \"$*\" in *htp*|quantize*a16w8*) mkdir {tmp_path}/was-$1 2>/dev/null && "
            "{ kill -9 $PPID; exit 1; };; esac")
    done = make().run(ray=True, workers=2)
    assert (tmp_path / "was-run").is_dir() and (tmp_path / "was-quantize").is_dir()
    assert not done.failed
    make("here").run()
    assert (tmp_path / "out" / "results.csv").read_bytes() == (
        tmp_path / "here" / "results.csv").read_bytes()


def test_ray_reports_failed_tasks(ray, make, wrapped):
    wrapped('case "$*" in quantize*a16w8*) echo "quern: error: no luck" >&2; exit 3;; esac')
    done = make().run(ray=True, workers=2)
    assert [r["error"] for r in done.failed] == ["quern quantize: no luck"] * 4
    assert {r["scheme"] for r in done.failed} == {"a16w8"}


def test_no_cluster_at_an_address(ray, make, study):
    with pytest.raises(study.StudyError, match="Ray does not start at 127.0.0.1:1: "):
        make().run(ray="127.0.0.1:1")
