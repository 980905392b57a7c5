// SPDX-License-Identifier: MIT
//
// When and where an NPU would run the steps of a graph: a timeline with one track for each engine,
// and a place in its fast memory (VTCM) for everything that is alive. A pure function of steps,
// chip, precision and options: the same input gives the same schedule on every machine. Every
// number is modelled; docs/estimate.md says how well, and where the model ends.
//
// The timeline. Steps run one after the other, each as long as the cost model says: first the
// control of the step (`overhead`), then its unit. One DMA queue serves the steps in their order:
// weights as early as there is room for them in the VTCM, spills and fills while their step runs; a
// step ends no earlier than its transfers. That gives a length L between max(core, memory) and
// core + memory. The cost model, which is what was fitted to measurements, says T - start instead,
// so all times are multiplied by `scale` = (T - start) / L and begin at `start`: the last step ends
// at T exactly. Durations of the model itself are kept beside (`time`).
//
// The VTCM. A quarter of it, the upper end, holds weights that are fetched ahead; the rest holds
// activations. The activations of one step take at most the share of the cost model (qd_vtcm_share;
// 0.44): what exceeds it makes the step run in row tiles, keeps only a part of each operand in the
// VTCM, and passes the rest through DDR. These are the spilled bytes of the model, to the byte.
// Tensors that wait for a later step stay where they are as long as there is room; otherwise the
// one that is needed last goes to DDR and comes back. The model does not charge that traffic, so it
// is listed apart. Places are taken by first fit at multiples of 128 bytes, in the order of steps.
#ifndef QRN_DEVICE_SCHEDULE_H
#define QRN_DEVICE_SCHEDULE_H

#include "device/cost.h"

// Engines, as a set; the same bits as in profile event 5004.
enum { QD_HVX = 1, QD_HMX = 2, QD_DMA = 4 };

#define QD_VTCM_ALIGN 128u

// What of the options nobody measured.
enum { QD_MARK_THREADS = 1, QD_MARK_POWER = 2, QD_MARK_DLBC = 4, QD_MARK_CHIP = 8, QD_MARKS = 16 };
// "fewer HVX threads", ... for the lowest bit of a set; "" for none.
const char *qd_mark_text(uint32_t marks);

typedef struct qd_span {
    double begin, end; // us on the timeline; equal: nothing
} qd_span;

typedef struct qd_slot {
    const char *name; // of the op that gives the step its name
    uint32_t op;      // that op, by index
    qd_class kind;
    uint32_t n_ops;      // fused into it
    uint32_t engines;    // set of QD_HVX, QD_HMX, QD_DMA
    uint32_t cuts;       // row tiles that it runs in; 1: whole
    double macs, padded; // multiplications
    double in_bytes, out_bytes, weight_bytes, spill_bytes;
    double begin, run, end; // waiting and control until `run`, then its unit
    double control;         // of that, the step's own overhead; the rest is waiting for DMA
    qd_span fetch;          // DMA: its weights, perhaps long before it runs
    qd_span swap;           // DMA: its spills and fills
    uint32_t next;          // itself or the first later step with transfers; n_slots: none
} qd_slot;

// A place in the VTCM, taken from the begin of step `first` to the end of step `last`. A tensor may
// have several, one after another. With fewer bytes than the tensor it passes through in pieces.
typedef struct qd_tile {
    uint32_t value; // by index
    bool weights;
    uint32_t offset, bytes;
    uint32_t first, last;
} qd_tile;

// Traffic of activations between VTCM and DDR.
typedef struct qd_swap {
    uint32_t value, step;
    bool fill;   // from DDR; else to it
    bool waited; // a tensor that had to wait outside: not charged by the cost model
    uint64_t bytes;
} qd_swap;

typedef struct qd_schedule {
    uint32_t soc;     // number of the chip whose constants were used; 0: it has none
    const char *chip; // its name
    qd_precision precision;
    uint32_t vtcm_bytes, hvx_threads, marks;
    double us;                  // one inference: where the last step ends
    double start, core, memory; // as in qd_estimate
    double scale;
    uint32_t peak_bytes; // most VTCM that is taken at a time
    qd_slot *slots;      // as many as the steps, in order
    qd_tile *tiles;      // in order of `first`
    qd_swap *swaps;      // in order of `step`
    uint32_t n_slots, n_tiles, n_swaps;
} qd_schedule;

// Lists live in the arena; names are the graph's. `steps` is what qd_cut made of `g`. Fails with
// QRN_E_ARGUMENT for options that make no sense, QRN_E_MEM.
qrn_status qd_schedule_of(const qd_graph *g, const qd_steps *steps, const qd_chip *chip,
                          qd_precision p, const qd_options *options, qrn_arena *arena,
                          qd_schedule *out);

// Bytes of the VTCM that are taken during each step: n_slots numbers in the arena; NULL: no memory.
uint32_t *qd_occupancy(const qd_schedule *s, qrn_arena *arena);

// The same schedule under another clock of the core, as qd_options has it: what the model gives
// for it. Only the total and its parts follow; the timeline keeps its proportions.
void qd_reclock(qd_schedule *s, double clock);

// Fills `next` of all slots, for whoever made them elsewhere.
void qd_link_transfers(qd_schedule *s);

// Time that the DMA works for any step while step i runs, and while step i waits; the transfers
// that it waits for do not count (HTP-PRF-10, 11).
double qd_overlap(const qd_schedule *s, uint32_t i);
double qd_overlap_waiting(const qd_schedule *s, uint32_t i);

#endif
