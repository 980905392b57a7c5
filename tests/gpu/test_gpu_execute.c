// SPDX-License-Identifier: MIT
//
// Executions of the GPU backend: graphs without inputs, context tensors, fences; drivers that fail.
#include "gpu_client.h"

#include "base/mem.h"

#include <unistd.h>

// --- a driver that fails: functions of OpenCL are replaced for a while

static qrn_cl_api real;
static cl_int fault; // returned by the replaced function
static unsigned n_created;

static cl_int failing_finish(cl_command_queue q) {
    real.clFinish(q);
    return fault;
}

static cl_int failing_enqueue(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *a,
                              const size_t *b, const size_t *c, cl_uint n_events,
                              const cl_event *events, cl_event *event) {
    (void)q, (void)k, (void)n, (void)a, (void)b, (void)c, (void)n_events, (void)events, (void)event;
    return fault;
}

static cl_mem failing_buffer(cl_context c, cl_bitfield flags, size_t n, void *host, cl_int *err) {
    (void)c, (void)flags, (void)n, (void)host;
    *err = fault;
    return NULL;
}

static cl_mem counting_buffer(cl_context c, cl_bitfield flags, size_t n, void *host, cl_int *err) {
    n_created++;
    return real.clCreateBuffer(c, flags, n, host, err);
}

static cl_kernel counting_kernel(cl_program p, const char *name, cl_int *err) {
    n_created++;
    return real.clCreateKernel(p, name, err);
}

static void err_a_failing_kernel_names_the_error_and_the_context_lives_on(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    float out[GPU_N];
    QnnGpuGraph_CustomConfig_t plain = {.precision = QNN_GPU_PRECISION_USER_PROVIDED,
                                        .disableQueueRecording = 1};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &plain};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    gpu_graph_make(&w, &g, "g", list);
    real = qrn_cl;
    fault = CL_INVALID_WORK_GROUP_SIZE;
    qrn_cl.clEnqueueNDRangeKernel = failing_enqueue;
    GPU_FAILS(gpu_graph_try(&w, &g, 1, out, NULL), QNN_COMMON_ERROR_SYSTEM);
    qrn_cl = real;
    GPU_LOGGED("CL_INVALID_WORK_GROUP_SIZE");
    GPU_LOGGED("node 'add'");
    gpu_graph_check(&w, &g, 1);
    gpu_end(&w);
}

