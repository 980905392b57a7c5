// SPDX-License-Identifier: MIT
//
// A model library of the shape converters write: C++, C linkage, one graph `relu` (float [1, 4] in,
// Relu, float [1, 4] out) built through the function table that the caller passes by value.
// Guarantees nothing about tensors whose creation failed: the whole build is then an error.

#include <cstdlib>
#include <cstring>

#include "QnnOpDef.h"
#include "Quern/model.h"

using qnn_wrapper_api::GraphConfigInfo_t;
using qnn_wrapper_api::GraphInfo_t;
using qnn_wrapper_api::ModelError_t;

namespace {

uint32_t dims[] = {1, 4};

Qnn_Tensor_t app_tensor(const char *name, Qnn_TensorType_t type) {
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

struct Model {
    GraphInfo_t info;
    Qnn_Tensor_t in, out;
    char name[8];
    GraphInfo_t *list[1];
};

ModelError_t build(const QNN_INTERFACE_VER_TYPE &qnn, Qnn_ContextHandle_t context,
                   const QnnGraph_Config_t **configs, Model &m) {
    std::strcpy(m.name, "relu");
    m.in = app_tensor("x", QNN_TENSOR_TYPE_APP_WRITE);
    m.out = app_tensor("y", QNN_TENSOR_TYPE_APP_READ);
    if (qnn.graphCreate(context, m.name, configs, &m.info.graph) != QNN_SUCCESS)
        return qnn_wrapper_api::MODEL_GRAPH_ERROR;
    if (qnn.tensorCreateGraphTensor(m.info.graph, &m.in) != QNN_SUCCESS ||
        qnn.tensorCreateGraphTensor(m.info.graph, &m.out) != QNN_SUCCESS)
        return qnn_wrapper_api::MODEL_TENSOR_ERROR;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "relu_0";
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = QNN_OP_RELU;
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = &m.in;
    op.v1.outputTensors = &m.out;
    if (qnn.backendValidateOpConfig(nullptr, op) != QNN_SUCCESS ||
        qnn.graphAddNode(m.info.graph, op) != QNN_SUCCESS)
        return qnn_wrapper_api::MODEL_NODES_ERROR;
    m.info.graphName = m.name;
    m.info.inputTensors = &m.in;
    m.info.outputTensors = &m.out;
    m.info.numInputTensors = m.info.numOutputTensors = 1;
    return qnn_wrapper_api::MODEL_NO_ERROR;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ModelError_t QnnModel_composeGraphs(
    Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE iface, Qnn_ContextHandle_t contextHandle,
    const GraphConfigInfo_t **graphsConfigInfo, const uint32_t numGraphsConfigInfo,
    GraphInfo_t ***graphsInfo, uint32_t *numGraphsInfo, bool, QnnLog_Callback_t, QnnLog_Level_t) {
    const QnnGraph_Config_t **configs = nullptr;
    for (uint32_t i = 0; i < numGraphsConfigInfo; i++) {
        if (std::strcmp(graphsConfigInfo[i]->graphName, "relu") == 0)
            configs = graphsConfigInfo[i]->graphConfigs;
    }
    Model *m = static_cast<Model *>(std::calloc(1, sizeof(Model)));
    if (!m)
        return qnn_wrapper_api::MODEL_MEMORY_ALLOCATE_ERROR;
    ModelError_t err = build(iface, contextHandle, configs, *m);
    if (err != qnn_wrapper_api::MODEL_NO_ERROR) {
        std::free(m);
        return err;
    }
    m->list[0] = &m->info;
    *graphsInfo = m->list;
    *numGraphsInfo = 1;
    return err;
}

extern "C" __attribute__((visibility("default"))) ModelError_t QnnModel_freeGraphsInfo(
    GraphInfo_t ***graphsInfo, uint32_t numGraphsInfo) {
    if (!graphsInfo || !*graphsInfo || numGraphsInfo != 1)
        return qnn_wrapper_api::MODEL_INVALID_ARGUMENT_ERROR;
    std::free((*graphsInfo)[0]); // the info is the first member of the model
    *graphsInfo = nullptr;
    return qnn_wrapper_api::MODEL_NO_ERROR;
}
