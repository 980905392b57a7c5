# SPDX-License-Identifier: MIT
"""quern profile: logs and tables of known contents, the published linting layout, bad files."""
import csv
import gzip
import json
import struct
import subprocess
from pathlib import Path

import pytest
from harness import BIN, FAILURE, INPUT, USAGE, ok, ok_json, quern

COLUMNS = ["Msg Timestamp", "Message", "Time", "Unit of Measurement", "Timing Source",
           "Event Level", "Event Identifier"]
HEAD = {"quern_profile_log": 1, "app": "test", "app_version": "1", "backend_version": "2.40.0"}


def event(type_, unit, name, value, *below, **more):
    e = {"type": type_, "unit": unit, "identifier": name, "value": value, **more}
    return {**e, "events": list(below)} if below else e


def call(method, graph, start, stop, *events):
    return {"method": method, "start": start, "stop": stop, "start_memory": 0, "stop_memory": 0,
            "public": True, "graph": graph, "events": list(events)}


def write(path, *calls, head=HEAD):
    path.write_text("".join(json.dumps(x) + "\n" for x in (head, *calls)))
    return path


def execute(start, us, scale, *more):
    node = lambda name, i, v: [
        event(404, "cycles", f"{name}:OpId_{i} (cycles)", 900 * v * scale),
        event(404, "microseconds", f"{name}:OpId_{i}", v * scale),
        event(12004, "cycles", f"{name}:OpId_{i} (cycles, modelled)", 100 + i)]
    conv, add = node("conv", 4, 30), node("add", 5, 10)
    return call("BACKEND_EXECUTE", "net", start, start + us,
                event(3003, "cycles", "Accelerator (execute) time (cycles)", 36000 * scale,
                      conv[0], add[0]),
                event(3004, "microseconds", "Accelerator (execute) time", 40 * scale, conv[1],
                      add[1]),
                event(12003, "cycles", "Accelerator (execute) time (cycles, modelled)", 209,
                      conv[2], add[2]),
                event(400, "microseconds", "QNN (execute) time", us, *more))


@pytest.fixture
def log(tmp_path):
    finalize = call("BACKEND_FINALIZE", "net", 1, 8,
                    event(2004, "none", "Performance Estimates", 0),
                    event(300, "microseconds", "QNN (finalize) time", 7))
    return write(tmp_path / "net_qnn.log", finalize, execute(10, 50, 1), execute(100, 95, 2))


def test_calls_of_one_kind_are_added_up(log):
    text = ok("profile", log).stdout
    assert "Finalize Stats:\n---------------\nGraph 0 (net):\n" in text
    assert "    Backend (Performance Estimates):\n" in text
    assert "    Backend (QNN (finalize) time): 7  us\n" in text
    assert "Execute Stats (Average):\n------------------------\nTotal Inference Time:\n" in text
    assert "   Calls: 2\n" in text and "Backend (QNN (execute) time): 72  us" in text
    r = ok_json("profile", log, "--json")
    assert r["app"] == "test" and [g["message"] for g in r["groups"]] == ["Finalize", "Execute"]
    run = r["groups"][1]
    whole = {(e["identifier"], e["unit"]): e for e in run["events"]}
    e = whole["QNN (execute) time", "us"]
    assert (e["average"], e["min"], e["max"], e["count"], e["modelled"]) == (72.5, 50, 95, 2, False)
    assert whole["Accelerator (execute) time (cycles, modelled)", "cycles"]["modelled"]
    assert run["nodes"] == [
        dict(node="conv:OpId_4", measured_us=45, measured_cycles=40500, modelled_cycles=104),
        dict(node="add:OpId_5", measured_us=15, measured_cycles=13500, modelled_cycles=105)]


def test_measured_and_modelled_stand_side_by_side(log):
    lines = ok("profile", log).stdout.splitlines()
    at = lines.index("Nodes of graph 0 (net), average of 2:")
    assert lines[at + 2].split() == "measured us measured cycles modelled cycles node".split()
    assert lines[at + 3].split() == ["45", "75.0%", "40500", "75.0%", "104", "49.8%", "conv:OpId_4"]
    assert lines[at + 4].split() == ["15", "25.0%", "13500", "25.0%", "105", "50.2%", "add:OpId_5"]
    assert "conv:OpId_4 (cycles, modelled): 104  cycles" in ok("profile", "--all", log).stdout
    assert "add" not in ok("profile", "--top", "1", log).stdout


