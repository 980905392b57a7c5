// SPDX-License-Identifier: MIT
//
// DLC files from end to end through the public API: a graph is built on libQnnIr.so, its file is
// composed by libQnnSystem.so on other libraries, and computes what the formula of the net says.
// Composed on libQnnIr.so again it gives the same file, to the byte: nothing was lost.
#include "IR/QnnIrGraph.h"
#include "System/QnnSystemInterface.h"
#include "conv_net.h"

#include "Quern/SystemDlc.h"
#include "Quern/model.h"

#include <sys/stat.h>
#include <unistd.h>

typedef QNN_SYSTEM_INTERFACE_VER_TYPE system_table;

typedef struct backend {
    void *lib;
    QnnInterface_t interface;
    qnn_table qnn;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
} backend;

static system_table system_library(void) {
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    return list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
}

static backend begin(const char *name) {
    backend b = {0};
    b.lib = open_named(name, &b.qnn);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(b.lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    b.interface = *list[0];
    OK(b.qnn.backendCreate(NULL, NULL, &b.backend));
    OK(b.qnn.contextCreate(b.backend, NULL, NULL, &b.context));
    return b;
}

static void end(backend *b) {
    OK(b->qnn.contextFree(b->context, NULL));
    OK(b->qnn.backendFree(b->backend));
    dlclose(b->lib);
}

// --- Graphs

static Qnn_GraphHandle_t make_graph(const backend *b, const char *name, const char *path) {
    QnnIrGraph_CustomConfig_t custom = QNN_IR_GRAPH_CUSTOM_CONFIG_INIT;
    custom.serializationOption.outputPath = path;
    const QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &custom};
    const QnnGraph_Config_t *list[] = {&config, NULL};
    Qnn_GraphHandle_t g = NULL;
    OK(b->qnn.graphCreate(b->context, name, path ? list : NULL, &g));
    return g;
}

