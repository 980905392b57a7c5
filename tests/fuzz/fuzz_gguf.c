// SPDX-License-Identifier: MIT
//
// GGUF files from hostile bytes: whatever they hold, the reader returns keys and tensors that can
// be visited to the last byte, or says in words what is wrong; afterwards no memory is held. Files
// that hold a model are imported: weights in every form, a graph, tokenizer and configuration.
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"

#include "base/json_read.h"
#include "base/mem.h"
#include "frontend/llm/folder.h"
#include "frontend/llm/llama_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned n_read, n_rejected, n_models, n_imported;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

// Reads every byte, for the sanitizer.
static void visit(const void *data, size_t n) {
    const volatile uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        (void)p[i];
}

static void visit_value(const ql_gguf_value *v) {
    ql_gguf_value rest = *v, e;
    if (!ql_gguf_kind_name(v->kind))
        broken("a value of no kind");
    if (v->kind == QL_GGUF_STRING)
        visit(v->at, (size_t)v->n);
    else if (v->kind != QL_GGUF_ARRAY)
        (void)ql_gguf_number(v);
    while (ql_gguf_next(&rest, &e))
        visit_value(&e);
}

static void visit_keys(const ql_gguf *g, qrn_arena *arena) {
    for (uint32_t i = 0; i < g->n_keys; i++) {
        const char *name = g->keys[i].name;
        uint32_t n = 0;
        uint64_t u = 0;
        double d = 0;
        bool b = false;
        ql_text text, *texts;
        int64_t *ints;
        visit_value(&g->keys[i].value);
        if (ql_gguf_find(g, name) != &g->keys[i].value)
            broken("a key that is not found by its name");
        bool scalar = ql_gguf_uint(g, name, UINT64_MAX, &u) == QRN_OK ||
                      ql_gguf_float(g, name, &d) == QRN_OK || ql_gguf_bool(g, name, &b) == QRN_OK ||
                      ql_gguf_text(g, name, &text) == QRN_OK;
        bool list = ql_gguf_texts(g, name, arena, &texts, &n) == QRN_OK ||
                    ql_gguf_ints(g, name, arena, &ints, &n) == QRN_OK;
        if (scalar && list)
            broken("a value that is a list, too");
    }
}

static void visit_tensors(const ql_gguf *g) {
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const ql_gguf_tensor *t = &g->tensors[i];
        uint32_t bytes = 0, block = ql_gguf_block(t->type, &bytes);
        if (ql_gguf_tensor_of(g, t->name) != t || !ql_gguf_type_name(t->type) ||
            t->n_values / block * bytes != t->bytes)
            broken("a tensor that contradicts itself");
        visit(t->data, t->bytes);
    }
}

static void make_text(const ql_llama *m, qrn_status (*make)(const ql_llama *, qrn_text *),
                      qrn_arena *arena) {
    qrn_text t = {0};
    qrn_json *json = NULL;
    if (make(m, &t) == QRN_OK && qrn_json_read("text", t.data, t.n, arena, &json) != QRN_OK)
        broken("a file that is not JSON");
    free(t.data);
}

static bool swallow(void *ctx, const void *data, size_t n) {
    *(uint64_t *)ctx += n;
    visit(data, n);
    return true;
}

static void make_graph(const ql_llama *m, const ql_weights *w, const ql_state *states) {
    ox_writer out = {0};
    const ql_graph_form form = {"decode", 1, 7, false, "w", states};
    if (ql_llama_graph(m, w, &form, &out) != QRN_OK || !out.n)
        broken("a graph that is not written");
    ox_writer_free(&out);
}

static void import_model(const ql_gguf *g, qrn_arena *arena) {
    ql_llama m;
    if (ql_llama_read(g, 0, arena, &m) != QRN_OK)
        return;
    n_models++;
    make_text(&m, ql_config_json, arena);
    make_text(&m, ql_tokenizer_json, arena);
    make_text(&m, ql_tokenizer_config_json, arena);
    for (int form = 0; form < QL_FORMS; form++) {
        uint64_t written = 0;
        ql_weights w = {0};
        const ql_sink sink = {.write = swallow, .ctx = &written};
        if (ql_weights_write(&m, (ql_weight_form)form, &sink, arena, &w) == QRN_OK) {
            if (written != w.bytes || written > ql_weights_bytes(&m, (ql_weight_form)form))
                broken("weights of another size than was said");
            ql_state *states = qrn_arena_alloc(arena, 2 * m.layers * sizeof *states);
            if (!states)
                broken("no memory for encodings");
            for (uint32_t i = 0; i < 2 * m.layers; i++)
                states[i] = (ql_state){0.1f, (uint8_t)i};
            make_graph(&m, &w, NULL);
            make_graph(&m, &w, states);
            n_imported++;
        }
        qrn_strmap_clear(&w.by_name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t live = qrn_alloc_live();
    ql_gguf *g = NULL;
    // Of exactly its size, for the sanitizer.
    uint8_t *copy = malloc(size ? size : 1);
    qrn_arena *arena = qrn_arena_create();
    if (!copy || !arena)
        broken("out of memory");
    memcpy(copy, data, size);
    qrn_message_clear();
    if (ql_gguf_parse(copy, size, "input", &g) == QRN_OK) {
        n_read++;
        visit_keys(g, arena);
        visit_tensors(g);
        import_model(g, arena);
        ql_gguf_close(g);
    } else {
        n_rejected++;
        if (strncmp(qrn_message(), "input: ", 7) != 0)
            broken("a rejection that does not name the file");
    }
    qrn_arena_destroy(arena);
    free(copy);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}

bool fuzz_end(void) {
    printf("%u read, %u rejected, %u models, %u imports\n", n_read, n_rejected, n_models,
           n_imported);
    return n_read && n_rejected && n_models && n_imported;
}
