// SPDX-License-Identifier: MIT
//
// Reading a model for the device model: each partition of the plan is imported for trial, and its
// ops are those that a compiled graph would have.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"

#include "base/soc.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct reading {
    qt_network *net;
    uint32_t *index; // of values by tensor id
    uint32_t cap;
    uint32_t part; // being read
    bool failed;
} reading;

static bool is_fixed(Qnn_DataType_t t) {
    return t == QNN_DATATYPE_UFIXED_POINT_8 || t == QNN_DATATYPE_SFIXED_POINT_8 ||
           t == QNN_DATATYPE_UFIXED_POINT_16 || t == QNN_DATATYPE_SFIXED_POINT_16;
}

static bool has_room(reading *r, uint32_t id) {
    if (id < r->cap)
        return true;
    uint32_t want = r->cap ? 2 * r->cap : 1024;
    while (want <= id)
        want *= 2;
    uint32_t *grown = qrn_arena_alloc(r->net->graph.arena, want * sizeof *grown);
    if (!grown)
        return false;
    for (uint32_t i = 0; i < want; i++)
        grown[i] = i < r->cap ? r->index[i] : NONE;
    r->index = grown;
    r->cap = want;
    return true;
}

// Weights of 4 bits may lie in bytes and say so in their encoding only.
static uint32_t constant_bits(const Qnn_Tensor_t *t) {
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        return q->bwScaleOffsetEncoding.bitwidth;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        return q->bwAxisScaleOffsetEncoding.bitwidth;
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        return q->bwFloatBlockEncoding.bitwidth;
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        return 4;
    default:
        return is_fixed(t->v1.dataType) || t->v1.dataType == QNN_DATATYPE_SFIXED_POINT_4
                   ? qc_dtype_bits(t->v1.dataType)
                   : 0;
    }
}

static uint32_t value_of(reading *r, const Qnn_Tensor_t *t) {
    uint32_t id = t->v1.id;
    if (!has_room(r, id)) {
        r->failed = true;
        return 0;
    }
    if (r->index[id] != NONE)
        return r->index[id];
    qd_value v = {.rank = t->v1.rank < QD_MAX_RANK ? t->v1.rank : QD_MAX_RANK,
                  .constant = t->v1.type == QNN_TENSOR_TYPE_STATIC,
                  .input = t->v1.type == QNN_TENSOR_TYPE_APP_WRITE,
                  .output = t->v1.type == QNN_TENSOR_TYPE_APP_READ};
    for (uint32_t i = 0; i < v.rank; i++)
        v.dims[i] = t->v1.dimensions[i];
    if (v.constant)
        v.bits = constant_bits(t);
    else if (is_fixed(t->v1.dataType))
        v.active_bits = qc_dtype_bits(t->v1.dataType);
    r->failed |= qd_add_value(&r->net->graph, &v, &r->index[id]) != QRN_OK;
    return r->index[id];
}

static uint32_t list_values(reading *r, const Qnn_Tensor_t *list, uint32_t n, uint32_t *out) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (list[i].v1.type != QNN_TENSOR_TYPE_NULL)
            out[kept++] = value_of(r, &list[i]);
    return kept;
}

static bool swaps_last(const Qnn_Tensor_t *perm) {
    const uint32_t *p = perm->v1.clientBuf.data, n = perm->v1.dimensions[0];
    for (uint32_t i = 0; i < n; i++)
        if (p[i] != (i + 2 < n ? i : 2 * n - 3 - i))
            return false;
    return n >= 2;
}

static void read_params(const qc_op *o, qd_op *out) {
    for (uint32_t i = 0; i < o->n_params; i++) {
        const Qnn_Param_t *p = &o->params[i];
        if (strcmp(p->name, "group") == 0)
            out->groups = p->scalarParam.uint32Value;
        else if (strcmp(p->name, "operation") == 0)
            out->kind = p->scalarParam.uint32Value;
        else if (strcmp(p->name, "perm") == 0 && p->paramType == QNN_PARAMTYPE_TENSOR)
            out->swaps = swaps_last(&p->tensorParam);
        else if (strcmp(p->name, "filter_size") == 0 && p->paramType == QNN_PARAMTYPE_TENSOR) {
            const uint32_t *size = p->tensorParam.v1.clientBuf.data;
            out->window = 1;
            for (uint32_t k = 0; k < p->tensorParam.v1.dimensions[0]; k++)
                out->window *= size[k];
        }
    }
}

