// SPDX-License-Identifier: MIT
//
// Draws plausible configurations of an op from its row of the op table: types, ranks and parameters
// within the limits of the row, dimensions that are related as the op wants them (op_shapes.def).
// Output shapes are those that the op's own shape rule implies.
#ifndef TESTS_FUZZ_OP_DRAW_H
#define TESTS_FUZZ_OP_DRAW_H

#include "source.h"

#include "ir/op.h"

enum { DRAW_OPERANDS = 40, DRAW_PARAMS = 16, DRAW_WORDS = 32 };

// A parameter with the bytes of its tensor.
typedef struct drawn_param {
    qrn_tensor tensor;
    uint32_t words[DRAW_WORDS];
} drawn_param;

typedef struct drawn_op {
    const qrn_op_def *def;
    uint32_t n_in, n_out;
    qrn_tensor in[DRAW_OPERANDS], out[DRAW_OPERANDS]; // role NULL: absent
    qrn_param params[DRAW_PARAMS];                    // one per row of def->params
    drawn_param param_data[DRAW_PARAMS];
} drawn_op;

// Draws until validation accepts, at most `tries` times; false: the last draw is refused. Encodings
// and data of operands are left to the caller.
bool op_draw(source *s, const qrn_op_def *def, unsigned tries, drawn_op *op);

// Validates a drawn op, first taking over the output shapes that the rule implies.
qrn_status op_draw_check(drawn_op *op);

// One line: operands, parameters. Returns buf.
const char *op_draw_text(const drawn_op *op, char *buf, size_t size);

#endif
