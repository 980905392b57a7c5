# SPDX-License-Identifier: MIT
"""Writes .tflite files: models of a few ops, made by hand, for tests of everything that reads such
files. It needs numpy and the `flatbuffers` package, and knows the format by its field numbers.

    g = Graph()
    x = g.input("x", [1, 8, 8, 3])
    w = g.const(weights, scale=scales, axis=0)           # per channel; zero points 0
    g.output(g.op("CONV_2D", [x, w, bias], g.tensor([1, 8, 8, 4]), stride_w=1, stride_h=1))
    g.save("model.tflite")

Tensors are numbers; -1 is an optional operand that is absent. Names of ops, options and element
types are those of the format. Nothing is checked: a wrong model is written as it is asked for.
"""
import flatbuffers
import numpy as np

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7,
         "int8": 9, "float64": 10, "uint64": 12, "uint32": 15, "uint16": 16, "int4": 17,
         "bfloat16": 18, "int2": 19, "uint4": 20}
SAME, VALID = 0, 1
ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4, "SIGN_BIT": 5}

# op, its number, the number of its options, the options in the order of their field numbers.
# b: one byte (enums, bool), i: int32, f: float32, I: list of int32, -: a field of the past;
# a default that the format gives stands behind "="; indented lines continue a row.
_OPS = """
ADD 0 11 b:fused_activation_function b:pot_scale_int16=1
AVERAGE_POOL_2D 1 5 b:padding i:stride_w i:stride_h i:filter_width i:filter_height
  b:fused_activation_function
CONCATENATION 2 10 i:axis b:fused_activation_function
CONV_2D 3 1 b:padding i:stride_w i:stride_h b:fused_activation_function i:dilation_w_factor=1
  i:dilation_h_factor=1 b:quantized_bias_type
DEPTHWISE_CONV_2D 4 2 b:padding i:stride_w i:stride_h i:depth_multiplier
  b:fused_activation_function i:dilation_w_factor=1 i:dilation_h_factor=1
DEPTH_TO_SPACE 5 94 i:block_size
DEQUANTIZE 6 38
EMBEDDING_LOOKUP 7 0
FLOOR 8 0
FULLY_CONNECTED 9 8 b:fused_activation_function b:weights_format b:keep_num_dims
  b:asymmetric_quantize_inputs b:quantized_bias_type
L2_NORMALIZATION 11 12 b:fused_activation_function
L2_POOL_2D 12 5 b:padding i:stride_w i:stride_h i:filter_width i:filter_height
  b:fused_activation_function
LOCAL_RESPONSE_NORMALIZATION 13 13 i:radius f:bias f:alpha f:beta
LOGISTIC 14 0
MAX_POOL_2D 17 5 b:padding i:stride_w i:stride_h i:filter_width i:filter_height
  b:fused_activation_function
MUL 18 21 b:fused_activation_function
RELU 19 0
RELU_N1_TO_1 20 0
RELU6 21 0
RESHAPE 22 17 I:new_shape
RESIZE_BILINEAR 23 15 - - b:align_corners b:half_pixel_centers
SOFTMAX 25 9 f:beta
SPACE_TO_DEPTH 26 19 i:block_size
TANH 28 0
PAD 34 22
GATHER 36 23 i:axis i:batch_dims
BATCH_TO_SPACE_ND 37 24
SPACE_TO_BATCH_ND 38 25
TRANSPOSE 39 26
MEAN 40 27 b:keep_dims
SUB 41 28 b:fused_activation_function b:pot_scale_int16=1
DIV 42 29 b:fused_activation_function
SQUEEZE 43 30 I:squeeze_dims
UNIDIRECTIONAL_SEQUENCE_LSTM 44 71 b:fused_activation_function f:cell_clip f:proj_clip b:time_major
  b:asymmetric_quantize_inputs b:diagonal_recurrent_tensors
STRIDED_SLICE 45 32 i:begin_mask i:end_mask i:ellipsis_mask i:new_axis_mask i:shrink_axis_mask
  b:offset
EXP 47 33
TOPK_V2 48 34
SPLIT 49 35 i:num_splits
LOG_SOFTMAX 50 36
CAST 53 37 b:in_data_type b:out_data_type
PRELU 54 0
MAXIMUM 55 39
ARG_MAX 56 40 b:output_type
MINIMUM 57 39
LESS 58 41
NEG 59 42
PADV2 60 43
GREATER 61 44
GREATER_EQUAL 62 45
LESS_EQUAL 63 46
SELECT 64 47
SLICE 65 48
SIN 66 0
TRANSPOSE_CONV 67 49 b:padding i:stride_w i:stride_h b:fused_activation_function
  b:quantized_bias_type
TILE 69 51
EXPAND_DIMS 70 52
EQUAL 71 53
NOT_EQUAL 72 54
LOG 73 0
SUM 74 27 b:keep_dims
SQRT 75 0
RSQRT 76 0
SHAPE 77 55 b:out_type
POW 78 56
ARG_MIN 79 57 b:output_type
REDUCE_PROD 81 27 b:keep_dims
REDUCE_MAX 82 27 b:keep_dims
PACK 83 59 i:values_count i:axis
LOGICAL_OR 84 60
ONE_HOT 85 61 i:axis
LOGICAL_AND 86 62
LOGICAL_NOT 87 63
UNPACK 88 64 i:num i:axis
REDUCE_MIN 89 27 b:keep_dims
FLOOR_DIV 90 65
REDUCE_ANY 91 27 b:keep_dims
SQUARE 92 66
ZEROS_LIKE 93 67
FILL 94 68
FLOOR_MOD 95 72
RANGE 96 73
RESIZE_NEAREST_NEIGHBOR 97 74 b:align_corners b:half_pixel_centers
LEAKY_RELU 98 75 f:alpha
SQUARED_DIFFERENCE 99 76
MIRROR_PAD 100 77 b:mode
ABS 101 78
SPLIT_V 102 79 i:num_splits
CEIL 104 0
REVERSE_V2 105 81
ADD_N 106 82
GATHER_ND 107 83
COS 108 84
WHERE 109 85
RANK 110 86
ELU 111 0
QUANTIZE 114 89
ROUND 116 0
HARD_SWISH 117 91
IF 118 92 i:then_subgraph_index i:else_subgraph_index
WHILE 119 93 i:cond_subgraph_index i:body_subgraph_index
SCATTER_ND 122 97
DENSIFY 124 99
SELECT_V2 123 98
BATCH_MATMUL 126 101 b:adj_x b:adj_y b:asymmetric_quantize_inputs
CUMSUM 128 102 b:exclusive b:reverse
BROADCAST_TO 130 104
CONV_3D 132 106 b:padding i:stride_d i:stride_w i:stride_h b:fused_activation_function
  i:dilation_d_factor=1 i:dilation_w_factor=1 i:dilation_h_factor=1
REDUCE_ALL 140 27 b:keep_dims
GELU 150 116 b:approximate
DYNAMIC_UPDATE_SLICE 151 117
RELU_0_TO_1 152 0
ATAN2 156 122
SIGN 158 123
BITWISE_XOR 160 125
RIGHT_SHIFT 161 126
"""
CUSTOM = 32
OPS = {row.split()[0]: (int(row.split()[1]), int(row.split()[2]), row.split()[3:])
       for row in _OPS.replace("\n  ", " ").split("\n") if row}


