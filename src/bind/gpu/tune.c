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
#define CLEARLY 0.95 // of the rule's time: less may be noise

// Texts of questions and variants have the parts of their structs, with a semicolon between.
#define MOST_TEXT 320u

typedef struct record {
    struct record *next;
    char *winner; // behind the key
    char key[];
} record;

struct qrn_gpu_tuner {
    qrn_gpu_tuner_options opt;
    char path[PATH_MAX]; // "": no file
    char device[17], name[128];
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

static const char *find(const qrn_gpu_tuner *t, const char *key) {
    const record *r = t->first;
    while (r && strcmp(r->key, key) != 0)
        r = r->next;
    return r ? r->winner : NULL;
}

static void add(qrn_gpu_tuner *t, const char *key, const char *winner) {
    size_t n = strlen(key) + 1, more = strlen(winner) + 1;
    record *r = qrn_alloc(sizeof *r + n + more);
    if (!r)
        return; // it is measured again
    r->next = t->first;
    memcpy(r->key, key, n);
    r->winner = r->key + n;
    memcpy(r->winner, winner, more);
    t->first = r;
}

static const char *precision_name(uint8_t p) {
    static const char *const names[] = {"FP32", "FP16", "HYBRID", "USER_PROVIDED"};
    return p < sizeof names / sizeof names[0] ? names[p] : "any";
}

static void key_of(const qrn_gpu_question *q, char *text) {
    snprintf(text, MOST_TEXT, "%s;%s;%s;%s", q->family, q->shape, q->types,
             precision_name(q->precision));
}

static void text_of(const qrn_gpu_variant *v, char *text) {
    snprintf(text, MOST_TEXT, "%s;%s;%u;%s;%s", v->kernel, v->tile, v->split, v->local, v->layout);
}

static const qrn_json *member(const qrn_json *o, const char *key, qrn_json_kind kind) {
    const qrn_json *m = o->kind == QRN_JSON_OBJECT ? o->first : NULL;
    while (m && strcmp(m->key, key) != 0)
        m = m->next;
    return m && m->kind == kind ? m : NULL;
}

// The texts of members, joined; false: one is missing or of another kind.
static bool join_members(const qrn_json *o, const char *const *names, size_t n, char *text) {
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const qrn_json *m = member(o, names[i], QRN_JSON_STRING);
        m = m ? m : member(o, names[i], QRN_JSON_NUMBER);
        int more = m ? snprintf(text + used, MOST_TEXT - used, "%s%s", i ? ";" : "", m->text) : -1;
        if (more < 0 || (used += (size_t)more) >= MOST_TEXT)
            return false;
    }
    return true;
}

