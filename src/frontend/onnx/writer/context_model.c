// SPDX-License-Identifier: MIT
//
// Writing the model around a context binary.
#include "frontend/onnx/writer/context_model.h"

#include "base/strmap.h"
#include "frontend/client/client.h"
#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/reader/schema.h"
#include "frontend/onnx/writer/graph_write.h"

#include <limits.h>
#include <string.h>

#define IR_VERSION 8
#define OPSET 17

static int type_of(Qnn_DataType_t dtype) {
    static const struct {
        Qnn_DataType_t qnn;
        int onnx;
    } table[] = {
        {QNN_DATATYPE_FLOAT_32, OX_F32},   {QNN_DATATYPE_FLOAT_16, OX_F16},
        {QNN_DATATYPE_BFLOAT_16, OX_BF16}, {QNN_DATATYPE_FLOAT_64, OX_F64},
        {QNN_DATATYPE_UINT_8, OX_U8},      {QNN_DATATYPE_UFIXED_POINT_8, OX_U8},
        {QNN_DATATYPE_INT_8, OX_I8},       {QNN_DATATYPE_SFIXED_POINT_8, OX_I8},
        {QNN_DATATYPE_UINT_16, OX_U16},    {QNN_DATATYPE_UFIXED_POINT_16, OX_U16},
        {QNN_DATATYPE_INT_16, OX_I16},     {QNN_DATATYPE_SFIXED_POINT_16, OX_I16},
        {QNN_DATATYPE_UINT_32, OX_U32},    {QNN_DATATYPE_UFIXED_POINT_32, OX_U32},
        {QNN_DATATYPE_INT_32, OX_I32},     {QNN_DATATYPE_SFIXED_POINT_32, OX_I32},
        {QNN_DATATYPE_UINT_64, OX_U64},    {QNN_DATATYPE_INT_64, OX_I64},
        {QNN_DATATYPE_BOOL_8, OX_BOOL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].qnn == dtype)
            return table[i].onnx;
    return OX_NONE;
}

static qrn_status put_value(ox_writer *graph, uint32_t field, const Qnn_TensorV1_t *t) {
    int onnx = type_of(t->dataType);
    if (!onnx)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s' has the type 0x%x, which ONNX has not",
                        t->name, (unsigned)t->dataType);
    ox_put_value(graph, field, t->name, onnx, t->rank, t->dimensions);
    return QRN_OK;
}

// The first node has the binary; the others are graphs of it.
static void put_attributes(ox_writer *node, const ox_context_source *from, const char *graph,
                           bool first) {
    ox_put_attr_int(node, "main_context", first);
    ox_put_attr_int(node, "embed_mode", !from->file);
    if (first && from->file) {
        ox_put_attr_string(node, "ep_cache_context", from->file, strlen(from->file));
        ox_put_attr_int(node, "max_size", (int64_t)qc_spill_bytes(from->info));
    } else if (first) {
        ox_put_attr_string(node, "ep_cache_context", from->bytes, from->n_bytes);
    }
    const char *id = from->info->buildId ? from->info->buildId : "";
    ox_put_attr_string(node, "ep_sdk_version", id, strlen(id));
    ox_put_attr_string(node, "partition_name", graph, strlen(graph));
    ox_put_attr_string(node, "source", from->provider, strlen(from->provider));
}

// Inputs of one name are one input; outputs must differ.
static qrn_status put_ports(ox_writer *graph, ox_writer *node, const Qnn_Tensor_t *list, uint32_t n,
                            bool output, qrn_strmap *made) {
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *t = &list[i].v1;
        const Qnn_TensorV1_t *twin = qrn_strmap_get(made, t->name);
        ox_put_text(node, output ? PB_NODE_OUTPUT : PB_NODE_INPUT, t->name);
        bool same = twin && !output && twin->dataType == t->dataType && twin->rank == t->rank &&
                    (t->rank == 0 ||
                     memcmp(twin->dimensions, t->dimensions, t->rank * sizeof *t->dimensions) == 0);
        if (twin && !same)
            return QRN_FAIL(QRN_E_INCONSISTENT,
                            "several graphs have a value '%s', which a model can have once; make "
                            "one model for each graph",
                            t->name);
        if (twin)
            continue;
        QRN_TRY(put_value(graph, output ? PB_GRAPH_OUTPUT : PB_GRAPH_INPUT, t));
        if (!qrn_strmap_put(made, t->name, (void *)(uintptr_t)t))
            return QRN_FAIL(QRN_E_MEM, "context model: no memory");
    }
    return QRN_OK;
}

static qrn_status put_graphs(ox_writer *graph, const ox_context_source *from, qrn_strmap *made) {
    const char *first = NULL;
    for (uint32_t i = 0; i < from->info->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &from->info->graphs[i].graphInfoV3;
        ox_writer node = {0};
        if (from->graph && strcmp(from->graph, g->graphName) != 0)
            continue;
        first = first ? first : g->graphName;
        qrn_status s = put_ports(graph, &node, g->graphInputs, g->numGraphInputs, false, made);
        if (s == QRN_OK)
            s = put_ports(graph, &node, g->graphOutputs, g->numGraphOutputs, true, made);
        ox_put_text(&node, PB_NODE_NAME, g->graphName);
        ox_put_text(&node, PB_NODE_OP_TYPE, "EPContext");
        ox_put_text(&node, PB_NODE_DOMAIN, "com.microsoft");
        put_attributes(&node, from, g->graphName, first == g->graphName);
        ox_put_message(graph, PB_GRAPH_NODE, &node);
        QRN_TRY(s);
    }
    if (!first)
        return QRN_FAIL(QRN_E_BINARY, "the binary has no graph%s%s", from->graph ? " " : "",
                        from->graph ? from->graph : "");
    ox_put_text(graph, PB_GRAPH_NAME, first);
    return QRN_OK;
}

qrn_status ox_context_model(const ox_context_source *from, ox_writer *out) {
    ox_writer graph = {0};
    qrn_strmap made = {0};
    if (!from->file && from->n_bytes > INT_MAX - (1 << 20))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "a binary of %zu bytes does not fit into a model; leave it beside",
                        from->n_bytes);
    qrn_status s = put_graphs(&graph, from, &made);
    qrn_strmap_clear(&made);
    ox_put_head(out, IR_VERSION);
    ox_put_message(out, PB_MODEL_GRAPH, &graph);
    ox_put_opset(out, "", OPSET);
    ox_put_opset(out, "com.microsoft", 1);
    QRN_TRY(s);
    return out->no_memory ? QRN_FAIL(QRN_E_MEM, "context model: no memory") : QRN_OK;
}