static bool is_product(const char *type) {
    return strstr(type, "Conv") == type || strstr(type, "DepthWiseConv") == type ||
           strstr(type, "TransposeConv") == type || strcmp(type, "FullyConnected") == 0 ||
           strcmp(type, "MatMul") == 0;
}

static void note_product(const qc_op *o, qt_network *net) {
    if (o->n_out && is_product(o->type))
        net->products |= !is_fixed(o->out[0].v1.dataType)            ? 1
                         : qc_dtype_bits(o->out[0].v1.dataType) == 8 ? 2
                                                                     : 4;
}

static void note_op(void *ctx, const qc_op *o) {
    reading *r = ctx;
    uint32_t in[QC_MAX_OPERANDS], out[QC_MAX_OPERANDS];
    qd_op op = {.name = o->name, .type = o->type, .in = in, .out = out};
    op.n_in = list_values(r, o->in, o->n_in, in);
    op.n_out = list_values(r, o->out, o->n_out, out);
    read_params(o, &op);
    note_product(o, r->net);
    op.part = r->part;
    r->failed |= qd_add_op(&r->net->graph, &op) != QRN_OK;
}

// Does a Transpose of the model change the order of dimensions, but not of elements? Those between
// channels first and channels last belong to the layout.
static bool moves_nothing(const ox_val *v) {
    const ox_attr *a = ox_attr_find(v->maker, "perm");
    if (!a || a->type != OX_ATTR_INTS || a->n != v->rank)
        return false;
    int64_t last = -1;
    bool same = true;
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dims[i] > 1 && a->ints[i] < last)
            return false;
        last = v->dims[i] > 1 ? a->ints[i] : last;
        same &= a->ints[i] == (int64_t)i;
    }
    bool channels = v->rank > 3 && a->ints[0] == 0 &&
                    (a->ints[1] == 2 || (a->ints[1] == (int64_t)v->rank - 1 && a->ints[2] == 1));
    return !same && !channels;
}

// Copies that the importer sees through, but a converter keeps: a Concat of one, a Transpose of
// ones. Measured networks are explained better with them. Such a step has values of its own: what
// is fused around it stays so.
static void note_copy(void *ctx, const ox_val *v) {
    reading *r = ctx;
    if (!v->maker || v->data || v->is_output || v->kind != OX_TENSOR)
        return;
    bool concat = strcmp(v->maker->op, "Concat") == 0 && v->maker->n_in == 1;
    if (!concat && !(strcmp(v->maker->op, "Transpose") == 0 && moves_nothing(v)))
        return;
    uint32_t in, out;
    qd_value copy = {.rank = v->rank < QD_MAX_RANK ? v->rank : QD_MAX_RANK};
    memcpy(copy.dims, v->dims, copy.rank * sizeof copy.dims[0]);
    qd_op op = {.name = v->maker->name,
                .type = concat ? "Concat" : "Transpose",
                .in = &in,
                .out = &out,
                .n_in = 1,
                .n_out = 1,
                .part = r->part};
    r->failed |= qd_add_value(&r->net->graph, &copy, &in) != QRN_OK ||
                 qd_add_value(&r->net->graph, &copy, &out) != QRN_OK ||
                 qd_add_op(&r->net->graph, &op) != QRN_OK;
}

// --- partitions

qrn_status qt_plan_make(const ox_model *m, qc_client *c, const ox_options *import, ox_plan *out) {
    const ox_plan_options options = {.import = import, .learn = true};
    return ox_plan_make(m, c, &options, out);
}

typedef struct part {
    const ox_model *model;
    qc_client *client;
    const ox_options *import;
    reading *reading;
} part;

static qrn_status import_part(void *arg) {
    const part *p = arg;
    ox_options options = *p->import;
    ox_result result = {0};
    options.value = note_copy;
    options.value_ctx = p->reading;
    options.fused = true;
    options.note = NULL; // the plan reported it
    for (uint32_t i = 0; i < p->reading->cap; i++)
        p->reading->index[i] = NONE; // tensors of another graph have the same numbers
    p->client->node = note_op;
    p->client->node_ctx = p->reading;
    qrn_status s = ox_import_model(p->model, p->client, &options, &result);
    p->client->node = NULL;
    if (s == QRN_OK)
        qc_graph_destroy(result.graph);
    return s;
}

