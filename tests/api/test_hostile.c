// SPDX-License-Identifier: MIT
//
// Every function of the table with wrong handles in each handle argument (NULL, made up, freed, of
// another kind) and NULL in each pointer argument: an error, never a crash, nothing written.
#include "build.h"
#include "pairs.h"

enum { N_KINDS = 8, N_BAD = 3 };

static Qnn_LogHandle_t a_log;
static Qnn_DeviceHandle_t a_device;
static Qnn_ProfileHandle_t a_profile;
static Qnn_SignalHandle_t a_signal;
static Qnn_MemHandle_t a_mem;
static relu_graph relu;
static void *wrong[N_BAD + N_KINDS]; // bad ones, then one living handle of each kind
static unsigned n_wrong;

static int setup(void **state) {
    if (build_setup(state))
        return 1;
    uint32_t dims[1] = {4};
    Qnn_MemDescriptor_t d = {.memShape = {1, dims, NULL},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {3}};
    OK(QnnLog_create(NULL, QNN_LOG_LEVEL_ERROR, &a_log));
    OK(QnnDevice_create(NULL, NULL, &a_device));
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &a_profile));
    OK(QnnSignal_create(backend, NULL, &a_signal));
    OK(QnnMem_register(context, &d, 1, &a_mem));
    relu_build(&relu, "relu", 4);
    n_wrong = 0;
    wrong[n_wrong++] = NULL;
    wrong[n_wrong++] = (void *)(uintptr_t)0x123456789abcdef1;
    wrong[n_wrong++] = stale_context();
    wrong[n_wrong++] = a_log;
    wrong[n_wrong++] = backend;
    wrong[n_wrong++] = a_device;
    wrong[n_wrong++] = context;
    wrong[n_wrong++] = relu.handle;
    wrong[n_wrong++] = a_profile;
    wrong[n_wrong++] = a_signal;
    wrong[n_wrong++] = a_mem;
    return 0;
}

static int teardown(void **state) {
    OK(QnnProfile_free(a_profile));
    OK(QnnSignal_free(a_signal));
    OK(QnnDevice_free(a_device));
    OK(QnnLog_free(a_log));
    return build_teardown(state);
}

