// SPDX-License-Identifier: MIT
//
// Attention on quantized values: the definition, and when the vector rows run.
#define QRN_IO_BY_DEFINITION 1
#include "kernels/attention/attention_q.h"

#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/dots.h"
#include "kernels/softmax/softmax_q.h"
#include "kernels/softmax/softmax_rows.h"
#include "kernels/walk.h"

// Key or value `key` of a batch: element `col`, offset included.
static int64_t of_key(const qrn_kcall *k, uint32_t operand, size_t batch, size_t key, size_t col) {
    const qrn_attention_args *a = k->args;
    bool more = key >= a->keys[0], values = operand == QRN_ATT_V;
    const uint32_t *s = values ? (more ? a->more_v : a->v) : (more ? a->more_k : a->k);
    const qrn_view *v = k->in[more ? operand + QRN_ATT_MORE_K - QRN_ATT_K : operand];
    size_t at = qrn_att_batch_at(a, s, batch) + (more ? key - a->keys[0] : key) * s[QRN_ATT_KEY] +
                col * s[QRN_ATT_KEY_COL];
    return (int64_t)qrn_q_load(v, at) + v->quant->offset;
}

// Products of a row of queries with all keys, from element `at` on.
static void multiply_keys(const qrn_kcall *k, size_t batch, size_t row, size_t at) {
    const qrn_attention_args *a = k->args;
    const qrn_view *q = k->in[QRN_ATT_Q], *y = k->out[QRN_ATT_PRODUCTS];
    const qrn_requant r = qrn_requant_of(q, k->in[QRN_ATT_K], 0, y);
    size_t from = qrn_att_row_at(a, a->q, batch, row);
    for (size_t j = 0; j < qrn_att_keys(a); j++) {
        int64_t sum = 0;
        for (size_t d = 0; d < a->depth; d++)
            sum += ((int64_t)qrn_q_load(q, from + d * a->q[QRN_ATT_COL]) + q->quant->offset) *
                   of_key(k, QRN_ATT_K, batch, j, d);
        qrn_q_store(y, at + j, qrn_requantize(&r, sum));
    }
}

static void add_mask(const qrn_kcall *k, size_t batch, size_t row, size_t at) {
    const qrn_attention_args *a = k->args;
    const qrn_view scores = qrn_attention_q_scores(k);
    size_t from = qrn_att_row_at(a, a->mask, batch, row);
    for (size_t j = 0; j < qrn_att_keys(a); j++) {
        double x, m;
        qrn_io_load(&scores, at + j, 1, &x);
        qrn_io_load(k->in[QRN_ATT_MASK], from + j * a->mask[QRN_ATT_COL], 1, &m);
        x += m;
        qrn_io_store(k->out[QRN_ATT_MASKED], at + j, 1, &x);
    }
}

static void weigh(const qrn_kcall *k, size_t at) {
    const qrn_view scores = qrn_attention_q_scores(k);
    qrn_softmax_row r = {.x = qrn_att_in(k, QRN_ATT_MASK) ? k->out[QRN_ATT_MASKED] : &scores,
                         .beta = 1,
                         .at = at,
                         .n = qrn_att_keys(k->args),
                         .step = 1};
    qrn_softmax_measure(&r);
    for (size_t j = 0; j < r.n; j++) {
        double y = qrn_softmax_real(&r, j);
        qrn_io_store(k->out[QRN_ATT_WEIGHTS], at + j, 1, &y);
    }
}

static void multiply_values(const qrn_kcall *k, size_t batch, size_t row, size_t at) {
    const qrn_attention_args *a = k->args;
    const qrn_view *p = k->out[QRN_ATT_WEIGHTS], *y = k->out[QRN_ATT_Y];
    const qrn_requant r = qrn_requant_of(p, k->in[QRN_ATT_V], 0, y);
    size_t to = qrn_att_row_at(a, a->y, batch, row);
    for (size_t w = 0; w < a->width; w++) {
        int64_t sum = 0;
        for (size_t j = 0; j < qrn_att_keys(a); j++)
            sum += ((int64_t)qrn_q_load(p, at + j) + p->quant->offset) *
                   of_key(k, QRN_ATT_V, batch, j, w);
        qrn_q_store(y, to + w * a->y[QRN_ATT_COL], qrn_requantize(&r, sum));
    }
}

