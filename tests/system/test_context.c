// SPDX-License-Identifier: MIT
//
// Readers of context binaries: life, ownership, hostile bytes, and what is logged. Footprints and
// logs.
#include "pairs.h"
#include "sample.h"
#include "system/system.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int n_lines[QNN_LOG_LEVEL_DEBUG + 1];

static void count_line(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)fmt;
    (void)time;
    (void)args;
    n_lines[level]++;
}

static void descriptions_outlive_the_bytes(void **state) {
    (void)state;
    QnnSystemContext_Handle_t h = NULL;
    OK(QnnSystemContext_create(&h));
    uint64_t size = 0, info_size = 0;
    void *bytes = sample_bytes(&size);
    const QnnSystemContext_BinaryInfo_t *both[2] = {NULL, NULL};
    OK(QnnSystemContext_getBinaryInfo(h, bytes, size, &both[0], &info_size));
    OK(QnnSystemContext_getMetadata(h, bytes, size, &both[1]));
    memset(bytes, 0xee, size);
    free(bytes);
    assert_ptr_not_equal(both[0], both[1]);
    assert_true(info_size >= sizeof *both[0]);
    for (int i = 0; i < 2; i++) {
        const QnnSystemContext_BinaryInfoV3_t *v = &both[i]->contextBinaryInfoV3;
        const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[0].graphInfoV3;
        assert_int_equal(v->contextBlobSize, size);
        assert_string_equal(g->graphName, "first");
        assert_string_equal(v->graphs[1].graphInfoV3.graphInputs[0].v1.name, "a");
        const Qnn_QuantizeParams_t *q = &g->updateableTensors[0].v1.quantizeParams;
        assert_true(q->axisScaleOffsetEncoding.scaleOffset[0].scale == 0.5f);
    }
    OK(QnnSystemContext_free(h));
    PAIR("QnnSystemContext_free", QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE,
         QnnSystemContext_free(h));
}

static void bad_arguments(void **state) {
    (void)state;
    QnnSystemContext_Handle_t h = NULL;
    PAIR("QnnSystemContext_create", QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
         QnnSystemContext_create(NULL));
    OK(QnnSystemContext_create(&h));
    uint64_t n = 99;
    char bytes[64] = "?";
    const QnnSystemContext_BinaryInfo_t *info = NULL;
#define INFO(code, handle, buf, size, out, out_size)                                               \
    PAIR("QnnSystemContext_getBinaryInfo", code,                                                   \
         QnnSystemContext_getBinaryInfo(handle, buf, size, out, out_size))
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE, NULL, bytes, 64, &info, &n);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE, (void *)&info, bytes, 64, &info, &n);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT, h, NULL, 64, &info, &n);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT, h, bytes, 0, &info, &n);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT, h, bytes, 64, NULL, &n);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT, h, bytes, 64, &info, NULL);
    INFO(QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY, h, bytes, 64, &info, &n);
#undef INFO
    PAIR("QnnSystemContext_getMetadata", QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE,
         QnnSystemContext_getMetadata(NULL, bytes, 64, &info));
    PAIR("QnnSystemContext_getMetadata", QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
         QnnSystemContext_getMetadata(h, NULL, 64, &info));
    PAIR("QnnSystemContext_getMetadata", QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
         QnnSystemContext_getMetadata(h, bytes, 64, NULL));
    assert_null(info);
    assert_int_equal(n, 99);
    OK(QnnSystemContext_free(h));
    PAIR("QnnSystemContext_free", QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE,
         QnnSystemContext_free(NULL));
}

static void memory_may_end(void **state) {
    (void)state;
    QnnSystemContext_Handle_t h = NULL;
    PAIR_MEM("QnnSystemContext_create", QNN_COMMON_ERROR_MEM_ALLOC, QnnSystemContext_create(&h));
    uint64_t size = 0, n = 0;
    void *bytes = sample_bytes(&size);
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    PAIR_MEM("QnnSystemContext_getBinaryInfo", QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED,
             QnnSystemContext_getBinaryInfo(h, bytes, size, &info, &n));
    PAIR_MEM("QnnSystemContext_getMetadata", QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED,
             QnnSystemContext_getMetadata(h, bytes, size, &info));
    free(bytes);
    OK(QnnSystemContext_free(h));
}

