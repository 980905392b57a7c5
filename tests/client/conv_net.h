// SPDX-License-Identifier: MIT
//
// The net of the tests that repeat a client's calls: Conv2d 3x3 with padding, then Relu. All its
// values are multiples of 1/8 and sums stay below 32, so that fp16 and 16 bits hold results
// exactly; expected values come from the formula of a convolution.
#ifndef QRN_TESTS_CONV_NET_H
#define QRN_TESTS_CONV_NET_H

#include "qnn_client.h"

#include <math.h>

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

enum { SIDE = 4, N_IN = 2, N_OUT = 3, KERNEL = 3 };
enum { N_X = SIDE * SIDE * N_IN, N_Y = SIDE * SIDE * N_OUT, N_W = KERNEL * KERNEL * N_IN * N_OUT };

// Weight k in the order [height, width, in, out], in eighths.
static inline int conv_weight(int k) { return (5 * k + k / 7) % 9 - 4; }
static inline int conv_bias(int out) { return 16 * (out - 1); } // in 64ths
static inline int conv_input(int k, int round) { return (7 * k + 3 * round) % 17 - 8; }

// Element k of the convolution, in 64ths.
static inline int conv_sum(int k, int round) {
    int o = k % N_OUT, x = k / N_OUT % SIDE, y = k / N_OUT / SIDE, sum = conv_bias(o);
    for (int tap = 0; tap < KERNEL * KERNEL * N_IN; tap++) {
        int i = tap % N_IN, col = x + tap / N_IN % KERNEL
        -1, row = y + tap / N_IN / KERNEL
        -1;
        if (row >= 0 && row < SIDE && col >= 0 && col < SIDE)
            sum += conv_weight(tap * N_OUT + o) * conv_input((row * SIDE + col) * N_IN + i, round);
    }
    return sum;
}

// The same after Relu.
static inline int conv_output(int k, int round) {
    int sum = conv_sum(k, round);
    return sum > 0 ? sum : 0;
}

// fp16 of a value that it holds exactly.
static inline uint16_t half_bits(double v) {
    int exponent = 0;
    double m = frexp(fabs(v), &exponent); // 0.5 <= m < 1
    if (m == 0)
        return 0;
    assert_true(m * 2048 == floor(m * 2048) && exponent > -14 && exponent <= 16);
    return (uint16_t)((v < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) | ((int)(m * 2048) & 0x3ff));
}

static inline Qnn_QuantizeParams_t scale_offset(float scale, int32_t offset) {
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, offset};
    return q;
}

// Four parameters of Conv2d; those that are tensors are registered with the graph.
typedef struct conv_params {
    uint32_t two[1], two_two[2], one[2], pads[4];
    Qnn_Param_t list[4];
} conv_params;

static inline Qnn_Param_t tensor_param(const qnn_table *qnn, Qnn_GraphHandle_t g, const char *name,
                                       const char *tensor, uint32_t rank, uint32_t *dims,
                                       uint32_t *data) {
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = describe(tensor, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rank, dims);
    set_buffer(&p.tensorParam, data, (rank == 2 ? 4 : 2) * sizeof *data);
    OK(qnn->tensorCreateGraphTensor(g, &p.tensorParam));
    return p;
}

static inline void make_params(const qnn_table *qnn, Qnn_GraphHandle_t g, conv_params *p) {
    *p = (conv_params){.two = {2}, .two_two = {2, 2}, .one = {1, 1}, .pads = {1, 1, 1, 1}};
    p->list[0] = tensor_param(qnn, g, "stride", "conv_stride_PARAM", 1, p->two, p->one);
    p->list[1] = tensor_param(qnn, g, "pad_amount", "conv_pad_PARAM", 2, p->two_two, p->pads);
    p->list[2] = tensor_param(qnn, g, "dilation", "conv_dilation_PARAM", 1, p->two, p->one);
    p->list[3] = (Qnn_Param_t)QNN_PARAM_INIT;
    p->list[3].paramType = QNN_PARAMTYPE_SCALAR;
    p->list[3].name = "group";
    p->list[3].scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p->list[3].scalarParam.uint32Value = 1;
}

// A node, validated first as these clients do.
static inline void add_node(const qnn_table *qnn, Qnn_BackendHandle_t backend, Qnn_GraphHandle_t g,
                            Qnn_OpConfig_t op) {
    OK(qnn->backendValidateOpConfig(backend, op));
    OK(qnn->graphAddNode(g, op));
}

// The bytes of a context; free() them.
static inline void *binary_of(const qnn_table *qnn, Qnn_ContextHandle_t context, uint64_t *size) {
    Qnn_ContextBinarySize_t written = 0;
    OK(qnn->contextGetBinarySize(context, size));
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    OK(qnn->contextGetBinary(context, bytes, *size, &written));
    assert_int_equal(written, *size);
    return bytes;
}

#endif
