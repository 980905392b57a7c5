# SPDX-License-Identifier: MIT
"""Delegates: context binaries of our own inside programs, run by the runner and by quern."""
import json
import subprocess

import numpy as np
import onnx
import pytest
from harness_pte import BIN, refused, run
from onnx import TensorProto as T, helper as h
from pte_writer import Program, Ref, blob, spec

RNG = np.random.default_rng(3)
A, B = (RNG.integers(-8, 8, (2, 3)).astype(np.float32) for _ in range(2))


def graph(nodes, inputs, outputs):
    infos = [[h.make_tensor_value_info(n, T.FLOAT, [2, 3]) for n in names]
             for names in (inputs, outputs)]
    g = h.make_graph(nodes, "g", *infos)
    return h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=9)


def compiled(folder, models, file="c.bin"):
    """models: {graph name: ONNX model} to one context binary or DLC file."""
    args = []
    for name, model in models.items():
        onnx.save(model, folder / f"{name}.onnx")
        args.append(folder / f"{name}.onnx")
    for name in models:
        args += ["-g", name]
    p = subprocess.run([BIN, "compile", *map(str, args), "-o", str(folder / file), "--soc",
                        "SM8650"], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return (folder / file).read_bytes()


def two_by_two():
    """Names decide the order of inputs: b comes first in the graph, a in the call."""
    return graph([h.make_node("Sub", ["input_0_a", "input_1_b"], ["output_d@0"]),
                  h.make_node("Mul", ["input_0_a", "input_1_b"], ["output_p@0"])],
                 ["input_1_b", "input_0_a"], ["output_d@0", "output_p@0"])


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("two"), {"forward": two_by_two()})


def program(payload, options=None, planned=False, **kw):
    p = Program()
    m = p.method()
    a, b = (m.input((2, 3), planned=planned) for _ in range(2))
    d, q = (m.tensor((2, 3), planned=planned) for _ in range(2))
    m.delegate(payload, options or spec(), [a, b, d, q], **kw)
    m.output(q, d)  # the plan's order is not the call's
    return p


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("header", [256, 20])
def test_delegate(tmp_path, binary, header, inline, planned):
    p = program(blob(binary, header), planned=planned, inline=inline)
    _, got = run(tmp_path, p, [[A, B], [B, A]])
    assert got == [[(A * B).tobytes(), (A - B).tobytes()], [(B * A).tobytes(), (B - A).tobytes()]]


def test_a_dlc_is_compiled_when_it_is_loaded(tmp_path):
    """What online_prepare leaves: the payload is the file itself; two methods share it."""
    neg = graph([h.make_node("Neg", ["input_0_a"], ["output_y"])], ["input_0_a"], ["output_y"])
    dlc = compiled(tmp_path, {"forward": two_by_two(), "negate": neg}, "c.dlc")
    p = program(dlc)
    m = p.method("negate")
    x, y = m.input((2, 3)), m.tensor((2, 3))
    m.delegate(dlc, spec(), [x, y])
    m.output(y)
    _, got = run(tmp_path, p, [[A, B]])
    assert got == [[(A * B).tobytes(), (A - B).tobytes()]]
    _, got = run(tmp_path, p, [[A]], "--method_index=1")
    assert got[0][0] == (-A).tobytes()


def test_kernels_between_delegates(tmp_path, binary):
    p = Program()
    m = p.method()
    a, b = m.input((2, 3)), m.input((2, 3))
    d, q, r, s, t = (m.tensor((2, 3)) for _ in range(5))
    m.delegate(blob(binary), spec(), [a, b, d, q])
    m.call("aten::neg.out", Ref(d), Ref(r), Ref(r))
    m.delegate(blob(binary, signature=5), spec(), [q, r, s, t])
    m.output(s)
    _, got = run(tmp_path, p, [[A, B]])
    assert got[0][0] == (A * B + (A - B)).tobytes()


