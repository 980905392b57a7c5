// SPDX-License-Identifier: MIT
//
// Building the graphs of a DLC file on a backend, through the interface that the client gives: as
// any client would, call by call. The backend is the judge of tensors and ops.
#include "system/dlc.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "core/describe_tensor.h"

#include "QnnOpDef.h"

#include <stdlib.h>
#include <string.h>

typedef struct composer {
    const qrn_dlc *dlc;
    const qrn_compose *how;
    const QNN_INTERFACE_VER_TYPE *fn;
    qrn_arena *arena;
    Qnn_Tensor_t *tensors; // by id of the file
    Qnn_GraphHandle_t graph;
    const char *graph_name;
} composer;

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for composing graphs");
}

// What a call to the backend said, with its own words where it has some.
static qrn_status refused(const composer *c, const char *kind, const char *name, const char *call,
                          Qnn_ErrorHandle_t code) {
    const char *words = NULL;
    bool has = c->fn->errorGetVerboseMessage && c->fn->errorFreeVerboseMessage &&
               c->fn->errorGetVerboseMessage(code, &words) == QNN_SUCCESS && words;
    qrn_status s = QRN_FAIL(
        QRN_E_GENERAL, "composing graph '%s'%s%s%s%s%s: the backend's %s returned %llu%s%s",
        c->graph_name, *kind ? ", " : "", kind, *name ? " '" : "", name, *name ? "'" : "", call,
        (unsigned long long)QNN_GET_ERROR_CODE(code), has ? ": " : "", has ? words : "");
    if (has)
        c->fn->errorFreeVerboseMessage(words);
    return s;
}

// --- Tensors

static qrn_status describe(composer *c, const qrn_tensor *t) {
    Qnn_Tensor_t *out = &c->tensors[t->id];
    QRN_TRY(qrn_tensor_describe(t, c->arena, out));
    out->v1.id = 0;
    if (t->role == QRN_ROLE_STATIC)
        out->v1.clientBuf =
            (Qnn_ClientBuffer_t){(void *)(uintptr_t)t->data, (uint32_t)t->size_bytes};
    return QRN_OK;
}

static qrn_status add_tensors(composer *c, qrn_tensor *const *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        QRN_TRY(describe(c, list[i]));
        Qnn_Tensor_t *t = &c->tensors[list[i]->id];
        Qnn_ErrorHandle_t code = c->graph ? c->fn->tensorCreateGraphTensor(c->graph, t)
                                          : c->fn->tensorCreateContextTensor(c->how->context, t);
        if (code != QNN_SUCCESS)
            return refused(c, "tensor", list[i]->name,
                           c->graph ? "tensorCreateGraphTensor" : "tensorCreateContextTensor",
                           code);
    }
    return QRN_OK;
}

// --- Nodes

static const Qnn_Tensor_t absent = {
    .version = QNN_TENSOR_VERSION_1,
    .v1 = {.name = "", .type = QNN_TENSOR_TYPE_NULL, .dataType = QNN_DATATYPE_UNDEFINED}};

static qrn_status operands(const composer *c, const qrn_tensor *const *list, uint32_t n,
                           Qnn_Tensor_t **out) {
    *out = qrn_arena_alloc(c->arena, n * sizeof **out);
    if (!*out)
        return no_memory();
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = list[i] ? c->tensors[list[i]->id] : absent;
    return QRN_OK;
}

static void set_scalar(const qrn_param *p, Qnn_Scalar_t *s) {
    uint32_t bits = qrn_dtypes[p->dtype].bits;
    s->dataType = (Qnn_DataType_t)qrn_dtypes[p->dtype].code;
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_STRING:
        s->stringValue = p->value.s;
        break;
    case QRN_CLASS_BOOL:
        s->bool8Value = p->value.u != 0;
        break;
    case QRN_CLASS_FLOAT:
        if (p->dtype == QRN_DTYPE_F64)
            s->doubleValue = p->value.f;
        else if (p->dtype == QRN_DTYPE_BF16)
            s->bfloat16Value = (int16_t)qrn_bf16_from_f64(p->value.f);
        else
            s->floatValue = (float)p->value.f;
        break;
    default: // two's complement: the low bytes are the narrow value
        if (bits == 64)
            s->uint64Value = p->value.u;
        else if (bits == 32)
            s->uint32Value = (uint32_t)p->value.u;
        else if (bits == 16)
            s->uint16Value = (uint16_t)p->value.u;
        else
            s->uint8Value = (uint8_t)p->value.u;
    }
}

