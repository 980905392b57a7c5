// SPDX-License-Identifier: MIT
//
// A drawn op as a client of the API gives it: tensors with encodings and data, parameters, the op
// configuration; and buffers for executing it.
#ifndef TESTS_FUZZ_OP_CLIENT_H
#define TESTS_FUZZ_OP_CLIENT_H

#include "op_draw.h"
#include "scrap.h"

#include "QnnInterface.h"

typedef QNN_INTERFACE_VER_TYPE qnn_table;

typedef struct client_op {
    Qnn_Tensor_t in[DRAW_OPERANDS], out[DRAW_OPERANDS];
    Qnn_Param_t params[DRAW_PARAMS];
    Qnn_OpConfig_t config; // points into the arrays above
} client_op;

// How an op is given: each in percent.
typedef struct client_style {
    uint32_t static_percent;  // constant inputs
    uint32_t dynamic_percent; // dynamic dimensions, where the op allows them
    uint32_t bad_percent;     // bad encodings
} client_style;

// Draws encodings, roles (into op) and constant data. Names begin with `prefix`.
void client_op_make(source *s, scrap *mem, drawn_op *op, const char *prefix,
                    const client_style *style, client_op *c);

// Creates the tensors in a graph and puts their ids into the configuration. Stops at the first
// failure and returns it.
Qnn_ErrorHandle_t client_op_create(const qnn_table *qnn, Qnn_GraphHandle_t graph, client_op *c);

// Fills a buffer with values of a type: mostly small numbers, now and then the worst ones.
void data_draw(source *s, qrn_dtype dtype, void *data, size_t size_bytes);

// The same for input i of an op: indices are mostly inside, a shape is mostly that of the output.
void input_draw(source *s, const drawn_op *op, uint32_t i, void *data, size_t size_bytes);

// Fields that V1 and V2 have in common.
static inline Qnn_TensorV2_t *tensor_of(Qnn_Tensor_t *t) { return &t->v2; }

#endif
