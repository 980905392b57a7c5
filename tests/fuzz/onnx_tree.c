// SPDX-License-Identifier: MIT
//
// Changing ONNX files field by field. A walk over the model writes it anew; the field whose turn it
// is comes out changed. Which fields hold messages is all that is known of the format.
#include "onnx_tree.h"

#include "frontend/onnx/writer/wire_write.h"

#include <string.h>

typedef enum kind {
    MODEL,
    GRAPH,
    FUNCTION,
    NODE,
    ATTR,
    TENSOR,
    INFO,
    TYPE,
    SHAPED,
    SHAPE,
    LEAF
} kind;
enum { DEEPEST = 24 };

static const struct {
    kind in;
    uint32_t field;
    kind holds;
} messages[] = {
    {MODEL, 7, GRAPH},   {MODEL, 8, LEAF},    {MODEL, 25, FUNCTION}, {GRAPH, 1, NODE},
    {FUNCTION, 7, NODE}, {FUNCTION, 9, LEAF}, {FUNCTION, 11, ATTR},  {GRAPH, 5, TENSOR},
    {GRAPH, 11, INFO},   {GRAPH, 12, INFO},   {GRAPH, 13, INFO},     {GRAPH, 9, LEAF},
    {NODE, 5, ATTR},     {ATTR, 5, TENSOR},   {ATTR, 6, GRAPH},      {INFO, 2, TYPE},
    {TYPE, 1, SHAPED},   {TYPE, 4, TYPE},     {SHAPED, 2, SHAPE},    {SHAPE, 1, LEAF},
    {TENSOR, 13, LEAF},
};

static kind kind_of(kind in, uint32_t field) {
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (messages[i].in == in && messages[i].field == field)
            return messages[i].holds;
    return MODEL; // not a message
}

// A field of the file.
typedef struct field {
    uint32_t number, wire;
    uint64_t value;      // of a number
    const uint8_t *data; // of the others
    size_t size;
    kind in, holds;
} field;

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t b = *(*p)++;
        *v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return true;
    }
    return false;
}

static bool next_field(const uint8_t **p, const uint8_t *end, kind in, field *f) {
    uint64_t key;
    if (!varint(p, end, &key))
        return false;
    *f = (field){.number = (uint32_t)(key >> 3), .wire = key & 7, .in = in};
    if (f->wire == 0)
        return varint(p, end, &f->value);
    uint64_t n = f->wire == 5 ? 4 : 8;
    if (f->wire == 2 && !varint(p, end, &n))
        return false;
    if (f->wire != 1 && f->wire != 2 && f->wire != 5)
        return false;
    if (n > (uint64_t)(end - *p))
        return false;
    f->data = *p;
    f->size = (size_t)n;
    f->holds = f->wire == 2 ? kind_of(in, f->number) : MODEL;
    *p += n;
    return true;
}

// Pieces of a kind, to put in elsewhere: one in `seen` is kept, whichever is drawn.
typedef struct walk {
    source *s;
    uint32_t at, target; // fields seen so far; the one to change
    uint32_t n_pieces;   // of the kind wanted
    field piece;
    bool has_piece;
    field wanted;
} walk;

static void find_piece(walk *w, const uint8_t *data, size_t size, kind in, unsigned depth) {
    const uint8_t *p = data, *end = data + size;
    for (field f; depth < DEEPEST && next_field(&p, end, in, &f);) {
        bool fits = f.wire == 2 && f.holds == w->wanted.holds &&
                    (f.in == w->wanted.in || draw_chance(w->s, 30));
        if (fits && draw_below(w->s, ++w->n_pieces) == 0) {
            w->piece = f;
            w->has_piece = true;
        }
        if (f.holds != MODEL)
            find_piece(w, f.data, f.size, f.holds, depth + 1);
    }
}

static void put(ox_writer *w, const field *f) {
    if (f->wire == 0) {
        ox_put_int(w, f->number, (int64_t)f->value);
        return;
    }
    ox_put_bytes(w, f->number, f->data, f->size);
    if (f->wire == 2)
        return;
    // A number of fixed size has no length, which is one byte here: it goes out again.
    uint8_t *end = w->data + w->n;
    memmove(end - f->size - 1, end - f->size, f->size);
    end[-(ptrdiff_t)f->size - 2] = (uint8_t)(end[-(ptrdiff_t)f->size - 2] - 2 + f->wire);
    w->n--;
}

