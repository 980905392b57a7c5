// SPDX-License-Identifier: MIT
//
// Which tensor of one execution is which of another. Names decide where they mean something.
// Clients also make names up (onnxruntime's layout transformation: _token_17), and what they call
// so differs between a float model and its quantized form. Such tensors are paired by an alignment
// of the two lists that keeps the order of execution and the shapes and prefers like values: the
// numbers of a sample of elements.
#include "tools/quern/dump.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 256                  // elements that are looked at
#define MAX_CELLS ((size_t)1 << 24) // of the table of an alignment
#define LEAST_LIKENESS 0.5          // of tensors that different ops made

size_t qt_plain_length(const char *name) {
    static const char *const ends[] = {"_QuantizeLinear_Output",
                                       "_DequantizeLinear_Output",
                                       "_QuantizeLinear",
                                       "_DequantizeLinear",
                                       "_quantized",
                                       "_q",
                                       "_dq",
                                       "_dq8",
                                       "_dq16"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcmp(name + n - k, ends[i]) == 0)
            return n - k;
    }
    return n;
}

static bool is_made_up(const char *name) { return strstr(name, "_token_") != NULL; }

static bool same_shape(const qt_dumped *a, const qt_dumped *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

// The tensor of `in` with t's name, or with its plain name; NULL: none of its shape that is free.
static const qt_dumped *find_named(const qt_dump *in, const bool *taken, const qt_dumped *t,
                                   bool exact) {
    size_t n = exact ? strlen(t->name) : qt_plain_length(t->name);
    for (size_t i = 0; i < in->n && !is_made_up(t->name); i++) {
        const qt_dumped *u = &in->tensors[i];
        size_t length = exact ? strlen(u->name) : qt_plain_length(u->name);
        if (!taken[i] && length == n && strncmp(u->name, t->name, n) == 0 && same_shape(t, u))
            return u;
    }
    return NULL;
}

// What an alignment works on.
typedef struct sides {
    const qt_dump *a, *b;
    size_t *partner;        // [b->n] index in a + 1 of the tensor of that name, 0: none
    bool *taken;            // [a->n] has a partner by name
    float *like_a, *like_b; // [n][SAMPLE] unit vectors; all 0 when there is nothing to see
    double *best;           // [(a->n + 1) * (b->n + 1)]
} sides;

// Elements spread over the tensor, as a vector of length 1.
static qrn_status take_sample(const qt_dump *d, const qt_dumped *t, float *out) {
    qt_array a = {0};
    QRN_TRY(qt_dump_load(d, t, &a));
    size_t n = a.count < SAMPLE ? a.count : SAMPLE;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        double v = qt_array_at(&a, (size_t)((double)i / (double)n * (double)a.count));
        v = isfinite(v) ? v : 0;
        norm += v * v;
        out[i] = (float)v;
    }
    norm = sqrt(norm);
    for (size_t i = 0; i < n; i++)
        out[i] = norm > 0 && isfinite(norm) ? (float)((double)out[i] / norm) : 0;
    qt_array_free(&a);
    return QRN_OK;
}

// How well two tensors go together; 0: not at all.
static double score(const sides *s, size_t i, size_t j) {
    const qt_dumped *a = &s->a->tensors[i], *b = &s->b->tensors[j];
    if (s->partner[j] || s->taken[i])
        return s->partner[j] == i + 1 ? 100 : 0;
    if (!same_shape(a, b))
        return 0;
    double likeness = 0;
    for (size_t k = 0; k < SAMPLE; k++)
        likeness += (double)s->like_a[i * SAMPLE + k] * (double)s->like_b[j * SAMPLE + k];
    bool same_op = a->op && b->op ? strcmp(a->op, b->op) == 0 : a->op == b->op;
    if (likeness < LEAST_LIKENESS && !same_op)
        return 0;
    return 1 + 4 * (likeness > 0 ? likeness : 0) + (same_op ? 0.05 : 0) +
           (strcmp(a->role, b->role) == 0 ? 0.02 : 0) + (strcmp(a->name, b->name) == 0 ? 0.5 : 0);
}

