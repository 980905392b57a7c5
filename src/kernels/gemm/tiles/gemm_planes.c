// SPDX-License-Identifier: MIT
//
// GEMM over byte planes: tile by tile, run by run.
#include "kernels/gemm/tiles/gemm_planes.h"

#include <string.h>

#define TABLE qrn_planes_ops_ref
#include "kernels/gemm/tiles/gemm_planes.inc"

// Planes as rows of their own, in as many tiles as the kernel needs.
static void byte_sums(const qrn_gemm_q8_kernel *k, const qrn_planes_tile *w) {
    static const int32_t nothing[QRN_PANEL];
    size_t row_bytes = w->row_bytes / w->planes;
    qrn_gemm_q8_tile t = {.a = w->a + w->first * QRN_Q8_DEPTH,
                          .a_row = row_bytes,
                          .b = w->b,
                          .steps = w->steps,
                          .column = nothing,
                          .acc = w->acc,
                          .cols = w->cols};
    for (uint32_t left = w->rows * w->planes; left; left -= t.rows) {
        t.rows = left < k->rows ? left : k->rows;
        k->tile(&t);
        t.a += t.rows * row_bytes;
        t.acc += (size_t)t.rows * QRN_PANEL;
    }
}

#define SUMS(isa, kernel)                                                                          \
    static void sums_##isa(const qrn_planes_tile *t) { byte_sums(&kernel, t); }

#if defined(__x86_64__)
SUMS(avx2, qrn_gemm_q8_6x32_avx2)
SUMS(amx, qrn_gemm_q8_12x32_avx512vnni)
const qrn_planes_kernel qrn_planes_amx = {
    .sums = sums_amx,
    .requant = qrn_planes_requant_amx,
    .ops = &qrn_planes_ops_avx512,
    .near_bytes = 5 << 18, // of 2 MiB in the second cache of every CPU that has AMX
    .enter = qrn_planes_enter_amx,
    .leave = qrn_planes_leave_amx,
};
const qrn_planes_kernel qrn_planes_avx512vnni = {.pairs = true,
                                                 .sums = qrn_planes_sums_avx512vnni,
                                                 .requant = qrn_planes_requant_avx512vnni,
                                                 .sums4 = qrn_planes_sums4_avx512vnni,
                                                 .requant4 = qrn_planes_requant4_avx512vnni,
                                                 .runs = qrn_planes_runs_avx512vnni,
                                                 .ops = &qrn_planes_ops_avx512};
const qrn_planes_kernel qrn_planes_avx2 = {.sums = sums_avx2, .ops = &qrn_planes_ops_avx2};
#elif defined(__aarch64__)
SUMS(neoni8mm, qrn_gemm_q8_6x32_neoni8mm)
const qrn_planes_kernel qrn_planes_neoni8mm = {.sums = sums_neoni8mm, .ops = &qrn_planes_ops_neon};
SUMS(neondot, qrn_gemm_q8_6x32_neondot)
const qrn_planes_kernel qrn_planes_neondot = {.sums = sums_neondot, .ops = &qrn_planes_ops_neon};
#endif
SUMS(ref, qrn_gemm_q8_ref)
const qrn_planes_kernel qrn_planes_ref = {.sums = sums_ref, .ops = &qrn_planes_ops_ref};

// Are results the sums themselves? Then they are y = sum + add, in 32 bits.
static bool keeps_sums(const qrn_planes_rows *r, const qrn_planes_panel *p,
                       const qrn_planes_out *o) {
    if (o->elem != 4 || r->planes != 1 || p->planes != 1 || p->n_runs != 1 || p->offset ||
        !p->add32)
        return false;
    for (uint32_t c = 0; c < o->cols; c++)
        if (p->m[c] != 1.0 || p->start[c] != 0.5)
            return false;
    return true;
}

static void store_sums(const int32_t *acc, const int32_t *add, const qrn_planes_out *o,
                       size_t first, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++, acc += QRN_PANEL) {
        uint32_t *to = (uint32_t *)o->y + (first + i) * o->y_row;
        if (o->cols == QRN_PANEL)
            for (uint32_t c = 0; c < QRN_PANEL; c++)
                to[c] = (uint32_t)acc[c] + (uint32_t)add[c];
        else
            for (uint32_t c = 0; c < o->cols; c++)
                to[c] = (uint32_t)acc[c] + (uint32_t)add[c];
    }
}

