// SPDX-License-Identifier: MIT
//
// QUERN_LOG: every line goes to that file, whatever the log handle wants. The variable is set by
// the build, since the environment is read when the library is loaded.
#include "core/errors.h"
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Truncated before main, as the library only appends.
__attribute__((constructor)) static void start(void) {
    const char *path = getenv("QUERN_LOG");
    if (path)
        remove(path);
}

static void every_line_goes_to_the_file(void **state) {
    (void)state;
    const char *path = getenv("QUERN_LOG");
    assert_non_null(path);
    qrn_log(NULL, QNN_LOG_LEVEL_DEBUG, "detail %d", 1);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    memset(text, 'x', 5000);
    qrn_log(NULL, QNN_LOG_LEVEL_WARN, "%s", text); // cut off, still one line
    assert_int_not_equal(QnnBackend_free(NULL), QNN_SUCCESS);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    memset(text, 0, 65536);
    size_t n = fread(text, 1, 65535, f);
    fclose(f);
    unsigned lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 3);
    assert_non_null(strstr(text, "DEBUG"));
    assert_non_null(strstr(text, "detail 1\n"));
    assert_non_null(strstr(text, "not a backend handle (QNN_BACKEND_ERROR_INVALID_HANDLE)\n"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_line_goes_to_the_file)};
    return cmocka_run_group_tests_name("log file", tests, NULL, NULL);
}
