// SPDX-License-Identifier: MIT
//
// Writing an archive. The same entries always give the same bytes: there is no clock in it. The
// time, the version and two flags of the first entry, which say nothing about a stored one, carry a
// number made of all contents: a client (ExecuTorch) tells files apart by bytes 4 to 11.
#include "base/crc32.h"
#include "dlc/zip.h"

#include <string.h>

#define DATE 0x0021u       // 1980-01-01, the first there is
#define TIMES 43200u       // two-second steps of a day
#define VERSION 10u        // the least: stored files
#define VERSIONS 36u       // 1.0 to 4.5
#define PADDING_ID 0xd935u // the extra field for alignment
#define PADDING_HEAD 4u    // of an extra field
#define MOST_PADDING (QRN_ZIP_ALIGN + PADDING_HEAD)

// What the headers of an entry say.
typedef struct header {
    uint32_t version, flags, time, crc;
    uint64_t size, at;
    size_t n_name;
} header;

typedef struct writer {
    qrn_zip_part *parts;
    size_t n;
    uint64_t bytes;
} writer;

static void put16(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static void put32(uint8_t *p, uint32_t v) {
    put16(p, v);
    put16(p + 2, v >> 16);
}

static void add(writer *w, const void *data, uint64_t n) {
    w->parts[w->n++] = (qrn_zip_part){data, n};
    w->bytes += n;
}

// The 20 bytes that both headers have: flags to the size.
static void put_common(uint8_t *p, const header *h) {
    put16(p, h->flags);
    put16(p + 2, 0); // stored
    put16(p + 4, h->time);
    put16(p + 6, DATE);
    put32(p + 8, h->crc);
    put32(p + 12, (uint32_t)h->size);
    put32(p + 16, (uint32_t)h->size);
}

// Bytes of an extra field that brings the data to its alignment.
static uint32_t padding(uint64_t at) {
    uint32_t n = (QRN_ZIP_ALIGN - (uint32_t)(at % QRN_ZIP_ALIGN)) % QRN_ZIP_ALIGN;
    return n == 0 || n >= PADDING_HEAD + 2 ? n : n + QRN_ZIP_ALIGN;
}

static bool put_local(writer *w, header *h, const char *name, qrn_arena *a) {
    h->at = w->bytes;
    uint32_t extra = padding(h->at + QRN_ZIP_LOCAL_BYTES + h->n_name);
    size_t n = QRN_ZIP_LOCAL_BYTES + h->n_name + extra;
    uint8_t *p = qrn_arena_alloc(a, n);
    if (!p)
        return false;
    put32(p, QRN_ZIP_LOCAL);
    put16(p + 4, h->version);
    put_common(p + 6, h);
    put16(p + 26, (uint32_t)h->n_name);
    put16(p + 28, extra);
    memcpy(p + QRN_ZIP_LOCAL_BYTES, name, h->n_name);
    if (extra) {
        uint8_t *field = p + QRN_ZIP_LOCAL_BYTES + h->n_name;
        put16(field, PADDING_ID);
        put16(field + 2, extra - PADDING_HEAD);
        put16(field + 4, QRN_ZIP_ALIGN);
    }
    add(w, p, n);
    return true;
}

static uint8_t *put_central(uint8_t *p, const header *h, const char *name) {
    put32(p, QRN_ZIP_CENTRAL);
    put16(p + 4, VERSION);
    put16(p + 6, h->version);
    put_common(p + 8, h);
    put16(p + 28, (uint32_t)h->n_name);
    put32(p + 42, (uint32_t)h->at);
    memcpy(p + QRN_ZIP_CENTRAL_BYTES, name, h->n_name);
    return p + QRN_ZIP_CENTRAL_BYTES + h->n_name;
}

static bool put_directory(writer *w, const header *h, const qrn_zip_entry *entries, uint32_t n,
                          qrn_arena *a) {
    size_t bytes = QRN_ZIP_END_BYTES;
    for (uint32_t i = 0; i < n; i++)
        bytes += QRN_ZIP_CENTRAL_BYTES + h[i].n_name;
    uint8_t *start = qrn_arena_alloc(a, bytes), *p = start;
    if (!p)
        return false;
    for (uint32_t i = 0; i < n; i++)
        p = put_central(p, &h[i], entries[i].name);
    put32(p, QRN_ZIP_END);
    put16(p + 8, n);
    put16(p + 10, n);
    put32(p + 12, (uint32_t)(p - start));
    put32(p + 16, (uint32_t)w->bytes);
    add(w, start, bytes);
    return true;
}

// Checksums and sizes of all entries, and what the first one says of them.
static void measure(const qrn_zip_entry *entries, uint32_t n, header *h) {
    uint32_t tag = 0;
    for (uint32_t i = 0; i < n; i++) {
        h[i] = (header){.version = VERSION, .n_name = strlen(entries[i].name)};
        for (uint32_t k = 0; k < entries[i].n_parts; k++) {
            const qrn_zip_part *p = &entries[i].parts[k];
            h[i].crc = qrn_crc32(h[i].crc, p->data, p->size_bytes);
            h[i].size += p->size_bytes;
        }
        uint32_t words[2] = {h[i].crc, (uint32_t)h[i].size};
        tag = qrn_crc32(tag, words, sizeof words);
    }
    uint32_t v = tag % TIMES;
    h[0].time = v / 1800 << 11 | v / 30 % 60 << 5 | v % 30;
    h[0].version = VERSION + tag / TIMES % VERSIONS;
    h[0].flags = tag / TIMES / VERSIONS % 4 << 1;
}

qrn_status qrn_zip_write(const qrn_zip_entry *entries, uint32_t n, qrn_arena *arena,
                         qrn_zip_part **parts, size_t *n_parts, uint64_t *size_bytes) {
    size_t most = 1;
    for (uint32_t i = 0; i < n; i++)
        most += 1 + (size_t)entries[i].n_parts;
    header *h = qrn_arena_alloc(arena, n * sizeof *h);
    writer w = {.parts = qrn_arena_alloc(arena, most * sizeof *w.parts)};
    if (!h || !w.parts)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file");
    measure(entries, n, h);
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += h[i].size + 2 * h[i].n_name + QRN_ZIP_LOCAL_BYTES + QRN_ZIP_CENTRAL_BYTES +
                 MOST_PADDING;
    if (total > QRN_ZIP_MOST_BYTES)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "a DLC file of %llu bytes: such files hold at most 4 GiB",
                        (unsigned long long)total);
    bool good = true;
    for (uint32_t i = 0; good && i < n; i++) {
        good = put_local(&w, &h[i], entries[i].name, arena);
        for (uint32_t k = 0; good && k < entries[i].n_parts; k++)
            add(&w, entries[i].parts[k].data, entries[i].parts[k].size_bytes);
    }
    if (!good || !put_directory(&w, h, entries, n, arena))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file");
    *parts = w.parts;
    *n_parts = w.n;
    *size_bytes = w.bytes;
    return QRN_OK;
}
