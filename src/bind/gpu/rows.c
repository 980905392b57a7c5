// SPDX-License-Identifier: MIT
//
// Arguments and work-groups of kernels over rows.
#include "bind/gpu/rows.h"

#define SHORT_ROW 8    // elements that a work item of a GPU does alone
#define MIDDLE_ROW 128 // elements for which 32 work items are enough

// How a row is shared out. Few shapes, so that there are few programs.
static void share(const qrn_gpu_binder *b, const qrn_walk *inner, qrn_gpu_rows *r) {
    bool dense = qrn_walk_step(inner, 0) == 1;
    size_t most = b->opt->device ? b->opt->device->info->max_group : 256;
    r->item = qrn_gpu_is_cpu(b) || r->n <= SHORT_ROW || most < 64;
    r->lx = r->item ? 1 : dense ? 1 : 32;
    r->ly = r->item      ? 1
            : dense      ? (r->n <= MIDDLE_ROW || most < 256 ? 32 : 256)
            : most < 256 ? 2
                         : 8;
}

qrn_gpu_kernel qrn_gpu_rows_begin(qrn_gpu_binder *b, const qrn_cstep *s, const char *source,
                                  const char *entry, const qrn_walk *outer, const qrn_walk *inner,
                                  qrn_gpu_rows *r) {
    *r = (qrn_gpu_rows){.n_rows = qrn_walk_count(outer), .n = qrn_walk_count(inner)};
    share(b, inner, r);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, source, entry);
    qrn_gpu_define(&k, "LX", "%zu", r->lx);
    qrn_gpu_define(&k, "LY", "%zu", r->ly);
    qrn_gpu_define(&k, "NUM", "%s", s->domain == QRN_DOMAIN_I64 ? "long" : "float");
    return k;
}

// Parameters for at(): offsets of operand `o` of a walk.
static uint32_t walk_params(const qrn_walk *w, uint32_t o, int32_t *p) {
    p[0] = (int32_t)w->rank;
    for (uint32_t d = 0; d < w->rank; d++) {
        p[1 + 2 * d] = (int32_t)w->dims[w->rank - 1 - d];
        p[2 + 2 * d] = (int32_t)w->stride[o][w->rank - 1 - d];
    }
    return 1 + 2 * w->rank;
}

// Do rows follow each other as they are, and is the second operand one for all of them?
static bool are_plain(const qrn_gpu_rows *r, const qrn_walk *outer, const qrn_walk *inner) {
    return outer->rank == 1 && inner->rank == 1 && outer->stride[0][0] == r->n &&
           inner->stride[0][0] == 1 &&
           (outer->n < 2 || (outer->stride[1][0] == 0 && inner->stride[1][0] == 1));
}

void qrn_gpu_rows_args(qrn_gpu_kernel *k, const qrn_gpu_rows *r, const qrn_walk *outer,
                       const qrn_walk *inner) {
    const qrn_walk *const walks[] = {outer, inner};
    int32_t p[4 + 4 * (1 + 2 * QRN_WALK_DIMS)];
    bool plain = are_plain(r, outer, inner);
    uint32_t n = 4;
    qrn_gpu_define(k, "PLAIN_ROWS", "%d", plain);
    for (uint32_t o = 0; o < 2; o++)
        for (uint32_t w = 0; w < 2; w++) {
            p[2 * o + w] = (int32_t)n;
            if (o < walks[w]->n)
                n += walk_params(walks[w], o, p + n);
        }
    if (!plain)
        qrn_gpu_params(k, "P", p, n);
    qrn_gpu_int(k, (int64_t)r->n_rows);
    qrn_gpu_int(k, (int64_t)r->n);
}

qrn_status qrn_gpu_rows_end(qrn_gpu_kernel *k, const qrn_gpu_rows *r) {
    const size_t global[] = {r->n_rows, r->ly}, local[] = {r->lx, r->ly};
    return qrn_gpu_kernel_end(k, r->item ? 1 : 2, global, r->item ? NULL : local);
}

void qrn_gpu_axis_walks(const qrn_shape *x, uint32_t axis, qrn_walk *outer, qrn_walk *inner) {
    size_t stride = 1, strides[QRN_MAX_RANK];
    for (uint32_t d = x->rank; d-- > 0; stride *= x->dims[d])
        strides[d] = stride;
    qrn_walk_init(outer, 1);
    qrn_walk_init(inner, 1);
    for (uint32_t d = 0; d < x->rank; d++)
        qrn_walk_push(d == axis ? inner : outer, x->dims[d], &strides[d]);
}

qrn_status qrn_gpu_check_domain(const qrn_gpu_binder *b, const qrn_cstep *s, bool ints) {
    if (s->domain == QRN_DOMAIN_F32 || (ints && s->domain == QRN_DOMAIN_I64))
        return QRN_OK;
    return qrn_gpu_reject(
        b, s, ints ? "it is neither on floats nor on plain integers" : "it is not on floats");
}
