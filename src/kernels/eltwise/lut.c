// SPDX-License-Identifier: MIT
//
// The look-up family.
#include "kernels/eltwise/lut.h"

#include "base/cpu.h"
#include "kernels/eltwise/lut_rows.h"
#include "kernels/walk.h"

#include <string.h>

// Four look-ups are under way at a time; stores of whole words leave the ports to the look-ups.
#define LOOKUP(code, type)                                                                         \
    do {                                                                                           \
        const type *table = k->in[1]->data;                                                        \
        const code *x = (const code *)k->in[0]->data;                                              \
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

static bool bytes_to_bytes(const qrn_kcall *k) {
    return qrn_view_elem(k->in[0]) == 1 && qrn_view_elem(k->out[0]) == 1;
}

// clang-format off
#define BYTES(isa)                                                                                 \
    static qrn_status lut_bytes_##isa(const qrn_kcall *k) {                                        \
        size_t begin, end;                                                                         \
        qrn_elements(k, 64, &begin, &end);                                                         \
        qrn_lut_bytes_##isa(k->in[1]->data, (const uint8_t *)k->in[0]->data + begin,               \
                            (uint8_t *)k->out[0]->data + begin, end - begin);                      \
        return QRN_OK;                                                                             \
    }
#define ROW(isa, ISA)                                                                              \
    {.name = "lut_bytes_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = bytes_to_bytes,   \
     .fn = lut_bytes_##isa, .tasks = tasks}

#ifdef __x86_64__
BYTES(avx512vbmi)
BYTES(avx2)
#endif
#ifdef __aarch64__
BYTES(neon)
#endif

static const qrn_kernel lut_rows[] = {
#ifdef __x86_64__
    ROW(avx512vbmi, QRN_ISA_AVX512VBMI),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    {.name = "lut_ref", .domain = QRN_DOMAIN_RAW, .fn = lut_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(lut, 0, 1);
// clang-format on
