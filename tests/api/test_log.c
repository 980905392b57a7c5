// SPDX-License-Identifier: MIT
//
// Log component: levels, callback and default stream, life beyond the handle, documented errors.
#include "core/errors.h"
#include "core/own.h"
#include "fault_backend.h"
#include "pairs.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char seen[8][256];
static QnnLog_Level_t seen_level[8];
static unsigned n_seen;

static void note(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    assert_true(timestamp > 0);
    if (n_seen < 8) {
        vsnprintf(seen[n_seen], sizeof seen[0], fmt, args);
        seen_level[n_seen] = level;
    }
    n_seen++;
}

static int setup(void **state) {
    (void)state;
    fault_reset();
    n_seen = 0;
    return 0;
}

static qrn_api_log *object(Qnn_LogHandle_t h) { return qrn_handle_get(QRN_KIND_LOG, h); }

static void messages_above_the_level_are_not_delivered(void **state) {
    (void)state;
    Qnn_LogHandle_t h;
    OK(QnnLog_create(note, QNN_LOG_LEVEL_WARN, &h));
    qrn_log(object(h), QNN_LOG_LEVEL_ERROR, "error %d", 1);
    qrn_log(object(h), QNN_LOG_LEVEL_WARN, "warning %s", "two");
    qrn_log(object(h), QNN_LOG_LEVEL_INFO, "info");
    assert_int_equal(n_seen, 2);
    assert_string_equal(seen[0], "error 1\n"); // clients print it as it is
    assert_string_equal(seen[1], "warning two\n");
    assert_int_equal(seen_level[1], QNN_LOG_LEVEL_WARN);
    OK(QnnLog_setLogLevel(h, QNN_LOG_LEVEL_DEBUG));
    qrn_log(object(h), QNN_LOG_LEVEL_DEBUG, "debug");
    assert_int_equal(n_seen, 3);
    OK(QnnLog_setLogLevel(h, QNN_LOG_LEVEL_ERROR));
    qrn_log(object(h), QNN_LOG_LEVEL_WARN, "warning");
    assert_int_equal(n_seen, 3);
    OK(QnnLog_free(h));
}

// A client that keeps 255 bytes still reads what is wrong and the end of the line.
static void long_names_leave_room_for_the_reason(void **state) {
    (void)state;
    Qnn_LogHandle_t h;
    char name[200];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 8, "/conv_7", 8);
    OK(QnnLog_create(note, QNN_LOG_LEVEL_INFO, &h));
    qrn_log(object(h), QNN_LOG_LEVEL_ERROR, "graph '%s' node '%s': rank 7, allowed 4", name, name);
    qrn_log(object(h), QNN_LOG_LEVEL_INFO, "node '%s' is fine", name);
    assert_true(strlen(seen[0]) <= 201);
    assert_non_null(strstr(seen[0], "/conv_7': rank 7, allowed 4\n"));
    assert_non_null(strstr(seen[0], "graph '...x"));
    assert_non_null(strstr(seen[1], name)); // tools read these lines
    OK(QnnLog_free(h));
}

static void without_a_callback_lines_go_to_the_error_stream(void **state) {
    (void)state;
    Qnn_LogHandle_t h;
    int file = memfd_create("stderr", 0), saved = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    Qnn_ErrorHandle_t e = QnnLog_create(NULL, QNN_LOG_LEVEL_INFO, &h);
    qrn_log(object(h), QNN_LOG_LEVEL_INFO, "a line with %d", 42);
    qrn_log(object(h), QNN_LOG_LEVEL_DEBUG, "not this one");
    qrn_log(NULL, QNN_LOG_LEVEL_ERROR, "nor this one");
    dup2(saved, STDERR_FILENO);
    OK(e);
    OK(QnnLog_free(h));
    char text[512] = {0};
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "INFO"));
    assert_non_null(strstr(text, "a line with 42\n"));
    assert_null(strstr(text, "this one"));
    close(file);
    close(saved);
}

