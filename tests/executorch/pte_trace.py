# SPDX-License-Identifier: MIT
"""What the runner tells of a run: etdump files, profiles, outputs of delegates, votes for clocks.

The etdump is read here by its published schema: ETDump {version, runs}, run {name, input,
allocators, events}, event {profile, allocation, debug} and so on, fields in this order.
"""
import re
import struct

import numpy as np
import pytest
from flat_reader import Table
from harness_pte import refused, run
from onnx import helper as h
from pte_delegate import A, B, compiled, graph, program, two_by_two
from pte_writer import Program, Ref, blob, spec


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("two"), {"forward": two_by_two()})


def read_events(path):
    """[(name of the block, [event])]; an event is a dict."""
    data = path.read_bytes()
    size, root = struct.unpack_from("<II", data)
    assert size == len(data) - 4 and data[8:12] == b"ED00"
    dump = Table(data, 4 + root)
    assert dump.number(0, "I") == 0
    blocks = []
    for one in dump.tables(1):
        assert one.number(1, "i") == -1 and one.place(2) is None
        events = []
        for event in one.tables(3):
            assert event.place(1) is None
            p, d = event.table(0), event.table(2)
            assert (p is None) != (d is None)
            if p:
                events.append({"name": p.text(0), "chain": p.number(1, "i"),
                               "instruction": p.number(2, "i"), "id": p.number(3, "i"),
                               "text": p.text(4), "start": p.number(6, "Q"),
                               "end": p.number(7, "Q")})
            else:
                value = d.table(2)
                assert value.number(0, "b") == 5
                t = value.table(1)
                events.append({"chain": d.number(0, "Q"), "instruction": d.number(1, "i"),
                               "id": d.number(3, "i"), "text": d.text(4),
                               "type": t.number(0, "b"), "sizes": t.numbers(1, "q"),
                               "strides": t.numbers(2, "q"), "offset": t.number(3, "q")})
        blocks.append((one.text(0), events))
    return blocks


def test_calls_and_their_times(tmp_path, binary):
    p = Program()
    m = p.method()
    a, b = m.input((2, 3)), m.input((2, 3))
    d, q, r = (m.tensor((2, 3)) for _ in range(3))
    m.delegate(blob(binary), spec(), [a, b, d, q])
    m.call("aten::neg.out", Ref(d), Ref(r), Ref(r))
    m.output(r)
    done, _ = run(tmp_path, p, [[A, B], [B, A]], "--iteration=2", "--warm_up=1")
    size = (tmp_path / "etdump.etdp").stat().st_size
    assert f"etdump to etdump.etdp, Size = {size}" in done.stderr
    blocks = read_events(tmp_path / "etdump.etdp")
    assert [name for name, _ in blocks] == ["Default"] + ["Execute"] * 6
    assert [e["name"] for e in blocks[0][1]] == ["Method::init", "Program::load_method"]
    last = 0
    for _, events in blocks[1:]:
        calls, instructions = zip(*[(e["name"], e["instruction"]) for e in events])
        assert calls == ("DELEGATE_CALL", "native_call_neg.out", "OPERATOR_CALL",
                         "Method::execute")
        assert instructions == (0, 1, 1, -1)
        whole = events[-1]
        assert last <= whole["start"]
        assert all(whole["start"] <= e["start"] <= e["end"] <= whole["end"] for e in events)
        assert events[0]["end"] <= events[1]["start"]
        assert all(e["id"] == -1 and e["text"] is None for e in events)
        last = whole["end"]


def test_no_etdump_without_a_path(tmp_path, binary):
    run(tmp_path, program(blob(binary)), [[A, B]], "--etdump_path=")
    assert not list(tmp_path.glob("*.etdp"))
    refused(tmp_path, program(blob(binary)), [[A, B]], "no/t.etdp cannot be written",
            "--etdump_path=no/t.etdp")


@pytest.mark.parametrize("level, flags, found", [(0, [], False), (1, [], False), (2, [], True),
                                                 (3, [], True), (0, ["--profile_level=2"], True),
                                                 (2, ["--profile_level=0"], False)])
