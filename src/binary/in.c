// SPDX-License-Identifier: MIT
//
// Checked reading: no byte outside the section is touched, no memory is taken that the section's
// size does not justify.
#include "binary/in.h"

#include "base/mem.h"
#include "binary/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status qrn_in_fail(qrn_in *in, const char *fmt, ...) {
    if (in->status != QRN_OK)
        return in->status;
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    in->status = QRN_FAIL(QRN_E_BINARY, "context binary, byte %llu: %s; make it again",
                          (unsigned long long)(in->offset + in->at), text);
    return in->status;
}

static const unsigned char *take(qrn_in *in, uint64_t size_bytes) {
    if (in->status != QRN_OK)
        return NULL;
    if (in->n - in->at < size_bytes) {
        qrn_in_fail(in, "the section ends within a record");
        return NULL;
    }
    const unsigned char *p = in->data + in->at;
    in->at += size_bytes;
    return p;
}

uint32_t qrn_in_u32(qrn_in *in) {
    const unsigned char *p = take(in, 4);
    return p ? qrn_load_u32(p) : 0;
}

uint64_t qrn_in_u64(qrn_in *in) {
    const unsigned char *p = take(in, 8);
    return p ? qrn_load_u64(p) : 0;
}

float qrn_in_f32(qrn_in *in) {
    uint32_t bits = qrn_in_u32(in);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

void *qrn_in_array(qrn_in *in, uint64_t n, uint64_t elem_bytes) {
    size_t bytes;
    if (in->status != QRN_OK)
        return NULL;
    void *p = n <= SIZE_MAX && qrn_mul_size((size_t)n, (size_t)elem_bytes, &bytes)
                  ? qrn_arena_alloc(in->arena, bytes)
                  : NULL;
    if (!p)
        in->status = QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    return p;
}

const char *qrn_in_text(qrn_in *in) {
    uint32_t n = qrn_in_u32(in);
    uint64_t padded = ((uint64_t)n / 4 + 1) * 4; // with the zero byte
    const unsigned char *p = take(in, padded);
    if (!p)
        return NULL;
    bool zeros = true;
    for (uint64_t i = n; i < padded; i++)
        zeros = zeros && p[i] == 0;
    if (!zeros || memchr(p, 0, n)) {
        qrn_in_fail(in, "a text that does not end where it says");
        return NULL;
    }
    char *copy = qrn_in_array(in, (uint64_t)n + 1, 1);
    if (copy)
        memcpy(copy, p, n);
    return copy;
}

uint32_t qrn_in_count(qrn_in *in, uint64_t record_bytes) {
    uint32_t n = qrn_in_u32(in);
    if (in->status == QRN_OK && n > (in->n - in->at) / record_bytes) {
        qrn_in_fail(in, "%u records do not fit the section", n);
        return 0;
    }
    return n;
}

uint32_t *qrn_in_words(qrn_in *in, uint32_t n) {
    const unsigned char *p = take(in, (uint64_t)n * 4);
    uint32_t *words = p ? qrn_in_array(in, n, sizeof *words) : NULL;
    for (uint32_t i = 0; words && i < n; i++)
        words[i] = qrn_load_u32(p + 4 * (size_t)i);
    return words;
}
