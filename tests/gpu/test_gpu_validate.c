// SPDX-License-Identifier: MIT
//
// What validation rejects, with the limit in the log, and what an index out of range does.
#include "gpu_client.h"

static uint32_t four[] = {2, 2}, zero[1];

static Qnn_Tensor_t plain(const char *name, Qnn_TensorType_t type, Qnn_DataType_t data) {
    Qnn_Tensor_t t = describe(name, type, data, 2, four);
    if (data == QNN_DATATYPE_SFIXED_POINT_8) {
        t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t.v1.quantizeParams.scaleOffsetEncoding.scale = 0.5f;
    }
    return t;
}

static void rejects(const char *op, const Qnn_Tensor_t *in, uint32_t n, Qnn_Tensor_t *y,
                    const char *text) {
    gpu_world w = gpu_begin();
    Qnn_Tensor_t list[2] = {in[0], in[n - 1]};
    GPU_FAILS(w.qnn.backendValidateOpConfig(
                  w.backend, op_config("n", QNN_OP_PACKAGE_NAME_QTI_AISW, op, list, n, y, 1)),
              QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE);
    GPU_LOGGED(text);
    gpu_end(&w);
}

static void quantized_activations_are_rejected_by_name(void **state) {
    (void)state;
    Qnn_Tensor_t x = plain("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_SFIXED_POINT_8);
    Qnn_Tensor_t y = plain("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_SFIXED_POINT_8);
    rejects("Relu", &x, 1, &y, "quantized activations are not supported by the GPU backend");
}

static void rank_0_is_rejected_by_name(void **state) {
    (void)state;
    Qnn_Tensor_t in[] = {plain("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32),
                         describe("s", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 0, zero)};
    Qnn_Tensor_t y = plain("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32);
    rejects("ElementWiseAdd", in, 2, &y, "rank 0 is not supported by the GPU backend");
}

static void quantized_weights_must_be_static(void **state) {
    (void)state;
    Qnn_Tensor_t in[] = {plain("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32),
                         plain("w", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_SFIXED_POINT_8)};
    Qnn_Tensor_t y = plain("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32);
    rejects("MatMul", in, 2, &y, "quantized weights must be static tensors");
}

static void an_index_out_of_range_fails_the_execution_and_not_the_next(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    uint32_t three[] = {3}, two[] = {2};
    int32_t index[2];
    float table[] = {10, 20, 30}, out[2];
    GPU_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t in[] = {tensor(&w.qnn, g, "t", QNN_TENSOR_TYPE_APP_WRITE, 1, three),
                         describe("i", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, 1, two)};
    GPU_OK(w.qnn.tensorCreateGraphTensor(g, &in[1]));
    Qnn_Tensor_t y = tensor(&w.qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 1, two);
    Qnn_Param_t axis = {.paramType = QNN_PARAMTYPE_SCALAR,
                        .name = "axis",
                        .scalarParam = {.dataType = QNN_DATATYPE_INT_32, .int32Value = 0}};
    Qnn_OpConfig_t op = op_config("pick", QNN_OP_PACKAGE_NAME_QTI_AISW, "Gather", in, 2, &y, 1);
    op.v1.params = &axis;
    op.v1.numOfParams = 1;
    GPU_OK(w.qnn.graphAddNode(g, op));
    GPU_OK(w.qnn.graphFinalize(g, NULL, NULL));
    set_buffer(&in[0], table, sizeof table);
    set_buffer(&in[1], index, sizeof index);
    set_buffer(&y, out, sizeof out);
    for (int round = 0; round < 3; round++) {
        memcpy(index, (int32_t[]){-1, 1 << 30}, sizeof index);
        GPU_FAILS(w.qnn.graphExecute(g, in, 2, &y, 1, NULL, NULL),
                  QNN_GRAPH_ERROR_INVALID_ARGUMENT);
        GPU_LOGGED("node 'pick' (Gather): an index in its data is out of range");
        index[1] = 0;
        GPU_OK(w.qnn.graphExecute(g, in, 2, &y, 1, NULL, NULL));
        assert_float_equal(out[0], 30, 0);
        assert_float_equal(out[1], 10, 0);
    }
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantized_activations_are_rejected_by_name),
        cmocka_unit_test(rank_0_is_rejected_by_name),
        cmocka_unit_test(quantized_weights_must_be_static),
        cmocka_unit_test(an_index_out_of_range_fails_the_execution_and_not_the_next),
    };
    return gpu_tests(tests);
}
