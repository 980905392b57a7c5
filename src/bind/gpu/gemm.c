// SPDX-License-Identifier: MIT
//
// Convolutions and matrix products on the GPU: which kernel computes one.
#include "bind/gpu/gemm.h"

#include "base/env.h"
#include "kernels/gemm/matmul/matmul.h"

#include <stdio.h>
#include <string.h>

bool qrn_gpu_kind_enabled(const char *name) {
    char word[32];
    snprintf(word, sizeof word, "-%s", name);
    return !qrn_env_has(QRN_ENV_GPU_KERNELS, word);
}

static qrn_val optional(const qrn_cstep *s, uint32_t i) {
    return s->n_in > i ? s->in[i] : QRN_VAL_NONE;
}

// --- geometry

static qrn_conv_geometry conv_geometry(const qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]), w = qrn_compiled_view(b->cg, s->in[1]),
             y = qrn_compiled_view(b->cg, s->out[0]);
    return qrn_conv_geometry_of(s->args, &x, &y, w.dims);
}

static bool is_flat(const qrn_conv_geometry *g) {
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && g->before[0] == 0;
}

static void conv_params(const qrn_conv_geometry *g, int32_t *p) {
    const int64_t values[] = {g->in[1],     g->in[2],       (int64_t)g->cin, g->out[1],
                              g->out[2],    g->kernel[1],   g->kernel[2],    g->stride[1],
                              g->stride[2], g->dilation[1], g->dilation[2],  g->before[1],
                              g->before[2], (int64_t)g->cin};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        p[i] = (int32_t)values[i];
}

static uint32_t common_factor(uint32_t a, uint32_t b) { return b ? common_factor(b, a % b) : a; }

// A row of taps whose cells all lie inside of the picture and side by side is one tap: long runs of
// memory also where there are few channels, as in the first layer of a vision transformer.
static void join_row(const qrn_conv_geometry *g, qrn_gpu_gemm *out) {
    uint32_t c = (uint32_t)g->cin, wide = (uint32_t)g->kernel[2];
    out->grain = c;
    if (wide == 1 || g->dilation[2] != 1 || g->before[2] != 0 ||
        (g->out[2] - 1) * g->stride[2] + g->kernel[2] > g->in[2])
        return;
    out->grain = common_factor((uint32_t)g->stride[2] * c, (uint32_t)g->in[2] * c);
    out->channels = wide * c;
    out->params[2] = (int32_t)out->channels;
    out->params[6] = 1;
}

static bool conv_gemm(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_gpu_gemm *out) {
    qrn_conv_geometry g = conv_geometry(b, s);
    qrn_gemm gemm;
    if (g.group != 1 || g.transposed || !is_flat(&g) || !qrn_gemm_of(b->cg, s, &gemm))
        return false;
    *out = (qrn_gpu_gemm){.step = s,
                          .rows = qrn_conv_cells(&g),
                          .cols = g.cout,
                          .depth = gemm.dense.depth,
                          .batch = 1,
                          .channels = (uint32_t)g.cin,
                          .fixed = true,
                          .w_depth = gemm.w_depth,
                          .w_col = gemm.w_col,
                          .clamp = &((const qrn_conv_args *)s->args)->clamp,
                          .n_params = 17};
    out->direct = true;
    for (int i = 1; i < 3; i++)
        out->direct &=
            g.kernel[i] == 1 && g.stride[i] == 1 && g.before[i] == 0 && g.in[i] == g.out[i];
    conv_params(&g, out->params);
    join_row(&g, out);
    return true;
}

