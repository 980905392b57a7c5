// SPDX-License-Identifier: MIT
//
// Fixtures of tests that write files: a new folder becomes the working directory, and goes at the
// end with all that is in it.
#ifndef QRN_TESTS_BASE_TEMP_FOLDER_H
#define QRN_TESTS_BASE_TEMP_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static inline int go_into_new_folder(void **state) {
    char name[] = "/tmp/quern_test_XXXXXX";
    assert_non_null(mkdtemp(name));
    assert_int_equal(chdir(name), 0);
    *state = strdup(name);
    return 0;
}

static inline int remove_folder(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(system(command), 0);
    free(*state);
    return 0;
}

#endif
