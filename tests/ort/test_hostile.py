# SPDX-License-Identifier: MIT
"""Models and context binaries that are damaged or hostile: words or results, never a crash.

Each batch is loaded by a process of its own, which tells before each model what it is about to do.
Most of what is hostile to a reader never comes to a provider, because onnxruntime reads the file;
so there are also ONNX's own cases with one number changed. As a program: test_hostile.py MUTANTS
[SEED] tries that many mutants of each model of the corpus and of each case.
"""
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

HERE = Path(__file__).resolve().parent
CORPUS = sorted((HERE.parent / "fuzz" / "corpus" / "onnx").glob("*.onnx"))
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
sys.path.insert(0, str(HERE.parent / "clients"))

CHILD = """
import sys
sys.path[:0] = sys.argv[1:3]
import test_hostile
test_hostile.try_all(sys.argv[3:])
"""
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int16)": np.int16,
         "tensor(int8)": np.int8, "tensor(uint64)": np.uint64, "tensor(uint32)": np.uint32,
         "tensor(uint16)": np.uint16, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


def run(s):
    """Ones for every input; open dimensions are 1."""
    feed = {}
    for i in s.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
        if i.type not in TYPES or np.prod(shape, dtype=float) > 1e6:
            return "not run"
        feed[i.name] = np.ones(shape, TYPES[i.type])
    s.run(None, feed)
    return "ran"


def try_all(paths):
    """One line a model: its path, then what became of it."""
    from provider import HTP, session
    for path in paths:
        for options in ({"backend_type": "cpu"}, HTP):
            print(path, end="\t", flush=True)
            try:
                # What is not taken is not run: onnxruntime's own kernels are not on trial.
                print(run(session(path, options, level=4)), flush=True)
            except Exception as e:
                print("failed: " + " ".join(str(e).split()), flush=True)


