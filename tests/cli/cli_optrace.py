# SPDX-License-Identifier: MIT
"""qnn-profile-viewer --reader optrace: trace, analysis summary and graph of known executions.
Expected values are computed here from the numbers that the op trace is made of."""
import gzip
import html.parser
import itertools
import json
import re
import struct

import pytest
from cli_estimate_files import browse, in_browser
from cli_profile import call, event, viewer, views, write
from harness import INPUT, USAGE

MHZ = 1500
EVIL = "</script><img src=x onerror=alert(1)>&\"'"
NONE = 2**32 - 1
#        id  name     type               inputs  outputs (values by index)
OPS = [(4, "conv", "Conv2d", [0, 1], [2]), (5, "relu", "Relu", [2], [3]),
       (6, EVIL, "Softmax", [3, NONE], [4]), (7, "side", "ElementWiseAdd", [2, 3], [5]),
       (8, "last", "Conv2d", [4, 5], [6])]
#         tensor, storage, bytes, name, type, dims
VALUES = [(1, 2, 16, "x", 0x408, [1, 2, 2, 4]), (2, 1, 64, "w", 0x408, [4, 4]),
          (3, 0, 16, "c", 0x408, [1, 2, 2, 4]), (4, 0, 16, "r", 0x408, [16]),
          (0, 0, 16, "", 0x408, [16]), (5, 0, 16, "a", 0x408, [16]), (6, 2, 16, "y", 0x408, [])]
# id, engines, begin, run, end, fetch, swap (ns), weights, fills, spills, reads, writes (bytes)
STEPS = [(4, 6, 1000, 1400, 3000, (1000, 1300), (0, 0), 64, 0, 0, 80, 16),
         (6, 1, 3000, 3100, 4000, (0, 0), (3200, 3800), 0, 30, 10, 16, 16),
         (7, 1, 4000, 4200, 5000, (0, 0), (0, 0), 0, 7, 0, 32, 16),
         (8, 6, 5000, 5500, 6000, (2000, 5400), (0, 0), 64, 0, 0, 96, 16)]
PLACES = [(1, 0, 0, 16, 4, 4), (2, 1, 128, 64, 4, 4), (3, 0, 256, 16, 4, 7), (5, 0, 384, 16, 7, 8)]


def text(s):
    return struct.pack("<I", len(s.encode())) + s.encode()


def words(*list_):
    return struct.pack(f"<{len(list_) + 1}I", len(list_), *list_)


def schematic(graph="net", version=3):
    out = b"QRNSCHEM" + struct.pack("<I", version) + text(graph) + struct.pack("<I", len(VALUES))
    for tensor, storage, size, name, type_, dims in VALUES:
        out += struct.pack("<IIQQ", tensor, storage, 0, size) + text(name)
        out += struct.pack("<I", type_) + words(*dims)
    out += struct.pack("<I", len(OPS))
    for id_, name, type_, ins, outs in OPS:
        out += struct.pack("<I", id_) + text(name) + text(type_) + words(*ins) + words(*outs)
    out += struct.pack("<II", 4 << 20, len(PLACES))
    return out + b"".join(struct.pack("<6I", *p) for p in PLACES)


def trace(graph="net", steps=STEPS, hz=MHZ * 10**6):
    out = b"QRNTRACE" + struct.pack("<I", 3) + text(graph) + struct.pack("<QI", 10**9, 2)
    out += struct.pack("<IIQQQQ", 4, 0, 5000, 9000, 1, 2)
    out += struct.pack("<IIQQQQ", 8, 0, 9500, 9900, 3, 4)
    out += struct.pack("<QI", hz if steps else 0, len(steps))
    for id_, engines, begin, run, end, fetch, swap, *moved in steps:
        out += struct.pack("<II12Q", id_, engines, begin, run, end, *fetch, *swap, *moved)
    return out


