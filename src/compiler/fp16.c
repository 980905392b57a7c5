// SPDX-License-Identifier: MIT
//
// fp16: the graph's copy with one float type, and the places where numbers are rounded.
#include "compiler/fp16.h"

#include "base/mem.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/lut.h"
#include "kernels/eltwise/unary.h"
#include "kernels/fp16/round_fp16.h"
#include "kernels/quantize.h"

#include <math.h>
#include <string.h>

// Constants of so few elements may be looked at while lowering: they are rounded at once.
#define SMALL 64
// Constants of so many elements are not kept twice: the client's numbers can go.
#define LARGE 4096

static qrn_status no_memory(const qrn_lowering *lo) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}

static bool is_float(const qrn_tensor *t) {
    return t && t->format == QRN_FORMAT_DENSE &&
           (t->dtype == QRN_DTYPE_F32 || t->dtype == QRN_DTYPE_F16);
}

static bool has_user_ops(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->op)
            return true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (has_user_ops(g->subgraphs[i]))
            return true;
    return false;
}

static bool has_floats(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i]->n_in + g->nodes[i]->n_out; k++) {
            const qrn_node *n = g->nodes[i];
            if (is_float(k < n->n_in ? n->in[k] : n->out[k - n->n_in]))
                return true;
        }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (has_floats(g->subgraphs[i]))
            return true;
    return false;
}

// --- the copy

static qrn_status round_small(qrn_lowering *lo, qrn_tensor *t) {
    size_t count;
    if (!qrn_tensor_is_static(t) || !t->data || !qrn_shape_count(&t->shape, &count) ||
        count > SMALL)
        return QRN_OK;
    qrn_view src = {.data = (void *)(uintptr_t)t->data, .rank = 1, .dims = {(uint32_t)count}};
    src.dtype = lo->origin[t->id]->dtype;
    float *data = qrn_arena_alloc(lo->cg->arena, count * sizeof *data);
    if (!data)
        return no_memory(lo);
    t->data = data;
    qrn_round_constant(&src, lo->fp16, data);
    return QRN_OK;
}

// The copy of a tensor; itself when it is no float.
static qrn_status copy_tensor(qrn_lowering *lo, qrn_tensor *t, qrn_tensor **out) {
    *out = t;
    if (!is_float(t))
        return QRN_OK;
    if (!lo->copies[t->id]) {
        qrn_tensor *copy = qrn_arena_copy(lo->cg->arena, t, sizeof *t);
        if (!copy)
            return no_memory(lo);
        lo->origin[t->id] = t;
        lo->copies[t->id] = copy;
        copy->dtype = QRN_DTYPE_F32;
        copy->size_bytes = t->dtype == QRN_DTYPE_F16 ? 2 * t->size_bytes : t->size_bytes;
        QRN_TRY(round_small(lo, copy));
    }
    *out = lo->copies[t->id];
    return QRN_OK;
}

static qrn_status copy_tensors(qrn_lowering *lo, qrn_tensor **list, uint32_t n, qrn_tensor ***out) {
    qrn_tensor **copies = qrn_arena_alloc(lo->cg->arena, n * sizeof *copies);
    if (!copies)
        return no_memory(lo);
    for (uint32_t i = 0; i < n; i++)
        if (list[i])
            QRN_TRY(copy_tensor(lo, list[i], &copies[i]));
    *out = copies;
    return QRN_OK;
}

// Parameters that become elements of a tensor are rounded like those.
static qrn_status copy_params(qrn_lowering *lo, qrn_node *n) {
    static const char *const elements[] = {"pad_constant_value", "on_value", "off_value", "value"};
    if (!n->op || !n->n_params || !is_float(n->n_out ? n->out[0] : NULL))
        return QRN_OK;
    n->params = qrn_arena_copy(lo->cg->arena, n->params, n->n_params * sizeof *n->params);
    if (!n->params)
        return no_memory(lo);
    for (uint32_t i = 0; i < n->n_params; i++)
        for (size_t k = 0; k < sizeof elements / sizeof elements[0]; k++) {
            qrn_param *p = &n->params[i];
            if (strcmp(n->op->params[i].name, elements[k]) == 0 && p->present && !p->is_tensor &&
                qrn_dtype_is_float(p->dtype))
                p->value.f = qrn_fp16_round_constant(p->value.f, lo->fp16);
        }
    return QRN_OK;
}

