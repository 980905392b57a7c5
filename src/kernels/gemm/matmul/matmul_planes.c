// SPDX-License-Identifier: MIT
//
// Quantized matmul over byte planes, with b packed on the way.
#include "kernels/gemm/matmul/matmul_planes.h"

#include "kernels/gemm/tiles/gemm_planes.h"
#include "kernels/gemm/matmul/matmul.h"

#include <string.h>

#define BLOCK_BYTES (128 * 1024) // of rows in planes: they stay in the second cache

static bool plain_q(const qrn_view *v) {
    uint32_t bits = qrn_dtypes[v->dtype].bits;
    return (bits == 8 || bits == 16) && (v->quant->bits == 0 || v->quant->bits >= bits);
}

bool qrn_matmul_planes_works(const qrn_kcall *k) {
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    return plain_q(k->in[0]) && plain_q(k->in[1]) && k->in[1]->quant->kind != QRN_QUANT_BLOCK &&
           g.depth > 0 && g.depth <= QRN_PLANES_DEPTH_MAX;
}

// A call brought to the terms of gemm_planes.h, with this task's part of the scratch.
typedef struct job {
    const qrn_kcall *k;
    const qrn_planes_kernel *kernel;
    qrn_matmul_geometry geo;
    uint32_t planes_a, planes_b;
    size_t plane, block; // bytes of one plane of a row; rows of a that are done together
    bool a_signed, b_signed;
    qrn_planes_out out;
    // scratch
    uint8_t *rows;    // [block][planes_a * plane]
    int8_t *panel;    // [planes_b][plane][32]
    char *gathered;   // [depth] elements of a row that does not lie together
    double *row_sums; // [block]
} job;

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }

static job job_of(const qrn_kcall *k, const qrn_planes_kernel *kernel) {
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    job j = {.k = k, .kernel = kernel, .geo = qrn_matmul_geometry_of(k)};
    int64_t lo, hi;
    j.planes_a = (uint32_t)qrn_view_elem(a);
    j.planes_b = (uint32_t)qrn_view_elem(b);
    j.plane = qrn_planes_steps(j.geo.depth) * QRN_Q8_DEPTH;
    j.block = BLOCK_BYTES / (j.plane * j.planes_a) / QRN_PLANES_TILE * QRN_PLANES_TILE;
    j.block = j.block < QRN_PLANES_TILE ? QRN_PLANES_TILE : j.block;
    j.block = j.block > QRN_DENSE_BLOCK_ROWS_MAX ? QRN_DENSE_BLOCK_ROWS_MAX : j.block;
    j.a_signed = is_signed(a);
    j.b_signed = is_signed(b);
    qrn_quant_range(c->dtype, c->quant->bits, &lo, &hi);
    j.out = (qrn_planes_out){
        .elem = qrn_view_elem(c), .y_row = j.geo.cols, .lo = (double)lo, .hi = (double)hi};
    return j;
}

static size_t aligned(size_t at) { return (at + 63) / 64 * 64; }

// Where the parts of a task's scratch begin, in bytes.
typedef struct layout {
    size_t gathered, panel, rows, end;
} layout;

static layout layout_of(const job *j) {
    layout l = {.gathered = aligned(j->block * sizeof(double))};
    l.panel = l.gathered + aligned(j->geo.depth * 2);
    l.rows = l.panel + j->planes_b * j->plane * QRN_PANEL;
    l.end = aligned(l.rows + j->block * j->planes_a * j->plane);
    return l;
}

static void take_scratch(job *j) {
    layout l = layout_of(j);
    char *at = (char *)j->k->scratch + j->k->task * l.end;
    j->row_sums = (double *)(void *)at;
    j->gathered = at + l.gathered;
    j->panel = (int8_t *)(at + l.panel);
    j->rows = (uint8_t *)(at + l.rows);
}

size_t qrn_matmul_planes_scratch(const qrn_kcall *k) {
    job j = job_of(k, NULL);
    return k->n_tasks * layout_of(&j).end;
}

// Rows [row, row + n) of the matrix at element `a` as planes.
static void make_rows(const job *j, size_t a, size_t row, size_t n) {
    const qrn_matmul_geometry *g = &j->geo;
    size_t elem = j->planes_a;
    uint32_t start = 0;
    for (size_t i = 0; i < n; i++) {
        const char *row_a = (const char *)j->k->in[0]->data + (a + (row + i) * g->a_row) * elem;
        if (g->a_depth != 1) {
            for (size_t d = 0; d < g->depth; d++)
                memcpy(j->gathered + d * elem, row_a + d * g->a_depth * elem, elem);
            row_a = j->gathered;
        }
        qrn_planes_make_rows(j->kernel, row_a, 0, elem, g->depth, j->a_signed, 1,
                             j->rows + i * elem * j->plane);
        qrn_planes_row_sums(j->kernel->ops, row_a, elem, g->depth, j->a_signed, &start, 1,
                            &j->row_sums[i]);
    }
}