static void sums_alone(const qrn_planes_kernel *k, const qrn_planes_rows *r,
                       const qrn_planes_panel *p, const qrn_planes_out *o) {
    int32_t acc[QRN_PLANES_TILE * QRN_PANEL] = {0}; // columns beyond o->cols may stay unwritten
    for (size_t first = 0; first < r->n; first += QRN_PLANES_TILE) {
        size_t left = r->n - first;
        qrn_planes_tile w = {.a = r->a + first * r->row_bytes,
                             .row_bytes = r->row_bytes,
                             .rows = (uint32_t)(left < QRN_PLANES_TILE ? left : QRN_PLANES_TILE),
                             .planes = 1,
                             .b = p->plane[0],
                             .steps = p->steps,
                             .cols = o->cols,
                             .acc = acc};
        (p->nibbles ? k->sums4 : k->sums)(&w);
        store_sums(acc, p->add32, o, first, w.rows);
    }
}

// For kernels whose sums are joined, scaled and stored in one.
static void finished(const qrn_planes_kernel *k, const qrn_planes_rows *r,
                     const qrn_planes_panel *p, const qrn_planes_out *o) {
    int32_t acc[QRN_PLANES_TILE * QRN_PANEL] = {0}; // columns beyond o->cols may stay unwritten
    uint32_t tile = QRN_PLANES_TILE / r->planes;
    for (size_t first = 0; first < r->n; first += tile) {
        size_t left = r->n - first;
        qrn_planes_tile w = {.a = r->a + first * r->row_bytes,
                             .row_bytes = r->row_bytes,
                             .rows = (uint32_t)(left < tile ? left : tile),
                             .planes = r->planes,
                             .b = p->plane[0],
                             .steps = p->steps,
                             .cols = o->cols,
                             .acc = acc};
        k->sums(&w);
        k->ops->finish(p, o, first, acc, w.rows);
    }
}

// Any rows, panels and results, with the sums on their way through memory.
static void product(const qrn_planes_kernel *k, const qrn_planes_rows *r, const qrn_planes_panel *p,
                    const qrn_planes_out *o) {
    int32_t acc[QRN_PLANES_TILE * QRN_PANEL] = {0}; // columns beyond o->cols may stay unwritten
    double sum[QRN_PLANES_TILE * QRN_PANEL], t[QRN_PLANES_TILE * QRN_PANEL];
    uint32_t tile = QRN_PLANES_TILE / r->planes;
    size_t step = QRN_PANEL * (p->nibbles ? QRN_Q8_DEPTH / 2 : QRN_Q8_DEPTH);
    for (size_t first = 0; first < r->n; first += tile) {
        uint32_t rows = (uint32_t)(r->n - first < tile ? r->n - first : tile);
        qrn_planes_tile w = {.a = r->a + first * r->row_bytes,
                             .row_bytes = r->row_bytes,
                             .rows = rows,
                             .planes = r->planes,
                             .cols = o->cols,
                             .acc = acc};
        for (uint32_t i = 0; i < rows; i++)
            memcpy(t + i * QRN_PANEL, p->start, QRN_PANEL * sizeof *t);
        for (uint32_t run = 0; run < p->n_runs; run++) {
            size_t at = (size_t)run * QRN_PANEL;
            size_t end = run + 1 < p->n_runs ? p->starts[run + 1] / QRN_Q8_DEPTH : p->steps;
            w.first = p->starts[run] / QRN_Q8_DEPTH;
            w.steps = end - w.first;
            memset(sum, 0, rows * QRN_PANEL * sizeof *sum);
            for (uint32_t q = 0; q < p->planes; q++) {
                w.b = p->plane[q] + w.first * step;
                (p->nibbles ? k->sums4 : k->sums)(&w);
                k->ops->join(sum, acc, rows, r->planes, q ? 256.0 : 1.0);
            }
            k->ops->scale(t, sum, p->add + at, p->offset ? p->offset + at : NULL,
                          r->sums ? r->sums + first * p->n_runs + run : NULL, p->n_runs, p->m + at,
                          rows);
        }
        k->ops->store((char *)o->y + first * o->y_row * o->elem, o->elem, o->y_row, t, rows,
                      o->cols, o->lo, o->hi);
    }
}

