// SPDX-License-Identifier: MIT
//
// Writer and reader of stored schedules: little-endian, every field 4 or 8 bytes, texts with a
// length, a zero byte, and zeros up to a multiple of 4.
#include "device/stored.h"

#include <math.h>
#include <string.h>

enum {
    HEAD_BYTES = 14 * 4 + 8,                // the name of the chip at its shortest
    SLOT_BYTES = 4 * 4 + 6 * 8 + 7 * 4 + 8, // with the shortest name
    TILE_BYTES = 5 * 4,
    SWAP_BYTES = 3 * 4 + 8
};
#define WEIGHTS 0x80000000u // flag of a tile's first step
#define FILL 1u             // flags of a swap
#define WAITED 2u

// --- writing

typedef struct writer {
    unsigned char *p; // NULL: only count
    size_t n;
} writer;

static void put_u32(writer *w, uint32_t v) {
    for (int i = 0; w->p && i < 4; i++)
        w->p[w->n + (size_t)i] = (unsigned char)(v >> 8 * i);
    w->n += 4;
}

static void put_u64(writer *w, uint64_t v) {
    put_u32(w, (uint32_t)v);
    put_u32(w, (uint32_t)(v >> 32));
}

// A time or a factor.
static void put_real(writer *w, double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put_u32(w, bits);
}

static void put_count(writer *w, double v) {
    put_u64(w, v > 0 ? v < 9e18 ? (uint64_t)v : (uint64_t)9e18 : 0);
}

static void put_text(writer *w, const char *s) {
    size_t n = strlen(s), padded = 4 * (n / 4 + 1);
    put_u32(w, (uint32_t)n);
    if (w->p) {
        memset(w->p + w->n, 0, padded);
        memcpy(w->p + w->n, s, n);
    }
    w->n += padded;
}

static void put_slot(writer *w, const qd_slot *x) {
    put_u32(w, x->op);
    put_u32(w, (uint32_t)x->kind | x->engines << 8);
    put_u32(w, x->n_ops);
    put_u32(w, x->cuts);
    const double counts[] = {x->macs,      x->padded,       x->in_bytes,
                             x->out_bytes, x->weight_bytes, x->spill_bytes};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        put_count(w, counts[i]);
    const double times[] = {x->control,   x->run,        x->end,     x->fetch.begin,
                            x->fetch.end, x->swap.begin, x->swap.end};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        put_real(w, times[i]);
    put_text(w, x->name);
}

static void put_all(writer *w, const qd_schedule *s) {
    const uint32_t words[] = {s->soc,   (uint32_t)s->precision, s->vtcm_bytes, s->hvx_threads,
                              s->marks, s->peak_bytes};
    const double reals[] = {s->us, s->start, s->core, s->memory, s->scale};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put_u32(w, words[i]);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        put_real(w, reals[i]);
    put_u32(w, s->n_slots);
    put_u32(w, s->n_tiles);
    put_u32(w, s->n_swaps);
    put_text(w, s->chip);
    for (uint32_t i = 0; i < s->n_slots; i++)
        put_slot(w, &s->slots[i]);
    for (uint32_t i = 0; i < s->n_tiles; i++) {
        const qd_tile *t = &s->tiles[i];
        put_u32(w, t->value);
        put_u32(w, t->offset);
        put_u32(w, t->bytes);
        put_u32(w, t->first | (t->weights ? WEIGHTS : 0));
        put_u32(w, t->last);
    }
    for (uint32_t i = 0; i < s->n_swaps; i++) {
        const qd_swap *x = &s->swaps[i];
        put_u32(w, x->value);
        put_u32(w, x->step);
        put_u32(w, (x->fill ? FILL : 0) | (x->waited ? WAITED : 0));
        put_u64(w, x->bytes);
    }
}

qrn_status qd_store(const qd_schedule *s, qrn_arena *arena, unsigned char **bytes, size_t *n) {
    writer w = {0};
    put_all(&w, s);
    w = (writer){.p = qrn_arena_alloc(arena, w.n)};
    if (!w.p)
        return QRN_FAIL(QRN_E_MEM, "schedule: no memory");
    put_all(&w, s);
    *bytes = w.p;
    *n = w.n;
    return QRN_OK;
}

// --- reading

typedef struct reader {
    const unsigned char *p;
    size_t n, at;
    qrn_arena *arena;
    const char *wrong; // the first thing that is; NULL: nothing
    bool no_memory;
} reader;

static void wrong(reader *r, const char *what) { r->wrong = r->wrong ? r->wrong : what; }

