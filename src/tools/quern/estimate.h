// SPDX-License-Identifier: MIT
//
// Models as the device model sees them, and reports about them.
#ifndef QRN_TOOLS_QUERN_ESTIMATE_H
#define QRN_TOOLS_QUERN_ESTIMATE_H

#include "device/advice.h"
#include "device/doubt.h"
#include "device/schedule.h"
#include "frontend/onnx/partition/plan.h"
#include "tools/quern/inputs.h"

typedef struct qt_refusal {
    const char *node, *op, *why;
} qt_refusal;

typedef struct qt_network {
    qd_graph graph;
    qd_steps steps;
    qt_refusal *refused; // nodes that the NPU does not run; not in the estimate
    uint32_t n_refused;
    uint32_t n_parts;  // partitions; at least 1
    uint32_t products; // set of the kinds of their results: 1 float, 2 of 8 bits, 4 of 16
} qt_network;

// The partitions of a model, as all front ends have them.
qrn_status qt_plan_make(const ox_model *m, qc_client *c, const ox_options *import, ox_plan *out);
// Imports the partitions without their data and cuts them into steps. The result is cleared on
// failure.
qrn_status qt_network_read(const ox_model *m, qc_client *c, const ox_options *import,
                           const ox_plan *plan, qt_network *out);
void qt_network_close(qt_network *n); // a cleared one is fine

// The target of an estimate.
typedef struct qt_target {
    const qd_chip *chip;
    const char *lent_to; // a SoC without constants of its own; NULL: fitted
    uint32_t soc, arch;  // that the model is partitioned for; soc 0: the architecture alone
    qd_options run;      // how it runs there; all zero: as the measurements were made
} qt_target;

// By a name or number of a chip or device (NULL: the default), or by an architecture (0: none).
int qt_find_target(const char *soc, uint64_t arch, qt_target *out);
// The network of a model for a target: plan and all.
qrn_status qt_network_of(const ox_model *m, const qt_target *at, bool allow_fp16, qt_network *out);
// "Snapdragon 8 Gen 3": the first of its further names, into buf.
const char *qt_chip_title(const qd_chip *c, char *buf, size_t size);

typedef struct qt_estimate {
    const qt_network *net;
    qt_target at;
    qd_precision precision;
    bool known; // there are measurements for it
    qd_estimate e;
    uint32_t peak_vtcm;             // bytes that its schedule takes at once
    qd_doubt doubts[QD_MAX_DOUBTS]; // any: it is uncalibrated
    uint32_t n_doubts;
} qt_estimate;

int qt_estimate_of(const qt_network *net, const qt_target *at, qd_precision p, qt_estimate *out);

// What all steps need, as a precision counts them: bytes, and steps that it splits.
typedef struct qt_totals {
    uint32_t matrix, vector, steps[QD_CLASSES];
    double macs, padded, weights, bytes[QD_CLASSES];
} qt_totals;
qt_totals qt_add_up(const qd_steps *steps, qd_precision p);

// Time of all steps of each class, in us: their unit and their overhead.
void qt_class_us(const qd_steps *steps, const qd_estimate *e, double out[QD_CLASSES]);
double qt_tops(const qd_steps *steps, const qd_estimate *e); // 10^12 useful operations per second
// In percent of the whole time; memory overlaps with the rest, so that all parts have more than
// 100.
double qt_share(double part, const qd_estimate *e);

// Rules of the advice that steps break: those of step i are rules[at[i]] to rules[at[i + 1] - 1].
typedef struct qt_hints {
    const char **rules;
    uint32_t *at;
} qt_hints;

// All that one report says.
typedef struct qt_estimates {
    const char *path;
    const qt_network *net;   // of the first row
    const qt_estimate *rows; // the first one is reported in detail
    uint32_t n;
    bool every;        // chip
    qd_advices advice; // about the first one
    qt_hints hints;    // by it
    qd_schedule plan;  // of it
    uint64_t top;      // steps
    bool steps;
} qt_estimates;

// Ends of the interval, relative to the estimate; of one with doubts, or that came without them.
#define QT_LOW(doubted) (1 - ((doubted) ? QD_INTERVAL_WIDE : QD_INTERVAL))
#define QT_HIGH(doubted) (1 + ((doubted) ? QD_INTERVAL_WIDE : QD_INTERVAL))

// The rules that each of n steps breaks, in the advice's order; in the arena. False: no memory.
bool qt_find_hints(const qd_advices *advice, uint32_t n, qrn_arena *arena, qt_hints *out);
// Each part of the network as a graph of its own, which has a start of its own, in us; in the
// network's arena, NULL: no memory.
double *qt_part_us(const qt_network *net, const qt_estimate *row);
// Those of a step, "channels, rows", into buf.
const char *qt_hints_text(const qt_hints *hints, uint32_t step, char *buf, size_t size);
// The steps of a row, slowest first; in the network's arena, NULL: no memory.
const uint32_t *qt_rank_steps(const qt_estimates *r);

int qt_estimate_text(const qt_estimates *r);
int qt_estimate_json(const qt_estimates *r);
// A schedule, which may come from a context binary: one object (`all`: with its steps, places and
// swaps), one or two lines that begin with a title, a table of the slowest steps.
json_t *qt_schedule_json(const qd_schedule *s, bool all);
void qt_print_schedule(const qd_schedule *s, const char *title);
int qt_print_slots(const qd_schedule *s, uint64_t top);
// Writes a schedule as a trace; `ops`: of its graph, or NULL. False after a message.
bool qt_schedule_trace(const qd_schedule *s, const qd_op *ops, const char *path);
// Reports what a context binary holds (estimate_binary.c).
// `clock`: of the core, as qd_options has it.
int qt_estimate_binary(const char *path, bool json, bool steps, uint64_t top, const char *trace,
                       double clock);
bool qt_estimate_page(const qt_estimates *r, const char *path);

#endif
