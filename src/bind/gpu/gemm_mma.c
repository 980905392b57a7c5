// SPDX-License-Identifier: MIT
//
// GEMM on tensor cores (kernels/gemm_mma.cl): packed weights, tiles and how often a sum is cut.
#include "bind/gpu/gemm.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

// Tiles of a warp, warps of a group, blocks loaded ahead.
typedef struct tiling {
    uint8_t mt, nt, wm, wn, ahead;
} tiling;

typedef struct choice {
    tiling t;
    uint32_t parts;
} choice;

static const tiling small_tiles = {1, 2, 2, 2, 2}, scattered_tiles = {1, 2, 2, 2, 1},
                    large_tiles = {2, 4, 1, 4, 1}, huge_tiles = {2, 8, 2, 2, 1};

#define LARGE_GEMM 2.5e8 // multiplications from which on f32 gains from larger tiles
#define HUGE_GEMM 1e10   // and everything from still larger ones

static size_t groups_of(const tiling *t, size_t rows, size_t cols) {
    size_t tall = (size_t)16 * t->mt * t->wm, wide = (size_t)8 * t->nt * t->wn;
    return (rows + tall - 1) / tall * ((cols + wide - 1) / wide);
}

// Measured on 132 multiprocessors: so many warps for each, and a part of a sum of at least 4
// blocks.
static choice choose(const qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16, int gather) {
    double work = (double)g->rows * (double)g->cols * (double)g->depth;
    choice c = {.parts = 1};
    c.t = gather == 2                  ? scattered_tiles
          : work >= HUGE_GEMM          ? huge_tiles
          : !f16 && work >= LARGE_GEMM ? large_tiles
                                       : small_tiles;
    size_t warps = groups_of(&c.t, g->rows, g->cols) * c.t.wm * c.t.wn * g->batch;
    size_t most = b->opt->device->info->n_units * (size_t)(f16 ? 21 : c.t.mt > 1 ? 12 : 26);
    size_t blocks = (g->depth + (f16 ? 31 : 15)) / (f16 ? 32 : 16);
    while (g->fixed && c.parts < 16 && warps * 2 * c.parts <= most && blocks / (2 * c.parts) >= 4)
        c.parts *= 2;
    return c;
}

// Eight columns at a time: both sides are read and written in their order then.
#define PLACE(name, T, CHUNK)                                                                      \
    static void name(const qrn_gpu_gemm *g, const T *w, size_t blocks, T *dst) {                   \
        for (size_t tile = 0; tile < g->cols; tile += 8)                                           \
            for (size_t k = 0; k < g->depth; k++) {                                                \
                T *lanes = dst + (tile / 8 * blocks + k / (4 * CHUNK)) * 32 * CHUNK +              \
                           k % (4 * CHUNK) / CHUNK * CHUNK + k % CHUNK;                            \
                for (size_t j = 0; j < 8 && tile + j < g->cols; j++)                               \
                    lanes[j * 4 * CHUNK] = w[k * g->w_depth + (tile + j) * g->w_col];              \
            }                                                                                      \
    }
PLACE(place_f16, uint16_t, 8)
PLACE(place_f32, float, 4)

// Element e of lane l of block k of tile j is column 8j + l/4, row of K 4*chunk*k + chunk*(l%4) +
// e.
static qrn_status pack(qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16, qrn_val *out) {
    size_t chunk = f16 ? 8 : 4, block = 4 * chunk;
    size_t blocks = (g->depth + block - 1) / block, tiles = (g->cols + 7) / 8;
    void *data;
    QRN_TRY(qrn_gpu_make_packed(
        b, g->step, g->step->in[1], f16 ? QRN_GPU_PACKING_MMA_F16 : QRN_GPU_PACKING_MMA_F32,
        f16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32, tiles * blocks * 32 * chunk, out, &data));
    const float *w = data ? qrn_compiled_data(b->cg, g->step->in[1]) : NULL;
    if (!data)
        return QRN_OK;
    if (!w)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': the weights '%s' have no data", b->cg->name,
                        qrn_gpu_value(b, g->step->in[1])->name);
    if (!f16) {
        place_f32(g, w, blocks, data);
        return QRN_OK;
    }
    size_t count = g->depth * g->cols;
    uint16_t *half = qrn_alloc(count * sizeof *half);
    if (!half)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    qrn_gpu_to_f16(w, count, half);
    place_f16(g, half, blocks, data);
    qrn_free(half);
    return QRN_OK;
}

static qrn_dtype stored(const qrn_gpu_binder *b, qrn_val v) { return b->plan->places[v].type; }

// Do chunks of 16 bytes of the value lie where 16 bytes begin, `step` elements apart?
static bool in_chunks(const qrn_gpu_binder *b, qrn_val v, bool f16, size_t step) {
    size_t chunk = f16 ? 8 : 4, elem = f16 ? 2 : 4;
    return stored(b, v) == (f16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32) && step % chunk == 0 &&
           b->plan->places[v].offset % (chunk * elem) == 0;
}

