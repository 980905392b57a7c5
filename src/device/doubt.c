// SPDX-License-Identifier: MIT
//
// Doubts about an estimate. Bounds are those of the twelve networks and fourteen devices that the
// constants were fitted on: batch 1, burst power, 8-bit weights in integers.
#include "device/doubt.h"

#include <stdio.h>

// Of the measured networks: mobilenet_v3_large has the fewest multiplications, FCN the most, ViT
// the most weights.
#define LEAST_GMAC 0.2
#define MOST_GMAC 143.0
#define MOST_WEIGHTS 87e6
#define LEAST_DECODE_GB 0.7 // Llama 3.2 1B in 4 bits
#define MOST_DECODE_GB 4.3
#define HEAVY_SHARE 0.005 // of the time, above which an unknown rate matters
#define RARE_SHARE 0.05
#define MEMORY_FACTOR 1.5 // some measured networks are a little above 1

#define SAY(d, ...) snprintf((d)->text, sizeof(d)->text, __VA_ARGS__)

static bool borrowed(const qd_case *c, qd_doubt *d) {
    if (!c->lent_to)
        return false;
    SAY(d, "the constants are those of %s, the nearest to %.60s that was measured", c->chip->name,
        c->lent_to);
    return true;
}

static bool batch(const qd_case *c, qd_doubt *d) {
    for (uint32_t i = 0; i < c->graph->n_values; i++) {
        const qd_value *v = &c->graph->values[i];
        if (v->input && v->rank > 1 && v->dims[0] > 1) {
            SAY(d, "an input has %u as its first dimension; only batch 1 was measured", v->dims[0]);
            return true;
        }
    }
    return false;
}

static bool weights(const qd_case *c, qd_doubt *d) {
    if (c->precision == QD_FP16)
        return false;
    for (uint32_t i = 0; i < c->steps->n; i++) {
        const qd_op *o = c->steps->list[i].op;
        bool weighted = c->steps->list[i].weights > 0 && o->n_in > 1;
        uint32_t bits = weighted ? c->graph->values[o->in[1]].bits : 0;
        bool published = bits == 8 || (bits == 4 && c->steps->decode);
        if (bits && !published && bits <= 16) {
            SAY(d, "weights of %u bits; nobody published such runs", bits);
            return true;
        }
    }
    return false;
}

static bool mixed(const qd_case *c, qd_doubt *d) {
    if (c->mixed)
        SAY(d, "GEMMs of the model are in several precisions; all of it counts as %s",
            qd_precision_names[c->precision]);
    return c->mixed;
}

static bool heavy(const qd_case *c, qd_doubt *d) {
    double us = 0;
    for (uint32_t i = 0; i < c->steps->n; i++)
        if (c->steps->list[i].kind == QD_HEAVY)
            us += c->e->steps[i].vector;
    if (c->precision != QD_W8A8 || us < HEAVY_SHARE * c->e->us)
        return false;
    SAY(d,
        "no network with Sigmoid, Softmax or normalization was measured in a8w8; here they take "
        "%.1f %%",
        100 * us / c->e->us);
    return true;
}

static bool memory(const qd_case *c, qd_doubt *d) {
    double rate;
    if (c->steps->decode ? qd_decodes(c->chip, &rate) : c->e->memory <= MEMORY_FACTOR * c->e->core)
        return false;
    if (c->steps->decode)
        SAY(d, "%s not measured on %s; weights are read at %.0f %% of its bandwidth",
            qd_is_decoding(c->steps) ? "decoding was" : "networks of dense layers were",
            c->chip->name, 100 * rate / c->chip->ddr);
    else
        SAY(d, "bound by memory; its rate is hardly known");
    return true;
}

