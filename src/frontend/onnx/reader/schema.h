// SPDX-License-Identifier: MIT
//
// Field numbers of ONNX's protocol buffers (onnx.proto), for the reader and for writers of models.
// Only the fields that are read or written are here.
#ifndef QRN_FRONTEND_ONNX_SCHEMA_H
#define QRN_FRONTEND_ONNX_SCHEMA_H

enum { // ModelProto
    PB_MODEL_IR_VERSION = 1,
    PB_MODEL_PRODUCER = 2,
    PB_MODEL_GRAPH = 7,
    PB_MODEL_OPSET = 8,
    PB_MODEL_METADATA = 14,
    PB_MODEL_FUNCTION = 25
};
enum { PB_OPSET_DOMAIN = 1, PB_OPSET_VERSION = 2 }; // OperatorSetIdProto
enum {                                              // GraphProto
    PB_GRAPH_NODE = 1,
    PB_GRAPH_NAME = 2,
    PB_GRAPH_INITIALIZER = 5,
    PB_GRAPH_INPUT = 11,
    PB_GRAPH_OUTPUT = 12,
    PB_GRAPH_VALUE_INFO = 13,
    PB_GRAPH_SPARSE_INITIALIZER = 15
};
enum { // FunctionProto
    PB_FUNCTION_NAME = 1,
    PB_FUNCTION_INPUT = 4,
    PB_FUNCTION_OUTPUT = 5,
    PB_FUNCTION_ATTRIBUTE = 6,
    PB_FUNCTION_NODE = 7,
    PB_FUNCTION_DOMAIN = 10,
    PB_FUNCTION_DEFAULT = 11, // attribute_proto: attributes with a default value
    PB_FUNCTION_OVERLOAD = 13
};
enum { // NodeProto
    PB_NODE_INPUT = 1,
    PB_NODE_OUTPUT = 2,
    PB_NODE_NAME = 3,
    PB_NODE_OP_TYPE = 4,
    PB_NODE_ATTRIBUTE = 5,
    PB_NODE_DOMAIN = 7,
    PB_NODE_OVERLOAD = 8
};
enum { // AttributeProto
    PB_ATTR_NAME = 1,
    PB_ATTR_FLOAT = 2,
    PB_ATTR_INT = 3,
    PB_ATTR_STRING = 4,
    PB_ATTR_TENSOR = 5,
    PB_ATTR_GRAPH = 6,
    PB_ATTR_FLOATS = 7,
    PB_ATTR_INTS = 8,
    PB_ATTR_STRINGS = 9,
    PB_ATTR_TENSORS = 10,
    PB_ATTR_GRAPHS = 11,
    PB_ATTR_TYPE = 20,
    PB_ATTR_REF_NAME = 21
};
enum { // TensorProto
    PB_TENSOR_DIMS = 1,
    PB_TENSOR_DATA_TYPE = 2,
    PB_TENSOR_FLOAT_DATA = 4,
    PB_TENSOR_INT32_DATA = 5,
    PB_TENSOR_INT64_DATA = 7,
    PB_TENSOR_NAME = 8,
    PB_TENSOR_RAW_DATA = 9,
    PB_TENSOR_DOUBLE_DATA = 10,
    PB_TENSOR_UINT64_DATA = 11,
    PB_TENSOR_EXTERNAL_DATA = 13,
    PB_TENSOR_DATA_LOCATION = 14
};
enum { PB_LOCATION_EXTERNAL = 1 };                               // TensorProto.DataLocation
enum { PB_ENTRY_KEY = 1, PB_ENTRY_VALUE = 2 };                   // StringStringEntryProto
enum { PB_VALUE_NAME = 1, PB_VALUE_TYPE = 2 };                   // ValueInfoProto
enum { PB_TYPE_TENSOR = 1 };                                     // TypeProto
enum { PB_TENSOR_TYPE_ELEM_TYPE = 1, PB_TENSOR_TYPE_SHAPE = 2 }; // TypeProto.Tensor
enum { PB_SHAPE_DIM = 1 };                                       // TensorShapeProto
enum { PB_DIM_VALUE = 1, PB_DIM_PARAM = 2 };                     // TensorShapeProto.Dimension

#endif
