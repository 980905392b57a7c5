// SPDX-License-Identifier: MIT
//
// Loops of the depthwise convolution: which taps of a window lie inside the input.
#include "kernels/conv/depthwise_f32.h"

#include "kernels/conv/conv.h"

#define TAPS 64 // handed over at a time

bool qrn_depthwise_f32_works(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    uint32_t last = a->n_spatial + 1;
    return !a->transposed && a->group == k->in[0]->dims[last] && a->group == k->out[0]->dims[last];
}

typedef void (*cell_fn)(const qrn_depthwise_cell *d);

static qrn_status run(const qrn_kcall *k, cell_fn cell_sum) {
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, k->in[0], k->out[0], k->in[1]->dims);
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    size_t offset[TAPS], weight[TAPS], begin, end, taps = qrn_conv_taps(&g);
    qrn_split(qrn_conv_cells(&g), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        qrn_conv_cell at = qrn_conv_cell_at(&g, cell);
        qrn_depthwise_cell d = {.x = k->in[0]->data,
                                .w = k->in[1]->data,
                                .from = bias,
                                .y = (float *)k->out[0]->data + cell * g.cout,
                                .offset = offset,
                                .weight = weight,
                                .channels = g.cin};
        for (size_t first = 0; first < taps; first += TAPS) {
            d.taps = qrn_conv_inside(&g, &at, first, TAPS, offset, weight);
            for (size_t t = 0; t < d.taps; t++) {
                offset[t] *= g.cin;
                weight[t] *= g.cin;
            }
            cell_sum(&d);
            d.from = d.y;
        }
    }
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_depthwise_f32_avx512(const qrn_kcall *k) {
    return run(k, qrn_depthwise_cell_avx512);
}
qrn_status qrn_depthwise_f32_avx2(const qrn_kcall *k) { return run(k, qrn_depthwise_cell_avx2); }
#elif defined(__aarch64__)
qrn_status qrn_depthwise_f32_neon(const qrn_kcall *k) { return run(k, qrn_depthwise_cell_neon); }
#endif
