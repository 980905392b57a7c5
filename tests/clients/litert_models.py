# SPDX-License-Identifier: MIT
"""LiteRT on our libraries: models compiled by ai_edge_litert.aot, and CompiledModel on our dispatch
library. Run as a program, it is the new process in which a compiled model runs:

    litert_models.py MODEL.tflite DISPATCH_FOLDER INPUTS.npz OUTPUTS.npz [cpu]
"""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "frontend"))
SOC = "SM8650"


def libraries(sdk):
    return sdk / "lib" / "x86_64-linux-clang"


class NotCompiled(Exception):
    """No op of a model was compiled; the text is the log of LiteRT's program."""


def aot(sdk, model, folder, soc=SOC):
    """Compiles a .tflite file; returns the new file and (ops compiled, ops, partitions). LiteRT
    starts a program, which finds our libraries by LD_LIBRARY_PATH."""
    from ai_edge_litert.aot import aot_compile
    from ai_edge_litert.aot.vendors.qualcomm import target
    before = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = str(libraries(sdk))
    try:
        result = aot_compile.aot_compile(str(model), output_dir=str(folder), keep_going=False,
                                         target=target.Target(target.SocModel(soc)))
    except ValueError as error:
        log = Path(str(error).partition("See ")[2].partition(" for details")[0])
        text = log.read_text()
        log.unlink()
        raise NotCompiled(text) from error
    finally:
        os.environ.pop("LD_LIBRARY_PATH")
        if before is not None:
            os.environ["LD_LIBRARY_PATH"] = before
    (_, made), = result.models_with_backend
    stats = made.partition_stats.subgraph_stats
    return Path(made.path), (sum(s.num_ops_offloaded for s in stats),
                             sum(s.num_total_ops for s in stats),
                             sum(s.num_partitions_offloaded for s in stats))


def dispatched(path):
    """(name, bytes) of the context binary behind each DISPATCH_OP of a compiled file."""
    from ai_edge_litert import schema_py_generated as schema
    from flatbuffers import flexbuffers
    data = path.read_bytes()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data))
    found = []
    for op in model.subgraphs[0].operators:
        if model.operatorCodes[op.opcodeIndex].customCode == b"DISPATCH_OP":
            o = flexbuffers.Loads(bytes(op.customOptions))
            found.append((o["name"], data[o["bytecode_offset"]:][:o["bytecode_size"]]))
    return found


def compiled_model(path, sdk, inputs, folder, *more):
    """Outputs by name of a compiled file in a new process of the stock wheel; `more`: "cpu" for
    models of which a part stays there. A process that fails is a CalledProcessError."""
    given, made = folder / "given.npz", folder / "made.npz"
    np.savez(given, **inputs)
    subprocess.run([sys.executable, __file__, path, libraries(sdk), given, made, *more], check=True,
                   capture_output=True, text=True)
    return dict(np.load(made))


def interpret(path, inputs):
    """Outputs by name, on LiteRT's own CPU kernels without a delegate."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    it = Interpreter(str(path), experimental_op_resolver_type=kernels)
    it.allocate_tensors()
    for d in it.get_input_details():
        it.set_tensor(d["index"], inputs[d["name"]])
    it.invoke()
    return {d["name"]: it.get_tensor(d["index"]) for d in it.get_output_details()}


def carrier(dtype):
    """The type by which the wheel's buffers carry another one's bytes."""
    known = (np.float32, np.int8, np.int32)
    return np.dtype(dtype if dtype in known else np.int8)


def main(model, dispatch, given, made, more=None):
    from ai_edge_litert.compiled_model import (CompiledModel, Environment, EnvironmentOptions,
                                               HardwareAccelerator)
    environment = Environment.create(options=EnvironmentOptions(dispatch_library_path=dispatch))
    where = HardwareAccelerator.NPU | (HardwareAccelerator.CPU if more else 0)
    compiled = CompiledModel.from_file(model, environment=environment, hardware_accel=where)
    (key, ports), = compiled.get_signature_list().items()
    ins, outs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    values = np.load(given)
    for name, buffer in zip(ports["inputs"], ins):
        buffer.write(values[name].ravel().view(carrier(values[name].dtype)))
    compiled.run_by_index(0, ins, outs)
    details = compiled.get_output_tensor_details(key)
    results = {}
    for name, buffer in zip(ports["outputs"], outs):
        shape, dtype = list(details[name]["shape"]), np.dtype(details[name]["dtype"])
        there = carrier(dtype)
        n = int(np.prod(shape)) * dtype.itemsize // there.itemsize
        results[name] = np.array(buffer.read(n, there)).view(dtype).reshape(shape)
    np.savez(made, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
