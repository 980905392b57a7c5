// SPDX-License-Identifier: MIT
//
// A float model as the quantizer sees it: its values by name, who makes and reads them, what
// calibration found, and the encoding that was chosen. The ONNX model stays as it is.
#ifndef QRN_QUANTIZER_GRAPH_H
#define QRN_QUANTIZER_GRAPH_H

#include "frontend/onnx/import.h"
#include "quantizer/channels.h"
#include "quantizer/patches.h"
#include "quantizer/stats.h"

// real = scale * (q - zero); bits 0: the value stays a float.
typedef struct qz_enc {
    unsigned bits;
    float scale;
    int32_t zero; // of unsigned integers
} qz_enc;

typedef struct qz_value {
    const char *name;
    int type; // ox_type; OX_NONE: not known
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    const void *data; // of a constant, as in ox_tensor; else NULL
    size_t bytes;
    const ox_node *maker;  // NULL: an input of the graph or an initializer
    const ox_node *reader; // the one that was met last
    uint32_t n_uses;       // by nodes
    bool is_input, is_output;
    bool is_state;     // kept outside between executions; holds quantized values there
    bool seen;         // the importer has made it; else it is inside of a pattern
    bool kept_float;   // no encoding: its range leaves too few steps
    bool must_float;   // no encoding: the op that makes it has no integer form
    bool fused;        // no encoding: it is inside of a quantized op
    bool symmetric;    // the middle of the range must be 0
    bool fixed;        // low and high are given by the op that makes it
    bool open;         // ... and high is one step beyond the range
    bool aligned;      // a constant that is added to it is a whole number of its steps
    double low, high;  // chosen range; of the first of those that share
    unsigned set_bits; // fixed for this value (override.h), 0: the scheme's
    bool narrow;       // a state of 8 bits: made in 16 bits, then rounded
    bool may_float;    // set_bits are a search's: it may stay float as by a scheme of these bits
    const struct qz_encoding *given; // the encoding that a file has for it, or NULL
    bool shared;                     // others share its encoding
    struct qz_value *like; // shares the encoding of this one; NULL: it is the first itself
    qz_stats stats;
    uint32_t row;          // it goes into a Softmax along rows of so many; 0: into none
    qz_gram *gram;         // of its last dimension, or NULL; in the arena
    bool owns_gram;        // else it is another graph's
    qz_channels *channels; // asked for before calibration, or NULL; in the arena
    qz_patches *patches;   // of layers that read it, if their weights are to be rounded by them
    bool channel_last;     // calibration sees its dimensions as 0, 2, 3, ..., 1
    qz_enc enc;
} qz_value;

typedef struct qz_graph {
    const ox_model *model;
    qrn_arena *arena;
    qrn_strmap by_name;
    qz_value **values; // in the order in which they were met
    uint32_t n_values, cap_values;
    bool keeps_rounded; // for a search that writes the graph often with one scheme ...
    qrn_strmap rounded; // ... weights in integers, qz_constant by name, axis, bits and block
} qz_graph;

// Fails in one line for models that cannot be quantized: quantized already, with nested graphs or
// functions, of an opset before 11, or with inputs of unknown shape. The model must stay.
qrn_status qz_graph_create(const ox_model *m, qz_graph **out);
void qz_graph_destroy(qz_graph *g); // NULL is fine

qz_value *qz_find(const qz_graph *g, const char *name); // NULL: "" or unknown
static inline size_t qz_count(const qz_value *v) {
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}
// Float32, and no constant: a value that gets an encoding by its range.
bool qz_is_activation(const qz_value *v);
bool qz_is_float_constant(const qz_value *v);
// What the importer says about a value; an ox_options.value.
void qz_graph_note(void *graph, const ox_val *v);

// The first of those that share an encoding.
qz_value *qz_first(qz_value *v);
// From now on both share one; statistics are joined.
void qz_share(qz_value *a, qz_value *b);

static inline bool qz_is(const ox_node *n, const char *op) {
    return n && n->domain[0] == '\0' && __builtin_strcmp(n->op, op) == 0;
}

#endif
