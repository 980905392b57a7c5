// SPDX-License-Identifier: MIT
//
// The ONNX reader and folder on hostile models. Whatever the bytes are, the answer is a model of
// which everything can be visited, or an error with a message; each node of a model is then
// computed if the folder takes it. When the model is closed no memory is held.
// The entry point is libFuzzer's; fuzz_main.c runs it without libFuzzer.
#include "../frontend/walk_model.h"

#include "base/mem.h"
#include "frontend/onnx/fold/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_VALUES = 256, MAX_INPUTS = 16, MAX_OUTPUTS = 16, MAX_BYTES = 1 << 14 };

typedef struct values {
    ox_val v[MAX_VALUES];
    size_t n;
} values;

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

static const ox_val *find(const values *all, const char *name) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].name, name) == 0)
            return &all->v[i];
    return NULL;
}

static bool known_dims(const ox_info *info, uint32_t *dims) {
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dims[d] < 0 || info->dims[d] > UINT32_MAX)
            return false;
        dims[d] = (uint32_t)info->dims[d];
    }
    return info->has_shape;
}

static void add_graph(values *all, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_constants && all->n < MAX_VALUES; i++) {
        const ox_tensor *t = &g->constants[i];
        ox_val v = {.name = t->name,
                    .type = t->type,
                    .rank = t->rank,
                    .known = true,
                    .data = t->data,
                    .bytes = t->bytes};
        for (uint32_t d = 0; d < t->rank; d++) {
            v.dims[d] = (uint32_t)t->dims[d];
            v.known = v.known && t->dims[d] <= UINT32_MAX;
        }
        all->v[all->n++] = v;
    }
    for (uint32_t i = 0; i < g->n_inputs && all->n < MAX_VALUES; i++) {
        const ox_info *info = &g->inputs[i];
        ox_val v = {.name = info->name, .type = info->type, .rank = info->rank};
        v.known = known_dims(info, v.dims);
        all->v[all->n++] = v;
    }
}

static void fold_node(const ox_model *m, const ox_node *n, values *all) {
    const ox_val *in[MAX_INPUTS];
    ox_folded out[MAX_OUTPUTS];
    if (n->n_in > MAX_INPUTS || n->n_out > MAX_OUTPUTS)
        return;
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i][0] ? find(all, n->in[i]) : NULL;
    memset(out, 0, sizeof out);
    qrn_message_clear();
    qrn_status s = ox_fold(n, ox_model_opset(m, n->domain), in, MAX_BYTES, m->arena, out);
    if (s != QRN_OK && !qrn_message()[0])
        broken("a refusal without a message");
    for (uint32_t i = 0; s == QRN_OK && i < n->n_out && all->n < MAX_VALUES; i++) {
        const unsigned char *p = out[i].data;
        if (!p || out[i].rank > OX_MAX_RANK)
            broken("an output is missing");
        if (out[i].bytes && p[0] + p[out[i].bytes - 1] > 510) // both ends can be read
            broken("bytes above 255");
        ox_val v = {.name = n->out[i],
                    .type = out[i].type,
                    .rank = out[i].rank,
                    .known = true,
                    .data = p,
                    .bytes = out[i].bytes};
        memcpy(v.dims, out[i].dims, sizeof v.dims);
        all->v[all->n++] = v;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t live = qrn_alloc_live();
    ox_model *m = NULL;
    qrn_message_clear();
    qrn_status s = ox_model_parse(data, size, "input", &m);
    if (s != QRN_OK && (m || !strstr(qrn_message(), "input: ")))
        broken("a refusal that does not name the file");
    if (s == QRN_OK) {
        values *all = calloc(1, sizeof *all);
        if (!all || walk_model(m) == 0)
            broken("an empty model");
        add_graph(all, m->graph);
        for (uint32_t i = 0; i < m->graph->n_nodes; i++)
            fold_node(m, &m->graph->nodes[i], all);
        free(all);
    }
    ox_model_close(m);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    return 0;
}
