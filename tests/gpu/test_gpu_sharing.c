// SPDX-License-Identifier: MIT
//
// Weights that graphs have in common (GPU-BKE-03), buffers of a launch (GPU-SPD-07), and tuning
// (GPU-TUN).
#include "gpu_client.h"

#include <sys/stat.h>
#include <unistd.h>

#define N_WEIGHTS 65536u

static qrn_cl_api real;
static size_t n_bytes;  // of buffers that were made
static unsigned n_runs; // kernels that were run

static cl_mem count_bytes(cl_context c, cl_bitfield flags, size_t n, void *host, cl_int *err) {
    n_bytes += n;
    return real.clCreateBuffer(c, flags, n, host, err);
}

static cl_int count_runs(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *a,
                         const size_t *b, const size_t *c, cl_uint n_events, const cl_event *events,
                         cl_event *event) {
    n_runs++;
    return real.clEnqueueNDRangeKernel(q, k, n, a, b, c, n_events, events, event);
}

static void count(void) {
    real = qrn_cl;
    n_bytes = 0;
    n_runs = 0;
    qrn_cl.clCreateBuffer = count_bytes;
    qrn_cl.clEnqueueNDRangeKernel = count_runs;
}

static gpu_world begin_with(const QnnGpuBackend_CustomConfig_t *custom, unsigned n) {
    gpu_world w = {.qnn = gpu_open()};
    QnnBackend_Config_t configs[4];
    const QnnBackend_Config_t *list[5] = {NULL};
    for (unsigned i = 0; i < n; i++) {
        configs[i] = (QnnBackend_Config_t){.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                           .customConfig = (void *)(uintptr_t)&custom[i]};
        list[i] = &configs[i];
    }
    gpu_lines[0] = 0;
    GPU_OK(w.qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &w.log));
    GPU_OK(w.qnn.backendCreate(w.log, list, &w.backend));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    return w;
}

