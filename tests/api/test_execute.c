// SPDX-License-Identifier: MIT
//
// Executing: which tensors are accepted, where data goes, profiles, threads, execution
// environments. Results are compared with values worked out by hand.
#include "build.h"

#define EXECUTE(code, ...) PAIR("QnnGraph_execute", code, QnnGraph_execute(__VA_ARGS__))

// s = a + b, d = a - b, two inputs and two outputs.
typedef struct two_graph {
    Qnn_GraphHandle_t handle;
    Qnn_Tensor_t in[2], out[2];
    float a[3], b[3], s[3], d[3];
} two_graph;

static uint32_t three[1] = {3};

static void two_finalized(two_graph *g) {
    OK(QnnGraph_create(context, "two", NULL, &g->handle));
    const char *names[4] = {"a", "b", "s", "d"};
    for (int i = 0; i < 4; i++) {
        Qnn_Tensor_t *t = i < 2 ? &g->in[i] : &g->out[i - 2];
        *t = describe(names[i], i < 2 ? QNN_TENSOR_TYPE_APP_WRITE : QNN_TENSOR_TYPE_APP_READ,
                      QNN_DATATYPE_FLOAT_32, 1, three);
        OK(QnnTensor_createGraphTensor(g->handle, t));
    }
    OK(QnnGraph_addNode(g->handle, op("add", QNN_OP_ELEMENT_WISE_ADD, g->in, 2, &g->out[0], 1)));
    OK(QnnGraph_addNode(g->handle,
                        op("sub", QNN_OP_ELEMENT_WISE_SUBTRACT, g->in, 2, &g->out[1], 1)));
    OK(QnnGraph_finalize(g->handle, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        g->a[i] = (float)(10 * i);
        g->b[i] = (float)(i + 1);
    }
    float *buffers[4] = {g->a, g->b, g->s, g->d};
    for (int i = 0; i < 4; i++)
        (i < 2 ? &g->in[i] : &g->out[i - 2])->v1.clientBuf = (Qnn_ClientBuffer_t){buffers[i], 12};
}

static void check_two(two_graph *g) {
    for (int i = 0; i < 3; i++) {
        assert_true(g->s[i] == g->a[i] + g->b[i]);
        assert_true(g->d[i] == g->a[i] - g->b[i]);
    }
}

static void swap(Qnn_Tensor_t *t) {
    Qnn_Tensor_t first = t[0];
    t[0] = t[1];
    t[1] = first;
}

static void tensors_are_matched_by_id_in_any_order(void **state) {
    (void)state;
    two_graph g;
    two_finalized(&g);
    for (int order = 0; order < 4; order++) {
        memset(g.s, 0, sizeof g.s);
        memset(g.d, 0, sizeof g.d);
        OK(QnnGraph_execute(g.handle, g.in, 2, g.out, 2, NULL, NULL));
        check_two(&g);
        swap(order % 2 ? g.out : g.in);
    }
    // Other buffers in the next call; an id and a buffer are enough.
    float a2[3] = {1, 1, 1}, s2[3] = {0};
    Qnn_Tensor_t in[2] = {g.in[0], g.in[1]}, out[2] = {g.out[0], g.out[1]};
    for (int i = 0; i < 2; i++) {
        uint32_t id = in[i].v1.id;
        in[i] = (Qnn_Tensor_t)QNN_TENSOR_INIT;
        in[i].v1.id = id;
        in[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
        in[i].v1.clientBuf = (Qnn_ClientBuffer_t){a2, 12};
        if (out[i].v1.clientBuf.data == g.s)
            out[i].v1.clientBuf.data = s2;
    }
    OK(QnnGraph_execute(g.handle, in, 2, out, 2, NULL, NULL));
    assert_true(s2[0] == 2 && s2[1] == 2 && s2[2] == 2);
}

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    two_graph g;
    two_finalized(&g);
#define BAD(n_in, n_out)                                                                           \
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g.handle, in, n_in, out, n_out, NULL, NULL)
    Qnn_Tensor_t in[3] = {g.in[0], g.in[1], g.in[0]}, out[2] = {g.out[0], g.out[1]};
    BAD(1, 2); // one is missing
    BAD(2, 1);
    BAD(3, 2); // one comes twice
#define WITH(change)                                                                               \
    do {                                                                                           \
        change;                                                                                    \
        BAD(2, 2);                                                                                 \
        memcpy(in, g.in, sizeof g.in);                                                             \
        memcpy(out, g.out, sizeof out);                                                            \
    } while (0)
    WITH(in[1].v1.id = out[1].v1.id); // an output among the inputs
    WITH(in[1].v1.id = 999);
    WITH(in[1].v1.id = 0);
    WITH(in[0].version = (Qnn_TensorVersion_t)3);
    WITH(in[0].v1.dataType = QNN_DATATYPE_INT_32);
    WITH(in[0].v1.clientBuf.data = NULL);
    WITH(out[0].v1.clientBuf.data = NULL);
    WITH(in[0].v1.clientBuf.dataSize = 11);
    WITH(out[1].v1.clientBuf.dataSize = 11);
    WITH(in[0].v1.memType = QNN_TENSORMEMTYPE_UNDEFINED);
    WITH((in[0].v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE, in[0].v1.memHandle = context));
    uint32_t two[1] = {2}, rank2[2] = {1, 3};
    WITH(in[0].v1.dimensions = two);
    WITH((in[0].v1.dimensions = rank2, in[0].v1.rank = 2));
    EXECUTE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, g.handle, NULL, 2, out, 2, NULL, NULL);
    EXECUTE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, g.handle, in, 2, NULL, 2, NULL, NULL);
    OK(QnnGraph_execute(g.handle, in, 2, out, 2, NULL, NULL));
    check_two(&g);
}

