// SPDX-License-Identifier: MIT
//
// Numbers as little-endian bytes.
#include "binary/out.h"

#include "base/mem.h"

#include <string.h>

void qrn_store_u32(unsigned char *p, uint32_t v) {
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

void qrn_store_u64(unsigned char *p, uint64_t v) {
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

uint32_t qrn_load_u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t qrn_load_u64(const unsigned char *p) {
    return (uint64_t)qrn_load_u32(p) | (uint64_t)qrn_load_u32(p + 4) << 32;
}

static bool make_room(qrn_out *o, size_t more) {
    size_t need;
    if (o->failed || !qrn_add_size(o->n, more, &need)) {
        o->failed = true;
        return false;
    }
    if (need <= o->cap)
        return true;
    size_t cap = o->cap ? o->cap : 4096;
    while (cap < need && cap <= SIZE_MAX / 2)
        cap *= 2;
    unsigned char *data = cap >= need ? qrn_realloc(o->data, o->n, cap) : NULL;
    o->failed = !data;
    if (data) {
        o->data = data;
        o->cap = cap;
    }
    return data != NULL;
}

static void out_bytes(qrn_out *o, const void *data, size_t size_bytes) {
    if (!size_bytes || !make_room(o, size_bytes))
        return;
    memcpy(o->data + o->n, data, size_bytes);
    o->n += size_bytes;
}

void qrn_out_u32(qrn_out *o, uint32_t v) {
    unsigned char b[4];
    qrn_store_u32(b, v);
    out_bytes(o, b, sizeof b);
}

void qrn_out_u64(qrn_out *o, uint64_t v) {
    unsigned char b[8];
    qrn_store_u64(b, v);
    out_bytes(o, b, sizeof b);
}

void qrn_out_f32(qrn_out *o, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    qrn_out_u32(o, bits);
}

void qrn_out_text(qrn_out *o, const char *s) {
    size_t n = strlen(s);
    if (n > UINT32_MAX / 2) {
        o->failed = true;
        return;
    }
    qrn_out_u32(o, (uint32_t)n);
    out_bytes(o, s, n);
    out_bytes(o, "\0\0\0", 4 - n % 4);
}

void qrn_out_free(qrn_out *o) {
    qrn_free(o->data);
    *o = (qrn_out){0};
}
