// SPDX-License-Identifier: MIT
//
// Device component: life, options, platform info, documented errors.
#include "core/own.h"
#include "fault_backend.h"
#include "pairs.h"

static int setup(void **state) {
    (void)state;
    fault_reset();
    return 0;
}

static int custom;
static QnnDevice_PlatformInfo_t info1 = QNN_DEVICE_PLATFORM_INFO_INIT;
static QnnDevice_PlatformInfo_t info9 = {.version = 9};
static QnnDevice_Config_t own = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
static QnnDevice_Config_t hardware = {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                                      .hardwareInfo = &info1};
static QnnDevice_Config_t bad[] = {
    {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM},
    {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO},
    {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = &info9},
    QNN_DEVICE_CONFIG_INIT,
};

static Qnn_DeviceHandle_t make(void) {
    Qnn_DeviceHandle_t d;
    OK(QnnDevice_create(NULL, NULL, &d));
    return d;
}

static void a_device_leaves_nothing_behind(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    const QnnDevice_Config_t *config[] = {&own, &hardware, NULL}, *none[] = {NULL};
    const QnnDevice_PlatformInfo_t *info = NULL, *again = NULL;
    Qnn_LogHandle_t log;
    Qnn_DeviceHandle_t d, e;
    OK(QnnLog_create(NULL, QNN_LOG_LEVEL_ERROR, &log));
    OK(QnnDevice_create(log, config, &d));
    OK(QnnDevice_create(NULL, none, &e));
    assert_int_equal(fault_calls[FAULT_DEVICE_CONFIG], 1);
    assert_int_equal(fault_calls[FAULT_DEVICE_PLATFORM], 1);
    OK(QnnDevice_getInfo(d, &info));
    OK(QnnDevice_getInfo(d, &again));
    assert_ptr_equal(info, again);
    assert_int_equal(info->version, QNN_DEVICE_PLATFORM_INFO_VERSION_1);
    OK(QnnLog_free(log));
    OK(QnnDevice_free(d));
    OK(QnnDevice_free(e));
    assert_int_equal(fault_calls[FAULT_DEVICE_FREE], 2);
    assert_int_equal(qrn_alloc_live(), live);
}

static void create_fails_as_documented(void **state) {
    (void)state;
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_HARDWARE, QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE},
                  {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                  {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    size_t live = qrn_alloc_live();
    Qnn_DeviceHandle_t d = (void *)7;
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_create(NULL, NULL, NULL));
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_create(&d, NULL, &d));
    for (unsigned i = 0; i < 3; i++) {
        fault_status[FAULT_DEVICE_CREATE] = faults[i].status;
        PAIR("QnnDevice_create", faults[i].code, QnnDevice_create(NULL, NULL, &d));
    }
    fault_status[FAULT_DEVICE_CREATE] = QRN_OK;
    fault_calls[FAULT_DEVICE_CREATE] = 0;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const QnnDevice_Config_t *list[] = {&own, &bad[i], NULL};
        PAIR("QnnDevice_create", QNN_DEVICE_ERROR_INVALID_CONFIG, QnnDevice_create(NULL, list, &d));
    }
    assert_int_equal(fault_calls[FAULT_DEVICE_CREATE], 0);
    const QnnDevice_Config_t *list[] = {&hardware, NULL};
    fault_status[FAULT_DEVICE_PLATFORM] = QRN_E_CONFIG;
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_INVALID_CONFIG, QnnDevice_create(NULL, list, &d));
    assert_int_equal(fault_calls[FAULT_DEVICE_FREE], 1); // what was created is freed
    fault_backend.device_platform = NULL;
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
         QnnDevice_create(NULL, list, &d));
    fault_backend.features = 0;
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
         QnnDevice_create(NULL, NULL, &d));
    PAIR("QnnDevice_create", QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_create(NULL, NULL, NULL));
    assert_ptr_equal(d, (void *)7);
    assert_int_equal(qrn_alloc_live(), live);
    fault_reset();
    PAIR_MEM("QnnDevice_create", QNN_DEVICE_ERROR_MEM_ALLOC, QnnDevice_create(NULL, NULL, &d));
    OK(QnnDevice_free(d));
}

