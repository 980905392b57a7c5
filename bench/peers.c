// SPDX-License-Identifier: MIT
//
// What the peers share: the matrices of a matmul. They are written to, because memory that was only
// cleared is one page of zeros for all of it.
#include "peers.h"

#include <stdlib.h>

static float *filled(size_t n) {
    float *v = malloc(n * sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
    return v;
}

void qb_operands_free(void *operands) {
    qb_operands *o = operands;
    free(o->a);
    free(o->b);
    free(o->c);
    free(o);
}

qb_operands *qb_operands_make(const qb_matmul *p) {
    qb_operands *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->p = *p;
    o->a = filled((size_t)p->batch * p->rows * p->depth);
    o->b = filled((size_t)p->batch * p->depth * p->cols);
    o->c = filled((size_t)p->batch * p->rows * p->cols);
    if (o->a && o->b && o->c)
        return o;
    qb_operands_free(o);
    return NULL;
}
