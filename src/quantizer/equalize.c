// SPDX-License-Identifier: MIT
//
// Equalization.
//
// With factors s, tensor x becomes x / s and the weights W s. Rounding x in steps of D makes an
// expected squared error of D^2 / 12 sum (W s)^2 in the results, rounding the weights of result k
// in steps of d_k one of d_k^2 / 12 sum E[x^2] / s^2. Both are known from the weights and the
// statistics of channels, so candidates s = range^a / weight^b are compared by their sum.
#include "quantizer/equalize.h"

#include "base/mem.h"
#include "quantizer/tree.h"

#include <math.h>
#include <string.h>

#define LEAST_RANGE (1.0 / 64) // of a channel, of the widest one's: it may be wider on other data
#define LEAST_GAIN 0.9         // of the expected error: less is not worth a change

// --- statistics

static qrn_status watch(qz_graph *g, const char *name, bool matrix) {
    qz_value *v = qz_find(g, name);
    if (!v || !qz_is_activation(v) || v->channels || v->rank < 2)
        return QRN_OK;
    qz_channels *c = qrn_arena_alloc(g->arena, sizeof *c);
    if (!c)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a tensor's channels");
    QRN_TRY(qz_channels_init(c, v->rank, v->dims, matrix ? v->rank - 1 : 1));
    v->channels = c;
    return QRN_OK;
}

qrn_status qz_equalize_watch(void *unused, qz_graph *g) {
    const ox_graph *og = g->model->graph;
    (void)unused;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        if (n->n_in < 2 || n->n_out < 1 || qz_role_of(g, n, 1) != QZ_ROLE_WEIGHT)
            continue;
        bool matrix = qz_is(n, "MatMul") || qz_is(n, "Gemm");
        QRN_TRY(watch(g, n->in[0], matrix));
        QRN_TRY(watch(g, n->out[0], matrix));
    }
    return QRN_OK;
}

// --- the expected error

typedef struct problem {
    const qz_tree *t;
    const qz_equalizing *how;
    double *factors; // [channels], those that are tried
    double *best;    // [channels]
    double *range;   // [channels], the widest 1
    double *weight;  // [channels], the largest 1
    double *squares; // [channels]: sum of squared weights of all readers
    float **largest; // of each reader: [n_out][n_in / group], largest weight of a pair
    double *means;   // [n_readers][channels]: mean squares of what is read
} problem;

static bool has_channels(const problem *p, const qz_value *v) {
    return v && v->channels && v->channels->n == p->t->channels && v->channels->of[0].n;
}

// Is a value rounded? Not in front of a Relu, which is part of the layer.
static bool is_rounded(const problem *p, const qz_value *v) {
    return has_channels(p, v) && !(v->n_uses == 1 && qz_is(v->reader, "Relu"));
}

static double step_of(const problem *p, const qz_value *v) {
    double low = 0, high = 0;
    for (uint32_t j = 0; j < p->t->channels; j++) {
        const qz_channel *c = &v->channels->of[j];
        low = fmin(low, c->min / p->factors[j]);
        high = fmax(high, c->max / p->factors[j]);
    }
    return (high - low) / (ldexp(1, (int)p->how->act_bits) - 1);
}

static double weight_error(const problem *p, uint32_t reader) {
    const qz_layer *l = &p->t->readers[reader];
    uint32_t part = l->n_in / l->group;
    double half = ldexp(1, (int)p->how->weight_bits - 1) - 1, sum = 0;
    for (uint32_t k = 0; k < l->n_out; k++) {
        uint32_t first = k / (l->n_out / l->group) * part;
        double most = 0, energy = 0;
        for (uint32_t j = 0; j < part; j++) {
            double s = p->factors[first + j];
            most = fmax(most, (double)p->largest[reader][(size_t)k * part + j] * s);
            energy += p->means[(size_t)reader * p->t->channels + first + j] / (s * s);
        }
        sum += most * most / (half * half) / 12 * energy * (double)l->inner;
    }
    return sum;
}

static double error_of(const problem *p) {
    double steps = 0, gain = 0, sum = 0;
    for (uint32_t i = 0; p->how->act_bits && i < p->t->n_values; i++)
        if (is_rounded(p, p->t->values[i])) {
            double d = step_of(p, p->t->values[i]);
            steps += d * d;
        }
    for (uint32_t j = 0; j < p->t->channels; j++)
        gain += p->squares[j] * p->factors[j] * p->factors[j];
    sum = steps / 12 * gain;
    for (uint32_t i = 0; i < p->t->n_readers; i++)
        sum += weight_error(p, i);
    return sum;
}

// --- choosing factors

static qrn_status make(problem *p) {
    const qz_tree *t = p->t;
    size_t n = t->channels;
    p->factors = qrn_calloc((5 + t->n_readers) * n * sizeof *p->factors);
    p->largest = qrn_calloc(t->n_readers * sizeof *p->largest);
    bool ok = p->factors && p->largest;
    for (uint32_t i = 0; ok && i < t->n_readers; i++) {
        const qz_layer *l = &t->readers[i];
        ok = (p->largest[i] = qrn_calloc((size_t)l->n_out * (l->n_in / l->group) * sizeof(float)));
    }
    if (!ok)
        return QRN_FAIL(QRN_E_MEM, "out of memory for equalizing");
    p->best = p->factors + n;
    p->range = p->best + n;
    p->weight = p->range + n;
    p->squares = p->weight + n;
    p->means = p->squares + n;
    return QRN_OK;
}

