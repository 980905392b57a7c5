// SPDX-License-Identifier: MIT
//
// Context binaries of the GPU backend (GPU-BIN): what is loaded runs the same steps as what was
// stored; damaged and foreign ones are rejected. With the argument `none` (and
// QUERN_GPU_DEVICE=none) binaries are made and corrupted without any device.
#include "../binary/refile.h"
#include "gpu_client.h"

#include "System/QnnSystemInterface.h"

typedef struct binary {
    uint8_t *bytes;
    uint64_t size;
} binary;

static binary save(const gpu_world *w) {
    binary b = {0};
    Qnn_ContextBinarySize_t written = 0;
    GPU_OK(w->qnn.contextGetBinarySize(w->context, &b.size));
    b.bytes = malloc(b.size);
    GPU_OK(w->qnn.contextGetBinary(w->context, b.bytes, b.size, &written));
    assert_int_equal(written, b.size);
    return b;
}

// A world whose context comes from bytes.
static Qnn_ErrorHandle_t load(gpu_world *w, const void *bytes, uint64_t size) {
    GPU_OK(w->qnn.contextFree(w->context, NULL));
    w->context = NULL;
    return w->qnn.contextCreateFromBinary(w->backend, NULL, NULL, bytes, size, &w->context, NULL);
}

// --- a convolution and a batchnorm, which is folded into its weights

static Qnn_Tensor_t constant(const gpu_world *w, Qnn_GraphHandle_t g, const char *name,
                             Qnn_DataType_t type, uint32_t rank, uint32_t *dims, void *data,
                             size_t bytes) {
    Qnn_Tensor_t t = describe(name, QNN_TENSOR_TYPE_STATIC, type, rank, dims);
    set_buffer(&t, data, bytes);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_Param_t tensor_param(const char *name, Qnn_Tensor_t t) {
    return (Qnn_Param_t){.paramType = QNN_PARAMTYPE_TENSOR, .name = name, .tensorParam = t};
}

static float weights[2 * 3], factors[3] = {0.5f, 2, -1}, shifts[3] = {1, 0, -1};

static void make_conv(const gpu_world *w, const QnnGraph_Config_t **config) {
    Qnn_GraphHandle_t g;
    uint32_t in_dims[] = {1, 4, 4, 2}, out_dims[] = {1, 4, 4, 3}, w_dims[] = {1, 1, 2, 3};
    uint32_t two[] = {2}, four[] = {2, 2}, c[] = {3}, stride[] = {1, 1}, pad[] = {0, 0, 0, 0};
    for (int i = 0; i < 6; i++)
        weights[i] = (float)(i - 2) * 0.25f;
    GPU_OK(w->qnn.graphCreate(w->context, "conv", config, &g));
    Qnn_Tensor_t x = tensor(&w->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 4, in_dims);
    Qnn_Tensor_t k = constant(w, g, "k", QNN_DATATYPE_FLOAT_32, 4, w_dims, weights, sizeof weights);
    Qnn_Tensor_t m = tensor(&w->qnn, g, "m", QNN_TENSOR_TYPE_NATIVE, 4, out_dims);
    Qnn_Tensor_t y = tensor(&w->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 4, out_dims);
    Qnn_Param_t params[] = {tensor_param("stride", constant(w, g, "s", QNN_DATATYPE_UINT_32, 1, two,
                                                            stride, sizeof stride)),
                            tensor_param("pad_amount", constant(w, g, "p", QNN_DATATYPE_UINT_32, 2,
                                                                four, pad, sizeof pad))};
    Qnn_Tensor_t in[] = {x, k};
    Qnn_OpConfig_t conv = op_config("conv", QNN_OP_PACKAGE_NAME_QTI_AISW, "Conv2d", in, 2, &m, 1);
    conv.v1.numOfParams = 2;
    conv.v1.params = params;
    GPU_OK(w->qnn.graphAddNode(g, conv));
    Qnn_Tensor_t bn[] = {m,
                         constant(w, g, "f", QNN_DATATYPE_FLOAT_32, 1, c, factors, sizeof factors),
                         constant(w, g, "b", QNN_DATATYPE_FLOAT_32, 1, c, shifts, sizeof shifts)};
    GPU_OK(w->qnn.graphAddNode(
        g, op_config("bn", QNN_OP_PACKAGE_NAME_QTI_AISW, "Batchnorm", bn, 3, &y, 1)));
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
}

// Runs the graph of a context that was loaded or built, by the names that the API has; `gain` times
// the weights is what it has to compute with.
static void run_conv_with(const gpu_world *w, double gain, float out[48]) {
    static uint32_t in_dims[] = {1, 4, 4, 2}, out_dims[] = {1, 4, 4, 3};
    Qnn_GraphHandle_t g;
    float x[32];
    for (int i = 0; i < 32; i++)
        x[i] = (float)(i % 7) - 3;
    GPU_OK(w->qnn.graphRetrieve(w->context, "conv", &g));
    Qnn_Tensor_t tx = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 4, in_dims);
    Qnn_Tensor_t ty = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 4, out_dims);
    tx.v1.id = 1; // in order of creation
    ty.v1.id = 4;
    set_buffer(&tx, x, sizeof x);
    set_buffer(&ty, out, 48 * sizeof *out);
    GPU_OK(w->qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
    for (int p = 0; p < 16; p++)
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int k = 0; k < 2; k++)
                sum += (double)x[2 * p + k] * (double)weights[3 * k + c] * gain;
            assert_float_equal(out[3 * p + c], sum * (double)factors[c] + (double)shifts[c], 1e-3);
        }
}

