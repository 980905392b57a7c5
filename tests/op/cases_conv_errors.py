# SPDX-License-Identifier: MIT
"""What convolutions, products, columns and pooling must refuse, one rule at a time.

Each list starts from a call that is valid (and run, so that a refusal cannot have another cause)
and changes one thing.
"""
import numpy as np

import qcase as q


class Call:
    """A call of one op by shapes and parameters; bad() repeats it with changes that must fail."""

    def __init__(self, f, op, ins, out, params, dtypes=None):
        self.f, self.op, self.ins, self.out, self.params = f, op, ins, out, params
        self.dtypes = dtypes or ["f32"] * (len(ins) + 1)
        self.count = 0
        self._add(ins, out, params, self.dtypes, None)

    def _add(self, ins, out, params, dtypes, error):
        tensors = []
        for i, shape in enumerate(ins):
            kind = "input" if i == 0 or error else "static"
            tensors.append(q.Tensor(f"in{i}", np.zeros(shape), dtypes[i], kind=kind))
        y = q.Tensor("y", np.zeros(out), dtypes[-1])
        name = f"{self.op}_valid" if error is None else f"{self.op}_refused_{self.count}"
        self.f.add(self.op, tensors, [y], params, error=error, name=name)

    def bad(self, ins=None, out=None, dtypes=None, without=(), **params):
        self.count += 1
        given = {k: v for k, v in {**self.params, **params}.items() if k not in without}
        changed = dict(enumerate(self.ins))
        changed.update(ins or {})
        self._add([changed[i] for i in sorted(changed)], out or self.out, given,
                  dtypes or self.dtypes + ["f32"] * (len(changed) - len(self.ins)), q.error())


def u32(*values):
    return ("u32", list(values))


def conv1d(f, op, w_shape, grouped=True):
    c = Call(f, op, [(1, 9, 4), w_shape, (w_shape[2],)], (1, 7, w_shape[2]),
             {"stride": ("u32", 1), "pad_amount": u32(0, 0)})
    c.bad(stride=("u32", 0))
    c.bad(dilation=("u32", 0))
    c.bad(dilation=("u32", 5))
    c.bad(pad_amount=u32(0, 0, 0))
    c.bad(pad_amount=u32(1, 0))
    c.bad(stride=u32(1))
    c.bad(without=["stride"])
    c.bad(without=["pad_amount"])
    c.bad(ins={2: (5,)})
    c.bad(ins={1: (w_shape[0], w_shape[1] + 1, w_shape[2])})
    c.bad(ins={1: (10, *w_shape[1:])})
    c.bad(out=(1, 8, w_shape[2]))
    c.bad(out=(2, 7, w_shape[2]))
    c.bad(dtypes=["i32", "f32", "f32", "f32"])
    if grouped:
        c.bad(group=("u32", 0))
        c.bad(group=("u32", 3))
        c.bad(group=("u32", 2))  # the filter has the channels of one group


def conv2d(f):
    c = Call(f, "Conv2d", [(1, 6, 7, 4), (3, 2, 4, 6), (6,)], (1, 4, 6, 6),
             {"stride": u32(1, 1), "pad_amount": ("u32", [[0, 0], [0, 0]])})
    c.bad(stride=u32(1, 0))
    c.bad(stride=u32(1))
    c.bad(stride=u32(1, 1, 1))
    c.bad(dilation=u32(0, 1))
    c.bad(dilation=u32(4294967295, 1))
    c.bad(pad_amount=u32(0, 0))
    c.bad(pad_amount=("u32", [[0, 0]]))
    c.bad(pad_amount=("u32", [[4294967295, 4294967295], [0, 0]]))
    c.bad(group=("u32", 0))
    c.bad(group=("u32", 4))
    c.bad(group=("u32", 2))
    c.bad(ins={2: (7,)})
    c.bad(ins={1: (7, 2, 4, 6)})
    c.bad(ins={1: (3, 2, 5, 6)})
    c.bad(ins={3: (6,)})
    c.bad(out=(1, 4, 6, 7))
    c.bad(out=(1, 4, 5, 6))
    c.bad(reuse_sparse_indices=("b8", True))
    c.bad(padding=u32(0))
    c.bad(stride=("f32", [1.0, 1.0]))