static void release(problem *p) {
    for (uint32_t i = 0; p->largest && i < p->t->n_readers; i++)
        qrn_free(p->largest[i]);
    qrn_free(p->largest);
    qrn_free(p->factors);
}

static void note_reader(problem *p, uint32_t reader) {
    const qz_layer *l = &p->t->readers[reader];
    uint32_t part = l->n_in / l->group;
    float *largest = p->largest[reader];
    for (size_t i = 0, count = qz_tensor_count(l->weight); i < count; i++) {
        uint32_t in = qz_layer_in(l, i);
        float w = fabsf(qz_tensor_at(l->weight, i));
        float *most = &largest[(size_t)qz_layer_out(l, i) * part + in % part];
        *most = w > *most ? w : *most;
        p->squares[in] += (double)w * (double)w;
    }
    for (uint32_t k = 0; k < l->n_out; k++) {
        uint32_t first = k / (l->n_out / l->group) * part;
        float most = 0;
        for (uint32_t j = 0; j < part; j++)
            most = fmaxf(most, largest[(size_t)k * part + j]);
        for (uint32_t j = 0; j < part && most > 0; j++)
            p->weight[first + j] =
                fmax(p->weight[first + j], (double)(largest[(size_t)k * part + j] / most));
    }
}

// False: not all that is needed was seen.
static bool note(problem *p) {
    const qz_tree *t = p->t;
    for (uint32_t i = 0; i < t->n_readers; i++) {
        const qz_value *x = qz_find(t->g, t->readers[i].node->in[0]);
        if (!has_channels(p, x))
            return false;
        for (uint32_t j = 0; j < t->channels; j++) {
            const qz_channel *c = &x->channels->of[j];
            p->means[(size_t)i * t->channels + j] = c->squares / (double)c->n;
        }
        note_reader(p, i);
    }
    for (uint32_t i = 0; i < t->n_values; i++) {
        const qz_value *v = t->values[i];
        double widest = 0;
        for (uint32_t j = 0; is_rounded(p, v) && j < t->channels; j++)
            widest = fmax(widest, fmax(v->channels->of[j].max, -v->channels->of[j].min));
        for (uint32_t j = 0; widest > 0 && j < t->channels; j++) {
            const qz_channel *c = &v->channels->of[j];
            p->range[j] = fmax(p->range[j], fmax(c->max, -c->min) / widest);
        }
    }
    return true;
}

static void try_factors(problem *p, double a, double b, double *least) {
    for (uint32_t j = 0; j < p->t->channels; j++) {
        double r = fmax(p->range[j], LEAST_RANGE), w = fmax(p->weight[j], LEAST_RANGE);
        p->factors[j] = pow(r, a) / pow(w, b);
    }
    double e = error_of(p);
    if (e < *least) {
        *least = e;
        memcpy(p->best, p->factors, p->t->channels * sizeof *p->best);
    }
}

// How much smaller the error gets, in dB; 0: not enough.
static double choose(problem *p) {
    double base = INFINITY;
    try_factors(p, 0, 0, &base);
    double least = base;
    for (int a = 0; a <= 4; a++)
        for (int b = 0; b <= 3; b++)
            try_factors(p, a / 4.0, b / 4.0, &least);
    return least < LEAST_GAIN * base && least > 0 ? 10 * log10(base / least) : 0;
}

// --- changing the model

// A constant with one number a channel, each divided by a factor.
static qrn_status divide(qz_edit *e, ox_node *n, uint32_t input, const double *by) {
    const ox_tensor *t = qz_edit_floats(e, n->in[input]);
    const ox_tensor old = *t;
    float *k = qz_edit_alloc(e, old.rank, old.dims);
    if (!k)
        return QRN_FAIL(QRN_E_MEM, "out of memory for equalizing");
    for (size_t i = 0, count = qz_tensor_count(&old); i < count; i++)
        k[i] = (float)((double)qz_tensor_at(&old, i) / by[i]);
    return qz_edit_put(e, n, input, old.rank, old.dims, k);
}

static qrn_status divide_source(qz_edit *e, ox_node *n, const double *by, uint32_t channels) {
    qz_layer l;
    if (qz_layer_of(e, n, &l)) {
        double *inverse = qrn_alloc(channels * sizeof *inverse);
        if (!inverse)
            return QRN_FAIL(QRN_E_MEM, "out of memory for equalizing");
        for (uint32_t j = 0; j < channels; j++)
            inverse[j] = 1 / by[j];
        qrn_status s = qz_layer_absorb(e, &l, &(qz_affine){.out = inverse});
        qrn_free(inverse);
        return s;
    }
    for (uint32_t i = 0; i < n->n_in && i < 3; i++) // gamma and beta, or the factor of a Mul
        if (qz_edit_floats(e, n->in[i]))
            QRN_TRY(divide(e, n, i, by));
    return QRN_OK;
}

