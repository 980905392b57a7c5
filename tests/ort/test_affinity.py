# SPDX-License-Identifier: MIT
"""The option op_affinity: a file says which backend may take which ops."""
import json

import numpy as np
import pytest

from provider import HTP, NAME, close, cpu_session, helper, model, session

F = np.float32
n = helper.make_node
CPU = {"backend_type": "cpu"}
X = {"x": np.array([[-1, 0, 2], [3, -4, 5]], F)}


def net():
    return model([n("Relu", ["x"], ["a"], name="first"), n("Sigmoid", ["a"], ["b"], name="second"),
                  n("Relu", ["b"], ["c"], name="third"), n("Tanh", ["c"], ["y"], name="last")],
                 [("x", F, [2, 3])], [("y", F, [2, 3])])


@pytest.fixture
def pins(tmp_path):
    def write(content, options=HTP):
        path = tmp_path / "affinity.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return {**options, "op_affinity": str(path)}
    return write


def taken(s):
    """Names of the nodes that the provider has."""
    return {node.name for part in s.get_provider_graph_assignment_info() if part.ep_name == NAME
            for node in part.get_nodes()}


def test_what_is_pinned_to_the_cpu_is_left_to_others(pins, capfd):
    s = session(net(), pins({"op_type": {"Sigmoid": "cpu"}}), fallback=True)
    assert taken(s) == {"first", "third", "last"}
    assert ("node 'second' (Sigmoid) is left to other providers: op_affinity pins op type "
            "'Sigmoid' to cpu") in capfd.readouterr().err
    assert close(s.run(None, X)[0], cpu_session(net()).run(None, X)[0], 2e-3)


def test_a_node_s_name_counts_for_more_than_its_type(pins):
    options = pins({"op_type": {"Relu": ["CPU"]}, "op_name": {"third": "Htp", "last": "cpu"}})
    assert taken(session(net(), options, fallback=True)) == {"second", "third"}


def test_a_pin_to_the_session_s_own_backend_changes_nothing(pins):
    assert len(taken(session(net(), pins({"op_type": {"Relu": "HTP"}})))) == 4
    assert len(taken(session(net(), pins({"op_type": {"Relu": "cpu"}}, CPU)))) == 4


def test_quantized_units_are_left_whole(pins):
    z = ("z", np.uint8(128))
    nodes = [n("QuantizeLinear", ["x", "s", "z"], ["q"]),
             n("DequantizeLinear", ["q", "s", "z"], ["d"]), n("Relu", ["d"], ["r"], name="relu"),
             n("QuantizeLinear", ["r", "s", "z"], ["rq"]),
             n("DequantizeLinear", ["rq", "s", "z"], ["rd"]),
             n("Sigmoid", ["rd"], ["g"], name="sigmoid"),
             n("QuantizeLinear", ["g", "s", "z"], ["gq"]),
             n("DequantizeLinear", ["gq", "s", "z"], ["y"])]
    quantized = model(nodes, [("x", F, [2, 3])], [("y", F, [2, 3])], [("s", F(0.05)), z], opset=19)
    s = session(quantized, pins({"op_type": {"Sigmoid": "cpu"}}), fallback=True)
    assert "sigmoid" not in taken(s)
    assert np.abs(s.run(None, X)[0] - cpu_session(quantized).run(None, X)[0]).max() <= 0.051


def test_a_pin_in_a_body_keeps_the_node_away(pins):
    def branch(name, op):
        out = helper.make_tensor_value_info(name, 1, [2, 3])
        return helper.make_graph([n(op, ["x"], [name], name=name + "_op")], name, [], [out])
    net_if = model([n("If", ["c"], ["y"], name="if", then_branch=branch("t", "Relu"),
                      else_branch=branch("e", "Sigmoid"))],
                   [("x", F, [2, 3]), ("c", bool, [])], [("y", F, [2, 3])])
    s = session(net_if, pins({"op_type": {"Sigmoid": "cpu"}}), fallback=True)
    assert "if" not in taken(s)
    for c in (True, False):
        feed = {**X, "c": np.array(c)}
        assert close(s.run(None, feed)[0], cpu_session(net_if).run(None, feed)[0], 2e-3)