static bool short_runs(const qrn_planes_panel *p) {
    for (uint32_t run = 0; run < p->n_runs; run++) {
        size_t end = run + 1 < p->n_runs ? p->starts[run + 1] / QRN_Q8_DEPTH : p->steps;
        if (end - p->starts[run] / QRN_Q8_DEPTH > QRN_PLANES_RUN)
            return false;
    }
    return true;
}

void qrn_planes_gemm(const qrn_planes_kernel *k, const qrn_planes_rows *r,
                     const qrn_planes_panel *p, const qrn_planes_out *o) {
    bool plain = r->planes == 2 && o->elem == 2 && p->planes == 1 && p->n_runs == 1 && !p->offset &&
                 p->small;
    if (plain && k->requant)
        (p->nibbles ? k->requant4 : k->requant)(r, p, o);
    else if (plain && k->ops->finish)
        finished(k, r, p, o);
    else if (keeps_sums(r, p, o))
        sums_alone(k, r, p, o);
    else if (k->runs && p->planes == 1 && p->n_runs > 1 && o->elem < 4 && short_runs(p))
        k->runs(r, p, o);
    else
        product(k, r, p, o);
}

// The last, incomplete step of a row in pairs.
static void last_pair(const uint16_t *x, size_t n, uint8_t flip, uint8_t *dst) {
    memset(dst, 0, 2 * QRN_Q8_DEPTH);
    for (size_t i = 0; i < n; i++) {
        dst[i] = (uint8_t)x[i];
        dst[QRN_Q8_DEPTH + i] = (uint8_t)((x[i] >> 8) ^ flip);
    }
}

static void make_row(const qrn_planes_kernel *k, const void *x, size_t elem, size_t depth,
                     uint8_t flip, uint8_t *row) {
    size_t plane = qrn_planes_steps(depth) * QRN_Q8_DEPTH,
           whole = depth / QRN_Q8_DEPTH * QRN_Q8_DEPTH;
    if (elem == 1) {
        for (size_t i = 0; i < depth; i++)
            row[i] = ((const uint8_t *)x)[i] ^ flip;
        memset(row + depth, 0, plane - depth);
    } else if (k->pairs) {
        k->ops->pairs(x, whole, flip, row);
        if (whole < depth)
            last_pair((const uint16_t *)x + whole, depth - whole, flip, row + 2 * whole);
    } else {
        k->ops->split(x, depth, flip, row, row + plane);
        memset(row + depth, 0, plane - depth);
        memset(row + plane + depth, 0, plane - depth);
    }
}

void qrn_planes_make_rows(const qrn_planes_kernel *k, const void *x, size_t x_row, size_t elem,
                          size_t depth, bool is_signed, size_t n, uint8_t *rows) {
    size_t row_bytes = qrn_planes_steps(depth) * QRN_Q8_DEPTH * elem;
    uint8_t flip = is_signed ? 0x80 : 0;
    bool together = x_row == row_bytes && depth % QRN_Q8_DEPTH == 0; // no gaps between rows
    if (elem == 2 && k->pairs && together) {
        k->ops->pairs(x, n * depth, flip, rows);
        return;
    }
    for (size_t i = 0; i < n; i++)
        make_row(k, (const char *)x + i * x_row, elem, depth, flip, rows + i * row_bytes);
}

void qrn_planes_row_sums(const qrn_planes_ops *ops, const void *x, size_t elem, size_t depth,
                         bool is_signed, const uint32_t *starts, uint32_t n_runs, double *sums) {
    for (uint32_t run = 0; run < n_runs; run++) {
        size_t end = run + 1 < n_runs ? starts[run + 1] : depth, n = end - starts[run];
        if (elem == 1)
            sums[run] = ops->sum8((const uint8_t *)x + starts[run], n, is_signed ? 0x80 : 0);
        else
            sums[run] = ops->sum16((const uint16_t *)x + starts[run], n, is_signed ? 0x8000 : 0);
    }
}
