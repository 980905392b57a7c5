// SPDX-License-Identifier: MIT
//
// What the source of a model library needs: tables of its tensors and nodes in, graphs out. A
// converter writes the tables; QUERN_MODEL_LIBRARY makes the two entry points of Quern/model.h from
// them. Weights and long encodings are in the model's data file, which the library carries. C++17.

#ifndef QUERN_MODEL_BUILDER_H
#define QUERN_MODEL_BUILDER_H

#ifdef __cplusplus

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "Quern/model.h"

// The data file, where the library was built with one: a tar archive.
extern "C" {
extern const unsigned char quern_model_bin[] __attribute__((weak, visibility("hidden")));
extern const unsigned char quern_model_bin_end[] __attribute__((weak, visibility("hidden")));
}

namespace quern_model {

using qnn_wrapper_api::GraphConfigInfo_t;
using qnn_wrapper_api::GraphInfo_t;
using qnn_wrapper_api::ModelError_t;

// Bytes of the data file; size 0: none.
struct Blob {
    uint64_t offset, size;
};

// An encoding; which members count depends on `kind`.
struct Encoding {
    Qnn_QuantizationEncoding_t kind;
    uint32_t bits;
    int32_t axis;
    float scale;
    int32_t offset;
    Blob scales;  // pairs of scale and offset; BW_AXIS_SCALE_OFFSET: scales alone
    Blob offsets; // BW_AXIS_SCALE_OFFSET: none when all are 0
    Blob blocks;  // sizes of blocks, or the factors of BLOCKWISE_EXPANSION
    uint32_t blocksPerAxis, storage, blockBits; // BLOCKWISE_EXPANSION
};

constexpr Encoding none = {
    QNN_QUANTIZATION_ENCODING_UNDEFINED, 0, 0, 0, 0, {0, 0}, {0, 0}, {0, 0}, 0, 0, 0};

struct Tensor {
    const char *name;
    Qnn_TensorType_t type;
    Qnn_DataType_t dataType;
    uint32_t rank;
    uint32_t dims[8];
    Encoding encoding;
    Blob data; // of a constant
};

struct Param {
    const char *name;
    int32_t tensor; // its row, or -1: a scalar
    Qnn_DataType_t dataType;
    int64_t integer;
    double real;
    const char *text;
};

// Operands are rows of the tensors, -1 for those that are absent.
struct Node {
    const char *name, *package, *type;
    const int32_t *inputs;
    uint32_t numInputs;
    const int32_t *outputs;
    uint32_t numOutputs;
    const Param *params;
    uint32_t numParams;
};

struct Graph {
    const char *name;
    const Tensor *tensors;
    uint32_t numTensors;
    const Node *nodes;
    uint32_t numNodes;
};

class Composer {
  public:
    Composer(const Graph &graph, const QNN_INTERFACE_VER_TYPE &interface, bool debug,
             QnnLog_Callback_t callback, QnnLog_Level_t level)
        : g(graph), qnn(interface), all(debug), log(callback), most(level) {}

    ModelError_t compose(Qnn_ContextHandle_t context, const QnnGraph_Config_t **configs,
                         GraphInfo_t *info) {
        made.resize(g.numTensors);
        pairs.reserve(g.numTensors);
        if (qnn.graphCreate(context, g.name, configs, &handle) != QNN_SUCCESS)
            return fail(qnn_wrapper_api::MODEL_GRAPH_ERROR, "graph", g.name);
        for (uint32_t i = 0; i < g.numTensors; i++) {
            ModelError_t e = tensor(g.tensors[i], made[i]);
            if (e != qnn_wrapper_api::MODEL_NO_ERROR)
                return e;
        }
        for (uint32_t i = 0; i < g.numNodes; i++)
            if (!node(g.nodes[i]))
                return fail(qnn_wrapper_api::MODEL_NODES_ERROR, "node", g.nodes[i].name);
        return describe(info);
    }

    static void release(GraphInfo_t *info) {
        for (uint32_t i = 0; info && i < info->numInputTensors; i++)
            std::free(info->inputTensors[i].v1.dimensions);
        for (uint32_t i = 0; info && i < info->numOutputTensors; i++)
            std::free(info->outputTensors[i].v1.dimensions);
        if (!info)
            return;
        std::free(info->inputTensors);
        std::free(info->outputTensors);
        std::free(info->graphName);
        std::free(info);
    }

