// SPDX-License-Identifier: MIT
//
// Reports on stdout. The words of a format are ours; strings that fill it come from files and from
// the command line, so they are shown with control characters escaped (base/report_text.h). This is
// the one place through which they go.
#include "tools/quern/output.h"

#include "base/report_text.h"

#include <stdarg.h>
#include <string.h>

// One conversion of a format: "%-20s".
typedef struct field {
    char text[32];     // as it is handed to printf; widths from arguments are written out
    bool left;         // '-'
    int width;         // 0: none
    int precision;     // -1: none
    char length, last; // 'l', 'L' for "ll", 'z' or 0; 's', 'd', ...
} field;

// Columns that a text takes, and its end; at most n bytes.
static size_t columns(const char *s, size_t n) {
    char part[QRN_SHOWN_MAX];
    size_t all = 0;
    for (unsigned used; (used = qrn_shown_char(s, n, part)) > 0; s += used, n -= used)
        all += part[0] == '\\' ? strlen(part) : 1;
    return all;
}

static void put_text(const field *f, const char *s) {
    char part[QRN_SHOWN_MAX];
    s = s ? s : "(null)";
    size_t n = f->precision < 0 ? strlen(s) : strnlen(s, (size_t)f->precision);
    size_t wide = f->width > 0 ? columns(s, n) : 0;
    int fill = (size_t)f->width > wide ? f->width - (int)wide : 0;
    printf("%*s", f->left ? 0 : fill, "");
    for (unsigned used; (used = qrn_shown_char(s, n, part)) > 0; s += used, n -= used)
        fputs(part, stdout);
    printf("%*s", f->left ? fill : 0, "");
}

// Reads a number or a '*' of a format; adds it to the field's text.
static int number(const char **at, field *f, va_list *args) {
    int n = 0;
    if (**at == '*') {
        (*at)++;
        n = va_arg(*args, int);
    }
    for (; **at >= '0' && **at <= '9'; (*at)++)
        n = 10 * n + (**at - '0');
    snprintf(f->text + strlen(f->text), sizeof f->text - strlen(f->text), "%d", n);
    return n;
}

static void add(field *f, char c) {
    size_t n = strlen(f->text);
    if (n + 1 < sizeof f->text) {
        f->text[n] = c;
        f->text[n + 1] = '\0';
    }
}

// Reads a conversion; returns what is behind it.
static const char *read_field(const char *at, field *f, va_list *args) {
    *f = (field){.text = "%", .precision = -1};
    for (at++; *at && strchr("-+ #0", *at); at++) {
        f->left = f->left || *at == '-';
        add(f, *at);
    }
    if (*at == '*' || (*at >= '0' && *at <= '9'))
        f->width = number(&at, f, args);
    if (*at == '.') {
        add(f, *at++);
        f->precision = number(&at, f, args);
    }
    for (; *at == 'l' || *at == 'z'; at++) {
        f->length = f->length == 'l' ? 'L' : *at;
        add(f, *at);
    }
    f->last = *at;
    add(f, *at);
    return at + (*at != '\0');
}

static void put_field(const field *f, va_list *args) {
    const char *s;
    switch (f->last) {
    case 's':
        s = va_arg(*args, const char *);
        if (qt_is_style(s))
            fputs(s, stdout);
        else
            put_text(f, s);
        break;
    case 'd':
    case 'u':
    case 'x':
    case 'c':
        if (f->length == 'L')
            printf(f->text, va_arg(*args, long long));
        else if (f->length) // a size_t is a long here
            printf(f->text, va_arg(*args, long));
        else
            printf(f->text, va_arg(*args, int));
        break;
    case 'f':
    case 'g':
    case 'e':
        printf(f->text, va_arg(*args, double));
        break;
    default: // "%%"; the compiler has checked the rest
        putchar('%');
    }
}

void qt_print(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    while (*fmt) {
        size_t n = strcspn(fmt, "%");
        fwrite(fmt, 1, n, stdout);
        fmt += n;
        if (*fmt) {
            field f;
            fmt = read_field(fmt, &f, &args);
            put_field(&f, &args);
        }
    }
    va_end(args);
}
