// SPDX-License-Identifier: MIT
//
// Weights of 4, 8 and 16 bits in every encoding that the HTP supports: results against sums in
// double precision, and the same results from a context binary, where only packed weights are kept.
#include "htp_options.h"
#include "htp_quant.h"

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8
#define U16 QNN_DATATYPE_UFIXED_POINT_16
#define S16 QNN_DATATYPE_SFIXED_POINT_16

#define SOC_V79 69 // SM8750
#define ROWS 50u
#define DEPTH 64u
#define COLS 48u
#define BLOCKS 4u

// SMALL: 8-bit codes that fit 4 bits, with the graph option that packs them.
typedef enum form { TENSOR, BITS4, AXIS, AXIS4, EXPANSION, SMALL, FORMS } form;

// A 1x1 convolution (or, depthwise, one factor per channel) and what its weights mean.
typedef struct layer {
    form form;
    bool depthwise;
    operand x, w, y;
    Qnn_ScaleOffset_t pairs[COLS];
    float scales[COLS];
    uint8_t factors[COLS * BLOCKS];
    int64_t codes_x[ROWS * DEPTH], codes_w[DEPTH * COLS], codes_y[ROWS * COLS];
} layer;

static uint32_t random_state = 7;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void make_layer(layer *l, form how, Qnn_DataType_t x, Qnn_DataType_t w, bool depthwise) {
    bool small = how == BITS4 || how == AXIS4 || how == EXPANSION || how == SMALL;
    uint32_t cin = depthwise ? COLS : DEPTH;
    *l = (layer){.form = how, .depthwise = depthwise};
    l->x = (operand){.type = x,
                     .scale = x == U16 ? 1e-4f : 0.02f,
                     .offset = x == U16 ? -30011 : -119,
                     .rank = 4,
                     .dims = {1, ROWS, 1, cin},
                     .codes = l->codes_x};
    l->w = (operand){.type = w,
                     .scale = w == S16 ? 3e-5f
                              : small  ? 0.11f
                                       : 0.007f,
                     .rank = 4,
                     .dims = {1, 1, depthwise ? 1 : DEPTH, COLS},
                     .codes = l->codes_w};
    l->y = (operand){.type = x,
                     .scale = x == U16 ? 4e-4f : 0.11f,
                     .offset = x == U16 ? -31000 : -121,
                     .rank = 4,
                     .dims = {1, ROWS, 1, COLS},
                     .codes = l->codes_y};
    for (size_t i = 0; i < count_of(&l->x); i++)
        l->codes_x[i] = random_below(1u << bits_of(x));
    for (size_t i = 0; i < count_of(&l->w); i++)
        l->codes_w[i] =
            small ? (int64_t)random_below(16) - 8
                  : (int64_t)random_below(w == S16 ? 65408 : 256) - (w == S16 ? 32768 : 128);
    for (uint32_t c = 0; c < COLS; c++) {
        l->scales[c] = l->w.scale * (0.5f + (float)random_below(100) / 100);
        l->pairs[c] = (Qnn_ScaleOffset_t){l->scales[c], 0};
        for (uint32_t b = 0; b < BLOCKS; b++)
            l->factors[c * BLOCKS + b] = (uint8_t)(1 + random_below(15));
        if (how == EXPANSION)
            l->pairs[c].scale = l->scales[c] /= 16;
    }
}

static double real_weight(const layer *l, uint32_t k, uint32_t c) {
    double code = (double)l->codes_w[(l->depthwise ? 0 : k) * COLS + c];
    if (l->form == TENSOR || l->form == BITS4 || l->form == SMALL)
        return code * (double)l->w.scale;
    double scale = (double)l->scales[c];
    if (l->form == EXPANSION)
        scale = (double)(l->scales[c] * (float)l->factors[c * BLOCKS + k / (DEPTH / BLOCKS)]);
    return code * scale;
}

static double real_result(const layer *l, uint32_t row, uint32_t c) {
    double sum = 0;
    if (l->depthwise)
        return real_of(&l->x, l->codes_x[row * COLS + c]) * real_weight(l, 0, c);
    for (uint32_t k = 0; k < DEPTH; k++)
        sum += real_of(&l->x, l->codes_x[row * DEPTH + k]) * real_weight(l, k, c);
    return sum;
}

static void encode_weights(layer *l, Qnn_Tensor_t *t) {
    Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    switch (l->form) {
    case BITS4:
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
        q->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){4, l->w.scale, 0};
        break;
    case AXIS:
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        q->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){3, COLS, l->pairs};
        break;
    case AXIS4:
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
        q->bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){4, 3, COLS, l->scales, NULL};
        break;
    case EXPANSION: {
        static Qnn_BlockwiseExpansion_t e;
        e = (Qnn_BlockwiseExpansion_t){.axis = 3,
                                       .scaleOffsets = l->pairs,
                                       .numBlocksPerAxis = BLOCKS,
                                       .blockScaleBitwidth = 4,
                                       .blockScaleStorageType =
                                           QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8};
        e.blocksScale8 = l->factors;
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
        q->blockwiseExpansion = &e;
        break;
    }
    default:
        break;
    }
}

