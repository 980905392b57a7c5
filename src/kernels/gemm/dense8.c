// SPDX-License-Identifier: MIT
//
// The dense8 family: packing, preparation of column and row terms, the row list.
#include "kernels/gemm/dense8.h"

#include "kernels/gemm/gemm_q8.h"
#include "kernels/gemm/requant.h"

#include <string.h>

#define BLOCK_BYTES (128 * 1024) // of gathered rows: they stay in the second cache

bool qrn_dense8_packed_shape(const qrn_dense_args *a, uint32_t dims[4]) {
    uint64_t panels = (uint64_t)qrn_panels(a->cols) * a->group;
    dims[0] = (uint32_t)panels;
    dims[1] = (uint32_t)qrn_q8_steps(a->depth);
    dims[2] = QRN_PANEL;
    dims[3] = QRN_Q8_DEPTH;
    return panels <= UINT32_MAX;
}

void qrn_dense8_pack(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int8_t *packed) {
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j = 0; j < a->cols; j += QRN_PANEL) {
            qrn_gemm_q8_pack_panel(w + (size_t)g * a->cols * w_col, w_depth, w_col, a->depth,
                                   a->cols, j, flip, packed);
            packed += qrn_q8_steps(a->depth) * QRN_PANEL * QRN_Q8_DEPTH;
        }
}

void qrn_dense8_sums(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int32_t *sums) {
    for (size_t j = 0; j < (size_t)a->group * a->cols; j++) {
        uint32_t sum = 0; // modulo 2^32, as the sums it goes into
        for (size_t k = 0; k < a->depth; k++)
            sum += (uint32_t)(int8_t)(w[k * w_depth + j * w_col] ^ flip);
        sums[j] = (int32_t)sum;
    }
}

// Largest |code + offset| of a type of 8 bits.
static int64_t largest(bool is_signed, int32_t offset) {
    int64_t lo = (is_signed ? INT8_MIN : 0) + (int64_t)offset, hi = lo + UINT8_MAX;
    return -lo > hi ? -lo : hi;
}

bool qrn_dense8_fits(const qrn_dense_args *a, bool x_signed, int32_t x_offset, bool w_signed,
                     int32_t w_offset, const int32_t *bias) {
    int64_t product = largest(x_signed, x_offset) * largest(w_signed, w_offset), most = 0;
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
    size_t steps, row_bytes;    // of a gathered row
    int32_t u_offset, w_offset; // of activations as unsigned bytes, of stored weights
    uint8_t flip;               // makes codes unsigned
    bool direct;                // rows are read where they lie
    qrn_requant out;            // of no channel in particular: range and zero
} job;

static job job_of(const qrn_kcall *k, const qrn_gemm_q8_kernel *kernel) {
    const qrn_dense8_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    job j = {.k = k, .kernel = kernel, .plan = qrn_dense_plan_of(&a->dense, x, y)};
    j.steps = qrn_q8_steps(a->dense.depth);
    j.row_bytes = j.steps * QRN_Q8_DEPTH;
    j.w_offset = a->w_offset;
    bool is_signed = x->dtype == QRN_DTYPE_SQ8;
    j.flip = is_signed ? 0x80 : 0;
    j.u_offset = x->quant->offset - (is_signed ? 128 : 0);
    // A tile reads whole steps: rows that end within one are copied.
    j.direct = j.plan.direct && !is_signed && a->dense.depth % QRN_Q8_DEPTH == 0;
    return j;
}

// Rows [row, row + n) as unsigned bytes, filled up to whole steps.
static void copy_rows(const job *j, size_t row, size_t n, size_t group, uint8_t *dst) {
    const uint8_t *x = j->k->in[0]->data;
    size_t depth = j->plan.args->depth;
    if (!j->plan.direct)
        qrn_dense_gather(&j->plan, x, row, n, group, 1, (uint8_t)-j->k->in[0]->quant->offset, dst,
                         j->row_bytes);
    for (size_t i = 0; i < n; i++, dst += j->row_bytes) {
        if (j->plan.direct)
            memcpy(dst, x + (row + i) * j->plan.a_row + group * depth, depth);
        for (size_t c = 0; j->flip && c < depth; c++)
            dst[c] ^= j->flip;
        memset(dst + depth, 0, j->row_bytes - depth); // meets weights of 0
    }
}

// Column terms and multipliers of one panel.
typedef struct columns {
    int32_t add[QRN_PANEL];
    float m[QRN_PANEL];
    double exact[QRN_PANEL]; // m before it was rounded
} columns;

static void prepare_columns(const job *j, size_t first, size_t n, columns *c) {
    const qrn_kcall *k = j->k;
    const int32_t *sums = k->in[2]->data;
    const int32_t *bias = k->n_in > 4 && k->in[4] ? k->in[4]->data : NULL;
    const float *scales = k->in[3]->data;
    uint32_t both = (uint32_t)j->plan.args->depth * (uint32_t)j->u_offset * (uint32_t)j->w_offset;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = both + (uint32_t)j->u_offset * (uint32_t)sums[first + i]; // may wrap
        c->add[i] = (int32_t)(v + (bias ? (uint32_t)bias[first + i] : 0));
        c->exact[i] = (double)k->in[0]->quant->scale * (double)scales[first + i] /
                      (double)k->out[0]->quant->scale;
        c->m[i] = (float)c->exact[i];
    }
}

