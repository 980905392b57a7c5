// SPDX-License-Identifier: MIT
//
// Nodes of op packages in a compiled graph. The package keeps pointers to the node and tensor
// structs it gets at creation, so they live as long as the graph and only their data and dims are
// set before each call. Such a step counts as stateful: executions of its graph run one after the
// other.
#include "backend/package/package.h"

#include "base/mem.h"
#include "compiler/lower.h"
#include "core/services.h"

#include "CPU/QnnCpuOpPackage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Packages may report through these; they have no handle, so messages go to QUERN_LOG only.
static void report_message(QnnCpuOpPackage_MsgType_t type, const char *fmt, ...) {
    char line[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    qrn_log(NULL, type == QNN_CPU_MSG_ERROR ? QNN_LOG_LEVEL_ERROR : QNN_LOG_LEVEL_DEBUG,
            "op package: %s", line);
}

static void report_profile(QnnCpuOpPackage_ProfileType_t type, QnnCpuOpPackage_ProfileData_t data) {
    qrn_log(NULL, QNN_LOG_LEVEL_VERBOSE, "op package: profile %d: %g", (int)type, data);
}

static QnnCpuOpPackage_GlobalInfra_t infrastructure = {report_message, report_profile};
const qrn_package_rules qrn_host_packages = {.infrastructure = &infrastructure, .host_form = true};

typedef struct instance {
    struct instance *next; // list of the graph
    const qrn_user_op *op;
    qrn_arena *arena; // everything below
    QnnCpuOpPackage_Node_t *node;
    QnnOpPackage_OpImpl_t impl;
} instance;

typedef struct user_args {
    const instance *in;
} user_args;

static void describe(QnnCpuOpPackage_Tensor_t *t, const qrn_view *v) {
    t->rank = v->rank;
    memcpy(t->currentDimensions, v->dims, v->rank * sizeof(uint32_t));
    t->data = v->data;
}

static qrn_status user_op_run(const qrn_kcall *k) {
    const instance *in = ((const user_args *)k->args)->in;
    for (uint32_t i = 0; i < k->n_in; i++)
        if (in->node->inputs[i] && k->in[i])
            describe(in->node->inputs[i], k->in[i]);
    for (uint32_t i = 0; i < k->n_out; i++)
        if (in->node->outputs[i] && k->out[i])
            describe(in->node->outputs[i], k->out[i]);
    Qnn_ErrorHandle_t e = in->impl->opImplFn(in->impl->userData);
    if (e != QNN_SUCCESS)
        return QRN_FAIL(QRN_E_ARGUMENT, "node '%s': op '%s' of package '%s' failed with code %llu",
                        in->node->name, in->node->typeName, in->node->packageName,
                        (unsigned long long)e);
    for (uint32_t i = 0; i < k->n_out; i++)
        if (in->node->outputs[i] && k->out[i])
            memcpy(k->out[i]->dims, in->node->outputs[i]->currentDimensions,
                   k->out[i]->rank * sizeof(uint32_t));
    return QRN_OK;
}

static const qrn_kernel user_op_rows[] = {
    {.name = "user_op", .domain = QRN_DOMAIN_RAW, .fn = user_op_run},
};
static const qrn_family user_op_family = {
    .name = "user_op", .rows = user_op_rows, .n_rows = 1, .args_bytes = sizeof(user_args)};
static const qrn_cop user_cop = {.name = "user_op", .family = &user_op_family};

static QnnCpuOpPackage_Tensor_t *make_tensor(qrn_arena *a, const qrn_tensor *t) {
    QnnCpuOpPackage_Tensor_t *out = qrn_arena_alloc(a, sizeof *out);
    if (!out)
        return NULL;
    out->dataFormat = QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_FLAT_BUFFER;
    out->dataType = (QnnCpuOpPackage_DataType_t)qrn_dtypes[t->dtype].code;
    out->rank = t->shape.rank;
    out->maxDimensions = qrn_arena_copy(a, t->shape.dims, sizeof t->shape.dims);
    out->currentDimensions = qrn_arena_copy(a, t->shape.dims, sizeof t->shape.dims);
    out->data = (void *)(uintptr_t)t->data;
    out->quantizeParams = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (t->quant.kind == QRN_QUANT_TENSOR) {
        out->quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        out->quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        out->quantizeParams.scaleOffsetEncoding.scale = t->quant.scale;
        out->quantizeParams.scaleOffsetEncoding.offset = t->quant.offset;
    }
    return out->maxDimensions && out->currentDimensions ? out : NULL;
}

static bool make_tensors(qrn_arena *a, qrn_tensor *const *ts, uint32_t n,
                         QnnCpuOpPackage_Tensor_t ***out) {
    *out = qrn_arena_alloc(a, n * sizeof **out);
    for (uint32_t i = 0; *out && i < n; i++)
        if (ts[i] && !((*out)[i] = make_tensor(a, ts[i])))
            return false;
    return *out != NULL;
}

static QnnCpuOpPackage_Param_t *make_param(qrn_arena *a, const char *name, const qrn_param *p) {
    QnnCpuOpPackage_Param_t *out = qrn_arena_alloc(a, sizeof *out);
    if (!out || !(out->name = qrn_arena_strdup(a, name)))
        return NULL;
    if (p->is_tensor) {
        out->type = QNN_CPU_PARAMTYPE_TENSOR;
        return (out->tensorParam = make_tensor(a, p->tensor)) ? out : NULL;
    }
    if (p->dtype == QRN_DTYPE_STR) {
        out->type = QNN_CPU_PARAMTYPE_STRING;
        return (out->string = qrn_arena_strdup(a, p->value.s)) ? out : NULL;
    }
    out->type = QNN_CPU_PARAMTYPE_SCALAR;
    switch (qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_FLOAT:
        out->scalarParam = p->value.f;
        break;
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        out->scalarParam = (double)p->value.i;
        break;
    default:
        out->scalarParam = (double)p->value.u;
        break;
    }
    return out;
}

static bool fill_node(instance *in, const qrn_node *n) {
    qrn_arena *a = in->arena;
    QnnCpuOpPackage_Node_t *node = in->node = qrn_arena_alloc(a, sizeof *node);
    if (!node)
        return false;
    node->name = n->name;
    node->packageName = n->package;
    node->typeName = n->type;
    node->numOfParams = n->n_params;
    node->numOfInputs = n->n_in;
    node->numOfOutputs = n->n_out;
    node->params = qrn_arena_alloc(a, n->n_params * sizeof *node->params);
    if (!node->params || !make_tensors(a, n->in, n->n_in, &node->inputs) ||
        !make_tensors(a, n->out, n->n_out, &node->outputs))
        return false;
    for (uint32_t i = 0; i < n->n_params; i++)
        if (!(node->params[i] = make_param(a, n->param_names[i], &n->params[i])))
            return false;
    return true;
}

// Packages of HTP ops want the node as the client gave it, too.
static Qnn_ErrorHandle_t call_create(instance *in, const qrn_node *n) {
    const qrn_package *p = in->op->package;
    if (p->create_op) {
        const Qnn_OpConfig_t *config = qrn_packages_op_config(in->arena, n);
        return config ? p->create_op(config, in->node, &in->impl) : QNN_COMMON_ERROR_MEM_ALLOC;
    }
    return p->interface.interfaceVersion.major == 2
               ? p->interface.v2_0.createOpImpl(p->handle, NULL, in->node, &in->impl)
               : p->interface.v1_4.createOpImpl(NULL, in->node, &in->impl);
}

static qrn_status create_impl(instance *in, const qrn_node *n) {
    Qnn_ErrorHandle_t e = call_create(in, n);
    if (e != QNN_SUCCESS || !in->impl || !in->impl->opImplFn)
        return QRN_FAIL(
            QRN_E_FINALIZE, "node '%s': package '%s' cannot create its op '%s' (code %llu)",
            in->node->name, in->node->packageName, in->node->typeName, (unsigned long long)e);
    return QRN_OK;
}

static void free_instance(instance *in) {
    const qrn_package *p = in->op->package;
    if (in->impl && p->free_op)
        p->free_op(in->impl);
    else if (in->impl && p->interface.interfaceVersion.major == 2)
        p->interface.v2_0.freeOpImpl(p->handle, in->impl);
    else if (in->impl)
        p->interface.v1_4.freeOpImpl(in->impl);
    qrn_arena_destroy(in->arena);
    qrn_free(in);
}

void qrn_user_ops_free(void **list, const void *keep) {
    while (*list && *list != keep) {
        instance *in = *list;
        *list = in->next;
        free_instance(in);
    }
}

// Inputs and outputs are passed in their own formats: packages see what the client declared.
static qrn_status emit(qrn_lowering *lo, const instance *in, const qrn_node *n) {
    user_args args = {in};
    uint32_t n_in = n->n_in, n_out = n->n_out;
    qrn_val *vals = qrn_arena_alloc(in->arena, ((size_t)n_in + 2 * n_out) * sizeof *vals);
    if (!vals)
        return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    qrn_val *outs = vals + n_in, *finals = outs + n_out;
    for (uint32_t i = 0; i < n_in; i++) {
        vals[i] = QRN_VAL_NONE;
        if (!n->in[i])
            continue;
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &vals[i]));
        QRN_TRY(qrn_lo_as(lo, vals[i], n->in[i]->dtype, &n->in[i]->quant, &vals[i]));
    }
    for (uint32_t i = 0; i < n_out; i++) {
        outs[i] = finals[i] = QRN_VAL_NONE;
        if (!n->out[i])
            continue;
        QRN_TRY(qrn_lo_tensor(lo, n->out[i], &finals[i]));
        outs[i] = finals[i];
        if (qrn_lo_fp16(lo) && n->out[i]->dtype == QRN_DTYPE_F16) // a float in the graph
            QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F16, &n->out[i]->shape, NULL, &outs[i]));
    }
    QRN_TRY(qrn_lo_step(lo, &user_cop, QRN_DOMAIN_RAW, &args, vals, n_in, outs, n_out, 1));
    for (uint32_t i = 0; i < n_out; i++)
        if (outs[i] != finals[i])
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &outs[i], 1, &finals[i],
                                1, 0));
    return QRN_OK;
}

qrn_status qrn_user_ops_lower(void *list, struct qrn_lowering *lo, const qrn_node *n) {
    void **newest = list;
    instance *in = qrn_calloc(sizeof *in);
    if (!in || !(in->arena = qrn_arena_create())) {
        qrn_free(in);
        return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    }
    in->op = n->user_op;
    in->next = *newest; // from here on the list frees it
    *newest = in;
    if (!fill_node(in, n))
        return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    QRN_TRY(create_impl(in, n));
    return emit(lo, in, n);
}
