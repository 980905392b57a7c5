// SPDX-License-Identifier: MIT
//
// Tables that are the weights of a GEMM, too: the embedding of a language model and its last layer.
// Gather then reads its rows out of the packed weights, and neither memory nor a context binary
// holds the table a second time.
#include "bind/cpu/binder.h"

#include "base/mem.h"
#include "kernels/gemm/dense/dense_table.h"
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/move/gather.h"

#define BLOCK 32 // rows and columns that are compared together: they stay in the first cache

// The table of a Gather.
typedef struct table {
    qrn_val source; // the tensor
    uint32_t rows, depth;
    bool bytes; // signed; else floats
    qrn_cpu_packing form;
    qrn_shape shape;
} table;

static bool is_bytes(qrn_dtype d) {
    return qrn_dtypes[d].cls == QRN_CLASS_SFIXED && qrn_dtypes[d].bits == 8;
}

// The form of floats, of fp16 or of signed bytes.
static void form_of(const qrn_step *s, bool fp16, table *t) {
    bool bytes = t->bytes;
    uint32_t panels = (uint32_t)qrn_panels(t->rows), steps = (uint32_t)qrn_q8_steps(t->depth);
    t->shape = bytes ? (qrn_shape){.rank = 4, .dims = {panels, steps, QRN_PANEL, QRN_Q8_DEPTH}}
                     : (qrn_shape){.rank = 3, .dims = {panels, t->depth, QRN_PANEL}};
    t->form = (qrn_cpu_packing){.id = bytes  ? QRN_PACKING_DENSE8
                                      : fp16 ? QRN_PACKING_DENSE_F16
                                             : QRN_PACKING_DENSE_F32,
                                .node = s->node,
                                .source = t->source,
                                .dtype = bytes  ? QRN_DTYPE_I8
                                         : fp16 ? QRN_DTYPE_F16
                                                : QRN_DTYPE_F32,
                                .shape = &t->shape};
}

static bool table_of(const qrn_cpu_binder *b, const qrn_step *s, table *t) {
    const qrn_compiled *cg = b->cg;
    if (s->family != &qrn_family_gather || ((const qrn_axis_args *)s->args)->axis != 0)
        return false;
    const qrn_cvalue *x = &cg->values[s->in[0]], *y = &cg->values[s->out[0]];
    bool bytes = t->bytes = is_bytes(x->dtype);
    if (x->kind != QRN_CV_CONST || x->shape.rank != 2 || (x->dtype != QRN_DTYPE_F32 && !bytes) ||
        y->dtype != x->dtype || y->dynamic || cg->values[s->in[1]].dynamic)
        return false;
    const qrn_cconst *c = &cg->constants[x->constant];
    bool rounded = c->kind == QRN_CONST_ROUNDED;
    t->source = rounded ? c->source : s->in[0];
    const qrn_cconst *own = &cg->constants[cg->values[t->source].constant];
    t->rows = x->shape.dims[0];
    t->depth = x->shape.dims[1];
    form_of(s, rounded, t);
    return own->kind == QRN_CONST_TENSOR && !own->updateable &&
           (bytes ? !rounded : rounded == (cg->half != 0));
}

// Is element (k, j) of the weights the table's (j, k), bit by bit?
#define COMPARE(T)                                                                                 \
    const T *a = x, *w = y;                                                                        \
    for (size_t j0 = 0; j0 < t->rows; j0 += BLOCK)                                                 \
        for (size_t k0 = 0; k0 < t->depth; k0 += BLOCK)                                            \
            for (size_t j = j0; j < j0 + BLOCK && j < t->rows; j++)                                \
                for (size_t k = k0; k < k0 + BLOCK && k < t->depth; k++)                           \
                    if (a[j * t->depth + k] != w[k * w_depth + j * w_col])                         \
                        return false;                                                              \
    return true

static bool equal4(const table *t, const void *x, const void *y, size_t w_depth, size_t w_col) {
    COMPARE(uint32_t);
}

static bool equal1(const table *t, const void *x, const void *y, size_t w_depth, size_t w_col) {
    COMPARE(uint8_t);
}

static bool equal2(const table *t, const void *x, const void *y, size_t w_depth, size_t w_col) {
    COMPARE(uint16_t);
}

// Are these packed weights the table?
static bool is_table(const qrn_cpu_binder *b, const table *t, const qrn_plan_packing *k) {
    const qrn_cvalue *x = &b->cg->values[t->source], *w = &b->cg->values[k->source];
    const qrn_view *packed = &b->plan->values[k->value].view;
    size_t w_depth, w_col, bits = qrn_dtypes[x->dtype].bits;
    bool bytes = is_bytes(x->dtype);
    if (k->id != t->form.id || packed->dims[0] != t->shape.dims[0] ||
        packed->dims[1] != t->shape.dims[1] || w->dtype != x->dtype ||
        (!bytes && (qrn_dtype_is_fixed(x->dtype) || (bits != 32 && bits != 16))))
        return false;
    if (!(bytes ? qrn_cpu_bytes_are_plain(k, t->rows, t->depth, &w_depth, &w_col)
                : qrn_cpu_gemm_is_plain(k, t->rows, &w_depth, &w_col)))
        return false;
    if (k->source == t->source)
        return w_depth == 1 && w_col == t->depth;
    const qrn_cconst *c = &b->cg->constants[w->constant];
    const void *own = b->cg->constants[x->constant].data;
    if (!own || !k->src || c->updateable)
        return false;
    return bits == 32   ? equal4(t, own, k->src, w_depth, w_col)
           : bits == 16 ? equal2(t, own, k->src, w_depth, w_col)
                        : equal1(t, own, k->src, w_depth, w_col);
}

static qrn_status find_form(qrn_cpu_binder *b, table *t, qrn_val *out) {
    qrn_plan *p = b->plan;
    t->form.shape = &t->shape;
    if (qrn_cpu_was_packed(b, &t->form))
        return qrn_cpu_pack(b, &t->form, out);
    for (uint32_t i = 0; i < p->n_packings; i++)
        if (is_table(b, t, &p->packings[i]))
            return qrn_cpu_share(b, &t->form, &p->packings[i], out);
    return QRN_E_UNSUPPORTED;
}

// Weights of a graph of f32 may be packed as fp16, too.
static qrn_status find_packed(qrn_cpu_binder *b, const qrn_step *s, table *t, qrn_val *out) {
    qrn_status st = find_form(b, t, out);
    if (st != QRN_E_UNSUPPORTED || t->bytes || b->cg->half)
        return st;
    form_of(s, true, t);
    return find_form(b, t, out);
}

qrn_status qrn_cpu_tables(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        qrn_val ins[2];
        table t;
        if (s->kind != QRN_STEP_KERNEL || !table_of(b, s, &t))
            continue;
        qrn_status st = find_packed(b, s, &t, &ins[0]);
        if (st == QRN_E_UNSUPPORTED)
            continue;
        QRN_TRY(st);
        qrn_dense_table_args a = {t.rows, t.depth, b->cg->half == QRN_FP16_WIDE_RANGE};
        ins[1] = s->in[1];
        s->family = &qrn_family_dense_table;
        s->args = qrn_arena_copy(p->arena, &a, sizeof a);
        s->in = qrn_arena_copy(p->arena, ins, sizeof ins);
        if (!s->args || !s->in)
            return qrn_cpu_no_memory(b);
    }
    return QRN_OK;
}
