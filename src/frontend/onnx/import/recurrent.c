// SPDX-License-Identifier: MIT
//
// Importers: LSTM, GRU and RNN. An LSTM or GRU with ONNX's default activations is one QNN op for
// each direction; everything else is unrolled (recurrent_step.c).
#include "frontend/onnx/import/recurrent.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

#define MAX_STEPS 1024 // that are unrolled

// --- reading

static qrn_status expect(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank, uint32_t d0,
                         uint32_t d1, uint32_t d2) {
    const ox_val *v = ox_input(im, n, i);
    if (!v ||
        (v->rank == rank && v->dims[0] == d0 && v->dims[1] == d1 && (rank < 3 || v->dims[2] == d2)))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_SHAPE, "input %u ('%s') has not the shape that the others imply", i,
                   v->name);
}

// Inputs: 0 X, 1 W, 2 R, 3 B, 4 sequence_lens, 5 initial_h, and of an LSTM 6 initial_c, 7 P.
static qrn_status check_shapes(ox_import *im, const ox_node *n, const ox_recurrent *r) {
    uint32_t rows = r->gates * r->hidden;
    QRN_TRY(expect(im, n, 1, 3, r->directions, rows, r->input));
    QRN_TRY(expect(im, n, 2, 3, r->directions, rows, r->hidden));
    QRN_TRY(expect(im, n, 3, 2, r->directions, 2 * rows, 0));
    for (uint32_t i = 5; i < 7; i++)
        QRN_TRY(expect(im, n, i, 3, r->batch_first ? r->batch : r->directions,
                       r->batch_first ? r->directions : r->batch, r->hidden));
    return expect(im, n, 7, 2, r->directions, 3 * r->hidden, 0);
}

static qrn_status read_lengths(ox_import *im, const ox_node *n, ox_recurrent *r) {
    const ox_val *v = ox_input(im, n, 4);
    if (!v)
        return QRN_OK;
    uint32_t count;
    int64_t *lengths = ox_alloc(im, r->batch * sizeof *lengths);
    if (!lengths)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    if (v->rank != 1 || v->dims[0] != r->batch)
        return ox_fail(im, n, QRN_E_SHAPE, "sequence_lens has not one length for each sequence");
    r->run_time_lengths = !ox_const_ints(im, n, 4, lengths, r->batch, &count);
    for (uint32_t i = 0; !r->run_time_lengths && i < r->batch; i++) {
        if (lengths[i] < 0 || lengths[i] > r->steps)
            return ox_fail(im, n, QRN_E_SHAPE, "a sequence of %lld steps, there are %u",
                           (long long)lengths[i], r->steps);
        if (lengths[i] != r->steps)
            r->lengths = lengths;
    }
    return QRN_OK;
}

static qrn_status read_recurrent(ox_import *im, const ox_node *n, uint32_t gates, ox_recurrent *r) {
    const ox_val *x = ox_input(im, n, 0), *rec = ox_input(im, n, 2);
    const char *direction = ox_attr_string(n, "direction", "forward");
    if (!x || !ox_input(im, n, 1) || !rec || x->rank != 3 || rec->rank != 3)
        return ox_fail(im, n, QRN_E_SHAPE, "X, W and R must be there with rank 3");
    *r = (ox_recurrent){.gates = gates,
                        .hidden = rec->dims[2],
                        .directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1,
                        .reverse = strcmp(direction, "reverse") == 0,
                        .batch_first = ox_attr_int(n, "layout", 0) != 0,
                        .linear_before_reset = ox_attr_int(n, "linear_before_reset", 0) != 0,
                        .input_forget = ox_attr_int(n, "input_forget", 0) != 0,
                        .clip = ox_attr_float(n, "clip", 0),
                        .input = x->dims[2]};
    r->steps = x->dims[r->batch_first ? 1 : 0];
    r->batch = x->dims[r->batch_first ? 0 : 1];
    if (!(r->clip >= 0))
        return ox_fail(im, n, QRN_E_SHAPE, "clip %g", (double)r->clip);
    QRN_TRY(check_shapes(im, n, r));
    return read_lengths(im, n, r);
}

