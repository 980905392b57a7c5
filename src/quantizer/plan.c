// SPDX-License-Identifier: MIT
//
// Shared encodings and ranges.
#include "quantizer/epsilon.h"
#include "quantizer/override.h"
#include "quantizer/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A masked score must lie this far below every other one: exp(-16) is a hundredth of the smallest
// step of 16-bit probabilities.
#define MASK_MARGIN 16.0
// The same for 8 bits, of all scores of a row together: exp(-7) is a fourth of a step.
#define PEAK_MARGIN 7.0
// 16-bit ranges reach this much further than what calibration saw. It costs 0.14 of 16 bits, and
// data that was not seen is not clipped at once.
#define HEADROOM 1.1
// Largest value of a symmetric 16-bit factor on the HTP (HTP-A16-04).
#define MOST_16 0x7f7f

// Ranges beyond half of what float16 holds are no islands: data that was not seen might overflow.
#define FP16_REACH 32752.0

// --- sharing

static bool can_share(const qz_value *v) {
    return qz_is_activation(v) || (qz_is_float_constant(v) && qz_count(v) > 0);
}

// Values with different encodings of a file do not share one.
static bool same_given(const qz_value *a, const qz_value *b) {
    const qz_encoding *x = a->given, *y = b->given;
    return !x || !y ||
           (x->bits == y->bits && x->n == 1 && y->n == 1 && x->scales[0] == y->scales[0] &&
            x->offsets[0] == y->offsets[0]);
}

static void share(qz_value *a, qz_value *b) {
    qz_value *x = qz_first(a), *y = qz_first(b);
    if (x == y || (x->fixed && y->fixed && (x->low != y->low || x->high != y->high)) ||
        !same_given(x, y))
        return;
    bool from_y = y->fixed && !x->fixed;
    double low = y->low, high = y->high;
    qz_share(x, y);
    x->given = x->given ? x->given : y->given;
    x->set_bits = x->set_bits > y->set_bits ? x->set_bits : y->set_bits;
    x->narrow |= y->narrow;
    if (from_y) {
        x->fixed = true;
        x->open = y->open;
        x->low = low;
        x->high = high;
    }
}

static double span(const qz_value *v) {
    const qz_stats *s = &v->stats;
    return (s->max > 0 ? s->max : 0) - (s->min < 0 ? s->min : 0);
}

// Concat may convert its inputs, at the price of an op: only inputs that would lose much by the
// common range keep their own.
static void share_concat(const qz_graph *g, const ox_node *n) {
    qz_value *out = qz_find(g, n->out[0]);
    double widest = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        qz_value *v = qz_find(g, n->in[i]);
        if (v && can_share(v) && span(qz_first(v)) > widest)
            widest = span(qz_first(v));
    }
    for (uint32_t i = 0; i < n->n_in && can_share(out); i++) {
        qz_value *v = qz_find(g, n->in[i]);
        if (v && can_share(v) && !qz_first(v)->fixed && span(qz_first(v)) * 4 >= widest)
            share(out, v);
    }
}

static void share_moved(const qz_graph *g, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        qz_value *in = qz_find(g, n->in[i]);
        if (!in || !qz_moves(n, i) || !can_share(in))
            continue;
        for (uint32_t k = 0; k < n->n_out; k++) {
            qz_value *out = qz_find(g, n->out[k]);
            if (out && can_share(out) && !out->data)
                share(in, out);
        }
    }
}

// A cache's old and new rows: past_X and new_X, or past_key_values.X and present.X. The new ones of
// value v; NULL: it is no cache.
static qz_value *new_rows_of(const qz_graph *g, const qz_value *v) {
    static const char *const pairs[][2] = {{"past_key_values", "present"}, {"past", "new"}};
    for (size_t k = 0; k < 2 && v->is_input && qz_is_activation(v); k++) {
        char name[256];
        size_t n = strlen(pairs[k][0]);
        if (strncmp(v->name, pairs[k][0], n) != 0)
            continue;
        int len = snprintf(name, sizeof name, "%s%s", pairs[k][1], v->name + n);
        qz_value *out = len > 0 && (size_t)len < sizeof name ? qz_find(g, name) : NULL;
        if (out && out->is_output && qz_is_activation(out))
            return out;
    }
    return NULL;
}

