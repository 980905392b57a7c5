// SPDX-License-Identifier: MIT
//
// Fences and memory of others, on a driver that has the extensions (GPU-FEN-01, GPU-MEM-04): the
// real one behind a shim whose semaphores are pipes and whose DMA buffers are files in memory.
#include "cl_shim.h"
#include "gpu_client.h"

#include "GPU/QnnGpuMem.h"
#include "QnnMem.h"

#include <dirent.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned fail_at; // call of an extension that fails
static bool call_fails(void) { return fail_at && --fail_at == 0; }

static unsigned n_files(void) {
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

// --- semaphores

typedef struct semaphore {
    int fd; // imported, or the end of a pipe that is readable when it is signalled
    bool exported;
} semaphore;

static unsigned n_waits, n_signals;

static cl_semaphore_khr create_semaphore(cl_context c, const cl_ulong *p, cl_int *err) {
    (void)c;
    semaphore s = {.fd = -1};
    assert_true(p[0] == 0x203D && p[1] == 1);
    *err = CL_OUT_OF_HOST_MEMORY;
    if (call_fails())
        return NULL;
    if (p[2] == 0x2058) { // SYNC_FD: import
        s.fd = (int)p[3];
        assert_int_equal(p[4], 0);
    } else {
        assert_true(p[2] == 0x203F && p[3] == 0x2058 && p[4] == 0 && p[5] == 0);
        s.exported = true;
    }
    semaphore *made = malloc(sizeof *made);
    *made = s;
    *err = CL_SUCCESS;
    shim_live++;
    return (cl_semaphore_khr)made;
}
static cl_int release_semaphore(cl_semaphore_khr s) {
    if (((semaphore *)s)->fd >= 0)
        close(((semaphore *)s)->fd);
    free(s);
    shim_live--;
    return CL_SUCCESS;
}
static cl_int wait_semaphores(cl_command_queue q, cl_uint n, const cl_semaphore_khr *list,
                              const cl_ulong *payload, cl_uint ne, const cl_event *e,
                              cl_event *out) {
    (void)q, (void)payload, (void)ne, (void)e, (void)out;
    struct pollfd p = {.fd = ((semaphore *)list[0])->fd, .events = POLLIN};
    assert_int_equal(n, 1);
    if (call_fails())
        return CL_INVALID_OPERATION;
    n_waits++;
    assert_int_equal(poll(&p, 1, 60000), 1);
    return CL_SUCCESS;
}
static cl_int signal_semaphores(cl_command_queue q, cl_uint n, const cl_semaphore_khr *list,
                                const cl_ulong *payload, cl_uint ne, const cl_event *e,
                                cl_event *out) {
    (void)payload, (void)ne, (void)e, (void)out;
    int ends[2];
    assert_true(n == 1 && ((semaphore *)list[0])->exported);
    if (call_fails())
        return CL_INVALID_OPERATION;
    n_signals++;
    assert_int_equal(real.clFinish(q), CL_SUCCESS);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    close(ends[1]);
    ((semaphore *)list[0])->fd = ends[0];
    return CL_SUCCESS;
}
static cl_int export_semaphore(cl_semaphore_khr s, cl_device_id d, cl_uint type, size_t size,
                               void *out, size_t *n) {
    (void)d, (void)n;
    assert_true(type == 0x2058 && size == sizeof(int) && ((semaphore *)s)->fd >= 0);
    if (call_fails())
        return CL_INVALID_OPERATION;
    *(int *)out = dup(((semaphore *)s)->fd);
    return CL_SUCCESS;
}

// --- DMA buffers

#define BYTES (GPU_N * sizeof(float))

static unsigned n_imports;
static int n_acquired;

static cl_mem over_file(cl_context c, int fd, size_t bytes, cl_int *err) {
    *err = CL_INVALID_VALUE;
    if (call_fails())
        return NULL;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED); // stays until the program ends
    n_imports++;
    return shim_buffer(c, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, p, err);
}
static cl_mem import_khr(cl_context c, const cl_ulong *p, cl_bitfield flags, size_t bytes,
                         void *host, cl_int *err) {
    (void)flags, (void)host;
    assert_true(p[0] == 0x2067 && p[2] == 0);
    cl_mem m = over_file(c, (int)p[1], bytes, err);
    if (m)
        close((int)p[1]); // it is the driver's now
    return m;
}
static cl_mem import_arm(cl_context c, cl_bitfield flags, const intptr_t *p, void *memory,
                         size_t bytes, cl_int *err) {
    (void)flags;
    assert_true(p[0] == 0x40B2 && p[1] == 0x40B4 && p[2] == 0);
    return over_file(c, *(int *)memory, bytes, err);
}
static cl_int acquire(cl_command_queue q, cl_uint n, const cl_mem *m, cl_uint ne, const cl_event *e,
                      cl_event *out) {
    (void)q, (void)m, (void)ne, (void)e, (void)out;
    if (call_fails())
        return CL_INVALID_OPERATION;
    n_acquired += (int)n;
    return CL_SUCCESS;
}
static cl_int give_back(cl_command_queue q, cl_uint n, const cl_mem *m, cl_uint ne,
                        const cl_event *e, cl_event *out) {
    (void)q, (void)m, (void)ne, (void)e, (void)out;
    assert_true(n_acquired > 0);
    n_acquired -= (int)n;
    return call_fails() ? CL_INVALID_OPERATION : CL_SUCCESS;
}

