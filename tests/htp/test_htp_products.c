// SPDX-License-Identifier: MIT
//
// Quantized sums of products on the HTP: Relu folding (HTP-GRF-21), short-depth convolutions
// (HTP-GRF-22), packing of small weights (HTP-WPK-01) and 16-bit weights (HTP-A16), against exact
// sums in double precision.
#include "htp_describe.h"
#include "htp_log.h"
#include "htp_options.h"
#include "htp_quant.h"

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8
#define U16 QNN_DATATYPE_UFIXED_POINT_16
#define S16 QNN_DATATYPE_SFIXED_POINT_16

#define SOC_V73 43 // SM8550
#define SOC_V69 36 // SM8450

#define ROWS 37u
#define DEPTH 20u
#define COLS 40u

static uint32_t random_state = 1;
static int64_t random_code(int64_t lo, int64_t hi) {
    random_state = random_state * 1664525u + 1013904223u;
    return lo + (int64_t)((random_state >> 8) % (uint64_t)(hi - lo + 1));
}

// A product of [ROWS, DEPTH] and [DEPTH, COLS], or, depthwise, of [ROWS, COLS] and [COLS], written
// as one of five ops.
typedef struct product {
    const char *op;
    operand x, w, y;
    one_node node;
    bool depthwise, by_column; // element (k, j) of w lies at j * DEPTH + k
} product;

static void fill(operand *o, int64_t lo, int64_t hi) {
    o->codes = test_malloc(count_of(o) * sizeof *o->codes);
    for (size_t i = 0; i < count_of(o); i++)
        o->codes[i] = random_code(lo, hi);
}

static void make_product(product *p, const char *op, Qnn_DataType_t x, Qnn_DataType_t w,
                         Qnn_DataType_t y) {
    bool fc = strcmp(op, "FullyConnected") == 0, mm = strcmp(op, "MatMul") == 0;
    bool conv = !fc && !mm;
    *p = (product){.op = op, .depthwise = strcmp(op, "DepthWiseConv2d") == 0, .by_column = fc};
    uint32_t cin = p->depthwise ? COLS : DEPTH;
    float fine = x == U16 ? 1.0f / 256 : 1.0f, fine_w = w == S16 ? 1.0f / 256 : 1.0f;
    p->x = (operand){.type = x, .scale = 0.031f * fine, .offset = x == U16 ? -29000 : -113};
    p->w = (operand){.type = w, .scale = 0.011f * fine_w};
    p->y = (operand){
        .type = y, .scale = y == U16 ? 0.0011f : 0.17f, .offset = y == U16 ? -20000 : -90};
    if (fc) {
        p->x.rank = p->w.rank = p->y.rank = 2;
        memcpy(p->x.dims, (uint32_t[]){ROWS, DEPTH}, 8);
        memcpy(p->w.dims, (uint32_t[]){COLS, DEPTH}, 8);
        memcpy(p->y.dims, (uint32_t[]){ROWS, COLS}, 8);
    } else if (mm) {
        p->x.rank = p->w.rank = p->y.rank = 3;
        memcpy(p->x.dims, (uint32_t[]){1, ROWS, DEPTH}, 12);
        memcpy(p->w.dims, (uint32_t[]){1, DEPTH, COLS}, 12);
        memcpy(p->y.dims, (uint32_t[]){1, ROWS, COLS}, 12);
    } else {
        p->x.rank = p->w.rank = p->y.rank = 4;
        memcpy(p->x.dims, (uint32_t[]){1, ROWS, 1, cin}, 16);
        memcpy(p->w.dims, (uint32_t[]){1, 1, p->depthwise ? 1 : DEPTH, COLS}, 16);
        memcpy(p->y.dims, (uint32_t[]){1, ROWS, 1, COLS}, 16);
    }
    fill(&p->x, lowest(x), highest(x));
    fill(&p->w, lowest(w), w == S16 ? 0x7f7f : highest(w));
    fill(&p->y, 0, 0);
    p->node = (one_node){.op = op, .in = {&p->x, &p->w}, .n_in = 2, .statics = 2, .out = &p->y};
    if (conv) {
        p->node.n_lists = 2;
        p->node.lists[0] = (list_param){"stride", 1, {2}, {1, 1}};
        p->node.lists[1] = (list_param){"pad_amount", 2, {2, 2}, {0, 0, 0, 0}};
    }
}

