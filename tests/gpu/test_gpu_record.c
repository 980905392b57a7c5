// SPDX-License-Identifier: MIT
//
// Recorded commands (GPU-SPD-07, GPU-GRF-04, GPU-ADR-06) with both extensions. The driver is the
// real one behind a shim that records kernels with their arguments and replays them by plain calls.
#include "cl_shim.h"
#include "gpu_client.h"

#include "GPU/QnnGpuMem.h"
#include "QnnMem.h"

#include <math.h>

// --- arguments of kernels, as the driver keeps them

#define MOST_ARGS 48
#define MOST_KERNELS 64

typedef struct argument {
    size_t size; // 0: not set
    bool given;  // a value, not local memory
    char value[64];
} argument;

typedef struct kernel_state {
    cl_kernel kernel;
    argument args[MOST_ARGS];
} kernel_state;

static kernel_state kernels[MOST_KERNELS];

static kernel_state *state_of(cl_kernel k) {
    for (int i = 0; i < MOST_KERNELS; i++)
        if (kernels[i].kernel == k || !kernels[i].kernel) {
            kernels[i].kernel = k;
            return &kernels[i];
        }
    fail_msg("too many kernels");
    return NULL;
}

static cl_int keep_arg(cl_kernel k, cl_uint i, size_t n, const void *v) {
    argument *a = &state_of(k)->args[i];
    assert_true(i < MOST_ARGS && (!v || n <= sizeof a->value));
    *a = (argument){.size = n, .given = v != NULL};
    if (v)
        memcpy(a->value, v, n);
    return shim_arg(k, i, n, v);
}

// --- a recording

typedef struct command {
    kernel_state state;
    cl_uint n_dims;
    size_t global[3], local[3];
    bool has_local;
} command;

typedef struct tape {
    command commands[MOST_KERNELS];
    uint32_t n;
    cl_command_queue queue;
    bool complete;
} tape;

static unsigned n_tapes, n_replays, n_plain, n_updates, fail_at; // fail_at: call of an extension
static cl_command_queue recorder;                                // of cl_qcom_recordable_queues
static tape *open_tape;

static bool call_fails(void) { return fail_at && --fail_at == 0; }

static tape *new_tape(cl_command_queue q) {
    tape *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->queue = q;
    n_tapes++;
    shim_live++;
    return t;
}

static void free_tape(tape *t) {
    shim_live--;
    free(t);
}

static void add_command(tape *t, cl_kernel k, cl_uint n, const size_t *global,
                        const size_t *local) {
    assert_true(t->n < MOST_KERNELS && !t->complete);
    command *c = &t->commands[t->n++];
    *c = (command){.state = *state_of(k), .n_dims = n, .has_local = local != NULL};
    memcpy(c->global, global, n * sizeof *global);
    if (local)
        memcpy(c->local, local, n * sizeof *local);
}

static cl_int play(cl_command_queue q, const tape *t) {
    assert_true(t->complete);
    n_replays++;
    for (uint32_t i = 0; i < t->n; i++) {
        const command *c = &t->commands[i];
        for (cl_uint k = 0; k < MOST_ARGS; k++)
            if (c->state.args[k].size)
                assert_int_equal(
                    real.clSetKernelArg(c->state.kernel, k, c->state.args[k].size,
                                        c->state.args[k].given ? c->state.args[k].value : NULL),
                    CL_SUCCESS);
        assert_int_equal(real.clEnqueueNDRangeKernel(q, c->state.kernel, c->n_dims, NULL, c->global,
                                                     c->has_local ? c->local : NULL, 0, NULL, NULL),
                         CL_SUCCESS);
    }
    return CL_SUCCESS;
}

// --- cl_khr_command_buffer

