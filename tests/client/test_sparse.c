// SPDX-License-Identifier: MIT
//
// Sparse tensors at the border of a graph: application inputs and outputs, constants. Their storage
// is int32 indices [M, K] followed by the values [M, ...]. Expected values are worked out by hand.
#include "qnn_client.h"

#define OK(call) assert_int_equal(call, QNN_SUCCESS)

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;
static Qnn_GraphHandle_t graph;
static uint32_t shape[] = {4, 2}; // K = 1: rows of two values

static int setup(void **state) {
    (void)state;
    OK(qnn.contextCreate(backend, NULL, NULL, &context));
    OK(qnn.graphCreate(context, "g", NULL, &graph));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return qnn.contextFree(context, NULL) != QNN_SUCCESS;
}

// Storage of up to 4 elements; the values follow the indices of those that are there.
typedef struct storage {
    int32_t words[4 * 3];
} storage;

static void put(storage *s, uint32_t n, const int32_t *rows, const float (*values)[2]) {
    memcpy(s->words, rows, n * sizeof *rows);
    memcpy(s->words + n, values, n * sizeof *values);
}

static float value(const storage *s, uint32_t n, uint32_t i, uint32_t k) {
    float v;
    memcpy(&v, &s->words[n + 2 * i + k], sizeof v);
    return v;
}

// A tensor of the graph; n elements, 0 for a dense one.
static Qnn_Tensor_t make(const char *name, Qnn_TensorType_t type, uint32_t n, void *data) {
    Qnn_Tensor_t t = {.version = QNN_TENSOR_VERSION_2};
    t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    t.v2.name = name;
    t.v2.type = type;
    t.v2.dataType = QNN_DATATYPE_FLOAT_32;
    t.v2.rank = 2;
    t.v2.dimensions = shape;
    t.v2.memType = QNN_TENSORMEMTYPE_RAW;
    t.v2.clientBuf = (Qnn_ClientBuffer_t){data, data ? n * 12 : 0};
    if (n) {
        t.v2.dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE;
        t.v2.sparseParams.type = QNN_SPARSE_LAYOUT_HYBRID_COO;
        t.v2.sparseParams.hybridCoo = (Qnn_SparseLayoutHybridCoo_t){n, 1};
    }
    OK(qnn.tensorCreateGraphTensor(graph, &t));
    return t;
}

static void add_node(const char *type, Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t y) {
    OK(qnn.graphAddNode(graph,
                        op_config(type, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, n_in, &y, 1)));
}

static Qnn_Tensor_t bind(Qnn_Tensor_t t, void *data, size_t bytes) {
    t.v2.clientBuf = (Qnn_ClientBuffer_t){data, (uint32_t)bytes};
    return t;
}

static uint32_t count(const Qnn_Tensor_t *t) {
    return t->v2.sparseParams.hybridCoo.numSpecifiedElements;
}

static void an_op_reads_and_writes_application_tensors(void **state) {
    (void)state;
    Qnn_Tensor_t x = make("x", QNN_TENSOR_TYPE_APP_WRITE, 3, NULL),
                 y = make("y", QNN_TENSOR_TYPE_APP_READ, 3, NULL);
    add_node(QNN_OP_RELU, &x, 1, y);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    const float values[3][2] = {{1, -2}, {-3, 4}, {5, -6}};
    storage in, out = {{0}};
    put(&in, 3, (const int32_t[]){2, 0, 3}, values);
    Qnn_Tensor_t ins[] = {bind(x, &in, 36)}, outs[] = {bind(y, &out, 36)};
    OK(qnn.graphExecute(graph, ins, 1, outs, 1, NULL, NULL));
    assert_int_equal(count(&outs[0]), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(out.words[i], in.words[i]);
        for (uint32_t k = 0; k < 2; k++)
            assert_true(value(&out, 3, i, k) == (values[i][k] > 0 ? values[i][k] : 0));
    }
    in.words[1] = 4; // outside
    assert_int_not_equal(qnn.graphExecute(graph, ins, 1, outs, 1, NULL, NULL), QNN_SUCCESS);
    in.words[1] = -1;
    assert_int_not_equal(qnn.graphExecute(graph, ins, 1, outs, 1, NULL, NULL), QNN_SUCCESS);
}

