// SPDX-License-Identifier: MIT
//
// The weight_only family: the work of a task, and the rows.
#include "kernels/gemm/gemv/gemv_planes.h"

#include "base/fp16.h"
#include "kernels/gemm/dense/dense_feed.h"
#include "kernels/gemm/tiles/gemm_q8.h"

typedef struct engine {
    const qrn_gemm_f32_kernel *gemm; // for many rows
    qrn_gemv_unpack_fn unpack;
    qrn_gemv_fn few;
    qrn_gemv_planes_fn planes; // (optional) rows as planes of bytes
    qrn_gemv_products_fn products;
    qrn_gemv_products_fn many; // (optional) many rows, with the weights of a panel as bytes
    qrn_gemv_bytes_fn bytes;   // with `many`
} engine;

static qrn_dense_plan plan_of(const qrn_kcall *k) {
    const qrn_weight_only_args *a = k->args;
    return qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
}

// A long run may hold an outlier beside which 16 bits leave nothing of the other elements.
static uint32_t planes_of(const qrn_weight_only_args *a) {
    return a->fp16 && a->run <= QRN_GEMV_SHORT_RUN ? 2 : QRN_GEMV_PLANES;
}

// Panel u of the weights.
static qrn_gemv_panel panel_of(const qrn_kcall *k, size_t u) {
    const qrn_weight_only_args *a = k->args;
    size_t bytes = qrn_q8_steps(a->dense.depth) * QRN_PANEL * QRN_Q8_DEPTH * a->w_bits / 8;
    size_t first = u * qrn_weight_only_runs(a) * QRN_PANEL;
    const qrn_view *scales = k->in[2];
    bool fp16 = scales->dtype == QRN_DTYPE_F16;
    return (qrn_gemv_panel){.w = (const int8_t *)k->in[1]->data + u * bytes,
                            .scales = (const char *)scales->data + first * (fp16 ? 2 : 4),
                            .offsets = k->in[3] ? (const int8_t *)k->in[3]->data + first : NULL,
                            .fp16_scales = fp16,
                            .w_bits = a->w_bits,
                            .planes = planes_of(a),
                            .depth = a->dense.depth,
                            .run = a->run};
}

static const float *bias_of(const qrn_kcall *k, size_t column) {
    return k->in[4] ? (const float *)k->in[4]->data + column : NULL;
}

static uint32_t columns_of(const qrn_weight_only_args *a, size_t u) {
    size_t left = a->dense.cols - u * QRN_PANEL;
    return (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL);
}

static const qrn_clamp *clamp_of(const qrn_weight_only_args *a) {
    return a->dense.conv.clamp.on ? &a->dense.conv.clamp : NULL;
}

// --- few rows

static size_t sum_floats(const qrn_weight_only_args *a) {
    return QRN_GEMV_FEW * qrn_weight_only_runs(a);
}

// Sums of each run of each row: what an offset is multiplied with.
static void sum_runs(const qrn_weight_only_args *a, const float *x, size_t rows, float *sums) {
    for (size_t r = 0; r < rows; r++)
        for (size_t k0 = 0; k0 < a->dense.depth; k0 += a->run) {
            double sum = 0;
            for (size_t k = k0; k < a->dense.depth && k < k0 + a->run; k++)
                sum += (double)x[r * a->dense.depth + k];
            *sums++ = (float)sum;
        }
}

// `rows` rows from number r on times panel u.
static qrn_gemv_strip strip_of(const qrn_kcall *k, const qrn_dense_plan *p, size_t r, size_t rows,
                               size_t u) {
    const qrn_weight_only_args *a = k->args;
    size_t column = u * QRN_PANEL;
    return (qrn_gemv_strip){.b = panel_of(k, u),
                            .a = (const float *)k->in[0]->data + r * a->dense.depth,
                            .a_row = a->dense.depth,
                            .runs = qrn_weight_only_runs(a),
                            .rows = (uint32_t)rows,
                            .cols = columns_of(a, u),
                            .bias = bias_of(k, column),
                            .c = (float *)k->out[0]->data + r * p->cout + column,
                            .c_row = p->cout,
                            .clamp = clamp_of(a)};
}

