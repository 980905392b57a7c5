// SPDX-License-Identifier: MIT
//
// QUERN_GPU_CHECK: the first tensor with a value that is not finite is named, and results stay as
// they are. The variable is set for the whole program.
#include "gpu_client.h"

#include <math.h>

// y = (x * 1000) + 1: in 16-bit storage the product of 100 is infinite.
static void prc_03_the_first_tensor_that_overflows_is_named(void **state) {
    (void)state;
    for (int hybrid = 0; hybrid < 2; hybrid++) {
        gpu_world w = gpu_begin();
        Qnn_GraphHandle_t g;
        uint32_t dims[] = {4};
        float factor[] = {1000, 1000, 1000, 1000}, one[] = {1, 1, 1, 1}, x[] = {1, 2, 100, 3}, y[4];
        QnnGpuGraph_CustomConfig_t v1 = {.precision = hybrid ? QNN_GPU_PRECISION_HYBRID
                                                             : QNN_GPU_PRECISION_FP32,
                                         .disableNodeOptimizations = 1};
        QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
        const QnnGraph_Config_t *list[] = {&c, NULL};
        GPU_OK(w.qnn.graphCreate(w.context, "g", list, &g));
        Qnn_Tensor_t tx = gpu_tensor(&w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
        Qnn_Tensor_t product = gpu_tensor(&w, g, "product", QNN_TENSOR_TYPE_NATIVE, dims);
        Qnn_Tensor_t ty = gpu_tensor(&w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
        Qnn_Tensor_t f = describe("f", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
        Qnn_Tensor_t o = describe("o", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
        set_buffer(&f, factor, sizeof factor);
        set_buffer(&o, one, sizeof one);
        GPU_OK(w.qnn.tensorCreateGraphTensor(g, &f));
        GPU_OK(w.qnn.tensorCreateGraphTensor(g, &o));
        Qnn_Tensor_t in1[] = {tx, f}, in2[] = {product, o};
        GPU_OK(w.qnn.graphAddNode(g, op_config("mul", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                               "ElementWiseMultiply", in1, 2, &product, 1)));
        GPU_OK(w.qnn.graphAddNode(
            g, op_config("add", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseAdd", in2, 2, &ty, 1)));
        GPU_OK(w.qnn.graphFinalize(g, NULL, NULL));
        set_buffer(&tx, x, sizeof x);
        set_buffer(&ty, y, sizeof y);
        GPU_OK(w.qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
        assert_float_equal(y[0], 1001, hybrid ? 1 : 0);
        if (hybrid) {
            assert_true(isinf(y[2]));
            GPU_LOGGED("tensor 'product' is the first with a value that is not finite: element 2");
            GPU_NOT_LOGGED("tensor 'y' is the first");
        } else {
            assert_float_equal(y[2], 100001, 0);
            GPU_NOT_LOGGED("is the first with");
        }
        gpu_end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prc_03_the_first_tensor_that_overflows_is_named),
    };
    return gpu_tests(tests);
}
