// SPDX-License-Identifier: MIT
//
// General use of the HTP backend: what it is, graphs from end to end.
#include "htp_client.h"

#include "Quern/QuernBackend.h"

#include <pthread.h>

static void htp_api_01_nodes_in_order(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    uint32_t dims[] = {1, 8};
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t mid =
        htp_tensor("mid", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
    Qnn_Tensor_t y =
        htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
    htp_encode(&mid, 0.1f, 0);
    htp_encode(&y, 0.1f, 0);
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &mid));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, &y));
    HTP_FAILS(w.qnn.graphAddNode(g, htp_op("late", "Relu", &mid, 1, &y, 1)),
              QNN_GRAPH_ERROR_UNCONNECTED_NODE);
    htp_end(&w);
}

static void htp_api_06_versions(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    HTP_OK(QnnInterface_getProviders(&list, &n));
    assert_int_equal(n, 1);
    assert_int_equal(list[0]->backendId, 6);
    assert_string_equal(list[0]->providerName, "HTP_QTI_AISW");
    assert_int_equal(list[0]->apiVersion.backendApiVersion.major, 5);
    assert_in_range(list[0]->apiVersion.backendApiVersion.minor, 39, 99);
}

// y = relu(x) on 16-bit codes or floats, 8 values.
typedef struct tiny {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t dims[1];
} tiny;

static void tiny_build(const htp_world *w, const char *name, Qnn_DataType_t type, tiny *t) {
    t->dims[0] = 8;
    HTP_OK(w->qnn.graphCreate(w->context, name, NULL, &t->graph));
    t->x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, type, 1, t->dims);
    t->y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, type, 1, t->dims);
    if (type != QNN_DATATYPE_FLOAT_32) {
        htp_encode(&t->x, 0.5f, -1000);
        htp_encode(&t->y, 0.5f, -1000);
    }
    HTP_OK(w->qnn.tensorCreateGraphTensor(t->graph, &t->x));
    HTP_OK(w->qnn.tensorCreateGraphTensor(t->graph, &t->y));
    HTP_OK(w->qnn.graphAddNode(t->graph, htp_op("relu", "Relu", &t->x, 1, &t->y, 1)));
    HTP_OK(w->qnn.graphFinalize(t->graph, NULL, NULL));
}

static void tiny_run(const htp_world *w, tiny *t, void *x, void *y, size_t bytes) {
    htp_buffer(&t->x, x, bytes);
    htp_buffer(&t->y, y, bytes);
    HTP_OK(w->qnn.graphExecute(t->graph, &t->x, 1, &t->y, 1, NULL, NULL));
}

// Quantized graphs run on every chip and float graphs where halves are, all of one library.
static void htp_api_04_quantized_and_float_graphs_are_one_backend(void **state) {
    (void)state;
    static const struct {
        uint32_t soc; // one of each architecture; 0: none chosen
        bool floats;
    } chip[] = {{0, true}, {30, false}, {36, true}, {43, true}, {57, true}, {69, true}, {87, true}};
    for (size_t i = 0; i < sizeof chip / sizeof chip[0]; i++) {
        htp_world w = htp_begin(chip[i].soc);
        htp_relu r;
        tiny wide, real;
        htp_relu_graph(&w.qnn, w.context, "bytes", NULL, 2, &r);
        HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
        htp_relu_run(&w.qnn, &r);
        tiny_build(&w, "words", QNN_DATATYPE_UFIXED_POINT_16, &wide);
        uint16_t x[8] = {0, 999, 1000, 1001, 5000, 65535, 1, 40000}, y[8];
        tiny_run(&w, &wide, x, y, sizeof x);
        for (int k = 0; k < 8; k++)
            assert_int_equal(y[k], x[k] < 1000 ? 1000 : x[k]);
        if (chip[i].floats) {
            tiny_build(&w, "floats", QNN_DATATYPE_FLOAT_32, &real);
            float fx[8] = {-1, 0, 0.5f, 2, -3, 1024, -0.25f, 7}, fy[8];
            tiny_run(&w, &real, fx, fy, sizeof fx);
            for (int k = 0; k < 8; k++)
                assert_true(fy[k] == (fx[k] > 0 ? fx[k] : 0));
        }
        htp_end(&w);
    }
}

typedef struct worker {
    const htp_world *w;
    tiny *t;
    uint16_t first; // codes start here
    int wrong;
} worker;

