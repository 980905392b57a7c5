# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_pte: make_corpus_pte.py FOLDER (tests/fuzz/corpus/pte).

Programs with a call of every kernel, some to a file, and with every instruction, kind of value and
frame; with delegates, some of them with context binaries that $QUERN_BIN compiles. When the format
of binaries changes, fuzz_pte says that no delegate was executed: run this again.
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
import pte_delegate
import pte_kernels
from pte_writer import Program, Ref, blob, spec

PER_FILE = 4


def kernels():
    for at in range(0, len(pte_kernels.CASES), PER_FILE):
        p = Program()
        m = p.method()
        for name, args, expected in pte_kernels.CASES[at:at + PER_FILE]:
            refs = [Ref(m.constant(a)) if isinstance(a, np.ndarray) else a for a in args]
            outs = []
            for e in map(np.asarray, expected):
                kind = "float32" if e.dtype == np.float64 else e.dtype.name
                outs.append(Ref(m.tensor(e.shape, kind, dynamic=at // PER_FILE % 2)))
            m.call(name, *refs, *outs, *outs)
            m.output(*[o.index for o in outs])
        yield f"kernels_{at // PER_FILE}", p.bytes(align=16)


def lists():
    p = Program()
    m = p.method()
    x = m.constant(pte_kernels.X)
    joined, parts = m.tensor((2, 6, 4)), [m.tensor((2, 3, n)) for n in (3, 1)]
    stacked = m.tensor((2, 2, 3, 4))
    m.call("aten::cat.out", Ref(m.tensors([x, x])), -2, Ref(joined), Ref(joined))
    m.call("aten::stack.out", Ref(m.tensors([x, x])), 1, Ref(stacked), Ref(stacked))
    m.call("aten::split_copy.Tensor_out", Ref(x), 3, 2, Ref(m.tensors(parts)))
    m.call("aten::split_with_sizes_copy.out", Ref(x), [3, 1], 2, Ref(m.tensors(parts)))
    m.output(joined, stacked, *parts)
    yield "lists", p.bytes(align=16)


def control():
    for header in (32, 24, 0):
        p = Program()
        m = p.method()
        x, y = m.input((2, 3), planned=header == 24), m.tensor((2, 3))
        view, i, flag = m.tensor((6,), planned=False), m.number(0), m.number(False)
        m.move(m.number(0), i)
        m.call("aten::add.out", Ref(x), Ref(y), 1, Ref(y), Ref(y))
        m.call("executorch_prim::add.Scalar", Ref(i), 1, Ref(i))
        m.call("executorch_prim::floordiv.Scalar", Ref(i), 1, Ref(i))
        m.call("aten::sym_size.int", Ref(x), 1, Ref(m.number(0)))
        m.call("executorch_prim::ge.Scalar", Ref(i), 3, Ref(flag))
        m.jump_false(flag, 1)
        m.call("executorch_prim::et_view.default", Ref(y), [-1], Ref(view))
        if header:
            state = m.tensor((2, 3), initial=np.ones((2, 3), np.float32))
            m.call("aten::copy_", Ref(state), Ref(y), False, Ref(state))
        m.output(view, i)
        yield f"control_{header}", p.bytes(header=header, align=16)


def delegates():
    for inline in (False, True):
        p = Program()
        for name in ("forward", "backward"):
            m = p.method(name)
            x, y = m.input((4,), "uint16"), m.tensor((4,), "uint16", planned=False)
            m.delegate(blob(bytes(16), 20 if inline else 256), spec(library="lib"), [x, y],
                       inline=inline)
            m.output(y)
        yield f"delegates_{'inline' if inline else 'segment'}", p.bytes(align=16)


def compiled():
    """Programs whose delegates can be executed."""
    with tempfile.TemporaryDirectory() as folder:
        binary = pte_delegate.compiled(Path(folder), {"forward": pte_delegate.two_by_two()})
    for header, inline in ((256, False), (256, True), (20, False)):
        p = pte_delegate.program(blob(binary, header), inline=inline)
        yield f"compiled_{header}_{'inline' if inline else 'segment'}", p.bytes(align=16)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (kernels, lists, control, delegates, compiled):
        for name, data in make():
            (folder / f"{name}.pte").write_bytes(data)


if __name__ == "__main__":
    main()