// --- weights

// Input i as float, in f32; NULL when it is absent.
static qc_tensor *whole(ox_expr *e, uint32_t i) {
    qc_tensor *t = NULL;
    if (e->s == QRN_OK && ox_input(e->im, e->n, i))
        e->s = ox_in_as(e->im, e->n, i, OX_ONNX, QNN_DATATYPE_FLOAT_32, &t);
    return t;
}

static qc_tensor *statics(ox_expr *e, const float *v, uint32_t rank, const uint32_t *dims) {
    qc_tensor like = {.t = QNN_TENSOR_INIT};
    like.t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    return ox_floats(e, &like, rank, dims, v);
}

qc_tensor *ox_zeros(ox_expr *e, uint32_t rank, const uint32_t *dims) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    const float *zeros = ox_alloc(e->im, n * sizeof *zeros);
    if (!zeros && e->s == QRN_OK)
        e->s = QRN_FAIL(QRN_E_MEM, "out of memory");
    return zeros ? statics(e, zeros, rank, dims) : NULL;
}

qc_tensor *ox_piece(ox_expr *e, uint32_t i, uint32_t dir, uint32_t first, uint32_t rows,
                    uint32_t columns) {
    const ox_val *v = ox_input(e->im, e->n, i);
    uint32_t dims[] = {rows, columns}, rank = columns ? 2 : 1;
    const float *all = ox_const_reals(e->im, e->n, i);
    if (all)
        return statics(e, all + ((size_t)dir * v->dims[1] + first) * (columns ? columns : 1), rank,
                       dims);
    qc_tensor *t = ox_slice(e, whole(e, i), 0, dir, 1, 1);
    return ox_reshape(e, ox_slice(e, t, 1, first, rows, 1), rank, dims);
}

qc_tensor *ox_piece_sum(ox_expr *e, uint32_t i, uint32_t dir, uint32_t first, uint32_t second,
                        uint32_t rows) {
    const ox_val *v = ox_input(e->im, e->n, i);
    const float *all = ox_const_reals(e->im, e->n, i);
    float *sum = all ? ox_alloc(e->im, rows * sizeof *sum) : NULL;
    if (!sum)
        return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_piece(e, i, dir, first, rows, 0),
                         ox_piece(e, i, dir, second, rows, 0));
    all += (size_t)dir * v->dims[1];
    for (uint32_t k = 0; k < rows; k++)
        sum[k] = all[first + k] + all[second + k];
    return statics(e, sum, 1, &rows);
}

qc_tensor *ox_initial(ox_expr *e, const ox_recurrent *r, uint32_t k, uint32_t dir) {
    uint32_t dims[] = {r->batch, r->hidden};
    qc_tensor *t = r->initial[k];
    if (r->directions > 1)
        t = ox_slice(e, t, r->batch_first ? 1 : 0, dir, 1, 1);
    return ox_reshape(e, t, 2, dims);
}

// --- one QNN op

static bool reversed(const ox_recurrent *r, uint32_t dir) { return dir == 1 || r->reverse; }

static qc_tensor *temp(ox_expr *e, uint32_t rank, const uint32_t *dims) {
    return ox_result_typed(e, QNN_DATATYPE_FLOAT_32, rank, dims);
}

