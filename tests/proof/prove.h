// SPDX-License-Identifier: MIT
//
// What holds for every row of every kernel family, shown on one call:
//   - it touches nothing outside its operands and its scratch (guard.h);
//   - it leaves its inputs alone;
//   - the result does not depend on the number of tasks, on their order or on where operands lie,
//     to the bit; nor on whether the output lies in an input that the family allows it to lie in;
//   - a row that tells of finished elements tells of each once, when it is final (told.h);
//   - an element-wise row gives the same result in pieces;
//   - results that are not floats are those of the reference to the bit; floats are near them.
#ifndef TESTS_PROOF_PROVE_H
#define TESTS_PROOF_PROVE_H

#include "kernels/kernel.h"

typedef struct proof {
    const qrn_family *family;
    qrn_domain domain;
    const qrn_kcall *call; // task, n_tasks and scratch are not used
    const size_t *bytes;   // of the memory of each operand, inputs first
    // On return the reference has written the outputs of the call and this is its status.
    qrn_status status;
    char why[256]; // what does not hold
} proof;

// Every row that this machine can run. False: p->why says what does not hold.
bool prove(proof *p);

// How often each row has run so far; calls `see` for every row of the families that occurred.
void proof_rows(void (*see)(void *ctx, const char *family, const qrn_kernel *row, bool runs_here,
                            unsigned long calls),
                void *ctx);

#endif
