# SPDX-License-Identifier: MIT
"""RandomUniformLike, RandomNormalLike: the documented generator, its moments, refusals."""
import numpy as np

import qcase as q

MASK = 0xFFFFFFFF
DEFAULT_SEED = 0x5155524E


def philox(counter, key):
    """Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & MASK, (first >> 32) ^ c[3] ^ k[1], first & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


# The known answers of the paper's authors.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def words(count, seed=None, stream=0, execution=0):
    """The first `count` words of a sequence."""
    if seed is None:
        key = [DEFAULT_SEED, stream]
    else:
        key = [int(np.float32(seed + 0.0).view(np.uint32)), 0]
    blocks = [philox([b, 0, execution & MASK, execution >> 32], key)
              for b in range((count + 3) // 4)]
    return np.array(blocks, np.float64).reshape(-1)


def uniform(shape, low, high, **which):
    n = int(np.prod(shape))
    u = np.floor(words(n, **which) / 256)[:n] * 2.0 ** -24
    return (low + u * (high - low)).reshape(shape)


def normal(shape, mean, scale, **which):
    n = int(np.prod(shape))
    w = words(n, **which).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log((w[:, 0] + 1) * 2.0 ** -32))
    angle = 2 * np.pi * w[:, 1] * 2.0 ** -32
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    return (mean + scale * pairs.reshape(-1)[:n]).reshape(shape)


OPS = {"RandomUniformLike": (uniform, ("low", "high"), (0.0, 1.0)),
       "RandomNormalLike": (normal, ("mean", "scale"), (0.0, 1.0))}


def add(f, op, shape, values=None, dtype="f32", seed=None, static=True, rounds=3,
        static_seed=False):
    draw, names, defaults = OPS[op]
    given = defaults if values is None else [float(np.float32(v)) for v in values]
    ins = [q.Tensor("shape", np.array(shape), "u32", kind="static" if static else "input")]
    if seed is not None:
        ins.append(q.Tensor("seed", np.array([seed]), "f32",
                            kind="static" if static_seed else "input"))
        seed = float(ins[-1].real[0])  # what the library sees
    wants = [draw(shape, *given, seed=seed, execution=0 if seed is not None else i)
             for i in range(rounds)]
    y = q.Tensor("y", np.stack(wants), dtype)
    y.dims = list(shape)
    f.add(op, ins, [y], {} if values is None else {n: ("f32", v) for n, v in zip(names, values)},
          name=f"{op}_{dtype}", rounds=[({}, {"y": w}) for w in wants], stateful=True,
          tol=q.fp32(3e-7) if dtype == "f32" else None)


def value_cases(f):
    for op in OPS:
        dtypes = ("f32", "uq8") if op == "RandomUniformLike" else ("f32", "f16", "uq8", "uq16")
        for dtype in dtypes:
            for shape in ((1,), (2,), (3,), (4,), (5,), (2, 3), (1, 7, 1, 3), (33, 5)):
                add(f, op, shape, None, dtype)
                add(f, op, shape, (-2.5, 4.25), dtype, seed=float(f.rng.normal()))
                add(f, op, shape, (7.0, 7.0), "f32", seed=3.0, static=False, static_seed=True)
        for seed in (0.0, -0.0, 1.0, -1.0, 1e-42, 3e38, np.inf):
            add(f, op, (2, 5), (1.0, 3.0), seed=seed, static=False)
        add(f, op, (2, 2, 2, 2, 2, 1, 2, 1), seed=5.0)


def moment_cases(f):
    """Range, mean and deviation of many numbers; each bound is five standard errors wide."""
    shape, n = (200, 250), 50000
    for seed in (None, 0.0, 17.5, -3e5):
        ins = [q.Tensor("shape", np.array(shape), "u32", kind="static")]
        if seed is not None:
            ins.append(q.Tensor("seed", np.array([seed])))
        err = 5 * 6 / np.sqrt(12 * n)
        dev = 6 / np.sqrt(12)
        f.add("RandomUniformLike", ins, [q.Tensor("y", dims=shape)],
              {"low": ("f32", -2.0), "high": ("f32", 4.0)}, name="Random_moments_uniform",
              tol=q.stats(-2.0, np.nextafter(np.float32(4), np.float32(0)), (1 - err, 1 + err),
                          (dev * 0.985, dev * 1.015)), stateful=True)
        err = 5 * 3 / np.sqrt(n)
        f.add("RandomNormalLike", ins, [q.Tensor("y", dims=shape)],
              {"mean": ("f32", 2.0), "scale": ("f32", 3.0)}, name="Random_moments_normal",
              tol=q.stats(-22, 26, (2 - err, 2 + err), (2.95, 3.05)), stateful=True)


def graph_cases(f):
    """Ops without a seed differ inside a graph, ops with the same seed agree."""
    shape = q.Tensor("shape", np.array([6]), "u32", kind="static")
    seed = q.Tensor("seed", np.array([2.0]), "f32", kind="static")
    same = normal((6,), 0, 1, seed=2.0)
    f.build([q.Node("RandomUniformLike", [shape], [q.Tensor("a", uniform((6,), 0, 1, stream=0))]),
             q.Node("RandomUniformLike", [shape], [q.Tensor("b", uniform((6,), 0, 1, stream=1))]),
             q.Node("RandomNormalLike", [shape, seed], [q.Tensor("c", same)]),
             q.Node("RandomNormalLike", [shape, seed], [q.Tensor("d", same)])],
            name="Random_streams", stateful=True, tol=q.fp32(3e-7))


def error_cases(f):
    def refused(name, op="RandomUniformLike", shape=(2, 3), out=(2, 3), seed=None, static=True,
                stage="validate", **params):
        ins = [q.Tensor("shape", np.array(shape), "u32", kind="static" if static else "input")]
        if seed is not None:
            ins.append(q.Tensor("seed", seed, "f32"))
        f.add(op, ins, [q.Tensor("y", dims=out)], {k: ("f32", v) for k, v in params.items()},
              name="Random_" + name,
              error=q.error() if stage == "validate" else q.error(None, stage))

    refused("low_above_high", low=2.0, high=1.0)
    refused("low_above_default", low=2.0)
    refused("low_nan", low=np.nan)
    refused("high_infinite", high=np.inf)
    refused("negative_scale", "RandomNormalLike", scale=-1.0)
    refused("mean_nan", "RandomNormalLike", mean=np.nan)
    refused("scale_of_uniform", scale=1.0)
    refused("output_shape", out=(3, 2))
    refused("output_rank", out=(6,))
    refused("shape_rank", shape=[1] * 9, out=(1,))
    refused("shape_rank_at_run_time", static=False, out=(6,))
    refused("two_seeds", seed=np.zeros(2))
    refused("shape_at_run_time", static=False, shape=(3, 2), stage="execute")


def cases(f):
    value_cases(f)
    moment_cases(f)
    graph_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
