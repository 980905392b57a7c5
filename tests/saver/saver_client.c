// SPDX-License-Identifier: MIT
//
// A client that uses much of the API, for recordings: saver_client LIBRARY FOLDER [encodings].
// Outputs of its executions go to FOLDER/<number>.raw, in order. It goes on after refusals that it
// expects and ends with 1 at the first other failure. With the last word it dequantizes a constant
// in every encoding instead.
#include "QnnInterface.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(call) check(#call, __LINE__, call)
#define N_OUT 20 // channels: more scales than a recording writes in the source

static QNN_INTERFACE_VER_TYPE qnn;
static const char *folder;
static unsigned n_files;
static atomic_uint n_told;

static void check(const char *what, int line, Qnn_ErrorHandle_t code) {
    if (code == QNN_SUCCESS)
        return;
    fprintf(stderr, "%d: %s: error %llu\n", line, what, (unsigned long long)code);
    exit(1);
}

static void keep(const void *bytes, size_t n) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%u.raw", folder, n_files++);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        exit(1);
}

static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)fmt;
    (void)level;
    (void)time;
    (void)args;
}

static void on_end(void *param, Qnn_NotifyStatus_t status) {
    (void)param;
    CHECK(status.error);
    n_told++;
}

static Qnn_Tensor_t make(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type,
                         Qnn_DataType_t dtype, uint32_t rank, uint32_t *dims, const void *data,
                         size_t bytes, const Qnn_QuantizeParams_t *quant) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = dtype;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (quant)
        t.v1.quantizeParams = *quant;
    t.v1.clientBuf = (Qnn_ClientBuffer_t){(void *)data, (uint32_t)bytes};
    CHECK(qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static void add(Qnn_GraphHandle_t g, const char *name, const char *type, Qnn_Param_t *params,
                uint32_t n_params, Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out) {
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){name, "qti.aisw", type, n_params, params, n_in, in, 1, out};
    CHECK(qnn.graphAddNode(g, op));
}

static Qnn_QuantizeParams_t encoding(float scale, int32_t offset) {
    return (Qnn_QuantizeParams_t){QNN_DEFINITION_DEFINED,
                                  QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                  {.scaleOffsetEncoding = {scale, offset}}};
}

static Qnn_Param_t tensor_param(Qnn_GraphHandle_t g, const char *name, uint32_t rank,
                                uint32_t *dims, uint32_t *values, size_t n) {
    return (Qnn_Param_t){QNN_PARAMTYPE_TENSOR,
                         name,
                         {.tensorParam = make(g, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32,
                                              rank, dims, values, n * sizeof *values, NULL)}};
}

