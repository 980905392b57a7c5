# SPDX-License-Identifier: MIT
"""Data types and quantization encodings of the op test cases, in float64.

Relies on numpy alone. Everything here is written from the public meaning of the encodings
(real = scale * (code + offset)), never from the library under test: it is part of the oracle.
Authors of cases import it through qcase.py.
"""
import numpy as np

# token: (Qnn_DataType_t value, bits per element, class, numpy type that holds one element)
DTYPES = {
    "i8": (0x0008, 8, "int", np.int8),
    "i16": (0x0016, 16, "int", np.int16),
    "i32": (0x0032, 32, "int", np.int32),
    "i64": (0x0064, 64, "int", np.int64),
    "u8": (0x0108, 8, "int", np.uint8),
    "u16": (0x0116, 16, "int", np.uint16),
    "u32": (0x0132, 32, "int", np.uint32),
    "u64": (0x0164, 64, "int", np.uint64),
    "f16": (0x0216, 16, "float", np.float16),
    "bf16": (0x0226, 16, "float", np.uint16),
    "f32": (0x0232, 32, "float", np.float32),
    "f64": (0x0264, 64, "float", np.float64),
    "sq4": (0x0304, 4, "fixed", np.int8),
    "sq8": (0x0308, 8, "fixed", np.int8),
    "sq16": (0x0316, 16, "fixed", np.int16),
    "sq32": (0x0332, 32, "fixed", np.int32),
    "uq4": (0x0404, 4, "fixed", np.uint8),
    "uq8": (0x0408, 8, "fixed", np.uint8),
    "uq16": (0x0416, 16, "fixed", np.uint16),
    "uq32": (0x0432, 32, "fixed", np.uint32),
    "b8": (0x0508, 8, "bool", np.uint8),
    "str": (0x0608, 8, "string", None),
}

# Largest finite magnitude that still rounds to a finite value of the type.
FLOAT_LIMIT = {"f16": 65520.0, "bf16": 3.3961775292304e38, "f32": 3.4028235677973366e38}


def dtype_class(dtype):
    """'int', 'float', 'fixed', 'bool' or 'string'."""
    return DTYPES[dtype][2]


def is_fixed(dtype):
    return dtype_class(dtype) == "fixed"


def bf16_bits(x):
    """float -> bfloat16 bit patterns, ties to even, NaN kept a quiet NaN."""
    u = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16
    nan = np.isnan(np.asarray(x, np.float32))
    return np.where(nan, (u >> 16) | 0x40, rounded).astype(np.uint16)


def bf16_value(bits):
    return (np.asarray(bits, np.uint32) << 16).astype(np.uint32).view(np.float32)


def code_range(dtype, enc=None):
    """(lowest, highest) code of a fixed-point type; a BW encoding narrows it."""
    bits = DTYPES[dtype][1]
    if enc is not None and enc.bits is not None:
        bits = min(bits, enc.bits)
    if dtype.startswith("sq"):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


