// SPDX-License-Identifier: MIT
//
// The dense family: gathering of rows, splitting over tasks, the row list.
#include "kernels/gemm/dense.h"

#include "base/mem.h"
#include "kernels/gemm/gemm_f32.h"

#include <string.h>

#define GRAIN 12                   // rows: tasks and blocks are whole tiles of every kernel
#define BLOCK_ELEMENTS (48 * 1024) // of gathered rows
#define BLOCK_ROWS_MAX 240

bool qrn_dense_packed_shape(const qrn_dense_args *a, uint32_t dims[3]) {
    uint64_t panels = (uint64_t)qrn_panels(a->cols) * a->group;
    if (panels > UINT32_MAX)
        return false;
    dims[0] = (uint32_t)panels;
    dims[1] = a->depth;
    dims[2] = QRN_PANEL;
    return true;
}

void qrn_dense_pack(const qrn_dense_args *a, const float *w, size_t w_depth, size_t w_col,
                    float *packed) {
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j = 0; j < a->cols; j += QRN_PANEL, packed += (size_t)a->depth * QRN_PANEL)
            qrn_gemm_f32_pack_panel(w + (size_t)g * a->cols * w_col, w_depth, w_col, a->depth,
                                    a->cols, j, packed);
}

// What all tasks share.
typedef struct plan {
    const qrn_dense_args *args;
    qrn_conv_geometry geo;
    size_t rows;  // of the product
    size_t cout;  // all groups
    bool direct;  // rows lie in x as they are
    size_t a_row; // direct: elements between rows of x
} plan;

static plan plan_of(const qrn_kcall *k) {
    const qrn_dense_args *a = k->args;
    plan p = {.args = a, .cout = (size_t)a->cols * a->group, .direct = true, .a_row = a->depth};
    if (a->rows) {
        p.rows = a->depth ? qrn_view_count(k->in[0]) / a->depth : 0;
        return p;
    }
    p.geo = qrn_conv_geometry_of(&a->conv, k->in[0], k->out[0], a->kernel);
    p.rows = qrn_conv_cells(&p.geo);
    p.a_row = p.geo.cin;
    for (int i = 0; i < 3; i++)
        p.direct &= p.geo.kernel[i] == 1 && p.geo.stride[i] == 1 && p.geo.before[i] == 0 &&
                    p.geo.in[i] == p.geo.out[i];
    return p;
}

static size_t block_rows(const qrn_dense_args *a) {
    size_t n = BLOCK_ELEMENTS / (a->depth ? a->depth : 1) / GRAIN * GRAIN;
    return n < GRAIN ? GRAIN : n > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : n;
}

// Copies n cells of `cin` channels out of rows of `step` channels; cells outside [0, size) are
// zero.
static void gather_line(const float *x, int64_t first, int64_t spread, int64_t n, int64_t size,
                        size_t cin, size_t step, float *dst) {
    int64_t low = first < 0 ? -first : 0, high = size - first < n ? size - first : n;
    if (spread == 1 && cin == step && low < high) { // one run between two runs of zeros
        memset(dst, 0, (size_t)low * cin * sizeof *dst);
        memcpy(dst + (size_t)low * cin, x + (size_t)(first + low) * cin,
               (size_t)(high - low) * cin * sizeof *dst);
        memset(dst + (size_t)high * cin, 0, (size_t)(n - high) * cin * sizeof *dst);
        return;
    }
    for (int64_t i = 0; i < n; i++, dst += cin) {
        int64_t at = first + i * spread;
        if (at < 0 || at >= size)
            memset(dst, 0, cin * sizeof *dst);
        else
            memcpy(dst, x + (size_t)at * step, cin * sizeof *dst);
    }
}

