// SPDX-License-Identifier: MIT
//
// Recurrent layers on the GPU.
#include "bind/gpu/binder.h"

#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/steps.h"

// The operands of an LSTM in the op's order: names in kernels/lstm.cl.
static const char *const lstm_in[] = {"X",  "XF", "XC", "XO",  "HF",   "HC",    "HO",   "BF", "BC",
                                      "BO", "H0", "C0", "LNI", "LNF",  "LNC",   "LNO",  "XI", "HI",
                                      "PI", "PF", "PO", "BI",  "PROJ", "BPROJ", "RESET"};
static const char *const lstm_out[] = {"Y", "CN", "HN", "GI", "GF", "GC", "GO", "HL"};

#define N_IN (sizeof lstm_in / sizeof lstm_in[0])
#define N_OUT (sizeof lstm_out / sizeof lstm_out[0])

// Weights stay fp32 in every mode: recurrence lets the rounding of 16 bits grow step by step.
static void keep_f32(qrn_gpu_binder *b, qrn_val v) {
    qrn_gpu_place *at = &b->plan->places[v];
    if (at->space == QRN_GPU_CONST && at->index == UINT32_MAX && b->first[v] == UINT32_MAX &&
        qrn_compiled_owner(b->cg, v) == v && qrn_gpu_value(b, v)->dtype == QRN_DTYPE_F32)
        at->type = QRN_DTYPE_F32;
}

static qrn_status bind_lstm(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_lstm_args *a = s->args;
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]);
    sequence q = sequence_of(&x, a->time_major);
    const qrn_shape *wx = &qrn_gpu_value(b, s->in[1])->shape,
                    *wh = &qrn_gpu_value(b, s->in[4])->shape;
    uint32_t units = wx->dims[0], out = wh->dims[1], inputs = wx->dims[1];
    size_t row = (size_t)out + 6u * (size_t)units, lanes = qrn_gpu_is_cpu(b) ? 1 : 64;
    bool doubles = b->opt->device && b->opt->device->info->fp64;
    qrn_dtype real = doubles ? QRN_DTYPE_F64 : QRN_DTYPE_F32;
    qrn_val work, state = QRN_VAL_NONE;
    if (s->domain != QRN_DOMAIN_F32)
        return qrn_gpu_reject(b, s, "it is not on floats");
    QRN_TRY(qrn_gpu_scratch(b, real, q.batch * row, &work));
    if (s->state_bytes)
        QRN_TRY(qrn_gpu_state(b, real, q.batch * (1u + out + units), &state));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_lstm, "lstm");
    qrn_gpu_define(&k, "LANES", "%zu", lanes);
    int32_t ins = 0, outs = state != QRN_VAL_NONE ? 1 << N_OUT : 0;
    for (uint32_t i = 0; i < N_IN; i++) { // x and the work space stand in for what is absent
        bool there = i < s->n_in && s->in[i] != QRN_VAL_NONE;
        ins |= there << i;
        if (there)
            keep_f32(b, s->in[i]);
        qrn_gpu_in(&k, lstm_in[i], there ? s->in[i] : s->in[0]);
    }
    for (uint32_t i = 0; i < N_OUT; i++) {
        bool there = i < s->n_out && s->out[i] != QRN_VAL_NONE;
        outs |= there << i;
        qrn_gpu_out(&k, lstm_out[i], there ? s->out[i] : work);
    }
    qrn_gpu_out(&k, "WORK", work);
    qrn_gpu_out(&k, "ST", state != QRN_VAL_NONE ? state : work);
    const int32_t p[] = {(int32_t)q.batch,
                         (int32_t)q.n_steps,
                         (int32_t)q.step_stride,
                         (int32_t)q.row_stride,
                         (int32_t)inputs,
                         (int32_t)units,
                         (int32_t)out,
                         a->reverse,
                         ins,
                         outs};
    qrn_gpu_params(&k, p, sizeof p / sizeof p[0]);
    qrn_gpu_float(&k, (float)a->cell_clip);
    qrn_gpu_float(&k, (float)a->out_clip);
    const size_t global = q.batch * lanes;
    return qrn_gpu_kernel_end(&k, 1, &global, lanes > 1 ? &lanes : NULL);
}

const qrn_gpu_op qrn_gpu_ops_seq[] = {
    {.op = &qrn_cop_lstm, .bind = bind_lstm},
    {0},
};
