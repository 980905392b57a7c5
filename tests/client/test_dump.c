// SPDX-License-Identifier: MIT
//
// The backend option that writes the tensors of executions to files: several threads at once,
// branches that do not run, and the rules of the option; and the one that shows them to a function.
// Values are worked out here.
#include "qnn_client.h"

#include "Quern/QuernBackend.h"

#include <ftw.h>
#include <pthread.h>
#include <unistd.h>

#define N 5
#define OK(call) assert_int_equal(call, QNN_SUCCESS)

static qnn_table qnn;
static uint32_t dims[] = {N}, one[] = {1};
static char folder[64];

// --- reading what was written

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 16);
    *n = fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    return text;
}

static char *read_index(const char *graph, int run) {
    char path[256];
    size_t n;
    snprintf(path, sizeof path, "%s/%s/run-%04d/index.json", folder, graph, run);
    return read_file(path, &n);
}

// The floats of a file, which follow a header of a multiple of 64 bytes.
static void read_floats(const char *graph, int run, const char *file, float *out) {
    char path[256];
    size_t n;
    snprintf(path, sizeof path, "%s/%s/run-%04d/%s", folder, graph, run, file);
    char *data = read_file(path, &n);
    assert_non_null(data);
    assert_memory_equal(data, "\x93NUMPY\1", 8);
    size_t head = 10 + (unsigned char)data[8] + 256 * (size_t)(unsigned char)data[9];
    assert_int_equal(head % 64, 0);
    assert_int_equal(n - head, N * sizeof *out);
    memcpy(out, data + head, N * sizeof *out);
    free(data);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/quern-dump-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state) {
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// --- graphs

static Qnn_BackendHandle_t backend_with(uint32_t runs) {
    QuernBackend_DumpConfig_t dump = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_DUMP, folder,
                                      runs};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &dump};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    Qnn_BackendHandle_t b;
    OK(qnn.backendCreate(NULL, list, &b));
    return b;
}

typedef struct graph {
    Qnn_GraphHandle_t handle;
    Qnn_Tensor_t x, y;
} graph;

// y = |neg(relu(x))|, whose inner tensors passes would drop.
static graph small_graph(Qnn_ContextHandle_t c, const char *name) {
    graph g;
    OK(qnn.graphCreate(c, name, NULL, &g.handle));
    g.x = tensor(&qnn, g.handle, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims);
    Qnn_Tensor_t r = tensor(&qnn, g.handle, "r", QNN_TENSOR_TYPE_NATIVE, 1, dims),
                 n = tensor(&qnn, g.handle, "n", QNN_TENSOR_TYPE_NATIVE, 1, dims);
    g.y = tensor(&qnn, g.handle, "y", QNN_TENSOR_TYPE_APP_READ, 1, dims);
    node(&qnn, g.handle, "relu", QNN_OP_RELU, &g.x, &r);
    node(&qnn, g.handle, "neg", QNN_OP_ELEMENT_WISE_NEG, &r, &n);
    node(&qnn, g.handle, "abs", QNN_OP_ELEMENT_WISE_ABS, &n, &g.y);
    OK(qnn.graphFinalize(g.handle, NULL, NULL));
    return g;
}

static void execute(const graph *g, float first) {
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = first + (float)i - 2;
    Qnn_Tensor_t in = g->x, out = g->y;
    set_buffer(&in, x, sizeof x);
    set_buffer(&out, y, sizeof y);
    OK(qnn.graphExecute(g->handle, &in, 1, &out, 1, NULL, NULL));
    for (int i = 0; i < N; i++)
        assert_float_equal(y[i], x[i] > 0 ? x[i] : 0, 0);
}

static void check_run(const char *name, int run) {
    float x[N], r[N], n[N], y[N];
    read_floats(name, run, "00000_x.npy", x);
    read_floats(name, run, "00001_r.npy", r);
    read_floats(name, run, "00002_n.npy", n);
    read_floats(name, run, "00003_y.npy", y);
    for (int i = 0; i < N; i++) {
        assert_float_equal(x[i], x[0] + (float)i, 0); // of one call
        assert_float_equal(r[i], x[i] > 0 ? x[i] : 0, 0);
        assert_float_equal(n[i], -r[i], 0);
        assert_float_equal(y[i], r[i], 0);
    }
    char *index = read_index(name, run);
    assert_non_null(index);
    assert_non_null(strstr(index, "\"complete\": true"));
    free(index);
}

// --- tests

static void *many_executions(void *g) {
    for (int i = 0; i < 8; i++)
        execute(g, (float)i);
    return NULL;
}

