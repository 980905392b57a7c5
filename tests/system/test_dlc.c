// SPDX-License-Identifier: MIT
//
// DLC files in the System library: records, graphs, tensors, encodings, context binaries, and the
// codes of wrong calls. The file is made here, from tensors whose facts the answers are compared
// with.
#include "sample.h"

#include "dlc/dlc.h"
#include "pairs.h"

#include "System/QnnSystemInterface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const float scales[2] = {.5f, .25f};
static const int32_t offsets[2] = {-3, 4};
static qrn_tensor x = {.id = 1,
                       .name = "x",
                       .role = QRN_ROLE_INPUT,
                       .dtype = QRN_DTYPE_UQ8,
                       .shape = {2, {3, 2}},
                       .quant = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = .1f, .offset = -128},
                       .encoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET};
static qrn_tensor w = {.id = 2,
                       .name = "w",
                       .role = QRN_ROLE_INPUT,
                       .dtype = QRN_DTYPE_SQ8,
                       .shape = {2, {3, 2}},
                       .quant = {.kind = QRN_QUANT_AXIS,
                                 .bits = 8,
                                 .axis = 1,
                                 .scales = scales,
                                 .offsets = offsets,
                                 .n_groups = 2},
                       .encoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET};
static qrn_tensor v = {
    .id = 3,
    .name = "v",
    .role = QRN_ROLE_INPUT,
    .dtype = QRN_DTYPE_SQ8,
    .shape = {2, {3, 2}},
    .quant = {.kind = QRN_QUANT_AXIS, .bits = 4, .axis = 1, .scales = scales, .n_groups = 2},
    .encoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET};
static qrn_tensor y = {.id = 4,
                       .name = "y",
                       .role = QRN_ROLE_OUTPUT,
                       .dtype = QRN_DTYPE_UQ8,
                       .shape = {2, {3, 2}},
                       .quant = {.kind = QRN_QUANT_TENSOR, .bits = 4, .scale = 2, .offset = 7},
                       .encoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET};

static uint8_t *bytes;
static uint64_t n_bytes;

// A file with one graph without nodes and, as a record, the context binary of sample.c.
static int make_file(void **state) {
    (void)state;
    qrn_tensor *tensors[] = {&x, &w, &v, &y};
    qrn_graph g = {.name = "g", .tensors = tensors, .n_tensors = 4};
    const qrn_graph *graphs[] = {&g};
    const qrn_dlc_model model = {.graphs = graphs, .n_graphs = 1};
    qrn_dlc_image *image = NULL;
    qrn_dlc *d = NULL;
    assert_int_equal(qrn_dlc_image_of_model(&model, &image), QRN_OK);
    uint64_t size = qrn_dlc_image_bytes(image);
    void *first = malloc(size);
    qrn_dlc_image_copy(image, first);
    qrn_dlc_image_free(image);
    assert_int_equal(qrn_dlc_open("first", first, size, &d), QRN_OK);
    qrn_dlc_record records[8];
    assert_int_equal(d->n_records, 4);
    memcpy(records, d->records, 4 * sizeof *records);
    uint64_t binary_bytes = 0;
    void *binary = sample_bytes(&binary_bytes);
    records[4] = (qrn_dlc_record){"htp.cache", QRN_DLC_TYPE_HTP_CACHE, binary, binary_bytes};
    assert_int_equal(qrn_dlc_image_of_records(records, 5, &image), QRN_OK);
    n_bytes = qrn_dlc_image_bytes(image);
    bytes = malloc(n_bytes);
    qrn_dlc_image_copy(image, bytes);
    qrn_dlc_image_free(image);
    qrn_dlc_close(d);
    free(binary);
    free(first);
    return 0;
}

static int free_file(void **state) {
    (void)state;
    free(bytes);
    return 0;
}

static QnnSystemDlc_Handle_t open_dlc(void) {
    QnnSystemDlc_Handle_t d = NULL;
    OK(QnnSystemDlc_createFromBinary(NULL, bytes, n_bytes, &d));
    return d;
}

