// SPDX-License-Identifier: MIT
//
// Matrix multiplication, a run of a row of the result at a time.
#include "reference/elementwise.h"
#include "reference/reduce.h"

#define RUN 256 // elements of a row that are summed up at a time

// Everything in the rank of the result, the dimensions before the last two broadcast.
typedef struct matmul {
    qrn_nd y, bias, in[2]; // left and right
    qrn_kind domain;
    const qrn_addend *add;
} matmul;

static const unsigned char *place(const qrn_nd *x, const qrn_index *i, uint32_t rank, size_t k) {
    return x->data + qrn_index_offset(i, rank, x->steps) + (ptrdiff_t)k * x->steps[x->rank - 1];
}

// n results of the row at i, from column k on.
static void multiply(const matmul *m, const qrn_index *i, size_t k, size_t n) {
    qrn_num sum[RUN] = {{.u = 0}}, row[RUN], v; // 0.0 too
    const qrn_nd *a = &m->in[0], *b = &m->in[1], *y = &m->y;
    uint32_t last = y->rank - 1;
    const unsigned char *left = place(a, i, last, 0), *right = place(b, i, last - 1, k);
    for (size_t j = 0; j < a->dims[last]; j++) {
        qrn_nums_read(&v, a->dtype, left, 0, 1, m->domain);
        qrn_nums_read(row, b->dtype, right, b->steps[last], n, m->domain);
        for (size_t c = 0; c < n; c++)
            if (m->domain == QRN_KIND_FLOAT)
                sum[c].f += v.f * row[c].f;
            else
                sum[c].u += v.u * row[c].u;
        left += a->steps[last];
        right += b->steps[last - 1];
    }
    for (size_t c = 0; c < n && m->add; c++)
        sum[c].f *= m->add->alpha;
    if (m->add && m->add->bias)
        qrn_nums_read(row, m->bias.dtype, place(&m->bias, i, last, k), m->bias.steps[last], n,
                      m->domain);
    for (size_t c = 0; c < n && m->add && m->add->bias; c++)
        sum[c].f += m->add->beta * row[c].f;
    qrn_nums_cast(sum, n, m->domain, y->dtype, QRN_CAST_WRAP);
    qrn_nums_store(sum, y->dtype, (unsigned char *)(uintptr_t)place(y, i, last, k), y->steps[last],
                   n);
}

// Broadcasts the dimensions before the last two.
static qrn_nd stack(qrn_nd x, const qrn_nd *y) {
    size_t dims[QRN_ND_RANK];
    for (uint32_t d = 0; d < y->rank; d++)
        dims[d] = d + 2 < y->rank ? y->dims[d] : x.dims[x.rank + d - y->rank];
    qrn_nd_expand(&x, y->rank, dims);
    return x;
}

void qrn_nd_matmul(const qrn_nd *y, const qrn_nd *a, const qrn_nd *b, const qrn_addend *add) {
    matmul m = {.y = *y, .in = {stack(*a, y), stack(*b, y)}, .add = add};
    uint32_t last = y->rank - 1;
    qrn_index i = {{0}};
    m.domain = add ? QRN_KIND_FLOAT : qrn_nd_domain(y, m.in, 2);
    if (add && add->bias) {
        m.bias = *add->bias;
        qrn_nd_expand(&m.bias, y->rank, y->dims);
    }
    if (y->count == 0)
        return;
    do
        for (size_t k = 0; k < y->dims[last]; k += RUN)
            multiply(&m, &i, k, y->dims[last] - k < RUN ? y->dims[last] - k : RUN);
    while (qrn_index_next(&i, last, y->dims));
}