static qrn_status read_parts(const ox_model *m, qc_client *c, const ox_options *import,
                             const ox_plan *plan, reading *r) {
    static const ox_plan_options none;
    bool whole = plan->n_taken == m->graph->n_nodes && plan->n_groups == 1;
    for (r->part = 0; r->part < plan->n_groups; r->part++) {
        ox_model sub = *m;
        uint32_t *index;
        if (!whole)
            QRN_TRY(ox_submodel(m, plan, r->part, false, &sub, &index));
        part p = {&sub, c, import, r};
        QRN_TRY(ox_in_trial(c, &none, import_part, &p));
    }
    return QRN_OK;
}

static qrn_status list_rejected(const ox_graph *g, const ox_plan *plan, qt_network *net) {
    qrn_arena *arena = net->graph.arena;
    net->refused = qrn_arena_alloc(arena, (g->n_nodes + 1) * sizeof *net->refused);
    for (uint32_t i = 0; net->refused && i < g->n_nodes; i++) {
        const char *why = ox_plan_reason(g, plan, i);
        if (why)
            net->refused[net->n_refused++] =
                (qt_refusal){qrn_arena_strdup(arena, g->nodes[i].name),
                             qrn_arena_strdup(arena, g->nodes[i].op), qrn_arena_strdup(arena, why)};
    }
    return net->refused ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory");
}

qrn_status qt_network_read(const ox_model *m, qc_client *c, const ox_options *import,
                           const ox_plan *plan, qt_network *out) {
    *out = (qt_network){.graph.arena = qrn_arena_create(),
                        .n_parts = plan->n_groups ? plan->n_groups : 1};
    reading r = {.net = out};
    qrn_status s = out->graph.arena ? list_rejected(m->graph, plan, out)
                                    : QRN_FAIL(QRN_E_MEM, "out of memory");
    if (s == QRN_OK)
        s = read_parts(m, c, import, plan, &r);
    if (s == QRN_OK && r.failed)
        s = QRN_FAIL(QRN_E_MEM, "out of memory");
    if (s == QRN_OK)
        s = qd_cut(&out->graph, &out->steps);
    if (s == QRN_OK && !out->steps.n && out->n_refused)
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "no node runs on the NPU; node '%s' (%s): %s",
                     out->refused[0].node, out->refused[0].op, out->refused[0].why);
    if (s != QRN_OK)
        qt_network_close(out);
    return s;
}

// --- models

static bool has_quantizers(const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strstr(g->nodes[i].op, "QuantizeLinear") || strncmp(g->nodes[i].op, "QLinear", 7) == 0)
            return true;
    return false;
}

// A float model on a SoC without fp16 is estimated as if it were quantized: it is read without a
// target.
static qrn_status open_target(const ox_model *m, const qt_target *at, qc_client **out) {
    qc_options options = {.no_context = true};
    QRN_TRY(qc_open("htp", &options, out));
    const qrn_soc *soc = at->soc ? qrn_soc_by_id(at->soc) : qrn_soc_of_arch(at->arch);
    if (!soc || (!soc->fp16 && !has_quantizers(m->graph)))
        return QRN_OK;
    qc_close(*out);
    *out = NULL;
    options.soc = at->soc;
    options.arch = at->soc ? 0 : at->arch;
    return qc_open("htp", &options, out);
}

qrn_status qt_network_of(const ox_model *m, const qt_target *at, bool allow_fp16, qt_network *out) {
    const qt_backend_options flags = {.allow_fp16 = allow_fp16};
    ox_options import = {0};
    ox_plan plan;
    qc_client *c = NULL;
    qt_import_flags(&flags, &import);
    QRN_TRY(ox_check_static(m, true)); // the importer would only reject what such an input leads to
    qrn_status s = open_target(m, at, &c);
    if (s == QRN_OK)
        s = qt_plan_make(m, c, &import, &plan);
    if (s == QRN_OK)
        s = qt_network_read(m, c, &import, &plan, out);
    qc_close(c);
    return s;
}

void qt_network_close(qt_network *n) {
    qrn_arena_destroy(n->graph.arena);
    *n = (qt_network){0};
}