// QNN's gates f, c, o, i are blocks 2, 3, 1, 0 of ONNX.
static ox_pass lstm_op(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    static const uint32_t block[] = {2, 3, 1, 0}, peephole[] = {0, 2, 1};
    uint32_t h = r->hidden, state[] = {r->batch, h};
    qc_tensor *in[22] = {r->x};
    bool bias = ox_input(e->im, e->n, 3), peep = ox_input(e->im, e->n, 7);
    for (uint32_t g = 0; g < 4; g++) {
        uint32_t at = block[g] * h;
        in[g < 3 ? 1 + g : 16] = ox_piece(e, 1, dir, at, h, r->input);
        in[g < 3 ? 4 + g : 17] = ox_piece(e, 2, dir, at, h, h);
        in[g < 3 ? 7 + g : 21] =
            bias ? ox_piece_sum(e, 3, dir, at, 4 * h + at, h) : ox_zeros(e, 1, &h);
    }
    for (uint32_t g = 0; peep && g < 3; g++)
        in[18 + g] = ox_piece(e, 7, dir, peephole[g] * h, h, 0);
    for (uint32_t k = 0; k < 2; k++)
        in[10 + k] = r->initial[k] ? ox_initial(e, r, k, dir) : NULL;
    uint32_t seq[] = {r->x->dims[0], r->x->dims[1], h};
    ox_pass p = {.seq = temp(e, 3, seq), .c = temp(e, 2, state), .h = temp(e, 2, state)};
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_LSTM);
    for (uint32_t i = 0; i < 22; i++)
        qc_in(&o, in[i]);
    qc_out(&o, p.seq);
    qc_out(&o, p.c);
    qc_out(&o, p.h);
    qc_u32(&o, QNN_OP_LSTM_PARAM_DIRECTION,
           reversed(r, dir) ? QNN_OP_LSTM_DIRECTION_REVERSE : QNN_OP_LSTM_DIRECTION_FORWARD);
    qc_bool(&o, QNN_OP_LSTM_PARAM_TIME_MAJOR, !r->batch_first);
    ox_end(e, &o);
    return p;
}

static ox_pass gru_op(ox_expr *e, const ox_recurrent *r, uint32_t dir) {
    uint32_t h = r->hidden, state[] = {1, r->batch, h}, flat[] = {r->batch, h};
    qc_tensor *in[14] = {r->x};
    for (uint32_t g = 0; g < 3; g++) {
        in[1 + g] = ox_piece(e, 1, dir, g * h, h, r->input);
        in[4 + g] = ox_piece(e, 2, dir, g * h, h, h);
        if (!ox_input(e->im, e->n, 3))
            continue;
        in[7 + g] = ox_piece(e, 3, dir, g * h, h, 0);
        in[10 + g] = ox_piece(e, 3, dir, (3 + g) * h, h, 0);
    }
    if (r->initial[0])
        in[13] = ox_reshape(e, ox_initial(e, r, 0, dir), 3, state);
    uint32_t seq[] = {r->x->dims[0], r->x->dims[1], h};
    ox_pass p = {.seq = temp(e, 3, seq), .h = temp(e, 3, state)};
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_GRU);
    for (uint32_t i = 0; i < 14; i++)
        qc_in(&o, in[i]);
    qc_out(&o, p.seq);
    qc_out(&o, p.h);
    qc_u32(&o, QNN_OP_GRU_PARAM_DIRECTION,
           reversed(r, dir) ? QNN_OP_GRU_DIRECTION_REVERSE : QNN_OP_GRU_DIRECTION_FORWARD);
    qc_u32(&o, QNN_OP_GRU_PARAM_LINEAR_BEFORE_RESET, r->linear_before_reset);
    qc_bool(&o, QNN_OP_GRU_PARAM_TIME_MAJOR, !r->batch_first);
    ox_end(e, &o);
    p.h = ox_reshape(e, p.h, 2, flat);
    return p;
}

// --- outputs

