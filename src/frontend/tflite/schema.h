// SPDX-License-Identifier: MIT
//
// Field numbers and enums of the .tflite format that the reader uses.
#ifndef QRN_FRONTEND_TFLITE_SCHEMA_H
#define QRN_FRONTEND_TFLITE_SCHEMA_H

#define TL_IDENTIFIER "TFL3"
#define TL_VERSION 3
#define TL_CUSTOM 32                                        // builtin code of custom ops
#define TL_TRANSPOSE_CONV_BIAS "Convolution2DTransposeBias" // one of them, of MediaPipe

enum { TL_MODEL_VERSION, TL_MODEL_CODES, TL_MODEL_GRAPHS, TL_MODEL_DESCRIPTION, TL_MODEL_BUFFERS };
enum { TL_MODEL_SIGNATURES = 7 };
enum { TL_CODE_OLD, TL_CODE_CUSTOM, TL_CODE_VERSION, TL_CODE_BUILTIN };
enum { TL_GRAPH_TENSORS, TL_GRAPH_INPUTS, TL_GRAPH_OUTPUTS, TL_GRAPH_OPS, TL_GRAPH_NAME };
enum {
    TL_TENSOR_SHAPE,
    TL_TENSOR_TYPE,
    TL_TENSOR_BUFFER,
    TL_TENSOR_NAME,
    TL_TENSOR_QUANTIZATION,
    TL_TENSOR_VARIABLE,
    TL_TENSOR_SPARSITY,
    TL_TENSOR_SIGNATURE // shape with -1 for dynamic dimensions
};
enum { TL_QUANT_SCALE = 2, TL_QUANT_ZERO, TL_QUANT_DETAILS_TYPE, TL_QUANT_DETAILS, TL_QUANT_AXIS };
enum {
    TL_OP_CODE,
    TL_OP_INPUTS,
    TL_OP_OUTPUTS,
    TL_OP_OPTIONS_TYPE,
    TL_OP_OPTIONS,
    TL_OP_CUSTOM_OPTIONS
};
enum { TL_BUFFER_DATA, TL_BUFFER_OFFSET, TL_BUFFER_SIZE };
enum { TL_SIGNATURE_INPUTS, TL_SIGNATURE_OUTPUTS, TL_SIGNATURE_KEY, TL_SIGNATURE_GRAPH = 4 };
enum { TL_MAP_NAME, TL_MAP_TENSOR };

enum { TL_SAME, TL_VALID }; // padding
typedef enum tl_activation {
    TL_NONE,
    TL_RELU,
    TL_RELU_N1_TO_1,
    TL_RELU6,
    TL_TANH,
    TL_SIGN_BIT
} tl_activation;

#endif
