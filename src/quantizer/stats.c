// SPDX-License-Identifier: MIT
//
// Statistics of tensors.
#include "quantizer/stats.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define HALF (QZ_BINS / 2)
#define BLOCK 2048              // values that are looked at together, in the first-level cache
#define FEW 4096                // values of a tensor of which all sizes are counted; of others ...
#define EVERY_NTH QZ_SIZES_STEP // ... these: channels are multiples of 16
#define LEAST_EXPONENT (-140)   // below the smallest float: an empty histogram

qrn_status qz_stats_init(qz_stats *s, bool bins) {
    *s = (qz_stats){.above = INFINITY, .peak = INFINITY, .exponent = LEAST_EXPONENT};
    if (bins && !(s->bins = qrn_calloc(QZ_BINS * sizeof *s->bins)))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a histogram");
    return QRN_OK;
}

void qz_stats_clear(qz_stats *s) {
    uint64_t *bins = s->bins;
    if (bins)
        memset(bins, 0, QZ_BINS * sizeof *bins);
    *s = (qz_stats){.above = INFINITY, .peak = INFINITY, .exponent = LEAST_EXPONENT, .bins = bins};
}

void qz_stats_free(qz_stats *s) {
    qrn_free(s->bins);
    s->bins = NULL;
}

// Doubles the width of the bins until it is 2^exponent.
static void widen(qz_stats *s, int exponent) {
    int by = exponent - s->exponent;
    if (by <= 0)
        return;
    s->exponent = exponent;
    uint64_t merged[QZ_BINS] = {0};
    for (int i = -HALF; i < HALF; i++) // the shift of a negative number rounds down
        merged[(by > 11 ? (i < 0 ? -1 : 0) : i >> by) + HALF] += s->bins[i + HALF];
    memcpy(s->bins, merged, sizeof merged);
}

// The least exponent whose bins reach x.
static int exponent_for(double x) {
    int e;
    if (x == 0)
        return LEAST_EXPONENT;
    double m = frexp(fabs(x), &e); // |x| = m * 2^e, m in [0.5, 1)
    bool edge = m == 0.5 && x < 0; // -HALF itself is the first bin
    return e - 10 - (edge ? 1 : 0);
}

static void count_one_by_one(qz_stats *s, const float *x, size_t n) {
    double per = ldexp(1, -s->exponent);
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            s->bins[(int)floor((double)x[i] * per) + HALF]++;
}

// The bins of finite values: floor(x * per) + HALF. The product is exact but where it underflows,
// which must not bring a negative value to bin 0.
static void find_bins(const float *restrict x, float per, size_t n, int32_t *restrict bin) {
    for (size_t i = 0; i < n; i++) {
        float y = x[i] * per;
        int32_t t = (int32_t)y;
        bin[i] = t + HALF - (y < (float)t) - ((x[i] < 0) & (y == 0));
    }
}

// Two counters for each bin: the same bin twice in a row does not wait.
static void count_fast(qz_stats *s, const float *x, size_t n) {
    uint32_t few[2][QZ_BINS] = {{0}};
    int32_t bin[BLOCK];
    float per = ldexpf(1, -s->exponent);
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < BLOCK ? n - at : BLOCK;
        find_bins(x + at, per, m, bin);
        for (size_t i = 0; i + 2 <= m; i += 2) {
            few[0][bin[i]]++;
            few[1][bin[i + 1]]++;
        }
        if (m & 1)
            few[0][bin[m - 1]]++;
    }
    for (int i = 0; i < QZ_BINS; i++)
        s->bins[i] += (uint64_t)few[0][i] + few[1][i];
}

static void count(qz_stats *s, const float *x, size_t n, bool all_finite, double low, double high) {
    int a = exponent_for(low), b = exponent_for(high);
    widen(s, a > b ? a : b);
    bool fits = s->exponent > -126 && s->exponent < 126; // 2^-exponent is a normal float
    for (size_t at = 0, m; at < n; at += m) {            // 32-bit counters hold that many
        m = n - at < 1u << 30 ? n - at : 1u << 30;
        if (all_finite && fits)
            count_fast(s, x + at, m);
        else
            count_one_by_one(s, x + at, m);
    }
}