static void graphs_that_cannot_run_say_why(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_build(&r, "r", 4);
    relu_bind(&r, x, y);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, RUN(&r, NULL, NULL));
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
         QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, NULL, NULL));
    Qnn_GraphHandle_t bad[] = {NULL, context, FOREIGN, &r};
    for (size_t i = 0; i < N_OF(bad); i++) {
        EXECUTE(QNN_GRAPH_ERROR_INVALID_HANDLE, bad[i], &r.x, 1, &r.y, 1, NULL, NULL);
        PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_INVALID_HANDLE,
             QnnGraph_executeAsync(bad[i], &r.x, 1, &r.y, 1, NULL, NULL, NULL, NULL));
    }
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } rows[] = {{QRN_E_UNSUPPORTED, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE},
                {QRN_E_ARGUMENT, QNN_GRAPH_ERROR_INVALID_ARGUMENT},
                {QRN_E_EARLY, QNN_GRAPH_ERROR_EARLY_TERMINATION},
                {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_GRAPH_EXECUTE] = rows[i].status;
        PAIR("QnnGraph_execute", rows[i].code, RUN(&r, NULL, NULL));
    }
    fault_reset();
    fault_backend.graph_execute = NULL;
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, RUN(&r, NULL, NULL));
    fault_reset();
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_SET_PROFILE, RUN(&r, context, NULL));
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_ARGUMENT, RUN(&r, NULL, context));
    graph_object(r.handle)->disabled = true;
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_DISABLED, RUN(&r, NULL, NULL));
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_DISABLED,
         QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, NULL, NULL));
}

static void nothing_is_allocated_after_the_first_call(void **state) {
    (void)state;
    two_graph g;
    two_finalized(&g);
    unsigned n = 1; // what a failed call has prepared is kept for the next one
    for (Qnn_ErrorHandle_t code = 1; code != QNN_SUCCESS; n++) {
        qrn_alloc_fail_at(n, false);
        code = QnnGraph_execute(g.handle, g.in, 2, g.out, 2, NULL, NULL);
        qrn_alloc_fail_at(0, false);
        if (code != QNN_SUCCESS)
            PAIR("QnnGraph_execute", QNN_COMMON_ERROR_MEM_ALLOC, code);
    }
    assert_true(n > 2);
    qrn_alloc_fail_at(1, true);
    for (int i = 0; i < 5; i++) {
        g.a[0] += 1.0f;
        OK(QnnGraph_execute(g.handle, g.in, 2, g.out, 2, NULL, NULL));
        check_two(&g);
    }
    qrn_alloc_fail_at(0, false);
}

static Qnn_MemHandle_t register_floats(Qnn_ContextHandle_t c, uint32_t *dims, float **data) {
    static int fd = 100;
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape.numDim = 1;
    d.memShape.dimSize = dims;
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_ION;
    d.ionInfo.fd = fd++;
    Qnn_MemHandle_t h = NULL;
    OK(QnnMem_register(c, &d, 1, &h));
    *data = ((const qrn_api_mem *)qrn_handle_get(QRN_KIND_MEM, h))->memory.host;
    return h;
}

