// SPDX-License-Identifier: MIT
//
// Small graphs for tests of the compiler: built through the public API in few words, then compiled
// and run directly, with any passes left out. cmocka asserts.
#ifndef TESTS_COMPILER_SMALL_GRAPH_H
#define TESTS_COMPILER_SMALL_GRAPH_H

#include "core/own.h"
#include "runtime/exec.h"

#include "QnnInterface.h"
#include "QnnOpDef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_TENSORS 128

typedef struct small_graph {
    QNN_INTERFACE_VER_TYPE qnn;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t handle;
    Qnn_Tensor_t tensors[MAX_TENSORS];
    uint32_t dims[MAX_TENSORS][4];
    char names[MAX_TENSORS][16];
    uint32_t n_tensors, n_nodes;
} small_graph;

// What a plan has given: all outputs in order of their creation, one behind the other.
typedef struct small_run {
    uint32_t n_steps, n_chained; // steps; those of them that run with one before them
    size_t arena_bytes, bound_bytes, n_out;
    uint8_t *out;
} small_run;

void small_begin(small_graph *g);
void small_end(small_graph *g);

// A new tensor; returns its number. Shapes of up to 4 dimensions, ended by 0.
#define SHAPE(...) ((const uint32_t[5]){__VA_ARGS__})
uint32_t small_tensor(small_graph *g, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                      const uint32_t *shape);
// The same with a scale and an offset.
uint32_t small_encoded(small_graph *g, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                       const uint32_t *shape, float scale, int32_t offset);
#define INPUT(g, ...)                                                                              \
    small_tensor(g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, SHAPE(__VA_ARGS__))
#define OUTPUT(g, ...)                                                                             \
    small_tensor(g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, SHAPE(__VA_ARGS__))
#define INNER(g, ...)                                                                              \
    small_tensor(g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, SHAPE(__VA_ARGS__))

// The graph of a test file, with `setup` and `teardown` for cmocka_unit_test_setup_teardown.
#define SMALL_FIXTURE(g)                                                                           \
    static small_graph g;                                                                          \
    static int setup(void **state) {                                                               \
        (void)state;                                                                               \
        small_begin(&g);                                                                           \
        return 0;                                                                                  \
    }                                                                                              \
    static int teardown(void **state) {                                                            \
        (void)state;                                                                               \
        small_end(&g);                                                                             \
        return 0;                                                                                  \
    }

// A constant; its data is copied.
uint32_t small_constant(small_graph *g, Qnn_DataType_t dtype, const uint32_t *shape, float scale,
                        int32_t offset, const void *data, uint32_t size_bytes);

// Adds a node.
void small_node(small_graph *g, const char *op, const uint32_t *in, uint32_t n_in,
                const uint32_t *out, uint32_t n_out, Qnn_Param_t *params, uint32_t n_params);
void small_unary(small_graph *g, const char *op, uint32_t x, uint32_t y);
void small_binary(small_graph *g, const char *op, uint32_t a, uint32_t b, uint32_t y);
void small_transpose(small_graph *g, uint32_t x, uint32_t y, const uint32_t *perm);
// A reduction over the first n_axes axes, up to 4.
void small_reduce(small_graph *g, const char *op, uint32_t x, uint32_t y, uint32_t n_axes);
void small_concat(small_graph *g, const uint32_t *in, uint32_t n_in, uint32_t y, uint32_t axis);
void small_split(small_graph *g, uint32_t x, const uint32_t *out, uint32_t n_out, uint32_t axis);
// Pads dimensions 1 and 2 of x by top, bottom, left and right.
void small_pad(small_graph *g, uint32_t x, uint32_t y, const uint32_t *amount, float value);
// Conv2d or DepthWiseConv2d; pads as in small_pad.
void small_conv(small_graph *g, const char *op, uint32_t x, uint32_t w, uint32_t y,
                const uint32_t *amount);
// begin, end and stride of each dimension of x.
void small_slice(small_graph *g, uint32_t x, uint32_t y, const int32_t *ranges);

// Compiles with the passes in `passes` left out and runs on inputs with bytes made from `seed`:
// floats are small whole numbers, other types any codes. small_free frees the result.
small_run small_go(const small_graph *g, const char *passes, uint32_t seed);
void small_free(small_run *r);

// Runs with all passes, on one thread and on three, and with none: outputs must be equal to the
// byte. Returns the numbers of steps of both and the outputs.
typedef struct small_pair {
    small_run without, with;
} small_pair;
small_pair small_compare(const small_graph *g);
// The same, and asserts these numbers of steps.
void small_expect(const small_graph *g, uint32_t without, uint32_t with);

#endif
