// SPDX-License-Identifier: MIT
//
// The rules for networks (HTP-NET) as functions of a step: each says whether the step breaks it and
// how long the step would take if it did not.
#include "device/advice_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEAR 64 // steps around a step that are looked at for another one
#define NONE UINT32_MAX

static bool is(const qd_op *o, const char *type) { return strcmp(o->type, type) == 0; }

static bool is_any(const qd_op *o, const char *const *types) {
    for (; *types; types++)
        if (is(o, *types))
            return true;
    return false;
}

static const qd_value *value(const qd_look *l, uint32_t v) { return &l->g->values[v]; }

// Never 0, for it divides.
static double floor32(double x) { return x < 32 ? x : 32 * floor(x / 32); }

static double megabytes(const qd_look *l, const qd_step *s) {
    return (s->in + s->out) * (l->p == QD_W8A8 ? 1 : 2) / 1e6;
}

static const qd_step *source(const qd_look *l, const qd_step *s) {
    return s->source == NONE ? NULL : &l->steps->list[s->source];
}

static const qd_op *maker(const qd_look *l, uint32_t v) {
    return l->made_by[v] == NONE ? NULL : &l->g->ops[l->made_by[v]];
}

static qd_time as_product(const qd_look *l, const qd_step *s, qd_product size) {
    qd_step changed = *s;
    changed.padded = qd_padded(&size);
    changed.results = qd_results(&size);
    return qd_time_of(&changed, l->chip, l->p, l->options);
}

// --- GEMMs

// Each step in 8 bits: times add up to the estimate of the whole graph in 8 bits.
static bool precision(const qd_look *l, uint32_t i, qd_found *f) {
    if (l->p == QD_W8A8)
        return false;
    f->then = qd_time_of(&l->steps->list[i], l->chip, QD_W8A8, l->options);
    QD_SAY(f, "%.1f us in %s, %.1f in a8w8", qd_core(&f->now), qd_precision_names[l->p],
           qd_core(&f->then));
    return true;
}

// One row is a classifier: its outputs are what they are.
static bool channels(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    if (s->kind != QD_MATRIX || size.groups != 1 || size.rows * size.batch == 1 || !s->weights)
        return false;
    size.in = floor32(size.in);
    size.out = floor32(size.out);
    if (size.in == s->size.in && size.out == s->size.out)
        return false;
    f->then = as_product(l, s, size);
    QD_SAY(f, "%.0f to %.0f channels; %.0f to %.0f would cost less", s->size.in, s->size.out,
           size.in, size.out);
    return true;
}

static bool groups(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    double each = size.groups > 0 ? size.in / size.groups : 0;
    if (s->kind != QD_MATRIX || size.groups < 2 || each <= 32 || fmod(each, 32) == 0)
        return false;
    size.in = floor32(each) * size.groups;
    size.out = floor32(size.out / size.groups) * size.groups;
    f->then = as_product(l, s, size);
    QD_SAY(f, "%.0f groups of %.0f channels; of %.0f each would cost less", size.groups, each,
           floor32(each));
    return true;
}

// Rows of all pictures are brought to multiples of 32.
static bool rows(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    if (s->kind != QD_MATRIX || size.rows < 32 || fmod(size.rows, 32) == 0)
        return false;
    size.rows = floor32(size.rows);
    f->then = as_product(l, s, size);
    QD_SAY(f, "%.0f pixels or tokens count as %.0f", s->size.rows, size.rows + 32);
    return true;
}

// Pixels of 2x2 become channels.
static bool shallow(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    double k = sqrt(size.taps);
    if (s->kind != QD_MATRIX || size.groups != 1 || size.taps < 4 || size.in > 8 || k != floor(k) ||
        size.rows < 128)
        return false;
    if (s->in / size.in > 3 * size.rows * size.batch) { // stride 2: the rows stay
        size.taps = pow(ceil(k / 2), 2);
    } else {
        size.taps = pow(ceil((k + 1) / 2), 2);
        size.rows /= 4;
        size.out *= 4;
    }
    size.in *= 4;
    f->then = as_product(l, s, size);
    QD_SAY(f, "%.0fx%.0f over %.0f channels; %.0fx%.0f over %.0f after space to depth", k, k,
           s->size.in, sqrt(size.taps), sqrt(size.taps), size.in);
    return true;
}

