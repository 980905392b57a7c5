// SPDX-License-Identifier: MIT
//
// Reader of op case files (format: top of qcase.py). Trusts nothing in the file: every reference,
// count and size is checked, and a bad file yields a message with its line. One case is held at a
// time, in a structure of fixed size; what it points to lives as long as the file.

#ifndef QRN_CASE_FILE_H
#define QRN_CASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "QnnTypes.h"

enum {
    QRN_CASE_RANK = 8,
    QRN_CASE_TENSORS = 160,
    QRN_CASE_NODES = 32,
    QRN_CASE_PARAMS = 128, // of all nodes
    QRN_CASE_LINKS = 512,  // inputs and outputs of all nodes
    QRN_CASE_ROUNDS = 64,
    QRN_CASE_DATA = 1024, // feeds, and as many wants, of all rounds
};

typedef struct {
    const uint8_t *data; // NULL: none
    size_t size;
} qrn_bytes;

typedef struct {
    uint32_t rank;
    uint32_t dims[QRN_CASE_RANK];
} qrn_shape;

typedef struct {
    const char *name;
    Qnn_TensorType_t type;
    Qnn_DataType_t dtype;
    qrn_shape shape; // at creation
    bool is_dynamic;
    uint8_t dynamic[QRN_CASE_RANK]; // meaningful when is_dynamic
    Qnn_QuantizeParams_t quant;
    Qnn_BlockwiseExpansion_t expansion; // target of quant.blockwiseExpansion
    uint32_t n_sparse, n_sparse_dims;   // sparse native tensors: elements, indexed dimensions
    qrn_bytes data;                     // static tensors only
} qrn_case_tensor;

typedef struct {
    const char *name;
    bool is_tensor;
    uint32_t tensor; // when is_tensor
    Qnn_Scalar_t scalar;
} qrn_case_param;

typedef struct {
    const char *op, *name, *package;
    uint32_t first_input, n_inputs;   // in links
    uint32_t first_output, n_outputs; // in links
    uint32_t first_param, n_params;   // in params
} qrn_case_node;

typedef struct {
    uint32_t tensor;
    qrn_shape shape; // at execution
    qrn_bytes data;
} qrn_feed;

typedef enum {
    QRN_CMP_EXACT,
    QRN_CMP_FLOAT,
    QRN_CMP_ULP,
    QRN_CMP_ULP16,
    QRN_CMP_QUANT,
    QRN_CMP_STATS
} qrn_cmp;

typedef struct {
    uint32_t tensor;
    qrn_shape shape; // the library must report it
    qrn_cmp mode;
    double arg[6];         // in the order of Tol in qcase.py
    bool nan_ok;           // float, ulp
    int64_t code_range[2]; // quant
    qrn_bytes data;
} qrn_want;

typedef struct {
    uint32_t first_feed, n_feeds, first_want, n_wants;
    bool early; // the graph ends before any output is produced
} qrn_round;

// In the order the calls are made.
typedef enum {
    QRN_STAGE_CREATE,
    QRN_STAGE_VALIDATE,
    QRN_STAGE_ADD,
    QRN_STAGE_FINALIZE,
    QRN_STAGE_EXECUTE,
    QRN_STAGE_NONE, // no error is expected
} qrn_stage;

typedef struct {
    const char *name;
    uint32_t index; // position in the file
    bool once;      // stateful or random: a round is not executed twice
    qrn_stage error_stage;
    uint64_t error_code; // 0: any error
    uint32_t n_tensors, n_nodes, n_params, n_links, n_rounds, n_feeds, n_wants;
    qrn_case_tensor tensors[QRN_CASE_TENSORS];
    qrn_case_node nodes[QRN_CASE_NODES];
    qrn_case_param params[QRN_CASE_PARAMS];
    uint32_t links[QRN_CASE_LINKS];
    qrn_round rounds[QRN_CASE_ROUNDS];
    qrn_feed feeds[QRN_CASE_DATA];
    qrn_want wants[QRN_CASE_DATA];
} qrn_case;

typedef struct {
    char *index, *cursor, *end; // the text is cut into words in place as cases are read
    uint8_t *blob;
    size_t blob_size;
    uint64_t seed;
    uint32_t line, n_read;
    char error[256]; // empty: no error so far
} qrn_case_file;

bool qrn_case_file_open(qrn_case_file *f, const char *path);
void qrn_case_file_close(qrn_case_file *f);

// Reads the next case. False at the end of the file and on an error, which f->error tells.
bool qrn_case_next(qrn_case_file *f, qrn_case *c);

uint32_t qrn_dtype_bits(Qnn_DataType_t dtype);
uint64_t qrn_shape_count(const qrn_shape *s);
size_t qrn_shape_bytes(const qrn_shape *s, Qnn_DataType_t dtype);

#endif
