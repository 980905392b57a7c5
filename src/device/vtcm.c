// SPDX-License-Identifier: MIT
//
// Places in the VTCM, step by step as a device would take them: first fit, and when nothing fits,
// the tensor that is needed last leaves. The operands of one step always find room: together they
// are within the budget, which is less than the part of the VTCM for activations.
#include "device/vtcm.h"

#include <math.h>
#include <string.h>

#define NONE UINT32_MAX
#define MAX_RESIDENT                                                                               \
    1024u        // tiles at a time; a network that has more of them lets some wait outside
#define AHEAD 8u // steps that weights are fetched ahead

typedef struct tensor {
    uint32_t bytes; // that it takes while it is there
    uint32_t tile;  // index; NONE: not in the VTCM
    uint32_t next;  // step that needs it next; NONE: none
    uint32_t pin;   // step that needs it now
    bool stored;    // DDR has it, too
    bool seen;      // it was there before
} tensor;

typedef struct placing {
    qd_vtcm *v;
    tensor *tensors;    // per value
    uint32_t *next;     // per operand: the next step with the same value
    uint32_t *resident; // tiles by offset
    uint32_t n_resident;
    uint32_t room; // bytes for activations
    uint32_t step;
} placing;

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "schedule: no memory"); }

static uint32_t aligned(double bytes) {
    return (uint32_t)(ceil(bytes / QD_VTCM_ALIGN) * QD_VTCM_ALIGN);
}

static uint32_t part_for_weights(uint32_t vtcm) { return vtcm / 4 / QD_VTCM_ALIGN * QD_VTCM_ALIGN; }

uint32_t qd_vtcm_budget(uint32_t vtcm) {
    double share = fmin(qd_vtcm_share(), 0.74);
    return (uint32_t)(share * vtcm);
}

static double bytes_of(const qd_vtcm *v, uint32_t value) {
    const qd_value *x = &v->g->values[value];
    double n = v->element_bytes;
    for (uint32_t i = 0; i < x->rank; i++)
        n *= x->dims[i];
    return n;
}

// --- operands

enum { READ_INSIDE = 1, READ_OUTSIDE = 2, IS_OUTPUT = 4 };

static void mark_readers(const qd_vtcm *v, uint8_t *marks) {
    const qd_graph *g = v->g;
    const qd_steps *s = v->steps;
    for (uint32_t i = 0; i < g->n_ops; i++)
        for (uint32_t k = 0; s->step_of[i] != QD_NO_STEP && k < g->ops[i].n_in; k++) {
            uint32_t root = s->origin[g->ops[i].in[k]];
            marks[root] |= s->maker[root] == s->step_of[i] ? READ_INSIDE : READ_OUTSIDE;
        }
    for (uint32_t i = 0; i < g->n_values; i++)
        if (g->values[i].output)
            marks[s->origin[i]] |= IS_OUTPUT;
}

typedef struct listing {
    uint32_t *head, *behind; // ops of each step in order
    uint32_t *stamp;         // per value: step that has it, plus one
    uint8_t *marks;          // per value
} listing;

// What only the ops of one step see is never a tensor; what nobody reads is one, for a moment.
static void list_step(qd_vtcm *v, const listing *l, uint32_t step, bool writes) {
    const qd_graph *g = v->g;
    uint32_t *n = &v->operands.at[step + 1];
    for (uint32_t i = l->head[step]; i != NONE; i = l->behind[i]) {
        const qd_op *o = &g->ops[i];
        for (uint32_t k = 0; k < (writes ? o->n_out : o->n_in); k++) {
            uint32_t value = v->steps->origin[writes ? o->out[k] : o->in[k]];
            bool own = v->steps->maker[value] == step;
            uint8_t m = l->marks[value];
            bool needed = writes ? own && ((m & ~READ_INSIDE) || m == 0) : !own;
            if (!needed || g->values[value].constant || l->stamp[value] == step + 1)
                continue;
            l->stamp[value] = step + 1;
            v->operands.values[(*n)++] = value;
        }
    }
}

