# SPDX-License-Identifier: MIT
"""Sparse tensors: made, read back, spread out; and the ops that also take them."""
import numpy as np

import qcase as q
from conv_oracle import conv

INVALID_ARGUMENT_AT_EXECUTE = None  # the library may choose the code


def random_indices(rng, dims, n, unique=True):
    """n index rows over dims."""
    cells = int(np.prod(dims))
    flat = rng.permutation(cells)[:n] if unique else rng.integers(0, cells, n)
    return np.stack(np.unravel_index(flat, dims), -1).astype(np.int64)


def spread(shape, indices, values):
    """The dense tensor; of equal indices the last one counts."""
    dense = np.zeros(shape)
    for row, value in zip(indices, values):
        dense[tuple(row)] = value
    return dense


class Sparse:
    """A sparse tensor made by a CreateSparse node from two application inputs."""

    def __init__(self, rng, shape, n_dims, n, dtype="f32", name="s", unique=True, index="i32",
                 enc=None):
        self.shape, self.n_dims, self.n = tuple(shape), n_dims, n
        idx = random_indices(rng, shape[:n_dims], n, unique)
        self.indices = q.Tensor(name + "_i", idx, index)
        self.values = q.Tensor(name + "_v", rng.uniform(-2, 3, (n, *shape[n_dims:])), dtype, enc)
        self.tensor = q.Tensor(name, None, dtype, self.values.enc, kind="native", dims=shape,
                               sparse=(n, n_dims))
        self.node = q.Node("CreateSparse", [self.indices, self.values], [self.tensor])

    @property
    def dense(self):
        return spread(self.shape, self.indices.array, self.values.real)

    def like(self, name, shape=None, n=None, dtype=None, enc=None):
        """Another sparse tensor over the same dimensions."""
        return q.Tensor(name, None, dtype or self.values.dtype, enc or self.values.enc,
                        kind="native", dims=shape or self.shape,
                        sparse=(n or self.n, self.n_dims))


SHAPES = [((5,), 1, 3), ((4, 3), 1, 2), ((4, 3), 2, 7), ((2, 3, 4), 1, 1), ((2, 3, 4), 2, 6),
          ((2, 3, 4), 3, 11), ((1, 4, 5, 2), 3, 9), ((1, 2, 3, 4, 3), 4, 10), ((1, 1), 2, 1),
          ((2, 1, 3, 1, 2, 2), 5, 4)]


def read_back(f, s, name):
    """Indices, values and dense form of a sparse tensor in one graph."""
    enc = s.values.enc
    exact = q.exact()
    f.build([s.node,
             q.Node("GetSparseIndices", [s.tensor],
                    [q.Tensor("i", s.indices.array, s.indices.dtype)]),
             q.Node("GetSparseValues", [s.tensor],
                    [q.Tensor("v", s.values.codes if enc else s.values.array, s.values.dtype, enc,
                              tol=exact)]),
             q.Node("SparseToDense", [s.tensor],
                    [q.Tensor("d", s.dense, s.values.dtype, enc)])], name=name)


def round_trip_cases(f):
    for shape, n_dims, n in SHAPES:
        for dtype in ("f32", "uq8"):
            for index in ("i32", "u32"):
                s = Sparse(f.rng, shape, n_dims, n, dtype, index=index)
                read_back(f, s, f"Sparse_round_trip_{dtype}_{index}")
        s = Sparse(f.rng, shape, n_dims, n, unique=False)
        f.build([s.node, q.Node("SparseToDense", [s.tensor], [q.Tensor("d", s.dense)])],
                name="Sparse_last_one_counts")
    # Values and dense form with encodings of their own.
    s = Sparse(f.rng, (4, 5, 3), 2, 8, "uq8")
    made = q.Tensor("made", None, "uq8", q.scale_offset(0.05, -60), kind="native", dims=s.shape,
                    sparse=(s.n, 2))
    codes = q.quantize(s.values.real, made.enc, "uq8")
    dense = spread(s.shape, s.indices.array, q.dequantize(codes, made.enc))
    f.build([q.Node("CreateSparse", [s.indices, s.values], [made]),
             q.Node("GetSparseValues", [made],
                    [q.Tensor("v", q.dequantize(codes, made.enc), "uq8",
                              q.scale_offset(0.03, -90))]),
             q.Node("SparseToDense", [made],
                    [q.Tensor("d", dense, "uq8", q.scale_offset(0.04, -80))])],
            name="Sparse_encodings")
    # A limit above the number of elements: the actual number is reported.
    s = Sparse(f.rng, (4, 3), 1, 2)
    f.build([s.node,
             q.Node("GetSparseIndices", [s.tensor], [q.Tensor("i", s.indices.array, "i32",
                                                              dims=(5, 1))]),
             q.Node("GetSparseValues", [s.tensor], [q.Tensor("v", s.values.real, dims=(4, 3))])],
            name="Sparse_limits")


