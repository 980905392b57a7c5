// SPDX-License-Identifier: MIT
//
// A trace as an etdump file: a FlatBuffer with its size in front and the identifier ED00.
//
// Offsets in a FlatBuffer point forward, so tables are written before what they refer to, from the
// root on, and a place that waits for its target is filled in when the target is written. Texts
// come last, each one once. Everything is aligned to its size from the beginning of the file.
#include "frontend/executorch/trace.h"

#include "base/mem.h"
#include "base/outfile.h"

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

// A field of a table that is being written. Texts and targets that come later are places of 4
// bytes.
typedef struct field {
    uint8_t bytes; // 0: absent
    uint64_t value;
    size_t at; // where it was written
} field;

// A place that waits for a text.
typedef struct wait {
    size_t at;
    uint32_t text;
} wait;

typedef struct out {
    uint8_t *data;
    size_t n, cap;
    wait *waits;
    size_t n_waits, cap_waits;
    bool failed;
} out;

static field number(uint8_t bytes, uint64_t value) { return (field){bytes, value, 0}; }
static field later(void) { return number(4, 0); }

static void store(out *o, size_t at, uint64_t v, unsigned bytes) {
    for (unsigned i = 0; i < bytes && !o->failed; i++)
        o->data[at + i] = (uint8_t)(v >> (8 * i));
}

// Appends cleared bytes; where they begin.
static size_t extend(out *o, size_t bytes) {
    size_t at = o->n;
    if (bytes == 0)
        return at;
    if (bytes > o->cap - o->n) {
        size_t cap = 2 * o->cap + bytes + 4096;
        uint8_t *data = o->failed || cap > INT32_MAX ? NULL : qrn_realloc(o->data, o->n, cap);
        if (!data) {
            o->failed = true;
            return 0;
        }
        o->data = data;
        o->cap = cap;
    }
    memset(o->data + at, 0, bytes);
    o->n += bytes;
    return at;
}

// Appends so many bytes that the end lies `before` bytes in front of a multiple of `to`.
static void align(out *o, size_t to, size_t before) { extend(o, (to - (o->n + before) % to) % to); }

static size_t put(out *o, uint64_t v, unsigned bytes) {
    align(o, bytes, 0);
    size_t at = extend(o, bytes);
    store(o, at, v, bytes);
    return at;
}

// A waiting place points to what is appended next.
static void reach(out *o, size_t place) { store(o, place, o->n - place, 4); }

// The table's fields in `f` learn where they are. Its description lies in front of it.
static size_t put_table(out *o, field *f, unsigned n) {
    align(o, 2, 0);
    size_t head = extend(o, 4 + 2 * n);
    align(o, 8, 4); // behind the first word the large fields begin
    size_t table = extend(o, 4);
    for (uint8_t bytes = 8; bytes; bytes /= 2)
        for (unsigned i = 0; i < n; i++)
            if (f[i].bytes == bytes)
                f[i].at = put(o, f[i].value, bytes);
    store(o, table, table - head, 4);
    store(o, head, 4 + 2 * n, 2);
    store(o, head + 2, o->n - table, 2);
    for (unsigned i = 0; i < n; i++)
        store(o, head + 4 + 2 * i, f[i].bytes ? f[i].at - table : 0, 2);
    return table;
}

// A vector of places for tables; where the first one is.
static size_t put_places(out *o, size_t waiting, uint32_t n) {
    align(o, 4, 0);
    reach(o, waiting);
    put(o, n, 4);
    return extend(o, 4 * (size_t)n);
}

// A table that a place waits for.
static void put_child(out *o, size_t waiting, field *f, unsigned n) {
    size_t table = put_table(o, f, n);
    store(o, waiting, table - waiting, 4);
}

static void await_text(out *o, const field *f, uint32_t text) {
    if (text == ET_TRACE_NO_TEXT)
        return;
    if (o->n_waits == o->cap_waits) {
        size_t cap = o->cap_waits ? 2 * o->cap_waits : 256;
        wait *waits = qrn_realloc(o->waits, o->n_waits * sizeof *waits, cap * sizeof *waits);
        if (!waits) {
            o->failed = true;
            return;
        }
        o->waits = waits;
        o->cap_waits = cap;
    }
    o->waits[o->n_waits++] = (wait){f->at, text};
}

static field text_field(uint32_t text) { return text == ET_TRACE_NO_TEXT ? (field){0} : later(); }

static void put_profile(out *o, size_t waiting, const et_trace_event *e) {
    field f[N_PROFILE] = {
        [PROFILE_NAME] = text_field(e->name),
        [PROFILE_CHAIN] = number(4, (uint32_t)e->chain),
        [PROFILE_INSTRUCTION] = number(4, (uint32_t)e->instruction),
        [PROFILE_ID] = number(4, (uint32_t)e->delegate_id),
        [PROFILE_ID_TEXT] = text_field(e->delegate_text),
        [PROFILE_START] = number(8, e->start),
        [PROFILE_END] = number(8, e->end),
    };
    put_child(o, waiting, f, N_PROFILE);
    await_text(o, &f[PROFILE_NAME], e->name);
    await_text(o, &f[PROFILE_ID_TEXT], e->delegate_text);
}