// Counts of exponents as floats store them; zeros have the least one. Without a branch, as zeros
// behind a Relu come at random, and with several counters of each, so that equal exponents in a row
// do not wait for each other.
typedef struct exponents {
    uint32_t counts[4][256], zeros;
} exponents;

static inline void count_exponent(exponents *e, size_t k, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    e->counts[k][bits >> 23 & 255]++;
    e->zeros += bits << 1 == 0;
}

// Every `step`th of the values from `first` on.
static void count_exponents(exponents *e, const float *x, size_t n, size_t first, size_t step) {
    size_t i = first;
    for (; i + 3 * step < n; i += 4 * step)
        for (size_t k = 0; k < 4; k++)
            count_exponent(e, k, x[i + k * step]);
    for (; i < n; i += step)
        count_exponent(e, 0, x[i]);
}

// NaN and infinity, which have the last exponent, are no sizes.
static void add_sizes(qz_stats *s, const exponents *e) {
    for (int i = 0; i < 255; i++) {
        int at = i - 127 + 40;
        uint64_t n = (uint64_t)e->counts[0][i] + e->counts[1][i] + e->counts[2][i] +
                     e->counts[3][i] - (i == 0 ? e->zeros : 0);
        s->sizes[at < 0 ? 0 : at >= QZ_SIZES ? QZ_SIZES - 1 : at] += n;
    }
}

double qz_stats_middle(const qz_stats *s) {
    uint64_t all = 0, below = 0;
    int i = 0;
    for (int k = 0; k < QZ_SIZES; k++)
        all += s->sizes[k];
    while (i < QZ_SIZES - 1 && 2 * (below + s->sizes[i]) < all)
        below += s->sizes[i++];
    return all ? ldexp(1.5, i - 40) : 0;
}

// What one pass over values finds.
typedef struct extent {
    float low, high, above;
    uint64_t finite, masked, bad;
} extent;

#define LANES 32 // numbers that are compared side by side, so that no result is waited for

typedef struct lanes {
    float low[LANES], high[LANES], odd[LANES];
} lanes;

// One number of a lane. The comparisons are those of the machine's own minimum and maximum: NaN
// changes nothing. 0 times a number is 0 but for NaN and infinity.
static inline void compare(lanes *l, int k, float v) {
    l->low[k] = v < l->low[k] ? v : l->low[k];
    l->high[k] = v > l->high[k] ? v : l->high[k];
    l->odd[k] += v * 0;
}

// Least and largest value, and whether all of them are finite; compiled for each vector width.
static inline __attribute__((always_inline)) bool find_extent_any(const float *restrict x, size_t n,
                                                                  float *least, float *largest) {
    lanes l;
    size_t i = 0;
    float odd = 0;
    for (int k = 0; k < LANES; k++) {
        l.low[k] = INFINITY;
        l.high[k] = -INFINITY;
        l.odd[k] = 0;
    }
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            compare(&l, k, x[i + (size_t)k]);
    for (int k = 0; i < n; i++, k++)
        compare(&l, k, x[i]);
    *least = INFINITY;
    *largest = -INFINITY;
    for (int k = 0; k < LANES; k++) {
        *least = l.low[k] < *least ? l.low[k] : *least;
        *largest = l.high[k] > *largest ? l.high[k] : *largest;
        odd += l.odd[k];
    }
    return odd == 0;
}

typedef bool (*find_extent)(const float *x, size_t n, float *least, float *largest);

#define FIND_EXTENT(NAME, ATTRIBUTE)                                                               \
    ATTRIBUTE static bool NAME(const float *x, size_t n, float *least, float *largest) {           \
        return find_extent_any(x, n, least, largest);                                              \
    }
