// SPDX-License-Identifier: MIT
//
// The provider object: one entry, every slot filled, further entries behind the table, versions as
// announced. With QUERN_API_VERSION set by the build: the lowered version, or the refusal.
#include "core/version.h"
#include "pairs.h"

#include "QnnInterface.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 75, N_MORE = 64 };

static void there_is_one_provider_with_every_slot_filled(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL, **again = NULL;
    uint32_t n = 0;
    OK(QnnInterface_getProviders(&list, &n));
    OK(QnnInterface_getProviders(&again, &n));
    assert_ptr_equal(list, again);
    assert_int_equal(n, 1);
    const QnnInterface_t *p = list[0];
    assert_int_equal(p->backendId, 99);
    assert_string_equal(p->providerName, "FAULT");
    Qnn_ApiVersion_t v;
    OK(p->QNN_INTERFACE_VER_NAME.backendGetApiVersion(&v));
    assert_memory_equal(&v, &p->apiVersion, sizeof v);
    typedef Qnn_ErrorHandle_t (*fn)(void);
    const fn *slots = (const fn *)((const char *)p + 40);
    for (unsigned i = 0; i < N_SLOTS + N_MORE; i++)
        assert_non_null((void *)slots[i]);
    for (unsigned i = N_SLOTS; i < N_SLOTS + N_MORE; i++)
        assert_int_equal(slots[i](), QNN_COMMON_ERROR_NOT_SUPPORTED);
    // No slot of the table is the function behind it, and none stands there twice.
    for (unsigned i = 0; i < N_SLOTS; i++)
        for (unsigned k = i + 1; k <= N_SLOTS; k++)
            assert_ptr_not_equal((void *)slots[i], (void *)slots[k]);
}

static void documented_errors(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL;
    uint32_t n = 7;
    PAIR("QnnInterface_getProviders", QNN_INTERFACE_ERROR_INVALID_PARAMETER,
         QnnInterface_getProviders(NULL, &n));
    PAIR("QnnInterface_getProviders", QNN_INTERFACE_ERROR_INVALID_PARAMETER,
         QnnInterface_getProviders(&list, NULL));
    assert_null(list);
    assert_int_equal(n, 7);
}

static void versions_are_parsed_strictly(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t minor, patch; // minor 0: refused
    } cases[] = {
        {NULL, 40, 0},   {"2.40", 40, 0},
        {"2.37", 37, 0}, {"2.14.3", 14, 3},
        {"2.13", 0, 0},  {"2.41", 0, 0},
        {"3.1", 0, 0},   {"2", 0, 0},
        {"2.", 0, 0},    {"2.37x", 0, 0},
        {"2.37.", 0, 0}, {"-2.37", 0, 0},
        {"x", 0, 0},     {"2.1000000000000", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Qnn_Version_t v = {7, 7, 7};
        qrn_status s = qrn_version_parse(cases[i].text, &v);
        assert_int_equal(s, cases[i].minor ? QRN_OK : QRN_E_UNSUPPORTED);
        assert_int_equal(v.major, cases[i].minor ? 2 : 7);
        assert_int_equal(v.minor, cases[i].minor ? cases[i].minor : 7);
        assert_int_equal(v.patch, cases[i].minor ? cases[i].patch : 7);
    }
}

static void the_environment_lowers_the_version(void **state) {
    (void)state;
    const char *text = getenv("QUERN_API_VERSION");
    const QnnInterface_t **list = NULL;
    Qnn_ApiVersion_t v = QNN_API_VERSION_INIT;
    uint32_t n = 7;
    if (text && strcmp(text, "9.9") == 0) {
        PAIR("QnnInterface_getProviders", QNN_INTERFACE_ERROR_NOT_SUPPORTED,
             QnnInterface_getProviders(&list, &n));
        assert_null(list);
        assert_int_equal(n, 7);
        assert_int_equal(QnnBackend_getApiVersion(&v), QNN_BACKEND_ERROR_NOT_SUPPORTED);
        return;
    }
    OK(QnnInterface_getProviders(&list, &n));
    assert_int_equal(list[0]->apiVersion.coreApiVersion.major, 2);
    assert_int_equal(list[0]->apiVersion.coreApiVersion.minor, text ? 37 : 40);
    assert_int_equal(list[0]->apiVersion.backendApiVersion.major, 3);
}

int main(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test(the_environment_lowers_the_version),
        cmocka_unit_test(there_is_one_provider_with_every_slot_filled),
        cmocka_unit_test(documented_errors),
        cmocka_unit_test(versions_are_parsed_strictly),
    };
    const struct CMUnitTest env[] = {cmocka_unit_test(the_environment_lowers_the_version)};
    return getenv("QUERN_API_VERSION") ? cmocka_run_group_tests_name("version", env, NULL, NULL)
                                       : cmocka_run_group_tests_name("interface", all, NULL, NULL);
}
