// SPDX-License-Identifier: MIT
//
// Patterns: what finders of groups of nodes share. A finder walks back from the node that ends a
// group; nodes on its way join the match.
#ifndef QRN_FRONTEND_ONNX_REWRITE_PATTERN_H
#define QRN_FRONTEND_ONNX_REWRITE_PATTERN_H

#include "frontend/onnx/driver/internal.h"

#define OX_MATCH_NODES 24
#define OX_NO_AXIS 0 // axes of a match count from the end: -1 is the last

typedef struct ox_match {
    const ox_node *nodes[OX_MATCH_NODES]; // the last one first
    uint32_t n;
    bool assumes;    // declared shapes are right
    int64_t axis;    // that all reductions have, or OX_NO_AXIS
    ox_node instead; // the last one becomes this
} ox_match;

typedef bool (*ox_finder)(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_layer_norm(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_folded_norm(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_fast_norm(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_rms_norm(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_bare_norm(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_gelu(ox_import *im, ox_match *m, const ox_node *last);
bool ox_find_softmax(ox_import *im, ox_match *m, const ox_node *last);

bool ox_match_is(const ox_node *n, const char *op);
// Is it one value? ONNX Runtime gives each reader of quantized values a DequantizeLinear of its
// own.
bool ox_match_same(const ox_import *im, const char *a, const char *b);
// The node that makes a value, if it is of that op; it joins the pattern.
const ox_node *ox_match_maker(const ox_import *im, ox_match *m, const char *name, const char *op);
// Constant real numbers, or the quantized values that a DequantizeLinear makes such of; else NULL.
const ox_val *ox_match_constant(const ox_import *im, const char *name);
// A constant of one element and at most one dimension.
bool ox_match_number(const ox_import *im, const char *name, double *out);
// The same number but for the ways in which constants are rounded.
bool ox_match_near(double a, double b);
bool ox_match_is_number(const ox_import *im, const char *name, double value);
// Is a node a reduction over one axis, the same one as those before?
bool ox_match_reduces(const ox_import *im, ox_match *m, const ox_node *n);
// The value behind nodes that bring a number for each row of x (along the axis of the match) back
// to the rows, else NULL.
const char *ox_match_before_spread(const ox_import *im, ox_match *m, const char *name,
                                   const ox_info *x);

#endif
