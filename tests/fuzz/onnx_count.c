// SPDX-License-Identifier: MIT
//
// Counting ops by the rows of the importer's table.
#include "onnx_count.h"

#include "frontend/onnx/import/table.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 16 };

static const ox_importer *const groups[] = {
#define X(group) ox_import_##group,
    OX_GROUPS(X)
#undef X
};
static unsigned counted[sizeof groups / sizeof groups[0]][64];

// Rows that no model reaches: refused by definition, or made by the importer itself.
static bool is_out_of_reach(const ox_importer *r) {
    static const char *const never[] = {"ConstantOfShape", "Range", "NonZero", "Unique",
                                        "ImageDecoder"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (strcmp(r->op, never[i]) == 0)
            return true;
    return strcmp(r->domain, OX_OWN_DOMAIN) == 0;
}

typedef struct search {
    const char *op; // NULL: count all
    bool found;
} search;

static void see_node(search *x, const ox_node *n, unsigned depth);

static void see_nodes(search *x, const ox_node *nodes, uint32_t n, unsigned depth) {
    for (uint32_t i = 0; i < n && depth < DEEPEST; i++)
        see_node(x, &nodes[i], depth + 1);
}

static void see_node(search *x, const ox_node *n, unsigned depth) {
    if (x->op && strcmp(n->op, x->op) == 0)
        x->found = true;
    for (size_t g = 0; !x->op && g < sizeof groups / sizeof groups[0]; g++)
        for (const ox_importer *r = groups[g]; r->op; r++)
            if (strcmp(r->op, n->op) == 0 && strcmp(r->domain, n->domain) == 0)
                counted[g][(r - groups[g]) % 64]++;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].g)
            see_nodes(x, n->attrs[i].g->nodes, n->attrs[i].g->n_nodes, depth);
}

static void see_model(search *x, const ox_model *m) {
    see_nodes(x, m->graph->nodes, m->graph->n_nodes, 0);
    for (uint32_t i = 0; i < m->n_functions; i++)
        see_nodes(x, m->functions[i].nodes, m->functions[i].n_nodes, 0);
}

bool onnx_count_has(const ox_model *m, const char *op) {
    search x = {.op = op};
    see_model(&x, m);
    return x.found;
}

void onnx_count(const ox_model *m) {
    search x = {0};
    see_model(&x, m);
}

unsigned onnx_count_print(bool (*is_drawn)(const char *op, const char *domain)) {
    unsigned never = 0, seen = 0, least = ~0u, undrawn = 0;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (const ox_importer *r = groups[g]; r->op; r++) {
            unsigned n = counted[g][(r - groups[g]) % 64];
            if (is_out_of_reach(r))
                continue;
            if (!is_drawn(r->op, r->domain)) {
                undrawn++;
                fprintf(stderr, "no row of onnx_rows.def draws %s %s\n", r->domain, r->op);
            }
            seen += n > 0;
            least = n < least ? n : least;
            if (n == 0)
                printf("%s%s%s%s", never++ ? " " : "never executed: ", r->domain,
                       r->domain[0] ? "." : "", r->op);
        }
    printf("%s%u ops executed, each at least %u times\n", never ? "\n" : "", seen, least);
    return undrawn;
}
