# SPDX-License-Identifier: MIT
"""Every kernel for operators that were not delegated, against numpy."""
import math

import numpy as np
import pytest
from harness_pte import refused, run
from pte_writer import Program, Ref

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
Y = RNG.standard_normal((3, 1)).astype(np.float32)
I = RNG.integers(-9, 9, (2, 3)).astype(np.int64)
J = RNG.integers(1, 9, (2, 3)).astype(np.int64)
B = RNG.integers(0, 2, (2, 3)).astype(bool)
BIG = J * (2**53 + 1)  # integers that doubles do not hold
A, W = (RNG.standard_normal(s).astype(np.float32) for s in ((4, 5), (5, 3)))
f32 = np.float32
D = X.astype(np.float64)


def erf(x):
    return np.vectorize(math.erf)(x)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def quantized(x, scale, zero, lo, hi, dtype):
    return np.clip(np.rint(x / f32(scale)) + zero, lo, hi).astype(dtype)


def norm(x, w, b, eps):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * w + b, m, 1 / np.sqrt(v + eps)


SCALES, ZEROS = np.array([0.1, 0.02, 0.3], np.float32), np.array([1, -2, 3], np.int64)
CODES = RNG.integers(-128, 127, (2, 3, 4)).astype(np.int8)
GAIN, SHIFT = (RNG.standard_normal(4).astype(np.float32) for _ in range(2))
ROWS = np.array([[2, 0], [3, 3]], np.int64)

# operator; arguments (arrays become inputs, "out" the result); expected results.
BINARY = {"maximum": np.maximum, "minimum": np.minimum,
          "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
           "gt": np.greater, "ge": np.greater_equal}
UNARY = {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "exp": np.exp,
         "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan,
         "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
         "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
         "sign": np.sign, "erf": erf, "neg": np.negative,
         "abs": np.abs, "reciprocal": lambda x: 1 / x, "relu": lambda x: np.maximum(x, 0)}
BELOW_ONE = {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}
POSITIVE = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}