// One row of the product: the cells under the window of an output cell, channels of group `group`.
static void gather_row(const plan *p, const float *x, size_t cell, size_t group, float *dst) {
    const qrn_conv_geometry *g = &p->geo;
    qrn_conv_cell c = qrn_conv_cell_at(g, cell);
    size_t cin = g->cin / g->group, line = (size_t)g->kernel[2] * cin;
    int64_t first = c.at[2] * g->stride[2] - g->before[2];
    for (int64_t i = 0; i < g->kernel[0]; i++)
        for (int64_t j = 0; j < g->kernel[1]; j++, dst += line) {
            int64_t z = c.at[0] * g->stride[0] - g->before[0] + i * g->dilation[0];
            int64_t y = c.at[1] * g->stride[1] - g->before[1] + j * g->dilation[1];
            if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1]) {
                memset(dst, 0, line * sizeof *dst);
                continue;
            }
            size_t start = (size_t)((c.n * g->in[0] + z) * g->in[1] + y) * (size_t)g->in[2];
            gather_line(x + start * g->cin + group * cin, first, g->dilation[2], g->kernel[2],
                        g->in[2], cin, g->cin, dst);
        }
}

// Rows [r0, r1) times panels [p0, p1) of a group.
static void run_group(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel, const plan *p,
                      size_t group, size_t r0, size_t r1, size_t p0, size_t p1) {
    const qrn_dense_args *a = p->args;
    const float *x = k->in[0]->data, *w = k->in[1]->data;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    float *y = k->out[0]->data, *rows = (float *)k->scratch;
    size_t col = group * a->cols + p0 * QRN_PANEL, step = block_rows(a);
    size_t cols = (p1 * QRN_PANEL < a->cols ? p1 * QRN_PANEL : a->cols) - p0 * QRN_PANEL;
    if (p->direct)
        step = r1 - r0;
    else
        rows += k->task * step * a->depth;
    for (size_t r = r0; r < r1; r += step) {
        size_t n = r1 - r < step ? r1 - r : step;
        for (size_t i = 0; !p->direct && i < n; i++)
            gather_row(p, x, r + i, group, rows + i * a->depth);
        qrn_gemm_f32_run(kernel,
                         &(qrn_gemm_f32_block){
                             .a = p->direct ? x + r * p->a_row + group * a->depth : rows,
                             .a_row = p->direct ? p->a_row : a->depth,
                             .b = w + (group * qrn_panels(a->cols) + p0) * a->depth * QRN_PANEL,
                             .bias = bias ? bias + col : NULL,
                             .c = y + r * p->cout + col,
                             .c_row = p->cout,
                             .rows = n,
                             .cols = cols,
                             .depth = a->depth});
    }
}

// Tasks share the rows, or the panels where there are too few rows to go round.
static qrn_status run(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel) {
    plan p = plan_of(k);
    size_t panels = qrn_panels(p.args->cols), r0 = 0, r1 = p.rows, u0 = 0;
    size_t u1 = panels * p.args->group;
    if (p.rows >= (size_t)GRAIN * k->n_tasks || p.rows / GRAIN > u1)
        qrn_split(p.rows, GRAIN, k->task, k->n_tasks, &r0, &r1);
    else
        qrn_split(u1, 1, k->task, k->n_tasks, &u0, &u1);
    for (size_t u = u0, end; u < u1 && r0 < r1; u = end) {
        size_t group = u / panels;
        end = (group + 1) * panels < u1 ? (group + 1) * panels : u1;
        run_group(k, kernel, &p, group, r0, r1, u - group * panels, end - group * panels);
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    plan p = plan_of(k);
    return p.rows * p.cout * p.args->depth < 100000 ? 1 : n_threads;
}

static size_t scratch(const qrn_kcall *k) {
    const qrn_dense_args *a = k->args;
    return plan_of(k).direct ? 0 : k->n_tasks * block_rows(a) * a->depth * sizeof(float);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = dense_##isa,          \
        .tasks = tasks, .scratch = scratch                                                         \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status dense_##isa(const qrn_kcall *k) { return run(k, &kernel); }

#if defined(__x86_64__)
FUNCTION(f32_avx512, qrn_gemm_f32_12x32_avx512)
FUNCTION(f32_avx2, qrn_gemm_f32_6x32_avx2)
#elif defined(__aarch64__)
FUNCTION(f32_neon, qrn_gemm_f32_6x32_neon)
#endif
FUNCTION(f32_ref, qrn_gemm_f32_ref)

static const qrn_kernel dense_rows[] = {
#if defined(__x86_64__)
    ROW(f32_avx512, QRN_ISA_AVX512),
    ROW(f32_avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(f32_neon, QRN_ISA_NEON),
#endif
    ROW(f32_ref, 0),
};
QRN_FAMILY(dense, sizeof(qrn_dense_args));
