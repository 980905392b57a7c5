// SPDX-License-Identifier: MIT
//
// Binary ops on quantized values of 8 and 16 bits, compiled for NEON: loops that compilers
// vectorise. Groups of results are computed in fixed point, and again by the definition when one is
// not certain.
#include "kernels/eltwise/binary_q.h"
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/blocks.h"

#include <string.h>

#define GROUP 64
#define C uint8_t
#define NAME(x) x##_q8
#define SUM qrn_sum_q8
#define PRODUCT qrn_product_q8
#include "kernels/eltwise/binary_q.inc"
#undef C
#undef NAME
#undef SUM
#undef PRODUCT
#define C uint16_t
#define NAME(x) x##_q16
#define SUM qrn_sum_q16
#define PRODUCT qrn_product_q16
#include "kernels/eltwise/binary_q.inc"

qrn_status qrn_binary_q_neon(const qrn_kcall *k) {
    qrn_binary_q p;
    if (!qrn_binary_q_plan(k, &p))
        return qrn_binary_raw_neon(k); // the encoding has changed since this row was chosen
    qrn_binary_blocks(k, p.high > 255 ? block_q16 : block_q8, &p);
    return QRN_OK;
}
