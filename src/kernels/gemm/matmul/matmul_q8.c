// SPDX-License-Identifier: MIT
//
// Matmul of 8-bit values with b packed on the way. A unit of work is (batch entry, group of panels,
// part of the rows); rows are only cut where there are fewer units than tasks.
#include "kernels/gemm/matmul/matmul_q8.h"

#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/epilogue/requant.h"

#include <string.h>

#define GROUP_BYTES (256 * 1024) // of packed panels: they stay in the second cache
// Rows of a that are done together, whole tiles of every kernel: as many as nearly fit the first
// cache.
#define BLOCK_BYTES (48 * 1024)
#define BLOCK_ROWS_LEAST 96
#define BLOCK_ROWS_MOST 240

#define TABLE qrn_q8_packing_ref
#include "kernels/gemm/matmul/matmul_q8.inc"

static bool plain_q(const qrn_view *v) {
    return qrn_dtypes[v->dtype].bits == 8 && (v->quant->bits == 0 || v->quant->bits >= 8);
}

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }

// Largest |q + offset|.
static int64_t largest(const qrn_view *v) {
    int64_t lo = (is_signed(v) ? INT8_MIN : 0) + (int64_t)v->quant->offset, hi = lo + UINT8_MAX;
    return -lo > hi ? -lo : hi;
}

// Sums must fit 32 bits.
bool qrn_matmul_q8_works(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    if (!plain_q(a) || !plain_q(b) || !plain_q(c) || (k->n_in > 2 && k->in[2]) ||
        b->quant->kind != QRN_QUANT_TENSOR)
        return false;
    int64_t depth = (int64_t)qrn_matmul_geometry_of(k).depth, product = largest(a) * largest(b);
    return depth > 0 && (product == 0 || depth <= INT32_MAX / product);
}

// A call brought to the terms of gemm_q8.h, with this task's part of the scratch.
typedef struct job {
    const qrn_kcall *k;
    const qrn_gemm_q8_kernel *kernel;
    const qrn_q8_packing *packing;
    qrn_matmul_geometry geo;
    size_t steps, group, block; // of the depth; panels packed and rows done at a time
    uint8_t a_flip, b_flip;     // make a unsigned and b signed
    int32_t a_offset, b_offset; // of operands so made
    bool direct;                // rows are read where they lie
    float m[QRN_PANEL];
    double exact[QRN_PANEL];
    qrn_requant8 requant;
    // scratch
    int8_t *panels;   // [group][steps][32][4]
    int32_t *columns; // [group][32]
    int32_t *terms;   // [block]
    uint8_t *rows;    // [block][steps][4]
} job;

static job job_of(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1];
    job j = {.k = k, .geo = qrn_matmul_geometry_of(k)};
    j.steps = (j.geo.depth + QRN_Q8_DEPTH - 1) / QRN_Q8_DEPTH;
    j.group = GROUP_BYTES / (j.steps * QRN_Q8_DEPTH * QRN_PANEL);
    if (j.group > qrn_panels(j.geo.cols))
        j.group = qrn_panels(j.geo.cols);
    j.group = j.group ? j.group : 1;
    j.block = BLOCK_BYTES / (j.steps * QRN_Q8_DEPTH) / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN;
    j.block = j.block < BLOCK_ROWS_LEAST ? BLOCK_ROWS_LEAST : j.block;
    j.block = j.block > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : j.block;
    j.a_flip = is_signed(a) ? 0x80 : 0;
    j.b_flip = is_signed(b) ? 0 : 0x80;
    j.a_offset = a->quant->offset - (is_signed(a) ? 128 : 0);
    j.b_offset = b->quant->offset + (is_signed(b) ? 0 : 128);
    // A tile reads whole steps: rows that end within one are copied.
    j.direct = !j.a_flip && j.geo.a_depth == 1 && j.geo.depth % QRN_Q8_DEPTH == 0;
    return j;
}

// Where the parts of a task's scratch begin, in bytes.
typedef struct layout {
    size_t columns, terms, rows, end;
} layout;

static layout layout_of(const job *j) {
    size_t row = j->steps * QRN_Q8_DEPTH;
    layout l = {.columns = j->group * row * QRN_PANEL};
    l.terms = l.columns + j->group * QRN_PANEL * sizeof(int32_t);
    l.rows = l.terms + j->block * sizeof(int32_t);
    l.end = (l.rows + (j->direct ? 0 : j->block * row) + 63) / 64 * 64;
    return l;
}

size_t qrn_matmul_q8_scratch(const qrn_kcall *k) {
    job j = job_of(k);
    return k->n_tasks * layout_of(&j).end;
}

static void take_scratch(job *j) {
    layout l = layout_of(j);
    char *at = (char *)j->k->scratch + j->k->task * l.end;
    j->panels = (int8_t *)at;
    j->columns = (int32_t *)(void *)(at + l.columns);
    j->terms = (int32_t *)(void *)(at + l.terms);
    j->rows = (uint8_t *)(at + l.rows);
}

// The scale of all columns is one.
static void set_requant(job *j) {
    const qrn_view *c = j->k->out[0];
    qrn_requant r = qrn_requant_of(j->k->in[0], j->k->in[1], 0, c);
    for (uint32_t i = 0; i < QRN_PANEL; i++) {
        j->exact[i] = r.m;
        j->m[i] = (float)r.m;
    }
    j->requant = qrn_requant8_of(j->m, j->exact, r.zero_half, r.lo, r.hi);
    int64_t most_a = UINT8_MAX + (int64_t)(j->a_offset < 0 ? 0 : j->a_offset);
    int64_t most_b = INT8_MAX + 1 + (int64_t)(j->b_offset < 0 ? -j->b_offset : j->b_offset);
    most_a = most_a > -j->a_offset ? most_a : -j->a_offset;
    qrn_requant8_widen(&j->requant, 0, QRN_PANEL, (int64_t)j->geo.depth * most_a * most_b);
}