static void run_conv(const gpu_world *w, float out[48]) { run_conv_with(w, 1, out); }

static char *finalize_line(void) {
    char *line = strstr(gpu_lines, "finalize: ");
    assert_non_null(line);
    *strchr(line, ',') = 0;
    return line;
}

static void bin_02_loaded_graphs_run_the_same_launches_with_the_same_results(void **state) {
    (void)state;
    for (int precision = 0; precision < 4; precision++) {
        gpu_world w = gpu_begin();
        char before[64];
        float first[48], again[48];
        QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
        v1.precision = (QnnGpu_Precision_t)precision;
        QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
        const QnnGraph_Config_t *list[] = {&c, NULL};
        make_conv(&w, list);
        snprintf(before, sizeof before, "%s", finalize_line());
        run_conv(&w, first);
        binary b = save(&w);
        gpu_lines[0] = 0;
        GPU_OK(load(&w, b.bytes, b.size));
        free(b.bytes); // the library has its own copy
        GPU_LOGGED(precision == 0   ? "precision FP32"
                   : precision == 1 ? "precision FP16"
                                    : "precision ");
        GPU_LOGGED("graph 'conv': the compiled graph of the binary");
        GPU_NOT_LOGGED("packed again");
        assert_string_equal(finalize_line(), before);
        run_conv(&w, again);
        assert_memory_equal(first, again, sizeof first);
        gpu_end(&w);
    }
}

// --- what is in the file is what runs

static refile split(const gpu_world *w) {
    refile r;
    binary b = save(w);
    assert_true(refile_split(b.bytes, b.size, &r));
    free(b.bytes);
    return r;
}

static refile_section *section_of(refile *r, uint32_t type) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->sections[i].type == type)
            return &r->sections[i];
    fail_msg("there is no section of type %u", type);
    return NULL;
}

// The only place of the words in a section.
static uint8_t *words_of(const refile_section *s, const void *words, size_t bytes) {
    uint8_t *found = NULL;
    for (size_t i = 0; i + bytes <= s->size; i += 4)
        if (memcmp(s->data + i, words, bytes) == 0) {
            assert_null(found);
            found = s->data + i;
        }
    assert_non_null(found);
    return found;
}

static Qnn_ErrorHandle_t load_parts(gpu_world *w, refile *r) {
    size_t size;
    uint8_t *file = refile_join(r, &size);
    gpu_lines[0] = 0;
    Qnn_ErrorHandle_t e = load(w, file, size);
    free(file);
    return e;
}

