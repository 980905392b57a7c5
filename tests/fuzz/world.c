// SPDX-License-Identifier: MIT
//
// The world of a fuzz input: picking and keeping.
#include "world.h"

#include "documented.h"

#include <inttypes.h>
#include <stdio.h>

void world_fail(const char *what) {
    fprintf(stderr, "fuzz_graph: %s\n", what);
    abort();
}

static _Thread_local Qnn_ErrorHandle_t last_error;

Qnn_ErrorHandle_t world_last_error(void) { return last_error; }

bool world_ok(const char *function, Qnn_ErrorHandle_t rc) {
    if (!documented(function, rc)) {
        fprintf(stderr, "%s gives %" PRIu64 ", which is not documented\n", function, (uint64_t)rc);
        abort();
    }
    if (rc != QNN_SUCCESS)
        last_error = rc;
    return rc == QNN_SUCCESS;
}

bool world_has_room(const world *w, kind k) {
    uint32_t free = WORLD_HANDLES - w->n_handles[k];
    for (uint32_t i = 0; i < w->n_handles[k]; i++)
        free += w->handles[k][i].dead;
    return free > 2;
}

void world_add(world *w, kind k, void *value, const void *parent) {
    if (!value)
        world_fail("a call that succeeds has set no handle");
    // A full list forgets dead handles first; living ones would leak.
    uint32_t at = w->n_handles[k];
    for (uint32_t i = 0; at == WORLD_HANDLES && i < WORLD_HANDLES; i++)
        if (w->handles[k][i].dead)
            at = i;
    if (at == WORLD_HANDLES)
        world_fail("too many handles: an action must look for room first");
    w->handles[k][at] = (handle){value, parent, false};
    if (at == w->n_handles[k])
        w->n_handles[k]++;
}

void world_kill(world *w, const void *value) {
    for (int k = 0; k < KIND_COUNT; k++)
        for (uint32_t i = 0; i < w->n_handles[k]; i++) {
            handle *h = &w->handles[k][i];
            if (h->dead || (h->value != value && h->parent != value))
                continue;
            h->dead = true;
            if (h->value != value)
                world_kill(w, h->value);
        }
}

void *world_living(const world *w, kind k) {
    for (uint32_t i = w->n_handles[k]; i-- > 0;)
        if (!w->handles[k][i].dead)
            return w->handles[k][i].value;
    return NULL;
}

void *world_pick(world *w, kind k) {
    source *s = w->s;
    if (!draw_chance(s, 25))
        return world_living(w, k);
    kind other = (kind)draw_below(s, KIND_COUNT);
    switch (draw_below(s, 5)) {
    case 0:
        return NULL;
    case 1:
        return (void *)(uintptr_t)draw_u32(s);
    case 2:
        k = other;
        break;
    default:
        break;
    }
    return w->n_handles[k] ? w->handles[k][draw_below(s, w->n_handles[k])].value : NULL;
}

void *world_maybe(world *w, kind k) { return draw_chance(w->s, 20) ? world_pick(w, k) : NULL; }

void world_keep_tensor(world *w, const Qnn_Tensor_t *t, Qnn_GraphHandle_t graph,
                       size_t size_bytes) {
    if (w->n_tensors < WORLD_TENSORS)
        w->tensors[w->n_tensors++] = (made_tensor){*t, graph, size_bytes};
}

const char *world_name(world *w) {
    static const char *const few[] = {"a", "then_graph", "else_graph", "g", "%s%n", "\xff\xfe", ""};
    if (draw_chance(w->s, 15))
        return DRAW_FROM(w->s, few);
    if (draw_chance(w->s, 2))
        return NULL;
    if (draw_chance(w->s, 2)) {
        char *text = scrap_new(&w->mem, 5000, 'n');
        text[4999] = '\0';
        return text;
    }
    char *text = scrap_new(&w->mem, 16, 0);
    snprintf(text, 16, "n%u", (unsigned)w->n_names++);
    return text;
}

size_t world_bound(world *w, uint32_t bits, uint32_t rank, uint32_t *dims) {
    const uint64_t huge = UINT64_C(1) << 43; // bits: more than 2^40 bytes
    uint64_t total = bits;
    bool zero = false;
    for (uint32_t i = 0; i < rank; i++) {
        zero |= dims[i] == 0;
        total = dims[i] && total > UINT64_MAX / dims[i] ? UINT64_MAX : total * dims[i];
    }
    if (zero || total > huge)
        return 0;
    for (uint32_t i = 0; i < rank && (total + 7) / 8 + w->bytes > WORLD_BYTES; i++) {
        total /= dims[i];
        dims[i] = 1;
    }
    return (size_t)((total + 7) / 8);
}
