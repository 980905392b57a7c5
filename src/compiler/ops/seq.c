// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group seq: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "base/fp16.h"
#include "kernels/attention/attention.h"
#include "kernels/buffer/buffer.h"
#include "kernels/element_io.h"
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/random/random.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/signal/stft.h"

static const char other_type[] = "the type of an operand is not that of the domain";
static const char wrong_shape[] = "the shape of an operand does not fit the others";

// All operands are dense, and the first n_in inputs and all outputs have the type of the domain.
static const char *reals(const qrn_kcall *k, uint32_t n_in, qrn_domain domain) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    for (uint32_t i = 0; i < k->n_in && i < n_in; i++)
        QRN_NEED(qrn_chk_real(k->in[i], domain), other_type);
    for (uint32_t i = 0; i < k->n_out; i++)
        QRN_NEED(qrn_chk_real(k->out[i], domain), other_type);
    return NULL;
}

// Plain integers, as counts and positions are.
static bool is_integer(const qrn_view *v) { return !v || qrn_dtype_is_int(v->dtype); }

// Has the operand this shape? An absent one passes.
#define IS_SHAPED(v, rank, ...) (!(v) || qrn_chk_dims(v, rank, (const size_t[]){__VA_ARGS__}))

// --- recurrent layers

// A flag that says whether to begin anew.
static const char *check_reset(const qrn_view *v) {
    QRN_NEED(qrn_chk_type(v, QRN_T(B8)), "the reset operand is not a bool");
    QRN_NEED(!v || qrn_view_count(v) == 1, "the reset operand is not a single value");
    return NULL;
}

typedef struct sizes {
    size_t batch, input, units, out; // out: size of h
} sizes;

static bool x_is_shaped(const qrn_view *x) { return x->rank == 2 || x->rank == 3; }

static sizes sizes_of(const qrn_kcall *k, bool time_major) {
    enum { W_X = 1, W_H = 4 };
    const qrn_view *x = k->in[0];
    return (sizes){.batch = x->dims[x->rank == 3 && time_major],
                   .input = x->dims[x->rank - 1],
                   .units = k->in[W_X]->dims[0],
                   .out = k->in[W_H]->dims[1]};
}

// Operands first..last have one shape or are absent.
static bool are_shaped(const qrn_kcall *k, uint32_t first, uint32_t last, uint32_t rank,
                       const size_t *dims) {
    for (uint32_t i = first; i <= last; i++) {
        const qrn_view *v = qrn_chk_in(k, i);
        if (v && !qrn_chk_dims(v, rank, dims))
            return false;
    }
    return true;
}

// h of all steps has the shape of x but for the last dimension.
static bool is_h_of_all(const qrn_view *x, const qrn_view *y, size_t out) {
    return qrn_chk_same_but(x, y, x->rank - 1) && y->dims[y->rank - 1] == out;
}

static const char *check_state(size_t batch, size_t per_row) {
    size_t doubles;
    QRN_NEED(qrn_mul_size(batch, per_row, &doubles) && doubles <= SIZE_MAX / sizeof(double),
             "the state is larger than memory can be");
    return NULL;
}

enum { LSTM_X_LAST = 3, LSTM_H_LAST = 6, LSTM_B_LAST = 9, LSTM_H_INIT, LSTM_C_INIT };
enum { LSTM_LN = 12, LSTM_LN_LAST = 15, LSTM_XI, LSTM_HI, LSTM_CI, LSTM_BI = 21 };
enum { LSTM_PROJ = 22, LSTM_B_PROJ, LSTM_RESET };

