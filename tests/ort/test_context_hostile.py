# SPDX-License-Identifier: MIT
"""Context models that somebody has tampered with: attributes, names, files and what shares them."""
import os
import shutil
import threading

import numpy as np
import onnx
import pytest

from provider import HTP, helper, model, session
from test_context_model import SHARE, STOP, attributes, context_nodes, generate

node = helper.make_node
F = np.float32
X = np.arange(-4, 4, dtype=F)


def add(number, n=8):
    return model([node("Add", ["x", "c"], ["y"], "add")], [("x", F, [n])], [("y", F, [n])],
                 [("c", F([number]))])


def changed(path, change, target=None):
    m = onnx.load(path)
    change(m, m.graph.node[0])
    onnx.save(m, target or path)
    return str(target or path)


def set_attribute(name, value):
    def change(m, n):
        for a in list(n.attribute):
            if a.name == name:
                n.attribute.remove(a)
        if value is not None:
            n.attribute.append(helper.make_attribute(name, value))
    return change


@pytest.mark.parametrize("name, value", [
    ("ep_cache_context", 7), ("ep_cache_context", [1, 2]), ("ep_cache_context", None),
    ("ep_cache_context", 1.5), ("embed_mode", b"1"), ("embed_mode", 0.5), ("main_context", b"1"),
    ("main_context", [1]), ("main_context", 0), ("max_size", b"9"), ("source", 3),
    ("partition_name", 4), ("partition_name", [b"a", b"b"])])
def test_attributes_of_another_type_end_in_words(tmp_path, name, value):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 1)
    with pytest.raises(Exception) as raised:
        session(changed(path, set_attribute(name, value)), HTP)
    assert len(str(raised.value).split()) > 6


@pytest.mark.parametrize("name, value", [
    ("max_size", -1), ("max_size", -2**63), ("max_size", 2**63 - 1), ("embed_mode", 2),
    ("embed_mode", -1), ("main_context", -1), ("main_context", 2**62),
    ("partition_name", b"nobody"), ("partition_name", b""), ("partition_name", b"\xff\x00a"),
    ("io_name_overrides", b""), ("io_name_overrides", b";;=;="), ("io_name_overrides", 5),
    ("io_name_overrides", [b"x=y"]), ("ep_sdk_version", b"")])
@pytest.mark.parametrize("options", [{}, {"enable_htp_spill_fill_buffer": "1"}])
def test_numbers_and_names_that_change_nothing_change_nothing(tmp_path, name, value, options):
    """A node that brings a binary of one graph means that graph."""
    path = tmp_path / "c.onnx"
    generate(add(1), path, 1)
    s = session(changed(path, set_attribute(name, value)), {**HTP, **options})
    assert np.array_equal(s.run(None, {"x": X})[0], X + 1)


def two_binaries(tmp_path, embed):
    """x + 1 + 2 by two nodes, each with a binary of its own; both call their graph the same."""
    paths = [tmp_path / f"{k}.onnx" for k in "ab"]
    for number, path in zip((1, 2), paths):
        generate(add(number), path, embed)
    a, b = (onnx.load(p) for p in paths)
    first, second = a.graph.node[0], b.graph.node[0]
    first.attribute.append(helper.make_attribute("io_name_overrides", "middle=y;"))
    second.attribute.append(helper.make_attribute("io_name_overrides", "middle=x;"))
    first.output[0], second.input[0], first.name, second.name = "middle", "middle", "one", "two"
    a.graph.node.append(second)
    a.graph.value_info.append(helper.make_tensor_value_info("middle", 1, [8]))
    return a


@pytest.mark.parametrize("embed", [0, 1])
def test_nodes_of_one_partition_name_mean_their_own_binaries(tmp_path, embed):
    m = two_binaries(tmp_path, embed)
    for n in m.graph.node:
        set_attribute("partition_name", b"same")(m, n)
    onnx.save(m, tmp_path / "both.onnx")
    got = session(str(tmp_path / "both.onnx"), HTP).run(None, {"x": X})[0]
    assert np.array_equal(got, X + 3)


def test_a_node_without_a_binary_means_the_only_graph_of_its_name(tmp_path):
    m = two_binaries(tmp_path, 1)
    names = [attributes(n)["partition_name"] for n in m.graph.node]
    third = node("EPContext", ["y"], ["z"], "three", domain="com.microsoft", main_context=0,
                 embed_mode=1, source="QNN", partition_name=names[0],
                 io_name_overrides="y=x;z=y;")
    m.graph.node.append(third)
    m.graph.output[0].name = "z"
    m.graph.value_info.append(helper.make_tensor_value_info("y", 1, [8]))
    onnx.save(m, tmp_path / "both.onnx")
    if names[0] == names[1]:
        with pytest.raises(Exception, match="several binaries have a graph"):
            session(str(tmp_path / "both.onnx"), HTP)
    else:
        got = session(str(tmp_path / "both.onnx"), HTP).run(None, {"x": X})[0]
        assert np.array_equal(got, X + 4)


# --- files

@pytest.mark.parametrize("name", [
    b"", b".", b"..", b"./..", b"../c_qnn.bin", b"/etc/hostname", b"sub/../../c_qnn.bin",
    b"sub", b"pipe", b"device", b"c_qnn.bin\0.txt", b"a" * 5000, b"sub/./", b"\xff\xfe"])
