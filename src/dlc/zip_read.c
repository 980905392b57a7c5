// SPDX-License-Identifier: MIT
//
// Reading an archive. It ends with its directory, without a comment; the directory says where each
// entry is, and the header before the entry must say the same. Entries lie in the order of the
// directory and do not overlap, so that no byte of a file means two things.
#include "base/crc32.h"
#include "base/report_text.h"
#include "dlc/zip.h"

#include <string.h>

typedef struct reader {
    const char *name; // of the file
    const uint8_t *data;
    uint64_t size;
    uint64_t directory; // where it begins
    uint64_t after;     // the last entry that was read
} reader;

static uint32_t u16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

static qrn_status wrong(const reader *r, const char *what) {
    return QRN_FAIL(QRN_E_BINARY, "%s: %s", r->name, what);
}

static qrn_status wrong_entry(const reader *r, const char *entry, const char *what) {
    return QRN_FAIL(QRN_E_BINARY, "%s: record '%s': %s", r->name, entry, what);
}

// The name of an entry: UTF-8 without zero bytes.
static qrn_status read_name(const reader *r, const uint8_t *p, uint32_t n, qrn_arena *a,
                            char **out) {
    if (n == 0 || n > QRN_ZIP_NAME_BYTES || memchr(p, 0, n))
        return wrong(r, "a record has no name, or one of more than 255 bytes");
    char *text = qrn_arena_alloc(a, (size_t)n + 1);
    if (!text)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", r->name);
    memcpy(text, p, n);
    for (const char *c = text; *c; c += qrn_utf8_length(c))
        if (qrn_utf8_length(c) == 0)
            return wrong(r, "the name of a record is not UTF-8");
    *out = text;
    return QRN_OK;
}

// The header before an entry must agree with the directory's; finds where the data begins.
static qrn_status read_local(reader *r, const uint8_t *central, const char *name, uint64_t *data) {
    uint64_t at = u32(central + 42), n_name = u16(central + 28);
    if (at < r->after || at + QRN_ZIP_LOCAL_BYTES + n_name > r->directory)
        return wrong_entry(r, name, "lies outside the file or in another record");
    const uint8_t *local = r->data + at;
    if (u32(local) != QRN_ZIP_LOCAL || u16(local + 26) != n_name ||
        memcmp(local + QRN_ZIP_LOCAL_BYTES, central + QRN_ZIP_CENTRAL_BYTES, n_name) != 0 ||
        memcmp(local + 6, central + 8, 20) != 0) // flags, method, times, checksum, sizes
        return wrong_entry(r, name, "its header differs from the directory");
    *data = at + QRN_ZIP_LOCAL_BYTES + n_name + u16(local + 28);
    return QRN_OK;
}

static qrn_status read_entry(reader *r, const uint8_t *central, const char *name,
                             qrn_dlc_record *out) {
    uint64_t at = 0, size = u32(central + 20);
    if (u16(central + 10) != 0 || u32(central + 24) != size)
        return wrong_entry(r, name, "is compressed; records of a DLC file are stored");
    if (u16(central + 8) & 1u)
        return wrong_entry(r, name, "is encrypted");
    QRN_TRY(read_local(r, central, name, &at));
    if (at > r->directory || size > r->directory - at)
        return wrong_entry(r, name, "ends behind the file");
    if (at % QRN_ZIP_ALIGN)
        return wrong_entry(r, name, "does not begin at a multiple of 64 bytes");
    if (qrn_crc32(0, r->data + at, size) != u32(central + 16))
        return wrong_entry(r, name, "its checksum is wrong: the file is damaged");
    r->after = at + size;
    *out = (qrn_dlc_record){.name = name, .data = r->data + at, .size_bytes = size};
    return QRN_OK;
}

// Finds the end of the archive, which is its last 22 bytes.
static qrn_status read_end(reader *r, uint32_t *n) {
    if (r->size < QRN_ZIP_END_BYTES || u32(r->data) != QRN_ZIP_LOCAL)
        return wrong(r, "not a DLC file: it does not begin as a zip archive does");
    const uint8_t *end = r->data + r->size - QRN_ZIP_END_BYTES;
    if (u32(end) != QRN_ZIP_END || u16(end + 20) != 0)
        return wrong(r, "the end of the archive is missing: the file is cut short, or has more "
                        "bytes behind it");
    uint64_t bytes = u32(end + 12);
    *n = u16(end + 10);
    r->directory = u32(end + 16);
    if (u32(end + 4) != 0 || u16(end + 8) != *n ||
        r->directory + bytes != r->size - QRN_ZIP_END_BYTES)
        return wrong(r, "the directory of the archive is not where its end says");
    if (*n == 0 || *n > QRN_DLC_MAX_RECORDS)
        return QRN_FAIL(QRN_E_BINARY, "%s: %u records, allowed 1 to %u", r->name, *n,
                        QRN_DLC_MAX_RECORDS);
    return QRN_OK;
}

qrn_status qrn_zip_read(const char *name, const void *data, uint64_t size_bytes, qrn_arena *arena,
                        qrn_dlc_record **entries, uint32_t *n) {
    reader r = {.name = name, .data = data, .size = size_bytes};
    if (size_bytes > QRN_ZIP_MOST_BYTES)
        return wrong(&r, "larger than 4 GiB, which DLC files cannot be");
    QRN_TRY(read_end(&r, n));
    *entries = qrn_arena_alloc(arena, *n * sizeof **entries);
    if (!*entries)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", name);
    uint64_t at = r.directory, end = size_bytes - QRN_ZIP_END_BYTES;
    for (uint32_t i = 0; i < *n; i++) {
        const uint8_t *central = r.data + at;
        if (end - at < QRN_ZIP_CENTRAL_BYTES || u32(central) != QRN_ZIP_CENTRAL)
            return wrong(&r, "the directory of the archive is damaged");
        uint32_t n_name = u16(central + 28);
        uint64_t bytes =
            QRN_ZIP_CENTRAL_BYTES + (uint64_t)n_name + u16(central + 30) + u16(central + 32);
        if (end - at < bytes)
            return wrong(&r, "the directory of the archive is damaged");
        char *text = NULL;
        QRN_TRY(read_name(&r, central + QRN_ZIP_CENTRAL_BYTES, n_name, arena, &text));
        QRN_TRY(read_entry(&r, central, text, &(*entries)[i]));
        at += bytes;
    }
    return at == end ? QRN_OK : wrong(&r, "the directory of the archive has bytes left over");
}