static bool make_listing(const qd_vtcm *v, listing *l) {
    const qd_graph *g = v->g;
    uint32_t n = v->steps->n;
    *l = (listing){.head = qrn_arena_alloc(v->arena, (n + 1) * sizeof *l->head),
                   .behind = qrn_arena_alloc(v->arena, (g->n_ops + 1) * sizeof *l->behind),
                   .stamp = qrn_arena_alloc(v->arena, (g->n_values + 1) * sizeof *l->stamp),
                   .marks = qrn_arena_alloc(v->arena, g->n_values + 1)};
    if (!l->head || !l->behind || !l->stamp || !l->marks)
        return false;
    for (uint32_t i = 0; i < n; i++)
        l->head[i] = NONE;
    for (uint32_t i = g->n_ops; i-- > 0;) {
        uint32_t step = v->steps->step_of[i];
        if (step == QD_NO_STEP)
            continue;
        l->behind[i] = l->head[step];
        l->head[step] = i;
    }
    mark_readers(v, l->marks);
    return true;
}

qrn_status qd_list_operands(qd_vtcm *v) {
    listing l;
    size_t most = 1, n = v->steps->n;
    for (uint32_t i = 0; i < v->g->n_ops; i++)
        most += (size_t)v->g->ops[i].n_in + v->g->ops[i].n_out;
    v->operands =
        (qd_operands){.at = qrn_arena_alloc(v->arena, (n + 1) * sizeof *v->operands.at),
                      .values = qrn_arena_alloc(v->arena, most * sizeof *v->operands.values),
                      .n_reads = qrn_arena_alloc(v->arena, (n + 1) * sizeof *v->operands.n_reads)};
    if (!v->operands.at || !v->operands.values || !v->operands.n_reads || !make_listing(v, &l))
        return no_memory();
    for (uint32_t i = 0; i < n; i++) {
        v->operands.at[i + 1] = v->operands.at[i];
        list_step(v, &l, i, false);
        v->operands.n_reads[i] = v->operands.at[i + 1] - v->operands.at[i];
        list_step(v, &l, i, true);
    }
    return QRN_OK;
}

// --- lists of the result

static void *grown(qd_vtcm *v, void *list, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return list;
    uint32_t want = *cap ? 2 * *cap : 64;
    void *more = qrn_arena_alloc(v->arena, want * size);
    if (!more) {
        v->failed = true;
        return list;
    }
    if (n)
        memcpy(more, list, n * size);
    *cap = want;
    return more;
}

static uint32_t add_tile(qd_vtcm *v, qd_tile t) {
    v->tiles = grown(v, v->tiles, v->n_tiles, &v->cap_tiles, sizeof t);
    if (v->failed)
        return NONE;
    v->tiles[v->n_tiles] = t;
    return v->n_tiles++;
}

static void add_swap(qd_vtcm *v, qd_swap s) {
    v->swaps = grown(v, v->swaps, v->n_swaps, &v->cap_swaps, sizeof s);
    if (!v->failed && s.bytes)
        v->swaps[v->n_swaps++] = s;
}

// --- activations

static void forget(placing *p, uint32_t i) {
    memmove(&p->resident[i], &p->resident[i + 1], (p->n_resident - i - 1) * sizeof p->resident[0]);
    p->n_resident--;
}

// The lowest gap that is large enough: its offset, and its place among the resident tiles.
static bool find_gap(const placing *p, uint32_t bytes, uint32_t *offset, uint32_t *place) {
    uint32_t end = 0;
    if (p->n_resident == MAX_RESIDENT)
        return false;
    for (uint32_t i = 0; i < p->n_resident; i++) {
        const qd_tile *t = &p->v->tiles[p->resident[i]];
        if (t->offset - end >= bytes) {
            *offset = end;
            *place = i;
            return true;
        }
        end = t->offset + t->bytes;
    }
    *offset = end;
    *place = p->n_resident;
    return p->room - end >= bytes;
}

// The tensor that is needed last goes; false: all are needed now.
static bool evict(placing *p) {
    uint32_t worst = NONE;
    const tensor *found = NULL;
    for (uint32_t i = 0; i < p->n_resident; i++) {
        const tensor *t = &p->tensors[p->v->tiles[p->resident[i]].value];
        if (t->pin != p->step && (!found || t->next > found->next)) {
            found = t;
            worst = i;
        }
    }
    if (!found)
        return false;
    qd_tile *tile = &p->v->tiles[p->resident[worst]];
    tensor *t = &p->tensors[tile->value];
    tile->last = p->step - 1; // it was not placed for this step
    if (!t->stored)
        add_swap(p->v, (qd_swap){tile->value, p->step, false, true, tile->bytes});
    t->stored = true;
    t->tile = NONE;
    forget(p, worst);
    return true;
}