static void foreign_bytes_are_refused_quietly(void **state) {
    (void)state;
    static const unsigned char zip[64] = {'P', 'K', 3, 4}, zeros[4096];
    Qnn_LogHandle_t log = NULL;
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    OK(QnnSystemLog_create(count_line, QNN_LOG_LEVEL_DEBUG, &log));
    OK(QnnSystemContext_create(&h));
    memset(n_lines, 0, sizeof n_lines);
    assert_int_equal(QnnSystemContext_getMetadata(h, zip, sizeof zip, &info), 30010);
    assert_int_equal(QnnSystemContext_getMetadata(h, zeros, sizeof zeros, &info), 30010);
    assert_int_equal(QnnSystemContext_getMetadata(h, zip, 1, &info), 30010);
    assert_int_equal(n_lines[QNN_LOG_LEVEL_DEBUG], 3);
    for (int level = QNN_LOG_LEVEL_ERROR; level < QNN_LOG_LEVEL_DEBUG; level++)
        assert_int_equal(n_lines[level], 0);
    // A damaged binary of ours is worth a line.
    uint64_t size = 0;
    void *bytes = sample_bytes(&size);
    assert_int_equal(QnnSystemContext_getMetadata(h, bytes, size / 2, &info), 30010);
    assert_int_equal(n_lines[QNN_LOG_LEVEL_ERROR], 1);
    free(bytes);
    OK(QnnSystemContext_free(h));
    OK(QnnSystemLog_free(log));
}

// Cut anywhere, and with any byte changed: an answer or 30010, nothing else.
static void damaged_bytes_are_found_out(void **state) {
    (void)state;
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    uint64_t size = 0;
    unsigned char *bytes = sample_bytes(&size);
    OK(QnnSystemContext_create(&h));
    for (uint64_t cut = 1; cut < size; cut += 61) {
        void *part = malloc(cut); // so that reading behind the end is seen
        assert_non_null(part);
        memcpy(part, bytes, cut);
        PAIR("QnnSystemContext_getMetadata", QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY,
             QnnSystemContext_getMetadata(h, part, cut, &info));
        free(part);
    }
    unsigned refused = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (i % 64 && !bytes[i])
            continue; // padding, most of the file
        bytes[i] ^= 0x5a;
        Qnn_ErrorHandle_t code = QnnSystemContext_getMetadata(h, bytes, size, &info);
        assert_true(code == QNN_SUCCESS || code == QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
        refused += code != QNN_SUCCESS;
        bytes[i] ^= 0x5a;
    }
    assert_true(refused > 100);
    OK(QnnSystemContext_getMetadata(h, bytes, size, &info));
    free(bytes);
    OK(QnnSystemContext_free(h));
}

// What several threads share.
typedef struct crowd {
    QnnSystemContext_Handle_t shared;
    void *bytes;
    uint64_t size;
} crowd;

static void *describe_often(void *arg) {
    const crowd *c = arg;
    for (int i = 0; i < 50; i++) {
        QnnSystemContext_Handle_t own = NULL;
        const QnnSystemContext_BinaryInfo_t *a = NULL, *b = NULL;
        if (QnnSystemContext_create(&own) != QNN_SUCCESS ||
            QnnSystemContext_getMetadata(own, c->bytes, c->size, &a) != QNN_SUCCESS ||
            QnnSystemContext_getMetadata(c->shared, c->bytes, c->size, &b) != QNN_SUCCESS ||
            QnnSystemContext_getMetadata(c->shared, c->bytes, 7, &b) == QNN_SUCCESS ||
            strcmp(b->contextBinaryInfoV3.graphs[0].graphInfoV3.graphName, "first") != 0 ||
            QnnSystemContext_free(own) != QNN_SUCCESS)
            return NULL;
    }
    return arg;
}