// Convolutions of the same input that do not fill their tiles. Of three or more each is paired with
// the next one, which may promise more than all in one bring.
static bool parallel(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_MATRIX || !s->weights || s->size.groups != 1)
        return false;
    for (uint32_t k = i + 1; k < l->steps->n && k <= i + NEAR; k++) {
        const qd_step *o = &l->steps->list[k];
        qd_product both = s->size;
        if (o->kind != QD_MATRIX || !o->weights || o->op->in[0] != s->op->in[0] ||
            o->size.taps != both.taps || o->size.groups != 1 || o->size.rows != both.rows)
            continue;
        both.out += o->size.out;
        if (qd_padded(&both) >= s->padded + o->padded)
            continue;
        f->then = as_product(l, s, both);
        f->more = qd_core(&l->e->steps[k]);
        QD_SAY(f, "%.0f channels beside the %.0f of %.100s", s->size.out, o->size.out, o->op->name);
        return true;
    }
    return false;
}

// Half the bytes of weights, where the NPU gains by it.
static bool int4(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    bool stays = s->size.in > 0 && s->in / s->size.in <= s->size.rows * s->size.batch;
    if (s->kind != QD_MATRIX || l->p == QD_FP16 || s->size.taps != 1 || s->size.groups != 1 ||
        s->size.out <= 32 || !s->weights || !stays || value(l, s->op->in[1])->bits == 4)
        return false;
    double rate = l->chip->ddr;
    if (s->streamed)
        qd_decodes(l->chip, &rate);
    f->then = f->now;
    f->then.memory -= f->now.weight_bytes / 2 / (rate * 1e3);
    QD_SAY(f, "%.2f MB of weights", f->now.weight_bytes / 1e6);
    return true;
}

// --- what does not fold

static bool behind_weights(const qd_look *l, const qd_step *s) {
    const qd_step *b = source(l, s);
    return b && (b->kind == QD_MATRIX || b->kind == QD_DEPTHWISE);
}

static bool batchnorm(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!s->split)
        return false;
    QD_SAY(f, "%u step%s of %.2f MB", qd_passes(s, l->p), l->p == QD_FP16 ? "" : "s",
           megabytes(l, s));
    return true;
}

static bool division(const qd_look *l, uint32_t i, qd_found *f) {
    qd_step s = l->steps->list[i];
    if (!s.divides)
        return false;
    s.effort = s.thin ? QD_PRODUCT_EFFORT : 1;
    f->then = qd_time_of(&s, l->chip, l->p, l->options);
    bool constant = s.op->n_in > 1 && value(l, s.op->in[1])->constant;
    QD_SAY(f, constant ? "by a constant"
                       : "by another value: a gain only if the network may multiply instead");
    return true;
}

static bool prelu(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!is(s->op, "Prelu") || s->effort <= 1)
        return false;
    const qd_step *b = source(l, s);
    bool joins = behind_weights(l, s) || (b && is(b->op, "ElementWiseAdd"));
    if (!joins) { // it stays a step, of less work
        qd_step plain = *s;
        plain.effort = 1;
        plain.thin = qd_is_thin(value(l, s->op->out[0]));
        plain.fill = plain.thin ? s->fill : 0;
        f->then = qd_time_of(&plain, l->chip, l->p, l->options);
    }
    QD_SAY(f, "a slope for each channel%s", joins ? "" : "; nothing before it that it could join");
    return true;
}

enum { NEURON_HARD_SIGMOID = 2, NEURON_HARD_SWISH = 3, NEURON_RELU = 4, NEURON_RELU_MIN_MAX = 5 };

static bool folds(const qd_op *o) {
    static const char *const types[] = {"Relu",      "Relu1", "Relu6", "ReluMinMax",
                                        "HardSwish", "Prelu", NULL};
    return is_any(o, types) || (is(o, "ElementWiseNeuron") && o->kind >= NEURON_HARD_SWISH &&
                                o->kind <= NEURON_RELU_MIN_MAX);
}

