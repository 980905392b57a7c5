# SPDX-License-Identifier: MIT
"""Slot numbers of src/frontend/ort/ort_slots.def against a running onnxruntime.

Functions are called by their number and must do what their name says: what one call makes, another
reads back, or the host's own words name it. Those that only a provider can call (kernel contexts,
groups of nodes, the logger) are called by every other test in this folder.
"""
import ctypes
import re
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

import onnxruntime as ort
import pytest

VERSION = tuple(int(x) for x in ort.__version__.split(".")[:2])
ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"X\((\w+), (\d+), (\w+),")
SLOTS = {m[3]: (m[1], int(m[2])) for m in
         ROW.finditer((ROOT / "src/frontend/ort/ort_slots.def").read_text())}
# Functions of the host's side that the tests need besides.
HOST = {"GetErrorCode": 1, "CreateSessionOptions": 10, "CreateRunOptions": 39,
        "CreateTensorWithDataAsOrtValue": 49, "GetOnnxTypeFromTypeInfo": 56,
        "CreateTensorTypeAndShapeInfo": 57, "SetTensorElementType": 58, "SetDimensions": 59,
        "MemoryInfoGetName": 71, "ReleaseRunOptions": 97, "ReleaseTypeInfo": 98,
        "ReleaseSessionOptions": 100, "AddSessionConfigEntry": 130, "AddRunConfigEntry": 165,
        "SetSymbolicDimensions": 271, "ReleaseNode": 286, "ReleaseGraph": 287, "GetKeyValue": 297,
        "HardwareDevice_Vendor": 309, "HardwareDevice_DeviceId": 310, "GetTensorSizeInBytes": 318,
        "MemoryInfoGetDeviceMemType": 321, "MemoryInfoGetVendorId": 322}
EP = {"ProfilingEvent_GetCategory": 67, "ProfilingEvent_GetName": 68,
      "ProfilingEvent_GetTimestampUs": 69, "ProfilingEvent_GetDurationUs": 70,
      "ProfilingEvent_GetArgValue": 71}
EDITOR = {"CreateTensorTypeInfo": 0, "CreateValueInfo": 5, "CreateGraph": 7, "SetGraphInputs": 8,
          "SetGraphOutputs": 9, "AddNodeToGraph": 11}


class Host:
    """The tables; host.Name(...) calls by slot and raises where a status comes back."""

    def __init__(self, base):
        self.base = base
        self.tables = {"api": ctypes.CFUNCTYPE(c_void_p, c_uint32)(base[0])(24)}
        self.tables["ep"] = self.raw("GetEpApi", c_void_p)()
        self.tables["editor"] = self.raw("GetModelEditorApi", c_void_p)()

    def raw(self, name, result, *types):
        table, slot = SLOTS.get(name) or (("editor", EDITOR[name]) if name in EDITOR
                                          else ("ep", EP[name]) if name in EP
                                          else ("api", HOST[name]))
        address = ctypes.cast(self.tables[table], POINTER(c_void_p))[slot]
        return ctypes.CFUNCTYPE(result, *types)(address)

    def __getattr__(self, name):
        def call(*values):
            types = [c_void_p if not isinstance(v, (int, bytes, ctypes._SimpleCData)) or v is None
                     else c_char_p if isinstance(v, bytes)
                     else c_size_t if isinstance(v, int) else type(v) for v in values]
            status = self.raw(name, c_void_p, *types)(*values)
            if status:
                text = self.raw("GetErrorMessage", c_char_p, c_void_p)(status)
                self.raw("ReleaseStatus", None, c_void_p)(status)
                raise RuntimeError(text.decode())
        return call

    def get(self, name, kind, *values):
        """What a function writes to its last argument."""
        out = kind()
        getattr(self, name)(*values, byref(out))
        return out.value

    def free(self, name, value):
        self.raw(name, None, c_void_p)(value)


@pytest.fixture(scope="module")
def host():
    folder = Path(ort.__file__).parent / "capi"
    files = [*folder.glob("libonnxruntime.so*"), *folder.glob("onnxruntime_pybind11_state*.so")]
    for file in files:
        library = ctypes.CDLL(str(file))
        if hasattr(library, "OrtGetApiBase"):
            library.OrtGetApiBase.restype = POINTER(c_void_p)
            return Host(library.OrtGetApiBase())
    pytest.skip("this onnxruntime has no library with OrtGetApiBase")