static void readers_work_side_by_side(void **state) {
    (void)state;
    crowd c = {0};
    c.bytes = sample_bytes(&c.size);
    OK(QnnSystemContext_create(&c.shared));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, describe_often, &c), 0);
    for (int i = 0; i < 4; i++) {
        void *done = NULL;
        pthread_join(threads[i], &done);
        assert_ptr_equal(done, &c);
    }
    OK(QnnSystemContext_free(c.shared));
    free(c.bytes);
}

static void expect_footprint(const Qnn_Tensor_t *t, Qnn_ErrorHandle_t code, uint64_t bytes) {
    uint64_t n = bytes ? 0 : 77;
    assert_int_equal(QnnSystemTensor_getMemoryFootprint(*t, &n), code);
    assert_int_equal(n, bytes ? bytes : 77);
}

static void footprints(void **state) {
    (void)state;
    uint64_t n = 7;
    uint32_t dims[] = {3, 5}, large[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = "t";
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    expect_footprint(&t, QNN_SUCCESS, 60);
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_4; // two elements a byte
    expect_footprint(&t, QNN_SUCCESS, 8);
    t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_SPARSE;
    PAIR("QnnSystemTensor_getMemoryFootprint", QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE,
         QnnSystemTensor_getMemoryFootprint(t, &n));
    t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_DENSE;
    PAIR("QnnSystemTensor_getMemoryFootprint", QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT,
         QnnSystemTensor_getMemoryFootprint(t, NULL));
    t.v1.dataType = (Qnn_DataType_t)0x777;
    PAIR("QnnSystemTensor_getMemoryFootprint", QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR,
         QnnSystemTensor_getMemoryFootprint(t, &n));
    t.v1.dataType = QNN_DATATYPE_INT_64;
    t.v1.dimensions = NULL;
    expect_footprint(&t, QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR, 0);
    t.v1.rank = 0;
    expect_footprint(&t, QNN_SUCCESS, 8);
    t.v1.dimensions = large;
    t.v1.rank = 3;
    expect_footprint(&t, QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR, 0);
    t.version = (Qnn_TensorVersion_t)3;
    expect_footprint(&t, QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR, 0);
}

static void logs(void **state) {
    (void)state;
    Qnn_LogHandle_t log = NULL;
    PAIR("QnnSystemLog_create", QNN_LOG_ERROR_INVALID_ARGUMENT,
         QnnSystemLog_create(count_line, QNN_LOG_LEVEL_DEBUG, NULL));
    PAIR("QnnSystemLog_create", QNN_LOG_ERROR_INVALID_ARGUMENT,
         QnnSystemLog_create(count_line, (QnnLog_Level_t)77, &log));
    PAIR_MEM("QnnSystemLog_create", QNN_LOG_ERROR_MEM_ALLOC,
             QnnSystemLog_create(count_line, QNN_LOG_LEVEL_ERROR, &log));
    memset(n_lines, 0, sizeof n_lines);
    QnnSystemContext_create(NULL);
    assert_int_equal(n_lines[QNN_LOG_LEVEL_ERROR], 1);
    PAIR("QnnSystemLog_setLogLevel", QNN_LOG_ERROR_INVALID_ARGUMENT,
         QnnSystemLog_setLogLevel(log, (QnnLog_Level_t)0));
    OK(QnnSystemLog_setLogLevel(log, QNN_LOG_LEVEL_WARN));
    PAIR("QnnSystemLog_setLogLevel", QNN_LOG_ERROR_INVALID_HANDLE,
         QnnSystemLog_setLogLevel(NULL, QNN_LOG_LEVEL_WARN));
    OK(QnnSystemLog_free(log));
    memset(n_lines, 0, sizeof n_lines);
    QnnSystemContext_create(NULL);
    assert_int_equal(n_lines[QNN_LOG_LEVEL_ERROR], 0);
    PAIR("QnnSystemLog_free", QNN_LOG_ERROR_INVALID_HANDLE, QnnSystemLog_free(log));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_outlive_the_bytes),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(foreign_bytes_are_refused_quietly),
        cmocka_unit_test(damaged_bytes_are_found_out),
        cmocka_unit_test(readers_work_side_by_side),
        cmocka_unit_test(footprints),
        cmocka_unit_test(logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
