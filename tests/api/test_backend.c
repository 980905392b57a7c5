// SPDX-License-Identifier: MIT
//
// Backend component: life, options, op packages, list of operations, documented errors.
#include "core/own.h"
#include "fault_backend.h"
#include "ir/op.h"
#include "pairs.h"

#include "QnnOpDef.h"

#include <string.h>

static int setup(void **state) {
    (void)state;
    fault_reset();
    return 0;
}

static Qnn_BackendHandle_t make(void) {
    Qnn_BackendHandle_t b;
    OK(QnnBackend_create(NULL, NULL, &b));
    return b;
}

static void a_backend_leaves_nothing_behind(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    Qnn_BackendHandle_t a = make(), b = make();
    assert_ptr_not_equal(a, b);
    OK(QnnBackend_free(a));
    PAIR("QnnBackend_free", QNN_BACKEND_ERROR_INVALID_HANDLE, QnnBackend_free(a));
    OK(QnnBackend_free(b));
    assert_int_equal(fault_calls[FAULT_BACKEND_FREE], 2);
    assert_int_equal(qrn_alloc_live(), live);
}

static void profiles_and_signals_end_with_the_backend(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    Qnn_BackendHandle_t b = make();
    Qnn_ProfileHandle_t p[3];
    Qnn_SignalHandle_t s[3];
    for (unsigned i = 0; i < 3; i++) {
        OK(QnnProfile_create(b, QNN_PROFILE_LEVEL_BASIC, &p[i]));
        OK(QnnSignal_create(b, NULL, &s[i]));
    }
    OK(QnnProfile_free(p[1]));
    OK(QnnSignal_free(s[1]));
    OK(QnnBackend_free(b));
    PAIR("QnnProfile_free", QNN_PROFILE_ERROR_INVALID_HANDLE, QnnProfile_free(p[0]));
    PAIR("QnnSignal_free", QNN_SIGNAL_ERROR_INVALID_HANDLE, QnnSignal_free(s[2]));
    assert_int_equal(qrn_alloc_live(), live);
}

static void options_are_checked_before_anything_happens(void **state) {
    (void)state;
    int custom;
    QnnBackend_Config_t own = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    QnnBackend_Config_t empty = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM};
    QnnBackend_Config_t brief = {.option = QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING,
                                 .errorConfig = {QNN_ERROR_REPORTING_LEVEL_BRIEF, 64}};
    QnnBackend_Config_t level = {.option = QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING,
                                 .errorConfig = {QNN_ERROR_REPORTING_LEVEL_UNDEFINED, 64}};
    QnnBackend_Config_t platform = {.option = QNN_BACKEND_CONFIG_OPTION_PLATFORM,
                                    .platformOption = "key:value"};
    QnnBackend_Config_t no_text = {.option = QNN_BACKEND_CONFIG_OPTION_PLATFORM};
    static char long_text[1026];
    memset(long_text, 'x', 1025);
    QnnBackend_Config_t too_long = {.option = QNN_BACKEND_CONFIG_OPTION_PLATFORM,
                                    .platformOption = long_text};
    QnnBackend_Config_t unknown = QNN_BACKEND_CONFIG_INIT;
    const QnnBackend_Config_t *good[] = {&brief, &own, &platform, &own, NULL}, *none[] = {NULL};
    QnnBackend_Config_t *bad[] = {&empty, &level, &no_text, &too_long, &unknown};
    Qnn_BackendHandle_t b = (void *)7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const QnnBackend_Config_t *list[] = {&own, bad[i], NULL};
        PAIR("QnnBackend_create", QNN_BACKEND_ERROR_INVALID_CONFIG,
             QnnBackend_create(NULL, list, &b));
        assert_ptr_equal(b, (void *)7);
    }
    assert_int_equal(fault_calls[FAULT_BACKEND_CREATE] + fault_calls[FAULT_BACKEND_CONFIG], 0);

    OK(QnnBackend_create(NULL, none, &b));
    OK(QnnBackend_free(b));
    OK(QnnBackend_create(NULL, good, &b));
    assert_int_equal(fault_calls[FAULT_BACKEND_CONFIG], 2);

    const QnnBackend_Config_t *late[] = {&brief, &own, NULL}, *wrong[] = {&own, &unknown, NULL},
                              *late_platform[] = {&platform, NULL};
    OK(QnnBackend_setConfig(b, none));
    OK(QnnBackend_setConfig(b, late));
    PAIR("QnnBackend_setConfig", QNN_BACKEND_ERROR_INVALID_CONFIG, QnnBackend_setConfig(b, wrong));
    PAIR("QnnBackend_setConfig", QNN_BACKEND_ERROR_INVALID_CONFIG, QnnBackend_setConfig(b, NULL));
    assert_int_equal(fault_calls[FAULT_BACKEND_CONFIG], 3);
    PAIR("QnnBackend_setConfig", QNN_BACKEND_ERROR_NOT_SUPPORTED,
         QnnBackend_setConfig(b, late_platform));
    PAIR("QnnBackend_setConfig", QNN_BACKEND_ERROR_INVALID_HANDLE,
         QnnBackend_setConfig(&custom, late));
    OK(QnnBackend_free(b));
}