static void free_product(product *p) {
    test_free(p->x.codes);
    test_free(p->w.codes);
    test_free(p->y.codes);
}

// The real result i: exact, for sums of integers below 2^53.
static double exact(const product *p, size_t i) {
    size_t row = i / COLS, col = i % COLS;
    double sum = 0;
    for (size_t k = 0; k < (p->depthwise ? 1 : DEPTH); k++) {
        int64_t x = p->x.codes[p->depthwise ? i : row * DEPTH + k] + p->x.offset;
        int64_t w = p->w.codes[p->by_column ? col * DEPTH + k : k * COLS + col] + p->w.offset;
        sum += (double)(x * w);
    }
    return sum * ((double)p->x.scale * (double)p->w.scale);
}

static const char *const product_ops[] = {"FullyConnected", "MatMul", "Conv2d", "DepthWiseConv2d",
                                          "TransposeConv2d"};

// --- HTP-GRF-21

typedef struct relu_chain {
    product p;      // y is the tensor in the middle
    operand y;      // behind the Relu
    const char *op; // Relu or ReluMinMax
    double low, high;
    Qnn_TensorType_t middle; // its role
    bool read_twice;         // the middle has another reader
    bool floats;             // another node of the graph computes on floats
    bool fold_off;
} relu_chain;

static void run_chain(htp_world *w, relu_chain *c) {
    static unsigned number;
    char name[32];
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t in[NODE_OPERANDS], mid, y, z;
    void *data[NODE_OPERANDS] = {NULL};
    snprintf(name, sizeof name, "chain%u", number++);
    QnnHtpGraph_CustomConfig_t off =
        GRAPH_OPTION(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, .foldReluActivationIntoConvOff = true);
    HTP_OK(graph_with(w, name, &off, c->fold_off ? 1 : 0, &g));
    one_node d = c->p.node;
    mid = tensor_of(d.out, "mid", c->middle);
    for (uint32_t i = 0; i < 2; i++) {
        size_t size;
        data[i] = bytes_of(d.in[i], &size);
        in[i] = tensor_of(d.in[i], i ? "w" : "x",
                          i ? QNN_TENSOR_TYPE_STATIC : QNN_TENSOR_TYPE_APP_WRITE);
        htp_buffer(&in[i], i ? data[i] : NULL, i ? size : 0);
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &in[i]));
        htp_buffer(&in[i], data[i], size);
    }
    y = tensor_of(&c->y, "y", QNN_TENSOR_TYPE_APP_READ);
    z = y;
    z.v1.name = "z";
    HTP_OK(w->qnn.tensorCreateGraphTensor(g, &mid));
    HTP_OK(w->qnn.tensorCreateGraphTensor(g, &y));
    Qnn_Param_t params[8];
    Qnn_OpConfig_t op = htp_op("product", d.op, in, 2, &mid, 1);
    op.v1.numOfParams = make_params(&w->qnn, g, &d, params);
    op.v1.params = params;
    HTP_OK(w->qnn.graphAddNode(g, op));
    op = htp_op("relu", c->op, &mid, 1, &y, 1);
    Qnn_Param_t limits[] = {scalar_f32("min_value", (float)c->low),
                            scalar_f32("max_value", (float)c->high)};
    op.v1.params = limits;
    op.v1.numOfParams = strcmp(c->op, "ReluMinMax") == 0 ? 2 : 0;
    HTP_OK(w->qnn.graphAddNode(g, op));
    Qnn_Tensor_t outs[4];
    float beside_out[2];
    uint32_t n_outs = 0;
    size_t size = count_of(&c->y) * bits_of(c->y.type) / 8;
    void *buffers[3] = {test_malloc(size), test_malloc(size), test_malloc(2 * size)};
    if (c->read_twice) {
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &z));
        HTP_OK(w->qnn.graphAddNode(g, htp_op("other", "Convert", &mid, 1, &z, 1)));
        htp_buffer(&z, buffers[1], size);
        outs[n_outs++] = z;
    }
    if (c->middle == QNN_TENSOR_TYPE_APP_READ) {
        htp_buffer(&mid, buffers[2], count_of(d.out) * bits_of(d.out->type) / 8);
        outs[n_outs++] = mid;
    }
    htp_buffer(&y, buffers[0], size);
    outs[n_outs++] = y;
    uint32_t dims[] = {2};
    float beside[2] = {-1, 2};
    if (c->floats) {
        Qnn_Tensor_t from =
            htp_tensor("from", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
        Qnn_Tensor_t to =
            htp_tensor("to", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims);
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &from));
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &to));
        HTP_OK(w->qnn.graphAddNode(g, htp_op("beside", "ElementWiseNeg", &from, 1, &to, 1)));
        htp_buffer(&from, beside, sizeof beside);
        htp_buffer(&to, beside_out, sizeof beside_out);
        in[1] = from;
        outs[n_outs++] = to;
    }
    HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
    HTP_OK(w->qnn.graphExecute(g, in, c->floats ? 2 : 1, outs, n_outs, NULL, NULL));
    codes_from(&c->y, buffers[0]);
    for (int i = 0; i < 3; i++)
        test_free(buffers[i]);
    test_free(data[0]);
    test_free(data[1]);
}

