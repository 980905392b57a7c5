// SPDX-License-Identifier: MIT
//
// Words and numbers of reports.
#include "base/report_text.h"

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

void qrn_json_text(FILE *to, const char *text) {
    if (!text) {
        fputs("null", to);
        return;
    }
    fputc('"', to);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned n = qrn_utf8_length((const char *)s);
        if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if (*s < 0x20)
            fprintf(to, "\\u%04x", *s);
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
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text == '\n' ? ' ' : *text, to);
    }
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
