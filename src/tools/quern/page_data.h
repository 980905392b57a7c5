// SPDX-License-Identifier: MIT
//
// Pages whose script draws JSON that stands in them.
#ifndef QRN_TOOLS_QUERN_PAGE_DATA_H
#define QRN_TOOLS_QUERN_PAGE_DATA_H

#include <jansson.h>
#include <stdbool.h>

// Writes the page with `data` in the place of @DATA@, where nothing in it can end the script
// element around it, and frees `data`; false after a message.
bool qt_page_write(const char *page, json_t *data, const char *path);

#endif
