#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of torchvision through litert-torch, ai-edge-quantizer and LiteRT on our libraries.

    pip install torch torchvision litert-torch==0.10.0 ai-edge-quantizer==0.10.0
    litert_nets.py SDK [-k TEXT] [--scheme NAME ...] [--keep FOLDER]

makes each network with seeded weights, quantizes it with random data, compiles it ahead of time on
the libraries of an SDK folder, runs it on our dispatch library and prints: the ops compiled and all
ops, the partitions, the largest difference of each op and of the whole network from LiteRT's own
kernels (quantized steps, or decibels in float), of quantized networks how close both are to the one
in float, the ops left to the CPU and the library's reasons.
"""
import argparse
import collections
import contextlib
import copy
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "frontend")]
import litert_models  # noqa: E402
from litert_ops import difference  # noqa: E402

SIZE = 96
SIZES = {"vgg11": 224}  # the one whose pooling fits: others need ops of rank 6
NETS = ["resnet18", "squeezenet1_1", "vgg11", "regnet_x_400mf", "vit", "densenet121",
        "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x0_5"]
SCHEMES = {"float": None, "int8": "static_wi8_ai8", "a16w8": "static_wi8_ai16"}


def network(name):
    """A network with seeded weights; forward passes give its batch normalizations statistics."""
    import torch
    import torchvision.models as zoo
    torch.manual_seed(11)
    if name == "vit":
        net = zoo.VisionTransformer(image_size=SIZE, patch_size=16, num_layers=4, num_heads=4,
                                    hidden_dim=128, mlp_dim=256, num_classes=100)
        torch.nn.init.normal_(net.heads.head.weight, std=0.05)  # both zero as torchvision
        torch.nn.init.normal_(net.class_token)                  # makes them
    else:
        net = getattr(zoo, name)(num_classes=100)
    net.train()
    with torch.no_grad():
        for image in images(1, 16, name):
            net(torch.from_numpy(np.concatenate([image, image[:, :, ::-1]])))
    return net.eval()


def convert(name, path):
    import litert_torch
    import torch
    sample, = images(0, 1, name)
    litert_torch.convert(network(name), (torch.from_numpy(sample),)).export(str(path))


def images(seed, count, name):
    rng, size = np.random.default_rng(seed), SIZES.get(name, SIZE)
    return [rng.normal(size=(1, 3, size, size)).astype(np.float32) for _ in range(count)]


def quantize(name, source, path, recipe_name):
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe
    (key, ports), = Interpreter(str(source)).get_signature_list().items()
    port, = ports["inputs"]
    q = quantizer.Quantizer(str(source), getattr(recipe, recipe_name)())
    found = q.calibrate({key: [{port: x} for x in images(3, 8, name)]}, num_threads=1)
    path.write_bytes(q.quantize(found, enable_progress_report=False).quantized_model)


def load(path):
    """A model as objects, its constants among them."""
    from ai_edge_litert import schema_py_generated as schema
    data = path.read_bytes()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data))
    for b in model.buffers:
        if b.offset > 1:  # the bytes lie behind the tables
            b.data, b.offset, b.size = np.frombuffer(data, np.uint8, b.size, b.offset), 0, 0
    return model


def left_ops(path):
    """How many ops of each kind a compiled file leaves to the CPU."""
    from ai_edge_litert import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes()))
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    codes = [c.customCode.decode() if c.customCode else names[c.builtinCode]
             for c in model.operatorCodes]
    found = collections.Counter(codes[o.opcodeIndex] for o in model.subgraphs[0].operators)
    del found["DISPATCH_OP"]
    return found


def apart(path, values, out):
    """Writes the model with every op by itself: what an op makes is an output, and what another
    one reads is an input of its own. Returns its inputs, the values of LiteRT's kernels."""
    import flatbuffers
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    it = Interpreter(str(path), experimental_op_resolver_type=kernels,
                     experimental_preserve_all_tensors=True)
    it.allocate_tensors()
    d, = it.get_input_details()
    it.set_tensor(d["index"], values[d["name"]])
    it.invoke()
    model = load(path)
    g, model.signatureDefs = model.subgraphs[0], []
    made = sorted({int(t) for o in g.operators for t in o.outputs})
    for i, t in enumerate(g.tensors):
        t.name = f"t{i}".encode()
    ports, inputs = [int(t) for t in g.inputs], {f"t{t}": it.get_tensor(int(t)) for t in g.inputs}
    for o in g.operators:
        o.inputs = [int(t) for t in o.inputs]
        for k, t in enumerate(o.inputs):
            if t in made:
                name, o.inputs[k] = f"in{len(g.tensors)}", len(g.tensors)
                ports.append(len(g.tensors))
                g.tensors.append(copy.copy(g.tensors[t]))
                g.tensors[-1].name, inputs[name] = name.encode(), it.get_tensor(t)
    g.inputs, g.outputs = ports, made
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    out.write_bytes(builder.Output())
    return inputs


