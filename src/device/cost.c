// SPDX-License-Identifier: MIT
//
// The cost model of docs/estimate.md: matrix steps by padded multiply-adds, vector steps by bytes,
// a fixed time for each step, and DDR traffic that overlaps with all of it.
#include "device/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CHIP(soc, name, others, arch, vtcm, clk, r8, ffp, ddr)                                     \
    {soc, name, others, arch, vtcm, clk, r8, ffp, ddr},
#define SHARED(name, value, text)
#define DECODE(name, rate)
static const qd_chip chips[] = {
#include "device/costs.def"
};
#undef CHIP
#undef SHARED
#define CHIP(soc, name, others, arch, vtcm, clk, r8, ffp, ddr)
#define SHARED(name, value, text) name,
typedef enum shared_name {
#include "device/costs.def"
} shared_name;
#undef SHARED
#define SHARED(name, value, text) value,
static const double shared[] = {
#include "device/costs.def"
};
#undef SHARED
#undef DECODE
#define SHARED(name, value, text)
#define DECODE(name, rate) {name, rate},
static const struct {
    const char *chip;
    double rate;
} decode_rates[] = {
#include "device/costs.def"
};
#undef CHIP
#undef SHARED
#undef DECODE

#define N_CHIPS (sizeof chips / sizeof chips[0])

// To be raised with every change of costs.def.
const char *const qd_constants = "version 3, latencies of 2026-03";
const char *const qd_precision_names[QD_PRECISIONS] = {"a8w8", "a16w8", "fp16"};
const char *const qd_class_names[QD_CLASSES] = {"matrix", "depthwise", "light",
                                                "pool",   "heavy",     "move"};
const char *const qd_bound_names[4] = {"matrix", "vector", "overhead", "memory"};

// --- chips

const qd_chip *qd_chip_at(uint32_t i) { return i < N_CHIPS ? &chips[i] : NULL; }

const qd_chip *qd_chip_of_soc(uint32_t soc) {
    for (size_t i = 0; soc && i < N_CHIPS; i++)
        if (chips[i].soc == soc)
            return &chips[i];
    return NULL;
}

const qd_chip *qd_chip_of_arch(uint32_t arch) {
    for (size_t i = 0; i < N_CHIPS; i++)
        if (chips[i].arch == arch)
            return &chips[i];
    return NULL;
}

static bool is_named(const qd_chip *c, const char *text) {
    size_t n = strlen(text);
    if (strcasecmp(c->name, text) == 0)
        return true;
    for (const char *p = c->others; *p;) {
        size_t len = strcspn(p, "|");
        if (len == n && strncasecmp(p, text, n) == 0)
            return true;
        p += len + (p[len] == '|');
    }
    return false;
}

const qd_chip *qd_chip_find(const char *text) {
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    if (end != text && !*end && number <= UINT32_MAX)
        return qd_chip_of_soc((uint32_t)number);
    for (size_t i = 0; i < N_CHIPS; i++)
        if (is_named(&chips[i], text))
            return &chips[i];
    return NULL;
}

double qd_vtcm_share(void) { return shared[vtcm_share]; }

// Bytes of an activation.
static double width_of(qd_precision p) { return p == QD_W8A8 ? 1 : 2; }

// --- how a graph runs

static const struct {
    const char *name;
    double mhz;
} powers[] = {
#define POWER(name, corner, mhz) {name, mhz},
#include "device/power.def"
#undef POWER
};

double qd_power_clock(const char *profile) {
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++)
        if (strcmp(powers[i].name, profile) == 0)
            return powers[i].mhz / powers[0].mhz;
    return 0;
}

double qd_vtcm_of(const qd_chip *chip, const qd_options *o) {
    return o && o->vtcm_bytes ? (double)o->vtcm_bytes : chip->vtcm_mb * 1048576.0;
}

static double clock_of(const qd_options *o) { return o && o->clock > 0 ? o->clock : 1; }

double qd_start_us(const qd_chip *chip, qd_precision p, const qd_options *o) {
    return shared[t0] * width_of(p) / (chip->clk * clock_of(o));
}

bool qd_has_data(const qd_chip *chip, qd_precision p) { return p != QD_FP16 || chip->ffp > 0; }

// --- steps

// GB/s by class.
static const shared_name rates[QD_CLASSES] = {
    [QD_DEPTHWISE] = depthwise, [QD_LIGHT] = light, [QD_POOL] = light,
    [QD_HEAVY] = heavy,         [QD_MOVE] = move,
};

// 16-bit activations are multiplied as two planes of bytes.
static double matrix_us(const qd_step *s, const qd_chip *c, qd_precision p) {
    double f = p == QD_W8A8 ? 1 : p == QD_W8A16 ? 0.5 : c->ffp;
    return (s->padded + shared[tile] * s->results) / (c->r8 * f * 1e6);
}

static double vector_us(const qd_step *s, const qd_chip *c, qd_precision p, double times) {
    double factor = s->joins && p != QD_FP16 ? 2 : 1;
    if (p == QD_FP16 && c->arch < 73)
        factor *= shared[old_fp16];
    double rate = shared[s->thin ? thin : rates[s->kind]] * c->clk;
    return times * qd_work(s) * width_of(p) * factor / (rate * 1e3);
}