static qrn_status copy_node(qrn_lowering *lo, const qrn_node *n, qrn_graph *g, qrn_node **out) {
    qrn_node *copy = qrn_arena_copy(lo->cg->arena, n, sizeof *n);
    if (!copy)
        return no_memory(lo);
    copy->graph = g;
    *out = copy;
    if (!n->op) // a user's op sees what the client declared
        return QRN_OK;
    QRN_TRY(copy_tensors(lo, n->in, n->n_in, &copy->in));
    QRN_TRY(copy_tensors(lo, n->out, n->n_out, &copy->out));
    return copy_params(lo, copy);
}

static qrn_status copy_graph(qrn_lowering *lo, const qrn_graph *g, qrn_graph *parent,
                             qrn_graph **out) {
    qrn_arena *a = lo->cg->arena;
    qrn_graph *copy = qrn_arena_copy(a, g, sizeof *g);
    if (!copy)
        return no_memory(lo);
    copy->parent = parent;
    copy->nodes = qrn_arena_alloc(a, g->n_nodes * sizeof(void *));
    copy->subgraphs = qrn_arena_alloc(a, g->n_subgraphs * sizeof(void *));
    if (!copy->nodes || !copy->subgraphs)
        return no_memory(lo);
    QRN_TRY(copy_tensors(lo, g->tensors, g->n_tensors, &copy->tensors));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        QRN_TRY(copy_node(lo, g->nodes[i], copy, &copy->nodes[i]));
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        QRN_TRY(copy_graph(lo, g->subgraphs[i], copy, &copy->subgraphs[i]));
    *out = copy;
    return QRN_OK;
}

qrn_status qrn_lo_fp16_begin(qrn_lowering *lo) {
    if (lo->opt->fp16 == QRN_FP16_OFF || !has_floats(lo->graph))
        return QRN_OK;
    qrn_arena *a = lo->cg->arena;
    lo->fp16 = lo->opt->fp16;
    lo->has_user_ops = has_user_ops(lo->graph);
    lo->origin = qrn_arena_alloc(a, lo->n_by_id * sizeof *lo->origin);
    lo->copies = qrn_arena_alloc(a, lo->n_by_id * sizeof *lo->copies);
    lo->rounded = qrn_arena_alloc(a, lo->n_by_id * sizeof *lo->rounded);
    if (!lo->origin || !lo->copies || !lo->rounded)
        return no_memory(lo);
    for (uint32_t i = 0; i < lo->n_by_id; i++)
        lo->rounded[i] = QRN_VAL_NONE;
    qrn_graph *copy = NULL;
    QRN_TRY(copy_graph(lo, lo->graph, NULL, &copy));
    lo->graph = copy;
    return QRN_OK;
}

// --- in and out

qrn_fp16_rule qrn_lo_fp16(const qrn_lowering *lo) { return lo->fp16; }

const qrn_tensor *qrn_lo_client_tensor(const qrn_lowering *lo, const qrn_tensor *t) {
    return lo->fp16 && lo->origin[t->id] ? lo->origin[t->id] : t;
}

const qrn_tensor *qrn_lo_fp16_copy(const qrn_lowering *lo, const qrn_tensor *t) {
    return lo->fp16 && lo->copies[t->id] ? lo->copies[t->id] : t;
}

const qrn_tensor *qrn_lo_fp16_stored(const qrn_lowering *lo, const qrn_tensor *t) {
    const qrn_tensor *o = qrn_lo_client_tensor(lo, t);
    return t->role == QRN_ROLE_NATIVE || t->data != o->data ? t : o; // small ones are rounded
}

static bool is_written(const qrn_lowering *lo, const qrn_tensor *t) {
    return t->role == QRN_ROLE_OUTPUT ||
           (t->role == QRN_ROLE_INOUT && t->producer && t->producer->graph == lo->client_graph);
}

