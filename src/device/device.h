// SPDX-License-Identifier: MIT
//
// What a network would need on a phone's NPU: a graph of QNN ops is cut into the fused steps that
// such an accelerator runs, and a small cost model with constants fitted to published latencies
// says how long they take. Pure functions of the graph, the precision and a row of constants;
// nothing here executes anything or touches weights.
//
// Every number is an estimate. docs/estimate.md says how good it is.
#ifndef QRN_DEVICE_DEVICE_H
#define QRN_DEVICE_DEVICE_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define QD_MAX_RANK 8

// --- graphs

typedef struct qd_value {
    uint32_t rank, dims[QD_MAX_RANK];
    bool constant, input, output;
    uint32_t bits;        // of a constant's elements; 0: what the precision makes of it
    uint32_t active_bits; // of an activation in fixed point: 8 or 16; 0: float, or a constant
} qd_value;

typedef struct qd_op {
    const char *name, *type;  // type: QNN's word
    const uint32_t *in, *out; // values by index
    uint32_t n_in, n_out;
    uint32_t groups; // convolutions; 0: 1
    uint32_t window; // pooling: elements under it; 0: 1
    uint32_t kind;   // operation of ElementWiseNeuron, ElementWiseBinary and -Unary
    bool swaps;      // Transpose: of the last two dimensions
    uint32_t part;   // of a network that falls into several graphs: which one
} qd_op;

typedef struct qd_graph {
    qrn_arena *arena; // of the lists
    qd_value *values;
    qd_op *ops; // in order of execution
    uint32_t n_values, n_ops, cap_values, cap_ops;
} qd_graph;

// Appends; texts and lists are copied into the arena.
qrn_status qd_add_value(qd_graph *g, const qd_value *v, uint32_t *index);
qrn_status qd_add_op(qd_graph *g, const qd_op *o);

// --- steps

typedef enum qd_class {
    QD_MATRIX,
    QD_DEPTHWISE,
    QD_LIGHT,
    QD_POOL,
    QD_HEAVY,
    QD_MOVE,
    QD_CLASSES
} qd_class;
typedef enum qd_precision { QD_W8A8, QD_W8A16, QD_FP16, QD_PRECISIONS } qd_precision;

// A GEMM: rows (of each batch) by taps * in channels by out channels.
typedef struct qd_product {
    double rows, batch, taps, in, out, groups;
} qd_product;

double qd_padded(const qd_product *p);  // multiplications, all brought to tiles of 32
double qd_results(const qd_product *p); // elements of the result, brought to tiles of 32

// Of ten times of networks that it has not seen the model misses at least nine by at most this part
// of its estimate (docs/estimate.md has the table). What is marked uncalibrated, or does not know
// whether it is, gets the wide one, of which nothing is known.
#define QD_INTERVAL 0.25
#define QD_INTERVAL_WIDE 0.5

typedef struct qd_step {
    qd_class kind;
    const qd_op *op; // that gives it its name
    uint32_t n_ops;  // fused into it, itself included
    uint32_t source; // step that makes the first operand; UINT32_MAX: none
    bool split;      // two steps in quantized graphs: an affine map becomes Mul and Add
    bool divides;
    bool in_place;        // Concat of whole tiles: in fp16 its inputs are written where they belong
    bool joins;           // Concat of several values: integers are brought to one scale on the way
    bool thin;            // arithmetic on few channels, or with slopes: tiles are nearly empty
    qd_product size;      // matrix
    double macs;          // multiplications of a matrix or depthwise step
    double padded;        // matrix: with rows and channels brought to multiples of 32
    double results;       // matrix: elements that it writes, brought to tiles the same way
    double in, out;       // elements of activations read and written
    double windows;       // pooling: elements under the windows, half of them
    double fill;          // thin arithmetic: elements that bring its values to 32 channels
    double effort;        // arithmetic: as many times the work of its class; 0: 1
    double weights;       // elements, read once per inference
    uint32_t weight_bits; // of a constant that stays quantized; 0: as the precision has it
    // A graph that reads far more than it computes, such as one token of a language model: weights
    // that meet few rows, and elements of a matrix that an application or a step made.
    bool streamed;
    double cache;
} qd_step;

typedef struct qd_steps {
    qd_step *list;
    uint32_t n;
    const qd_op **unknown; // ops that are counted as light ones because nothing is known of them
    uint32_t n_unknown;
    bool decode; // most weights meet few rows: time is that of reading them
    // Where everything went, for whoever needs the flow of data.
    const uint32_t *step_of; // per op: its step; QD_NO_STEP: it costs nothing
    const uint32_t *maker;   // per value: the step that makes it; QD_NO_STEP: none does
    const uint32_t *origin;  // per value: the value it is under another shape, itself if none
} qd_steps;

#define QD_NO_STEP UINT32_MAX

// Is it a step of a language model, one token of text: one that streams its weights and reads a KV
// cache? Networks whose weights are mostly those of a final dense layer stream them, too.
bool qd_is_decoding(const qd_steps *s);

// Has the value so few channels that arithmetic takes its tiles, not its elements?
bool qd_is_thin(const qd_value *v);
#define QD_PRODUCT_EFFORT 1.4 // cycles of a thin multiplication against those of a sum

// Steps that it is in this precision: 1 or 2; what is done in place counts as well.
uint32_t qd_passes(const qd_step *s, qd_precision p);
// How many of them take time.
uint32_t qd_costs(const qd_step *s, qd_precision p);
// What a vector step's rate is for, in elements: multiplications of a depthwise one, else data.
double qd_work(const qd_step *s);

// Cuts a graph into steps. Lists live in the graph's arena.
qrn_status qd_cut(const qd_graph *g, qd_steps *out);

#endif
