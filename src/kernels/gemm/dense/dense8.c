// SPDX-License-Identifier: MIT
//
// The dense8 family: packing, the work of a task, the row list.
#include "kernels/gemm/dense/dense8.h"

#include "kernels/gemm/dense/dense8_columns.h"
#include "kernels/gemm/dense/dense_phases.h"
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/winograd/winograd8.h"

#include <string.h>

// Bytes of a block of rows: they stay in the second cache. Copies are written faster where they
// nearly fit the first one, but weights that do not stay in the second are read for each block.
#define BLOCK_BYTES (256 * 1024)
#define COPIES_BYTES (48 * 1024)
#define WEIGHTS_BYTES (512 * 1024)
#define ROWS_BYTES (32 * 1024) // of rows that stay in the first cache together with a panel

void qrn_dense8_pack(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int8_t *packed) {
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j = 0; j < a->cols; j += QRN_PANEL) {
            qrn_gemm_q8_pack_panel(w + (size_t)g * a->cols * w_col, w_depth, w_col, a->depth,
                                   a->cols, j, flip, packed);
            packed += qrn_q8_steps(a->depth) * QRN_PANEL * QRN_Q8_DEPTH;
        }
}

// Sums are modulo 2^32, as those that they go into.
static inline uint32_t column_sum(const uint8_t *w, size_t w_depth, size_t depth, uint8_t flip) {
    uint32_t sum = 0;
    for (size_t k = 0; k < depth; k++)
        sum += (uint32_t)(int8_t)(w[k * w_depth] ^ flip);
    return sum;
}

void qrn_dense8_sums(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int32_t *sums) {
    size_t cols = (size_t)a->group * a->cols;
    memset(sums, 0, cols * sizeof *sums);
    if (w_col == 1) { // a row at a time
        for (size_t k = 0; k < a->depth; k++, w += w_depth)
            for (size_t j = 0; j < cols; j++)
                sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(int8_t)(w[j] ^ flip));
        return;
    }
    for (size_t j = 0; j < cols; j++, w += w_col)
        sums[j] = (int32_t)(w_depth == 1 ? column_sum(w, 1, a->depth, flip)
                                         : column_sum(w, w_depth, a->depth, flip));
}

int64_t qrn_dense8_largest(bool is_signed, int32_t offset) {
    int64_t lo = (is_signed ? INT8_MIN : 0) + (int64_t)offset, hi = lo + UINT8_MAX;
    return -lo > hi ? -lo : hi;
}

bool qrn_dense8_fits(const qrn_dense_args *a, bool x_signed, int32_t x_offset, bool w_signed,
                     int32_t w_offset, const int32_t *bias) {
    int64_t product =
                qrn_dense8_largest(x_signed, x_offset) * qrn_dense8_largest(w_signed, w_offset),
            most = 0;
    for (size_t j = 0; bias && j < (size_t)a->group * a->cols; j++) {
        int64_t b = bias[j] < 0 ? -(int64_t)bias[j] : bias[j];
        most = b > most ? b : most;
    }
    return product == 0 || a->depth <= (INT32_MAX - most) / product;
}

// A call with encodings brought to the terms of gemm_q8.h.
typedef struct job {
    const qrn_kcall *k;
    const qrn_gemm_q8_kernel *kernel;
    qrn_dense_plan plan;
    size_t panels, units;    // of a group, of all groups
    size_t steps, row_bytes; // of a row that was copied
    int32_t w_offset;        // of stored weights
    uint8_t flip;            // makes activations unsigned
    bool direct;             // rows are read where they lie
    qrn_dense8_columns columns;
    uint8_t *copies; // of a block of rows
} job;

// The most bytes of a block of rows. Copies are in scratch, of which there is as much for all
// kernels.
static size_t most_bytes(const job *j) {
    if (j->direct)
        return j->kernel->near_bytes ? j->kernel->near_bytes : BLOCK_BYTES;
    return j->panels * j->row_bytes * QRN_PANEL <= WEIGHTS_BYTES ? COPIES_BYTES : BLOCK_BYTES;
}

// The limit of rows whatever their size. Short rows that need no room are done in larger blocks by
// kernels that take long to begin one.
static size_t rows_limit(const job *j) {
    size_t near = ROWS_BYTES / j->row_bytes;
    bool large = j->direct && !j->w_offset && j->kernel->enter && near > QRN_DENSE_BLOCK_ROWS_MAX;
    return large ? near / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN : QRN_DENSE_BLOCK_ROWS_MAX;
}

// The most rows of a block.
static size_t most_rows(const job *j) {
    size_t most = most_bytes(j) / j->row_bytes, limit = rows_limit(j);
    size_t all = (j->plan.rows + QRN_DENSE_GRAIN - 1) / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN;
    most = most / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN;
    most = most < QRN_DENSE_GRAIN ? QRN_DENSE_GRAIN : most;
    most = most > limit ? limit : most;
    return all < most ? all : most;
}

// Rows of the blocks of n rows, at most so many, in whole grains.
static size_t in_grains(size_t n, size_t most, size_t grain) {
    most = most / grain * grain;
    size_t blocks = (n + most - 1) / most;
    n = (n + blocks - 1) / blocks;
    return (n + grain - 1) / grain * grain;
}