static void err_a_lost_device_ends_the_context_and_no_other(void **state) {
    (void)state;
    gpu_world w = gpu_begin(), other = gpu_begin();
    gpu_graph g, o;
    float out[GPU_N];
    gpu_graph_make(&w, &g, "g", NULL);
    gpu_graph_make(&other, &o, "o", NULL);
    real = qrn_cl;
    fault = CL_OUT_OF_RESOURCES;
    qrn_cl.clFinish = failing_finish;
    GPU_FAILS(gpu_graph_try(&w, &g, 1, out, NULL), QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
    qrn_cl = real;
    GPU_LOGGED("CL_OUT_OF_RESOURCES");
    GPU_FAILS(gpu_graph_try(&w, &g, 1, out, NULL), QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
    Qnn_GraphHandle_t more;
    GPU_FAILS(w.qnn.graphCreate(w.context, "more", NULL, &more),
              QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
    gpu_graph_check(&other, &o, 1);
    gpu_end(&w);
    gpu_end(&other);
}

static void err_no_device_memory_is_reported_at_finalize_with_bytes(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_build(&w, &g, "g", NULL);
    real = qrn_cl;
    fault = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    qrn_cl.clCreateBuffer = failing_buffer;
    GPU_FAILS(w.qnn.graphFinalize(g.graph, NULL, NULL), QNN_COMMON_ERROR_MEM_ALLOC);
    qrn_cl = real;
    GPU_LOGGED("needs 96 bytes of device memory"); // x, w, y of 8 floats
    GPU_OK(w.qnn.graphFinalize(g.graph, NULL, NULL));
    gpu_graph_check(&w, &g, 1);
    gpu_end(&w);
}

static void spd_06_executions_allocate_nothing(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    GPU_OK(w.qnn.logSetLogLevel(w.log, QNN_LOG_LEVEL_ERROR));
    gpu_graph_check(&w, &g, 1);
    real = qrn_cl;
    n_created = 0;
    qrn_cl.clCreateBuffer = counting_buffer;
    qrn_cl.clCreateKernel = counting_kernel;
    size_t live = qrn_alloc_live();
    for (int i = 0; i < 100; i++)
        gpu_graph_check(&w, &g, (float)i);
    assert_int_equal(qrn_alloc_live(), live);
    qrn_cl = real;
    assert_int_equal(n_created, 0);
    gpu_end(&w);
}

// --- devices that cannot be used

static cl_int describe_old(cl_device_id d, cl_uint what, size_t n, void *out, size_t *used) {
    static const char version[] = "OpenCL 1.1 ancient";
    if (what != CL_DEVICE_VERSION)
        return real.clGetDeviceInfo(d, what, n, out, used);
    if (used)
        *used = sizeof version;
    if (out && n >= sizeof version)
        memcpy(out, version, sizeof version);
    return CL_SUCCESS;
}

static cl_int no_platforms(cl_uint n, cl_platform_id *list, cl_uint *count) {
    (void)n, (void)list;
    *count = 0;
    return CL_PLATFORM_NOT_FOUND_KHR;
}

static void api_03_old_and_absent_devices_are_told_apart(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    GPU_OK(qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_ERROR, &log));
    real = qrn_cl;
    gpu_lines[0] = 0;
    qrn_cl.clGetDeviceInfo = describe_old;
    GPU_FAILS(qnn.backendCreate(log, NULL, &b), QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED);
    GPU_LOGGED("OpenCL 1.1 ancient");
    GPU_LOGGED("needed are OpenCL 1.2");
    qrn_cl.clGetPlatformIDs = no_platforms;
    GPU_FAILS(qnn.backendCreate(log, NULL, &b), QNN_BACKEND_ERROR_CANNOT_INITIALIZE);
    qrn_cl = real;
    GPU_OK(qnn.backendCreate(log, NULL, &b)); // the next call works
    GPU_OK(qnn.backendFree(b));
    GPU_OK(qnn.logFree(log));
}

// --- transfers: the same device, said to have memory of its own or to share the host's

static bool unified;
static unsigned n_maps, n_pinned, n_copies;

static cl_int describe_gpu(cl_device_id d, cl_uint what, size_t n, void *out, size_t *used) {
    cl_int err = real.clGetDeviceInfo(d, what, n, out, used);
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && out)
        *(cl_bool *)out = unified;
    if (what == CL_DEVICE_TYPE && out)
        *(cl_bitfield *)out = CL_DEVICE_TYPE_GPU;
    return err;
}

static void *count_map(cl_command_queue q, cl_mem m, cl_bool block, cl_bitfield flags, size_t at,
                       size_t n, cl_uint n_events, const cl_event *events, cl_event *event,
                       cl_int *err) {
    n_maps++;
    return real.clEnqueueMapBuffer(q, m, block, flags, at, n, n_events, events, event, err);
}

static cl_mem count_pinned(cl_context c, cl_bitfield flags, size_t n, void *host, cl_int *err) {
    n_pinned += (flags & CL_MEM_ALLOC_HOST_PTR) != 0;
    return real.clCreateBuffer(c, flags, n, host, err);
}

static cl_int count_write(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n,
                          const void *from, cl_uint n_events, const cl_event *events,
                          cl_event *event) {
    n_copies++;
    return real.clEnqueueWriteBuffer(q, m, block, at, n, from, n_events, events, event);
}

static cl_int count_read(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, void *to,
                         cl_uint n_events, const cl_event *events, cl_event *event) {
    n_copies++;
    return real.clEnqueueReadBuffer(q, m, block, at, n, to, n_events, events, event);
}

// A device whose kernels do not see what lies in mapped memory: the probe maps something else.
static void *map_elsewhere(cl_command_queue q, cl_mem m, cl_bool block, cl_bitfield flags,
                           size_t at, size_t n, cl_uint n_events, const cl_event *events,
                           cl_event *event, cl_int *err) {
    static char elsewhere[1 << 12];
    static unsigned used;
    void *there = count_map(q, m, block, flags, at, n, n_events, events, event, err);
    return used++ < 2 && n <= sizeof elsewhere / 2 ? elsewhere + used % 2 * (sizeof elsewhere / 2)
                                                   : there;
}

static cl_int unmap_any(cl_command_queue q, cl_mem m, void *at, cl_uint n_events,
                        const cl_event *events, cl_event *event) {
    (void)real.clEnqueueUnmapMemObject(q, m, at, n_events, events, event);
    return CL_SUCCESS;
}

static void spd_06_transfers_fit_the_memory_of_the_device(void **state) {
    (void)state;
    enum { OWN, SHARED, OWN_NOT_COHERENT, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        real = qrn_cl;
        unified = kind == SHARED;
        qrn_cl.clGetDeviceInfo = describe_gpu;
        qrn_cl.clEnqueueMapBuffer = kind == OWN_NOT_COHERENT ? map_elsewhere : count_map;
        qrn_cl.clEnqueueUnmapMemObject = unmap_any;
        qrn_cl.clCreateBuffer = count_pinned;
        qrn_cl.clEnqueueWriteBuffer = count_write;
        qrn_cl.clEnqueueReadBuffer = count_read;
        gpu_world w = gpu_begin(); // with the probe
        gpu_graph g;
        n_pinned = 0;
        gpu_graph_make(&w, &g, "g", NULL);
        n_maps = n_copies = 0;
        for (int i = 0; i < 3; i++)
            gpu_graph_check(&w, &g, (float)i);
        assert_int_equal(n_maps, unified ? 6 : 0);                    // x and y, each time
        assert_int_equal(n_pinned, unified ? 0 : 2);                  // once for life
        assert_int_equal(n_copies, kind == OWN_NOT_COHERENT ? 6 : 0); // else kernels use them
        gpu_end(&w);
        qrn_cl = real;
    }
}

// --- graphs

static void api_05_a_graph_without_inputs_runs(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {4};
    float data[] = {-1, 2, -3, 4}, out[4] = {9, 9, 9, 9};
    GPU_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t c = describe("c", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
    set_buffer(&c, data, sizeof data);
    GPU_OK(w.qnn.tensorCreateGraphTensor(g, &c));
    Qnn_Tensor_t y = gpu_tensor(&w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
    node(&w.qnn, g, "relu", "Relu", &c, &y);
    GPU_OK(w.qnn.graphFinalize(g, NULL, NULL));
    set_buffer(&y, out, sizeof out);
    GPU_OK(w.qnn.graphExecute(g, NULL, 0, &y, 1, NULL, NULL));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], data[i] > 0 ? data[i] : 0, 0);
    gpu_end(&w);
}

// One graph writes the tensor, the other reads it; neither call names it.
static void api_06_context_tensors_stay_on_the_device(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_pair two;
    gpu_pair_make(&w, &two, NULL);
    float in[] = {-1, 2, -3, 4}, out[4], between[4] = {0}, given[] = {5, 6, 7, 8};
    set_buffer(&two.x, in, sizeof in);
    set_buffer(&two.y, out, sizeof out);
    GPU_OK(w.qnn.graphExecute(two.a, &two.x, 1, NULL, 0, NULL, NULL));
    GPU_OK(w.qnn.graphExecute(two.b, NULL, 0, &two.y, 1, NULL, NULL));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], in[i] > 0 ? -in[i] : 0, 0);
    // A caller that names it gets a copy, or gives one.
    set_buffer(&two.t, between, sizeof between);
    GPU_OK(w.qnn.graphExecute(two.a, &two.x, 1, &two.t, 1, NULL, NULL));
    assert_float_equal(between[3], 4, 0);
    set_buffer(&two.t, given, sizeof given);
    GPU_OK(w.qnn.graphExecute(two.b, &two.t, 1, &two.y, 1, NULL, NULL));
    assert_float_equal(out[3], -8, 0);
    GPU_OK(w.qnn.graphExecute(two.b, NULL, 0, &two.y, 1, NULL, NULL));
    assert_float_equal(out[0], -5, 0);
    gpu_end(&w);
}

