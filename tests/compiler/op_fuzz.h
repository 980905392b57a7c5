// SPDX-License-Identifier: MIT
//
// Proves the check of a compiled-graph op: calls that the check accepts, changed at random. What it
// still accepts must run in every row of the family without a report of a sanitizer. cmocka
// asserts.
#ifndef TESTS_COMPILER_OP_FUZZ_H
#define TESTS_COMPILER_OP_FUZZ_H

#include "compiler/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OP_MAX_DATA 24

// A call that the check has to accept.
typedef struct op_seed {
    // Inputs > outputs: "f32[2,3] - i32[2]:c > f32[2,3]". "-" is an absent operand, "[]" is rank 0.
    // Suffixes: :c      constant
    //           :t      encoded with one scale; :t6 with 6 bits that count
    //           :a2     encoded per index of axis 2; :a2.4 with 4 bits that count
    //           :b1x8   encoded per block of shape 1x8
    //           :s5x2   sparse, 5 elements over the 2 outermost dimensions
    //           :z      encoded values begin at zero (offset 0)
    const char *operands;
    qrn_domain domain;
    const void *args;              // the family's parameter struct
    const void *data[OP_MAX_DATA]; // of constants, by input; NULL: random bytes
} op_seed;

// OP_SEED(F32, "f32[4] > f32[4]", OP_ARGS(qrn_unary_args, .op = QRN_UNARY_NEG)), or NULL for an op
// without attributes; `.data = {...}` may follow.
#define OP_ARGS(T, ...) (&(const T){__VA_ARGS__})
#define OP_SEED(domain_, text, ...)                                                                \
    { .operands = text, .domain = QRN_DOMAIN_##domain_, .args = __VA_ARGS__ }

// Runs the seeds, then `rounds` changed copies of them, times the number in QUERN_OP_FUZZ (or 1).
void op_fuzz(const qrn_cop *op, const op_seed *seeds, uint32_t n_seeds, uint32_t rounds);
// Calls that must be refused: relations that random changes seldom reach.
void op_refuse(const qrn_cop *op, const op_seed *seeds, uint32_t n_seeds);

#define OP_REFUSE(op, seeds) op_refuse(&(op), seeds, sizeof(seeds) / sizeof((seeds)[0]))
#define OP_FUZZ(op, seeds, rounds) op_fuzz(&(op), seeds, sizeof(seeds) / sizeof((seeds)[0]), rounds)

#endif