def test_methods_share_a_binary(tmp_path):
    neg = graph([h.make_node("Neg", ["input_0_a"], ["output_y"])], ["input_0_a"], ["output_y"])
    both = compiled(tmp_path, {"forward": two_by_two(), "negate": neg})
    p = program(blob(both))
    m = p.method("negate")
    x, y = m.input((2, 3)), m.tensor((2, 3))
    m.delegate(blob(both), spec(), [x, y])
    m.output(y)
    _, got = run(tmp_path, p, [[A]], "--method_index=1")
    assert got[0][0] == (-A).tobytes()


def test_state_of_a_delegate(tmp_path):
    """sum += x, where sum is an input and an output that the program does not see."""
    names = "input_1_mutbuf_0_s@0", "output_mutbuf_0_s@0"
    model = graph([h.make_node("Add", ["input_0_x", names[0]], ["t"]),
                   h.make_node("Identity", ["t"], [names[1]]),
                   h.make_node("Neg", ["t"], ["output_y@0"])],
                  ["input_0_x", names[0]], [names[1], "output_y@0"])
    p = Program()
    m = p.method()
    x, y = m.input((2, 3)), m.tensor((2, 3))
    m.delegate(blob(compiled(tmp_path, {"forward": model})), spec(), [x, y])
    m.output(y)
    _, got = run(tmp_path, p, [[A], [A], [B]])
    assert [g[0] for g in got] == [(0 - A).tobytes(), (0 - 2 * A).tobytes(),
                                   (0 - 2 * A - B).tobytes()]


def test_library_of_the_options_is_used(tmp_path, binary):
    p = program(blob(binary), spec(library="libQnnNowhere.so"))
    refused(tmp_path, p, [[A, B]], ["delegate 0", "libQnnNowhere.so"])


@pytest.mark.parametrize("library", ["/tmp/libQnnHtp.so", "libQnn/../x.so", "libc.so.6", "x.so",
                                     "libQnn.so", "libQnnHtp.so.1"])
def test_programs_cannot_name_any_library(tmp_path, binary, library):
    """Opening a library runs its code: a file names one of an SDK or none."""
    p = program(blob(binary), spec(library=library))
    refused(tmp_path, p, [[A, B]], ["delegate 0", library, "choose the library yourself"])


def test_log_level(tmp_path, binary):
    """A binary for another chip is refused; the library says so at level 1 and above."""
    line = "[ERROR] [Qnn ExecuTorch]:  <E> "
    for level, flags, heard in [(0, [], False), (1, [], True), (0, ["--log_level=2"], True),
                                (1, ["--log_level=0"], False)]:
        p = program(blob(binary), spec(soc=30, log_level=level))
        done = refused(tmp_path, p, [[A, B]], "contextCreateFromBinary", *flags)
        assert (line in done.stderr) == heard, done.stderr


def test_verbose_line_about_the_graph(tmp_path, binary):
    line = "[INFO] [Qnn ExecuTorch]:  <V> graph 'forward'"
    for level, heard in [(3, False), (4, True)]:
        done, _ = run(tmp_path, program(blob(binary)), [[A, B]], f"--log_level={level}")
        assert (line in done.stderr and "2 inputs, 2 outputs" in done.stderr) == heard, done.stderr


def test_payloads_that_are_refused(tmp_path, binary):
    short = program(blob(binary[:-100] + bytes(100)))
    cases = [(program(b"PK\3\4" + bytes(300)), "end of the archive"),
             (program(b"\xcd\xab\x34\x12" + bytes(300)), "0.7 or older"),
             (program(bytes(300)), "does not begin as a QNN payload"),
             (program(blob(binary)[:300]), "cut off"),
             (program(blob(b"nonsense" * 50)), "delegate 0"), (short, "delegate 0"),
             (program(blob(binary), spec(backend=4)), "backend type 4"),
             (program(blob(binary), b"\xff" * 40), "compile options"),
             (program(blob(binary), name="XnnpackBackend"), "'XnnpackBackend'")]
    for p, says in cases:
        refused(tmp_path, p, [[A, B]], ["method 'forward'", says])


def test_graph_of_another_name(tmp_path):
    other = compiled(tmp_path, {"backward": two_by_two()})
    refused(tmp_path, program(blob(other)), [[A, B]], "no graph 'forward'")