def test_the_base_tells_the_version_that_python_knows(host):
    assert ctypes.CFUNCTYPE(c_char_p)(host.base[1])().decode() == ort.__version__


def test_statuses_keep_code_and_words(host):
    status = host.raw("CreateStatus", c_void_p, c_int, c_char_p)(11, b"words")
    assert host.raw("GetErrorCode", c_int, c_void_p)(status) == 11
    assert host.raw("GetErrorMessage", c_char_p, c_void_p)(status) == b"words"
    host.free("ReleaseStatus", status)


def test_pairs_keep_keys_and_values(host):
    pairs = c_void_p()
    host.raw("CreateKeyValuePairs", None, c_void_p)(byref(pairs))
    add = host.raw("AddKeyValuePair", None, c_void_p, c_char_p, c_char_p)
    for k, v in ((b"a", b"1"), (b"b", b"2")):
        add(pairs, k, v)
    assert host.raw("GetKeyValue", c_char_p, c_void_p, c_char_p)(pairs, b"b") == b"2"
    keys, values, n = POINTER(c_char_p)(), POINTER(c_char_p)(), c_size_t()
    host.raw("GetKeyValuePairs", None, *[c_void_p] * 4)(pairs, byref(keys), byref(values), byref(n))
    assert {keys[i]: values[i] for i in range(n.value)} == {b"a": b"1", b"b": b"2"}
    host.free("ReleaseKeyValuePairs", pairs)


def test_entries_of_sessions_and_runs_are_read_back(host):
    options = c_void_p(host.get("CreateSessionOptions", c_void_p))
    host.AddSessionConfigEntry(options, b"ep.x.y", b"z")
    pairs = c_void_p(host.get("GetSessionOptionsConfigEntries", c_void_p, options))
    assert host.raw("GetKeyValue", c_char_p, c_void_p, c_char_p)(pairs, b"ep.x.y") == b"z"
    host.free("ReleaseKeyValuePairs", pairs)
    host.free("ReleaseSessionOptions", options)
    run = c_void_p(host.get("CreateRunOptions", c_void_p))
    host.AddRunConfigEntry(run, b"qnn.x", b"w")
    assert host.raw("GetRunConfigEntry", c_char_p, c_void_p, c_char_p)(run, b"qnn.x") == b"w"
    host.free("ReleaseRunOptions", run)


def memory_info(host):
    return c_void_p(host.get("CreateMemoryInfo_V2", c_void_p, b"Cpu", c_int(0), c_uint32(7),
                             c_int(0), c_int(5), c_size_t(0), c_int(0)))


def test_memory_is_described_as_it_was(host):
    info = memory_info(host)
    assert host.get("MemoryInfoGetName", c_char_p, info) == b"Cpu"
    assert host.raw("MemoryInfoGetVendorId", c_uint32, c_void_p)(info) == 7
    assert host.raw("MemoryInfoGetDeviceMemType", c_int, c_void_p)(info) == 5
    host.free("ReleaseMemoryInfo", info)


def shape_of(host, shape):
    rank = host.get("GetDimensionsCount", c_size_t, shape)
    dims = (c_int64 * rank)()
    host.GetDimensions(shape, dims, rank)
    return host.get("GetTensorElementType", c_int, shape), list(dims)


def test_tensors_have_type_shape_and_data(host):
    info, data, dims = memory_info(host), (ctypes.c_float * 6)(*range(6)), (c_int64 * 2)(2, 3)
    value = c_void_p(host.get("CreateTensorWithDataAsOrtValue", c_void_p, info, data, 24, dims, 2,
                              c_int(1)))
    shape = c_void_p(host.get("GetTensorTypeAndShape", c_void_p, value))
    assert shape_of(host, shape) == (1, [2, 3])
    assert host.raw("TensorTypeAndShape_HasShape", ctypes.c_bool, c_void_p)(shape)
    kind, found, rank = c_int(), POINTER(c_int64)(), c_size_t()
    host.GetTensorElementTypeAndShapeDataReference(value, byref(kind), byref(found), byref(rank))
    assert (kind.value, found[:rank.value]) == (1, [2, 3])
    for name in ("GetTensorData", "GetTensorMutableData"):
        assert host.get(name, c_void_p, value) == ctypes.addressof(data)
    assert host.get("GetTensorSizeInBytes", c_size_t, value) == 24
    place, device = c_void_p(host.get("GetTensorMemoryInfo", c_void_p, value)), c_int(-1)
    host.raw("MemoryInfoGetDeviceType", None, c_void_p, c_void_p)(place, byref(device))
    assert host.raw("MemoryInfoGetVendorId", c_uint32, c_void_p)(place) == 7 and device.value == 0
    host.free("ReleaseTensorTypeAndShapeInfo", shape)
    host.free("ReleaseValue", value)
    host.free("ReleaseMemoryInfo", info)


