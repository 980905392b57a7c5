// SPDX-License-Identifier: MIT
//
// The look-up family.
#include "kernels/eltwise/lut.h"

#include "kernels/walk.h"

#define LOOKUP(type)                                                                               \
    do {                                                                                           \
        const type *table = k->in[1]->data;                                                        \
        type *y = k->out[0]->data;                                                                 \
        for (size_t i = begin; !wide && i < end; i++)                                              \
            y[i] = table[codes[i]];                                                                \
        for (size_t i = begin; wide && i < end; i++)                                               \
            y[i] = table[wide_codes[i]];                                                           \
    } while (0)

static qrn_status lut_ref(const qrn_kcall *k) {
    const uint8_t *codes = k->in[0]->data;
    const uint16_t *wide_codes = k->in[0]->data;
    bool wide = qrn_view_elem(k->in[0]) == 2;
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    switch (qrn_view_elem(k->out[0])) {
    case 1:
        LOOKUP(uint8_t);
        break;
    case 2:
        LOOKUP(uint16_t);
        break;
    case 4:
        LOOKUP(uint32_t);
        break;
    default:
        LOOKUP(uint64_t);
        break;
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

static const qrn_kernel lut_rows[] = {
    {.name = "lut_ref", .domain = QRN_DOMAIN_RAW, .fn = lut_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(lut, 0, 1);
