// SPDX-License-Identifier: MIT
//
// Context component: writing binaries, whole and in pieces, and their sections.
#include "build.h"

static char bytes[] = "a binary of the fault backend";

static void binaries_are_written_into_client_buffers(void **state) {
    (void)state;
    Qnn_ContextBinarySize_t size = 77, written = 77;
    char buffer[64] = {0};
#define SIZE(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySize", code, QnnContext_getBinarySize(__VA_ARGS__))
#define GET(code, ...) PAIR("QnnContext_getBinary", code, QnnContext_getBinary(__VA_ARGS__))
    SIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &size); // no graphs at all
    relu_graph r;
    relu_build(&r, "r", 4);
    SIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &size);
    GET(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, buffer, 64, &written);
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    SIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, &size);
    SIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL);
    GET(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, buffer, 64, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, 64, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 0, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 64, NULL);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 3, &written); // too small
    static const status_row rows[] = {{QRN_E_BINARY, 0}, {QRN_E_GENERAL, 0}, {QRN_E_HARDWARE, 0}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_BINARY_SIZE] = fault_status[FAULT_BINARY_WRITE] = rows[i].status;
        SIZE(QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, context, &size);
        GET(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, buffer, 64, &written);
    }
    fault_status[FAULT_BINARY_SIZE] = fault_status[FAULT_BINARY_WRITE] = QRN_E_MEM;
    SIZE(QNN_CONTEXT_ERROR_MEM_ALLOC, context, &size);
    GET(QNN_CONTEXT_ERROR_MEM_ALLOC, context, buffer, 64, &written);
    fault_reset();
    assert_true(size == 77 && written == 77); // written only on success
    OK(QnnContext_getBinarySize(context, &size));
    OK(QnnContext_getBinary(context, buffer, 64, &written));
    assert_true(size == 16 && written == 16);
    assert_string_equal(buffer, "fault binary");
    Qnn_ContextHandle_t c;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, buffer, written, &c, NULL));
    SIZE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, &size);
    GET(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, buffer, 64, &written);
    OK(QnnContext_free(c, NULL));
    fault_backend.binary_size = NULL;
    fault_backend.binary_write = NULL;
    SIZE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, &size);
    GET(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, buffer, 64, &written);
}

static void binaries_can_be_read_in_pieces(void **state) {
    (void)state;
    const void *piece = NULL, *end = &piece;
    Qnn_ContextBinarySize_t start = 9, written = 9;
#define PIECE(code, ...)                                                                           \
    PAIR("QnnContext_getIncrementalBinary", code, QnnContext_getIncrementalBinary(__VA_ARGS__))
#define RELEASE(code, ...)                                                                         \
    PAIR("QnnContext_releaseIncrementalBinary", code,                                              \
         QnnContext_releaseIncrementalBinary(__VA_ARGS__))
    PIECE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &piece, &start, &written);
    RELEASE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, bytes, 0);
    relu_graph r;
    relu_finalized(&r, "r", 4);
    PIECE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, &piece, &start, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, &start, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &piece, NULL, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &piece, &start, NULL);
    fault_status[FAULT_BINARY_WRITE] = QRN_E_GENERAL;
    PIECE(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, &piece, &start, &written);
    fault_reset();
    PAIR_MEM("QnnContext_getIncrementalBinary", QNN_CONTEXT_ERROR_MEM_ALLOC,
             QnnContext_getIncrementalBinary(context, &piece, &start, &written));
    assert_true(start == 0 && written == 16);
    assert_string_equal(piece, "fault binary");
    OK(QnnContext_getIncrementalBinary(context, &end, &start, &written));
    assert_null(end);
    assert_int_equal(written, 0);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &end, &start, &written); // not released yet
    RELEASE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, piece, 0);
    RELEASE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, 0);
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, bytes, 0);
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, piece, 1);
    OK(QnnContext_releaseIncrementalBinary(context, piece, 0));
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, piece, 0);
    OK(QnnContext_getIncrementalBinary(context, &piece, &start,
                                       &written)); // once more from the start
    Qnn_ContextHandle_t c;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, bytes, sizeof bytes, &c, NULL));
    PIECE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, &piece, &start, &written);
    RELEASE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, piece, 0);
    OK(QnnContext_free(c, NULL));
    fault_backend.binary_write = NULL;
    PIECE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, &piece, &start, &written);
    RELEASE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, piece, 0);
}

static QnnContext_Buffer_t raw_buffer(void *data, uint64_t size) {
    return (QnnContext_Buffer_t){QNN_CONTEXT_BUFFER_VERSION_1,
                                 {.v1 = {QNN_CONTEXTMEMTYPE_RAW, {.binaryBuf = {data, size}}}}};
}

#define SECTION QNN_CONTEXT_SECTION_UPDATABLE