static const shim_function functions[] = {
    {"clCreateSemaphoreWithPropertiesKHR", (void *)create_semaphore},
    {"clReleaseSemaphoreKHR", (void *)release_semaphore},
    {"clEnqueueWaitSemaphoresKHR", (void *)wait_semaphores},
    {"clEnqueueSignalSemaphoresKHR", (void *)signal_semaphores},
    {"clGetSemaphoreHandleForTypeKHR", (void *)export_semaphore},
    {"clEnqueueAcquireExternalMemObjectsKHR", (void *)acquire},
    {"clEnqueueReleaseExternalMemObjectsKHR", (void *)give_back},
    {"clImportMemoryARM", (void *)import_arm},
    {0}};

static gpu_world begin(const char *extensions) {
    shim_begin(0);
    shim_announce(extensions, functions);
    qrn_cl.clCreateBufferWithProperties = import_khr;
    fail_at = n_waits = n_signals = n_imports = 0;
    n_acquired = 0;
    return gpu_begin();
}

static void end(gpu_world *w) {
    gpu_end(w);
    assert_int_equal(shim_live, 0);
    shim_end();
}

// --- memory

#define FENCES "cl_khr_external_semaphore_sync_fd"
#define DMA "cl_khr_external_memory_dma_buf"
#define ARM "cl_arm_import_memory"

// A file with room for x or y, and its bytes.
typedef struct file {
    int fd;
    float *data;
    Qnn_MemHandle_t handle;
} file;

static file new_file(void) {
    file f = {.fd = memfd_create("dma", 0)};
    assert_int_equal(ftruncate(f.fd, 4096), 0);
    f.data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
    assert_ptr_not_equal(f.data, MAP_FAILED);
    return f;
}

static Qnn_ErrorHandle_t enter(const gpu_world *w, file *f, void *data) {
    static uint32_t dims[] = {GPU_N};
    Qnn_MemDescriptor_t d = {.memShape = {.numDim = 1, .dimSize = dims},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_DMA_BUF,
                             .dmaBufInfo = {.fd = f->fd, .data = data}};
    return w->qnn.memRegister(w->context, &d, 1, &f->handle);
}

static void leave(const gpu_world *w, file *f) {
    GPU_OK(w->qnn.memDeRegister(&f->handle, 1));
    munmap(f->data, 4096);
    close(f->fd);
}

// No file but those from before is open then.
static void leave_and_end(gpu_world *w, file *x, file *y, unsigned files) {
    leave(w, x);
    leave(w, y);
    assert_int_equal(n_files(), files);
    end(w);
}

