// SPDX-License-Identifier: MIT
//
// Recurrent layers. Each batch row runs its own time steps, so a call is split over rows. Between
// steps h and c are doubles, whatever the type of the operands.
//
// State, when the op can continue where it stopped (it has a reset operand): per batch row one
// double that is 1 once the row holds something, then h, then c.
//
//   lstm   operands as the op lists them: x [B,I] (one step), [T,B,I] or [B,T,I]; see the enums
//   gru    x [T,B,I] or [B,T,I]
#ifndef QRN_KERNELS_RECURRENT_RECURRENT_H
#define QRN_KERNELS_RECURRENT_RECURRENT_H

#include "kernels/kernel.h"

typedef struct qrn_lstm_args {
    bool reverse, time_major;
    double cell_clip, out_clip; // 0: none
} qrn_lstm_args;

typedef struct qrn_gru_args {
    bool reverse, time_major;
    bool linear_before_reset;
} qrn_gru_args;

extern const qrn_family qrn_family_lstm; // F32, F64; the reset operand stays as it is
extern const qrn_family qrn_family_gru;  // F32, F64; the reset operand stays as it is

// Bytes of state for a batch, with h of `out` and c of `units` elements (gru: 0).
static inline size_t qrn_recurrent_state(size_t batch, size_t out, size_t units) {
    return batch * (1 + out + units) * sizeof(double);
}

#endif
