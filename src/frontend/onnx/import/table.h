// SPDX-License-Identifier: MIT
//
// The groups of importers. Each list ends with a row whose op is NULL.
#ifndef QRN_FRONTEND_ONNX_IMPORT_TABLE_H
#define QRN_FRONTEND_ONNX_IMPORT_TABLE_H

#include "frontend/onnx/import.h"

// One line a group.
// clang-format off
#define OX_GROUPS(X)    \
    X(conv)             \
    X(matmul)           \
    X(einsum)           \
    X(deform)           \
    X(matrix)           \
    X(pool)             \
    X(pool_index)       \
    X(conv_transpose)   \
    X(math)             \
    X(math_binary)      \
    X(math_bits)        \
    X(math_activation)  \
    X(math_special)     \
    X(move)             \
    X(norm)             \
    X(norm_layer)       \
    X(reduce)           \
    X(softmax)          \
    X(sort)             \
    X(image)            \
    X(image_resize)     \
    X(image_roi)        \
    X(image_nms)        \
    X(signal)           \
    X(recurrent)        \
    X(random)           \
    X(stateful)         \
    X(quant)            \
    X(quant_block)      \
    X(control)          \
    X(loop)             \
    X(sequence)         \
    X(attention)        \
    X(attention_fused)  \
    X(attention_grouped)\
    X(attention_rotary) \
    X(attention_state)  \
    X(bitcast)          \
    X(loss)             \
    X(tfidf)
// clang-format on

#define X(group) extern const ox_importer ox_import_##group[];
OX_GROUPS(X)
#undef X

#endif
