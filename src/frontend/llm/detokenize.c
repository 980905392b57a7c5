// SPDX-License-Identifier: MIT
//
// From tokens to text, one by one.
#include "frontend/llm/tokenizer_parts.h"

#include "base/mem.h"

#include <string.h>

qrn_status ql_bytes_add(ql_bytes *b, const char *text, size_t n) {
    if (b->n + n + 1 > b->cap) {
        size_t want = 2 * b->cap > b->n + n + 1 ? 2 * b->cap : b->n + n + 64;
        char *grown = qrn_realloc(b->data, b->n, want);
        if (!grown)
            return QRN_FAIL(QRN_E_MEM, "no memory for a text of %zu bytes", b->n + n);
        b->data = grown;
        b->cap = want;
    }
    if (n)
        memcpy(b->data + b->n, text, n);
    b->n += n;
    b->data[b->n] = '\0';
    return QRN_OK;
}

void ql_bytes_free(ql_bytes *b) {
    qrn_free(b->data);
    *b = (ql_bytes){0};
}

// How many of the bytes are the begin of a character: all that it has (*whole), or fewer.
static size_t part_of(const char *text, size_t n, bool *whole) {
    const unsigned char *p = (const unsigned char *)text;
    size_t bytes = ql_utf8_length(p[0]), i = 1;
    *whole = false;
    if (bytes == 0)
        return 1;
    // Overlong forms, surrogates and what is behind the last code point end at the second byte.
    unsigned low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    for (; i < bytes && i < n && p[i] >= low && p[i] <= high; i++) {
        low = 0x80;
        high = 0xbf;
    }
    *whole = i == bytes;
    return i;
}

// Adds the held bytes and these as text; what may be completed by later ones is held again.
static qrn_status add_text(ql_decoder *d, const char *text, size_t n, bool end, ql_bytes *out) {
    ql_bytes all = {0};
    qrn_status s = ql_bytes_add(&all, d->held, d->n_held);
    if (s == QRN_OK)
        s = ql_bytes_add(&all, text, n);
    d->n_held = 0;
    for (size_t at = 0, k; at < all.n && s == QRN_OK; at += k) {
        bool whole;
        k = part_of(all.data + at, all.n - at, &whole);
        if (whole) {
            s = ql_bytes_add(out, all.data + at, k);
        } else if (!end && at + k == all.n && ql_utf8_length((unsigned char)all.data[at]) > k) {
            memcpy(d->held, all.data + at, k);
            d->n_held = k;
        } else {
            s = ql_bytes_add(out, "\xef\xbf\xbd", 3);
        }
    }
    ql_bytes_free(&all);
    return s;
}

// A word whose characters stand for bytes; the word itself where one of them stands for none.
static qrn_status decode_byte_level(ql_slice word, ql_bytes *out) {
    size_t bytes, before = out->n;
    for (size_t at = 0; at < word.n; at += bytes) {
        int byte = ql_char_byte(ql_utf8_read(word.text, word.n, at, &bytes));
        if (byte < 0) {
            out->n = before;
            return ql_bytes_add(out, word.text, word.n);
        }
        QRN_TRY(ql_bytes_add(out, &(char){(char)byte}, 1));
    }
    return QRN_OK;
}

static qrn_status decode_word(const ql_decoder *d, uint32_t id, ql_bytes *out) {
    const ql_tokenizer *t = d->t;
    ql_slice word = ql_word_text(&t->words[id]);
    if (t->byte_level)
        return decode_byte_level(word, out);
    for (unsigned b = 0; t->byte_words && word.n == 6 && b < 256; b++)
        if (t->byte_ids[b] == id)
            return ql_bytes_add(out, &(char){(char)b}, 1);
    for (size_t at = 0; at < word.n;) {
        bool space = t->space.n && word.n - at >= t->space.n &&
                     memcmp(word.text + at, t->space.text, t->space.n) == 0;
        QRN_TRY(ql_bytes_add(out, space ? " " : word.text + at, 1));
        at += space ? t->space.n : 1;
    }
    return QRN_OK;
}

qrn_status ql_decode(ql_decoder *d, uint32_t id, ql_bytes *out) {
    const ql_tokenizer *t = d->t;
    if (id >= t->n_words || !t->words[id].text)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: no token has the number %u; the vocabulary ends at %u",
                        t->name, id, t->n_words - 1);
    if (t->words[id].special)
        return QRN_OK;
    ql_bytes word = {0};
    qrn_status s = decode_word(d, id, &word);
    size_t skip = 0;
    while (!d->inside && skip < t->strip_spaces && skip < word.n && word.data[skip] == ' ')
        skip++;
    d->inside |= word.n > 0;
    if (s == QRN_OK && word.n)
        s = add_text(d, word.data + skip, word.n - skip, false, out);
    ql_bytes_free(&word);
    return s;
}

qrn_status ql_decode_end(ql_decoder *d, ql_bytes *out) { return add_text(d, NULL, 0, true, out); }
