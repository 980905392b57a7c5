// SPDX-License-Identifier: MIT
//
// Folding. A node that computes a * x + b for each channel goes into the layer that makes x
// (exact), or into the one that reads its result: exact where b is 0 or nothing is padded.
#include "quantizer/fold.h"

#include "base/mem.h"
#include "quantizer/layer.h"

#include <math.h>
#include <string.h>

static bool is(const ox_node *n, const char *op) {
    return n && n->op && n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

// --- hard swishes

static bool is_number(const qz_edit *e, const char *name, double want) {
    double x;
    return qz_edit_number(e, name, &x) && fabs(x - want) <= 1e-5 * fabs(want);
}

// The other operand of a sum or product with a number; NULL: it is none.
static const char *beside(const qz_edit *e, const ox_node *n, double number) {
    for (uint32_t i = 0; n && n->n_in == 2 && i < 2; i++)
        if (is_number(e, n->in[i], number))
            return n->in[1 - i];
    return NULL;
}

// x of clip(x + 3, 0, 6).
static const char *clipped(const qz_edit *e, const char *name) {
    const ox_node *clip = qz_edit_made_by(e, name, "Clip");
    double low = 1, high = 0;
    if (!clip || clip->n_in != 3 || !qz_edit_number(e, clip->in[1], &low) ||
        !qz_edit_number(e, clip->in[2], &high) || low != 0 || high != 6)
        return NULL;
    return beside(e, qz_edit_made_by(e, clip->in[0], "Add"), 3);
}

// y of y / 6.
static const char *sixth(const qz_edit *e, const ox_node *n) {
    if (is(n, "Div") && n->n_in == 2 && is_number(e, n->in[1], 6))
        return n->in[0];
    return is(n, "Mul") ? beside(e, n, 1.0 / 6) : NULL;
}

// x of a hard sigmoid, written out or not.
static const char *gate(const qz_edit *e, const char *name) {
    const qz_wire *w = qz_edit_wire(e, name);
    const ox_node *n = w && w->n_uses == 1 ? w->maker : NULL;
    if (is(n, "HardSigmoid") && fabs((double)ox_attr_float(n, "alpha", 0.2f) - 1.0 / 6) < 1e-6 &&
        ox_attr_float(n, "beta", 0.5f) == 0.5f)
        return n->in[0];
    const char *y = n ? sixth(e, n) : NULL;
    return y ? clipped(e, y) : NULL;
}

// The x of x * f(x), f by a function.
static const char *times_itself(const qz_edit *e, const ox_node *mul,
                                const char *(*f)(const qz_edit *, const char *)) {
    for (uint32_t i = 0; is(mul, "Mul") && mul->n_in == 2 && i < 2; i++) {
        const char *x = f(e, mul->in[i]);
        if (x && strcmp(x, mul->in[1 - i]) == 0)
            return x;
    }
    return NULL;
}

static qrn_status fold_swish(qz_edit *e, ox_node *n, qz_folded *out) {
    static const ox_attr sigmoid[] = {
        {.name = "alpha", .type = OX_ATTR_FLOAT, .f = (float)(1.0 / 6)},
        {.name = "beta", .type = OX_ATTR_FLOAT, .f = 0.5f}};
    const char *x = times_itself(e, n, gate), *y = x ? NULL : sixth(e, n);
    if (!x && y)
        x = times_itself(e, qz_edit_made_by(e, y, "Mul"), clipped);
    if (x) {
        out->n_swishes++;
        return qz_edit_become(e, n, "HardSwish", x);
    }
    x = y ? clipped(e, y) : NULL;
    const qz_wire *w = x ? qz_edit_wire(e, n->out[0]) : NULL;
    bool swish = w && w->n_uses == 1 && times_itself(e, w->reader, gate);
    if (!x || swish) // the Mul behind it will find it
        return QRN_OK;
    out->n_swishes++;
    QRN_TRY(qz_edit_become(e, n, "HardSigmoid", x));
    n->attrs = sigmoid;
    n->n_attrs = 2;
    return QRN_OK;
}

// --- layer norms with a Transpose between the difference and the squares

// The axis of a ReduceMean that keeps its dimensions; -1: none, or not of that form.
static int64_t mean_axis(const ox_node *n, int64_t rank) {
    int64_t axes[OX_MAX_RANK];
    if (n->n_in != 1 || ox_attr_int(n, "keepdims", 1) != 1 ||
        ox_attr_ints(n, "axes", axes, OX_MAX_RANK) != 1)
        return -1;
    return axes[0] < 0 ? axes[0] + rank : axes[0];
}

static const char **names(qz_edit *e, const char *a, const char *b) {
    const char **list = qrn_arena_alloc(e->model->arena, 2 * sizeof *list);
    if (list) {
        list[0] = a;
        list[1] = b;
    }
    return list;
}

// Transpose(x - mean(x)) becomes t - mean(t) of t = Transpose(x), whose mean is over the last
// dimension: a norm that the importer makes one op of.
static qrn_status move_transpose(qz_edit *e, ox_node *t, qz_folded *out) {
    static const int64_t last[] = {-1};
    static const ox_attr mean_attrs[] = {
        {.name = "axes", .type = OX_ATTR_INTS, .ints = last, .n = 1},
        {.name = "keepdims", .type = OX_ATTR_INT, .i = 1}};
    int64_t perm[OX_MAX_RANK];
    uint32_t rank = is(t, "Transpose") ? ox_attr_ints(t, "perm", perm, OX_MAX_RANK) : 0;
    ox_node *sub = rank ? qz_edit_made_by(e, t->in[0], "Sub") : NULL;
    ox_node *mean = sub ? qz_edit_made_by(e, sub->in[1], "ReduceMean") : NULL;
    if (!mean || rank > OX_MAX_RANK || strcmp(mean->in[0], sub->in[0]) != 0 ||
        mean_axis(mean, rank) != perm[rank - 1] || !(mean < sub && sub < t))
        return QRN_OK;
    qz_wire *a, *b, *x = qz_edit_wire(e, sub->in[0]);
    const char *moved = qz_edit_name(e, t->out[0], &a), *middle = qz_edit_name(e, t->out[0], &b);
    const char **in_mean = names(e, moved, ""), **in_sub = names(e, moved, middle);
    const char **out_t = names(e, moved, ""), **out_mean = names(e, middle, "");
    if (!moved || !middle || !in_mean || !in_sub || !out_t || !out_mean)
        return QRN_FAIL(QRN_E_MEM, "out of memory for folding");
    const ox_node first = *mean, second = *sub, third = *t;
    // In the same three places: what makes a value stands before what reads it.
    *mean = (ox_node){third.name, third.op, "", NULL,        first.in,
                      out_t,      1,        1,  third.attrs, third.n_attrs};
    *sub = (ox_node){first.name, first.op, "", NULL, in_mean, out_mean, 1, 1, mean_attrs, 2};
    *t = (ox_node){second.name, second.op, "", NULL, in_sub, third.out, 2, 1, NULL, 0};
    *a = (qz_wire){.maker = mean, .reader = t, .n_uses = 2};
    *b = (qz_wire){.maker = sub, .reader = t, .n_uses = 1};
    x->n_uses--;
    x->reader = x->reader == sub ? mean : x->reader;
    out->n_moved++;
    return QRN_OK;
}

// --- a * x + b

typedef struct affine {
    double *a, *b;    // of each channel
    const char *x;    // the operand that is no constant
    bool shifts;      // b is not 0
    bool uniform;     // a is the same for all channels
    uint32_t n, rank; // channels; dimensions of x
    bool last;        // channels are the last dimension, not the second
} affine;

static bool norm_of(const qz_edit *e, const ox_node *n, affine *f) {
    const ox_tensor *t[4];
    double epsilon = (double)ox_attr_float(n, "epsilon", 1e-5f);
    if (n->n_in != 5 || f->last || ox_attr_int(n, "training_mode", 0))
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        t[i] = qz_edit_floats(e, n->in[i + 1]);
        if (!t[i] || qz_tensor_count(t[i]) != f->n)
            return false;
    }
    for (uint32_t c = 0; c < f->n; c++) {
        f->a[c] = (double)qz_tensor_at(t[0], c) / sqrt((double)qz_tensor_at(t[3], c) + epsilon);
        f->b[c] = (double)qz_tensor_at(t[1], c) - (double)qz_tensor_at(t[2], c) * f->a[c];
    }
    f->x = n->in[0];
    return true;
}

