// SPDX-License-Identifier: MIT
//
// Registered memory of the GPU backend: OpenCL buffers of the client, in its own OpenCL context,
// and DMA buffers through their mapping.
#include "gpu_client.h"

#include "GPU/QnnGpuMem.h"
#include "QnnMem.h"

// A client with an OpenCL context of its own on the first device.
typedef struct opencl {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
} opencl;

static opencl open_opencl(void) {
    opencl o;
    cl_platform_id platform;
    cl_int err;
    assert_int_equal(qrn_cl.clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(qrn_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &o.device, NULL),
                     CL_SUCCESS);
    o.context = qrn_cl.clCreateContext(NULL, 1, &o.device, NULL, NULL, &err);
    assert_non_null(o.context);
    o.queue = qrn_cl.clCreateCommandQueue(o.context, o.device, 0, &err);
    assert_non_null(o.queue);
    return o;
}

static void close_opencl(opencl *o) {
    qrn_cl.clReleaseCommandQueue(o->queue);
    qrn_cl.clReleaseContext(o->context);
}

static cl_mem new_buffer(const opencl *o, cl_bitfield flags, size_t bytes) {
    cl_int err;
    cl_mem m = qrn_cl.clCreateBuffer(o->context, flags, bytes, NULL, &err);
    assert_non_null(m);
    return m;
}

static Qnn_MemDescriptor_t describe_memory(uint32_t *dims, QnnGpu_MemInfoCustom_t *info) {
    return (Qnn_MemDescriptor_t){.memShape = {.numDim = 1, .dimSize = dims},
                                 .dataType = QNN_DATATYPE_FLOAT_32,
                                 .memType = QNN_MEM_TYPE_CUSTOM,
                                 .customInfo = info};
}

static Qnn_ErrorHandle_t try_register(const gpu_world *w, cl_mem buffer, uint32_t n,
                                      Qnn_MemHandle_t *handle) {
    uint32_t dims[] = {n};
    QnnGpu_MemInfoCustom_t info = {.memType = QNN_GPU_MEM_OPENCL, .buffer = buffer};
    Qnn_MemDescriptor_t d = describe_memory(dims, &info);
    return w->qnn.memRegister(w->context, &d, 1, handle);
}

static void use_handle(Qnn_Tensor_t *t, Qnn_MemHandle_t handle) {
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = handle;
}

static void expect(const float *out, float scale) {
    for (uint32_t i = 0; i < GPU_N; i++) {
        float sum = (float)i * scale + (float)i - 2.0f;
        assert_float_equal(out[i], sum > 0 ? sum : 0, 1e-6);
    }
}

// Runs the graph on two buffers of the client; the second is read back by the client's own queue.
static void run_on_buffers(const gpu_world *w, gpu_graph *g, const opencl *o, cl_mem in, cl_mem out,
                           Qnn_MemHandle_t in_handle, Qnn_MemHandle_t out_handle, float scale) {
    float x[GPU_N], y[GPU_N];
    Qnn_Tensor_t tx = g->x, ty = g->y;
    for (uint32_t i = 0; i < GPU_N; i++)
        x[i] = (float)i * scale;
    assert_int_equal(
        qrn_cl.clEnqueueWriteBuffer(o->queue, in, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL),
        CL_SUCCESS);
    use_handle(&tx, in_handle);
    use_handle(&ty, out_handle);
    GPU_OK(w->qnn.graphExecute(g->graph, &tx, 1, &ty, 1, NULL, NULL));
    assert_int_equal(
        qrn_cl.clEnqueueReadBuffer(o->queue, out, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL),
        CL_SUCCESS);
    expect(y, scale);
}