class Graph:
    """One subgraph; the one that `save` is called on comes first, others follow by `add`."""

    def __init__(self, name="main"):
        self.name, self.tensors, self.ops = name, [], []
        self.inputs, self.outputs, self.others, self.metadata = [], [], [], {}
        self.sparse_lists = {}  # tensor: where the list of each row begins, and the lists
        self.signature = True  # whether names of inputs and outputs are stored as a signature

    def tensor(self, shape, dtype="float32", scale=None, zero=None, axis=0, name=None, data=None,
               variable=False):
        """A tensor; with `data` (bytes) a constant. `scale`: one number or one for each channel.
        A dimension of -1 is dynamic; the file says 1 for it."""
        scales = None if scale is None else np.atleast_1d(np.asarray(scale, np.float32))
        zeros = None if scales is None else np.broadcast_to(
            np.asarray(0 if zero is None else zero, np.int64), scales.shape)
        name = name or f"t{len(self.tensors)}"
        self.tensors.append((list(shape), dtype, scales, zeros, axis, name, data, variable))
        return len(self.tensors) - 1

    def input(self, name, shape, dtype="float32", scale=None, zero=None):
        self.inputs.append(self.tensor(shape, dtype, scale, zero, name=name))
        return self.inputs[-1]

    def const(self, values, scale=None, zero=None, axis=0, name=None, dtype=None):
        """A constant from an array; dtype "int4" packs two values a byte, the low half first."""
        values = np.asarray(values, order="C")
        flat = values.reshape(-1)
        if dtype in ("int4", "uint4"):
            low = np.resize(flat, flat.size + flat.size % 2).astype(np.uint8) & 15
            flat = low[0::2] | low[1::2] << 4
        return self.tensor(values.shape, dtype or str(values.dtype), scale, zero, axis, name,
                           flat.tobytes())

    def sparse(self, values):
        """A sparse constant: of its last dimension only what is not 0 is stored."""
        rows = np.asarray(values).reshape(-1, values.shape[-1])
        kept = [np.flatnonzero(row) for row in rows]
        number = self.tensor(values.shape, str(values.dtype), data=rows[rows != 0].tobytes())
        self.sparse_lists[number] = (np.cumsum([0, *map(len, kept)]), np.concatenate(kept))
        return number

    def op(self, name, inputs, outputs, version=1, custom=None, **options):
        """Adds an op; `outputs` is a tensor or a list, and is returned. An op that the format does
        not know is a custom one, and `custom` its options in bytes."""
        unknown = set(options) - {f.split(":")[1].split("=")[0]
                                  for f in OPS.get(name, (0, 0, []))[2] if ":" in f}
        assert not unknown, f"{name} has no option {unknown}"
        listed = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        self.ops.append((name, list(inputs), list(listed), version, custom, options))
        return outputs

    def output(self, *tensors):
        self.outputs.extend(tensors)

    def add(self, graph):
        """Another subgraph (of IF or WHILE); returns its number."""
        self.others.append(graph)
        return len(self.others)

    def bytes(self):
        return _Writer([self, *self.others]).bytes()

    def save(self, path):
        with open(path, "wb") as f:
            f.write(self.bytes())


