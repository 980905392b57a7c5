// SPDX-License-Identifier: MIT
//
// UTF-8 and the tables of Unicode.
#include "frontend/llm/unicode.h"

#include <string.h>

#include "frontend/llm/unicode.def"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

// The last of sorted starts (value in the low bits) that is not behind the code point.
static uint32_t start_of(const uint32_t *list, size_t n, uint32_t c, unsigned bits) {
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (list[middle] >> bits <= c)
            low = middle;
        else
            high = middle;
    }
    return list[low];
}

uint32_t ql_category(uint32_t c) {
    return 1u << (start_of(category_starts, COUNT(category_starts), c, 5) & 31);
}

uint32_t ql_category_mask(const char *name, size_t n) {
    static const char names[][3] = {
#define X(name) #name,
        QL_CATEGORIES(X)
#undef X
    };
    uint32_t mask = 0;
    for (uint32_t i = 0; (n == 1 || n == 2) && i < COUNT(names); i++)
        if (strncmp(names[i], name, n) == 0)
            mask |= 1u << i;
    return mask;
}

bool ql_is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

size_t ql_utf8_length(unsigned char first) {
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

// The code point of a whole and valid sequence; -1: it is none.
static int32_t decode(const unsigned char *p, size_t n, size_t *bytes) {
    size_t k = ql_utf8_length(p[0]);
    if (k == 0 || k > n)
        return -1;
    int32_t c = k == 1 ? p[0] : p[0] & (0x7f >> k);
    for (size_t i = 1; i < k; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (p[i] & 0x3f);
    }
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[k] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return -1;
    *bytes = k;
    return c;
}

uint32_t ql_utf8_read(const char *text, size_t n, size_t at, size_t *bytes) {
    int32_t c = decode((const unsigned char *)text + at, n - at, bytes);
    if (c >= 0)
        return (uint32_t)c;
    *bytes = 1;
    return 0xfffd;
}

bool ql_utf8_valid(const char *text, size_t n, size_t *bad) {
    size_t bytes = 1;
    for (size_t at = 0; at < n; at += bytes)
        if (decode((const unsigned char *)text + at, n - at, &bytes) < 0) {
            *bad = at;
            return false;
        }
    return true;
}

size_t ql_utf8_write(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t k = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = k; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(heads[k] | c);
    return k;
}

// --- NFC

enum { HANGUL = 0xac00, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11a7 };
enum { N_VOWELS = 21, N_TAILS = 28, N_HANGUL = 11172 };

static uint32_t class_of(uint32_t c) {
    return start_of(class_starts, COUNT(class_starts), c, 8) & 255;
}

static const struct decomposition *find_decomposition(uint32_t c) {
    size_t low = 0, high = COUNT(decompositions);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (decompositions[middle].whole < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT(decompositions) && decompositions[low].whole == c ? &decompositions[low]
                                                                         : NULL;
}

// At most 4 code points: the longest canonical decomposition that Unicode has.
static size_t decompose(uint32_t c, uint32_t *to) {
    if (c >= HANGUL && c < HANGUL + N_HANGUL) {
        uint32_t at = c - HANGUL;
        to[0] = LEADS + at / (N_VOWELS * N_TAILS);
        to[1] = VOWELS + at / N_TAILS % N_VOWELS;
        to[2] = TAILS + at % N_TAILS;
        return at % N_TAILS ? 3 : 2;
    }
    const struct decomposition *d = find_decomposition(c);
    if (!d) {
        to[0] = c;
        return 1;
    }
    size_t n = decompose(d->first, to); // second parts have no decomposition
    if (d->second)
        n += decompose(d->second, to + n);
    return n;
}

static uint32_t compose(uint32_t a, uint32_t b) {
    if (a >= LEADS && a < LEADS + 19 && b >= VOWELS && b < VOWELS + N_VOWELS)
        return HANGUL + ((a - LEADS) * N_VOWELS + (b - VOWELS)) * N_TAILS;
    if (a >= HANGUL && a < HANGUL + N_HANGUL && (a - HANGUL) % N_TAILS == 0 && b > TAILS &&
        b < TAILS + N_TAILS)
        return a + (b - TAILS);
    for (size_t i = 0; i < COUNT(decompositions); i++)
        if (decompositions[i].composes && decompositions[i].first == a &&
            decompositions[i].second == b)
            return decompositions[i].whole;
    return 0;
}

// Canonical order: marks sorted by their class, those of one class as they came.
static void reorder(uint32_t *list, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint32_t c = list[i], k = class_of(c);
        size_t at = i;
        for (; k && at > 0 && class_of(list[at - 1]) > k; at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
}

static size_t recompose(uint32_t *list, size_t n) {
    size_t starter = SIZE_MAX, to = 0;
    uint32_t last = 0; // class of what stands between the starter and this one; 0: nothing
    for (size_t i = 0; i < n; i++) {
        uint32_t c = list[i], k = class_of(c), whole;
        bool free_way = starter != SIZE_MAX && (to == starter + 1 || (last < k && last));
        if (free_way && (whole = compose(list[starter], c)) != 0) {
            list[starter] = whole;
            continue;
        }
        if (k == 0)
            starter = to;
        last = k;
        list[to++] = c;
    }
    return to;
}

qrn_status ql_nfc(qrn_arena *arena, ql_slice text, ql_slice *out) {
    size_t n = 0, at = 0, bytes;
    while (at < text.n && (unsigned char)text.text[at] < 0xcc) // below U+0300 nothing changes
        at++;
    if (at == text.n) {
        *out = text;
        return QRN_OK;
    }
    uint32_t *list = qrn_arena_reserve(arena, (text.n * 4 + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "no memory to normalize a text of %zu bytes", text.n);
    for (at = 0; at < text.n; at += bytes)
        n += decompose(ql_utf8_read(text.text, text.n, at, &bytes), list + n);
    reorder(list, n);
    n = recompose(list, n);
    char *to = qrn_arena_reserve(arena, n * 4 + 1);
    if (!to)
        return QRN_FAIL(QRN_E_MEM, "no memory to normalize a text of %zu bytes", text.n);
    *out = (ql_slice){to, 0};
    for (size_t i = 0; i < n; i++)
        out->n += ql_utf8_write(to + out->n, list[i]);
    return QRN_OK;
}