static int gather_of(const qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16) {
    if (g->planar)
        return 2;
    size_t step = g->direct ? (size_t)g->params[13] : g->grain;
    bool even = g->depth % (f16 ? 8u : 4u) == 0 && g->channels % (f16 ? 8u : 4u) == 0;
    for (uint32_t i = 18; i < g->n_params; i += 3)
        even &= g->params[i] % (f16 ? 8 : 4) == 0;
    if (!even || !in_chunks(b, g->step->in[0], f16, step))
        return 2;
    return g->direct ? 0 : 1;
}

static int weights_of(const qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16) {
    bool even = g->depth % (f16 ? 8u : 4u) == 0;
    for (uint32_t i = 19; i < g->n_params; i += 3)
        even &= g->params[i] % (f16 ? 8 : 4) == 0;
    if (g->fixed)
        return 0;
    return even && g->w_depth == 1 && in_chunks(b, g->step->in[1], f16, g->w_col) ? 1 : 2;
}

// Operands in f16 where they are stored so; application tensors may be f32 in every mode.
static bool uses_f16(const qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    bool narrow = b->opt->precision == QRN_GPU_HYBRID || b->opt->precision == QRN_GPU_FP16;
    return stored(b, g->front ? g->front->in[0] : g->step->in[0]) == QRN_DTYPE_F16 &&
           (g->fixed ? narrow : stored(b, g->step->in[1]) == QRN_DTYPE_F16);
}

// Memory for the parts of sums that are cut, `each` numbers for each part of a tile, and a counter
// for each tile.
static qrn_status split_memory(qrn_gpu_binder *b, size_t tiles, size_t parts, size_t each,
                               qrn_val *sums, qrn_val *counters) {
    void *zeros;
    *sums = *counters = QRN_VAL_NONE;
    if (parts == 1)
        return QRN_OK;
    QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_F32, tiles * parts * each, sums));
    QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_I32, tiles, counters, &zeros));
    memset(zeros, 0, tiles * sizeof(int32_t));
    b->plan->constants[b->plan->places[*counters].index].writable = true;
    return QRN_OK;
}

static qrn_status add(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const choice *c, bool f16,
                      qrn_val w) {
    size_t groups = groups_of(&c->t, g->rows, g->cols), threads = 32u * c->t.wm * c->t.wn;
    qrn_val parts, counters;
    bool split = c->parts > 1;
    QRN_TRY(split_memory(b, groups, c->parts, threads * c->t.mt * c->t.nt * 4, &parts, &counters));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_mma, "gemm_mma");
    qrn_gpu_gemm_operands(&k, g, w);
    qrn_gpu_out(&k, "S", parts);
    qrn_gpu_out(&k, "C", counters);
    qrn_gpu_params(&k, "P", g->params, g->n_params);
    QRN_GPU_INTS(&k, (int64_t)g->rows, (int64_t)g->cols, (int64_t)g->depth);
    const struct {
        const char *name;
        int value;
    } macros[] = {{"F16", f16},
                  {"GATHER", gather_of(b, g, f16)},
                  {"PLANAR", g->planar},
                  {"SPLIT", split},
                  {"WEIGHTS", weights_of(b, g, f16)},
                  {"LEADS", g->params[16]},
                  {"MT", c->t.mt},
                  {"NT", c->t.nt},
                  {"WM", c->t.wm},
                  {"WN", c->t.wn},
                  {"AHEAD", c->t.ahead}};
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        qrn_gpu_define(&k, macros[i].name, "%d", macros[i].value);
    qrn_gpu_clamp(&k, g->clamp);
    size_t wide = (size_t)8 * c->t.nt * c->t.wn, tall = (size_t)16 * c->t.mt * c->t.wm;
    size_t global[3] = {(g->cols + wide - 1) / wide * threads, (g->rows + tall - 1) / tall,
                        split ? c->parts : g->batch};
    return qrn_gpu_kernel_end(&k, 3, global, (size_t[]){threads, 1, 1});
}

// The rule's choice, and its neighbours: other tiles, each with fewer and more parts.
typedef struct choices {
    uint32_t n;
    choice list[16];
    bool f16;
    qrn_val w;
} choices;

static bool has(const choices *c, const choice *x) {
    for (uint32_t i = 0; i < c->n; i++)
        if (memcmp(&c->list[i].t, &x->t, sizeof x->t) == 0 && c->list[i].parts == x->parts)
            return true;
    return false;
}

static void add_neighbours(const qrn_gpu_gemm *g, choices *c) {
    static const tiling *const others[] = {&small_tiles, &scattered_tiles, &large_tiles,
                                           &huge_tiles};
    size_t blocks = (g->depth + (c->f16 ? 31 : 15)) / (c->f16 ? 32 : 16);
    choice rule = c->list[0];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        for (uint32_t k = 0; k < 3; k++) {
            choice x = {*others[i], k == 0 ? rule.parts : k == 1 ? rule.parts / 2 : 2 * rule.parts};
            bool fits =
                x.parts == 1 || (g->fixed && x.parts > 0 && x.parts <= 16 && blocks / x.parts >= 2);
            if (fits && !has(c, &x) && c->n < sizeof c->list / sizeof c->list[0])
                c->list[c->n++] = x;
        }
}