class _Writer:
    def __init__(self, graphs):
        self.b, self.graphs = flatbuffers.Builder(1 << 16), graphs
        self.buffers = [b""]  # number 0 is the empty one
        self.codes = sorted({(op[0], op[3]) for g in graphs for op in g.ops})

    def ints(self, values, kind="Int32"):
        width = {"Int32": 4, "Int64": 8, "Float32": 4}[kind]
        self.b.StartVector(width, len(values), width)
        for v in reversed(list(values)):
            getattr(self.b, f"Prepend{kind}")(v.item() if hasattr(v, "item") else v)
        return self.b.EndVector()

    def offsets(self, values):
        self.b.StartVector(4, len(values), 4)
        for v in reversed(values):
            self.b.PrependUOffsetTRelative(v)
        return self.b.EndVector()

    def raw(self, data, alignment=16):
        self.b.StartVector(1, len(data), alignment)
        head = self.b.head = self.b.Head() - len(data)
        self.b.Bytes[head:head + len(data)] = data
        return self.b.EndVector()

    def table(self, fields):
        """fields: (number, kind, value, default); kind O is an offset."""
        kinds = {"b": "Int8", "i": "Int32", "u": "Uint32", "f": "Float32", "O": "UOffsetTRelative"}
        self.b.StartObject(max([n for n, *_ in fields], default=-1) + 1)
        for number, kind, value, default in fields:
            getattr(self.b, f"Prepend{kinds[kind]}Slot")(number, value, default)
        return self.b.EndObject()

    def options(self, name, given):
        fields = []
        for number, field in enumerate(OPS[name][2]):
            if field == "-":
                continue
            kind, rest = field.split(":")
            key, _, default = rest.partition("=")
            value = given.get(key, int(default or 0))
            if key == "fused_activation_function":
                value = ACTIVATIONS.get(value, value)
            value = TYPES.get(value, value) if kind == "b" else value
            if kind == "I":
                if key in given:
                    fields.append((number, "O", self.ints(value), 0))
            else:
                fields.append((number, kind, float(value) if kind == "f" else int(value),
                               int(default or 0)))
        return self.table(fields)

    def sparsity(self, shape, begins, lists):
        last = len(shape) - 1
        vectors = [self.table([(0, "O", self.ints(v), 0)]) for v in (begins, lists)]
        dims = [self.table([(0, "b", 0, 0), (1, "i", n, 0)]) for n in shape[:-1]]
        dims.append(self.table([(0, "b", 1, 0), (2, "b", 1, 0), (3, "O", vectors[0], 0),
                                (4, "b", 1, 0), (5, "O", vectors[1], 0)]))
        return self.table([(0, "O", self.ints(range(last + 1)), 0),
                           (2, "O", self.offsets(dims), 0)])

    def tensor(self, t, sparse=None):
        shape, dtype, scales, zeros, axis, name, data, variable = t
        quantization = None
        if scales is not None:
            quantization = self.table([(2, "O", self.ints(scales, "Float32"), 0),
                                       (3, "O", self.ints(zeros, "Int64"), 0), (6, "i", axis, 0)])
        sparsity = self.sparsity(shape, *sparse) if sparse else None
        number = 0
        if data is not None:
            number = len(self.buffers)
            self.buffers.append(data)
        fields = [(0, "O", self.ints([abs(n) for n in shape]), 0), (1, "b", TYPES[dtype], 0),
                  (2, "u", number, 0),
                  (3, "O", self.b.CreateString(name), 0), (5, "b", int(variable), 0),
                  (8, "b", 1, 0)]
        if quantization:
            fields.append((4, "O", quantization, 0))
        if sparse:
            fields.append((6, "O", sparsity, 0))
        if -1 in shape:
            fields.append((7, "O", self.ints(shape), 0))
        return self.table(fields)

    def operator(self, op):
        name, inputs, outputs, version, custom, options = op
        fields = [(0, "u", self.codes.index((name, version)), 0),
                  (1, "O", self.ints(inputs), 0), (2, "O", self.ints(outputs), 0)]
        if custom is not None:
            fields.append((5, "O", self.raw(custom), 0))
        if name in OPS and OPS[name][1]:
            fields += [(3, "b", OPS[name][1], 0), (4, "O", self.options(name, options), 0)]
        return self.table(fields)

    def graph(self, g):
        tensors = self.offsets([self.tensor(t, g.sparse_lists.get(i))
                                for i, t in enumerate(g.tensors)])
        ops = self.offsets([self.operator(o) for o in g.ops])
        return self.table([(0, "O", tensors, 0), (1, "O", self.ints(g.inputs), 0),
                           (2, "O", self.ints(g.outputs), 0), (3, "O", ops, 0),
                           (4, "O", self.b.CreateString(g.name), 0)])

    def code(self, name, version):
        number = OPS[name][0] if name in OPS else CUSTOM
        fields = [(0, "b", min(number, 127), 0), (2, "i", version, 1), (3, "i", number, 0)]
        if name not in OPS:
            fields.append((1, "O", self.b.CreateString(name), 0))
        return self.table(fields)

    def signature(self, g):
        def maps(numbers):
            return self.offsets([self.table([(0, "O", self.b.CreateString(g.tensors[n][5]), 0),
                                             (1, "u", n, 0)]) for n in numbers])
        return self.table([(0, "O", maps(g.inputs), 0), (1, "O", maps(g.outputs), 0),
                           (2, "O", self.b.CreateString("serving_default"), 0)])

    def bytes(self):
        graphs = self.offsets([self.graph(g) for g in self.graphs])
        codes = self.offsets([self.code(*c) for c in self.codes])
        metadata = []
        for name, data in self.graphs[0].metadata.items():
            metadata.append(self.table([(0, "O", self.b.CreateString(name), 0),
                                        (1, "u", len(self.buffers), 0)]))
            self.buffers.append(data)
        fields = [(0, "u", 3, 0), (1, "O", codes, 0), (2, "O", graphs, 0),
                  (3, "O", self.b.CreateString("Quern's tests"), 0)]
        if metadata:
            fields.append((6, "O", self.offsets(metadata), 0))
        if self.graphs[0].signature:
            fields.append((7, "O", self.offsets([self.signature(self.graphs[0])]), 0))
        buffers = self.offsets([self.table([(0, "O", self.raw(d), 0)] if d else [])
                                for d in self.buffers])
        fields.append((4, "O", buffers, 0))
        root = self.table(fields)
        self.b.Finish(root, b"TFL3")
        return bytes(self.b.Output())
