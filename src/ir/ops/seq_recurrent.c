// SPDX-License-Identifier: MIT
//
// Rules of Lstm and Gru: sizes of all operands follow from the input and two weights, optional
// operands come in groups.
#include "ir/ops/seq.h"

#include <math.h>

typedef struct sizes {
    uint32_t batch, input, units, out; // out: size of h
} sizes;

// Operands of Lstm that a coupled input gate (i = 1 - f) leaves out, and the other groups.
enum {
    LN_INPUT = 12,
    LN_OUTPUT = 15,
    W_XI = 16,
    W_HI = 17,
    W_CI = 18,
    W_CO = 20,
    B_I = 21,
    W_PROJ = 22,
    B_PROJ = 23,
    LSTM_RESET = 24
};

static sizes sizes_of(const qrn_op_call *c, uint32_t w_recurrent) {
    const qrn_shape *x = &c->in_shape[0];
    bool batch_second = x->rank == 3 && qrn_op_bool(c, "time_major", true);
    return (sizes){.batch = x->dims[batch_second ? 1 : 0],
                   .input = x->dims[x->rank - 1],
                   .units = c->in_shape[1].dims[0],
                   .out = c->in_shape[w_recurrent].dims[1]};
}

// Inputs first..last are all given or none is.
static qrn_status all_or_none(const qrn_op_call *c, uint32_t first, uint32_t last) {
    for (uint32_t i = first + 1; i <= last; i++)
        if (qrn_seq_has(c, i) != qrn_seq_has(c, first))
            return qrn_op_fail(c, QRN_E_OP_CONFIG, "inputs %u to %u belong together: '%s' is %s",
                               first, last, c->op->ins[i].name,
                               qrn_seq_has(c, i) ? "given alone" : "missing");
    return QRN_OK;
}

static qrn_status must_lack(const qrn_op_call *c, uint32_t i, const char *why) {
    if (!qrn_seq_has(c, i))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_OP_CONFIG, "input %u '%s': not allowed %s", i, c->op->ins[i].name,
                       why);
}

static qrn_status check_groups(const qrn_op_call *c) {
    bool coupled = !qrn_seq_has(c, W_XI);
    QRN_TRY(all_or_none(c, W_XI, W_HI));
    if (qrn_seq_has(c, B_I) == coupled)
        return qrn_op_fail(c, QRN_E_OP_CONFIG, "inputs %u, %u and %u belong together", W_XI, W_HI,
                           B_I);
    if (coupled) {
        QRN_TRY(must_lack(c, LN_INPUT, "without an input gate"));
        QRN_TRY(must_lack(c, W_CI, "without an input gate"));
    }
    QRN_TRY(all_or_none(c, coupled ? LN_INPUT + 1 : LN_INPUT, LN_OUTPUT));
    QRN_TRY(all_or_none(c, coupled ? W_CI + 1 : W_CI, W_CO));
    return qrn_seq_has(c, W_PROJ) ? QRN_OK : must_lack(c, B_PROJ, "without a projection");
}

static qrn_status check_lstm_shapes(const qrn_op_call *c, sizes n) {
    const uint32_t per_unit[] = {n.units}, per_out[] = {n.out};
    const uint32_t from_x[] = {n.units, n.input}, from_h[] = {n.units, n.out};
    const uint32_t proj[] = {n.out, n.units}, h0[] = {n.batch, n.out}, c0[] = {n.batch, n.units};
    if (!qrn_seq_has(c, W_PROJ) && n.units != n.out)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "input 4 '%s': second dimension is %u, expected %u as there is no "
                           "projection",
                           c->op->ins[4].name, n.out, n.units);
    for (uint32_t i = 1; i <= 3; i++)
        QRN_TRY(qrn_seq_expect(c, i, 2, from_x));
    for (uint32_t i = 4; i <= 6; i++)
        QRN_TRY(qrn_seq_expect(c, i, 2, from_h));
    for (uint32_t i = 7; i <= 9; i++)
        QRN_TRY(qrn_seq_expect(c, i, 1, per_unit));
    QRN_TRY(qrn_seq_expect(c, 10, 2, h0));
    QRN_TRY(qrn_seq_expect(c, 11, 2, c0));
    for (uint32_t i = LN_INPUT; i <= LN_OUTPUT; i++)
        QRN_TRY(qrn_seq_expect(c, i, 1, per_unit));
    QRN_TRY(qrn_seq_expect(c, W_XI, 2, from_x));
    QRN_TRY(qrn_seq_expect(c, W_HI, 2, from_h));
    for (uint32_t i = W_CI; i <= B_I; i++)
        QRN_TRY(qrn_seq_expect(c, i, 1, per_unit));
    QRN_TRY(qrn_seq_expect(c, W_PROJ, 2, proj));
    QRN_TRY(qrn_seq_expect(c, B_PROJ, 1, per_out));
    return qrn_seq_single(c, LSTM_RESET);
}

static qrn_status check_threshold(const qrn_op_call *c, const char *name) {
    float t = qrn_op_f32(c, name, 0.0f);
    if (t >= 0.0f) // false for NaN
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %g, expected 0 or more", name, (double)t);
}

qrn_status qrn_rule_lstm(const qrn_op_call *c) {
    sizes n = sizes_of(c, 4);
    QRN_TRY(check_groups(c));
    QRN_TRY(check_lstm_shapes(c, n));
    QRN_TRY(check_threshold(c, "cell_clip_threshold"));
    QRN_TRY(check_threshold(c, "output_clip_threshold"));
    c->out_shape[0] = c->in_shape[0];
    c->out_shape[0].dims[c->in_shape[0].rank - 1] = n.out;
    for (uint32_t o = 1; o < c->n_out; o++) {
        bool is_hidden = o == 2 || o == 7; // h_last, hidden_state; the others are per unit
        c->out_shape[o] = (qrn_shape){.rank = 2, .dims = {n.batch, is_hidden ? n.out : n.units}};
    }
    return QRN_OK;
}

qrn_status qrn_rule_gru(const qrn_op_call *c) {
    enum { INITIAL_H = 13, GRU_RESET = 14 };
    sizes n = sizes_of(c, 4);
    const uint32_t from_x[] = {n.units, n.input}, from_h[] = {n.units, n.units};
    const uint32_t h0[] = {1, n.batch, n.units};
    for (uint32_t i = 1; i <= 3; i++)
        QRN_TRY(qrn_seq_expect(c, i, 2, from_x));
    for (uint32_t i = 4; i <= 6; i++)
        QRN_TRY(qrn_seq_expect(c, i, 2, from_h));
    for (uint32_t i = 7; i <= 12; i++)
        QRN_TRY(qrn_seq_expect(c, i, 1, from_h));
    QRN_TRY(qrn_seq_expect(c, INITIAL_H, 3, h0));
    QRN_TRY(qrn_seq_single(c, GRU_RESET));
    c->out_shape[0] = c->in_shape[0];
    c->out_shape[0].dims[2] = n.units;
    c->out_shape[1] = (qrn_shape){.rank = 3, .dims = {1, n.batch, n.units}};
    return QRN_OK;
}
