// SPDX-License-Identifier: MIT
//
// Changing the graph of a model in memory: nodes in front of the first and behind the last, new
// constants, other names for values. Everything new is in the arena of the model.
#ifndef QRN_TOOLS_CONVERTER_GRAPH_EDIT_H
#define QRN_TOOLS_CONVERTER_GRAPH_EDIT_H

#include "tools/converter/edit.h"

// A node with one output. Inputs that are NULL are not there.
typedef struct cv_node {
    const char *op;
    const char *in[3];
    const ox_attr *attrs;
    uint32_t n_attrs;
} cv_node;

// Behind input `name`, which becomes `info`: what nodes read of it is now made by `node`, whose
// first input is the input itself.
int cv_behind_input(cv_model *m, const char *name, const ox_info *info, const cv_node *node);
// Before output `name`, which becomes `info`: it is made by `node` of what was the output.
int cv_before_output(cv_model *m, const char *name, const ox_info *info, const cv_node *node);
// A constant of rank 0, or of one dimension where n > 1. Its name; NULL after a message.
const char *cv_constant(cv_model *m, const char *base, int type, uint32_t n, const void *data,
                        size_t bytes);
// Takes node number i out; what read `from` then reads `to`.
int cv_bypass(cv_model *m, uint32_t i, const char *from, const char *to);
// Another declaration of an input or output.
int cv_declare(cv_model *m, bool is_output, const ox_info *info);

// Is there an input, an initializer or a result of a node of that name?
bool cv_has_value(const ox_graph *g, const char *name);

#endif