// Rows of the blocks of n rows: no small rest, for which all weights would be read once more.
static size_t block_rows(const job *j, size_t n) {
    size_t most = most_rows(j), grain = j->kernel->block;
    if (!grain || grain > most)
        return in_grains(n, most, QRN_DENSE_GRAIN);
    size_t rows = in_grains(n, most, grain), rest = n % rows;
    return rest == 0 || rest >= grain / 2 ? rows : in_grains(n, most, QRN_DENSE_GRAIN);
}

// Scratch of a task; more rows never need less.
static size_t task_bytes(const job *j) {
    size_t rows = j->direct ? 0 : most_rows(j);
    return (qrn_dense8_columns_bytes(j->units) + rows * j->row_bytes + 63) / 64 * 64;
}

static job job_of(const qrn_kcall *k, const qrn_gemm_q8_kernel *kernel) {
    const qrn_dense8_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    job j = {.k = k, .kernel = kernel, .plan = qrn_dense_plan_of(&a->dense, x, y)};
    j.plan.copy = kernel->copy;
    j.panels = qrn_panels(a->dense.cols);
    j.units = j.panels * a->dense.group;
    j.steps = (a->dense.depth + QRN_Q8_DEPTH - 1) / QRN_Q8_DEPTH;
    j.row_bytes = j.steps * QRN_Q8_DEPTH;
    j.w_offset = a->w_offset;
    bool is_signed = x->dtype == QRN_DTYPE_SQ8;
    j.flip = is_signed ? 0x80 : 0;
    // A tile reads whole steps: rows that end within one are copied.
    j.direct = j.plan.direct && !is_signed && a->dense.depth % QRN_Q8_DEPTH == 0;
    uint8_t *at = (uint8_t *)k->scratch + k->task * task_bytes(&j);
    j.columns = qrn_dense8_columns_at(at, j.units);
    j.copies = at + qrn_dense8_columns_bytes(j.units);
    return j;
}

// What lies beyond the depth in copies of rows meets weights of 0; it is written once, so that it
// never depends on what was there before.
static void clear_ends(const job *j, size_t rows) {
    size_t depth = j->plan.args->depth;
    for (size_t i = 0; j->row_bytes > depth && i < rows; i++)
        memset(j->copies + i * j->row_bytes + depth, 0, j->row_bytes - depth);
}

// Rows [row, row + n) as unsigned bytes, at the places of whole steps.
static void copy_rows(const job *j, size_t row, size_t n, size_t group) {
    const uint8_t *x = j->k->in[0]->data;
    size_t depth = j->plan.args->depth;
    uint8_t *dst = j->copies;
    if (j->plan.direct)
        j->plan.copy(dst, j->row_bytes, x + row * j->plan.a_row + group * depth, j->plan.a_row, n,
                     depth);
    else
        qrn_dense_gather(&j->plan, x, row, n, group, 1, (uint8_t)-j->k->in[0]->quant->offset, dst,
                         j->row_bytes);
    for (size_t i = 0; j->flip && i < n * j->row_bytes; i++)
        dst[i] ^= j->flip;
}

// Rows [row, row + n), at `a`, times one panel of a group.
static void run_panel(const job *j, size_t group, size_t panel, const uint8_t *a, size_t a_row,
                      const int32_t *row_terms, size_t row, size_t n) {
    const qrn_dense_args *d = j->plan.args;
    size_t col = panel * QRN_PANEL, left = d->cols - col, first = group * d->cols + col;
    size_t unit = group * j->panels + panel;
    size_t bytes = qrn_q8_steps(d->depth) * QRN_PANEL * QRN_Q8_DEPTH;
    qrn_requant8 requant = j->columns.requant;
    requant.m += unit * QRN_PANEL;
    requant.exact += unit * QRN_PANEL;
    qrn_gemm_q8_tile t = {.a = a,
                          .a_row = a_row,
                          .b = (const int8_t *)j->k->in[1]->data + unit * bytes,
                          .steps = j->steps,
                          .next = unit + 1 < j->units ? bytes : 0,
                          .column = j->columns.add + unit * QRN_PANEL,
                          .row = row_terms,
                          .requant = &requant,
                          .y = (uint8_t *)j->k->out[0]->data + row * j->plan.cout + first,
                          .y_row = j->plan.cout,
                          .cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL)};
    for (size_t done = 0; done < n; done += t.rows) {
        t.rows = (uint32_t)(n - done < j->kernel->rows ? n - done : j->kernel->rows);
        j->kernel->tile(&t);
        t.a += t.rows * t.a_row;
        t.y += t.rows * t.y_row;
        t.row += t.row ? t.rows : 0;
    }
}

