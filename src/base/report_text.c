// SPDX-License-Identifier: MIT
//
// Words and numbers of reports.
#include "base/report_text.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

unsigned qrn_utf8_length(const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    unsigned n = s[0] < 0x80                   ? 1
                 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                               : 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    // Overlong forms, surrogates, and what lies behind the last code point.
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

// U+2028 and U+2029 end a line; U+200E, 200F, 202A to 202E and 2066 to 2069 turn its direction.
static bool steers(unsigned point) {
    return point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

unsigned qrn_shown_char(const char *s, size_t n, char out[QRN_SHOWN_MAX]) {
    const unsigned char *p = (const unsigned char *)s;
    unsigned len = n && *p ? qrn_utf8_length(s) : 0;
    out[0] = '\0';
    if (!n || !*p)
        return 0;
    if (len == 0 || len > n) {
        snprintf(out, QRN_SHOWN_MAX, "\\x%02x", *p);
        return 1;
    }
    unsigned point = len == 2   ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                     : len == 3 ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
                                : *p;
    if (point == '\n' || point == '\r' || point == '\t')
        snprintf(out, QRN_SHOWN_MAX, "\\%c", point == '\n' ? 'n' : point == '\r' ? 'r' : 't');
    else if (len < 3 && (point < 0x20 || (point >= 0x7f && point < 0xa0)))
        snprintf(out, QRN_SHOWN_MAX, "\\x%02x", point);
    else if (len == 3 && steers(point))
        snprintf(out, QRN_SHOWN_MAX, "\\u%04x", point);
    else
        snprintf(out, QRN_SHOWN_MAX, "%.*s", (int)len, s);
    return len;
}

void qrn_shown_text(char *to, size_t size, const char *text) {
    char part[QRN_SHOWN_MAX];
    for (unsigned used; (used = qrn_shown_char(text, SIZE_MAX, part)) > 0; text += used) {
        size_t n = strlen(part);
        if (n >= size)
            break;
        memcpy(to, part, n);
        to += n;
        size -= n;
    }
    if (size)
        *to = '\0';
}

// The closing quote of a name whose opening one stands at s; NULL: s opens none. An apostrophe
// inside of a word is no quote.
static const char *name_end(const char *text, const char *s) {
    if (*s != '\'' || (s > text && isalnum((unsigned char)s[-1])))
        return NULL;
    const char *end = strchr(s + 1, '\'');
    while (end && isalnum((unsigned char)end[1]))
        end = strchr(end + 1, '\'');
    return end;
}

// Writes the text with names of at most `keep` bytes; returns the bytes it needs.
static size_t write_names(char *to, size_t size, const char *text, size_t keep) {
    size_t n = 0;
    for (const char *s = text; *s; s++) {
        const char *end = name_end(text, s), *tail = end ? end - keep : NULL;
        if (end && (size_t)(end - s) > keep + 4) {        // shorter by more than the dots
            while (((unsigned char)*tail & 0xC0) == 0x80) // never inside of a character
                tail++;
            n += (size_t)snprintf(to + (n < size ? n : size), n < size ? size - n : 0, "'...%.*s",
                                  (int)(end - tail), tail);
            s = end;
        }
        if (n + 1 < size)
            to[n] = *s;
        n++;
    }
    to[n < size ? n : size - 1] = '\0';
    return n;
}

void qrn_short_names(char *to, size_t size, const char *text, size_t most) {
    size_t n = strlen(text);
    for (size_t keep = 64; write_names(to, size, text, n > most ? keep : n) > most && keep > 16;)
        keep /= 2;
}

void qrn_log_line(char *to, size_t size, const char *fmt, va_list args) {
    int n = vsnprintf(to, size, fmt, args);
    size_t len = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
    while (len && to[len - 1] == '\n')
        len--;
    to[len] = '\0';
}

unsigned qrn_json_mark(const char *s, char out[QRN_JSON_MARK]) {
    char part[QRN_SHOWN_MAX];
    unsigned used = qrn_shown_char(s, SIZE_MAX, part);
    bool steered = part[0] == '\\' && (used > 1 || *s == 0x7f);
    out[0] = '\0';
    if (steered && part[1] == 'x')
        snprintf(out, QRN_JSON_MARK, "\\u00%.2s", part + 2);
    else if (steered)
        snprintf(out, QRN_JSON_MARK, "%.6s", part);
    return used;
}

void qrn_json_text(FILE *to, const char *text) {
    if (!text) {
        fputs("null", to);
        return;
    }
    fputc('"', to);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        char mark[QRN_JSON_MARK];
        unsigned n = qrn_utf8_length((const char *)s);
        qrn_json_mark((const char *)s, mark);
        if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if (*s < 0x20)
            fprintf(to, "\\u%04x", *s);
        else if (mark[0])
            fputs(mark, to);
        else if (n)
            fwrite(s, 1, n, to);
        else
            fputc('?', to);
        s += n ? n : 1;
    }
    fputc('"', to);
}

void qrn_json_number(FILE *to, double v) {
    if (!isfinite(v)) {
        fputs("null", to);
        return;
    }
    char text[40];
    snprintf(text, sizeof text, "%.9g", v);
    for (const char *s = text; *s; s++) // the locale may have another decimal point
        fputc((*s >= '0' && *s <= '9') || *s == '-' || *s == '+' || *s == 'e' ? *s : '.', to);
}

void qrn_csv_text(FILE *to, const char *text) {
    bool quoted = strpbrk(text, ",\"") != NULL;
    char part[QRN_SHOWN_MAX];
    if (quoted)
        fputc('"', to);
    if (*text && strchr("=+-@", *text))
        fputc('\'', to);
    for (unsigned used; (used = qrn_shown_char(text, SIZE_MAX, part)) > 0; text += used) {
        if (*text == '"')
            fputc('"', to);
        fputs(part, to);
    }
    if (quoted)
        fputc('"', to);
}

static ssize_t text_write(void *cookie, const char *from, size_t n) {
    qrn_text *t = cookie;
    if (n >= t->room - t->n) {
        size_t room = t->n + n < SIZE_MAX / 2 ? 2 * (t->n + n) + 256 : 0;
        char *grown = room ? realloc(t->data, room) : NULL;
        if (!grown)
            return 0; // sets the stream's error
        t->data = grown;
        t->room = room;
    }
    memcpy(t->data + t->n, from, n);
    t->n += n;
    t->data[t->n] = '\0';
    return (ssize_t)n;
}

FILE *qrn_text_open(qrn_text *t) {
    *t = (qrn_text){0};
    return fopencookie(t, "w", (cookie_io_functions_t){.write = text_write});
}

bool qrn_text_close(FILE *f, qrn_text *t) {
    bool whole = fflush(f) == 0 && !ferror(f);
    whole = fclose(f) == 0 && whole && (t->data || text_write(t, "", 0) == 0) && t->data;
    if (!whole) {
        free(t->data);
        *t = (qrn_text){0};
    }
    return whole;
}
