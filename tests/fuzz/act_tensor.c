// SPDX-License-Identifier: MIT
//
// Actions on tensors and registered memory: descriptions with anything in them. What a description
// points at is there as far as it claims, and not a byte further.
#include "encoding.h"
#include "world.h"

#include <sys/mman.h>
#include <unistd.h>

static const Qnn_DataType_t odd_types[] = {
    QNN_DATATYPE_INT_4,  QNN_DATATYPE_INT_2,          QNN_DATATYPE_UINT_4,
    QNN_DATATYPE_UINT_2, QNN_DATATYPE_FLOAT_8,        QNN_DATATYPE_SFIXED_POINT_2,
    QNN_DATATYPE_STRING, QNN_DATATYPE_UFIXED_POINT_2, QNN_DATATYPE_UNDEFINED};

// Data that is fetched by callback: one buffer for all.
static Qnn_ClientBuffer_t fetched;
static Qnn_ErrorHandle_t fetch_result;

static Qnn_ErrorHandle_t give_data(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                   uint64_t id, Qnn_ClientBuffer_t *out) {
    (void)context;
    (void)graph;
    (void)id;
    *out = fetched;
    return fetch_result;
}

static Qnn_ErrorHandle_t take_data(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                   uint64_t id) {
    (void)context;
    (void)graph;
    (void)id;
    return QNN_SUCCESS;
}

static uint32_t any_dim(source *s) {
    static const uint32_t wild[] = {0,     UINT32_MAX, INT32_MAX, 1u << 31,
                                    65536, 1u << 20,   1000,      1u << 24};
    return draw_chance(s, 10) ? DRAW_FROM(s, wild) : 1 + draw_below(s, 6);
}

// Rank and dimensions; the array has room for the ranks that are supported and no more.
static size_t draw_dims(world *w, qrn_dtype dtype, Qnn_TensorV2_t *t, qrn_shape *shape) {
    source *s = w->s;
    static const uint32_t wild[] = {QRN_MAX_RANK + 1, 100, UINT32_MAX, 1u << 31};
    t->rank = draw_chance(s, 4) ? DRAW_FROM(s, wild) : draw_below(s, 6);
    shape->rank = t->rank <= QRN_MAX_RANK ? t->rank : QRN_MAX_RANK;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->dims[i] = any_dim(s);
    size_t bytes = world_bound(w, qrn_dtypes[dtype].bits, shape->rank, shape->dims);
    t->dimensions = scrap_new(&w->mem, shape->rank * sizeof(uint32_t), 0);
    memcpy(t->dimensions, shape->dims, shape->rank * sizeof(uint32_t));
    if (draw_chance(s, 3) || (shape->rank == 0 && draw_chance(s, 50)))
        t->dimensions = NULL;
    return bytes;
}

static void draw_memory(world *w, qrn_dtype dtype, size_t bytes, Qnn_TensorV2_t *t) {
    source *s = w->s;
    bool is_static =
        t->type == QNN_TENSOR_TYPE_STATIC || t->type == QNN_TENSOR_TYPE_UPDATEABLE_STATIC;
    size_t claim = draw_chance(s, 10) ? draw_below(s, 64) : bytes;
    void *data = scrap_new(&w->mem, claim, 0);
    source values = source_split(s);
    data_draw(&values, dtype, data, claim);
    Qnn_ClientBuffer_t buffer = {draw_chance(s, 5) ? NULL : data, (uint32_t)claim};
    t->memType = QNN_TENSORMEMTYPE_RAW;
    if (is_static || draw_chance(s, 5))
        t->clientBuf = buffer;
    if (!draw_chance(s, 12))
        return;
    t->memType = draw_chance(s, 20) ? (Qnn_TensorMemType_t)draw_u8(s)
                                    : (Qnn_TensorMemType_t)draw_below(s, 3);
    memset(&t->clientBuf, 0, sizeof t->clientBuf);
    if (t->memType == QNN_TENSORMEMTYPE_MEMHANDLE)
        t->memHandle = world_pick(w, KIND_MEM);
    if (t->memType == QNN_TENSORMEMTYPE_RETRIEVE_RAW && !draw_chance(s, 5)) {
        t->retrieveRaw = scrap_new(&w->mem, sizeof *t->retrieveRaw, 0);
        t->retrieveRaw->getTensorData = draw_chance(s, 5) ? NULL : give_data;
        t->retrieveRaw->freeTensorData = draw_chance(s, 5) ? NULL : take_data;
        fetched = buffer;
        fetch_result = draw_chance(s, 10) ? QNN_COMMON_ERROR_GENERAL : QNN_SUCCESS;
    }
}

