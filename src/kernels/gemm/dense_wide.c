// SPDX-License-Identifier: MIT
//
// The dense_wide family: rows of activations as byte planes, panels of packed weights with their
// column terms, products by gemm_wide.h.
#include "kernels/gemm/dense_wide.h"

#include "kernels/gemm/gemm_wide.h"

#include <string.h>

#define BLOCK_BYTES (128 * 1024) // of rows in planes: they stay in the second cache
#define GATHER_ROWS 12           // gathered before they are cut into planes

bool qrn_dense_has_zero(qrn_dtype x, int32_t x_offset) {
    int64_t lo, hi;
    qrn_code_range(x, 0, &lo, &hi);
    return -(int64_t)x_offset >= lo && -(int64_t)x_offset <= hi;
}

// A call brought to the terms of gemm_wide.h, with this task's part of the scratch.
typedef struct job {
    const qrn_kcall *k;
    const qrn_dense_wide_args *args;
    const qrn_wide_kernel *kernel;
    qrn_dense_plan plan;
    uint32_t planes, n_runs; // of a row; of the depth
    size_t row_bytes;        // of one plane of a row
    double u_offset;
    bool x_signed;
    qrn_wide_out out; // of no part of y in particular
    // scratch
    uint8_t *rows;            // [block rows][planes][row_bytes]
    double *row_sums;         // [block rows][runs]
    double *add, *m, *offset; // [runs][32]
    int8_t *panel;            // dense4: an unpacked panel
    char *gathered;           // [GATHER_ROWS][depth] codes
} job;

static size_t panel_bytes(const qrn_dense_args *d) {
    return qrn_q8_steps(d->depth) * QRN_PANEL * QRN_Q8_DEPTH;
}

static size_t block_rows(const job *j) {
    return qrn_dense_block_rows(j->plan.args, BLOCK_BYTES / j->planes);
}

// Where the parts of a task's scratch begin, in bytes.
typedef struct layout {
    size_t row_sums, panel, gathered, rows, end;
} layout;

static size_t aligned(size_t at) { return (at + 63) / 64 * 64; }

static layout layout_of(const job *j) {
    const qrn_dense_args *d = j->plan.args;
    size_t rows = block_rows(j);
    layout l = {.row_sums = 3 * (size_t)j->n_runs * QRN_PANEL * sizeof(double)};
    l.panel = l.row_sums + rows * j->n_runs * sizeof(double);
    l.gathered = aligned(l.panel + (j->args->w_bits == 4 ? panel_bytes(d) : 0));
    l.rows =
        aligned(l.gathered + (j->plan.direct ? 0 : (size_t)GATHER_ROWS * d->depth * j->planes));
    l.end = aligned(l.rows + rows * j->planes * j->row_bytes);
    return l;
}

static void take_scratch(job *j) {
    layout l = layout_of(j);
    char *at = (char *)j->k->scratch + j->k->task * l.end;
    j->add = (double *)(void *)at;
    j->m = j->add + (size_t)j->n_runs * QRN_PANEL;
    j->offset = j->m + (size_t)j->n_runs * QRN_PANEL;
    j->row_sums = (double *)(void *)(at + l.row_sums);
    j->panel = (int8_t *)(at + l.panel);
    j->gathered = at + l.gathered;
    j->rows = (uint8_t *)(at + l.rows);
}

static job job_of(const qrn_kcall *k, const qrn_wide_kernel *kernel) {
    const qrn_dense_wide_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    job j = {.k = k, .args = a, .kernel = kernel, .plan = qrn_dense_plan_of(&a->dense, x, y)};
    int64_t lo, hi;
    j.planes = (uint32_t)qrn_view_elem(x);
    j.n_runs = k->in[5]->dims[0];
    j.row_bytes = qrn_q8_steps(a->dense.depth) * QRN_Q8_DEPTH;
    j.x_signed = qrn_dtypes[x->dtype].cls == QRN_CLASS_SFIXED;
    j.u_offset = (double)x->quant->offset - (j.x_signed ? (j.planes == 2 ? 32768 : 128) : 0);
    qrn_code_range(y->dtype, y->quant->bits, &lo, &hi);
    j.out = (qrn_wide_out){
        .elem = qrn_view_elem(y), .y_row = j.plan.cout, .lo = (double)lo, .hi = (double)hi};
    return j;
}

// Rows [row, row + n) as planes, and their sums where offsets need them.
static void make_rows(const job *j, size_t row, size_t n, size_t group) {
    const qrn_view *x = j->k->in[0];
    size_t elem = j->planes, depth = j->plan.args->depth;
    int fill = -x->quant->offset;
    for (size_t i = 0; i < n; i++) {
        const char *codes =
            (const char *)x->data + ((row + i) * j->plan.a_row + group * depth) * elem;
        if (!j->plan.direct) {
            size_t at = i % GATHER_ROWS, left = n - i < GATHER_ROWS ? n - i : GATHER_ROWS;
            if (at == 0)
                qrn_dense_gather(&j->plan, x->data, row + i, left, group, elem, fill, j->gathered,
                                 depth * elem);
            codes = j->gathered + at * depth * elem;
        }
        uint8_t *to = j->rows + i * j->planes * j->row_bytes;
        qrn_wide_split(j->kernel->ops, codes, elem, depth, j->x_signed, to, j->row_bytes);
        if (j->k->in[4])
            qrn_wide_row_sums(to, j->row_bytes, j->planes, depth, j->k->in[5]->data, j->n_runs,
                              j->row_sums + i * j->n_runs);
    }
}