static qrn_status params(const composer *c, const qrn_dlc_node *n, Qnn_Param_t **out) {
    *out = qrn_arena_alloc(c->arena, n->n_params * sizeof **out);
    if (!*out)
        return no_memory();
    for (uint32_t i = 0; i < n->n_params; i++) {
        Qnn_Param_t *p = &(*out)[i];
        p->name = n->param_names[i];
        if (n->params[i].is_tensor) {
            p->paramType = QNN_PARAMTYPE_TENSOR;
            p->tensorParam = c->tensors[n->params[i].tensor->id];
        } else {
            p->paramType = QNN_PARAMTYPE_SCALAR;
            set_scalar(&n->params[i], &p->scalarParam);
        }
    }
    return QRN_OK;
}

static qrn_status add_node(const composer *c, const qrn_dlc_node *n) {
    Qnn_OpConfig_t op = {.version = QNN_OPCONFIG_VERSION_1,
                         .v1 = {.name = n->name,
                                .packageName = n->package,
                                .typeName = n->type,
                                .numOfParams = n->n_params,
                                .numOfInputs = n->n_in,
                                .numOfOutputs = n->n_out}};
    QRN_TRY(params(c, n, &op.v1.params));
    QRN_TRY(operands(c, n->in, n->n_in, &op.v1.inputTensors));
    QRN_TRY(operands(c, n->out, n->n_out, &op.v1.outputTensors));
    Qnn_ErrorHandle_t code = c->fn->backendValidateOpConfig(c->how->backend, op);
    // A backend that leaves validation to addNode says that it has none.
    if (code != QNN_SUCCESS && QNN_GET_ERROR_CODE(code) != QNN_COMMON_ERROR_NOT_SUPPORTED)
        return refused(c, n->type, n->name, "backendValidateOpConfig", code);
    code = c->fn->graphAddNode(c->graph, op);
    return code == QNN_SUCCESS ? QRN_OK : refused(c, n->type, n->name, "graphAddNode", code);
}

// --- Graphs

// The options for a graph, as a list that ends with NULL; NULL: none.
static qrn_status configs_of(const composer *c, const char *name, const QnnGraph_Config_t ***out) {
    *out = NULL;
    for (uint32_t i = 0; i < c->how->n_configs; i++) {
        const QnnSystemDlc_GraphConfigInfo_t *g = c->how->configs[i];
        if (!g || g->version != QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1)
            return QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: options %u: version %d, allowed 1", i,
                            g ? (int)g->version : 0);
        if (!g->v1.graphName || strcmp(g->v1.graphName, name) != 0)
            continue;
        const QnnGraph_Config_t **list =
            qrn_arena_alloc(c->arena, ((size_t)g->v1.numConfigs + 1) * sizeof *list);
        if (!list)
            return no_memory();
        for (uint32_t k = 0; g->v1.graphConfigs && k < g->v1.numConfigs; k++)
            list[k] = g->v1.graphConfigs[k];
        *out = list;
    }
    return QRN_OK;
}

static qrn_status build(composer *c, const qrn_dlc_graph *g) {
    const QnnGraph_Config_t **configs = NULL;
    c->graph_name = g->name;
    QRN_TRY(configs_of(c, g->name, &configs));
    Qnn_ErrorHandle_t code = c->fn->graphCreate(c->how->context, g->name, configs, &c->graph);
    if (code != QNN_SUCCESS)
        return refused(c, "", "", "graphCreate", code);
    QRN_TRY(add_tensors(c, g->tensors, g->n_tensors));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        QRN_TRY(add_node(c, &g->nodes[i]));
    return QRN_OK;
}

// --- Answers: each array with all that it points to is one block of malloc, for clients free the
// arrays.