// The definition with and without folding; how many results are as each says.
static void compare_chain(const relu_chain *c, size_t *folded, size_t *apart) {
    *folded = *apart = 0;
    for (size_t i = 0; i < ROWS * COLS; i++) {
        double real = exact(&c->p, i), between = real_of(&c->p.y, code_of(&c->p.y, real));
        *folded += c->y.codes[i] == code_of(&c->y, fmin(fmax(real, c->low), c->high));
        *apart += c->y.codes[i] == code_of(&c->y, fmin(fmax(between, c->low), c->high));
    }
}

// In the middle a coarse encoding that cuts the range off: rounding twice is another result.
static void make_chain(relu_chain *c, const char *product_op, const char *op, Qnn_DataType_t x,
                       Qnn_DataType_t y) {
    *c = (relu_chain){.op = op, .high = INFINITY, .middle = QNN_TENSOR_TYPE_NATIVE};
    make_product(&c->p, product_op, x, S8, y);
    c->p.y.scale *= c->p.depthwise ? 0.4f : 1.7f;
    c->y = c->p.y;
    c->y.scale *= 0.31f;
    c->y.offset = 0;
    c->y.codes = test_malloc(count_of(&c->y) * sizeof *c->y.codes);
    if (strcmp(op, "ReluMinMax") == 0) { // something is left to clamp
        c->low = -0.5;
        c->high = 4.5;
        c->y.offset = y == U16 ? -3001 : -31;
    }
}

static void free_chain(relu_chain *c) {
    free_product(&c->p);
    test_free(c->y.codes);
}

static void htp_grf_21_relu_gives_the_product_its_encoding(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    for (size_t o = 0; o < 5; o++)
        for (int kind = 0; kind < 4; kind++) {
            relu_chain c;
            size_t folded, apart;
            make_chain(&c, product_ops[o], kind % 2 ? "ReluMinMax" : "Relu", kind < 2 ? U8 : U16,
                       kind < 2 ? U8 : U16);
            run_chain(&w, &c);
            compare_chain(&c, &folded, &apart);
            assert_int_equal(folded, ROWS * COLS);
            assert_true(apart < ROWS * COLS * 9 / 10); // so the test can tell
            free_chain(&c);
        }
    htp_end(&w);
}

// Beside floats, which such a device computes as halves.
static void htp_grf_21_folds_in_graphs_with_floats(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V73);
    for (int kind = 0; kind < 2; kind++) {
        relu_chain c;
        size_t folded, apart;
        make_chain(&c, "Conv2d", kind ? "ReluMinMax" : "Relu", U8, U8);
        c.floats = true;
        run_chain(&w, &c);
        compare_chain(&c, &folded, &apart);
        assert_int_equal(folded, ROWS * COLS);
        free_chain(&c);
    }
    htp_end(&w);
}