static cl_command_buffer_khr create_buffer(cl_uint n, const cl_command_queue *q,
                                           const cl_ulong *properties, cl_int *err) {
    assert_int_equal(n, 1);
    assert_null(properties);
    *err = call_fails() ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
    return *err == CL_SUCCESS ? (cl_command_buffer_khr)new_tape(*q) : NULL;
}
static cl_int add_kernel(cl_command_buffer_khr b, cl_command_queue q, const cl_ulong *properties,
                         cl_kernel k, cl_uint n, const size_t *offset, const size_t *global,
                         const size_t *local, cl_uint n_waits, const cl_uint *waits, cl_uint *sync,
                         cl_mutable_command_khr *handle) {
    (void)q, (void)properties, (void)offset, (void)handle;
    tape *t = (tape *)b;
    if (call_fails())
        return CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(n_waits, t->n ? 1 : 0);
    assert_true(!t->n || waits[0] == t->n);
    add_command(t, k, n, global, local);
    *sync = t->n;
    return CL_SUCCESS;
}
static cl_int finalize_buffer(cl_command_buffer_khr b) {
    ((tape *)b)->complete = true;
    return call_fails() ? CL_INVALID_OPERATION : CL_SUCCESS;
}
static cl_int enqueue_buffer(cl_uint n, cl_command_queue *queues, cl_command_buffer_khr b,
                             cl_uint n_events, const cl_event *events, cl_event *event) {
    (void)n, (void)queues, (void)n_events, (void)events, (void)event;
    return call_fails() ? CL_OUT_OF_HOST_MEMORY : play(((tape *)b)->queue, (tape *)b);
}
static cl_int release_buffer(cl_command_buffer_khr b) {
    free_tape((tape *)b);
    return CL_SUCCESS;
}

// --- cl_qcom_recordable_queues

static cl_command_queue make_queue(cl_context c, cl_device_id d, cl_bitfield f, cl_int *err) {
    bool records = (f & (1u << 30)) != 0;
    *err = CL_OUT_OF_HOST_MEMORY;
    if (records && call_fails())
        return NULL;
    cl_command_queue q = shim_queue(c, d, f & ~(cl_bitfield)(1u << 30), err);
    if (records)
        recorder = q;
    return q;
}
static cl_recording_qcom new_recording(cl_command_queue q, cl_int *err) {
    assert_ptr_equal(q, recorder);
    *err = call_fails() ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
    open_tape = *err == CL_SUCCESS ? new_tape(q) : NULL;
    return (cl_recording_qcom)open_tape;
}
static cl_int run_or_record(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *offset,
                            const size_t *global, const size_t *local, cl_uint ne,
                            const cl_event *e, cl_event *out) {
    if (q != recorder) {
        n_plain++;
        return shim_run(q, k, n, offset, global, local, ne, e, out);
    }
    if (call_fails())
        return CL_OUT_OF_HOST_MEMORY;
    add_command(open_tape, k, n, global, local);
    return CL_SUCCESS;
}
static cl_int end_recording(cl_recording_qcom r) {
    ((tape *)r)->complete = true;
    open_tape = NULL;
    return call_fails() ? CL_INVALID_OPERATION : CL_SUCCESS;
}
static cl_int enqueue_recording(cl_command_queue q, cl_recording_qcom r, size_t n,
                                const cl_array_arg_qcom *args, size_t n1, const void *p1, size_t n2,
                                const void *p2, size_t n3, const void *p3, cl_uint ne,
                                const cl_event *e, cl_event *out) {
    (void)p1, (void)p2, (void)p3, (void)ne, (void)e, (void)out;
    tape *t = (tape *)r;
    assert_int_equal(n1 + n2 + n3, 0);
    assert_ptr_not_equal(q, recorder);
    if (call_fails())
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < n; i++) {
        assert_true(args[i].dispatch_index < t->n);
        argument *a = &t->commands[args[i].dispatch_index].state.args[args[i].arg_index];
        assert_int_equal(a->size, args[i].arg_size);
        n_updates += memcmp(a->value, args[i].arg_value, a->size) != 0;
        memcpy(a->value, args[i].arg_value, a->size);
    }
    return play(q, t);
}
static cl_int release_recording(cl_recording_qcom r) {
    free_tape((tape *)r);
    return CL_SUCCESS;
}

static const shim_function functions[] = {{"clCreateCommandBufferKHR", (void *)create_buffer},
                                          {"clFinalizeCommandBufferKHR", (void *)finalize_buffer},
                                          {"clReleaseCommandBufferKHR", (void *)release_buffer},
                                          {"clEnqueueCommandBufferKHR", (void *)enqueue_buffer},
                                          {"clCommandNDRangeKernelKHR", (void *)add_kernel},
                                          {"clNewRecordingQCOM", (void *)new_recording},
                                          {"clEndRecordingQCOM", (void *)end_recording},
                                          {"clReleaseRecordingQCOM", (void *)release_recording},
                                          {"clEnqueueRecordingQCOM", (void *)enqueue_recording},
                                          {0}};

// --- the tests

#define BUFFERS "cl_khr_command_buffer"
#define QUEUES "cl_qcom_recordable_queues"
static const char *const both[] = {BUFFERS, QUEUES};

