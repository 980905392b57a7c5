// SPDX-License-Identifier: MIT
//
// Attention: matmul, softmax and matmul in one kernel, which reads queries, keys and values where
// they are and writes its result in the order that the next step wants.
#include "bind/gpu/gemm.h"
#include "bind/gpu/strided.h"

#include "base/mem.h"
#include "kernels/eltwise/binary.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/move/layout.h"
#include "kernels/softmax/softmax.h"

#include <string.h>

#define MAX_DEPTH 128 // of a head
#define WARPS 8       // that share the keys of 16 queries
#define FEW_WARPS 5   // where groups of 8 would run one after the other

typedef struct qrn_gpu_attention {
    uint32_t scores, softmax, product; // steps: two matmuls and what is between them
    qrn_gpu_strided q, k, v;
    qrn_val mask;                // added to the scores, or QRN_VAL_NONE
    double scale;                // of the scores
    qrn_val y;                   // what is written
    uint32_t rank;               // of the scores
    uint32_t perm[QRN_MAX_RANK]; // dimension d of y is dimension perm[d] of the product
    uint32_t absorbed;           // the transpose that y comes from; UINT32_MAX: none
} qrn_gpu_attention;

// --- finding it

static const qrn_cstep *step_of(const qrn_gpu_binder *b, uint32_t i) { return &b->cg->steps[i]; }

// The step that makes a value, all of it, which only one step reads; UINT32_MAX: there is none.
static uint32_t maker(const qrn_gpu_binder *b, qrn_val v) {
    qrn_val owner = qrn_compiled_owner(b->cg, v);
    uint32_t i = b->writer[owner];
    return i && b->readers[owner] == 1 && qrn_gpu_is_whole(b, v) &&
                   b->cg->values[owner].kind == QRN_CV_TEMP
               ? i - 1
               : UINT32_MAX;
}

// The only reader of all that a step makes.
static uint32_t reader(const qrn_gpu_binder *b, uint32_t at) {
    qrn_val v = step_of(b, at)->out[0], owner = qrn_compiled_owner(b->cg, v);
    if (b->readers[owner] != 1 || !qrn_gpu_is_whole(b, v) ||
        b->cg->values[owner].kind != QRN_CV_TEMP)
        return UINT32_MAX;
    for (uint32_t i = at + 1; i < b->cg->n_steps; i++)
        for (uint32_t k = 0; k < step_of(b, i)->n_in; k++)
            if (step_of(b, i)->in[k] != QRN_VAL_NONE &&
                qrn_compiled_owner(b->cg, step_of(b, i)->in[k]) == owner)
                return i;
    return UINT32_MAX;
}

// Back from the softmax over scalings and a mask to the matmul of scores.
static bool find_scores(const qrn_gpu_binder *b, qrn_gpu_attention *a) {
    qrn_val v = step_of(b, a->softmax)->in[0];
    for (int way = 0; way < 4; way++) {
        uint32_t i = maker(b, v);
        const qrn_cstep *s = i == UINT32_MAX ? NULL : step_of(b, i);
        uint32_t floats = 0;
        double factor = 1.0;
        if (!s || s->domain != QRN_DOMAIN_F32)
            return false;
        if (s->op == &qrn_cop_matmul) {
            a->scores = i;
            return true;
        }
        if (!qrn_gpu_scales(b, s, &floats, &factor)) {
            if (s->op != &qrn_cop_binary || a->mask != QRN_VAL_NONE || a->scale != 1.0 ||
                ((const qrn_binary_args *)s->args)->op != QRN_BINARY_ADD ||
                qrn_gpu_count(b, s->in[0]) != qrn_gpu_count(b, s->out[0]))
                return false;
            a->mask = s->in[1];
        }
        a->scale *= factor;
        v = s->in[floats];
    }
    return false;
}

static bool plain_matmul(const qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_matmul_args *m = s->args;
    uint32_t rank = qrn_gpu_value(b, s->out[0])->shape.rank;
    return s->op == &qrn_cop_matmul && s->domain == QRN_DOMAIN_F32 && !m->transpose_a && !m->flat &&
           !m->clamp.on && (s->n_in < 3 || s->in[2] == QRN_VAL_NONE) && rank >= 2 &&
           qrn_gpu_value(b, s->in[0])->shape.rank == rank &&
           qrn_gpu_value(b, s->in[1])->shape.rank == rank;
}

