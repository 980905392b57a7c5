// SPDX-License-Identifier: MIT
//
// The dense_planes family: rows of activations as byte planes, panels of packed weights with their
// column terms, GEMMs by gemm_planes.h.
#include "kernels/gemm/dense/dense_planes.h"

#include "kernels/gemm/dense/dense_phases.h"
#include "kernels/gemm/dense/dense_terms.h"
#include "kernels/gemm/dense/dense_windows.h"

#include <string.h>

#define BLOCK_BYTES (256 * 1024)  // of rows in planes: they stay in the second cache
#define COLUMNS_BYTES (64 * 1024) // of terms of columns that are kept from block to block
#define NIBBLES_ROWS 48           // up to which 4-bit weights are not unpacked first
#define TILE_ROWS 16              // with fewer, and shorter depths, AMX does not gain
#define TILE_DEPTH 64
#define GATHER_BYTES (16 * 1024) // of rows that are gathered before they are cut into planes

bool qrn_dense_has_zero(qrn_dtype x, int32_t x_offset) {
    int64_t lo, hi;
    qrn_quant_range(x, 0, &lo, &hi);
    return -(int64_t)x_offset >= lo && -(int64_t)x_offset <= hi;
}

// A call brought to the terms of gemm_planes.h, with this task's part of the scratch.
typedef struct job {
    const qrn_kcall *k;
    const qrn_dense_planes_args *args;
    const qrn_planes_kernel *kernel;
    qrn_dense_plan plan;
    qrn_windows windows;
    uint32_t planes, n_runs; // of a row; of the depth
    size_t row_bytes;        // of all planes of a row
    size_t n_slots;          // panels whose columns are kept
    qrn_planes_terms terms;
    bool x_signed;
    qrn_planes_out out; // of no part of y in particular
    // scratch
    uint8_t *rows;    // [block rows][row_bytes], or lines of windows
    double *row_sums; // [block rows][runs]
    char *slots;      // [n_slots] of columns
    int8_t *panel;    // dense4: an unpacked panel
    char *gathered;   // [gather rows][row_bytes]
} job;

static size_t panel_bytes(const qrn_dense_args *d) {
    return qrn_q8_steps(d->depth) * QRN_PANEL * QRN_Q8_DEPTH;
}

// No more than there are, so that scratch is not larger than it must be.
static size_t block_rows(const job *j) {
    size_t bytes = j->kernel && j->kernel->near_bytes ? j->kernel->near_bytes : BLOCK_BYTES;
    size_t most = qrn_dense_block_rows(j->plan.args, bytes / j->planes), all = j->plan.rows;
    all = (all + QRN_DENSE_GRAIN - 1) / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN;
    return all > 0 && all < most ? all : most;
}

static size_t gather_rows(const job *j) {
    size_t n = GATHER_BYTES / j->row_bytes;
    return n < QRN_DENSE_GRAIN ? QRN_DENSE_GRAIN : n;
}

static size_t aligned(size_t at) { return (at + 63) / 64 * 64; }

static size_t slot_bytes(const job *j) { return qrn_planes_columns_bytes(j->n_runs); }

// Where the parts of a task's scratch begin, in bytes.
typedef struct layout {
    size_t row_sums, panel, gathered, rows, end;
} layout;

static layout layout_of(const job *j) {
    const qrn_dense_args *d = j->plan.args;
    size_t rows = block_rows(j);
    layout l = {.row_sums = j->n_slots * slot_bytes(j)};
    l.panel = aligned(l.row_sums + (j->k->in[4] ? rows * j->n_runs * sizeof(double) : 0));
    l.gathered = aligned(l.panel + (j->args->w_bits == 4 ? panel_bytes(d) : 0));
    l.rows = aligned(l.gathered + (j->plan.direct ? 0 : gather_rows(j) * j->row_bytes));
    size_t lines = qrn_windows_bytes(&j->windows), all = rows * j->row_bytes;
    l.end = aligned(l.rows + (lines > all ? lines : all));
    return l;
}

static void take_scratch(job *j) {
    layout l = layout_of(j);
    char *at = (char *)j->k->scratch + j->k->task * l.end;
    j->slots = at;
    j->row_sums = (double *)(void *)(at + l.row_sums);
    j->panel = (int8_t *)(at + l.panel);
    j->gathered = at + l.gathered;
    j->rows = (uint8_t *)(at + l.rows);
}

