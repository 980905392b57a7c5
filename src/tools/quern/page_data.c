// SPDX-License-Identifier: MIT
//
// Pages whose script draws JSON that stands in them.
#include "tools/quern/page_data.h"
#include "tools/quern/output.h"

#include "base/report_text.h"

#include <stdlib.h>
#include <string.h>

// JSON as the body of a script element: nothing in it can end the element.
static void put_data(FILE *f, const char *text) {
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(f, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, f);
}

bool qt_page_write(const char *page, json_t *data, const char *path) {
    static const char mark[] = "@DATA@";
    const char *at = strstr(page, mark);
    char *json = qt_json_dump(data, JSON_COMPACT);
    qrn_text text = {0};
    FILE *f = json ? qrn_text_open(&text) : NULL;
    if (f) {
        fwrite(page, 1, (size_t)(at - page), f);
        put_data(f, json);
        fputs(at + sizeof mark - 1, f);
    }
    bool made = f && qrn_text_close(f, &text);
    if (!made)
        qt_error("%s: out of memory", path);
    const qt_part part = {text.data, text.n};
    made = made && qt_write_file(path, &part, 1);
    free(text.data);
    free(json);
    return made;
}
