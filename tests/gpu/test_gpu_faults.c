// SPDX-License-Identifier: MIT
//
// Everything that can fail fails once: each allocation of the library, and each call of OpenCL that
// makes or enqueues something. Whatever fails, a call returns a documented code, nothing is leaked,
// and the next round works.
#include "cl_shim.h"
#include "gpu_client.h"

#include "GPU/QnnGpuMem.h"
#include "QnnMem.h"
#include "base/mem.h"

// --- a life, each part of which may fail

static uint32_t dims[] = {8};
static float input[8] = {-1, 2, -3, 4, -5, 6, -7, 8};

// Codes that a failure of memory or a driver may have; others are mistakes.
static bool documented(Qnn_ErrorHandle_t e) {
    unsigned code = (unsigned)QNN_GET_ERROR_CODE(e);
    return code == QNN_COMMON_ERROR_MEM_ALLOC || code == QNN_COMMON_ERROR_SYSTEM ||
           code == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION ||
           code == QNN_GRAPH_ERROR_OPTIMIZATION_FAILED || code == QNN_TENSOR_ERROR_UNDEFINED;
}

#define STEP(expr)                                                                                 \
    do {                                                                                           \
        Qnn_ErrorHandle_t e_ = (expr);                                                             \
        if (e_ != QNN_SUCCESS) {                                                                   \
            if (!documented(e_))                                                                   \
                fail_msg("%s: %u", #expr, (unsigned)QNN_GET_ERROR_CODE(e_));                       \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static bool build(const gpu_table *qnn, Qnn_ContextHandle_t c, bool profiled,
                  Qnn_ProfileHandle_t profile) {
    Qnn_GraphHandle_t g;
    float out[8];
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t t = describe("t", QNN_TENSOR_TYPE_APP_READWRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t w = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
    set_buffer(&w, input, sizeof input);
    STEP(qnn->tensorCreateContextTensor(c, &t));
    STEP(qnn->graphCreate(c, "g", NULL, &g));
    STEP(qnn->tensorCreateGraphTensor(g, &x));
    STEP(qnn->tensorCreateGraphTensor(g, &y));
    STEP(qnn->tensorCreateGraphTensor(g, &w));
    Qnn_Tensor_t in[] = {x, w};
    STEP(qnn->graphAddNode(
        g, op_config("a", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseAdd", in, 2, &y, 1)));
    STEP(qnn->graphAddNode(g, op_config("r", QNN_OP_PACKAGE_NAME_QTI_AISW, "Relu", &x, 1, &t, 1)));
    STEP(qnn->graphFinalize(g, NULL, NULL));
    set_buffer(&x, input, sizeof input);
    set_buffer(&y, out, sizeof out);
    STEP(qnn->graphExecute(g, &x, 1, &y, 1, profiled ? profile : NULL, NULL));
    for (int i = 0; i < 8; i++)
        assert_float_equal(out[i], 2 * input[i], 0);
    Qnn_ContextBinarySize_t size;
    STEP(qnn->contextGetBinarySize(c, &size));
    return true;
}

static bool live(const gpu_table *qnn) {
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p = NULL;
    Qnn_ErrorHandle_t e = qnn->backendCreate(NULL, NULL, &b);
    if (e != QNN_SUCCESS) {
        assert_true(documented(e) || QNN_GET_ERROR_CODE(e) == 4000);
        return false;
    }
    bool good = qnn->profileCreate(b, QNN_PROFILE_LEVEL_DETAILED, &p) == QNN_SUCCESS;
    if (qnn->contextCreate(b, NULL, NULL, &c) == QNN_SUCCESS) {
        good &= build(qnn, c, p != NULL, p);
        GPU_OK(qnn->contextFree(c, NULL));
    } else {
        good = false;
    }
    GPU_OK(qnn->backendFree(b)); // with the profile
    return good;
}

static void every_allocation_that_fails_is_an_error_and_no_leak(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    assert_true(live(&qnn));
    assert_true(live(&qnn));
    size_t before = qrn_alloc_live();
    unsigned n = 1, failed = 0;
    for (bool good = false; !good && n < 3000; n++) {
        qrn_alloc_fail_at(n, false);
        good = live(&qnn);
        qrn_alloc_fail_at(0, false);
        failed += !good;
        assert_int_equal(qrn_alloc_live(), before);
        if (good && n < 400) // one that can be done without
            good = false;
    }
    assert_true(failed > 50);
    assert_true(live(&qnn));
}

static void every_call_of_opencl_that_fails_is_an_error_and_no_leak(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    size_t before = qrn_alloc_live();
    unsigned n = 1, failed = 0;
    for (bool over = false; !over && n < 500; n++) {
        shim_begin(n);
        shim_announce("", NULL); // every launch is a call: nothing is recorded
        bool good = live(&qnn);
        over = shim_left > 0; // there were fewer calls than that
        shim_end();
        failed += !good;
        assert_int_equal(shim_live, 0);
        assert_int_equal(qrn_alloc_live(), before);
    }
    assert_true(failed > 20 && n < 500);
    assert_true(live(&qnn));
}

// A context with a graph that moves to the OpenCL context of a client's buffer.
static bool move(const gpu_table *qnn, cl_mem buffer) {
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    if (qnn->backendCreate(NULL, NULL, &b) != QNN_SUCCESS)
        return false;
    bool good = qnn->contextCreate(b, NULL, NULL, &c) == QNN_SUCCESS;
    if (good) {
        QnnGpu_MemInfoCustom_t info = {.memType = QNN_GPU_MEM_OPENCL, .buffer = buffer};
        Qnn_MemDescriptor_t d = {.memShape = {.numDim = 1, .dimSize = dims},
                                 .dataType = QNN_DATATYPE_FLOAT_32,
                                 .memType = QNN_MEM_TYPE_CUSTOM,
                                 .customInfo = &info};
        Qnn_MemHandle_t h;
        Qnn_GraphHandle_t g;
        good = build(qnn, c, false, NULL) && qnn->memRegister(c, &d, 1, &h) == QNN_SUCCESS &&
               qnn->graphRetrieve(c, "g", &g) == QNN_SUCCESS;
        GPU_OK(qnn->contextFree(c, NULL));
    }
    GPU_OK(qnn->backendFree(b));
    return good;
}

static void every_call_that_fails_while_a_context_moves_leaves_nothing(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    cl_platform_id platform;
    cl_device_id device;
    cl_int err;
    assert_int_equal(qrn_cl.clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(qrn_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
                     CL_SUCCESS);
    cl_context client = qrn_cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    cl_mem buffer = qrn_cl.clCreateBuffer(client, CL_MEM_READ_WRITE, 64, NULL, &err);
    assert_non_null(buffer);
    size_t before = qrn_alloc_live();
    unsigned n = 1, failed = 0;
    for (bool over = false; !over && n < 500; n++) {
        shim_begin(n);
        shim_announce("", NULL); // every launch is a call: nothing is recorded
        bool good = move(&qnn, buffer);
        over = shim_left > 0;
        shim_end();
        failed += !good;
        assert_int_equal(shim_live, 0);
        assert_int_equal(qrn_alloc_live(), before);
    }
    assert_true(failed > 20 && n < 500);
    assert_true(move(&qnn, buffer));
    qrn_cl.clReleaseMemObject(buffer);
    qrn_cl.clReleaseContext(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(every_allocation_that_fails_is_an_error_and_no_leak),
        SHIM_TEST(every_call_of_opencl_that_fails_is_an_error_and_no_leak),
        SHIM_TEST(every_call_that_fails_while_a_context_moves_leaves_nothing),
    };
    return gpu_tests(tests);
}
