# SPDX-License-Identifier: MIT
"""Lstm: optional groups, directions, layouts, types, state across executions, refusals."""
import numpy as np

import onnx_oracle
import qcase as q
from recurrent_oracle import lstm_step, scan

# Operand order of the op; the names without prefix are those of the oracle's dictionary.
ORDER = ["x", "xf", "xc", "xo", "hf", "hc", "ho", "bf", "bc", "bo", "h0", "c0", "lni", "lnf", "lnc",
         "lno", "xi", "hi", "ci", "cf", "co", "bi", "proj", "bproj", "reset"]
# Types of x and h, weights, biases, c, layer norm and peepholes, projection bias.
TYPES = {
    "f32": ("f32", "f32", "f32", "f32", "f32", "f32"),
    "f16": ("f16", "f16", "f16", "f16", "f16", "f16"),
    "uq8": ("uq8", "uq8", "sq32", "sq16", "sq16", "sq32"),
    "uq8s": ("uq8", "sq8", "sq32", "sq16", "sq16", "sq32"),
    "lpai": ("sq8", "uq8", "uq8", "sq8", "sq16", "sq32"),
    "a16w8": ("uq16", "sq8", "sq32", "uq16", "sq16", "sq32"),
    "a16w16": ("sq16", "sq16", "sq16", "sq16", "sq16", "sq32"),
}


class Setup:
    """Random operands of one Lstm node."""

    def __init__(self, rng, types="f32", batch=2, size=3, units=4, out=None, steps=None,
                 coupled=False, peephole=False, norm=False, proj=False, proj_bias=False,
                 init=True, time_major=True, static=True):
        self.rng, self.types, self.units, self.batch = rng, TYPES[types], units, batch
        self.out = (out or max(1, units - 1)) if proj else units
        self.steps, self.time_major = steps, time_major
        act, weight, bias, cell, vector, proj_b = self.types
        lead = (batch,) if steps is None else ((steps, batch) if time_major else (batch, steps))
        self.shape = lead + (size,)
        self.t = {"x": q.Tensor("x", rng.normal(size=self.shape), act)}
        gates = "fco" if coupled else "fcoi"
        for g in gates:
            self.make("x" + g, (units, size), weight, static)
            self.make("h" + g, (units, self.out), weight, static)
            self.make("b" + g, (units,), bias, static)
            if peephole and g != "c":
                self.make("c" + g, (units,), vector, static)
            if norm:
                self.make("ln" + g, (units,), vector, static)
        if init:
            self.make("h0", (batch, self.out), act, False)
            self.make("c0", (batch, units), cell, False)
        if proj:
            self.make("proj", (self.out, units), weight, static)
            if proj_bias:
                self.make("bproj", (self.out,), proj_b, static)

    def make(self, name, shape, dtype, static):
        self.t[name] = q.Tensor(name, self.rng.normal(size=shape), dtype,
                                kind="static" if static else "input")

    def inputs(self):
        last = max(i for i, name in enumerate(ORDER) if name in self.t)
        return [self.t.get(name, q.NULL) for name in ORDER[:last + 1]]

    def zeros(self):
        h = self.t["h0"].real if "h0" in self.t else np.zeros((self.batch, self.out))
        c = self.t["c0"].real if "c0" in self.t else np.zeros((self.batch, self.units))
        return h, c

    def run(self, x=None, state=None, cell_clip=0.0, out_clip=0.0, reverse=False):
        """Outputs in the order of the op, and the state for the next run."""
        w = {k: t.real for k, t in self.t.items() if k not in ("x", "h0", "c0", "reset")}
        x = self.t["x"].real if x is None else x
        state = self.zeros() if state is None else state
        limits = (float(np.float32(cell_clip)), float(np.float32(out_clip)))

        def step(v, h, c, *_):
            return lstm_step(w, v, h, c, *limits)

        if self.steps is None:
            h, c, gates = step(x, *state)
            seq = h
        else:
            seq, (h, c, gates) = scan(step, x, state, reverse, self.time_major)
        return [seq, c, h, *gates, h], (h, c)

    def outputs(self, values, n=3, skip=()):
        act, cell = self.types[0], self.types[3]
        names = ["seq", "c", "h", "ig", "fg", "cg", "og", "hs"]
        dtypes = [act, cell, act] + ["f32"] * 5
        return [q.NULL if i in skip else q.Tensor(names[i], values[i], dtypes[i])
                for i in range(n)]


def add(f, s, name, params=None, n_out=3, skip=(), say_major=False, **more):
    params = dict(params or {})
    kind = {k: params[p] for k, p in (("cell_clip", "cell_clip_threshold"),
                                      ("out_clip", "output_clip_threshold")) if p in params}
    values, _ = s.run(reverse=params.get("direction", 0) == 1, **kind)
    if not s.time_major or say_major:
        params["time_major"] = s.time_major
    dtype = {"direction": "u32", "time_major": "b8"}
    f.add("Lstm", s.inputs(), s.outputs(values, n_out, skip),
          {k: (dtype.get(k, "f32"), v) for k, v in params.items()}, name=name, **more)


