// SPDX-License-Identifier: MIT
//
// Recurrent networks step by step: the matmul of all inputs with the weights at once, then for
// each step that of the state, the activations, and the choice between new and old state
// where sequences end before the last step.
#include "frontend/onnx/import/recurrent.h"

#include <string.h>
#include <strings.h>

#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE

// --- activations

enum {
    SIGMOID,
    TANH,
    RELU,
    AFFINE,
    LEAKY_RELU,
    THRESHOLDED_RELU,
    SCALED_TANH,
    HARD_SIGMOID,
    ELU,
    SOFTSIGN,
    SOFTPLUS,
    N_KINDS
};

static const struct {
    const char *name;
    float alpha, beta;
    uint32_t numbers; // that it takes from activation_alpha (1) and activation_beta (2)
} kinds[N_KINDS] = {
    [SIGMOID] = {"Sigmoid", 0, 0, 0},
    [TANH] = {"Tanh", 0, 0, 0},
    [RELU] = {"Relu", 0, 0, 0},
    [AFFINE] = {"Affine", 1, 0, 3},
    [LEAKY_RELU] = {"LeakyRelu", 0.01f, 0, 1},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0, 1},
    [SCALED_TANH] = {"ScaledTanh", 1, 1, 3},
    [HARD_SIGMOID] = {"HardSigmoid", 0.2f, 0.5f, 3},
    [ELU] = {"Elu", 1, 0, 1},
    [SOFTSIGN] = {"Softsign", 0, 0, 0},
    [SOFTPLUS] = {"Softplus", 0, 0, 0},
};

// The next number of a list of floats, for an activation that takes one.
static void next_number(const ox_node *n, const char *attr, uint32_t *at, float *out) {
    const ox_attr *a = ox_attr_find(n, attr);
    if (a && a->type == OX_ATTR_FLOATS && *at < a->n)
        *out = a->floats[(*at)++];
}

qrn_status ox_read_activations(ox_import *im, const ox_node *n, ox_recurrent *r, uint32_t count,
                               const char *const *defaults) {
    const ox_attr *list = ox_attr_find(n, "activations");
    uint32_t at_alpha = 0, at_beta = 0;
    // The list may name both directions where there is one: RNN's default does.
    if (list && (list->type != OX_ATTR_STRINGS ||
                 (list->n && list->n != count * r->directions && list->n != count * 2)))
        return ox_fail(im, n, QRN_E_SHAPE, "%u activations, expected %u", list->n,
                       count * r->directions);
    r->plain = r->clip == 0 && !r->input_forget;
    for (uint32_t i = 0; i < count * r->directions; i++) {
        const char *name = list && list->n ? list->strings[i] : defaults[i % count];
        ox_activation *a = &r->activations[i / count][i % count];
        for (a->kind = 0; a->kind < N_KINDS; a->kind++)
            if (strcasecmp(kinds[a->kind].name, name) == 0)
                break;
        if (a->kind == N_KINDS)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "activation '%s' is not known", name);
        a->alpha = kinds[a->kind].alpha;
        a->beta = kinds[a->kind].beta;
        if (kinds[a->kind].numbers & 1)
            next_number(n, "activation_alpha", &at_alpha, &a->alpha);
        if (kinds[a->kind].numbers & 2)
            next_number(n, "activation_beta", &at_beta, &a->beta);
        r->plain &= strcasecmp(defaults[i % count], name) == 0;
    }
    return QRN_OK;
}

static qc_tensor *clamp(ox_expr *e, qc_tensor *x, float low, float high) {
    if (!x)
        return NULL;
    qc_tensor *y = ox_result_like(e, x, x->rank, x->dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_RELU_MIN_MAX);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, low);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE, high);
    return ox_ended(e, &o, y);
}

