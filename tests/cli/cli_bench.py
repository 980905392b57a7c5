# SPDX-License-Identifier: MIT
"""quern bench --per-op and --serve: counts against hand-made ones, and hostile requests."""
import json
import os
import subprocess

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from harness import BIN, OK, USAGE, add_relu, model, ok, ok_json, refuses

ONES = lambda *shape: np.ones(shape, np.float32)


def per_op(net, *flags):
    return ok_json("bench", net, "--per-op", "--runs", "2", "--json", *flags,
                   env={"QUERN_THREADS": "1"})["per_op"]


def macs(report):
    """{type: counts of its nodes} of the ops that multiply."""
    got = {}
    for row in report["rows"]:
        if row["macs"]:
            got.setdefault(row["type"], []).append(row["macs"])
    return got


# Each: node, shape of x, shape of y, constants, op of the backend, products by hand.
LAYERS = {
    "conv": (h.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4), [1, 4, 8, 9], [1, 6, 8, 9],
             ONES(6, 4, 3, 3), "Conv2d", 8 * 9 * 6 * (3 * 3 * 4)),
    "groups": (h.make_node("Conv", ["x", "w"], ["y"], group=2), [2, 4, 8, 8], [2, 6, 6, 6],
               ONES(6, 2, 3, 3), "Conv2d", 2 * 6 * 6 * 6 * (3 * 3 * 2)),
    "strided": (h.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2], pads=[3] * 4),
                [1, 3, 32, 32], [1, 5, 16, 16], ONES(5, 3, 7, 7), "Conv2d",
                16 * 16 * 5 * (7 * 7 * 3)),
    "depthwise": (h.make_node("Conv", ["x", "w"], ["y"], group=8), [1, 8, 10, 10], [1, 8, 8, 8],
                  ONES(8, 1, 3, 3), "DepthWiseConv2d", 8 * 8 * 8 * 9),
    "transposed": (h.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2]),
                   [1, 4, 5, 5], [1, 3, 10, 10], ONES(4, 3, 2, 2), "TransposeConv2d",
                   5 * 5 * 4 * (2 * 2 * 3)),
    "gemm": (h.make_node("Gemm", ["x", "w"], ["y"], transB=1), [5, 7], [5, 11], ONES(11, 7),
             "FullyConnected", 5 * 7 * 11),
}


@pytest.mark.parametrize("name", LAYERS)
def test_products_of_a_layer(tmp_path, name):
    node, x, y, w, op, want = LAYERS[name]
    net = model(tmp_path / "net.onnx", [node], {"x": (T.FLOAT, x)}, {"y": (T.FLOAT, y)}, {"w": w})
    assert macs(per_op(net)) == {op: [want]}


def test_products_of_two_activations(tmp_path):
    net = model(tmp_path / "net.onnx", [h.make_node("MatMul", ["a", "b"], ["y"])],
                {"a": (T.FLOAT, [3, 4, 5]), "b": (T.FLOAT, [3, 5, 6])}, {"y": (T.FLOAT, [3, 4, 6])})
    assert macs(per_op(net)) == {"MatMul": [3 * 4 * 6 * 5]}


@pytest.fixture
def conv(tmp_path):
    """A 1x1 convolution that takes more than a microsecond, and a square root."""
    return model(tmp_path / "conv.onnx",
                 [h.make_node("Conv", ["x", "w"], ["c"], name="the, conv"),
                  h.make_node("Sqrt", ["c"], ["y"], name="root")],
                 {"x": (T.FLOAT, [1, 32, 64, 64])}, {"y": (T.FLOAT, [1, 48, 64, 64])},
                 {"w": ONES(48, 32, 1, 1)})


def test_rates_follow_from_times_and_counts(conv):
    got = per_op(conv)
    peaks = got["peaks"]
    assert peaks["threads"] == 1 and peaks["dram_gbs"] > 0 and peaks["l2_gbs"] > 0
    rows = {r["type"]: r for r in got["rows"]}
    c, r = rows["Conv2d"], rows["ElementWiseSquareRoot"]
    assert c["node"].startswith("the, conv") and c["peak"] == "f32"
    assert c["us"] > 0 and c["macs"] == 64 * 64 * 48 * 32
    assert c["gops"] == pytest.approx(2e-3 * c["macs"] / c["us"])
    assert c["of_peak"] == pytest.approx(c["gops"] / peaks["f32_gops"])
    assert c["gbs"] == pytest.approx(1e-3 * c["bytes"] / c["us"])
    room = [(peaks["l2_bytes"], "L2"), (peaks["l3_bytes"], "L3"), (float("inf"), "DRAM")]
    for row in (c, r):  # held against the nearest memory that has room
        assert row["level"] == next(name for size, name in room
                                    if row["bytes"] <= size and peaks[f"{name.lower()}_gbs"])
        speed = peaks[f'{row["level"].lower()}_gbs']
        assert row["of_bandwidth"] == pytest.approx(row["gbs"] / speed)
    assert c["limit_us"] == pytest.approx(max(
        2e-3 * c["macs"] / peaks["f32_gops"],
        1e-3 * c["bytes"] / peaks[f'{c["level"].lower()}_gbs']))
    # x, the result of the convolution and y are intermediate tensors or the application's.
    assert got["memory"]["arena_bytes"] >= got["memory"]["bound_bytes"] > 0
    assert r["macs"] == 0 and r["gops"] is None and r["of_peak"] is None
    assert r["bytes"] == 2 * 4 * 64 * 64 * 48  # read once, written once
    # x, y and weights, which kernels may pad to whole tiles and whose layout may be a step more.
    assert c["bytes"] >= 4 * (64 * 64 * 32 + 64 * 64 * 48 + 32 * 48)
    assert sum(row["share"] or 0 for row in got["rows"]) == pytest.approx(1)
    assert [row["us"] for row in got["rows"]] == sorted((row["us"] for row in got["rows"]),
                                                        reverse=True)


