// SPDX-License-Identifier: MIT
//
// Recurrent layers, attention with grouped heads, rotary embedding and Fourier transforms on the
// GPU.
#include "bind/gpu/rows.h"

#include "kernels/attention/attention.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/steps.h"
#include "kernels/signal/stft.h"

#include <math.h>

// The operands of the layers in the ops' order: names in kernels/lstm.cl and kernels/gru.cl.
static const char *const lstm_in[] = {"X",  "XF", "XC", "XO",  "HF",   "HC",    "HO",   "BF", "BC",
                                      "BO", "H0", "C0", "LNI", "LNF",  "LNC",   "LNO",  "XI", "HI",
                                      "PI", "PF", "PO", "BI",  "PROJ", "BPROJ", "RESET"};
static const char *const lstm_out[] = {"Y", "CN", "HN", "GI", "GF", "GC", "GO", "HL"};
static const char *const gru_in[] = {"X",   "XZ",  "XR",  "XN",  "HZ",  "HR", "HN",   "BXZ",
                                     "BXR", "BXN", "BHZ", "BHR", "BHN", "H0", "RESET"};
static const char *const gru_out[] = {"Y", "HL"};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

// Weights stay fp32 in every mode: recurrence lets the rounding of 16 bits grow step by step.
static void keep_f32(qrn_gpu_binder *b, qrn_val v) {
    qrn_gpu_place *at = &b->plan->places[v];
    if (at->space == QRN_GPU_CONST && at->index == UINT32_MAX && b->first[v] == UINT32_MAX &&
        qrn_compiled_owner(b->cg, v) == v && qrn_gpu_value(b, v)->dtype == QRN_DTYPE_F32)
        at->type = QRN_DTYPE_F32;
}

// A layer that is being bound: LANES work items do a row of the batch.
typedef struct layer {
    qrn_gpu_kernel k;
    const qrn_cstep *s;
    sequence q;
    size_t lanes;
    qrn_val work, state; // numbers of each row, and those that are kept between executions
    int32_t ins, outs;   // bits: which operands there are
} layer;

static qrn_status layer_begin(qrn_gpu_binder *b, const qrn_cstep *s, bool time_major, size_t row,
                              size_t kept, layer *l) {
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]);
    *l = (layer){.s = s,
                 .q = sequence_of(&x, time_major),
                 .lanes = qrn_gpu_is_cpu(b) ? 1 : 64,
                 .state = QRN_VAL_NONE};
    bool doubles = b->opt->device && b->opt->device->info->fp64;
    qrn_dtype real = doubles ? QRN_DTYPE_F64 : QRN_DTYPE_F32;
    if (s->domain != QRN_DOMAIN_F32)
        return qrn_gpu_reject(b, s, "it is not on floats");
    QRN_TRY(qrn_gpu_scratch(b, real, l->q.batch * row, &l->work));
    return s->state_bytes ? qrn_gpu_state(b, real, l->q.batch * (1u + kept), &l->state) : QRN_OK;
}

// Starts the kernel with all operands; x and the work space stand in for what is absent.
static void layer_operands(qrn_gpu_binder *b, layer *l, const char *source, const char *entry,
                           const char *const *in, uint32_t n_in, const char *const *out,
                           uint32_t n_out) {
    const qrn_cstep *s = l->s;
    l->k = qrn_gpu_kernel_begin(b, source, entry);
    qrn_gpu_define(&l->k, "LANES", "%zu", l->lanes);
    for (uint32_t i = 0; i < n_in; i++) {
        bool there = i < s->n_in && s->in[i] != QRN_VAL_NONE;
        l->ins |= there << i;
        if (there)
            keep_f32(b, s->in[i]);
        qrn_gpu_in(&l->k, in[i], there ? s->in[i] : s->in[0]);
    }
    for (uint32_t i = 0; i < n_out; i++) {
        bool there = i < s->n_out && s->out[i] != QRN_VAL_NONE;
        l->outs |= there << i;
        qrn_gpu_out(&l->k, out[i], there ? s->out[i] : l->work);
    }
    qrn_gpu_out(&l->k, "WORK", l->work);
    qrn_gpu_out(&l->k, "ST", l->state != QRN_VAL_NONE ? l->state : l->work);
}

