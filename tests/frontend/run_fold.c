// SPDX-License-Identifier: MIT
//
// run_fold MODEL [--no-memory]: computes every node of a model with the folder, in order, and
// prints one line per node and per output for check_fold.py:
//   node INDEX ok|pass|error MESSAGE
//   out NAME TYPE RANK DIMS... HEX
// Graph inputs are values with a shape and no data. With --no-memory every allocation of every
// node is made to fail in turn; each failure must say so. Exits with 1 when memory is leaked.
#include "base/mem.h"
#include "frontend/onnx/fold/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)

typedef struct values {
    ox_val *v;
    size_t n;
} values;

static ox_val *find(const values *all, const char *name) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].name, name) == 0)
            return &all->v[i];
    return NULL;
}

static void add(values *all, const char *name, int type, uint32_t rank, const void *data,
                size_t bytes) {
    all->v[all->n++] = (ox_val){
        .name = name, .type = type, .rank = rank, .known = true, .data = data, .bytes = bytes};
}

static void add_graph(values *all, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_constants; i++) {
        const ox_tensor *t = &g->constants[i];
        add(all, t->name, t->type, t->rank, t->data, t->bytes);
        for (uint32_t d = 0; d < t->rank; d++)
            all->v[all->n - 1].dims[d] = (uint32_t)t->dims[d];
    }
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const ox_info *t = &g->inputs[i];
        if (find(all, t->name))
            continue;
        add(all, t->name, t->type, t->rank, NULL, 0);
        for (uint32_t d = 0; d < t->rank; d++)
            all->v[all->n - 1].dims[d] = (uint32_t)t->dims[d];
    }
}

static void print_output(const char *name, const ox_folded *f) {
    printf("out %s %d %" PRIu32, name, f->type, f->rank);
    for (uint32_t d = 0; d < f->rank; d++)
        printf(" %" PRIu32, f->dims[d]);
    printf(" ");
    for (size_t i = 0; i < f->bytes; i++)
        printf("%02x", ((const unsigned char *)f->data)[i]);
    printf("\n");
}

static bool same(const ox_folded *a, const ox_folded *b) {
    return a->type == b->type && a->rank == b->rank && a->bytes == b->bytes &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 && memcmp(a->data, b->data, a->bytes) == 0;
}

// The result must be the same once enough allocations succeed, and QRN_E_MEM before.
static bool survives(const ox_node *n, int64_t opset, const ox_val *const *in, qrn_status want,
                     const ox_folded *expected) {
    for (unsigned k = 1; k < 1000; k++) {
        ox_folded out[64];
        memset(out, 0, sizeof out);
        qrn_arena *arena = qrn_arena_create();
        qrn_alloc_fail_at(k, true);
        qrn_status s = ox_fold(n, opset, in, MAX_BYTES, arena, out);
        qrn_alloc_fail_at(0, false);
        bool good = s == QRN_E_MEM || s == want;
        for (uint32_t i = 0; s == QRN_OK && good && i < n->n_out; i++)
            good = same(&out[i], &expected[i]);
        qrn_arena_destroy(arena);
        if (!good || s == want)
            return good;
    }
    return false;
}

static int run_node(const ox_model *m, const ox_node *n, uint32_t index, values *all,
                    bool no_memory) {
    const ox_val **in = qrn_calloc(n->n_in * sizeof *in);
    ox_folded out[64];
    memset(out, 0, sizeof out);
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i][0] ? find(all, n->in[i]) : NULL;
    int64_t opset = ox_model_opset(m, n->domain);
    qrn_message_clear();
    qrn_status s = ox_fold(n, opset, in, MAX_BYTES, m->arena, out);
    printf("node %" PRIu32 " %s %s\n", index,
           s == QRN_OK              ? "ok"
           : s == QRN_E_UNSUPPORTED ? "pass"
                                    : "error",
           qrn_message());
    int bad = s != QRN_OK && qrn_message()[0] == '\0';
    if (no_memory)
        bad |= !survives(n, opset, in, s, out);
    for (uint32_t i = 0; s == QRN_OK && i < n->n_out; i++) {
        print_output(n->out[i], &out[i]);
        add(all, n->out[i], out[i].type, out[i].rank, out[i].data, out[i].bytes);
        memcpy(all->v[all->n - 1].dims, out[i].dims, sizeof out[i].dims);
    }
    qrn_free(in);
    return bad;
}

static int run(const char *path, bool no_memory) {
    ox_model *m;
    if (ox_model_open(path, &m) != QRN_OK) {
        fprintf(stderr, "%s\n", qrn_message());
        return 1;
    }
    const ox_graph *g = m->graph;
    size_t most = g->n_constants + g->n_inputs;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        most += g->nodes[i].n_out;
    values all = {qrn_calloc(most * sizeof(ox_val)), 0};
    int bad = 0;
    add_graph(&all, g);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (run_node(m, &g->nodes[i], i, &all, no_memory)) {
            fprintf(stderr, "node %" PRIu32 ": wrong when memory ends, or no message\n", i);
            bad = 1;
        }
    qrn_free(all.v);
    ox_model_close(m);
    return bad;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: run_fold MODEL [--no-memory]\n");
        return 2;
    }
    int bad = run(argv[1], argc > 2 && strcmp(argv[2], "--no-memory") == 0);
    if (qrn_alloc_live() != 0) {
        fprintf(stderr, "%zu allocations are leaked\n", qrn_alloc_live());
        bad = 1;
    }
    return bad;
}
