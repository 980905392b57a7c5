// SPDX-License-Identifier: MIT
//
// What a kernel has told: how often of each element, and the values at that time. One call at a
// time; memory is kept for the next.
#include "told.h"

#include <stdlib.h>
#include <string.h>

static struct told {
    qrn_follower follower; // the first member: what kernels hold
    const qrn_view *out;
    size_t n, elem;
    uint8_t *times; // [n], at most 2
    char *copy;     // elements as they were
    bool outside;
} told;

static void listen(const qrn_follower *f, size_t begin, size_t end) {
    struct told *t = (struct told *)(uintptr_t)f;
    if (begin >= end || end > t->n) {
        t->outside = true;
        return;
    }
    for (size_t i = begin; i < end; i++)
        t->times[i] += t->times[i] < 2;
    memcpy(t->copy + begin * t->elem, (const char *)t->out->data + begin * t->elem,
           (end - begin) * t->elem);
}

const qrn_follower *told_begin(const qrn_view *out) {
    size_t n = qrn_view_count(out), elem = qrn_view_elem(out);
    free(told.times);
    free(told.copy);
    told = (struct told){{listen}, out, n, elem, calloc(n + 1, 1), malloc(n * elem + 1), false};
    return told.times && told.copy ? &told.follower : NULL;
}

const char *told_end(void) {
    if (told.outside)
        return "tells of elements that are not there";
    for (size_t i = 0; i < told.n; i++)
        if (told.times[i] != 1)
            return told.times[i] ? "tells of an element twice" : "does not tell of an element";
    return memcmp(told.copy, told.out->data, told.n * told.elem) == 0
               ? NULL
               : "changes what it has told of";
}