static void registered_memory_is_used_where_it_lies(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float *x = NULL, *y = NULL, *foreign = NULL, *small = NULL;
    uint32_t two[1] = {2};
    r.x.v1.memType = r.y.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    r.x.v1.memHandle = register_floats(context, r.dims, &x);
    r.y.v1.memHandle = register_floats(context, r.dims, &y);
    for (int i = 0; i < 4; i++)
        x[i] = (float)(i - 2);
    OK(RUN(&r, NULL, NULL));
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0 && y[3] == 1);
    Qnn_ContextHandle_t other;
    OK(QnnContext_create(backend, NULL, NULL, &other));
    Qnn_MemHandle_t kept = r.x.v1.memHandle;
    r.x.v1.memHandle = register_floats(other, r.dims, &foreign);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_CONTEXT, RUN(&r, NULL, NULL));
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_INVALID_CONTEXT,
         QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, NULL, NULL));
    OK(QnnContext_free(other, NULL));
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_TENSOR, RUN(&r, NULL, NULL)); // gone with it
    r.x.v1.memHandle = register_floats(context, two, &small);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_TENSOR, RUN(&r, NULL, NULL));
    r.x.v1.memHandle = kept;
    OK(RUN(&r, NULL, NULL));
}

static void buffers_need_no_alignment(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    char raw_x[17], raw_y[18];
    float x[4] = {-1, 2, -3, 4}, y[4];
    memcpy(raw_x + 1, x, sizeof x);
    raw_y[17] = 'z';
    relu_bind(&r, (float *)(void *)(raw_x + 1), (float *)(void *)(raw_y + 1));
    for (int i = 0; i < 2; i++) {
        memset(raw_y, 0, 17);
        OK(RUN(&r, NULL, NULL));
        memcpy(y, raw_y + 1, sizeof y);
        assert_true(y[0] == 0 && y[1] == 2 && y[2] == 0 && y[3] == 4);
        assert_true(raw_y[0] == 0 && raw_y[17] == 'z');
    }
}

static void dynamic_dimensions_vary_per_call(void **state) {
    (void)state;
    uint32_t most[2] = {4, 3}, now[2], out_now[2];
    uint8_t dynamic[2] = {1, 0};
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "dyn", NULL, &g));
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, most),
                 y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, most);
    x.version = y.version = QNN_TENSOR_VERSION_2;
    x.v2.isDynamicDimensions = y.v2.isDynamicDimensions = dynamic;
    OK(QnnTensor_createGraphTensor(g, &x));
    OK(QnnTensor_createGraphTensor(g, &y));
    Qnn_Tensor_t pair[2] = {x, x};
    OK(QnnGraph_addNode(g, op("add", QNN_OP_ELEMENT_WISE_ADD, pair, 2, &y, 1)));
    OK(QnnGraph_finalize(g, NULL, NULL));
    float in[12], out[12];
    for (uint32_t rows = 1; rows <= 4; rows++) {
        for (int i = 0; i < 12; i++) {
            in[i] = (float)i;
            out[i] = -1.0f;
        }
        now[0] = rows, now[1] = 3;
        out_now[0] = out_now[1] = 77; // what an output's dimensions say before the call is not read
        x.v2.dimensions = now;
        y.v2.dimensions = out_now;
        x.v2.clientBuf = (Qnn_ClientBuffer_t){in, rows * 12};
        y.v2.clientBuf = (Qnn_ClientBuffer_t){out, sizeof out};
        y.v2.isProduced = 0;
        OK(QnnGraph_execute(g, &x, 1, &y, 1, NULL, NULL));
        assert_int_equal(out_now[0], rows);
        assert_int_equal(out_now[1], 3);
        assert_int_equal(y.v2.isProduced, 1);
        for (uint32_t i = 0; i < 12; i++)
            assert_true(out[i] == (i < rows * 3 ? 2.0f * (float)i : -1.0f));
    }
    static const uint32_t bad[][2] = {{5, 3}, {0, 3}};
    for (size_t i = 0; i < N_OF(bad); i++) {
        memcpy(now, bad[i], sizeof now);
        EXECUTE(QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE, g, &x, 1, &y, 1, NULL, NULL);
        PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE,
             QnnGraph_executeAsync(g, &x, 1, &y, 1, NULL, NULL, NULL, NULL));
    }
    now[0] = 2, now[1] = 2; // the second dimension is fixed
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g, &x, 1, &y, 1, NULL, NULL);
    now[1] = 3;
    x.v2.clientBuf.dataSize = 23;
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g, &x, 1, &y, 1, NULL, NULL);
    x.v2.clientBuf.dataSize = 24;
    y.v2.clientBuf.dataSize = 24; // outputs need room for the largest shape
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g, &x, 1, &y, 1, NULL, NULL);
}

