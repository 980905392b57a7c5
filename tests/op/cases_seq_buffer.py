# SPDX-License-Identifier: MIT
"""Buffer: modes, strides, several frames a call, reset, what runs behind a blocked buffer."""
import numpy as np

import qcase as q

BLOCKING, LEFT, RIGHT = 0, 1, 2


class Queue:
    """The op as a list of frames, each of one index of the buffered dimension."""

    def __init__(self, size, dim, stride, mode):
        self.size, self.dim, self.stride, self.mode, self.held = size, dim, stride, mode, []

    def push(self, frames, reset=False):
        """The buffer after these frames, or None while a blocking one is not full."""
        if reset:
            self.held = []
        if len(self.held) == self.size:
            self.held = self.held[self.stride:]
        self.held += [np.take(frames, i, self.dim) for i in range(frames.shape[self.dim])]
        if self.mode == BLOCKING and len(self.held) < self.size:
            return None
        empty = [np.zeros_like(self.held[0])] * (self.size - len(self.held))
        return np.stack(empty + self.held if self.mode == RIGHT else self.held + empty, self.dim)


def add(f, name, shape, size, dim, mode, stride=None, dtype="f32", resets=None, behind=None,
        n_rounds=None, out_enc=None, out_dtype=None):
    """behind: op(s) after the buffer as (op, function)."""
    frames = shape[dim]
    full = list(shape)
    full[dim] = size
    n_rounds = n_rounds or 3 * size // frames + 2
    data = [f.rng.uniform(-2, 3, shape) for _ in range(n_rounds)]
    x = q.Tensor("x", np.stack(data), dtype)
    x.dims = list(shape)
    out_dtype = out_dtype or dtype
    enc = (out_enc or x.enc) if q.is_fixed(out_dtype) else None
    y = q.Tensor("y", np.zeros(0), out_dtype, enc, dims=full)
    queue = Queue(size, dim, stride or frames, mode)
    inputs, rounds = [x], []
    if resets is not None:
        inputs.append(q.Tensor("reset", np.array([0]), "b8"))
    for i, d in enumerate(data):
        reset = resets is not None and bool(resets[i % len(resets)])
        want = queue.push(x.real_of(d), reset)
        feed = {"x": d} if resets is None else {"x": d, "reset": np.array([reset])}
        if want is not None and behind:
            want = behind[1](want)
        rounds.append((feed, q.EARLY if want is None else {"y": want}))
    params = {"buffer_size": ("u32", size), "buffer_dim": ("u32", dim)}
    if stride is not None:
        params["stride"] = ("u32", stride)
    if mode != BLOCKING or f.rng.integers(2):
        params["mode"] = ("u32", mode)
    if not behind:
        f.add("Buffer", inputs, [y], params, name=name, rounds=rounds, stateful=True)
        return
    middle = q.Tensor("m", None, dtype, x.enc, kind="native", dims=full)
    f.build([q.Node("Buffer", inputs, [middle], params), q.Node(behind[0], [middle], [y])],
            name=name, rounds=rounds, stateful=True)