static void share_states(qz_graph *g) {
    for (uint32_t i = 0; i < g->n_values; i++) {
        qz_value *out = new_rows_of(g, g->values[i]);
        if (out)
            share(g->values[i], out);
    }
}

void qz_plan_states(qz_graph *g, const qz_graph *other) {
    for (uint32_t i = 0; i < g->n_values; i++) {
        const qz_value *out = new_rows_of(g, g->values[i]);
        qz_value *same = out ? qz_find(other, out->name) : NULL;
        if (!same || !same->is_output || !qz_is_activation(same))
            continue;
        g->values[i]->is_state = true;
        same->is_state = true;
    }
}

static void set_narrow(qz_value *v) {
    if (v->set_bits)
        return;
    v->set_bits = 8;
    v->narrow = true;
}

void qz_plan_narrow_states(qz_graph *g, const qz_graph *other) {
    for (uint32_t i = 0; i < g->n_values; i++) {
        const qz_value *v = g->values[i], *out = new_rows_of(g, v);
        qz_value *same = out ? qz_find(other, out->name) : NULL;
        bool grows = v->reader && qz_is(v->reader, "Concat"); // else errors would go round
        if (!grows || !same || !same->is_output || !qz_is_activation(same))
            continue;
        set_narrow(g->values[i]);
        set_narrow(same);
    }
}

// --- rules of ops

static void fix(const qz_graph *g, const ox_node *n) {
    qz_value *v = n->n_out ? qz_find(g, n->out[0]) : NULL;
    if (!v || !qz_is_activation(v))
        return;
    if (qz_is(n, "Sigmoid") || qz_is(n, "HardSigmoid")) { // scale 2^-bits is the HTP's own
        v->fixed = v->open = true;
        v->high = 1;
    } else if (qz_is(n, "Tanh")) {
        v->fixed = v->open = true;
        v->low = -1;
        v->high = 1;
    } else if (qz_is(n, "Softmax")) {
        v->fixed = true;
        v->high = 1;
    }
}

// A Relu or Clip behind one of these is part of it: what is between has no encoding of its own.
static void fuse_clips(const qz_graph *g, const ox_node *n) {
    static const char *const makers[] = {"Conv",   "ConvTranspose", "Gemm",
                                         "MatMul", "Add",           "BatchNormalization"};
    qz_value *x = n->n_in ? qz_find(g, n->in[0]) : NULL;
    if ((!qz_is(n, "Relu") && !qz_is(n, "Clip")) || !x || x->n_uses != 1 || x->is_output ||
        x->given)
        return;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (qz_is(x->maker, makers[i]))
            x->fused = true;
}

void qz_plan_fused(qz_graph *g) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_nodes; i++)
        fuse_clips(g, &og->nodes[i]);
}

static void note_constants(qz_graph *g) {
    for (uint32_t i = 0; i < g->n_values; i++) {
        qz_value *v = g->values[i];
        if (!qz_is_float_constant(v) || v->stats.n)
            continue;
        const char *p = v->data; // may be unaligned
        for (size_t at = 0, left = qz_count(v), n; left; left -= n, at += n) {
            float x[1024];
            n = left < 1024 ? left : 1024;
            memcpy(x, p + at * sizeof *x, n * sizeof *x);
            qz_stats_add(&v->stats, x, n);
        }
    }
}

