// SPDX-License-Identifier: MIT
//
// Tensor component: what is refused and why, ids and names, constant data, updates. Encodings are
// in test_encoding.c.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>

static Qnn_GraphHandle_t graph;
static uint32_t dims4[4] = {1, 2, 3, 4};

static int setup(void **state) {
    if (build_setup(state))
        return 1;
    return QnnGraph_create(context, "g", NULL, &graph) != QNN_SUCCESS;
}

static Qnn_Tensor_t native(const char *name) {
    return describe(name, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 4, dims4);
}

#define BAD(tensor)                                                                                \
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,                     \
         QnnTensor_createGraphTensor(graph, &(tensor)))
#define UNSUPPORTED(tensor)                                                                        \
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM,                 \
         QnnTensor_createGraphTensor(graph, &(tensor)))

static void ids_are_unique_and_written_only_on_success(void **state) {
    (void)state;
    Qnn_Tensor_t a = native("a"), b = native("b"), c = native("c");
    b.version = QNN_TENSOR_VERSION_2;
    OK(QnnTensor_createGraphTensor(graph, &a));
    OK(QnnTensor_createGraphTensor(graph, &b));
    assert_int_not_equal(a.v1.id, 0);
    assert_int_not_equal(b.v2.id, 0);
    assert_int_not_equal(a.v1.id, b.v2.id);
    c.v1.rank = 9;
    c.v1.id = 77;
    UNSUPPORTED(c);
    assert_int_equal(c.v1.id, 77);
    Qnn_GraphHandle_t other;
    OK(QnnGraph_create(context, "other", NULL, &other));
    Qnn_Tensor_t d = native("a"); // names are unique in a graph, not across graphs
    OK(QnnTensor_createGraphTensor(other, &d));
    assert_int_not_equal(d.v1.id, a.v1.id);
    assert_int_not_equal(d.v1.id, b.v1.id);
}

static void bad_handles_are_found_out(void **state) {
    (void)state;
    Qnn_Tensor_t t = native("t");
    const void *handles[] = {NULL, FOREIGN, context, &t, (void *)1};
    for (size_t i = 0; i < N_OF(handles); i++)
        PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_HANDLE,
             QnnTensor_createGraphTensor((void *)handles[i], &t));
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_INVALID_HANDLE,
         QnnTensor_createContextTensor(stale_context(), &t));
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_INVALID_HANDLE,
         QnnTensor_createContextTensor(graph, &t));
    const Qnn_Tensor_t *list[] = {&t};
    PAIR("QnnTensor_updateGraphTensors", QNN_TENSOR_ERROR_INVALID_HANDLE,
         QnnTensor_updateGraphTensors(NULL, list, 1));
    PAIR("QnnTensor_updateContextTensors", QNN_TENSOR_ERROR_INVALID_HANDLE,
         QnnTensor_updateContextTensors(NULL, list, 1));
}

static void wrong_descriptions_are_refused(void **state) {
    (void)state;
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createGraphTensor(graph, NULL));
    Qnn_Tensor_t good = native("t"), t;