static Qnn_Tensor_t add(const backend *b, Qnn_GraphHandle_t g, Qnn_Tensor_t t, void *data,
                        size_t bytes) {
    set_buffer(&t, data, bytes);
    OK(b->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

// Conv2d and Relu in float.
static void build_conv(const backend *b, Qnn_GraphHandle_t g) {
    uint32_t xd[4] = {1, SIDE, SIDE, N_IN}, yd[4] = {1, SIDE, SIDE, N_OUT};
    uint32_t wd[4] = { KERNEL, KERNEL, N_IN, N_OUT }, bd[1] = {N_OUT};
    float w[N_W], bias[N_OUT];
    const Qnn_DataType_t f32 = QNN_DATATYPE_FLOAT_32;
    for (int k = 0; k < N_W; k++)
        w[k] = (float)conv_weight(k) / 8;
    for (int k = 0; k < N_OUT; k++)
        bias[k] = (float)conv_bias(k) / 64;
    Qnn_Tensor_t in[3], c, y;
    in[0] = tensor(&b->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 4, xd);
    in[1] = add(b, g, describe("w", QNN_TENSOR_TYPE_STATIC, f32, 4, wd), w, sizeof w);
    in[2] = add(b, g, describe("b", QNN_TENSOR_TYPE_STATIC, f32, 1, bd), bias, sizeof bias);
    c = tensor(&b->qnn, g, "c", QNN_TENSOR_TYPE_NATIVE, 4, yd);
    y = tensor(&b->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 4, yd);
    conv_params params;
    make_params(&b->qnn, g, &params);
    Qnn_OpConfig_t op = op_config("conv", QNN_OP_PACKAGE_NAME_QTI_AISW, "Conv2d", in, 3, &c, 1);
    op.v1.numOfParams = 4;
    op.v1.params = params.list;
    add_node(&b->qnn, b->backend, g, op);
    node(&b->qnn, g, "relu", "Relu", &c, &y);
}

static Qnn_QuantizeParams_t encoding(Qnn_QuantizationEncoding_t form) {
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = form;
    return q;
}

// A tensor with the encoding, quantized to it, for each form that weights have.
static void build_encodings(const backend *b, Qnn_GraphHandle_t g) {
    static Qnn_ScaleOffset_t pairs[8] = {{.5f, 0}, {.25f, 3}, {1, -2}, {2, 0},
                                         {4, 1},   {8, 0},    {3, 0},  {7, 0}};
    static Qnn_FloatScaleOffset_t reals[4] = {{.5f, .3f}, {.25f, 0}, {1, -7}, {2, .1f}};
    static float scales[4] = {.1f, .2f, .3f, .4f};
    static int32_t offsets[4] = {0, -1, 2, 3};
    static uint8_t factors[8] = {1, 2, 3, 4, 5, 6, 7, 16};
    static uint16_t wide[8] = {1, 2, 300, 4, 5, 6, 7, 4096};
    static uint32_t block[2] = {1, 4};
    static uint8_t data[32];
    uint32_t dims[2] = {4, 8};
    Qnn_BlockwiseExpansion_t plain = {.axis = 0,
                                      .scaleOffsets = pairs,
                                      .numBlocksPerAxis = 2,
                                      .blockScaleBitwidth = 4,
                                      .blocksScale8 = factors};
    Qnn_BwBlockwiseExpansionMapped_t mapped = {
        .bitwidth = 4,
        .mapping = QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO,
        .axis = 0,
        .scaleOffsets = pairs,
        .numBlocksPerAxis = 2,
        .blockScaleBitwidth = 12,
        .blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16,
        .blocksScale16 = wide};
    Qnn_BwBlockMapped_t blocks = {4, QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE, block,
                                  pairs};
    Qnn_BwAxisScaleOffsetMapped_t axes = {
        4, 0, QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO, 4, scales, offsets};
    Qnn_QuantizeParams_t q[] = {encoding(QNN_QUANTIZATION_ENCODING_SCALE_OFFSET),
                                encoding(QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET),
                                encoding(QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET),
                                encoding(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET),
                                encoding(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED),
                                encoding(QNN_QUANTIZATION_ENCODING_BLOCK),
                                encoding(QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED),
                                encoding(QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK),
                                encoding(QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION),
                                encoding(QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED)};
    q[0].scaleOffsetEncoding = (Qnn_ScaleOffset_t){.1f, -3};
    q[1].bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){4, 1.0f / 3, 5};
    q[2].axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){0, 4, pairs};
    q[3].bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){4, 0, 4, scales, NULL};
    q[4].bwAxisScaleOffsetMappedEncoding = &axes;
    q[5].blockEncoding = (Qnn_BlockEncoding_t){block, pairs};
    q[6].bwBlockMappedEncoding = &blocks;
    uint32_t half[2] = {2, 4};
    q[7].floatBlockEncoding = (Qnn_FloatBlockEncoding_t){half, reals};
    q[8].blockwiseExpansion = &plain;
    q[9].bwBlockwiseExpansionMappedEncoding = &mapped;
    for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
        char name[3][16];
        data[0] = (uint8_t)i;
        snprintf(name[0], sizeof name[0], "q%zu", i);
        snprintf(name[1], sizeof name[1], "r%zu", i);
        snprintf(name[2], sizeof name[2], "n%zu", i);
        Qnn_Tensor_t t =
            describe(name[0], QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2, dims);
        t.v1.quantizeParams = q[i];
        Qnn_Tensor_t from = add(b, g, t, data, sizeof data);
        Qnn_Tensor_t to = tensor(&b->qnn, g, name[1], QNN_TENSOR_TYPE_APP_READ, 2, dims);
        node(&b->qnn, g, name[2], "Dequantize", &from, &to);
    }
}