// Column c of a panel from element `from` of b on; returns the sum of what is stored.
static int64_t pack_column(const job *j, size_t from, size_t c) {
    const qrn_matmul_geometry *g = &j->geo;
    int8_t *low = j->panel, *high = j->panel + j->plane * QRN_PANEL;
    unsigned flip = j->b_signed ? 0 : 0x80;
    int64_t sum = 0;
    if (j->planes_b == 1) {
        const uint8_t *b = (const uint8_t *)j->k->in[1]->data + from;
        for (size_t d = 0; d < g->depth; d++) {
            int8_t s = (int8_t)(b[d * g->b_depth] ^ flip);
            low[(d / QRN_Q8_DEPTH * QRN_PANEL + c) * QRN_Q8_DEPTH + d % QRN_Q8_DEPTH] = s;
            sum += s;
        }
        return sum;
    }
    const uint16_t *b = (const uint16_t *)j->k->in[1]->data + from;
    for (size_t d = 0; d < g->depth; d++) {
        size_t at = (d / QRN_Q8_DEPTH * QRN_PANEL + c) * QRN_Q8_DEPTH + d % QRN_Q8_DEPTH;
        low[at] = (int8_t)((b[d * g->b_depth] & 255u) ^ 0x80u);
        high[at] = (int8_t)((b[d * g->b_depth] >> 8) ^ flip);
        sum += low[at] + 256 * high[at];
    }
    return sum;
}

// What is added to an element of b where it is stored, negated.
static double stored_shift(const job *j) {
    if (j->planes_b == 1)
        return j->b_signed ? 0 : 128;
    return 128 + (j->b_signed ? 0 : 32768);
}

// Columns [col, col + n) of the matrix at element `b` times the rows at hand.
static void run_panel(const job *j, size_t b, size_t col, uint32_t n, size_t rows, size_t y) {
    const qrn_view *av = j->k->in[0], *bv = j->k->in[1], *cv = j->k->out[0];
    const qrn_view *bias = j->k->n_in > 2 ? j->k->in[2] : NULL;
    double add[QRN_PANEL] = {0}, m[QRN_PANEL] = {0}, offset[QRN_PANEL] = {0},
           start[QRN_PANEL] = {0};
    double half = j->planes_a == 2 ? 32768 : 128;
    double u_offset = (double)av->quant->offset - (j->a_signed ? half : 0);
    memset(j->panel, 0, j->planes_b * j->plane * QRN_PANEL);
    for (uint32_t c = 0; c < n; c++) {
        int64_t sum = pack_column(j, b + (col + c) * j->geo.b_col, c);
        qrn_requant r = qrn_requant_of(av, bv, col + c, cv);
        offset[c] = (double)qrn_group_offset(bv->quant, col + c) + stored_shift(j);
        add[c] = u_offset * ((double)sum + (double)j->geo.depth * offset[c]) +
                 (double)qrn_bias_sum(bias, col + c);
        m[c] = r.m;
        start[c] = r.zero_half + qrn_bias_real(bias, col + c, cv);
    }
    uint32_t first = 0;
    size_t part = 0;
    qrn_planes_panel p = {.plane = {j->panel, j->panel + j->plane * QRN_PANEL},
                          .planes = j->planes_b,
                          .steps = j->plane / QRN_Q8_DEPTH,
                          .n_runs = 1,
                          .starts = &first,
                          .add = add,
                          .m = m,
                          .offset = offset,
                          .start = start};
    qrn_planes_rows r = {.a = j->rows,
                         .row_bytes = j->planes_a * j->plane,
                         .planes = j->planes_a,
                         .n = rows,
                         .n_parts = 1,
                         .parts = &part,
                         .sums = j->row_sums};
    qrn_planes_out o = j->out;
    o.cols = n;
    o.y = (char *)cv->data + y * o.elem;
    qrn_planes_gemm(j->kernel, &r, &p, &o);
}

// Units are blocks of rows; fewer rows a block where that keeps more tasks busy.
static qrn_status run(const qrn_kcall *k, const qrn_planes_kernel *kernel) {
    job j = job_of(k, kernel);
    const qrn_matmul_geometry *g = &j.geo;
    take_scratch(&j);
    size_t block = j.block, fair = (g->batch * g->rows + k->n_tasks - 1) / k->n_tasks;
    fair = (fair + QRN_PLANES_TILE - 1) / QRN_PLANES_TILE * QRN_PLANES_TILE;
    block = fair < block && fair > 0 ? fair : block;
    size_t per_matrix = (g->rows + block - 1) / block, begin, end;
    qrn_split(g->batch * per_matrix, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t unit = begin; unit < end; unit++) {
        size_t n = unit / per_matrix, row = unit % per_matrix * block, a, b;
        size_t rows = g->rows - row < block ? g->rows - row : block;
        qrn_matmul_batch(g, n, &a, &b);
        make_rows(&j, a, row, rows);
        for (size_t col = 0; col < g->cols; col += QRN_PANEL) {
            size_t left = g->cols - col < QRN_PANEL ? g->cols - col : QRN_PANEL;
            run_panel(&j, b, col, (uint32_t)left, rows, (n * g->rows + row) * g->cols + col);
        }
    }
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_matmul_planes_avx512vnni(const qrn_kcall *k) {
    return run(k, &qrn_planes_avx512vnni);
}
qrn_status qrn_matmul_planes_avx2(const qrn_kcall *k) { return run(k, &qrn_planes_avx2); }
#elif defined(__aarch64__)
qrn_status qrn_matmul_planes_neoni8mm(const qrn_kcall *k) { return run(k, &qrn_planes_neoni8mm); }
qrn_status qrn_matmul_planes_neondot(const qrn_kcall *k) { return run(k, &qrn_planes_neondot); }
#endif
qrn_status qrn_matmul_planes_any(const qrn_kcall *k) { return run(k, &qrn_planes_ref); }
