// SPDX-License-Identifier: MIT
//
// The attention family: the definition, and when which row runs.
#include "kernels/attention/attention_q.h"

#include "base/cpu.h"
#include "kernels/walk.h"

#include <math.h>

static double rounded(const qrn_attention_args *a, double x) {
    return qrn_fp16_round((double)(float)x, (qrn_fp16_rule)a->rule);
}

static double element(const qrn_attention_args *a, const qrn_view *v, size_t at) {
    qrn_att_kind kind = qrn_att_kind_of(v);
    if (qrn_att_is_fixed(kind)) {
        int32_t q =
            kind == QRN_ATT_U8 ? ((const uint8_t *)v->data)[at] : ((const int8_t *)v->data)[at];
        return (double)v->quant->scale * (q + v->quant->offset);
    }
    float x = v->dtype == QRN_DTYPE_F16 ? qrn_f16_to_f32(((const uint16_t *)v->data)[at])
                                        : ((const float *)v->data)[at];
    return rounded(a, (double)x);
}

// Key or value `key` of a batch: element `col`.
static double of_key(const qrn_kcall *k, uint32_t operand, size_t batch, size_t key, size_t col) {
    const qrn_attention_args *a = k->args;
    bool more = key >= a->keys[0], values = operand == QRN_ATT_V;
    const uint32_t *s = values ? (more ? a->more_v : a->v) : (more ? a->more_k : a->k);
    size_t at = qrn_att_batch_at(a, s, batch) + (more ? key - a->keys[0] : key) * s[QRN_ATT_KEY] +
                col * s[QRN_ATT_KEY_COL];
    return element(a, k->in[more ? operand + QRN_ATT_MORE_K - QRN_ATT_K : operand], at);
}

static double mask_of(const qrn_kcall *k, size_t batch, size_t row, size_t key) {
    const qrn_attention_args *a = k->args;
    const qrn_view *mask = qrn_att_in(k, QRN_ATT_MASK);
    size_t at = qrn_att_row_at(a, a->mask, batch, row) + key * a->mask[QRN_ATT_COL];
    return mask ? element(a, mask, at) : 0;
}

static double score(const qrn_kcall *k, size_t batch, size_t row, size_t key) {
    const qrn_attention_args *a = k->args;
    size_t q = qrn_att_row_at(a, a->q, batch, row);
    double sum = 0, mask = mask_of(k, batch, row, key);
    if (mask <= (double)qrn_att_least(a))
        return -INFINITY;
    for (size_t d = 0; d < a->depth; d++)
        sum += element(a, k->in[QRN_ATT_Q], q + d * a->q[QRN_ATT_COL]) *
               of_key(k, QRN_ATT_K, batch, key, d);
    sum = rounded(a, rounded(a, sum) * a->scale);
    return qrn_att_in(k, QRN_ATT_MASK) ? rounded(a, sum + mask) : sum;
}

static void attend(const qrn_kcall *k, size_t batch, size_t row, double *weight, double *y) {
    const qrn_attention_args *a = k->args;
    size_t n = qrn_att_visible(a, row);
    double top = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++) {
        weight[j] = score(k, batch, row, j);
        top = weight[j] > top || isnan(weight[j]) ? weight[j] : top;
    }
    for (size_t w = 0; w < a->width; w++)
        y[w] = 0;
    bool hidden = top <= (double)qrn_att_floor(a);
    for (size_t j = 0; j < n && !hidden; j++) {
        if (mask_of(k, batch, row, j) <= (double)qrn_att_least(a))
            continue;
        sum += weight[j] = exp(weight[j] - top);
        for (size_t w = 0; w < a->width; w++)
            y[w] += weight[j] * of_key(k, QRN_ATT_V, batch, j, w);
    }
    for (size_t w = 0; w < a->width && !hidden; w++)
        y[w] /= sum;
}

static qrn_status attention_ref(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    size_t rows = qrn_att_rows(a), begin, end;
    double *weight = (double *)k->scratch + k->task * (qrn_att_keys(a) + a->width);
    double *y = weight + qrn_att_keys(a);
    qrn_split(qrn_att_batches(a) * rows, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t at = qrn_att_row_at(a, a->y, i / rows, i % rows);
        attend(k, i / rows, i % rows, weight, y);
        for (size_t w = 0; w < a->width; w++)
            ((float *)k->out[0]->data)[at + w * a->y[QRN_ATT_COL]] = (float)rounded(a, y[w]);
    }
    return QRN_OK;
}

