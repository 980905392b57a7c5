// SPDX-License-Identifier: MIT
//
// libQnnCpu.so as a client sees it: opened, asked for its table, used in the order a real client
// uses it, closed and opened again. Whatever it claims as a capability is tried.
#include "CPU/QnnCpuCommon.h"
#include "QnnInterface.h"
#include "QnnOpDef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *library;
static QNN_INTERFACE_VER_TYPE api;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

static void open_library(void) {
    char path[4096];
    const char *dir = getenv("QUERN_LIB_DIR");
    snprintf(path, sizeof path, "%s/libQnnCpu.so", dir ? dir : "build/lib");
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        print_error("%s\n", dlerror());
    assert_non_null(library);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    assert_non_null((void *)get);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    assert_int_equal(n, 1);
    assert_int_equal(list[0]->backendId, QNN_BACKEND_ID_CPU);
    assert_string_equal(list[0]->providerName, QNN_CPU_INTERFACE_PROVIDER_NAME);
    assert_int_equal(list[0]->apiVersion.coreApiVersion.major, QNN_API_VERSION_MAJOR);
    assert_int_equal(list[0]->apiVersion.coreApiVersion.minor, 40);
    assert_int_equal(list[0]->apiVersion.backendApiVersion.major, QNN_CPU_API_VERSION_MAJOR);
    assert_int_equal(list[0]->apiVersion.backendApiVersion.minor, QNN_CPU_API_VERSION_MINOR);
    api = list[0]->QNN_INTERFACE_VER_NAME;
}

static int setup(void **state) {
    (void)state;
    open_library();
    OK(api.backendCreate(NULL, NULL, &backend));
    OK(api.contextCreate(backend, NULL, NULL, &context));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    OK(api.contextFree(context, NULL));
    OK(api.backendFree(backend));
    assert_int_equal(dlclose(library), 0);
    return 0;
}

enum { N = 1000 };
static uint32_t dims[1] = {N};

static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 1;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

// in -> Relu -> Relu -> out; returns the finalized graph and its application tensors.
static Qnn_GraphHandle_t make_graph(const char *name, Qnn_Tensor_t *in, Qnn_Tensor_t *out,
                                    Qnn_ProfileHandle_t profile) {
    Qnn_GraphHandle_t g = NULL;
    Qnn_Tensor_t middle = tensor("middle", QNN_TENSOR_TYPE_NATIVE);
    *in = tensor("in", QNN_TENSOR_TYPE_APP_WRITE);
    *out = tensor("out", QNN_TENSOR_TYPE_APP_READ);
    OK(api.graphCreate(context, name, NULL, &g));
    OK(api.tensorCreateGraphTensor(g, in));
    OK(api.tensorCreateGraphTensor(g, &middle));
    OK(api.tensorCreateGraphTensor(g, out));
    for (unsigned i = 0; i < 2; i++) {
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1.name = i ? "second" : "first";
        op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
        op.v1.typeName = QNN_OP_RELU;
        op.v1.numOfInputs = op.v1.numOfOutputs = 1;
        op.v1.inputTensors = i ? &middle : in;
        op.v1.outputTensors = i ? out : &middle;
        OK(api.backendValidateOpConfig(backend, op));
        OK(api.graphAddNode(g, op));
    }
    OK(api.graphFinalize(g, profile, NULL));
    return g;
}

static void fill(float *x) {
    for (unsigned i = 0; i < N; i++)
        x[i] = (float)i - 500;
}

static void check(const float *y) {
    for (unsigned i = 0; i < N; i++)
        assert_true(y[i] == (i > 500 ? (float)i - 500 : 0));
}

