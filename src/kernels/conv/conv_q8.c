// SPDX-License-Identifier: MIT
//
// Reference rows of the quantized convolution: the definition of gemm/epilogue/requant.h, written
// out.
#include "kernels/conv/conv.h"
#include "kernels/gemm/epilogue/requant.h"

// Group of an output channel in the filter's encoding: transposed filters share it between groups.
static size_t channel_group(const qrn_conv_geometry *g, size_t co) {
    return g->transposed ? co % (g->cout / g->group) : co;
}

qrn_status qrn_conv_q8_ref(const qrn_kcall *k) {
    const qrn_view *xv = k->in[0], *wv = k->in[1], *yv = k->out[0];
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, xv, yv, wv->dims);
    const qrn_view *bias = k->n_in > 2 ? k->in[2] : NULL;
    size_t begin, end;
    qrn_split(qrn_conv_cells(&g), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        qrn_conv_cell at = qrn_conv_cell_at(&g, cell);
        for (size_t co = 0, n; co < g.cout; co += n) {
            int64_t acc[QRN_CONV_CHANNELS];
            size_t cin = g.cin / g.group, first = co / (g.cout / g.group) * cin;
            n = qrn_conv_run(&g, co);
            for (size_t j = 0; j < n; j++)
                acc[j] = qrn_bias_sum(bias, co + j);
            for (size_t tap = 0; tap < qrn_conv_taps(&g); tap++) {
                int64_t from = qrn_conv_source(&g, &at, tap);
                if (from < 0)
                    continue;
                for (size_t ci = 0; ci < cin; ci++) {
                    size_t xi = (size_t)from * g.cin + first + ci;
                    size_t wi = qrn_conv_weight(&g, tap, ci, co);
                    int64_t x = qrn_q_load(xv, xi) + xv->quant->offset;
                    for (size_t j = 0; j < n; j++)
                        acc[j] += x * (qrn_q_load(wv, wi + j) +
                                       qrn_group_offset(wv->quant, channel_group(&g, co + j)));
                }
            }
            for (size_t j = 0; j < n; j++) {
                qrn_requant r = qrn_requant_of(xv, wv, channel_group(&g, co + j), yv);
                r.zero_half += qrn_bias_real(bias, co + j, yv);
                qrn_q_store(yv, cell * g.cout + co + j, qrn_requantize(&r, acc[j]));
            }
        }
    }
    qrn_report(k, begin * g.cout, end * g.cout);
    return QRN_OK;
}

qrn_status qrn_conv_q8_block_ref(const qrn_kcall *k) {
    const qrn_view *xv = k->in[0], *wv = k->in[1], *yv = k->out[0];
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, xv, yv, wv->dims);
    const qrn_view *bias = k->n_in > 2 ? k->in[2] : NULL;
    size_t cin = g.cin / g.group, begin, end;
    qrn_split(qrn_conv_cells(&g), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        qrn_conv_cell at = qrn_conv_cell_at(&g, cell);
        for (size_t co = 0; co < g.cout; co++) {
            qrn_requant r = qrn_requant_of(xv, wv, 0, yv);
            qrn_block_sum s = {.t = r.zero_half + qrn_bias_real(bias, co, yv)};
            for (size_t tap = 0; tap < qrn_conv_taps(&g); tap++) {
                int64_t from = qrn_conv_source(&g, &at, tap);
                if (from < 0)
                    continue;
                size_t x = (size_t)from * g.cin + co / (g.cout / g.group) * cin;
                for (size_t ci = 0; ci < cin; ci++)
                    qrn_block_add(&s, xv, x + ci, wv, qrn_conv_weight(&g, tap, ci, co), yv);
            }
            qrn_block_flush(&s, xv, wv, yv);
            qrn_q_store(yv, cell * g.cout + co, qrn_requant_clamp(&r, floor(s.t)));
        }
    }
    qrn_report(k, begin * g.cout, end * g.cout);
    return QRN_OK;
}
