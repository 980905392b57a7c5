# SPDX-License-Identifier: MIT
"""Changing types (Cast, Convert, Quantize, Dequantize) and choosing (ElementWiseSelect, ...Mux).

Oracles: numpy on float64 and int64. Cast ignores encodings, the others obey them; ties round up.
"""
import numpy as np

import qcase as q

SHAPES = ((1,), (9,), (3, 5), (2, 3, 4, 5), (4, 33), (1, 2, 1, 2, 1, 2, 1, 3))
WIDTH = {"f16": 65504.0, "f32": 3.4e38}


def is_int(dtype):
    return q.dtype_class(dtype) == "int"


def is_float(dtype):
    return q.dtype_class(dtype) == "float"


def limits(dtype):
    bits = q.DTYPES[dtype][1]
    signed = dtype.startswith(("i", "sq"))
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def cast(values, source, target):
    """What Cast makes of stored values."""
    if target == "b8":
        return (values != 0).astype(np.int64)
    if is_float(target):
        return values.astype(np.float64)
    low, high = limits(target)
    if is_float(source):
        whole = np.trunc(np.nan_to_num(values.astype(np.float64), posinf=1e30, neginf=-1e30))
        clipped = np.clip(whole, float(low), float(high))
        return np.array([int(v) if v < high else high for v in clipped.ravel()],
                        dtype=np.int64).reshape(values.shape)
    bits = q.DTYPES[target][1]
    if bits == 64:
        return values.astype(np.int64)
    wrapped = values.astype(np.int64) & ((1 << bits) - 1)
    return np.where(wrapped > high, wrapped - (1 << bits), wrapped)


def source_tensor(f, dtype, shape):
    """Random stored values of a type, some of them at its limits."""
    if is_float(dtype):
        values = f.rng.normal(0, 100, shape)
        values.ravel()[::5] = np.round(values.ravel()[::5])
        return q.Tensor("x", values, dtype)
    if dtype == "b8":
        return q.Tensor("x", f.rng.integers(0, 2, shape), dtype)
    low, high = limits(dtype)
    values = f.rng.integers(low, high, shape, endpoint=True) if dtype != "i64" else \
        f.rng.integers(-2 ** 40, 2 ** 40, shape)
    enc = q.scale_offset(0.25, -3) if q.is_fixed(dtype) else None
    return q.Tensor("x", values, dtype, enc)


def cast_cases(f):
    for source in "f32 f16 uq8 sq8 uq16 sq16 sq32 i8 i16 i32 i64 u8 u16 u32 b8".split():
        for target in "f32 f16 uq8 sq8 uq16 i8 i16 i32 i64 u8 u16 u32 b8".split():
            for shape in ((9,), (2, 3, 5)):
                x = source_tensor(f, source, shape)
                if is_float(target) and np.max(np.abs(x.codes.astype(float))) > WIDTH[target]:
                    x.array = x.array % 1000
                y = cast(x.codes, source, target)
                enc = q.scale_offset(0.5, 7) if q.is_fixed(target) else None
                tol = q.ulp(0.51) if is_float(target) else q.exact()
                f.add("Cast", [x], [q.Tensor("y", y, target, enc, tol=tol)],
                      name=f"Cast_{source}_{target}")
    x = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, -0.9, 0.9, 255.9, 256, -1, 2147483648.0,
                  -2147483648.0, 4294967296.0, 1e19, -1e19, 127.5, -128.9, 0.0], np.float32)
    for source in ("f32", "f16"):
        t = q.Tensor("x", x, source)
        for target in "uq8 sq8 uq16 i8 i16 i32 i64 u8 u16 u32 b8".split():
            values = t.codes.astype(np.float64)
            y = cast(values, source, target) if target != "b8" else (values != 0).astype(int)
            if target == "i64":
                y = np.array([0 if np.isnan(v) else max(-2 ** 63, min(2 ** 63 - 1, int(v)
                             if np.isfinite(v) else (2 ** 64 if v > 0 else -2 ** 64)))
                              for v in values])
            enc = q.scale_offset(0.5, 7) if q.is_fixed(target) else None
            f.add("Cast", [t], [q.Tensor("y", y, target, enc, tol=q.exact())],
                  name=f"Cast_{source}_{target}_special")


