// SPDX-License-Identifier: MIT
//
// What the HTP backend refuses, through the API: the same answer from validation, addNode and
// loading, by the architecture of the device, with a reason in the log.
#include "htp_client.h"

#include <stdio.h>
#include <stdlib.h>

static char g_log[8192];

static void keep_log(const char *fmt, QnnLog_Level_t level, uint64_t when, va_list args) {
    (void)level;
    (void)when;
    size_t used = strlen(g_log);
    vsnprintf(g_log + used, sizeof g_log - used, fmt, args);
}

// A fully connected layer of 16-bit activations and weights, which v73 and later have.
typedef struct layer {
    Qnn_Tensor_t t[3]; // input, weight, output
    Qnn_OpConfig_t op;
} layer;

static uint32_t x_dims[] = {1, 4}, w_dims[] = {4, 4}, y_dims[] = {1, 4};
static int16_t weights[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

static void begin_layer(layer *l) {
    l->t[0] = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_16, 2, x_dims);
    l->t[1] = htp_tensor("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_16, 2, w_dims);
    l->t[2] = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_16, 2, y_dims);
    htp_encode(&l->t[0], 0.5f, 0);
    htp_encode(&l->t[1], 1.0f, 0);
    htp_encode(&l->t[2], 0.5f, 0);
    htp_buffer(&l->t[1], weights, sizeof weights);
    l->op = htp_op("fc", "FullyConnected", l->t, 2, &l->t[2], 1);
}

static Qnn_ErrorHandle_t validate(const htp_world *w, const Qnn_OpConfig_t *op) {
    return QNN_GET_ERROR_CODE(w->qnn.backendValidateOpConfig(w->backend, *op));
}

// Creates the tensors in a new graph and adds the node; the graph is left in *g.
static Qnn_ErrorHandle_t add(const htp_world *w, Qnn_ContextHandle_t c, const char *name,
                             Qnn_OpConfig_t *op, Qnn_GraphHandle_t *g) {
    HTP_OK(w->qnn.graphCreate(c, name, NULL, g));
    for (uint32_t i = 0; i < op->v1.numOfInputs; i++)
        HTP_OK(w->qnn.tensorCreateGraphTensor(*g, &op->v1.inputTensors[i]));
    for (uint32_t i = 0; i < op->v1.numOfOutputs; i++)
        HTP_OK(w->qnn.tensorCreateGraphTensor(*g, &op->v1.outputTensors[i]));
    for (uint32_t i = 0; i < op->v1.numOfParams; i++)
        if (op->v1.params[i].paramType == QNN_PARAMTYPE_TENSOR)
            HTP_OK(w->qnn.tensorCreateGraphTensor(*g, &op->v1.params[i].tensorParam));
    return QNN_GET_ERROR_CODE(w->qnn.graphAddNode(*g, *op));
}

static void htp_num_11_refusals_give_their_reason(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    Qnn_LogHandle_t log;
    HTP_OK(qnn.logCreate(keep_log, QNN_LOG_LEVEL_ERROR, &log));
    htp_world w = {.qnn = qnn};
    HTP_OK(qnn.backendCreate(log, NULL, &w.backend));
    HTP_OK(qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    uint32_t dims[] = {1, 2, 1, 2, 1, 2};
    Qnn_Tensor_t x =
        htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 6, dims);
    Qnn_Tensor_t y =
        htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 6, dims);
    htp_encode(&x, 0.5f, 0);
    htp_encode(&y, 0.5f, 0);
    Qnn_OpConfig_t op = htp_op("r", "Reshape", &x, 1, &y, 1);
    static const char *const words[] = {"node 'r'",  "(Reshape)",         "input 0", "rank 6",
                                        "at most 5", "HTP support table", "int8"};
    for (int i = 0; i < 2; i++) {
        Qnn_GraphHandle_t g;
        g_log[0] = '\0';
        if (i == 0)
            assert_int_equal(validate(&w, &op), QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE);
        else
            assert_int_equal(add(&w, w.context, "g", &op, &g), QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            if (!strstr(g_log, words[k]))
                fail_msg("'%s' expected in: %s", words[k], g_log);
    }
    htp_end(&w);
    HTP_OK(qnn.logFree(log));
}