static void mem_01_02_buffers_of_a_foreign_context_are_used_in_place(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph before, after;
    gpu_graph_make(&w, &before, "before", NULL);
    gpu_graph_check(&w, &before, 1);
    opencl o = open_opencl();
    cl_mem in = new_buffer(&o, CL_MEM_READ_WRITE, 64), out = new_buffer(&o, CL_MEM_READ_WRITE, 64);
    Qnn_MemHandle_t h[2];
    GPU_OK(try_register(&w, in, GPU_N, &h[0]));
    GPU_LOGGED("moved to the OpenCL context of the client's buffers");
    gpu_lines[0] = 0;
    GPU_OK(try_register(&w, out, GPU_N, &h[1]));
    GPU_NOT_LOGGED("moved to the OpenCL context"); // once
    run_on_buffers(&w, &before, &o, in, out, h[0], h[1], 0.5f);
    gpu_graph_check(&w, &before, 2); // host memory works as before
    gpu_graph_make(&w, &after, "after", NULL);
    run_on_buffers(&w, &after, &o, in, out, h[0], h[1], -0.5f);
    GPU_OK(w.qnn.memDeRegister(h, 2));
    qrn_cl.clReleaseMemObject(in);
    qrn_cl.clReleaseMemObject(out);
    gpu_graph_check(&w, &before, 3);
    gpu_end(&w);
    close_opencl(&o);
}

// What context tensors hold moves along.
static void mem_02_context_tensors_keep_their_values_when_the_context_moves(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_pair two;
    gpu_pair_make(&w, &two, NULL);
    float in[] = {-1, 2, -3, 4}, out[4];
    set_buffer(&two.x, in, sizeof in);
    set_buffer(&two.y, out, sizeof out);
    GPU_OK(w.qnn.graphExecute(two.a, &two.x, 1, NULL, 0, NULL, NULL));
    opencl o = open_opencl();
    cl_mem m = new_buffer(&o, CL_MEM_READ_WRITE, 64);
    Qnn_MemHandle_t h;
    GPU_OK(try_register(&w, m, 4, &h));
    GPU_OK(w.qnn.graphExecute(two.b, NULL, 0, &two.y, 1, NULL, NULL));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], in[i] > 0 ? -in[i] : 0, 0);
    qrn_cl.clReleaseMemObject(m);
    gpu_end(&w); // with a handle that is still registered
    close_opencl(&o);
}

static void mem_03_wrong_descriptors_get_their_codes(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    opencl o = open_opencl(), other = open_opencl();
    cl_mem m = new_buffer(&o, CL_MEM_READ_WRITE, 64), small = new_buffer(&o, CL_MEM_READ_WRITE, 16);
    cl_mem foreign = new_buffer(&other, CL_MEM_READ_WRITE, 64);
    Qnn_MemHandle_t h, again;
    uint32_t dims[] = {GPU_N};
    GPU_FAILS(try_register(&w, small, GPU_N, &h), QNN_MEM_ERROR_INVALID_SHAPE);
    GPU_OK(try_register(&w, m, GPU_N, &h));
    GPU_FAILS(try_register(&w, m, GPU_N, &again), QNN_MEM_ERROR_ALREADY_REGISTERED);
    GPU_FAILS(try_register(&w, foreign, GPU_N, &again), QNN_MEM_ERROR_MAPPING);
    GPU_FAILS(try_register(&w, NULL, GPU_N, &again), QNN_MEM_ERROR_INVALID_ARGUMENT);
    QnnGpu_MemInfoCustom_t unset = QNN_GPU_MEMINFO_CUSTOM_INIT;
    Qnn_MemDescriptor_t d = describe_memory(dims, &unset);
    GPU_FAILS(w.qnn.memRegister(w.context, &d, 1, &again), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);
    d.customInfo = NULL;
    GPU_FAILS(w.qnn.memRegister(w.context, &d, 1, &again), QNN_MEM_ERROR_INVALID_ARGUMENT);
    d.memType = QNN_MEM_TYPE_ION;
    d.ionInfo.fd = 0;
    GPU_FAILS(w.qnn.memRegister(w.context, &d, 1, &again), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);
    d.memType = QNN_MEM_TYPE_DX12;
    GPU_FAILS(w.qnn.memRegister(w.context, &d, 1, &again), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);
    assert_int_equal(QNN_MEM_ERROR_ALREADY_REGISTERED, 8002);
    assert_int_equal(QNN_MEM_ERROR_MAPPING, 8003);
    assert_int_equal(QNN_MEM_ERROR_INVALID_SHAPE, 8004);
    assert_int_equal(QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, 8005);
    GPU_OK(w.qnn.memDeRegister(&h, 1));
    GPU_OK(try_register(&w, m, GPU_N, &h)); // free again
    gpu_end(&w);
    qrn_cl.clReleaseMemObject(m);
    qrn_cl.clReleaseMemObject(small);
    qrn_cl.clReleaseMemObject(foreign);
    close_opencl(&o);
    close_opencl(&other);
}