static const char *check_lstm_shapes(const qrn_kcall *k, sizes n) {
    const size_t per_unit[] = {n.units}, from_x[] = {n.units, n.input};
    const size_t from_h[] = {n.units, n.out}, proj[] = {n.out, n.units};
    const size_t h[] = {n.batch, n.out}, c[] = {n.batch, n.units};
    QRN_NEED(qrn_chk_in(k, LSTM_PROJ) || n.units == n.out,
             "h and c differ in size without a projection");
    QRN_NEED(are_shaped(k, 1, LSTM_X_LAST, 2, from_x) &&
                 are_shaped(k, LSTM_X_LAST + 1, LSTM_H_LAST, 2, from_h) &&
                 are_shaped(k, LSTM_H_LAST + 1, LSTM_B_LAST, 1, per_unit) &&
                 are_shaped(k, LSTM_H_INIT, LSTM_H_INIT, 2, h) &&
                 are_shaped(k, LSTM_C_INIT, LSTM_C_INIT, 2, c) &&
                 are_shaped(k, LSTM_LN, LSTM_LN_LAST, 1, per_unit) &&
                 are_shaped(k, LSTM_XI, LSTM_XI, 2, from_x) &&
                 are_shaped(k, LSTM_HI, LSTM_HI, 2, from_h) &&
                 are_shaped(k, LSTM_CI, LSTM_BI, 1, per_unit) &&
                 are_shaped(k, LSTM_PROJ, LSTM_PROJ, 2, proj) &&
                 are_shaped(k, LSTM_B_PROJ, LSTM_B_PROJ, 1, &n.out),
             wrong_shape);
    QRN_NEED(is_h_of_all(k->in[0], k->out[0], n.out), wrong_shape);
    for (uint32_t o = 1; o < k->n_out; o++) {
        bool is_hidden = o == 2 || o == 7; // h_last, hidden_state; the others are per unit
        QRN_NEED(!k->out[o] || qrn_chk_dims(k->out[o], 2, is_hidden ? h : c), wrong_shape);
    }
    return NULL;
}

static const char *check_lstm(const qrn_kcall *k, qrn_domain domain) {
    const qrn_lstm_args *a = k->args;
    QRN_NEED_ALSO(reals(k, LSTM_RESET, domain));
    QRN_NEED_ALSO(check_reset(qrn_chk_in(k, LSTM_RESET)));
    QRN_NEED(x_is_shaped(k->in[0]), "in[0] has neither 2 nor 3 dimensions");
    QRN_NEED(k->in[1]->rank == 2 && k->in[4]->rank == 2, wrong_shape);
    QRN_NEED(!qrn_chk_in(k, LSTM_XI) == !qrn_chk_in(k, LSTM_HI),
             "one weight of the input gate is missing");
    sizes n = sizes_of(k, a->time_major);
    QRN_NEED_ALSO(check_state(n.batch, 1 + n.out + n.units));
    return check_lstm_shapes(k, n);
}

// A single step begins with the initial values whatever `reset` says.
static size_t lstm_state(const qrn_kcall *k) {
    const qrn_lstm_args *a = k->args;
    sizes n = sizes_of(k, a->time_major);
    bool goes_on = qrn_chk_in(k, LSTM_RESET) && k->in[0]->rank == 3;
    return goes_on ? qrn_recurrent_state(n.batch, n.out, n.units) : 0;
}

enum { GRU_X_LAST = 3, GRU_H_LAST = 6, GRU_B_LAST = 12, GRU_H_INIT, GRU_RESET };

static const char *check_gru(const qrn_kcall *k, qrn_domain domain) {
    const qrn_gru_args *a = k->args;
    QRN_NEED_ALSO(reals(k, GRU_RESET, domain));
    QRN_NEED_ALSO(check_reset(qrn_chk_in(k, GRU_RESET)));
    QRN_NEED(k->in[0]->rank == 3, "in[0] has not 3 dimensions");
    QRN_NEED(k->in[1]->rank == 2 && k->in[4]->rank == 2, wrong_shape);
    sizes n = sizes_of(k, a->time_major);
    const size_t from_x[] = {n.units, n.input}, from_h[] = {n.units, n.units};
    const size_t h[] = {1, n.batch, n.units};
    QRN_NEED(are_shaped(k, 1, GRU_X_LAST, 2, from_x) &&
                 are_shaped(k, GRU_X_LAST + 1, GRU_H_LAST, 2, from_h) &&
                 are_shaped(k, GRU_H_LAST + 1, GRU_B_LAST, 1, from_h) &&
                 are_shaped(k, GRU_H_INIT, GRU_H_INIT, 3, h) &&
                 is_h_of_all(k->in[0], k->out[0], n.units) && qrn_chk_dims(k->out[1], 3, h),
             wrong_shape);
    return check_state(n.batch, 1 + n.units);
}