static qrn_status apply(qz_edit *e, ox_node *source, qz_tree *t, const double *s) {
    QRN_TRY(divide_source(e, source, s, t->channels));
    for (uint32_t i = 0; i < t->n_terms; i++) {
        uint32_t side = qz_edit_floats(e, t->terms[i]->in[1]) ? 1 : 0;
        QRN_TRY(divide(e, t->terms[i], side, s));
    }
    for (uint32_t i = 0; i < t->n_readers; i++) {
        qz_layer l;
        if (qz_layer_of(e, t->readers[i].node, &l))
            QRN_TRY(qz_layer_absorb(e, &l, &(qz_affine){.in = s}));
    }
    return QRN_OK;
}

// Numbers that a channel never falls below go from the layer into the biases of its readers: what
// is left begins at 0, where ranges begin.
static qrn_status absorb(qz_edit *e, ox_node *source, const qz_tree *t, qz_equalized *out) {
    const qz_value *x = t->n_readers == 1 ? qz_find(t->g, t->readers[0].node->in[0]) : NULL;
    qz_layer from, to;
    if (!x || !x->channels || !t->only_relu || !t->n_steps || !qz_layer_of(e, source, &from) ||
        !qz_layer_of(e, t->readers[0].node, &to) || !qz_layer_takes_bias(&from) ||
        !qz_layer_takes_bias(&to) || qz_layer_pads(&to))
        return QRN_OK;
    double *c = qrn_calloc(2 * (size_t)t->channels * sizeof *c);
    bool any = false;
    if (!c)
        return QRN_FAIL(QRN_E_MEM, "out of memory for equalizing");
    for (uint32_t j = 0; j < t->channels; j++) {
        const qz_channel *k = &x->channels->of[j];
        double sure = k->min - 0.1 * (k->max - k->min); // on data that was not seen, too
        c[j] = sure > 0 ? sure : 0;
        c[t->channels + j] = -c[j];
        any |= sure > 0;
    }
    qrn_status s = QRN_OK;
    if (any) {
        out->n_absorbed++;
        s = qz_layer_absorb(e, &from, &(qz_affine){.out_shift = c + t->channels});
        if (s == QRN_OK)
            s = qz_layer_absorb(e, &to, &(qz_affine){.in_shift = c});
    }
    qrn_free(c);
    return s;
}

// --- all of it

// Channels of a node's result that constants of its own scale; 0: none.
static uint32_t source_of(const qz_edit *e, const qz_graph *g, ox_node *n, bool *norm, bool *last) {
    qz_layer l;
    const qz_value *y = n->n_out ? qz_find(g, n->out[0]) : NULL;
    *norm = false;
    if (qz_layer_of(e, n, &l)) {
        *last = l.kind == QZ_GEMM || l.kind == QZ_MATMUL;
        return l.n_out;
    }
    bool named = qz_is(n, "LayerNormalization") || qz_is(n, "RMSNormalization") ||
                 strcmp(n->op, "SimplifiedLayerNormalization") == 0;
    *norm = *last = true;
    if (!y || !y->rank || (!named && !qz_is(n, "Mul")) || n->n_in < 2)
        return 0;
    uint32_t channels = y->dims[y->rank - 1], constants = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_tensor *t = qz_edit_floats(e, n->in[i]);
        if (!t && (i > 0 ? named : false) && n->in[i][0])
            return 0;
        if (t && (qz_tensor_count(t) != channels || !qz_per_channel(t, y->rank, channels, true)))
            return 0;
        constants += t != NULL;
    }
    return constants ? channels : 0;
}

static qrn_status equalize(qz_edit *e, const qz_graph *g, ox_node *n, const qz_equalizing *how,
                           qz_equalized *out) {
    bool norm, last;
    qz_tree t = {.e = e, .g = g, .only_relu = true};
    t.channels = source_of(e, g, n, &norm, &last);
    if (t.channels < 2 || !(norm ? how->norms : how->layers || how->absorb) ||
        !qz_tree_grow(&t, n->out[0], last) || !t.n_readers)
        return QRN_OK;
    if (!norm && how->absorb)
        QRN_TRY(absorb(e, n, &t, out));
    problem p = {.t = &t, .how = how};
    qrn_status s = make(&p);
    double gain = s == QRN_OK && (norm || how->layers) && note(&p) ? choose(&p) : 0;
    if (gain > 0) {
        s = apply(e, n, &t, p.best);
        out->n_norms += norm;
        out->n_layers += !norm;
        out->gain_db += gain;
    }
    release(&p);
    return s;
}

qrn_status qz_equalize(ox_model *m, const qz_graph *g, const qz_equalizing *how,
                       qz_equalized *out) {
    qz_edit e;
    qrn_status s = QRN_OK;
    *out = (qz_equalized){0};
    QRN_TRY(qz_edit_begin(&e, m));
    for (uint32_t i = 0; i < e.n_nodes && s == QRN_OK; i++)
        s = equalize(&e, g, &e.nodes[i], how, out);
    qz_edit_end(&e);
    return s;
}
