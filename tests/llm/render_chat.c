// SPDX-License-Identifier: MIT
//
// Renders a chat template for comparisons with Jinja: render_chat TEMPLATE [BOS EOS] reads
// "role\0content\0..." from standard input and prints the text. The last role may be "answer",
// without content: add_generation_prompt.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "frontend/llm/template.h"

#define MOST 64

int main(int argc, char **argv) {
    ql_message messages[MOST];
    ql_conversation c = {.messages = messages};
    char *text = NULL;
    size_t room = 0;
    ssize_t n = getdelim(&text, &room, '\xff', stdin); // no byte of UTF-8: all of it
    qrn_file f;
    if (argc < 2 || qrn_file_map(argv[1], &f) != QRN_OK)
        return 2;
    for (const char *at = text; n > 0 && at < text + n && c.n < MOST;) {
        const char *role = at, *content = at + strlen(at) + 1;
        c.answer = strcmp(role, "answer") == 0;
        if (c.answer)
            break;
        messages[c.n++] = (ql_message){role, content};
        at = content + strlen(content) + 1;
    }
    c.bos = argc > 2 ? argv[2] : NULL;
    c.eos = argc > 3 ? argv[3] : NULL;
    char *source = calloc(f.size + 1, 1); // the file does not end in a zero
    if (!source)
        return 2;
    memcpy(source, f.data, f.size);
    ql_bytes out = {0};
    qrn_status s = ql_template_render("chat", source, &c, &out);
    if (s == QRN_OK)
        fwrite(out.data, 1, out.n, stdout);
    else
        fprintf(stderr, "%s\n", qrn_message());
    ql_bytes_free(&out);
    free(source);
    free(text);
    qrn_file_unmap(&f);
    return s == QRN_OK ? 0 : 1;
}