static uint32_t get_u32(reader *r) {
    if (r->n - r->at < 4) {
        wrong(r, "it ends too early");
        return 0;
    }
    const unsigned char *p = r->p + r->at;
    r->at += 4;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(reader *r) {
    uint64_t low = get_u32(r);
    return low | (uint64_t)get_u32(r) << 32;
}

static double get_real(reader *r) {
    uint32_t bits = get_u32(r);
    float f;
    memcpy(&f, &bits, sizeof f);
    if (!isfinite(f) || signbit(f)) {
        wrong(r, "a time is not a number from 0 on");
        return 0;
    }
    return (double)f;
}

static double get_count(reader *r) { return (double)get_u64(r); }

static const char *get_text(reader *r) {
    uint32_t n = get_u32(r);
    if (n >= r->n - r->at || 4 * ((size_t)n / 4 + 1) > r->n - r->at) {
        wrong(r, "a text is too long");
        return "";
    }
    const unsigned char *p = r->p + r->at;
    size_t padded = 4 * ((size_t)n / 4 + 1);
    for (size_t i = 0; i < padded; i++)
        if ((p[i] == 0) != (i >= n))
            wrong(r, "a text does not end where it says");
    r->at += padded;
    const char *copy = qrn_arena_copy(r->arena, p, padded);
    r->no_memory |= !copy;
    return copy && !r->wrong ? copy : "";
}

// Memory for n records of the bytes that are left; none after a failure.
static void *get_list(reader *r, uint32_t *n, size_t record, size_t size) {
    if (*n > (r->n - r->at) / record)
        wrong(r, "it has more records than bytes");
    if (r->wrong)
        *n = 0;
    void *list = qrn_arena_alloc(r->arena, ((size_t)*n + 1) * size);
    r->no_memory |= !list;
    if (!list)
        *n = 0;
    return list;
}

static void get_slot(reader *r, qd_slot *x, const qd_slot *before, const qd_schedule *s) {
    x->op = get_u32(r);
    uint32_t kind = get_u32(r);
    x->kind = (qd_class)(kind & 0xFF);
    x->engines = kind >> 8;
    x->n_ops = get_u32(r);
    x->cuts = get_u32(r);
    double *counts[] = {&x->macs,      &x->padded,       &x->in_bytes,
                        &x->out_bytes, &x->weight_bytes, &x->spill_bytes};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        *counts[i] = get_count(r);
    double *times[] = {&x->control,   &x->run,        &x->end,     &x->fetch.begin,
                       &x->fetch.end, &x->swap.begin, &x->swap.end};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        *times[i] = get_real(r);
    x->name = get_text(r);
    x->begin = before ? before->end : s->start;
    double dma = before ? before->swap.end : s->start;
    if ((kind & 0xFF) >= QD_CLASSES || x->engines > (QD_HVX | QD_HMX | QD_DMA) || !x->cuts ||
        !x->n_ops)
        wrong(r, "a step of an unknown kind");
    if (x->run < x->begin || x->end < x->run || x->end > s->us || x->control > s->us ||
        x->fetch.begin < dma || x->fetch.end < x->fetch.begin || x->swap.begin < x->fetch.end ||
        x->swap.end < x->swap.begin || x->swap.end > s->us)
        wrong(r, "times of a step overlap those of another one");
}

static void get_tile(reader *r, qd_tile *t, uint32_t not_before, const qd_schedule *s) {
    t->value = get_u32(r);
    t->offset = get_u32(r);
    t->bytes = get_u32(r);
    t->first = get_u32(r);
    t->weights = t->first & WEIGHTS;
    t->first &= ~WEIGHTS;
    t->last = get_u32(r);
    if (t->bytes == 0 || t->offset > s->vtcm_bytes || t->bytes > s->vtcm_bytes - t->offset)
        wrong(r, "a place is outside the VTCM");
    if (t->first > t->last || t->last >= s->n_slots || t->first < not_before)
        wrong(r, "a place is taken at no step");
}

static void get_swap(reader *r, qd_swap *x, uint32_t not_before, const qd_schedule *s) {
    x->value = get_u32(r);
    x->step = get_u32(r);
    uint32_t flags = get_u32(r);
    x->fill = flags & FILL;
    x->waited = flags & WAITED;
    x->bytes = get_u64(r);
    if (flags > (FILL | WAITED) || x->step >= s->n_slots || x->step < not_before || !x->bytes)
        wrong(r, "a spill or fill of no step");
}

static void get_head(reader *r, qd_schedule *s) {
    s->soc = get_u32(r);
    s->precision = (qd_precision)get_u32(r);
    s->vtcm_bytes = get_u32(r);
    s->hvx_threads = get_u32(r);
    s->marks = get_u32(r);
    s->peak_bytes = get_u32(r);
    double *reals[] = {&s->us, &s->start, &s->core, &s->memory, &s->scale};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        *reals[i] = get_real(r);
    s->n_slots = get_u32(r);
    s->n_tiles = get_u32(r);
    s->n_swaps = get_u32(r);
    s->chip = get_text(r);
    if ((uint32_t)s->precision >= QD_PRECISIONS || s->marks >= QD_MARKS || s->hvx_threads == 0 ||
        s->start > s->us || s->peak_bytes > s->vtcm_bytes || s->n_slots >= WEIGHTS)
        wrong(r, "its head makes no sense");
}

static void get_all(reader *r, qd_schedule *s) {
    get_head(r, s);
    s->slots = get_list(r, &s->n_slots, SLOT_BYTES, sizeof *s->slots);
    for (uint32_t i = 0; i < s->n_slots && !r->wrong; i++)
        get_slot(r, &s->slots[i], i ? &s->slots[i - 1] : NULL, s);
    s->tiles = get_list(r, &s->n_tiles, TILE_BYTES, sizeof *s->tiles);
    for (uint32_t i = 0; i < s->n_tiles && !r->wrong; i++)
        get_tile(r, &s->tiles[i], i ? s->tiles[i - 1].first : 0, s);
    s->swaps = get_list(r, &s->n_swaps, SWAP_BYTES, sizeof *s->swaps);
    for (uint32_t i = 0; i < s->n_swaps && !r->wrong; i++)
        get_swap(r, &s->swaps[i], i ? s->swaps[i - 1].step : 0, s);
    if (r->at != r->n)
        wrong(r, "bytes behind the last record");
}

qrn_status qd_stored_read(const void *bytes, size_t n, qrn_arena *arena, qd_schedule *out) {
    reader r = {.p = bytes, .n = n, .arena = arena};
    qd_schedule s = {0};
    if (n < HEAD_BYTES)
        wrong(&r, "it ends too early");
    else
        get_all(&r, &s);
    if (r.no_memory)
        return QRN_FAIL(QRN_E_MEM, "schedule: no memory");
    if (r.wrong)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: schedule, byte %zu of %zu: %s; make it again", r.at, n,
                        r.wrong);
    qd_link_transfers(&s);
    *out = s;
    return QRN_OK;
}