// Members that only version 2 has.
static void draw_extras(world *w, const qrn_shape *shape, Qnn_TensorV2_t *t) {
    source *s = w->s;
    if (draw_chance(s, 20)) {
        t->isDynamicDimensions = scrap_new(&w->mem, shape->rank, 0);
        for (uint32_t i = 0; i < shape->rank; i++)
            t->isDynamicDimensions[i] = draw_chance(s, 50) ? draw_u8(s) : 0;
    }
    if (draw_chance(s, 10)) {
        t->dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE;
        t->sparseParams.type =
            draw_chance(s, 5) ? (Qnn_SparseLayoutType_t)draw_u8(s) : QNN_SPARSE_LAYOUT_HYBRID_COO;
        t->sparseParams.hybridCoo = (Qnn_SparseLayoutHybridCoo_t){
            draw_chance(s, 5) ? draw_u32(s) : draw_below(s, 8), draw_below(s, 6)};
    }
    if (draw_chance(s, 4))
        t->dataFormat = draw_u8(s);
}

static Qnn_Tensor_t draw_tensor(world *w, size_t *bytes) {
    source *s = w->s;
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    bool v2 = draw_chance(s, 60);
    if (v2) {
        t.version = QNN_TENSOR_VERSION_2;
        t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    }
    qrn_shape shape = {0};
    qrn_dtype dtype = (qrn_dtype)draw_below(s, QRN_DTYPE_STR);
    t.v1.name = world_name(w);
    t.v1.type = (Qnn_TensorType_t)(draw_chance(s, 4) ? draw_u8(s) : draw_below(s, 14));
    t.v1.dataType = (Qnn_DataType_t)qrn_dtypes[dtype].code;
    if (draw_chance(s, 4))
        t.v1.dataType = DRAW_FROM(s, odd_types);
    else if (draw_chance(s, 2))
        t.v1.dataType = (Qnn_DataType_t)draw_u32(s);
    *bytes = draw_dims(w, dtype, &t.v2, &shape);
    t.v1.quantizeParams = encoding_draw(s, &w->mem, dtype, &shape, 30);
    draw_memory(w, dtype, *bytes, &t.v2);
    if (v2)
        draw_extras(w, &shape, &t.v2);
    if (draw_chance(s, 2))
        t.version = (Qnn_TensorVersion_t)draw_u8(s);
    t.v1.id = draw_chance(s, 5) ? draw_u32(s) : 0;
    return t;
}

void act_tensor(world *w) {
    size_t bytes;
    Qnn_Tensor_t t = draw_tensor(w, &bytes);
    bool of_context = draw_chance(w->s, 15);
    void *owner = world_pick(w, of_context ? KIND_CONTEXT : KIND_GRAPH);
    Qnn_Tensor_t *given = draw_chance(w->s, 2) ? NULL : &t;
    bool ok = of_context ? world_ok("QnnTensor_createContextTensor",
                                    w->qnn.tensorCreateContextTensor(owner, given))
                         : world_ok("QnnTensor_createGraphTensor",
                                    w->qnn.tensorCreateGraphTensor(owner, given));
    if (!ok)
        return;
    bool dense = t.v1.dataFormat == QNN_TENSOR_DATA_FORMAT_DENSE;
    if (bytes == 0 && dense && t.v1.type != QNN_TENSOR_TYPE_NULL)
        world_fail("a tensor without elements or of more than 2^40 bytes was taken");
    w->bytes += bytes;
    world_keep_tensor(w, &t, of_context ? NULL : owner, bytes);
}

