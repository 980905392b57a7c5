// SPDX-License-Identifier: MIT
//
// Nodes as clients give them: what the packages of the GPU implement, and what a package validates
// when a node comes from a context binary.
#include "backend/package/package.h"

#include "core/services.h"

static bool describe_tensor(qrn_arena *a, const qrn_tensor *t, Qnn_Tensor_t *out) {
    if (qrn_tensor_describe(t, a, out) != QRN_OK)
        return false;
    out->v1.clientBuf =
        (Qnn_ClientBuffer_t){(void *)(uintptr_t)t->data, t->data ? (uint32_t)t->size_bytes : 0};
    return true;
}

static Qnn_Tensor_t *describe_tensors(qrn_arena *a, qrn_tensor *const *list, uint32_t n) {
    Qnn_Tensor_t *out = qrn_arena_alloc(a, (n + 1u) * sizeof *out);
    for (uint32_t i = 0; out && i < n; i++)
        if (list[i] && !describe_tensor(a, list[i], &out[i]))
            return NULL;
    return out;
}

static bool describe_param(qrn_arena *a, const char *name, const qrn_param *p, Qnn_Param_t *out) {
    *out = (Qnn_Param_t){.paramType = QNN_PARAMTYPE_SCALAR, .name = name};
    if (p->is_tensor) {
        out->paramType = QNN_PARAMTYPE_TENSOR;
        return describe_tensor(a, p->tensor, &out->tensorParam);
    }
    Qnn_Scalar_t *s = &out->scalarParam;
    s->dataType = (Qnn_DataType_t)qrn_dtypes[p->dtype].code;
    if (p->dtype == QRN_DTYPE_STR)
        s->stringValue = p->value.s;
    else if (p->dtype == QRN_DTYPE_F32)
        s->floatValue = (float)p->value.f;
    else if (p->dtype == QRN_DTYPE_F64)
        s->doubleValue = p->value.f;
    else
        s->uint64Value = p->value.u; // little-endian: narrower integers are its low bytes
    return true;
}

// The parameters that the client gave; their names stand in the op's row for built-in ops.
static Qnn_Param_t *describe_params(qrn_arena *a, const qrn_node *n, uint32_t *n_out) {
    Qnn_Param_t *params = qrn_arena_alloc(a, (n->n_params + 1u) * sizeof *params);
    *n_out = 0;
    for (uint32_t i = 0; params && i < n->n_params; i++)
        if (n->params[i].present &&
            !describe_param(a, n->op ? n->op->params[i].name : n->param_names[i], &n->params[i],
                            &params[(*n_out)++]))
            return NULL;
    return params;
}

Qnn_OpConfig_t *qrn_packages_op_config(qrn_arena *a, const qrn_node *n) {
    Qnn_OpConfig_t *c = qrn_arena_alloc(a, sizeof *c);
    uint32_t n_params;
    Qnn_Param_t *params = describe_params(a, n, &n_params);
    if (!c || !params)
        return NULL;
    *c = (Qnn_OpConfig_t)QNN_OPCONFIG_INIT;
    c->v1.name = n->name;
    c->v1.packageName = n->package;
    c->v1.typeName = n->type;
    c->v1.numOfParams = n_params;
    c->v1.params = params;
    c->v1.numOfInputs = n->n_in;
    c->v1.inputTensors = describe_tensors(a, n->in, n->n_in);
    c->v1.numOfOutputs = n->n_out;
    c->v1.outputTensors = describe_tensors(a, n->out, n->n_out);
    return c->v1.inputTensors && c->v1.outputTensors ? c : NULL;
}

qrn_status qrn_packages_check_nodes(const qrn_graph *g) {
    qrn_arena *a = qrn_arena_create();
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; s == QRN_OK && i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        if (n->op)
            continue;
        const Qnn_OpConfig_t *config = a ? qrn_packages_op_config(a, n) : NULL;
        s = config ? qrn_packages_validate(n->user_op, config)
                   : QRN_FAIL(QRN_E_MEM, "graph '%s' node '%s': out of memory", g->name, n->name);
    }
    qrn_arena_destroy(a);
    return s;
}