def convert_cases(f):
    kinds = "f32 f16 uq8 sq8 uq16 sq16"
    for source in kinds.split():
        for target in kinds.split():
            for shape in SHAPES:
                x = q.Tensor("x", f.rng.normal(0, 5, shape), source)
                tol = q.ulp(0.51) if is_float(target) else None
                f.add("Convert", [x], [q.Tensor("y", x.real, target, tol=tol)],
                      name=f"Convert_{source}_{target}")
                if q.is_fixed(target):  # an encoding that clips
                    enc = q.scale_offset(0.011 if target.endswith("8") else 0.00007, -40)
                    f.add("Convert", [x], [q.Tensor("y", x.real, target, enc)],
                          name=f"Convert_{source}_{target}_clips")
    for dtype in ("uq8", "sq16"):
        x = q.Tensor("x", f.rng.normal(size=(4, 5)), dtype)
        f.add("Convert", [x], [q.Tensor("y", x.codes, dtype, x.enc, tol=q.exact())],
              name=f"Convert_{dtype}_same")
    for source, target in (("i32", "f32"), ("i32", "uq8"), ("f32", "i32"), ("uq8", "i32"),
                           ("b8", "f32"), ("u8", "i32"), ("f32", "b8"), ("b8", "i32"),
                           ("u8", "sq16"), ("i32", "i32")):
        x = f.rng.integers(0, 2 if source == "b8" else 50, (3, 7))
        t = q.Tensor("x", x.astype(float) * 1.5 if source == "f32" or q.is_fixed(source) else x,
                     source)
        if target == "b8":
            y = t.real != 0
        else:
            y = np.trunc(t.real).astype(int) if is_int(target) else t.real.astype(float)
        f.add("Convert", [t], [q.Tensor("y", y, target)], name=f"Convert_{source}_{target}")
    byte_conversions(f)


def byte_conversions(f):
    """Truth values and plain bytes, more of them than there are: those are looked up."""
    for source, end in (("b8", 2), ("u8", 256)):
        x = q.Tensor("x", f.rng.integers(0, end, (17, 31)), source)
        for target in ("uq8", "sq8", "uq16", "sq16", "f32", "f16", "i32", "b8"):
            y = x.real.astype(float)
            if target == "b8":
                y = (x.real != 0).astype(int)
            elif is_int(target):
                y = x.real
            enc = q.scale_offset(0.75, -100) if q.is_fixed(target) else None
            f.add("Convert", [x], [q.Tensor("y", y, target, enc)],
                  name=f"Convert_{source}_{target}_large")


def axis_encoding(f, shape, axis, dtype):
    n = shape[axis]
    scales = f.rng.uniform(0.02, 0.2, n)
    low, high = limits(dtype)
    offsets = f.rng.integers(-high // 2, -low // 2, n) if low == 0 else f.rng.integers(-3, 4, n)
    return q.axis(axis, scales, offsets)


def encoding(values, dtype):
    """fit() would give uq32 an offset that no int32 holds."""
    return q.scale_offset(1e-6, -(10 ** 9)) if dtype == "uq32" else q.fit(values, dtype)


def quantize_cases(f):
    for source in ("f32", "f16"):
        for target in "uq8 sq8 uq16 sq16 uq4 sq4 sq32 uq32".split():
            for shape in SHAPES:
                x = q.Tensor("x", f.rng.normal(0, 3, shape), source)
                f.add("Quantize", [x],
                      [q.Tensor("y", x.real, target, encoding(x.real, target))],
                      name=f"Quantize_{source}_{target}")
            shape, enc = (3, 4, 6), None
            for axis in (0, 1, 2):
                if target == "uq32":
                    continue
                x = q.Tensor("x", f.rng.normal(0, 3, shape), source)
                enc = axis_encoding(f, shape, axis, target)
                f.add("Quantize", [x], [q.Tensor("y", x.real, target, enc)],
                      name=f"Quantize_{source}_{target}_axis")
    ties = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.25, 1e9, -1e9, np.inf, -np.inf])
    x = q.Tensor("x", ties)
    for dtype, want in (("uq8", [6, 7, 8, 9, 10, 11, 12, 8, 255, 0, 255, 0]),
                        ("sq8", [6, 7, 8, 9, 10, 11, 12, 8, 127, -128, 127, -128]),
                        ("uq4", [6, 7, 8, 9, 10, 11, 12, 8, 15, 0, 15, 0])):
        f.add("Quantize", [x], [q.Tensor("y", np.array(want), dtype, q.scale_offset(1.0, -8),
                                         tol=q.exact())], name=f"Quantize_{dtype}_ties")
    x = q.Tensor("x", np.array([np.nan, 1.0]))
    f.add("Quantize", [x], [q.Tensor("y", np.array([8, 9]), "uq8", q.scale_offset(1.0, -8),
                                     tol=q.exact())], name="Quantize_nan")