static void htp_grf_21_option_off_rounds_twice(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    for (size_t o = 0; o < 5; o++)
        for (int kind = 0; kind < 2; kind++) {
            relu_chain c;
            size_t folded, apart;
            make_chain(&c, product_ops[o], kind ? "ReluMinMax" : "Relu", U8, U8);
            c.fold_off = true;
            run_chain(&w, &c);
            compare_chain(&c, &folded, &apart);
            assert_int_equal(apart, ROWS * COLS);
            assert_true(folded < ROWS * COLS * 9 / 10);
            free_chain(&c);
        }
    htp_end(&w);
}

static void htp_grf_21_what_others_see_is_not_folded(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    for (int kind = 0; kind < 2; kind++) {
        relu_chain c;
        size_t folded, apart;
        make_chain(&c, "Conv2d", "Relu", U8, U8);
        c.read_twice = kind == 0;
        c.middle = kind == 0 ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ;
        run_chain(&w, &c);
        compare_chain(&c, &folded, &apart);
        assert_int_equal(apart, ROWS * COLS);
        assert_true(folded < ROWS * COLS * 9 / 10);
        free_chain(&c);
    }
    htp_end(&w);
}

// --- HTP-GRF-22, HTP-WPK-01

// Runs the product in a graph of its own and compares all results with the exact ones.
static void check_product(htp_world *w, product *p) {
    HTP_OK(run_node(w, &p->node));
    for (size_t i = 0; i < ROWS * COLS; i++)
        if (p->y.codes[i] != code_of(&p->y, exact(p, i)))
            fail_msg("%s, result %zu: %lld, expected %lld", p->op, i, (long long)p->y.codes[i],
                     (long long)code_of(&p->y, exact(p, i)));
}

// The exact path is always taken, so the option changes nothing.
static void htp_grf_22_short_depth_with_asymmetric_weights_is_exact(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    static const Qnn_DataType_t types[] = {U8, U16};
    for (int off = 0; off < 2; off++)
        for (size_t t = 0; t < 2; t++) {
            product p;
            make_product(&p, "Conv2d", types[t], U8, types[t]);
            p.w.offset = -77;
            for (size_t i = 0; i < ROWS; i++) // a depth of 3: what lies behind counts as 0
                for (size_t k = 3; k < DEPTH; k++)
                    p.x.codes[i * DEPTH + k] = -p.x.offset;
            Qnn_GraphHandle_t g;
            Qnn_Tensor_t in[NODE_OPERANDS], out;
            void *data[NODE_OPERANDS];
            uint8_t y[ROWS * COLS * 2];
            char name[32];
            snprintf(name, sizeof name, "short%d%zu", off, t);
            QnnHtpGraph_CustomConfig_t option =
                GRAPH_OPTION(SHORT_DEPTH_CONV_ON_HMX_OFF, .shortDepthConvOnHmxOff = off != 0);
            HTP_OK(graph_with(&w, name, &option, 1, &g));
            HTP_OK(build_node(&w.qnn, g, &p.node, in, data, &out));
            HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
            htp_buffer(&out, y, count_of(&p.y) * bits_of(p.y.type) / 8);
            HTP_OK(w.qnn.graphExecute(g, in, 1, &out, 1, NULL, NULL));
            codes_from(&p.y, y);
            for (size_t i = 0; i < ROWS * COLS; i++)
                assert_int_equal(p.y.codes[i], code_of(&p.y, exact(&p, i)));
            test_free(data[0]);
            test_free(data[1]);
            free_product(&p);
        }
    htp_end(&w);
}

// Bytes of the context binary of one large layer whose weights fit 4 bits.
static uint64_t binary_bytes(bool on) {
    htp_world w = htp_begin(0);
    static int64_t codes[512 * 512], x_codes[512], y_codes[512];
    operand x = {U8, 0.1f, -128, 2, {1, 512}, x_codes, NULL},
            y = {U8, 2.0f, -128, 2, {1, 512}, y_codes, NULL};
    operand weight = {S8, 0.5f, 0, 2, {512, 512}, codes, NULL};
    for (size_t i = 0; i < 512 * 512; i++)
        codes[i] = random_code(-8, 7);
    one_node d = {.op = "FullyConnected", .in = {&x, &weight}, .n_in = 2, .statics = 2, .out = &y};
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t in[NODE_OPERANDS], out;
    void *data[NODE_OPERANDS];
    QnnHtpGraph_CustomConfig_t option = GRAPH_OPTION(WEIGHTS_PACKING, .weightsPacking = on);
    HTP_OK(graph_with(&w, "g", &option, 1, &g));
    HTP_OK(build_node(&w.qnn, g, &d, in, data, &out));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
    uint64_t size;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    test_free(data[0]);
    test_free(data[1]);
    htp_end(&w);
    return size;
}