def test_a_table_says_the_same(log, tmp_path):
    path = tmp_path / "net.csv"
    words = {400: "EXECUTE", 300: "FINALIZE", 404: "NODE"}
    units = {"microseconds": "US", "cycles": "CYCLES", "none": "UNKNOWN"}

    def rows(events, level):
        for e in events:
            yield [0, words.get(e["type"], "BACKEND"), e["value"], units[e["unit"]], "BACKEND",
                   level, e["identifier"]]
            yield from rows(e.get("events", []), "SUB-EVENT")

    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(COLUMNS)
        for line in log.read_text().splitlines()[1:]:
            out.writerows(rows(json.loads(line)["events"], "ROOT"))
    a, b = ok_json("profile", log, "--json"), ok_json("profile", path, "--json")
    assert [(g["message"], g["calls"]) for g in b["groups"]] == [("Finalize", 1), ("Execute", 2)]
    assert b["groups"][1]["nodes"] == a["groups"][1]["nodes"]
    mean = lambda g: [(e["identifier"], e["average"]) for e in g["events"]]
    assert mean(b["groups"][1]) == mean(a["groups"][1])


def test_the_trace_has_calls_and_nodes_of_both_kinds(log, tmp_path):
    ok("profile", log, "--trace", tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    of = lambda word: [(e["name"], e["ts"], e["dur"]) for e in events
                       if e["ph"] == "X" and names[e["tid"]].startswith(word)]
    assert of("calls") == [("finalize net", 0, 7), ("execute net", 9, 50), ("execute net", 99, 95)]
    assert of("nodes (measured)") == [("conv:OpId_4", 9, 30), ("add:OpId_5", 39, 10),
                                      ("conv:OpId_4", 99, 60), ("add:OpId_5", 159, 20)]
    assert [(n, d) for n, _, d in of("nodes (modelled")][:2] == [("conv:OpId_4", 0.104),
                                                                 ("add:OpId_5", 0.105)]


def op_trace(version=2):
    """As docs/profiling.md has it: two ops that ran, two modelled steps."""
    text = struct.pack("<I", 3) + b"net"
    ran = struct.pack("<QI", 10**9, 2) + struct.pack("<IIQQQQ", 4, 0, 5000, 9000, 1, 2) + \
        struct.pack("<IIQQQQ", 5, 0, 9500, 9900, 3, 4)
    steps = [(4, 6, 1000, 1500, 3000, 1000, 1400, 1400, 1400),
             (5, 1, 3000, 3200, 4000, 1400, 1400, 1400, 1400)]
    modelled = struct.pack("<Q", 10**9) if version == 3 else b""
    modelled += struct.pack("<I", len(steps))
    for s in steps:
        modelled += struct.pack("<II7Q", *s) + bytes(40 if version == 3 else 0)
    more = modelled if version > 1 else b""
    return b"QRNTRACE" + struct.pack("<I", version) + text + ran + more


def test_htp_otr_02_op_traces_are_drawn_where_they_ran(tmp_path):
    for version in (1, 2, 3):
        block = event(600, "object", "op trace", None, file=None, hex=op_trace(version).hex())
        path = write(tmp_path / f"{version}_qnn.log", execute(10, 50, 1, block))
        ok("profile", path, "--trace", tmp_path / "t.json")
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        names = {e["tid"]: e["args"]["name"].split(" (")[0] for e in events if e["ph"] == "M"}
        seen = sorted((names[e["tid"]], e["name"], round(e["ts"], 6), round(e["dur"], 6))
                      for e in events if e["ph"] == "X")
        modelled = [("matrix unit", "conv:OpId_4", 1.5, 1.5), ("memory", "conv:OpId_4", 1, 0.4),
                    ("vector unit", "add:OpId_5", 3.2, 0.8)]
        measured = [("calls", "execute net", 0, 50), ("nodes", "add:OpId_5", 4.5, 0.4),
                    ("nodes", "conv:OpId_4", 0, 4)]
        assert seen == sorted(measured + (modelled if version >= 2 else []))
    good = op_trace()
    for bad in (good[:-1], good[:9], good[:12] + b"\xff\xff\xff\xff" + good[16:], b"QRNTRACE"):
        block = event(600, "object", "op trace", None, file=None, hex=bad.hex())
        p = quern("profile", write(tmp_path / "bad.log", execute(1, 2, 1, block)), "--trace",
                  tmp_path / "t.json")
        assert p.returncode == FAILURE and "damaged" in p.stderr


# Published critical paths of the runs in linting.tsv; printed averages are cut to whole cycles.
CRITICAL = {"M1": 4327266, "M1-opt": 1374349, "M2": 7866535, "M2-mul": 2741387, "M3": 2789467}


def shown(run):
    lines = (Path(__file__).parent / "linting.tsv").read_text().splitlines()[3:]
    rows = [line.split("\t") for line in lines if line.split("\t")[0] == run]
    return [(name, *map(int, numbers)) for _, name, *numbers in rows]


def linting_log(path, run):
    nodes = [event(404, "cycles", f"{name} (cycles)", spent,
                   event(5001, "cycles", "Wait (Scheduler) time", wait),
                   event(5002, "cycles", "Overlap time", over,
                         *([event(404, "none", "background", 1)] if over else [])),
                   event(5003, "cycles", "Overlap (wait) time", waiting),
                   event(5004, "none", "Resources", units))
             for name, spent, wait, over, waiting, units in shown(run)]
    return write(path, call("BACKEND_EXECUTE", run, 1, 2,
                            event(6001, "cycles",
                                  "Accelerator (critical path execute) time (cycles)",
                                  CRITICAL[run], *nodes)))


def test_htp_prf_14_show_01_linting_is_laid_out_as_published(tmp_path):
    path = linting_log(tmp_path / "lint.log", "M1")
    want = ["   Backend (Accelerator (critical path execute) time (cycles)): 4327266  cycles"]
    for name, spent, wait, over, waiting, units in shown("M1"):
        words = ", ".join(w for i, w in enumerate(("HVX", "HMX", "DMA")) if units >> i & 1)
        want += [f"      {name} (cycles): {spent}  cycles",
                 f"            Wait (Scheduler) time: {wait}  cycles",
                 f"            Overlap time: {over}  cycles",
                 *(["               background"] if over else []),
                 f"            Overlap (wait) time: {waiting}  cycles",
                 f"            Resources: {words}"]
    for text in (ok("profile", "--all", path).stdout, views("--input_log", path)):
        assert "\n".join(want) + "\n" in text


@pytest.mark.parametrize("run", CRITICAL)
def test_htp_prf_13_show_02_published_runs_add_up(tmp_path, run):
    r = ok_json("profile", "--json", linting_log(tmp_path / "lint.log", run))
    (critical,) = r["groups"][0]["events"]
    assert critical["average"] == CRITICAL[run]
    below = [(e["average"], *(x["average"] for x in e["events"])) for e in critical["events"]]
    assert 0 <= critical["average"] - sum(spent + wait for spent, wait, *_ in below) <= 10
    assert all(over <= spent and waiting <= wait for spent, wait, over, waiting, _ in below)
    share = lambda i: (100 * below[i][0] / CRITICAL[run], 100 * below[i][2] / below[i][0])
    if run == "M1":
        assert [round(x, 1) for x in share(8)] == [50.0, 21.5]  # the subtraction
    if run == "M2":
        assert [round(x, 1) for x in share(8)] == [67.9, 9.9]  # the division


# --- the program of the published name


def viewer(*args, cwd=None):
    program = Path(BIN).resolve().parent / "qnn-profile-viewer"
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, cwd=cwd)