static void sparse_tensors_keep_their_declared_size(void **state) {
    (void)state;
    uint32_t dims[2] = {4, 3};
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "sparse", NULL, &g));
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, dims),
                 y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, dims);
    x.version = QNN_TENSOR_VERSION_2;
    x.v2.dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE;
    x.v2.sparseParams = (Qnn_SparseParams_t){QNN_SPARSE_LAYOUT_HYBRID_COO, {.hybridCoo = {2, 1}}};
    OK(QnnTensor_createGraphTensor(g, &x));
    OK(QnnTensor_createGraphTensor(g, &y));
    assert_int_equal(tensor_object(x.v2.id)->size_bytes, 2 * 4 + 2 * 3 * 4); // indices and rows
    OK(QnnGraph_addNode(g, op("dense", QNN_OP_SPARSE_TO_DENSE, &x, 1, &y, 1)));
    // Only the binding is of interest here, so the backend runs nothing.
    fault_status[FAULT_GRAPH_EXECUTE] = QRN_E_EARLY;
    qrn_api_graph *o = graph_object(g);
    o->ir->finalized = true;
    qrn_api_io io[2] = {{.tensor = tensor_object(x.v2.id)},
                        {.tensor = tensor_object(y.v1.id), .is_output = true}};
    o->io = qrn_alloc(sizeof io);
    memcpy(o->io, io, sizeof io);
    o->n_io = 2;
    char data[32] = {0};
    float out[12];
    x.v2.clientBuf = (Qnn_ClientBuffer_t){data, 32};
    y.v1.clientBuf = (Qnn_ClientBuffer_t){out, sizeof out};
    EXECUTE(QNN_GRAPH_ERROR_EARLY_TERMINATION, g, &x, 1, &y, 1, NULL, NULL);
    x.v2.sparseParams.hybridCoo.numSpecifiedElements = 3;
    EXECUTE(QNN_GRAPH_ERROR_TENSOR_SPARSITY, g, &x, 1, &y, 1, NULL, NULL);
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_TENSOR_SPARSITY,
         QnnGraph_executeAsync(g, &x, 1, &y, 1, NULL, NULL, NULL, NULL));
    x.v2.sparseParams.hybridCoo = (Qnn_SparseLayoutHybridCoo_t){2, 2};
    EXECUTE(QNN_GRAPH_ERROR_TENSOR_SPARSITY, g, &x, 1, &y, 1, NULL, NULL);
}

static void optional_tensors_may_be_left_out(void **state) {
    (void)state;
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "optional", NULL, &g));
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, three),
                 y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, three),
                 z = describe("z", QNN_TENSOR_TYPE_OPTIONAL_APP_READ, QNN_DATATYPE_FLOAT_32, 1,
                              three);
    OK(QnnTensor_createGraphTensor(g, &x));
    OK(QnnTensor_createGraphTensor(g, &y));
    OK(QnnTensor_createGraphTensor(g, &z));
    OK(QnnGraph_addNode(g, op("relu", QNN_OP_RELU, &x, 1, &y, 1)));
    OK(QnnGraph_addNode(g, op("neg", QNN_OP_ELEMENT_WISE_NEG, &x, 1, &z, 1)));
    OK(QnnGraph_finalize(g, NULL, NULL));
    float in[3] = {-1, 2, -3}, out[3] = {0}, extra[3] = {0};
    x.v1.clientBuf = (Qnn_ClientBuffer_t){in, 12};
    y.v1.clientBuf = (Qnn_ClientBuffer_t){out, 12};
    z.v1.clientBuf = (Qnn_ClientBuffer_t){extra, 12};
    OK(QnnGraph_execute(g, &x, 1, &y, 1, NULL, NULL));
    assert_true(out[0] == 0 && out[1] == 2 && out[2] == 0);
    Qnn_Tensor_t both[2] = {z, y};
    OK(QnnGraph_execute(g, &x, 1, both, 2, NULL, NULL));
    assert_true(extra[0] == 1 && extra[1] == -2 && extra[2] == 3);
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g, &x, 1, &z, 1, NULL, NULL); // y is not optional
}

