// SPDX-License-Identifier: MIT
//
// Patches of layers. A patch is ordered [channel of the group][kernel height][kernel width].
#include "quantizer/patches.h"

#include "base/mem.h"

#include <string.h>

#define LEAST_DRAWN 16 // patches of one sample
#define MOST_DRAWN 512

static bool is(const ox_node *n, const char *op) {
    return n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

// Two integers of an attribute; one spatial dimension has height 1.
static void pair(const ox_node *n, const char *name, uint32_t rank, uint32_t fallback,
                 uint32_t out[2]) {
    int64_t v[2 * OX_MAX_RANK];
    uint32_t count = ox_attr_ints(n, name, v, 2 * OX_MAX_RANK), d = rank - 2;
    out[0] = out[1] = fallback;
    for (uint32_t i = 0; i < d && count >= d; i++)
        out[2 - d + i] = (uint32_t)v[i];
}

static void spatial(qz_shape s, uint32_t out[2]) {
    out[0] = s.rank == 4 ? s.dims[2] : 1;
    out[1] = s.dims[s.rank - 1];
}

static bool set_conv(qz_patches *p, qz_shape x, qz_shape w, qz_shape y) {
    const ox_node *n = p->node;
    const char *mode = ox_attr_string(n, "auto_pad", "NOTSET");
    int64_t group = ox_attr_int(n, "group", 1);
    if ((w.rank != 3 && w.rank != 4) || x.rank != w.rank || y.rank != w.rank || group < 1 ||
        strncmp(mode, "SAME", 4) == 0 || x.dims[1] % (uint64_t)group)
        return false;
    p->group = (uint32_t)group;
    p->channels = x.dims[1];
    spatial(x, p->in);
    spatial(y, p->out);
    spatial(w, p->kernel);
    pair(n, "strides", w.rank, 1, p->stride);
    pair(n, "dilations", w.rank, 1, p->dilation);
    pair(n, "pads", w.rank, 0, p->pad);
    if (w.rank == 3) { // the height that is not there
        p->stride[0] = p->dilation[0] = 1;
        p->pad[0] = 0;
    }
    p->depth = p->channels / p->group * p->kernel[0] * p->kernel[1];
    return p->depth > 0 && p->stride[0] && p->stride[1];
}

static bool set_matrix(qz_patches *p, qz_shape x, qz_shape w) {
    bool transposed = is(p->node, "Gemm") && ox_attr_int(p->node, "transB", 0);
    p->matrix = true;
    p->group = 1;
    p->depth = p->channels = w.rank == 2 ? w.dims[transposed ? 1 : 0] : 0;
    return p->depth && x.rank && x.dims[x.rank - 1] == p->depth &&
           !(is(p->node, "Gemm") && ox_attr_int(p->node, "transA", 0));
}

qrn_status qz_patches_create(qrn_arena *arena, const ox_node *n, qz_shape x, qz_shape w, qz_shape y,
                             uint32_t n_samples, qz_patches **out) {
    qz_patches p = {.node = n, .transposed = is(n, "ConvTranspose")};
    bool conv = p.transposed || is(n, "Conv");
    *out = NULL;
    if (!(conv ? set_conv(&p, x, w, y) : set_matrix(&p, x, w)))
        return QRN_OK;
    uint32_t each = QZ_PATCHES / (n_samples ? n_samples : 1);
    p.per_sample = each < LEAST_DRAWN ? LEAST_DRAWN : each > MOST_DRAWN ? MOST_DRAWN : each;
    p.parts = (p.depth + QZ_PART - 1) / QZ_PART;
    qz_patches *made = qrn_arena_alloc(arena, sizeof *made);
    p.grams = qrn_calloc((size_t)p.group * p.parts * sizeof *p.grams);
    p.sums = qrn_calloc((size_t)p.group * p.depth * sizeof *p.sums);
    p.rows = qrn_alloc(2 * (size_t)p.per_sample * p.depth * sizeof *p.rows);
    qrn_status s = made && p.grams && p.sums && p.rows
                       ? QRN_OK
                       : QRN_FAIL(QRN_E_MEM, "node '%s': out of memory for its inputs", n->name);
    for (uint32_t i = 0; s == QRN_OK && i < p.group * p.parts; i++)
        s = qz_gram_init(&p.grams[i], qz_patches_depth(&p, i));
    if (s != QRN_OK) {
        qz_patches_free(&p);
        return s;
    }
    *made = p;
    *out = made;
    return QRN_OK;
}

void qz_patches_free(qz_patches *p) {
    for (uint32_t i = 0; p->grams && i < p->group * p->parts; i++)
        qz_gram_free(&p->grams[i]);
    qrn_free(p->grams);
    qrn_free(p->sums);
    qrn_free(p->rows);
}

size_t qz_patches_bytes(const ox_node *n, qz_shape w) {
    bool transposed = is(n, "ConvTranspose") || is(n, "MatMul") ||
                      (is(n, "Gemm") && !ox_attr_int(n, "transB", 0));
    size_t depth = transposed ? w.dims[0] : w.dims[1];
    int64_t group = is(n, "Conv") || is(n, "ConvTranspose") ? ox_attr_int(n, "group", 1) : 1;
    size_t groups = group > 0 ? (size_t)group : 1;
    if (transposed && groups > 1)
        depth /= groups;
    for (uint32_t d = 2; d < w.rank; d++)
        depth *= w.dims[d];
    return depth * (depth < QZ_PART ? depth : QZ_PART) * sizeof(float) * groups;
}

// Where tap k of an output position reads its input; false: padding, or between the steps of a
// transposed convolution.
static bool source(const qz_patches *p, int axis, uint32_t at, uint32_t k, uint32_t *from) {
    int64_t x;
    if (p->transposed) {
        x = (int64_t)at + p->pad[axis] - (int64_t)k * p->dilation[axis];
        if (x < 0 || x % p->stride[axis])
            return false;
        x /= p->stride[axis];
    } else {
        x = (int64_t)at * p->stride[axis] + (int64_t)k * p->dilation[axis] - p->pad[axis];
    }
    *from = (uint32_t)x;
    return x >= 0 && x < p->in[axis];
}

static void draw(const qz_patches *p, const float *x, bool last, uint32_t group, uint32_t at,
                 float *row) {
    uint32_t part = p->channels / p->group, taps = p->kernel[0] * p->kernel[1];
    uint32_t oy = at / p->out[1], ox = at % p->out[1];
    size_t plane = (size_t)p->in[0] * p->in[1];
    for (uint32_t t = 0; t < taps; t++) {
        uint32_t y = 0, z = 0;
        bool inside =
            source(p, 0, oy, t / p->kernel[1], &y) && source(p, 1, ox, t % p->kernel[1], &z);
        size_t pixel = (size_t)y * p->in[1] + z;
        for (uint32_t c = 0; c < part; c++) {
            uint32_t channel = group * part + c;
            size_t i = last ? pixel * p->channels + channel : channel * plane + pixel;
            row[c * taps + t] = inside ? x[i] : 0;
        }
    }
}

uint32_t qz_patches_depth(const qz_patches *p, uint32_t gram) {
    uint32_t first = gram % p->parts * QZ_PART;
    return p->depth - first < QZ_PART ? p->depth - first : QZ_PART;
}

// Adds n rows to the sums of a group, part by part.
static void add_rows(qz_patches *p, uint32_t group, uint32_t n) {
    for (uint32_t part = 0; part < p->parts; part++) {
        uint32_t i = group * p->parts + part, depth = qz_patches_depth(p, i);
        float *packed = p->parts == 1 ? p->rows : p->rows + (size_t)n * p->depth;
        for (uint32_t r = 0; p->parts > 1 && r < n; r++)
            memcpy(packed + (size_t)r * depth, p->rows + (size_t)r * p->depth + part * QZ_PART,
                   depth * sizeof *packed);
        qz_gram_add(&p->grams[i], packed, n);
    }
}

void qz_patches_add(qz_patches *p, const float *x, size_t count, bool channel_last) {
    size_t batch = p->matrix ? p->depth : (size_t)p->channels * p->in[0] * p->in[1];
    size_t positions = p->matrix ? 1 : (size_t)p->out[0] * p->out[1];
    size_t total = count / batch * positions;
    size_t want = p->per_sample;
    uint32_t n = (uint32_t)(total < want ? total : want), first = p->drawn;
    for (uint32_t g = 0; g < p->group && n; g++) {
        for (uint32_t i = 0; i < n; i++) {
            float *row = p->rows + (size_t)i * p->depth;
            // Positions one golden ratio apart cover the tensor evenly.
            uint64_t mixed = (uint64_t)(first + i) * 0x9e3779b97f4a7c15u;
            size_t at = total <= want ? i : (size_t)((mixed >> 32) * total >> 32);
            const float *image = x + at / positions * batch;
            if (p->matrix)
                memcpy(row, image, p->depth * sizeof *row);
            else
                draw(p, image, channel_last, g, (uint32_t)(at % positions), row);
            for (uint32_t d = 0; d < p->depth; d++)
                p->sums[(size_t)g * p->depth + d] += (double)row[d];
        }
        add_rows(p, g, n);
    }
    p->drawn += n;
}

static qz_place place(const qz_patches *p, const uint32_t *w, size_t i) {
    if (p->matrix) {
        bool rows_first = is(p->node, "Gemm") && ox_attr_int(p->node, "transB", 0);
        uint32_t r = (uint32_t)(i / w[1]), c = (uint32_t)(i % w[1]);
        return rows_first ? (qz_place){0, c, r} : (qz_place){0, r, c};
    }
    uint32_t taps = p->kernel[0] * p->kernel[1], tap = (uint32_t)(i % taps);
    uint32_t second = (uint32_t)(i / taps % w[1]), first = (uint32_t)(i / taps / w[1]);
    uint32_t per = w[0] / p->group; // of the first dimension in a group
    uint32_t group = first / per, inside = first % per;
    return p->transposed ? (qz_place){group, inside * taps + tap, second}
                         : (qz_place){group, second * taps + tap, inside};
}

qz_place qz_patches_place(const qz_patches *p, const uint32_t *w_dims, size_t i) {
    qz_place at = place(p, w_dims, i);
    at.gram = at.gram * p->parts + at.row / QZ_PART;
    at.row %= QZ_PART;
    return at;
}
