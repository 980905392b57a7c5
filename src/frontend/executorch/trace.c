// SPDX-License-Identifier: MIT
//
// Recording of a trace: arrays that grow, and texts that are kept once.
#include "frontend/executorch/trace.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/strmap.h"

#include <string.h>
#include <time.h>

#define TENSOR_ALIGNMENT 64

// An array that grows; `failed` of the trace is set when it cannot.
typedef struct list {
    void *items;
    size_t n, cap;
} list;

struct et_trace {
    qrn_arena *arena;
    qrn_strmap index; // of texts; values are their index + 1
    list texts, blocks, events, tensors;
    uint8_t *buffer; // of tensors; made when the first one comes
    size_t buffer_bytes, buffer_used;
    int32_t chain, instruction;
    bool failed;
};

et_trace *et_trace_create(size_t tensor_bytes) {
    qrn_arena *arena = qrn_arena_create();
    et_trace *t = arena ? qrn_arena_alloc(arena, sizeof *t) : NULL;
    if (!t) {
        qrn_arena_destroy(arena);
        return NULL;
    }
    *t = (et_trace){.arena = arena, .buffer_bytes = tensor_bytes, .chain = -1, .instruction = -1};
    return t;
}

void et_trace_destroy(et_trace *t) {
    if (!t)
        return;
    qrn_strmap_clear(&t->index);
    qrn_free(t->texts.items);
    qrn_free(t->blocks.items);
    qrn_free(t->events.items);
    qrn_free(t->tensors.items);
    qrn_arena_destroy(t->arena);
}

bool et_trace_wants_tensors(const et_trace *t) { return t->buffer_bytes > 0; }

uint64_t et_trace_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000u * (uint64_t)t.tv_sec + (uint64_t)t.tv_nsec;
}

// Room for one more item of `bytes`, which the caller fills; NULL when out of memory.
static void *grow(et_trace *t, list *l, size_t bytes) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64, size;
        void *items = !t->failed && cap < UINT32_MAX && qrn_mul_size(cap, bytes, &size)
                          ? qrn_realloc(l->items, l->n * bytes, size)
                          : NULL;
        if (!items) {
            t->failed = true;
            return NULL;
        }
        l->items = items;
        l->cap = cap;
    }
    return (uint8_t *)l->items + bytes * l->n++;
}

static uint32_t keep(et_trace *t, const char *text) {
    if (!text)
        return ET_TRACE_NO_TEXT;
    uintptr_t found = (uintptr_t)qrn_strmap_get(&t->index, text);
    if (found)
        return (uint32_t)(found - 1);
    char *copy = qrn_arena_strdup(t->arena, text);
    const char **slot = copy ? grow(t, &t->texts, sizeof *slot) : NULL;
    if (!slot) {
        t->failed = true;
        return ET_TRACE_NO_TEXT;
    }
    *slot = copy;
    t->failed = !qrn_strmap_put(&t->index, copy, (void *)(uintptr_t)t->texts.n) || t->failed;
    return (uint32_t)(t->texts.n - 1);
}

static void add(et_trace *t, et_trace_event e) {
    e.chain = t->chain;
    e.instruction = t->instruction;
    et_trace_event *slot = grow(t, &t->events, sizeof *slot);
    if (slot)
        *slot = e;
}

void et_trace_begin(et_trace *t, const char *static_name) {
    et_trace_block *b = grow(t, &t->blocks, sizeof *b);
    if (b)
        *b = (et_trace_block){static_name, (uint32_t)t->events.n};
}

void et_trace_at(et_trace *t, int32_t chain, int32_t instruction) {
    t->chain = chain;
    t->instruction = instruction;
}

void et_trace_end(et_trace *t, const char *name, uint64_t start) {
    add(t, (et_trace_event){keep(t, name), ET_TRACE_NO_TEXT, 0, 0, -1, start, et_trace_now(), 0});
}

void et_trace_value(et_trace *t, const char *delegate_text, uint64_t value) {
    add(t, (et_trace_event){ET_TRACE_NO_TEXT, keep(t, delegate_text), 0, 0, -1, 0, value, 0});
}

qrn_status et_trace_output(et_trace *t, int32_t delegate_id, const char *name, uint8_t type,
                           uint32_t rank, const uint32_t *dims, const void *data, size_t bytes) {
    size_t at = (t->buffer_used + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
    if (at > t->buffer_bytes || bytes > t->buffer_bytes - at)
        return QRN_FAIL(QRN_E_MEM, "tensor '%s': its %zu bytes do not fit a debug buffer of %zu",
                        name, bytes, t->buffer_bytes);
    if (rank > 8)
        return QRN_FAIL(QRN_E_SHAPE, "tensor '%s': rank %u, at most 8", name, rank);
    if (!t->buffer)
        t->buffer = qrn_arena_reserve(t->arena, t->buffer_bytes);
    if (!t->buffer)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a debug buffer of %zu bytes",
                        t->buffer_bytes);
    memset(t->buffer + t->buffer_used, 0, at - t->buffer_used);
    if (bytes)
        memcpy(t->buffer + at, data, bytes);
    t->buffer_used = at + bytes;
    et_trace_tensor *slot = grow(t, &t->tensors, sizeof *slot);
    if (!slot)
        return QRN_OK; // writing reports it
    *slot = (et_trace_tensor){.type = type, .rank = (uint8_t)rank, .offset = at};
    memcpy(slot->dims, dims, rank * sizeof *dims);
    uint32_t text = delegate_id < 0 ? keep(t, name) : ET_TRACE_NO_TEXT;
    add(t,
        (et_trace_event){ET_TRACE_NO_TEXT, text, 0, 0, delegate_id, 0, 0, (uint32_t)t->tensors.n});
    return QRN_OK;
}

et_trace_view et_trace_look(const et_trace *t) {
    return (et_trace_view){.blocks = t->blocks.items,
                           .events = t->events.items,
                           .tensors = t->tensors.items,
                           .texts = t->texts.items,
                           .n_blocks = (uint32_t)t->blocks.n,
                           .n_events = (uint32_t)t->events.n,
                           .n_texts = (uint32_t)t->texts.n,
                           .complete = !t->failed};
}

// The unused end of the buffer is a hole in the file.
qrn_status et_trace_write_tensors(const et_trace *t, const char *path, size_t *size) {
    qrn_outfile f;
    QRN_TRY(qrn_outfile_begin(&f, path));
    qrn_outfile_write(&f, t->buffer, t->buffer_used);
    qrn_outfile_extend(&f, t->buffer_bytes);
    QRN_TRY(qrn_outfile_commit(&f));
    *size = t->buffer_bytes;
    return QRN_OK;
}
