// SPDX-License-Identifier: MIT
//
// The store of measured choices.
#include "bind/gpu/tune.h"

#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/sha256.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEP_BUDGET_US 50e3
#define GRAPH_BUDGET_US 10e6
#define MOST_LINE 4096u

typedef struct record {
    struct record *next;
    uint32_t variant;
    char key[];
} record;

struct qrn_gpu_tuner {
    qrn_gpu_tuner_options opt;
    char path[PATH_MAX]; // "": no file
    char device[17];
    pthread_mutex_t lock; // of what follows; held while something is measured
    record *first;
    double left_us; // of the graph's budget
    bool failed;    // the file cannot be written: said once
};

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

// --- records

static const record *find(const qrn_gpu_tuner *t, const char *key) {
    const record *r = t->first;
    while (r && strcmp(r->key, key) != 0)
        r = r->next;
    return r;
}

static void add(qrn_gpu_tuner *t, const char *key, uint32_t variant) {
    size_t n = strlen(key) + 1;
    record *r = qrn_alloc(sizeof *r + n);
    if (!r)
        return; // it is measured again
    r->next = t->first;
    r->variant = variant;
    memcpy(r->key, key, n);
    t->first = r;
}

static const qrn_json *member(const qrn_json *o, const char *key, qrn_json_kind kind) {
    const qrn_json *m = o->kind == QRN_JSON_OBJECT ? o->first : NULL;
    while (m && strcmp(m->key, key) != 0)
        m = m->next;
    return m && m->kind == kind ? m : NULL;
}

// A line that is none of ours, or another device's, is passed over.
static void read_line(qrn_gpu_tuner *t, const char *line, size_t n) {
    qrn_arena *arena = n && n < MOST_LINE ? qrn_arena_create() : NULL;
    qrn_json *o = NULL;
    if (arena && qrn_json_read(t->path, line, n, arena, &o) == QRN_OK) {
        const qrn_json *device = member(o, "device", QRN_JSON_STRING);
        const qrn_json *key = member(o, "key", QRN_JSON_STRING);
        const qrn_json *variant = member(o, "variant", QRN_JSON_NUMBER);
        char *end = NULL;
        unsigned long v = variant ? strtoul(variant->text, &end, 10) : 0;
        if (device && key && variant && strcmp(device->text, t->device) == 0 && *end == 0 &&
            v < UINT32_MAX)
            add(t, key->text, (uint32_t)v); // a later line comes first
    }
    qrn_message_clear();
    qrn_arena_destroy(arena);
}

static void read_file(qrn_gpu_tuner *t) {
    qrn_file f = {0};
    if (access(t->path, F_OK) != 0)
        return;
    if (qrn_file_map(t->path, &f) != QRN_OK) {
        if (t->opt.say)
            t->opt.say(t->opt.ctx, qrn_message());
        qrn_message_clear();
        return;
    }
    for (const char *p = f.data, *end = p + f.size; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        read_line(t, p, n);
        p += n + 1;
    }
    qrn_file_unmap(&f);
}

static void append(qrn_gpu_tuner *t, const char *key, uint32_t variant, double us) {
    char line[MOST_LINE];
    int n = snprintf(line, sizeof line,
                     "{\"device\":\"%s\",\"key\":\"%s\",\"variant\":%u,\"us\":%.3f}\n", t->device,
                     key, variant, us);
    if (!t->path[0] || t->failed || n < 0 || (size_t)n >= sizeof line)
        return;
    int fd = qrn_outfile_open_append(t->path);
    int err = fd < 0 ? errno : qrn_outfile_append(fd, line, (size_t)n);
    if (fd >= 0)
        close(fd);
    if (err && !t->failed && t->opt.say) {
        snprintf(line, sizeof line, "tuning results are not kept: %.3000s: %s", t->path,
                 strerror(err));
        t->opt.say(t->opt.ctx, line);
    }
    t->failed = err != 0;
}

// --- life

void qrn_gpu_device_key(const qrn_cl_device *d, char key[17]) {
    const char *texts[] = {d->platform_name, d->name, d->driver, d->version, d->tier};
    uint8_t digest[QRN_SHA256_BYTES];
    qrn_sha256 h;
    qrn_sha256_begin(&h);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        qrn_sha256_add(&h, texts[i], strlen(texts[i]) + 1);
    qrn_sha256_end(&h, digest);
    for (unsigned i = 0; i < 8; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
}

qrn_gpu_tuner *qrn_gpu_tuner_create(const qrn_cl_device *d, const qrn_gpu_tuner_options *o) {
    qrn_gpu_tuner *t = qrn_calloc(sizeof *t);
    if (!t)
        return NULL;
    t->opt = *o;
    pthread_mutex_init(&t->lock, NULL);
    qrn_gpu_device_key(d, t->device);
    if (o->folder &&
        snprintf(t->path, sizeof t->path, "%s/tuning.jsonl", o->folder) < (int)sizeof t->path) {
        mkdir(o->folder, 0700); // what fails shows when the file is written
        if (o->fresh)
            unlink(t->path);
        read_file(t);
    }
    t->opt.folder = NULL; // not ours to keep
    return t;
}

void qrn_gpu_tuner_destroy(qrn_gpu_tuner *t) {
    while (t && t->first) {
        record *r = t->first;
        t->first = r->next;
        qrn_free(r);
    }
    if (t)
        pthread_mutex_destroy(&t->lock);
    qrn_free(t);
}

void qrn_gpu_tuner_begin(qrn_gpu_tuner *t) {
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->left_us = GRAPH_BUDGET_US;
    pthread_mutex_unlock(&t->lock);
}

// --- choosing

static uint32_t fastest(qrn_gpu_tuner *t, const char *key, uint32_t n, uint32_t fallback,
                        double (*measure)(void *ctx, uint32_t variant), void *ctx) {
    double start = now_us(), best_us = -1;
    uint32_t best = fallback;
    for (uint32_t v = 0; v < n && now_us() - start < STEP_BUDGET_US; v++) {
        double us = measure(ctx, v);
        if (us >= 0 && (best_us < 0 || us < best_us)) {
            best_us = us;
            best = v;
        }
    }
    t->left_us -= now_us() - start;
    if (best_us >= 0) {
        add(t, key, best);
        append(t, key, best, best_us);
    }
    return best;
}

uint32_t qrn_gpu_tune(qrn_gpu_tuner *t, const char *key, uint32_t n, uint32_t fallback,
                      double (*measure)(void *ctx, uint32_t variant), void *ctx) {
    if (!t)
        return fallback;
    pthread_mutex_lock(&t->lock);
    const record *r = find(t, key);
    uint32_t v = fallback;
    if (r && r->variant < n)
        v = r->variant;
    else if (t->opt.measure && t->left_us > 0)
        v = fastest(t, key, n, fallback, measure, ctx);
    pthread_mutex_unlock(&t->lock);
    return v;
}
