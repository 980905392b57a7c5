// SPDX-License-Identifier: MIT
//
// Strided copy: the engine under every op that only rearranges. A nest of loops, outermost first,
// walks the source with any steps (negative and 0 too) and writes the destination densely:
//   for i0 < n[0]: for i1 < n[1]: ...   *dst++ = src[i0 * step[0] + i1 * step[1] + ...]
// Loops that continue each other are merged, contiguous runs are copied whole, and transpositions
// go by square tiles. Elements are bytes to it: any type of 1, 2, 4 or 8 bytes.
#ifndef QRN_KERNELS_STRIDED_H
#define QRN_KERNELS_STRIDED_H

#include "kernels/kernel.h"

#define QRN_STRIDED_LOOPS (2 * QRN_MAX_RANK + 1)

typedef struct qrn_strided {
    uint32_t n_loops;
    size_t n[QRN_STRIDED_LOOPS];
    ptrdiff_t step[QRN_STRIDED_LOOPS]; // in elements of the source
} qrn_strided;

// Adds the next inner loop.
static inline void qrn_strided_loop(qrn_strided *s, size_t n, size_t step) {
    s->n[s->n_loops] = n;
    s->step[s->n_loops++] = (ptrdiff_t)step;
}

// Copies part `task` of `n_tasks`; `src` is the element that the first iteration reads.
void qrn_strided_copy(const qrn_strided *s, const void *src, void *dst, size_t elem_bytes,
                      uint32_t task, uint32_t n_tasks);

// Tasks for a kernel that moves the bytes of out[0] once.
uint32_t qrn_move_tasks(const qrn_kcall *k, uint32_t n_threads);

#endif
