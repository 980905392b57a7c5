// SPDX-License-Identifier: MIT
//
// The two libraries together, as a client opens them: what the HTP backend writes, the System
// library describes, and what it describes can be loaded and run.
#include "../client/qnn_client.h"

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "HTP/QnnHtpSystemContext.h"
#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

enum { SOC = 57, ARCH = 75, N = 8 }; // SM8650

typedef struct world {
    void *htp_lib, *system_lib;
    QNN_INTERFACE_VER_TYPE qnn;
    QNN_SYSTEM_INTERFACE_VER_TYPE sys;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    void *bytes; // a binary of one graph
    uint64_t n_bytes;
    uint32_t ids[2]; // of its tensors x and y, as the backend gave them
} world;

static void *open_symbol(const char *file, const char *symbol, void *fn) {
    char path[4096];
    const char *dir = getenv("QUERN_LIB_DIR");
    snprintf(path, sizeof path, "%s/%s", dir ? dir : ".", file);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        print_error("%s\n", dlerror());
    assert_non_null(lib);
    void *found = dlsym(lib, symbol);
    assert_non_null(found);
    memcpy(fn, &found, sizeof found);
    return lib;
}

static void open_both(world *w) {
    Qnn_ErrorHandle_t (*core)(const QnnInterface_t ***, uint32_t *);
    Qnn_ErrorHandle_t (*sys)(const QnnSystemInterface_t ***, uint32_t *);
    const QnnInterface_t **list = NULL;
    const QnnSystemInterface_t **slist = NULL;
    uint32_t n = 0;
    w->htp_lib = open_symbol("libQnnHtp.so", "QnnInterface_getProviders", &core);
    w->system_lib = open_symbol("libQnnSystem.so", "QnnSystemInterface_getProviders", &sys);
    OK(core(&list, &n));
    OK(sys(&slist, &n));
    w->qnn = list[0]->QNN_INTERFACE_VER_NAME;
    w->sys = slist[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                          .socModel = SOC};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    OK(w->qnn.backendCreate(NULL, NULL, &w->backend));
    OK(w->qnn.deviceCreate(NULL, configs, &w->device));
}

// Options: level 3, 2 MB of VTCM, 2 HVX threads, DLBC.
static void make_graph(world *w, Qnn_ContextHandle_t context) {
    QnnHtpGraph_CustomConfig_t custom[4] = {
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
         .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3}},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB, .vtcmSizeInMB = 2},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS, .numHvxThreads = 2},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
         .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, 1}},
    };
    QnnGraph_Config_t list[4];
    const QnnGraph_Config_t *configs[5] = {NULL};
    for (int i = 0; i < 4; i++) {
        list[i] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &custom[i]};
        configs[i] = &list[i];
    }
    uint32_t dims[] = {1, N};
    Qnn_GraphHandle_t g;
    OK(w->qnn.graphCreate(context, "relu", configs, &g));
    Qnn_Tensor_t x = describe_u8("x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims, 0.1f, -128);
    Qnn_Tensor_t y = describe_u8("y", QNN_TENSOR_TYPE_APP_READ, 2, dims, 0.1f, -128);
    OK(w->qnn.tensorCreateGraphTensor(g, &x));
    OK(w->qnn.tensorCreateGraphTensor(g, &y));
    w->ids[0] = x.v1.id;
    w->ids[1] = y.v1.id;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){"relu", QNN_OP_PACKAGE_NAME_QTI_AISW, "Relu", 0, NULL, 1, &x, 1, &y};
    OK(w->qnn.graphAddNode(g, op));
    OK(w->qnn.graphFinalize(g, NULL, NULL));
}

static int set_up(void **state) {
    static world w;
    memset(&w, 0, sizeof w);
    open_both(&w);
    Qnn_ContextHandle_t context = NULL;
    OK(w.qnn.contextCreate(w.backend, w.device, NULL, &context));
    make_graph(&w, context);
    OK(w.qnn.contextGetBinarySize(context, &w.n_bytes));
    w.bytes = malloc(w.n_bytes);
    assert_non_null(w.bytes);
    Qnn_ContextBinarySize_t written = 0;
    OK(w.qnn.contextGetBinary(context, w.bytes, w.n_bytes, &written));
    assert_true(written <= w.n_bytes);
    w.n_bytes = written;
    OK(w.qnn.contextFree(context, NULL));
    *state = &w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    OK(w->qnn.deviceFree(w->device));
    OK(w->qnn.backendFree(w->backend));
    free(w->bytes);
    dlclose(w->system_lib);
    dlclose(w->htp_lib);
    return 0;
}

static void htp_bin_09_the_description_has_the_options(void **state) {
    world *w = *state;
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t n = 0;
    OK(w->sys.systemContextCreate(&h));
    OK(w->sys.systemContextGetBinaryInfo(h, w->bytes, w->n_bytes, &info, &n));
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    assert_int_equal(v->backendId, 6);
    const char *id = NULL;
    OK(w->qnn.backendGetBuildId(&id));
    assert_string_equal(v->buildId, id); // one version everywhere, in the form that clients parse
    unsigned major, minor, patch;
    assert_int_equal(sscanf(id, "v%u.%u.%u.", &major, &minor, &patch), 3);
    assert_true(major == 2 && minor == 51 && patch == 0); // the release with core API 2.40
    assert_int_equal(v->socModel, SOC);
    assert_string_equal(v->socVersion, "SM8650");
    const QnnHtpSystemContext_ContextBlobInfo_t *c = v->contextMetadata;
    assert_int_equal(c->contextBinaryContextBlobInfoV1.dspArch, ARCH);
    assert_int_equal(v->numGraphs, 1);
    const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[0].graphInfoV3;
    assert_string_equal(g->graphName, "relu");
    const QnnHtpSystemContext_GraphBlobInfo_t *b = g->graphBlobInfo;
    assert_int_equal(b->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1);
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.spillFillBufferSize, 0);
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.vtcmSize, 2);
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.optimizationLevel, 3);
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.htpDlbc, 1);
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.numHvxThreads, 2);
    const QnnHtpSystemContext_GraphBlobInfoV2_t *b2 = (const void *)(b + 1);
    assert_int_equal(b2->ioTensorSize, 2 * N);
    assert_int_equal(b2->constSize, 0);
    OK(w->sys.systemContextFree(h));
}