static void make_job(const qrn_kcall *k, const qrn_planes_kernel *kernel, job *j) {
    const qrn_dense_planes_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    *j = (job){.k = k, .args = a, .kernel = kernel, .plan = qrn_dense_plan_of(&a->dense, x, y)};
    int64_t lo, hi;
    j->planes = (uint32_t)qrn_view_elem(x);
    j->windows = qrn_windows_of(&j->plan, x);
    j->n_runs = k->in[5]->dims[0];
    j->row_bytes = qrn_planes_steps(a->dense.depth) * QRN_Q8_DEPTH * j->planes;
    size_t panels = qrn_panels(a->dense.cols) * a->dense.group;
    j->n_slots = COLUMNS_BYTES / slot_bytes(j);
    j->n_slots = j->n_slots > panels ? panels : j->n_slots ? j->n_slots : 1;
    j->x_signed = qrn_dtypes[x->dtype].cls == QRN_CLASS_SFIXED;
    j->terms = qrn_planes_terms_of(k, kernel ? kernel->ops : NULL, a->w_bits, a->dense.depth,
                                   j->plan.cout);
    qrn_quant_range(y->dtype, y->quant->bits, &lo, &hi);
    j->out = (qrn_planes_out){
        .elem = qrn_view_elem(y), .y_row = j->plan.cout, .lo = (double)lo, .hi = (double)hi};
}

// Rows [row, row + n) in the layout of the kernel, and their sums where offsets need them.
static void make_rows(const job *j, size_t row, size_t n, size_t group) {
    const qrn_view *x = j->k->in[0];
    size_t elem = j->planes, depth = j->plan.args->depth, x_row = j->plan.a_row * elem;
    size_t step = j->plan.direct ? n : gather_rows(j);
    for (size_t i = 0; i < n; i += step) {
        size_t part = n - i < step ? n - i : step;
        const char *rows = (const char *)x->data + (row + i) * x_row + group * depth * elem;
        size_t whole = depth;
        if (!j->plan.direct) {
            x_row = j->row_bytes;
            whole = x_row / elem;
            qrn_dense_gather(&j->plan, x->data, row + i, part, group, elem, -x->quant->offset,
                             j->gathered, x_row);
            rows = j->gathered;
        }
        qrn_planes_make_rows(j->kernel, rows, x_row, elem, whole, j->x_signed, part,
                             j->rows + i * j->row_bytes);
        for (size_t r = 0; j->k->in[4] && r < part; r++)
            qrn_planes_row_sums(j->kernel->ops, rows + r * x_row, elem, depth, j->x_signed,
                                j->k->in[5]->data, j->n_runs, j->row_sums + (i + r) * j->n_runs);
    }
}

static qrn_planes_columns *slot(const job *j, size_t unit) {
    return (qrn_planes_columns *)(void *)(j->slots + unit % j->n_slots * slot_bytes(j));
}

// First channel of a panel.
static size_t channel_of(const job *j, size_t unit) {
    size_t cols = j->plan.args->cols, panels = qrn_panels(cols);
    return unit / panels * cols + unit % panels * QRN_PANEL;
}

static void make_columns(const job *j, size_t unit) {
    size_t first = channel_of(j, unit), cols = j->plan.args->cols, left = cols - first % cols;
    qrn_planes_make_columns(&j->terms, first, left < QRN_PANEL ? left : QRN_PANEL, slot(j, unit));
}

// Panel `unit` with its columns; nibbles: 4-bit weights may stay as they are.
static qrn_planes_panel panel_of(const job *j, size_t unit, bool nibbles, qrn_planes_out *o) {
    const qrn_dense_args *d = j->plan.args;
    size_t panels = qrn_panels(d->cols), left = d->cols - unit % panels * QRN_PANEL;
    size_t bytes = panel_bytes(d);
    const int8_t *weights = j->k->in[1]->data;
    const qrn_planes_columns *c = slot(j, unit);
    qrn_planes_panel p = {
        .plane = {weights + unit * bytes, weights + (panels * d->group + unit) * bytes},
        .planes = j->args->w_bits == 16 ? 2 : 1,
        .steps = qrn_planes_steps(d->depth),
        .n_runs = j->n_runs,
        .starts = j->k->in[5]->data,
        .add = c->terms,
        .m = c->terms + (size_t)j->n_runs * QRN_PANEL,
        .start = c->start,
        .add32 = c->fits32 ? c->add32 : NULL,
        .small = c->small};
    p.offset = j->k->in[4] ? p.m + (size_t)j->n_runs * QRN_PANEL : NULL;
    p.nibbles = j->args->w_bits == 4 && j->kernel->sums4 && nibbles;
    if (p.nibbles) {
        p.plane[0] = weights + unit * bytes / 2;
    } else if (j->args->w_bits == 4) {
        j->kernel->ops->unpack((const uint8_t *)weights + unit * bytes / 2, bytes / 2, j->panel);
        p.plane[0] = j->panel;
    }
    *o = j->out;
    o->cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL);
    return p;
}