bool qrn_lo_fp16_detours(const qrn_lowering *lo, const qrn_tensor *t) {
    const qrn_tensor *o = qrn_lo_client_tensor(lo, t);
    return o != t && o->dtype == QRN_DTYPE_F16 && is_written(lo, t);
}

qrn_status qrn_lo_fp16_detour(qrn_lowering *lo, qrn_val value, qrn_val io) {
    if (!qrn_lo_grow((void **)&lo->detours, &lo->cap_detours, lo->n_detours,
                     sizeof(qrn_conversion)))
        return no_memory(lo);
    lo->detours[lo->n_detours++] = (qrn_conversion){value, io};
    return QRN_OK;
}

static qrn_status rounding_step(qrn_lowering *lo, qrn_val from, qrn_val to) {
    if (lo->fp16 == QRN_FP16_AS_F32)
        return qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &from, 1, &to, 1, 0);
    qrn_round_fp16_args args = {lo->fp16};
    return qrn_lo_step(lo, &qrn_cop_round_fp16, QRN_DOMAIN_RAW, &args, &from, 1, &to, 1, 0);
}

qrn_status qrn_lo_fp16_leave(qrn_lowering *lo) {
    for (uint32_t i = 0; i < lo->n_detours; i++)
        QRN_TRY(rounding_step(lo, lo->detours[i].from, lo->detours[i].to));
    return QRN_OK;
}

bool qrn_lo_fp16_asks(const qrn_node *n) {
    return n && n->op && (strcmp(n->op->name, "IsInf") == 0 || strcmp(n->op->name, "IsNan") == 0);
}

// Does the node only convert floats to another type, or ask what they are?
static bool reads_raw(const qrn_node *n) {
    return n->op && n->n_out == 1 && !is_float(n->out[0]) &&
           (strcmp(n->op->name, "Quantize") == 0 || strcmp(n->op->name, "Convert") == 0 ||
            strcmp(n->op->name, "Cast") == 0 || qrn_lo_fp16_asks(n));
}

// Notes the tensors that are read by a node which does more than that.
static void note_reads(qrn_lowering *lo, const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i]->n_in && !reads_raw(g->nodes[i]); k++)
            if (g->nodes[i]->in[k])
                lo->is_read[g->nodes[i]->in[k]->id] = true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        note_reads(lo, g->subgraphs[i]);
}

qrn_status qrn_lo_fp16_enter(qrn_lowering *lo) {
    if (!lo->fp16 || lo->graph->n_nodes == 0)
        return QRN_OK;
    lo->is_read = qrn_arena_alloc(lo->cg->arena, lo->n_by_id * sizeof *lo->is_read);
    if (!lo->is_read)
        return no_memory(lo);
    note_reads(lo, lo->graph);
    lo->node = lo->graph->nodes[0]; // the steps count as its own
    for (uint32_t i = 0; i < lo->graph->n_tensors; i++) {
        const qrn_tensor *t = lo->graph->tensors[i];
        qrn_val v;
        if (t->role != QRN_ROLE_INPUT || !lo->origin[t->id] || !lo->is_read[t->id])
            continue;
        QRN_TRY(qrn_lo_tensor(lo, t, &v));
        QRN_TRY(qrn_lo_fp16_operand(lo, &v));
    }
    return QRN_OK;
}

// --- operands and results

// The tensor of a value that still holds what the client gave; NULL: none, or rounded already.
static const qrn_tensor *raw_tensor(const qrn_lowering *lo, qrn_val v) {
    const qrn_cvalue *val = &lo->cg->values[v];
    const qrn_tensor *t = val->tensor_id && lo->fp16 ? lo->copies[val->tensor_id] : NULL;
    bool raw = t && val->kind != QRN_CV_TEMP && !is_written(lo, t) && lo->rounded[t->id] != v &&
               qrn_lo_fp16_stored(lo, t) != t &&
               (lo->fp16 != QRN_FP16_AS_F32 || val->dtype == QRN_DTYPE_F16);
    return raw ? t : NULL;
}

// Does the rounded form of a constant take its place? An op of a user's package may hold on to the
// client's numbers.
static bool replaces(const qrn_lowering *lo, const qrn_tensor *t) {
    const qrn_tensor *source = lo->origin[t->id];
    size_t count;
    return source->dtype == QRN_DTYPE_F32 && !source->updateable && !lo->has_user_ops &&
           qrn_shape_count(&t->shape, &count) && count >= LARGE;
}