static qrn_matmul_geometry matmul_geometry(const qrn_gpu_binder *b, const qrn_cstep *s,
                                           qrn_view *views) {
    qrn_view *in[3] = {NULL, NULL, NULL}, *out[1] = {&views[3]};
    for (uint32_t i = 0; i < s->n_in && i < 3; i++)
        if (s->in[i] != QRN_VAL_NONE) {
            views[i] = qrn_compiled_view(b->cg, s->in[i]);
            in[i] = &views[i];
        }
    views[3] = qrn_compiled_view(b->cg, s->out[0]);
    qrn_kcall call = {.args = s->args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
    return qrn_matmul_geometry_of(&call);
}

// A picture of `rows` cells in a row.
static void row_params(size_t rows, size_t channels, int32_t *p) {
    const int32_t values[] = {
        1, (int32_t)rows,    (int32_t)channels, 1, (int32_t)rows, 1, 1, 1, 1, 1, 1, 0,
        0, (int32_t)channels};
    memcpy(p, values, sizeof values);
}

static bool matmul_gemm(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_gpu_gemm *out) {
    qrn_view views[4];
    qrn_matmul_geometry g = matmul_geometry(b, s, views);
    qrn_gemm gemm;
    *out = (qrn_gpu_gemm){.step = s,
                          .rows = g.rows,
                          .cols = g.cols,
                          .depth = g.depth,
                          .batch = g.batch,
                          .channels = (uint32_t)g.depth,
                          .grain = (uint32_t)g.depth,
                          .direct = true,
                          .w_depth = g.b_depth,
                          .w_col = g.b_col,
                          .clamp = &((const qrn_matmul_args *)s->args)->clamp,
                          .n_params = 17};
    if (g.a_depth != 1 || g.depth == 0)
        return false;
    if (qrn_gemm_of(b->cg, s, &gemm)) { // one matrix for all rows
        out->fixed = true;
        out->rows *= g.batch;
        out->batch = 1;
    }
    row_params(out->rows, g.depth, out->params);
    out->params[13] = (int32_t)g.a_row;
    out->params[14] = (int32_t)g.b_col;
    out->params[15] = (int32_t)g.b_depth;
    if (out->fixed)
        return g.a_row == g.depth;
    out->params[16] = (int32_t)g.n_lead;
    for (uint32_t d = 0; d < g.n_lead; d++) {
        uint32_t from = g.n_lead - 1 - d;
        out->params[out->n_params++] = (int32_t)g.lead[from];
        out->params[out->n_params++] = (int32_t)g.a_lead[from];
        out->params[out->n_params++] = (int32_t)g.b_lead[from];
    }
    return true;
}

void qrn_gpu_gemm_operands(qrn_gpu_kernel *k, const qrn_gpu_gemm *g, qrn_val w) {
    qrn_gpu_in(k, "X", g->front ? g->front->in[0] : g->step->in[0]);
    qrn_gpu_in(k, "W", w);
    qrn_gpu_in(k, "B", optional(g->step, 2));
    qrn_gpu_out(k, "Y", qrn_gpu_result(k->b));
    k->flops = 2.0 * (double)g->rows * (double)g->cols * (double)g->depth * (double)g->batch;
}

static qrn_status fast_gemm(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    if (g->rows > INT32_MAX / 2 || g->rows == 0 || g->cols == 0)
        return QRN_E_UNSUPPORTED;
    qrn_status s = qrn_gpu_gemv(b, g);
    if (s == QRN_E_UNSUPPORTED)
        s = qrn_gpu_gemv_float(b, g);
    if (s == QRN_E_UNSUPPORTED)
        s = qrn_gpu_gemm_mma(b, g);
    return s == QRN_E_UNSUPPORTED ? qrn_gpu_gemm_panels(b, g) : s;
}

// --- one result a work item

static qrn_status plain_conv(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_conv_args *a = s->args;
    qrn_conv_geometry g = conv_geometry(b, s);
    size_t total = qrn_gpu_count(b, s->out[0]);
    int32_t p[18];
    for (int d = 0; d < 3; d++) {
        const int64_t sizes[] = {g.in[d],     g.out[d],      g.kernel[d],
                                 g.stride[d], g.dilation[d], g.before[d]};
        for (int i = 0; i < 6; i++)
            p[3 * i + d] = (int32_t)sizes[i];
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_plain, "conv");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "W", s->in[1]);
    qrn_gpu_in(&k, "B", optional(s, 2));
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 18);
    qrn_gpu_int(&k, (int64_t)g.cin);
    qrn_gpu_int(&k, (int64_t)g.cout);
    qrn_gpu_int(&k, (int64_t)g.group);
    qrn_gpu_int(&k, (int64_t)total);
    qrn_gpu_int(&k, a->transposed);
    qrn_gpu_clamp(&k, &a->clamp);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status plain_matmul(qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_view views[4];
    qrn_matmul_geometry g = matmul_geometry(b, s, views);
    int32_t p[1 + 3 * QRN_MAX_RANK] = {(int32_t)g.n_lead};
    for (uint32_t d = 0; d < g.n_lead; d++) {
        uint32_t from = g.n_lead - 1 - d;
        p[1 + 3 * d] = (int32_t)g.lead[from];
        p[2 + 3 * d] = (int32_t)g.a_lead[from];
        p[3 + 3 * d] = (int32_t)g.b_lead[from];
    }
    size_t total = qrn_view_count(&views[3]);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_plain, "matmul");
    qrn_gpu_in(&k, "A", s->in[0]);
    qrn_gpu_in(&k, "B", s->in[1]);
    qrn_gpu_in(&k, "C", optional(s, 2));
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 1 + 3 * g.n_lead);
    const size_t sizes[] = {g.rows, g.cols, g.depth, g.a_row, g.a_depth, g.b_depth, g.b_col, total};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        qrn_gpu_int(&k, (int64_t)sizes[i]);
    qrn_gpu_clamp(&k, &((const qrn_matmul_args *)s->args)->clamp);
    return qrn_gpu_kernel_items(&k, total);
}

// --- depthwise

static bool is_depthwise(const qrn_conv_geometry *g) {
    return g->group > 1 && g->group == g->cin && g->cout == g->cin && !g->transposed && is_flat(g);
}

