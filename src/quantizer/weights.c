// SPDX-License-Identifier: MIT
//
// Quantizing constants.
#include "quantizer/weights.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "quantizer/encodings_json.h"

#include <math.h>
#include <string.h>

// How elements of a tensor fall into groups with a scale each.
typedef struct groups {
    size_t count, inner;  // elements; elements of one index of the axis
    uint32_t length;      // of the axis
    uint32_t n;           // groups
    uint32_t block, rows; // of a blocked matrix: block length and ...
    uint32_t columns;     // ... shape
    bool down;            // blocks run down the columns, not along the rows
} groups;

void qz_constant_free(qz_constant *c) {
    qrn_free(c->data);
    qrn_free(c->scales);
    *c = (qz_constant){0};
}

static float at(const qz_value *v, size_t i) {
    float x;
    memcpy(&x, (const char *)v->data + i * sizeof x, sizeof x); // may be unaligned
    return x;
}

static inline uint32_t group_of(const groups *g, size_t i) {
    if (g->n == 1)
        return 0;
    if (!g->block)
        return (uint32_t)(i / g->inner % g->length);
    uint32_t r = (uint32_t)(i / g->columns), c = (uint32_t)(i % g->columns);
    return g->down ? r / g->block * g->columns + c : r * (g->columns / g->block) + c / g->block;
}

static groups groups_of(const qz_value *w, const ox_node *n, const qz_scheme *scheme,
                        int32_t *axis) {
    int32_t channel, summed;
    groups g = {.count = qz_count(w), .n = 1};
    if (scheme->weight_bits == 16 || !qz_weight_axes(n, w, &channel, &summed))
        return g; // the HTP has one scale for 16-bit weights (HTP-A16-03)
    uint32_t depth = w->dims[summed];
    if (scheme->block && w->rank == 2 && depth % scheme->block == 0) {
        *axis = summed;
        g.block = scheme->block;
        g.rows = w->dims[0];
        g.columns = w->dims[1];
        g.down = summed == 0;
        g.n = (uint32_t)(g.count / scheme->block);
        return g;
    }
    *axis = channel;
    g.length = g.n = w->dims[channel];
    g.inner = 1;
    for (uint32_t d = (uint32_t)channel + 1; d < w->rank; d++)
        g.inner *= w->dims[d];
    return g;
}

static double clip(double q, double low, double high) {
    return q < low ? low : q > high ? high : q;
}

// The factor of the largest value that gives each group the least squared error.
static qrn_status search_scales(const qz_value *w, const groups *g, const qz_gram *gram,
                                double half, float *scales) {
    enum { FIRST = 10, LAST = 23 }; // twentieths; above 1 as the lowest value is -half - 1
    float *full = qrn_alloc(g->n * sizeof *full), *error = qrn_alloc(g->n * sizeof *error);
    float *least = qrn_alloc(g->n * sizeof *least);
    for (uint32_t i = 0; full && error && least && i < g->n; i++) {
        full[i] = scales[i];
        least[i] = INFINITY;
    }
    for (int k = LAST; k >= FIRST && full && error && least; k--) {
        memset(error, 0, g->n * sizeof *error);
        float factor = (float)(2.0 * k / 40);
        for (size_t i = 0; i < g->count; i++) {
            uint32_t j = group_of(g, i);
            float x = at(w, i), s = full[j] * factor;
            float q = s > 0 ? rintf(x / s) : 0;
            q = q < (float)(-half - 1) ? (float)(-half - 1) : q > (float)half ? (float)half : q;
            float d = x - q * s;
            size_t row = gram ? i / w->dims[1] : 0; // which input it is multiplied with
            error[j] += d * d * (gram ? gram->sums[row * gram->depth + row] : 1);
        }
        for (uint32_t j = 0; j < g->n; j++)
            if (error[j] < least[j]) {
                least[j] = error[j];
                scales[j] = full[j] * factor;
            }
    }
    bool ok = full && error && least;
    qrn_free(full);
    qrn_free(error);
    qrn_free(least);
    return ok ? QRN_OK : QRN_FAIL(QRN_E_MEM, "weight '%s': out of memory", w->name);
}

static void put(qz_constant *c, size_t i, int32_t q) {
    switch (c->type) {
    case OX_I4:
    case OX_U4:
        ((uint8_t *)c->data)[i / 2] |= (uint8_t)((q & 15) << (4 * (i & 1)));
        break;
    case OX_I8:
        ((int8_t *)c->data)[i] = (int8_t)q;
        break;
    case OX_U8:
        ((uint8_t *)c->data)[i] = (uint8_t)q;
        break;
    case OX_U16:
        ((uint16_t *)c->data)[i] = (uint16_t)q;
        break;
    case OX_I16:
        ((int16_t *)c->data)[i] = (int16_t)q;
        break;
    default:
        ((int32_t *)c->data)[i] = q;
    }
}

