// SPDX-License-Identifier: MIT
//
// The file of weights: constants one behind the other, each once, found again by their SHA-256.
#include "base/mem.h"
#include "base/outfile.h"
#include "base/sha256.h"
#include "quantizer/proto.h"

#include <stdio.h>
#include <string.h>

#define ALIGNED 64 // offsets, so that the mapped file is used in place

typedef struct entry {
    struct entry *next;
    uint64_t offset;
    char digest[2 * QRN_SHA256_BYTES + 1];
} entry;

struct qz_weights_file {
    qrn_outfile file;
    const char *name;
    uint64_t n_bytes;
    qrn_strmap by_digest;
    entry *entries;
};

static void release(qz_weights_file *f) {
    for (entry *e = f->entries, *next; e; e = next) {
        next = e->next;
        qrn_free(e);
    }
    qrn_strmap_clear(&f->by_digest);
    qrn_free(f);
}

qrn_status qz_weights_begin(const char *path, const char *name, qz_weights_file **out) {
    qz_weights_file *f = qrn_calloc(sizeof *f);
    if (!f)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a file of weights");
    f->name = name;
    qrn_status s = qrn_outfile_begin(&f->file, path);
    if (s != QRN_OK) {
        qrn_free(f);
        return s;
    }
    *out = f;
    return QRN_OK;
}

qrn_status qz_weights_commit(qz_weights_file *f) {
    qrn_status s = qrn_outfile_commit(&f->file);
    release(f);
    return s;
}

void qz_weights_abort(qz_weights_file *f) {
    if (!f)
        return;
    qrn_outfile_abort(&f->file);
    release(f);
}

const char *qz_weights_name(const qz_weights_file *f) { return f->name; }

qrn_status qz_weights_add(qz_weights_file *f, const void *data, size_t bytes, uint64_t *offset) {
    static const char zeros[ALIGNED];
    qrn_sha256 sha;
    uint8_t digest[QRN_SHA256_BYTES];
    entry *e = qrn_calloc(sizeof *e);
    if (!e)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a constant's place");
    qrn_sha256_begin(&sha);
    qrn_sha256_add(&sha, data, bytes);
    qrn_sha256_end(&sha, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(e->digest + 2 * i, 3, "%02x", digest[i]);
    const entry *same = qrn_strmap_get(&f->by_digest, e->digest);
    if (same) {
        *offset = same->offset;
        qrn_free(e);
        return QRN_OK;
    }
    size_t gap = (size_t)(-f->n_bytes & (ALIGNED - 1));
    qrn_outfile_write(&f->file, zeros, gap);
    qrn_outfile_write(&f->file, data, bytes);
    *offset = e->offset = f->n_bytes + gap;
    f->n_bytes += gap + bytes;
    e->next = f->entries;
    f->entries = e;
    if (!qrn_strmap_put(&f->by_digest, e->digest, e))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a constant's place");
    return QRN_OK;
}