static void put_numbers(out *o, size_t waiting, const int64_t *v, uint32_t n) {
    align(o, 8, 4); // the numbers are aligned, the count lies in front of them
    reach(o, waiting);
    put(o, n, 4);
    for (uint32_t i = 0; i < n; i++)
        put(o, (uint64_t)v[i], 8);
}

static void put_tensor(out *o, size_t waiting, const et_trace_tensor *t) {
    int64_t sizes[8], strides[8], step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        sizes[i] = t->dims[i];
        strides[i] = step;
        step *= t->dims[i] ? t->dims[i] : 1;
    }
    field f[N_TENSOR] = {
        [TENSOR_TYPE] = number(1, t->type),
        [TENSOR_SIZES] = later(),
        [TENSOR_STRIDES] = later(),
        [TENSOR_OFFSET] = number(8, t->offset),
    };
    put_child(o, waiting, f, N_TENSOR);
    put_numbers(o, f[TENSOR_SIZES].at, sizes, t->rank);
    put_numbers(o, f[TENSOR_STRIDES].at, strides, t->rank);
}

static void put_debug(out *o, size_t waiting, const et_trace_event *e, const et_trace_tensor *t) {
    field f[N_DEBUG] = {
        [DEBUG_CHAIN] = number(8, (uint64_t)(int64_t)e->chain),
        [DEBUG_INSTRUCTION] = number(4, (uint32_t)e->instruction),
        [DEBUG_VALUE] = later(),
        [DEBUG_ID] = number(4, (uint32_t)e->delegate_id),
        [DEBUG_ID_TEXT] = text_field(e->delegate_text),
    };
    put_child(o, waiting, f, N_DEBUG);
    await_text(o, &f[DEBUG_ID_TEXT], e->delegate_text);
    field v[N_VALUE] = {[VALUE_KIND] = number(1, KIND_TENSOR), [VALUE_TENSOR] = later()};
    put_child(o, f[DEBUG_VALUE].at, v, N_VALUE);
    put_tensor(o, v[VALUE_TENSOR].at, t);
}

static void put_event(out *o, size_t waiting, const et_trace_view *t, const et_trace_event *e) {
    field f[N_EVENT] = {[EVENT_PROFILE] = e->tensor ? (field){0} : later(),
                        [EVENT_DEBUG] = e->tensor ? later() : (field){0}};
    put_child(o, waiting, f, N_EVENT);
    if (e->tensor)
        put_debug(o, f[EVENT_DEBUG].at, e, &t->tensors[e->tensor - 1]);
    else
        put_profile(o, f[EVENT_PROFILE].at, e);
}

static void put_text(out *o, const char *text, size_t *at) {
    size_t n = strlen(text);
    *at = put(o, n, 4);
    size_t to = extend(o, n + 1);
    if (!o->failed)
        memcpy(o->data + to, text, n);
}

static void put_run(out *o, size_t waiting, const et_trace_view *t, uint32_t block) {
    const et_trace_block *b = &t->blocks[block];
    uint32_t end = block + 1 < t->n_blocks ? b[1].first : t->n_events, n = end - b->first;
    field f[N_RUN] = {[RUN_NAME] = later(),
                      [RUN_INPUT] = number(4, UINT32_MAX), // none
                      [RUN_EVENTS] = later()};
    put_child(o, waiting, f, N_RUN);
    size_t at, first = put_places(o, f[RUN_EVENTS].at, n);
    for (uint32_t i = 0; i < n; i++)
        put_event(o, first + 4 * (size_t)i, t, &t->events[b->first + i]);
    put_text(o, b->name, &at);
    store(o, f[RUN_NAME].at, at - f[RUN_NAME].at, 4);
}

static void put_texts(out *o, const et_trace_view *t) {
    size_t *at = qrn_alloc((t->n_texts + 1) * sizeof *at);
    if (!at) {
        o->failed = true;
        return;
    }
    for (uint32_t i = 0; i < t->n_texts; i++)
        put_text(o, t->texts[i], &at[i]);
    for (size_t i = 0; i < o->n_waits; i++)
        store(o, o->waits[i].at, at[o->waits[i].text] - o->waits[i].at, 4);
    qrn_free(at);
}

static void put_dump(out *o, const et_trace_view *t) {
    size_t size = put(o, 0, 4), root = put(o, 0, 4), id = extend(o, 4);
    if (!o->failed)
        memcpy(o->data + id, "ED00", 4);
    field f[N_DUMP] = {[DUMP_VERSION] = number(4, 0), [DUMP_RUNS] = later()};
    put_child(o, root, f, N_DUMP);
    size_t first = put_places(o, f[DUMP_RUNS].at, t->n_blocks);
    for (uint32_t i = 0; i < t->n_blocks; i++)
        put_run(o, first + 4 * (size_t)i, t, i);
    put_texts(o, t);
    align(o, 8, 0);
    store(o, size, o->n - 4, 4);
}

qrn_status et_trace_write(const et_trace *trace, const char *path, size_t *size) {
    et_trace_view t = et_trace_look(trace);
    out o = {.failed = !t.complete};
    put_dump(&o, &t);
    qrn_status s;
    if (o.failed)
        s = QRN_FAIL(QRN_E_MEM, "%s: out of memory for %u events", path, t.n_events);
    else
        s = qrn_outfile_save(path, o.data, o.n);
    *size = o.n;
    qrn_free(o.data);
    qrn_free(o.waits);
    return s;
}
