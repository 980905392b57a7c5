// SPDX-License-Identifier: MIT
//
// The weights of a model in the form in which ONNX graphs read them, written one behind the other
// to one file that all graphs share.
//
//   matrices of layers   [cols, rows], as MatMul wants its second operand
//   embedding and head   [vocab, hidden]; one tensor where the file ties them
//   norms and biases     [n], always float32
//
// Blocks of quantized matrices run along `cols`: DequantizeLinear with block_size 32 and float32
// scales. 4-bit ones have zero points where the file's do (Q4_0); else the numbers of a block are
// scale * int4 + rest, and the rest is multiplied by the sum of the block's activations. So are
// those of Q4_1 and Q4_K, which keep their values.
#ifndef QRN_FRONTEND_LLM_WEIGHTS_H
#define QRN_FRONTEND_LLM_WEIGHTS_H

#include "base/strmap.h"
#include "frontend/llm/llama.h"

// X(NAME, word of the command line)
#define QL_WEIGHT_FORMS(X)                                                                         \
    X(FP32, "fp32")                                                                                \
    X(FP16, "fp16")                                                                                \
    X(W8, "w8")                                                                                    \
    X(W4, "w4")                                                                                    \
    X(KEEP, "keep")

typedef enum ql_weight_form {
#define X(name, word) QL_FORM_##name,
    QL_WEIGHT_FORMS(X)
#undef X
        QL_FORMS
} ql_weight_form;

typedef struct ql_span {
    uint64_t offset, bytes; // in the file; 0 bytes: not there
} ql_span;

typedef struct ql_weight {
    const char *name; // of the tensor
    int type;         // OX_F32, OX_F16, OX_I8, OX_U4 or OX_I4
    uint32_t rank, dims[2];
    uint32_t axis; // that blocks run along, of quantized ones
    ql_span values, scales;
    ql_span zeros; // of OX_U4
    ql_span rest;  // of OX_I4: float32, as the scales
} ql_weight;

// Where bytes go. `write` returns false when nothing more can be written; it reports why itself.
typedef struct ql_sink {
    bool (*write)(void *ctx, const void *data, size_t n);
    void (*progress)(void *ctx, size_t done, size_t total); // (optional) tensors
    void *ctx;
} ql_sink;

typedef struct ql_weights {
    qrn_strmap by_name; // to ql_weight
    uint64_t bytes;     // written
    uint32_t n_exact;   // matrices whose quantized values are those of the file
    uint32_t n_requantized;
} ql_weights;

// Bytes that the file will have, for a look at the disk.
uint64_t ql_weights_bytes(const ql_llama *m, ql_weight_form form);
// QRN_E_SYSTEM when `write` failed.
qrn_status ql_weights_write(const ql_llama *m, ql_weight_form form, const ql_sink *sink,
                            qrn_arena *arena, ql_weights *out);

#endif