def execution(block, start=10):
    return call("BACKEND_EXECUTE", "net", start, start + 50,
                event(400, "microseconds", "QNN (execute) time", 50,
                      event(600, "object", "op trace", None, file=None, hex=block.hex())),
                event(3010, "microseconds", "Time for initial VTCM acquire", 3),
                event(3011, "microseconds", "Time for HVX + HMX power on and acquire", 2),
                event(3009, "count", "Num times yield occured", 1,
                      event(3006, "microseconds", "Yield release time", 1),
                      event(3007, "microseconds", "Yield wait time", 4),
                      event(3008, "microseconds", "Yield restore time", 2)))


@pytest.fixture
def look(tmp_path):
    """Runs the reader and gives what it wrote by the ends of names."""
    def look(*args, calls=None, features=None, name="out.json", fails=None, graph="net"):
        log = write(tmp_path / "p.log", *(calls or [execution(trace())]))
        (tmp_path / "s.bin").write_bytes(schematic(graph))
        folder = tmp_path / f"in{len([*tmp_path.iterdir()])}"
        folder.mkdir()
        more = []
        if features is not None:
            (tmp_path / "c.json").write_text(json.dumps({"features": features}))
            more = ["--config", tmp_path / "c.json"]
        all_ = ["--reader", "optrace", "--input_log", log, "--schematic", tmp_path / "s.bin",
                "--output", folder / name, *more, *args]
        if fails:
            p = viewer(*all_)
            assert p.returncode == fails and not [*folder.iterdir()], p
            return p.stderr
        views(*all_)
        return {f.name.replace("out", "", 1): f for f in folder.iterdir()}
    return look


def load(path):
    return json.loads(path.read_text())


PAGE, SUMMARY = "_qnn_htp_analysis_summary.html", "_qnn_htp_analysis_summary.json"


# --- what must come out


def pieces(keep=None):
    """(node, HTP op, unit, begin, end, DRAM read, write, VTCM read, write) in cycles."""
    names = {o[0]: (o[1], o[2]) for o in OPS}
    for id_, engines, _, run, end, fetch, swap, weights, fills, spills, reads, writes in STEPS:
        name, type_ = names[id_]
        if keep and name not in keep:
            continue
        at = lambda ns: ns * MHZ / 1000
        if weights:
            yield name, "DramToTcm", "DMA", at(fetch[0]), at(fetch[1]), weights, 0, 0, weights
        if fills:
            first, last = swap if swap[1] else (end, end)
            middle = first + (last - first) * fills / (fills + spills)
            yield name, "DramToTcm", "DMA", at(first), at(middle), fills, 0, 0, fills
            if spills:
                yield name, "TcmToDram", "DMA", at(middle), at(last), 0, spills, spills, 0
        yield (name, type_, "HMX" if engines & 2 else "HVX", at(run), at(end), 0, 0, reads, writes)


RANK = {("HMX", ""): 0, ("HVX", ""): 1, ("DMA", "DramToTcm"): 2, ("DMA", "TcmToDram"): 3}


def path_of(list_):
    """The piece of highest priority between any two moments."""
    times = sorted({t for p in list_ for t in p[3:5]})
    out = []
    for a, b in itertools.pairwise(times):
        active = [p for p in list_ if p[3] <= a and p[4] >= b and p[4] > p[3]]
        if not active:
            continue
        top = min(active, key=lambda p: (RANK[p[2], p[1] if p[2] == "DMA" else ""], p[3]))
        if out and out[-1][0] is top and out[-1][2] == a:
            out[-1] = (top, out[-1][1], b)
        else:
            out.append((top, a, b))
    return out