def views(*args, cwd=None):
    p = viewer(*args, cwd=cwd)
    assert p.returncode == 0 and not p.stderr, p.stderr
    return p.stdout


def test_htp_prf_14_the_viewer_prints_averages_and_writes_a_table(log, tmp_path):
    text = views("--input_log", log, "--output", tmp_path / "t.csv")
    average, least, most = (text.split(f"Execute Stats ({w}):")[1].split("\n\n")[0]
                            for w in ("Average", "Min", "Max"))
    line = "   Backend (QNN (execute) time): {}  us"
    assert line.format(72) in average and line.format(50) in least and line.format(95) in most
    assert "      conv:OpId_4 (cycles): 40500  cycles" in average
    with open(tmp_path / "t.csv", newline="") as f:
        rows = list(csv.reader(f))
    assert rows[0] == COLUMNS
    assert rows[2] == ["1", "FINALIZE", "7", "US", "BACKEND", "ROOT", "QNN (finalize) time"]
    assert ["10", "NODE", "104", "CYCLES", "BACKEND", "SUB-EVENT",
            "conv:OpId_4 (cycles, modelled)"] in rows
    nodes = lambda path: ok_json("profile", "--json", path)["groups"][1]["nodes"]
    assert nodes(tmp_path / "t.csv") == nodes(log)
    both = views("--input_log", f"{log},{log}")
    assert line.format(72) in both  # the same twice


