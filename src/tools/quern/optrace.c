// SPDX-License-Identifier: MIT
//
// Reading op traces and schematics. A count is believed only if the bytes behind it could hold that
// many entries, so that memory stays in proportion to the file.
#include "tools/quern/optrace.h"

#include <string.h>

#define LAST_VERSION 3u

typedef struct bytes {
    qrn_arena *arena;
    const unsigned char *data;
    size_t n, at;
    bool wrong, no_memory;
} bytes;

static uint64_t take(bytes *b, unsigned n) {
    uint64_t v = 0;
    if (b->wrong || b->n - b->at < n) {
        b->wrong = true;
        return 0;
    }
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)b->data[b->at++] << 8 * i;
    return v;
}

static uint32_t take_u32(bytes *b) { return (uint32_t)take(b, 4); }

static const char *take_text(bytes *b) {
    uint32_t n = take_u32(b);
    if (b->wrong || n > b->n - b->at) {
        b->wrong = true;
        return "";
    }
    char *text = qrn_arena_alloc(b->arena, (size_t)n + 1);
    b->no_memory |= !text;
    b->wrong |= !text;
    if (text)
        memcpy(text, b->data + b->at, n);
    b->at += n;
    return text ? text : "";
}

// A list of `count` entries that take at least `least` bytes each.
static void *take_list(bytes *b, uint32_t *count, size_t least, size_t size) {
    *count = take_u32(b);
    if (b->wrong || *count > (b->n - b->at) / least) {
        b->wrong = true;
        *count = 0;
    }
    void *list = qrn_arena_alloc(b->arena, (*count + (size_t)1) * size);
    if (!list) {
        b->no_memory = b->wrong = true;
        *count = 0;
    }
    return list;
}

static const uint32_t *take_words(bytes *b, uint32_t *count, uint32_t limit) {
    uint32_t *list = take_list(b, count, 4, sizeof *list);
    for (uint32_t i = 0; i < *count; i++) {
        list[i] = take_u32(b);
        b->wrong |= list[i] >= limit && list[i] != QT_NO_INDEX;
    }
    return list;
}

static bool take_magic(bytes *b, const char magic[8]) {
    b->wrong |= b->n < 8 || memcmp(b->data, magic, 8) != 0;
    b->at = b->wrong ? 0 : 8;
    return !b->wrong;
}

// --- traces

static void take_steps(bytes *b, qt_optrace *t) {
    bool traffic = t->version >= 3;
    t->clock_hz = traffic ? take(b, 8) : 0;
    t->steps = take_list(b, &t->n_steps, traffic ? 104 : 64, sizeof *t->steps);
    for (uint32_t i = 0; i < t->n_steps && !b->wrong; i++) {
        qt_step *s = &t->steps[i];
        double *const times[] = {&s->begin,    &s->run,     &s->end,    &s->fetch[0],
                                 &s->fetch[1], &s->swap[0], &s->swap[1]};
        uint64_t *const moved[] = {&s->weights, &s->fills, &s->spills, &s->reads, &s->writes};
        s->id = take_u32(b);
        s->engines = take_u32(b);
        for (size_t k = 0; k < sizeof times / sizeof times[0]; k++)
            *times[k] = (double)take(b, 8);
        for (size_t k = 0; traffic && k < sizeof moved / sizeof moved[0]; k++)
            *moved[k] = take(b, 8);
        b->wrong |= s->run < s->begin || s->end < s->run;
    }
    b->wrong |= traffic && t->n_steps && !t->clock_hz;
}

static bool take_trace(bytes *b, qt_optrace *t) {
    if (!take_magic(b, "QRNTRACE"))
        return false;
    t->version = take_u32(b);
    b->wrong |= t->version < 1 || t->version > LAST_VERSION;
    t->graph = take_text(b);
    t->ticks_per_us = (double)take(b, 8) / 1e6;
    b->wrong |= t->ticks_per_us <= 0;
    t->ran = take_list(b, &t->n_ran, 40, sizeof *t->ran);
    for (uint32_t i = 0; i < t->n_ran && !b->wrong; i++) {
        qt_ran *r = &t->ran[i];
        r->id = take_u32(b);
        r->thread = take_u32(b);
        r->begin = take(b, 8);
        r->end = take(b, 8);
        r->in_bytes = take(b, 8);
        r->out_bytes = take(b, 8);
        b->wrong |= r->end < r->begin || r->begin < t->ran[0].begin;
    }
    if (t->version >= 2)
        take_steps(b, t);
    return !b->wrong;
}

static unsigned digit(char c) {
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                  : 16;
}

bool qt_optrace_read(qrn_arena *a, const char *hex, qt_optrace *out) {
    size_t n = strlen(hex) / 2;
    unsigned char *data = qrn_arena_alloc(a, n + 1);
    if (!data)
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high > 15 || low > 15)
            return false;
        data[i] = (unsigned char)(high << 4 | low);
    }
    bytes b = {.arena = a, .data = data, .n = n};
    *out = (qt_optrace){0};
    return take_trace(&b, out);
}

// --- schematics

static void take_values(bytes *b, qt_schematic *s) {
    s->values = take_list(b, &s->n_values, 36, sizeof *s->values);
    for (uint32_t i = 0; i < s->n_values && !b->wrong; i++) {
        qt_value *v = &s->values[i];
        v->tensor = take_u32(b);
        v->storage = take_u32(b);
        take(b, 8); // where it lies on this host
        v->bytes = take(b, 8);
        v->name = take_text(b);
        v->type = take_u32(b);
        v->dims = take_words(b, &v->rank, UINT32_MAX);
    }
}

static void take_ops(bytes *b, qt_schematic *s) {
    s->ops = take_list(b, &s->n_ops, 20, sizeof *s->ops);
    for (uint32_t i = 0; i < s->n_ops && !b->wrong; i++) {
        qt_op *op = &s->ops[i];
        op->id = take_u32(b);
        op->name = take_text(b);
        op->type = take_text(b);
        op->in = take_words(b, &op->n_in, s->n_values);
        op->out = take_words(b, &op->n_out, s->n_values);
    }
}

static void take_places(bytes *b, qt_schematic *s) {
    s->vtcm_bytes = take_u32(b);
    s->places = take_list(b, &s->n_places, 24, sizeof *s->places);
    for (uint32_t i = 0; i < s->n_places && !b->wrong; i++) {
        qt_place *p = &s->places[i];
        uint32_t *const words[] = {&p->tensor, &p->weights, &p->offset,
                                   &p->bytes,  &p->first,   &p->last};
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            *words[k] = take_u32(b);
    }
}

const char *qt_schematic_read(qrn_arena *a, const unsigned char *data, size_t n,
                              qt_schematic *out) {
    bytes b = {.arena = a, .data = data, .n = n};
    *out = (qt_schematic){0};
    if (!take_magic(&b, "QRNSCHEM"))
        return "not a schematic";
    if (take_u32(&b) != LAST_VERSION)
        return b.wrong ? "damaged" : "of another version; finalize the graph again";
    out->graph = take_text(&b);
    take_values(&b, out);
    take_ops(&b, out);
    take_places(&b, out);
    return b.no_memory ? "out of memory" : b.wrong ? "damaged" : NULL;
}