static void draw_encoding(world *w, Qnn_Tensor_t *t) {
    qrn_shape shape = {.rank = t->v1.rank};
    qrn_dtype dtype = qrn_dtype_from_code((uint32_t)t->v1.dataType);
    if (dtype == QRN_DTYPE_COUNT || t->v1.rank > QRN_MAX_RANK || (t->v1.rank && !t->v1.dimensions))
        return;
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = t->v1.dimensions[i];
    t->v1.quantizeParams = encoding_draw(w->s, &w->mem, dtype, &shape, 20);
}

// A tensor that may be updated, if one is found.
static const made_tensor *pick_updateable(world *w) {
    const made_tensor *any = NULL;
    for (uint32_t i = 0; w->n_tensors && i < 20; i++) {
        any = &w->tensors[draw_below(w->s, w->n_tensors)];
        Qnn_TensorType_t type = any->tensor.v1.type;
        if (type >= QNN_TENSOR_TYPE_UPDATEABLE_STATIC &&
            type <= QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE)
            break;
    }
    return any;
}

void act_update(world *w) {
    size_t bytes;
    Qnn_Tensor_t fresh = draw_tensor(w, &bytes);
    const Qnn_Tensor_t *list[3] = {&fresh, &fresh, &fresh};
    uint32_t n = draw_chance(w->s, 70) ? 1 : draw_below(w->s, 4);
    void *graph = world_pick(w, KIND_GRAPH);
    for (uint32_t i = 0; i < n && w->n_tensors; i++) {
        const made_tensor *m = pick_updateable(w);
        Qnn_Tensor_t *copy = scrap_new(&w->mem, sizeof *copy, 0);
        *copy = m->tensor;
        if (draw_chance(w->s, 30)) // the same tensor with another encoding
            draw_encoding(w, copy);
        if (!draw_chance(w->s, 10))
            list[i] = draw_chance(w->s, 3) ? NULL : copy;
        if (draw_chance(w->s, 80))
            graph = m->graph;
    }
    const Qnn_Tensor_t **given = draw_chance(w->s, 3) ? NULL : list;
    if (draw_chance(w->s, 80))
        world_ok("QnnTensor_updateGraphTensors", w->qnn.tensorUpdateGraphTensors(graph, given, n));
    else
        world_ok("QnnTensor_updateContextTensors",
                 w->qnn.tensorUpdateContextTensors(world_pick(w, KIND_CONTEXT), given, n));
    // What was updated must be finalized again before it can be executed.
    if (draw_chance(w->s, 60))
        world_ok("QnnGraph_finalize", w->qnn.graphFinalize(graph, NULL, NULL));
}

void act_memory(world *w) {
    source *s = w->s;
    enum { PAGE = 4096 };
    int fd = draw_chance(s, 20) ? (int)draw_below(s, 3) - 1 : memfd_create("fuzz", 0);
    bool ours = fd > 2 && ftruncate(fd, draw_chance(s, 10) ? 10 : PAGE) == 0;
    uint32_t n_dims = draw_chance(s, 5) ? draw_u8(s) % 10 : 1 + draw_below(s, 3);
    uint32_t *dims = scrap_new(&w->mem, QRN_MAX_RANK * sizeof *dims, 0);
    for (uint32_t i = 0; i < QRN_MAX_RANK; i++)
        dims[i] = i < n_dims ? any_dim(s) : 1;
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape = (Qnn_MemShape_t){n_dims, draw_chance(s, 5) ? NULL : dims, NULL};
    d.dataType = draw_chance(s, 10) ? DRAW_FROM(s, odd_types) : QNN_DATATYPE_FLOAT_32;
    d.memType = (Qnn_MemType_t)(draw_chance(s, 10) ? draw_u8(s) : 1 + 2 * draw_below(s, 2));
    if (d.memType == QNN_MEM_TYPE_ION || d.memType == QNN_MEM_TYPE_DMA_BUF)
        d.ionInfo.fd = fd;
    Qnn_MemHandle_t made = NULL;
    void *context = world_pick(w, KIND_CONTEXT);
    if (world_has_room(w, KIND_MEM) &&
        world_ok("QnnMem_register",
                 w->qnn.memRegister(context, draw_chance(s, 3) ? NULL : &d,
                                    draw_chance(s, 3) ? 0 : 1, draw_chance(s, 3) ? NULL : &made)) &&
        made)
        world_add(w, KIND_MEM, made, context);
    if (ours)
        close(fd); // a mapping does not need it
}
