// SPDX-License-Identifier: MIT
//
// A call of an op that is to be checked and run: a description that is easy to change, and what is
// built from it. Part of op_fuzz.h.
#ifndef TESTS_COMPILER_OP_CASE_H
#define TESTS_COMPILER_OP_CASE_H

#include "op_fuzz.h"

#include <stdbool.h>

#define OP_MAX_OPERANDS 48
#define OP_MAX_ARGS 8192

typedef struct op_operand {
    bool there, constant;
    qrn_dtype dtype;
    uint32_t rank, dims[QRN_MAX_RANK];
    uint8_t kind, bits, axis; // of the encoding
    bool has_offsets, has_real_offsets;
    float scale, shift;
    int32_t offset;
    uint32_t block[QRN_MAX_RANK];
    uint32_t n_sparse, n_sparse_dims;
    const void *given; // content of a constant; NULL: by `fill`
    size_t given_bytes;
    uint32_t fill; // how bytes are filled
    bool poke;     // change one element of a constant
} op_operand;

typedef struct op_case {
    const qrn_cop *op;
    qrn_domain domain;
    uint32_t n_in, n_out;
    op_operand operands[OP_MAX_OPERANDS]; // inputs, then outputs
    uint8_t args[OP_MAX_ARGS];
} op_case;

// Random numbers, the same in every run.
uint32_t op_random(void);
void op_random_seed(uint64_t seed);
static inline uint32_t op_below(uint32_t n) { return op_random() % n; }

void op_case_from_seed(op_case *c, const qrn_cop *op, const op_seed *s);
// Brings the encodings and sizes into what a check may be given; false: it is too large.
bool op_case_tidy(op_case *c);
void op_case_print(const op_case *c);
// Changes something.
void op_case_mutate(op_case *c);

// Bytes of an operand; false on overflow.
bool op_operand_bytes(const op_operand *o, size_t *bytes);

#endif
