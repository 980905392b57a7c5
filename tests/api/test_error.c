// SPDX-License-Identifier: MIT
//
// Error component: every documented code has a text, verbose texts say what happened, and only our
// own texts are freed.
#include "core/errors.h"
#include "pairs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *errors_tsv;

static void every_documented_code_has_a_text_with_its_name(void **state) {
    (void)state;
    FILE *f = fopen(errors_tsv, "r");
    assert_non_null(f);
    char line[512], function[64], name[80];
    unsigned long long value;
    unsigned n = 0;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#' || sscanf(line, "%63s %79s %llu", function, name, &value) != 3)
            continue;
        const char *text = NULL;
        OK(QnnError_getMessage(value, &text));
        assert_non_null(text);
        // Names of common codes differ between components; what is behind the component does not.
        if (value >= 2000)
            assert_int_equal(strncmp(text, name, strlen(name)), 0);
        assert_true(strlen(text) > strcspn(text, ":") + 5);
        n++;
    }
    fclose(f);
    assert_true(n > 400);
}

static void codes_that_no_function_documents_have_texts_too(void **state) {
    (void)state;
    static const Qnn_ErrorHandle_t codes[] = {
        QNN_SUCCESS,
        QNN_COMMON_ERROR_SYSTEM,
        QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES,
        QNN_COMMON_ERROR_LOADING_BINARIES,
        QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE,
        QNN_COMMON_ERROR_GENERAL,
        QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED,
        QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED,
        QNN_OP_PACKAGE_ERROR_INVALID_HANDLE,
        QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE,
        QNN_OP_PACKAGE_ERROR_INVALID_INFO,
        QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT,
        4950,
        4951,
        QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST,
        QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL,
        QNN_TENSOR_ERROR_ALREADY_EXISTS,
        QNN_TENSOR_ERROR_NAME_HASH_COLLISION,
        QNN_SIGNAL_ERROR_TIMEOUT,
        QNN_DEVICE_ERROR_ACCESS_DENIED,
        13000,
        13001,
        13002,
        13003,
        13004,
        13005,
        13006,
        30000,
        30001,
        30002,
        30010,
        31000,
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const char *text = NULL;
        OK(QnnError_getMessage(codes[i], &text));
        assert_int_equal(strncmp(text, "QNN_", 4), 0);
        // The code sits in the low 16 bits.
        const char *same = NULL;
        OK(QnnError_getMessage(codes[i] | 0xABCD0000u, &same));
        assert_ptr_equal(same, text);
    }
}

static void a_verbose_text_tells_what_happened_in_this_thread(void **state) {
    (void)state;
    const char *text = NULL;
    qrn_api_end(QRN_COMP_GRAPH, QRN_FAIL(QRN_E_NAME, "graph 'a' exists"), NULL);
    qrn_api_end(QRN_COMP_GRAPH, QRN_FAIL(QRN_E_NAME, "graph 'b' exists"), NULL);
    qrn_api_end(QRN_COMP_MEM, QRN_FAIL(QRN_E_SHAPE, "rank 9"), NULL);
    OK(QnnError_getVerboseMessage(QNN_GRAPH_ERROR_INVALID_NAME, &text));
    assert_string_equal(text, "QNN_GRAPH_ERROR_INVALID_NAME: graph 'b' exists");
    OK(QnnError_freeVerboseMessage(text));
    OK(QnnError_getVerboseMessage(QNN_MEM_ERROR_INVALID_SHAPE, &text));
    assert_string_equal(text, "QNN_MEM_ERROR_INVALID_SHAPE: rank 9");
    OK(QnnError_freeVerboseMessage(text));
    // No failure with this code: the general meaning.
    const char *general = NULL;
    OK(QnnError_getVerboseMessage(QNN_DEVICE_ERROR_ACCESS_DENIED, &text));
    OK(QnnError_getMessage(QNN_DEVICE_ERROR_ACCESS_DENIED, &general));
    assert_string_equal(text, general);
    OK(QnnError_freeVerboseMessage(text));
}

static void *ask(void *arg) {
    const char *text = NULL;
    bool *good = arg;
    *good = QnnError_getVerboseMessage(QNN_GRAPH_ERROR_INVALID_NAME, &text) == QNN_SUCCESS &&
            !strstr(text, "of the first thread");
    QnnError_freeVerboseMessage(text);
    return NULL;
}

