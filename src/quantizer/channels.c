// SPDX-License-Identifier: MIT
//
// Statistics of channels.
#include "quantizer/channels.h"

#include "base/mem.h"

qrn_status qz_channels_init(qz_channels *c, uint32_t rank, const uint32_t *dims, uint32_t axis) {
    *c = (qz_channels){.n = dims[axis], .inner = 1, .inner_last = 1};
    for (uint32_t d = axis + 1; d < rank; d++)
        c->inner *= dims[d];
    if (axis != 1) // dimension 1 stands behind all others
        c->inner_last = c->inner * (axis > 1 ? dims[1] : 1);
    c->of = qrn_calloc(c->n * sizeof *c->of);
    return c->of ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a tensor's channels");
}

void qz_channels_free(qz_channels *c) {
    qrn_free(c->of);
    c->of = NULL;
}

static void add(qz_channel *c, double x) {
    c->min = c->n && c->min < x ? c->min : x;
    c->max = c->n && c->max > x ? c->max : x;
    c->sum += x;
    c->squares += x * x;
    c->n++;
}

void qz_channels_add(qz_channels *c, const float *x, size_t n, bool channel_last) {
    size_t inner = channel_last ? c->inner_last : c->inner;
    for (size_t i = 0; i < n; i += inner) {
        qz_channel *of = &c->of[i / inner % c->n];
        for (size_t k = i; k < i + inner && k < n; k++)
            add(of, (double)x[k]);
    }
}