static void sections_are_written(void **state) {
    (void)state;
    Qnn_ContextBinarySize_t size = 7, written = 7;
    char data[32] = {0};
    QnnContext_Buffer_t buffer = raw_buffer(data, sizeof data), bad = raw_buffer(NULL, 4);
    relu_graph r;
    relu_build(&r, "r", 4);
#define SSIZE(code, ...)                                                                           \
    PAIR("QnnContext_getBinarySectionSize", code, QnnContext_getBinarySectionSize(__VA_ARGS__))
#define SGET(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySection", code, QnnContext_getBinarySection(__VA_ARGS__))
    SSIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
    SSIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, NULL, SECTION, &size);
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, backend, SECTION, &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, (QnnContext_SectionType_t)0,
          &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &buffer, &written, NULL, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL, &written, NULL,
         NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, &written, NULL,
         NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, NULL, NULL, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, &written, context,
         NULL);
    bad.v1.memType = QNN_CONTEXTMEMTYPE_MEMHANDLE;
    bad.v1.memHandle = context;
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, &written, NULL,
         NULL);
    fault_status[FAULT_SECTION_SIZE] = fault_status[FAULT_SECTION_WRITE] = QRN_E_GENERAL;
    SSIZE(QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
    fault_status[FAULT_SECTION_SIZE] = fault_status[FAULT_SECTION_WRITE] = QRN_E_MEM;
    SSIZE(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &buffer, &written, NULL, NULL);
    fault_reset();
    assert_true(size == 7 && written == 7);
    OK(QnnContext_getBinarySectionSize(context, NULL, SECTION, &size)); // the whole context
    OK(QnnContext_getBinarySection(context, r.handle, SECTION, &buffer, &written, NULL, NULL));
    assert_true(size == 16 && written == 16);
    assert_string_equal(data, "fault binary");
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, bytes, sizeof bytes, &c, NULL));
    OK(QnnGraph_retrieve(c, "loaded", &g));
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, g, SECTION, &size); // of another context
    SSIZE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, g, SECTION, &size);
    SGET(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, g, SECTION, &buffer, &written, NULL, NULL);
    OK(QnnContext_free(c, NULL));
    fault_backend.section_size = NULL;
    fault_backend.section_write = NULL;
    SSIZE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
}

static void sections_are_applied(void **state) {
    (void)state;
    QnnContext_Buffer_t buffer = raw_buffer(bytes, sizeof bytes), bad = buffer;
    relu_graph r;
    relu_finalized(&r, "r", 4);
#define APPLY(code, ...)                                                                           \
    PAIR("QnnContext_applyBinarySection", code, QnnContext_applyBinarySection(__VA_ARGS__))
    OK(QnnContext_applyBinarySection(context, r.handle, SECTION, &buffer, NULL, NULL));
    assert_int_equal(fault_calls[FAULT_SECTION_APPLY], 1);
    APPLY(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &buffer, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, context, SECTION, &buffer, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL, NULL, NULL);
    bad.version = QNN_CONTEXT_BUFFER_VERSION_UNDEFINED;
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_SET_PROFILE, context, r.handle, SECTION, &buffer, context, NULL);
    fault_status[FAULT_SECTION_APPLY] = QRN_E_MEM;
    APPLY(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &buffer, NULL, NULL);
    fault_status[FAULT_SECTION_APPLY] = QRN_E_BINARY;
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, NULL, NULL);
    fault_backend.section_apply = NULL;
    APPLY(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &buffer, NULL, NULL);
}

static void quiet(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static void sections_are_edited_without_a_context(void **state) {
    (void)state;
    QnnContext_Buffer_t buffer = raw_buffer(bytes, sizeof bytes), bad = raw_buffer(NULL, 0),
                        out = bad;
    uint32_t dims[1] = {4};
    Qnn_Tensor_t unread = QNN_TENSOR_INIT, t = describe("w", QNN_TENSOR_TYPE_UPDATEABLE_STATIC,
                                                        QNN_DATATYPE_FLOAT_32, 1, dims);
    const Qnn_Tensor_t *list[] = {&t}, *null_list[] = {NULL}, *bad_list[] = {&t, &unread};
    Qnn_LogHandle_t log;
    OK(QnnLog_create(quiet, QNN_LOG_LEVEL_ERROR, &log));
#define EDIT(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySectionUpdate", code, QnnContext_getBinarySectionUpdate(__VA_ARGS__))
#define FREE(code, ...)                                                                            \
    PAIR("QnnContext_freeBinarySectionUpdate", code,                                               \
         QnnContext_freeBinarySectionUpdate(__VA_ARGS__))
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, NULL, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &bad, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, &buffer, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, NULL, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, null_list, 1, 0, NULL, NULL, NULL,
         &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, bad_list, 2, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, NULL);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, list, 1, 0, context, NULL, NULL, &out);
    static const status_row rows[] = {
        {QRN_E_NOT_FOUND, QNN_TENSOR_ERROR_DOES_NOT_EXIST},
        {QRN_E_TENSOR_UPDATE, QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE},
        {QRN_E_BINARY, QNN_CONTEXT_ERROR_INVALID_ARGUMENT}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_SECTION_UPDATE] = rows[i].status;
        EDIT(rows[i].code, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    }
    fault_status[FAULT_SECTION_UPDATE] = QRN_OK;
    PAIR_MEM("QnnContext_getBinarySectionUpdate", QNN_CONTEXT_ERROR_MEM_ALLOC,
             QnnContext_getBinarySectionUpdate(&buffer, NULL, list, 1, 1, log, NULL, NULL, &out));
    assert_string_equal(out.v1.binaryBuf.data, "fault binary");
    FREE(QNN_CONTEXT_ERROR_INVALID_HANDLE, out, context);
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, buffer, NULL); // not one of ours
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, bad, log);
    OK(QnnContext_freeBinarySectionUpdate(out, log));
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, out, log); // once is enough
    fault_backend.section_update = NULL;
    EDIT(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    FREE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, buffer, NULL);
    OK(QnnLog_free(log));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(binaries_are_written_into_client_buffers),
        T(binaries_can_be_read_in_pieces),
        T(sections_are_written),
        T(sections_are_applied),
        T(sections_are_edited_without_a_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