def mode_cases(f):
    shapes = [((1, 4), 0), ((1,), 0), ((2, 1, 3), 1), ((2, 3, 1), 2), ((3, 2), 0), ((2, 2, 5), 1),
              ((1, 2, 3, 2), 3)]
    for mode in (BLOCKING, LEFT, RIGHT):
        for shape, dim in shapes:
            frames = shape[dim]
            for groups in (1, 2, 5):
                for stride in {None, frames, groups * frames, (groups + 1) // 2 * frames}:
                    add(f, f"Buffer_mode{mode}_{groups}_{stride}", shape, groups * frames, dim,
                        mode, stride)
    data = [f.rng.normal(size=1) for _ in range(4)]
    x = q.Tensor("x", np.stack(data))
    x.dims = [1]
    f.add("Buffer", [x], [q.Tensor("y", np.zeros(0), dims=[])],
          {"buffer_size": ("u32", 1), "buffer_dim": ("u32", 0)}, name="Buffer_to_a_single_value",
          rounds=[({"x": d}, {"y": x.real_of(d).reshape(())}) for d in data], stateful=True)


def type_cases(f):
    for dtype in ("f32", "f16", "uq8", "uq16"):
        for mode in (BLOCKING, LEFT, RIGHT):
            add(f, f"Buffer_{dtype}_{mode}", (2, 3), 4, 0, mode, 2, dtype)
    # Another encoding or type behind: frames are converted before they are kept.
    add(f, "Buffer_other_encoding", (1, 6), 3, 0, LEFT, None, "uq8",
        out_enc=q.scale_offset(0.04, -77))
    add(f, "Buffer_other_type", (1, 6), 3, 0, RIGHT, None, "uq8", out_dtype="uq16",
        out_enc=q.scale_offset(0.001, -30000))
    add(f, "Buffer_to_float", (1, 6), 3, 0, LEFT, None, "uq8", out_dtype="f32")


def reset_cases(f):
    patterns = ([1], [0, 0, 0, 1], [1, 0, 0], [0, 0, 0, 0, 0, 1, 0])
    for mode in (BLOCKING, LEFT, RIGHT):
        for resets in patterns:
            add(f, f"Buffer_reset_{mode}", (1, 3), 3, 0, mode, resets=resets, n_rounds=12)
            add(f, f"Buffer_reset_{mode}", (2, 2, 2), 6, 1, mode, 4, "uq8", resets, n_rounds=12)


def chain_cases(f):
    """What lies behind a blocked buffer does not run."""
    add(f, "Buffer_then_Relu", (1, 4), 3, 0, BLOCKING, behind=("Relu", lambda v: np.maximum(v, 0)))
    add(f, "Buffer_then_Relu_uq8", (1, 4), 3, 0, BLOCKING, 2, "uq8",
        behind=("Relu", lambda v: np.maximum(v, 0)))


def error_cases(f):
    def broken(name, shape, out, size, dim, **more):
        params = {"buffer_size": ("u32", size), "buffer_dim": ("u32", dim)}
        params.update({k: ("u32", v) for k, v in more.items() if k != "reset"})
        ins = [q.Tensor("x", np.zeros(shape))] + ([more["reset"]] if "reset" in more else [])
        f.add("Buffer", ins, [q.Tensor("y", dims=out)], params, name=name, error=q.error())

    broken("Buffer_dim", (1, 2), (3, 2), 3, 2)
    broken("Buffer_size_0", (1, 2), (1, 2), 0, 0)
    broken("Buffer_size_no_multiple", (2, 2), (3, 2), 3, 0)
    broken("Buffer_stride_below_frames", (2, 2), (4, 2), 4, 0, stride=1)
    broken("Buffer_stride_no_multiple", (2, 2), (6, 2), 6, 0, stride=3)
    broken("Buffer_stride_above_size", (1, 2), (3, 2), 3, 0, stride=4)
    broken("Buffer_stride_0", (1, 2), (3, 2), 3, 0, stride=0)
    broken("Buffer_mode", (1, 2), (3, 2), 3, 0, mode=3)
    broken("Buffer_padding", (1, 2), (3, 2), 3, 0, buffer_padding=1)
    broken("Buffer_output_shape", (1, 2), (4, 2), 3, 0)
    broken("Buffer_reset_of_two", (1, 2), (3, 2), 3, 0, reset=q.Tensor("r", np.zeros(2), "b8"))
    broken("Buffer_reset_type", (1, 2), (3, 2), 3, 0, reset=q.Tensor("r", np.zeros(1), "f32"))
    x = q.Tensor("x", np.zeros((2, 3), np.int64), "uq8", q.axis(0, [0.1, 0.2]))
    f.add("Buffer", [x], [q.Tensor("y", None, "uq8", q.scale_offset(0.1), dims=(4, 3))],
          {"buffer_size": ("u32", 4), "buffer_dim": ("u32", 0)}, name="Buffer_axis_encoding",
          error=q.error())


def cases(f):
    mode_cases(f)
    type_cases(f)
    reset_cases(f)
    chain_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