def test_threads_add_up(conv):
    """Of the time of all threads, what they were busy, uneven and waiting is all there is."""
    got = ok_json("bench", conv, "--per-op", "--runs", "2", "--json", "--threads", "3")["per_op"]
    rows = [r for r in got["rows"] if r["tasks"]]
    assert {"Conv2d", "ElementWiseSquareRoot"} & {r["type"] for r in rows}
    threads = min(3, len(os.sched_getaffinity(0)))  # no more than CPUs
    assert max(r["tasks"] for r in rows) == threads  # 4096 rows go round
    for r in rows:
        shares = [r[k] for k in ("efficiency", "imbalance", "barrier")]
        assert sum(shares) == pytest.approx(1) and min(shares) > -1e-9, r
        assert r["efficiency"] <= r["tasks"] / threads + 1e-9  # a task is one thread's
    assert "uneven" in ok("bench", conv, "--per-op", "--runs", "2", "--threads", "3").stdout
    alone = per_op(conv)["rows"]
    assert all(r["imbalance"] == pytest.approx(0) for r in alone if r["tasks"])


def test_a_pick_counts_what_it_picks(tmp_path):
    net = model(tmp_path / "net.onnx", [h.make_node("Gather", ["table", "i"], ["y"])],
                {"i": (T.INT32, [3])}, {"y": (T.FLOAT, [3, 50])}, {"table": ONES(1000, 50)})
    row = next(r for r in per_op(net)["rows"] if r["type"] == "Gather")
    assert row["bytes"] == 4 * (3 + 2 * 3 * 50)


def test_steps_name_the_kernel_and_why(conv):
    rows = {r["type"]: r for r in per_op(conv)["rows"]}
    step = rows["ElementWiseSquareRoot"]["steps"][0]
    assert step["shapes"] == "f32:1x64x64x48->f32:1x64x64x48" and step["kernel"]
    # A CPU without extensions gets the reference, with a reason for each row above it.
    p = ok("bench", conv, "--per-op", "--runs", "2", "--json", env={"QUERN_ISA": "ref"})
    rows = {r["type"]: r for r in json.loads(p.stdout)["per_op"]["rows"]}
    steps = rows["Conv2d"]["steps"]
    assert any(s["why"].startswith("not ") and not s["why"].endswith(("; ", ";")) for s in steps)
    assert not any("avx" in s["kernel"] or "neon" in s["kernel"] for s in steps)


def test_codes_are_held_against_the_peak_of_codes(tmp_path):
    def dq(name, out, scale):
        return h.make_node("DequantizeLinear", [name, scale, "z"], [out])
    q = lambda name, out: h.make_node("QuantizeLinear", [name, "s", "z"], [out])
    net = model(tmp_path / "q.onnx",
                [q("x", "xq"), dq("xq", "xd", "s"), dq("wq", "wd", "s"),
                 h.make_node("Conv", ["xd", "wd"], ["c"]), q("c", "cq"), dq("cq", "y", "s")],
                {"x": (T.FLOAT, [1, 16, 16, 16])}, {"y": (T.FLOAT, [1, 16, 16, 16])},
                {"wq": np.full((16, 16, 1, 1), 3, np.uint8), "s": np.float32(0.05),
                 "z": np.uint8(0)})
    got = per_op(net, "--backend", "htp", "--soc", "57")
    row = next(r for r in got["rows"] if r["type"] == "Conv2d")
    assert row["peak"] == "i8" and row["macs"] == 16 ** 4
    assert any("uq8:" in s["shapes"] for s in row["steps"])


def test_a_binary_has_kernels_but_no_counts(tmp_path):
    net, binary = add_relu(tmp_path / "m.onnx"), tmp_path / "m.bin"
    ok("compile", net, "-o", binary, "--soc", "69")
    got = per_op(binary)
    assert got["rows"] and all(r["macs"] is None for r in got["rows"])
    assert any(s["kernel"] for r in got["rows"] for s in r["steps"])