// alpha * (exp(min(x, 0)) - 1) + max(x, 0)
static qc_tensor *elu(ox_expr *e, qc_tensor *x, float alpha) {
    qc_tensor *low = ox_with(e, QNN_OP_ELEMENT_WISE_MINIMUM, x, 0);
    low = ox_with(e, SUB, ox_unary(e, QNN_OP_ELEMENT_WISE_EXP, low), 1);
    low = ox_with(e, MUL, low, (double)alpha);
    return ox_binary(e, ADD, low, ox_unary(e, QNN_OP_RELU, x));
}

static qc_tensor *apply(ox_expr *e, const ox_activation *a, qc_tensor *x) {
    double alpha = (double)a->alpha, beta = (double)a->beta;
    qc_tensor *t;
    switch (a->kind) {
    case TANH:
        return ox_unary(e, QNN_OP_TANH, x);
    case RELU:
        return ox_unary(e, QNN_OP_RELU, x);
    case AFFINE:
        return ox_with(e, ADD, ox_with(e, MUL, x, alpha), beta);
    case LEAKY_RELU:
        t = ox_with(e, MUL, ox_with(e, QNN_OP_ELEMENT_WISE_MINIMUM, x, 0), alpha);
        return ox_binary(e, ADD, ox_unary(e, QNN_OP_RELU, x), t);
    case THRESHOLDED_RELU: {
        qc_tensor *limit = NULL, *zero = NULL;
        if (e->s == QRN_OK)
            e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, alpha, &limit);
        if (e->s == QRN_OK)
            e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, 0, &zero);
        return ox_select(e, ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, x, limit), x, zero);
    }
    case SCALED_TANH:
        return ox_with(e, MUL, ox_unary(e, QNN_OP_TANH, ox_with(e, MUL, x, beta)), alpha);
    case HARD_SIGMOID:
        return clamp(e, ox_with(e, ADD, ox_with(e, MUL, x, alpha), beta), 0, 1);
    case ELU:
        return elu(e, x, a->alpha);
    case SOFTSIGN:
        t = ox_with(e, ADD, ox_unary(e, QNN_OP_ELEMENT_WISE_ABS, x), 1);
        return ox_binary(e, DIV, x, t);
    case SOFTPLUS:
        return ox_softplus(e, x);
    case SIGMOID:
    default:
        return ox_unary(e, QNN_OP_SIGMOID, x);
    }
}

// --- cells

// What the steps of one direction share.
typedef struct cell {
    const ox_recurrent *r;
    const ox_activation *act;
    qc_tensor *rec;      // [gates * H, H]
    qc_tensor *rec_h;    // of a GRU: the block of the candidate state, [H, H]
    qc_tensor *rec_bias; // of a GRU with linear_before_reset: its bias [H]
    qc_tensor *peep[3];  // i, o, f; or NULL
} cell;

static qc_tensor *activate(ox_expr *e, const cell *c, uint32_t k, qc_tensor *x) {
    if (c->r->clip > 0)
        x = clamp(e, x, -c->r->clip, c->r->clip);
    return apply(e, &c->act[k], x);
}

static qc_tensor *gate(ox_expr *e, const cell *c, qc_tensor *x, uint32_t i) {
    return ox_slice(e, x, 1, i * c->r->hidden, c->r->hidden, 1);
}

// x [B, gates * H] is the matmul of the input with bias; *h and *state are replaced.
static void rnn_step(ox_expr *e, const cell *c, qc_tensor *x, qc_tensor **h) {
    *h = activate(e, c, 0, ox_binary(e, ADD, x, ox_matmul(e, *h, c->rec, false, true)));
}