CASES = [
    ("aten::add.out", [X, Y, 1], [X + Y]),
    ("aten::add.out", [X, Y, 2.5], [D + 2.5 * Y]),
    ("aten::add.out", [I, J, 3], [I + 3 * J]),
    ("aten::add.Scalar_out", [X, 1.5, 2], [X + 3]),
    ("aten::sub.out", [X, Y, 1], [X - Y]),
    ("aten::sub.Scalar_out", [I, 4, 1], [I - 4]),
    ("aten::mul.out", [X, Y], [X * Y]),
    ("aten::mul.Scalar_out", [X, 0.1], [X * f32(0.1)]),
    ("aten::div.out", [X, Y], [X / Y]),
    ("aten::div.Scalar_out", [X, 3], [X / f32(3)]),
    ("aten::div.out_mode", [I, J, "floor"], [I // J]),
    ("aten::div.out_mode", [I, J, "trunc"], [np.trunc(I / J).astype(np.int64)]),
    ("aten::div.Scalar_mode_out", [X, 0.5, "floor"], [np.floor(X / f32(0.5))]),
    ("aten::floor_divide.out", [I, J], [I // J]),
    ("aten::pow.Tensor_Tensor_out", [abs(X), Y], [abs(D) ** Y]),
    ("aten::pow.Tensor_Scalar_out", [X, 2], [X * X]),
    ("aten::pow.Tensor_Scalar_out", [J * 100003, 3], [(J * 100003) ** 3]),
    ("aten::neg.out", [BIG], [-BIG]),
    ("aten::fmod.Tensor_out", [I, J], [np.fmod(I, J)]),
    ("aten::fmod.Scalar_out", [I, 4], [np.fmod(I, 4)]),
    ("aten::remainder.Tensor_out", [I, J], [np.remainder(I, J)]),
    ("aten::remainder.Scalar_out", [I, 4], [np.remainder(I, 4)]),
    ("aten::atan2.out", [X, Y], [np.arctan2(D, Y)]),
    *[(f"aten::{k}.out", [X, Y], [v(X, Y)]) for k, v in BINARY.items()],
    *[(f"aten::{k}.Tensor_out", [I, J], [v(I, J)]) for k, v in COMPARE.items()],
    *[(f"aten::{k}.Scalar_out", [I, 2], [v(I, 2)]) for k, v in COMPARE.items()],
    *[(f"aten::{k}.out", [X], [v(D)]) for k, v in UNARY.items()],
    *[(f"aten::{k}.out", [f32(0.9) * np.sin(X)], [v((f32(0.9) * np.sin(X)).astype(np.float64))])
      for k, v in BELOW_ONE.items()],
    ("aten::acosh.out", [1 + X * X], [np.arccosh((1 + X * X).astype(np.float64))]),
    *[(f"aten::{k}.out", [abs(X)], [v(abs(D))]) for k, v in POSITIVE.items()],
    ("aten::logical_not.out", [B], [~B]),
    ("aten::bitwise_not.out", [B], [~B]),
    ("aten::bitwise_not.out", [I], [~I]),
    ("aten::isnan.out", [np.array([1, np.nan, np.inf], f32)], [np.array([False, True, False])]),
    ("aten::isinf.out", [np.array([1, np.nan, -np.inf], f32)], [np.array([False, False, True])]),
    ("aten::gelu.out", [X, "none"], [0.5 * D * (1 + erf(D / math.sqrt(2)))]),
    ("aten::gelu.out", [X, "tanh"],
     [0.5 * D * (1 + np.tanh(math.sqrt(2 / math.pi) * (D + 0.044715 * D ** 3)))]),
    ("aten::hardtanh.out", [X, -0.5, 0.7], [np.clip(X, f32(-0.5), f32(0.7))]),
    ("aten::clamp.out", [X, None, 0.25], [np.minimum(X, f32(0.25))]),
    ("aten::clamp.out", [I, -2, 3], [np.clip(I, -2, 3)]),
    ("aten::leaky_relu.out", [X, 0.01], [np.where(D > 0, D, 0.01 * D)]),
    ("aten::elu.out", [X, 1.5, 1, 1], [np.where(D > 0, D, 1.5 * np.expm1(D))]),
    ("aten::where.self_out", [X > 0, X, Y], [np.where(X > 0, X, Y)]),
    ("aten::clone.out", [X, None], [X]),
    ("aten::_to_copy.out", [X * 10, False, None], [(X * 10).astype(np.int32)]),
    ("aten::_to_copy.out", [I, False, None], [I.astype(f32)]),
    ("dim_order_ops::_to_dim_order_copy.out", [X, False, None], [X.astype(np.float16)]),
    ("dim_order_ops::_clone_dim_order.out", [I, False, None], [I]),
    ("aten::alias_copy.out", [X], [X]),
    ("aten::detach_copy.out", [X], [X]),
    ("aten::lift_fresh_copy.out", [X], [X]),
    ("aten::copy.out", [X, Y, False], [np.broadcast_to(Y, X.shape)]),
    ("aten::view_copy.out", [X, [4, -1]], [X.reshape(4, 6)]),
    ("aten::_unsafe_view.out", [X, [24]], [X.reshape(24)]),
    ("aten::unsqueeze_copy.out", [X, -2], [X[:, :, None]]),
    ("aten::squeeze_copy.dim_out", [Y, 1], [Y[:, 0]]),
    ("aten::squeeze_copy.dims_out", [X[:1, :, :1], [0, 2]], [X[0, :, 0]]),
    ("aten::permute_copy.out", [X, [2, 0, -2]], [X.transpose(2, 0, 1)]),
    ("aten::t_copy.out", [A], [A.T]),
    ("aten::transpose_copy.int_out", [X, 0, -1], [X.swapaxes(0, 2)]),
    ("aten::slice_copy.Tensor_out", [X, 2, 1, None, 2], [X[:, :, 1::2]]),
    ("aten::slice_copy.Tensor_out", [X, 1, -2, 9223372036854775807, 1], [X[:, -2:]]),
    ("aten::select_copy.int_out", [X, 1, -1], [X[:, -1]]),
    ("aten::expand_copy.out", [Y, [2, -1, 4], False], [np.broadcast_to(Y, (2, 3, 4))]),
    ("aten::full.out", [[2, 3], 1.5], [np.full((2, 3), 1.5, f32)]),
    ("aten::full_like.out", [I, 7, None], [np.full_like(I, 7)]),
    ("aten::embedding.out", [A, ROWS, -1, False, False], [A[ROWS]]),
    ("aten::index_select.out", [X, 2, ROWS[0]], [X[:, :, ROWS[0]]]),
    ("aten::constant_pad_nd.out", [X, [1, 2, -1, 1], 3.5],
     [np.pad(X[:, 1:], ((0, 0), (0, 1), (1, 2)), constant_values=3.5)]),
    ("aten::sum.IntList_out", [X, [0, 2], True, None], [D.sum((0, 2), keepdims=True)]),
    ("aten::sum.IntList_out", [I, None, False, None], [I.sum()]),
    ("aten::sum.IntList_out", [BIG, [1], False, None], [BIG.sum(1)]),
    ("aten::amax.out", [BIG, [0], False], [BIG.max(0)]),
    ("aten::mean.out", [X, [-1], False, None], [D.mean(-1)]),
    ("aten::amax.out", [X, [1], False], [X.max(1)]),
    ("aten::amin.out", [X, [0, 1], True], [X.min((0, 1), keepdims=True)]),
    ("aten::argmax.out", [X, 1, False], [X.argmax(1)]),
    ("aten::argmin.out", [X, None, False], [np.array(X.argmin())]),
    ("aten::_softmax.out", [X, 1, False], [softmax(D, 1)]),
    ("aten::_log_softmax.out", [X, -1, False], [np.log(softmax(D, -1))]),
    ("aten::native_layer_norm.out", [X, [4], GAIN, SHIFT, 1e-5], norm(D, GAIN, SHIFT, 1e-5)),
    ("aten::mm.out", [A, W], [A.astype(float) @ W]),
    ("aten::bmm.out", [X, X.swapaxes(1, 2)], [D @ D.swapaxes(1, 2)]),
    ("aten::addmm.out", [GAIN[:3], A, W, 2, 0.5], [2 * GAIN[:3] + 0.5 * (A.astype(float) @ W)]),
    ("aten::linear.out", [X, A.T[:5].copy(), None], [D @ A]),
    ("aten::linear.out", [X, A.T.copy(), SHIFT[:1].repeat(5)], [D @ A + SHIFT[0]]),
    ("quantized_decomposed::quantize_per_tensor.out", [X * 5, 0.05, 3, -128, 127, 1],
     [quantized(X * 5, 0.05, 3, -128, 127, np.int8)]),
    ("quantized_decomposed::quantize_per_tensor.out", [X, 0.0001, 30000, 0, 65535, 27],
     [quantized(X, 0.0001, 30000, 0, 65535, np.uint16)]),
    ("quantized_decomposed::dequantize_per_tensor.out", [CODES, 0.05, 3, -128, 127, 1, None],
     [(CODES - 3.0) * 0.05]),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out",
     [X, SCALES[:1], ZEROS[:1], -128, 127, 1], [quantized(X, SCALES[0], 1, -128, 127, np.int8)]),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out",
     [CODES, SCALES[:1], ZEROS[:1], -128, 127, 1, None], [(CODES - 1.0) * SCALES[0]]),
    ("quantized_decomposed::quantize_per_channel.out", [X, SCALES, ZEROS, 1, -128, 127, 1],
     [quantized(X, SCALES[:, None], ZEROS[:, None], -128, 127, np.int8)]),
    ("quantized_decomposed::dequantize_per_channel.out",
     [CODES, SCALES, ZEROS, -2, -128, 127, 1, None],
     [(CODES - ZEROS[:, None].astype(float)) * SCALES[:, None]]),
]


def build(name, args, expected):
    p = Program()
    m = p.method()
    given, refs = [], []
    for a in args:
        if isinstance(a, np.ndarray):
            given.append(a)
            refs.append(Ref(m.input(a.shape, a.dtype.name)))
        else:
            refs.append(a)
    if not given:  # a line of the input list names at least one file
        given.append(X)
        m.input(X.shape)
    for e in expected:
        e = np.asarray(e)
        kind = "float32" if e.dtype == np.float64 else e.dtype.name
        m.output(m.tensor(e.shape, kind))
    outs = [Ref(o) for o in m.outputs]
    m.call(name, *refs, *outs, *outs)
    return p, given


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_kernel(tmp_path, case):
    name, args, expected = case
    p, given = build(name, args, expected)
    _, got = run(tmp_path, p, [given])
    for g, want in zip(got[0], expected, strict=True):
        want = np.asarray(want)
        if want.dtype == np.float64:
            g = np.frombuffer(g, np.float32)
            np.testing.assert_allclose(g, want.ravel(), rtol=3e-7 * 4, atol=1e-6)
        else:
            np.testing.assert_array_equal(np.frombuffer(g, want.dtype), want.ravel())


def test_lists_of_tensors(tmp_path):
    p = Program()
    m = p.method()
    x = m.input((2, 3, 4))
    joined, stacked = m.tensor((2, 6, 4)), m.tensor((2, 2, 3, 4))
    parts = [m.tensor((2, 3, n)) for n in (3, 1)]
    sized = [m.tensor((2, n, 4)) for n in (1, 2)]
    m.call("aten::cat.out", Ref(m.tensors([x, x])), -2, Ref(joined), Ref(joined))
    m.call("aten::stack.out", Ref(m.tensors([x, x])), 1, Ref(stacked), Ref(stacked))
    m.call("aten::split_copy.Tensor_out", Ref(x), 3, 2, Ref(m.tensors(parts)))
    m.call("aten::split_with_sizes_copy.out", Ref(x), [1, 2], 1, Ref(m.tensors(sized)))
    m.output(joined, stacked, *parts, *sized)
    _, got = run(tmp_path, p, [[X]])
    want = [np.concatenate([X, X], 1), np.stack([X, X], 1), X[:, :, :3], X[:, :, 3:], X[:, :1],
            X[:, 1:]]
    for g, w in zip(got[0], want, strict=True):
        assert g == w.tobytes()


def test_order_in_memory(tmp_path):
    """A tensor whose channels lie innermost, from and to one in C order."""
    p = Program()
    m = p.method()
    x = m.input((1, 2, 3, 4), order=[0, 2, 3, 1])
    y = m.tensor((1, 2, 3, 4))
    m.call("dim_order_ops::_to_dim_order_copy.out", Ref(x), False, None, Ref(y), Ref(y))
    m.output(y)
    nhwc = RNG.standard_normal((1, 3, 4, 2)).astype(np.float32)
    _, got = run(tmp_path, p, [[nhwc]])
    assert got[0][0] == np.ascontiguousarray(nhwc.transpose(0, 3, 1, 2)).tobytes()


def test_state_begins_as_the_file_says_and_is_kept(tmp_path):
    p = Program()
    m = p.method()
    x = m.input((4,))
    state = m.tensor((4,), initial=np.arange(4, dtype=np.float32))
    y = m.tensor((4,))
    m.call("aten::add.out", Ref(x), Ref(state), 1, Ref(y), Ref(y))
    m.call("aten::copy_", Ref(state), Ref(y), False, Ref(state))
    m.output(y)
    one = np.ones(4, np.float32)
    _, got = run(tmp_path, p, [[one], [one]])
    assert got[0][0] == (np.arange(4, dtype=np.float32) + 1).tobytes()
    assert got[1][0] == (np.arange(4, dtype=np.float32) + 2).tobytes()


def test_jumps_moves_and_numbers(tmp_path):
    """A loop: i = 0; do { y += x; i += 1 } while (i < 3)."""
    p = Program()
    m = p.method()
    x, y = m.input((3,)), m.tensor((3,))
    i, flag = m.number(0), m.number(False)
    m.call("aten::mul.Scalar_out", Ref(x), 0, Ref(y), Ref(y))
    m.move(m.number(0), i)
    m.call("aten::add.out", Ref(y), Ref(x), 1, Ref(y), Ref(y))
    m.call("executorch_prim::add.Scalar", Ref(i), 1, Ref(i))
    m.call("executorch_prim::ge.Scalar", Ref(i), 3, Ref(flag))
    m.jump_false(flag, 2)
    m.output(y)
    v = np.array([1, 2, 4], np.float32)
    _, got = run(tmp_path, p, [[v], [v]])
    assert got[0][0] == got[1][0] == (3 * v).tobytes()


def test_endless_loop_is_stopped(tmp_path):
    p = Program()
    m = p.method()
    x, y = m.input((3,)), m.tensor((3,))
    m.call("aten::neg.out", Ref(x), Ref(y), Ref(y))
    m.jump_false(m.number(False), 0)
    m.output(y)
    refused(tmp_path, p, [[np.ones(3, np.float32)]], ["method 'forward'", "QUERN_LIMITS=nodes=N"])


def test_views_share_memory(tmp_path):
    p = Program()
    m = p.method()
    x, y = m.input((2, 6)), m.tensor((2, 6))
    view, z = m.tensor((3, 4), planned=False), m.tensor((3, 4))
    m.call("aten::neg.out", Ref(x), Ref(y), Ref(y))
    m.call("executorch_prim::et_view.default", Ref(y), [3, -1], Ref(view))
    m.call("aten::abs.out", Ref(view), Ref(z), Ref(z))
    m.output(view, z)
    v = X.reshape(2, 12)[:, :6].copy()
    _, got = run(tmp_path, p, [[v]])
    assert got[0][0] == (-v).tobytes() and got[0][1] == abs(v).tobytes()


def test_missing_kernels_are_all_named(tmp_path):
    p = Program()
    m = p.method("work")
    x, y = m.input((3,)), m.tensor((3,))
    m.call("aten::nothing.out", Ref(x), Ref(y), Ref(y))
    m.call("my::own", Ref(x), Ref(y), Ref(y))
    m.output(y)
    refused(tmp_path, p, says=["'work'", "aten::nothing.out", "my::own"])


@pytest.mark.parametrize("call, says", [
    (("aten::add.out", "x", "y", 1, "o"), "do not fit together"),
    (("aten::select_copy.int_out", "x", 0, 5, "o"), "index 5 of a dimension of 3"),
    (("aten::permute_copy.out", "x", [0, 0], "o"), "not a permutation"),
    (("aten::relu.out", "x", "constant"), "is a constant or an input"),
    (("aten::relu.out", "x"), "1 arguments, expected 2"),
    (("aten::relu.out", 3, "o"), "argument 0 is not a tensor"),
    (("aten::relu.out", "y", "o"), "does not fit a tensor"),
    (("aten::embedding.out", "x", "far", -1, False, False, "o"), "index 9 of a dimension of 3"),
])
def test_bad_calls_are_refused_by_name(tmp_path, call, says):
    p = Program()
    m = p.method()
    known = {"x": m.input((3,)), "y": m.constant(np.zeros(4, np.float32)), "o": m.tensor((3,)),
             "constant": m.constant(np.zeros(3, np.float32)),
             "far": m.constant(np.array([0, 9, 0], np.int64))}
    m.call(call[0], *[Ref(known[a]) if isinstance(a, str) else a for a in call[1:]])
    m.output(known["o"])
    refused(tmp_path, p, [[np.zeros(3, np.float32)]], ["'forward'", call[0], says])