// Strings, floats that JSON has no words for, dynamic and optional tensors.
static void build_scalars(const backend *b, Qnn_GraphHandle_t g) {
    uint32_t dims[2] = {2, 3};
    uint8_t dynamic[2] = {1, 0};
    Qnn_Tensor_t x = describe("x \"quoted\" \xc3\xa9", QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE,
                              QNN_DATATYPE_FLOAT_32, 2, dims);
    x.version = QNN_TENSOR_VERSION_2;
    x.v2.isDynamicDimensions = dynamic;
    OK(b->qnn.tensorCreateGraphTensor(g, &x));
    Qnn_Tensor_t y = x;
    y.v2.name = "y";
    y.v2.type = QNN_TENSOR_TYPE_APP_READ;
    OK(b->qnn.tensorCreateGraphTensor(g, &y));
    Qnn_Param_t p[5];
    static const char *const names[5] = {"text", "least", "wide", "signed", "flag"};
    for (int i = 0; i < 5; i++) {
        p[i] = (Qnn_Param_t)QNN_PARAM_INIT;
        p[i].paramType = QNN_PARAMTYPE_SCALAR;
        p[i].name = names[i];
    }
    p[0].scalarParam.dataType = QNN_DATATYPE_STRING;
    p[0].scalarParam.stringValue = "a\nb";
    p[1].scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
    p[1].scalarParam.floatValue = -INFINITY;
    p[2].scalarParam.dataType = QNN_DATATYPE_UINT_64;
    p[2].scalarParam.uint64Value = UINT64_MAX - 1;
    p[3].scalarParam.dataType = QNN_DATATYPE_INT_16;
    p[3].scalarParam.int16Value = -5;
    p[4].scalarParam.dataType = QNN_DATATYPE_BOOL_8;
    p[4].scalarParam.bool8Value = 1;
    Qnn_OpConfig_t op = op_config("own", "my.package", "MyOp", &x, 1, &y, 1);
    op.v1.numOfParams = 5;
    op.v1.params = p;
    OK(b->qnn.graphAddNode(g, op));
}

// --- Files

typedef void (*builder)(const backend *b, Qnn_GraphHandle_t g);

static uint8_t *make_file(builder build, uint64_t *size) {
    backend ir = begin("libQnnIr.so");
    Qnn_GraphHandle_t g = make_graph(&ir, "net", ""); // no file
    build(&ir, g);
    OK(ir.qnn.graphFinalize(g, NULL, NULL));
    uint8_t *bytes = binary_of(&ir.qnn, ir.context, size);
    end(&ir);
    return bytes;
}

static void free_graphs(QnnSystemContext_GraphInfo_t *graphs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)graphs[i].graphInfoV1.graphName);
        free(graphs[i].graphInfoV1.graphInputs);
        free(graphs[i].graphInfoV1.graphOutputs);
    }
    free(graphs);
}

static QnnSystemContext_GraphInfo_t *compose(const backend *b, const uint8_t *bytes, uint64_t size,
                                             uint32_t *n) {
    const system_table sys = system_library();
    QnnSystemDlc_Handle_t dlc = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    OK(sys.systemDlcCreateFromBinary(NULL, bytes, size, &dlc));
    OK(sys.systemDlcComposeGraphs(dlc, NULL, 0, b->backend, b->context, b->interface,
                                  QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs, n));
    OK(sys.systemDlcFree(dlc)); // the answer lives on
    return graphs;
}

static void run_conv(const backend *b, QnnSystemContext_GraphInfo_t *graphs) {
    const QnnSystemContext_GraphInfoV1_t *info = &graphs[0].graphInfoV1;
    Qnn_GraphHandle_t g = NULL;
    float x[N_X], y[N_Y];
    OK(b->qnn.graphRetrieve(b->context, info->graphName, &g));
    OK(b->qnn.graphFinalize(g, NULL, NULL));
    assert_int_equal(info->numGraphInputs, 1);
    assert_int_equal(info->numGraphOutputs, 1);
    assert_string_equal(info->graphInputs[0].v1.name, "x");
    for (int k = 0; k < N_X; k++)
        x[k] = (float)conv_input(k, 1) / 8;
    set_buffer(info->graphInputs, x, sizeof x);
    set_buffer(info->graphOutputs, y, sizeof y);
    OK(b->qnn.graphExecute(g, info->graphInputs, 1, info->graphOutputs, 1, NULL, NULL));
    for (int k = 0; k < N_Y; k++)
        assert_true(y[k] == (float)conv_output(k, 1) / 64);
}

static void graphs_compute_what_was_built(void **state) {
    (void)state;
    static const char *const libraries[] = {"libQnnCpu.so", "libQnnHtp.so"};
    uint64_t size = 0;
    uint8_t *bytes = make_file(build_conv, &size);
    for (int i = 0; i < 2; i++) {
        backend b = begin(libraries[i]);
        uint32_t n = 0;
        QnnSystemContext_GraphInfo_t *graphs = compose(&b, bytes, size, &n);
        assert_int_equal(n, 1);
        run_conv(&b, graphs);
        free_graphs(graphs, n);
        end(&b);
    }
    free(bytes);
}