static void gru_step(ox_expr *e, const cell *c, qc_tensor *x, qc_tensor **h) {
    uint32_t two = 2 * c->r->hidden;
    qc_tensor *zr =
        ox_binary(e, ADD, ox_slice(e, x, 1, 0, two, 1), ox_matmul(e, *h, c->rec, false, true));
    zr = activate(e, c, 0, zr);
    qc_tensor *z = gate(e, c, zr, 0), *r = gate(e, c, zr, 1), *candidate;
    if (c->r->linear_before_reset) {
        candidate = ox_matmul(e, *h, c->rec_h, false, true);
        if (c->rec_bias)
            candidate = ox_binary(e, ADD, candidate, c->rec_bias);
        candidate = ox_binary(e, MUL, r, candidate);
    } else {
        candidate = ox_matmul(e, ox_binary(e, MUL, r, *h), c->rec_h, false, true);
    }
    candidate = activate(e, c, 1, ox_binary(e, ADD, gate(e, c, x, 2), candidate));
    // (1 - z) candidate + z h
    qc_tensor *old = ox_binary(e, SUB, *h, candidate);
    *h = ox_binary(e, ADD, candidate, ox_binary(e, MUL, z, old));
}

static qc_tensor *peeped(ox_expr *e, const cell *c, uint32_t i, qc_tensor *x, qc_tensor *state) {
    return c->peep[i] ? ox_binary(e, ADD, x, ox_binary(e, MUL, c->peep[i], state)) : x;
}

static void lstm_step(ox_expr *e, const cell *c, qc_tensor *x, qc_tensor **h, qc_tensor **state) {
    x = ox_binary(e, ADD, x, ox_matmul(e, *h, c->rec, false, true));
    qc_tensor *i = activate(e, c, 0, peeped(e, c, 0, gate(e, c, x, 0), *state)), *f;
    if (c->r->input_forget)
        f = ox_with(e, ADD, ox_with(e, MUL, i, -1), 1);
    else
        f = activate(e, c, 0, peeped(e, c, 2, gate(e, c, x, 2), *state));
    qc_tensor *g = activate(e, c, 1, gate(e, c, x, 3));
    *state = ox_binary(e, ADD, ox_binary(e, MUL, f, *state), ox_binary(e, MUL, i, g));
    qc_tensor *o = activate(e, c, 0, peeped(e, c, 1, gate(e, c, x, 1), *state));
    // As ONNX Runtime has it the cell state is not clipped, only sums of products are.
    *h = ox_binary(e, MUL, o, apply(e, &c->act[2], *state));
}

// --- the pass

static cell begin_cell(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    uint32_t h = r->hidden, rows = r->gates == 3 ? 2 * h : r->gates * h;
    cell c = {.r = r, .act = r->activations[dir]};
    c.rec = ox_piece(e, 2, dir, 0, rows, h);
    if (r->gates == 3) {
        c.rec_h = ox_piece(e, 2, dir, 2 * h, h, h);
        if (r->linear_before_reset && ox_input(e->im, e->n, 3))
            c.rec_bias = ox_piece(e, 3, dir, 5 * h, h, 0);
    }
    for (uint32_t i = 0; r->gates == 4 && ox_input(e->im, e->n, 7) && i < 3; i++)
        c.peep[i] = ox_piece(e, 7, dir, i * h, h, 0);
    return c;
}

// Bias of all gates for the matmul of the inputs. With linear_before_reset a part of it belongs to
// that of the state.
static qc_tensor *input_bias(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    uint32_t h = r->hidden, rows = r->gates * h;
    if (r->gates != 3 || !r->linear_before_reset)
        return ox_piece_sum(e, 3, dir, 0, rows, rows);
    qc_tensor *parts[] = {ox_piece_sum(e, 3, dir, 0, rows, 2 * h),
                          ox_piece(e, 3, dir, 2 * h, h, 0)};
    return ox_concat(e, parts, 2, 0);
}

// [T * B, gates * H]: the inputs of all steps times the weights, with bias.
static qc_tensor *input_products(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    static const uint32_t swap[] = {1, 0, 2};
    uint32_t flat[] = {r->steps * r->batch, r->input};
    qc_tensor *x = r->batch_first ? ox_transpose(e, r->x, swap) : r->x;
    qc_tensor *w = ox_piece(e, 1, dir, 0, r->gates * r->hidden, r->input);
    x = ox_matmul(e, ox_reshape(e, x, 2, flat), w, false, true);
    return ox_input(e->im, e->n, 3) ? ox_binary(e, ADD, x, input_bias(e, r, dir)) : x;
}

