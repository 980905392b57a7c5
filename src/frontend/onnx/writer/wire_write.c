// SPDX-License-Identifier: MIT
//
// The writer of protocol buffers.
#include "frontend/onnx/writer/wire_write.h"

#include "base/mem.h"
#include "frontend/onnx/reader/wire.h"

#include <string.h>

static bool reserve(ox_writer *w, size_t more) {
    if (w->no_memory)
        return false;
    if (more <= w->cap - w->n)
        return true;
    size_t cap = w->cap < 128 ? 256 : 2 * w->cap;
    while (cap - w->n < more && cap <= SIZE_MAX / 4)
        cap *= 2;
    uint8_t *grown = cap - w->n >= more ? qrn_realloc(w->data, w->cap, cap) : NULL;
    if (!grown) {
        w->no_memory = true;
        return false;
    }
    w->data = grown;
    w->cap = cap;
    return true;
}

static void put_varint(ox_writer *w, uint64_t v) {
    if (!reserve(w, 10))
        return;
    while (v >= 128) {
        w->data[w->n++] = (uint8_t)(v | 128);
        v >>= 7;
    }
    w->data[w->n++] = (uint8_t)v;
}

void ox_put_int(ox_writer *w, uint32_t field, int64_t value) {
    put_varint(w, (uint64_t)field << 3 | (uint64_t)OX_VARINT);
    put_varint(w, (uint64_t)value);
}

void ox_put_float(ox_writer *w, uint32_t field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(w, (uint64_t)field << 3 | (uint64_t)OX_FIXED32);
    if (!reserve(w, sizeof bits))
        return;
    for (int i = 0; i < 4; i++)
        w->data[w->n++] = (uint8_t)(bits >> (8 * i));
}

void ox_put_bytes(ox_writer *w, uint32_t field, const void *data, size_t n) {
    put_varint(w, (uint64_t)field << 3 | (uint64_t)OX_BYTES);
    put_varint(w, n);
    if (!n || !reserve(w, n))
        return;
    memcpy(w->data + w->n, data, n);
    w->n += n;
}

void ox_put_text(ox_writer *w, uint32_t field, const char *text) {
    ox_put_bytes(w, field, text, strlen(text));
}

void ox_put_message(ox_writer *w, uint32_t field, ox_writer *message) {
    w->no_memory |= message->no_memory;
    ox_put_bytes(w, field, message->data, message->n);
    ox_writer_free(message);
}

void ox_put_fields(ox_writer *w, ox_writer *part) {
    w->no_memory |= part->no_memory;
    if (part->n && reserve(w, part->n)) {
        memcpy(w->data + w->n, part->data, part->n);
        w->n += part->n;
    }
    ox_writer_free(part);
}

void ox_writer_free(ox_writer *w) {
    qrn_free(w->data);
    *w = (ox_writer){0};
}