// The rounded form of constant v, by description.
static qrn_status describe_rounded(qrn_lowering *lo, qrn_val v, qrn_val *out) {
    qrn_cconst c = {.kind = QRN_CONST_ROUNDED, .source = v};
    qrn_shape shape = lo->cg->values[v].shape;
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F32, &shape, NULL, out));
    return qrn_lo_be_constant(lo, *out, &c);
}

// The same without fp16, once for each constant: real numbers of quantized values.
static qrn_status describe_real(qrn_lowering *lo, qrn_val *v) {
    for (uint32_t i = 0; i < lo->n_conversions; i++)
        if (lo->conversions[i].from == *v &&
            lo->cg->values[lo->conversions[i].to].dtype == QRN_DTYPE_F32) {
            *v = lo->conversions[i].to;
            return QRN_OK;
        }
    if (!qrn_lo_grow((void **)&lo->conversions, &lo->cap_conversions, lo->n_conversions,
                     sizeof(qrn_conversion)))
        return no_memory(lo);
    qrn_val real;
    QRN_TRY(describe_rounded(lo, *v, &real));
    lo->conversions[lo->n_conversions++] = (qrn_conversion){*v, real};
    *v = real;
    return QRN_OK;
}

qrn_status qrn_lo_fp16_weights(qrn_lowering *lo, const qrn_tensor *t, qrn_val *v) {
    QRN_TRY(qrn_lo_tensor(lo, t, v));
    if (!lo->fp16)
        return describe_real(lo, v);
    bool rounded_now = qrn_lo_fp16_stored(lo, t) == t && lo->origin[t->id];
    bool is_it = lo->fp16 == QRN_FP16_AS_F32 && lo->cg->values[*v].dtype == QRN_DTYPE_F32;
    if (!qrn_lo_is_const(lo, *v) || !qrn_tensor_is_static(t) || rounded_now || is_it)
        return qrn_lo_fp16_operand(lo, v);
    if (lo->rounded[t->id] == QRN_VAL_NONE)
        QRN_TRY(describe_rounded(lo, *v, &lo->rounded[t->id]));
    *v = lo->rounded[t->id];
    return QRN_OK;
}

// A value like that of t, but rounded.
static qrn_status round_tensor(qrn_lowering *lo, const qrn_tensor *t, qrn_val v, qrn_val *out) {
    const qrn_cvalue *val = &lo->cg->values[v];
    if (val->kind != QRN_CV_CONST) {
        QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F32, &t->shape, NULL, out));
        lo->cg->values[*out].dynamic = lo->cg->values[v].dynamic;
        return rounding_step(lo, v, *out);
    }
    if (replaces(lo, t))
        return describe_rounded(lo, v, out);
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &t->shape, NULL, out, &data));
    qrn_view src = qrn_compiled_view(lo->cg, v);
    qrn_round_constant(&src, lo->fp16, data);
    return QRN_OK;
}

qrn_status qrn_lo_fp16_operand(qrn_lowering *lo, qrn_val *v) {
    const qrn_tensor *t = *v == QRN_VAL_NONE ? NULL : raw_tensor(lo, *v);
    if (!t || (qrn_lo_is_const(lo, *v) && !qrn_lo_const_data(lo, *v) && !replaces(lo, t)))
        return QRN_OK; // whoever wants data that is not there will say so
    if (lo->rounded[t->id] == QRN_VAL_NONE)
        QRN_TRY(round_tensor(lo, t, *v, &lo->rounded[t->id]));
    *v = lo->rounded[t->id];
    return QRN_OK;
}

static bool is_conversion(const qrn_cop *f) {
    return f == &qrn_cop_convert || f == &qrn_cop_cast || f == &qrn_cop_quantize;
}

// Does a conversion give the application floats that nothing was computed on?
static bool gives_raw(const qrn_lowering *lo, qrn_val in, qrn_val out) {
    const qrn_cvalue *y = &lo->cg->values[out];
    const qrn_tensor *t = y->tensor_id ? lo->copies[y->tensor_id] : NULL;
    return t && y->kind == QRN_CV_IO && !qrn_dtype_is_float(lo->cg->values[in].dtype) &&
           !lo->is_read[t->id];
}