static bool size(const qd_case *c, qd_doubt *d) {
    double macs = 0, words = 0;
    for (uint32_t i = 0; i < c->steps->n; i++) {
        macs += c->steps->list[i].macs / 1e9;
        words += c->steps->list[i].weights;
    }
    if (c->steps->decode) {
        double gb = c->e->sum.weight_bytes / 1e9;
        if (gb >= LEAST_DECODE_GB && gb <= MOST_DECODE_GB)
            return false;
        if (qd_is_decoding(c->steps))
            SAY(d, "%.3g GB of weights; the measured language models read %.1f to %.1f", gb,
                LEAST_DECODE_GB, MOST_DECODE_GB);
        else
            SAY(d,
                "%.3g MB of weights, most of them in dense layers on a few rows; of such networks "
                "only language models of %.1f to %.1f GB were measured",
                1e3 * gb, LEAST_DECODE_GB, MOST_DECODE_GB);
        return true;
    }
    if (macs >= LEAST_GMAC && macs <= MOST_GMAC && words <= MOST_WEIGHTS)
        return false;
    SAY(d,
        "%.3g GMAC and %.3g million weights; the measured networks have %.1f to %.0f and up to "
        "%.0f",
        macs, words / 1e6, LEAST_GMAC, MOST_GMAC, MOST_WEIGHTS / 1e6);
    return true;
}

static bool rare(const qd_case *c, qd_doubt *d) {
    double us = 0;
    for (uint32_t i = 0; i < c->steps->n; i++) {
        const qd_step *s = &c->steps->list[i];
        if (s->thin || s->effort > 1)
            us += c->e->steps[i].vector;
    }
    if (us < RARE_SHARE * c->e->us)
        return false;
    SAY(d,
        "divisions, Sub, PRelu and arithmetic on less than 16 channels rest on one published "
        "run; "
        "here they take %.0f %%",
        100 * us / c->e->us);
    return true;
}

static bool guessed(const qd_case *c, qd_doubt *d) {
    uint32_t n = c->steps->n_unknown;
    if (!n)
        return false;
    if (n == 1)
        SAY(d, "an op counts as a light one because nothing is known of it");
    else
        SAY(d, "%u ops count as light ones because nothing is known of them", n);
    return true;
}

static bool elsewhere(const qd_case *c, qd_doubt *d) {
    uint32_t n = c->n_elsewhere;
    if (!n)
        return false;
    SAY(d, "%u node%s not run on the NPU; neither %s nor the ways between are in the estimate", n,
        n == 1 ? " does" : "s do", n == 1 ? "it" : "they");
    return true;
}

static bool power(const qd_case *c, qd_doubt *d) {
    if (!c->options || c->options->clock <= 0 || c->options->clock == 1)
        return false;
    SAY(d, "a core at %.0f %% of its clock, an assumption; only full power was measured",
        100 * c->options->clock);
    return true;
}

static bool threads(const qd_case *c, qd_doubt *d) {
    uint32_t n = c->options ? c->options->hvx_threads : 0;
    if (!n || n >= QD_HVX_THREADS)
        return false;
    SAY(d, "%u of %u HVX threads; only all of them were measured", n, QD_HVX_THREADS);
    return true;
}

static bool vtcm(const qd_case *c, qd_doubt *d) {
    double bytes = qd_vtcm_of(c->chip, c->options);
    if (bytes == qd_vtcm_of(c->chip, NULL))
        return false;
    SAY(d, "%.1f of %u MB of VTCM; only all of it was measured", bytes / 1048576, c->chip->vtcm_mb);
    return true;
}

static const struct {
    const char *word;
    bool (*holds)(const qd_case *c, qd_doubt *d);
} doubts[] = {
    {"borrowed", borrowed}, {"batch", batch},         {"weights", weights}, {"mixed", mixed},
    {"heavy", heavy},       {"memory", memory},       {"size", size},       {"rare", rare},
    {"guessed", guessed},   {"elsewhere", elsewhere}, {"power", power},     {"threads", threads},
    {"vtcm", vtcm},
};

uint32_t qd_doubts_of(const qd_case *c, qd_doubt *out) {
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof doubts / sizeof doubts[0] && n < QD_MAX_DOUBTS; i++) {
        out[n] = (qd_doubt){.word = doubts[i].word};
        n += doubts[i].holds(c, &out[n]);
    }
    return n;
}