def group_cases(f):
    """Every mix of optional groups, one step and sequences."""
    for bits in range(64):
        coupled, peephole, norm, proj, proj_bias, init = (bool(bits >> i & 1) for i in range(6))
        if proj_bias and not proj:
            continue
        for steps in (None, 3):
            s = Setup(f.rng, "f32", int(f.rng.integers(1, 4)), int(f.rng.integers(1, 5)),
                      int(f.rng.integers(1, 6)), steps=steps, coupled=coupled, peephole=peephole,
                      norm=norm, proj=proj, proj_bias=proj_bias, init=init,
                      static=bool(f.rng.integers(2)))
            params = {}
            if bits % 3 == 0:
                params["cell_clip_threshold"] = 0.3
            if bits % 2 == 0:
                params["output_clip_threshold"] = 0.25
            # A norm over one or two units magnifies the float noise of its input.
            tol = q.fp32(1e-4) if norm else None
            add(f, s, f"Lstm_groups_{bits}_{'step' if steps is None else 'seq'}", params, tol=tol)


def type_cases(f):
    for types in TYPES:
        for k in range(8):
            rich = k % 4
            s = Setup(f.rng, types, int(f.rng.integers(1, 4)), int(f.rng.integers(1, 9)),
                      int(f.rng.integers(2, 9)), steps=None if k < 4 else int(f.rng.integers(1, 5)),
                      coupled=rich == 1, peephole=rich >= 2, norm=rich == 3, proj=rich == 2,
                      proj_bias=rich == 2, init=k != 4)
            tol = q.fp16(4e-3) if types == "f16" else None
            add(f, s, f"Lstm_{types}_{k}", {"cell_clip_threshold": 1.5} if rich == 3 else {},
                tol=tol, say_major=True)


def layout_cases(f):
    for time_major in (True, False):
        for direction in (0, 1):
            for batch, steps in ((1, 1), (1, 5), (4, 1), (3, 7)):
                s = Setup(f.rng, "f32", batch, 3, 5, steps=steps, time_major=time_major)
                add(f, s, f"Lstm_layout_{int(time_major)}{direction}_{batch}x{steps}",
                    {"direction": direction}, say_major=True)
    s = Setup(f.rng, "f32", 2, 3, 4, steps=None)
    add(f, s, "Lstm_reverse_of_one_step", {"direction": 1})
    # Large enough to be cut into several tasks.
    s = Setup(f.rng, "f32", 8, 33, 40, steps=6, proj=True, peephole=True)
    add(f, s, "Lstm_many_rows")


def gate_cases(f):
    """Optional gate outputs hold the values of the last step."""
    for steps, coupled, proj, direction in ((None, False, False, 0), (None, True, True, 0),
                                            (4, False, True, 0), (3, True, False, 1)):
        s = Setup(f.rng, "f32", 2, 3, 4, steps=steps, coupled=coupled, proj=proj)
        for n, skip in ((8, ()), (4, ()), (8, (3, 5)), (7, (4,)), (8, (3, 4, 5, 6))):
            add(f, s, f"Lstm_gates_{n}_{len(skip)}", {"direction": direction}, n, skip)
    s = Setup(f.rng, "uq8", 2, 3, 4, steps=2)
    add(f, s, "Lstm_gates_of_fixed_point", {}, 8)


def onnx_cases(f):
    """The plain and the peephole form as ONNX defines them: gates i, o, f, c and layouts apart."""
    for peephole in (False, True):
        for steps, batch in ((1, 1), (4, 2), (6, 3)):
            s = Setup(f.rng, "f32", batch, 3, 5, steps=steps, peephole=peephole)
            t = {k: v.real for k, v in s.t.items()}
            weight = np.concatenate([t["x" + g] for g in "iofc"])[None]
            recurrent = np.concatenate([t["h" + g] for g in "iofc"])[None]
            bias = np.concatenate([t["b" + g] for g in "iofc"] + [np.zeros(4 * 5)])[None]
            peep = np.concatenate([t["c" + g] for g in "iof"])[None] if peephole else None
            seq, h, c = onnx_oracle.evaluate(
                "LSTM", [t["x"], weight, recurrent, bias, None, t["h0"][None], t["c0"][None], peep],
                3, hidden_size=5)
            f.add("Lstm", s.inputs(), s.outputs([seq[:, 0], c[0], h[0]]), name="Lstm_onnx")


