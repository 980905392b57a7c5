// SPDX-License-Identifier: MIT
//
// A FlatBuffer, written from the root on.
#include "frontend/executorch/flat_write.h"

#include "base/mem.h"

#include <string.h>

et_field et_flat_number(uint8_t bytes, uint64_t value) { return (et_field){bytes, value, 0}; }
et_field et_flat_later(void) { return et_flat_number(4, 0); }

void et_flat_store(et_flat *b, size_t at, uint64_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes && !b->failed; i++)
        b->data[at + i] = (uint8_t)(v >> (8 * i));
}

size_t et_flat_extend(et_flat *b, size_t bytes) {
    size_t at = b->n;
    if (bytes == 0)
        return at;
    if (bytes > b->cap - b->n) {
        size_t cap = 2 * b->cap + bytes + 4096;
        uint8_t *data = b->failed || cap > INT32_MAX ? NULL : qrn_realloc(b->data, b->n, cap);
        if (!data) {
            b->failed = true;
            return 0;
        }
        b->data = data;
        b->cap = cap;
    }
    memset(b->data + at, 0, bytes);
    b->n += bytes;
    return at;
}

void et_flat_align(et_flat *b, size_t to, size_t before) {
    et_flat_extend(b, (to - (b->n + before) % to) % to);
}

size_t et_flat_put(et_flat *b, uint64_t v, unsigned bytes) {
    et_flat_align(b, bytes, 0);
    size_t at = et_flat_extend(b, bytes);
    et_flat_store(b, at, v, bytes);
    return at;
}

void et_flat_reach(et_flat *b, size_t waiting) { et_flat_store(b, waiting, b->n - waiting, 4); }

// The table's description lies in front of it.
static size_t put_table(et_flat *b, et_field *f, unsigned n) {
    et_flat_align(b, 2, 0);
    size_t head = et_flat_extend(b, 4 + 2 * n);
    et_flat_align(b, 8, 4); // behind the first word the large fields begin
    size_t table = et_flat_extend(b, 4);
    for (uint8_t bytes = 8; bytes; bytes /= 2)
        for (unsigned i = 0; i < n; i++)
            if (f[i].bytes == bytes)
                f[i].at = et_flat_put(b, f[i].value, bytes);
    et_flat_store(b, table, table - head, 4);
    et_flat_store(b, head, 4 + 2 * n, 2);
    et_flat_store(b, head + 2, b->n - table, 2);
    for (unsigned i = 0; i < n; i++)
        et_flat_store(b, head + 4 + 2 * i, f[i].bytes ? f[i].at - table : 0, 2);
    return table;
}

size_t et_flat_places(et_flat *b, size_t waiting, uint32_t n) {
    et_flat_align(b, 4, 0);
    et_flat_reach(b, waiting);
    et_flat_put(b, n, 4);
    return et_flat_extend(b, 4 * (size_t)n);
}

void et_flat_child(et_flat *b, size_t waiting, et_field *f, unsigned n) {
    size_t table = put_table(b, f, n);
    et_flat_store(b, waiting, table - waiting, 4);
}

size_t et_flat_text(et_flat *b, const char *text) {
    size_t n = strlen(text), at = et_flat_put(b, n, 4), to = et_flat_extend(b, n + 1);
    if (!b->failed)
        memcpy(b->data + to, text, n);
    return at;
}