// A quantized convolution with a scale for each channel; its weights are gone when the op is added.
static void convolve(Qnn_ContextHandle_t context, const char *name, int seed) {
    Qnn_GraphHandle_t g = NULL;
    const QnnGraph_Config_t *configs[] = {NULL};
    CHECK(qnn.graphCreate(context, name, configs, &g));
    uint32_t in_dims[] = {1, 5, 5, 3}, w_dims[] = {3, 3, 3, N_OUT}, b_dims[] = {N_OUT};
    uint32_t out_dims[] = {1, 5, 5, N_OUT}, two[] = {2}, two_two[] = {2, 2};
    Qnn_ScaleOffset_t scales[N_OUT];
    int32_t *bias = malloc(N_OUT * sizeof *bias);
    int8_t *weights = malloc(27 * N_OUT);
    for (int i = 0; i < N_OUT; i++) {
        scales[i] = (Qnn_ScaleOffset_t){0.01f + 0.001f * (float)i, 0};
        bias[i] = 100 * i - 900 + seed;
    }
    for (int i = 0; i < 27 * N_OUT; i++)
        weights[i] = (int8_t)((i * 37 + seed) % 255 - 127);
    Qnn_QuantizeParams_t in_q = encoding(0.02f, -128), out_q = encoding(0.1f, -100);
    Qnn_QuantizeParams_t b_q = encoding(0.0002f, 0);
    Qnn_QuantizeParams_t w_q = {QNN_DEFINITION_DEFINED,
                                QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
                                {.axisScaleOffsetEncoding = {3, N_OUT, scales}}};
    Qnn_Tensor_t in[3] = {make(g, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4,
                               in_dims, NULL, 0, &in_q),
                          make(g, "weights/\"odd\" \\ name?\?/", QNN_TENSOR_TYPE_STATIC,
                               QNN_DATATYPE_SFIXED_POINT_8, 4, w_dims, weights, 27 * N_OUT, &w_q),
                          make(g, "bias", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_32, 1,
                               b_dims, bias, N_OUT * sizeof *bias, &b_q)};
    Qnn_Tensor_t out = make(g, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 4,
                            out_dims, NULL, 0, &out_q);
    free(weights);
    free(bias);
    Qnn_Param_t params[3] = {tensor_param(g, "stride", 1, two, (uint32_t[]){1, 1}, 2),
                             tensor_param(g, "pad_amount", 2, two_two, (uint32_t[]){1, 1, 1, 1}, 4),
                             {QNN_PARAMTYPE_SCALAR,
                              "group",
                              {.scalarParam = {QNN_DATATYPE_UINT_32, {.uint32Value = 1}}}}};
    add(g, "conv", "Conv2d", params, 3, in, 3, &out);
    CHECK(qnn.graphFinalize(g, NULL, NULL));
    uint8_t x[75], y[25 * N_OUT];
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < 75; i++)
            x[i] = (uint8_t)(i * 7 + run * 31 + seed);
        in[0].v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
        out.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
        CHECK(qnn.graphExecute(g, in, 1, &out, 1, NULL, NULL));
        keep(y, sizeof y);
    }
}