static size_t gru_state(const qrn_kcall *k) {
    const qrn_gru_args *a = k->args;
    sizes n = sizes_of(k, a->time_major);
    return qrn_chk_in(k, GRU_RESET) ? qrn_recurrent_state(n.batch, n.units, 0) : 0;
}

// --- attention

// The mask broadcasts to [batch, heads, queries, all keys].
static bool mask_fits(const qrn_view *mask, const size_t *full) {
    if (mask && mask->rank > 4)
        return false;
    for (uint32_t d = 0; mask && d < mask->rank; d++)
        if (mask->dims[d] != 1 && mask->dims[d] != full[4 - mask->rank + d])
            return false;
    return true;
}

static const char *check_gqa(const qrn_kcall *k, qrn_domain domain) {
    enum { Q, K, V, PAST_K, PAST_V, MASK, COUNTS };
    const qrn_gqa_args *a = k->args;
    const qrn_view *q = k->in[Q], *fresh = k->in[K], *past = qrn_chk_in(k, PAST_K);
    QRN_NEED_ALSO(reals(k, COUNTS, domain));
    QRN_NEED(is_integer(qrn_chk_in(k, COUNTS)), "in[6] has no integers");
    QRN_NEED(q->rank == 3 && fresh->rank == 3 && (!past || past->rank == 4), wrong_shape);
    QRN_NEED(!past == !qrn_chk_in(k, PAST_V), "past keys or values are missing");
    QRN_NEED(a->q_heads && q->dims[2] % a->q_heads == 0, "q_heads does not divide the queries");
    QRN_NEED(a->kv_heads && a->q_heads % a->kv_heads == 0, "kv_heads does not divide q_heads");
    size_t batch = q->dims[0], heads = a->kv_heads, size = q->dims[2] / a->q_heads;
    size_t n_past = past ? past->dims[2] : 0, keys = fresh->dims[1], total = n_past + keys;
    const size_t full[] = {batch, a->q_heads, q->dims[1], total};
    for (uint32_t i = K; i <= V; i++)
        QRN_NEED(IS_SHAPED(k->in[i], 3, batch, keys, heads * size), wrong_shape);
    for (uint32_t i = PAST_K; i <= PAST_V; i++)
        QRN_NEED(IS_SHAPED(qrn_chk_in(k, i), 4, batch, heads, n_past, size), wrong_shape);
    QRN_NEED(mask_fits(qrn_chk_in(k, MASK), full), "in[5] cannot be broadcast to all scores");
    QRN_NEED(IS_SHAPED(qrn_chk_in(k, COUNTS), 1, batch), wrong_shape);
    QRN_NEED(!a->causal || q->dims[1] <= total, "fewer keys than queries in a causal op");
    QRN_NEED(qrn_chk_same_shape(q, k->out[0]), wrong_shape);
    for (uint32_t o = 1; o < k->n_out; o++)
        QRN_NEED(IS_SHAPED(k->out[o], 4, batch, heads, total, size), wrong_shape);
    return NULL;
}

// Does an operand hold `first` and what lies at most so many times a stride behind it?
static bool is_inside(const qrn_view *v, const uint32_t *strides, uint32_t n, const size_t *dims) {
    size_t count = qrn_view_count(v), at = strides[QRN_ATT_FIRST];
    for (uint32_t i = 1; i < n; i++) {
        size_t way = strides[i] * (dims[i] - 1); // both below 2^32
        if (at >= count || way >= count)
            return false;
        at += way;
    }
    return at < count;
}

// Is every element of the result written once? Its dimensions, the fastest first, follow each other
// without a gap.
static bool is_filled(const qrn_view *y, const uint32_t *strides, const size_t *dims) {
    size_t next = 1;
    bool done[QRN_ATT_ROW_STRIDES] = {true};
    for (uint32_t round = 1; round < QRN_ATT_ROW_STRIDES; round++) {
        uint32_t least = 0;
        for (uint32_t i = 1; i < QRN_ATT_ROW_STRIDES; i++)
            if (!done[i] &&
                (!least || (dims[i] > 1 && (dims[least] == 1 || strides[i] < strides[least]))))
                least = i;
        done[least] = true;
        if (dims[least] > 1 && strides[least] != next)
            return false;
        if (!qrn_mul_size(next, dims[least], &next))
            return false;
    }
    return next == qrn_view_count(y) && strides[QRN_ATT_FIRST] == 0;
}

