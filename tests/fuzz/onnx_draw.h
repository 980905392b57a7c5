// SPDX-License-Identifier: MIT
//
// Draws ONNX models that mostly make sense from a table of nodes (onnx_rows.def): a few nodes over
// graph inputs and constants, each often reading what another made; quantized, nested, in
// functions, with external data; declared shapes that are right, missing or stale.
#ifndef TESTS_FUZZ_ONNX_DRAW_H
#define TESTS_FUZZ_ONNX_DRAW_H

#include "onnx_model.h"
#include "source.h"

// A value that nodes can read.
typedef struct d_value {
    const char *name;
    int type;
    int32_t rank; // below 0: not known
    int64_t dims[M_RANK];
    bool read; // by a node
} d_value;

// A graph being drawn.
typedef struct draft {
    source *s;
    scrap *mem;
    m_model *m;
    m_graph *g;
    struct draft *outer; // (optional) its values can be read too
    d_value values[M_VALUES];
    uint32_t n_values;
    uint32_t *n_names; // of the whole model
    bool quantized;    // floats come from and go to quantizers
    bool function;     // no constants, no graph inputs of its own but what was given
    bool whole;        // nothing that is out of range
} draft;

typedef struct d_row {
    const char *ops, *domain;
    int first, last; // versions of the standard's ops; last 0: all later ones
    const char *types, *ins, *outs, *attrs;
} d_row;

// Adds a node of any op of the table.
void draw_node(draft *d);
// Is the op in the table, or one that onnx_nest.c draws?
bool draw_knows(const char *op, const char *domain);
// The same of one row; of one of a few element-wise ops on floats.
void draw_row(draft *d, const d_row *r, const char *op);
void draw_simple(draft *d);

// --- onnx_draft.c: values

const char *draft_name(draft *d, const char *prefix);
d_value *draft_value(draft *d, const char *name, int type, int32_t rank, const int64_t *dims);
// A new input of the model; behind quantizers where the draft is quantized.
d_value *draft_input(draft *d, int type, int32_t rank, const int64_t *dims);
// A constant with these numbers, and zeros behind them.
d_value *draft_constant(draft *d, int type, uint32_t rank, const int64_t *dims, const double *v,
                        uint32_t n);
d_value *draft_integer(draft *d, int64_t v);
// A float value of known shape and at least one dimension: one that is there, or a new one.
d_value *draft_some(draft *d);
// Behind quantizers, where the draft is quantized: the value to go on with.
d_value *draft_quantize(draft *d, d_value *v);
// A graph inside `d`, whose values it sees.
draft *draft_inner(draft *d, const char *name);
// Declares what the graph returns.
void draft_output(draft *d, const d_value *v);

// --- onnx_fill.c: contents of constants

// What they are meant for.
typedef struct d_base {
    int32_t rank; // of the first input
    const int64_t *dims;
    const int64_t *letters;
    bool whole; // no extreme numbers
} d_base;

// Numbers for a constant; n is their number, or 0 where the filler decides. Returns it.
uint32_t fill_numbers(source *s, const d_base *b, const char *filler, size_t filler_len, int type,
                      uint32_t n, double *out, uint32_t cap);
void fill_store(int type, const double *v, uint32_t n, void *out);

// --- onnx_nest.c: ops that hold graphs, sequences, functions

void draw_nested(draft *d);

// A model as a file. Some are broken on purpose unless they are to be whole.
void onnx_draw(source *s, bool whole, ox_writer *out);

#endif