// A line that is none of ours, or another device's, is passed over.
static void read_line(qrn_gpu_tuner *t, const char *line, size_t n) {
    static const char *const asked[] = {"family", "shape", "types", "precision"};
    static const char *const won[] = {"variant", "tile", "split", "local", "layout"};
    qrn_arena *arena = n && n < MOST_LINE ? qrn_arena_create() : NULL;
    qrn_json *o = NULL;
    char key[MOST_TEXT], winner[MOST_TEXT];
    if (arena && qrn_json_read(t->path, line, n, arena, &o) == QRN_OK) {
        const qrn_json *device = member(o, "device", QRN_JSON_STRING);
        if (device && strcmp(device->text, t->device) == 0 &&
            join_members(o, asked, sizeof asked / sizeof asked[0], key) &&
            join_members(o, won, sizeof won / sizeof won[0], winner))
            add(t, key, winner); // a later line comes first
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

static void append(qrn_gpu_tuner *t, const qrn_gpu_question *q, const qrn_gpu_variant *v,
                   double us) {
    char line[MOST_LINE];
    int n =
        snprintf(line, sizeof line,
                 "{\"device\":\"%s\",\"name\":\"%s\",\"family\":\"%s\",\"shape\":\"%s\","
                 "\"types\":\"%s\",\"precision\":\"%s\",\"variant\":\"%s\",\"tile\":\"%s\","
                 "\"split\":%u,\"local\":\"%s\",\"layout\":\"%s\",\"us\":%.3f}\n",
                 t->device, t->name, q->family, q->shape, q->types, precision_name(q->precision),
                 v->kernel, v->tile, v->split, v->local, v->layout, us);
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
    for (size_t i = 0; d->name[i]; i++) // as a JSON string
        t->name[i] = d->name[i] < ' ' || strchr("\"\\", d->name[i]) ? ' ' : d->name[i];
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

static int by_key(const void *a, const void *b) {
    return strcmp(((const qrn_gpu_choice *)a)->key, ((const qrn_gpu_choice *)b)->key);
}

void qrn_gpu_sort_choices(qrn_gpu_choice *list, uint32_t n) {
    qsort(list, n, sizeof *list, by_key);
}

static const char *known(const qrn_gpu_plan *p, const char *key) {
    qrn_gpu_choice want = {.key = key};
    const qrn_gpu_choice *c =
        p->n_known ? bsearch(&want, p->known, p->n_known, sizeof want, by_key) : NULL;
    return c ? c->winner : NULL;
}

// Context binaries store what a plan was made with.
static void note(qrn_gpu_plan *p, qrn_compiled *cg, const char *key, const char *winner) {
    qrn_gpu_choice *more =
        qrn_realloc(p->choices, p->n_choices * sizeof *more, (p->n_choices + 1u) * sizeof *more);
    if (!more)
        return; // then they do not
    p->choices = more;
    more[p->n_choices] =
        (qrn_gpu_choice){qrn_arena_strdup(cg->arena, key), qrn_arena_strdup(cg->arena, winner)};
    p->n_choices += more[p->n_choices].key && more[p->n_choices].winner;
}

// The candidate with the text; n: there is none.
static uint32_t number_of(const qrn_gpu_candidates *c, const char *winner) {
    char text[MOST_TEXT];
    uint32_t i = 0;
    for (; i < c->n; i++) {
        qrn_gpu_variant v = {0};
        c->describe(c->ctx, i, &v);
        text_of(&v, text);
        if (strcmp(text, winner) == 0)
            break;
    }
    return i;
}

// Measures; n: nothing could be.
static uint32_t fastest(qrn_gpu_tuner *t, const qrn_gpu_question *q, const qrn_gpu_candidates *c) {
    double start = now_us(), best_us = -1, spent = 0;
    uint32_t best = c->n;
    for (uint32_t i = 0; i < c->n && spent < STEP_BUDGET_US && now_us() - start < t->left_us; i++) {
        double us = c->measure(c->ctx, i, &spent);
        if (us >= 0 && (best_us < 0 || us < best_us * (best == 0 ? CLEARLY : 1))) {
            best_us = us;
            best = i;
        }
    }
    t->left_us -= now_us() - start;
    if (best < c->n) {
        qrn_gpu_variant v = {0};
        char key[MOST_TEXT], winner[MOST_TEXT];
        c->describe(c->ctx, best, &v);
        key_of(q, key);
        text_of(&v, winner);
        add(t, key, winner);
        append(t, q, &v, best_us);
    }
    return best;
}

static uint32_t ask(qrn_gpu_tuner *t, const qrn_gpu_question *q, const char *key,
                    const qrn_gpu_candidates *c) {
    pthread_mutex_lock(&t->lock);
    const char *winner = find(t, key);
    uint32_t i = winner ? number_of(c, winner) : c->n;
    if (i == c->n && t->opt.measure && t->left_us > 0)
        i = fastest(t, q, c);
    pthread_mutex_unlock(&t->lock);
    return i;
}

uint32_t qrn_gpu_tune(const qrn_gpu_device *d, qrn_gpu_plan *p, qrn_compiled *cg,
                      const qrn_gpu_question *q, const qrn_gpu_candidates *c) {
    char key[MOST_TEXT], winner[MOST_TEXT];
    key_of(q, key);
    uint32_t i = d && d->tuner ? ask(d->tuner, q, key, c) : c->n;
    const char *stored = i == c->n ? known(p, key) : NULL;
    if (stored)
        i = number_of(c, stored);
    if (i == c->n)
        return 0;
    qrn_gpu_variant v = {0};
    c->describe(c->ctx, i, &v);
    text_of(&v, winner);
    note(p, cg, key, winner);
    return i;
}
