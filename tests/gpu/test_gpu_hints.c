// SPDX-License-Identifier: MIT
//
// Hints of drivers (GPU-CTX-01, GPU-CTX-04): what a driver with the extensions receives, and what
// is said where there are none. The driver is the real one behind a shim that takes the hints.
#include "cl_shim.h"
#include "gpu_client.h"

// --- what the driver received

static cl_context_properties context_hints[8]; // of the last OpenCL context
static cl_context hinted;
static cl_uint n_hints, last_hint;
static cl_int hint_result;
static cl_ulong queue_priority;
static unsigned n_queues;

static cl_context take_context(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                               void (*f)(const char *, const void *, size_t, void *), void *u,
                               cl_int *err) {
    memset(context_hints, 0, sizeof context_hints);
    for (int i = 0; p && p[i]; i += 2)
        memcpy(&context_hints[i], &p[i], 2 * sizeof *p);
    return shim_context(NULL, n, d, f, u, err);
}

static cl_int take_hint(cl_context c, cl_uint hint) {
    hinted = c;
    n_hints++;
    last_hint = hint;
    return hint_result;
}

static cl_command_queue take_queue(cl_context c, cl_device_id d, const cl_ulong *p, cl_int *err) {
    n_queues++;
    queue_priority = p[0] == CL_QUEUE_PRIORITY_KHR ? p[1] : 0;
    return shim_queue(c, d, 0, err);
}

static const shim_function functions[] = {{"clSetPerfHintQCOM", (void *)take_hint}, {0}};

static void begin_shim(const char *extensions) {
    shim_begin(0);
    shim_announce(extensions, functions);
    qrn_cl.clCreateContext = take_context;
    qrn_cl.clCreateCommandQueueWithProperties = take_queue;
    n_hints = n_queues = 0;
    hint_result = CL_SUCCESS;
}

static void end_shim(gpu_world *w) {
    gpu_end(w);
    assert_int_equal(shim_live, 0);
    shim_end();
}

// --- options

static QnnContext_Config_t perf(QnnGpuContext_CustomConfig_t *custom, QnnGpuContext_PerfHint_t h) {
    *custom = (QnnGpuContext_CustomConfig_t){.option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                             .perfHint = h};
    return (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                 .customConfig = custom};
}

static void set_perf(const gpu_world *w, Qnn_ContextHandle_t c, QnnGpuContext_PerfHint_t h) {
    QnnGpuContext_CustomConfig_t custom;
    QnnContext_Config_t one = perf(&custom, h);
    const QnnContext_Config_t *list[] = {&one, NULL};
    GPU_OK(w->qnn.contextSetConfig(c, list));
}

static void set_priority(const gpu_world *w, Qnn_Priority_t p) {
    QnnContext_Config_t one = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = p};
    const QnnContext_Config_t *list[] = {&one, NULL};
    GPU_OK(w->qnn.contextSetConfig(w->context, list));
}

static void ctx_01_the_most_demanding_hint_of_contexts_goes_to_the_driver(void **state) {
    (void)state;
    begin_shim("cl_qcom_perf_hint");
    gpu_world w = gpu_begin();
    assert_int_equal(context_hints[0], 0x40C2);
    assert_int_equal(context_hints[1], 0x40C3); // HIGH, the default
    assert_int_equal(n_hints, 0);
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    set_perf(&w, w.context, QNN_GPU_CONTEXT_PERF_HINT_LOW);
    assert_int_equal(n_hints, 1);
    assert_int_equal(last_hint, 0x40C5);
    gpu_graph_check(&w, &g, 1);
    QnnGpuContext_CustomConfig_t custom;
    QnnContext_Config_t normal = perf(&custom, QNN_GPU_CONTEXT_PERF_HINT_NORMAL);
    const QnnContext_Config_t *list[] = {&normal, NULL};
    Qnn_ContextHandle_t second;
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, list, &second));
    assert_int_equal(last_hint, 0x40C4);
    set_perf(&w, w.context, QNN_GPU_CONTEXT_PERF_HINT_HIGH);
    assert_int_equal(last_hint, 0x40C3);
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    assert_int_equal(last_hint, 0x40C4);
    assert_int_equal(n_hints, 4);
    w.context = second;
    GPU_NOT_LOGGED("no such hint");
    hint_result = CL_INVALID_OPERATION;
    set_perf(&w, second, QNN_GPU_CONTEXT_PERF_HINT_LOW);
    GPU_LOGGED("PERF_HINT 2 is kept, but CL_INVALID_OPERATION");
    end_shim(&w);
}

static void ctx_04_priority_is_a_property_of_the_queue(void **state) {
    (void)state;
    begin_shim("cl_khr_priority_hints");
    QnnContext_Config_t high = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                .priority = QNN_PRIORITY_HIGH};
    const QnnContext_Config_t *list[] = {&high, NULL};
    gpu_world w = gpu_begin();
    assert_int_equal(n_queues, 0);
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, list, &w.context));
    assert_int_equal(n_queues, 1);
    assert_int_equal(queue_priority, 1);
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    gpu_graph_check(&w, &g, 1);
    set_priority(&w, QNN_PRIORITY_LOW);
    assert_int_equal(queue_priority, 4);
    gpu_graph_check(&w, &g, 2);
    set_priority(&w, QNN_PRIORITY_NORMAL);
    assert_int_equal(queue_priority, 2);
    gpu_graph_check(&w, &g, 3);
    GPU_NOT_LOGGED("no such hint");
    end_shim(&w);
}

static void ctx_04_priority_is_a_property_of_an_own_opencl_context(void **state) {
    (void)state;
    begin_shim("cl_qcom_priority_hint cl_qcom_perf_hint");
    gpu_world w = gpu_begin();
    assert_int_equal(context_hints[2], 0x40C9);
    assert_int_equal(context_hints[3], 0x40CB); // NORMAL
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    set_priority(&w, QNN_PRIORITY_LOW);
    GPU_LOGGED("an OpenCL context of its own, for its priority");
    assert_int_equal(context_hints[1], 0x40C3);
    assert_int_equal(context_hints[2], 0x40C9);
    assert_int_equal(context_hints[3], 0x40CC);
    gpu_graph_check(&w, &g, 1);
    set_priority(&w, QNN_PRIORITY_HIGH);
    assert_int_equal(context_hints[3], 0x40CA);
    gpu_graph_check(&w, &g, 2);
    set_perf(&w, w.context, QNN_GPU_CONTEXT_PERF_HINT_LOW);
    assert_int_equal(last_hint, 0x40C5);
    gpu_graph_check(&w, &g, 3);
    end_shim(&w);
}

static void ctx_01_04_hints_without_effect_are_said(void **state) {
    (void)state;
    begin_shim("");
    gpu_world w = gpu_begin();
    GPU_NOT_LOGGED("no such hint");
    set_perf(&w, w.context, QNN_GPU_CONTEXT_PERF_HINT_NORMAL);
    GPU_LOGGED("PERF_HINT 1 is kept, but this device has no such hint");
    set_priority(&w, QNN_PRIORITY_HIGH);
    GPU_LOGGED("is kept, but this device has no such hint");
    assert_int_equal(n_hints + n_queues, 0);
    assert_int_equal(context_hints[0], 0);
    end_shim(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(ctx_01_the_most_demanding_hint_of_contexts_goes_to_the_driver),
        SHIM_TEST(ctx_04_priority_is_a_property_of_the_queue),
        SHIM_TEST(ctx_04_priority_is_a_property_of_an_own_opencl_context),
        SHIM_TEST(ctx_01_04_hints_without_effect_are_said),
    };
    return gpu_tests(tests);
}