static Qnn_ErrorHandle_t execute(const gpu_world *w, gpu_graph *g, file *x, file *y) {
    Qnn_Tensor_t in = g->x, out = g->y;
    in.v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    in.v1.memHandle = x->handle;
    out.v1.memHandle = y->handle;
    return w->qnn.graphExecute(g->graph, &in, 1, &out, 1, NULL, NULL);
}

// y = relu(x + i - 2)
static void check(const gpu_world *w, gpu_graph *g, file *x, file *y, float scale) {
    for (uint32_t i = 0; i < GPU_N; i++)
        x->data[i] = (float)i * scale;
    memset(y->data, 0, BYTES);
    GPU_OK(execute(w, g, x, y));
    for (uint32_t i = 0; i < GPU_N; i++) {
        float sum = (float)i * scale + (float)i - 2.0f;
        assert_float_equal(y->data[i], sum > 0 ? sum : 0, 1e-6);
    }
}

static void mem_04_dma_buffers_without_a_mapping_are_imported(void **state) {
    (void)state;
    static const char *const kinds[] = {DMA, ARM};
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(kinds[k]);
        gpu_graph g;
        unsigned files = n_files();
        file x = new_file(), y = new_file();
        gpu_graph_make(&w, &g, "g", NULL);
        GPU_OK(enter(&w, &x, NULL));
        GPU_OK(enter(&w, &y, NULL));
        assert_int_equal(n_imports, 2);
        for (int i = 1; i < 4; i++)
            check(&w, &g, &x, &y, (float)i);
        assert_int_equal(n_acquired, 0);
        leave_and_end(&w, &x, &y, files);
    }
}

static void mem_04_an_import_that_fails_is_an_error_or_the_mapping(void **state) {
    (void)state;
    static const char *const kinds[] = {DMA, ARM};
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(kinds[k]);
        gpu_graph g;
        unsigned files = n_files();
        file x = new_file(), y = new_file();
        gpu_graph_make(&w, &g, "g", NULL);
        fail_at = 1;
        GPU_FAILS(enter(&w, &x, NULL), QNN_MEM_ERROR_MAPPING);
        GPU_LOGGED("cannot be imported");
        fail_at = 1;
        GPU_OK(enter(&w, &x, x.data));
        GPU_OK(enter(&w, &y, NULL));
        assert_int_equal(n_imports, 1);
        check(&w, &g, &x, &y, 1);
        if (k == 0) {
            fail_at = 1;
            assert_int_not_equal(execute(&w, &g, &x, &y), QNN_SUCCESS);
            GPU_LOGGED("acquiring imported memory failed");
            fail_at = 2;
            assert_int_not_equal(execute(&w, &g, &x, &y), QNN_SUCCESS);
            GPU_LOGGED("releasing imported memory failed");
            check(&w, &g, &x, &y, 2);
        }
        leave_and_end(&w, &x, &y, files);
    }
}

// Buffers of the client's OpenCL context would move ours away from what was imported.
static void mem_04_opencl_buffers_come_before_imports(void **state) {
    (void)state;
    gpu_world w = begin(ARM);
    file x = new_file();
    cl_platform_id platform;
    cl_device_id device;
    cl_int err;
    static uint32_t dims[] = {GPU_N};
    real.clGetPlatformIDs(1, &platform, NULL);
    real.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context client = real.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    cl_mem buffer = real.clCreateBuffer(client, CL_MEM_READ_WRITE, BYTES, NULL, &err);
    QnnGpu_MemInfoCustom_t info = {.memType = QNN_GPU_MEM_OPENCL, .buffer = buffer};
    Qnn_MemDescriptor_t d = {.memShape = {.numDim = 1, .dimSize = dims},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = &info};
    Qnn_MemHandle_t h;
    GPU_OK(enter(&w, &x, NULL));
    GPU_FAILS(w.qnn.memRegister(w.context, &d, 1, &h), QNN_MEM_ERROR_MAPPING);
    GPU_LOGGED("register OpenCL buffers first");
    leave(&w, &x);
    GPU_OK(w.qnn.memRegister(w.context, &d, 1, &h));
    GPU_OK(w.qnn.memDeRegister(&h, 1));
    real.clReleaseMemObject(buffer);
    real.clReleaseContext(client);
    end(&w);
}