  private:
    void say(const char *fmt, ...) const {
        if (!log || most < QNN_LOG_LEVEL_ERROR)
            return;
        va_list args;
        va_start(args, fmt);
        log(fmt, QNN_LOG_LEVEL_ERROR, 0, args);
        va_end(args);
    }
    ModelError_t fail(ModelError_t e, const char *what, const char *name) const {
        say("model library: graph '%s': %s '%s' cannot be made", g.name, what, name);
        return e;
    }

    // Where bytes of the data file lie; nullptr when it has none there. Members of the archive
    // begin behind a header of 512 bytes with their size.
    const void *bytes(const Blob &b) const {
        if (!quern_model_bin || !quern_model_bin_end)
            return nullptr;
        const uint64_t size = static_cast<uint64_t>(quern_model_bin_end - quern_model_bin);
        if (b.offset < 512 || b.offset > size || b.size > size - b.offset)
            return nullptr;
        const char *header = reinterpret_cast<const char *>(quern_model_bin + b.offset - 512);
        const bool same = std::strncmp(header + 257, "ustar", 5) == 0 &&
                          std::strtoull(header + 124, nullptr, 8) == b.size;
        return same ? quern_model_bin + b.offset : nullptr;
    }
    template <typename T> T *array(const Blob &b) const {
        return static_cast<T *>(const_cast<void *>(bytes(b)));
    }

    // False: the data file has not what the encoding needs.
    bool encode(const Tensor &t, Qnn_QuantizeParams_t &q) {
        const Encoding &e = t.encoding;
        q = QNN_QUANTIZE_PARAMS_INIT;
        q.quantizationEncoding = e.kind;
        q.encodingDefinition = QNN_DEFINITION_DEFINED;
        switch (e.kind) {
        case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
            q.scaleOffsetEncoding = {e.scale, e.offset};
            return true;
        case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
            q.bwScaleOffsetEncoding = {e.bits, e.scale, e.offset};
            return true;
        case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
            q.axisScaleOffsetEncoding = {
                e.axis, static_cast<uint32_t>(e.scales.size / sizeof(Qnn_ScaleOffset_t)),
                array<Qnn_ScaleOffset_t>(e.scales)};
            return q.axisScaleOffsetEncoding.scaleOffset != nullptr;
        case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
            q.bwAxisScaleOffsetEncoding = {
                e.bits, e.axis, static_cast<uint32_t>(e.scales.size / sizeof(float)),
                array<float>(e.scales), e.offsets.size ? array<int32_t>(e.offsets) : nullptr};
            return q.bwAxisScaleOffsetEncoding.scales &&
                   (!e.offsets.size || q.bwAxisScaleOffsetEncoding.offsets);
        case QNN_QUANTIZATION_ENCODING_BLOCK:
            q.blockEncoding = {array<uint32_t>(e.blocks), array<Qnn_ScaleOffset_t>(e.scales)};
            return q.blockEncoding.blockSize && q.blockEncoding.scaleOffset;
        case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
            q.bwFloatBlockEncoding = {e.bits, array<uint32_t>(e.blocks),
                                      array<Qnn_FloatScaleOffset_t>(e.scales)};
            return q.bwFloatBlockEncoding.blockSize && q.bwFloatBlockEncoding.floatScaleOffset;
        case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
            return expand(e, q);
        default:
            q = QNN_QUANTIZE_PARAMS_INIT;
            return true;
        }
    }
    bool expand(const Encoding &e, Qnn_QuantizeParams_t &q) {
        Qnn_BlockwiseExpansion_t x{};
        x.axis = e.axis;
        x.scaleOffsets = array<Qnn_ScaleOffset_t>(e.scales);
        x.numBlocksPerAxis = e.blocksPerAxis;
        x.blockScaleBitwidth = e.blockBits;
        x.blockScaleStorageType =
            static_cast<Qnn_BlockwiseExpansionBlockScaleStorageType_t>(e.storage);
        if (x.blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16)
            x.blocksScale16 = array<uint16_t>(e.blocks);
        else
            x.blocksScale8 = array<uint8_t>(e.blocks);
        pairs.push_back(x);
        q.blockwiseExpansion = &pairs.back();
        return x.scaleOffsets && bytes(e.blocks);
    }