def test_profiles(tmp_path, binary, level, flags, found):
    run(tmp_path, program(blob(binary), spec(profile=level)), [[A, B]], *flags)
    events = read_events(tmp_path / "etdump.etdp")[1][1]
    values = {e["text"]: e for e in events if e["text"]}
    assert all(e["start"] == 0 and e["instruction"] == 0 for e in values.values())
    nodes = [text for text in values if ":OpId_" in text]
    assert (len(nodes) >= 2) == found
    assert ("QNN (execute) time (us)" in values) == found
    assert ("Accelerator (execute) time (cycles)" in values) == found


def test_outputs_of_delegates(tmp_path):
    """Under the number in their names, or under their names."""
    names = "sub_debugID_7@0", "output_p_debugID_12@0", "other@0"
    model = graph([h.make_node("Sub", ["input_0_a", "input_1_b"], [names[0]]),
                   h.make_node("Mul", ["input_0_a", "input_1_b"], [names[1]]),
                   h.make_node("Neg", ["input_0_a"], [names[2]])],
                  ["input_0_a", "input_1_b"], names)
    p = Program()
    m = p.method()
    a, b, q = m.input((2, 3)), m.input((2, 3)), m.tensor((2, 3))
    m.delegate(blob(compiled(tmp_path, {"forward": model})), spec(dump=True), [a, b, q])
    m.output(q)
    _, got = run(tmp_path, p, [[A, B]], "--dump_intermediate_outputs", "--debug_output_path=d.bin",
                 "--debug_buffer_size=1000")
    assert got == [[(A * B).tobytes()]]
    data = (tmp_path / "d.bin").read_bytes()
    assert len(data) == 1000
    found = {}
    for e in read_events(tmp_path / "etdump.etdp")[1][1]:
        if "offset" not in e:
            continue
        assert e["offset"] % 64 == 0 and e["type"] == 6 and e["instruction"] == 0
        assert e["sizes"] == [2, 3] and e["strides"] == [3, 1]
        assert (e["id"] == -1) == (e["text"] is not None)
        value = np.frombuffer(data, np.float32, 6, e["offset"]).reshape(2, 3)
        found[e["text"] or e["id"]] = value
    assert list(found) == [7, 12, "other@0"]
    for key, want in zip(found, (A - B, A * B, -A)):
        assert np.array_equal(found[key], want)
    refused(tmp_path, p, [[A, B]], "24 bytes do not fit a debug buffer of 100",
            "--dump_intermediate_outputs", "--debug_buffer_size=100")
    # A program that was not made for it gives its outputs as always.
    plain = program(blob(compiled(tmp_path, {"forward": two_by_two()})))
    run(tmp_path, plain, [[A, B]], "--dump_intermediate_outputs", "--debug_buffer_size=100")
    assert all("offset" not in e for e in read_events(tmp_path / "etdump.etdp")[1][1])


@pytest.mark.parametrize("mode, flags, corner, latency", [
    (2, [], 160, 40), (1, [], 128, 100), (6, [], 80, 1000), (0, [], None, None),
    (2, ["--htp_performance_mode=6"], 80, 1000), (6, ["--htp_performance_mode=2"], 160, 40),
    (2, ["--htp_performance_mode=0"], None, None)])
def test_votes(tmp_path, binary, mode, flags, corner, latency):
    done, _ = run(tmp_path, program(blob(binary), spec(mode=mode)), [[A, B]], "--log_level=5",
                  *flags)
    found = re.findall(r"<V> .*coreVoltageCornerMin (\d+)", done.stderr)
    # Each of the two calls, and the one at the end, is told with the whole state.
    assert found == ([str(corner)] * 2 + ["48"] if corner else []), done.stderr
    latencies = re.findall(r"sleepLatency (\d+)", done.stderr)
    assert not latency or latencies[0] == str(latency), done.stderr


def test_wrapped_context_binaries(tmp_path):
    """Their names tell nothing: arguments come in the order of the binary, all outputs count."""
    model = graph([h.make_node("Sub", ["x_9", "y_1"], ["d"]),
                   h.make_node("Mul", ["x_9", "y_1"], ["p"])], ["x_9", "y_1"], ["d", "p"])
    wrapped = blob(compiled(tmp_path, {"forward": model}))
    _, got = run(tmp_path, program(wrapped, spec(from_binary=True)), [[A, B]])
    assert got == [[(A * B).tobytes(), (A - B).tobytes()]]
