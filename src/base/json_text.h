// SPDX-License-Identifier: MIT
//
// Words and numbers of JSON, as the libraries write it.
#ifndef QRN_BASE_JSON_TEXT_H
#define QRN_BASE_JSON_TEXT_H

#include <stdio.h>

// A string in quotes; what is not UTF-8 becomes '?'. NULL: null.
void qrn_json_text(FILE *to, const char *text);
// A number with the digits of a float, whatever the locale; null when it is not finite.
void qrn_json_number(FILE *to, double v);

#endif