// Moves all tiles, which are needed now, to the lower end.
static void compact(placing *p) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < p->n_resident && !p->v->failed; i++) {
        qd_tile t = p->v->tiles[p->resident[i]];
        if (t.offset != end && t.first == p->step) {
            p->v->tiles[p->resident[i]].offset = end;
        } else if (t.offset != end) {
            p->v->tiles[p->resident[i]].last = p->step - 1;
            t.offset = end;
            t.first = p->step;
            p->resident[i] = p->tensors[t.value].tile = add_tile(p->v, t);
        }
        end += t.bytes;
    }
}

static void settle(placing *p, uint32_t value, bool read) {
    tensor *t = &p->tensors[value];
    uint32_t offset = 0, place = 0;
    if (t->tile != NONE || t->bytes == 0)
        return;
    bool found = find_gap(p, t->bytes, &offset, &place);
    while (!found && evict(p))
        found = find_gap(p, t->bytes, &offset, &place);
    if (!found) {
        compact(p);
        found = find_gap(p, t->bytes, &offset, &place);
    }
    if (p->v->failed)
        return;
    if (!found || (read && t->stored && t->seen)) // an input's first way in is none
        add_swap(p->v, (qd_swap){value, p->step, read, true, t->bytes});
    t->stored |= !found;
    t->seen = true;
    if (!found) // one of very many: it stays in DDR
        return;
    t->tile = add_tile(p->v, (qd_tile){.value = value,
                                       .offset = offset,
                                       .bytes = t->bytes,
                                       .first = p->step,
                                       .last = p->step});
    memmove(&p->resident[place + 1], &p->resident[place],
            (p->n_resident - place) * sizeof p->resident[0]);
    p->resident[place] = t->tile;
    p->n_resident++;
}

// What the model spills of a step: each operand's share, reads from DDR and writes to it.
static void charge(placing *p) {
    const qd_operands *o = &p->v->operands;
    double all = 0, sum = 0, spill = floor(p->v->slots[p->step].spill_bytes);
    uint64_t reported = 0;
    if (!(spill > 0) || spill > 9e18)
        return;
    uint32_t first = o->at[p->step], end = o->at[p->step + 1];
    for (uint32_t i = first; i < end; i++)
        all += bytes_of(p->v, o->values[i]);
    for (uint32_t i = first; i < end; i++) {
        sum += bytes_of(p->v, o->values[i]);
        uint64_t until = i + 1 == end ? (uint64_t)spill : (uint64_t)(spill * (sum / all));
        bool read = i - first < o->n_reads[p->step];
        add_swap(p->v, (qd_swap){o->values[i], p->step, read, false, until - reported});
        reported = until;
    }
}

static void place_step(placing *p) {
    const qd_operands *o = &p->v->operands;
    uint32_t first = o->at[p->step], end = o->at[p->step + 1];
    for (uint32_t i = first; i < end; i++)
        p->tensors[o->values[i]].pin = p->step;
    for (uint32_t i = first; i < end && !p->v->failed; i++)
        settle(p, o->values[i], i - first < o->n_reads[p->step]);
    charge(p);
    for (uint32_t i = first; i < end && !p->v->failed; i++) {
        tensor *t = &p->tensors[o->values[i]];
        t->next = p->next[i];
        if (t->tile != NONE)
            p->v->tiles[t->tile].last = p->step;
    }
    for (uint32_t i = p->n_resident; i-- > 0 && !p->v->failed;) {
        tensor *t = &p->tensors[p->v->tiles[p->resident[i]].value];
        if (t->next == NONE) {
            t->tile = NONE;
            forget(p, i);
        } else {
            p->v->tiles[p->resident[i]].last = p->step;
        }
    }
}

// How much of each tensor stays in the VTCM: all, unless a step that has it is above the budget.
static void size_tensors(placing *p) {
    const qd_operands *o = &p->v->operands;
    double budget = qd_vtcm_budget(p->v->vtcm_bytes);
    for (uint32_t i = 0; i < p->v->g->n_values; i++)
        p->tensors[i] = (tensor){.tile = NONE, .next = NONE, .pin = NONE};
    for (uint32_t s = p->v->steps->n; s-- > 0;) {
        double all = p->v->slots[s].in_bytes + p->v->slots[s].out_bytes;
        for (uint32_t i = o->at[s]; i < o->at[s + 1]; i++) {
            tensor *t = &p->tensors[o->values[i]];
            double bytes = bytes_of(p->v, o->values[i]);
            double part = all > budget ? bytes * (budget / all) : bytes;
            uint32_t most = (uint32_t)fmin(aligned(fmin(part, p->room)), p->room);
            if (all > budget && most > QD_VTCM_ALIGN) // downwards: together they are within it
                most = (uint32_t)fmin(part, p->room) / QD_VTCM_ALIGN * QD_VTCM_ALIGN;
            t->bytes = t->next == NONE || most < t->bytes ? most : t->bytes;
            p->next[i] = t->next;
            t->next = s;
        }
    }
    for (uint32_t i = 0; i < p->v->g->n_values; i++)
        p->tensors[i].stored = p->v->steps->maker[i] == QD_NO_STEP;
}

