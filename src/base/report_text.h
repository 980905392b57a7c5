// SPDX-License-Identifier: MIT
//
// Words and numbers of reports, as the libraries and tools write them: JSON, tables of commas.
#ifndef QRN_BASE_REPORT_TEXT_H
#define QRN_BASE_REPORT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Bytes of the UTF-8 sequence at s, a text that ends; 0 when it is none.
unsigned qrn_utf8_length(const char *s);

// Text of files and callers on its way to a terminal, a log or a table: names must not steer the
// terminal, break the line or turn its direction. Control characters and bytes that are not UTF-8
// become \n, \t, \x1b; line separators and marks of direction become \u202e. The rest stays.
//
// The first character of s, a text of at most n bytes (0: it ends), as it may be shown, and how
// many bytes of s it was.
#define QRN_SHOWN_MAX 8 // with the zero byte
unsigned qrn_shown_char(const char *s, size_t n, char out[QRN_SHOWN_MAX]);
// The whole text, cut at `size`.
void qrn_shown_text(char *to, size_t size, const char *text);

// A message with names in quotes, '...', so that at most `most` bytes of it are left where that can
// be done by shortening long names. They lose their beginnings, '...tail': what tells names of
// layers apart stands at their ends.
void qrn_short_names(char *to, size_t size, const char *text, size_t most);

// A line that a library's log callback was given, without the newline at its end.
void qrn_log_line(char *to, size_t size, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

// What JSON allows but must not reach a terminal as it is: the bytes of the first character of s
// (0 at the end), with its escape in `out`, "" for all others.
#define QRN_JSON_MARK 8
unsigned qrn_json_mark(const char *s, char out[QRN_JSON_MARK]);

// A string in quotes; what is not UTF-8 becomes '?'. NULL: null.
void qrn_json_text(FILE *to, const char *text);
// A number with the digits of a float, whatever the locale; null when it is not finite.
void qrn_json_number(FILE *to, double v);

// A cell of a table whose columns are separated by commas, as qrn_shown_text has it. Quotes keep a
// comma in its column. Before = + - @ stands an apostrophe, which keeps spreadsheets from computing
// a name.
void qrn_csv_text(FILE *to, const char *text);

// A stream into memory. open_memstream does not say when it runs out of memory; this one's error
// is kept until the end. qrn_text_close frees the stream: true when all of the text is in
// `data` (from malloc, with a zero byte behind it), false when memory ran out, and `data` is NULL.
typedef struct qrn_text {
    char *data;
    size_t n; // bytes before the zero
    size_t room;
} qrn_text;
FILE *qrn_text_open(qrn_text *t); // NULL when out of memory
bool qrn_text_close(FILE *f, qrn_text *t);

#endif