// Tasks share the panels, so that a result does not depend on their number.
static void run_few(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p) {
    const qrn_weight_only_args *a = k->args;
    size_t runs = qrn_weight_only_runs(a), u0, u1;
    float *sums = (float *)k->scratch + k->task * sum_floats(a);
    qrn_split(qrn_panels(a->dense.cols), 1, k->task, k->n_tasks, &u0, &u1);
    if (k->in[3] && u0 < u1)
        sum_runs(a, k->in[0]->data, p->rows, sums);
    for (size_t u = u0; u < u1; u++)
        for (size_t r = 0; r < p->rows; r += QRN_GEMV_ROWS) {
            size_t left = p->rows - r;
            qrn_gemv_strip t = strip_of(k, p, r, left < QRN_GEMV_ROWS ? left : QRN_GEMV_ROWS, u);
            t.sums = sums + r * runs;
            e->few(&t);
        }
    qrn_dense_report(k, p, 0, p->rows, u0, u1);
}

// --- many rows

// Panels that are unpacked at a time.
static size_t panels_at_once(const qrn_weight_only_args *a) {
    size_t n = QRN_GEMM_F32_NEAR / QRN_PANEL / (a->dense.depth ? a->dense.depth : 1);
    return n ? n : 1;
}

static size_t unpacked_floats(const qrn_weight_only_args *a) {
    return panels_at_once(a) * QRN_PANEL * a->dense.depth;
}

static void run_many(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p) {
    const qrn_weight_only_args *a = k->args;
    qrn_dense_part part = qrn_dense_part_of(p, k->task, k->n_tasks);
    qrn_dense_feed feed = qrn_dense_feed_of(p, e->gemm, false);
    float *unpacked = (float *)k->scratch + k->task * (unpacked_floats(a) + feed.floats), *y;
    size_t step = panels_at_once(a), n, panel = (size_t)a->dense.depth * QRN_PANEL;
    for (size_t r = part.r0; r < part.r1; r += n) {
        qrn_gemm_f32_block g = {.c_row = p->cout, .b = unpacked, .clamp = clamp_of(a)};
        n = qrn_dense_feed_rows(&feed, k->in[0]->data, 0, r, part.r1, unpacked + unpacked_floats(a),
                                &g);
        y = (float *)k->out[0]->data + r * p->cout;
        for (size_t u = part.u0; u < part.u1; u += step) {
            size_t end = u + step < part.u1 ? u + step : part.u1;
            g.cols = (end - u - 1) * QRN_PANEL + columns_of(a, end - 1);
            g.bias = bias_of(k, u * QRN_PANEL);
            g.c = y + u * QRN_PANEL;
            for (size_t i = u; i < end; i++) {
                qrn_gemv_panel b = panel_of(k, i);
                e->unpack(&b, unpacked + (i - u) * panel);
            }
            qrn_gemm_f32_run(e->gemm, &g);
        }
        qrn_dense_report(k, p, r, n, part.u0, part.u1);
    }
}

// --- rows as planes of bytes

#define PLANE_ROWS 64 // done at a time

// Bytes that a task's rows need as planes, with their runs and the sums of a row that has to be
// done with floats; behind them come those of a panel.
static size_t row_bytes(const qrn_weight_only_args *a, size_t rows) {
    size_t runs = qrn_weight_only_runs(a);
    size_t row = qrn_gemv_row_bytes(a->dense.depth, planes_of(a)) + runs * sizeof(qrn_gemv_run);
    return (rows * row + runs * sizeof(float) + 63) / 64 * 64;
}

// Room of a task.
static size_t plane_bytes(const qrn_weight_only_args *a, const engine *e, const qrn_dense_plan *p) {
    size_t rows = p->rows < PLANE_ROWS ? p->rows : PLANE_ROWS;
    bool bytes = e->many && p->rows > QRN_GEMV_FEW;
    return row_bytes(a, rows) + (bytes ? QRN_PANEL * (size_t)a->dense.depth : 0);
}

static void run_float_row(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p, size_t r,
                          const qrn_dense_part *part, float *sums) {
    const qrn_weight_only_args *a = k->args;
    if (k->in[3])
        sum_runs(a, (const float *)k->in[0]->data + r * a->dense.depth, 1, sums);
    for (size_t u = part->u0; u < part->u1; u++) {
        qrn_gemv_strip t = strip_of(k, p, r, 1, u);
        t.sums = sums;
        e->few(&t);
    }
}

// Rows of a task in planes, and room for the weights of a panel as bytes.
typedef struct rows_in_planes {
    qrn_gemv_rows x;
    size_t n;       // rows
    uint8_t *bytes; // NULL: tiles unpack the weights
} rows_in_planes;

