// SPDX-License-Identifier: MIT
//
// What the fast Fourier transforms share: points of the unit circle, the order of radices, and how
// a task's scratch is laid out.
#ifndef QRN_KERNELS_SIGNAL_FFT_H
#define QRN_KERNELS_SIGNAL_FFT_H

#include "kernels/kernel.h"
#include "kernels/signal/stft.h"

#include <string.h>

#define QRN_FFT_LONGEST 32768 // frames; a task's cells then take less than 16 MiB each

// cos and sin of 2 pi i / n (of pi i^2 / n: a chirp), i < n.
typedef struct qrn_circle {
    size_t n;
    double *cosine, *sine;
} qrn_circle;

typedef struct qrn_fft {
    size_t n;          // length of the transform
    qrn_circle circle; // of that, or of the power of 2 that stands in for it
    qrn_circle chirp;  // then only
} qrn_fft;

// The next radix for what is left of a length, 2 to 13; 0 when it has a larger prime factor.
static inline size_t qrn_fft_radix(size_t n) {
    if (n % 4 == 0)
        return 4;
    for (size_t p = 2; p <= 13; p++)
        if (n % p == 0)
            return p;
    return 0;
}

// Bytes of scratch for a task with `lanes` doubles to a vector.
size_t qrn_fft_bytes(size_t n, size_t lanes);
// Lays out a task's scratch and fills the circles; where the cells begin (two or three arrays of
// circle.n).
void *qrn_fft_open(qrn_fft *f, size_t n, void *room);

qrn_status qrn_stft_f32_avx2(const qrn_kcall *k);
qrn_status qrn_stft_f32_avx512(const qrn_kcall *k);
qrn_status qrn_stft_f32_neon(const qrn_kcall *k);

#endif