def data_error_cases(f):
    for bad in (-1, 4, 2 ** 31 - 1, -2 ** 31):
        s = Sparse(f.rng, (4, 3), 1, 2)
        s.indices.array[1, 0] = bad
        f.build([s.node, q.Node("SparseToDense", [s.tensor], [q.Tensor("d", dims=(4, 3))])],
                name="Sparse_index_outside", error=q.error(INVALID_ARGUMENT_AT_EXECUTE, "execute"))
    s = Sparse(f.rng, (4, 3), 1, 3)
    f.build([s.node, q.Node("GetSparseValues", [s.tensor], [q.Tensor("v", dims=(2, 3))])],
            name="Sparse_limit_too_small", error=q.error(INVALID_ARGUMENT_AT_EXECUTE, "execute"))


def relu_cases(f):
    for shape, n_dims, n in SHAPES:
        for dtype in ("f32", "uq8"):
            s = Sparse(f.rng, shape, n_dims, n, dtype)
            y = s.like("y")
            want = np.maximum(s.values.real, 0)
            f.build([s.node, q.Node("Relu", [s.tensor], [y]),
                     q.Node("GetSparseIndices", [y], [q.Tensor("i", s.indices.array, "i32")]),
                     q.Node("GetSparseValues", [y], [q.Tensor("v", want, dtype, s.values.enc)])],
                    name=f"Sparse_Relu_{dtype}")


def batchnorm_cases(f):
    """Only the elements there are get scale and offset."""
    for shape, n_dims, n in SHAPES:
        if len(shape) < 2:
            continue
        for dtype in ("f32", "uq8"):
            s = Sparse(f.rng, shape, n_dims, n, dtype)
            w = q.Tensor("w", f.rng.normal(size=shape[-1]), dtype, kind="static")
            b = q.Tensor("b", f.rng.normal(size=shape[-1]), dtype, kind="static")
            channel = s.indices.array[:, -1] if n_dims == len(shape) else slice(None)
            want = s.values.real * w.real[channel] + b.real[channel]
            out = q.Tensor("v", want, dtype)
            y = s.like("y", enc=out.enc)
            f.build([s.node, q.Node("Batchnorm", [s.tensor, w, b], [y]),
                     q.Node("GetSparseValues", [y], [out])], name=f"Sparse_Batchnorm_{dtype}")


def add_cases(f):
    """The elements of either operand, each once, in ascending order of their indices."""
    for shape, n_dims, n in SHAPES:
        cells = int(np.prod(shape[:n_dims]))
        for dtype in ("f32", "uq8"):
            a = Sparse(f.rng, shape, n_dims, n, dtype, "a")
            b = Sparse(f.rng, shape, n_dims, int(f.rng.integers(1, cells + 1)), dtype, "b")
            total = a.dense + b.dense
            union = sorted({tuple(r) for s in (a, b) for r in s.indices.array})
            values = np.stack([total[r] for r in union])
            out = q.Tensor("v", values, dtype, dims=(a.n + b.n, *shape[n_dims:]))
            y = a.like("y", n=a.n + b.n, enc=out.enc)
            f.build([a.node, b.node, q.Node("ElementWiseAdd", [a.tensor, b.tensor], [y]),
                     q.Node("GetSparseIndices", [y],
                            [q.Tensor("i", np.array(union), "i32", dims=(a.n + b.n, n_dims))]),
                     q.Node("GetSparseValues", [y], [out]),
                     q.Node("SparseToDense", [y], [q.Tensor("d", total, dtype, out.enc)])],
                    name=f"Sparse_Add_{dtype}")
    a = Sparse(f.rng, (3, 4), 1, 2)
    y = a.like("y")
    order = np.argsort(a.indices.array[:, 0])
    f.build([a.node, q.Node("ElementWiseAdd", [a.tensor, a.tensor], [y]),
             q.Node("GetSparseValues", [y], [q.Tensor("v", 2 * a.values.real[order])])],
            name="Sparse_Add_to_itself")
    a, b = Sparse(f.rng, (6, 2), 1, 3, name="a"), Sparse(f.rng, (6, 2), 1, 3, name="b")
    a.indices.array[:], b.indices.array[:] = [[0], [1], [2]], [[3], [4], [5]]
    y = a.like("y", n=5)
    f.build([a.node, b.node, q.Node("ElementWiseAdd", [a.tensor, b.tensor], [y]),
             q.Node("SparseToDense", [y], [q.Tensor("d", dims=(6, 2))])],
            name="Sparse_Add_no_room", error=q.error(INVALID_ARGUMENT_AT_EXECUTE, "execute"))
    # More room than elements where all rows are read by a node: the rest is -1 and 0.
    y, i, v = a.like("y", n=8), q.Tensor("i", None, "i32", kind="native", dims=(8, 1)), \
        q.Tensor("v", None, kind="native", dims=(8, 2))
    rest = np.zeros((2, 2))
    f.build([a.node, b.node, q.Node("ElementWiseAdd", [a.tensor, b.tensor], [y]),
             q.Node("GetSparseIndices", [y], [i]), q.Node("GetSparseValues", [y], [v]),
             q.Node("Reshape", [i],
                    [q.Tensor("flat", np.array([0, 1, 2, 3, 4, 5, -1, -1]), "i32")]),
             q.Node("Relu", [v], [q.Tensor("r", np.maximum(np.concatenate(
                 [a.values.real, b.values.real, rest]), 0))])], name="Sparse_rows_left_over")