static gpu_world begin(const char *extension) {
    shim_begin(0);
    shim_announce(extension, functions);
    qrn_cl.clSetKernelArg = keep_arg;
    qrn_cl.clCreateCommandQueue = make_queue;
    qrn_cl.clEnqueueNDRangeKernel = run_or_record;
    memset(kernels, 0, sizeof kernels);
    n_tapes = n_replays = n_plain = n_updates = fail_at = 0;
    recorder = NULL;
    return gpu_begin();
}

static void end(gpu_world *w) {
    gpu_end(w);
    assert_int_equal(shim_live, 0);
    shim_end();
}

// x -> relu -> [op that cannot be fused with it] -> y: several launches.
typedef struct chain {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t dims[2];
} chain;

static void build(const gpu_world *w, chain *c, const char *name, bool recorded) {
    QnnGpuGraph_CustomConfig_t v1 = {.precision = QNN_GPU_PRECISION_FP32,
                                     .disableQueueRecording = !recorded};
    QnnGraph_Config_t one = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&one, NULL};
    c->dims[0] = 2;
    c->dims[1] = 4;
    GPU_OK(w->qnn.graphCreate(w->context, name, list, &c->graph));
    c->x = tensor(&w->qnn, c->graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, c->dims);
    Qnn_Tensor_t s = tensor(&w->qnn, c->graph, "s", QNN_TENSOR_TYPE_NATIVE, 2, c->dims);
    c->y = tensor(&w->qnn, c->graph, "y", QNN_TENSOR_TYPE_APP_READ, 2, c->dims);
    node(&w->qnn, c->graph, "softmax", "Softmax", &c->x, &s);
    node(&w->qnn, c->graph, "again", "Softmax", &s, &c->y);
    GPU_OK(w->qnn.graphFinalize(c->graph, NULL, NULL));
}

static void fill(float *x, int round) {
    for (int i = 0; i < 8; i++)
        x[i] = (float)((i * 3 + round) % 7) * 0.5f;
}

static void softmax(const double *x, double *y) {
    for (int r = 0; r < 2; r++) {
        double sum = 0;
        for (int i = 0; i < 4; i++)
            sum += exp(x[4 * r + i]);
        for (int i = 0; i < 4; i++)
            y[4 * r + i] = exp(x[4 * r + i]) / sum;
    }
}

static void compare(const float *x, const float *y) {
    double a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = (double)x[i];
    softmax(a, b);
    softmax(b, a);
    for (int i = 0; i < 8; i++)
        assert_float_equal(y[i], a[i], 1e-6);
}

static void run(const gpu_world *w, chain *c, int round, float *y, Qnn_ProfileHandle_t profile) {
    float x[8];
    fill(x, round);
    set_buffer(&c->x, x, sizeof x);
    set_buffer(&c->y, y, sizeof x);
    GPU_OK(w->qnn.graphExecute(c->graph, &c->x, 1, &c->y, 1, profile, NULL));
    compare(x, y);
}

static void spd_07_commands_are_recorded_once_and_replayed(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(both[k]);
        chain c;
        float y[8];
        build(&w, &c, "g", true);
        GPU_LOGGED(both[k]);
        for (int i = 0; i < 4; i++)
            run(&w, &c, i, y, NULL);
        assert_int_equal(n_tapes, 1);
        assert_int_equal(n_replays, 4);
        assert_int_equal(n_plain, 0);
        end(&w);
    }
}

static void grf_04_results_are_equal_with_and_without_recording(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(both[k]);
        chain on, off;
        float a[8], b[8];
        build(&w, &on, "on", true);
        build(&w, &off, "off", false);
        for (int i = 0; i < 3; i++) {
            run(&w, &on, i, a, NULL);
            unsigned before = n_replays;
            run(&w, &off, i, b, NULL);
            assert_int_equal(n_replays, before);
            assert_memory_equal(a, b, sizeof a);
        }
        assert_true(n_plain > 0 && n_tapes == 1);
        end(&w);
    }
}

static void prf_02_kernels_are_timed_without_recording(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(both[k]);
        chain c;
        float y[8];
        Qnn_ProfileHandle_t p;
        build(&w, &c, "g", true);
        GPU_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
        run(&w, &c, 0, y, p);
        assert_int_equal(n_tapes + n_replays, 0);
        run(&w, &c, 1, y, NULL);
        assert_int_equal(n_replays, 1);
        run(&w, &c, 2, y, p);
        assert_int_equal(n_replays, 1);
        GPU_OK(w.qnn.profileFree(p));
        end(&w);
    }
}

// --- memory of the client, which changes between executions

typedef struct shared {
    cl_context context;
    cl_command_queue queue;
    cl_mem in[2], out[2];
    Qnn_MemHandle_t in_handle[2], out_handle[2];
} shared;

