// SPDX-License-Identifier: MIT
//
// Results of a channel in plain C. Most such channels have one result only, whatever the input.
#include "kernels/conv/depthwise_wide.h"

#include "kernels/conv/depthwise_q8.h"
#include "kernels/gemm/epilogue/requant.h"

#include <stdlib.h>

typedef struct channel {
    const qrn_kcall *k;
    const qrn_conv_geometry *g;
    size_t number;
    qrn_requant requant;
    int64_t bias;
    uint8_t flip; // as in qrn_depthwise_q8_cell
    int32_t x_offset;
    int32_t w[QRN_DEPTHWISE_TAPS]; // with their offset
    int64_t reach;                 // no sum of products is larger
} channel;

static void prepare(channel *c) {
    const qrn_view *x = c->k->in[0], *w = c->k->in[1];
    int32_t x_low, x_high;
    c->requant = qrn_requant_of(x, w, c->number, c->k->out[0]);
    c->flip = x->dtype == QRN_DTYPE_SQ8 ? 0x80 : 0;
    c->x_offset = x->quant->offset - c->flip;
    x_low = abs(c->x_offset);
    x_high = abs(c->x_offset + UINT8_MAX);
    c->reach = 0;
    for (size_t t = 0; t < qrn_conv_taps(c->g); t++) {
        c->w[t] = qrn_q_load(w, t * c->g->cin + c->number) + qrn_group_offset(w->quant, c->number);
        c->reach += (int64_t)abs(c->w[t]) * (x_low > x_high ? x_low : x_high);
    }
}

static void sum_cells(const channel *c, size_t begin, size_t end) {
    const qrn_conv_geometry *g = c->g;
    size_t source[QRN_DEPTHWISE_TAPS], tap[QRN_DEPTHWISE_TAPS], taps = 0;
    const uint8_t *first = (const uint8_t *)c->k->in[0]->data + c->number, *x = first;
    for (size_t cell = begin; cell < end; cell++) {
        if (cell > begin && qrn_conv_slides(g, cell)) {
            x += (size_t)g->stride[2] * g->cin;
        } else {
            qrn_conv_cell at = qrn_conv_cell_at(g, cell);
            x = first;
            taps = qrn_conv_inside(g, &at, 0, QRN_DEPTHWISE_TAPS, source, tap);
        }
        int32_t sum = 0;
        for (size_t t = 0; t < taps; t++)
            sum += ((uint8_t)(x[source[t] * g->cin] ^ c->flip) + c->x_offset) * c->w[tap[t]];
        qrn_q_store(c->k->out[0], cell * g->cin + c->number,
                    qrn_requantize(&c->requant, c->bias + sum));
    }
}

void qrn_depthwise_wide(const qrn_kcall *k, const qrn_conv_geometry *g, int32_t most, size_t c0,
                        size_t c1, size_t begin, size_t end) {
    const int32_t *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    for (size_t i = c0; bias && i < c1; i++) {
        if (!qrn_depthwise_is_wide(bias[i], most))
            continue;
        channel c = {.k = k, .g = g, .number = i, .bias = bias[i]};
        prepare(&c);
        // Results grow with sums.
        int32_t low = qrn_requantize(&c.requant, c.bias - c.reach);
        int32_t high = qrn_requantize(&c.requant, c.bias + c.reach);
        if (low != high)
            sum_cells(&c, begin, end);
        else
            for (size_t cell = begin; cell < end; cell++)
                qrn_q_store(k->out[0], cell * g->cin + i, low);
    }
}
