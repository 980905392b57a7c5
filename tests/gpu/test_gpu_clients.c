// SPDX-License-Identifier: MIT
//
// How known clients open and configure the GPU library (GPU-CLI-01), replayed on the library as
// they open it; and the HTP library beside it in one process.
#include "../client/qnn_client.h"
#include "GPU/QnnGpuBackend.h"
#include "GPU/QnnGpuContext.h"
#include "GPU/QnnGpuGraph.h"
#include "QnnProperty.h"

#include <stdbool.h>

#define OK(expr) assert_int_equal((expr), QNN_SUCCESS)

static bool has_device(const qnn_table *qnn) {
    Qnn_BackendHandle_t b;
    if (qnn->backendCreate(NULL, NULL, &b) != QNN_SUCCESS)
        return false;
    OK(qnn->backendFree(b));
    return true;
}

// relu of four numbers in a context of the client.
static void run_relu(const qnn_table *qnn, Qnn_ContextHandle_t context,
                     const QnnGraph_Config_t **config) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {1, 2, 2, 1};
    float in[] = {-1, 2, -3, 4}, out[4];
    OK(qnn->graphCreate(context, "model", config, &g));
    Qnn_Tensor_t x = tensor(qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 4, dims);
    Qnn_Tensor_t y = tensor(qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 4, dims);
    node(qnn, g, "relu", "Relu", &x, &y);
    OK(qnn->graphFinalize(g, NULL, NULL));
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    OK(qnn->graphExecute(g, &x, 1, &y, 1, NULL, NULL));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], in[i] > 0 ? in[i] : 0, 0);
}

// onnxruntime's provider: no configs; a device when GROUP_DEVICE is supported.
static void onnxruntime_makes_a_device_and_passes_no_configs(void **state) {
    const qnn_table *qnn = *state;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    Qnn_DeviceHandle_t d;
    Qnn_ContextHandle_t c;
    OK(qnn->logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    OK(qnn->backendCreate(log, NULL, &b));
    assert_int_equal(qnn->propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE), QNN_PROPERTY_SUPPORTED);
    OK(qnn->deviceCreate(log, NULL, &d));
    OK(qnn->contextCreate(b, d, NULL, &c));
    run_relu(qnn, c, NULL);
    OK(qnn->contextFree(c, NULL));
    OK(qnn->deviceFree(d));
    OK(qnn->backendFree(b));
    OK(qnn->logFree(log));
}

// executorch: weight sharing, a performance hint, graph options of version 1; no device.
static void executorch_sets_precision_and_flags(void **state) {
    const qnn_table *qnn = *state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    QnnGpuBackend_CustomConfig_t sharing = {
        .option = QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED, .weightSharingEnabled = 1};
    QnnBackend_Config_t bc = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &sharing};
    const QnnBackend_Config_t *backend[] = {&bc, NULL};
    QnnGpuContext_CustomConfig_t hint = {.option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                         .perfHint = QNN_GPU_CONTEXT_PERF_HINT_HIGH};
    QnnContext_Config_t cc = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &hint};
    const QnnContext_Config_t *context[] = {&cc, NULL};
    QnnGpuGraph_CustomConfig_t v1 = {QNN_GPU_PRECISION_USER_PROVIDED, 0, 0, 0};
    QnnGraph_Config_t gc = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *graph[] = {&gc, NULL};
    OK(qnn->backendCreate(NULL, backend, &b));
    OK(qnn->contextCreate(b, NULL, context, &c));
    run_relu(qnn, c, graph);
    OK(qnn->contextFree(c, NULL));
    OK(qnn->backendFree(b));
}

// LiteRT: lists that hold only NULL; FP16.
static void litert_passes_empty_lists_and_fp16(void **state) {
    const qnn_table *qnn = *state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    const QnnBackend_Config_t *backend[] = {NULL};
    const QnnContext_Config_t *context[] = {NULL};
    QnnGpuGraph_CustomConfig_t v1 = {QNN_GPU_PRECISION_FP16, 0, 0, 0};
    QnnGraph_Config_t gc = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *graph[] = {&gc, NULL};
    OK(qnn->backendCreate(NULL, backend, &b));
    OK(qnn->contextCreate(b, NULL, context, &c));
    run_relu(qnn, c, graph);
    OK(qnn->contextFree(c, NULL));
    OK(qnn->backendFree(b));
}

static void htp_and_gpu_live_in_one_process(void **state) {
    const qnn_table *gpu = *state;
    qnn_table htp;
    void *lib = open_named("libQnnHtp.so", &htp);
    const qnn_table *both[] = {gpu, &htp};
    Qnn_BackendHandle_t b[2];
    Qnn_ContextHandle_t c[2];
    for (int i = 0; i < 2; i++) {
        OK(both[i]->backendCreate(NULL, NULL, &b[i]));
        OK(both[i]->contextCreate(b[i], NULL, NULL, &c[i]));
    }
    // A handle of one is none of the other.
    assert_int_not_equal(gpu->contextFree(c[1], NULL), QNN_SUCCESS);
    for (int i = 0; i < 2; i++)
        run_relu(both[i], c[i], NULL);
    for (int i = 0; i < 2; i++) {
        OK(both[i]->contextFree(c[i], NULL));
        OK(both[i]->backendFree(b[i]));
    }
    dlclose(lib);
}

int main(void) {
    static qnn_table qnn;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(onnxruntime_makes_a_device_and_passes_no_configs, &qnn),
        cmocka_unit_test_prestate(executorch_sets_precision_and_flags, &qnn),
        cmocka_unit_test_prestate(litert_passes_empty_lists_and_fp16, &qnn),
        cmocka_unit_test_prestate(htp_and_gpu_live_in_one_process, &qnn),
    };
    open_named("libQnnGpu.so", &qnn);
    if (!has_device(&qnn)) {
        printf("SKIP: no OpenCL device (install pocl-opencl-icd)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
