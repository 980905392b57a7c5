// SPDX-License-Identifier: MIT
//
// Pages: the head, style and script that all of them share (page/kit_*.in), and pages whose script
// draws JSON that stands in them.
#include "tools/quern/page_data.h"
#include "tools/quern/output.h"

#include "base/report_text.h"

#include "page_texts.h"

#include <stdlib.h>
#include <string.h>

void qt_page_put(FILE *f, const char *text) {
    char part[QRN_SHOWN_MAX];
    for (unsigned used; (used = qrn_shown_char(text, SIZE_MAX, part)) > 0; text += used) {
        const char *name = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (name)
            fputs(name, f);
        else
            fputs(part, f);
    }
}

void qt_page_head(FILE *f, const char *what, const char *of) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
          "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src "
          "'unsafe-inline';script-src 'unsafe-inline'\">\n<meta name=\"viewport\" "
          "content=\"width=device-width,initial-scale=1\"><title>",
          f);
    qt_page_put(f, what);
    fputs(": ", f);
    qt_page_put(f, strrchr(of, '/') ? strrchr(of, '/') + 1 : of);
    fprintf(f, "</title>\n<style>\n%s</style></head><body>\n", qt_page_kit_style);
}

void qt_page_script(FILE *f) { fputs(qt_page_kit_script, f); }

// JSON as the body of a script element: nothing in it can end the element.
static void put_data(FILE *f, const char *text) {
    fputs("<script type=\"application/json\" id=\"data\">", f);
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(f, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, f);
    fputs("</script>", f);
}

static void put_page(FILE *f, const char *page, const char *json) {
    static const char data[] = "@DATA@", kit[] = "@KIT@";
    const char *first = strstr(page, data), *second = strstr(page, kit);
    fwrite(page, 1, (size_t)(first - page), f);
    put_data(f, json);
    first += sizeof data - 1;
    fwrite(first, 1, (size_t)(second - first), f);
    qt_page_script(f);
    fputs(second + sizeof kit - 1, f);
}

bool qt_page_save(qrn_text *text, FILE *f, const char *path) {
    bool made = f && qrn_text_close(f, text);
    if (!made)
        qt_error("%s: out of memory", path);
    const qt_part part = {text->data, text->n};
    made = made && qt_write_file(path, &part, 1);
    free(text->data);
    return made;
}

bool qt_page_write(const char *page, const char *what, const char *of, json_t *data,
                   const char *path) {
    char *json = qt_json_dump(data, JSON_COMPACT);
    qrn_text text = {0};
    FILE *f = json ? qrn_text_open(&text) : NULL;
    if (f) {
        qt_page_head(f, what, of);
        put_page(f, page, json);
    }
    bool made = qt_page_save(&text, f, path);
    free(json);
    return made;
}