// The layer in a graph "g" of the world's context, finalized.
static void build(htp_world *w, layer *l, Qnn_Tensor_t *x, Qnn_Tensor_t *y, Qnn_GraphHandle_t *g) {
    Qnn_Tensor_t in[2];
    Qnn_Param_t params[8];
    size_t size;
    one_node d = {.n_lists = 2};
    d.lists[0] = (list_param){"stride", 1, {2}, {1, 1}};
    d.lists[1] = (list_param){"pad_amount", 2, {2, 2}, {0, 0, 0, 0}};
    QnnHtpGraph_CustomConfig_t pack = GRAPH_OPTION(WEIGHTS_PACKING, .weightsPacking = true);
    HTP_OK(graph_with(w, "g", &pack, l->form == SMALL ? 1 : 0, g));
    void *codes = bytes_of(&l->w, &size);
    *x = in[0] = tensor_of(&l->x, "x", QNN_TENSOR_TYPE_APP_WRITE);
    in[1] = tensor_of(&l->w, "w", QNN_TENSOR_TYPE_STATIC);
    *y = tensor_of(&l->y, "y", QNN_TENSOR_TYPE_APP_READ);
    encode_weights(l, &in[1]);
    htp_buffer(&in[1], codes, size);
    HTP_OK(w->qnn.tensorCreateGraphTensor(*g, &in[0]));
    HTP_OK(w->qnn.tensorCreateGraphTensor(*g, &in[1]));
    HTP_OK(w->qnn.tensorCreateGraphTensor(*g, y));
    *x = in[0];
    Qnn_OpConfig_t op = htp_op("conv", l->depthwise ? "DepthWiseConv2d" : "Conv2d", in, 2, y, 1);
    op.v1.numOfParams = make_params(&w->qnn, *g, &d, params);
    op.v1.params = params;
    HTP_OK(w->qnn.graphAddNode(*g, op));
    HTP_OK(w->qnn.graphFinalize(*g, NULL, NULL));
    test_free(codes);
}

static void execute(htp_world *w, layer *l, Qnn_GraphHandle_t g, Qnn_Tensor_t *x, Qnn_Tensor_t *y) {
    size_t size, y_size = count_of(&l->y) * bits_of(l->y.type) / 8;
    void *codes = bytes_of(&l->x, &size), *results = test_malloc(y_size);
    memset(results, 0x5a, y_size);
    htp_buffer(x, codes, size);
    htp_buffer(y, results, y_size);
    HTP_OK(w->qnn.graphExecute(g, x, 1, y, 1, NULL, NULL));
    codes_from(&l->y, results);
    test_free(codes);
    test_free(results);
}

static void check(const layer *l) {
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        double real = real_result(l, i / COLS, i % COLS), steps = real / (double)l->y.scale;
        bool tie = fabs(steps - floor(steps) - 0.5) < 1e-9; // sums of blocks are rounded in double
        if (!tie && l->codes_y[i] != code_of(&l->y, real))
            fail_msg("form %d, result %u: %lld, expected %lld", l->form, i,
                     (long long)l->codes_y[i], (long long)code_of(&l->y, real));
    }
}

static void every_form_computes_and_survives_a_binary(void **state) {
    (void)state;
    static const Qnn_DataType_t types[][2] = {{U8, S8}, {U16, S8}, {U16, S16}};
    for (int kind = 0; kind < 3 * FORMS * 2; kind++) {
        form how = (form)(kind % FORMS);
        const Qnn_DataType_t *t = types[kind / FORMS % 3];
        bool depthwise = kind >= 3 * FORMS;
        if ((t[1] == S16 && how != TENSOR) || (depthwise && how == EXPANSION))
            continue;
        layer *l = test_malloc(sizeof *l);
        Qnn_Tensor_t x, y;
        Qnn_GraphHandle_t g;
        make_layer(l, how, t[0], t[1], depthwise);
        htp_world w = htp_begin(SOC_V79);
        build(&w, l, &x, &y, &g);
        execute(&w, l, g, &x, &y);
        check(l);
        uint64_t size, written;
        HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
        void *file = test_malloc(size);
        HTP_OK(w.qnn.contextGetBinary(w.context, file, size, &written));
        HTP_OK(w.qnn.contextFree(w.context, NULL));
        HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, file, written, &w.context,
                                             NULL));
        HTP_OK(w.qnn.graphRetrieve(w.context, "g", &g));
        execute(&w, l, g, &x, &y);
        check(l);
        htp_end(&w);
        test_free(file);
        test_free(l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_computes_and_survives_a_binary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
