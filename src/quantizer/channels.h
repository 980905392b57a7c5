// SPDX-License-Identifier: MIT
//
// What calibration remembers of each channel of a tensor.
#ifndef QRN_QUANTIZER_CHANNELS_H
#define QRN_QUANTIZER_CHANNELS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qz_channel {
    double min, max; // valid where n > 0
    double sum, squares;
    uint64_t n;
} qz_channel;

typedef struct qz_channels {
    uint32_t n;
    size_t inner, inner_last; // elements of one channel that follow each other, in both layouts
    qz_channel *of;           // [n]
} qz_channels;

// Channels along a dimension of a tensor of that shape.
qrn_status qz_channels_init(qz_channels *c, uint32_t rank, const uint32_t *dims, uint32_t axis);
void qz_channels_free(qz_channels *c);
// channel_last: x has its dimensions in the order 0, 2, 3, ..., 1.
void qz_channels_add(qz_channels *c, const float *x, size_t n, bool channel_last);

#endif
