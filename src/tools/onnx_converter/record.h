// SPDX-License-Identifier: MIT
//
// A graph as it was built: the calls that a client makes for its tensors and nodes go on to the
// library and are written down. Data of constants go into the model's data file while they are
// there; the file is a tar archive, one member for each array.
#ifndef QRN_TOOLS_ONNX_CONVERTER_RECORD_H
#define QRN_TOOLS_ONNX_CONVERTER_RECORD_H

#include "frontend/client/client.h"

// Bytes of the data file; size 0: none.
typedef struct mc_blob {
    uint64_t offset, size;
} mc_blob;

typedef struct mc_tensor {
    const char *name; // a name of C, unique in the graph
    const char *given;
    Qnn_TensorV1_t t; // encodings without their arrays
    uint32_t dims[8];
    mc_blob data, scales, offsets, blocks;
    uint32_t blocks_per_axis, storage, block_bits; // of BLOCKWISE_EXPANSION
    const void *inline_data;                       // of a parameter's tensor, for the JSON
} mc_tensor;

typedef struct mc_param {
    const char *name;
    int32_t tensor; // its number, or -1
    Qnn_Scalar_t scalar;
} mc_param;

typedef struct mc_node {
    const char *name, *package, *type;
    const int32_t *in, *out; // numbers of tensors, -1: absent
    uint32_t n_in, n_out, n_params;
    const mc_param *params;
} mc_node;

typedef struct mc_record {
    qrn_arena *arena;
    const char *data_path; // of the data file; it is begun with the first constant
    const char *package;   // (optional) recorded instead of the library's own
    bool count_names;      // tensors between nodes are called by numbers
    mc_tensor *tensors;
    mc_node *nodes;
    uint32_t n_tensors, n_nodes, cap_tensors, cap_nodes;
    uint32_t *by_id; // numbers of tensors, plus 1
    uint32_t cap_ids;
    qrn_strmap tensor_names, node_names; // in use
    uint64_t data_size;                  // of the data file so far
    bool has_data;
    qrn_status failed; // the first failure of ours; its message is kept by the library's caller
    char why[512];
} mc_record;

// From here on what the client builds is recorded; one record at a time.
void mc_record_begin(mc_record *r, qc_client *c);
// Ends the archive; the file itself is kept or removed by qt_file_end. False after a message.
bool mc_record_end(mc_record *r);

#endif