// y = x * w with a weight for each element.
static void make_scaled(const gpu_world *w, const char *name, float *weights) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {N_WEIGHTS};
    static float x[N_WEIGHTS], y[N_WEIGHTS];
    GPU_OK(w->qnn.graphCreate(w->context, name, NULL, &g));
    Qnn_Tensor_t tx = gpu_tensor(w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t ty = gpu_tensor(w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
    Qnn_Tensor_t tw = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
    set_buffer(&tw, weights, N_WEIGHTS * sizeof *weights);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &tw));
    Qnn_Tensor_t in[] = {tx, tw};
    GPU_OK(w->qnn.graphAddNode(
        g, op_config("mul", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseMultiply", in, 2, &ty, 1)));
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    for (uint32_t i = 0; i < N_WEIGHTS; i++)
        x[i] = (float)(i % 11);
    set_buffer(&tx, x, sizeof x);
    set_buffer(&ty, y, sizeof y);
    GPU_OK(w->qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
    for (uint32_t i = 0; i < N_WEIGHTS; i++)
        assert_float_equal(y[i], x[i] * weights[i], 1e-6);
}

static float weights[N_WEIGHTS], others[N_WEIGHTS];

// Bytes of device memory and of the binary that a second graph over the same weights takes.
static void measure_second(bool share, size_t *device, uint64_t *file) {
    QnnGpuBackend_CustomConfig_t custom = {.option =
                                               QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                           .weightSharingEnabled = share};
    gpu_world w = begin_with(&custom, 1);
    Qnn_ContextBinarySize_t before, after;
    make_scaled(&w, "first", weights);
    GPU_OK(w.qnn.contextGetBinarySize(w.context, &before));
    count();
    make_scaled(&w, "second", weights);
    qrn_cl = real;
    *device = n_bytes;
    GPU_OK(w.qnn.contextGetBinarySize(w.context, &after));
    *file = after - before;
    make_scaled(&w, "third", others); // other bytes are other weights
    gpu_end(&w);
}

static void bke_03_equal_weights_are_stored_once(void **state) {
    (void)state;
    size_t shared, alone, size = sizeof weights;
    uint64_t file;
    for (uint32_t i = 0; i < N_WEIGHTS; i++) {
        weights[i] = (float)i * 0.01f;
        others[i] = (float)i * -0.5f;
    }
    measure_second(false, &alone, &file);
    assert_true(alone >= 3 * size); // x, y, w
    measure_second(true, &shared, &file);
    assert_true(shared < 2 * size + size / 2); // x, y
    assert_true(file < size / 2);
}

// --- buffers of a launch, each of which costs host time

static cl_mem made[64];
static unsigned n_made, n_buffers;

static cl_mem remember(cl_context c, cl_bitfield flags, size_t n, void *host, cl_int *err) {
    cl_mem m = real.clCreateBuffer(c, flags, n, host, err);
    assert_true(n_made < sizeof made / sizeof made[0]);
    made[n_made++] = m;
    return m;
}

static cl_int count_buffers(cl_kernel k, cl_uint at, size_t n, const void *value) {
    for (unsigned i = 0; value && n == sizeof(cl_mem) && i < n_made; i++)
        n_buffers += memcmp(value, &made[i], n) == 0;
    return real.clSetKernelArg(k, at, n, value);
}

// y = x * w + b in one launch: its buffers are x, y and the plan's.
static void spd_07_small_constants_and_parameters_share_a_buffer(void **state) {
    (void)state;
    gpu_world w = begin_with(NULL, 0);
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {2, 3}, one[] = {3};
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6], scale[3] = {2, 3, 4}, shift[3] = {-1, 0, 1};
    real = qrn_cl;
    qrn_cl.clCreateBuffer = remember;
    qrn_cl.clSetKernelArg = count_buffers;
    GPU_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t tx = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, dims),
                 tm = describe("m", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims),
                 ty = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, dims),
                 tw = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, one),
                 tb = describe("b", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, one);
    set_buffer(&tw, scale, sizeof scale);
    set_buffer(&tb, shift, sizeof shift);
    Qnn_Tensor_t *all[] = {&tx, &tm, &ty, &tw, &tb};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        GPU_OK(w.qnn.tensorCreateGraphTensor(g, all[i]));
    Qnn_Tensor_t mul[] = {tx, tw}, add[] = {tm, tb};
    GPU_OK(w.qnn.graphAddNode(
        g, op_config("mul", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseMultiply", mul, 2, &tm, 1)));
    GPU_OK(w.qnn.graphAddNode(
        g, op_config("add", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseAdd", add, 2, &ty, 1)));
    GPU_OK(w.qnn.graphFinalize(g, NULL, NULL));
    set_buffer(&tx, x, sizeof x);
    set_buffer(&ty, y, sizeof y);
    GPU_OK(w.qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
    qrn_cl = real;
    for (int i = 0; i < 6; i++)
        assert_float_equal(y[i], x[i] * scale[i % 3] + shift[i % 3], 1e-6);
    assert_int_equal(n_buffers, 3);
    gpu_end(&w);
}

// --- tuning

static char folder[] = "/tmp/quern-tune-XXXXXX";

static void run_tuned(bool tune, bool invalidate, bool measured) {
    QnnGpuBackend_CustomConfig_t custom[] = {
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = tune},
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR,
         .performanceCacheDir = folder},
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE,
         .invalidatePerformanceCache = invalidate}};
    gpu_world w = begin_with(custom, 3);
    count();
    make_scaled(&w, "g", weights);
    qrn_cl = real;
    if (measured)
        assert_true(n_runs > 2);
    else
        assert_true(n_runs <= 1); // the execution, which may be a replay
    gpu_end(&w);
}

static size_t count_lines(const char *text) {
    char path[128], line[4096];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/tuning.jsonl", folder);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, text) != NULL;
    if (f)
        fclose(f);
    return n;
}

static void tun_01_02_03_winners_are_measured_once_and_only_when_asked_for(void **state) {
    (void)state;
    char path[128];
    assert_non_null(mkdtemp(folder));
    run_tuned(false, false, false);
    assert_int_equal(count_lines("variant"), 0);
    run_tuned(true, false, true);
    assert_int_equal(count_lines("\"family\":\"local\",\"shape\":\"eltwise "), 1);
    run_tuned(true, false, false);  // known
    run_tuned(false, false, false); // used without tuning
    assert_int_equal(count_lines("variant"), 1);
    run_tuned(true, true, true); // thrown away first
    assert_int_equal(count_lines("variant"), 1);
    snprintf(path, sizeof path, "%s/tuning.jsonl", folder);
    FILE *f = fopen(path, "w"); // hostile lines
    fprintf(f,
            "{\n[]\n{\"device\":3}\n\xff\xfe\n{\"device\":\"x\",\"key\":\"y\",\"variant\":-1}\n");
    for (int i = 0; i < 5000; i++)
        fputc('{', f);
    fclose(f);
    run_tuned(false, false, false);
    run_tuned(true, false, true);
    unlink(path);
    rmdir(folder);
    run_tuned(false, false, false); // makes the folder again
    rmdir(folder);
}

// --- tuning of a GEMM: y = x w, [64][96] times [96][80]

enum { M = 64, K = 96, N = 80 };

static float gemm_x[M * K], gemm_w[K * N];

static void make_gemm(const gpu_world *w) {
    Qnn_GraphHandle_t g;
    uint32_t xd[] = {M, K}, wd[] = {K, N}, yd[] = {M, N};
    for (int i = 0; i < M * K; i++)
        gemm_x[i] = (float)((i * 37) % 101) / 101.0f - 0.5f;
    for (int i = 0; i < K * N; i++)
        gemm_w[i] = (float)((i * 53) % 97) / 97.0f - 0.5f;
    GPU_OK(w->qnn.graphCreate(w->context, "gemm", NULL, &g));
    Qnn_Tensor_t x = tensor(&w->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, xd);
    Qnn_Tensor_t y = tensor(&w->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, yd);
    Qnn_Tensor_t c = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 2, wd);
    set_buffer(&c, gemm_w, sizeof gemm_w);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &c));
    Qnn_Tensor_t in[] = {x, c};
    GPU_OK(w->qnn.graphAddNode(
        g, op_config("mm", QNN_OP_PACKAGE_NAME_QTI_AISW, "MatMul", in, 2, &y, 1)));
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
}