def dequantize_cases(f):
    for source in "uq8 sq8 uq16 sq16 uq4 sq4 sq32 uq32".split():
        for target in ("f32", "f16"):
            tol = q.ulp(0.51)
            for shape in SHAPES:
                values = f.rng.normal(0, 3, shape)
                x = q.Tensor("x", values, source, encoding(values, source))
                f.add("Dequantize", [x], [q.Tensor("y", x.real, target, tol=tol)],
                      name=f"Dequantize_{source}_{target}")
            for axis in (0, 1, 2):
                if source == "uq32":
                    continue
                shape = (3, 4, 6)
                low, high = limits(source)
                codes = f.rng.integers(max(low, -1000), min(high, 1000), shape, endpoint=True)
                x = q.Tensor("x", codes, source, axis_encoding(f, shape, axis, source))
                f.add("Dequantize", [x], [q.Tensor("y", x.real, target, tol=tol)],
                      name=f"Dequantize_{source}_{target}_axis")
    for bits in (4, 6):
        codes = f.rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), (4, 6))
        for enc in (q.bw(bits, 0.125, 3), q.bw_axis(bits, 1, f.rng.uniform(0.1, 1, 6))):
            x = q.Tensor("x", codes, "sq8", enc)
            f.add("Dequantize", [x], [q.Tensor("y", x.real)], name=f"Dequantize_{bits}_bits")
    codes = f.rng.integers(0, 256, (4, 6))
    x = q.Tensor("x", codes, "uq8", q.block((2, 3), f.rng.uniform(0.1, 1, (2, 2)),
                                            f.rng.integers(-9, 0, (2, 2))))
    f.add("Dequantize", [x], [q.Tensor("y", x.real)], name="Dequantize_blocks")
    x = q.Tensor("x", f.rng.normal(size=(200, 201)), "uq8")
    f.add("Dequantize", [x], [q.Tensor("y", x.real)], name="Dequantize_large")


def select_cases(f):
    shapes = (((7,), (7,), (7,)), ((1,), (4, 5), (4, 5)), ((4, 1), (5,), (4, 5)),
              ((2, 3, 4), (1,), (3, 1)), ((3, 1, 2), (2, 1, 4, 1), (1, 2)), ((6, 9), (9,), (6, 1)),
              ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2), (1,)))
    for cond_type in "b8 u8 uq8 sq8 i32".split():
        for dtype in "f32 f16 uq8 sq8 uq16 sq16 i32".split():
            for c_shape, a_shape, b_shape in shapes if cond_type == "b8" else shapes[2:5]:
                enc = q.scale_offset(0.5, -1) if q.is_fixed(cond_type) else None
                cond = q.Tensor("c", f.rng.integers(0, 3, c_shape) % 3 * 1, cond_type, enc)
                pair = [f.rng.integers(-50, 50, s) if dtype == "i32" else f.rng.normal(size=s)
                        for s in (a_shape, b_shape)]
                a, b = q.Tensor("a", pair[0], dtype), q.Tensor("b", pair[1], dtype)
                y = np.where(cond.codes != 0, a.real, b.real)
                f.add("ElementWiseSelect", [cond, a, b], [q.Tensor("y", y, dtype)],
                      name=f"Select_{cond_type}_{dtype}")
    for dtype in ("uq8", "f32"):  # many elements, constant branches, exact copies
        cond = q.Tensor("c", f.rng.integers(0, 2, (150, 150)), "b8")
        enc = q.scale_offset(0.1, -7) if dtype == "uq8" else None
        values = f.rng.integers(0, 255, (150, 150)).astype(float if dtype == "f32" else int)
        a = q.Tensor("a", values, dtype, enc)
        b = q.Tensor("b", np.array([3.0 if dtype == "f32" else 3]), dtype, enc, kind="static")
        f.add("ElementWiseSelect", [cond, a, b],
              [q.Tensor("y", np.where(cond.codes != 0, a.codes, b.codes), dtype, enc,
                        tol=q.exact())], name=f"Select_{dtype}_large")
    x = q.Tensor("a", f.rng.integers(0, 16, (4, 6)), "uq4", q.scale_offset(0.25, -8))
    z = q.Tensor("b", f.rng.integers(0, 16, (6,)), "uq4", q.scale_offset(0.5, -2))
    cond = q.Tensor("c", f.rng.integers(0, 2, (4, 1)), "b8")
    f.add("ElementWiseSelect", [cond, x, z],
          [q.Tensor("y", np.where(cond.codes != 0, x.real, z.real), "f32")], name="Select_uq4_f32")
    for axis in range(2):  # scales of the output that inputs of fewer dimensions cannot have
        real = np.where(cond.codes != 0, x.real, z.real)
        f.add("ElementWiseSelect", [cond, x, z],
              [q.Tensor("y", real, "uq8", q.fit_axis(real, axis))], name="Select_per_axis")


