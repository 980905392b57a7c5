// SPDX-License-Identifier: MIT
//
// The cost model: how long steps take on a chip.
#ifndef QRN_DEVICE_COST_H
#define QRN_DEVICE_COST_H

#include "device/device.h"

// A chip with fitted constants (costs.def).
typedef struct qd_chip {
    uint32_t soc;              // number of the API; 0: none
    const char *name, *others; // others: separated by '|'
    uint32_t arch, vtcm_mb;
    double clk, r8, ffp, ddr;
} qd_chip;

extern const char *const qd_constants; // their version, and when the table was made

// By number, name or device name, in any case; NULL: there are no constants for it.
const qd_chip *qd_chip_find(const char *text);
const qd_chip *qd_chip_of_soc(uint32_t soc);
// The chip of an architecture whose constants are lent to others of it; NULL: none.
const qd_chip *qd_chip_of_arch(uint32_t arch);
const qd_chip *qd_chip_at(uint32_t i); // NULL behind the last one

extern const char *const qd_precision_names[QD_PRECISIONS]; // "a8w8", "a16w8", "fp16"
extern const char *const qd_class_names[QD_CLASSES];
extern const char *const qd_bound_names[4]; // "matrix", "vector", "overhead", "memory"

// How a graph runs. All zero: as the measurements were made.
typedef struct qd_options {
    uint64_t vtcm_bytes;  // 0: all that the chip has; at most 4 GB - 1
    uint32_t hvx_threads; // 0: QD_HVX_THREADS
    double clock;         // of the core, a part of the full one (qd_power_clock); 0: 1
    bool dlbc;            // compressed activations or weights: marked, bytes stay as they are
    bool lent;            // the constants are those of another chip of the architecture: marked
} qd_options;

#define QD_HVX_THREADS 4u // that the constants stand for; fewer take longer, more change nothing

// The core's clock under a power profile ("balanced"), as a part of that under "burst"; 0: there is
// none of that name.
double qd_power_clock(const char *profile);
// What the options leave of the VTCM, in bytes.
double qd_vtcm_of(const qd_chip *chip, const qd_options *o);

// One step, in microseconds; memory traffic overlaps with the rest of the graph.
typedef struct qd_time {
    double matrix, vector, overhead, memory;
    double weight_bytes, spill_bytes, cache_bytes;
} qd_time;

typedef struct qd_estimate {
    qd_time *steps;             // as many as the steps
    double us;                  // one inference
    double start, core, memory; // its parts: t0, the units one after the other, DDR traffic
    qd_time sum;
    double peak_vtcm; // bytes of activations of the largest step, at most the VTCM
} qd_estimate;

// The one precision of a network: that in which most of its multiplications are done, and without
// any that of most results; of equals the wider fixed point.
qd_precision qd_precision_of(const qd_graph *g, const qd_steps *steps);
// Can the chip's constants say anything about this precision?
bool qd_has_data(const qd_chip *chip, qd_precision p);
// GB/s of weights that meet few rows; false: not measured on this chip, a share of its bandwidth.
bool qd_decodes(const qd_chip *chip, double *rate);
// Of the VTCM, that a step's activations may take before they spill.
double qd_vtcm_share(void);
// What an empty graph costs. Here and below options may be NULL: as the measurements were made.
double qd_start_us(const qd_chip *chip, qd_precision p, const qd_options *o);
// Lists live in the arena.
qrn_status qd_estimate_of(const qd_steps *steps, const qd_chip *chip, qd_precision p,
                          const qd_options *o, qrn_arena *arena, qd_estimate *out);
// Parts of it: one step, and a whole from its parts.
qd_time qd_time_of(const qd_step *s, const qd_chip *c, qd_precision p, const qd_options *o);
double qd_total(double start, double core, double memory);
double qd_core(const qd_time *t); // control and units of a step, without memory traffic
int qd_bound(const qd_time *t);   // index into qd_bound_names

#endif