static void check_gemm(const gpu_world *w) {
    static uint32_t xd[] = {M, K}, yd[] = {M, N};
    static float y[M * N];
    Qnn_GraphHandle_t g;
    GPU_OK(w->qnn.graphRetrieve(w->context, "gemm", &g));
    Qnn_Tensor_t tx = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, xd);
    Qnn_Tensor_t ty = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, yd);
    tx.v1.id = 1; // in order of creation
    ty.v1.id = 2;
    set_buffer(&tx, gemm_x, sizeof gemm_x);
    set_buffer(&ty, y, sizeof y);
    GPU_OK(w->qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += (double)gemm_x[i / N * K + k] * (double)gemm_w[k * N + i % N];
        assert_float_equal(y[i], sum, 1e-4);
    }
}

static size_t rule_size[3]; // work items of the rule's kernel
static unsigned n_reads;    // of memory, while counted
static bool corrupt;        // the first read, which is the reference's result

// The rule's kernel takes 40 times as long as it does.
static cl_int slow_rule(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *a,
                        const size_t *b, const size_t *c, cl_uint n_events, const cl_event *events,
                        cl_event *event) {
    if (!rule_size[0])
        memcpy(rule_size, b, n * sizeof *b);
    for (int i = 0; memcmp(rule_size, b, n * sizeof *b) == 0 && i < 39; i++)
        real.clEnqueueNDRangeKernel(q, k, n, a, b, c, 0, NULL, NULL);
    return real.clEnqueueNDRangeKernel(q, k, n, a, b, c, n_events, events, event);
}

static cl_int read_wrong(cl_command_queue q, cl_mem m, cl_bool wait, size_t at, size_t n, void *to,
                         cl_uint n_events, const cl_event *events, cl_event *event) {
    cl_int err = real.clEnqueueReadBuffer(q, m, wait, at, n, to, n_events, events, event);
    if (n_reads++ == 0 && corrupt)
        ((float *)to)[7] += 0.01f; // 0.001 of the largest would be the bound for 16 bits
    return err;
}

static gpu_world begin_tuned(bool tune) {
    QnnGpuBackend_CustomConfig_t custom[] = {
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = tune},
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR,
         .performanceCacheDir = folder}};
    return begin_with(custom, 2);
}