static uint32_t ref_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_attention_args *a = k->args;
    return qrn_walk_tasks(qrn_view_count(k->out[0]) * qrn_att_keys(a), n_threads);
}

static size_t ref_scratch(const qrn_kcall *k) {
    const qrn_attention_args *a = k->args;
    return k->n_tasks * (qrn_att_keys(a) + a->width) * sizeof(double);
}

// --- the fast rows

// Vectors go along the columns of values, and along those of keys or from key to key.
static bool is_vectorizable(const qrn_attention_args *a) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *s = i ? a->more_k : a->k, *v = i ? a->more_v : a->v;
        if (a->keys[i] && ((a->width > 1 && v[QRN_ATT_KEY_COL] != 1) ||
                           (s[QRN_ATT_KEY_COL] != 1 && s[QRN_ATT_KEY] != 1)))
            return false;
    }
    return (a->width == 1 || a->y[QRN_ATT_COL] == 1) && a->keys[0] > 0;
}

static bool is_few(const qrn_kcall *k) {
    return is_vectorizable(k->args) && qrn_att_rows(k->args) <= QRN_ATT_FEW;
}

#ifdef __x86_64__
// Rows for integers pay where there are bytes among the keys or values; only VNNI has them.
static bool is_few_with_bytes(const qrn_kcall *k) {
    bool bytes = false;
    for (uint32_t i = QRN_ATT_K; i <= QRN_ATT_MORE_V && i < k->n_in; i++)
        bytes |= k->in[i] && qrn_att_is_fixed(qrn_att_kind_of(k->in[i]));
    return bytes && is_few(k);
}
#endif

static bool is_many(const qrn_kcall *k) {
    for (uint32_t i = 0; i < k->n_in; i++)
        if (k->in[i] && k->in[i]->dtype != QRN_DTYPE_F32)
            return false;
    return is_vectorizable(k->args);
}

uint32_t qrn_attention_few_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_attention_args *a = k->args;
    size_t parts = qrn_att_batches(a) * qrn_att_few_of(a).chunks;
    uint32_t most = qrn_walk_tasks(qrn_view_count(k->out[0]) * qrn_att_keys(a) / 8, n_threads);
    return most < parts ? most : (uint32_t)parts;
}

size_t qrn_attention_few_scratch(const qrn_kcall *k) {
    qrn_att_few f = qrn_att_few_of(k->args);
    return QRN_COUNTER +
           (qrn_att_batches(k->args) * f.chunks * f.part + k->n_tasks * f.task) * sizeof(float);
}

// clang-format off
#define FEW(isa, ISA, when)                                                                        \
    {.name = "attention_few_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = when,         \
     .fn = qrn_attention_few_##isa, .tasks = qrn_attention_few_tasks,                              \
     .scratch = qrn_attention_few_scratch, .counts = true}
#define MANY(isa, ISA)                                                                             \
    {.name = "attention_many_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = is_many,     \
     .fn = qrn_attention_many_##isa, .tasks = qrn_attention_many_tasks,                            \
     .scratch = qrn_attention_many_scratch}
#define QUANTIZED(isa, ISA)                                                                        \
    {.name = "attention_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                          \
     .works = qrn_attention_q_works, .fn = qrn_attention_q_##isa, .tasks = qrn_attention_q_tasks,  \
     .scratch = qrn_attention_q_scratch}

static const qrn_kernel attention_rows[] = {
#ifdef __x86_64__
    FEW(avx512vnni, QRN_ISA_AVX512VNNI, is_few_with_bytes),
    FEW(avx512, QRN_ISA_AVX512, is_few),
    FEW(avx2, QRN_ISA_AVX2, is_few),
    MANY(avx512, QRN_ISA_AVX512),
    MANY(avx2, QRN_ISA_AVX2),
    QUANTIZED(avx512vnni, QRN_ISA_AVX512VNNI),
    QUANTIZED(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FEW(neon, QRN_ISA_NEON, is_few),
    MANY(neon, QRN_ISA_NEON),
    QUANTIZED(neon, QRN_ISA_NEON),
#endif
    {.name = "attention_ref", .domain = QRN_DOMAIN_F32, .fn = attention_ref, .tasks = ref_tasks,
     .scratch = ref_scratch},
    {.name = "attention_q_ref", .domain = QRN_DOMAIN_RAW, .fn = qrn_attention_q_ref,
     .tasks = qrn_attention_q_ref_tasks},
};
QRN_FAMILY(attention, sizeof(qrn_attention_args));
// clang-format on