static bool factor_of(const qz_edit *e, const ox_node *n, affine *f) {
    bool mul = is(n, "Mul"), div = is(n, "Div"), add = is(n, "Add"), sub = is(n, "Sub");
    if ((!mul && !div && !add && !sub) || n->n_in != 2)
        return false;
    uint32_t side = qz_edit_floats(e, n->in[1]) ? 1 : 0;
    const ox_tensor *t = qz_edit_floats(e, n->in[side]);
    if (!t || (div && side == 0) || !qz_per_channel(t, f->rank, f->n, f->last) ||
        qz_edit_floats(e, n->in[1 - side]))
        return false;
    for (uint32_t c = 0; c < f->n; c++) {
        double k = (double)qz_tensor_at(t, qz_tensor_count(t) == 1 ? 0 : c);
        f->a[c] = mul ? k : div ? 1 / k : sub && side == 0 ? -1 : 1;
        f->b[c] = add ? k : sub ? (side == 0 ? k : -k) : 0;
    }
    f->x = n->in[1 - side];
    return true;
}

static bool affine_of(const qz_edit *e, const ox_node *n, affine *f) {
    if (!(is(n, "BatchNormalization") ? norm_of(e, n, f) : factor_of(e, n, f)))
        return false;
    f->shifts = false;
    f->uniform = true;
    for (uint32_t c = 0; c < f->n; c++) {
        f->shifts |= f->b[c] != 0;
        f->uniform &= f->a[c] == f->a[0];
        if (!isfinite(f->a[c]) || !isfinite(f->b[c]))
            return false;
    }
    return true;
}

