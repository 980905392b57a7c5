// SPDX-License-Identifier: MIT
//
// The squared error of a layer's output is d' H d for each column d of rounding errors, with the
// inputs' sums of products H = R' R, R upper triangular. Row j of R d holds the errors from j on,
// so rounding from the last row to the first one may choose each weight such that row j becomes as
// small as it can be: the weight is rounded after adding sum(R[j][i] d[i], i > j) / R[j][j]. (GPTQ
// computes the same by way of the inverse.) Rows of large inputs are rounded first.
#include "quantizer/gram.h"

#include "base/mem.h"
#include "base/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE 128     // columns that are rounded together
#define FEW 64       // inputs of a layer that are not worth waking other threads
#define DAMPING 0.01 // of the mean of the diagonal, added to it

qrn_status qz_gram_init(qz_gram *g, uint32_t depth) {
    *g = (qz_gram){.depth = depth};
    g->sums = qrn_calloc((size_t)depth * depth * sizeof *g->sums);
    return g->sums
               ? QRN_OK
               : QRN_FAIL(QRN_E_MEM, "out of memory for the sums of a layer's %u inputs", depth);
}

void qz_gram_free(qz_gram *g) {
    qrn_free(g->sums);
    *g = (qz_gram){0};
}

typedef struct adding {
    const qz_gram *g;
    const float *rows;
    size_t n_rows;
} adding;

// y += a0 x0 + ... + a3 x3
static void add_rows(float *restrict y, const float *restrict x0, const float *restrict x1,
                     const float *restrict x2, const float *restrict x3, const float a[4],
                     size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += a[0] * x0[i] + a[1] * x1[i] + a[2] * x2[i] + a[3] * x3[i];
}

static void add_row(float *restrict y, const float *restrict x, float a, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

// Row i of the sums and the one as far from the end: as much work for every task.
static void add_task(void *arg, uint32_t task) {
    const adding *a = arg;
    size_t k = a->g->depth;
    for (int side = 0; side < 2; side++) {
        size_t i = side ? k - 1 - task : task, r = 0;
        if (side && i == task)
            break;
        float *y = a->g->sums + i * k + i;
        for (; r + 4 <= a->n_rows; r += 4) {
            const float *x = a->rows + r * k + i;
            const float f[4] = {x[0], x[k], x[2 * k], x[3 * k]};
            add_rows(y, x, x + k, x + 2 * k, x + 3 * k, f, k - i);
        }
        for (; r < a->n_rows; r++)
            add_row(y, a->rows + r * k + i, a->rows[r * k + i], k - i);
    }
}

void qz_gram_add(qz_gram *g, const float *rows, size_t n_rows) {
    adding a = {g, rows, n_rows};
    qrn_pool *pool = g->depth < FEW ? NULL : qrn_pool_acquire(0);
    qrn_pool_run(pool, add_task, &a, (g->depth + 1) / 2);
    qrn_pool_release(pool);
    g->n_rows += n_rows;
}

// --- rounding

typedef struct diagonal {
    float value;
    uint32_t at;
} diagonal;

static int compare(const void *a, const void *b) {
    const diagonal *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static float sum_at(const qz_gram *g, uint32_t i, uint32_t j) {
    return i < j ? g->sums[(size_t)i * g->depth + j] : g->sums[(size_t)j * g->depth + i];
}

typedef struct factoring {
    float *r;
    uint32_t k, row;
} factoring;

#define ROWS_A_TASK 16

static void subtract_task(void *arg, uint32_t task) {
    const factoring *f = arg;
    const float *pivot = f->r + (size_t)f->row * f->k;
    uint32_t first = f->row + 1 + task * ROWS_A_TASK;
    for (uint32_t i = first; i < first + ROWS_A_TASK && i < f->k; i++)
        add_row(f->r + (size_t)i * f->k + i, pivot + i, -pivot[i], f->k - i);
}

// The factor R of the sums in the order `at`, rows divided by their diagonal.
static void factor(const qz_gram *g, const diagonal *order, float *r, qrn_pool *pool) {
    uint32_t k = g->depth;
    double mean = 0;
    for (uint32_t i = 0; i < k; i++)
        mean += (double)order[i].value / k;
    float damping = (float)(mean > 0 ? DAMPING * mean : 1);
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = i; j < k; j++)
            r[(size_t)i * k + j] = sum_at(g, order[i].at, order[j].at) + (i == j ? damping : 0);
    for (uint32_t i = 0; i < k; i++) {
        float *row = r + (size_t)i * k, pivot = row[i] > damping / 2 ? row[i] : damping / 2;
        float root = sqrtf(pivot);
        for (uint32_t j = i; j < k; j++)
            row[j] /= root;
        row[i] = root;
        factoring f = {r, k, i};
        qrn_pool_run(pool, subtract_task, &f, (k - i - 1 + ROWS_A_TASK - 1) / ROWS_A_TASK);
    }
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t j = k; j-- > i;)
            r[(size_t)i * k + j] /= r[(size_t)i * k + i];
}

typedef struct rounding {
    const qz_rounding *q;
    const diagonal *order;
    const float *r;
    float *errors; // [n_tiles][depth][TILE]
} rounding;

static void round_tile(void *arg, uint32_t task) {
    const rounding *p = arg;
    const qz_rounding *q = p->q;
    uint32_t k = q->depth, first = task * TILE;
    uint32_t n = q->columns - first < TILE ? q->columns - first : TILE;
    float *errors = p->errors + (size_t)task * k * TILE, target[TILE];
    for (uint32_t j = k; j-- > 0;) {
        const float *row = p->r + (size_t)j * k;
        size_t at = (size_t)p->order[j].at * q->columns + first;
        const float *s = q->scales + first;
        if (q->block)
            s += (size_t)(p->order[j].at / q->block) * q->columns;
        memcpy(target, q->weights + at, n * sizeof *target);
        uint32_t i = j + 1;
        for (; i + 4 <= k; i += 4) {
            const float *e = errors + (size_t)i * TILE;
            add_rows(target, e, e + TILE, e + 2 * TILE, e + 3 * TILE, row + i, n);
        }
        for (; i < k; i++)
            add_row(target, errors + (size_t)i * TILE, row[i], n);
        for (uint32_t c = 0; c < n; c++) {
            float v = rintf(target[c] / s[c]);
            v = v < q->low ? q->low : v > q->high ? q->high : v;
            q->out[at + c] = (int8_t)v;
            errors[(size_t)j * TILE + c] = q->weights[at + c] - v * s[c];
        }
    }
}

qrn_status qz_round(const qz_rounding *r, const qz_gram *g) {
    uint32_t k = r->depth, n_tiles = (r->columns + TILE - 1) / TILE;
    diagonal *order = qrn_alloc(k * sizeof *order);
    float *factors = qrn_alloc((size_t)k * k * sizeof *factors);
    float *errors = qrn_alloc((size_t)n_tiles * k * TILE * sizeof *errors);
    bool ok = order && factors && errors;
    if (ok) {
        qrn_pool *pool = k < FEW ? NULL : qrn_pool_acquire(0);
        for (uint32_t i = 0; i < k; i++)
            order[i] = (diagonal){g->sums[(size_t)i * k + i], i};
        qsort(order, k, sizeof *order, compare);
        factor(g, order, factors, pool);
        rounding p = {r, order, factors, errors};
        qrn_pool_run(pool, round_tile, &p, n_tiles);
        qrn_pool_release(pool);
    }
    qrn_free(order);
    qrn_free(factors);
    qrn_free(errors);
    return ok ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for rounding a weight");
}
