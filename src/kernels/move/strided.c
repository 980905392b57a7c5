// SPDX-License-Identifier: MIT
//
// The strided copy. A nest is first brought to its simplest form (bytes, loops merged, this task's
// part of one loop), then the two innermost loops choose how the bytes move.
#include "kernels/move/strided.h"

#include <string.h>

#define PICKS 512 // places that are worked out at a time

typedef struct bytes16 {
    uint64_t half[2];
} bytes16;

#define U uint8_t
#define N 16
#define VECTOR vector1
#define ZIP_LOW(a, b)                                                                              \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b)                                                                             \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LINE line1
#define PICK pick1
#define COLUMN column1
#define BLOCK block1
#define TILE tile1
#define WEAVE weave1
#define UNWEAVE unweave1
#include "kernels/move/strided.inc"
#undef U
#undef N
#undef VECTOR
#undef ZIP_LOW
#undef ZIP_HIGH
#undef LINE
#undef PICK
#undef COLUMN
#undef BLOCK
#undef TILE
#undef WEAVE
#undef UNWEAVE
#define U uint16_t
#define N 8
#define VECTOR vector2
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LINE line2
#define PICK pick2
#define COLUMN column2
#define BLOCK block2
#define TILE tile2
#define WEAVE weave2
#define UNWEAVE unweave2
#include "kernels/move/strided.inc"
#undef U
#undef N
#undef VECTOR
#undef ZIP_LOW
#undef ZIP_HIGH
#undef LINE
#undef PICK
#undef COLUMN
#undef BLOCK
#undef TILE
#undef WEAVE
#undef UNWEAVE
#define U uint32_t
#define N 4
#define VECTOR vector4
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LINE line4
#define PICK pick4
#define COLUMN column4
#define BLOCK block4
#define TILE tile4
#define WEAVE weave4
#define UNWEAVE unweave4
#include "kernels/move/strided.inc"
#undef U
#undef N
#undef VECTOR
#undef ZIP_LOW
#undef ZIP_HIGH
#undef LINE
#undef PICK
#undef COLUMN
#undef BLOCK
#undef TILE
#undef WEAVE
#undef UNWEAVE
#define U uint64_t
#define N 2
#define VECTOR vector8
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LINE line8
#define PICK pick8
#define COLUMN column8
#define BLOCK block8
#define TILE tile8
#define WEAVE weave8
#define UNWEAVE unweave8
#include "kernels/move/strided.inc"
#undef U
#undef N
#undef VECTOR
#undef ZIP_LOW
#undef ZIP_HIGH
#undef LINE
#undef PICK
#undef COLUMN
#undef BLOCK
#undef TILE
#undef WEAVE
#undef UNWEAVE
#define U bytes16
#define N 1
#define LINE line16
#define PICK pick16
#define COLUMN column16
#define TILE tile16
#define WEAVE weave16
#define UNWEAVE unweave16
#include "kernels/move/strided.inc"

typedef struct loop {
    size_t n;
    ptrdiff_t src, dst; // steps in bytes
} loop;

typedef struct nest {
    uint32_t n_loops;
    size_t unit; // bytes moved by the innermost statement
    loop loops[QRN_STRIDED_LOOPS];
} nest;

// Byte steps; loops of one iteration dropped; a loop that continues the next inner one merged with
// it. False when there is nothing to copy.
static bool simplify(const qrn_strided *s, size_t elem, nest *out) {
    ptrdiff_t dst = (ptrdiff_t)elem;
    loop inner_first[QRN_STRIDED_LOOPS];
    uint32_t n = 0;
    for (uint32_t i = s->n_loops; i-- > 0;) {
        if (s->n[i] == 0)
            return false;
        loop l = {s->n[i], s->step[i] * (ptrdiff_t)elem, dst};
        dst *= (ptrdiff_t)l.n;
        if (l.n == 1)
            continue;
        loop *inner = n ? &inner_first[n - 1] : NULL;
        if (inner && l.src == inner->src * (ptrdiff_t)inner->n)
            inner->n *= l.n; // the destination is dense, so it always continues
        else
            inner_first[n++] = l;
    }
    *out = (nest){.n_loops = n, .unit = elem};
    for (uint32_t i = 0; i < n; i++)
        out->loops[i] = inner_first[n - 1 - i];
    return true;
}

