// SPDX-License-Identifier: MIT
//
// quern show --dot: a graph in the language of Graphviz.
#include "tools/quern/show_dot.h"

#include "base/report_text.h"
#include "base/strmap.h"
#include "tools/quern/output.h"

// The first backslash of an escape is one for Graphviz, too.
static void dot_text(const char *text) {
    char part[QRN_SHOWN_MAX];
    for (unsigned used; (used = qrn_shown_char(text, SIZE_MAX, part)) > 0; text += used)
        qt_print("%s%s", *part == '"' || *part == '\\' ? "\\" : "", part);
}

int qt_show_dot(const ox_graph *g) {
    qt_print("digraph \"");
    dot_text(g->name);
    qt_print("\" {\n  node [shape=box, style=rounded];\n");
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        bool input = i < g->n_inputs;
        qt_print("  \"%s", input ? "in:" : "out:");
        dot_text(input ? g->inputs[i].name : g->outputs[i - g->n_inputs].name);
        qt_print("\" [shape=ellipse];\n");
    }
    qrn_strmap made = {0}; // value -> node
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        qt_print("  n%u [label=\"", i);
        dot_text(g->nodes[i].op);
        qt_print("\"];\n");
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            qrn_strmap_put(&made, g->nodes[i].out[k], (void *)(uintptr_t)(i + 1));
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!qrn_strmap_get(&made, g->inputs[i].name))
            qrn_strmap_put(&made, g->inputs[i].name, (void *)UINTPTR_MAX);
    for (uint32_t i = 0; i < g->n_nodes + g->n_outputs; i++) {
        bool node = i < g->n_nodes;
        uint32_t n = node ? g->nodes[i].n_in : 1;
        for (uint32_t k = 0; k < n; k++) {
            const char *name = node ? g->nodes[i].in[k] : g->outputs[i - g->n_nodes].name;
            uintptr_t from = (uintptr_t)qrn_strmap_get(&made, name);
            if (!from)
                continue; // constants are left out
            if (from == UINTPTR_MAX) {
                qt_print("  \"in:");
                dot_text(name);
                qt_print("\" -> ");
            } else {
                qt_print("  n%lu -> ", (unsigned long)(from - 1));
            }
            if (node) {
                qt_print("n%u;\n", i);
            } else {
                qt_print("\"out:");
                dot_text(name);
                qt_print("\";\n");
            }
        }
    }
    qt_print("}\n");
    qrn_strmap_clear(&made);
    return qt_close_stdout();
}
