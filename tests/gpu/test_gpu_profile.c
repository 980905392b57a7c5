// SPDX-License-Identifier: MIT
//
// Profiles of the GPU backend (GPU-PRF): host times, times of kernels, and who they belong to.
#include "gpu_client.h"

#include "QnnProfile.h"

typedef struct event {
    QnnProfile_EventData_t data;
    char name[128];
} event;

static uint32_t read_events(const gpu_table *qnn, const QnnProfile_EventId_t *ids, uint32_t n,
                            event *out) {
    for (uint32_t i = 0; i < n; i++) {
        GPU_OK(qnn->profileGetEventData(ids[i], &out[i].data));
        snprintf(out[i].name, sizeof out[i].name, "%s", out[i].data.identifier);
        assert_int_equal(out[i].data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
    }
    return n;
}

// The one top event, and its children.
static uint32_t read_all(const gpu_world *w, Qnn_ProfileHandle_t p, event *top, event *children) {
    const QnnProfile_EventId_t *ids, *subs;
    uint32_t n, n_subs;
    GPU_OK(w->qnn.profileGetEvents(p, &ids, &n));
    assert_int_equal(n, 1);
    read_events(&w->qnn, ids, 1, top);
    GPU_OK(w->qnn.profileGetSubEvents(ids[0], &subs, &n_subs));
    assert_true(n_subs <= 16);
    return read_events(&w->qnn, subs, n_subs, children);
}

static unsigned count_type(const event *e, uint32_t n, uint32_t type) {
    unsigned found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += e[i].data.type == type;
    return found;
}

static Qnn_ProfileHandle_t new_profile(const gpu_world *w, QnnProfile_Level_t level) {
    Qnn_ProfileHandle_t p;
    GPU_OK(w->qnn.profileCreate(w->backend, level, &p));
    return p;
}

static void prf_01_basic_has_host_times(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    event top, sub[16];
    float out[GPU_N];
    Qnn_ProfileHandle_t p = new_profile(&w, QNN_PROFILE_LEVEL_BASIC);
    gpu_graph_build(&w, &g, "g", NULL);
    GPU_OK(w.qnn.graphFinalize(g.graph, p, NULL));
    assert_int_equal(read_all(&w, p, &top, sub), 0);
    assert_int_equal(top.data.type, QNN_PROFILE_EVENTTYPE_FINALIZE);
    assert_true(top.data.value > 0);
    GPU_OK(gpu_graph_try(&w, &g, 1, out, p));
    assert_int_equal(read_all(&w, p, &top, sub), 0);
    assert_int_equal(top.data.type, QNN_PROFILE_EVENTTYPE_EXECUTE);
    gpu_end(&w);
}

static void prf_01_02_detailed_has_the_kernels_under_execute(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    for (int fused = 0; fused < 2; fused++) {
        gpu_graph g;
        event top, sub[16];
        float out[GPU_N], plain[GPU_N];
        QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
        v1.disableNodeOptimizations = !fused;
        QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
        const QnnGraph_Config_t *list[] = {&c, NULL};
        gpu_graph_make(&w, &g, fused ? "fused" : "plain", list);
        Qnn_ProfileHandle_t p = new_profile(&w, QNN_PROFILE_LEVEL_DETAILED);
        GPU_OK(gpu_graph_try(&w, &g, 1, out, p));
        GPU_OK(gpu_graph_try(&w, &g, 1, plain, NULL));
        assert_memory_equal(out, plain, sizeof out);
        uint32_t n = read_all(&w, p, &top, sub);
        assert_int_equal(top.data.type, QNN_PROFILE_EVENTTYPE_EXECUTE);
        assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT), 1);
        assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS), 1);
        assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_EXECUTE_DEVICE), 1);
        assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_EXECUTE_POSTPROCESS), 1);
        assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_NODE), fused ? 1 : 2);
        assert_string_equal(sub[n - 1].name, fused ? "add+relu" : "relu");
        GPU_OK(w.qnn.profileFree(p));
    }
    gpu_end(&w);
}

static unsigned n_queues;
static qrn_cl_api real;

static cl_command_queue count_queue(cl_context c, cl_device_id d, cl_bitfield flags, cl_int *err) {
    n_queues += (flags & CL_QUEUE_PROFILING_ENABLE) != 0;
    return real.clCreateCommandQueue(c, d, flags, err);
}

static void prf_03_kernel_profiling_can_be_disabled(void **state) {
    (void)state;
    gpu_world w = {.qnn = gpu_open()};
    QnnGpuBackend_CustomConfig_t custom = {
        .option = QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING,
        .disableKernelProfiling = 1};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    GPU_OK(w.qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &w.log));
    GPU_OK(w.qnn.backendCreate(w.log, list, &w.backend));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    gpu_graph g;
    event top, sub[16];
    float out[GPU_N];
    real = qrn_cl;
    n_queues = 0;
    qrn_cl.clCreateCommandQueue = count_queue;
    gpu_graph_make(&w, &g, "g", NULL);
    Qnn_ProfileHandle_t p = new_profile(&w, QNN_PROFILE_LEVEL_DETAILED);
    GPU_OK(gpu_graph_try(&w, &g, 1, out, p));
    qrn_cl = real;
    uint32_t n = read_all(&w, p, &top, sub);
    assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS), 1);
    assert_int_equal(count_type(sub, n, QNN_PROFILE_EVENTTYPE_NODE), 0);
    assert_int_equal(n_queues, 0);
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prf_01_basic_has_host_times),
        cmocka_unit_test(prf_01_02_detailed_has_the_kernels_under_execute),
        cmocka_unit_test(prf_03_kernel_profiling_can_be_disabled),
    };
    return gpu_tests(tests);
}