// Takes this task's share of the outermost loop that is long enough, else of the longest.
static void take_part(nest *c, const char **src, char **dst, uint32_t task, uint32_t n_tasks) {
    if (n_tasks < 2 || c->n_loops == 0)
        return;
    uint32_t best = 0;
    while (best + 1 < c->n_loops && c->loops[best].n < n_tasks)
        best++;
    if (c->loops[best].n < n_tasks)
        for (uint32_t i = 0; i < c->n_loops; i++)
            if (c->loops[i].n > c->loops[best].n)
                best = i;
    loop *l = &c->loops[best];
    size_t begin, end;
    qrn_split(l->n, 1, task, n_tasks, &begin, &end);
    *src += (ptrdiff_t)begin * l->src;
    *dst += (ptrdiff_t)begin * l->dst;
    l->n = end - begin;
}

// A contiguous innermost loop becomes one larger unit.
static void widen_unit(nest *c) {
    if (c->n_loops == 0)
        return;
    const loop *l = &c->loops[c->n_loops - 1];
    if (l->src == (ptrdiff_t)c->unit && l->dst == (ptrdiff_t)c->unit) {
        c->unit *= l->n;
        c->n_loops--;
    }
}

static void copy_line(char *dst, const char *src, size_t unit, const loop *l) {
    if (l->dst == (ptrdiff_t)unit) {
        switch (unit) {
        case 1:
            line1(dst, src, l->n, l->src);
            return;
        case 2:
            line2(dst, src, l->n, l->src);
            return;
        case 4:
            line4(dst, src, l->n, l->src);
            return;
        case 8:
            line8(dst, src, l->n, l->src);
            return;
        case 16:
            line16(dst, src, l->n, l->src);
            return;
        default:
            break;
        }
    }
    for (size_t i = 0; i < l->n; i++)
        memcpy(dst + (ptrdiff_t)i * l->dst, src + (ptrdiff_t)i * l->src, unit);
}