    ModelError_t tensor(const Tensor &t, Qnn_Tensor_t &out) {
        out = QNN_TENSOR_INIT;
        Qnn_TensorV1_t &v = out.v1;
        v.name = t.name;
        v.type = all && t.type == QNN_TENSOR_TYPE_NATIVE ? QNN_TENSOR_TYPE_APP_READ : t.type;
        v.dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER;
        v.dataType = t.dataType;
        v.rank = t.rank;
        v.dimensions = const_cast<uint32_t *>(t.dims);
        v.memType = QNN_TENSORMEMTYPE_RAW;
        if (t.data.size)
            v.clientBuf = {array<void>(t.data), static_cast<uint32_t>(t.data.size)};
        if ((t.data.size && !v.clientBuf.data) || !encode(t, v.quantizeParams)) {
            say("model library: graph '%s': the data of tensor '%s' are missing: build the "
                "library with the model's data file (-b)",
                g.name, t.name);
            return qnn_wrapper_api::MODEL_FILE_ERROR;
        }
        if (qnn.tensorCreateGraphTensor(handle, &out) != QNN_SUCCESS)
            return fail(qnn_wrapper_api::MODEL_TENSOR_ERROR, "tensor", t.name);
        return qnn_wrapper_api::MODEL_NO_ERROR;
    }

    std::vector<Qnn_Tensor_t> operands(const int32_t *rows, uint32_t n) const {
        std::vector<Qnn_Tensor_t> list(n);
        for (uint32_t i = 0; i < n; i++) {
            list[i] = QNN_TENSOR_INIT;
            list[i].v1.type = QNN_TENSOR_TYPE_NULL;
            if (rows[i] >= 0)
                list[i] = made[static_cast<uint32_t>(rows[i])];
            if (rows[i] >= 0)
                list[i].v1.clientBuf = {nullptr, 0};
        }
        return list;
    }
    void set_scalar(const Param &p, Qnn_Scalar_t &s) const {
        s.dataType = p.dataType;
        if (p.dataType == QNN_DATATYPE_STRING)
            s.stringValue = p.text;
        else if (p.dataType == QNN_DATATYPE_FLOAT_32)
            s.floatValue = static_cast<float>(p.real);
        else if (p.dataType == QNN_DATATYPE_FLOAT_64)
            s.doubleValue = p.real;
        else
            s.int64Value = p.integer; // little-endian: narrower integers are its low bytes
    }
    bool node(const Node &n) {
        std::vector<Qnn_Tensor_t> in = operands(n.inputs, n.numInputs);
        std::vector<Qnn_Tensor_t> out = operands(n.outputs, n.numOutputs);
        std::vector<Qnn_Param_t> params(n.numParams);
        for (uint32_t i = 0; i < n.numParams; i++) {
            params[i] = QNN_PARAM_INIT;
            params[i].name = n.params[i].name;
            params[i].paramType =
                n.params[i].tensor < 0 ? QNN_PARAMTYPE_SCALAR : QNN_PARAMTYPE_TENSOR;
            if (n.params[i].tensor < 0)
                set_scalar(n.params[i], params[i].scalarParam);
            else
                params[i].tensorParam = made[static_cast<uint32_t>(n.params[i].tensor)];
        }
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1.name = n.name;
        op.v1.packageName = n.package;
        op.v1.typeName = n.type;
        op.v1.numOfInputs = n.numInputs;
        op.v1.inputTensors = in.data();
        op.v1.numOfOutputs = n.numOutputs;
        op.v1.outputTensors = out.data();
        op.v1.numOfParams = n.numParams;
        op.v1.params = params.data();
        return qnn.graphAddNode(handle, op) == QNN_SUCCESS;
    }

    bool list(Qnn_TensorType_t type, Qnn_Tensor_t **to, uint32_t *n) const {
        *to = static_cast<Qnn_Tensor_t *>(std::calloc(made.size() + 1, sizeof(Qnn_Tensor_t)));
        for (size_t i = 0; *to && i < made.size(); i++) {
            if (made[i].v1.type != type)
                continue;
            Qnn_Tensor_t &t = (*to)[*n] = made[i];
            const size_t size = t.v1.rank * sizeof(uint32_t);
            t.v1.dimensions = static_cast<uint32_t *>(std::malloc(size + 1));
            ++*n;
            if (!t.v1.dimensions)
                return false;
            std::memcpy(t.v1.dimensions, g.tensors[i].dims, size);
        }
        return *to != nullptr;
    }
    ModelError_t describe(GraphInfo_t *info) const {
        info->graph = handle;
        info->graphName = strdup(g.name);
        const bool done =
            info->graphName &&
            list(QNN_TENSOR_TYPE_APP_WRITE, &info->inputTensors, &info->numInputTensors) &&
            list(QNN_TENSOR_TYPE_APP_READ, &info->outputTensors, &info->numOutputTensors);
        return done ? qnn_wrapper_api::MODEL_NO_ERROR
                    : qnn_wrapper_api::MODEL_MEMORY_ALLOCATE_ERROR;
    }