static void *work(void *data) {
    worker *k = data;
    for (int round = 0; round < 200; round++) {
        uint16_t x[8], y[8] = {0};
        for (int i = 0; i < 8; i++)
            x[i] = (uint16_t)(k->first + 7 * round + i);
        htp_buffer(&k->t->x, x, sizeof x);
        htp_buffer(&k->t->y, y, sizeof y);
        Qnn_ErrorHandle_t e =
            k->w->qnn.graphExecute(k->t->graph, &k->t->x, 1, &k->t->y, 1, NULL, NULL);
        for (int i = 0; i < 8; i++)
            k->wrong += e != QNN_SUCCESS || y[i] != (x[i] < 1000 ? 1000 : x[i]);
    }
    return NULL;
}

static void htp_api_05_graphs_run_from_different_threads(void **state) {
    (void)state;
    enum { N = 3 };
    htp_world w = htp_begin(57);
    tiny t[N];
    worker k[N];
    pthread_t thread[N];
    static const char *const names[N] = {"a", "b", "c"};
    for (int i = 0; i < N; i++) {
        tiny_build(&w, names[i], QNN_DATATYPE_UFIXED_POINT_16, &t[i]);
        k[i] = (worker){&w, &t[i], (uint16_t)(500 * i), 0};
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &k[i]), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(k[i].wrong, 0);
    }
    htp_end(&w);
}

static void runs_a_graph(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "relu", NULL, 2, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    htp_relu_run(&w.qnn, &r);
    htp_end(&w);
}

// Quern's own option of backends (include/Quern) holds for the HTP as for the CPU.
static void threads_may_be_chosen(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    QuernBackend_CustomConfig_t threads = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_THREADS,
                                           0};
    QnnBackend_Config_t config = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &threads};
    const QnnBackend_Config_t *configs[] = {&config, NULL};
    Qnn_BackendHandle_t b = NULL;
    HTP_FAILS(qnn.backendCreate(NULL, configs, &b), QNN_BACKEND_ERROR_INVALID_CONFIG);
    threads.value = 1;
    HTP_OK(qnn.backendCreate(NULL, configs, &b));
    HTP_OK(qnn.backendFree(b));
}

// One op from x to y, run once. Tensors are described, not yet made.
static void run_one(const char *type, Qnn_Tensor_t *x, void *in, size_t in_bytes, Qnn_Tensor_t *y,
                    void *out, size_t out_bytes) {
    htp_world w = htp_begin(57);
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, x));
    HTP_OK(w.qnn.tensorCreateGraphTensor(g, y));
    HTP_OK(w.qnn.graphAddNode(g, htp_op("op", type, x, 1, y, 1)));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
    htp_buffer(x, in, in_bytes);
    htp_buffer(y, out, out_bytes);
    HTP_OK(w.qnn.graphExecute(g, x, 1, y, 1, NULL, NULL));
    htp_end(&w);
}

// ExecuTorch casts the index that Argmax gives to a scalar, and scalars.
static void one_number_becomes_a_scalar(void **state) {
    (void)state;
    uint32_t dims[] = {1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        int32_t in = -7;
        int64_t out = 0;
        Qnn_Tensor_t x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, rank,
                                    rank ? dims : NULL);
        Qnn_Tensor_t y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_INT_64, 0, NULL);
        run_one("Cast", &x, &in, sizeof in, &y, &out, sizeof out);
        assert_int_equal(out, -7);
    }
}

// It converts a bias that was computed in 16 bits, too.
static void codes_become_wide_ones(void **state) {
    (void)state;
    uint32_t dims[] = {3};
    uint16_t in[3] = {0, 40000, 65535};
    int32_t out[3] = {0};
    Qnn_Tensor_t x =
        htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_16, 1, dims);
    Qnn_Tensor_t y =
        htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_SFIXED_POINT_32, 1, dims);
    htp_encode(&x, 0.5f, -32768);
    htp_encode(&y, 0.0009765625f, 0); // 512 codes a step of x
    run_one("Convert", &x, in, sizeof in, &y, out, sizeof out);
    for (int i = 0; i < 3; i++)
        assert_int_equal(out[i], ((int32_t)in[i] - 32768) * 512);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_api_01_nodes_in_order),
        cmocka_unit_test(htp_api_04_quantized_and_float_graphs_are_one_backend),
        cmocka_unit_test(htp_api_05_graphs_run_from_different_threads),
        cmocka_unit_test(htp_api_06_versions),
        cmocka_unit_test(runs_a_graph),
        cmocka_unit_test(threads_may_be_chosen),
        cmocka_unit_test(one_number_becomes_a_scalar),
        cmocka_unit_test(codes_become_wide_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
