// SPDX-License-Identifier: MIT
//
// The file: a header, a record for each activation in the graph's order, and a checksum. All
// numbers have 8 bytes, as this machine stores them.
#include "quantizer/state.h"

#include "base/crc32.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/sha256.h"

#include <math.h>
#include <string.h>

#define MAGIC "QRNCAL2\n"
#define CONSTANT_BYTES 4096 // of each constant that are part of the model's digest

enum { HISTOGRAMS = 1, GRAMS = 2 };

typedef struct header {
    char magic[8];
    uint8_t digest[QRN_SHA256_BYTES]; // of the model
    uint64_t n_done, first, n, flags;
    uint64_t n_values;
} header;

typedef struct record {
    double min, max, above, peak;
    uint64_t n, n_masked, n_nan;
    int64_t exponent;
    uint64_t sizes[QZ_SIZES];
    uint64_t first_bin, n_bins; // those that are not 0 are among these, which follow
    uint64_t depth, n_rows;     // of the sums, depth * depth floats that follow; depth 0: none
} record;

// --- the model that a file belongs to

static void add_text(qrn_sha256 *sha, const char *text) {
    qrn_sha256_add(sha, text, strlen(text) + 1);
}

static void digest_of(const qz_graph *g, uint8_t digest[QRN_SHA256_BYTES]) {
    const ox_graph *og = g->model->graph;
    qrn_sha256 sha;
    qrn_sha256_begin(&sha);
    for (uint32_t i = 0; i < og->n_nodes; i++)
        add_text(&sha, og->nodes[i].op);
    for (uint32_t i = 0; i < g->n_values; i++) {
        const qz_value *v = g->values[i];
        add_text(&sha, v->name);
        qrn_sha256_add(&sha, &v->type, sizeof v->type);
        qrn_sha256_add(&sha, &v->rank, sizeof v->rank);
        qrn_sha256_add(&sha, v->dims, v->rank * sizeof *v->dims);
        if (v->data)
            qrn_sha256_add(&sha, v->data, v->bytes < CONSTANT_BYTES ? v->bytes : CONSTANT_BYTES);
    }
    qrn_sha256_end(&sha, digest);
}

static uint64_t count_values(const qz_graph *g) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->n_values; i++)
        n += qz_is_activation(g->values[i]);
    return n;
}

// --- writing

typedef struct output {
    qrn_outfile file;
    uint32_t crc;
} output;

static void put(output *o, const void *bytes, size_t n) {
    o->crc = qrn_crc32(o->crc, bytes, n);
    qrn_outfile_write(&o->file, bytes, n);
}

static void put_value(output *o, const qz_value *v) {
    const qz_stats *s = &v->stats;
    const qz_gram *gram = v->owns_gram ? v->gram : NULL;
    record r = {.min = s->min,
                .max = s->max,
                .above = s->above,
                .peak = s->peak,
                .n = s->n,
                .n_masked = s->n_masked,
                .n_nan = s->n_nan,
                .exponent = s->exponent,
                .depth = gram ? gram->depth : 0,
                .n_rows = gram ? gram->n_rows : 0};
    memcpy(r.sizes, s->sizes, sizeof r.sizes);
    uint64_t last = 0;
    for (uint64_t i = QZ_BINS; s->bins && i-- > 0;)
        if (s->bins[i]) {
            r.first_bin = i;
            last = last ? last : i + 1;
        }
    r.n_bins = last - r.first_bin;
    put(o, &r, sizeof r);
    if (r.n_bins)
        put(o, s->bins + r.first_bin, r.n_bins * sizeof *s->bins);
    if (gram)
        put(o, gram->sums, r.depth * r.depth * sizeof *gram->sums);
}

qrn_status qz_state_save(const qz_graph *g, const qz_state *s, const char *path) {
    header h = {.n_done = s->n_done,
                .first = s->first,
                .n = s->n,
                .flags = (s->histograms ? HISTOGRAMS : 0) | (s->grams ? GRAMS : 0),
                .n_values = count_values(g)};
    output o = {.crc = 0};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    digest_of(g, h.digest);
    QRN_TRY(qrn_outfile_begin(&o.file, path));
    put(&o, &h, sizeof h);
    for (uint32_t i = 0; i < g->n_values; i++)
        if (qz_is_activation(g->values[i]))
            put_value(&o, g->values[i]);
    const uint64_t crc = o.crc;
    qrn_outfile_write(&o.file, &crc, sizeof crc);
    return qrn_outfile_commit(&o.file);
}

// --- reading

typedef struct input {
    const char *path;
    const char *at;
    size_t left;
} input;

