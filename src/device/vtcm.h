// SPDX-License-Identifier: MIT
//
// Places in the VTCM for the operands of steps; used by the schedule alone.
#ifndef QRN_DEVICE_VTCM_H
#define QRN_DEVICE_VTCM_H

#include "device/schedule.h"

// What a step reads (from other steps, or from outside) and writes (for others).
typedef struct qd_operands {
    uint32_t *at;      // per step and one more: where its list begins
    uint32_t *values;  // reads first, each value once
    uint32_t *n_reads; // per step
} qd_operands;

typedef struct qd_vtcm {
    const qd_graph *g;
    const qd_steps *steps;
    qd_operands operands;
    const qd_slot *slots; // bytes and cuts are known
    uint32_t vtcm_bytes;
    uint32_t element_bytes; // of an activation
    qrn_arena *arena;
    uint32_t *fetch_from; // out, per step: the first step that finds room for its weights
    qd_tile *tiles;       // out, with all lists of the schedule
    qd_swap *swaps;
    uint32_t n_tiles, n_swaps, cap_tiles, cap_swaps;
    bool failed; // no memory
} qd_vtcm;

// Bytes that the activations of a step may take.
uint32_t qd_vtcm_budget(uint32_t vtcm_bytes);
// Lists the operands of all steps.
qrn_status qd_list_operands(qd_vtcm *v);
// Fills fetch_from, tiles and swaps.
qrn_status qd_place(qd_vtcm *v);

#endif
