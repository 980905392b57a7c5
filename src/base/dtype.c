// SPDX-License-Identifier: MIT
//
// The table of number formats and what is derived from it.
#include "base/dtype.h"

#include "base/mem.h"

#include <string.h>

const qrn_dtype_info qrn_dtypes[QRN_DTYPE_COUNT] = {
#define X(name, token, code, bits, cls) [QRN_DTYPE_##name] = {token, code, bits, QRN_CLASS_##cls},
    QRN_DTYPE_LIST(X)
#undef X
};

qrn_dtype qrn_dtype_from_code(uint32_t code) {
    unsigned t = 0;
    while (t < QRN_DTYPE_COUNT && qrn_dtypes[t].code != code)
        t++;
    return (qrn_dtype)t;
}

const char *qrn_dtype_mask_text(qrn_dtype_mask m, char *buf, size_t size) {
    if (size == 0)
        return buf;
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned t = 0; t < QRN_DTYPE_COUNT; t++) {
        if (!(m & ((qrn_dtype_mask)1 << t)))
            continue;
        size_t bar = used ? 1 : 0;
        size_t len = strlen(qrn_dtypes[t].token);
        if (used + bar + len >= size)
            break;
        if (bar)
            buf[used++] = '|';
        memcpy(buf + used, qrn_dtypes[t].token, len + 1);
        used += len;
    }
    return buf;
}

bool qrn_dtype_bytes(qrn_dtype t, size_t count, size_t *bytes) {
    size_t bits = qrn_dtypes[t].bits;
    if (bits < 8) {
        *bytes = count / 2 + count % 2;
        return true;
    }
    return qrn_mul_size(count, bits / 8, bytes);
}