static void align(const sides *s) {
    size_t width = s->b->n + 1;
    for (size_t i = s->a->n; i-- > 0;)
        for (size_t j = s->b->n; j-- > 0;) {
            double skip_a = s->best[(i + 1) * width + j], skip_b = s->best[i * width + j + 1];
            double both = score(s, i, j), take = both + s->best[(i + 1) * width + j + 1];
            double most = skip_a > skip_b ? skip_a : skip_b;
            s->best[i * width + j] = both > 0 && take > most ? take : most;
        }
}

// Walks the best alignment: partner[j] for the tensors that have none by name.
static void keep_alignment(sides *s, qt_pair_kind *kinds) {
    size_t width = s->b->n + 1, i = 0, j = 0;
    while (i < s->a->n && j < s->b->n) {
        double here = s->best[i * width + j];
        if (here == s->best[(i + 1) * width + j]) {
            i++;
        } else if (here == s->best[i * width + j + 1]) {
            j++;
        } else {
            if (!s->partner[j]) {
                s->partner[j] = i + 1;
                kinds[j] = QT_PAIR_ORDER;
            }
            i++;
            j++;
        }
    }
}

static bool prepare(sides *s, bool names_only) {
    size_t na = s->a->n, nb = s->b->n;
    s->partner = calloc(nb + 1, sizeof *s->partner);
    s->taken = calloc(na + 1, sizeof *s->taken);
    if (!s->partner || !s->taken)
        return false;
    for (int exact = 1; exact >= 0; exact--)
        for (size_t j = 0; j < nb; j++) {
            const qt_dumped *t =
                s->partner[j] ? NULL : find_named(s->a, s->taken, &s->b->tensors[j], exact);
            size_t i = t ? (size_t)(t - s->a->tensors) : 0;
            if (t) {
                s->taken[i] = true;
                s->partner[j] = i + 1;
            }
        }
    if (names_only || (na + 1) * (nb + 1) > MAX_CELLS)
        return true;
    s->like_a = calloc(na * SAMPLE + 1, sizeof *s->like_a);
    s->like_b = calloc(nb * SAMPLE + 1, sizeof *s->like_b);
    s->best = calloc((na + 1) * (nb + 1), sizeof *s->best);
    return s->like_a && s->like_b && s->best;
}

static qrn_status take_samples(sides *s) {
    for (size_t i = 0; i < s->a->n; i++)
        if (!s->taken[i])
            QRN_TRY(take_sample(s->a, &s->a->tensors[i], s->like_a + i * SAMPLE));
    for (size_t j = 0; j < s->b->n; j++)
        if (!s->partner[j])
            QRN_TRY(take_sample(s->b, &s->b->tensors[j], s->like_b + j * SAMPLE));
    return QRN_OK;
}

qrn_status qt_dump_pair(const qt_dump *a, const qt_dump *b, bool names_only, qt_pair **pairs,
                        size_t *n) {
    sides s = {.a = a, .b = b};
    qt_pair *list = calloc(b->n + 1, sizeof *list);
    qt_pair_kind *kinds = calloc(b->n + 1, sizeof *kinds);
    qrn_status st = QRN_OK;
    if (!list || !kinds || !prepare(&s, names_only))
        st = QRN_FAIL(QRN_E_MEM, "out of memory");
    if (st == QRN_OK && s.best) {
        st = take_samples(&s);
        if (st == QRN_OK) {
            align(&s);
            keep_alignment(&s, kinds);
        }
    }
    *n = 0;
    for (size_t j = 0; st == QRN_OK && j < b->n; j++)
        if (s.partner[j])
            list[(*n)++] = (qt_pair){&a->tensors[s.partner[j] - 1], &b->tensors[j], kinds[j]};
    free(s.partner);
    free(s.taken);
    free(s.like_a);
    free(s.like_b);
    free(s.best);
    free(kinds);
    *pairs = st == QRN_OK ? list : NULL;
    if (st != QRN_OK)
        free(list);
    return st;
}