// Memory that is shared by its descriptor.
static Qnn_MemHandle_t share(Qnn_ContextHandle_t context, uint32_t n, float **bytes) {
    int fd = memfd_create("client", 0);
    Qnn_MemDescriptor_t d = {.memShape = {1, &n, NULL},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {fd}};
    Qnn_MemHandle_t handle = NULL;
    if (fd < 0 || ftruncate(fd, (off_t)(n * sizeof(float))) != 0)
        exit(1);
    *bytes = mmap(NULL, n * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(qnn.memRegister(context, &d, 1, &handle));
    return handle;
}

static const float fetched[4] = {0.5f, -1.25f, 3.0f, 1e-20f};

static Qnn_ErrorHandle_t give_data(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                   uint64_t id, Qnn_ClientBuffer_t *buf) {
    (void)context;
    (void)graph;
    (void)id;
    *buf = (Qnn_ClientBuffer_t){(void *)fetched, sizeof fetched};
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_data(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                   uint64_t id) {
    (void)context;
    (void)graph;
    (void)id;
    return QNN_SUCCESS;
}

// x * fetched, clamped: V2 tensors, a callback for data, float parameters, shared memory, a call
// that ends later.
static void scale(Qnn_ContextHandle_t context, Qnn_BackendHandle_t backend,
                  Qnn_ProfileHandle_t profile) {
    Qnn_GraphHandle_t g = NULL;
    uint32_t dims[] = {4};
    CHECK(qnn.graphCreate(context, "scale", NULL, &g));
    Qnn_TensorRetrieveRaw_t callbacks = {give_data, take_data};
    Qnn_Tensor_t c = {.version = QNN_TENSOR_VERSION_2, .v2 = QNN_TENSOR_V2_INIT};
    c.v2.name = "factors";
    c.v2.type = QNN_TENSOR_TYPE_STATIC;
    c.v2.dataType = QNN_DATATYPE_FLOAT_32;
    c.v2.rank = 1;
    c.v2.dimensions = dims;
    c.v2.memType = QNN_TENSORMEMTYPE_RETRIEVE_RAW;
    c.v2.retrieveRaw = &callbacks;
    CHECK(qnn.tensorCreateGraphTensor(g, &c));
    Qnn_Tensor_t in[2] = {
        make(g, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL), c};
    Qnn_Tensor_t mid =
        make(g, "product", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL);
    Qnn_Tensor_t out =
        make(g, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL);
    add(g, "multiply", "ElementWiseMultiply", NULL, 0, in, 2, &mid);
    Qnn_OpConfig_t bad = QNN_OPCONFIG_INIT;
    bad.v1 = (Qnn_OpConfigV1_t){"bad", "qti.aisw", "NoSuchOp", 0, NULL, 1, in, 1, &mid};
    if (qnn.graphAddNode(g, bad) == QNN_SUCCESS)
        exit(1);
    Qnn_Param_t limits[2] = {{QNN_PARAMTYPE_SCALAR,
                              "min_value",
                              {.scalarParam = {QNN_DATATYPE_FLOAT_32, {.floatValue = -1.0f / 3}}}},
                             {QNN_PARAMTYPE_SCALAR,
                              "max_value",
                              {.scalarParam = {QNN_DATATYPE_FLOAT_32, {.floatValue = 2.7f}}}}};
    add(g, "clamp", "ReluMinMax", limits, 2, &mid, 1, &out);
    Qnn_SignalHandle_t signal = NULL;
    QnnSignal_Config_t timeout = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                  .timeoutDurationUs = 60000000};
    const QnnSignal_Config_t *timeouts[] = {&timeout, NULL};
    CHECK(qnn.signalCreate(backend, timeouts, &signal));
    CHECK(qnn.graphFinalize(g, profile, NULL));
    float *x, *y;
    Qnn_MemHandle_t handles[2] = {share(context, 4, &x), share(context, 4, &y)};
    memcpy(x, (float[]){1.0f, -0.0f, 0.1f, 1e20f}, 16);
    in[0].v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    in[0].v1.memHandle = handles[0];
    out.v1.memHandle = handles[1];
    CHECK(qnn.graphExecute(g, in, 1, &out, 1, profile, NULL));
    keep(y, 16);
    x[0] = 4.0f;
    CHECK(qnn.graphExecuteAsync(g, in, 1, &out, 1, NULL, NULL, on_end, NULL));
    while (n_told == 0)
        usleep(100);
    keep(y, 16);
    CHECK(qnn.memDeRegister(handles, 2));
    CHECK(qnn.signalFree(signal));
    const char *message = NULL;
    CHECK(qnn.errorGetMessage(6001, &message));
}

#define ROWS 4
#define COLUMNS 32
#define N_ENCODINGS 11

// Every encoding that is not refused, with values that differ in each element.
static void fill_encodings(Qnn_QuantizeParams_t *q) {
    static Qnn_ScaleOffset_t pairs[COLUMNS];
    static Qnn_FloatScaleOffset_t float_pairs[COLUMNS];
    static float scales[COLUMNS];
    static int32_t offsets[COLUMNS];
    static uint8_t factors8[COLUMNS * 2];
    static uint16_t factors16[COLUMNS * 2];
    static uint32_t block[2] = {2, 16}, small[2] = {4, 8};
    for (int i = 0; i < COLUMNS; i++) {
        scales[i] = pairs[i].scale = float_pairs[i].scale = 0.01f * (float)(i + 1) / 3.0f;
        offsets[i] = pairs[i].offset = i - 7;
        float_pairs[i].offset = 0.3f * (float)i;
        factors8[2 * i] = (uint8_t)(i % 15 + 1);
        factors8[2 * i + 1] = 3;
        factors16[2 * i] = (uint16_t)(i * 5 + 1);
        factors16[2 * i + 1] = 200;
    }
    static Qnn_BlockwiseExpansion_t expansion = {1, pairs, 2, 4, 0, {factors8}};
    static Qnn_BwAxisScaleOffsetMapped_t axis_mapped = {
        4, 1, QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE, COLUMNS, scales, offsets};
    static Qnn_BwBlockMapped_t block_mapped = {
        5, QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE, block, pairs};
    static Qnn_BwBlockwiseExpansionMapped_t expansion_mapped = {
        .bitwidth = 8,
        .mapping = QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO,
        .axis = 1,
        .scaleOffsets = pairs,
        .numBlocksPerAxis = 2,
        .blockScaleBitwidth = 9,
        .blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16,
        .blocksScale16 = factors16};
    expansion.blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8;
    const Qnn_QuantizeParams_t all[N_ENCODINGS] = {
        {0, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, {.scaleOffsetEncoding = {0.7f, 3}}},
        {0,
         QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
         {.axisScaleOffsetEncoding = {1, COLUMNS, pairs}}},
        {0, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET, {.bwScaleOffsetEncoding = {4, 0.3f, -2}}},
        {0,
         QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET,
         {.bwAxisScaleOffsetEncoding = {4, 1, COLUMNS, scales, NULL}}},
        {0, QNN_QUANTIZATION_ENCODING_BLOCK, {.blockEncoding = {block, pairs}}},
        {0, QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION, {.blockwiseExpansion = &expansion}},
        {0, QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK, {.floatBlockEncoding = {block, float_pairs}}},
        {0,
         QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED,
         {.bwAxisScaleOffsetMappedEncoding = &axis_mapped}},
        {0, QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED, {.bwBlockMappedEncoding = &block_mapped}},
        {0,
         QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED,
         {.bwBlockwiseExpansionMappedEncoding = &expansion_mapped}},
        {0,
         QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK,
         {.bwFloatBlockEncoding = {6, small, float_pairs}}},
    };
    for (int i = 0; i < N_ENCODINGS; i++) {
        q[i] = all[i];
        q[i].encodingDefinition = QNN_DEFINITION_DEFINED;
    }
}

// One graph for each: constant -> Dequantize -> output, with an input beside it.
static void dequantize_all(Qnn_ContextHandle_t context) {
    Qnn_QuantizeParams_t encodings[N_ENCODINGS];
    uint32_t dims[] = {ROWS, COLUMNS};
    int8_t codes[ROWS * COLUMNS];
    float zero[ROWS * COLUMNS] = {0}, out[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        codes[i] = (int8_t)(i * 37 % 16 - 8); // fits 4 bits
    fill_encodings(encodings);
    for (int i = 0; i < N_ENCODINGS; i++) {
        char name[16];
        Qnn_GraphHandle_t g = NULL;
        snprintf(name, sizeof name, "g%d", i);
        CHECK(qnn.graphCreate(context, name, NULL, &g));
        Qnn_Tensor_t c = make(g, "c", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2, dims,
                              codes, sizeof codes, &encodings[i]);
        Qnn_Tensor_t mid =
            make(g, "real", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims, NULL, 0, NULL);
        Qnn_Tensor_t x =
            make(g, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, dims, NULL, 0, NULL);
        Qnn_Tensor_t y =
            make(g, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, dims, NULL, 0, NULL);
        add(g, "dequantize", "Dequantize", NULL, 0, &c, 1, &mid);
        Qnn_Tensor_t both[2] = {mid, x};
        add(g, "add", "ElementWiseAdd", NULL, 0, both, 2, &y);
        CHECK(qnn.graphFinalize(g, NULL, NULL));
        x.v1.clientBuf = (Qnn_ClientBuffer_t){zero, sizeof zero};
        y.v1.clientBuf = (Qnn_ClientBuffer_t){out, sizeof out};
        CHECK(qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
        keep(out, sizeof out);
    }
}

// factors (of the context) * weights (that change) * x, in buffers of the library.
static void update(Qnn_ContextHandle_t context) {
    Qnn_GraphHandle_t g = NULL;
    uint32_t dims[] = {4};
    float factors[4] = {1, 2, 3, 4}, weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
    CHECK(qnn.graphCreate(context, "update", NULL, &g));
    Qnn_Tensor_t f = QNN_TENSOR_INIT;
    f.v1 = (Qnn_TensorV1_t){.name = "factors",
                            .type = QNN_TENSOR_TYPE_STATIC,
                            .dataType = QNN_DATATYPE_FLOAT_32,
                            .quantizeParams = QNN_QUANTIZE_PARAMS_INIT,
                            .rank = 1,
                            .dimensions = dims,
                            .clientBuf = {factors, sizeof factors}};
    CHECK(qnn.tensorCreateContextTensor(context, &f));
    Qnn_Tensor_t w = make(g, "w", QNN_TENSOR_TYPE_UPDATEABLE_STATIC, QNN_DATATYPE_FLOAT_32, 1, dims,
                          weights, sizeof weights, NULL);
    Qnn_Tensor_t x =
        make(g, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL);
    Qnn_Tensor_t mid =
        make(g, "mid", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL);
    Qnn_Tensor_t y =
        make(g, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims, NULL, 0, NULL);
    add(g, "first", "ElementWiseMultiply", NULL, 0, (Qnn_Tensor_t[]){f, x}, 2, &mid);
    add(g, "second", "ElementWiseMultiply", NULL, 0, (Qnn_Tensor_t[]){mid, w}, 2, &y);
    CHECK(qnn.graphFinalize(g, NULL, NULL));
    QnnGraph_ExecuteEnvironment_t env = {
        .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS,
        .tensorSet = {QNN_TENSOR_SET_VERSION_1, {.v1 = {1, &x, 1, &y}}}};
    QnnGraph_ExecuteEnvironment_t *envs[] = {&env};
    CHECK(qnn.graphPrepareExecutionEnvironment(g, envs, 1));
    for (int run = 0; run < 2; run++) {
        memcpy(x.v1.clientBuf.data, (float[]){1, -1, 0.5f, 7}, 16);
        CHECK(qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
        keep(y.v1.clientBuf.data, 16);
        weights[2] = -9.0f;
        w.v1.clientBuf = (Qnn_ClientBuffer_t){weights, sizeof weights};
        CHECK(qnn.tensorUpdateGraphTensors(g, (const Qnn_Tensor_t *[]){&w}, 1));
        CHECK(qnn.graphFinalize(g, NULL, NULL));
    }
    CHECK(qnn.graphReleaseExecutionEnvironment(g, (const QnnGraph_ExecuteEnvironment_t **)envs, 1));
}

// --- contexts from a binary

static struct {
    void *bytes;
    size_t size;
    Qnn_ContextHandle_t made[2];
} binary;

static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t want,
                                 Qnn_ContextBinaryDmaDataResponse_t *got, void *param) {
    (void)param;
    int fd = memfd_create("weights", 0);
    if (fd < 0 || ftruncate(fd, (off_t)want.size) != 0)
        exit(1);
    void *p = mmap(NULL, want.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memcpy(p, (char *)binary.bytes + want.offset, want.size);
    *got = (Qnn_ContextBinaryDmaDataResponse_t){{fd, p}, 0, want.size};
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t release(Qnn_ContextBinaryDmaDataMem_t mem, void *param) {
    (void)param;
    munmap(mem.dmaBuffer.data, mem.memSize);
    close(mem.dmaBuffer.fd);
    return QNN_SUCCESS;
}

static void on_context(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                       QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                       Qnn_ErrorHandle_t code) {
    (void)graph;
    (void)name;
    CHECK(code);
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        *(Qnn_ContextHandle_t *)param = context;
}

static void find_graph(Qnn_ContextHandle_t context, const char *name) {
    Qnn_GraphHandle_t g = NULL;
    CHECK(qnn.graphRetrieve(context, name, &g));
    CHECK(qnn.contextFree(context, NULL));
}

static void read_binary(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        exit(1);
    binary.size = (size_t)ftell(f);
    binary.bytes = malloc(binary.size);
    rewind(f);
    if (!binary.bytes || fread(binary.bytes, 1, binary.size, f) != binary.size)
        exit(1);
    fclose(f);
}

static void load_in_every_way(Qnn_BackendHandle_t b, Qnn_DeviceHandle_t d, const char *path,
                              const char *name) {
    Qnn_ContextHandle_t c = NULL;
    read_binary(path);
    const char *names[] = {name, NULL};
    QnnContext_Config_t enable = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                                  .enableGraphs = names};
    const QnnContext_Config_t *configs[] = {&enable, NULL};
    CHECK(qnn.contextValidateBinary(b, d, NULL, binary.bytes, binary.size));
    CHECK(qnn.contextCreateFromBinaryWithSignal(b, d, configs, binary.bytes, binary.size, &c, NULL,
                                                NULL));
    find_graph(c, name);
    Qnn_ContextBinaryCallback_t callback = {
        .type = QNN_CONTEXT_CALLBACK_DMA_BUFFER,
        .dmaBufferCallback = {QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1,
                              {{provide, release, NULL}}}};
    CHECK(qnn.contextCreateFromBinaryWithCallback(b, d, NULL, &callback, binary.bytes, binary.size,
                                                  &c, NULL, NULL));
    find_graph(c, name);
    QnnContext_ParamsV2_t second = {NULL,       binary.bytes,    binary.size, NULL,
                                    on_context, &binary.made[1], NULL};
    const QnnContext_Params_t one = {
        .version = QNN_CONTEXT_PARAMS_VERSION_1,
        .v1 = {configs, binary.bytes, binary.size, NULL, on_context, &binary.made[0]}};
    const QnnContext_Params_t two = {.version = QNN_CONTEXT_PARAMS_VERSION_2, .v2 = &second};
    const QnnContext_Params_t *list[] = {&one, &two, NULL};
    CHECK(qnn.contextCreateFromBinaryListAsync(b, d, list, NULL, NULL));
    find_graph(binary.made[0], name);
    find_graph(binary.made[1], name);
    free(binary.bytes);
}

static void open_library(const char *path) {
    void *lib = dlopen(path, RTLD_NOW);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = NULL;
    void *symbol = lib ? dlsym(lib, "QnnInterface_getProviders") : NULL;
    memcpy(&get, &symbol, sizeof get);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || n == 0)
        exit(1);
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    open_library(argv[1]);
    folder = argv[2];
    Qnn_LogHandle_t log = NULL;
    Qnn_BackendHandle_t backend = NULL;
    Qnn_DeviceHandle_t device = NULL;
    Qnn_ProfileHandle_t profile = NULL;
    Qnn_ContextHandle_t first = NULL, second = NULL;
    Qnn_ApiVersion_t version;
    CHECK(qnn.backendGetApiVersion(&version));
    CHECK(qnn.logCreate(on_log, QNN_LOG_LEVEL_WARN, &log));
    QnnBackend_Config_t reporting = {.option = QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING,
                                     .errorConfig = {QNN_ERROR_REPORTING_LEVEL_BRIEF, 64}};
    const QnnBackend_Config_t *configs[] = {&reporting, NULL};
    CHECK(qnn.backendCreate(log, configs, &backend));
    CHECK(qnn.deviceCreate(log, NULL, &device));
    CHECK(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    CHECK(qnn.contextCreate(backend, device, NULL, &first));
    CHECK(qnn.contextCreate(backend, device, NULL, &second));
    if (argc > 4) {
        load_in_every_way(backend, device, argv[3], argv[4]);
    } else if (argc > 3) {
        dequantize_all(first);
        update(second);
    } else {
        scale(first, backend, profile);
        convolve(first, "conv", 1);
        convolve(second, "conv", 2);
    }
    const QnnProfile_EventId_t *events = NULL;
    uint32_t n_events = 0;
    qnn.profileGetEvents(profile, &events, &n_events);
    CHECK(qnn.contextFree(second, NULL));
    CHECK(qnn.contextFree(first, profile));
    CHECK(qnn.profileFree(profile));
    CHECK(qnn.deviceFree(device));
    CHECK(qnn.backendFree(backend));
    CHECK(qnn.logFree(log));
    return 0;
}