static void create_fails_as_documented(void **state) {
    (void)state;
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_PLATFORM, QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM},
                  {QRN_E_INIT, QNN_BACKEND_ERROR_CANNOT_INITIALIZE},
                  {QRN_E_UNSUPPORTED, QNN_BACKEND_ERROR_NOT_SUPPORTED}};
    Qnn_BackendHandle_t b = (void *)7;
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < 3; i++) {
        fault_status[FAULT_BACKEND_CREATE] = faults[i].status;
        PAIR("QnnBackend_create", faults[i].code, QnnBackend_create(NULL, NULL, &b));
    }
    fault_status[FAULT_BACKEND_CREATE] = QRN_OK;
    int custom;
    QnnBackend_Config_t own = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnBackend_Config_t *config[] = {&own, NULL};
    fault_status[FAULT_BACKEND_CONFIG] = QRN_E_INCONSISTENT;
    fault_calls[FAULT_BACKEND_FREE] = 0;
    PAIR("QnnBackend_create", QNN_BACKEND_ERROR_INCONSISTENT_CONFIG,
         QnnBackend_create(NULL, config, &b));
    assert_int_equal(fault_calls[FAULT_BACKEND_FREE], 1); // what was created is freed
    PAIR("QnnBackend_create", QNN_BACKEND_ERROR_INVALID_HANDLE,
         QnnBackend_create(NULL, NULL, NULL));
    PAIR("QnnBackend_create", QNN_BACKEND_ERROR_INVALID_HANDLE,
         QnnBackend_create(&custom, NULL, &b));
    assert_ptr_equal(b, (void *)7);
    fault_backend.backend_config = NULL;
    PAIR("QnnBackend_create", QNN_BACKEND_ERROR_NOT_SUPPORTED, QnnBackend_create(NULL, config, &b));
    assert_int_equal(qrn_alloc_live(), live);
    PAIR_MEM("QnnBackend_create", QNN_BACKEND_ERROR_MEM_ALLOC, QnnBackend_create(NULL, NULL, &b));
    OK(QnnBackend_free(b));
}