#define WITH(change) t = good, change, BAD(t)
    WITH(t.version = (Qnn_TensorVersion_t)0);
    WITH(t.version = (Qnn_TensorVersion_t)3);
    WITH(t.v1.name = NULL);
    WITH(t.v1.name = "");
    WITH(t.v1.type = (Qnn_TensorType_t)14);
    WITH(t.v1.type = QNN_TENSOR_TYPE_UNDEFINED);
    WITH(t.v1.type = QNN_TENSOR_TYPE_APP_READWRITE);
    WITH(t.v1.type = QNN_TENSOR_TYPE_STATIC); // without data
    WITH(t.v1.dataFormat = 38);
    WITH(t.v1.dataType = QNN_DATATYPE_UNDEFINED);
    WITH(t.v1.dataType = QNN_DATATYPE_STRING);
    WITH(t.v1.dimensions = NULL);
    WITH(t.v1.memType = QNN_TENSORMEMTYPE_UNDEFINED);
    WITH(t.v1.memType = QNN_TENSORMEMTYPE_RETRIEVE_RAW);
    uint32_t zero[4] = {1, 0, 3, 4}, huge[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 4};
    WITH(t.v1.dimensions = zero);
    WITH(t.v1.dimensions = huge);
    uint32_t vast[4] = {1 << 14, 1 << 14, 1 << 10, 2}; // 2^41 bytes
    WITH(t.v1.dimensions = vast);
    float data[24] = {0};
    WITH((t.v1.clientBuf.data = data, t.v1.clientBuf.dataSize = sizeof data));
    Qnn_Tensor_t constant =
        describe_static("t", QNN_DATATYPE_FLOAT_32, 4, dims4, data, sizeof data);
    t = constant, t.v1.clientBuf.dataSize--, BAD(t);
    t = constant, t.v1.clientBuf.dataSize++, BAD(t);
    uint8_t dynamic[4] = {0, 1, 0, 0};
    t = constant, t.version = QNN_TENSOR_VERSION_2, t.v2.isDynamicDimensions = dynamic, BAD(t);
    OK(QnnTensor_createGraphTensor(graph, &good));
    WITH((void)0); // the name is taken now
#undef WITH
}

static void what_the_backend_lacks_is_unsupported(void **state) {
    (void)state;
    Qnn_Tensor_t good = native("t"), t;
#define WITH(change) t = good, change, UNSUPPORTED(t)
    WITH(t.v1.rank = 9);
    WITH(t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_MX);
    WITH(t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_BATCH_ALIGNED_256);
    WITH(t.v1.dataType = QNN_DATATYPE_INT_4);
    WITH(t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_2);
    WITH(t.v1.dataType = QNN_DATATYPE_FLOAT_8);
    fault_backend.features = 0;
    WITH(t.v1.type = QNN_TENSOR_TYPE_UPDATEABLE_NATIVE);
    WITH(t.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE);
    WITH((t.version = QNN_TENSOR_VERSION_2, t.v2.dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE));
    uint8_t dynamic[4] = {0, 0, 0, 1};
    WITH((t.version = QNN_TENSOR_VERSION_2, t.v2.isDynamicDimensions = dynamic));
#undef WITH
    t = native("c");
    t.v1.type = QNN_TENSOR_TYPE_APP_READWRITE;
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE,
         QnnTensor_createContextTensor(context, &t));
    const Qnn_Tensor_t *list[] = {&t};
    PAIR("QnnTensor_updateContextTensors", QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE,
         QnnTensor_updateContextTensors(context, list, 1));
    PAIR("QnnTensor_updateGraphTensors", QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE,
         QnnTensor_updateGraphTensors(graph, list, 1));
}

static void placeholders_need_only_a_name(void **state) {
    (void)state;
    uint32_t none[1] = {0};
    Qnn_Tensor_t t = describe("absent", QNN_TENSOR_TYPE_NULL, QNN_DATATYPE_UNDEFINED, 1, none);
    t.v1.memType = QNN_TENSORMEMTYPE_UNDEFINED;
    OK(QnnTensor_createGraphTensor(graph, &t));
    assert_int_equal(tensor_object(t.v1.id)->role, QRN_ROLE_NULL);
    Qnn_Tensor_t scalar = describe("s", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_INT_32, 0, NULL);
    OK(QnnTensor_createGraphTensor(graph, &scalar));
    assert_int_equal(tensor_object(scalar.v1.id)->size_bytes, 4);
}