static bool activation(const qd_look *l, uint32_t i, qd_found *f) {
    static const char *const types[] = {"Elu", "Gelu", "Sigmoid", "Tanh", "ElementWiseNeuron",
                                        NULL};
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_HEAVY || !behind_weights(l, s) || !is_any(s->op, types))
        return false;
    QD_SAY(f, "behind %.120s", source(l, s)->op->name);
    return true;
}

// One that would fold, but somebody else reads the convolution's result.
static bool shared(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_LIGHT || s->effort > 1 || !folds(s->op) || !behind_weights(l, s))
        return false;
    QD_SAY(f, "%.100s is read by others, too", source(l, s)->op->name);
    return true;
}

// The op that makes v, activations looked through.
static const qd_op *behind_activations(const qd_look *l, uint32_t v) {
    const qd_op *o = maker(l, v);
    for (int hops = 0; o && folds(o) && hops < 2; hops++)
        o = maker(l, o->in[0]);
    return o;
}

// x * clip(x + 3) or x * hardsigmoid(x).
static bool hardswish(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!is(s->op, "ElementWiseMultiply") || s->op->n_in != 2)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        const qd_op *o = behind_activations(l, s->op->in[k]);
        uint32_t x = s->op->in[1 - k];
        bool gate = o && is(o, "ElementWiseNeuron") && o->kind == NEURON_HARD_SIGMOID;
        bool sum = o && is(o, "ElementWiseAdd") && o->n_in == 2 &&
                   (value(l, o->in[0])->constant || value(l, o->in[1])->constant);
        if (!(gate && o->in[0] == x) && !(sum && (o->in[0] == x || o->in[1] == x)))
            continue;
        for (uint32_t b = i; b-- > 0 && b + NEAR > i;)
            if (l->steps->list[b].op == o)
                f->more = qd_core(&l->e->steps[b]);
        QD_SAY(f, "%.120s and this GEMM", o->name);
        return true;
    }
    return false;
}

// --- copies and conversions

static bool transpose(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_MOVE || !is(s->op, "Transpose"))
        return false;
    QD_SAY(f, "moves %.2f MB", megabytes(l, s));
    return true;
}

// Copies behind copies; a Transpose has a rule of its own.
static bool copies(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i], *b = source(l, s);
    if (s->kind != QD_MOVE || !b || b->kind != QD_MOVE || is(s->op, "Transpose"))
        return false;
    QD_SAY(f, "%s behind the %s of %.100s", s->op->type, b->op->type, b->op->name);
    return true;
}

// Slice, scale and shift by constants: a convolution does them at once.
static bool chain(const qd_look *l, uint32_t i, qd_found *f) {
    static const char *const types[] = {"ElementWiseAdd", "ElementWiseSubtract",
                                        "ElementWiseMultiply", NULL};
    const qd_step *s = &l->steps->list[i], *b = source(l, s);
    if (!b || s->kind != QD_LIGHT || !is_any(s->op, types) || s->op->n_in != 2 || s->n_ops > 1 ||
        value(l, s->op->in[0])->constant || !value(l, s->op->in[1])->constant)
        return false;
    bool slice = is(b->op, "StridedSlice") || is(b->op, "Split");
    bool scale = b->kind == QD_LIGHT && is_any(b->op, types) && b->op->n_in == 2 &&
                 value(l, b->op->in[1])->constant;
    if (!slice && !scale)
        return false;
    QD_SAY(f, "behind %.120s", b->op->name);
    return true;
}

static bool convert(const qd_look *l, uint32_t i, qd_found *f) {
    static const char *const types[] = {"Convert", "Quantize", "Dequantize", NULL};
    const qd_step *s = &l->steps->list[i];
    if (!is_any(s->op, types))
        return false;
    QD_SAY(f, "%s of %.2f MB%s", s->op->type, megabytes(l, s),
           value(l, s->op->in[0])->input     ? ": the application could pass quantized values"
           : value(l, s->op->out[0])->output ? ": the application could take quantized values"
                                             : "");
    return true;
}

// A published bound: a Reshape in front costs 5 to 10 % of the time.
static bool first(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    const qd_op *o = maker(l, s->op->in[0]);
    if (i != 0 || !o || !is(o, "Reshape") || !value(l, o->in[0])->input)
        return false;
    f->then = f->now;
    f->more = 0.1 * l->e->us;
    QD_SAY(f, "reads the input through %.120s", o->name);
    return true;
}

