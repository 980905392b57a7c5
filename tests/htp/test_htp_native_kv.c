// SPDX-License-Identifier: MIT
//
// Native KV caches (HTP-NKV): graphs that put new rows into a cache and read it. What they give is
// compared with caches in the order of all other tensors, rearranged by the published formula.
#include "binary_model.h"
#include "htp_client.h"
#include "htp_describe.h"

#include "Quern/NativeKv.h"

#define SOC_V75 57 // SM8650
#define SOC_V68 30 // SM8350
#define SOC_2MB 45 // SXR1230P: v73 with 2 MB of VTCM
#define HEADS 2u
#define HEAD 64u

// What a graph of one layer is made of: cache' = ScatterElements(cache, index, news).
typedef struct layer {
    bool keys;             // [1, HEADS, HEAD, context], else [1, HEADS, context, HEAD]
    uint32_t context, n;   // positions of the cache, new ones
    uint32_t in, out, new; // data formats of cache, updated cache and new rows
    int32_t offset;        // of all encodings
    bool concat;           // Concat instead of ScatterElements
} layer;

typedef struct graph {
    Qnn_GraphHandle_t handle;
    Qnn_Tensor_t cache, index, news, updated;
    uint32_t dims[4], new_dims[4], past_dims[4];
} graph;

static const layer keys_of_one = {.keys = true, .context = 512, .n = 1, .in = 8, .offset = -128};

static Qnn_Tensor_t bytes(const htp_table *qnn, Qnn_GraphHandle_t g, const char *name,
                          Qnn_TensorType_t type, uint32_t *dims, uint32_t format, int32_t offset,
                          Qnn_ErrorHandle_t *e) {
    Qnn_Tensor_t t = htp_tensor(name, type, QNN_DATATYPE_UFIXED_POINT_8, 4, dims);
    t.v1.dataFormat = format;
    htp_encode(&t, 0.1f, offset);
    Qnn_ErrorHandle_t made = qnn->tensorCreateGraphTensor(g, &t);
    *e = *e == QNN_SUCCESS ? made : *e;
    return t;
}

static Qnn_Param_t axis_of(uint32_t axis) {
    Qnn_Param_t p = {.paramType = QNN_PARAMTYPE_SCALAR, .name = "axis"};
    p.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p.scalarParam.uint32Value = axis;
    return p;
}

// The first error; the graph is finalized when there is none.
static Qnn_ErrorHandle_t build(const htp_world *w, const char *name, const layer *l, graph *g) {
    const htp_table *qnn = &w->qnn;
    uint32_t context = l->context, axis = l->keys ? 3 : 2;
    uint32_t all[4] = {1, HEADS, HEAD, HEAD}, some[4];
    all[axis] = l->concat ? context + l->n : context;
    memcpy(some, all, sizeof some);
    some[axis] = l->n;
    memcpy(g->dims, all, sizeof all);
    memcpy(g->new_dims, some, sizeof some);
    memcpy(g->past_dims, all, sizeof all);
    g->past_dims[axis] = context;
    Qnn_ErrorHandle_t e = QNN_SUCCESS;
    HTP_OK(qnn->graphCreate(w->context, name, NULL, &g->handle));
    g->cache = bytes(qnn, g->handle, "cache", QNN_TENSOR_TYPE_APP_WRITE, g->past_dims, l->in,
                     l->offset, &e);
    g->news = bytes(qnn, g->handle, "news", QNN_TENSOR_TYPE_APP_WRITE, g->new_dims, l->new,
                    l->offset, &e);
    g->updated =
        bytes(qnn, g->handle, "updated", QNN_TENSOR_TYPE_APP_READ, g->dims, l->out, l->offset, &e);
    g->index = htp_tensor("index", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, 4, g->new_dims);
    if (!l->concat && e == QNN_SUCCESS)
        e = qnn->tensorCreateGraphTensor(g->handle, &g->index);
    if (e != QNN_SUCCESS)
        return e;
    Qnn_Tensor_t in[] = {g->cache, l->concat ? g->news : g->index, g->news};
    Qnn_OpConfig_t op = htp_op("put", l->concat ? "Concat" : "ScatterElements", in,
                               l->concat ? 2 : 3, &g->updated, 1);
    Qnn_Param_t params[] = {axis_of(axis)};
    op.v1.numOfParams = 1;
    op.v1.params = params;
    e = qnn->graphAddNode(g->handle, op);
    return e == QNN_SUCCESS ? qnn->graphFinalize(g->handle, NULL, NULL) : e;
}

