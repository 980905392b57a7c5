// SPDX-License-Identifier: MIT
//
// A model library as converters write it, with two graphs: g0 is y = -relu(x) over [1, 4] with an
// intermediate tensor `mid`, g1 is b = |a| over [2, 3]. Names are as they stand in the sources of
// a model: C identifiers. MODEL_PREFIX is the prefix of its two functions. With MODEL_CUBE `mid` is
// x cubed, by the op Cube of examples/op_package.
#include <cstdlib>
#include <cstring>

#include "QnnOpDef.h"
#include "Quern/model.h"

#ifndef MODEL_PREFIX
#define MODEL_PREFIX QnnModel
#endif
#ifdef MODEL_CUBE
#define FIRST_OP "Cube"
#else
#define FIRST_OP QNN_OP_RELU
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

using qnn_wrapper_api::GraphConfigInfo_t;
using qnn_wrapper_api::GraphInfo_t;
using qnn_wrapper_api::ModelError_t;

namespace {

struct Graph {
    GraphInfo_t info;
    Qnn_Tensor_t in, out;
    uint32_t dims[2];
    char name[8];
};

struct Model {
    GraphInfo_t *list[2];
    Graph graphs[2];
};

Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type, uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

bool node(const QNN_INTERFACE_VER_TYPE &qnn, Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph,
          const char *name, const char *type, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = name;
    op.v1.packageName = std::strcmp(type, "Cube") == 0 ? "example" : QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = type;
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = in;
    op.v1.outputTensors = out;
    return qnn.backendValidateOpConfig(backend, op) == QNN_SUCCESS &&
           qnn.graphAddNode(graph, op) == QNN_SUCCESS;
}

ModelError_t build(const QNN_INTERFACE_VER_TYPE &qnn, Qnn_BackendHandle_t backend,
                   Qnn_ContextHandle_t context, int which, Graph &g) {
    std::strcpy(g.name, which ? "g1" : "g0");
    g.dims[0] = which ? 2 : 1;
    g.dims[1] = which ? 3 : 4;
    g.in = tensor(which ? "a" : "x", QNN_TENSOR_TYPE_APP_WRITE, g.dims);
    g.out = tensor(which ? "b" : "y", QNN_TENSOR_TYPE_APP_READ, g.dims);
    Qnn_Tensor_t mid = tensor("mid", QNN_TENSOR_TYPE_NATIVE, g.dims);
    if (qnn.graphCreate(context, g.name, nullptr, &g.info.graph) != QNN_SUCCESS)
        return qnn_wrapper_api::MODEL_GRAPH_ERROR;
    if (qnn.tensorCreateGraphTensor(g.info.graph, &g.in) != QNN_SUCCESS ||
        qnn.tensorCreateGraphTensor(g.info.graph, &g.out) != QNN_SUCCESS ||
        (!which && qnn.tensorCreateGraphTensor(g.info.graph, &mid) != QNN_SUCCESS))
        return qnn_wrapper_api::MODEL_TENSOR_ERROR;
    bool made =
        which ? node(qnn, backend, g.info.graph, "abs", QNN_OP_ELEMENT_WISE_ABS, &g.in, &g.out)
              : node(qnn, backend, g.info.graph, "relu", FIRST_OP, &g.in, &mid) &&
                    node(qnn, backend, g.info.graph, "neg", QNN_OP_ELEMENT_WISE_NEG, &mid, &g.out);
    g.info.graphName = g.name;
    g.info.inputTensors = &g.in;
    g.info.outputTensors = &g.out;
    g.info.numInputTensors = g.info.numOutputTensors = 1;
    return made ? qnn_wrapper_api::MODEL_NO_ERROR : qnn_wrapper_api::MODEL_NODES_ERROR;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ModelError_t JOIN(MODEL_PREFIX, _composeGraphs)(
    Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE iface, Qnn_ContextHandle_t context,
    const GraphConfigInfo_t **, const uint32_t, GraphInfo_t ***graphs, uint32_t *n, bool,
    QnnLog_Callback_t, QnnLog_Level_t) {
    Model *m = static_cast<Model *>(std::calloc(1, sizeof(Model)));
    if (!m)
        return qnn_wrapper_api::MODEL_MEMORY_ALLOCATE_ERROR;
    for (int i = 0; i < 2; i++) {
        ModelError_t error = build(iface, backend, context, i, m->graphs[i]);
        if (error != qnn_wrapper_api::MODEL_NO_ERROR) {
            std::free(m);
            return error;
        }
        m->list[i] = &m->graphs[i].info;
    }
    *graphs = m->list;
    *n = 2;
    return qnn_wrapper_api::MODEL_NO_ERROR;
}

extern "C" __attribute__((visibility("default"))) ModelError_t JOIN(MODEL_PREFIX, _freeGraphsInfo)(
    GraphInfo_t ***graphs, uint32_t) {
    std::free(*graphs); // the list is the first member of the model
    *graphs = nullptr;
    return qnn_wrapper_api::MODEL_NO_ERROR;
}
