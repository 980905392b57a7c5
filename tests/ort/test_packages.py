# SPDX-License-Identifier: MIT
"""Ops of a package that the application registers (option op_packages).

The example package has Cube and Affine for the CPU backend. Its ops are functions of the model, so
that onnxruntime knows them; the functions' bodies compute something else, which shows who did it.
"""
import numpy as np
import pytest

from compiled import ROOT, compile_library
from provider import NAME, helper, session

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