// The node says stride 2 in the file, which does not fit its output: validating or compiling it
// would fail.
static void bin_05_loading_compiles_nothing(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    const uint32_t ones[] = {1, 1};
    float out[48];
    make_conv(&w, NULL);
    refile r = split(&w);
    refile_put(words_of(section_of(&r, 3), ones, sizeof ones), 2);
    GPU_OK(load_parts(&w, &r));
    run_conv(&w, out);
    refile_free(&r);
    gpu_end(&w);
}

// Weights in panels of 32 columns, as the kernel for CPU devices reads them, are used as they are
// in the file: twice as large ones give twice the sum.
static void bin_05_stored_constants_are_uploaded_as_they_are(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    float out[48], row[32] = {-0.5f, -0.25f}, v;
    make_conv(&w, NULL);
    refile r = split(&w);
    uint8_t *at = words_of(section_of(&r, 3), row, sizeof row);
    for (size_t i = 0; i < 2 * sizeof row; i += sizeof v) {
        memcpy(&v, at + i, sizeof v);
        v *= 2;
        memcpy(at + i, &v, sizeof v);
    }
    GPU_OK(load_parts(&w, &r));
    GPU_LOGGED("1 constants as they are stored");
    run_conv_with(&w, 2, out);
    refile_free(&r);
    gpu_end(&w);
}

// Another packing than the device wants stands for a file that another device prepared.
static void bin_02_constants_of_another_device_are_packed_again(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    float first[48], again[48];
    make_conv(&w, NULL);
    run_conv(&w, first);
    refile r = split(&w);
    refile_section *s = section_of(&r, 8);
    refile_put(s->data + s->size - 8, 4000); // packing of the one form, which is the last record
    GPU_OK(load_parts(&w, &r));
    GPU_LOGGED("0 constants as they are stored");
    GPU_LOGGED("1 constants are packed again");
    run_conv(&w, again);
    assert_memory_equal(first, again, sizeof first);
    refile_free(&r);
    gpu_end(&w);
}

static Qnn_ErrorHandle_t load_strictly(gpu_world *w, refile *r) {
    size_t size;
    uint8_t *file = refile_join(r, &size);
    QnnContext_Config_t c = {.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                             .binaryCompatibilityType = QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT};
    const QnnContext_Config_t *list[] = {&c, NULL};
    if (w->context)
        GPU_OK(w->qnn.contextFree(w->context, NULL));
    w->context = NULL;
    Qnn_ErrorHandle_t e =
        w->qnn.contextCreateFromBinary(w->backend, NULL, list, file, size, &w->context, NULL);
    free(file);
    return e;
}

static void bin_02_strict_loading_wants_the_device_it_was_prepared_on(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    float out[48];
    make_conv(&w, NULL);
    refile r = split(&w);
    GPU_OK(load_strictly(&w, &r));
    run_conv(&w, out);
    uint8_t *key = section_of(&r, 8)->data + 4; // behind the length of the text
    *key = *key == '0' ? '1' : '0';
    GPU_FAILS(load_strictly(&w, &r), 5011);
    GPU_LOGGED("prepare it again");
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    GPU_OK(load_parts(&w, &r)); // permissive
    run_conv(&w, out);
    refile_free(&r);
    gpu_end(&w);
}

static void bin_01_context_tensors_and_flags_are_kept(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_pair two;
    QnnGpuGraph_CustomConfig_t v1 = {QNN_GPU_PRECISION_HYBRID, 1, 1, 1};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    gpu_pair_make(&w, &two, list);
    binary bin = save(&w);
    gpu_lines[0] = 0;
    GPU_OK(load(&w, bin.bytes, bin.size));
    GPU_LOGGED("graph 'a': precision HYBRID, memory optimizations off, node optimizations off");
    GPU_LOGGED("graph 'b': precision USER_PROVIDED, memory optimizations on");
    GPU_OK(w.qnn.graphRetrieve(w.context, "a", &two.a));
    GPU_OK(w.qnn.graphRetrieve(w.context, "b", &two.b));
    float in[] = {-1, 2, -3, 4}, out[4];
    set_buffer(&two.x, in, sizeof in);
    set_buffer(&two.y, out, sizeof out);
    GPU_OK(w.qnn.graphExecute(two.a, &two.x, 1, NULL, 0, NULL, NULL));
    GPU_OK(w.qnn.graphExecute(two.b, NULL, 0, &two.y, 1, NULL, NULL));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], in[i] > 0 ? -in[i] : 0, 0);
    free(bin.bytes);
    gpu_end(&w);
}