qrn_status qz_plan_shares(qz_graph *g, const qz_scheme *scheme) {
    const ox_graph *og = g->model->graph;
    note_constants(g);
    for (uint32_t i = 0; i < og->n_nodes; i++)
        fix(g, &og->nodes[i]);
    qz_plan_fused(g);
    for (uint32_t i = 0; i < og->n_nodes; i++)
        if (!qz_is(&og->nodes[i], "Concat"))
            share_moved(g, &og->nodes[i]);
    share_states(g);
    for (uint32_t i = 0; i < og->n_nodes; i++)
        if (qz_is(&og->nodes[i], "Concat"))
            share_concat(g, &og->nodes[i]);
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        qz_value *b = n->n_in > 1 ? qz_find(g, n->in[1]) : NULL;
        if (qz_is(n, "MatMul") && b && qz_is_activation(b) &&
            qz_bits_of(qz_first(b), scheme->act_bits) == 16)
            qz_first(b)->symmetric = true;
    }
    return QRN_OK;
}

// --- masks

// The node behind those that only move data.
static const ox_node *origin(const qz_graph *g, const qz_value *v) {
    const ox_node *n = v->maker;
    for (int hop = 0; n && qz_moves(n, 0) && hop < 64; hop++) {
        const qz_value *x = qz_find(g, n->in[0]);
        n = x ? x->maker : NULL;
    }
    return n;
}

// The least value; statistics have the least finite one, and masked values may all be -infinity.
static double least(const qz_stats *t) {
    return t->n_masked && t->min > QZ_MASKED ? -INFINITY : t->min;
}

// Below this, a score has no probability: the least maximum of a row, less a margin that leaves all
// the others in a row nothing, too. 16 bits hold whole ranges, so there only masks are cut.
static bool lowest_score(const qz_value *x, const qz_value *s, unsigned bits, double *low) {
    const qz_stats *t = &s->stats;
    bool peaks = bits == 8 && x->row && isfinite(t->peak);
    if (!peaks && (!t->n_masked || !isfinite(t->above)))
        return false;
    *low = peaks ? t->peak - PEAK_MARGIN - log(x->row) : t->above - MASK_MARGIN;
    return *low > least(t);
}

static void end_at(qz_value *v, double low) {
    v->low = v->fixed && v->low < low ? v->low : low; // another Softmax may need more
    v->high = v->stats.max;
    v->fixed = true;
}

// Numbers of a value below `low` do not matter to the only op that reads it; nor do those behind a
// constant factor.
static void end_scores(const qz_graph *g, qz_value *v, double low) {
    for (int hop = 0; v && hop < 4; hop++) {
        qz_value *f = qz_first(v);
        if (!qz_is_activation(v) || v->n_uses != 1 || v->is_output || f->fixed || f->shared ||
            f->given || low >= 0)
            return;
        if (low > f->stats.min)
            end_at(f, low);
        const ox_node *n = v->maker;
        bool mul = qz_is(n, "Mul"), div = qz_is(n, "Div");
        uint32_t side = mul && n->n_in == 2 && qz_is_float_constant(qz_find(g, n->in[0])) ? 0 : 1;
        const qz_value *k = (mul || div) && n->n_in == 2 ? qz_find(g, n->in[side]) : NULL;
        if (!k || !qz_is_float_constant(k) || qz_count(k) != 1 || k->stats.max <= 0)
            return;
        low = mul ? low / k->stats.max : low * k->stats.max;
        v = qz_find(g, n->in[1 - side]);
    }
}

// Is a value, 0 or less, only added to others?
static bool is_mask(const qz_graph *g, const qz_value *v) {
    const ox_graph *og = g->model->graph;
    if (v->stats.max > 0 || v->is_output)
        return false;
    for (uint32_t i = 0; i < og->n_nodes; i++)
        for (uint32_t k = 0; k < og->nodes[i].n_in; k++)
            if (strcmp(og->nodes[i].in[k], v->name) == 0 && !qz_is(&og->nodes[i], "Add"))
                return false;
    return true;
}

