// SPDX-License-Identifier: MIT
//
// Changing a float model in memory before it is quantized: nodes are taken out and joined,
// constants get other numbers. The file stays as it is.
#ifndef QRN_QUANTIZER_EDIT_H
#define QRN_QUANTIZER_EDIT_H

#include "frontend/onnx/reader/model.h"

// A value by name: who makes and reads it.
typedef struct qz_wire {
    ox_node *maker;            // NULL: an input of the graph or an initializer
    ox_node *reader;           // the last one
    uint32_t n_uses;           // by nodes, and as an output of the graph
    const ox_tensor *constant; // an initializer, or the value of a Constant node
    uint32_t slot;             // of the initializer among those of the edit, from 1; 0: none
    bool is_output;            // of the graph
} qz_wire;

typedef struct qz_edit {
    ox_model *model;
    ox_node *nodes; // a node that was taken out has the op NULL
    ox_tensor *constants;
    uint32_t n_nodes, n_constants, cap_constants;
    qrn_strmap by_name; // -> qz_wire
} qz_edit;

// The model must stay until the end. Fails for lack of memory only; then there is nothing to end.
qrn_status qz_edit_begin(qz_edit *e, ox_model *m);
void qz_edit_end(qz_edit *e); // the model is changed from here on

qz_wire *qz_edit_wire(const qz_edit *e, const char *name); // NULL: "" or unknown
// A constant of float32 numbers; NULL: it is none.
const ox_tensor *qz_edit_floats(const qz_edit *e, const char *name);
size_t qz_tensor_count(const ox_tensor *t);
float qz_tensor_at(const ox_tensor *t, size_t i);
// The only number of a constant.
bool qz_edit_number(const qz_edit *e, const char *name, double *out);
// The node that makes a value which nobody else reads; NULL: there is none, or not of that op.
ox_node *qz_edit_made_by(const qz_edit *e, const char *name, const char *op);

// Memory for a constant of that shape, for qz_edit_put.
float *qz_edit_alloc(qz_edit *e, uint32_t rank, const uint64_t *dims);
// Gives a node another constant as input i: under its old name where no other node reads it, else
// under a new one.
qrn_status qz_edit_put(qz_edit *e, ox_node *n, uint32_t i, uint32_t rank, const uint64_t *dims,
                       const float *data);
// A new value with a name like that; NULL: out of memory.
const char *qz_edit_name(qz_edit *e, const char *like, qz_wire **made);
// Lets a node read another value.
qrn_status qz_edit_connect(qz_edit *e, ox_node *n, uint32_t i, const char *name);
// Takes out node n, whose result is made by `instead` from now on under n's name. Nodes whose
// results nobody reads any more go, too.
void qz_edit_replace(qz_edit *e, ox_node *n, ox_node *instead);
// Makes a node one of that op without attributes, which reads x alone.
qrn_status qz_edit_become(qz_edit *e, ox_node *n, const char *op, const char *x);

#endif