// Room for the channels of a layer's outputs, or inputs.
static bool make(affine *f, const qz_layer *l, bool outputs) {
    bool conv = l->kind == QZ_CONV || l->kind == QZ_CONV_TRANSPOSE;
    *f = (affine){.n = outputs ? l->n_out : l->n_in,
                  .rank = conv                 ? l->weight->rank
                          : l->kind == QZ_GEMM ? 2
                                               : 1,
                  .last = !conv};
    f->a = qrn_calloc(2 * (size_t)f->n * sizeof *f->a);
    f->b = f->a ? f->a + f->n : NULL;
    return f->a;
}

static void count(const ox_node *n, qz_folded *out) {
    if (is(n, "BatchNormalization"))
        out->n_norms++;
    else
        out->n_factors++;
}

// The node's other outputs (of an old BatchNormalization) are not asked for.
static bool one_output(const ox_node *n) {
    for (uint32_t i = 1; i < n->n_out; i++)
        if (n->out[i][0])
            return false;
    return n->n_out > 0;
}

// Into the layer that makes x.
static qrn_status fold_back(qz_edit *e, ox_node *n, qz_folded *out) {
    for (uint32_t i = 0; i < n->n_in && i < 2; i++) {
        const qz_wire *w = qz_edit_wire(e, n->in[i]);
        qz_layer l;
        affine f;
        if (!w || w->n_uses != 1 || !w->maker || !one_output(n) || !qz_layer_of(e, w->maker, &l))
            continue;
        if (!make(&f, &l, true))
            return QRN_FAIL(QRN_E_MEM, "out of memory for folding");
        bool fits = affine_of(e, n, &f) && strcmp(f.x, n->in[i]) == 0 &&
                    (!f.shifts || qz_layer_takes_bias(&l));
        qrn_status s = QRN_OK;
        if (fits) {
            count(n, out);
            s = qz_layer_absorb(e, &l,
                                &(qz_affine){.out = f.a, .out_shift = f.shifts ? f.b : NULL});
            if (s == QRN_OK)
                qz_edit_replace(e, n, l.node);
        }
        qrn_free(f.a);
        return s;
    }
    return QRN_OK;
}

// The layer that alone reads a node's result as its data.
static bool reader_of(const qz_edit *e, const ox_node *n, qz_layer *l) {
    const qz_wire *w = n->n_out ? qz_edit_wire(e, n->out[0]) : NULL;
    return w && w->n_uses == 1 && !w->is_output && w->reader && w->reader->op &&
           strcmp(w->reader->in[0], n->out[0]) == 0 && qz_layer_of(e, w->reader, l);
}