// Panels of the columns [col, col + n) of the matrix at element b, and what is added to their sums.
static void pack_group(const job *j, size_t b, size_t col, size_t n) {
    const qrn_matmul_geometry *g = &j->geo;
    uint32_t both = (uint32_t)g->depth * (uint32_t)j->a_offset * (uint32_t)j->b_offset;
    int8_t *panel = j->panels;
    int32_t *add = j->columns;
    for (size_t i = 0; i < n; i += QRN_PANEL, panel += j->steps * QRN_Q8_DEPTH * QRN_PANEL) {
        qrn_q8_columns c = {.data = (const uint8_t *)j->k->in[1]->data + b + (col + i) * g->b_col,
                            .b_depth = g->b_depth,
                            .b_col = g->b_col,
                            .depth = g->depth,
                            .n = (uint32_t)(n - i < QRN_PANEL ? n - i : QRN_PANEL),
                            .flip = j->b_flip};
        j->packing->columns(&c, panel, add);
        for (uint32_t s = 0; s < QRN_PANEL; s++, add++)
            *add = (int32_t)(both + (uint32_t)j->a_offset * (uint32_t)*add); // may wrap
    }
}

// Rows [row, row + n) at `a`, rows a_row bytes apart, times the packed panels; y is their first
// result.
static void run_rows(const job *j, const uint8_t *a, size_t a_row, size_t n, size_t cols,
                     uint8_t *y) {
    if (j->kernel->enter)
        j->kernel->enter();
    for (size_t col = 0; col < cols; col += QRN_PANEL)
        for (size_t r = 0; r < n; r += j->kernel->rows) {
            qrn_gemm_q8_tile t = {
                .a = a + r * a_row,
                .a_row = a_row,
                .b = j->panels + col * j->steps * QRN_Q8_DEPTH,
                .steps = j->steps,
                .column = j->columns + col,
                .row = j->b_offset ? j->terms + r : NULL,
                .requant = &j->requant,
                .y = y + r * j->geo.cols + col,
                .y_row = j->geo.cols,
                .rows = (uint32_t)(n - r < j->kernel->rows ? n - r : j->kernel->rows),
                .cols = (uint32_t)(cols - col < QRN_PANEL ? cols - col : QRN_PANEL)};
            j->kernel->tile(&t);
        }
    if (j->kernel->leave)
        j->kernel->leave();
}

static void run_unit(const job *j, const qrn_matmul_unit *u) {
    const qrn_matmul_geometry *g = &j->geo;
    size_t left = g->cols - u->col, most = j->group * QRN_PANEL, a, b;
    size_t cols = left < most ? left : most;
    qrn_matmul_batch(g, u->batch, &a, &b);
    pack_group(j, b, u->col, cols);
    for (size_t row = u->row; row < u->end; row += j->block) {
        qrn_q8_rows r = {.data = (const uint8_t *)j->k->in[0]->data + a + row * g->a_row,
                         .a_row = g->a_row,
                         .a_depth = g->a_depth,
                         .n = u->end - row < j->block ? u->end - row : j->block,
                         .depth = g->depth,
                         .flip = j->a_flip};
        if (!j->direct || j->b_offset)
            j->packing->rows(&r, j->direct ? NULL : j->rows, j->terms);
        for (size_t i = 0; j->b_offset && i < r.n; i++)
            j->terms[i] = (int32_t)((uint32_t)j->terms[i] * (uint32_t)j->b_offset); // may wrap
        run_rows(j, j->direct ? r.data : j->rows, j->direct ? g->a_row : j->steps * QRN_Q8_DEPTH,
                 r.n, cols,
                 (uint8_t *)j->k->out[0]->data + (u->batch * g->rows + row) * g->cols + u->col);
    }
}

static qrn_status run(const qrn_kcall *k, const qrn_gemm_q8_kernel *kernel,
                      const qrn_q8_packing *packing) {
    job j = job_of(k);
    j.kernel = kernel;
    j.packing = packing;
    take_scratch(&j);
    set_requant(&j);
    qrn_matmul_share s = qrn_matmul_share_of(&j.geo, j.group * QRN_PANEL, k);
    for (size_t i = s.begin; i < s.end; i++) {
        qrn_matmul_unit u = qrn_matmul_unit_at(&j.geo, &s, i);
        run_unit(&j, &u);
    }
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_matmul_q8_amx(const qrn_kcall *k) {
    return run(k, &qrn_gemm_q8_32x32_amx, &qrn_q8_packing_avx512vnni);
}
qrn_status qrn_matmul_q8_avx512vnni(const qrn_kcall *k) {
    return run(k, &qrn_gemm_q8_12x32_avx512vnni, &qrn_q8_packing_avx512vnni);
}
qrn_status qrn_matmul_q8_avx2(const qrn_kcall *k) {
    return run(k, &qrn_gemm_q8_6x32_avx2, &qrn_q8_packing_avx2);
}
#elif defined(__aarch64__)
qrn_status qrn_matmul_q8_neoni8mm(const qrn_kcall *k) {
    return run(k, &qrn_gemm_q8_6x32_neoni8mm, &qrn_q8_packing_neondot);
}
qrn_status qrn_matmul_q8_neondot(const qrn_kcall *k) {
    return run(k, &qrn_gemm_q8_6x32_neondot, &qrn_q8_packing_neondot);
}
#endif
