// SPDX-License-Identifier: MIT
//
// The graph option "op debug callback": after each op the client gets its op config with the data
// of all inputs and outputs. The structs and the data are valid only during the call.
#include "backend/cpu/cpu.h"

#include "base/mem.h"

#include "CPU/QnnCpuGraph.h"

static void describe(Qnn_Tensor_t *out, const qrn_tensor *t, const qrn_view *v) {
    *out = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    if (!t) {
        out->v1.type = QNN_TENSOR_TYPE_NULL;
        return;
    }
    out->v1.id = t->id;
    out->v1.name = t->name;
    out->v1.type = (Qnn_TensorType_t)t->role;
    out->v1.dataType = (Qnn_DataType_t)qrn_dtypes[t->dtype].code;
    out->v1.rank = v->rank;
    out->v1.dimensions = (uint32_t *)(uintptr_t)v->dims;
    out->v1.clientBuf.data = v->data;
    out->v1.clientBuf.dataSize = (uint32_t)t->size_bytes;
    if (t->quant.kind == QRN_QUANT_TENSOR) {
        out->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        out->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        out->v1.quantizeParams.scaleOffsetEncoding.scale = t->quant.scale;
        out->v1.quantizeParams.scaleOffsetEncoding.offset = t->quant.offset;
    }
}

void qrn_cpu_debug_trace(void *debug, uint32_t node, const qrn_values *values) {
    const qrn_cpu_debug *d = debug;
    const qrn_api_graph *g = d->graph;
    if (d->next->trace)
        d->next->trace(d->next->trace_ctx, node, values);
    const qrn_cnode *cn = &g->compiled->nodes[node];
    const qrn_node *n = g->compiled->origin[node];
    uint32_t count = n->n_in + n->n_out;
    Qnn_Tensor_t *tensors = qrn_alloc(count * sizeof *tensors);
    qrn_view *views = qrn_calloc(count * sizeof *views);
    for (uint32_t i = 0; tensors && views && i < count; i++) {
        const qrn_tensor *t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (t)
            values->get(values->run, i < n->n_in ? cn->in[i] : cn->out[i - n->n_in], &views[i]);
        describe(&tensors[i], t, &views[i]);
    }
    if (!tensors || !views) { // a debug aid: the execution itself goes on
        qrn_free(tensors);
        qrn_free(views);
        return;
    }
    Qnn_OpConfig_t config = QNN_OPCONFIG_INIT;
    config.v1.name = n->name;
    config.v1.packageName = n->package;
    config.v1.typeName = n->type;
    config.v1.numOfInputs = n->n_in;
    config.v1.inputTensors = tensors;
    config.v1.numOfOutputs = n->n_out;
    config.v1.outputTensors = tensors + n->n_in;
    qrn_cpu_graph_of(g)->callback(&config, qrn_cpu_graph_of(g)->param);
    qrn_free(tensors);
    qrn_free(views);
}
