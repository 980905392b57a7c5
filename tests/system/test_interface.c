// SPDX-License-Identifier: MIT
//
// The provider of the System library: one entry, versions as announced.
#include "pairs.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

static const QnnSystemInterface_t *provider(void) {
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    OK(QnnSystemInterface_getProviders(&list, &n));
    assert_int_equal(n, 1);
    return list[0];
}

// QUERN_API_VERSION is set by the build: unset, 2.37, or one that cannot be served.
static void versions(void **state) {
    (void)state;
    const char *asked = getenv("QUERN_API_VERSION");
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 7;
    if (asked && strcmp(asked, "9.9") == 0) {
        PAIR("QnnSystemInterface_getProviders", QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED,
             QnnSystemInterface_getProviders(&list, &n));
        assert_null(list);
        assert_int_equal(n, 7);
        return;
    }
    const QnnSystemInterface_t *p = provider();
    assert_ptr_equal(p, provider());
    assert_string_equal(p->providerName, "SYSTEM_QTI_AISW");
    assert_int_equal(p->systemApiVersion.major, 1);
    assert_int_equal(p->systemApiVersion.minor, asked ? 12 : 15);
    PAIR("QnnSystemInterface_getProviders", QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER,
         QnnSystemInterface_getProviders(NULL, &n));
    PAIR("QnnSystemInterface_getProviders", QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER,
         QnnSystemInterface_getProviders(&list, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
