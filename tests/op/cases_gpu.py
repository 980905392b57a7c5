# SPDX-License-Identifier: MIT
"""What the GPU backend supports and the other groups do not have: float activations with quantized
weights, and graphs whose tensors in the middle are native, so that a mode of arithmetic decides how
they are stored.

Oracles: float64 numpy on the dequantized weights.
"""
import numpy as np

import conv_oracle as oracle
import qcase as q
import quant_weights as qw

FORMS = ("sq8", "uq8", "sq8axis", "sq4", "uq4", "sq4axis", "bw4axis", "block4", "expansion")


def dense_cases(f):
    for i, form in enumerate(FORMS):
        dtype = "f16" if i % 4 == 3 else "f32"
        x = q.Tensor("x", f.rng.normal(size=(5, 24)), dtype)
        w = qw.weights(f.rng, (14, 24), form, 0, 1)
        b = q.Tensor("b", f.rng.normal(size=14), dtype, kind="static")
        f.add("FullyConnected", [x, w, b], [q.Tensor("y", x.real @ w.real.T + b.real, dtype)],
              name=f"FullyConnected_{dtype}_{form}")
        m = qw.weights(f.rng, (24, 14), form, 1, 0, name="m")
        f.add("MatMul", [x, m], [q.Tensor("y", x.real @ m.real, dtype)],
              name=f"MatMul_{dtype}_{form}")
    # As a client sends MatMulNBits: [N, K], blocks of 32 along K.
    x = q.Tensor("x", f.rng.normal(size=(3, 96)))
    enc = q.block([1, 32], f.rng.uniform(0.5, 2.0, (40, 3)) / 7)
    w = q.Tensor("w", f.rng.normal(size=(40, 96)), "sq4", enc, "static")
    f.add("FullyConnected", [x, w], [q.Tensor("y", x.real @ w.real.T)],
          name="FullyConnected_blocks_of_32")


def conv_cases(f):
    for form in ("sq8", "uq8", "sq8axis", "sq4axis", "bw4axis"):
        x = q.Tensor("x", f.rng.normal(size=(1, 6, 7, 4)))
        w = qw.weights(f.rng, (3, 3, 4, 10), form, 3, 2)
        b = q.Tensor("b", f.rng.normal(size=10), kind="static")
        params = {"stride": ("u32", [1, 1]), "pad_amount": ("u32", [[1, 1], [0, 0]])}
        want = oracle.conv(x.real, w.real, b.real, (1, 1), ((1, 1), (0, 0)), (1, 1), 1)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", want)], params, name=f"Conv2d_f32_{form}")
        d = qw.weights(f.rng, (3, 3, 1, 4), form, 3, 2, name="d")
        want = oracle.conv(x.real, d.real, None, (1, 1), ((1, 1), (0, 0)), (1, 1), 4)
        f.add("DepthWiseConv2d", [x, d], [q.Tensor("y", want)], params,
              name=f"DepthWiseConv2d_f32_{form}")


def other_type_cases(f):
    x = q.Tensor("x", f.rng.normal(size=(3, 5)), "f16")
    f.add("ReluMinMax", [x], [q.Tensor("y", np.clip(x.real, -0.5, 0.75), "f16")],
          {"min_value": ("f32", -0.5), "max_value": ("f32", 0.75)}, name="ReluMinMax_f16")
    table = q.Tensor("t", f.rng.normal(size=(5, 3)), tol=q.exact())
    f.add("Gather", [table, q.Tensor("i", np.array([4.0, 0.0, -2.0]))],
          [q.Tensor("y", table.real[[4, 0, 3]], tol=q.exact())], {"axis": ("i32", 0)},
          name="Gather_f32_indices")
    cond = q.Tensor("c", f.rng.integers(0, 2, (3, 4)), "b8")
    a = q.Tensor("a", np.arange(12).reshape(3, 4) / 4.0, "uq4", q.scale_offset(0.25), "static")
    b = q.Tensor("b", -np.arange(12).reshape(3, 4) / 2.0, "uq4", q.scale_offset(0.5, -15), "static")
    f.add("ElementWiseSelect", [cond, a, b],
          [q.Tensor("y", np.where(cond.real != 0, a.real, b.real))], name="Select_uq4")


def middle(f, op, shape, rule, params=None, extra=(), dtype="f32"):
    """-op(-x): op reads and writes native tensors, and is neither the first nor the last."""
    x = q.Tensor("x", f.rng.normal(size=shape), dtype)
    want = -rule(-x.real)
    a = q.Tensor("a", -x.real, dtype, kind="native")
    b = q.Tensor("b", -want, dtype, kind="native")
    y = q.Tensor("y", want, dtype)
    f.build([q.Node("ElementWiseNeg", [x], [a]), q.Node(op, [a, *extra], [b], params or {}),
                 q.Node("ElementWiseNeg", [b], [y])], name=f"{op}_in_the_middle_{dtype}")