static const char *check_segment(const qrn_kcall *k, uint32_t which) {
    const qrn_attention_args *a = k->args;
    const qrn_view *keys = qrn_chk_in(k, which ? QRN_ATT_MORE_K : QRN_ATT_K);
    const qrn_view *values = qrn_chk_in(k, which ? QRN_ATT_MORE_V : QRN_ATT_V);
    size_t n = a->keys[which], area;
    QRN_NEED(!keys == !n && !values == !n, "keys or values are missing, or too many");
    if (n == 0)
        return NULL;
    const size_t k_sizes[] = {1, a->batch[0], a->batch[1], n, a->depth};
    const size_t v_sizes[] = {1, a->batch[0], a->batch[1], n, a->width};
    QRN_NEED(is_inside(keys, which ? a->more_k : a->k, QRN_ATT_KEY_STRIDES, k_sizes) &&
                 is_inside(values, which ? a->more_v : a->v, QRN_ATT_KEY_STRIDES, v_sizes),
             "a stride leads out of keys or values");
    QRN_NEED(qrn_mul_size(n, a->depth, &area) && area <= qrn_view_count(keys) &&
                 qrn_mul_size(n, a->width, &area) && area <= qrn_view_count(values),
             "more keys than an operand has");
    return NULL;
}

// Quantized values of 8 or 16 bits with one scale, whose reals are those of requant.h and
// element_io.h alike.
static bool is_attention_q(const qrn_view *v) {
    return v && qrn_io_supports(v) && qrn_dtype_is_fixed(v->dtype) && v->quant->shift == 0.0f &&
           v->quant->offset >= -QRN_REQUANT_OFFSET_MAX &&
           v->quant->offset <= QRN_REQUANT_OFFSET_MAX;
}

// Floats; keys and values may be fp16, or quantized values of 8 bits.
static bool has_attention_types(const qrn_kcall *k, qrn_domain domain) {
    bool ok = domain == QRN_DOMAIN_F32 && k->out[0]->dtype == QRN_DTYPE_F32 && k->n_out == 1;
    for (uint32_t i = 0; i < k->n_in && ok; i++) {
        const qrn_view *v = k->in[i];
        bool keys = i >= QRN_ATT_K && i <= QRN_ATT_MORE_V;
        if (v)
            ok = v->dtype == QRN_DTYPE_F32 || (v->dtype == QRN_DTYPE_F16 && keys) ||
                 (keys && is_attention_q(v) && qrn_view_elem(v) == 1);
    }
    return ok;
}

#define MAX_SUM (1 << 24) // products: 2^36 each, and their sum fits 64 bits