def mux_cases(f):
    plans = (((1,), ((3, 4), (3, 4))), ((3, 4), ((3, 4), (3, 4), (3, 4))), ((), ((5,), (5,))),
             ((3, 1), ((4,), (3, 1), (1, 4))), ((2, 3), ((2, 3),)), ((1,), ((2, 2),) * 5))
    for index_type in ("i32", "i64", "u32"):
        for dtype in "f32 f16 uq8 sq8 uq16 sq16 i32".split():
            for c_shape, option_shapes in plans:
                m = len(option_shapes)
                low = 0 if index_type == "u32" else -1
                index = q.Tensor("c", f.rng.integers(low, m + 1, c_shape), index_type)
                arrays = [f.rng.integers(-9, 9, s) if dtype == "i32" else f.rng.normal(size=s)
                          for s in option_shapes]
                options = [q.Tensor(f"o{i}", a, dtype) for i, a in enumerate(arrays)]
                shape = np.broadcast_shapes(c_shape, *option_shapes)
                y = np.zeros(shape, np.int64 if dtype == "i32" else float)
                for i, option in enumerate(options):
                    y = np.where(index.real == i, option.real, y)
                f.add("ElementWiseMux", [index, *options], [q.Tensor("y", y, dtype)],
                      name=f"Mux_{index_type}_{dtype}")
    index = q.Tensor("c", np.array([2 ** 40, 0, -2 ** 40]), "i64")
    options = [q.Tensor(n, f.rng.normal(size=3)) for n in "ab"]
    f.add("ElementWiseMux", [index, *options],
          [q.Tensor("y", np.array([0.0, options[0].real[1], 0.0]), tol=q.ulp(0))],
          name="Mux_far_outside")


def dynamic_cases(f):
    for op, source, target in (("Cast", "f32", "i32"), ("Convert", "uq8", "f32"),
                               ("Convert", "f32", "uq8"), ("Cast", "i32", "f32")):
        data = f.rng.integers(0, 90, (2, 3)) if source == "i32" else f.rng.uniform(0, 9, (2, 3))
        x = q.Tensor("x", data, source, dims=(4, 3), dynamic=(1, 0))
        y = np.trunc(x.real).astype(int) if target == "i32" else x.real.astype(float)
        f.add(op, [x], [q.Tensor("y", y, target, dims=(4, 3), dynamic=(1, 0))],
              name=f"{op}_{source}_{target}_dynamic")


def error_cases(f):
    x = q.Tensor("x", np.zeros((2, 3)))
    c = q.Tensor("c", np.zeros((2, 3), int), "b8")
    i = q.Tensor("i", np.zeros((2, 3), int), "i32")

    def out(dtype="f32", dims=(2, 3), enc=None):
        return q.Tensor("y", None, dtype, enc, dims=dims)

    def refuse(op, ins, y, name, params=None, error=None):
        f.add(op, ins, [y], params or {}, name=name, error=error or q.error())

    refuse("Cast", [x], out(dims=(3, 2)), "Cast_shape")
    refuse("Convert", [x], out(dims=(6,)), "Convert_shape")
    refuse("Quantize", [x], out("f32"), "Quantize_to_float")
    refuse("Quantize", [i], out("uq8", enc=q.scale_offset(1)), "Quantize_integers")
    refuse("Dequantize", [x], out(), "Dequantize_floats")
    for name in ("dynamic_input_data", "dynamic_output_data"):
        refuse("Convert", [x], out(), f"Convert_{name}", {name: ("b8", True)})
    refuse("ElementWiseSelect", [c, x, i], out(), "Select_mixed")
    refuse("ElementWiseSelect", [c, x, x], out("i32"), "Select_integer_output")
    refuse("ElementWiseSelect", [c, x, q.Tensor("b", np.zeros(2))], out(), "Select_no_broadcast")
    refuse("ElementWiseSelect", [x, x, x], out(), "Select_float_condition")
    refuse("ElementWiseMux", [i], out(), "Mux_no_option")
    refuse("ElementWiseMux", [i, x, i], out(), "Mux_mixed")
    refuse("ElementWiseMux", [i, x, q.Tensor("b", np.zeros(2))], out(), "Mux_no_broadcast")
    refuse("ElementWiseMux", [x, x], out(), "Mux_float_index")
    refuse("ElementWiseMux", [i, q.Tensor("o", np.zeros((2, 3)), "uq8")],
           out("uq8", enc=q.axis(1, [1, 2, 3])), "Mux_output_per_axis")


def cases(f):
    cast_cases(f)
    convert_cases(f)
    quantize_cases(f)
    dequantize_cases(f)
    select_cases(f)
    mux_cases(f)
    dynamic_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
