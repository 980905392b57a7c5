# SPDX-License-Identifier: MIT
"""Gru: biases, both reset forms, directions, layouts, types, state, refusals."""
import numpy as np

import onnx_oracle
import qcase as q
from recurrent_oracle import gru_step, scan

ORDER = ["x", "xz", "xr", "xn", "hz", "hr", "hn", "bxz", "bxr", "bxn", "bhz", "bhr", "bhn", "h0",
         "reset"]
BIASES = ORDER[7:13]


class Setup:
    """Random operands of one Gru node; dtype is that of all of them, weights apart."""

    def __init__(self, rng, dtype="f32", batch=2, size=3, units=4, steps=3, biases=BIASES,
                 init=True, time_major=True, weights=None):
        self.rng, self.dtype, self.weights = rng, dtype, weights or dtype
        self.batch, self.units, self.time_major = batch, units, time_major
        self.shape = (steps, batch, size) if time_major else (batch, steps, size)
        self.t = {"x": q.Tensor("x", rng.normal(size=self.shape), dtype)}
        for g in "zrn":
            self.make("x" + g, (units, size))
            self.make("h" + g, (units, units))
        for name in biases:
            self.make(name, (units,))
        if init:
            self.t["h0"] = q.Tensor("h0", rng.normal(size=(1, batch, units)), dtype)

    def make(self, name, shape):
        self.t[name] = q.Tensor(name, self.rng.normal(size=shape), self.weights,
                                kind="static" if self.rng.integers(2) else "input")

    def inputs(self):
        last = max(i for i, name in enumerate(ORDER) if name in self.t)
        return [self.t.get(name, q.NULL) for name in ORDER[:last + 1]]

    def run(self, x=None, h=None, reverse=False, linear=False):
        """Y, Y_h, and the state for the next run."""
        w = {k: t.real for k, t in self.t.items() if k not in ("x", "h0", "reset")}
        if h is None:
            h = self.t["h0"].real[0] if "h0" in self.t else np.zeros((self.batch, self.units))
        x = self.t["x"].real if x is None else x
        seq, (h,) = scan(lambda v, s: (gru_step(w, v, s, linear),), x, (h,), reverse,
                         self.time_major)
        return [seq, h[None]], h

    def outputs(self, values):
        return [q.Tensor(n, v, self.dtype) for n, v in zip(("y", "h"), values)]


def add(f, s, name, direction=0, linear=None, say_major=False, **more):
    values, _ = s.run(reverse=direction == 1, linear=bool(linear))
    params = {"direction": ("u32", direction)} if direction else {}
    if linear is not None:
        params["linear_before_reset"] = ("u32", linear)
    if not s.time_major or say_major:
        params["time_major"] = ("b8", s.time_major)
    f.add("Gru", s.inputs(), s.outputs(values), params, name=name, **more)


