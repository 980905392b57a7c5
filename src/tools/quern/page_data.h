// SPDX-License-Identifier: MIT
//
// Pages: one look and one script for all of them, and pages that draw JSON that stands in them.
// A page is one file that asks for nothing from elsewhere, follows the reader's light or dark
// scheme, fits a phone and prints in light.
#ifndef QRN_TOOLS_QUERN_PAGE_DATA_H
#define QRN_TOOLS_QUERN_PAGE_DATA_H

#include "base/report_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

// Text of others: markup is escaped, what is no UTF-8 and what cannot be seen becomes '?'.
void qt_page_put(FILE *f, const char *text);

// From the doctype to <body>: "WHAT: the last part of OF" is the title.
void qt_page_head(FILE *f, const char *what, const char *of);
void qt_page_script(FILE *f); // the shared functions, for the inside of a script element

// Ends the text (f NULL: there was no memory for it), writes it and frees it; false after a
// message.
bool qt_page_save(qrn_text *text, FILE *f, const char *path);

// Writes the page, which is the body of a document with @DATA@ where the script element with
// `data` goes and @KIT@ where the shared functions go, and frees `data`. Nothing in the data can
// end its element. False after a message.
bool qt_page_write(const char *page, const char *what, const char *of, json_t *data,
                   const char *path);

#endif