def attribute(host, name, kind, data, n):
    return c_void_p(host.get("CreateOpAttr", c_void_p, name, data, c_int(n), c_int(kind)))


@pytest.mark.parametrize("kind, data, n", [
    (1, (c_int64 * 1)(-5), 1), (2, (c_int64 * 3)(1, 2, 3), 3), (3, (ctypes.c_float * 1)(0.5), 1),
    (5, ctypes.create_string_buffer(b"text"), 4)])
def test_attributes_have_name_type_and_value(host, kind, data, n):
    a = attribute(host, b"a", kind, data, n)
    assert host.get("OpAttr_GetName", c_char_p, a) == b"a"
    assert host.get("OpAttr_GetType", c_int, a) == kind
    room, bytes_read = ctypes.create_string_buffer(64), c_size_t()
    host.ReadOpAttr(a, c_int(kind), room, 64, byref(bytes_read))
    want = bytes(data)[:4] if kind == 5 else bytes(data)
    assert room.raw[:len(want)] == want
    host.free("ReleaseOpAttr", a)


def value_info(host, name, dims, symbols=None):
    shape = c_void_p(host.get("CreateTensorTypeAndShapeInfo", c_void_p))
    host.SetTensorElementType(shape, c_int(1))
    host.SetDimensions(shape, (c_int64 * len(dims))(*dims), len(dims))
    if symbols:
        host.SetSymbolicDimensions(shape, (c_char_p * len(symbols))(*symbols), len(symbols))
    kind = c_void_p(host.get("CreateTensorTypeInfo", c_void_p, shape))
    made = c_void_p(host.get("CreateValueInfo", c_void_p, name, kind))
    host.free("ReleaseTypeInfo", kind)
    host.free("ReleaseTensorTypeAndShapeInfo", shape)
    return made


def test_values_have_name_type_and_shape(host):
    v = value_info(host, b"v", [-1, 8], [b"N", b""])
    assert host.get("GetValueInfoName", c_char_p, v) == b"v"
    kind = c_void_p(host.get("GetValueInfoTypeInfo", c_void_p, v))
    assert host.get("GetOnnxTypeFromTypeInfo", c_int, kind) == 1  # a tensor
    shape = c_void_p(host.get("CastTypeInfoToTensorInfo", c_void_p, kind))
    assert shape_of(host, shape) == (1, [-1, 8])
    symbols = (c_char_p * 2)()
    host.GetSymbolicDimensions(shape, symbols, 2)
    assert list(symbols) == [b"N", b""]


@pytest.fixture
def graph(host):
    """A graph of one node with two inputs, one output and one attribute."""
    a = attribute(host, b"axis", 1, (c_int64 * 1)(1), 1)
    node = c_void_p(host.get("CreateNode", c_void_p, b"Concat", b"", b"here",
                             (c_char_p * 2)(b"x", b"y"), 2, (c_char_p * 1)(b"z"), 1,
                             (c_void_p * 1)(a.value), 1))
    made = c_void_p(host.get("CreateGraph", c_void_p))
    infos = [value_info(host, n, [1, 4]) for n in (b"x", b"y", b"z")]
    host.SetGraphInputs(made, (c_void_p * 2)(*[i.value for i in infos[:2]]), 2)
    host.SetGraphOutputs(made, (c_void_p * 1)(infos[2].value), 1)
    host.AddNodeToGraph(made, node)
    yield made, node, infos[0]
    host.free("ReleaseGraph", made)


