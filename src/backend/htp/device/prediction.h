// SPDX-License-Identifier: MIT
//
// What a finalized graph would take on the chip it was made for (HTP-PRF-21). Modelled, not
// measured: docs/estimate.md says how well.
#ifndef QRN_BACKEND_HTP_PREDICTION_H
#define QRN_BACKEND_HTP_PREDICTION_H

#include "backend/htp/htp.h"
#include "device/schedule.h"

typedef struct qrn_htp_prediction {
    double us, low_us, high_us;       // of the accelerator's part, at full power
    uint64_t input_bytes;             // read from memory: inputs and weights
    uint64_t fill_bytes, spill_bytes; // what waits outside included
    uint64_t output_bytes;
    uint32_t n_unknown; // ops without a cost of their own
} qrn_htp_prediction;

// The schedule of a graph: ops are its nodes by position, values are ids of tensors.
typedef struct qrn_htp_scheduled {
    // Else nothing can be said: no chip was chosen, nobody measured it, not in this precision, or
    // not on several cores.
    bool known;
    bool lent; // there is a schedule, with the constants of a relative: for files, not for profiles
    qd_schedule s;
    uint64_t input_bytes, output_bytes; // of the application
    const uint32_t *unknown;            // nodes without a cost of their own, by position
    uint32_t n_unknown;
} qrn_htp_scheduled;

// Made in the arena; the same graph, chip and options give the same. Fails with QRN_E_MEM.
qrn_status qrn_htp_schedule(const qrn_api_graph *g, qrn_arena *arena, qrn_htp_scheduled *out);

qrn_htp_prediction qrn_htp_summary(const qrn_htp_scheduled *x); // of a known one

#endif
