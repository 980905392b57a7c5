// SPDX-License-Identifier: MIT
//
// Tables of the fast Fourier transforms. Points of a circle are products of a coarse and a fine
// one, so that few of them need a cosine: off by less than 3e-16.
#include "kernels/signal/fft.h"

#include <math.h>

#define TURN 6.283185307179586476925
#define FINE 32
#define ALIGN 64

static bool is_direct(size_t n) {
    for (size_t radix; n > 1; n /= radix)
        if (!(radix = qrn_fft_radix(n)))
            return false;
    return true;
}

// Of the transform that is done: n, or the power of 2 that holds a convolution of that length.
static size_t padded(size_t n) {
    size_t m = 1;
    if (is_direct(n))
        return n;
    while (m < 2 * n - 1)
        m *= 2;
    return m;
}

static size_t rounded(size_t doubles) {
    return (doubles * sizeof(double) + ALIGN - 1) / ALIGN * ALIGN;
}

size_t qrn_fft_bytes(size_t n, size_t lanes) {
    size_t m = padded(n), arrays = m == n ? 2 : 3;
    return rounded(2 * m) + rounded(m == n ? 0 : 2 * n) + arrays * m * 2 * lanes * sizeof(double) +
           ALIGN;
}

static void fill(qrn_circle *c, size_t n, double *room) {
    double fine_c[FINE], fine_s[FINE];
    *c = (qrn_circle){n, room, room + n};
    for (size_t j = 0; j < FINE; j++) {
        fine_c[j] = cos(TURN * (double)j / (double)n);
        fine_s[j] = sin(TURN * (double)j / (double)n);
    }
    for (size_t i = 0; i < n; i += FINE) {
        double cosine = cos(TURN * (double)i / (double)n), sine = sin(TURN * (double)i / (double)n);
        for (size_t j = 0; j < FINE && i + j < n; j++) {
            c->cosine[i + j] = cosine * fine_c[j] - sine * fine_s[j];
            c->sine[i + j] = sine * fine_c[j] + cosine * fine_s[j];
        }
    }
}

static void fill_chirp(qrn_circle *c, size_t n, double *room) {
    *c = (qrn_circle){n, room, room + n};
    for (size_t i = 0; i < n; i++) {
        double angle = TURN / 2 * (double)(i * i % (2 * n)) / (double)n;
        c->cosine[i] = cos(angle);
        c->sine[i] = sin(angle);
    }
}

void *qrn_fft_open(qrn_fft *f, size_t n, void *room) {
    char *at = (char *)(((uintptr_t)room + ALIGN - 1) / ALIGN * ALIGN);
    size_t m = padded(n);
    f->n = n;
    fill(&f->circle, m, (double *)(void *)at);
    at += rounded(2 * m);
    if (m != n) {
        fill_chirp(&f->chirp, n, (double *)(void *)at);
        at += rounded(2 * n);
    }
    return at;
}