// --- weights

static uint32_t weights_of(const qd_vtcm *v, uint32_t step) {
    const qd_op *o = v->steps->list[step].op;
    return o->n_in > 1 ? o->in[1] : o->in[0];
}

// Is [offset, offset + bytes) free of older weights from step `from` on? Else the next offset to
// try.
static bool is_free(const qd_vtcm *v, const uint32_t *tile_of, uint32_t step, uint32_t from,
                    uint32_t bytes, uint32_t *offset) {
    for (uint32_t i = step; i-- > from;) {
        const qd_tile *t = tile_of[i] == NONE ? NULL : &v->tiles[tile_of[i]];
        if (t && t->offset < *offset + bytes && *offset < t->offset + t->bytes) {
            *offset = t->offset + t->bytes;
            return false;
        }
    }
    return true;
}

static void place_weights(qd_vtcm *v, uint32_t *tile_of, uint32_t step) {
    uint32_t size = part_for_weights(v->vtcm_bytes), base = v->vtcm_bytes - size;
    uint32_t bytes = (uint32_t)fmin(aligned(fmin(v->slots[step].weight_bytes, size)), size);
    uint32_t from = step ? v->fetch_from[step - 1] : 0;
    tile_of[step] = NONE;
    v->fetch_from[step] = from = from + AHEAD < step ? step - AHEAD : from;
    if (bytes == 0)
        return;
    for (; from <= step; from++)
        for (uint32_t offset = base; offset <= v->vtcm_bytes - bytes;) {
            if (!is_free(v, tile_of, step, from, bytes, &offset))
                continue;
            v->fetch_from[step] = from;
            tile_of[step] = add_tile(v, (qd_tile){.value = weights_of(v, step),
                                                  .weights = true,
                                                  .offset = offset,
                                                  .bytes = bytes,
                                                  .first = from,
                                                  .last = step});
            return;
        }
}

// --- all of it

// Into the order of `first`; the lists of both kinds are nearly in order.
static qrn_status sort_tiles(qd_vtcm *v) {
    uint32_t n = v->steps->n, *at = qrn_arena_alloc(v->arena, ((size_t)n + 2) * sizeof *at);
    qd_tile *sorted = qrn_arena_alloc(v->arena, (v->n_tiles + 1) * sizeof *sorted);
    if (!at || !sorted)
        return no_memory();
    for (uint32_t i = 0; i < v->n_tiles; i++)
        at[v->tiles[i].first + 1]++;
    for (uint32_t i = 0; i < n; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < v->n_tiles; i++)
        sorted[at[v->tiles[i].first]++] = v->tiles[i];
    v->tiles = sorted;
    return QRN_OK;
}

qrn_status qd_place(qd_vtcm *v) {
    uint32_t n = v->steps->n;
    placing p = {.v = v,
                 .tensors = qrn_arena_alloc(v->arena, (v->g->n_values + 1) * sizeof *p.tensors),
                 .next = qrn_arena_alloc(v->arena, (v->operands.at[n] + 1) * sizeof *p.next),
                 .resident = qrn_arena_alloc(v->arena, (MAX_RESIDENT + 1) * sizeof *p.resident),
                 .room = v->vtcm_bytes - part_for_weights(v->vtcm_bytes)};
    uint32_t *tile_of = qrn_arena_alloc(v->arena, (n + 1) * sizeof *tile_of);
    v->fetch_from = qrn_arena_alloc(v->arena, (n + 1) * sizeof *v->fetch_from);
    if (!p.tensors || !p.next || !p.resident || !tile_of || !v->fetch_from)
        return no_memory();
    p.room = p.room / QD_VTCM_ALIGN * QD_VTCM_ALIGN;
    size_tensors(&p);
    for (p.step = 0; p.step < n && !v->failed; p.step++)
        place_step(&p);
    for (uint32_t i = 0; i < n && !v->failed; i++)
        place_weights(v, tile_of, i);
    return v->failed ? no_memory() : sort_tiles(v);
}