static void failures_are_logged_with_their_code(void **state) {
    (void)state;
    Qnn_LogHandle_t h;
    OK(QnnLog_create(note, QNN_LOG_LEVEL_ERROR, &h));
    Qnn_ErrorHandle_t e =
        qrn_api_end(QRN_COMP_GRAPH, QRN_FAIL(QRN_E_NAME, "graph '%s' exists", "g"), object(h));
    assert_int_equal(e, QNN_GRAPH_ERROR_INVALID_NAME);
    assert_int_equal(n_seen, 1);
    assert_string_equal(seen[0], "graph 'g' exists (QNN_GRAPH_ERROR_INVALID_NAME)\n");
    // A failure without words has those of its status, not those of an earlier failure.
    qrn_api_end(QRN_COMP_GRAPH, QRN_E_MEM, object(h));
    assert_string_equal(seen[1], "out of memory (QNN_COMMON_ERROR_MEM_ALLOC)\n");
    OK(qrn_api_end(QRN_COMP_GRAPH, QRN_OK, object(h)));
    assert_int_equal(n_seen, 2);
    OK(QnnLog_free(h));
}

static void a_log_outlives_its_handle_but_falls_silent(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    Qnn_LogHandle_t h;
    Qnn_BackendHandle_t b;
    OK(QnnLog_create(note, QNN_LOG_LEVEL_DEBUG, &h));
    OK(QnnBackend_create(h, NULL, &b));
    OK(QnnLog_free(h));
    n_seen = 0;
    assert_int_not_equal(QnnBackend_getProperty(b, NULL), QNN_SUCCESS); // would log a line
    assert_int_equal(n_seen, 0);
    OK(QnnBackend_free(b));
    assert_int_equal(qrn_alloc_live(), live);
}

static void documented_errors(void **state) {
    (void)state;
    Qnn_LogHandle_t h = (void *)7;
    PAIR("QnnLog_create", QNN_LOG_ERROR_INVALID_ARGUMENT,
         QnnLog_create(note, QNN_LOG_LEVEL_INFO, NULL));
    PAIR("QnnLog_create", QNN_LOG_ERROR_INVALID_ARGUMENT, QnnLog_create(note, 0, &h));
    PAIR("QnnLog_create", QNN_LOG_ERROR_INVALID_ARGUMENT, QnnLog_create(note, 6, &h));
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } faults[] = {{QRN_E_UNSUPPORTED, QNN_COMMON_ERROR_NOT_SUPPORTED},
                  {QRN_E_INIT, QNN_LOG_ERROR_INITIALIZATION},
                  {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                  {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < 4; i++) {
        fault_status[FAULT_LOG_LEVEL] = faults[i].status;
        PAIR("QnnLog_create", faults[i].code, QnnLog_create(note, QNN_LOG_LEVEL_INFO, &h));
        assert_ptr_equal(h, (void *)7); // written only on success
        assert_int_equal(qrn_alloc_live(), live);
    }
    fault_status[FAULT_LOG_LEVEL] = QRN_OK;
    PAIR_MEM("QnnLog_create", QNN_LOG_ERROR_MEM_ALLOC, QnnLog_create(note, QNN_LOG_LEVEL_INFO, &h));

    PAIR("QnnLog_setLogLevel", QNN_LOG_ERROR_INVALID_HANDLE,
         QnnLog_setLogLevel(NULL, QNN_LOG_LEVEL_INFO));
    PAIR("QnnLog_setLogLevel", QNN_LOG_ERROR_INVALID_ARGUMENT, QnnLog_setLogLevel(h, 77));
    for (unsigned i = 2; i < 4; i++) {
        fault_status[FAULT_LOG_LEVEL] = faults[i].status;
        PAIR("QnnLog_setLogLevel", faults[i].code, QnnLog_setLogLevel(h, QNN_LOG_LEVEL_DEBUG));
        assert_int_equal(atomic_load(&object(h)->level), QNN_LOG_LEVEL_INFO);
    }
    fault_status[FAULT_LOG_LEVEL] = QRN_OK;
    OK(QnnLog_free(h));
    PAIR("QnnLog_free", QNN_LOG_ERROR_INVALID_HANDLE, QnnLog_free(h));
    PAIR("QnnLog_free", QNN_LOG_ERROR_INVALID_HANDLE, QnnLog_free(NULL));
    PAIR("QnnLog_setLogLevel", QNN_LOG_ERROR_INVALID_HANDLE,
         QnnLog_setLogLevel(h, QNN_LOG_LEVEL_INFO));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(messages_above_the_level_are_not_delivered, setup),
        cmocka_unit_test_setup(long_names_leave_room_for_the_reason, setup),
        cmocka_unit_test_setup(without_a_callback_lines_go_to_the_error_stream, setup),
        cmocka_unit_test_setup(failures_are_logged_with_their_code, setup),
        cmocka_unit_test_setup(a_log_outlives_its_handle_but_falls_silent, setup),
        cmocka_unit_test_setup(documented_errors, setup),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