// Rows from number r on times panel u.
static void run_plane_panel(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p, size_t r,
                            size_t u, const rows_in_planes *in) {
    const qrn_weight_only_args *a = k->args;
    size_t runs = qrn_weight_only_runs(a), row = qrn_gemv_row_bytes(a->dense.depth, planes_of(a));
    size_t most = in->bytes ? QRN_GEMV_MANY : QRN_GEMV_ROWS;
    qrn_gemv_panel b = panel_of(k, u);
    if (in->bytes)
        e->bytes(&b, in->bytes);
    for (size_t i = 0; i < in->n; i += most) {
        qrn_gemv_strip t = strip_of(k, p, r + i, in->n - i < most ? in->n - i : most, u);
        qrn_gemv_rows rows = {in->x.planes + i * row, in->x.runs + i * runs};
        t.b.w = in->bytes ? (const int8_t *)in->bytes : t.b.w;
        (in->bytes ? e->many : e->products)(&t, &rows);
    }
}

// Rows [r, r + n) of the task's panels.
static void run_plane_rows(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p, size_t r,
                           size_t n, const qrn_dense_part *part) {
    const qrn_weight_only_args *a = k->args;
    size_t runs = qrn_weight_only_runs(a), row = qrn_gemv_row_bytes(a->dense.depth, planes_of(a));
    char *room = (char *)k->scratch + k->task * plane_bytes(a, e, p);
    rows_in_planes in = {.x.runs = (void *)room, .n = n};
    size_t most = p->rows < PLANE_ROWS ? p->rows : PLANE_ROWS;
    float *sums = (float *)(in.x.runs + most * runs);
    bool good[PLANE_ROWS];
    in.x.planes = (int8_t *)(sums + runs);
    qrn_gemv_panel b = panel_of(k, 0);
    if (e->many && n > QRN_GEMV_FEW && qrn_gemv_fits_32(&b, b.planes))
        in.bytes = (uint8_t *)room + row_bytes(a, most);
    for (size_t i = 0; i < n; i++)
        good[i] = e->planes(&b, (const float *)k->in[0]->data + (r + i) * a->dense.depth,
                            in.x.planes + i * row, in.x.runs + i * runs);
    for (size_t u = part->u0; u < part->u1; u++)
        run_plane_panel(k, e, p, r, u, &in);
    for (size_t i = 0; i < n; i++)
        if (!good[i])
            run_float_row(k, e, p, r + i, part, sums);
}

static void run_planes(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p) {
    const qrn_weight_only_args *a = k->args;
    qrn_dense_part part = {.r1 = p->rows};
    if (p->rows > QRN_GEMV_FEW)
        part = qrn_dense_part_of(p, k->task, k->n_tasks);
    else
        qrn_split(qrn_panels(a->dense.cols), 1, k->task, k->n_tasks, &part.u0, &part.u1);
    for (size_t r = part.r0; r < part.r1 && part.u0 < part.u1; r += PLANE_ROWS) {
        size_t n = part.r1 - r < PLANE_ROWS ? part.r1 - r : PLANE_ROWS;
        run_plane_rows(k, e, p, r, n, &part);
        qrn_dense_report(k, p, r, n, part.u0, part.u1);
    }
}