// Means over a whole picture before the network's end wait for all of it.
static bool whole(const qd_look *l, uint32_t i, qd_found *f) {
    static const char *const types[] = {"PoolAvg2d", "PoolMax2d", "ReduceMean", "ReduceMax", NULL};
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_LIGHT || !is_any(s->op, types) || l->last_picture == NONE ||
        i > l->last_picture || s->in < 16 * s->out)
        return false;
    QD_SAY(f, "%.2f MB to %.0f numbers", megabytes(l, s), s->out);
    return true;
}

const qd_rule qd_rules[] = {
    {"precision", "HTP-NET-01", precision, QD_AT_MOST_NARROW,
     "try 8-bit activations, if the results are still good enough"},
    {"channels", "HTP-NET-03", channels, QD_EXACT,
     "use multiples of 32 channels: a part of a tile of 32 costs as much as a full one"},
    {"groups", "HTP-NET-03", groups, QD_EXACT,
     "give each group of a convolution 32 channels, or a multiple of it"},
    {"shallow", "HTP-NET-05", shallow, QD_EXACT,
     "fold 2x2 pixels into channels (space to depth) before a convolution of few channels"},
    {"parallel", "HTP-NET-05", parallel, QD_AT_MOST,
     "merge convolutions that read the same input into one"},
    {"chain", "HTP-NET-05", chain, QD_AT_MOST,
     "express slices, scales and shifts by constants as one convolution"},
    {"int4", "HTP-NET-09", int4, QD_AT_MOST,
     "4-bit weights where accuracy allows: half the traffic to memory"},
    {"batchnorm", "HTP-NET-05", batchnorm, QD_EXACT,
     "put batch normalization behind a convolution, into which it folds"},
    {"division", "HTP-NET-04", division, QD_EXACT,
     "multiply by the reciprocal instead of dividing"},
    {"prelu", "HTP-NET-04", prelu, QD_EXACT, "Relu or LeakyRelu joins the step before it"},
    {"activation", "HTP-NET-10", activation, QD_EXACT,
     "Relu, Relu6 or HardSwish joins the convolution before it; this activation does not"},
    {"shared", "HTP-NET-10", shared, QD_EXACT,
     "let the activation alone read the convolution's result, then it joins it"},
    {"hardswish", "HTP-NET-10", hardswish, QD_EXACT,
     "write x * clip(x + 3) / 6 as one HardSwish, which joins the convolution before it"},
    {"transpose", "HTP-NET-12", transpose, QD_EXACT,
     "arrange dimensions so that no Transpose is needed"},
    {"copies", "HTP-NET-12", copies, QD_AT_MOST,
     "merge chains of Concat, Slice, SpaceToDepth and the like into one copy"},
    {"first", "HTP-NET-12", first, QD_AT_MOST,
     "give the input the shape that the first step wants, without a Reshape"},
    {"convert", "HTP-NET-11, 13", convert, QD_EXACT,
     "keep one width of activations, and pass quantized values in and out: each conversion is a "
     "step"},
    {"global", "HTP-NET-13", whole, QD_AT_MOST,
     "avoid means over whole pictures (squeeze and excite): what follows waits for all of it"},
    {"rows", "HTP-NET-13", rows, QD_AT_MOST,
     "choose sizes whose height times width is a multiple of 32, best powers of two"},
    {"concat", "HTP-NET-08", qd_rule_concat, QD_AT_MOST,
     "join values in multiples of 32 channels, 8 columns (4 of 16 bits) or 8 rows, but the last"},
    {"spill", "HTP-NET-06, 07", qd_rule_spill, QD_EXACT,
     "keep a step's activations within half the VTCM: smaller pictures or "
     "fewer channels at this size"},
    {"tile", "HTP-NET-06, 07", qd_rule_tile, QD_UNKNOWN,
     "cut the picture into narrower strips: the smallest tile is larger than half the VTCM"},
};
const size_t qd_n_rules = sizeof qd_rules / sizeof qd_rules[0];
