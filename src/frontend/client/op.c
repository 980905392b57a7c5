// SPDX-License-Identifier: MIT
//
// Ops under construction. The first failure is kept and everything after it does nothing, so that
// callers check once, at the end.
#include "frontend/client/internal.h"

#include <stdio.h>
#include <string.h>

void qc_op_begin(qc_op *o, qc_graph *g, const char *name, const char *type) {
    o->g = g;
    o->type = type;
    o->package = QNN_OP_PACKAGE_NAME_QTI_AISW;
    o->source = o->source_type = NULL;
    o->n_in = o->n_out = o->n_params = 0;
    o->name = qc_unique_name(g, &g->node_names, name, type);
    o->status = o->name ? QRN_OK : qc_no_memory(name ? name : type);
}

static void add_operand(qc_op *o, Qnn_Tensor_t *list, uint32_t *n, const qc_tensor *t,
                        const char *what) {
    if (o->status != QRN_OK)
        return;
    if (*n == QC_MAX_OPERANDS) {
        o->status = QRN_FAIL(QRN_E_UNSUPPORTED, "node '%s' (%s): more than %d %s", o->name, o->type,
                             QC_MAX_OPERANDS, what);
        return;
    }
    Qnn_Tensor_t absent = QNN_TENSOR_INIT;
    absent.v1.type = QNN_TENSOR_TYPE_NULL;
    absent.v1.name = "";
    list[(*n)++] = t ? t->t : absent;
}

void qc_in(qc_op *o, const qc_tensor *t) { add_operand(o, o->in, &o->n_in, t, "inputs"); }

void qc_out(qc_op *o, const qc_tensor *t) { add_operand(o, o->out, &o->n_out, t, "outputs"); }

static Qnn_Param_t *add_param(qc_op *o, const char *name, Qnn_ParamType_t type) {
    if (o->status != QRN_OK)
        return NULL;
    if (o->n_params == QC_MAX_PARAMS) {
        o->status = QRN_FAIL(QRN_E_UNSUPPORTED, "node '%s' (%s): more than %d parameters", o->name,
                             o->type, QC_MAX_PARAMS);
        return NULL;
    }
    Qnn_Param_t *p = &o->params[o->n_params++];
    *p = (Qnn_Param_t)QNN_PARAM_INIT;
    p->paramType = type;
    p->name = name;
    return p;
}

void qc_u32(qc_op *o, const char *param, uint32_t v) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_SCALAR);
    if (p)
        p->scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_UINT_32, .uint32Value = v};
}

void qc_i32(qc_op *o, const char *param, int32_t v) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_SCALAR);
    if (p)
        p->scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_INT_32, .int32Value = v};
}

void qc_f32(qc_op *o, const char *param, float v) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_SCALAR);
    if (p)
        p->scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = v};
}

void qc_bool(qc_op *o, const char *param, bool v) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_SCALAR);
    if (p)
        p->scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_BOOL_8, .bool8Value = v};
}

void qc_text(qc_op *o, const char *param, const char *v) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_SCALAR);
    if (p)
        p->scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_STRING, .stringValue = v};
}

// A static tensor named after node and parameter. Unlike other constants it keeps a copy of its
// data: validation does not know the graphs and has to see the values.
static void add_tensor(qc_op *o, const char *param, Qnn_DataType_t dtype, uint32_t rank,
                       const uint32_t *dims, const void *data) {
    Qnn_Param_t *p = add_param(o, param, QNN_PARAMTYPE_TENSOR);
    if (!p)
        return;
    char name[256];
    snprintf(name, sizeof name, "%.180s_%.60s", o->name, param);
    size_t bytes = sizeof(uint32_t); // of all three types
    for (uint32_t i = 0; i < rank; i++)
        bytes *= dims[i];
    qc_tensor *t = NULL;
    o->status = qc_tensor_create(o->g, name, QNN_TENSOR_TYPE_STATIC, dtype, rank, dims, NULL, data,
                                 bytes, &t);
    if (o->status != QRN_OK)
        return;
    p->tensorParam = t->t;
    p->tensorParam.v1.clientBuf.data = qrn_arena_copy(o->g->arena, data, bytes);
    p->tensorParam.v1.clientBuf.dataSize = (uint32_t)bytes;
    if (!p->tensorParam.v1.clientBuf.data)
        o->status = qc_no_memory(name);
}

void qc_u32s(qc_op *o, const char *param, const uint32_t *v, uint32_t n) {
    add_tensor(o, param, QNN_DATATYPE_UINT_32, 1, &n, v);
}

void qc_u32s_2d(qc_op *o, const char *param, const uint32_t *v, uint32_t rows, uint32_t columns) {
    add_tensor(o, param, QNN_DATATYPE_UINT_32, 2, (const uint32_t[]){rows, columns}, v);
}

void qc_i32s(qc_op *o, const char *param, const int32_t *v, uint32_t n) {
    add_tensor(o, param, QNN_DATATYPE_INT_32, 1, &n, v);
}

void qc_i32s_2d(qc_op *o, const char *param, const int32_t *v, uint32_t rows, uint32_t columns) {
    add_tensor(o, param, QNN_DATATYPE_INT_32, 2, (const uint32_t[]){rows, columns}, v);
}

void qc_f32s(qc_op *o, const char *param, const float *v, uint32_t n) {
    add_tensor(o, param, QNN_DATATYPE_FLOAT_32, 1, &n, v);
}

static Qnn_OpConfig_t config_of(qc_op *o) {
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = o->name;
    c.v1.packageName = o->package;
    c.v1.typeName = o->type;
    c.v1.numOfParams = o->n_params;
    c.v1.params = o->params;
    c.v1.numOfInputs = o->n_in;
    c.v1.inputTensors = o->in;
    c.v1.numOfOutputs = o->n_out;
    c.v1.outputTensors = o->out;
    return c;
}

qrn_status qc_op_validate(qc_op *o) {
    if (o->status != QRN_OK)
        return o->status;
    const qc_client *c = o->g->client;
    return qc_check(c, c->qnn.backendValidateOpConfig(c->backend, config_of(o)),
                    "backendValidateOpConfig");
}

qrn_status qc_op_end(qc_op *o) {
    if (o->status != QRN_OK)
        return o->status;
    const qc_client *c = o->g->client;
    o->status = qc_check(c, c->qnn.graphAddNode(o->g->handle, config_of(o)), "graphAddNode");
    if (o->status == QRN_OK) {
        o->g->n_nodes++;
        if (c->node)
            c->node(c->node_ctx, o);
    }
    return o->status;
}