bool qd_decodes(const qd_chip *chip, double *rate) {
    *rate = chip->ddr * shared[stream];
    for (size_t i = 0; i < sizeof decode_rates / sizeof decode_rates[0]; i++)
        if (strcmp(decode_rates[i].chip, chip->name) == 0) {
            *rate = decode_rates[i].rate;
            return true;
        }
    return false;
}

// Bytes of a weight: those that are stored in 4 or 8 bits have as many in every precision.
static double weight_size(const qd_step *s, qd_precision p) {
    return s->weight_bits ? (s->weight_bits <= 4 ? 0.5 : 1) : p == QD_FP16 ? 2 : 1;
}

// A slower core slows down all that it does; fewer threads share the vector work. Memory traffic
// stays as it is: nobody measured what votes for the bus do.
static void slow_down(qd_time *t, const qd_options *o) {
    uint32_t threads = o->hvx_threads ? o->hvx_threads : QD_HVX_THREADS;
    double clock = clock_of(o);
    t->matrix /= clock;
    t->overhead /= clock;
    t->vector /= clock;
    if (threads < QD_HVX_THREADS)
        t->vector *= (double)QD_HVX_THREADS / threads;
}

qd_time qd_time_of(const qd_step *s, const qd_chip *c, qd_precision p, const qd_options *o) {
    double a = width_of(p);
    double times = qd_costs(s, p);
    qd_time t = {.weight_bytes = s->weights * weight_size(s, p), .cache_bytes = s->cache * a};
    if (s->kind == QD_MATRIX) {
        t.matrix = matrix_us(s, c, p);
        t.overhead = s->size.groups > 1 ? s->size.groups * shared[group] / c->clk : 0;
    } else {
        t.vector = vector_us(s, c, p, times);
        t.overhead = times * shared[step_vector] / c->clk;
    }
    t.spill_bytes = fmax(0, (s->in + s->out) * a - shared[vtcm_share] * qd_vtcm_of(c, o));
    double rate = c->ddr;
    if (s->streamed)
        qd_decodes(c, &rate);
    t.memory = t.weight_bytes / (rate * 1e3) + t.spill_bytes / (c->ddr * 1e3) +
               t.cache_bytes / (shared[cache] * 1e3);
    if (o)
        slow_down(&t, o);
    return t;
}

// A rounded maximum: weights are fetched ahead over the whole graph.
double qd_total(double start, double core, double memory) {
    // Square roots are exact on every machine, pow() is not: schedules are stored.
    double a = core * core, b = memory * memory;
    return start + sqrt(sqrt(a * a + b * b));
}

qd_precision qd_precision_of(const qd_graph *g, const qd_steps *steps) {
    double macs[QD_PRECISIONS] = {0}, results[QD_PRECISIONS] = {0};
    for (uint32_t i = 0; i < steps->n; i++) {
        const qd_op *o = steps->list[i].op;
        uint32_t bits = o->n_out ? g->values[o->out[0]].active_bits : 0;
        qd_precision p = bits == 16 ? QD_W8A16 : bits == 8 ? QD_W8A8 : QD_FP16;
        macs[p] += steps->list[i].macs;
        results[p] += steps->list[i].out;
    }
    const double *by = macs[QD_FP16] + macs[QD_W8A8] + macs[QD_W8A16] > 0 ? macs : results;
    qd_precision best = by[QD_W8A16] >= by[QD_W8A8] && by[QD_W8A16] > 0 ? QD_W8A16 : QD_W8A8;
    return by[best] == 0 || by[QD_FP16] > by[best] ? QD_FP16 : best;
}

qrn_status qd_estimate_of(const qd_steps *steps, const qd_chip *chip, qd_precision p,
                          const qd_options *o, qrn_arena *arena, qd_estimate *out) {
    double vtcm = qd_vtcm_of(chip, o);
    *out = (qd_estimate){.steps = qrn_arena_alloc(arena, (steps->n + 1) * sizeof *out->steps),
                         .start = qd_start_us(chip, p, o)};
    if (!out->steps)
        return QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    for (uint32_t i = 0; i < steps->n; i++) {
        const qd_step *s = &steps->list[i];
        qd_time t = out->steps[i] = qd_time_of(s, chip, p, o);
        out->sum.matrix += t.matrix;
        out->sum.vector += t.vector;
        out->sum.overhead += t.overhead;
        out->sum.memory += t.memory;
        out->sum.weight_bytes += t.weight_bytes;
        out->sum.spill_bytes += t.spill_bytes;
        out->sum.cache_bytes += t.cache_bytes;
        out->peak_vtcm = fmax(out->peak_vtcm, fmin(vtcm, (s->in + s->out) * width_of(p)));
    }
    out->core = qd_core(&out->sum);
    out->memory = out->sum.memory;
    out->us = qd_total(out->start, out->core, out->memory);
    return QRN_OK;
}

double qd_core(const qd_time *t) { return t->matrix + t->vector + t->overhead; }

int qd_bound(const qd_time *t) {
    const double parts[] = {t->matrix, t->vector, t->overhead, t->memory};
    int most = 0;
    for (int i = 1; i < 4; i++)
        if (parts[i] > parts[most])
            most = i;
    return most;
}
