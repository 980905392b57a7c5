// SPDX-License-Identifier: MIT
//
// What the rows of the attention family share: where operands lie, and what is compiled per ISA.
// Rows of queries that share their keys are counted queries first: row i is query i / rows[0] of
// head i % rows[0] of the group, so that neighbours see nearly the same keys.
#ifndef QRN_KERNELS_ATTENTION_ATTENTION_ROWS_H
#define QRN_KERNELS_ATTENTION_ATTENTION_ROWS_H

#include "base/fp16.h"
#include "kernels/attention/attention.h"

#include <math.h>

#define QRN_ATT_CHUNK 128 // keys whose weights such rows sum at a time

static inline const qrn_view *qrn_att_in(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}
static inline size_t qrn_att_batches(const qrn_attention_args *a) {
    return (size_t)a->batch[0] * a->batch[1];
}
static inline size_t qrn_att_rows(const qrn_attention_args *a) {
    return (size_t)a->rows[0] * a->rows[1];
}
static inline size_t qrn_att_keys(const qrn_attention_args *a) {
    return (size_t)a->keys[0] + a->keys[1];
}
// The first element of a matrix of keys or values, or of what its rows read or write.
static inline size_t qrn_att_batch_at(const qrn_attention_args *a, const uint32_t *strides,
                                      size_t batch) {
    return strides[QRN_ATT_FIRST] + batch / a->batch[1] * strides[QRN_ATT_BATCH0] +
           batch % a->batch[1] * strides[QRN_ATT_BATCH1];
}
static inline size_t qrn_att_row_at(const qrn_attention_args *a, const uint32_t *strides,
                                    size_t batch, size_t row) {
    return qrn_att_batch_at(a, strides, batch) + row % a->rows[0] * strides[QRN_ATT_ROW0] +
           row / a->rows[0] * strides[QRN_ATT_ROW1];
}
// Keys 0 .. result-1 are seen by a row.
static inline size_t qrn_att_visible(const qrn_attention_args *a, size_t row) {
    size_t all = qrn_att_keys(a);
    return a->causal ? all - a->rows[1] + row / a->rows[0] + 1 : all;
}
static inline bool qrn_att_rounds(const qrn_attention_args *a) {
    return a->rule != QRN_FP16_OFF && a->rule != QRN_FP16_AS_F32;
}

// A row whose scores are all as low as this has no keys. The wide range of fp16 has no infinity,
// its least number is -131008.
static inline float qrn_att_floor(const qrn_attention_args *a) {
    return a->rule == QRN_FP16_WIDE_RANGE ? -1e5f : -INFINITY;
}

// A mask as low as this hides a key whatever its score: -infinity, or the number that it becomes
// where the rule has none.
static inline float qrn_att_least(const qrn_attention_args *a) {
    return a->rule == QRN_FP16_WIDE_RANGE ? (float)-QRN_FP16_WIDE_RANGE_MAX
           : a->rule == QRN_FP16_CLAMP    ? (float)-QRN_FP16_MAX
                                          : -INFINITY;
}

typedef enum qrn_att_kind { QRN_ATT_F32, QRN_ATT_F16, QRN_ATT_U8, QRN_ATT_S8 } qrn_att_kind;

static inline qrn_att_kind qrn_att_kind_of(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_F16   ? QRN_ATT_F16
           : v->dtype == QRN_DTYPE_UQ8 ? QRN_ATT_U8
           : v->dtype == QRN_DTYPE_SQ8 ? QRN_ATT_S8
                                       : QRN_ATT_F32;
}
static inline bool qrn_att_is_fixed(qrn_att_kind kind) { return kind >= QRN_ATT_U8; }
static inline size_t qrn_att_bytes(qrn_att_kind kind) {
    return kind == QRN_ATT_F32 ? sizeof(float) : kind == QRN_ATT_F16 ? sizeof(uint16_t) : 1;
}

// Keys or values in one place: scale * (element + offset), of floats 1 and 0.
typedef struct qrn_att_matrix {
    const void *data; // its first element
    const uint32_t *strides;
    qrn_att_kind kind;
    float scale, offset;
} qrn_att_matrix;

// Keys and values in one place.
typedef struct qrn_att_segment {
    qrn_att_matrix k, v;
    size_t keys, first; // how many; the number of the first one
} qrn_att_segment;

