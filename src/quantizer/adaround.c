// SPDX-License-Identifier: MIT
//
// Adaptive rounding by coordinate descent.
//
// Changing weight i by t changes d' H d by 2 t (H d)[i] + t^2 H[i][i]. Each sweep looks at every
// weight of a column and takes the step of one quantum that lowers the error, keeping H d up to
// date; it ends when no step does. Columns are independent, so threads share them.
#include "quantizer/adaround.h"

#include "base/mem.h"
#include "base/pool.h"

#include <math.h>
#include <string.h>

#define MOST_SWEEPS 20
#define FEW 4096      // weights that are not worth waking other threads
#define DAMPING 0.005 // of the mean of the diagonal, added to it

typedef struct descent {
    const qz_rounding *r;
    const float *h; // [depth][depth], whole
    float *scratch; // [columns][2 * depth]
    double *errors; // [columns][2]: before, after
} descent;

static float scale_of(const qz_rounding *r, uint32_t row, uint32_t column) {
    return r->scales[(r->block ? (size_t)(row / r->block) * r->columns : 0) + column];
}

static void product(const float *h, const float *d, float *hd, uint32_t k) {
    memset(hd, 0, k * sizeof *hd);
    for (uint32_t j = 0; j < k; j++) {
        const float *row = h + (size_t)j * k;
        float x = d[j];
        for (uint32_t i = 0; i < k; i++)
            hd[i] += x * row[i];
    }
}

static double square(const float *d, const float *hd, uint32_t k) {
    double sum = 0;
    for (uint32_t i = 0; i < k; i++)
        sum += (double)d[i] * (double)hd[i];
    return sum;
}

static void plain_errors(const qz_rounding *r, uint32_t c, float *d) {
    for (uint32_t i = 0; i < r->depth; i++) {
        float w = r->weights[(size_t)i * r->columns + c], s = scale_of(r, i, c), q = rintf(w / s);
        q = q < r->low ? r->low : q > r->high ? r->high : q;
        d[i] = q * s - w;
    }
}

static bool sweep(const qz_rounding *r, const float *h, uint32_t c, float *d, float *hd) {
    uint32_t k = r->depth;
    bool changed = false;
    for (uint32_t i = 0; i < k; i++) {
        const float *row = h + (size_t)i * k;
        float s = scale_of(r, i, c), t = hd[i] > 0 ? -s : s;
        int8_t *q = &r->out[(size_t)i * r->columns + c];
        float next = (float)*q + (t > 0 ? 1.0f : -1.0f);
        if (2 * t * hd[i] + t * t * row[i] >= 0 || next < r->low || next > r->high)
            continue;
        *q = (int8_t)next;
        d[i] += t;
        for (uint32_t j = 0; j < k; j++)
            hd[j] += t * row[j];
        changed = true;
    }
    return changed;
}

static void descend(void *arg, uint32_t c) {
    const descent *p = arg;
    const qz_rounding *r = p->r;
    uint32_t k = r->depth;
    float *d = p->scratch + (size_t)c * 2 * k, *hd = d + k;
    plain_errors(r, c, d);
    product(p->h, d, hd, k);
    p->errors[2 * c] = square(d, hd, k);
    for (uint32_t i = 0; i < k; i++) {
        size_t at = (size_t)i * r->columns + c;
        d[i] = (float)r->out[at] * scale_of(r, i, c) - r->weights[at];
    }
    product(p->h, d, hd, k);
    for (int n = 0; n < MOST_SWEEPS && sweep(r, p->h, c, d, hd); n++)
        ;
    product(p->h, d, hd, k);
    p->errors[2 * c + 1] = square(d, hd, k);
}

// The whole matrix of one row's mean products, without what the means make.
static void fill(const qz_gram *g, const double *means, float *h) {
    uint32_t k = g->depth;
    double mean = 0, n = g->n_rows ? (double)g->n_rows : 1;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = i; j < k; j++) {
            double x = (double)g->sums[(size_t)i * k + j] / n;
            x -= means ? means[i] * means[j] : 0;
            h[(size_t)i * k + j] = h[(size_t)j * k + i] = (float)x;
        }
    for (uint32_t i = 0; i < k; i++)
        mean += (double)h[(size_t)i * k + i] / k;
    for (uint32_t i = 0; i < k; i++)
        h[(size_t)i * k + i] += (float)(mean > 0 ? DAMPING * mean : 1e-12);
}

qrn_status qz_adaround(const qz_rounding *r, const qz_gram *g, const double *means, double *before,
                       double *after) {
    uint32_t k = r->depth;
    float *h = qrn_alloc((size_t)k * k * sizeof *h);
    descent p = {.r = r, .h = h};
    p.scratch = qrn_alloc((size_t)r->columns * 2 * k * sizeof *p.scratch);
    p.errors = qrn_calloc((size_t)r->columns * 2 * sizeof *p.errors);
    qrn_status s = h && p.scratch && p.errors
                       ? QRN_OK
                       : QRN_FAIL(QRN_E_MEM, "out of memory for rounding a weight");
    if (s == QRN_OK) {
        fill(g, means, h);
        const qz_gram centred = {.depth = k, .n_rows = 1, .sums = h};
        s = qz_round(r, &centred);
    }
    if (s == QRN_OK) {
        qrn_pool *pool = k * r->columns < FEW ? NULL : qrn_pool_acquire(0);
        qrn_pool_run(pool, descend, &p, r->columns);
        qrn_pool_release(pool);
    }
    for (uint32_t c = 0; s == QRN_OK && c < r->columns; c++) {
        if (before)
            *before += p.errors[2 * c];
        if (after)
            *after += p.errors[2 * c + 1];
    }
    qrn_free(h);
    qrn_free(p.scratch);
    qrn_free(p.errors);
    return s;
}
