// SPDX-License-Identifier: MIT
//
// The HTP's limits on encodings, biases and weights.
#include "limit_cases.h"

static void encode(qrn_tensor *t, float scale, int32_t offset) {
    t->quant = (qrn_quant){.kind = QRN_QUANT_TENSOR,
                           .bits = qrn_dtypes[t->dtype].bits,
                           .scale = scale,
                           .offset = offset};
    t->encoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
}

static void encode_axis(qrn_tensor *t, uint32_t axis, uint32_t bits, const int32_t *offsets) {
    static const float scales[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    t->quant = (qrn_quant){.kind = QRN_QUANT_AXIS,
                           .bits = (uint8_t)bits,
                           .axis = (uint8_t)axis,
                           .scales = scales,
                           .offsets = offsets,
                           .n_groups = t->shape.dims[axis]};
    t->encoding = bits == qrn_dtypes[t->dtype].bits
                      ? QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET
                      : QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
}

static void encode_blocks(qrn_tensor *t, uint32_t channel, uint32_t encoding) {
    encode_axis(t, channel, 8, NULL);
    t->quant.kind = QRN_QUANT_BLOCK;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        t->quant.block[i] = i == channel ? 1 : t->shape.dims[i];
    t->encoding = encoding;
}

qrn_tensor *weighted(call *k, const char *op, qrn_dtype x, qrn_dtype w, uint32_t rank) {
    static const uint32_t dims[3][5] = {{4, 4}, {3, 3, 4, 4}, {3, 3, 3, 4, 4}};
    call_begin(k, op);
    call_in(k, x, rank, ones);
    qrn_tensor *t = call_in(k, w, rank, dims[rank == 2 ? 0 : rank == 4 ? 1 : 2]);
    t->role = QRN_ROLE_STATIC;
    encode(t, 1.0f, 0);
    call_out(k, x, rank, ones);
    return t;
}

// --- encodings

void encodings(void **state) {
    (void)state;
    call k;
    unary(&k, "TopK", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 2);
    call_out(&k, QRN_DTYPE_I32, 2, ones);
    encode(&k.in_t[0], 0.5f, -3);
    encode(&k.out_t[0], 0.5f, -3);
    accepts(&k, "same encoding as in0");
    encode(&k.out_t[0], 0.5f, -4);
    refuses(&k, "same encoding as in0", "output 0: scale 0.5 offset -4");
    encode(&k.out_t[0], 0.25f, -3);
    refuses(&k, "same encoding as in0", "output 0: scale 0.25 offset -3");
    static const struct {
        const char *op, *text;
        qrn_dtype type;
        float scale;
        int32_t offset;
    } fixed[] = {
        {"Sigmoid", "uq16: scale 1/65536.0, zero-point 0", QRN_DTYPE_UQ16, 1.0f / 65536, 0},
        {"Sigmoid", "sq16: scale 1/32768.0, zero-point 0", QRN_DTYPE_SQ16, 1.0f / 32768, 0},
        {"Tanh", "uq16: scale 1/32768.0, zero-point 32768", QRN_DTYPE_UQ16, 1.0f / 32768, -32768},
        {"Tanh", "sq16: scale 1/32768.0, zero-point 0", QRN_DTYPE_SQ16, 1.0f / 32768, 0},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        unary(&k, fixed[i].op, fixed[i].type, fixed[i].type, 2);
        encode(&k.in_t[0], 0.1f, 0);
        encode(&k.out_t[0], fixed[i].scale, fixed[i].offset);
        accepts(&k, fixed[i].text);
        encode(&k.out_t[0], fixed[i].scale, fixed[i].offset - 1);
        refuses(&k, fixed[i].text, "output 0: ");
        encode(&k.out_t[0], fixed[i].scale * 1.01f, fixed[i].offset);
        refuses(&k, fixed[i].text, "output 0: ");
    }
}

void biases(void **state) {
    (void)state;
    call k;
    const char *derived =
        "sq32 symmetric; with per-channel weights the bias encoding is expected as "
        "scale 0, offset 0 (derived)";
    encode_axis(weighted(&k, "Conv2d", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 4), 3, 8, NULL);
    qrn_tensor *b = call_in(&k, QRN_DTYPE_SQ32, DIMS(4));
    encode(b, 0.0f, 0);
    accepts(&k, derived);
    encode(b, 0.125f, 0); // clients write the scale out
    accepts(&k, derived);
    encode_axis(b, 0, 32, NULL);
    accepts(&k, derived);
    encode(b, 0.125f, 1);
    refuses(&k, derived, "input 2: sq32 with an offset");
    weighted(&k, "FullyConnected", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 2);
    b = call_in(&k, QRN_DTYPE_SQ32, DIMS(4));
    encode(b, 0.125f, 0);
    accepts(&k, "sq32 must be symmetric (offset 0)");
    encode(b, 0.125f, -7);
    refuses(&k, "sq32 must be symmetric (offset 0)", "input 2: sq32 with an offset");
}

// --- weights

#define CONV_AXIS                                                                                  \
    "per-axis (AXIS_/BW_AXIS_SCALE_OFFSET) only on the channel axis, signed symmetric; BW_AXIS "   \
    "needs a static weight; AXIS needs a static weight or one computed only from static tensors; " \
    "16-bit weight needs 16-bit activation, symmetric, arch>=V73"
#define FC_AXIS                                                                                    \
    "uq8 weight is 8- or 4-bit, rank 2; per-axis encodings only on dim 0 (m) of [m,n], signed "    \
    "symmetric; BW_AXIS needs static; AXIS needs static or computed from static; 16-bit weight "   \
    "needs 16-bit activation, symmetric, arch>=V73"
#define MATMUL_AXIS                                                                                \
    "per-axis encodings on the last dim (n), or on the second-last (m) when transpose_in1=1; "     \
    "signed symmetric; BW_AXIS needs static; AXIS needs static or computed from static"

void weights_by_axis(void **state) {
    (void)state;
    static const int32_t shifted[8] = {0, 0, 5, 0};
    static const struct {
        const char *op, *text;
        uint32_t rank, channel, other;
        qrn_dtype x;
    } row[] = {
        {"Conv2d", CONV_AXIS, 4, 3, 2, QRN_DTYPE_UQ8},
        {"DepthWiseConv2d", CONV_AXIS, 4, 3, 2, QRN_DTYPE_UQ16},
        {"TransposeConv2d", CONV_AXIS, 4, 3, 2, QRN_DTYPE_UQ8},
        {"FullyConnected", FC_AXIS, 2, 0, 1, QRN_DTYPE_UQ8},
        {"MatMul", MATMUL_AXIS, 2, 1, 0, QRN_DTYPE_UQ8},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        call k;
        qrn_tensor *w = weighted(&k, row[i].op, row[i].x, QRN_DTYPE_SQ8, row[i].rank);
        encode_axis(w, row[i].channel, 8, NULL);
        accepts_on(68, &k, row[i].text);
        encode_axis(w, row[i].channel, 4, NULL);
        accepts_on(68, &k, row[i].text);
        w->role = QRN_ROLE_NATIVE; // what makes it is not known while validating
        refuses(&k, row[i].text, "input 1: BW_AXIS_SCALE_OFFSET on a tensor that is not static");
        encode_axis(w, row[i].channel, 8, NULL);
        accepts(&k, row[i].text);
        w->role = QRN_ROLE_INPUT;
        refuses(&k, row[i].text, "computed from static ones");
        w->role = QRN_ROLE_STATIC;
        encode_axis(w, row[i].other, 8, NULL);
        refuses(&k, row[i].text, "HTP supports axis ");
        encode_axis(w, row[i].channel, 8, shifted);
        refuses(&k, row[i].text, "encoding by axis of sq8 with offsets");
        w->dtype = QRN_DTYPE_UQ8;
        encode_axis(w, row[i].channel, 8, NULL);
        refuses(&k, row[i].text, "encoding by axis of uq8");
    }
    call k;
    qrn_tensor *w = weighted(&k, "MatMul", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 2);
    call_b8(&k, "transpose_in1", true);
    encode_axis(w, 0, 8, NULL);
    accepts(&k, MATMUL_AXIS);
    encode_axis(w, 1, 8, NULL);
    refuses(&k, MATMUL_AXIS, "encoding by axis 1, HTP supports axis 0");
    w = weighted(&k, "Conv3d", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 5);
    encode_axis(w, 4, 8, NULL);
    accepts(&k, "AXIS_SCALE_OFFSET only on the channel axis, signed symmetric");
    encode_axis(w, 3, 8, NULL);
    refuses(&k, "AXIS_SCALE_OFFSET only on the channel axis, signed symmetric", "axis 3");
    w = weighted(&k, "FullyConnected", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 2);
    w->quant.bits = 4;
    accepts(&k, FC_AXIS);
    w->quant.bits = 3;
    refuses(&k, FC_AXIS, "encoding of 3 bits");
}

// A weight that a Convert makes from a constant, and one that it makes from an input.
void weights_computed_from_static_ones(void **state) {
    (void)state;
    qrn_graph g = {.name = "g"};
    qrn_tensor source = call_tensor(QRN_DTYPE_SQ8, QRN_ROLE_STATIC, DIMS(3, 3, 4, 4));
    source.graph = &g;
    qrn_tensor *in[] = {&source};
    qrn_node convert = {.name = "c", .n_in = 1, .in = in, .graph = &g};
    call k;
    qrn_tensor *w = weighted(&k, "Conv2d", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 4);
    encode_axis(w, 3, 8, NULL);
    w->role = QRN_ROLE_NATIVE;
    w->graph = &g;
    w->producer = &convert;
    accepts(&k, CONV_AXIS);
    source.role = QRN_ROLE_INPUT;
    refuses(&k, CONV_AXIS, "computed from static ones");
    // A chain that doubles at each step is given up, not walked to its end.
    enum { STEPS = 40 };
    qrn_tensor step[STEPS];
    qrn_tensor *twice[STEPS][2];
    qrn_node add[STEPS];
    source.role = QRN_ROLE_STATIC;
    for (int i = 0; i < STEPS; i++) {
        step[i] = *w;
        step[i].producer = &add[i];
        twice[i][0] = twice[i][1] = i ? &step[i - 1] : &source;
        add[i] = (qrn_node){.n_in = 2, .in = twice[i], .graph = &g};
    }
    w->producer = &add[STEPS - 1];
    refuses(&k, CONV_AXIS, "computed from static ones");
}

void weights_of_16_bits(void **state) {
    (void)state;
    static const struct {
        const char *op, *text;
        uint32_t rank, arch;
    } row[] = {
        {"Conv2d", CONV_AXIS, 4, 73},
        {"FullyConnected", FC_AXIS, 2, 73},
        {"MatMul", "16-bit weight needs 16-bit activation, symmetric, arch>=V73", 2, 73},
        {"LayerNorm", "16-bit gamma needs 16-bit input, symmetric, arch>=V73", 2, 73},
        {"Batchnorm", "16-bit weight needs 16-bit activation and symmetric encoding", 2, 68},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        call k;
        qrn_tensor *w = weighted(&k, row[i].op, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16, row[i].rank);
        accepts_on(row[i].arch, &k, row[i].text);
        if (row[i].arch > 68)
            refuses_on(
                69, &k, row[i].text,
                "sq16 needs an HTP of v73 or later, this device is v69; choose a SoC such as ");
        encode(w, 1.0f, 12);
        refuses(&k, row[i].text, "input 1: sq16 with offset 12");
        if (row[i].arch == 68)
            continue;
        w->dtype = QRN_DTYPE_UQ16;
        encode(w, 1.0f, -32768);
        accepts(&k, row[i].text);
        encode(w, 1.0f, 0);
        refuses(&k, row[i].text, "input 1: uq16 with offset 0");
    }
}

#define EXPANSION                                                                                  \
    "BLOCKWISE_EXPANSION on the channel axis only, signed symmetric, weight static or computed "   \
    "from static tensors, arch>=V79"

void weights_by_block(void **state) {
    (void)state;
    static const int32_t shifted[8] = {0, 0, 5, 0};
    const uint32_t expansion = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    call k;
    qrn_tensor *w = weighted(&k, "FullyConnected", QRN_DTYPE_UQ16, QRN_DTYPE_SQ8, 2);
    encode_blocks(w, 0, expansion);
    accepts_on(69, &k, EXPANSION);
    refuses_on(68, &k, EXPANSION, "input 1: BLOCKWISE_EXPANSION needs an HTP of v69 or later");
    w->quant.offsets = shifted;
    refuses(&k, EXPANSION, "BLOCKWISE_EXPANSION of sq8 with offsets");
    encode_blocks(w, 1, expansion);
    refuses(&k, EXPANSION, "HTP supports axis 0");
    encode_blocks(w, 0, expansion);
    w->role = QRN_ROLE_INPUT;
    refuses(&k, EXPANSION, "static or computed from static ones");
    w = weighted(&k, "MatMul", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 2);
    encode_blocks(w, 1, expansion);
    accepts(&k, EXPANSION "; transpose_in1 must be 0");
    call_b8(&k, "transpose_in1", true);
    encode_blocks(w, 0, expansion);
    refuses(&k, EXPANSION "; transpose_in1 must be 0", "BLOCKWISE_EXPANSION with transpose_in1");
}

void weights_of_float_inputs(void **state) {
    (void)state;
    const char *text = "sq8 weight with float activation only with AXIS_SCALE_OFFSET, "
                       "BW_AXIS_SCALE_OFFSET or BLOCK encoding and only static";
    const char *later = "f16 activation with 8/4/2-bit weights in BW_FLOAT_BLOCK encoding";
    call k;
    qrn_tensor *w = weighted(&k, "FullyConnected", QRN_DTYPE_F16, QRN_DTYPE_SQ8, 2);
    refuses(&k, text,
            "input 1: sq8 weight with a float input, HTP supports encodings by axis or block");
    encode_axis(w, 0, 4, NULL);
    accepts(&k, text);
    encode_blocks(w, 0, QNN_QUANTIZATION_ENCODING_BLOCK);
    accepts(&k, text);
    w->role = QRN_ROLE_NATIVE;
    refuses(&k, text, "HTP supports static ones");
    w = weighted(&k, "Conv2d", QRN_DTYPE_F16, QRN_DTYPE_UQ8, 4);
    refuses(&k, later, "HTP supports encoding BW_FLOAT_BLOCK");
    encode_blocks(w, 3, QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK);
    accepts(&k, later);
    w = weighted(&k, "FullyConnected", QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, 2);
    w->dtype = QRN_DTYPE_SQ8;
    k.out_t[0].dtype = QRN_DTYPE_SQ8; // input and output differ: only the later row fits
    encode_axis(w, 0, 2, NULL);
    accepts(&k, "8-bit activation with 2-bit per-channel weight");
    encode_axis(w, 0, 4, NULL);
    refuses(&k, "8-bit activation with 2-bit per-channel weight", "encoding of 4 bits");
    w = weighted(&k, "Conv2d", QRN_DTYPE_UQ16, QRN_DTYPE_SQ4, 4);
    encode_axis(w, 3, 4, NULL);
    accepts(&k, "4-bit weights");
    encode_axis(w, 2, 4, NULL);
    refuses(&k, "4-bit weights", "input 1: encoding by axis 2, HTP supports axis 3");
}