def test_strict_sessions_fail_on_a_pin(pins):
    with pytest.raises(Exception, match="strict: node 'second' .*op_affinity pins op type"):
        session(net(), {**pins({"op_type": {"Sigmoid": "cpu"}}), "strict": "1"}, fallback=True)


def test_the_trace_has_the_reason(pins, tmp_path):
    session(net(), {**pins({"op_name": {"last": "cpu"}}), "enable_framework_op_trace": "1",
                    "framework_op_trace_dir": str(tmp_path)}, fallback=True)
    (refused,) = json.loads((tmp_path / "qnn_op_trace.json").read_text())["unsupported_nodes"]
    assert refused["node_name"] == "last"
    assert "op_affinity pins node 'last' to cpu" in refused["reason"]


def test_names_that_the_graph_lacks_are_told(pins, capfd):
    assert len(taken(session(net(), pins({"op_name": {"fourth": "cpu"}})))) == 4
    assert "affinity.json:1: the graph has no node 'fourth'" in capfd.readouterr().err


def test_comments_and_an_empty_path_are_fine(pins):
    assert len(taken(session(net(), pins("// pins\n{\"op_type\": {} /* none */}")))) == 4
    assert len(taken(session(net(), {**HTP, "op_affinity": ""}))) == 4


@pytest.mark.parametrize("content, words", [
    ("", "affinity.json:1: the text ends where a value is expected"),
    ('{"op_type": {\n"Relu": cpu}}', "affinity.json:2: expected a JSON value"),
    ('{"op_type":\n{"Relu": "cpu",\n"Relu": "htp"}}', ':3: the key "Relu" stands on line 2'),
    ("[]", 'expected an object with "op_type" or "op_name"'),
    ("{}", 'expected an object with "op_type" or "op_name"'),
    ('{\n"op_types": {}}', ':2: there is no key "op_types"; did you mean "op_type"?'),
    ('{"backend": "htp"}', 'there is no key "backend"; expected "op_type" or "op_name"'),
    ('{"op_type": ["Relu"]}', '"op_type": expected an object, this is an array'),
    ('{"op_type": {"Relu": 1}}', 'op_type "Relu": expected the name of a backend, this is a num'),
    ('{"op_type": {"Relu": []}}', 'op_type "Relu": expected one backend, there are 0'),
    ('{"op_name": {"a": ["cpu", "htp"]}}', 'op_name "a": expected one backend, there are 2'),
    ('{"op_name": {"a": [null]}}', 'op_name "a": expected the name of a backend, this is null'),
    ('{"op_type": {"Relu": "hpt"}}', "there is no backend 'hpt'; did you mean 'htp'?"),
    ('{"op_type": {"Relu": "saver"}}', "no backend 'saver'; expected cpu, gpu, dsp or htp"),
])
def test_wrong_files_fail_the_session_with_line_and_key(pins, content, words):
    with pytest.raises(Exception) as raised:
        session(net(), pins(content), fallback=True)
    assert "op_affinity" in str(raised.value) and words in str(raised.value)


@pytest.mark.parametrize("backend, own, pinned", [("htp", "htp", "gpu"), ("cpu", "cpu", "htp"),
                                                  ("htp", "htp", "dsp")])
def test_a_pin_that_cannot_be_followed_fails_the_session(pins, backend, own, pinned):
    with pytest.raises(Exception, match=f"op type 'Conv' is pinned to {pinned}, and the backend of "
                                        f"the session is {own}"):
        session(net(), pins({"op_type": {"Conv": pinned}}, {"backend_type": backend}),
                fallback=True)


def test_a_missing_file_fails_the_session():
    with pytest.raises(Exception, match="op_affinity .*/nowhere/a.json"):
        session(net(), {**HTP, "op_affinity": "/nowhere/a.json"}, fallback=True)