static void static_data_is_copied_and_shared_by_content(void **state) {
    (void)state;
    uint32_t dims[1] = {1000};
    float *data = malloc(4000);
    for (int i = 0; i < 1000; i++)
        data[i] = (float)i;
    Qnn_Tensor_t a = describe_static("a", QNN_DATATYPE_FLOAT_32, 1, dims, data, 4000), b = a, c = a;
    b.v1.name = "b";
    c.v1.name = "c";
    OK(QnnTensor_createGraphTensor(graph, &a));
    OK(QnnTensor_createGraphTensor(graph, &b));
    data[999] = -1.0f;
    OK(QnnTensor_createGraphTensor(graph, &c));
    free(data);
    const float *pa = tensor_object(a.v1.id)->data, *pc = tensor_object(c.v1.id)->data;
    assert_ptr_equal(pa, tensor_object(b.v1.id)->data);
    assert_ptr_not_equal(pa, pc);
    assert_true(pa[999] == 999.0f && pc[999] == -1.0f && pa[500] == 500.0f);
    assert_int_equal((uintptr_t)pa % QRN_ALIGN, 0);
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, context);
    assert_int_equal(o->own->blobs.size_bytes, 8000);
}

// Many blobs of few sizes: the table of contents grows, and drops keep the others reachable.
static void the_content_table_survives_growth_and_removal(void **state) {
    (void)state;
    qrn_blobs set = {0};
    enum { N = 500 };
    const void *at[N];
    for (uint32_t i = 0; i < N; i++)
        assert_non_null(at[i] = qrn_blobs_add(&set, &i, sizeof i));
    for (uint32_t i = 0; i < N; i += 3)
        qrn_blobs_drop(&set, at[i]);
    for (uint32_t i = 0; i < N; i++) {
        const void *again = qrn_blobs_add(&set, &i, sizeof i);
        assert_int_equal(*(const uint32_t *)again, i);
        if (i % 3)
            assert_ptr_equal(again, at[i]);
    }
    assert_int_equal(set.n, N);
    assert_int_equal(set.size_bytes, N * sizeof(uint32_t));
    qrn_blobs_clear(&set);
}

static uint8_t number_at(uint32_t blob, size_t i) {
    return (uint8_t)(blob * 7 + i * 13 + (i >> 8) * (blob + 1));
}

// Blobs from one byte to more than those that share memory with others, of a set that becomes large
// and then small again.
static void large_sets_keep_every_byte(void **state) {
    (void)state;
    qrn_blobs set = {0};
    enum { N = 240, MOST = 1500000 };
    static unsigned char bytes[MOST];
    const unsigned char *at[N];
    size_t size[N], live = qrn_alloc_live();
    for (uint32_t i = 0; i < N; i++) {
        size[i] = 1 + (size_t)i * i * 7919 % (i % 40 == 7 ? MOST : 300000);
        for (size_t k = 0; k < size[i]; k++)
            bytes[k] = number_at(i, k);
        assert_non_null(at[i] = qrn_blobs_add(&set, bytes, size[i]));
        assert_int_equal((uintptr_t)at[i] % QRN_ALIGN, 0);
        if (i % 3 == 2) // in another order than they came
            qrn_blobs_drop(&set, at[i - 1 - i / 3 % 2]);
    }
    for (uint32_t i = 0; i < N; i++) {
        if (i % 3 == 1 - i / 3 % 2)
            continue; // dropped
        for (size_t k = 0; k < size[i]; k++)
            assert_int_equal(at[i][k], number_at(i, k));
        for (size_t k = 0; k < QRN_TAIL; k++)
            assert_int_equal(at[i][size[i] + k], 0);
        qrn_blobs_drop(&set, at[i]);
    }
    assert_int_equal(set.n, 0);
    assert_int_equal(set.size_bytes, 0);
    qrn_blobs_clear(&set);
    assert_int_equal(qrn_alloc_live(), live);
}

static struct {
    int gets, frees;
    uint64_t id;
    Qnn_ErrorHandle_t answer;
    uint32_t size;
} asked;
static float asked_data[3] = {1.0f, 2.0f, 3.0f};

static Qnn_ErrorHandle_t give(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, uint64_t id,
                              Qnn_ClientBuffer_t *buf) {
    assert_ptr_equal(c, context);
    assert_ptr_equal(g, graph);
    asked.gets++;
    asked.id = id;
    buf->data = asked_data;
    buf->dataSize = asked.size;
    return asked.answer;
}

