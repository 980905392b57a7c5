// SPDX-License-Identifier: MIT
//
// A trace as an etdump file: a FlatBuffer with its size in front and the identifier ED00.
//
// Texts come last, each one once.
#include "frontend/executorch/trace.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "frontend/executorch/flat_write.h"

#include <string.h>

// The fields of the tables, by their ids.
enum { DUMP_VERSION, DUMP_RUNS, N_DUMP };
enum { RUN_NAME, RUN_INPUT, RUN_ALLOCATORS, RUN_EVENTS, N_RUN };
enum { EVENT_PROFILE, EVENT_ALLOCATION, EVENT_DEBUG, N_EVENT };
enum {
    PROFILE_NAME,
    PROFILE_CHAIN,
    PROFILE_INSTRUCTION,
    PROFILE_ID,
    PROFILE_ID_TEXT,
    PROFILE_METADATA,
    PROFILE_START,
    PROFILE_END,
    N_PROFILE
};
enum { DEBUG_CHAIN, DEBUG_INSTRUCTION, DEBUG_VALUE, DEBUG_ID, DEBUG_ID_TEXT, DEBUG_NAME, N_DEBUG };
enum { VALUE_KIND, VALUE_TENSOR, N_VALUE };
enum { TENSOR_TYPE, TENSOR_SIZES, TENSOR_STRIDES, TENSOR_OFFSET, N_TENSOR };
#define KIND_TENSOR 5

// A place that waits for a text.
typedef struct wait {
    size_t at;
    uint32_t text;
} wait;

typedef struct out {
    et_flat b;
    wait *waits;
    size_t n_waits, cap_waits;
} out;

static void await_text(out *o, const et_field *f, uint32_t text) {
    if (text == ET_TRACE_NO_TEXT)
        return;
    if (o->n_waits == o->cap_waits) {
        size_t cap = o->cap_waits ? 2 * o->cap_waits : 256;
        wait *waits = qrn_realloc(o->waits, o->n_waits * sizeof *waits, cap * sizeof *waits);
        if (!waits) {
            o->b.failed = true;
            return;
        }
        o->waits = waits;
        o->cap_waits = cap;
    }
    o->waits[o->n_waits++] = (wait){f->at, text};
}

static et_field text_field(uint32_t text) {
    return text == ET_TRACE_NO_TEXT ? (et_field){0} : et_flat_later();
}

static void put_profile(out *o, size_t waiting, const et_trace_event *e) {
    et_field f[N_PROFILE] = {
        [PROFILE_NAME] = text_field(e->name),
        [PROFILE_CHAIN] = et_flat_number(4, (uint32_t)e->chain),
        [PROFILE_INSTRUCTION] = et_flat_number(4, (uint32_t)e->instruction),
        [PROFILE_ID] = et_flat_number(4, (uint32_t)e->delegate_id),
        [PROFILE_ID_TEXT] = text_field(e->delegate_text),
        [PROFILE_START] = et_flat_number(8, e->start),
        [PROFILE_END] = et_flat_number(8, e->end),
    };
    et_flat_child(&o->b, waiting, f, N_PROFILE);
    await_text(o, &f[PROFILE_NAME], e->name);
    await_text(o, &f[PROFILE_ID_TEXT], e->delegate_text);
}

static void put_numbers(out *o, size_t waiting, const int64_t *v, uint32_t n) {
    et_flat_align(&o->b, 8, 4); // the numbers are aligned, the count lies in front of them
    et_flat_reach(&o->b, waiting);
    et_flat_put(&o->b, n, 4);
    for (uint32_t i = 0; i < n; i++)
        et_flat_put(&o->b, (uint64_t)v[i], 8);
}

static void put_tensor(out *o, size_t waiting, const et_trace_tensor *t) {
    int64_t sizes[8], strides[8], step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        sizes[i] = t->dims[i];
        strides[i] = step;
        step *= t->dims[i] ? t->dims[i] : 1;
    }
    et_field f[N_TENSOR] = {
        [TENSOR_TYPE] = et_flat_number(1, t->type),
        [TENSOR_SIZES] = et_flat_later(),
        [TENSOR_STRIDES] = et_flat_later(),
        [TENSOR_OFFSET] = et_flat_number(8, t->offset),
    };
    et_flat_child(&o->b, waiting, f, N_TENSOR);
    put_numbers(o, f[TENSOR_SIZES].at, sizes, t->rank);
    put_numbers(o, f[TENSOR_STRIDES].at, strides, t->rank);
}

