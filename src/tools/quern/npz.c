// SPDX-License-Identifier: MIT
//
// NumPy's .npz format: a zip archive of .npy files, stored or deflated. Sizes in the archive's
// directory are claims; memory grows only as fast as data really comes out.
#include "tools/quern/files.h"

#include "base/file.h"
#include "tools/quern/heap.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_BYTES 22 // end of central directory, without its comment
#define MAX_COMMENT 65535
#define ENTRY_BYTES 46 // entry of the directory, without its names
#define LOCAL_BYTES 30
#define MAX_ENTRIES 4096

typedef struct zip {
    const char *path;
    const uint8_t *data;
    size_t size;
} zip;

typedef struct entry {
    const char *name;
    size_t name_len;
    unsigned method;
    uint32_t crc;
    uint64_t packed, unpacked, offset;
} entry;

static uint16_t u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t u32(const uint8_t *p) { return u16(p) | (uint32_t)u16(p + 2) << 16; }
static uint64_t u64(const uint8_t *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }

static qrn_status broken(const zip *z, size_t at, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: damaged .npz at offset %zu: %s", z->path, at, what);
}

static const uint8_t *find_end(const zip *z) {
    if (z->size < END_BYTES)
        return NULL;
    size_t lowest = z->size - END_BYTES > MAX_COMMENT ? z->size - END_BYTES - MAX_COMMENT : 0;
    for (size_t at = z->size - END_BYTES;; at--) {
        if (memcmp(z->data + at, "PK\5\6", 4) == 0)
            return z->data + at;
        if (at == lowest)
            return NULL;
    }
}

// Sizes that do not fit 32 bits follow in an extra field, in this order.
static bool widen(entry *e, const uint8_t *extra, size_t n) {
    uint64_t *fields[] = {&e->unpacked, &e->packed, &e->offset};
    bool wanted = false;
    for (size_t i = 0; i < 3; i++)
        wanted = wanted || *fields[i] == UINT32_MAX;
    if (!wanted)
        return true;
    while (n >= 4) {
        size_t len = u16(extra + 2);
        if (len > n - 4)
            return false;
        if (u16(extra) == 1) {
            const uint8_t *p = extra + 4;
            for (size_t i = 0; i < 3; i++) {
                if (*fields[i] != UINT32_MAX)
                    continue;
                if (len < 8)
                    return false;
                *fields[i] = u64(p);
                p += 8;
                len -= 8;
            }
            return true;
        }
        extra += 4 + len;
        n -= 4 + len;
    }
    return false;
}

static qrn_status read_entry(const zip *z, size_t *at, entry *e) {
    const uint8_t *p = z->data + *at;
    if (*at > z->size || z->size - *at < ENTRY_BYTES || memcmp(p, "PK\1\2", 4) != 0)
        return broken(z, *at, "expected an entry of the directory");
    size_t names = (size_t)u16(p + 28) + u16(p + 30) + u16(p + 32);
    if (z->size - *at - ENTRY_BYTES < names)
        return broken(z, *at, "entry longer than the file");
    *e = (entry){(const char *)p + ENTRY_BYTES,
                 u16(p + 28),
                 u16(p + 10),
                 u32(p + 16),
                 u32(p + 20),
                 u32(p + 24),
                 u32(p + 42)};
    if (u16(p + 8) & 1)
        return broken(z, *at, "encrypted");
    if (!widen(e, p + ENTRY_BYTES + u16(p + 28), u16(p + 30)))
        return broken(z, *at, "64-bit sizes are missing");
    *at += ENTRY_BYTES + names;
    return QRN_OK;
}

// Inflates into a buffer that doubles as long as data comes.
static qrn_status inflate_entry(const zip *z, const entry *e, const uint8_t *src, uint8_t **out,
                                size_t *out_size) {
    z_stream s = {0};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory to inflate", z->path);
    uint8_t *buf = NULL;
    size_t cap = 0, n = 0, left = (size_t)e->packed;
    int code = Z_OK;
    while (code == Z_OK && n <= e->unpacked) {
        if (n == cap) {
            size_t want = cap ? 2 * cap : 65536;
            uint8_t *grown = realloc(buf, want);
            if (!grown) {
                code = Z_MEM_ERROR;
                break;
            }
            buf = grown;
            cap = want;
        }
        uInt in = left < (1u << 30) ? (uInt)left : 1u << 30;
        uInt room = cap - n < (1u << 30) ? (uInt)(cap - n) : 1u << 30;
        s.next_in = (Bytef *)(uintptr_t)src; // only read
        s.avail_in = in;
        s.next_out = buf + n;
        s.avail_out = room;
        code = inflate(&s, Z_NO_FLUSH);
        src += in - s.avail_in;
        left -= in - s.avail_in;
        n += room - s.avail_out;
    }
    inflateEnd(&s);
    if (code == Z_STREAM_END && n == e->unpacked) {
        *out = buf;
        *out_size = n;
        return QRN_OK;
    }
    free(buf);
    if (code == Z_MEM_ERROR)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory to inflate '%.*s'", z->path, (int)e->name_len,
                        e->name);
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: '%.*s' cannot be inflated: damaged", z->path,
                    (int)e->name_len, e->name);
}