def test_names_of_what_is_no_file_beside_the_model_end_in_words(tmp_path, name):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 0)
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "device")
    with pytest.raises(Exception) as raised:
        session(changed(path, set_attribute("ep_cache_context", name)), HTP)
    assert "the context model cannot be used" in str(raised.value)


def test_a_file_in_a_folder_below_is_found(tmp_path):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 0)
    (tmp_path / "sub").mkdir()
    shutil.move(tmp_path / "c_qnn.bin", tmp_path / "sub" / "c.bin")
    s = session(changed(path, set_attribute("ep_cache_context", b"sub/c.bin")), HTP)
    assert np.array_equal(s.run(None, {"x": X})[0], X + 1)


@pytest.mark.parametrize("size", [0, 1, 8, 64, 500, -1])
def test_a_file_cut_short_before_the_session_is_refused(tmp_path, size):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 0)
    data = (tmp_path / "c_qnn.bin").read_bytes()
    (tmp_path / "c_qnn.bin").write_bytes(data[:size])
    with pytest.raises(Exception, match="the context model cannot be used"):
        session(str(path), HTP)


def test_a_file_of_another_model_is_refused_unless_its_borders_are_the_same(tmp_path):
    path, other = tmp_path / "c.onnx", tmp_path / "o.onnx"
    generate(add(1), path, 0)
    generate(add(2, 16), other, 0)
    shutil.copy(tmp_path / "o_qnn.bin", tmp_path / "c_qnn.bin")
    with pytest.raises(Exception, match=r"input 'x': the model declares float32 \[8\].*\[16\]"):
        session(str(path), HTP)


def test_a_file_that_is_replaced_under_a_session_changes_nothing_in_it(tmp_path):
    path, other = tmp_path / "c.onnx", tmp_path / "o.onnx"
    generate(add(1), path, 0)
    generate(add(2), other, 0)
    s = session(str(path), HTP)
    os.replace(tmp_path / "o_qnn.bin", tmp_path / "c_qnn.bin")
    assert np.array_equal(s.run(None, {"x": X})[0], X + 1)
    assert np.array_equal(session(str(path), HTP).run(None, {"x": X})[0], X + 2)
    assert np.array_equal(s.run(None, {"x": X})[0], X + 1)


# --- sharing

def test_sessions_that_share_a_binary_are_each_compared_with_it(tmp_path, capfd):
    path, other = tmp_path / "c.onnx", tmp_path / "o.onnx"
    generate(add(1), path, 0)

    def widen(m, n):
        for i in [*m.graph.input, *m.graph.output]:
            i.type.tensor_type.shape.dim[0].dim_value = 1 << 20
    changed(path, widen, other)
    first = session(str(path), HTP, SHARE)
    with pytest.raises(Exception, match=r"declares float32 \[1048576\].*has float32 \[8\]"):
        session(str(other), HTP, SHARE)
    assert np.array_equal(first.run(None, {"x": X})[0], X + 1)
    os.utime(tmp_path / "c_qnn.bin", (1, 1))
    capfd.readouterr()
    second = session(str(path), HTP, STOP)
    assert "has changed since a session that shares its context loaded it" in capfd.readouterr().err
    assert np.array_equal(second.run(None, {"x": X})[0], X + 1)


# --- runs

def test_threads_with_good_and_bad_values_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 1)

    def leave_open(m, n):
        for i in [*m.graph.input, *m.graph.output]:
            i.type.tensor_type.shape.dim[0].dim_param = "n"
    s, found, ready = session(changed(path, leave_open), HTP), [], threading.Barrier(4)

    def work(k):
        ready.wait()
        for i in range(100):
            bad = (i + k) % 2
            try:
                (got,) = s.run(None, {"x": X[:3] if bad else X + i})
                found.append(not bad and np.array_equal(got, X + i + 1))
            except Exception as e:
                found.append(bad and "[3]" in str(e) and "[8]" in str(e))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 400 and all(found)


def test_a_strict_session_names_the_node_outside_of_the_binary(tmp_path):
    net = model([node("Relu", ["x"], ["a"]),
                 node("CDist", ["a", "a"], ["y"], "far", domain="com.microsoft",
                      metric="euclidean")],
                [("x", F, [3, 4])], [("y", F, [3, 3])], domains=["com.microsoft"])
    path = tmp_path / "c.onnx"
    generate(net, path, 1, fallback=True)
    assert len(context_nodes(path)) == 1
    session(str(path), HTP, fallback=True)
    with pytest.raises(Exception, match=r"strict: node 'far' \(CDist\) is rejected"):
        session(str(path), {**HTP, "strict": "1"}, fallback=True)


def test_names_that_are_no_text_reach_the_host_as_text(tmp_path):
    path = tmp_path / "c.onnx"
    generate(add(1), path, 1)

    def name_it(m, n):
        n.name = "first\nsecond\x1b[31m"
        set_attribute("ep_cache_context", b"none")(m, n)
        set_attribute("embed_mode", 0)(m, n)
    changed(path, name_it)
    data = path.read_bytes()
    assert data.count(b"none") == 1
    path.write_bytes(data.replace(b"none", b"\xff\x1b\n!"))
    with pytest.raises(Exception) as raised:
        session(str(path), HTP)
    assert r"/\xff\x1b\n!: No such file" in str(raised.value)