def test_htp_prf_14_the_htp_reader_lists_each_run(log):
    text = views("--input_log", log, "--reader", "lib/libQnnHtpProfilingReader.so")
    assert text == views("--input_log", log, "--reader", "libQnnGpuProfilingReader.so")
    assert "Finalize Stats:\nPerformance Estimates :\nQNN (finalize) time : 7 us\n" in text
    first, second = text.split("Execute Stat 0\n")[1].split("Execute Stat 1\n")
    assert "QNN (execute) time : 50  us\n" in first and "QNN (execute) time : 95  us\n" in second
    assert "   conv:OpId_4 (cycles) : 27000  cycles\n" in first


def test_other_readers_write_json(log, tmp_path):
    out = tmp_path / "o.json"
    views("--input_log", log, "--reader", "libQnnJsonProfilingReader.so", "--output", out)
    assert json.loads(out.read_text()) == ok_json("profile", log, "--json")
    for name, more in (("t.json", []), ("t.json.gz", []), ("u", ["--gzip"])):
        views("--input_log", log, "--reader", "libQnnChrometraceProfilingReader.so", "--output",
              tmp_path / name, *more)
        data = (tmp_path / name).read_bytes()
        data = data if name == "t.json" else gzip.decompress(data)
        assert len([e for e in json.loads(data)["traceEvents"] if e["ph"] == "X"]) == 11


def test_htp_otr_02_the_optrace_reader_needs_a_schematic(tmp_path):
    block = event(600, "object", "op trace", None, file="../../op.bin", hex=op_trace().hex())
    path = write(tmp_path / "p.log", execute(10, 50, 1, block))
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"something else")
    args = ["--input_log", path, "--reader", "optrace", "--output", tmp_path / "t.json"]
    for more in ([], ["--schematic", bad], ["--schematic", tmp_path / "none"]):
        p = viewer(*args, *more)
        assert p.returncode == INPUT and "No Valid Input Schematics" in p.stderr
    folder = tmp_path / "in"
    folder.mkdir()
    views("--input_log", path, "--extract_opaque_objects", cwd=folder)
    assert [(f.name, f.read_bytes()) for f in folder.iterdir()] == [("0_op.bin", op_trace())]


@pytest.mark.parametrize("args, says", [
    ([], "--input_log is needed"),
    (["--reader", "libQnnDspProfilingReader.so"], "no such reader"),
    (["--input_log", "x", "--zoom_start", "a"], "--zoom_start is for the reader optrace"),
    (["--input_log", "x", "--config", "a"], "--config is for the reader optrace"),
    (["--reader", "libQnnJsonProfilingReader.so", "--input_log", "x"], "needs --output"),
    (["--inptu_log", "x"], "did you mean '--input_log'"), (["x"], "unexpected argument 'x'")])
def test_the_viewer_refuses_in_words(args, says):
    p = viewer(*args)
    assert p.returncode == USAGE and says in p.stderr and "qnn-profile-viewer: " in p.stderr


@pytest.mark.parametrize("text, says", [
    ("", "neither a profile log"), ("hello\n", "neither a profile log"),
    (json.dumps(HEAD) + "\n{\n", ":2:"), (json.dumps(HEAD) + "\n[]\n", ":2: not an object"),
    (json.dumps(HEAD) + '\n{"method": "X", "events": [1]}\n', ":2:"),
    (json.dumps(HEAD) + '\n{"events": ' + '[{"events": ' * 40 + "[]" + "}]" * 40 + "}\n", ":2:"),
    (",".join(COLUMNS) + "\n1,2,3\n", ":2: a row of fewer than 7 columns"),
    (",".join(COLUMNS) + "\n0,EXECUTE,soon,US,BACKEND,ROOT,x\n", ":2: the column Time"),
    (",".join(COLUMNS) + "\n0,NODE,1,US,BACKEND,SUB-EVENT,x\n", ":2: a SUB-EVENT of nothing")])
def test_other_files_are_refused_with_their_line(tmp_path, text, says):
    path = tmp_path / "p"
    path.write_text(text)
    p = quern("profile", path)
    assert p.returncode == INPUT and str(path) in p.stderr and says in p.stderr


def test_a_missing_file_is_named(tmp_path):
    p = quern("profile", tmp_path / "none.log")
    assert p.returncode == FAILURE and "none.log" in p.stderr


def test_a_number_that_no_counter_can_hold_is_the_largest(tmp_path):
    big = call("BACKEND_EXECUTE", "net", 1, 2, event(400, "microseconds", "QNN time", 1e300))
    r = ok_json("profile", write(tmp_path / "big.log", big), "--json")
    assert r["groups"][0]["events"][0]["max"] == 2**63 - 1