static Qnn_ErrorHandle_t built(uint32_t soc, layer l) {
    htp_world w = htp_begin(soc);
    graph g;
    Qnn_ErrorHandle_t e = build(&w, "g", &l, &g);
    htp_end(&w);
    return e;
}

// --- values

typedef struct data {
    size_t n_cache, n_new;
    uint8_t *flat, *stored, *news, *want, *got;
    int32_t *index;
} data;

static size_t count(const uint32_t dims[4]) { return (size_t)dims[1] * dims[2] * dims[3]; }

// The stored form of a flat tensor, by the published formula.
static void store(const uint8_t *flat, uint8_t *stored, const uint32_t dims[4], uint32_t tile) {
    for (uint32_t h = 0; h < dims[1]; h++)
        for (uint32_t i = 0; i < dims[2]; i++)
            for (uint32_t o = 0; o < dims[3]; o++) {
                uint32_t t = o / tile, p = o % tile, ib = i / 32, a = i % 32 / 4, b = i % 4;
                size_t at = (size_t)t * dims[2] * tile + (ib * (tile / 32) + p / 32) * 1024 +
                            (a * 32 + p % 32) * 4 + b;
                stored[(size_t)h * dims[2] * dims[3] + at] =
                    flat[((size_t)h * dims[2] + i) * dims[3] + o];
            }
}

static data make_data(const layer *l, const graph *g, int32_t at) {
    data d = {count(g->dims), count(g->new_dims), NULL, NULL, NULL, NULL, NULL, NULL};
    uint32_t tile = l->keys ? 256 : 64;
    d.flat = test_malloc(d.n_cache);
    d.stored = test_malloc(d.n_cache);
    d.want = test_malloc(d.n_cache);
    d.got = test_malloc(d.n_cache);
    d.news = test_malloc(d.n_new);
    d.index = test_malloc(d.n_new * sizeof *d.index);
    net_fill(d.flat, d.n_cache, 1);
    net_fill(d.news, d.n_new, 2);
    uint8_t *after = test_malloc(d.n_cache);
    memcpy(after, d.flat, d.n_cache);
    for (uint32_t i = 0; i < d.n_new; i++) {
        uint32_t o = i % g->new_dims[3], r = i / g->new_dims[3] % g->new_dims[2];
        uint32_t h = i / g->new_dims[3] / g->new_dims[2];
        uint32_t row = l->keys ? r : r + (uint32_t)at, col = l->keys ? o + (uint32_t)at : o;
        d.index[i] = at + (int32_t)(l->keys ? o : r);
        after[((size_t)h * g->dims[2] + row) * g->dims[3] + col] = d.news[i];
    }
    store(d.flat, d.stored, g->dims, tile);
    if (l->out == 8)
        store(after, d.want, g->dims, tile);
    else
        memcpy(d.want, after, d.n_cache);
    test_free(after);
    return d;
}

static void drop(data *d) {
    void *all[] = {d->flat, d->stored, d->news, d->want, d->got, d->index};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        test_free(all[i]);
}

static Qnn_ErrorHandle_t run(const htp_world *w, const layer *l, graph *g, data *d) {
    htp_buffer(&g->cache, l->in == 8 ? d->stored : d->flat, d->n_cache);
    htp_buffer(&g->index, d->index, d->n_new * sizeof *d->index);
    htp_buffer(&g->news, d->news, d->n_new);
    htp_buffer(&g->updated, d->got, d->n_cache);
    Qnn_Tensor_t in[] = {g->cache, g->index, g->news};
    return w->qnn.graphExecute(g->handle, in, 3, &g->updated, 1, NULL, NULL);
}

static void check(layer l, int32_t at) {
    htp_world w = htp_begin(SOC_V75);
    graph g;
    HTP_OK(build(&w, "g", &l, &g));
    data d = make_data(&l, &g, at);
    HTP_OK(run(&w, &l, &g, &d));
    assert_memory_equal(d.got, d.want, d.n_cache);
    drop(&d);
    htp_end(&w);
}

// --- tests

static void htp_nkv_01_caches_are_exchanged_in_tiles(void **state) {
    (void)state;
    layer l = keys_of_one;
    for (int keys = 0; keys < 2; keys++)
        for (uint32_t out = 0; out <= 8; out += 8) {
            l.keys = keys;
            l.out = out;
            l.n = 1;
            check(l, 0);
            check(l, 313);
            l.n = 32;
            check(l, 480);
        }
    l.in = l.out = 0; // and flat ones as ever
    check(l, 7);
}

