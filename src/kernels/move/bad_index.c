// SPDX-License-Identifier: MIT
#include "kernels/move/bad_index.h"

#include "kernels/gemm/dense/dense_table.h"
#include "kernels/move/gather.h"

#include <inttypes.h>
#include <stdio.h>

const char *qrn_bad_index(const qrn_family *f, const qrn_kcall *k, char *buf, size_t size) {
    int64_t dim = -1;
    if (f == &qrn_family_gather || f == &qrn_family_gather_elements)
        dim = k->in[0]->dims[((const qrn_axis_args *)k->args)->axis];
    else if (f == &qrn_family_dense_table)
        dim = ((const qrn_dense_table_args *)k->args)->rows;
    size_t n = dim < 0 ? 0 : qrn_view_count(k->in[1]), i = 0;
    while (i < n && qrn_index_at(k->in[1], i, dim) >= 0)
        i++;
    if (i == n)
        return NULL;
    if (qrn_dtype_is_fixed(k->in[1]->dtype))
        snprintf(buf, size, "index %g (number %zu of %zu) is outside of the dimension of %" PRId64,
                 qrn_view_real(k->in[1], i), i + 1, n, dim);
    else
        snprintf(buf, size,
                 "index %" PRId64 " (number %zu of %zu) is outside of the dimension of %" PRId64,
                 qrn_view_int(k->in[1], i), i + 1, n, dim);
    return buf;
}