static void run_group(const job *j, size_t group, size_t p0, size_t p1,
                      const qrn_dense_part *part) {
    const qrn_dense_args *d = j->plan.args;
    int32_t terms[QRN_DENSE_BLOCK_ROWS_MAX];
    size_t step = block_rows(j, part->r1 - part->r0);
    for (size_t r = part->r0; r < part->r1; r += step) {
        size_t n = part->r1 - r < step ? part->r1 - r : step;
        if (!j->direct)
            copy_rows(j, r, n, group);
        size_t a_row = j->direct ? j->plan.a_row : j->row_bytes;
        const uint8_t *a = j->direct
                               ? (const uint8_t *)j->k->in[0]->data + r * a_row + group * d->depth
                               : j->copies;
        if (j->w_offset)
            j->kernel->row_sums(a, a_row, d->depth, n, j->w_offset, terms);
        if (j->kernel->enter)
            j->kernel->enter();
        for (size_t p = p0; p < p1; p++)
            run_panel(j, group, p, a, a_row, j->w_offset ? terms : NULL, r, n);
        if (j->kernel->leave)
            j->kernel->leave();
        if (d->group == 1)
            qrn_dense_report(j->k, &j->plan, r, n, p0, p1);
    }
}

static qrn_status run_plain(const qrn_kcall *k, const void *kernel) {
    job j = job_of(k, kernel);
    j.plan.followed = k->follower != NULL;
    qrn_dense_part part = qrn_dense_part_of(&j.plan, k->task, k->n_tasks);
    if (part.r0 >= part.r1 || part.u0 >= part.u1)
        return QRN_OK;
    qrn_dense8_columns_make(&j.columns, k, 0, part.u0, part.u1);
    if (!j.direct)
        clear_ends(&j, block_rows(&j, part.r1 - part.r0));
    for (size_t u = part.u0, end; u < part.u1; u = end) {
        size_t group = u / j.panels, last = (group + 1) * j.panels;
        end = last < part.u1 ? last : part.u1;
        run_group(&j, group, u - group * j.panels, end - group * j.panels, &part);
    }
    if (j.plan.args->group > 1)
        qrn_dense_report(k, &j.plan, part.r0, part.r1 - part.r0, part.u0, part.u1);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_dense8_args *a = k->args;
    qrn_dense_plan p = qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t plain_scratch(const qrn_kcall *k) {
    job j = job_of(k, &qrn_gemm_q8_ref);
    return k->n_tasks * task_bytes(&j);
}

static const qrn_phase_family phases = {sizeof(qrn_dense8_args), run_plain, plain_scratch, 0};

static bool has_phases(const qrn_kcall *k) {
    const qrn_dense8_args *a = k->args;
    return qrn_dense_phases_fit(&a->dense, k);
}

// The reference row multiplies zeros.
static qrn_status run(const qrn_kcall *k, const qrn_gemm_q8_kernel *kernel) {
    if (kernel != &qrn_gemm_q8_ref && has_phases(k))
        return qrn_dense_phases_run(&phases, k, kernel);
    return run_plain(k, kernel);
}

static size_t scratch(const qrn_kcall *k) {
    size_t plain = plain_scratch(k),
           other = has_phases(k) ? qrn_dense_phases_scratch(&phases, k) : 0;
    return plain > other ? plain : other;
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense8_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit, .fn = dense8_##isa,        \
        .tasks = tasks, .scratch = scratch                                                         \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status dense8_##isa(const qrn_kcall *k) { return run(k, &kernel); }

#define WINOGRAD_ROW(isa, bit)                                                                     \
    {                                                                                              \
        .name = "dense8_winograd_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                   \
        .fn = dense8_winograd_##isa, .works = qrn_winograd8_works, .tasks = qrn_winograd8_tasks,   \
        .scratch = qrn_winograd8_scratch                                                           \
    }
#define WINOGRAD_FUNCTION(isa)                                                                     \
    static qrn_status dense8_winograd_##isa(const qrn_kcall *k) {                                  \
        return qrn_winograd8_run(k, &qrn_winograd8_##isa);                                         \
    }

#if defined(__x86_64__)
FUNCTION(amx, qrn_gemm_q8_32x32_amx)
FUNCTION(avx512vnni, qrn_gemm_q8_12x32_avx512vnni)
WINOGRAD_FUNCTION(avx512vnni)
FUNCTION(avxvnni, qrn_gemm_q8_6x32_avxvnni)
WINOGRAD_FUNCTION(avx2)
FUNCTION(avx2, qrn_gemm_q8_6x32_avx2)
#elif defined(__aarch64__)
FUNCTION(neoni8mm, qrn_gemm_q8_6x32_neoni8mm)
FUNCTION(neondot, qrn_gemm_q8_6x32_neondot)
#endif
FUNCTION(ref, qrn_gemm_q8_ref)

static const qrn_kernel dense8_rows[] = {
#if defined(__x86_64__)
    ROW(amx, QRN_ISA_AMX),
    WINOGRAD_ROW(avx512vnni, QRN_ISA_AVX512VNNI),
    ROW(avx512vnni, QRN_ISA_AVX512VNNI),
    ROW(avxvnni, QRN_ISA_AVXVNNI),
    WINOGRAD_ROW(avx2, QRN_ISA_AVX2),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neoni8mm, QRN_ISA_NEONI8MM),
    ROW(neondot, QRN_ISA_NEONDOT),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_REPORTS(dense8, sizeof(qrn_dense8_args));