def form_cases(f):
    for linear in (None, 0, 1):
        for direction in (0, 1):
            for time_major in (True, False):
                for k in range(3):
                    s = Setup(f.rng, "f32", *f.rng.integers(1, 6, 4), init=k > 0,
                              time_major=time_major)
                    add(f, s, f"Gru_form_{linear}_{direction}_{int(time_major)}", direction, linear,
                        k == 2)
    for bits in range(64):
        biases = [b for i, b in enumerate(BIASES) if bits >> i & 1]
        add(f, Setup(f.rng, "f32", 2, 3, 4, 2, biases, init=bits % 2 == 0), f"Gru_biases_{bits}",
            linear=bits // 2 % 2)
    add(f, Setup(f.rng, "f32", 7, 40, 33, 5), "Gru_many_rows", linear=1)


def type_cases(f):
    for dtype, weights in (("f16", "f16"), ("uq8", "uq8"), ("uq8", "sq8"), ("sq8", "sq8"),
                           ("uq16", "uq16"), ("uq16", "sq16"), ("sq16", "sq16"), ("uq16", "uq8"),
                           ("f32", "uq8"), ("uq8", "f32")):
        for linear in (0, 1):
            for k in range(3):
                s = Setup(f.rng, dtype, *f.rng.integers(1, 8, 4), weights=weights, init=k != 1,
                          biases=BIASES if k else BIASES[:4])
                add(f, s, f"Gru_{dtype}_{weights}", k % 2, linear)


def onnx_cases(f):
    for linear in (0, 1):
        for reverse in (False, True):
            s = Setup(f.rng, "f32", 2, 3, 5, 4)
            t = {k: v.real for k, v in s.t.items()}
            # ONNX orders the gates z, r, h; the reference evaluator runs forward only.
            x = t["x"][::-1] if reverse else t["x"]
            y, h = onnx_oracle.evaluate(
                "GRU", [x, np.concatenate([t["x" + g] for g in "zrn"])[None],
                        np.concatenate([t["h" + g] for g in "zrn"])[None],
                        np.concatenate([t[b] for b in BIASES])[None], None, t["h0"]],
                2, hidden_size=5, linear_before_reset=linear)
            y = y[:, 0]
            f.add("Gru", s.inputs(), s.outputs([y[::-1] if reverse else y, h]),
                  {"direction": ("u32", int(reverse)), "linear_before_reset": ("u32", linear)},
                  name="Gru_onnx")


def state_cases(f):
    for dtype in ("f32", "uq8", "sq16"):
        for init in (True, False):
            s = Setup(f.rng, dtype, 2, 3, 4, 2, init=init, time_major=init)
            s.t["reset"] = q.Tensor("reset", np.array(0) if init else np.array([0]), "b8")
            rounds, wanted, state = [], [], None
            for reset in (0, 0, 1, 0, 0, 1, 1, 0):
                x = f.rng.normal(size=s.shape)
                values, state = s.run(s.t["x"].real_of(x), None if reset else state)
                wanted.append(values)
                rounds.append([{"x": x, "reset": np.full(s.t["reset"].array.shape, reset)}])
            outs = s.outputs([np.stack([w[i] for w in wanted]) for i in range(2)])
            for r, w in zip(rounds, wanted):
                r.append({o.name: v for o, v in zip(outs, w)})
            for o in outs:
                o.dims = o.dims[1:]
            f.add("Gru", s.inputs(), outs, {"time_major": ("b8", s.time_major)},
                  name=f"Gru_state_{dtype}", rounds=rounds, stateful=True)
    s = Setup(f.rng)
    s.t["reset"] = q.Tensor("reset", np.array([1]), "b8")
    add(f, s, "Gru_always_reset")


def error_cases(f):
    def broken(name, change, params=None, outs=None):
        s = Setup(f.rng)
        change(s.t)
        outs = outs or [q.Tensor("y", dims=(3, 2, 4)), q.Tensor("h", dims=(1, 2, 4))]
        f.add("Gru", s.inputs(), outs, params, name=name, error=q.error())

    def wrong(name, shape, dtype="f32"):
        return lambda t: t.update({name: q.Tensor(name, np.zeros(shape), dtype, kind="static")})

    for name, shape in (("xz", (4, 2)), ("xr", (5, 3)), ("xn", (4, 4)), ("hz", (4, 3)),
                        ("hr", (3, 4)), ("hn", (5, 4)), ("bxz", (3,)), ("bhn", (5,)),
                        ("h0", (1, 3, 4)), ("h0", (2, 2, 4))):
        broken(f"Gru_shape_of_{name}", wrong(name, shape))
    broken("Gru_rank_of_x", lambda t: t.update(x=q.Tensor("x", np.zeros((2, 3)))))
    broken("Gru_reset_of_two", lambda t: t.update(reset=q.Tensor("r", np.zeros(2), "b8")))
    broken("Gru_type", wrong("bxz", (4,), "i32"))
    broken("Gru_direction", lambda t: None, {"direction": ("u32", 2)})
    broken("Gru_output_shape", lambda t: None,
           outs=[q.Tensor("y", dims=(3, 2, 4)), q.Tensor("h", dims=(1, 2, 5))])
    broken("Gru_output_major", lambda t: None, {"time_major": ("b8", False)},
           outs=[q.Tensor("y", dims=(2, 3, 4)), q.Tensor("h", dims=(1, 2, 4))])
    broken("Gru_output_missing", lambda t: None, outs=[q.Tensor("y", dims=(3, 2, 4))])


def cases(f):
    form_cases(f)
    type_cases(f)
    onnx_cases(f)
    state_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
