// SPDX-License-Identifier: MIT
//
// Op configurations: operands, parameters, and the checks of an op. Relies on the op table, on the
// backend's support table and, for ops of user packages, on the backend's package functions.
#include "api/opconfig.h"

#include "api/tensor.h"
#include "base/fp16.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/graph.h"
#include "core/own.h"

#include "QnnOpDef.h"

#include <stdio.h>
#include <string.h>

// Data at this alignment is read where it lies.
#define ALIGNED 8u

static const char *graph_name(const qrn_op_source *src) {
    return src->graph ? src->graph->ir->name : "";
}

static qrn_status no_memory(const qrn_op_source *src, const qrn_node *n) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s' node '%s': out of memory", graph_name(src), n->name);
}

// An operand that is only described: parsed into the arena. The client's data lives as long as the
// call.
static qrn_status described_tensor(const qrn_op_source *src, const qrn_node *n,
                                   const Qnn_Tensor_t *client, qrn_tensor **out) {
    bool readable =
        client->version == QNN_TENSOR_VERSION_1 || client->version == QNN_TENSOR_VERSION_2;
    const Qnn_TensorV2_t *c = qrn_client_tensor(client);
    qrn_site w = {"node", n->name, readable && c->name ? c->name : ""};
    qrn_tensor parsed;
    QRN_TRY(qrn_tensor_parse(client, QRN_PLACE_OP, &w, &parsed));
    if (parsed.role == QRN_ROLE_NULL) {
        *out = NULL;
        return QRN_OK;
    }
    QRN_TRY(qrn_quant_parse(&c->quantizeParams, &w, src->arena, &parsed));
    bool has_data =
        c->memType == QNN_TENSORMEMTYPE_RAW && c->clientBuf.data && parsed.role == QRN_ROLE_STATIC;
    if (has_data && c->clientBuf.dataSize != parsed.size_bytes)
        return QRN_SITE_FAIL(&w, QRN_E_TENSOR, "%u bytes of data, expected %zu",
                             c->clientBuf.dataSize, parsed.size_bytes);
    if (has_data) {
        bool in_place = (uintptr_t)c->clientBuf.data % ALIGNED == 0;
        parsed.data = in_place ? c->clientBuf.data
                               : qrn_arena_copy(src->arena, c->clientBuf.data, parsed.size_bytes);
        if (!parsed.data)
            return no_memory(src, n);
    }
    *out = qrn_arena_copy(src->arena, &parsed, sizeof(parsed));
    return *out ? QRN_OK : no_memory(src, n);
}

// One operand: NULL for an absent one.
static qrn_status resolve(const qrn_op_source *src, const qrn_node *n, const Qnn_Tensor_t *client,
                          qrn_tensor **out) {
    if (!src->graph)
        return described_tensor(src, n, client, out);
    if (client->version != QNN_TENSOR_VERSION_1 && client->version != QNN_TENSOR_VERSION_2)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' node '%s': version %d of a tensor, allowed 1, 2",
                        graph_name(src), n->name, (int)client->version);
    const Qnn_TensorV2_t *c = qrn_client_tensor(client);
    qrn_tensor *t = qrn_tensor_find(src->graph->context, src->graph->ir, c->id);
    if (!t && c->type == QNN_TENSOR_TYPE_NULL && c->id == 0) {
        *out = NULL; // a placeholder need not be created
        return QRN_OK;
    }
    if (!t)
        return QRN_FAIL(QRN_E_TENSOR,
                        "graph '%s' node '%s': tensor '%s' with id %u was not created",
                        graph_name(src), n->name, c->name ? c->name : "", c->id);
    *out = t->role == QRN_ROLE_NULL ? NULL : t;
    return QRN_OK;
}

static qrn_status resolve_list(const qrn_op_source *src, const qrn_node *n, const char *what,
                               const Qnn_Tensor_t *list, uint32_t count, qrn_tensor ***out) {
    if (count && !list)
        return QRN_FAIL(QRN_E_OP_CONFIG, "graph '%s' node '%s': %u %s, but the list is NULL",
                        graph_name(src), n->name, count, what);
    size_t bytes;
    if (!qrn_mul_size(count, sizeof(qrn_tensor *), &bytes) ||
        !(*out = qrn_arena_alloc(src->arena, bytes)))
        return no_memory(src, n);
    for (uint32_t i = 0; i < count; i++)
        QRN_TRY(resolve(src, n, &list[i], &(*out)[i]));
    return QRN_OK;
}