// As an execution provider does: the tensors of the description are those that are executed.
static void described_tensors_execute(void **state) {
    world *w = *state;
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    OK(w->sys.systemContextCreate(&h));
    OK(w->sys.systemContextGetMetaData(h, w->bytes, w->n_bytes, &info));
    Qnn_ContextHandle_t context = NULL;
    OK(w->qnn.contextCreateFromBinary(w->backend, w->device, NULL, w->bytes, w->n_bytes, &context,
                                      NULL));
    const QnnSystemContext_GraphInfoV3_t *g = &info->contextBinaryInfoV3.graphs[0].graphInfoV3;
    assert_int_equal(g->numGraphInputs, 1);
    assert_int_equal(g->numGraphOutputs, 1);
    Qnn_Tensor_t x = g->graphInputs[0], y = g->graphOutputs[0];
    assert_int_equal(x.v1.id, w->ids[0]);
    assert_int_equal(y.v1.id, w->ids[1]);
    assert_true(x.v1.quantizeParams.scaleOffsetEncoding.scale == 0.1f);
    assert_int_equal(y.v1.quantizeParams.scaleOffsetEncoding.offset, -128);
    Qnn_GraphHandle_t graph = NULL;
    OK(w->qnn.graphRetrieve(context, g->graphName, &graph));
    uint8_t in[N] = {0, 1, 127, 128, 129, 200, 254, 255}, out[N] = {0};
    const uint8_t want[N] = {128, 128, 128, 128, 129, 200, 254, 255};
    x.v1.clientBuf = (Qnn_ClientBuffer_t){in, N};
    y.v1.clientBuf = (Qnn_ClientBuffer_t){out, N};
    OK(w->qnn.graphExecute(graph, &x, 1, &y, 1, NULL, NULL));
    assert_memory_equal(out, want, N);
    OK(w->sys.systemContextFree(h));
    OK(w->qnn.contextFree(context, NULL));
}

// A chain of three ops on 4 MiB: two values are alive at the middle one, 2 MB of them fit in VTCM.
static void htp_bin_09_spill_fill_is_what_vtcm_does_not_hold(void **state) {
    enum { BYTES = 4 << 20 };
    world *w = *state;
    QnnHtpGraph_CustomConfig_t vtcm = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB,
                                       .vtcmSizeInMB = 2};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &vtcm};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    static const char *const names[] = {"x", "a", "b", "y"};
    uint32_t dims[] = {4, BYTES / 4};
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;
    Qnn_Tensor_t t[4];
    OK(w->qnn.contextCreate(w->backend, w->device, NULL, &context));
    OK(w->qnn.graphCreate(context, "chain", configs, &graph));
    for (int i = 0; i < 4; i++) {
        t[i] = describe_u8(names[i],
                           i == 0   ? QNN_TENSOR_TYPE_APP_WRITE
                           : i == 3 ? QNN_TENSOR_TYPE_APP_READ
                                    : QNN_TENSOR_TYPE_NATIVE,
                           2, dims, 0.1f, -128);
        t[i].v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){1.0f / 256, 0};
        OK(w->qnn.tensorCreateGraphTensor(graph, &t[i]));
    }
    for (int i = 0; i < 3; i++) {
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1 = (Qnn_OpConfigV1_t){
            names[i], QNN_OP_PACKAGE_NAME_QTI_AISW, "Sigmoid", 0, NULL, 1, &t[i], 1, &t[i + 1]};
        OK(w->qnn.graphAddNode(graph, op));
    }
    OK(w->qnn.graphFinalize(graph, NULL, NULL));
    QnnHtpContext_CustomProperty_t custom = {
        .option = QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE};
    QnnContext_Property_t property = {.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM,
                                      .customProperty = &custom};
    QnnContext_Property_t *properties[] = {&property, NULL};
    OK(w->qnn.contextGetProperty(context, properties));
    assert_int_equal(custom.spillfillBufferSize, 2 * BYTES - (2 << 20));
    Qnn_ContextBinarySize_t size = 0, written = 0;
    OK(w->qnn.contextGetBinarySize(context, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    OK(w->qnn.contextGetBinary(context, bytes, size, &written));
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    OK(w->sys.systemContextCreate(&h));
    OK(w->sys.systemContextGetMetaData(h, bytes, written, &info));
    const QnnHtpSystemContext_GraphBlobInfo_t *b =
        info->contextBinaryInfoV3.graphs[0].graphInfoV3.graphBlobInfo;
    assert_int_equal(b->contextBinaryGraphBlobInfoV1.spillFillBufferSize, 2 * BYTES - (2 << 20));
    OK(w->sys.systemContextFree(h));
    OK(w->qnn.contextFree(context, NULL));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_bin_09_the_description_has_the_options),
        cmocka_unit_test(htp_bin_09_spill_fill_is_what_vtcm_does_not_hold),
        cmocka_unit_test(described_tensors_execute),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