// ExecuTorch 1.5.1 passes a struct of 69 slots by value, newer clients longer ones.
static void interfaces_of_any_length_are_understood(void **state) {
    (void)state;
    typedef struct short_interface {
        uint64_t words[74];
    } short_interface;
    typedef struct long_interface {
        uint64_t words[92];
    } long_interface;
#define COMPOSE(type)                                                                              \
    Qnn_ErrorHandle_t (*)(QnnSystemDlc_Handle_t, const QnnSystemDlc_GraphConfigInfo_t **,          \
                          uint32_t, Qnn_BackendHandle_t, Qnn_ContextHandle_t, type,                \
                          QnnSystemContext_GraphInfoVersion_t, QnnSystemContext_GraphInfo_t **,    \
                          uint32_t *)
    const system_table sys = system_library();
    uint64_t size = 0;
    uint8_t *bytes = make_file(build_conv, &size);
    short_interface less;
    long_interface more;
    for (int i = 0; i < 2; i++) {
        backend b = begin("libQnnCpu.so");
        QnnSystemDlc_Handle_t dlc = NULL;
        QnnSystemContext_GraphInfo_t *graphs = NULL;
        uint32_t n = 0;
        memcpy(&less, &b.interface, sizeof less);
        memcpy(&more, &b.interface, sizeof b.interface);
        for (size_t k = sizeof b.interface / 8; k < 92; k++)
            more.words[k] = more.words[60]; // functions of later versions
        void (*entry)(void) = (void (*)(void))sys.systemDlcComposeGraphs;
        OK(sys.systemDlcCreateFromBinary(NULL, bytes, size, &dlc));
        if (i == 0)
            OK(((COMPOSE(short_interface))entry)(dlc, NULL, 0, b.backend, b.context, less,
                                                 QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs,
                                                 &n));
        else
            OK(((COMPOSE(long_interface))entry)(dlc, NULL, 0, b.backend, b.context, more,
                                                QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs,
                                                &n));
        assert_int_equal(n, 1);
        run_conv(&b, graphs);
        free_graphs(graphs, n);
        OK(sys.systemDlcFree(dlc));
        end(&b);
    }
    free(bytes);
}

static void nothing_is_lost(void **state) {
    (void)state;
    static const builder builders[] = {build_conv, build_encodings, build_scalars};
    for (int i = 0; i < 3; i++) {
        uint64_t size = 0, again_size = 0;
        uint32_t n = 0;
        uint8_t *bytes = make_file(builders[i], &size);
        backend ir = begin("libQnnIr.so");
        QnnSystemContext_GraphInfo_t *graphs = compose(&ir, bytes, size, &n);
        Qnn_GraphHandle_t g = NULL;
        OK(ir.qnn.graphRetrieve(ir.context, graphs[0].graphInfoV1.graphName, &g));
        OK(ir.qnn.graphFinalize(g, NULL, NULL)); // writes net.dlc
        uint8_t *again = binary_of(&ir.qnn, ir.context, &again_size);
        assert_int_equal(again_size, size);
        assert_memory_equal(again, bytes, size);
        free(again);
        free_graphs(graphs, n);
        end(&ir);
        free(bytes);
        assert_int_equal(remove("net.dlc"), 0);
    }
}

static uint32_t graphs_in(const char *path) {
    const system_table sys = system_library();
    QnnSystemDlc_Handle_t dlc = NULL;
    QnnSystemDlc_GraphInfoHandle_t *handles = NULL;
    uint32_t n = 0;
    OK(sys.systemDlcCreateFromFile(NULL, path, &dlc));
    OK(sys.systemDlcGetComposableGraphInfoHandles(dlc, &handles, &n));
    OK(sys.systemDlcFree(dlc));
    return n;
}

static void graphs_go_to_the_files_they_name(void **state) {
    (void)state;
    static const struct {
        const char *graph, *path, *file;
        uint32_t n; // graphs in the file after this one
    } rows[] = {
        {"first", NULL, "first.dlc", 1},        {"second", NULL, "first.dlc", 2},
        {"third", "named.dlc", "named.dlc", 1}, {"fourth", "folder", "folder/fourth.dlc", 1},
        {"fifth", "named.dlc", "named.dlc", 2}, {"sixth", NULL, "first.dlc", 3}};
    backend ir = begin("libQnnIr.so");
    mkdir("folder", 0777);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Qnn_GraphHandle_t g = make_graph(&ir, rows[i].graph, rows[i].path);
        build_conv(&ir, g);
        OK(ir.qnn.graphFinalize(g, NULL, NULL));
        assert_int_equal(graphs_in(rows[i].file), rows[i].n);
    }
    Qnn_GraphHandle_t g = make_graph(&ir, "lost", "no/such/folder/x.dlc");
    build_conv(&ir, g);
    assert_int_equal(ir.qnn.graphFinalize(g, NULL, NULL), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    assert_int_equal(access("no", F_OK), -1);
    end(&ir);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        remove(rows[i].file);
    rmdir("folder");
}