// The call, which mentions `h`, must fail for every handle but `right`. `h` may be NULL only if the
// argument is not optional.
#define REFUSES_FROM(first, right, call)                                                           \
    for (unsigned i_ = (first); i_ < n_wrong; i_++) {                                              \
        void *h = wrong[i_];                                                                       \
        if (h != (right) && (call) == QNN_SUCCESS)                                                 \
            fail_msg("%s with wrong handle %u", #call, i_);                                        \
    }
#define REFUSES(right, call) REFUSES_FROM(0, right, call)
#define REFUSES_OPTIONAL(right, call) REFUSES_FROM(1, right, call)
#define FAILS(call) assert_int_not_equal(call, QNN_SUCCESS)

static void *const untouched = (void *)7;

static void backend_log_and_device(void **state) {
    (void)state;
    void *out = untouched;
    uint32_t n = 7;
    const QnnBackend_OperationName_t *ops = untouched;
    const QnnDevice_PlatformInfo_t *info = untouched;
    const QnnBackend_Config_t *bc[] = {NULL};
    const QnnDevice_Config_t *dc[] = {NULL};
    QnnBackend_Property_t *bp[] = {NULL};
    REFUSES_OPTIONAL(a_log, QnnBackend_create(h, NULL, &out));
    REFUSES(backend, QnnBackend_setConfig(h, bc));
    REFUSES(backend, QnnBackend_registerOpPackage(h, "p", "i", NULL));
    REFUSES(backend, QnnBackend_registerOpPackageFromBinary(h, "p", 1, "i", NULL));
    REFUSES_OPTIONAL(backend, QnnBackend_getSupportedOperations(h, &n, &ops));
    REFUSES(backend, QnnBackend_getProperty(h, bp));
    REFUSES(backend, QnnBackend_validateOpConfig(h, op("n", QNN_OP_RELU, &relu.x, 1, &relu.y, 1)));
    REFUSES(backend, QnnBackend_free(h));
    FAILS(QnnBackend_free(backend)); // the context lives
    REFUSES(a_log, QnnLog_setLogLevel(h, QNN_LOG_LEVEL_INFO));
    REFUSES(a_log, QnnLog_free(h));
    REFUSES_OPTIONAL(a_log, QnnDevice_getPlatformInfo(h, &info));
    REFUSES_OPTIONAL(a_log, QnnDevice_freePlatformInfo(h, info));
    REFUSES_OPTIONAL(a_log, QnnDevice_create(h, NULL, &out));
    REFUSES(a_device, QnnDevice_setConfig(h, dc));
    REFUSES(a_device, QnnDevice_getInfo(h, &info));
    REFUSES(a_device, QnnDevice_free(h));
    assert_ptr_equal(out, untouched);
    assert_ptr_equal(ops, untouched);
    assert_ptr_equal(info, untouched);
    assert_int_equal(n, 7);
}

static void profile_signal_and_memory(void **state) {
    (void)state;
    void *out = untouched;
    uint32_t n = 7;
    const QnnProfile_EventId_t *ids = untouched;
    const QnnProfile_Config_t *pc[] = {NULL};
    const QnnSignal_Config_t *sc[] = {NULL};
    QnnProfile_EventData_t data;
    QnnProfile_ExtendedEventData_t more;
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    REFUSES(backend, QnnProfile_create(h, QNN_PROFILE_LEVEL_BASIC, &out));
    REFUSES(a_profile, QnnProfile_setConfig(h, pc));
    REFUSES(a_profile, QnnProfile_getEvents(h, &ids, &n));
    REFUSES(NULL, QnnProfile_getSubEvents((uintptr_t)h, &ids, &n));
    REFUSES(NULL, QnnProfile_getEventData((uintptr_t)h, &data));
    REFUSES(NULL, QnnProfile_getExtendedEventData((uintptr_t)h, &more));
    REFUSES(a_profile, QnnProfile_free(h));
    REFUSES(backend, QnnSignal_create(h, NULL, &out));
    REFUSES(a_signal, QnnSignal_setConfig(h, sc));
    REFUSES(NULL, QnnSignal_trigger(h)); // even the right one: it is idle
    REFUSES(a_signal, QnnSignal_free(h));
    REFUSES(context, QnnMem_register(h, &d, 1, &out));
    REFUSES(a_mem, QnnMem_deRegister(&h, 1));
    assert_ptr_equal(out, untouched);
    assert_ptr_equal(ids, untouched);
    assert_int_equal(n, 7);
}

static void context_functions(void **state) {
    (void)state;
    static const char blob[16] = "fault binary";
    char buf[64];
    void *out = untouched;
    const void *piece = untouched;
    uint64_t size = 7, offset = 7;
    const QnnContext_Config_t *cc[] = {NULL};
    QnnContext_Property_t *cp[] = {NULL};
    QnnContext_Buffer_t b = {0};
    Qnn_ContextBinaryCallback_t cb = {0};
    REFUSES(backend, QnnContext_create(h, NULL, NULL, &out));
    REFUSES_OPTIONAL(a_device, QnnContext_create(backend, h, NULL, &out));
    REFUSES(context, QnnContext_setConfig(h, cc));
    REFUSES(context, QnnContext_getBinarySize(h, &size));
    REFUSES(context, QnnContext_getBinary(h, buf, sizeof buf, &size));
    REFUSES(backend, QnnContext_createFromBinary(h, NULL, NULL, blob, 16, &out, NULL));
    REFUSES_OPTIONAL(a_device, QnnContext_createFromBinary(backend, h, NULL, blob, 16, &out, NULL));
    REFUSES_OPTIONAL(a_profile,
                     QnnContext_createFromBinary(backend, NULL, NULL, blob, 16, &out, h));
    REFUSES(backend,
            QnnContext_createFromBinaryWithSignal(h, NULL, NULL, blob, 16, &out, NULL, NULL));
    REFUSES_OPTIONAL(a_signal, QnnContext_createFromBinaryWithSignal(backend, NULL, NULL, blob, 16,
                                                                     &out, NULL, h));
    REFUSES(NULL, QnnContext_createFromBinaryListAsync(h, NULL, NULL, NULL, NULL));
    REFUSES(NULL, QnnContext_createFromBinaryWithCallback(h, NULL, NULL, &cb, blob, 16, &out, NULL,
                                                          NULL));
    REFUSES(backend, QnnContext_validateBinary(h, NULL, NULL, blob, 16));
    REFUSES_OPTIONAL(a_device, QnnContext_validateBinary(backend, h, NULL, blob, 16));
    REFUSES(context, QnnContext_getBinarySectionSize(h, relu.handle, 1, &size));
    REFUSES_OPTIONAL(relu.handle, QnnContext_getBinarySectionSize(context, h, 1, &size));
    REFUSES(NULL, QnnContext_getBinarySection(h, relu.handle, 1, &b, &size, NULL, NULL));
    REFUSES(NULL, QnnContext_applyBinarySection(h, relu.handle, 1, &b, NULL, NULL));
    REFUSES(context, QnnContext_getProperty(h, cp));
    REFUSES(context, QnnContext_getIncrementalBinary(h, &piece, &offset, &size));
    REFUSES(NULL, QnnContext_releaseIncrementalBinary(h, blob, 0));
    REFUSES(NULL, QnnContext_finalize(h, NULL));
    REFUSES(NULL, QnnContext_addToDlc(h, NULL));
    REFUSES(NULL, QnnContext_getBinarySectionUpdate(&b, NULL, NULL, 0, 0, h, NULL, NULL, &b));
    REFUSES(NULL, QnnContext_freeBinarySectionUpdate(b, h));
    REFUSES_OPTIONAL(a_profile, QnnContext_free(context, h));
    REFUSES(context, QnnContext_free(h, NULL));
    assert_ptr_equal(out, untouched);
    assert_ptr_equal(piece, untouched);
    assert_int_equal(size, 7);
    assert_int_equal(offset, 7);
}

static void notify(void *param, Qnn_NotifyStatus_t status) {
    (void)status;
    *(unsigned *)param += 1;
}

static void graph_and_tensor_functions(void **state) {
    (void)state;
    void *out = untouched;
    float x[4], y[4];
    unsigned notified = 0;
    QnnGraph_ValidationResult_t *result = untouched;
    const QnnGraph_Config_t *gc[] = {NULL};
    QnnGraph_Property_t *gp[] = {NULL};
    uint32_t dims[1] = {4};
    Qnn_Tensor_t t = describe("t", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 1, dims);
    const Qnn_Tensor_t *list[] = {&relu.x};
    relu_bind(&relu, x, y);
    Qnn_OpConfig_t node = op("n", QNN_OP_RELU, &relu.x, 1, &relu.y, 1);
    REFUSES(context, QnnGraph_create(h, "g", NULL, &out));
    REFUSES(relu.handle, QnnGraph_createSubgraph(h, "s", &out));
    REFUSES(relu.handle, QnnGraph_setConfig(h, gc));
    REFUSES(relu.handle, QnnGraph_getProperty(h, gp));
    REFUSES(relu.handle, QnnGraph_addNode(h, node));
    REFUSES(relu.handle, QnnGraph_validate(h, NULL, &result));
    REFUSES(NULL, QnnGraph_freeValidationResult(h));
    REFUSES(relu.handle, QnnTensor_createGraphTensor(h, &t));
    REFUSES(context, QnnTensor_createContextTensor(h, &t));
    REFUSES(NULL, QnnTensor_updateGraphTensors(h, list, 1));
    REFUSES(NULL, QnnTensor_updateContextTensors(h, list, 1));
    REFUSES(context, QnnGraph_retrieve(h, "relu", &out));
    REFUSES_OPTIONAL(a_profile, QnnGraph_finalize(relu.handle, h, NULL));
    REFUSES_OPTIONAL(a_signal, QnnGraph_finalize(relu.handle, NULL, h));
    REFUSES(relu.handle, QnnGraph_finalize(h, NULL, NULL));
    OK(QnnGraph_finalize(relu.handle, NULL, NULL));
    REFUSES(relu.handle, QnnGraph_execute(h, &relu.x, 1, &relu.y, 1, NULL, NULL));
    REFUSES_OPTIONAL(a_profile, RUN(&relu, h, NULL));
    REFUSES_OPTIONAL(a_signal, RUN(&relu, NULL, h));
    REFUSES(relu.handle,
            QnnGraph_executeAsync(h, &relu.x, 1, &relu.y, 1, NULL, NULL, notify, &notified));
    REFUSES_OPTIONAL(a_signal, QnnGraph_executeAsync(relu.handle, &relu.x, 1, &relu.y, 1, NULL, h,
                                                     notify, &notified));
    Qnn_Tensor_t shared = relu.x;
    shared.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    REFUSES(a_mem, (shared.v1.memHandle = h,
                    QnnGraph_execute(relu.handle, &shared, 1, &relu.y, 1, NULL, NULL)));
    REFUSES(NULL, QnnGraph_prepareExecutionEnvironment(h, NULL, 1));
    REFUSES(NULL, QnnGraph_releaseExecutionEnvironment(h, NULL, 1));
    assert_ptr_equal(out, untouched);
    assert_ptr_equal(result, untouched);
    assert_int_equal(t.v1.id, 0);
    assert_int_equal(notified, 0); // a call that failed does not notify
}

static void null_pointers(void **state) {
    (void)state;
    Qnn_OpConfig_t none = QNN_OPCONFIG_INIT, bad_lists = QNN_OPCONFIG_INIT;
    bad_lists.v1.name = "n";
    bad_lists.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    bad_lists.v1.typeName = QNN_OP_RELU;
    bad_lists.v1.numOfInputs = bad_lists.v1.numOfOutputs = bad_lists.v1.numOfParams = 1;
    uint64_t size;
    char buf[16];
    FAILS(QnnBackend_validateOpConfig(backend, none));
    FAILS(QnnBackend_validateOpConfig(backend, bad_lists));
    FAILS(QnnGraph_addNode(relu.handle, none));
    FAILS(QnnGraph_addNode(relu.handle, bad_lists));
    FAILS(QnnGraph_create(context, NULL, NULL, NULL));
    FAILS(QnnGraph_create(context, "g", NULL, NULL));
    FAILS(QnnGraph_createSubgraph(relu.handle, NULL, NULL));
    FAILS(QnnGraph_setConfig(relu.handle, NULL));
    FAILS(QnnGraph_getProperty(relu.handle, NULL));
    FAILS(QnnGraph_retrieve(context, NULL, NULL));
    FAILS(QnnGraph_retrieve(context, "relu", NULL));
    FAILS(QnnGraph_validate(relu.handle, NULL, NULL));
    FAILS(QnnTensor_createGraphTensor(relu.handle, NULL));
    FAILS(QnnTensor_createContextTensor(context, NULL));
    FAILS(QnnTensor_updateGraphTensors(relu.handle, NULL, 1));
    FAILS(QnnTensor_updateContextTensors(context, NULL, 1));
    FAILS(QnnContext_create(backend, NULL, NULL, NULL));
    FAILS(QnnContext_setConfig(context, NULL));
    FAILS(QnnContext_getBinarySize(context, NULL));
    FAILS(QnnContext_getBinary(context, NULL, 16, &size));
    FAILS(QnnContext_getBinary(context, buf, 16, NULL));
    FAILS(QnnContext_createFromBinary(backend, NULL, NULL, NULL, 16, NULL, NULL));
    FAILS(QnnContext_createFromBinary(backend, NULL, NULL, buf, 16, NULL, NULL));
    FAILS(QnnContext_createFromBinaryWithSignal(backend, NULL, NULL, NULL, 16, NULL, NULL, NULL));
    FAILS(QnnContext_createFromBinaryWithCallback(backend, NULL, NULL, NULL, NULL, 0, NULL, NULL,
                                                  NULL));
    FAILS(QnnContext_validateBinary(backend, NULL, NULL, NULL, 16));
    FAILS(QnnContext_getBinarySectionSize(context, relu.handle, 1, NULL));
    FAILS(QnnContext_getBinarySection(context, relu.handle, 1, NULL, NULL, NULL, NULL));
    FAILS(QnnContext_applyBinarySection(context, relu.handle, 1, NULL, NULL, NULL));
    FAILS(QnnContext_getProperty(context, NULL));
    FAILS(QnnContext_getIncrementalBinary(context, NULL, NULL, NULL));
    FAILS(QnnContext_releaseIncrementalBinary(context, NULL, 0));
    FAILS(QnnContext_getBinarySectionUpdate(NULL, NULL, NULL, 1, 0, NULL, NULL, NULL, NULL));
    OK(QnnGraph_finalize(relu.handle, NULL, NULL));
    FAILS(QnnGraph_execute(relu.handle, NULL, 1, NULL, 1, NULL, NULL));
    FAILS(QnnGraph_execute(relu.handle, NULL, 0, NULL, 0, NULL, NULL));
    FAILS(QnnGraph_executeAsync(relu.handle, NULL, 1, NULL, 1, NULL, NULL, NULL, NULL));
    FAILS(QnnGraph_prepareExecutionEnvironment(relu.handle, NULL, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(backend_log_and_device), TEST(profile_signal_and_memory),
        TEST(context_functions),      TEST(graph_and_tensor_functions),
        TEST(null_pointers),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