static Qnn_ErrorHandle_t take_back(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, uint64_t id) {
    (void)c, (void)g;
    assert_int_equal(id, asked.id);
    asked.frees++;
    return QNN_SUCCESS;
}

static void data_can_come_through_callbacks(void **state) {
    (void)state;
    uint32_t dims[1] = {3};
    Qnn_TensorRetrieveRaw_t fns = {give, take_back};
    Qnn_Tensor_t t = describe("r", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims);
    t.version = QNN_TENSOR_VERSION_2;
    t.v2.memType = QNN_TENSORMEMTYPE_RETRIEVE_RAW;
    t.v2.retrieveRaw = &fns;
    memset(&asked, 0, sizeof asked);
    asked.size = 11;
    BAD(t); // too short
    assert_true(asked.gets == 1 && asked.frees == 1);
    asked.size = 12;
    asked.answer = 1;
    BAD(t); // the callback fails: nothing to give back
    assert_true(asked.gets == 2 && asked.frees == 1);
    asked.answer = QNN_SUCCESS;
    OK(QnnTensor_createGraphTensor(graph, &t));
    assert_true(asked.gets == 3 && asked.frees == 2);
    assert_int_equal(asked.id, t.v2.id);
    assert_memory_equal(tensor_object(t.v2.id)->data, asked_data, 12);
    fns.freeTensorData = NULL;
    t.v2.name = "s";
    BAD(t);
}

static Qnn_MemHandle_t register_memory(Qnn_ContextHandle_t c, uint32_t *dims) {
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape.numDim = 1;
    d.memShape.dimSize = dims;
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_ION;
    static int fd = 100; // one descriptor is registered once
    d.ionInfo.fd = fd++;
    Qnn_MemHandle_t h = NULL;
    OK(QnnMem_register(c, &d, 1, &h));
    return h;
}

static void data_can_come_from_registered_memory(void **state) {
    (void)state;
    uint32_t three[1] = {3}, two[1] = {2};
    Qnn_MemHandle_t mem = register_memory(context, three), small = register_memory(context, two);
    const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, mem);
    memcpy(m->memory.host, asked_data, 12);
    Qnn_Tensor_t t = describe("m", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, three);
    t.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t.v1.memHandle = small;
    BAD(t);
    t.v1.memHandle = context;
    BAD(t);
    Qnn_ContextHandle_t other;
    OK(QnnContext_create(backend, NULL, NULL, &other));
    t.v1.memHandle = register_memory(other, three);
    BAD(t);
    Qnn_Tensor_t app = describe("app", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, three);
    app.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    app.v1.memHandle = t.v1.memHandle;
    BAD(app);
    app.v1.memHandle = NULL; // may come with the call
    OK(QnnTensor_createGraphTensor(graph, &app));
    t.v1.memHandle = mem;
    OK(QnnTensor_createGraphTensor(graph, &t));
    assert_memory_equal(tensor_object(t.v1.id)->data, asked_data, 12);
    OK(QnnContext_free(other, NULL));
}

