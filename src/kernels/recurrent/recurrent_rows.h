// SPDX-License-Identifier: MIT
//
// What the vector rows of LSTM and GRU share: which operands are the gates' weights, the work space
// of a task, where h and c come from and go to, and weights packed for the GEMM.
#ifndef QRN_KERNELS_RECURRENT_RECURRENT_ROWS_H
#define QRN_KERNELS_RECURRENT_RECURRENT_ROWS_H

#include "kernels/recurrent/steps.h"

// A layer without normalization, peepholes, projection and clipping. Gates: input, forget, cell,
// output of an LSTM; z, r, n of a GRU. Operands by number, 0: none.
typedef struct qrn_fast_layer {
    size_t n_gates, units;
    uint32_t wx[4], wh[4];
    uint32_t bias[6];     // of the gates; a GRU's second three are added with h
    bool late;            // GRU: the n gate reads r h, so it is multiplied after the others
    uint32_t wh_early[4]; // those that read h then,
    uint32_t wh_late[4];  // and those that read r h
    uint32_t h_init, c_init, reset;
    uint32_t h_out, c_out; // outputs with the last h and c; 0: none
    bool reverse;
    sequence s;
} qrn_fast_layer;

// Work space of a task.
typedef struct qrn_fast_room {
    size_t first, rows; // batch rows of the task
    size_t steps;       // whose products with x are made at a time
    const float **x_rows, **h_rows, **gated_rows;
    float *gx, *gh, *h, *c, *gated;
    float *wx, *wh; // packed: each gate's panels of dense_f32 (gemm_f32.h); NULL: not packed
} qrn_fast_room;

// Row of x and of out[0] for step i of batch row b.
static inline size_t qrn_fast_row(const qrn_fast_layer *l, size_t i, size_t b) {
    return (l->reverse ? l->s.n_steps - 1 - i : i) * l->s.step_stride + b * l->s.row_stride;
}

size_t qrn_fast_scratch(const qrn_kcall *k, const qrn_fast_layer *l);
qrn_fast_room qrn_fast_room_of(const qrn_kcall *k, const qrn_fast_layer *l);
// Fills wx and wh, those of them that are not NULL.
void qrn_fast_pack(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m);
// h and c of the task's rows: from the state, the operands, or zero; and back.
void qrn_fast_begin(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m);
void qrn_fast_end(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m);

qrn_status qrn_recurrent_f32_avx2(const qrn_kcall *k, const qrn_fast_layer *l);
qrn_status qrn_recurrent_f32_avx512(const qrn_kcall *k, const qrn_fast_layer *l);
qrn_status qrn_recurrent_f32_neon(const qrn_kcall *k, const qrn_fast_layer *l);

#endif