// The result of row `row` in the first column of a panel.
static void *result(const job *j, size_t unit, size_t row) {
    size_t column = channel_of(j, unit);
    return (char *)j->k->out[0]->data + (row * j->plan.cout + column) * j->out.elem;
}

// The rows at hand, [row, row + n), times one panel of a group.
static void run_panel(const job *j, size_t unit, size_t row, size_t n) {
    size_t part = 0;
    qrn_planes_out o;
    qrn_planes_panel p = panel_of(j, unit, n <= NIBBLES_ROWS, &o);
    qrn_planes_rows r = {.a = j->rows,
                         .row_bytes = j->row_bytes,
                         .planes = j->planes,
                         .n = n,
                         .n_parts = 1,
                         .parts = &part,
                         .sums = j->k->in[4] ? j->row_sums : NULL};
    o.y = result(j, unit, row);
    qrn_planes_gemm(j->kernel, &r, &p, &o);
}

static void run_rows(const job *j, const qrn_dense_part *part) {
    size_t panels = qrn_panels(j->plan.args->cols), step = block_rows(j);
    if (!j->plan.direct) // nothing is gathered behind the depth, where weights are 0
        memset(j->gathered, 0, gather_rows(j) * j->row_bytes);
    for (size_t r = part->r0; r < part->r1; r += step) {
        size_t n = part->r1 - r < step ? part->r1 - r : step;
        if (j->kernel->enter)
            j->kernel->enter();
        for (size_t u = part->u0; u < part->u1; u++) {
            if (u == part->u0 || u % panels == 0)
                make_rows(j, r, n, u / panels);
            if (r == part->r0 || part->u1 - part->u0 > j->n_slots)
                make_columns(j, u);
            run_panel(j, u, r, n);
        }
        if (j->kernel->leave)
            j->kernel->leave();
        qrn_dense_report(j->k, &j->plan, r, n, part->u0, part->u1);
    }
}

// Rows [row, end) of lines from `line` on, which are at hand, times one panel.
static void run_lines(const job *j, size_t unit, size_t line, size_t row, size_t end) {
    const qrn_windows *w = &j->windows;
    size_t width = (size_t)w->g->out[2];
    size_t across = (size_t)w->g->stride[2] * w->cell, down = (size_t)w->g->stride[1] * w->line;
    qrn_planes_out o;
    qrn_planes_panel p = panel_of(j, unit, false, &o);
    p.add32 = NULL;
    qrn_planes_rows r = {
        .row_bytes = across, .planes = 2, .n_parts = w->n_parts, .parts = w->parts};
    for (size_t next; row < end; row = next) {
        next = (row / width + 1) * width;
        next = next < end ? next : end;
        r.a = j->rows + (row / width - line) * down + row % width * across;
        r.n = next - row;
        o.y = result(j, unit, row);
        qrn_planes_gemm(j->kernel, &r, &p, &o);
    }
}

static void run_windows(const job *j, const qrn_dense_part *part) {
    size_t width = (size_t)j->windows.g->out[2], height = (size_t)j->windows.g->out[1];
    for (size_t r = part->r0, end; r < part->r1; r = end) {
        size_t line = r / width, left = height - line % height;
        size_t n = left < j->windows.lines ? left : j->windows.lines;
        end = (line + n) * width < part->r1 ? (line + n) * width : part->r1;
        n = (end - 1) / width + 1 - line;
        qrn_windows_make(&j->windows, j->kernel->ops, j->k->in[0], line, n, j->rows);
        for (size_t u = part->u0; u < part->u1; u++)
            run_lines(j, u, line, r, end);
        qrn_dense_report(j->k, &j->plan, r, end - r, part->u0, part->u1);
    }
}

