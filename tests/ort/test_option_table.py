# SPDX-License-Identifier: MIT
"""options.tsv: each option with values at the ends of what is legal, an illegal one, and the test
that sees its effect. No option of the sources may be missing there."""
import ast
import re
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from provider import HTP, LIB, session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
import opencl  # noqa: E402
from ort_models import conv_net, images  # noqa: E402

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src" / "frontend" / "ort"
ROWS = [line.split("\t") for line in (HERE / "options.tsv").read_text().splitlines()
        if not line.startswith("#")][1:]
NET, X = conv_net(seed=1), images(31, 1)[0]


def values(legal):
    return [] if legal == "-" else [v.strip() for v in legal.split(" / ")]


LEGAL = [(where, key, more, v) for where, key, more, legal, *_ in ROWS for v in values(legal)]
ILLEGAL = [(where, key, more, illegal, words) for where, key, more, _, illegal, words, _ in ROWS
           if illegal != "-"]


def make(where, key, more, value):
    """A session with the value, and a run; all that the option has a say in."""
    if "backend_type=gpu" in more and opencl.DEVICE is None:
        pytest.skip("no OpenCL device for libQnnGpu.so")
    options, config, run, dynamic = dict(HTP), {}, ort.RunOptions(), {}
    for entry in more.split():
        if entry.startswith("!"):
            del options[entry[1:]]
        else:
            name, given = entry.split("=")
            (config if "." in name else options)[name] = given
    value = value.replace("{lib}", str(LIB))
    if where == "run":
        run.add_run_config_entry(key, value) if value else None
    else:
        {"provider": options, "session": config, "dynamic": dynamic}[where][key] = value
    s = session(NET, options, config, fallback=True)
    if dynamic:
        s.set_ep_dynamic_options(dynamic)
    only_writes = "1" in (options.get("enable_htp_prepare_only"), options.get("dump_qnn_ir_dlc"))
    return s if only_writes else s.run(None, {"x": X}, run)[0]


@pytest.mark.parametrize("where, key, more, value", LEGAL)
def test_legal_values_at_the_ends_are_taken(tmp_path, monkeypatch, where, key, more, value):
    monkeypatch.chdir(tmp_path)
    y = make(where, key, more, value)
    assert not isinstance(y, np.ndarray) or abs(y.sum() - 1) < 1e-2  # a softmax


@pytest.mark.parametrize("where, key, more, value, words", ILLEGAL)
def test_illegal_values_are_refused_with_words(tmp_path, monkeypatch, where, key, more, value,
                                               words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as raised:
        make(where, key, more, value)
    assert words in str(raised.value)
    assert key in str(raised.value) or value in str(raised.value)


def keys_of_sources():
    """(where, key) of every option that the provider reads."""
    text = (SOURCES / "options.c").read_text()
    tables = re.split(r"static const row (?:session_)?rows\[\] = \{", text)[1:]
    key = re.compile(r'(?:^|[ ({])(?:[A-Z]+\()?\{?"([a-z][a-z0-9_.]+)",', re.M)
    found = {("provider", k) for k in key.findall(tables[0].split("\n};")[0])}
    found |= {("session", k) for k in key.findall(tables[1].split("\n};")[0])}
    text = (SOURCES / "control.c").read_text()
    found |= {("run", k) for k in re.findall(r'run_option\(o, "([^"]+)"\)', text)}
    table = text.split("} dynamic[] = {")[1].split(";\n")[0]
    return found | {("dynamic", k) for k in re.findall(r'"([^"]+)"', table)}


def test_no_option_is_missing():
    listed = [(row[0], row[1]) for row in ROWS]
    assert len(set(listed)) == len(listed)
    assert set(listed) == keys_of_sources()


def test_effects_are_seen_by_tests_that_exist():
    for _, key, *_, effect in ROWS:
        file, name = effect.split("::")
        text = (HERE / file).read_text()
        tests = {n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)}
        assert name in tests, effect
        told = text + "".join((HERE / f).read_text() for f in ("conftest.py", "provider.py"))
        told += (HERE / "options.tsv").read_text() * (file == Path(__file__).name)
        assert key.removeprefix("qnn.") in told, (key, effect)  # helpers add the prefix


# --- effects that no other file sees

@pytest.mark.parametrize("name, library", [("cpu", "libQnnCpu.so"), ("htp", "libQnnHtp.so")])
def test_the_backend_is_the_one_that_is_named(capfd, name, library):
    session(NET, {"backend_type": name}, kind="npu" if name == "cpu" else "cpu", level=1)
    assert f" on {name.upper()}" in (said := capfd.readouterr().err) and library in said


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(Exception, match="createPowerConfigId|device"):
        session(NET, {**HTP, "device_id": "7"})


def test_bfloat16_is_refused_by_chip_and_then_by_platform():
    for soc, words in ((None, "also set soc_model"), ("57", r"soc_model 57 \(SM8650\) has none"),
                       ("87", r"soc_model 87 \(.*\) has none"), ("88", "on Windows alone"),
                       ("SM8750", "needs a SoC|on Windows alone")):
        options = {"backend_type": "htp", "htp_bf16_enable": "1", **({"soc_model": soc} if soc
                                                                     else {})}
        with pytest.raises(Exception, match="option htp_bf16_enable: .*" + words):
            session(NET, options)


@pytest.mark.parametrize("key, value", [("soc_model", "57,69"), ("htp_arch", "73,75"),
                                        ("vtcm_mb", "4,8")])
def test_lists_for_several_chips_are_refused_with_a_sentence(key, value):
    with pytest.raises(Exception, match=f"option {key}: '{value}': a model for several SoCs is a "
                                        "DLC file"):
        session(NET, {**HTP, key: value})


@pytest.mark.parametrize("key, needs, value", [
    ("profiling_file_path", "profiling_level", "basic"),
    ("json_qnn_graph_dir", "dump_json_qnn_graph", "1"),
    ("framework_op_trace_dir", "enable_framework_op_trace", "1"),
    ("dump_qnn_ep_input_graph_dir", "dump_qnn_ep_input_graph", "1"),
])
def test_a_place_for_what_is_not_written_is_a_warning(tmp_path, capfd, key, needs, value):
    words = f"option {key} has no effect: {needs} is not set"
    session(NET, {**HTP, key: str(tmp_path / "it")})
    (line,) = [line for line in capfd.readouterr().err.splitlines() if words in line]
    assert "[W:" in line and not any(tmp_path.iterdir())
    session(NET, {**HTP, key: str(tmp_path / "it"), needs: value})
    assert "has no effect" not in capfd.readouterr().err and any(tmp_path.iterdir())


def test_a_prefix_of_names_says_that_it_has_no_effect(tmp_path, capfd):
    session(NET, HTP, {"ep.context_enable": "1", "ep.context_file_path": str(tmp_path / "c.onnx"),
                       "ep.context_node_name_prefix": "pre_"}, level=1)
    assert "option ep.context_node_name_prefix has no effect: " in capfd.readouterr().err


@pytest.mark.parametrize("cached", [False, True])
def test_workloads_change_the_priority_of_all_contexts(spy, tmp_path, cached):
    net = NET
    if cached:
        net = str(tmp_path / "c.onnx")
        session(NET, HTP, {"ep.context_enable": "1", "ep.context_file_path": net})
    s = session(net, {**spy.options, "qnn_context_priority": "high"})
    spy()
    for kind, priority in (("Efficient", 0), ("Default", 200)):
        s.set_ep_dynamic_options({"ep.dynamic.workload_type": kind})
        told = spy("contextSetConfig")
        assert len(told) == 1 + cached and all(f"priority={priority}" in line for line in told)