static qrn_status check_crc(const zip *z, const entry *e, const uint8_t *data, size_t n) {
    uLong crc = crc32_z(0, data, n);
    if (crc == e->crc)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: '%.*s' is damaged: checksum %08lx, expected %08lx",
                    z->path, (int)e->name_len, e->name, (unsigned long)crc, (unsigned long)e->crc);
}

static qrn_status load_entry(const zip *z, const entry *e, qt_array *out) {
    if (e->offset > z->size || z->size - e->offset < LOCAL_BYTES ||
        memcmp(z->data + e->offset, "PK\3\4", 4) != 0)
        return broken(z, (size_t)e->offset, "expected a file");
    const uint8_t *p = z->data + e->offset;
    size_t skip = LOCAL_BYTES + (size_t)u16(p + 26) + u16(p + 28);
    size_t left = z->size - (size_t)e->offset;
    if (left < skip || left - skip < e->packed)
        return broken(z, (size_t)e->offset, "file longer than the archive");
    char name[512];
    snprintf(name, sizeof name, "%.300s: %.*s", z->path,
             (int)(e->name_len < 200 ? e->name_len : 200), e->name);
    if (e->method == 0 && e->packed == e->unpacked) {
        QRN_TRY(check_crc(z, e, p + skip, (size_t)e->packed));
        return qt_npy_parse(name, p + skip, (size_t)e->packed, out);
    }
    if (e->method != 8)
        return broken(z, (size_t)e->offset, "compression other than deflate");
    uint8_t *data = NULL;
    size_t n = 0;
    QRN_TRY(inflate_entry(z, e, p + skip, &data, &n));
    qrn_status s = check_crc(z, e, data, n);
    if (s == QRN_OK)
        s = qt_npy_parse(name, data, n, out);
    free(data);
    return s;
}

static qrn_status add_array(const zip *z, const entry *e, qt_npz *out) {
    if (e->name_len < 4 || memcmp(e->name + e->name_len - 4, ".npy", 4) != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: '%.*s' is not a .npy file", z->path,
                        (int)(e->name_len < 200 ? e->name_len : 200), e->name);
    qt_array a = {0};
    QRN_TRY(load_entry(z, e, &a));
    char *name = qt_copy_text(e->name, e->name_len - 4);
    if (!name) {
        qt_array_free(&a);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", z->path);
    }
    out->names[out->n] = name;
    out->arrays[out->n++] = a;
    return QRN_OK;
}

static qrn_status read_all(const zip *z, qt_npz *out) {
    const uint8_t *end = find_end(z);
    if (!end && z->size >= 4 && memcmp(z->data, "PK\3\4", 4) == 0)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s: the .npz archive has no directory at its end; the file is cut short "
                        "or damaged",
                        z->path);
    if (!end)
        return qt_not_a(z->path, "a .npz file", z->data, z->size);
    size_t n = u16(end + 10), at = u32(end + 16);
    if (n > MAX_ENTRIES)
        return broken(z, (size_t)(end - z->data), "too many entries");
    out->names = calloc(n + 1, sizeof *out->names);
    out->arrays = calloc(n + 1, sizeof *out->arrays);
    if (!out->names || !out->arrays)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", z->path);
    uint64_t packed = 0; // files that share bytes would multiply what the archive holds
    for (size_t i = 0; i < n; i++) {
        entry e;
        QRN_TRY(read_entry(z, &at, &e));
        packed += e.packed;
        if (e.packed > z->size || packed > z->size)
            return broken(z, at, "files overlap");
        QRN_TRY(add_array(z, &e, out));
    }
    return QRN_OK;
}

qrn_status qt_npz_read(const char *path, qt_npz *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qt_npz made = {0};
    qrn_status s = read_all(&(zip){path, f.data, f.size}, &made);
    qrn_file_unmap(&f);
    if (s != QRN_OK) {
        qt_npz_free(&made);
        return s;
    }
    *out = made;
    return QRN_OK;
}

void qt_npz_free(qt_npz *z) {
    for (size_t i = 0; i < z->n; i++) {
        free(z->names[i]);
        qt_array_free(&z->arrays[i]);
    }
    free(z->names);
    free(z->arrays);
    *z = (qt_npz){0};
}