// Which sequences have a step t: [B, 1], or NULL when all have. *none: no one has.
static qc_tensor *mask_of(ox_expr *e, const ox_recurrent *r, uint32_t t, qc_tensor *lengths,
                          bool *none) {
    uint32_t dims[] = {r->batch, 1}, count = 0;
    *none = false;
    qc_tensor *step = NULL, *mask = NULL;
    if (r->run_time_lengths) {
        if (e->s == QRN_OK)
            e->s = ox_number(e->im, QNN_DATATYPE_INT_32, t, &step);
        return ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, lengths, step);
    }
    uint8_t *bits = r->lengths ? ox_alloc(e->im, r->batch) : NULL;
    if (!bits)
        return NULL;
    for (uint32_t b = 0; b < r->batch; b++)
        count += bits[b] = r->lengths[b] > t;
    *none = count == 0;
    if (count == 0 || count == r->batch)
        return NULL;
    if (e->s == QRN_OK)
        e->s = ox_static(e->im, QNN_DATATYPE_BOOL_8, 2, dims, bits, r->batch, &mask);
    return mask;
}

// Joins the steps [B, H] to [T, B, H] or [B, T, H].
static qc_tensor *join(ox_expr *e, qc_tensor **step, uint32_t n, uint32_t axis) {
    while (n > 1) { // an op takes so many operands only
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i += QC_MAX_OPERANDS) {
            uint32_t count = n - i < QC_MAX_OPERANDS ? n - i : QC_MAX_OPERANDS;
            step[m++] = count == 1 ? step[i] : ox_concat(e, step + i, count, axis);
        }
        n = m;
    }
    return step[0];
}

ox_pass ox_unroll(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    uint32_t state[] = {r->batch, r->hidden}, lengths_dims[] = {r->batch, 1};
    uint32_t one[] = {r->batch_first ? r->batch : 1, r->batch_first ? 1 : r->batch, r->hidden};
    qc_tensor **out = ox_alloc(e->im, r->steps * sizeof(qc_tensor *)), *lengths = NULL, *mask;
    if (!out && e->s == QRN_OK)
        e->s = QRN_FAIL(QRN_E_MEM, "out of memory");
    qc_tensor *x = input_products(e, r, dir), *zeros = ox_zeros(e, 2, state);
    cell c = begin_cell(e, r, dir);
    qc_tensor *h = r->initial[0] ? ox_initial(e, r, 0, dir) : zeros;
    qc_tensor *cs = r->initial[1] ? ox_initial(e, r, 1, dir) : zeros;
    if (r->run_time_lengths && e->s == QRN_OK) {
        e->s = ox_in_as(e->im, e->n, 4, OX_ONNX, QNN_DATATYPE_INT_32, &lengths);
        lengths = ox_reshape(e, lengths, 2, lengths_dims);
    }
    for (uint32_t i = 0; i < r->steps && e->s == QRN_OK; i++) {
        uint32_t t = dir == 1 || r->reverse ? r->steps - 1 - i : i;
        qc_tensor *old_h = h, *old_c = cs;
        bool none;
        mask = mask_of(e, r, t, lengths, &none);
        if (none) {
            out[t] = ox_reshape(e, zeros, 3, one);
            continue;
        }
        qc_tensor *xt = ox_slice(e, x, 0, t * r->batch, r->batch, 1);
        if (r->gates == 4)
            lstm_step(e, &c, xt, &h, &cs);
        else
            (r->gates == 3 ? gru_step : rnn_step)(e, &c, xt, &h);
        out[t] = ox_reshape(e, mask ? ox_select(e, mask, h, zeros) : h, 3, one);
        if (mask) {
            h = ox_select(e, mask, h, old_h);
            cs = r->gates == 4 ? ox_select(e, mask, cs, old_c) : cs;
        }
    }
    if (e->s != QRN_OK)
        return (ox_pass){0};
    return (ox_pass){join(e, out, r->steps, r->batch_first ? 1 : 0), h, cs};
}