static void context_tensors_belong_to_all_graphs(void **state) {
    (void)state;
    Qnn_Tensor_t t = native("c");
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createContextTensor(context, &t)); // native
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createContextTensor(context, NULL));
    t.v1.type = QNN_TENSOR_TYPE_APP_READWRITE;
    t.v1.rank = 9;
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM,
         QnnTensor_createContextTensor(context, &t));
    t.v1.rank = 4;
    OK(QnnTensor_createContextTensor(context, &t));
    assert_null(tensor_object(t.v1.id)->graph);
    Qnn_Tensor_t again = t;
    PAIR("QnnTensor_createContextTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createContextTensor(context, &again)); // the name is taken
    // One graph writes it, the other reads it.
    Qnn_Tensor_t x = native("x"), y = native("y");
    x.v1.type = QNN_TENSOR_TYPE_APP_WRITE;
    y.v1.type = QNN_TENSOR_TYPE_APP_READ;
    Qnn_GraphHandle_t reader;
    OK(QnnGraph_create(context, "reader", NULL, &reader));
    OK(QnnTensor_createGraphTensor(graph, &x));
    OK(QnnTensor_createGraphTensor(reader, &y));
    OK(QnnGraph_addNode(graph, op("w", QNN_OP_RELU, &x, 1, &t, 1)));
    OK(QnnGraph_addNode(reader, op("r", QNN_OP_RELU, &t, 1, &y, 1)));
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_TENSOR,
         QnnGraph_addNode(reader, op("r2", QNN_OP_RELU, &x, 1, &y, 1))); // x is another graph's
}

// A failed allocation at any point gives the documented code; what was made is found again later.
static void running_out_of_memory_leaves_no_half_made_tensor(void **state) {
    (void)state;
    uint32_t dims[1] = {6000};
    static float data[6000];
    float scales[6000];
    for (int i = 0; i < 6000; i++) {
        data[i] = (float)i;
        scales[i] = 1.0f;
    }
    for (unsigned kind = 0; kind < 3; kind++) {
        static const char *const names[] = {"plain", "static", "axis"};
        Qnn_Tensor_t t =
            describe(names[kind], QNN_TENSOR_TYPE_APP_READWRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
        if (kind == 1)
            t = describe_static(names[kind], QNN_DATATYPE_FLOAT_32, 1, dims, data, sizeof data);
        if (kind == 2) {
            t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_8;
            t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
            t.v1.quantizeParams.quantizationEncoding =
                QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
            t.v1.quantizeParams.bwAxisScaleOffsetEncoding =
                (Qnn_BwAxisScaleOffset_t){8, 0, 6000, scales, NULL};
        }
        for (int in_graph = 0; in_graph < 2; in_graph++) {
            if (in_graph && kind != 1)
                t.v1.type = QNN_TENSOR_TYPE_NATIVE;
            unsigned n = 1;
            for (Qnn_ErrorHandle_t code = 1; code != QNN_SUCCESS; n++) {
                qrn_alloc_fail_at(n, false);
                code = in_graph ? QnnTensor_createGraphTensor(graph, &t)
                                : QnnTensor_createContextTensor(context, &t);
                qrn_alloc_fail_at(0, false);
                if (code != QNN_SUCCESS)
                    PAIR(in_graph ? "QnnTensor_createGraphTensor" : "QnnTensor_createContextTensor",
                         QNN_COMMON_ERROR_MEM_ALLOC, code);
            }
            assert_true(n > 2 || kind == 0 ||
                        in_graph); // arenas and shared data need no more memory
            assert_string_equal(tensor_object(t.v1.id)->name, names[kind]);
        }
    }
}

// y = x + w with an updateable w.
typedef struct update_graph {
    Qnn_Tensor_t x, y, w;
    float in[3], out[3];
} update_graph;

static uint32_t three_dims[1] = {3};
static float old_w[3] = {1, 2, 3}, new_w[3] = {10, 20, 30};

static void make_updateable(update_graph *u) {
    u->x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, three_dims);
    u->y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, three_dims);
    u->w = describe_static("w", QNN_DATATYPE_FLOAT_32, 1, three_dims, old_w, sizeof old_w);
    u->w.v1.type = QNN_TENSOR_TYPE_UPDATEABLE_STATIC;
    OK(QnnTensor_createGraphTensor(graph, &u->x));
    OK(QnnTensor_createGraphTensor(graph, &u->y));
    OK(QnnTensor_createGraphTensor(graph, &u->w));
    Qnn_Tensor_t in[2] = {u->x, u->w};
    OK(QnnGraph_addNode(graph, op("add", QNN_OP_ELEMENT_WISE_ADD, in, 2, &u->y, 1)));
    for (int i = 0; i < 3; i++)
        u->in[i] = 1.0f;
    u->x.v1.clientBuf = (Qnn_ClientBuffer_t){u->in, sizeof u->in};
    u->y.v1.clientBuf = (Qnn_ClientBuffer_t){u->out, sizeof u->out};
}

