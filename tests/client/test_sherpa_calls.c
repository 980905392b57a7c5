// SPDX-License-Identifier: MIT
//
// The calls that sherpa-onnx's QNN layer makes, in its order and with its structs: a model is built
// with 16-bit inputs and outputs, saved as a context binary, and in a second session read through
// libQnnSystem. The client copies what the binary says about tensors, frees the reader, and only
// then loads the binary; it knows infos of version 3 alone and one scale and offset per tensor.
#include "System/QnnSystemInterface.h"
#include "conv_net.h"

// The input in eighths, the output in 64ths.
#define X_SCALE (1.0f / 8)
#define X_OFFSET (-32768)
#define Y_SCALE (1.0f / 64)
#define Y_OFFSET (-100)

typedef struct sherpa {
    void *lib;
    qnn_table qnn;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
} sherpa;

static unsigned n_lines;

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    char line[1024];
    (void)time;
    n_lines += level <= QNN_LOG_LEVEL_WARN;
    assert_true(vsnprintf(line, sizeof line, fmt, args) > 0);
}

static sherpa begin(void) {
    sherpa s = {0};
    const char *id = NULL;
    n_lines = 0;
    s.lib = open_named("libQnnHtp.so", &s.qnn);
    OK(s.qnn.backendGetBuildId(&id));
    assert_non_null(id);
    OK(s.qnn.logCreate(hear, QNN_LOG_LEVEL_WARN, &s.log));
    OK(s.qnn.backendCreate(s.log, NULL, &s.backend));
    OK(s.qnn.deviceCreate(s.log, NULL, &s.device));
    return s;
}

static void end(sherpa *s) {
    OK(s->qnn.contextFree(s->context, NULL));
    OK(s->qnn.deviceFree(s->device));
    OK(s->qnn.backendFree(s->backend));
    OK(s->qnn.logFree(s->log));
    assert_int_equal(dlclose(s->lib), 0);
    assert_int_equal(n_lines, 0); // nothing to warn of
}

// --- The model, as a library that a converter wrote builds it

typedef struct net {
    uint32_t x_dims[4], y_dims[4], w_dims[4], b_dims[1];
    int8_t weights[N_W];
    int32_t bias[N_OUT];
    conv_params params;
    Qnn_Tensor_t x, w, b, conv, y;
} net;

