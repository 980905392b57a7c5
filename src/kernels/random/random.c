// SPDX-License-Identifier: MIT
//
// The random family. Nothing here calls a function of libm whose last bit may differ between
// machines: sqrt is exact, logarithm and sine are summed below from their series.
#include "kernels/random/random.h"

#include "kernels/walk.h"

#include <math.h>
#include <string.h>

#define PER_BLOCK 4 // numbers of one counter value
#define DEFAULT_SEED 0x5155524Eu

typedef double sample;

// A sequence of blocks.
typedef struct stream {
    uint32_t key[2];
    uint64_t execution;
} stream;

static void philox(const uint32_t key[2], uint32_t counter[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * counter[0], p1 = (uint64_t)0xCD9E8D57u * counter[2];
        counter[0] = (uint32_t)(p1 >> 32) ^ counter[1] ^ k0;
        counter[1] = (uint32_t)p1;
        counter[2] = (uint32_t)(p0 >> 32) ^ counter[3] ^ k1;
        counter[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

// ln u for u in (0, 1]: 2 artanh((m-1)/(m+1)) for the mantissa in [sqrt(1/2), sqrt(2)).
static double logarithm(double u) {
    int exponent;
    double m = frexp(u, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int i = 25; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return 2 * s * sum + exponent * 0.69314718055994531;
}

// sin(pi/2 * x) and cos(pi/2 * x) for x in [0, 1], by their series.
static double sine(double x) {
    double t = x * 1.5707963267948966, square = t * t, sum = 1;
    for (int i = 24; i > 0; i -= 2)
        sum = 1 - sum * square / (i * (i + 1));
    return t * sum;
}

static double cosine(double x) {
    double t = x * 1.5707963267948966, square = t * t, sum = 1;
    for (int i = 25; i > 0; i -= 2)
        sum = 1 - sum * square / (i * (i + 1));
    return sum;
}

// Two normal numbers from two words.
static void box_muller(uint32_t radius, uint32_t angle, double *out) {
    double r = sqrt(-2 * logarithm(((double)radius + 1) * 0x1p-32));
    double x = (double)(angle & 0x3FFFFFFFu) * 0x1p-30; // within the quarter turn
    double c = cosine(x), s = sine(x);
    static const signed char turn[4][4] = {
        {1, 0, 0, 1}, {0, -1, 1, 0}, {-1, 0, 0, -1}, {0, 1, -1, 0}};
    const signed char *t = turn[angle >> 30];
    out[0] = r * (t[0] * c + t[1] * s);
    out[1] = r * (t[2] * c + t[3] * s);
}

static void draw(const stream *s, uint64_t block, bool normal, double *out) {
    uint32_t w[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)s->execution,
                     (uint32_t)(s->execution >> 32)};
    philox(s->key, w);
    if (normal) {
        box_muller(w[0], w[1], out);
        box_muller(w[2], w[3], out + 2);
        return;
    }
    for (int i = 0; i < PER_BLOCK; i++)
        out[i] = (double)(w[i] >> 8) * 0x1p-24;
}

static qrn_status check_shape(const qrn_view *shape, const qrn_view *y) {
    if (shape->dims[0] != y->rank)
        return QRN_E_ARGUMENT;
    for (uint32_t d = 0; d < y->rank; d++)
        if (qrn_view_int(shape, d) != (int64_t)y->dims[d])
            return QRN_E_ARGUMENT;
    return QRN_OK;
}

// The bits of the seed are the key; without one, the state moves on to the next execution.
static stream stream_of(const qrn_kcall *k) {
    const qrn_random_args *a = k->args;
    const qrn_view *seed = k->n_in > 1 ? k->in[1] : NULL;
    stream s = {.key = {DEFAULT_SEED, a->stream}};
    if (seed) {
        float f = *(const float *)seed->data + 0.0f; // -0 is 0
        memcpy(&s.key[0], &f, sizeof f);
        s.key[1] = 0;
    } else if (k->state) {
        s.execution = (*(uint64_t *)k->state)++;
    }
    return s;
}

#define T float
#define FN random_f32
#define BELOW nextafterf
#include "kernels/random/random.inc"
#undef T
#undef FN
#undef BELOW
#define T double
#define FN random_f64
#define BELOW nextafter
#include "kernels/random/random.inc"

// Only a call that leaves the state alone may be cut.
static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    bool seeded = k->n_in > 1 && k->in[1];
    return seeded ? qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads) : 1;
}

static const qrn_kernel random_rows[] = {
    {.name = "random_f32", .domain = QRN_DOMAIN_F32, .fn = random_f32, .tasks = tasks},
    {.name = "random_f64", .domain = QRN_DOMAIN_F64, .fn = random_f64, .tasks = tasks},
};
QRN_FAMILY(random, sizeof(qrn_random_args));