// y = x W^T + b, where only the bias can be done without.
static void an_optional_input_may_lack_where_its_op_allows(void **state) {
    (void)state;
    uint32_t xd[2] = {1, 2}, wd[2] = {1, 2}, bd[1] = {1}, yd[2] = {1, 1};
    float w[2] = {2, 3}, xv[2] = {1, 1}, bv[1] = {100}, yv[1] = {0};
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "fc", NULL, &g));
    Qnn_Tensor_t in[3] = {
        describe("x", QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, xd),
        describe_static("w", QNN_DATATYPE_FLOAT_32, 2, wd, w, sizeof w),
        describe("b", QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, bd)};
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, yd);
    for (int i = 0; i < 3; i++)
        OK(QnnTensor_createGraphTensor(g, &in[i]));
    OK(QnnTensor_createGraphTensor(g, &y));
    OK(QnnGraph_addNode(g, op("fc", QNN_OP_FULLY_CONNECTED, in, 3, &y, 1)));
    OK(QnnGraph_finalize(g, NULL, NULL));
    Qnn_Tensor_t given[2] = {in[0], in[2]};
    given[0].v1.clientBuf = (Qnn_ClientBuffer_t){xv, sizeof xv};
    given[1].v1.clientBuf = (Qnn_ClientBuffer_t){bv, sizeof bv};
    y.v1.clientBuf = (Qnn_ClientBuffer_t){yv, sizeof yv};
    OK(QnnGraph_execute(g, given, 2, &y, 1, NULL, NULL));
    assert_true(yv[0] == 105);
    OK(QnnGraph_execute(g, given, 1, &y, 1, NULL, NULL));
    assert_true(yv[0] == 5);
    EXECUTE(QNN_GRAPH_ERROR_INVALID_TENSOR, g, &given[1], 1, &y, 1, NULL, NULL); // x is needed
}

static void profiles_hold_the_call_and_its_nodes(void **state) {
    (void)state;
    two_graph g;
    two_finalized(&g);
    for (int level = 1; level <= 2; level++) {
        Qnn_ProfileHandle_t p;
        OK(QnnProfile_create(backend, (QnnProfile_Level_t)level, &p));
        for (int round = 0; round < 2; round++) // a new call replaces the events of the last one
            OK(QnnGraph_execute(g.handle, g.in, 2, g.out, 2, p, NULL));
        const QnnProfile_EventId_t *top = NULL, *sub = NULL;
        uint32_t n = 0, n_sub = 0;
        OK(QnnProfile_getEvents(p, &top, &n));
        assert_int_equal(n, 1);
        QnnProfile_EventData_t data;
        OK(QnnProfile_getEventData(top[0], &data));
        assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_EXECUTE);
        assert_int_equal(data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
        OK(QnnProfile_getSubEvents(top[0], &sub, &n_sub));
        assert_int_equal(n_sub, level == 1 ? 0 : 2); // nodes at the detailed level
        const char *names[2] = {"add", "sub"};
        for (uint32_t i = 0; i < n_sub; i++) {
            QnnProfile_EventData_t node;
            OK(QnnProfile_getEventData(sub[i], &node));
            assert_int_equal(node.type, QNN_PROFILE_EVENTTYPE_NODE);
            assert_string_equal(node.identifier, names[i]);
            assert_true(node.value <= data.value + 1);
        }
        OK(QnnProfile_free(p));
    }
}

static void a_bound_profile_follows_its_graph(void **state) {
    (void)state;
    Qnn_ProfileHandle_t p, other;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &other));
    relu_graph r;
    relu_build(&r, "r", 4);
    QnnGraph_Config_t bind = {.option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = p};
    QnnGraph_Config_t limit = {.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS,
                               .numProfilingExecutions = 2};
    QnnGraph_Config_t off = {.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                             .profilingState = QNN_GRAPH_PROFILING_STATE_DISABLED};
    const QnnGraph_Config_t *list[] = {&bind, &limit, NULL}, *more[] = {&limit, &off, NULL};
    OK(QnnGraph_setConfig(r.handle, list));
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_ARGUMENT, RUN(&r, other, NULL));
    for (int i = 0; i < 3; i++)
        OK(RUN(&r, NULL, NULL));
    const QnnProfile_EventId_t *events = NULL;
    uint32_t n = 0;
    OK(QnnProfile_getEvents(p, &events, &n));
    assert_int_equal(n, 2); // two of three executions
    OK(QnnGraph_setConfig(r.handle, more));
    OK(RUN(&r, NULL, NULL));
    OK(QnnProfile_getEvents(p, &events, &n));
    assert_int_equal(n, 2);
}