static void htp_wpk_01_weights_that_fit_4_bits_shrink_the_binary(void **state) {
    (void)state;
    uint64_t whole = binary_bytes(false), packed = binary_bytes(true);
    assert_true(whole > 512 * 512);
    assert_true(packed + 512 * 512 / 2 <= whole + 4096); // sections are aligned to pages
}

static void htp_wpk_01_weights_that_fit_4_bits_take_half_the_bytes(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    uint64_t sizes[6];
    for (int kind = 0; kind < 6; kind++) {
        bool on = kind % 2, fits = kind < 4;
        product p;
        make_product(&p, "Conv2d", kind < 2 ? U8 : U16, S8, kind < 2 ? U8 : U16);
        for (size_t i = 0; fits && i < count_of(&p.w); i++)
            p.w.codes[i] = random_code(-8, 7);
        p.w.codes[0] = fits ? -8 : 8;
        Qnn_GraphHandle_t g;
        Qnn_Tensor_t in[NODE_OPERANDS], out;
        void *data[NODE_OPERANDS];
        uint8_t y[ROWS * COLS * 2];
        char name[32];
        snprintf(name, sizeof name, "pack%d", kind);
        QnnHtpGraph_CustomConfig_t option = GRAPH_OPTION(WEIGHTS_PACKING, .weightsPacking = on);
        HTP_OK(graph_with(&w, name, &option, 1, &g));
        HTP_OK(build_node(&w.qnn, g, &p.node, in, data, &out));
        HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
        sizes[kind] = describe_context(&w).graphs[kind].v2.constSize;
        if (on) // two panels of 32 columns, 32 deep, in half the bytes
            assert_int_equal(sizes[kind - 1] - sizes[kind], fits ? 32 * 32 : 0);
        htp_buffer(&out, y, count_of(&p.y) * bits_of(p.y.type) / 8);
        HTP_OK(w.qnn.graphExecute(g, in, 1, &out, 1, NULL, NULL));
        codes_from(&p.y, y);
        for (size_t i = 0; i < ROWS * COLS; i++)
            assert_int_equal(p.y.codes[i], code_of(&p.y, exact(&p, i)));
        test_free(data[0]);
        test_free(data[1]);
        free_product(&p);
    }
    htp_end(&w);
}

// --- HTP-A16

static void htp_a16_01_16_bit_weights_are_exact(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V73);
    for (size_t o = 0; o < 5; o++) {
        product p;
        make_product(&p, product_ops[o], U16, S16, U16);
        check_product(&w, &p);
        free_product(&p);
    }
    htp_end(&w);
}

// What 16-bit activations with 8-bit weights give, for comparison: exact too.
static void products_of_16_bit_activations_are_exact(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V73);
    for (size_t o = 0; o < 5; o++) {
        product p;
        make_product(&p, product_ops[o], U16, S8, U16);
        check_product(&w, &p);
        free_product(&p);
    }
    htp_end(&w);
}

static void htp_a16_01_old_architectures_refuse(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V69);
    product p;
    make_product(&p, "Conv2d", U16, S16, U16);
    HTP_FAILS(run_node(&w, &p.node), QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
    free_product(&p);
    htp_end(&w);
}

static void htp_a16_02_weights_are_symmetric(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V73);
    for (size_t o = 0; o < 5; o++) {
        product p;
        make_product(&p, product_ops[o], U16, S16, U16);
        p.w.offset = 1;
        HTP_FAILS(run_node(&w, &p.node), QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
        p.w.offset = 0;
        p.x.offset = -123; // activations need not be symmetric
        check_product(&w, &p);
        free_product(&p);
    }
    htp_end(&w);
}