// Where the transpose behind the product, if that is all that reads it, puts its elements.
static void find_output(const qrn_gpu_binder *b, qrn_gpu_attention *a) {
    uint32_t next = reader(b, a->product);
    a->y = step_of(b, a->product)->out[0];
    a->absorbed = UINT32_MAX;
    for (uint32_t d = 0; d < a->rank; d++)
        a->perm[d] = d;
    const qrn_cstep *t = next == UINT32_MAX ? NULL : step_of(b, next);
    if (!t || t->op != &qrn_cop_transpose || t->in[0] != a->y)
        return;
    a->absorbed = next;
    a->y = t->out[0];
    memcpy(a->perm, ((const qrn_transpose_args *)t->args)->perm, a->rank * sizeof *a->perm);
}

static bool shapes_fit(const qrn_gpu_binder *b, const qrn_gpu_attention *a) {
    const qrn_shape *q = &qrn_gpu_value(b, step_of(b, a->scores)->in[0])->shape;
    const qrn_shape *p = &qrn_gpu_value(b, step_of(b, a->product)->out[0])->shape;
    uint32_t depth = q->dims[q->rank - 1], wide = p->dims[p->rank - 1];
    int64_t stride;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (d + 2 < a->rank && q->dims[d] != p->dims[d])
            return false;
        if (!qrn_gpu_stride_of(&a->q, d, &stride) || !qrn_gpu_stride_of(&a->k, d, &stride) ||
            !qrn_gpu_stride_of(&a->v, d, &stride))
            return false;
    }
    return depth <= MAX_DEPTH && wide <= MAX_DEPTH && depth % 8 == 0 && wide % 8 == 0;
}

static bool match(const qrn_gpu_binder *b, uint32_t softmax, qrn_gpu_attention *a) {
    const qrn_cstep *s = step_of(b, softmax);
    const qrn_softmax_args *args = s->args;
    *a = (qrn_gpu_attention){.softmax = softmax, .mask = QRN_VAL_NONE, .scale = 1.0};
    a->rank = qrn_gpu_value(b, s->out[0])->shape.rank;
    if (s->domain != QRN_DOMAIN_F32 || args->log || args->beta != 1.0f || a->rank < 2 ||
        args->axis != a->rank - 1)
        return false;
    a->product = reader(b, softmax);
    if (a->product == UINT32_MAX || !plain_matmul(b, step_of(b, a->product)) ||
        step_of(b, a->product)->in[0] != s->out[0] || !find_scores(b, a) ||
        !plain_matmul(b, step_of(b, a->scores)) ||
        qrn_gpu_value(b, step_of(b, a->scores)->out[0])->shape.rank != a->rank)
        return false;
    a->q = qrn_gpu_strided_of(b, step_of(b, a->scores)->in[0]);
    a->k = qrn_gpu_strided_of(b, step_of(b, a->scores)->in[1]);
    a->v = qrn_gpu_strided_of(b, step_of(b, a->product)->in[1]);
    a->scale *= a->q.scale * a->k.scale;
    find_output(b, a);
    return a->v.scale == 1.0 && shapes_fit(b, a);
}

// Marks what an attention reads in place of the operands of its steps.
static void read_attention(const qrn_gpu_binder *b, const qrn_gpu_attention *a, bool *live) {
    const qrn_val read[] = {a->q.base, a->k.base, a->v.base, a->mask};
    for (int i = 0; i < 4; i++)
        if (read[i] != QRN_VAL_NONE)
            live[qrn_compiled_owner(b->cg, read[i])] = true;
}

// Steps whose results nobody reads any more are left out.
static void skip_unread(qrn_gpu_binder *b, bool *live) {
    const qrn_compiled *cg = b->cg;
    for (uint32_t v = 0; v < cg->n_values; v++)
        live[v] = cg->values[v].kind == QRN_CV_IO;
    for (uint32_t i = cg->n_steps; i-- > 0;) {
        const qrn_cstep *s = &cg->steps[i];
        bool needed = s->n_out == 0 || s->state_bytes > 0;
        for (uint32_t k = 0; k < s->n_out; k++)
            needed |= s->out[k] != QRN_VAL_NONE && live[qrn_compiled_owner(cg, s->out[k])];
        b->skip[i] = !needed;
        if (needed && b->attention[i])
            read_attention(b, b->attention[i], live);
        for (uint32_t k = 0; needed && !b->attention[i] && k < s->n_in; k++)
            if (s->in[k] != QRN_VAL_NONE)
                live[qrn_compiled_owner(cg, s->in[k])] = true;
    }
    for (uint32_t i = 0; i < cg->n_steps; i++)
        if (b->attention[i] && b->attention[i]->absorbed != UINT32_MAX)
            b->skip[b->attention[i]->absorbed] = true;
}