static inline qrn_att_matrix qrn_att_matrix_of(const qrn_kcall *k, uint32_t operand,
                                               const uint32_t *strides, size_t batch) {
    const qrn_view *v = k->in[operand];
    qrn_att_kind kind = qrn_att_kind_of(v);
    bool fixed = qrn_att_is_fixed(kind);
    size_t at = qrn_att_batch_at(k->args, strides, batch);
    return (qrn_att_matrix){.data = (const char *)v->data + at * qrn_att_bytes(kind),
                            .strides = strides,
                            .kind = kind,
                            .scale = fixed ? v->quant->scale : 1.0f,
                            .offset = fixed ? (float)v->quant->offset : 0.0f};
}

static inline qrn_att_segment qrn_att_segment_of(const qrn_kcall *k, uint32_t which, size_t batch) {
    const qrn_attention_args *a = k->args;
    qrn_att_segment s = {.keys = a->keys[which], .first = which ? a->keys[0] : 0};
    if (s.keys == 0)
        return s;
    s.k = qrn_att_matrix_of(k, which ? QRN_ATT_MORE_K : QRN_ATT_K, which ? a->more_k : a->k, batch);
    s.v = qrn_att_matrix_of(k, which ? QRN_ATT_MORE_V : QRN_ATT_V, which ? a->more_v : a->v, batch);
    return s;
}

// The work on rows of scores, compiled per ISA.
typedef struct qrn_att_vectors {
    // Rounds n floats in place as the rule says.
    void (*round)(float *x, size_t n, uint32_t rule);
    // Sums of products become scores: scaled, masked (mask: NULL or n floats), rounded.
    void (*score)(const qrn_attention_args *a, float *s, const float *mask, size_t n);
    // The largest of n scores; NaN only where one is and no other is above -infinity.
    float (*top)(const float *s, size_t n);
    // s becomes e^(s - top); the sum of them.
    double (*weigh)(float *s, size_t n, float top);
    // y = x * factor, rounded.
    void (*finish)(const qrn_attention_args *a, const float *x, float *y, size_t n, float factor);
} qrn_att_vectors;

extern const qrn_att_vectors qrn_att_vectors_avx2, qrn_att_vectors_avx512, qrn_att_vectors_neon;

// Few rows: a part of the keys at a time, each read once for all rows that share it. The last task
// joins the parts.
qrn_status qrn_attention_few_avx2(const qrn_kcall *k);
qrn_status qrn_attention_few_avx512(const qrn_kcall *k);
qrn_status qrn_attention_few_avx512vnni(const qrn_kcall *k); // keys or values of 8 bits
qrn_status qrn_attention_few_neon(const qrn_kcall *k);
size_t qrn_attention_few_scratch(const qrn_kcall *k);
uint32_t qrn_attention_few_tasks(const qrn_kcall *k, uint32_t n_threads);

// Many rows: keys and values are packed for the GEMM tiles, scores are those of a block of rows.
qrn_status qrn_attention_many_avx2(const qrn_kcall *k);
qrn_status qrn_attention_many_avx512(const qrn_kcall *k);
qrn_status qrn_attention_many_neon(const qrn_kcall *k);
size_t qrn_attention_many_scratch(const qrn_kcall *k);
uint32_t qrn_attention_many_tasks(const qrn_kcall *k, uint32_t n_threads);

// Room of a call on few rows, in floats. Shared: for each part of the keys of each matrix the
// largest score and the sum of weights of each row, and the sums of values. Of a task: queries
// and scores.
typedef struct qrn_att_few {
    size_t rows, depth, width; // whole vectors
    size_t chunks;
    size_t part, task; // floats of a part, of a task
} qrn_att_few;

#define QRN_ATT_PAD 16                               // floats of the longest vector
#define QRN_ATT_SCORES (QRN_ATT_CHUNK + QRN_ATT_PAD) // of a row: vectors may go beyond the last key
static inline size_t qrn_att_padded(size_t n) {
    return (n + QRN_ATT_PAD - 1) / QRN_ATT_PAD * QRN_ATT_PAD;
}
static inline qrn_att_few qrn_att_few_of(const qrn_attention_args *a) {
    qrn_att_few f = {.rows = qrn_att_rows(a),
                     .depth = qrn_att_padded(a->depth),
                     .width = qrn_att_padded(a->width),
                     .chunks = (qrn_att_keys(a) + QRN_ATT_CHUNK - 1) / QRN_ATT_CHUNK};
    f.part = qrn_att_padded(2 * f.rows) + f.rows * f.width;
    f.task = f.rows * (f.depth > f.width ? f.depth : f.width) + f.rows * QRN_ATT_SCORES;
    return f;
}

#endif