static void executions_side_by_side_have_a_folder_each(void **state) {
    (void)state;
    Qnn_BackendHandle_t b = backend_with(20);
    Qnn_ContextHandle_t c;
    OK(qnn.contextCreate(b, NULL, NULL, &c));
    graph g = small_graph(c, "g/1");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many_executions, &g);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int run = 1; run <= 20; run++)
        check_run("g_1", run);
    assert_null(read_index("g_1", 21)); // 32 calls, 20 of them written
    graph other = small_graph(c, "other");
    execute(&other, 1);
    check_run("other", 1);
    OK(qnn.contextFree(c, NULL));
    OK(qnn.backendFree(b));
}

static void the_option_comes_before_the_first_context(void **state) {
    (void)state;
    Qnn_BackendHandle_t b;
    OK(qnn.backendCreate(NULL, NULL, &b));
    QuernBackend_DumpConfig_t dump = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_DUMP, folder,
                                      0};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &dump};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    Qnn_ContextHandle_t context;
    OK(qnn.contextCreate(b, NULL, NULL, &context));
    assert_int_equal(qnn.backendSetConfig(b, list), QNN_BACKEND_ERROR_INVALID_CONFIG);
    OK(qnn.contextFree(context, NULL));
    OK(qnn.backendSetConfig(b, list)); // runs 0: one
    OK(qnn.contextCreate(b, NULL, NULL, &context));
    graph g = small_graph(context, "g");
    execute(&g, 3);
    execute(&g, 4);
    check_run("g", 1);
    assert_null(read_index("g", 2));
    OK(qnn.contextFree(context, NULL));
    dump.folder = NULL;
    OK(qnn.backendSetConfig(b, list));
    OK(qnn.contextCreate(b, NULL, NULL, &context));
    g = small_graph(context, "none");
    execute(&g, 5);
    assert_null(read_index("none", 1));
    OK(qnn.contextFree(context, NULL));
    OK(qnn.backendFree(b));
}

// y = c ? relu(x) : nothing; what did not run is listed, not invented.
static void a_branch_that_does_not_run_is_said_to_be_missing(void **state) {
    (void)state;
    Qnn_BackendHandle_t b = backend_with(2);
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g, then;
    OK(qnn.contextCreate(b, NULL, NULL, &c));
    OK(qnn.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t flag = describe("flag", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_BOOL_8, 1, one);
    OK(qnn.tensorCreateGraphTensor(g, &flag));
    Qnn_Tensor_t x = tensor(&qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims),
                 r = tensor(&qnn, g, "r", QNN_TENSOR_TYPE_NATIVE, 1, dims),
                 y = tensor(&qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 1, dims),
                 z = tensor(&qnn, g, "z", QNN_TENSOR_TYPE_APP_READ, 1, dims);
    OK(qnn.graphCreateSubgraph(g, "then", &then));
    node(&qnn, then, "relu", QNN_OP_RELU, &x, &r);
    Qnn_Param_t param = {.paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_IF_PARAM_THEN_GRAPH};
    param.scalarParam.dataType = QNN_DATATYPE_STRING;
    param.scalarParam.stringValue = "then";
    Qnn_OpConfig_t op = op_config("if", QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_IF, &flag, 1, NULL, 0);
    op.v1.params = &param;
    op.v1.numOfParams = 1;
    OK(qnn.graphAddNode(g, op));
    node(&qnn, g, "neg", QNN_OP_ELEMENT_WISE_NEG, &r, &y);
    node(&qnn, g, "abs", QNN_OP_ELEMENT_WISE_ABS, &x, &z);
    OK(qnn.graphFinalize(g, NULL, NULL));
    for (uint8_t on = 0; on < 2; on++) {
        float data[N] = {-2, -1, 0, 1, 2}, out[2][N];
        Qnn_Tensor_t in[] = {flag, x}, outs[] = {y, z};
        set_buffer(&in[0], &on, 1);
        set_buffer(&in[1], data, sizeof data);
        set_buffer(&outs[0], out[0], sizeof out[0]);
        set_buffer(&outs[1], out[1], sizeof out[1]);
        Qnn_ErrorHandle_t e = qnn.graphExecute(g, in, 2, outs, 2, NULL, NULL);
        assert_int_equal(e == QNN_SUCCESS, on);
        char *index = read_index("g", on + 1);
        assert_non_null(index);
        char *missing = strstr(index, "\"missing\"");
        assert_non_null(missing);
        const char *found =
            strstr(missing, "{\"name\": \"r\", \"node\": \"relu\", \"op\": \"Relu\", "
                            "\"reason\": \"not computed\"}");
        assert_int_equal(found == NULL, on);
        *missing = '\0';
        assert_int_equal(strstr(index, "\"name\": \"r\"") != NULL, on);
        assert_non_null(strstr(index, "\"name\": \"z\""));
        free(index);
    }
    OK(qnn.contextFree(c, NULL));
    OK(qnn.backendFree(b));
}

// --- observers

typedef struct seen {
    char names[64];
    float values[3][N];
    uint32_t n;
} seen;

static bool wide_rows; // tensors are [1, N]

static void note(void *ctx, const QuernBackend_Tensor_t *t) {
    seen *s = ctx;
    assert_int_equal(t->data_type, QNN_DATATYPE_FLOAT_32);
    assert_int_equal(t->rank, wide_rows ? 2 : 1);
    assert_int_equal(t->dims[t->rank - 1], N);
    assert_true(s->n < 3);
    strcat(s->names, t->name);
    memcpy(s->values[s->n++], t->data, sizeof s->values[0]);
}

static void an_observer_sees_what_every_node_writes(void **state) {
    (void)state;
    seen s = {0};
    QuernBackend_ObserveConfig_t observe = {QUERN_BACKEND_CONFIG_MAGIC,
                                            QUERN_BACKEND_OPTION_OBSERVE, note, &s};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &observe};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t context;
    OK(qnn.backendCreate(NULL, NULL, &b));
    OK(qnn.contextCreate(b, NULL, NULL, &context));
    OK(qnn.backendSetConfig(b, list));
    graph g = small_graph(context, "observed");
    execute(&g, 0); // x is -2 .. 2
    assert_string_equal(s.names, "rny");
    for (int i = 0; i < N; i++) {
        float r = i > 2 ? (float)i - 2 : 0;
        assert_float_equal(s.values[0][i], r, 0);
        assert_float_equal(s.values[1][i], -r, 0);
        assert_float_equal(s.values[2][i], r, 0);
    }
    observe.tensor = NULL;
    OK(qnn.backendSetConfig(b, list));
    execute(&g, 1);
    assert_int_equal(s.n, 3);
    OK(qnn.contextFree(context, NULL));
    OK(qnn.backendFree(b));
}

