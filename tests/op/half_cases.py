# SPDX-License-Identifier: MIT
"""Half-precision cases for the HTP, derived from the float cases of all groups.

    half_cases.py -o FOLDER        writes half.qc and half_wide.qc there

A device of the HTP computes float graphs in half precision: f32 inputs are rounded on entry,
results are halves in f32. So every generator is run with Tensor rounding f32 data to halves: its
oracle then sees the numbers that the device sees, and wants the exact result of an op on halves.
Results must be halves (ulp16) and within one unit of the last place of it; sums of many products
get two units, and a share of the largest result where terms cancel, for the sum itself is in single
precision.

Kept are cases of one node that use floats and no fixed-point tensor, whose inputs are in the range
of halves. half_wide.qc, for devices without infinities and NaNs, has the cases without such
numbers.
"""
import argparse
import copy
import glob
import importlib
import os

import numpy as np

import qcase as q
from qtypes import is_fixed

TOP = 65504.0
FLOATS = ("f32", "f16")

# Units in the last place, and the share of the largest result that terms may cancel by.
SUMS = (2, 2e-6)
ROUNDED_MORE = {op: SUMS for op in (
    "Conv1d Conv2d Conv3d DepthWiseConv1d DepthWiseConv2d TransposeConv1d TransposeConv2d "
    "TransposeConv3d FullyConnected MatMul Batchnorm CumulativeSum GroupNorm InstanceNorm "
    "L2Norm LayerNorm LogSoftmax Lrn MaskedSoftmax Moments ReduceMean ReduceSum ReduceProd "
    "RmsNorm Softmax ReduceSumSquare PoolAvg2d PoolAvg3d L2Pool2d Correlation1D GridSample "
    "Resize ResizeBilinear CropAndResize RoiAlign Col2Im HadamardTransform Gru Lstm Stft "
    "GroupedQueryAttention RotaryEmbedding ImageProjectionTransform").split()}

# To f32 for the application: nothing is computed, so nothing is rounded.
CONVERSIONS = ("Cast", "Convert", "Dequantize")

# Ops whose f16 cases are ones that the HTP refuses, or few: those in f32 run as f16 ones, too.
AS_F16 = ("Conv3d", "GridSample", "MatMul", "ReluMinMax", "TransposeConv3d")

encode_as_given = q.Tensor.encode
wanted_as_given = q.Tensor.wanted


def is_parameter(tensor):
    return tensor.name.startswith("param_")


def encode(self, array):
    """Tensor.encode with f32 data rounded to halves; parameters stay as they are."""
    if self.dtype == "f32" and not is_parameter(self):
        with np.errstate(over="ignore"):
            array = np.asarray(array).astype(np.float16)
    return encode_as_given(self, array)


def arrays(case, kinds):
    """Arrays of the case's float tensors of some kinds, in all rounds."""
    for t in case.tensors:
        if t.dtype in FLOATS and t.kind in kinds:
            given = [r[t.kind == "output"] for r in case.rounds]
            for names in given:
                array = names.get(t.name, t.array) if isinstance(names, dict) else t.array
                if array is not None:
                    yield np.asarray(array, np.float64)


def fits(case):
    types = {t.dtype for t in case.tensors if t.kind != "null"}
    if case.error or len(case.nodes) > 1 or not types & set(FLOATS):
        return False
    if any(t.dynamic for t in case.tensors):
        return False
    if any(is_fixed(t) or t in ("bf16", "f64") for t in types):
        return False
    finite = [a[np.isfinite(a)] for a in arrays(case, ("input", "static"))]
    return all((np.abs(a) <= TOP).all() for a in finite)


def is_tame(case):
    """No number that a half without infinities and NaNs treats in its own way?"""
    return all((np.abs(a) < TOP).all() for a in arrays(case, ("input", "static", "output")))


class HalfFiles:
    """What generators see as the case file: passes what fits on to the two files."""

    low_ties = True

    def __init__(self, folder, seed):
        self.ieee = q.CaseFile(os.path.join(folder, "half.qc"), seed)
        self.wide = q.CaseFile(os.path.join(folder, "half_wide.qc"), seed)
        self.rng = self.ieee.rng

    def add(self, case, *args, **more):
        case = case if isinstance(case, q.Case) else q.Case(case, *args, **more)
        if fits(case):
            self.keep(case)
        return case

    def build(self, nodes, **more):
        return self.add(q.Case(nodes=nodes, **more))

    def keep(self, case):
        self.put(case)
        if case.op in AS_F16 and not any(t.dtype == "f16" for t in case.tensors):
            case = copy.deepcopy(case)
            case.name += "_as_f16"
            for t in case.tensors:
                if t.dtype == "f32" and not is_parameter(t):
                    t.dtype = "f16"
            self.put(case)

    def put(self, case):
        units, share = ROUNDED_MORE.get(case.op, (1, 0.0))
        computed = case.op not in CONVERSIONS or case.nodes[0].inputs[0].dtype in FLOATS
        for t in case.outputs:
            tol = case.tols[t]
            is_half = t.dtype == "f16" or computed and t.dtype == "f32"
            if is_half and tol.mode in ("float", "ulp"):
                case.tols[t] = q.ulp16(units, share, tol.nan_ok)
        self.ieee.add(case)
        if is_tame(case):
            self.wide.add(case)

    def write(self):
        return self.ieee.write(), self.wide.write()


def wanted_as_half(self, array, tol):
    """Tensor.wanted with the overflow of halves."""
    if tol.mode == "ulp16":
        array = np.asarray(array, np.float64)
        array = np.where(np.abs(array) >= 65520.0, np.copysign(np.inf, array), array)
    return wanted_as_given(self, array, tol)


def is_fresh(made, sources):
    return all(os.path.exists(m) for m in made) and \
        min(map(os.path.getmtime, made)) > max(map(os.path.getmtime, sources))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True, help="folder")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    f = HalfFiles(args.output, args.seed)
    if is_fresh([f.ieee.path, f.wide.path], glob.glob(os.path.join(here, "*.py"))):
        return
    q.Tensor.encode, q.Tensor.wanted = encode, wanted_as_half
    for path in sorted(glob.glob(os.path.join(here, "cases_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        with np.errstate(all="ignore"):
            module.cases(f)
    print("%d cases, %d of them for wide halves" % f.write(), f"seed {args.seed}")


if __name__ == "__main__":
    main()