def close(got, want):
    """Equal numbers in lists of lists."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(map(close, got, want))
    return got == pytest.approx(want, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("zoom, keep", [
    (None, None), (("conv", EVIL), {"conv", EVIL}), (("relu", "side"), {"conv", "side"}),
    (("side", "side"), {"side"})])
def test_the_summary_adds_up(look, zoom, keep):
    args = ["--zoom_start", zoom[0], "--zoom_end", zoom[1]] if zoom else []
    data = load(look(*args, features={"qhas_json": True})[SUMMARY])["data"]
    list_ = [*pieces(keep)]
    path = path_of(list_)
    begin, end = min(p[3] for p in list_), max(p[4] for p in list_)
    (row,) = data["htp_overall_summary"]["data"]
    assert close(row["timeline_cycles"], end - begin)
    assert close(row["time_us"], (end - begin) / MHZ)
    assert close(row["inferences_per_second"], 1e6 * MHZ / (end - begin))
    assert close(row["percent_idle"], 100 - 100 * sum(b - a for _, a, b in path) / (end - begin))
    assert row["graph_execute_us"] == 50 and row["source"] == "modelled"
    assert row["total_dram"] == sum(p[5] + p[6] for p in list_)
    assert row["total_vtcm"] == sum(p[7] + p[8] for p in list_)
    for thread in row["htp_resources"]["data"]:
        mine = [p for p in list_ if p[2] == thread["type"]]
        used = sum(p[4] - p[3] for p in mine)
        keys = ("start_cycle", "end_cycle", "cycles_used", "utilization")
        assert close([thread[k] for k in keys],
                     [min(p[3] for p in mine), max(p[4] for p in mine), used,
                      100 * used / (end - begin)])
        assert [thread[k] for k in ("dram_read", "dram_write", "vtcm_read", "vtcm_write")] == [
            sum(p[k] for p in mine) for k in range(5, 9)]
    assert {t["type"] for t in row["htp_resources"]["data"]} == {p[2] for p in list_}
    seen = [(p["op"], p["qnn_op"], p["start_cycle"], p["end_cycle"]) for p in
            data["htp_op_instances"]["data"]]
    assert [s[:2] for s in seen] == [(p[1], p[0]) for p in list_]
    assert close([s[2:] for s in seen], [p[3:5] for p in list_])
    walked = [(p["qnn_op"], p["htp_op"]) for p in data["dominant_path_htp_0"]["data"]]
    assert walked == [(p[0], p[1]) for p, _, _ in path]
    assert close([(p["start_cycle"], p["end_cycle"], p["dp_cycles"])
                  for p in data["dominant_path_htp_0"]["data"]],
                 [(a, b, b - a) for _, a, b in path])
    active = sum(p[4] - p[3] for p in list_)
    types = {o[1]: o[2] for o in OPS}
    for section, of in (("qnn_op_types", lambda p: types[p[0]]), ("htp_op_types", lambda p: p[1])):
        rows = {r["op"]: r for r in data[section]["data"]}
        assert rows.keys() == {of(p) for p in list_}
        for op, r in rows.items():
            mine = [p for p in list_ if of(p) == op]
            assert close(r["cycles"], sum(p[4] - p[3] for p in mine))
            assert r["vtcm_read"] == sum(p[7] for p in mine)
            if section == "qnn_op_types":
                assert close(r["percent_of_active_cycles"], 100 * r["cycles"] / active)
            else:
                assert r["instances"] == len(mine)
    nodes = data["qnn_op_instances_nodes"]["data"]
    assert close({r["op"]: r["dominant_path_cycles"] for r in nodes},
                 {n: sum(b - a for p, a, b in path if p[0] == n) for n in {p[0] for p in list_}})


def test_utilisation_as_published(look):
    """TOOL-QHS-02: 275961 of 513086 cycles are 53.7846 %."""
    steps = [(4, 2, 0, 0, 275961, (0, 0), (0, 0), 0, 0, 0, 0, 0),
             (6, 1, 275961, 300000, 513086, (0, 0), (0, 0), 0, 0, 0, 0, 0)]
    files = look(calls=[execution(trace(steps=steps, hz=10**9))], features={"qhas_json": True})
    (row,) = load(files[SUMMARY])["data"]["htp_overall_summary"]["data"]
    assert [t["utilization"] for t in row["htp_resources"]["data"] if t["type"] == "HMX"] == [
        pytest.approx(53.7846, abs=5e-5)]


def test_the_trace_has_units_counters_and_what_the_engine_did(look):
    t = load(look(calls=[execution(trace()), execution(trace(), 100)])[".json"])
    assert t["header"]["artifact_type"] == "OP_TRACE" and "Quern" in t["header"]["producer"]
    events = t["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {256: "Core:0 Type: HMX Tid: 256", 512: "Core:0 Type: HVX Tid: 512",
                     768: "Core:0 Type: DMA Tid: 768", 1: "net Runtraces", 2: "net Yields"}
    list_ = [*pieces()]
    end = max(p[4] for p in list_)
    offsets = [5 * MHZ, 5 * MHZ + end + 5 * MHZ]  # acquire and power on come first
    units = [e for e in events if e["ph"] == "X" and e["tid"] > 2]
    assert close([(e["ts"], e["dur"]) for e in units],
                 [(o + p[3], p[4] - p[3]) for o in offsets for p in list_])
    assert [(e["name"], e["args"]["HTP Op Type"], e["args"]["Unit"]) for e in units] == [
        p[:3] for p in list_] * 2
    around = [(e["name"], e["ts"], e["dur"], e["args"]["summary_time_us"])
              for e in events if e["ph"] == "X" and e["tid"] == 1]
    begin = min(p[3] for p in list_)
    want = [[("VTCM Acquire", o - 5 * MHZ, 3 * MHZ, 3),
             ("Resource Power On", o - 2 * MHZ, 2 * MHZ, 2),
             ("Graph Execute", o + begin, end - begin, (end - begin) / MHZ)] for o in offsets]
    assert [a[0] for a in around] == [w[0] for w in sum(want, [])]
    assert close([a[1:] for a in around], [w[1:] for w in sum(want, [])])
    assert [(e["name"], e["dur"]) for e in events if e["ph"] == "X" and e["tid"] == 2] == [
        ("Yield release time", MHZ), ("Yield wait time", 4 * MHZ),
        ("Yield restore time", 2 * MHZ)] * 2
    for name, k in (("DRAM read", 5), ("DRAM write", 6), ("VTCM read", 7), ("VTCM write", 8)):
        seen = [(e["ts"] - offsets[0], e["args"]["bytes per cycle"]) for e in events
                if e["ph"] == "C" and e["name"] == name and e["ts"] < offsets[0] + end + 1]
        moves = [p for p in list_ if p[k] and p[4] > p[3]]
        times = sorted({t for p in moves for t in p[3:5]})
        rate = lambda t: sum(p[k] / (p[4] - p[3]) for p in moves if p[3] <= t < p[4])
        assert close(seen, [(t, rate(t)) for t in times])
    order = [s[0] for s in STEPS]
    taken = lambda i: sum(p[3] for p in PLACES if order.index(p[4]) <= i <= order.index(p[5]))
    levels = [(e["ts"] - offsets[0], e["args"]["bytes"]) for e in events
              if e["ph"] == "C" and e["name"] == "VTCM alloc"][:5]
    assert close(levels, [(s[2] * MHZ / 1000, taken(i)) for i, s in enumerate(STEPS)] + [(end, 0)])


def arrows(events, name):
    """(thread, ns) of both ends."""
    ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == name}
    ns = lambda e: round(e["ts"] * 1000 / MHZ)
    return sorted((s["tid"], ns(s), ends[s["id"]]["tid"], ns(ends[s["id"]]))
                  for s in events if s["ph"] == "s" and s["cat"] == name)


def test_arrows_show_data_and_order(look):
    events = load(look(features=dict(enable_input_output_flow_events=True,
                                     enable_sequencer_flow_events=True, runtrace=False,
                                     memory_info=False))[".json"])["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "s", "f"}
    assert not [e for e in events if e.get("tid") in (1, 2)]
    # conv feeds Softmax and the addition (which reads it and its activation), both feed the last.
    assert arrows(events, "data") == [(256, 3000, 512, 3100), (256, 3000, 512, 4200),
                                      (256, 3000, 512, 4200), (512, 4000, 256, 5500),
                                      (512, 5000, 256, 5500)]
    assert arrows(events, "sequencer") == [(256, 3000, 512, 3100), (512, 4000, 512, 4200),
                                           (512, 5000, 256, 5500), (768, 1300, 256, 1400),
                                           (768, 5400, 256, 5500)]


def test_the_graph_is_written_for_viewers(look):
    g = load(look()["_htp.json"])
    assert g["model.cpp"] == "net" and set(g["op_types"]) == {o[2] for o in OPS}
    nodes, tensors = g["graph"]["nodes"], g["graph"]["tensors"]
    name_of = lambda v: VALUES[v][3] or f"temporary_{v}"
    cycles = {n: sum(p[4] - p[3] for p in pieces() if p[0] == n) for n in nodes}
    for id_, name, type_, ins, outs in OPS:
        n = nodes[name]
        assert n["type"] == type_ and n["output_names"] == [*map(name_of, outs)]
        assert n["input_names"] == [name_of(v) for v in ins if v != NONE]
        assert close([*n["scalar_params"]["cycles"].values()], [cycles[name]])
        kinds = {k: int(t) for k, v in n["scalar_params"].items() for t in v}
        assert kinds.items() <= dict(op_id=0x164, cycles=0x232, dominant_path_cycles=0x232,
                                     dram_bytes=0x164, vtcm_bytes=0x164, unit=0x608,
                                     runs_within=0x608).items()
    assert [*nodes["relu"]["scalar_params"]["runs_within"].values()] == ["conv"]
    assert tensors.keys() == {name_of(v) for v in range(len(VALUES))}
    assert [(tensors[k]["type"], tensors[k]["current_dims"]) for k in ("x", "w", "c", "y")] == [
        (0, [1, 2, 2, 4]), (4, [4, 4]), (3, [1, 2, 2, 4]), (1, [])]
    zoomed = load(look("--zoom_start", EVIL, "--zoom_end", "last")["_htp.json"])["graph"]
    assert zoomed["nodes"].keys() == {EVIL, "last"}


def test_features_choose_files(look):
    assert look().keys() == {".json", PAGE, "_htp.json"}
    assert look(features=dict(htp_json=False, qhas_json=True, qhas_schema=True)).keys() == {
        ".json", PAGE, SUMMARY, "qhas_schema.json"}
    assert look("--standardized_json_output").keys() == {
        ".json", PAGE, "_htp.json", "_profile.json"}
    for args in (dict(name="out.json.gz"), dict(features={"gzip": True})):
        files = look(**args)
        (path,) = [f for f in files.values() if f.name in ("out.json", "out.json.gz")]
        assert json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def conforms(value, schema, at="$"):
    """As much of JSON Schema as the schema uses."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float),
             "integer": int, "null": type(None)}
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, kinds[k]) and (k == "boolean") == isinstance(value, bool)
               for k in wanted), (at, value)
    assert not schema.keys() - {"type", "required", "properties", "items", "minimum", "$schema",
                                "title", "description"}
    assert "minimum" not in schema or value >= schema["minimum"], at
    for key in schema.get("required", []):
        assert key in value, (at, key)
    for key, below in schema.get("properties", {}).items():
        if key in value:
            conforms(value[key], below, f"{at}.{key}")
    if "items" in schema:
        for i, item in enumerate(value):
            conforms(item, schema["items"], f"{at}[{i}]")