static qrn_status make(const qz_value *v, int type, uint32_t n_scales, qz_constant *c) {
    *c = (qz_constant){.type = type, .n_scales = n_scales};
    c->bytes = (qz_count(v) * ox_type_bits(type) + 7) / 8;
    c->data = qrn_calloc(c->bytes + 1);
    c->scales = qrn_calloc(n_scales * sizeof *c->scales);
    if (c->data && c->scales)
        return QRN_OK;
    qz_constant_free(c);
    return QRN_FAIL(QRN_E_MEM, "constant '%s': out of memory for its quantized values", v->name);
}

// Rounds a matrix by the sums of its inputs.
static qrn_status round_matrix(const qz_value *w, const qz_gram *gram, double half,
                               qz_constant *c) {
    size_t count = qz_count(w);
    float *aligned = qrn_alloc(count * sizeof *aligned);
    int8_t *values = qrn_alloc(count);
    const qz_rounding r = {.weights = aligned,
                           .depth = w->dims[0],
                           .columns = w->dims[1],
                           .scales = c->scales,
                           .block = c->block,
                           .low = (float)(-half - 1),
                           .high = (float)half,
                           .out = values};
    qrn_status s = aligned && values ? QRN_OK : QRN_E_MEM;
    if (s == QRN_OK) {
        memcpy(aligned, w->data, count * sizeof *aligned);
        s = qz_round(&r, gram);
    }
    for (size_t i = 0; s == QRN_OK && i < count; i++)
        put(c, i, values[i]);
    qrn_free(aligned);
    qrn_free(values);
    return s == QRN_OK ? QRN_OK : QRN_FAIL(QRN_E_MEM, "weight '%s': out of memory", w->name);
}

static void round_plainly(const qz_value *w, const groups *g, double low, double half,
                          qz_constant *c) {
    for (size_t i = 0; i < g->count; i++) {
        double q = rint((double)at(w, i) / (double)c->scales[group_of(g, i)]);
        put(c, i, (int32_t)clip(q, low, half));
    }
}

// Do the sums belong to the rows of a matrix?
static bool fits(const qz_value *w, const ox_node *n, const groups *g, const qz_gram *gram) {
    return gram && gram->n_rows && qz_is(n, "MatMul") && w->rank == 2 &&
           gram->depth == w->dims[0] && (g->block ? g->down : g->n == w->dims[1]);
}

// Scales of blocks as fp16 numbers, of which a binary needs half the bytes: 0.56 instead of 0.63
// bytes a weight in blocks of 32. What fp16 has no near number for stays.
static void round_scales(const groups *g, float *scales) {
    for (uint32_t i = 0; g->block && i < g->n; i++) {
        float near = qrn_f16_to_f32(qrn_f16_from_f64((double)scales[i]));
        if (fabsf(near - scales[i]) < scales[i] / 256)
            scales[i] = near;
    }
}

qrn_status qz_quantize_weight(const qz_value *w, const ox_node *n, const qz_scheme *scheme,
                              const qz_gram *gram, qz_constant *out) {
    bool small = scheme->weight_bits == 4;
    int type = small ? OX_I4 : scheme->weight_bits == 8 ? OX_I8 : OX_I16;
    double half = scheme->weight_bits == 16 ? 0x7f7f : ldexp(1, (int)scheme->weight_bits - 1) - 1;
    int32_t axis = 0;
    groups g = groups_of(w, n, scheme, &axis);
    gram = fits(w, n, &g, gram) ? gram : NULL;
    QRN_TRY(make(w, type, g.n, out));
    out->axis = axis;
    out->block = g.block;
    for (size_t i = 0; i < g.count; i++) {
        float x = fabsf(at(w, i)), *s = &out->scales[group_of(&g, i)];
        *s = x > *s ? x : *s;
    }
    for (uint32_t i = 0; i < g.n; i++)
        out->scales[i] = (float)((double)out->scales[i] / half);
    qrn_status s = small ? search_scales(w, &g, gram, half, out->scales) : QRN_OK;
    for (uint32_t i = 0; i < g.n; i++) // a channel of zeros, or of numbers that are as good as
        if (out->scales[i] < 1e-30f)
            out->scales[i] = 1e-4f;
    round_scales(&g, out->scales);
    if (s == QRN_OK && small && gram)
        s = round_matrix(w, gram, half, out);
    else if (s == QRN_OK)
        round_plainly(w, &g, small ? -half - 1 : -half, half, out);
    if (s != QRN_OK)
        qz_constant_free(out);
    return s;
}

// --- scales of a file