// Functions by unit.
// clang-format off
#define BY_UNIT(fn, ...)                                                                           \
    (unit == 1   ? fn##1(__VA_ARGS__)                                                              \
     : unit == 2 ? fn##2(__VA_ARGS__)                                                              \
     : unit == 4 ? fn##4(__VA_ARGS__)                                                              \
     : unit == 8 ? fn##8(__VA_ARGS__)                                                              \
                 : fn##16(__VA_ARGS__))
// clang-format on

// `down` steps through the source unit by unit, `across` through the destination: tiles of one
// cache line a side keep both within reach. Few planes that are dense are woven or taken apart.
static void copy_plane(char *dst, const char *src, size_t unit, const loop *down,
                       const loop *across) {
    if (across->n <= 4 && down->dst == (ptrdiff_t)(across->n * unit)) {
        BY_UNIT(weave, dst, src, down->n, across->n, across->src);
        return;
    }
    if (down->n <= 4 && across->src == (ptrdiff_t)(down->n * unit)) {
        BY_UNIT(unweave, dst, src, down->n, across->n, down->dst);
        return;
    }
    size_t side = 64 / unit;
    size_t height = across->n < side ? 8 * side : side; // few columns: each is read in one go
    for (size_t r = 0; r < down->n; r += height)
        for (size_t c = 0; c < across->n; c += side) {
            size_t rows = down->n - r < height ? down->n - r : height;
            size_t cols = across->n - c < side ? across->n - c : side;
            char *d = dst + (ptrdiff_t)r * down->dst + (ptrdiff_t)(c * unit);
            const char *s = src + r * unit + (ptrdiff_t)c * across->src;
            BY_UNIT(tile, d, s, rows, cols, down->dst, across->src);
        }
}

// A loop that steps through the source unit by unit while the innermost one does not; moved to the
// place next to the innermost. False when this is not a transposition.
static bool find_transposition(nest *c) {
    bool small = c->unit == 1 || c->unit == 2 || c->unit == 4 || c->unit == 8 || c->unit == 16;
    if (!small || c->n_loops < 2 || c->loops[c->n_loops - 1].dst != (ptrdiff_t)c->unit)
        return false;
    for (uint32_t i = c->n_loops - 1; i-- > 0;)
        if (c->loops[i].src == (ptrdiff_t)c->unit) {
            loop found = c->loops[i];
            memmove(&c->loops[i], &c->loops[i + 1], (c->n_loops - 2 - i) * sizeof(loop));
            c->loops[c->n_loops - 2] = found;
            return true;
        }
    return false;
}

// Few elements in any order: the places of those that the innermost loops copy.
typedef struct picks {
    uint32_t n_loops; // 0: not worth it
    size_t n;
    ptrdiff_t at[PICKS];
} picks;

static bool is_unit(size_t unit) {
    return unit == 1 || unit == 2 || unit == 4 || unit == 8 || unit == 16;
}

// Runs of a few bytes become loops over units.
static void split_unit(nest *c) {
    size_t unit = c->unit & (~c->unit + 1);
    if (is_unit(c->unit) || c->unit >= 32 || unit > 16 || c->n_loops == QRN_STRIDED_LOOPS)
        return;
    c->loops[c->n_loops++] = (loop){c->unit / unit, (ptrdiff_t)unit, (ptrdiff_t)unit};
    c->unit = unit;
}

// Is the plane of the two innermost loops one that copy_plane() is made for?
static bool is_good_plane(const nest *c) {
    const loop *across = &c->loops[c->n_loops - 1], *down = across - 1;
    bool woven = across->n <= 4 && down->dst == (ptrdiff_t)(across->n * c->unit);
    bool apart = down->n <= 4 && across->src == (ptrdiff_t)(down->n * c->unit);
    return (woven && down->n >= 16) || (apart && across->n >= 16) ||
           (down->n >= 8 && across->n >= 8);
}

static void find_picks(const nest *c, picks *p) {
    p->n_loops = 0;
    p->n = 1;
    p->at[0] = 0;
    for (uint32_t i = c->n_loops; i-- > 0;) {
        const loop *l = &c->loops[i];
        if (l->n > PICKS / p->n || l->dst != (ptrdiff_t)(p->n * c->unit))
            break;
        for (size_t j = p->n; j < p->n * l->n; j++)
            p->at[j] = p->at[j - p->n] + l->src;
        p->n *= l->n;
        p->n_loops++;
    }
    if (p->n < 8 || p->n_loops == c->n_loops) // little to gain, or little to copy
        p->n_loops = 0;
}

static void copy_nest(const nest *c, const char *from, char *to, bool plane, const picks *p) {
    uint32_t n_inner = p->n_loops ? p->n_loops : plane ? 2 : c->n_loops ? 1 : 0;
    uint32_t n_outer = c->n_loops - n_inner;
    size_t unit = c->unit, at[QRN_STRIDED_LOOPS] = {0};
    const loop one = {1, 0, (ptrdiff_t)unit};
    const loop *inner = n_inner ? &c->loops[c->n_loops - 1] : &one;
    for (;;) {
        if (p->n_loops)
            BY_UNIT(pick, to, from, p->at, p->n);
        else if (plane)
            copy_plane(to, from, unit, inner - 1, inner);
        else
            copy_line(to, from, unit, inner);
        uint32_t i = n_outer;
        while (i > 0) {
            const loop *l = &c->loops[--i];
            from += l->src;
            to += l->dst;
            if (++at[i] < l->n)
                break;
            from -= l->src * (ptrdiff_t)l->n;
            to -= l->dst * (ptrdiff_t)l->n;
            at[i] = 0;
            if (i == 0)
                return;
        }
        if (n_outer == 0)
            return;
    }
}

void qrn_strided_copy(const qrn_strided *s, const void *src, void *dst, size_t elem_bytes,
                      uint32_t task, uint32_t n_tasks) {
    nest c, transposed;
    picks p = {0};
    const char *from = src;
    char *to = dst;
    if (!simplify(s, elem_bytes, &c) || (c.n_loops == 0 && task > 0))
        return; // a single element belongs to task 0
    take_part(&c, &from, &to, task, n_tasks);
    for (uint32_t i = 0; i < c.n_loops; i++)
        if (c.loops[i].n == 0)
            return;
    widen_unit(&c);
    transposed = c;
    bool plane = find_transposition(&transposed);
    if (!plane || !is_good_plane(&transposed)) {
        nest split = c;
        split_unit(&split);
        if (is_unit(split.unit) && split.n_loops > 1 && split.loops[split.n_loops - 1].src != 0)
            find_picks(&split, &p);
        if (p.n_loops) {
            copy_nest(&split, from, to, false, &p);
            return;
        }
    }
    copy_nest(plane ? &transposed : &c, from, to, plane, &p);
}

uint32_t qrn_move_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_view *y = k->out[0];
    return qrn_view_count(y) * qrn_view_elem(y) < 65536 ? 1 : n_threads;
}