// Their results: tests/op/cases_signed16.py.
static void htp_a16_03_one_scale_or_one_per_channel(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V73);
    product p;
    make_product(&p, "Conv2d", U16, S16, U16);
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "axis", NULL, &g));
    Qnn_ScaleOffset_t scales[COLS];
    for (size_t i = 0; i < COLS; i++)
        scales[i] = (Qnn_ScaleOffset_t){0.001f, 0};
    size_t size;
    void *data = bytes_of(&p.w, &size);
    Qnn_Tensor_t in[2] = {tensor_of(&p.x, "x", QNN_TENSOR_TYPE_APP_WRITE),
                          tensor_of(&p.w, "w", QNN_TENSOR_TYPE_STATIC)};
    Qnn_Tensor_t out = tensor_of(&p.y, "y", QNN_TENSOR_TYPE_APP_READ);
    in[1].v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    in[1].v1.quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){3, COLS, scales};
    htp_buffer(&in[1], data, size);
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &in[0]));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &in[1]));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &out));
    Qnn_Param_t params[8];
    Qnn_OpConfig_t op = htp_op("conv", "Conv2d", in, 2, &out, 1);
    op.v1.numOfParams = make_params(&w.qnn, g, &p.node, params);
    op.v1.params = params;
    HTP_OK(w.qnn.backendValidateOpConfig(w.backend, op));
    HTP_OK(w.qnn.graphAddNode(g, op));
    uint32_t block[] = {1, 1, DEPTH / 2, COLS};
    in[1].v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    in[1].v1.quantizeParams.blockEncoding = (Qnn_BlockEncoding_t){block, scales};
    HTP_FAILS(w.qnn.backendValidateOpConfig(w.backend, op),
              QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE);
    test_free(data);
    free_product(&p);
    htp_end(&w);
}

static void htp_a16_04_values_above_7f7f_are_exact_and_warned_of(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    htp_world w = {.qnn = qnn};
    Qnn_LogHandle_t log = log_begin(&w.qnn);
    HTP_OK(w.qnn.backendCreate(log, NULL, &w.backend));
    w.device = htp_device(&w.qnn, SOC_V73);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    for (size_t o = 0; o < 5; o++) {
        product p;
        make_product(&p, product_ops[o], U16, S16, U16);
        p.w.codes[5] = 0x7f7f;
        p.w.codes[6] = -0x8000;
        logged[0] = '\0';
        check_product(&w, &p);
        assert_null(strstr(logged, "a device may clamp it"));
        p.w.codes[7] = 0x7f80;
        p.w.codes[8] = 0x7fff;
        check_product(&w, &p);
        assert_non_null(strstr(logged, "element 7 of input 1"));
        assert_non_null(strstr(logged, "is 0x7f80, and 16-bit weights are published up to 0x7f7f"));
        free_product(&p);
    }
    htp_end(&w);
    HTP_OK(qnn.logFree(log));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_grf_21_relu_gives_the_product_its_encoding),
        cmocka_unit_test(htp_grf_21_folds_in_graphs_with_floats),
        cmocka_unit_test(htp_grf_21_option_off_rounds_twice),
        cmocka_unit_test(htp_grf_21_what_others_see_is_not_folded),
        cmocka_unit_test(htp_grf_22_short_depth_with_asymmetric_weights_is_exact),
        cmocka_unit_test(htp_wpk_01_weights_that_fit_4_bits_shrink_the_binary),
        cmocka_unit_test(htp_wpk_01_weights_that_fit_4_bits_take_half_the_bytes),
        cmocka_unit_test(htp_a16_01_16_bit_weights_are_exact),
        cmocka_unit_test(products_of_16_bit_activations_are_exact),
        cmocka_unit_test(htp_a16_01_old_architectures_refuse),
        cmocka_unit_test(htp_a16_02_weights_are_symmetric),
        cmocka_unit_test(htp_a16_03_one_scale_or_one_per_channel),
        cmocka_unit_test(htp_a16_04_values_above_7f7f_are_exact_and_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