def test_text_lists_rows_and_obeys_nodes(conv):
    text = ok("bench", conv, "--per-op", "--runs", "2").stdout
    assert "peaks of" in text and "(Conv2d)" in text and "the, conv" in text and "DRAM" in text
    assert "    " + per_op(conv)["rows"][0]["steps"][0]["kernel"] in text
    assert len(per_op(conv, "--nodes", "1")["rows"]) == 1
    refuses(USAGE, "bench", conv, "--per-op", "--no-profile", says="--no-profile")


def test_per_op_leaves_the_log_to_those_who_ask(conv):
    assert ok("bench", conv, "--per-op", "--runs", "2").stderr == ""
    p = ok("bench", conv, "--per-op", "--runs", "2", "--log", "info")
    assert "[info] dispatch," in p.stderr


def test_throughput_by_streams(tmp_path):
    got = ok_json("bench", add_relu(tmp_path / "m.onnx"), "--throughput", "--streams", "3",
                  "--runs", "2", "--seconds", "0.05", "--json")
    rows = got["by_streams"]
    assert [r["streams"] for r in rows] == [1, 2, 3]
    for r in rows:  # each stream has a run on its way all the time
        assert r["throughput"] * r["latency_ms"] == pytest.approx(1e3 * r["streams"])
    assert got["throughput"] >= max(r["throughput"] for r in rows) - 1e-9
    refuses(USAGE, "bench", tmp_path / "m.onnx", "--serve", "--throughput", says="--serve")


def serve(net, text, *flags):
    data = text if isinstance(text, bytes) else text.encode()
    p = subprocess.run([BIN, "bench", str(net), "--serve", *flags], input=data,
                       capture_output=True, timeout=120)
    assert p.returncode == OK and b"Sanitizer" not in p.stderr, p.stderr
    return [json.loads(line) for line in p.stdout.splitlines()]


def test_serve_answers_each_request(tmp_path):
    ready, a, b = serve(add_relu(tmp_path / "m.onnx"), "run 5\nrun 1\nquit\nrun 7\n")
    assert ready["ready"] is True and ready["finalize_ms"] > 0 and "libQnnCpu" in ready["backend"]
    assert a["runs"] == 5 and 0 < a["min_ms"] <= a["median_ms"] and a["min_ms"] <= a["mean_ms"]
    assert b["runs"] == 1 and b["min_ms"] == b["median_ms"] == b["mean_ms"]
    assert 1 < ready["peak_rss_mb"] <= b["peak_rss_mb"]


def test_serve_takes_turns(tmp_path):
    """An answer comes before the next request is written."""
    with subprocess.Popen([BIN, "bench", str(add_relu(tmp_path / "m.onnx")), "--serve"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        assert json.loads(p.stdout.readline())["ready"]
        for n in (1, 2, 3):
            p.stdin.write(f"run {n}\n")
            p.stdin.flush()
            assert json.loads(p.stdout.readline())["runs"] == n
        p.stdin.close()
        assert p.wait(60) == OK


BAD = [b"", b"run", b"run ", b"run 0", b"run -1", b"run 1 2", b"run 1x", b"run 100001", b"RUN 1",
       b"run 99999999999999999999999", b"run 18446744073709551617", b"run \0 1", b"\xff\xfe\0",
       b"a" * 100000, b"quit now", b" run 1", b"a" * 64 + b"run 1"]


def test_serve_refuses_what_is_no_request(tmp_path):
    """Each mistake gets one refusal, and the request behind it its answer."""
    ready, *got = serve(add_relu(tmp_path / "m.onnx"), b"".join(b + b"\nrun 2\n" for b in BAD))
    assert ready["ready"] and len(got) == 2 * len(BAD)
    for bad, refused, answer in zip(BAD, got[::2], got[1::2]):
        assert "run N" in refused.get("error", ""), bad
        assert answer.get("runs") == 2, bad


def test_serve_ends_with_its_input(tmp_path):
    net = add_relu(tmp_path / "m.onnx")
    assert len(serve(net, "")) == 1
    assert serve(net, "run 2")[1]["runs"] == 2  # the last line needs no end
    assert serve(net, "run 2\r\n")[1]["runs"] == 2
    for flag in (["--per-op"], ["--runs", "3"], ["--seconds", "1"], ["--streams", "2"]):
        refuses(USAGE, "bench", net, "--serve", *flag, says="--serve")


def test_serve_says_that_nobody_listens(tmp_path):
    with open("/dev/full", "w") as full:
        p = subprocess.run([BIN, "bench", str(add_relu(tmp_path / "m.onnx")), "--serve"],
                           input="run 1\n", stdout=full, stderr=subprocess.PIPE, text=True,
                           timeout=60)
    assert p.returncode == 1 and "could not be written" in p.stderr
