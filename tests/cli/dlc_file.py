# SPDX-License-Identifier: MIT
"""A second reader and writer of DLC files, made from docs/dlc.md alone."""
import json
import struct
import zipfile
import zlib

import numpy as np

NUMPY = {"FLOAT_32": "<f4", "FLOAT_16": "<f2", "FLOAT_64": "<f8", "BFLOAT_16": "<u2",
         "BOOL_8": "u1"}
for _bits in (8, 16, 32, 64):
    NUMPY[f"INT_{_bits}"] = f"<i{_bits // 8}"
    NUMPY[f"UINT_{_bits}"] = f"<u{_bits // 8}"
    if _bits < 64:
        NUMPY[f"SFIXED_POINT_{_bits}"] = f"<i{_bits // 8}"
        NUMPY[f"UFIXED_POINT_{_bits}"] = f"<u{_bits // 8}"


class Dlc:
    """records: {name: (type, bytes)}; graphs: {name: Graph}."""

    def __init__(self, path):
        self.records, self.graphs = {}, {}
        raw = path.read_bytes()
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None and not z.comment
            infos = z.infolist()
            assert infos[0].filename == "dlc.metadata"
            meta = json.loads(z.read("dlc.metadata"))
            assert meta["format"] == "quern-dlc" and meta["version"][0] == 1
            assert [r["name"] for r in meta["records"]] == [i.filename for i in infos[1:]]
            types = {r["name"]: r["type"] for r in meta["records"]}
            end = 0
            for i in infos:
                assert i.compress_type == zipfile.ZIP_STORED and i.header_offset >= end
                name, extra = struct.unpack_from("<HH", raw, i.header_offset + 26)
                at = i.header_offset + 30 + name + extra
                assert at % 64 == 0
                end = at + i.file_size
                self.records[i.filename] = (types.get(i.filename, 1), raw[at:end])
        if "model.topology" in self.records:
            self.read_topology()

    def read_topology(self):
        top = json.loads(self.records["model.topology"][1])
        tensors, n = {}, 0
        for group in [top["tensors"]] + [g["tensors"] for g in top["graphs"]]:
            for t in group:
                n += 1
                assert t["id"] == n
                tensors[n] = t
        for g in top["graphs"]:
            self.graphs[g["name"]] = Graph(self, g, tensors)

    def bytes_of(self, record, place, align):
        at, n = place
        data = self.records[record][1]
        assert at % align == 0 and at + n <= len(data)
        return data[at:at + n]


class Graph:
    def __init__(self, dlc, text, tensors):
        self.dlc, self.nodes, self.by_id = dlc, text["nodes"], tensors
        self.tensors = {t["name"]: t for t in text["tensors"]}

    def data(self, t):
        """The elements of a constant; 4-bit types are unpacked."""
        raw = self.dlc.bytes_of("model.weights", t["data"], 64)
        if t["data_type"].endswith("POINT_4"):
            codes = np.frombuffer(raw, np.uint8)
            codes = np.stack([codes & 15, codes >> 4], -1).reshape(-1)[:int(np.prod(t["dims"]))]
            if t["data_type"][0] == "S":
                codes = (codes.astype(np.int8) ^ 8) - 8
            return codes.reshape(t["dims"])
        values = np.frombuffer(raw, NUMPY[t["data_type"]])
        assert values.size == np.prod(t["dims"])
        return values.reshape(t["dims"])

    def lists(self, e):
        """Scales and offsets of an encoding by axis or block."""
        count = e["count"]
        out = []
        for key, kind in (("scales", "<f4"), ("offsets", "<i4"), ("real_offsets", "<f4")):
            raw = self.dlc.bytes_of("model.encodings", e[key], 4) if key in e else b""
            out.append(np.frombuffer(raw, kind) if raw else np.zeros(count, kind))
            assert out[-1].size == count
        return out

    def real(self, t):
        """The real values of a quantized constant."""
        q, e = self.data(t).astype(np.float64), t["encoding"]
        shift = e["twice_shift"] / 2
        if e["kind"] == "TENSOR":
            scale = struct.unpack(">f", bytes.fromhex(e["scale_bits"]))[0]
            return scale * (q + e["offset"] + shift)
        scales, offsets, reals = (x.astype(np.float64) for x in self.lists(e))
        if e["kind"] == "AXIS":
            shape = [1] * q.ndim
            shape[e["axis"]] = -1
        else:
            shape = [-(-d // b) for d, b in zip(t["dims"], e["block"])]
        groups = [x.reshape(shape) for x in (scales, offsets, reals)]
        if e["kind"] == "BLOCK":
            for axis, b in enumerate(e["block"]):
                groups = [np.repeat(x, b, axis) for x in groups]
            cut = tuple(slice(d) for d in t["dims"])
            groups = [x[cut] for x in groups]
        return groups[0] * (q + groups[1] + shift) + groups[2]

    def scalar(self, node, name):
        p = next(p for p in node["params"] if p["name"] == name)
        return struct.unpack(">d", bytes.fromhex(p["bits"]))[0] if "bits" in p else p["value"]

    def param(self, node, name):
        return self.data(self.by_id[next(p for p in node["params"] if p["name"] == name)["tensor"]])


def write(records, version=(1, 0)):
    """The bytes of a file with the records [(name, type, bytes)]."""
    meta = json.dumps({"format": "quern-dlc", "version": list(version), "producer": "test",
                       "records": [{"name": n, "type": t} for n, t, _ in records]}).encode()
    out, central = b"", b""
    for name, _, data in [("dlc.metadata", 1, meta), *records]:
        text, at = name.encode(), len(out)
        pad = -(at + 30 + len(text)) % 64
        pad += 64 if 0 < pad < 6 else 0
        common = struct.pack("<HHHHIII", 0, 0, 0, 0x21, zlib.crc32(data), len(data), len(data))
        out += struct.pack("<IH", 0x04034b50, 10) + common + struct.pack("<HH", len(text), pad)
        out += text + (struct.pack("<HHH", 0xd935, pad - 4, 64).ljust(pad, b"\0") if pad else b"")
        out += data
        central += (struct.pack("<IHH", 0x02014b50, 10, 10) + common
                    + struct.pack("<HHHHHII", len(text), 0, 0, 0, 0, 0, at) + text)
    n = len(records) + 1
    return out + central + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, n, n, len(central), len(out),
                                       0)


def topology(graphs, tensors=()):
    return json.dumps({"tensors": list(tensors), "graphs": graphs}).encode()