enum { N_THREADS = 4, N_ROUNDS = 50 };

static void *execute_many(void *arg) {
    relu_graph r = *(relu_graph *)arg;
    float x[64], y[64];
    relu_bind(&r, x, y);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            x[i] = (float)(i - 32 + round);
        if (RUN(&r, NULL, NULL) != QNN_SUCCESS)
            return "execute failed";
        for (int i = 0; i < 64; i++)
            if (y[i] != (x[i] > 0 ? x[i] : 0))
                return "wrong value";
    }
    return NULL;
}

static void one_graph_runs_on_many_threads(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 64);
    pthread_t t[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, execute_many, &r), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *why = NULL;
        pthread_join(t[i], &why);
        if (why)
            fail_msg("%s", (char *)why);
    }
}

static void the_library_can_bring_the_buffers(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    QnnGraph_ExecuteEnvironment_t env = {
        .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS,
        .tensorSet = {QNN_TENSOR_SET_VERSION_1, {.v1 = {1, &r.x, 1, &r.y}}}};
    QnnGraph_ExecuteEnvironment_t *envs[] = {&env};
    PAIR_MEM("QnnGraph_prepareExecutionEnvironment", QNN_COMMON_ERROR_MEM_ALLOC,
             QnnGraph_prepareExecutionEnvironment(r.handle, envs, 1));
    float *x = r.x.v1.clientBuf.data, *y = r.y.v1.clientBuf.data;
    assert_int_equal(r.x.v1.clientBuf.dataSize, 16);
    x[0] = -1, x[1] = 5;
    OK(RUN(&r, NULL, NULL));
    assert_true(y[0] == 0 && y[1] == 5);
    OK(QnnGraph_releaseExecutionEnvironment(r.handle, (const QnnGraph_ExecuteEnvironment_t **)envs,
                                            1));
    r.x.v1.clientBuf.data = r.y.v1.clientBuf.data = NULL;
    OK(QnnGraph_prepareExecutionEnvironment(r.handle, envs, 1)); // ends with the graph

    float *mem = NULL;
    Qnn_Tensor_t bound = r.x;
    bound.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    bound.v1.memHandle = register_floats(context, r.dims, &mem);
    env.option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES;
    env.tensorSet.v1 = (Qnn_TensorSetV1_t){1, &bound, 0, NULL};
    OK(QnnGraph_prepareExecutionEnvironment(r.handle, envs, 1));
#define BOTH(code, handle, list, n)                                                                \
    PAIR("QnnGraph_prepareExecutionEnvironment", code,                                             \
         QnnGraph_prepareExecutionEnvironment(handle, list, n));                                   \
    PAIR("QnnGraph_releaseExecutionEnvironment", code,                                             \
         QnnGraph_releaseExecutionEnvironment(handle,                                              \
                                              (const QnnGraph_ExecuteEnvironment_t **)list, n))
    bound.v1.memHandle = context;
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 1);
    env.option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_UNDEFINED;
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 1);
    env.option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS;
    env.tensorSet.v1 = (Qnn_TensorSetV1_t){1, NULL, 0, NULL};
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 1);
    env.tensorSet.v1 = (Qnn_TensorSetV1_t){1, &r.y, 0, NULL}; // no input
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 1);
    env.tensorSet.version = QNN_TENSOR_SET_VERSION_UNDEFINED;
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 1);
    BOTH(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, envs, 0);
    BOTH(QNN_GRAPH_ERROR_INVALID_HANDLE, context, envs, 1);
    fault_backend.features = 0;
    BOTH(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, r.handle, envs, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(tensors_are_matched_by_id_in_any_order),
        T(wrong_tensors_are_refused),
        T(graphs_that_cannot_run_say_why),
        T(nothing_is_allocated_after_the_first_call),
        T(registered_memory_is_used_where_it_lies),
        T(buffers_need_no_alignment),
        T(dynamic_dimensions_vary_per_call),
        T(sparse_tensors_keep_their_declared_size),
        T(optional_tensors_may_be_left_out),
        T(an_optional_input_may_lack_where_its_op_allows),
        T(profiles_hold_the_call_and_its_nodes),
        T(a_bound_profile_follows_its_graph),
        T(one_graph_runs_on_many_threads),
        T(the_library_can_bring_the_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