// A sum has as many elements as its operands have together; the tensor says how many.
static void the_number_of_elements_is_reported(void **state) {
    (void)state;
    Qnn_Tensor_t x[2] = {make("a", QNN_TENSOR_TYPE_APP_WRITE, 2, NULL),
                         make("b", QNN_TENSOR_TYPE_APP_WRITE, 2, NULL)},
                 y = make("y", QNN_TENSOR_TYPE_APP_READ, 4, NULL);
    add_node(QNN_OP_ELEMENT_WISE_ADD, x, 2, y);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    const float av[2][2] = {{1, 2}, {3, 4}}, bv[2][2] = {{10, 20}, {30, 40}};
    const struct {
        int32_t a[2], b[2];
        uint32_t n;
        int32_t rows[4];
        float first[4]; // of the two values of each row
    } rounds[] = {
        {{3, 1}, {0, 2}, 4, {0, 1, 2, 3}, {10, 3, 30, 1}},
        {{3, 1}, {1, 3}, 2, {1, 3}, {13, 31}},
        {{2, 0}, {2, 1}, 3, {0, 1, 2}, {3, 30, 11}},
        {{2, 2}, {1, 1}, 2, {1, 2}, {30, 3}}, // of equal indices the last one counts
    };
    storage a, b, out;
    Qnn_Tensor_t ins[] = {bind(x[0], &a, 24), bind(x[1], &b, 24)}, outs[] = {bind(y, &out, 48)};
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++) {
        put(&a, 2, rounds[r].a, av);
        put(&b, 2, rounds[r].b, bv);
        OK(qnn.graphExecute(graph, ins, 2, outs, 1, NULL, NULL)); // the old number stands in outs
        assert_int_equal(count(&outs[0]), rounds[r].n);
        for (uint32_t i = 0; i < rounds[r].n; i++) {
            assert_int_equal(out.words[i], rounds[r].rows[i]);
            assert_true(value(&out, rounds[r].n, i, 0) == rounds[r].first[i]);
        }
    }
}

static void a_constant_may_be_sparse(void **state) {
    (void)state;
    const float values[2][2] = {{1, 2}, {3, 4}};
    storage data;
    put(&data, 2, (const int32_t[]){3, 1}, values);
    Qnn_Tensor_t c = make("c", QNN_TENSOR_TYPE_STATIC, 2, &data),
                 d = make("d", QNN_TENSOR_TYPE_NATIVE, 0, NULL),
                 x = make("x", QNN_TENSOR_TYPE_APP_WRITE, 0, NULL),
                 y = make("y", QNN_TENSOR_TYPE_APP_READ, 0, NULL);
    memset(&data, 0xEE, sizeof data);
    add_node(QNN_OP_SPARSE_TO_DENSE, &c, 1, d);
    add_node(QNN_OP_ELEMENT_WISE_ADD, (Qnn_Tensor_t[]){d, x}, 2, y);
    OK(qnn.graphFinalize(graph, NULL, NULL));
    float in[8] = {10, 10, 10, 10, 10, 10, 10, 10}, out[8];
    Qnn_Tensor_t ins[] = {bind(x, in, sizeof in)}, outs[] = {bind(y, out, sizeof out)};
    OK(qnn.graphExecute(graph, ins, 1, outs, 1, NULL, NULL));
    const float want[8] = {10, 10, 13, 14, 10, 10, 11, 12};
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == want[i]);
}

static int open_backend(void **state) {
    (void)state;
    open_library(&qnn);
    return qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int close_backend(void **state) {
    (void)state;
    return qnn.backendFree(backend) != QNN_SUCCESS;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_op_reads_and_writes_application_tensors),
        TEST(the_number_of_elements_is_reported),
        TEST(a_constant_may_be_sparse),
    };
    return cmocka_run_group_tests_name("sparse", tests, open_backend, close_backend);
}