def inputs_of(name, path):
    """Random values for the only input, quantized where the model wants that; by tensor name, and
    by the name that the signature has."""
    from ai_edge_litert.interpreter import Interpreter
    it = Interpreter(str(path))
    d, = it.get_input_details()
    x, = images(5, 1, name)
    if d["dtype"] != np.float32:
        info, (scale, zero) = np.iinfo(d["dtype"]), d["quantization"]
        x = np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(d["dtype"])
    (_, ports), = it.get_signature_list().items()
    return {d["name"]: x}, {ports["inputs"][0]: x}


def real_output(path, stored):
    """An output's values as numbers."""
    from ai_edge_litert.interpreter import Interpreter
    d, = Interpreter(str(path)).get_output_details()
    scale, zero = d["quantization"] if stored.dtype != np.float32 else (1, 0)
    return ((stored.astype(float) - zero) * scale).astype(np.float32)


def run(compiled, counts, sdk, values, folder):
    more = () if counts[0] == counts[1] else ("cpu",)
    return litert_models.compiled_model(compiled, sdk, values, folder, *more)


def each_op(path, sdk, values, folder):
    """The largest difference of an op from LiteRT's kernel on the same values, in steps; of ops in
    float in -dB."""
    alone = folder / "apart.tflite"
    given = apart(path, values, alone)
    want = litert_models.interpret(alone, given)
    compiled, counts = litert_models.aot(sdk, alone, folder / "out")
    got = run(compiled, counts, sdk, given, folder)
    steps = [difference(got, {n: w}) for n, w in want.items() if w.dtype != np.float32]
    floats = [difference(got, {n: w}) for n, w in want.items() if w.dtype == np.float32]
    return ([f"{max(steps):.0f} steps"] if steps else []) + (
        [f"{-max(floats):.1f} dB"] if floats else [])


def measure(name, scheme, sdk, folder):
    """One line about a network in a scheme, and the log of the library."""
    source = folder / f"{name}_float.tflite"
    if not source.exists():
        convert(name, source)
    path = folder / f"{name}_{scheme}.tflite"
    if not path.exists():
        quantize(name, source, path, SCHEMES[scheme])
    log = folder / f"{name}_{scheme}.log"
    log.unlink(missing_ok=True)
    os.environ["QUERN_LOG"] = str(log)
    try:
        compiled, counts = litert_models.aot(sdk, path, folder / "out")
    except litert_models.NotCompiled:
        return "nothing compiled", log
    finally:
        del os.environ["QUERN_LOG"]
    by_tensor, by_signature = inputs_of(name, path)
    want, = litert_models.interpret(path, by_tensor).values()
    got, = run(compiled, counts, sdk, by_signature, folder).values()
    whole = difference({"y": got}, {"y": want})
    line = "{} of {} ops, {} partitions".format(*counts)
    line += "; each op " + ", ".join(each_op(path, sdk, by_tensor, folder))
    if scheme == "float":
        line += f"; whole {-whole:.1f} dB"
    else:
        exact, = litert_models.interpret(source, inputs_of(name, source)[0]).values()
        db = [-difference({"y": real_output(path, v)}, {"y": exact}) for v in (want, got)]
        line += f"; whole {whole:.0f} steps; from float {db[0]:.1f} dB LiteRT, {db[1]:.1f} dB ours"
    left = ", ".join(f"{n} {k}" for k, n in left_ops(compiled).most_common())
    return f"{line}; left: {left or 'none'}", log


def reasons(log):
    """The library's lines about rejected nodes, without the nodes' names, with counts."""
    lines = re.findall(r"ERROR +\S+ (.*) \(QNN_", log.read_text() if log.exists() else "")
    return collections.Counter(re.sub(r"(node|tensor) '[^']*'", r"\1", x) for x in lines).items()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdk", type=Path)
    parser.add_argument("-k", default="", help="part of a name")
    parser.add_argument("--scheme", choices=list(SCHEMES), action="append")
    parser.add_argument("--keep", type=Path, help="a folder for the models and logs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (n for n in NETS if args.k in n):
            for scheme in args.scheme or SCHEMES:
                with contextlib.redirect_stderr(io.StringIO()):  # progress bars
                    line, log = measure(name, scheme, args.sdk, folder)
                print(f"{name:20} {scheme:6} {line}", flush=True)
                for text, count in reasons(log):
                    print(f"    {count} x {text}", flush=True)


if __name__ == "__main__":
    main()