static uint64_t draw_value(source *s, uint64_t was) {
    static const uint64_t hostile[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       8,
                                       9,
                                       10,
                                       11,
                                       13,
                                       16,
                                       21,
                                       22,
                                       64,
                                       255,
                                       INT32_MAX,
                                       UINT64_C(1) << 31,
                                       UINT32_MAX,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 62,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX,
                                       UINT64_MAX - 1,
                                       UINT64_MAX - 2};
    switch (draw_below(s, 8)) {
    case 0:
        return was + 1;
    case 1:
        return was - 1;
    case 2:
    case 3:
        return draw_below(s, 6);
    case 4:
        return 0 - was;
    case 5:
        return was * 2;
    default:
        return DRAW_FROM(s, hostile);
    }
}

// Bytes of a name, of packed numbers or of a tensor, changed.
static void put_bytes(walk *w, ox_writer *out, const field *f) {
    uint8_t copy[1024];
    size_t n = f->size < sizeof copy - 16 ? f->size : sizeof copy - 16;
    memcpy(copy, f->data, n);
    switch (draw_below(w->s, 6)) {
    case 0:
        n = 0;
        break;
    case 1:
        n = n ? draw_u32(w->s) % n : 0;
        break;
    case 2:
        for (uint32_t i = 1 + draw_below(w->s, 12); i > 0; i--)
            copy[n++] = draw_u8(w->s);
        break;
    default:
        for (uint32_t i = 1 + draw_below(w->s, 3); n && i > 0; i--)
            copy[draw_u32(w->s) % n] =
                draw_chance(w->s, 60) ? (uint8_t)draw_below(w->s, 5) : draw_u8(w->s);
    }
    ox_put_bytes(out, f->number, copy, n);
}

static void put_changed(walk *w, ox_writer *out, field f) {
    uint32_t how = draw_below(w->s, 10);
    if (how == 0) // left out
        return;
    if (how == 1) // twice
        put(out, &f);
    if (how == 2 && f.wire == 0) // as another field
        f.number = 1 + draw_below(w->s, 15);
    if (how >= 3 && f.wire == 0)
        f.value = draw_value(w->s, f.value);
    if (how >= 3 && how < 7 && f.wire == 2 && w->has_piece) {
        f.data = w->piece.data;
        f.size = w->piece.size;
    } else if (how >= 3 && f.wire == 2 && f.holds == MODEL) {
        put_bytes(w, out, &f);
        return;
    }
    uint8_t fixed[8];
    if (how >= 2 && f.wire != 0 && f.wire != 2) {
        for (size_t i = 0; i < f.size; i++)
            fixed[i] = draw_chance(w->s, 50) ? f.data[i] : draw_u8(w->s);
        f.data = fixed;
    }
    put(out, &f);
}

// Writes a message anew; with out NULL only counts, and notes the target.
static void rewrite(walk *w, const uint8_t *data, size_t size, kind in, unsigned depth,
                    ox_writer *out) {
    const uint8_t *p = data, *end = data + size;
    for (field f; depth < DEEPEST && next_field(&p, end, in, &f);) {
        bool is_target = w->at++ == w->target;
        ox_writer inner = {0};
        if (is_target && !out)
            w->wanted = f;
        if (is_target && out) {
            put_changed(w, out, f);
            continue;
        }
        if (f.holds != MODEL) {
            rewrite(w, f.data, f.size, f.holds, depth + 1, out ? &inner : NULL);
            if (out)
                ox_put_message(out, f.number, &inner);
        } else if (out) {
            put(out, &f);
        }
    }
}

size_t onnx_tree_mutate(source *s, const uint8_t *data, size_t size, const uint8_t *other,
                        size_t other_size, uint8_t *out, size_t cap) {
    walk w = {.s = s, .target = UINT32_MAX};
    rewrite(&w, data, size, MODEL, 0, NULL);
    if (w.at == 0)
        return 0;
    w.target = draw_u32(s) % w.at;
    w.at = 0;
    rewrite(&w, data, size, MODEL, 0, NULL);
    find_piece(&w, data, size, MODEL, 0);
    if (!w.has_piece || draw_chance(s, 20))
        find_piece(&w, other, other_size, MODEL, 0);
    ox_writer result = {0};
    w.at = 0;
    rewrite(&w, data, size, MODEL, 0, &result);
    size_t n = !result.no_memory && result.n <= cap ? result.n : 0;
    if (n)
        memcpy(out, result.data, n);
    ox_writer_free(&result);
    return n;
}
