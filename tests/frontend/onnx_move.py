# SPDX-License-Identifier: MIT
"""ONNX ops that move elements, in every element type, and scattering with reductions. Expected
values by numpy; onnx_move_context.py has everything else."""
import numpy as np
from onnx import helper

from case_onnx import case, node

RNG = np.random.default_rng(4)
NIBBLES = {"int4": (np.int8, 22), "uint4": (np.uint8, 21)}  # held in; ONNX's number
TYPES = ["float32", "float16", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
         "int64", "uint64", *NIBBLES]


def ints(*values):
    return np.array(values, np.int64)


def data(kind, *shape):
    """Elements that use the whole width of a type; 64 bits are held as 32, 4 bits come as 8."""
    if kind in NIBBLES:
        low = -8 if kind == "int4" else 0
        return RNG.integers(low, low + 16, shape).astype(NIBBLES[kind][0])
    if kind.startswith("float"):
        return RNG.standard_normal(shape).astype(kind)
    if kind == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    info = np.iinfo(kind.replace("64", "32"))
    return RNG.integers(info.min, int(info.max) + 1, shape).astype(kind)


def typed(name, kind, op, args, feeds, expected, constants=None, outputs="y", **attributes):
    """One op on data of a type: the inputs x, z, u and v. 4 bits have no .npy: they are cast from
    and to 8."""
    names, outs, nodes = args.split(), outputs.split(), []
    if kind in NIBBLES:
        to, back = NIBBLES[kind][1], helper.np_dtype_to_tensor_dtype(np.dtype(NIBBLES[kind][0]))
        nodes += [node("Cast", n, n + "_4", to=to) for n in names if n in "xzuv"]
        names = [n + "_4" if n in "xzuv" else n for n in names]
        outs = [o + "_4" for o in outs]
    nodes.append(node(op, " ".join(names), " ".join(outs), **attributes))
    if kind in NIBBLES:
        nodes += [node("Cast", o, o[:-2], to=back) for o in outs]
    return case(f"{name}_{kind}", nodes, feeds, outputs, constants, expected=expected, opset=24)


def tri(x, k):
    rows, columns = np.indices(x.shape[-2:])
    return np.where(columns - rows >= k, x, np.zeros((), x.dtype))


def cutting(t):
    x, z = data(t, 2, 3, 4), data(t, 2, 2, 4)
    yield typed("reshape", t, "Reshape", "x s", {"x": x}, [x.reshape(4, 6)], {"s": ints(4, -1)})
    yield typed("transpose", t, "Transpose", "x", {"x": x}, [x.transpose(2, 0, 1)], perm=[2, 0, 1])
    yield typed("concat", t, "Concat", "x z", {"x": x, "z": z}, [np.concatenate([x, z], 1)], axis=1)
    yield typed("split", t, "Split", "x s", {"x": x}, [x[:, :1], x[:, 1:]], {"s": ints(1, 2)},
                "y w", axis=1)
    yield typed("slice", t, "Slice", "x b e a s", {"x": x}, [x[:, ::-2, 1:3]],
                {"b": ints(-1, 1), "e": ints(-9, 3), "a": ints(1, 2), "s": ints(-2, 1)})
    yield typed("expand", t, "Expand", "x s", {"x": x[:, :1]}, [x[:, :1].repeat(3, 1)],
                {"s": ints(3, 1)})
    yield typed("tile", t, "Tile", "x s", {"x": x}, [np.tile(x, (1, 2, 2))], {"s": ints(1, 2, 2)})
    yield typed("compress", t, "Compress", "x c", {"x": x}, [x[:, [0, 2]]],
                {"c": np.array([True, False, True])}, axis=1)
    yield typed("reverse", t, "ReverseSequence", "x l", {"x": x, "l": ints(3, 2)},
                [np.stack([x[0, ::-1], x[1, [1, 0, 2]]])], time_axis=1, batch_axis=0)
    square = data(t, 2, 4, 4)
    yield typed("trilu", t, "Trilu", "x k", {"x": square}, [tri(square, 1)], {"k": ints(1)[0]})


def indexing(t):
    x, u = data(t, 2, 3, 4), data(t, 2, 1, 4)
    yield typed("gather", t, "Gather", "x i", {"x": x}, [x[:, [2, 0]]], {"i": ints(-1, 0)}, axis=1)
    yield typed("gather_run_time", t, "Gather", "x i", {"x": x, "i": ints(-1, 0).reshape(1, 2)},
                [x[:, [[2, 0]]]], axis=1)
    rows = RNG.integers(-3, 3, (2, 2, 4))
    yield typed("gather_elements", t, "GatherElements", "x i", {"x": x, "i": rows},
                [np.take_along_axis(x, rows % 3, 1)], axis=1)
    yield typed("gather_nd", t, "GatherND", "x i", {"x": x, "i": ints(1, 0, 0, -1).reshape(2, 2)},
                [np.stack([x[1, 0], x[0, -1]])])
    into, at = x.copy(), np.array([[[2] * 4], [[-3] * 4]])
    np.put_along_axis(into, at % 3, u, 1)
    yield typed("scatter_elements", t, "ScatterElements", "x i u", {"x": x, "i": at, "u": u},
                [into], axis=1)
    into = x.copy()
    into[1, 2] = u[0, 0]
    yield typed("scatter_nd", t, "ScatterND", "x i u",
                {"x": x, "i": ints(1, -1).reshape(1, 2), "u": u[0]}, [into])
    into = x.copy()
    into[0, 1], into[1, 2] = u[0, 0], u[1, 0]
    yield typed("tensor_scatter", t, "TensorScatter", "x u w", {"x": x, "u": u, "w": ints(1, 2)},
                [into])
    v = data(t, 2)
    yield typed("one_hot", t, "OneHot", "i d v", {"i": ints(1, -1, 7), "v": v},
                [np.where(np.arange(4) == ints(1, 3, 7).reshape(3, 1), v[1], v[0])],
                {"d": ints(4)[0]})