static void expect_sum(update_graph *u, const float *w) {
    OK(QnnGraph_execute(graph, &u->x, 1, &u->y, 1, NULL, NULL));
    for (int i = 0; i < 3; i++)
        assert_true(u->out[i] == 1.0f + w[i]);
}

static void updates_take_effect_at_the_next_finalize(void **state) {
    (void)state;
    update_graph u;
    make_updateable(&u);
    Qnn_Tensor_t fresh = u.w;
    fresh.v1.clientBuf.data = new_w;
    const Qnn_Tensor_t *list[2] = {&fresh, &fresh};
    PAIR("QnnTensor_updateGraphTensors", QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
         QnnTensor_updateGraphTensors(graph, list, 1));
    OK(QnnGraph_finalize(graph, NULL, NULL));
    expect_sum(&u, old_w);
    for (unsigned n = 1;; n++) {
        size_t live = qrn_alloc_live();
        qrn_alloc_fail_at(n, false);
        Qnn_ErrorHandle_t code = QnnTensor_updateGraphTensors(graph, list, 2);
        qrn_alloc_fail_at(0, false);
        if (code == QNN_SUCCESS)
            break;
        PAIR("QnnTensor_updateGraphTensors", QNN_COMMON_ERROR_MEM_ALLOC, code);
        assert_true(qrn_alloc_live() <= live + 1); // the arena may have grown by a block
    }
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
         QnnGraph_execute(graph, &u.x, 1, &u.y, 1, NULL, NULL));
    OK(QnnGraph_finalize(graph, NULL, NULL));
    expect_sum(&u, new_w);
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, context);
    assert_int_equal(o->own->blobs.size_bytes, sizeof new_w); // the old data is gone
}

static void updates_that_do_not_fit_change_nothing(void **state) {
    (void)state;
    update_graph u;
    make_updateable(&u);
    OK(QnnGraph_finalize(graph, NULL, NULL));
    Qnn_Tensor_t fresh = u.w, bad;
    fresh.v1.clientBuf.data = new_w;
    const Qnn_Tensor_t *list[2] = {&fresh, &bad}, *null_list[1] = {NULL};
#define UPDATE(code, list, n)                                                                      \
    PAIR("QnnTensor_updateGraphTensors", code, QnnTensor_updateGraphTensors(graph, list, n))
    UPDATE(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, NULL, 1);
    UPDATE(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, list, 0);
    UPDATE(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, null_list, 1);
    bad = fresh, bad.v1.id = 12345;
    UPDATE(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, list, 2);
    bad = fresh, bad.v1.rank = 9;
    UPDATE(QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, list, 2);
    uint32_t two[1] = {2};
    bad = fresh, bad.v1.dimensions = two, bad.v1.clientBuf.dataSize = 8;
    UPDATE(QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, list, 2);
    bad = u.y, bad.v1.clientBuf.data = NULL; // not updateable
    UPDATE(QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, list, 2);
    expect_sum(&u, old_w);
}

