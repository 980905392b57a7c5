// SPDX-License-Identifier: MIT
//
// Other people's libraries on the shapes that bench_kernels measures, on one thread. Weights are in
// whatever layout the library likes best, inputs and outputs in NHWC, as ours are.
#ifndef QRN_BENCH_PEERS_H
#define QRN_BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>

// A convolution over a square picture; cin and cout are those of all groups.
typedef struct qb_conv {
    uint32_t size, cin, kernel, stride, group, cout, out;
    bool
        quantized; // unsigned bytes with signed weights, without zero points; else single precision
} qb_conv;

// [batch, rows, depth] x [batch, depth, cols], or [batch, cols, depth] when transposed.
typedef struct qb_matmul {
    uint32_t batch, rows, depth, cols;
    bool transposed;
} qb_matmul;

typedef struct qb_peer {
    const char *name;
    void *state;
    void (*run)(void *state);
    void (*free)(void *state);
} qb_peer;

// A library: its name, and what it can do. Makers write *out and return true, or return false for a
// shape that the library has no call for.
typedef struct qb_library {
    const char *name;
    const char *missing; // why it is not there; NULL: it is
    bool (*conv)(const qb_conv *c, qb_peer *out);
    bool (*matmul)(const qb_matmul *p, qb_peer *out);
} qb_library;

extern const qb_library qb_openblas, qb_onednn;

// The matrices of a matmul in single precision, filled with small numbers.
typedef struct qb_operands {
    qb_matmul p;
    float *a, *b, *c;
} qb_operands;
qb_operands *qb_operands_make(const qb_matmul *p); // NULL when out of memory
void qb_operands_free(void *operands);

#endif
