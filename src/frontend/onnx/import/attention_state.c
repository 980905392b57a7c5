// SPDX-License-Identifier: MIT
//
// Importers: relatives of attention with a state instead of keys (LinearAttention,
// CausalConvWithState), and the gate that goes with them (SwiGLU). Steps in time are written out,
// so long sequences are refused.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#include <math.h>
#include <string.h>

#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MAX_STEPS 1024

static bool wanted(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// x sigmoid(alpha x)
static qc_tensor *swish(ox_expr *e, qc_tensor *x, float alpha) {
    qc_tensor *in = alpha == 1 ? x : ox_with(e, MUL, x, (double)alpha);
    return ox_binary(e, MUL, x, ox_unary(e, QNN_OP_SIGMOID, in));
}

static qrn_status import_swiglu(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_need(im, n, 2));
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1);
    if (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
        return ox_fail(im, n, QRN_E_SHAPE, "its inputs differ in shape");
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *gate = swish(&e, x, ox_attr_float(n, "alpha", 1)), *value = ox_operand(&e, 1);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, MUL, gate, value));
}

// --- LinearAttention

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct linear {
    uint32_t batch, steps, heads, kv_heads, key_size, value_size;
    bool gated, delta;
    uint32_t decay_size, beta_heads; // last dimension of the decays; heads of beta, or 1
    qc_tensor *query, *key, *value, *decay, *beta; // of all steps; decay as a factor
} linear;

static qrn_status read_rule(const ox_import *im, const ox_node *n, linear *l) {
    const char *rule = ox_attr_string(n, "update_rule", "gated_delta");
    const ox_val *decay = ox_input(im, n, DECAY), *beta = ox_input(im, n, BETA);
    bool plain = strcmp(rule, "linear") == 0;
    l->gated = strncmp(rule, "gated", 5) == 0;
    l->delta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!plain && !l->delta && strcmp(rule, "gated") != 0)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "update_rule '%s'", rule);
    if (l->gated != (decay != NULL) || l->delta != (beta != NULL))
        return ox_fail(im, n, QRN_E_OP_CONFIG, "decay or beta do not fit update_rule '%s'", rule);
    uint32_t d = decay ? decay->dims[2] : 0, b = beta ? beta->dims[2] : 0;
    if (decay && (decay->rank != 3 || decay->dims[0] != l->batch || decay->dims[1] != l->steps ||
                  (d != l->kv_heads && d != l->kv_heads * l->key_size)))
        return ox_fail(im, n, QRN_E_SHAPE, "decay has not one number for each head or key element");
    if (beta && (beta->rank != 3 || beta->dims[0] != l->batch || beta->dims[1] != l->steps ||
                 (b != l->kv_heads && b != 1)))
        return ox_fail(im, n, QRN_E_SHAPE, "beta has not one number for each head");
    l->decay_size = decay ? d / l->kv_heads : 0;
    l->beta_heads = b;
    return QRN_OK;
}

static qrn_status read_linear(const ox_import *im, const ox_node *n, linear *l) {
    for (uint32_t i = QUERY; i <= VALUE; i++)
        QRN_TRY(ox_need_real(im, n, i));
    const ox_val *q = ox_input(im, n, QUERY), *k = ox_input(im, n, KEY),
                 *v = ox_input(im, n, VALUE), *past = ox_input(im, n, PAST);
    int64_t heads = ox_attr_int(n, "q_num_heads", 0), kv = ox_attr_int(n, "kv_num_heads", 0);
    if (heads <= 0 || kv <= 0 || heads % kv != 0 || q->rank != 3 || k->rank != 3 || v->rank != 3 ||
        q->dims[2] % heads || k->dims[2] % kv || v->dims[2] % kv)
        return ox_fail(im, n, QRN_E_SHAPE, "query, key and value do not fit the numbers of heads");
    *l = (linear){.batch = q->dims[0],
                  .steps = q->dims[1],
                  .heads = (uint32_t)heads,
                  .kv_heads = (uint32_t)kv,
                  .key_size = q->dims[2] / (uint32_t)heads,
                  .value_size = v->dims[2] / (uint32_t)kv};
    if (k->dims[2] / kv != l->key_size || k->dims[0] != l->batch || v->dims[0] != l->batch ||
        k->dims[1] != l->steps || v->dims[1] != l->steps)
        return ox_fail(im, n, QRN_E_SHAPE, "query, key and value do not fit together");
    if (past && (past->rank != 4 || past->dims[0] != l->batch || past->dims[1] != l->kv_heads ||
                 past->dims[2] != l->key_size || past->dims[3] != l->value_size))
        return ox_fail(im, n, QRN_E_SHAPE, "past_state has not the shape of the state");
    if (l->steps > MAX_STEPS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "%u steps, at most %d are written out; run it on shorter pieces", l->steps,
                       MAX_STEPS);
    return read_rule(im, n, l);
}

