// SPDX-License-Identifier: MIT
//
// What is done to a text before its pieces are encoded: normalization, replacements, splitting.
#include "frontend/llm/tokenizer_parts.h"

#include "base/mem.h"

#include <string.h>

const char ql_gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "no memory to split a text"); }

qrn_status ql_pieces_add(ql_pieces *p, ql_slice s) {
    if (s.n == 0)
        return QRN_OK;
    if (p->n == p->cap) {
        size_t want = p->cap ? 2 * p->cap : 64;
        ql_slice *grown = qrn_realloc(p->items, p->cap * sizeof *grown, want * sizeof *grown);
        if (!grown)
            return no_memory();
        p->items = grown;
        p->cap = want;
    }
    p->items[p->n++] = s;
    return QRN_OK;
}

void ql_pieces_free(ql_pieces *p) {
    qrn_free(p->items);
    *p = (ql_pieces){0};
}

// --- bytes as characters

// Bytes that are printable stand for themselves; the others follow behind U+0100 in their order.
static bool is_printable(unsigned c) {
    return (c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

uint32_t ql_byte_char(unsigned char byte) {
    if (is_printable(byte))
        return byte;
    uint32_t before = 0;
    for (unsigned c = 0; c < byte; c++)
        before += !is_printable(c);
    return 0x100 + before;
}

int ql_char_byte(uint32_t c) {
    if (c < 0x100)
        return is_printable(c) ? (int)c : -1;
    for (unsigned b = 0, n = 0x100; b < 0x100; b++)
        if (!is_printable(b) && n++ == c)
            return (int)b;
    return -1;
}

static qrn_status to_byte_level(qrn_arena *arena, ql_slice s, ql_slice *out) {
    char *to = qrn_arena_reserve(arena, 2 * s.n + 1);
    if (!to)
        return no_memory();
    *out = (ql_slice){to, 0};
    for (size_t i = 0; i < s.n; i++)
        out->n += ql_utf8_write(to + out->n, ql_byte_char((unsigned char)s.text[i]));
    return QRN_OK;
}

// --- changes of text

static qrn_status join(qrn_arena *arena, ql_slice a, ql_slice b, ql_slice *out) {
    char *to = qrn_arena_reserve(arena, a.n + b.n + 1);
    if (!to)
        return no_memory();
    memcpy(to, a.text, a.n);
    memcpy(to + a.n, b.text, b.n);
    *out = (ql_slice){to, a.n + b.n};
    return QRN_OK;
}

static bool starts_with(ql_slice s, ql_slice with) {
    return s.n >= with.n && memcmp(s.text, with.text, with.n) == 0;
}

static qrn_status replace(qrn_arena *arena, ql_slice s, ql_slice what, ql_slice by, ql_slice *out) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; n++)
        i += starts_with((ql_slice){s.text + i, s.n - i}, what) ? what.n : 1;
    if (by.n && n > SIZE_MAX / 2 / by.n)
        return no_memory();
    char *to = qrn_arena_reserve(arena, n * (by.n > 1 ? by.n : 1) + 1);
    if (!to)
        return no_memory();
    *out = (ql_slice){to, 0};
    for (size_t i = 0; i < s.n;) {
        if (starts_with((ql_slice){s.text + i, s.n - i}, what)) {
            memcpy(to + out->n, by.text, by.n);
            out->n += by.n;
            i += what.n;
        } else {
            to[out->n++] = s.text[i++];
        }
    }
    return QRN_OK;
}

// --- splits

static qrn_status split(const ql_regex *re, bool gaps, ql_slice s, ql_pieces *out) {
    size_t at = 0;
    while (at < s.n) {
        bool found;
        ql_slice match;
        QRN_TRY(ql_regex_find(re, s, at, &found, &match));
        size_t start = found ? (size_t)(match.text - s.text) : s.n;
        if (gaps)
            QRN_TRY(ql_pieces_add(out, (ql_slice){s.text + at, start - at}));
        if (found)
            QRN_TRY(ql_pieces_add(out, match));
        at = found ? start + match.n : s.n;
    }
    return QRN_OK;
}