// Numbers by class and width; false for a type that a scalar cannot have.
static bool read_number(const Qnn_Scalar_t *s, qrn_param *p) {
    uint32_t bits = qrn_dtypes[p->dtype].bits;
    switch (qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        p->value.i = bits == 8    ? (int64_t)s->int8Value
                     : bits == 16 ? s->int16Value
                     : bits == 32 ? s->int32Value
                                  : s->int64Value;
        return bits >= 8;
    case QRN_CLASS_UINT:
    case QRN_CLASS_UFIXED:
        p->value.u = bits == 8    ? s->uint8Value
                     : bits == 16 ? s->uint16Value
                     : bits == 32 ? s->uint32Value
                                  : s->uint64Value;
        return bits >= 8;
    case QRN_CLASS_BOOL:
        p->value.u = s->bool8Value != 0;
        return true;
    default:
        p->value.f = p->dtype == QRN_DTYPE_F64 ? s->doubleValue
                     : p->dtype == QRN_DTYPE_BF16
                         ? (double)qrn_bf16_to_f32((uint16_t)s->bfloat16Value)
                         : (double)s->floatValue;
        return p->dtype != QRN_DTYPE_F16; // has no member of its own
    }
}

static qrn_status parse_scalar(const qrn_op_source *src, const qrn_node *n, const char *name,
                               const Qnn_Scalar_t *s, qrn_param *p) {
    p->dtype = qrn_dtype_from_code((uint32_t)s->dataType);
    if (p->dtype == QRN_DTYPE_STR) {
        if (!s->stringValue)
            return QRN_FAIL(QRN_E_PARAM, "graph '%s' node '%s': parameter '%s': the text is NULL",
                            graph_name(src), n->name, name);
        p->value.s = qrn_arena_strdup(src->arena, s->stringValue);
        return p->value.s ? QRN_OK : no_memory(src, n);
    }
    if (p->dtype != QRN_DTYPE_COUNT && read_number(s, p))
        return QRN_OK;
    return QRN_FAIL(QRN_E_PARAM,
                    "graph '%s' node '%s': parameter '%s': data type 0x%04x of a scalar",
                    graph_name(src), n->name, name, (unsigned)s->dataType);
}

static qrn_status parse_param(const qrn_op_source *src, const qrn_node *n,
                              const Qnn_Param_t *client, qrn_param *p) {
    if (p->present)
        return QRN_FAIL(QRN_E_PARAM, "graph '%s' node '%s': parameter '%s': given twice",
                        graph_name(src), n->name, client->name);
    if (client->paramType == QNN_PARAMTYPE_SCALAR) {
        QRN_TRY(parse_scalar(src, n, client->name, &client->scalarParam, p));
    } else if (client->paramType == QNN_PARAMTYPE_TENSOR) {
        qrn_tensor *t = NULL;
        QRN_TRY(resolve(src, n, &client->tensorParam, &t));
        if (!t || t->role != QRN_ROLE_STATIC)
            return QRN_FAIL(QRN_E_TENSOR,
                            "graph '%s' node '%s': parameter '%s': the tensor is not static",
                            graph_name(src), n->name, client->name);
        p->is_tensor = true;
        p->dtype = t->dtype;
        p->tensor = t;
    } else {
        return QRN_FAIL(QRN_E_PARAM,
                        "graph '%s' node '%s': parameter '%s': kind %u, allowed 0 (scalar) and 1 "
                        "(tensor)",
                        graph_name(src), n->name, client->name, (unsigned)client->paramType);
    }
    p->present = true;
    return QRN_OK;
}

// Parameters of a table op go to the row's places, by name.
static qrn_status table_params(const qrn_op_source *src, qrn_node *n, const Qnn_OpConfigV1_t *v) {
    n->n_params = n->op->n_params;
    n->params = qrn_arena_alloc(src->arena, n->n_params * sizeof(*n->params));
    if (!n->params)
        return no_memory(src, n);
    for (uint32_t i = 0; i < v->numOfParams; i++) {
        const char *name = v->params[i].name ? v->params[i].name : "";
        uint32_t at = 0;
        while (at < n->n_params && strcmp(n->op->params[at].name, name) != 0)
            at++;
        if (at == n->n_params)
            return QRN_FAIL(QRN_E_PARAM, "graph '%s' node '%s' (%s): unknown parameter '%s'",
                            graph_name(src), n->name, n->type, name);
        QRN_TRY(parse_param(src, n, &v->params[i], &n->params[at]));
    }
    return QRN_OK;
}

static qrn_status user_params(const qrn_op_source *src, qrn_node *n, const Qnn_OpConfigV1_t *v) {
    size_t bytes, name_bytes;
    if (!qrn_mul_size(v->numOfParams, sizeof(*n->params), &bytes) ||
        !qrn_mul_size(v->numOfParams, sizeof(char *), &name_bytes) ||
        !(n->params = qrn_arena_alloc(src->arena, bytes)) ||
        !(n->param_names = qrn_arena_alloc(src->arena, name_bytes)))
        return no_memory(src, n);
    n->n_params = v->numOfParams;
    for (uint32_t i = 0; i < v->numOfParams; i++) {
        if (!v->params[i].name)
            return QRN_FAIL(QRN_E_PARAM, "graph '%s' node '%s': parameter %u has no name",
                            graph_name(src), n->name, i);
        n->param_names[i] = qrn_arena_strdup(src->arena, v->params[i].name);
        if (!n->param_names[i])
            return no_memory(src, n);
        QRN_TRY(parse_param(src, n, &v->params[i], &n->params[i]));
    }
    return QRN_OK;
}