// Step i of x [B, T, H * D] as [B, H, rows, columns].
static qc_tensor *step_of(ox_expr *e, const linear *l, qc_tensor *x, uint32_t i, uint32_t heads,
                          uint32_t rows, uint32_t columns) {
    uint32_t dims[] = {l->batch, heads, rows, columns};
    if (l->steps > 1)
        x = ox_slice(e, x, 1, i, 1, 1);
    return ox_reshape(e, x, 4, dims);
}

// The state after step i; NULL as the state before stands for 0.
static qc_tensor *next_state(ox_expr *e, const linear *l, qc_tensor *state, uint32_t i) {
    qc_tensor *value = step_of(e, l, l->value, i, l->kv_heads, 1, l->value_size);
    if (l->gated && state)
        state = ox_binary(e, MUL, state, step_of(e, l, l->decay, i, l->kv_heads, l->decay_size, 1));
    if (l->delta) {
        qc_tensor *key = step_of(e, l, l->key, i, l->kv_heads, 1, l->key_size);
        if (state)
            value = ox_binary(e, SUB, value, ox_matmul(e, key, state, false, false));
        value = ox_binary(e, MUL, value, step_of(e, l, l->beta, i, l->beta_heads, 1, 1));
    }
    qc_tensor *key = step_of(e, l, l->key, i, l->kv_heads, l->key_size, 1);
    qc_tensor *write = ox_binary(e, MUL, key, value);
    return state ? ox_binary(e, ADD, state, write) : write;
}

// Joins rows in groups until an op takes what is left.
static uint32_t join_groups(ox_expr *e, qc_tensor **rows, uint32_t n) {
    while (e->s == QRN_OK && n > QC_MAX_OPERANDS) {
        uint32_t groups = 0;
        for (uint32_t i = 0; i < n; i += QC_MAX_OPERANDS) {
            uint32_t left = n - i < QC_MAX_OPERANDS ? n - i : QC_MAX_OPERANDS;
            rows[groups++] = left > 1 ? ox_concat(e, rows + i, left, 1) : rows[i];
        }
        n = groups;
    }
    return n;
}

static qrn_status emit_linear(ox_expr *e, linear *l) {
    float scale = ox_attr_float(e->n, "scale", 0);
    double factor = scale == 0 ? 1 / sqrt(l->key_size) : (double)scale;
    uint32_t row[] = {l->batch, 1, l->heads * l->value_size}, shared = l->heads / l->kv_heads;
    l->query = ox_with(e, MUL, ox_in_f32(e, QUERY), factor);
    l->key = ox_in_f32(e, KEY);
    l->value = ox_in_f32(e, VALUE);
    l->decay = l->gated ? ox_unary(e, QNN_OP_ELEMENT_WISE_EXP, ox_in_f32(e, DECAY)) : NULL;
    l->beta = l->delta ? ox_in_f32(e, BETA) : NULL;
    qc_tensor *state = ox_input(e->im, e->n, PAST) ? ox_in_f32(e, PAST) : NULL;
    qc_tensor **rows = ox_alloc(e->im, l->steps * sizeof *rows);
    if (!rows)
        return ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
    for (uint32_t i = 0; e->s == QRN_OK && i < l->steps; i++) {
        state = next_state(e, l, state, i);
        // Query heads that share a state are rows of one matmul.
        qc_tensor *q = step_of(e, l, l->query, i, l->kv_heads, shared, l->key_size);
        rows[i] = ox_reshape(e, ox_matmul(e, q, state, false, false), 3, row);
    }
    uint32_t left = join_groups(e, rows, l->steps);
    qc_tensor *y = ox_out_f32(e, 0);
    ox_into(e, y);
    if (left == 1)
        ox_reshape(e, rows[0], 3, row);
    else
        ox_concat(e, rows, left, 1);
    ox_end_f32(e, 0, y);
    if (wanted(e->n, 1))
        ox_copy_out(e, 1, state);
    return ox_done(e);
}