@pytest.mark.parametrize("steps", [STEPS, []])
def test_the_summary_follows_its_schema(look, steps):
    files = look(calls=[execution(trace(steps=steps))],
                 features=dict(qhas_json=True, qhas_schema=True))
    summary = load(files[SUMMARY])
    conforms(summary, load(files["qhas_schema.json"]))
    if not steps:  # without a chip: what was measured, a cycle a nanosecond
        (row,) = summary["data"]["htp_overall_summary"]["data"]
        assert row["timeline_cycles"] == 4900 and "measured" in row["source"]
        assert [t["cycles_used"] for t in row["htp_resources"]["data"]] == [4400]


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.data, self.inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.inside = dict(attrs).get("id") == "data"
        assert not {"src", "href", "onerror"} & dict(attrs).keys()

    def handle_data(self, data):
        self.data += data if self.inside else ""

    def handle_endtag(self, tag):
        self.inside = False


def test_the_page_is_one_file_and_names_stay_text(look):
    files = look(features={"qhas_json": True})
    tags = Tags(files[PAGE].read_text())
    assert "img" not in tags.seen and "link" not in tags.seen
    assert json.loads(tags.data) == load(files[SUMMARY])
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", files[PAGE].read_text())


def table(dom, section):
    part = dom.split(f'<details id="{section}"')[1].split("</details>")[0]
    body = part.split("<tbody>")[1].split("</tbody>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", r) for r in body.split("</tr>")[:-1]]
    return [[html.unescape(c) for c in r] for r in rows], part