    const Graph &g;
    const QNN_INTERFACE_VER_TYPE &qnn;
    bool all; // intermediate tensors become outputs
    QnnLog_Callback_t log;
    QnnLog_Level_t most;
    Qnn_GraphHandle_t handle = nullptr;
    std::vector<Qnn_Tensor_t> made;
    std::vector<Qnn_BlockwiseExpansion_t> pairs; // room for all of them: addresses stay
};

inline ModelError_t release_all(GraphInfo_t ***graphs, uint32_t n) {
    if (!graphs || !*graphs)
        return qnn_wrapper_api::MODEL_INVALID_ARGUMENT_ERROR;
    for (uint32_t i = 0; i < n; i++)
        Composer::release((*graphs)[i]);
    std::free(*graphs);
    *graphs = nullptr;
    return qnn_wrapper_api::MODEL_NO_ERROR;
}

inline ModelError_t compose_all(const Graph *graphs, uint32_t n,
                                const QNN_INTERFACE_VER_TYPE &interface,
                                Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs,
                                uint32_t numConfigs, GraphInfo_t ***infos, uint32_t *numInfos,
                                bool debug, QnnLog_Callback_t log, QnnLog_Level_t level) {
    if (!infos || !numInfos)
        return qnn_wrapper_api::MODEL_INVALID_ARGUMENT_ERROR;
    auto **list = static_cast<GraphInfo_t **>(std::calloc(n + 1, sizeof(GraphInfo_t *)));
    ModelError_t e =
        list ? qnn_wrapper_api::MODEL_NO_ERROR : qnn_wrapper_api::MODEL_MEMORY_ALLOCATE_ERROR;
    for (uint32_t i = 0; e == qnn_wrapper_api::MODEL_NO_ERROR && i < n; i++) {
        const QnnGraph_Config_t **own = nullptr;
        for (uint32_t k = 0; configs && k < numConfigs; k++)
            if (std::strcmp(configs[k]->graphName, graphs[i].name) == 0)
                own = configs[k]->graphConfigs;
        list[i] = static_cast<GraphInfo_t *>(std::calloc(1, sizeof(GraphInfo_t)));
        e = list[i]
                ? Composer(graphs[i], interface, debug, log, level).compose(context, own, list[i])
                : qnn_wrapper_api::MODEL_MEMORY_ALLOCATE_ERROR;
    }
    if (e != qnn_wrapper_api::MODEL_NO_ERROR) {
        if (list)
            release_all(&list, n);
        return e;
    }
    *infos = list;
    *numInfos = n;
    return e;
}

} // namespace quern_model

// The entry points PREFIX_composeGraphs and PREFIX_freeGraphsInfo for an array of graphs.
#define QUERN_MODEL_LIBRARY(PREFIX, GRAPHS)                                                        \
    extern "C" __attribute__((visibility("default")))                                              \
    qnn_wrapper_api::ModelError_t PREFIX##_composeGraphs(                                          \
        Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE interface, Qnn_ContextHandle_t context,        \
        const qnn_wrapper_api::GraphConfigInfo_t **configs, const uint32_t numConfigs,             \
        qnn_wrapper_api::GraphInfo_t ***infos, uint32_t *numInfos, bool debug,                     \
        QnnLog_Callback_t log, QnnLog_Level_t level) {                                             \
        return quern_model::compose_all(GRAPHS, sizeof(GRAPHS) / sizeof(GRAPHS[0]), interface,     \
                                        context, configs, numConfigs, infos, numInfos, debug, log, \
                                        level);                                                    \
    }                                                                                              \
    extern "C" __attribute__((visibility("default")))                                              \
    qnn_wrapper_api::ModelError_t PREFIX##_freeGraphsInfo(qnn_wrapper_api::GraphInfo_t ***infos,   \
                                                          uint32_t numInfos) {                     \
        return quern_model::release_all(infos, numInfos);                                          \
    }

#endif // __cplusplus

#endif // QUERN_MODEL_BUILDER_H
