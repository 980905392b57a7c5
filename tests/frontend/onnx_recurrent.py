# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN with everything that ONNX allows: directions, layouts, activations, clipping,
sequences of different lengths. Expected values by the standard's formulas in float64."""
import numpy as np

from case_onnx import case, node, quantized_case

RNG = np.random.default_rng(6)
T, B, I, H = 5, 3, 4, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def rand(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def activation(name, alpha, beta):
    return {
        "sigmoid": sigmoid,
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(x, 0),
        "affine": lambda x: alpha * x + beta,
        "leakyrelu": lambda x: np.where(x < 0, alpha * x, x),
        "thresholdedrelu": lambda x: np.where(x > alpha, x, 0),
        "scaledtanh": lambda x: alpha * np.tanh(beta * x),
        "hardsigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "elu": lambda x: np.where(x < 0, alpha * (np.exp(x) - 1), x),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "softplus": lambda x: np.log1p(np.exp(x)),
    }[name.lower()]


def step(op, acts, x, h, c, w, r, b, p, at):
    """New h and c of one sequence."""
    clip = at.get("clip", 0) or np.inf

    def cut(v):
        return np.clip(v, -clip, clip)

    wb, rb = np.split(b, 2)
    if op == "RNN":
        return acts[0](cut(w @ x + r @ h + wb + rb)), c
    if op == "GRU":
        z, s, _ = np.split(w @ x + wb, 3)
        rz, rs, rh = np.split(r, 3)
        bz, bs, bh = np.split(rb, 3)
        z, s = acts[0](cut(z + rz @ h + bz)), acts[0](cut(s + rs @ h + bs))
        inner = s * (rh @ h + bh) if at.get("linear_before_reset") else rh @ (s * h) + bh
        n = acts[1](cut((w @ x + wb)[2 * H:] + inner))
        return (1 - z) * n + z * h, c
    i, o, f, g = np.split(w @ x + r @ h + wb + rb, 4)
    pi, po, pf = np.split(p, 3)
    i = acts[0](cut(i + pi * c))
    f = 1 - i if at.get("input_forget") else acts[0](cut(f + pf * c))
    c = f * c + i * acts[1](cut(g))
    return acts[0](cut(o + po * c)) * acts[2](c), c


def reference(op, x, d, at, lengths):
    """Y, Y_h, Y_c for x [T, B, I]; d: weights by name."""
    dirs = d["w"].shape[0]
    defaults = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
    names = at.get("activations", defaults[op] * dirs)
    alphas, betas = list(at.get("activation_alpha", [])), list(at.get("activation_beta", []))
    acts = []
    for name in names:
        fallback = {"leakyrelu": 0.01, "hardsigmoid": 0.2}.get(name.lower(), 1.0)
        takes = {"affine": 3, "scaledtanh": 3, "hardsigmoid": 3, "leakyrelu": 1,
                 "thresholdedrelu": 1, "elu": 1}.get(name.lower(), 0)
        alpha = alphas.pop(0) if takes & 1 and alphas else fallback
        beta = betas.pop(0) if takes & 2 and betas else 0.5
        acts.append(activation(name, alpha, beta))
    per = len(names) // dirs
    y = np.zeros((T, dirs, B, H))
    last_h, last_c = np.zeros((dirs, B, H)), np.zeros((dirs, B, H))
    for k in range(dirs):
        backward = k == 1 or at.get("direction") == "reverse"
        for b in range(B):
            h, c = d["h"][k, b].astype(float), d["c"][k, b].astype(float)
            order = range(lengths[b])
            for t in reversed(order) if backward else order:
                h, c = step(op, acts[k * per:(k + 1) * per], x[t, b].astype(float), h, c,
                            d["w"][k].astype(float), d["r"][k].astype(float),
                            d["b"][k].astype(float), d["p"][k].astype(float), at)
                y[t, k, b] = h
            last_h[k, b], last_c[k, b] = h, c
    return y, last_h, last_c


def network(name, op, lengths=None, run_time_lengths=False, run_time_weights=False, bias=True,
            states=True, peepholes=False, dtype=np.float32, **at):
    dirs = 2 if at.get("direction") == "bidirectional" else 1
    g = GATES[op]
    x = rand(T, B, I).astype(dtype)
    d = {"w": rand(dirs, g * H, I) / 2, "r": rand(dirs, g * H, H) / 2,
         "b": rand(dirs, 2 * g * H) / 2 * bias, "h": rand(dirs, B, H) * states,
         "c": rand(dirs, B, H) * states, "p": rand(dirs, 3 * H) * peepholes}
    d = {k: v.astype(dtype) for k, v in d.items()}
    want = list(reference(op, x, d, at, lengths or [T] * B))[:3 if op == "LSTM" else 2]
    if at.get("layout"):
        x = x.transpose(1, 0, 2)
        d["h"], d["c"] = d["h"].transpose(1, 0, 2), d["c"].transpose(1, 0, 2)
        want = [want[0].transpose(2, 0, 1, 3), *(v.transpose(1, 0, 2) for v in want[1:])]
    given = {"l": np.array(lengths, np.int32)} if lengths else {}
    names = ["x", "w", "r", "b" if bias else "-", "l" if lengths else "-", "h" if states else "-"]
    if op == "LSTM":
        names += ["c" if states else "-", "p" if peepholes else "-"]
    constants = {k: d[k] for k in "wrbhcp" if k in names}
    inputs = {"x": np.ascontiguousarray(x)}
    (inputs if run_time_lengths else constants).update(given)
    if run_time_weights:
        inputs |= {k: constants.pop(k) for k in list(constants)}
    outputs = "y yh yc" if op == "LSTM" else "y yh"
    return case(name, node(op, " ".join(names), outputs, hidden_size=H, **at), inputs, outputs,
                {k: np.ascontiguousarray(v) for k, v in constants.items()},
                expected=[np.ascontiguousarray(v.astype(dtype)) for v in want],
                tol=1e-5 if dtype == np.float32 else 4e-3)


def directions():
    for op in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            tag = f"{op}_{direction}"
            yield network(tag, op, direction=direction)
            yield network(f"{tag}_bare", op, direction=direction, bias=False, states=False)
            yield network(f"{tag}_batch_first", op, direction=direction, layout=1)
            yield network(f"{tag}_lengths", op, [3, 5, 1], direction=direction)
            yield network(f"{tag}_lengths_batch_first", op, [2, 4, 5], direction=direction,
                          layout=1)
            yield network(f"{tag}_run_time_lengths", op, [4, 2, 5], True, direction=direction)
            yield network(f"{tag}_run_time_weights", op, run_time_weights=True,
                          direction=direction)
        yield network(f"{op}_short", op, [3, 2, 3])
        yield network(f"{op}_f16", op, dtype=np.float16)


def settings():
    yield network("lstm_peepholes", "LSTM", peepholes=True, direction="bidirectional")
    yield network("lstm_peepholes_lengths", "LSTM", [5, 1, 2], peepholes=True)
    yield network("lstm_input_forget", "LSTM", input_forget=1, peepholes=True)
    for op in GATES:
        yield network(f"{op}_clip", op, clip=0.3)
    for direction in ("forward", "bidirectional"):
        yield network(f"gru_linear_{direction}", "GRU", linear_before_reset=1, direction=direction)
        yield network(f"gru_linear_lengths_{direction}", "GRU", [2, 5, 3], linear_before_reset=1,
                      direction=direction)
    yield network("gru_linear_clip", "GRU", linear_before_reset=1, clip=0.4)
    yield network("lstm_activations", "LSTM", activations=["HardSigmoid", "Softsign", "Relu"],
                  activation_alpha=[0.3], activation_beta=[0.4])
    yield network("gru_activations", "GRU", activations=["hardsigmoid", "ScaledTanh"],
                  activation_alpha=[0.3, 0.7], activation_beta=[0.4, 0.9])
    for name, alpha, beta in (("Relu", [], []), ("Affine", [0.5], [0.1]), ("LeakyRelu", [0.3], []),
                              ("LeakyRelu", [], []), ("ThresholdedRelu", [0.2], []),
                              ("ScaledTanh", [0.7], [0.8]), ("HardSigmoid", [], []),
                              ("Elu", [0.6], []), ("Softsign", [], []), ("Softplus", [], []),
                              ("Sigmoid", [], [])):
        numbers = {k: v for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
        yield network(f"rnn_{name}_{len(alpha)}", "RNN", activations=[name], **numbers)
    yield network("rnn_default_of_both", "RNN", activations=["Tanh", "Tanh"])
    yield network("rnn_both_activations", "RNN", direction="bidirectional",
                  activations=["Relu", "Affine"], activation_alpha=[0.7], activation_beta=[0.2])


def others():
    x, w, r = rand(T, B, I), rand(1, 4 * H, I), rand(1, 4 * H, H)
    d = {"w": w, "r": r, "b": np.zeros((1, 8 * H)), "p": np.zeros((1, 3 * H)),
         "h": np.zeros((1, B, H)), "c": np.zeros((1, B, H))}
    want = reference("LSTM", x, d, {}, [T] * B)
    yield case("only_the_last_state", node("LSTM", "x w r", "- h"), {"x": x}, "h",
               {"w": w, "r": r}, expected=[want[1].astype(np.float32)])
    yield case("unknown_activation", node("RNN", "x w r", "y", activations=["Sine"]), {"x": x},
               constants={"w": w[:, :H], "r": r[:, :H]}, refusal="activation 'Sine'")
    yield case("wrong_weights", node("LSTM", "x w r", "y"), {"x": x},
               constants={"w": w[:, :-1], "r": r}, refusal="has not the shape")
    long = rand(1100, 1, I)
    yield case("too_long_to_unroll", node("RNN", "x w r", "y"), {"x": long},
               constants={"w": w[:, :H], "r": r[:, :H]}, refusal="must be unrolled")
    yield quantized_case("unit_lstm", "LSTM", {"x": x, "w": w, "r": r}, bits=16, steps=2,
                         constants=("w", "r"), hidden_size=H)


def dynamic(name, dirs, dtype, each, zeros=True, bias=True, refusal=None, **at):
    """DynamicQuantizeLSTM: 8-bit weights, transposed, as a float LSTM."""
    info = np.iinfo(dtype)
    q = {k: RNG.integers(info.min, info.max, (dirs, depth, 4 * H), dtype, endpoint=True)
         for k, depth in (("w", I), ("r", H))}
    shape = (dirs, 4 * H) if each else (dirs,)
    s = {k: (0.002 + 0.004 * RNG.random(shape)).astype(np.float32) for k in q}
    z = {k: RNG.integers(info.min // 2, info.max // 2, shape, dtype) * zeros for k in q}
    x, b = rand(T, B, I), rand(dirs, 8 * H) / 2 * bias
    wide = [a if each else a[:, None] for a in (s["w"], z["w"], s["r"], z["r"])]
    real = {k: ((q[k].astype(float) - wide[i + 1][:, None]) * wide[i][:, None]).transpose(0, 2, 1)
            for k, i in (("w", 0), ("r", 2))}
    d = {**real, "b": b, "h": np.zeros((dirs, B, H)), "c": np.zeros((dirs, B, H)),
         "p": np.zeros((dirs, 3 * H))}
    want = reference("LSTM", x, d, at, [T] * B)
    names = f"x w r {'b' if bias else '-'} - - - - sw {'zw' if zeros else '-'} sr"
    constants = {"w": q["w"], "r": q["r"], "sw": s["w"], "sr": s["r"]}
    constants |= {"b": b.astype(np.float32)} if bias else {}
    constants |= {"zw": z["w"].astype(dtype), "zr": z["r"].astype(dtype)} if zeros else {}
    if refusal:
        constants["sw"] = constants["sw"][..., :-1]
    return case(name, node("DynamicQuantizeLSTM", names + (" zr" if zeros else ""), "y yh yc",
                           "com.microsoft", hidden_size=H, **at), {"x": x}, "y yh yc", constants,
                microsoft=True, tol=1e-5, **({"refusal": refusal} if refusal else {
                    "expected": [v.astype(np.float32) for v in want]}))


def dynamics():
    yield dynamic("dynamic_lstm", 1, np.int8, False)
    yield dynamic("dynamic_lstm_rows", 1, np.uint8, True)
    yield dynamic("dynamic_lstm_both", 2, np.int8, True, direction="bidirectional")
    yield dynamic("dynamic_lstm_bare", 1, np.int8, False, zeros=False, bias=False)
    yield dynamic("dynamic_lstm_scales", 1, np.int8, True, refusal="has not the shape")


def cases():
    for make in (directions, settings, others, dynamics):
        yield from make()