static void describe(const void *ctx, uint32_t i, qrn_gpu_variant *out) {
    const choices *c = ctx;
    const tiling *t = &c->list[i].t;
    *out = (qrn_gpu_variant){.kernel = "gemm_mma", .split = c->list[i].parts};
    snprintf(out->tile, sizeof out->tile, "%ux%u %ux%u %u", t->mt, t->nt, t->wm, t->wn, t->ahead);
    snprintf(out->local, sizeof out->local, "%ux1x1", 32u * t->wm * t->wn);
    snprintf(out->layout, sizeof out->layout, "mma_%s", c->f16 ? "f16" : "f32");
}

static qrn_status add_one(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const void *ctx, uint32_t i) {
    const choices *c = ctx;
    return add(b, g, &c->list[i], c->f16, c->w);
}

// A depthwise convolution with a 1x1 convolution behind it: kernel `separable`.
#define STEP 64 // channels
static qrn_status add_separable(qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16, qrn_val w) {
    size_t tiles = (g->rows + 15) / 16, steps = (g->depth + STEP - 1) / STEP;
    size_t per_warp = (g->cols + 63) / 64; // tiles of 8 columns for each of 8 warps
    size_t most = 2 * (size_t)b->opt->device->info->n_units / tiles; // parts that run at once
    size_t parts = most < 1 ? 1 : most < steps ? most : steps;
    qrn_val sums, counters;
    QRN_TRY(split_memory(b, tiles, parts, per_warp * 4 * 256, &sums, &counters));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_mma, "separable");
    qrn_gpu_gemm_operands(&k, g, w);
    qrn_gpu_out(&k, "S", sums);
    qrn_gpu_out(&k, "C", counters);
    qrn_gpu_in(&k, "V", g->front->in[1]);
    qrn_gpu_in(&k, "D", g->front->n_in > 2 ? g->front->in[2] : QRN_VAL_NONE);
    qrn_gpu_params(&k, "P", g->params, g->n_params);
    QRN_GPU_INTS(&k, (int64_t)g->rows, (int64_t)g->cols, (int64_t)g->depth);
    const struct {
        const char *name;
        int value;
    } macros[] = {{"F16", f16},          {"MT", 1},
                  {"NT", (int)per_warp}, {"SPLIT", parts > 1},
                  {"KH", g->params[5]},  {"KW", g->params[6]}};
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        qrn_gpu_define(&k, macros[i].name, "%d", macros[i].value);
    qrn_gpu_clamp(&k, g->clamp);
    qrn_gpu_clamp_as(&k, "FRONT_CLAMP(v)", &((const qrn_conv_args *)g->front->args)->clamp);
    return qrn_gpu_kernel_end(&k, 2, (size_t[]){tiles * 256, parts}, (size_t[]){256, 1});
}

qrn_status qrn_gpu_gemm_mma(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    const qrn_gpu_device *d = b->opt->device;
    if (!d || !d->mma || !qrn_gpu_kind_enabled("mma") || (g->fixed && g->batch != 1))
        return QRN_E_UNSUPPORTED;
    bool f16 = uses_f16(b, g);
    choices c = {.n = 1, .f16 = f16, .w = g->step->in[1]};
    c.list[0] = choose(b, g, f16, gather_of(b, g, f16));
    add_neighbours(g, &c);
    if (g->fixed)
        QRN_TRY(pack(b, g, f16, &c.w));
    if (g->front && !g->planar)
        return add_separable(b, g, f16, c.w);
    return qrn_gpu_gemm_tuned(b, g, &(qrn_gpu_gemm_variants){c.n, describe, add_one, &c});
}

void qrn_gpu_probe(qrn_gpu_device *d) {
    static const char text[] =
        "__kernel void probe(__global float *y, __global const uint *x) {\n"
        "    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;\n"
        "    asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, \"\n"
        "        \"{%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};\"\n"
        "        : \"+f\"(a), \"+f\"(b), \"+f\"(c), \"+f\"(d) : \"r\"(x[0]));\n"
        "    asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, \"\n"
        "        \"{%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};\"\n"
        "        : \"+f\"(a), \"+f\"(b), \"+f\"(c), \"+f\"(d) : \"r\"(x[1]));\n"
        "    asm volatile(\"fence.acq_rel.gpu;\" ::: \"memory\");\n"
        "    y[0] = a + b + c + d;\n"
        "}\n";
    cl_program program;
    d->mma = !qrn_cl_is_cpu(d->info) &&
             qrn_cl_program(d->programs, NULL,
                            &(qrn_cl_source){.text = text, .options = "-cl-std=CL1.2"},
                            &program) == QRN_OK;
    if (!d->mma)
        qrn_message_clear();
}