// Rows [row, row + n), at `a`, times one panel of a group.
static void run_panel(const job *j, size_t group, size_t panel, const uint8_t *a, size_t a_row,
                      const int32_t *row_terms, size_t row, size_t n) {
    const qrn_dense_args *d = j->plan.args;
    size_t col = panel * QRN_PANEL, left = d->cols - col, first = group * d->cols + col;
    uint32_t cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL);
    columns c;
    prepare_columns(j, first, cols, &c);
    qrn_round8 round = qrn_round8_of(c.m, c.exact, j->out.zero_half, j->out.lo, j->out.hi);
    for (size_t r = 0; r < n; r += j->kernel->rows) {
        uint32_t rows = (uint32_t)(n - r < j->kernel->rows ? n - r : j->kernel->rows);
        qrn_gemm_q8_tile t = {.a = a + r * a_row,
                              .a_row = a_row,
                              .b = (const int8_t *)j->k->in[1]->data +
                                   (group * qrn_panels(d->cols) + panel) * j->row_bytes * QRN_PANEL,
                              .steps = j->direct ? d->depth / QRN_Q8_DEPTH : j->steps,
                              .column = c.add,
                              .row = row_terms ? row_terms + r : NULL,
                              .round = &round,
                              .y = (uint8_t *)j->k->out[0]->data + (row + r) * j->plan.cout + first,
                              .y_row = j->plan.cout,
                              .rows = rows,
                              .cols = cols};
        j->kernel->tile(&t);
    }
}

static void run_group(const job *j, size_t group, size_t p0, size_t p1,
                      const qrn_dense_part *part) {
    const qrn_dense_args *d = j->plan.args;
    const qrn_kcall *k = j->k;
    size_t step = qrn_dense_block_rows(d, BLOCK_BYTES);
    uint8_t *copies = j->direct ? NULL : (uint8_t *)k->scratch + k->task * step * j->row_bytes;
    int32_t terms[QRN_DENSE_BLOCK_ROWS_MAX];
    for (size_t r = part->r0; r < part->r1; r += step) {
        size_t n = part->r1 - r < step ? part->r1 - r : step;
        if (copies)
            copy_rows(j, r, n, group, copies);
        size_t a_row = copies ? j->row_bytes : j->plan.a_row;
        const uint8_t *a =
            copies ? copies : (const uint8_t *)k->in[0]->data + r * a_row + group * d->depth;
        for (size_t i = 0; j->w_offset && i < n; i++) {
            uint32_t sum = 0;
            for (size_t c = 0; c < d->depth; c++)
                sum += a[i * a_row + c];
            terms[i] = (int32_t)(sum * (uint32_t)j->w_offset);
        }
        for (size_t p = p0; p < p1; p++)
            run_panel(j, group, p, a, a_row, j->w_offset ? terms : NULL, r, n);
        if (d->group == 1)
            qrn_dense_tell(k, &j->plan, r, n, p0, p1);
    }
}

static qrn_status run(const qrn_kcall *k, const qrn_gemm_q8_kernel *kernel) {
    job j = job_of(k, kernel);
    int64_t lo, hi;
    qrn_code_range(k->out[0]->dtype, k->out[0]->quant->bits, &lo, &hi);
    j.out = (qrn_requant){
        .zero_half = 0.5 - (double)k->out[0]->quant->offset, .lo = (int32_t)lo, .hi = (int32_t)hi};
    qrn_dense_part part = qrn_dense_part_of(&j.plan, k->task, k->n_tasks);
    size_t panels = qrn_panels(j.plan.args->cols);
    for (size_t u = part.u0, end; u < part.u1 && part.r0 < part.r1; u = end) {
        size_t group = u / panels, last = (group + 1) * panels;
        end = last < part.u1 ? last : part.u1;
        run_group(&j, group, u - group * panels, end - group * panels, &part);
    }
    if (j.plan.args->group > 1)
        qrn_dense_tell(k, &j.plan, part.r0, part.r1 - part.r0, part.u0, part.u1);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_dense8_args *a = k->args;
    qrn_dense_plan p = qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t scratch(const qrn_kcall *k) {
    job j = job_of(k, &qrn_gemm_q8_ref);
    return j.direct ? 0 : k->n_tasks * qrn_dense_block_rows(j.plan.args, BLOCK_BYTES) * j.row_bytes;
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense8_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit, .fn = dense8_##isa,        \
        .tasks = tasks, .scratch = scratch                                                         \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status dense8_##isa(const qrn_kcall *k) { return run(k, &kernel); }

#if defined(__x86_64__)
FUNCTION(avx512vnni, qrn_gemm_q8_12x32_avx512vnni)
FUNCTION(avx2, qrn_gemm_q8_2x32_avx2)
#elif defined(__aarch64__)
FUNCTION(neondot, qrn_gemm_q8_6x32_neondot)
#endif
FUNCTION(ref, qrn_gemm_q8_ref)

static const qrn_kernel dense8_rows[] = {
#if defined(__x86_64__)
    ROW(avx512vnni, QRN_ISA_AVX512VNNI),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neondot, QRN_ISA_NEONDOT),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_TELLS(dense8, sizeof(qrn_dense8_args));