static void a_client_runs_from_load_to_unload_and_again(void **state) {
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        open_library();
        const char *id = NULL;
        Qnn_LogHandle_t log;
        Qnn_DeviceHandle_t device;
        const QnnContext_Config_t *none[] = {NULL};
        Qnn_Tensor_t in, out;
        static float x[N], y[N];
        OK(api.backendGetBuildId(&id));
        assert_int_equal(id[0], 'v');
        OK(api.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
        OK(api.backendCreate(log, NULL, &backend));
        OK(api.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE));
        OK(api.deviceCreate(log, NULL, &device));
        OK(api.contextCreate(backend, device, none, &context));
        Qnn_GraphHandle_t g = make_graph("relu", &in, &out, NULL);
        fill(x);
        in.v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
        out.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
        OK(api.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
        check(y);
        assert_int_equal(api.deviceFree(device), QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT);
        OK(api.contextFree(context, NULL));
        OK(api.deviceFree(device));
        OK(api.backendFree(backend));
        OK(api.logFree(log));
        assert_int_equal(dlclose(library), 0);
    }
}

static void memory_behind_a_file_descriptor_is_used_in_place(void **state) {
    (void)state;
    Qnn_Tensor_t in, out;
    Qnn_GraphHandle_t g = make_graph("relu", &in, &out, NULL);
    int fd[2];
    float *map[2];
    Qnn_MemDescriptor_t d[2];
    Qnn_MemHandle_t h[2];
    for (unsigned i = 0; i < 2; i++) {
        fd[i] = memfd_create("tensor", 0);
        assert_int_equal(ftruncate(fd[i], N * sizeof(float)), 0);
        map[i] = mmap(NULL, N * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
        assert_true(map[i] != MAP_FAILED);
        d[i] = (Qnn_MemDescriptor_t){.memShape = {1, dims, NULL},
                                     .dataType = QNN_DATATYPE_FLOAT_32,
                                     .memType = QNN_MEM_TYPE_ION,
                                     .ionInfo = {fd[i]}};
    }
    d[1].memType = QNN_MEM_TYPE_DMA_BUF;
    for (unsigned mapped = 0; mapped < 2; mapped++) { // the library maps it, or the client did
        d[1].dmaBufInfo = (Qnn_MemDmaBufInfo_t){fd[1], mapped ? map[1] : NULL};
        OK(api.memRegister(context, d, 2, h));
        fill(map[0]);
        memset(map[1], 0xFF, N * sizeof(float));
        in.v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        in.v1.memHandle = h[0];
        out.v1.memHandle = h[1];
        OK(api.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
        check(map[1]);
        OK(api.memDeRegister(h, 2));
    }
    Qnn_MemDescriptor_t bad = d[0];
    bad.ionInfo.fd = -1;
    assert_int_equal(api.memRegister(context, &bad, 1, h), QNN_MEM_ERROR_MAPPING);
    uint32_t more[1] = {N + 1};
    bad = d[0];
    bad.memShape.dimSize = more; // larger than the file
    assert_int_equal(api.memRegister(context, &bad, 1, h), QNN_MEM_ERROR_MAPPING);
    bad = d[0];
    bad.memType = QNN_MEM_TYPE_CUSTOM;
    assert_int_equal(api.memRegister(context, &bad, 1, h), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE);
    OK(api.memRegister(context, d, 1, h)); // left to contextFree
    for (unsigned i = 0; i < 2; i++) {
        munmap(map[i], N * sizeof(float));
        close(fd[i]);
    }
}

// The one top-level event of this type; its children are returned.
static uint32_t event(Qnn_ProfileHandle_t p, uint32_t type, QnnProfile_EventData_t *data,
                      const QnnProfile_EventId_t **children) {
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0, n_children = 0, found = 0;
    OK(api.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        OK(api.profileGetEventData(ids[i], &e));
        if (e.type != type)
            continue;
        found++;
        *data = e;
        OK(api.profileGetSubEvents(ids[i], children, &n_children));
    }
    assert_int_equal(found, 1);
    return n_children;
}

static void a_profile_holds_the_last_call(void **state) {
    (void)state;
    Qnn_ProfileHandle_t p;
    Qnn_Tensor_t in, out;
    static float x[N], y[N];
    QnnProfile_EventData_t data, node;
    const QnnProfile_EventId_t *children = NULL;
    OK(api.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    Qnn_GraphHandle_t g = make_graph("profiled", &in, &out, p);
    event(p, QNN_PROFILE_EVENTTYPE_FINALIZE, &data, &children);
    in.v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
    out.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
    OK(api.graphExecute(g, &in, 1, &out, 1, p, NULL));
    uint32_t n = event(p, QNN_PROFILE_EVENTTYPE_EXECUTE, &data, &children);
    assert_int_equal(data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
    uint64_t sum = 0;
    unsigned nodes = 0;
    for (uint32_t i = 0; i < n; i++) {
        OK(api.profileGetEventData(children[i], &node));
        if (node.type != QNN_PROFILE_EVENTTYPE_NODE)
            continue;
        sum += node.value;
        nodes++;
        QnnProfile_ExtendedEventData_t more;
        OK(api.profileGetExtendedEventData(children[i], &more));
        assert_int_equal(more.v1.value.uint64Value, node.value);
    }
    assert_int_equal(nodes, 2);
    assert_true(sum <= data.value + nodes); // nodes are parts of the whole; each may round up
    OK(api.profileFree(p));
}

static void a_signal_ends_an_execution(void **state) {
    (void)state;
    Qnn_SignalHandle_t s;
    Qnn_Tensor_t in, out;
    static float x[N], y[N];
    QnnSignal_Config_t now = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 0};
    const QnnSignal_Config_t *list[] = {&now, NULL};
    Qnn_GraphHandle_t g = make_graph("signalled", &in, &out, NULL);
    in.v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
    out.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
    OK(api.signalCreate(backend, list, &s));
    assert_int_equal(api.graphExecute(g, &in, 1, &out, 1, NULL, s), QNN_GRAPH_ERROR_TIMED_OUT);
    now.timeoutDurationUs = 60000000;
    OK(api.signalSetConfig(s, list));
    fill(x);
    OK(api.graphExecute(g, &in, 1, &out, 1, NULL, s));
    check(y);
    OK(api.signalFree(s));
}

static void what_the_library_lacks_is_refused(void **state) {
    (void)state;
    static const QnnProperty_Key_t lacks[] = {
        QNN_PROPERTY_CONTEXT_SUPPORT_CACHING,
        QNN_PROPERTY_GRAPH_SUPPORT_PRIORITY_CONTROL,
        QNN_PROPERTY_GRAPH_SUPPORT_BATCH_MULTIPLE,
        QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_CUSTOM,
        QNN_PROPERTY_DEVICE_SUPPORT_INFRASTRUCTURE,
        QNN_PROPERTY_PROFILE_SUPPORT_OPTRACE_CONFIG,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_MICROSCALING,
        QNN_PROPERTY_GROUP_CUSTOM,
    };
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        assert_int_equal(api.propertyHasCapability(lacks[i]), QNN_PROPERTY_NOT_SUPPORTED);
    QnnDevice_Infrastructure_t infra = NULL;
    const QnnDevice_PlatformInfo_t *info = NULL;
    uint64_t size = 0;
    Qnn_ProfileHandle_t p;
    assert_int_equal(api.deviceGetInfrastructure(&infra), QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(api.deviceGetPlatformInfo(NULL, &info), QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(api.contextGetBinarySize(context, &size),
                     QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(api.profileCreate(backend, 7001, &p), QNN_PROFILE_ERROR_UNSUPPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_runs_from_load_to_unload_and_again),
        TEST(memory_behind_a_file_descriptor_is_used_in_place),
        TEST(a_profile_holds_the_last_call),
        TEST(a_signal_ends_an_execution),
        TEST(what_the_library_lacks_is_refused),
    };
    return cmocka_run_group_tests_name("libQnnCpu", tests, NULL, NULL);
}
