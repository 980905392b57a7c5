// SPDX-License-Identifier: MIT
//
// Look-up of bytes for NEON: the table lies in 16 registers, and each of four look-ups keeps what
// the ones before it found when the index is not in its quarter.
#include "kernels/eltwise/lut_rows.h"

#include <arm_neon.h>

void qrn_lut_bytes_neon(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n) {
    uint8x16x4_t part[4];
    for (int i = 0; i < 4; i++)
        part[i] = vld1q_u8_x4(table + 64 * i);
    const uint8x16_t quarter = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t c = vld1q_u8(q + i), v = vqtbl4q_u8(part[0], c);
        for (int j = 1; j < 4; j++) {
            c = vsubq_u8(c, quarter);
            v = vqtbx4q_u8(v, part[j], c);
        }
        vst1q_u8(y + i, v);
    }
    for (; i < n; i++)
        y[i] = table[q[i]];
}
