# SPDX-License-Identifier: MIT
"""Writes ExecuTorch programs (.pte) from Python, for tests: a small FlatBuffers writer and, on top
of it, a builder of programs. It shares nothing with the reader under test."""
import struct

import numpy as np

FORMATS = {"u8": "<B", "i8": "<b", "i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f64": "<d"}
TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6,
         "float64": 7, "bool": 11, "uint16": 27}


class Scalar:
    def __init__(self, kind, value):
        self.bytes = struct.pack(FORMATS[kind], value)


class Vector:
    """Scalars of one kind, or (kind None) tables."""
    def __init__(self, kind, items):
        self.kind, self.items = kind, list(items)


class Flat:
    """Serializes tables (dicts of field number to value) with every child behind its parent."""

    def __init__(self, identifier=b"ET12", header=0):
        self.out = bytearray(8 + header)
        self.out[4:8] = identifier

    def align(self, to, ahead=0):
        while (len(self.out) + ahead) % to:
            self.out.append(0)

    def finish(self, root):
        struct.pack_into("<I", self.out, 0, self.table(root))
        self.align(8)
        return bytes(self.out)

    def child(self, value):
        if isinstance(value, dict):
            return self.table(value)
        if isinstance(value, str):
            return self.blob(value.encode(), 1)
        if isinstance(value, (bytes, bytearray)):
            return self.blob(value, 0)
        return self.vector(value)

    def blob(self, data, zeros):
        self.align(4)
        at = len(self.out)
        self.out += struct.pack("<I", len(data)) + data + bytes(zeros)
        return at

    def vector(self, v):
        size = struct.calcsize(FORMATS[v.kind]) if v.kind else 4
        self.align(max(size, 4), 4)
        at = len(self.out)
        self.out += struct.pack("<I", len(v.items))
        if v.kind:
            self.out += b"".join(struct.pack(FORMATS[v.kind], x) for x in v.items)
            return at
        first = len(self.out)
        self.out += bytes(4 * len(v.items))
        for i, item in enumerate(v.items):
            struct.pack_into("<I", self.out, first + 4 * i, self.child(item) - (first + 4 * i))
        return at

    def table(self, fields):
        fields = {k: v for k, v in fields.items() if v is not None}
        n = max(fields, default=-1) + 1
        self.align(8)
        vtable = len(self.out)
        self.out += bytes(4 + 2 * n)
        self.align(8)
        at = len(self.out)
        self.out += struct.pack("<i", at - vtable)
        later = []
        for k in sorted(fields, key=lambda k: -len(getattr(fields[k], "bytes", b"1234"))):
            v = fields[k]
            self.align(len(getattr(v, "bytes", b"1234")))
            struct.pack_into("<H", self.out, vtable + 4 + 2 * k, len(self.out) - at)
            if isinstance(v, Scalar):
                self.out += v.bytes
            else:
                later.append((len(self.out), v))
                self.out += bytes(4)
        struct.pack_into("<HH", self.out, vtable, 4 + 2 * n, len(self.out) - at)
        for place, v in later:
            struct.pack_into("<I", self.out, place, self.child(v) - place)
        return at


def u8(v):
    return Scalar("u8", v)


def i32(v):
    return Scalar("i32", v)


def u32(v):
    return Scalar("u32", v)


def u64(v):
    return Scalar("u64", v)


def i64(v):
    return Scalar("i64", v)