def outcomes(paths):
    """[(path, outcome)] of all models, two each; fails where a process died."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(HERE), str(HERE.parent / "clients"),
                           *map(str, paths)], capture_output=True, text=True, timeout=600)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-3000:])
    assert len(lines) == 2 * len(paths) and all(len(line) == 2 for line in lines)
    return lines


def has_words(outcome):
    return not outcome.startswith("failed: ") or len(outcome.split()) > 6


def mutate(data, rng):
    """One change of a kind that damaged files have."""
    data = bytearray(data)
    kind, at = rng.randrange(4), rng.randrange(max(1, len(data)))
    if kind == 0:
        del data[at:]
    elif kind == 1 and data:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2 and data:
        data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
    else:
        data[at:at] = data[at:at + rng.randrange(1, 64)]
    return bytes(data)


def mutants(folder, n_each, seed):
    made = []
    for path in CORPUS:
        for i in range(n_each):
            rng = random.Random(f"{seed} {path.name} {i}")
            made.append(folder / f"{path.stem}.{seed}.{i}.onnx")
            made[-1].write_bytes(mutate(path.read_bytes(), rng))
    return made


INTS = (-2**63, -2**31, -65, -2, -1, 0, 1, 2, 3, 7, 64, 1000, 2**31 - 1, 2**31, 2**63 - 1)
FLOATS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-45, 3e38)


def numbers_of(m):
    """Ways to change a number of a model: functions of a source of random numbers."""
    found = []
    for node in m.graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.INT:
                found.append(lambda r, a=a: setattr(a, "i", r.choice(INTS)))
            elif a.type == onnx.AttributeProto.FLOAT:
                found.append(lambda r, a=a: setattr(a, "f", r.choice(FLOATS)))
            elif a.type == onnx.AttributeProto.INTS and a.ints:
                found.append(lambda r, a=a: a.ints.__setitem__(r.randrange(len(a.ints)),
                                                               r.choice(INTS)))
                found.append(lambda r, a=a: a.ints.append(r.choice(INTS)))
                found.append(lambda r, a=a: a.ints.pop())
            elif a.type == onnx.AttributeProto.STRING:
                found.append(lambda r, a=a: setattr(a, "s", a.s[:-1]))
        if len(node.input) > 1:
            found.append(lambda r, node=node: node.input.__setitem__(
                r.randrange(len(node.input)), r.choice([*node.input, ""])))
    for value in [*m.graph.input, *m.graph.output]:
        shape = value.type.tensor_type.shape
        for d in shape.dim:
            found.append(lambda r, d=d: setattr(d, "dim_value", r.choice((0, 1, 2, 3, 1000))))
        kind = value.type.tensor_type
        found.append(lambda r, t=kind: setattr(t, "elem_type", r.randrange(1, 17)))
    return found


def stored_cases():
    """[(name, model, values of its inputs)] of the cases that come as files."""
    for path in sorted(DATA.glob("*/*/model.onnx")):
        values = [onnx.TensorProto.FromString(p.read_bytes()) for p in sorted(
            (path.parent / "test_data_set_0").glob("input_*.pb"), key=lambda p: int(p.stem[6:]))]
        yield path.parent.name, onnx.load(path), values


def computed_cases():
    """Those that are made when they are asked for, which takes seconds."""
    from onnx.backend.test.loader import load_node_model_tests
    for test in load_node_model_tests():
        values = [onnx.numpy_helper.from_array(np.asarray(v)) if isinstance(v, (np.ndarray,
                  np.generic)) else v for v in test.data_sets[0][0]]
        if all(isinstance(v, onnx.TensorProto) for v in values):
            yield test.name, test.model, values


def changed_case(m, values, rng):
    """A case with constants for some parameters, as importers want them, and one change."""
    m = onnx.ModelProto.FromString(m.SerializeToString())
    for i, tensor in reversed(list(enumerate(values[:len(m.graph.input)]))[1:]):
        if rng.randrange(4) == 0:
            continue
        made = onnx.TensorProto.FromString(tensor.SerializeToString())
        made.name = m.graph.input[i].name
        if made.raw_data and rng.randrange(3) == 0:
            made.raw_data = mutate_bytes(made.raw_data, rng)
        m.graph.initializer.append(made)
        del m.graph.input[i]
    ways = numbers_of(m)
    if ways:
        rng.choice(ways)(rng)
    return m.SerializeToString()


def mutate_bytes(data, rng):
    data = bytearray(data)
    data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
    return bytes(data)


def changed_cases(folder, cases, n_each, seed):
    made = []
    for name, model, values in cases:
        for i in range(n_each):
            try:
                data = changed_case(model, values, random.Random(f"{seed} {name} {i}"))
            except (ValueError, TypeError, OverflowError):  # a number that its field cannot hold
                continue
            made.append(folder / f"{name}.{seed}.{i}.onnx")
            made[-1].write_bytes(data)
    return made


def test_every_model_of_the_corpus_and_its_mutants_end_in_words(tmp_path):
    assert len(CORPUS) > 50
    found = outcomes(CORPUS + mutants(tmp_path, 1, 1))
    assert all(has_words(outcome) for _, outcome in found)


def test_cases_with_a_changed_number_end_in_words_or_results(tmp_path):
    found = outcomes(changed_cases(tmp_path, stored_cases(), 1, 2))
    assert len(found) > 100 and all(has_words(outcome) for _, outcome in found)
    ran = sum(outcome == "ran" for _, outcome in found)
    assert len(found) // 10 < ran < len(found)  # it is not all refused, nor all harmless


# --- context binaries

def damaged(model, folder, name, data, embed):
    """A context model with another binary, inside or beside it."""
    made = onnx.ModelProto.FromString(model)
    attributes = {a.name: a for a in made.graph.node[0].attribute}
    attributes["embed_mode"].i = embed
    attributes["ep_cache_context"].s = data if embed else f"{name}.bin".encode()
    if not embed:
        (folder / f"{name}.bin").write_bytes(data)
    onnx.save(made, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def shortened(data):
    sizes = {0, 1, 7, 8, 63, 64, 100, len(data) // 2, len(data) - 1,
             *range(128, len(data), len(data) // 12)}
    return [data[:n] for n in sorted(sizes)]


def flipped(data):
    rng, found = random.Random(5), []
    for i in range(40):
        changed = bytearray(data)
        at = i * 8 if i < 20 else rng.randrange(len(data))  # the header, and everywhere
        changed[at] ^= 1 << rng.randrange(8)
        found.append(bytes(changed))
    return found


@pytest.fixture(scope="module")
def damaged_contexts(tmp_path_factory):
    """What becomes of damaged binaries on the HTP: {kind: outcomes}."""
    from ort_models import conv_net
    from provider import HTP, session
    folder = tmp_path_factory.mktemp("context")
    session(conv_net(seed=1), HTP, {"ep.context_enable": "1",
                                    "ep.context_file_path": str(folder / "c.onnx")})
    model, data = (folder / "c.onnx").read_bytes(), (folder / "c_qnn.bin").read_bytes()
    paths = [damaged(model, folder, f"{kind}.{i}.{embed}", made, embed)
             for kind, list_of in (("short", shortened(data)), ("flip", flipped(data)))
             for i, made in enumerate(list_of) for embed in (0, 1)]
    found = outcomes([folder / "c.onnx", *paths])[1::2]  # the CPU has no contexts
    assert found[0][1] == "ran"
    return {kind: [outcome for path, outcome in found if Path(path).name.startswith(kind)]
            for kind in ("short", "flip")}


def test_shortened_binaries_are_refused(damaged_contexts):
    found = damaged_contexts["short"]
    assert len(found) > 30
    assert all(outcome.startswith("failed: ") and has_words(outcome) for outcome in found)


def test_binaries_with_another_bit_are_refused_or_run(damaged_contexts):
    found = damaged_contexts["flip"]
    assert len(found) == 80 and all(has_words(outcome) for outcome in found)
    assert sum(outcome.startswith("failed") for outcome in found) > 40


def main(n_each, seed="1"):
    import tempfile
    folder = Path(tempfile.mkdtemp())
    counts = {}
    cases = [*stored_cases(), *computed_cases()]
    paths = mutants(folder, int(n_each), seed) + changed_cases(folder, cases, int(n_each), seed)
    for i in range(0, len(paths), 200):
        for path, outcome in outcomes(paths[i:i + 200]):
            key = outcome if len(outcome) < 8 else "failed"
            counts[key] = counts.get(key, 0) + 1
            if not has_words(outcome):
                print(path, outcome)
    print(counts)
    for path in folder.iterdir():
        os.unlink(path)
    folder.rmdir()


if __name__ == "__main__":
    main(*sys.argv[1:])
