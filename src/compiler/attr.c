// SPDX-License-Identifier: MIT
//
// Attributes as bits. Apart from the table of ops, which brings the kernels into a library.
#include "compiler/op.h"

#include <string.h>

static const uint8_t attr_bytes[] = {[QRN_ATTR_BOOL] = sizeof(bool),
                                     [QRN_ATTR_U8] = 1,
                                     [QRN_ATTR_U32] = 4,
                                     [QRN_ATTR_I32] = 4,
                                     [QRN_ATTR_I64] = 8,
                                     [QRN_ATTR_F32] = 4,
                                     [QRN_ATTR_F64] = 8};

uint64_t qrn_attr_get(const void *args, const qrn_attr *a, uint32_t i) {
    const char *at = (const char *)args + a->offset + (size_t)i * a->stride;
    uint64_t bits = 0;
    if (a->kind == QRN_ATTR_BOOL)
        return *(const bool *)(const void *)at;
    memcpy(&bits, at, attr_bytes[a->kind]); // little-endian, as all that is supported
    return bits;
}

bool qrn_attr_set(void *args, const qrn_attr *a, uint32_t i, uint64_t bits) {
    char *at = (char *)args + a->offset + (size_t)i * a->stride;
    if ((a->kind == QRN_ATTR_BOOL && bits > 1) || (a->kind == QRN_ATTR_U8 && bits > UINT8_MAX))
        return false;
    memcpy(at, &bits, attr_bytes[a->kind]);
    return true;
}

uint32_t qrn_cop_attr_words(const qrn_cop *op) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        n += op->attrs[i].count * (attr_bytes[op->attrs[i].kind] == 8 ? 2u : 1u);
    return n;
}