def conv3d(f):
    c = Call(f, "Conv3d", [(1, 4, 5, 6, 2), (2, 2, 2, 2, 4), (4,)], (1, 3, 4, 5, 4),
             {"stride": u32(1, 1, 1), "pad_amount": ("u32", [[0, 0]] * 3)})
    c.bad(stride=u32(1, 1))
    c.bad(stride=u32(1, 1, 0))
    c.bad(dilation=u32(1, 1, 0))
    c.bad(dilation=u32(9, 1, 1))
    c.bad(pad_amount=("u32", [[0, 0]] * 2))
    c.bad(group=("u32", 3))
    c.bad(ins={2: (2,)})
    c.bad(out=(1, 3, 4, 4, 4))
    c.bad(reuse_sparse_indicies=("b8", True))


def depthwise2d(f):
    c = Call(f, "DepthWiseConv2d", [(1, 6, 7, 4), (3, 2, 1, 8), (8,)], (1, 4, 6, 8),
             {"stride": u32(1, 1), "pad_amount": ("u32", [[0, 0], [0, 0]])})
    c.bad(ins={1: (3, 2, 1, 6)})
    c.bad(ins={1: (3, 2, 2, 8)})
    c.bad(dilation=u32(0, 1))
    c.bad(stride=u32(0, 1))
    c.bad(group=("u32", 4))
    c.bad(ins={2: (4,)})
    c.bad(out=(1, 4, 6, 4))


def transposed(f):
    c = Call(f, "TransposeConv2d", [(1, 3, 4, 4), (2, 3, 4, 5), (5,)], (1, 6, 9, 5),
             {"stride": u32(2, 2), "pad_amount": ("u32", [[0, 0], [0, 0]])})
    c.bad(stride=u32(0, 2))
    c.bad(output_padding=u32(2, 0), out=(1, 8, 9, 5))
    c.bad(output_padding=u32(0))
    c.bad(dilation=u32(1, 1))
    c.bad(group=("u32", 3))
    c.bad(group=("u32", 2))  # then there are ten output channels
    c.bad(group=("u32", 4294967295))
    c.bad(ins={1: (2, 3, 3, 5)})
    c.bad(ins={2: (4,)})
    c.bad(pad_amount=("u32", [[3, 3], [0, 0]]))
    c.bad(pad_amount=("u32", [[4294967295, 0], [0, 0]]))
    c.bad(stride=u32(4294967295, 2))
    c.bad(out=(1, 6, 11, 5))  # more than output_padding could say
    c.bad(out=(1, 6, 8, 5))
    c.bad(output_padding=u32(0, 1), out=(1, 6, 9, 5))
    c.bad(output_padding=u32(0, 1), out=(1, 6, 11, 5))
    c = Call(f, "TransposeConv1d", [(1, 3, 4), (2, 4, 5), (5,)], (1, 6, 5),
             {"stride": ("u32", 2), "pad_amount": u32(0, 0)})
    c.bad(stride=("u32", 0))
    c.bad(output_padding=("u32", 2), out=(1, 8, 5))
    c.bad(pad_amount=u32(0))
    c.bad(group=("u32", 0))
    c.bad(out=(1, 5, 5))
    c = Call(f, "TransposeConv3d", [(1, 2, 3, 4, 2), (2, 1, 3, 2, 3), (3,)], (1, 3, 3, 6, 3),
             {"stride": u32(1, 1, 1), "pad_amount": ("u32", [[0, 0]] * 3)})
    c.bad(dilation=u32(1, 0, 1))
    c.bad(output_padding=u32(1, 0, 0), out=(1, 4, 3, 6, 3))
    c.bad(stride=u32(1, 1))
    c.bad(group=("u32", 2))
    c.bad(out=(1, 3, 3, 5, 3))