// Very low numbers in front of a Softmax stand for "not at all". Ranges that reach them leave no
// steps for the scores, so both end where the probability is 0 in any case.
static void clamp_scores(const qz_graph *g, const ox_node *softmax, const qz_scheme *scheme) {
    qz_value *x = qz_find(g, softmax->in[0]);
    qz_value *s = x ? qz_first(x) : NULL;
    double low;
    bool others = x && (x->n_uses != 1 || x->is_output); // who may look at low scores
    if (!s || !qz_is_activation(x) || s->fixed || (others && !s->stats.n_masked) ||
        !lowest_score(x, s, qz_bits_of(s, scheme->act_bits), &low))
        return;
    const ox_node *n = origin(g, x);
    bool select = qz_is(n, "Where"), sum = qz_is(n, "Add") && n->n_in == 2;
    for (uint32_t i = 0; n && (sum || select) && i < n->n_in; i++) {
        qz_value *v = qz_find(g, n->in[i]);
        qz_value *m = v && can_share(v) ? qz_first(v) : NULL;
        qz_value *other = sum ? qz_find(g, n->in[1 - i]) : NULL;
        if (!m || m == s || (sum && (!other || !can_share(other))))
            continue;
        // Where the other operand of a sum is largest.
        double need = select ? low : low - qz_first(other)->stats.max;
        bool mask = m->stats.n_masked || (sum && is_mask(g, v));
        if (mask && need < m->stats.max && need > least(&m->stats))
            end_at(m, need);
        else if (sum && !mask)
            end_scores(g, v, need);
    }
    if (!sum && !select)
        end_scores(g, x, low);
    if (!s->fixed)
        end_at(s, low);
}

// --- encodings

static void choose_range(qz_value *v, const qz_scheme *scheme, unsigned bits) {
    v->low = v->stats.min;
    v->high = v->stats.max;
    if (scheme->method == QZ_PERCENTILE)
        qz_stats_percentile(&v->stats, scheme->tail, &v->low, &v->high);
    else if (scheme->method == QZ_LEAST_ERROR)
        qz_stats_least_error(&v->stats, bits, &v->low, &v->high);
    else if (scheme->method == QZ_SQNR)
        qz_stats_best_sqnr(&v->stats, bits, &v->low, &v->high);
    else if (scheme->method == QZ_ENTROPY)
        qz_stats_entropy(&v->stats, bits, &v->low, &v->high);
    if (bits == 16 && scheme->method == QZ_MINMAX && !v->data) {
        v->low *= HEADROOM;
        v->high *= HEADROOM;
    }
}

qz_enc qz_encode(const qz_value *v, unsigned bits, bool symmetric) {
    double low = v->low < 0 ? v->low : 0, high = v->high > 0 ? v->high : 0;
    double steps = ldexp(1, (int)bits) - 1;
    if (high - low < 1e-7) // constant zero, or as good as
        high = low + 1e-4;
    if (symmetric) {
        double most = high > -low ? high : -low;
        double half = bits == 16 ? MOST_16 : ldexp(1, (int)bits - 1) - 1;
        return (qz_enc){bits, (float)(most / half), 1 << (bits - 1)};
    }
    float scale = (float)((high - low) / (v->fixed && v->open ? steps + 1 : steps));
    return (qz_enc){bits, scale, (int32_t)lrint(-low / (double)scale)};
}

// A value that is the first of those that share.
static void choose_encoding(const qz_graph *g, qz_value *v, const qz_scheme *scheme) {
    unsigned bits = qz_bits_of(v, scheme->act_bits);
    if (v->given && v->given->n == 1) {
        v->low = qz_encoding_min(v->given, 0);
        v->high = qz_encoding_max(v->given, 0);
        v->enc = (qz_enc){v->given->bits, v->given->scales[0], -v->given->offsets[0]};
        return;
    }
    if ((!v->fixed && !v->stats.n) || (scheme->only_given && !v->data))
        return;
    if (!v->fixed)
        choose_range(v, scheme, bits);
    if (!v->fixed && scheme->useful_ranges && !v->shared)
        qz_useful_range(g, v, bits, &v->low, &v->high);
    v->enc = qz_encode(v, bits, v->symmetric || (scheme->symmetric && !v->fixed));
}

// --- float16 islands

// How far the middle value is above the error of rounding, in dB.
static double middle_db(const qz_value *v) {
    double middle = qz_stats_middle(&v->stats);
    return middle > 0 ? 20 * log10(middle * sqrt(12) / (double)v->enc.scale) : INFINITY;
}

