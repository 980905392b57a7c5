// SPDX-License-Identifier: MIT
//
// The dense_table family. Numbers of a row lie a panel apart, each in a cache line of its own: a
// piece of them is collected, then converted.
#include "kernels/gemm/dense/dense_table.h"

#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/move/gather.h"
#include "kernels/move/strided.h"

#include <string.h>

#define PIECE 256 // numbers; a multiple of what conversions need

static void row_of_f32(const float *from, size_t depth, float *y) {
    for (size_t k = 0; k < depth; k++)
        y[k] = from[k * QRN_PANEL];
}

static void row_of_f16(const uint16_t *from, size_t depth, bool wide_range,
                       qrn_f16_to_f32_fn to_f32, float *y) {
    uint16_t bits[PIECE] = {0};
    float real[PIECE];
    for (size_t k = 0; k < depth; k += PIECE) {
        size_t n = depth - k < PIECE ? depth - k : PIECE;
        for (size_t i = 0; i < n; i++)
            bits[i] = from[(k + i) * QRN_PANEL];
        to_f32(bits, PIECE, wide_range, real);
        memcpy(y + k, real, n * sizeof *real);
    }
}

// Four bytes of a row are neighbours.
static void row_of_bytes(const int8_t *packed, size_t row, size_t depth, int8_t *y) {
    size_t panel = qrn_q8_steps(depth) * QRN_PANEL * QRN_Q8_DEPTH, k = 0;
    const int8_t *from = packed + row / QRN_PANEL * panel + row % QRN_PANEL * QRN_Q8_DEPTH;
    for (; k + QRN_Q8_DEPTH <= depth; k += QRN_Q8_DEPTH)
        memcpy(y + k, from + k * QRN_PANEL, QRN_Q8_DEPTH);
    memcpy(y + k, from + k * QRN_PANEL, depth - k);
}

static qrn_status run(const qrn_kcall *k, qrn_f16_to_f32_fn to_f32) {
    const qrn_dense_table_args *a = k->args;
    const qrn_view *w = k->in[0];
    size_t depth = a->depth, begin, end;
    qrn_split(qrn_view_count(k->in[1]), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        int64_t row = qrn_index_at(k->in[1], i, a->rows);
        if (row < 0)
            return QRN_E_ARGUMENT;
        if (w->dtype == QRN_DTYPE_I8) {
            row_of_bytes(w->data, (size_t)row, depth, (int8_t *)k->out[0]->data + i * depth);
            continue;
        }
        size_t at = (size_t)row / QRN_PANEL * depth * QRN_PANEL + (size_t)row % QRN_PANEL;
        float *y = (float *)k->out[0]->data + i * depth;
        if (w->dtype == QRN_DTYPE_F32)
            row_of_f32((const float *)w->data + at, depth, y);
        else
            row_of_f16((const uint16_t *)w->data + at, depth, a->wide_range, to_f32, y);
    }
    return QRN_OK;
}

#define FUNCTION(isa, to_f32)                                                                      \
    static qrn_status dense_table_##isa(const qrn_kcall *k) { return run(k, to_f32); }
#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_table_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                       \
        .fn = dense_table_##isa, .tasks = qrn_move_tasks                                           \
    }

#if defined(__x86_64__)
FUNCTION(avx512, qrn_f16_to_f32_avx512)
FUNCTION(avx2, qrn_f16_to_f32_avx2)
#elif defined(__aarch64__)
FUNCTION(neon, qrn_f16_to_f32_neon)
#endif
FUNCTION(ref, qrn_f16_to_f32_ref)

static const qrn_kernel dense_table_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_FAILS(dense_table, sizeof(qrn_dense_table_args), QRN_BAD_INDEX);