def products(f):
    c = Call(f, "MatMul", [(2, 3, 4), (2, 4, 5), (5,)], (2, 3, 5), {})
    c.bad(ins={1: (2, 5, 5)})
    c.bad(ins={1: (3, 4, 5)})
    c.bad(ins={0: (4,)})
    c.bad(ins={2: (3,)})
    c.bad(ins={2: (1, 5)})
    c.bad(transpose_in0=("b8", True))
    c.bad(transpose_in1=("b8", True))
    c.bad(out=(2, 3, 4))
    c.bad(out=(3, 5))
    c.bad(dtypes=["f32", "i32", "f32", "f32"])
    c = Call(f, "FullyConnected", [(2, 3, 4), (5, 6), (5,)], (4, 5), {})
    c.bad(ins={1: (5, 7)})
    c.bad(ins={1: (5, 6, 1)})
    c.bad(ins={2: (6,)})
    c.bad(keep_dims=("b8", True))
    c.bad(out=(4, 6))
    c.bad(out=(2, 2, 5))
    c = Call(f, "FullyConnected", [(2, 3, 4), (5, 4), (5,)], (2, 3, 5), {"keep_dims": ("b8", True)})
    c.bad(out=(6, 5))
    c.bad(ins={1: (5, 8)})
    c = Call(f, "FullyConnected", [(12,), (5, 12), (5,)], (5,), {})
    c.bad(ins={1: (5, 6)}, out=(2, 5))
    c.bad(out=(1, 5))
    c = Call(f, "HadamardTransform", [(3, 8)], (3, 8), {})
    c.bad(ins={0: (3, 6)}, out=(3, 6))
    c.bad(out=(3, 4))
    c.bad(scale=("u32", 1))


def columns(f):
    c = Call(f, "Im2Col", [(2, 5, 6, 3)], (2, 12, 20),
             {"kernel_size": u32(2, 2), "stride": u32(1, 1),
              "pad_amount": ("u32", [[0, 0], [0, 0]])})
    c.bad(kernel_size=u32(2, 0))
    c.bad(kernel_size=u32(2))
    c.bad(kernel_size=u32(6, 2))
    c.bad(kernel_size=u32(4294967295, 4294967295))
    c.bad(stride=u32(0, 1))
    c.bad(dilation=u32(0, 1))
    c.bad(dilation=u32(5, 1))
    c.bad(pad_amount=("u32", [[4294967295, 4294967295], [4294967295, 4294967295]]))
    c.bad(out=(2, 12, 19))
    c.bad(out=(2, 13, 20))
    c = Call(f, "Col2Im", [(2, 12, 20)], (2, 5, 6, 3),
             {"kernel_size": u32(2, 2), "stride": u32(1, 1),
              "pad_amount": ("u32", [[0, 0], [0, 0]])})
    c.bad(ins={0: (2, 12, 21)})
    c.bad(ins={0: (2, 8, 20)})
    c.bad(out=(1, 5, 6, 3))
    c.bad(out=(2, 5, 6, 2))
    c.bad(out=(2, 6, 6, 3))
    c.bad(kernel_size=u32(3, 2))
    c.bad(stride=u32(1, 0))


def pooling(f):
    for op in ("PoolAvg2d", "PoolMax2d", "L2Pool2d"):
        c = Call(f, op, [(1, 6, 7, 3)], (1, 3, 3, 3),
                 {"filter_size": u32(2, 2), "stride": u32(2, 2),
                  "pad_amount": ("u32", [[0, 0], [0, 0]])})
        c.bad(filter_size=u32(0, 2))
        c.bad(filter_size=u32(2))
        c.bad(filter_size=u32(7, 2))
        c.bad(stride=u32(2, 0))
        c.bad(pad_amount=u32(0, 0))
        c.bad(pad_amount=("u32", [[1, 1], [0, 0]]))
        c.bad(out=(1, 3, 4, 3))
        c.bad(out=(1, 3, 3, 4))
        c.bad(without=["filter_size"])
        if op != "L2Pool2d":
            c.bad(rounding_mode=("u32", 1))
            c.bad(rounding_mode=("u32", 2))
        else:
            c.bad(dtypes=["uq8", "uq8"])
    for op in ("PoolAvg3d", "PoolMax3d"):
        c = Call(f, op, [(1, 4, 6, 7, 3)], (1, 2, 3, 3, 3),
                 {"filter_size": u32(2, 2, 2), "stride": u32(2, 2, 2),
                  "pad_amount": ("u32", [[0, 0]] * 3)})
        c.bad(filter_size=u32(2, 2))
        c.bad(stride=u32(2, 2, 0))
        c.bad(filter_size=u32(5, 2, 2))
        c.bad(pad_amount=("u32", [[0, 0]] * 2))
        c.bad(out=(1, 2, 3, 4, 3))


def cases(f):
    conv1d(f, "Conv1d", (3, 4, 6))
    conv1d(f, "DepthWiseConv1d", (3, 1, 8), grouped=False)
    conv2d(f)
    conv3d(f)
    depthwise2d(f)
    transposed(f)
    products(f)
    columns(f)
    pooling(f)


if __name__ == "__main__":
    q.run(cases)