static void another_thread_gets_the_general_meaning(void **state) {
    (void)state;
    qrn_api_end(QRN_COMP_GRAPH, QRN_FAIL(QRN_E_NAME, "of the first thread"), NULL);
    pthread_t t;
    bool good = false;
    assert_int_equal(pthread_create(&t, NULL, ask, &good), 0);
    pthread_join(t, NULL);
    assert_true(good);
}

static void verbose_texts_are_owned_and_checked(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    const char *a = NULL, *b = NULL;
    OK(QnnError_getVerboseMessage(QNN_MEM_ERROR_MAPPING, &a));
    OK(QnnError_getVerboseMessage(QNN_MEM_ERROR_MAPPING, &b));
    assert_ptr_not_equal(a, b);
    assert_string_equal(a, b);
    OK(QnnError_freeVerboseMessage(a));
    OK(QnnError_freeVerboseMessage(b));
    PAIR("QnnError_freeVerboseMessage", QNN_ERROR_INVALID_ARGUMENT, QnnError_freeVerboseMessage(a));
    PAIR("QnnError_freeVerboseMessage", QNN_ERROR_INVALID_ARGUMENT,
         QnnError_freeVerboseMessage("some text"));
    PAIR("QnnError_freeVerboseMessage", QNN_ERROR_INVALID_ARGUMENT,
         QnnError_freeVerboseMessage(NULL));
    PAIR_MEM("QnnError_getVerboseMessage", QNN_COMMON_ERROR_MEM_ALLOC,
             QnnError_getVerboseMessage(QNN_MEM_ERROR_MAPPING, &a));
    OK(QnnError_freeVerboseMessage(a));
    assert_int_equal(qrn_alloc_live(), live);
}

static void documented_errors(void **state) {
    (void)state;
    const char *text = "old";
    PAIR("QnnError_getMessage", QNN_ERROR_INVALID_ARGUMENT,
         QnnError_getMessage(QNN_GRAPH_ERROR_INVALID_NAME, NULL));
    PAIR("QnnError_getMessage", QNN_ERROR_INVALID_ERROR_HANDLE, QnnError_getMessage(999, &text));
    assert_null(text);
    text = "old";
    PAIR("QnnError_getVerboseMessage", QNN_ERROR_INVALID_ARGUMENT,
         QnnError_getVerboseMessage(QNN_GRAPH_ERROR_INVALID_NAME, NULL));
    PAIR("QnnError_getVerboseMessage", QNN_ERROR_INVALID_ERROR_HANDLE,
         QnnError_getVerboseMessage(65535, &text));
    assert_null(text);
}

static void every_status_has_a_code_in_every_component(void **state) {
    (void)state;
    for (int c = 0; c < QRN_COMP_COUNT; c++)
        for (int s = 0; s < QRN_STATUS_COUNT; s++) {
            const char *text = NULL;
            Qnn_ErrorHandle_t code = qrn_error_code((qrn_component)c, (qrn_status)s);
            assert_int_equal(code == QNN_SUCCESS, s == QRN_OK);
            OK(QnnError_getMessage(code, &text));
        }
    assert_int_equal(qrn_error_code(QRN_COMP_COUNT, QRN_E_MEM), QNN_COMMON_ERROR_GENERAL);
    assert_int_equal(qrn_error_code(QRN_COMP_BACKEND, QRN_E_UNSUPPORTED),
                     QNN_BACKEND_ERROR_NOT_SUPPORTED);
    assert_int_equal(qrn_error_code(QRN_COMP_GRAPH, QRN_E_UNSUPPORTED),
                     QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(qrn_error_code(QRN_COMP_CONTEXT, QRN_E_CYCLE), QNN_COMMON_ERROR_GENERAL);
}

int main(int argc, char **argv) {
    errors_tsv = argc > 1 ? argv[1] : "errors.tsv";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_documented_code_has_a_text_with_its_name),
        cmocka_unit_test(codes_that_no_function_documents_have_texts_too),
        cmocka_unit_test(a_verbose_text_tells_what_happened_in_this_thread),
        cmocka_unit_test(another_thread_gets_the_general_meaning),
        cmocka_unit_test(verbose_texts_are_owned_and_checked),
        cmocka_unit_test(documented_errors),
        cmocka_unit_test(every_status_has_a_code_in_every_component),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
