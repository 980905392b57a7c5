// SPDX-License-Identifier: MIT
//
// What sherpa-onnx's QNN layer writes in C++ with these headers; compiled, never run. The calls
// themselves are in test_sherpa_calls.c.
#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"

#include <memory>

// The types of the functions that are looked up in the libraries.
using GetProviders = Qnn_ErrorHandle_t (*)(const QnnInterface_t ***, uint32_t *);
using GetSystemProviders = Qnn_ErrorHandle_t (*)(const QnnSystemInterface_t ***, uint32_t *);

// Switches without a default, which a compiler checks for values that are missing.
const char *name(Qnn_TensorType_t t) {
    switch (t) {
    case QNN_TENSOR_TYPE_APP_WRITE:
    case QNN_TENSOR_TYPE_APP_READ:
    case QNN_TENSOR_TYPE_APP_READWRITE:
        return "of the application";
    case QNN_TENSOR_TYPE_NATIVE:
    case QNN_TENSOR_TYPE_STATIC:
    case QNN_TENSOR_TYPE_NULL:
        return "of the graph";
    case QNN_TENSOR_TYPE_UPDATEABLE_STATIC:
    case QNN_TENSOR_TYPE_UPDATEABLE_NATIVE:
    case QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE:
    case QNN_TENSOR_TYPE_UPDATEABLE_APP_READ:
    case QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE:
        return "updatable";
    case QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE:
    case QNN_TENSOR_TYPE_OPTIONAL_APP_READ:
    case QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE:
        return "optional";
    case QNN_TENSOR_TYPE_UNDEFINED:
        return "undefined";
    }
    return "unknown";
}

const char *name(Qnn_TensorMemType_t t) {
    switch (t) {
    case QNN_TENSORMEMTYPE_RAW:
    case QNN_TENSORMEMTYPE_MEMHANDLE:
    case QNN_TENSORMEMTYPE_RETRIEVE_RAW:
        return "memory";
    case QNN_TENSORMEMTYPE_UNDEFINED:
        return "undefined";
    }
    return "unknown";
}

const char *name(QnnLog_Level_t l) {
    switch (l) {
    case QNN_LOG_LEVEL_ERROR:
    case QNN_LOG_LEVEL_WARN:
    case QNN_LOG_LEVEL_INFO:
    case QNN_LOG_LEVEL_VERBOSE:
    case QNN_LOG_LEVEL_DEBUG:
        return "a level";
    case QNN_LOG_LEVEL_MAX:
        return "none";
    }
    return "unknown";
}

const char *name(Qnn_QuantizationEncoding_t q) {
    switch (q) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
    case QNN_QUANTIZATION_ENCODING_VECTOR:
        return "an encoding";
    default:
        return "unknown";
    }
}

bool is_narrow(Qnn_DataType_t t) {
    switch (t) {
    case QNN_DATATYPE_SFIXED_POINT_4:
    case QNN_DATATYPE_UFIXED_POINT_4:
        return true;
    case QNN_DATATYPE_STRING:
    case QNN_DATATYPE_UNDEFINED:
    default:
        return false;
    }
}

// A tensor on the heap, copied field by field.
std::unique_ptr<Qnn_Tensor_t> copy(const Qnn_Tensor_t &from) {
    auto t = std::make_unique<Qnn_Tensor_t>(Qnn_Tensor_t(QNN_TENSOR_INIT));
    t->version = from.version;
    t->v2.quantizeParams = from.v2.quantizeParams;
    t->v2.isDynamicDimensions = from.v2.isDynamicDimensions;
    t->v2.sparseParams.type = from.v2.sparseParams.type;
    t->v2.sparseParams.hybridCoo.numSpecifiedElements =
        from.v2.sparseParams.hybridCoo.numSpecifiedElements;
    t->v2.sparseParams.hybridCoo.numSparseDimensions =
        from.v2.sparseParams.hybridCoo.numSparseDimensions;
    t->v2.isProduced = from.v2.isProduced;
    return t;
}

const char *first_graph(const QnnSystemContext_BinaryInfo_t *info) {
    const QnnSystemContext_GraphInfo_t *g = info->contextBinaryInfoV3.graphs;
    return g->version == QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3 ? g->graphInfoV3.graphName : "";
}

int versions() {
    return QNN_API_VERSION_MAJOR + QNN_API_VERSION_MINOR + QNN_API_VERSION_PATCH +
           QNN_SYSTEM_API_VERSION_MAJOR + QNN_SYSTEM_API_VERSION_MINOR;
}