// An op that is validated by itself is judged by the newest living context's device; before there
// is a context, by the newest device.
static void validation_follows_the_newest_context_or_device(void **state) {
    (void)state;
    htp_world w = {.qnn = htp_open()};
    layer l;
    begin_layer(&l);
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    assert_int_not_equal(validate(&w, &l.op), QNN_SUCCESS); // the default device is a v68
    Qnn_DeviceHandle_t v75 = htp_device(&w.qnn, 57);
    HTP_OK(validate(&w, &l.op));
    Qnn_DeviceHandle_t v68 = htp_device(&w.qnn, 30);
    assert_int_not_equal(validate(&w, &l.op), QNN_SUCCESS);
    Qnn_ContextHandle_t c[3];
    HTP_OK(w.qnn.contextCreate(w.backend, v75, NULL, &c[0]));
    HTP_OK(validate(&w, &l.op));
    HTP_OK(w.qnn.contextCreate(w.backend, v68, NULL, &c[1]));
    assert_int_not_equal(validate(&w, &l.op), QNN_SUCCESS);
    HTP_OK(w.qnn.contextCreate(w.backend, v75, NULL, &c[2]));
    HTP_OK(validate(&w, &l.op));
    HTP_OK(w.qnn.contextFree(c[1], NULL)); // not the newest
    HTP_OK(validate(&w, &l.op));
    HTP_OK(w.qnn.contextFree(c[2], NULL));
    HTP_OK(validate(&w, &l.op));
    HTP_OK(w.qnn.contextFree(c[0], NULL));
    assert_int_not_equal(validate(&w, &l.op), QNN_SUCCESS);
    HTP_OK(w.qnn.deviceFree(v68));
    HTP_OK(validate(&w, &l.op));
    HTP_OK(w.qnn.deviceFree(v75));
    assert_int_not_equal(validate(&w, &l.op), QNN_SUCCESS);
    htp_end(&w);
}

static void run_layer(const htp_world *w, Qnn_GraphHandle_t g, layer *l) {
    uint16_t x[4] = {7, 300, 65535, 0}, y[4] = {0};
    htp_buffer(&l->t[0], x, sizeof x);
    htp_buffer(&l->t[2], y, sizeof y);
    HTP_OK(w->qnn.graphExecute(g, &l->t[0], 1, &l->t[2], 1, NULL, NULL));
    assert_memory_equal(x, y, sizeof x); // the weights are the identity
}