static void htp_nkv_01_the_published_offsets(void **state) {
    (void)state;
    static const struct {
        size_t tile, rows, i, o, at;
    } rows[] = {{256, 64, 0, 0, 0},      {256, 64, 1, 0, 1},       {256, 64, 4, 0, 128},
                {256, 64, 0, 1, 4},      {256, 64, 37, 70, 10393}, {64, 256, 100, 63, 7420},
                {256, 64, 0, 256, 16384}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        assert_int_equal(QuernNativeKv_offset(rows[k].rows, rows[k].tile, rows[k].i, rows[k].o),
                         rows[k].at);
    uint32_t dims[4] = {1, 1, 64, 512};
    uint8_t *flat = test_malloc(64 * 512), *a = test_malloc(64 * 512), *b = test_malloc(64 * 512);
    net_fill(flat, 64 * 512, 3);
    store(flat, a, dims, 256);
    QuernNativeKv_write(b, 64, 512, 256, 0, 0, flat, 1, 64, 512);
    assert_memory_equal(a, b, 64 * 512);
    test_free(flat);
    test_free(a);
    test_free(b);
}

static void htp_nkv_01_binaries_keep_the_format(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V75);
    layer l = keys_of_one;
    graph g;
    l.out = 8;
    HTP_OK(build(&w, "g", &l, &g));
    data d = make_data(&l, &g, 99);
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    htp_world v = htp_bare(SOC_V75);
    HTP_OK(blob_load(&v, NULL, NULL, &b));
    HTP_OK(v.qnn.graphRetrieve(v.context, "g", &g.handle));
    HTP_OK(run(&v, &l, &g, &d));
    assert_memory_equal(d.got, d.want, d.n_cache);
    d.index[0] = 481; // checked there, too
    for (size_t i = 1; i < d.n_new; i++)
        d.index[i] = 481;
    assert_int_not_equal(run(&v, &l, &g, &d), QNN_SUCCESS);
    free(b.data);
    drop(&d);
    htp_end(&v);
}

static void htp_nkv_02_not_on_v68(void **state) {
    (void)state;
    assert_int_equal(built(SOC_V68, keys_of_one), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    layer flat = keys_of_one;
    flat.in = 0;
    HTP_OK(built(SOC_V68, flat));
}

static void htp_nkv_03_values_are_symmetric(void **state) {
    (void)state;
    layer l = keys_of_one;
    l.offset = -127;
    assert_int_equal(built(SOC_V75, l), QNN_GRAPH_ERROR_FINALIZE_FAILED);
}

static void htp_nkv_04_all_layers_or_none(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        htp_world w = htp_begin(SOC_V75);
        Qnn_GraphHandle_t h;
        uint32_t dims[4] = {1, HEADS, HEAD, 256}, some[4] = {1, HEADS, HEAD, 1};
        Qnn_ErrorHandle_t e = QNN_SUCCESS;
        HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &h));
        Qnn_Tensor_t news = bytes(&w.qnn, h, "news", QNN_TENSOR_TYPE_APP_WRITE, some, 0, -128, &e);
        Qnn_Tensor_t index =
            htp_tensor("index", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, 4, some);
        HTP_OK(w.qnn.tensorCreateGraphTensor(h, &index));
        for (int i = 0; i < 2; i++) {
            Qnn_Tensor_t cache = bytes(&w.qnn, h, i ? "b" : "a", QNN_TENSOR_TYPE_APP_WRITE, dims,
                                       i == 0 || native ? 8 : 0, -128, &e);
            Qnn_Tensor_t out =
                bytes(&w.qnn, h, i ? "y" : "x", QNN_TENSOR_TYPE_APP_READ, dims, 0, -128, &e);
            Qnn_Tensor_t in[] = {cache, index, news};
            Qnn_OpConfig_t op = htp_op(i ? "put b" : "put a", "ScatterElements", in, 3, &out, 1);
            Qnn_Param_t params[] = {axis_of(3)};
            op.v1.numOfParams = 1;
            op.v1.params = params;
            HTP_OK(w.qnn.graphAddNode(h, op));
        }
        HTP_OK(e);
        assert_int_equal(w.qnn.graphFinalize(h, NULL, NULL),
                         native ? QNN_SUCCESS : QNN_GRAPH_ERROR_FINALIZE_FAILED);
        htp_end(&w);
    }
}