static qrn_status find_op(const qrn_op_source *src, qrn_node *n) {
    const qrn_backend *be = &qrn_this_backend;
    if (strcmp(n->package, QNN_OP_PACKAGE_NAME_QTI_AISW) == 0) {
        n->op = qrn_op_find(n->type);
        if (!n->op)
            return QRN_FAIL(QRN_E_OP_UNKNOWN, "graph '%s' node '%s': no op '%s' in package '%s'",
                            graph_name(src), n->name, n->type, n->package);
        return QRN_OK;
    }
    n->user_op = be->package_find ? be->package_find(src->backend, n->package, n->type) : NULL;
    if (!n->user_op)
        return QRN_FAIL(QRN_E_OP_UNKNOWN, "graph '%s' node '%s': no op '%s' in package '%s'",
                        graph_name(src), n->name, n->type, n->package);
    return QRN_OK;
}

static qrn_status name_node(const qrn_op_source *src, const Qnn_OpConfigV1_t *v, qrn_node **out) {
    if (!v->name || !v->packageName || !v->typeName)
        return QRN_FAIL(QRN_E_OP_CONFIG, "graph '%s': an op without %s", graph_name(src),
                        !v->name          ? "name"
                        : !v->packageName ? "package name"
                                          : "type name");
    qrn_node *n = qrn_arena_alloc(src->arena, sizeof(*n));
    if (!n || !(n->name = qrn_arena_strdup(src->arena, v->name)) ||
        !(n->package = qrn_arena_strdup(src->arena, v->packageName)) ||
        !(n->type = qrn_arena_strdup(src->arena, v->typeName)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s' node '%s': out of memory", graph_name(src), v->name);
    n->graph = src->graph ? src->graph->ir : NULL;
    *out = n;
    return QRN_OK;
}

qrn_status qrn_opconfig_node(const qrn_op_source *src, const Qnn_OpConfig_t *config,
                             qrn_node **node) {
    if (config->version != QNN_OPCONFIG_VERSION_1)
        return QRN_FAIL(QRN_E_OP_CONFIG, "graph '%s': version %d of an op configuration, allowed 1",
                        graph_name(src), (int)config->version);
    const Qnn_OpConfigV1_t *v = &config->v1;
    qrn_node *n = NULL;
    QRN_TRY(name_node(src, v, &n));
    QRN_TRY(find_op(src, n));
    if (v->numOfParams && !v->params)
        return QRN_FAIL(QRN_E_OP_CONFIG,
                        "graph '%s' node '%s': %u parameters, but the list is NULL",
                        graph_name(src), n->name, v->numOfParams);
    QRN_TRY(resolve_list(src, n, "inputs", v->inputTensors, v->numOfInputs, &n->in));
    QRN_TRY(resolve_list(src, n, "outputs", v->outputTensors, v->numOfOutputs, &n->out));
    n->n_in = v->numOfInputs;
    n->n_out = v->numOfOutputs;
    QRN_TRY(n->op ? table_params(src, n, v) : user_params(src, n, v));
    const qrn_api_context *c = src->graph ? src->graph->context : NULL;
    QRN_TRY(qrn_node_check(src->backend, c, n, config));
    *node = n;
    return QRN_OK;
}

// Messages begin with the graph, which an op that is validated by itself does not have.
static void drop_graph(qrn_status s) {
    static const char none[] = "graph '' ";
    char rest[QRN_MESSAGE_MAX];
    if (strncmp(qrn_message(), none, sizeof none - 1) != 0)
        return;
    snprintf(rest, sizeof rest, "%s", qrn_message() + sizeof none - 1);
    (void)QRN_FAIL(s, "%s", rest);
}

Qnn_ErrorHandle_t QnnBackend_validateOpConfig(Qnn_BackendHandle_t backend,
                                              Qnn_OpConfig_t opConfig) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    if (!b)
        return qrn_api_end(QRN_COMP_BACKEND,
                           QRN_FAIL(QRN_E_HANDLE, "validateOpConfig: not a backend handle"), NULL);
    qrn_op_source src = {.backend = b, .arena = qrn_arena_create()};
    qrn_node *n = NULL;
    qrn_status s = src.arena ? qrn_opconfig_node(&src, &opConfig, &n)
                             : QRN_FAIL(QRN_E_MEM, "validateOpConfig: out of memory");
    qrn_arena_destroy(src.arena);
    drop_graph(s);
    if (s == QRN_OK || s == QRN_E_MEM || s == QRN_E_OP_UNKNOWN || s == QRN_E_UNSUPPORTED)
        return qrn_api_end(QRN_COMP_BACKEND, s, b->log);
    return qrn_api_end_as(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, s, b->log);
}
