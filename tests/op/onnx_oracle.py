# SPDX-License-Identifier: MIT
"""Expected values from the ONNX reference evaluator, for ops whose model is an ONNX op.

Relies on the onnx package (listed in tests/requirements.txt). Float inputs are evaluated in
float64 where ONNX allows it for the op, else in float32 (double=False).
"""
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def evaluate(op_type, inputs, n_outputs=1, opset=20, double=True, **attributes):
    """Runs one ONNX node on numpy arrays (None for an absent input); returns a list of arrays."""
    feeds, names = {}, []
    for i, array in enumerate(inputs):
        if array is None:
            names.append("")
            continue
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(np.float64 if double else np.float32)
        names.append(f"x{i}")
        feeds[f"x{i}"] = array
    results = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    graph = helper.make_graph(
        [node], "oracle",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in feeds.items()],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, feeds)]