// Windows do where accumulators are requantized without a detour. Prepares all columns to know
// that.
static bool by_windows(const job *j, const qrn_dense_part *part) {
    if (!j->windows.lines || !j->kernel->requant || !j->kernel->pairs || j->out.elem != 2 ||
        j->args->w_bits == 16 || j->n_runs != 1 || j->k->in[4] || part->u1 - part->u0 > j->n_slots)
        return false;
    bool small = true;
    for (size_t u = part->u0; u < part->u1; u++) {
        make_columns(j, u);
        small &= slot(j, u)->small;
    }
    return small;
}

static qrn_status run_plain(const qrn_kcall *k, const void *kernel) {
    job j;
    make_job(k, kernel, &j);
    take_scratch(&j);
    j.plan.followed = k->follower != NULL;
    qrn_dense_part part = qrn_dense_part_of(&j.plan, k->task, k->n_tasks);
    if (by_windows(&j, &part))
        run_windows(&j, &part);
    else
        run_rows(&j, &part);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_dense_planes_args *a = k->args;
    qrn_dense_plan p = qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

// For the kernel whose blocks are the largest.
static size_t plain_scratch(const qrn_kcall *k) {
    job j;
#if defined(__x86_64__)
    make_job(k, qrn_cpu_isa() & QRN_ISA_AMX ? &qrn_planes_amx : NULL, &j);
#else
    make_job(k, NULL, &j);
#endif
    return k->n_tasks * layout_of(&j).end;
}

static const qrn_phase_family phases = {sizeof(qrn_dense_planes_args), run_plain, plain_scratch,
                                        QRN_WINDOWS_BYTES};

static bool has_phases(const qrn_kcall *k) {
    const qrn_dense_planes_args *a = k->args;
    return a->w_bits == 8 && k->in[5]->dims[0] == 1 && qrn_dense_phases_fit(&a->dense, k);
}

// The reference row multiplies zeros.
static qrn_status run(const qrn_kcall *k, const qrn_planes_kernel *kernel) {
    if (kernel != &qrn_planes_ref && has_phases(k))
        return qrn_dense_phases_run(&phases, k, kernel);
    return run_plain(k, kernel);
}

static size_t scratch(const qrn_kcall *k) {
    size_t plain = plain_scratch(k),
           other = has_phases(k) ? qrn_dense_phases_scratch(&phases, k) : 0;
    return plain > other ? plain : other;
}

#if defined(__x86_64__)
// Products of 16-bit activations and one plane of weights to 16 bits, of as many rows and steps as
// tiles of AMX have. What they do not do beyond that is left to vectors.
static bool fills_tiles(const qrn_kcall *k) {
    const qrn_dense_planes_args *a = k->args;
    qrn_dense_plan p = qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
    return qrn_view_elem(k->in[0]) == 2 && qrn_view_elem(k->out[0]) == 2 && a->w_bits != 16 &&
           !k->in[4] && k->in[5]->dims[0] == 1 && p.rows >= TILE_ROWS &&
           a->dense.depth >= TILE_DEPTH;
}
#endif

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_planes_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                      \
        .fn = dense_planes_##isa, .tasks = tasks, .scratch = scratch                               \
    }
#define FUNCTION(isa)                                                                              \
    static qrn_status dense_planes_##isa(const qrn_kcall *k) { return run(k, &qrn_planes_##isa); }

#if defined(__x86_64__)
FUNCTION(amx)
FUNCTION(avx512vnni)
FUNCTION(avx2)
#elif defined(__aarch64__)
FUNCTION(neoni8mm)
FUNCTION(neondot)
#endif
FUNCTION(ref)

static const qrn_kernel dense_planes_rows[] = {
#if defined(__x86_64__)
    {.name = "dense_planes_amx",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AMX,
     .fn = dense_planes_amx,
     .works = fills_tiles,
     .tasks = tasks,
     .scratch = scratch},
    ROW(avx512vnni, QRN_ISA_AVX512VNNI),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neoni8mm, QRN_ISA_NEONI8MM),
    ROW(neondot, QRN_ISA_NEONDOT),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_REPORTS(dense_planes, sizeof(qrn_dense_planes_args));