// s * x + b in front of padding: s goes into the layer, the sum adds b / s.
static qrn_status fold_under_sum(qz_edit *e, ox_node *n, qz_folded *out) {
    const qz_wire *w = n->n_out ? qz_edit_wire(e, n->out[0]) : NULL;
    ox_node *sum = w && w->n_uses == 1 && !w->is_output ? w->reader : NULL;
    qz_layer l;
    affine f, g;
    if (!is(sum, "Add") || !reader_of(e, sum, &l))
        return QRN_OK;
    if (!make(&f, &l, false))
        return QRN_FAIL(QRN_E_MEM, "out of memory for folding");
    g = f;
    bool fits =
        affine_of(e, sum, &g) && affine_of(e, n, &f) && f.uniform && !f.shifts && f.a[0] != 0;
    qrn_status s = QRN_OK;
    if (fits) {
        uint32_t side = strcmp(sum->in[0], n->out[0]) == 0 ? 1 : 0;
        const ox_tensor *t = qz_edit_floats(e, sum->in[side]);
        float *k = qz_edit_alloc(e, t->rank, t->dims);
        if (!k)
            s = QRN_FAIL(QRN_E_MEM, "out of memory for folding");
        for (size_t i = 0; k && i < qz_tensor_count(t); i++)
            k[i] = (float)((double)qz_tensor_at(t, i) / f.a[0]);
        if (s == QRN_OK)
            s = qz_layer_absorb(e, &l, &(qz_affine){.in = f.a});
        if (s == QRN_OK)
            s = qz_edit_put(e, sum, side, t->rank, t->dims, k);
        count(n, out);
        if (s == QRN_OK)
            s = qz_edit_connect(e, sum, 1 - side, f.x);
    }
    qrn_free(f.a);
    return s;
}

// Into the layer that reads its result.
static qrn_status fold_on(qz_edit *e, ox_node *n, qz_folded *out) {
    qz_layer l;
    affine f;
    if (!one_output(n))
        return QRN_OK;
    if (!reader_of(e, n, &l))
        return fold_under_sum(e, n, out);
    bool conv = l.kind == QZ_CONV || l.kind == QZ_CONV_TRANSPOSE;
    if (!conv && !is(n, "BatchNormalization")) // it may be gamma or beta of a norm: one op so far
        return QRN_OK;
    if (!make(&f, &l, false))
        return QRN_FAIL(QRN_E_MEM, "out of memory for folding");
    qrn_status s = QRN_OK;
    if (affine_of(e, n, &f) && (!f.shifts || (!qz_layer_pads(&l) && qz_layer_takes_bias(&l)))) {
        count(n, out);
        s = qz_layer_absorb(e, &l, &(qz_affine){.in = f.a, .in_shift = f.shifts ? f.b : NULL});
        if (s == QRN_OK)
            s = qz_edit_connect(e, l.node, 0, f.x);
    }
    qrn_free(f.a);
    return s;
}

qrn_status qz_fold(ox_model *m, qz_folded *out) {
    static qrn_status (*const passes[])(qz_edit *, ox_node *, qz_folded *) = {
        fold_swish, fold_back, fold_on, move_transpose};
    qz_edit e;
    qrn_status s = QRN_OK;
    *out = (qz_folded){0};
    QRN_TRY(qz_edit_begin(&e, m));
    for (size_t p = 0; p < sizeof passes / sizeof passes[0]; p++)
        for (uint32_t k = 0; k < e.n_nodes && s == QRN_OK; k++) {
            uint32_t i = p == 2 ? e.n_nodes - 1 - k : k; // the last in front of a layer first
            if (e.nodes[i].op)
                s = passes[p](&e, &e.nodes[i], out);
        }
    qz_edit_end(&e);
    return s;
}

qrn_status qz_add_biases(ox_model *m) {
    qz_edit e;
    qrn_status s = QRN_OK;
    QRN_TRY(qz_edit_begin(&e, m));
    for (uint32_t i = 0; i < e.n_nodes && s == QRN_OK; i++) {
        qz_layer l;
        if (!qz_layer_of(&e, &e.nodes[i], &l) || l.bias || !qz_layer_takes_bias(&l))
            continue;
        const uint64_t dims[1] = {l.n_out};
        const float *zeros = qz_edit_alloc(&e, 1, dims);
        s = zeros ? qz_edit_put(&e, l.node, 2, 1, dims, zeros)
                  : QRN_FAIL(QRN_E_MEM, "out of memory for a bias");
    }
    qz_edit_end(&e);
    return s;
}