qrn_status qrn_gpu_find_attention(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    b->skip = qrn_arena_alloc(cg->arena, cg->n_steps + 1u);
    b->attention = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *b->attention);
    bool *live = qrn_calloc(cg->n_values + 1u);
    if (!b->skip || !b->attention || !live) {
        qrn_free(live);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    }
    memset(b->skip, 0, cg->n_steps);
    memset(b->attention, 0, cg->n_steps * sizeof *b->attention);
    bool any = false;
    for (uint32_t i = 0; i < cg->n_steps && !b->opt->keep_nodes; i++) {
        qrn_gpu_attention a, *copy;
        if (cg->steps[i].kind != QRN_CSTEP_OP || cg->steps[i].op != &qrn_cop_softmax ||
            !qrn_gpu_kind_enabled("attention") || !match(b, i, &a))
            continue;
        copy = qrn_arena_copy(cg->arena, &a, sizeof a);
        if (copy)
            b->attention[a.product] = copy;
        any |= copy != NULL;
    }
    if (any)
        skip_unread(b, live);
    qrn_free(live);
    return QRN_OK;
}

bool qrn_gpu_is_attention(const qrn_gpu_binder *b, const qrn_cstep *s) {
    return b->attention[s - b->cg->steps] != NULL;
}

// --- the launch

// Parameters: queries, keys, leading dimensions; strides of rows and columns: q, k, v, y, mask;
// then for each leading dimension from the last to the first its size and strides in q, k, v, y,
// mask.
#define FIXED 13
#define PER_LEAD 6

// Strides of a broadcast value over the dimensions of the scores.
static void mask_strides(const qrn_gpu_binder *b, const qrn_gpu_attention *a, int64_t *strides) {
    const qrn_shape *m = a->mask == QRN_VAL_NONE ? NULL : &qrn_gpu_value(b, a->mask)->shape;
    int64_t stride = 1;
    for (uint32_t d = 0; d < a->rank; d++) {
        uint32_t own = m && d < m->rank ? m->dims[m->rank - 1 - d] : 1;
        strides[a->rank - 1 - d] = own == 1 ? 0 : stride;
        stride *= own;
    }
}

static void output_strides(const qrn_gpu_binder *b, const qrn_gpu_attention *a, int64_t *strides) {
    const qrn_shape *y = &qrn_gpu_value(b, a->y)->shape;
    int64_t stride = 1;
    for (uint32_t d = y->rank; d-- > 0; stride *= y->dims[d])
        strides[a->perm[d]] = stride;
}

static int64_t single(const qrn_gpu_strided *s, uint32_t dim) {
    int64_t stride;
    qrn_gpu_stride_of(s, dim, &stride);
    return stride;
}

static void fill_params(const qrn_gpu_binder *b, const qrn_gpu_attention *a, int32_t *p) {
    int64_t y[QRN_MAX_RANK], m[QRN_MAX_RANK];
    const qrn_shape *s = &qrn_gpu_value(b, step_of(b, a->scores)->out[0])->shape;
    uint32_t row = a->rank - 2, col = a->rank - 1;
    bool turned = ((const qrn_matmul_args *)step_of(b, a->scores)->args)->transpose_b;
    bool v_turned = ((const qrn_matmul_args *)step_of(b, a->product)->args)->transpose_b;
    output_strides(b, a, y);
    mask_strides(b, a, m);
    const int64_t fixed[FIXED] = {s->dims[row],
                                  s->dims[col],
                                  a->rank - 2,
                                  single(&a->q, row),
                                  single(&a->q, col),
                                  single(&a->k, turned ? row : col),
                                  single(&a->k, turned ? col : row),
                                  single(&a->v, v_turned ? col : row),
                                  single(&a->v, v_turned ? row : col),
                                  y[row],
                                  y[col],
                                  m[row],
                                  m[col]};
    for (int i = 0; i < FIXED; i++)
        p[i] = (int32_t)fixed[i];
    for (uint32_t d = 0; d + 2 < a->rank; d++) {
        uint32_t from = a->rank - 3 - d;
        const int64_t lead[PER_LEAD] = {
            s->dims[from], single(&a->q, from), single(&a->k, from), single(&a->v, from), y[from],
            m[from]};
        for (int i = 0; i < PER_LEAD; i++)
            p[FIXED + PER_LEAD * d + i] = (int32_t)lead[i];
    }
}