static Qnn_MemHandle_t enter(const gpu_world *w, cl_mem buffer) {
    static uint32_t dims[] = {2, 4};
    QnnGpu_MemInfoCustom_t info = {.memType = QNN_GPU_MEM_OPENCL, .buffer = buffer};
    Qnn_MemDescriptor_t d = {.memShape = {.numDim = 2, .dimSize = dims},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = &info};
    Qnn_MemHandle_t h;
    GPU_OK(w->qnn.memRegister(w->context, &d, 1, &h));
    return h;
}

static void share(const gpu_world *w, shared *s) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int err;
    real.clGetPlatformIDs(1, &platform, NULL);
    real.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    s->context = real.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    s->queue = real.clCreateCommandQueue(s->context, device, 0, &err);
    for (int i = 0; i < 2; i++) {
        s->in[i] = real.clCreateBuffer(s->context, CL_MEM_READ_WRITE, 32, NULL, &err);
        s->out[i] = real.clCreateBuffer(s->context, CL_MEM_READ_WRITE, 32, NULL, &err);
        s->in_handle[i] = enter(w, s->in[i]);
        s->out_handle[i] = enter(w, s->out[i]);
    }
}

static void unshare(const gpu_world *w, shared *s) {
    for (int i = 0; i < 2; i++) {
        GPU_OK(w->qnn.memDeRegister(&s->in_handle[i], 1));
        GPU_OK(w->qnn.memDeRegister(&s->out_handle[i], 1));
        real.clReleaseMemObject(s->in[i]);
        real.clReleaseMemObject(s->out[i]);
    }
    real.clReleaseCommandQueue(s->queue);
    real.clReleaseContext(s->context);
}

static void run_shared(const gpu_world *w, chain *c, const shared *s, int which, int round) {
    float x[8], y[8];
    fill(x, round);
    real.clEnqueueWriteBuffer(s->queue, s->in[which], CL_TRUE, 0, sizeof x, x, 0, NULL, NULL);
    Qnn_Tensor_t in = c->x, out = c->y;
    in.v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    in.v1.memHandle = s->in_handle[which];
    out.v1.memHandle = s->out_handle[which];
    GPU_OK(w->qnn.graphExecute(c->graph, &in, 1, &out, 1, NULL, NULL));
    real.clEnqueueReadBuffer(s->queue, s->out[which], CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
    compare(x, y);
}

static void spd_07_memory_that_changes_is_followed(void **state) {
    (void)state;
    static const int order[] = {0, 0, 0, 1, 1, 1, 0, 1, 0};
    for (int k = 0; k < 2; k++) {
        gpu_world w = begin(both[k]);
        chain c;
        shared s;
        float y[8];
        build(&w, &c, "g", true);
        run(&w, &c, 0, y, NULL);
        assert_int_equal(n_tapes, 1);
        share(&w, &s);
        for (int i = 0; i < 9; i++)
            run_shared(&w, &c, &s, order[i], i);
        run(&w, &c, 1, y, NULL);
        if (k == 0) { // recorded again when memory has been the same twice: 0 0 0, 1 1 1
            assert_int_equal(n_tapes, 3);
            assert_int_equal(n_replays, 1 + 2 + 2);
        } else { // recorded again after the context moved
            assert_int_equal(n_tapes, 2);
            assert_int_equal(n_replays, 11);
            assert_true(n_updates >= 2 * 5);
        }
        unshare(&w, &s);
        end(&w);
    }
}

static void spd_07_a_call_that_fails_leads_to_plain_enqueues(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        bool over = false;
        unsigned n = 1;
        for (; !over && n < 50; n++) {
            gpu_world w = begin(both[k]);
            chain c;
            float y[8];
            build(&w, &c, "g", true);
            fail_at = n;
            for (int i = 0; i < 3; i++)
                run(&w, &c, i, y, NULL);
            over = fail_at > 0;
            const char *line = strstr(gpu_lines, "plain enqueues from here on");
            assert_int_equal(line == NULL, over);
            assert_true(over || (n_plain > 0 && !strstr(line + 1, "plain enqueues from here on")));
            end(&w);
        }
        assert_true(n > 6 && n < 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(spd_07_commands_are_recorded_once_and_replayed),
        SHIM_TEST(grf_04_results_are_equal_with_and_without_recording),
        SHIM_TEST(prf_02_kernels_are_timed_without_recording),
        SHIM_TEST(spd_07_memory_that_changes_is_followed),
        SHIM_TEST(spd_07_a_call_that_fails_leads_to_plain_enqueues),
    };
    return gpu_tests(tests);
}