def state_cases(f):
    """A reset input decides at each execution whether the state goes on."""
    for types in ("f32", "uq8", "a16w16"):
        for init in (True, False):
            s = Setup(f.rng, types, 2, 3, 4, steps=2, init=init, proj=types == "f32",
                      time_major=types != "uq8")
            s.t["reset"] = q.Tensor("reset", np.array([0]) if init else np.array(0), "b8")
            rounds, state, wanted = [], None, []
            # The first execution has nothing to continue from, whatever reset says.
            for reset in (0, 0, 0, 1, 0, 1, 1, 0):
                x = f.rng.normal(size=s.shape)
                values, state = s.run(s.t["x"].real_of(x), None if reset else state)
                wanted.append(values)
                rounds.append([{"x": x, "reset": np.full(s.t["reset"].array.shape, reset)}])
            outs = s.outputs([np.stack([w[i] for w in wanted]) for i in range(3)])
            for r, w in zip(rounds, wanted):
                r.append({o.name: v for o, v in zip(outs, w)})
            for o in outs:
                o.dims = o.dims[1:]
            params = {} if s.time_major else {"time_major": ("b8", False)}
            f.add("Lstm", s.inputs(), outs, params, name=f"Lstm_state_{types}", rounds=rounds,
                  stateful=True)
    # Without a reset operand, and for a single step, every execution starts anew: the runner
    # executes twice and compares, for every case above.
    s = Setup(f.rng, "f32", 2, 3, 4, steps=None)
    s.t["reset"] = q.Tensor("reset", np.array([0]), "b8")
    add(f, s, "Lstm_reset_of_one_step")


def wide_cases(f):
    """Saturated gates stay finite."""
    s = Setup(f.rng, "f32", 1, 2, 3, steps=2, init=False)
    s.t["x"] = q.Tensor("x", np.array([[[1e4, -1e4]], [[-1e4, 3e4]]]))
    add(f, s, "Lstm_saturated")


def error_cases(f):
    def broken(name, change, params=None, outs=None, **setup):
        s = Setup(f.rng, "f32", 2, 3, 4, steps=3, **setup)
        values = [np.zeros((3, 2, s.out)), np.zeros((2, 4)), np.zeros((2, s.out)),
                  *[np.zeros((2, 4))] * 4, np.zeros((2, s.out))]
        change(s.t)
        f.add("Lstm", s.inputs(), outs or s.outputs(values), params, name=name, error=q.error())

    def without(*names):
        return lambda t: [t.pop(n) for n in names]

    def wrong(name, shape, dtype="f32"):
        return lambda t: t.update({name: q.Tensor(name, np.zeros(shape), dtype, kind="static")})

    for name in ("xi", "hi", "bi"):
        broken(f"Lstm_without_{name}", without(name))
    for name in ("ci", "cf", "co"):
        broken(f"Lstm_without_{name}", without(name), peephole=True)
    for name in ("lni", "lnf", "lnc", "lno"):
        broken(f"Lstm_without_{name}", without(name), norm=True)
    broken("Lstm_coupled_with_ci", wrong("ci", (4,)), coupled=True, peephole=True)
    broken("Lstm_coupled_with_lni", wrong("lni", (4,)), coupled=True, norm=True)
    broken("Lstm_bias_without_projection", wrong("bproj", (4,)))
    broken("Lstm_projection_missing", without("proj"), proj=True)
    for name, shape in (("xf", (4, 2)), ("xc", (3, 3)), ("hf", (4, 3)), ("ho", (4, 5)),
                        ("bf", (3,)), ("bo", (5,)), ("h0", (3, 4)), ("c0", (2, 3)), ("xi", (4, 4)),
                        ("bi", (1,))):
        broken(f"Lstm_shape_of_{name}", wrong(name, shape))
    broken("Lstm_shape_of_ci", wrong("ci", (3,)), peephole=True)
    broken("Lstm_shape_of_lnc", wrong("lnc", (5,)), norm=True)
    broken("Lstm_shape_of_proj", wrong("proj", (2, 4)), proj=True)
    broken("Lstm_shape_of_bproj", wrong("bproj", (4,)), proj=True)
    broken("Lstm_reset_of_two", lambda t: t.update(reset=q.Tensor("r", np.zeros(2), "b8")))
    broken("Lstm_type_of_bias", wrong("bf", (4,), "i32"))
    broken("Lstm_negative_clip", lambda t: None, {"cell_clip_threshold": ("f32", -1.0)})
    broken("Lstm_nan_clip", lambda t: None, {"output_clip_threshold": ("f32", np.nan)})
    broken("Lstm_direction", lambda t: None, {"direction": ("u32", 2)})
    bad = [q.Tensor("a", dims=(3, 2, 4)), q.Tensor("b", dims=(2, 4)), q.Tensor("c", dims=(2, 5))]
    broken("Lstm_output_shape", lambda t: None, outs=bad)
    bad = [q.Tensor("a", dims=(3, 2, 4)), q.Tensor("b", dims=(2, 4)), q.NULL]
    broken("Lstm_output_missing", lambda t: None, outs=bad)
    bad = [q.Tensor("a", dims=(2, 3, 4)), q.Tensor("b", dims=(2, 4)), q.Tensor("c", dims=(2, 4))]
    broken("Lstm_output_major", lambda t: None, outs=bad)


def cases(f):
    group_cases(f)
    type_cases(f)
    layout_cases(f)
    gate_cases(f)
    onnx_cases(f)
    state_cases(f)
    wide_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