class Method:
    """One execution plan. Values are numbered in the order in which they are made."""

    def __init__(self, program, name="forward"):
        self.program, self.name = program, name
        self.values, self.inputs, self.outputs = [], [], []
        self.operators, self.code, self.delegates, self.planned = [], [], [], 0

    def value(self, kind, table):
        self.values.append({0: u8(kind), 1: table})
        return len(self.values) - 1

    def null(self):
        return self.value(1, {})

    def number(self, v):
        if isinstance(v, bool):
            return self.value(3, {0: u8(v)})
        if isinstance(v, float):
            return self.value(4, {0: Scalar("f64", v)})
        return self.value(2, {0: i64(v)})

    def text(self, v):
        return self.value(6, {0: v})

    def ints(self, items):
        return self.value(7, {0: Vector("i64", [self.number(int(i)) for i in items])})

    def tensors(self, items):
        return self.value(10, {0: Vector("i32", items)})

    def tensor(self, shape, dtype="float32", planned=True, data=None, order=None, dynamic=0,
               initial=None):
        fields = {0: Scalar("i8", TYPES[dtype]), 2: Vector("i32", shape),
                  3: Vector("u8", order or range(len(shape))), 8: Scalar("i8", dynamic)}
        if data is not None:
            fields[5] = u32(self.program.constant(data))
        elif planned:
            fields[6] = {0: u32(1), 1: u32(self.planned)}
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            self.planned += (size + 15) // 16 * 16
            if initial is not None:
                fields[5] = u32(self.program.initial(initial))
                fields[9] = {0: u32(0), 1: "state"}
        return self.value(5, fields)

    def input(self, shape, dtype="float32", **kw):
        self.inputs.append(self.tensor(shape, dtype, **kw))
        return self.inputs[-1]

    def output(self, *values):
        self.outputs += values

    def constant(self, array):
        return self.tensor(array.shape, array.dtype.name, data=array)

    def operand(self, v):
        """Numbers, lists of integers and None become values of their own."""
        if isinstance(v, Ref):
            return v.index
        if v is None:
            return self.null()
        if isinstance(v, str):
            return self.text(v)
        if isinstance(v, list):
            return self.ints(v)
        return self.number(v)

    def call(self, name, *args):
        """name: "aten::add.out"; args: Ref(value) or a number, list, text, None."""
        op, _, overload = name.partition(".")
        key = {0: op, 1: overload}
        if key not in self.operators:
            self.operators.append(key)
        indices = [self.operand(a) for a in args]
        self.code.append({0: u8(1), 1: {0: i32(self.operators.index(key)),
                                        1: Vector("i32", indices)}})

    def delegate(self, data, spec, args, name="QnnBackend", inline=False):
        where = self.program.inline(data) if inline else self.program.segment(data)
        self.delegates.append({0: name, 1: {0: u8(0 if inline else 1), 1: u32(where)},
                               2: Vector(None, [{0: "qnn_compile_spec", 1: spec}])})
        self.code.append({0: u8(2), 1: {0: i32(len(self.delegates) - 1), 1: Vector("i32", args)}})

    def move(self, a, b):
        self.code.append({0: u8(3), 1: {0: i32(a), 1: i32(b)}})

    def jump_false(self, condition, to):
        self.code.append({0: u8(4), 1: {0: i32(condition), 1: i32(to)}})

    def table(self):
        return {0: self.name, 2: Vector(None, self.values), 3: Vector("i32", self.inputs),
                4: Vector("i32", self.outputs),
                5: Vector(None, [{2: Vector(None, self.code)}]),
                6: Vector(None, self.operators), 7: Vector(None, self.delegates),
                8: Vector("i64", [0, self.planned] if self.planned else [0])}


class Ref:
    def __init__(self, index):
        self.index = index


class Program:
    def __init__(self):
        self.methods, self.segments, self.inlined = [], [], []
        self.constants, self.constant_at = bytearray(), [0]
        self.initials, self.initial_at = bytearray(), [0]
        self.segments.append(self.constants)

    def method(self, name="forward"):
        self.methods.append(Method(self, name))
        return self.methods[-1]

    def constant(self, array):
        self.constants += bytes(-len(self.constants) % 16)
        self.constant_at.append(len(self.constants))
        self.constants += np.ascontiguousarray(array).tobytes()
        return len(self.constant_at) - 1

    def initial(self, array):
        self.initials += bytes(-len(self.initials) % 16)
        self.initial_at.append(len(self.initials))
        self.initials += np.ascontiguousarray(array).tobytes()
        return len(self.initial_at) - 1

    def segment(self, data):
        self.segments.append(data)
        return len(self.segments) - 1

    def inline(self, data):
        self.inlined.append({0: data})
        return len(self.inlined) - 1

    def bytes(self, header=32, align=256):
        """header 0: no extended header, so no segments; 24: the older one."""
        parts, tables, body = [*self.segments], [], bytearray()
        if self.initials:
            parts.append(self.initials)
        for part in parts:
            body += bytes(-len(body) % align)
            tables.append({0: u64(len(body)), 1: u64(len(part))})
            body += part
        root = {0: u32(0), 1: Vector(None, [m.table() for m in self.methods]),
                2: Vector(None, []), 3: Vector(None, self.inlined)}
        if header:
            root[4] = Vector(None, tables)
            root[5] = {0: u32(0), 1: Vector("u64", self.constant_at)}
            if self.initials:
                root[6] = Vector(None, [{0: u32(len(parts) - 1),
                                         1: Vector("u64", self.initial_at)}])
        elif len(self.constant_at) > 1:  # the older place of constants
            ends = self.constant_at[1:] + [len(self.constants)]
            root[2] = Vector(None, [{0: b""}] + [{0: bytes(self.constants[a:b])} for a, b in
                                                 zip(ends, ends[1:])])
        flat = bytearray(Flat(header=header).finish(root))
        if not header:
            return bytes(flat)
        flat += bytes(-len(flat) % align)
        flat[8:12] = b"eh00"
        struct.pack_into("<IQQ", flat, 12, header, len(flat), len(flat))
        if header >= 32:
            struct.pack_into("<Q", flat, 32, len(body))
        return bytes(flat + body)


def spec(soc=57, arch=75, backend=2, library="", log_level=0, mode=2, dump=False, profile=0,
         from_binary=False):
    """The compile options of a QnnBackend delegate."""
    root = {0: {0: i32(soc), 1: {0: i32(arch), 1: u32(8)}},
            1: {0: i32(backend), 1: {1: i32(mode)}}, 2: library, 3: i32(log_level), 5: u8(dump),
            6: i32(profile), 8: u8(from_binary)}
    return Flat(identifier=bytes(4)).finish(root)


def blob(binary, header=256, signature=1234):
    """The payload of a QnnBackend delegate: header 256, or 20 as of releases 1.0 and 1.1."""
    return (struct.pack("<IqQ", 0x5678ABCD, signature, len(binary)).ljust(header, b"\0") + binary)
