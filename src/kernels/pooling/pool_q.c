// SPDX-License-Identifier: MIT
//
// Averages of quantized values, by the definition of pooling.h.
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/pooling/pooling.h"

// Has a window at most so many cells?
static bool has_at_most(const qrn_pooling_args *a, uint64_t most) {
    uint64_t cells = 1;
    for (uint32_t i = 0; i < a->n_spatial && cells <= most; i++)
        cells *= a->size[i];
    return cells <= most;
}

bool qrn_pool_avg_q_works(const qrn_kcall *k) {
    int32_t offset = k->in[0]->quant->offset;
    return qrn_pool_is_quantized(k) && offset >= -65535 && offset <= 65535 &&
           has_at_most(k->args, qrn_pool_cells_most(k->in[0]->dtype, offset));
}

bool qrn_pool_avg_bytes_works(const qrn_kcall *k) {
    return qrn_pool_avg_q_works(k) && has_at_most(k->args, QRN_POOL_BYTES_CELLS) &&
           qrn_view_elem(k->in[0]) == 1 && qrn_view_elem(k->out[0]) == 1;
}

qrn_pool_q qrn_pool_q_of(const qrn_kcall *k) {
    const qrn_quant *x = k->in[0]->quant, *y = k->out[0]->quant;
    int64_t lo, hi;
    qrn_quant_range(k->out[0]->dtype, y->bits, &lo, &hi);
    return (qrn_pool_q){.scale_x = (double)x->scale,
                        .scale_y = (double)y->scale,
                        .offset_x = x->offset,
                        .offset_y = y->offset,
                        .lo = (int32_t)lo,
                        .hi = (int32_t)hi};
}

int32_t qrn_pool_average(const qrn_pool_q *c, int64_t sum, size_t count) {
    double real = count ? (double)sum * c->scale_x / (double)count : 0.0;
    double t = floor(real / c->scale_y + 0.5) - (double)c->offset_y;
    if (t <= (double)c->lo)
        return c->lo;
    return t >= (double)c->hi ? c->hi : (int32_t)t;
}

qrn_status qrn_pool_avg_q_ref(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    qrn_pool_q q = qrn_pool_q_of(k);
    size_t channels = x->dims[x->rank - 1], begin, end;
    qrn_split(qrn_view_span(k->out[0], 0, x->rank - 1), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        qrn_pool_window w = qrn_pool_window_at(k, cell);
        for (size_t c = 0; c < channels; c++) {
            int64_t sum = 0;
            for (size_t i = 0; i < w.span[0].size; i++)
                for (size_t j = 0; j < w.span[1].size; j++)
                    for (size_t l = 0; l < w.span[2].size; l++)
                        sum += qrn_q_load(x, (qrn_pool_line(&w, i, j) + l) * channels + c) +
                               q.offset_x;
            int32_t average = qrn_pool_average(&q, sum, qrn_pool_count(&w, k->args));
            qrn_q_store(k->out[0], cell * channels + c, average);
        }
    }
    return QRN_OK;
}
