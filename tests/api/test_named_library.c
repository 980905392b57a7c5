// SPDX-License-Identifier: MIT
//
// A library that clients are linked to by name and that computes nothing (libQnnLpai.so): it
// loads, describes itself, and says in words why it makes no backend.
// Arguments: file, backend id, provider, version.
#include "QnnInterface.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *file, *provider, *version;
static unsigned id;
static char said[1024];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time_ns, va_list args) {
    (void)level;
    (void)time_ns;
    vsnprintf(said, sizeof said, fmt, args);
}

static const QnnInterface_t *open_library(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("QUERN_LIB_DIR"), file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    assert_non_null((void *)get);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    return list[0];
}

static void the_library_describes_itself(void **state) {
    (void)state;
    const QnnInterface_t *p = open_library();
    char found[64];
    assert_int_equal(p->backendId, id);
    assert_string_equal(p->providerName, provider);
    snprintf(found, sizeof found, "%u.%u.%u", p->apiVersion.backendApiVersion.major,
             p->apiVersion.backendApiVersion.minor, p->apiVersion.backendApiVersion.patch);
    assert_string_equal(found, version);
    const char *build = NULL;
    assert_int_equal(p->QNN_INTERFACE_VER_NAME.backendGetBuildId(&build), QNN_SUCCESS);
    assert_int_equal(build[0], 'v');
    assert_int_equal(
        p->QNN_INTERFACE_VER_NAME.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE),
        QNN_PROPERTY_NOT_SUPPORTED);
}

static void a_backend_is_rejected_in_words(void **state) {
    (void)state;
    const QNN_INTERFACE_VER_TYPE api = open_library()->QNN_INTERFACE_VER_NAME;
    Qnn_LogHandle_t log = NULL;
    Qnn_BackendHandle_t backend = NULL;
    assert_int_equal(api.logCreate(listen, QNN_LOG_LEVEL_ERROR, &log), QNN_SUCCESS);
    assert_int_equal(api.backendCreate(log, NULL, &backend), QNN_BACKEND_ERROR_NOT_SUPPORTED);
    assert_null(backend);
    assert_non_null(strstr(said, "not implemented by Quern yet; use "));
    assert_int_not_equal(api.deviceCreate(log, NULL, &(Qnn_DeviceHandle_t){NULL}), QNN_SUCCESS);
    assert_int_equal(api.logFree(log), QNN_SUCCESS);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    file = argv[1], id = (unsigned)atoi(argv[2]), provider = argv[3], version = argv[4];
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_library_describes_itself),
                                       cmocka_unit_test(a_backend_is_rejected_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