static qrn_status layer_end(layer *l) {
    const size_t global = l->q.batch * l->lanes;
    return qrn_gpu_kernel_end(&l->k, 1, &global, l->lanes > 1 ? &l->lanes : NULL);
}

static qrn_status bind_lstm(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_lstm_args *a = s->args;
    const uint32_t *wx = qrn_gpu_shape(b, s->in[1])->dims, *wh = qrn_gpu_shape(b, s->in[4])->dims;
    uint32_t units = wx[0], out = wh[1];
    layer l;
    QRN_TRY(layer_begin(b, s, a->time_major, (size_t)out + 6u * (size_t)units, out + units, &l));
    layer_operands(b, &l, qrn_cl_lstm, "lstm", lstm_in, COUNT(lstm_in), lstm_out, COUNT(lstm_out));
    int32_t keeps = l.state != QRN_VAL_NONE ? 1 << COUNT(lstm_out) : 0;
    const int32_t p[] = {(int32_t)l.q.batch,
                         (int32_t)l.q.n_steps,
                         (int32_t)l.q.step_stride,
                         (int32_t)l.q.row_stride,
                         (int32_t)wx[1],
                         (int32_t)units,
                         (int32_t)out,
                         a->reverse,
                         l.ins,
                         l.outs | keeps};
    qrn_gpu_params(&l.k, "P", p, COUNT(p));
    qrn_gpu_float(&l.k, (float)a->cell_clip);
    qrn_gpu_float(&l.k, (float)a->out_clip);
    return layer_end(&l);
}

static qrn_status bind_gru(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_gru_args *a = s->args;
    const uint32_t *wx = qrn_gpu_shape(b, s->in[1])->dims;
    layer l;
    QRN_TRY(layer_begin(b, s, a->time_major, 5u * (size_t)wx[0], wx[0], &l));
    layer_operands(b, &l, qrn_cl_gru, "gru", gru_in, COUNT(gru_in), gru_out, COUNT(gru_out));
    const int32_t p[] = {(int32_t)l.q.batch,
                         (int32_t)l.q.n_steps,
                         (int32_t)l.q.step_stride,
                         (int32_t)l.q.row_stride,
                         (int32_t)wx[1],
                         (int32_t)wx[0],
                         a->reverse,
                         a->linear_before_reset,
                         l.ins,
                         l.state != QRN_VAL_NONE};
    qrn_gpu_params(&l.k, "P", p, COUNT(p));
    return layer_end(&l);
}

// --- attention

static qrn_val input(const qrn_cstep *s, uint32_t i) {
    return i < s->n_in ? s->in[i] : QRN_VAL_NONE;
}