class Encoding:
    """One Qnn_QuantizeParams_t. Build it with the functions below.

    form: so, axis, bw, bwaxis, block, bwx (blockwise expansion), fblock. scale and offset are
    arrays whose meaning depends on the form; scales are rounded to float32 first, because that
    is what the library is given.
    """

    def __init__(self, form, scale, offset, **more):
        self.form = form
        self.scale = np.atleast_1d(np.asarray(scale, np.float32)).astype(np.float64)
        kind = np.float64 if form == "fblock" else np.int64
        if form == "fblock":
            offset = np.asarray(offset, np.float32)
        self.offset = np.broadcast_to(np.asarray(offset, kind), self.scale.shape).copy()
        self.bits = more.pop("bits", None)
        self.axis = more.pop("axis", None)
        self.more = more
        if np.any(self.scale <= 0) or not np.all(np.isfinite(self.scale)):
            raise ValueError("scales must be positive and finite")

    def grid(self, shape):
        """(scale, offset) per element, broadcastable to shape: real = scale * (code + offset)."""
        rank = len(shape)
        if self.form in ("so", "bw"):
            return self.scale[0], float(self.offset[0])
        if self.form in ("axis", "bwaxis"):
            axis = self.axis % rank
            if shape[axis] != self.scale.size:
                raise ValueError("one scale per index of the axis, please")
            view = [1] * rank
            view[axis] = self.scale.size
            return self.scale.reshape(view), self.offset.reshape(view).astype(np.float64)
        if self.form == "bwx":
            return self._expansion_grid(shape)
        return self._block_grid(shape)

    def _block_grid(self, shape):
        block = self.more["block_shape"]
        counts = [-(-d // b) for d, b in zip(shape, block)]
        if len(block) != len(shape) or int(np.prod(counts)) != self.scale.size:
            raise ValueError(f"{shape} in blocks of {block} needs {counts} pairs")
        scale = self.scale.reshape(counts)
        offset = self.offset.reshape(counts).astype(np.float64)
        for i, b in enumerate(block):
            keep = [slice(None)] * len(shape)
            keep[i] = slice(0, shape[i])
            scale = np.repeat(scale, b, axis=i)[tuple(keep)]
            offset = np.repeat(offset, b, axis=i)[tuple(keep)]
        if self.form == "fblock":  # real = scale * code + offset
            offset = offset / scale
        return scale, offset

    def _expansion_grid(self, shape):
        rank, axis = len(shape), self.axis % len(shape)
        factors = self.more["factors"].astype(np.float64)
        along = self.more["block_axis"] % rank
        n_blocks = factors.shape[1]
        if factors.shape[0] != shape[axis] or shape[along] % n_blocks:
            raise ValueError("factors must be [channels, blocks], blocks dividing the block axis")
        each = np.repeat(factors, shape[along] // n_blocks, axis=1) * self.scale[:, None]
        if axis > along:
            each = each.T
        view = [1] * rank
        view[axis], view[along] = shape[axis], shape[along]
        wide = [1] * rank
        wide[axis] = shape[axis]
        return each.reshape(view), self.offset.reshape(wide).astype(np.float64)

    def token(self, put):
        """Index token of this encoding; put(bytes) stores an array and returns its reference."""
        pairs = np.zeros(self.scale.size, [("s", "<f4"), ("o", "<i4")])
        pairs["s"], pairs["o"] = self.scale, self.offset if self.form != "fblock" else 0
        one = f"{float(self.scale[0]).hex()}:{self.offset[0]}"
        if self.form == "so":
            return f"so:{one}"
        if self.form == "bw":
            return f"bw:{self.bits}:{one}"
        if self.form == "axis":
            return f"axis:{self.axis}:{put(pairs.tobytes())}"
        if self.form == "bwaxis":
            offsets = "-"
            if not self.more["null_offsets"]:
                offsets = put(self.offset.astype("<i4").tobytes())
            scales = put(self.scale.astype("<f4").tobytes())
            return f"bwaxis:{self.bits}:{self.axis}:{scales}:{offsets}"
        if self.form == "bwx":
            wide = self.more["storage"]
            factors = put(self.more["factors"].astype(f"<u{wide // 8}").tobytes())
            n_blocks = self.more["factors"].shape[1]
            return (f"bwx:{self.axis}:{put(pairs.tobytes())}:{n_blocks}:{self.more['scale_bits']}"
                    f":{wide}:{factors}")
        block = put(np.asarray(self.more["block_shape"], "<u4").tobytes())
        if self.form == "block":
            return f"block:{block}:{put(pairs.tobytes())}"
        both = np.stack([self.scale, self.offset], axis=-1).astype("<f4")
        return f"fblock:{block}:{put(both.tobytes())}"


def scale_offset(scale, offset=0):
    """SCALE_OFFSET: one pair for the tensor. The offset is minus the zero point."""
    return Encoding("so", scale, offset)


def axis(axis_index, scales, offsets=0):
    """AXIS_SCALE_OFFSET: one pair per index of the axis."""
    return Encoding("axis", scales, offsets, axis=axis_index)


def bw(bits, scale, offset=0):
    """BW_SCALE_OFFSET: as scale_offset, only the low bits of the container count."""
    return Encoding("bw", scale, offset, bits=bits)


def bw_axis(bits, axis_index, scales, offsets=None):
    """BW_AXIS_SCALE_OFFSET; offsets None is passed as a NULL pointer (all zero)."""
    return Encoding("bwaxis", scales, 0 if offsets is None else offsets, bits=bits,
                    axis=axis_index, null_offsets=offsets is None)


def block(block_shape, scales, offsets=0):
    """BLOCK: one pair per block, blocks in row-major order."""
    return Encoding("block", np.ravel(scales), np.ravel(np.broadcast_to(offsets, np.shape(scales))),
                    block_shape=list(block_shape))


def float_block(block_shape, scales, offsets=0.0):
    """FLOAT_BLOCK: real = scale * code + offset, the offset in real units."""
    return Encoding("fblock", np.ravel(scales),
                    np.ravel(np.broadcast_to(offsets, np.shape(scales))),
                    block_shape=list(block_shape))


def blockwise_expansion(axis_index, scales, factors, block_axis, scale_bits=4, storage=8,
                        offsets=0, bits=None):
    """BLOCKWISE_EXPANSION: scale of an element = scales[channel] * factors[channel, block].

    Blocks cut block_axis (the axis that is summed over) in equal parts. bits narrows the codes
    made by quantize (4 for int4 weights in 8-bit storage); it is not part of the encoding.
    """
    return Encoding("bwx", scales, offsets, axis=axis_index, factors=np.asarray(factors),
                    block_axis=block_axis, scale_bits=scale_bits, storage=storage, bits=bits)


def position(real, enc):
    """The exact place of real values on the code line, before rounding and clamping."""
    real = np.asarray(real, np.float64)
    scale, offset = enc.grid(real.shape)
    return real / scale - offset


def quantize(x, enc, dtype):
    """Codes (int64): clamp(floor(x / scale + 0.5) - offset), ties half up."""
    low, high = code_range(dtype, enc)
    codes = np.floor(position(x, enc) + 0.5)
    return np.clip(codes, low, high).astype(np.int64)


def dequantize(q, enc, dtype="uq8"):
    """Real values (float64) of codes. dtype is accepted for symmetry with quantize."""
    del dtype
    q = np.asarray(q, np.float64)
    scale, offset = enc.grid(q.shape)
    return scale * (q + offset)


def fit(x, dtype, symmetric=None):
    """A sensible SCALE_OFFSET encoding for the data: covers its range and zero.

    Signed types are symmetric unless told otherwise; an all-zero tensor gets scale 1/128.
    """
    x = np.asarray(x, np.float64)
    x = x[np.isfinite(x)]
    low, high = code_range(dtype)
    if symmetric is None:
        symmetric = dtype.startswith("sq")
    top = max(0.0, x.max(initial=0.0))
    bottom = min(0.0, x.min(initial=0.0))
    if symmetric:
        half = max(top, -bottom) or high / 128.0
        centre = 0 if low < 0 else -((high + 1) // 2)
        return scale_offset(half / ((high - low) // 2), centre)
    span = (top - bottom) or (high - low) / 128.0
    scale = np.float64(np.float32(span / (high - low)))
    zero = int(np.clip(np.floor(low - bottom / scale + 0.5), low, high))
    return scale_offset(scale, -zero)


def fit_axis(x, axis_index, dtype="sq8", bits=None):
    """Symmetric per-channel encoding for the data; bits makes it a BW encoding."""
    x = np.asarray(x, np.float64)
    others = tuple(i for i in range(x.ndim) if i != axis_index % x.ndim)
    high = (1 << ((bits or DTYPES[dtype][1]) - 1)) - 1
    top = np.abs(x).max(axis=others)
    scales = np.where(top > 0, top, 1.0) / high
    if bits:
        return bw_axis(bits, axis_index, scales)
    return axis(axis_index, scales)


def pack(codes, dtype):
    """Bytes of a tensor in memory: dense, row-major, 4-bit two per byte, low nibble first."""
    flat = np.ravel(codes)
    store = DTYPES[dtype][3]
    if DTYPES[dtype][1] != 4:
        return np.ascontiguousarray(flat.astype(store)).tobytes()
    nibbles = (flat.astype(np.int64) & 15).astype(np.uint8)
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    return (nibbles[0::2] | (nibbles[1::2] << 4)).tobytes()


def memory_bytes(dims, dtype):
    """Bytes a dense tensor needs."""
    count = int(np.prod(dims, dtype=np.int64))
    return (count * DTYPES[dtype][1] + 7) // 8