static void graphs_are_not_executed(void **state) {
    (void)state;
    backend ir = begin("libQnnIr.so");
    Qnn_GraphHandle_t g = make_graph(&ir, "net", "");
    QnnIrGraph_CustomConfig_t custom = QNN_IR_GRAPH_CUSTOM_CONFIG_INIT;
    const QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &custom};
    const QnnGraph_Config_t *list[] = {&config, NULL};
    Qnn_GraphHandle_t other = NULL;
    custom.serializationOption.serializationType = (QnnIrGraph_SerializationType_t)7;
    assert_int_equal(ir.qnn.graphCreate(ir.context, "other", list, &other),
                     QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    assert_null(other);
    build_conv(&ir, g);
    OK(ir.qnn.graphFinalize(g, NULL, NULL));
    assert_int_not_equal(ir.qnn.graphExecute(g, NULL, 0, NULL, 0, NULL, NULL), QNN_SUCCESS);
    end(&ir);
}

// Any byte may be wrong, and a file may end anywhere: no crash, and never another graph.
static void damaged_files_are_rejected(void **state) {
    (void)state;
    const system_table sys = system_library();
    uint64_t size = 0;
    uint8_t *bytes = make_file(build_conv, &size);
    unsigned taken = 0;
    for (uint64_t i = 0; i < size; i++) {
        QnnSystemDlc_Handle_t dlc = NULL;
        uint8_t *part = malloc(i + 1);
        memcpy(part, bytes, i + 1);
        if (i + 1 < size)
            assert_int_equal(sys.systemDlcCreateFromBinary(NULL, part, i + 1, &dlc),
                             QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY);
        free(part);
        bytes[i] ^= 0x40;
        if (sys.systemDlcCreateFromBinary(NULL, bytes, size, &dlc) == QNN_SUCCESS) {
            taken++; // padding, or what says nothing about a stored file
            OK(sys.systemDlcFree(dlc));
        }
        bytes[i] ^= 0x40;
    }
    assert_true(taken < 500);
    free(bytes);
}

// --- libQnnModelDlc.so

static unsigned n_lines;

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    char line[512];
    vsnprintf(line, sizeof line, fmt, args);
    n_lines += level == QNN_LOG_LEVEL_ERROR && strstr(line, "file.dlc") != NULL;
}

