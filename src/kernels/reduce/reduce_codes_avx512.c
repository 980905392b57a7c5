// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for AVX512.
#include "kernels/reduce/reduce_codes.h"
#include "kernels/reduce/reduce_rows.h"

#define C uint8_t
#define A uint16_t
#define FLUSH 256
#define NAME(x) x##_8
#include "kernels/reduce/reduce_codes.inc"
#undef C
#undef A
#undef FLUSH
#undef NAME
#define C uint16_t
#define A uint32_t
#define FLUSH 65536
#define NAME(x) x##_16
#include "kernels/reduce/reduce_codes.inc"

qrn_status qrn_reduce_codes_avx512(const qrn_kcall *k) {
    const qrn_reduce_args *a = k->args;
    qrn_walk outer, inner;
    qrn_reduce_walks(k->in[0], a->axes, &outer, &inner);
    if (!qrn_walk_count(&inner))
        return QRN_E_ARGUMENT;
    if (qrn_view_elem(k->in[0]) == 1)
        reduce_8(k, &outer, &inner);
    else
        reduce_16(k, &outer, &inner);
    return QRN_OK;
}