static uint32_t n_asked;

static bool only_y(void *ctx, const char *name) {
    (void)ctx;
    n_asked++;
    return name && name[0] == 'y';
}

static void an_observer_of_some_tensors_sees_those(void **state) {
    (void)state;
    seen s = {0};
    QuernBackend_ObserveSomeConfig_t observe = {
        QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_OBSERVE_SOME, note, &s, only_y};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &observe};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t context;
    OK(qnn.backendCreate(NULL, list, &b));
    OK(qnn.contextCreate(b, NULL, NULL, &context));
    graph g;
    uint32_t row[] = {1, N}, square[] = {N, N};
    float w[N * N] = {0}, x[N] = {-2, -1, 0, 1, 2}, y[N];
    for (int i = 0; i < N; i++)
        w[i * N + i] = 3;
    OK(qnn.graphCreate(context, "some", NULL, &g.handle));
    g.x = tensor(&qnn, g.handle, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, row);
    Qnn_Tensor_t weight = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 2, square);
    set_buffer(&weight, w, sizeof w);
    OK(qnn.tensorCreateGraphTensor(g.handle, &weight));
    Qnn_Tensor_t m = tensor(&qnn, g.handle, "m", QNN_TENSOR_TYPE_NATIVE, 2, row);
    g.y = tensor(&qnn, g.handle, "y", QNN_TENSOR_TYPE_APP_READ, 2, row);
    Qnn_Tensor_t in[] = {g.x, weight};
    OK(qnn.graphAddNode(g.handle, op_config("layer", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                            QNN_OP_FULLY_CONNECTED, in, 2, &m, 1)));
    node(&qnn, g.handle, "relu", QNN_OP_RELU, &m, &g.y);
    OK(qnn.graphFinalize(g.handle, NULL, NULL));
    assert_true(n_asked > 0);
    Qnn_Tensor_t from = g.x, to = g.y;
    set_buffer(&from, x, sizeof x);
    set_buffer(&to, y, sizeof y);
    wide_rows = true;
    OK(qnn.graphExecute(g.handle, &from, 1, &to, 1, NULL, NULL));
    wide_rows = false;
    assert_string_equal(s.names, "y"); // m is computed together with it
    for (int i = 0; i < N; i++) {
        assert_float_equal(y[i], i > 2 ? 3 * ((float)i - 2) : 0, 0);
        assert_float_equal(s.values[0][i], y[i], 0);
    }
    OK(qnn.contextFree(context, NULL));
    OK(qnn.backendFree(b));
}

int main(void) {
    void *lib = open_library(&qnn);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(executions_side_by_side_have_a_folder_each, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_option_comes_before_the_first_context, setup, teardown),
        cmocka_unit_test_setup_teardown(a_branch_that_does_not_run_is_said_to_be_missing, setup,
                                        teardown),
        cmocka_unit_test(an_observer_sees_what_every_node_writes),
        cmocka_unit_test(an_observer_of_some_tensors_sees_those),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(lib);
    return failed;
}