static void records(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc();
    QnnSystemDlc_RecordHandle_t r = NULL, *list = NULL;
    uint64_t size = 0, again = 0;
    uint32_t n = 0;
    const uint8_t *data = NULL;
    OK(QnnSystemDlc_getRecordByName(d, "dlc.metadata", &r));
    OK(QnnSystemDlc_getRecordDataSize(r, &size));
    OK(QnnSystemDlc_readRecordDataMemoryMapped(r, &data, &again));
    assert_int_equal(size, again);
    assert_memory_equal(data, "{\"format\":\"quern-dlc\",\"version\":[1,0]", 37);
    OK(QnnSystemDlc_freeRecordRange(r, 0, size));
    OK(QnnSystemDlc_freeRecord(r));
    OK(QnnSystemDlc_getRecordsByType(d, QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD, 1, &list,
                                     &n));
    assert_int_equal(n, 1);
    OK(QnnSystemDlc_readRecordDataMemoryMapped(list[0], &data, &size));
    assert_memory_equal(data, "QUERNCTX", 8);
    assert_int_equal((uintptr_t)data % 64, 0);
    OK(QnnSystemDlc_getRecordsByType(d, QNN_SYSTEM_DLC_RECORD_TYPE_GENAI_METADATA, 0, &list, &n));
    assert_int_equal(n, 0);
    const Qnn_OpMapping_t *mappings = (const void *)&n;
    OK(QnnSystemDlc_getOpMappings(d, &mappings, &n));
    assert_null(mappings);
    PAIR("QnnSystemDlc_getRecordByName", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getRecordByName(d, "no", &r));
    PAIR("QnnSystemDlc_getRecordByName", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getRecordByName(d, NULL, &r));
    PAIR("QnnSystemDlc_getRecordByName", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_getRecordByName(r, "no", &r));
    PAIR("QnnSystemDlc_getRecordsByType", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getRecordsByType(d, QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA, 0, NULL, &n));
    PAIR(
        "QnnSystemDlc_getRecordsByType", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
        QnnSystemDlc_getRecordsByType(NULL, QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA, 0, &list, &n));
    PAIR("QnnSystemDlc_getRecordDataSize", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getRecordDataSize(r, NULL));
    PAIR("QnnSystemDlc_getRecordDataSize", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_getRecordDataSize(d, &size));
    PAIR("QnnSystemDlc_readRecordDataMemoryMapped", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_readRecordDataMemoryMapped(r, NULL, &size));
    PAIR("QnnSystemDlc_readRecordDataMemoryMapped", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_readRecordDataMemoryMapped(d, &data, &size));
    PAIR("QnnSystemDlc_freeRecord", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_freeRecord(d));
    assert_int_equal(QnnSystemDlc_freeRecordRange(r, 1, UINT64_MAX),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_freeRecordRange(d, 0, 0), QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
    PAIR("QnnSystemDlc_getOpMappings", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_getOpMappings(NULL, &mappings, &n));
    OK(QnnSystemDlc_free(d));
    assert_int_equal(QnnSystemDlc_getRecordDataSize(r, &size),
                     QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE); // it has gone with the file
}

static QnnSystemDlc_QuantParamsHandle_t encoding_of(QnnSystemDlc_GraphInfoHandle_t g, uint32_t i) {
    QnnSystemDlc_TensorInfoHandle_t t = NULL;
    QnnSystemDlc_QuantParamsHandle_t q = NULL;
    OK(QnnSystemDlc_getGraphInfoInputTensorInfo(g, i, &t));
    OK(QnnSystemDlc_getTensorInfoQuantParams(t, &q));
    return q;
}

static void tensors(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc();
    QnnSystemDlc_GraphInfoHandle_t *graphs = NULL;
    QnnSystemDlc_TensorInfoHandle_t t = NULL, same = NULL;
    const char *name = NULL;
    uint32_t n = 0, dims[8] = {0};
    Qnn_TensorType_t type;
    Qnn_DataType_t dtype;
    Qnn_TensorDataFormat_t format;
    OK(QnnSystemDlc_getComposableGraphInfoHandles(d, &graphs, &n));
    assert_int_equal(n, 1);
    OK(QnnSystemDlc_getComposableGraphInfoGraphName(graphs[0], &name));
    assert_string_equal(name, "g");
    OK(QnnSystemDlc_getComposableGraphInfoNumInputTensors(graphs[0], &n));
    assert_int_equal(n, 3);
    OK(QnnSystemDlc_getComposableGraphInfoNumOutputTensors(graphs[0], &n));
    assert_int_equal(n, 1);
    OK(QnnSystemDlc_getGraphInfoInputTensorInfo(graphs[0], 1, &t));
    OK(QnnSystemDlc_getGraphInfoInputTensorInfo(graphs[0], 1, &same));
    assert_ptr_equal(t, same);
    OK(QnnSystemDlc_getTensorInfoName(t, &name));
    assert_string_equal(name, "w");
    OK(QnnSystemDlc_getTensorInfoId(t, &n));
    assert_int_equal(n, 2);
    OK(QnnSystemDlc_getTensorInfoType(t, &type));
    assert_int_equal(type, QNN_TENSOR_TYPE_APP_WRITE);
    OK(QnnSystemDlc_getTensorInfoDataType(t, &dtype));
    assert_int_equal(dtype, QNN_DATATYPE_SFIXED_POINT_8);
    OK(QnnSystemDlc_getTensorInfoDataFormat(t, &format));
    assert_int_equal(format, QNN_TENSOR_DATA_FORMAT_DENSE);
    OK(QnnSystemDlc_getTensorInfoRank(t, &n));
    assert_int_equal(n, 2);
    OK(QnnSystemDlc_getTensorInfoDimensions(t, dims));
    assert_true(dims[0] == 3 && dims[1] == 2 && dims[2] == 0);
    const QnnSystemDlc_ComposableGraphInfo_t *info = NULL;
    OK(QnnSystemDlc_getComposableGraphInfo(graphs[0], &info));
    assert_int_equal(info->version, QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_VERSION_1);
    assert_string_equal(info->graphInfoV1.graphOutputs[0].v1.name, "y");
    assert_int_equal(QnnSystemDlc_getGraphInfoOutputTensorInfo(graphs[0], 1, &t),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_getTensorInfoName(graphs[0], &name),
                     QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
    assert_int_equal(QnnSystemDlc_getTensorInfoName(t, NULL),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    OK(QnnSystemDlc_free(d));
}

static void encodings(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc();
    QnnSystemDlc_GraphInfoHandle_t *graphs = NULL;
    QnnSystemDlc_TensorInfoHandle_t t = NULL;
    uint32_t n = 0;
    float f = 0;
    int32_t i = 0;
    Qnn_Definition_t defined;
    Qnn_QuantizationEncoding_t form;
    OK(QnnSystemDlc_getComposableGraphInfoHandles(d, &graphs, &n));
    QnnSystemDlc_QuantParamsHandle_t q = encoding_of(graphs[0], 0);
    OK(QnnSystemDlc_getQuantParamsEncodingDefinition(q, &defined));
    OK(QnnSystemDlc_getQuantParamsEncoding(q, &form));
    assert_true(defined == QNN_DEFINITION_DEFINED &&
                form == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    OK(QnnSystemDlc_getQuantParamsScaleOffsetScale(q, &f));
    OK(QnnSystemDlc_getQuantParamsScaleOffsetOffset(q, &i));
    assert_true(f == .1f && i == -128);
    assert_int_equal(QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidth(q, &n),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndex(q, 0, &f),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    q = encoding_of(graphs[0], 1);
    OK(QnnSystemDlc_getQuantParamsAxisScaleOffsetAxis(q, &i));
    OK(QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsets(q, &n));
    assert_true(i == 1 && n == 2);
    OK(QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndex(q, 1, &f));
    OK(QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndex(q, 1, &i));
    assert_true(f == .25f && i == 4);
    assert_int_equal(QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndex(q, 2, &f),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    q = encoding_of(graphs[0], 2);
    OK(QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidth(q, &n));
    assert_int_equal(n, 4);
    OK(QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxis(q, &i));
    OK(QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElements(q, &n));
    assert_true(i == 1 && n == 2);
    OK(QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndex(q, 0, &f));
    OK(QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndex(q, 0, &i));
    assert_true(f == .5f && i == 0);
    OK(QnnSystemDlc_getGraphInfoOutputTensorInfo(graphs[0], 0, &t));
    OK(QnnSystemDlc_getTensorInfoQuantParams(t, &q));
    OK(QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidth(q, &n));
    OK(QnnSystemDlc_getQuantParamsBwScaleOffsetScale(q, &f));
    OK(QnnSystemDlc_getQuantParamsBwScaleOffsetOffset(q, &i));
    assert_true(n == 4 && f == 2 && i == 7);
    OK(QnnSystemDlc_free(d));
}

static void binaries(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc();
    QnnSystemDlc_ContextBinaryInfoHandle_t *list = NULL;
    QnnSystemDlc_ContextGraphInfoHandle_t g = NULL;
    QnnSystemDlc_TensorInfoHandle_t t = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    uint32_t n = 0, a = 0, b = 0, c = 0;
    uint64_t size = 0;
    const char *text = NULL;
    void *blob = NULL;
    OK(QnnSystemDlc_getContextBinaryInfoHandles(d, &list, &n));
    assert_int_equal(n, 1);
    OK(QnnSystemDlc_getContextBinaryInfo(list[0], &info));
    const QnnSystemContext_BinaryInfoV3_t *want = &info->contextBinaryInfoV3;
    const QnnSystemContext_GraphInfoV3_t *graph = &want->graphs[0].graphInfoV3;
#define SAME(call, expected)                                                                       \
    OK(QnnSystemDlc_##call);                                                                       \
    assert_int_equal(n, expected)
    SAME(getContextBinaryInfoBackendId(list[0], &n), want->backendId);
    SAME(getContextBinaryInfoNumGraphs(list[0], &n), want->numGraphs);
    SAME(getContextBinaryInfoNumContextTensors(list[0], &n), want->numContextTensors);
    SAME(getContextBinaryInfoSocModel(list[0], &n), want->socModel);
    SAME(getContextBinaryInfoContextMetadataSize(list[0], &n), want->contextMetadataSize);
    SAME(getContextBinaryInfoHwInfoBlobSize(list[0], &n), 0);
    OK(QnnSystemDlc_getContextBinaryInfoHwInfoBlob(list[0], &blob));
    assert_null(blob);
    OK(QnnSystemDlc_getContextBinaryInfoContextMetadata(list[0], &blob));
    assert_ptr_equal(blob, want->contextMetadata);
    OK(QnnSystemDlc_getContextBinaryInfoBuildId(list[0], &text));
    assert_string_equal(text, want->buildId);
    OK(QnnSystemDlc_getContextBinaryInfoSocVersion(list[0], &text));
    assert_string_equal(text, want->socVersion);
    OK(QnnSystemDlc_getContextBinaryInfoContextBlobSize(list[0], &size));
    assert_int_equal(size, want->contextBlobSize);
    OK(QnnSystemDlc_getContextBinaryInfoCoreApiVersion(list[0], &a, &b, &c));
    assert_int_equal(b, want->coreApiVersion.minor);
    OK(QnnSystemDlc_getContextBinaryInfoBackendApiVersion(list[0], &a, &b, &c));
    assert_int_equal(a, want->backendApiVersion.major);
    OK(QnnSystemDlc_getContextBinaryInfoContextBlobVersion(list[0], &a, &b, &c));
    assert_int_equal(b, want->contextBlobVersion.minor);
    OK(QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersion(list[0], &a, &b, &c));
    assert_true(a == 0 && b == 0 && c == 0);
    assert_int_equal(QnnSystemDlc_getContextBinaryInfoCoreApiVersion(list[0], &a, NULL, &c),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    OK(QnnSystemDlc_getContextGraphInfoHandle(list[0], 0, &g));
    SAME(getContextGraphInfoNumInputTensors(g, &n), graph->numGraphInputs);
    SAME(getContextGraphInfoNumOutputTensors(g, &n), graph->numGraphOutputs);
    SAME(getContextGraphInfoNumUpdateableTensors(g, &n), graph->numUpdateableTensors);
    SAME(getContextGraphInfoGraphBlobInfoSize(g, &n), graph->graphBlobInfoSize);
    SAME(getContextGraphInfoStartOpIndex(g, &n), graph->startOpIndex);
    SAME(getContextGraphInfoEndOpIndex(g, &n), graph->endOpIndex);
    OK(QnnSystemDlc_getContextGraphInfoGraphBlobInfo(g, &blob));
    assert_ptr_equal(blob, graph->graphBlobInfo);
    OK(QnnSystemDlc_getContextGraphInfoGraphName(g, &text));
    assert_string_equal(text, graph->graphName);
    OK(QnnSystemDlc_getContextGraphInfoInputTensorInfo(g, 0, &t));
    OK(QnnSystemDlc_getTensorInfoName(t, &text));
    assert_string_equal(text, graph->graphInputs[0].v1.name);
    OK(QnnSystemDlc_getContextGraphInfoOutputTensorInfo(g, 0, &t));
    assert_int_equal(QnnSystemDlc_getContextGraphInfoUpdateableTensorInfo(g, 99, &t),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_getContextBinaryInfoContextTensorInfo(list[0], 99, &t),
                     QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_getContextGraphInfoGraphName(list[0], &text),
                     QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
    OK(QnnSystemDlc_free(d));
}

static void files_are_written(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc(), again = NULL, empty = NULL;
    uint64_t size = 0, written = 0;
    OK(QnnSystemDlc_getBinarySize(d, &size));
    assert_int_equal(size, n_bytes);
    uint8_t *copy = malloc(size);
    OK(QnnSystemDlc_getBinary(d, copy, size, &written));
    assert_memory_equal(copy, bytes, n_bytes);
    OK(QnnSystemDlc_save(d, "saved.dlc"));
    OK(QnnSystemDlc_createFromFileWithDestinationDir(NULL, "saved.dlc", ".", &again));
    OK(QnnSystemDlc_getBinary(again, copy, size, &written));
    assert_memory_equal(copy, bytes, n_bytes);
    assert_int_equal(remove("saved.dlc"), 0);
    OK(QnnSystemDlc_createWithDestinationDir(NULL, ".", &empty));
    OK(QnnSystemDlc_getBinarySize(empty, &size));
    OK(QnnSystemDlc_getBinary(empty, copy, size, &written));
    OK(QnnSystemDlc_free(again));
    OK(QnnSystemDlc_createFromBinaryWithDestinationDir(NULL, copy, written, NULL, &again));
    PAIR("QnnSystemDlc_getBinarySize", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getBinarySize(d, NULL));
    PAIR("QnnSystemDlc_getBinarySize", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_getBinarySize(NULL, &size));
    PAIR("QnnSystemDlc_getBinary", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_getBinary(d, copy, 5, &written));
    PAIR("QnnSystemDlc_getBinary", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         QnnSystemDlc_getBinary(NULL, copy, size, &written));
    assert_int_equal(QnnSystemDlc_save(d, "no/such/folder.dlc"),
                     QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED);
    assert_int_equal(QnnSystemDlc_save(d, NULL), QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QnnSystemDlc_save(NULL, "x.dlc"), QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
    OK(QnnSystemDlc_free(again));
    OK(QnnSystemDlc_free(empty));
    OK(QnnSystemDlc_free(d));
    free(copy);
}

static void wrong_calls(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    const QnnSystemInterface_t **providers = NULL;
    OK(QnnSystemInterface_getProviders(&providers, &n));
    const QnnSystemDlc_composeGraphsFn_t compose =
        providers[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemDlcComposeGraphs;
    PAIR("QnnSystemDlc_createFromFile", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createFromFile(NULL, NULL, &d));
    PAIR("QnnSystemDlc_createFromFile", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createFromFile(NULL, "no.dlc", &d));
    PAIR("QnnSystemDlc_createFromBinary", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createFromBinary(NULL, bytes, 0, &d));
    PAIR("QnnSystemDlc_createFromFileWithDestinationDir", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createFromFileWithDestinationDir(NULL, NULL, ".", &d));
    PAIR("QnnSystemDlc_createFromBinaryWithDestinationDir", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createFromBinaryWithDestinationDir(NULL, NULL, 5, ".", &d));
    PAIR("QnnSystemDlc_createWithDestinationDir", QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
         QnnSystemDlc_createWithDestinationDir(NULL, ".", NULL));
    assert_int_equal(QnnSystemDlc_createFromBinary(NULL, (const uint8_t *)"PK\3\4", 4, &d),
                     QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY);
    assert_null(d);
    PAIR("QnnSystemDlc_free", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QnnSystemDlc_free(NULL));
    QnnInterface_t interface;
    memset(&interface, 0, sizeof interface);
    PAIR("QnnSystemDlc_composeGraphs", QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
         compose(NULL, NULL, 0, NULL, NULL, interface, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1,
                 &graphs, &n));
    d = open_dlc();
    PAIR("QnnSystemDlc_composeGraphs",
         QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, // a table without functions
         compose(d, NULL, 0, NULL, NULL, interface, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1,
                 &graphs, &n));
    assert_null(graphs);
    OK(QnnSystemDlc_free(d));
}

// A backend that says yes to everything.
static Qnn_ErrorHandle_t yes(void) { return QNN_SUCCESS; }

static void little_memory(void **state) {
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc();
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    const QnnSystemInterface_t **providers = NULL;
    OK(QnnSystemInterface_getProviders(&providers, &n));
    QnnInterface_t interface;
    memset(&interface, 0, sizeof interface);
    for (size_t at = offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME); at < sizeof interface;
         at += sizeof(void *))
        memcpy((char *)&interface + at, &(Qnn_ErrorHandle_t(*)(void)){yes}, sizeof(void *));
    PAIR_MEM("QnnSystemDlc_composeGraphs", QNN_COMMON_ERROR_MEM_ALLOC,
             providers[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemDlcComposeGraphs(
                 d, NULL, 0, NULL, NULL, interface, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3,
                 &graphs, &n));
    assert_int_equal(n, 1);
    assert_string_equal(graphs[0].graphInfoV3.graphInputs[1].v1.name, "w");
    assert_true(graphs[0]
                    .graphInfoV3.graphInputs[1]
                    .v1.quantizeParams.axisScaleOffsetEncoding.scaleOffset[1]
                    .offset == 4);
    free((char *)(uintptr_t)graphs[0].graphInfoV3.graphName);
    free(graphs[0].graphInfoV3.graphInputs);
    free(graphs[0].graphInfoV3.graphOutputs);
    free(graphs[0].graphInfoV3.updateableTensors);
    free(graphs);
    OK(QnnSystemDlc_save(d, "memory.dlc"));
    OK(QnnSystemDlc_free(d));
#define CREATE(function, call)                                                                     \
    PAIR_MEM("QnnSystemDlc_" #function, QNN_COMMON_ERROR_MEM_ALLOC, QnnSystemDlc_##call);          \
    OK(QnnSystemDlc_free(d))
    CREATE(createFromFile, createFromFile(NULL, "memory.dlc", &d));
    CREATE(createFromBinary, createFromBinary(NULL, bytes, n_bytes, &d));
    CREATE(createFromFileWithDestinationDir,
           createFromFileWithDestinationDir(NULL, "memory.dlc", ".", &d));
    CREATE(createFromBinaryWithDestinationDir,
           createFromBinaryWithDestinationDir(NULL, bytes, n_bytes, ".", &d));
    CREATE(createWithDestinationDir, createWithDestinationDir(NULL, ".", &d));
    assert_int_equal(remove("memory.dlc"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records),           cmocka_unit_test(tensors),
        cmocka_unit_test(encodings),         cmocka_unit_test(binaries),
        cmocka_unit_test(files_are_written), cmocka_unit_test(wrong_calls),
        cmocka_unit_test(little_memory),
    };
    return cmocka_run_group_tests(tests, make_file, free_file);
}
