// SPDX-License-Identifier: MIT
//
// Walks the interface table of one library as raw pointers: every slot of the announced level is
// filled, and behind it lie 64 more that answer "not supported", for clients with newer headers.
// usage: test_slots LIBRARY core|system, with the library in $QUERN_LIB_DIR.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"

enum { N_SPARE_SLOTS = 64 };

typedef Qnn_ErrorHandle_t (*slot_fn)(void);
typedef Qnn_ErrorHandle_t (*core_providers_fn)(const QnnInterface_t ***, uint32_t *);
typedef Qnn_ErrorHandle_t (*system_providers_fn)(const QnnSystemInterface_t ***, uint32_t *);

static const char *g_library;
static int g_is_system;

// The slots of the first provider; ISO C has no conversion from dlsym's result, so copy the bits.
static const slot_fn *find_slots(void *library, size_t *n_slots) {
    uint32_t n_providers = 0;
    const char *name =
        g_is_system ? "QnnSystemInterface_getProviders" : "QnnInterface_getProviders";
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    if (g_is_system) {
        system_providers_fn get;
        const QnnSystemInterface_t **providers = NULL;
        memcpy(&get, &symbol, sizeof get);
        assert_int_equal(get(&providers, &n_providers), QNN_SUCCESS);
        assert_true(n_providers >= 1);
        *n_slots = sizeof(QNN_SYSTEM_INTERFACE_VER_TYPE) / sizeof(slot_fn);
        return (const slot_fn *)&providers[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    }
    core_providers_fn get;
    const QnnInterface_t **providers = NULL;
    memcpy(&get, &symbol, sizeof get);
    assert_int_equal(get(&providers, &n_providers), QNN_SUCCESS);
    assert_true(n_providers >= 1);
    *n_slots = sizeof(QNN_INTERFACE_VER_TYPE) / sizeof(slot_fn);
    return (const slot_fn *)&providers[0]->QNN_INTERFACE_VER_NAME;
}

static void every_slot_is_filled(void **state) {
    size_t n_slots;
    const slot_fn *slots = find_slots(*state, &n_slots);
    for (size_t i = 0; i < n_slots; i++) {
        if (!slots[i])
            fail_msg("%s: slot %zu of %zu is NULL", g_library, i, n_slots);
    }
}

static void slots_behind_the_table_answer_not_supported(void **state) {
    size_t n_slots;
    const slot_fn *slots = find_slots(*state, &n_slots);
    for (size_t i = 0; i < N_SPARE_SLOTS; i++) {
        assert_non_null(slots[n_slots + i]);
        assert_int_equal(slots[n_slots + i](), QNN_COMMON_ERROR_NOT_SUPPORTED);
    }
}

static int open_library(void **state) {
    const char *dir = getenv("QUERN_LIB_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir ? dir : ".", g_library);
    *state = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*state)
        print_error("%s\n", dlerror());
    return *state ? 0 : -1;
}

static int close_library(void **state) { return dlclose(*state); }

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_is_filled),
        cmocka_unit_test(slots_behind_the_table_answer_not_supported),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: %s LIBRARY core|system\n", argv[0]);
        return 2;
    }
    g_library = argv[1];
    g_is_system = strcmp(argv[2], "system") == 0;
    return cmocka_run_group_tests(tests, open_library, close_library);
}