static qrn_status wrong_given(const qz_value *w, const char *what, uint32_t expected) {
    return QRN_FAIL(QRN_E_SHAPE, "tensor '%s' has %u scales in the file of encodings; %s are %u",
                    w->name, w->given->n, what, expected);
}

// Which value belongs to which scale of the file.
static qrn_status given_groups(const qz_value *w, const ox_node *n, groups *g, int32_t *axis) {
    const qz_encoding *q = w->given;
    int32_t channel = 0, summed = 0;
    bool axes = qz_weight_axes(n, w, &channel, &summed);
    *g = (groups){.count = qz_count(w), .n = q->n};
    *axis = q->axis != QZ_NO_AXIS ? q->axis : q->block ? summed : channel;
    *axis += *axis < 0 ? (int32_t)w->rank : 0;
    if (q->n == 1 && !q->block)
        return QRN_OK;
    if (!axes || *axis < 0 || *axis >= (int32_t)w->rank)
        return QRN_FAIL(QRN_E_SHAPE, "tensor '%s': several scales, but no axis %d of channels",
                        w->name, (int)*axis);
    uint32_t length = w->dims[*axis];
    if (!q->block) {
        g->length = length;
        g->inner = 1;
        for (uint32_t d = (uint32_t)*axis + 1; d < w->rank; d++)
            g->inner *= w->dims[d];
        return q->n == length ? QRN_OK : wrong_given(w, "channels", length);
    }
    bool matrix = w->rank >= 2 && *axis < 2 && g->count == (size_t)w->dims[0] * w->dims[1];
    if (!matrix || length % q->block)
        return QRN_FAIL(QRN_E_SHAPE, "tensor '%s': blocks of %u do not fit its shape", w->name,
                        q->block);
    g->block = q->block;
    g->rows = w->dims[0];
    g->columns = w->dims[1];
    g->down = *axis == 0;
    return g->count / q->block == q->n ? QRN_OK
                                       : wrong_given(w, "blocks", (uint32_t)(g->count / q->block));
}

qrn_status qz_quantize_given(const qz_value *w, const ox_node *n, qz_constant *out) {
    const qz_encoding *q = w->given;
    static const int types[2][3] = {{OX_U4, OX_U8, OX_U16}, {OX_I4, OX_I8, OX_I16}};
    int32_t axis = 0, middle = 1 << (q->bits - 1);
    groups g;
    QRN_TRY(given_groups(w, n, &g, &axis));
    QRN_TRY(make(w, types[q->symmetric][q->bits == 4 ? 0 : q->bits == 8 ? 1 : 2], g.n, out));
    out->axis = axis;
    out->block = q->block;
    out->zero = q->symmetric ? 0 : -q->offsets[0];
    for (uint32_t i = 0; i < g.n; i++) {
        bool columns = q->multiples && g.down; // of a matrix [blocks][channels]
        out->scales[i] =
            columns ? q->multiples[i] * q->channel_scales[i % q->n_channels] : q->scales[i];
    }
    double low = q->symmetric ? -middle : 0, high = low + 2.0 * middle - 1;
    for (size_t i = 0; i < g.count; i++) {
        double v = rint((double)at(w, i) / (double)out->scales[group_of(&g, i)]) + out->zero;
        put(out, i, (int32_t)clip(v, low, high));
    }
    return QRN_OK;
}

qrn_status qz_quantize_bias(const qz_value *b, float scale, const qz_constant *weight,
                            qz_constant *out) {
    size_t n = qz_count(b);
    *out = (qz_constant){0};
    if (b->rank != 1 || weight->block || (weight->n_scales != 1 && weight->n_scales != n))
        return QRN_OK;
    QRN_TRY(make(b, OX_I32, weight->n_scales, out));
    for (uint32_t i = 0; i < weight->n_scales; i++)
        out->scales[i] = scale * weight->scales[i];
    for (size_t i = 0; i < n; i++) {
        double q = rint((double)at(b, i) / (double)out->scales[weight->n_scales > 1 ? i : 0]);
        if (!(fabs(q) < 2147483648.0)) {
            qz_constant_free(out);
            return QRN_OK;
        }
        put(out, i, (int32_t)q);
    }
    return QRN_OK;
}

qrn_status qz_quantize_operand(const qz_value *v, const qz_enc *enc, qz_constant *out) {
    double most = ldexp(1, (int)enc->bits) - 1;
    QRN_TRY(make(v, enc->bits == 16 ? OX_U16 : OX_U8, 1, out));
    out->scales[0] = enc->scale;
    for (size_t i = 0, n = qz_count(v); i < n; i++) {
        double q = rint((double)at(v, i) / (double)enc->scale) + enc->zero;
        put(out, i, (int32_t)clip(q, 0, most));
    }
    return QRN_OK;
}