// Clients differ in the length of the table, and count graphs from the first pointer of the list.
static void a_model_library_composes_a_file(void **state) {
    (void)state;
    typedef struct short_table {
        uint64_t words[69];
    } short_table;
#define MODEL_COMPOSE(type)                                                                        \
    ModelError_t (*)(Qnn_BackendHandle_t, type, Qnn_ContextHandle_t, const GraphConfigInfo_t **,   \
                     const char *, uint32_t, GraphInfo_t ***, uint32_t *, bool, QnnLog_Callback_t, \
                     QnnLog_Level_t)
    char path[] = "/tmp/quern-XXXXXX", file[64];
    uint64_t size = 0;
    uint8_t *bytes = make_file(build_conv, &size);
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/file.dlc", path);
    for (int i = 0; i < 4; i++) { // the header's table, with debug, a short one, a damaged file
        backend b = begin("libQnnCpu.so");
        void *lib = dlopen(lib_path("libQnnModelDlc.so"), RTLD_NOW | RTLD_LOCAL);
        assert_non_null(lib);
        void *entry = dlsym(lib, "QnnModel_composeGraphsFromDlc");
        ModelError_t (*release)(GraphInfo_t ***, uint32_t) =
            (ModelError_t(*)(GraphInfo_t ***, uint32_t))dlsym(lib, "QnnModel_freeGraphsInfo");
        GraphInfo_t **graphs = NULL;
        uint32_t n = 0;
        short_table less;
        memcpy(&less, &b.qnn, sizeof less);
        FILE *f = fopen(file, "wb");
        assert_int_equal(fwrite(bytes, 1, i == 3 ? size / 2 : size, f), i == 3 ? size / 2 : size);
        fclose(f);
        ModelError_t error =
            i == 2 ? ((MODEL_COMPOSE(short_table))entry)(b.backend, less, b.context, NULL, file, 0,
                                                         &graphs, &n, false, hear,
                                                         QNN_LOG_LEVEL_VERBOSE)
                   : ((MODEL_COMPOSE(qnn_table))entry)(b.backend, b.qnn, b.context, NULL, file, 0,
                                                       &graphs, &n, i == 1, hear,
                                                       QNN_LOG_LEVEL_VERBOSE);
        if (i == 3) {
            assert_int_equal(error, MODEL_FILE_ERROR);
            assert_null(graphs);
            assert_int_equal(n_lines, 1);
        } else {
            float x[N_X], y[2][N_Y];
            assert_int_equal(error, MODEL_NO_ERROR);
            assert_int_equal(n, 1);
            GraphInfo_t *g = &(*graphs)[0];
            assert_string_equal(g->graphName, "net");
            assert_int_equal(g->numOutputTensors, i == 1 ? 2 : 1);
            for (int k = 0; k < N_X; k++)
                x[k] = (float)conv_input(k, 1) / 8;
            set_buffer(g->inputTensors, x, sizeof x);
            for (uint32_t k = 0; k < g->numOutputTensors; k++)
                set_buffer(&g->outputTensors[k], y[k], sizeof y[k]);
            OK(b.qnn.graphFinalize(g->graph, NULL, NULL));
            OK(b.qnn.graphExecute(g->graph, g->inputTensors, 1, g->outputTensors,
                                  g->numOutputTensors, NULL, NULL));
            for (int k = 0; k < N_Y; k++) {
                assert_true(y[0][k] == (float)conv_output(k, 1) / 64);
                assert_true(i != 1 || y[1][k] == (float)conv_sum(k, 1) / 64);
            }
            assert_int_equal(release(&graphs, n), MODEL_NO_ERROR);
            assert_null(graphs);
        }
        assert_int_equal(release(&graphs, 0), MODEL_INVALID_ARGUMENT_ERROR);
        dlclose(lib);
        end(&b);
    }
    unlink(file);
    rmdir(path);
    free(bytes);
}

// --- Context binaries in a file

static void check_added(const system_table *sys, QnnSystemDlc_Handle_t dlc, const backend *b) {
    QnnSystemDlc_ContextBinaryInfoHandle_t *infos = NULL;
    QnnSystemDlc_RecordHandle_t *records = NULL;
    uint32_t n = 0, graphs = 0;
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    OK(sys->systemDlcGetContextBinaryInfoHandles(dlc, &infos, &n));
    assert_int_equal(n, 2);
    OK(sys->systemDlcGetContextBinaryInfoNumGraphs(infos[1], &graphs));
    assert_int_equal(graphs, 1);
    OK(sys->systemDlcGetRecordsByType(dlc, QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD, 1,
                                      &records, &n));
    assert_int_equal(n, 1);
    OK(sys->systemDlcReadRecordDataMemoryMapped(records[0], &bytes, &size));
    Qnn_ContextHandle_t context = NULL;
    OK(b->qnn.contextCreateFromBinary(b->backend, NULL, NULL, bytes, size, &context, NULL));
    Qnn_GraphHandle_t g = NULL;
    OK(b->qnn.graphRetrieve(context, "net", &g));
    OK(b->qnn.contextFree(context, NULL));
}

