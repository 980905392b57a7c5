// SPDX-License-Identifier: MIT
//
// The buffer family.
#include "kernels/buffer/buffer.h"

#include "kernels/convert.h"

#include <string.h>

// Both tensors as [outer, slots, frame]: a frame is a run of bytes in each of the outer rows.
typedef struct queue {
    size_t outer, slots, fresh, frame; // fresh: frames of one call; frame in bytes
    uint64_t *count;
    char *frames;
} queue;

static queue queue_of(const qrn_kcall *k) {
    const qrn_buffer_args *a = k->args;
    const qrn_view *x = k->in[0];
    uint32_t dim = a->dim;
    return (queue){.outer = qrn_view_span(x, 0, dim),
                   .slots = a->slots,
                   .fresh = x->dims[dim],
                   .frame = qrn_view_span(x, dim + 1, x->rank) * qrn_view_elem(x),
                   .count = k->state,
                   .frames = (char *)k->state + QRN_BUFFER_STATE_HEADER};
}

static void drop(const queue *q, size_t n) {
    *q->count -= n;
    for (size_t o = 0; o < q->outer; o++) {
        char *row = q->frames + o * q->slots * q->frame;
        memmove(row, row + n * q->frame, *q->count * q->frame);
    }
}

static void append(const queue *q, const char *src) {
    for (size_t o = 0; o < q->outer; o++)
        memcpy(q->frames + (o * q->slots + *q->count) * q->frame, src + o * q->fresh * q->frame,
               q->fresh * q->frame);
    *q->count += q->fresh;
}

// The zero point, or 0.0, in every element.
static void clear(qrn_view *y) {
    size_t elem = qrn_view_elem(y), bytes = qrn_view_count(y) * elem;
    double zero = 0.0;
    qrn_view src = {.data = &zero, .dtype = QRN_DTYPE_F64};
    qrn_convert_range(&src, y, 0, 1, false);
    for (size_t at = elem; at < bytes; at += elem)
        memcpy((char *)y->data + at, y->data, elem);
}

static qrn_status buffer_raw(const qrn_kcall *k) {
    const qrn_buffer_args *a = k->args;
    queue q = queue_of(k);
    const qrn_view *reset = k->n_in > 1 ? k->in[1] : NULL;
    if (reset && *(const uint8_t *)reset->data)
        *q.count = 0;
    if (*q.count == q.slots)
        drop(&q, a->stride);
    append(&q, k->in[0]->data);
    if (a->mode == QRN_BUFFER_BLOCKING && *q.count < q.slots)
        return QRN_E_BLOCKED;
    if (*q.count < q.slots)
        clear(k->out[0]);
    size_t first = a->mode == QRN_BUFFER_RIGHT ? q.slots - *q.count : 0;
    for (size_t o = 0; o < q.outer; o++)
        memcpy((char *)k->out[0]->data + (o * q.slots + first) * q.frame,
               q.frames + o * q.slots * q.frame, *q.count * q.frame);
    return QRN_OK;
}

static const qrn_kernel buffer_rows[] = {
    {.name = "buffer_raw", .domain = QRN_DOMAIN_RAW, .fn = buffer_raw},
};
QRN_FAMILY(buffer, sizeof(qrn_buffer_args));