static qrn_status depthwise(qrn_gpu_binder *b, const qrn_cstep *s, const qrn_conv_geometry *g) {
    bool cpu = qrn_gpu_is_cpu(b);
    uint32_t lanes = cpu && g->cin % 16 == 0 ? 16 : g->cin % 4 == 0 ? 4 : 1;
    uint32_t run = cpu ? 8 : 2;
    int32_t p[14];
    conv_params(g, p);
    size_t rows = g->batch * (size_t)g->out[1], runs = ((size_t)g->out[2] + run - 1) / run;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_depthwise, "depthwise");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "W", s->in[1]);
    qrn_gpu_in(&k, "B", optional(s, 2));
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 13);
    qrn_gpu_int(&k, (int64_t)rows);
    qrn_gpu_int(&k, (int64_t)runs);
    qrn_gpu_int(&k, (int64_t)(g->cin / lanes));
    qrn_gpu_define(&k, "LANES", "%u", lanes);
    qrn_gpu_define(&k, "RUN", "%u", run);
    qrn_gpu_clamp(&k, &((const qrn_conv_args *)s->args)->clamp);
    size_t global[3] = {g->cin / lanes, runs, rows};
    size_t across = g->cin / lanes < 32 ? g->cin / lanes : 32;
    size_t along = 128 / across < runs ? 128 / across : runs;
    return qrn_gpu_kernel_end(&k, 3, global,
                              cpu ? (size_t[]){1, 1, 1} : (size_t[]){across, along, 1});
}

// --- depthwise, then 1x1

#define MAX_TAPS 9
#define FRONT_CHANNELS 8 // a multiple of so many, to be read in vectors
#define MOST_COLUMNS 512 // that a group has at once

bool qrn_gpu_is_front(const qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_conv_geometry g = conv_geometry(b, s);
    const qrn_cvalue *w = qrn_gpu_value(b, s->in[1]);
    const qrn_gpu_place *x = &b->plan->places[s->in[0]];
    bool aligned =
        x->offset % 16 == 0 && (x->type == QRN_DTYPE_F32 || b->opt->precision != QRN_GPU_USER);
    return is_depthwise(&g) && g.cin % FRONT_CHANNELS == 0 && w->kind == QRN_CV_CONST && aligned &&
           g.kernel[1] * g.kernel[2] <= MAX_TAPS;
}

bool qrn_gpu_is_pointwise(const qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_gpu_gemm g;
    return conv_gemm(b, s, &g) && g.direct && g.rows <= INT32_MAX / 2 && g.rows > 0 && g.cols > 0 &&
           g.cols <= MOST_COLUMNS;
}

// Rows of the GEMM are results of the step before, or X is read as it was before that.
static void set_front(const qrn_gpu_binder *b, uint32_t step, qrn_gpu_gemm *g) {
    g->front = &b->cg->steps[step];
    g->planar = g->front->op == &qrn_cop_transpose;
    qrn_conv_geometry geometry = conv_geometry(b, g->planar ? g->step : g->front);
    conv_params(&geometry, g->params); // taps are single again
    g->channels = (uint32_t)geometry.cin;
    g->direct = false;
}

// The first layer of a network for pictures: many cells, few channels, which are read one by one
// anyway.
bool qrn_gpu_reads_planes(const qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_gpu_gemm g;
    return conv_gemm(b, s, &g) && !g.direct && g.rows >= 2048 && g.rows <= INT32_MAX / 2 &&
           g.cols > 0 && g.cols <= 128 && qrn_gpu_shape(b, s->in[0])->rank == 4 &&
           qrn_gpu_shape(b, s->in[0])->dims[3] < 4;
}

// --- rows of the table

static qrn_status bind_conv(qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_conv_geometry geometry = conv_geometry(b, s);
    qrn_gpu_gemm g;
    if (s->domain != QRN_DOMAIN_F32)
        return qrn_gpu_reject(b, s, "only floats are supported");
    if (is_depthwise(&geometry) && qrn_gpu_kind_enabled("depthwise"))
        return depthwise(b, s, &geometry);
    uint32_t front = b->front[s - b->cg->steps];
    bool fits = conv_gemm(b, s, &g);
    if (front)
        set_front(b, front - 1, &g);
    qrn_status st = fits ? fast_gemm(b, &g) : QRN_E_UNSUPPORTED;
    return st == QRN_E_UNSUPPORTED ? plain_conv(b, s) : st;
}

static qrn_status bind_matmul(qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_gpu_gemm g;
    if (s->domain != QRN_DOMAIN_F32)
        return qrn_gpu_reject(b, s, "only floats are supported");
    if (qrn_gpu_is_attention(b, s))
        return qrn_gpu_bind_attention(b, s);
    qrn_status st = matmul_gemm(b, s, &g) ? fast_gemm(b, &g) : QRN_E_UNSUPPORTED;
    return st == QRN_E_UNSUPPORTED ? plain_matmul(b, s) : st;
}

static bool is_alone(const qrn_gpu_binder *b, const qrn_cstep *s) {
    return !qrn_gpu_is_attention(b, s);
}

const qrn_gpu_op qrn_gpu_ops_gemm[] = {
    {.op = &qrn_cop_conv, .bind = bind_conv, .epilogue = true},
    {.op = &qrn_cop_matmul, .bind = bind_matmul, .epilogue = true, .may_fuse = is_alone},
    {0},
};