static void free_fails_as_documented(void **state) {
    (void)state;
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_MEM, QNN_BACKEND_ERROR_MEM_ALLOC},
                  {QRN_E_TERMINATE, QNN_BACKEND_ERROR_TERMINATE_FAILED},
                  {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                  {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    Qnn_BackendHandle_t b = make();
    for (unsigned i = 0; i < 4; i++) {
        fault_status[FAULT_BACKEND_FREE] = faults[i].status;
        PAIR("QnnBackend_free", faults[i].code, QnnBackend_free(b));
    }
    fault_status[FAULT_BACKEND_FREE] = QRN_OK;
    qrn_api_backend *obj = qrn_handle_get(QRN_KIND_BACKEND, b);
    qrn_backend_add_context(obj, NULL);
    PAIR("QnnBackend_free", QNN_BACKEND_ERROR_TERMINATE_FAILED, QnnBackend_free(b));
    qrn_backend_drop_context(obj, NULL);
    OK(QnnBackend_free(b));
    PAIR("QnnBackend_free", QNN_BACKEND_ERROR_INVALID_HANDLE, QnnBackend_free(NULL));
}

static void version_and_build_id_need_no_handle(void **state) {
    (void)state;
    Qnn_ApiVersion_t v = QNN_API_VERSION_INIT;
    const char *id = NULL;
    OK(QnnBackend_getApiVersion(&v));
    assert_int_equal(v.coreApiVersion.major, 2);
    assert_int_equal(v.coreApiVersion.minor, 40);
    assert_int_equal(v.backendApiVersion.major, 3);
    assert_int_equal(v.backendApiVersion.minor, 2);
    assert_int_equal(v.backendApiVersion.patch, 1);
    PAIR("QnnBackend_getApiVersion", QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_getApiVersion(NULL));
    OK(QnnBackend_getBuildId(&id));
    assert_int_equal(id[0], 'v');
    PAIR("QnnBackend_getBuildId", QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_getBuildId(NULL));
}

static void op_packages_are_passed_to_the_backend(void **state) {
    (void)state;
    static const char name[] = "QnnBackend_registerOpPackage";
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_PKG_LOAD, QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND},
                  {QRN_E_PKG_PROVIDER, QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND},
                  {QRN_E_PKG_REGISTER, QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED},
                  {QRN_E_PKG_VERSION, QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION},
                  {QRN_E_PKG_DUPLICATE, QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE},
                  {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                  {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    Qnn_BackendHandle_t b = make();
    PAIR(name, QNN_BACKEND_ERROR_INVALID_HANDLE, QnnBackend_registerOpPackage(NULL, "p", "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_registerOpPackage(b, NULL, "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_registerOpPackage(b, "", "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_registerOpPackage(b, "p", NULL, ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_registerOpPackage(b, "p", "", ""));
    assert_int_equal(fault_calls[FAULT_PACKAGE_REGISTER], 0);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        fault_status[FAULT_PACKAGE_REGISTER] = faults[i].status;
        PAIR(name, faults[i].code, QnnBackend_registerOpPackage(b, "p", "i", NULL));
    }
    fault_status[FAULT_PACKAGE_REGISTER] = QRN_OK;
    OK(QnnBackend_registerOpPackage(b, "p", "i", NULL));
    fault_backend.features &= ~(uint32_t)QRN_FEATURE_OP_PACKAGE;
    PAIR(name, QNN_BACKEND_ERROR_NOT_SUPPORTED, QnnBackend_registerOpPackage(b, "p", "i", NULL));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_registerOpPackage(b, NULL, "i", NULL)); // mistakes come first
    OK(QnnBackend_free(b));
}

static void op_packages_from_memory_are_passed_on_too(void **state) {
    (void)state;
    static const char name[] = "QnnBackend_registerOpPackageFromBinary";
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_PKG_LOAD, QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED},
                  {QRN_E_PKG_PROVIDER, QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND},
                  {QRN_E_PKG_REGISTER, QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED},
                  {QRN_E_PKG_VERSION, QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION},
                  {QRN_E_PKG_DUPLICATE, QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE}};
    Qnn_BackendHandle_t b = make();
    char image[8] = {0};
    PAIR(name, QNN_BACKEND_ERROR_INVALID_HANDLE,
         QnnBackend_registerOpPackageFromBinary(NULL, image, 8, "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_registerOpPackageFromBinary(b, NULL, 8, "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_registerOpPackageFromBinary(b, image, 0, "i", ""));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_registerOpPackageFromBinary(b, image, 8, NULL, ""));
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        fault_status[FAULT_PACKAGE_REGISTER] = faults[i].status;
        PAIR(name, faults[i].code, QnnBackend_registerOpPackageFromBinary(b, image, 8, "i", ""));
    }
    fault_status[FAULT_PACKAGE_REGISTER] = QRN_OK;
    OK(QnnBackend_registerOpPackageFromBinary(b, image, 8, "i", ""));
    fault_backend.package_register = NULL;
    PAIR(name, QNN_BACKEND_ERROR_NOT_SUPPORTED,
         QnnBackend_registerOpPackageFromBinary(b, image, 8, "i", ""));
    OK(QnnBackend_free(b));
}

