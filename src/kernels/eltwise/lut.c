// SPDX-License-Identifier: MIT
//
// The look-up family.
#include "kernels/eltwise/lut.h"

#include "base/cpu.h"
#include "kernels/eltwise/lut_rows.h"
#include "kernels/walk.h"

#include <string.h>

// Four look-ups are under way at a time; stores of whole words leave the ports to the look-ups.
#define LOOKUP(index, type)                                                                        \
    do {                                                                                           \
        const type *table = k->in[1]->data;                                                        \
        const index *x = (const index *)k->in[0]->data;                                            \
        type *y = k->out[0]->data;                                                                 \
        size_t i = begin;                                                                          \
        for (; i + 4 <= end; i += 4) {                                                             \
            type v[4] = {table[x[i]], table[x[i + 1]], table[x[i + 2]], table[x[i + 3]]};          \
            memcpy(y + i, v, sizeof v);                                                            \
        }                                                                                          \
        for (; i < end; i++)                                                                       \
            y[i] = table[x[i]];                                                                    \
    } while (0)
#define LOOKUP_TO(type)                                                                            \
    do {                                                                                           \
        if (qrn_view_elem(k->in[0]) == 2)                                                          \
            LOOKUP(uint16_t, type);                                                                \
        else                                                                                       \
            LOOKUP(uint8_t, type);                                                                 \
    } while (0)

static qrn_status lut_ref(const qrn_kcall *k) {
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    switch (qrn_view_elem(k->out[0])) {
    case 1:
        LOOKUP_TO(uint8_t);
        break;
    case 2:
        LOOKUP_TO(uint16_t);
        break;
    case 4:
        LOOKUP_TO(uint32_t);
        break;
    default:
        LOOKUP_TO(uint64_t);
        break;
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

static bool elements_of(const qrn_kcall *k, size_t bytes) {
    return qrn_view_elem(k->in[0]) == bytes && qrn_view_elem(k->out[0]) == bytes;
}
static bool bytes_fit(const qrn_kcall *k) { return elements_of(k, 1); }
#ifdef __x86_64__
static bool words_fit(const qrn_kcall *k) { return elements_of(k, 2); }
#endif

// clang-format off
#define FAST(type, element, isa)                                                                   \
    static qrn_status lut_##type##_##isa(const qrn_kcall *k) {                                     \
        size_t begin, end;                                                                         \
        qrn_elements(k, 64, &begin, &end);                                                         \
        qrn_lut_##type##_##isa(k->in[1]->data, (const element *)k->in[0]->data + begin,            \
                               (element *)k->out[0]->data + begin, end - begin);                   \
        return QRN_OK;                                                                             \
    }
#define ROW(type, isa, ISA)                                                                        \
    {.name = "lut_" #type "_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                        \
     .works = type##_fit, .fn = lut_##type##_##isa, .tasks = tasks}

#ifdef __x86_64__
FAST(bytes, uint8_t, avx512vbmi)
FAST(bytes, uint8_t, avx2)
FAST(words, uint16_t, avx2)
#endif
#ifdef __aarch64__
FAST(bytes, uint8_t, neon)
#endif

static const qrn_kernel lut_rows[] = {
#ifdef __x86_64__
    ROW(bytes, avx512vbmi, QRN_ISA_AVX512VBMI),
    ROW(bytes, avx2, QRN_ISA_AVX2),
    ROW(words, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(bytes, neon, QRN_ISA_NEON),
#endif
    {.name = "lut_ref", .domain = QRN_DOMAIN_RAW, .fn = lut_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(lut, 0, 1);
// clang-format on