// A few huge numbers leave too few steps to the others, and float16 holds both.
static void choose_floats(qz_graph *g, const qz_scheme *scheme) {
    for (uint32_t i = 0; i < g->n_values; i++) {
        qz_value *v = g->values[i];
        bool reaches = v->low > -FP16_REACH && v->high < FP16_REACH;
        bool log = v->enc.bits && qz_feeds_log(g, v, (double)v->enc.scale);
        bool free = !v->fixed && (!v->set_bits || v->may_float) && !v->data;
        v->kept_float = !v->like && free && reaches &&
                        (log || (v->enc.bits == 16 && middle_db(v) < scheme->float_below_db));
    }
    for (uint32_t i = 0; i < g->n_values; i++) { // what is stored outside keeps its encoding
        qz_value *v = g->values[i];
        if (v->is_input || v->is_output || v->data)
            qz_first(v)->kept_float = false;
    }
    for (uint32_t i = 0; i < g->n_values; i++)
        g->values[i]->kept_float |= qz_first(g->values[i])->kept_float;
}

// A constant that only floats meet needs no encoding, which might not hold it.
static void keep_constants(const qz_graph *g, const ox_node *n) {
    for (uint32_t k = 0; k < n->n_in; k++) {
        qz_value *v = qz_find(g, n->in[k]);
        if (v && v->n_uses == 1 && !v->shared && !v->like && !v->given && qz_is_float_constant(v) &&
            qz_role_of(g, n, k) == QZ_ROLE_OPERAND)
            v->enc = (qz_enc){0};
    }
}

// No op has both floats and integers: a result of both is a float too, up to the next op that has
// one operand.
static void spread_floats(const qz_graph *g) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        bool floats = false, integers = false;
        for (uint32_t k = 0; k < n->n_in; k++) {
            const qz_value *v = qz_find(g, n->in[k]);
            bool counts = v && qz_is_activation(v);
            floats |= counts && !v->enc.bits;
            integers |= counts && v->enc.bits;
        }
        for (uint32_t k = 0; k < n->n_out && floats && integers; k++) {
            qz_value *v = qz_find(g, n->out[k]);
            if (v && qz_is_activation(v))
                v->enc = (qz_enc){0};
        }
        if (floats && !integers)
            keep_constants(g, n);
    }
}

static bool stays_float(const qz_value *v) {
    return !can_share(v) || v->kept_float || v->must_float || v->fused;
}

void qz_plan_float(qz_graph *g, const char *node) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_nodes; i++)
        for (uint32_t k = 0; strcmp(og->nodes[i].name, node) == 0 && k < og->nodes[i].n_out; k++) {
            qz_value *v = qz_find(g, og->nodes[i].out[k]);
            if (v)
                v->must_float = true;
        }
}

qrn_status qz_plan_encodings(qz_graph *g, const qz_scheme *scheme) {
    const ox_graph *og = g->model->graph;
    if (!scheme->act_bits)
        return QRN_OK; // weights alone
    for (uint32_t i = 0; i < og->n_nodes; i++)
        if (qz_is(&og->nodes[i], "Softmax"))
            clamp_scores(g, &og->nodes[i], scheme);
    for (uint32_t i = 0; i < g->n_values; i++) {
        qz_value *v = g->values[i];
        if (!v->like && can_share(v))
            choose_encoding(g, v, scheme);
    }
    qz_align_sums(g, scheme);
    if (scheme->float_below_db > 0)
        choose_floats(g, scheme);
    for (uint32_t i = 0; i < g->n_values; i++) // the first of a group keeps its own until the end
        if (g->values[i]->like)
            g->values[i]->enc = qz_first(g->values[i])->enc;
    for (uint32_t i = 0; i < g->n_values; i++)
        if (stays_float(g->values[i]))
            g->values[i]->enc = (qz_enc){0};
    spread_floats(g);
    return QRN_OK;
}