static qrn_status damaged(const input *in) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: the state of calibration is damaged; calibrate again",
                    in->path);
}

static bool take(input *in, void *to, uint64_t n) {
    if (n > in->left)
        return false;
    memcpy(to, in->at, (size_t)n);
    in->at += n;
    in->left -= (size_t)n;
    return true;
}

static bool is_sound(const record *r) {
    bool range = isfinite(r->min) && isfinite(r->max) && r->min <= r->max;
    return (range || !r->n) && !isnan(r->above) && r->exponent >= -200 && r->exponent <= 200 &&
           r->first_bin <= QZ_BINS && r->n_bins <= QZ_BINS - r->first_bin && r->depth <= 1u << 20;
}

static qrn_status add_gram(input *in, qz_value *v, const record *r) {
    qz_gram *g = v->gram;
    uint64_t n = r->depth * r->depth;
    if (n * sizeof(float) > in->left || (g && g->depth != r->depth))
        return damaged(in);
    for (uint64_t i = 0; g && i < n; i++) {
        float x;
        memcpy(&x, in->at + i * sizeof x, sizeof x);
        g->sums[i] += x;
    }
    if (g)
        g->n_rows += r->n_rows;
    in->at += n * sizeof(float);
    in->left -= (size_t)n * sizeof(float);
    return QRN_OK;
}

static qrn_status add_value(input *in, qz_value *v, bool histograms) {
    record r;
    uint64_t bins[QZ_BINS] = {0};
    if (!take(in, &r, sizeof r) || !is_sound(&r) ||
        !take(in, bins + r.first_bin, r.n_bins * sizeof *bins))
        return damaged(in);
    qz_stats s = {.min = r.min,
                  .max = r.max,
                  .above = r.above,
                  .n = r.n,
                  .peak = r.peak,
                  .n_masked = r.n_masked,
                  .n_nan = r.n_nan,
                  .exponent = (int)r.exponent,
                  .bins = histograms ? bins : NULL};
    memcpy(s.sizes, r.sizes, sizeof s.sizes);
    qz_stats_merge(&v->stats, &s);
    return r.depth ? add_gram(in, v, &r) : QRN_OK;
}

static qrn_status check_header(const qz_graph *g, const input *in, const header *h) {
    uint8_t digest[QRN_SHA256_BYTES];
    digest_of(g, digest);
    if (memcmp(h->digest, digest, sizeof digest) != 0 || h->n_values != count_values(g))
        return QRN_FAIL(QRN_E_INCOMPATIBLE, "%s: the state of calibration is of another model",
                        in->path);
    for (uint32_t i = 0; i < g->n_values && !(h->flags & HISTOGRAMS); i++)
        if (g->values[i]->stats.bins)
            return QRN_FAIL(QRN_E_INCOMPATIBLE,
                            "%s: the state of calibration has no histograms, which the method "
                            "needs; calibrate again with that method",
                            in->path);
    for (uint32_t i = 0; i < g->n_values && !(h->flags & GRAMS); i++)
        if (g->values[i]->gram)
            return QRN_FAIL(QRN_E_INCOMPATIBLE,
                            "%s: the state of calibration has no sums of products, which 4-bit "
                            "weights need; calibrate again with that scheme",
                            in->path);
    return h->n_done <= h->n ? QRN_OK : damaged(in);
}

static qrn_status add_all(qz_graph *g, input *in, qz_state *out) {
    header h;
    uint64_t crc;
    if (in->left < sizeof h + sizeof crc || memcmp(in->at, MAGIC, sizeof h.magic) != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: this is not a state of calibration", in->path);
    in->left -= sizeof crc;
    memcpy(&crc, in->at + in->left, sizeof crc);
    if (crc != qrn_crc32(0, in->at, in->left))
        return damaged(in);
    take(in, &h, sizeof h);
    QRN_TRY(check_header(g, in, &h));
    for (uint32_t i = 0; i < g->n_values; i++)
        if (qz_is_activation(g->values[i]))
            QRN_TRY(add_value(in, g->values[i], h.flags & HISTOGRAMS));
    *out = (qz_state){h.n_done, h.first, h.n, h.flags & HISTOGRAMS, h.flags & GRAMS};
    return in->left ? damaged(in) : QRN_OK;
}

qrn_status qz_state_add(qz_graph *g, const char *path, qz_state *out) {
    qrn_file f;
    QRN_TRY(qrn_file_map(path, &f));
    input in = {path, f.data, f.size};
    qrn_status s = add_all(g, &in, out);
    qrn_file_unmap(&f);
    return s;
}