// Column terms and multipliers of n columns from channel `first` on, the rest zero.
static void make_columns(const job *j, size_t first, size_t n, double *start) {
    const qrn_view *sums = j->k->in[2], *offsets = j->k->in[4], *bias = j->k->in[6];
    const qrn_view *x = j->k->in[0], *y = j->k->out[0];
    const uint32_t *starts = j->k->in[5]->data;
    double y_scale = (double)y->quant->scale;
    memset(j->add, 0, 3 * (size_t)j->n_runs * QRN_PANEL * sizeof *j->add);
    for (uint32_t run = 0; run < j->n_runs; run++) {
        uint32_t end = run + 1 < j->n_runs ? starts[run + 1] : j->plan.args->depth;
        for (size_t i = 0; i < n; i++) {
            size_t from = run * j->plan.cout + first + i, to = (size_t)run * QRN_PANEL + i;
            double os = offsets ? (double)((const int32_t *)offsets->data)[from] : 0;
            double sum = sums->dtype == QRN_DTYPE_I64 ? (double)((const int64_t *)sums->data)[from]
                                                      : (double)((const int32_t *)sums->data)[from];
            j->add[to] = j->u_offset * (sum + (double)(end - starts[run]) * os);
            j->m[to] = (double)x->quant->scale * (double)((const float *)j->k->in[3]->data)[from] /
                       y_scale;
            j->offset[to] = os;
        }
    }
    for (size_t i = 0; i < QRN_PANEL; i++)
        start[i] = 0.5 - (double)y->quant->offset;
    for (size_t i = 0; i < n; i++) {
        start[i] += qrn_bias_real(bias, first + i, y);
        j->add[i] += (double)qrn_bias_sum(bias, first + i);
    }
}

// Two numbers a byte, signed.
static void unpack(const uint8_t *packed, size_t n, int8_t *dst) {
    for (size_t i = 0; i < n; i++) {
        dst[2 * i] = (int8_t)((packed[i] & 15) - (packed[i] & 8) * 2);
        dst[2 * i + 1] = (int8_t)((packed[i] >> 4) - (packed[i] >> 7) * 16);
    }
}

// The rows at hand, [row, row + n), times one panel of a group.
static void run_panel(const job *j, size_t group, size_t panel, size_t row, size_t n) {
    const qrn_dense_args *d = j->plan.args;
    size_t col = panel * QRN_PANEL, left = d->cols - col, first = group * d->cols + col;
    size_t bytes = panel_bytes(d), number = group * qrn_panels(d->cols) + panel;
    const int8_t *weights = j->k->in[1]->data;
    double start[QRN_PANEL];
    qrn_wide_panel p = {.planes = j->args->w_bits == 16 ? 2 : 1,
                        .steps = j->row_bytes / QRN_Q8_DEPTH,
                        .n_runs = j->n_runs,
                        .starts = j->k->in[5]->data,
                        .add = j->add,
                        .m = j->m,
                        .offset = j->k->in[4] ? j->offset : NULL,
                        .start = start};
    qrn_wide_out o = j->out;
    o.cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL);
    o.y = (char *)j->k->out[0]->data + (row * j->plan.cout + first) * o.elem;
    make_columns(j, first, o.cols, start);
    p.plane[0] = weights + number * bytes;
    p.plane[1] = weights + (qrn_panels(d->cols) * d->group + number) * bytes;
    if (j->args->w_bits == 4) {
        unpack((const uint8_t *)weights + number * bytes / 2, bytes / 2, j->panel);
        p.plane[0] = j->panel;
    }
    qrn_wide_rows r = {.a = j->rows,
                       .row_bytes = j->row_bytes,
                       .planes = j->planes,
                       .n = n,
                       .sums = j->k->in[4] ? j->row_sums : NULL};
    qrn_wide_product(j->kernel, &r, &p, &o);
}

static qrn_status run(const qrn_kcall *k, const qrn_wide_kernel *kernel) {
    job j = job_of(k, kernel);
    take_scratch(&j);
    qrn_dense_part part = qrn_dense_part_of(&j.plan, k->task, k->n_tasks);
    size_t panels = qrn_panels(j.plan.args->cols), step = block_rows(&j);
    for (size_t r = part.r0; r < part.r1; r += step) {
        size_t n = part.r1 - r < step ? part.r1 - r : step;
        for (size_t u = part.u0; u < part.u1; u++) {
            if (u == part.u0 || u % panels == 0)
                make_rows(&j, r, n, u / panels);
            run_panel(&j, u / panels, u % panels, r, n);
        }
        qrn_dense_tell(k, &j.plan, r, n, part.u0, part.u1);
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_dense_wide_args *a = k->args;
    qrn_dense_plan p = qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t scratch(const qrn_kcall *k) {
    job j = job_of(k, NULL);
    return k->n_tasks * layout_of(&j).end;
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_wide_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                        \
        .fn = dense_wide_##isa, .tasks = tasks, .scratch = scratch                                 \
    }
#define FUNCTION(isa)                                                                              \
    static qrn_status dense_wide_##isa(const qrn_kcall *k) { return run(k, &qrn_wide_##isa); }

#if defined(__x86_64__)
FUNCTION(avx512vnni)
FUNCTION(avx2)
#elif defined(__aarch64__)
FUNCTION(neondot)
#endif
FUNCTION(ref)

static const qrn_kernel dense_wide_rows[] = {
#if defined(__x86_64__)
    ROW(avx512vnni, QRN_ISA_AVX512VNNI),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neondot, QRN_ISA_NEONDOT),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_TELLS(dense_wide, sizeof(qrn_dense_wide_args));