// SoC ids of each architecture with the answer to 16-bit weights.
static void htp_a16_01_the_architecture_decides_about_16_bit_weights(void **state) {
    (void)state;
    static const struct {
        uint32_t soc;
        bool has;
    } chip[] = {{0, false}, {30, false}, {36, false}, {43, true},
                {57, true}, {69, true},  {87, true}};
    for (size_t i = 0; i < sizeof chip / sizeof chip[0]; i++) {
        htp_world w = htp_begin(chip[i].soc);
        layer l;
        Qnn_GraphHandle_t g;
        begin_layer(&l);
        assert_int_equal(validate(&w, &l.op) == QNN_SUCCESS, chip[i].has);
        Qnn_ErrorHandle_t e = add(&w, w.context, "g", &l.op, &g);
        assert_int_equal(e, chip[i].has ? QNN_SUCCESS : QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
        if (chip[i].has) {
            HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
            run_layer(&w, g, &l);
        }
        htp_end(&w);
    }
}

// A binary of the same architecture loads, and its graph is checked again by the same rules.
static void htp_api_03_a_binary_stays_with_its_architecture(void **state) {
    (void)state;
    htp_world w = htp_begin(57); // v75
    layer l;
    Qnn_GraphHandle_t g;
    begin_layer(&l);
    HTP_OK(add(&w, w.context, "g", &l.op, &g));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *bytes = malloc(size);
    HTP_OK(w.qnn.contextGetBinary(w.context, bytes, size, &written));
    htp_end(&w);
    static const struct {
        uint32_t soc;
        Qnn_ErrorHandle_t answer;
    } chip[] = {{57, QNN_SUCCESS},
                {30, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
                {43, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
                {69, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY}};
    for (size_t i = 0; i < sizeof chip / sizeof chip[0]; i++) {
        htp_world v = {.qnn = htp_open()};
        HTP_OK(v.qnn.backendCreate(NULL, NULL, &v.backend));
        v.device = htp_device(&v.qnn, chip[i].soc);
        HTP_FAILS(v.qnn.contextCreateFromBinary(v.backend, v.device, NULL, bytes, written,
                                                &v.context, NULL),
                  chip[i].answer);
        if (chip[i].answer == QNN_SUCCESS) {
            HTP_OK(v.qnn.graphRetrieve(v.context, "g", &g));
            run_layer(&v, g, &l);
        }
        htp_end(&v);
    }
    free(bytes);
}

// --- clients

// Per-channel weights with a bias whose scales are written out, as exporters do it; scale 0 too.
static void biases_of_clients_are_taken(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    for (int kind = 0; kind < 3; kind++) {
        static int8_t code[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
        static int32_t bias[4] = {0, 2, 4, 6};
        uint32_t in[] = {1, 4}, filter[] = {4, 4}, four[] = {4};
        Qnn_ScaleOffset_t by_channel[4], of_bias[4];
        for (int i = 0; i < 4; i++) {
            by_channel[i] = (Qnn_ScaleOffset_t){0.25f * (float)(i + 1), 0};
            of_bias[i] = (Qnn_ScaleOffset_t){0.5f * by_channel[i].scale, 0};
        }
        Qnn_Tensor_t t[4] = {
            htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 2, in),
            htp_tensor("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2, filter),
            htp_tensor("b", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_32, 1, four),
            htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, in)};
        htp_encode(&t[0], 0.5f, 0);
        htp_encode(&t[3], 0.5f, 0);
        htp_buffer(&t[1], code, sizeof code);
        htp_buffer(&t[2], bias, sizeof bias);
        t[1].v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t[1].v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        t[1].v1.quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){0, 4, by_channel};
        if (kind == 0) {
            htp_encode(&t[2], 0.0f, 0);
        } else if (kind == 1) {
            t[2].v1.quantizeParams = t[1].v1.quantizeParams;
            t[2].v1.quantizeParams.axisScaleOffsetEncoding.scaleOffset = of_bias;
        } else {
            htp_encode(&t[2], 0.125f, 0);
        }
        Qnn_OpConfig_t op = htp_op("fc", "FullyConnected", t, 3, &t[3], 1);
        Qnn_GraphHandle_t g;
        char name[] = {'g', (char)('0' + kind), '\0'};
        HTP_OK(validate(&w, &op));
        HTP_OK(add(&w, w.context, name, &op, &g));
        HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
        uint8_t x[4] = {8, 8, 8, 8}, y[4];
        htp_buffer(&t[0], x, 4);
        htp_buffer(&t[3], y, 4);
        HTP_OK(w.qnn.graphExecute(g, t, 1, &t[3], 1, NULL, NULL));
        for (int i = 0; i < 4; i++) { // 4.0 * scale + bias, in steps of 0.5, halves up
            double s = kind == 2 ? 0.125 : (double)of_bias[i].scale;
            double real = 4.0 * (double)by_channel[i].scale + s * bias[i];
            assert_int_equal(y[i], (int)(real / 0.5 + 0.5));
        }
    }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_num_11_refusals_give_their_reason),
        cmocka_unit_test(validation_follows_the_newest_context_or_device),
        cmocka_unit_test(htp_a16_01_the_architecture_decides_about_16_bit_weights),
        cmocka_unit_test(htp_api_03_a_binary_stays_with_its_architecture),
        cmocka_unit_test(biases_of_clients_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
