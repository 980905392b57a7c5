// SPDX-License-Identifier: MIT
//
// Text that grows, and the forms that C has for strings, comments and numbers.
#include "backend/saver/saver.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(qrn_saver_text *t, size_t more) {
    if (t->failed || t->n + more < t->cap)
        return !t->failed;
    size_t cap = (t->n + more) * 2 + 256;
    char *data = qrn_realloc(t->data, t->n, cap);
    t->failed = !data;
    if (data) {
        t->data = data;
        t->cap = cap;
    }
    return data;
}

void qrn_saver_put(qrn_saver_text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 || !reserve(t, (size_t)n + 1))
        return;
    va_start(args, fmt);
    vsnprintf(t->data + t->n, (size_t)n + 1, fmt, args);
    va_end(args);
    t->n += (size_t)n;
}

void qrn_saver_put_string(qrn_saver_text *t, const char *s) {
    if (!s) {
        qrn_saver_put(t, "NULL");
        return;
    }
    qrn_saver_put(t, "\"");
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p == '"' || *p == '\\' || *p == '?') // no trigraphs
            qrn_saver_put(t, "\\%c", *p);
        else if (*p < 0x20 || *p >= 0x7f)
            qrn_saver_put(t, "\\%03o", *p);
        else
            qrn_saver_put(t, "%c", *p);
    }
    qrn_saver_put(t, "\"");
}

void qrn_saver_put_comment(qrn_saver_text *t, const char *s) {
    for (const unsigned char *p = (const unsigned char *)s; *p; p++)
        qrn_saver_put(t, "%c", *p < 0x20 || *p == 0x7f || *p == '\\' || *p == '?' ? ' ' : *p);
    qrn_saver_put(t, ".\n");
}

void qrn_saver_put_double(qrn_saver_text *t, double v, bool is_float) {
    if (isnan(v)) {
        qrn_saver_put(t, "NAN");
    } else if (isinf(v)) {
        qrn_saver_put(t, v < 0 ? "-INFINITY" : "INFINITY");
    } else {
        char text[64];
        snprintf(text, sizeof text, "%a", v);
        for (char *p = text; *p; p++) // the process may have a locale with a comma
            if (!((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || *p == '+' || *p == '-'))
                *p = '.';
        qrn_saver_put(t, is_float ? "%sf" : "%s", text);
    }
}

void qrn_saver_text_clear(qrn_saver_text *t) {
    qrn_free(t->data);
    *t = (qrn_saver_text){0};
}