def test_tensors_that_do_not_fit(tmp_path, binary):
    p = Program()
    m = p.method()
    a, b, d, q = m.input((2, 3)), m.input((2, 2)), m.tensor((2, 3)), m.tensor((2, 3))
    m.delegate(blob(binary), spec(), [a, b, d, q])
    m.output(q)
    refused(tmp_path, p, [[A, B[:, :2]]], ["'input_1_b': 24 bytes", "has 16"])
    few = Program()
    m = few.method()
    a = m.input((2, 3))
    m.delegate(blob(binary), spec(), [a, a])
    refused(tmp_path, few, [[A]], "2 arguments, its graph has 2 inputs and 2 outputs")


def test_quern_runs_programs(tmp_path, binary):
    (tmp_path / "m.pte").write_bytes(program(blob(binary)).bytes())
    np.save(tmp_path / "a.npy", A)
    B.tofile(tmp_path / "b.raw")
    p = subprocess.run([BIN, "run", tmp_path / "m.pte", tmp_path / "a.npy", tmp_path / "b.raw",
                        "--outputs", tmp_path / "out"], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), A * B)
    assert np.array_equal(np.load(tmp_path / "out" / "output_1.npy"), A - B)
    p = subprocess.run([BIN, "run", tmp_path / "m.pte", "--random"], capture_output=True, text=True)
    assert p.returncode == 0 and "output_0" in p.stdout, p.stderr
    p = subprocess.run([BIN, "run", tmp_path / "m.pte", "--random", "--graph", "nothing"],
                       capture_output=True, text=True)
    assert p.returncode == 2 and "'forward'" in p.stderr, p.stderr


def shows(path, *flags):
    p = subprocess.run([BIN, "show", str(path), *flags], capture_output=True, text=True)
    assert p.returncode == 0 and not p.stderr, p.stderr
    return p.stdout


def test_show_lists_methods_and_delegates(tmp_path, binary):
    p = program(blob(binary), spec(soc=57, arch=75, backend=2))
    m = p.method("other")
    x, y = m.input((3,)), m.tensor((3,))
    for _ in range(2):
        m.call("aten::mul.out", Ref(x), Ref(x), Ref(y), Ref(y))
    m.output(y)
    path = tmp_path / "m.pte"
    path.write_bytes(p.bytes())
    got = json.loads(shows(path, "--json"))
    first, other = got["methods"]
    part = dict(type="float", shape=[2, 3], may_shrink=False)
    assert (first["name"], first["inputs"], first["outputs"]) == ("forward", [part] * 2, [part] * 2)
    assert first["operators"] == {} and first["delegates"] == [
        dict(id="QnnBackend", bytes=len(blob(binary)),
             qnn=dict(backend="htp", soc="SM8650", soc_model=57, arch=75,
                      context_bytes=len(binary), online_prepare=False))]
    assert other["operators"] == {"aten::mul.out": 2} and other["delegates"] == []
    text = shows(path)
    assert "method forward\n  inputs    float [2, 3]\n            float [2, 3]\n" in text
    assert "delegate  QnnBackend, " in text and "backend htp, chip SM8650 (57), context" in text
    assert "       2    aten::mul.out\n" in text


def test_show_says_what_it_does_not_do(tmp_path, binary):
    path = tmp_path / "m.pte"
    path.write_bytes(program(blob(binary)).bytes())
    for flag in ("--dot", "--compiled", "--verify", "--published"):
        p = subprocess.run([BIN, "show", path, flag], capture_output=True, text=True)
        assert p.returncode == 2 and f"{flag} is not for ExecuTorch programs" in p.stderr
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    p = subprocess.run([BIN, "show", path], capture_output=True, text=True)
    assert p.returncode == 3 and str(path) in p.stderr and not p.stdout
    path.write_bytes(program(b"no context", name="Other").bytes())
    (one,) = json.loads(shows(path, "--json"))["methods"][0]["delegates"]
    assert one == dict(id="Other", bytes=10)