static void binaries_of_contexts_are_added(void **state) {
    (void)state;
    const system_table sys = system_library();
    uint64_t size = 0, made_size = 0, written = 0;
    uint32_t n = 0;
    uint8_t *bytes = make_file(build_conv, &size);
    backend b = begin("libQnnHtp.so"), cpu = begin("libQnnCpu.so");
    QnnSystemContext_GraphInfo_t *graphs = compose(&b, bytes, size, &n);
    for (int i = 0; i < 2; i++) { // to the file of the model, and to one that was made empty
        QnnSystemDlc_Handle_t dlc = NULL, again = NULL;
        QnnSystemDlc_RecordHandle_t record = NULL;
        OK(i == 0 ? sys.systemDlcCreateFromBinary(NULL, bytes, size, &dlc)
                  : sys.systemDlcCreateWithDestinationDir(NULL, NULL, &dlc));
        if (i == 0) // the graph is not finalized yet
            assert_int_equal(b.qnn.contextAddToDlc(b.context, dlc),
                             QNN_CONTEXT_ERROR_NOT_FINALIZED);
        if (i == 0)
            run_conv(&b, graphs);
        assert_int_equal(cpu.qnn.contextAddToDlc(cpu.context, dlc),
                         QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE);
        OK(b.qnn.contextAddToDlc(b.context, dlc));
        OK(b.qnn.contextAddToDlc(b.context, dlc));
        OK(sys.systemDlcGetRecordByName(dlc, "context.htp.1", &record));
        check_added(&sys, dlc, &b);
        OK(sys.systemDlcGetBinarySize(dlc, &made_size));
        uint8_t *made = malloc(made_size);
        OK(sys.systemDlcGetBinary(dlc, made, made_size, &written));
        OK(sys.systemDlcFree(dlc));
        assert_int_equal(b.qnn.contextAddToDlc(b.context, dlc), QNN_CONTEXT_ERROR_INVALID_HANDLE);
        OK(sys.systemDlcCreateFromBinary(NULL, made, made_size, &again));
        check_added(&sys, again, &b);
        OK(sys.systemDlcFree(again));
        free(made);
    }
    free_graphs(graphs, n);
    end(&cpu);
    end(&b);
    free(bytes);
}

// --- What ops were made from

static void mappings_name_the_nodes_of_a_model(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"graphs\": [{\"name\": \"g\", \"ops\": [[\"c_1\", \"c\", \"Conv\"], [\"r\", \"r\", "
        "\"Relu\"]]}]}",
        "{}",
        "{\"graphs\": [1]}",
        "{\"graphs\": [{\"name\": \"g\", \"ops\": [[\"a\", \"b\"]]}]}",
        "{\"graphs\": [{\"name\": \"g\", \"ops\": [[1, 2, 3]]}]}",
        "{\"graphs\": ["};
    const system_table sys = system_library();
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    QuernSystemDlc_AddRecordFn_t add_record =
        (QuernSystemDlc_AddRecordFn_t)dlsym(lib, "QuernSystemDlc_addRecord");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        QnnSystemDlc_Handle_t dlc = NULL;
        const Qnn_OpMapping_t *list = NULL;
        uint32_t n = 7;
        OK(sys.systemDlcCreateWithDestinationDir(NULL, NULL, &dlc));
        OK(sys.systemDlcGetOpMappings(dlc, &list, &n));
        assert_int_equal(n, 0);
        OK(add_record(dlc, QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING, "source.mapping",
                      (const uint8_t *)texts[i], strlen(texts[i])));
        Qnn_ErrorHandle_t code = sys.systemDlcGetOpMappings(dlc, &list, &n);
        assert_int_equal(code, i ? QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY : QNN_SUCCESS);
        if (i == 0) {
            assert_int_equal(n, 1);
            assert_string_equal(list[0].v1->graphName, "g");
            assert_int_equal(list[0].v1->numOpMappings, 2);
            assert_string_equal(list[0].v1->opMappings[0].name, "c_1");
            assert_string_equal(list[0].v1->opMappings[0].pair[0].name, "c");
            assert_int_equal(list[0].v1->opMappings[1].numPairs, 1);
        }
        assert_int_equal(add_record(dlc, 1, "", (const uint8_t *)texts[i], 1),
                         QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
        assert_int_equal(add_record(NULL, 1, "a", (const uint8_t *)"a", 1),
                         QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
        OK(sys.systemDlcFree(dlc));
    }
    dlclose(lib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_compute_what_was_built),
        cmocka_unit_test(interfaces_of_any_length_are_understood),
        cmocka_unit_test(a_model_library_composes_a_file),
        cmocka_unit_test(binaries_of_contexts_are_added),
        cmocka_unit_test(mappings_name_the_nodes_of_a_model),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(graphs_go_to_the_files_they_name),
        cmocka_unit_test(graphs_are_not_executed),
        cmocka_unit_test(damaged_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