static void a_device_in_use_stays_as_it_is(void **state) {
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_DeviceHandle_t d = make();
    OK(QnnBackend_create(NULL, NULL, &b));
    qrn_api_backend *backend = qrn_handle_get(QRN_KIND_BACKEND, b);
    qrn_api_device *device = qrn_handle_get(QRN_KIND_DEVICE, d);
    const QnnDevice_Config_t *list[] = {&own, NULL}, *none[] = {NULL};
    OK(QnnDevice_setConfig(d, list));
    qrn_backend_add_context(backend, device);
    PAIR("QnnDevice_setConfig", QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT,
         QnnDevice_setConfig(d, list));
    PAIR("QnnDevice_free", QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT, QnnDevice_free(d));
    assert_int_equal(fault_calls[FAULT_DEVICE_CONFIG], 1);
    assert_int_equal(fault_calls[FAULT_DEVICE_FREE], 0);
    qrn_backend_drop_context(backend, device);
    OK(QnnDevice_setConfig(d, none));
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const QnnDevice_Config_t *wrong[] = {&bad[i], NULL};
        PAIR("QnnDevice_setConfig", QNN_DEVICE_ERROR_INVALID_CONFIG, QnnDevice_setConfig(d, wrong));
    }
    PAIR("QnnDevice_setConfig", QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_setConfig(d, NULL));
    PAIR("QnnDevice_setConfig", QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_setConfig(b, list));
    fault_status[FAULT_DEVICE_FREE] = QRN_E_MEM;
    PAIR("QnnDevice_free", QNN_DEVICE_ERROR_MEM_ALLOC, QnnDevice_free(d));
    fault_status[FAULT_DEVICE_FREE] = QRN_OK;
    fault_backend.features = 0;
    PAIR("QnnDevice_setConfig", QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_setConfig(d, list));
    PAIR("QnnDevice_free", QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_free(d));
    fault_reset();
    OK(QnnDevice_free(d));
    PAIR("QnnDevice_free", QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_free(d));
    PAIR("QnnDevice_free", QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_free(NULL));
    OK(QnnBackend_free(b));
}

static void platform_info_is_given_and_taken_back(void **state) {
    (void)state;
    static const char get[] = "QnnDevice_getPlatformInfo", put[] = "QnnDevice_freePlatformInfo";
    size_t live = qrn_alloc_live();
    const QnnDevice_PlatformInfo_t *a = NULL, *b = NULL, *none = (void *)7;
    OK(QnnDevice_getPlatformInfo(NULL, &a));
    OK(QnnDevice_getPlatformInfo(NULL, &b));
    PAIR(put, QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_freePlatformInfo(&live, a));
    OK(QnnDevice_freePlatformInfo(NULL, a));
    PAIR(put, QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_freePlatformInfo(NULL, a));
    PAIR(put, QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_freePlatformInfo(NULL, NULL));
    PAIR(put, QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_freePlatformInfo(NULL, &info1));
    OK(QnnDevice_freePlatformInfo(NULL, b));
    assert_int_equal(qrn_alloc_live(), live);

    PAIR(get, QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_getPlatformInfo(&live, &none));
    PAIR(get, QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_getPlatformInfo(NULL, NULL));
    PAIR_MEM(get, QNN_DEVICE_ERROR_MEM_ALLOC, QnnDevice_getPlatformInfo(NULL, &a));
    OK(QnnDevice_freePlatformInfo(NULL, a));
    Qnn_DeviceHandle_t d = make();
    PAIR("QnnDevice_getInfo", QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_getInfo(NULL, &none));
    PAIR("QnnDevice_getInfo", QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_getInfo(d, NULL));
    fault_backend.platform_info = NULL;
    PAIR(get, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_getPlatformInfo(NULL, &none));
    PAIR(put, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_freePlatformInfo(NULL, &info1));
    PAIR("QnnDevice_getInfo", QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_getInfo(d, &none));
    assert_ptr_equal(none, (void *)7);
    OK(QnnDevice_free(d));
}

static void infrastructure_comes_from_the_backend(void **state) {
    (void)state;
    static const char name[] = "QnnDevice_getInfrastructure";
    QnnDevice_Infrastructure_t infra = NULL;
    OK(QnnDevice_getInfrastructure(&infra));
    assert_non_null(infra);
    PAIR(name, QNN_DEVICE_ERROR_INVALID_ARGUMENT, QnnDevice_getInfrastructure(NULL));
    infra = NULL;
    fault_status[FAULT_INFRASTRUCTURE] = QRN_E_HANDLE;
    PAIR(name, QNN_DEVICE_ERROR_INVALID_HANDLE, QnnDevice_getInfrastructure(&infra));
    fault_status[FAULT_INFRASTRUCTURE] = QRN_E_MEM;
    PAIR(name, QNN_DEVICE_ERROR_MEM_ALLOC, QnnDevice_getInfrastructure(&infra));
    fault_backend.infrastructure = NULL;
    PAIR(name, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, QnnDevice_getInfrastructure(&infra));
    assert_null(infra);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_leaves_nothing_behind, setup),
        cmocka_unit_test_setup(create_fails_as_documented, setup),
        cmocka_unit_test_setup(a_device_in_use_stays_as_it_is, setup),
        cmocka_unit_test_setup(platform_info_is_given_and_taken_back, setup),
        cmocka_unit_test_setup(infrastructure_comes_from_the_backend, setup),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