// Operands of a quantized attention, and what is between its steps.
static const char *check_attention_q(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    size_t keys = (size_t)a->keys[0] + a->keys[1], scores = keys;
    const uint32_t others[] = {a->batch[0], a->batch[1], a->rows[0], a->rows[1]};
    QRN_NEED(k->n_out == QRN_ATT_OUT, "quantized attention has not 5 outputs");
    QRN_NEED(!k->out[QRN_ATT_MASKED] == !qrn_chk_in(k, QRN_ATT_MASK),
             "scores with a mask are missing, or too many");
    for (uint32_t i = 0; i < k->n_in; i++)
        QRN_NEED(!k->in[i] || is_attention_q(k->in[i]), "an input is not quantized by one scale");
    for (uint32_t i = QRN_ATT_MORE_K; i <= QRN_ATT_MORE_V; i++)
        QRN_NEED(!qrn_chk_in(k, i) ||
                     qrn_chk_same_format(k->in[i], k->in[i - QRN_ATT_MORE_K + QRN_ATT_K]),
                 "keys or values in two places differ in type or encoding");
    QRN_NEED(a->scale == 1.0 && !a->causal && a->rule == QRN_FP16_OFF,
             "an attribute of floats is set");
    QRN_NEED(keys <= MAX_SUM && a->depth <= MAX_SUM, "so many multiply-adds may overflow");
    for (uint32_t i = 0; i < 4; i++)
        QRN_NEED(qrn_mul_size(scores, others[i], &scores), "more scores than memory can hold");
    for (uint32_t i = 0; i < k->n_out; i++)
        QRN_NEED(!k->out[i] || (is_attention_q(k->out[i]) &&
                                (i == QRN_ATT_Y || qrn_view_count(k->out[i]) == scores)),
                 "an output is not quantized by one scale, or not one number for each score");
    QRN_NEED(k->out[QRN_ATT_PRODUCTS] && k->out[QRN_ATT_WEIGHTS],
             "products or weights are missing");
    QRN_NEED(!k->out[QRN_ATT_SCALED] ||
                 k->out[QRN_ATT_SCALED]->dtype == k->out[QRN_ATT_PRODUCTS]->dtype,
             "products are read as another type");
    return NULL;
}

static const char *check_attention(const qrn_kcall *k, qrn_domain domain) {
    const qrn_attention_args *a = k->args;
    const qrn_view *mask = qrn_chk_in(k, QRN_ATT_MASK);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(domain == QRN_DOMAIN_RAW || has_attention_types(k, domain),
             "an operand is not a float32, nor keys in float16 or 8 bits");
    QRN_NEED(a->batch[0] && a->batch[1] && a->rows[0] && a->rows[1] && a->keys[0] && a->depth &&
                 a->width,
             "a size is 0");
    QRN_NEED(a->rule <= QRN_FP16_AS_F32, "rule is unknown");
    QRN_NEED_ALSO(check_segment(k, 0));
    QRN_NEED_ALSO(check_segment(k, 1));
    size_t keys = (size_t)a->keys[0] + a->keys[1], room;
    QRN_NEED(keys <= UINT32_MAX && qrn_mul_size(keys, a->batch[0], &room) &&
                 qrn_mul_size(room, a->batch[1], &room) &&
                 qrn_mul_size(room, (size_t)a->width + 64, &room) && room <= SIZE_MAX / 256,
             "sums of all keys are larger than memory can be");
    const size_t q[] = {1, a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->depth};
    const size_t m[] = {1, a->batch[0], a->batch[1], a->rows[0], a->rows[1], keys};
    const size_t y[] = {1, a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->width};
    QRN_NEED(is_filled(k->out[0], a->y, y), "the strides of out[0] do not fill it");
    QRN_NEED(is_inside(k->in[QRN_ATT_Q], a->q, QRN_ATT_ROW_STRIDES, q),
             "a stride leads out of the queries");
    QRN_NEED(!mask || is_inside(mask, a->mask, QRN_ATT_ROW_STRIDES, m),
             "a stride leads out of the mask");
    QRN_NEED(!a->causal || a->rows[1] <= keys, "fewer keys than queries in a causal op");
    return domain == QRN_DOMAIN_RAW ? check_attention_q(k) : NULL;
}

static const char *check_rotary(const qrn_kcall *k, qrn_domain domain) {
    enum { X, COS, SIN, POSITIONS };
    const qrn_view *x = k->in[X], *table = k->in[COS], *positions = qrn_chk_in(k, POSITIONS);
    QRN_NEED_ALSO(reals(k, POSITIONS, domain));
    QRN_NEED(is_integer(positions), "in[3] has no integers");
    QRN_NEED(x->rank == 4 && table->rank == (positions ? 2 : 3), wrong_shape);
    size_t batch = x->dims[0], steps = x->dims[2], half = table->dims[table->rank - 1];
    QRN_NEED(positions || IS_SHAPED(table, 3, batch, steps, half), wrong_shape);
    QRN_NEED(IS_SHAPED(positions, 2, batch, steps), wrong_shape);
    QRN_NEED(half <= x->dims[3] / 2, "more channels are rotated than in[0] has");
    QRN_NEED(qrn_chk_same_shape(table, k->in[SIN]), "in[1] and in[2] differ in shape");
    QRN_NEED(qrn_chk_same_shape(x, k->out[0]), wrong_shape);
    return NULL;
}