static void put_debug(out *o, size_t waiting, const et_trace_event *e, const et_trace_tensor *t) {
    et_field f[N_DEBUG] = {
        [DEBUG_CHAIN] = et_flat_number(8, (uint64_t)(int64_t)e->chain),
        [DEBUG_INSTRUCTION] = et_flat_number(4, (uint32_t)e->instruction),
        [DEBUG_VALUE] = et_flat_later(),
        [DEBUG_ID] = et_flat_number(4, (uint32_t)e->delegate_id),
        [DEBUG_ID_TEXT] = text_field(e->delegate_text),
    };
    et_flat_child(&o->b, waiting, f, N_DEBUG);
    await_text(o, &f[DEBUG_ID_TEXT], e->delegate_text);
    et_field v[N_VALUE] = {
        [VALUE_KIND] = et_flat_number(1, KIND_TENSOR), [VALUE_TENSOR] = et_flat_later()};
    et_flat_child(&o->b, f[DEBUG_VALUE].at, v, N_VALUE);
    put_tensor(o, v[VALUE_TENSOR].at, t);
}

static void put_event(out *o, size_t waiting, const et_trace_view *t, const et_trace_event *e) {
    et_field f[N_EVENT] = {[EVENT_PROFILE] = e->tensor ? (et_field){0} : et_flat_later(),
                           [EVENT_DEBUG] = e->tensor ? et_flat_later() : (et_field){0}};
    et_flat_child(&o->b, waiting, f, N_EVENT);
    if (e->tensor)
        put_debug(o, f[EVENT_DEBUG].at, e, &t->tensors[e->tensor - 1]);
    else
        put_profile(o, f[EVENT_PROFILE].at, e);
}

static void put_run(out *o, size_t waiting, const et_trace_view *t, uint32_t block) {
    const et_trace_block *b = &t->blocks[block];
    uint32_t end = block + 1 < t->n_blocks ? b[1].first : t->n_events, n = end - b->first;
    et_field f[N_RUN] = {[RUN_NAME] = et_flat_later(),
                         [RUN_INPUT] = et_flat_number(4, UINT32_MAX), // none
                         [RUN_EVENTS] = et_flat_later()};
    et_flat_child(&o->b, waiting, f, N_RUN);
    size_t at, first = et_flat_places(&o->b, f[RUN_EVENTS].at, n);
    for (uint32_t i = 0; i < n; i++)
        put_event(o, first + 4 * (size_t)i, t, &t->events[b->first + i]);
    at = et_flat_text(&o->b, b->name);
    et_flat_store(&o->b, f[RUN_NAME].at, at - f[RUN_NAME].at, 4);
}

static void put_texts(out *o, const et_trace_view *t) {
    size_t *at = qrn_alloc((t->n_texts + 1) * sizeof *at);
    if (!at) {
        o->b.failed = true;
        return;
    }
    for (uint32_t i = 0; i < t->n_texts; i++)
        at[i] = et_flat_text(&o->b, t->texts[i]);
    for (size_t i = 0; i < o->n_waits; i++)
        et_flat_store(&o->b, o->waits[i].at, at[o->waits[i].text] - o->waits[i].at, 4);
    qrn_free(at);
}

static void put_dump(out *o, const et_trace_view *t) {
    size_t size = et_flat_put(&o->b, 0, 4), root = et_flat_put(&o->b, 0, 4),
           id = et_flat_extend(&o->b, 4);
    if (!o->b.failed)
        memcpy(o->b.data + id, "ED00", 4);
    et_field f[N_DUMP] = {[DUMP_VERSION] = et_flat_number(4, 0), [DUMP_RUNS] = et_flat_later()};
    et_flat_child(&o->b, root, f, N_DUMP);
    size_t first = et_flat_places(&o->b, f[DUMP_RUNS].at, t->n_blocks);
    for (uint32_t i = 0; i < t->n_blocks; i++)
        put_run(o, first + 4 * (size_t)i, t, i);
    put_texts(o, t);
    et_flat_align(&o->b, 8, 0);
    et_flat_store(&o->b, size, o->b.n - 4, 4);
}

qrn_status et_trace_write(const et_trace *trace, const char *path, size_t *size) {
    et_trace_view t = et_trace_look(trace);
    out o = {.b.failed = !t.complete};
    put_dump(&o, &t);
    qrn_status s;
    if (o.b.failed)
        s = QRN_FAIL(QRN_E_MEM, "%s: out of memory for %u events", path, t.n_events);
    else
        s = qrn_outfile_save(path, o.b.data, o.b.n);
    *size = o.b.n;
    qrn_free(o.b.data);
    qrn_free(o.waits);
    return s;
}