def middle_cases(f):
    index = q.Tensor("i", np.array([2, 0, -1]), "i32", kind="static")
    places = q.Tensor("i", np.array([[1], [0], [1]]), "i32", kind="static")
    updates = q.Tensor("u", f.rng.normal(size=(3, 6)), kind="static")

    def add_rows(x):
        y = x.copy()
        for k, row in enumerate((1, 0, 1)):
            y[row] += updates.real[k]
        return y

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    pads = ((0, 0), (1, 2), (2, 0))
    pad = {"pad_amount": ("u32", np.array(pads))}
    for dtype in ("f32", "f16"):
        middle(f, "Transpose", (3, 4, 5), lambda x: x.transpose(2, 0, 1),
               {"perm": ("u32", [2, 0, 1])}, dtype=dtype)
        for scheme, mode in enumerate(("constant", "symmetric", "reflect", "edge")):
            middle(f, "Pad", (2, 4, 5), lambda x: np.pad(x, pads, mode),
                   {"scheme": ("u32", scheme), **pad}, dtype=dtype)
        middle(f, "StridedSlice", (4, 9, 8), lambda x: x[1:4, 8:0:-3, 0:8:2],
               {"ranges": ("i32", [[1, 4, 1], [8, 0, -3], [0, 8, 2]])}, dtype=dtype)
        middle(f, "Tile", (2, 3), lambda x: np.tile(x, (3, 2)), {"multiples": ("u32", [3, 2])},
               dtype=dtype)
        middle(f, "Reshape", (2, 6), lambda x: x.reshape(3, 4), dtype=dtype)
        middle(f, "Gather", (4, 3, 2), lambda x: x[:, [2, 0, 2]], {"axis": ("i32", 1)}, (index,),
               dtype=dtype)
        middle(f, "Softmax", (3, 40), softmax, dtype=dtype)
        middle(f, "ReduceMean", (3, 7, 9), lambda x: x.mean(1), {"axes": ("u32", [1])},
               dtype=dtype)
        middle(f, "ResizeNearestNeighbor", (1, 3, 4, 5), lambda x: x.repeat(2, 1).repeat(2, 2),
               dtype=dtype)
    middle(f, "ScatterNd", (2, 6), add_rows, {"reduction": ("u32", 1)}, (places, updates))
    w = q.Tensor("w", f.rng.normal(size=(40, 30)), kind="static")
    middle(f, "MatMul", (7, 40), lambda x: x @ w.real, extra=(w,))
    k = q.Tensor("k", f.rng.normal(size=(3, 3, 8, 20)), kind="static")
    middle(f, "Conv2d", (1, 5, 6, 8),
           lambda x: oracle.conv(x, k.real, None, (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
           {"stride": ("u32", [1, 1]), "pad_amount": ("u32", [[1, 1], [1, 1]])}, (k,))


def join_cases(f):
    """Parts of a concatenation, and of a split, that are native."""
    for dtype in ("f32", "f16"):
        x, z = (q.Tensor(n, f.rng.normal(size=(2, 3, w)), dtype) for n, w in (("x", 4), ("z", 5)))
        a, b = (q.Tensor(n, np.sin(t.real), dtype, kind="native") for n, t in (("a", x), ("b", z)))
        both = np.concatenate([a.real, b.real], 2)
        c = q.Tensor("c", both, dtype, kind="native")
        parts = [q.Tensor("d", both[..., :2], dtype, kind="native"),
                 q.Tensor("e", both[..., 2:], dtype, kind="native")]
        outs = [q.Tensor("y", np.abs(both[..., :2]), dtype),
                q.Tensor("v", np.abs(both[..., 2:]), dtype)]
        f.build([q.Node("ElementWiseSin", [x], [a]), q.Node("ElementWiseSin", [z], [b]),
                     q.Node("Concat", [a, b], [c], {"axis": ("u32", 2)}),
                     q.Node("Split", [c], parts,
                            {"axis": ("u32", 2), "split_index": ("u32", [2])}),
                     q.Node("ElementWiseAbs", [parts[0]], [outs[0]]),
                     q.Node("ElementWiseAbs", [parts[1]], [outs[1]])],
              name=f"join_and_split_{dtype}")


def scatter_cases(f):
    """Many tuples, most of which name a slice that others name as well: the last one counts."""
    for dtype in ("f32", "f16", "i32", "u8"):
        for q_dims, n in ((2, 500), (1, 300)):
            new = [f.rng.integers(0, 99, s) + 0.0 if dtype[0] == "f" else f.rng.integers(0, 99, s)
                   for s in ((40, 7), (n,) + (40, 7)[q_dims:])]
            x, u = q.Tensor("x", new[0], dtype), q.Tensor("u", new[1], dtype)
            at = f.rng.integers(0, (40, 7)[:q_dims], (n, q_dims))
            i = q.Tensor("i", at, "i32")
            want = x.array.copy()
            for t in range(n):
                want[tuple(at[t])] = u.array[t]
            f.add("ScatterNd", [x, i, u], [q.Tensor("y", want, dtype, tol=q.exact())],
                  name=f"ScatterNd_{dtype}_many_{q_dims}")
    wrong = f.rng.integers(0, 5, (100, 1))
    wrong[37] = 5
    f.add("ScatterNd", [q.Tensor("x", np.zeros(5)), q.Tensor("i", wrong, "i32"),
                        q.Tensor("u", np.ones(100))], [q.Tensor("y", None, dims=(5,))],
          error=q.error(6000, "execute"), name="ScatterNd_many_out_of_range")


def cases(f):
    scatter_cases(f)
    dense_cases(f)
    conv_cases(f)
    other_type_cases(f)
    middle_cases(f)
    join_cases(f)


if __name__ == "__main__":
    q.run(cases)
