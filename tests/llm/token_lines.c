// SPDX-License-Identifier: MIT
//
// Encodes texts for comparisons with another tokenizer: token_lines FILE (tokenizer.json or GGUF)
// reads texts that end with a zero byte from standard input and prints the tokens of each on a
// line, then its text decoded again as hexadecimal digits. --whole adds what the file puts around a
// text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/llm/gguf.h"
#include "frontend/llm/tokenizer.h"

static int print_text(const ql_tokenizer *t, ql_slice text, bool whole) {
    ql_ids ids = {0};
    ql_bytes back = {0};
    ql_decoder d = {.t = t};
    qrn_status s = ql_encode(t, text, whole, &ids);
    for (size_t i = 0; i < ids.n && s == QRN_OK; i++)
        s = ql_decode(&d, ids.items[i], &back);
    if (s == QRN_OK)
        s = ql_decode_end(&d, &back);
    for (size_t i = 0; i < ids.n; i++)
        printf("%s%u", i ? " " : "", ids.items[i]);
    printf("\t");
    for (size_t i = 0; i < back.n; i++)
        printf("%02x", (unsigned char)back.data[i]);
    printf("\t%s\n", s == QRN_OK ? "" : qrn_message());
    ql_ids_free(&ids);
    ql_bytes_free(&back);
    return s == QRN_OK ? 0 : 1;
}

static qrn_status open_file(const char *path, ql_tokenizer **out) {
    if (!ql_gguf_is_file(path))
        return ql_tokenizer_open(path, out);
    ql_gguf *g = NULL;
    qrn_status s = ql_gguf_open(path, &g);
    if (s == QRN_OK)
        s = ql_tokenizer_of_gguf(g, out);
    ql_gguf_close(g);
    return s;
}

int main(int argc, char **argv) {
    bool whole = argc > 2 && strcmp(argv[2], "--whole") == 0;
    ql_tokenizer *t;
    if (argc < 2 || open_file(argv[1], &t) != QRN_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: token_lines FILE [--whole]" : qrn_message());
        return 2;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getdelim(&line, &room, '\0', stdin)) > 0)
        print_text(t, (ql_slice){line, (size_t)n - (line[n - 1] == '\0')}, whole);
    free(line);
    ql_tokenizer_close(t);
    return 0;
}
