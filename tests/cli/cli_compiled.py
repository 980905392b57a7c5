# SPDX-License-Identifier: MIT
"""quern show --compiled: the steps of models and context binaries, and files that have none."""
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T, helper as h

from cli_binary import compile_, conv_net, qdq_net
from harness import BIN, FAILURE, REFUSED, USAGE, add_relu, model, ok, ok_json, quern, refuses

HTP = ("--soc", "SM8650")
STEP = re.compile(r' *(\d+) [ +] (.+) = (\w+)\.(f32|f64|i64|raw)\((.*)\)(?: \{(.*)\})?'
                  r'(?: epilogue \d+\.\.\d+)? live (\d+)\.\.(\d+) // (\w+) "(.*)"')


def shown(path, *args):
    return ok("show", "--compiled", path, *args).stdout.splitlines()


def steps(lines):
    found = [STEP.fullmatch(line) for line in lines[1:]]
    assert all(found), lines
    assert [int(m[1]) for m in found] == list(range(len(found)))
    return found


@pytest.fixture
def net(tmp_path):
    return add_relu(tmp_path / "net.onnx")


def test_steps_name_their_nodes_tensors_and_shapes(net):
    lines = shown(net)
    assert re.fullmatch(r'graph "g": fp16 off, inputs 1, outputs 1, values \d+, steps 2, '
                        r'constants 1 \(12 bytes\)', lines[0])
    add, relu = steps(lines)
    assert (add[9], add[10], relu[9], relu[10]) == ("ElementWiseAdd", "add", "Relu", "relu")
    assert re.fullmatch(r'%\d+ input "x": f32\[2,3\], %\d+ const tensor "b": f32\[3\]', add[5])
    assert re.fullmatch(r'%\d+ output "y": f32\[2,3\] *', relu[2])
    assert add[2].split()[0].strip(":") == relu[5].split()[0].strip(":")  # one makes, one reads it
    assert (add[7], add[8]) == ("0", "1")  # until the last step reads it


def test_attributes_are_those_of_the_model(tmp_path):
    """Of a convolution with everything out of the ordinary."""
    net = model(tmp_path / "c.onnx",
                [h.make_node("Conv", ["x", "w"], ["y"], strides=[2, 3], dilations=[5, 7], group=2,
                             pads=[11, 13, 0, 0], name="conv")],
                {"x": (T.FLOAT, [1, 4, 40, 40])}, {"y": (T.FLOAT, [1, 6, 21, 14])},
                {"w": np.ones((6, 2, 3, 3), np.float32)})
    conv, = [s for s in steps(shown(net)) if s[3] == "conv"]
    for text in ("stride=[2,3]", "dilation=[5,7]", "before=[11,13]", "group=2"):
        assert text in conv[6], conv[6]


def test_encodings_are_those_of_the_model(tmp_path):
    lines = shown(qdq_net(tmp_path / "q.onnx"))
    assert any('uq8[2,8]<scale 0.05 offset -128>' in line for line in lines)
    assert any('uq8[2,4]<scale 0.1 offset -100>' in line for line in lines)
    assert any('const tensor "wq": sq8[4,8]<scale 0.01 offset 0>' in line for line in lines)


@pytest.mark.parametrize("make", [add_relu, conv_net, qdq_net])
def test_a_binary_prints_the_steps_of_its_model(tmp_path, make):
    net = make(tmp_path / "g.onnx")  # the graph of a binary is named after the file
    binary = compile_(net, tmp_path / "g.bin")
    lines = shown(binary)
    assert steps(lines) and lines == shown(net, *HTP) == shown(binary)


def test_all_graphs_of_a_binary_are_printed(tmp_path):
    one, two = add_relu(tmp_path / "one.onnx"), qdq_net(tmp_path / "two.onnx")
    ok("compile", one, two, "-o", tmp_path / "both.bin", *HTP)
    both = shown(tmp_path / "both.bin")
    assert [line.split('"')[1] for line in both if line.startswith("graph")] == ["one", "two"]
    second = both.index(next(line for line in both if line.startswith('graph "two"')))
    assert both[1:second] == shown(one, *HTP)[1:]
    assert both[second + 1:] == shown(two, *HTP)[1:]


def test_the_backend_decides(net):
    assert len(shown(net)) < len(shown(net, *HTP))  # fp16 has to be rounded to
    assert "fp16 wide range" in shown(net, *HTP)[0]
    assert shown(net, "--soc", "none", "-b", "htp")[0].startswith('graph "g": fp16 off')


