// SPDX-License-Identifier: MIT
//
// Attention on quantized values: the RAW rows of the attention family.
#ifndef QRN_KERNELS_ATTENTION_ATTENTION_Q_H
#define QRN_KERNELS_ATTENTION_ATTENTION_Q_H

#include "kernels/attention/attention_rows.h"

qrn_status qrn_attention_q_ref(const qrn_kcall *k);
uint32_t qrn_attention_q_ref_tasks(const qrn_kcall *k, uint32_t n_threads);

// Few rows: keys and values are read once for four rows that share them, where they lie.
qrn_status qrn_attention_q_avx512vnni(const qrn_kcall *k);
qrn_status qrn_attention_q_avx2(const qrn_kcall *k);
qrn_status qrn_attention_q_neon(const qrn_kcall *k);
uint32_t qrn_attention_q_tasks(const qrn_kcall *k, uint32_t n_threads);
size_t qrn_attention_q_scratch(const qrn_kcall *k);

// The first element of a matrix of keys or values.
static inline const char *qrn_attention_q_at(const qrn_kcall *k, uint32_t operand,
                                             const uint32_t *strides, size_t batch) {
    const qrn_view *v = k->in[operand];
    return (const char *)v->data + qrn_att_batch_at(k->args, strides, batch) * qrn_view_elem(v);
}

// The products with the encoding that the next step reads them with.
static inline qrn_view qrn_attention_q_scores(const qrn_kcall *k) {
    qrn_view v = *k->out[QRN_ATT_PRODUCTS];
    if (k->out[QRN_ATT_SCALED])
        v.quant = k->out[QRN_ATT_SCALED]->quant;
    return v;
}

// Elements [at, at + rows * keys) of an operand between the steps, as a matrix of its own.
static inline qrn_view qrn_attention_q_rows(const qrn_view *v, size_t at, size_t rows,
                                            size_t keys) {
    return (qrn_view){.data = (char *)v->data + at * qrn_view_elem(v),
                      .quant = v->quant,
                      .dtype = v->dtype,
                      .rank = 2,
                      .dims = {(uint32_t)rows, (uint32_t)keys}};
}

#endif