FIND_EXTENT(find_extent_plain, )
#if defined(__x86_64__)
FIND_EXTENT(find_extent_avx2, __attribute__((target("avx2"))))
FIND_EXTENT(find_extent_avx512, __attribute__((target("avx512f"))))
#endif

static find_extent find_extent_here(void) {
#if defined(__x86_64__)
    if (qrn_cpu_isa() & QRN_ISA_AVX512)
        return find_extent_avx512;
    if (qrn_cpu_isa() & QRN_ISA_AVX2)
        return find_extent_avx2;
#endif
    return find_extent_plain;
}

static void look_at_each(extent *e, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float v = x[i];
        if (!isfinite(v)) {
            e->masked += v < 0;
            e->bad += !(v < 0);
            continue;
        }
        e->finite++;
        e->low = v < e->low ? v : e->low;
        e->high = v > e->high ? v : e->high;
        if ((double)v <= QZ_MASKED)
            e->masked++;
        else if (v < e->above)
            e->above = v;
    }
}

// Most blocks hold plain numbers alone; only others are looked at one by one.
static void look(qz_stats *s, extent *e, const float *x, size_t n) {
    const find_extent find = find_extent_here();
    const size_t step = n > FEW ? EVERY_NTH : 1;
    exponents few = {0};
    for (size_t at = 0, m; at < n; at += m) {
        float low, high;
        m = n - at < BLOCK ? n - at : BLOCK;
        bool plain = find(x + at, m, &low, &high);
        count_exponents(&few, x + at, m, (step - at % step) % step, step);
        if (!plain || (double)low <= QZ_MASKED) {
            look_at_each(e, x + at, m);
            continue;
        }
        e->low = low < e->low ? low : e->low;
        e->high = high > e->high ? high : e->high;
        e->above = low < e->above ? low : e->above;
        e->finite += m;
    }
    add_sizes(s, &few);
}

void qz_stats_add(qz_stats *s, const float *x, size_t n) {
    extent e = {.low = INFINITY, .high = -INFINITY, .above = INFINITY};
    look(s, &e, x, n);
    s->n_nan += e.bad;
    s->n_masked += e.masked;
    if ((double)e.above < s->above)
        s->above = (double)e.above;
    if (!e.finite)
        return;
    s->min = s->n && s->min < (double)e.low ? s->min : (double)e.low;
    s->max = s->n && s->max > (double)e.high ? s->max : (double)e.high;
    s->n += e.finite;
    if (s->bins)
        count(s, x, n, e.finite == n, (double)e.low, (double)e.high);
}

void qz_stats_add_rows(qz_stats *s, const float *x, size_t n, size_t row) {
    for (size_t at = 0; row && at + row <= n; at += row) {
        float most = -INFINITY;
        for (size_t i = 0; i < row; i++)
            most = x[at + i] > most ? x[at + i] : most;
        if ((double)most > QZ_MASKED && (double)most < s->peak)
            s->peak = (double)most;
    }
}

void qz_stats_merge(qz_stats *s, const qz_stats *from) {
    s->n_nan += from->n_nan;
    s->n_masked += from->n_masked;
    for (int i = 0; i < QZ_SIZES; i++)
        s->sizes[i] += from->sizes[i];
    s->above = from->above < s->above ? from->above : s->above;
    s->peak = from->peak < s->peak ? from->peak : s->peak;
    if (!from->n)
        return;
    s->min = s->n && s->min < from->min ? s->min : from->min;
    s->max = s->n && s->max > from->max ? s->max : from->max;
    s->n += from->n;
    if (!from->bins)
        qz_stats_free(s);
    if (!s->bins)
        return;
    widen(s, from->exponent);
    int by = s->exponent - from->exponent;
    for (int i = -HALF; i < HALF; i++)
        s->bins[(by > 11 ? (i < 0 ? -1 : 0) : i >> by) + HALF] += from->bins[i + HALF];
}