static Qnn_Tensor_t make(const sherpa *s, Qnn_GraphHandle_t g, Qnn_Tensor_t t,
                         Qnn_QuantizeParams_t q, void *data, size_t bytes) {
    t.v1.quantizeParams = q;
    set_buffer(&t, data, bytes);
    OK(s->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static void make_tensors(const sherpa *s, Qnn_GraphHandle_t g, net *n) {
    const Qnn_DataType_t u16 = QNN_DATATYPE_UFIXED_POINT_16;
    const Qnn_QuantizeParams_t x = scale_offset(X_SCALE, X_OFFSET);
    const Qnn_QuantizeParams_t y = scale_offset(Y_SCALE, Y_OFFSET);
    n->x = make(s, g, describe("x", QNN_TENSOR_TYPE_APP_WRITE, u16, 4, n->x_dims), x, NULL, 0);
    n->w =
        make(s, g, describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 4, n->w_dims),
             scale_offset(1.0f / 8, 0), n->weights, sizeof n->weights);
    n->b = make(s, g,
                describe("b", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_32, 1, n->b_dims),
                scale_offset(1.0f / 64, 0), n->bias, sizeof n->bias);
    n->conv = make(s, g, describe("conv", QNN_TENSOR_TYPE_NATIVE, u16, 4, n->y_dims),
                   scale_offset(Y_SCALE, -32768), NULL, 0);
    n->y = make(s, g, describe("y", QNN_TENSOR_TYPE_APP_READ, u16, 4, n->y_dims), y, NULL, 0);
}

static Qnn_GraphHandle_t compose(const sherpa *s, net *n) {
    *n = (net){.x_dims = {1, SIDE, SIDE, N_IN},
               .y_dims = {1, SIDE, SIDE, N_OUT},
               .w_dims = {KERNEL, KERNEL, N_IN, N_OUT},
               .b_dims = {N_OUT}};
    for (int i = 0; i < N_W; i++)
        n->weights[i] = (int8_t)conv_weight(i);
    for (int i = 0; i < N_OUT; i++)
        n->bias[i] = conv_bias(i);
    Qnn_GraphHandle_t g = NULL;
    OK(s->qnn.graphCreate(s->context, "encoder", NULL, &g));
    make_tensors(s, g, n);
    make_params(&s->qnn, g, &n->params);
    Qnn_Tensor_t in[3] = {n->x, n->w, n->b};
    Qnn_OpConfig_t op =
        op_config("conv", QNN_OP_PACKAGE_NAME_QTI_AISW, "Conv2d", in, 3, &n->conv, 1);
    op.v1.params = n->params.list;
    op.v1.numOfParams = 4;
    add_node(&s->qnn, s->backend, g, op);
    add_node(&s->qnn, s->backend, g,
             op_config("relu", QNN_OP_PACKAGE_NAME_QTI_AISW, "Relu", &n->conv, 1, &n->y, 1));
    OK(s->qnn.graphFinalize(g, NULL, NULL));
    return g;
}

// --- Running

static void run(const sherpa *s, Qnn_GraphHandle_t g, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    for (int round = 0; round < 3; round++) {
        uint16_t x[N_X], y[N_Y];
        for (int i = 0; i < N_X; i++)
            x[i] = (uint16_t)(conv_input(i, round) - X_OFFSET);
        set_buffer(in, x, sizeof x);
        set_buffer(out, y, sizeof y);
        OK(s->qnn.graphExecute(g, in, 1, out, 1, NULL, NULL));
        for (int i = 0; i < N_Y; i++)
            assert_int_equal(y[i], conv_output(i, round) - Y_OFFSET);
    }
}

static void *run_and_save(uint64_t *size) {
    sherpa s = begin();
    net n;
    OK(s.qnn.contextCreate(s.backend, s.device, NULL, &s.context));
    Qnn_GraphHandle_t g = compose(&s, &n);
    run(&s, g, &n.x, &n.y);
    void *bytes = binary_of(&s.qnn, s.context, size);
    end(&s);
    return bytes;
}

// A copy of what the reader owns; the client's buffers come later.
static Qnn_Tensor_t copy(const Qnn_Tensor_t *from, const char *name, float scale, int32_t offset) {
    Qnn_Tensor_t t = *from;
    assert_true(t.version == QNN_TENSOR_VERSION_1 || t.version == QNN_TENSOR_VERSION_2);
    assert_string_equal(t.v1.name, name);
    assert_int_equal(t.v1.memType, QNN_TENSORMEMTYPE_RAW);
    assert_int_equal(t.v1.dataType, QNN_DATATYPE_UFIXED_POINT_16);
    assert_int_equal(t.v1.quantizeParams.quantizationEncoding,
                     QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    assert_true(t.v1.quantizeParams.scaleOffsetEncoding.scale == scale);
    assert_int_equal(t.v1.quantizeParams.scaleOffsetEncoding.offset, offset);
    t.v1.name = strdup(t.v1.name);
    t.v1.dimensions = malloc(t.v1.rank * sizeof *t.v1.dimensions);
    assert_true(t.v1.name && t.v1.dimensions);
    memcpy(t.v1.dimensions, from->v1.dimensions, t.v1.rank * sizeof *t.v1.dimensions);
    return t;
}

static void free_copy(Qnn_Tensor_t *t) {
    free((char *)t->v1.name);
    free(t->v1.dimensions);
}

static void read_info(void *bytes, uint64_t size, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    QnnSystemContext_Handle_t reader = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    uint32_t n = 0;
    OK(get(&list, &n));
    const QNN_SYSTEM_INTERFACE_VER_TYPE *sys = &list[n - 1]->QNN_SYSTEM_INTERFACE_VER_NAME;
    OK(sys->systemContextCreate(&reader));
    OK(sys->systemContextGetBinaryInfo(reader, bytes, size, &info, &info_size));
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_GraphInfo_t *graph = info->contextBinaryInfoV3.graphs;
    assert_int_equal(info->contextBinaryInfoV3.numGraphs, 1);
    assert_int_equal(graph->version, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    assert_string_equal(graph->graphInfoV3.graphName, "encoder");
    *in = copy(&graph->graphInfoV3.graphInputs[0], "x", X_SCALE, X_OFFSET);
    *out = copy(&graph->graphInfoV3.graphOutputs[0], "y", Y_SCALE, Y_OFFSET);
    OK(sys->systemContextFree(reader));
    assert_int_equal(dlclose(lib), 0);
}

static void a_saved_model_runs_in_a_second_session(void **state) {
    (void)state;
    uint64_t size = 0;
    void *bytes = run_and_save(&size);
    Qnn_Tensor_t in, out;
    Qnn_GraphHandle_t g = NULL;
    sherpa s = begin();
    read_info(bytes, size, &in, &out);
    OK(s.qnn.contextCreateFromBinary(s.backend, s.device, NULL, bytes, size, &s.context, NULL));
    OK(s.qnn.graphRetrieve(s.context, "encoder", &g));
    free(bytes); // the client's vector ends with the function that loads
    run(&s, g, &in, &out);
    end(&s);
    free_copy(&in);
    free_copy(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_model_runs_in_a_second_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
