#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of context binaries, written from docs/context-binary.md and the page of ops that
it refers to, docs/compiled-ops.md, alone.

read_binary.py FILE: prints graphs, tensors, nodes, constants as JSON, after checking everything
that the page promises. Exits 1 with one line when something does not hold.
"""
import json
import math
import re
import struct
import sys
import zlib

NONE = 0xFFFFFFFF
BITS = {0x0232: 32, 0x0216: 16, 0x0226: 16, 0x0264: 64, 0x0508: 8, 0x0304: 4, 0x0404: 4}
BITS.update({base + code: bits for base in (0x0000, 0x0100, 0x0300, 0x0400)
             for code, bits in ((0x08, 8), (0x16, 16), (0x32, 32), (0x64, 64))})


class Damaged(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damaged(what)


class Records:
    """The fields of a section, one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        size = struct.calcsize("<" + form)
        need(self.at + size <= len(self.data), "a record ends behind its section")
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return values if len(values) > 1 else values[0]

    def u32(self):
        return self.take("I")

    def many(self, kind, n):
        return [self.take(kind) for _ in range(n)]

    def text(self):
        n = self.u32()
        padded = 4 * (n // 4 + 1)
        raw = bytes(self.data[self.at:self.at + padded])
        need(len(raw) == padded and not any(raw[n:]) and 0 not in raw[:n], "a bad text")
        self.at += padded
        return raw[:n].decode()

    def options(self):
        pairs = [self.take("IQ") for _ in range(self.u32())]
        need(len(dict(pairs)) == len(pairs) <= 1024, "options")
        return dict(pairs)

    def end(self):
        need(self.at == len(self.data), "bytes behind the last record")


def size_of(dtype, dims):
    need(dtype in BITS, f"data type {dtype:#x}")
    return (math.prod(dims) * BITS[dtype] + 7) // 8


def read_sections(data):
    need(bytes(data[:8]) == b"QUERNCTX", "not a context binary")
    major, minor, size, n, crc, part = struct.unpack_from("<IIQIII", data, 8)
    need(major == 0 and 1 <= minor <= 5, f"version {major}.{minor}")
    need(size == len(data), "bytes of the file")
    need(1 <= n <= 16388 and part <= 3 and not any(data[36:64]), "header")
    table = bytes(data[:28]) + bytes(4) + bytes(data[32:64 + 32 * n])
    need(zlib.crc32(table) == crc, "checksum of the header")
    sections, end, last = [], 64 + 32 * n, (-1, 0)
    order = {1: [1, 2, 3, 4, 5], 2: [1, 2, 6, 3, 4, 5], 3: [1, 2, 6, 7, 3, 4, 5],
             4: [1, 2, 6, 7, 8, 3, 4, 5]}[min(minor, 4)]
    for i in range(n):
        kind, index, offset, length, check, zero = struct.unpack_from("<IIQQII", data, 64 + 32 * i)
        need(offset == (end + 4095) // 4096 * 4096 and length and not zero, f"section {i}")
        need(not any(data[end:offset]), f"gap before section {i}")
        need(kind in order and (order.index(kind), index) > last, f"order of section {i}")
        end, last = offset + length, (order.index(kind), index)
        need(end <= len(data), f"end of section {i}")
        need(zlib.crc32(data[offset:end]) == check, f"checksum of section {i}")
        sections.append({"type": kind, "index": index, "offset": offset, "bytes": length,
                         "data": data[offset:end]})
    need(end == len(data), "bytes behind the last section")
    return part, sections


def read_groups(r, n, kind):
    count, flags = r.take("II")
    need(count == n and flags <= (4 if kind == 3 else 1), "groups of an encoding")
    if flags == 4:
        return {"packed": True}
    return {"scales": r.many("f", count), "offsets": r.many("i", count) if flags & 1 else None,
            "real_offsets": r.many("f", count) if flags & 2 else None}


def read_encoding(r, dims):
    q = {"encoding": r.u32(), "kind": r.u32()}
    if q["kind"] == 0:
        return q
    q["bits"], q["shift"] = r.take("If")
    if q["kind"] == 1:
        q["scale"], q["offset"] = r.take("fi")
    elif q["kind"] == 2:
        q["axis"] = r.u32()
        q.update(read_groups(r, dims[q["axis"]], 2))
    else:
        need(q["kind"] == 3, "kind of an encoding")
        q["block"] = r.many("I", len(dims))
        n = math.prod(-(-d // b) for d, b in zip(dims, q["block"]))
        q.update(read_groups(r, n, 3))
    return q


def read_tensor(r, constants, ids):
    t = {"id": r.u32(), "name": r.text()}
    t["role"], t["flags"], t["type"], t["format"], rank = r.take("IIIII")
    need(t["id"] >= 1 and t["id"] not in ids and rank <= 8 and t["role"] <= 4, "a tensor")
    ids.add(t["id"])
    t["dims"] = r.many("I", rank)
    need(all(t["dims"]), "a dimension of 0")
    t["dynamic"] = r.u32()
    if t["format"] == 1:
        t["sparse"] = r.take("II")
    t["quant"] = read_encoding(r, t["dims"])
    constant = r.u32()
    t["constant"] = None if constant == NONE else constant
    if t["constant"] is not None:
        need(t["role"] == 4 and constants[constant]["bytes"] == size_of(t["type"], t["dims"]),
             f"data of tensor {t['name']}")
    return t


def read_param(r, tensors):
    p = {"name": r.text(), "kind": r.u32()}
    if p["kind"] == 1:
        p["tensor"] = r.u32()
        need(tensors[p["tensor"]]["constant"] is not None, "a parameter without data")
        return p
    p["type"] = r.u32()
    if p["type"] == 0x0608:
        p["value"] = r.text()
    else:
        kind = p["type"] >> 8
        p["value"] = r.take("d" if kind == 2 else "q" if kind in (0, 3) else "Q")
    return p


def read_node(r, tensors):
    n = {"name": r.text(), "package": r.text(), "type": r.text()}
    n_in, n_out, n_params = r.take("III")
    n["in"], n["out"] = r.many("I", n_in), r.many("I", n_out)
    need(all(i == 0 or i in tensors for i in n["in"] + n["out"]), f"operands of {n['name']}")
    n["params"] = [read_param(r, tensors) for _ in range(n_params)]
    return n


def read_packed(r, tensors, constants):
    p = dict(zip(("node", "tensor", "packing", "type"), r.take("IIII")))
    p["dims"] = r.many("I", r.u32())
    p["constant"] = r.u32()
    need(tensors[p["tensor"]]["role"] == 4, "a packed form of what is not constant")
    need(constants[p["constant"]]["bytes"] == size_of(p["type"], p["dims"]), "a packed form")
    return p


def read_graph(section, constants, ids):
    r = Records(section["data"])
    g = {"name": r.text(), "priority": r.take("i"), "arena_bytes": r.take("Q"),
         "options": r.options()}
    n_tensors, n_nodes, n_packed = r.take("III")
    g["tensors"] = [read_tensor(r, constants, ids) for _ in range(n_tensors)]
    by_id = {t["id"]: t for t in g["tensors"]}
    g["nodes"] = [read_node(r, by_id) for _ in range(n_nodes)]
    g["packed"] = [read_packed(r, by_id, constants) for _ in range(n_packed)]
    order = [(p["node"], p["tensor"], p["packing"]) for p in g["packed"]]
    need(order == sorted(set(order)) and all(p["node"] < n_nodes for p in g["packed"]),
         "order of the packed forms")
    packed = {(p["node"], p["tensor"]) for p in g["packed"]}
    for i, n in enumerate(g["nodes"]):
        for x in filter(None, n["in"]):
            t = by_id[x]
            need(t["role"] != 4 or t["constant"] is not None or (i, x) in packed,
                 f"data of {t['name']} for {n['name']}")
    r.end()
    return g


def read_step(r, s, g):
    x = dict(zip(("node", "kind", "ops", "row_tiles"), r.take("IIII")))
    x["class"], x["engines"] = x["kind"] & 255, x["kind"] >> 8
    names = ("macs", "padded_macs", "in_bytes", "out_bytes", "weight_bytes", "spill_bytes")
    x.update(zip(names, r.many("Q", 6)))
    names = ("control", "run", "end", "fetch_begin", "fetch_end", "swap_begin", "swap_end")
    x.update(zip(names, r.many("f", 7)))
    x["name"] = r.text()
    need(x["class"] <= 5 and x["engines"] <= 7 and x["ops"] and x["row_tiles"], "kind of a step")
    need(g["nodes"][x["node"]]["name"] == x["name"], "name of a step")
    core, dma = s["steps"][-1]["end"], s["steps"][-1]["swap_end"]
    need(core <= x["run"] <= x["end"] <= s["us"], "times of a step")
    need(dma <= x["fetch_begin"] <= x["fetch_end"] <= x["swap_begin"] <= x["swap_end"] <= s["us"],
         "transfers of a step")
    return x


def read_schedule(section, g, ids):
    r = Records(section["data"])
    s = dict(zip(("soc", "precision", "vtcm", "hvx_threads", "uncalibrated", "peak"),
                 r.many("I", 6)))
    s.update(zip(("us", "start", "core", "memory", "scale"), r.many("f", 5)))
    n_steps, n_tiles, n_swaps = r.take("III")
    s["chip"] = r.text()
    need(s["precision"] <= 2 and s["uncalibrated"] <= 15 and s["hvx_threads"], "a schedule")
    s["steps"] = [{"end": s["start"], "swap_end": s["start"]}]
    for _ in range(n_steps):
        s["steps"].append(read_step(r, s, g))
    del s["steps"][0]
    s["tiles"] = [dict(zip(("tensor", "offset", "bytes", "first", "last"), r.take("IIIII")))
                  for _ in range(n_tiles)]
    for t in s["tiles"]:
        t["weights"], t["first"] = t["first"] >> 31, t["first"] & 0x7FFFFFFF
        need(t["tensor"] in ids and t["offset"] + t["bytes"] <= s["vtcm"], "a place in VTCM")
        need(t["first"] <= t["last"] < n_steps, "steps of a place")
    s["swaps"] = [dict(zip(("tensor", "step", "flags", "bytes"), r.take("IIIQ")))
                  for _ in range(n_swaps)]
    for x in s["swaps"]:
        need(x["tensor"] in ids and x["step"] < n_steps and x["flags"] <= 3, "a spill or fill")
    r.end()
    return s


def read_value(r, i, tensors, constants):
    flags, v = r.u32(), {"tensor": r.u32(), "base": None, "constant": None, "source": None}
    v["kind"] = flags & 3
    need(flags < 16 and v["kind"] < 3 and (v["tensor"] == 0 or v["tensor"] in tensors), "a value")
    t = tensors.get(v["tensor"])
    if flags & 4:
        need(t, "a value like a tensor")
        v.update({"type": t["type"], "dims": t["dims"]})
    else:
        v["type"], sparse, indexed = r.take("III")
        v["dims"] = r.many("I", r.u32())
        v["encoding"] = read_encoding(r, v["dims"])
        need((sparse == 0) == (indexed == 0), "a sparse value")
    if flags & 8:
        v["base"], v["offset"] = r.take("IQ")
    if v["kind"] == 1:
        v["from"] = r.u32()
        need(v["from"] <= 3, "kind of a constant")
        if v["from"] == 0:
            v["constant"] = r.u32()
            need(constants[v["constant"]]["bytes"] == size_of(v["type"], v["dims"]), "a constant")
        elif v["from"] == 1:
            need(t and t["role"] == 4, "a constant that is not a tensor")
        else:
            v["source"] = r.u32()
            need(v["source"] < i, "the source of a constant")
            if v["from"] == 3:
                v["factors"], v["axis"] = r.take("II")
                need(v["factors"] < i and v["axis"] < len(v["dims"]), "a scaled constant")
    return v


def read_operands(r, n_values):
    n_in, n_out = r.take("II")
    x = {"in": r.many("I", n_in), "out": r.many("I", n_out)}
    need(all(v < n_values or v == 0xFFFFFFFF for v in x["in"] + x["out"]), "operands")
    return x


ATTR_FORMS = {"bool": "I", "u8": "I", "u32": "I", "i32": "i", "f32": "f", "i64": "q", "f64": "d"}


def read_op_page(text):
    """docs/compiled-ops.md: op number -> name, numbers of operands, attributes in order."""
    ops = {}
    for row in re.findall(r"(?m)^\| (\d+) \| `(\w+)` \|(.*)\|$", text):
        n_in, n_out, _, words, attrs = (x.strip() for x in row[2].split("|"))
        ranges = []
        for x in (n_in, n_out):
            low, dots, high = x.split(":")[0].partition("..")
            ranges.append((int(low), int(high or (NONE if dots else low))))
        found = re.findall(r"`([\w.\[\]]+)` (\w+)(?:\[(\d+)\])?", attrs)
        ops[int(row[0])] = {"name": row[1], "in": ranges[0], "out": ranges[1], "words": int(words),
                            "attrs": [(name, kind, int(n or 1)) for name, kind, n in found]}
    return ops


def attributes_of(step, ops):
    """The attributes of a step by name, lists for arrays; the step fits the row of its op."""
    op = ops[step["op"]]
    for side in ("in", "out"):
        need(op[side][0] <= len(step[side]) <= op[side][1], f"operands of {op['name']}")
    need(len(step["attributes"]) == op["words"], f"attributes of {op['name']}")
    r = Records(struct.pack(f"<{op['words']}I", *step["attributes"]))
    values = {name: r.many(ATTR_FORMS[kind], n) for name, kind, n in op["attrs"]}
    r.end()
    bools = [name for name, kind, _ in op["attrs"] if kind == "bool"]
    need(all(set(values[name]) <= {0, 1} for name in bools), "a bool")
    return {name: v if len(v) > 1 else v[0] for name, v in values.items()}


def read_compiled(section, g, tensors, constants):
    r = Records(section["data"])
    c = dict(zip(("how", "fp16"), r.take("II")))
    n_values, n_io, n_nodes, n_steps = r.take("IIII")
    need(c["fp16"] <= 4, "kind of fp16")
    c["values"] = [read_value(r, i, tensors, constants) for i in range(n_values)]
    c["io"] = [dict(zip(("value", "flags"), r.take("II"))) for _ in range(n_io)]
    need(all(c["values"][x["value"]]["kind"] == 2 and x["flags"] < 4 for x in c["io"]), "io")
    c["nodes"] = [{"node": r.u32(), **read_operands(r, n_values)} for _ in range(n_nodes)]
    need(all(x["node"] < len(g["nodes"]) for x in c["nodes"]), "a node")
    c["steps"] = []
    for _ in range(n_steps):
        s = dict(zip(("op", "domain", "node", "fused", "state"), r.take("IIIIQ")))
        s.update(read_operands(r, n_values))
        s["attributes"] = r.many("I", r.u32())
        need(s["op"] and s["domain"] <= 3 and s["node"] < n_nodes, "a step")
        c["steps"].append(s)
    r.end()
    return c


def read_prepared(section, constants):
    r = Records(section["data"])
    p = {"key": r.text(), "device": r.text()}
    n_forms, n_choices = r.take("II")
    need(len(p["key"]) in (0, 16), "the key of a device")
    p["forms"] = [dict(zip(("step", "value", "packing", "constant"), r.take("IIII")))
                  for _ in range(n_forms)]
    names = [(f["step"], f["value"], f["packing"]) for f in p["forms"]]
    need(names == sorted(set(names)), "the order of forms")
    need(all(f["constant"] < len(constants) for f in p["forms"]), "the constant of a form")
    p["choices"] = [(r.text(), r.text()) for _ in range(n_choices)]
    r.end()
    return p


def read_constant(r, sections):
    kind, users, offset, size = r.take("IIQQ")
    (section,) = [s for s in sections if s["type"] == kind] or [None]
    need(section and 3 <= kind <= 5 and offset % 64 == 0 and size, "a constant")
    need(offset + size + 64 <= section["bytes"], "the end of a constant")
    return {"section": kind, "graphs": users, "offset": offset, "bytes": size,
            "crc": zlib.crc32(section["data"][offset:offset + size])}


def read(data):
    data = memoryview(data)
    part, sections = read_sections(data)
    need(sections[0]["type"] == 1, "the info section is missing")
    r, ids = Records(sections[0]["data"]), set()
    b = {"part": part, "core_api": r.take("III"), "backend_id": r.u32(),
         "backend_api": r.take("III"), "soc": r.u32(), "arch": r.u32(), "build": r.text(),
         "options": r.options()}
    n_graphs, n_tensors, n_constants = r.take("III")
    b["tensors"] = [read_tensor(r, [], ids) for _ in range(n_tensors)]
    b["constants"] = [read_constant(r, sections) for _ in range(n_constants)]
    r.end()
    graphs = [s for s in sections if s["type"] == 2]
    need([s["index"] for s in graphs] == list(range(n_graphs)), "numbers of the graphs")
    b["graphs"] = [read_graph(s, b["constants"], ids) for s in graphs]
    for s in (s for s in sections if s["type"] == 6):
        g = b["graphs"][s["index"]]
        own = {t["id"] for t in g["tensors"]} | {t["id"] for t in b["tensors"]}
        g["schedule"] = read_schedule(s, g, own)
    for s in (s for s in sections if s["type"] == 7):
        g = b["graphs"][s["index"]]
        own = {t["id"]: t for t in g["tensors"] + b["tensors"]}
        g["compiled"] = read_compiled(s, g, own, b["constants"])
    for s in (s for s in sections if s["type"] == 8):
        b["graphs"][s["index"]]["prepared"] = read_prepared(s, b["constants"])
    b["sections"] = [{k: s[k] for k in ("type", "index", "offset", "bytes")} for s in sections]
    check_users(b)
    return b


def check_users(b):
    """Every constant is used, by as many graphs as it says, and lies in the section for that."""
    users = [set() for _ in b["constants"]]
    for i, g in enumerate(b["graphs"]):
        for x in (g["tensors"] + g["packed"] + g.get("compiled", {}).get("values", []) +
                  g.get("prepared", {}).get("forms", [])):
            if x["constant"] is not None:
                users[x["constant"]].add(i)
    for k, who in zip(b["constants"], users):
        need(len(who) == k["graphs"] >= 1, "users of a constant")
        need(k["section"] == 3 or (k["section"] == 5) == (len(who) > 1), "section of a constant")


def main():
    try:
        with open(sys.argv[1], "rb") as f:
            print(json.dumps(read(f.read()), indent=1))
    except (Damaged, struct.error, KeyError, IndexError, UnicodeDecodeError) as e:
        sys.exit(f"{sys.argv[1]}: {e}")


if __name__ == "__main__":
    main()
