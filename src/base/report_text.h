// SPDX-License-Identifier: MIT
//
// Words and numbers of reports, as the libraries and tools write them: JSON, tables of commas.
#ifndef QRN_BASE_REPORT_TEXT_H
#define QRN_BASE_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Bytes of the UTF-8 sequence at s, a text that ends; 0 when it is none.
unsigned qrn_utf8_length(const char *s);

// A string in quotes; what is not UTF-8 becomes '?'. NULL: null.
void qrn_json_text(FILE *to, const char *text);
// A number with the digits of a float, whatever the locale; null when it is not finite.
void qrn_json_number(FILE *to, double v);

// A cell of a table whose columns are parted by commas. Quotes keep a comma in its column.
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