static qrn_dtype stored(const qrn_gpu_binder *b, qrn_val v) { return b->plan->places[v].type; }

// Can tensor cores read it: one type, 16 bytes at a time along the depth of queries and keys?
static bool suits_mma(const qrn_gpu_binder *b, const qrn_gpu_attention *a, const int32_t *p) {
    qrn_dtype t = stored(b, a->q.base);
    int32_t chunk = t == QRN_DTYPE_F16 ? 8 : 4;
    bool ok = b->opt->device && b->opt->device->mma && qrn_gpu_kind_enabled("mma") &&
              stored(b, a->k.base) == t && stored(b, a->v.base) == t &&
              (t == QRN_DTYPE_F16 || t == QRN_DTYPE_F32) && p[4] == 1 && p[6] == 1 &&
              p[3] % chunk == 0 && p[5] % chunk == 0 && a->q.offset % chunk == 0 &&
              a->k.offset % chunk == 0;
    for (int32_t d = 0; d < p[2]; d++)
        ok = ok && p[FIXED + PER_LEAD * d + 1] % chunk == 0 &&
             p[FIXED + PER_LEAD * d + 2] % chunk == 0;
    return ok;
}

// Their parts must fit local memory. In f32 the registers of a unit have room for one group of 8
// warps only: where there are more groups than units, smaller ones run at once (197 tokens, 12
// heads on an H200: ViT-B/16 takes 4 % less).
static size_t warps_of(const qrn_gpu_binder *b, size_t groups, size_t wide, bool f16) {
    if (wide > 64)
        return WARPS / 2;
    return !f16 && groups > b->opt->device->info->n_units ? FEW_WARPS : WARPS;
}

qrn_status qrn_gpu_bind_attention(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_gpu_attention *a = b->attention[s - b->cg->steps];
    const qrn_shape *q = &qrn_gpu_value(b, step_of(b, a->scores)->in[0])->shape;
    const qrn_shape *y = &qrn_gpu_value(b, s->out[0])->shape;
    int32_t p[FIXED + PER_LEAD * QRN_MAX_RANK];
    size_t heads = 1, rows = q->dims[a->rank - 2];
    for (uint32_t d = 0; d + 2 < a->rank; d++)
        heads *= q->dims[d];
    fill_params(b, a, p);
    bool mma = suits_mma(b, a, p);
    qrn_gpu_kernel k = mma ? qrn_gpu_kernel_begin(b, qrn_cl_attention_mma, "attention_mma")
                           : qrn_gpu_kernel_begin(b, qrn_cl_attention, "attention");
    qrn_gpu_in(&k, "Q", a->q.base);
    qrn_gpu_in(&k, "K", a->k.base);
    qrn_gpu_in(&k, "V", a->v.base);
    qrn_gpu_in(&k, "M", a->mask);
    qrn_gpu_out(&k, "Y", a->y);
    uint32_t n_params = FIXED + PER_LEAD * (a->rank - 2);
    if (mma)
        qrn_gpu_direct_params(&k, "P", p, n_params);
    else
        qrn_gpu_params(&k, "P", p, n_params);
    qrn_gpu_int(&k, a->q.offset);
    qrn_gpu_int(&k, a->k.offset);
    qrn_gpu_int(&k, a->v.offset);
    qrn_gpu_float(&k, (float)a->scale);
    qrn_gpu_define(&k, "DEPTH", "%u", q->dims[a->rank - 1]);
    qrn_gpu_define(&k, "WIDE", "%u", y->dims[a->rank - 1]);
    if (!mma)
        return qrn_gpu_kernel_end(&k, 2, (size_t[]){rows, heads}, NULL);
    bool f16 = stored(b, a->q.base) == QRN_DTYPE_F16;
    qrn_gpu_define(&k, "F16", "%d", f16);
    qrn_gpu_define(&k, "LEADS", "%d", p[2]);
    size_t warps = warps_of(b, (rows + 15) / 16 * heads, y->dims[a->rank - 1], f16);
    qrn_gpu_define(&k, "WARPS", "%zu", warps);
    return qrn_gpu_kernel_end(&k, 2, (size_t[]){(rows + 15) / 16 * 32 * warps, heads},
                              (size_t[]){32 * warps, 1});
}