static void ctx_04_graphs_that_are_not_enabled_do_not_run(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph a, b;
    gpu_graph_make(&w, &a, "a", NULL);
    gpu_graph_make(&w, &b, "b", NULL);
    binary bin = save(&w);
    const char *names[] = {"b", NULL};
    QnnContext_Config_t c1 = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = names};
    QnnContext_Config_t c2 = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                              .priority = QNN_PRIORITY_HIGH};
    QnnContext_Config_t c3 = {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                              .memoryLimitHint = 100};
    const QnnContext_Config_t *list[] = {&c1, &c2, &c3, NULL};
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    GPU_OK(w.qnn.contextCreateFromBinary(w.backend, NULL, list, bin.bytes, bin.size, &w.context,
                                         NULL));
    float out[GPU_N];
    GPU_OK(w.qnn.graphRetrieve(w.context, "a", &a.graph));
    GPU_OK(w.qnn.graphRetrieve(w.context, "b", &b.graph));
    GPU_FAILS(gpu_graph_try(&w, &a, 1, out, NULL), QNN_GRAPH_ERROR_DISABLED);
    gpu_graph_check(&w, &b, 1);
    free(bin.bytes);
    gpu_end(&w);
}

static void bin_03_foreign_and_newer_binaries_get_their_codes(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    binary b = save(&w);
    uint8_t foreign[256];
    memset(foreign, 0x5a, sizeof foreign);
    GPU_FAILS(load(&w, foreign, sizeof foreign), 5005);
    GPU_LOGGED("another implementation");
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    refile r;
    size_t size;
    assert_true(refile_split(b.bytes, b.size, &r));
    refile_put(r.header + 12, 1000); // a later format
    uint8_t *newer = refile_join(&r, &size);
    GPU_FAILS(load(&w, newer, size), 5004);
    free(newer);
    refile_free(&r);
    free(b.bytes);
    gpu_end(&w);
}

static void bin_03_the_system_library_describes_it(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    binary b = save(&w);
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    GPU_OK(get(&list, &n));
    QNN_SYSTEM_INTERFACE_VER_TYPE sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    QnnSystemContext_Handle_t h;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    GPU_OK(sys.systemContextCreate(&h));
    GPU_OK(sys.systemContextGetMetaData(h, b.bytes, b.size, &info));
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    assert_int_equal(v->backendId, 4);
    assert_int_equal(v->numGraphs, 1);
    assert_true(v->socVersion[0] && strstr(gpu_lines, v->socVersion)); // the device of the log
    assert_string_equal(v->graphs[0].graphInfoV3.graphName, "g");
    assert_int_equal(v->graphs[0].graphInfoV3.numGraphInputs, 1);
    GPU_OK(sys.systemContextFree(h));
    dlclose(lib);
    free(b.bytes);
    gpu_end(&w);
}

// --- corruptions

static uint32_t seed = 1;
static uint32_t draw(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

// A context from changed bytes: an error of the documented ones, or a context that can be freed.
static unsigned try_bytes(gpu_world *w, const uint8_t *bytes, size_t size) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_ErrorHandle_t e =
        w->qnn.contextCreateFromBinary(w->backend, NULL, NULL, bytes, size, &c, NULL);
    if (e == QNN_SUCCESS) {
        GPU_OK(w->qnn.contextFree(c, NULL));
        return 1;
    }
    unsigned code = (unsigned)QNN_GET_ERROR_CODE(e);
    assert_true(code == 5005 || code == 5004 || code == 5008 || code == 1002 || code == 5002);
    return 0;
}

