// SPDX-License-Identifier: MIT
//
// Words and numbers of reports, as the libraries and tools write them: JSON, tables of commas.
#ifndef QRN_BASE_REPORT_TEXT_H
#define QRN_BASE_REPORT_TEXT_H

#include <stdio.h>

// Bytes of the UTF-8 sequence at s, a text that ends; 0 when it is none.
unsigned qrn_utf8_length(const char *s);

// A string in quotes; what is not UTF-8 becomes '?'. NULL: null.
void qrn_json_text(FILE *to, const char *text);
// A number with the digits of a float, whatever the locale; null when it is not finite.
void qrn_json_number(FILE *to, double v);

// A cell of a table whose columns are parted by commas. Quotes keep a comma in its column.
void qrn_csv_text(FILE *to, const char *text);

#endif
