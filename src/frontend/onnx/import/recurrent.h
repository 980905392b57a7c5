// SPDX-License-Identifier: MIT
//
// What the importers of recurrent networks share: the node as read, pieces of its weights, and the
// result of one direction. Computed in f32.
#ifndef QRN_FRONTEND_ONNX_IMPORT_RECURRENT_H
#define QRN_FRONTEND_ONNX_IMPORT_RECURRENT_H

#include "frontend/onnx/import/compose.h"

typedef struct ox_activation {
    int kind; // row of the table in recurrent_step.c
    float alpha, beta;
} ox_activation;

typedef struct ox_recurrent {
    uint32_t steps, batch, input, hidden, gates, directions;
    bool reverse; // the first direction
    bool batch_first, linear_before_reset, input_forget;
    float clip;                         // 0: none
    ox_activation activations[2][3];    // by direction
    bool plain;                         // default activations, nothing clipped or coupled
    const int64_t *lengths;             // of the sequences where they are constant and differ
    bool run_time_lengths;              // they come at execution
    qc_tensor *x;                       // [T, B, I], or [B, T, I] with batch_first
    qc_tensor *initial[2], *length_col; // h and c [D, B, H] or NULL; lengths [B, 1], i32
} ox_recurrent;

// One direction: seq [T, B, H] or [B, T, H], states [B, H]; c of an LSTM.
typedef struct ox_pass {
    qc_tensor *seq, *h, *c;
} ox_pass;

// Activations of the node for both directions, or the defaults.
qrn_status ox_read_activations(ox_import *im, const ox_node *n, ox_recurrent *r, uint32_t count,
                               const char *const *defaults);

// Rows [first, first + rows) of direction `dir` of input i, a tensor [D, R] or [D, R, columns].
// Constants are cut here, others by ops. columns 0: a vector.
qc_tensor *ox_piece(ox_expr *e, uint32_t i, uint32_t dir, uint32_t first, uint32_t rows,
                    uint32_t columns);
// The sum of two such vectors.
qc_tensor *ox_piece_sum(ox_expr *e, uint32_t i, uint32_t dir, uint32_t first, uint32_t second,
                        uint32_t rows);
qc_tensor *ox_zeros(ox_expr *e, uint32_t rank, const uint32_t *dims);
// The initial state k (0: h, 1: c) of a direction: [B, H]; NULL when it is not given.
qc_tensor *ox_initial(ox_expr *e, const ox_recurrent *r, uint32_t k, uint32_t dir);

qrn_status ox_import_dynamic_lstm(ox_import *im, const ox_node *n); // recurrent_quant.c

// The pass step by step, for what the QNN ops do not do.
ox_pass ox_unroll(ox_expr *e, const ox_recurrent *r, uint32_t dir);

#endif