static bool wanted(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// Joins what the directions gave: part[d] of any shape becomes dims with 1 at `axis`.
static qrn_status write_output(ox_expr *e, uint32_t i, qc_tensor *const *part, uint32_t count,
                               uint32_t rank, const uint32_t *dims, uint32_t axis) {
    qc_tensor *view[2], *y = NULL;
    uint32_t one[4];
    memcpy(one, dims, rank * sizeof *one);
    one[axis] = 1;
    if (e->s == QRN_OK)
        e->s = ox_out_as(e->im, e->n, i, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y);
    if (count == 1)
        ox_into(e, y);
    for (uint32_t d = 0; d < count; d++)
        view[d] = ox_reshape(e, part[d], rank, one);
    if (count > 1) {
        ox_into(e, y);
        ox_concat(e, view, count, axis);
    }
    QRN_TRY(ox_done(e));
    return ox_out_end(e->im, e->n, i, OX_ONNX, y);
}

static qrn_status set_outputs(ox_import *im, const ox_node *n, const ox_recurrent *r,
                              uint32_t count, uint32_t *seq, uint32_t *state) {
    uint32_t forms[2][2][4] = {
        {{r->steps, r->directions, r->batch, r->hidden}, {r->directions, r->batch, r->hidden}},
        {{r->batch, r->steps, r->directions, r->hidden}, {r->batch, r->directions, r->hidden}}};
    memcpy(seq, forms[r->batch_first][0], 4 * sizeof *seq);
    memcpy(state, forms[r->batch_first][1], 3 * sizeof *state);
    for (uint32_t i = 0; i < count; i++)
        if (wanted(n, i))
            QRN_TRY(ox_set_output(im, n, i, ox_input(im, n, 0)->type, i ? 3 : 4, i ? state : seq));
    return QRN_OK;
}

typedef ox_pass (*pass_fn)(ox_expr *e, const ox_recurrent *r, uint32_t dir);

static qrn_status import_network(ox_import *im, const ox_node *n, ox_recurrent *r, pass_fn op) {
    uint32_t count = r->gates == 4 ? 3 : 2, seq[4], state[3];
    QRN_TRY(set_outputs(im, n, r, count, seq, state));
    bool unroll = !op || !r->plain || r->lengths || r->run_time_lengths;
    if (unroll && r->steps > MAX_STEPS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "%u steps must be unrolled, at most %d can be: QNN has no such network",
                       r->steps, MAX_STEPS);
    ox_expr e = ox_begin(im, n);
    r->x = whole(&e, 0);
    r->initial[0] = whole(&e, 5);
    r->initial[1] = r->gates == 4 ? whole(&e, 6) : NULL;
    QRN_TRY(ox_done(&e));
    qc_tensor *parts[3][2];
    for (uint32_t d = 0; d < r->directions; d++) {
        ox_pass p = unroll ? ox_unroll(&e, r, d) : op(&e, r, d);
        parts[0][d] = p.seq;
        parts[1][d] = p.h;
        parts[2][d] = p.c;
    }
    if (wanted(n, 0))
        QRN_TRY(write_output(&e, 0, parts[0], r->directions, 4, seq, r->batch_first ? 2 : 1));
    for (uint32_t i = 1; i < count; i++)
        if (wanted(n, i))
            QRN_TRY(write_output(&e, i, parts[i], r->directions, 3, state, r->batch_first ? 1 : 0));
    return ox_done(&e);
}

static qrn_status import_lstm(ox_import *im, const ox_node *n) {
    static const char *const defaults[] = {"Sigmoid", "Tanh", "Tanh"};
    ox_recurrent r;
    QRN_TRY(read_recurrent(im, n, 4, &r));
    QRN_TRY(ox_read_activations(im, n, &r, 3, defaults));
    return import_network(im, n, &r, lstm_op);
}

static qrn_status import_gru(ox_import *im, const ox_node *n) {
    static const char *const defaults[] = {"Sigmoid", "Tanh"};
    ox_recurrent r;
    QRN_TRY(read_recurrent(im, n, 3, &r));
    QRN_TRY(ox_read_activations(im, n, &r, 2, defaults));
    return import_network(im, n, &r, gru_op);
}

#define MOST_STEPS_16 32 // in 16 bits, whose rounding each step hands on

static qrn_status import_rnn(ox_import *im, const ox_node *n) {
    static const char *const defaults[] = {"Tanh"};
    ox_recurrent r;
    QRN_TRY(read_recurrent(im, n, 1, &r));
    QRN_TRY(ox_read_activations(im, n, &r, 1, defaults));
    if (ox_is_fixed16(im) && r.steps > MOST_STEPS_16)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its %u steps would be too coarse in 16 bits (at most %d)", r.steps,
                       MOST_STEPS_16);
    return import_network(im, n, &r, NULL);
}

const ox_importer ox_import_recurrent[] = {
    {"LSTM", "", import_lstm},
    {"DynamicQuantizeLSTM", "com.microsoft", ox_import_dynamic_lstm},
    {"GRU", "", import_gru},
    {"RNN", "", import_rnn},
    {0},
};