def test_passes_show(tmp_path):
    net = conv_net(tmp_path / "c.onnx")
    with_, without = (ok("show", "--compiled", net, env=env).stdout
                      for env in ({}, {"QUERN_PASSES": "-all"}))
    assert "Relu" not in with_ and "// Relu" in without


def test_json_has_the_same_lines(net):
    got = ok_json("show", "--compiled", net, "--json")
    assert got == {"model": str(net), "compiled": shown(net)}


@pytest.mark.parametrize("how", ["finalize", "load"])
def test_the_library_logs_the_same_lines(tmp_path, net, how):
    path = net if how == "finalize" else compile_(net, tmp_path / "net.bin")
    args = HTP if how == "finalize" else ()
    ok("run", path, *args, "--random",
       env={"QUERN_VERBOSE": "compiled", "QUERN_LOG": str(tmp_path / "log")})
    logged = (tmp_path / "log").read_text().splitlines()
    assert [line.split("compiled: ", 1)[1] for line in logged
            if "compiled: " in line] == shown(path, *args)


def test_a_backend_without_a_plan_for_the_cpu_prints_its_graphs(net):
    toy = Path(BIN).resolve().parent.parent / "tests" / "libQnnToy.so"
    assert shown(net, "-b", toy) == shown(net)


def test_names_cannot_steer_the_terminal(tmp_path):
    net = model(tmp_path / "n.onnx", [h.make_node("Relu", ["x\x1b[2J\n"], ["y"], name='a"\x1b[1m')],
                {"x\x1b[2J\n": (T.FLOAT, [2])}, {"y": (T.FLOAT, [2])})
    lines = shown(net)
    assert len(lines) == 2 and '"x\\x1b[2J\\n"' in lines[1] and '"a\\"\\x1b[1m"' in lines[1]


def test_dynamic_dimensions_must_be_settled(tmp_path):
    net = add_relu(tmp_path / "d.onnx", shape=("n", 3))
    assert "f32[5,3]" in "".join(shown(net, "--dim", "n=5"))
    refuses(REFUSED, "show", "--compiled", net, says=["d.onnx", "--dim n=SIZE"])


def test_what_has_no_steps(tmp_path, net):
    refuses(FAILURE, "show", "--compiled", tmp_path / "none.onnx", says="No such file")
    refuses(FAILURE, "show", "--compiled", tmp_path / "none.bin", says="No such file")
    for name in ("bad.onnx", "bad.bin"):
        (tmp_path / name).write_bytes(b"\x07" * 999)
        refuses(REFUSED, "show", "--compiled", tmp_path / name, says=name)
    constant = model(tmp_path / "c.onnx", [h.make_node("Identity", ["c"], ["y"])], {},
                     {"y": (T.FLOAT, [2])}, {"c": np.ones(2, np.float32)})
    refuses(REFUSED, "show", "--compiled", constant, says="every output is constant")
    refuses(FAILURE, "show", "--compiled", net, "-b", "saver", says="does not print", cwd=tmp_path)


def test_damaged_binaries_print_all_or_nothing(tmp_path, net):
    binary = compile_(net, tmp_path / "net.bin")
    good, whole = binary.read_bytes(), shown(binary)
    broken = 0
    for at in range(0, len(good), len(good) // 60):
        (tmp_path / "bad.bin").write_bytes(good[:at] + bytes([good[at] ^ 0x5a]) + good[at + 1:])
        p = quern("show", "--compiled", tmp_path / "bad.bin")
        if p.returncode:
            broken += 1
            assert p.stdout == "" and "bad.bin" in p.stderr
        else:  # padding
            assert p.stdout.splitlines() == whole
    (tmp_path / "cut.bin").write_bytes(good[:len(good) // 2])
    refuses(REFUSED, "show", "--compiled", tmp_path / "cut.bin", says="cut.bin")
    assert broken


def test_flags_that_do_not_go_together(tmp_path, net):
    binary = compile_(net, tmp_path / "net.bin")
    refuses(USAGE, "show", "--compiled", net, "--dot", says="--dot")
    refuses(USAGE, "show", "--compiled", binary, "--verify", says="--verify")
    refuses(USAGE, "show", net, "--soc", "SM8650", says="--compiled")
