// SPDX-License-Identifier: MIT
//
// The masked softmax family.
#include "kernels/softmax/masked.h"

#include "kernels/walk.h"

#include <math.h>

typedef struct span {
    size_t first, last;
} span;

// The sequence of a batch that holds position `at`; empty when there is none.
static qrn_status sequence_of(const qrn_view *lengths, size_t batch, size_t at, size_t n, span *s) {
    size_t n_sequences = lengths->dims[1], start = 0;
    *s = (span){0, 0};
    for (size_t i = 0; i < n_sequences; i++) {
        double length = qrn_view_real(lengths, batch * n_sequences + i);
        if (!(length >= 0 && length <= (double)(n - start)))
            return QRN_E_ARGUMENT;
        size_t next = start + (size_t)length;
        if (at >= start && at < next)
            *s = (span){start, next};
        start = next;
    }
    return QRN_OK;
}

#define T float
#define ROW masked_row_f32
#define FN masked_softmax_f32_ref
#include "kernels/softmax/masked.inc"
#undef T
#undef ROW
#undef FN
#define T double
#define ROW masked_row_f64
#define FN masked_softmax_f64_ref
#include "kernels/softmax/masked.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

static const qrn_kernel masked_softmax_rows[] = {
    {.name = "masked_softmax_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = masked_softmax_f32_ref,
     .tasks = tasks},
    {.name = "masked_softmax_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = masked_softmax_f64_ref,
     .tasks = tasks},
};
QRN_FAMILY(masked_softmax, sizeof(qrn_masked_softmax_args));