static void operations_are_the_op_table_and_the_packages(void **state) {
    (void)state;
    static const char name[] = "QnnBackend_getSupportedOperations";
    uint32_t n = 0, n_all = 0;
    const QnnBackend_OperationName_t *ops = NULL, *first = NULL, *all = NULL;
    Qnn_BackendHandle_t b = make();
    OK(QnnBackend_getSupportedOperations(NULL, &n, &ops));
    assert_non_null(qrn_op_at(n - 1));
    assert_null(qrn_op_at(n));
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(ops[i].packageName, QNN_OP_PACKAGE_NAME_QTI_AISW);
        assert_string_equal(ops[i].name, qrn_op_at(i)->name);
        assert_non_null(ops[i].target);
    }
    OK(QnnBackend_getSupportedOperations(b, &n_all, &first));
    assert_int_equal(n_all, n);
    OK(QnnBackend_registerOpPackage(b, "p", "i", NULL));
    PAIR_MEM(name, QNN_COMMON_ERROR_MEM_ALLOC, QnnBackend_getSupportedOperations(b, &n_all, &all));
    assert_int_equal(n_all, n + 1);
    assert_string_equal(all[n].packageName, "fault.package");
    assert_string_equal(all[0].name, ops[0].name);
    assert_string_equal(first[n - 1].name, ops[n - 1].name); // the earlier list is still there
    const QnnBackend_OperationName_t *again = NULL;
    OK(QnnBackend_getSupportedOperations(b, &n_all, &again));
    assert_ptr_equal(again, all);
    OK(QnnBackend_getSupportedOperations(NULL, &n_all, &again));
    assert_int_equal(n_all, n); // packages belong to a handle

    PAIR(name, QNN_BACKEND_ERROR_INVALID_HANDLE, QnnBackend_getSupportedOperations(&n, &n, &ops));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_getSupportedOperations(b, NULL, &ops));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
         QnnBackend_getSupportedOperations(NULL, &n, NULL));
    OK(QnnBackend_free(b));
}

static void properties_are_answered_by_the_backend(void **state) {
    (void)state;
    static const char name[] = "QnnBackend_getProperty";
    Qnn_BackendHandle_t b = make();
    int custom;
    QnnBackend_Property_t good = {.option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM,
                                  .customProperty = &custom};
    QnnBackend_Property_t bad = QNN_BACKEND_PROPERTY_INIT;
    QnnBackend_Property_t *list[] = {&good, NULL}, *wrong[] = {&good, &bad, NULL};
    OK(QnnBackend_getProperty(b, list));
    assert_int_equal(fault_calls[FAULT_BACKEND_PROPERTY], 1);
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_getProperty(b, wrong));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_ARGUMENT, QnnBackend_getProperty(b, NULL));
    PAIR(name, QNN_BACKEND_ERROR_INVALID_HANDLE, QnnBackend_getProperty(NULL, list));
    fault_backend.backend_property = NULL;
    PAIR(name, QNN_BACKEND_ERROR_NOT_SUPPORTED, QnnBackend_getProperty(b, list));
    OK(QnnBackend_free(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_backend_leaves_nothing_behind, setup),
        cmocka_unit_test_setup(profiles_and_signals_end_with_the_backend, setup),
        cmocka_unit_test_setup(options_are_checked_before_anything_happens, setup),
        cmocka_unit_test_setup(create_fails_as_documented, setup),
        cmocka_unit_test_setup(free_fails_as_documented, setup),
        cmocka_unit_test_setup(version_and_build_id_need_no_handle, setup),
        cmocka_unit_test_setup(op_packages_are_passed_to_the_backend, setup),
        cmocka_unit_test_setup(op_packages_from_memory_are_passed_on_too, setup),
        cmocka_unit_test_setup(operations_are_the_op_table_and_the_packages, setup),
        cmocka_unit_test_setup(properties_are_answered_by_the_backend, setup),
    };
    return cmocka_run_group_tests_name("backend", tests, NULL, NULL);
}