def test_nodes_and_graphs_are_counted_and_named(host, graph):
    made, node, _ = graph
    for name, want in (("Node_GetName", b"here"), ("Node_GetOperatorType", b"Concat"),
                       ("Node_GetDomain", b"")):
        assert host.get(name, c_char_p, node) == want
    for name, of, want in (("Graph_GetNumInputs", made, 2), ("Graph_GetNumOutputs", made, 1),
                           ("Graph_GetNumInitializers", made, 0), ("Graph_GetNumNodes", made, 1),
                           ("Node_GetNumInputs", node, 2), ("Node_GetNumOutputs", node, 1),
                           ("Node_GetNumAttributes", node, 1)):
        assert host.get(name, c_size_t, of) == want, name
    assert host.get("Graph_GetOnnxIRVersion", c_int64, made) >= 10
    assert host.get("Graph_GetModelPath", c_char_p, made) == b""


# What a graph under construction does not tell is refused by name.
@pytest.mark.parametrize("name, of, words, more", [
    ("Graph_GetNumOperatorSets", 0, "operator sets", ""),
    ("Graph_GetOperatorSets", 0, "operator sets", "*n"),
    ("Graph_GetInputs", 0, "graph inputs", "n"),
    ("Graph_GetOutputs", 0, "graph outputs", "n"), ("Graph_GetNodes", 0, "graph nodes", "n"),
    ("Graph_GetInitializers", 0, "graph initializers", "n"),
    ("Graph_GetParentNode", 0, "parent node", ""),
    ("Node_GetInputs", 1, "input OrtValueInfos", "n"),
    ("Node_GetOutputs", 1, "output OrtValueInfos", "n"),
    ("Node_GetAttributes", 1, "attribute OrtOpAttr", "n"),
    ("Node_GetNumSubgraphs", 1, "subgraphs", ""), ("Node_GetSubgraphs", 1, "subgraphs", "n*"),
    ("ValueInfo_GetInitializerValue", 2, "initializer value", ""),
    ("ValueInfo_IsConstantInitializer", 2, "constant initializer", ""),
])
def test_readers_say_what_they_are(host, graph, name, of, words, more):
    room = [(c_void_p * 8)() for _ in range(3)]
    rest = {"": [], "n": [8], "*n": [room[1], 8], "n*": [8, room[1]]}[more]
    with pytest.raises(RuntimeError, match=words):
        getattr(host, name)(graph[of], room[0], *rest)


def test_devices_are_what_they_were_made_as(host):
    pairs = c_void_p()
    host.raw("CreateKeyValuePairs", None, c_void_p)(byref(pairs))
    device = c_void_p(host.get("CreateHardwareDevice", c_void_p, c_int(2), c_uint32(0x1234),
                               c_uint32(9), b"maker", pairs))
    host.free("ReleaseKeyValuePairs", pairs)
    assert host.raw("HardwareDevice_Type", c_int, c_void_p)(device) == 2
    assert host.raw("HardwareDevice_VendorId", c_uint32, c_void_p)(device) == 0x1234
    assert host.raw("HardwareDevice_DeviceId", c_uint32, c_void_p)(device) == 9
    assert host.raw("HardwareDevice_Vendor", c_char_p, c_void_p)(device) == b"maker"
    host.free("ReleaseHardwareDevice", device)


@pytest.mark.skipif(VERSION < (1, 25), reason="profilers came with onnxruntime 1.25")
def test_events_of_profiles_are_what_they_were_made_as(host):
    """What is made by one slot is read by those of the host's own getters."""
    keys, values = (c_char_p * 1)(b"backend"), (c_char_p * 1)(b"HTP")
    event = c_void_p(host.get("CreateProfilingEvent", c_void_p, c_int(2), c_int(11), c_int(12),
                              b"name", c_int64(345), c_int64(67), keys, values, 1))
    for name, kind, want in (("ProfilingEvent_GetCategory", c_int, 2),
                             ("ProfilingEvent_GetName", c_char_p, b"name"),
                             ("ProfilingEvent_GetTimestampUs", c_int64, 345),
                             ("ProfilingEvent_GetDurationUs", c_int64, 67)):
        assert host.get(name, kind, event) == want
    assert host.get("ProfilingEvent_GetArgValue", c_char_p, event, b"backend") == b"HTP"
    host.free("ReleaseProfilingEvent", event)


def test_every_slot_is_used():
    text = "".join(p.read_text() for p in (ROOT / "src/frontend/ort").glob("*.[ch]"))
    assert [n for n in SLOTS if not re.search(rf"(ORT|QE_TRY)\({n}\b|ort_{n}_fn", text)] == []


def test_no_slot_is_named_twice():
    assert len(set(SLOTS.values())) == len(SLOTS)