static void mem_04_dma_buffers_are_used_through_their_mapping(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    float x[GPU_N], y[GPU_N];
    uint32_t dims[] = {GPU_N};
    Qnn_MemDescriptor_t d[2];
    for (int i = 0; i < 2; i++)
        d[i] = (Qnn_MemDescriptor_t){.memShape = {.numDim = 1, .dimSize = dims},
                                     .dataType = QNN_DATATYPE_FLOAT_32,
                                     .memType = QNN_MEM_TYPE_DMA_BUF,
                                     .dmaBufInfo = {.fd = i, .data = i ? y : x}};
    Qnn_MemHandle_t h[2];
    GPU_OK(w.qnn.memRegister(w.context, d, 2, h));
    for (uint32_t i = 0; i < GPU_N; i++)
        x[i] = (float)i * 3;
    use_handle(&g.x, h[0]);
    use_handle(&g.y, h[1]);
    GPU_OK(w.qnn.graphExecute(g.graph, &g.x, 1, &g.y, 1, NULL, NULL));
    expect(y, 3);
    GPU_OK(w.qnn.memDeRegister(h, 2));
    d[0].dmaBufInfo.data = NULL;
    GPU_FAILS(w.qnn.memRegister(w.context, d, 1, h), 1000);
    gpu_end(&w);
}

static void mem_05_handles_must_fit_their_tensors(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    opencl o = open_opencl();
    cl_mem more = new_buffer(&o, CL_MEM_READ_WRITE, 128);
    cl_mem only = new_buffer(&o, CL_MEM_READ_ONLY, 64);
    Qnn_MemHandle_t h[2];
    float out[GPU_N], x[GPU_N] = {0};
    GPU_OK(try_register(&w, more, 2 * GPU_N, &h[0])); // of another shape
    GPU_OK(try_register(&w, only, GPU_N, &h[1]));
    Qnn_Tensor_t tx = g.x, ty = g.y;
    use_handle(&tx, h[0]);
    set_buffer(&ty, out, sizeof out);
    GPU_FAILS(w.qnn.graphExecute(g.graph, &tx, 1, &ty, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_TENSOR);
    assert_int_equal(QNN_GRAPH_ERROR_INVALID_TENSOR, 6004);
    tx = g.x, ty = g.y;
    set_buffer(&tx, x, sizeof x);
    use_handle(&ty, h[1]); // read-only
    GPU_FAILS(w.qnn.graphExecute(g.graph, &tx, 1, &ty, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_TENSOR);
    gpu_graph_check(&w, &g, 1);
    gpu_end(&w);
    qrn_cl.clReleaseMemObject(more);
    qrn_cl.clReleaseMemObject(only);
    close_opencl(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_01_02_buffers_of_a_foreign_context_are_used_in_place),
        cmocka_unit_test(mem_02_context_tensors_keep_their_values_when_the_context_moves),
        cmocka_unit_test(mem_03_wrong_descriptors_get_their_codes),
        cmocka_unit_test(mem_04_dma_buffers_are_used_through_their_mapping),
        cmocka_unit_test(mem_05_handles_must_fit_their_tensors),
    };
    return gpu_tests(tests);
}