static qrn_status split_digits(bool single, ql_slice s, ql_pieces *out) {
    const uint32_t digits = ql_category_mask("N", 1);
    size_t start = 0, bytes;
    bool before = false;
    for (size_t at = 0; at < s.n; at += bytes) {
        bool is = (ql_category(ql_utf8_read(s.text, s.n, at, &bytes)) & digits) != 0;
        if (at > start && (is != before || (is && single))) {
            QRN_TRY(ql_pieces_add(out, (ql_slice){s.text + start, at - start}));
            start = at;
        }
        before = is;
    }
    return ql_pieces_add(out, (ql_slice){s.text + start, s.n - start});
}

static qrn_status byte_level(const ql_stage *stage, qrn_arena *arena, ql_slice s, ql_pieces *out) {
    const ql_slice space = {" ", 1};
    if (stage->single && !starts_with(s, space))
        QRN_TRY(join(arena, space, s, &s));
    size_t first = out->n;
    if (stage->re)
        QRN_TRY(split(stage->re, true, s, out));
    else
        QRN_TRY(ql_pieces_add(out, s));
    for (size_t i = first; i < out->n; i++)
        QRN_TRY(to_byte_level(arena, out->items[i], &out->items[i]));
    return QRN_OK;
}

static qrn_status metaspace(const ql_stage *stage, qrn_arena *arena, bool at_begin, ql_slice s,
                            ql_pieces *out) {
    QRN_TRY(replace(arena, s, (ql_slice){" ", 1}, stage->with, &s));
    bool wanted = !stage->no_prefix && (at_begin || !stage->first_only);
    if (wanted && !starts_with(s, stage->with))
        QRN_TRY(join(arena, stage->with, s, &s));
    size_t start = 0;
    for (size_t at = 1; stage->single && at < s.n; at++)
        if (starts_with((ql_slice){s.text + at, s.n - at}, stage->with)) {
            QRN_TRY(ql_pieces_add(out, (ql_slice){s.text + start, at - start}));
            start = at;
        }
    return ql_pieces_add(out, (ql_slice){s.text + start, s.n - start});
}

static qrn_status apply(const ql_stage *stage, qrn_arena *arena, bool at_begin, ql_slice s,
                        ql_pieces *out) {
    switch (stage->kind) {
    case QL_STAGE_NFC:
        QRN_TRY(ql_nfc(arena, s, &s));
        return ql_pieces_add(out, s);
    case QL_STAGE_PREPEND:
        QRN_TRY(join(arena, stage->text, s, &s));
        return ql_pieces_add(out, s);
    case QL_STAGE_REPLACE:
        QRN_TRY(replace(arena, s, stage->text, stage->with, &s));
        return ql_pieces_add(out, s);
    case QL_STAGE_SPLIT:
        return split(stage->re, stage->gaps, s, out);
    case QL_STAGE_DIGITS:
        return split_digits(stage->single, s, out);
    case QL_STAGE_BYTE_LEVEL:
        return byte_level(stage, arena, s, out);
    default:
        return metaspace(stage, arena, at_begin, s, out);
    }
}

qrn_status ql_stages_apply(const ql_stages *stages, qrn_arena *arena, bool at_begin,
                           ql_pieces *pieces) {
    for (uint32_t i = 0; i < stages->n; i++) {
        ql_pieces made = {0};
        qrn_status s = QRN_OK;
        for (size_t k = 0; k < pieces->n && s == QRN_OK; k++)
            s = apply(&stages->items[i], arena, at_begin && k == 0, pieces->items[k], &made);
        ql_pieces_free(pieces);
        *pieces = made;
        QRN_TRY(s);
    }
    return QRN_OK;
}