// --- signals, queues, random numbers

static const char *check_stft(const qrn_kcall *k, qrn_domain domain) {
    const qrn_stft_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0], *window = qrn_chk_in(k, 1);
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(x->rank == 3 && x->dims[2] <= 2, "in[0] is not a signal of real or complex numbers");
    QRN_NEED(y->rank == 4 && y->dims[0] == x->dims[0] && y->dims[3] == 2, wrong_shape);
    QRN_NEED(IS_SHAPED(window, 1, a->length), "in[1] has not the length of a frame");
    QRN_NEED(a->length && a->length <= x->dims[1], "a frame is empty or longer than the signal");
    QRN_NEED(a->step && (y->dims[1] - 1) <= (x->dims[1] - a->length) / a->step,
             "the signal has fewer frames than out[0]");
    QRN_NEED(y->dims[2] <= a->length, "more bins than a frame has elements");
    return NULL;
}

static const char *check_buffer(const qrn_kcall *k, qrn_domain domain) {
    const qrn_buffer_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED_ALSO(check_reset(qrn_chk_in(k, 1)));
    QRN_NEED(qrn_chk_same_format(x, y) && qrn_chk_bytes(x),
             "in[0] and out[0] differ in type or encoding");
    QRN_NEED(qrn_chk_quant(y) <= QRN_QUANT_TENSOR, "out[0] has more than one scale");
    QRN_NEED(a->mode <= QRN_BUFFER_RIGHT, "mode is unknown");
    QRN_NEED(a->dim < x->rank, "dim is not below the rank of in[0]");
    uint32_t fresh = x->dims[a->dim];
    QRN_NEED(a->slots && a->slots % fresh == 0, "slots is not a multiple of the frames of a call");
    QRN_NEED(a->stride && a->stride <= a->slots && a->stride % fresh == 0,
             "stride is not a multiple of the frames of a call, up to slots");
    QRN_NEED(qrn_chk_product(qrn_view_count(x) / fresh, a->slots, qrn_view_count(y)), wrong_shape);
    QRN_NEED(qrn_view_count(y) <= (SIZE_MAX - QRN_BUFFER_STATE_HEADER) / qrn_chk_elem(y),
             "the state is larger than memory can be");
    return NULL;
}

static size_t buffer_state(const qrn_kcall *k) {
    return QRN_BUFFER_STATE_HEADER + qrn_view_count(k->out[0]) * qrn_chk_elem(k->out[0]);
}

static const char *check_random(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *seed = qrn_chk_in(k, 1);
    QRN_NEED_ALSO(reals(k, 0, domain));
    QRN_NEED(is_integer(k->in[0]) && k->in[0]->rank == 1, "in[0] is not a shape");
    QRN_NEED(qrn_chk_type(seed, QRN_T(F32)), "the seed is not f32");
    return NULL; // the row compares in[0] with the dimensions of out[0]
}

static size_t random_state(const qrn_kcall *k) {
    return qrn_chk_in(k, 1) ? 0 : QRN_RANDOM_STATE_BYTES;
}

// --- the ops

static const qrn_attr lstm_attrs[] = {
    QRN_ATTR(qrn_lstm_args, reverse), QRN_ATTR(qrn_lstm_args, time_major),
    QRN_ATTR(qrn_lstm_args, cell_clip), QRN_ATTR(qrn_lstm_args, out_clip)};
static const qrn_attr gru_attrs[] = {QRN_ATTR(qrn_gru_args, reverse),
                                     QRN_ATTR(qrn_gru_args, time_major),
                                     QRN_ATTR(qrn_gru_args, linear_before_reset)};
static const qrn_attr gqa_attrs[] = {QRN_ATTR(qrn_gqa_args, q_heads),
                                     QRN_ATTR(qrn_gqa_args, kv_heads),
                                     QRN_ATTR(qrn_gqa_args, scale), QRN_ATTR(qrn_gqa_args, causal)};