@in_browser
def test_a_browser_sorts_filters_and_draws(look, tmp_path):
    page = look()[PAGE]
    list_ = [*pieces()]
    state = ("#sort=htp_op_instances:cycles:desc&filter=htp_op_instances:op:DRAM"
             "&filter=htp_op_instances:qnn_op:n&chart=qnn_op_types:vtcm_read")
    dom = browse(tmp_path, f"{page}{state}", "--dump-dom")
    rows, part = table(dom, "htp_op_instances")
    mine = sorted((p for p in list_ if "dram" in p[1].lower() and "n" in p[0].lower()),
                  key=lambda p: p[3] - p[4])
    assert [(r[0], r[1]) for r in rows] == [(p[1], p[0]) for p in mine] and len(mine) < len(list_)
    assert 'aria-sort="descending"' in part
    rows, part = table(dom, "qnn_op_types")
    types = {o[1]: o[2] for o in OPS}
    reads = {t: sum(p[7] for p in list_ if types[p[0]] == t) for t in types.values()}
    for name, n in reads.items():
        if n:
            assert f"{name}: {100 * n / sum(reads.values()):.1f} %" in part
    assert part.count("<path") == sum(n > 0 for n in reads.values())
    rows, _ = table(dom, "qnn_op_instances_nodes")
    assert EVIL in [r[0] for r in rows] and "<img" not in dom