static void bin_03_ten_thousand_corruptions_do_no_harm(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(w.qnn.logSetLogLevel(w.log, QNN_LOG_LEVEL_ERROR));
    make_conv(&w, NULL);
    binary b = save(&w);
    uint8_t *copy = malloc(b.size);
    unsigned loaded = 0;
    for (unsigned i = 0; i < 8000; i++) {
        size_t n = b.size;
        memcpy(copy, b.bytes, n);
        if (i % 5 == 0)
            n = draw((uint32_t)n);
        else
            for (unsigned k = 0; k <= i % 3; k++)
                copy[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
        gpu_lines[0] = 0;
        loaded += try_bytes(&w, copy, n);
    }
    // Behind the checksums.
    for (unsigned i = 0; i < 2000; i++) {
        refile r;
        size_t n;
        assert_true(refile_split(b.bytes, b.size, &r));
        refile_section *s = &r.sections[draw(r.n)];
        for (unsigned k = 0; s->size && k <= i % 3; k++)
            s->data[draw((uint32_t)s->size)] ^= (uint8_t)(1u << draw(8));
        if (i % 2) { // a word of what was compiled or prepared
            const uint32_t words[] = {0, 1, 2, 3, 7, 64, 0x7fffffff, UINT32_MAX, draw(100)};
            s = section_of(&r, 7 + i / 2 % 2);
            refile_put(s->data + draw((uint32_t)s->size / 4) * 4, words[draw(9)]);
        }
        uint8_t *file = refile_join(&r, &n);
        gpu_lines[0] = 0;
        loaded += try_bytes(&w, file, n);
        free(file);
        refile_free(&r);
    }
    assert_true(loaded > 0); // weights and names may be anything
    assert_int_equal(try_bytes(&w, b.bytes, b.size), 1);
    free(copy);
    free(b.bytes);
    gpu_end(&w);
}

// The verifier of compiled graphs allows an element-wise step in place; this binder does not.
static void bin_03_a_step_that_writes_what_it_reads_is_rejected(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    refile r = split(&w);
    // Of the last step: fused steps, state, one input and output: value 3 (sum), 1 (y).
    const uint32_t relu[] = {0, 0, 0, 1, 1, 3, 1};
    refile_put(words_of(section_of(&r, 7), relu, sizeof relu) + 24, 3);
    GPU_FAILS(load_parts(&w, &r), 5005);
    GPU_LOGGED("memory is written twice, or after it was read");
    refile_free(&r);
    gpu_end(&w);
}

static void bin_04_binaries_are_made_without_a_device(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    make_conv(&w, NULL);
    binary b = save(&w);
    GPU_OK(load(&w, b.bytes, b.size));
    free(b.bytes);
    gpu_end(&w);
}

int main(int argc, char **argv) {
    const struct CMUnitTest device[] = {
        cmocka_unit_test(bin_02_loaded_graphs_run_the_same_launches_with_the_same_results),
        cmocka_unit_test(bin_05_loading_compiles_nothing),
        cmocka_unit_test(bin_05_stored_constants_are_uploaded_as_they_are),
        cmocka_unit_test(bin_02_constants_of_another_device_are_packed_again),
        cmocka_unit_test(bin_02_strict_loading_wants_the_device_it_was_prepared_on),
        cmocka_unit_test(bin_01_context_tensors_and_flags_are_kept),
        cmocka_unit_test(ctx_04_graphs_that_are_not_enabled_do_not_run),
        cmocka_unit_test(bin_03_foreign_and_newer_binaries_get_their_codes),
        cmocka_unit_test(bin_03_the_system_library_describes_it),
    };
    const struct CMUnitTest none[] = {
        cmocka_unit_test(bin_03_a_step_that_writes_what_it_reads_is_rejected),
        cmocka_unit_test(bin_04_binaries_are_made_without_a_device),
        cmocka_unit_test(bin_03_ten_thousand_corruptions_do_no_harm),
    };
    if (argc > 1 && strcmp(argv[1], "none") == 0)
        return cmocka_run_group_tests(none, NULL, NULL);
    return gpu_tests(device);
}