static qrn_status run(const qrn_kcall *k, const engine *e) {
    qrn_dense_plan p = plan_of(k);
    if (e->planes) {
        run_planes(k, e, &p);
        return QRN_OK;
    }
    if (p.rows <= QRN_GEMV_FEW)
        run_few(k, e, &p);
    else
        run_many(k, e, &p);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    qrn_dense_plan p = plan_of(k);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t scratch(const qrn_kcall *k, const engine *e) {
    const qrn_weight_only_args *a = k->args;
    qrn_dense_plan p = plan_of(k);
    if (e->planes)
        return k->n_tasks * plane_bytes(a, e, &p);
    size_t many = unpacked_floats(a) + qrn_dense_feed_of(&p, e->gemm, false).floats;
    size_t few = k->in[3] ? sum_floats(a) : 0;
    return k->n_tasks * (p.rows > QRN_GEMV_FEW && many > few ? many : few) * sizeof(float);
}

// --- the definition

static double weight_at(const qrn_gemv_panel *b, size_t k, size_t j) {
    size_t run = k / b->run * QRN_PANEL + j;
    size_t at = (k / QRN_Q8_DEPTH * QRN_PANEL + j) * QRN_Q8_DEPTH + k % QRN_Q8_DEPTH;
    int32_t w = b->w[b->w_bits == 4 ? at / 2 : at];
    if (b->w_bits == 4)
        w = (int8_t)((unsigned)w << (at % 2 ? 0 : 4)) >> 4;
    double scale = (double)(b->fp16_scales ? qrn_f16_to_f32(((const uint16_t *)b->scales)[run])
                                           : ((const float *)b->scales)[run]);
    return scale * (double)(w + (b->offsets ? b->offsets[run] : 0));
}

static qrn_status weight_only_ref(const qrn_kcall *k) {
    const qrn_weight_only_args *a = k->args;
    qrn_dense_plan p = plan_of(k);
    const qrn_clamp *clamp = clamp_of(a);
    size_t u0, u1;
    qrn_split(qrn_panels(a->dense.cols), 1, k->task, k->n_tasks, &u0, &u1);
    for (size_t u = u0; u < u1; u++) {
        qrn_gemv_panel b = panel_of(k, u);
        const float *bias = bias_of(k, u * QRN_PANEL);
        for (uint32_t j = 0; j < columns_of(a, u); j++)
            for (size_t r = 0; r < p.rows; r++) {
                const float *x = (const float *)k->in[0]->data + r * b.depth;
                double sum = bias ? (double)bias[j] : 0.0;
                for (size_t i = 0; i < b.depth; i++)
                    sum += (double)x[i] * weight_at(&b, i, j);
                ((float *)k->out[0]->data)[r * p.cout + u * QRN_PANEL + j] =
                    clamp ? QRN_CLAMPED((float)sum, clamp) : (float)sum;
            }
    }
    qrn_dense_report(k, &p, 0, p.rows, u0, u1);
    return QRN_OK;
}

#define ROW(isa, bit, fits)                                                                        \
    {                                                                                              \
        .name = "weight_only_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .works = fits,        \
        .fn = run_##isa, .tasks = tasks, .scratch = scratch_##isa                                  \
    }
#define ENGINE(isa, ...)                                                                           \
    static const engine engine_##isa = {__VA_ARGS__};                                              \
    static qrn_status run_##isa(const qrn_kcall *k) { return run(k, &engine_##isa); }              \
    static size_t scratch_##isa(const qrn_kcall *k) { return scratch(k, &engine_##isa); }

// Steps are whole, and no sum leaves 32 bits.
static bool fits_planes(const qrn_kcall *k) {
    const qrn_weight_only_args *a = k->args;
    bool whole = a->dense.depth % QRN_GEMV_STEP == 0 && a->run % QRN_GEMV_STEP == 0;
    return whole && a->dense.depth > 0 && a->run <= 32768;
}

#if defined(__x86_64__)
ENGINE(avx512vnni, .few = qrn_gemv_avx512, .planes = qrn_gemv_planes_avx512vnni,
       .products = qrn_gemv_products_avx512vnni, .many = qrn_gemv_many_avx512vnni,
       .bytes = qrn_gemv_bytes_avx512vnni)
ENGINE(avx512, .gemm = &qrn_gemm_f32_14x32_avx512, .unpack = qrn_gemv_unpack_avx512,
       .few = qrn_gemv_avx512)
ENGINE(avx2, .gemm = &qrn_gemm_f32_6x32_avx2, .unpack = qrn_gemv_unpack_avx2, .few = qrn_gemv_avx2)
#elif defined(__aarch64__)
ENGINE(neondot, .few = qrn_gemv_neon, .planes = qrn_gemv_planes_neondot,
       .products = qrn_gemv_products_neondot)
ENGINE(neon, .gemm = &qrn_gemm_f32_6x32_neon, .unpack = qrn_gemv_unpack_neon, .few = qrn_gemv_neon)
#endif

static const qrn_kernel weight_only_rows[] = {
#if defined(__x86_64__)
    ROW(avx512vnni, QRN_ISA_AVX512VNNI, fits_planes),
    ROW(avx512, QRN_ISA_AVX512, NULL),
    ROW(avx2, QRN_ISA_AVX2, NULL),
#elif defined(__aarch64__)
    ROW(neondot, QRN_ISA_NEONDOT, fits_planes),
    ROW(neon, QRN_ISA_NEON, NULL),
#endif
    {.name = "weight_only_ref", .domain = QRN_DOMAIN_F32, .fn = weight_only_ref, .tasks = tasks},
};
QRN_FAMILY_REPORTS(weight_only, sizeof(qrn_weight_only_args));