# --- what is rejected


@pytest.mark.parametrize("args, says", [
    (["--zoom_start", "conv"], "go together"), (["--zoom_end", "conv"], "go together")])
def test_flags_that_do_not_go(look, args, says):
    assert says in look(*args, fails=USAGE)


@pytest.mark.parametrize("args, says", [
    (["--zoom_start", "conv", "--zoom_end", "nothing"],
     "--zoom_end nothing: graph 'net' has no node"),
    (["--zoom_start", "last", "--zoom_end", "conv"], "no path of graph 'net' leads"),
    (["--zoom_start", EVIL, "--zoom_end", "side"], "no path")])
def test_a_zoom_that_leads_nowhere(look, args, says):
    assert says in look(*args, fails=INPUT)


@pytest.mark.parametrize("config, says", [
    ('{"features": {"htp_jsn": true}}',
     "features.htp_jsn: no such feature; known are enable_input"),
    ('{"features": {"gzip": 1}}', "features.gzip: neither true nor false"),
    ('{"feature": {}}', "feature: no such key"), ("{}", "with the key features"), ("[", "c.json:1"),
    ('{"features": []}', "with the key features"), ('{"features": ' * 3000, "c.json"),
    ('{"features": {"gzip": true, "gzip": false}}', "duplicate")])
def test_configs_are_checked(look, tmp_path, config, says):
    (tmp_path / "c.json").write_text(config)
    assert says in look("--config", tmp_path / "c.json", fails=INPUT)


def test_traces_and_schematics_that_do_not_fit(look, tmp_path):
    assert "no op trace" in look(calls=[call("BACKEND_EXECUTE", "net", 1, 2)], fails=INPUT)
    assert "is of graph 'other', op traces of the profile are of 'net'" in look(graph="other",
                                                                               fails=INPUT)
    good = trace()
    for cut in (good[:-1], good[:20], b"QRNTRACE"):
        assert "damaged" in look(calls=[execution(cut)], fails=INPUT)
    for cut in range(0, len(schematic()), 7):
        bad = tmp_path / "bad.bin"
        bad.write_bytes(schematic()[:cut])
        p = viewer("--reader", "optrace", "--input_log", tmp_path / "p.log", "--schematic", bad,
                   "--output", tmp_path / "x.json")
        assert p.returncode == INPUT and "No Valid Input Schematics" in p.stderr
    bad.write_bytes(schematic(version=2))
    p = viewer("--reader", "optrace", "--input_log", tmp_path / "p.log", "--schematic", bad,
               "--output", tmp_path / "x.json")
    assert p.returncode == INPUT and "of another version" in p.stderr