// --- fences

static Qnn_ErrorHandle_t set_fences(const gpu_world *w, Qnn_GraphHandle_t g,
                                    const QnnGpuGraph_FenceConfig_t *f) {
    QnnGpuGraph_CustomConfigV2_t v2 = {.handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                       .option = QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG,
                                       .fenceConfig = *f};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v2};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    return w->qnn.graphSetConfig(g, list);
}

static bool is_signalled(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void fen_01_the_device_waits_where_it_alone_reads_inputs(void **state) {
    (void)state;
    gpu_world w = begin(FENCES " " DMA);
    gpu_graph g;
    int ends[2];
    unsigned files = n_files();
    assert_int_equal(pipe(ends), 0);
    uint32_t n = 1;
    int32_t fd = ends[0], *fds[] = {&fd};
    QnnGpuGraph_FenceConfig_t f = {
        .fenceConfigV1 = {.numInputFences = &n, .inputFenceHandles = fds}};
    file x = new_file(), y = new_file();
    gpu_graph_make(&w, &g, "g", NULL);
    GPU_OK(enter(&w, &x, NULL));
    GPU_OK(enter(&w, &y, NULL));
    GPU_OK(set_fences(&w, g.graph, &f));
    assert_int_equal(write(ends[1], "x", 1), 1);
    check(&w, &g, &x, &y, 1);
    assert_int_equal(n_waits, 1);
    gpu_graph_check(&w, &g, 1); // x is in host memory: the host waits before it reads
    assert_int_equal(n_waits, 1);
    for (unsigned k = 1; k <= 2; k++) { // what the device cannot wait for, the host does
        fail_at = k;
        check(&w, &g, &x, &y, 2);
        assert_int_equal(n_waits, 1);
        fail_at = 0;
    }
    close(ends[0]); // the fence is still ours to close
    assert_int_not_equal(execute(&w, &g, &x, &y), QNN_SUCCESS);
    GPU_LOGGED("is not an open one");
    close(ends[1]);
    leave_and_end(&w, &x, &y, files);
}

static void fen_01_executions_signal_an_output_fence(void **state) {
    (void)state;
    gpu_world w = begin(FENCES);
    gpu_graph g;
    unsigned files = n_files();
    int32_t out = 77;
    float y[GPU_N];
    QnnGpuGraph_FenceConfig_t f = {.fenceConfigV1 = {.enableOutputFence = 1}};
    gpu_graph_make(&w, &g, "g", NULL);
    GPU_FAILS(set_fences(&w, g.graph, &f), QNN_GRAPH_ERROR_INVALID_ARGUMENT); // no place for it
    f.fenceConfigV1.outputFence = &out;
    GPU_OK(set_fences(&w, g.graph, &f));
    for (int i = 1; i < 4; i++) {
        gpu_graph_check(&w, &g, (float)i);
        assert_int_equal(n_signals, i);
        assert_true(is_signalled(out));
        close(out);
    }
    for (unsigned k = 1; k <= 3; k++) {
        fail_at = k;
        assert_int_not_equal(gpu_graph_try(&w, &g, 1, y, NULL), QNN_SUCCESS);
        GPU_LOGGED("making an output fence failed");
        assert_int_equal(out, -1);
    }
    gpu_graph_check(&w, &g, 1);
    close(out);
    f.fenceConfigV1.enableOutputFence = 0;
    out = 77;
    GPU_OK(set_fences(&w, g.graph, &f));
    gpu_graph_check(&w, &g, 1);
    assert_int_equal(out, 77);
    assert_int_equal(n_files(), files);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(mem_04_dma_buffers_without_a_mapping_are_imported),
        SHIM_TEST(mem_04_an_import_that_fails_is_an_error_or_the_mapping),
        SHIM_TEST(mem_04_opencl_buffers_come_before_imports),
        SHIM_TEST(fen_01_the_device_waits_where_it_alone_reads_inputs),
        SHIM_TEST(fen_01_executions_signal_an_output_fence),
    };
    return gpu_tests(tests);
}
