// SPDX-License-Identifier: MIT
//
// Quantizing constants.
#include "quantizer/weights.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "quantizer/adaround.h"
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
    qrn_free(c->shift);
    *c = (qz_constant){0};
}

void qz_constants_clear(qrn_strmap *m) {
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slots[i].key) {
            qz_constant_free(m->slots[i].value);
            qrn_free(m->slots[i].value);
        }
    qrn_strmap_clear(m);
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
    if (scheme->weight_bits == 16 || scheme->per_tensor || !qz_weight_axes(n, w, &channel, &summed))
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

// --- by patches

// One group of a layer as a matrix [depth, columns].
typedef struct group_matrix {
    float *weights, *scales; // scales of blocks or of columns
    int8_t *values;
    uint32_t columns;
} group_matrix;

static bool make_matrix(group_matrix *m, const qz_patches *p, uint32_t columns) {
    size_t n = (size_t)qz_patches_depth(p, 0) * columns;
    *m = (group_matrix){.weights = qrn_alloc(n * sizeof *m->weights),
                        .scales = qrn_alloc(n * sizeof *m->scales),
                        .values = qrn_alloc(n),
                        .columns = columns};
    return m->weights && m->scales && m->values;
}

static void free_matrix(group_matrix *m) {
    qrn_free(m->weights);
    qrn_free(m->scales);
    qrn_free(m->values);
}

static void load_group(group_matrix *m, const qz_value *w, const groups *g, const qz_patches *p,
                       uint32_t gram, const qz_constant *c) {
    for (size_t i = 0; i < g->count; i++) {
        qz_place to = qz_patches_place(p, w->dims, i);
        if (to.gram != gram)
            continue;
        size_t block = g->block ? to.row / g->block : 0;
        m->weights[(size_t)to.row * m->columns + to.column] = at(w, i);
        m->scales[block * m->columns + to.column] = c->scales[group_of(g, i)];
    }
}

// Rounds what is loaded and says what the mean of each result loses.
static qrn_status round_group(group_matrix *m, const qz_patches *p, uint32_t gram,
                              const qz_scheme *s, const groups *g, bool biased, double low,
                              double high, qz_constant *c) {
    uint32_t depth = qz_patches_depth(p, gram), group = gram / p->parts;
    double *means = qrn_calloc(depth * sizeof *means), n = p->drawn;
    const qz_rounding r = {m->weights, depth,      m->columns,  m->scales,
                           g->block,   (float)low, (float)high, m->values};
    if (!means)
        return QRN_FAIL(QRN_E_MEM, "out of memory for rounding a weight");
    for (uint32_t i = 0; i < depth; i++)
        means[i] = p->sums[(size_t)group * p->depth + gram % p->parts * QZ_PART + i] / n;
    qrn_status status = QRN_OK;
    if (s->adaround)
        status = qz_adaround(&r, &p->grams[gram], biased ? means : NULL, &c->before, &c->after);
    for (uint32_t j = 0; status == QRN_OK && j < m->columns; j++) {
        double lost = 0;
        for (uint32_t i = 0; i < depth; i++) {
            size_t k = (size_t)i * m->columns + j;
            double scale = (double)m->scales[(g->block ? i / g->block * m->columns : 0) + j];
            if (!s->adaround)
                m->values[k] = (int8_t)clip(rint((double)m->weights[k] / scale), low, high);
            lost += ((double)m->weights[k] - m->values[k] * scale) * means[i];
        }
        if (biased)
            c->shift[group * m->columns + j] += (float)lost;
    }
    qrn_free(means);
    return status;
}

static qrn_status round_by_patches(const qz_value *w, const groups *g, const qz_scheme *scheme,
                                   const qz_inputs *in, double low, double high, qz_constant *c) {
    const qz_patches *p = in->patches;
    uint32_t columns = (uint32_t)(g->count / p->depth / p->group);
    bool biased = in->biased && scheme->correct_bias;
    group_matrix m;
    qrn_status s = make_matrix(&m, p, columns) ? QRN_OK : QRN_E_MEM;
    if (biased && !(c->shift = qrn_calloc((size_t)columns * p->group * sizeof *c->shift)))
        s = QRN_E_MEM;
    for (uint32_t gram = 0; s == QRN_OK && gram < p->group * p->parts; gram++) {
        load_group(&m, w, g, p, gram, c);
        s = round_group(&m, p, gram, scheme, g, biased, low, high, c);
        for (size_t i = 0; s == QRN_OK && i < g->count; i++) {
            qz_place place = qz_patches_place(p, w->dims, i);
            if (place.gram == gram)
                put(c, i, m.values[(size_t)place.row * columns + place.column]);
        }
    }
    free_matrix(&m);
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

// Can and shall patches say how the weight is rounded?
static bool use_patches(const qz_scheme *s, const qz_inputs *in, const groups *g) {
    const qz_patches *p = in->patches;
    return p && p->drawn && s->weight_bits <= 8 &&
           (s->adaround || (s->correct_bias && in->biased)) &&
           g->count % ((size_t)p->depth * p->group) == 0;
}

qz_inputs qz_inputs_of(const qz_graph *g, const ox_node *n) {
    const qz_value *x = qz_find(g, n->in[0]);
    const qz_value *b = n->n_in > 2 ? qz_find(g, n->in[2]) : NULL;
    qz_inputs in = {.gram = x ? x->gram : NULL, .patches = x ? x->patches : NULL};
    while (in.patches && in.patches->node != n)
        in.patches = in.patches->next;
    in.biased = b && qz_is_float_constant(b) && b->rank == 1 && qz_role_of(g, n, 2) == QZ_ROLE_BIAS;
    in.bias = in.biased ? b : NULL;
    in.unit =
        x && x->enc.bits ? (double)x->enc.scale * (ldexp(1, (int)x->enc.bits) - 1) / 65535 : 0;
    return in;
}

// Scales with which the bias, in units of them and of the input, has 31 bits. In channels where
// that matters the weights add next to nothing to the bias.
static void make_room_for_bias(const groups *g, const qz_inputs *in, float *scales) {
    size_t n = in->bias ? qz_count(in->bias) : 0;
    if (!(in->unit > 0) || g->block || (g->n != 1 && g->n != n))
        return;
    for (size_t i = 0; i < n; i++) {
        float least = (float)(fabs((double)at(in->bias, i)) / in->unit * 0x1p-30);
        float *s = &scales[g->n > 1 ? i : 0];
        *s = isfinite(least) && least > *s ? least : *s;
    }
}

qrn_status qz_quantize_weight(const qz_value *w, const ox_node *n, const qz_scheme *scheme,
                              const qz_inputs *in, qz_constant *out) {
    const qz_gram *gram = in->gram;
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
    make_room_for_bias(&g, in, out->scales);
    round_scales(&g, out->scales);
    if (s == QRN_OK && use_patches(scheme, in, &g))
        s = round_by_patches(w, &g, scheme, in, small ? -half - 1 : -half, half, out);
    else if (s == QRN_OK && small && gram)
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
        double real = (double)at(b, i) + (weight->shift ? (double)weight->shift[i] : 0);
        double q = rint(real / (double)out->scales[weight->n_scales > 1 ? i : 0]);
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