static Qnn_ErrorHandle_t set_fences(const gpu_world *w, Qnn_GraphHandle_t g,
                                    const QnnGpuGraph_FenceConfig_t *f) {
    QnnGpuGraph_CustomConfigV2_t v2 = {.handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                       .option = QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG,
                                       .fenceConfig = *f};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v2};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    return w->qnn.graphSetConfig(g, list);
}

static void fen_01_executions_wait_for_input_fences(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    gpu_graph_make(&w, &g, "g", NULL);
    uint32_t n = 1;
    int32_t fd = pipes[0], *fds[] = {&fd};
    QnnGpuGraph_FenceConfig_t f = {
        .fenceConfigV1 = {.numInputFences = &n, .inputFenceHandles = fds}};
    GPU_OK(set_fences(&w, g.graph, &f));
    assert_int_equal(write(pipes[1], "x", 1), 1); // signalled
    gpu_graph_check(&w, &g, 1);
    close(pipes[0]);
    close(pipes[1]);
    float out[GPU_N];
    GPU_FAILS(gpu_graph_try(&w, &g, 1, out, NULL), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    n = 0;
    gpu_graph_check(&w, &g, 1);
    f.fenceConfigV1.enableOutputFence = 1;
    GPU_FAILS(set_fences(&w, g.graph, &f), 1000);
    f.version = (QnnGpuGraph_FenceConfigVersion_t)7;
    GPU_FAILS(set_fences(&w, g.graph, &f), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_a_failing_kernel_names_the_error_and_the_context_lives_on),
        cmocka_unit_test(err_a_lost_device_ends_the_context_and_no_other),
        cmocka_unit_test(err_no_device_memory_is_reported_at_finalize_with_bytes),
        cmocka_unit_test(spd_06_executions_allocate_nothing),
        cmocka_unit_test(api_03_old_and_absent_devices_are_told_apart),
        cmocka_unit_test(spd_06_transfers_fit_the_memory_of_the_device),
        cmocka_unit_test(api_05_a_graph_without_inputs_runs),
        cmocka_unit_test(api_06_context_tensors_stay_on_the_device),
        cmocka_unit_test(fen_01_executions_wait_for_input_fences),
    };
    return gpu_tests(tests);
}