static qrn_status import_linear(ox_import *im, const ox_node *n) {
    linear l = {0};
    QRN_TRY(read_linear(im, n, &l));
    const ox_val *q = ox_input(im, n, QUERY), *past = ox_input(im, n, PAST);
    uint32_t y[] = {l.batch, l.steps, l.heads * l.value_size};
    uint32_t state[] = {l.batch, l.kv_heads, l.key_size, l.value_size};
    QRN_TRY(ox_set_output(im, n, 0, q->type, 3, y));
    if (wanted(n, 1))
        QRN_TRY(ox_set_output(im, n, 1, past ? past->type : q->type, 4, state));
    ox_expr e = ox_begin(im, n);
    return emit_linear(&e, &l);
}

// --- CausalConvWithState

enum { INPUT, WEIGHT, BIAS, STATE };

static qrn_status read_conv(ox_import *im, const ox_node *n, uint32_t *taps) {
    QRN_TRY(ox_need_real(im, n, INPUT));
    QRN_TRY(ox_need_real(im, n, WEIGHT));
    const ox_val *x = ox_input(im, n, INPUT), *w = ox_input(im, n, WEIGHT),
                 *bias = ox_input(im, n, BIAS), *past = ox_input(im, n, STATE);
    const char *activation = ox_attr_string(n, "activation", "none");
    if (x->rank != 3 || w->rank != 3 || w->dims[2] == 0 || w->dims[0] != x->dims[1] ||
        w->dims[1] != 1 || (bias && (bias->rank != 1 || bias->dims[0] != x->dims[1])))
        return ox_fail(im, n, QRN_E_SHAPE, "input, weight and bias do not fit together");
    *taps = w->dims[2];
    if (past && (past->rank != 3 || past->dims[0] != x->dims[0] || past->dims[1] != x->dims[1] ||
                 past->dims[2] + 1 != *taps))
        return ox_fail(im, n, QRN_E_SHAPE, "past_state has not one column less than the weight");
    if (strcmp(activation, "none") != 0 && strcmp(activation, "silu") != 0 &&
        strcmp(activation, "swish") != 0)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "activation '%s'", activation);
    if (*taps > MAX_STEPS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a kernel of %u, at most %d are written out",
                       *taps, MAX_STEPS);
    QRN_TRY(ox_set_output(im, n, 0, x->type, 3, x->dims));
    uint32_t state[] = {x->dims[0], x->dims[1], *taps - 1};
    if (!wanted(n, 1))
        return QRN_OK;
    return *taps > 1 ? ox_set_output(im, n, 1, x->type, 3, state)
                     : ox_set_const(im, n, 1, x->type, 3, state, "");
}

// The input with the columns before it.
static qc_tensor *with_state(ox_expr *e, uint32_t taps) {
    qc_tensor *parts[] = {NULL, ox_in_f32(e, INPUT)};
    if (taps == 1)
        return parts[1];
    if (!ox_input(e->im, e->n, STATE))
        return ox_pad(e, parts[1], (uint32_t[]){0, 0, 0, 0, taps - 1, 0}, 0);
    parts[0] = ox_in_f32(e, STATE);
    return ox_concat(e, parts, 2, 2);
}

static qrn_status import_causal_conv(ox_import *im, const ox_node *n) {
    uint32_t taps = 0;
    QRN_TRY(read_conv(im, n, &taps));
    const ox_val *v = ox_input(im, n, INPUT);
    uint32_t length = v->dims[2], channels = v->dims[1];
    bool active = strcmp(ox_attr_string(n, "activation", "none"), "none") != 0;
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = with_state(&e, taps), *w = ox_in_f32(&e, WEIGHT), *sum = NULL;
    w = ox_reshape(&e, w, 2, (uint32_t[]){channels, taps});
    for (uint32_t i = 0; e.s == QRN_OK && i < taps; i++) {
        qc_tensor *term =
            ox_binary(&e, MUL, ox_slice(&e, x, 2, i, length, 1), ox_slice(&e, w, 1, i, 1, 1));
        sum = sum ? ox_binary(&e, ADD, sum, term) : term;
    }
    if (ox_input(im, n, BIAS)) {
        qc_tensor *bias = ox_reshape(&e, ox_in_f32(&e, BIAS), 2, (uint32_t[]){channels, 1});
        sum = ox_binary(&e, ADD, sum, bias);
    }
    ox_copy_out(&e, 0, active ? swish(&e, sum, 1) : sum);
    if (wanted(n, 1) && taps > 1)
        ox_copy_out(&e, 1, ox_slice(&e, x, 2, length, taps - 1, 1));
    return ox_done(&e);
}

const ox_importer ox_import_attention_state[] = {
    {"CausalConvWithState", "", import_causal_conv},
    {"LinearAttention", "", import_linear},
    {"SwiGLU", "", import_swiglu},
    {0},
};