def conv_cases(f):
    """reuse_sparse_indices: the output has the elements of the input, and only those."""
    for dtype in ("f32", "uq8"):
        for rank, shape, kernel, reuse in ((2, (1, 5, 4, 3), (3, 3), "reuse_sparse_indices"),
                                           (3, (1, 3, 4, 3, 2), (3, 3, 1),
                                            "reuse_sparse_indicies")):
            s = Sparse(f.rng, shape, rank + 1, 6, dtype)
            w = q.Tensor("w", f.rng.normal(size=(*kernel, shape[-1], 4)),
                         "sq8" if dtype == "uq8" else dtype, kind="static")
            unit = s.values.enc and q.scale_offset(s.values.enc.scale * w.enc.scale)
            b = q.Tensor("b", f.rng.normal(size=4), "sq32" if unit else dtype, unit, kind="static")
            pad = [[k // 2, k // 2] for k in kernel]
            want = conv(s.dense, w.real, b.real, [1] * rank, pad, [1] * rank, 1)
            out = q.Tensor("v", want[tuple(s.indices.array.T)], dtype)
            y = s.like("y", (*shape[:-1], 4), enc=out.enc)
            params = {"stride": ("u32", [1] * rank), "pad_amount": ("u32", pad)}
            f.build([s.node, q.Node(f"Conv{rank}d", [s.tensor, w, b], [y],
                                    {**params, reuse: ("b8", True)}),
                     q.Node("GetSparseIndices", [y], [q.Tensor("i", s.indices.array, "i32")]),
                     q.Node("GetSparseValues", [y], [out])], name=f"Sparse_Conv{rank}d_{dtype}")
            f.build([s.node, q.Node(f"Conv{rank}d", [s.tensor, w, b],
                                    [q.Tensor("y", want, dtype)], params)],
                    name=f"Sparse_Conv{rank}d_to_dense_{dtype}")


def rule_cases(f):
    def refused(name, nodes):
        f.build(nodes, name=name, error=q.error())

    s = Sparse(f.rng, (4, 3), 1, 2)
    i2, v2 = q.Tensor("i", np.zeros((2, 1)), "i32"), q.Tensor("v", np.zeros((2, 3)))
    for name, i, v, sparse in (("indices_rows", np.zeros((3, 1)), np.zeros((2, 3)), (2, 1)),
                               ("indices_columns", np.zeros((2, 2)), np.zeros((2, 3)), (2, 1)),
                               ("values_rows", np.zeros((2, 1)), np.zeros((3, 3)), (2, 1)),
                               ("values_columns", np.zeros((2, 1)), np.zeros((2, 4)), (2, 1)),
                               ("values_rank", np.zeros((2, 1)), np.zeros(2), (2, 1)),
                               ("elements", np.zeros((2, 1)), np.zeros((2, 3)), (3, 1)),
                               ("dims", np.zeros((2, 1)), np.zeros((2, 3)), (2, 2))):
        y = q.Tensor("y", None, kind="native", dims=(4, 3), sparse=sparse)
        refused(f"CreateSparse_{name}",
                [q.Node("CreateSparse", [q.Tensor("i", i, "i32"), q.Tensor("v", v)], [y])])
    refused("CreateSparse_dense_output",
            [q.Node("CreateSparse", [i2, v2], [q.Tensor("y", dims=(4, 3))])])
    y = q.Tensor("y", None, "uq8", q.scale_offset(1.0), kind="native", dims=(4, 3), sparse=(2, 1))
    refused("CreateSparse_type", [q.Node("CreateSparse", [i2, v2], [y])])
    dense = q.Tensor("x", np.zeros((4, 3)))
    for op, out in (("GetSparseIndices", q.Tensor("y", None, "i32", dims=(2, 1))),
                    ("GetSparseValues", q.Tensor("y", dims=(2, 3))),
                    ("SparseToDense", q.Tensor("y", dims=(4, 3)))):
        refused(f"{op}_of_dense", [q.Node(op, [dense], [out])])
    for op, dtype, dims in (("GetSparseIndices", "i32", (2, 2)),
                            ("GetSparseIndices", "f32", (2, 1)),
                            ("GetSparseValues", "f32", (2, 4)),
                            ("SparseToDense", "f32", (3, 4)), ("SparseToDense", "i32", (4, 3))):
        refused(f"{op}_output", [s.node, q.Node(op, [s.tensor], [q.Tensor("y", None, dtype,
                                                                          dims=dims)])])
    for op in ("Tanh", "Softmax", "ElementWiseMultiply"):
        ins = [s.tensor] * (2 if op == "ElementWiseMultiply" else 1)
        refused(f"{op}_of_sparse", [s.node, q.Node(op, ins, [q.Tensor("y", dims=(4, 3))])])


def mixed_rule_cases(f):
    """Which sparse operands Relu, Batchnorm, ElementWiseAdd and convolutions refuse."""
    def refused(name, *nodes):
        f.build(list(nodes), name=name, error=q.error())

    s = Sparse(f.rng, (4, 3), 1, 2)
    dense = q.Tensor("x", np.zeros((4, 3)))
    refused("Relu_dense_to_sparse", q.Node("Relu", [dense], [s.like("y")]))
    refused("Relu_to_dense", s.node, q.Node("Relu", [s.tensor], [q.Tensor("y", dims=(4, 3))]))
    refused("Add_to_dense", s.node, q.Node("ElementWiseAdd", [s.tensor, s.tensor],
                                           [q.Tensor("y", dims=(4, 3))]))
    refused("Add_dense_to_dense", s.node, q.Node("ElementWiseAdd", [dense, s.tensor],
                                                 [q.Tensor("y", dims=(4, 3))]))
    refused("Relu_too_few_elements", s.node, q.Node("Relu", [s.tensor], [s.like("y", n=1)]))
    y = q.Tensor("y", None, kind="native", dims=(4, 3), sparse=(2, 2))
    refused("Relu_other_dims", s.node, q.Node("Relu", [s.tensor], [y]))
    refused("Add_one_dense", s.node, q.Node("ElementWiseAdd", [s.tensor, dense], [s.like("y")]))
    other = Sparse(f.rng, (1, 3), 1, 1, name="o")
    refused("Add_broadcast", s.node, other.node,
            q.Node("ElementWiseAdd", [s.tensor, other.tensor], [s.like("y", n=9)]))
    w = Sparse(f.rng, (3,), 1, 2, name="w")
    b = q.Tensor("b", np.zeros(3), kind="static")
    refused("Batchnorm_sparse_weight", w.node,
            q.Node("Batchnorm", [dense, w.tensor, b], [q.Tensor("y", dims=(4, 3))]))
    refused("Batchnorm_to_dense", s.node,
            q.Node("Batchnorm", [s.tensor, b, b], [q.Tensor("y", dims=(4, 3))]))
    s = Sparse(f.rng, (1, 4, 4, 2), 3, 5)
    w = q.Tensor("w", np.zeros((1, 1, 2, 2)), kind="static")
    stride, pad = ("u32", [1, 1]), ("u32", [[0, 0], [0, 0]])
    one = {"stride": stride, "pad_amount": pad}
    refused("Conv2d_sparse_without_reuse", s.node,
            q.Node("Conv2d", [s.tensor, w], [s.like("y")], dict(one)))
    refused("Conv2d_reuse_to_dense", s.node,
            q.Node("Conv2d", [s.tensor, w], [q.Tensor("y", dims=(1, 4, 4, 2))],
                   {**one, "reuse_sparse_indices": ("b8", True)}))
    refused("Conv2d_reuse_with_stride", s.node,
            q.Node("Conv2d", [s.tensor, w], [s.like("y", (1, 2, 2, 2))],
                   {"stride": ("u32", [2, 2]), "pad_amount": pad,
                    "reuse_sparse_indices": ("b8", True)}))
    axis = q.Tensor("a", None, "uq8", q.axis(3, [0.1, 0.2]), kind="native", dims=(1, 4, 4, 2),
                    sparse=(5, 3))
    v = q.Tensor("v", np.zeros((5, 2)), "uq8", q.scale_offset(0.1))
    refused("CreateSparse_axis_encoding", q.Node("CreateSparse", [s.indices, v], [axis]))


def cases(f):
    round_trip_cases(f)
    data_error_cases(f)
    relu_cases(f)
    batchnorm_cases(f)
    add_cases(f)
    conv_cases(f)
    rule_cases(f)
    mixed_rule_cases(f)


if __name__ == "__main__":
    q.run(cases)