def padding(t):
    x, v = data(t, 2, 3), data(t, 1)
    yield typed("pad_cut", t, "Pad", "x p", {"x": x}, [np.pad(x[:, 1:], ((1, 0), (0, 2)))],
                {"p": ints(1, -1, 0, 2)})
    p, want = {"p": ints(2, 1), "a": ints(-1)}, np.pad(x, ((0, 0), (2, 1)), constant_values=v[0])
    yield typed("pad_value", t, "Pad", "x p v a", {"x": x}, [want], p | {"v": v[0]})
    yield typed("pad_value_run_time", t, "Pad", "x p v a", {"x": x, "v": v.reshape(())}, [want], p)
    for mode, before in {"reflect": 5, "edge": 2, "wrap": 7}.items():
        yield typed("pad_" + mode, t, "Pad", "x p", {"x": x},
                    [np.pad(x, ((0, 0), (before, 1)), mode)], {"p": ints(0, before, 0, 1)},
                    mode=mode)


def blocks(t):
    x = data(t, 1, 8, 2, 3)
    dcr = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    crd = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
    yield typed("depth_to_space", t, "DepthToSpace", "x", {"x": x}, [dcr], blocksize=2)
    yield typed("depth_to_space_crd", t, "DepthToSpace", "x", {"x": x}, [crd], blocksize=2,
                mode="CRD")
    yield typed("space_to_depth", t, "SpaceToDepth", "x", {"x": dcr}, [x], blocksize=2)
    yield typed("space_to_depth_crd", t, "SpaceToDepth", "x", {"x": crd}, [x], blocksize=2,
                mode="CRD")


def reductions():
    """Integers wrap around in numpy as in ONNX."""
    at = ints(1, 1, 0, 2).reshape(4, 1)
    spread = at.repeat(3, 1)
    for t in [t for t in TYPES if t != "bool" and t not in NIBBLES]:
        for how in ("add", "mul", "max", "min"):
            x, u = data(t, 4, 3), data(t, 4, 3)
            f = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[how]
            want = x.astype(t.replace("64", "32"))
            with np.errstate(over="ignore"):
                f.at(want, at[:, 0], u.astype(want.dtype))
            feeds = {"x": x, "i": at, "u": u}
            limits = {"opset": 18, "tol": 2e-3 if t == "float16" else 1e-6,
                      "expected": [want.astype(t)]}
            if "64" in t and how in ("add", "mul"):
                continue  # held as 32 bits: what overflows there is not ONNX's result
            yield case(f"scatter_nd_{how}_{t}", node("ScatterND", "x i u", "y", reduction=how),
                       feeds, **limits)
            yield case(f"scatter_elements_{how}_{t}",
                       node("ScatterElements", "x i u", "y", reduction=how),
                       feeds | {"i": spread}, **limits)


def scattered_caches():
    """An fp16 cache that is read, updated and returned; other bits than those of rows stay."""
    past, rows, q = (RNG.standard_normal(s).astype(np.float16)
                     for s in ((1, 2, 24, 8), (1, 2, 3, 8), (1, 2, 5, 8)))
    at, want = np.array([7, 0, 23]), past.copy()
    want[:, :, at] = rows
    spread = np.broadcast_to(at.reshape(1, 1, 3, 1), rows.shape).astype(np.int64)
    tuples = np.stack(np.broadcast_arrays(0, np.arange(2)[:, None], at), -1)[None]
    product = q.astype(np.float64) @ want.astype(np.float64).swapaxes(2, 3)
    read = [node("Transpose", "present", "t", perm=[0, 1, 3, 2]), node("MatMul", "q t", "y")]
    for name, scatter, index in (
            ("elements", node("ScatterElements", "past at rows", "present", axis=2), spread),
            ("nd", node("ScatterND", "past at rows", "present"), tuples)):
        yield case(f"cache_{name}", [scatter, *read],
                   {"past": past, "at": index, "rows": rows, "q": q}, "present y",
                   expected=[want, product.astype(np.float16)], tol=2e-3)
        two = [scatter, *read, node("Neg", "past", "z")]  # the input has another reader
        yield case(f"cache_{name}_read", two, {"past": past, "at": index, "rows": rows, "q": q},
                   "present y z", expected=[want, product.astype(np.float16), -past], tol=2e-3)


def cases():
    yield from scattered_caches()
    for t in TYPES:
        for make in (cutting, indexing, padding, blocks):
            yield from make(t)
    yield from reductions()