qrn_status qrn_attention_q_ref(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    size_t rows = qrn_att_rows(a), begin, end;
    qrn_split(qrn_att_batches(a) * rows, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t batch = i / rows, row = i % rows, at = i * qrn_att_keys(a);
        multiply_keys(k, batch, row, at);
        if (qrn_att_in(k, QRN_ATT_MASK))
            add_mask(k, batch, row, at);
        weigh(k, at);
        multiply_values(k, batch, row, at);
    }
    return QRN_OK;
}

uint32_t qrn_attention_q_ref_tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[QRN_ATT_Y]) * qrn_att_keys(k->args), n_threads);
}

// --- the vector rows

// Keys along their depth or side by side, values and results along their width.
static bool lies_well(const qrn_attention_args *a) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *s = i ? a->more_k : a->k, *v = i ? a->more_v : a->v;
        bool deep = s[QRN_ATT_KEY_COL] == 1 && a->depth <= QRN_DOTS_DEPTH;
        if (a->keys[i] && (v[QRN_ATT_KEY_COL] != 1 || !(deep || s[QRN_ATT_KEY] == 1)))
            return false;
    }
    return a->y[QRN_ATT_COL] == 1 && a->mask[QRN_ATT_COL] <= 1;
}

bool qrn_attention_q_works(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    const qrn_view *mask = qrn_att_in(k, QRN_ATT_MASK);
    size_t keys = qrn_att_keys(a);
    if (!lies_well(a) || qrn_att_rows(a) > QRN_ATT_FEW || (mask && a->mask[QRN_ATT_COL] != 1))
        return false;
    qrn_view all = qrn_attention_q_scores(k);
    qrn_view scores =
        qrn_attention_q_rows(mask ? k->out[QRN_ATT_MASKED] : &all, 0, qrn_att_rows(a), keys);
    qrn_view weights = qrn_attention_q_rows(k->out[QRN_ATT_WEIGHTS], 0, qrn_att_rows(a), keys);
    qrn_view *in[] = {&scores}, *out[] = {&weights};
    const qrn_softmax_args args = {.axis = 1, .beta = 1};
    const qrn_kcall call = {.args = &args, .in = in, .out = out, .n_in = 1, .n_out = 1};
    return qrn_dots_fits(k->in[QRN_ATT_Q], k->in[QRN_ATT_K], k->out[QRN_ATT_PRODUCTS], a->depth) &&
           qrn_dots_fits(k->out[QRN_ATT_WEIGHTS], k->in[QRN_ATT_V], k->out[QRN_ATT_Y], keys) &&
           qrn_softmax_q_works(&call);
}

uint32_t qrn_attention_q_tasks(const qrn_kcall *k, uint32_t n_threads) {
    size_t batches = qrn_att_batches(k->args);
    uint32_t most =
        qrn_walk_tasks(qrn_view_count(k->out[QRN_ATT_Y]) * qrn_att_keys(k->args) / 8, n_threads);
    return most < batches ? most : (uint32_t)batches;
}

// Rows of queries, rows of weights, one after the other, and what softmax takes.
size_t qrn_attention_q_scratch(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    size_t keys = qrn_att_keys(a), longest = a->depth > keys ? a->depth : keys;
    qrn_view row = {.rank = 1, .dims = {(uint32_t)keys}}, *in[] = {&row};
    const qrn_kcall call = {.in = in, .n_in = 1, .n_tasks = 1};
    size_t softmax = (qrn_softmax_q_scratch(&call) + 63) / 64 * 64;
    return k->n_tasks * (qrn_dots_room(longest) + softmax);
}