static void htp_nkv_05_contexts_are_multiples_of_256(void **state) {
    (void)state;
    layer l = keys_of_one;
    l.context = 384;
    assert_int_equal(built(SOC_V75, l), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    l.keys = false;
    assert_int_equal(built(SOC_V75, l), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    l.context = 768;
    HTP_OK(built(SOC_V75, l));
}

static void htp_nkv_06_new_rows_are_scattered(void **state) {
    (void)state;
    layer l = keys_of_one;
    l.concat = true;
    l.context = 256;
    l.n = 256;
    assert_int_equal(built(SOC_V75, l), QNN_GRAPH_ERROR_INVALID_TENSOR);
}

static void htp_nkv_07_a_native_output_needs_a_native_input(void **state) {
    (void)state;
    layer l = keys_of_one;
    l.n = 32;
    l.in = 0;
    l.out = 8;
    assert_int_equal(built(SOC_V75, l), QNN_GRAPH_ERROR_FINALIZE_FAILED);
}

static void htp_nkv_08_few_rows_stay_32_before_the_end(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V75);
    layer l = keys_of_one;
    graph g;
    HTP_OK(build(&w, "g", &l, &g));
    data d = make_data(&l, &g, 480);
    HTP_OK(run(&w, &l, &g, &d));
    assert_memory_equal(d.got, d.want, d.n_cache);
    for (size_t i = 0; i < d.n_new; i++)
        d.index[i] = 481;
    assert_int_equal(run(&w, &l, &g, &d), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    drop(&d);
    htp_end(&w);
}

static void htp_nkv_09_long_contexts_need_vtcm(void **state) {
    (void)state;
    layer l = keys_of_one;
    l.context = 16384;
    HTP_OK(built(SOC_V75, l));
    assert_int_equal(built(SOC_2MB, l), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    l.context = 8192;
    HTP_OK(built(SOC_2MB, l));
}

static void htp_nkv_10_the_format_is_for_caches_alone(void **state) {
    (void)state;
    htp_world w = htp_begin(SOC_V75);
    uint32_t dims[4] = {1, HEADS, HEAD, 256};
    Qnn_GraphHandle_t h;
    Qnn_ErrorHandle_t e = QNN_SUCCESS;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &h));
    (void)bytes(&w.qnn, h, "inside", QNN_TENSOR_TYPE_NATIVE, dims, 8, -128, &e);
    assert_int_equal(e, QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM);
    e = QNN_SUCCESS;
    Qnn_Tensor_t x = bytes(&w.qnn, h, "x", QNN_TENSOR_TYPE_APP_WRITE, dims, 8, -128, &e);
    Qnn_Tensor_t y = bytes(&w.qnn, h, "y", QNN_TENSOR_TYPE_APP_READ, dims, 0, -128, &e);
    HTP_OK(e);
    assert_int_equal(w.qnn.graphAddNode(h, htp_op("relu", "Relu", &x, 1, &y, 1)),
                     QNN_GRAPH_ERROR_INVALID_TENSOR);
    htp_end(&w);
}

static void htp_nkv_11_tiles_are_reported(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool keys = i & 1, native = i & 2;
        layer l = keys_of_one;
        l.keys = keys;
        l.in = native ? 8 : 0;
        htp_world w = htp_begin(SOC_V75);
        graph g;
        HTP_OK(build(&w, "g", &l, &g));
        described d = describe_context(&w);
        assert_int_equal(d.graphs[0].v2.nativeKChannelSize, native && keys ? 256 : 0);
        assert_int_equal(d.graphs[0].v2.nativeVChannelSize, native && !keys ? 64 : 0);
        htp_end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_nkv_01_caches_are_exchanged_in_tiles),
        cmocka_unit_test(htp_nkv_01_the_published_offsets),
        cmocka_unit_test(htp_nkv_01_binaries_keep_the_format),
        cmocka_unit_test(htp_nkv_02_not_on_v68),
        cmocka_unit_test(htp_nkv_03_values_are_symmetric),
        cmocka_unit_test(htp_nkv_04_all_layers_or_none),
        cmocka_unit_test(htp_nkv_05_contexts_are_multiples_of_256),
        cmocka_unit_test(htp_nkv_06_new_rows_are_scattered),
        cmocka_unit_test(htp_nkv_07_a_native_output_needs_a_native_input),
        cmocka_unit_test(htp_nkv_08_few_rows_stay_32_before_the_end),
        cmocka_unit_test(htp_nkv_09_long_contexts_need_vtcm),
        cmocka_unit_test(htp_nkv_10_the_format_is_for_caches_alone),
        cmocka_unit_test(htp_nkv_11_tiles_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
