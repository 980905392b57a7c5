// SPDX-License-Identifier: MIT
//
// The provider of the System library: one entry, versions as announced, DLC functions refused.
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

static void containers_are_refused(void **state) {
    (void)state;
    if (getenv("QUERN_API_VERSION"))
        skip();
    const QNN_SYSTEM_INTERFACE_VER_TYPE *s = &provider()->QNN_SYSTEM_INTERFACE_VER_NAME;
    QnnSystemDlc_Handle_t dlc = NULL;
    const uint8_t bytes[4] = {'P', 'K', 3, 4};
    uint8_t out[8];
    uint64_t size = 0;
    uint32_t n = 0;
    const Qnn_OpMapping_t *mappings = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    QnnInterface_t backend;
    memset(&backend, 0, sizeof backend);
#define NO(name, call) PAIR("QnnSystemDlc_" #name, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE, call)
    NO(createFromFile, s->systemDlcCreateFromFile(NULL, "x.dlc", &dlc));
    NO(createFromBinary, s->systemDlcCreateFromBinary(NULL, bytes, sizeof bytes, &dlc));
    NO(createFromFileWithDestinationDir,
       s->systemDlcCreateFromFileWithDestinationDir(NULL, "x.dlc", ".", &dlc));
    NO(createFromBinaryWithDestinationDir,
       s->systemDlcCreateFromBinaryWithDestinationDir(NULL, bytes, sizeof bytes, ".", &dlc));
    NO(createWithDestinationDir, s->systemDlcCreateWithDestinationDir(NULL, ".", &dlc));
    NO(composeGraphs,
       s->systemDlcComposeGraphs(NULL, NULL, 0, NULL, NULL, backend,
                                 QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs, &n));
    NO(getOpMappings, s->systemDlcGetOpMappings(NULL, &mappings, &n));
    NO(getBinarySize, s->systemDlcGetBinarySize(NULL, &size));
    NO(getBinary, s->systemDlcGetBinary(NULL, out, sizeof out, &size));
    NO(free, s->systemDlcFree(NULL));
#undef NO
    assert_null(dlc);
    assert_null(graphs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(containers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