static const qrn_attr attention_attrs[] = {
    QRN_ATTR_ARRAY(qrn_attention_args, batch),  QRN_ATTR_ARRAY(qrn_attention_args, rows),
    QRN_ATTR_ARRAY(qrn_attention_args, keys),   QRN_ATTR(qrn_attention_args, depth),
    QRN_ATTR(qrn_attention_args, width),        QRN_ATTR_ARRAY(qrn_attention_args, q),
    QRN_ATTR_ARRAY(qrn_attention_args, mask),   QRN_ATTR_ARRAY(qrn_attention_args, y),
    QRN_ATTR_ARRAY(qrn_attention_args, k),      QRN_ATTR_ARRAY(qrn_attention_args, v),
    QRN_ATTR_ARRAY(qrn_attention_args, more_k), QRN_ATTR_ARRAY(qrn_attention_args, more_v),
    QRN_ATTR(qrn_attention_args, scale),        QRN_ATTR(qrn_attention_args, causal),
    QRN_ATTR(qrn_attention_args, rule)};
static const qrn_attr rotary_attrs[] = {QRN_ATTR(qrn_rotary_args, interleaved)};
static const qrn_attr stft_attrs[] = {QRN_ATTR(qrn_stft_args, length),
                                      QRN_ATTR(qrn_stft_args, step)};
static const qrn_attr buffer_attrs[] = {
    QRN_ATTR(qrn_buffer_args, dim), QRN_ATTR(qrn_buffer_args, stride),
    QRN_ATTR(qrn_buffer_args, slots), QRN_ATTR(qrn_buffer_args, mode)};
static const qrn_attr random_attrs[] = {QRN_ATTR(qrn_random_args, normal),
                                        QRN_ATTR(qrn_random_args, a), QRN_ATTR(qrn_random_args, b),
                                        QRN_ATTR(qrn_random_args, stream)};

const qrn_cop qrn_cop_lstm = {QRN_COP_HEAD(lstm),        QRN_COP_ATTRS(lstm_attrs),
                              QRN_COP_IN(10, 25, 0x3ff), QRN_COP_OUT(3, 8, 7),
                              .check = check_lstm,       .state = lstm_state};
const qrn_cop qrn_cop_gru = {QRN_COP_HEAD(gru),       QRN_COP_ATTRS(gru_attrs),
                             QRN_COP_IN(7, 15, 0x7f), QRN_COP_OUT(2, 2, 3),
                             .check = check_gru,      .state = gru_state};
const qrn_cop qrn_cop_gqa = {QRN_COP_HEAD(gqa), QRN_COP_ATTRS(gqa_attrs), QRN_COP_IN(3, 7, 7),
                             QRN_COP_OUT(1, 3, 1), .check = check_gqa};
const qrn_cop qrn_cop_attention = {QRN_COP_HEAD(attention), QRN_COP_ATTRS(attention_attrs),
                                   QRN_COP_IN(3, QRN_ATT_IN, 7), QRN_COP_OUT(1, QRN_ATT_OUT, 1),
                                   .check = check_attention};
const qrn_cop qrn_cop_rotary = {QRN_COP_HEAD(rotary), QRN_COP_ATTRS(rotary_attrs),
                                QRN_COP_IN(3, 4, 7), QRN_COP_OUT(1, 1, 1), .check = check_rotary};
const qrn_cop qrn_cop_stft = {QRN_COP_HEAD(stft), QRN_COP_ATTRS(stft_attrs), QRN_COP_IN(1, 2, 1),
                              QRN_COP_OUT(1, 1, 1), .check = check_stft};
const qrn_cop qrn_cop_buffer = {QRN_COP_HEAD(buffer),  QRN_COP_ATTRS(buffer_attrs),
                                QRN_COP_IN(1, 2, 1),   QRN_COP_OUT(1, 1, 1),
                                .check = check_buffer, .state = buffer_state};
const qrn_cop qrn_cop_random = {QRN_COP_HEAD(random),  QRN_COP_ATTRS(random_attrs),
                                QRN_COP_IN(1, 2, 1),   QRN_COP_OUT(1, 1, 1),
                                .check = check_random, .state = random_state};
