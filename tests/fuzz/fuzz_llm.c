// SPDX-License-Identifier: MIT
//
// Tokenizers and chat templates from hostile bytes. An input that begins with '{' is a
// tokenizer.json, one that begins with "GGUF" a file with a tokenizer inside: where it is read,
// texts are encoded with it and decoded again. Anything else is a template: it renders a
// conversation. Whatever they hold, the result is tokens of the vocabulary, UTF-8, or words that
// say what is wrong; afterwards no memory is held. The entry points are libFuzzer's; fuzz_main.c
// runs them without libFuzzer.
#include "fuzz_main.h"

#include "base/mem.h"
#include "frontend/llm/gguf.h"
#include "frontend/llm/template.h"
#include "frontend/llm/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned n_read, n_rejected, n_encoded, n_rendered;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

static void rejected(qrn_status s) {
    n_rejected++;
    if (s != QRN_OK &&
        (strncmp(qrn_message(), "input:", 6) != 0 && !strstr(qrn_message(), "pattern")))
        broken("a rejection that does not name the file");
}

static void encode(const ql_tokenizer *t, const char *text, size_t n) {
    ql_ids ids = {0};
    ql_bytes back = {0};
    ql_decoder d = {.t = t};
    size_t bad;
    if (ql_encode(t, (ql_slice){text, n}, true, &ids) == QRN_OK) {
        n_encoded++;
        for (size_t i = 0; i < ids.n; i++)
            if (ids.items[i] >= ql_tokenizer_size(t) ||
                ql_decode(&d, ids.items[i], &back) != QRN_OK)
                broken("a token outside of the vocabulary");
        if (ql_decode_end(&d, &back) != QRN_OK || !ql_utf8_valid(back.data, back.n, &bad))
            broken("text that is not UTF-8");
    } else if (!*qrn_message()) {
        broken("no reason");
    }
    ql_ids_free(&ids);
    ql_bytes_free(&back);
}

// The tokenizer inside a GGUF file, or of a tokenizer.json.
static qrn_status open_tokenizer(const char *data, size_t size, ql_tokenizer **out) {
    if (size < 4 || memcmp(data, "GGUF", 4) != 0)
        return ql_tokenizer_parse("input", data, size, out);
    ql_gguf *g = NULL;
    QRN_TRY(ql_gguf_parse(data, size, "input", &g));
    qrn_status s = ql_tokenizer_of_gguf(g, out);
    ql_gguf_close(g);
    return s;
}

static void read_tokenizer(const char *data, size_t size) {
    static const char text[] =
        "The 12 capitals, it's <s> \xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\n\n  x";
    ql_tokenizer *t = NULL;
    qrn_status s = open_tokenizer(data, size, &t);
    if (s != QRN_OK) {
        rejected(s);
        return;
    }
    n_read++;
    encode(t, text, sizeof text - 1);
    encode(t, data, size < 300 ? size : 300);
    if (ql_tokenizer_find(t, "a") != QL_NO_TOKEN &&
        ql_tokenizer_find(t, "a") >= ql_tokenizer_size(t))
        broken("a word outside of the vocabulary");
    ql_tokenizer_close(t);
}

static void render(const char *text) {
    static const ql_message talk[] = {
        {"system", "be kind"}, {"user", "h\xc3\xa9"}, {"assistant", ""}};
    const ql_conversation about = {
        .messages = talk, .n = 3, .bos = "<s>", .eos = "</s>", .answer = true};
    ql_bytes out = {0};
    qrn_status s = ql_template_render("input", text, &about, &out);
    if (s == QRN_OK)
        n_rendered++;
    else
        rejected(s);
    ql_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t live = qrn_alloc_live();
    // Of exactly its size, for the sanitizer; a template ends with a zero.
    char *copy = malloc(size + 1);
    if (!copy)
        broken("out of memory");
    memcpy(copy, data, size);
    copy[size] = '\0';
    qrn_message_clear();
    bool json = size > 1 && copy[0] == '{' && copy[1] != '{' && copy[1] != '%' && copy[1] != '#';
    if (json || strncmp(copy, "GGUF", 4) == 0) {
        char *exact = malloc(size);
        if (!exact)
            broken("out of memory");
        memcpy(exact, data, size);
        read_tokenizer(exact, size);
        free(exact);
    } else {
        render(copy);
    }
    free(copy);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}

bool fuzz_end(void) {
    printf("%u tokenizers read, %u texts encoded, %u chats rendered, %u rejected\n", n_read,
           n_encoded, n_rendered, n_rejected);
    return n_read > 0 && n_encoded > 0 && n_rendered > 0 && n_rejected > 0;
}
