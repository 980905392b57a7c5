// SPDX-License-Identifier: MIT
//
// The timeline of a schedule (schedule.h says how it is made); places in the VTCM come from vtcm.c.
#include "device/schedule.h"

#include "device/vtcm.h"

#include <math.h>

const char *qd_mark_text(uint32_t marks) {
    return marks & QD_MARK_THREADS ? "fewer HVX threads"
           : marks & QD_MARK_POWER ? "less than full power"
           : marks & QD_MARK_DLBC  ? "compressed data (DLBC)"
           : marks & QD_MARK_CHIP  ? "constants of another SoC of the architecture"
                                   : "";
}

static uint32_t marks_of(const qd_options *o) {
    bool few = o->hvx_threads && o->hvx_threads < QD_HVX_THREADS;
    bool slow = o->clock > 0 && o->clock < 1;
    return (few ? QD_MARK_THREADS : 0) | (slow ? QD_MARK_POWER : 0) | (o->dlbc ? QD_MARK_DLBC : 0) |
           (o->lent ? QD_MARK_CHIP : 0);
}

static qd_slot slot_of(const qd_graph *g, const qd_step *s, const qd_time *t, qd_precision p,
                       uint32_t vtcm) {
    double a = p == QD_W8A8 ? 1 : 2;
    qd_slot slot = {.name = s->op->name,
                    .op = (uint32_t)(s->op - g->ops),
                    .kind = s->kind,
                    .n_ops = s->n_ops,
                    .engines = s->kind == QD_MATRIX ? QD_HMX : QD_HVX,
                    .cuts = 1,
                    .macs = s->macs,
                    .padded = s->padded,
                    .in_bytes = s->in * a,
                    .out_bytes = s->out * a,
                    .weight_bytes = t->weight_bytes,
                    .spill_bytes = t->spill_bytes};
    if (t->memory > 0)
        slot.engines |= QD_DMA;
    double cuts = ceil((slot.in_bytes + slot.out_bytes) / qd_vtcm_budget(vtcm));
    if (t->spill_bytes > 0)
        slot.cuts = (uint32_t)fmax(1, fmin(cuts, UINT32_MAX));
    return slot;
}

// Where each step and transfer lies, in the model's own microseconds from 0 on.
static double lay_out(qd_schedule *s, const qd_time *times, const uint32_t *fetch_from,
                      double per_byte) {
    double end = 0, dma = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        qd_slot *x = &s->slots[i];
        double unit = times[i].matrix + times[i].vector;
        double swap = x->spill_bytes * per_byte;
        bool reads = x->weight_bytes + times[i].cache_bytes > 0;
        double fetch = reads ? fmax(0, times[i].memory - swap) : 0;
        double room = fetch_from[i] ? s->slots[fetch_from[i] - 1].end : 0;
        x->begin = end;
        x->control = times[i].overhead;
        x->fetch.begin = fetch > 0 ? fmax(dma, room) : dma;
        x->fetch.end = dma = x->fetch.begin + fetch;
        x->swap.begin = swap > 0 ? fmax(dma, x->begin) : dma;
        x->swap.end = dma = x->swap.begin + swap;
        x->run = fmax(x->begin + x->control, dma - unit);
        if (fetch > 0)
            x->run = fmax(x->run, x->fetch.begin);
        x->end = end = x->run + unit;
    }
    return end;
}

static double on_line(const qd_schedule *s, double t) { return s->start + t * s->scale; }

// Ends on `us` exactly, whatever rounding does on the way.
static void stretch(qd_schedule *s, double length) {
    s->scale = length > 0 ? (s->us - s->start) / length : 1;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        qd_slot *x = &s->slots[i];
        double *all[] = {&x->begin,     &x->run,        &x->end,     &x->fetch.begin,
                         &x->fetch.end, &x->swap.begin, &x->swap.end};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            *all[k] = *all[k] == length ? s->us : fmin(s->us, on_line(s, *all[k]));
        x->control *= s->scale;
    }
}

static qrn_status check(const qd_options *o, const qd_chip *chip, uint64_t *vtcm) {
    *vtcm = o->vtcm_bytes ? o->vtcm_bytes : (uint64_t)chip->vtcm_mb << 20;
    if (*vtcm < 65536 || *vtcm > UINT32_MAX)
        return QRN_FAIL(QRN_E_ARGUMENT, "schedule: VTCM of %llu bytes, expected 64 KB to 4 GB",
                        (unsigned long long)*vtcm);
    return QRN_OK;
}

uint32_t *qd_occupancy(const qd_schedule *s, qrn_arena *arena) {
    uint32_t *taken = qrn_arena_alloc(arena, ((size_t)s->n_slots + 1) * sizeof *taken);
    if (!taken)
        return NULL;
    for (uint32_t i = 0; i < s->n_tiles; i++) { // differences; the sum is never below 0
        taken[s->tiles[i].first] += s->tiles[i].bytes;
        taken[s->tiles[i].last + 1] -= s->tiles[i].bytes;
    }
    for (uint32_t i = 1; i < s->n_slots; i++)
        taken[i] += taken[i - 1];
    return taken;
}