static qrn_status list_tensors(const composer *c, const qrn_tensor *const *list, uint32_t n,
                               Qnn_Tensor_t **out) {
    Qnn_Tensor_t *described = qrn_arena_alloc(c->arena, n * sizeof *described);
    if (!described)
        return no_memory();
    for (uint32_t i = 0; i < n; i++) {
        described[i] = c->tensors[list[i]->id];
        described[i].v1.clientBuf = (Qnn_ClientBuffer_t){NULL, 0};
    }
    *out = qrn_dlc_flatten(list, described, n);
    return *out ? QRN_OK : no_memory();
}

static qrn_status answer(const composer *c, const qrn_dlc_graph *g, uint32_t first_op,
                         QnnSystemContext_GraphInfo_t *out) {
    qrn_dlc_io io = {0};
    QRN_TRY(qrn_dlc_graph_io(c->dlc, g, c->arena, &io));
    out->version = c->how->version;
    // All versions begin with the members of the first, the third with those of the second.
    QnnSystemContext_GraphInfoV3_t *v = &out->graphInfoV3;
    v->graphName = strdup(g->name);
    if (!v->graphName)
        return no_memory();
    QRN_TRY(list_tensors(c, io.in, io.n_in, &v->graphInputs));
    v->numGraphInputs = io.n_in;
    QRN_TRY(list_tensors(c, io.out, io.n_out, &v->graphOutputs));
    v->numGraphOutputs = io.n_out;
    if (c->how->version >= QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2) {
        QRN_TRY(list_tensors(c, io.updateable, io.n_updateable, &v->updateableTensors));
        v->numUpdateableTensors = io.n_updateable;
    }
    if (c->how->version >= QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3) {
        v->startOpIndex = first_op;
        v->endOpIndex = first_op + (g->n_nodes ? g->n_nodes - 1 : 0);
    }
    return QRN_OK;
}

static void free_answers(QnnSystemContext_GraphInfo_t *graphs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        QnnSystemContext_GraphInfoV3_t *v = &graphs[i].graphInfoV3;
        free((char *)(uintptr_t)v->graphName);
        free(v->graphInputs);
        free(v->graphOutputs);
        free(v->updateableTensors);
    }
    free(graphs);
}

static qrn_status compose(composer *c, QnnSystemContext_GraphInfo_t *graphs) {
    uint32_t first_op = 0;
    c->tensors = qrn_arena_alloc(c->arena, ((size_t)c->dlc->n_ids + 1) * sizeof *c->tensors);
    if (!c->tensors)
        return no_memory();
    c->graph_name = c->dlc->n_graphs ? c->dlc->graphs[0].name : "";
    QRN_TRY(add_tensors(c, c->dlc->tensors, c->dlc->n_tensors));
    for (uint32_t i = 0; i < c->dlc->n_graphs; i++) {
        const qrn_dlc_graph *g = &c->dlc->graphs[i];
        QRN_TRY(build(c, g));
        QRN_TRY(answer(c, g, first_op, &graphs[i]));
        first_op += g->n_nodes;
    }
    return QRN_OK;
}

static qrn_status check_table(const QNN_INTERFACE_VER_TYPE *fn) {
    if (!fn->graphCreate || !fn->tensorCreateGraphTensor || !fn->tensorCreateContextTensor ||
        !fn->backendValidateOpConfig || !fn->graphAddNode)
        return QRN_FAIL(QRN_E_ARGUMENT, "composeGraphs: the interface lacks a function that "
                                        "graphs are built with");
    return QRN_OK;
}

qrn_status qrn_dlc_compose(const qrn_dlc *d, const qrn_compose *how,
                           QnnSystemContext_GraphInfo_t **graphs, uint32_t *n) {
    composer c = {.dlc = d,
                  .how = how,
                  .fn = &how->interface->QNN_INTERFACE_VER_NAME,
                  .arena = qrn_arena_create()};
    QnnSystemContext_GraphInfo_t *list = calloc((size_t)d->n_graphs + 1, sizeof *list);
    qrn_status s = c.arena && list ? check_table(c.fn) : no_memory();
    if (s == QRN_OK)
        s = compose(&c, list);
    qrn_arena_destroy(c.arena);
    if (s != QRN_OK) {
        if (list)
            free_answers(list, d->n_graphs);
        return s;
    }
    *graphs = list;
    *n = d->n_graphs;
    return QRN_OK;
}
