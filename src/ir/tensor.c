// SPDX-License-Identifier: MIT
//
// Shapes: counting, comparing, printing.
#include "ir/tensor.h"

#include "base/mem.h"

#include <stdio.h>

bool qrn_shape_count(const qrn_shape *s, size_t *count) {
    size_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++)
        if (!qrn_mul_size(n, s->dims[i], &n))
            return false;
    *count = n;
    return true;
}

bool qrn_shape_equal(const qrn_shape *a, const qrn_shape *b) {
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

const char *qrn_shape_text(const qrn_shape *s, char *buf, size_t size) {
    if (size == 0)
        return buf;
    size_t used = 0;
    uint32_t rank = s->rank <= QRN_MAX_RANK ? s->rank : QRN_MAX_RANK;
    int n = snprintf(buf, size, "[");
    for (uint32_t i = 0; n >= 0 && used + (size_t)n < size && i < rank; i++) {
        used += (size_t)n;
        n = snprintf(buf + used, size - used, i ? ",%u" : "%u", s->dims[i]);
    }
    if (n >= 0 && used + (size_t)n < size)
        snprintf(buf + used + (size_t)n, size - used - (size_t)n, "]");
    return buf;
}
