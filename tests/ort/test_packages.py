# SPDX-License-Identifier: MIT
"""Ops of a package that the application registers (option op_packages).

The example package has Cube and Affine for the CPU backend. onnxruntime knows its ops as functions
of the model, whose bodies compute something else, which shows who did it; or as placeholders of the
provider.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from compiled import ROOT, compile_library
from provider import NAME, devices, helper, model, session

F = np.float32
SHIM = """
#include "%s"
__attribute__((visibility("default")))
Qnn_ErrorHandle_t exampleInterfaceProvider(QnnOpPackage_Interface_t *out);
Qnn_ErrorHandle_t exampleInterfaceProvider(QnnOpPackage_Interface_t *out) {
    return ExampleOpPackage_provider(out);
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The example under a symbol that its name can be read from."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "shim.c"
    source.write_text(SHIM % (ROOT / "examples" / "op_package" / "example_op_package.c"))
    return compile_library(source, folder / "libShim.so")


def net():
    n = helper.make_node
    domain = "my.ops"
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    body = {"Cube": ([n("Neg", ["a"], ["b"])], []),
            "Affine": ([n("Abs", ["a"], ["b"])], ["scale", "offset"])}
    functions = [helper.make_function(domain, op, ["a"], ["b"], nodes, opsets, attributes)
                 for op, (nodes, attributes) in body.items()]
    nodes = [n("Relu", ["x"], ["r"]), n("Cube", ["r"], ["c"], domain=domain),
             n("Affine", ["c"], ["y"], domain=domain, scale=2.0, offset=-1.0)]
    info = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    return helper.make_model(graph, functions=functions, opset_imports=opsets,
                             ir_version=8).SerializeToString()


X = np.array([[-1, 0, 1], [2, -3, 4]], F)


def test_nodes_go_to_the_package_with_their_attributes(package):
    options = {"op_packages": ",".join(f"{op}:{package}:exampleInterfaceProvider:CPU"
                                       for op in ("Cube", "Affine"))}
    s = session(net(), options)
    assert s.get_providers()[0] == NAME
    assert np.array_equal(s.run(None, {"x": X})[0], 2 * np.maximum(X, 0) ** 3 - 1)


def test_without_a_package_the_model_s_own_functions_count():
    assert np.array_equal(session(net()).run(None, {"x": X})[0], np.maximum(X, 0))


@pytest.mark.parametrize("text, words", [
    ("Cube", "OpType:library:InterfaceSymbol"),
    ("Cube:{path}", "OpType:library:InterfaceSymbol"),
    ("Cube::exampleInterfaceProvider", "OpType:library:InterfaceSymbol"),
    ("Cube:{path}:exampleInterfaceProvider:CPU:more", "OpType:library:InterfaceSymbol"),
    ("Cube:{path}:exampleInterfaceProvider,", "OpType:library:InterfaceSymbol"),
    ("Cube:/nowhere/libShim.so:exampleInterfaceProvider", "/nowhere/libShim.so"),
    ("Cube:{path}:nobody", "nobody"),
])
def test_wrong_entries_fail_the_session_with_words(package, text, words):
    with pytest.raises(Exception) as raised:
        session(net(), {"op_packages": text.format(path=package)})
    assert words in str(raised.value)


# --- placeholders

def custom(domain, op, **attributes):
    """One node; the type of its output is declared, its shape only where it is an output."""
    n = helper.make_node
    return model([n("Relu", ["x"], ["r"]), n(op, ["r"], ["c"], domain=domain, **attributes),
                  n("Neg", ["c"], ["y"])], [("x", F, [2, 3])], [("y", F, [2, 3])],
                 domains=[domain], known=[("c", F, [2, 3])])


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_packages import X, attempt, custom
package = ":" + sys.argv[2] + ":exampleInterfaceProvider:CPU"
options = {"op_packages": "Cube" + package + ",Affine" + package}
print(json.dumps([attempt(custom("my.ops", "Cube"), options),
                  attempt(custom("your.ops", "Affine", scale=2.0, offset=1.0), options),
                  attempt(custom("your.ops", "Cube"), options),
                  attempt(custom("my.ops", "Cube"), {})]))
"""


def attempt(net, options):
    """What the model makes of X, or the words of the failure."""
    try:
        return session(net, options, fallback=True).run(None, {"x": X})[0].tolist()
    except Exception as e:
        return str(e)


def run_script(package, domains):
    return subprocess.run([sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(package)],
                          env={**os.environ, "ORT_QNN_CUSTOM_OP_DOMAINS": domains},
                          capture_output=True, text=True, timeout=120)


def test_ops_of_named_domains_need_no_functions(package):
    done = run_script(package, "my.ops:Cube;your.ops:Affine,Other;")
    assert done.returncode == 0, done.stderr
    cube, affine, unnamed, unpacked = json.loads(done.stdout)
    r = np.maximum(X, 0)
    assert cube == (-r ** 3).tolist() and affine == (-(2 * r + 1)).tolist()
    assert "your.ops:Cube" in unnamed and "not a registered" in unnamed
    assert "Could not find an implementation for Cube" in unpacked
    assert "(Cube) is left to other providers: the op my.ops.Cube is not supported" in done.stderr


@pytest.mark.parametrize("domains, words", [
    ("Cube", "'Cube' has no ':'"), (":Cube", "'Cube' has no domain before its ':'"),
    ("my.ops:", "'my.ops' has an op without a name"),
    ("my.ops:Cube,,Affine", "'my.ops' has an op without a name"),
])
def test_wrong_domains_fail_the_registration_with_words(package, domains, words):
    failures = json.loads(run_script(package, domains).stdout)
    assert all(isinstance(f, str) for f in failures)
    assert "ORT_QNN_CUSTOM_OP_DOMAINS: " in failures[0] and words in failures[0]


def test_qnn_s_own_ops_are_known():
    """A buffer keeps what earlier runs gave it: the newest three rows on the left of zeros."""
    n = helper.make_node
    net = model([n("Buffer", ["x"], ["b"], domain="qti_aisw", buffer_size=9, buffer_dim=1, stride=3,
                   mode=1), n("Neg", ["b"], ["y"])],
                [("x", F, [2, 3, 4])], [("y", F, [2, 9, 4])], domains=["qti_aisw"],
                known=[("b", F, [2, 9, 4])])
    s = session(net)
    frames = np.random.default_rng(3).standard_normal((3, 2, 3, 4)).astype(F)
    for i in range(3):
        got = -s.run(None, {"x": frames[i]})[0]
        want = np.zeros([2, 9, 4], F)
        for k in range(i + 1):  # filled from the left, in the order they came
            want[:, 3 * k:3 * k + 3] = frames[k]
        assert np.array_equal(got, want)


def test_several_sessions_and_devices_may_use_the_domains():
    so = ort.SessionOptions()
    so.add_provider_for_devices(devices(), {"backend_type": "cpu"})
    for _ in range(2):
        ort.InferenceSession(custom("", "Abs"), so, enable_fallback=0)