static qrn_status place_all(const qd_graph *g, const qd_steps *steps, qrn_arena *arena,
                            qd_schedule *out, uint32_t **fetch_from) {
    qd_vtcm v = {.g = g,
                 .steps = steps,
                 .slots = out->slots,
                 .vtcm_bytes = out->vtcm_bytes,
                 .element_bytes = out->precision == QD_W8A8 ? 1 : 2,
                 .arena = arena};
    QRN_TRY(qd_list_operands(&v));
    QRN_TRY(qd_place(&v));
    out->tiles = v.tiles;
    out->n_tiles = v.n_tiles;
    out->swaps = v.swaps;
    out->n_swaps = v.n_swaps;
    *fetch_from = v.fetch_from;
    const uint32_t *taken = qd_occupancy(out, arena);
    if (!taken)
        return QRN_FAIL(QRN_E_MEM, "schedule: no memory");
    for (uint32_t i = 0; i < out->n_slots; i++)
        out->peak_bytes = taken[i] > out->peak_bytes ? taken[i] : out->peak_bytes;
    return QRN_OK;
}

qrn_status qd_schedule_of(const qd_graph *g, const qd_steps *steps, const qd_chip *chip,
                          qd_precision p, const qd_options *options, qrn_arena *arena,
                          qd_schedule *out) {
    const qd_options fitted = {0};
    const qd_options *o = options ? options : &fitted;
    uint64_t vtcm;
    uint32_t n = steps->n, *fetch_from;
    QRN_TRY(check(o, chip, &vtcm));
    *out = (qd_schedule){.soc = chip->soc,
                         .chip = chip->name,
                         .precision = p,
                         .vtcm_bytes = (uint32_t)vtcm,
                         .hvx_threads = o->hvx_threads ? o->hvx_threads : QD_HVX_THREADS,
                         .marks = marks_of(o),
                         .start = qd_start_us(chip, p, o),
                         .slots = qrn_arena_alloc(arena, ((size_t)n + 1) * sizeof *out->slots),
                         .n_slots = n};
    qd_time *times = qrn_arena_alloc(arena, ((size_t)n + 1) * sizeof *times);
    if (!out->slots || !times)
        return QRN_FAIL(QRN_E_MEM, "schedule: no memory");
    for (uint32_t i = 0; i < n; i++) {
        times[i] = qd_time_of(&steps->list[i], chip, p, o);
        out->slots[i] = slot_of(g, &steps->list[i], &times[i], p, out->vtcm_bytes);
        out->core += qd_core(&times[i]);
        out->memory += times[i].memory;
    }
    out->us = qd_total(out->start, out->core, out->memory);
    QRN_TRY(place_all(g, steps, arena, out, &fetch_from));
    stretch(out, lay_out(out, times, fetch_from, 1 / (chip->ddr * 1e3)));
    qd_link_transfers(out);
    return QRN_OK;
}

void qd_reclock(qd_schedule *s, double clock) {
    double was = s->us - s->start, begin = s->start;
    if (!(clock > 0) || clock == 1)
        return;
    s->start /= clock;
    s->core /= clock;
    s->us = qd_total(s->start, s->core, s->memory);
    s->marks |= clock < 1 ? QD_MARK_POWER : 0;
    double factor = was > 0 ? (s->us - s->start) / was : 1;
    s->scale *= factor * clock; // of the model's own time, which has grown as well
    for (uint32_t i = 0; i < s->n_slots; i++) {
        qd_slot *x = &s->slots[i];
        double *all[] = {&x->begin,     &x->run,        &x->end,     &x->fetch.begin,
                         &x->fetch.end, &x->swap.begin, &x->swap.end};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            *all[k] = fmin(s->us, s->start + (*all[k] - begin) * factor);
        x->control *= factor;
    }
}

// --- what goes on at the same time

static double common(qd_span a, double begin, double end) {
    return fmax(0, fmin(a.end, end) - fmax(a.begin, begin));
}

void qd_link_transfers(qd_schedule *s) {
    for (uint32_t i = s->n_slots, next = i; i-- > 0; s->slots[i].next = next)
        if (s->slots[i].swap.end > s->slots[i].fetch.begin)
            next = i;
}

// Transfers of earlier steps have ended; they are in order.
static double busy(const qd_schedule *s, uint32_t first, double begin, double end) {
    double sum = 0;
    for (uint32_t i = first; i < s->n_slots; i++) {
        i = s->slots[i].next;
        if (i == s->n_slots || s->slots[i].fetch.begin >= end)
            break;
        sum += common(s->slots[i].fetch, begin, end) + common(s->slots[i].swap, begin, end);
    }
    return sum;
}

double qd_overlap(const qd_schedule *s, uint32_t i) {
    return busy(s, i, s->slots[i].run, s->slots[i].end);
}

double qd_overlap_waiting(const qd_schedule *s, uint32_t i) {
    return busy(s, i + 1, s->slots[i].begin, s->slots[i].run);
}