// Tunes the GEMM on a device where the rule's choice is slow; the line of the log about its launch.
static void tune_gemm(bool wrong_reference, char *launch, size_t size) {
    gpu_world w = begin_tuned(true);
    real = qrn_cl;
    memset(rule_size, 0, sizeof rule_size);
    n_reads = 0;
    corrupt = wrong_reference;
    qrn_cl.clEnqueueNDRangeKernel = slow_rule;
    qrn_cl.clEnqueueReadBuffer = read_wrong;
    make_gemm(&w);
    qrn_cl = real;
    const char *line = strstr(gpu_lines, "launch 0,");
    assert_non_null(line);
    snprintf(launch, size, "%.*s", (int)strcspn(line, "\n"), line);
    check_gemm(&w);
    gpu_end(&w);
}

static bool has_variants(void) { // some devices have one kernel alone
    gpu_world w = begin_with(NULL, 0);
    make_gemm(&w);
    bool several = strstr(gpu_lines, "launch 0,gemm_cpu") || strstr(gpu_lines, "launch 0,gemm_mma");
    gpu_end(&w);
    return several;
}

static void remove_folder(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/tuning.jsonl", folder);
    unlink(path);
    rmdir(folder);
}

static void tun_02_tiles_are_tuned_and_stored_winners_are_used(void **state) {
    (void)state;
    char tuned[256], rule[256];
    if (!has_variants())
        skip();
    snprintf(rule, sizeof rule, "%.*s", (int)strcspn(strstr(gpu_lines, "launch 0,"), "\n"),
             strstr(gpu_lines, "launch 0,"));
    tune_gemm(false, tuned, sizeof tuned);
    assert_string_not_equal(tuned, rule);
    assert_int_equal(count_lines("\"family\":\"gemm\",\"shape\":\"m64 n80 k96 "), 1);
    static const char *const fields[] = {"\"types\":\"",        "\"precision\":\"USER_PROVIDED\"",
                                         "\"variant\":\"gemm_", "\"tile\":\"",
                                         "\"split\":",          "\"local\":\"",
                                         "\"layout\":\"",       "\"us\":"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        assert_int_equal(count_lines(fields[i]), 1);
    gpu_world w = begin_tuned(false);
    make_gemm(&w);
    GPU_LOGGED(tuned);
    check_gemm(&w);
    gpu_end(&w);
    remove_folder();
}

// With a wrong reference no other candidate agrees: the slow one stays.
static void tun_05_candidates_whose_results_differ_do_not_win(void **state) {
    (void)state;
    char tuned[256];
    if (!has_variants())
        skip();
    char *line = strstr(gpu_lines, "launch 0,");
    line[strcspn(line, "\n")] = 0;
    char *rule = strdup(line);
    tune_gemm(true, tuned, sizeof tuned);
    assert_string_equal(tuned, rule);
    free(rule);
    remove_folder();
}

static void bin_02_tuned_choices_are_in_the_binary(void **state) {
    (void)state;
    char tuned[256];
    if (!has_variants())
        skip();
    tune_gemm(false, tuned, sizeof tuned);
    gpu_world w = begin_tuned(false); // uses what was measured
    Qnn_ContextBinarySize_t size, written;
    make_gemm(&w);
    GPU_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *bytes = malloc(size);
    GPU_OK(w.qnn.contextGetBinary(w.context, bytes, size, &written));
    gpu_end(&w);
    remove_folder();
    w = begin_with(NULL, 0);
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    gpu_lines[0] = 0;
    GPU_OK(w.qnn.contextCreateFromBinary(w.backend, NULL, NULL, bytes, size, &w.context, NULL));
    GPU_LOGGED(tuned);
    check_gemm(&w);
    free(bytes);
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bke_03_equal_weights_are_stored_once),
        cmocka_unit_test(spd_07_small_constants_and_parameters_share_a_buffer),
        cmocka_unit_test(tun_01_02_03_winners_are_measured_once_and_only_when_asked_for),
        cmocka_unit_test(tun_02_tiles_are_tuned_and_stored_winners_are_used),
        cmocka_unit_test(tun_05_candidates_whose_results_differ_do_not_win),
        cmocka_unit_test(bin_02_tuned_choices_are_in_the_binary),
    };
    return gpu_tests(tests);
}
