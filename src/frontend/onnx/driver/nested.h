// SPDX-License-Identifier: MIT
//
// Nodes inside of a node: branches, loop bodies, calls of functions, and ops that are imported as
// other ONNX ops. They run in a scope of their own. Also sequences of tensors, which exist while
// importing only.
#ifndef QRN_FRONTEND_ONNX_NESTED_H
#define QRN_FRONTEND_ONNX_NESTED_H

#include "frontend/onnx/driver/internal.h"

#define OX_MAX_DEPTH 32

// What is put aside while nested nodes are imported.
typedef struct ox_nest {
    ox_scope *scope;
    const ox_node *node;
    bool quantized;
} ox_nest;

// Begins a scope inside of `outer` (NULL: one that sees nothing around it) and makes it the current
// one; ox_nest_end goes back, whatever happened between.
qrn_status ox_nest_begin(ox_import *im, const ox_node *n, ox_scope *outer, ox_nest *saved);
void ox_nest_end(ox_import *im, const ox_nest *saved);

// x under this name in the current scope: type, shape, constant or tensors.
qrn_status ox_bind(ox_import *im, const char *name, const ox_val *x);
// Output i of n is x, a value of whichever scope.
qrn_status ox_give(ox_import *im, const ox_node *n, uint32_t i, const ox_val *x);
// A constant of the current scope under a new name.
qrn_status ox_bind_const(ox_import *im, int type, uint32_t rank, const uint32_t *dims,
                         const void *data, const char **name);
qrn_status ox_bind_ints(ox_import *im, uint32_t rank, const int64_t *values, uint32_t count,
                        const char **name);
// Have both one type and shape?
bool ox_same_form(const ox_val *a, const ox_val *b);
// x under a new name; of one element, it gets this rank. Exporters mix scalars and [1].
qrn_status ox_bind_ranked(ox_import *im, const ox_val *x, uint32_t rank, const char **name);
// "float32[2,3]", for messages.
#define OX_FORM_BYTES 128
const char *ox_form_text(const ox_val *v, char text[OX_FORM_BYTES]);
// A name that nobody has.
const char *ox_new_name(ox_import *im);

// Imports a node made up here, in the current scope. in: names, "" for absent. *out: the name of
// its output, a new one where it is NULL.
qrn_status ox_make(ox_import *im, const char *op, const char *const *in, uint32_t n_in,
                   const ox_attr *attrs, uint32_t n_attrs, const char **out);
#define OX_INT_ATTR(text, number)                                                                  \
    (ox_attr) { .name = (text), .type = OX_ATTR_INT, .i = (number) }

// A list of nodes in the current scope. `outputs`: names that are read from outside afterwards.
qrn_status ox_import_list(ox_import *im, const ox_node *nodes, uint32_t n_nodes,
                          const char *const *outputs, uint32_t n_outputs);
// The nodes of a graph; its constants were entered by ox_enter_constants, its inputs bound.
qrn_status ox_import_body(ox_import *im, const ox_graph *g);

// Imports a function of the model's own in the place of a call.
qrn_status ox_call_function(ox_import *im, const ox_function *f, const ox_node *n);

// Joins values of one shape along a new axis, or along an existing one; gives the name of the
// result.
qrn_status ox_stack(ox_import *im, const char **names, uint32_t n, uint32_t axis, const char **out);
qrn_status ox_join(ox_import *im, const char **names, uint32_t n, uint32_t axis, const char **out);

// Does the op know what to do with a sequence?
bool ox_takes_sequences(const ox_node *n);

#endif
