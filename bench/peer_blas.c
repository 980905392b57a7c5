// SPDX-License-Identifier: MIT
//
// OpenBLAS: matmuls in single precision, and convolutions that are one (1x1, stride 1, one group).
#include "peers.h"

#if defined(QB_OPENBLAS)
#include <cblas.h>
#include <stddef.h>

static void run(void *state) {
    const qb_operands *s = state;
    const qb_matmul *p = &s->p;
    int rows = (int)p->rows, depth = (int)p->depth, cols = (int)p->cols;
    for (size_t i = 0; i < p->batch; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, p->transposed ? CblasTrans : CblasNoTrans, rows,
                    cols, depth, 1.0f, s->a + i * p->rows * p->depth, depth,
                    s->b + i * p->depth * p->cols, p->transposed ? depth : cols, 0.0f,
                    s->c + i * p->rows * p->cols, cols);
}

static bool make_product(const qb_matmul *p, qb_peer *out) {
    qb_operands *o = qb_operands_make(p);
    if (!o)
        return false;
    openblas_set_num_threads(1);
    *out = (qb_peer){"OpenBLAS", o, run, qb_operands_free};
    return true;
}

static bool make_conv(const qb_conv *c, qb_peer *out) {
    if (c->quantized || c->kernel != 1 || c->stride != 1 || c->group != 1)
        return false;
    const qb_matmul p = {1, c->out * c->out, c->cin, c->cout, false};
    return make_product(&p, out);
}

const qb_library qb_openblas = {"OpenBLAS", NULL, make_conv, make_product};
#else
const qb_library qb_openblas = {"OpenBLAS", "not built with OpenBLAS (libopenblas-dev)", 0, 0};
#endif
