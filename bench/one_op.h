// SPDX-License-Identifier: MIT
//
// A graph of one op, made through the public API and compiled as a client's would be, so that
// whatever layouts and kernels the library chooses for it are what is measured. One thread.
#ifndef QRN_BENCH_ONE_OP_H
#define QRN_BENCH_ONE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum qb_form {
    QB_F32,
    QB_U8S8,
    QB_U16S8,
    QB_U8S4,
    QB_F32S8, // weights alone are quantized
    QB_F32S4,
    QB_N_FORMS
} qb_form;
extern const char *const qb_form_names[QB_N_FORMS]; // "fp32", "u8s8", ...

typedef enum qb_op {
    QB_CONV,      // size x size pixels of cin channels, kernel, stride, to cout channels
    QB_DEPTHWISE, // the same with cin == cout
    QB_DENSE,     // `size` rows of cin numbers to cout, weights constant
    QB_MATMUL,    // the same with both matrices given
    QB_ADD,       // size x size pixels of cin channels, two of them
    QB_MULTIPLY,  // the same, the second one with one pixel
    QB_SIGMOID
} qb_op;

typedef struct qb_shape {
    qb_op op;
    qb_form form;
    uint32_t size, cin, kernel, stride, cout;
} qb_shape;

typedef struct qb_graph qb_graph;

// NULL when it cannot be made; *why then says why, for as long as no other graph is made.
qb_graph *qb_graph_make(const qb_shape *s, const char **why);
void qb_graph_run(qb_graph *g);
void qb_graph_free(qb_graph *g); // NULL is fine

const char *qb_graph_kernels(const qb_graph *g); // names, comma separated
uint32_t qb_out_size(const qb_shape *s);         // side of the output picture
double qb_macs(const qb_shape *s);
double qb_bytes(const qb_shape *s); // that any way to compute it reads and writes, once each

#endif
