// SPDX-License-Identifier: MIT
//
// The window families, and the noise of glimpses: a fixed function of the position, so that neither
// the number of tasks nor the number of executions changes it.
#include "kernels/image/window.h"

#include "kernels/walk.h"

#include <math.h>
#include <string.h>

// A well mixed 64-bit number for each counter (splitmix64).
static uint64_t mixed(uint64_t n) {
    n = (n + 1) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
}

static double unit(uint64_t n) { return (double)(mixed(n) >> 11) * 0x1p-53; }

// Uniform in [0, 1), or normal with deviation 1 (Box and Muller).
static double noise_at(uint32_t noise, size_t image, size_t i) {
    const double two_pi = 6.283185307179586;
    uint64_t n = ((uint64_t)image << 40 ^ (uint64_t)i) * 2;
    if (noise == QRN_GLIMPSE_UNIFORM)
        return unit(n);
    return sqrt(-2.0 * log(1.0 - unit(n))) * cos(two_pi * unit(n + 1));
}

// First row or column of the window; far outside for a position that is no number.
static double glimpse_start(const qrn_glimpse_args *a, double at, uint32_t size, uint32_t window) {
    double p = at * (a->normalized ? size : 1.0);
    if (a->centered && a->normalized)
        p = p / 2.0 + size / 2.0 - window / 2.0;
    else if (a->centered)
        p += size / 2.0;
    return isnan(p) ? -INFINITY : trunc(p);
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/image/window.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/image/window.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_f32_ref, .tasks = tasks},  \
        {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_f64_ref, .tasks = tasks},  \
    }

ROWS(glimpse);
QRN_FAMILY(glimpse, sizeof(qrn_glimpse_args));
ROWS(patches);
QRN_FAMILY(patches, sizeof(qrn_patches_args));
ROWS(correlation1d);
QRN_FAMILY(correlation1d, sizeof(qrn_correlation1d_args));