static qrn_status bind_rotary(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_rotary_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims;
    const qrn_shape *table = qrn_gpu_shape(b, s->in[1]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_seq, "rotary");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "C", s->in[1]);
    qrn_gpu_in(&k, "S", s->in[2]);
    qrn_gpu_in(&k, "I", input(s, 3));
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_fault(&k, s);
    QRN_GPU_INTS(&k, x[1], x[2], x[3], table->dims[table->rank - 1], table->dims[0], a->interleaved,
                 (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

typedef struct heads {
    uint32_t batch, queries, keys, past, size;
} heads;

static qrn_status join_positions(qrn_gpu_binder *b, const qrn_cstep *s, const heads *h,
                                 uint32_t which) {
    const qrn_gqa_args *a = s->args;
    qrn_val y = which < s->n_out ? s->out[which] : QRN_VAL_NONE;
    if (y == QRN_VAL_NONE)
        return QRN_OK;
    size_t total = qrn_gpu_count(b, y);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_seq, "join_positions");
    qrn_gpu_in(&k, "X", s->in[which]);
    qrn_gpu_in(&k, "PX", input(s, 2 + which) != QRN_VAL_NONE ? s->in[2 + which] : s->in[which]);
    qrn_gpu_out(&k, "Y", y);
    QRN_GPU_INTS(&k, h->keys, h->past, a->kv_heads, h->size, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static void mask_strides(const qrn_gpu_binder *b, qrn_val mask, int32_t strides[4]) {
    const qrn_shape *m = mask == QRN_VAL_NONE ? NULL : qrn_gpu_shape(b, mask);
    int32_t stride = 1;
    for (uint32_t i = 0; m && i < m->rank; i++) { // from the last dimension
        uint32_t dim = m->dims[m->rank - 1 - i];
        strides[3 - i] = dim == 1 ? 0 : stride;
        stride *= (int32_t)dim;
    }
}

static qrn_status bind_gqa(qrn_gpu_binder *b, const qrn_cstep *s) {
    static const char *const names[] = {"Q", "K", "V", "PK", "PV", "M", "N"};
    const qrn_gqa_args *a = s->args;
    const uint32_t *q = qrn_gpu_shape(b, s->in[0])->dims;
    qrn_val past = input(s, 3), scores;
    heads h = {q[0], q[1], qrn_gpu_shape(b, s->in[1])->dims[1],
               past == QRN_VAL_NONE ? 0 : qrn_gpu_shape(b, past)->dims[2], q[2] / a->q_heads};
    size_t rows = (size_t)h.batch * h.queries * a->q_heads, lanes = qrn_gpu_is_cpu(b) ? 1 : 64;
    int32_t p[12] = {(int32_t)h.batch,    (int32_t)h.queries,   (int32_t)h.keys, (int32_t)h.past,
                     (int32_t)a->q_heads, (int32_t)a->kv_heads, (int32_t)h.size, a->causal};
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    mask_strides(b, input(s, 5), p + 8);
    QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_F32, rows * (h.past + h.keys), &scores));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_seq, "gqa");
    qrn_gpu_define(&k, "LANES", "%zu", lanes);
    for (uint32_t i = 0; i < COUNT(names); i++) {
        bool cache = i == 3 || i == 4; // never read where there is none
        qrn_gpu_in(&k, names[i], cache && input(s, i) == QRN_VAL_NONE ? s->in[i - 2] : input(s, i));
    }
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_out(&k, "W", scores);
    qrn_gpu_fault(&k, s);
    qrn_gpu_params(&k, "P", p, COUNT(p));
    qrn_gpu_float(&k, (float)a->scale);
    const size_t global = rows * lanes;
    QRN_TRY(qrn_gpu_kernel_end(&k, 1, &global, lanes > 1 ? &lanes : NULL));
    QRN_TRY(join_positions(b, s, &h, 1));
    return join_positions(b, s, &h, 2);
}

// --- signals

static qrn_status bind_stft(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_stft_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_val table;
    void *data;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_F32, 2u * (size_t)a->length, &table, &data));
    for (uint32_t i = 0; i < a->length; i++) {
        double angle = 6.283185307179586476925 * i / a->length;
        ((float *)data)[i] = (float)cos(angle);
        ((float *)data)[a->length + i] = (float)sin(angle);
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_seq, "stft");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "W", input(s, 1));
    qrn_gpu_in(&k, "T", table);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, x[1], x[2], y[1], y[2], a->length, a->step, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

const qrn_gpu_op qrn_gpu_ops_seq[] = {
    {.op = &qrn_cop_lstm, .bind = bind_lstm},
    {.op = &qrn_cop_gru, .bind = bind_gru},
    {.op = &qrn_cop_rotary, .bind = bind_rotary, .epilogue = true},
    {.op = &qrn_cop_gqa, .bind = bind_gqa},
    {.op = &qrn_cop_stft, .bind = bind_stft, .epilogue = true},
    {0},
};
