// SPDX-License-Identifier: MIT
//
// Three planes of bytes woven to pixels, as images come, for AVX-512 VBMI: 64 pixels at a time.
#include "kernels/move/layout.h"

#include <immintrin.h>

#define PLANES 3
#define PIXELS 64

// Byte i of vector v of the result is plane (64*v + i) % 3 of pixel (64*v + i) / 3.
typedef struct order {
    __m512i from[PLANES];  // places in planes 0 and 1, one behind the other
    __m512i third[PLANES]; // in plane 2
    __mmask64 is_third[PLANES];
} order;

static order order_of(void) {
    uint8_t from[PLANES][64], third[PLANES][64];
    order o;
    for (int v = 0; v < PLANES; v++) {
        o.is_third[v] = 0;
        for (int i = 0; i < 64; i++) {
            int pixel = (64 * v + i) / PLANES, plane = (64 * v + i) % PLANES;
            from[v][i] = (uint8_t)(plane == 1 ? 64 + pixel : pixel);
            third[v][i] = (uint8_t)pixel;
            o.is_third[v] |= (__mmask64)(plane == 2) << i;
        }
        o.from[v] = _mm512_loadu_si512(from[v]);
        o.third[v] = _mm512_loadu_si512(third[v]);
    }
    return o;
}

// n pixels, up to 64.
static inline __attribute__((always_inline)) void weave(const order *o, const uint8_t *x,
                                                        size_t plane, uint8_t *y, size_t n) {
    __mmask64 mask = ~(__mmask64)0 >> (PIXELS - n);
    __m512i a = _mm512_maskz_loadu_epi8(mask, x), b = _mm512_maskz_loadu_epi8(mask, x + plane);
    __m512i c = _mm512_maskz_loadu_epi8(mask, x + 2 * plane);
    for (size_t v = 0; v < PLANES && 64 * v < PLANES * n; v++) {
        size_t left = PLANES * n - 64 * v;
        __m512i r = _mm512_permutex2var_epi8(a, o->from[v], b);
        r = _mm512_mask_permutexvar_epi8(r, o->is_third[v], o->third[v], c);
        _mm512_mask_storeu_epi8(y + 64 * v,
                                left < 64 ? ~(__mmask64)0 >> (64 - left) : ~(__mmask64)0, r);
    }
}

qrn_status qrn_transpose_weave_avx512vbmi(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    if (!qrn_transpose_is_weave(k)) // fewer planes than there can be
        return qrn_transpose_raw(k);
    const order o = order_of();
    size_t plane = (size_t)x->dims[2] * x->dims[3], begin, end;
    qrn_split(plane, PIXELS, k->task, k->n_tasks, &begin, &end);
    for (uint32_t n = 0; n < x->dims[0]; n++) {
        const uint8_t *from = (const uint8_t *)x->data + n * PLANES * plane;
        uint8_t *to = (uint8_t *)k->out[0]->data + n * PLANES * plane;
        size_t at = begin;
        for (; at + PIXELS <= end; at += PIXELS)
            weave(&o, from + at, plane, to + PLANES * at, PIXELS);
        if (at < end)
            weave(&o, from + at, plane, to + PLANES * at, end - at);
    }
    return QRN_OK;
}