static void context_tensors_can_be_updated(void **state) {
    (void)state;
    uint32_t dims[1] = {2};
    float w[2] = {1, 2}, w2[2] = {3, 4};
    Qnn_Tensor_t c = describe_static("w", QNN_DATATYPE_FLOAT_32, 1, dims, w, sizeof w);
    c.v1.type = QNN_TENSOR_TYPE_UPDATEABLE_STATIC;
    OK(QnnTensor_createContextTensor(context, &c));
    Qnn_Tensor_t u = c, bad = c;
    u.v1.clientBuf.data = w2;
    const Qnn_Tensor_t *list[1] = {&u}, *bad_list[2] = {&u, &bad};
    PAIR("QnnTensor_updateContextTensors", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_updateContextTensors(context, NULL, 1));
    bad.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_MX;
    PAIR("QnnTensor_updateContextTensors", QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM,
         QnnTensor_updateContextTensors(context, bad_list, 2));
    bad = c, bad.v1.dataType = QNN_DATATYPE_INT_32;
    PAIR("QnnTensor_updateContextTensors", QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE,
         QnnTensor_updateContextTensors(context, bad_list, 2));
    assert_memory_equal(tensor_object(c.v1.id)->data, w, sizeof w);
    unsigned n = 1;
    for (Qnn_ErrorHandle_t code = 1; code != QNN_SUCCESS; n++) {
        qrn_alloc_fail_at(n, false);
        code = QnnTensor_updateContextTensors(context, list, 1);
        qrn_alloc_fail_at(0, false);
        if (code != QNN_SUCCESS)
            PAIR("QnnTensor_updateContextTensors", QNN_COMMON_ERROR_MEM_ALLOC, code);
    }
    assert_true(n > 2);
    assert_memory_equal(tensor_object(c.v1.id)->data, w2, sizeof w2);
}

static void a_finalized_graph_takes_no_tensors(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "done", 4);
    Qnn_Tensor_t t = native("late");
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createGraphTensor(r.handle, &t));
}

// Random values in every field that is not a pointer: any answer will do, a crash will not.
static void random_descriptions_do_no_harm(void **state) {
    (void)state;
    srand(7);
    float data[64] = {0};
    uint32_t dims[8] = {1, 2, 1, 2, 1, 2, 1, 2};
    uint8_t dynamic[8] = {0};
    char name[32];
    unsigned ok = 0;
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "t%d", i);
        Qnn_Tensor_t t = native(name);
        t.version = QNN_TENSOR_VERSION_2;
        t.v2.isDynamicDimensions = rand() % 2 ? dynamic : NULL;
        t.v2.rank = (uint32_t)rand() % 10;
        t.v2.dimensions = dims;
        uint32_t *fields[] = {(uint32_t *)&t.v2.type,
                              &t.v2.dataFormat,
                              (uint32_t *)&t.v2.dataType,
                              (uint32_t *)&t.v2.quantizeParams.encodingDefinition,
                              (uint32_t *)&t.v2.quantizeParams.quantizationEncoding,
                              (uint32_t *)&t.v2.sparseParams.type,
                              &t.v2.sparseParams.hybridCoo.numSpecifiedElements,
                              &t.v2.sparseParams.hybridCoo.numSparseDimensions};
        for (int k = 0; k < 2; k++)
            *fields[(size_t)rand() % N_OF(fields)] =
                rand() % 3 ? (uint32_t)rand() % 16 : (uint32_t)rand();
        if (rand() % 2)
            t.v2.clientBuf = (Qnn_ClientBuffer_t){data, (uint32_t)rand() % 257};
        ok += QnnTensor_createGraphTensor(graph, &t) == QNN_SUCCESS;
    }
    assert_true(ok > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, build_teardown)
        T(ids_are_unique_and_written_only_on_success),
        T(bad_handles_are_found_out),
        T(wrong_descriptions_are_refused),
        T(what_the_backend_lacks_is_unsupported),
        T(placeholders_need_only_a_name),
        T(static_data_is_copied_and_shared_by_content),
        T(the_content_table_survives_growth_and_removal),
        T(large_sets_keep_every_byte),
        T(data_can_come_through_callbacks),
        T(data_can_come_from_registered_memory),
        T(context_tensors_belong_to_all_graphs),
        T(running_out_of_memory_leaves_no_half_made_tensor),
        T(updates_take_effect_at_the_next_finalize),
        T(updates_that_do_not_fit_change_nothing),
        T(context_tensors_can_be_updated),
        T(a_finalized_graph_takes_no_tensors),
        T(random_descriptions_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