qrn_status qrn_lo_fp16_prepare(qrn_lowering *lo, const qrn_cop **f, qrn_val *ins, uint32_t n_in,
                               const qrn_val *outs) {
    if (!lo->fp16 || *f == &qrn_cop_round_fp16)
        return QRN_OK;
    bool converts = lo->fp16 == QRN_FP16_AS_F32 && *f == &qrn_cop_convert;
    bool raw = reads_raw(lo->node) || converts;
    for (uint32_t i = 0; i < n_in && !raw; i++)
        QRN_TRY(qrn_lo_fp16_operand(lo, &ins[i]));
    if (*f != &qrn_cop_convert || lo->fp16 == QRN_FP16_AS_F32 || qrn_lo_fp16_asks(lo->node) ||
        gives_raw(lo, ins[0], outs[0]))
        return QRN_OK;
    qrn_dtype to = lo->cg->values[outs[0]].dtype;
    if (to == QRN_DTYPE_F32 || to == QRN_DTYPE_F16)
        *f = &qrn_cop_round_fp16;
    return QRN_OK;
}

static bool is_kept(const qrn_lowering *lo, float x) {
    return qrn_fp16_round((double)x, lo->fp16) == (double)x;
}

// Are the results some of the operands, but for the sign, or limits that fp16 can hold?
static bool selects(const qrn_lowering *lo, const qrn_cstep *s) {
    if (s->op == &qrn_cop_unary) {
        const qrn_unary_args *a = s->args;
        return a->op == QRN_UNARY_RELU || a->op == QRN_UNARY_ABS || a->op == QRN_UNARY_NEG ||
               (a->op == QRN_UNARY_CLAMP && is_kept(lo, a->low) && is_kept(lo, a->high));
    }
    if (s->op == &qrn_cop_binary) {
        uint32_t op = ((const qrn_binary_args *)s->args)->op;
        return op == QRN_BINARY_MAX || op == QRN_BINARY_MIN;
    }
    return false;
}

// Does a Cast read floats that an op of the graph has made? They are rounded.
static bool casts_rounded(const qrn_lowering *lo, const qrn_cstep *s) {
    const qrn_cvalue *x = &lo->cg->values[s->in[0]];
    return s->op == &qrn_cop_cast && x->kind == QRN_CV_TEMP && x->dtype == QRN_DTYPE_F32 &&
           x->tensor_id && lo->copies[x->tensor_id];
}

// Steps on the bytes of their operands move them, but for these families and a user's ops.
static bool computes(const qrn_lowering *lo, const qrn_cstep *s) {
    if (s->op == &qrn_cop_round_fp16 || !lo->node->op)
        return s->op != &qrn_cop_round_fp16;
    if (casts_rounded(lo, s))
        return false;
    bool raw = s->domain == QRN_DOMAIN_RAW;
    return raw ? s->op == &qrn_cop_cast || s->op == &qrn_cop_lut || s->op == &qrn_cop_binary
               : !selects(lo, s);
}

qrn_status qrn_lo_fp16_results(qrn_lowering *lo, const qrn_cstep *s) {
    if (!lo->fp16 || lo->fp16 == QRN_FP16_AS_F32 || !computes(lo, s))
        return QRN_OK;
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (s->out[i] == UINT32_MAX || (is_conversion(s->op) && gives_raw(lo, s->in[0], s->out[i])))
            continue;
        const qrn_cvalue *v = &lo->cg->values[s->out[i]];
        if (v->dtype != QRN_DTYPE_F32 || !v->tensor_id || !lo->copies[v->tensor_id])
            continue; // no float, or one on its way to a result
        qrn_view view = qrn_compiled_view(lo->cg, s->out[i]);
        if (v->kind == QRN_CV_CONST)
            qrn_round_view(&view, lo->fp16, view.data);
        else
            QRN_TRY(rounding_step(lo, s->out[i], s->out[i]));
    }
    return QRN_OK;
}
